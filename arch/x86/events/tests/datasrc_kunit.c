// SPDX-License-Identifier: GPL-2.0
/*
 * Where the data of a load or a store was: each code of each line of processors, with each flag.
 *
 * Expected values are those of the manual's tables: SDM 3B, "Data Source Encoding for Load Latency
 * Record" and those of later lines.
 */
#include <kunit/test.h>

#include "../intel/models.h"
#include "../intel/pebs.h"

#define S(_field, _value)	PERF_MEM_S(_field, _value)

/* A hit, where a cache or memory has both names, and where it has the newer one alone. */
#define FOUND(_lvl, _num)	(S(LVL, HIT) | S(LVL, _lvl) | S(LVLNUM, _num))
#define AT(_num)		(S(LVL, HIT) | S(LVLNUM, _num))
#define AWAY			S(REMOTE, REMOTE)

/* What the load's own L3 does not have, and no more is shown. */
#define MISSED_L3		(S(LVL, MISS) | S(LVLNUM, L3) | S(SNOOP, NA))

static const u64 codes_nehalem[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x3] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x4] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x5] = FOUND(L3, L3) | S(SNOOP, HIT),
	[0x6] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x7] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x8] = FOUND(REM_CCE1, L3) | AWAY | S(SNOOP, HIT),
	[0x9] = FOUND(REM_CCE1, L3) | AWAY | S(SNOOP, HITM),
	[0xa] = FOUND(LOC_RAM, RAM) | S(SNOOP, HIT),
	[0xb] = FOUND(REM_RAM1, L3) | AWAY | S(SNOOP, HIT),
	[0xc] = FOUND(LOC_RAM, RAM) | S(SNOOP, NONE) | S(SNOOP, MISS),
	[0xd] = FOUND(REM_RAM1, RAM) | AWAY | S(SNOOP, NONE) | S(SNOOP, MISS),
	[0xe] = FOUND(IO, NA) | S(SNOOP, NONE),
	[0xf] = FOUND(UNC, NA) | S(SNOOP, NONE),
};

static const u64 codes_sandybridge[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x3] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x4] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x5] = FOUND(L3, L3) | S(SNOOP, MISS),
	[0x6] = FOUND(L3, L3) | S(SNOOP, HIT),
	[0x7] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x8] = FOUND(REM_CCE1, L3) | AWAY | S(SNOOP, HIT),
	[0x9] = FOUND(REM_CCE1, L3) | AWAY | S(SNOOP, HITM),
	[0xa] = FOUND(LOC_RAM, RAM) | S(SNOOP, HIT),
	[0xb] = FOUND(REM_RAM1, L3) | AWAY | S(SNOOP, HIT),
	[0xc] = FOUND(LOC_RAM, RAM) | S(SNOOP, NONE) | S(SNOOP, MISS),
	[0xd] = FOUND(REM_RAM1, RAM) | AWAY | S(SNOOP, NONE) | S(SNOOP, MISS),
	[0xe] = FOUND(IO, NA) | S(SNOOP, NONE),
	[0xf] = FOUND(UNC, NA) | S(SNOOP, NONE),
};

static const u64 codes_client[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x3] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x4] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x5] = FOUND(L3, L3) | S(SNOOP, MISS),
	[0x6] = FOUND(L3, L3) | S(SNOOP, HIT),
	[0x7] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x8] = AT(L4) | S(SNOOP, HIT),
	[0x9] = AT(L4) | AWAY | S(SNOOP, HIT),
	[0xa] = FOUND(LOC_RAM, RAM) | S(SNOOP, HIT),
	[0xb] = AT(RAM) | AWAY | S(SNOOP, NONE),
	[0xc] = AT(ANY_CACHE) | AWAY | S(SNOOPX, FWD),
	[0xd] = AT(ANY_CACHE) | AWAY | S(SNOOP, HITM),
	[0xe] = FOUND(IO, NA) | S(SNOOP, NONE),
	[0xf] = FOUND(UNC, NA) | S(SNOOP, NONE),
};

static const u64 codes_server[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x3] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x4] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x5] = FOUND(L3, L3) | S(SNOOP, MISS),
	[0x6] = FOUND(L3, L3) | S(SNOOP, HIT),
	[0x7] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x8] = AT(PMEM) | S(SNOOP, HIT),
	[0x9] = AT(PMEM) | AWAY | S(SNOOP, HIT),
	[0xa] = FOUND(LOC_RAM, RAM) | S(SNOOP, HIT),
	[0xb] = AT(RAM) | AWAY | S(SNOOP, NONE),
	[0xc] = AT(ANY_CACHE) | AWAY | S(SNOOPX, FWD),
	[0xd] = AT(ANY_CACHE) | AWAY | S(SNOOP, HITM),
	[0xe] = FOUND(IO, NA) | S(SNOOP, NONE),
	[0xf] = FOUND(UNC, NA) | S(SNOOP, NONE),
};

static const u64 codes_gracemont[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x3] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x4] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x5] = FOUND(L3, L3) | S(SNOOP, HIT),
	[0x6] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x7] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x8] = FOUND(L3, L3) | S(SNOOPX, FWD),
	[0x9] = AT(L4) | AWAY | S(SNOOP, HIT),
	[0xa] = FOUND(LOC_RAM, RAM) | S(SNOOP, HIT),
	[0xb] = AT(RAM) | AWAY | S(SNOOP, NONE),
	[0xc] = AT(ANY_CACHE) | AWAY | S(SNOOPX, FWD),
	[0xd] = AT(ANY_CACHE) | AWAY | S(SNOOP, HITM),
	[0xe] = FOUND(IO, NA) | S(SNOOP, NONE),
	[0xf] = FOUND(UNC, NA) | S(SNOOP, NONE),
};

static const u64 codes_crestmont[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x3] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x4] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x5] = FOUND(L3, L3) | S(SNOOP, MISS),
	[0x6] = FOUND(L3, L3) | S(SNOOP, HIT),
	[0x7] = FOUND(L3, L3) | S(SNOOPX, FWD),
	[0x8] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0x9] = MISSED_L3,
	[0xa] = FOUND(LOC_RAM, RAM) | S(SNOOP, NONE),
	[0xb] = AT(RAM) | AWAY | S(SNOOP, NONE),
	[0xc] = AT(RAM) | AWAY | S(SNOOPX, FWD),
	[0xd] = AT(RAM) | AWAY | S(SNOOP, HITM),
	[0xe] = FOUND(IO, NA) | S(SNOOP, NONE),
	[0xf] = FOUND(UNC, NA) | S(SNOOP, NONE),
	[0x10 ... 0x1f] = MISSED_L3,
};

static const u64 codes_lioncove[] = {
	[0x0] = MISSED_L3,
	[0x1] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x2] = FOUND(L1, L1) | S(SNOOP, NONE),
	[0x3] = FOUND(LFB, LFB) | S(SNOOP, NONE),
	[0x4] = MISSED_L3,
	[0x5] = FOUND(L2, L2) | S(SNOOP, NONE),
	[0x6] = AT(L2_MHB) | S(SNOOP, NONE),
	[0x7] = MISSED_L3,
	[0x8] = FOUND(L3, L3) | S(SNOOP, NONE),
	[0x9 ... 0xb] = MISSED_L3,
	[0xc] = FOUND(L3, L3) | S(SNOOPX, FWD),
	[0xd] = FOUND(L3, L3) | S(SNOOP, HITM),
	[0xe] = MISSED_L3,
	[0xf] = S(LVL, MISS) | S(LVLNUM, L3) | S(SNOOP, HITM),
	[0x10] = AT(MSC) | S(SNOOP, NONE),
	[0x11] = FOUND(LOC_RAM, RAM) | S(SNOOP, NONE),
	[0x12 ... 0xff] = MISSED_L3,
};

/**
 * struct codes_case - the word of a line of processors
 * @name: of the line
 * @line: table
 * @code: what each code means; all codes that the word can have
 * @nr: number of codes
 * @tlb: bit of a miss of the second TLB; 0: the word has no such bit
 * @lock: bit of a locked access
 * @data: bit of a load that waited for a store's data
 * @address: bit of a load that waited for the address of a store
 * @unused: bits without a meaning
 */
struct codes_case {
	const char			*name;
	const struct intel_datasrc_line	*line;
	const u64			*code;
	unsigned int			nr;
	u32				tlb, lock, data, address, unused;
};

#define CODES(_codes)	.code = (_codes), .nr = ARRAY_SIZE(_codes)

static const struct codes_case codes_cases[] = {
	{ "nehalem", &intel_datasrc_nehalem, CODES(codes_nehalem), .unused = 0xf0 },
	{ "sandybridge", &intel_datasrc_sandybridge, CODES(codes_sandybridge),
	  .tlb = BIT(4), .lock = BIT(5), .unused = 0xc0 },
	{ "skylake", &intel_datasrc_skylake, CODES(codes_client),
	  .tlb = BIT(4), .lock = BIT(5), .unused = 0xc0 },
	{ "server", &intel_datasrc_server, CODES(codes_server),
	  .tlb = BIT(4), .lock = BIT(5), .unused = 0xc0 },
	{ "goldencove", &intel_datasrc_goldencove, CODES(codes_client),
	  .tlb = BIT(4), .lock = BIT(5), .data = BIT(6), .address = BIT(7), .unused = 0x300 },
	{ "goldencove server", &intel_datasrc_goldencove_server, CODES(codes_server),
	  .tlb = BIT(4), .lock = BIT(5), .data = BIT(6), .address = BIT(7), .unused = 0x300 },
	{ "gracemont", &intel_datasrc_gracemont, CODES(codes_gracemont),
	  .lock = BIT(4), .tlb = BIT(5), .data = BIT(6), .unused = 0x180 },
	{ "crestmont", &intel_datasrc_crestmont, CODES(codes_crestmont),
	  .lock = BIT(5), .tlb = BIT(6), .data = BIT(7), .unused = 0x300 },
	{ "lioncove", &intel_datasrc_lioncove, CODES(codes_lioncove),
	  .tlb = BIT(10), .lock = BIT(11), .data = BIT(12), .address = BIT(13),
	  .unused = 0xc300 },
};

static void describe_codes(const struct codes_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(codes, codes_cases, describe_codes);

static u64 codes_flags(const struct codes_case *c, u32 flags)
{
	u64 want = 0;

	if (!c->tlb)
		want |= S(TLB, NA);
	else if (flags & c->tlb)
		want |= S(TLB, MISS) | S(TLB, L2);
	else
		want |= S(TLB, HIT) | S(TLB, L1) | S(TLB, L2);
	if (!c->lock)
		want |= S(LOCK, NA);
	else if (flags & c->lock)
		want |= S(LOCK, LOCKED);
	if (flags & c->data)
		want |= S(BLK, DATA);
	if (flags & c->address)
		want |= S(BLK, ADDR);
	return flags & (c->data | c->address) ? want : want | S(BLK, NA);
}

/* Each code with each set of flags and of bits without a meaning, of a load and of a store. */
static void codes_say_where_data_was(struct kunit *test)
{
	const struct codes_case *c = test->param_value;
	u32 all = c->tlb | c->lock | c->data | c->address | c->unused, flags = 0;
	unsigned int code;

	do {
		for (code = 0; code < c->nr; code++) {
			u64 want = c->code[code] | codes_flags(c, flags);
			u64 word = flags | code;

			KUNIT_ASSERT_EQ_MSG(test, S(OP, LOAD) | want,
					    intel_datasrc(c->line, X86_PRECISE_LOAD_LATENCY, word),
					    "load, %#llx", word);
			KUNIT_ASSERT_EQ_MSG(test, S(OP, STORE) | want,
					    intel_datasrc(c->line, X86_PRECISE_STORE_LATENCY, word),
					    "store, %#llx", word);
		}
		flags = (flags - all) & all;
	} while (flags);
}

/**
 * struct store_case - a record that has no code
 * @kind: X86_PRECISE_*
 * @word: of the record
 * @want: perf_mem_data_src
 */
struct store_case {
	unsigned int	kind;
	u64		word;
	u64		want;
};

#define STORE_TO_L1(_result)						\
	(S(OP, STORE) | S(LVL, L1) | S(LVL, _result) | S(LVLNUM, NA) | S(SNOOP, NA) | S(BLK, NA))
#define SECOND_TLB(_miss)	(S(TLB, L2) | ((_miss) ? S(TLB, MISS) : S(TLB, HIT)))
#define NOT_SAID		(S(TLB, NA) | S(LOCK, NA))

/* SDM 3B, "Layout of Precise Store Information In PEBS Record": bits 0, 4 and 5. */
static const struct store_case store_cases[] = {
	{ X86_PRECISE_STORE_OLD, 0x00, STORE_TO_L1(MISS) | SECOND_TLB(0) },
	{ X86_PRECISE_STORE_OLD, 0x01, STORE_TO_L1(HIT) | SECOND_TLB(0) },
	{ X86_PRECISE_STORE_OLD, 0x10, STORE_TO_L1(MISS) | SECOND_TLB(1) },
	{ X86_PRECISE_STORE_OLD, 0x11, STORE_TO_L1(HIT) | SECOND_TLB(1) },
	{ X86_PRECISE_STORE_OLD, 0x20, STORE_TO_L1(MISS) | SECOND_TLB(0) | S(LOCK, LOCKED) },
	{ X86_PRECISE_STORE_OLD, 0x21, STORE_TO_L1(HIT) | SECOND_TLB(0) | S(LOCK, LOCKED) },
	{ X86_PRECISE_STORE_OLD, 0x30, STORE_TO_L1(MISS) | SECOND_TLB(1) | S(LOCK, LOCKED) },
	{ X86_PRECISE_STORE_OLD, 0x31, STORE_TO_L1(HIT) | SECOND_TLB(1) | S(LOCK, LOCKED) },
	{ X86_PRECISE_STORE_OLD, 0xce, STORE_TO_L1(MISS) | SECOND_TLB(0) },
	{ X86_PRECISE_STORE, 0x00, STORE_TO_L1(MISS) | NOT_SAID },
	{ X86_PRECISE_STORE, 0x01, STORE_TO_L1(HIT) | NOT_SAID },
	{ X86_PRECISE_STORE, 0x30, STORE_TO_L1(MISS) | NOT_SAID },
	{ X86_PRECISE_STORE, 0xff, STORE_TO_L1(HIT) | NOT_SAID },
	{ X86_PRECISE_LOAD, 0x00,
	  S(OP, LOAD) | S(LVL, NA) | S(LVLNUM, NA) | S(SNOOP, NA) | S(BLK, NA) | NOT_SAID },
	{ X86_PRECISE_LOAD, 0xff,
	  S(OP, LOAD) | S(LVL, NA) | S(LVLNUM, NA) | S(SNOOP, NA) | S(BLK, NA) | NOT_SAID },
	{ X86_PRECISE_PLAIN, 0xff, PERF_MEM_NA },
};

static void words_without_code_are_decoded(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(store_cases); i++) {
		const struct store_case *c = &store_cases[i];

		KUNIT_EXPECT_EQ_MSG(test, c->want,
				    intel_datasrc(&intel_datasrc_sandybridge, c->kind, c->word),
				    "row %u", i);
	}
}

struct kind_case {
	unsigned int	kind;
	bool		latency;
};

static const struct kind_case kind_cases[] = {
	{ X86_PRECISE_PLAIN, false },
	{ X86_PRECISE_LOAD_LATENCY, true },
	{ X86_PRECISE_STORE_OLD, false },
	{ X86_PRECISE_LOAD, false },
	{ X86_PRECISE_STORE, false },
	{ X86_PRECISE_STORE_LATENCY, true },
};

static void kinds_have_their_fields(struct kunit *test)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(kind_cases), X86_PRECISE_KINDS);
	for (i = 0; i < ARRAY_SIZE(kind_cases); i++) {
		const struct kind_case *c = &kind_cases[i];

		KUNIT_EXPECT_EQ_MSG(test, intel_datasrc_has_latency(c->kind), c->latency,
				    "kind %u", c->kind);
	}
}

static struct kunit_case datasrc_cases[] = {
	KUNIT_CASE_PARAM(codes_say_where_data_was, codes_gen_params),
	KUNIT_CASE(words_without_code_are_decoded),
	KUNIT_CASE(kinds_have_their_fields),
	{ }
};

static struct kunit_suite datasrc_suite = {
	.name		= "x86_pmu_datasrc",
	.test_cases	= datasrc_cases,
};

kunit_test_suite(datasrc_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: where data was");
MODULE_LICENSE("GPL");
