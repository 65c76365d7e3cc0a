// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs "cpu_clock" and "task_clock": nanoseconds for which the event's context was on a CPU.
 *
 * A counting clock needs no hardware and no attention: its context has a clock already, which
 * stands still while the context is on no CPU, and the count follows from two readings of it. Such
 * events are resident, and they can be read on any CPU.
 *
 * A sampling clock has a timer, which runs while the context is on a CPU.
 *
 * Locks: ctx->lock for everything but the timer's handler, which runs in hard interrupt on the
 * CPU where the timer was started.
 */
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <asm/irq_regs.h>

#include "wing.h"

/* No timer is set to fire sooner than that, ns. */
#define PERIOD_MIN	10000

/* ------------------------------------------------------------------ counting */

static void clock_mark(struct perf_event *event)
{
	local64_set(&event->hw.prev_count, perf_ctx_time(event->ctx));
}

/* For access by several CPUs, which what belongs to one is not made for everywhere. */
static atomic64_t *shared(local64_t *value)
{
	BUILD_BUG_ON(sizeof(*value) != sizeof(atomic64_t));
	return (atomic64_t *)value;
}

/* Whoever reads it on another CPU has ctx->lock; an overflow here, or a BPF program, has not. */
static void clock_read(struct perf_event *event)
{
	u64 now = perf_ctx_time(event->ctx);
	u64 before = atomic64_xchg(shared(&event->hw.prev_count), now);

	atomic64_add(now - before, shared(&event->count));
}

/* ------------------------------------------------------------------ sampling */

static u64 clock_period(struct perf_event *event)
{
	return max_t(u64, event->hw.sample_period, PERIOD_MIN);
}

static bool clock_runs(struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE && !(event->hw.state & PERF_HES_STOPPED);
}

static bool clock_samples(struct perf_event *event, struct pt_regs *regs)
{
	if (!regs || (event->attr.exclude_idle && is_idle_task(current)))
		return false;
	return user_mode(regs) ? !event->attr.exclude_user : !event->attr.exclude_kernel;
}

static enum hrtimer_restart clock_timer(struct hrtimer *timer)
{
	struct perf_event *event = container_of(timer, struct perf_event, hw.hrtimer);
	struct perf_sample_data data __uninitialized;
	struct pt_regs *regs = get_irq_regs();

	if (!clock_runs(event))
		return HRTIMER_NORESTART;

	clock_read(event);
	local64_set(&event->hw.period_left, 0);
	if (clock_samples(event, regs)) {
		perf_sample_data_init(&data, 0, event->hw.last_period);
		/* Throttled or out of its limit: stop, but do not wait for ourselves. */
		if (perf_event_overflow(event, &data, regs))
			event->hw.state |= PERF_HES_STOPPED;
	}
	if (!clock_runs(event))
		return HRTIMER_NORESTART;

	hrtimer_forward_now(timer, ns_to_ktime(clock_period(event)));
	return HRTIMER_RESTART;
}

static void clock_timer_start(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	s64 left = local64_read(&hwc->period_left);

	if (left <= 0)
		left = hwc->sample_period;
	hrtimer_start(&hwc->hrtimer, ns_to_ktime(max_t(s64, left, PERIOD_MIN)),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * The timer is this CPU's and interrupts are off: its handler either is not running, or it is the
 * one that we were called from and will see that the event does not run any more.
 */
static void clock_timer_stop(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	s64 left;

	if (!hrtimer_is_queued(&hwc->hrtimer))
		return;
	left = ktime_to_ns(hrtimer_get_remaining(&hwc->hrtimer));
	local64_set(&hwc->period_left, max_t(s64, left, 0));
	hrtimer_try_to_cancel(&hwc->hrtimer);
}

/* A period is a time and stays the same: a frequency is turned into one for good. */
static void clock_timer_init(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	hrtimer_init(&hwc->hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hwc->hrtimer.function = clock_timer;

	if (event->attr.freq) {
		event->attr.sample_period = max_t(u64, NSEC_PER_SEC / event->attr.sample_freq, 1);
		event->attr.freq = 0;
		hwc->sample_period = event->attr.sample_period;
		hwc->last_period = hwc->sample_period;
		local64_set(&hwc->period_left, hwc->sample_period);
	}
}

/* ---------------------------------------------------------------------- PMU */

static void clock_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	clock_mark(event);
	if (is_sampling_event(event))
		clock_timer_start(event);
}

static void clock_stop(struct perf_event *event, int flags)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		clock_read(event);
	event->hw.state = PERF_HES_STOPPED;
	if (is_sampling_event(event))
		clock_timer_stop(event);
}

static int clock_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		clock_start(event, flags);
	return 0;
}

static void clock_del(struct perf_event *event, int flags)
{
	clock_stop(event, flags);
}

static void clock_read_running(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		clock_read(event);
}

static int clock_init(struct perf_event *event, u64 id)
{
	if (event->attr.type != event->pmu->type || event->attr.config != id)
		return -ENOENT;
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP, "branch_sample_type: a clock has no branches");

	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	if (is_sampling_event(event))
		clock_timer_init(event);
	else
		event->event_caps |= PERF_EV_CAP_RESIDENT;
	return 0;
}

static int cpu_clock_init(struct perf_event *event)
{
	return clock_init(event, PERF_COUNT_SW_CPU_CLOCK);
}

static int task_clock_init(struct perf_event *event)
{
	return clock_init(event, PERF_COUNT_SW_TASK_CLOCK);
}

#define CLOCK_PMU(_init)					\
{								\
	.dev		= PMU_NULL_DEV,				\
	.task_ctx_nr	= perf_sw_context,			\
	.capabilities	= PERF_PMU_CAP_NO_NMI,			\
	.event_init	= _init,				\
	.add		= clock_add,				\
	.del		= clock_del,				\
	.start		= clock_start,				\
	.stop		= clock_stop,				\
	.read		= clock_read_running,			\
}

static struct pmu cpu_clock_pmu = CLOCK_PMU(cpu_clock_init);
static struct pmu task_clock_pmu = CLOCK_PMU(task_clock_init);

/* The type of the PMU that serves this number of PERF_TYPE_SOFTWARE; -1 if it is not a clock. */
int perf_clock_pmu_type(u64 config)
{
	switch (config) {
	case PERF_COUNT_SW_CPU_CLOCK:
		return cpu_clock_pmu.type;
	case PERF_COUNT_SW_TASK_CLOCK:
		return task_clock_pmu.type;
	default:
		return -1;
	}
}

int __init perf_clock_pmus_init(void)
{
	int ret = perf_pmu_register(&cpu_clock_pmu, "cpu_clock", -1);

	return ret ?: perf_pmu_register(&task_clock_pmu, "task_clock", -1);
}
