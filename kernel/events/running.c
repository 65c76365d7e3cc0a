// SPDX-License-Identifier: GPL-2.0
/*
 * Groups that run and groups that wait.
 *
 * A group is queued in its PMU context while its leader is enabled. Starting it makes its enabled
 * members ACTIVE, all or none; stopping it makes them INACTIVE. What a member needs for that
 * depends on its kind:
 *
 *   resident	pmu::add and pmu::del now; a context switch does not touch it
 *   switched	on ctx->switched; pmu::add and pmu::del now and at each context switch
 *   counter	nothing here: it is in the schedule that is being applied
 *
 * Locks: ctx->lock, interrupts off, on the context's CPU if it is active.
 */
#include "engine.h"

static bool event_is_counter(const struct perf_event *event)
{
	return perf_pmu_has_counters(event->pmu);
}

static bool event_is_resident(const struct perf_event *event)
{
	return event->event_caps & PERF_EV_CAP_RESIDENT;
}

/* Adds a switched event whose context is on this CPU. */
int perf_switched_add(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;
	int ret;

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

/* Takes it off again; its count is brought up to date. */
void perf_switched_del(struct perf_event *event)
{
	struct pmu *pmu = event->pmu;

	if (event->oncpu < 0)
		return;
	perf_pmu_disable(pmu);
	pmu->del(event, PERF_EF_UPDATE);
	perf_pmu_enable(pmu);
	event->oncpu = -1;
}

static int member_add(struct perf_event *event)
{
	struct perf_event_context *ctx = event->ctx;
	int ret = 0;

	if (event_is_resident(event)) {
		event->oncpu = ctx->cpu;
		return event->pmu->add(event, PERF_EF_START);
	}
	if (ctx->active_cpu >= 0) {
		ret = perf_switched_add(event);
		if (ret)
			return ret;
	}
	list_add_tail(&event->switch_entry, &ctx->switched);
	return 0;
}

static void member_del(struct perf_event *event)
{
	if (event_is_resident(event)) {
		event->pmu->del(event, PERF_EF_UPDATE);
	} else {
		perf_switched_del(event);
		list_del_init(&event->switch_entry);
	}
	event->oncpu = -1;
}

static int member_start(struct perf_event *event)
{
	int ret;

	if (event->state != PERF_EVENT_STATE_INACTIVE)
		return 0;
	if (!event_is_counter(event)) {
		ret = member_add(event);
		if (ret)
			return ret;
	}
	perf_mark_active(event);
	return 0;
}

static void member_stop(struct perf_event *event)
{
	if (event->state != PERF_EVENT_STATE_ACTIVE)
		return;
	if (!event_is_counter(event))
		member_del(event);
	perf_mark_inactive(event);
}

/* Its context has ended, and its times are up to date: it never counts again. */
void perf_member_end(struct perf_event *event)
{
	if (event->state == PERF_EVENT_STATE_ACTIVE) {
		if (is_sampling_event(event))
			list_del_init(&event->freq_entry);
		if (!event_is_counter(event))
			member_del(event);
	}
	WRITE_ONCE(event->state, PERF_EVENT_STATE_EXIT);
}

static int start_members(struct perf_event *leader)
{
	struct perf_event *sibling;
	int ret = member_start(leader);

	if (ret)
		return ret;
	for_each_sibling_event(sibling, leader) {
		ret = member_start(sibling);
		if (ret)
			return ret;
	}
	return 0;
}

/* perf_group_start() of any group. */
int perf_group_start_members(struct perf_event *leader)
{
	struct pmu *pmu = leader->pmu_ctx->pmu;
	/* For counters the schedule has settled whether they fit. */
	bool txn = !perf_pmu_has_counters(pmu);
	int ret;

	lockdep_assert_held(&leader->ctx->lock);

	if (txn)
		pmu->start_txn(pmu, PERF_PMU_TXN_ADD);
	ret = start_members(leader);
	if (!ret && txn)
		ret = pmu->commit_txn(pmu);
	if (!ret)
		return 0;

	perf_group_stop_members(leader);
	if (txn)
		pmu->cancel_txn(pmu);
	return ret;
}

void perf_group_stop_members(struct perf_event *leader)
{
	struct perf_event *sibling;

	lockdep_assert_held(&leader->ctx->lock);

	for_each_sibling_event(sibling, leader)
		member_stop(sibling);
	member_stop(leader);
}

bool perf_group_queued(const struct perf_event *leader)
{
	return !list_empty(&leader->group_entry) || !list_empty(&leader->pinned_entry);
}

/* An enabled leader takes its place. */
void perf_group_queue(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	if (perf_group_queued(leader))
		return;

	if (leader->attr.pinned) {
		list_add_tail(&leader->pinned_entry, &epc->pinned);
	} else {
		perf_groups_insert(epc, leader);
		epc->nr_flexible++;
	}
	if (!epc->ctx->task && perf_pmu_has_counters(epc->pmu))
		per_cpu_ptr(epc->pmu->cpu_pmu_context, epc->ctx->cpu)->nr_side++;
}

void perf_group_unqueue(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	if (!perf_group_queued(leader))
		return;

	if (!list_empty(&leader->group_entry)) {
		list_del_init(&leader->group_entry);
		epc->nr_flexible--;
	} else {
		list_del_init(&leader->pinned_entry);
	}
	if (!epc->ctx->task && perf_pmu_has_counters(epc->pmu))
		per_cpu_ptr(epc->pmu->cpu_pmu_context, epc->ctx->cpu)->nr_side--;
}

/*
 * A pinned group could not run: it must not count less than it says. read() tells by end of
 * file. Whoever waits in poll() is woken from irq_work: wait queues are not for us here.
 */
void perf_group_fail(struct perf_event *leader)
{
	perf_group_stop(leader);
	perf_group_unqueue(leader);
	perf_event_set_state(leader, PERF_EVENT_STATE_ERROR);
	/* Nobody waits for a child. */
	if (leader->parent)
		return;
	leader->pending_wakeup = 1;
	irq_work_queue(&leader->pending_irq);
}
