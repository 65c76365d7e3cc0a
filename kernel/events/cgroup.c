// SPDX-License-Identifier: GPL-2.0
/*
 * Cgroup contexts on a CPU: which of them are active follows from the cgroup of the running task.
 *
 * The contexts of the task's cgroup and its ancestors, as far as they have events on this CPU,
 * form a chain at perf_cpu_context::cgrp_ctx. A switch to a task of another cgroup exchanges what
 * differs between two chains; how many other cgroups have events plays no part.
 *
 * Locks: interrupts off on the CPU; the task's context and the CPU side are locked while the chain
 * changes.
 */
#include <linux/cgroup.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "engine.h"
#include "output.h"

DEFINE_STATIC_KEY_FALSE(perf_cgroup_key);

/**
 * struct chain - what the chain is to become
 * @head: its innermost context; NULL if it is to be empty
 * @stays: the innermost one that is active already; NULL if there is none
 *
 * Contexts from @head to @stays, without it, come. Of the chain that is there, those inside of
 * @stays leave. From @stays on both are the same: it belongs to an ancestor of both cgroups.
 */
struct chain {
	struct perf_event_context	*head;
	struct perf_event_context	*stays;
};

/* Contexts from @from outwards up to @end, which is not one of them. */
#define for_each_ctx_inside(ctx, from, end)	for (ctx = from; ctx != end; ctx = ctx->cgrp_next)

static __always_inline struct perf_event_context *css_ctx(struct cgroup_subsys_state *css)
{
	struct perf_cgroup *cgrp = container_of(css, struct perf_cgroup, css);
	/* [cgroup-context] */
	struct perf_event_context *ctx = READ_ONCE(*this_cpu_ptr(cgrp->ctx));

	return ctx && ctx->nr_events ? ctx : NULL;
}

/*
 * Finds the contexts of @cgrp and its ancestors, and links those that come; nobody sees them yet.
 * Outside of one that is active all are: perf_cgroup_kick() sees to that.
 */
static __always_inline void find_chain(struct chain *new, struct perf_cgroup *cgrp)
{
	struct perf_event_context **link = &new->head, *ctx;
	struct cgroup_subsys_state *css;

	new->stays = NULL;
	for (css = &cgrp->css; css; css = css->parent) {
		ctx = css_ctx(css);
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
 * A leaving context's groups are off the counters; what they counted comes with the reload. They
 * stay ACTIVE for when it comes back, unless the task's events had their say in what ran. With the
 * schedule of another cgroup, inside or outside of it, other ones may have to run: the one that
 * they are in is noted.
 */
static void drop_side_groups(struct perf_event_context *ctx, bool innermost)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);
		unsigned int kept = 0;

		for (unsigned int i = 0; i < cpc->nr_side_running; i++) {
			if (cpc->side[i]->ctx != ctx)
				cpc->side[kept++] = cpc->side[i];
			else if (cpc->displaced)
				perf_group_stop(cpc->side[i]);
		}
		cpc->nr_side_running = kept;
		epc->sched_base = innermost ? epc : perf_sched_base(epc->pmu);
	}
}

/* All that are on the CPU are locked; those that leave stay locked until unlock_left(). */
static void leave(struct perf_event_context *ctx, bool innermost)
{
	drop_side_groups(ctx, innermost);
	if (!list_empty(&ctx->switched))
		perf_switched_out(ctx);
	perf_ctx_clock_stop(ctx);
}

/* Locks a context, as the last of @depth, and activates it. */
static void enter(struct perf_event_context *ctx, u64 now, unsigned int depth)
{
	raw_spin_lock_nested(&ctx->lock, perf_lock_depth(depth));
	perf_ctx_clock_start(ctx, now);
	if (unlikely(ctx->plain_waits))
		perf_plain_retry(ctx);
	if (!list_empty(&ctx->switched))
		perf_switched_in(ctx);
}

static void stop_active(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader, *next;

	list_for_each_entry(leader, &epc->pinned, pinned_entry)
		perf_group_stop(leader);
	list_for_each_entry_safe(leader, next, &epc->flexible, group_entry)
		perf_group_stop(leader);
}

/* Are the ACTIVE groups of those that came those of the schedule that is there? */
static bool entered_match(struct chain new, struct perf_event_pmu_context *base)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for_each_ctx_inside(ctx, new.head, new.stays) {
		epc = ctx == base->ctx ? base : perf_epc_find(ctx, base->pmu);
		if (epc && epc->sched_base != base)
			return false;
	}
	return true;
}

/* What ran when a context left may not be what a new schedule lets run. */
static noinline void reschedule(struct chain new, struct pmu *pmu)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for_each_ctx_inside(ctx, new.head, new.stays) {
		epc = perf_epc_find(ctx, pmu);
		if (epc)
			stop_active(epc);
	}
	perf_sched_reload(pmu);
}

/* Loads what is to run on the PMUs of a context that came or left, each PMU once in a change. */
static __always_inline void reload(struct chain new, struct perf_event_context *ctx, u64 change)
{
	struct perf_event_pmu_context *epc, *base;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);

		if (cpc->cgrp_change == change)
			continue;
		cpc->cgrp_change = change;
		base = ctx == new.head ? epc : perf_sched_base(epc->pmu);
		if (!entered_match(new, base) || !perf_sched_load_again(cpc, base))
			reschedule(new, epc->pmu);
	}
}

/* Their counts have come with the loads, and nobody has read them before. Pages name no counter now. */
static void unlock_left(struct perf_event_context *left, struct perf_event_context *stays)
{
	struct perf_event_context *ctx, *next;
	struct perf_event *event;

	for (ctx = left; ctx != stays; ctx = next) {
		next = ctx->cgrp_next;
		if (unlikely(ctx->nr_mapped)) {
			list_for_each_entry(event, &ctx->event_list, event_entry)
				perf_event_update_userpage(event);
		}
		raw_spin_unlock(&ctx->lock);
	}
}

/* What stays or leaves is locked throughout, what comes from then on. The task's is locked. */
static void change_chain(struct perf_cpu_context *cpuctx, struct chain new)
{
	struct perf_event_context *left = cpuctx->cgrp_ctx, *ctx;
	u64 change = ++cpuctx->cgrp_changes;
	u64 now = perf_clock();
	unsigned int depth;

	depth = perf_cpu_side_lock(now);
	for_each_ctx_inside(ctx, left, new.stays)
		leave(ctx, ctx == left);
	for_each_ctx_inside(ctx, new.head, new.stays)
		enter(ctx, now, depth++);
	WRITE_ONCE(cpuctx->cgrp_ctx, new.head);

	for_each_ctx_inside(ctx, new.head, new.stays)
		reload(new, ctx, change);
	for_each_ctx_inside(ctx, left, new.stays)
		reload(new, ctx, change);

	/* What was throttled when it left may have missed its tick, and may miss the next. */
	for_each_ctx_inside(ctx, new.head, new.stays) {
		if (unlikely(ctx->throttled))
			perf_unthrottle_in(ctx);
	}
	unlock_left(left, new.stays);
	perf_cpu_side_unlock();
}

static void set_chain(struct perf_cpu_context *cpuctx, struct chain new)
{
	struct perf_event_context *task_ctx = cpuctx->task_ctx;

	if (task_ctx)
		raw_spin_lock(&task_ctx->lock);
	change_chain(cpuctx, new);
	if (task_ctx)
		raw_spin_unlock(&task_ctx->lock);
}

/**
 * perf_cgroup_sync - make the contexts of a task's cgroups the active ones on this CPU
 * @task: the task that runs here, or is about to
 *
 * Context: interrupts off; from the context switch, when a task moves to another cgroup, and when
 * a cgroup gets its first event here
 */
void perf_cgroup_sync(struct task_struct *task)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_cgroup *cgrp;
	struct chain new;

	lockdep_assert_irqs_disabled();
	if (unlikely(cpuctx->ctx.active_cpu < 0))
		return;		/* the CPU is going; when it is back this is done again */
	guard(rcu)();
	cgrp = perf_cgroup_of_task(task);
	if (cgrp == cpuctx->cgrp)
		return;
	cpuctx->cgrp = cgrp;

	find_chain(&new, cgrp);
	if (new.head != cpuctx->cgrp_ctx)
		set_chain(cpuctx, new);
}

/* Does a context that is not active lie outside of one that is? */
static bool chain_has_gap(struct perf_cgroup *cgrp)
{
	struct cgroup_subsys_state *css;
	struct perf_event_context *ctx;
	bool active = false;

	for (css = &cgrp->css; css; css = css->parent) {
		ctx = css_ctx(css);
		if (!ctx)
			continue;
		if (ctx->active_cpu >= 0)
			active = true;
		else if (active)
			return true;
	}
	return false;
}

/* A context that comes outside of others comes together with them: they leave before that. */
static void sync_current(void *unused)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct chain nothing = {};

	guard(rcu)();
	if (chain_has_gap(perf_cgroup_of_task(current)))
		set_chain(cpuctx, nothing);
	cpuctx->cgrp = NULL;
	perf_cgroup_sync(current);
}

/* A cgroup got its first event on @cpu: look again. Process context. */
void perf_cgroup_kick(int cpu)
{
	smp_call_function_single(cpu, sync_current, NULL, 1);
}

/* An event of a cgroup's context was its last: out of the chain. The CPU side is locked. */
void perf_cgroup_retire(struct perf_event_context *ctx)
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

/**
 * perf_cgroup_context - the context of an event's cgroup on a CPU, made if need be
 * @event: has a cgroup
 * @cpu: the CPU
 *
 * Context: may sleep
 * Return: a referenced context, or -ENOMEM
 */
struct perf_event_context *perf_cgroup_context(struct perf_event *event, int cpu)
{
	static DEFINE_MUTEX(lock);
	struct perf_event_context **slot = per_cpu_ptr(event->cgrp->ctx, cpu);

	guard(mutex)(&lock);
	if (!*slot) {
		struct perf_event_context *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);

		if (!ctx)
			return ERR_PTR(-ENOMEM);
		perf_ctx_init(ctx, NULL, cpu);
		ctx->cgrp = event->cgrp;
		/* [cgroup-context] Its CPU takes it without a lock. */
		smp_store_release(slot, ctx);
	}
	perf_ctx_get(*slot);
	return *slot;
}

static struct cgroup_subsys_state *
perf_cgroup_css_alloc(struct cgroup_subsys_state *parent_css)
{
	struct perf_cgroup *cgrp = kzalloc(sizeof(*cgrp), GFP_KERNEL);

	if (!cgrp)
		return ERR_PTR(-ENOMEM);
	cgrp->ctx = alloc_percpu(struct perf_event_context *);
	if (!cgrp->ctx) {
		kfree(cgrp);
		return ERR_PTR(-ENOMEM);
	}
	return &cgrp->css;
}

/* No event refers to the cgroup any more, so none of its contexts is in a chain. */
static void perf_cgroup_css_free(struct cgroup_subsys_state *css)
{
	struct perf_cgroup *cgrp = container_of(css, struct perf_cgroup, css);
	int cpu;

	for_each_possible_cpu(cpu) {
		struct perf_event_context *ctx = *per_cpu_ptr(cgrp->ctx, cpu);

		if (ctx)
			perf_ctx_put(ctx);
	}
	free_percpu(cgrp->ctx);
	kfree(cgrp);
}

static int perf_cgroup_css_online(struct cgroup_subsys_state *css)
{
	perf_sideband_cgroup(css->cgroup);
	return 0;
}

static void task_moved(void *info)
{
	struct task_struct *task = info;

	if (task == current)
		perf_cgroup_sync(task);
}

static void perf_cgroup_attach(struct cgroup_taskset *tset)
{
	struct cgroup_subsys_state *css;
	struct task_struct *task;

	if (!static_branch_unlikely(&perf_cgroup_key))
		return;
	cgroup_taskset_for_each(task, css, tset) {
		/* Whether it is running just now only its CPU can say. */
		smp_call_function_single(task_cpu(task), task_moved, task, 1);
	}
}

struct cgroup_subsys perf_event_cgrp_subsys = {
	.css_alloc		= perf_cgroup_css_alloc,
	.css_free		= perf_cgroup_css_free,
	.css_online		= perf_cgroup_css_online,
	.attach			= perf_cgroup_attach,
	/* On the default hierarchy it is there without being asked for, and costs nothing. */
	.implicit_on_dfl	= true,
	.threaded		= true,
};
