// SPDX-License-Identifier: GPL-2.0
/*
 * Starting and stopping groups.
 *
 * A group is queued in its PMU context while its leader is enabled. Starting the group makes its
 * enabled members ACTIVE, all or none of them; stopping it makes them INACTIVE. What else is done
 * for a member depends on its kind (see PERF_EV_CAP_RESIDENT):
 *
 *   resident	pmu::add or pmu::del
 *   switched	pmu::add or pmu::del, and an entry in ctx->switch_list, by which a context switch
 *		does the same
 *   counter	nothing: it is in the schedule that is being applied
 *
 * Locks: ctx->lock, interrupts off, on the context's CPU if it is active.
 */
#include "sched.h"

/* The part of sampling in starting and stopping an event of any kind: the tick's list. */
static noinline void group_list_sampling(struct perf_event *event)
{
	list_add(&event->freq_entry, &event->ctx->freq_list);
	if (unlikely(event->hw.interrupts == PERF_THROTTLED))
		perf_rethrottle_pending(event);
}

static __always_inline void group_start_sampling(struct perf_event *event)
{
	if (is_sampling_event(event))
		group_list_sampling(event);
}

/* KVM sets attr.sample_period of its events, also to 0: what counts is whether it is listed. */
static void group_stop_sampling(struct perf_event *event)
{
	if (!list_empty(&event->freq_entry))
		list_del_init(&event->freq_entry);
}

static bool group_event_is_counter(const struct perf_event *event)
{
	return perf_pmu_has_counters(event->pmu);
}

static bool group_event_is_resident(const struct perf_event *event)
{
	return event->event_caps & PERF_EV_CAP_RESIDENT;
}

/**
 * perf_switch_event_add - add a switched event to its PMU
 * @event: event in a context that is active on this CPU
 *
 * Context: ctx->lock, interrupts off
 * Return: 0 or the driver's errno
 */
int perf_switch_event_add(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;
	int ret;

	lockdep_assert_held(&event->ctx->lock);
	event->oncpu = event->ctx->active_cpu;
	if (unlikely(pmu->capabilities & PERF_PMU_CAP_ITRACE))
		perf_log_itrace_start(event);
	perf_pmu_disable(pmu);
	ret = pmu->add(event, PERF_EF_START);
	perf_pmu_enable(pmu);
	if (ret)
		event->oncpu = -1;
	return ret;
}

/**
 * perf_switch_event_del - delete a switched event from its PMU and update its count
 * @event: event in a context that is active on this CPU; nothing is done if it is not added
 *
 * Context: ctx->lock, interrupts off
 */
void perf_switch_event_del(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;

	lockdep_assert_held(&event->ctx->lock);
	if (event->oncpu < 0)
		return;
	perf_pmu_disable(pmu);
	pmu->del(event, PERF_EF_UPDATE);
	perf_pmu_enable(pmu);
	event->oncpu = -1;
}

static int group_member_add(struct perf_event *event)
{
	struct perf_event_context *ctx = event->ctx;
	int ret = 0;

	if (group_event_is_resident(event)) {
		event->oncpu = ctx->cpu;
		return event->pmu->add(event, PERF_EF_START);
	}
	if (ctx->active_cpu >= 0) {
		ret = perf_switch_event_add(event);
		if (ret)
			return ret;
	}
	list_add_tail(&event->switch_entry, &ctx->switch_list);
	return 0;
}

static void group_member_del(struct perf_event *event)
{
	if (group_event_is_resident(event)) {
		event->pmu->del(event, PERF_EF_UPDATE);
	} else {
		perf_switch_event_del(event);
		list_del_init(&event->switch_entry);
	}
	event->oncpu = -1;
}

static int group_member_start(struct perf_event *event)
{
	int ret;

	if (event->state != PERF_EVENT_STATE_INACTIVE)
		return 0;
	/* Before the first hit can read the times. */
	perf_event_update_time_again(event);
	if (!group_event_is_counter(event)) {
		ret = group_member_add(event);
		if (ret)
			return ret;
	}
	perf_event_set_active(event, true);
	group_start_sampling(event);
	return 0;
}

static void group_member_stop(struct perf_event *event)
{
	if (event->state != PERF_EVENT_STATE_ACTIVE)
		return;
	if (!group_event_is_counter(event))
		group_member_del(event);
	group_stop_sampling(event);
	perf_event_update_time(event);
	perf_event_set_active(event, false);
}

/**
 * perf_group_member_exit - end an event after the exit of its task
 * @event: any member of a group, in a context that is active on no CPU, with the times of all its
 *	events up to date
 *
 * The event moves to EXIT. The lists of its group and its PMU context are left as they are: the
 * caller clears them for all events of the context.
 *
 * Context: ctx->lock
 */
void perf_group_member_exit(struct perf_event *event)
{
	lockdep_assert_held(&event->ctx->lock);
	if (event->state == PERF_EVENT_STATE_ACTIVE) {
		group_stop_sampling(event);
		if (!group_event_is_counter(event))
			group_member_del(event);
	}
	perf_event_set_exit(event);
}

static int group_start_members(struct perf_event *leader)
{
	struct perf_event *sibling;
	int ret = group_member_start(leader);

	if (ret)
		return ret;
	for_each_group_sibling(sibling, leader) {
		ret = group_member_start(sibling);
		if (ret)
			return ret;
	}
	return 0;
}

/* Without accounting the group's time. */
static void group_stop_members(struct perf_event *leader)
{
	struct perf_event *sibling;

	lockdep_assert_held(&leader->ctx->lock);

	for_each_group_sibling(sibling, leader)
		group_member_stop(sibling);
	group_member_stop(leader);
}

/* A group of any kind. Returns the errno of the member that could not be added. */
static int group_try_members(struct perf_event *leader)
{
	struct pmu *pmu = leader->pmu_ctx->pmu;
	/* Counters, for which the schedule has decided, and resident events need no transaction. */
	bool txn = !perf_pmu_has_counters(pmu) && !(leader->group_caps & PERF_EV_CAP_RESIDENT);
	int ret;

	lockdep_assert_held(&leader->ctx->lock);

	if (txn)
		pmu->start_txn(pmu, PERF_PMU_TXN_ADD);
	ret = group_start_members(leader);
	if (!ret && txn)
		ret = pmu->commit_txn(pmu);
	if (!ret)
		return 0;

	group_stop_members(leader);
	if (txn)
		pmu->cancel_txn(pmu);
	return ret;
}

/**
 * perf_group_start - start a queued group
 * @leader: leader of the group; members that are ACTIVE already are left alone
 *
 * Context: ctx->lock, interrupts off, on the context's CPU if the context is active
 * Return: 0, or the errno of the member that could not be added; no member runs then
 */
int perf_group_start(struct perf_event *leader)
{
	if (!perf_is_lone_counter(leader))
		return group_try_members(leader);
	if (leader->state == PERF_EVENT_STATE_INACTIVE) {
		perf_leader_set_active(leader, true);
		group_start_sampling(leader);
	}
	return 0;
}

/**
 * perf_group_stop - stop a group
 * @leader: leader of the group
 *
 * A member that is in the loaded schedule keeps its counter until the next schedule is loaded.
 *
 * Context: as for perf_group_start()
 */
void perf_group_stop(struct perf_event *leader)
{
	if (!perf_is_lone_counter(leader)) {
		group_stop_members(leader);
	} else if (leader->state == PERF_EVENT_STATE_ACTIVE) {
		group_stop_sampling(leader);
		perf_leader_set_active(leader, false);
	}
	perf_group_account(leader);
}

/**
 * perf_group_start_sibling - start a sibling that was enabled in, or added to, a group that runs
 * @event: sibling in any state but ACTIVE
 *
 * A software event is started alone, and the group runs on: what a trace in the group records has
 * no gap. Any other event may change the schedule. Then, or if @event cannot be started, the group
 * is stopped.
 *
 * Context: as for perf_group_start()
 * Return: true if nothing else is to be done; false if the group does not run
 */
bool perf_group_start_sibling(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	if (leader->state != PERF_EVENT_STATE_ACTIVE)
		return false;
	if (is_software_event(event) && !group_member_start(event))
		return true;
	perf_group_stop(leader);
	return false;
}

/**
 * perf_group_stop_sibling - stop a sibling that is to be disabled or removed
 * @event: sibling in any state
 *
 * Context: as for perf_group_start()
 * Return: true if @event does not run, and its group runs on; false if the group does not run
 */
bool perf_group_stop_sibling(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	if (leader->state != PERF_EVENT_STATE_ACTIVE)
		return false;
	if (event->state < PERF_EVENT_STATE_INACTIVE)
		return true;
	if (is_software_event(event)) {
		group_member_stop(event);
		return true;
	}
	perf_group_stop(leader);
	return false;
}

/**
 * perf_group_queued - is a group queued in its PMU context?
 * @leader: leader of the group
 *
 * Context: ctx->lock
 * Return: true if the group is in the flexible queue or the pinned list
 */
bool perf_group_queued(const struct perf_event *leader)
{
	return !list_empty(&leader->group_entry) || !list_empty(&leader->pinned_entry);
}

/**
 * perf_group_queue - queue a group after its leader has been enabled
 * @leader: leader of the group; nothing is done if the group is queued already
 *
 * Context: ctx->lock, or the context is not published yet
 */
void perf_group_queue(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	if (perf_group_queued(leader))
		return;

	if (leader->attr.pinned) {
		list_add_tail(&leader->pinned_entry, &epc->pinned);
	} else {
		perf_group_queue_insert(epc, leader);
		epc->nr_flexible++;
	}
	if (!epc->ctx->task && perf_pmu_has_counters(epc->pmu))
		per_cpu_ptr(epc->pmu->cpu_pmu_context, epc->ctx->cpu)->nr_cpu_side++;
}

/**
 * perf_group_unqueue - take a group out of its queue
 * @leader: leader of the group; nothing is done if the group is not queued
 *
 * Context: ctx->lock
 */
void perf_group_unqueue(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	lockdep_assert_held(&leader->ctx->lock);
	if (!perf_group_queued(leader))
		return;

	if (!list_empty(&leader->group_entry)) {
		list_del_init(&leader->group_entry);
		epc->nr_flexible--;
	} else {
		list_del_init(&leader->pinned_entry);
	}
	if (!epc->ctx->task && perf_pmu_has_counters(epc->pmu))
		per_cpu_ptr(epc->pmu->cpu_pmu_context, epc->ctx->cpu)->nr_cpu_side--;
}

/**
 * perf_group_fail - move a pinned group that cannot run to the state ERROR
 * @leader: leader of the group
 *
 * A pinned group must not count for less time than it is enabled. read() returns end of file from
 * now on. Waiters in poll() are woken from irq_work, because wait queues cannot be used under
 * rq->lock.
 *
 * Context: as for perf_group_start()
 */
void perf_group_fail(struct perf_event *leader)
{
	perf_group_stop(leader);
	perf_group_unqueue(leader);
	perf_event_set_state(leader, PERF_EVENT_STATE_ERROR);
	/* A child has no file, hence no waiters. */
	if (leader->parent)
		return;
	leader->pending_wakeup = 1;
	perf_irq_work_queue(&leader->pending_irq);
}
