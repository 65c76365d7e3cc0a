/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The period for a frequency: arithmetic only, so that it can be tested. period.c explains
 * how it is used.
 */
#ifndef _KERNEL_EVENTS_FREQ_H
#define _KERNEL_EVENTS_FREQ_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 2
# error "kernel/events/output is a higher layer than this file"
#endif

#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* A period that is off by more than the factor FAR changes by at most the factor FAR_STEP. */
#define PERF_FREQ_FAR		2
#define PERF_FREQ_FAR_STEP	8
/* Otherwise it changes by the difference divided by this. */
#define PERF_FREQ_NEAR_PART	8

#define PERF_FREQ_PERIOD_MAX	BIT_ULL(40)
/* Measured times are clamped to this range, ns. */
#define PERF_FREQ_SPAN_MIN	128ULL
#define PERF_FREQ_SPAN_MAX	BIT_ULL(32)

/* The period for @freq Hz at a rate of @count events in @span ns. */
static inline u64 perf_freq_wanted(u64 freq, u64 count, u64 span)
{
	freq = max(freq, 1ULL);
	count = min(count, PERF_FREQ_PERIOD_MAX);
	span = clamp(span, PERF_FREQ_SPAN_MIN, PERF_FREQ_SPAN_MAX);
	return mul_u64_u64_div_u64(count, NSEC_PER_SEC, freq * span);
}

/* A period that is closer to @wanted than @period is, by at least 1. */
static inline u64 perf_freq_nearer(u64 period, u64 wanted)
{
	s64 step = (s64)(wanted - period) / PERF_FREQ_NEAR_PART;

	if (step)
		return period + step;
	return wanted > period ? period + 1 : wanted < period ? period - 1 : period;
}

/* The period that follows @period if @wanted is measured, 1 to PERF_FREQ_PERIOD_MAX. */
static inline u64 perf_freq_step(u64 period, u64 wanted)
{
	if (wanted > period * PERF_FREQ_FAR || wanted < period / PERF_FREQ_FAR)
		period = clamp(wanted, period / PERF_FREQ_FAR_STEP, period * PERF_FREQ_FAR_STEP);
	else
		period = perf_freq_nearer(period, wanted);
	return clamp(period, 1ULL, PERF_FREQ_PERIOD_MAX);
}

/**
 * perf_freq_next - compute the next period of an event with a frequency
 * @period: its current period, events
 * @freq: requested frequency, Hz
 * @count: events counted during @span
 * @span: measured running time, ns
 *
 * Context: any, NMI included
 * Return: the next period, 1 to PERF_FREQ_PERIOD_MAX
 */
static inline u64 perf_freq_next(u64 period, u64 freq, u64 count, u64 span)
{
	return perf_freq_step(period, perf_freq_wanted(freq, count, span));
}

/**
 * perf_freq_after_sleep - perf_freq_next() for an event of a task that may have slept
 * @period: its current period, events
 * @freq: requested frequency, Hz
 * @count: events counted during @span
 * @span: measured running time, ns
 * @gap: time in which @count events were, with the sleep, ns; 0: the task has not slept
 *
 * If the frequency allows a sample for each of the events, their rate is that of the whole time.
 * Otherwise it is that of the running time, but the period becomes longer only as far as the rate
 * of the whole time demands.
 *
 * Context: any, NMI included
 * Return: the next period, 1 to PERF_FREQ_PERIOD_MAX
 */
static inline u64 perf_freq_after_sleep(u64 period, u64 freq, u64 count, u64 span, u64 gap)
{
	bool few = gap && min_t(u64, count, U32_MAX) * NSEC_PER_SEC <=
			  freq * min(gap, PERF_FREQ_SPAN_MAX);
	u64 most = perf_freq_wanted(freq, count, few ? gap : span);
	u64 least = gap ? perf_freq_wanted(freq, count, gap) : most;

	return perf_freq_step(period, clamp(period, least, most));
}

#endif
