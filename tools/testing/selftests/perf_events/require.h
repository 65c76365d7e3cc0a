/* SPDX-License-Identifier: GPL-2.0 */
/* What a case requires of the machine or the kernel; without it the case is skipped. */
#ifndef PERF_TEST_REQUIRE_H
#define PERF_TEST_REQUIRE_H

#include "events.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#ifdef __x86_64__
/* The CPUID leaf of QEMU's PMU model: counts of its register accesses, and what it is. */
#define X86_MODEL_LEAF	0x4f504d55
#define X86_MODEL_ABOUT	0xffffffff	/* subleaf; EBX bit 0: instructions are the clock */

/* True for the PMU model where instructions are not the clock; hardware counts exactly. */
static inline bool counts_are_inexact(void)
{
	uint32_t a, b, c, d;

	__cpuid_count(X86_MODEL_LEAF, X86_MODEL_ABOUT, a, b, c, d);
	return a == X86_MODEL_LEAF && !(b & 1);
}
#else
static inline bool counts_are_inexact(void)
{
	return false;
}
#endif

/*
 * Emulators count instructions exactly only while instructions are their clock. On arm64 the event
 * does not exist otherwise; the x86 model counts something else, and CPUID shows that. A wrong
 * count alone is no reason to skip.
 */
static inline void require_exact_instructions(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd = perf_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		skip_case("no instruction counter");
	if (counts_are_inexact())
		skip_case("instructions are not the clock");
	close(fd);
}

static inline void require_cpus(int nr)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < nr)
		skip_case("not enough CPUs");
}

/* Some CPUs have many counters, but few that can count instructions. */
static inline void require_instruction_counters(unsigned int nr)
{
	if (max_group_size(PERF_COUNT_HW_INSTRUCTIONS) < nr)
		skip_case("too few counters for instructions");
}

#endif /* PERF_TEST_REQUIRE_H */
