// SPDX-License-Identifier: GPL-2.0
/*
 * Skylake to Cascade Lake and Comet Lake; Ice Lake, Tiger Lake and Rocket Lake.
 *
 * Manual: SDM 3B, "6th Generation Intel Core Processor Performance Monitoring Facility" and "10th
 * Generation ..."; event files SKL, SKX, CLX, ICL, ICX.
 */
#include "models.h"

/* Off-core responses. */
#define DEMAND_READ	0x0001ULL
#define DEMAND_WRITE	0x0002ULL
#define PREFETCHES	0x0490ULL	/* L1, L2 and L3 data prefetch */
#define ANYWHERE	BIT_ULL(16)
#define ANY_SNOOP	GENMASK_ULL(37, 31)
#define FROM_LOCAL	BIT_ULL(26)
#define FROM_REMOTE	GENMASK_ULL(30, 27)

#define OFFCORE(_what, _who)							\
	CACHE(LL, _what, ACCESS, 0x01b7, (_who) | ANYWHERE),			\
	CACHE(LL, _what, MISS, 0x01b7, (_who) | FROM_LOCAL | FROM_REMOTE | ANY_SNOOP),	\
	CACHE(NODE, _what, ACCESS, 0x01b7, (_who) | FROM_LOCAL | FROM_REMOTE | ANY_SNOOP), \
	CACHE(NODE, _what, MISS, 0x01b7, (_who) | FROM_REMOTE | ANY_SNOOP)

static const struct x86_cache_event skylake_cache[] = {
	CACHE(L1D, LOAD, ACCESS, 0x81d0),	/* MEM_INST_RETIRED.ALL_LOADS */
	CACHE(L1D, LOAD, MISS, 0x0151),		/* L1D.REPLACEMENT */
	CACHE(L1D, STORE, ACCESS, 0x82d0),	/* MEM_INST_RETIRED.ALL_STORES */
	CACHE(L1I, LOAD, MISS, 0x0283),		/* ICACHE_64B.IFTAG_MISS */
	OFFCORE(LOAD, DEMAND_READ),
	OFFCORE(STORE, DEMAND_WRITE),
	OFFCORE(PREFETCH, PREFETCHES),
	CACHE(DTLB, LOAD, ACCESS, 0x81d0),
	CACHE(DTLB, LOAD, MISS, 0x0e08),	/* DTLB_LOAD_MISSES.WALK_COMPLETED */
	CACHE(DTLB, STORE, ACCESS, 0x82d0),
	CACHE(DTLB, STORE, MISS, 0x0e49),	/* DTLB_STORE_MISSES.WALK_COMPLETED */
	CACHE(ITLB, LOAD, ACCESS, 0x2085),	/* ITLB_MISSES.STLB_HIT */
	CACHE(ITLB, LOAD, MISS, 0x0e85),	/* ITLB_MISSES.WALK_COMPLETED */
	CACHE(BPU, LOAD, ACCESS, 0x00c4),
	CACHE(BPU, LOAD, MISS, 0x00c5),
	{ }
};

static const struct x86_rule skylake_rules[] = {
	RULE_UMASK(0x01c0, BIT(1)),	/* INST_RETIRED.PREC_DIST */
	RULE_CODE(0xa3, FIRST(4)),	/* CYCLE_ACTIVITY */
	RULE_CODE(0xb7, FIRST(4)),	/* OFFCORE_RESPONSE, both */
	RULE_CODE(0xbb, FIRST(4)),
	RULE_CODES(0xd0, 2, FIRST(4)),	/* MEM_INST_RETIRED .. MEM_LOAD_L3_MISS_RETIRED */
	RULE_UMASK(0x04d4, FIRST(4)),	/* MEM_LOAD_MISC_RETIRED.UC */
	RULE_CODE(0xcd, FIRST(4)),	/* MEM_TRANS_RETIRED */
	RULE_CODE(0xc6, FIRST(4)),	/* FRONTEND_RETIRED */
	{ }
};

static const struct x86_extra skylake_extra[] = {
	EXTRA_OFFCORE(0x01b7, 0x01bb, 0x3fffff8fff),
	EXTRA_LDLAT(0x01cd),
	EXTRA(0x01c6, MSR_PEBS_FRONTEND, 0x7fff17, FRONTEND),
	{ }
};

/* Most of these rules: counters 4 to 7 cannot count the event. */
static const struct x86_rule icelake_rules[] = {
	RULE_UMASK(0x0100, X86_FIXED(0)),	/* INST_RETIRED.PREC_DIST */
	RULE_PLAIN(0x01c0, X86_FIXED(0)),	/* the same, as on older cores */
	RULE_UMASK(0x04a3, FIRST(8)),		/* CYCLE_ACTIVITY.STALLS_TOTAL */
	RULE_UMASK(0x10a3, FIRST(8)),		/* CYCLE_ACTIVITY.CYCLES_MEM_ANY */
	RULE_UMASK(0x14a3, FIRST(8)),		/* CYCLE_ACTIVITY.STALLS_MEM_ANY */
	RULE_CODE(0x03, FIRST(4)),		/* LD_BLOCKS */
	RULE_CODES(0x04, 2, FIRST(4)),
	RULE_CODES(0x08, 1, FIRST(4)),		/* DTLB_LOAD_MISSES */
	RULE_CODES(0x20, 3, FIRST(4)),		/* L2_RQSTS and neighbours */
	RULE_CODE(0x28, FIRST(4)),		/* CORE_POWER */
	RULE_CODE(0x32, FIRST(4)),		/* SW_PREFETCH_ACCESS */
	RULE_CODES(0x48, 3, FIRST(4)),		/* L1D_PEND_MISS, LOAD_HIT_PREFETCH */
	RULE_CODES(0x50, 2, FIRST(4)),		/* L1D */
	RULE_CODES(0x54, 1, FIRST(4)),		/* TX_MEM, INST_DECODED */
	RULE_CODE(0x56, FIRST(4)),		/* UOPS_DECODED */
	RULE_CODES(0x60, 4, FIRST(4)),		/* OFFCORE_REQUESTS_OUTSTANDING */
	RULE_CODES(0x70, 4, FIRST(4)),		/* IDQ */
	RULE_CODES(0x80, 3, FIRST(4)),		/* ICACHE, ITLB_MISSES, ILD_STALL */
	RULE_CODE(0xa3, FIRST(4)),		/* CYCLE_ACTIVITY */
	RULE_CODES(0xa8, 3, FIRST(4)),		/* LSD, DSB2MITE_SWITCHES */
	RULE_CODE(0xb0, FIRST(4)),		/* OFFCORE_REQUESTS */
	RULE_CODE(0xb7, FIRST(4)),		/* OCR */
	RULE_CODES(0xb8, 2, FIRST(4)),
	RULE_CODES(0xbc, 1, FIRST(4)),		/* TLB_FLUSH */
	RULE_CODES(0xd0, 4, FIRST(4)),		/* MEM_INST_RETIRED and neighbours */
	RULE_CODE(0xe6, FIRST(4)),		/* BACLEARS */
	RULE_CODE(0xef, FIRST(4)),		/* CORE_SNOOP_RESPONSE */
	RULE_CODES(0xf0, 2, FIRST(4)),		/* L2_TRANS, L2_LINES */
	RULE_CODE(0xf4, FIRST(4)),		/* SQ_MISC */
	{ }
};

static const struct x86_extra icelake_extra[] = {
	EXTRA_OFFCORE(0x01b7, 0x01bb, 0x3fffffbfff),
	EXTRA_LDLAT(0x01cd),
	EXTRA(0x01c6, MSR_PEBS_FRONTEND, 0x7fff17, FRONTEND),
	{ }
};

const struct x86_model skylake_model = {
	.name	= "skylake",
	.manual	= "SDM 3B; event files SKL, SKX, CLX",
	.cache	= skylake_cache,
	.rules	= skylake_rules,
	.extra	= skylake_extra,
	.sysfs_events	= intel_skylake_events,
	.branches = &intel_lbr_skylake,
	.precise	= &intel_pebs_skylake,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_TSX | X86_MODEL_LDLAT,
};

const struct x86_model icelake_model = {
	.name	= "icelake",
	.manual	= "SDM 3B; event files ICL, ICX",
	.cache	= skylake_cache,
	.rules	= icelake_rules,
	.extra	= icelake_extra,
	.sysfs_events	= intel_icelake_events,
	.branches = &intel_lbr_icelake,
	.precise	= &intel_pebs_icelake,
	.metrics	= 4,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_TSX | X86_MODEL_LDLAT,
};
