// SPDX-License-Identifier: GPL-2.0
/*
 * Sandy Bridge, Ivy Bridge, Haswell and Broadwell.
 *
 * Manual: SDM 3B, "Off-core Response Performance Monitoring" of the 2nd to 5th generation; event
 * files SNB, JKT, IVB, IVT, HSW, HSX, BDW, BDX. Errata BJ122, BV98 and HSD29 for events that
 * corrupt counters of the core's other thread, HSD11, BDM11 and BDM55 for periods.
 */
#include "models.h"

static const u64 sandybridge_generic[] = {
	0, 0, 0, 0, 0, 0, 0,
	0x010e | SEL_INV | SEL_CMASK(1),	/* UOPS_ISSUED.ANY: cycles with none */
	0x01b1 | SEL_INV | SEL_CMASK(1),	/* UOPS_DISPATCHED.THREAD: none */
	0
};

static const u64 ivybridge_generic[] = {
	0, 0, 0, 0, 0, 0, 0,
	0x010e | SEL_INV | SEL_CMASK(1),
	0, 0
};

/* Off-core responses: requests, supplier, snoop. */
#define DEMAND_READ	0x0001ULL
#define DEMAND_WRITE	0x0002ULL
#define PREFETCHES	0x0030ULL
#define ANYWHERE	BIT_ULL(16)
#define ANY_SNOOP	GENMASK_ULL(37, 31)
#define FROM_LOCAL	BIT_ULL(22)
#define BDW_FROM_LOCAL	BIT_ULL(26)
/* Set together or not at all. Client parts have no other node, and not these bits. */
#define SNB_FROM_REMOTE	GENMASK_ULL(30, 23)
#define HSW_FROM_REMOTE	GENMASK_ULL(30, 27)

#define OFFCORE(_what, _who, _memory)							\
	CACHE(LL, _what, ACCESS, 0x01b7, (_who) | ANYWHERE),				\
	CACHE(LL, _what, MISS, 0x01b7, (_who) | (_memory) | ANY_SNOOP),			\
	CACHE(NODE, _what, ACCESS, 0x01b7, (_who) | (_memory) | ANY_SNOOP)

/* @_memory: bits for the memory of all nodes */
#define RESPONSES(_memory)							\
	OFFCORE(LOAD, DEMAND_READ, _memory),					\
	OFFCORE(STORE, DEMAND_WRITE, _memory),					\
	OFFCORE(PREFETCH, PREFETCHES, _memory)

/* Responses from other nodes. */
#define REMOTE_RESPONSES(_remote)						\
	CACHE(NODE, LOAD, MISS, 0x01b7, DEMAND_READ | (_remote) | ANY_SNOOP),	\
	CACHE(NODE, STORE, MISS, 0x01b7, DEMAND_WRITE | (_remote) | ANY_SNOOP),	\
	CACHE(NODE, PREFETCH, MISS, 0x01b7, PREFETCHES | (_remote) | ANY_SNOOP)

#define CLIENT_RESPONSES	RESPONSES(FROM_LOCAL)
#define SERVER_RESPONSES	RESPONSES(FROM_LOCAL | SNB_FROM_REMOTE),	\
				REMOTE_RESPONSES(SNB_FROM_REMOTE)

#define CACHES_COMMON								\
	CACHE(L1D, LOAD, ACCESS, 0x81d0),	/* MEM_UOPS_RETIRED.ALL_LOADS */	\
	CACHE(L1D, LOAD, MISS, 0x0151),		/* L1D.REPLACEMENT */		\
	CACHE(L1D, STORE, ACCESS, 0x82d0),	/* MEM_UOPS_RETIRED.ALL_STORES */	\
	CACHE(L1I, LOAD, MISS, 0x0280),		/* ICACHE.MISSES */		\
	CACHE(DTLB, LOAD, ACCESS, 0x81d0),					\
	CACHE(DTLB, STORE, ACCESS, 0x82d0),					\
	CACHE(DTLB, STORE, MISS, 0x0149),	/* DTLB_STORE_MISSES, a walk */	\
	CACHE(ITLB, LOAD, MISS, 0x0185),	/* ITLB_MISSES, a walk */	\
	CACHE(BPU, LOAD, ACCESS, 0x00c4),					\
	CACHE(BPU, LOAD, MISS, 0x00c5)

#define SANDYBRIDGE_CACHES							\
	CACHES_COMMON,								\
	CACHE(L1D, STORE, MISS, 0x0851),	/* L1D.ALL_M_REPLACEMENT */	\
	CACHE(L1D, PREFETCH, MISS, 0x024e),	/* HW_PRE_REQ.DL1_MISS */	\
	CACHE(DTLB, LOAD, MISS, 0x0108),	/* DTLB_LOAD_MISSES, a walk */	\
	CACHE(ITLB, LOAD, ACCESS, 0x1085)	/* ITLB_MISSES.STLB_HIT */

static const struct x86_cache_event sandybridge_cache[] = {
	SANDYBRIDGE_CACHES,
	CLIENT_RESPONSES,
	{ }
};

static const struct x86_cache_event sandybridge_ep_cache[] = {
	SANDYBRIDGE_CACHES,
	SERVER_RESPONSES,
	{ }
};

#define IVYBRIDGE_CACHES							\
	CACHES_COMMON,								\
	CACHE(DTLB, LOAD, MISS, 0x8108),	/* DTLB_LOAD_MISSES.DEMAND_LD, a walk */ \
	CACHE(ITLB, LOAD, ACCESS, 0x1085)

static const struct x86_cache_event ivybridge_cache[] = {
	IVYBRIDGE_CACHES,
	CLIENT_RESPONSES,
	{ }
};

static const struct x86_cache_event ivybridge_ep_cache[] = {
	IVYBRIDGE_CACHES,
	SERVER_RESPONSES,
	{ }
};

#define HASWELL_CACHES(_local)							\
	CACHES_COMMON,								\
	RESPONSES((_local) | HSW_FROM_REMOTE),					\
	REMOTE_RESPONSES(HSW_FROM_REMOTE),					\
	CACHE(DTLB, LOAD, MISS, 0x0108),					\
	CACHE(ITLB, LOAD, ACCESS, 0x6085)	/* ITLB_MISSES.STLB_HIT */

static const struct x86_cache_event haswell_cache[] = {
	HASWELL_CACHES(FROM_LOCAL),
	{ }
};

/* L3_MISS_LOCAL_DRAM has another bit. */
static const struct x86_cache_event broadwell_cache[] = {
	HASWELL_CACHES(BDW_FROM_LOCAL),
	{ }
};

/* CounterHTOff of the event files: with 8 counters for a core's only thread, 4 can count these. */
#define RULES_COMMON							\
	RULE_CODE(0xb7, FIRST(4)),	/* OFFCORE_RESPONSE, both */	\
	RULE_CODE(0xbb, FIRST(4)),					\
	RULE_CODES(0xd0, 2, FIRST(4))	/* MEM_UOPS_RETIRED and the three after it */

static const struct x86_rule sandybridge_rules[] = {
	RULE_UMASK(0x01c0, BIT(1)),	/* INST_RETIRED.PREC_DIST */
	RULE_CODE(0x48, BIT(2)),	/* L1D_PEND_MISS */
	RULE_UMASK(0x0279, FIRST(4)),	/* IDQ.EMPTY */
	RULE_UMASK(0x019c, FIRST(4)),	/* IDQ_UOPS_NOT_DELIVERED.CORE */
	RULE_UMASK(0x02a3, BIT(2)),	/* CYCLE_ACTIVITY.CYCLES_L1D_PENDING */
	RULE_UMASK(0x06a3, BIT(2)),	/* CYCLE_ACTIVITY.STALLS_L1D_PENDING */
	RULE_CODE(0xa3, FIRST(4)),	/* CYCLE_ACTIVITY */
	RULE_CODE(0xcd, BIT(3)),	/* MEM_TRANS_RETIRED */
	RULES_COMMON,
	{ }
};

static const struct x86_rule ivybridge_rules[] = {
	RULE_UMASK(0x01c0, BIT(1)),
	RULE_UMASK(0x0148, BIT(2)),	/* L1D_PEND_MISS.PENDING */
	RULE_UMASK(0x0279, FIRST(4)),	/* IDQ.EMPTY */
	RULE_UMASK(0x019c, FIRST(4)),	/* IDQ_UOPS_NOT_DELIVERED.CORE */
	RULE_UMASK(0x08a3, BIT(2)),	/* CYCLE_ACTIVITY.CYCLES_L1D_PENDING */
	RULE_UMASK(0x0ca3, BIT(2)),	/* CYCLE_ACTIVITY.STALLS_L1D_PENDING */
	RULE_CODE(0xa3, FIRST(4)),
	RULE_CODE(0xcd, BIT(3)),
	RULES_COMMON,
	{ }
};

static const struct x86_rule haswell_rules[] = {
	RULE_UMASK(0x01c0, BIT(1)),
	RULE_CODE(0x48, BIT(2)),
	RULE_UMASK(0x08a3, BIT(2)),
	RULE_UMASK(0x0ca3, BIT(2)),
	RULE_UMASK(0x019c, FIRST(4)),	/* IDQ_UOPS_NOT_DELIVERED.CORE */
	RULE_UMASK(0x02a3, FIRST(4)),	/* CYCLE_ACTIVITY.CYCLES_LDM_PENDING */
	RULE_UMASK(0x04a3, FIRST(4)),	/* CYCLE_ACTIVITY.CYCLES_NO_EXECUTE */
	RULE_UMASK(0x05a3, FIRST(4)),	/* CYCLE_ACTIVITY.STALLS_L2_PENDING */
	RULE_UMASK(0x06a3, FIRST(4)),	/* CYCLE_ACTIVITY.STALLS_LDM_PENDING */
	RULE_UMASK(0x01b1, FIRST(4)),	/* UOPS_EXECUTED.STALL_CYCLES */
	RULE_CODE(0xbc, FIRST(4)),	/* PAGE_WALKER_LOADS */
	RULE_CODE(0xcd, BIT(3)),
	RULES_COMMON,
	{ }
};

static const struct x86_rule broadwell_rules[] = {
	RULE_UMASK(0x01c0, BIT(1)),
	RULE_UMASK(0x0148, BIT(2)),
	RULE_UMASK(0x019c, FIRST(4)),	/* IDQ_UOPS_NOT_DELIVERED.CORE */
	RULE_UMASK(0x08a3, BIT(2)),
	RULE_UMASK(0x0ca3, BIT(2)),
	RULE_CODE(0xcd, BIT(3)),
	RULES_COMMON,
	{ }
};

#define RESPONSE_BITS	0x3fffff8fffULL

static const struct x86_extra sandybridge_extra[] = {
	EXTRA_OFFCORE(0x01b7, 0x01bb, RESPONSE_BITS & ~SNB_FROM_REMOTE),
	EXTRA_LDLAT(0x01cd),
	{ }
};

static const struct x86_extra server_extra[] = {
	EXTRA_OFFCORE(0x01b7, 0x01bb, RESPONSE_BITS),
	EXTRA_LDLAT(0x01cd),
	{ }
};

/* MEM_UOPS_RETIRED, MEM_LOAD_UOPS_RETIRED, and two more with last-level details. */
static const u8 smt_unsafe_memory_events[] = { 0xd0, 0xd1, 0xd2, 0xd3, 0 };

#define SANDYBRIDGE(_cache, _extra)						\
	.name		= "sandybridge",					\
	.manual		= "SDM 3B; event files SNB, JKT",			\
	.generic	= sandybridge_generic,					\
	.cache		= (_cache),						\
	.rules		= sandybridge_rules,					\
	.extra		= (_extra),						\
	.sysfs_events	= intel_sandybridge_events,					\
	.smt_unsafe	= smt_unsafe_memory_events,					\
	.branches	= &intel_lbr_sandybridge,					\
	.precise	= &intel_pebs_sandybridge,				\
	.flags		= X86_MODEL_ARCH_EVENTS | X86_MODEL_LDLAT

const struct x86_model sandybridge_model = {
	SANDYBRIDGE(sandybridge_cache, sandybridge_extra),
};

const struct x86_model sandybridge_ep_model = {
	SANDYBRIDGE(sandybridge_ep_cache, server_extra),
};

#define IVYBRIDGE(_cache, _extra)						\
	.name		= "ivybridge",						\
	.manual		= "SDM 3B; event files IVB, IVT",			\
	.generic	= ivybridge_generic,					\
	.cache		= (_cache),						\
	.rules		= ivybridge_rules,					\
	.extra		= (_extra),						\
	.sysfs_events	= intel_sandybridge_events,					\
	.smt_unsafe	= smt_unsafe_memory_events,					\
	.branches	= &intel_lbr_sandybridge,					\
	.precise	= &intel_pebs_ivybridge,				\
	.flags		= X86_MODEL_ARCH_EVENTS | X86_MODEL_LDLAT

const struct x86_model ivybridge_model = {
	IVYBRIDGE(ivybridge_cache, sandybridge_extra),
};

const struct x86_model ivybridge_ep_model = {
	IVYBRIDGE(ivybridge_ep_cache, server_extra),
};

/* INST_RETIRED.ALL. Shorter periods of other events can keep the overflow handler busy. */
static const struct x86_period_limit haswell_periods[] = {
	PERIODS_OF(0x01c0, 128, 1),
	PERIODS_OF_ALL(32),
	{ }
};

/* A period must have its low six bits clear (BDM55). */
static const struct x86_period_limit broadwell_periods[] = {
	PERIODS_OF(0x01c0, 128, 64),
	{ }
};

const struct x86_model haswell_model = {
	.name		= "haswell",
	.manual		= "SDM 3B; event files HSW, HSX",
	.cache		= haswell_cache,
	.rules		= haswell_rules,
	.extra		= server_extra,
	.sysfs_events	= intel_haswell_events,
	.smt_unsafe	= smt_unsafe_memory_events,
	.periods	= haswell_periods,
	.branches	= &intel_lbr_haswell,
	.precise	= &intel_pebs_haswell,
	.flags		= X86_MODEL_ARCH_EVENTS | X86_MODEL_TSX |
			  X86_MODEL_LDLAT,
};

const struct x86_model broadwell_model = {
	.name		= "broadwell",
	.manual		= "SDM 3B; event files BDW, BDX; errata BDM11, BDM55",
	.cache		= broadwell_cache,
	.rules		= broadwell_rules,
	.extra		= server_extra,
	.sysfs_events	= intel_haswell_events,
	.periods	= broadwell_periods,
	.branches	= &intel_lbr_haswell,
	.precise	= &intel_pebs_haswell,
	.flags		= X86_MODEL_ARCH_EVENTS | X86_MODEL_TSX |
			  X86_MODEL_LDLAT | X86_MODEL_USER_LOW,
};
