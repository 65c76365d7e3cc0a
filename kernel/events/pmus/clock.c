// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs "cpu_clock" and "task_clock": nanoseconds for which the event's context was active.
 *
 * A counting clock uses the clock of its context, which stops while the context is inactive: the
 * count is the difference of two readings. Such events are resident and can be read on any CPU.
 *
 * A sampling clock has a timer, which runs while the context is active.
 *
 * Locks: ctx->lock for pmu::add, del, start and stop. pmu::read is also called without the lock, by
 * perf_event_read_local() and for samples. The timer's handler runs in hard IRQ, without locks, on
 * the CPU where the timer was started.
 */
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <asm/irq_regs.h>

#include "pmus.h"

/* Shortest time for which a timer is started, ns. */
#define PERIOD_MIN	10000

static void clock_mark(struct perf_event *event)
{
	local64_set(&event->hw.prev_count, perf_ctx_time(event->ctx));
}

/*
 * local64_t is atomic only against its own CPU on some architectures; these are updated from other
 * CPUs too, so access them as atomic64_t.
 */
static atomic64_t *clock_atomic(local64_t *value)
{
	BUILD_BUG_ON(sizeof(*value) != sizeof(atomic64_t));
	return (atomic64_t *)value;
}

/* Readers on other CPUs hold ctx->lock; an overflow or a BPF program on this CPU does not. */
static void clock_read(struct perf_event *event)
{
	u64 now = perf_ctx_time(event->ctx);
	u64 before = atomic64_xchg(clock_atomic(&event->hw.prev_count), now);

	atomic64_add(now - before, clock_atomic(&event->count));
}

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
		/* pmu::stop would wait for this handler. */
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
 * The timer is on this CPU and interrupts are off: either its handler is not running, or the
 * handler is the caller and will see that the event has stopped.
 */
static void clock_timer_stop(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	s64 left;

	if (!hrtimer_is_queued(&hwc->hrtimer))
		return;
	/* If the timer has expired and its interrupt is late, the next start makes up for it. */
	left = ktime_to_ns(hrtimer_get_remaining(&hwc->hrtimer));
	local64_set(&hwc->period_left, max_t(s64, left, 1));
	hrtimer_try_to_cancel(&hwc->hrtimer);
}

/* The period of a clock is a time: a frequency is converted into a constant period. */
static void clock_timer_init(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	hrtimer_init(&hwc->hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hwc->hrtimer.function = clock_timer;

	if (event->attr.freq) {
		u64 period = div64_u64(NSEC_PER_SEC, event->attr.sample_freq);

		event->attr.sample_period = max_t(u64, period, 1);
		event->attr.freq = 0;
		hwc->sample_period = event->attr.sample_period;
		hwc->last_period = hwc->sample_period;
		local64_set(&hwc->period_left, hwc->sample_period);
	}
}

static void clock_start(struct perf_event *event, int flags)
{
	clock_mark(event);
	barrier();	/* an NMI may read the event */
	event->hw.state = 0;
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
	/* A throttled event starts when it is unthrottled. */
	if (flags & PERF_EF_START && event->hw.interrupts != PERF_THROTTLED)
		clock_start(event, flags);
	return 0;
}

static void clock_read_running(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		clock_read(event);
}

static int clock_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type ||
	    event->attr.type != perf_clock_pmu_type(event->attr.config))
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

#define CLOCK_PMU						\
{								\
	.dev		= PMU_NULL_DEV,				\
	.task_ctx_nr	= perf_sw_context,			\
	.capabilities	= PERF_PMU_CAP_NO_NMI,			\
	.event_init	= clock_init,				\
	.add		= clock_add,				\
	.del		= clock_stop,				\
	.start		= clock_start,				\
	.stop		= clock_stop,				\
	.read		= clock_read_running,			\
}

static struct pmu cpu_clock_pmu = CLOCK_PMU;
static struct pmu task_clock_pmu = CLOCK_PMU;

/**
 * perf_clock_pmu_type - find the clock PMU for a software event
 * @config: PERF_COUNT_SW_*
 *
 * Context: any
 * Return: type of the PMU; -1 if @config is not a clock
 */
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
