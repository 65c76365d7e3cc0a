// SPDX-License-Identifier: GPL-2.0
/* Precise samples: records of each format, events of each line, the instruction before another. */
#include <kunit/test.h>
#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

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
		KUNIT_EXPECT_NULL(test, r.xmm);
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
	{ &intel_pebs_haswell, 0x01c2, GENERAL(4), KIND(NO_ADDRESS) },
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
	  A_STORE | S(LVL, HIT) | S(LVL, L1) | S(LVLNUM, NA) | S(SNOOP, NA) | TLB_HIT |
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
	xpmu->precise_format = 4;
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

/* A period whose record can still be written is not lost. */
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
	{ }
};

static struct kunit_suite x86_pmu_pebs_suite = {
	.name		= "x86_pmu_pebs",
	.test_cases	= x86_pmu_pebs_cases,
};

kunit_test_suite(x86_pmu_pebs_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: precise samples");
MODULE_LICENSE("GPL");
