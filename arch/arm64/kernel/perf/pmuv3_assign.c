// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: assignment of counters to events.
 *
 * A PMU has event counters, which are all equal, a cycle counter and possibly an instruction
 * counter, which count one fixed event each. An event that counts in 64 bits on counters of 32
 * needs two chained event counters, an even one and the next; on a fixed counter it needs one.
 *
 * New events first get counters that are free. If that fails, and other events could move, all
 * events are assigned again: first those on the fixed counters, chosen by the event counters that
 * this saves, then pairs, then single counters. This finds an assignment if one exists: the fixed
 * counters count disjoint sets of events, the pairs partition the event counters, and single
 * counters are interchangeable.
 *
 * Of several possible counters an event gets the one that it had last, else one with the event's
 * type in its register, else one that is not enabled. This saves register writes when tasks
 * alternate on a CPU.
 *
 * Accesses no hardware and needs no lock.
 */
#include <linux/bitops.h>

#include "pmuv3.h"

/* Even event counters, without 30, which the cycle counter follows. */
#define PMUV3_EVEN_COUNTERS	((PMUV3_GENERAL >> 1) & 0x5555555555555555ULL)

static const struct {
	unsigned int	idx;
	int		flag;
} pmuv3_fixed_counters[] = {
	{ ARMV8_PMU_CYCLE_IDX, PMUV3_EVT_CYCLES },
	{ ARMV8_PMU_INSTR_IDX, PMUV3_EVT_INSNS },
};

static int pmuv3_find_fixed(const struct hw_perf_event *hw, u64 free)
{
	if (hw->flags & PMUV3_EVT_CYCLES && free & BIT_ULL(ARMV8_PMU_CYCLE_IDX))
		return ARMV8_PMU_CYCLE_IDX;
	if (hw->flags & PMUV3_EVT_INSNS && free & BIT_ULL(ARMV8_PMU_INSTR_IDX))
		return ARMV8_PMU_INSTR_IDX;
	return -1;
}

static bool pmuv3_had_counter(const struct hw_perf_event *hw, u64 counters)
{
	return hw->idx >= 0 && counters & BIT_ULL(hw->idx);
}

static int pmuv3_find_single(const struct hw_perf_event *hw, u64 free, const struct pmuv3_cpu *hint)
{
	unsigned long candidates = free & PMUV3_GENERAL;
	unsigned int idx;

	if (!candidates)
		return -1;
	if (pmuv3_had_counter(hw, candidates))
		return hw->idx;
	if (!hint)
		return __ffs(candidates);

	for_each_set_bit(idx, &candidates, ARMV8_PMU_MAX_GENERAL_COUNTERS) {
		if (hint->type[idx] == hw->config_base)
			return idx;
	}
	return __ffs(candidates & ~hint->enabled ?: candidates);
}

/* Index of a free pair: that of its upper counter. */
static int pmuv3_find_pair(const struct hw_perf_event *hw, u64 free)
{
	u64 uppers = (free & (free >> 1) & PMUV3_EVEN_COUNTERS) << 1;

	if (!uppers)
		return -1;
	return pmuv3_had_counter(hw, uppers) ? hw->idx : __ffs64(uppers);
}

static int pmuv3_find_counter(const struct hw_perf_event *hw, u64 free,
			      const struct pmuv3_cpu *hint)
{
	int idx = pmuv3_find_fixed(hw, free);

	if (idx >= 0 || hw->flags & PMUV3_EVT_FIXED_ONLY)
		return idx;
	if (hw->flags & PMUV3_EVT_PAIR)
		return pmuv3_find_pair(hw, free);
	return pmuv3_find_single(hw, free, hint);
}

/* ------------------------------------------------------- assigning all events again */

/**
 * struct pmuv3_assignment - an assignment that is being computed
 * @slot: events
 * @nr: number of events, at most ARMPMU_MAX_HWEVENTS
 * @free: counters that have not been assigned
 * @idx: counter index of each event; -1 if none has been assigned
 */
struct pmuv3_assignment {
	const struct perf_sched_slot	*slot;
	unsigned int			nr;
	u64				free;
	s8				idx[ARMPMU_MAX_HWEVENTS];
};

static const struct hw_perf_event *pmuv3_slot_hw(const struct pmuv3_assignment *a, unsigned int i)
{
	return &a->slot[i].event->hw;
}

static void pmuv3_assign_counter(struct pmuv3_assignment *a, unsigned int i, int idx)
{
	a->idx[i] = idx;
	a->free &= ~pmuv3_counters(pmuv3_slot_hw(a, i), idx);
}

/* Preference for a fixed counter, which saves one event counter or a pair, or is required. */
static int pmuv3_fixed_gain(const struct hw_perf_event *hw, unsigned int idx)
{
	if (hw->flags & PMUV3_EVT_FIXED_ONLY)
		return 5;
	return 1 + (hw->flags & PMUV3_EVT_PAIR ? 2 : 0) + (hw->idx == idx ? 1 : 0);
}

static void pmuv3_assign_fixed(struct pmuv3_assignment *a, unsigned int idx, int flag)
{
	int best = -1, gain = 0;
	unsigned int i;

	for (i = 0; i < a->nr; i++) {
		const struct hw_perf_event *hw = pmuv3_slot_hw(a, i);

		if (hw->flags & flag && pmuv3_fixed_gain(hw, idx) > gain) {
			gain = pmuv3_fixed_gain(hw, idx);
			best = i;
		}
	}
	if (best >= 0)
		pmuv3_assign_counter(a, best, idx);
}

/*
 * Assigns event counters to the events with (@pair is PMUV3_EVT_PAIR) or without (0) a pair. With
 * @stay only to those that keep their last counter, so that no other event takes it.
 */
static bool pmuv3_assign_general(struct pmuv3_assignment *a, int pair, bool stay)
{
	unsigned int i;
	int idx;

	for (i = 0; i < a->nr; i++) {
		const struct hw_perf_event *hw = pmuv3_slot_hw(a, i);

		if (a->idx[i] >= 0 || (hw->flags & PMUV3_EVT_PAIR) != pair)
			continue;
		if (hw->flags & PMUV3_EVT_FIXED_ONLY)
			return false;
		idx = pair ? pmuv3_find_pair(hw, a->free) : pmuv3_find_single(hw, a->free, NULL);
		if (stay && idx != hw->idx)
			continue;
		if (idx < 0)
			return false;
		pmuv3_assign_counter(a, i, idx);
	}
	return true;
}

static bool pmuv3_assign_all(struct pmuv3_assignment *a)
{
	unsigned int i;

	memset(a->idx, -1, sizeof(a->idx));
	for (i = 0; i < ARRAY_SIZE(pmuv3_fixed_counters); i++) {
		unsigned int idx = pmuv3_fixed_counters[i].idx;

		if (a->free & BIT_ULL(idx))
			pmuv3_assign_fixed(a, idx, pmuv3_fixed_counters[i].flag);
	}

	return pmuv3_assign_general(a, PMUV3_EVT_PAIR, true) &&
	       pmuv3_assign_general(a, PMUV3_EVT_PAIR, false) &&
	       pmuv3_assign_general(a, 0, true) &&
	       pmuv3_assign_general(a, 0, false);
}

static noinline int pmuv3_reassign(u64 present, struct perf_sched_slot *slot, unsigned int nr)
{
	struct pmuv3_assignment a = { .slot = slot, .nr = nr, .free = present };
	unsigned int i;

	if (nr > hweight64(present) || !pmuv3_assign_all(&a))
		return -ENOSPC;
	for (i = 0; i < nr; i++)
		slot[i].idx = a.idx[i];
	return 0;
}

/* --------------------------------------------------------------------- interface */

/**
 * pmuv3_assign - assign counters to events
 * @present: mask of the implemented counters
 * @slot: events; the slots before @from have counters, which may change
 * @nr: number of slots
 * @from: first slot that needs a counter, 0 to @nr
 * @hint: state of the CPU that the events will probably run on; may be NULL
 *
 * Context: any.
 * Return: 0; -EBUSY if no counter was free; -ENOSPC if the events do not fit for another reason. On
 * error the slots before @from are unchanged.
 */
int pmuv3_assign(u64 present, struct perf_sched_slot *slot, unsigned int nr, unsigned int from,
		 const struct pmuv3_cpu *hint)
{
	u64 free = present;
	unsigned int i;
	int flags = 0;
	bool full;

	for (i = 0; i < from; i++) {
		const struct hw_perf_event *hw = &slot[i].event->hw;

		flags |= hw->flags;
		free &= ~pmuv3_counters(hw, slot[i].idx);
	}
	for (; i < nr; i++) {
		const struct hw_perf_event *hw = &slot[i].event->hw;
		int idx = pmuv3_find_counter(hw, free, hint);

		flags |= hw->flags;
		if (idx < 0)
			break;
		slot[i].idx = idx;
		free &= ~pmuv3_counters(hw, idx);
	}
	if (i == nr)
		return 0;

	full = i == from && !free;
	for (; i < nr; i++)
		flags |= slot[i].event->hw.flags;
	if (!(flags & (PMUV3_EVT_PAIR | PMUV3_EVT_FIXED_ONLY)))
		return full ? -EBUSY : -ENOSPC;
	return pmuv3_reassign(present, slot, nr);
}

/**
 * pmuv3_sched_assign - pmu::sched_assign
 * @pmu: PMU of the events
 * @s: schedule to assign counters to
 * @from: first slot that needs a counter
 *
 * Context: any.
 * Return: 0, -EBUSY or -ENOSPC, as pmuv3_assign().
 */
int pmuv3_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from)
{
	/* The schedule may run on another CPU, which then costs register writes, nothing else. */
	const struct pmuv3_cpu *c = raw_cpu_ptr(&pmuv3_cpu);
	struct arm_pmu *armpmu = to_arm_pmu(pmu);

	return pmuv3_assign(armpmu->cntr_mask[0], s->slot, s->nr, from,
			    c->pmu == armpmu ? c : NULL);
}
