// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records of AMD processors: last branch records from Zen 4 on (LbrExtV2), and the branch
 * sampling of Zen 3 (BRS).
 *
 * Manuals: APM volume 2, "Last Branch Stack Registers"; APM volume 3, CPUID Fn8000_0022; PPR of
 * family 19h model 11h, DBG_EXTN_CFG.
 */
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/static_call.h>

#include "../branch.h"
#include "../lbr.h"
#include "models.h"

static const u16 lbr_map[PERF_SAMPLE_BRANCH_MAX_SHIFT] = { X86_BRANCH_MAP };

static struct x86_branches lbr_amd __ro_after_init = {
	.kind	= X86_BRANCHES_AMD,
	.control = MSR_AMD_DBG_EXTN_CFG,
	.on	= DBG_EXTN_CFG_LBRV2EN,
	.from	= MSR_AMD_SAMP_BR_FROM,
	.to	= MSR_AMD_SAMP_BR_FROM + 1,
	.shift	= 1,
	.select	= MSR_AMD64_LBR_SELECT,
	.map	= lbr_map,
};

/* The buffer has no filter but that of software. */
static const struct x86_branches lbr_brs = {
	.kind	= X86_BRANCHES_BUFFER,
	.control = MSR_AMD_DBG_EXTN_CFG,
	.on	= X86_BRS_ENABLE,
	.from	= MSR_AMD_SAMP_BR_FROM,
	.to	= MSR_AMD_SAMP_BR_FROM + 1,
	.depth	= 16,
	.shift	= 1,
};

static void __init lbr_brs_setup(struct x86_pmu *xpmu)
{
	u64 val;

	if (rdmsrl_safe(lbr_brs.control, &val))
		return;
	xpmu->branches = &lbr_brs;
	xpmu->branch_layout = X86_BRANCH_SIGN;
	pr_info("perf: %u branch records, sampled\n", lbr_brs.depth);
}

/**
 * amd_lbr_setup - find out whether a PMU has branch records
 * @xpmu: the PMU
 *
 * A freeze ends when the interrupt's status is acknowledged, which a hypervisor without PERFMON_V2
 * has not. Some Zen 4 have no freeze. There the interrupt's own branches take the place of others,
 * unless they are filtered out as those of the kernel.
 *
 * Context: initcall; may sleep.
 */
void __init amd_lbr_setup(struct x86_pmu *xpmu)
{
	union cpuid_0x80000022_ebx ebx;
	u64 val;

	if (boot_cpu_has(X86_FEATURE_BRS)) {
		lbr_brs_setup(xpmu);
		return;
	}
	if (!boot_cpu_has(X86_FEATURE_AMD_LBR_V2) || !boot_cpu_has(X86_FEATURE_PERFMON_V2))
		return;
	if (!boot_cpu_has(X86_FEATURE_AMD_LBR_PMC_FREEZE))
		lbr_amd.flags |= X86_BRANCHES_NO_FREEZE;
	ebx.full = cpuid_ebx(EXT_PERFMON_DEBUG_FEATURES);
	lbr_amd.depth = min_t(unsigned int, ebx.split.lbr_v2_stack_sz, X86_BRANCH_MAX);
	if (!lbr_amd.depth || rdmsrl_safe(lbr_amd.select, &val) || rdmsrl_safe(lbr_amd.to, &val))
		return;
	xpmu->branches = &lbr_amd;
	xpmu->branch_layout = X86_BRANCH_TO_VALID | X86_BRANCH_FUSED;
	static_call_update(perf_snapshot_branch_stack, x86_lbr_snapshot);
	pr_info("perf: %u branch records, LbrExtV2\n", lbr_amd.depth);
}
