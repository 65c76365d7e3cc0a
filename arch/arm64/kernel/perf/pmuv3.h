/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMUv3: state of a CPU's PMU, event flags, and the functions of the driver's files.
 *
 * A register is written only if its value changes. The counter of an event that only counts is
 * neither stopped nor set: it runs on, without an event, while the event's task is not on the CPU,
 * and when the event is loaded again counting starts at the value that the counter has then. The
 * counters of sampling events, which interrupt at the end of a period, are stopped and set. The
 * counters of a task that reads counters in user space are set, so that they do not show other
 * tasks. Counters that still run after the last event has been closed are stopped a second later,
 * see pmuv3_unused.c.
 *
 * struct pmuv3_cpu is accessed by its own CPU with interrupts off. The overflow interrupt may be an
 * NMI: a change that must be atomic for its handler stands between pmuv3_mask_nmi() and
 * pmuv3_unmask_nmi().
 */
#ifndef __PMUV3_H
#define __PMUV3_H

#include <linux/bitfield.h>
#include <linux/percpu.h>
#include <linux/perf/arm_pmuv3.h>

#include "arm_pmu_internal.h"

/* Fields of perf_event_attr, which the format files of pmuv3_sysfs.c describe. */
#define ATTR_CFG_FLD_event_CFG			config
#define ATTR_CFG_FLD_event_LO			0
#define ATTR_CFG_FLD_event_HI			15
#define ATTR_CFG_FLD_long_CFG			config1	/* count in 64 bits; KVM sets it, too */
#define ATTR_CFG_FLD_long_LO			0
#define ATTR_CFG_FLD_long_HI			0
#define ATTR_CFG_FLD_rdpmc_CFG			config1	/* user space reads the counter */
#define ATTR_CFG_FLD_rdpmc_LO			1
#define ATTR_CFG_FLD_rdpmc_HI			1
#define ATTR_CFG_FLD_threshold_count_CFG	config1	/* count cycles that pass the threshold */
#define ATTR_CFG_FLD_threshold_count_LO		2
#define ATTR_CFG_FLD_threshold_count_HI		2
#define ATTR_CFG_FLD_threshold_compare_CFG	config1	/* !=, ==, >=, < */
#define ATTR_CFG_FLD_threshold_compare_LO	3
#define ATTR_CFG_FLD_threshold_compare_HI	4
#define ATTR_CFG_FLD_threshold_CFG		config1	/* 0: none */
#define ATTR_CFG_FLD_threshold_LO		5
#define ATTR_CFG_FLD_threshold_HI		16

/* hw_perf_event::flags: the driver's bits, within ARMPMU_EVT_DRIVER. */
#define PMUV3_EVT_SAMPLES	0x00001000	/* sampling; counter stopped when unloaded */
#define PMUV3_EVT_32BIT		0x00002000	/* event counters have 32 bits */
#define PMUV3_EVT_USER_32BIT	0x00004000	/* 32 bits in its user page */
#define PMUV3_EVT_PAIR		0x00008000	/* needs two chained event counters */
#define PMUV3_EVT_DEFERRED	0x00010000	/* KVM enables its counter at guest entry */
#define PMUV3_EVT_CYCLES	0x00020000	/* the cycle counter can count it */
#define PMUV3_EVT_INSNS		0x00040000	/* the instruction counter can count it */
#define PMUV3_EVT_FIXED_ONLY	0x00080000	/* no event counter can count it */

/* Loading or saving an event with one of these takes more than reading its counter. */
#define PMUV3_EVT_SPECIAL							\
	(PMUV3_EVT_SAMPLES | PMUV3_EVT_32BIT | PMUV3_EVT_USER_32BIT |		\
	 PMUV3_EVT_PAIR | PMUV3_EVT_DEFERRED)

/*
 * hw_perf_event::config_base is the value of the type register and, in bits that the register does
 * not have, the parameter for KVM: the event counts EL0 only in the host, or only in a guest.
 */
#define PMUV3_KVM_HOST		BIT(16)
#define PMUV3_KVM_GUEST		BIT(17)
#define PMUV3_KVM		(PMUV3_KVM_HOST | PMUV3_KVM_GUEST)

#define PMUV3_FILTERS								\
	(ARMV8_PMU_EXCLUDE_EL1 | ARMV8_PMU_EXCLUDE_EL0 | ARMV8_PMU_EXCLUDE_NS_EL1 |	\
	 ARMV8_PMU_EXCLUDE_NS_EL0 | ARMV8_PMU_INCLUDE_EL2 | ARMV8_PMU_EXCLUDE_EL3)
#define PMUV3_THRESHOLD		(ARMV8_PMU_EVTYPE_TH | ARMV8_PMU_EVTYPE_TC)
#define PMUV3_TYPE		(ARMV8_PMU_EVTYPE_EVENT | PMUV3_FILTERS | PMUV3_THRESHOLD)

/* pmuv3_cpu::type of a register with an unknown value. */
#define PMUV3_TYPE_UNKNOWN		U64_MAX

/* Type of a chained pair's upper counter, which counts at any level where the lower one does. */
#define PMUV3_CHAIN		(ARMV8_PMUV3_PERFCTR_CHAIN | ARMV8_PMU_INCLUDE_EL2)

#define PMUV3_GENERAL		GENMASK_ULL(ARMV8_PMU_MAX_GENERAL_COUNTERS - 1, 0)

/**
 * struct pmuv3_cpu - state of one CPU's PMU and values of the PMU's registers
 * @pmu: PMU that the CPU belongs to; NULL before the first reset
 * @present: implemented counters
 * @used: counters with an event
 * @enabled: value of PMCNTENSET_EL0
 * @interrupts: value of PMINTENSET_EL1
 * @zero: counters that are known to be disabled and 0
 * @suspended: counters of the events that were stopped for a power-down
 * @kvm: counters that KVM enables and disables, or filters, at guest entry and exit
 * @stamp: a number that is another one after each change of @enabled, @interrupts, @kvm and @type,
 *	and that no other CPU has within 2^48 changes; not 0. If perf_schedule::stamp is the same,
 *	the events of the schedule only count, and no control register but PMCR_EL0 is to be
 *	written for them
 * @pmcr: value of PMCR_EL0, but for E
 * @pmcr_e: value of PMCR_EL0.E
 * @disabled: the core has disabled the PMU by pmu::pmu_disable
 * @reader: the current task has events that EL0 may read
 * @user: EL0 may read counters: @reader is set and the sysctl allows reading
 * @event: event on each counter, by counter index; that of a chained pair at the upper index
 * @type: value of PMEVTYPER<n>_EL0, PMCCFILTR_EL0 and PMICFILTR_EL0, by counter index, with
 *	PMUV3_KVM; PMUV3_TYPE_UNKNOWN
 *
 * Sets of counters are masks of bits 1 << index, indices as in ARMV8_PMU_*_IDX.
 */
struct pmuv3_cpu {
	struct arm_pmu		*pmu;
	u64			present;
	u64			used;
	u64			enabled;
	u64			interrupts;
	u64			zero;
	u64			suspended;
	u64			kvm;
	u64			stamp;
	u64			pmcr;
	bool			pmcr_e;
	bool			disabled;
	bool			reader;
	bool			user;
	struct perf_event	*event[ARMPMU_MAX_HWEVENTS];
	u64			type[ARMPMU_MAX_HWEVENTS];
};

DECLARE_PER_CPU(struct pmuv3_cpu, pmuv3_cpu);

/* No schedule has the stamp of the registers any more: one changes, or may have changed. */
static inline void pmuv3_registers_change(struct pmuv3_cpu *c)
{
	c->stamp++;
}

/*
 * Masks the overflow interrupt if it is an NMI. Interrupts are off already, which with pseudo-NMIs
 * is a priority mask that an NMI passes: DAIF masks the exception itself. At most a few hundred
 * instructions are executed with the NMI masked.
 */
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

static inline bool pmuv3_is_32bit(const struct hw_perf_event *hw, unsigned int idx)
{
	return hw->flags & PMUV3_EVT_32BIT && idx < ARMV8_PMU_CYCLE_IDX;
}

/* Mask of the counters that an event with index @idx occupies. */
static inline u64 pmuv3_counters(const struct hw_perf_event *hw, unsigned int idx)
{
	return unlikely(pmuv3_is_pair(hw, idx)) ? GENMASK_ULL(idx, idx - 1) : BIT_ULL(idx);
}

/*
 * For an event that does not sample, a counter of 32 bits is kept in the upper half of its range.
 * The wrap then interrupts after at most 2^31 occurrences, with the other half of the range left
 * until the difference to prev_count becomes ambiguous; user space, which computes the same
 * difference, is correct, too. A counter that is found in the lower half is set to the upper one,
 * which happens once in 2^31 occurrences.
 */
#define PMUV3_UPPER_HALF		GENMASK_ULL(63, 31)

static inline bool pmuv3_needs_upper_half(const struct hw_perf_event *hw, unsigned int idx)
{
	return hw->flags & PMUV3_EVT_USER_32BIT || pmuv3_is_32bit(hw, idx);
}

/* Only for events of PMUv3: other PMUs may use hw_perf_event::flags in another way. */
static __always_inline bool pmuv3_is_user_readable(const struct perf_event *event)
{
	return event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT;
}

static __always_inline void pmuv3_update_user_page(struct perf_event *event)
{
	if (unlikely(pmuv3_is_user_readable(event)))
		perf_event_update_userpage(event);
}

/* pmuv3_assign.c */
int pmuv3_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from);
int pmuv3_assign(u64 present, struct perf_sched_slot *slot, unsigned int nr, unsigned int from,
		 const struct pmuv3_cpu *hint);

/* pmuv3_kvm.c */
void __pmuv3_kvm_update(struct pmuv3_cpu *c, u64 counters, struct perf_event *event);
void __pmuv3_kvm_release(struct pmuv3_cpu *c, u64 counters);

static inline void pmuv3_kvm_update(struct pmuv3_cpu *c, u64 counters, struct perf_event *event)
{
	if (unlikely(c->kvm & counters || event->hw.config_base & PMUV3_KVM))
		__pmuv3_kvm_update(c, counters, event);
}

static inline void pmuv3_kvm_release(struct pmuv3_cpu *c, u64 counters)
{
	if (unlikely(c->kvm & counters))
		__pmuv3_kvm_release(c, counters);
}

/* pmuv3_user.c */
extern int pmuv3_user_access_on;
bool pmuv3_user_access_is_on(void);
void pmuv3_user_set_access(struct pmuv3_cpu *c, bool reader);
void pmuv3_update_user_pages(const struct pmuv3_cpu *c);
int  pmuv3_event_idx(struct perf_event *event);

/* pmuv3_sched.c */
void pmuv3_sched_load(struct pmu *pmu, struct perf_schedule *s);
void pmuv3_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask,
		      const struct task_struct *next);
void pmuv3_disable_unused(struct pmuv3_cpu *c);
void pmuv3_disclose_loaded(struct pmuv3_cpu *c, u64 counters);
void pmuv3_start(struct perf_event *event, int flags);
void pmuv3_stop(struct perf_event *event, int flags);
void pmuv3_read(struct perf_event *event);
void pmuv3_enable(struct pmu *pmu);
void pmuv3_disable(struct pmu *pmu);
void pmuv3_power_down(struct arm_pmu *armpmu);
void pmuv3_power_up(struct arm_pmu *armpmu);

/* pmuv3_unused.c */
void pmuv3_get(struct perf_event *event);

/* pmuv3_irq.c */
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
u32 pmuv3_bus_width(const struct arm_pmu *armpmu);
extern const struct attribute_group pmuv3_events_group;
extern const struct attribute_group pmuv3_format_group;
extern const struct attribute_group pmuv3_caps_group;

/* pmuv3_sysctl.c */
void pmuv3_sysctl_init(void);

#endif
