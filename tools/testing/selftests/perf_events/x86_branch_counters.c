// SPDX-License-Identifier: GPL-2.0
/*
 * Counts in branch records (PERF_SAMPLE_BRANCH_COUNTERS): how often the events of a group have
 * happened since the branch before. Instructions are the clock of the machine.
 *
 * BRANCH_SAMPLES in the environment (a kernel parameter) is the number of samples with each group,
 * instead of a hundred at most.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"

#ifdef __x86_64__
#include "x86_branch_samples.h"

#define CAPS_WIDTH	"/sys/bus/event_source/devices/cpu/caps/branch_counter_width"
#define WIDTH		2
#define NR		4
#define BRANCHES	0x00c4	/* BR_INST_RETIRED.ALL_BRANCHES */
#define CONDITIONAL	0x01c4	/* BR_INST_RETIRED.COND_TAKEN */
#define INSTRUCTIONS	0x00c0	/* INST_RETIRED.ANY */
#define FIRST_TWO	0x05d0	/* MEM_UOPS_RETIRED.LOAD_LATENCY: counters 0 and 1 alone */
#define DISABLED	0	/* an event that is not enabled */

static void need_counters(void)
{
	need_branches();
	if (access(CAPS_COUNTERS, F_OK))
		skip_case("no branch counters");
}

static struct perf_event_attr counted_attr(uint64_t config, uint64_t type)
{
	struct perf_event_attr attr = perf_attr_modes(PERF_TYPE_RAW, config, "u");

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_COUNTERS;
	return attr;
}

static struct perf_event_attr leader_attr(uint64_t config)
{
	struct perf_event_attr attr = counted_attr(config, PERF_SAMPLE_BRANCH_ANY);

	attr.sample_period = PERIOD;
	return attr;
}

/* An event that has no records of its own. */
static int open_counted(uint64_t config, int leader)
{
	struct perf_event_attr attr = counted_attr(config ?: CONDITIONAL, 0);

	attr.disabled = config == DISABLED;
	return perf_open(&attr, 0, -1, leader, 0);
}

/* What @config counts up to the branch at position @at of a round, from the one before. */
static uint64_t counts_of(uint64_t config, int at)
{
	/* From the target of the branch before; 3 stands for more, too. */
	static const uint64_t instructions[ROUND] = { 1, 2, 2, 2, 1, 2, 2 };

	switch (config) {
	case BRANCHES:
		return 1;
	case CONDITIONAL:
		return at == ROUND - 1;
	case DISABLED:
		return 0;
	default:
		return instructions[at];
	}
}

/**
 * struct counts - what was found in samples of a group
 * @config: the events, in the order of the group
 * @n: their number
 * @checked: entries of the loop, with one of the loop before
 * @wrong: those of them with other counts
 */
struct counts {
	const uint64_t	*config;
	unsigned int	n, checked, wrong;
};

static void check_counts(const struct sample *s, bool first __maybe_unused, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	const uint64_t *counts = (void *)(e + *s->branches);
	struct branch b[ROUND];
	struct counts *c = data;

	branches_of(branch_loop_points, b);
	/* The oldest entry has no branch before. */
	for (unsigned int i = 0; i + 1 < *s->branches; i++) {
		int at = position_of(&e[i], b, ROUND);
		uint64_t expected = 0;

		if (at < 0 || position_of(&e[i + 1], b, ROUND) < 0)
			continue;
		for (unsigned int j = 0; j < c->n; j++)
			expected |= counts_of(c->config[j], at) << j * WIDTH;
		if (counts[i] != expected && !c->wrong++)
			ktap_note("entry %u at %d: %#lx, not %#lx", i, at, (long)counts[i],
				  (long)expected);
		c->checked++;
	}
}

static bool group_is_counted(const uint64_t *config, unsigned int n)
{
	struct perf_event_attr attr = leader_attr(config[0]);
	struct counts c = { .config = config, .n = n };
	unsigned int samples, others;
	struct sampling how;
	int fd[NR];

	fd[0] = open_self(&attr, -1);
	for (unsigned int i = 1; i < n; i++)
		fd[i] = MUST(open_counted(config[i], fd[0]));
	how = sampling_of(fd[0], &attr);
	how.rounds = ROUNDS / 2;
	samples = sample_loop(&how, check_counts, &c);
	for (unsigned int i = 0; i < n; i++)
		close(fd[i]);
	if (samples_wanted() > 1)
		ktap_note("%u samples, %u entries, %u wrong", samples, c.checked, c.wrong);
	/* The way back from an interrupt of the clock is a branch before, too. */
	others = 2 + samples / 1000;
	return expect(samples >= 9 && samples >= samples_wanted(), "%u samples", samples) &&
	       expect(c.checked >= (samples - others) * (depth - 1), "%u entries of %u samples",
		      c.checked, samples) &&
	       expect(c.wrong <= samples / 1000, "%u of %u counts wrong", c.wrong, c.checked);
}

static bool groups_are_counted(void)
{
	static const uint64_t orders[][NR] = {
		{ BRANCHES, CONDITIONAL, INSTRUCTIONS },
		{ CONDITIONAL, BRANCHES, INSTRUCTIONS },
		{ INSTRUCTIONS, CONDITIONAL, BRANCHES },
	};

	need_counters();
	require_exact_instructions();
	return group_is_counted(orders[0], 1) && group_is_counted(orders[0], 3) &&
	       group_is_counted(orders[1], 2) && group_is_counted(orders[1], 3) &&
	       group_is_counted(orders[2], 3);
}

/* Its counts are 0, and the others keep their places. */
static bool disabled_events_count_nothing(void)
{
	static const uint64_t config[] = { BRANCHES, DISABLED, INSTRUCTIONS };

	need_counters();
	require_exact_instructions();
	return group_is_counted(config, 3);
}

/*
 * The group is on counters 3, 2 and 1, and another event on 0. The second of the group is closed,
 * and one more event needs 0 or 1: the third moves to 2, where entries from before have the counts
 * of the second. A period has fewer branches than the registers hold.
 */
static unsigned int move_between_samples(unsigned int turn, struct counts *c)
{
	static const uint64_t config[] = { BRANCHES, INSTRUCTIONS, CONDITIONAL };
	struct perf_event_attr first_two = perf_attr_modes(PERF_TYPE_RAW, FIRST_TWO, "u");
	struct perf_event_attr attr = leader_attr(config[0]);
	unsigned int samples;
	int fd[3], others[2];
	struct ring ring;
	struct sample s;

	attr.sample_period = 23;
	first_two.disabled = 0;
	fd[0] = open_self(&attr, -1);
	for (unsigned int i = 1; i < ARRAY_SIZE(fd); i++)
		fd[i] = MUST(open_counted(config[i], fd[0]));
	others[0] = MUST(perf_open(&first_two, 0, -1, -1, 0));
	if (!ring_map(&ring, fd[0], 64))
		fail_case("mmap");
	event_enable(fd[0]);
	branch_loop(20 + turn);
	close(fd[1]);
	/* Samples with the counts of three events. */
	ring.tail = ring.page->data_head;
	branch_loop(20 + turn);
	others[1] = perf_open(&first_two, 0, -1, -1, 0);
	branch_loop(20);
	event_disable(fd[0]);
	for (samples = 0; ring_sample(&ring, &attr, &s); samples++)
		check_counts(&s, false, c);
	ring_unmap(&ring);
	close(fd[0]);
	close(fd[2]);
	close(others[0]);
	MUST(close(others[1]));
	return samples;
}

static bool moved_event_is_counted(void)
{
	static const uint64_t left[] = { BRANCHES, CONDITIONAL };
	struct counts c = { .config = left, .n = ARRAY_SIZE(left) };
	unsigned int samples = 0, turns = 30;

	need_counters();
	require_exact_instructions();
	need_short_interrupts();
	for (unsigned int i = 0; i < turns; i++)
		samples += move_between_samples(i, &c);
	return expect(samples > 10 * turns, "%u samples", samples) &
	       expect(c.checked > 100 * turns, "%u entries", c.checked) &
	       expect_eq("entries with the counts of another event", c.wrong, 0);
}

static bool caps_are_there(void)
{
	char nr[16] = "", width[16] = "";

	need_counters();
	return expect(read_line(CAPS_COUNTERS, nr, sizeof(nr)) > 0 && atoi(nr) == NR, "%s counters",
		      nr) &
	       expect(read_line(CAPS_WIDTH, width, sizeof(width)) > 0 && atoi(width) == WIDTH,
		      "%s bits", width);
}

static int open_leader(uint64_t config, uint64_t type)
{
	struct perf_event_attr attr = leader_attr(config);

	attr.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER;
	return perf_open(&attr, 0, -1, -1, 0);
}

/* What is refused with the same errno on the stock kernel. */
static bool refusals(void)
{
	uint64_t counted = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_COUNTERS;
	int leader, plain, stack;
	bool good = true;

	need_counters();
	good &= expect_refused("a call stack", open_leader(BRANCHES,
			       PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_COUNTERS), EINVAL,
			       "COUNTERS does not go with CALL_STACK");
	good &= expect_refused("a modifier", open_leader(BRANCHES | 1 << 18, counted), EINVAL,
			       "config: branch counters need an event without modifiers");
	good &= expect_refused("no leader with branches", open_counted(BRANCHES, -1), EINVAL,
			       "COUNTERS needs a leader with branches");
	plain = MUST(open_leader(BRANCHES, PERF_SAMPLE_BRANCH_ANY));
	good &= expect(open_counted(BRANCHES, plain) >= 0, "a leader that is not counted");
	stack = MUST(open_leader(BRANCHES, PERF_SAMPLE_BRANCH_CALL_STACK));
	good &= expect_refused("a leader with a stack", open_counted(BRANCHES, stack), EINVAL,
			       "COUNTERS does not go with CALL_STACK");
	leader = MUST(open_leader(BRANCHES, counted));
	for (unsigned int i = 1; i < NR; i++)
		good &= expect(open_counted(CONDITIONAL, leader) >= 0, "event %u", i);
	return good & expect_refused("one more than there are counters",
				     open_counted(CONDITIONAL, leader), EINVAL,
				     "COUNTERS of at most 4 events of a group");
}

static const struct test tests[] = {
	{ "each branch has the counts of the group's events", groups_are_counted },
	{ "an event that is disabled counts nothing", disabled_events_count_nothing },
	{ "an event that moves to another counter has its own counts", moved_event_is_counted },
	{ "caps have the number and the width of the counts", caps_are_there },
	{ "other groups are refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("counts in branch records", "not an x86")
#endif
