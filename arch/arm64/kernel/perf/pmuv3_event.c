// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: what an event asks for, and the register value that stands for it.
 *
 * Runs when an event is opened; may sleep; no locks.
 *
 * Sources: DDI 0487, D14 "PMU events" and D24.5 for the filters; for the events of single cores
 * their Technical Reference Manuals (Cortex-A53 DDI 0500, A57 DDI 0488, A72 100095, A73 100048) and
 * Cavium's and Broadcom's manuals.
 */
#include <linux/kvm_host.h>

#include <asm/virt.h>

#include "pmuv3.h"

/* ------------------------------------------------------------------- event maps */

#define COMMON(event)	ARMV8_PMUV3_PERFCTR_##event
#define IMPDEF(event)	ARMV8_IMPDEF_PERFCTR_##event
#define NONE		CACHE_OP_UNSUPPORTED

/* Branches are not here: see map_branches(). */
static const unsigned int generic_map[PERF_COUNT_HW_MAX] = {
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

typedef const unsigned int cache_map_t[C(MAX)][C(OP_MAX)][C(RESULT_MAX)];

/* One row: what accesses and what misses are counted by. */
#define CACHE_ROW(cache, op, access, miss)					\
	[C(cache)][C(OP_##op)] = {						\
		[C(RESULT_ACCESS)] = (access), [C(RESULT_MISS)] = (miss)	\
	}

static cache_map_t generic_cache_map = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, COMMON(L1D_CACHE), COMMON(L1D_CACHE_REFILL)),
	CACHE_ROW(L1I, READ, COMMON(L1I_CACHE), COMMON(L1I_CACHE_REFILL)),
	CACHE_ROW(DTLB, READ, COMMON(L1D_TLB), COMMON(L1D_TLB_REFILL)),
	CACHE_ROW(ITLB, READ, COMMON(L1I_TLB), COMMON(L1I_TLB_REFILL)),
	CACHE_ROW(LL, READ, COMMON(LL_CACHE_RD), COMMON(LL_CACHE_MISS_RD)),
	CACHE_ROW(BPU, READ, COMMON(BR_PRED), COMMON(BR_MIS_PRED)),
};

/* Cortex-A53: lines fetched ahead. */
#define A53_PREFETCH_LINEFILL		0xC2

static cache_map_t a53_cache_map = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, PREFETCH, NONE, A53_PREFETCH_LINEFILL),
	CACHE_ROW(NODE, READ, IMPDEF(BUS_ACCESS_RD), NONE),
	CACHE_ROW(NODE, WRITE, IMPDEF(BUS_ACCESS_WR), NONE),
};

static cache_map_t a57_cache_map = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), IMPDEF(L1D_CACHE_REFILL_RD)),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), IMPDEF(L1D_CACHE_REFILL_WR)),
	CACHE_ROW(DTLB, READ, NONE, IMPDEF(L1D_TLB_REFILL_RD)),
	CACHE_ROW(DTLB, WRITE, NONE, IMPDEF(L1D_TLB_REFILL_WR)),
	CACHE_ROW(NODE, READ, IMPDEF(BUS_ACCESS_RD), NONE),
	CACHE_ROW(NODE, WRITE, IMPDEF(BUS_ACCESS_WR), NONE),
};

static cache_map_t a73_cache_map = {
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

static cache_map_t thunder_cache_map = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), IMPDEF(L1D_CACHE_REFILL_RD)),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), THUNDER_L1D_MISS_ST),
	CACHE_ROW(L1D, PREFETCH, THUNDER_L1D_PREFETCH, THUNDER_L1D_PREFETCH_MISS),
	CACHE_ROW(L1I, PREFETCH, THUNDER_L1I_PREFETCH, THUNDER_L1I_PREFETCH_MISS),
	CACHE_ROW(DTLB, READ, IMPDEF(L1D_TLB_RD), IMPDEF(L1D_TLB_REFILL_RD)),
	CACHE_ROW(DTLB, WRITE, IMPDEF(L1D_TLB_WR), IMPDEF(L1D_TLB_REFILL_WR)),
};

static cache_map_t vulcan_cache_map = {
	PERF_CACHE_MAP_ALL_UNSUPPORTED,
	CACHE_ROW(L1D, READ, IMPDEF(L1D_CACHE_RD), IMPDEF(L1D_CACHE_REFILL_RD)),
	CACHE_ROW(L1D, WRITE, IMPDEF(L1D_CACHE_WR), IMPDEF(L1D_CACHE_REFILL_WR)),
	CACHE_ROW(DTLB, READ, IMPDEF(L1D_TLB_RD), IMPDEF(L1D_TLB_REFILL_RD)),
	CACHE_ROW(DTLB, WRITE, IMPDEF(L1D_TLB_WR), IMPDEF(L1D_TLB_REFILL_WR)),
	CACHE_ROW(NODE, READ, IMPDEF(BUS_ACCESS_RD), NONE),
	CACHE_ROW(NODE, WRITE, IMPDEF(BUS_ACCESS_WR), NONE),
};

static bool has_common(const struct arm_pmu *armpmu, int id)
{
	return id < ARMV8_PMUV3_MAX_COMMON_EVENTS && test_bit(id, armpmu->pmceid_bitmap);
}

/* Branches: what changes the program counter, or by the newer event, for cores that lack that. */
static int map_branches(const struct arm_pmu *armpmu)
{
	if (has_common(armpmu, COMMON(PC_WRITE_RETIRED)))
		return COMMON(PC_WRITE_RETIRED);
	if (has_common(armpmu, COMMON(BR_RETIRED)))
		return COMMON(BR_RETIRED);
	return -ENOENT;
}

/*
 * Generic events by the common numbers where the part says that it has them, then by those of its
 * own map. Raw events are taken on trust.
 */
static int map_event(struct perf_event *event, cache_map_t *own)
{
	const struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	int id;

	if (event->attr.type == PERF_TYPE_HARDWARE &&
	    event->attr.config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
		return map_branches(armpmu);

	id = armpmu_map_event(event, &generic_map, &generic_cache_map, ARMV8_PMU_EVTYPE_EVENT);
	if (id < 0 ? id != -ENOENT : has_common(armpmu, id))
		return id;

	return armpmu_map_event(event, NULL, own, ARMV8_PMU_EVTYPE_EVENT);
}

int pmuv3_map_common(struct perf_event *event)
{
	return map_event(event, NULL);
}

int pmuv3_map_a53(struct perf_event *event)
{
	return map_event(event, &a53_cache_map);
}

int pmuv3_map_a57(struct perf_event *event)
{
	return map_event(event, &a57_cache_map);
}

int pmuv3_map_a73(struct perf_event *event)
{
	return map_event(event, &a73_cache_map);
}

int pmuv3_map_thunder(struct perf_event *event)
{
	return map_event(event, &thunder_cache_map);
}

int pmuv3_map_vulcan(struct perf_event *event)
{
	return map_event(event, &vulcan_cache_map);
}

/* -------------------------------------------------------------------- filters */

/**
 * pmuv3_threshold_max - largest threshold an event can have
 * @armpmu: the PMU
 *
 * Return: 0 if it has none (PMMIR_EL1.THWIDTH).
 */
u32 pmuv3_threshold_max(const struct arm_pmu *armpmu)
{
	unsigned int width = FIELD_GET(ARMV8_PMU_THWIDTH, armpmu->reg_pmmir);

	return min_t(u32, BIT(width) - 1, FIELD_MAX(ARMV8_PMU_EVTYPE_TH));
}

/*
 * The kernel at EL2 (VHE): EL2 is the host's kernel and EL1 the guest's. KVM switches EL0 between
 * what the host and what the guest wants, starting from the host's.
 */
static u64 filter_vhe(const struct perf_event_attr *attr)
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
 * The kernel at EL1, as guests' kernels are. What EL2 does is the hypervisor's, on behalf of the
 * host. Events for host or guest only are enabled and disabled by KVM on the way in and out.
 */
static u64 filter_nvhe(const struct perf_event_attr *attr)
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

static u64 kvm_care(const struct perf_event_attr *attr)
{
	bool el0_only = is_kernel_in_hyp_mode();

	if (!IS_ENABLED(CONFIG_KVM) || !is_hyp_mode_available())
		return 0;
	if (attr->exclude_host == attr->exclude_guest || (el0_only && attr->exclude_user))
		return 0;
	return attr->exclude_guest ? PMUV3_KVM_HOST : PMUV3_KVM_GUEST;
}

/* FEAT_PMUv3_TH: the counter compares what it would count in each cycle. */
static int threshold(struct arm_pmu *armpmu, struct hw_perf_event *hw,
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
 * @hw: gets the filter bits in config_base
 * @attr: says what is excluded
 *
 * Return: 0; -EOPNOTSUPP for exclude_idle, of which the hardware knows nothing; -EINVAL.
 */
int pmuv3_set_filter(struct hw_perf_event *hw, struct perf_event_attr *attr)
{
	struct perf_event *event = container_of(attr, struct perf_event, attr);

	if (attr->exclude_idle)
		return perf_refuse(-EOPNOTSUPP, "exclude_idle: the PMU cannot tell");

	hw->config_base = is_kernel_in_hyp_mode() ? filter_vhe(attr) : filter_nvhe(attr);
	hw->config_base |= kvm_care(attr);
	return threshold(to_arm_pmu(event->pmu), hw, attr);
}

/* ---------------------------------------------------------------------- counters */

/*
 * User space reads one register. It cannot have a chained pair, and on narrow counters only cycles
 * have 64 bits.
 */
static int classify_user(struct perf_event *event, bool is_long, bool wide)
{
	if (!(event->attach_state & PERF_ATTACH_TASK))
		return perf_refuse(-EINVAL, "config1: counters of a CPU are not for user space");
	if (is_long && !wide && !(event->hw.flags & PMUV3_EVT_CYCLES))
		return perf_refuse(-EOPNOTSUPP, "config1: no 64-bit counters for user space");

	event->hw.flags |= PERF_EVENT_FLAG_USER_READ_CNT;
	if (!is_long)
		event->hw.flags |= PMUV3_EVT_NARROW;
	else if (!wide)
		event->hw.flags |= PMUV3_EVT_FIXED_ONLY;
	return 0;
}

/*
 * Which counters will do. The fixed ones have no threshold; PMICNTR_EL0 is not open to EL0. Where a
 * core runs several threads the cycle counter runs with any of them, an event counter with its own
 * (DDI 0487, "Time as measured by the Performance Monitors cycle counter"). A part that cannot chain
 * (an emulator: the architecture demands it) counts 64 bits by the interrupt at each wrap, as it does
 * where nobody asked for a long counter.
 */
static int classify(struct perf_event *event)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	const struct perf_event_attr *attr = &event->attr;
	struct hw_perf_event *hw = &event->hw;
	u32 id = hw->config_base & ARMV8_PMU_EVTYPE_EVENT;
	bool plain = !(hw->config_base & PMUV3_THRESHOLD);
	bool is_long = ATTR_CFG_GET_FLD(attr, long);
	bool user = ATTR_CFG_GET_FLD(attr, rdpmc);
	bool wide = is_pmuv3p5(armpmu->pmuver);
	bool chain = is_long && !user && has_common(armpmu, ARMV8_PMUV3_PERFCTR_CHAIN);

	if (is_long)
		hw->flags |= ARMPMU_EVT_64BIT;
	if (is_sampling_event(event))
		hw->flags |= PMUV3_EVT_SAMPLES;
	if (kvm_pmu_counter_deferred(&event->attr))
		hw->flags |= PMUV3_EVT_DEFERRED;
	if (!wide)
		hw->flags |= chain ? PMUV3_EVT_PAIR : PMUV3_EVT_SHORT;
	if (plain && id == ARMV8_PMUV3_PERFCTR_CPU_CYCLES && !armpmu->threaded)
		hw->flags |= PMUV3_EVT_CYCLES;
	if (plain && id == ARMV8_PMUV3_PERFCTR_INST_RETIRED && !user)
		hw->flags |= PMUV3_EVT_INSNS;

	return user ? classify_user(event, is_long, wide) : 0;
}

/**
 * pmuv3_event_init - pmu::event_init
 * @event: the event
 *
 * Whether a group fits is for the core to find out, by sched_assign.
 */
int pmuv3_event_init(struct perf_event *event)
{
	int err = armpmu_event_setup(event);

	if (err)
		return err;
	if ((event->hw.config_base & ARMV8_PMU_EVTYPE_EVENT) == ARMV8_PMUV3_PERFCTR_CHAIN)
		return perf_refuse(-EINVAL, "config: event 0x1e only extends another counter");

	return classify(event);
}
