// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a call grows with the number of events, and not with its square: a part of these
 * calls runs with interrupts off, or under a lock of all buffers. Run as root.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Twice as many events may take three times as long. */
static bool expect_linear(const char *what, unsigned long few, unsigned long many)
{
	return expect(many < 3 * few, "%s: %lu ns, %lu ns of twice as many", what, few, many);
}

static void allow_files(void)
{
	struct rlimit limit = { 16384, 16384 };

	MUST(setrlimit(RLIMIT_NOFILE, &limit));
}

static void close_events(const int *fd, unsigned int nr)
{
	while (nr--)
		close(fd[nr]);
}

/*
 * One request that enables all members of a group
 */

#define MEMBERS		400

/* The leader runs. @nr software siblings do, too, and @nr counters are disabled. */
static uint64_t ns_of_group_enable(unsigned int nr)
{
	struct perf_event_attr software = sw_attr(PERF_COUNT_SW_DUMMY);
	struct perf_event_attr counter = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	int fd[4 * MEMBERS + 1];
	uint64_t start, ns;

	software.disabled = 0;
	counter.disabled = 1;
	fd[0] = open_self(&software, -1);
	for (unsigned int i = 1; i <= 2 * nr; i++)
		fd[i] = open_self(i <= nr ? &software : &counter, fd[0]);
	start = monotonic_ns();
	MUST(ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	ns = monotonic_ns() - start;
	close_events(fd, 2 * nr + 1);
	return ns;
}

static bool group_is_enabled_at_once(void)
{
	uint64_t few, many;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	allow_files();
	few = ns_of_group_enable(MEMBERS);
	many = ns_of_group_enable(2 * MEMBERS);
	return expect_linear("ENABLE of a group", few, many);
}

/*
 * The end of a buffer to which many events write, and that was polled by an event that has failed
 */

#define WRITERS		1000

static bool has_failed(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == 0;
}

/* More pinned events than there are counters; returns their number, the last one has failed. */
static unsigned int open_failing(int *fd, unsigned int max)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	unsigned int nr = 0;

	attr.disabled = 0;
	attr.pinned = 1;
	attr.sample_period = 1ull << 40;
	do {
		if (nr == max)
			fail_case("no pinned event fails");
		fd[nr] = open_self(&attr, -1);
	} while (!has_failed(fd[nr++]));
	return nr;
}

static uint64_t ns_of_unmap(unsigned int writers)
{
	struct perf_event_attr software = sw_attr(PERF_COUNT_SW_DUMMY);
	struct pollfd p = { .events = POLLIN };
	int pinned[64], fd[2 * WRITERS];
	size_t size = 2 * getpagesize();
	uint64_t start, ns;
	unsigned int nr;
	void *map;

	nr = open_failing(pinned, ARRAY_SIZE(pinned));
	p.fd = pinned[nr - 1];
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	if (map == MAP_FAILED)
		fail_case("mmap");
	for (unsigned int i = 0; i < writers; i++) {
		fd[i] = open_self(&software, -1);
		MUST(ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, p.fd));
	}
	poll(&p, 1, 0);
	start = monotonic_ns();
	MUST(munmap(map, size));
	ns = monotonic_ns() - start;
	close_events(fd, writers);
	close_events(pinned, nr);
	return ns;
}

static bool polled_buffer_is_unmapped(void)
{
	uint64_t few, many;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	allow_files();
	few = ns_of_unmap(WRITERS);
	many = ns_of_unmap(2 * WRITERS);
	return expect_linear("munmap", few, many);
}

/*
 * exec with events that it removes behind others
 */

#define REMOVED		1500

/* @pipe gets the time before and, from the program that is executed, after exec. */
static void exec_with_events(unsigned int nr, const int *pipe)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	uint64_t start;
	char out[16];

	for (unsigned int i = 0; i < 2 * nr; i++) {
		attr.remove_on_exec = i >= nr;
		MUST(perf_open(&attr, 0, -1, -1, 0));
	}
	start = monotonic_ns();
	if (write(pipe[1], &start, sizeof(start)) != sizeof(start))
		_exit(1);
	snprintf(out, sizeof(out), "%d", pipe[1]);
	execl("/proc/self/exe", "regress_scale", "exec", out, NULL);
	_exit(1);
}

static uint64_t ns_of_exec(unsigned int nr)
{
	uint64_t time[2];
	int fd[2], status;
	pid_t pid;

	MUST(pipe(fd));
	pid = fork_child();
	if (!pid)
		exec_with_events(nr, fd);
	for (unsigned int i = 0; i < 2; i++) {
		if (read(fd[0], &time[i], sizeof(time[i])) != sizeof(time[i]))
			fail_case("read");
	}
	MUST(waitpid(pid, &status, 0));
	close(fd[0]);
	close(fd[1]);
	return time[1] - time[0];
}

static bool events_are_removed_by_exec(void)
{
	uint64_t none, few, many;

	allow_files();
	/* The first one fills caches of files. */
	ns_of_exec(0);
	none = ns_of_exec(0);
	few = ns_of_exec(REMOVED) - none;
	many = ns_of_exec(2 * REMOVED) - none;
	return expect_linear("exec", few, many);
}

static const struct test tests[] = {
	{ "ENABLE of a group schedules it once", group_is_enabled_at_once },
	{ "the end of a buffer that a failed event polled", polled_buffer_is_unmapped },
	{ "exec removes events in one pass", events_are_removed_by_exec },
};

int main(int argc, char **argv)
{
	uint64_t now = monotonic_ns();

	if (argc == 3 && !strcmp(argv[1], "exec"))
		return write(atoi(argv[2]), &now, sizeof(now)) != sizeof(now);
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
