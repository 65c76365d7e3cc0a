/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Model tables of Intel processors, one file for each line of processors.
 *
 * SDM: Software Developer's Manual, volume 3B, chapter "Performance Monitoring" and the per-model
 * event lists that Intel publishes with it (perfmon event files, named by microarchitecture).
 *
 * Generic events are in the order of enum perf_hw_id: cycles, instructions, cache references and
 * misses, branches and their misses, bus cycles, stalls of the front end and the back end,
 * reference cycles. With X86_MODEL_ARCH_EVENTS a 0 means the architectural event.
 */
#ifndef _ARCH_X86_EVENTS_INTEL_MODELS_H
#define _ARCH_X86_EVENTS_INTEL_MODELS_H

#include "../pmu.h"

/* Bits of a selection above the umask. */
#define SEL_EDGE	BIT_ULL(18)
#define SEL_INV		BIT_ULL(23)
#define SEL_CMASK(n)	((u64)(n) << 24)

/* Off-core responses: two event codes with a register each. */
#define EXTRA_OFFCORE(_sel0, _sel1, _valid)			\
	EXTRA(_sel0, MSR_OFFCORE_RSP_0, _valid, OFFCORE_0),	\
	EXTRA(_sel1, MSR_OFFCORE_RSP_1, _valid, OFFCORE_1)

/* Loads with a latency above a threshold in cycles. */
#define EXTRA_LDLAT(_sel)	EXTRA(_sel, MSR_PEBS_LD_LAT_THRESHOLD, 0xffff, LOAD_LATENCY)

/* lbr.c */
extern const struct x86_branches intel_lbr_core2, intel_lbr_bonnell, intel_lbr_silvermont,
	intel_lbr_nehalem, intel_lbr_sandybridge, intel_lbr_knl, intel_lbr_haswell,
	intel_lbr_skylake, intel_lbr_icelake;
u32 intel_lbr_arch_layout(u32 ecx, bool tsx);
unsigned int intel_lbr_arch_depth(u32 eax);

/* pebs_events.c */
extern const struct x86_precise_line intel_pebs_core2, intel_pebs_atom, intel_pebs_goldmont,
	intel_pebs_goldmont_plus, intel_pebs_tremont, intel_pebs_nehalem, intel_pebs_westmere,
	intel_pebs_sandybridge, intel_pebs_ivybridge, intel_pebs_haswell, intel_pebs_skylake,
	intel_pebs_icelake, intel_pebs_goldencove, intel_pebs_redwoodcove, intel_pebs_lioncove,
	intel_pebs_gracemont, intel_pebs_crestmont, intel_pebs_skymont;

/* Counters 0..n-1 */
#define FIRST(n)	((1ULL << (n)) - 1)

/* An event without the bits that make others of it. */
#define RULE_PLAIN(_sel, _counters)						\
	{ (_sel), X86_SELECT_UMASK | SEL_EDGE | SEL_INV | SEL_CMASK(0xff) | HSW_IN_TX |	\
	  HSW_IN_TX_CHECKPOINTED | ARCH_PERFMON_EVENTSEL_EQ | ARCH_PERFMON_EVENTSEL_UMASK2, \
	  (_counters) }

/* CPU_CLK_UNHALTED.REF_TSC_P, where it counts the same as fixed counter 2. */
#define RULE_REF_TSC(_general)	RULE_PLAIN(0x013c, (_general) | X86_FIXED(2))

/* Sampling periods of all events, and of one. */
#define PERIODS_OF_ALL(_least)			{ 0, 0, (_least), 1, true }
#define PERIODS_OF(_sel, _least, _multiple)	{ (_sel), X86_SELECT_UMASK, (_least), (_multiple) }

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

/* sysfs_events.c */
extern const struct x86_sysfs_event intel_nehalem_events[], intel_sandybridge_events[];
extern const struct x86_sysfs_event intel_haswell_events[], intel_skylake_events[];
extern const struct x86_sysfs_event intel_icelake_events[], intel_goldencove_events[];
extern const struct x86_sysfs_event intel_redwoodcove_events[], intel_lioncove_events[];
extern const struct x86_sysfs_event intel_silvermont_events[], intel_goldmont_events[];
extern const struct x86_sysfs_event intel_goldmont_plus_events[], intel_tremont_events[];
extern const struct x86_sysfs_event intel_gracemont_events[], intel_crestmont_events[];
extern const struct x86_sysfs_event intel_skymont_events[];

#endif
