// SPDX-License-Identifier: GPL-2.0
/*
 * Detection of the PMU of AMD and Hygon processors.
 *
 * Manual: APM volume 2, 13.2 "Performance Monitoring Counters"; APM volume 3, CPUID Fn8000_0001
 * and Fn8000_0022.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>

#include "models.h"

/* An interrupt can arrive after its counter was stopped. */
#define AMD_REGISTERS(_select, _counter, _step)			\
	X86_PMU_REGS_COUNTERS(_select, _counter, _step),		\
	.enable		= ARCH_PERFMON_EVENTSEL_ENABLE,		\
	.ack_lvt	= true,					\
	.late_nmi	= true

static const struct x86_pmu_regs amd_regs_k7 __initconst = {
	.name		= "K7 registers",
	AMD_REGISTERS(MSR_K7_EVNTSEL0, MSR_K7_PERFCTR0, 1),
};

static const struct x86_pmu_regs amd_regs_core __initconst = {
	.name		= "core performance counters",
	AMD_REGISTERS(MSR_F15H_PERF_CTL, MSR_F15H_PERF_CTR, 2),
};

static const struct x86_pmu_regs amd_regs_v2 __initconst = {
	.name		= "performance monitoring version 2",
	AMD_REGISTERS(MSR_F15H_PERF_CTL, MSR_F15H_PERF_CTR, 2),
	X86_PMU_REGS_GLOBAL(MSR_AMD64_PERF_CNTR_GLOBAL_CTL, MSR_AMD64_PERF_CNTR_GLOBAL_STATUS,
			    MSR_AMD64_PERF_CNTR_GLOBAL_STATUS_CLR),
};

/* Family 17h is Zen and Zen 2. */
static const struct x86_model * __init amd_pick_fam17h(void)
{
	switch (boot_cpu_data.x86_model) {
	case 0x30 ... 0x4f:
	case 0x60 ... 0x7f:
	case 0x90 ... 0xaf:
		return &amd_model_zen2;
	default:
		return &amd_model_fam17h;
	}
}

/* Family 19h is Zen 3 and Zen 4. */
static const struct x86_model * __init amd_pick_fam19h(void)
{
	switch (boot_cpu_data.x86_model) {
	case 0x00 ... 0x0f:
	case 0x20 ... 0x5f:
		return &amd_model_fam19h;
	default:
		return &amd_model_zen4;
	}
}

static const struct x86_model * __init amd_pick_model(void)
{
	switch (boot_cpu_data.x86) {
	case 0x6 ... 0xe:
		return &amd_model_k7;
	case 0xf:
		return &amd_model_k8;
	case 0x10 ... 0x14:
	case 0x16:
		return &amd_model_fam10h;
	case 0x15:
		return &amd_model_fam15h;
	case 0x17:
		return amd_pick_fam17h();
	case 0x18:	/* Hygon */
		return &amd_model_fam17h;
	case 0x19:
		return amd_pick_fam19h();
	default:
		return &amd_model_fam1ah;
	}
}

static unsigned int __init amd_pick_registers(struct x86_pmu *xpmu)
{
	union cpuid_0x80000022_ebx ebx;

	if (!boot_cpu_has(X86_FEATURE_PERFCTR_CORE)) {
		x86_pmu_regs = amd_regs_k7;
		return AMD64_NUM_COUNTERS;
	}
	xpmu->version = 1;
	if (!boot_cpu_has(X86_FEATURE_PERFMON_V2)) {
		x86_pmu_regs = amd_regs_core;
		return AMD64_NUM_COUNTERS_CORE;
	}
	xpmu->version = 2;
	x86_pmu_regs = amd_regs_v2;
	ebx.full = cpuid_ebx(EXT_PERFMON_DEBUG_FEATURES);
	return ebx.split.num_core_pmc;
}

/**
 * amd_pmu_detect - fill x86_pmu_regs and x86_pmus
 *
 * Context: initcall; may sleep.
 * Return: 0, -ENODEV
 */
int __init amd_pmu_detect(void)
{
	struct x86_pmu *xpmu = &x86_pmus[0];
	unsigned int n;

	if (boot_cpu_data.x86 < 6)
		return -ENODEV;

	n = amd_pick_registers(xpmu);
	xpmu->model = amd_pick_model();
	xpmu->counters = (1ULL << n) - 1;
	xpmu->width = 48;
	xpmu->write_bits = 48;
	xpmu->select_mask = boot_cpu_data.x86 < 0x10 ? X86_RAW_EVENT_MASK : AMD64_RAW_EVENT_MASK;
	/* The host-only and guest-only bits exist since family 10h. */
	x86_pmu_regs.guest_bits = boot_cpu_data.x86 >= 0x10;
	amd_lbr_setup(xpmu);
	x86_nr_pmus = 1;
	return 0;
}
