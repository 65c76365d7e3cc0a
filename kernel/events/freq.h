/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which period gives a frequency: arithmetic only, so that a test can try it out. How it works is
 * explained in throttle.c.
 */
#ifndef _KERNEL_EVENTS_FREQ_H
#define _KERNEL_EVENTS_FREQ_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

/* A period that is off by more than the factor FAR is far off, and changes by FAR_STEP at most. */
#define PERF_FREQ_FAR		2
#define PERF_FREQ_FAR_STEP	8
/* Near by, one part in so many of the difference is made up for each time. */
#define PERF_FREQ_NEAR_PART	8

#define PERF_FREQ_PERIOD_MAX	(1ULL << 40)
/* Measurements outside of this are not used as they are, ns. */
#define PERF_FREQ_SPAN_MIN	128ULL
#define PERF_FREQ_SPAN_MAX	(1ULL << 32)

/* What the period would have to be for @freq, going by @count events in @span ns. */
static inline u64 perf_freq_wanted(u64 freq, u64 count, u64 span)
{
	freq = max(freq, 1ULL);
	count = min(count, PERF_FREQ_PERIOD_MAX);
	span = clamp(span, PERF_FREQ_SPAN_MIN, PERF_FREQ_SPAN_MAX);
	return mul_u64_u64_div_u64(count, NSEC_PER_SEC, freq * span);
}

/* A part of the way from one period to another, but at least a step. */
static inline u64 perf_freq_nearer(u64 period, u64 wanted)
{
	s64 step = (s64)(wanted - period) / PERF_FREQ_NEAR_PART;

	if (step)
		return period + step;
	return wanted > period ? period + 1 : wanted < period ? period - 1 : period;
}

/**
 * perf_freq_next - the next period of an event
 * @period: its period now
 * @freq: overflows a second that are wanted
 * @count: events
 * @span: time in which they came, ns
 *
 * Return: the period, at least 1
 */
static inline u64 perf_freq_next(u64 period, u64 freq, u64 count, u64 span)
{
	u64 wanted = perf_freq_wanted(freq, count, span);

	if (wanted > period * PERF_FREQ_FAR || wanted < period / PERF_FREQ_FAR)
		period = clamp(wanted, period / PERF_FREQ_FAR_STEP, period * PERF_FREQ_FAR_STEP);
	else
		period = perf_freq_nearer(period, wanted);
	return clamp(period, 1ULL, PERF_FREQ_PERIOD_MAX);
}

#endif
