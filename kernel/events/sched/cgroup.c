// SPDX-License-Identifier: GPL-2.0
/*
 * Cgroup contexts on a CPU. Those of the running task's cgroup and of its ancestors are active.
 *
 * The active cgroup contexts of a CPU form a chain, innermost first, at perf_cpu_context::cgrp_ctx.
 * A switch to a task of another cgroup changes the part in which the two chains differ. The cost
 * does not depend on the number of other cgroups with events.
 *
 * Locks: interrupts off on the CPU; the task's context and the CPU side are locked while the chain
 * changes.
 */
#include <linux/cgroup.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "sched.h"

/**
 * struct cgroup_chain - the new chain of a CPU
 * @head: innermost context; NULL for an empty chain
 * @stays: innermost context that is active already; NULL if there is none
 *
 * Contexts from @head up to, but without, @stays are activated. Contexts of the present chain
 * inside @stays are deactivated. From @stays on both chains are the same, because it belongs to a
 * common ancestor.
 */
struct cgroup_chain {
	struct perf_event_context	*head;
	struct perf_event_context	*stays;
};

static __always_inline struct perf_event_context *cgroup_css_ctx(struct cgroup_subsys_state *css)
{
	struct perf_cgroup *cgrp = container_of(css, struct perf_cgroup, css);
	/* [cgroup-context] */
	struct perf_event_context *ctx = READ_ONCE(*this_cpu_ptr(cgrp->ctx));

	return ctx && ctx->nr_events ? ctx : NULL;
}

/*
 * Finds the contexts of @cgrp and its ancestors and links those that are to be activated, which are
 * not published yet. All contexts outside of an active one are active: perf_cgroup_resync() ensures
 * that.
 */
static __always_inline void cgroup_find_chain(struct cgroup_chain *new, struct perf_cgroup *cgrp)
{
	struct perf_event_context **link = &new->head, *ctx;
	struct cgroup_subsys_state *css;

	new->stays = NULL;
	for (css = &cgrp->css; css; css = css->parent) {
		ctx = cgroup_css_ctx(css);
		if (!ctx)
			continue;
		if (ctx->active_cpu >= 0) {
			new->stays = ctx;
			break;
		}
		WRITE_ONCE(*link, ctx);
		link = &ctx->cgrp_next;
	}
	WRITE_ONCE(*link, new->stays);
}

/*
 * The groups of a context that is deactivated lose their counters; their counts are updated by the
 * next load. They stay ACTIVE so that the saved schedule can be reused, unless the task's events
 * took part in that schedule. sched_base records which cgroup's schedule it was: with the schedule
 * of another cgroup, inside or outside, other groups may have to run.
 *
 * No group without counters is in cpu_side[]: a change of an active context reloads.
 */
static void cgroup_drop_groups(struct perf_event_context *ctx, bool innermost)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);
		unsigned int kept = 0;

		for (unsigned int i = 0; i < cpc->nr_cpu_side_running; i++) {
			if (cpc->cpu_side[i]->ctx != ctx)
				cpc->cpu_side[kept++] = cpc->cpu_side[i];
			else if (cpc->base_overridden)
				perf_group_stop(cpc->cpu_side[i]);
		}
		cpc->nr_cpu_side_running = kept;
		epc->sched_base = innermost ? epc : perf_sched_base(epc->pmu);
	}
}

/* All that are on the CPU are locked; those that leave stay locked until cgroup_unlock_left(). */
static void cgroup_ctx_leave(struct perf_event_context *ctx, bool innermost)
	__must_hold(&ctx->lock)
{
	cgroup_drop_groups(ctx, innermost);
	if (!list_empty(&ctx->switch_list))
		perf_switch_list_out(ctx);
	perf_ctx_clock_stop(ctx);
}

/* Locks a context, after those that are active already, and activates it. */
static void cgroup_ctx_enter(struct perf_event_context *ctx, u64 now)
	__acquires(&ctx->lock)
{
	perf_cgroup_ctx_lock(ctx, &this_cpu_ptr(&perf_cpu_context)->ctx);
	perf_ctx_clock_start(ctx, now);
	if (unlikely(ctx->adddel_waiting))
		perf_adddel_retry(ctx);
	if (!list_empty(&ctx->switch_list))
		perf_switch_list_in(ctx);
}

static void cgroup_stop_group(const struct pmu *pmu, struct perf_event *leader)
{
	if (perf_sched_group_needs_slots(pmu, leader))
		perf_group_stop(leader);
}

static void cgroup_stop_groups(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader, *next;

	list_for_each_entry(leader, &epc->pinned, pinned_entry)
		cgroup_stop_group(epc->pmu, leader);
	list_for_each_entry_safe(leader, next, &epc->flexible, group_entry)
		cgroup_stop_group(epc->pmu, leader);
}

/* Are the ACTIVE groups of the activated contexts those of @base's schedule? */
static bool cgroup_entered_match(struct cgroup_chain new, struct perf_event_pmu_context *base)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for_each_cgrp_ctx_until(ctx, new.head, new.stays) {
		epc = ctx == base->ctx ? base : perf_epc_find(ctx, base->pmu);
		if (epc && epc->sched_base != base && !list_empty(&epc->counter_entry))
			return false;
	}
	return true;
}

/*
 * Compiles a schedule. Groups that are ACTIVE since an earlier one need not be in it: stop them
 * first.
 */
static noinline void cgroup_reschedule(struct cgroup_chain new, struct pmu *pmu)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for_each_cgrp_ctx_until(ctx, new.head, new.stays) {
		epc = perf_epc_find(ctx, pmu);
		if (epc)
			cgroup_stop_groups(epc);
	}
	perf_sched_reload(pmu);
}

static noinline void cgroup_reload_pmu(struct cgroup_chain new, struct perf_event_pmu_context *epc,
				       struct perf_cpu_pmu_context *cpc)
{
	struct perf_event_pmu_context *base = epc;

	if (epc->ctx != new.head)
		base = perf_sched_base(epc->pmu);
	if (this_cpu_read(perf_cpu_context.task_ctx) || !cgroup_entered_match(new, base) ||
	    !perf_sched_load_again(cpc, base))
		cgroup_reschedule(new, epc->pmu);
}

/* Loads the schedules of a changed context's PMUs, each PMU once for each change. */
static __always_inline void cgroup_reload(struct cgroup_chain new, struct perf_event_context *ctx,
					  u64 change)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);

		if (cpc->cgrp_change == change)
			continue;
		cpc->cgrp_change = change;
		cgroup_reload_pmu(new, epc, cpc);
	}
}

/* The loads have updated the counts. The user pages must not name a counter any more. */
static void cgroup_unlock_left(struct perf_event_context *left, struct perf_event_context *stays)
{
	struct perf_event_context *ctx, *next;
	struct perf_event *event;

	for (ctx = left; ctx != stays; ctx = next) {
		next = ctx->cgrp_next;
		if (unlikely(ctx->nr_mapped)) {
			list_for_each_entry(event, &ctx->event_list, event_entry)
				perf_event_update_userpage(event);
		}
		__acquire(&ctx->lock);
		raw_spin_unlock(&ctx->lock);
	}
}

/* An event that was throttled when its context left may have missed its tick. */
static void cgroup_reload_entered(struct cgroup_chain new, struct perf_event_context *ctx,
				  u64 change)
{
	cgroup_reload(new, ctx, change);
	if (unlikely(ctx->throttled))
		perf_unthrottle_in(ctx);
}

/*
 * Contexts that stay or leave are locked throughout, those that enter from then on. The chain that
 * is unlocked at the end is the new one.
 */
static void cgroup_set_chain(struct perf_cpu_context *cpuctx, struct cgroup_chain new)
{
	struct perf_event_context *left = cpuctx->cgrp_ctx, *ctx;
	u64 change = ++cpuctx->cgrp_changes;
	struct perf_cpu_locks locks;

	perf_cpu_contexts_lock(&locks);
	for_each_cgrp_ctx_until(ctx, left, new.stays)
		cgroup_ctx_leave(ctx, ctx == left);
	/* A pinned group of a context that enters may stop flexible groups of those before it. */
	WRITE_ONCE(cpuctx->cgrp_ctx, new.head);
	for_each_cgrp_ctx_until(ctx, new.head, new.stays) {
		cgroup_ctx_enter(ctx, locks.now);
		__release(&ctx->lock);
	}

	for_each_cgrp_ctx_until(ctx, new.head, new.stays)
		cgroup_reload_entered(new, ctx, change);
	for_each_cgrp_ctx_until(ctx, left, new.stays)
		cgroup_reload(new, ctx, change);

	cgroup_unlock_left(left, new.stays);
	perf_cpu_contexts_unlock(&locks);
}

/**
 * perf_cgroup_sync - make the contexts of a task's cgroups the active ones on this CPU
 * @task: the task that runs here, or is about to
 *
 * Context: interrupts off; context switch, change of a task's cgroup, first event of a cgroup on
 *	the CPU
 */
void perf_cgroup_sync(struct task_struct *task)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_cgroup *cgrp;
	struct cgroup_chain new;

	lockdep_assert_irqs_disabled();
	if (unlikely(cpuctx->ctx.active_cpu < 0))
		return;		/* the CPU is being offlined */
	guard(rcu)();
	cgrp = perf_cgroup_of_task(task);
	if (cgrp == cpuctx->cgrp)
		return;
	cpuctx->cgrp = cgrp;

	cgroup_find_chain(&new, cgrp);
	if (new.head != cpuctx->cgrp_ctx)
		cgroup_set_chain(cpuctx, new);
}

/* Is there an inactive context outside of an active one? */
static bool cgroup_chain_has_gap(struct perf_cgroup *cgrp)
{
	struct cgroup_subsys_state *css;
	struct perf_event_context *ctx;
	bool active = false;

	for (css = &cgrp->css; css; css = css->parent) {
		ctx = cgroup_css_ctx(css);
		if (!ctx)
			continue;
		if (ctx->active_cpu >= 0)
			active = true;
		else if (active)
			return true;
	}
	return false;
}

/* To activate a context outside of active ones, those are deactivated first. */
static void cgroup_sync_current(void *unused)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct cgroup_chain nothing = {};

	guard(rcu)();
	if (cgroup_chain_has_gap(perf_cgroup_of_task(current)))
		cgroup_set_chain(cpuctx, nothing);
	cpuctx->cgrp = NULL;
	perf_cgroup_sync(current);
}

/**
 * perf_cgroup_resync - activate a cgroup's context after its first event was installed
 * @cpu: CPU of the context
 *
 * Context: process context
 */
void perf_cgroup_resync(int cpu)
{
	smp_call_function_single(cpu, cgroup_sync_current, NULL, 1);
}

/**
 * perf_cgroup_deactivate_empty - remove a cgroup's context without events from the chain
 * @ctx: context without events
 *
 * Context: the locks of all contexts of the CPU are held
 */
void perf_cgroup_deactivate_empty(struct perf_event_context *ctx)
{
	struct perf_cpu_context *cpuctx = per_cpu_ptr(&perf_cpu_context, ctx->cpu);
	struct perf_event_context **link = &cpuctx->cgrp_ctx;

	if (ctx->active_cpu < 0)
		return;
	perf_ctx_clock_stop(ctx);
	for (; *link; link = &(*link)->cgrp_next) {
		if (*link == ctx) {
			*link = ctx->cgrp_next;
			break;
		}
	}
	cpuctx->cgrp = NULL;
}

/* perf_cgroup::ctx of all cgroups: one context for a cgroup and a CPU. */
static DEFINE_MUTEX(cgroup_contexts_mutex);

/**
 * perf_cgroup_context - get the context of an event's cgroup on a CPU, allocate it if necessary
 * @event: event with a cgroup
 * @cpu: number of the CPU
 *
 * Context: may sleep
 * Return: a referenced context, or ERR_PTR(-ENOMEM)
 */
struct perf_event_context *perf_cgroup_context(struct perf_event *event, int cpu)
{
	static struct lock_class_key lock_key;
	struct perf_event_context **place = per_cpu_ptr(event->cgrp->ctx, cpu);

	guard(mutex)(&cgroup_contexts_mutex);
	if (!*place) {
		struct perf_event_context *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);

		if (!ctx)
			return ERR_PTR(-ENOMEM);
		perf_ctx_init(ctx, NULL, cpu);
		lockdep_set_class(&ctx->lock, &lock_key);
		ctx->cgrp = event->cgrp;
		/* [cgroup-context] The CPU reads it without a lock. */
		smp_store_release(place, ctx);
	}
	perf_ctx_get(*place);
	return *place;
}

static void cgroup_task_moved(void *info)
{
	struct task_struct *task = info;

	if (task == current)
		perf_cgroup_sync(task);
}

static void perf_cgroup_css_attach(struct cgroup_taskset *tset)
{
	struct cgroup_subsys_state *css;
	struct task_struct *task;

	if (!static_branch_unlikely(&perf_cgroup_key))
		return;
	cgroup_taskset_for_each(task, css, tset) {
		/* Only the task's CPU can decide whether the task is running. */
		smp_call_function_single(task_cpu(task), cgroup_task_moved, task, 1);
	}
}

/* Boot: tasks do not change their cgroup yet. */
void __init perf_cgroup_init(void)
{
	perf_event_cgrp_subsys.attach = perf_cgroup_css_attach;
}
