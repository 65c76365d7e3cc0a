/* SPDX-License-Identifier: GPL-2.0 */
/* Model tables of AMD processors. */
#ifndef _ARCH_X86_EVENTS_AMD_MODELS_H
#define _ARCH_X86_EVENTS_AMD_MODELS_H

#include "../pmu.h"

extern const struct x86_model amd_model_k7, amd_model_k8, amd_model_fam10h, amd_model_fam15h;
extern const struct x86_model amd_model_fam17h, amd_model_zen2, amd_model_fam19h;
extern const struct x86_model amd_model_zen4, amd_model_fam1ah;

void amd_lbr_setup(struct x86_pmu *xpmu);

#endif
