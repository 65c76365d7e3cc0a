// SPDX-License-Identifier: GPL-2.0
/* Branch records: opcodes, filters, and the layouts of the registers. */
#include <kunit/test.h>
#include <linux/mman.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../branch.h"
#include "../exclusive.h"
#include "../intel/models.h"

#define LOGGED(log)	(log).entry, (log).nr

#define TYPE(_kind)	PERF_SAMPLE_BRANCH_##_kind

/* An instruction and its kind. */
struct branch_code {
	u8	code[8];
	u8	len;
	u32	kind;
};

static const struct branch_code branch_codes[] = {
	{ { 0x70, 0x10 }, 2, X86_BRANCH_COND },
	{ { 0x7f, 0x10 }, 2, X86_BRANCH_COND },
	{ { 0x0f, 0x80 }, 6, X86_BRANCH_COND },
	{ { 0x0f, 0x8f }, 6, X86_BRANCH_COND },
	{ { 0xe0, 0x10 }, 2, X86_BRANCH_COND },
	{ { 0xe3, 0x10 }, 2, X86_BRANCH_COND },
	{ { 0x2e, 0x75, 0x10 }, 3, X86_BRANCH_COND },
	{ { 0xe9 }, 5, X86_BRANCH_JUMP },
	{ { 0xeb }, 2, X86_BRANCH_JUMP },
	{ { 0xf2, 0xe9 }, 6, X86_BRANCH_JUMP },
	{ { 0xe8 }, 5, X86_BRANCH_CALL },
	{ { 0x9a }, 7, X86_BRANCH_FAR_CALL },
	{ { 0xea }, 7, X86_BRANCH_FAR_JUMP },
	{ { 0xc3 }, 1, X86_BRANCH_RETURN },
	{ { 0xc2, 8, 0 }, 3, X86_BRANCH_RETURN },
	{ { 0xf3, 0xc3 }, 2, X86_BRANCH_RETURN },
	{ { 0xca, 8, 0 }, 3, X86_BRANCH_FAR_RETURN },
	{ { 0x48, 0xcb }, 2, X86_BRANCH_FAR_RETURN },
	{ { 0xcc }, 1, X86_BRANCH_INT },
	{ { 0xcd, 0x80 }, 2, X86_BRANCH_INT },
	{ { 0xce }, 1, X86_BRANCH_INT },
	{ { 0x48, 0xcf }, 2, X86_BRANCH_IRET },
	{ { 0x0f, 0x05 }, 2, X86_BRANCH_SYSCALL },
	{ { 0x0f, 0x34 }, 2, X86_BRANCH_SYSCALL },
	{ { 0x48, 0x0f, 0x07 }, 3, X86_BRANCH_SYSRET },
	{ { 0x0f, 0x35 }, 2, X86_BRANCH_SYSRET },
	{ { 0xff, 0xd0 }, 2, X86_BRANCH_IND_CALL },		/* call *%rax */
	{ { 0x41, 0xff, 0xd3 }, 3, X86_BRANCH_IND_CALL },	/* call *%r11 */
	{ { 0xff, 0x15 }, 6, X86_BRANCH_IND_CALL },		/* call *x(%rip) */
	{ { 0xff, 0x18 }, 2, X86_BRANCH_FAR_CALL },
	{ { 0x3e, 0xff, 0xe0 }, 3, X86_BRANCH_IND_JUMP },	/* notrack jmp *%rax */
	{ { 0xff, 0x2d }, 6, X86_BRANCH_FAR_JUMP },
	{ { 0xff, 0xc0 }, 2, X86_BRANCH_UNKNOWN },		/* inc %eax */
	{ { 0x90 }, 1, X86_BRANCH_UNKNOWN },
	{ { 0x0f, 0x1f }, 4, X86_BRANCH_UNKNOWN },
	/* Cut off. */
	{ { 0xff }, 1, X86_BRANCH_UNKNOWN },
	{ { 0x0f }, 1, X86_BRANCH_UNKNOWN },
	{ { 0x66, 0x66 }, 2, X86_BRANCH_UNKNOWN },
	{ { 0 }, 0, X86_BRANCH_UNKNOWN },
};

static void kinds_by_opcode(struct kunit *test)
{
	static const u8 call_next[] = { 0xe8, 0, 0, 0, 0 };
	static const u8 rex_call[] = { 0x48, 0xe8, 0, 0, 0, 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(branch_codes); i++) {
		const struct branch_code *c = &branch_codes[i];

		KUNIT_EXPECT_EQ_MSG(test, x86_branch_kind_of_code(c->code, c->len, true, 0x100),
				    c->kind, "row %u, %*ph", i, c->len, c->code);
	}
	KUNIT_EXPECT_EQ(test, x86_branch_kind_of_code(call_next, 5, true, 5),
			X86_BRANCH_ZERO_CALL);
	KUNIT_EXPECT_EQ(test, x86_branch_kind_of_code(call_next, 5, true, 6), X86_BRANCH_CALL);
	KUNIT_EXPECT_EQ(test, x86_branch_kind_of_code(rex_call, 6, true, 6),
			X86_BRANCH_ZERO_CALL);
	/* 48H is an instruction, DEC, in 32-bit code. */
	KUNIT_EXPECT_EQ(test, x86_branch_kind_of_code(rex_call, 6, false, 6),
			X86_BRANCH_UNKNOWN);
}

static void filters_of_events(struct kunit *test)
{
	u32 all = X86_BRANCH_KINDS;

	KUNIT_EXPECT_EQ(test, x86_branch_filter(TYPE(ANY) | TYPE(USER)), all | X86_BRANCH_USER);
	/* Qualifiers alone; the hypervisor's level. */
	KUNIT_EXPECT_EQ(test, x86_branch_filter(TYPE(IN_TX) | TYPE(KERNEL) | TYPE(HV)),
			all | X86_BRANCH_IN_TX | X86_BRANCH_KERNEL);
	KUNIT_EXPECT_EQ(test, x86_branch_filter(TYPE(COND) | TYPE(CALL)),
			X86_BRANCH_COND | X86_BRANCH_CALL | X86_BRANCH_ZERO_CALL);
	KUNIT_EXPECT_EQ(test, x86_branch_filter(TYPE(IND_CALL) | TYPE(TYPE_SAVE)),
			X86_BRANCH_IND_CALL | X86_BRANCH_SAVE_TYPE | X86_BRANCH_DECODE);
	KUNIT_EXPECT_EQ(test, x86_branch_filter(TYPE(ANY_RETURN)),
			X86_BRANCH_RETURN | X86_BRANCH_FAR_RETURN | X86_BRANCH_SYSRET |
			X86_BRANCH_IRET);
	KUNIT_EXPECT_FALSE(test, x86_branch_filter(TYPE(ANY_CALL)) &
			   (X86_BRANCH_RETURN | X86_BRANCH_IRET | X86_BRANCH_JUMP));
}

#ifdef CONFIG_CPU_SUP_INTEL
/* The hardware filter of an event, and whether it logs what the event requests and no more. */
struct branch_select {
	const struct x86_branches	*b;
	u64				type;
	u64				select;
	bool				exact;
};

static const struct branch_select branch_selects[] = {
	{ &intel_lbr_nehalem, TYPE(ANY) | TYPE(USER), 0x001, true },
	{ &intel_lbr_nehalem, TYPE(ANY) | TYPE(KERNEL), 0x002, true },
	{ &intel_lbr_nehalem, TYPE(ANY) | TYPE(USER) | TYPE(KERNEL), 0x000, true },
	{ &intel_lbr_nehalem, TYPE(IN_TX) | TYPE(USER), 0x001, true },
	{ &intel_lbr_nehalem, TYPE(ANY_CALL) | TYPE(USER), 0x025, false },
	{ &intel_lbr_nehalem, TYPE(ANY_RETURN) | TYPE(USER), 0x01d, false },
	{ &intel_lbr_nehalem, TYPE(IND_CALL) | TYPE(USER), 0x1ad, false },
	{ &intel_lbr_nehalem, TYPE(COND) | TYPE(USER), 0x1f9, true },
	{ &intel_lbr_nehalem, TYPE(IND_JUMP) | TYPE(USER), 0x1bd, true },
	{ &intel_lbr_silvermont, TYPE(COND) | TYPE(USER), 0x1f9, true },
	{ &intel_lbr_sandybridge, TYPE(ANY_CALL) | TYPE(USER), 0x0e5, false },
	{ &intel_lbr_sandybridge, TYPE(ANY_RETURN) | TYPE(USER), 0x0dd, false },
	{ &intel_lbr_sandybridge, TYPE(IND_CALL) | TYPE(USER), 0x1ed, true },
	{ &intel_lbr_sandybridge, TYPE(CALL) | TYPE(USER), 0x1f5, true },
	{ &intel_lbr_skylake, TYPE(COND) | TYPE(IND_JUMP) | TYPE(USER), 0x1b9, true },
	{ &intel_lbr_core2, TYPE(ANY) | TYPE(USER), 0, true },
	{ &intel_lbr_core2, TYPE(COND) | TYPE(USER), 0, false },
};

static void hardware_filters(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(branch_selects); i++) {
		const struct branch_select *s = &branch_selects[i];
		u64 select = s->b->select ? x86_branch_select(s->b, s->type) : 0;

		KUNIT_EXPECT_EQ_MSG(test, select, s->select, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, x86_branch_select_is_exact(s->b, select,
								     x86_branch_filter(s->type)),
				    s->exact, "row %u", i);
	}
	KUNIT_EXPECT_EQ(test, x86_branch_unsupported(&intel_lbr_nehalem,
						     TYPE(CALL) | TYPE(COND) | TYPE(USER)),
			TYPE(CALL));
	KUNIT_EXPECT_EQ(test, x86_branch_unsupported(&intel_lbr_haswell,
						     TYPE(CALL) | TYPE(COND) | TYPE(TYPE_SAVE)),
			0);
	/* Bits that suppress become bits that enable. */
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x000), 0x7f0007);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x001), 0x7f0005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x1f9), 0x010005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x1f5), 0x080005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x1ed), 0x100005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x1dd), 0x200005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x1bd), 0x040005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x17d), 0x020005);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x0fe), 0x400003);
	KUNIT_EXPECT_EQ(test, x86_branch_arch_control(0x3c5), 0x38000d);
	/* The driver finds all kinds by their instructions. */
	KUNIT_EXPECT_EQ(test, x86_branch_unsupported(&intel_lbr_core2, TYPE(CALL)), 0);
}

static void arch_registers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_depth(0x4000000b), 32);
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_depth(0x03), 16);
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_depth(0x81), 8);
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_depth(0), 0);
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_layout(0, false), 0);
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_layout(7, true),
			X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_CYCLES | X86_BRANCH_INFO_VALID |
			X86_BRANCH_INFO_TYPE | X86_BRANCH_INFO_TX);
	KUNIT_EXPECT_EQ(test, intel_lbr_arch_layout(0xf0000, false), X86_BRANCH_INFO_COUNTS);
}

/* The type of a record, in bits 59:56 of INFO, and the kind; the instruction is not looked at. */
static void kinds_by_info(struct kunit *test)
{
	static const u32 kinds[] = {
		X86_BRANCH_COND, X86_BRANCH_IND_JUMP, X86_BRANCH_JUMP, X86_BRANCH_IND_CALL,
		X86_BRANCH_CALL, X86_BRANCH_RETURN,
	};
	u32 options = X86_BRANCH_USER | X86_BRANCH_DECODE;
	struct perf_branch_entry out;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct x86_branch_log log = {
			.nr	= 1,
			.entry	= { { 0x1000, 0x2000, (u64)i << 56 | 0xe4ULL << 32 } },
		};
		u64 counts = 0;

		KUNIT_EXPECT_EQ(test, x86_branch_fill(LOGGED(log), X86_BRANCH_INFO_TYPE,
						      kinds[i] | options, &out, &counts), 1);
		KUNIT_EXPECT_EQ(test, counts, 0xe4);
		KUNIT_EXPECT_EQ(test, x86_branch_fill(LOGGED(log), X86_BRANCH_INFO_TYPE,
						      (X86_BRANCH_KINDS & ~kinds[i]) | options,
						      &out, NULL), 0);
	}
}
#endif

/* Registers in a format, and the entry that they stand for. */
struct branch_format {
	unsigned int			format;
	bool				tsx;
	struct x86_branch_raw		raw;
	struct perf_branch_entry	entry;
};

#define USER_IP		(IS_ENABLED(CONFIG_X86_64) ? 0x0000555555551234ULL : 0x55551234ULL)
#define KERNEL_IP	0xffffffff81234567ULL
#define MISS		BIT_ULL(63)
#define TX		BIT_ULL(62)
#define TX_ABORT	BIT_ULL(61)
#define AMD_IP(_ip)	((_ip) & GENMASK_ULL(57, 0))
#define FLAGS_OF(_ip)	((_ip) & GENMASK_ULL(60, 0))

static const struct branch_format branch_formats[] = {
	{ 1, false, { KERNEL_IP, USER_IP }, { KERNEL_IP, USER_IP } },
	{ 2, false, { USER_IP, KERNEL_IP }, { USER_IP, KERNEL_IP } },
	{ 3, false, { MISS | USER_IP, USER_IP }, { USER_IP, USER_IP, .mispred = 1 } },
	{ 3, false, { USER_IP, KERNEL_IP }, { USER_IP, KERNEL_IP, .predicted = 1 } },
	{ 3, false, { KERNEL_IP & ~MISS, USER_IP }, { KERNEL_IP, USER_IP, .predicted = 1 } },
	{ 4, true, { TX | USER_IP, USER_IP }, { USER_IP, USER_IP, .predicted = 1, .in_tx = 1 } },
	{ 4, true, { MISS | TX_ABORT | FLAGS_OF(KERNEL_IP), KERNEL_IP },
	  { KERNEL_IP, KERNEL_IP, .mispred = 1, .abort = 1 } },
	/* Without transactions their flags are copies of the sign. */
	{ 4, false, { KERNEL_IP & ~MISS, USER_IP }, { KERNEL_IP, USER_IP, .predicted = 1 } },
	{ 5, true, { KERNEL_IP, USER_IP, MISS | TX | TX_ABORT | 0x1234 },
	  { KERNEL_IP, USER_IP, .mispred = 1, .in_tx = 1, .abort = 1, .cycles = 0x1234 } },
	{ 5, true, { USER_IP, USER_IP, 7 }, { USER_IP, USER_IP, .predicted = 1, .cycles = 7 } },
	{ 6, false, { MISS | USER_IP, 0x0042000000000000ULL | USER_IP },
	  { USER_IP, USER_IP, .mispred = 1, .cycles = 0x42 } },
	{ 6, false, { USER_IP, 0x00077fff81234567ULL },
	  { USER_IP, 0x7fff81234567ULL, .predicted = 1, .cycles = 7 } },
	{ 6, false, { USER_IP, 0x0007ULL << 48 | (KERNEL_IP & GENMASK_ULL(47, 0)) },
	  { USER_IP, KERNEL_IP, .predicted = 1, .cycles = 7 } },
	{ 7, true, { USER_IP, KERNEL_IP, MISS | TX | TX_ABORT | 9 },
	  { USER_IP, KERNEL_IP, .mispred = 1, .cycles = 9 } },
};

static void register_formats(struct kunit *test)
{
	static struct x86_branch_log log;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(branch_formats); i++) {
		const struct branch_format *f = &branch_formats[i];
		struct perf_branch_entry e;

		memset(&e, 0xff, sizeof(e));
		x86_branch_decode(x86_branch_layout(f->format, f->tsx), &f->raw, &e);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&e, &f->entry, sizeof(e)), 0,
				    "row %u: %#llx %#llx", i, e.from, e.to);
		/* Samples of all branches are the same entries. */
		log = (struct x86_branch_log){ .nr = 1, .entry = { f->raw } };
		memset(&e, 0xff, sizeof(e));
		KUNIT_EXPECT_EQ(test, x86_branch_fill(LOGGED(log),
						      x86_branch_layout(f->format, f->tsx),
						      X86_BRANCH_KINDS | X86_BRANCH_USER |
						      X86_BRANCH_KERNEL, &e, NULL), 1);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&e, &f->entry, sizeof(e)), 0,
				    "sample of row %u: %#llx %#llx", i, e.from, e.to);
	}
}

/* The manual's format of Knights Landing has no flags; FROM has one. */
static void knl_has_predictions(struct kunit *test)
{
	const struct x86_branch_raw raw = { .from = MISS | USER_IP, .to = USER_IP };
	struct perf_branch_entry e;

	KUNIT_EXPECT_EQ(test, x86_branch_format(&intel_lbr_core2, 1), 1);
	KUNIT_EXPECT_EQ(test, x86_branch_format(&intel_lbr_knl, 0x2c1), 3);
	x86_branch_decode(x86_branch_layout(x86_branch_format(&intel_lbr_knl, 1), false), &raw, &e);
	KUNIT_EXPECT_EQ(test, e.from, USER_IP);
	KUNIT_EXPECT_TRUE(test, e.mispred);
}

/* Format 4 without transactions refuses flags of transactions that are not copies of the sign. */
static void written_from_has_copies(struct kunit *test)
{
	u32 layout = x86_branch_layout(4, false);
	u64 read = KERNEL_IP & ~(TX | TX_ABORT);

	KUNIT_EXPECT_EQ(test, x86_branch_from_to_write(layout, read & ~MISS), KERNEL_IP & ~MISS);
	KUNIT_EXPECT_EQ(test, x86_branch_from_to_write(layout, read | MISS), KERNEL_IP | MISS);
	KUNIT_EXPECT_EQ(test, x86_branch_from_to_write(layout, USER_IP), USER_IP);
	KUNIT_EXPECT_EQ(test, x86_branch_from_to_write(layout, MISS | USER_IP), MISS | USER_IP);
	KUNIT_EXPECT_EQ(test, x86_branch_from_to_write(x86_branch_layout(4, true), read), read);
	KUNIT_EXPECT_EQ(test, x86_branch_from_to_write(x86_branch_layout(3, false), read), read);
}

/* LbrExtV2: the flags of TO are those of the entry. */
static const struct branch_format branch_formats_amd[] = {
	{ .raw = { USER_IP, MISS | USER_IP },
	  .entry = { USER_IP, USER_IP, .predicted = 1, .spec = PERF_BR_NON_SPEC_CORRECT_PATH } },
	{ .raw = { MISS | AMD_IP(KERNEL_IP), MISS | TX | AMD_IP(KERNEL_IP) },
	  .entry = { KERNEL_IP, KERNEL_IP, .mispred = 1, .spec = PERF_BR_SPEC_CORRECT_PATH } },
	{ .raw = { USER_IP, TX | AMD_IP(KERNEL_IP) },
	  .entry = { USER_IP, KERNEL_IP, .predicted = 1, .spec = PERF_BR_SPEC_WRONG_PATH } },
};

static void register_format_amd(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(branch_formats_amd); i++) {
		const struct branch_format *f = &branch_formats_amd[i];
		struct perf_branch_entry e;

		memset(&e, 0xff, sizeof(e));
		x86_branch_decode(X86_BRANCH_TO_VALID, &f->raw, &e);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&e, &f->entry, sizeof(e)), 0,
				    "row %u: %#llx %#llx", i, e.from, e.to);
	}
}

/* Registers with the reserved flag hold no branch, and the branches before it are there. */
static void void_entries_are_left_out(struct kunit *test)
{
	static const u64 reserved = BIT_ULL(61);
	static struct x86_branch_log log = {
		.nr = 3,
		.entry = {
			{ USER_IP, MISS | USER_IP },
			{ USER_IP + 1, MISS | reserved | USER_IP },
			{ USER_IP + 2, MISS | USER_IP },
		},
	};
	u32 filter = x86_branch_filter(TYPE(USER) | TYPE(ANY));
	struct perf_branch_entry e[3];

	KUNIT_ASSERT_EQ(test, 2,
			x86_branch_fill(LOGGED(log), X86_BRANCH_TO_VALID, filter, e, NULL));
	KUNIT_EXPECT_EQ(test, e[0].from, USER_IP);
	KUNIT_EXPECT_EQ(test, e[1].from, USER_IP + 2);
	KUNIT_EXPECT_FALSE(test, x86_branch_decode_one(X86_BRANCH_TO_VALID, &log.entry[1], e));
	KUNIT_EXPECT_TRUE(test, x86_branch_decode_one(X86_BRANCH_TO_VALID, &log.entry[2], e));
}

#define HANDLER		(KERNEL_IP + 0x1000)

/* Newest first: branches of a handler, the interrupt, branches of a program, a system call. */
static const struct x86_branch_log interrupt_log = {
	.nr	= 6,
	.entry	= {
		{ AMD_IP(HANDLER) + 8, MISS | (AMD_IP(KERNEL_IP) + 4) },
		{ AMD_IP(HANDLER) + 4, MISS | (AMD_IP(KERNEL_IP) + 8) },
		{ USER_IP, MISS | AMD_IP(HANDLER) },
		{ USER_IP + 1, MISS | USER_IP },
		{ AMD_IP(KERNEL_IP), MISS | USER_IP },
		{ USER_IP + 2, MISS | AMD_IP(KERNEL_IP) },
	},
};

/* Without a freeze the newest entries are those of the interrupt that reads them. */
static void entries_of_an_interrupt(struct kunit *test)
{
	struct x86_branch_log log = interrupt_log;
	u32 layout = X86_BRANCH_TO_VALID;

	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER, false), 3);
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER, true), 3);
	/* The interrupt's entry is missing: the program's first one ends those of the handler. */
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER + 1, true), 3);
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER + 1, false), 0);
	/* Nor do registers without a branch (erratum 1452). */
	log.entry[1] = (struct x86_branch_raw){ USER_IP, X86_BRANCH_TO_RESERVED };
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER + 1, true), 3);
	log.nr = 2;
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER, true), 2);
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER, false), 0);
	/* With a filter of user space there is none of the handler. */
	log.nr = 1;
	log.entry[0] = interrupt_log.entry[3];
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER, true), 0);
	log.nr = 0;
	KUNIT_EXPECT_EQ(test, x86_branch_count_interrupt(layout, &log, HANDLER, true), 0);
}

extern const u8 branch_kunit_compare[], branch_kunit_branch[];

static noinline void run_fused_branch(void)
{
	asm volatile("branch_kunit_compare: cmp %%eax, %%eax\n"
		     "branch_kunit_branch: jne 1f\n"
		     "1:" : : : "cc");
}

/* Whatever the filter, FROM is the branch and not the compare. */
static void fused_branches_are_found(struct kunit *test)
{
	u64 from = (unsigned long)branch_kunit_compare, branch = (unsigned long)branch_kunit_branch;
	u32 filter = x86_branch_filter(TYPE(USER) | TYPE(KERNEL) | TYPE(ANY));
	u32 layout = X86_BRANCH_TO_VALID | X86_BRANCH_FUSED;
	struct perf_branch_entry e;
	struct x86_branch_log *log;

	run_fused_branch();
	log = kunit_kzalloc(test, sizeof(*log), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, log);
	log->nr = 1;
	log->entry[0] = (struct x86_branch_raw){ AMD_IP(from), MISS | AMD_IP(from) };
	KUNIT_ASSERT_EQ(test, x86_branch_fill(LOGGED(*log), layout, filter, &e, NULL), 1);
	KUNIT_EXPECT_EQ(test, e.from, branch);
	KUNIT_EXPECT_EQ(test, e.to, from);
	KUNIT_ASSERT_TRUE(test, x86_branch_decode_one(layout, log->entry, &e));
	KUNIT_EXPECT_EQ(test, e.from, branch);
}

/* The instructions that a branch is fused with are in front of it. */
static void fused_branches(struct kunit *test)
{
	static const u8 cmp[] = { 0x48, 0x39, 0xd8, 0x75, 0x10 };	/* cmp %rbx, jne */
	static const u8 nop[] = { 0x90, 0x85, 0xc0, 0x0f, 0x84 };	/* nop, test %eax, je */
	static const u8 jump[] = { 0xeb, 0x10 };
	static const u8 none[] = { 0x90, 0x90, 0x48 };

	KUNIT_EXPECT_EQ(test, x86_branch_skip_fused(cmp, sizeof(cmp), true), 3);
	KUNIT_EXPECT_EQ(test, x86_branch_skip_fused(nop, sizeof(nop), true), 3);
	KUNIT_EXPECT_EQ(test, x86_branch_skip_fused(jump, sizeof(jump), true), 0);
	KUNIT_EXPECT_EQ(test, x86_branch_skip_fused(none, sizeof(none), true), 0);
	/* 48H is an instruction, DEC, in 32-bit code. */
	KUNIT_EXPECT_EQ(test, x86_branch_skip_fused(cmp, sizeof(cmp), false), 3);
	KUNIT_EXPECT_EQ(test, x86_branch_skip_fused(cmp, 3, true), 0);
}

/* An interrupt has the address of the instruction to return to, not of a branch behind that. */
static void interrupts_are_not_fused(struct kunit *test)
{
	static const u8 cmp[] = { 0x48, 0x39, 0xd8, 0x75, 0x10 };	/* cmp %rbx, jne */
	u32 layout = X86_BRANCH_TO_VALID | X86_BRANCH_FUSED;
	struct x86_branch_raw raw = { };
	struct perf_branch_entry e;
	unsigned long code;

	code = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, code, 0);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)code, cmp, sizeof(cmp)));
	raw.from = code;
	raw.to = code + 0x100;
	KUNIT_ASSERT_TRUE(test, x86_branch_decode_one(layout, &raw, &e));
	KUNIT_EXPECT_EQ(test, e.from, code + 3);
	raw.to = (unsigned long)interrupts_are_not_fused & GENMASK_ULL(57, 0);
	KUNIT_ASSERT_TRUE(test, x86_branch_decode_one(layout, &raw, &e));
	KUNIT_EXPECT_EQ(test, e.from, code);
}

#define LAYOUT	(X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_TX | X86_BRANCH_INFO_CYCLES)

static const struct x86_branch_log branch_log = {
	.nr	= 5,
	.entry	= {
		{ USER_IP, USER_IP + 1, 1 },
		{ KERNEL_IP, USER_IP + 2, 2 },
		{ USER_IP, KERNEL_IP + 3, MISS | 3 },
		{ KERNEL_IP, KERNEL_IP + 4, TX | 4 },
		{ USER_IP, USER_IP + 5, TX | TX_ABORT | 5 },
	},
};

/* The entries that pass are those with these numbers of cycles. */
static void branch_expect(struct kunit *test, u32 filter, const char *cycles)
{
	struct perf_branch_entry out[X86_BRANCH_MAX];
	unsigned int i, n = x86_branch_fill(LOGGED(branch_log), LAYOUT, filter, out, NULL);

	KUNIT_EXPECT_EQ_MSG(test, n, strlen(cycles), "filter %#x", filter);
	for (i = 0; i < min_t(unsigned int, n, strlen(cycles)); i++)
		KUNIT_EXPECT_EQ_MSG(test, (int)out[i].cycles, cycles[i] - '0', "filter %#x, %u",
				    filter, i);
}

static void entries_of_a_log(struct kunit *test)
{
	u32 all = X86_BRANCH_KINDS, both = X86_BRANCH_USER | X86_BRANCH_KERNEL;
	struct perf_branch_entry out[X86_BRANCH_MAX];

	branch_expect(test, all | both, "12345");
	/* No kernel address for an event that excludes the kernel. */
	branch_expect(test, all | X86_BRANCH_USER, "15");
	branch_expect(test, all | X86_BRANCH_KERNEL, "34");
	branch_expect(test, all | both | X86_BRANCH_IN_TX, "45");
	branch_expect(test, all | both | X86_BRANCH_NO_TX, "123");
	branch_expect(test, all | both | X86_BRANCH_ABORT, "5");
	branch_expect(test, all | both | X86_BRANCH_ABORT | X86_BRANCH_NO_TX, "1235");

	x86_branch_fill(LOGGED(branch_log), LAYOUT, all | both | X86_BRANCH_SAVE_PRIV, out, NULL);
	KUNIT_EXPECT_EQ(test, (int)out[1].priv, PERF_BR_PRIV_USER);
	KUNIT_EXPECT_EQ(test, (int)out[2].priv, PERF_BR_PRIV_KERNEL);
	KUNIT_EXPECT_EQ(test, (int)out[2].mispred, 1);
	KUNIT_EXPECT_EQ(test, (int)out[2].cycles, 3);
	x86_branch_fill(LOGGED(branch_log), LAYOUT, all | both | X86_BRANCH_NO_FLAGS, out, NULL);
	KUNIT_EXPECT_EQ(test, (int)(out[2].mispred | out[0].predicted), 0);
	KUNIT_EXPECT_EQ(test, (int)(out[3].in_tx | out[4].abort), 0);
	KUNIT_EXPECT_EQ(test, (int)out[2].cycles, 3);
	x86_branch_fill(LOGGED(branch_log), LAYOUT, all | both | X86_BRANCH_NO_CYCLES, out, NULL);
	KUNIT_EXPECT_EQ(test, (int)out[2].mispred, 1);
	KUNIT_EXPECT_EQ(test, (int)out[2].cycles, 0);
}

/* An instruction that a transaction is aborted at is of no kind. No entry's code can be read. */
static void aborts_have_no_kind(struct kunit *test)
{
	u32 calls = X86_BRANCH_CALL | X86_BRANCH_USER | X86_BRANCH_DECODE;

	branch_expect(test, calls, "");
	branch_expect(test, calls | X86_BRANCH_IN_TX, "");
	branch_expect(test, calls | X86_BRANCH_ABORT, "5");
	branch_expect(test, calls | X86_BRANCH_ABORT | X86_BRANCH_NO_TX, "5");
	branch_expect(test, calls | X86_BRANCH_ABORT | X86_BRANCH_SAVE_TYPE, "5");
	branch_expect(test, calls | X86_BRANCH_UNKNOWN | X86_BRANCH_NO_TX, "1");
}

/*
 * The kind is found in the kernel's text; what is not text is not read. A byte c3H is a return,
 * also as a part of another instruction. In a page there is one.
 */
static void kinds_by_memory(struct kunit *test)
{
	static const u8 data[16] = { 0xe9 };
	unsigned long text = (unsigned long)&strlen, end = text + PAGE_SIZE;
	struct x86_branch_log log = { .nr = 1 };
	struct perf_branch_entry out;
	u32 filter = X86_BRANCH_RETURN | X86_BRANCH_KERNEL | X86_BRANCH_DECODE |
		     X86_BRANCH_SAVE_TYPE;

	while (text < end && *(u8 *)text != 0xc3)
		text++;
	KUNIT_ASSERT_LT(test, text, end);
	log.entry[0] = (struct x86_branch_raw){ text, KERNEL_IP };
	KUNIT_EXPECT_EQ(test, x86_branch_fill(LOGGED(log), 0, filter, &out, NULL), 1);
	KUNIT_EXPECT_EQ(test, (int)out.type, PERF_BR_RET);

	log.entry[0].from = (unsigned long)data;
	KUNIT_EXPECT_EQ(test, 0,
			x86_branch_fill(LOGGED(log), 0, filter | X86_BRANCH_JUMP, &out, NULL));
	KUNIT_EXPECT_EQ(test, 1,
			x86_branch_fill(LOGGED(log), 0, filter | X86_BRANCH_UNKNOWN, &out, NULL));
	KUNIT_EXPECT_EQ(test, (int)out.type, PERF_BR_UNKNOWN);
}

#ifdef CONFIG_CPU_SUP_INTEL
/* From Goldmont and Ice Lake on branch records and processor trace may be used together. */
static void trace_runs_beside_branch_records(struct kunit *test)
{
	bool together = x86_lbr_with_pt;

	KUNIT_EXPECT_FALSE(test, skylake_model.branches->flags & X86_BRANCHES_WITH_PT);
	KUNIT_EXPECT_TRUE(test, icelake_model.branches->flags & X86_BRANCHES_WITH_PT);
	KUNIT_EXPECT_TRUE(test, goldmont_model.branches->flags & X86_BRANCHES_WITH_PT);
	if (system_state != SYSTEM_SCHEDULING)
		kunit_skip(test, "what the boot found out is read only");

	for (int with = 0; with < 2; with++) {
		x86_lbr_with_pt = with;
		KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_pt), 0);
		KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), -EBUSY);
		KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_lbr), with ? 0 : -EBUSY);
		if (with)
			x86_del_exclusive(x86_lbr_exclusive_lbr);
		x86_del_exclusive(x86_lbr_exclusive_pt);
	}
	x86_lbr_with_pt = together;
}
#endif

static struct kunit_case branch_cases[] = {
	KUNIT_CASE(kinds_by_opcode),
	KUNIT_CASE(filters_of_events),
#ifdef CONFIG_CPU_SUP_INTEL
	KUNIT_CASE(hardware_filters),
	KUNIT_CASE(arch_registers),
	KUNIT_CASE(kinds_by_info),
	KUNIT_CASE(trace_runs_beside_branch_records),
#endif
	KUNIT_CASE(register_formats),
	KUNIT_CASE(register_format_amd),
	KUNIT_CASE(knl_has_predictions),
	KUNIT_CASE(written_from_has_copies),
	KUNIT_CASE(void_entries_are_left_out),
	KUNIT_CASE(entries_of_an_interrupt),
	KUNIT_CASE(fused_branches),
	KUNIT_CASE(fused_branches_are_found),
	KUNIT_CASE(interrupts_are_not_fused),
	KUNIT_CASE(entries_of_a_log),
	KUNIT_CASE(aborts_have_no_kind),
	KUNIT_CASE(kinds_by_memory),
	{ }
};

static struct kunit_suite branch_suite = {
	.name		= "x86_pmu_branch",
	.test_cases	= branch_cases,
};

kunit_test_suite(branch_suite);
