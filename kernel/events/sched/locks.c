// SPDX-License-Identifier: GPL-2.0
/*
 * Locking of all contexts that are active on this CPU.
 */
#include "sched.h"

/*
 * The clock is read when all are locked: until then another CPU may read it, and what was read must
 * not be later than what is stored. sparse counts the locks of the whole chain as the one of the
 * CPU's own context.
 */
static __always_inline u64 locks_cpu_side_lock(void)
	__acquires(&perf_cpu_context.ctx.lock)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;
	u64 now;

	lockdep_assert_irqs_disabled();
	raw_spin_lock(&cpuctx->ctx.lock);
	for_each_cgrp_ctx(ctx, cpuctx) {
		perf_cgroup_ctx_lock(ctx, &cpuctx->ctx);
		__release(&ctx->lock);
	}
	now = perf_clock();
	perf_ctx_freeze(&cpuctx->ctx, now);
	for_each_cgrp_ctx(ctx, cpuctx)
		perf_ctx_freeze(ctx, now);
	return now;
}

/**
 * perf_cpu_side_lock - lock all contexts of this CPU's CPU side and freeze their clocks
 *
 * Context: interrupts off; the task's context is locked already, or stays unlocked
 * Return: moment at which the clocks stand, as perf_clock() ns
 */
u64 perf_cpu_side_lock(void)
	__acquires(&perf_cpu_context.ctx.lock)
{
	return locks_cpu_side_lock();
}

static __always_inline void locks_cpu_side_unlock(void)
	__releases(&perf_cpu_context.ctx.lock)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	for_each_cgrp_ctx(ctx, cpuctx) {
		__acquire(&ctx->lock);
		perf_ctx_unlock_thawed(ctx);
	}
	perf_ctx_unlock_thawed(&cpuctx->ctx);
}

/**
 * perf_cpu_side_unlock - undo perf_cpu_side_lock()
 *
 * The contexts that are unlocked are those of the chain as it is now, which need not be those that
 * were locked: see cgroup.c.
 *
 * Context: interrupts off
 */
void perf_cpu_side_unlock(void)
	__releases(&perf_cpu_context.ctx.lock)
{
	locks_cpu_side_unlock();
}

/*
 * The two functions of the guard are neutral for sparse, which does not see the second one called.
 */
void perf_cpu_contexts_lock(struct perf_cpu_locks *locks)
{
	locks->task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	if (locks->task_ctx) {
		raw_spin_lock(&locks->task_ctx->lock);
		__release(&locks->task_ctx->lock);
	}
	locks->now = locks_cpu_side_lock();
	__release(&perf_cpu_context.ctx.lock);
	if (locks->task_ctx)
		perf_ctx_freeze(locks->task_ctx, locks->now);
}

void perf_cpu_contexts_unlock(struct perf_cpu_locks *locks)
{
	__acquire(&perf_cpu_context.ctx.lock);
	locks_cpu_side_unlock();
	if (locks->task_ctx) {
		__acquire(&locks->task_ctx->lock);
		perf_ctx_unlock_thawed(locks->task_ctx);
	}
}
