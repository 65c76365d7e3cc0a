/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Precise samples of a loop whose instructions are known.
 */
#ifndef X86_PRECISE_H
#define X86_PRECISE_H

#include <asm/perf_regs.h>

#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"

#define CAPS_PRECISE	"/sys/bus/event_source/devices/cpu/caps/max_precise"
#define PERIOD		997
#define ROUNDS		40000
#define XMM_VALUE	0x1234567890abcdefull

/*
 * Each round of a loop has these instructions, at the addresses in its points. RDI counts the
 * rounds down, RSI is RDI + 1 after the second instruction.
 */
#define LOOP(name)						\
	asm(".pushsection .text\n"				\
	    ".globl " #name "\n" #name ":\n"			\
	    "	movq %rsi, %xmm3\n"				\
	    "10:	nop\n"					\
	    "11:	lea 1(%rdi), %rsi\n"			\
	    "12:	nop\n"					\
	    "13:	dec %rdi\n"				\
	    "14:	jnz 10b\n"				\
	    "	ret\n"						\
	    ".globl " #name "_points\n"				\
	    #name "_points: .long 10b, 11b, 12b, 13b, 14b\n"	\
	    ".popsection");					\
	void name(unsigned long rounds, unsigned long xmm);	\
	extern const uint32_t name##_points[5]

LOOP(precise_loop);
LOOP(other_precise_loop);

#define ROUND		5	/* instructions */
#define AT_DEC		3

/* RSI and RDI. */
static const uint64_t two_regs = 1ull << PERF_REG_X86_SI | 1ull << PERF_REG_X86_DI;

/* need_precise() sets it. */
static unsigned int max_precise;

/* No event is throttled. The rate cannot be set while there is no limit of the time. */
static void allow_any_rate(void)
{
	sysctl_set("perf_cpu_time_max_percent", 25);
	sysctl_set("perf_event_max_sample_rate", 10000000);
	sysctl_set("perf_cpu_time_max_percent", 0);
}

static void need_precise(void)
{
	char line[32];

	if (read_line(CAPS_PRECISE, line, sizeof(line)) <= 0 || !atoi(line))
		skip_case("no precise samples");
	max_precise = atoi(line);
	require_exact_instructions();
	allow_any_rate();
}

static struct perf_event_attr precise_attr(uint64_t config, unsigned int precise)
{
	struct perf_event_attr attr = hw_attr(config, "u");

	attr.precise_ip = precise;
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = two_regs;
	return attr;
}

/* What the samples of an event in a loop show. */
struct tally {
	unsigned int	samples, inside, foreign, wrong, inexact, late;
	int64_t		first, last, farthest;
};

/* The instruction of a round at an address; -1: none. */
static int point_of(const uint32_t *points, uint64_t ip)
{
	for (int i = 0; i < ROUND; i++)
		if (points[i] == ip)
			return i;
	return -1;
}

/*
 * The number of the instruction that a sample is of, from its registers, which are those after it:
 * 0 is the first one of the loop. -1 if they contradict each other. Without an exact address the
 * sample has that of the next instruction.
 */
static int64_t insn_of(const struct sample *s, const uint32_t *points, unsigned long rounds,
		       bool exact)
{
	int at = point_of(points, s->ip);
	uint64_t si = s->intr_regs[0], di = s->intr_regs[1];

	if (!exact)
		at = (at + ROUND - 1) % ROUND;
	if (at && at < AT_DEC && si != di + 1)
		return -1;
	if (at >= AT_DEC && si != di + 2)
		return -1;
	return (int64_t)(rounds - di - (at >= AT_DEC)) * ROUND + at;
}

/*
 * Samples are a period apart. After a switch the rest of a period is made a little longer, and the
 * next period is shorter by that.
 */
static void tally_sample(struct tally *t, const struct sample *s, const uint32_t *points,
			 unsigned long rounds, uint64_t period, bool exact)
{
	int64_t insn, off;

	t->samples++;
	if (point_of(points, s->ip) < 0)
		return;
	/* After the last instruction the one behind the loop is next. */
	insn = insn_of(s, points, rounds, exact);
	if (insn < 0) {
		if (!t->wrong++)
			ktap_note("sample %u at %#lx: rsi %#lx, rdi %#lx", t->samples, (long)s->ip,
				  (long)s->intr_regs[0], (long)s->intr_regs[1]);
		return;
	}
	if (!t->inside++)
		t->first = insn;
	off = insn - t->first - (int64_t)(t->inside - 1) * (int64_t)period;
	t->late += off > 0;
	if (llabs(off) > llabs(t->farthest))
		t->farthest = off;
	t->last = insn;
}

static void tally_ring(struct tally *t, struct ring *ring, const struct perf_event_attr *attr,
		       const uint32_t *points, unsigned long rounds, bool exact)
{
	struct perf_event_header *h;

	while ((h = ring_next(ring))) {
		struct sample s;

		if (h->type == PERF_RECORD_LOST || h->type == PERF_RECORD_THROTTLE)
			t->foreign++;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		sample_parse(&s, h, attr);
		t->inexact += !(h->misc & PERF_RECORD_MISC_EXACT_IP);
		tally_sample(t, &s, points, rounds, attr->sample_period, exact);
	}
}

/* The rest of a period is at least so long, where the part demands it. */
#define LEAST	32

/*
 * All samples but those outside of the loop, of which there are few, are where their registers say;
 * none is lost. Sample n is of event n * period, from 0 on.
 */
static bool tally_is_exact(const char *what, const struct tally *t, uint64_t count, uint64_t period,
			   bool exact)
{
	return expect_between(what, t->samples, (count - 1 - LEAST) / period,
			      (count - 1) / period) &
	       expect(t->inside + 2 >= t->samples, "%s: %u of %u samples in the loop", what,
		      t->inside, t->samples) &
	       expect_eq("registers that are not those of the instruction", t->wrong, 0) &
	       expect_eq("records of lost samples and throttling", t->foreign, 0) &
	       expect_eq("samples with another flag of the address", t->inexact,
			 exact ? 0 : t->samples) &
	       expect(llabs(t->farthest) <= LEAST, "%s: a sample is %ld beside its period", what,
		      (long)t->farthest) &
	       expect(t->late * 20 <= t->samples + 20, "%s: %u of %u are late", what, t->late,
		      t->samples);
}

/* Formats 0 to 3 have the address of the next instruction with precise_ip 1. */
static bool names_insn(unsigned int precise, const struct perf_event_header *h)
{
	return precise > 1 || h->misc & PERF_RECORD_MISC_EXACT_IP;
}

#define TURNS	100

static void run_other(void)
{
	other_precise_loop(200, 0);
}

static void run_mine(void)
{
	precise_loop(200, XMM_VALUE);
}

#endif /* X86_PRECISE_H */
