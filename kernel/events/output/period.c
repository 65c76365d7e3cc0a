// SPDX-License-Identifier: GPL-2.0
/*
 * Sampling periods: given by user space, or derived from a frequency.
 *
 * The period of an event with a frequency is the rate at which the event counts, divided by the
 * requested frequency. The rate is measured from overflow to overflow, in time for which the event
 * was running. A period that is far off is replaced by the measured one, within limits; a period
 * that is close moves by a fraction of the difference, so that noise does not shake it (freq.h).
 * The tick does the same for an event with a late overflow, because the event has become slow.
 *
 * A task can run for short moments only, with an event or two in each. By the rate in them the
 * period would become long, and nearly all of the events would have no sample, though they are far
 * apart. After a sleep the period therefore becomes longer only as far as the rate in the whole
 * time demands, and becomes shorter as long as the frequency allows a sample for each event.
 *
 * Locks: an overflow takes none. The other functions run where the event's context may be changed:
 * under ctx->lock, interrupts off, on the context's CPU or while it is on no CPU.
 */
#include <linux/math64.h>

#include "freq.h"
#include "output.h"

/*
 * event->count is up to date. @now: running time of the event, ns. @gap: time since the last
 * overflow if the task has slept for most of it, ns; else 0. Returns the new period.
 */
static u64 period_adjust(struct perf_event *event, u64 now, u64 gap)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 total = local64_read(&event->count);
	u64 count = total - hwc->freq_count_stamp;
	u64 span = now - hwc->freq_time_stamp;

	hwc->freq_count_stamp = total;
	hwc->freq_time_stamp = now;
	/* No measurement: the event has not counted, or was reset. */
	if (!count || (s64)count < 0 || (s64)span < 0)
		return hwc->sample_period;

	hwc->sample_period = perf_freq_after_sleep(hwc->sample_period, event->attr.sample_freq,
						   count, span, gap);
	return hwc->sample_period;
}

/*
 * @time: the context's clock, ns. @span: running time of the event since its last adjustment, ns.
 * Returns the gap for period_adjust(). The context's clock stands still while the task, or those of
 * the cgroup, sleep; but also while they wait for a CPU. A task that has not switched by itself
 * since the last overflow has only waited.
 */
static u64 period_slept(struct perf_event *event, u64 time, u64 span)
{
	const struct task_struct *task = event->hw.target;
	struct hw_perf_event *hwc = &event->hw;
	/* For how long the clock has stood still, less the time for which it has run. */
	u64 stamp = -READ_ONCE(event->ctx->offset) - time;
	s64 longer = stamp - hwc->freq_sleep_stamp;
	unsigned long sleeps = task ? READ_ONCE(task->nvcsw) : 0;

	if (!hwc->freq_sleep_stamp || (task && sleeps == hwc->freq_sleeps))
		longer = 0;
	hwc->freq_sleep_stamp = stamp;
	hwc->freq_sleeps = sleeps;
	return longer > 0 ? longer + 2 * span : 0;
}

/**
 * perf_freq_overflow - adjust the period of an event that has overflowed
 * @event: event with a frequency; its count is up to date
 *
 * Context: any, NMI included, on the CPU where the event counts
 */
void perf_freq_overflow(struct perf_event *event)
{
	u64 time = perf_ctx_read_time(event->ctx);
	u64 enabled, now;

	perf_event_times(event, time, &enabled, &now);
	period_adjust(event, now, period_slept(event, time, now - event->hw.freq_time_stamp));
}

/**
 * perf_freq_tick - adjust the period of an event with a late overflow
 * @event: ACTIVE event with a frequency, on this CPU
 *
 * An overflow is late after two intervals of the requested frequency. The count of a software event
 * is up to date without pmu::read: mostly such an event was not hit, and nothing is to be done.
 *
 * Context: hard IRQ, ctx->lock, with the context's clock frozen
 */
void perf_freq_tick(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 now = event->ctx->stamp - event->time_stopped;
	u64 interval;
	s64 left;

	lockdep_assert_held(&event->ctx->lock);
	if (is_software_event(event) && local64_read(&event->count) == hwc->freq_count_stamp) {
		hwc->freq_time_stamp = now;
		return;
	}
	interval = div64_u64(NSEC_PER_SEC, max_t(u64, event->attr.sample_freq, 1));
	if (now - hwc->freq_time_stamp < 2 * interval)
		return;

	perf_pmu_disable(event->pmu);
	event->pmu->read(event);
	left = local64_read(&hwc->period_left);
	if (left > (s64)period_adjust(event, now, 0)) {
		perf_event_restart_begin(event);
		hwc->last_period = hwc->sample_period;
		local64_set(&hwc->period_left, hwc->sample_period);
		perf_event_restart_end(event, true);
	}
	perf_pmu_enable(event->pmu);
}

/* The event does not count, or is stopped. */
static void period_set_stopped(struct perf_event *event, u64 value)
{
	struct hw_perf_event *hwc = &event->hw;

	if (event->attr.freq) {
		event->attr.sample_freq = value;
		return;
	}
	event->attr.sample_period = value;
	hwc->sample_period = value;
	hwc->last_period = value;
	local64_set(&hwc->period_left, value);
}

/**
 * perf_event_set_period_value - give a sampling event another period or frequency
 * @event: sampling event
 * @value: the period in events, or the frequency in Hz; checked by the caller
 *
 * A new period starts now. A new frequency takes effect at the next adjustment.
 *
 * Context: interrupts off, ctx->lock, on the context's CPU or while the context is on no CPU
 * Return: 0
 */
int perf_event_set_period_value(struct perf_event *event, u64 value)
{
	bool running = event->state == PERF_EVENT_STATE_ACTIVE &&
		       event->ctx->active_cpu == smp_processor_id();
	bool throttled;

	lockdep_assert_held(&event->ctx->lock);
	if (!running) {
		period_set_stopped(event, value);
		return 0;
	}
	perf_event_restart_begin(event);
	period_set_stopped(event, value);
	throttled = event->hw.interrupts == PERF_THROTTLED;
	if (throttled)
		perf_event_unthrottle(event);
	perf_event_restart_end(event, !throttled);
	return 0;
}
