// SPDX-License-Identifier: GPL-2.0
/*
 * The flexible groups of a PMU context, in the order in which they are served.
 *
 * They are served in rounds: in each, every group has the PMU for a turn, which is the multiplexing
 * interval. The queue is in order of rounds; within one, whoever came first goes first. A group
 * whose turn is about over, give or take half of it, goes to the end of the next round, and what it
 * had too much or too little counts for its turn there. That mostly is the end of the queue, so it
 * costs the same however many wait.
 *
 * Two bounds keep what happened while nobody had to wait from being held for or against a group.
 * pmu_ctx->round, the earliest round that was served last, never goes back, and no group is further
 * than two rounds ahead of it; one that is behind it has caught up after one turn.
 *
 * Locks: ctx->lock.
 */
#include "engine.h"

static s64 turn_of(const struct perf_event_pmu_context *epc)
{
	return epc->pmu->hrtimer_interval_ms * (s64)NSEC_PER_MSEC;
}

/* After all others of its round. */
static void enqueue(struct list_head *queue, struct perf_event *leader)
{
	struct perf_event *other;

	list_for_each_entry_reverse(other, queue, group_entry) {
		if (other->round <= leader->round)
			break;
	}
	list_add(&leader->group_entry, &other->group_entry);
}

/**
 * perf_groups_insert - a group waits for its turns from now on
 * @epc: its PMU context
 * @leader: its leader
 */
void perf_groups_insert(struct perf_event_pmu_context *epc, struct perf_event *leader)
{
	s64 turn = turn_of(epc);

	leader->round = clamp(leader->round, epc->round, epc->round + 1);
	if (leader->turn_left <= turn / 2 || leader->turn_left > 2 * turn)
		leader->turn_left = turn;
	leader->sched_stamp = leader->total_time_running;
	enqueue(&epc->flexible, leader);
}

/**
 * perf_groups_serve - enter the time for which a group ran since the last time
 * @epc: its PMU context
 * @leader: its leader, times up to date
 */
void perf_groups_serve(struct perf_event_pmu_context *epc, struct perf_event *leader)
{
	s64 turn = turn_of(epc);

	leader->turn_left -= leader->total_time_running - leader->sched_stamp;
	leader->sched_stamp = leader->total_time_running;
	if (leader->turn_left > turn / 2)
		return;

	leader->turn_left += turn;
	if (leader->turn_left <= turn / 2)
		leader->turn_left = turn;
	leader->round = clamp(leader->round + 1, epc->round, epc->round + 2);
	list_del(&leader->group_entry);
	enqueue(&epc->flexible, leader);
}
