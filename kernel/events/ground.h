/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 1: what everything stands on and what knows nothing of contexts.
 *
 * Saying why something was refused, the clock, limits, guest callbacks and call chain buffers.
 * Ring-buffer memory has its own header, buffer.h.
 */
#ifndef _KERNEL_EVENTS_GROUND_H
#define _KERNEL_EVENTS_GROUND_H

#include <linux/perf_event.h>
#include <linux/sched/clock.h>

/* refuse.c; perf_refuse() itself is in the public header, for drivers */
int perf_refusal_format(char *buf, size_t size);
unsigned int perf_refusals(void);
bool perf_refused_since(unsigned int before);
int __init perf_refuse_init(void);

/**
 * struct perf_callchain_buffer - what a call chain is collected in
 * @busy: somebody needs what is in it
 * @chain: the chain
 */
struct perf_callchain_buffer {
	u64				busy;
	struct perf_callchain_entry	chain;
};

/* A sample's call chain is not needed any more. @chain: from perf_callchain(), as every sample's is. */
static __always_inline void perf_callchain_release(struct perf_callchain_entry *chain)
{
	barrier();
	WRITE_ONCE(container_of(chain, struct perf_callchain_buffer, chain)->busy, 0);
}

/* Nanoseconds; NMI-safe; monotonic on one CPU. The clock of every context. */
static __always_inline u64 perf_clock(void)
{
	return local_clock();
}

#endif
