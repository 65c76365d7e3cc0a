// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that read slots and top-down metrics by RDPMC and take turns, on one CPU and from CPU to
 * CPU: each finds the registers as it left them. The emulator's PERF_METRICS has fixed fractions of
 * the slots, and is empty while they are 0. With several CPUs, cycles and so slots sometimes pass
 * while another CPU has its turn.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
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

static const struct test tests[] = {
	{ "the registers that programs read are those of the task, on one CPU", one_cpu },
	{ "the registers that programs read move to another CPU with the task", two_cpus },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("top-down metrics", "not an x86")
#endif
