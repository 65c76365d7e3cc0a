// SPDX-License-Identifier: GPL-2.0
/*
 * Events that take two counters: their assignment, compared with brute force.
 */
#include <linux/prandom.h>

#include "../amd/models.h"
#include "helpers.h"

#define PAIR_CASES	20000
#define PAIR_COUNTERS	6
#define PAIR_EVENTS	7
#define PAIR_EVEN	0x15
#define PAIR_TAKES	3ULL		/* the counter of the event, and the next */

struct pair_fixture {
	struct x86_pmu		xpmu;
	struct perf_schedule	s;
	struct perf_event	event[PAIR_EVENTS];
};

static struct pair_fixture *pair_new_fixture(struct kunit *test)
{
	struct pair_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->xpmu.model = &amd_model_zen2;
	f->xpmu.counters = GENERAL(PAIR_COUNTERS);
	return f;
}

static void pair_set_event(struct perf_event *event, bool pair, u64 counters, int had)
{
	event->hw.flags = pair ? X86_EVENT_PAIR : 0;
	event->hw.counters = pair ? PAIR_EVEN : counters;
	event->hw.idx = had;
}

/* What an event takes on counter @c. */
static u64 pair_takes(const struct perf_event *event, unsigned int c)
{
	return (event->hw.flags & X86_EVENT_PAIR ? PAIR_TAKES : 1) << c;
}

/* From all sets of counters that the events so far can occupy, the sets with @event more. */
static u64 pair_sets_with(u64 sets, const struct perf_event *event)
{
	unsigned int c, set;
	u64 next = 0;

	for (c = 0; c < PAIR_COUNTERS; c++) {
		u64 takes = pair_takes(event, c);

		if (!(event->hw.counters & BIT(c)))
			continue;
		for (set = 0; set < 1 << PAIR_COUNTERS; set++)
			if (sets & BIT_ULL(set) && !(set & takes))
				next |= BIT_ULL(set | takes);
	}
	return next;
}

/* Each event has a counter that can count it, and what it takes no other takes. */
static bool pair_is_consistent(const struct perf_schedule *s)
{
	u64 taken = 0;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct perf_event *event = s->slot[i].event;
		u64 takes = pair_takes(event, s->slot[i].idx);

		if (taken & takes || !(event->hw.counters & BIT_ULL(s->slot[i].idx)))
			return false;
		taken |= takes;
	}
	return true;
}

static void pair_add_random(struct pair_fixture *f, struct rnd_state *rnd, unsigned int i)
{
	u32 r = prandom_u32_state(rnd);

	pair_set_event(&f->event[i], r % 3 == 0, (r >> 8 | r >> 16) & GENERAL(PAIR_COUNTERS),
		       (int)(r >> 24) % (PAIR_COUNTERS + 1) - 1);
	f->s.slot[f->s.nr++].event = &f->event[i];
}

/* Adds one event after the other; returns how many did not fit. */
static unsigned int pair_check_one_case(struct kunit *test, struct pair_fixture *f,
					struct rnd_state *rnd)
{
	unsigned int refused = 0, i;
	u64 sets = 1, next;

	f->s.nr = 0;
	for (i = 0; i < PAIR_EVENTS; i++) {
		unsigned int from = f->s.nr;
		int ret;

		pair_add_random(f, rnd, i);
		next = pair_sets_with(sets, &f->event[i]);
		ret = x86_sched_assign(&f->xpmu.pmu, &f->s, from);
		KUNIT_ASSERT_EQ(test, ret, next ? 0 : -ENOSPC);
		if (next) {
			sets = next;
		} else {
			f->s.nr--;
			refused++;
		}
		KUNIT_ASSERT_TRUE(test, pair_is_consistent(&f->s));
	}
	return refused;
}

static void pairs_agree_with_brute_force(struct kunit *test)
{
	struct pair_fixture *f = pair_new_fixture(test);
	unsigned int refused = 0, i;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 17003);
	for (i = 0; i < PAIR_CASES; i++) {
		refused += pair_check_one_case(test, f, &rnd);
		cond_resched();
	}
	/* The test is worthless unless both results are frequent. */
	KUNIT_EXPECT_GT(test, refused, PAIR_CASES * PAIR_EVENTS / 10);
	KUNIT_EXPECT_LT(test, refused, PAIR_CASES * PAIR_EVENTS * 9 / 10);
}

/* Adds an event to the schedule, which fits; returns its counter. */
static int pair_add(struct kunit *test, struct pair_fixture *f, bool pair, int had)
{
	unsigned int from = f->s.nr;

	pair_set_event(&f->event[from], pair, f->xpmu.counters, had);
	f->s.slot[f->s.nr++].event = &f->event[from];
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&f->xpmu.pmu, &f->s, from), 0);
	return f->s.slot[from].idx;
}

/* So that a switch between events of two tasks writes nothing, and a new event moves nothing. */
static void pairs_stay_where_they_are(struct kunit *test)
{
	struct pair_fixture *f = pair_new_fixture(test);

	KUNIT_EXPECT_EQ(test, pair_add(test, f, true, 2), 2);
	KUNIT_EXPECT_EQ(test, pair_add(test, f, false, -1), 5);
	KUNIT_EXPECT_EQ(test, pair_add(test, f, true, 0), 0);
	KUNIT_EXPECT_EQ(test, f->s.slot[0].idx, 2);
	KUNIT_EXPECT_EQ(test, f->s.slot[1].idx, 5);
	/* There is no other way. */
	f->s.nr = 2;
	f->event[1].hw.counters = BIT(0);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&f->xpmu.pmu, &f->s, 1), 0);
	KUNIT_EXPECT_EQ(test, pair_add(test, f, true, 2), 4);
	KUNIT_EXPECT_EQ(test, f->s.slot[0].idx, 2);
	f->event[1].hw.counters = BIT(3);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&f->xpmu.pmu, &f->s, 0), 0);
	KUNIT_EXPECT_EQ(test, f->s.slot[0].idx + f->s.slot[2].idx, 4);
	KUNIT_EXPECT_EQ(test, f->s.slot[1].idx, 3);
}

static struct kunit_case x86_pmu_pair_cases[] = {
	KUNIT_CASE_SLOW(pairs_agree_with_brute_force),
	KUNIT_CASE(pairs_stay_where_they_are),
	{ }
};

static struct kunit_suite x86_pmu_pair_suite = {
	.name		= "x86_pmu_pair",
	.test_cases	= x86_pmu_pair_cases,
};

kunit_test_suite(x86_pmu_pair_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: events that take two counters");
MODULE_LICENSE("GPL");
