// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling for PMUs with pmu::add and pmu::del, which have no schedule.
 *
 * Most of these PMUs are software: every enabled event runs. For the others pmu::add may fail. Then
 * a pinned group takes the place of flexible ones, whichever contexts on the CPU those are in; if
 * that does not help it gets into the ERROR state. A flexible group waits until another group stops
 * or the PMU is rotated.
 *
 * Locks: ctx->lock, interrupts off, on the context's CPU if it is active; the locks of all contexts
 * on the CPU where pmu::add of a pinned group may fail.
 */
#include "sched.h"

/**
 * perf_group_may_run - may a group that needs no counter run where its context is?
 * @leader: leader of the group
 *
 * Context: ctx->lock
 * Return: true if it may, also if the context is inactive; false for a task's group that is bound
 *	to another CPU
 */
bool perf_group_may_run(const struct perf_event *leader)
{
	struct perf_event_context *ctx = leader->ctx;

	lockdep_assert_held(&ctx->lock);
	if (leader->cpu < 0 || !ctx->task)
		return true;
	/* A task event bound to a CPU is started when the task is switched in there, even again. */
	if (ctx->active_cpu < 0)
		ctx->last_cpu = -1;
	return ctx->active_cpu == leader->cpu;
}

/* Can pmu::add be called for the group on some CPUs only? Software members run on all. */
static bool adddel_is_partial(const struct perf_event *leader)
{
	struct pmu *pmu = leader->pmu_ctx->pmu;

	return unlikely(pmu->filter) && leader->ctx->task && perf_pmu_is_partial(pmu) &&
	       perf_sched_group_needs_slots(pmu, leader);
}

/*
 * Is the task's group where its PMU is? On a CPU that pmu::filter rejects the group waits without
 * an attempt, which would fail: perf_adddel_rebind() starts it elsewhere, even after a short sleep.
 */
static bool adddel_pmu_is_here(const struct perf_event *leader)
{
	struct perf_event_context *ctx = leader->ctx;

	if (!adddel_is_partial(leader))
		return true;
	if (ctx->active_cpu >= 0)
		return perf_pmu_supports_cpu(leader->pmu_ctx->pmu, ctx->active_cpu);
	ctx->last_cpu = -1;
	return false;
}

static void adddel_wait(struct perf_event_pmu_context *epc)
{
	epc->overcommitted = true;
	epc->ctx->adddel_waiting = true;
	if (epc->ctx->active_cpu == smp_processor_id())
		perf_rotate_arm(perf_this_cpc(epc->pmu));
}

/* Returns true if the group cannot be added, and cannot wait because it is pinned. */
static bool adddel_try(struct perf_event *leader)
{
	if (!perf_group_may_run(leader) || !adddel_pmu_is_here(leader))
		return false;
	if (!perf_group_start(leader))
		return false;
	if (leader->attr.pinned)
		return true;
	adddel_wait(leader->pmu_ctx);
	return false;
}

/* Starts flexible groups that wait. Returns true if some still do. */
static noinline bool adddel_start_flexible(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader;

	epc->overcommitted = false;
	list_for_each_entry(leader, &epc->flexible, group_entry) {
		if (leader->state == PERF_EVENT_STATE_INACTIVE)
			adddel_try(leader);
	}
	return epc->overcommitted;
}

static void adddel_stop_flexible(struct perf_event_pmu_context *epc)
{
	struct perf_event *event;

	list_for_each_entry(event, &epc->ctx->event_list, event_entry) {
		if (event->pmu_ctx == epc && event->state == PERF_EVENT_STATE_ACTIVE &&
		    !list_empty(&event->group_entry))
			perf_group_stop(event);
	}
}

static noinline bool adddel_rotate_ctx(struct perf_event_context *ctx, struct pmu *pmu,
				       bool start)
{
	struct perf_event_pmu_context *epc;

	/* Inactive: one that is entering the CPU, or of a CPU that is going offline. */
	if (!ctx || ctx->active_cpu < 0)
		return false;
	epc = perf_epc_find(ctx, pmu);
	if (!epc || (start && !epc->overcommitted))
		return false;
	adddel_stop_flexible(epc);
	epc->overcommitted = true;
	return start && adddel_start_flexible(epc);
}

/**
 * perf_adddel_rotate - stop the flexible groups of a PMU on this CPU, and start them in the order
 *	of their queues
 * @pmu: PMU
 * @start: false: the groups of all contexts are stopped only, to be started by another call; true:
 *	those of contexts in which a group waits are stopped, if they run, and started
 *
 * Context: all contexts on the CPU locked
 * Return: true if @start and some group still waits
 */
bool perf_adddel_rotate(struct pmu *pmu, bool start)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;
	bool more;

	lockdep_assert_held(&cpuctx->ctx.lock);
	more = adddel_rotate_ctx(&cpuctx->ctx, pmu, start);
	for_each_cgrp_ctx(ctx, cpuctx)
		more |= adddel_rotate_ctx(ctx, pmu, start);
	return adddel_rotate_ctx(cpuctx->task_ctx, pmu, start) || more;
}

/*
 * pmu::add of a pinned group failed: without flexible groups there may be room. Its context is
 * active on this CPU: in an inactive one only resident events are added, and that does not fail.
 */
static void adddel_make_room(struct perf_event *leader)
{
	struct pmu *pmu = leader->pmu_ctx->pmu;

	perf_adddel_rotate(pmu, false);
	if (perf_group_start(leader))
		perf_group_fail(leader);
	perf_adddel_rotate(pmu, true);
}

/**
 * perf_adddel_retry - try to start the groups that wait in a context
 * @ctx: context that has just become active on this CPU
 *
 * pmu::add may succeed here: the event may have an AUX area now, or the PMU may not exist on the
 * CPU where it failed. The rotation timer of that CPU does not act on this context any more. ACTIVE
 * groups are added after those that wait, so that these have their turns; but before them if the
 * PMU has a pinned group.
 *
 * Context: as for perf_switch_list_in()
 */
void perf_adddel_retry(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	lockdep_assert_held(&ctx->lock);
	ctx->adddel_waiting = false;
	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (!epc->overcommitted || perf_pmu_has_counters(epc->pmu))
			continue;
		if (!list_empty(&epc->pinned))
			perf_switch_list_in(ctx);
		adddel_start_flexible(epc);
	}
}

/**
 * perf_adddel_group_changed - perf_sched_group_changed() for a PMU without a schedule
 * @leader: leader of the group; queued if and only if it is enabled and is not being removed
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_adddel_group_changed(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	lockdep_assert_held(&epc->ctx->lock);

	if (!perf_group_queued(leader)) {
		if (epc->overcommitted)
			adddel_start_flexible(epc);
	} else if (adddel_try(leader)) {
		adddel_make_room(leader);
	}
}

/*
 * A flexible group that can run on several CPUs is not started here: pmu::add may have failed for
 * it, and perf_adddel_retry() starts what waits in the order of the queue.
 */
static void adddel_rebind_group(struct perf_event *leader, int cpu)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;
	bool here = leader->cpu == cpu;

	if (leader->cpu < 0) {
		if (!adddel_is_partial(leader))
			return;
		here = perf_pmu_supports_cpu(epc->pmu, cpu);
	}
	if (!here) {
		if (leader->state == PERF_EVENT_STATE_ACTIVE)
			perf_group_stop(leader);
	} else if (leader->state == PERF_EVENT_STATE_INACTIVE) {
		if (leader->cpu >= 0 || leader->attr.pinned) {
			perf_group_start(leader);
		} else {
			epc->overcommitted = true;
			epc->ctx->adddel_waiting = true;
		}
	}
}

/*
 * A group of a counter PMU that has only software members left has no slot in a schedule: saving a
 * schedule does not stop it, and a compilation may not get as far as the group. A group with slots
 * that is bound to no CPU is the schedule's: it may have to wait for a counter.
 */
static void adddel_rebind_counters(struct perf_event *leader, int cpu)
{
	if (leader->cpu < 0)
		return;
	if (leader->cpu != cpu || !perf_sched_group_needs_slots(leader->pmu_ctx->pmu, leader))
		adddel_rebind_group(leader, cpu);
}

/**
 * perf_adddel_rebind - start and stop the events of a task that can run on some CPUs only
 * @ctx: context of a task that is about to be active here and was on another CPU before
 *
 * No event is added yet: groups that start are on the switch list, or wait for perf_adddel_retry().
 *
 * Context: ctx->lock is held, interrupts off
 */
void perf_adddel_rebind(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;
	struct perf_event *event;
	int cpu = smp_processor_id();

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (perf_pmu_has_counters(epc->pmu))
			perf_sched_changed(epc);
	}
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->group_leader != event || !perf_group_queued(event))
			continue;
		if (!perf_pmu_has_counters(event->pmu_ctx->pmu))
			adddel_rebind_group(event, cpu);
		else
			adddel_rebind_counters(event, cpu);
	}
}
