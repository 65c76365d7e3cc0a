// SPDX-License-Identifier: GPL-2.0
/*
 * CPU PMUs that ACPI describes: each CPU's entry in the MADT has the interrupts of its PMU, its
 * statistical profiling extension and its trace buffer. There is nothing that says which CPUs are
 * alike; CPUs with the same MIDR_EL1 are taken to have the same PMU.
 *
 * Source: ACPI 6.5, 5.2.12.14 "GIC CPU Interface (GICC) Structure".
 *
 * Interrupts are requested once, at boot. Afterwards CPUs come up one at a time under the hotplug
 * lock and join the PMU of their kind.
 */
#define pr_fmt(fmt) "arm_pmu: " fmt

#include <linux/acpi.h>
#include <linux/cpumask.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/percpu.h>
#include <linux/platform_device.h>

#include <asm/cpu.h>
#include <asm/cputype.h>

#include "arm_pmu_internal.h"

/* The PMU each CPU has joined. */
static DEFINE_PER_CPU(struct arm_pmu *, pmu_of_cpu);

/* ------------------------------------------------------------- PMU interrupts */

static int map_interrupt(int cpu)
{
	struct acpi_madt_generic_interrupt *gicc = acpi_cpu_get_madt_gicc(cpu);
	u32 gsi = gicc->performance_interrupt;
	bool edge = gicc->flags & ACPI_MADT_PERFORMANCE_IRQ_MODE;

	/* Zero is an interrupt number of the GIC (an SGI), but never one of a PMU. */
	if (!gsi)
		return 0;

	return acpi_register_gsi(NULL, gsi, edge ? ACPI_EDGE_SENSITIVE : ACPI_LEVEL_SENSITIVE,
				 ACPI_ACTIVE_HIGH);
}

static void unmap_interrupt(int cpu)
{
	struct acpi_madt_generic_interrupt *gicc = acpi_cpu_get_madt_gicc(cpu);

	if (gicc->performance_interrupt)
		acpi_unregister_gsi(gicc->performance_interrupt);
}

/* A CPU whose interrupt cannot be had can count all the same. */
static void __init request_interrupts(void)
{
	int cpu, irq;

	for_each_possible_cpu(cpu) {
		irq = map_interrupt(cpu);
		if (irq < 0)
			pr_warn("CPU%d: PMU interrupt cannot be mapped (%d)\n", cpu, irq);
		else if (!irq)
			pr_warn("CPU%d: no PMU interrupt in the MADT\n", cpu);
		else if (armpmu_request_irq(irq, cpu))
			unmap_interrupt(cpu);
	}
}

/* ----------------------------------------- devices for profiling and trace buffer */

/**
 * struct gicc_device - a device that is made of a field of each CPU's GICC entry
 * @pdev: the device; one for all CPUs
 * @irq: its interrupt resource
 * @min_length: length of a GICC entry that has the field
 * @gsi: reads the field
 */
struct gicc_device {
	struct platform_device	*pdev;
	struct resource		*irq;
	unsigned int		min_length;
	u16			(*gsi)(const struct acpi_madt_generic_interrupt *gicc);
};

static u16 spe_gsi(const struct acpi_madt_generic_interrupt *gicc)
{
	return gicc->spe_interrupt;
}

static u16 trbe_gsi(const struct acpi_madt_generic_interrupt *gicc)
{
	return gicc->trbe_interrupt;
}

static struct resource spe_irq = { .flags = IORESOURCE_IRQ };
static struct resource trbe_irq = { .flags = IORESOURCE_IRQ };

static struct platform_device spe_pdev = {
	.name		= ARMV8_SPE_PDEV_NAME,
	.id		= PLATFORM_DEVID_NONE,
	.resource	= &spe_irq,
	.num_resources	= 1,
};

static struct platform_device trbe_pdev = {
	.name		= ARMV8_TRBE_PDEV_NAME,
	.id		= PLATFORM_DEVID_NONE,
	.resource	= &trbe_irq,
	.num_resources	= 1,
};

static const struct gicc_device gicc_devices[] = {
	{ &spe_pdev, &spe_irq, ACPI_MADT_GICC_SPE, spe_gsi },
	{ &trbe_pdev, &trbe_irq, ACPI_MADT_GICC_TRBE, trbe_gsi },
};

static u16 __init gsi_of_cpu(const struct gicc_device *dev, int cpu)
{
	const struct acpi_madt_generic_interrupt *gicc = acpi_cpu_get_madt_gicc(cpu);

	return gicc->header.length < dev->min_length ? 0 : dev->gsi(gicc);
}

/*
 * The interrupt that all CPUs agree on; 0 if they do not. Their drivers expect CPUs that are alike,
 * which the topology table tells by a tag.
 */
static u16 __init common_gsi(const struct gicc_device *dev)
{
	int first = cpumask_first(cpu_possible_mask);
	u16 gsi = gsi_of_cpu(dev, first);
	int kind = find_acpi_cpu_topology_hetero_id(first);
	int cpu;

	for_each_possible_cpu(cpu) {
		if (gsi_of_cpu(dev, cpu) != gsi)
			return 0;
		if (find_acpi_cpu_topology_hetero_id(cpu) != kind) {
			pr_warn("%s: CPUs are not alike\n", dev->pdev->name);
			return 0;
		}
	}
	return gsi;
}

static void __init create_device(const struct gicc_device *dev)
{
	u16 gsi = common_gsi(dev);
	int irq;

	if (!gsi)
		return;

	irq = acpi_register_gsi(NULL, gsi, ACPI_LEVEL_SENSITIVE, ACPI_ACTIVE_HIGH);
	if (irq < 0) {
		pr_warn("%s: interrupt cannot be mapped (%d)\n", dev->pdev->name, irq);
		return;
	}

	dev->irq->start = irq;
	dev->irq->end = irq;
	if (platform_device_register(dev->pdev)) {
		pr_warn("%s: device cannot be registered\n", dev->pdev->name);
		acpi_unregister_gsi(gsi);
	}
}

/* -------------------------------------------------------------------- joining */

static struct arm_pmu *pmu_by_midr(unsigned long midr)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct arm_pmu *armpmu = per_cpu(pmu_of_cpu, cpu);

		if (armpmu && armpmu->acpi_cpuid == midr)
			return armpmu;
	}
	return NULL;
}

/*
 * One handler per PMU serves all of its interrupts, and it knows the CPU by the line: private and
 * shared numbers in one PMU are as good as the other.
 */
static void join(struct arm_pmu *armpmu, unsigned int cpu)
{
	per_cpu(pmu_of_cpu, cpu) = armpmu;
	cpumask_set_cpu(cpu, &armpmu->supported_cpus);
}

/*
 * On a CPU that comes up, before its CPUHP_AP_PERF_ARM_STARTING. There is no memory to be had here:
 * a kind of CPU that nobody had seen when the driver was probed goes without.
 */
static int pmu_cpu_starting(unsigned int cpu)
{
	struct arm_pmu *armpmu;

	if (per_cpu(pmu_of_cpu, cpu))
		return 0;

	armpmu = pmu_by_midr(read_cpuid_id());
	if (armpmu)
		join(armpmu, cpu);
	else
		pr_warn("CPU%u: first of its kind, and the PMUs are set up already\n", cpu);
	return 0;
}

static void __init join_online(struct arm_pmu *armpmu)
{
	int cpu;

	for_each_online_cpu(cpu) {
		if (!per_cpu(pmu_of_cpu, cpu) &&
		    per_cpu(cpu_data, cpu).reg_midr == armpmu->acpi_cpuid)
			join(armpmu, cpu);
	}
}

static void __init leave(struct arm_pmu *armpmu)
{
	int cpu;

	for_each_cpu(cpu, &armpmu->supported_cpus)
		per_cpu(pmu_of_cpu, cpu) = NULL;
}

/* The PMU of @cpu's kind, @nth of them. */
static int __init probe_kind(armpmu_init_fn init_fn, int cpu, int nth)
{
	struct arm_pmu *armpmu = armpmu_alloc();
	char *base;
	int err;

	if (!armpmu)
		return -ENOMEM;

	armpmu->acpi_cpuid = per_cpu(cpu_data, cpu).reg_midr;
	join_online(armpmu);
	err = init_fn(armpmu);
	if (err)
		goto err_leave;

	base = armpmu->name;
	err = -ENOMEM;
	armpmu->name = kasprintf(GFP_KERNEL, "%s_%d", base, nth);
	if (!armpmu->name)
		goto err_leave;

	err = armpmu_register(armpmu);
	if (!err)
		return 0;

	kfree(armpmu->name);
err_leave:
	leave(armpmu);
	armpmu_free(armpmu);
	return err;
}

/**
 * arm_pmu_acpi_probe - set up the PMUs of all the kinds of CPU that are online
 * @init_fn: fills in an arm_pmu; runs with arm_pmu::supported_cpus set
 *
 * Context: may sleep. Return: 0; -ENODEV if no CPU has such a PMU; other errors.
 */
int __init arm_pmu_acpi_probe(armpmu_init_fn init_fn)
{
	int cpu, err, nth = 0;

	if (acpi_disabled)
		return 0;

	/* CPUs that come up while this goes on would be missed; there are none at boot. */
	for_each_online_cpu(cpu) {
		if (per_cpu(pmu_of_cpu, cpu))
			continue;
		err = probe_kind(init_fn, cpu, nth);
		if (err == -ENODEV)
			continue;
		if (err) {
			pr_warn("CPU%d: PMU cannot be set up (%d)\n", cpu, err);
			return err;
		}
		nth++;
	}
	return nth ? 0 : -ENODEV;
}

static int __init arm_pmu_acpi_init(void)
{
	int i;

	if (acpi_disabled)
		return 0;

	for (i = 0; i < ARRAY_SIZE(gicc_devices); i++)
		create_device(&gicc_devices[i]);

	request_interrupts();
	return cpuhp_setup_state_nocalls(CPUHP_AP_PERF_ARM_ACPI_STARTING,
					 "perf/arm/pmu_acpi:starting", pmu_cpu_starting, NULL);
}
subsys_initcall(arm_pmu_acpi_init)
