// SPDX-License-Identifier: GPL-2.0
/*
 * Calling a function where a context may be changed.
 *
 * A task's context may be changed on the CPU where it is active, or on any CPU under its lock while
 * it is active on none. A CPU's and a cgroup's context may be changed on their CPU, or on any CPU
 * while theirs is offline. perf_ctx_call() finds the CPU, runs the function there, checks under the
 * locks that the CPU is the right one, and starts over if it is not.
 *
 * On a CPU, all active contexts are locked, in the order of core.h, because a change of one context
 * can change what the others may run. For a change that cannot, one context's lock is enough.
 */
#include <linux/sched.h>
#include <linux/smp.h>

#include "sched.h"

/**
 * struct cross_call - a call on its way to a context
 * @ctx: context
 * @event: NULL, or event in @ctx to call @event_fn for
 * @fn: function to call if @event is NULL
 * @event_fn: function to call otherwise; if not @own it enables or disables @event
 * @arg: argument of @fn or @event_fn
 * @own: the function changes nothing that other contexts depend on: @ctx's lock is enough
 * @ret: what the function returned; -EAGAIN if it was not called because @ctx has moved; -ESTALE
 *	or -ESRCH if it was not called because @event has moved, or is in no context
 */
struct cross_call {
	struct perf_event_context	*ctx;
	struct perf_event		*event;
	union {
		perf_ctx_fn		fn;
		perf_event_fn		event_fn;
	};
	void				*arg;
	bool				own;
	int				ret;
};

/*
 * A running task that has just been given its first event runs without its context: the switch that
 * would have activated the context is over. Activate it here, on the only CPU that can be sure that
 * the task is running.
 */
static void cross_call_activate_current(struct perf_event_context *ctx)
{
	if (ctx->task == current && ctx->active_cpu < 0 &&
	    READ_ONCE(current->perf_event_ctxp) == ctx)
		perf_ctx_sched_in(ctx);
}

static noinline int cross_call_event(const struct cross_call *call)
{
	struct perf_event *event = call->event;

	/* [moving] */
	if (smp_load_acquire(&event->ctx) != call->ctx)
		return -ESTALE;
	if (!(event->attach_state & (PERF_ATTACH_CONTEXT | PERF_ATTACH_MOVING)))
		return -ESRCH;
	return call->event_fn(event, call->arg);
}

/* ctx->lock, where the context may be changed. */
static __always_inline void cross_call_run(struct cross_call *call)
{
	lockdep_assert_held(&call->ctx->lock);
	call->ret = call->event ? cross_call_event(call) : call->fn(call->ctx, call->arg);
}

/*
 * perf_cpu_contexts_lock() takes the lock of a cgroup's context if a task of the cgroup runs here.
 * The function may remove its last event: then the context is inactive, too.
 */
static noinline void cross_call_cgroup(struct cross_call *call)
{
	struct perf_event_context *ctx = call->ctx;

	if (ctx->active_cpu < 0) {
		perf_cgroup_ctx_lock(ctx, &this_cpu_ptr(&perf_cpu_context)->ctx);
		__release(&ctx->lock);
	}
	cross_call_run(call);
	if (ctx->active_cpu < 0) {
		__acquire(&ctx->lock);
		raw_spin_unlock(&ctx->lock);
	}
}

static void cross_call_locked(struct cross_call *call)
{
	struct perf_event_context *ctx = call->ctx;
	struct perf_cpu_locks locks;

	perf_cpu_contexts_lock(&locks);
	if (ctx->cgrp)
		cross_call_cgroup(call);
	else
		cross_call_run(call);
	/*
	 * A context that was activated for an event it did not get: see
	 * perf_ctx_deactivate_empty().
	 */
	if (ctx->cpu < 0 && !ctx->nr_events)
		perf_ctx_deactivate_empty(ctx);
	perf_cpu_contexts_unlock(&locks);
}

/*
 * Has the event no part in what others run? What is read here of an event of @call's context
 * changes on this CPU only, and not while interrupts are off. An event that is moving has no PMU
 * context. For one of another CPU's context cross_call_event() fails.
 *
 * When the hardware events of a group are closed, the resident ones stay in the PMU context of the
 * counter PMU.
 */
static bool cross_call_is_alone(const struct perf_event *event)
{
	const struct perf_event_pmu_context *epc = READ_ONCE(event->pmu_ctx);

	return event->event_caps & PERF_EV_CAP_RESIDENT && event->group_leader == event &&
	       !event->nr_siblings && epc && !perf_pmu_has_counters(epc->pmu);
}

/*
 * The clock is frozen, so that an event that is enabled runs from the same moment on. It need not
 * be for a function that changes no schedule (cross_call::own), which enables nothing.
 */
static void cross_call_own(struct cross_call *call)
{
	struct perf_event_context *ctx = call->ctx;

	raw_spin_lock(&ctx->lock);
	if (!call->own)
		perf_ctx_freeze(ctx, perf_clock());
	cross_call_run(call);
	perf_ctx_unlock_thawed(ctx);
}

/* On the CPU that perf_ctx_call() found. Interrupts off. */
static void cross_call_here(void *info)
{
	struct cross_call *call = info;
	struct perf_event_context *ctx = call->ctx;

	if (ctx->cpu < 0) {
		cross_call_activate_current(ctx);
		/* The task has left this CPU: -EAGAIN stands. */
		if (ctx != this_cpu_ptr(&perf_cpu_context)->task_ctx)
			return;
	}
	/* An empty context may have to be deactivated. */
	if (ctx->nr_events && (call->own || (call->event && cross_call_is_alone(call->event))))
		cross_call_own(call);
	else
		cross_call_locked(call);
}

/* CPU on which the context is, or seems to be, active; -1 if it may be changed on any CPU. */
static int cross_call_cpu(struct perf_event_context *ctx)
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

/* Is the context certainly active on no CPU? ctx->lock. */
static bool cross_call_is_inactive(struct perf_event_context *ctx)
{
	if (ctx->cpu >= 0)
		return !cpu_online(ctx->cpu);
	if (ctx->active_cpu >= 0)
		return false;
	/*
	 * Every switch-in of the task finds the context, since perf_install() has published it, and
	 * takes its lock: before, then the task is found running here, or afterwards, then it
	 * activates what the function leaves.
	 */
	return ctx->task == TASK_TOMBSTONE || !task_curr(ctx->task);
}

/* ctx->lock. */
static int cross_call_inactive(struct cross_call *call)
{
	struct perf_event_context *ctx = call->ctx;

	lockdep_assert_held(&ctx->lock);
	call->ret = -EAGAIN;
	if (cross_call_is_inactive(ctx))
		cross_call_run(call);
	return call->ret;
}

static int cross_call_any_cpu(struct cross_call *call)
{
	struct perf_event_context *ctx = call->ctx, *cpu_ctx;

	if (!ctx->cgrp) {
		guard(perf_irqsave)(&ctx->lock);
		return cross_call_inactive(call);
	}
	/* All cgroup contexts of an offline CPU use its PMU contexts: change one at a time. */
	cpu_ctx = &per_cpu(perf_cpu_context, ctx->cpu).ctx;
	guard(perf_irqsave)(&cpu_ctx->lock);
	perf_cgroup_ctx_lock(ctx, cpu_ctx);
	cross_call_inactive(call);
	raw_spin_unlock(&ctx->lock);
	return call->ret;
}

/**
 * perf_call_on_cpu - run a function on a CPU and wait for it
 * @cpu: CPU; if it is another one than this and offline, @fn is not called
 * @fn: function to call with interrupts off
 * @info: argument of @fn
 *
 * The function runs without an interrupt if @cpu is this CPU.
 *
 * Context: process context, interrupts on; with interrupts off for this CPU only
 */
void perf_call_on_cpu(int cpu, smp_call_func_t fn, void *info)
{
	unsigned long flags;
	int here = get_cpu();

	if (cpu == here) {
		local_irq_save(flags);
		fn(info);
		local_irq_restore(flags);
	}
	put_cpu();
	if (cpu != here)
		smp_call_function_single(cpu, fn, info, 1);
}

static inline int cross_call_once(struct cross_call *call, int cpu)
{
	if (cpu < 0)
		return cross_call_any_cpu(call);
	call->ret = -EAGAIN;
	perf_call_on_cpu(cpu, cross_call_here, call);
	return call->ret;
}

static int cross_call_until_done(struct cross_call *call)
{
	int ret;

	for (;;) {
		ret = cross_call_once(call, cross_call_cpu(call->ctx));
		if (ret != -EAGAIN)
			return ret;
		cpu_relax();
	}
}

/**
 * perf_ctx_call - run a function where a context may be changed
 * @ctx: context
 * @fn: called with interrupts off and ctx->lock held, on the CPU where the context is active if
 *	there is one
 * @arg: argument of @fn
 *
 * Context: process context; with interrupts off only for contexts of this CPU
 * Return: what @fn returns, which must not be -EAGAIN
 */
int perf_ctx_call(struct perf_event_context *ctx, perf_ctx_fn fn, void *arg)
{
	struct cross_call call = { .ctx = ctx, .fn = fn, .arg = arg };

	return cross_call_until_done(&call);
}

/**
 * perf_ctx_call_own - perf_ctx_call() for a function that changes no schedule
 * @ctx: context
 * @fn: called with interrupts off and @ctx's lock held, on the CPU where the context is active if
 *	there is one; its clock is not frozen, and other contexts on the CPU may be unlocked
 * @arg: argument of @fn
 *
 * Context: as for perf_ctx_call()
 * Return: as for perf_ctx_call()
 */
int perf_ctx_call_own(struct perf_event_context *ctx, perf_ctx_fn fn, void *arg)
{
	struct cross_call call = { .ctx = ctx, .fn = fn, .arg = arg, .own = true };

	return cross_call_until_done(&call);
}

/**
 * perf_call_interrupts_hit - has this cross-call interrupted the handling of an event?
 *
 * Software events and tracepoints are hit in task or soft interrupt context, with interrupts on. A
 * hit that was interrupted after it has found the event calls the event's handler afterwards.
 *
 * Context: in a function that perf_ctx_call() calls
 * Return: true if so; synchronize_rcu() waits until that hit is over
 */
bool perf_call_interrupts_hit(void)
{
	return in_hardirq() && (current->perf_recursion[0] || current->perf_recursion[1]);
}

/**
 * perf_event_call_how - perf_event_call() or perf_event_call_own()
 * @event: as for perf_event_call()
 * @fn: as for perf_event_call(), or with @own as for perf_event_call_own()
 * @arg: argument of @fn
 * @own: @fn changes no schedule
 *
 * Context: as for perf_ctx_call()
 * Return: as for perf_event_call()
 */
int perf_event_call_how(struct perf_event *event, perf_event_fn fn, void *arg, bool own)
{
	struct cross_call call = { .event = event, .event_fn = fn, .arg = arg, .own = own };
	int ret;

	do {
		call.ctx = READ_ONCE(event->ctx);
		ret = cross_call_until_done(&call);
	} while (ret == -ESTALE);
	return ret;
}

/**
 * perf_event_call_inatomic - run a function where an event's context may be changed, if that is
 *	this CPU
 * @event: referenced; may be leaving its context
 * @fn: as for perf_event_call()
 * @arg: argument of @fn
 *
 * Context: interrupts off, not NMI
 * Return: -1 if @fn was called, or need not be because the event is in no context; else the CPU on
 *	which @fn has to be called, which stays online while interrupts are off here
 */
int perf_event_call_inatomic(struct perf_event *event, perf_event_fn fn, void *arg)
{
	struct cross_call call = { .event = event, .event_fn = fn, .arg = arg };
	int cpu, ret;

	lockdep_assert_irqs_disabled();
	do {
		call.ctx = READ_ONCE(event->ctx);
		cpu = cross_call_cpu(call.ctx);
		if (cpu >= 0 && cpu != smp_processor_id())
			return cpu;
		ret = cross_call_once(&call, cpu);
	} while (ret == -EAGAIN || ret == -ESTALE);
	return -1;
}

/**
 * perf_ctx_is_elsewhere - is a context active on another CPU?
 * @ctx: context
 *
 * Such a context cannot be changed from interrupt context here.
 *
 * Context: any; a hint unless preemption is off and the task cannot move
 * Return: true if so
 */
bool perf_ctx_is_elsewhere(struct perf_event_context *ctx)
{
	int cpu = READ_ONCE(ctx->active_cpu);

	return cpu >= 0 && cpu != smp_processor_id();
}
