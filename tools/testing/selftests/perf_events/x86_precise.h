/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Precise samples of a loop of known instructions.
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
#include "workloads.h"

#define CAPS_PRECISE	"/sys/bus/event_source/devices/cpu/caps/max_precise"
#define PERIOD		997
#define ROUNDS		40000
#define XMM_VALUE	0x1234567890abcdefull

/*
 * Each round of a loop has these instructions, at the addresses in its points. RCX counts the
 * rounds down. Each instruction leaves another difference of RSI and RCX: after number n of a round
 * it is n + 1.
 */
#define LOOP(name)						\
	asm(".pushsection .text\n"				\
	    ".globl " #name "\n" #name ":\n"			\
	    "	movq %rsi, %xmm3\n"				\
	    "	mov %rdi, %rcx\n"				\
	    "10:	lea 1(%rcx), %rsi\n"			\
	    "11:	lea 2(%rcx), %rsi\n"			\
	    "12:	lea 3(%rcx), %rsi\n"			\
	    "13:	lea 4(%rcx), %rsi\n"			\
	    "14:	loop 10b\n"				\
	    "	ret\n"						\
	    ".globl " #name "_points\n"				\
	    #name "_points: .long 10b, 11b, 12b, 13b, 14b\n"	\
	    ".popsection");					\
	void name(unsigned long rounds, unsigned long xmm);	\
	extern const uint32_t name##_points[5]

LOOP(precise_loop);
LOOP(other_precise_loop);

#define ROUND		5	/* instructions */

/* EDI rounds of 64 instructions, of which 62 are NOPs of a byte. */
#define SLIDE_NOPS	62
#define SLIDE_ROUND	(SLIDE_NOPS + 2)

#define SLIDE							\
	asm(".pushsection .text\n"				\
	    ".globl precise_slide\nprecise_slide:\n"		\
	    "	.fill 62, 1, 0x90\n"				\
	    "	dec %edi\n"					\
	    "	jnz precise_slide\n"				\
	    ".globl precise_slide_end\nprecise_slide_end:\n"	\
	    "	ret\n"						\
	    ".popsection")

SLIDE;

void precise_slide(unsigned int rounds);
extern const char precise_slide_end[];

/* The registers that samples have, in the order in which they have them. */
static const uint64_t loop_regs = 1ull << PERF_REG_X86_CX | 1ull << PERF_REG_X86_SI |
				  1ull << PERF_REG_X86_DI;

enum { REG_CX, REG_SI, REG_DI, REG_XMM };

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

/* Model numbers of machines of tools/testing/qemu/pmus; a list ends with NULL. */
static const char *const up_to_haswell[] = { "15", "23", "26", "42", "60", NULL };
static const char *const up_to_skylake[] = { "15", "23", "26", "42", "60", "85", NULL };
static const char *const with_long_rests[] = { "60", "143", "173", NULL };

static bool part_is_one_of(const char *const *list)
{
	char line[256], model[16] = "";
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "model : %15s", model) == 1)
			break;
	if (file)
		fclose(file);
	while (*list && strcmp(model, *list))
		list++;
	return *list;
}

/* Records of Haswell and before have no time. */
static bool records_have_time(void)
{
	return !part_is_one_of(up_to_haswell);
}

static struct perf_event_attr precise_attr(uint64_t config, unsigned int precise)
{
	struct perf_event_attr attr = hw_attr(config, "u");

	attr.precise_ip = precise;
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = loop_regs;
	return attr;
}

/**
 * struct tally - what the samples of an event in a loop show
 * @samples: all of them
 * @inside: those in the loop
 * @foreign: records of lost samples and of throttling
 * @wrong: samples with registers that are not those of their instruction
 * @inexact: samples without the flag of an exact address
 * @early: samples before the end of their period
 * @late: samples after it
 * @stops: how many times a switch has stopped the event meanwhile: the period that it was in can be
 *	longer then, and the next one is shorter by that
 * @first: instruction of the first sample in the loop
 * @last: instruction of the last one
 * @farthest: how far from the end of its period a sample was at most
 * @least: the rest of a period is made at least so long; 0: LEAST
 */
struct tally {
	unsigned int	samples, inside, foreign, wrong, inexact, early, late, stops;
	int64_t		first, last, farthest, least;
};

#define LEAST	32

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
 * 0 is the first one of the loop. -1 if the address is that of another one. Without an exact
 * address the sample has that of the next instruction.
 */
static int64_t insn_of(const struct sample *s, const uint32_t *points, unsigned long rounds,
		       bool exact)
{
	uint64_t cx = s->intr_regs[REG_CX], at = s->intr_regs[REG_SI] - cx - 1;

	if (at >= ROUND || s->ip != points[(at + !exact) % ROUND])
		return -1;
	return (int64_t)(rounds - cx - (at == ROUND - 1)) * ROUND + at;
}

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
			ktap_note("sample %u at %#lx: rsi %#lx, rcx %#lx", t->samples, (long)s->ip,
				  (long)s->intr_regs[REG_SI], (long)s->intr_regs[REG_CX]);
		return;
	}
	if (!t->inside++)
		t->first = insn;
	off = insn - t->first - (int64_t)(t->inside - 1) * (int64_t)period;
	t->early += off < 0;
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
		/* That of a SYSCALL is exact: the next instruction is one of the kernel. */
		t->inexact += point_of(points, s.ip) >= 0 &&
			      !(h->misc & PERF_RECORD_MISC_EXACT_IP);
		tally_sample(t, &s, points, rounds, attr->sample_period, exact);
	}
}

/*
 * All samples but those outside of the loop, of which there are few, are at the place that their
 * registers give; none is lost. Sample n is of event n * period, from 0 on: it is there exactly,
 * unless the event was stopped in its period. A period that ends with the last event, which is the
 * call that disables the event, can be without its sample.
 */
static bool tally_is_exact(const char *what, const struct tally *t, uint64_t count, uint64_t period,
			   bool exact)
{
	int64_t least = t->least ?: LEAST, slack = t->stops ? least : 1;

	return expect_between(what, t->samples, (count - 1 - slack) / period,
			      (count - 1) / period) &
	       expect(t->inside + 2 >= t->samples, "%s: %u of %u samples in the loop", what,
		      t->inside, t->samples) &
	       expect_eq("registers that are not those of the instruction", t->wrong, 0) &
	       expect_eq("records of lost samples and throttling", t->foreign, 0) &
	       expect_eq("samples with another flag of the address", t->inexact,
			 exact ? 0 : t->inside) &
	       expect(llabs(t->farthest) <= least, "%s: a sample is %ld beside its period", what,
		      (long)t->farthest) &
	       expect_eq("samples before the end of their period", t->early, 0) &
	       expect_between("samples after the end of their period", t->late, 0, t->stops);
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

/* Instructions of user space and of the kernel while an event samples. */
struct insns {
	int		fd[2];
	uint64_t	user, kernel;
};

static void insns_begin(struct insns *n)
{
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, i ? "k" : "u");

		n->fd[i] = open_self(&attr, -1);
		event_enable(n->fd[i]);
	}
}

static void insns_end(struct insns *n)
{
	for (int i = 0; i < 2; i++)
		event_disable(n->fd[i]);
	n->user = perf_count(n->fd[0]);
	n->kernel = perf_count(n->fd[1]);
	close(n->fd[0]);
	close(n->fd[1]);
}

/* ------------------------------------------- two tasks, each with an event of its own */

/* A task that takes turns with another one on a CPU, and what its samples show. */
struct turner {
	void		(*work)(void);
	const uint32_t	*points, *foreign_points;
	uint64_t	period;
	bool		exact;		/* of the address */
	bool		counts_insns;

	pid_t		pid;
	unsigned int	samples, foreign, wrong, other_records;
	unsigned int	calls;		/* periods that end at a SYSCALL */
	uint64_t	count;
	struct insns	insns;
};

/* Instructions from one SYSCALL of read_and_pass() to the next. */
#define CALL_INSNS	5

/*
 * Reads the count, opens the gate of the other task and waits at the gate of the own one. The last
 * instruction in the count that is returned is the SYSCALL of the read.
 */
static uint64_t read_and_pass(int fd, int to_other, int from_other)
{
	long ret = __NR_read, file = fd, size = sizeof(uint64_t);
	uint64_t count = 0;
	void *to = &count;
	char byte = 0;

	register int out asm("r8") = to_other;
	register int in asm("r9") = from_other;
	register char *at asm("r10") = &byte;

	asm volatile("	syscall\n"
		     "	mov %[write], %%eax\n"
		     "	mov %[out], %%edi\n"
		     "	mov %[at], %%rsi\n"
		     "	mov $1, %%edx\n"
		     "	syscall\n"
		     "	mov %[read], %%eax\n"
		     "	mov %[in], %%edi\n"
		     "	mov %[at], %%rsi\n"
		     "	mov $1, %%edx\n"
		     "	syscall\n"
		     : "+a" (ret), "+D" (file), "+S" (to), "+d" (size)
		     : [out] "r" (out), [in] "r" (in), [at] "r" (at),
		       [write] "i" (__NR_write), [read] "i" (__NR_read)
		     : "rcx", "r11", "memory");
	if (ret != 1)
		fail_case("a turn");
	return count;
}

/* Without exact addresses the record of a SYSCALL has the address of the kernel: no sample. */
static void count_call(struct turner *me, uint64_t at)
{
	me->calls += at > 1 && !((at - 1) % me->period);
}

static void tally_turns(struct turner *me, struct ring *ring, const struct perf_event_attr *attr)
{
	struct perf_event_header *h;

	while ((h = ring_next(ring))) {
		struct sample s;

		if (h->type != PERF_RECORD_SAMPLE) {
			me->other_records++;
			continue;
		}
		sample_parse(&s, h, attr);
		me->samples++;
		me->foreign += (pid_t)s.pid != me->pid || point_of(me->foreign_points, s.ip) >= 0;
		if (point_of(me->points, s.ip) >= 0)
			me->wrong += insn_of(&s, me->points, 200, me->exact) < 0;
	}
}

/* The work of a task in its turns. The task that does not begin ends with its last work. */
static void run_turner(struct turner *me, struct perf_event_attr attr, unsigned int turns,
		       struct gate *to_other, struct gate *from_other, bool begins)
{
	struct ring ring;
	uint64_t at;
	int fd;

	me->pid = getpid();
	attr.sample_period = me->period;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 512))
		fail_case("mmap");
	if (!begins)
		gate_wait(from_other);
	if (me->counts_insns)
		insns_begin(&me->insns);
	event_enable(fd);
	for (unsigned int i = 0; i < turns; i++) {
		me->work();
		if (i == turns - 1 && !begins)
			break;
		at = read_and_pass(fd, to_other->fd[1], from_other->fd[0]);
		for (int call = 0; call < 3; call++)
			count_call(me, at + call * CALL_INSNS);
	}
	event_disable(fd);
	if (me->counts_insns)
		insns_end(&me->insns);
	me->count = perf_count(fd);
	count_call(me, me->count);
	tally_turns(me, &ring, &attr);
	if (!begins)
		gate_open(to_other);
}

/*
 * This task and another one take turns, each with the event at its period of @t. The tasks have a
 * real-time priority: no third one runs in between.
 */
static bool take_own_turns(struct turner *t, const struct perf_event_attr *attr,
			   unsigned int turns)
{
	struct sched_param param = { .sched_priority = 10 };
	struct gate go = gate_new(), back = gate_new();
	pid_t other;

	MUST(pin_to_cpu(0));
	MUST(sched_setscheduler(0, SCHED_FIFO, &param));
	t[0].work = run_mine;
	t[1].work = run_other;
	for (int i = 0; i < 2; i++) {
		t[i].points = i ? other_precise_loop_points : precise_loop_points;
		t[i].foreign_points = i ? precise_loop_points : other_precise_loop_points;
	}
	other = fork_child();
	if (!other) {
		run_turner(&t[1], *attr, turns, &back, &go, false);
		_exit(0);
	}
	run_turner(&t[0], *attr, turns, &go, &back, true);
	return expect(child_succeeded(other), "the other task") &
	       expect_eq("samples of the other task", t[0].foreign + t[1].foreign, 0) &
	       expect_eq("registers that are not those of the instruction",
			 t[0].wrong + t[1].wrong, 0) &
	       expect_eq("other records", t[0].other_records + t[1].other_records, 0);
}

static struct turner *two_turners(void)
{
	struct turner *t = mmap(NULL, 2 * sizeof(*t), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		fail_case("mmap");
	return t;
}

#endif /* X86_PRECISE_H */
