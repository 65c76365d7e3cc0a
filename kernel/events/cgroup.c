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

/* Counter PMUs that a change of the chain concerns. */
struct concerned {
	struct pmu	*pmu[8];
	unsigned int	nr;
};

static void concern(struct concerned *c, struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;
	unsigned int i;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		for (i = 0; i < c->nr && c->pmu[i] != epc->pmu; i++)
			;
		if (i == c->nr && !WARN_ON_ONCE(i == ARRAY_SIZE(c->pmu)))
			c->pmu[c->nr++] = epc->pmu;
	}
}

static struct perf_event_context *css_ctx(struct cgroup_subsys_state *css)
{
	struct perf_cgroup *cgrp = container_of(css, struct perf_cgroup, css);
	/* [cgroup-context] */
	struct perf_event_context *ctx = READ_ONCE(*this_cpu_ptr(cgrp->ctx));

	return ctx && ctx->nr_events ? ctx : NULL;
}

/* Marks the contexts that are to be active; the number of those that are not yet. */
static unsigned int mark_chain(struct perf_cgroup *cgrp, u64 mark)
{
	struct cgroup_subsys_state *css;
	struct perf_event_context *ctx;
	unsigned int coming = 0;

	for (css = &cgrp->css; css; css = css->parent) {
		ctx = css_ctx(css);
		if (ctx) {
			ctx->sched_mark = mark;
			coming += ctx->active_cpu < 0;
		}
	}
	return coming;
}

static bool chain_is(u64 mark)
{
	struct perf_event_context *ctx;

	for (ctx = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx; ctx; ctx = ctx->cgrp_next) {
		if (ctx->sched_mark != mark)
			return false;
	}
	return true;
}

/*
 * A leaving context's groups are off the counters; what they counted comes with the reload. They
 * stay ACTIVE for when it comes back, unless the task's events had their say in what ran. With the
 * schedule of another cgroup, inside or outside of it, other ones may have to run: the one that
 * they are in is noted.
 */
static void drop_side_groups(struct perf_event_context *ctx)
{
	bool innermost = ctx == this_cpu_ptr(&perf_cpu_context)->cgrp_ctx;
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

/*
 * Deactivates the contexts without @mark. All that are on the CPU are locked; returns those that were.
 * They are the inner part of the chain: what stays belongs to ancestors of both cgroups.
 */
static struct perf_event_context *leave_unmarked(struct concerned *c, u64 mark)
{
	struct perf_event_context *head = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx;
	struct perf_event_context *ctx, *last = NULL;

	for (ctx = head; ctx && ctx->sched_mark != mark; ctx = ctx->cgrp_next) {
		concern(c, ctx);
		drop_side_groups(ctx);
		if (!list_empty(&ctx->switched))
			perf_switched_out(ctx);
		perf_ctx_clock_stop(ctx);
		last = ctx;
	}
	if (!last)
		return NULL;
	last->cgrp_next = NULL;
	return head;
}

/* Their counts have come with the loads, and nobody has read them before. Pages name no counter now. */
static void unlock_left(struct perf_event_context *left)
{
	struct perf_event_context *ctx, *next;
	struct perf_event *event;

	for (ctx = left; ctx; ctx = next) {
		next = ctx->cgrp_next;
		if (unlikely(ctx->nr_mapped)) {
			list_for_each_entry(event, &ctx->event_list, event_entry)
				perf_event_update_userpage(event);
		}
		raw_spin_unlock(&ctx->lock);
	}
}

/* What was throttled when it left may have missed its tick, and may miss the next. */
static void unthrottle_entered(u64 mark)
{
	struct perf_event_context *ctx;

	for (ctx = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx; ctx; ctx = ctx->cgrp_next) {
		if (ctx->sched_mark == mark + 1 && unlikely(ctx->throttled))
			perf_unthrottle_in(ctx);
	}
}

/* Locks a context, as the last of @depth, and activates it. It is marked once more. */
static void enter(struct perf_event_context *ctx, u64 mark, u64 now, unsigned int depth)
{
	raw_spin_lock_nested(&ctx->lock, perf_lock_depth(depth));
	ctx->sched_mark = mark + 1;
	perf_ctx_clock_start(ctx, now);
	if (!list_empty(&ctx->switched))
		perf_switched_in(ctx);
}

/* Makes a chain of the contexts of @cgrp and its ancestors. */
static void link_chain(struct concerned *c, struct perf_cgroup *cgrp, u64 mark, u64 now,
		       unsigned int depth)
{
	struct perf_event_context **link = &this_cpu_ptr(&perf_cpu_context)->cgrp_ctx;
	struct cgroup_subsys_state *css;
	struct perf_event_context *ctx;

	for (css = &cgrp->css; css; css = css->parent) {
		ctx = css_ctx(css);
		if (!ctx)
			continue;
		if (ctx->active_cpu < 0) {
			concern(c, ctx);
			enter(ctx, mark, now, depth++);
		}
		*link = ctx;
		link = &ctx->cgrp_next;
	}
	*link = NULL;
}

static void stop_active(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader, *next;

	list_for_each_entry(leader, &epc->pinned, pinned_entry)
		perf_group_stop(leader);
	list_for_each_entry_safe(leader, next, &epc->flexible, group_entry)
		perf_group_stop(leader);
}

/* Are the ACTIVE groups of those that come those of the schedule that is there? */
static bool entered_match(struct perf_event_pmu_context *base, u64 mark)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for (ctx = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx; ctx; ctx = ctx->cgrp_next) {
		if (ctx->sched_mark != mark + 1)
			continue;
		epc = ctx == base->ctx ? base : perf_epc_find(ctx, base->pmu);
		if (epc && epc->sched_base != base)
			return false;
	}
	return true;
}

/* What ran when a context left may not be what a new schedule lets run. */
static void stop_entered(struct pmu *pmu, u64 mark)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for (ctx = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx; ctx; ctx = ctx->cgrp_next) {
		epc = ctx->sched_mark == mark + 1 ? perf_epc_find(ctx, pmu) : NULL;
		if (epc)
			stop_active(epc);
	}
}

/* What stays or leaves is locked throughout, what comes from then on. */
static void change_chain(struct perf_cgroup *cgrp, u64 mark)
{
	struct concerned c __uninitialized;
	struct perf_event_context *left;
	u64 now = perf_clock();
	unsigned int depth;

	c.nr = 0;
	depth = perf_cpu_side_lock(now);
	left = leave_unmarked(&c, mark);
	link_chain(&c, cgrp, mark, now, depth);
	for (unsigned int i = 0; i < c.nr; i++) {
		struct perf_event_pmu_context *base = perf_sched_base(c.pmu[i]);

		if (entered_match(base, mark) && perf_sched_load_again(base))
			continue;
		stop_entered(c.pmu[i], mark);
		perf_sched_reload(c.pmu[i]);
	}
	unthrottle_entered(mark);
	unlock_left(left);
	perf_cpu_side_unlock();
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
	struct perf_event_context *task_ctx = cpuctx->task_ctx;
	struct perf_cgroup *cgrp;
	u64 mark;

	if (unlikely(cpuctx->ctx.active_cpu < 0))
		return;		/* the CPU is going; when it is back this is done again */
	guard(rcu)();
	cgrp = perf_cgroup_of_task(task);
	if (cgrp == cpuctx->cgrp)
		return;
	cpuctx->cgrp = cgrp;

	mark = perf_sched_next_mark();
	if (!mark_chain(cgrp, mark) && chain_is(mark))
		return;

	if (task_ctx)
		raw_spin_lock(&task_ctx->lock);
	change_chain(cgrp, mark);
	if (task_ctx)
		raw_spin_unlock(&task_ctx->lock);
}

static void sync_current(void *unused)
{
	this_cpu_ptr(&perf_cpu_context)->cgrp = NULL;
	perf_cgroup_sync(current);
}

/* The contexts of @cpu's cgroups changed: look again. Process context. */
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
		if (task_curr(task))
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
