// SPDX-License-Identifier: GPL-2.0
/*
 * Atom lines and the small cores of hybrid parts; Knights Landing, with cores derived from them.
 *
 * Manual: SDM 3B, the sections on Atom, Silvermont, Goldmont, Goldmont Plus, Tremont and Gracemont;
 * event files BNL, SLM, KNL, GLM, GLP, SNR, ADL (gracemont), MTL (crestmont), SRF, LNL (skymont).
 */
#include "models.h"

static const struct x86_cache_event bonnell_cache[] = {
	CACHE(L1D, LOAD, ACCESS, 0x2140),	/* L1D_CACHE.LD */
	CACHE(L1D, STORE, ACCESS, 0x2240),	/* L1D_CACHE.ST */
	CACHE(L1I, LOAD, ACCESS, 0x0380),	/* ICACHE.ACCESSES */
	CACHE(L1I, LOAD, MISS, 0x0280),		/* ICACHE.MISSES */
	CACHE(LL, LOAD, ACCESS, 0x4f29),	/* L2_LD, this core */
	CACHE(LL, LOAD, MISS, 0x4129),
	CACHE(LL, STORE, ACCESS, 0x4f2a),	/* L2_ST, this core */
	CACHE(LL, STORE, MISS, 0x412a),
	CACHE(DTLB, LOAD, ACCESS, 0x2140),
	CACHE(DTLB, LOAD, MISS, 0x0508),	/* DATA_TLB_MISSES.DTLB_MISS_LD */
	CACHE(DTLB, STORE, ACCESS, 0x2240),
	CACHE(DTLB, STORE, MISS, 0x0608),	/* DATA_TLB_MISSES.DTLB_MISS_ST */
	CACHE(ITLB, LOAD, ACCESS, 0x00c0),
	CACHE(ITLB, LOAD, MISS, 0x0282),	/* ITLB.MISSES */
	CACHE(BPU, LOAD, ACCESS, 0x00c4),
	CACHE(BPU, LOAD, MISS, 0x00c5),
	{ }
};

/* Off-core responses of Silvermont: requests, with any response and with an L2 miss. */
#define READ_ANYWHERE	0x0000010001ULL
#define READ_BEYOND	0x1680000001ULL
#define RFO_ANYWHERE	0x0000010002ULL
#define RFO_BEYOND	0x1680000002ULL
#define PF_ANYWHERE	0x0000010010ULL
#define PF_BEYOND	0x1680000010ULL

static const struct x86_cache_event silvermont_cache[] = {
	CACHE(L1D, LOAD, MISS, 0x0104),		/* MEM_UOPS_RETIRED.L1_MISS_LOADS */
	CACHE(L1I, LOAD, ACCESS, 0x0380),
	CACHE(L1I, LOAD, MISS, 0x0280),
	CACHE(LL, LOAD, ACCESS, 0x01b7, READ_ANYWHERE),
	CACHE(LL, LOAD, MISS, 0x01b7, READ_BEYOND),
	CACHE(LL, STORE, ACCESS, 0x01b7, RFO_ANYWHERE),
	CACHE(LL, STORE, MISS, 0x01b7, RFO_BEYOND),
	CACHE(LL, PREFETCH, ACCESS, 0x01b7, PF_ANYWHERE),
	CACHE(LL, PREFETCH, MISS, 0x01b7, PF_BEYOND),
	CACHE(DTLB, LOAD, MISS, 0x0804),	/* MEM_UOPS_RETIRED.DTLB_MISS_LOADS */
	CACHE(ITLB, LOAD, ACCESS, 0x00c0),
	CACHE(ITLB, LOAD, MISS, 0x0205 | SEL_EDGE),	/* PAGE_WALKS.I_SIDE, walks */
	CACHE(BPU, LOAD, ACCESS, 0x00c4),
	CACHE(BPU, LOAD, MISS, 0x00c5),
	{ }
};

static const struct x86_extra silvermont_extra[] = {
	EXTRA(0x01b7, MSR_OFFCORE_RSP_0, 0x768005ffff, OFFCORE_0),
	EXTRA(0x02b7, MSR_OFFCORE_RSP_1, 0x368005ffff, OFFCORE_1),
	{ }
};

/* There are two kinds of memory, DDR and MCDRAM. */
#define KNL_READ_MEMORY	0x0181e00001ULL
#define KNL_RFO_MEMORY	0x0181e00002ULL

static const struct x86_cache_event knl_cache[] = {
	CACHE(L1D, LOAD, MISS, 0x0104),		/* MEM_UOPS_RETIRED.L1_MISS_LOADS */
	CACHE(L1I, LOAD, ACCESS, 0x0380),
	CACHE(L1I, LOAD, MISS, 0x0280),
	CACHE(LL, LOAD, ACCESS, 0x01b7, READ_ANYWHERE),
	CACHE(LL, LOAD, MISS, 0x01b7, KNL_READ_MEMORY),
	CACHE(LL, STORE, ACCESS, 0x01b7, RFO_ANYWHERE),
	CACHE(LL, STORE, MISS, 0x01b7, KNL_RFO_MEMORY),
	CACHE(DTLB, LOAD, MISS, 0x0804),
	CACHE(ITLB, LOAD, ACCESS, 0x00c0),
	CACHE(ITLB, LOAD, MISS, 0x0205 | SEL_EDGE),
	CACHE(BPU, LOAD, ACCESS, 0x00c4),
	CACHE(BPU, LOAD, MISS, 0x00c5),
	{ }
};

static const struct x86_extra knl_extra[] = {
	EXTRA(0x01b7, MSR_OFFCORE_RSP_0, 0x799ffbb6e7, OFFCORE_0),
	EXTRA(0x02b7, MSR_OFFCORE_RSP_1, 0x399ffbffe7, OFFCORE_1),
	{ }
};

/* From Goldmont on loads and stores are counted at retirement. */
#define CACHES_COMMON							\
	CACHE(L1D, LOAD, ACCESS, 0x81d0),	/* MEM_UOPS_RETIRED.ALL_LOADS */	\
	CACHE(L1D, STORE, ACCESS, 0x82d0),	/* MEM_UOPS_RETIRED.ALL_STORES */	\
	CACHE(L1I, LOAD, ACCESS, 0x0380),				\
	CACHE(L1I, LOAD, MISS, 0x0280),					\
	CACHE(DTLB, LOAD, ACCESS, 0x81d0),				\
	CACHE(DTLB, STORE, ACCESS, 0x82d0),				\
	CACHE(BPU, LOAD, ACCESS, 0x00c4),				\
	CACHE(BPU, LOAD, MISS, 0x00c5)

/* Page walks have events of their own from Goldmont Plus on. */
#define WALKS_COMMON							\
	CACHE(DTLB, LOAD, MISS, 0x0e08),	/* DTLB_LOAD_MISSES.WALK_COMPLETED */	\
	CACHE(DTLB, STORE, MISS, 0x0e49)	/* DTLB_STORE_MISSES.WALK_COMPLETED */

#define LAST_LEVEL_COMMON						\
	CACHE(LL, LOAD, ACCESS, 0x01b7, READ_ANYWHERE),			\
	CACHE(LL, STORE, ACCESS, 0x01b7, RFO_ANYWHERE)

#define GOLDMONT_CACHES							\
	CACHES_COMMON,							\
	LAST_LEVEL_COMMON,						\
	CACHE(LL, LOAD, MISS, 0x01b7, 0x3600000001),			\
	CACHE(LL, STORE, MISS, 0x01b7, 0x3600000002),			\
	CACHE(ITLB, LOAD, ACCESS, 0x00c0),				\
	CACHE(ITLB, LOAD, MISS, 0x0481)		/* ITLB.MISS */

static const struct x86_cache_event goldmont_cache[] = {
	GOLDMONT_CACHES,
	CACHE(DTLB, LOAD, MISS, 0x11d0),	/* MEM_UOPS_RETIRED.DTLB_MISS_LOADS */
	CACHE(DTLB, STORE, MISS, 0x12d0),	/* MEM_UOPS_RETIRED.DTLB_MISS_STORES */
	{ }
};

static const struct x86_cache_event goldmont_plus_cache[] = {
	GOLDMONT_CACHES,
	WALKS_COMMON,
	{ }
};

static const struct x86_cache_event tremont_cache[] = {
	CACHES_COMMON,
	LAST_LEVEL_COMMON,
	CACHE(LL, LOAD, MISS, 0x01b7, 0x3f04000001),
	CACHE(LL, STORE, MISS, 0x01b7, 0x3f04000002),
	WALKS_COMMON,
	CACHE(ITLB, LOAD, MISS, 0x0e85),	/* ITLB_MISSES.WALK_COMPLETED */
	{ }
};

#define GRACEMONT_CACHES						\
	CACHES_COMMON,							\
	LAST_LEVEL_COMMON,						\
	WALKS_COMMON,							\
	CACHE(ITLB, LOAD, MISS, 0x0e85)

static const struct x86_cache_event gracemont_cache[] = {
	GRACEMONT_CACHES,
	CACHE(LL, LOAD, MISS, 0x01b7, 0x3f84400001),
	CACHE(LL, STORE, MISS, 0x01b7, 0x3f84400002),
	{ }
};

static const struct x86_cache_event crestmont_cache[] = {
	GRACEMONT_CACHES,
	CACHE(LL, LOAD, MISS, 0x01b7, 0x3fbfc00001),
	CACHE(LL, STORE, MISS, 0x01b7, 0x3fbfc00002),
	{ }
};

/* Bits 6 and 31 are reserved: they are neither requests nor responses. */
static const struct x86_extra goldmont_extra[] = {
	EXTRA(0x01b7, MSR_OFFCORE_RSP_0, 0x760005ffbf, OFFCORE_0),
	EXTRA(0x02b7, MSR_OFFCORE_RSP_1, 0x360005ffbf, OFFCORE_1),
	{ }
};

static const struct x86_extra tremont_extra[] = {
	EXTRA(0x01b7, MSR_OFFCORE_RSP_0, 0x800ff0ffffff9fff, OFFCORE_0),
	EXTRA(0x02b7, MSR_OFFCORE_RSP_1, 0xff0ffffff9fff, OFFCORE_1),
	{ }
};

/* On Skymont all counters can count it. */
static const struct x86_rule gracemont_rules[] = {
	RULE_REF_TSC(X86_GENERAL_MASK),
	RULE_UMASK(0x05d0, FIRST(2)),		/* MEM_UOPS_RETIRED.LOAD_LATENCY */
	{ }
};

static const struct x86_extra gracemont_extra[] = {
	EXTRA_OFFCORE(0x01b7, 0x02b7, 0x3fffffffff),
	EXTRA_LDLAT(0x05d0),
	{ }
};

static const struct x86_extra crestmont_extra[] = {
	EXTRA(0x01b7, MSR_OFFCORE_RSP_0, 0x800ff3ffffffffff, OFFCORE_0),
	EXTRA(0x02b7, MSR_OFFCORE_RSP_1, 0xff3ffffffffff, OFFCORE_1),
	EXTRA_LDLAT(0x05d0),
	EXTRA(0x0127, MSR_SNOOP_RSP_0, ~0ULL, SNOOP_0),
	EXTRA(0x0227, MSR_SNOOP_RSP_1, ~0ULL, SNOOP_1),
	{ }
};

const struct x86_model bonnell_model = {
	.name	= "bonnell",
	.manual	= "SDM 3B; event file BNL",
	.cache	= bonnell_cache,
	.branches = &intel_lbr_bonnell,
	.precise	= &intel_pebs_atom,
	.flags	= X86_MODEL_ARCH_EVENTS,
};

/* SDM 3B, Silvermont: each off-core response register is shared by two cores. */
const struct x86_model silvermont_model = {
	.name	= "silvermont",
	.manual	= "SDM 3B; event file SLM",
	.cache	= silvermont_cache,
	.branches = &intel_lbr_silvermont,
	.extra	= silvermont_extra,
	.precise	= &intel_pebs_atom,
	.sysfs_events	= intel_silvermont_events,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_MODULE_EXTRA,
};

/* SDM 4, table of 06_57H: the off-core response registers are shared. */
const struct x86_model knl_model = {
	.name	= "knights-landing",
	.manual	= "SDM 3B; event file KNL",
	.cache	= knl_cache,
	.branches = &intel_lbr_knl,
	.extra	= knl_extra,
	.precise	= &intel_pebs_atom,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_MODULE_EXTRA,
};

const struct x86_model goldmont_model = {
	.name	= "goldmont",
	.manual	= "SDM 3B; event file GLM",
	.cache	= goldmont_cache,
	.branches = &intel_lbr_icelake,
	.extra	= goldmont_extra,
	.precise	= &intel_pebs_goldmont,
	.sysfs_events	= intel_goldmont_events,
	.flags	= X86_MODEL_ARCH_EVENTS,
};

const struct x86_model goldmont_plus_model = {
	.name	= "goldmont_plus",
	.manual	= "SDM 3B; event file GLP",
	.cache	= goldmont_plus_cache,
	.branches = &intel_lbr_icelake,
	.extra	= goldmont_extra,
	.precise	= &intel_pebs_goldmont_plus,
	.sysfs_events	= intel_goldmont_plus_events,
	.flags	= X86_MODEL_ARCH_EVENTS,
};

const struct x86_model tremont_model = {
	.name	= "Tremont",
	.manual	= "SDM 3B; event file SNR",
	.cache	= tremont_cache,
	.branches = &intel_lbr_icelake,
	.extra	= tremont_extra,
	.precise	= &intel_pebs_tremont,
	.sysfs_events	= intel_tremont_events,
	.flags	= X86_MODEL_ARCH_EVENTS,
};

const struct x86_model gracemont_model = {
	.name	= "gracemont",
	.manual	= "SDM 3B; event file ADL (gracemont)",
	.cache	= gracemont_cache,
	.rules	= gracemont_rules,
	.extra	= gracemont_extra,
	.sysfs_events	= intel_gracemont_events,
	.precise	= &intel_pebs_gracemont,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_LDLAT,
};

const struct x86_model crestmont_model = {
	.name	= "crestmont",
	.manual	= "SDM 3B; event files MTL (crestmont), SRF",
	.cache	= crestmont_cache,
	.rules	= gracemont_rules,
	.extra	= crestmont_extra,
	.sysfs_events	= intel_crestmont_events,
	.precise	= &intel_pebs_crestmont,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_LDLAT,
};

const struct x86_model skymont_model = {
	.name	= "skymont",
	.manual	= "SDM 3B; event file LNL (skymont)",
	.cache	= crestmont_cache,
	.extra	= crestmont_extra,
	.sysfs_events	= intel_skymont_events,
	.precise	= &intel_pebs_skymont,
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_LDLAT | X86_MODEL_UMASK2 | X86_MODEL_EQ,
};
