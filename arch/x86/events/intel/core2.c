// SPDX-License-Identifier: GPL-2.0
/*
 * Core (Yonah) and Core 2 (Merom, Penryn, Dunnington).
 *
 * Manual: SDM 3B, event lists "Intel Core Solo and Duo" and "Intel Core 2 (65 nm, 45 nm)".
 */
#include "models.h"

static const struct x86_rule core_rules[] = {
	RULE_CODE(0x11, BIT(1)),	/* FP_ASSIST */
	RULE_CODE(0x12, BIT(1)),	/* MUL */
	RULE_CODE(0x13, BIT(1)),	/* DIV */
	RULE_CODE(0x14, BIT(0)),	/* CYCLES_DIV_BUSY */
	RULE_CODE(0x19, BIT(1)),	/* DELAYED_BYPASS */
	RULE_CODE(0xc1, BIT(0)),	/* FP_COMP_INSTR_RET */
	{ }
};

static const struct x86_rule core2_rules[] = {
	RULE_CODE(0x10, BIT(0)),	/* FP_COMP_OPS_EXE */
	RULE_CODE(0x11, BIT(1)),	/* FP_ASSIST */
	RULE_CODE(0x12, BIT(1)),	/* MUL */
	RULE_CODE(0x13, BIT(1)),	/* DIV */
	RULE_CODE(0x14, BIT(0)),	/* CYCLES_DIV_BUSY */
	RULE_CODE(0x18, BIT(0)),	/* IDLE_DURING_DIV */
	RULE_CODE(0x19, BIT(1)),	/* DELAYED_BYPASS */
	RULE_CODE(0xa1, BIT(0)),	/* RS_UOPS_DISPATCHED, by port */
	RULE_CODE(0xc9, BIT(0)),	/* ITLB_MISS_RETIRED */
	RULE_CODE(0xcb, BIT(0)),	/* MEM_LOAD_RETIRED */
	{ }
};

static const struct x86_cache_event core2_cache[] = {
	CACHE(L1D, LOAD, ACCESS, 0x0f40),	/* L1D_CACHE_LD, all states */
	CACHE(L1D, LOAD, MISS, 0x0140),		/* L1D_CACHE_LD, invalid */
	CACHE(L1D, STORE, ACCESS, 0x0f41),	/* L1D_CACHE_ST */
	CACHE(L1D, STORE, MISS, 0x0141),
	CACHE(L1D, PREFETCH, ACCESS, 0x104e),	/* L1D_PREFETCH.REQUESTS */
	CACHE(L1I, LOAD, ACCESS, 0x0080),	/* L1I_READS */
	CACHE(L1I, LOAD, MISS, 0x0081),		/* L1I_MISSES */
	CACHE(LL, LOAD, ACCESS, 0x4f29),	/* L2_LD, this core */
	CACHE(LL, LOAD, MISS, 0x4129),
	CACHE(LL, STORE, ACCESS, 0x4f2a),	/* L2_ST, this core */
	CACHE(LL, STORE, MISS, 0x412a),
	CACHE(DTLB, LOAD, ACCESS, 0x0f40),
	CACHE(DTLB, LOAD, MISS, 0x0208),	/* DTLB_MISSES.MISS_LD */
	CACHE(DTLB, STORE, ACCESS, 0x0f41),
	CACHE(DTLB, STORE, MISS, 0x0808),	/* DTLB_MISSES.MISS_ST */
	CACHE(ITLB, LOAD, ACCESS, 0x00c0),
	CACHE(ITLB, LOAD, MISS, 0x1282),	/* ITLB.MISSES */
	CACHE(BPU, LOAD, ACCESS, 0x00c4),
	CACHE(BPU, LOAD, MISS, 0x00c5),
	{ }
};

const struct x86_model core_model = {
	.name	= "core",
	.manual	= "SDM 3B, Core Solo and Duo events",
	.rules	= core_rules,
	.flags	= X86_MODEL_ARCH_EVENTS,
};

const struct x86_model core2_model = {
	.name	= "core2",
	.manual	= "SDM 3B, Core 2 events",
	.cache	= core2_cache,
	.rules	= core2_rules,
	.branches = &intel_lbr_core2,
	.precise	= &intel_pebs_core2,
	.flags	= X86_MODEL_ARCH_EVENTS,
};
