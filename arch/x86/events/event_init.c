// SPDX-License-Identifier: GPL-2.0
/*
 * pmu::event_init: from perf_event_attr to a selection and the set of counters that can count it.
 *
 * Context: process, may sleep.
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/sched/smt.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "branch.h"
#include "exclusive.h"
#include "intel/bts.h"
#include "intel/pebs.h"
#include "topdown.h"

/* ------------------------------------------------------------ generic events */

/* CPUID.0AH:EBX bit of a generic event, -1 if it is not architectural. */
static const s8 archperf_event_bit[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES]		= 0,
	[PERF_COUNT_HW_INSTRUCTIONS]		= 1,
	[PERF_COUNT_HW_BUS_CYCLES]		= 2,
	[PERF_COUNT_HW_CACHE_REFERENCES]	= 3,
	[PERF_COUNT_HW_CACHE_MISSES]		= 4,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS]	= 5,
	[PERF_COUNT_HW_BRANCH_MISSES]		= 6,
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND]	= -1,
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND]	= -1,
	[PERF_COUNT_HW_REF_CPU_CYCLES]		= -1,
};

/* SDM 3B, "Pre-defined Architectural Performance Events". */
static const u64 archperf_event_select[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES]		= 0x003c,
	[PERF_COUNT_HW_INSTRUCTIONS]		= 0x00c0,
	[PERF_COUNT_HW_BUS_CYCLES]		= 0x013c,
	[PERF_COUNT_HW_CACHE_REFERENCES]	= 0x4f2e,
	[PERF_COUNT_HW_CACHE_MISSES]		= 0x412e,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS]	= 0x00c4,
	[PERF_COUNT_HW_BRANCH_MISSES]		= 0x00c5,
};

static bool x86_archperf_has_event(const struct x86_pmu *xpmu, unsigned int id)
{
	int bit = archperf_event_bit[id];

	return bit >= 0 && bit < xpmu->arch_len && !(xpmu->arch_missing & BIT(bit));
}

/**
 * x86_generic_select - the selection for a generic event
 * @xpmu: the PMU
 * @id: PERF_COUNT_HW_*, or a number out of range
 *
 * Context: any.
 * Return: the selection; 0: not counted
 */
u64 x86_generic_select(const struct x86_pmu *xpmu, unsigned int id)
{
	const struct x86_model *model = xpmu->model;

	if (id >= PERF_COUNT_HW_MAX)
		return 0;
	/* Reference cycles have no selection: 0x0300 denotes their fixed counter. */
	if (id == PERF_COUNT_HW_REF_CPU_CYCLES && xpmu->counters & X86_FIXED(2))
		return 0x0300;
	if (model->generic && model->generic[id] &&
	    !(model->flags & X86_MODEL_ARCH_FIRST && x86_archperf_has_event(xpmu, id)))
		return model->generic[id];
	if (!(model->flags & X86_MODEL_ARCH_EVENTS) || !x86_archperf_has_event(xpmu, id))
		return 0;
	return archperf_event_select[id];
}

/**
 * x86_cache_select - the selection for a PERF_TYPE_HW_CACHE event
 * @model: tables of the PMU
 * @which: X86_CACHE(cache, op, result)
 * @extra: set to the value of the extra register; not changed if the event is not counted
 *
 * Context: any.
 * Return: the selection; 0: not counted
 */
u64 x86_cache_select(const struct x86_model *model, u32 which, u64 *extra)
{
	const struct x86_cache_event *c = model->cache;

	for (; c && c->config; c++) {
		if (c->which == which) {
			*extra = c->extra;
			return c->config;
		}
	}
	return 0;
}

/* Does the model count any event of a cache? */
static bool x86_cache_has_events(const struct x86_model *model, u32 cache)
{
	const struct x86_cache_event *c = model->cache;

	for (; c && c->config; c++)
		if ((c->which & 0xff) == cache)
			return true;
	return false;
}

/* Combinations without a meaning on any part: code is not written, branches are not prefetched. */
static bool x86_cache_op_invalid(u32 cache, u32 op)
{
	switch (cache) {
	case PERF_COUNT_HW_CACHE_L1I:
		return op == PERF_COUNT_HW_CACHE_OP_WRITE;
	case PERF_COUNT_HW_CACHE_ITLB:
	case PERF_COUNT_HW_CACHE_BPU:
		return op != PERF_COUNT_HW_CACHE_OP_READ;
	default:
		return false;
	}
}

/* ------------------------------------------------------------------- counters */

/*
 * Selections of fixed counters, and their numbers: SDM 3B, "Association of Fixed-Function
 * Performance Counters". The last three have two: that of the general counters is listed, too.
 */
static const struct x86_fixed_select {
	u16	select;
	u8	counter;
} x86_fixed_selects[] = {
	{ 0x00c0, 0 }, { 0x003c, 1 }, { 0x0300, 2 }, { 0x0400, 3 },
	{ 0x0500, 4 }, { 0x0073, 4 },		/* TOPDOWN_BAD_SPECULATION.ALL */
	{ 0x0600, 5 }, { 0x019c, 5 },		/* TOPDOWN_FE_BOUND.ALL */
	{ 0x0700, 6 }, { 0x02c2, 6 },		/* TOPDOWN_RETIRING.ALL */
};

static u64 x86_fixed_counter_for(u64 config)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(x86_fixed_selects); i++)
		if (config == x86_fixed_selects[i].select)
			return X86_FIXED(x86_fixed_selects[i].counter);
	return 0;
}

/* SDM 3B, "Performance Monitoring and Intel TSX": in_tx_cp may be set for counter 2 alone. */
#define IN_TXCP_COUNTERS	BIT_ULL(2)

/* The number of a top-down metric. */
static u64 x86_metric_for(const struct x86_pmu *xpmu, u64 bare)
{
	if (bare < X86_METRIC_FIRST || bare > X86_METRIC_LAST || bare & X86_SELECT_CODE ||
	    !(xpmu->counters & X86_FIXED(3)))
		return 0;
	return BIT_ULL(X86_METRIC_BASE + (bare >> 8 & 7)) & xpmu->metrics;
}

/*
 * Code 0 is no event: with a umask it denotes what only a fixed counter or PERF_METRICS has. Where
 * these are missing, other counters accept it and count nothing; but with the umask of a top-down
 * metric no other counter of a part with metrics has it.
 */
static bool x86_is_pseudo(const struct x86_pmu *xpmu, u64 bare, u64 counters)
{
	if (bare & X86_SELECT_CODE)
		return false;
	return counters || (xpmu->model->metrics && bare & (X86_METRIC_FIRST & 0xff00));
}

static u64 x86_counters_by_rule(const struct x86_pmu *xpmu, u64 config)
{
	const struct x86_rule *rule = xpmu->model->rules;
	u64 bare = config & ~(ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS |
			      ARCH_PERFMON_EVENTSEL_ANY);
	u64 fixed = x86_fixed_counter_for(bare) & xpmu->counters;
	u64 general = xpmu->counters & X86_GENERAL_MASK;
	u64 metric = x86_metric_for(xpmu, bare);
	/* A fixed counter has levels, and no other bits of a selection. */
	u64 able = bare & ~X86_SELECT_UMASK ? general : xpmu->counters;

	for (; rule && rule->mask; rule++)
		if ((config & rule->mask) == rule->match)
			return (rule->counters & able) | fixed;
	if (x86_is_pseudo(xpmu, bare, fixed | metric))
		return fixed | metric;
	return general | fixed;
}

/**
 * x86_rule_is_pair - does a selection take two counters?
 * @xpmu: the PMU
 * @config: selection
 *
 * Context: any.
 * Return: true if the selection takes an even counter and the next odd one
 */
bool x86_rule_is_pair(const struct x86_pmu *xpmu, u64 config)
{
	const u64 *code = xpmu->model->pairs;

	for (; code && *code; code++)
		if ((config & X86_SELECT_AMD) == *code)
			return true;
	return false;
}

/* Counters with an even number that have a next one. */
static u64 x86_rule_pair_counters(u64 counters)
{
	return counters & (counters >> 1) & X86_GENERAL_MASK & 0x5555555555555555ULL;
}

/**
 * x86_rule_counters - the counters that can count a selection
 * @xpmu: the PMU
 * @config: selection; NetBurst: in the format for users
 *
 * Context: any.
 * Return: set of counters, of a pair the even one; 0: none can
 */
u64 x86_rule_counters(const struct x86_pmu *xpmu, u64 config)
{
	u64 counters;

	if (xpmu->model->flags & X86_MODEL_NETBURST)
		return p4_counters(config) & xpmu->counters;
	counters = x86_counters_by_rule(xpmu, config);
	/* On AMD the bit is part of the event code. */
	if (xpmu->model->flags & X86_MODEL_TSX && config & HSW_IN_TX_CHECKPOINTED)
		counters &= IN_TXCP_COUNTERS;
	return x86_rule_is_pair(xpmu, config) ? x86_rule_pair_counters(counters) : counters;
}

/* ------------------------------------------------------------------ one event */

static int x86_init_map_generic(const struct x86_pmu *xpmu, u64 id, u64 *config)
{
	if (id >= PERF_COUNT_HW_MAX)
		return perf_refuse(-EINVAL, "config: there is no hardware event %llu", id);
	id = array_index_nospec((unsigned int)id, PERF_COUNT_HW_MAX);
	*config = x86_generic_select(xpmu, id);
	if (!*config)
		return perf_refuse(-ENOENT, "config: this CPU does not count hardware event %llu",
				   id);
	return 0;
}

static int x86_init_map_cache(const struct x86_pmu *xpmu, u64 which, u64 *config, u64 *extra)
{
	u32 cache = which & 0xff, op = which >> 8 & 0xff, result = which >> 16 & 0xff;

	if (which >> 24 || cache >= PERF_COUNT_HW_CACHE_MAX ||
	    op >= PERF_COUNT_HW_CACHE_OP_MAX || result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
		return perf_refuse(-EINVAL, "config: there is no cache event %#llx", which);
	if (x86_cache_has_events(xpmu->model, cache) && x86_cache_op_invalid(cache, op))
		return perf_refuse(-EINVAL, "config: cache event %#llx makes no sense", which);
	*config = x86_cache_select(xpmu->model, which, extra);
	if (!*config)
		return perf_refuse(-ENOENT, "config: this CPU does not count cache event %#llx",
				   which);
	return 0;
}

static int x86_init_map_config(const struct x86_pmu *xpmu, struct perf_event *event, u64 *extra)
{
	const struct perf_event_attr *attr = &event->attr;

	*extra = attr->config1;
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		return x86_init_map_generic(xpmu, attr->config, &event->hw.config);
	case PERF_TYPE_HW_CACHE:
		return x86_init_map_cache(xpmu, attr->config, &event->hw.config, extra);
	default:
		event->hw.config = attr->config & xpmu->select_mask;
		return 0;
	}
}

/*
 * The second thread can be turned on while the event is open, unless it is off for good. Inherited
 * events are not checked again: their parent was accepted.
 */
static int x86_init_check_smt(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	u64 config = event->hw.config;
	const u8 *smt_unsafe = xpmu->model->smt_unsafe;

	if (!smt_unsafe || event->parent || (!cpu_smt_possible() && !sched_smt_active()))
		return 0;
	for (; *smt_unsafe; smt_unsafe++)
		if ((config & X86_SELECT_CODE) == *smt_unsafe)
			return perf_refuse(-EOPNOTSUPP,
				"config: erratum, event %#llx needs SMT off for good (forceoff)",
				*smt_unsafe);
	return 0;
}

/*
 * Transactions belong to one thread: in_tx and in_tx_cp cannot count both threads. Records of
 * precise samples are not written in transactions.
 */
static int x86_init_check_tsx(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	u64 config = event->hw.config;

	if (!(xpmu->model->flags & X86_MODEL_TSX) ||
	    !(config & (HSW_IN_TX | HSW_IN_TX_CHECKPOINTED)))
		return 0;
	if (event->attr.precise_ip)
		return perf_refuse(-EOPNOTSUPP,
				   "precise_ip: in_tx and in_tx_cp have no precise samples");
	if (!(config & ARCH_PERFMON_EVENTSEL_ANY))
		return 0;
	return perf_refuse(-EOPNOTSUPP, "config: in_tx and in_tx_cp do not go with any");
}

static void x86_init_set_privilege(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 *config = &event->hw.config;

	/* APM volume 2: with both bits set the counter counts hosts and guests, as with none. */
	if (x86_pmu_regs.guest_bits && attr->exclude_host && attr->exclude_guest)
		return;
	if (!attr->exclude_user)
		*config |= ARCH_PERFMON_EVENTSEL_USR;
	if (!attr->exclude_kernel)
		*config |= ARCH_PERFMON_EVENTSEL_OS;
	if (!x86_pmu_regs.guest_bits)
		return;
	if (attr->exclude_host && !attr->exclude_guest)
		*config |= AMD64_EVENTSEL_GUESTONLY;
	if (attr->exclude_guest && !attr->exclude_host)
		*config |= AMD64_EVENTSEL_HOSTONLY;
}

static bool x86_init_user_only(const struct perf_event *event)
{
	return (event->hw.config & (ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS)) ==
	       ARCH_PERFMON_EVENTSEL_USR;
}

/* The bit counts both threads of a core; it exists from version 3 on. */
static int x86_init_check_any(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	if (event->attr.type == PERF_TYPE_HARDWARE || event->attr.type == PERF_TYPE_HW_CACHE ||
	    !(event->attr.config & ARCH_PERFMON_EVENTSEL_ANY))
		return 0;
	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL || !xpmu->version || xpmu->version > 2)
		return 0;
	return perf_refuse(-EINVAL, "config: version %llu of the PMU has no any bit",
			   xpmu->version);
}

static int x86_init_check_precise(const struct x86_pmu *xpmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	bool has_xmm = attr->precise_ip && xpmu->precise_format >= INTEL_PEBS_ADAPTIVE;

	if (attr->precise_ip && !xpmu->max_precise)
		return perf_refuse(-EOPNOTSUPP, "precise_ip: no precise samples on this CPU");
	if (attr->precise_ip > xpmu->max_precise)
		return perf_refuse(-EOPNOTSUPP, "precise_ip: this CPU has %llu at most",
				   xpmu->max_precise);
	if (attr->precise_ip && !is_sampling_event(event))
		return perf_refuse(-EINVAL, "precise_ip: there are no samples without a period");
	if (attr->precise_ip && attr->exclude_host)
		return perf_refuse(-EOPNOTSUPP, "exclude_host: guests have no precise samples");
	if (attr->sample_regs_user & PERF_REG_EXTENDED_MASK)
		return perf_refuse(-EINVAL, "sample_regs_user: no XMM registers of user space");
	if (attr->sample_regs_intr & PERF_REG_EXTENDED_MASK && !has_xmm)
		return perf_refuse(-EINVAL,
				   "sample_regs: no XMM registers without precise samples");
	return 0;
}

/* There ibs_op has the precise samples. */
static bool x86_init_has_ibs_vendor(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD ||
	       boot_cpu_data.x86_vendor == X86_VENDOR_HYGON;
}

static int x86_init_check_attr(const struct x86_pmu *xpmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	int ret = x86_init_check_precise(xpmu, event);

	if (ret)
		return ret;
	if (attr->exclude_host && !x86_pmu_regs.guest_bits && !x86_pmu_regs.global_ctrl)
		return perf_refuse(-EOPNOTSUPP, "exclude_host: this PMU cannot tell guests apart");
	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, &xpmu->cpus))
		return perf_refuse(-ENOENT, "cpu: %llu has another kind of core", event->cpu);
	return x86_init_check_any(xpmu, event);
}

static int x86_init_encode(struct x86_pmu *xpmu, struct perf_event *event)
{
	u64 extra = 0;
	int ret;

	ret = x86_init_check_attr(xpmu, event);
	if (ret)
		return ret;
	if (x86_branch_is_guest(event))
		return x86_branch_init_guest(xpmu, event);
	ret = x86_branch_init(xpmu, event);
	if (ret)
		return ret;
	ret = x86_init_map_config(xpmu, event, &extra) ?: intel_pebs_init_select(xpmu, event);
	if (ret)
		return ret;
	if (xpmu->model->flags & X86_MODEL_NETBURST)
		return p4_encode(xpmu, event, &extra) ?: x86_extra_init(xpmu, event, extra);
	if (event->hw.config & ARCH_PERFMON_EVENTSEL_ANY && !event->parent && perf_allow_cpu())
		return perf_refuse(-EACCES,
			"config: the other thread is counted, too, which needs CAP_PERFMON");
	ret = x86_init_check_tsx(xpmu, event) ?: x86_init_check_smt(xpmu, event) ?:
	      x86_extra_init(xpmu, event, extra);
	if (ret)
		return ret;
	event->hw.counters = x86_rule_counters(xpmu, event->hw.config);
	if (x86_rule_is_pair(xpmu, event->hw.config))
		event->hw.flags |= X86_EVENT_PAIR;
	ret = x86_branch_init_counter(xpmu, event) ?: x86_topdown_init(xpmu, event);
	if (ret)
		return ret;
	if (!event->hw.counters)
		return perf_refuse(-EINVAL, "config: no counter can count %#llx", event->hw.config);
	ret = intel_pebs_init_counters(xpmu, event);
	if (ret)
		return ret;
	x86_init_set_privilege(event);
	if (xpmu->model->flags & X86_MODEL_USER_LOW && x86_init_user_only(event))
		event->hw.counters &= ~GENMASK_ULL(7, 4);
	return 0;
}

/* Shortest sampling period for in_tx_cp: an abort sets the counter back. */
#define IN_TXCP_MIN_PERIOD	0x7fffffff

/*
 * An overflow in a transaction aborts it, and the abort restores counter and status: the handler
 * finds no cause. x86_irq_undone() then ends the period if a transaction can have been the rest of
 * it, so a period must be far longer than that.
 */
static int x86_check_txcp_period(const struct x86_model *model, const struct perf_event *event,
				 u64 period)
{
	if (!(model->flags & X86_MODEL_TSX) || !(event->hw.config & HSW_IN_TX_CHECKPOINTED))
		return 0;
	if (!period || (!event->attr.freq && period >= IN_TXCP_MIN_PERIOD))
		return 0;
	return perf_refuse(-EOPNOTSUPP,
			   "sample_period: in_tx_cp needs a fixed one of %llu at least",
			   IN_TXCP_MIN_PERIOD);
}

/**
 * x86_check_period - can the PMU sample with a period?
 * @event: sampling event
 * @period: new value of attr.sample_period, in events; with attr.freq a frequency in Hz
 *
 * Context: process.
 * Return: 0; -EINVAL, -EOPNOTSUPP for a period that an erratum, in_tx_cp or branch sampling forbids
 */
int x86_check_period(struct perf_event *event, u64 period)
{
	const struct x86_model *model = to_x86_pmu(event->pmu)->model;
	const struct x86_period_limit *limit = x86_period_limit_of(event);
	int ret = x86_check_txcp_period(model, event, period) ?:
		  x86_branch_check_period(event, period);

	if (ret)
		return ret;
	if (event->attr.freq || !period || !limit || period >= limit->least)
		return 0;
	return perf_refuse(-EINVAL, "sample_period: this CPU needs %llu at least", limit->least);
}

/**
 * x86_check_new_period - pmu::check_period: can an event that counts already have a period?
 * @event: sampling event
 * @period: new value of attr.sample_period, in events; with attr.freq a frequency in Hz
 *
 * Context: process.
 * Return: as x86_check_period(); -EINVAL for a period of another PMU's events
 */
int x86_check_new_period(struct perf_event *event, u64 period)
{
	if (intel_bts_sample_suits(event, period))
		return -EINVAL;
	return x86_check_period(event, period);
}

/* ----------------------------------------------------- ownership of the hardware */

static DEFINE_MUTEX(x86_msrs_lock);
static unsigned int x86_msrs_users;	/* open events; x86_msrs_lock */
static bool x86_msrs_reserved;		/* from the first event on; x86_msrs_lock */

static void x86_msrs_release(unsigned long counters)
{
	unsigned int i;

	for_each_set_bit(i, &counters, INTEL_PMC_MAX_GENERIC) {
		release_perfctr_nmi(x86_pmu_regs.counter + i * x86_pmu_regs.step);
		release_evntsel_nmi(x86_pmu_regs.select + i * x86_pmu_regs.step);
	}
}

static int x86_msrs_reserve(unsigned long counters)
{
	unsigned int i;

	for_each_set_bit(i, &counters, INTEL_PMC_MAX_GENERIC) {
		if (!reserve_perfctr_nmi(x86_pmu_regs.counter + i * x86_pmu_regs.step))
			break;
		if (!reserve_evntsel_nmi(x86_pmu_regs.select + i * x86_pmu_regs.step)) {
			release_perfctr_nmi(x86_pmu_regs.counter + i * x86_pmu_regs.step);
			break;
		}
	}
	if (i >= INTEL_PMC_MAX_GENERIC)
		return 0;
	x86_msrs_release(counters & (BIT(i) - 1));
	return perf_refuse(-EBUSY, "counter %llu is in use by another driver", i);
}

static bool x86_msrs_cpu_enabled(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(x86_pmu_cpu.enabled, cpu));
}

static void x86_msrs_stop_cpu(void *unused)
{
	x86_counters_disable(this_cpu_ptr(&x86_pmu_cpu), ~0ULL);
}

/* perf_event::destroy. Counters continue to run without events: the last event stops them. */
static void x86_event_destroy(struct perf_event *event)
{
	x86_extra_release(event);
	amd_node_release(event);
	if (event->hw.flags & X86_EVENT_BRANCHES)
		x86_del_exclusive(x86_lbr_exclusive_lbr);
	if (event->hw.flags & X86_EVENT_PRECISE)
		intel_pebs_drop_groups(event);
	guard(mutex)(&x86_msrs_lock);
	if (--x86_msrs_users)
		return;
	on_each_cpu_cond(x86_msrs_cpu_enabled, x86_msrs_stop_cpu, NULL, 1);
	atomic_dec(&x86_irq_users);
}

static int x86_msrs_get(void)
{
	int ret;

	guard(mutex)(&x86_msrs_lock);
	if (!x86_msrs_reserved) {
		ret = x86_msrs_reserve(x86_pmus[0].counters & X86_GENERAL_MASK);
		if (ret)
			return ret;
		x86_msrs_reserved = true;
	}
	if (!x86_msrs_users++)
		atomic_inc(&x86_irq_users);
	return 0;
}

static void x86_init_set_sampling(const struct x86_pmu *xpmu, struct perf_event *event)
{
	event->hw.flags |= X86_EVENT_SAMPLING;
	if (x86_period_limit_of(event) ||
	    event->hw.flags & X86_EVENT_AHEAD)
		event->hw.flags |= X86_EVENT_LIMITED;
	if (xpmu->model->flags & X86_MODEL_TSX && event->hw.config & HSW_IN_TX_CHECKPOINTED)
		event->hw.flags |= X86_EVENT_CHECKPOINTED;
}

/* Claims what the event shares with other CPUs and drivers; x86_event_destroy() releases it. */
static int x86_init_claim(const struct x86_pmu *xpmu, struct perf_event *event)
{
	int ret = 0;

	if (event->hw.flags & X86_EVENT_BRANCHES && x86_add_exclusive(x86_lbr_exclusive_lbr)) {
		event->hw.flags &= ~X86_EVENT_BRANCHES;
		return perf_refuse(-EBUSY,
				   "branch_sample_type: branches are being traced by another PMU");
	}
	if (amd_node_has_event(xpmu, event))
		return amd_node_claim(event);
	/* Each thread has its own latency threshold: SDM 4, MSR_PEBS_LD_LAT. */
	if (event->hw.extra_reg.reg && event->hw.extra_reg.idx != X86_EXTRA_LOAD_LATENCY &&
	    x86_extra_is_shared(xpmu))
		ret = x86_extra_claim(xpmu, event);
	if (!ret && event->hw.flags & X86_EVENT_BRANCHES && x86_extra_is_shared(xpmu) &&
	    xpmu->branches->flags & X86_BRANCHES_HT_SHARED)
		ret = x86_extra_claim_branches(event);
	return ret;
}

/**
 * x86_event_init - pmu::event_init: set up an event
 * @event: event to be opened, with attr, pmu and cpu set
 *
 * Context: process, may sleep.
 * Return: 0; -ENOENT if the event is of another PMU or not counted by this one; -EINVAL,
 *	-EOPNOTSUPP, -EBUSY, -EACCES, -ENXIO, -ENODATA, -ENOMEM as perf_refuse() explains
 */
int x86_event_init(struct perf_event *event)
{
	struct x86_pmu *xpmu = to_x86_pmu(event->pmu);
	int ret;

	switch (event->attr.type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		break;
	default:
		if (event->attr.type != event->pmu->type)
			return -ENOENT;
	}

	if (intel_bts_sample_suits(event, event->attr.sample_period))
		return intel_bts_sample_init(event);
	if (event->attr.precise_ip && x86_init_has_ibs_vendor())
		return amd_ibs_forward(event);

	event->hw.idx = -1;
	event->hw.last_cpu = -1;
	ret = x86_init_encode(xpmu, event);
	if (!ret && is_sampling_event(event))
		ret = x86_check_period(event, event->attr.sample_period);
	if (ret)
		return ret;

	ret = x86_msrs_get();
	if (ret)
		return ret;
	if (event->hw.flags & X86_EVENT_PRECISE)
		intel_pebs_add_groups(event);
	ret = x86_init_claim(xpmu, event);
	if (ret) {
		x86_event_destroy(event);
		return ret;
	}
	event->destroy = x86_event_destroy;
	if (is_sampling_event(event))
		x86_init_set_sampling(xpmu, event);
	/* A record changes the counter without a change of the user page. */
	if (READ_ONCE(x86_rdpmc_mode) &&
	    !(event->hw.flags & (X86_EVENT_BATCH | X86_EVENT_GUEST_BRANCHES)))
		event->hw.flags |= X86_EVENT_USER;
	return 0;
}
