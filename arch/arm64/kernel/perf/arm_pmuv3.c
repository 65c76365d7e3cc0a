// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: probing, reset, and the table of cores.
 *
 * Source: DDI 0487, D13.1 "About the Performance Monitors"; D24.5 for PMCR_EL0, PMCEID<n>_EL0 and
 * PMMIR_EL1; Documentation/devicetree/bindings/arm/pmu.yaml.
 */
#include <linux/acpi.h>
#include <linux/bitmap.h>
#include <linux/init.h>
#include <linux/kvm_host.h>
#include <linux/nmi.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "pmuv3.h"

/* ------------------------------------------------------------------------- reset */

/*
 * arm_pmu::reset, on the CPU concerned with interrupts off. Events in pmuv3_cpu::event, after a
 * power-down, are kept and loaded again by pmuv3_power_up().
 */
static void pmuv3_reset(void *info)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct arm_pmu *armpmu = info;

	c->pmu = armpmu;
	c->present = armpmu->cntr_mask[0];
	c->pmcr = ARMV8_PMU_PMCR_LC | (is_pmuv3p5(armpmu->pmuver) ? ARMV8_PMU_PMCR_LP : 0);
	c->enabled = 0;
	c->interrupts = 0;
	c->kvm = 0;
	if (!c->stamp)
		c->stamp = (u64)smp_processor_id() << 48;
	pmuv3_registers_change(c);
	c->pmcr_e = false;
	c->user = false;	/* PMUSERENR_EL0 is reset by the CPU's boot and resume code */
	memset(c->type, 0xff, sizeof(c->type));

	write_pmcntenclr(c->present);
	write_pmintenclr(c->present);
	kvm_clr_pmu_events(c->present);
	write_pmcr(c->pmcr | ARMV8_PMU_PMCR_P | ARMV8_PMU_PMCR_C);
	isb();
	write_pmovsclr(c->present);
	isb();
	/* PMCR_EL0.P and C do not reset the instruction counter. */
	c->zero = c->present & ~BIT_ULL(ARMV8_PMU_INSTR_IDX);
}

/* ----------------------------------------------------------------------- probing */

/**
 * struct pmuv3_probe - argument of pmuv3_probe_cpu()
 * @armpmu: PMU to set the properties of
 * @present: set to true if the CPU implements PMUv3
 */
struct pmuv3_probe {
	struct arm_pmu	*armpmu;
	bool		present;
};

static void pmuv3_probe_events(struct arm_pmu *armpmu)
{
	u64 id0 = read_pmceid0(), id1 = read_pmceid1();
	u64 common = lower_32_bits(id0) | (u64)lower_32_bits(id1) << 32;
	u64 extended = upper_32_bits(id0) | (u64)upper_32_bits(id1) << 32;

	bitmap_from_u64(armpmu->pmceid_bitmap, common);
	bitmap_from_u64(armpmu->pmceid_ext_bitmap, extended);
}

/*
 * Does another CPU, online or not yet, share the core of @cpu? The masks of siblings have the CPUs
 * that are online only.
 */
static bool pmuv3_core_has_threads(int cpu)
{
	const struct cpu_topology *core = &cpu_topology[cpu];
	int other;

	for_each_possible_cpu(other) {
		const struct cpu_topology *topology = &cpu_topology[other];

		if (other != cpu && topology->package_id == core->package_id &&
		    topology->cluster_id == core->cluster_id &&
		    topology->core_id == core->core_id)
			return true;
	}
	return false;
}

/* Reads the properties from one of the PMU's CPUs, on which it runs. */
static void pmuv3_probe_cpu(void *info)
{
	struct pmuv3_probe *probe = info;
	struct arm_pmu *armpmu = probe->armpmu;
	int version = read_pmuver();

	if (!pmuv3_implemented(version))
		return;

	probe->present = true;
	armpmu->pmuver = version;
	bitmap_set(armpmu->cntr_mask, 0, FIELD_GET(ARMV8_PMU_PMCR_N, read_pmcr()));
	set_bit(ARMV8_PMU_CYCLE_IDX, armpmu->cntr_mask);
	if (pmuv3_has_icntr())
		set_bit(ARMV8_PMU_INSTR_IDX, armpmu->cntr_mask);

	armpmu->threaded = pmuv3_core_has_threads(smp_processor_id());
	pmuv3_probe_events(armpmu);
	armpmu->reg_pmmir = is_pmuv3p4(version) ? read_pmmir() : 0;
}

static int pmuv3_probe_pmu(struct arm_pmu *armpmu)
{
	struct pmuv3_probe probe = { .armpmu = armpmu };
	int err;

	err = smp_call_function_any(&armpmu->supported_cpus, pmuv3_probe_cpu, &probe, 1);
	if (err)
		return err;
	return probe.present ? 0 : -ENODEV;
}

/* The core calls sched_assign, sched_load and sched_save in place of pmu::add and pmu::del. */
static int pmuv3_setup(struct arm_pmu *armpmu, char *name,
		       int (*map_event)(struct perf_event *event))
{
	struct pmu *pmu = &armpmu->pmu;
	int err = pmuv3_probe_pmu(armpmu);

	if (err)
		return err;

	armpmu->name = name;
	armpmu->map_event = map_event;
	armpmu->set_event_filter = pmuv3_set_filter;
	armpmu->handle_irq = pmuv3_handle_irq;
	armpmu->reset = pmuv3_reset;
	armpmu->power_down = pmuv3_power_down;
	armpmu->power_up = pmuv3_power_up;

	pmu->event_init = pmuv3_event_init;
	pmu->event_idx = pmuv3_event_idx;
	pmu->pmu_enable = pmuv3_enable;
	pmu->pmu_disable = pmuv3_disable;
	pmu->add = NULL;
	pmu->del = NULL;
	pmu->start = pmuv3_start;
	pmu->stop = pmuv3_stop;
	pmu->read = pmuv3_read;
	pmu->sched_assign = pmuv3_sched_assign;
	pmu->sched_load = pmuv3_sched_load;
	pmu->sched_save = pmuv3_sched_save;

	armpmu->attr_groups[ARMPMU_ATTR_GROUP_EVENTS] = &pmuv3_events_group;
	armpmu->attr_groups[ARMPMU_ATTR_GROUP_FORMATS] = &pmuv3_format_group;
	armpmu->attr_groups[ARMPMU_ATTR_GROUP_CAPS] = &pmuv3_caps_group;
	pmuv3_sysctl_init();
	return 0;
}

/* ------------------------------------------------------------------------- cores */

/* PMU name in sysfs, compatible string, event map: pmuv3_map_*(). */
#define PMUV3_FOR_EACH_CORE(core)						\
	core(armv8_pmuv3,		"arm,armv8-pmuv3",	common)		\
	core(armv8_brcm_vulcan,		"brcm,vulcan-pmu",	vulcan)		\
	core(armv8_cavium_thunder,	"cavium,thunder-pmu",	thunder)	\
	core(armv8_cortex_a34,		"arm,cortex-a34-pmu",	common)		\
	core(armv8_cortex_a35,		"arm,cortex-a35-pmu",	a53)		\
	core(armv8_cortex_a53,		"arm,cortex-a53-pmu",	a53)		\
	core(armv8_cortex_a55,		"arm,cortex-a55-pmu",	common)		\
	core(armv8_cortex_a57,		"arm,cortex-a57-pmu",	a57)		\
	core(armv8_cortex_a65,		"arm,cortex-a65-pmu",	common)		\
	core(armv8_cortex_a72,		"arm,cortex-a72-pmu",	a57)		\
	core(armv8_cortex_a73,		"arm,cortex-a73-pmu",	a73)		\
	core(armv8_cortex_a75,		"arm,cortex-a75-pmu",	common)		\
	core(armv8_cortex_a76,		"arm,cortex-a76-pmu",	common)		\
	core(armv8_cortex_a77,		"arm,cortex-a77-pmu",	common)		\
	core(armv8_cortex_a78,		"arm,cortex-a78-pmu",	common)		\
	core(armv9_cortex_a510,		"arm,cortex-a510-pmu",	common)		\
	core(armv9_cortex_a520,		"arm,cortex-a520-pmu",	common)		\
	core(armv9_cortex_a710,		"arm,cortex-a710-pmu",	common)		\
	core(armv9_cortex_a715,		"arm,cortex-a715-pmu",	common)		\
	core(armv9_cortex_a720,		"arm,cortex-a720-pmu",	common)		\
	core(armv9_cortex_a725,		"arm,cortex-a725-pmu",	common)		\
	core(armv8_cortex_x1,		"arm,cortex-x1-pmu",	common)		\
	core(armv9_cortex_x2,		"arm,cortex-x2-pmu",	common)		\
	core(armv9_cortex_x3,		"arm,cortex-x3-pmu",	common)		\
	core(armv9_cortex_x4,		"arm,cortex-x4-pmu",	common)		\
	core(armv9_cortex_x925,		"arm,cortex-x925-pmu",	common)		\
	core(armv8_neoverse_e1,		"arm,neoverse-e1-pmu",	common)		\
	core(armv8_neoverse_n1,		"arm,neoverse-n1-pmu",	common)		\
	core(armv9_neoverse_n2,		"arm,neoverse-n2-pmu",	common)		\
	core(armv9_neoverse_n3,		"arm,neoverse-n3-pmu",	common)		\
	core(armv8_neoverse_v1,		"arm,neoverse-v1-pmu",	common)		\
	core(armv8_neoverse_v2,		"arm,neoverse-v2-pmu",	common)		\
	core(armv8_neoverse_v3,		"arm,neoverse-v3-pmu",	common)		\
	core(armv8_neoverse_v3ae,	"arm,neoverse-v3ae-pmu", common)	\
	core(armv8_nvidia_carmel,	"nvidia,carmel-pmu",	common)		\
	core(armv8_nvidia_denver,	"nvidia,denver-pmu",	common)

#define PMUV3_CORE_INIT(_name, _compatible, _map)				\
static int _name##_init(struct arm_pmu *armpmu)					\
{										\
	return pmuv3_setup(armpmu, #_name, pmuv3_map_##_map);			\
}

PMUV3_FOR_EACH_CORE(PMUV3_CORE_INIT)

#define PMUV3_CORE_MATCH(_name, _compatible, _map)				\
	{ .compatible = _compatible, .data = _name##_init },

static const struct of_device_id pmuv3_of_ids[] = {
	PMUV3_FOR_EACH_CORE(PMUV3_CORE_MATCH)
	{}
};

static int pmuv3_device_probe(struct platform_device *pdev)
{
	return arm_pmu_device_probe(pdev, pmuv3_of_ids, NULL);
}

static struct platform_driver pmuv3_driver = {
	.probe	= pmuv3_device_probe,
	.driver	= {
		.name			= ARMV8_PMU_PDEV_NAME,
		.of_match_table		= pmuv3_of_ids,
		.suppress_bind_attrs	= true,
	},
};

/* The hard lockup detector is initialized before a PMU is registered: retry it now. */
static int __init arm_pmuv3_init(void)
{
	int err;

	if (acpi_disabled)
		err = platform_driver_register(&pmuv3_driver);
	else
		err = arm_pmu_acpi_probe(armv8_pmuv3_init);
	if (!err)
		lockup_detector_retry_init();
	return err;
}
device_initcall(arm_pmuv3_init)
