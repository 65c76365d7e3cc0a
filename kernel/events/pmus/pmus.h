/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 3, pmus: the PMUs of software events, clocks, tracing and breakpoints.
 */
#ifndef _KERNEL_EVENTS_PMUS_H
#define _KERNEL_EVENTS_PMUS_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 3
# error "kernel/events/pmus is a higher layer than this file"
#endif

#include "../output/output.h"

/* software.c */
void perf_swevent_event(struct perf_event *event, u64 nr, struct perf_sample_data *data,
			struct pt_regs *regs);
int  perf_swevent_init(struct perf_event *event);
void perf_swevent_start(struct perf_event *event, int flags);
void perf_swevent_stop(struct perf_event *event, int flags);
void perf_swevent_read(struct perf_event *event);
extern struct pmu perf_software_pmu;
int __init perf_software_init(void);

/* clock.c */
int  perf_clock_pmu_type(u64 config);
int __init perf_clock_pmus_init(void);

/* tracepoint.c */
int __init perf_tracepoint_init(void);
int perf_tracepoint_set_filter(struct perf_event *event, char *filter);
void perf_tracepoint_free_filter(struct perf_event *event);
bool perf_event_is_tracing(struct perf_event *event);

/* breakpoint.c */
#ifdef CONFIG_HAVE_HW_BREAKPOINT
struct arch_hw_breakpoint;
int  perf_bp_parse(struct perf_event *bp, const struct perf_event_attr *attr,
		   struct arch_hw_breakpoint *hw);
int  perf_bp_commit(struct perf_event *bp, const struct perf_event_attr *attr,
		    const struct arch_hw_breakpoint *hw);
bool perf_bp_differs(const struct perf_event *child, const struct perf_event *parent);
void perf_bp_copy(struct perf_event *child, const struct perf_event *parent);
#else
static inline bool perf_bp_differs(const struct perf_event *child, const struct perf_event *parent)
{
	return false;
}

static inline void perf_bp_copy(struct perf_event *child, const struct perf_event *parent) { }
#endif

#endif
