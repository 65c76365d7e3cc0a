/* SPDX-License-Identifier: GPL-2.0 */
/* Model tables of Zhaoxin and Centaur processors. */
#ifndef _ARCH_X86_EVENTS_ZHAOXIN_MODELS_H
#define _ARCH_X86_EVENTS_ZHAOXIN_MODELS_H

#include "../pmu.h"

extern const struct x86_model zxc_model, zxd_model, zxe_model;

#endif
