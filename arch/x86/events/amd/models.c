// SPDX-License-Identifier: GPL-2.0
/*
 * Events of AMD processors.
 *
 * Manuals: Athlon Processor x86 Code Optimization Guide; BIOS and Kernel Developer's Guides (BKDG)
 * of families 0Fh, 10h and 15h; Processor Programming References (PPR) of families 17h, 19h and
 * 1Ah, "Performance Monitor Counters".
 */
#include "models.h"

/* A 12-bit event code in the layout of a selection. */
#define AMD_CODE(_code)	(((_code) & 0xffULL) | ((_code) & 0xf00ULL) << 24)

/*
 * In the order of enum perf_hw_id: cycles, instructions, cache references and misses, branches and
 * their misses, bus cycles, stalls of the front end and the back end, reference cycles.
 */
static const u64 k7_generic[] = {
	0x0076, 0x00c0, 0x077d, 0x077e, 0x00c2, 0x00c3, 0, 0x00d0, 0x00d1, 0
};

static const u64 fam17h_generic[] = {
	0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0, 0x0287, 0x0187, 0
};

/* From Zen 2 on. */
static const u64 zen2_generic[] = {
	0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0, 0x00a9, 0, 0
};

/* From Zen 4 on: LS_NOT_HALTED_P0_CYC counts at a fixed rate. */
static const u64 zen4_generic[] = {
	0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0, 0x00a9, 0, 0x100000120
};

#define K7_CACHE							\
	CACHE(L1D, LOAD, ACCESS, 0x0040),	/* data cache accesses */	\
	CACHE(L1D, LOAD, MISS, 0x0141),		/* data cache misses */		\
	CACHE(L1D, PREFETCH, ACCESS, 0x0267),	/* data prefetcher: attempts */	\
	CACHE(L1D, PREFETCH, MISS, 0x0167),	/* ... cancelled */		\
	CACHE(L1I, LOAD, ACCESS, 0x0080),	/* instruction cache fetches */	\
	CACHE(L1I, LOAD, MISS, 0x0081),		/* ... misses */		\
	CACHE(L1I, PREFETCH, ACCESS, 0x014b),	/* prefetch instructions: load */ \
	CACHE(LL, LOAD, ACCESS, 0x037d),	/* requests to L2 from both caches */ \
	CACHE(LL, LOAD, MISS, 0x037e),		/* L2 misses of both */		\
	CACHE(LL, STORE, ACCESS, 0x017f),	/* L2 writebacks */		\
	CACHE(DTLB, LOAD, ACCESS, 0x0040),				\
	CACHE(DTLB, LOAD, MISS, 0x0746),	/* missed both data TLBs */	\
	CACHE(ITLB, LOAD, ACCESS, 0x0080),				\
	CACHE(ITLB, LOAD, MISS, 0x0385),	/* missed both instruction TLBs */ \
	CACHE(BPU, LOAD, ACCESS, 0x00c2),				\
	CACHE(BPU, LOAD, MISS, 0x00c3)

static const struct x86_cache_event k7_cache[] = {
	K7_CACHE,
	{ }
};

/* With a northbridge that the counters count. */
static const struct x86_cache_event k8_cache[] = {
	K7_CACHE,
	CACHE(NODE, LOAD, ACCESS, 0xb8e9),	/* requests of the CPU to memory */
	CACHE(NODE, LOAD, MISS, 0x98e9),	/* ... of other nodes */
	{ }
};

#define ZEN_CACHE							\
	CACHE(L1D, LOAD, ACCESS, 0x0040),	/* data cache accesses */	\
	CACHE(L1D, LOAD, MISS, 0xc860),		/* L2 requests for data */	\
	CACHE(L1D, PREFETCH, ACCESS, 0xff5a),	/* hardware prefetch fills */	\
	CACHE(DTLB, LOAD, ACCESS, 0xff45),	/* L1 data TLB misses */	\
	CACHE(DTLB, LOAD, MISS, 0xf045),	/* ... that missed L2, too */	\
	CACHE(ITLB, LOAD, ACCESS, 0x0084),	/* L1 TLB miss, L2 hit */	\
	CACHE(ITLB, LOAD, MISS, 0xff85),	/* missed both */		\
	CACHE(BPU, LOAD, ACCESS, 0x00c2),				\
	CACHE(BPU, LOAD, MISS, 0x00c3)

static const struct x86_cache_event fam17h_cache[] = {
	ZEN_CACHE,
	CACHE(L1I, LOAD, ACCESS, 0x0080),	/* 32-byte fetches */
	CACHE(L1I, LOAD, MISS, 0x0081),		/* ... that missed */
	{ }
};

static const struct x86_cache_event fam19h_cache[] = {
	ZEN_CACHE,
	CACHE(L1I, LOAD, ACCESS, 0x100001f8e),	/* instruction cache tags: all */
	CACHE(L1I, LOAD, MISS, 0x10000188e),	/* ... misses */
	{ }
};

/* Code 4 with no bit of @_others in its unit mask. */
#define FAM15H_UNIT(_others)	RULE_AMD_UNITS(0x004, 0, _others, GENMASK(5, 3))

/* BKDG 15h, table "PERF_CTL mapping". Northbridge events, E0h to FFh, belong to another PMU. */
static const struct x86_rule fam15h_rules[] = {
	RULE_AMD(0x003, BIT(3)), RULE_AMD(0x00b, BIT(3)), RULE_AMD(0x00d, BIT(3)),
	RULE_AMD(0x023, GENMASK(2, 0)),
	RULE_AMD(0x02d, BIT(3)),
	RULE_AMD(0x02e, BIT(3) | BIT(0)),
	RULE_AMD(0x031, GENMASK(2, 0)),
	RULE_AMD(0x043, GENMASK(2, 0)), RULE_AMD(0x045, GENMASK(2, 0)),
	RULE_AMD(0x046, GENMASK(2, 0)),
	RULE_AMD(0x054, GENMASK(2, 0)), RULE_AMD(0x055, GENMASK(2, 0)),
	RULE_AMD(0x08f, BIT(0)),
	RULE_AMD(0x0db, GENMASK(5, 0)),
	RULE_AMD_CODES(0x0dc, 2, GENMASK(5, 0)),
	/* Code 0 with operations of both kinds, and code 4 with several, on counter 3 alone. */
	RULE_AMD_UNITS(0x000, 0, 0xf0, GENMASK(5, 3)),
	RULE_AMD_UNITS(0x000, 0, 0x0f, GENMASK(5, 3)),
	RULE_AMD(0x000, BIT(3)),
	FAM15H_UNIT(0xfe), FAM15H_UNIT(0xfd), FAM15H_UNIT(0xfb), FAM15H_UNIT(0xf7),
	FAM15H_UNIT(0xef), FAM15H_UNIT(0xdf), FAM15H_UNIT(0xbf), FAM15H_UNIT(0x7f),
	RULE_AMD(0x004, BIT(3)),
	RULE_AMD_CODES(0x000, 5, GENMASK(5, 3)),	/* floating point */
	RULE_AMD_CODES(0x060, 5, GENMASK(2, 0)),	/* compute unit */
	RULE_AMD_CODES(0x080, 5, GENMASK(2, 0)),	/* fetch, decode */
	RULE_AMD_CODES(0x0d0, 4, GENMASK(2, 0)),	/* decode */
	RULE_CODES(X86_SELECT_NODE, 5, 0),
	RULE_AMD(AMD_CODE(0x187), BIT(0)), RULE_AMD(AMD_CODE(0x188), BIT(0)),
	RULE_AMD(AMD_CODE(0x1c0), GENMASK(5, 3)),
	{ }
};

/*
 * A counter adds 15 in a cycle at most. More floating-point operations than that can retire: they
 * are counted by an even counter that the one after it extends (PPR, "Large Increment per Cycle
 * Events").
 */
static const u64 zen_pairs[] = { 0x003, 0 };

/* Selected by a user on an odd counter, MergeEvent would change another event's counter. */
static const struct x86_rule zen_rules[] = {
	RULE_AMD(X86_SELECT_MERGE, 0),
	{ }
};

/* Branch sampling: the branches that are recorded are those that the event counts. */
static const struct x86_sysfs_event fam19h_events[] = {
	{ .name = "branch-brs", .text = "event=0xc4", .config = 0x00c4, .branches = true },
	{ }
};

#define AMD_MODEL(_fam, _manual, _generic, _cache, _rules, ...)	\
const struct x86_model amd_model_##_fam = {			\
	.name		= #_fam,				\
	.manual		= _manual,				\
	.generic	= _generic,				\
	.cache		= _cache,				\
	.rules		= _rules,				\
	__VA_ARGS__						\
}

AMD_MODEL(k7, "Athlon Code Optimization Guide 22007, table 11", k7_generic, k7_cache, NULL);
AMD_MODEL(k8, "BKDG 0Fh, 10.2", k7_generic, k8_cache, NULL, .flags = X86_MODEL_NODE);
AMD_MODEL(fam10h, "BKDG 10h, 3.14", k7_generic, k8_cache, NULL, .flags = X86_MODEL_NODE);
AMD_MODEL(fam15h, "BKDG 15h models 00h-0Fh, 3.24", k7_generic, k7_cache, fam15h_rules);
AMD_MODEL(fam17h, "PPR 17h model 01h, 2.1.13", fam17h_generic, fam17h_cache, zen_rules,
	  .pairs = zen_pairs);
AMD_MODEL(zen2, "PPR 17h model 31h, 2.1.15", zen2_generic, fam17h_cache, zen_rules,
	  .pairs = zen_pairs);
AMD_MODEL(fam19h, "PPR 19h model 01h; event files amdzen3", zen2_generic, fam19h_cache, zen_rules,
	  .pairs = zen_pairs, .sysfs_events = fam19h_events);
AMD_MODEL(zen4, "PPR 19h model 11h, 2.1.15", zen4_generic, fam19h_cache, zen_rules,
	  .pairs = zen_pairs);
AMD_MODEL(fam1ah, "PPR 1Ah model 02h, 2.1.15", zen4_generic, fam19h_cache, zen_rules,
	  .pairs = zen_pairs);
