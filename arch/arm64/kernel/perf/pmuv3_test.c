// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of PMUv3's choice of counters.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "pmuv3.h"

#define EVENTS	8
#define CASES	20000

static bool legal(const struct hw_perf_event *hw, unsigned int idx, u64 free)
{
	u64 counters = pmuv3_counters(hw, idx);

	if (idx == ARMV8_PMU_CYCLE_IDX && !(hw->flags & PMUV3_EVT_CYCLES))
		return false;
	if (idx == ARMV8_PMU_INSTR_IDX && !(hw->flags & PMUV3_EVT_INSNS))
		return false;
	if (idx < ARMV8_PMU_CYCLE_IDX && hw->flags & PMUV3_EVT_FIXED_ONLY)
		return false;
	if (pmuv3_is_pair(hw, idx) && !(idx & 1))
		return false;

	return (counters & free) == counters;
}

/* Is there any placement at all? */
static bool exists(const struct perf_sched_slot *slot, unsigned int nr, u64 free)
{
	const struct hw_perf_event *hw = &slot[0].event->hw;
	unsigned int idx;

	if (!nr)
		return true;
	for (idx = 0; idx < ARMPMU_MAX_HWEVENTS; idx++) {
		if (legal(hw, idx, free) &&
		    exists(slot + 1, nr - 1, free & ~pmuv3_counters(hw, idx)))
			return true;
	}
	return false;
}

static bool is_placement(const struct perf_sched_slot *slot, unsigned int nr, u64 free)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (slot[i].idx < 0 || !legal(&slot[i].event->hw, slot[i].idx, free))
			return false;
		free &= ~pmuv3_counters(&slot[i].event->hw, slot[i].idx);
	}
	return true;
}

static void random_event(struct rnd_state *rnd, struct hw_perf_event *hw, bool wide)
{
	static const int kinds[] = {
		0, 0, PMUV3_EVT_CYCLES, PMUV3_EVT_INSNS, PMUV3_EVT_CYCLES | PMUV3_EVT_FIXED_ONLY,
	};
	u32 r = prandom_u32_state(rnd);

	hw->flags = kinds[r % ARRAY_SIZE(kinds)];
	if (!wide && !(hw->flags & PMUV3_EVT_FIXED_ONLY))
		hw->flags |= r & BIT(16) ? PMUV3_EVT_PAIR : PMUV3_EVT_SHORT;
	hw->config_base = r >> 17 & 3;
	hw->idx = (int)(r >> 20 & 15) - 1;
}

static u64 random_pmu(struct rnd_state *rnd)
{
	u32 r = prandom_u32_state(rnd);
	u64 there = GENMASK_ULL(r % 6, 0) | BIT_ULL(ARMV8_PMU_CYCLE_IDX);

	return r & BIT(20) ? there | BIT_ULL(ARMV8_PMU_INSTR_IDX) : there;
}

static struct perf_sched_slot *make_slots(struct kunit *test)
{
	struct perf_sched_slot *slot;
	struct perf_event *event;
	unsigned int i;

	slot = kunit_kcalloc(test, EVENTS, sizeof(*slot), GFP_KERNEL);
	event = kunit_kcalloc(test, EVENTS, sizeof(*event), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	KUNIT_ASSERT_NOT_NULL(test, event);
	for (i = 0; i < EVENTS; i++)
		slot[i].event = &event[i];

	return slot;
}

static u64 taken(const struct perf_sched_slot *slot, unsigned int nr)
{
	u64 counters = 0;

	while (nr--)
		counters |= pmuv3_counters(&slot[nr].event->hw, slot[nr].idx);
	return counters;
}

/* One event after the other, as the core builds a schedule. */
static void finds_a_placement_whenever_there_is_one(struct kunit *test)
{
	struct perf_sched_slot *slot = make_slots(test), before[EVENTS];
	unsigned int n, i, nr, found = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 42);
	for (n = 0; n < CASES; n++) {
		u64 there = random_pmu(&rnd);
		bool wide = n & 1;

		for (i = 0; i < EVENTS; i++)
			random_event(&rnd, &slot[i].event->hw, wide);
		for (nr = 0; nr < EVENTS; nr++) {
			int err;

			memcpy(before, slot, nr * sizeof(*slot));
			slot[nr].idx = -1;
			err = pmuv3_place(there, slot, nr + 1, nr, NULL);
			if (err) {
				KUNIT_ASSERT_TRUE(test, err == -ENOSPC ||
						  (err == -EBUSY && taken(slot, nr) == there));
				KUNIT_ASSERT_FALSE(test, exists(slot, nr + 1, there));
				KUNIT_ASSERT_EQ(test, 0, memcmp(before, slot, nr * sizeof(*slot)));
				break;
			}
			found++;
			KUNIT_ASSERT_TRUE(test, is_placement(slot, nr + 1, there));
		}
	}
	KUNIT_EXPECT_GT(test, found, CASES);
}

static void events_keep_their_counters(struct kunit *test)
{
	struct perf_sched_slot *slot = make_slots(test);
	u64 there = GENMASK_ULL(5, 0);

	slot[0].event->hw.idx = 4;
	slot[1].event->hw.idx = -1;
	slot[2].event->hw.idx = 0;
	KUNIT_ASSERT_EQ(test, 0, pmuv3_place(there, slot, 1, 0, NULL));
	KUNIT_ASSERT_EQ(test, 0, pmuv3_place(there, slot, 3, 1, NULL));
	KUNIT_EXPECT_EQ(test, slot[0].idx, 4);
	KUNIT_EXPECT_TRUE(test, is_placement(slot, 3, there));
}

/* A counter that holds the type, then one that is idle, before one that somebody left running. */
static void registers_are_spared(struct kunit *test)
{
	struct perf_sched_slot *slot = make_slots(test);
	struct pmuv3_cpu *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	u64 there = GENMASK_ULL(3, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < 3; i++) {
		slot[i].event->hw.idx = -1;
		slot[i].event->hw.config_base = 0x10 + i;
	}
	c->type[2] = 0x10;
	c->enabled = BIT_ULL(0) | BIT_ULL(2);
	KUNIT_ASSERT_EQ(test, 0, pmuv3_place(there, slot, 3, 0, c));
	KUNIT_EXPECT_EQ(test, slot[0].idx, 2);
	KUNIT_EXPECT_EQ(test, slot[1].idx, 1);
	KUNIT_EXPECT_EQ(test, slot[2].idx, 3);
}

static void cycles_leave_event_counters_to_others(struct kunit *test)
{
	struct perf_sched_slot *slot = make_slots(test);
	u64 there = GENMASK_ULL(1, 0) | BIT_ULL(ARMV8_PMU_CYCLE_IDX);

	slot[0].event->hw.idx = 0;
	slot[0].event->hw.flags = PMUV3_EVT_CYCLES;
	KUNIT_ASSERT_EQ(test, 0, pmuv3_place(there, slot, 3, 0, NULL));
	KUNIT_EXPECT_EQ(test, slot[0].idx, ARMV8_PMU_CYCLE_IDX);
	KUNIT_EXPECT_EQ(test, -EBUSY, pmuv3_place(there, slot, 4, 3, NULL));
}

/* Behind the last event counter comes the cycle counter. */
static void the_last_counter_has_no_neighbour(struct kunit *test)
{
	struct perf_sched_slot *slot = make_slots(test);
	u64 there = BIT_ULL(ARMV8_PMU_MAX_GENERAL_COUNTERS - 1) | BIT_ULL(ARMV8_PMU_CYCLE_IDX);

	slot[0].event->hw.idx = -1;
	slot[0].event->hw.flags = PMUV3_EVT_PAIR;
	KUNIT_EXPECT_EQ(test, -ENOSPC, pmuv3_place(there, slot, 1, 0, NULL));
}

static struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(finds_a_placement_whenever_there_is_one),
	KUNIT_CASE(events_keep_their_counters),
	KUNIT_CASE(registers_are_spared),
	KUNIT_CASE(cycles_leave_event_counters_to_others),
	KUNIT_CASE(the_last_counter_has_no_neighbour),
	{}
};

static struct kunit_suite suite = {
	.name		= "perf-pmuv3-counters",
	.test_cases	= cases,
};
kunit_test_suite(suite);
