/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of compare.c share: the random numbers of a case, its events, and the answers that
 * it collects.
 *
 * The answers of a case are text, the same on two kernels that behave alike. They contain no times,
 * no addresses, no ids and no counts that depend on anything but the calls of the case: such a
 * value is shown as zero or not zero, or not at all.
 */
#ifndef PERF_TEST_COMPARE_H
#define PERF_TEST_COMPARE_H

#include "events.h"
#include "files.h"
#include "harness.h"

#include <sched.h>

#define COMPARE_SLOTS	8
#define COMPARE_PAGE	4096UL
/* A descriptor that no case has open. */
#define COMPARE_BAD_FD	77

/* One event of the case. */
struct compare_slot {
	int			fd;		/* -1: none */
	struct perf_event_attr	attr;
	uint64_t		id;
	char			*map;
	size_t			map_size;	/* 0: not mapped */
	uint64_t		tail;
	bool			own;		/* counts the process of the case on CPU 0 or any */
	bool			noisy;		/* samples at times of its own */
	bool			shared;		/* other events write to its buffer, too */
};

/* The case that is running; each runs in a process of its own. */
static struct {
	uint64_t		random;
	struct compare_slot	slots[COMPARE_SLOTS];
	unsigned int		nr_slots;
	bool			user;		/* not root */
	bool			noisy;		/* one of the events is */
	bool			multiplexed;	/* events may take turns on the counters */
	int			cgroup;
	pid_t			helper;
	pid_t			dead;
	int			programs[2];	/* BPF: for perf events, for tracepoints */
} compare;

/* In memory that the case and its parent share: the last call is seen even if the case dies. */
static struct {
	bool			verbose;
	uint32_t		hash;
	uint32_t		calls;
	uint32_t		length;
	uint32_t		line;		/* where the line of the current call begins */
	char			text[1 << 17];
} *compare_answers;

static uint64_t compare_random(uint64_t below)
{
	compare.random ^= compare.random << 13;
	compare.random ^= compare.random >> 7;
	compare.random ^= compare.random << 17;
	return (compare.random >> 11) % below;
}

static bool compare_one_in(unsigned int n)
{
	return !compare_random(n);
}

#define COMPARE_PICK(array)							\
({										\
	__auto_type __array = &(array)[0];					\
	__array[compare_random(sizeof(array) / sizeof(__array[0]))];		\
})

/* One of the events of the case, mostly one that is open; NULL: there is none. */
static struct compare_slot *compare_pick_slot(void)
{
	struct compare_slot *slot = NULL;

	for (unsigned int i = 0; compare.nr_slots && i < 6; i++) {
		slot = &compare.slots[compare_random(compare.nr_slots)];
		if (slot->fd >= 0)
			break;
	}
	return slot;
}

/* The number of the event with this id in the case; -1: none has it. */
static int compare_slot_of(uint64_t id)
{
	for (unsigned int i = 0; i < compare.nr_slots; i++) {
		if (compare.slots[i].id == id && id)
			return i;
	}
	return -1;
}

static void answer_append(const char *fmt, va_list ap)
{
	size_t left = sizeof(compare_answers->text) - compare_answers->length;
	int n = vsnprintf(compare_answers->text + compare_answers->length, left, fmt, ap);

	if (n > 0)
		compare_answers->length += (size_t)n < left ? (size_t)n : left - 1;
}

/* Describes the call that follows, for a reader; no part of the answers. */
static __printf(1, 2) void answer_describe(const char *fmt, ...)
{
	va_list ap;

	if (!compare_answers->verbose)
		return;
	va_start(ap, fmt);
	answer_append(fmt, ap);
	va_end(ap);
}

/* Adds to the answer of the current call. */
static __printf(1, 2) void answer_add(const char *fmt, ...)
{
	uint32_t from = compare_answers->length, hash = compare_answers->hash;
	va_list ap;

	va_start(ap, fmt);
	answer_append(fmt, ap);
	va_end(ap);
	for (uint32_t i = from; i < compare_answers->length; i++)
		hash = (hash ^ (unsigned char)compare_answers->text[i]) * 16777619;
	compare_answers->hash = hash;
	if (!compare_answers->verbose)
		compare_answers->length = from;
}

/* Between what describes a call and its answer. */
static void answer_begin(void)
{
	answer_describe(" | ");
}

/* Ends the line of a call. */
static void answer_end(void)
{
	compare_answers->calls++;
	answer_add("\n");
}

/* The answer of a system call: its value, or the name of its error. */
static void answer_result(long ret)
{
	if (ret < 0)
		answer_add("%s", strerrorname_np(errno));
	else
		answer_add("%ld", ret);
}

/* The answer of a call that has no other result. */
static void answer_call(long ret)
{
	int error = errno;

	answer_begin();
	errno = error;
	answer_result(ret);
	answer_end();
}

#endif /* PERF_TEST_COMPARE_H */
