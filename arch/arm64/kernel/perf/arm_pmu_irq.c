// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow interrupts of the CPU PMUs.
 *
 * Each CPU has one line: a private interrupt (PPI), the same number on all CPUs that share it, or a
 * shared interrupt (SPI) of its own. Either is an NMI where the interrupt controller can do that.
 * A line is requested before the PMU it belongs to is known to perf, and it is unmasked by each CPU
 * for itself as it comes up.
 *
 * Requests and releases come from probing and are serialised by it. Enabling and disabling run on
 * the CPU itself with interrupts off. The handler reads its own CPU's struct irq_line only.
 */
#define pr_fmt(fmt) "arm_pmu: " fmt

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

#include "arm_pmu_internal.h"

/**
 * struct irq_kind - how to handle a kind of interrupt line
 * @enable: unmask it on this CPU
 * @disable: mask it on this CPU
 * @free: give it up; the last CPU of a shared number does
 * @nmi: it comes as an NMI
 */
struct irq_kind {
	void	(*enable)(unsigned int irq);
	void	(*disable)(unsigned int irq);
	void	(*free)(unsigned int irq, int cpu);
	bool	nmi;
};

/**
 * struct irq_line - the overflow interrupt of one CPU
 * @pmu: the PMU it is for; NULL while that is not known
 * @kind: how to handle it
 * @irq: Linux interrupt number; 0 for none
 */
struct irq_line {
	struct arm_pmu		*pmu;
	const struct irq_kind	*kind;
	int			irq;
};

static DEFINE_PER_CPU(struct irq_line, irq_line);

bool armpmu_has_nmi __read_mostly;

/**
 * arm_pmu_irq_is_nmi - do overflows come as NMIs?
 *
 * The hard lockup detector is of use only then.
 */
bool arm_pmu_irq_is_nmi(void)
{
	return armpmu_has_nmi;
}

/* How long it took limits the sampling rate. */
static irqreturn_t overflow_interrupt(int irq, void *this_line)
{
	struct irq_line *line = this_line;
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

static void spi_free(unsigned int irq, int cpu)
{
	free_irq(irq, per_cpu_ptr(&irq_line, cpu));
}

static void spi_nmi_free(unsigned int irq, int cpu)
{
	free_nmi(irq, per_cpu_ptr(&irq_line, cpu));
}

static void ppi_enable(unsigned int irq)
{
	enable_percpu_irq(irq, IRQ_TYPE_NONE);
}

static void ppi_free(unsigned int irq, int cpu)
{
	free_percpu_irq(irq, &irq_line);
}

static void ppi_nmi_enable(unsigned int irq)
{
	if (prepare_percpu_nmi(irq)) {
		pr_err("CPU%u: interrupt %u cannot be an NMI\n", smp_processor_id(), irq);
		return;
	}
	enable_percpu_nmi(irq, IRQ_TYPE_NONE);
}

static void ppi_nmi_disable(unsigned int irq)
{
	disable_percpu_nmi(irq);
	teardown_percpu_nmi(irq);
}

static void ppi_nmi_free(unsigned int irq, int cpu)
{
	free_percpu_nmi(irq, &irq_line);
}

static const struct irq_kind spi = {
	.enable		= enable_irq,
	.disable	= disable_irq_nosync,
	.free		= spi_free,
};

static const struct irq_kind spi_nmi = {
	.enable		= enable_nmi,
	.disable	= disable_nmi_nosync,
	.free		= spi_nmi_free,
	.nmi		= true,
};

static const struct irq_kind ppi = {
	.enable		= ppi_enable,
	.disable	= disable_percpu_irq,
	.free		= ppi_free,
};

static const struct irq_kind ppi_nmi = {
	.enable		= ppi_nmi_enable,
	.disable	= ppi_nmi_disable,
	.free		= ppi_nmi_free,
	.nmi		= true,
};

static unsigned int cpus_with_irq(int irq)
{
	unsigned int n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += per_cpu(irq_line.irq, cpu) == irq;

	return n;
}

static const struct irq_kind *kind_in_use(int irq)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (per_cpu(irq_line.irq, cpu) == irq)
			return per_cpu(irq_line.kind, cpu);
	}
	return NULL;
}

/* One request serves all the CPUs of a PPI. */
static int request_ppi(int irq, const struct irq_kind **kind)
{
	*kind = kind_in_use(irq);
	if (*kind)
		return 0;

	*kind = &ppi_nmi;
	if (!request_percpu_nmi(irq, overflow_interrupt, "arm-pmu", &irq_line))
		return 0;

	*kind = &ppi;
	return request_percpu_irq(irq, overflow_interrupt, "arm-pmu", &irq_line);
}

/* An SPI must stay where its counters are: it cannot be moved, balanced or threaded. */
static int request_spi(int irq, int cpu, const struct irq_kind **kind)
{
	unsigned long flags = IRQF_PERCPU | IRQF_NOBALANCING | IRQF_NO_AUTOEN | IRQF_NO_THREAD;
	struct irq_line *line = per_cpu_ptr(&irq_line, cpu);
	int err;

	err = irq_force_affinity(irq, cpumask_of(cpu));
	if (err && num_possible_cpus() > 1) {
		pr_warn("interrupt %d cannot be moved to CPU%d\n", irq, cpu);
		return err;
	}

	*kind = &spi_nmi;
	if (!request_nmi(irq, overflow_interrupt, flags, "arm-pmu", line))
		return 0;

	*kind = &spi;
	return request_irq(irq, overflow_interrupt, flags, "arm-pmu", line);
}

/**
 * armpmu_request_irq - take the overflow interrupt of a CPU; it stays masked
 * @irq: its number; 0 for none, which is no error
 * @cpu: the CPU
 *
 * Context: may sleep. Return: 0 or -errno.
 */
int armpmu_request_irq(int irq, int cpu)
{
	struct irq_line *line = per_cpu_ptr(&irq_line, cpu);
	const struct irq_kind *kind;
	int err;

	if (!irq)
		return 0;

	if (irq_is_percpu_devid(irq))
		err = request_ppi(irq, &kind);
	else if (cpus_with_irq(irq))
		err = -EBUSY;
	else
		err = request_spi(irq, cpu, &kind);
	if (err) {
		pr_err("CPU%d: interrupt %d cannot be requested (%d)\n", cpu, irq, err);
		return err;
	}

	line->kind = kind;
	line->irq = irq;
	armpmu_has_nmi |= kind->nmi;
	return 0;
}

/**
 * armpmu_free_irq - give up the overflow interrupt of a CPU
 * @irq: its number
 * @cpu: the CPU
 *
 * Context: may sleep.
 */
void armpmu_free_irq(int irq, int cpu)
{
	struct irq_line *line = per_cpu_ptr(&irq_line, cpu);
	const struct irq_kind *kind = line->kind;

	if (!irq || WARN_ON(line->irq != irq))
		return;

	line->irq = 0;
	line->kind = NULL;
	if (!cpus_with_irq(irq))
		kind->free(irq, cpu);
}

/* The interrupt of a CPU, 0 for none. */
int armpmu_irq_of_cpu(int cpu)
{
	return per_cpu(irq_line.irq, cpu);
}

/* From now on the line of @cpu belongs to @pmu. */
void armpmu_irq_bind(struct arm_pmu *pmu, int cpu)
{
	per_cpu(irq_line.pmu, cpu) = pmu;
}

void armpmu_irq_unbind(struct arm_pmu *pmu)
{
	int cpu;

	for_each_cpu(cpu, &pmu->supported_cpus)
		per_cpu(irq_line.pmu, cpu) = NULL;
}

/* On @cpu, interrupts off. */
void armpmu_irq_enable(int cpu)
{
	struct irq_line *line = per_cpu_ptr(&irq_line, cpu);

	if (line->irq)
		line->kind->enable(line->irq);
}

void armpmu_irq_disable(int cpu)
{
	struct irq_line *line = per_cpu_ptr(&irq_line, cpu);

	if (line->irq)
		line->kind->disable(line->irq);
}
