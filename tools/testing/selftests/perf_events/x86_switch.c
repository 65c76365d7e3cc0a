// SPDX-License-Identifier: GPL-2.0
/*
 * Register writes of a context switch on x86.
 *
 * QEMU's PMU model reports the number of register accesses by CPUID leaf 0x4f504d55, with
 * x-pmu-stats=on. Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "interrupts.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_rdpmc.h"

#define COUNTED	4

/* Opens four events of the calling task, in @fd if that is not NULL. */
static void count_self(uint64_t period, int *fd)
{
	static const uint64_t events[COUNTED] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
	};

	for (unsigned int i = 0; i < COUNTED; i++) {
		struct perf_event_attr attr = hw_attr(events[i], "u");
		int new;

		attr.disabled = 0;
		attr.sample_period = period;
		new = open_self(&attr, -1);
		if (fd)
			fd[i] = new;
	}
}

/* A counted process that answers each opening of @go by opening @back. */
static pid_t fork_echo(uint64_t period, struct gate *go, struct gate *back)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	count_self(period, NULL);
	for (;;) {
		gate_wait(go);
		gate_open(back);
	}
}

static void switch_there_and_back(unsigned int times, struct gate *go, struct gate *back)
{
	for (unsigned int i = 0; i < times; i++) {
		gate_open(go);
		gate_wait(back);
	}
}

/* Register writes of @n switches to a counted process and back; @both: from a counted one. */
static uint64_t writes_of_switches(unsigned int n, bool both, uint64_t period)
{
	struct gate go = gate_new(), back = gate_new();
	uint64_t before;
	int fd[COUNTED];
	pid_t partner;

	MUST(pin_to_cpu(0));
	partner = fork_echo(period, &go, &back);
	if (both)
		count_self(period, fd);
	switch_there_and_back(10, &go, &back);
	before = writes_so_far();
	switch_there_and_back(n, &go, &back);
	before = writes_so_far() - before;
	kill_child(partner);
	for (unsigned int i = 0; both && i < COUNTED; i++)
		close(fd[i]);
	return before;
}

#define SWITCHES 500

/* The stock kernel is recognized by its sysctl, where there are sysctls. */
static void need_lazy_writes(void)
{
	if (!kernel_gives_reasons() && !access("/proc/sys", F_OK))
		skip_case("this kernel writes at every switch");
}

static bool counting_costs_no_writes(void)
{
	bool good = true;

	need_stats();
	need_lazy_writes();
	for (int both = 0; both <= 1; both++)
		good &= expect_eq(both ? "writes of 500 switches there and back, both counted" :
					 "writes of 500 switches there and back",
				  writes_of_switches(SWITCHES, both, 0), 0);
	return good;
}

/* Sampling counters stop and start again: one write each where one register stops them all. */
static bool sampling_costs_few_writes(void)
{
	uint64_t n;

	need_stats();
	need_lazy_writes();
	/* Shorter than every counter, so that none has to be restarted on the way. */
	n = writes_of_switches(SWITCHES, false, 1ull << 30);
	ktap_note("%.2f writes for a switch there and back with 4 sampling events",
		  (double)n / SWITCHES);
	return expect_between("writes", n, 0, 8 * SWITCHES + SWITCHES / 10);
}

/*
 * A counter of user space alone does not count in a switch: it is written, and nothing stops it.
 * Those of a Pentium 4 stop.
 */
static bool sampling_both_writes_counters_alone(void)
{
	uint64_t n;

	need_stats();
	need_lazy_writes();
	if (!access("/sys/bus/event_source/devices/cpu/format/cccr", F_OK))
		skip_case("the counters of a Pentium 4 stop");
	n = writes_of_switches(SWITCHES, true, 1ull << 30);
	return expect_between("writes of 500 switches there and back, both sampled", n,
			      2 * COUNTED * SWITCHES, 2 * COUNTED * SWITCHES + SWITCHES / 10);
}

#define SHORT_PERIOD	50000

/*
 * The events of the task that is switched to are disabled: the counters of the sampled task must
 * not run on there. They would overflow in each of its loops.
 */
static bool disabled_task_is_not_interrupted(void)
{
	struct gate go = gate_new(), back = gate_new();
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before;
	pid_t partner;
	int fd;

	need_stats();
	MUST(pin_to_cpu(0));
	partner = fork_echo(SHORT_PERIOD, &go, &back);
	fd = open_self(&attr, -1);
	switch_there_and_back(10, &go, &back);
	before = pmis();
	for (unsigned int i = 0; i < SWITCHES; i++) {
		switch_there_and_back(1, &go, &back);
		run_loop(SHORT_PERIOD);
	}
	before = pmis() - before;
	kill_child(partner);
	close(fd);
	return expect_between("interrupts", before, 0, SWITCHES / 10);
}

static const struct test tests[] = {
	{ "counting costs no register write on a switch", counting_costs_no_writes },
	{ "sampling costs few register writes on a switch", sampling_costs_few_writes },
	{ "from one sampled task to another the counters are written",
	  sampling_both_writes_counters_alone },
	{ "a task with disabled events is not interrupted", disabled_task_is_not_interrupted },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("x86_switch", "not an x86")
#endif
