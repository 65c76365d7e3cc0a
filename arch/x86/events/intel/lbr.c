// SPDX-License-Identifier: GPL-2.0
/*
 * Last branch records of Intel processors: a ring of registers from Core 2 to Rocket Lake, the
 * architectural registers of CPUID.1CH since.
 *
 * Manuals: SDM 3B, "Last Branch, Interrupt, and Exception Recording"; SDM 4, tables of MSRs.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/static_call.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

#include "../branch.h"
#include "../lbr.h"
#include "../exclusive.h"
#include "models.h"

#define SHIFT(_kind)	PERF_SAMPLE_BRANCH_##_kind##_SHIFT

/*
 * Errata: the bit that suppresses jumps suppresses calls, too, and the bit of indirect jumps
 * suppresses indirect calls and returns. Jumps are logged with these, and direct calls cannot be
 * named alone.
 */
static const u16 lbr_nehalem_map[PERF_SAMPLE_BRANCH_MAX_SHIFT] = {
	[SHIFT(ANY)]		= X86_SELECT_ALL & ~(X86_SELECT_USER | X86_SELECT_KERNEL),
	[SHIFT(ANY_CALL)]	= X86_SELECT_CALL | X86_SELECT_IND_CALL | X86_SELECT_IND_JUMP |
				  X86_SELECT_JUMP | X86_SELECT_FAR,
	[SHIFT(ANY_RETURN)]	= X86_SELECT_RETURN | X86_SELECT_IND_JUMP | X86_SELECT_JUMP |
				  X86_SELECT_FAR,
	[SHIFT(IND_CALL)]	= X86_SELECT_IND_CALL | X86_SELECT_IND_JUMP,
	[SHIFT(COND)]		= X86_SELECT_COND,
	[SHIFT(IND_JUMP)]	= X86_SELECT_IND_JUMP,
};

static const u16 lbr_sandybridge_map[PERF_SAMPLE_BRANCH_MAX_SHIFT] = { X86_BRANCH_MAP };

static const u16 lbr_haswell_map[PERF_SAMPLE_BRANCH_MAX_SHIFT] = {
	X86_BRANCH_MAP,
	[SHIFT(CALL_STACK)]	= X86_SELECT_CALL | X86_SELECT_IND_CALL | X86_SELECT_RETURN,
};

/* Without a filter: the driver decodes the instructions to find the kinds. */
#define LBR_CORE(_depth)				\
	.kind	= X86_BRANCHES_RING,			\
	.control = MSR_IA32_DEBUGCTLMSR,		\
	.on	= DEBUGCTLMSR_LBR,			\
	.from	= MSR_LBR_CORE_FROM,			\
	.to	= MSR_LBR_CORE_TO,			\
	.top	= MSR_LBR_TOS,				\
	.depth	= (_depth)

#define LBR_NEHALEM(_depth, _map)			\
	.kind	= X86_BRANCHES_RING,			\
	.control = MSR_IA32_DEBUGCTLMSR,		\
	.on	= DEBUGCTLMSR_LBR,			\
	.from	= MSR_LBR_NHM_FROM,			\
	.to	= MSR_LBR_NHM_TO,			\
	.select	= MSR_LBR_SELECT,			\
	.top	= MSR_LBR_TOS,				\
	.depth	= (_depth),				\
	.map	= (_map)

const struct x86_branches intel_lbr_core2 = { LBR_CORE(4) };
const struct x86_branches intel_lbr_bonnell = { LBR_CORE(8) };

const struct x86_branches intel_lbr_silvermont = {
	LBR_CORE(8),
	.select	= MSR_LBR_SELECT,
	.map	= lbr_nehalem_map,
};

const struct x86_branches intel_lbr_nehalem = {
	LBR_NEHALEM(16, lbr_nehalem_map),
	.flags	= X86_BRANCHES_HT_SHARED,
};

const struct x86_branches intel_lbr_sandybridge = { LBR_NEHALEM(16, lbr_sandybridge_map) };

/* Its format has no flags by the manual, and FROM has the one of mispredicted branches. */
const struct x86_branches intel_lbr_knl = {
	LBR_NEHALEM(8, lbr_sandybridge_map),
	.flags	= X86_BRANCHES_MISS,
};

const struct x86_branches intel_lbr_haswell = { LBR_NEHALEM(16, lbr_haswell_map) };

const struct x86_branches intel_lbr_skylake = {
	LBR_NEHALEM(32, lbr_haswell_map),
	.info	= MSR_LBR_INFO_0,
};

/* Goldmont (its format has the cycles in TO), Goldmont Plus and Tremont use it, too. */
const struct x86_branches intel_lbr_icelake = {
	LBR_NEHALEM(32, lbr_haswell_map),
	.info	= MSR_LBR_INFO_0,
	.flags	= X86_BRANCHES_WITH_PT,
};

/* Can the register be read, and its value be written back? */
static bool __init lbr_register_works(u32 msr)
{
	u64 val;

	return !msr || (!rdmsrl_safe(msr, &val) && !wrmsrl_safe(msr, val));
}

static bool __init lbr_from_works(u32 msr, u32 layout)
{
	u64 val;

	return !rdmsrl_safe(msr, &val) &&
	       !wrmsrl_safe(msr, x86_branch_from_to_write(layout, val));
}

/* A hypervisor can show the model without the registers. */
static bool __init lbr_registers_work(const struct x86_branches *b, u32 layout)
{
	unsigned int last = b->depth - 1;
	u64 top;

	return lbr_register_works(b->select) && !rdmsrl_safe(b->top, &top) &&
	       lbr_from_works(b->from, layout) && lbr_from_works(b->from + last, layout) &&
	       lbr_register_works(b->to) && lbr_register_works(b->to + last) &&
	       (!(layout & X86_BRANCH_INFO_CYCLES) ||
		(lbr_register_works(b->info) && lbr_register_works(b->info + last)));
}

#define LBR_FORMAT_LAST		7	/* of a ring */

/* Hypervisors without branch records report format 0, the one of 32-bit addresses. */
static bool __init lbr_format_works(unsigned int format)
{
	return format <= LBR_FORMAT_LAST && (format || !boot_cpu_has(X86_FEATURE_HYPERVISOR));
}

/* SDM 4, "MSRs in the Intel Atom Processor Family": TOS is right from stepping 10 on. */
static bool __init lbr_stepping_works(void)
{
	return boot_cpu_data.x86_vfm != INTEL_ATOM_BONNELL || boot_cpu_data.x86_stepping >= 10;
}

static void __init lbr_setup_done(struct x86_pmu *xpmu, const struct x86_branches *b, u32 layout)
{
	xpmu->branches = b;
	xpmu->branch_layout = layout;
	x86_lbr_with_pt = b->flags & X86_BRANCHES_WITH_PT;
	static_call_update(perf_snapshot_branch_stack, x86_lbr_snapshot);
}

static void __init lbr_setup_ring(struct x86_pmu *xpmu)
{
	const struct x86_branches *b = xpmu->model->branches;
	unsigned int format;
	u32 layout;
	u64 caps;

	if (!b || xpmu->version < 2 || !boot_cpu_has(X86_FEATURE_PDCM) || !lbr_stepping_works() ||
	    rdmsrl_safe(MSR_IA32_PERF_CAPABILITIES, &caps))
		return;
	format = x86_branch_format(b, caps);
	layout = x86_branch_layout(format, boot_cpu_has(X86_FEATURE_RTM));
	if (!lbr_format_works(format) || !lbr_registers_work(b, layout))
		return;
	lbr_setup_done(xpmu, b, layout);
	pr_info("perf: %u branch records, format %u\n", b->depth, format);
}

/* --------------------------------------------------------- CPUID.1CH */

#define ARCH_LBR_LEAF		0x1c

/* EBX: SDM 2, CPUID. */
#define ARCH_LBR_EBX_LEVELS	BIT(0)
#define ARCH_LBR_EBX_FILTER	BIT(1)
#define ARCH_LBR_EBX_STACK	BIT(2)
/* ECX */
#define ARCH_LBR_ECX_MISS	BIT(0)
#define ARCH_LBR_ECX_CYCLES	BIT(1)
#define ARCH_LBR_ECX_TYPE	BIT(2)
#define ARCH_LBR_ECX_COUNTERS	GENMASK(19, 16)

static struct x86_branches lbr_arch __ro_after_init = {
	.kind	= X86_BRANCHES_ARCH,
	.control = MSR_ARCH_LBR_CTL,
	.on	= ARCH_LBR_CTL_LBREN,
	.from	= MSR_ARCH_LBR_FROM_0,
	.to	= MSR_ARCH_LBR_TO_0,
	.info	= MSR_ARCH_LBR_INFO_0,
	.select	= MSR_ARCH_LBR_CTL,
	.flags	= X86_BRANCHES_WITH_PT,
};

/**
 * intel_lbr_arch_layout - the layout of architectural records
 * @ecx: CPUID.1CH:ECX
 * @tsx: the part has transactions
 *
 * Context: any.
 * Return: X86_BRANCH_INFO_* flags
 */
u32 intel_lbr_arch_layout(u32 ecx, bool tsx)
{
	return (ecx & ARCH_LBR_ECX_MISS ? X86_BRANCH_INFO_MISS : 0) |
	       (ecx & ARCH_LBR_ECX_CYCLES ? X86_BRANCH_INFO_CYCLES | X86_BRANCH_INFO_VALID : 0) |
	       (ecx & ARCH_LBR_ECX_TYPE ? X86_BRANCH_INFO_TYPE : 0) |
	       (ecx & ARCH_LBR_ECX_COUNTERS ? X86_BRANCH_INFO_COUNTS : 0) |
	       (tsx ? X86_BRANCH_INFO_TX : 0);
}

/**
 * intel_lbr_arch_depth - the number of architectural records to use
 * @eax: CPUID.1CH:EAX, bit n of the low byte stands for 8 * (n + 1) records
 *
 * Context: any.
 * Return: the largest power of 2 up to X86_BRANCH_MAX; 0: none
 */
unsigned int intel_lbr_arch_depth(u32 eax)
{
	unsigned int depth;

	for (depth = X86_BRANCH_MAX; depth >= 8; depth /= 2)
		if (eax & BIT(depth / 8 - 1))
			return depth;
	return 0;
}

/* All parts that have the leaf can filter. */
static void __init lbr_setup_arch(struct x86_pmu *xpmu)
{
	u32 eax, ebx, ecx, edx;

	cpuid(ARCH_LBR_LEAF, &eax, &ebx, &ecx, &edx);
	lbr_arch.depth = intel_lbr_arch_depth(eax);
	if (!lbr_arch.depth || !(ebx & ARCH_LBR_EBX_LEVELS) || !(ebx & ARCH_LBR_EBX_FILTER) ||
	    wrmsrl_safe(MSR_ARCH_LBR_DEPTH, lbr_arch.depth))
		return;
	lbr_arch.counters = (ecx & ARCH_LBR_ECX_COUNTERS) >> 16;
	lbr_arch.map = ebx & ARCH_LBR_EBX_STACK ? lbr_haswell_map : lbr_sandybridge_map;
	lbr_setup_done(xpmu, &lbr_arch,
		       intel_lbr_arch_layout(ecx, boot_cpu_has(X86_FEATURE_RTM)));
	pr_info("perf: %u architectural branch records\n", lbr_arch.depth);
}

/**
 * intel_lbr_setup - find out whether a PMU has branch records
 * @xpmu: the PMU; x86_pmu::model and x86_pmu::version are set
 *
 * Context: initcall; may sleep.
 */
void __init intel_lbr_setup(struct x86_pmu *xpmu)
{
	if (boot_cpu_has(X86_FEATURE_ARCH_LBR))
		lbr_setup_arch(xpmu);
	else
		lbr_setup_ring(xpmu);
}
