// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: allocation, lookup and references.
 *
 * A task gets its context with its first event and keeps it until it exits, or execs a program that
 * its tracers must not see. Contexts are not swapped between tasks: a switch between tasks with
 * similar events is cheap because each task's schedule is compiled (see schedule.c), so a task's
 * event keeps its context. An event of a CPU changes its context when its PMU's events are moved to
 * another CPU (see migrate.c).
 *
 * Locks: task->perf_event_mutex, ctx->mutex, ctx->lock; see core.h.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "core.h"

DEFINE_PER_CPU(struct perf_cpu_context, perf_cpu_context);

static struct lock_class_key cpu_ctx_mutex_key, cpu_ctx_lock_key;

/**
 * perf_ctx_init - initialise a zeroed context
 * @ctx: context to initialise
 * @task: task of the context, NULL for a CPU's or a cgroup's
 * @cpu: CPU of the context, -1 for a task's
 *
 * Context: any
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
	INIT_LIST_HEAD(&ctx->switch_list);
	INIT_LIST_HEAD(&ctx->sb_list);
	INIT_LIST_HEAD(&ctx->freq_list);
	INIT_LIST_HEAD(&ctx->pmu_ctx_list);
	INIT_LIST_HEAD(&ctx->dropped);
	INIT_LIST_HEAD(&ctx->event_list);
	refcount_set(&ctx->refcount, 1);
	ctx->task = task;
	ctx->cpu = cpu;
	ctx->active_cpu = -1;
	ctx->frozen = true;
	ctx->last_cpu = -1;
}

/**
 * struct perf_embedded_block - memory for embedded events that do not fit behind the context
 * @next: next block of the context
 * @memory: the events, PERF_EMBEDDED_SIZE bytes each
 */
struct perf_embedded_block {
	struct perf_embedded_block	*next;
	u64				memory[] __aligned(sizeof(u64));
};

/* kzalloc() would clear the whole slab object, up to half of which is not used. */
static void *ctx_zalloc(size_t size)
{
	void *memory = kmalloc(size, GFP_KERNEL);

	return memory ? memset(memory, 0, size) : NULL;
}

/* An allocation is at most the largest object of a slab: larger ones may fail. */
static unsigned int ctx_embedded_fit(unsigned int nr, size_t head)
{
	return min_t(unsigned int, nr, (KMALLOC_MAX_CACHE_SIZE - head) / PERF_EMBEDDED_SIZE);
}

/**
 * perf_ctx_alloc - allocate a task's context
 * @task: the task
 * @nr_embedded: number of inherited events to embed in the allocation
 *
 * Context: may sleep
 * Return: the context, with one reference, or NULL
 */
struct perf_event_context *perf_ctx_alloc(struct task_struct *task, unsigned int nr_embedded)
{
	unsigned int room = ctx_embedded_fit(nr_embedded, sizeof(struct perf_event_context));
	struct perf_event_context *ctx;

	BUILD_BUG_ON(PERF_EMBEDDED_SIZE % __alignof__(struct perf_event));
	BUILD_BUG_ON(sizeof(*ctx) % __alignof__(struct perf_event));

	ctx = ctx_zalloc(sizeof(*ctx) + room * PERF_EMBEDDED_SIZE);
	if (!ctx)
		return NULL;
	perf_ctx_init(ctx, task, -1);
	ctx->nr_embedded = nr_embedded;
	ctx->embedded_room = room;
	ctx->embedded_next = ctx + 1;
	return ctx;
}

static bool ctx_embedded_add_block(struct perf_event_context *ctx)
{
	unsigned int room = ctx_embedded_fit(ctx->nr_embedded, sizeof(struct perf_embedded_block));
	struct perf_embedded_block *block;

	block = ctx_zalloc(sizeof(*block) + room * PERF_EMBEDDED_SIZE);
	if (!block)
		return false;
	block->next = ctx->blocks;
	ctx->blocks = block;
	ctx->embedded_room = room;
	ctx->embedded_next = block->memory;
	return true;
}

/**
 * perf_ctx_embed_event - take memory for an inherited event from its context
 * @ctx: context that is not published yet
 *
 * The memory is freed with the context. The event holds a reference on the context.
 *
 * Context: may sleep
 * Return: PERF_EMBEDDED_SIZE zeroed bytes; NULL if there is no memory, or if more events are
 *	embedded than perf_ctx_alloc() was called for
 */
struct perf_event *perf_ctx_embed_event(struct perf_event_context *ctx)
{
	struct perf_event *event = ctx->embedded_next;

	if (!ctx->nr_embedded)
		return NULL;
	if (!ctx->embedded_room) {
		if (!ctx_embedded_add_block(ctx))
			return NULL;
		event = ctx->embedded_next;
	}
	refcount_inc(&ctx->refcount);
	ctx->nr_embedded--;
	ctx->embedded_room--;
	ctx->embedded_next += PERF_EMBEDDED_SIZE;
	return event;
}

/* Frees the memory of a PMU context, unless it is part of @ctx. */
static void epc_release(struct perf_event_context *ctx, struct perf_event_pmu_context *epc)
{
	kfree(epc->sched);
	if (unlikely(epc->task_data))
		kfree(epc->task_data);
	if (epc != &ctx->first_epc)
		kfree(epc);
}

static void ctx_free(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc, *next_epc;
	struct perf_embedded_block *block, *next;

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

/* May the context be read under RCU without a reference? */
static bool ctx_has_rcu_readers(const struct perf_event_context *ctx)
{
	if (ctx->shared)
		return true;
	/* The task has no pointer to it any more: tracepoint events opened later cannot find it. */
	smp_mb();
	return atomic_read(&perf_nr_tracepoints);
}

/**
 * perf_ctx_get - get another reference to a context
 * @ctx: the context
 *
 * Context: any
 */
void perf_ctx_get(struct perf_event_context *ctx)
{
	WRITE_ONCE(ctx->shared, true);
	refcount_inc(&ctx->refcount);
}

/**
 * perf_ctx_put - drop a reference to a context
 * @ctx: the context
 *
 * The last reference frees the context, after a grace period if it may still be read under RCU.
 * That is not possible if only the task and its embedded events have had references: hooks use the
 * running task's context, except those of tracepoints, and users of a parent's list of children
 * have left the child_mutex, which the child's exit has held since.
 *
 * A fork that fails waits until its reference is the last one, because its task is freed then.
 *
 * Context: any
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
	if (ctx_has_rcu_readers(ctx))
		call_rcu(&ctx->rcu_head, ctx_free_rcu);
	else
		ctx_free(ctx);
}

/**
 * perf_ctx_read_time - perf_ctx_time(), not inline
 * @ctx: as for perf_ctx_time()
 *
 * Context: as for perf_ctx_time()
 * Return: as for perf_ctx_time()
 */
u64 perf_ctx_read_time(const struct perf_event_context *ctx)
{
	return perf_ctx_time(ctx);
}

/**
 * perf_ctx_of_task - get a reference to a task's context, allocating it if there is none
 * @task: the task
 *
 * Context: may sleep; takes task->perf_event_mutex but for a context of current
 * Return: the context, or an ERR_PTR: -ESRCH if the task is exiting, -ENOMEM
 */
struct perf_event_context *perf_ctx_of_task(struct task_struct *task)
{
	struct perf_event_context *ctx, *spare __free(kfree) = NULL;

	/* Another task's context may be dropped at any time, by its exit. */
	if (task == current && task->perf_event_ctxp) {
		perf_ctx_get(task->perf_event_ctxp);
		return task->perf_event_ctxp;
	}
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

/**
 * perf_epc_free - free a PMU context that is in no list
 * @ctx: its context
 * @epc: the PMU context
 *
 * Context: may sleep; not under ctx->lock, within which PREEMPT_RT cannot free memory
 */
noinline void perf_epc_free(struct perf_event_context *ctx, struct perf_event_pmu_context *epc)
{
	epc_release(ctx, epc);
	/* The memory can be used for another PMU. */
	if (epc == &ctx->first_epc)
		memset(epc, 0, sizeof(*epc));
}

/**
 * perf_epc_free_dropped - free the PMU contexts in ctx->dropped
 * @ctx: the context; ctx->mutex is held
 *
 * Context: may sleep; takes ctx->lock
 */
void perf_epc_free_dropped(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc, *next;
	LIST_HEAD(dropped);

	lockdep_assert_held(&ctx->mutex);
	if (list_empty(&ctx->dropped))
		return;
	scoped_guard(perf_irqsave, &ctx->lock)
		list_splice_init(&ctx->dropped, &dropped);
	list_for_each_entry_safe(epc, next, &dropped, entry)
		perf_epc_free(ctx, epc);
}

/**
 * perf_epc_find - find the part of a context that belongs to one PMU
 * @ctx: the context; ctx->lock or ctx->mutex is held, or the context is active on this CPU
 * @pmu: the PMU
 *
 * Context: any; interrupts off without one of these locks
 * Return: the PMU context, NULL if there is none
 */
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
 * perf_epc_init - initialise a PMU context
 * @epc: zeroed PMU context
 * @pmu: its PMU
 *
 * Context: any
 */
void perf_epc_init(struct perf_event_pmu_context *epc, struct pmu *pmu)
{
	epc->pmu = pmu;
	epc->seq = 1;
	epc->sched_cpu = -1;
	INIT_LIST_HEAD(&epc->flexible);
	INIT_LIST_HEAD(&epc->pinned);
	INIT_LIST_HEAD(&epc->entry);
	INIT_LIST_HEAD(&epc->counter_entry);
}

/**
 * perf_epc_alloc - allocate a PMU context, to be added by perf_epc_attach()
 * @ctx: its context; ctx->mutex is held, or the context is not published yet
 * @pmu: the PMU; if it has counters, memory for a schedule is allocated, too
 *
 * Context: may sleep
 * Return: the PMU context, NULL if there is no memory
 */
struct perf_event_pmu_context *perf_epc_alloc(struct perf_event_context *ctx, struct pmu *pmu)
{
	struct perf_event_pmu_context *epc = &ctx->first_epc;

	if (epc->pmu)
		epc = kzalloc(sizeof(*epc), GFP_KERNEL);
	if (!epc)
		return NULL;
	perf_epc_init(epc, pmu);
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

/**
 * perf_epc_lacks_task_data - does a PMU context need data for an event of a task?
 * @ctx: context of @epc; ctx->lock or ctx->mutex is held, or the context is not published yet
 * @epc: the PMU context
 * @event: event that is to be scheduled by @epc
 *
 * Context: any
 * Return: true if perf_epc_alloc_task_data() has to be called for it, or for one that replaces it
 */
bool perf_epc_lacks_task_data(const struct perf_event_context *ctx,
			      const struct perf_event_pmu_context *epc,
			      const struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_TASK_DATA && ctx->task && !epc->task_data;
}

/**
 * perf_epc_alloc_task_data - allocate the data that a PMU keeps for a task
 * @epc: PMU context that is not published yet, of a PMU with task_ctx_cache
 *
 * The data is freed with the PMU context, by kfree(): the PMU may be unregistered then.
 *
 * Context: may sleep
 * Return: false if there is no memory
 */
bool perf_epc_alloc_task_data(struct perf_event_pmu_context *epc)
{
	epc->task_data = kmem_cache_zalloc(epc->pmu->task_ctx_cache, GFP_KERNEL);
	return epc->task_data;
}

void *perf_event_task_data(const struct perf_event *event)
{
	return event->pmu_ctx->task_data;
}
EXPORT_SYMBOL_GPL(perf_event_task_data);

u64 perf_event_task_clock(const struct perf_event *event)
{
	return perf_ctx_read_time(event->ctx);
}
EXPORT_SYMBOL_GPL(perf_event_task_clock);

/**
 * perf_epc_attach - add a PMU context to its context
 * @ctx: the context
 * @epc: from perf_epc_alloc()
 *
 * Context: ctx->lock
 */
void perf_epc_attach(struct perf_event_context *ctx, struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&ctx->lock);

	epc->ctx = ctx;
	list_add_tail(&epc->entry, &ctx->pmu_ctx_list);
}

/**
 * perf_event_ctx_lock - lock the mutex of an event's context
 * @event: the event, which keeps its context from being freed
 *
 * event->ctx is constant until perf_event_ctx_unlock(): perf_pmu_migrate_context() may change it
 * at other times.
 *
 * Context: may sleep
 * Return: the context
 */
struct perf_event_context *perf_event_ctx_lock(struct perf_event *event)
{
	struct perf_event_context *ctx;

	for (;;) {
		ctx = READ_ONCE(event->ctx);
		mutex_lock(&ctx->mutex);
		if (event->ctx == ctx)
			return ctx;
		mutex_unlock(&ctx->mutex);
	}
}

/**
 * perf_event_ctx_unlock - undo perf_event_ctx_lock()
 * @ctx: the context
 *
 * Context: process context
 */
void perf_event_ctx_unlock(struct perf_event_context *ctx)
{
	mutex_unlock(&ctx->mutex);
}

/*
 * The two functions of guard(perf_irqsave) are neutral for sparse, which does not see the second
 * one called.
 */
noinline unsigned long perf_lock_irqsave(raw_spinlock_t *lock)
{
	unsigned long flags;

	raw_spin_lock_irqsave(lock, flags);
	__release(lock);
	return flags;
}

noinline void perf_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags)
{
	__acquire(lock);
	raw_spin_unlock_irqrestore(lock, flags);
}

noinline unsigned long perf_irqs_save(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}

noinline void perf_irqs_restore(unsigned long flags)
{
	local_irq_restore(flags);
}
