// SPDX-License-Identifier: GPL-2.0
/*
 * Pentium Pro, II, III and M: two counters, enabled together by bit 22 of the first select.
 *
 * Manual: SDM 3B, "Performance Monitoring (P6 Family Processor)" and the P6 family event list.
 */
#include "models.h"

static const u64 p6_generic[] = {
	0x0079,		/* CPU_CLK_UNHALTED */
	0x00c0,		/* INST_RETIRED */
	0x0f2e,		/* L2_RQSTS, all states */
	0x012e,		/* L2_RQSTS, invalid */
	0x00c4,		/* BR_INST_RETIRED */
	0x00c5,		/* BR_MISS_PRED_RETIRED */
	0x0062,		/* BUS_DRDY_CLOCKS */
	0x00a2,		/* RESOURCE_STALLS */
	0, 0
};

static const struct x86_cache_event p6_cache[] = {
	CACHE(L1D, LOAD, ACCESS, 0x0043),	/* DATA_MEM_REFS */
	CACHE(L1D, LOAD, MISS, 0x0045),		/* DCU_LINES_IN */
	CACHE(L1D, STORE, MISS, 0x0f29),	/* L2_LD */
	CACHE(L1I, LOAD, ACCESS, 0x0080),	/* IFU_IFETCH */
	CACHE(L1I, LOAD, MISS, 0x0f28),		/* L2_IFETCH */
	CACHE(LL, STORE, MISS, 0x0025),		/* L2_M_LINES_INM */
	CACHE(DTLB, LOAD, ACCESS, 0x0043),
	CACHE(ITLB, LOAD, ACCESS, 0x0080),
	CACHE(ITLB, LOAD, MISS, 0x0085),	/* ITLB_MISS */
	CACHE(BPU, LOAD, ACCESS, 0x00c4),
	CACHE(BPU, LOAD, MISS, 0x00c5),
	{ }
};

static const struct x86_rule p6_rules[] = {
	RULE_CODE(0xc1, BIT(0)),	/* FLOPS */
	RULE_CODE(0x10, BIT(0)),	/* FP_COMP_OPS_EXE */
	RULE_CODE(0x14, BIT(0)),	/* CYCLES_DIV_BUSY */
	RULE_CODE(0x11, BIT(1)),	/* FP_ASSIST */
	RULE_CODE(0x12, BIT(1)),	/* MUL */
	RULE_CODE(0x13, BIT(1)),	/* DIV */
	{ }
};

const struct x86_model p6_model = {
	.name		= "p6",
	.manual		= "SDM 3B, P6 family events",
	.generic	= p6_generic,
	.cache		= p6_cache,
	.rules		= p6_rules,
};
