// SPDX-License-Identifier: GPL-2.0
/*
 * Golden Cove and later big cores: Alder Lake, Sapphire Rapids, Emerald Rapids; Redwood Cove:
 * Meteor Lake, Granite Rapids; Lion Cove: Lunar Lake, Arrow Lake.
 *
 * Manual: SDM 3B, "12th Generation Intel Core Processors Based on the Alder Lake Performance Hybrid
 * Architecture"; event files ADL (goldencove), SPR, EMR, GNR, MTL (redwoodcove), LNL (lioncove).
 */
#include "models.h"

/* Off-core responses: request and response in one value, from the event files. */
#define READ_ANYWHERE		0x0000010001ULL
#define READ_BEYOND_L3		0x3fbfc00001ULL
#define READ_MEMORY		0x073c000001ULL
#define READ_REMOTE		0x0730000001ULL
#define RFO_ANYWHERE		0x0000010002ULL
#define RFO_BEYOND_L3		0x3fbfc00002ULL
#define SERVER_RFO_ANYWHERE	0x3f3ffc0002ULL
#define SERVER_RFO_BEYOND_L3	0x3f3fc00002ULL
#define LNL_READ_BEYOND_L3	0x9e7fa000001ULL
#define LNL_RFO_BEYOND_L3	0x9e7fa000002ULL

#define CACHES_COMMON							\
	CACHE(L1D, LOAD, ACCESS, 0x81d0),	/* MEM_INST_RETIRED.ALL_LOADS */	\
	CACHE(L1D, LOAD, MISS, 0x0151),	/* L1D.REPLACEMENT; Lion Cove: L0_REPLACEMENT */ \
	CACHE(L1D, STORE, ACCESS, 0x82d0),	/* MEM_INST_RETIRED.ALL_STORES */	\
	CACHE(L1I, LOAD, MISS, 0xe424),		/* L2_RQSTS.ALL_CODE_RD */	\
	CACHE(LL, LOAD, ACCESS, 0x012a, READ_ANYWHERE),			\
	CACHE(DTLB, LOAD, ACCESS, 0x81d0),				\
	CACHE(DTLB, LOAD, MISS, 0x0e12),	/* DTLB_LOAD_MISSES.WALK_COMPLETED */	\
	CACHE(DTLB, STORE, ACCESS, 0x82d0),				\
	CACHE(DTLB, STORE, MISS, 0x0e13),	/* DTLB_STORE_MISSES.WALK_COMPLETED */	\
	CACHE(ITLB, LOAD, MISS, 0x0e11),	/* ITLB_MISSES.WALK_COMPLETED */	\
	CACHE(BPU, LOAD, ACCESS, 0x00c4),				\
	CACHE(BPU, LOAD, MISS, 0x00c5)

static const struct x86_cache_event client_cache[] = {
	CACHES_COMMON,
	CACHE(LL, LOAD, MISS, 0x012a, READ_BEYOND_L3),
	CACHE(LL, STORE, ACCESS, 0x012a, RFO_ANYWHERE),
	CACHE(LL, STORE, MISS, 0x012a, RFO_BEYOND_L3),
	{ }
};

static const struct x86_cache_event server_cache[] = {
	CACHES_COMMON,
	CACHE(LL, LOAD, MISS, 0x012a, READ_BEYOND_L3),
	CACHE(LL, STORE, ACCESS, 0x012a, SERVER_RFO_ANYWHERE),
	CACHE(LL, STORE, MISS, 0x012a, SERVER_RFO_BEYOND_L3),
	CACHE(NODE, LOAD, ACCESS, 0x012a, READ_MEMORY),
	CACHE(NODE, LOAD, MISS, 0x012a, READ_REMOTE),
	{ }
};

static const struct x86_cache_event lioncove_cache[] = {
	CACHES_COMMON,
	CACHE(LL, LOAD, MISS, 0x012a, LNL_READ_BEYOND_L3),
	CACHE(LL, STORE, ACCESS, 0x012a, RFO_ANYWHERE),
	CACHE(LL, STORE, MISS, 0x012a, LNL_RFO_BEYOND_L3),
	{ }
};

/* Codes below 0x90 count on counters 0 to 3, but for those listed before. */
static const struct x86_rule goldencove_rules[] = {
	RULE_UMASK(0x01cd, GENMASK_ULL(7, 1)),	/* MEM_TRANS_RETIRED.LOAD_LATENCY */
	RULE_UMASK(0x0100, X86_FIXED(0)),	/* INST_RETIRED.PREC_DIST */
	RULE_CODE(0x2e, FIRST(8)),		/* LONGEST_LAT_CACHE */
	RULE_REF_TSC(FIRST(8)),
	RULE_CODE(0x3c, FIRST(8)),		/* CPU_CLK_UNHALTED */
	RULE_UMASK(0x01a3, FIRST(4)),		/* CYCLE_ACTIVITY.CYCLES_L2_MISS */
	RULE_UMASK(0x02a3, FIRST(4)),		/* ... CYCLES_L3_MISS */
	RULE_UMASK(0x05a3, FIRST(4)),		/* ... STALLS_L2_MISS */
	RULE_UMASK(0x06a3, FIRST(4)),		/* ... STALLS_L3_MISS */
	RULE_UMASK(0x08a3, FIRST(4)),		/* ... CYCLES_L1D_MISS */
	RULE_UMASK(0x0ca3, FIRST(4)),		/* ... STALLS_L1D_MISS */
	RULE_UMASK(0x04a4, BIT(0)),		/* TOPDOWN.BAD_SPEC_SLOTS */
	RULE_UMASK(0x08a4, BIT(0)),		/* TOPDOWN.BR_MISPREDICT_SLOTS */
	RULE_UMASK(0x02cd, BIT(0)),		/* MEM_TRANS_RETIRED.STORE_SAMPLE */
	RULE_CODE(0xce, BIT(0)),		/* AMX_OPS_RETIRED */
	RULE_CODES(0xd0, 4, FIRST(4)),		/* MEM_INST_RETIRED and neighbours */
	RULE_UMASK(0x00c0, FIRST(8)),
	RULE_CODES(0x80, 4, FIRST(4)),		/* ICACHE */
	RULE_CODES(0x40, 6, FIRST(4)),
	RULE_CODES(0x20, 5, FIRST(4)),
	RULE_CODES(0x10, 4, FIRST(4)),
	RULE_CODES(0x08, 3, FIRST(4)),
	RULE_CODES(0x04, 2, FIRST(4)),
	RULE_CODES(0x02, 1, FIRST(4)),
	{ }
};

/* Version 1.26 of the event file. It lacks the two of 0xa3, which count the same as 0x48. */
static const struct x86_rule lioncove_rules[] = {
	RULE_UMASK(0x0100, X86_FIXED(0)),	/* INST_RETIRED.PREC_DIST */
	RULE_CODE(0x20, FIRST(4)),		/* OFFCORE_REQUESTS_OUTSTANDING */
	RULE_CODES(0x2a, 1, FIRST(4)),		/* OCR */
	RULE_CODE(0x48, BIT(2)),		/* L1D_PENDING */
	RULE_CODE(0x75, BIT(2)),		/* INST_DECODED */
	RULE_UMASK(0x08a3, BIT(2)),		/* CYCLE_ACTIVITY.CYCLES_L1D_MISS */
	RULE_UMASK(0x0ca3, BIT(2)),		/* ... STALLS_L1D_MISS */
	RULE_UMASK(0x04a4, BIT(0)),		/* TOPDOWN.BAD_SPEC_SLOTS */
	RULE_UMASK(0x08a4, BIT(0)),		/* TOPDOWN.BR_MISPREDICT_SLOTS */
	RULE_UMASK(0x10a4, BIT(3)),		/* TOPDOWN.MEMORY_BOUND_SLOTS */
	RULE_UMASK(0x01b1, BIT(3)),		/* UOPS_EXECUTED.THREAD */
	RULE_UMASK(0x01cd, GENMASK_ULL(9, 2)),	/* MEM_TRANS_RETIRED.LOAD_LATENCY */
	RULE_UMASK(0x02cd, FIRST(2)),		/* MEM_TRANS_RETIRED.STORE_SAMPLE */
	RULE_UMASK(0x87d0, FIRST(10)),		/* MEM_INST_RETIRED.ANY */
	RULE_CODES(0xd0, 4, FIRST(4)),		/* MEM_INST_RETIRED and neighbours */
	{ }
};

static const struct x86_extra goldencove_extra[] = {
	EXTRA_OFFCORE(0x012a, 0x012b, 0x3fffffffff),
	EXTRA_LDLAT(0x01cd),
	EXTRA(0x01c6, MSR_PEBS_FRONTEND, 0x7fff1f, FRONTEND),
	EXTRA(0x40ad, MSR_PEBS_FRONTEND, 0x7, FRONTEND),
	EXTRA(0x04c2, MSR_PEBS_FRONTEND, 0x8, FRONTEND),
	{ }
};

/* From Redwood Cove on FRONTEND_RETIRED has another umask, and MISP_ANT has a umask of its own. */
#define REDWOODCOVE_EXTRA(_offcore, _unknown_branch)		\
	EXTRA_OFFCORE(0x012a, 0x012b, _offcore),		\
	EXTRA_LDLAT(0x01cd),					\
	EXTRA(0x02c6, MSR_PEBS_FRONTEND, 0x9, FRONTEND),	\
	EXTRA(0x03c6, MSR_PEBS_FRONTEND, 0x7fff1f, FRONTEND),	\
	EXTRA(0x40ad, MSR_PEBS_FRONTEND, _unknown_branch, FRONTEND), \
	EXTRA(0x04c2, MSR_PEBS_FRONTEND, 0x8, FRONTEND)

static const struct x86_extra redwoodcove_extra[] = { REDWOODCOVE_EXTRA(0x3fffffffff, 0x7), { } };
static const struct x86_extra lioncove_extra[] = { REDWOODCOVE_EXTRA(0xfffffffffff, 0xf), { } };

#define COVE(_name, _manual, _cache, _rules, _extra, _line, _flags)	\
{								\
	.name	= _name,					\
	.manual	= "SDM 3B; event files " _manual,		\
	.cache	= _cache,					\
	.rules	= _rules,					\
	.extra	= _extra,					\
	.sysfs_events	= intel_##_line##_events,			\
	.precise	= &intel_pebs_##_line,					\
	.metrics	= 8,							\
	.flags	= X86_MODEL_ARCH_EVENTS | X86_MODEL_LDLAT | (_flags),	\
}

/* Servers (_x) have events for memory of other nodes. */
const struct x86_model goldencove_model = COVE("sapphire_rapids", "ADL (goldencove)",
	client_cache, goldencove_rules, goldencove_extra, goldencove, X86_MODEL_TSX);
const struct x86_model goldencove_x_model = COVE("sapphire_rapids", "SPR, EMR",
	server_cache, goldencove_rules, goldencove_extra, goldencove, X86_MODEL_TSX);
const struct x86_model redwoodcove_model = COVE("granite_rapids", "MTL (redwoodcove)",
	client_cache, goldencove_rules, redwoodcove_extra, redwoodcove,
	X86_MODEL_TSX);
const struct x86_model redwoodcove_x_model = COVE("granite_rapids", "GNR",
	server_cache, goldencove_rules, redwoodcove_extra, redwoodcove,
	X86_MODEL_TSX);
const struct x86_model lioncove_model = COVE("lunarlake", "LNL (lioncove)",
	lioncove_cache, lioncove_rules, lioncove_extra, lioncove,
	X86_MODEL_UMASK2 | X86_MODEL_EQ);
