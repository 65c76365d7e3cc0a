// SPDX-License-Identifier: GPL-2.0
/*
 * A buffer that several events map: its first page describes the event that has it mapped alone.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

static long page_size;

static struct perf_event_mmap_page *map_buffer(int fd)
{
	void *map = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		fail_case("mmap");
	return map;
}

static struct perf_event_attr counting_attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = perf_attr_modes(type, config, "u");

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

/* While the event is disabled the page has what read() returns. */
static bool page_is_of(const struct perf_event_mmap_page *user, int fd, const char *when)
{
	uint64_t reading[3];

	if (read(fd, reading, sizeof(reading)) != sizeof(reading))
		fail_case("read");
	return expect_eq(when, user->offset, reading[0]) &
	       expect_eq("time_enabled", user->time_enabled, reading[1]) &
	       expect_eq("time_running", user->time_running, reading[2]) &
	       expect_eq("index", user->index, 0) &
	       expect(reading[0] > 0, "%s: a count", when);
}

static bool page_is_of_none(const struct perf_event_mmap_page *user, const char *when)
{
	return expect_eq(when, user->offset, 0) & expect_eq("time_enabled", user->time_enabled, 0) &
	       expect_eq("time_running", user->time_running, 0) &
	       expect_eq("index", user->index, 0);
}

/* Instructions, and page faults. */
static void work(void)
{
	char *p = fresh_pages(20);

	touch_pages(p, 20);
	munmap(p, 20 * page_size);
	run_loop(100000);
}

static void count_some(int fd)
{
	event_enable(fd);
	work();
	event_disable(fd);
}

/* @attr: of the event that is mapped first. */
static bool page_is_shared(struct perf_event_attr *attr)
{
	struct perf_event_attr other_attr = counting_attr(PERF_TYPE_SOFTWARE,
							  PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_mmap_page *first, *second;
	int fd, other;
	bool good;

	fd = perf_open(attr, 0, -1, -1, 0);
	if (fd < 0)
		skip_case("no instruction counter");
	other = MUST(perf_open(&other_attr, 0, -1, -1, 0));
	first = map_buffer(fd);
	count_some(fd);
	good = page_is_of(first, fd, "of one event");
	MUST(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
	second = map_buffer(other);
	good &= page_is_of_none(first, "mapped by two");
	count_some(fd);
	good &= page_is_of_none(first, "and after a count");
	munmap(second, 2 * page_size);
	count_some(fd);
	good &= page_is_of(first, fd, "of the first event again");
	second = map_buffer(other);
	munmap(first, 2 * page_size);
	count_some(other);
	good &= page_is_of(second, other, "of the second event");
	munmap(second, 2 * page_size);
	close(other);
	close(fd);
	return good;
}

static bool page_of_software(void)
{
	struct perf_event_attr attr = counting_attr(PERF_TYPE_SOFTWARE,
						    PERF_COUNT_SW_PAGE_FAULTS);

	page_size = sysconf(_SC_PAGESIZE);
	return page_is_shared(&attr);
}

static bool page_of_counter(void)
{
	struct perf_event_attr attr = counting_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);

	page_size = sysconf(_SC_PAGESIZE);
	return page_is_shared(&attr);
}

/* Another process unmaps an event while this one maps a second one. Is the page of the latter? */
static bool page_after_exit(struct perf_event_attr *attr)
{
	int fd = MUST(perf_open(attr, 0, -1, -1, 0)), other = MUST(perf_open(attr, 0, -1, -1, 0));
	struct gate mapped = gate_new(), go = gate_new();
	struct perf_event_mmap_page *user;
	pid_t pid = fork_child();
	bool good;

	if (!pid) {
		map_buffer(fd);
		gate_open(&mapped);
		gate_wait(&go);
		_exit(0);
	}
	gate_wait(&mapped);
	MUST(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
	gate_open(&go);
	user = map_buffer(other);
	waitpid(pid, NULL, 0);
	count_some(other);
	good = user->time_enabled > 0;
	munmap(user, 2 * page_size);
	close(other);
	close(fd);
	return good;
}

static bool page_is_found_again(void)
{
	struct perf_event_attr attr = counting_attr(PERF_TYPE_SOFTWARE,
						    PERF_COUNT_SW_PAGE_FAULTS);
	unsigned int lost = 0;

	page_size = sysconf(_SC_PAGESIZE);
	for (int i = 0; i < 30; i++)
		lost += !page_after_exit(&attr);
	return expect_eq("pages that describe no event", lost, 0);
}

/*
 * A process has a copy of the mapping of the first event, made while there was a second one. What
 * its CPU counts is not the first event's: the page has no index.
 */
static bool copy_has_no_index(void)
{
	struct perf_event_attr attr = counting_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_mmap_page *user, *second;
	struct gate go = gate_new();
	uint32_t alone;
	int fd, other;
	pid_t pid;

	page_size = sysconf(_SC_PAGESIZE);
	attr.disabled = 0;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		skip_case("no instruction counter");
	user = map_buffer(fd);
	event_enable(fd);
	alone = user->index;
	if (!alone)
		skip_case("not an x86");
	other = MUST(perf_open(&attr, 0, -1, -1, 0));
	MUST(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
	second = map_buffer(other);
	MUST(madvise(user, 2 * page_size, MADV_DOFORK));
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		_exit(0);
	}
	munmap(second, 2 * page_size);
	event_disable(fd);
	event_enable(fd);
	sched_yield();
	alone = user->index;
	gate_open(&go);
	waitpid(pid, NULL, 0);
	return expect_eq("index", alone, 0);
}

static const struct test tests[] = {
	{ "the first page is that of the event that is mapped alone", page_of_software },
	{ "so it is with a counter", page_of_counter },
	{ "it is found if another process unmaps the other event meanwhile", page_is_found_again },
	{ "a copy of the mapping in another process has no index", copy_has_no_index },
};

TESTS_MAIN(tests)
