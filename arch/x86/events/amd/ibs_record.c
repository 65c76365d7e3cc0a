// SPDX-License-Identifier: GPL-2.0
/*
 * Decoding of the registers of instruction based sampling: counts, where data was, latencies,
 * kernel addresses.
 *
 * Manual: APM volume 2, 13.3 "Instruction-Based Sampling"; PPR of family 19h models 01h and 11h,
 * "IBS Op Data 2" and "IBS Op Data 3".
 *
 * No hardware is accessed.
 */
#include <linux/array_size.h>
#include <linux/bitfield.h>
#include <linux/minmax.h>

#include "../branch.h"
#include "ibs.h"

#define S(_field, _value)	PERF_MEM_S(_field, _value)

/**
 * amd_ibs_op_max - the fields of the op control for a period
 * @events: events until the sample, a multiple of 16
 *
 * Context: any, NMI included.
 * Return: bits of the control register
 */
u64 amd_ibs_op_max(u64 events)
{
	u64 max = events >> 4;

	return (max & AMD_IBS_OP_MAX) | FIELD_PREP(AMD_IBS_OP_MAX_EXT, max >> 16 & 0x7f);
}

/**
 * amd_ibs_op_random - the random bits in which the op counter has begun again
 * @ctl: the control register, with a valid sample
 * @caps: CPUID 8000_001BH:EAX
 *
 * The counter of ops begins again in random low bits. A write of the register has to keep these
 * bits: without these the samples of a loop are all of the same instructions if the length of the
 * loop divides the period. The counter of cycles has none.
 *
 * Context: any, NMI included.
 * Return: bits of the control register; 0 if there are none
 */
u64 amd_ibs_op_random(u64 ctl, u32 caps)
{
	if (!(caps & AMD_IBS_COUNT_READ) || !(ctl & AMD_IBS_OP_COUNTS_OPS))
		return 0;
	return ctl & AMD_IBS_OP_RANDOM;
}

/**
 * amd_ibs_op_counted - events since the op counter was started
 * @ctl: the control register
 * @start: count from which the counter was started, 127 at most
 * @caps: CPUID 8000_001BH:EAX
 *
 * With a valid sample the counter has reached its maximum, and has begun again. A counter below
 * @start has, too: an op is tagged. At or above @start that cannot be seen.
 *
 * Context: any, NMI included.
 * Return: events; 0 if the counter cannot be read
 */
u64 amd_ibs_op_counted(u64 ctl, u64 start, u32 caps)
{
	u64 count = caps & AMD_IBS_COUNT_READ ? FIELD_GET(AMD_IBS_OP_COUNT, ctl) : 0;
	u64 max = ctl & AMD_IBS_OP_MAX;

	if (caps & AMD_IBS_COUNT_EXT)
		max |= FIELD_GET(AMD_IBS_OP_MAX_EXT, ctl) << 16;
	if (ctl & AMD_IBS_OP_VAL || count < start)
		count = max << 4;
	return count - start;
}

/**
 * amd_ibs_chunk - what a counter is to count next
 * @left: events left of the period, 1 at least
 * @least: fewest events that the counter can count
 * @most: most events that the counter can count
 *
 * Context: any, NMI included.
 * Return: events, a multiple of 16
 */
u64 amd_ibs_chunk(s64 left, u64 least, u64 most)
{
	return clamp_t(u64, left, least, most) & ~0xfULL;
}

/* Codes of the data source without remote bit: what the northbridge has found, before Zen. */
#define NB_L3		1
#define NB_OTHER_CACHE	2

static const u64 amd_ibs_source_nb[] = {
	[NB_L3]			 = S(LVL, L3) | S(LVL, HIT) | S(LVLNUM, L3),
	[NB_OTHER_CACHE]	 = S(LVL, REM_CCE1) | S(LVL, HIT) | S(LVLNUM, ANY_CACHE) |
				   S(REMOTE, REMOTE),
	[IBS_DATA_SRC_DRAM]	 = S(LVL, LOC_RAM) | S(LVL, HIT) | S(LVLNUM, RAM),
	[IBS_DATA_SRC_IO]	 = S(LVL, IO) | S(LVL, HIT) | S(LVLNUM, IO),
};

/* Zen to Zen 3. */
static const u64 amd_ibs_source_zen[] = {
	[IBS_DATA_SRC_LOC_CACHE] = S(LVL, L3) | S(LVL, HIT) | S(LVLNUM, L3),
	[IBS_DATA_SRC_DRAM]	 = S(LVL, LOC_RAM) | S(LVL, HIT) | S(LVLNUM, RAM),
	[IBS_DATA_SRC_REM_CACHE] = S(LVL, REM_CCE1) | S(LVL, HIT) | S(LVLNUM, ANY_CACHE) |
				   S(REMOTE, REMOTE) | S(HOPS, 1),
	[IBS_DATA_SRC_IO]	 = S(LVL, IO) | S(LVL, HIT) | S(LVLNUM, IO),
};

static const u64 amd_ibs_source_zen4[] = {
	[IBS_DATA_SRC_EXT_LOC_CACHE]	  = S(LVL, L3) | S(LVL, HIT) | S(LVLNUM, L3),
	[IBS_DATA_SRC_EXT_NEAR_CCX_CACHE] = S(LVL, REM_CCE1) | S(LVL, HIT) |
					    S(LVLNUM, ANY_CACHE) | S(REMOTE, REMOTE) | S(HOPS, 0),
	[IBS_DATA_SRC_EXT_DRAM]		  = S(LVL, LOC_RAM) | S(LVL, HIT) | S(LVLNUM, RAM),
	[IBS_DATA_SRC_EXT_FAR_CCX_CACHE]  = S(LVL, REM_CCE1) | S(LVL, HIT) |
					    S(LVLNUM, ANY_CACHE) | S(REMOTE, REMOTE) | S(HOPS, 1),
	[IBS_DATA_SRC_EXT_PMEM]		  = S(LVLNUM, PMEM),
	[IBS_DATA_SRC_EXT_IO]		  = S(LVL, IO) | S(LVL, HIT) | S(LVLNUM, IO),
	[IBS_DATA_SRC_EXT_EXT_MEM]	  = S(LVLNUM, CXL),
};

#define IN_REMOTE_RAM	(S(LVL, REM_RAM1) | S(LVL, HIT) | S(LVLNUM, RAM) |	\
			 S(REMOTE, REMOTE) | S(HOPS, 1))
#define UNKNOWN_LEVEL	(S(LVL, NA) | S(LVLNUM, NA))

/*
 * The code of a cache has the distance in it. The bit of the remote node is about the node that has
 * served the request, which need not be the one with the cache.
 */
static bool amd_ibs_is_cache(u64 level)
{
	return level & (S(LVL, L3) | S(LVL, REM_CCE1));
}

/* What a code stands for; 0: nothing that is known. */
static u64 amd_ibs_level_of(unsigned int code, bool remote, u32 caps, unsigned int lacks)
{
	if (lacks & AMD_IBS_LACKS_ZEN) {
		if (code == NB_OTHER_CACHE)
			return amd_ibs_source_nb[code] | (remote ? S(HOPS, 1) : S(HOPS, 0));
		return code < ARRAY_SIZE(amd_ibs_source_nb) ? amd_ibs_source_nb[code] : 0;
	}
	if (caps & AMD_IBS_ZEN4)
		return code < ARRAY_SIZE(amd_ibs_source_zen4) ? amd_ibs_source_zen4[code] : 0;
	return code < ARRAY_SIZE(amd_ibs_source_zen) ? amd_ibs_source_zen[code] : 0;
}

/* Beyond L2; only loads have it. */
static u64 amd_ibs_level_beyond(union ibs_op_data2 data2, u32 caps, unsigned int lacks)
{
	bool remote = data2.rmt_node && !(lacks & AMD_IBS_LACKS_NODE);
	unsigned int code = data2.data_src_lo;
	u64 level;

	if (caps & AMD_IBS_ZEN4)
		code |= data2.data_src_hi << 3;
	level = amd_ibs_level_of(code, remote, caps, lacks);
	if (!level)
		return UNKNOWN_LEVEL | S(SNOOP, NA);
	if (code == IBS_DATA_SRC_DRAM && remote)
		return IN_REMOTE_RAM | S(SNOOP, NA);
	if (remote && !amd_ibs_is_cache(level))
		level |= S(REMOTE, REMOTE) | S(HOPS, 1);
	if (level & S(REMOTE, REMOTE) && level & S(LVL, REM_CCE1) &&
	    !(lacks & AMD_IBS_LACKS_HIT_STATE))
		return level | (data2.cache_hit_st ? S(SNOOP, HIT) : S(SNOOP, HITM));
	return level | S(SNOOP, NA);
}

/* The bits of misses, and of L2, are not valid for an access that no cache can have. */
static bool amd_ibs_is_uncached(union ibs_op_data2 data2, union ibs_op_data3 data3, u32 caps)
{
	unsigned int code = data2.data_src_lo;

	if (caps & AMD_IBS_ZEN4)
		code |= data2.data_src_hi << 3;
	return data3.dc_uc_mem_acc && code != IBS_DATA_SRC_IO;
}

static u64 amd_ibs_level(union ibs_op_data2 data2, union ibs_op_data3 data3, u32 caps,
			 unsigned int lacks)
{
	bool has_l2 = caps & AMD_IBS_FETCH_EXTD;
	bool wrong = lacks & AMD_IBS_LACKS_DATA2 && (data3.sw_pf || data3.dc_miss_no_mab_alloc);
	u64 level = UNKNOWN_LEVEL | S(SNOOP, NA);

	if (amd_ibs_is_uncached(data2, data3, caps))
		return S(LVL, UNC) | S(LVLNUM, UNC) | S(SNOOP, NA);
	if (!data3.dc_miss)
		return S(LVL, L1) | S(LVL, HIT) | S(LVLNUM, L1) | S(SNOOP, NA);
	if (has_l2 && !data3.l2_miss && !wrong)
		return S(LVL, L2) | S(LVL, HIT) | S(LVLNUM, L2) | S(SNOOP, NA);
	if (data3.ld_op && !wrong)
		level = amd_ibs_level_beyond(data2, caps, lacks);
	/* An earlier miss of the line has the buffer; the source is better if it is known. */
	if (data3.dc_miss_no_mab_alloc && level == (UNKNOWN_LEVEL | S(SNOOP, NA)))
		return S(LVL, LFB) | S(LVLNUM, LFB) | S(SNOOP, NA);
	return level;
}

static u64 amd_ibs_tlb(union ibs_op_data3 data3)
{
	if (!data3.dc_lin_addr_valid)
		return S(TLB, NA);
	if (!data3.dc_l1tlb_miss)
		return S(TLB, L1) | S(TLB, HIT);
	return data3.dc_l2tlb_miss ? S(TLB, L2) | S(TLB, MISS) : S(TLB, L2) | S(TLB, HIT);
}

/**
 * amd_ibs_data_src - where the data of an op was
 * @regs: by enum amd_ibs_op_reg
 * @caps: CPUID 8000_001BH:EAX
 * @lacks: AMD_IBS_LACKS_*
 *
 * Context: any, NMI included.
 * Return: perf_mem_data_src
 */
u64 amd_ibs_data_src(const u64 *regs, u32 caps, unsigned int lacks)
{
	union ibs_op_data2 data2 = { .val = regs[AMD_IBS_OP_DATA2] };
	union ibs_op_data3 data3 = { .val = regs[AMD_IBS_OP_DATA3] };

	if (!data3.ld_op && !data3.st_op)
		return PERF_MEM_NA;
	return (data3.ld_op ? S(OP, LOAD) : S(OP, STORE)) |
	       amd_ibs_level(data2, data3, caps, lacks) | amd_ibs_tlb(data3) |
	       (data3.dc_locked_op ? S(LOCK, LOCKED) : S(LOCK, NA)) | S(BLK, NA);
}

/**
 * amd_ibs_weight - latencies of a load that has missed L1
 * @regs: by enum amd_ibs_op_reg
 * @sample_type: PERF_SAMPLE_WEIGHT or PERF_SAMPLE_WEIGHT_STRUCT
 *
 * Context: any, NMI included.
 * Return: perf_sample_weight; 0: there is none
 */
u64 amd_ibs_weight(const u64 *regs, u64 sample_type)
{
	union ibs_op_data data = { .val = regs[AMD_IBS_OP_DATA] };
	union ibs_op_data3 data3 = { .val = regs[AMD_IBS_OP_DATA3] };
	union perf_sample_weight weight = { };

	if (!data3.ld_op || !data3.dc_miss)
		return 0;
	if (sample_type & PERF_SAMPLE_WEIGHT)
		return data3.dc_miss_lat;
	weight.var1_dw = data3.dc_miss_lat;
	weight.var2_w = data.tag_to_ret_ctr;
	return weight.full;
}

/**
 * amd_ibs_op_latency - the filter of latencies in the control register
 * @cycles: 128 to 2048; the processor's filter is a multiple of 128
 *
 * Context: any, NMI included.
 * Return: bits of the register
 */
u64 amd_ibs_op_latency(unsigned int cycles)
{
	return AMD_IBS_OP_LATENCY_EN | FIELD_PREP(AMD_IBS_OP_LATENCY, cycles / 128 - 1);
}

/**
 * amd_ibs_is_slower - is a sample of a load that has missed L1 and has taken longer?
 * @regs: by enum amd_ibs_op_reg
 * @cycles: latency in cycles to compare with
 *
 * Context: any, NMI included.
 * Return: true for such a sample
 */
bool amd_ibs_is_slower(const u64 *regs, unsigned int cycles)
{
	union ibs_op_data3 data3 = { .val = regs[AMD_IBS_OP_DATA3] };

	return data3.ld_op && data3.dc_miss && data3.dc_miss_lat > cycles;
}

static u64 amd_ibs_user_address(u64 address)
{
	return x86_address_is_kernel(address) ? 0 : address;
}

/**
 * amd_ibs_hide_op - clear physical addresses and those of the kernel in an op's registers
 * @regs: by enum amd_ibs_op_reg, with the branch target if @caps has AMD_IBS_BRANCH_TARGET
 * @caps: CPUID 8000_001BH:EAX
 *
 * An op of user space can have data, or the target of a branch, in the kernel. A register with
 * a clear valid bit has the address of an earlier op.
 *
 * Context: any, NMI included.
 */
void amd_ibs_hide_op(u64 *regs, u32 caps)
{
	union ibs_op_data data = { .val = regs[AMD_IBS_OP_DATA] };
	union ibs_op_data3 data3 = { .val = regs[AMD_IBS_OP_DATA3] };

	if (x86_address_is_kernel(regs[AMD_IBS_DC_LINEAR]))
		data3.dc_lin_addr_valid = 0;
	data3.dc_phy_addr_valid = 0;
	regs[AMD_IBS_OP_DATA3] = data3.val;
	regs[AMD_IBS_DC_PHYSICAL] = 0;
	if (!data3.dc_lin_addr_valid)
		regs[AMD_IBS_DC_LINEAR] = 0;
	if (caps & AMD_IBS_RIP_INVALID && data.op_rip_invalid)
		regs[AMD_IBS_OP_RIP] = 0;
	regs[AMD_IBS_OP_RIP] = amd_ibs_user_address(regs[AMD_IBS_OP_RIP]);
	if (caps & AMD_IBS_BRANCH_TARGET)
		regs[AMD_IBS_OP_REGS] = amd_ibs_user_address(regs[AMD_IBS_OP_REGS]);
}

/**
 * amd_ibs_hide_fetch - clear physical addresses and those of the kernel in a fetch's registers
 * @regs: by enum amd_ibs_fetch_reg
 *
 * Context: any, NMI included.
 */
void amd_ibs_hide_fetch(u64 *regs)
{
	regs[AMD_IBS_FETCH_CTL] &= ~AMD_IBS_FETCH_PHYSICAL;
	regs[AMD_IBS_FETCH_PHYS] = 0;
	regs[AMD_IBS_FETCH_LINEAR] = amd_ibs_user_address(regs[AMD_IBS_FETCH_LINEAR]);
}
