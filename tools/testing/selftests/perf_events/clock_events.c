// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks as counters: they count time on a CPU, the same as the times of the event, and can be read
 * while their task is not running.
 */
#include "expect.h"
#include "workloads.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

static int clock_open(uint64_t id, pid_t pid, int cpu)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, id);
	int fd;

	attr.disabled = 1;
	fd = perf_open(&attr, pid, cpu, -1, 0);
	if (fd < 0)
		fail_case("a clock");
	return fd;
}

static bool task_clock(void)
{
	int fd = clock_open(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	uint64_t least, most, first, second;
	bool ok = true;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/*
	 * The host may take time at any point: compare with the time inside and around both
	 * readings.
	 */
	most = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	first = perf_count(fd);
	least = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	spin_ns(100000000);
	least = clock_ns(CLOCK_THREAD_CPUTIME_ID) - least;
	second = perf_count(fd);
	most = clock_ns(CLOCK_THREAD_CPUTIME_ID) - most;
	ok &= expect_between("task-clock of a busy 100 ms", second - first, least - least / 50,
			     most + most / 50);

	most = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	first = perf_count(fd);
	sleep_ms(200);
	second = perf_count(fd);
	most = clock_ns(CLOCK_THREAD_CPUTIME_ID) - most;
	ok &= expect_between("task-clock of 200 ms asleep", second - first, 0, most + most / 50);

	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	first = perf_count(fd);
	spin_ns(10000000);
	ok &= expect_eq("task-clock while disabled", perf_count(fd), first);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ok &= expect_eq("task-clock after a reset", perf_count(fd), 0);
	close(fd);
	return ok;
}

static bool times_of(uint64_t id, const char *name)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, id);
	uint64_t value[3];
	int fd;
	bool ok = true;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, 0, -1, -1, 0);
	spin_ns(20000000);
	sleep_ms(20);
	spin_ns(20000000);
	if (read(fd, value, sizeof(value)) != sizeof(value))
		fail_case("read");
	ok &= expect_eq(name, value[1], value[2]);
	ok &= expect_between("the count is the time enabled", value[0], value[1] - value[1] / 50,
			     value[1] + value[1] / 50);
	close(fd);
	return ok;
}

static bool cpu_clock_of_cpu(void)
{
	int fd = clock_open(PERF_COUNT_SW_CPU_CLOCK, -1, 0);
	uint64_t least, most, count;
	bool ok;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	most = clock_ns(CLOCK_MONOTONIC);
	count = perf_count(fd);
	least = clock_ns(CLOCK_MONOTONIC);
	sleep_ms(200);
	least = clock_ns(CLOCK_MONOTONIC) - least;
	count = perf_count(fd) - count;
	most = clock_ns(CLOCK_MONOTONIC) - most;
	ok = expect_between("cpu-clock of a CPU goes on while we sleep", count, least - least / 50,
			    most + most / 50);
	close(fd);
	return ok;
}

/*
 * Reads until the count stands still: a task that is reported as stopped may still be on its CPU.
 * The caller sleeps in between, on the same CPU.
 */
static uint64_t settled_count(int fd)
{
	uint64_t last, now = perf_count(fd);

	do {
		last = now;
		sleep_ms(2);
		now = perf_count(fd);
	} while (now != last);
	return now;
}

/* Waits for a child; returns its CPU time as the scheduler counts it. */
static uint64_t reap_child(pid_t child)
{
	struct rusage usage;

	if (wait4(child, NULL, 0, &usage) != child)
		fail_case("wait4");
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ULL +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ULL;
}

static bool clock_of_other_task(void)
{
	uint64_t first, all;
	int fd, status;
	pid_t child;
	bool ok = true;

	pin_to_cpu(0);
	child = fork();
	if (!child) {
		raise(SIGSTOP);
		spin_ns(30000000);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, &status, WUNTRACED);
	fd = clock_open(PERF_COUNT_SW_TASK_CLOCK, child, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	first = settled_count(fd);
	sleep_ms(50);
	ok &= expect_eq("task-clock of a stopped task", perf_count(fd), first);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	kill(child, SIGCONT);
	waitpid(child, &status, WUNTRACED);
	first = settled_count(fd);
	sleep_ms(50);
	ok &= expect_eq("task-clock of another task, stopped again", perf_count(fd), first);
	kill(child, SIGCONT);
	all = reap_child(child);
	ok &= expect_between("task-clock of another task", first, 29000000, all + all / 50);
	ok &= expect_between("task-clock of another task, dead", perf_count(fd), first,
			     all + all / 50);
	close(fd);
	return ok;
}

/* Two children share one CPU; each has its own clock. */
static bool clocks_of_shared_cpu(void)
{
	int fd[2], status;
	uint64_t wall, all[2];
	pid_t child[2];
	bool ok = true;

	pin_to_cpu(0);
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i]) {
			raise(SIGSTOP);
			spin_ns(100000000);
			_exit(0);
		}
		waitpid(child[i], &status, WUNTRACED);
		fd[i] = clock_open(PERF_COUNT_SW_TASK_CLOCK, child[i], -1);
		ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
	}
	wall = clock_ns(CLOCK_MONOTONIC);
	kill(child[0], SIGCONT);
	kill(child[1], SIGCONT);
	all[0] = reap_child(child[0]);
	all[1] = reap_child(child[1]);
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	/*
	 * The clock of the scheduler includes its switches, that of an event does not: some 30
	 * each.
	 */
	ok &= expect_between("task-clock of the first of two on a CPU", perf_count(fd[0]), 94000000,
			     all[0] + all[0] / 50);
	ok &= expect_between("task-clock of the second", perf_count(fd[1]), 94000000,
			     all[1] + all[1] / 50);
	ok &= expect_between("both together take no more than there was",
			     perf_count(fd[0]) + perf_count(fd[1]), 170000000, wall);
	close(fd[0]);
	close(fd[1]);
	return ok;
}

static bool clock_in_group(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t value[1 + 3], most;
	int leader, clock, dummy;
	bool ok = true;

	attr.read_format = PERF_FORMAT_GROUP;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	leader = perf_open(&attr, 0, -1, -1, 0);
	attr.disabled = 0;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	clock = perf_open(&attr, 0, -1, leader, 0);
	attr.config = PERF_COUNT_SW_DUMMY;
	dummy = perf_open(&attr, 0, -1, leader, 0);
	touch_pages(fresh_pages(1), 1);

	most = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch_pages(fresh_pages(50), 50);
	spin_ns(10000000);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	most = clock_ns(CLOCK_THREAD_CPUTIME_ID) - most;
	touch_pages(fresh_pages(50), 50);
	spin_ns(100000000);
	if (read(leader, value, sizeof(value)) != sizeof(value))
		fail_case("read of the group");
	ok &= expect_eq("group: members", value[0], 3);
	ok &= expect_eq("group: page-faults", value[1], 50);
	ok &= expect_between("group: task-clock", value[2], 10000000, most + most / 50);
	ok &= expect_eq("group: dummy", value[3], 0);
	close(leader);
	close(clock);
	close(dummy);
	return ok;
}

static bool no_such_event(uint64_t config)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, config);
	int fd = perf_open(&attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return expect(fd < 0 && errno == ENOENT, "no software event %#llx",
		      (unsigned long long)config);
}

static bool times_of_task_clock(void)
{
	return times_of(PERF_COUNT_SW_TASK_CLOCK, "task-clock: time running is time enabled");
}

static bool times_of_cpu_clock(void)
{
	return times_of(PERF_COUNT_SW_CPU_CLOCK, "cpu-clock: time running is time enabled");
}

static bool no_other_software_event(void)
{
	static const uint64_t config[] = {
		PERF_COUNT_SW_MAX, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 63,
		~0ULL, (1ULL << 32) | PERF_COUNT_SW_PAGE_FAULTS, (1ULL << 63) | 1,
	};
	bool ok = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(config); i++)
		ok &= no_such_event(config[i]);
	return ok;
}

static const struct test tests[] = {
	{ "task-clock counts CPU time while it is enabled", task_clock },
	{ "task-clock counts the time that it is enabled", times_of_task_clock },
	{ "cpu-clock counts the time that it is enabled", times_of_cpu_clock },
	{ "cpu-clock of a CPU counts while the task sleeps", cpu_clock_of_cpu },
	{ "task-clock of another task, running, stopped and dead", clock_of_other_task },
	{ "task-clocks of two tasks on one CPU", clocks_of_shared_cpu },
	{ "task-clock in a group with page-faults", clock_in_group },
	{ "configs that are no software event", no_other_software_event },
};

TESTS_MAIN(tests)
