/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of hardware breakpoints: the memory that is watched, and events that watch it. */
#ifndef PERF_TEST_BREAKPOINT_H
#define PERF_TEST_BREAKPOINT_H

#include "expect.h"
#include "processes.h"
#include "workloads.h"

#include <linux/hw_breakpoint.h>

#define MAX_SLOTS	16
#define NOBODY_ID	65534
#define X_LEN		sizeof(long)	/* length of an instruction breakpoint */

/*
 * The memory that is watched: word 0, or words from 1 by several events. Nothing else accesses it.
 */
static union {
	volatile uint64_t	word[MAX_SLOTS + 2];
	volatile uint8_t	byte[8];
} target __aligned(64);

static void write_words(volatile uint64_t *word, unsigned int times)
{
	while (times--)
		*word = times;
}

static uint64_t read_words(volatile uint64_t *word, unsigned int times)
{
	uint64_t sum = 0;

	while (times--)
		sum += *word;
	return sum;
}

static noinline __noclone void watched_function(void)
{
	asm volatile("");
}

static void call_function(unsigned int times)
{
	while (times--)
		watched_function();
}

static struct perf_event_attr bp_attr(uint32_t type, volatile void *addr, uint64_t len)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = type;
	attr.bp_addr = (uintptr_t)addr;
	attr.bp_len = len;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

static int bp_open(uint32_t type, volatile void *addr, uint64_t len, pid_t pid, int cpu)
{
	struct perf_event_attr attr = bp_attr(type, addr, len);

	return perf_open(&attr, pid, cpu, -1, 0);
}

static int watch_writes(pid_t pid, int cpu)
{
	return bp_open(HW_BREAKPOINT_W, &target.word[0], 8, pid, cpu);
}

#endif /* PERF_TEST_BREAKPOINT_H */
