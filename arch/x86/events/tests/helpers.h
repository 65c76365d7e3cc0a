/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What several tests of the x86 PMU driver need.
 */
#ifndef _ARCH_X86_EVENTS_TESTS_HELPERS_H
#define _ARCH_X86_EVENTS_TESTS_HELPERS_H

#include <kunit/test.h>

#include "../pmu.h"

/* Sets of counters: @n general ones, and @f fixed ones. */
#define GENERAL(n)	((1ULL << (n)) - 1)
#define ARCH(n, f)	(GENERAL(n) | GENERAL(f) << INTEL_PMC_IDX_FIXED)

/* The extra register that a selection needs; NULL: none. */
static inline const struct x86_extra *x86_test_extra(const struct x86_model *model, u64 config)
{
	const struct x86_extra *x = model->extra;

	for (; x && x->mask; x++)
		if ((config & x->mask) == x->match)
			return x;
	return NULL;
}

#endif /* _ARCH_X86_EVENTS_TESTS_HELPERS_H */
