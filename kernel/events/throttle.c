// SPDX-License-Identifier: GPL-2.0
/*
 * How often events may overflow, and how often those with a frequency shall.
 *
 * Throttling. An event that overflows more than its share of perf_event_max_sample_rate within a
 * tick is stopped until the next tick. Besides, drivers tell how long their interrupts take. If that
 * comes to more than perf_cpu_time_max_percent of a CPU at the rate allowed, the rate is lowered.
 *
 * Frequency. The period is the rate at which the event counts, divided by the frequency wanted. The
 * rate is measured from overflow to overflow in time for which the event has run. While the period
 * is far off it goes straight to what was measured, but not too far at a time; near by it takes a
 * fraction of each difference, so that noise does not shake it. The tick does the same for events
 * that are so slow now that their overflow would be long in coming.
 *
 * Locks: overflow takes none. The tick takes ctx->lock of the contexts on its CPU, one at a time.
 */
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/sysctl.h>
#include <linux/tick.h>

#include "freq.h"
#include "output.h"

#define SAMPLE_RATE_DEFAULT	100000
#define CPU_PERCENT_DEFAULT	25

int sysctl_perf_event_sample_rate __read_mostly = SAMPLE_RATE_DEFAULT;
int sysctl_perf_cpu_time_max_percent __read_mostly = CPU_PERCENT_DEFAULT;

/* Derived from these two; 0 ns if interrupts may take as long as they like. */
unsigned int perf_samples_per_tick __read_mostly = DIV_ROUND_UP(SAMPLE_RATE_DEFAULT, HZ);
static u64 sample_ns_allowed __read_mostly =
	NSEC_PER_SEC / SAMPLE_RATE_DEFAULT * CPU_PERCENT_DEFAULT / 100;

DEFINE_PER_CPU(u64, perf_tick_seq);
static DEFINE_PER_CPU(bool, tick_needed);

/* --------------------------------------------------------------------- limits */

static void derive_limits(void)
{
	u64 rate = READ_ONCE(sysctl_perf_event_sample_rate);
	u64 percent = READ_ONCE(sysctl_perf_cpu_time_max_percent);

	WRITE_ONCE(perf_samples_per_tick, DIV_ROUND_UP(rate, HZ));
	WRITE_ONCE(sample_ns_allowed, percent == 100 ? 0 :
		   max_t(u64, div64_u64(NSEC_PER_SEC * percent, rate * 100), !!percent));
}

static int access_limit(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
			loff_t *ppos)
{
	int ret = proc_dointvec_minmax(table, write, buffer, lenp, ppos);

	if (write && !ret)
		derive_limits();
	return ret;
}

/* /proc/sys/kernel/perf_event_max_sample_rate */
int perf_event_max_sample_rate_handler(const struct ctl_table *table, int write, void *buffer,
				       size_t *lenp, loff_t *ppos)
{
	int percent = READ_ONCE(sysctl_perf_cpu_time_max_percent);

	if (write && (percent == 0 || percent == 100))
		return perf_refuse(-EINVAL, "perf_event_max_sample_rate: perf_cpu_time_max_percent %llu says there is no limit",
				   percent);
	return access_limit(table, write, buffer, lenp, ppos);
}

/* /proc/sys/kernel/perf_cpu_time_max_percent */
int perf_cpu_time_max_percent_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos)
{
	int ret = access_limit(table, write, buffer, lenp, ppos);

	if (write && !ret && !READ_ONCE(sample_ns_allowed))
		pr_warn("perf: sampling may take all the time of a CPU now\n");
	return ret;
}

/* ------------------------------------------------------- how long samples take */

/* Decaying sum of so many lengths. */
#define LENGTHS		128

static DEFINE_PER_CPU(u64, length_sum);
static u64 reported_ns, reported_allowed;

static void report_lowered(struct irq_work *work)
{
	pr_info_ratelimited("perf: a sample takes %llu ns, %llu are allowed: perf_event_max_sample_rate is %d now\n",
			    READ_ONCE(reported_ns), READ_ONCE(reported_allowed),
			    sysctl_perf_event_sample_rate);
}

static DEFINE_IRQ_WORK(lowered_work, report_lowered);

/* To what the CPU's share affords, with a quarter in reserve so that it is not done every time. */
static void lower_rate(u64 ns, u64 allowed)
{
	u64 share = NSEC_PER_SEC / 100 * READ_ONCE(sysctl_perf_cpu_time_max_percent);
	u64 rate = max_t(u64, div64_u64(share, ns + ns / 4), HZ);

	if (rate >= READ_ONCE(sysctl_perf_event_sample_rate))
		return;
	WRITE_ONCE(sysctl_perf_event_sample_rate, rate);
	derive_limits();
	WRITE_ONCE(reported_ns, ns);
	WRITE_ONCE(reported_allowed, allowed);
	irq_work_queue(&lowered_work);
}

/**
 * perf_sample_event_took - a driver's interrupt is over
 * @sample_len_ns: how long it took, ns
 *
 * Context: the interrupt, NMI included
 */
void perf_sample_event_took(u64 sample_len_ns)
{
	u64 allowed = READ_ONCE(sample_ns_allowed);
	u64 sum;

	if (!allowed)
		return;
	sum = __this_cpu_read(length_sum);
	sum += sample_len_ns - sum / LENGTHS;
	__this_cpu_write(length_sum, sum);
	if (unlikely(sum / LENGTHS > allowed))
		lower_rate(sum / LENGTHS, allowed);
}

/* ------------------------------------------------------------------ frequency */

/* Nanoseconds for which the event has run. */
static u64 run_time(struct perf_event *event)
{
	u64 enabled, running;

	perf_event_times(event, perf_ctx_time(event->ctx), &enabled, &running);
	return running;
}

/* The event's count is up to date. Returns the new period. */
static u64 freq_adjust(struct perf_event *event, u64 now)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 total = local64_read(&event->count);
	u64 count = total - hwc->freq_count_stamp;
	u64 span = now - hwc->freq_time_stamp;

	hwc->freq_count_stamp = total;
	hwc->freq_time_stamp = now;
	/* Nothing to go by: it slept, or was reset. */
	if (!count || (s64)count < 0 || (s64)span < 0)
		return hwc->sample_period;

	hwc->sample_period = perf_freq_next(hwc->sample_period, event->attr.sample_freq, count,
					    span);
	return hwc->sample_period;
}

/* An event with a frequency has overflowed. */
void perf_freq_overflow(struct perf_event *event)
{
	freq_adjust(event, run_time(event));
}

/* Is the next overflow two of its intervals late? Then look how far it got. */
static void freq_tick(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 now = run_time(event);
	u64 interval = div64_u64(NSEC_PER_SEC, max_t(u64, event->attr.sample_freq, 1));
	s64 left;

	if (now - hwc->freq_time_stamp < 2 * interval)
		return;

	perf_pmu_disable(event->pmu);
	event->pmu->read(event);
	left = local64_read(&hwc->period_left);
	if (left > (s64)freq_adjust(event, now)) {
		event->pmu->stop(event, PERF_EF_UPDATE);
		hwc->last_period = hwc->sample_period;
		local64_set(&hwc->period_left, hwc->sample_period);
		event->pmu->start(event, PERF_EF_RELOAD);
	}
	perf_pmu_enable(event->pmu);
}

/* ----------------------------------------------------------------- throttling */

/* There must be a tick, even on a CPU that could do without. */
static void ask_for_tick(struct perf_event_context *ctx)
{
	WRITE_ONCE(ctx->throttled, true);
	__this_cpu_write(tick_needed, true);
	tick_dep_set_cpu(smp_processor_id(), TICK_DEP_BIT_PERF_EVENTS);
}

/* Stopped, as soon as the driver is told so, until the next tick. */
void perf_throttle(struct perf_event *event)
{
	event->hw.interrupts = PERF_THROTTLED;
	perf_log_throttle(event, true);
	ask_for_tick(event->ctx);
}

/*
 * It was throttled, has been taken off, and is ACTIVE again: the tick may have come meanwhile, and
 * it stands still. ctx->lock; if its context is on no CPU it is seen to where that comes.
 */
void perf_throttle_goes_on(struct perf_event *event)
{
	if (event->ctx->active_cpu == smp_processor_id())
		ask_for_tick(event->ctx);
	else
		WRITE_ONCE(event->ctx->throttled, true);
}

/**
 * perf_event_account_interrupt - an interrupt of an event that does not come to a sample
 * @event: it
 *
 * Return: 1 if the driver has to stop the event
 */
int perf_event_account_interrupt(struct perf_event *event)
{
	return perf_overflow_account(event, true);
}

/* ACTIVE and on this CPU, ctx->lock. */
void perf_event_unthrottle(struct perf_event *event)
{
	if (event->hw.interrupts != PERF_THROTTLED)
		return;
	event->hw.interrupts = 0;
	perf_pmu_disable(event->pmu);
	perf_log_throttle(event, false);
	event->pmu->start(event, 0);
	perf_pmu_enable(event->pmu);
}

/* ----------------------------------------------------------------------- tick */

static void tick_context(struct perf_event_context *ctx)
{
	struct perf_event *event;

	/* Not active: on a CPU that is going. */
	if (list_empty(&ctx->freq_list) || ctx->active_cpu < 0)
		return;

	guard(raw_spinlock)(&ctx->lock);
	WRITE_ONCE(ctx->throttled, false);
	list_for_each_entry(event, &ctx->freq_list, freq_entry) {
		if (unlikely(event->hw.interrupts == PERF_THROTTLED))
			perf_event_unthrottle(event);
		if (event->attr.freq)
			freq_tick(event);
	}
}

/**
 * perf_unthrottle_in - a task or cgroup with throttled events comes onto this CPU
 * @ctx: its context, locked, its counters loaded
 *
 * There may have been ticks while it was away, and the next one may not find it here. Whatever was
 * throttled in this very tick waits for the next.
 */
void perf_unthrottle_in(struct perf_event_context *ctx)
{
	struct perf_event *event;

	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->throttled, false);
	list_for_each_entry(event, &ctx->freq_list, freq_entry) {
		if (event->hw.interrupts != PERF_THROTTLED)
			continue;
		if (event->hw.interrupts_seq != __this_cpu_read(perf_tick_seq)) {
			perf_event_unthrottle(event);
			continue;
		}
		ask_for_tick(ctx);
	}
}

/* Hard interrupt of the scheduler's tick. Costs what samples on this CPU, not what counts. */
void perf_throttle_tick(void)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	__this_cpu_inc(perf_tick_seq);
	if (unlikely(__this_cpu_read(tick_needed))) {
		__this_cpu_write(tick_needed, false);
		tick_dep_clear_cpu(smp_processor_id(), TICK_DEP_BIT_PERF_EVENTS);
	}

	tick_context(&cpuctx->ctx);
	for (ctx = cpuctx->cgrp_ctx; ctx; ctx = ctx->cgrp_next)
		tick_context(ctx);
	if (cpuctx->task_ctx)
		tick_context(cpuctx->task_ctx);
}
