// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU "software": events that the kernel reports by perf_sw_event().
 *
 * An enabled event is in its context's list for its number, and stays there across context
 * switches. A hit walks these lists of the contexts that are active on this CPU: the CPU's own, the
 * cgroups', and the running task's. A hook site costs a static branch while there is no event of
 * its number.
 *
 * Locks: the lists are changed under ctx->lock, on the context's CPU or while the context is
 * inactive, and read under RCU with preemption off. An interrupt may remove an event from its list
 * while it has interrupted the handling of a hit: the event counts that hit, and its memory is
 * valid for a grace period. If the interrupt adds the event again, as a rotation may do with a
 * group that has counters, too, the walk continues at the front, and the hit can count twice.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "pmus.h"

struct static_key perf_swevent_enabled[PERF_COUNT_SW_MAX];

DEFINE_PER_CPU(struct pt_regs, __perf_regs[4]);

int perf_swevent_get_recursion_context(void)
{
	return perf_get_recursion(current->perf_recursion);
}
EXPORT_SYMBOL_GPL(perf_swevent_get_recursion_context);

void perf_swevent_put_recursion_context(int rctx)
{
	perf_put_recursion(current->perf_recursion, rctx);
}

/* Number of periods that have ended: @left is what remains of the first one, at most 0. */
static u64 swevent_periods_due(s64 left, u64 period)
{
	u64 late = -left;

	return likely(late < period) ? 1 : div64_u64(late, period) + 1;
}

u64 perf_swevent_set_period(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 period = READ_ONCE(hwc->sample_period);
	s64 left = local64_read(&hwc->period_left);
	u64 nr;

	do {
		if (left > 0)
			return 0;
		nr = swevent_periods_due(left, period);
	} while (!local64_try_cmpxchg(&hwc->period_left, &left, left + nr * period));

	hwc->last_period = period;
	return nr;
}

/*
 * Counts a hit of @nr occurrences and returns the number of overflows. The sample's period is the
 * one that has ended. If the sample has a PERIOD field and the period is fixed, at whatever value,
 * each hit is one sample with a period of @nr.
 */
static __always_inline u64 swevent_count_overflows(struct perf_event *event, u64 nr,
						   struct perf_sample_data *data)
{
	struct hw_perf_event *hwc = &event->hw;

	data->period = hwc->last_period;
	if (!event->attr.freq) {
		if (event->attr.sample_type & PERF_SAMPLE_PERIOD) {
			data->period = nr;
			return 1;
		}
		if (nr == 1 && hwc->sample_period == 1)
			return 1;
	}
	if (local64_sub_return(nr, &hwc->period_left) > 0)
		return 0;
	return perf_swevent_set_period(event);
}

/*
 * The limit of IOC_REFRESH is reached: no further hits until the event is enabled again. An
 * interrupt that enables it before the irq_work clears the request and the state.
 */
static noinline void swevent_stop(struct perf_event *event)
{
	guard(irqsave)();
	if (READ_ONCE(event->pending_disable))
		event->hw.state |= PERF_HES_STOPPED;
}

/* The first overflow of a hit is not throttled, the following ones may be. */
static __always_inline void swevent_overflow(struct perf_event *event, u64 nr,
					     struct perf_sample_data *data, struct pt_regs *regs)
{
	bool again = false;

	if (event->hw.interrupts == PERF_THROTTLED)
		return;
	for (; nr; nr--) {
		if (perf_event_overflow_throttle(event, again, data, regs))
			break;
		again = true;
	}
	if (unlikely(READ_ONCE(event->pending_disable)))
		swevent_stop(event);
}

static __always_inline void swevent_sample(struct perf_event *event, u64 nr,
					   struct perf_sample_data *data, struct pt_regs *regs)
{
	local64_add(nr, &event->count);
	nr = swevent_count_overflows(event, nr, data);
	if (nr)
		swevent_overflow(event, nr, data, regs);
}

/**
 * perf_swevent_event - count a hit of a software event, and sample it
 * @event: event that is ACTIVE on this CPU
 * @nr: number of occurrences
 * @data: initialised sample, with the payloads of the hit
 * @regs: registers at the hit; NULL if they are not known, in which case no sample is taken
 *
 * Context: any, NMI included; preemption off
 */
void perf_swevent_event(struct perf_event *event, u64 nr, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	if (is_sampling_event(event) && regs)
		swevent_sample(event, nr, data, regs);
	else
		local64_add(nr, &event->count);
}

static bool swevent_excluded(struct perf_event *event, struct pt_regs *regs)
{
	if (unlikely(event->hw.state & PERF_HES_STOPPED))
		return true;
	if (!regs)
		return false;
	return user_mode(regs) ? event->attr.exclude_user : event->attr.exclude_kernel;
}

static noinline void swevent_fire_sampling(struct perf_event *event, u64 nr, struct pt_regs *regs,
					   u64 addr)
{
	struct perf_sample_data data __uninitialized;

	perf_sample_data_init(&data, addr, 0);
	swevent_sample(event, nr, &data, regs);
}

static __always_inline void swevent_fire_ctx(struct perf_event_context *ctx, u32 id, u64 nr,
					     struct pt_regs *regs, u64 addr)
{
	struct perf_event *event;

	hlist_for_each_entry_rcu(event, &ctx->sw_list[id], hlist_entry) {
		if (swevent_excluded(event, regs))
			continue;
		if (is_sampling_event(event) && regs)
			swevent_fire_sampling(event, nr, regs, addr);
		else
			local64_add(nr, &event->count);
	}
}

/* Without a recursion check, for hooks of the scheduler. */
noinline void ___perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (likely(cpuctx->ctx.active_cpu >= 0))
		swevent_fire_ctx(&cpuctx->ctx, event_id, nr, regs, addr);
	else if (perf_cpu_is_dead())
		return;
	for_each_cgrp_ctx_preempt(ctx, cpuctx)
		swevent_fire_ctx(ctx, event_id, nr, regs, addr);
	ctx = READ_ONCE(cpuctx->task_ctx);
	if (ctx)
		swevent_fire_ctx(ctx, event_id, nr, regs, addr);
}

/* A hit inside the handling of another hit does not count: a fault while a user stack is copied. */
void __perf_sw_event(u32 event_id, u64 nr, struct pt_regs *regs, u64 addr)
{
	int rctx;

	preempt_disable_notrace();
	rctx = perf_swevent_get_recursion_context();
	if (likely(rctx >= 0)) {
		___perf_sw_event(event_id, nr, regs, addr);
		perf_swevent_put_recursion_context(rctx);
	}
	preempt_enable_notrace();
}

static bool swevent_has_hook(u64 id)
{
	return id != PERF_COUNT_SW_DUMMY && id != PERF_COUNT_SW_BPF_OUTPUT;
}

/*
 * A BPF program finds a BPF output event by a map and checks its oncpu. That has to be the CPU of
 * the task, or of a task of the cgroup, so a BPF output event is added and deleted at context
 * switches.
 */
static bool swevent_is_switched(const struct perf_event *event)
{
	return event->attr.config == PERF_COUNT_SW_BPF_OUTPUT;
}

static int software_add(struct perf_event *event, int flags)
{
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;
	if (!swevent_is_switched(event))
		hlist_add_head_rcu(&event->hlist_entry, &event->ctx->sw_list[event->attr.config]);
	return 0;
}

static void software_del(struct perf_event *event, int flags)
{
	if (!swevent_is_switched(event))
		hlist_del_rcu(&event->hlist_entry);
}

/**
 * perf_swevent_start - pmu::start of software, tracing and breakpoint PMUs: hits count from now on
 * @event: event that pmu::add has added
 * @flags: PERF_EF_*
 *
 * Context: interrupts off, ctx->lock
 */
void perf_swevent_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

/**
 * perf_swevent_stop - pmu::stop of software, tracing and breakpoint PMUs: hits are not counted
 * @event: event that pmu::add has added
 * @flags: PERF_EF_*
 *
 * Context: interrupts off, ctx->lock
 */
void perf_swevent_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
}

/**
 * perf_swevent_read - pmu::read of PMUs that keep perf_event::count up to date
 * @event: any event
 *
 * Context: any, NMI included
 */
void perf_swevent_read(struct perf_event *event)
{
}

static void software_destroy(struct perf_event *event)
{
	static_key_slow_dec(&perf_swevent_enabled[event->attr.config]);
}

/**
 * perf_swevent_init - pmu::event_init of the PMU "software"
 * @event: new event
 *
 * The clocks are PMUs of their own: for their two numbers the event's type is changed to theirs.
 *
 * Context: may sleep
 * Return: 0; -ENOENT if @event belongs to another PMU; -EOPNOTSUPP with a branch stack
 */
int perf_swevent_init(struct perf_event *event)
{
	u64 id = event->attr.config;
	int clock_type;

	if (event->attr.type != PERF_TYPE_SOFTWARE)
		return -ENOENT;
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP,
				   "branch_sample_type: software events have no branches");

	clock_type = perf_clock_pmu_type(id);
	if (clock_type >= 0) {
		event->attr.type = clock_type;
		return -ENOENT;
	}
	if (id >= PERF_COUNT_SW_MAX)
		return -ENOENT;

	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	if (!swevent_is_switched(event))
		event->event_caps |= PERF_EV_CAP_RESIDENT;

	/* A child is freed before its parent: the parent's reference on the key suffices. */
	if (!event->parent && swevent_has_hook(id)) {
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
	.start		= perf_swevent_start,
	.stop		= perf_swevent_stop,
	.read		= perf_swevent_read,
};

int __init perf_software_init(void)
{
	return perf_pmu_register(&perf_software_pmu, "software", PERF_TYPE_SOFTWARE);
}
