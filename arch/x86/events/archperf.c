// SPDX-License-Identifier: GPL-2.0
/*
 * Architectural performance monitoring of Intel and Zhaoxin processors: the registers, and their
 * description in CPUID.0AH and CPUID.23H.
 *
 * Manual: SDM 3B, "Architectural Performance Monitoring"; leaf 23H: SDM 2A, "CPUID".
 */
#include <linux/cpufeature.h>
#include <linux/init.h>

#include "archperf.h"

#define PERF_CAP_FW_WRITE	BIT_ULL(13)

/* CPUID.23H.0: sub-leaves in EAX, features in EBX. */
#define EXT_COUNTERS		BIT(1)
#define EXT_UMASK2		BIT(0)
#define EXT_EQ			BIT(1)

#define ARCHPERF_ENABLE							\
	.enable		= ARCH_PERFMON_EVENTSEL_ENABLE,			\
	.ack_lvt	= true

#define ARCHPERF_GLOBAL							\
	X86_PMU_REGS_GLOBAL(MSR_CORE_PERF_GLOBAL_CTRL, MSR_CORE_PERF_GLOBAL_STATUS,	\
			    MSR_CORE_PERF_GLOBAL_OVF_CTRL)

#define ARCHPERF_REGISTERS									\
	X86_PMU_REGS_COUNTERS(MSR_ARCH_PERFMON_EVENTSEL0, MSR_ARCH_PERFMON_PERFCTR0, 1),	\
	.fixed		= MSR_ARCH_PERFMON_FIXED_CTR0,					\
	ARCHPERF_ENABLE

/* Version 1 has no GLOBAL_CTRL: counters are enabled in their selects. */
static const struct x86_pmu_regs archperf_regs_v1 __initconst = {
	.name		= "architectural",
	ARCHPERF_REGISTERS,
	.late_nmi	= true,
};

static const struct x86_pmu_regs archperf_regs_v2 __initconst = {
	.name		= "architectural with global control",
	ARCHPERF_REGISTERS,
	ARCHPERF_GLOBAL,
};

/* All counters of version 6 have a number here, whatever the older numbers have room for. */
static const struct x86_pmu_regs archperf_regs_v6 __initconst = {
	.name		= "architectural, version 6",
	X86_PMU_REGS_COUNTERS(MSR_IA32_PMC_V6_GP0_CFG_A, MSR_IA32_PMC_V6_GP0_CTR,
			      MSR_IA32_PMC_V6_STEP),
	.fixed		= MSR_IA32_PMC_V6_FX0_CTR,
	ARCHPERF_ENABLE,
	ARCHPERF_GLOBAL,
};

/*
 * CPUID has the number of fixed counters, and from version 5 on also a set of them. Early parts of
 * version 2 report a number that is too low. A hypervisor's number is used as it is.
 */
static u64 archperf_fixed_counters(const struct archperf_leaf *leaf)
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
		set |= (leaf->ecx | leaf->fixed) & GENMASK(INTEL_PMC_MAX_FIXED - 1, 0);
	return set << INTEL_PMC_IDX_FIXED;
}

/*
 * A write sets 32 bits and copies bit 31 upwards, unless the part has full-width writes. Those of
 * version 6 have numbers of their own.
 */
static void __init archperf_set_write_width(struct x86_pmu *xpmu)
{
	u64 caps = 0;

	xpmu->write_bits = xpmu->version >= 6 ? xpmu->width : 32;
	if (xpmu->version >= 6)
		return;
	if (boot_cpu_has(X86_FEATURE_PDCM))
		rdmsrl_safe(MSR_IA32_PERF_CAPABILITIES, &caps);
	if (!(caps & PERF_CAP_FW_WRITE))
		return;
	xpmu->write_bits = xpmu->width;
	x86_pmu_regs.counter_write = MSR_IA32_PMC0;
}

static void __init archperf_set_select_mask(struct x86_pmu *xpmu, const struct archperf_leaf *leaf)
{
	u32 flags = xpmu->model->flags;

	xpmu->select_mask = X86_RAW_EVENT_MASK;
	if (xpmu->version >= 3 && !leaf->edx.split.anythread_deprecated)
		xpmu->select_mask |= ARCH_PERFMON_EVENTSEL_ANY;
	if (flags & X86_MODEL_TSX && boot_cpu_has(X86_FEATURE_RTM))
		xpmu->select_mask |= HSW_IN_TX | HSW_IN_TX_CHECKPOINTED;
	if (flags & X86_MODEL_UMASK2 || leaf->features & EXT_UMASK2)
		xpmu->select_mask |= ARCH_PERFMON_EVENTSEL_UMASK2;
	if (flags & X86_MODEL_EQ || leaf->features & EXT_EQ)
		xpmu->select_mask |= ARCH_PERFMON_EVENTSEL_EQ;
}

/**
 * archperf_counters - the counters of a CPU
 * @leaf: values of CPUID
 *
 * Context: any.
 * Return: set of counters
 */
u64 archperf_counters(const struct archperf_leaf *leaf)
{
	unsigned int n = min_t(unsigned int, leaf->eax.split.num_counters, INTEL_PMC_MAX_GENERIC);

	return ((1ULL << n) - 1) | leaf->general | archperf_fixed_counters(leaf);
}

/**
 * archperf_read_leaf - read CPUID.0AH and CPUID.23H of this CPU
 * @leaf: set to the result
 *
 * Context: any; the task stays on its CPU.
 */
void archperf_read_leaf(struct archperf_leaf *leaf)
{
	u32 subleaves, ecx, edx;

	cpuid(10, &leaf->eax.full, &leaf->ebx.full, &leaf->ecx, &leaf->edx.full);
	leaf->features = 0;
	leaf->general = 0;
	leaf->fixed = 0;
	/* Meteor Lake's cores have version 5, and their fixed counter 3 is named only there. */
	if (leaf->eax.split.version_id < 5 || !boot_cpu_has(X86_FEATURE_ARCH_PERFMON_EXT))
		return;
	cpuid_count(ARCH_PERFMON_EXT_LEAF, 0, &subleaves, &leaf->features, &ecx, &edx);
	if (subleaves & EXT_COUNTERS)
		cpuid_count(ARCH_PERFMON_EXT_LEAF, 1, &leaf->general, &leaf->fixed, &ecx, &edx);
}

/**
 * archperf_setup - fill x86_pmu_regs and a PMU from CPUID
 * @xpmu: PMU to fill
 * @leaf: values of CPUID
 * @model: tables for the PMU
 *
 * Context: initcall; may sleep.
 */
void __init archperf_setup(struct x86_pmu *xpmu, const struct archperf_leaf *leaf,
			   const struct x86_model *model)
{
	xpmu->model = model;
	xpmu->version = leaf->eax.split.version_id;
	xpmu->counters = archperf_counters(leaf);
	xpmu->width = leaf->eax.split.bit_width;
	xpmu->arch_len = min_t(u32, leaf->eax.split.mask_length, 32);
	xpmu->arch_missing = leaf->ebx.full;
	x86_pmu_regs = xpmu->version >= 6 ? archperf_regs_v6 :
		       xpmu->version >= 2 ? archperf_regs_v2 : archperf_regs_v1;
	archperf_set_write_width(xpmu);
	archperf_set_select_mask(xpmu, leaf);
}
