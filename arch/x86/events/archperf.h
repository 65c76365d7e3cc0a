/* SPDX-License-Identifier: GPL-2.0 */
/* Architectural performance monitoring, see archperf.c. */
#ifndef _ARCH_X86_EVENTS_ARCHPERF_H
#define _ARCH_X86_EVENTS_ARCHPERF_H

#include "pmu.h"

/**
 * struct archperf_leaf - CPUID.0AH
 * @eax: version, number and width of general counters
 * @ebx: set bits are architectural events that do not count
 * @ecx: set of fixed counters, from version 5 on
 * @edx: number and width of fixed counters
 */
struct archperf_leaf {
	union cpuid10_eax	eax;
	union cpuid10_ebx	ebx;
	u32			ecx;
	union cpuid10_edx	edx;
};

void archperf_read_leaf(struct archperf_leaf *leaf);
u64  archperf_counters(const struct archperf_leaf *leaf);
void archperf_setup(struct x86_pmu *xpmu, const struct archperf_leaf *leaf,
		    const struct x86_model *model);

/* intel/detect.c */
u64  intel_hybrid_counters(const struct x86_model *model, const struct archperf_leaf *leaf,
			   bool guest);

#endif
