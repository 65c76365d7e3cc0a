// SPDX-License-Identifier: GPL-2.0
/*
 * The AUX area, filled by the software source "test_aux" of the test kernel: a burst of words,
 * each its own position, whenever the event stops. It needs the kernel parameter perf_test_aux.
 * Run as root.
 */
#include "perf_test.h"

#include <poll.h>
#include <stddef.h>

#define DATA_PAGES	4
#define AUX_PAGES	4

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
	struct area area = { .fd = perf_open(&attr, 0, -1, -1, 0) };

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
 * Address filters: the PMU's trace is the ranges it was told, start and size of each.
 */
#define RANGE_BYTES	64

static struct area open_filtered(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	struct area area;

	attr.config1 = 1;
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

/* A child's events hold on to each other as their parents do. */
static void test_inherited(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES), pause;
	int fd, sibling, status = -1;
	pid_t pid;

	attr.inherit = 1;
	attr.disabled = 0;
	fd = perf_open(&attr, 0, -1, -1, 0);
	pause = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	pause.sample_period = 1;
	pause.inherit = 1;
	pause.aux_pause = 1;
	sibling = perf_open(&pause, 0, -1, fd, 0);
	pid = fd >= 0 && sibling >= 0 ? fork() : -1;
	if (!pid) {
		for (int i = 0; i < 20; i++) {
			fault();
			usleep(1000);
		}
		_exit(0);
	}
	usleep(5000);
	close(sibling);
	if (pid > 0)
		waitpid(pid, &status, 0);
	ktap_result(!status, "inherited: closed while a child runs");
	close(fd);
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
	test_refusals();
	test_unmap_running();
	test_filter_kernel();
	test_filter_file();
	test_filter_refusals();
	test_pause(false);
	test_pause(true);
	test_inherited();
	return ktap_finish();
}
