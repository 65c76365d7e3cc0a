// SPDX-License-Identifier: GPL-2.0
/*
 * The AUX area, filled by the software source "test_aux" of the test kernel: a burst of words,
 * each its own position, whenever the event stops. It needs the kernel parameter perf_test_aux.
 * Run as root.
 */
#include "record.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#define DATA_PAGES	4
#define AUX_PAGES	4

/* What the source writes (config1) and tells besides (config2, with a number in config3). */
#define WORDS_RANGES	1
#define WORDS_WAKEUP	2
#define TELL_STARTED	1
#define TELL_HW_ID	2
#define TELL_LOST	4
#define TELL_SKIP	8
#define TELL_FLAGS	16

static long page;
static int pmu;

struct area {
	int				fd;
	struct perf_event_mmap_page	*user;
	char				*aux;
	uint64_t			aux_bytes;
	uint64_t			tail;		/* in the data */
};

struct aux_record {
	struct perf_event_header	header;
	uint64_t			offset, size, flags;
};

static struct perf_event_attr aux_attr(uint64_t burst)
{
	struct perf_event_attr attr = perf_attr(pmu, burst);

	attr.disabled = 1;
	return attr;
}

static struct area open_data(struct perf_event_attr attr)
{
	/* What is inherited can be mapped if it stays on a CPU. */
	struct area area = { .fd = perf_open(&attr, 0, attr.inherit ? 0 : -1, -1, 0) };

	if (area.fd < 0)
		ktap_bail_out("test_aux event");
	area.user = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, area.fd, 0);
	if (area.user == MAP_FAILED)
		ktap_bail_out("mmap of the data");
	return area;
}

/* errno of mapping the AUX area, 0 if it is there. */
static int map_aux(struct area *area, uint64_t pages, int prot)
{
	area->user->aux_offset = (1 + DATA_PAGES) * page;
	area->user->aux_size = pages * page;
	area->aux_bytes = pages * page;
	area->aux = mmap(NULL, pages * page, prot, MAP_SHARED, area->fd, area->user->aux_offset);
	return area->aux == MAP_FAILED ? errno : 0;
}

static struct area open_area(uint64_t burst, int prot)
{
	struct area area = open_data(aux_attr(burst));

	if (map_aux(&area, AUX_PAGES, prot))
		ktap_bail_out("mmap of the AUX area");
	return area;
}

static void close_area(struct area *area)
{
	if (area->aux)
		munmap(area->aux, area->aux_bytes);
	munmap(area->user, (1 + DATA_PAGES) * page);
	close(area->fd);
}

/* One burst. */
static void burst(const struct area *area)
{
	ioctl(area->fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(area->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static uint64_t word(const struct area *area, uint64_t pos)
{
	uint64_t at = pos & (area->user->data_size - 1);

	return *(volatile uint64_t *)((char *)area->user + area->user->data_offset + at);
}

/* The next AUX record; false if there is none. */
static bool next_record(struct area *area, struct aux_record *record)
{
	while (area->tail != __atomic_load_n(&area->user->data_head, __ATOMIC_ACQUIRE)) {
		union { uint64_t word; struct perf_event_header header; } u;
		uint64_t pos = area->tail;

		u.word = word(area, pos);
		record->header = u.header;
		area->tail += record->header.size;
		if (record->header.type == PERF_RECORD_AUX) {
			record->offset = word(area, pos + 8);
			record->size = word(area, pos + 16);
			record->flags = word(area, pos + 24);
		}
		area->user->data_tail = area->tail;
		if (record->header.type == PERF_RECORD_AUX)
			return true;
	}
	return false;
}

static bool words_are_right(const struct area *area, uint64_t from, uint64_t len)
{
	for (uint64_t pos = from; pos < from + len; pos += 8) {
		if (*(uint64_t *)(area->aux + (pos & (area->aux_bytes - 1))) != pos)
			return false;
	}
	return true;
}

static bool told(const struct area *area)
{
	struct pollfd p = { .fd = area->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

/* A reader that keeps up, several times round. */
static void test_full_trace(void)
{
	struct area area = open_area(1000, PROT_READ | PROT_WRITE);
	struct aux_record record;
	unsigned int records = 0;
	uint64_t end = 0;
	bool good = true;

	for (int i = 0; i < 100; i++) {
		burst(&area);
		while (next_record(&area, &record)) {
			good &= record.offset == end && record.size == 1000 && !record.flags &&
				words_are_right(&area, record.offset, record.size);
			end += record.size;
			records++;
		}
		good &= area.user->aux_head == end;
		area.user->aux_tail = end;
	}
	ktap_result(good && records >= 100, "%u bursts, each with its record and in its place", records);
	close_area(&area);
}

static void test_watermark(void)
{
	struct area area = open_area(1024, PROT_READ | PROT_WRITE);
	unsigned int first = 0, count = 0;

	for (unsigned int i = 1; i <= 32; i++) {
		burst(&area);
		if (told(&area)) {
			first = first ?: i;
			count++;
		}
		area.user->aux_tail = area.user->aux_head;
		area.user->data_tail = area.user->data_head;
	}
	ktap_result(first == AUX_PAGES * page / 2 / 1024 && count == 32 / first,
		    "told of each half: first after %u KiB, %u times in 32", first, count);
	close_area(&area);
}

/* Nobody reads: the last burst is cut, the event is disabled and the reader told. */
static void test_truncated(void)
{
	uint64_t room = AUX_PAGES * page - 8, burst_bytes = 3000;
	struct area area = open_area(burst_bytes, PROT_READ | PROT_WRITE);
	struct aux_record record = { .flags = 0 };
	uint64_t end = 0;
	int n;

	for (n = 0; n < 20 && !(record.flags & PERF_AUX_FLAG_TRUNCATED); n++) {
		burst(&area);
		while (next_record(&area, &record))
			end = record.offset + record.size;
	}
	ktap_result(record.flags == PERF_AUX_FLAG_TRUNCATED && end == room &&
		    words_are_right(&area, 0, room), "a full area cuts the last burst at %llu",
		    (unsigned long long)end);
	ktap_result(told(&area), "and the reader is told");
	burst(&area);
	ktap_result(next_record(&area, &record) && !record.size &&
		    record.flags == PERF_AUX_FLAG_TRUNCATED && area.user->aux_head == room,
		    "nothing more is written");
	area.user->aux_tail = room;
	burst(&area);
	ktap_result(next_record(&area, &record) && record.offset == room &&
		    record.size == burst_bytes && words_are_right(&area, room, burst_bytes),
		    "it goes on when that has been read");
	close_area(&area);
}

static void test_overwrite(void)
{
	struct area area = open_area(1000, PROT_READ);
	struct aux_record record;
	bool good = true;
	uint64_t end = 0;

	for (int i = 0; i < 100; i++) {
		burst(&area);
		while (next_record(&area, &record)) {
			good &= record.flags == PERF_AUX_FLAG_OVERWRITE && record.size == 1000;
			end = record.offset;
		}
	}
	ktap_result(good && end >= 100000 && area.user->aux_head == end &&
		    words_are_right(&area, end - area.aux_bytes, area.aux_bytes),
		    "for reading alone it is overwritten: %llu bytes so far", (unsigned long long)end);
	close_area(&area);
}

/* Samples of another event in the group carry the newest part of the area. */
static void test_sample(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct area area = open_area(256, PROT_READ);
	unsigned int samples = 0;
	bool good = true;
	uint64_t pos;
	char *fresh;
	int fd;

	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.sample_type = PERF_SAMPLE_AUX;
	attr.aux_sample_size = 512;
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	if (!ktap_result(fd >= 0, "an event that samples the AUX area"))
		return;
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)area.fd);
	fresh = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(fresh, 16 * page, MADV_NOHUGEPAGE);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 16; i++)
		*(volatile char *)(fresh + i * page) = 1;
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);

	for (pos = area.tail; pos < area.user->data_head; ) {
		union { uint64_t word; struct perf_event_header header; } u = { word(&area, pos) };

		if (u.header.type == PERF_RECORD_SAMPLE) {
			uint64_t size = word(&area, pos + 8);

			samples++;
			good &= size == 512 && u.header.size == 16 + 512;
			for (uint64_t at = 8; at < size; at += 8) {
				uint64_t a = word(&area, pos + 16 + at);
				uint64_t b = word(&area, pos + 8 + at);

				good &= a == b + 8 || (samples == 1 && a == 0) || (!b && a == 8);
			}
		}
		if (!u.header.size)
			break;
		pos += u.header.size;
	}
	ktap_result(good && samples >= 16, "%u samples with 512 bytes of it each", samples);
	munmap(fresh, 16 * page);
	close(fd);
	close_area(&area);
}

/* A sample that carries as much as the area holds. */
static void test_sample_of_all(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct area area = open_data(aux_attr(page));
	uint64_t pos = 0, words = 0;
	char *fresh;
	int fd;

	if (map_aux(&area, 1, PROT_READ))
		ktap_bail_out("mmap of the AUX area");
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.sample_type = PERF_SAMPLE_AUX;
	attr.aux_sample_size = page;
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)area.fd);
	fresh = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(fresh, 3 * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < 3; i++) {
		pos = area.user->data_head;
		ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
		*(volatile char *)(fresh + i * page) = 1;
		ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
		area.user->data_tail = pos;
	}
	while (pos < area.user->data_head) {
		union { uint64_t word; struct perf_event_header header; } u = { word(&area, pos) };

		if (u.header.type == PERF_RECORD_SAMPLE && word(&area, pos + 8) == (uint64_t)page) {
			words = 1;
			for (int64_t at = 8; at < page; at += 8)
				words += word(&area, pos + 16 + at) == word(&area, pos + 8 + at) + 8;
		}
		if (!u.header.size)
			break;
		pos += u.header.size;
	}
	ktap_result(words == (uint64_t)page / 8, "a sample of the whole area: %llu words",
		    (unsigned long long)words);
	munmap(fresh, 3 * page);
	close(fd);
	close_area(&area);
}

static void test_refusals(void)
{
	struct area area = open_data(aux_attr(8));
	struct perf_event_mmap_page *user = area.user;
	int error;

	ktap_result(map_aux(&area, 3, PROT_READ) == EINVAL, "not a power of two");
	user->aux_size = 4 * page;
	for (int i = 0; i <= DATA_PAGES + 2; i++) {
		void *p;

		if (i == DATA_PAGES + 1 || !i)
			continue;
		user->aux_offset = i <= DATA_PAGES ? i * page : (1 + DATA_PAGES) * page;
		p = mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, area.fd, i * page);
		if (p != MAP_FAILED || errno != EINVAL)
			ktap_result(false, "page offset %d: %s", i, strerror(errno));
	}
	user->aux_offset = (1 + DATA_PAGES) * page;
	user->aux_size = 8 * page;
	ktap_result(mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, area.fd, user->aux_offset) ==
		    MAP_FAILED && errno == EINVAL, "not of another size than was said");
	user->aux_offset = -page;
	ktap_result(mmap(NULL, 4 * page, PROT_READ, MAP_SHARED, area.fd, (1 + DATA_PAGES) * page) ==
		    MAP_FAILED && errno == EINVAL, "not at another offset than was said");
	error = map_aux(&area, (4ULL << 30) / page, PROT_READ);
	ktap_result(error == ENOMEM || error == EPERM, "4 GiB: %s", strerror(error));
	error = map_aux(&area, 1ULL << 30, PROT_READ);
	ktap_result(error == ENOMEM || error == EPERM, "4 TiB: %s", strerror(error));

	ktap_result(map_aux(&area, 4, PROT_READ) == 0, "and 4 pages can be had after that");
	ktap_result(munmap(area.aux + page, page) == -1 && errno == EINVAL, "a part cannot be unmapped");
	close_area(&area);
}

/* The area goes away while it is being filled. The event stops, and can start anew. */
static void test_unmap_running(void)
{
	struct area area = open_area(64, PROT_READ | PROT_WRITE);
	struct aux_record record;

	for (int i = 0; i < 50; i++) {
		ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
		sched_yield();
		munmap(area.aux, area.aux_bytes);
		ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
		if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
			ktap_bail_out("mmap again");
		while (next_record(&area, &record))
			;
	}
	burst(&area);
	ktap_result(next_record(&area, &record) && record.size == 64 && record.offset == 0 &&
		    words_are_right(&area, 0, 64), "unmapped while it is filled, 50 times");
	close_area(&area);
}

/*
 * Areas that several tasks' events fill. The tasks run on CPU 0, we are on another one.
 */
static pid_t traced_task(void)
{
	pid_t pid = fork();

	if (!pid) {
		pin_to_cpu(0);
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){});
		for (;;)
			;
	}
	return pid;
}

static void end_task(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct area open_of_task(pid_t pid, bool mapped)
{
	struct perf_event_attr attr = aux_attr(64);
	struct area area = { .fd = perf_open(&attr, pid, 0, -1, 0) };

	if (area.fd < 0)
		ktap_bail_out("test_aux event of a task");
	if (!mapped)
		return area;
	area.user = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED,
			 area.fd, 0);
	if (area.user == MAP_FAILED || map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of a task's event");
	return area;
}

/* The events are of tasks of their own, of which @runner stays: it is never switched. */
struct sharing {
	struct area	area[3];
	pid_t		runner;
};

static struct sharing share(unsigned int nr, unsigned int mapped, unsigned int runner)
{
	struct sharing s = {};

	for (unsigned int i = 0; i < nr; i++) {
		pid_t pid = traced_task();

		s.area[i] = open_of_task(pid, mapped & 1 << i);
		if (i == runner)
			s.runner = pid;
		else
			end_task(pid);
	}
	if (ioctl(s.area[1].fd, PERF_EVENT_IOC_SET_OUTPUT, s.area[0].fd))
		ktap_bail_out("SET_OUTPUT");
	ioctl(s.area[runner].fd, PERF_EVENT_IOC_ENABLE, 0);
	usleep(10000);
	return s;
}

/* An event that is not to fill the area any more does not: it can go, and another come. */
static void test_leaves_running(void)
{
	struct sharing s = share(2, 1, 1);
	struct area *a = &s.area[0];
	int error;

	if (ioctl(s.area[1].fd, PERF_EVENT_IOC_SET_OUTPUT, -1L))
		ktap_bail_out("SET_OUTPUT to none");
	munmap(a->aux, a->aux_bytes);
	error = map_aux(a, AUX_PAGES, PROT_READ | PROT_WRITE);
	ktap_result(!error, "unmapped after a running event has left it: %s", strerror(error));
	end_task(s.runner);
	close(s.area[1].fd);
	close_area(a);
}

/* It goes on in the area that it is given, and says nothing there of the one it had. */
static void test_changes_running(void)
{
	struct sharing s = share(3, 5, 1);
	struct area *a = &s.area[0], *c = &s.area[2];
	struct aux_record record;
	bool first;
	int error;

	ioctl(s.area[1].fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd);
	munmap(a->aux, a->aux_bytes);
	error = map_aux(a, AUX_PAGES, PROT_READ | PROT_WRITE);
	ioctl(s.area[1].fd, PERF_EVENT_IOC_DISABLE, 0);
	first = next_record(c, &record);
	ktap_result(!error && first && !record.offset && record.size == 64 &&
		    c->user->aux_head >= 64 && words_are_right(c, 0, 64),
		    "a running event goes on in another area: %s", strerror(error));
	end_task(s.runner);
	close(s.area[1].fd);
	close_area(c);
	close_area(a);
}

/* The area outlives the mappings of the event that fills it. */
static void test_unmapped_by_one(void)
{
	struct sharing s = share(2, 1, 0);
	struct area *a = &s.area[0], *b = &s.area[1];
	int error;

	b->user = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->user == MAP_FAILED || map_aux(b, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of an area once more");
	munmap(a->aux, a->aux_bytes);
	munmap(a->user, (1 + DATA_PAGES) * page);
	munmap(b->aux, b->aux_bytes);
	error = map_aux(b, AUX_PAGES, PROT_READ | PROT_WRITE);
	ktap_result(!error, "unmapped by the running event first: %s", strerror(error));
	end_task(s.runner);
	close(a->fd);
	close_area(b);
}

static void test_shared_areas(void)
{
	if (pin_to_cpu(1)) {
		ktap_skip("areas of several tasks", "there is one CPU");
		return;
	}
	test_leaves_running();
	test_changes_running();
	test_unmapped_by_one();
}

/*
 * Address filters: the PMU's trace is the ranges it was told, start and size of each.
 */
#define RANGE_BYTES	64

static struct area open_filtered(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	struct area area;

	attr.config1 = WORDS_RANGES;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	return area;
}

static int set_filter(const struct area *area, const char *text)
{
	return ioctl(area->fd, PERF_EVENT_IOC_SET_FILTER, text) ? errno : 0;
}

/* The next burst tells of these ranges and of no others. */
static bool next_ranges(struct area *area, const uint64_t *want, unsigned int words)
{
	struct aux_record record;
	bool good = true;

	if (!next_record(area, &record) || record.size != RANGE_BYTES)
		return false;
	for (unsigned int i = 0; i < RANGE_BYTES / 8; i++) {
		uint64_t at = (record.offset + 8 * i) & (area->aux_bytes - 1);
		uint64_t word = *(uint64_t *)(area->aux + at);

		if (word != (i < words ? want[i] : 0)) {
			ktap_note("word %u is %#llx", i, (unsigned long long)word);
			good = false;
		}
	}
	return good;
}

static void test_filter_kernel(void)
{
	static const uint64_t three[] = { 0x1000, 0x800, 0x2000, 0, 0x3000, 0 };
	static const uint64_t one[] = { 0x5000, 0x10 };
	struct area area = open_filtered();
	bool good;

	good = !set_filter(&area, "filter 0x1000/0x800,start 0x2000\nstop 0x3000");
	burst(&area);
	ktap_result(good && next_ranges(&area, three, 6), "filters of kernel addresses");

	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	good = !set_filter(&area, "filter 0x5000/0x10");
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	good = next_ranges(&area, three, 6) && good;
	ktap_result(next_ranges(&area, one, 2) && good, "new filters while it traces");

	good = set_filter(&area, "filter 0x7000/0x10,jump 0x1000") == EINVAL;
	burst(&area);
	ktap_result(next_ranges(&area, one, 2) && good, "a list that is refused leaves the old one");
	close_area(&area);
}

/* Offsets in a file become addresses where the task maps it to execute. */
static void test_filter_file(void)
{
	static const char *name = "/tmp/aux.filter";
	struct area area = open_filtered();
	int file = open(name, O_RDWR | O_CREAT, 0700);
	uint64_t want[4] = { 0, 0, 0, 0 };
	char text[128], *map;
	bool good;

	if (file < 0 || ftruncate(file, 4 * page))
		ktap_bail_out("%s", name);
	snprintf(text, sizeof(text), "filter %#lx/0x200@%s filter %#lx/0x400@%s", page + 0x100, name,
		 2 * page - 0x200, name);
	good = !set_filter(&area, text);
	burst(&area);
	ktap_result(next_ranges(&area, want, 4) && good, "filters of a file that is not mapped");

	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, page);
	munmap(map, page);
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, page);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	good = next_ranges(&area, want, 4);
	want[0] = (uintptr_t)map + 0x100;
	want[1] = 0x200;
	want[2] = (uintptr_t)map + page - 0x200;
	want[3] = 0x200;	/* the rest is in the page behind */
	ktap_result(next_ranges(&area, want, 4) && good,
		    "and when it is mapped to execute, the part of it that is there");

	/* Set when the file is mapped already. */
	snprintf(text, sizeof(text), "filter %#lx/0x20@%s", page + 0x40, name);
	good = !set_filter(&area, text);
	burst(&area);
	want[0] = (uintptr_t)map + 0x40;
	want[1] = 0x20;
	ktap_result(next_ranges(&area, want, 2) && good, "filters of a file that is mapped");
	munmap(map, page);
	close(file);
	unlink(name);
	close_area(&area);
}

/* A file of an overlay: what is mapped is the one below, what was named is the one above. */
static void test_filter_overlay(void)
{
	static const char *const dirs[] = { "/tmp/aux", "/tmp/aux/a", "/tmp/aux/b", "/tmp/aux/m" };
	static const char *name = "/tmp/aux/m/file";
	const char *what = "filters of a file in an overlay";
	uint64_t want[2] = { 0, 0x20 };
	struct area area;
	char text[64], *map;
	bool good;
	int file;

	for (unsigned int i = 0; i < 4; i++)
		mkdir(dirs[i], 0755);
	file = open("/tmp/aux/a/file", O_RDWR | O_CREAT, 0700);
	if (file < 0 || ftruncate(file, page))
		ktap_bail_out("%s", name);
	close(file);
	if (mount("overlay", dirs[3], "overlay", 0, "lowerdir=/tmp/aux/a:/tmp/aux/b")) {
		ktap_skip(what, "no overlay file system");
		return;
	}
	file = open(name, O_RDONLY);
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	area = open_filtered();
	snprintf(text, sizeof(text), "filter 0x40/0x20@%s", name);
	good = map != MAP_FAILED && !set_filter(&area, text);
	burst(&area);
	want[0] = (uintptr_t)map + 0x40;
	good &= next_ranges(&area, want, 2);
	munmap(map, page);
	/* And one that comes afterwards. */
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	map = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	next_ranges(&area, want, 2);
	want[0] = (uintptr_t)map + 0x40;
	ktap_result(next_ranges(&area, want, 2) && good, "%s", what);
	close_area(&area);
	munmap(map, page);
	close(file);
	umount(dirs[3]);
}

#define MAPPED_BY_FIRST		((char *)0x510000000)
#define MAPPED_BY_SECOND	((char *)0x520000000)

static void map_to_execute(char *at, int file)
{
	if (mmap(at, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) != at)
		_exit(1);
}

/* The file is where this task has mapped it, and there for the third, whose number is left behind. */
static void second_task(int file, volatile pid_t *third)
{
	pid_t pid;

	munmap(MAPPED_BY_FIRST, page);
	map_to_execute(MAPPED_BY_SECOND, file);
	pid = fork();
	if (!pid)
		_exit(0);
	*third = pid;
	wait(NULL);
	_exit(0);
}

/* Bursts of one task, each of which has to be of the range of its creator's mapping. */
static unsigned int bursts_of(struct area *area, pid_t task)
{
	const uint64_t want[] = { (uintptr_t)MAPPED_BY_SECOND + 0x40, 0x20 };
	unsigned int nr = 0;
	struct area record;

	for (;;) {
		record = *area;
		if (!next_record(area, &(struct aux_record){}))
			return nr;
		if ((pid_t)word(area, area->tail - 8) != task)
			continue;
		if (!next_ranges(&record, want, 2))
			return 0;
		nr++;
	}
}

/* A task that is two forks from the first finds its files where its creator has them. */
static void test_filter_inherited(void)
{
	static const char *name = "/tmp/aux.filter";
	pid_t *third = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	int file = open(name, O_RDWR | O_CREAT, 0700);
	struct area area;
	char text[128];
	bool good;

	pin_to_cpu(0);
	attr.config1 = WORDS_RANGES;
	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE) || file < 0 || ftruncate(file, page))
		ktap_bail_out("an inherited event with a filter");
	snprintf(text, sizeof(text), "filter 0x40/0x20@%s", name);
	map_to_execute(MAPPED_BY_FIRST, file);
	good = !set_filter(&area, text);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	if (!fork())
		second_task(file, third);
	wait(NULL);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	ktap_result(good && *third && bursts_of(&area, *third),
		    "filters of a file that is mapped by a task's creator");
	munmap(MAPPED_BY_FIRST, page);
	munmap(third, page);
	close(file);
	unlink(name);
	close_area(&area);
}

/* What a member of a group has counted, and for how long: its group's time. */
struct counted {
	uint64_t count, enabled, running;
};

static struct counted read_counted(int fd)
{
	struct counted c;

	if (read(fd, &c, sizeof(c)) != sizeof(c))
		ktap_bail_out("read of a count and its times");
	return c;
}

/* Some work, in pieces: the task leaves its CPU in between, and turns end. */
static void work_and_sleep(void)
{
	for (int i = 0; i < 20; i++) {
		run_loop(100000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* A counter in the group of a trace that has nowhere to go does not count. */
static void test_member_waits(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct counted before, after;
	struct area area;
	bool good;
	int fd;

	area = open_data(aux_attr(RANGE_BYTES));
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	if (fd < 0) {
		ktap_skip("a counter in the group of a trace", "no counters");
		close(area.fd);
		return;
	}
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	work_and_sleep();
	after = read_counted(fd);
	ktap_result(!after.count && !after.running && after.enabled,
		    "a trace without an area keeps its group from counting: %llu in %llu of %llu ns",
		    (unsigned long long)after.count, (unsigned long long)after.running,
		    (unsigned long long)after.enabled);

	good = !map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE);
	/* At the end of some turn: where the host is busy there are few. */
	for (int i = 0; i < 20 && !after.running; i++) {
		work_and_sleep();
		after = read_counted(fd);
	}
	ktap_result(good && after.count && after.running, "and with one it counts");

	munmap(area.aux, area.aux_bytes);
	area.aux = NULL;
	work_and_sleep();
	before = read_counted(fd);
	work_and_sleep();
	after = read_counted(fd);
	ktap_result(after.count == before.count && after.running == before.running &&
		    after.enabled > before.enabled, "and when it is gone the group waits again");
	close(fd);
	close_area(&area);
}

static void test_filter_refusals(void)
{
	static const struct {
		const char	*text;
		int		error;
	} row[] = {
		{ "filter", EINVAL },
		{ "filter 0x1000", EINVAL },
		{ "filter 0x1000/", EINVAL },
		{ "filter xyz/8", EINVAL },
		{ "jump 0x1000/8", EINVAL },
		{ "filter 0xfffffffffffffff0/0x20", EINVAL },
		{ "filter 0x1000/8@", EINVAL },
		{ "filter 0x1000/8@/", EINVAL },
		{ "filter 0x1000/8@/no/such/file", ENOENT },
		{ "start 1,start 2,start 3,start 4,start 5", EOPNOTSUPP },
	};
	struct perf_event_attr attr = aux_attr(8);
	struct area area = open_filtered();
	bool good = true;
	int fd, error;

	for (unsigned int i = 0; i < ARRAY_SIZE(row); i++) {
		error = set_filter(&area, row[i].text);
		if (error != row[i].error)
			ktap_note("\"%s\": %s", row[i].text, strerror(error));
		good &= error == row[i].error;
	}
	ktap_result(good, "filters that are refused");
	close_area(&area);

	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	error = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0x1000/8") ? errno : 0;
	ktap_result(error == EINVAL, "a kernel address with exclude_kernel: %s", strerror(error));
	close(fd);

	attr.exclude_kernel = 0;
	fd = perf_open(&attr, -1, 0, -1, 0);
	error = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0/8@/tests/aux") ? errno : 0;
	ktap_result(error == EOPNOTSUPP, "a file with a CPU's event: %s", strerror(error));
	close(fd);
}

/*
 * A page fault resumes the trace, a system call pauses it.
 */
static void fault(void)
{
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile char *)p = 1;
	munmap(p, page);
}

static unsigned int records_of(struct area *area)
{
	struct aux_record record;
	unsigned int n = 0;

	while (next_record(area, &record))
		n += record.size == RANGE_BYTES;
	return n;
}

static void test_pause(bool paused)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES), resume, pause;
	unsigned int idle, busy;
	struct area area;
	char line[16];
	int fd[2];

	attr.aux_start_paused = paused;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	burst(&area);
	idle = records_of(&area);
	ktap_result(idle == !paused, "%s: %u traces", paused ? "aux_start_paused" : "not paused",
		    idle);

	resume = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	resume.sample_period = 1;
	resume.exclude_kernel = 1;
	pause = resume;
	resume.aux_resume = 1;
	pause.type = PERF_TYPE_TRACEPOINT;
	pause.config = read_line("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", line,
				 sizeof(line)) > 0 ? strtoul(line, NULL, 10) : 0;
	pause.exclude_kernel = 0;
	pause.aux_pause = 1;
	fd[0] = perf_open(&resume, 0, -1, area.fd, 0);
	fd[1] = perf_open(&pause, 0, -1, area.fd, 0);
	if (!ktap_result(fd[0] >= 0 && fd[1] >= 0, "events that pause and resume the trace"))
		return close_area(&area);

	fault();
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++) {
		syscall(__NR_getppid);	/* the first one finds it running, or not */
		syscall(__NR_getppid);
		fault();
		fault();
	}
	syscall(__NR_getppid);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	busy = records_of(&area);
	ktap_result(busy == 10u + !paused, "%s: %u traces in ten rounds",
		    paused ? "aux_start_paused" : "not paused", busy);
	close(fd[0]);
	close(fd[1]);
	close_area(&area);
}

/*
 * The event is to run, but there is no area yet: its group is asked again wherever its task comes, for
 * no timer runs while the task is asleep.
 */
static void test_mapped_late(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	unsigned int traces;
	struct area area;

	attr.disabled = 0;
	area = open_data(attr);
	usleep(100000);
	usleep(100000);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	for (int i = 0; i < 10; i++)
		usleep(1000);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	traces = records_of(&area);
	ktap_result(traces >= 9, "enabled before its area is there: %u traces", traces);
	close_area(&area);
}

/* A child's events hold on to each other as their parents do. */
static void test_inherited(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES), pause;
	int sibling, status = -1, turns = 0;
	uint64_t counted = 0;
	struct area area;
	cpu_set_t all;
	pid_t pid;

	sched_getaffinity(0, sizeof(all), &all);
	pin_to_cpu(0);
	attr.inherit = 1;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	pause = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	pause.sample_period = 1;
	pause.inherit = 1;
	pause.aux_pause = 1;
	sibling = perf_open(&pause, 0, 0, area.fd, 0);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	pid = sibling >= 0 ? fork() : -1;
	if (!pid) {
		for (int i = 0; i < 20; i++) {
			fault();
			usleep(1000);
		}
		_exit(0);
	}
	while (pid > 0 && !counted && ++turns < 10000) {
		usleep(1000);
		counted = perf_count(sibling);
	}
	close(sibling);
	if (pid > 0)
		waitpid(pid, &status, 0);
	ktap_result(!status && counted, "inherited: closed while a child runs, %llu faults",
		    (unsigned long long)counted);
	close_area(&area);
	sched_setaffinity(0, sizeof(all), &all);
}

/*
 * Part of the area is left out.
 */
static struct area open_skipping(uint64_t burst, uint64_t skip, uint64_t words)
{
	struct perf_event_attr attr = aux_attr(burst);
	struct area area;

	attr.config1 = words;
	attr.config2 = TELL_SKIP;
	attr.config3 = skip;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	return area;
}

static void test_skip(void)
{
	struct area area = open_skipping(1000, 104, 0);
	struct aux_record record;
	unsigned int records = 0;
	uint64_t end = 0;
	bool good = true;

	for (int i = 0; i < 100; i++) {
		burst(&area);
		while (next_record(&area, &record)) {
			good &= record.offset == end + 104 && record.size == 1000 &&
				!record.flags && words_are_right(&area, end + 104, 1000);
			end += 1104;
			records++;
		}
		good &= area.user->aux_head == end;
		area.user->aux_tail = end;
	}
	ktap_result(good && records >= 100, "skip: %u bursts, each behind what it left out",
		    records);
	close_area(&area);
}

/* How the area is used, and in which format, is no news. */
static void test_flags(void)
{
	static const uint64_t silent = PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW;
	struct perf_event_attr attr = aux_attr(0);
	struct aux_record record;
	struct area area;
	bool none;

	attr.config2 = TELL_FLAGS;
	attr.config3 = silent;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	burst(&area);
	none = !next_record(&area, &record);
	close_area(&area);

	attr.config3 = silent | PERF_AUX_FLAG_COLLISION;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	burst(&area);
	ktap_result(none && next_record(&area, &record) && record.flags == attr.config3,
		    "a burst of nothing with a format is no record, with a collision it is");
	close_area(&area);
}

/* One driver's area is of no use to another's, even if both write to a third event's buffer. */
static void test_other_pmu(void)
{
	struct area data, too = { .fd = -1 };
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int first, other = perf_pmu_type("test_aux_too"), error;
	struct aux_record record;
	bool good;

	data = open_data(attr);
	attr = aux_attr(64);
	first = perf_open(&attr, 0, -1, -1, 0);
	attr.type = other;
	too.fd = perf_open(&attr, 0, -1, -1, 0);
	if (other < 0 || first < 0 || too.fd < 0 ||
	    ioctl(first, PERF_EVENT_IOC_SET_OUTPUT, data.fd) ||
	    ioctl(too.fd, PERF_EVENT_IOC_SET_OUTPUT, data.fd))
		ktap_bail_out("events of two PMUs");

	too.user = data.user;
	close(data.fd);
	data.fd = first;
	if (map_aux(&data, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	error = map_aux(&too, AUX_PAGES, PROT_READ | PROT_WRITE);
	ktap_result(error == EINVAL, "mmap of another PMU's AUX area: %s", strerror(error));
	burst(&too);
	good = !next_record(&data, &record);
	burst(&data);
	ktap_result(good && next_record(&data, &record) && record.size == 64,
		    "another PMU does not fill it, its own does");
	close(too.fd);
	close_area(&data);
}

/* The PMU serves one event of a task at a time, and tasks or CPUs. */
static void test_exclusive(void)
{
	struct perf_event_attr attr = aux_attr(8);
	int fd = perf_open(&attr, 0, -1, -1, 0);

	ktap_result(fd >= 0 && refused("task", perf_open(&attr, 0, -1, -1, 0), EBUSY, "an event here already"),
		    "exclusive: no second event of the task");
	ktap_result(refused("CPU", perf_open(&attr, -1, 0, -1, 0), EBUSY, "the other way"),
		    "exclusive: no event of a CPU beside a task's");
	close(fd);
	fd = perf_open(&attr, -1, 0, -1, 0);
	ktap_result(fd >= 0 && refused("CPU", perf_open(&attr, -1, 0, -1, 0), EBUSY, "an event here already"),
		    "exclusive: no second event of the CPU");
	ktap_result(refused("task", perf_open(&attr, 0, -1, -1, 0), EBUSY, "the other way"),
		    "exclusive: no event of a task beside a CPU's");
	close(fd);
	fd = perf_open(&attr, 0, -1, -1, 0);
	ktap_result(fd >= 0, "exclusive: free again");
	close(fd);
}

/* Two sources cannot fill one area. */
static void test_redirect_to_other_pmu(void)
{
	struct perf_event_attr attr = aux_attr(8);
	struct area area = open_area(8, PROT_READ | PROT_WRITE);
	int fd;

	attr.type = perf_pmu_type("test_aux_too");
	fd = perf_open(&attr, 0, -1, -1, 0);
	ktap_result(fd >= 0 && refused("redirect", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, area.fd), EINVAL,
				       "another PMU's"), "SET_OUTPUT to another PMU's area");
	close(fd);
	close_area(&area);
}

/* No more can be left out than there is room for, which is all but a byte. */
static void test_skip_all(void)
{
	uint64_t bytes = AUX_PAGES * page;
	struct area area = open_skipping(64, bytes, 0);
	struct aux_record record;

	burst(&area);
	ktap_result(next_record(&area, &record) && record.flags == PERF_AUX_FLAG_PARTIAL &&
		    !record.offset && record.size == 64 && area.user->aux_head == 64 &&
		    words_are_right(&area, 0, 64), "skip: more than there is leaves all of it");
	close_area(&area);

	area = open_skipping(64, bytes - 1, 0);
	burst(&area);
	ktap_result(next_record(&area, &record) && record.flags == PERF_AUX_FLAG_TRUNCATED &&
		    record.offset == bytes - 1 && !record.size &&
		    area.user->aux_head == bytes - 1, "skip: all there is leaves no room");
	close_area(&area);
}

/* What is left out counts for the reader's watermark, and the driver is told of the next one. */
static void test_skip_watermark(void)
{
	uint64_t half = AUX_PAGES * page / 2;
	struct area area = open_skipping(64, half - 64, WORDS_WAKEUP);

	burst(&area);
	ktap_result(told(&area) && *(uint64_t *)(area.aux + half - 64) == half,
		    "skip: a burst behind it reaches the half");
	close_area(&area);

	area = open_skipping(64, half, WORDS_WAKEUP);
	burst(&area);
	ktap_result(told(&area) && *(uint64_t *)(area.aux + half) == 2 * half,
		    "skip: it reaches the half by itself");
	close_area(&area);
}

/*
 * Records that the source asks for
 */
#define NUMBER		0x123456789abcdef0

static struct ring ring;

static struct perf_event_attr telling_attr(uint64_t what)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);

	attr.config2 = what;
	attr.config3 = NUMBER;
	attr.sample_type = ID_TYPES;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return attr;
}

static struct area open_telling(const struct perf_event_attr *attr)
{
	struct area area = open_data(*attr);

	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		ktap_bail_out("mmap of the AUX area");
	memset(&ring, 0, offsetof(struct ring, record));
	ring.fd = area.fd;
	ring.size = DATA_PAGES * page;
	ring.page = area.user;
	ring.data = (char *)area.user + page;
	return area;
}

/* Any of the records. */
struct one_word {
	struct perf_event_header	header;
	union {
		struct {
			uint32_t	pid, tid;
		};
		uint64_t		number;
	};
};

/* It has one word of its own. */
static bool next_is(uint32_t type, struct one_word *t)
{
	const struct perf_event_header *h = ring_next(&ring);

	if (!h || h->type != type || h->misc || body_size(h) != sizeof(uint64_t)) {
		ktap_note("record %d, misc %#x, %d bytes, not one of type %u", h ? (int)h->type : -1,
			  h ? h->misc : 0, h ? h->size : 0, type);
		return false;
	}
	memcpy(t, h, sizeof(*t));
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t event_id(int fd)
{
	uint64_t id = 0;

	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	return id;
}

/* The trailer of the record that was read last: @from is when it cannot have been written yet. */
static bool trailer_is(uint64_t id, pid_t pid, pid_t tid, uint64_t from)
{
	const struct trailer *t = trailer_of((void *)ring.record);

	return t->pid == (uint32_t)pid && t->tid == (uint32_t)tid && t->id == id &&
	       t->stream_id == id && t->identifier == id && t->cpu == 0 && !t->reserved &&
	       t->time >= from && t->time <= now_ns();
}

/* All of them, in a thread that has a number of its own. */
static void *tell_all(void *arg)
{
	struct perf_event_attr attr = telling_attr(TELL_STARTED | TELL_HW_ID | TELL_LOST);
	struct area area = open_telling(&attr);
	uint64_t id = event_id(area.fd), before = now_ns();
	pid_t pid = getpid(), tid = gettid();
	const struct perf_event_header *h;
	struct one_word t;

	burst(&area);
	ktap_result(next_is(PERF_RECORD_ITRACE_START, &t) && t.pid == (uint32_t)pid &&
		    t.tid == (uint32_t)tid && trailer_is(id, pid, tid, before) && pid != tid,
		    "ITRACE_START: pid, tid, trailer");
	ktap_result(next_is(PERF_RECORD_AUX_OUTPUT_HW_ID, &t) && t.number == NUMBER &&
		    trailer_is(id, pid, tid, before), "AUX_OUTPUT_HW_ID: number, trailer");
	ktap_result(next_is(PERF_RECORD_LOST_SAMPLES, &t) && t.number == NUMBER &&
		    trailer_is(id, pid, tid, before), "LOST_SAMPLES: number, trailer");
	h = ring_next(&ring);
	ktap_result(h && h->type == PERF_RECORD_AUX && !h->misc && body_size(h) == 24 &&
		    trailer_is(id, pid, tid, before), "AUX: trailer");
	ktap_result(!ring_next(&ring), "and nothing else");

	burst(&area);
	ktap_result(next_is(PERF_RECORD_AUX_OUTPUT_HW_ID, &t) &&
		    next_is(PERF_RECORD_LOST_SAMPLES, &t) && ring_next(&ring) && !ring_next(&ring),
		    "a trace that has begun does not begin again");
	close_area(&area);
	return arg;
}

static void test_tell_all(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, tell_all, NULL))
		ktap_bail_out("pthread_create");
	pthread_join(thread, NULL);
}

/* Who does not say that the trace has begun hears of it each time. */
static void test_tell_start(void)
{
	struct perf_event_attr attr = telling_attr(0);
	struct area area = open_telling(&attr);

	for (int i = 0; i < 10; i++)
		burst(&area);
	ktap_result(ring_count(&ring, PERF_RECORD_ITRACE_START) == 10,
		    "ITRACE_START: once for each start");
	close_area(&area);
}

/* Without sample_id_all there is nothing behind the fields. */
static void test_tell_bare(void)
{
	struct perf_event_attr attr = telling_attr(TELL_HW_ID | TELL_LOST);
	unsigned int records = 0, right = 0;
	const struct perf_event_header *h;
	struct area area;

	attr.sample_id_all = 0;
	area = open_telling(&attr);
	burst(&area);
	while ((h = ring_next(&ring))) {
		records++;
		right += h->size == (h->type == PERF_RECORD_AUX ? 32 : 16);
	}
	ktap_result(records == 4 && right == 4, "without sample_id_all: %u of %u have its size",
		    right, records);
	close_area(&area);
}

/* A child's traces are told of in the parent's buffer, with the child's numbers. */
static void test_tell_child(void)
{
	struct perf_event_attr attr = telling_attr(TELL_HW_ID | TELL_LOST);
	unsigned int start = 0, hw_id = 0, lost = 0, wrong = 0;
	uint64_t id, before = now_ns(), after;
	const struct perf_event_header *h;
	const struct trailer *t;
	struct area area;
	pid_t pid;

	attr.inherit = 1;
	area = open_telling(&attr);
	id = event_id(area.fd);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	after = now_ns();
	while ((h = ring_next(&ring))) {
		struct one_word word;

		t = trailer_of(h);
		memcpy(&word, h, sizeof(word));
		if (t->pid != (uint32_t)pid)
			continue;
		wrong += h->misc || t->id != id || t->identifier != id || t->tid != t->pid ||
			 t->time < before || t->time > after;
		switch (h->type) {
		case PERF_RECORD_ITRACE_START:
			start++;
			wrong += word.pid != (uint32_t)pid || word.tid != (uint32_t)pid ||
				 body_size(h) != 8 || t->stream_id != id;
			break;
		case PERF_RECORD_AUX_OUTPUT_HW_ID:
			hw_id++;
			wrong += word.number != NUMBER || body_size(h) != 8 || t->stream_id != id;
			break;
		case PERF_RECORD_LOST_SAMPLES:
			lost++;
			wrong += word.number != NUMBER || body_size(h) != 8 || t->stream_id == id;
			break;
		}
	}
	ktap_result(start && hw_id && lost && !wrong,
		    "a child's: %u ITRACE_START, %u AUX_OUTPUT_HW_ID, %u LOST_SAMPLES", start, hw_id,
		    lost);
	close_area(&area);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	pmu = perf_pmu_type("test_aux");
	ktap_start(0);
	if (pmu < 0) {
		ktap_skip("AUX area", "no PMU test_aux");
		return ktap_finish();
	}
	/* A switch to another task would end one trace and begin another. */
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 10 }))
		ktap_bail_out("SCHED_FIFO");
	test_full_trace();
	test_watermark();
	test_truncated();
	test_overwrite();
	test_sample();
	test_sample_of_all();
	test_refusals();
	test_unmap_running();
	test_filter_kernel();
	test_member_waits();
	test_filter_file();
	test_filter_overlay();
	test_filter_inherited();
	test_filter_refusals();
	test_pause(false);
	test_pause(true);
	test_mapped_late();
	test_inherited();
	test_skip();
	test_skip_all();
	test_skip_watermark();
	test_flags();
	test_other_pmu();
	test_exclusive();
	test_redirect_to_other_pmu();
	test_shared_areas();
	pin_to_cpu(0);
	test_tell_all();
	test_tell_start();
	test_tell_bare();
	test_tell_child();
	return ktap_finish();
}
