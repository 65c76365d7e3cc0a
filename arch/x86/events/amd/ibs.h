/* SPDX-License-Identifier: GPL-2.0 */
/* Instruction based sampling: what the files of the two PMUs share. */
#ifndef _ARCH_X86_EVENTS_AMD_IBS_H
#define _ARCH_X86_EVENTS_AMD_IBS_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/perf_event.h>
#include <linux/stddef.h>
#include <asm/amd-ibs.h>

/* CPUID 8000_001BH:EAX */
#define AMD_IBS_LEAF		0x8000001b
#define AMD_IBS_AVAILABLE	BIT(0)
#define AMD_IBS_FETCHES		BIT(1)
#define AMD_IBS_OPS		BIT(2)
#define AMD_IBS_COUNT_READ	BIT(3)	/* the op counter can be read and written */
#define AMD_IBS_COUNT_OPS	BIT(4)	/* counts ops instead of cycles */
#define AMD_IBS_BRANCH_TARGET	BIT(5)
#define AMD_IBS_COUNT_EXT	BIT(6)	/* op counter of 27 bits */
#define AMD_IBS_RIP_INVALID	BIT(7)
#define AMD_IBS_FETCH_EXTD	BIT(9)
#define AMD_IBS_OP_DATA4	BIT(10)
#define AMD_IBS_ZEN4		BIT(11)	/* filter of L3 misses, finer data sources */
#define AMD_IBS_LDLAT		BIT(12)	/* filter of latencies of loads */

#define AMD_IBS_FETCH_MAX	GENMASK_ULL(15, 0)
#define AMD_IBS_FETCH_COUNT	GENMASK_ULL(31, 16)
#define AMD_IBS_FETCH_EN	BIT_ULL(48)
#define AMD_IBS_FETCH_VAL	BIT_ULL(49)
#define AMD_IBS_FETCH_PHYSICAL	BIT_ULL(52)
#define AMD_IBS_FETCH_RANDOM	BIT_ULL(57)
#define AMD_IBS_FETCH_L3_MISS	BIT_ULL(59)

#define AMD_IBS_OP_MAX		GENMASK_ULL(15, 0)
#define AMD_IBS_OP_LEAST	9		/* 0 to 8 are reserved */
#define AMD_IBS_OP_L3_MISS	BIT_ULL(16)
#define AMD_IBS_OP_EN		BIT_ULL(17)
#define AMD_IBS_OP_VAL		BIT_ULL(18)
#define AMD_IBS_OP_COUNTS_OPS	BIT_ULL(19)
#define AMD_IBS_OP_MAX_EXT	GENMASK_ULL(26, 20)
#define AMD_IBS_OP_COUNT	GENMASK_ULL(58, 32)
#define AMD_IBS_OP_RANDOM	GENMASK_ULL(38, 32)	/* of it */
#define AMD_IBS_OP_LATENCY	GENMASK_ULL(62, 59)	/* of 128 cycles, less 1 */
#define AMD_IBS_OP_LATENCY_EN	BIT_ULL(63)

/*
 * Registers of an op sample, as they are in the raw record. They are followed by the branch target
 * and by data 4, each if the part has it.
 */
enum amd_ibs_op_reg {
	AMD_IBS_OP_CTL, AMD_IBS_OP_RIP, AMD_IBS_OP_DATA, AMD_IBS_OP_DATA2, AMD_IBS_OP_DATA3,
	AMD_IBS_DC_LINEAR, AMD_IBS_DC_PHYSICAL, AMD_IBS_OP_REGS
};

/* ... and of a fetch sample; they are followed by the extended control if the part has it. */
enum amd_ibs_fetch_reg {
	AMD_IBS_FETCH_CTL, AMD_IBS_FETCH_LINEAR, AMD_IBS_FETCH_PHYS, AMD_IBS_FETCH_REGS
};

#define AMD_IBS_RECORD_REGS	(AMD_IBS_OP_REGS + 2)

static_assert(AMD_IBS_FETCH_REGS + 1 <= AMD_IBS_RECORD_REGS);

/**
 * struct amd_ibs_record - a sample; the payload of PERF_SAMPLE_RAW begins at @caps
 * @unused: aligns @regs
 * @caps: CPUID 8000_001BH:EAX
 * @regs: by enum amd_ibs_op_reg or enum amd_ibs_fetch_reg
 */
struct amd_ibs_record {
	u32	unused;
	u32	caps;
	u64	regs[AMD_IBS_RECORD_REGS];
};

static_assert(offsetof(struct amd_ibs_record, regs) ==
	      offsetofend(struct amd_ibs_record, caps));

/* What the registers of a model lack: see amd_ibs_data_src(). */
#define AMD_IBS_LACKS_DATA2	BIT(0)	/* erratum 1293: of some misses */
#define AMD_IBS_LACKS_HIT_STATE	BIT(1)	/* data 2 has no state of the line in another cache */
#define AMD_IBS_LACKS_ZEN	BIT(2)	/* data 2 has the codes of a northbridge */
#define AMD_IBS_LACKS_NODE	BIT(3)	/* data 2 has no bit of the remote node */

/* ---------------------------------------------------------------- ibs_record.c */

u64  amd_ibs_op_max(u64 events);
u64  amd_ibs_op_random(u64 ctl, u32 caps);
u64  amd_ibs_op_counted(u64 ctl, u64 start, u32 caps);
u64  amd_ibs_chunk(s64 left, u64 least, u64 most);
u64  amd_ibs_data_src(const u64 *regs, u32 caps, unsigned int lacks);
u64  amd_ibs_weight(const u64 *regs, u64 sample_type);
u64  amd_ibs_op_latency(unsigned int cycles);
bool amd_ibs_is_slower(const u64 *regs, unsigned int cycles);
void amd_ibs_hide_op(u64 *regs, u32 caps);
void amd_ibs_hide_fetch(u64 *regs);

/* ------------------------------------------------------------------ ibs_apic.c */

int  amd_ibs_apic_setup(void);
void amd_ibs_apic_clear(void);

#endif /* _ARCH_X86_EVENTS_AMD_IBS_H */
