// SPDX-License-Identifier: GPL-2.0
/*
 * The queue of flexible groups of a PMU context: deficit round robin.
 *
 * In each round every group has the PMU for one slice, which is accounted as the longest time
 * between two expiries of the timer, see perf_slice_tolerance(). With a shorter one most slices
 * would end with a deficit, and a deficit of half a slice or more is dropped. The queue is in the
 * order of rounds; groups of the same round are in the order in which they entered it. A group that
 * has used its slice, give or take half of it, moves to the end of the next round. What it has run
 * too long or too short (its deficit) is taken from its next slice. The end of the next round
 * mostly is the end of the queue, so the cost of a move does not depend on the number of groups.
 *
 * Two bounds keep times without competition from counting for or against a group. pmu_ctx->round,
 * the highest round that was the earliest of a schedule, never decreases, and no group is more than
 * two rounds ahead of it. A group that is behind it has caught up after one slice. A group that is
 * disabled and enabled again keeps its place within these bounds: all groups of a program that
 * counts for moments shorter than a slice run.
 *
 * Locks: ctx->lock.
 */
#include "sched.h"

static s64 group_queue_slice(const struct perf_event_pmu_context *epc)
{
	u64 interval = (u32)epc->pmu->hrtimer_interval_ms * (u64)NSEC_PER_MSEC;

	return interval + perf_slice_tolerance(interval);
}

/* Behind all other groups of its round. */
static void group_queue_add(struct list_head *queue, struct perf_event *leader)
{
	struct perf_event *other;

	list_for_each_entry_reverse(other, queue, group_entry) {
		if (other->round <= leader->round)
			break;
	}
	list_add(&leader->group_entry, &other->group_entry);
}

/**
 * perf_group_queue_insert - queue a flexible group
 * @epc: PMU context in which the group is scheduled
 * @leader: leader of the group
 *
 * Context: as for perf_group_queue()
 */
void perf_group_queue_insert(struct perf_event_pmu_context *epc, struct perf_event *leader)
{
	/* One that has been queued before may have a rest of a slice. */
	u64 behind = leader->round && epc->round;
	s64 slice = group_queue_slice(epc);

	leader->round = clamp(leader->round, epc->round - behind, epc->round + 1);
	if (leader->slice_left <= slice >> 1 || leader->slice_left > 2 * slice)
		leader->slice_left = slice;
	leader->sched_stamp = perf_event_stored_running(leader);
	group_queue_add(&epc->flexible, leader);
}

static __always_inline void group_queue_next_round(struct perf_event_pmu_context *epc,
						   struct perf_event *leader)
{
	leader->round = clamp(leader->round + 1, epc->round, epc->round + 2);
	__list_del_entry(&leader->group_entry);
	group_queue_add(&epc->flexible, leader);
}

/**
 * perf_group_queue_pass - move groups on to the next round as if they had used their slice
 * @epc: PMU context in which the groups are queued
 * @end: group that follows the last of them in the queue, which begins with the first
 *
 * Context: ctx->lock
 */
void perf_group_queue_pass(struct perf_event_pmu_context *epc, const struct perf_event *end)
{
	struct perf_event *leader;

	lockdep_assert_held(&epc->ctx->lock);
	while ((leader = perf_group_queue_first(epc)) != end)
		group_queue_next_round(epc, leader);
}

/**
 * perf_group_queue_fail - move a group that could not start to the next round
 * @leader: leader of the flexible group
 *
 * Context: ctx->lock
 */
void perf_group_queue_fail(struct perf_event *leader)
{
	lockdep_assert_held(&leader->ctx->lock);
	group_queue_next_round(leader->pmu_ctx, leader);
}

/* Returns true if the group has used its slice. */
static __always_inline bool group_queue_use_slice(struct perf_event_pmu_context *epc,
						  struct perf_event *leader)
{
	s64 slice = group_queue_slice(epc);
	u64 running = perf_event_stored_running(leader);

	/* The interval can have become shorter. */
	leader->slice_left = min(leader->slice_left, 2 * slice);
	leader->slice_left -= running - leader->sched_stamp;
	leader->sched_stamp = running;
	if (leader->slice_left > slice >> 1)
		return false;

	leader->slice_left += slice;
	if (leader->slice_left <= slice >> 1)
		leader->slice_left = slice;
	return true;
}

/**
 * perf_group_queue_account - account the time that a group has run
 * @epc: PMU context in which the group is queued
 * @leader: leader of the group, with its times up to date
 *
 * The time is that since the last call, or since the group was queued.
 *
 * Context: ctx->lock
 */
void perf_group_queue_account(struct perf_event_pmu_context *epc, struct perf_event *leader)
{
	if (group_queue_use_slice(epc, leader))
		group_queue_next_round(epc, leader);
}

/**
 * perf_group_queue_settle - account the time of a group that has left the queue
 * @leader: leader of the flexible group, stopped, with its times up to date
 *
 * The group may be queued again before the slice of the others ends, and first.
 *
 * Context: ctx->lock
 */
void perf_group_queue_settle(struct perf_event *leader)
{
	lockdep_assert_held(&leader->ctx->lock);
	if (group_queue_use_slice(leader->pmu_ctx, leader))
		leader->round++;
}
