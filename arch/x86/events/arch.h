/* SPDX-License-Identifier: GPL-2.0 */
/* Architectural performance monitoring, see arch.c. */
#ifndef _ARCH_X86_EVENTS_ARCH_H
#define _ARCH_X86_EVENTS_ARCH_H

#include "pmu.h"

/**
 * struct x86_arch_leaf - CPUID.0AH
 * @eax: version, general counters
 * @ebx: events that are missing
 * @ecx: fixed counters, as a set
 * @edx: fixed counters, their number and width
 */
struct x86_arch_leaf {
	union cpuid10_eax	eax;
	union cpuid10_ebx	ebx;
	u32			ecx;
	union cpuid10_edx	edx;
};

void x86_arch_read_leaf(struct x86_arch_leaf *leaf);
u64  x86_arch_counters(const struct x86_arch_leaf *leaf);
void x86_arch_setup(struct x86_core *core, const struct x86_arch_leaf *leaf,
		    const struct x86_model *model);

/* intel/detect.c */
u64  intel_hybrid_counters(const struct x86_model *model, const struct x86_arch_leaf *leaf, bool guest);
u64  intel_counters_beside_rtm(u64 counters, bool rtm);

#endif
