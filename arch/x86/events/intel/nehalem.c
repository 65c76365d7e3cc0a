// SPDX-License-Identifier: GPL-2.0
/*
 * Nehalem and Westmere, clients, servers and their EX variants.
 *
 * Manual: SDM 3B, "Off-core Response Performance Monitoring in the Processor Core"; event files
 * NHM-EP, NHM-EX, WSM-EP. Errata AAJ80, AAK100 and the like, see x86_select_prepare().
 */
#include "models.h"

#define STALLS_COMMON								\
	0x010e | SEL_INV | SEL_CMASK(1),	/* UOPS_ISSUED.ANY: cycles with none */	\
	0x3fb1 | SEL_INV | SEL_CMASK(1)		/* UOPS_EXECUTED.CORE_ACTIVE_CYCLES: none */

/*
 * Erratum AAJ80: BR_MISP_RETIRED counts too much on parts that do not report the
 * architectural event in CPUID.0AH. BR_MISP_EXEC.ANY replaces it there.
 */
static const u64 nehalem_generic[] = {
	0, 0, 0, 0, 0, 0x7f89, 0,
	STALLS_COMMON,
	0
};

static const u64 westmere_generic[] = {
	0, 0, 0, 0, 0, 0, 0,
	STALLS_COMMON,
	0
};

/* Off-core responses: request (low byte), response. */
#define DEMAND_READ	0x0001
#define DEMAND_WRITE	0x0002
#define PREFETCHES	0x0030
#define FROM_L3		0x0700
#define FROM_BEYOND	0xf000
#define FROM_MEMORY	0x6000
#define FROM_REMOTE	0x2000
#define ANYWHERE	(FROM_L3 | FROM_BEYOND)

#define CACHES_COMMON							\
	CACHE(L1D, LOAD, ACCESS, 0x010b),	/* MEM_INST_RETIRED.LOADS */	\
	CACHE(L1D, LOAD, MISS, 0x0151),		/* L1D.REPL */		\
	CACHE(L1D, STORE, ACCESS, 0x020b),	/* MEM_INST_RETIRED.STORES */	\
	CACHE(L1D, STORE, MISS, 0x0251),	/* L1D.M_REPL */	\
	CACHE(L1D, PREFETCH, ACCESS, 0x014e),	/* L1D_PREFETCH.REQUESTS */	\
	CACHE(L1D, PREFETCH, MISS, 0x024e),	/* L1D_PREFETCH.MISS */	\
	CACHE(L1I, LOAD, ACCESS, 0x0380),	/* L1I.READS */		\
	CACHE(L1I, LOAD, MISS, 0x0280),		/* L1I.MISSES */	\
	CACHE(LL, LOAD, ACCESS, 0x01b7, DEMAND_READ | ANYWHERE),	\
	CACHE(LL, LOAD, MISS, 0x01b7, DEMAND_READ | FROM_BEYOND),	\
	CACHE(LL, STORE, ACCESS, 0x01b7, DEMAND_WRITE | ANYWHERE),	\
	CACHE(LL, STORE, MISS, 0x01b7, DEMAND_WRITE | FROM_BEYOND),	\
	CACHE(LL, PREFETCH, ACCESS, 0x01b7, PREFETCHES | ANYWHERE),	\
	CACHE(LL, PREFETCH, MISS, 0x01b7, PREFETCHES | FROM_BEYOND),	\
	CACHE(NODE, LOAD, ACCESS, 0x01b7, DEMAND_READ | FROM_MEMORY),	\
	CACHE(NODE, LOAD, MISS, 0x01b7, DEMAND_READ | FROM_REMOTE),	\
	CACHE(NODE, STORE, ACCESS, 0x01b7, DEMAND_WRITE | FROM_MEMORY),	\
	CACHE(NODE, STORE, MISS, 0x01b7, DEMAND_WRITE | FROM_REMOTE),	\
	CACHE(NODE, PREFETCH, ACCESS, 0x01b7, PREFETCHES | FROM_MEMORY),	\
	CACHE(NODE, PREFETCH, MISS, 0x01b7, PREFETCHES | FROM_REMOTE),	\
	CACHE(DTLB, LOAD, ACCESS, 0x010b),				\
	CACHE(DTLB, LOAD, MISS, 0x0108),	/* DTLB_LOAD_MISSES.ANY */	\
	CACHE(DTLB, STORE, ACCESS, 0x020b),				\
	CACHE(DTLB, STORE, MISS, 0x010c),	/* MEM_STORE_RETIRED.DTLB_MISS */	\
	CACHE(ITLB, LOAD, ACCESS, 0x01c0),				\
	CACHE(BPU, LOAD, ACCESS, 0x00c4),				\
	CACHE(BPU, LOAD, MISS, 0x03e8)		/* BPU_CLEARS.ANY */

static const struct x86_cache_event nehalem_cache[] = {
	CACHES_COMMON,
	CACHE(ITLB, LOAD, MISS, 0x20c8),	/* ITLB_MISS_RETIRED */
	{ }
};

static const struct x86_cache_event westmere_cache[] = {
	CACHES_COMMON,
	CACHE(ITLB, LOAD, MISS, 0x0185),	/* ITLB_MISSES.ANY */
	{ }
};

static const struct x86_rule nehalem_rules[] = {
	RULE_CODES(0x40, 2, FIRST(2)),	/* L1D_CACHE_LD, _ST, _LOCK; L1D_ALL_REF */
	RULE_CODE(0x48, FIRST(2)),	/* L1D_PEND_MISS */
	RULE_CODE(0x4c, FIRST(2)),	/* LOAD_HIT_PRE */
	RULE_CODE(0x4e, FIRST(2)),	/* L1D_PREFETCH */
	RULE_CODE(0x51, FIRST(2)),	/* L1D */
	RULE_CODE(0x52, FIRST(2)),	/* L1D_CACHE_PREFETCH_LOCK_FB_HIT */
	RULE_CODE(0x53, FIRST(2)),	/* L1D_CACHE_LOCK_FB_HIT */
	RULE_CODE(0x63, FIRST(2)),	/* CACHE_LOCK_CYCLES */
	{ }
};

static const struct x86_rule westmere_rules[] = {
	RULE_CODE(0x4c, FIRST(2)),	/* LOAD_HIT_PRE */
	RULE_CODE(0x4e, FIRST(2)),	/* L1D_PREFETCH */
	RULE_CODE(0x51, FIRST(2)),	/* L1D */
	RULE_CODE(0x52, FIRST(2)),	/* L1D_CACHE_PREFETCH_LOCK_FB_HIT */
	RULE_CODE(0x60, BIT(0)),	/* OFFCORE_REQUESTS_OUTSTANDING */
	RULE_CODE(0x63, FIRST(2)),	/* CACHE_LOCK_CYCLES */
	RULE_CODE(0xb3, BIT(0)),	/* SNOOPQ_REQUEST_OUTSTANDING */
	{ }
};

static const struct x86_extra nehalem_extra[] = {
	EXTRA(0x01b7, MSR_OFFCORE_RSP_0, 0xffff, OFFCORE_0),
	EXTRA_LDLAT(0x100b),
	{ }
};

static const struct x86_extra westmere_extra[] = {
	EXTRA_OFFCORE(0x01b7, 0x01bb, 0xffff),
	EXTRA_LDLAT(0x100b),
	{ }
};

/* Shorter periods can keep the overflow handler busy without end. */
static const struct x86_period_limit nehalem_periods[] = {
	PERIODS_OF_ALL(32),
	{ }
};

const struct x86_model nehalem_model = {
	.name		= "nehalem",
	.manual		= "SDM 3B; event file NHM-EP; erratum AAJ80",
	.generic	= nehalem_generic,
	.cache		= nehalem_cache,
	.rules		= nehalem_rules,
	.extra		= nehalem_extra,
	.sysfs_events	= intel_nehalem_events,
	.periods	= nehalem_periods,
	.branches	= &intel_lbr_nehalem,
	.precise	= &intel_pebs_nehalem,
	.flags		= X86_MODEL_ARCH_EVENTS | X86_MODEL_ARCH_FIRST |
			  X86_MODEL_HT_EXTRA | X86_MODEL_LDLAT | X86_MODEL_PREPARE,
};

const struct x86_model westmere_model = {
	.name		= "westmere",
	.manual		= "SDM 3B; event file WSM-EP",
	.generic	= westmere_generic,
	.cache		= westmere_cache,
	.rules		= westmere_rules,
	.extra		= westmere_extra,
	.sysfs_events	= intel_nehalem_events,
	.periods	= nehalem_periods,
	.branches	= &intel_lbr_nehalem,
	.precise	= &intel_pebs_westmere,
	.flags		= X86_MODEL_ARCH_EVENTS | X86_MODEL_HT_EXTRA |
			  X86_MODEL_LDLAT | X86_MODEL_PREPARE,
};
