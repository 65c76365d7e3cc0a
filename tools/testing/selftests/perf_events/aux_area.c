// SPDX-License-Identifier: GPL-2.0
/* The AUX area of one event: its records, wake-ups, a full area, overwriting, refused mappings. */
#include "aux.h"

#include <poll.h>

static bool reader_is_woken(const struct area *area)
{
	struct pollfd p = { .fd = area->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

/* The reader keeps up while the area is filled several times. */
static bool full_trace(void)
{
	struct area area = open_area(1000, PROT_READ | PROT_WRITE);
	struct aux_record record;
	unsigned int records = 0;
	uint64_t end = 0;
	bool good = true;
	bool ok;

	for (int i = 0; i < 100; i++) {
		write_burst(&area);
		while (next_aux_record(&area, &record)) {
			good &= record.offset == end && record.size == 1000 && !record.flags &&
				words_are_right(&area, record.offset, record.size);
			end += record.size;
			records++;
		}
		good &= area.user->aux_head == end;
		area.user->aux_tail = end;
	}
	ok = expect(good && records >= 100, "%u bursts, each with its record and in its place",
		    records);
	close_area(&area);
	return ok;
}

/* A position of the reader may be one in the area, as that of the data may be. */
static bool tail_in_area(void)
{
	struct area area = open_area(1000, PROT_READ | PROT_WRITE);
	struct aux_record record;
	unsigned int records = 0;
	uint64_t end = 0;
	bool good = true;

	for (int i = 0; i < 100; i++) {
		write_burst(&area);
		while (next_aux_record(&area, &record)) {
			good &= record.offset == end && record.size == 1000 && !record.flags;
			end += record.size;
			records++;
		}
		area.user->aux_tail = end % area.aux_bytes;
	}
	close_area(&area);
	return expect(good && end > area.aux_bytes && records >= 100,
		      "%u bursts, each with its record and in its place", records);
}

static bool aux_watermark(void)
{
	struct area area = open_area(1024, PROT_READ | PROT_WRITE);
	unsigned int first = 0, count = 0;
	bool ok;

	for (unsigned int i = 1; i <= 32; i++) {
		write_burst(&area);
		if (reader_is_woken(&area)) {
			first = first ?: i;
			count++;
		}
		area.user->aux_tail = area.user->aux_head;
		area.user->data_tail = area.user->data_head;
	}
	ok = expect(first == AUX_PAGES * page / 2 / 1024 && count == 32 / first,
		    "woken at each half: first after %u KiB, %u times in 32", first, count);
	close_area(&area);
	return ok;
}

/* Without a reader the last burst is truncated, the event is disabled and the reader is woken. */
static bool full_area(void)
{
	uint64_t room = AUX_PAGES * page - 8, burst_bytes = 3000;
	struct area area = open_area(burst_bytes, PROT_READ | PROT_WRITE);
	struct aux_record record = { .flags = 0 };
	uint64_t end = 0;
	int n;
	bool ok = true;

	for (n = 0; n < 20 && !(record.flags & PERF_AUX_FLAG_TRUNCATED); n++) {
		write_burst(&area);
		while (next_aux_record(&area, &record))
			end = record.offset + record.size;
	}
	ok &= expect(record.flags == PERF_AUX_FLAG_TRUNCATED && end == room &&
		     words_are_right(&area, 0, room), "a full area cuts the last burst at %llu",
		     (unsigned long long)end);
	ok &= expect(reader_is_woken(&area), "and the reader is woken");
	write_burst(&area);
	ok &= expect(next_aux_record(&area, &record) && !record.size &&
		     record.flags == PERF_AUX_FLAG_TRUNCATED && area.user->aux_head == room,
		     "nothing more is written");
	area.user->aux_tail = room;
	write_burst(&area);
	ok &= expect(next_aux_record(&area, &record) && record.offset == room &&
		     record.size == burst_bytes && words_are_right(&area, room, burst_bytes),
		     "it goes on when that has been read");
	close_area(&area);
	return ok;
}

static bool overwritten_area(void)
{
	struct area area = open_area(1000, PROT_READ);
	struct aux_record record;
	bool good = true;
	uint64_t end = 0;
	bool ok;

	for (int i = 0; i < 100; i++) {
		write_burst(&area);
		while (next_aux_record(&area, &record)) {
			good &= record.flags == PERF_AUX_FLAG_OVERWRITE && record.size == 1000;
			end = record.offset;
		}
	}
	ok = expect(good && end >= 100000 && area.user->aux_head == end &&
		    words_are_right(&area, end - area.aux_bytes, area.aux_bytes),
		    "for reading alone it is overwritten: %llu bytes so far",
		    (unsigned long long)end);
	close_area(&area);
	return ok;
}

static bool refused_mappings(void)
{
	struct area area = open_data(aux_attr(8));
	struct perf_event_mmap_page *user = area.user;
	int error;
	bool ok = true;

	ok &= expect(map_aux(&area, 3, PROT_READ) == EINVAL, "not a power of two");
	user->aux_size = 4 * page;
	for (int i = 0; i <= DATA_PAGES + 2; i++) {
		void *p;

		if (i == DATA_PAGES + 1 || !i)
			continue;
		user->aux_offset = i <= DATA_PAGES ? i * page : (1 + DATA_PAGES) * page;
		p = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, area.fd, i * page);
		ok &= expect(p == MAP_FAILED && errno == EINVAL, "no AUX area at page %d: %s", i,
			     strerror(errno));
	}
	user->aux_offset = (1 + DATA_PAGES) * page;
	user->aux_size = 8 * page;
	ok &= expect(mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, area.fd, user->aux_offset) ==
				     MAP_FAILED &&
			     errno == EINVAL,
		     "not of another size than was said");
	user->aux_offset = -page;
	ok &= expect(mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, area.fd,
			  (1 + DATA_PAGES) * page) == MAP_FAILED &&
			     errno == EINVAL,
		     "not at another offset than was said");
	error = map_aux(&area, (4ULL << 30) / page, PROT_READ);
	ok &= expect(error == ENOMEM || error == EPERM, "4 GiB: %s", strerror(error));
	error = map_aux(&area, 1ULL << 30, PROT_READ);
	ok &= expect(error == ENOMEM || error == EPERM, "4 TiB: %s", strerror(error));

	ok &= expect(map_aux(&area, 4, PROT_READ) == 0, "and 4 pages can be had after that");
	ok &= expect(munmap(area.aux + page, page) == -1 && errno == EINVAL,
		     "a part cannot be unmapped");
	close_area(&area);
	return ok;
}

/* The area is unmapped while it is filled. The event stops, and can start again. */
static bool unmapped_running(void)
{
	struct area area = open_area(64, PROT_READ | PROT_WRITE);
	struct aux_record record;
	uint64_t head;
	bool ok;

	for (int i = 0; i < 50; i++) {
		ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
		sched_yield();
		munmap(area.aux, area.aux_bytes);
		ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
		if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
			fail_case("mmap again");
		while (next_aux_record(&area, &record))
			;
	}
	head = area.user->aux_head;
	write_burst(&area);
	ok = expect(next_aux_record(&area, &record) && record.size == 64 && record.offset == head &&
		    words_are_right(&area, head, 64), "unmapped while it is filled, 50 times");
	close_area(&area);
	return ok;
}

/* The positions in the user page stay, and so does the trace's. */
static bool mapped_again(void)
{
	struct area area = open_area(1000, PROT_READ | PROT_WRITE);
	struct aux_record record;
	bool good = true;
	uint64_t head;

	for (int i = 0; i < 50; i++) {
		write_burst(&area);
		head = area.user->aux_head;
		good &= next_aux_record(&area, &record) && record.offset + 1000 == head &&
			record.offset == i * 1000ull && words_are_right(&area, record.offset, 1000);
		area.user->aux_tail = head;
		munmap(area.aux, area.aux_bytes);
		if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
			fail_case("mmap again");
		good &= area.user->aux_head == head;
	}
	close_area(&area);
	return expect(good, "50 bursts, each behind the one before");
}

/* @skip bytes of the area are left out before each burst. */
static struct area open_skipping(uint64_t burst, uint64_t skip, uint64_t words)
{
	struct perf_event_attr attr = aux_attr(burst);
	struct area area;

	attr.config1 = words;
	attr.config2 = REPORT_SKIP;
	attr.config3 = skip;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	return area;
}

static bool skip_part(void)
{
	struct area area = open_skipping(1000, 104, 0);
	struct aux_record record;
	unsigned int records = 0;
	uint64_t end = 0;
	bool good = true;
	bool ok;

	for (int i = 0; i < 100; i++) {
		write_burst(&area);
		while (next_aux_record(&area, &record)) {
			good &= record.offset == end + 104 && record.size == 1000 &&
				!record.flags && words_are_right(&area, end + 104, 1000);
			end += 1104;
			records++;
		}
		good &= area.user->aux_head == end;
		area.user->aux_tail = end;
	}
	ok = expect(good && records >= 100, "skip: %u bursts, each behind what it left out",
		    records);
	close_area(&area);
	return ok;
}

/* Flags for overwriting and for the format of the data do not cause a record. */
static bool aux_flags(void)
{
	static const uint64_t silent = PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW;
	struct perf_event_attr attr = aux_attr(0);
	struct aux_record record;
	struct area area;
	bool none;
	bool ok;

	attr.config2 = REPORT_FLAGS;
	attr.config3 = silent;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	write_burst(&area);
	none = !next_aux_record(&area, &record);
	close_area(&area);

	attr.config3 = silent | PERF_AUX_FLAG_COLLISION;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	write_burst(&area);
	ok = expect(none && next_aux_record(&area, &record) && record.flags == attr.config3,
		    "a burst of nothing with a format is no record, with a collision it is");
	close_area(&area);
	return ok;
}

/* At most all of the free space less one byte can be left out. */
static bool skip_all(void)
{
	uint64_t bytes = AUX_PAGES * page;
	struct area area = open_skipping(64, bytes, 0);
	struct aux_record record;
	bool ok = true;

	write_burst(&area);
	ok &= expect(next_aux_record(&area, &record) && record.flags == PERF_AUX_FLAG_PARTIAL &&
		     !record.offset && record.size == 64 && area.user->aux_head == 64 &&
		     words_are_right(&area, 0, 64), "skip: more than there is leaves all of it");
	close_area(&area);

	area = open_skipping(64, bytes - 1, 0);
	write_burst(&area);
	ok &= expect(next_aux_record(&area, &record) && record.flags == PERF_AUX_FLAG_TRUNCATED &&
		     record.offset == bytes - 1 && !record.size && area.user->aux_head == bytes - 1,
		     "skip: all there is leaves no room");
	close_area(&area);
	return ok;
}

/* The part left out counts for the watermark, and the driver gets the next wake-up position. */
static bool skip_watermark(void)
{
	uint64_t half = AUX_PAGES * page / 2;
	struct area area = open_skipping(64, half - 64, WORDS_WAKEUP);
	bool ok = true;

	write_burst(&area);
	ok &= expect(reader_is_woken(&area) && *(uint64_t *)(area.aux + half - 64) == half,
		     "skip: a burst behind it reaches the half");
	close_area(&area);

	area = open_skipping(64, half, WORDS_WAKEUP);
	write_burst(&area);
	ok &= expect(reader_is_woken(&area) && *(uint64_t *)(area.aux + half) == 2 * half,
		     "skip: it reaches the half by itself");
	close_area(&area);
	return ok;
}

static const struct test tests[] = {
	{ "a reader that keeps up gets each burst, with a record", full_trace },
	{ "a reader that keeps positions in the area gets each burst, too", tail_in_area },
	{ "the reader is woken for each half of the area", aux_watermark },
	{ "a full area cuts the last burst and stops the trace", full_area },
	{ "an area mapped for reading alone is overwritten", overwritten_area },
	{ "mappings of an AUX area that are refused", refused_mappings },
	{ "an area is unmapped while it is filled", unmapped_running },
	{ "an area that is mapped again continues where it was", mapped_again },
	{ "skip: a burst begins behind the part that is left out", skip_part },
	{ "skip: as much as there is room for", skip_all },
	{ "skip: the part left out counts for the watermark", skip_watermark },
	{ "format flags alone are no AUX record", aux_flags },
};

TESTS_MAIN_SETUP(tests, aux_setup)
