// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of PMUv3's assignment of counters.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../pmuv3.h"

#define EVENTS	8
#define CASES	20000

static bool pmuv3_test_allowed(const struct hw_perf_event *hw, unsigned int idx, u64 free)
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

/* Exhaustive search: is there any assignment of the slots to the counters in @free? */
static bool pmuv3_test_assignable(const struct perf_sched_slot *slot, unsigned int nr, u64 free)
{
	const struct hw_perf_event *hw = &slot[0].event->hw;
	unsigned int idx;

	if (!nr)
		return true;
	for (idx = 0; idx < ARMPMU_MAX_HWEVENTS; idx++) {
		if (pmuv3_test_allowed(hw, idx, free) &&
		    pmuv3_test_assignable(slot + 1, nr - 1, free & ~pmuv3_counters(hw, idx)))
			return true;
	}
	return false;
}

static bool pmuv3_test_assigned(const struct perf_sched_slot *slot, unsigned int nr, u64 free)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (slot[i].idx < 0 || !pmuv3_test_allowed(&slot[i].event->hw, slot[i].idx, free))
			return false;
		free &= ~pmuv3_counters(&slot[i].event->hw, slot[i].idx);
	}
	return true;
}

static void pmuv3_test_random_event(struct rnd_state *rnd, struct hw_perf_event *hw, bool wide)
{
	static const int kinds[] = {
		0, 0, PMUV3_EVT_CYCLES, PMUV3_EVT_INSNS, PMUV3_EVT_CYCLES | PMUV3_EVT_FIXED_ONLY,
	};
	u32 r = prandom_u32_state(rnd);

	hw->flags = kinds[r % ARRAY_SIZE(kinds)];
	if (!wide && !(hw->flags & PMUV3_EVT_FIXED_ONLY))
		hw->flags |= r & BIT(16) ? PMUV3_EVT_PAIR : PMUV3_EVT_32BIT;
	hw->config_base = r >> 17 & 3;
	hw->idx = r & BIT(24) ? ARMV8_PMU_CYCLE_IDX + (r >> 20 & 1) : (int)(r >> 20 & 7) - 1;
}

static u64 pmuv3_test_random_pmu(struct rnd_state *rnd)
{
	u32 r = prandom_u32_state(rnd);
	u64 present = GENMASK_ULL(r % 6, 0) | BIT_ULL(ARMV8_PMU_CYCLE_IDX);

	return r & BIT(20) ? present | BIT_ULL(ARMV8_PMU_INSTR_IDX) : present;
}

static struct perf_sched_slot *pmuv3_test_slots(struct kunit *test)
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

static u64 pmuv3_test_taken(const struct perf_sched_slot *slot, unsigned int nr)
{
	u64 counters = 0;

	while (nr--)
		counters |= pmuv3_counters(&slot[nr].event->hw, slot[nr].idx);
	return counters;
}

/* Events are added one at a time, as the core builds a schedule. */
static void finds_an_assignment_whenever_there_is_one(struct kunit *test)
{
	struct perf_sched_slot *slot = pmuv3_test_slots(test), before[EVENTS];
	unsigned int n, i, nr, found = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 42);
	for (n = 0; n < CASES; n++) {
		u64 present = pmuv3_test_random_pmu(&rnd);
		bool wide = n & 1;

		for (i = 0; i < EVENTS; i++)
			pmuv3_test_random_event(&rnd, &slot[i].event->hw, wide);
		for (nr = 0; nr < EVENTS; nr++) {
			int err;

			memcpy(before, slot, nr * sizeof(*slot));
			slot[nr].idx = -1;
			err = pmuv3_assign(present, slot, nr + 1, nr, NULL);
			if (err) {
				if (pmuv3_test_taken(slot, nr) != present || err != -EBUSY)
					KUNIT_ASSERT_EQ(test, err, -ENOSPC);
				KUNIT_ASSERT_FALSE(test, pmuv3_test_assignable(slot, nr + 1,
									       present));
				KUNIT_ASSERT_MEMEQ(test, slot, before, nr * sizeof(*slot));
				break;
			}
			found++;
			KUNIT_ASSERT_TRUE(test, pmuv3_test_assigned(slot, nr + 1, present));
		}
	}
	KUNIT_EXPECT_GT(test, found, CASES);
}

static void events_keep_their_counters(struct kunit *test)
{
	struct perf_sched_slot *slot = pmuv3_test_slots(test);
	u64 present = GENMASK_ULL(5, 0);

	slot[0].event->hw.idx = 4;
	slot[1].event->hw.idx = -1;
	slot[2].event->hw.idx = 0;
	KUNIT_ASSERT_EQ(test, pmuv3_assign(present, slot, 1, 0, NULL), 0);
	KUNIT_ASSERT_EQ(test, pmuv3_assign(present, slot, 3, 1, NULL), 0);
	KUNIT_EXPECT_EQ(test, slot[0].idx, 4);
	KUNIT_EXPECT_TRUE(test, pmuv3_test_assigned(slot, 3, present));
}

/* Preferred is a counter with the event's type, then a disabled one, then one that runs unused. */
static void registers_are_spared(struct kunit *test)
{
	struct perf_sched_slot *slot = pmuv3_test_slots(test);
	struct pmuv3_cpu *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	u64 present = GENMASK_ULL(3, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < 3; i++) {
		slot[i].event->hw.idx = -1;
		slot[i].event->hw.config_base = 0x10 + i;
	}
	c->type[2] = 0x10;
	c->enabled = BIT_ULL(0) | BIT_ULL(2);
	KUNIT_ASSERT_EQ(test, pmuv3_assign(present, slot, 3, 0, c), 0);
	KUNIT_EXPECT_EQ(test, slot[0].idx, 2);
	KUNIT_EXPECT_EQ(test, slot[1].idx, 1);
	KUNIT_EXPECT_EQ(test, slot[2].idx, 3);
}

static void cycles_leave_event_counters_to_others(struct kunit *test)
{
	struct perf_sched_slot *slot = pmuv3_test_slots(test);
	u64 present = GENMASK_ULL(1, 0) | BIT_ULL(ARMV8_PMU_CYCLE_IDX);

	slot[0].event->hw.idx = 0;
	slot[0].event->hw.flags = PMUV3_EVT_CYCLES;
	KUNIT_ASSERT_EQ(test, pmuv3_assign(present, slot, 3, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, slot[0].idx, ARMV8_PMU_CYCLE_IDX);
	KUNIT_EXPECT_EQ(test, pmuv3_assign(present, slot, 4, 3, NULL), -EBUSY);
}

/* The index after the last event counter's is the cycle counter's: they cannot form a pair. */
static void the_last_counter_has_no_neighbour(struct kunit *test)
{
	struct perf_sched_slot *slot = pmuv3_test_slots(test);
	u64 present = BIT_ULL(ARMV8_PMU_MAX_GENERAL_COUNTERS - 1) | BIT_ULL(ARMV8_PMU_CYCLE_IDX);

	slot[0].event->hw.idx = -1;
	slot[0].event->hw.flags = PMUV3_EVT_PAIR;
	KUNIT_EXPECT_EQ(test, pmuv3_assign(present, slot, 1, 0, NULL), -ENOSPC);
}

static struct kunit_case pmuv3_test_cases[] = {
	KUNIT_CASE_SLOW(finds_an_assignment_whenever_there_is_one),
	KUNIT_CASE(events_keep_their_counters),
	KUNIT_CASE(registers_are_spared),
	KUNIT_CASE(cycles_leave_event_counters_to_others),
	KUNIT_CASE(the_last_counter_has_no_neighbour),
	{}
};

static struct kunit_suite pmuv3_test_suite = {
	.name		= "perf-pmuv3-counters",
	.test_cases	= pmuv3_test_cases,
};

kunit_test_suite(pmuv3_test_suite);
