// SPDX-License-Identifier: GPL-2.0
/*
 * Where the data of a load or a store was: from the codes of the processors to perf_mem_data_src.
 *
 * Manual: SDM 3B, "Data Source Encoding for Load Latency Record", "Layout of Precise Store
 * Information In PEBS Record", and the sections of later lines.
 *
 * No hardware is accessed.
 */
#include <linux/array_size.h>
#include <linux/perf_event.h>

#include "pebs.h"

#define S(_field, _value)	PERF_MEM_S(_field, _value)

/* A level in both fields, LVL and LVLNUM; @_snoop is the result of the snoop of other caches. */
#define LEVEL(_lvl, _num, _snoop)						\
	(S(LVL, HIT) | S(LVL, _lvl) | S(LVLNUM, _num) | S(SNOOP, _snoop))
#define REMOTE(_num)		(S(LVL, HIT) | S(LVLNUM, _num) | S(REMOTE, REMOTE))
#define PLACE(_num)		(S(LVL, HIT) | S(LVLNUM, _num))

#define UNKNOWN		(S(LVL, MISS) | S(LVLNUM, L3) | S(SNOOP, NA))
#define IN_L1		LEVEL(L1, L1, NONE)
#define IN_BUFFER		LEVEL(LFB, LFB, NONE)
#define IN_L2		LEVEL(L2, L2, NONE)
#define IN_L3(_snoop)	LEVEL(L3, L3, _snoop)
#define IN_L3_FORWARD	(S(LVL, HIT) | S(LVL, L3) | S(LVLNUM, L3) | S(SNOOPX, FWD))
#define EITHER		(S(SNOOP, NONE) | S(SNOOP, MISS))
#define IN_IO		LEVEL(IO, NA, NONE)
#define IN_UNCACHED	LEVEL(UNC, NA, NONE)

/* The codes from 0 on; lines of processors differ in some. */
#define LEVELS(_5, _6, _8, _9, _b, _c, _d)				\
	UNKNOWN, IN_L1, IN_BUFFER, IN_L2, IN_L3(NONE), _5, _6, IN_L3(HITM), _8, _9,	\
	LEVEL(LOC_RAM, RAM, HIT), _b, _c, _d, IN_IO, IN_UNCACHED

#define LEVELS_OLD(_5, _6)						\
	LEVELS(_5, _6,							\
	       LEVEL(REM_CCE1, L3, HIT) | S(REMOTE, REMOTE),		\
	       LEVEL(REM_CCE1, L3, HITM) | S(REMOTE, REMOTE),		\
	       LEVEL(REM_RAM1, L3, HIT) | S(REMOTE, REMOTE),		\
	       S(LVL, HIT) | S(LVL, LOC_RAM) | S(LVLNUM, RAM) | EITHER,	\
	       S(LVL, HIT) | S(LVL, REM_RAM1) | S(LVLNUM, RAM) | S(REMOTE, REMOTE) | EITHER)

/* From Skylake on; codes 8 and 9 are another level of memory. */
#define LEVELS_NEW(_5, _6, _8, _level)					\
	LEVELS(_5, _6, _8, REMOTE(_level) | S(SNOOP, HIT),		\
	       REMOTE(RAM) | S(SNOOP, NONE),				\
	       REMOTE(ANY_CACHE) | S(SNOOPX, FWD),			\
	       REMOTE(ANY_CACHE) | S(SNOOP, HITM))

static const u64 levels_nehalem[] = { LEVELS_OLD(IN_L3(HIT), IN_L3(HITM)) };
static const u64 levels_sandybridge[] = { LEVELS_OLD(IN_L3(MISS), IN_L3(HIT)) };

static const u64 levels_client[] = {
	LEVELS_NEW(IN_L3(MISS), IN_L3(HIT), PLACE(L4) | S(SNOOP, HIT), L4)
};

static const u64 levels_server[] = {
	LEVELS_NEW(IN_L3(MISS), IN_L3(HIT), PLACE(PMEM) | S(SNOOP, HIT), PMEM)
};

static const u64 levels_gracemont[] = {
	LEVELS_NEW(IN_L3(HIT), IN_L3(HITM), IN_L3_FORWARD, L4)
};

static const u64 levels_crestmont[] = {
	UNKNOWN, IN_L1, IN_BUFFER, IN_L2, IN_L3(NONE), IN_L3(MISS), IN_L3(HIT), IN_L3_FORWARD,
	IN_L3(HITM), UNKNOWN,
	[0xa] = LEVEL(LOC_RAM, RAM, NONE),
	[0xb] = REMOTE(RAM) | S(SNOOP, NONE),
	[0xc] = REMOTE(RAM) | S(SNOOPX, FWD),
	[0xd] = REMOTE(RAM) | S(SNOOP, HITM),
	[0xe] = IN_IO, [0xf] = IN_UNCACHED,
};

static const u64 levels_lioncove[] = {
	UNKNOWN, IN_L1, IN_L1, IN_BUFFER, UNKNOWN, IN_L2,
	[0x6] = PLACE(L2_MHB) | S(SNOOP, NONE),
	[0x7] = UNKNOWN, [0x8] = IN_L3(NONE), [0x9] = UNKNOWN, [0xa] = UNKNOWN, [0xb] = UNKNOWN,
	[0xc] = IN_L3_FORWARD, [0xd] = IN_L3(HITM), [0xe] = UNKNOWN,
	[0xf] = S(LVL, MISS) | S(LVLNUM, L3) | S(SNOOP, HITM),
	[0x10] = PLACE(MSC) | S(SNOOP, NONE),
	[0x11] = LEVEL(LOC_RAM, RAM, NONE),
};

#define LINE_OF(_levels, _bits)							\
	.level = (_levels), .nr = ARRAY_SIZE(_levels), .code = (1U << (_bits)) - 1
#define LINE(_levels)	LINE_OF(_levels, 4)

/* The codes alone. */
const struct intel_datasrc_line intel_datasrc_nehalem = { LINE(levels_nehalem) };

#define BITS_OLD	.tlb = BIT(4), .lock = BIT(5)
#define BITS_NEW	BITS_OLD, .block_data = BIT(6), .block_address = BIT(7)

const struct intel_datasrc_line intel_datasrc_sandybridge = { LINE(levels_sandybridge), BITS_OLD };
const struct intel_datasrc_line intel_datasrc_skylake = { LINE(levels_client), BITS_OLD };
const struct intel_datasrc_line intel_datasrc_server = { LINE(levels_server), BITS_OLD };
const struct intel_datasrc_line intel_datasrc_goldencove = { LINE(levels_client), BITS_NEW };
const struct intel_datasrc_line intel_datasrc_goldencove_server = {
	LINE(levels_server), BITS_NEW
};

const struct intel_datasrc_line intel_datasrc_gracemont = {
	LINE(levels_gracemont),
	.lock = BIT(4), .tlb = BIT(5), .block_data = BIT(6),
};

const struct intel_datasrc_line intel_datasrc_crestmont = {
	LINE_OF(levels_crestmont, 5),
	.lock = BIT(5), .tlb = BIT(6), .block_data = BIT(7),
};

const struct intel_datasrc_line intel_datasrc_lioncove = {
	LINE_OF(levels_lioncove, 8),
	.tlb = BIT(10), .lock = BIT(11), .block_data = BIT(12), .block_address = BIT(13),
};

/**
 * intel_datasrc_has_latency - does a record have the latency of an access?
 * @kind: X86_PRECISE_*
 *
 * Context: any.
 * Return: true for a record with a latency
 */
bool intel_datasrc_has_latency(unsigned int kind)
{
	return kind == X86_PRECISE_LOAD_LATENCY || kind == X86_PRECISE_STORE_LATENCY;
}

static u64 datasrc_tlb(const struct intel_datasrc_line *line, u64 word)
{
	if (!line->tlb)
		return S(TLB, NA);
	return word & line->tlb ? S(TLB, MISS) | S(TLB, L2)
				: S(TLB, HIT) | S(TLB, L1) | S(TLB, L2);
}

/* The bit of a precise store is about the second TLB alone: the first one is not shown. */
static u64 datasrc_store_tlb(const struct intel_datasrc_line *line, u64 word)
{
	return S(TLB, L2) | (word & line->tlb ? S(TLB, MISS) : S(TLB, HIT));
}

static u64 datasrc_lock(const struct intel_datasrc_line *line, u64 word)
{
	if (!line->lock)
		return S(LOCK, NA);
	return word & line->lock ? S(LOCK, LOCKED) : 0;
}

static u64 datasrc_block(const struct intel_datasrc_line *line, u64 word)
{
	u64 block = (word & line->block_data ? S(BLK, DATA) : 0) |
		    (word & line->block_address ? S(BLK, ADDR) : 0);

	return block ?: S(BLK, NA);
}

static u64 datasrc_level(const struct intel_datasrc_line *line, u64 word)
{
	u64 code = word & line->code;

	return code < line->nr ? line->level[code] : UNKNOWN;
}

static u64 datasrc_of_access(const struct intel_datasrc_line *line, u64 word)
{
	return datasrc_level(line, word) | datasrc_tlb(line, word) | datasrc_lock(line, word) |
	       datasrc_block(line, word);
}

#define NOTHING_BUT_L1	(S(LVLNUM, NA) | S(SNOOP, NA) | S(BLK, NA))

/* Bit 0: the store hit L1. */
static u64 datasrc_of_store(u64 word)
{
	return NOTHING_BUT_L1 | S(LVL, L1) | (word & BIT(0) ? S(LVL, HIT) : S(LVL, MISS));
}

/**
 * intel_datasrc - decode where data was
 * @line: codes of the line of processors
 * @kind: X86_PRECISE_*: what the record is of
 * @word: the record's word
 *
 * Context: any.
 * Return: value of perf_mem_data_src
 */
u64 intel_datasrc(const struct intel_datasrc_line *line, unsigned int kind, u64 word)
{
	switch (kind) {
	case X86_PRECISE_LOAD_LATENCY:
		return S(OP, LOAD) | datasrc_of_access(line, word);
	case X86_PRECISE_STORE_LATENCY:
		return S(OP, STORE) | datasrc_of_access(line, word);
	case X86_PRECISE_STORE_OLD:
		return S(OP, STORE) | datasrc_of_store(word) | datasrc_store_tlb(line, word) |
		       datasrc_lock(line, word);
	case X86_PRECISE_STORE:
		return S(OP, STORE) | datasrc_of_store(word) | S(TLB, NA) | S(LOCK, NA);
	case X86_PRECISE_LOAD:
		return S(OP, LOAD) | S(LVL, NA) | S(TLB, NA) | S(LOCK, NA) | NOTHING_BUT_L1;
	default:
		return PERF_MEM_NA;
	}
}
