// SPDX-License-Identifier: GPL-2.0
/*
 * How often events may overflow.
 *
 * An event is stopped until the next tick at the last overflow that perf_event_max_sample_rate
 * allows within a tick. Drivers report how long their interrupts take: if these would use
 * more than perf_cpu_time_max_percent of a CPU at the allowed rate, the rate is lowered.
 *
 * Locks: overflow takes none. The tick takes ctx->lock of the contexts on its CPU, one at a time.
 */
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/sysctl.h>
#include <linux/tick.h>

#include "output.h"

#define SAMPLE_RATE_DEFAULT	100000
#define CPU_PERCENT_DEFAULT	25

int sysctl_perf_event_sample_rate __read_mostly = SAMPLE_RATE_DEFAULT;
int sysctl_perf_cpu_time_max_percent __read_mostly = CPU_PERCENT_DEFAULT;

/*
 * Derived from these two by throttle_derive_limits(). sample_ns_allowed is 0 without a limit. The
 * last of perf_samples_per_tick overflows in a tick throttles, so there are two at least: an event
 * with one overflow in a tick is not too fast for any rate.
 */
unsigned int perf_samples_per_tick __read_mostly = DIV_ROUND_UP(SAMPLE_RATE_DEFAULT, HZ);
static u64 sample_ns_allowed __read_mostly =
	NSEC_PER_SEC / SAMPLE_RATE_DEFAULT * CPU_PERCENT_DEFAULT / 100;

static DEFINE_PER_CPU(bool, tick_needed);

static void throttle_derive_limits(void)
{
	u64 rate = READ_ONCE(sysctl_perf_event_sample_rate);
	u64 percent = READ_ONCE(sysctl_perf_cpu_time_max_percent);

	WRITE_ONCE(perf_samples_per_tick, max(DIV_ROUND_UP_ULL(rate, HZ), 2));
	WRITE_ONCE(sample_ns_allowed, percent == 100 ? 0 :
		   max_t(u64, div64_u64(NSEC_PER_SEC * percent, rate * 100), !!percent));
}

static int throttle_sysctl(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
			   loff_t *ppos)
{
	int ret = proc_dointvec_minmax(table, write, buffer, lenp, ppos);

	if (write && !ret)
		throttle_derive_limits();
	return ret;
}

/* /proc/sys/kernel/perf_event_max_sample_rate */
int perf_event_max_sample_rate_handler(const struct ctl_table *table, int write, void *buffer,
				       size_t *lenp, loff_t *ppos)
{
	int percent = READ_ONCE(sysctl_perf_cpu_time_max_percent);

	if (write && (percent == 0 || percent == 100))
		return perf_refuse(-EINVAL,
				   "perf_event_max_sample_rate: no limit at max_percent %llu",
				   percent);
	return throttle_sysctl(table, write, buffer, lenp, ppos);
}

/* /proc/sys/kernel/perf_cpu_time_max_percent */
int perf_cpu_time_max_percent_handler(const struct ctl_table *table, int write, void *buffer,
				      size_t *lenp, loff_t *ppos)
{
	int ret = throttle_sysctl(table, write, buffer, lenp, ppos);

	if (write && !ret && !READ_ONCE(sample_ns_allowed))
		pr_warn("perf: sampling may take all the time of a CPU now\n");
	return ret;
}

/* Interrupts over which the average duration decays. */
#define DURATION_WINDOW		128

/* DURATION_WINDOW times the average duration of an interrupt, ns. */
static DEFINE_PER_CPU(u64, duration_sum);
static u64 reported_ns, reported_allowed;

static void throttle_report_lowered(struct irq_work *work)
{
	pr_info_ratelimited("perf: sample took %llu of %llu ns: perf_event_max_sample_rate %d\n",
			    READ_ONCE(reported_ns), READ_ONCE(reported_allowed),
			    sysctl_perf_event_sample_rate);
}

static DEFINE_IRQ_WORK(lowered_work, throttle_report_lowered);

/* Lowers the rate to what fits into the CPU's share, with a margin so that this is not repeated. */
static void throttle_lower_rate(u64 ns, u64 allowed)
{
	u64 share = NSEC_PER_SEC / 100 * READ_ONCE(sysctl_perf_cpu_time_max_percent);
	u64 rate = max_t(u64, div64_u64(share, ns + ns / 4), HZ);

	if (rate >= READ_ONCE(sysctl_perf_event_sample_rate))
		return;
	WRITE_ONCE(sysctl_perf_event_sample_rate, rate);
	throttle_derive_limits();
	WRITE_ONCE(reported_ns, ns);
	WRITE_ONCE(reported_allowed, allowed);
	perf_irq_work_queue(&lowered_work);
}

void perf_sample_event_took(u64 sample_len_ns)
{
	u64 allowed = READ_ONCE(sample_ns_allowed);
	u64 sum;

	if (!allowed)
		return;
	sum = __this_cpu_read(duration_sum);
	sum += sample_len_ns - sum / DURATION_WINDOW;
	__this_cpu_write(duration_sum, sum);
	if (unlikely(sum / DURATION_WINDOW > allowed))
		throttle_lower_rate(sum / DURATION_WINDOW, allowed);
}

/* A throttled event needs the next tick, also on a CPU that has stopped its tick. */
static void throttle_request_tick(struct perf_event_context *ctx)
{
	WRITE_ONCE(ctx->throttled, true);
	__this_cpu_write(tick_needed, true);
	tick_dep_set_cpu(smp_processor_id(), TICK_DEP_BIT_PERF_EVENTS);
}

/**
 * perf_throttle - throttle an event until the next tick
 * @event: event on this CPU; its driver stops it when perf_event_overflow() returns 1
 *
 * Context: any, NMI included
 */
void perf_throttle(struct perf_event *event)
{
	event->hw.interrupts = PERF_THROTTLED;
	perf_log_throttle(event, true);
	throttle_request_tick(event->ctx);
}

/**
 * perf_rethrottle_pending - have a throttled event unthrottled that is ACTIVE again
 * @event: event that was throttled when it was unloaded; it is stopped
 *
 * There may have been a tick while @event was not loaded. If its context is inactive
 * perf_unthrottle_in() will unthrottle it.
 *
 * Context: ctx->lock
 */
void perf_rethrottle_pending(struct perf_event *event)
{
	lockdep_assert_held(&event->ctx->lock);
	if (event->ctx->active_cpu == smp_processor_id())
		throttle_request_tick(event->ctx);
	else
		WRITE_ONCE(event->ctx->throttled, true);
}

int perf_event_account_interrupt(struct perf_event *event)
{
	return perf_overflow_account(event, true);
}

/**
 * perf_event_unthrottle - start a throttled event
 * @event: event that is ACTIVE on this CPU; nothing happens if it is not throttled
 *
 * Context: interrupts off, ctx->lock
 */
void perf_event_unthrottle(struct perf_event *event)
{
	lockdep_assert_held(&event->ctx->lock);
	if (event->hw.interrupts != PERF_THROTTLED)
		return;
	event->hw.interrupts = 0;
	perf_pmu_disable(event->pmu);
	perf_log_throttle(event, false);
	event->pmu->start(event, 0);
	perf_pmu_enable(event->pmu);
}

static void throttle_tick_ctx(struct perf_event_context *ctx)
{
	struct perf_event *event;

	/* The context is inactive if the CPU is being unplugged. */
	if (list_empty(&ctx->freq_list) || ctx->active_cpu < 0)
		return;

	guard(raw_spinlock)(&ctx->lock);
	WRITE_ONCE(ctx->throttled, false);
	perf_ctx_freeze(ctx, perf_clock());
	list_for_each_entry(event, &ctx->freq_list, freq_entry) {
		if (unlikely(event->hw.interrupts == PERF_THROTTLED))
			perf_event_unthrottle(event);
		if (event->attr.freq)
			perf_freq_tick(event);
	}
	perf_ctx_thaw(ctx);
}

/**
 * perf_unthrottle_in - unthrottle the events of a task or cgroup that is switched in
 * @ctx: context of the task or cgroup; its events are loaded
 *
 * There may have been ticks while the context was inactive, and it may be inactive at the next
 * tick, or an idle CPU may have stopped its tick. Events that were throttled since the last tick of
 * any CPU wait for the next one of this CPU.
 *
 * Context: interrupts off, ctx->lock
 */
void perf_unthrottle_in(struct perf_event_context *ctx)
{
	struct perf_event *event;
	u64 now = jiffies;

	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->throttled, false);
	list_for_each_entry(event, &ctx->freq_list, freq_entry) {
		if (event->hw.interrupts != PERF_THROTTLED)
			continue;
		if (event->hw.interrupts_seq != now)
			perf_event_unthrottle(event);
		else
			throttle_request_tick(ctx);
	}
}

/**
 * perf_throttle_tick - unthrottle events and adjust frequencies on this CPU
 *
 * The cost depends on the sampling events of the CPU, not on the counting ones.
 *
 * Context: hard IRQ of the scheduler's tick; takes ctx->lock
 */
void perf_throttle_tick(void)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (unlikely(__this_cpu_read(tick_needed))) {
		__this_cpu_write(tick_needed, false);
		tick_dep_clear_cpu(smp_processor_id(), TICK_DEP_BIT_PERF_EVENTS);
	}

	throttle_tick_ctx(&cpuctx->ctx);
	for_each_cgrp_ctx(ctx, cpuctx)
		throttle_tick_ctx(ctx);
	if (cpuctx->task_ctx)
		throttle_tick_ctx(cpuctx->task_ctx);
}
