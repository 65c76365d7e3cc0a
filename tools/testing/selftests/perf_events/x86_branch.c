// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records on x86: exact pairs of a program with known branches, filters, tasks that take
 * turns, call stacks, refusals. Instructions are the clock of the machine. It records every branch.
 *
 * BRANCH_SAMPLES in the environment (a kernel parameter) is the number of samples with each filter
 * and each option, instead of a few hundred.
 */
#include <linux/hw_breakpoint.h>

#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_branch_samples.h"
#include "x86_rdpmc.h"

#define NOBODY_ID	65534

LOOP(other_loop);

/**
 * struct tally - what was found in samples
 * @sel: what the filter selects
 * @samples: those in the loop
 * @fresh: those of them in which entries from before the loop can follow
 * @turn: samples since the event was enabled
 * @full: those with all entries that the registers must hold
 * @least: the fewest entries of a sample that is not full
 * @broken: those with an entry that is none of the loop, or not the next one
 * @kernel: entries with an address of the kernel
 */
struct tally {
	struct selection	sel;
	unsigned int		samples, fresh, turn, full, least, broken, kernel;
};

static struct tally new_tally(uint64_t type)
{
	return (struct tally){ .sel = selection_of(branch_loop_points, type), .least = depth };
}

static bool in_loop(const uint32_t *at, uint64_t ip)
{
	return ip >= at[CALL] && ip <= at[RETURN];
}

/*
 * The newest entry is the branch before the sample, and each of the others the one before that.
 * Entries from before the loop can follow in the first samples. A turn begins at any point of a
 * period.
 */
static void check_sample(const struct sample *s, bool first, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	unsigned int nr = *s->branches, good, expected;
	struct tally *t = data;

	for (unsigned int i = 0; i < nr; i++)
		t->kernel += e[i].from >> 63 || e[i].to >> 63;
	if (first)
		t->turn = 0;
	if (!in_loop(branch_loop_points, s->ip))
		return;
	t->samples++;
	if (t->turn++ * PERIOD < 40 * depth) {
		t->fresh++;
		return;
	}
	good = compare_entries(s, e, &t->sel, branch_loop_points, &expected);
	t->full += good == expected;
	if (nr < expected && nr < t->least)
		t->least = nr;
	if (good < nr && !t->broken++)
		ktap_note("sample %u at %#lx: entry %u of %u is %#lx/%#lx", t->samples,
			  (long)s->ip, good, nr, (long)e[good].from, (long)e[good].to);
}

/*
 * Are entries missing? The way back from an interrupt takes the place of one in the registers, all
 * of its branches where there is no filter; after a task switch there are fewer. @others: how often
 * that has happened. Few of them are just before a sample.
 */
static bool samples_are_full(const struct tally *t, const char *name, uint64_t others)
{
	unsigned int n = t->samples - t->fresh, few = 2 + n / 1000;

	if (samples_wanted() > 1)
		ktap_note("%s: %u samples, %u of %u full, %lu interrupts and switches", name,
			  t->samples, t->full, n, (long)others);
	return expect(t->full + others >= n && t->full + few >= n,
		      "%s: %u of %u samples full, %u entries in others, %lu interrupts", name,
		      t->full, n, t->least, (long)others);
}

/* Samples of a loop with a filter: no entry is wrong, and none is missing. */
static bool filter_is_exact_in(uint64_t type, const char *name, void (*loop)(unsigned long rounds))
{
	struct perf_event_attr attr = branch_attr(type | PERF_SAMPLE_BRANCH_USER);
	unsigned int wanted = samples_wanted();
	struct tally t = new_tally(type);
	int fd = open_selection(&attr, name);
	struct sampling how = sampling_of(fd, &attr);
	uint64_t others = disturbances();

	if (fd < 0)
		return true;
	how.loop = loop;
	sample_loop(&how, check_sample, &t);
	others = disturbances() - others;
	close(fd);
	return expect(t.samples > 100 && t.samples + t.samples / 10 >= wanted, "%s: %u samples",
		      name, t.samples) &&
	       expect(!t.broken && !t.kernel, "%s: %u of %u samples wrong, %u kernel addresses",
		      name, t.broken, t.samples, t.kernel) &&
	       samples_are_full(&t, name, others);
}

static bool filter_is_exact(uint64_t type, const char *name)
{
	return filter_is_exact_in(type, name, branch_loop);
}

static bool entries_are_the_loop(void)
{
	need_branches();
	require_exact_instructions();
	return filter_is_exact(PERF_SAMPLE_BRANCH_ANY, "any") &&
	       filter_is_exact(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE, "types") &&
	       filter_is_exact(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_FLAGS |
			       PERF_SAMPLE_BRANCH_NO_CYCLES, "no flags, no cycles");
}

static volatile int watched;

static void watched_loop(unsigned long rounds)
{
	watched++;
	branch_loop(rounds);
}

/* A debug exception turns recording off. No switch to the task follows that would turn it on. */
static bool debug_exception_does_not_end_them(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched, .bp_len = sizeof(watched),
	};
	bool good;
	int fd;

	need_branches();
	require_exact_instructions();
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	good = filter_is_exact_in(PERF_SAMPLE_BRANCH_ANY, "any", watched_loop);
	good &= expect_between("debug exceptions", perf_count(fd), 1, 1000000);
	close(fd);
	return good;
}

static bool filters_select(void)
{
	need_branches();
	require_exact_instructions();
	return filter_is_exact(PERF_SAMPLE_BRANCH_ANY_CALL, "any_call") &
	       filter_is_exact(PERF_SAMPLE_BRANCH_ANY_RETURN, "any_ret") &
	       filter_is_exact(PERF_SAMPLE_BRANCH_IND_CALL, "ind_call") &
	       filter_is_exact(PERF_SAMPLE_BRANCH_IND_JUMP, "ind_jmp") &
	       filter_is_exact(PERF_SAMPLE_BRANCH_COND, "cond") &
	       filter_is_exact(PERF_SAMPLE_BRANCH_CALL, "call") &
	       filter_is_exact(PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_CALL,
			       "cond and ind_call");
}

static int open_type(uint64_t type)
{
	struct perf_event_attr attr = branch_attr(type);

	return perf_open(&attr, 0, -1, -1, 0);
}

/**
 * struct options - entries of the loop, and what options make of them
 * @round: the branches of a round
 * @type: the selection
 * @samples: number of samples
 * @checked: entries of the loop in them
 * @wrong: those of them with fields that are not as the options want them
 */
struct options {
	struct branch	round[ROUND];
	uint64_t	type;
	unsigned int	samples, checked, wrong;
};

/* Cycles of the branches of a round since the branch before: each instruction takes one. */
static const unsigned int cycles_of_round[ROUND] = { 1, 2, 2, 2, 1, 2, 2 };

static const unsigned int types_of_round[ROUND] = {
	PERF_BR_CALL, PERF_BR_RET, PERF_BR_IND_CALL, PERF_BR_RET, PERF_BR_IND, PERF_BR_UNCOND,
	PERF_BR_COND,
};

static bool entry_is_right(const struct perf_branch_entry *e, int at, uint64_t type)
{
	/* Parts of 4 or 8 entries have no flags but for one, those with fewer than 32 no cycles. */
	bool has_flags = depth > 8 || part_of_cpu() == SANDYBRIDGE;
	bool flags = has_flags && !(type & PERF_SAMPLE_BRANCH_NO_FLAGS);
	bool cycles = depth >= 32 && !(type & PERF_SAMPLE_BRANCH_NO_CYCLES);

	return e->predicted == flags && !e->mispred && !e->in_tx && !e->abort &&
	       e->type == (type & PERF_SAMPLE_BRANCH_TYPE_SAVE ? types_of_round[at] : 0) &&
	       e->priv == (type & PERF_SAMPLE_BRANCH_PRIV_SAVE ? PERF_BR_PRIV_USER : 0) &&
	       e->cycles == (cycles ? cycles_of_round[at] : 0);
}

static void check_options(const struct sample *s, bool first __maybe_unused, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	struct options *o = data;

	o->samples++;
	for (unsigned int i = 0; i < *s->branches; i++) {
		int at = position_of(&e[i], o->round, ROUND);

		if (at < 0)
			continue;
		o->checked++;
		if (!entry_is_right(&e[i], at, o->type))
			o->wrong++;
	}
}

static bool option_is_exact(uint64_t option, const char *name)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY | option);
	struct options o = { .type = option };
	int fd = open_selection(&attr, name);
	struct sampling how = sampling_of(fd, &attr);

	if (fd < 0)
		return true;
	branches_of(branch_loop_points, o.round);
	sample_loop(&how, check_options, &o);
	close(fd);
	if (samples_wanted() > 1)
		ktap_note("%s: %u samples, %u entries, %u wrong", name, o.samples, o.checked,
			  o.wrong);
	/* The first branch of the loop, and one after an interrupt, have other cycles. */
	return expect(o.samples > 100 && o.checked > o.samples * (depth - 1),
		      "%s: %u entries of %u samples", name, o.checked, o.samples) &&
	       expect(o.wrong <= 2 + o.samples / 1000, "%s: %u of %u entries wrong", name, o.wrong,
		      o.checked);
}

static bool options_select(void)
{
	need_branches();
	require_exact_instructions();
	return option_is_exact(0, "no option") &
	       option_is_exact(PERF_SAMPLE_BRANCH_NO_FLAGS, "no_flags") &
	       option_is_exact(PERF_SAMPLE_BRANCH_NO_CYCLES, "no_cycles") &
	       option_is_exact(PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES,
			       "no_flags,no_cycles");
}

/* Types and levels of the entries, with and without the rest. */
static bool options_are_there(void)
{
	uint64_t saved = PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_PRIV_SAVE;

	need_branches();
	require_exact_instructions();
	return option_is_exact(PERF_SAMPLE_BRANCH_TYPE_SAVE, "type_save") &
	       option_is_exact(PERF_SAMPLE_BRANCH_PRIV_SAVE, "priv_save") &
	       option_is_exact(saved | PERF_SAMPLE_BRANCH_NO_CYCLES, "both, no_cycles") &
	       option_is_exact(saved | PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES,
			       "both, no_flags,no_cycles");
}

#define INSTRUCTIONS	12	/* of a round */

/**
 * struct place - where in the loop a sample is
 * @instruction: number of the next instruction in the round; -1 if it is elsewhere
 * @branch: branches of the round before it
 * @index: the register of the newest branch
 */
struct place {
	int		instruction;
	unsigned int	branch;
	uint64_t	index;
};

static struct place place_of(const struct sample *s, const struct branch *b)
{
	/* The instruction that each branch of a round leads to. */
	static const int next[ROUND] = { 1, 3, 5, 7, 8, 10, 0 };
	const struct perf_branch_entry *e = (void *)(s->branches + 2);
	int at = *s->branches ? position_of(e, b, ROUND) : -1;

	if (at < 0)
		return (struct place){ .instruction = -1 };
	return (struct place){
		.instruction	= next[at] + (s->ip != e->to),
		.branch		= (at + 1) % ROUND,
		.index		= s->branches[1],
	};
}

/*
 * By how many entries did the ring move, beside those of the branches that were taken and of the
 * way out of a sample?
 */
static unsigned int index_beyond(const struct place *last, const struct place *now)
{
	unsigned int end = last->instruction + PERIOD;
	unsigned int taken = end / INSTRUCTIONS * ROUND + now->branch - last->branch + 1;

	return (now->index - last->index - taken) % depth;
}

/**
 * struct indices - the numbers of the newest register in samples
 * @round: the branches of a round
 * @last: the sample before
 * @ring_moves: the next index follows from the last one
 * @pairs: samples after one in the loop
 * @wrong: those with another index than the next one
 * @interrupted: those with the one behind it, and so the way out of another interrupt
 * @beyond: those with an index that no register has
 */
struct indices {
	struct branch	round[ROUND];
	struct place	last;
	bool		ring_moves;
	unsigned int	pairs, wrong, interrupted, beyond;
};

static void check_index(const struct sample *s, bool first, void *data)
{
	struct indices *x = data;
	struct place now = place_of(s, x->round);

	x->beyond += now.index >= (records_are_a_ring() ? depth : 1);
	if (x->ring_moves && !first && x->last.instruction >= 0 && now.instruction >= 0) {
		unsigned int more = index_beyond(&x->last, &now);

		x->pairs++;
		x->interrupted += more == 1;
		x->wrong += more > 1 ||
			    (x->last.instruction + PERIOD) % INSTRUCTIONS != now.instruction;
	}
	x->last = now;
}

static bool index_is_exact(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY | PERF_SAMPLE_BRANCH_HW_INDEX);
	struct indices x = { 0 };
	struct sampling how;
	unsigned int samples;
	int fd;

	need_branches();
	require_exact_instructions();
	/* Registers without a filter have the branches of the kernel between samples, too. */
	x.ring_moves = records_are_a_ring() && part_of_cpu() != NO_FILTER;
	branches_of(branch_loop_points, x.round);
	fd = open_self(&attr, -1);
	how = sampling_of(fd, &attr);
	samples = sample_loop(&how, check_index, &x);
	if (samples_wanted() > 1)
		ktap_note("index: %u samples, %u pairs, %u wrong, %u interrupted", samples, x.pairs,
			  x.wrong, x.interrupted);
	return expect_eq("indices out of bounds", x.beyond, 0) &
	       expect(samples > 150, "%u samples", samples) &
	       expect(!x.ring_moves || x.pairs > 150, "%u pairs of samples", x.pairs) &
	       expect(x.wrong <= x.pairs / 1000, "%u of %u indices wrong", x.wrong, x.pairs) &
	       expect(x.interrupted <= 2 + x.pairs / 200, "%u of %u interrupted", x.interrupted,
		      x.pairs);
}

/* With a short period, samples have the return from the interrupt of the sample before. */
static bool kernel_addresses_are_dropped(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	unsigned int samples, kernel = 0;
	struct ring ring;
	struct sample s;
	int fd;

	need_branches();
	attr.sample_period = 61;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	branch_loop(ROUNDS / 20);
	event_disable(fd);
	for (samples = 0; ring_sample(&ring, &attr, &s); samples++)
		for (unsigned int i = 0; i < *s.branches; i++)
			kernel += (entries_of(&s)[i].from | entries_of(&s)[i].to) >> 63;
	return expect(samples > 100, "%u samples", samples) &&
	       expect_eq("kernel addresses", kernel, 0);
}

#define TURNS	200

static void run_other(void)
{
	other_loop(50);
}

static void run_mine(void)
{
	branch_loop(150);
}

/* Entries with an address of a loop that the sampled task does not run. */
static unsigned int foreign_entries(const struct sample *s, const uint32_t *at)
{
	const struct perf_branch_entry *e = entries_of(s);
	unsigned int n = 0;

	for (unsigned int i = 0; i < *s->branches; i++)
		n += in_loop(at, e[i].from) || in_loop(at, e[i].to);
	return n;
}

static bool no_entries_of_others(bool of_cpu)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	struct gate go = gate_new(), back = gate_new();
	unsigned int samples[2] = { 0 }, foreign = 0;
	pid_t other, self = getpid();
	struct ring ring;
	struct sample s;
	int fd;

	need_branches();
	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	attr.sample_period = 311;
	fd = MUST(perf_open(&attr, of_cpu ? -1 : 0, of_cpu ? 0 : -1, -1, 0));
	if (!ring_map(&ring, fd, 512))
		fail_case("mmap");
	event_enable(fd);
	take_turns(&go, &back, TURNS, run_mine);
	event_disable(fd);
	while (ring_sample(&ring, &attr, &s)) {
		if ((pid_t)s.pid != self && (pid_t)s.pid != other)
			continue;
		samples[(pid_t)s.pid == other]++;
		foreign += foreign_entries(&s, (pid_t)s.pid == other ? branch_loop_points :
								      other_loop_points);
	}
	kill_child(other);
	return expect(samples[0] > TURNS, "%u samples", samples[0]) &&
	       expect(!of_cpu || samples[1] > TURNS / 2, "%u samples of the other", samples[1]) &&
	       expect_eq("entries of the other task", foreign, 0);
}

static bool task_has_its_own(void)
{
	return no_entries_of_others(false);
}

static bool cpu_tells_tasks_apart(void)
{
	return no_entries_of_others(true);
}

/* The bits that make a CPU record branches, and stop for an interrupt. */
static uint64_t recording_of(int cpu)
{
	uint64_t on = register_of(cpu, MSR_DEBUGCTL) & (DEBUGCTL_LBR | DEBUGCTL_FREEZE);

	if (records_are_a_ring())
		return on;
	if (records_are_amd())
		return on | (register_of(cpu, MSR_DBG_EXTN_CFG) & DBG_EXTN_LBR);
	return on | (register_of(cpu, MSR_ARCH_LBR_CTL) & ARCH_LBR_ENABLE);
}

/* A hypervisor would switch them at each entry and exit, though the program is not sampled. */
static bool recording_ends(void)
{
	struct perf_event_attr cycles = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	int counter, first, last;
	bool good;

	need_branches();
	MUST(pin_to_cpu(0));
	counter = MUST(perf_open(&cycles, 0, -1, -1, 0));
	event_enable(counter);
	first = MUST(perf_open(&attr, 0, -1, -1, 0));
	event_enable(first);
	last = MUST(perf_open(&attr, 0, -1, -1, 0));
	event_enable(last);
	good = expect(recording_of(0), "recording is off");
	close(first);
	good &= expect(recording_of(0), "recording is off for the last event");
	close(last);
	good &= expect_eq("recording after the last event", recording_of(0), 0);
	close(counter);
	return good;
}

#define BRANCH_REGISTERS	12	/* of the PMU model's statistics; not DEBUGCTL */

/* Switches to a task without events and back. */
static bool switches_cost(bool with_branches, uint64_t reads, uint64_t writes)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	struct gate go = gate_new(), back = gate_new();
	struct accesses before, after;
	pid_t other;
	int fd;

	need_branches();
	need_stats();
	if (!kernel_gives_reasons())
		skip_case("this kernel writes at every switch");
	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	attr.sample_period = 1ull << 40;
	if (!with_branches)
		attr.sample_type = PERF_SAMPLE_IP;
	fd = open_self(&attr, -1);
	event_enable(fd);
	take_turns(&go, &back, TURNS, run_mine);
	before = stats_of(BRANCH_REGISTERS);
	take_turns(&go, &back, TURNS, run_mine);
	after = stats_of(BRANCH_REGISTERS);
	close(fd);
	kill_child(other);
	/* The scheduler can preempt a task once more than the gates do. */
	return expect_between("reads", after.reads - before.reads, reads * TURNS,
			      reads * (TURNS + 20)) &
	       expect_between("writes", after.writes - before.writes, writes * TURNS,
			      writes * (TURNS + 20));
}

static bool switch_writes_once(void)
{
	/* In a ring the marker's place has to be read. */
	return switches_cost(true, records_are_a_ring(), 1);
}

static bool others_write_nothing(void)
{
	return switches_cost(false, 0, 0);
}

/* What is refused with the same errno on the stock kernel. */
static bool refusals(void)
{
	bool good = true;
	pid_t pid;

	need_branches();
	good &= expect_errno("no kind", open_type(PERF_SAMPLE_BRANCH_USER), EINVAL);
	good &= expect_errno("unknown bit", open_type(FORM_ANY | 1ull << 40), EINVAL);
	if (access(CAPS_COUNTERS, F_OK))
		good &= expect_errno("counters", open_type(FORM_ANY | PERF_SAMPLE_BRANCH_COUNTERS),
				     EINVAL);
	if (open_type(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK) >= 0) {
		good &= expect_errno("a stack and another kind",
				     open_type(FORM_ANY | PERF_SAMPLE_BRANCH_CALL_STACK), EINVAL);
		good &= expect(open_type(PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_USER |
					 PERF_SAMPLE_BRANCH_CALL_STACK) >= 0, "a kernel stack");
	}
	pid = fork_child();
	if (!pid) {
		MUST(sysctl_set("perf_event_paranoid", 2));
		MUST(setuid(NOBODY_ID));
		good &= expect_errno("kernel branches, unprivileged",
				     open_type(PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY),
				     EACCES);
		good &= expect(open_type(FORM_ANY) >= 0, "own branches, unprivileged");
		fflush(stdout);
		_exit(!good);
	}
	return child_succeeded(pid) & good;
}

static const struct test tests[] = {
	{ "every entry of a sample is the branch before the next", entries_are_the_loop },
	{ "a debug exception does not end the records", debug_exception_does_not_end_them },
	{ "a filter lets the branches through that it names", filters_select },
	{ "types and levels are saved, flags are left out", options_are_there },
	{ "flags and cycles are those of the branches", options_select },
	{ "the index is that of the newest entry", index_is_exact },
	{ "an event of user space shows no address of the kernel", kernel_addresses_are_dropped },
	{ "a task's samples have no branches of others", task_has_its_own },
	{ "samples of a CPU have the branches of their task", cpu_tells_tasks_apart },
	{ "recording ends with the last event that has records", recording_ends },
	{ "a switch to a task with branch records writes once", switch_writes_once },
	{ "a switch without branch records does not access them", others_write_nothing },
	{ "unknown and privileged branches are refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch records of x86", "not an x86")
#endif
