// SPDX-License-Identifier: GPL-2.0
/*
 * Groups and pinned events against throttling, poll() and close(): disabled siblings of a throttled
 * leader stay disabled, a pinned event that fails is reported at once, and the counter of a closed
 * event is free when close() returns.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

/*
 * Throttling
 */

#define RATE	1000	/* perf_event_max_sample_rate: a few samples a tick */

static bool set_rate(long rate)
{
	/* Without a limit on the time the rate cannot be changed. */
	sysctl_set("perf_cpu_time_max_percent", 25);
	return !sysctl_set("perf_event_max_sample_rate", rate);
}

/* Has it never been enabled? */
static bool untouched(const char *what, int fd)
{
	struct timed_count t = read_timed_count(fd);

	return expect_eq(what, t.value, 0) & expect_eq("  time enabled", t.enabled, 0) &
	       expect_eq("  time running", t.running, 0);
}

static int open_member(struct perf_event_attr attr, int leader)
{
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 1;
	return open_self(&attr, leader);
}

/*
 * The leader overflows all the time, and is stopped and started by throttling. Siblings that are
 * disabled stay so until they are enabled, and count from then on.
 */
static bool throttled_with_disabled_siblings(struct perf_event_attr attr, uint64_t sibling_type,
					     uint64_t sibling_config)
{
	struct perf_event_attr clock = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct perf_event_attr faults = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr other = perf_attr(sibling_type, sibling_config);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	uint64_t before;
	int leader, fd[3];
	bool good = true;

	if (!set_rate(RATE))
		fail_case("perf_event_max_sample_rate");
	clock.sample_period = 1;
	faults.sample_period = 1;
	faults.exclude_kernel = 1;
	other.exclude_kernel = 1;
	other.sample_period = sibling_type == PERF_TYPE_HARDWARE ? 1 : 0;
	fault_pages(100);
	leader = open_member(attr, -1);
	fd[0] = open_member(clock, leader);
	fd[1] = open_member(faults, leader);
	fd[2] = open_member(other, leader);
	event_enable(leader);
	spin_ms(200);
	good &= untouched("a disabled clock", fd[0]);
	good &= untouched("disabled page faults", fd[1]);
	good &= untouched("a disabled sibling like the leader", fd[2]);

	event_enable(fd[0]);
	event_enable(fd[1]);
	fault_pages(100);
	spin_ms(100);
	event_disable(fd[1]);
	/* A clock does not count while it is throttled. */
	good &= expect_between("the clock, enabled", read_timed_count(fd[0]).value, 1, UINT64_MAX);
	good &= expect_between("page faults, enabled", read_timed_count(fd[1]).value, 100, 110);
	good &= untouched("the sibling like the leader", fd[2]);
	before = read_timed_count(leader).value;
	spin_ms(50);
	good &= expect_between("the leader, throttled and not", read_timed_count(leader).value,
			       before + 1, UINT64_MAX);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	close(leader);
	sysctl_set("perf_event_max_sample_rate", rate);
	return good;
}

static bool clock_with_disabled_siblings(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_period = 1;
	return throttled_with_disabled_siblings(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

static bool counter_with_disabled_siblings(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attr.sample_period = 1000;
	return throttled_with_disabled_siblings(attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

/*
 * Pinned events
 */

#define WORK_CPU	1

/* A process that computes on WORK_CPU. */
static pid_t computing_child(void)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	MUST(pin_to_cpu(WORK_CPU));
	for (;;)
		run_loop(100000);
}

static void require_pinned_events(void)
{
	require_cpus(WORK_CPU + 1);
	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	MUST(pin_to_cpu(0));
}

static struct perf_event_attr pinned_attr(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");

	attr.disabled = 0;
	attr.pinned = 1;
	return attr;
}

static bool has_failed(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == 0;
}

static int polled_fd;
static bool poll_reported, epoll_reported;

static void *poll_it(void *unused)
{
	struct pollfd p = { .fd = polled_fd, .events = POLLIN };

	poll_reported = poll(&p, 1, 10000) == 1 && p.revents & POLLHUP;
	return unused;
}

static void *epoll_it(void *unused)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, polled_fd, &event);
	epoll_reported = epoll_wait(fd, &event, 1, 10000) == 1 && event.events & EPOLLHUP;
	close(fd);
	return unused;
}

/* The pinned events of WORK_CPU stop the task's, which fails while both threads sleep. */
static bool failure_is_reported(pid_t pid)
{
	struct perf_event_attr attr = pinned_attr();
	size_t size = 2 * getpagesize();
	pthread_t thread[2];
	int fd[64], nr = 0;
	bool good;
	void *map;

	attr.sample_period = 1ull << 40;
	polled_fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, polled_fd, 0);
	if (map == MAP_FAILED)
		fail_case("mmap");
	pthread_create(&thread[0], NULL, poll_it, NULL);
	pthread_create(&thread[1], NULL, epoll_it, NULL);
	sleep_ms(20);
	good = expect_eq("failed before", has_failed(polled_fd), false);
	attr.sample_period = 0;
	do {
		fd[nr] = MUST(perf_open(&attr, -1, WORK_CPU, -1, 0));
	} while (!has_failed(fd[nr++]) && nr < (int)ARRAY_SIZE(fd));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	good &= expect_eq("failed afterwards", has_failed(polled_fd), true);
	good &= expect_eq("poll() says so", poll_reported, true);
	good &= expect_eq("epoll_wait() says so", epoll_reported, true);
	while (nr)
		close(fd[--nr]);
	munmap(map, size);
	close(polled_fd);
	return good;
}

static bool pinned_failure_wakes(void)
{
	bool good = true;
	pid_t pid;

	require_pinned_events();
	pid = computing_child();
	for (int round = 0; good && round < 10; round++)
		good &= failure_is_reported(pid);
	kill_child(pid);
	return good;
}

/*
 * The counter of a closed event may still run. Its count is not added to an event that reuses the
 * closed one's memory.
 */
static bool count_is_not_reused(int *each, struct perf_event_attr *attr, pid_t pid)
{
	struct perf_event_attr dummy = sw_attr(PERF_COUNT_SW_DUMMY);
	bool good = true;
	int reuse[60];

	close(*each);
	sleep_ms(30);
	for (unsigned int i = 0; i < ARRAY_SIZE(reuse); i++)
		reuse[i] = open_self(&dummy, -1);
	*each = MUST(perf_open(attr, pid, -1, -1, 0));
	sleep_ms(5);
	for (unsigned int i = 0; i < ARRAY_SIZE(reuse); i++) {
		good &= expect_eq("count of a dummy", perf_count(reuse[i]), 0);
		close(reuse[i]);
	}
	return good;
}

/* Pinned events in all counters, and one more, with this sample_period, which fails. */
static int open_failing(uint64_t period)
{
	unsigned int nr = max_pinned_events(PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr attr = pinned_attr();
	int fd;

	while (nr--)
		open_self(&attr, -1);
	attr.sample_period = period;
	fd = open_self(&attr, -1);
	if (!has_failed(fd))
		fail_case("a pinned event without a counter");
	return fd;
}

static int poll_now(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

/* As when a tool maps one event for each CPU and redirects the others to it. */
static bool failed_event_polls_its_buffer(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	bool good = true;
	int fd, faults;
	void *map;

	require_pinned_events();
	fd = open_failing(1ull << 40);
	map = mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail_case("mmap");
	attr.sample_period = 1;
	attr.wakeup_events = 1;
	attr.exclude_kernel = 1;
	faults = open_self(&attr, -1);
	MUST(ioctl(faults, PERF_EVENT_IOC_SET_OUTPUT, fd));
	fault_pages(3);
	poll_now(fd);
	for (int round = 0; round < 3; round++) {
		good &= expect_eq("nothing new", poll_now(fd), 0);
		fault_pages(3);
		good &= expect_eq("records of the other event", poll_now(fd), POLLIN);
	}
	close(faults);
	/* Kernels that give no reasons report the failure to read(2) only. */
	if (kernel_gives_reasons())
		good &= expect_eq("no event writes to the buffer", poll_now(fd), POLLHUP);
	return good;
}

/* The last event that writes to the buffer leaves it while a task waits for a record of it. */
static bool waiter_is_woken(int failed, bool redirect)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct pollfd p = { .fd = failed, .events = POLLIN };
	int faults = open_self(&attr, -1), other = open_self(&attr, -1), status;
	struct ring ring;
	pid_t pid;

	if (!ring_map(&ring, other, 1))
		fail_case("mmap");
	MUST(ioctl(faults, PERF_EVENT_IOC_SET_OUTPUT, failed));
	poll_now(failed);
	pid = fork_child();
	if (!pid) {
		close(faults);
		alarm(5);
		_exit(poll(&p, 1, -1) == 1 && p.revents == POLLHUP ? 0 : 1);
	}
	wait_until_asleep(pid);
	if (redirect)
		MUST(ioctl(faults, PERF_EVENT_IOC_SET_OUTPUT, other));
	else
		close(faults);
	MUST(waitpid(pid, &status, 0));
	ring_unmap(&ring);
	close(other);
	return expect_eq(redirect ? "waiter, redirected" : "waiter, closed", status, 0);
}

static bool failed_event_wakes_its_waiter(void)
{
	struct ring ring;
	int fd;

	require_pinned_events();
	if (!kernel_gives_reasons())
		skip_case("poll() does not show the failure");
	fd = open_failing(1ull << 40);
	if (!ring_map(&ring, fd, 1))
		fail_case("mmap");
	return waiter_is_woken(fd, true) & waiter_is_woken(fd, false);
}

static bool failure_outlasts_disable(void)
{
	bool good = true;
	int fd;

	require_pinned_events();
	fd = open_failing(0);
	event_disable(fd);
	good &= expect_eq("failed, after DISABLE", has_failed(fd), true);
	MUST(ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	good &= expect_eq("failed, after DISABLE of the group", has_failed(fd), true);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	good &= expect_eq("failed, after prctl()", has_failed(fd), true);
	/* All counters are free now. */
	event_enable(fd);
	good &= expect_eq("failed, after ENABLE", has_failed(fd), false);
	event_disable(fd);
	return good & expect_eq("failed, after ENABLE and DISABLE", has_failed(fd), false);
}

/* As many pinned events as there are counters; another one can replace each that is closed. */
static bool closed_counter_is_free(void)
{
	struct perf_event_attr attr = pinned_attr();
	unsigned int nr, failed = 0;
	bool good;
	pid_t pid;
	int fd[40];

	require_pinned_events();
	nr = max_pinned_events(PERF_COUNT_HW_CPU_CYCLES);
	pid = computing_child();
	for (unsigned int i = 0; i < nr; i++)
		fd[i] = MUST(perf_open(&attr, pid, -1, -1, 0));
	sleep_ms(20);
	for (unsigned int i = 0; i < nr; i++)
		failed += has_failed(fd[i]);
	good = expect_eq("of as many as there are counters, failed", failed, 0);
	for (unsigned int round = 0; good && round < 200; round++) {
		int *each = &fd[round % nr];

		close(*each);
		*each = MUST(perf_open(&attr, pid, -1, -1, 0));
		usleep(round % 8 * 100);
		good &= expect_eq("failed in the place of a closed one", has_failed(*each), false);
		if (round % 20 == 0)
			good &= count_is_not_reused(each, &attr, pid);
	}
	sleep_ms(20);
	for (unsigned int i = 0; good && i < nr; i++) {
		good &= expect_between("its count", perf_count(fd[i]), 1, UINT64_MAX - 1);
		close(fd[i]);
	}
	kill_child(pid);
	return good;
}

static const struct test tests[] = {
	{ "a clock of period 1 with disabled siblings, throttled", clock_with_disabled_siblings },
	{ "a counter with disabled siblings, throttled", counter_with_disabled_siblings },
	{ "a pinned event that fails wakes poll() and epoll_wait()", pinned_failure_wakes },
	{ "poll() of a pinned event that failed shows other events' records",
	  failed_event_polls_its_buffer },
	{ "a pinned event that failed wakes poll() with the last other event of its buffer",
	  failed_event_wakes_its_waiter },
	{ "DISABLE does not hide that a pinned event failed", failure_outlasts_disable },
	{ "a closed event's counter is free at once", closed_counter_is_free },
};

TESTS_MAIN(tests)
