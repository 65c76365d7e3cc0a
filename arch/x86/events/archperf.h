/* SPDX-License-Identifier: GPL-2.0 */
/* Architectural performance monitoring, see archperf.c. */
#ifndef _ARCH_X86_EVENTS_ARCHPERF_H
#define _ARCH_X86_EVENTS_ARCHPERF_H

#include "pmu.h"

/**
 * struct archperf_leaf - CPUID.0AH and, if CPUID.7.1:EAX[8] is set, CPUID.23H
 * @eax: version, number and width of general counters
 * @ebx: set bits are architectural events that do not count
 * @ecx: set of fixed counters, from version 5 on
 * @edx: number and width of fixed counters
 * @features: CPUID.23H.0:EBX; 0 without that leaf
 * @general: CPUID.23H.1:EAX, set of general counters
 * @fixed: CPUID.23H.1:EBX, set of fixed counters
 */
struct archperf_leaf {
	union cpuid10_eax	eax;
	union cpuid10_ebx	ebx;
	u32			ecx;
	union cpuid10_edx	edx;
	u32			features;
	u32			general;
	u32			fixed;
};

void archperf_read_leaf(struct archperf_leaf *leaf);
u64  archperf_counters(const struct archperf_leaf *leaf);
void archperf_setup(struct x86_pmu *xpmu, const struct archperf_leaf *leaf,
		    const struct x86_model *model);

/* intel/detect.c */
u64  intel_hybrid_counters(const struct x86_model *model, const struct archperf_leaf *leaf,
			   bool guest);

#endif
