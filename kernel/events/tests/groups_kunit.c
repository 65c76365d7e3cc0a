// SPDX-License-Identifier: GPL-2.0
/* Tests of the order of groups that wait for counters. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../ops/ops.h"

#define INTERVAL	(4 * (u64)NSEC_PER_MSEC)
#define SLICE		(INTERVAL + INTERVAL / 8)

/* A queue of groups with an interval of 4 ms. */
static struct perf_event_pmu_context *queue_setup(struct kunit *test)
{
	struct perf_event_pmu_context *epc = kunit_kzalloc(test, sizeof(*epc), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, epc);
	epc->pmu = kunit_kzalloc(test, sizeof(*epc->pmu), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, epc->pmu);
	epc->pmu->hrtimer_interval_ms = 4;
	INIT_LIST_HEAD(&epc->flexible);
	return epc;
}

static struct perf_event *queued_group(struct kunit *test, struct perf_event_pmu_context *epc)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	perf_group_queue_insert(epc, event);
	return event;
}

static void queue_account(struct perf_event_pmu_context *epc, struct perf_event *leader, u64 ns)
{
	leader->tstamp += ns;
	perf_group_queue_account(epc, leader);
}

/* The scheduler's update of the round, for the first group that it places. */
static struct perf_event *queue_first(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader;

	leader = list_first_entry(&epc->flexible, struct perf_event, group_entry);
	epc->round = max(epc->round, leader->round);
	return leader;
}

static void test_groups_take_turns(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *group[5];

	for (int i = 0; i < 5; i++)
		group[i] = queued_group(test, epc);
	for (int i = 0; i < 50; i++) {
		KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), group[i % 5]);
		queue_account(epc, group[i % 5], i % 2 ? SLICE + SLICE / 8 : SLICE - SLICE / 8);
	}
	for (int i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, group[i]->round, 10);
}

/* A slice may be used in parts; the excess is deducted from the next slice. */
static void test_slices_in_pieces(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *a = queued_group(test, epc), *b = queued_group(test, epc);

	queue_account(epc, a, SLICE / 2 - 1);
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), a);
	queue_account(epc, a, 1 + SLICE / 4);
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), b);
	KUNIT_EXPECT_EQ(test, a->slice_left, (s64)(SLICE + SLICE / 4));
	queue_account(epc, b, SLICE + SLICE / 4);
	KUNIT_EXPECT_EQ(test, b->slice_left, (s64)(SLICE - SLICE / 4));
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), a);
}

/* Some turns end earlier than others: in many rounds all groups run for the same time. */
static void test_uneven_turns(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *group[3];

	for (int i = 0; i < 3; i++)
		group[i] = queued_group(test, epc);
	for (int i = 0; i < 1000; i++) {
		struct perf_event *first = queue_first(epc);

		queue_account(epc, first, first == group[0] ? INTERVAL - INTERVAL / 8 : SLICE);
	}
	for (int i = 1; i < 3; i++)
		KUNIT_EXPECT_LE(test, abs((s64)(group[i]->tstamp - group[0]->tstamp)),
				(s64)(2 * SLICE));
}

/* Time that a group ran while no other waited does not count against it. */
static void test_no_debt_from_alone(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *a = queued_group(test, epc), *b;

	for (int i = 0; i < 1000; i++) {
		queue_first(epc);
		queue_account(epc, a, 1000 * SLICE);
	}
	b = queued_group(test, epc);
	KUNIT_EXPECT_LE(test, a->round, b->round + 2);
	KUNIT_EXPECT_EQ(test, a->slice_left, (s64)SLICE);

	/* Disabled and enabled without a competitor, then against a new one. */
	list_del_init(&a->group_entry);
	perf_group_queue_insert(epc, a);
	KUNIT_EXPECT_LE(test, a->round, b->round + 1);
}

/* A group that has not run for long does not keep the others from running. */
static void test_nothing_saved_by_absence(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *a = queued_group(test, epc), *b = queued_group(test, epc);

	for (int i = 0; i < 100; i++) {
		epc->round = max(epc->round, b->round);
		queue_account(epc, b, SLICE);
	}
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), a);
	queue_account(epc, a, SLICE);
	KUNIT_EXPECT_GE(test, a->round + 1, b->round);
}

/* The queue stays sorted by rounds, and no group is lost. */
static void test_group_order_random(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *group[100], *event, *last;
	struct rnd_state rnd;
	unsigned int nr;

	prandom_seed_state(&rnd, 7);
	for (int i = 0; i < 100; i++)
		group[i] = queued_group(test, epc);
	for (int i = 0; i < 500; i++) {
		queue_first(epc);
		queue_account(epc, group[prandom_u32_state(&rnd) % 100],
			      prandom_u32_state(&rnd) % (u32)(2 * SLICE));
		last = NULL;
		nr = 0;
		list_for_each_entry(event, &epc->flexible, group_entry) {
			if (last)
				KUNIT_EXPECT_LE(test, last->round, event->round);
			last = event;
			nr++;
		}
		KUNIT_EXPECT_EQ(test, nr, 100);
	}
}

/* A shorter interval holds for groups that are queued already. */
static void test_interval_gets_shorter(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue_setup(test);
	struct perf_event *a, *b;

	epc->pmu->hrtimer_interval_ms = 4000;
	a = queued_group(test, epc);
	b = queued_group(test, epc);
	epc->pmu->hrtimer_interval_ms = 4;
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), a);
	queue_account(epc, a, 2 * SLICE);
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), b);
	queue_account(epc, b, 2 * SLICE);
	KUNIT_EXPECT_PTR_EQ(test, queue_first(epc), a);
}

static struct kunit_case groups_cases[] = {
	KUNIT_CASE(test_groups_take_turns),
	KUNIT_CASE(test_slices_in_pieces),
	KUNIT_CASE(test_uneven_turns),
	KUNIT_CASE(test_no_debt_from_alone),
	KUNIT_CASE(test_nothing_saved_by_absence),
	KUNIT_CASE(test_interval_gets_shorter),
	KUNIT_CASE(test_group_order_random),
	{ }
};

static struct kunit_suite groups_suite = {
	.name		= "perf_groups",
	.test_cases	= groups_cases,
};

kunit_test_suite(groups_suite);
