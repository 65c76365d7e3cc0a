/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Top-down metrics, see intel/topdown.c.
 */
#ifndef _ARCH_X86_EVENTS_TOPDOWN_H
#define _ARCH_X86_EVENTS_TOPDOWN_H

#include "pmu.h"

/* Shares of the slots are given in parts of this. */
#define X86_TOPDOWN_WHOLE	255

/* ECX of RDPMC for PERF_METRICS. */
#define X86_METRICS_RDPMC	BIT(29)

/* Selections of the metrics: of the first one and the last one. */
#define X86_METRIC_FIRST	0x8000
#define X86_METRIC_LAST		0x8700

/* The numbers of the first @n metrics. */
static inline u64 x86_metrics_mask(unsigned int n)
{
	return ((1ULL << n) - 1) << X86_METRIC_BASE;
}

#ifdef CONFIG_CPU_SUP_INTEL
u64  x86_topdown_count(u64 slots, u8 byte, u64 rest);
u64  x86_topdown_rest(u64 slots, u8 byte, u64 rest);
int  x86_topdown_init(const struct x86_pmu *xpmu, struct perf_event *event);
void x86_topdown_load(struct x86_pmu_cpu *cpu, u64 taken);
u64  x86_topdown_unload(struct x86_pmu_cpu *cpu, u64 counters, u64 stop);
void x86_topdown_read(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_topdown_irq(struct x86_pmu_cpu *cpu);
void x86_topdown_suspend(struct x86_pmu_cpu *cpu);
void x86_topdown_resume(struct x86_pmu_cpu *cpu);
void intel_topdown_setup(struct x86_pmu *xpmu);
#else
static inline int x86_topdown_init(const struct x86_pmu *xpmu, struct perf_event *event)
{
	return 0;
}

static inline u64 x86_topdown_unload(struct x86_pmu_cpu *cpu, u64 counters, u64 stop)
{
	return counters;
}

static inline void x86_topdown_load(struct x86_pmu_cpu *cpu, u64 taken)	{ }
static inline void x86_topdown_read(struct x86_pmu_cpu *cpu, struct perf_event *event)	{ }
static inline void x86_topdown_irq(struct x86_pmu_cpu *cpu)		{ }
static inline void x86_topdown_suspend(struct x86_pmu_cpu *cpu)		{ }
static inline void x86_topdown_resume(struct x86_pmu_cpu *cpu)		{ }
#endif

#endif /* _ARCH_X86_EVENTS_TOPDOWN_H */
