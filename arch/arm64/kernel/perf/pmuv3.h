/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMUv3, inside: what a CPU's registers hold, and access to its counters.
 *
 * The rule that everything here serves: a register is written only if its value changes. An event
 * that only counts needs none of them stopped or set: its counter runs on when the event's task
 * leaves the CPU, for nobody, and when the task comes back the difference is taken from there.
 * Only counters that interrupt at the end of a period are stopped and set.
 *
 * struct pmuv3_cpu is used by its own CPU with interrupts off. The overflow interrupt may be an
 * NMI: what must look whole to it is done between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 */
#ifndef __PMUV3_H
#define __PMUV3_H

#include <linux/bitfield.h>
#include <linux/percpu.h>
#include <linux/perf/arm_pmuv3.h>

#include "arm_pmu_internal.h"

/* Layout of perf_event_attr: see the format files in pmuv3_sysfs.c. */
#define ATTR_CFG_FLD_event_CFG			config
#define ATTR_CFG_FLD_event_LO			0
#define ATTR_CFG_FLD_event_HI			15
#define ATTR_CFG_FLD_long_CFG			config1	/* 64 bits wide; KVM sets it, too */
#define ATTR_CFG_FLD_long_LO			0
#define ATTR_CFG_FLD_long_HI			0
#define ATTR_CFG_FLD_rdpmc_CFG			config1	/* user space reads the counter */
#define ATTR_CFG_FLD_rdpmc_LO			1
#define ATTR_CFG_FLD_rdpmc_HI			1
#define ATTR_CFG_FLD_threshold_count_CFG	config1	/* cycles past the threshold, not events */
#define ATTR_CFG_FLD_threshold_count_LO		2
#define ATTR_CFG_FLD_threshold_count_HI		2
#define ATTR_CFG_FLD_threshold_compare_CFG	config1	/* !=, ==, >=, < */
#define ATTR_CFG_FLD_threshold_compare_LO	3
#define ATTR_CFG_FLD_threshold_compare_HI	4
#define ATTR_CFG_FLD_threshold_CFG		config1	/* 0: none */
#define ATTR_CFG_FLD_threshold_LO		5
#define ATTR_CFG_FLD_threshold_HI		16

/* hw_perf_event::flags, the driver's part. */
#define PMUV3_EVT_SAMPLES	0x00001000	/* stopped while it is off the CPU */
#define PMUV3_EVT_SHORT		0x00002000	/* event counters have 32 bits */
#define PMUV3_EVT_NARROW	0x00004000	/* its user page promises 32 bits */
#define PMUV3_EVT_PAIR		0x00008000	/* takes two event counters, chained */
#define PMUV3_EVT_CYCLES	0x00010000	/* could be on the cycle counter */
#define PMUV3_EVT_INSNS		0x00020000	/* could be on the instruction counter */
#define PMUV3_EVT_FIXED_ONLY	0x00040000	/* and on no other */
#define PMUV3_EVT_DEFERRED	0x00080000	/* KVM enables its counter when it enters a guest */

/* With one of these it takes more than reading a counter to put the event on and off. */
#define PMUV3_EVT_SPECIAL							\
	(PMUV3_EVT_SAMPLES | PMUV3_EVT_SHORT | PMUV3_EVT_NARROW |		\
	 PMUV3_EVT_PAIR | PMUV3_EVT_DEFERRED)

/*
 * hw_perf_event::config_base is what the type register is to hold and, in bits that it does not
 * have, what KVM is to be told: that its EL0 part counts only in the host, or only in a guest.
 */
#define PMUV3_KVM_HOST		BIT(16)
#define PMUV3_KVM_GUEST		BIT(17)
#define PMUV3_KVM		(PMUV3_KVM_HOST | PMUV3_KVM_GUEST)

#define PMUV3_FILTERS								\
	(ARMV8_PMU_EXCLUDE_EL1 | ARMV8_PMU_EXCLUDE_EL0 | ARMV8_PMU_EXCLUDE_NS_EL1 |	\
	 ARMV8_PMU_EXCLUDE_NS_EL0 | ARMV8_PMU_INCLUDE_EL2 | ARMV8_PMU_EXCLUDE_EL3)
#define PMUV3_THRESHOLD		(ARMV8_PMU_EVTYPE_TH | ARMV8_PMU_EVTYPE_TC)
#define PMUV3_TYPE		(ARMV8_PMU_EVTYPE_EVENT | PMUV3_FILTERS | PMUV3_THRESHOLD)

/* pmuv3_cpu::type of a register of which nothing is known. */
#define PMUV3_UNKNOWN		U64_MAX

/* The upper half of a chained pair counts wherever the lower one does. */
#define PMUV3_CHAIN		(ARMV8_PMUV3_PERFCTR_CHAIN | ARMV8_PMU_INCLUDE_EL2)

#define PMUV3_GENERAL		GENMASK_ULL(ARMV8_PMU_MAX_GENERAL_COUNTERS - 1, 0)

/**
 * struct pmuv3_cpu - the PMU of one CPU, as the driver left it
 * @pmu: whose registers these are; NULL before the first reset
 * @there: counters there are
 * @running: counters with an event
 * @enabled: PMCNTENSET_EL0
 * @interrupts: PMINTENSET_EL1
 * @zero: counters that are known to be stopped and 0
 * @asleep: counters whose events are stopped for the time of a power-down
 * @kvm: counters that KVM has been told of
 * @pmcr: PMCR_EL0 but for E
 * @on: PMCR_EL0.E
 * @halted: the core has disabled the PMU
 * @wide: event counters have 64 bits (PMCR_EL0.LP)
 * @reader: the task that is here has events that EL0 may read
 * @user: EL0 may read counters: there is a reader, and the sysctl is on
 * @event: event on each counter; of a chained pair, on the upper one
 * @type: PMEVTYPER<n>_EL0, PMCCFILTR_EL0, PMICFILTR_EL0, with PMUV3_KVM
 */
struct pmuv3_cpu {
	struct arm_pmu		*pmu;
	u64			there;
	u64			running;
	u64			enabled;
	u64			interrupts;
	u64			zero;
	u64			asleep;
	u64			kvm;
	u64			pmcr;
	bool			on;
	bool			halted;
	bool			wide;
	bool			reader;
	bool			user;
	struct perf_event	*event[ARMPMU_MAX_HWEVENTS];
	u64			type[ARMPMU_MAX_HWEVENTS];
};

DECLARE_PER_CPU(struct pmuv3_cpu, pmuv3_cpu);

/* The sequences between these two are a few hundred instructions at most. */
static __always_inline unsigned long pmuv3_mask_nmi(void)
{
	unsigned long daif;

	if (!armpmu_has_nmi)
		return 0;

	daif = read_sysreg(daif);
	asm volatile("msr daifset, #3" : : : "memory");
	return daif;
}

static __always_inline void pmuv3_unmask_nmi(unsigned long daif)
{
	if (armpmu_has_nmi)
		asm volatile("msr daif, %0" : : "r" (daif) : "memory");
}

static inline bool pmuv3_is_pair(const struct hw_perf_event *hw, unsigned int idx)
{
	return hw->flags & PMUV3_EVT_PAIR && idx < ARMV8_PMU_CYCLE_IDX;
}

static inline bool pmuv3_is_short(const struct hw_perf_event *hw, unsigned int idx)
{
	return hw->flags & PMUV3_EVT_SHORT && idx < ARMV8_PMU_CYCLE_IDX;
}

/* All the counters that an event has on @idx. */
static inline u64 pmuv3_counters(const struct hw_perf_event *hw, unsigned int idx)
{
	return unlikely(pmuv3_is_pair(hw, idx)) ? GENMASK_ULL(idx, idx - 1) : BIT_ULL(idx);
}

/*
 * A counter that may wrap, for an event that does not sample, is kept in the upper half of its 32
 * bits: it then wraps with half its range to go until the difference is ambiguous, so that the
 * interrupt at the wrap comes in time, and what user space makes of its value is right, too. It
 * gets back into that half when it is found outside of it, which is once in 2^31 events.
 */
#define PMUV3_WINDOW		GENMASK_ULL(63, 31)

static inline bool pmuv3_needs_window(const struct hw_perf_event *hw, unsigned int idx)
{
	return hw->flags & PMUV3_EVT_NARROW || pmuv3_is_short(hw, idx);
}

static __always_inline u64 pmuv3_read_one(unsigned int idx)
{
	if (likely(idx < ARMV8_PMU_CYCLE_IDX))
		return read_pmevcntrn(idx);

	return idx == ARMV8_PMU_CYCLE_IDX ? read_pmccntr() : read_pmicntr();
}

static inline void pmuv3_write_one(unsigned int idx, u64 value)
{
	if (likely(idx < ARMV8_PMU_CYCLE_IDX))
		write_pmevcntrn(idx, value);
	else if (idx == ARMV8_PMU_CYCLE_IDX)
		write_pmccntr(value);
	else
		write_pmicntr(value);
}

/* pmuv3_assign.c */
int pmuv3_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from);
int pmuv3_place(u64 there, struct perf_sched_slot *slot, unsigned int nr, unsigned int from,
		const struct pmuv3_cpu *hint);

/* pmuv3_user.c */
void pmuv3_user_access(struct pmuv3_cpu *c, bool reader);
void pmuv3_user_pages(const struct pmuv3_cpu *c);
int  pmuv3_event_idx(struct perf_event *event);
void pmuv3_user_init(void);

/* pmuv3_sched.c */
void pmuv3_sched_load(struct pmu *pmu, const struct perf_schedule *s);
void pmuv3_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask);
void pmuv3_take_from_kvm(struct pmuv3_cpu *c, u64 counters);
void pmuv3_start(struct perf_event *event, int flags);
void pmuv3_stop(struct perf_event *event, int flags);
void pmuv3_read(struct perf_event *event);
void pmuv3_enable(struct pmu *pmu);
void pmuv3_disable(struct pmu *pmu);
void pmuv3_power_down(struct arm_pmu *armpmu);
void pmuv3_power_up(struct arm_pmu *armpmu);
irqreturn_t pmuv3_handle_irq(struct arm_pmu *armpmu);

/* pmuv3_event.c */
int pmuv3_event_init(struct perf_event *event);
int pmuv3_set_filter(struct hw_perf_event *hw, struct perf_event_attr *attr);
u32 pmuv3_threshold_max(const struct arm_pmu *armpmu);
int pmuv3_map_common(struct perf_event *event);
int pmuv3_map_a53(struct perf_event *event);
int pmuv3_map_a57(struct perf_event *event);
int pmuv3_map_a73(struct perf_event *event);
int pmuv3_map_thunder(struct perf_event *event);
int pmuv3_map_vulcan(struct perf_event *event);

/* pmuv3_sysfs.c */
extern const struct attribute_group pmuv3_events_group;
extern const struct attribute_group pmuv3_format_group;
extern const struct attribute_group pmuv3_caps_group;

#endif
