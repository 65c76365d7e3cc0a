/* SPDX-License-Identifier: GPL-2.0 */
/* A software event that tests raise as they like, and what they do with it. */
#ifndef _KERNEL_EVENTS_TESTS_SOFT_H
#define _KERNEL_EVENTS_TESTS_SOFT_H

#include <linux/perf_event.h>
#include <linux/smp.h>

#include "helpers.h"

/* What no other code of a test machine raises. */
#define SOFT	PERF_COUNT_SW_EMULATION_FAULTS

static inline struct perf_event_attr soft_attr(u64 period)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = SOFT,
		.sample_period = period,
	};
}

static inline void raise_one(void *unused)
{
	struct pt_regs regs = {};

	perf_sw_event(SOFT, 1, &regs, 0);
}

/* One after the other: what an overflow leaves to irq_work is done before the next. */
static inline void raise_here(unsigned int nr)
{
	while (nr--)
		raise_one(NULL);
}

static inline void raise_on(int cpu, unsigned int nr)
{
	while (nr--)
		smp_call_function_single(cpu, raise_one, NULL, 1);
}

#endif /* _KERNEL_EVENTS_TESTS_SOFT_H */
