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
 * Locks: an overflow takes none. The other functions run where the event's context may be changed:
 * under ctx->lock, interrupts off, on the context's CPU or while it is on no CPU.
 */
#include <linux/math64.h>

#include "freq.h"
#include "output.h"

static u64 period_run_time(struct perf_event *event)
{
	u64 enabled, running;

	perf_event_times(event, perf_ctx_read_time(event->ctx), &enabled, &running);
	return running;
}

/* event->count is up to date. @now: running time of the event, ns. Returns the new period. */
static u64 period_adjust(struct perf_event *event, u64 now)
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

	hwc->sample_period = perf_freq_next(hwc->sample_period, event->attr.sample_freq, count,
					    span);
	return hwc->sample_period;
}

/**
 * perf_freq_overflow - adjust the period of an event that has overflowed
 * @event: event with a frequency; its count is up to date
 *
 * Context: any, NMI included, on the CPU where the event counts
 */
void perf_freq_overflow(struct perf_event *event)
{
	period_adjust(event, period_run_time(event));
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
	if (left > (s64)period_adjust(event, now)) {
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
