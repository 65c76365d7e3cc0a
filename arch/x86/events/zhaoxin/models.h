/* SPDX-License-Identifier: GPL-2.0 */
/* Model tables of Zhaoxin and Centaur processors. */
#ifndef _ARCH_X86_EVENTS_ZHAOXIN_MODELS_H
#define _ARCH_X86_EVENTS_ZHAOXIN_MODELS_H

#include "../pmu.h"

extern const struct x86_model zxc_model, zxd_model, zxe_model;

/**
 * struct zhaoxin_part - processors with the same events
 * @family: CPUID family
 * @number: CPUID model
 * @stepping: the first stepping
 * @model: their events
 * @fixed: fixed counters that count what Intel's do
 */
struct zhaoxin_part {
	u8			family;
	u8			number;
	u8			stepping;
	const struct x86_model	*model;
	u64			fixed;
};

const struct zhaoxin_part *zhaoxin_find_part(unsigned int family, unsigned int number,
					     unsigned int stepping);

#endif
