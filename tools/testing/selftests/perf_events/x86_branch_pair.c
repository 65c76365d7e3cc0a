// SPDX-License-Identifier: GPL-2.0
/*
 * Two events with branch records of different kinds in one task. The hardware has one filter:
 * events that need different values of it take turns, and all others are on the CPU at the same
 * time. The samples of each have its own branches alone. Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"

#ifdef __x86_64__
#include "x86_branch_samples.h"

#define FIRST_PERIOD	997
#define SECOND_PERIOD	1499
#define TURNS		60
#define ROUNDS_OF_TURN	20000

/**
 * struct one - one of the events
 * @attr: its attributes
 * @sel: the branches that it names
 * @fd: the event
 * @ring: its buffer
 * @taken: samples in the last turn of the program
 * @all: those in all turns
 * @samples: those in the loop
 * @full: those with all entries that the registers hold, but for a few
 * @wrong: those with other entries
 * @fields: entries with fields that the event has not asked for, or without one that it has
 * @count: what it has counted
 * @enabled: how long it has been enabled
 * @running: how long it was on the CPU
 */
struct one {
	struct perf_event_attr	attr;
	struct selection	sel;
	int			fd;
	struct ring		ring;
	unsigned int		taken, all, samples, full, wrong, fields;
	uint64_t		count, enabled, running;
};

static void open_one(struct one *o, uint64_t type, uint64_t period)
{
	o->attr = branch_attr(type | PERF_SAMPLE_BRANCH_USER);
	o->attr.sample_period = period;
	o->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	o->sel = selection_of(branch_loop_points, type);
	o->fd = open_self(&o->attr, -1);
	if (!ring_map(&o->ring, o->fd, 64))
		fail_case("mmap");
}

/* Samples soon after one of the other event have the way back from its interrupt. */
#define DROPPED		2

static void check_fields(struct one *o, const struct perf_branch_entry *e)
{
	uint64_t type = o->attr.branch_sample_type;
	unsigned int priv = type & PERF_SAMPLE_BRANCH_PRIV_SAVE ? PERF_BR_PRIV_USER : 0;

	if (!!e->type != !!(type & PERF_SAMPLE_BRANCH_TYPE_SAVE) || e->priv != priv ||
	    (e->cycles && type & PERF_SAMPLE_BRANCH_NO_CYCLES))
		o->fields++;
}

static void check_one(struct one *o, const struct sample *s)
{
	const struct perf_branch_entry *e = entries_of(s);
	unsigned int nr = *s->branches, good, expected;

	for (unsigned int i = 0; i < nr; i++)
		check_fields(o, &e[i]);
	/* From before the loop there are other branches in the first ones. */
	if (o->taken++ * o->attr.sample_period < 40 * depth ||
	    s->ip < branch_loop_points[CALL] || s->ip > branch_loop_points[RETURN])
		return;
	o->samples++;
	/* No branch of this program is in a transaction. */
	if (o->attr.branch_sample_type & PERF_SAMPLE_BRANCH_IN_TX) {
		o->wrong += nr != 0;
		o->full++;
		return;
	}
	good = compare_entries(s, e, &o->sel, branch_loop_points, &expected);
	o->full += nr + DROPPED >= expected;
	if (good != nr && !o->wrong++)
		ktap_note("%#lx: entry %u of %u is %#lx/%#lx", (long)o->attr.branch_sample_type,
			  good, nr, (long)e[good].from, (long)e[good].to);
}

static void read_one(struct one *o)
{
	struct sample s;

	for (o->taken = 0; ring_sample(&o->ring, &o->attr, &s); o->all++)
		check_one(o, &s);
}

static void close_one(struct one *o)
{
	uint64_t value[3];

	if (read(o->fd, value, sizeof(value)) != sizeof(value))
		fail_case("read");
	o->count = value[0];
	o->enabled = value[1];
	o->running = value[2];
	ring_unmap(&o->ring);
	close(o->fd);
}

static void run_both(struct one *o, uint64_t first, uint64_t second)
{
	open_one(&o[0], first, FIRST_PERIOD);
	open_one(&o[1], second, SECOND_PERIOD);
	for (unsigned int i = 0; i < TURNS; i++) {
		event_enable(o[0].fd);
		event_enable(o[1].fd);
		branch_loop(ROUNDS_OF_TURN);
		event_disable(o[0].fd);
		event_disable(o[1].fd);
		read_one(&o[0]);
		read_one(&o[1]);
	}
	close_one(&o[0]);
	close_one(&o[1]);
}

static bool samples_are_right(const struct one *o, const char *name)
{
	unsigned int n = o->samples;

	return expect(n > 100, "%s: %u samples", name, n) &
	       expect_near("samples", o->all, o->count / o->attr.sample_period, TURNS) &
	       expect(o->full + 2 + n / 10 >= n, "%s: %u of %u samples full", name, o->full, n) &
	       expect_eq(name, o->wrong, 0) & expect_eq("wrong fields", o->fields, 0);
}

static bool pair_is_exact(uint64_t first, uint64_t second, bool together, const char *name)
{
	struct one *o = calloc(2, sizeof(*o));
	bool good;

	if (!o)
		fail_case("memory");
	run_both(o, first, second);
	good = samples_are_right(&o[0], name) & samples_are_right(&o[1], name);
	for (int i = 0; i < 2; i++) {
		uint64_t all = o[i].enabled, least = together ? all : all / 5;

		good &= expect(o[i].running >= least && o[i].running <= all,
			       "%s: %d on the CPU for %lu of %lu", name, i, (long)o[i].running,
			       (long)all);
	}
	/* In between, the one that is enabled first and the one that is disabled last are alone. */
	good &= expect(together || (o[0].running + o[1].running) * 10 < o[0].enabled * 11,
		       "%s: both on the CPU", name);
	free(o);
	return good;
}

static void need_pairs(void)
{
	need_branches();
	require_exact_instructions();
}

/* Without a filter of the hardware all are on the CPU, and software selects. */
static bool different_filters_take_turns(void)
{
	bool together;

	need_pairs();
	together = part_of_cpu() == NO_FILTER;
	return pair_is_exact(PERF_SAMPLE_BRANCH_COND, PERF_SAMPLE_BRANCH_IND_JUMP, together,
			     "cond, ind_jmp") &
	       pair_is_exact(PERF_SAMPLE_BRANCH_ANY_RETURN, PERF_SAMPLE_BRANCH_IND_CALL, together,
			     "any_ret, ind_call") &
	       pair_is_exact(PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_ANY_CALL, together,
			     "any, any_call");
}

/* Software selects by what the hardware has no filter for. */
static bool same_filter_is_shared(void)
{
	uint64_t any = PERF_SAMPLE_BRANCH_ANY, ret = PERF_SAMPLE_BRANCH_ANY_RETURN;
	bool good;

	need_pairs();
	good = pair_is_exact(any, any | PERF_SAMPLE_BRANCH_TYPE_SAVE |
				  PERF_SAMPLE_BRANCH_NO_CYCLES, true, "any, types") &
	       pair_is_exact(PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_PRIV_SAVE,
			     PERF_SAMPLE_BRANCH_COND, true, "levels, cond");
	if (part_of_cpu() == NEHALEM)
		good &= pair_is_exact(ret, ret | PERF_SAMPLE_BRANCH_IND_JUMP, true,
				      "any_ret, any_ret and ind_jmp");
	if (!part_lacks(PERF_SAMPLE_BRANCH_IN_TX))
		good &= pair_is_exact(any | PERF_SAMPLE_BRANCH_NO_TX,
				      any | PERF_SAMPLE_BRANCH_IN_TX, true, "no_tx, in_tx");
	return good;
}

static const struct test tests[] = {
	{ "events with different filters take turns", different_filters_take_turns },
	{ "events with one filter of the hardware share it", same_filter_is_shared },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("two events with branch records", "not an x86")
#endif
