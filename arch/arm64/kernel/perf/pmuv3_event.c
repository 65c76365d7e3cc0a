// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: translation of perf_event_attr to a type register's value and event flags.
 *
 * Runs when an event is opened; may sleep; no locks.
 *
 * Sources: DDI 0487, D14 "PMU events" and D24.5 for the filters; Technical Reference Manuals for
 * the events of a core (Cortex-A53 DDI 0500, A57 DDI 0488, A72 100095, A73 100048), Cavium's and
 * Broadcom's manuals.
 */
#include <linux/kvm_host.h>

#include <asm/virt.h>

#include "pmuv3.h"

/* ------------------------------------------------------------------- event maps */

#define COMMON(event)	ARMV8_PMUV3_PERFCTR_##event
#define IMPDEF(event)	ARMV8_IMPDEF_PERFCTR_##event
#define NONE		CACHE_OP_UNSUPPORTED

/* Without PERF_COUNT_HW_BRANCH_INSTRUCTIONS: see pmuv3_map_branches(). */
static const unsigned int pmuv3_generic_map[PERF_COUNT_HW_MAX] = {
	PERF_MAP_ALL_UNSUPPORTED,
	[PERF_COUNT_HW_INSTRUCTIONS]		= COMMON(INST_RETIRED),
	[PERF_COUNT_HW_CPU_CYCLES]		= COMMON(CPU_CYCLES),
	[PERF_COUNT_HW_BUS_CYCLES]		= COMMON(BUS_CYCLES),
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND]	= COMMON(STALL_FRONTEND),
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND]	= COMMON(STALL_BACKEND),
	[PERF_COUNT_HW_CACHE_REFERENCES]	= COMMON(L1D_CACHE),
	[PERF_COUNT_HW_CACHE_MISSES]		= COMMON(L1D_CACHE_REFILL),
	[PERF_COUNT_HW_BRANCH_MISSES]		= COMMON(BR_MIS_PRED),
};

/* One row of a cache map: the events that count accesses and misses. */
#define CACHE_ROW(cache, op, access, miss)					\
	[C(cache)][C(OP_##op)] = {						\
		[C(RESULT_ACCESS)] = (access), [C(RESULT_MISS)] = (miss)	\
	}

static const unsigned int pmuv3_generic_cache_map[C(MAX)][C(OP_MAX)][C(RESULT_MAX)] = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, COMMON(L1D_CACHE), COMMON(L1D_CACHE_REFILL)),
	CACHE_ROW(L1I, READ, COMMON(L1I_CACHE), COMMON(L1I_CACHE_REFILL)),
	CACHE_ROW(DTLB, READ, COMMON(L1D_TLB), COMMON(L1D_TLB_REFILL)),
	CACHE_ROW(ITLB, READ, COMMON(L1I_TLB), COMMON(L1I_TLB_REFILL)),
	CACHE_ROW(LL, READ, COMMON(LL_CACHE_RD), COMMON(LL_CACHE_MISS_RD)),
	CACHE_ROW(BPU, READ, COMMON(BR_PRED), COMMON(BR_MIS_PRED)),
};

/* Cortex-A53: linefills by the prefetcher. */
#define A53_PREFETCH_LINEFILL		0xC2

static const unsigned int pmuv3_a53_cache_map[C(MAX)][C(OP_MAX)][C(RESULT_MAX)] = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, PREFETCH, NONE, A53_PREFETCH_LINEFILL),
	CACHE_ROW(NODE, READ, IMPDEF(BUS_ACCESS_RD), NONE),
	CACHE_ROW(NODE, WRITE, IMPDEF(BUS_ACCESS_WR), NONE),
};

static const unsigned int pmuv3_a57_cache_map[C(MAX)][C(OP_MAX)][C(RESULT_MAX)] = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), IMPDEF(L1D_CACHE_REFILL_RD)),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), IMPDEF(L1D_CACHE_REFILL_WR)),
	CACHE_ROW(DTLB, READ, NONE, IMPDEF(L1D_TLB_REFILL_RD)),
	CACHE_ROW(DTLB, WRITE, NONE, IMPDEF(L1D_TLB_REFILL_WR)),
	CACHE_ROW(NODE, READ, IMPDEF(BUS_ACCESS_RD), NONE),
	CACHE_ROW(NODE, WRITE, IMPDEF(BUS_ACCESS_WR), NONE),
};

static const unsigned int pmuv3_a73_cache_map[C(MAX)][C(OP_MAX)][C(RESULT_MAX)] = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), NONE),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), NONE),
};

/* ThunderX: stores that miss, and prefetches. */
#define THUNDER_L1D_MISS_ST		0xE9
#define THUNDER_L1D_PREFETCH		0xEA
#define THUNDER_L1D_PREFETCH_MISS	0xEB
#define THUNDER_L1I_PREFETCH		0xEC
#define THUNDER_L1I_PREFETCH_MISS	0xED

static const unsigned int pmuv3_thunder_cache_map[C(MAX)][C(OP_MAX)][C(RESULT_MAX)] = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), IMPDEF(L1D_CACHE_REFILL_RD)),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), THUNDER_L1D_MISS_ST),
	CACHE_ROW(L1D, PREFETCH, THUNDER_L1D_PREFETCH, THUNDER_L1D_PREFETCH_MISS),
	CACHE_ROW(L1I, PREFETCH, THUNDER_L1I_PREFETCH, THUNDER_L1I_PREFETCH_MISS),
	CACHE_ROW(DTLB, READ, IMPDEF(L1D_TLB_RD), IMPDEF(L1D_TLB_REFILL_RD)),
	CACHE_ROW(DTLB, WRITE, IMPDEF(L1D_TLB_WR), IMPDEF(L1D_TLB_REFILL_WR)),
};

static const unsigned int pmuv3_vulcan_cache_map[C(MAX)][C(OP_MAX)][C(RESULT_MAX)] = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), IMPDEF(L1D_CACHE_REFILL_RD)),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), IMPDEF(L1D_CACHE_REFILL_WR)),
	CACHE_ROW(DTLB, READ, IMPDEF(L1D_TLB_RD), IMPDEF(L1D_TLB_REFILL_RD)),
	CACHE_ROW(DTLB, WRITE, IMPDEF(L1D_TLB_WR), IMPDEF(L1D_TLB_REFILL_WR)),
	CACHE_ROW(NODE, READ, IMPDEF(BUS_ACCESS_RD), NONE),
	CACHE_ROW(NODE, WRITE, IMPDEF(BUS_ACCESS_WR), NONE),
};

static bool pmuv3_has_common(const struct arm_pmu *armpmu, int id)
{
	return id < ARMV8_PMUV3_MAX_COMMON_EVENTS && test_bit(id, armpmu->pmceid_bitmap);
}

/* BR_RETIRED; on cores that do not implement it PC_WRITE_RETIRED, without branches not taken. */
static int pmuv3_map_branches(const struct arm_pmu *armpmu)
{
	if (pmuv3_has_common(armpmu, COMMON(BR_RETIRED)))
		return COMMON(BR_RETIRED);
	if (pmuv3_has_common(armpmu, COMMON(PC_WRITE_RETIRED)))
		return COMMON(PC_WRITE_RETIRED);
	return -ENOENT;
}

/*
 * A generic event maps to a common event if PMCEID<n>_EL0 lists it as implemented, else to the
 * core's own map @own. Raw events are not checked.
 */
static int pmuv3_map_event(struct perf_event *event,
			   const unsigned int (*own)[C(MAX)][C(OP_MAX)][C(RESULT_MAX)])
{
	const struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	int id;

	if (event->attr.type == PERF_TYPE_HARDWARE &&
	    event->attr.config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
		return pmuv3_map_branches(armpmu);

	id = armpmu_map_event(event, &pmuv3_generic_map, &pmuv3_generic_cache_map,
			      ARMV8_PMU_EVTYPE_EVENT);
	if (id < 0 ? id != -ENOENT : pmuv3_has_common(armpmu, id))
		return id;

	return armpmu_map_event(event, NULL, own, ARMV8_PMU_EVTYPE_EVENT);
}

/**
 * pmuv3_map_common - arm_pmu::map_event of cores without a separate map
 * @event: event that is being opened
 *
 * Context: process context; may sleep.
 * Return: number of the hardware event; -ENOENT or -EINVAL.
 */
int pmuv3_map_common(struct perf_event *event)
{
	return pmuv3_map_event(event, NULL);
}

/* arm_pmu::map_event of the cores that have a map of their own; otherwise as pmuv3_map_common(). */
int pmuv3_map_a53(struct perf_event *event)
{
	return pmuv3_map_event(event, &pmuv3_a53_cache_map);
}

int pmuv3_map_a57(struct perf_event *event)
{
	return pmuv3_map_event(event, &pmuv3_a57_cache_map);
}

int pmuv3_map_a73(struct perf_event *event)
{
	return pmuv3_map_event(event, &pmuv3_a73_cache_map);
}

int pmuv3_map_thunder(struct perf_event *event)
{
	return pmuv3_map_event(event, &pmuv3_thunder_cache_map);
}

int pmuv3_map_vulcan(struct perf_event *event)
{
	return pmuv3_map_event(event, &pmuv3_vulcan_cache_map);
}

/* -------------------------------------------------------------------- filters */

/**
 * pmuv3_threshold_max - largest threshold of an event
 * @armpmu: PMU of the event
 *
 * Context: any.
 * Return: the threshold, 1 to 4095; 0 if the PMU has no thresholds (PMMIR_EL1.THWIDTH is 0).
 */
u32 pmuv3_threshold_max(const struct arm_pmu *armpmu)
{
	unsigned int width = FIELD_GET(ARMV8_PMU_THWIDTH, armpmu->reg_pmmir);

	return min_t(u32, BIT(width) - 1, FIELD_MAX(ARMV8_PMU_EVTYPE_TH));
}

/*
 * Kernel at EL2 (VHE): EL2 is the host kernel, EL1 a guest's kernel. KVM switches the EL0 filter at
 * guest entry and exit; the filter here is that of the host.
 */
static u64 pmuv3_filter_vhe(const struct perf_event_attr *attr)
{
	u64 filter = 0;

	if (!attr->exclude_kernel && !attr->exclude_host)
		filter |= ARMV8_PMU_INCLUDE_EL2;
	if (attr->exclude_kernel || attr->exclude_guest)
		filter |= ARMV8_PMU_EXCLUDE_EL1;
	if (attr->exclude_user || attr->exclude_host)
		filter |= ARMV8_PMU_EXCLUDE_EL0;
	return filter;
}

/*
 * Kernel at EL1, also in a guest: EL2 is the hypervisor, which counts as the host. KVM enables and
 * disables events for host only or guest only at guest entry and exit.
 */
static u64 pmuv3_filter_nvhe(const struct perf_event_attr *attr)
{
	u64 filter = 0;

	if (!attr->exclude_hv && !attr->exclude_host)
		filter |= ARMV8_PMU_INCLUDE_EL2;
	if (attr->exclude_kernel)
		filter |= ARMV8_PMU_EXCLUDE_EL1;
	if (attr->exclude_user)
		filter |= ARMV8_PMU_EXCLUDE_EL0;
	return filter;
}

static u64 pmuv3_kvm_filter(const struct perf_event_attr *attr)
{
	bool el0_only = is_kernel_in_hyp_mode();

	if (!IS_ENABLED(CONFIG_KVM) || !is_hyp_mode_available())
		return 0;
	if (attr->exclude_host == attr->exclude_guest || (el0_only && attr->exclude_user))
		return 0;
	return attr->exclude_guest ? PMUV3_KVM_HOST : PMUV3_KVM_GUEST;
}

/* FEAT_PMUv3_TH: the counter compares the occurrences of each cycle with the threshold. */
static int pmuv3_set_threshold(struct arm_pmu *armpmu, struct hw_perf_event *hw,
			       const struct perf_event_attr *attr)
{
	u32 value = ATTR_CFG_GET_FLD(attr, threshold), max = pmuv3_threshold_max(armpmu);

	if (value > max)
		return perf_refuse(-EINVAL, "config1: threshold is over %llu", max);
	if (!value)
		return 0;

	hw->config_base |= FIELD_PREP(ARMV8_PMU_EVTYPE_TH, value) |
			   FIELD_PREP(ARMV8_PMU_EVTYPE_TC,
				      ATTR_CFG_GET_FLD(attr, threshold_compare) << 1 |
				      ATTR_CFG_GET_FLD(attr, threshold_count));
	return 0;
}

/**
 * pmuv3_set_filter - arm_pmu::set_event_filter
 * @hw: config_base is set to the filter, threshold and PMUV3_KVM bits
 * @attr: attr of the event, which must be perf_event::attr
 *
 * Context: process context; may sleep.
 * Return: 0; -EOPNOTSUPP for exclude_idle, for which there is no filter; -EINVAL if the threshold
 * is too large.
 */
int pmuv3_set_filter(struct hw_perf_event *hw, struct perf_event_attr *attr)
{
	struct perf_event *event = container_of(attr, struct perf_event, attr);

	if (attr->exclude_idle)
		return perf_refuse(-EOPNOTSUPP, "exclude_idle: the PMU cannot tell");

	hw->config_base = is_kernel_in_hyp_mode() ? pmuv3_filter_vhe(attr) :
						    pmuv3_filter_nvhe(attr);
	hw->config_base |= pmuv3_kvm_filter(attr);
	return pmuv3_set_threshold(to_arm_pmu(event->pmu), hw, attr);
}

/* ---------------------------------------------------------------------- counters */

/*
 * User space reads one register, so that a chained pair is not possible: on event counters of 32
 * bits only cycles have 64 bits.
 */
static int pmuv3_set_user_flags(struct perf_event *event, bool is_long, bool wide)
{
	if (!(event->attach_state & PERF_ATTACH_TASK))
		return perf_refuse(-EINVAL, "config1: counters of a CPU are not for user space");
	if (is_long && !wide && !(event->hw.flags & PMUV3_EVT_CYCLES))
		return perf_refuse(-EOPNOTSUPP, "config1: no 64-bit counters for user space");

	event->hw.flags |= PERF_EVENT_FLAG_USER_READ_CNT;
	if (!is_long)
		event->hw.flags |= PMUV3_EVT_USER_32BIT;
	else if (!wide)
		event->hw.flags |= PMUV3_EVT_FIXED_ONLY;
	return 0;
}

/*
 * Sets the flags for the counters that can count the event. Fixed counters have no threshold;
 * PMICNTR_EL0 is not readable at EL0. On a core with several hardware threads the cycle counter
 * counts while any of them runs, an event counter while its own thread runs (DDI 0487, "Time as
 * measured by the Performance Monitors cycle counter"). Without the CHAIN event, which the
 * architecture requires but emulators may lack, a 64-bit count is maintained by the interrupt at
 * each wrap of a 32-bit counter, as it is for events without config1:0.
 */
static int pmuv3_set_flags(struct perf_event *event)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	const struct perf_event_attr *attr = &event->attr;
	struct hw_perf_event *hw = &event->hw;
	u32 id = hw->config_base & ARMV8_PMU_EVTYPE_EVENT;
	bool threshold = hw->config_base & PMUV3_THRESHOLD;
	bool is_long = ATTR_CFG_GET_FLD(attr, long);
	bool user = ATTR_CFG_GET_FLD(attr, rdpmc);
	bool wide = is_pmuv3p5(armpmu->pmuver);
	bool chain = is_long && !user && pmuv3_has_common(armpmu, ARMV8_PMUV3_PERFCTR_CHAIN);

	if (is_long)
		hw->flags |= ARMPMU_EVT_64BIT;
	if (is_sampling_event(event))
		hw->flags |= PMUV3_EVT_SAMPLES;
	if (kvm_pmu_counter_deferred(&event->attr))
		hw->flags |= PMUV3_EVT_DEFERRED;
	if (!wide)
		hw->flags |= chain ? PMUV3_EVT_PAIR : PMUV3_EVT_32BIT;
	if (!threshold && id == ARMV8_PMUV3_PERFCTR_CPU_CYCLES && !armpmu->threaded)
		hw->flags |= PMUV3_EVT_CYCLES;
	if (!threshold && id == ARMV8_PMUV3_PERFCTR_INST_RETIRED && !user)
		hw->flags |= PMUV3_EVT_INSNS;

	return user ? pmuv3_set_user_flags(event, is_long, wide) : 0;
}

/**
 * pmuv3_event_init - pmu::event_init
 * @event: event that is being opened
 *
 * The core checks by pmu::sched_assign whether the event's group fits.
 *
 * Context: process context; may sleep.
 * Return: 0; -ENOENT, -EINVAL or -EOPNOTSUPP.
 */
int pmuv3_event_init(struct perf_event *event)
{
	int err = armpmu_event_setup(event);

	if (err)
		return err;
	if ((event->hw.config_base & ARMV8_PMU_EVTYPE_EVENT) == ARMV8_PMUV3_PERFCTR_CHAIN)
		return perf_refuse(-EINVAL, "config: event 0x1e only extends another counter");

	err = pmuv3_set_flags(event);
	if (!err)
		pmuv3_get(event);
	return err;
}
