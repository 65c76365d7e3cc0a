/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of the CPU PMU framework for its own files and for PMUv3.
 */
#ifndef __ARM_PMU_INTERNAL_H
#define __ARM_PMU_INTERNAL_H

#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/perf/arm_pmu.h>

static inline struct arm_pmu *armpmu_of_dev(struct device *dev)
{
	return to_arm_pmu((struct pmu *)dev_get_drvdata(dev));
}

/* arm_pmu.c: for drivers that replace members of arm_pmu::pmu. */
int  armpmu_event_setup(struct perf_event *event);
s64  armpmu_period_left(struct perf_event *event, bool *began);
s64  armpmu_period_resume(struct perf_event *event);

/*
 * If the period of a sampling event ended while the event was being stopped, no interrupt follows:
 * armpmu_period_resume() makes up for the overflow.
 */
static inline void armpmu_mark_overdue(struct hw_perf_event *hw)
{
	if (local64_read(&hw->period_left) <= 0)
		hw->flags |= ARMPMU_EVT_OVERDUE;
}

/* arm_pmu_irq.c: the interrupt line of each CPU, and whether any of them is an NMI. */
extern bool armpmu_has_nmi;
int  armpmu_irq_of_cpu(int cpu);
void armpmu_irq_bind(struct arm_pmu *pmu, int cpu);
void armpmu_irq_unbind(struct arm_pmu *pmu);
void armpmu_irq_enable(int cpu);
void armpmu_irq_disable(int cpu);

#endif
