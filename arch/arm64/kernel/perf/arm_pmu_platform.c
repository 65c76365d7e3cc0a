// SPDX-License-Identifier: GPL-2.0
/*
 * CPU PMUs that the device tree describes: a node for each kind of CPU, with its interrupts and,
 * where these do not say it, the CPUs they belong to. (PMUs of board files, on 32-bit, are told by
 * the CPU's identification.)
 *
 * All of it is probing: may sleep, one device at a time.
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

/* The interrupts of a device by CPU. */
struct cpu_irqs {
	int of[NR_CPUS];
};

static int probe_by_cpuid(struct arm_pmu *armpmu, const struct pmu_probe_info *info)
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

/* CPU that interrupt @index is for: -ENXIO if the CPU is not possible, -EINVAL if nothing tells. */
static int cpu_of_interrupt(struct device *dev, int index)
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

static bool has_affinity(struct device *dev)
{
	return of_property_present(dev->of_node, "interrupt-affinity");
}

/*
 * A PPI: one number on all the CPUs of the PMU. Which ones these are, the interrupt's partition
 * tells, or the affinity property, and otherwise it is all of them.
 */
static int take_ppi(struct arm_pmu *armpmu, struct cpu_irqs *irqs, int irq)
{
	struct device *dev = &armpmu->plat_device->dev;
	int cpu, index, err;

	if (has_affinity(dev)) {
		for (index = 0; (cpu = cpu_of_interrupt(dev, index)) != -EINVAL; index++) {
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

/* One of @count interrupts of one CPU each. */
static int take_spi(struct arm_pmu *armpmu, struct cpu_irqs *irqs, int irq, int index, int count)
{
	struct device *dev = &armpmu->plat_device->dev;
	int cpu = index;

	if (irq_is_percpu_devid(irq)) {
		dev_err(dev, "interrupts are both shared and private\n");
		return -EINVAL;
	}
	if (has_affinity(dev)) {
		cpu = cpu_of_interrupt(dev, index);
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

/* A single SPI for several CPUs would have to be moved after each overflow; it serves nobody. */
static int find_interrupts(struct arm_pmu *armpmu, struct cpu_irqs *irqs)
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
			return take_ppi(armpmu, irqs, irq);
		err = take_spi(armpmu, irqs, irq, index, count);
		if (err)
			return err;
	}
	return 0;
}

static void free_interrupts(struct arm_pmu *armpmu, struct cpu_irqs *irqs, int end)
{
	int cpu;

	for_each_cpu(cpu, &armpmu->supported_cpus) {
		if (cpu < end)
			armpmu_free_irq(irqs->of[cpu], cpu);
	}
}

static int request_interrupts(struct arm_pmu *armpmu, struct cpu_irqs *irqs)
{
	int cpu, err;

	for_each_cpu(cpu, &armpmu->supported_cpus) {
		err = armpmu_request_irq(irqs->of[cpu], cpu);
		if (err) {
			free_interrupts(armpmu, irqs, cpu);
			return err;
		}
	}
	return 0;
}

static int init_driver(struct arm_pmu *armpmu, const struct of_device_id *of_table,
		       const struct pmu_probe_info *probe_table)
{
	struct device *dev = &armpmu->plat_device->dev;
	armpmu_init_fn init = of_device_get_match_data(dev);

	if (of_table && init) {
		armpmu->secure_access = of_property_read_bool(dev->of_node, "secure-reg-access");
		/* On 64-bit the secure side is nobody's business here. */
		if (IS_ENABLED(CONFIG_ARM64) && armpmu->secure_access) {
			dev_warn(dev, "secure-reg-access is ignored\n");
			armpmu->secure_access = false;
		}
		return init(armpmu);
	}
	if (!probe_table)
		return -ENODEV;

	cpumask_setall(&armpmu->supported_cpus);
	return probe_by_cpuid(armpmu, probe_table);
}

static int bring_up(struct arm_pmu *armpmu, const struct of_device_id *of_table,
		    const struct pmu_probe_info *probe_table, struct cpu_irqs *irqs)
{
	int err;

	err = find_interrupts(armpmu, irqs);
	if (err)
		return err;
	err = init_driver(armpmu, of_table, probe_table);
	if (err)
		return dev_err_probe(&armpmu->plat_device->dev, err, "no PMU that is known\n");
	err = request_interrupts(armpmu, irqs);
	if (err)
		return err;
	err = armpmu_register(armpmu);
	if (err)
		free_interrupts(armpmu, irqs, nr_cpu_ids);
	return err;
}

/**
 * arm_pmu_device_probe - probe function of a CPU PMU's platform driver
 * @pdev: the device
 * @of_table: compatible strings, each with its armpmu_init_fn; NULL if there are none
 * @probe_table: CPUs by their identification, for devices without a node; NULL if there are none
 *
 * Return: 0 or -errno. A PMU that is registered stays for good.
 */
int arm_pmu_device_probe(struct platform_device *pdev, const struct of_device_id *of_table,
			 const struct pmu_probe_info *probe_table)
{
	struct cpu_irqs *irqs __free(kfree) = kzalloc(sizeof(*irqs), GFP_KERNEL);
	struct arm_pmu *armpmu;
	int err;

	if (!irqs)
		return -ENOMEM;
	armpmu = armpmu_alloc();
	if (!armpmu)
		return -ENOMEM;

	armpmu->plat_device = pdev;
	armpmu->pmu.parent = &pdev->dev;
	err = bring_up(armpmu, of_table, probe_table, irqs);
	if (err)
		armpmu_free(armpmu);
	return err;
}
