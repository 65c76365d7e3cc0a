// SPDX-License-Identifier: GPL-2.0
/*
 * Precise samples: records of each format, events of each line, the instruction before another, and
 * what samples have of records.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/sched/smt.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

#include "../branch.h"
#include "../intel/models.h"
#include "../intel/pebs.h"
#include "helpers.h"

/* Words of a record that differ from one another. */
#define WORD(_n)	(0x1000 + (_n))

static void fill_words(u64 *w, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		w[i] = WORD(i);
}

static void sizes_of_formats(struct kunit *test)
{
	static const unsigned int size[] = { 144, 176, 192, 200, 32, 32 };
	static const unsigned int max[] = { 144, 176, 192, 200, 1232, 1232 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_record_size(i), size[i], "format %u", i);
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_record_max(i), max[i], "format %u", i);
	}
}

static void old_records_are_parsed(struct kunit *test)
{
	struct intel_pebs_record r;
	u64 w[25], counters, ip;
	unsigned int format;

	fill_words(w, ARRAY_SIZE(w));
	for (format = 0; format < INTEL_PEBS_ADAPTIVE; format++) {
		unsigned int size = intel_pebs_record_size(format);

		memset(&r, 0xff, sizeof(r));
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(format, w, size - 8, &r), 0);
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(format, w, sizeof(w), &r), size);
		KUNIT_EXPECT_EQ(test, intel_pebs_peek(format, w, size - 8, &counters, &ip), 0);
		KUNIT_EXPECT_EQ(test, intel_pebs_peek(format, w, sizeof(w), &counters, &ip), size);
		KUNIT_EXPECT_EQ(test, counters, r.counters);
		KUNIT_EXPECT_EQ(test, ip, r.ip);
		KUNIT_EXPECT_EQ(test, r.ip, WORD(1));
		KUNIT_EXPECT_PTR_EQ(test, r.gprs, (const u64 *)w);
		KUNIT_EXPECT_EQ(test, r.counters, format ? WORD(18) : 1);
		KUNIT_EXPECT_EQ(test, r.address, format ? WORD(19) : 0);
		KUNIT_EXPECT_EQ(test, r.source, format ? WORD(20) : 0);
		KUNIT_EXPECT_EQ(test, r.latency, format ? WORD(21) : 0);
		KUNIT_EXPECT_EQ(test, r.exact_ip, format > 1 ? WORD(22) : 0);
		KUNIT_EXPECT_EQ(test, r.tsx, format > 1 ? WORD(23) : 0);
		KUNIT_EXPECT_EQ(test, r.tsc, format > 2 ? WORD(24) : 0);
		KUNIT_EXPECT_EQ(test, r.groups,
				INTEL_PEBS_GPRS | (format ? INTEL_PEBS_MEMORY : 0));
		KUNIT_EXPECT_EQ(test, r.retire, 0);
		KUNIT_EXPECT_NULL(test, r.xmm);
		KUNIT_EXPECT_NULL(test, r.branches);
		KUNIT_EXPECT_EQ(test, r.nr_branches, 0);
	}
}

/* Groups of an adaptive record, and its words. */
struct adaptive_case {
	u32		groups;
	unsigned int	words;
	unsigned int	memory, gprs, xmm, branches;	/* first word; 0: none */
};

static void adaptive_records_are_parsed(struct kunit *test)
{
	static const struct adaptive_case cases[] = {
		{ 0, 4 },
		{ INTEL_PEBS_MEMORY, 8, 4 },
		{ INTEL_PEBS_GPRS, 22, 0, 4 },
		{ INTEL_PEBS_XMM, 36, 0, 0, 4 },
		{ INTEL_PEBS_BRANCHES | 31 << 24, 100, 0, 0, 0, 4 },
		{ INTEL_PEBS_BRANCHES | 7 << 24, 28, 0, 0, 0, 4 },
		{ INTEL_PEBS_MEMORY | INTEL_PEBS_GPRS | INTEL_PEBS_XMM | INTEL_PEBS_BRANCHES |
		  31 << 24, 154, 4, 8, 26, 58 },
	};
	struct intel_pebs_record r;
	u64 w[160], counters, ip;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct adaptive_case *c = &cases[i];
		size_t size = c->words * sizeof(u64);

		fill_words(w, ARRAY_SIZE(w));
		w[0] = c->groups | 0x123ULL << 32 | (u64)size << 48;
		memset(&r, 0xff, sizeof(r));
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_parse(4, w, sizeof(w), &r), size,
				    "case %u", i);
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(5, w, size, &r), size);
		KUNIT_EXPECT_EQ(test, intel_pebs_peek(5, w, size, &counters, &ip), size);
		KUNIT_EXPECT_EQ(test, counters, WORD(2));
		KUNIT_EXPECT_EQ(test, ip, r.exact_ip);
		KUNIT_EXPECT_EQ(test, r.retire, 0x123);
		KUNIT_EXPECT_EQ(test, r.exact_ip, WORD(1));
		KUNIT_EXPECT_EQ(test, r.counters, WORD(2));
		KUNIT_EXPECT_EQ(test, r.tsc, WORD(3));
		KUNIT_EXPECT_EQ(test, r.address, c->memory ? WORD(c->memory) : 0);
		KUNIT_EXPECT_EQ(test, r.source, c->memory ? WORD(c->memory + 1) : 0);
		KUNIT_EXPECT_EQ(test, r.latency, c->memory ? WORD(c->memory + 2) : 0);
		KUNIT_EXPECT_EQ(test, r.tsx, c->memory ? WORD(c->memory + 3) : 0);
		KUNIT_EXPECT_PTR_EQ(test, r.gprs, c->gprs ? (const u64 *)&w[c->gprs] : NULL);
		KUNIT_EXPECT_EQ(test, r.ip, c->gprs ? WORD(c->gprs + 1) : 0);
		KUNIT_EXPECT_PTR_EQ(test, r.xmm, c->xmm ? (const u64 *)&w[c->xmm] : NULL);
		KUNIT_EXPECT_PTR_EQ(test, r.branches,
				    c->branches ? (const u64 *)&w[c->branches] : NULL);
		KUNIT_EXPECT_EQ(test, r.nr_branches, c->branches ? (c->groups >> 24) + 1 : 0);
		KUNIT_EXPECT_EQ(test, r.groups, c->groups & INTEL_PEBS_GROUPS);
		/* Cut off; a size that is too small; one that is no multiple of a word; 0. */
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(4, w, size - 8, &r), 0);
		KUNIT_EXPECT_EQ(test, intel_pebs_peek(4, w, size - 8, &counters, &ip), 0);
		w[0] -= 8ULL << 48;
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(4, w, sizeof(w), &r), 0);
		w[0] += 12ULL << 48;
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(4, w, sizeof(w), &r), 0);
		w[0] &= U32_MAX;
		KUNIT_EXPECT_EQ(test, intel_pebs_parse(4, w, sizeof(w), &r), 0);
	}
	/* A group that is newer than the parser is part of the size. */
	w[0] = BIT(4) | (u64)64 << 48;
	KUNIT_EXPECT_EQ(test, intel_pebs_parse(5, w, sizeof(w), &r), 64);
}

static void registers_are_in_order(struct kunit *test)
{
	struct intel_pebs_record r = { .groups = INTEL_PEBS_GPRS };
	struct pt_regs regs;
	u64 w[18];

	fill_words(w, ARRAY_SIZE(w));
	r.gprs = w;
	w[0] = 0x246 | PERF_EFLAGS_EXACT;
	intel_pebs_fill_regs(3, &r, &regs);
	KUNIT_EXPECT_EQ(test, regs.flags, 0x246);
	KUNIT_EXPECT_EQ(test, regs.ax, WORD(2));
	KUNIT_EXPECT_EQ(test, regs.bx, WORD(3));
	KUNIT_EXPECT_EQ(test, regs.cx, WORD(4));
	KUNIT_EXPECT_EQ(test, regs.dx, WORD(5));
	KUNIT_EXPECT_EQ(test, regs.si, WORD(6));
	KUNIT_EXPECT_EQ(test, regs.di, WORD(7));
	KUNIT_EXPECT_EQ(test, regs.bp, WORD(8));
	KUNIT_EXPECT_EQ(test, regs.sp, WORD(9));
	intel_pebs_fill_regs(4, &r, &regs);
	KUNIT_EXPECT_EQ(test, regs.ax, WORD(2));
	KUNIT_EXPECT_EQ(test, regs.cx, WORD(3));
	KUNIT_EXPECT_EQ(test, regs.dx, WORD(4));
	KUNIT_EXPECT_EQ(test, regs.bx, WORD(5));
	KUNIT_EXPECT_EQ(test, regs.sp, WORD(6));
	KUNIT_EXPECT_EQ(test, regs.bp, WORD(7));
	KUNIT_EXPECT_EQ(test, regs.si, WORD(8));
	KUNIT_EXPECT_EQ(test, regs.di, WORD(9));
#ifdef CONFIG_X86_64
	KUNIT_EXPECT_EQ(test, regs.r8, WORD(10));
	KUNIT_EXPECT_EQ(test, regs.r15, WORD(17));
#endif
}

/* push %rbp; mov %rsp,%rbp; nopw 0(%rax,%rax,1); jmp .+2 */
static const u8 pebs_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xeb, 0x00,
};

static void insn_before_is_found(struct kunit *test)
{
	u64 at = (unsigned long)pebs_code;

	if (IS_ENABLED(CONFIG_X86_32))
		kunit_skip(test, "64-bit code");
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at, at + 1, true), at);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at, at + 4, true), at + 1);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at, at + 10, true), at + 4);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at + 4, at + 12, true), at + 10);
	/* Within an instruction; behind; too far; not there. */
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at, at + 3, true), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at + 4, at + 4, true), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at + 4, at + 1, true), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(at, at + 4097, true), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_insn_before(0, 8, true), 0);
}

struct events_case {
	const struct x86_precise_line	*line;
	u64				config;
	u64				counters;	/* 0: none */
	unsigned int			kind;
};

#define CYCLES(_sel)	((_sel) | SEL_INV | SEL_CMASK(16))
#define KIND(_kind)	X86_PRECISE_##_kind

/* "Precise Events" of the manual's chapters, and PEBS of the event files. */
static const struct events_case events_cases[] = {
	{ &intel_pebs_core2, 0x00c0, GENERAL(1), KIND(PLAIN) },
	{ &intel_pebs_core2, CYCLES(0x00c0), GENERAL(1), KIND(PLAIN) },
	{ &intel_pebs_core2, 0x02cb, GENERAL(1), KIND(PLAIN) },
	{ &intel_pebs_core2, 0x00c4, 0 },
	{ &intel_pebs_core2, 0x003c, 0 },
	{ &intel_pebs_atom, 0x00c4, GENERAL(1), KIND(PLAIN) },
	{ &intel_pebs_nehalem, 0x100b, GENERAL(4), KIND(LOAD_LATENCY) },
	{ &intel_pebs_nehalem, 0x00c4, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_nehalem, CYCLES(0x00c0), GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_nehalem, 0x02c5, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_nehalem, 0x01c5, 0 },
	{ &intel_pebs_nehalem, 0x003c, 0 },
	{ &intel_pebs_nehalem, 0x00c4 | SEL_EDGE, 0 },
	{ &intel_pebs_westmere, 0x01c5, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_sandybridge, 0x01c0, BIT(1), KIND(PLAIN) },
	{ &intel_pebs_sandybridge, 0x01cd, BIT(3), KIND(LOAD_LATENCY) },
	{ &intel_pebs_sandybridge, 0x02cd, BIT(3), KIND(STORE_OLD) },
	{ &intel_pebs_sandybridge, 0x81d0, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_sandybridge, CYCLES(0x01c2), GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_ivybridge, CYCLES(0x01c0), BIT(1), KIND(PLAIN) },
	{ &intel_pebs_haswell, 0x01cd, GENERAL(4), KIND(LOAD_LATENCY) },
	{ &intel_pebs_haswell, 0x81d0, GENERAL(4), KIND(LOAD) },
	{ &intel_pebs_haswell, 0x82d0, GENERAL(4), KIND(STORE) },
	{ &intel_pebs_haswell, 0x04d1, GENERAL(4), KIND(LOAD) },
	{ &intel_pebs_haswell, 0x01c2, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_haswell, 0x22d0, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_skylake, 0x22d0, GENERAL(4), KIND(STORE) },
	{ &intel_pebs_skylake, CYCLES(0x01c0), BIT(1), KIND(PLAIN) },
	{ &intel_pebs_skylake, 0x01c2, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_icelake, 0x00c0, ~0ULL, KIND(PLAIN) },
	{ &intel_pebs_icelake, 0x0100, X86_FIXED(0), KIND(PLAIN) },
	{ &intel_pebs_icelake, 0x0400, X86_FIXED(3), KIND(PLAIN) },
	{ &intel_pebs_icelake, 0x01cd, GENERAL(8), KIND(LOAD_LATENCY) },
	{ &intel_pebs_icelake, 0x83d0, GENERAL(4), KIND(PLAIN) },
	{ &intel_pebs_goldencove, 0x01cd, GENERAL(8) & ~BIT_ULL(0), KIND(LOAD_LATENCY) },
	{ &intel_pebs_goldencove, 0x02cd, BIT(0), KIND(STORE_LATENCY) },
	{ &intel_pebs_goldencove, 0x02c0, (GENERAL(8) & ~BIT_ULL(0)) | X86_FIXED(0), KIND(PLAIN) },
	{ &intel_pebs_goldencove, 0x02d4, GENERAL(4), KIND(LOAD) },
	{ &intel_pebs_lioncove, 0x01cd, GENMASK_ULL(9, 2), KIND(LOAD_LATENCY) },
	{ &intel_pebs_lioncove, 0x02cd, GENERAL(2), KIND(STORE_LATENCY) },
	{ &intel_pebs_gracemont, 0x05d0, GENERAL(2), KIND(LOAD_LATENCY) },
	{ &intel_pebs_crestmont, 0x06d0, GENERAL(6), KIND(STORE_LATENCY) },
	{ &intel_pebs_goldmont, 0x00c4, GENERAL(1), KIND(PLAIN) },
	{ &intel_pebs_tremont, 0x00c4, ~0ULL, KIND(PLAIN) },
};

static void events_have_their_rows(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events_cases); i++) {
		const struct events_case *c = &events_cases[i];
		const struct x86_precise *p = intel_pebs_find(c->line, c->config);

		KUNIT_EXPECT_EQ_MSG(test, p ? p->counters : c->line->others, c->counters,
				    "row %u, %#llx", i, c->config);
		KUNIT_EXPECT_EQ_MSG(test, p ? p->kind : X86_PRECISE_PLAIN, c->kind,
				    "row %u, %#llx", i, c->config);
	}
}

struct source_case {
	const struct intel_datasrc_line	*line;
	unsigned int			kind;
	u64				word;
	u64				want;
};

#define S(_field, _value)	PERF_MEM_S(_field, _value)
#define BOTH(_lvl, _num)	(S(LVL, HIT) | S(LVL, _lvl) | S(LVLNUM, _num))
#define NO_TLB			(S(TLB, NA) | S(LOCK, NA))
#define TLB_HIT			(S(TLB, HIT) | S(TLB, L1) | S(TLB, L2))
#define L2_TLB_HIT		(S(TLB, HIT) | S(TLB, L2))
#define TLB_MISS		(S(TLB, MISS) | S(TLB, L2))
#define NO_BLOCK		S(BLK, NA)
#define A_LOAD			S(OP, LOAD)
#define A_STORE			S(OP, STORE)

static const struct source_case source_cases[] = {
	{ &intel_datasrc_nehalem, KIND(LOAD_LATENCY), 0x1,
	  A_LOAD | BOTH(L1, L1) | S(SNOOP, NONE) | NO_TLB | NO_BLOCK },
	{ &intel_datasrc_nehalem, KIND(LOAD_LATENCY), 0x5,
	  A_LOAD | BOTH(L3, L3) | S(SNOOP, HIT) | NO_TLB | NO_BLOCK },
	{ &intel_datasrc_nehalem, KIND(LOAD_LATENCY), 0x6,
	  A_LOAD | BOTH(L3, L3) | S(SNOOP, HITM) | NO_TLB | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(LOAD_LATENCY), 0x0,
	  A_LOAD | S(LVL, MISS) | S(LVLNUM, L3) | S(SNOOP, NA) | TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(LOAD_LATENCY), 0x32,
	  A_LOAD | BOTH(LFB, LFB) | S(SNOOP, NONE) | TLB_MISS | S(LOCK, LOCKED) | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(LOAD_LATENCY), 0x5,
	  A_LOAD | BOTH(L3, L3) | S(SNOOP, MISS) | TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(LOAD_LATENCY), 0xa,
	  A_LOAD | BOTH(LOC_RAM, RAM) | S(SNOOP, HIT) | TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(LOAD_LATENCY), 0xf,
	  A_LOAD | BOTH(UNC, NA) | S(SNOOP, NONE) | TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(STORE_OLD), 0x21,
	  A_STORE | S(LVL, HIT) | S(LVL, L1) | S(LVLNUM, NA) | S(SNOOP, NA) | L2_TLB_HIT |
	  S(LOCK, LOCKED) | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(STORE), 0x0,
	  A_STORE | S(LVL, MISS) | S(LVL, L1) | S(LVLNUM, NA) | S(SNOOP, NA) | NO_TLB | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(LOAD), 0x1,
	  A_LOAD | S(LVL, NA) | S(LVLNUM, NA) | S(SNOOP, NA) | NO_TLB | NO_BLOCK },
	{ &intel_datasrc_sandybridge, KIND(PLAIN), 0x1, PERF_MEM_NA },
	{ &intel_datasrc_skylake, KIND(LOAD_LATENCY), 0x8,
	  A_LOAD | S(LVL, HIT) | S(LVLNUM, L4) | S(SNOOP, HIT) | TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_server, KIND(LOAD_LATENCY), 0x8,
	  A_LOAD | S(LVL, HIT) | S(LVLNUM, PMEM) | S(SNOOP, HIT) | TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_server, KIND(LOAD_LATENCY), 0xc,
	  A_LOAD | S(LVL, HIT) | S(LVLNUM, ANY_CACHE) | S(REMOTE, REMOTE) | S(SNOOPX, FWD) |
	  TLB_HIT | NO_BLOCK },
	{ &intel_datasrc_goldencove, KIND(STORE_LATENCY), 0xc3,
	  A_STORE | BOTH(L2, L2) | S(SNOOP, NONE) | TLB_HIT | S(BLK, DATA) | S(BLK, ADDR) },
	{ &intel_datasrc_gracemont, KIND(LOAD_LATENCY), 0x18,
	  A_LOAD | S(LVL, HIT) | S(LVL, L3) | S(LVLNUM, L3) | S(SNOOPX, FWD) | TLB_HIT |
	  S(LOCK, LOCKED) | NO_BLOCK },
	{ &intel_datasrc_crestmont, KIND(LOAD_LATENCY), 0x48,
	  A_LOAD | BOTH(L3, L3) | S(SNOOP, HITM) | TLB_MISS | NO_BLOCK },
	{ &intel_datasrc_lioncove, KIND(LOAD_LATENCY), 0x410,
	  A_LOAD | S(LVL, HIT) | S(LVLNUM, MSC) | S(SNOOP, NONE) | TLB_MISS | NO_BLOCK },
	{ &intel_datasrc_lioncove, KIND(LOAD_LATENCY), 0x12,
	  A_LOAD | S(LVL, MISS) | S(LVLNUM, L3) | S(SNOOP, NA) | TLB_HIT | NO_BLOCK },
};

static void sources_are_decoded(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(source_cases); i++) {
		const struct source_case *c = &source_cases[i];

		KUNIT_EXPECT_EQ_MSG(test, intel_datasrc(c->line, c->kind, c->word), c->want,
				    "row %u", i);
	}
}

static void enable_bits_of_kinds(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->precise_format = 1;
	KUNIT_EXPECT_EQ(test, intel_pebs_enable_bits(xpmu, 2, KIND(PLAIN)), BIT_ULL(2));
	KUNIT_EXPECT_EQ(test, intel_pebs_enable_bits(xpmu, 2, KIND(LOAD_LATENCY)),
			BIT_ULL(2) | BIT_ULL(34));
	KUNIT_EXPECT_EQ(test, intel_pebs_enable_bits(xpmu, 3, KIND(STORE_OLD)),
			BIT_ULL(3) | BIT_ULL(63));
	KUNIT_EXPECT_EQ(test, intel_pebs_counter_bits(xpmu, 2), BIT_ULL(2) | BIT_ULL(34));
	KUNIT_EXPECT_EQ(test, intel_pebs_counter_bits(xpmu, 3),
			BIT_ULL(3) | BIT_ULL(35) | BIT_ULL(63));
	KUNIT_EXPECT_EQ(test, intel_pebs_counter_bits(xpmu, 32), BIT_ULL(32));
	xpmu->precise_format = 4;
	KUNIT_EXPECT_EQ(test, intel_pebs_counter_bits(xpmu, 3), BIT_ULL(3));
	KUNIT_EXPECT_EQ(test, intel_pebs_enable_bits(xpmu, 2, KIND(LOAD_LATENCY)), BIT_ULL(2));
	KUNIT_EXPECT_EQ(test, intel_pebs_enable_bits(xpmu, 33, KIND(PLAIN)), BIT_ULL(33));
}

static void microcode_is_asked(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE, 7, 0x27));
	KUNIT_EXPECT_TRUE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE, 7, 0x28));
	KUNIT_EXPECT_FALSE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE, 6, 0x28));
	KUNIT_EXPECT_FALSE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE_X, 6, 0x617));
	KUNIT_EXPECT_TRUE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE_X, 6, 0x618));
	KUNIT_EXPECT_FALSE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE_X, 7, 0x70b));
	KUNIT_EXPECT_TRUE(test, intel_pebs_microcode_works(INTEL_SANDYBRIDGE_X, 7, 0x70c));
	KUNIT_EXPECT_TRUE(test, intel_pebs_microcode_works(INTEL_IVYBRIDGE, 1, 0));
}

/* A store of a CPU has room for each event's next record after the interrupt. */
static void stores_have_thresholds(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, intel_pebs_config_size(0, ~0ULL), 144);
	KUNIT_EXPECT_EQ(test, intel_pebs_config_size(3, 0), 200);
	KUNIT_EXPECT_EQ(test, intel_pebs_config_size(4, 0), 32);
	KUNIT_EXPECT_EQ(test, intel_pebs_config_size(4, INTEL_PEBS_GPRS), 176);
	KUNIT_EXPECT_EQ(test, intel_pebs_config_size(5, INTEL_PEBS_MEMORY | INTEL_PEBS_XMM), 320);
	KUNIT_EXPECT_EQ(test, intel_pebs_threshold(65536, 200, 1), 326 * 200);
	KUNIT_EXPECT_EQ(test, intel_pebs_threshold(65536, 200, 4), 323 * 200);
	KUNIT_EXPECT_EQ(test, intel_pebs_threshold(1000, 200, 5), 200);
	KUNIT_EXPECT_EQ(test, intel_pebs_threshold(1000, 200, 6), 200);
}

/* A period is not lost if its record can still be written. */
static void periods_without_records_are_lost(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, intel_pebs_lost(1, 100), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_lost(0, 100), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_lost(-99, 100), 0);
	KUNIT_EXPECT_EQ(test, intel_pebs_lost(-100, 100), 1);
	KUNIT_EXPECT_EQ(test, intel_pebs_lost(-250, 100), 2);
	KUNIT_EXPECT_EQ(test, intel_pebs_lost(-(1LL << 47), 1ULL << 40), 128);
}

/* Events that reload, by their periods; a counter has 48 bits, of which a write sets 32 or all. */
static void reset_values_are_negative_periods(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	KUNIT_ASSERT_NOT_NULL(test, event);
	xpmu->width = 48;
	xpmu->write_bits = 32;
	event->hw.sample_period = 997;
	KUNIT_EXPECT_EQ(test, intel_pebs_reset_value(xpmu, event), 0);
	event->hw.flags = X86_EVENT_PRECISE | X86_EVENT_BATCH;
	KUNIT_EXPECT_EQ(test, intel_pebs_reset_value(xpmu, event), (1ULL << 48) - 997);
	event->hw.sample_period = 1;
	KUNIT_EXPECT_EQ(test, intel_pebs_reset_value(xpmu, event), 0);
	event->hw.sample_period = 1ULL << 31;
	KUNIT_EXPECT_EQ(test, intel_pebs_reset_value(xpmu, event), 0);
	xpmu->write_bits = 48;
	KUNIT_EXPECT_EQ(test, intel_pebs_reset_value(xpmu, event), (1ULL << 48) - (1ULL << 31));
}

struct weight_case {
	unsigned int	kind;
	bool		two;		/* latencies */
	u64		latency;
	u64		weight;		/* with PERF_SAMPLE_WEIGHT */
	u64		parts;		/* with PERF_SAMPLE_WEIGHT_STRUCT: var3, var2, var1 */
};

/* Cycles in transactions are 0x456, and those until the instruction retired are 0x789. */
static const struct weight_case weight_cases[] = {
	{ KIND(LOAD_LATENCY), false, 0x1234500000123, 0x00000123, 0x0789000000000123 },
	{ KIND(LOAD_LATENCY), false, 0x89abcdef, 0x89abcdef, 0x0789000089abcdef },
	{ KIND(LOAD_LATENCY), true, 0xa0045b0000123, 0x0045, 0x0789012300000045 },
	{ KIND(STORE_LATENCY), true, 0x4500000000, 0x45, 0x0789000000000045 },
	{ KIND(LOAD), true, 0x4500000123, 0x456, 0x0789000000000456 },
	{ KIND(STORE_OLD), false, 0x123, 0x456, 0x0789000000000456 },
	{ KIND(PLAIN), false, 0x123, 0x456, 0x0789000000000456 },
};

static void weights_are_cycles(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct intel_pebs_record r = { .tsx = 0xff00000456, .retire = 0x789 };
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct x86_precise_line line = { };
	struct x86_model model = { .precise = &line };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &model;
	xpmu->precise_timed = true;
	for (i = 0; i < ARRAY_SIZE(weight_cases); i++) {
		const struct weight_case *c = &weight_cases[i];

		event->hw.config_base = c->kind;
		line.flags = c->two ? X86_PRECISE_TWO_LATENCIES : 0;
		r.latency = c->latency;
		event->attr.sample_type = PERF_SAMPLE_WEIGHT;
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_weight(xpmu, event, &r), c->weight, "row %u",
				    i);
		event->attr.sample_type = PERF_SAMPLE_WEIGHT_STRUCT;
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_weight(xpmu, event, &r), c->parts, "row %u",
				    i);
	}
}

static u64 weight_of_retirement(struct x86_pmu *xpmu, struct perf_event *event)
{
	struct intel_pebs_record r = { .retire = 0x789 };

	return intel_pebs_weight(xpmu, event, &r) >> 48;
}

/* Without the capability the bits are reserved. Fixed counter 0 of some lines has none. */
static void retire_latency_needs_capability(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct x86_precise_line line = { };
	struct x86_model model = { .precise = &line };

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &model;
	event->attr.sample_type = PERF_SAMPLE_WEIGHT_STRUCT;
	event->hw.counters = X86_FIXED(0);
	KUNIT_EXPECT_EQ(test, weight_of_retirement(xpmu, event), 0);
	xpmu->precise_timed = true;
	KUNIT_EXPECT_EQ(test, weight_of_retirement(xpmu, event), 0x789);
	line.flags = X86_PRECISE_RETIRE_GENERAL;
	KUNIT_EXPECT_EQ(test, weight_of_retirement(xpmu, event), 0);
	event->hw.counters = BIT_ULL(0);
	KUNIT_EXPECT_EQ(test, weight_of_retirement(xpmu, event), 0x789);
}

#define TXN(_flags)	((u64)(_flags) << 32 | 0x456)

/* EAX of an abort by XABORT has bit 0 set, and the code in its highest byte. */
static void aborts_have_their_code(struct kunit *test)
{
	const u64 abort = PERF_TXN_TRANSACTION | PERF_TXN_SYNC;
	struct intel_pebs_record r = { .tsx = TXN(abort) };
	u64 w[18];

	fill_words(w, ARRAY_SIZE(w));
	w[2] = 0xffffffff5a000001;
	/* Not what the interrupt has in EAX. */
	KUNIT_EXPECT_EQ(test, intel_pebs_transaction(&r), abort);
	r.gprs = w;
	KUNIT_EXPECT_EQ(test, intel_pebs_transaction(&r), abort | 0x5aULL << PERF_TXN_ABORT_SHIFT);
	w[2] = 0x5a000002;
	KUNIT_EXPECT_EQ(test, intel_pebs_transaction(&r), abort);
	w[2] = 0x5a000001;
	r.tsx = TXN(PERF_TXN_ELISION | PERF_TXN_CONFLICT);
	KUNIT_EXPECT_EQ(test, intel_pebs_transaction(&r), PERF_TXN_ELISION | PERF_TXN_CONFLICT);
	r.tsx = 0xffffff0000000456;
	KUNIT_EXPECT_EQ(test, intel_pebs_transaction(&r), 0ULL);
}

struct groups_case {
	u64	type;
	u64	regs;
	u32	groups;
};

static const struct groups_case groups_cases[] = {
	{ PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, 0, 0 },
	{ PERF_SAMPLE_ADDR, 0, INTEL_PEBS_MEMORY },
	{ PERF_SAMPLE_WEIGHT_STRUCT, 0, INTEL_PEBS_MEMORY },
	{ PERF_SAMPLE_CALLCHAIN, 0, INTEL_PEBS_GPRS },
	{ PERF_SAMPLE_REGS_INTR, 1, INTEL_PEBS_GPRS },
	{ PERF_SAMPLE_REGS_INTR, BIT_ULL(PERF_REG_X86_XMM3), INTEL_PEBS_GPRS | INTEL_PEBS_XMM },
	{ PERF_SAMPLE_TRANSACTION, 0, INTEL_PEBS_GPRS | INTEL_PEBS_MEMORY },
};

/* Adaptive records have what the fields of a sample are made of. */
static void fields_need_their_groups(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, event);
	for (i = 0; i < ARRAY_SIZE(groups_cases); i++) {
		const struct groups_case *c = &groups_cases[i];

		event->attr.sample_type = c->type;
		event->attr.sample_regs_intr = c->regs;
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_groups(event), c->groups, "row %u", i);
	}
	event->hw.flags = X86_EVENT_BRANCHES;
	event->attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	KUNIT_EXPECT_EQ(test, intel_pebs_groups(event), INTEL_PEBS_BRANCHES);
}

/* SDM 3B, MSR_PEBS_DATA_CFG: bits 31:24 are the number of branches less 1. */
static void config_has_the_number_of_branches(struct kunit *test)
{
	static const struct x86_branches branches = { .depth = 32 };
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->branches = &branches;
	KUNIT_EXPECT_EQ(test, intel_pebs_config(xpmu, BIT(0) | BIT(2)), 0x5);
	KUNIT_EXPECT_EQ(test, intel_pebs_config(xpmu, BIT(3)), 0x1f000008);
	KUNIT_EXPECT_EQ(test, intel_pebs_config_size(4, 0x1f000008), (4 + 32 * 3) * 8);
}

/* Records may have the groups that open events need, and no others. */
static void groups_are_those_of_open_events(struct kunit *test)
{
	struct perf_event *large = kunit_kzalloc(test, sizeof(*large), GFP_KERNEL);
	struct perf_event *small = kunit_kzalloc(test, sizeof(*small), GFP_KERNEL);
	const u32 both = INTEL_PEBS_XMM | INTEL_PEBS_GPRS;

	KUNIT_ASSERT_NOT_NULL(test, large);
	KUNIT_ASSERT_NOT_NULL(test, small);
	if (intel_pebs_open_groups())
		kunit_skip(test, "precise events are open");
	large->hw.event_base = both;
	small->hw.event_base = INTEL_PEBS_GPRS;
	intel_pebs_add_groups(large);
	KUNIT_EXPECT_EQ(test, intel_pebs_open_groups(), both);
	intel_pebs_add_groups(small);
	KUNIT_EXPECT_EQ(test, intel_pebs_open_groups(), both);
	intel_pebs_drop_groups(large);
	KUNIT_EXPECT_EQ(test, intel_pebs_open_groups(), INTEL_PEBS_GPRS);
	intel_pebs_drop_groups(small);
	KUNIT_EXPECT_EQ(test, intel_pebs_open_groups(), 0);
}

/* Addresses of user space, and of the kernel. */
#define USER		0x1000ULL
#define KERNEL		((u64)(unsigned long)pebs_code)

struct address_case {
	bool	no_user, no_kernel;	/* the event excludes them */
	bool	insn_first;
	u64	insn, next;
	u64	want;
	bool	exact;
};

/* An address without the flag of an exact one is that of the next instruction. */
static void addresses_are_at_levels_of_the_event(struct kunit *test)
{
	const struct address_case cases[] = {
		{ false, false, true, USER, USER + 4, USER, true },
		{ false, false, false, USER, USER + 4, USER + 4, false },
		{ false, false, true, 0, USER + 4, USER + 4, false },
		{ false, false, true, USER, 0, USER, true },
		{ false, false, false, USER, KERNEL, KERNEL, false },
		{ false, true, false, USER, KERNEL, USER, true },
		{ false, true, true, USER, KERNEL, USER, true },
		{ false, true, true, KERNEL, USER, USER, false },
		{ false, true, false, KERNEL, USER, USER, false },
		{ true, false, true, USER, KERNEL, KERNEL, false },
		{ true, false, false, KERNEL, USER, KERNEL, true },
		/* There is no sample of these. */
		{ false, true, true, KERNEL, 0, KERNEL, true },
		{ false, true, true, KERNEL, KERNEL + 1, KERNEL, true },
		{ false, true, true, 0, KERNEL, KERNEL, false },
		{ true, false, false, USER, USER + 4, USER + 4, false },
	};
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, event);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct address_case *c = &cases[i];
		bool exact;

		event->attr.exclude_user = c->no_user;
		event->attr.exclude_kernel = c->no_kernel;
		KUNIT_EXPECT_EQ_MSG(test, intel_pebs_choose_ip(event, c->insn, c->next,
							       c->insn_first, &exact),
				    c->want, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, exact, c->exact, "row %u", i);
	}
}

#ifdef CONFIG_HOTPLUG_SMT
static int pebs_open_with_smt(struct perf_event *event, enum cpuhp_smt_control control)
{
	enum cpuhp_smt_control before = cpu_smt_control;
	int ret;

	cpu_smt_control = control;
	ret = x86_event_init(event);
	cpu_smt_control = before;
	if (!ret)
		event->destroy(event);
	return ret;
}

/* Erratum: the event disturbs the core's second thread, which can be turned on later. */
static void memory_events_need_smt_off(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	if (!x86_nr_pmus || sched_smt_active())
		kunit_skip(test, "no PMU, or two threads are on");
	xpmu->model = &haswell_model;
	xpmu->counters = ARCH(8, 3);
	xpmu->select_mask = X86_RAW_EVENT_MASK;
	cpumask_copy(&xpmu->cpus, cpu_possible_mask);
	xpmu->pmu.type = PERF_TYPE_RAW;
	event->pmu = &xpmu->pmu;
	event->cpu = -1;
	event->attr.type = PERF_TYPE_RAW;
	event->attr.config = 0x81d0;
	KUNIT_EXPECT_EQ(test, pebs_open_with_smt(event, CPU_SMT_ENABLED), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, pebs_open_with_smt(event, CPU_SMT_DISABLED), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, pebs_open_with_smt(event, CPU_SMT_FORCE_DISABLED), 0);
	KUNIT_EXPECT_EQ(test, pebs_open_with_smt(event, CPU_SMT_NOT_SUPPORTED), 0);
	event->attr.config = 0x00c4;
	KUNIT_EXPECT_EQ(test, pebs_open_with_smt(event, CPU_SMT_DISABLED), 0);
}
#endif

/*
 * A status with two overflows, of counters that the interrupted code programs: each of them is
 * looked at again, since the record can be of either.
 */
static void records_of_unowned_counters_are_missed(struct kunit *test)
{
	u64 set = ~0ULL, missed = 0, both = BIT(0) | BIT(1);
	struct x86_pmu_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded) {
		cpu->precise = both;
		cpu->loaded = both;
		set = intel_pebs_overflowed(cpu, both);
		missed = cpu->missed;
		cpu->precise = 0;
		cpu->loaded = 0;
		x86_cpu_clear_bits(missed, both);
	}
	local_irq_restore(flags);

	if (set == ~0ULL)
		kunit_skip(test, "there are events on this CPU");
	KUNIT_EXPECT_EQ(test, set, 0ULL);
	KUNIT_EXPECT_EQ(test, missed & both, both);
}

static struct kunit_case x86_pmu_pebs_cases[] = {
	KUNIT_CASE(sizes_of_formats),
	KUNIT_CASE(old_records_are_parsed),
	KUNIT_CASE(adaptive_records_are_parsed),
	KUNIT_CASE(registers_are_in_order),
	KUNIT_CASE(insn_before_is_found),
	KUNIT_CASE(events_have_their_rows),
	KUNIT_CASE(sources_are_decoded),
	KUNIT_CASE(enable_bits_of_kinds),
	KUNIT_CASE(microcode_is_asked),
	KUNIT_CASE(stores_have_thresholds),
	KUNIT_CASE(periods_without_records_are_lost),
	KUNIT_CASE(reset_values_are_negative_periods),
	KUNIT_CASE(weights_are_cycles),
	KUNIT_CASE(retire_latency_needs_capability),
	KUNIT_CASE(aborts_have_their_code),
	KUNIT_CASE(fields_need_their_groups),
	KUNIT_CASE(groups_are_those_of_open_events),
	KUNIT_CASE(config_has_the_number_of_branches),
	KUNIT_CASE(addresses_are_at_levels_of_the_event),
	KUNIT_CASE(records_of_unowned_counters_are_missed),
#ifdef CONFIG_HOTPLUG_SMT
	KUNIT_CASE(memory_events_need_smt_off),
#endif
	{ }
};

static struct kunit_suite x86_pmu_pebs_suite = {
	.name		= "x86_pmu_pebs",
	.test_cases	= x86_pmu_pebs_cases,
};

kunit_test_suite(x86_pmu_pebs_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: precise samples");
MODULE_LICENSE("GPL");
