/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the CPU PMU framework share among themselves and with PMUv3.
 */
#ifndef __ARM_PMU_INTERNAL_H
#define __ARM_PMU_INTERNAL_H

#include <linux/cpumask.h>
#include <linux/perf/arm_pmu.h>

/* arm_pmu.c: pieces for drivers that replace members of arm_pmu::pmu. */
int  armpmu_event_setup(struct perf_event *event);
bool armpmu_counts_in_group(struct perf_event *member, struct perf_event *newcomer);
s64  armpmu_period_left(struct perf_event *event, bool *began);
s64  armpmu_period_resume(struct perf_event *event);

/* A sampling event that is being stopped may have overflowed without anybody having been told. */
static inline void armpmu_mark_overdue(struct hw_perf_event *hw)
{
	if (local64_read(&hw->period_left) <= 0)
		hw->flags |= ARMPMU_EVT_OVERDUE;
}

/* arm_pmu_irq.c: the interrupt line of each CPU; whether any of them is an NMI. */
extern bool armpmu_has_nmi;
int  armpmu_irq_of_cpu(int cpu);
void armpmu_irq_bind(struct arm_pmu *pmu, int cpu);
void armpmu_irq_unbind(struct arm_pmu *pmu);
void armpmu_irq_enable(int cpu);
void armpmu_irq_disable(int cpu);

#endif
