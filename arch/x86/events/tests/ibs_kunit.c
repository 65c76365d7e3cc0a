// SPDX-License-Identifier: GPL-2.0
/*
 * Instruction based sampling: periods, counts, where data was, latencies, hidden addresses. And
 * suspend, in which the emulated machine loses no registers: the test clears them.
 */
#include <kunit/test.h>

#include "../amd/ibs.h"
#include "../pmu.h"

#define OLD	0x01fU	/* family 10h */
#define ZEN3	0x3ffU
#define ZEN4	0xbffU

static void periods_are_fields(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, amd_ibs_op_max(16), 1);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_max(0xffff0), 0xffff);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_max(0x100000), 0x100000);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_max(0x7fffff0), 0x7f0ffff);
}

static void counts_are_read(struct kunit *test)
{
	const u64 count = 0x1234ULL << 32;

	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | count, 0, ZEN4), 0x1234);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | count, 0, 0x7), 0);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | count | AMD_IBS_OP_VAL, 0, ZEN4), 0x100);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x100010 | AMD_IBS_OP_VAL, 0, ZEN4), 0x100100);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x100010 | AMD_IBS_OP_VAL, 0, OLD), 0x100);
}

/* ... from where the counter was started; it has begun again below that */
static void counts_have_a_start(struct kunit *test)
{
	const u64 count = 0x1234ULL << 32, again = 0x33ULL << 32;

	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | count, 0x7f, ZEN4), 0x11b5);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | again, 0x33, ZEN4), 0);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | again, 0x34, ZEN4), 0xcc);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | again | AMD_IBS_OP_VAL, 0x34, ZEN4), 0xcc);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_counted(0x10 | again | AMD_IBS_OP_VAL, 0x12, ZEN4), 0xee);
}

/* Ops alone have random bits, which are 7, and where the counter can be written. */
static void random_bits_are_kept(struct kunit *test)
{
	const u64 ops = 0x10 | 0xffULL << 32 | AMD_IBS_OP_VAL | AMD_IBS_OP_COUNTS_OPS;

	KUNIT_EXPECT_EQ(test, amd_ibs_op_random(ops, ZEN4), 0x7fULL << 32);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_random(ops, OLD), 0x7fULL << 32);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_random(ops, 0x17), 0);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_random(ops & ~AMD_IBS_OP_COUNTS_OPS, ZEN4), 0);
}

static void chunks_are_multiples(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(1, 16, 0xffff0), 16);
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(16, 16, 0xffff0), 16);
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(31, 16, 0xffff0), 16);
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(143, 144, 0xffff0), 144);
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(161, 144, 0xffff0), 160);
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(4096, 16, 0xffff0), 4096);
	KUNIT_EXPECT_EQ(test, amd_ibs_chunk(0x100000, 16, 0xffff0), 0xffff0);
}

#define S(_field, _value)	PERF_MEM_S(_field, _value)

struct ibs_source_case {
	u32	caps;
	u64	data2, data3;
	u64	level;		/* mem_lvl, mem_lvl_num, mem_remote, mem_hops, mem_snoop */
};

#define LEVEL_FIELDS							\
	(0x3fffULL << PERF_MEM_LVL_SHIFT | 0xfULL << PERF_MEM_LVLNUM_SHIFT |	\
	 1ULL << PERF_MEM_REMOTE_SHIFT | 7ULL << PERF_MEM_HOPS_SHIFT |		\
	 0x1fULL << PERF_MEM_SNOOP_SHIFT)
#define IS_LOAD		1ULL
#define IS_STORE		2ULL
#define IS_MISS		BIT_ULL(7)
#define L2_MISS		BIT_ULL(20)
#define BEYOND		(IS_LOAD | IS_MISS | L2_MISS)
#define HIT_IN(_lvl, _num)	(S(LVL, HIT) | S(LVL, _lvl) | S(LVLNUM, _num))
#define UNCACHED	BIT_ULL(14)
#define NO_BUFFER	BIT_ULL(16)
#define NOT_CACHED	(S(LVL, UNC) | S(LVLNUM, UNC) | S(SNOOP, NA))
#define IN_BUFFER	(S(LVL, LFB) | S(LVLNUM, LFB) | S(SNOOP, NA))
#define UNKNOWN		(S(LVL, NA) | S(LVLNUM, NA) | S(SNOOP, NA))
#define OTHER(_hops)	(HIT_IN(REM_CCE1, ANY_CACHE) | S(REMOTE, REMOTE) | S(HOPS, _hops))

static const struct ibs_source_case ibs_source_cases[] = {
	{ ZEN4, 0, IS_LOAD, HIT_IN(L1, L1) | S(SNOOP, NA) },
	{ ZEN4, 0, IS_STORE, HIT_IN(L1, L1) | S(SNOOP, NA) },
	{ ZEN4, 0, IS_LOAD | IS_MISS, HIT_IN(L2, L2) | S(SNOOP, NA) },
	{ ZEN4, 0, IS_STORE | IS_MISS | L2_MISS, UNKNOWN },
	{ ZEN4, 1, BEYOND, HIT_IN(L3, L3) | S(SNOOP, NA) },
	{ ZEN4, 2, BEYOND, OTHER(0) | S(SNOOP, HITM) },
	{ ZEN4, 2 | BIT(5), BEYOND, OTHER(0) | S(SNOOP, HIT) },
	{ ZEN4, 3, BEYOND, HIT_IN(LOC_RAM, RAM) | S(SNOOP, NA) },
	{ ZEN4, 3 | BIT(4), BEYOND,
	  HIT_IN(REM_RAM1, RAM) | S(REMOTE, REMOTE) | S(HOPS, 1) | S(SNOOP, NA) },
	{ ZEN4, 5, BEYOND, OTHER(1) | S(SNOOP, HITM) },
	{ ZEN4, 6, BEYOND, S(LVLNUM, PMEM) | S(SNOOP, NA) },
	{ ZEN4, 7, BEYOND, HIT_IN(IO, IO) | S(SNOOP, NA) },
	{ ZEN4, 0 | BIT(6), BEYOND, S(LVLNUM, CXL) | S(SNOOP, NA) },
	{ ZEN4, 4 | BIT(6), BEYOND, UNKNOWN },
	{ ZEN3, 2, BEYOND, HIT_IN(L3, L3) | S(SNOOP, NA) },
	{ ZEN3, 3, BEYOND, HIT_IN(LOC_RAM, RAM) | S(SNOOP, NA) },
	{ ZEN3, 4, BEYOND, OTHER(1) | S(SNOOP, HITM) },
	{ ZEN3, 1, BEYOND, UNKNOWN },
	{ OLD, 1, IS_LOAD | IS_MISS, HIT_IN(L3, L3) | S(SNOOP, NA) },
	{ OLD, 2, IS_LOAD | IS_MISS, OTHER(0) | S(SNOOP, HITM) },
	{ OLD, 2 | BIT(4) | BIT(5), IS_LOAD | IS_MISS, OTHER(1) | S(SNOOP, HIT) },
	{ OLD, 0, IS_LOAD | IS_MISS, UNKNOWN },
	/* uncached, whatever the bits of the caches are; an access of a device has its code */
	{ ZEN4, 0, IS_LOAD | UNCACHED, NOT_CACHED },
	{ ZEN4, 3, BEYOND | UNCACHED, NOT_CACHED },
	{ ZEN4, 7, BEYOND | UNCACHED, HIT_IN(IO, IO) | S(SNOOP, NA) },
	{ ZEN4, 0, IS_STORE | IS_MISS | UNCACHED, NOT_CACHED },
	/* a miss that waits for an earlier one's buffer: the source, if there is one */
	{ ZEN4, 0, BEYOND | NO_BUFFER, IN_BUFFER },
	{ ZEN4, 3, BEYOND | NO_BUFFER, HIT_IN(LOC_RAM, RAM) | S(SNOOP, NA) },
	{ ZEN4, 3, IS_STORE | IS_MISS | L2_MISS | NO_BUFFER, IN_BUFFER },
	{ ZEN3, 1, BEYOND | NO_BUFFER, IN_BUFFER },
};

/* Before Zen the codes are others. */
static unsigned int ibs_lacks(u32 caps)
{
	return caps == OLD ? AMD_IBS_LACKS_ZEN : 0;
}

static void sources_are_named(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ibs_source_cases); i++) {
		const struct ibs_source_case *c = &ibs_source_cases[i];
		u64 regs[AMD_IBS_OP_REGS] = {
			[AMD_IBS_OP_DATA2] = c->data2, [AMD_IBS_OP_DATA3] = c->data3,
		};

		KUNIT_EXPECT_EQ_MSG(test, amd_ibs_data_src(regs, c->caps, ibs_lacks(c->caps)) &
				    LEVEL_FIELDS, c->level, "case %u", i);
	}
}

/* The local code, and the one with the bit of a remote node. */
struct ibs_code {
	u64	local, remote;
};

#define OTHER_CACHE(_hops, _snoop)	(OTHER(_hops) | S(SNOOP, _snoop))
#define NO_CODE			{ UNKNOWN, UNKNOWN }
#define LOCAL_RAM		(HIT_IN(LOC_RAM, RAM) | S(SNOOP, NA))
#define REMOTE_RAM							\
	(HIT_IN(REM_RAM1, RAM) | S(REMOTE, REMOTE) | S(HOPS, 1) | S(SNOOP, NA))
#define FAR			(S(REMOTE, REMOTE) | S(HOPS, 1))

/* Families 10h to 16h, "NbIbsReqSrc": bits 2:0. Another cache has the bit of the node, too. */
static const struct ibs_code ibs_codes_nb[] = {
	NO_CODE,
	{ HIT_IN(L3, L3) | S(SNOOP, NA), HIT_IN(L3, L3) | S(SNOOP, NA) },
	{ OTHER_CACHE(0, HITM), OTHER_CACHE(1, HITM) },
	{ LOCAL_RAM, REMOTE_RAM },
	NO_CODE, NO_CODE, NO_CODE,
	{ HIT_IN(IO, IO) | S(SNOOP, NA), HIT_IN(IO, IO) | FAR | S(SNOOP, NA) },
};

/* PPR of families 17h and 19h, "DataSrc": bits 2:0. */
static const struct ibs_code ibs_codes_zen[] = {
	NO_CODE, NO_CODE,
	{ HIT_IN(L3, L3) | S(SNOOP, NA), HIT_IN(L3, L3) | S(SNOOP, NA) },
	{ LOCAL_RAM, REMOTE_RAM },
	{ OTHER_CACHE(1, HITM), OTHER_CACHE(1, HITM) },
	NO_CODE, NO_CODE,
	{ HIT_IN(IO, IO) | S(SNOOP, NA), HIT_IN(IO, IO) | FAR | S(SNOOP, NA) },
};

/* PPR of family 19h model 11h, "DataSrc": bits 7:6 and 2:0. */
static const struct ibs_code ibs_codes_zen4[] = {
	[0]	= NO_CODE,
	[1]	= { HIT_IN(L3, L3) | S(SNOOP, NA), HIT_IN(L3, L3) | S(SNOOP, NA) },
	[2]	= { OTHER_CACHE(0, HITM), OTHER_CACHE(0, HITM) },
	[3]	= { LOCAL_RAM, REMOTE_RAM },
	[4]	= NO_CODE,
	[5]	= { OTHER_CACHE(1, HITM), OTHER_CACHE(1, HITM) },
	[6]	= { S(LVLNUM, PMEM) | S(SNOOP, NA), S(LVLNUM, PMEM) | FAR | S(SNOOP, NA) },
	[7]	= { HIT_IN(IO, IO) | S(SNOOP, NA), HIT_IN(IO, IO) | FAR | S(SNOOP, NA) },
	[8]	= { S(LVLNUM, CXL) | S(SNOOP, NA), S(LVLNUM, CXL) | FAR | S(SNOOP, NA) },
	[9 ... 31] = NO_CODE,
};

static u64 ibs_source_of(u32 caps, u64 data2)
{
	u64 regs[AMD_IBS_OP_REGS] = { [AMD_IBS_OP_DATA2] = data2, [AMD_IBS_OP_DATA3] = BEYOND };

	return amd_ibs_data_src(regs, caps, ibs_lacks(caps)) & LEVEL_FIELDS;
}

/* The state of the line, bit 5, matters for other caches alone: owned, or modified. */
static u64 ibs_owned(u64 want)
{
	if ((want & S(SNOOP, HITM)) == S(SNOOP, HITM))
		want = (want & ~S(SNOOP, HITM)) | S(SNOOP, HIT);
	return want;
}

static void ibs_check_codes(struct kunit *test, u32 caps, const struct ibs_code *codes,
			    unsigned int nr)
{
	unsigned int code;

	for (code = 0; code < nr; code++) {
		u64 data2 = (code & 7) | (code >> 3) << 6;

		KUNIT_EXPECT_EQ_MSG(test, ibs_source_of(caps, data2), codes[code].local,
				    "code %u", code);
		KUNIT_EXPECT_EQ_MSG(test, ibs_source_of(caps, data2 | BIT(4)), codes[code].remote,
				    "code %u, remote", code);
		KUNIT_EXPECT_EQ_MSG(test, ibs_source_of(caps, data2 | BIT(5)),
				    ibs_owned(codes[code].local), "code %u, owned", code);
	}
}

static void all_codes_are_named(struct kunit *test)
{
	unsigned int code;

	ibs_check_codes(test, OLD, ibs_codes_nb, ARRAY_SIZE(ibs_codes_nb));
	ibs_check_codes(test, ZEN3, ibs_codes_zen, ARRAY_SIZE(ibs_codes_zen));
	ibs_check_codes(test, ZEN4, ibs_codes_zen4, ARRAY_SIZE(ibs_codes_zen4));
	/* Before Zen 4 bits 7:6 have no meaning. */
	for (code = 0; code < ARRAY_SIZE(ibs_codes_zen); code++)
		KUNIT_EXPECT_EQ_MSG(test, ibs_source_of(ZEN3, code | 0xc0),
				    ibs_codes_zen[code].local, "code %u", code);
}

struct ibs_access_case {
	u64	data3;
	u64	want;		/* mem_op, mem_dtlb, mem_lock, mem_blk */
};

#define ACCESS_FIELDS							\
	(0x1fULL << PERF_MEM_OP_SHIFT | 0x7fULL << PERF_MEM_TLB_SHIFT |	\
	 3ULL << PERF_MEM_LOCK_SHIFT | 7ULL << PERF_MEM_BLK_SHIFT)
#define ADDRESS		BIT_ULL(17)
#define PLAIN_ACCESS	(S(LOCK, NA) | S(BLK, NA))

/* Bits 0 and 1: load, store; 2 and 3: misses of the TLBs; 15: locked. */
static const struct ibs_access_case ibs_access_cases[] = {
	{ IS_LOAD, S(OP, LOAD) | S(TLB, NA) | PLAIN_ACCESS },
	{ IS_LOAD | 0xc, S(OP, LOAD) | S(TLB, NA) | PLAIN_ACCESS },
	{ IS_LOAD | ADDRESS, S(OP, LOAD) | S(TLB, L1) | S(TLB, HIT) | PLAIN_ACCESS },
	{ IS_LOAD | ADDRESS | 0x4, S(OP, LOAD) | S(TLB, L2) | S(TLB, HIT) | PLAIN_ACCESS },
	{ IS_LOAD | ADDRESS | 0xc, S(OP, LOAD) | S(TLB, L2) | S(TLB, MISS) | PLAIN_ACCESS },
	{ IS_STORE | ADDRESS, S(OP, STORE) | S(TLB, L1) | S(TLB, HIT) | PLAIN_ACCESS },
	{ IS_STORE | ADDRESS | 0x4, S(OP, STORE) | S(TLB, L2) | S(TLB, HIT) | PLAIN_ACCESS },
	{ IS_STORE | ADDRESS | 0xc, S(OP, STORE) | S(TLB, L2) | S(TLB, MISS) | PLAIN_ACCESS },
	{ IS_LOAD | IS_STORE | ADDRESS | BIT(15),
	  S(OP, LOAD) | S(TLB, L1) | S(TLB, HIT) | S(LOCK, LOCKED) | S(BLK, NA) },
	{ IS_STORE | BIT(15), S(OP, STORE) | S(TLB, NA) | S(LOCK, LOCKED) | S(BLK, NA) },
};

static void accesses_are_named(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ibs_access_cases); i++) {
		const struct ibs_access_case *c = &ibs_access_cases[i];
		u64 regs[AMD_IBS_OP_REGS] = { [AMD_IBS_OP_DATA3] = c->data3 };

		KUNIT_EXPECT_EQ_MSG(test, amd_ibs_data_src(regs, ZEN4, 0) & ACCESS_FIELDS,
				    c->want, "case %u", i);
	}
}

static void ops_without_data_have_none(struct kunit *test)
{
	u64 regs[AMD_IBS_OP_REGS] = { [AMD_IBS_OP_DATA2] = 3 };

	KUNIT_EXPECT_EQ(test, amd_ibs_data_src(regs, ZEN4, 0), (u64)PERF_MEM_NA);
}

/* Erratum 1293: data 2 shows nothing of prefetches (21), and of misses without a buffer (16). */
static void wrong_sources_are_ignored(struct kunit *test)
{
	static const u64 wrong[] = { NO_BUFFER, BIT_ULL(21), NO_BUFFER | BIT_ULL(21) };
	u64 regs[AMD_IBS_OP_REGS] = { [AMD_IBS_OP_DATA2] = 3 };
	unsigned int i;
	u64 source;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		regs[AMD_IBS_OP_DATA3] = BEYOND | wrong[i];
		source = amd_ibs_data_src(regs, ZEN3, AMD_IBS_LACKS_DATA2) & LEVEL_FIELDS;
		KUNIT_EXPECT_EQ_MSG(test, source,
				    wrong[i] & NO_BUFFER ? IN_BUFFER : UNKNOWN, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, amd_ibs_data_src(regs, ZEN3, 0) & LEVEL_FIELDS,
				    HIT_IN(LOC_RAM, RAM) | S(SNOOP, NA), "case %u", i);
	}
	regs[AMD_IBS_OP_DATA3] = BEYOND;
	KUNIT_EXPECT_EQ(test, amd_ibs_data_src(regs, ZEN3, AMD_IBS_LACKS_DATA2) & LEVEL_FIELDS,
			HIT_IN(LOC_RAM, RAM) | S(SNOOP, NA));
}

/* Family 19h before Zen 4: data 2 has no state of the line in another cache. */
static void unknown_states_are_no_snoops(struct kunit *test)
{
	u64 regs[AMD_IBS_OP_REGS] = { [AMD_IBS_OP_DATA2] = 4, [AMD_IBS_OP_DATA3] = BEYOND };

	KUNIT_EXPECT_EQ(test, amd_ibs_data_src(regs, ZEN3, AMD_IBS_LACKS_HIT_STATE) & LEVEL_FIELDS,
			OTHER_CACHE(1, NA));
	regs[AMD_IBS_OP_DATA2] = 4 | BIT(5);
	KUNIT_EXPECT_EQ(test, amd_ibs_data_src(regs, ZEN3, AMD_IBS_LACKS_HIT_STATE) & LEVEL_FIELDS,
			OTHER_CACHE(1, NA));
}

/* Families 12h and 14h have the code alone. */
static void codes_alone_have_no_node(struct kunit *test)
{
	unsigned int lacks = AMD_IBS_LACKS_ZEN | AMD_IBS_LACKS_NODE | AMD_IBS_LACKS_HIT_STATE;
	u64 regs[AMD_IBS_OP_REGS] = { [AMD_IBS_OP_DATA3] = BEYOND };

	for (u64 state = 0; state < 4; state++) {
		regs[AMD_IBS_OP_DATA2] = 2 | state << 4;
		KUNIT_EXPECT_EQ(test, amd_ibs_data_src(regs, OLD, lacks) & LEVEL_FIELDS,
				OTHER_CACHE(0, NA));
		regs[AMD_IBS_OP_DATA2] = 3 | state << 4;
		KUNIT_EXPECT_EQ(test, amd_ibs_data_src(regs, OLD, lacks) & LEVEL_FIELDS, LOCAL_RAM);
	}
}

static void weights_are_latencies(struct kunit *test)
{
	u64 regs[AMD_IBS_OP_REGS] = {
		[AMD_IBS_OP_DATA] = 77ULL << 16 | 5, [AMD_IBS_OP_DATA3] = BEYOND | 123ULL << 32,
	};
	union perf_sample_weight weight;

	KUNIT_EXPECT_EQ(test, amd_ibs_weight(regs, PERF_SAMPLE_WEIGHT), 123);
	weight.full = amd_ibs_weight(regs, PERF_SAMPLE_WEIGHT_STRUCT);
	KUNIT_EXPECT_EQ(test, weight.var1_dw, 123);
	KUNIT_EXPECT_EQ(test, weight.var2_w, 77);
	regs[AMD_IBS_OP_DATA3] = IS_LOAD | 123ULL << 32;
	KUNIT_EXPECT_EQ(test, amd_ibs_weight(regs, PERF_SAMPLE_WEIGHT), 0);
}

static void slow_loads_are_kept(struct kunit *test)
{
	union ibs_op_data3 data3 = { .ld_op = 1, .dc_miss = 1, .dc_miss_lat = 300 };
	u64 regs[AMD_IBS_OP_REGS] = { };

	KUNIT_EXPECT_EQ(test, amd_ibs_op_latency(128), 1ULL << 63);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_latency(255), 1ULL << 63);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_latency(256), 1ULL << 63 | 1ULL << 59);
	KUNIT_EXPECT_EQ(test, amd_ibs_op_latency(2048), 0xfULL << 59 | 1ULL << 63);
	regs[AMD_IBS_OP_DATA3] = data3.val;
	KUNIT_EXPECT_TRUE(test, amd_ibs_is_slower(regs, 299));
	KUNIT_EXPECT_FALSE(test, amd_ibs_is_slower(regs, 300));
	data3.dc_miss = 0;
	regs[AMD_IBS_OP_DATA3] = data3.val;
	KUNIT_EXPECT_FALSE(test, amd_ibs_is_slower(regs, 299));
	data3.dc_miss = 1;
	data3.ld_op = 0;
	regs[AMD_IBS_OP_DATA3] = data3.val;
	KUNIT_EXPECT_FALSE(test, amd_ibs_is_slower(regs, 299));
}

#define USER_ADDRESS	0x7f0000001234ULL
#define KERNEL_ADDRESS	0xffffffff81234567ULL
#define NONE		0x5555555555555555ULL	/* a register that the part does not have */

struct ibs_hide_case {
	u32	caps;
	u64	rip, linear, target;
	bool	rip_invalid, linear_valid;
	u64	shown_rip, shown_linear, shown_target;
};

static const struct ibs_hide_case ibs_hide_cases[] = {
	{ ZEN4, USER_ADDRESS, USER_ADDRESS, USER_ADDRESS, false, true,
	  USER_ADDRESS, USER_ADDRESS, USER_ADDRESS },
	{ ZEN4, USER_ADDRESS, KERNEL_ADDRESS, USER_ADDRESS, false, true,
	  USER_ADDRESS, 0, USER_ADDRESS },
	{ ZEN4, USER_ADDRESS, USER_ADDRESS, KERNEL_ADDRESS, false, true,
	  USER_ADDRESS, USER_ADDRESS, 0 },
	{ ZEN4, KERNEL_ADDRESS, USER_ADDRESS, 0, true, true, 0, USER_ADDRESS, 0 },
	{ ZEN4, KERNEL_ADDRESS, 0, 0, false, false, 0, 0, 0 },
	{ ZEN4, USER_ADDRESS, USER_ADDRESS, 0, true, true, 0, USER_ADDRESS, 0 },
	{ ZEN4, USER_ADDRESS, KERNEL_ADDRESS, 0, false, false, USER_ADDRESS, 0, 0 },
	{ ZEN4, USER_ADDRESS, USER_ADDRESS, 0, false, false, USER_ADDRESS, 0, 0 },
	/* has no bit for an invalid address, and no branch target */
	{ OLD, USER_ADDRESS, KERNEL_ADDRESS, NONE, true, true, USER_ADDRESS, 0, NONE },
};

static void addresses_are_hidden(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ibs_hide_cases); i++) {
		const struct ibs_hide_case *c = &ibs_hide_cases[i];
		union ibs_op_data data = { .op_rip_invalid = c->rip_invalid };
		union ibs_op_data3 data3 = {
			.ld_op = 1, .dc_lin_addr_valid = c->linear_valid, .dc_phy_addr_valid = 1,
		};
		u64 regs[AMD_IBS_RECORD_REGS] = {
			[AMD_IBS_OP_RIP] = c->rip, [AMD_IBS_OP_DATA] = data.val,
			[AMD_IBS_OP_DATA3] = data3.val, [AMD_IBS_DC_LINEAR] = c->linear,
			[AMD_IBS_DC_PHYSICAL] = 0x1234, [AMD_IBS_OP_REGS] = c->target,
		};

		amd_ibs_hide_op(regs, c->caps);
		data3.dc_phy_addr_valid = 0;
		data3.dc_lin_addr_valid = !!c->shown_linear;
		KUNIT_EXPECT_EQ_MSG(test, regs[AMD_IBS_OP_RIP], c->shown_rip, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, regs[AMD_IBS_DC_LINEAR], c->shown_linear, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, regs[AMD_IBS_OP_REGS], c->shown_target, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, regs[AMD_IBS_DC_PHYSICAL], 0, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, regs[AMD_IBS_OP_DATA3], data3.val, "case %u", i);
	}
}

static void addresses_of_fetches_are_hidden(struct kunit *test)
{
	u64 regs[AMD_IBS_FETCH_REGS] = {
		[AMD_IBS_FETCH_CTL] = AMD_IBS_FETCH_VAL | AMD_IBS_FETCH_PHYSICAL,
		[AMD_IBS_FETCH_LINEAR] = USER_ADDRESS, [AMD_IBS_FETCH_PHYS] = 0x1234,
	};

	amd_ibs_hide_fetch(regs);
	KUNIT_EXPECT_EQ(test, regs[AMD_IBS_FETCH_CTL], AMD_IBS_FETCH_VAL);
	KUNIT_EXPECT_EQ(test, regs[AMD_IBS_FETCH_LINEAR], USER_ADDRESS);
	KUNIT_EXPECT_EQ(test, regs[AMD_IBS_FETCH_PHYS], 0);
	regs[AMD_IBS_FETCH_LINEAR] = KERNEL_ADDRESS;
	amd_ibs_hide_fetch(regs);
	KUNIT_EXPECT_EQ(test, regs[AMD_IBS_FETCH_LINEAR], 0);
}

/* --------------------------------------------------------------- suspend and resume */

#define SUSPEND_ROUNDS	1000000
#define SUSPEND_INSNS	(2ULL * SUSPEND_ROUNDS)
#define SUSPEND_PERIOD	100000		/* a multiple of 16 */

/* Two instructions per round. */
static noinline void ibs_suspend_work(unsigned long n)
{
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc", "memory");
}

/* Ops of an event: in the work before suspend and behind resume, with the samples there. */
struct ibs_suspend {
	struct perf_event	*event;
	u64			before, after, stopped_ctl;
	unsigned int		samples, samples_before, samples_after;
};

static void ibs_suspend_sample(struct perf_event *event, struct perf_sample_data *data,
			       struct pt_regs *regs)
{
	struct ibs_suspend *c = event->overflow_handler_context;

	c->samples++;
}

/* A precise event of this selection is one of ibs_op. */
static struct perf_event *ibs_suspend_event(struct ibs_suspend *c)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_RAW,
		.config		= 0xc1,
		.size		= sizeof(attr),
		.pinned		= 1,
		.sample_period	= SUSPEND_PERIOD,
		.sample_type	= PERF_SAMPLE_IP,
		.precise_ip	= 1,
	};

	return perf_event_create_kernel_counter(&attr, 0, NULL, ibs_suspend_sample, c);
}

/* The registers, and the entry of the local vector table, as they are out of reset. */
static void ibs_suspend_clear(void)
{
	wrmsrl(MSR_AMD64_IBSFETCHCTL, 0);
	wrmsrl(MSR_AMD64_IBSOPCTL, 0);
	amd_ibs_apic_clear();
}

/* The count of a stopped event is up to date; that of a running one is not. */
static void ibs_suspend_here(void *info)
{
	struct ibs_suspend *c = info;
	u64 count;

	amd_ibs_suspend();
	count = local64_read(&c->event->count);
	c->samples = 0;
	amd_ibs_resume();
	ibs_suspend_work(SUSPEND_ROUNDS);
	amd_ibs_suspend();
	c->before = local64_read(&c->event->count) - count;
	c->samples_before = c->samples;
	rdmsrl(MSR_AMD64_IBSOPCTL, c->stopped_ctl);

	ibs_suspend_clear();
	ibs_suspend_work(SUSPEND_ROUNDS);

	amd_ibs_resume();
	ibs_suspend_work(SUSPEND_ROUNDS);
	amd_ibs_suspend();
	c->after = local64_read(&c->event->count) - count - c->before;
	c->samples_after = c->samples - c->samples_before;
	amd_ibs_resume();
}

/* All of the work is counted but for the sampled ops; part of the handlers is counted, too. */
static void ibs_suspend_is_right(struct kunit *test, const char *when, u64 count, u64 samples)
{
	KUNIT_EXPECT_GE_MSG(test, count + samples, SUSPEND_INSNS, "%s", when);
	KUNIT_EXPECT_LT_MSG(test, count, SUSPEND_INSNS + SUSPEND_INSNS / 2, "%s", when);
	KUNIT_EXPECT_GE_MSG(test, samples + 1, count / SUSPEND_PERIOD, "%s", when);
	KUNIT_EXPECT_LE_MSG(test, samples, count / SUSPEND_PERIOD + 1, "%s", when);
}

static void suspend_keeps_ibs_counts(struct kunit *test)
{
	struct ibs_suspend *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	if (!x86_nr_pmus || !boot_cpu_has(X86_FEATURE_IBS))
		kunit_skip(test, "no records of precise samples");
	c->event = ibs_suspend_event(c);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->event);
	KUNIT_EXPECT_EQ(test, smp_call_function_single(0, ibs_suspend_here, c, 1), 0);
	perf_event_release_kernel(c->event);
	KUNIT_EXPECT_EQ(test, c->stopped_ctl & (AMD_IBS_OP_EN | AMD_IBS_OP_VAL), 0ULL);
	ibs_suspend_is_right(test, "before", c->before, c->samples_before);
	ibs_suspend_is_right(test, "behind", c->after, c->samples_after);
}

static struct kunit_case ibs_cases[] = {
	KUNIT_CASE(periods_are_fields),
	KUNIT_CASE(counts_are_read),
	KUNIT_CASE(counts_have_a_start),
	KUNIT_CASE(random_bits_are_kept),
	KUNIT_CASE(chunks_are_multiples),
	KUNIT_CASE(sources_are_named),
	KUNIT_CASE(all_codes_are_named),
	KUNIT_CASE(accesses_are_named),
	KUNIT_CASE(ops_without_data_have_none),
	KUNIT_CASE(wrong_sources_are_ignored),
	KUNIT_CASE(unknown_states_are_no_snoops),
	KUNIT_CASE(codes_alone_have_no_node),
	KUNIT_CASE(weights_are_latencies),
	KUNIT_CASE(slow_loads_are_kept),
	KUNIT_CASE(addresses_are_hidden),
	KUNIT_CASE(addresses_of_fetches_are_hidden),
	{ }
};

static struct kunit_suite ibs_suite = {
	.name		= "x86_ibs",
	.test_cases	= ibs_cases,
};

static struct kunit_case ibs_suspend_cases[] = {
	KUNIT_CASE(suspend_keeps_ibs_counts),
	{ }
};

static struct kunit_suite ibs_suspend_suite = {
	.name		= "x86_ibs_suspend",
	.test_cases	= ibs_suspend_cases,
};

kunit_test_suites(&ibs_suite, &ibs_suspend_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: instruction based sampling");
MODULE_LICENSE("GPL");
