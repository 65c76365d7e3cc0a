// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks as counters: they count time on a CPU, the same that the event's times say, and can be
 * read of a task that is not running.
 */
#include "record.h"

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
		ktap_bail_out("a clock");
	return fd;
}

static bool between(uint64_t got, uint64_t min, uint64_t max, const char *what)
{
	return ktap_result(got >= min && got <= max, "%s: %llu in [%llu, %llu]", what,
			   (unsigned long long)got, (unsigned long long)min,
			   (unsigned long long)max);
}

static bool exactly(uint64_t got, uint64_t want, const char *what)
{
	return between(got, want, want, what);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void burn_ns(uint64_t ns)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		run_loop(1000);
}

static void sleep_ms(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	nanosleep(&t, NULL);
}

static void test_task_clock(void)
{
	int fd = clock_open(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	uint64_t least, most, first, second;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* Whatever else takes the machine's time, and when: what lies within and what lies around. */
	most = now_ns(CLOCK_THREAD_CPUTIME_ID);
	first = perf_count(fd);
	least = now_ns(CLOCK_THREAD_CPUTIME_ID);
	burn_ns(100000000);
	least = now_ns(CLOCK_THREAD_CPUTIME_ID) - least;
	second = perf_count(fd);
	most = now_ns(CLOCK_THREAD_CPUTIME_ID) - most;
	between(second - first, least - least / 50, most + most / 50, "task-clock of a busy 100 ms");

	first = perf_count(fd);
	sleep_ms(200);
	second = perf_count(fd);
	between(second - first, 0, 100000000, "task-clock of 200 ms asleep");

	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	first = perf_count(fd);
	burn_ns(10000000);
	exactly(perf_count(fd), first, "task-clock while disabled");
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	exactly(perf_count(fd), 0, "task-clock after a reset");
	close(fd);
}

static void test_times(uint64_t id, const char *name)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, id);
	uint64_t value[3];
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, 0, -1, -1, 0);
	burn_ns(20000000);
	sleep_ms(20);
	burn_ns(20000000);
	if (read(fd, value, sizeof(value)) != sizeof(value))
		ktap_bail_out("read");
	exactly(value[1], value[2], name);
	between(value[0], value[1] - value[1] / 50, value[1] + value[1] / 50,
		"   the count is the time enabled");
	close(fd);
}

static void test_cpu_clock(void)
{
	int fd = clock_open(PERF_COUNT_SW_CPU_CLOCK, -1, 0);
	uint64_t least, most, count;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	most = now_ns(CLOCK_MONOTONIC);
	count = perf_count(fd);
	least = now_ns(CLOCK_MONOTONIC);
	sleep_ms(200);
	least = now_ns(CLOCK_MONOTONIC) - least;
	count = perf_count(fd) - count;
	most = now_ns(CLOCK_MONOTONIC) - most;
	between(count, least - least / 50, most + most / 50, "cpu-clock of a CPU goes on while we sleep");
	close(fd);
}

/*
 * A task that is told of as stopped may have a way to go until it is off the CPU: when its clock has
 * not moved while we slept, on the same CPU, it is.
 */
static uint64_t settled(int fd)
{
	uint64_t last, now = perf_count(fd);

	do {
		last = now;
		sleep_ms(2);
		now = perf_count(fd);
	} while (now != last);
	return now;
}

/* CPU time of a child, by the scheduler, once it is gone. */
static uint64_t end_of(pid_t child)
{
	struct rusage usage;

	if (wait4(child, NULL, 0, &usage) != child)
		ktap_bail_out("wait4");
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ULL +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ULL;
}

static void test_other_task(void)
{
	uint64_t first, all;
	int fd, status;
	pid_t child;

	pin_to_cpu(0);
	child = fork();
	if (!child) {
		raise(SIGSTOP);
		burn_ns(30000000);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, &status, WUNTRACED);
	fd = clock_open(PERF_COUNT_SW_TASK_CLOCK, child, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	first = settled(fd);
	sleep_ms(50);
	exactly(perf_count(fd), first, "task-clock of a stopped task");
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	kill(child, SIGCONT);
	waitpid(child, &status, WUNTRACED);
	first = settled(fd);
	sleep_ms(50);
	exactly(perf_count(fd), first, "task-clock of another task, stopped again");
	kill(child, SIGCONT);
	all = end_of(child);
	between(first, 29000000, all + all / 50, "task-clock of another task");
	between(perf_count(fd), first, all + all / 50, "task-clock of another task, dead");
	close(fd);
}

/* Two children on one CPU share it; each has its own clock. */
static void test_shared_cpu(void)
{
	int fd[2], status;
	uint64_t wall, all[2];
	pid_t child[2];

	pin_to_cpu(0);
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		if (!child[i]) {
			raise(SIGSTOP);
			burn_ns(100000000);
			_exit(0);
		}
		waitpid(child[i], &status, WUNTRACED);
		fd[i] = clock_open(PERF_COUNT_SW_TASK_CLOCK, child[i], -1);
		ioctl(fd[i], PERF_EVENT_IOC_ENABLE, 0);
	}
	wall = now_ns(CLOCK_MONOTONIC);
	kill(child[0], SIGCONT);
	kill(child[1], SIGCONT);
	all[0] = end_of(child[0]);
	all[1] = end_of(child[1]);
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	/* The scheduler's clock runs on while it switches, an event's does not: some 30 turns each. */
	between(perf_count(fd[0]), 94000000, all[0] + all[0] / 50, "task-clock of the first of two on a CPU");
	between(perf_count(fd[1]), 94000000, all[1] + all[1] / 50, "task-clock of the second");
	between(perf_count(fd[0]) + perf_count(fd[1]), 170000000, wall,
		"both together take no more than there was");
	close(fd[0]), close(fd[1]);
}

static void test_group(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t value[1 + 3], most;
	int leader, clock, dummy;

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

	most = now_ns(CLOCK_THREAD_CPUTIME_ID);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch_pages(fresh_pages(50), 50);
	burn_ns(10000000);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	most = now_ns(CLOCK_THREAD_CPUTIME_ID) - most;
	touch_pages(fresh_pages(50), 50);
	burn_ns(100000000);
	if (read(leader, value, sizeof(value)) != sizeof(value))
		ktap_bail_out("read of the group");
	exactly(value[0], 3, "group: members");
	exactly(value[1], 50, "group: page-faults");
	between(value[2], 10000000, most + most / 50, "group: task-clock");
	exactly(value[3], 0, "group: dummy");
	close(leader), close(clock), close(dummy);
}

static void is_not_there(uint64_t config)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, config);
	int fd = perf_open(&attr, 0, -1, -1, 0);

	ktap_result(fd < 0 && errno == ENOENT, "software event %#llx is not there",
		    (unsigned long long)config);
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	static const uint64_t nothing[] = {
		PERF_COUNT_SW_MAX, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 63,
		~0ULL, (1ULL << 32) | PERF_COUNT_SW_PAGE_FAULTS, (1ULL << 63) | 1,
	};

	ktap_start(0);
	test_task_clock();
	test_times(PERF_COUNT_SW_TASK_CLOCK, "task-clock: time running is time enabled");
	test_times(PERF_COUNT_SW_CPU_CLOCK, "cpu-clock: time running is time enabled");
	test_cpu_clock();
	test_other_task();
	test_shared_cpu();
	test_group();
	for (unsigned int i = 0; i < ARRAY_SIZE(nothing); i++)
		is_not_there(nothing[i]);
	return ktap_finish();
}
