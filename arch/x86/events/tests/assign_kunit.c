// SPDX-License-Identifier: GPL-2.0
/*
 * The assignment of events to counters, compared with brute force.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../assign.h"
#include "../perf_event.h"

#define CASES		100000
#define COUNTERS	6
#define EVENTS		8

/* Bitmap of those of the 64 sets of six counters that do not contain counter @c. */
static u64 assign_sets_without(unsigned int c)
{
	u64 sets = 0;
	unsigned int set;

	for (set = 0; set < 1 << COUNTERS; set++)
		if (!(set & BIT(c)))
			sets |= BIT_ULL(set);
	return sets;
}

/*
 * Brute force: from all sets of counters that the events so far can occupy, the sets with one event
 * more. There is no search, and no code in common with x86_assign_add().
 */
static u64 assign_sets_with_one_more(u64 sets, u64 allowed, const u64 *without)
{
	u64 next = 0;
	unsigned int c;

	for (c = 0; c < COUNTERS; c++)
		if (allowed & BIT(c))
			next |= (sets & without[c]) << (1 << c);
	return next;
}

/* Each event has at most one counter, which can count it and has no other event. */
static bool assign_is_consistent(const struct x86_assign *a, unsigned int n)
{
	u64 seen = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		int c = a->counter_of[i];

		if (c < 0)
			continue;
		if (seen & BIT_ULL(c) || !(a->allowed[i] & BIT_ULL(c)) || a->event_on[c] != i)
			return false;
		seen |= BIT_ULL(c);
	}
	return a->vacant == ~seen;
}

/* Few bits are set, so that many events do not fit. */
static u64 assign_random_counters(struct rnd_state *rnd)
{
	u32 r = prandom_u32_state(rnd);

	return r & (r >> 8) & ((1 << COUNTERS) - 1);
}

static unsigned int assign_check_one_case(struct kunit *test, struct rnd_state *rnd,
					  const u64 *without)
{
	unsigned int n = 0, refused = 0, i;
	u64 sets = 1, next, allowed;
	struct x86_assign a;

	x86_assign_init(&a);
	for (i = 0; i < EVENTS; i++) {
		int wish = prandom_u32_state(rnd) % (COUNTERS + 1) - 1;

		allowed = assign_random_counters(rnd);
		next = assign_sets_with_one_more(sets, allowed, without);
		KUNIT_ASSERT_EQ(test, x86_assign_add(&a, n, allowed, wish), next != 0);
		if (next) {
			sets = next;
			n++;
		} else {
			refused++;
		}
		KUNIT_ASSERT_TRUE(test, assign_is_consistent(&a, n));
	}
	return refused;
}

static void assign_agrees_with_brute_force(struct kunit *test)
{
	unsigned int refused = 0, i;
	u64 without[COUNTERS];
	struct rnd_state rnd;

	for (i = 0; i < COUNTERS; i++)
		without[i] = assign_sets_without(i);
	prandom_seed_state(&rnd, 20041);
	for (i = 0; i < CASES; i++) {
		refused += assign_check_one_case(test, &rnd, without);
		cond_resched();
	}
	/* The test is worthless unless both results are frequent. */
	KUNIT_EXPECT_GT(test, refused, CASES * EVENTS / 10);
	KUNIT_EXPECT_LT(test, refused, CASES * EVENTS * 9 / 10);
}

static void assign_moves_events_along_a_chain(struct kunit *test)
{
	struct x86_assign a;
	unsigned int i;

	/* Event i can use counters i and i + 1 and gets i + 1; the last can use counter 7 only. */
	x86_assign_init(&a);
	for (i = 0; i < 7; i++)
		KUNIT_ASSERT_TRUE(test, x86_assign_add(&a, i, 3ULL << i, i + 1));
	KUNIT_ASSERT_TRUE(test, x86_assign_add(&a, 7, BIT(7), -1));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, a.counter_of[i], i);
	KUNIT_EXPECT_FALSE(test, x86_assign_add(&a, 8, 0xff, -1));
}

static void assign_changes_nothing_on_failure(struct kunit *test)
{
	static struct x86_assign before;	/* two of them fill the stack of a 32-bit kernel */
	struct x86_assign a;

	x86_assign_init(&a);
	x86_assign_seed(&a, 0, 3, 0);
	x86_assign_seed(&a, 1, 3, 1);
	before = a;
	KUNIT_EXPECT_FALSE(test, x86_assign_add(&a, 2, 3, 0));
	KUNIT_EXPECT_MEMEQ(test, a.counter_of, before.counter_of, sizeof(a.counter_of));
	KUNIT_EXPECT_MEMEQ(test, a.event_on, before.event_on, sizeof(a.event_on));
	KUNIT_EXPECT_EQ(test, a.vacant, before.vacant);
}

static void assign_fills_64_counters(struct kunit *test)
{
	struct x86_assign a;
	unsigned int i;

	x86_assign_init(&a);
	for (i = 0; i < 64; i++)
		KUNIT_ASSERT_TRUE(test, x86_assign_add(&a, i, ~0ULL >> i, -1));
	KUNIT_EXPECT_EQ(test, a.vacant, 0ULL);
	KUNIT_EXPECT_TRUE(test, assign_is_consistent(&a, 64));
}

static void assign_solves_constraints_of_drivers(struct kunit *test)
{
	struct event_constraint pair = EVENT_CONSTRAINT(0, 0x3, 0);
	struct event_constraint first = EVENT_CONSTRAINT(0, 0x1, 0);
	struct event_constraint *want[] = { &pair, &first, &pair };
	int assign[3];

	KUNIT_EXPECT_EQ(test, perf_assign_events(want, 2, 1, 2, 2, assign), 0);
	KUNIT_EXPECT_EQ(test, assign[0], 1);
	KUNIT_EXPECT_EQ(test, assign[1], 0);
	KUNIT_EXPECT_EQ(test, perf_assign_events(want, 3, 1, 2, 2, NULL), 1);
}

static struct kunit_case x86_pmu_assign_cases[] = {
	KUNIT_CASE_SLOW(assign_agrees_with_brute_force),
	KUNIT_CASE(assign_moves_events_along_a_chain),
	KUNIT_CASE(assign_changes_nothing_on_failure),
	KUNIT_CASE(assign_fills_64_counters),
	KUNIT_CASE(assign_solves_constraints_of_drivers),
	{ }
};

static struct kunit_suite x86_pmu_assign_suite = {
	.name		= "x86_pmu_assign",
	.test_cases	= x86_pmu_assign_cases,
};

kunit_test_suite(x86_pmu_assign_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: assignment of counters");
MODULE_LICENSE("GPL");
