/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wing: PMUs that are software. They use the public header and floors 1 to 3.
 */
#ifndef _KERNEL_EVENTS_WING_H
#define _KERNEL_EVENTS_WING_H

#include "output.h"

/* software.c */
void perf_swevent_event(struct perf_event *event, u64 nr, struct perf_sample_data *data,
			struct pt_regs *regs);
int  perf_swevent_init(struct perf_event *event);
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

#endif
