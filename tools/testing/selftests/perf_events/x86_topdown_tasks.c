// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that read slots and top-down metrics by RDPMC and take turns, on one CPU and from CPU to
 * CPU: each finds the registers as it left them. The emulator's PERF_METRICS has fixed fractions of
 * the slots, and is empty while they are 0. With several CPUs, cycles and so slots sometimes pass
 * while another CPU has its turn.
 *
 * And counts of tasks that fork, exec and move, while CPUs turn offline and online: TOPDOWN_TURNS
 * in the environment (a kernel parameter) is how many do.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_precise_tasks.h"
#include "x86_rdpmc.h"

#define SLOTS		0x0400
#define METRIC(n)	(0x8000 + ((n) << 8))
#define RDPMC_SLOTS	0x40000003
#define RDPMC_METRICS	0x20000000
#define SLOTS_FILE	"/sys/bus/event_source/devices/cpu/events/slots"
#define FRACTIONS	0x4d331966	/* of the first four metrics, in 255ths */
#define METRICS		4
#define TURNS		200
/* Four slots in each cycle, a cycle to an instruction. */
#define LOOP_SLOTS(n)	(4 * LOOP_INSNS(n))
/* Slots of the instructions around a loop. */
#define AROUND		8000

/*
 * A task that reads the registers. @loops: in a turn; it moves with each turn if @cpus is more
 * than 1; @last: slots that were read last. Turns with @wrong registers, with @more slots than
 * those of the loop, and on another CPU than the turn before.
 */
struct reader {
	unsigned int	loops, cpus, wrong, more, moved;
	uint64_t	last;
	int		fd[1 + METRICS];
	volatile struct perf_event_mmap_page *page[1 + METRICS];
};

static void open_reader(struct reader *me)
{
	for (unsigned int i = 0; i <= METRICS; i++) {
		struct perf_event_attr attr;

		attr = perf_attr_modes(PERF_TYPE_RAW, i ? METRIC(i - 1) : SLOTS, "u");
		attr.disabled = !i;
		me->fd[i] = open_self(&attr, i ? me->fd[0] : -1);
		me->page[i] = map_event(me->fd[i]);
	}
	event_enable(me->fd[0]);
	me->last = read_rdpmc(RDPMC_SLOTS);
}

/* Both registers continue with what this task does; a metric is its fraction of the slots. */
static void read_registers(struct reader *me, unsigned int turn)
{
	uint64_t slots = read_rdpmc(RDPMC_SLOTS), metrics = read_rdpmc(RDPMC_METRICS);
	uint64_t done = slots - me->last;
	bool good = slots > me->last && done >= LOOP_SLOTS(me->loops) &&
		    (uint32_t)metrics == FRACTIONS && me->page[0]->index == RDPMC_SLOTS + 1;

	for (unsigned int i = 1; i <= METRICS; i++)
		good &= me->page[i]->index == RDPMC_METRICS + 1;
	if (!good && !me->wrong++)
		ktap_note("turn %u: slots %lu, before %lu, fractions %#lx, index %#x", turn, slots,
			  me->last, metrics, me->page[0]->index);
	me->more += done > LOOP_SLOTS(me->loops) + AROUND;
	me->last = slots;
}

/* read() agrees: each metric is its fraction of the slots that the register shows. */
static bool counts_agree(const struct reader *me)
{
	uint64_t count[1 + METRICS], now;
	bool good = true;

	for (unsigned int i = 0; i <= METRICS; i++)
		count[i] = perf_count(me->fd[i]);
	now = read_rdpmc(RDPMC_SLOTS);
	for (unsigned int i = 0; i <= METRICS; i++) {
		unsigned int share = i ? FRACTIONS >> 8 * (i - 1) & 0xff : 255;

		good &= expect_between(i ? "a metric of read()" : "slots of read()", count[i],
				       me->last * share / 255 - !!i, now * share / 255);
	}
	return good;
}

static bool run_reader(struct reader *me, struct gate *to_other, struct gate *from_other,
		       bool begins)
{
	unsigned int most = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? TURNS / 20 : 0;

	MUST(pin_to_cpu(0));
	open_reader(me);
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		int before = sched_getcpu();

		if (turn || !begins)
			gate_wait(from_other);
		MUST(pin_to_cpu(turn % me->cpus));
		me->moved += sched_getcpu() != before;
		run_loop(me->loops);
		read_registers(me, turn);
		gate_open(to_other);
	}
	return counts_agree(me) &
	       expect_eq("turns with other registers than those of the task", me->wrong, 0) &
	       expect_between("turns with more slots than those of the task", me->more, 0, most) &
	       expect_eq("moves to another CPU", me->moved, me->cpus > 1 ? TURNS - 1 : 0);
}

/* The tasks do different work, so that the slots of one are not those of the other. */
static bool readers_take_turns(unsigned int cpus)
{
	struct gate go = gate_new(), back = gate_new();
	struct reader mine = { .loops = 2000, .cpus = cpus };
	struct reader others = { .loops = 7000, .cpus = cpus };
	uint64_t switches;
	pid_t other;
	bool good;

	require_exact_instructions();
	if (access(SLOTS_FILE, F_OK))
		skip_case("no metrics");
	require_cpus(cpus);
	other = fork_child();
	if (!other)
		_exit(!run_reader(&others, &back, &go, false));
	switches = thread_switches();
	good = run_reader(&mine, &go, &back, true);
	return good & expect(child_succeeded(other), "the other task") &
	       expect(thread_switches() - switches >= TURNS - 1, "switches");
}

static bool one_cpu(void)
{
	return readers_take_turns(1);
}

static bool two_cpus(void)
{
	return readers_take_turns(2);
}

/* --------------------------------------------- of tasks that fork, exec and move */

#define STEP_TURNS	3

/* Slots and metrics: of one task, of that and its children on one CPU, or of all tasks on it. */
struct group {
	int	fd[1 + METRICS];
};

/* @pid: -1: any; @cpu: -1: any. */
static void open_group(struct group *group, pid_t pid, int cpu)
{
	for (unsigned int i = 0; i <= METRICS; i++) {
		struct perf_event_attr attr;

		attr = perf_attr_modes(PERF_TYPE_RAW, i ? METRIC(i - 1) : SLOTS, "u");
		attr.disabled = !i;
		attr.inherit = pid > 0 && cpu >= 0;
		group->fd[i] = MUST(perf_open(&attr, pid, cpu, i ? group->fd[0] : -1,
					      PERF_FLAG_FD_CLOEXEC));
	}
	event_enable(group->fd[0]);
}

/* Adds its slots to @slots. @tasks: so many counts are in its sum, each of them rounded. */
static bool close_group(struct group *group, unsigned int tasks, uint64_t *slots)
{
	bool good = true;
	uint64_t all;

	event_disable(group->fd[0]);
	all = perf_count(group->fd[0]);
	for (unsigned int i = 1; i <= METRICS; i++) {
		uint64_t share = FRACTIONS >> 8 * (i - 1) & 0xff;

		good &= expect_near("a metric", perf_count(group->fd[i]), all * share / 255,
				    1 + tasks);
	}
	for (unsigned int i = 0; i <= METRICS; i++)
		close(group->fd[i]);
	*slots += all;
	return good;
}

/* Every other task has a group for each CPU, which its children inherit. */
static bool tasks_have_their_metrics(unsigned int turn)
{
	struct group groups[TASKS][CPUS];
	struct stepper steppers[TASKS];
	bool good = true;

	for (unsigned int i = 0; i < TASKS; i++) {
		start_stepper(&steppers[i]);
		for (unsigned int cpu = 0; cpu < (i % 2 ? CPUS : 1); cpu++)
			open_group(&groups[i][cpu], steppers[i].pid, i % 2 ? (int)cpu : -1);
	}
	for (unsigned int i = 0; i < TASKS; i++)
		gate_open(&steppers[i].go);
	turn_cpu_off(turn);
	for (unsigned int i = 0; i < TASKS; i++) {
		uint64_t switches = 0, slots = 0;

		good &= finish_stepper(&steppers[i], &switches);
		for (unsigned int cpu = 0; cpu < (i % 2 ? CPUS : 1); cpu++)
			good &= close_group(&groups[i][cpu], i % 2 ? 1 + CHILDREN : 1, &slots);
		good &= expect(slots >= 4 * STEP_INSNS, "%lu slots of a task", slots);
	}
	return good;
}

static bool cpus_have_their_metrics(unsigned int turn)
{
	struct stepper steppers[TASKS];
	uint64_t slots = 0, switches = 0;
	struct group groups[CPUS];
	bool good = true;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		open_group(&groups[cpu], -1, cpu);
	for (unsigned int i = 0; i < TASKS; i++) {
		start_stepper(&steppers[i]);
		gate_open(&steppers[i].go);
	}
	turn_cpu_off(turn);
	for (unsigned int i = 0; i < TASKS; i++)
		good &= finish_stepper(&steppers[i], &switches);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		good &= close_group(&groups[cpu], 1, &slots);
	return good & expect(slots >= 4 * TASKS * STEP_INSNS, "%lu slots", slots);
}

static bool metrics_are_fractions(bool (*run)(unsigned int turn))
{
	unsigned int turns = env_number("TOPDOWN_TURNS", STEP_TURNS);
	bool good = true;

	require_exact_instructions();
	if (access(SLOTS_FILE, F_OK))
		skip_case("no metrics");
	require_cpus(CPUS);
	MUST(pin_to_cpu(0));
	for (unsigned int turn = 0; good && turn < turns; turn++)
		good = run(turn);
	return good;
}

static bool tasks_that_move(void)
{
	return metrics_are_fractions(tasks_have_their_metrics);
}

static bool cpus_that_turn_off(void)
{
	return metrics_are_fractions(cpus_have_their_metrics);
}

static const struct test tests[] = {
	{ "the registers that programs read are those of the task, on one CPU", one_cpu },
	{ "the registers that programs read move to another CPU with the task", two_cpus },
	{ "metrics of tasks that fork, exec and move are their fractions", tasks_that_move },
	{ "metrics of CPUs that turn offline are their fractions", cpus_that_turn_off },
};

int main(int argc, char **argv)
{
	return run_tests_or_steps(tests, ARRAY_SIZE(tests), argc, argv);
}
#else
TESTS_MAIN_SKIPPED("top-down metrics", "not an x86")
#endif
