// SPDX-License-Identifier: GPL-2.0
/*
 * From the registers of branch records to the entries of a sample: layouts, kinds of branches,
 * filters. Accesses no register.
 *
 * Manuals: SDM 3B, "Last Branch, Interrupt, and Exception Recording"; SDM 4, for
 * IA32_PERF_CAPABILITIES; APM volume 2, "Last Branch Stack Registers".
 *
 * Context: any, NMI included.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/uaccess.h>
#include <asm/insn.h>
#include <asm/msr-index.h>
#include <asm/processor.h>
#include <asm/ptrace.h>

#include "branch.h"

/* --------------------------------------------------------------------- filters */

#define BRANCH_FAR_KINDS	(X86_BRANCH_FAR_CALL | X86_BRANCH_FAR_JUMP |	\
				 X86_BRANCH_FAR_RETURN | X86_BRANCH_SYSCALL |	\
				 X86_BRANCH_SYSRET | X86_BRANCH_INT |		\
				 X86_BRANCH_IRET | X86_BRANCH_IRQ)

#define SHIFT(_kind)	PERF_SAMPLE_BRANCH_##_kind##_SHIFT

/* The kinds that a bit of branch_sample_type names; perf_event_open(2). */
static const u32 branch_named_kinds[PERF_SAMPLE_BRANCH_MAX_SHIFT] = {
	[SHIFT(ANY)]		= X86_BRANCH_KINDS,
	[SHIFT(ANY_CALL)]	= X86_BRANCH_CALL | X86_BRANCH_ZERO_CALL | X86_BRANCH_IND_CALL |
				  X86_BRANCH_FAR_CALL | X86_BRANCH_SYSCALL | X86_BRANCH_INT |
				  X86_BRANCH_IRQ,
	[SHIFT(ANY_RETURN)]	= X86_BRANCH_RETURN | X86_BRANCH_FAR_RETURN | X86_BRANCH_SYSRET |
				  X86_BRANCH_IRET,
	[SHIFT(IND_CALL)]	= X86_BRANCH_IND_CALL,
	[SHIFT(COND)]		= X86_BRANCH_COND,
	[SHIFT(IND_JUMP)]	= X86_BRANCH_IND_JUMP,
	[SHIFT(CALL)]		= X86_BRANCH_CALL | X86_BRANCH_ZERO_CALL,
	[SHIFT(CALL_STACK)]	= X86_BRANCH_CALL | X86_BRANCH_IND_CALL | X86_BRANCH_RETURN,
};

/* The options that other bits stand for. The hypervisor's level has no meaning here. */
static const u32 branch_named_options[PERF_SAMPLE_BRANCH_MAX_SHIFT] = {
	[SHIFT(USER)]		= X86_BRANCH_USER,
	[SHIFT(KERNEL)]		= X86_BRANCH_KERNEL,
	[SHIFT(ABORT_TX)]	= X86_BRANCH_ABORT,
	[SHIFT(IN_TX)]		= X86_BRANCH_IN_TX,
	[SHIFT(NO_TX)]		= X86_BRANCH_NO_TX,
	[SHIFT(NO_FLAGS)]	= X86_BRANCH_NO_FLAGS,
	[SHIFT(NO_CYCLES)]	= X86_BRANCH_NO_CYCLES,
	[SHIFT(TYPE_SAVE)]	= X86_BRANCH_SAVE_TYPE | X86_BRANCH_DECODE,
	[SHIFT(PRIV_SAVE)]	= X86_BRANCH_SAVE_PRIV,
	[SHIFT(COUNTERS)]	= X86_BRANCH_COUNTERS,
};

/**
 * x86_branch_filter - the filter of an event
 * @sample_type: perf_event_attr::branch_sample_type
 *
 * Context: any, NMI included.
 * Return: kinds and options; a sample type without a kind stands for all kinds
 */
u32 x86_branch_filter(u64 sample_type)
{
	unsigned long bits = sample_type;
	u32 kinds = 0, options = 0;
	unsigned int i;

	for_each_set_bit(i, &bits, PERF_SAMPLE_BRANCH_MAX_SHIFT) {
		kinds |= branch_named_kinds[i];
		options |= branch_named_options[i];
	}
	return (kinds ?: (u32)X86_BRANCH_KINDS) | options;
}

/* No processor with LbrExtV2 has transactions, and an entry always has its flags. */
#define BRANCH_NOT_AMD	(PERF_SAMPLE_BRANCH_ABORT_TX | PERF_SAMPLE_BRANCH_IN_TX |		\
			 PERF_SAMPLE_BRANCH_NO_TX | PERF_SAMPLE_BRANCH_NO_FLAGS)

/**
 * x86_branch_unsupported - the kinds of branches that the hardware cannot be made to log
 * @b: branch registers of the CPU
 * @sample_type: perf_event_attr::branch_sample_type
 *
 * Context: any, NMI included.
 * Return: bits of @sample_type; 0: all can be served
 */
u64 x86_branch_unsupported(const struct x86_branches *b, u64 sample_type)
{
	unsigned long bits = sample_type;
	u64 missing = 0;
	unsigned int i;

	if (b->kind == X86_BRANCHES_AMD)
		missing = sample_type & BRANCH_NOT_AMD;
	for_each_set_bit(i, &bits, PERF_SAMPLE_BRANCH_MAX_SHIFT) {
		if (b->map && branch_named_kinds[i] && !b->map[i])
			missing |= BIT_ULL(i);
	}
	return missing;
}

/**
 * x86_branch_select - the value of the filter register for an event
 * @b: the registers, with a filter
 * @sample_type: perf_event_attr::branch_sample_type
 *
 * Context: any, NMI included.
 * Return: X86_SELECT_* bits
 */
u64 x86_branch_select(const struct x86_branches *b, u64 sample_type)
{
	unsigned long bits = sample_type;
	u64 wanted = 0, levels = 0;
	unsigned int i;

	for_each_set_bit(i, &bits, PERF_SAMPLE_BRANCH_MAX_SHIFT)
		wanted |= b->map[i];
	if (!wanted)
		wanted = b->map[SHIFT(ANY)];
	if (sample_type & PERF_SAMPLE_BRANCH_USER)
		levels |= X86_SELECT_USER;
	/* The calls and returns of an interrupt need not match: a stack is of user space alone. */
	if (sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		return (X86_SELECT_ALL & ~(wanted | X86_SELECT_USER)) | X86_SELECT_STACK;
	if (sample_type & PERF_SAMPLE_BRANCH_KERNEL)
		levels |= X86_SELECT_KERNEL;
	return X86_SELECT_ALL & ~(wanted | levels);
}

/* What the hardware logs while a bit of LBR_SELECT is clear. */
static const u32 branch_logged_kinds[] = {
	[2] = X86_BRANCH_COND,
	[3] = X86_BRANCH_CALL | X86_BRANCH_ZERO_CALL,
	[4] = X86_BRANCH_IND_CALL,
	[5] = X86_BRANCH_RETURN,
	[6] = X86_BRANCH_IND_JUMP,
	[7] = X86_BRANCH_JUMP,
	[8] = BRANCH_FAR_KINDS,
};

/**
 * x86_branch_select_is_exact - does the hardware log only branches that pass an event's filter?
 * @b: the registers
 * @select: x86_branch_select() of the event
 * @filter: x86_branch_filter() of the event
 *
 * Context: any, NMI included.
 * Return: false if the kind of each branch has to be found out
 */
bool x86_branch_select_is_exact(const struct x86_branches *b, u64 select, u32 filter)
{
	unsigned int i;

	/* SDM 3B, "Call Stack Mode": a call to the next instruction is not pushed. */
	if ((filter & X86_BRANCH_KINDS) == X86_BRANCH_KINDS || select & X86_SELECT_STACK)
		return true;
	if (!b->select)
		return false;
	for (i = 0; i < ARRAY_SIZE(branch_logged_kinds); i++) {
		if (!(select & BIT(i)) && branch_logged_kinds[i] & ~filter)
			return false;
	}
	return true;
}

/*
 * Bits of IA32_LBR_CTL (SDM 3B, "Architectural Last Branch Records"), by the bits of LBR_SELECT for
 * the same branches.
 */
static const u8 branch_arch_bits[] = { 1, 2, 16, 19, 20, 21, 18, 17, 22 };

/**
 * x86_branch_arch_control - the value of IA32_LBR_CTL for a filter
 * @select: X86_SELECT_* bits, which suppress; those of the register enable
 *
 * Context: any, NMI included.
 * Return: the value, with the bit that turns recording on
 */
u64 x86_branch_arch_control(u64 select)
{
	u64 control = ARCH_LBR_CTL_LBREN | (select & X86_SELECT_STACK ? ARCH_LBR_CTL_STACK : 0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(branch_arch_bits); i++)
		if (!(select & BIT(i)))
			control |= BIT(branch_arch_bits[i]);
	return control;
}

/* --------------------------------------------------------------------- layouts */

#define BRANCH_FORMAT_MASK	0x3f

/**
 * x86_branch_format - the format of a ring of registers
 * @b: the registers
 * @caps: IA32_PERF_CAPABILITIES
 *
 * Context: any, NMI included.
 * Return: the format for x86_branch_layout()
 */
unsigned int x86_branch_format(const struct x86_branches *b, u64 caps)
{
	unsigned int format = caps & BRANCH_FORMAT_MASK;

	return format == 1 && b->flags & X86_BRANCHES_MISS ? 3 : format;
}

/**
 * x86_branch_layout - the layout of the registers
 * @format: IA32_PERF_CAPABILITIES[5:0]
 * @tsx: the part has transactions; without, flags of transactions are copies of the sign
 *
 * Context: any, NMI included.
 * Return: X86_BRANCH_FROM_*, TO_* and INFO_* flags; 0 also for formats that are not known
 */
u32 x86_branch_layout(unsigned int format, bool tsx)
{
	switch (format) {
	case 3:
		return X86_BRANCH_FROM_MISS;
	case 4:
		return X86_BRANCH_FROM_MISS | (tsx ? X86_BRANCH_FROM_TX : X86_BRANCH_FROM_COPIES);
	case 5:
		return X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_CYCLES |
		       (tsx ? X86_BRANCH_INFO_TX : 0);
	case 6:
		return X86_BRANCH_FROM_MISS | X86_BRANCH_TO_CYCLES;
	case 7:
		return X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_CYCLES;
	default:
		return 0;
	}
}

/* Bit 60 is above every linear address, and below every flag of FROM. */
#define BRANCH_FROM_SIGN	60
#define BRANCH_TO_SIGN		47	/* with cycles */
#define BRANCH_AMD_SIGN		57	/* of FROM and TO */

/**
 * x86_branch_from_to_write - what to write to FROM to restore the value that was read
 * @layout: layout of the registers
 * @from: the value that was read
 *
 * Haswell and Broadwell without transactions record 0 in the flags of transactions, and refuse a
 * write in which these bits are not copies of the sign.
 *
 * Context: any, NMI included.
 * Return: the value to write
 */
u64 x86_branch_from_to_write(u32 layout, u64 from)
{
	u64 copies = GENMASK_ULL(62, 61);

	if (layout & X86_BRANCH_FROM_COPIES && from & BIT_ULL(BRANCH_FROM_SIGN))
		return from | copies;
	return from;
}

static void branch_decode_info(u32 layout, u64 info, struct perf_branch_entry *e)
{
	if (layout & X86_BRANCH_INFO_MISS) {
		e->mispred = info >> 63;
		e->predicted = !e->mispred;
	}
	if (layout & X86_BRANCH_INFO_TX) {
		e->in_tx = info >> 62 & 1;
		e->abort = info >> 61 & 1;
	}
	if (layout & X86_BRANCH_INFO_CYCLES &&
	    (!(layout & X86_BRANCH_INFO_VALID) || info & LBR_INFO_CYC_CNT_VALID))
		e->cycles = info & LBR_INFO_CYCLES;
}

/* APM 2, "Last Branch Stack Registers": enum perf_branch_spec has the order of the two flags. */
static void branch_decode_amd(const struct x86_branch_raw *raw, struct perf_branch_entry *e)
{
	e->from = sign_extend64(raw->from, BRANCH_AMD_SIGN);
	e->to = sign_extend64(raw->to, BRANCH_AMD_SIGN);
	e->mispred = raw->from >> 63;
	e->predicted = !e->mispred;
	e->spec = raw->to >> 62;
}

/**
 * x86_branch_decode - turn the registers of a branch into an entry
 * @layout: layout of the registers
 * @raw: the registers
 * @e: set to addresses, prediction, transaction and cycles; all else is 0
 *
 * Context: any, NMI included.
 */
void x86_branch_decode(u32 layout, const struct x86_branch_raw *raw, struct perf_branch_entry *e)
{
	perf_clear_branch_entry_bitfields(e);
	e->from = raw->from;
	e->to = raw->to;
	if (layout & X86_BRANCH_TO_VALID) {
		branch_decode_amd(raw, e);
		return;
	}
	if (layout & X86_BRANCH_SIGN) {
		e->from = sign_extend64(raw->from, boot_cpu_data.x86_virt_bits - 1);
		e->to = sign_extend64(raw->to, boot_cpu_data.x86_virt_bits - 1);
	}
	if (layout & (X86_BRANCH_FROM_MISS | X86_BRANCH_FROM_TX))
		e->from = sign_extend64(raw->from, BRANCH_FROM_SIGN);
	if (layout & X86_BRANCH_FROM_MISS) {
		e->mispred = raw->from >> 63;
		e->predicted = !e->mispred;
	}
	if (layout & X86_BRANCH_FROM_TX) {
		e->in_tx = raw->from >> 62 & 1;
		e->abort = raw->from >> 61 & 1;
	}
	if (layout & X86_BRANCH_TO_CYCLES) {
		e->to = sign_extend64(raw->to, BRANCH_TO_SIGN);
		e->cycles = raw->to >> 48;
	}
	if (layout & X86_BRANCH_INFO)
		branch_decode_info(layout, raw->info, e);
}

/* ----------------------------------------------------------------------- kinds */

/* SDM 2, "Instruction Format". REX prefixes (40H to 4FH) are instructions but in 64-bit mode. */
static bool branch_is_prefix(u8 byte, bool wide)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e:
	case 0x64: case 0x65: case 0x66: case 0x67:
	case 0xf0: case 0xf2: case 0xf3:
		return true;
	case 0x40 ... 0x4f:
		return wide;
	default:
		return false;
	}
}

/* SDM 2, opcode map of two-byte instructions. */
static u32 branch_kind_of_two_bytes(u8 opcode)
{
	switch (opcode) {
	case 0x80 ... 0x8f:
		return X86_BRANCH_COND;
	case 0x05:	/* SYSCALL */
	case 0x34:	/* SYSENTER */
		return X86_BRANCH_SYSCALL;
	case 0x07:	/* SYSRET */
	case 0x35:	/* SYSEXIT */
		return X86_BRANCH_SYSRET;
	default:
		return X86_BRANCH_UNKNOWN;
	}
}

/* SDM 2, opcode extensions of group 5. */
static u32 branch_kind_of_group_5(u8 modrm)
{
	switch (modrm >> 3 & 7) {
	case 2:
		return X86_BRANCH_IND_CALL;
	case 3:
		return X86_BRANCH_FAR_CALL;
	case 4:
		return X86_BRANCH_IND_JUMP;
	case 5:
		return X86_BRANCH_FAR_JUMP;
	default:
		return X86_BRANCH_UNKNOWN;
	}
}

/* SDM 2, one-byte opcode map. */
static u32 branch_kind_of_one_byte(u8 opcode)
{
	switch (opcode) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:	/* LOOP, JCXZ */
		return X86_BRANCH_COND;
	case 0xe9:
	case 0xeb:
		return X86_BRANCH_JUMP;
	case 0xe8:
		return X86_BRANCH_CALL;
	case 0xc2:
	case 0xc3:
		return X86_BRANCH_RETURN;
	case 0xca:
	case 0xcb:
		return X86_BRANCH_FAR_RETURN;
	case 0x9a:
		return X86_BRANCH_FAR_CALL;
	case 0xea:
		return X86_BRANCH_FAR_JUMP;
	case 0xcc ... 0xce:
		return X86_BRANCH_INT;
	case 0xcf:
		return X86_BRANCH_IRET;
	default:
		return X86_BRANCH_UNKNOWN;
	}
}

#define BRANCH_CALL_OFFSET	4	/* bytes behind the opcode of a near direct call */

/**
 * x86_branch_kind_of_code - the kind of a branch, from the instruction
 * @code: the instruction
 * @len: bytes that could be read
 * @wide: the code is executed in 64-bit mode
 * @distance: target of the branch less the address of the instruction, bytes
 *
 * Context: any, NMI included.
 * Return: one X86_BRANCH_* kind
 */
u32 x86_branch_kind_of_code(const u8 *code, unsigned int len, bool wide, u64 distance)
{
	unsigned int i = 0;
	u32 kind;

	while (i < len && branch_is_prefix(code[i], wide))
		i++;
	if (i >= len)
		return X86_BRANCH_UNKNOWN;
	if (code[i] == 0x0f || code[i] == 0xff) {
		if (i + 1 >= len)
			return X86_BRANCH_UNKNOWN;
		return code[i] == 0x0f ? branch_kind_of_two_bytes(code[i + 1]) :
					 branch_kind_of_group_5(code[i + 1]);
	}
	kind = branch_kind_of_one_byte(code[i]);
	if (kind == X86_BRANCH_CALL && distance == i + 1 + BRANCH_CALL_OFFSET)
		return X86_BRANCH_ZERO_CALL;
	return kind;
}

/* The longest instruction: SDM 2, "Instruction Format". */
#define BRANCH_CODE_BYTES	15

/* Reads up to the end of the page if the next page cannot be read. */
static unsigned int branch_read_kernel(unsigned long addr, u8 *code)
{
	unsigned int here = PAGE_SIZE - offset_in_page(addr);

	/* The target of a user's jump is logged even if the jump faults: it can be any address. */
	if (!__kernel_text_address(addr))
		return 0;
	if (!copy_from_kernel_nofault(code, (void *)addr, BRANCH_CODE_BYTES))
		return BRANCH_CODE_BYTES;
	if (here >= BRANCH_CODE_BYTES || copy_from_kernel_nofault(code, (void *)addr, here))
		return 0;
	return here;
}

static unsigned int branch_read_user(unsigned long addr, u8 *code)
{
	if (!current->mm)
		return 0;
	return BRANCH_CODE_BYTES - copy_from_user_nmi(code, (void __user *)addr,
						      BRANCH_CODE_BYTES);
}

/**
 * x86_branch_skip_fused - find the branch that instructions are fused with
 * @code: instructions, the first of which is no branch
 * @len: bytes that could be read
 * @wide: the code is executed in 64-bit mode
 *
 * PPR of family 19h, "LBR": of a fused branch the first instruction is logged.
 *
 * Context: any, NMI included.
 * Return: distance of the branch from @code in bytes; 0 if there is none
 */
unsigned int x86_branch_skip_fused(const u8 *code, unsigned int len, bool wide)
{
	unsigned int at = 0;
	struct insn insn;

	while (at < len) {
		if (x86_branch_kind_of_code(code + at, len - at, wide, 0) != X86_BRANCH_UNKNOWN)
			return at;
		if (insn_decode(&insn, code + at, len - at, wide ? INSN_MODE_64 : INSN_MODE_32))
			break;
		at += insn.length;
	}
	return 0;
}

/* Sets FROM of a fused branch to the branch. */
static u32 branch_find_kind(u32 layout, struct perf_branch_entry *e)
{
	bool kernel = x86_address_is_kernel(e->from);
	bool wide = kernel ? IS_ENABLED(CONFIG_X86_64) : user_64bit_mode(task_pt_regs(current));
	u8 code[BRANCH_CODE_BYTES];
	unsigned int len, at;
	u32 kind;

	len = kernel ? branch_read_kernel(e->from, code) : branch_read_user(e->from, code);
	kind = x86_branch_kind_of_code(code, len, wide, e->to - e->from);
	/* Only a system call or INT leaves user space by its own. */
	if (!kernel && x86_address_is_kernel(e->to) && len &&
	    !(kind & (X86_BRANCH_SYSCALL | X86_BRANCH_INT)))
		return X86_BRANCH_IRQ;
	if (kind == X86_BRANCH_UNKNOWN && layout & X86_BRANCH_FUSED) {
		at = x86_branch_skip_fused(code, len, wide);
		e->from += at;
		kind = x86_branch_kind_of_code(code + at, len - at, wide, e->to - e->from);
	}
	return kind;
}

/* SDM 3B, "Architectural Last Branch Records", IA32_LBR_x_INFO.BR_TYPE; other types from 8 on. */
static u32 branch_kind_of_info(u64 info)
{
	static const u32 kinds[] = {
		X86_BRANCH_COND, X86_BRANCH_IND_JUMP, X86_BRANCH_JUMP, X86_BRANCH_IND_CALL,
		X86_BRANCH_CALL, X86_BRANCH_RETURN,
	};
	unsigned int type = info >> 56 & 0xf;

	return type < ARRAY_SIZE(kinds) ? kinds[type] : 0;
}

/* PERF_BR_* of the kinds, from bit 0. */
static const u8 branch_types[] = {
	PERF_BR_COND, PERF_BR_UNCOND, PERF_BR_IND, PERF_BR_CALL, PERF_BR_CALL, PERF_BR_IND_CALL,
	PERF_BR_RET, PERF_BR_CALL, PERF_BR_UNCOND, PERF_BR_RET, PERF_BR_SYSCALL, PERF_BR_SYSRET,
	PERF_BR_UNKNOWN, PERF_BR_ERET, PERF_BR_IRQ, PERF_BR_UNKNOWN,
};

/* --------------------------------------------------------------------- entries */

static bool branch_level_passes(u32 filter, const struct perf_branch_entry *e)
{
	bool to_kernel = x86_address_is_kernel(e->to);

	if (!(filter & X86_BRANCH_KERNEL) && (to_kernel || x86_address_is_kernel(e->from)))
		return false;
	return to_kernel || filter & X86_BRANCH_USER;
}

/* Is the entry an abort, and does the filter name aborts? */
static bool branch_is_named_abort(u32 filter, const struct perf_branch_entry *e)
{
	return filter & X86_BRANCH_ABORT && e->abort;
}

static bool branch_tx_passes(u32 filter, const struct perf_branch_entry *e)
{
	if (!(filter & (X86_BRANCH_IN_TX | X86_BRANCH_NO_TX | X86_BRANCH_ABORT)))
		return true;
	if (branch_is_named_abort(filter, e))
		return true;
	return filter & (e->in_tx ? X86_BRANCH_IN_TX : X86_BRANCH_NO_TX);
}

/* Registers that hold no branch: the older ones may hold some. */
static bool branch_is_void(u32 layout, const struct x86_branch_raw *raw)
{
	return layout & X86_BRANCH_TO_VALID && raw->to & X86_BRANCH_TO_RESERVED;
}

/**
 * x86_branch_decode_one - turn the registers of a branch into an entry, without a filter
 * @layout: layout of the registers
 * @raw: the registers
 * @e: set as by x86_branch_decode(), and FROM to the branch itself if fused
 *
 * Context: any, NMI included.
 * Return: false if the registers hold no branch
 */
bool x86_branch_decode_one(u32 layout, const struct x86_branch_raw *raw,
			   struct perf_branch_entry *e)
{
	if (branch_is_void(layout, raw))
		return false;
	x86_branch_decode(layout, raw, e);
	if (layout & X86_BRANCH_FUSED)
		branch_find_kind(layout, e);
	return true;
}

/* FROM of an abort is where the transaction was, mostly not a branch: its kind does not matter. */
static bool branch_kind_passes(u32 layout, u32 filter, const struct x86_branch_raw *raw,
			       struct perf_branch_entry *e)
{
	u32 kind = layout & X86_BRANCH_INFO_TYPE ? branch_kind_of_info(raw->info) : 0;

	kind = kind ?: branch_find_kind(layout, e);
	if (filter & X86_BRANCH_SAVE_TYPE)
		e->type = branch_types[__ffs(kind)];
	return filter & kind || branch_is_named_abort(filter, e);
}

/**
 * x86_branch_count_interrupt - the number of entries that an interrupt has added to a log
 * @layout: layout of the registers
 * @log: registers as read in the interrupt
 * @handler: where the interrupt enters the kernel
 * @overwritten: the entry of the interrupt can have been overwritten since, or not be logged; the
 *	newest entries that lead to the kernel are taken for those of the interrupt then
 *
 * Registers that hold no branch among the newest ones are counted, too.
 *
 * Context: any, NMI included.
 * Return: number of the newest entries that are the interrupt and the branches since
 */
unsigned int x86_branch_count_interrupt(u32 layout, const struct x86_branch_log *log, u64 handler,
					bool overwritten)
{
	struct perf_branch_entry entry;
	unsigned int i, kernel = 0;

	for (i = 0; i < log->nr; i++) {
		x86_branch_decode(layout, &log->entry[i], &entry);
		if (entry.to == handler)
			return i + 1;
		if (kernel == i && (branch_is_void(layout, &log->entry[i]) ||
				    x86_address_is_kernel(entry.to)))
			kernel++;
	}
	return overwritten ? kernel : 0;
}

static void branch_drop_flags(u32 filter, struct perf_branch_entry *e)
{
	if (filter & X86_BRANCH_NO_FLAGS) {
		e->mispred = 0;
		e->predicted = 0;
		e->in_tx = 0;
		e->abort = 0;
	}
	if (filter & X86_BRANCH_NO_CYCLES)
		e->cycles = 0;
}

/* What makes an entry differ from its registers, or be tested for more than its level. */
#define BRANCH_WORK	(X86_BRANCH_DECODE | X86_BRANCH_IN_TX | X86_BRANCH_NO_TX |		\
			 X86_BRANCH_ABORT | X86_BRANCH_SAVE_PRIV | X86_BRANCH_NO_FLAGS |	\
			 X86_BRANCH_NO_CYCLES)

/* Layouts in which FROM or TO has flags, or has to be sign-extended. */
#define BRANCH_FLAGGED	(X86_BRANCH_FROM_MISS | X86_BRANCH_FROM_TX | X86_BRANCH_TO_CYCLES |	\
			 X86_BRANCH_TO_VALID | X86_BRANCH_SIGN)

#define BRANCH_UNFILTERED_INFO	(X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_CYCLES)

/* Most samples are of all branches, on parts with INFO registers. */
static unsigned int branch_fill_unfiltered(const struct x86_branch_raw *raw, unsigned int nr,
					   u32 layout, u32 filter,
					   struct perf_branch_entry *out)
{
	const struct x86_branch_raw *end = raw + nr;
	u64 flags = layout & X86_BRANCH_INFO_TX ? GENMASK_ULL(62, 61) : 0;
	struct perf_branch_entry *e = out;

	for (; raw < end; raw++) {
		struct perf_branch_entry entry = { .from = raw->from, .to = raw->to };
		u64 info = raw->info;

		if (!branch_level_passes(filter, &entry))
			continue;
		entry.mispred = info >> 63;
		entry.predicted = ~info >> 63;
		entry.in_tx = (info & flags) >> 62;
		entry.abort = (info & flags) >> 61;
		if (!(layout & X86_BRANCH_INFO_VALID) || info & LBR_INFO_CYC_CNT_VALID)
			entry.cycles = info;
		*e++ = entry;
	}
	return e - out;
}

/**
 * x86_branch_fill - the entries of a sample: what passes an event's filter
 * @raw: registers, newest first
 * @nr: number of entries in @raw
 * @layout: layout of the registers
 * @filter: filter of the event
 * @out: set to the entries, newest first; at least @nr entries fit
 * @counts: set to the counts of each entry, two bits for each counter; NULL: none
 *
 * Kernel addresses do not pass if the event excludes the kernel: a return to user space has one.
 *
 * Context: any, NMI included.
 * Return: number of entries
 */
unsigned int x86_branch_fill(const struct x86_branch_raw *raw, unsigned int nr, u32 layout,
			     u32 filter, struct perf_branch_entry *out, u64 *counts)
{
	struct perf_branch_entry *e = out;
	unsigned int i;

	if (!(filter & BRANCH_WORK || layout & BRANCH_FLAGGED || counts) &&
	    (layout & BRANCH_UNFILTERED_INFO) == BRANCH_UNFILTERED_INFO)
		return branch_fill_unfiltered(raw, nr, layout, filter, out);
	for (i = 0; i < nr; i++) {
		if (branch_is_void(layout, &raw[i]))
			continue;
		x86_branch_decode(layout, &raw[i], e);
		if (!branch_level_passes(filter, e) || !branch_tx_passes(filter, e))
			continue;
		if ((filter & X86_BRANCH_DECODE || layout & X86_BRANCH_FUSED) &&
		    !branch_kind_passes(layout, filter, &raw[i], e))
			continue;
		if (filter & X86_BRANCH_SAVE_PRIV)
			e->priv = x86_address_is_kernel(e->to) ? PERF_BR_PRIV_KERNEL :
							    PERF_BR_PRIV_USER;
		if (filter & (X86_BRANCH_NO_FLAGS | X86_BRANCH_NO_CYCLES))
			branch_drop_flags(filter, e);
		if (counts)
			counts[e - out] = raw[i].info >> LBR_INFO_BR_CNTR_OFFSET &
					  LBR_INFO_BR_CNTR_FULL_MASK;
		e++;
	}
	return e - out;
}
