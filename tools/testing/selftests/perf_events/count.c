// SPDX-License-Identifier: GPL-2.0
/*
 * Counts are exact: a loop of known length counts its instructions, however often its task is
 * interrupted, preempted or read; user and kernel mode add up; members of a group count the same.
 *
 * Instructions are the clock of the machine; on arm64 there is one CPU, because the counters of the
 * emulator see the instructions of all CPUs.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <sched.h>

#define SLACK		10	/* instructions around the loop between two system calls */

static const char *say_loop(unsigned long n)
{
	static char text[64];

	snprintf(text, sizeof(text), "instructions of a loop of %lu rounds", n);
	return text;
}

static bool counts_loop(uint64_t event)
{
	struct perf_event_attr attr = hw_attr(event, "u");
	bool good = true;
	int fd;

	require_exact_instructions();
	fd = open_self(&attr, -1);
	for (unsigned long n = 1000; n <= 10000000; n *= 10) {
		MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
		count_loop(fd, n, 0);
		good &= expect_near(say_loop(n), perf_count(fd), LOOP_INSNS(n), SLACK);
	}
	return good;
}

static bool loop_counts_its_instructions(void)
{
	return counts_loop(PERF_COUNT_HW_INSTRUCTIONS);
}

/* With instructions as the clock each takes one cycle; other CPUs add some. */
static bool loop_counts_its_cycles(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		skip_case("cycles pass while other CPUs have their turns");
	return counts_loop(PERF_COUNT_HW_CPU_CYCLES);
}

/* A read changes neither the count nor its time. */
static bool reading_does_not_disturb(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t value, last = 0, rounds = 1000;
	/* Instructions of a round beside the loop: 32 bits take more for the sums. */
	unsigned int beside = sizeof(long) == 8 ? 20 : 40;
	bool good = true;
	int fd;

	require_exact_instructions();
	fd = open_self(&attr, -1);
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	for (uint64_t i = 0; i < rounds; i++) {
		run_loop(5000);
		raw_syscall(__NR_read, fd, (long)&value, sizeof(value));
		good &= value - last >= LOOP_INSNS(5000) || !i;
		last = value;
	}
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
	good &= expect_near("all rounds", perf_count(fd), rounds * LOOP_INSNS(5000),
			    rounds * beside);
	return good & expect_near("the last reading", last, perf_count(fd), 100);
}

/* Rounds of a known loop and a system call. Each run counts the same. */
static uint64_t count_rounds(int fd, unsigned int rounds, long nr)
{
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned int i = 0; i < rounds; i++) {
		run_loop(2000);
		raw_syscall(nr, 0, 0, 0);
	}
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
	return perf_count(fd);
}

/* Context switches of this task. */
static unsigned long task_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static bool user_and_kernel_are_both(void)
{
	bool good = true;
	struct perf_event_attr attr[] = {
		hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"),
		hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k"),
		hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "uk"),
	};
	unsigned int nr;
	uint64_t format = PERF_FORMAT_GROUP;
	struct reading r;
	int leader;

	require_exact_instructions();
	/* With two counters only, without the sum. */
	require_instruction_counters(2);
	nr = max_group_size(PERF_COUNT_HW_INSTRUCTIONS) > 2 ? 3 : 2;
	for (unsigned int i = 0; i < nr; i++) {
		attr[i].read_format = format;
		attr[i].disabled = !i;
	}
	leader = open_self(&attr[0], -1);
	for (unsigned int i = 1; i < nr; i++)
		open_self(&attr[i], leader);
	for (unsigned int times = 1; times <= 10000; times *= 10) {
		uint64_t sum, since, ns, switched;

		MUST(ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
		switched = task_switches();
		since = monotonic_ns();
		raw_syscall(__NR_ioctl, leader, PERF_EVENT_IOC_ENABLE, 0);
		for (unsigned int i = 0; i < times; i++) {
			run_loop(100);
			short_syscall();
		}
		raw_syscall(__NR_ioctl, leader, PERF_EVENT_IOC_DISABLE, 0);
		ns = monotonic_ns() - since;
		switched = task_switches() - switched;
		if (!read_in_format(leader, format, &r))
			return false;
		sum = r.member[0].value + r.member[1].value;
		ktap_note("%u system calls: user %llu, kernel %llu, both %llu", times,
			  (unsigned long long)r.member[0].value,
			  (unsigned long long)r.member[1].value,
			  (unsigned long long)(nr > 2 ? r.member[2].value : sum));
		/*
		 * Counters of a group start and stop one after the other, in the kernel, at each
		 * switch.
		 */
		if (nr > 2)
			good &= expect_near("user + kernel", sum, r.member[2].value,
					    1000 * (1 + switched));
		good &= expect_between("user", r.member[0].value, times * (LOOP_INSNS(100) + 1),
				       times * (LOOP_INSNS(100) + 20) + 20);
		/* An instruction takes a nanosecond. */
		good &= expect_between("kernel", r.member[1].value, times * 20,
				       ns - r.member[0].value);
	}
	return good;
}

static bool members_saw_the_same(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct reading r;
	bool good = true;
	int leader;

	require_exact_instructions();
	require_instruction_counters(4);
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	leader = open_self(&attr, -1);
	attr.disabled = 0;
	for (int i = 1; i < 4; i++)
		open_self(&attr, leader);
	count_loop(leader, 1000000, 0);
	if (!read_in_format(leader, attr.read_format, &r) || !expect_eq("members", r.nr, 4))
		return false;
	for (uint64_t i = 0; i < r.nr; i++)
		good &= expect_near("member", r.member[i].value, LOOP_INSNS(1000000), SLACK);
	for (uint64_t i = 1; i < r.nr; i++)
		good &= expect_eq("another member", r.member[i].value, r.member[0].value);
	return good & expect_eq("time running", r.running, r.enabled);
}

/* Several events outside a group: each counts the loop. */
static bool events_count_beside_each_other(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	bool good = true;
	unsigned int nr;
	int fd[6];

	require_exact_instructions();
	nr = max_group_size(PERF_COUNT_HW_INSTRUCTIONS);
	if (nr > ARRAY_SIZE(fd))
		nr = ARRAY_SIZE(fd);
	attr.disabled = 0;
	for (unsigned int i = 0; i < nr; i++)
		fd[i] = open_self(&attr, -1);
	run_loop(10000000);
	for (unsigned int i = 0; i < nr; i++)
		good &= expect_near("one of several", perf_count(fd[i]), LOOP_INSNS(10000000),
				    10000);
	return good;
}

/* Two tasks on one CPU, each with its own event, yield to each other. */
static bool switching_loses_nothing(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned int rounds = 2000;
	uint64_t alone, shared;
	struct gate go;
	pid_t pid;
	int fd;

	require_exact_instructions();
	pin_to_cpu(0);
	go = gate_new();
	fd = open_self(&attr, -1);
	alone = count_rounds(fd, rounds, __NR_sched_yield);
	pid = fork_child();
	if (!pid) {
		int own = open_self(&attr, -1);

		gate_wait(&go);
		_exit(!expect_near("the other task", count_rounds(own, rounds, __NR_sched_yield),
				   alone, SLACK));
	}
	gate_open(&go);
	shared = count_rounds(fd, rounds, __NR_sched_yield);
	return child_succeeded(pid) &
	       expect_near("alone", alone, rounds * LOOP_INSNS(2000), rounds * 12) &
	       expect_near("with another task", shared, alone, SLACK);
}

/* A task with events and one without, which is not counted. */
static bool others_are_not_counted(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t alone, shared, switches;
	pid_t pid;
	int fd;

	require_exact_instructions();
	pin_to_cpu(0);
	fd = open_self(&attr, -1);
	alone = count_rounds(fd, 500, __NR_sched_yield);
	pid = fork_child();
	if (!pid)
		for (;;)
			short_syscall();
	switches = thread_switches();
	shared = count_rounds(fd, 500, __NR_sched_yield);
	switches = thread_switches() - switches;
	kill_child(pid);
	return expect_near("alone", alone, 500 * LOOP_INSNS(2000), 500 * 12) &
	       expect_between("switches", switches, 10, 100000) &
	       expect_near("beside a task without events", shared, alone, SLACK);
}

/* An event of a CPU counts all tasks there. */
static bool cpu_event_counts_all_tasks(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	pid_t pid[4];
	bool good = true;
	int fd;

	require_exact_instructions();
	pin_to_cpu(0);
	fd = MUST(perf_open(&attr, -1, 0, -1, 0));
	event_enable(fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = fork_child();
		if (!pid[i]) {
			run_loop(20000000);
			_exit(0);
		}
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(pid); i++)
		good &= child_succeeded(pid[i]);
	event_disable(fd);
	return good &
	       expect_near_permille("four tasks", perf_count(fd), 4 * LOOP_INSNS(20000000), 2);
}

/* Events of the CPU and of the task at once: both count the loop. */
static bool cpu_and_task_events_agree(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int cpu, task;

	require_exact_instructions();
	pin_to_cpu(0);
	cpu = MUST(perf_open(&attr, -1, 0, -1, 0));
	task = open_self(&attr, -1);
	event_enable(cpu);
	count_loop(task, 10000000, 0);
	event_disable(cpu);
	return expect_near("task", perf_count(task), LOOP_INSNS(10000000), SLACK) &
	       expect_near("CPU", perf_count(cpu), LOOP_INSNS(10000000), 2000);
}

/* Enabled and disabled repeatedly: only what runs in between is counted, and all of it. */
static bool short_turns_add_up(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd;

	require_exact_instructions();
	fd = open_self(&attr, -1);
	for (int i = 0; i < 1000; i++) {
		count_loop(fd, 500, 0);
		run_loop(500);
	}
	return expect_near("in turns", perf_count(fd), 1000 * LOOP_INSNS(500), 1000 * SLACK);
}

/*
 * A count does not wrap where the counter does, at 2^32: tested only where the loop is not needed.
 */
static bool count_passes_32_bits(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned long n = 2200000000ul;
	int fd;

	require_exact_instructions();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		skip_case("shown with one CPU");
	fd = open_self(&attr, -1);
	count_loop(fd, n, 0);
	return expect_near(say_loop(n), perf_count(fd), LOOP_INSNS(n), SLACK);
}

static const struct test tests[] = {
	{ "a loop counts its instructions, +- 10", loop_counts_its_instructions },
	{ "a loop counts its cycles, +- 10", loop_counts_its_cycles },
	{ "reading does not disturb a count", reading_does_not_disturb },
	{ "user and kernel add up to both", user_and_kernel_are_both },
	{ "members of a group saw the same instructions", members_saw_the_same },
	{ "events beside each other count the same", events_count_beside_each_other },
	{ "enabled in 1000 short turns, the turns are counted", short_turns_add_up },
	{ "2000 switches between tasks with events lose nothing", switching_loses_nothing },
	{ "tasks without events are not counted", others_are_not_counted },
	{ "an event of a CPU counts all its tasks", cpu_event_counts_all_tasks },
	{ "events of task and CPU see the same", cpu_and_task_events_agree },
	{ "a count passes 2^32", count_passes_32_bits },
};

TESTS_MAIN(tests)
