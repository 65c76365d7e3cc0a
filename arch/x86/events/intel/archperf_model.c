// SPDX-License-Identifier: GPL-2.0
/*
 * Tables for Intel processors that have none of their own: the events that CPUID.0AH reports.
 *
 * Manual: SDM volume 3B, chapter "Performance Monitoring", "Architectural Performance Monitoring".
 */
#include "models.h"

const struct x86_model x86_model_arch_v1 = {
	.name	= "generic_arch_v1",
	.manual	= "SDM 3B, Architectural Performance Monitoring",
	.flags	= X86_MODEL_ARCH_EVENTS,
};

const struct x86_model x86_model_arch_v2 = {
	.name	= "generic_arch_v2+",
	.manual	= "SDM 3B, Architectural Performance Monitoring",
	.flags	= X86_MODEL_ARCH_EVENTS,
};

const struct x86_model x86_model_arch_v5 = {
	.name	= "generic_arch_v5+",
	.manual	= "SDM 3B, Architectural Performance Monitoring",
	.flags	= X86_MODEL_ARCH_EVENTS,
};
