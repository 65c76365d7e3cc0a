// SPDX-License-Identifier: GPL-2.0
/*
 * CPU PMUs in the device tree: one node for each type of CPU, with the interrupts and, if they are
 * shared interrupts, the CPUs they belong to. On 32-bit Arm a PMU without a node is identified by
 * the CPU's MIDR.
 *
 * Everything here runs while a device is probed, one device at a time, and may sleep.
 *
 * Binding: Documentation/devicetree/bindings/arm/pmu.yaml
 */
#define pr_fmt(fmt) "arm_pmu: " fmt

#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/smp.h>

#include "arm_pmu_internal.h"

/* Interrupts of a device, by CPU; 0 for none. */
struct armpmu_cpu_irqs {
	int of[NR_CPUS];
};

static int armpmu_probe_cpuid(struct arm_pmu *armpmu, const struct pmu_probe_info *info)
{
	int cpu = get_cpu();
	unsigned int id = read_cpuid_id();
	int ret = -ENODEV;

	for (; info->mask && ret == -ENODEV; info++) {
		if ((id & info->mask) == info->cpuid)
			ret = info->init(armpmu);
	}
	pr_debug("CPU%d %#x: %d\n", cpu, id, ret);
	put_cpu();

	return ret;
}

/* CPU of interrupt @index by its affinity: -ENXIO if it is not a possible CPU, -EINVAL if none. */
static int armpmu_irq_affinity(struct device *dev, int index)
{
	struct device_node *node;
	int cpu;

	node = of_parse_phandle(dev->of_node, "interrupt-affinity", index);
	if (!node)
		return -EINVAL;

	cpu = of_cpu_node_to_id(node);
	if (cpu < 0)
		dev_warn(dev, "%pOF is not a possible CPU\n", node);
	of_node_put(node);

	return cpu < 0 ? -ENXIO : cpu;
}

static bool armpmu_has_affinity(struct device *dev)
{
	return of_property_present(dev->of_node, "interrupt-affinity");
}

/*
 * A PPI has one number on all CPUs of the PMU. The CPUs are those of the interrupt-affinity
 * property or, without one, those of the interrupt's partition: all CPUs if it has none.
 */
static int armpmu_parse_ppi(struct arm_pmu *armpmu, struct armpmu_cpu_irqs *irqs, int irq)
{
	struct device *dev = &armpmu->plat_device->dev;
	int cpu, index, err;

	if (armpmu_has_affinity(dev)) {
		for (index = 0; (cpu = armpmu_irq_affinity(dev, index)) != -EINVAL; index++) {
			if (cpu >= 0)
				cpumask_set_cpu(cpu, &armpmu->supported_cpus);
		}
	} else {
		err = irq_get_percpu_devid_partition(irq, &armpmu->supported_cpus);
		if (err)
			return err;
	}

	for_each_cpu(cpu, &armpmu->supported_cpus)
		irqs->of[cpu] = irq;
	return 0;
}

/* An SPI is one of @count interrupts, each of one CPU. */
static int armpmu_parse_spi(struct arm_pmu *armpmu, struct armpmu_cpu_irqs *irqs, int irq,
			    int index, int count)
{
	struct device *dev = &armpmu->plat_device->dev;
	int cpu = index;

	if (irq_is_percpu_devid(irq)) {
		dev_err(dev, "interrupts are both shared and private\n");
		return -EINVAL;
	}
	if (armpmu_has_affinity(dev)) {
		cpu = armpmu_irq_affinity(dev, index);
	} else if (cpu >= nr_cpu_ids || !cpu_possible(cpu)) {
		/* The part has more CPUs than this kernel uses. */
		return 0;
	} else if (num_possible_cpus() > 1) {
		dev_warn(dev, "no interrupt-affinity property, taking interrupt %d for CPU%d\n",
			 irq, index);
	}

	if (cpu == -ENXIO)
		return 0;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu)) {
		dev_err(dev, "interrupt %d of %d is for no CPU\n", index, count);
		return -EINVAL;
	}
	if (cpumask_test_and_set_cpu(cpu, &armpmu->supported_cpus)) {
		dev_err(dev, "CPU%d has more than one interrupt\n", cpu);
		return -EINVAL;
	}

	irqs->of[cpu] = irq;
	return 0;
}

/* One SPI for several CPUs is not supported: it would have to be moved after each overflow. */
static int armpmu_parse_interrupts(struct arm_pmu *armpmu, struct armpmu_cpu_irqs *irqs)
{
	struct platform_device *pdev = armpmu->plat_device;
	int count = platform_irq_count(pdev);
	int index, irq, err;

	if (count < 0)
		return dev_err_probe(&pdev->dev, count, "cannot count the interrupts\n");
	if (!count) {
		dev_warn(&pdev->dev, "no interrupt; sampling is not possible\n");
		cpumask_setall(&armpmu->supported_cpus);
		return 0;
	}

	for (index = 0; index < count; index++) {
		irq = platform_get_irq(pdev, index);
		if (irq < 0)
			return irq;
		if (count == 1 && irq_is_percpu_devid(irq))
			return armpmu_parse_ppi(armpmu, irqs, irq);
		err = armpmu_parse_spi(armpmu, irqs, irq, index, count);
		if (err)
			return err;
	}
	return 0;
}

static void armpmu_free_interrupts(struct arm_pmu *armpmu, struct armpmu_cpu_irqs *irqs, int end)
{
	int cpu;

	for_each_cpu(cpu, &armpmu->supported_cpus) {
		if (cpu < end)
			armpmu_free_irq(irqs->of[cpu], cpu);
	}
}

static int armpmu_request_interrupts(struct arm_pmu *armpmu, struct armpmu_cpu_irqs *irqs)
{
	int cpu, err;

	for_each_cpu(cpu, &armpmu->supported_cpus) {
		err = armpmu_request_irq(irqs->of[cpu], cpu);
		if (err) {
			armpmu_free_interrupts(armpmu, irqs, cpu);
			return err;
		}
	}
	return 0;
}

static int armpmu_platform_init(struct arm_pmu *armpmu, const struct of_device_id *of_table,
				const struct pmu_probe_info *probe_table)
{
	struct device *dev = &armpmu->plat_device->dev;
	armpmu_init_fn init = of_device_get_match_data(dev);

	if (of_table && init) {
		armpmu->secure_access = of_property_read_bool(dev->of_node, "secure-reg-access");
		/* The secure side's registers are not accessible on 64-bit. */
		if (IS_ENABLED(CONFIG_ARM64) && armpmu->secure_access) {
			dev_warn(dev, "secure-reg-access is ignored\n");
			armpmu->secure_access = false;
		}
		return init(armpmu);
	}
	if (!probe_table)
		return -ENODEV;

	cpumask_setall(&armpmu->supported_cpus);
	return armpmu_probe_cpuid(armpmu, probe_table);
}

static int armpmu_platform_setup(struct arm_pmu *armpmu, const struct of_device_id *of_table,
				 const struct pmu_probe_info *probe_table,
				 struct armpmu_cpu_irqs *irqs)
{
	int err;

	err = armpmu_parse_interrupts(armpmu, irqs);
	if (err)
		return err;
	err = armpmu_platform_init(armpmu, of_table, probe_table);
	if (err)
		return dev_err_probe(&armpmu->plat_device->dev, err, "no PMU that is known\n");
	err = armpmu_request_interrupts(armpmu, irqs);
	if (err)
		return err;
	err = armpmu_register(armpmu);
	if (err)
		armpmu_free_interrupts(armpmu, irqs, nr_cpu_ids);
	return err;
}

/**
 * arm_pmu_device_probe - probe function of a CPU PMU's platform driver
 * @pdev: platform device of the PMU
 * @of_table: compatible strings with an armpmu_init_fn each as data; NULL if there are none
 * @probe_table: matches by MIDR for a device without a node; NULL if there are none
 *
 * A PMU is never unregistered.
 *
 * Context: process context; may sleep.
 * Return: 0 or -errno.
 */
int arm_pmu_device_probe(struct platform_device *pdev, const struct of_device_id *of_table,
			 const struct pmu_probe_info *probe_table)
{
	struct armpmu_cpu_irqs *irqs __free(kfree) = kzalloc(sizeof(*irqs), GFP_KERNEL);
	struct arm_pmu *armpmu;
	int err;

	if (!irqs)
		return -ENOMEM;
	armpmu = armpmu_alloc();
	if (!armpmu)
		return -ENOMEM;

	armpmu->plat_device = pdev;
	armpmu->pmu.parent = &pdev->dev;
	err = armpmu_platform_setup(armpmu, of_table, probe_table, irqs);
	if (err)
		armpmu_free(armpmu);
	return err;
}
