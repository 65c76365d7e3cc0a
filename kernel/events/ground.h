/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 1: what everything stands on and what knows nothing of contexts.
 *
 * Saying why something was refused, the clock, limits, guest callbacks, call chain buffers and the
 * order of groups. Ring-buffer memory has its own header, buffer.h.
 */
#ifndef _KERNEL_EVENTS_GROUND_H
#define _KERNEL_EVENTS_GROUND_H

#include <linux/perf_event.h>
#include <linux/sched/clock.h>

/* refuse.c; perf_refuse() itself is in the public header, for drivers */
int perf_refusal_format(char *buf, size_t size);
unsigned int perf_refusals(void);
int __init perf_refuse_init(void);

/* Nanoseconds; NMI-safe; monotonic on one CPU. The clock of every context. */
static __always_inline u64 perf_clock(void)
{
	return local_clock();
}

/* callchain.c */

/* groups.c: a PMU context's flexible groups, the least served first. */
struct rb_root_cached;
void perf_groups_insert(struct rb_root_cached *tree, struct perf_event *leader);
void perf_groups_remove(struct rb_root_cached *tree, struct perf_event *leader);
struct perf_event *perf_groups_first(struct rb_root_cached *tree);
struct perf_event *perf_groups_next(struct perf_event *leader);

#endif
