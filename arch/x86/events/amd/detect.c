// SPDX-License-Identifier: GPL-2.0
/*
 * Which PMU an AMD or Hygon processor has.
 *
 * Manual: APM volume 2, 13.2 "Performance Monitoring Counters"; APM volume 3, CPUID Fn8000_0001
 * and Fn8000_0022.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>

#include "models.h"

/* An interrupt may be on its way when its counter is stopped. */
#define AMD_REGISTERS(_select, _counter, _step)			\
	X86_HW_REGISTERS(_select, _counter, _step),		\
	.enable		= ARCH_PERFMON_EVENTSEL_ENABLE,		\
	.ack_lvt	= true,					\
	.late_nmi	= true

static const struct x86_hw k7 __initconst = {
	.name		= "K7 registers",
	AMD_REGISTERS(MSR_K7_EVNTSEL0, MSR_K7_PERFCTR0, 1),
};

static const struct x86_hw core_registers __initconst = {
	.name		= "core performance counters",
	AMD_REGISTERS(MSR_F15H_PERF_CTL, MSR_F15H_PERF_CTR, 2),
};

static const struct x86_hw perfmon_v2 __initconst = {
	.name		= "performance monitoring version 2",
	AMD_REGISTERS(MSR_F15H_PERF_CTL, MSR_F15H_PERF_CTR, 2),
	X86_HW_GLOBAL(MSR_AMD64_PERF_CNTR_GLOBAL_CTL, MSR_AMD64_PERF_CNTR_GLOBAL_STATUS,
		      MSR_AMD64_PERF_CNTR_GLOBAL_STATUS_CLR),
};

/* Zen and Zen 2 have the family in common. */
static const struct x86_model * __init pick_fam17h(void)
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

/* So have Zen 3 and Zen 4. */
static const struct x86_model * __init pick_fam19h(void)
{
	switch (boot_cpu_data.x86_model) {
	case 0x00 ... 0x0f:
	case 0x20 ... 0x5f:
		return &amd_model_fam19h;
	default:
		return &amd_model_zen4;
	}
}

static const struct x86_model * __init pick_model(void)
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
		return pick_fam17h();
	case 0x18:	/* Hygon */
		return &amd_model_fam17h;
	case 0x19:
		return pick_fam19h();
	default:
		return &amd_model_fam1ah;
	}
}

static unsigned int __init pick_registers(struct x86_core *core)
{
	union cpuid_0x80000022_ebx ebx;

	if (!boot_cpu_has(X86_FEATURE_PERFCTR_CORE)) {
		x86_hw = k7;
		return AMD64_NUM_COUNTERS;
	}
	core->version = 1;
	if (!boot_cpu_has(X86_FEATURE_PERFMON_V2)) {
		x86_hw = core_registers;
		return AMD64_NUM_COUNTERS_CORE;
	}
	core->version = 2;
	x86_hw = perfmon_v2;
	ebx.full = cpuid_ebx(EXT_PERFMON_DEBUG_FEATURES);
	return ebx.split.num_core_pmc;
}

/**
 * amd_pmu_detect - fill x86_hw and x86_cores
 *
 * Return: 0, -ENODEV.
 */
int __init amd_pmu_detect(void)
{
	struct x86_core *core = &x86_cores[0];
	unsigned int n;

	if (boot_cpu_data.x86 < 6)
		return -ENODEV;

	n = pick_registers(core);
	core->model = pick_model();
	core->counters = (1ULL << n) - 1;
	core->width = 48;
	core->write_bits = 48;
	core->select_mask = boot_cpu_data.x86 < 0x10 ? X86_RAW_EVENT_MASK : AMD64_RAW_EVENT_MASK;
	/* The host and guest bits came with family 10h. */
	x86_hw.guest_bits = boot_cpu_data.x86 >= 0x10;
	x86_nr_cores = 1;
	return 0;
}
