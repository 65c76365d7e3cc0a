/* SPDX-License-Identifier: GPL-2.0 */
/* A software event that tests raise as they like, and what they do with it. */
#ifndef _KERNEL_EVENTS_TESTS_SOFT_H
#define _KERNEL_EVENTS_TESTS_SOFT_H

#include <kunit/test.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

/* What no other code of a test machine raises. */
#define SOFT	PERF_COUNT_SW_EMULATION_FAULTS

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

static inline u64 value_of(struct perf_event *event)
{
	u64 enabled, running;

	return perf_event_read_value(event, &enabled, &running);
}

static inline void need_two_cpus(struct kunit *test)
{
	if (!cpu_online(1))
		kunit_skip(test, "needs CPUs 0 and 1");
}

#endif
