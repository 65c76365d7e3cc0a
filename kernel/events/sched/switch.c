// SPDX-License-Identifier: GPL-2.0
/*
 * The context switch.
 *
 * A context is switched in or out by starting or stopping its clock, loading or saving its
 * counters, and adding or deleting its few switched events. Resident events are not touched, and no
 * event changes its state.
 *
 * Locks: called by the scheduler with interrupts off and rq->lock held; takes ctx->lock.
 */
#include <linux/sched.h>

#include "sched.h"

/* Of a group with counters. A flexible one waits for the next slice, a pinned one fails. */
static void switch_counters_failed(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	if (leader->attr.pinned)
		perf_group_fail(leader);
	/* A cgroup's counters are loaded later, a task's have been loaded already. */
	perf_sched_changed(epc);
	if (epc->ctx->task)
		perf_sched_load(epc);
}

/*
 * A switched event could not be added: only a driver's pmu::add can fail. A pinned group stops
 * flexible groups of other contexts. The CPU side is locked already while a context of it is
 * activated.
 */
static void switch_group_failed(struct perf_event *leader)
{
	perf_group_stop(leader);
	if (perf_pmu_has_counters(leader->pmu_ctx->pmu)) {
		switch_counters_failed(leader);
	} else if (leader->ctx->task && leader->attr.pinned) {
		perf_cpu_side_lock();
		perf_adddel_group_changed(leader);
		perf_cpu_side_unlock();
	} else {
		perf_adddel_group_changed(leader);
	}
}

/**
 * perf_switch_list_in - add the switched events of a context that has become active
 * @ctx: context on this CPU
 *
 * Context: interrupts off. For a context of the CPU side the locks of all contexts on the CPU are
 *	held; for a task's, ctx->lock is, and the CPU side's are not: a pinned group that fails
 *	takes them
 */
void perf_switch_list_in(struct perf_event_context *ctx)
{
	struct perf_event *event, *failed;

	lockdep_assert_held(&ctx->lock);
	/* A failure changes the list: begin again. */
	do {
		failed = NULL;
		list_for_each_entry(event, &ctx->switch_list, switch_entry) {
			if (event->oncpu < 0 && perf_switch_event_add(event)) {
				failed = event;
				break;
			}
		}
		if (failed)
			switch_group_failed(failed->group_leader);
	} while (failed);
}

/**
 * perf_switch_list_out - delete the switched events of a context that is about to be inactive
 * @ctx: context on this CPU
 *
 * Context: ctx->lock, interrupts off
 */
void perf_switch_list_out(struct perf_event_context *ctx)
{
	struct perf_event *event;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry(event, &ctx->switch_list, switch_entry)
		perf_switch_event_del(event);
}

/* The user pages of events without a counter change only when the clock starts. */
static void switch_update_counterless_pages(struct perf_event_context *ctx)
{
	struct perf_event *event;

	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (!perf_pmu_has_counters(event->pmu))
			perf_event_update_userpage(event);
	}
}

/* Index, times and offset in the user pages of scheduled events change at every switch. */
static void switch_update_user_pages(struct perf_event_context *ctx)
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
 * perf_ctx_sched_in - make a task's context active on this CPU
 * @ctx: context of the running task
 *
 * Context: interrupts off; takes ctx->lock
 */
void perf_ctx_sched_in(struct perf_event_context *ctx)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_pmu_context *epc;
	int cpu = smp_processor_id();

	raw_spin_lock(&ctx->lock);
	if (unlikely(ctx->nr_bound && ctx->last_cpu != cpu))
		perf_adddel_rebind(ctx);
	perf_ctx_clock_start(ctx, perf_clock());
	cpuctx->task_ctx = ctx;
	ctx->last_cpu = cpu;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry)
		perf_sched_load(epc);
	if (unlikely(ctx->adddel_waiting))
		perf_adddel_retry(ctx);
	if (!list_empty(&ctx->switch_list))
		perf_switch_list_in(ctx);
	if (unlikely(ctx->throttled))
		perf_unthrottle_in(ctx);
	perf_ctx_thaw(ctx);
	if (unlikely(ctx->nr_mapped))
		switch_update_user_pages(ctx);
	if (unlikely(ctx->counterless_pages))
		switch_update_counterless_pages(ctx);
	raw_spin_unlock(&ctx->lock);
}

bool perf_sched_load_follows(struct pmu *pmu, const struct task_struct *next)
{
	const struct perf_event_context *ctx = next ? READ_ONCE(next->perf_event_ctxp) : NULL;

	lockdep_assert_irqs_disabled();
	/* It is not freed: @next is alive, and is not the task that frees it. */
	if (!ctx || list_empty(&ctx->counter_list))
		return false;
	perf_this_cpc(pmu)->load_empty = true;
	return true;
}

static void switch_save_counters(struct perf_event_pmu_context *epc,
				 const struct task_struct *next)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);

	if (epc->sched->task_mask || epc->sched->user)
		epc->pmu->sched_save(epc->pmu, epc->sched, epc->sched->task_mask, next);
	if (unlikely(cpc->base_overridden))
		perf_sched_load_base(cpc, epc->pmu);
}

/**
 * perf_ctx_sched_out_locked - make a task's context inactive
 * @ctx: context of the running task
 * @next: task that is switched in; NULL: none
 *
 * Context: ctx->lock, interrupts off, on the CPU where @ctx is active
 */
void perf_ctx_sched_out_locked(struct perf_event_context *ctx, const struct task_struct *next)
{
	struct perf_event_pmu_context *epc;

	lockdep_assert_held(&ctx->lock);
	/* First: what is saved and what is loaded again has one time, perf_event_task_clock(). */
	if (!ctx->frozen)
		perf_ctx_freeze(ctx, perf_clock());
	list_for_each_entry(epc, &ctx->counter_list, counter_entry)
		switch_save_counters(epc, next);
	if (!list_empty(&ctx->switch_list))
		perf_switch_list_out(ctx);

	WRITE_ONCE(ctx->active_cpu, -1);
	this_cpu_ptr(&perf_cpu_context)->task_ctx = NULL;
	if (unlikely(ctx->nr_mapped))
		switch_update_user_pages(ctx);
}

/**
 * perf_ctx_deactivate_empty - make a context inactive that has lost its last event
 * @ctx: context of a task, a cgroup or, where nothing is done, a CPU
 *
 * The context cannot stay active, because the static key of the hooks may be off when its task is
 * switched out. perf_ctx_call() activates it again with the task's next event. The counters were
 * unloaded with their events, so there is only the clock to stop.
 *
 * Context: ctx->lock, where the context may be changed; CPU side locked
 */
void perf_ctx_deactivate_empty(struct perf_event_context *ctx)
{
	lockdep_assert_held(&ctx->lock);

	if (ctx->cgrp)
		perf_cgroup_deactivate_empty(ctx);
	if (!ctx->task || ctx->active_cpu < 0)
		return;
	perf_ctx_clock_stop(ctx);
	this_cpu_ptr(&perf_cpu_context)->task_ctx = NULL;
}

/*
 * The first event of the task may be on its way. Either perf_ctx_call() found the task on no CPU
 * under ctx->lock, and holds the lock until the event is attached, or it looks for the task after
 * this and finds it here.
 */
static noinline bool switch_has_events(struct perf_event_context *ctx)
{
	bool has_events;

	raw_spin_lock(&ctx->lock);
	has_events = ctx->nr_events;
	raw_spin_unlock(&ctx->lock);
	return has_events;
}

/* Side-band records of a switch and callbacks of drivers: both are rare. */
static noinline void switch_notify(struct task_struct *task, struct task_struct *other,
				   bool sched_in)
{
	perf_sideband_switch(task, other, sched_in);
	perf_sched_cb_switch(task, sched_in);
}

/* Hook in finish_task_switch(). */
void __perf_event_task_sched_in(struct task_struct *prev, struct task_struct *task)
{
	/* rq->lock is held: perf_install() relies on that. */
	struct perf_event_context *ctx = READ_ONCE(task->perf_event_ctxp);

	if (ctx && ctx->active_cpu < 0 && (ctx->nr_events || switch_has_events(ctx)))
		perf_ctx_sched_in(ctx);
	if (atomic_read(&perf_nr_switch_events))
		switch_notify(task, prev, true);
}

/* Hook in prepare_task_switch(). */
void __perf_event_task_sched_out(struct task_struct *prev, struct task_struct *next)
{
	struct perf_event_context *ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;

	if (atomic_read(&perf_nr_switch_events))
		switch_notify(prev, next, false);
	if (ctx) {
		raw_spin_lock(&ctx->lock);
		perf_ctx_sched_out_locked(ctx, next);
		raw_spin_unlock(&ctx->lock);
	}
	if (perf_cgroup_is_used())
		perf_cgroup_sync(next);
}
