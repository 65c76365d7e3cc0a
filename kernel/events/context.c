// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: making, finding and letting go of them.
 *
 * A task gets its context with its first event and keeps it until it exits. A context is never
 * handed from one task to another: a switch between tasks with like events is cheap because their
 * schedules are (see schedule.c), so nothing has to be swapped and a task's event keeps its context
 * for life. A CPU's can be moved with its PMU (see migrate.c).
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "context.h"

DEFINE_PER_CPU(struct perf_cpu_context, perf_cpu_context);

static struct lock_class_key cpu_ctx_mutex_key, cpu_ctx_lock_key;

/**
 * perf_ctx_init - make a zeroed context usable
 * @ctx: it
 * @task: whose it is, NULL for a CPU's or a cgroup's
 * @cpu: of a CPU's or a cgroup's, else -1
 */
void perf_ctx_init(struct perf_event_context *ctx, struct task_struct *task, int cpu)
{
	raw_spin_lock_init(&ctx->lock);
	mutex_init(&ctx->mutex);
	if (!task) {
		lockdep_set_class(&ctx->mutex, &cpu_ctx_mutex_key);
		lockdep_set_class(&ctx->lock, &cpu_ctx_lock_key);
	}
	INIT_LIST_HEAD(&ctx->counter_list);
	INIT_LIST_HEAD(&ctx->switched);
	INIT_LIST_HEAD(&ctx->sb_list);
	INIT_LIST_HEAD(&ctx->freq_list);
	INIT_LIST_HEAD(&ctx->pmu_ctx_list);
	INIT_LIST_HEAD(&ctx->dropped);
	INIT_LIST_HEAD(&ctx->event_list);
	refcount_set(&ctx->refcount, 1);
	ctx->task = task;
	ctx->cpu = cpu;
	ctx->active_cpu = -1;
	ctx->last_cpu = -1;
}

/* More room for inherited events than there is behind the context. */
struct perf_light_block {
	struct perf_light_block	*next;
	u64			memory[];
};

/* kzalloc() would clear all of a slab's object, up to half of which we do not use. */
static void *zeroed(size_t size)
{
	void *memory = kmalloc(size, GFP_KERNEL);

	return memory ? memset(memory, 0, size) : NULL;
}

/* Memory of one piece is at most what slabs serve, so that an allocation does not fail. */
static unsigned int light_that_fit(unsigned int nr, size_t head)
{
	return min_t(unsigned int, nr, (KMALLOC_MAX_CACHE_SIZE - head) / PERF_LIGHT_SIZE);
}

/**
 * perf_ctx_alloc - a task's context
 * @task: the task
 * @nr_light: for how many inherited events it shall have memory
 *
 * Context: may sleep
 * Return: the context, with one reference, or NULL
 */
struct perf_event_context *perf_ctx_alloc(struct task_struct *task, unsigned int nr_light)
{
	unsigned int room = light_that_fit(nr_light, sizeof(struct perf_event_context));
	struct perf_event_context *ctx;

	BUILD_BUG_ON(PERF_LIGHT_SIZE % sizeof(u64) || sizeof(*ctx) % sizeof(u64));

	ctx = zeroed(sizeof(*ctx) + room * PERF_LIGHT_SIZE);
	if (!ctx)
		return NULL;
	perf_ctx_init(ctx, task, -1);
	ctx->nr_light = nr_light;
	ctx->light_room = room;
	ctx->light = ctx + 1;
	return ctx;
}

static bool add_light_block(struct perf_event_context *ctx)
{
	unsigned int room = light_that_fit(ctx->nr_light, sizeof(struct perf_light_block));
	struct perf_light_block *block;

	block = zeroed(sizeof(*block) + room * PERF_LIGHT_SIZE);
	if (!block)
		return false;
	block->next = ctx->blocks;
	ctx->blocks = block;
	ctx->light_room = room;
	ctx->light = block->memory;
	return true;
}

/**
 * perf_ctx_light_event - memory for an inherited event
 * @ctx: a context that nobody sees yet
 *
 * Context: may sleep
 * Return: zeroed memory of PERF_LIGHT_SIZE bytes that goes with the context, which is referenced;
 *	NULL if there is none, or if the context was not made for so many
 */
struct perf_event *perf_ctx_light_event(struct perf_event_context *ctx)
{
	struct perf_event *event = ctx->light;

	if (!ctx->nr_light)
		return NULL;
	if (!ctx->light_room) {
		if (!add_light_block(ctx))
			return NULL;
		event = ctx->light;
	}
	refcount_inc(&ctx->refcount);
	ctx->nr_light--;
	ctx->light_room--;
	ctx->light += PERF_LIGHT_SIZE;
	return event;
}

/* The memory of one, unless that is the context's own. */
static void epc_release(struct perf_event_context *ctx, struct perf_event_pmu_context *epc)
{
	kfree(epc->sched);
	if (epc != &ctx->first_epc)
		kfree(epc);
}

static void ctx_free(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc, *next_epc;
	struct perf_light_block *block, *next;

	list_splice(&ctx->dropped, &ctx->pmu_ctx_list);
	list_for_each_entry_safe(epc, next_epc, &ctx->pmu_ctx_list, entry)
		epc_release(ctx, epc);
	for (block = ctx->blocks; block; block = next) {
		next = block->next;
		kfree(block);
	}
	kfree(ctx);
}

static void ctx_free_rcu(struct rcu_head *head)
{
	ctx_free(container_of(head, struct perf_event_context, rcu_head));
}

atomic_t perf_nr_tracepoints;

/* Can somebody be looking at it who has no reference? */
static bool has_onlookers(const struct perf_event_context *ctx)
{
	if (ctx->shared)
		return true;
	/* Its task has let go of it; an event that is opened after this finds none. */
	smp_mb();
	return atomic_read(&perf_nr_tracepoints);
}

/*
 * Drops a reference. Any context. The last one frees it, after a grace period if others may be
 * looking at it. If nobody but its task and what it inherited ever had a reference, nobody is: the
 * hooks that go by the running task have no other task's but tracepoints', and whoever came by a
 * parent's list of children has left the child_mutex that the child's exit has held since.
 *
 * A fork that failed waits until nobody has a reference but itself: its task goes in spite of them.
 */
void perf_ctx_put(struct perf_event_context *ctx)
{
	guard(rcu)();
	if (!refcount_dec_and_test(&ctx->refcount)) {
		/* Pairs with the wait in perf_event_free_task(): [awaited]. */
		smp_mb__after_atomic();
		if (unlikely(READ_ONCE(ctx->awaited)))
			wake_up_var(&ctx->refcount);
		return;
	}
	if (has_onlookers(ctx))
		call_rcu(&ctx->rcu_head, ctx_free_rcu);
	else
		ctx_free(ctx);
}

/**
 * perf_ctx_of_task - a reference to a task's context, made if need be
 * @task: the task
 *
 * Context: may sleep
 * Return: the context, -ESRCH if the task is exiting, -ENOMEM
 */
struct perf_event_context *perf_ctx_of_task(struct task_struct *task)
{
	struct perf_event_context *ctx, *spare __free(kfree) = NULL;

	if (!task->perf_event_ctxp) {
		spare = perf_ctx_alloc(task, 0);
		if (!spare)
			return ERR_PTR(-ENOMEM);
	}

	guard(mutex)(&task->perf_event_mutex);

	ctx = task->perf_event_ctxp;
	if (!ctx) {
		if (task->flags & PF_EXITING)
			return ERR_PTR(perf_refuse(-ESRCH, "pid: the task is exiting"));
		if (!spare)
			return ERR_PTR(-ENOMEM);
		ctx = no_free_ptr(spare);
		rcu_assign_pointer(task->perf_event_ctxp, ctx);
	}
	perf_ctx_get(ctx);
	return ctx;
}

void perf_epc_free(struct perf_event_context *ctx, struct perf_event_pmu_context *epc)
{
	epc_release(ctx, epc);
	/* Another PMU's may get the memory. */
	if (epc == &ctx->first_epc)
		memset(epc, 0, sizeof(*epc));
}

/* What was dropped under ctx->lock, within which PREEMPT_RT may not free. ctx->mutex. */
void perf_epc_free_dropped(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc, *next;
	LIST_HEAD(dropped);

	if (list_empty(&ctx->dropped))
		return;
	scoped_guard(raw_spinlock_irqsave, &ctx->lock)
		list_splice_init(&ctx->dropped, &dropped);
	list_for_each_entry_safe(epc, next, &dropped, entry)
		perf_epc_free(ctx, epc);
}

/* The PMU context of @pmu in @ctx, or NULL. ctx->lock or ctx->mutex. */
struct perf_event_pmu_context *perf_epc_find(struct perf_event_context *ctx, struct pmu *pmu)
{
	struct perf_event_pmu_context *epc;

	if (ctx->cpu >= 0 && !ctx->cgrp)
		return &per_cpu_ptr(pmu->cpu_pmu_context, ctx->cpu)->epc;
	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (epc->pmu == pmu)
			return epc;
	}
	return NULL;
}

/**
 * perf_epc_alloc - a PMU context that is not in its context's list yet
 * @ctx: its context; one allocation at a time
 * @pmu: the PMU; if it schedules, there is room for a schedule
 *
 * Context: may sleep
 * Return: the PMU context or NULL
 */
struct perf_event_pmu_context *perf_epc_alloc(struct perf_event_context *ctx, struct pmu *pmu)
{
	struct perf_event_pmu_context *epc = &ctx->first_epc;

	if (epc->pmu)
		epc = kzalloc(sizeof(*epc), GFP_KERNEL);
	if (!epc)
		return NULL;
	epc->pmu = pmu;
	epc->seq = 1;
	epc->sched_cpu = -1;
	INIT_LIST_HEAD(&epc->flexible);
	INIT_LIST_HEAD(&epc->pinned);
	INIT_LIST_HEAD(&epc->entry);
	INIT_LIST_HEAD(&epc->counter_entry);
	if (perf_pmu_has_counters(pmu)) {
		epc->sched = kmalloc(sizeof(*epc->sched), GFP_KERNEL);
		if (!epc->sched) {
			perf_epc_free(ctx, epc);
			return NULL;
		}
		epc->sched->nr = 0;
		epc->sched->user = false;
		epc->sched->task_mask = 0;
	}
	return epc;
}

/* ctx->lock. PMU contexts stay until their context goes. */
void perf_epc_attach(struct perf_event_context *ctx, struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&ctx->lock);

	epc->ctx = ctx;
	list_add_tail(&epc->entry, &ctx->pmu_ctx_list);
}
