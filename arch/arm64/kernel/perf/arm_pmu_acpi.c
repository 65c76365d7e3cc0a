// SPDX-License-Identifier: GPL-2.0
/*
 * CPU PMUs on ACPI systems: each CPU's GICC entry in the MADT holds the interrupt numbers of its
 * PMU, its statistical profiling extension (SPE) and its trace buffer extension (TRBE). ACPI does
 * not describe which CPUs are of one type: CPUs with equal MIDR_EL1 get one PMU.
 *
 * Source: ACPI 6.5, 5.2.12.14 "GIC CPU Interface (GICC) Structure".
 *
 * Interrupts are requested once, at boot. A CPU that is brought online later is added to the PMU of
 * its type under the hotplug lock.
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

/* The PMU of each CPU; NULL if the CPU has not been online or has no PMU. */
static DEFINE_PER_CPU(struct arm_pmu *, armpmu_acpi_pmu);

/* ------------------------------------------------------------- PMU interrupts */

static int armpmu_acpi_map_irq(int cpu)
{
	struct acpi_madt_generic_interrupt *gicc = acpi_cpu_get_madt_gicc(cpu);
	u32 gsi = gicc->performance_interrupt;
	bool edge = gicc->flags & ACPI_MADT_PERFORMANCE_IRQ_MODE;

	/* 0 means that there is no interrupt: GSI 0 is an SGI and never the interrupt of a PMU. */
	if (!gsi)
		return 0;

	return acpi_register_gsi(NULL, gsi, edge ? ACPI_EDGE_SENSITIVE : ACPI_LEVEL_SENSITIVE,
				 ACPI_ACTIVE_HIGH);
}

static void armpmu_acpi_unmap_irq(int cpu)
{
	struct acpi_madt_generic_interrupt *gicc = acpi_cpu_get_madt_gicc(cpu);

	if (gicc->performance_interrupt)
		acpi_unregister_gsi(gicc->performance_interrupt);
}

/* A CPU still counts if its interrupt cannot be requested. */
static void __init armpmu_acpi_request_irqs(void)
{
	int cpu, irq;

	for_each_possible_cpu(cpu) {
		irq = armpmu_acpi_map_irq(cpu);
		if (irq < 0)
			pr_warn("CPU%d: PMU interrupt cannot be mapped (%d)\n", cpu, irq);
		else if (!irq)
			pr_warn("CPU%d: no PMU interrupt in the MADT\n", cpu);
		else if (armpmu_request_irq(irq, cpu))
			armpmu_acpi_unmap_irq(cpu);
	}
}

/* -------------------------------------------------- devices for SPE and TRBE */

/**
 * struct armpmu_gicc_device - a platform device with the interrupt in the GICC entries
 * @pdev: platform device, one for all CPUs
 * @irq: interrupt resource of @pdev
 * @min_length: minimum length in bytes of a GICC entry that has the field
 * @gsi: value of the field; 0 if there is no interrupt
 * @has_driver: the kernel has the device's driver, built in or as a module
 */
struct armpmu_gicc_device {
	struct platform_device	*pdev;
	struct resource		*irq;
	unsigned int		min_length;
	u16			(*gsi)(const struct acpi_madt_generic_interrupt *gicc);
	bool			has_driver;
};

static u16 armpmu_acpi_spe_gsi(const struct acpi_madt_generic_interrupt *gicc)
{
	return gicc->spe_interrupt;
}

static u16 armpmu_acpi_trbe_gsi(const struct acpi_madt_generic_interrupt *gicc)
{
	return gicc->trbe_interrupt;
}

static struct resource armpmu_spe_irq = { .flags = IORESOURCE_IRQ };
static struct resource armpmu_trbe_irq = { .flags = IORESOURCE_IRQ };

static struct platform_device armpmu_spe_pdev = {
	.name		= ARMV8_SPE_PDEV_NAME,
	.id		= PLATFORM_DEVID_NONE,
	.resource	= &armpmu_spe_irq,
	.num_resources	= 1,
};

static struct platform_device armpmu_trbe_pdev = {
	.name		= ARMV8_TRBE_PDEV_NAME,
	.id		= PLATFORM_DEVID_NONE,
	.resource	= &armpmu_trbe_irq,
	.num_resources	= 1,
};

static const struct armpmu_gicc_device armpmu_gicc_devices[] = {
	{ &armpmu_spe_pdev, &armpmu_spe_irq, ACPI_MADT_GICC_SPE, armpmu_acpi_spe_gsi,
	  IS_ENABLED(CONFIG_ARM_SPE_PMU) },
	{ &armpmu_trbe_pdev, &armpmu_trbe_irq, ACPI_MADT_GICC_TRBE, armpmu_acpi_trbe_gsi,
	  IS_ENABLED(CONFIG_CORESIGHT_TRBE) },
};

static u16 __init armpmu_acpi_cpu_gsi(const struct armpmu_gicc_device *dev, int cpu)
{
	const struct acpi_madt_generic_interrupt *gicc = acpi_cpu_get_madt_gicc(cpu);

	return gicc->header.length < dev->min_length ? 0 : dev->gsi(gicc);
}

/*
 * The interrupt if it is the same on all CPUs, else 0. The drivers support homogeneous systems
 * only; a CPU's heterogeneity ID is in the processor properties topology table (PPTT).
 */
static u16 __init armpmu_acpi_common_gsi(const struct armpmu_gicc_device *dev)
{
	int first = cpumask_first(cpu_possible_mask);
	u16 gsi = armpmu_acpi_cpu_gsi(dev, first);
	int id = find_acpi_cpu_topology_hetero_id(first);
	int cpu;

	for_each_possible_cpu(cpu) {
		if (armpmu_acpi_cpu_gsi(dev, cpu) != gsi)
			return 0;
		if (find_acpi_cpu_topology_hetero_id(cpu) != id) {
			pr_warn("%s: CPUs are not alike\n", dev->pdev->name);
			return 0;
		}
	}
	return gsi;
}

static void __init armpmu_acpi_create_device(const struct armpmu_gicc_device *dev)
{
	u16 gsi = dev->has_driver ? armpmu_acpi_common_gsi(dev) : 0;
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

/* ------------------------------------------------------------ CPUs and PMUs */

static struct arm_pmu *armpmu_acpi_find(unsigned long midr)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct arm_pmu *armpmu = per_cpu(armpmu_acpi_pmu, cpu);

		if (armpmu && armpmu->acpi_cpuid == midr)
			return armpmu;
	}
	return NULL;
}

/*
 * A PMU may have private interrupts on some CPUs and shared ones on others: the handler finds the
 * CPU by its struct armpmu_irq.
 */
static void armpmu_acpi_add_cpu(struct arm_pmu *armpmu, unsigned int cpu)
{
	per_cpu(armpmu_acpi_pmu, cpu) = armpmu;
	cpumask_set_cpu(cpu, &armpmu->supported_cpus);
}

/*
 * Runs on the CPU that is brought online, before CPUHP_AP_PERF_ARM_STARTING. A PMU cannot be
 * allocated here, in atomic context: a CPU of a type that was not online when the driver was
 * probed remains without a PMU.
 */
static int armpmu_acpi_cpu_starting(unsigned int cpu)
{
	struct arm_pmu *armpmu;

	if (per_cpu(armpmu_acpi_pmu, cpu))
		return 0;

	armpmu = armpmu_acpi_find(read_cpuid_id());
	if (armpmu)
		armpmu_acpi_add_cpu(armpmu, cpu);
	else
		pr_warn("CPU%u: first of its kind, and the PMUs are set up already\n", cpu);
	return 0;
}

static void __init armpmu_acpi_add_online_cpus(struct arm_pmu *armpmu)
{
	int cpu;

	for_each_online_cpu(cpu) {
		if (!per_cpu(armpmu_acpi_pmu, cpu) &&
		    per_cpu(cpu_data, cpu).reg_midr == armpmu->acpi_cpuid)
			armpmu_acpi_add_cpu(armpmu, cpu);
	}
}

static void __init armpmu_acpi_remove_cpus(struct arm_pmu *armpmu)
{
	int cpu;

	for_each_cpu(cpu, &armpmu->supported_cpus)
		per_cpu(armpmu_acpi_pmu, cpu) = NULL;
}

/* Sets up the PMU of @cpu's type and names it by @nth, the number of PMUs before it. */
static int __init armpmu_acpi_probe_type(armpmu_init_fn init_fn, int cpu, int nth)
{
	struct arm_pmu *armpmu = armpmu_alloc();
	char *base;
	int err;

	if (!armpmu)
		return -ENOMEM;

	armpmu->acpi_cpuid = per_cpu(cpu_data, cpu).reg_midr;
	armpmu_acpi_add_online_cpus(armpmu);
	err = init_fn(armpmu);
	if (err)
		goto err_remove;

	base = armpmu->name;
	err = -ENOMEM;
	armpmu->name = kasprintf(GFP_KERNEL, "%s_%d", base, nth);
	if (!armpmu->name)
		goto err_remove;

	err = armpmu_register(armpmu);
	if (!err)
		return 0;

	kfree(armpmu->name);
err_remove:
	armpmu_acpi_remove_cpus(armpmu);
	armpmu_free(armpmu);
	return err;
}

/**
 * arm_pmu_acpi_probe - set up a PMU for each type of CPU that is online
 * @init_fn: initializes an arm_pmu; arm_pmu::supported_cpus is set; -ENODEV if these CPUs have
 *	no PMU of the driver
 *
 * Context: initcall; may sleep.
 * Return: 0, also on systems without ACPI; -ENODEV if no CPU has a PMU of the driver; other -errno.
 */
int __init arm_pmu_acpi_probe(armpmu_init_fn init_fn)
{
	int cpu, err, nth = 0;

	if (acpi_disabled)
		return 0;

	/* No CPU is brought online meanwhile: this is an initcall. */
	for_each_online_cpu(cpu) {
		if (per_cpu(armpmu_acpi_pmu, cpu))
			continue;
		err = armpmu_acpi_probe_type(init_fn, cpu, nth);
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

static int __init armpmu_acpi_init(void)
{
	int i;

	if (acpi_disabled)
		return 0;

	for (i = 0; i < ARRAY_SIZE(armpmu_gicc_devices); i++)
		armpmu_acpi_create_device(&armpmu_gicc_devices[i]);

	armpmu_acpi_request_irqs();
	return cpuhp_setup_state_nocalls(CPUHP_AP_PERF_ARM_ACPI_STARTING,
					 "perf/arm/pmu_acpi:starting",
					 armpmu_acpi_cpu_starting, NULL);
}
subsys_initcall(armpmu_acpi_init)
