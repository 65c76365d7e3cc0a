// SPDX-License-Identifier: GPL-2.0
/*
 * Events that can have precise samples, for each line of processors.
 *
 * Manual: SDM 3B, "Processor Event Based Sampling" of each line; events that the event files mark
 * as precise. INST_RETIRED with inversion and a threshold above what a cycle can retire counts
 * cycles, and is precise where CPU_CLK_UNHALTED is not.
 *
 * No hardware is accessed.
 */
#include "models.h"
#include "pebs.h"

/*
 * A selection; any umask of an event; codes that differ from @_code only in their @_bits low bits.
 * With modifiers it is another event.
 */
#define PRECISE_MODIFIERS	(SEL_EDGE | ARCH_PERFMON_EVENTSEL_ANY | SEL_INV | SEL_CMASK(0xff))
#define PRECISE_UMASK(_sel, _counters, _kind)	\
	{ (_sel), X86_SELECT_UMASK | PRECISE_MODIFIERS, (_counters), X86_PRECISE_##_kind }
#define PRECISE_CODE(_code, _counters, _kind)	\
	{ (_code), X86_SELECT_CODE | PRECISE_MODIFIERS, (_counters), X86_PRECISE_##_kind }
#define PRECISE_CODES(_code, _bits, _counters, _kind)			\
	{ (_code), (X86_SELECT_CODE & ~((1ULL << (_bits)) - 1)) | PRECISE_MODIFIERS,	\
	  (_counters), X86_PRECISE_##_kind }

/* Cycles: fewer than 16 of an event in each. */
#define AS_CYCLES(_sel)		((_sel) | SEL_INV | SEL_CMASK(16))

static const struct x86_precise pebs_core2[] = {
	PRECISE_UMASK(0x00c0, BIT(0), PLAIN),	/* INST_RETIRED.ANY_P */
	PRECISE_UMASK(AS_CYCLES(0x00c0), BIT(0), PLAIN),
	PRECISE_UMASK(0xfec1, BIT(0), PLAIN),	/* X87_OPS_RETIRED.ANY */
	PRECISE_UMASK(0x00c5, BIT(0), PLAIN),	/* BR_INST_RETIRED.MISPRED */
	PRECISE_UMASK(0x1fc7, BIT(0), PLAIN),	/* SIMD_INST_RETIRED.ANY */
	PRECISE_CODE(0xcb, BIT(0), PLAIN),	/* MEM_LOAD_RETIRED */
	{ }
};

const struct x86_precise_line intel_pebs_core2 = {
	.events	= pebs_core2,
	.cycles	= { 0, AS_CYCLES(0x00c0), AS_CYCLES(0x00c0), AS_CYCLES(0x00c0) },
	.source	= &intel_datasrc_nehalem,
	.max	= 2,
};

/* Bonnell to Silvermont, Knights Landing: records of counter 0. */
const struct x86_precise_line intel_pebs_atom = {
	.others	= BIT(0),
	.cycles	= { 0, AS_CYCLES(0x00c0), AS_CYCLES(0x00c0), AS_CYCLES(0x00c0) },
	.source	= &intel_datasrc_nehalem,
	.max	= 2,
};

const struct x86_precise_line intel_pebs_goldmont = {
	.others	= BIT(0),
	.source	= &intel_datasrc_nehalem,
	.max	= 3,
};

const struct x86_precise_line intel_pebs_goldmont_plus = {
	.others		= ~0ULL,
	.instructions	= BIT(0),
	.rest		= BIT(0),
	.source		= &intel_datasrc_nehalem,
	.max		= 3,
};

const struct x86_precise_line intel_pebs_tremont = {
	.others		= ~0ULL,
	.instructions	= BIT(0) | X86_FIXED(0),
	.rest		= BIT(0),
	.source		= &intel_datasrc_nehalem,
	.max		= 3,
};

#define PEBS_NEHALEM(_mispredicted)						\
	PRECISE_UMASK(0x010b, FIRST(4), PLAIN),	/* MEM_INST_RETIRED.LOADS */	\
	PRECISE_UMASK(0x020b, FIRST(4), PLAIN),	/* MEM_INST_RETIRED.STORES */	\
	PRECISE_UMASK(0x100b, FIRST(4), LOAD_LATENCY),				\
	PRECISE_CODE(0x0f, FIRST(4), PLAIN),	/* MEM_UNCORE_RETIRED */	\
	PRECISE_UMASK(0x010c, FIRST(4), PLAIN),	/* MEM_STORE_RETIRED.DTLB_MISS */ \
	PRECISE_CODE(0xc0, FIRST(4), PLAIN),	/* INST_RETIRED */		\
	PRECISE_UMASK(AS_CYCLES(0x00c0), FIRST(4), PLAIN),			\
	PRECISE_UMASK(AS_CYCLES(0x01c0), FIRST(4), PLAIN),			\
	/* UOPS_RETIRED, and the cycles of it */				\
	{ 0xc2, X86_SELECT_CODE | SEL_EDGE, FIRST(4), X86_PRECISE_PLAIN },	\
	PRECISE_CODE(0xc4, FIRST(4), PLAIN),	/* BR_INST_RETIRED */		\
	_mispredicted,				/* BR_MISP_RETIRED */		\
	PRECISE_CODE(0xc7, FIRST(4), PLAIN),	/* SSEX_UOPS_RETIRED */		\
	PRECISE_UMASK(0x20c8, FIRST(4), PLAIN),	/* ITLB_MISS_RETIRED */		\
	PRECISE_CODE(0xcb, FIRST(4), PLAIN),	/* MEM_LOAD_RETIRED */		\
	PRECISE_CODE(0xf7, FIRST(4), PLAIN)	/* FP_ASSIST */

static const struct x86_precise pebs_nehalem[] = {
	PEBS_NEHALEM(PRECISE_UMASK(0x02c5, FIRST(4), PLAIN)),
	{ }
};

static const struct x86_precise pebs_westmere[] = {
	PEBS_NEHALEM(PRECISE_CODE(0xc5, FIRST(4), PLAIN)),
	{ }
};

#define LINE_NEHALEM(_events)							\
{										\
	.events	= (_events),							\
	.cycles	= { 0, AS_CYCLES(0x00c0), AS_CYCLES(0x00c0), AS_CYCLES(0x00c0) }, \
	.source	= &intel_datasrc_nehalem,					\
	.max	= 2,								\
}

const struct x86_precise_line intel_pebs_nehalem = LINE_NEHALEM(pebs_nehalem);
const struct x86_precise_line intel_pebs_westmere = LINE_NEHALEM(pebs_westmere);

static const struct x86_precise pebs_sandybridge[] = {
	PRECISE_UMASK(0x01c0, BIT(1), PLAIN),		/* INST_RETIRED.PREC_DIST */
	PRECISE_UMASK(AS_CYCLES(0x01c0), BIT(1), PLAIN),
	PRECISE_UMASK(0x01cd, BIT(3), LOAD_LATENCY),
	PRECISE_UMASK(0x02cd, BIT(3), STORE_OLD),
	PRECISE_CODES(0xd0, 2, FIRST(4), PLAIN),	/* MEM_UOPS_RETIRED and neighbours */
	{ }
};

const struct x86_precise_line intel_pebs_sandybridge = {
	.events	= pebs_sandybridge,
	.others	= FIRST(4),
	.cycles	= { 0, AS_CYCLES(0x01c2), AS_CYCLES(0x01c2), AS_CYCLES(0x01c2) },
	.source	= &intel_datasrc_sandybridge,
	.max	= 2,
};

const struct x86_precise_line intel_pebs_ivybridge = {
	.events	= pebs_sandybridge,
	.others	= FIRST(4),
	.cycles	= { 0, AS_CYCLES(0x01c2), AS_CYCLES(0x01c2), AS_CYCLES(0x01c0) },
	.source	= &intel_datasrc_sandybridge,
	.max	= 3,
};

/* MEM_UOPS_RETIRED, or MEM_INST_RETIRED, and the codes behind it, which are of loads. */
#define PEBS_LOADS_STORES							\
	PRECISE_UMASK(0x11d0, FIRST(4), LOAD), PRECISE_UMASK(0x21d0, FIRST(4), LOAD), \
	PRECISE_UMASK(0x41d0, FIRST(4), LOAD), PRECISE_UMASK(0x81d0, FIRST(4), LOAD), \
	PRECISE_UMASK(0x12d0, FIRST(4), STORE), PRECISE_UMASK(0x42d0, FIRST(4), STORE), \
	PRECISE_UMASK(0x82d0, FIRST(4), STORE)

#define PEBS_LOAD_CODES								\
	PRECISE_CODE(0xd1, FIRST(4), LOAD), PRECISE_CODE(0xd2, FIRST(4), LOAD),	\
	PRECISE_CODE(0xd3, FIRST(4), LOAD)

static const struct x86_precise pebs_haswell[] = {
	PRECISE_UMASK(0x01c0, BIT(1), PLAIN),
	PRECISE_UMASK(AS_CYCLES(0x01c0), BIT(1), PLAIN),
	PRECISE_UMASK(0x01cd, FIRST(4), LOAD_LATENCY),
	PEBS_LOADS_STORES,
	PEBS_LOAD_CODES,
	{ }
};

const struct x86_precise_line intel_pebs_haswell = {
	.events	= pebs_haswell,
	.others	= FIRST(4),
	.cycles	= { 0, AS_CYCLES(0x01c2), AS_CYCLES(0x01c2), AS_CYCLES(0x01c0) },
	.source	= &intel_datasrc_sandybridge,
	.max	= 3,
};

static const struct x86_precise pebs_skylake[] = {
	PRECISE_UMASK(0x01c0, BIT(1), PLAIN),
	PRECISE_UMASK(AS_CYCLES(0x01c0), BIT(1), PLAIN),
	PRECISE_UMASK(0x01cd, FIRST(4), LOAD_LATENCY),
	PEBS_LOADS_STORES,
	PRECISE_UMASK(0x22d0, FIRST(4), STORE),
	PEBS_LOAD_CODES,
	{ }
};

const struct x86_precise_line intel_pebs_skylake = {
	.events	= pebs_skylake,
	.others	= FIRST(4),
	.cycles	= { 0, AS_CYCLES(0x00c0), AS_CYCLES(0x00c0), AS_CYCLES(0x01c0) },
	.source	= &intel_datasrc_skylake,
	.max	= 3,
};

static const struct x86_precise pebs_icelake[] = {
	PRECISE_UMASK(0x0100, X86_FIXED(0), PLAIN),	/* INST_RETIRED.PREC_DIST */
	PRECISE_UMASK(0x01c0, X86_FIXED(0), PLAIN),
	PRECISE_UMASK(0x0400, X86_FIXED(3), PLAIN),	/* TOPDOWN.SLOTS */
	PRECISE_UMASK(0x01cd, FIRST(8), LOAD_LATENCY),
	PEBS_LOADS_STORES,
	PRECISE_UMASK(0x22d0, FIRST(4), STORE),
	PEBS_LOAD_CODES,
	PRECISE_CODE(0xd4, FIRST(4), LOAD),
	PRECISE_CODE(0xd0, FIRST(4), PLAIN),
	{ }
};

const struct x86_precise_line intel_pebs_icelake = {
	.events		= pebs_icelake,
	.others		= ~0ULL,
	.instructions	= X86_FIXED(0),
	.source		= &intel_datasrc_skylake,
	.max		= 3,
};

static const struct x86_precise pebs_goldencove[] = {
	PRECISE_UMASK(0x0100, X86_FIXED(0), PLAIN),
	PRECISE_UMASK(0x0400, X86_FIXED(3), PLAIN),
	PRECISE_CODE(0xc0, GENMASK_ULL(7, 1) | X86_FIXED(0), PLAIN),	/* INST_RETIRED */
	PRECISE_UMASK(0x01cd, GENMASK_ULL(7, 1), LOAD_LATENCY),
	PRECISE_UMASK(0x02cd, BIT(0), STORE_LATENCY),	/* MEM_TRANS_RETIRED.STORE_SAMPLE */
	PEBS_LOADS_STORES,
	PRECISE_UMASK(0x22d0, FIRST(4), STORE),
	PEBS_LOAD_CODES,
	PRECISE_CODE(0xd4, FIRST(4), LOAD),
	PRECISE_CODE(0xd0, FIRST(4), PLAIN),
	{ }
};

const struct x86_precise_line intel_pebs_goldencove = {
	.events		= pebs_goldencove,
	.others		= ~0ULL,
	.instructions	= X86_FIXED(0),
	.rest		= BIT(0),
	.least		= 128,
	.source		= &intel_datasrc_goldencove,
	.flags		= X86_PRECISE_TWO_LATENCIES | X86_PRECISE_LOADS_AUX,
	.max		= 3,
};

/* As Golden Cove, but the source of a load needs no other event. */
const struct x86_precise_line intel_pebs_redwoodcove = {
	.events		= pebs_goldencove,
	.others		= ~0ULL,
	.instructions	= X86_FIXED(0),
	.rest		= BIT(0),
	.least		= 128,
	.source		= &intel_datasrc_goldencove,
	.flags		= X86_PRECISE_TWO_LATENCIES | X86_PRECISE_RETIRE_GENERAL,
	.max		= 3,
};

static const struct x86_precise pebs_lioncove[] = {
	PRECISE_UMASK(0x0100, X86_FIXED(0), PLAIN),
	PRECISE_UMASK(0x0400, X86_FIXED(3), PLAIN),
	PRECISE_UMASK(0x012a, BIT(0), PLAIN),	/* OCR, of both registers */
	PRECISE_UMASK(0x012b, BIT(0), PLAIN),
	PRECISE_UMASK(0x01cd, GENMASK_ULL(9, 2), LOAD_LATENCY),
	PRECISE_UMASK(0x02cd, FIRST(2), STORE_LATENCY),
	PEBS_LOADS_STORES,
	PRECISE_UMASK(0x22d0, FIRST(4), STORE),
	PEBS_LOAD_CODES,
	PRECISE_CODE(0xd4, FIRST(4), LOAD),
	PRECISE_CODE(0xd0, FIRST(4), PLAIN),
	{ }
};

const struct x86_precise_line intel_pebs_lioncove = {
	.events		= pebs_lioncove,
	.others		= ~0ULL,
	.instructions	= X86_FIXED(0),
	.rest		= BIT(0),
	.least		= 128,
	.source		= &intel_datasrc_lioncove,
	.flags		= X86_PRECISE_TWO_LATENCIES | X86_PRECISE_RETIRE_GENERAL,
	.max		= 3,
};

static const struct x86_precise pebs_gracemont[] = {
	PRECISE_UMASK(0x05d0, FIRST(2), LOAD_LATENCY),	/* MEM_UOPS_RETIRED.LOAD_LATENCY_... */
	PRECISE_UMASK(0x06d0, FIRST(6), STORE_LATENCY),	/* MEM_UOPS_RETIRED.STORE_LATENCY */
	{ }
};

const struct x86_precise_line intel_pebs_gracemont = {
	.events		= pebs_gracemont,
	.others		= ~0ULL,
	.instructions	= BIT(0) | X86_FIXED(0),
	.rest		= BIT(0),
	.least		= 128,
	.source		= &intel_datasrc_gracemont,
	.flags		= X86_PRECISE_TWO_LATENCIES,
	.max		= 3,
};

/* The counters of Gracemont, the data sources of Crestmont. */
const struct x86_precise_line intel_pebs_skymont = {
	.events		= pebs_gracemont,
	.others		= ~0ULL,
	.instructions	= BIT(0) | X86_FIXED(0),
	.rest		= BIT(0),
	.least		= 128,
	.source		= &intel_datasrc_crestmont,
	.flags		= X86_PRECISE_TWO_LATENCIES,
	.max		= 3,
};

const struct x86_precise_line intel_pebs_crestmont = {
	.events		= pebs_gracemont,
	.others		= ~0ULL,
	.instructions	= FIRST(2) | X86_FIXED(0),
	.rest		= FIRST(2),
	.least		= 128,
	.source		= &intel_datasrc_crestmont,
	.flags		= X86_PRECISE_TWO_LATENCIES,
	.max		= 3,
};

/**
 * intel_pebs_find - the row of an event
 * @line: precise events
 * @config: selection
 *
 * Context: any.
 * Return: the row; NULL: none
 */
const struct x86_precise *intel_pebs_find(const struct x86_precise_line *line, u64 config)
{
	const struct x86_precise *p = line->events;

	for (; p && p->mask; p++)
		if ((config & p->mask) == p->match)
			return p;
	return NULL;
}
