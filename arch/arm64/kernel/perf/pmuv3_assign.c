// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: which event gets which counter.
 *
 * There are event counters, all alike, and a cycle counter and perhaps an instruction counter that
 * count one event each. An event may also need two event counters, an even one and the next, to
 * count in 64 bits where counters have 32; on a fixed counter it does not.
 *
 * First the newcomers are put on what is free. If that fails, and if it can be mended, everything
 * is placed anew: what the fixed counters take over is chosen first, by how much that saves; then
 * pairs, then single counters. That finds a placement whenever there is one: fixed counters serve
 * disjoint kinds of events, pairs cut the event counters into equal pieces, and a single counter is
 * as good as any other.
 *
 * Among counters that will do, an event gets the one it had last, then one whose register holds its
 * type already, then one that nobody uses: registers then hold what the next task needs.
 *
 * No hardware is touched, no lock is needed.
 */
#include <linux/bitops.h>

#include "pmuv3.h"

/* Even event counters whose neighbour is one, too: that of counter 30 is the cycle counter. */
#define EVENS	((PMUV3_GENERAL >> 1) & 0x5555555555555555ULL)

static const struct {
	unsigned int	idx;
	int		flag;
} fixed_counters[] = {
	{ ARMV8_PMU_CYCLE_IDX, PMUV3_EVT_CYCLES },
	{ ARMV8_PMU_INSTR_IDX, PMUV3_EVT_INSNS },
};

static int free_fixed(const struct hw_perf_event *hw, u64 free)
{
	if (hw->flags & PMUV3_EVT_CYCLES && free & BIT_ULL(ARMV8_PMU_CYCLE_IDX))
		return ARMV8_PMU_CYCLE_IDX;
	if (hw->flags & PMUV3_EVT_INSNS && free & BIT_ULL(ARMV8_PMU_INSTR_IDX))
		return ARMV8_PMU_INSTR_IDX;
	return -1;
}

static bool had(const struct hw_perf_event *hw, u64 counters)
{
	return hw->idx >= 0 && counters & BIT_ULL(hw->idx);
}

static int free_single(const struct hw_perf_event *hw, u64 free, const struct pmuv3_cpu *hint)
{
	unsigned long candidates = free & PMUV3_GENERAL;
	unsigned int idx;

	if (!candidates)
		return -1;
	if (had(hw, candidates))
		return hw->idx;
	if (!hint)
		return __ffs(candidates);

	for_each_set_bit(idx, &candidates, ARMV8_PMU_MAX_GENERAL_COUNTERS) {
		if (hint->type[idx] == hw->config_base)
			return idx;
	}
	return __ffs(candidates & ~hint->enabled ?: candidates);
}

/* The upper counter of a free pair. */
static int free_pair(const struct hw_perf_event *hw, u64 free)
{
	u64 uppers = (free & (free >> 1) & EVENS) << 1;

	if (!uppers)
		return -1;
	return had(hw, uppers) ? hw->idx : __ffs64(uppers);
}

static int find_free(const struct hw_perf_event *hw, u64 free, const struct pmuv3_cpu *hint)
{
	int idx = free_fixed(hw, free);

	if (idx >= 0 || hw->flags & PMUV3_EVT_FIXED_ONLY)
		return idx;
	return hw->flags & PMUV3_EVT_PAIR ? free_pair(hw, free) : free_single(hw, free, hint);
}

/* ------------------------------------------------------------------ placing anew */

/**
 * struct placement - a placement in the making
 * @slot: the events
 * @nr: how many
 * @free: counters nobody has
 * @idx: counter of each event, -1 while it has none
 */
struct placement {
	const struct perf_sched_slot	*slot;
	unsigned int			nr;
	u64				free;
	s8				idx[ARMPMU_MAX_HWEVENTS];
};

static const struct hw_perf_event *hw_of(const struct placement *p, unsigned int i)
{
	return &p->slot[i].event->hw;
}

static void give(struct placement *p, unsigned int i, int idx)
{
	p->idx[i] = idx;
	p->free &= ~pmuv3_counters(hw_of(p, i), idx);
}

/* What it is worth to have this event on a fixed counter. */
static int fixed_gain(const struct hw_perf_event *hw, unsigned int idx)
{
	if (hw->flags & PMUV3_EVT_FIXED_ONLY)
		return 4;
	return 1 + (hw->flags & PMUV3_EVT_PAIR ? 2 : 0) + (hw->idx == idx ? 1 : 0);
}

static void place_fixed(struct placement *p, unsigned int idx, int flag)
{
	int best = -1, gain = 0;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		const struct hw_perf_event *hw = hw_of(p, i);

		if (hw->flags & flag && fixed_gain(hw, idx) > gain) {
			gain = fixed_gain(hw, idx);
			best = i;
		}
	}
	if (best >= 0)
		give(p, best, idx);
}

/* Those that can stay where they were come first, so that nobody else takes that place. */
static bool place_general(struct placement *p, int pair, bool stay)
{
	unsigned int i;
	int idx;

	for (i = 0; i < p->nr; i++) {
		const struct hw_perf_event *hw = hw_of(p, i);

		if (p->idx[i] >= 0 || (hw->flags & PMUV3_EVT_PAIR) != pair)
			continue;
		if (hw->flags & PMUV3_EVT_FIXED_ONLY)
			return false;
		idx = pair ? free_pair(hw, p->free) : free_single(hw, p->free, NULL);
		if (stay && idx != hw->idx)
			continue;
		if (idx < 0)
			return false;
		give(p, i, idx);
	}
	return true;
}

static bool place_all(struct placement *p)
{
	unsigned int i;

	memset(p->idx, -1, sizeof(p->idx));
	for (i = 0; i < ARRAY_SIZE(fixed_counters); i++) {
		if (p->free & BIT_ULL(fixed_counters[i].idx))
			place_fixed(p, fixed_counters[i].idx, fixed_counters[i].flag);
	}

	return place_general(p, PMUV3_EVT_PAIR, true) && place_general(p, PMUV3_EVT_PAIR, false) &&
	       place_general(p, 0, true) && place_general(p, 0, false);
}

static noinline int place_anew(u64 there, struct perf_sched_slot *slot, unsigned int nr)
{
	struct placement p = { .slot = slot, .nr = nr, .free = there };
	unsigned int i;

	if (nr > hweight64(there) || !place_all(&p))
		return -ENOSPC;
	for (i = 0; i < nr; i++)
		slot[i].idx = p.idx[i];
	return 0;
}

/* --------------------------------------------------------------------- interface */

/**
 * pmuv3_place - give events counters
 * @there: counters that the PMU has
 * @slot: the events; those before @from have their counters
 * @nr: how many
 * @from: the first that needs one
 * @hint: registers of the CPU they will probably run on; may be NULL
 *
 * Return: 0; or, with the slots before @from as they were, -ENOSPC, or -EBUSY if there was no
 * counter free at all.
 */
int pmuv3_place(u64 there, struct perf_sched_slot *slot, unsigned int nr, unsigned int from,
		const struct pmuv3_cpu *hint)
{
	u64 free = there;
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
		int idx = find_free(hw, free, hint);

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
	return place_anew(there, slot, nr);
}

/**
 * pmuv3_sched_assign - pmu::sched_assign
 * @pmu: the PMU
 * @s: the schedule
 * @from: first slot without a counter
 */
int pmuv3_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from)
{
	/* Any CPU: it is a guess where the schedule will run, and costs a write if wrong. */
	const struct pmuv3_cpu *c = raw_cpu_ptr(&pmuv3_cpu);
	struct arm_pmu *armpmu = to_arm_pmu(pmu);

	return pmuv3_place(armpmu->cntr_mask[0], s->slot, s->nr, from,
			   c->pmu == armpmu ? c : NULL);
}
