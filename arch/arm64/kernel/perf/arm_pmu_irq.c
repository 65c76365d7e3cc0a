// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow interrupts of the CPU PMUs.
 *
 * Each CPU has one line: a private interrupt (PPI), with one number for several CPUs, or a shared
 * interrupt (SPI) of its own. Either is an NMI if the interrupt controller supports that. A line is
 * requested before its PMU is registered; each CPU unmasks its own line when it is brought online.
 *
 * Requests and releases are serialized by probing. Enabling and disabling run on the CPU itself
 * with interrupts off. The handler reads its own CPU's struct armpmu_irq only.
 */
#define pr_fmt(fmt) "arm_pmu: " fmt

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

#include "arm_pmu_internal.h"

/**
 * struct armpmu_irq_ops - operations on one type of interrupt line
 * @enable: unmask the line on this CPU; interrupts off
 * @disable: mask the line on this CPU; interrupts off
 * @free: free the interrupt; called for the last CPU with this interrupt number; may sleep
 * @nmi: the line is an NMI
 */
struct armpmu_irq_ops {
	void	(*enable)(unsigned int irq);
	void	(*disable)(unsigned int irq);
	void	(*free)(unsigned int irq, int cpu);
	bool	nmi;
};

/**
 * struct armpmu_irq - the overflow interrupt of one CPU
 * @pmu: PMU that signals overflows by the line; NULL until the PMU is registered
 * @ops: operations on the line
 * @irq: Linux interrupt number; 0 if there is none
 */
struct armpmu_irq {
	struct arm_pmu		*pmu;
	const struct armpmu_irq_ops	*ops;
	int			irq;
};

static DEFINE_PER_CPU(struct armpmu_irq, armpmu_irq);

bool armpmu_has_nmi __read_mostly;

/**
 * arm_pmu_irq_is_nmi - are overflow interrupts NMIs?
 *
 * For the hard lockup detector, which detects nothing without NMIs.
 *
 * Context: any.
 * Return: true if any CPU's line is an NMI.
 */
bool arm_pmu_irq_is_nmi(void)
{
	return armpmu_has_nmi;
}

/* The time that the handler takes limits the sampling rate. */
static irqreturn_t armpmu_irq_handler(int irq, void *data)
{
	struct armpmu_irq *line = data;
	struct arm_pmu *pmu = line->pmu;
	irqreturn_t ret;
	u64 begin;

	if (WARN_ON_ONCE(!pmu))
		return IRQ_NONE;

	begin = sched_clock();
	ret = pmu->handle_irq(pmu);
	perf_sample_event_took(sched_clock() - begin);

	return ret;
}

static void armpmu_spi_free(unsigned int irq, int cpu)
{
	free_irq(irq, per_cpu_ptr(&armpmu_irq, cpu));
}

static void armpmu_spi_nmi_free(unsigned int irq, int cpu)
{
	free_nmi(irq, per_cpu_ptr(&armpmu_irq, cpu));
}

static void armpmu_ppi_enable(unsigned int irq)
{
	enable_percpu_irq(irq, IRQ_TYPE_NONE);
}

static void armpmu_ppi_free(unsigned int irq, int cpu)
{
	free_percpu_irq(irq, &armpmu_irq);
}

static void armpmu_ppi_nmi_enable(unsigned int irq)
{
	if (prepare_percpu_nmi(irq)) {
		pr_err("CPU%u: interrupt %u cannot be an NMI\n", smp_processor_id(), irq);
		return;
	}
	enable_percpu_nmi(irq, IRQ_TYPE_NONE);
}

static void armpmu_ppi_nmi_disable(unsigned int irq)
{
	disable_percpu_nmi(irq);
	teardown_percpu_nmi(irq);
}

static void armpmu_ppi_nmi_free(unsigned int irq, int cpu)
{
	free_percpu_nmi(irq, &armpmu_irq);
}

static const struct armpmu_irq_ops armpmu_spi_ops = {
	.enable		= enable_irq,
	.disable	= disable_irq_nosync,
	.free		= armpmu_spi_free,
};

static const struct armpmu_irq_ops armpmu_spi_nmi_ops = {
	.enable		= enable_nmi,
	.disable	= disable_nmi_nosync,
	.free		= armpmu_spi_nmi_free,
	.nmi		= true,
};

static const struct armpmu_irq_ops armpmu_ppi_ops = {
	.enable		= armpmu_ppi_enable,
	.disable	= disable_percpu_irq,
	.free		= armpmu_ppi_free,
};

static const struct armpmu_irq_ops armpmu_ppi_nmi_ops = {
	.enable		= armpmu_ppi_nmi_enable,
	.disable	= armpmu_ppi_nmi_disable,
	.free		= armpmu_ppi_nmi_free,
	.nmi		= true,
};

static unsigned int armpmu_irq_nr_cpus(int irq)
{
	unsigned int n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += per_cpu(armpmu_irq.irq, cpu) == irq;

	return n;
}

static const struct armpmu_irq_ops *armpmu_irq_ops_of(int irq)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (per_cpu(armpmu_irq.irq, cpu) == irq)
			return per_cpu(armpmu_irq.ops, cpu);
	}
	return NULL;
}

/* A PPI is requested once for all of its CPUs. */
static int armpmu_request_ppi(int irq, const struct armpmu_irq_ops **ops)
{
	*ops = armpmu_irq_ops_of(irq);
	if (*ops)
		return 0;

	*ops = &armpmu_ppi_nmi_ops;
	if (!request_percpu_nmi(irq, armpmu_irq_handler, "arm-pmu", &armpmu_irq))
		return 0;

	*ops = &armpmu_ppi_ops;
	return request_percpu_irq(irq, armpmu_irq_handler, "arm-pmu", &armpmu_irq);
}

/* An SPI is handled on the CPU of its counters: no balancing, no threading. */
static int armpmu_request_spi(int irq, int cpu, const struct armpmu_irq_ops **ops)
{
	unsigned long flags = IRQF_PERCPU | IRQF_NOBALANCING | IRQF_NO_AUTOEN | IRQF_NO_THREAD;
	struct armpmu_irq *line = per_cpu_ptr(&armpmu_irq, cpu);
	int err;

	err = irq_force_affinity(irq, cpumask_of(cpu));
	if (err && num_possible_cpus() > 1) {
		pr_warn("interrupt %d cannot be moved to CPU%d\n", irq, cpu);
		return err;
	}

	*ops = &armpmu_spi_nmi_ops;
	if (!request_nmi(irq, armpmu_irq_handler, flags, "arm-pmu", line))
		return 0;

	*ops = &armpmu_spi_ops;
	return request_irq(irq, armpmu_irq_handler, flags, "arm-pmu", line);
}

/**
 * armpmu_request_irq - request the overflow interrupt of a CPU, masked
 * @irq: Linux interrupt number; 0 if the CPU has none, which is no error
 * @cpu: possible CPU
 *
 * Context: process context, probing; may sleep.
 * Return: 0 or -errno.
 */
int armpmu_request_irq(int irq, int cpu)
{
	struct armpmu_irq *line = per_cpu_ptr(&armpmu_irq, cpu);
	const struct armpmu_irq_ops *ops;
	int err;

	if (!irq)
		return 0;

	if (irq_is_percpu_devid(irq))
		err = armpmu_request_ppi(irq, &ops);
	else if (armpmu_irq_nr_cpus(irq))
		err = -EBUSY;
	else
		err = armpmu_request_spi(irq, cpu, &ops);
	if (err) {
		pr_err("CPU%d: interrupt %d cannot be requested (%d)\n", cpu, irq, err);
		return err;
	}

	line->ops = ops;
	line->irq = irq;
	armpmu_has_nmi |= ops->nmi;
	return 0;
}

/**
 * armpmu_free_irq - free the overflow interrupt of a CPU
 * @irq: number that was passed to armpmu_request_irq(); 0 does nothing
 * @cpu: CPU that was passed to armpmu_request_irq()
 *
 * Context: process context, probing; may sleep.
 */
void armpmu_free_irq(int irq, int cpu)
{
	struct armpmu_irq *line = per_cpu_ptr(&armpmu_irq, cpu);
	const struct armpmu_irq_ops *ops = line->ops;

	if (!irq || WARN_ON(line->irq != irq))
		return;

	line->irq = 0;
	line->ops = NULL;
	if (!armpmu_irq_nr_cpus(irq))
		ops->free(irq, cpu);
}

/**
 * armpmu_irq_of_cpu - overflow interrupt of a CPU
 * @cpu: possible CPU
 *
 * Context: any.
 * Return: Linux interrupt number; 0 if the CPU has none.
 */
int armpmu_irq_of_cpu(int cpu)
{
	return per_cpu(armpmu_irq.irq, cpu);
}

/**
 * armpmu_irq_bind - set the PMU that signals overflows by a CPU's line
 * @pmu: PMU of @cpu
 * @cpu: this CPU
 *
 * Context: on @cpu, interrupts off, before armpmu_irq_enable().
 */
void armpmu_irq_bind(struct arm_pmu *pmu, int cpu)
{
	per_cpu(armpmu_irq.pmu, cpu) = pmu;
}

/**
 * armpmu_irq_unbind - undo armpmu_irq_bind() on all CPUs of a PMU
 * @pmu: PMU of which all lines are masked
 *
 * Context: process context.
 */
void armpmu_irq_unbind(struct arm_pmu *pmu)
{
	int cpu;

	for_each_cpu(cpu, &pmu->supported_cpus)
		per_cpu(armpmu_irq.pmu, cpu) = NULL;
}

/**
 * armpmu_irq_enable - unmask the overflow interrupt of this CPU, if there is one
 * @cpu: this CPU
 *
 * Context: CPU hotplug, interrupts off.
 */
void armpmu_irq_enable(int cpu)
{
	struct armpmu_irq *line = per_cpu_ptr(&armpmu_irq, cpu);

	lockdep_assert_irqs_disabled();
	if (line->irq)
		line->ops->enable(line->irq);
}

/**
 * armpmu_irq_disable - mask the overflow interrupt of this CPU, if there is one
 * @cpu: this CPU
 *
 * Context: CPU hotplug, interrupts off.
 */
void armpmu_irq_disable(int cpu)
{
	struct armpmu_irq *line = per_cpu_ptr(&armpmu_irq, cpu);

	lockdep_assert_irqs_disabled();
	if (line->irq)
		line->ops->disable(line->irq);
}
