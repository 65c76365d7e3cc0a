// SPDX-License-Identifier: GPL-2.0
/*
 * Records of precise samples in each format.
 *
 * Manual: SDM 3B, "PEBS Record Format" of Core 2, Nehalem, Haswell and Skylake, and "Adaptive
 * PEBS". All are made of words of eight bytes.
 *
 * No hardware is accessed.
 */
#include <linux/bitfield.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "pebs.h"

#define PEBS_GPRS		18	/* flags, instruction pointer and registers */
#define PEBS_XMM		32
#define PEBS_BRANCH		3
#define PEBS_BASIC		4

/* Words of a record, formats before the adaptive ones. */
static const u8 pebs_words[] = { 18, 22, 24, 25 };

/* Words of these formats. */
enum {
	WORD_STATUS = 18,
	WORD_ADDRESS,
	WORD_SOURCE,
	WORD_LATENCY,
	WORD_EXACT_IP,
	WORD_TSX,
	WORD_TSC
};

/* The word for transactions: how one ended. */
#define PEBS_TSX_FLAGS		GENMASK_ULL(39, 32)

/* Word 0 of an adaptive record. */
#define BASIC_RETIRE	GENMASK_ULL(47, 32)
#define BASIC_SIZE	GENMASK_ULL(63, 48)

/**
 * intel_pebs_record_size - the size of a record
 * @format: format of the records
 *
 * Context: any, NMI included.
 * Return: bytes; of an adaptive format those of the smallest record
 */
unsigned int intel_pebs_record_size(unsigned int format)
{
	return (format < ARRAY_SIZE(pebs_words) ? pebs_words[format] : PEBS_BASIC) * sizeof(u64);
}

/**
 * intel_pebs_record_max - the size of the largest record
 * @format: format of the records
 *
 * Context: any, NMI included.
 * Return: bytes
 */
unsigned int intel_pebs_record_max(unsigned int format)
{
	if (format < INTEL_PEBS_ADAPTIVE)
		return intel_pebs_record_size(format);
	return (PEBS_BASIC + 4 + PEBS_GPRS + PEBS_XMM + 32 * PEBS_BRANCH) * sizeof(u64);
}

static unsigned int pebs_adaptive_words(u64 head)
{
	return PEBS_BASIC + (head & INTEL_PEBS_MEMORY ? 4 : 0) +
	       (head & INTEL_PEBS_GPRS ? PEBS_GPRS : 0) + (head & INTEL_PEBS_XMM ? PEBS_XMM : 0) +
	       (head & INTEL_PEBS_BRANCHES ?
		PEBS_BRANCH * (FIELD_GET(INTEL_PEBS_BRANCHES_NR, (u32)head) + 1) : 0);
}

/**
 * intel_pebs_config_size - the size of the records that a processor writes
 * @format: format of the records
 * @config: PEBS_DATA_CFG
 *
 * Context: any, NMI included.
 * Return: bytes
 */
unsigned int intel_pebs_config_size(unsigned int format, u64 config)
{
	if (format < INTEL_PEBS_ADAPTIVE)
		return intel_pebs_record_size(format);
	return pebs_adaptive_words(config) * sizeof(u64);
}

static unsigned int pebs_parse_fixed(unsigned int format, const u64 *w, size_t size,
				     struct intel_pebs_record *r)
{
	unsigned int words = pebs_words[format];

	if (size < words * sizeof(u64))
		return 0;
	memset(r, 0, sizeof(*r));
	r->groups = INTEL_PEBS_GPRS;
	r->gprs = w;
	r->ip = w[1];
	r->counters = BIT_ULL(0);
	if (format >= 1) {
		r->groups |= INTEL_PEBS_MEMORY;
		r->counters = w[WORD_STATUS];
		r->address = w[WORD_ADDRESS];
		r->source = w[WORD_SOURCE];
		r->latency = w[WORD_LATENCY];
	}
	if (format >= 2) {
		r->exact_ip = w[WORD_EXACT_IP];
		r->tsx = w[WORD_TSX];
	}
	if (format >= 3)
		r->tsc = w[WORD_TSC];
	return words * sizeof(u64);
}

static const u64 *pebs_parse_memory(const u64 *w, struct intel_pebs_record *r)
{
	r->address = w[0];
	r->source = w[1];
	r->latency = w[2];
	r->tsx = w[3];
	return w + 4;
}

/*
 * The groups that a small record does not have. One assignment each: memset() of the record costs
 * twice as much, which is noticed in a store of hundreds of small records.
 */
static void pebs_set_no_groups(struct intel_pebs_record *r)
{
	r->address = 0;
	r->source = 0;
	r->latency = 0;
	r->tsx = 0;
	r->ip = 0;
	r->gprs = NULL;
	r->xmm = NULL;
	r->branches = NULL;
	r->nr_branches = 0;
}

/* The size in bytes that the record has in its head; 0 if the record cannot have that size. */
static unsigned int pebs_adaptive_size(u64 head, size_t size)
{
	size_t bytes = FIELD_GET(BASIC_SIZE, head);

	if (bytes > size || bytes % sizeof(u64) || bytes < pebs_adaptive_words(head) * sizeof(u64))
		return 0;
	return bytes;
}

/* A record can have groups that are newer than this code. */
static unsigned int pebs_parse_adaptive(const u64 *w, size_t size, struct intel_pebs_record *r)
{
	u64 head = w[0];
	unsigned int bytes = pebs_adaptive_size(head, size);

	if (!bytes)
		return 0;
	pebs_set_no_groups(r);
	r->groups = head & INTEL_PEBS_GROUPS;
	r->retire = FIELD_GET(BASIC_RETIRE, head);
	r->exact_ip = w[1];
	r->counters = w[2];
	r->tsc = w[3];
	w += PEBS_BASIC;
	if (head & INTEL_PEBS_MEMORY)
		w = pebs_parse_memory(w, r);
	if (head & INTEL_PEBS_GPRS) {
		r->gprs = w;
		r->ip = w[1];
		w += PEBS_GPRS;
	}
	if (head & INTEL_PEBS_XMM) {
		r->xmm = w;
		w += PEBS_XMM;
	}
	if (head & INTEL_PEBS_BRANCHES) {
		r->branches = w;
		r->nr_branches = FIELD_GET(INTEL_PEBS_BRANCHES_NR, (u32)head) + 1;
	}
	return bytes;
}

/**
 * intel_pebs_parse - read a record
 * @format: format of the records
 * @words: the record
 * @size: bytes from there to the end of the records
 * @r: set to what the record has, all of it; refers to @words
 *
 * Context: any, NMI included.
 * Return: bytes of the record; 0 if there is no complete one
 */
unsigned int intel_pebs_parse(unsigned int format, const u64 *words, size_t size,
			      struct intel_pebs_record *r)
{
	if (format < ARRAY_SIZE(pebs_words))
		return pebs_parse_fixed(format, words, size, r);
	if (size < PEBS_BASIC * sizeof(u64))
		return 0;
	return pebs_parse_adaptive(words, size, r);
}

/**
 * intel_pebs_peek - read the size of a record, which counters it is of, and where
 * @format: format of the records
 * @words: the record
 * @size: bytes from there to the end of the records
 * @counters: set to what intel_pebs_parse() sets in its record
 * @ip: set to the address of the next instruction, of adaptive records to that of the instruction
 *
 * Context: any, NMI included.
 * Return: bytes of the record; 0 if there is no complete one
 */
unsigned int intel_pebs_peek(unsigned int format, const u64 *words, size_t size, u64 *counters,
			     u64 *ip)
{
	unsigned int bytes = intel_pebs_record_size(format);

	if (size < bytes)
		return 0;
	*ip = words[1];
	if (format >= INTEL_PEBS_ADAPTIVE) {
		*counters = words[2];
		return pebs_adaptive_size(words[0], size);
	}
	*counters = format ? words[WORD_STATUS] : BIT_ULL(0);
	return bytes;
}

/* Flags, instruction pointer and registers of the formats before the adaptive one. */
struct pebs_gprs_fixed {
	u64	flags, ip;
	u64	ax, bx, cx, dx, si, di, bp, sp;
	u64	high[8];
};

/* The same of adaptive records. */
struct pebs_gprs_adaptive {
	u64	flags, ip;
	u64	ax, cx, dx, bx, sp, bp, si, di;
	u64	high[8];
};

/* A list of assignments: a loop over a table of places costs seven times as much. */
#define PEBS_FILL_LOW(_regs, _from)								\
do {												\
	BUILD_BUG_ON(sizeof(*(_from)) != PEBS_GPRS * sizeof(u64));				\
	(_regs)->ax = (_from)->ax;								\
	(_regs)->bx = (_from)->bx;								\
	(_regs)->cx = (_from)->cx;								\
	(_regs)->dx = (_from)->dx;								\
	(_regs)->si = (_from)->si;								\
	(_regs)->di = (_from)->di;								\
	(_regs)->bp = (_from)->bp;								\
	(_regs)->sp = (_from)->sp;								\
} while (0)

static void pebs_fill_high(struct pt_regs *regs, const u64 *high)
{
#ifdef CONFIG_X86_64
	regs->r8 = high[0];
	regs->r9 = high[1];
	regs->r10 = high[2];
	regs->r11 = high[3];
	regs->r12 = high[4];
	regs->r13 = high[5];
	regs->r14 = high[6];
	regs->r15 = high[7];
#endif
}

/**
 * intel_pebs_fill_regs - set the registers of a sample
 * @format: format of the records
 * @r: record with INTEL_PEBS_GPRS
 * @regs: its general registers and flags are set, but the segments and the instruction pointer
 *
 * Context: any, NMI included.
 */
void intel_pebs_fill_regs(unsigned int format, const struct intel_pebs_record *r,
			  struct pt_regs *regs)
{
	const struct pebs_gprs_adaptive *adaptive = (const void *)r->gprs;
	const struct pebs_gprs_fixed *fixed = (const void *)r->gprs;

	regs->flags = fixed->flags & ~(PERF_EFLAGS_EXACT | PERF_EFLAGS_VM | X86_EFLAGS_VM);
	if (format < INTEL_PEBS_ADAPTIVE)
		PEBS_FILL_LOW(regs, fixed);
	else
		PEBS_FILL_LOW(regs, adaptive);
	pebs_fill_high(regs, fixed->high);
}

/**
 * intel_pebs_transaction - how a transaction ended, and the code of its abort
 * @r: record
 *
 * RTM leaves the reason of an abort in EAX. A record without registers has no code.
 *
 * Context: any, NMI included.
 * Return: PERF_TXN_*
 */
u64 intel_pebs_transaction(const struct intel_pebs_record *r)
{
	const struct pebs_gprs_fixed *gprs = (const void *)r->gprs;
	u64 txn = FIELD_GET(PEBS_TSX_FLAGS, r->tsx);

	if (txn & PERF_TXN_TRANSACTION && gprs && gprs->ax & 1)
		txn |= (gprs->ax >> 24 & 0xff) << PERF_TXN_ABORT_SHIFT;
	return txn;
}
