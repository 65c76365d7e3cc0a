// SPDX-License-Identifier: GPL-2.0
/*
 * The context switch.
 *
 * Coming and going of a context is: start or stop its clock, load or save its counters, add or
 * delete its few switched events. Resident events are not touched and no event changes state.
 *
 * Locks: called by the scheduler with interrupts off and rq->lock held; takes ctx->lock.
 */
#include <linux/sched.h>

#include "engine.h"
#include "output.h"

/* Adding can fail for a driver's event only; its group waits then. */
static void switched_group_lost(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	if (leader->attr.pinned)
		perf_group_fail(leader);
	else
		perf_group_stop(leader);
	if (perf_pmu_has_counters(epc->pmu)) {
		/* A cgroup's counters are loaded after this, a task's have been. */
		perf_sched_changed(epc);
		if (epc->ctx->task)
			perf_sched_load(epc);
	} else if (!leader->attr.pinned) {
		epc->overcommitted = true;
		epc->ctx->plain_waits = true;
		perf_rotate_arm(perf_this_cpc(epc->pmu));
	}
}

/* Adds the switched events of a context that has become active. Locked. */
void perf_switched_in(struct perf_event_context *ctx)
{
	struct perf_event *event, *lost;

	do {
		lost = NULL;
		list_for_each_entry(event, &ctx->switched, switch_entry) {
			if (event->oncpu < 0 && perf_switched_add(event)) {
				lost = event;
				break;
			}
		}
		if (lost)
			switched_group_lost(lost->group_leader);
	} while (lost);
}

/* Deletes them again, before it stops being active. Locked. */
void perf_switched_out(struct perf_event_context *ctx)
{
	struct perf_event *event;

	list_for_each_entry(event, &ctx->switched, switch_entry)
		perf_switched_del(event);
}

/* Events without a counter: their times begin to pass, and the page says since when. */
static void update_plain_pages(struct perf_event_context *ctx)
{
	struct perf_event *event;

	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (!perf_pmu_has_counters(event->pmu))
			perf_event_update_userpage(event);
	}
}

/* User pages of events that count: index, times and offset change at every switch. */
static void update_user_pages(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		for (int i = 0; i < epc->sched->nr; i++) {
			struct perf_event *event = epc->sched->slot[i].event;

			if (event->ctx == ctx && rcu_access_pointer(event->rb))
				perf_event_update_userpage(event);
		}
	}
}

/**
 * perf_ctx_sched_in - a context comes onto this CPU
 * @ctx: a task's
 *
 * Context: interrupts off; takes ctx->lock
 */
void perf_ctx_sched_in(struct perf_event_context *ctx)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_pmu_context *epc;
	int cpu = smp_processor_id();

	raw_spin_lock(&ctx->lock);
	perf_ctx_clock_start(ctx, perf_clock());
	cpuctx->task_ctx = ctx;

	if (unlikely(ctx->nr_bound && ctx->last_cpu != cpu))
		perf_plain_rebind(ctx);
	ctx->last_cpu = cpu;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry)
		perf_sched_load(epc);
	if (unlikely(ctx->plain_waits))
		perf_plain_retry(ctx);
	if (!list_empty(&ctx->switched))
		perf_switched_in(ctx);
	if (unlikely(ctx->throttled))
		perf_unthrottle_in(ctx);
	perf_ctx_thaw(ctx);
	if (unlikely(ctx->nr_mapped))
		update_user_pages(ctx);
	if (unlikely(ctx->plain_pages))
		update_plain_pages(ctx);
	raw_spin_unlock(&ctx->lock);
}

static void save_counters(struct perf_event_pmu_context *epc)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);

	if (epc->sched->task_mask || epc->sched->user)
		epc->pmu->sched_save(epc->pmu, epc->sched, epc->sched->task_mask);
	if (unlikely(cpc->displaced))
		perf_sched_load_base(cpc, epc->pmu);
}

/* The same for a context that is locked already. */
void perf_ctx_sched_out_locked(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry)
		save_counters(epc);
	if (!list_empty(&ctx->switched))
		perf_switched_out(ctx);

	perf_ctx_clock_stop(ctx);
	this_cpu_ptr(&perf_cpu_context)->task_ctx = NULL;
	if (unlikely(ctx->nr_mapped))
		update_user_pages(ctx);
}

/**
 * perf_ctx_sched_out - a context leaves this CPU
 * @ctx: a task's, active here
 *
 * Context: interrupts off; takes ctx->lock
 */
void perf_ctx_sched_out(struct perf_event_context *ctx)
{
	raw_spin_lock(&ctx->lock);
	perf_ctx_sched_out_locked(ctx);
	raw_spin_unlock(&ctx->lock);
}

/*
 * A task's context that has lost its last event is not on a CPU any more: the hooks may be off
 * when the task switches next. perf_ctx_call() brings it back with the next event. Its counters
 * have been unloaded with their events, so only the clock is left to stop.
 */
void perf_ctx_retire(struct perf_event_context *ctx)
{
	lockdep_assert_held(&ctx->lock);

#ifdef CONFIG_CGROUP_PERF
	if (ctx->cgrp)
		perf_cgroup_retire(ctx);
#endif
	if (!ctx->task || ctx->active_cpu < 0)
		return;
	perf_ctx_clock_stop(ctx);
	this_cpu_ptr(&perf_cpu_context)->task_ctx = NULL;
}

/*
 * Its first event may be on the way: whoever attaches it looked for the task's CPU under ctx->lock,
 * before the task was on one, and holds it until the event is there; or looks after us, and finds us.
 */
static noinline bool has_events_now(struct perf_event_context *ctx)
{
	guard(raw_spinlock)(&ctx->lock);
	return ctx->nr_events;
}

void __perf_event_task_sched_in(struct task_struct *prev, struct task_struct *task)
{
	/* [switch-in] */
	struct perf_event_context *ctx = READ_ONCE(task->perf_event_ctxp);

	if (ctx && ctx->active_cpu < 0 && (ctx->nr_events || has_events_now(ctx)))
		perf_ctx_sched_in(ctx);
	if (atomic_read(&perf_nr_switch_events))
		perf_sideband_switch(task, prev, true);
}

void __perf_event_task_sched_out(struct task_struct *prev, struct task_struct *next)
{
	struct perf_event_context *ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;

	if (atomic_read(&perf_nr_switch_events))
		perf_sideband_switch(prev, next, false);
	if (ctx)
		perf_ctx_sched_out(ctx);
#ifdef CONFIG_CGROUP_PERF
	if (static_branch_unlikely(&perf_cgroup_key))
		perf_cgroup_sync(next);
#endif
}
