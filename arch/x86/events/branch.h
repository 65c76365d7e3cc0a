/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Branch records: what registers log of a CPU's last branches, and the entries of samples that are
 * made of it.
 *
 * There are four kinds of registers (enum x86_branches_kind, branch_regs.c). Their layout is a set
 * of flags (X86_BRANCH_FROM_*, TO_*, INFO_*, FUSED, SIGN). The filter of an event selects the
 * branches of a log that the event records. It is a word with the kinds of branches and
 * X86_BRANCH_* options: events with the same hardware filter can have different filters.
 */
#ifndef _ARCH_X86_EVENTS_BRANCH_H
#define _ARCH_X86_EVENTS_BRANCH_H

#include <linux/bits.h>
#include <linux/perf_event.h>
#include <asm/processor.h>

/* The kernel's half of addresses: in a canonical one, bit 63 is the sign of the address. */
static inline bool x86_address_is_kernel(u64 address)
{
	return IS_ENABLED(CONFIG_X86_64) ? (s64)address < 0 : address >= TASK_SIZE_MAX;
}

/* Most entries that any part logs. */
#define X86_BRANCH_MAX		32

/* Kinds of branches. */
#define X86_BRANCH_COND		BIT(0)
#define X86_BRANCH_JUMP		BIT(1)	/* near, direct */
#define X86_BRANCH_IND_JUMP	BIT(2)
#define X86_BRANCH_CALL		BIT(3)	/* near, direct */
#define X86_BRANCH_ZERO_CALL	BIT(4)	/* to the next instruction, which reads the IP */
#define X86_BRANCH_IND_CALL	BIT(5)
#define X86_BRANCH_RETURN	BIT(6)
#define X86_BRANCH_FAR_CALL	BIT(7)
#define X86_BRANCH_FAR_JUMP	BIT(8)
#define X86_BRANCH_FAR_RETURN	BIT(9)
#define X86_BRANCH_SYSCALL	BIT(10)
#define X86_BRANCH_SYSRET	BIT(11)
#define X86_BRANCH_INT		BIT(12)	/* the INT instructions */
#define X86_BRANCH_IRET		BIT(13)
#define X86_BRANCH_IRQ		BIT(14)	/* interrupt or exception */
#define X86_BRANCH_UNKNOWN	BIT(15)	/* the instruction cannot be read, or is no branch */
#define X86_BRANCH_KINDS	GENMASK(15, 0)

/* Options of a filter. */
#define X86_BRANCH_USER		BIT(16)	/* branches to user space */
#define X86_BRANCH_KERNEL	BIT(17)	/* branches to the kernel; kernel addresses are allowed */
#define X86_BRANCH_IN_TX	BIT(18)
#define X86_BRANCH_NO_TX	BIT(19)
#define X86_BRANCH_ABORT	BIT(20)
#define X86_BRANCH_DECODE	BIT(21)	/* kinds have to be found out */
#define X86_BRANCH_SAVE_TYPE	BIT(22)
#define X86_BRANCH_SAVE_PRIV	BIT(23)
#define X86_BRANCH_NO_FLAGS	BIT(24)
#define X86_BRANCH_NO_CYCLES	BIT(25)
#define X86_BRANCH_COUNTERS	BIT(26)	/* with the counts of the event's group */

/* Layout of the registers; bits without a flag belong to addresses. */
#define X86_BRANCH_FROM_MISS	BIT(0)	/* FROM: 63 mispredicted */
#define X86_BRANCH_FROM_TX	BIT(1)	/* FROM: 62 in a transaction, 61 abort */
#define X86_BRANCH_TO_CYCLES	BIT(2)	/* TO: 63:48 cycles since the last branch */
#define X86_BRANCH_INFO_MISS	BIT(3)	/* INFO: 63 mispredicted */
#define X86_BRANCH_INFO_TX	BIT(4)	/* INFO: 62 in a transaction, 61 abort */
#define X86_BRANCH_INFO_CYCLES	BIT(5)	/* INFO: 15:0 cycles since the last branch */
#define X86_BRANCH_INFO_VALID	BIT(6)	/* INFO: 60 cycles are valid */
#define X86_BRANCH_INFO_TYPE	BIT(7)	/* INFO: 59:56 kind */
#define X86_BRANCH_INFO_COUNTS	BIT(8)	/* INFO: 39:32 counts since the last branch */
#define X86_BRANCH_TO_VALID	BIT(9)	/* FROM: 63 mispredicted; TO: 63 valid, 62 speculative */
#define X86_BRANCH_FUSED	BIT(10)	/* FROM can be the compare that a branch is fused with */
#define X86_BRANCH_SIGN		BIT(11)	/* FROM and TO are not extended above the address width */
#define X86_BRANCH_FROM_COPIES	BIT(12)	/* FROM: 62 and 61 must be written as copies of 60 */
#define X86_BRANCH_INFO		(X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_TX |		\
				 X86_BRANCH_INFO_CYCLES | X86_BRANCH_INFO_TYPE |	\
				 X86_BRANCH_INFO_COUNTS)

/**
 * struct x86_branch_raw - registers of one branch
 * @from: address of the branch, and flags
 * @to: address of the target, and flags
 * @info: flags and cycles; 0 if the part has no such register or none was read
 */
struct x86_branch_raw {
	u64	from;
	u64	to;
	u64	info;
};

/*
 * x86_branch_raw::to with X86_BRANCH_TO_VALID. An entry has at least one of the two flags. Bit 61
 * is reserved, and an entry with it is no branch (Revision Guide for family 19h models 10h-1Fh,
 * erratum 1452).
 */
#define X86_BRANCH_TO_RESERVED	BIT_ULL(61)
#define X86_BRANCH_TO_SPEC	BIT_ULL(62)
#define X86_BRANCH_TO_FLAGS	(BIT_ULL(63) | X86_BRANCH_TO_SPEC)

/**
 * struct x86_branch_log - what the registers of a CPU hold
 * @nr: number of entries, 0..X86_BRANCH_MAX
 * @top: number of the register with the newest entry
 * @entry: newest first
 */
struct x86_branch_log {
	unsigned int		nr;
	u64			top;
	struct x86_branch_raw	entry[X86_BRANCH_MAX];
};

/*
 * Branch sampling of Zen 3, bits of DBG_EXTN_CFG (PPR of family 19h model 01h): enable, two bits
 * that must be set, an entry is valid, and the number of the next entry. The counter is number 0.
 */
#define X86_BRS_ENABLE		BIT_ULL(2)
#define X86_BRS_SET		GENMASK_ULL(4, 3)
#define X86_BRS_VALID		BIT_ULL(5)
#define X86_BRS_NEXT_SHIFT	16
#define X86_BRS_NEXT_MASK	0xf
#define X86_BRS_COUNTERS	BIT_ULL(0)
#define X86_BRS_EVENT		0x00c4	/* retired taken branches */

/* Bits of LBR_SELECT: SDM 3B, "Filtering of Last Branch Records". Each suppresses branches. */
#define X86_SELECT_KERNEL	BIT(0)
#define X86_SELECT_USER		BIT(1)
#define X86_SELECT_COND		BIT(2)
#define X86_SELECT_CALL		BIT(3)
#define X86_SELECT_IND_CALL	BIT(4)
#define X86_SELECT_RETURN	BIT(5)
#define X86_SELECT_IND_JUMP	BIT(6)
#define X86_SELECT_JUMP		BIT(7)
#define X86_SELECT_FAR		BIT(8)
#define X86_SELECT_ALL		GENMASK(8, 0)
#define X86_SELECT_STACK	BIT(9)	/* calls are pushed, returns pop; enables, not suppresses */

/**
 * struct x86_branch_task - what the registers hold of a task that is not on a CPU: the call stack
 *	of the task, or the records of the guest that the task runs
 * @seq: x86_branch_cpu::seq when the contents were saved; 0: never
 * @generation: number of times that contents were saved, by which a guest's event finds its own
 * @time: perf_event_task_clock() when a call stack was saved
 * @cpu: CPU where the contents were saved
 * @guest: the records of a guest
 * @select: the guest's filter
 * @nr: number of entries, 0..X86_BRANCH_MAX
 * @top: index of the newest one
 * @entry: newest first
 */
struct x86_branch_task {
	u64			seq;
	u64			generation;
	u64			time;
	int			cpu;
	bool			guest;
	u64			select;
	unsigned int		nr;
	u64			top;
	struct x86_branch_raw	entry[X86_BRANCH_MAX];
};

/* Kinds of registers. */
enum x86_branches_kind {
	X86_BRANCHES_RING,	/* another register has the number of the newest entry */
	X86_BRANCHES_ARCH,	/* CPUID.1CH: entry 0 is the newest; the control has the filter */
	X86_BRANCHES_AMD,	/* LbrExtV2: entry 0 is the newest; flags of TO mark an entry */
	X86_BRANCHES_BUFFER,	/* BRS: filled after an overflow, which interrupts then */
};

/* x86_branches::flags */
#define X86_BRANCHES_HT_SHARED	BIT(0)	/* the threads of a core share @select */
#define X86_BRANCHES_WITH_PT	BIT(1)	/* processor trace may run at the same time */
#define X86_BRANCHES_MISS	BIT(2)	/* format 1 is format 3 in fact */
#define X86_BRANCHES_NO_FREEZE	BIT(3)	/* an overflow interrupt does not stop recording */

/**
 * struct x86_branches - the branch registers of a line of processors
 * @kind: X86_BRANCHES_RING, _ARCH, _AMD, _BUFFER
 * @control: MSR that turns recording on
 * @on: bit of @control that turns recording on
 * @from: MSR of the first FROM register
 * @to: MSR of the first TO register
 * @info: MSR of the first INFO register, if a layout has these
 * @select: MSR of the filter; 0: none
 * @top: MSR with the number of the newest entry, of a ring
 * @depth: number of entries, 1..X86_BRANCH_MAX; of a ring a power of 2
 * @shift: logarithm of the distance of FROM registers
 * @counters: set of general counters that the records have counts of
 * @flags: X86_BRANCHES_*
 * @map: X86_SELECT_* of the branches that the hardware must log, by PERF_SAMPLE_BRANCH_*_SHIFT;
 *	0: not supported. NULL without @select
 */
struct x86_branches {
	u8		kind;
	u32		control;
	u64		on;
	u32		from;
	u32		to;
	u32		info;
	u32		select;
	u32		top;
	u8		depth;
	u8		shift;
	u8		counters;
	u8		flags;
	const u16	*map;
};

/* What must be logged for a kind where the filter has one bit for each: x86_branches::map. */
#define X86_BRANCH_MAP									\
	[PERF_SAMPLE_BRANCH_ANY_SHIFT]		= X86_SELECT_ALL &			\
						  ~(X86_SELECT_USER | X86_SELECT_KERNEL), \
	[PERF_SAMPLE_BRANCH_ANY_CALL_SHIFT]	= X86_SELECT_CALL | X86_SELECT_IND_CALL | \
						  X86_SELECT_FAR,			\
	[PERF_SAMPLE_BRANCH_ANY_RETURN_SHIFT]	= X86_SELECT_RETURN | X86_SELECT_FAR,	\
	[PERF_SAMPLE_BRANCH_IND_CALL_SHIFT]	= X86_SELECT_IND_CALL,			\
	[PERF_SAMPLE_BRANCH_COND_SHIFT]		= X86_SELECT_COND,			\
	[PERF_SAMPLE_BRANCH_IND_JUMP_SHIFT]	= X86_SELECT_IND_JUMP,			\
	[PERF_SAMPLE_BRANCH_CALL_SHIFT]		= X86_SELECT_CALL

/* branch.c */
u32  x86_branch_filter(u64 sample_type);
u64  x86_branch_unsupported(const struct x86_branches *b, u64 sample_type);
u64  x86_branch_select(const struct x86_branches *b, u64 sample_type);
bool x86_branch_select_is_exact(const struct x86_branches *b, u64 select, u32 filter);
u64  x86_branch_arch_control(u64 select);
u32  x86_branch_layout(unsigned int format, bool tsx);
unsigned int x86_branch_format(const struct x86_branches *b, u64 caps);
u32  x86_branch_kind_of_code(const u8 *code, unsigned int len, bool wide, u64 distance);
unsigned int x86_branch_skip_fused(const u8 *code, unsigned int len, bool wide);
u64  x86_branch_from_to_write(u32 layout, u64 from);
void x86_branch_decode(u32 layout, const struct x86_branch_raw *raw, struct perf_branch_entry *e);
bool x86_branch_decode_one(u32 layout, const struct x86_branch_raw *raw,
			   struct perf_branch_entry *e);
unsigned int x86_branch_count_interrupt(u32 layout, const struct x86_branch_log *log, u64 handler,
					bool overwritten);
unsigned int x86_branch_fill(const struct x86_branch_raw *raw, unsigned int nr, u32 layout,
			     u32 filter, struct perf_branch_entry *out, u64 *counts);

/* branch_regs.c */
u64  x86_branches_newest(const struct x86_branches *b);
bool x86_branches_read_one(const struct x86_branches *b, u64 newest, unsigned int i, bool info,
			   struct x86_branch_raw *raw);
unsigned int x86_branches_read(const struct x86_branches *b, u64 newest, bool info,
			       struct x86_branch_raw *raw);
void x86_branches_write_stack(const struct x86_branches *b, const struct x86_branch_task *task,
			      u32 layout);
void x86_branches_write_guest(const struct x86_branches *b, const struct x86_branch_task *task,
			      u32 layout);
void x86_branches_mark(const struct x86_branches *b);
bool x86_branches_are_kept(const struct x86_branches *b, const struct x86_branch_task *task);
void x86_branches_start(const struct x86_branches *b, bool freeze);
void x86_branches_stop(const struct x86_branches *b);

#endif /* _ARCH_X86_EVENTS_BRANCH_H */
