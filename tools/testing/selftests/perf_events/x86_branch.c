// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records on x86: exact pairs of a program with known branches, filters, tasks that take
 * turns, call stacks, refusals. Instructions are the clock of the machine. It records every branch.
 *
 * BRANCH_SAMPLES in the environment (a kernel parameter) is the number of samples with each filter,
 * instead of a few hundred.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_branch.h"
#include "x86_rdpmc.h"

#define NOBODY_ID	65534

LOOP(other_loop);

/**
 * struct tally - what was found in samples
 * @samples: those in the loop
 * @fresh: those of them in which entries from before the loop can follow
 * @turn: samples since the event was enabled
 * @full: those with as many entries of the loop as there have to be
 * @broken: those with an entry that is none of the loop, or not the next one
 * @kernel: entries with an address of the kernel
 */
struct tally {
	unsigned int	samples, fresh, turn, full, broken, kernel;
};

/* An interrupt shortly before a sample leaves an entry that the sample does not have. */
#define INTERRUPTS	3

static unsigned int least_entries(unsigned int n)
{
	/* Where the hardware logs more than what is selected, entries are dropped. */
	return n == ROUND ? depth - (depth > 4 ? INTERRUPTS : 0) : depth / ROUND;
}

/*
 * A sample in the loop: entries from before the loop can follow in the first ones. A turn begins at
 * any point of a period.
 */
static bool check_sample(const struct sample *s, const struct branch *b, unsigned int n,
			 struct tally *t)
{
	const struct perf_branch_entry *e = (void *)(s->branches + 1);
	unsigned int nr = *s->branches, good = follow(e, nr, b, n);

	for (unsigned int i = 0; i < nr; i++)
		t->kernel += e[i].from >> 63 || e[i].to >> 63;
	t->samples++;
	if (t->turn++ * PERIOD < 40 * depth) {
		t->fresh++;
		return true;
	}
	t->full += good >= least_entries(n);
	if (good == nr)
		return true;
	if (!t->broken++)
		ktap_note("sample %u at %#lx: entry %u of %u is %#lx/%#lx", t->samples,
			  (long)s->ip, good, nr, (long)e[good].from, (long)e[good].to);
	return false;
}

static bool in_loop(const uint32_t *at, uint64_t ip)
{
	return ip >= at[CALL] && ip <= at[RETURN];
}

static void read_samples(struct ring *ring, const struct perf_event_attr *attr,
			 const uint32_t *at, struct tally *t)
{
	struct branch b[ROUND];
	unsigned int n = select_branches(at, attr->branch_sample_type, b);
	struct perf_event_header *h;

	while ((h = ring_find(ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, attr);
		if (in_loop(at, s.ip))
			check_sample(&s, b, n, t);
	}
}

/*
 * Are entries missing? Registers without a filter (core2) have the branches of an interrupt, and a
 * filter of the hardware can let others through: then one sample in ten may have fewer.
 */
static bool samples_are_full(const struct tally *t, bool all, const char *name)
{
	unsigned int n = t->samples - t->fresh;

	if (all && depth > 4)
		return expect(t->full == n, "%s: %u of %u samples full", name, t->full, n);
	return expect(t->full * 10 >= n * 9, "%s: %u of %u samples full", name, t->full, n);
}

static unsigned int samples_wanted(void)
{
	const char *value = getenv("BRANCH_SAMPLES");

	return value ? strtoul(value, NULL, 0) : 1;
}

/* Samples of the loop with a filter: no entry is wrong, and none is missing. */
static bool filter_is_exact(uint64_t type, const char *name)
{
	struct perf_event_attr attr = branch_attr(type | PERF_SAMPLE_BRANCH_USER);
	unsigned int wanted = samples_wanted();
	struct branch loop[ROUND];
	struct tally t = { 0 };
	struct ring ring;
	bool whole;
	int fd;

	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0 && errno == EOPNOTSUPP) {
		ktap_note("%s: not on this CPU", name);
		return true;
	}
	MUST(fd);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	do {
		unsigned int before = t.samples;

		t.turn = 0;
		event_enable(fd);
		branch_loop(ROUNDS);
		event_disable(fd);
		read_samples(&ring, &attr, branch_loop_points, &t);
		if (t.samples < before + 100)
			break;
	} while (t.samples < wanted);
	ring_unmap(&ring);
	close(fd);
	if (wanted > 1)
		ktap_note("%s: %u samples, %u full", name, t.samples, t.full);
	whole = select_branches(branch_loop_points, type, loop) == ROUND;
	return expect(t.samples > 100 && t.samples >= wanted, "%s: %u samples", name, t.samples) &&
	       expect(!t.broken && !t.kernel, "%s: %u of %u samples wrong, %u kernel addresses",
		      name, t.broken, t.samples, t.kernel) &&
	       samples_are_full(&t, whole, name);
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

/* Types, levels and flags of the entries of one sample. */
static bool options_are_there(void)
{
	static const unsigned int types[ROUND] = {
		PERF_BR_CALL, PERF_BR_RET, PERF_BR_IND_CALL, PERF_BR_RET, PERF_BR_IND,
		PERF_BR_UNCOND, PERF_BR_COND,
	};
	struct perf_event_attr attr = branch_attr(FORM_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE |
						  PERF_SAMPLE_BRANCH_PRIV_SAVE |
						  PERF_SAMPLE_BRANCH_NO_FLAGS |
						  PERF_SAMPLE_BRANCH_NO_CYCLES);
	unsigned int checked = 0, wrong = 0;
	struct perf_event_header *h;
	struct branch b[ROUND];
	struct ring ring;
	bool flags;
	int fd;

	need_branches();
	branches_of(branch_loop_points, b);
	/* AMD's entries always have their flags. */
	flags = open_type(attr.branch_sample_type) < 0;
	if (flags)
		attr.branch_sample_type &= ~PERF_SAMPLE_BRANCH_NO_FLAGS;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	branch_loop(ROUNDS / 10);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		const struct perf_branch_entry *e;
		struct sample s;

		sample_parse(&s, h, &attr);
		e = (void *)(s.branches + 1);
		for (unsigned int i = 0; i < *s.branches; i++) {
			int at = position_of(&e[i], b, ROUND);

			if (at < 0)
				continue;
			checked++;
			wrong += e[i].type != types[at] || e[i].priv != PERF_BR_PRIV_USER ||
				 (e[i].mispred || e[i].predicted) != flags || e[i].cycles;
		}
	}
	return expect(checked > 20 * depth, "%u entries of the loop", checked) &&
	       expect_eq("entries with wrong types or flags", wrong, 0);
}

/* Cycles of the branches of a round since the branch before: each instruction takes one. */
static const unsigned int cycles_of_round[ROUND] = { 1, 2, 2, 2, 1, 2, 2 };

static bool entry_is_right(const struct perf_branch_entry *e, int at, uint64_t type)
{
	/* The smallest part has no flags, those with fewer than 32 entries no cycles. */
	bool flags = depth > 4 && !(type & PERF_SAMPLE_BRANCH_NO_FLAGS);
	bool cycles = depth >= 32 && !(type & PERF_SAMPLE_BRANCH_NO_CYCLES);

	return e->predicted == flags && !e->mispred && !e->in_tx && !e->abort && !e->type &&
	       e->cycles == (cycles ? cycles_of_round[at] : 0);
}

static bool option_is_exact(uint64_t option, const char *name)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY | option);
	unsigned int checked = 0, wrong = 0;
	struct perf_event_header *h;
	struct branch b[ROUND];
	struct ring ring;
	int fd;

	branches_of(branch_loop_points, b);
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0 && errno == EOPNOTSUPP) {
		ktap_note("%s: not on this CPU", name);
		return true;
	}
	MUST(fd);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	branch_loop(ROUNDS / 10);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		const struct perf_branch_entry *e;
		struct sample s;

		sample_parse(&s, h, &attr);
		e = (void *)(s.branches + 1);
		for (unsigned int i = 0; i < *s.branches; i++) {
			int at = position_of(&e[i], b, ROUND);

			if (at < 0)
				continue;
			checked++;
			wrong += !entry_is_right(&e[i], at, attr.branch_sample_type);
		}
	}
	ring_unmap(&ring);
	close(fd);
	/* The first branch of the loop, and one after an interrupt, have other cycles. */
	return expect(checked > 10 * (depth - 3), "%s: %u entries of the loop", name, checked) &&
	       expect(wrong <= 2, "%s: %u of %u entries wrong", name, wrong, checked);
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

/* Did the ring move by as many entries as branches were taken, and by the way out of a sample? */
static bool index_is_next(const struct place *last, const struct place *now)
{
	unsigned int end = last->instruction + PERIOD;
	unsigned int taken = end / INSTRUCTIONS * ROUND + now->branch - last->branch + 1;

	return now->index == (last->index + taken) % depth;
}

static bool index_is_exact(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY | PERF_SAMPLE_BRANCH_HW_INDEX);
	unsigned int pairs = 0, wrong = 0, beyond = 0;
	struct place last = { .instruction = -1 };
	bool ring_moves = records_are_a_ring();
	struct perf_event_header *h;
	struct branch b[ROUND];
	struct ring ring;
	int fd;

	need_branches();
	require_exact_instructions();
	/* Registers without a filter have the branches of the kernel between samples, too. */
	ring_moves &= depth > 4;
	branches_of(branch_loop_points, b);
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	branch_loop(ROUNDS);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;
		struct place now;

		sample_parse(&s, h, &attr);
		now = place_of(&s, b);
		beyond += now.index >= (records_are_a_ring() ? depth : 1);
		if (ring_moves && last.instruction >= 0 && now.instruction >= 0) {
			pairs++;
			wrong += (last.instruction + PERIOD) % INSTRUCTIONS != now.instruction ||
				 !index_is_next(&last, &now);
		}
		last = now;
	}
	/* An interrupt has a way out, too. */
	return expect_eq("indices out of bounds", beyond, 0) &
	       expect(!ring_moves || pairs > 150, "%u pairs of samples", pairs) &
	       expect(wrong <= 2, "%u of %u indices wrong", wrong, pairs);
}

/* With a short period, samples have the return from the interrupt of the sample before. */
static bool kernel_addresses_are_dropped(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	struct perf_event_header *h;
	struct tally t = { 0 };
	struct branch b[ROUND];
	struct ring ring;
	int fd;

	need_branches();
	attr.sample_period = 61;
	branches_of(branch_loop_points, b);
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	branch_loop(ROUNDS / 20);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		check_sample(&s, b, ROUND, &t);
	}
	return expect(t.samples > 100, "%u samples", t.samples) &&
	       expect_eq("kernel addresses", t.kernel, 0);
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
	const struct perf_branch_entry *e = (void *)(s->branches + 1);
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
	struct perf_event_header *h;
	pid_t other, self = getpid();
	struct ring ring;
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
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
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
	{ "a filter lets the branches through that it names", filters_select },
	{ "types and levels are saved, flags are left out", options_are_there },
	{ "flags and cycles are those of the branches", options_select },
	{ "the index is that of the newest entry", index_is_exact },
	{ "an event of user space shows no address of the kernel", kernel_addresses_are_dropped },
	{ "a task's samples have no branches of others", task_has_its_own },
	{ "samples of a CPU have the branches of their task", cpu_tells_tasks_apart },
	{ "a switch to a task with branch records writes once", switch_writes_once },
	{ "a switch without branch records does not access them", others_write_nothing },
	{ "unknown and privileged branches are refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch records of x86", "not an x86")
#endif
