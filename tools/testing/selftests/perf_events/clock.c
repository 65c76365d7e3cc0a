// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks: the clock events against the time that passed and the time that the task ran; and the
 * times that every event has, enabled and running.
 */
#include "workload.h"

#include <sys/resource.h>

#define MS		1000000ull

static int open_clock(uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attr = sw_attr(config);

	attr.read_format = FORMAT_TIMES;
	attr.disabled = 1;
	return MUST(perf_open(&attr, pid, cpu, -1, 0));
}

/* The clock is between what passed inside and around enabling and disabling it. */
struct span {
	uint64_t	before, begin, end, after;
};

static bool in_span(const char *what, uint64_t value, const struct span *s)
{
	uint64_t least = s->end - s->begin, most = s->after - s->before;

	return between(what, value, least - least / 20, most + most / 20);
}

static bool task_clock_is_cpu_time(void)
{
	int fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	struct span s, wall;
	struct timed t;

	wall.before = now_ns();
	s.before = thread_ns();
	enable(fd);
	wall.begin = now_ns();
	s.begin = thread_ns();
	for (int i = 0; i < 10; i++) {
		spin_ms(10);
		sleep_ms(10);
	}
	s.end = thread_ns();
	wall.end = now_ns();
	disable(fd);
	s.after = thread_ns();
	wall.after = now_ns();
	t = read_timed(fd);
	return in_span("task-clock", t.value, &s) & in_span("time enabled", t.enabled, &s) &
	       same("time running", t.running, t.enabled) &
	       between("time that passed", wall.end - wall.begin, 200 * MS, UINT64_MAX);
}

/* cpu-clock of a task: the same as its task-clock. */
static bool cpu_clock_of_a_task(void)
{
	int fd = open_clock(PERF_COUNT_SW_CPU_CLOCK, 0, -1);
	struct span s;

	s.before = thread_ns();
	enable(fd);
	s.begin = thread_ns();
	for (int i = 0; i < 10; i++) {
		spin_ms(10);
		sleep_ms(10);
	}
	s.end = thread_ns();
	disable(fd);
	s.after = thread_ns();
	return in_span("cpu-clock", read_timed(fd).value, &s);
}

/* Of a CPU: time that passes, idle or not. */
static bool clocks_of_a_cpu(void)
{
	bool good = true;

	for (int i = 0; i < 2; i++) {
		int fd = open_clock(i ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK, -1, 0);
		struct span s;
		struct timed t;

		s.before = now_ns();
		enable(fd);
		s.begin = now_ns();
		spin_ms(30);
		sleep_ms(70);
		s.end = now_ns();
		disable(fd);
		s.after = now_ns();
		t = read_timed(fd);
		good &= in_span(i ? "task-clock" : "cpu-clock", t.value, &s);
		good &= in_span("time enabled", t.enabled, &s);
		good &= same("time running", t.running, t.enabled);
	}
	return good;
}

/* Two tasks on one CPU: each has half of the time. */
static bool shared_cpu(void)
{
	int fd, child, cpu;
	uint64_t all, mine, its;
	pid_t pid;

	pin_to_cpu(0);
	pid = fork_child();
	if (!pid)
		for (;;)
			run_loop(100000);
	cpu = open_clock(PERF_COUNT_SW_CPU_CLOCK, -1, 0);
	fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	child = open_clock(PERF_COUNT_SW_TASK_CLOCK, pid, -1);
	enable(cpu);
	enable(fd);
	enable(child);
	spin_ms(500);
	disable(child);
	disable(fd);
	disable(cpu);
	end_child(pid);
	all = read_timed(cpu).value;
	mine = read_timed(fd).value;
	its = read_timed(child).value;
	return near_permille("both", mine + its, all, 30) &
	       between("mine, in thousandths", mine * 1000 / all, 350, 650);
}

/* A disabled event's clocks stand still; enabled again they go on from there. */
static bool times_stand_still(void)
{
	int fd = open_clock(PERF_COUNT_SW_CPU_CLOCK, -1, 0);
	struct timed first, second, third;

	first = read_timed(fd);
	if (!same("never enabled", first.enabled | first.running | first.value, 0))
		return false;
	enable(fd);
	sleep_ms(20);
	disable(fd);
	first = read_timed(fd);
	sleep_ms(20);
	second = read_timed(fd);
	enable(fd);
	sleep_ms(20);
	third = read_timed(fd);
	return between("enabled", first.enabled, 20 * MS, 10000 * MS) &
	       same("enabled, while disabled", second.enabled, first.enabled) &
	       same("value, while disabled", second.value, first.value) &
	       between("enabled again", third.enabled - second.enabled, 20 * MS, 10000 * MS) &
	       near("value and time", third.value, third.running, MS);
}

/* Times of a task's event: only while the task runs. */
static bool times_of_a_sleeper(void)
{
	int fd = open_clock(PERF_COUNT_SW_DUMMY, 0, -1);
	struct timed t;

	enable(fd);
	sleep_ms(100);
	disable(fd);
	t = read_timed(fd);
	return between("enabled", t.enabled, 1, 50 * MS) & same("running", t.running, t.enabled);
}

/* Reading a sleeping or a running other task's clock: rising, and no faster than time. */
static bool clock_of_another_task(void)
{
	struct timed t, last = { 0 };
	uint64_t begin, now;
	bool good = true;
	pid_t pid;
	int fd;

	need_cpus(2);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(1);
		for (;;) {
			spin_ms(3);
			sleep_ms(2);
		}
	}
	pin_to_cpu(0);
	begin = now_ns();
	fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, pid, -1);
	enable(fd);
	for (int i = 0; i < 50; i++) {
		usleep(3000);
		t = read_timed(fd);
		now = now_ns();
		good &= between("value", t.value, last.value, now - begin);
		good &= between("enabled", t.enabled, last.enabled, now - begin);
		good &= near("value and running", t.value, t.running, MS);
		last = t;
	}
	end_child(pid);
	return good & between("in the end", last.value, 10 * MS, UINT64_MAX);
}

/* A task's event bound to a CPU: enabled wherever the task runs, running there only. */
static bool times_of_a_bound_event(void)
{
	struct timed t;
	int fd;

	need_cpus(2);
	pin_to_cpu(0);
	fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, 0, 1);
	enable(fd);
	spin_ms(50);
	t = read_timed(fd);
	if (!same("running elsewhere", t.running, 0) || !same("value elsewhere", t.value, 0))
		return false;
	pin_to_cpu(1);
	spin_ms(50);
	pin_to_cpu(0);
	t = read_timed(fd);
	return between("value", t.value, 45 * MS, 200 * MS) &
	       near("value and running", t.value, t.running, 2 * MS) &
	       between("enabled", t.enabled, 95 * MS, 2000 * MS);
}

/* IOC_RESET sets the value back and leaves the times. */
static bool reset_leaves_times(void)
{
	int fd = open_clock(PERF_COUNT_SW_PAGE_FAULTS, 0, -1);
	struct timed before, after;

	enable(fd);
	spin_ms(20);
	free(calloc(1, 1 << 20));
	disable(fd);
	before = read_timed(fd);
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	after = read_timed(fd);
	return same("value", after.value, 0) & same("enabled", after.enabled, before.enabled) &
	       same("running", after.running, before.running);
}

/* Many tasks, forked one after the other: their clocks add up to the time of all of them. */
static bool children_add_up(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct rusage usage;
	uint64_t want;
	struct timed t;
	int fd;

	attr.read_format = FORMAT_TIMES;
	attr.inherit = 1;
	fd = open_self(&attr, -1);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			spin_ms(10);
			sleep_ms(5);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	t = read_timed(fd);
	MUST(getrusage(RUSAGE_CHILDREN, &usage));
	want = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ull +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ull;
	ktap_note("children's time: %llu us, the clock's %llu us",
		  (unsigned long long)want / 1000, (unsigned long long)t.value / 1000);
	return between("clock of all", t.value, 100 * MS * 9 / 10, 100000 * MS) &
	       near("value and running", t.value, t.running, 2 * MS);
}

static const struct test tests[] = {
	{ "task-clock is the task's CPU time", task_clock_is_cpu_time },
	{ "cpu-clock of a task is its CPU time", cpu_clock_of_a_task },
	{ "clocks of a CPU are the time that passes", clocks_of_a_cpu },
	{ "clocks of two tasks add up to their CPU's", shared_cpu },
	{ "times stand still while disabled", times_stand_still },
	{ "a sleeping task's times stand still", times_of_a_sleeper },
	{ "the clock of another task rises with the time", clock_of_another_task },
	{ "times of an event bound to a CPU", times_of_a_bound_event },
	{ "IOC_RESET leaves the times", reset_leaves_times },
	{ "clocks of children add up", children_add_up },
};

TESTS_MAIN(tests)
