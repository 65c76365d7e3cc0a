/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model tables of this folder, one file for each line of processors.
 *
 * SDM: Software Developer's Manual, volume 3B, chapter "Performance Monitoring" and the per-model
 * event lists that Intel publishes with it (perfmon event files, named by microarchitecture).
 *
 * Generic events are in the order of enum perf_hw_id: cycles, instructions, cache references and
 * misses, branches and their misses, bus cycles, stalls of the front end and the back end,
 * reference cycles. A 0 is filled in from the architectural events if the part has them.
 */
#ifndef _ARCH_X86_EVENTS_INTEL_MODELS_H
#define _ARCH_X86_EVENTS_INTEL_MODELS_H

#include "../pmu.h"

/* Bits of a selection above the mask of units. */
#define SEL_EDGE	BIT_ULL(18)
#define SEL_INV		BIT_ULL(23)
#define SEL_CMASK(n)	((u64)(n) << 24)

/* Requests to the uncore, by the two codes that have a register each: responses to count. */
#define EXTRA_OFFCORE(_sel0, _sel1, _valid)			\
	EXTRA(_sel0, MSR_OFFCORE_RSP_0, _valid, OFFCORE_0),	\
	EXTRA(_sel1, MSR_OFFCORE_RSP_1, _valid, OFFCORE_1)

/* Loads that take longer than a number of cycles. */
#define EXTRA_LDLAT(_sel)	EXTRA(_sel, MSR_PEBS_LD_LAT_THRESHOLD, 0xffff, LOAD_LATENCY)

/* Counters 0..n-1 */
#define FIRST(n)	((1ULL << (n)) - 1)

extern const struct x86_model p4_model, p6_model;
extern const struct x86_model x86_model_arch_v1, x86_model_arch_v2, x86_model_arch_v5;
extern const struct x86_model core_model, core2_model, nehalem_model, westmere_model;
extern const struct x86_model sandybridge_model, sandybridge_ep_model, ivybridge_model;
extern const struct x86_model ivybridge_ep_model, haswell_model, broadwell_model;
extern const struct x86_model skylake_model, icelake_model, goldencove_model, redwoodcove_model;
extern const struct x86_model goldencove_x_model, redwoodcove_x_model, lioncove_model;
extern const struct x86_model bonnell_model, silvermont_model, knl_model, goldmont_model;
extern const struct x86_model goldmont_plus_model, tremont_model, gracemont_model;
extern const struct x86_model crestmont_model, skymont_model;

/* named.c */
extern const struct x86_named_event intel_topdown_named[], intel_haswell_named[];
extern const struct x86_named_event intel_icelake_named[];

#endif
