/* SPDX-License-Identifier: GPL-2.0 */
/* Tables of Zhaoxin's processors. */
#ifndef X86_EVENTS_ZHAOXIN_MODELS_H
#define X86_EVENTS_ZHAOXIN_MODELS_H

#include "../pmu.h"

extern const struct x86_model zxc_model, zxd_model, zxe_model;

#endif
