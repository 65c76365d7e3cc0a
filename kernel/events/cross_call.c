// SPDX-License-Identifier: GPL-2.0
/*
 * Reaching a context.
 *
 * A task's context may be changed on the CPU where it is active, or anywhere under its lock while
 * it is active nowhere. A CPU's and a cgroup's are changed on their CPU, or anywhere while that is
 * offline. perf_ctx_call() finds out which, goes there, looks again under the locks, and starts
 * over if things have moved meanwhile.
 *
 * On a CPU, all contexts that are there are locked, in the order context.h gives, because a change
 * of one can change what the others may run.
 */
#include <linux/sched.h>
#include <linux/smp.h>

#include "engine.h"

struct ctx_call {
	struct perf_event_context	*ctx;
	perf_ctx_fn			fn;
	void				*arg;
	int				ret;
};

/*
 * A task that has just been given its first event is running without its context: the switch that
 * would have activated it is over. Only its own CPU can tell.
 */
static void claim_current(struct perf_event_context *ctx)
{
	if (ctx->task == current && ctx->active_cpu < 0 &&
	    READ_ONCE(current->perf_event_ctxp) == ctx)
		perf_ctx_sched_in(ctx);
}

static bool is_chained(struct perf_event_context *ctx)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);

	return ctx == cpuctx->task_ctx || ctx == &cpuctx->ctx ||
	       (ctx->cgrp && ctx->active_cpu >= 0);
}

static void call_locked(struct ctx_call *call)
{
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	struct perf_event_context *ctx = call->ctx;
	u64 now = perf_clock();
	bool chained;

	if (task_ctx) {
		raw_spin_lock(&task_ctx->lock);
		perf_ctx_freeze(task_ctx, now);
	}
	perf_cpu_side_lock(now);
	chained = is_chained(ctx);
	if (!chained)	/* a cgroup's whose tasks are not running */
		raw_spin_lock_nested(&ctx->lock, MAX_LOCKDEP_SUBCLASSES - 1);

	call->ret = call->fn(ctx, call->arg);
	/* It was claimed for nothing: see perf_ctx_retire(). */
	if (ctx->cpu < 0 && !ctx->nr_events)
		perf_ctx_retire(ctx);

	/* A cgroup's context whose last event @fn removed has left the chain. */
	if (!is_chained(ctx) && ctx->cpu >= 0)
		raw_spin_unlock(&ctx->lock);
	perf_cpu_side_unlock();
	if (task_ctx) {
		perf_ctx_thaw(task_ctx);
		raw_spin_unlock(&task_ctx->lock);
	}
}

/* Runs with interrupts off on the CPU that seemed to be the right one. */
static void call_here(void *info)
{
	struct ctx_call *call = info;
	struct perf_event_context *ctx = call->ctx;

	if (ctx->cpu < 0) {
		claim_current(ctx);
		if (ctx != this_cpu_ptr(&perf_cpu_context)->task_ctx)
			return;		/* moved: -EAGAIN stands */
	}
	call_locked(call);
}

/* The CPU to go to; -1 if any will do. */
static int ctx_where(struct perf_event_context *ctx)
{
	struct task_struct *task;
	int cpu;

	if (ctx->cpu >= 0)
		return cpu_online(ctx->cpu) ? ctx->cpu : -1;

	cpu = READ_ONCE(ctx->active_cpu);
	task = READ_ONCE(ctx->task);
	if (cpu >= 0 || task == TASK_TOMBSTONE)
		return cpu;
	return task_curr(task) ? task_cpu(task) : -1;
}

/* Under the lock: is the context surely on no CPU? */
static bool ctx_is_nowhere(struct perf_event_context *ctx)
{
	if (ctx->cpu >= 0)
		return !cpu_online(ctx->cpu);
	if (ctx->active_cpu >= 0)
		return false;
	/*
	 * Pairs with the full barrier between rq->curr being set and the switch-in hook looking
	 * for the context [switch-in]: either the hook sees the context or we see the task run.
	 */
	smp_mb();
	return ctx->task == TASK_TOMBSTONE || !task_curr(ctx->task);
}

static int call_nowhere(struct ctx_call *call)
{
	struct perf_event_context *ctx = call->ctx;
	raw_spinlock_t *side = NULL;
	unsigned long flags;

	/* The queues of an offline CPU's contexts meet in its PMU contexts: one at a time. */
	if (ctx->cpu >= 0 && ctx->cgrp)
		side = &per_cpu(perf_cpu_context, ctx->cpu).ctx.lock;

	local_irq_save(flags);
	if (side)
		raw_spin_lock(side);
	raw_spin_lock_nested(&ctx->lock, side ? 1 : 0);
	call->ret = ctx_is_nowhere(ctx) ? call->fn(ctx, call->arg) : -EAGAIN;
	raw_spin_unlock(&ctx->lock);
	if (side)
		raw_spin_unlock(side);
	local_irq_restore(flags);
	return call->ret;
}

static int call_on_cpu(struct ctx_call *call, int cpu)
{
	unsigned long flags;
	int here = get_cpu();

	call->ret = -EAGAIN;
	if (cpu == here) {
		local_irq_save(flags);
		call_here(call);
		local_irq_restore(flags);
	}
	put_cpu();
	if (cpu != here)
		smp_call_function_single(cpu, call_here, call, 1);
	return call->ret;
}

/**
 * perf_ctx_call - run a function where a context may be changed
 * @ctx: the context
 * @fn: called with interrupts off and ctx->lock held, on the context's CPU if it has one
 * @arg: for @fn
 *
 * Context: process context; with interrupts off only for what is on this CPU
 * Return: what @fn returns, which must not be -EAGAIN
 */
int perf_ctx_call(struct perf_event_context *ctx, perf_ctx_fn fn, void *arg)
{
	struct ctx_call call = { .ctx = ctx, .fn = fn, .arg = arg };
	int cpu, ret;

	for (;;) {
		cpu = ctx_where(ctx);
		ret = cpu < 0 ? call_nowhere(&call) : call_on_cpu(&call, cpu);
		if (ret != -EAGAIN)
			return ret;
		cpu_relax();
	}
}

struct event_call {
	struct perf_event	*event;
	perf_event_fn		fn;
	void			*arg;
};

static int event_call_here(struct perf_event_context *ctx, void *arg)
{
	struct event_call *call = arg;
	struct perf_event *event = call->event;

	if (event->ctx != ctx)
		return -ESTALE;
	if (!(event->attach_state & (PERF_ATTACH_CONTEXT | PERF_ATTACH_MOVING)))
		return -ESRCH;
	return call->fn(event, call->arg);
}

/**
 * perf_event_call - run a function where an event's context may be changed
 * @event: referenced; may be leaving its context
 * @fn: as for perf_ctx_call()
 * @arg: for @fn
 *
 * Context: as for perf_ctx_call(). No lock is needed: an event's context only changes when a PMU's
 * CPU events move to another CPU, whose contexts are always there. @fn may find it on the way there
 * (PERF_ATTACH_MOVING), in none of the context's lists.
 * Return: what @fn returns, -ESRCH if the event is in no context
 */
int perf_event_call(struct perf_event *event, perf_event_fn fn, void *arg)
{
	struct event_call call = { .event = event, .fn = fn, .arg = arg };
	int ret;

	do {
		ret = perf_ctx_call(READ_ONCE(event->ctx), event_call_here, &call);
	} while (ret == -ESTALE);
	return ret;
}

/**
 * perf_event_call_inatomic - run a function where an event's context may be changed, if that is here
 * @event: referenced; may be leaving its context
 * @fn: as for perf_ctx_call()
 * @arg: for @fn
 *
 * Context: interrupts off, not NMI
 * Return: -1 if @fn was called or is not to be, because the event is in no context; else the CPU to
 * ask, which stays online while interrupts are off here
 */
int perf_event_call_inatomic(struct perf_event *event, perf_event_fn fn, void *arg)
{
	struct event_call event_call = { .event = event, .fn = fn, .arg = arg };
	int cpu, ret;

	lockdep_assert_irqs_disabled();
	do {
		struct ctx_call call = {
			.ctx = READ_ONCE(event->ctx), .fn = event_call_here, .arg = &event_call,
		};

		cpu = ctx_where(call.ctx);
		if (cpu >= 0 && cpu != smp_processor_id())
			return cpu;
		ret = cpu < 0 ? call_nowhere(&call) : call_on_cpu(&call, cpu);
	} while (ret == -EAGAIN || ret == -ESTALE);
	return -1;
}

/* Is the context on another CPU, out of reach for interrupt context? */
bool perf_ctx_is_elsewhere(struct perf_event_context *ctx)
{
	int cpu = READ_ONCE(ctx->active_cpu);

	return cpu >= 0 && cpu != smp_processor_id();
}
