/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch records of a CPU (last branch records): shared by the events that have
 * X86_EVENT_BRANCHES, saved for tasks and guests, and read for samples.
 */
#ifndef _ARCH_X86_EVENTS_LBR_H
#define _ARCH_X86_EVENTS_LBR_H

#include "pmu.h"

struct x86_branch_raw;

/*
 * hw_perf_event::branch_reg of an event with X86_EVENT_BRANCHES: config is the value of the filter
 * register reg, which is 0 if the part has none, and idx is the x86_branch_filter().
 */
static inline u32 x86_event_branch_filter(const struct perf_event *event)
{
	return event->hw.branch_reg.idx;
}

/* Is the event in call-stack mode? */
static inline bool x86_event_branch_stack(const struct perf_event *event)
{
	return event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

void x86_lbr_load(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_lbr_unload(struct x86_pmu_cpu *cpu, u64 counters);
void x86_lbr_counts_moved(struct x86_pmu_cpu *cpu);
void x86_lbr_load_guest(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_lbr_unload_guest(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_lbr_irq_begin(struct x86_pmu_cpu *cpu);
void x86_lbr_irq_log(struct x86_pmu_cpu *cpu);
void x86_lbr_irq_end(struct x86_pmu_cpu *cpu);
bool x86_lbr_newest(struct x86_pmu_cpu *cpu, struct perf_branch_entry *entry);
void x86_lbr_sample(struct x86_pmu_cpu *cpu, struct perf_event *event,
		    struct perf_sample_data *data);
void x86_lbr_sample_logged(struct x86_pmu_cpu *cpu, struct perf_event *event,
			   struct perf_sample_data *data, const struct x86_branch_raw *raw,
			   unsigned int nr);
void x86_lbr_sched_task(struct x86_pmu_cpu *cpu);
bool x86_lbr_holds_overflows(const struct x86_pmu_cpu *cpu);
void x86_lbr_cpu_stop(struct x86_pmu_cpu *cpu);
void x86_lbr_cpu_reset(struct x86_pmu_cpu *cpu);
void x86_lbr_init(const struct x86_pmu *xpmu);
struct kmem_cache *x86_lbr_task_cache(const struct x86_pmu *xpmu);
int  x86_lbr_snapshot(struct perf_branch_entry *entries, unsigned int cnt);

#endif /* _ARCH_X86_EVENTS_LBR_H */
