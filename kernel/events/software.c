// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU "software": events that the kernel itself reports through perf_sw_event().
 *
 * An enabled event is linked into its context's list for its number and stays there across context
 * switches. Firing walks those lists of the contexts that are on this CPU: the CPU's own, the
 * active cgroups', the running task's. A hook site costs a static branch while nobody has an event
 * of its number.
 *
 * Locks: lists are changed under ctx->lock on the context's CPU (or while it is on none), and read
 * under RCU with preemption off. An interrupt may take an event off its list while a hit on it is
 * being handled below; it is then counted, which is harmless, and its memory lives on.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "wing.h"

struct static_key perf_swevent_enabled[PERF_COUNT_SW_MAX];

DEFINE_PER_CPU(struct pt_regs, __perf_regs[4]);

/* ---------------------------------------------------------------- recursion */

/**
 * perf_swevent_get_recursion_context - claim this CPU's buffers for the present kind of context
 *
 * Context: any, preemption off
 * Return: 0 task, 1 softirq, 2 hard interrupt, 3 NMI, for perf_swevent_put_recursion_context();
 *	-1 if this kind of context is inside already
 */
int perf_swevent_get_recursion_context(void)
{
	return perf_get_recursion(current->perf_recursion);
}
EXPORT_SYMBOL_GPL(perf_swevent_get_recursion_context);

void perf_swevent_put_recursion_context(int rctx)
{
	perf_put_recursion(current->perf_recursion, rctx);
}

/* ------------------------------------------------------------------ periods */

/* How many periods fit into what is due, at least the one that ended. */
static u64 periods_due(s64 left, u64 period)
{
	u64 late = -left;

	return likely(late < period) ? 1 : div64_u64(late, period) + 1;
}

/**
 * perf_swevent_set_period - start the next period if one has ended
 * @event: a sampling event; hw.period_left counts down to its overflow, hw.last_period is the one
 *	that is under way
 *
 * Context: any
 * Return: how many periods have ended since the last call
 */
u64 perf_swevent_set_period(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 period = READ_ONCE(hwc->sample_period);
	s64 left = local64_read(&hwc->period_left);
	u64 nr;

	do {
		if (left > 0)
			return 0;
		nr = periods_due(left, period);
	} while (!local64_try_cmpxchg(&hwc->period_left, &left, left + nr * period));

	hwc->last_period = period;
	return nr;
}

/*
 * A hit that stands for @nr occurrences: how often does the event overflow? The sample is of the
 * period that has ended, whatever the next one will be. With a period of one and room for the
 * number in the sample, one sample says it all.
 */
static __always_inline u64 count_overflows(struct perf_event *event, u64 nr, struct perf_sample_data *data)
{
	struct hw_perf_event *hwc = &event->hw;

	data->period = hwc->last_period;
	if (hwc->sample_period == 1 && !event->attr.freq) {
		if (nr == 1)
			return 1;
		if (event->attr.sample_type & PERF_SAMPLE_PERIOD) {
			data->period = nr;
			return 1;
		}
	}
	if (local64_sub_return(nr, &hwc->period_left) > 0)
		return 0;
	return perf_swevent_set_period(event);
}

/* Only what comes after the first overflow of one hit can be too much and is throttled. */
static __always_inline void overflow(struct perf_event *event, u64 nr, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	bool again = false;

	if (event->hw.interrupts == PERF_THROTTLED)
		return;
	for (; nr; nr--) {
		if (perf_event_overflow_throttle(event, again, data, regs))
			break;
		again = true;
	}
	/* Out of its refresh limit: no further hit until it has been disabled and enabled. */
	if (READ_ONCE(event->pending_disable))
		event->hw.state |= PERF_HES_STOPPED;
}

/* @event samples, and @regs are known. */
static __always_inline void hit_sampling(struct perf_event *event, u64 nr,
					 struct perf_sample_data *data, struct pt_regs *regs)
{
	local64_add(nr, &event->count);
	nr = count_overflows(event, nr, data);
	if (nr)
		overflow(event, nr, data, regs);
}

/**
 * perf_swevent_event - an event of a software PMU was hit
 * @event: the event; it runs on this CPU
 * @nr: how many occurrences
 * @data: initialised, with the payloads that belong to the hit
 * @regs: where, or NULL if that is not known: then it only counts
 *
 * Context: any, preemption off
 */
void perf_swevent_event(struct perf_event *event, u64 nr, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	if (is_sampling_event(event) && regs)
		hit_sampling(event, nr, data, regs);
	else
		local64_add(nr, &event->count);
}

/* ------------------------------------------------------------------- firing */

static bool excluded(struct perf_event *event, struct pt_regs *regs)
{
	if (unlikely(event->hw.state & PERF_HES_STOPPED))
		return true;
	if (!regs)
		return false;
	return user_mode(regs) ? event->attr.exclude_user : event->attr.exclude_kernel;
}

static noinline void fire_sampling(struct perf_event *event, u64 nr, struct pt_regs *regs, u64 addr)
{
	struct perf_sample_data data __uninitialized;

	perf_sample_data_init(&data, addr, 0);
	hit_sampling(event, nr, &data, regs);
}

static __always_inline void fire_context(struct perf_event_context *ctx, u32 id, u64 nr,
					 struct pt_regs *regs, u64 addr)
{
	struct perf_event *event;

	hlist_for_each_entry_rcu(event, &ctx->sw_list[id], hlist_entry) {
		if (excluded(event, regs))
			continue;
		if (is_sampling_event(event) && regs)
			fire_sampling(event, nr, regs, addr);
		else
			local64_add(nr, &event->count);
	}
}

static __always_inline void fire(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (likely(cpuctx->ctx.active_cpu >= 0))
		fire_context(&cpuctx->ctx, event_id, nr, regs, addr);
	else if (perf_cpu_is_dead())
		return;
	for (ctx = READ_ONCE(cpuctx->cgrp_ctx); ctx; ctx = READ_ONCE(ctx->cgrp_next))
		fire_context(ctx, event_id, nr, regs, addr);
	ctx = READ_ONCE(cpuctx->task_ctx);
	if (ctx)
		fire_context(ctx, event_id, nr, regs, addr);
}

/* Preemption off, no recursion: the scheduler's own hooks come straight here. */
void ___perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	fire(event_id, nr, regs, addr);
}

/* An event inside the handling of another (a fault while a user stack is copied) is not one. */
void __perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	int rctx;

	preempt_disable_notrace();
	rctx = perf_swevent_get_recursion_context();
	if (likely(rctx >= 0)) {
		fire(event_id, nr, regs, addr);
		perf_swevent_put_recursion_context(rctx);
	}
	preempt_enable_notrace();
}

/* ---------------------------------------------------------------------- PMU */

static bool fires_by_itself(u64 id)
{
	return id != PERF_COUNT_SW_DUMMY && id != PERF_COUNT_SW_BPF_OUTPUT;
}

/*
 * A task's BPF output event is looked up by programs that are given only the event: its oncpu has
 * to follow the task, so it takes part in context switches.
 */
static bool follows_task(struct perf_event *event)
{
	return event->attr.config == PERF_COUNT_SW_BPF_OUTPUT &&
	       (event->attach_state & PERF_ATTACH_TASK);
}

static int software_add(struct perf_event *event, int flags)
{
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	if (!follows_task(event))
		hlist_add_head_rcu(&event->hlist_entry, &event->ctx->sw_list[event->attr.config]);
	return 0;
}

static void software_del(struct perf_event *event, int flags)
{
	if (!follows_task(event))
		hlist_del_rcu(&event->hlist_entry);
}

static void software_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

static void software_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
}

static void software_read(struct perf_event *event)
{
}

static void software_destroy(struct perf_event *event)
{
	static_key_slow_dec(&perf_swevent_enabled[event->attr.config]);
}

/**
 * perf_swevent_init - take on an event of type PERF_TYPE_SOFTWARE
 * @event: the new event
 *
 * The clocks are PMUs of their own: their two numbers are handed on to them by type.
 * Context: may sleep
 * Return: 0, -ENOENT if it is another PMU's, -EOPNOTSUPP with a branch stack
 */
int perf_swevent_init(struct perf_event *event)
{
	u64 id = event->attr.config;
	int clock_type;

	if (event->attr.type != PERF_TYPE_SOFTWARE)
		return -ENOENT;
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP, "branch_sample_type: software events have no branches");

	clock_type = perf_clock_pmu_type(id);
	if (clock_type >= 0) {
		event->attr.type = clock_type;
		return -ENOENT;
	}
	if (id >= PERF_COUNT_SW_MAX)
		return -ENOENT;

	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	if (!follows_task(event))
		event->event_caps |= PERF_EV_CAP_RESIDENT;

	/* A child lives no longer than its parent, whose hold on the key will do. */
	if (!event->parent && fires_by_itself(id)) {
		static_key_slow_inc(&perf_swevent_enabled[id]);
		event->destroy = software_destroy;
	}
	return 0;
}

struct pmu perf_software_pmu = {
	.task_ctx_nr	= perf_sw_context,
	.capabilities	= PERF_PMU_CAP_NO_NMI,
	.event_init	= perf_swevent_init,
	.add		= software_add,
	.del		= software_del,
	.start		= software_start,
	.stop		= software_stop,
	.read		= software_read,
};

int __init perf_software_init(void)
{
	return perf_pmu_register(&perf_software_pmu, "software", PERF_TYPE_SOFTWARE);
}
