// SPDX-License-Identifier: GPL-2.0
/*
 * Architectural performance monitoring: the registers and what CPUID.0AH says about them. Intel's
 * invention, which Zhaoxin's processors have as well.
 *
 * Manual: SDM 3B, "Architectural Performance Monitoring".
 */
#include <linux/cpufeature.h>
#include <linux/init.h>

#include "arch.h"

#define PERF_CAP_FW_WRITE	BIT_ULL(13)

#define ARCH_REGISTERS									\
	X86_HW_REGISTERS(MSR_ARCH_PERFMON_EVENTSEL0, MSR_ARCH_PERFMON_PERFCTR0, 1),	\
	.enable		= ARCH_PERFMON_EVENTSEL_ENABLE,					\
	.ack_lvt	= true

/* Without global control: each select has its enable bit. */
static const struct x86_hw arch_v1 __initconst = {
	.name		= "architectural",
	ARCH_REGISTERS,
	.late_nmi	= true,
};

static const struct x86_hw arch_v2 __initconst = {
	.name		= "architectural with global control",
	ARCH_REGISTERS,
	X86_HW_GLOBAL(MSR_CORE_PERF_GLOBAL_CTRL, MSR_CORE_PERF_GLOBAL_STATUS,
		      MSR_CORE_PERF_GLOBAL_OVF_CTRL),
};

/*
 * Fixed counters: a number, from version 5 a set as well. Early parts with version 2 understate
 * the number, but not under a hypervisor, which may have its reasons.
 */
static u64 fixed_counters(const struct x86_arch_leaf *leaf)
{
	unsigned int version = leaf->eax.split.version_id;
	unsigned int n = leaf->edx.split.num_counters_fixed;
	u64 set;

	if (version < 2)
		return 0;
	if (version < 5 && !boot_cpu_has(X86_FEATURE_HYPERVISOR))
		n = max(n, 3u);
	n = min_t(unsigned int, n, INTEL_PMC_MAX_FIXED);
	set = (1ULL << n) - 1;
	if (version >= 5)
		set |= leaf->ecx & GENMASK(INTEL_PMC_MAX_FIXED - 1, 0);
	return set << INTEL_PMC_IDX_FIXED;
}

/* Writes of a counter set 32 bits, and the sign above, unless the part can do better. */
static void __init full_width(struct x86_core *core)
{
	u64 caps = 0;

	core->write_bits = 32;
	if (boot_cpu_has(X86_FEATURE_PDCM))
		rdmsrl_safe(MSR_IA32_PERF_CAPABILITIES, &caps);
	if (!(caps & PERF_CAP_FW_WRITE))
		return;
	core->write_bits = core->width;
	x86_hw.counter_write = MSR_IA32_PMC0;
}

static void __init selectable(struct x86_core *core, const struct x86_arch_leaf *leaf)
{
	u32 flags = core->model->flags;

	core->select_mask = X86_RAW_EVENT_MASK;
	if (core->version >= 3 && !leaf->edx.split.anythread_deprecated)
		core->select_mask |= ARCH_PERFMON_EVENTSEL_ANY;
	if (flags & X86_MODEL_TSX && boot_cpu_has(X86_FEATURE_RTM))
		core->select_mask |= HSW_IN_TX | HSW_IN_TX_CHECKPOINTED;
	if (flags & X86_MODEL_UMASK2)
		core->select_mask |= ARCH_PERFMON_EVENTSEL_UMASK2;
	if (flags & X86_MODEL_EQ)
		core->select_mask |= ARCH_PERFMON_EVENTSEL_EQ;
}

/* The counters there are. */
u64 x86_arch_counters(const struct x86_arch_leaf *leaf)
{
	unsigned int n = min_t(unsigned int, leaf->eax.split.num_counters, INTEL_PMC_MAX_GENERIC);

	return ((1ULL << n) - 1) | fixed_counters(leaf);
}

void x86_arch_read_leaf(struct x86_arch_leaf *leaf)
{
	cpuid(10, &leaf->eax.full, &leaf->ebx.full, &leaf->ecx, &leaf->edx.full);
}

/**
 * x86_arch_setup - fill x86_hw and a core from CPUID
 * @core: the core
 * @leaf: CPUID.0AH
 * @model: its tables
 */
void __init x86_arch_setup(struct x86_core *core, const struct x86_arch_leaf *leaf,
			   const struct x86_model *model)
{
	core->model = model;
	core->version = leaf->eax.split.version_id;
	core->counters = x86_arch_counters(leaf);
	core->width = leaf->eax.split.bit_width;
	core->arch_len = min_t(u32, leaf->eax.split.mask_length, 32);
	core->arch_missing = leaf->ebx.full;
	x86_hw = core->version >= 2 ? arch_v2 : arch_v1;
	full_width(core);
	selectable(core, leaf);
}
