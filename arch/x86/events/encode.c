// SPDX-License-Identifier: GPL-2.0
/*
 * From what a user asks for to what the hardware is told: pmu::event_init.
 *
 * Context: process, may sleep.
 */
#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/sched/smt.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "pmu.h"

/* ------------------------------------------------------------ generic events */

/* CPUID.0AH:EBX bit of a generic event, -1 if it is not architectural. */
static const s8 arch_bit[PERF_COUNT_HW_MAX] = {
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
static const u64 arch_select[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES]		= 0x003c,
	[PERF_COUNT_HW_INSTRUCTIONS]		= 0x00c0,
	[PERF_COUNT_HW_BUS_CYCLES]		= 0x013c,
	[PERF_COUNT_HW_CACHE_REFERENCES]	= 0x4f2e,
	[PERF_COUNT_HW_CACHE_MISSES]		= 0x412e,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS]	= 0x00c4,
	[PERF_COUNT_HW_BRANCH_MISSES]		= 0x00c5,
};

static bool arch_counts(const struct x86_core *core, unsigned int id)
{
	int bit = arch_bit[id];

	return bit >= 0 && bit < core->arch_len && !(core->arch_missing & BIT(bit));
}

/**
 * x86_generic_select - the selection for a PERF_COUNT_HW_* event
 * @core: the PMU
 * @id: the event
 *
 * Return: 0 if this part does not count it.
 */
u64 x86_generic_select(const struct x86_core *core, unsigned int id)
{
	const struct x86_model *model = core->model;

	if (id >= PERF_COUNT_HW_MAX)
		return 0;
	/* Reference cycles have no selection of their own: 0x0300 stands for their fixed counter. */
	if (id == PERF_COUNT_HW_REF_CPU_CYCLES && core->counters & X86_FIXED(2))
		return 0x0300;
	if (model->generic && model->generic[id])
		return model->generic[id];
	return model->flags & X86_MODEL_ARCH_EVENTS && arch_counts(core, id) ? arch_select[id] : 0;
}

/**
 * x86_cache_select - the selection for a PERF_TYPE_HW_CACHE event
 * @model: the tables
 * @which: X86_CACHE()
 * @extra: receives the value of the extra register
 *
 * Return: 0 if this part does not count it.
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

/* Is anything counted of a cache? */
static bool cache_counts(const struct x86_model *model, u32 cache)
{
	const struct x86_cache_event *c = model->cache;

	for (; c && c->config; c++)
		if ((c->which & 0xff) == cache)
			return true;
	return false;
}

/* Combinations that mean nothing on any part: code is not written, branches not prefetched. */
static bool cache_nonsense(u32 cache, u32 op)
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

/* --------------------------------------------------------- who can count it */

/* What the fixed counters count, SDM 3B, "Association of Fixed-Function Performance Counters". */
static const u16 fixed_select[] = { 0x00c0, 0x003c, 0x0300, 0x0400 };

static u64 fixed_for(u64 config)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fixed_select); i++)
		if (config == fixed_select[i])
			return X86_FIXED(i);
	return 0;
}

/* SDM 3B, "Performance Monitoring and Intel TSX": in_tx_cp may be set for counter 2 alone. */
#define IN_TXCP_COUNTERS	BIT_ULL(2)

static u64 by_rule(const struct x86_core *core, u64 config)
{
	const struct x86_rule *rule = core->model->rules;
	u64 bare = config & ~(ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS |
			      ARCH_PERFMON_EVENTSEL_ANY);
	u64 fixed = fixed_for(bare) & core->counters;
	u64 general = core->counters & X86_GENERAL_MASK;

	for (; rule && rule->mask; rule++)
		if ((config & rule->mask) == rule->match)
			return (rule->counters & core->counters) | fixed;
	/* Code 0 is no event but a name for those that only fixed counters have. */
	if (core->counters & X86_FIXED_MASK && !(bare & X86_SELECT_CODE) && bare & 0xff00)
		return fixed;
	return general | fixed;
}

/**
 * x86_rule_counters - the counters that can count a selection
 * @core: the PMU
 * @config: the selection
 */
u64 x86_rule_counters(const struct x86_core *core, u64 config)
{
	u64 counters;

	if (core->model->flags & X86_MODEL_NETBURST)
		return p4_counters(config) & core->counters;
	counters = by_rule(core, config);
	/* AMD has something else there. */
	if (core->model->flags & X86_MODEL_TSX && config & HSW_IN_TX_CHECKPOINTED)
		counters &= IN_TXCP_COUNTERS;
	return counters;
}

static const struct x86_extra *find_extra(const struct x86_core *core, u64 config)
{
	const struct x86_extra *x = core->model->extra;

	for (; x && x->mask; x++)
		if ((config & x->mask) == x->match)
			return x;
	return NULL;
}

/* ------------------------------------------------------------------ one event */

static int map_generic(const struct x86_core *core, u64 id, u64 *config)
{
	if (id >= PERF_COUNT_HW_MAX)
		return perf_refuse(-EINVAL, "config: there is no hardware event %llu", id);
	id = array_index_nospec(id, PERF_COUNT_HW_MAX);
	*config = x86_generic_select(core, id);
	if (!*config)
		return perf_refuse(-ENOENT, "config: this CPU does not count hardware event %llu", id);
	return 0;
}

static int map_cache(const struct x86_core *core, u64 which, u64 *config, u64 *extra)
{
	u32 cache = which & 0xff, op = which >> 8 & 0xff, result = which >> 16 & 0xff;

	if (which >> 24 || cache >= PERF_COUNT_HW_CACHE_MAX ||
	    op >= PERF_COUNT_HW_CACHE_OP_MAX || result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
		return perf_refuse(-EINVAL, "config: there is no cache event %#llx", which);
	if (cache_counts(core->model, cache) && cache_nonsense(cache, op))
		return perf_refuse(-EINVAL, "config: cache event %#llx makes no sense", which);
	*config = x86_cache_select(core->model, which, extra);
	if (!*config)
		return perf_refuse(-ENOENT, "config: this CPU does not count cache event %#llx", which);
	return 0;
}

static int map_config(const struct x86_core *core, struct perf_event *event, u64 *extra)
{
	const struct perf_event_attr *attr = &event->attr;

	*extra = attr->config1;
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		return map_generic(core, attr->config, &event->hw.config);
	case PERF_TYPE_HW_CACHE:
		return map_cache(core, attr->config, &event->hw.config, extra);
	default:
		event->hw.config = attr->config & core->select_mask;
		return 0;
	}
}

/* A hypervisor may show the model without all of its registers. They need not be on all kinds of core. */
static bool has_register(const struct x86_core *core, u32 msr)
{
	u64 now;

	if (x86_nr_cores == 1)
		return !rdmsrl_safe(msr, &now);
	return !rdmsrl_safe_on_cpu(cpumask_any_and(&core->cpus, cpu_online_mask), msr, &now);
}

static int set_extra(const struct x86_core *core, struct perf_event *event, u64 value)
{
	struct hw_perf_event_extra *reg = &event->hw.extra_reg;
	const struct x86_extra *x = find_extra(core, event->hw.config);

	if (!x)
		return 0;
	/* What the parent has found need not be looked for at each fork. */
	if (!event->parent && !has_register(core, x->msr))
		return perf_refuse(-ENXIO, "config: the event's register %#llx is not there", x->msr);
	if (value & ~x->valid)
		return perf_refuse(-EINVAL, "config1: bits %#llx do not exist in the event's register",
				   value & ~x->valid);
	reg->reg = x->msr;
	reg->idx = x->id;
	reg->config = value;
	return 0;
}

/*
 * Registers that a core's threads or a module's cores have in common. No CPU can know what its neighbour
 * counts, so all events that are open agree on what is in such a register. hw_lock.
 */
static struct {
	u64		value;
	unsigned int	users;
} shared_extra[X86_EXTRA_MAX];

static DEFINE_MUTEX(hw_lock);

static bool extra_is_shared(const struct x86_core *core)
{
	if (core->model->flags & X86_MODEL_HT_EXTRA)
		return cpu_smt_possible() || sched_smt_active();
	return core->model->flags & X86_MODEL_MODULE_EXTRA;
}

static bool extra_holds(int id, u64 val)
{
	return id >= 0 && shared_extra[id].users && shared_extra[id].value == val;
}

static bool extra_is_free(int id)
{
	return id >= 0 && !shared_extra[id].users;
}

/* The register that holds @val, or can; negative if both of a pair hold something else. */
static int pick_shared(int id, int other, u64 val)
{
	lockdep_assert_held(&hw_lock);
	if (extra_holds(id, val))
		return id;
	if (extra_holds(other, val))
		return other;
	if (extra_is_free(id))
		return id;
	return extra_is_free(other) ? other : -EBUSY;
}

/**
 * x86_extra_claim - have a say in what a shared register holds
 * @core: the PMU
 * @event: an event with an extra register, encoded; another one of a pair may become its own
 *
 * Context: may sleep
 * Return: 0, -EBUSY if others are using it for something else
 */
int x86_extra_claim(const struct x86_core *core, struct perf_event *event)
{
	struct hw_perf_event_extra *reg = &event->hw.extra_reg;
	int id;

	guard(mutex)(&hw_lock);
	id = pick_shared(reg->idx, x86_extra_other(core, reg->idx, reg->config), reg->config);
	if (id < 0)
		return perf_refuse(id, "config1: CPUs share the event's register, and it is in use");
	shared_extra[id].value = reg->config;
	shared_extra[id].users++;
	reg->idx = id;
	event->hw.config = x86_extra_select(core, event->hw.config, id);
	event->hw.flags |= X86_EVENT_SHARED_EXTRA;
	return 0;
}

/* Takes the claim back, if the event has one. */
void x86_extra_release(struct perf_event *event)
{
	if (!(event->hw.flags & X86_EVENT_SHARED_EXTRA))
		return;
	guard(mutex)(&hw_lock);
	shared_extra[event->hw.extra_reg.idx].users--;
	event->hw.flags &= ~X86_EVENT_SHARED_EXTRA;
}

/* As with all that an inherited event's parent was granted, it is not asked again. */
static int check_leak(const struct x86_core *core, const struct perf_event *event)
{
	u64 config = event->hw.config;
	const u8 *leaky = core->model->leaky;

	if (!leaky || event->parent || !sched_smt_active())
		return 0;
	for (; *leaky; leaky++)
		if ((config & X86_SELECT_CODE) == *leaky)
			return perf_refuse(-EOPNOTSUPP,
				"config: erratum, event %#llx disturbs the core's other thread", *leaky);
	return 0;
}

/* A transaction is one thread's. */
static int check_transactions(const struct x86_core *core, const struct perf_event *event)
{
	u64 config = event->hw.config;

	if (!(core->model->flags & X86_MODEL_TSX) || !(config & ARCH_PERFMON_EVENTSEL_ANY) ||
	    !(config & (HSW_IN_TX | HSW_IN_TX_CHECKPOINTED)))
		return 0;
	return perf_refuse(-EOPNOTSUPP, "config: in_tx and in_tx_cp do not go with any");
}

static void set_levels(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 *config = &event->hw.config;

	/* APM volume 2: both bits count everything, as none does. */
	if (x86_hw.guest_bits && attr->exclude_host && attr->exclude_guest)
		return;
	if (!attr->exclude_user)
		*config |= ARCH_PERFMON_EVENTSEL_USR;
	if (!attr->exclude_kernel)
		*config |= ARCH_PERFMON_EVENTSEL_OS;
	if (!x86_hw.guest_bits)
		return;
	if (attr->exclude_host && !attr->exclude_guest)
		*config |= AMD64_EVENTSEL_GUESTONLY;
	if (attr->exclude_guest && !attr->exclude_host)
		*config |= AMD64_EVENTSEL_HOSTONLY;
}

static bool users_alone(const struct perf_event *event)
{
	return (event->hw.config & (ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS)) ==
	       ARCH_PERFMON_EVENTSEL_USR;
}

static int check_attr(const struct x86_core *core, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP, "branch_sample_type: no branch records on this CPU");
	if (attr->precise_ip)
		return perf_refuse(-EOPNOTSUPP, "precise_ip: no precise samples on this CPU");
	if (attr->exclude_host && !x86_hw.guest_bits && !x86_hw.global_ctrl)
		return perf_refuse(-EOPNOTSUPP, "exclude_host: this PMU cannot tell guests apart");
	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, &core->cpus))
		return perf_refuse(-ENOENT, "cpu: %llu has another kind of core", event->cpu);
	return 0;
}

static int encode(struct x86_core *core, struct perf_event *event)
{
	u64 extra = 0;
	int ret;

	ret = check_attr(core, event);
	if (ret)
		return ret;
	ret = map_config(core, event, &extra);
	if (ret)
		return ret;
	if (core->model->flags & X86_MODEL_NETBURST)
		return p4_encode(core, event, &extra) ?: set_extra(core, event, extra);
	if (event->hw.config & ARCH_PERFMON_EVENTSEL_ANY && !event->parent && perf_allow_cpu())
		return perf_refuse(-EACCES, "config: the other thread is counted, too, which needs CAP_PERFMON");
	ret = check_transactions(core, event) ?: check_leak(core, event) ?:
	      set_extra(core, event, extra);
	if (ret)
		return ret;
	event->hw.counters = x86_rule_counters(core, event->hw.config);
	if (!event->hw.counters)
		return perf_refuse(-EINVAL, "config: no counter can count %#llx", event->hw.config);
	set_levels(event);
	if (core->model->flags & X86_MODEL_USER_LOW && users_alone(event))
		event->hw.counters &= ~GENMASK_ULL(7, 4);
	return 0;
}

/* Shorter than this, an event that aborts take back from is not sampled. */
#define IN_TXCP_MIN_PERIOD	0x7fffffff

/*
 * An abort restores counter and status: an overflow in a transaction, which its interrupt aborts,
 * leaves no cause behind and comes again, forever.
 */
static int check_checkpointed(const struct x86_model *model, const struct perf_event *event,
			      u64 period)
{
	if (!(model->flags & X86_MODEL_TSX) || !(event->hw.config & HSW_IN_TX_CHECKPOINTED))
		return 0;
	if (!period || (!event->attr.freq && period >= IN_TXCP_MIN_PERIOD))
		return 0;
	return perf_refuse(-EOPNOTSUPP, "sample_period: in_tx_cp needs a fixed one of %llu at least",
			   IN_TXCP_MIN_PERIOD);
}

/**
 * x86_check_period - pmu::check_period
 * @event: a sampling event
 * @period: its period to be
 */
int x86_check_period(struct perf_event *event, u64 period)
{
	const struct x86_model *model = x86_core_of(event->pmu)->model;
	u32 least = model->min_period;
	int ret = check_checkpointed(model, event, period);

	if (ret)
		return ret;
	if (event->attr.freq || !period || period >= least)
		return 0;
	if ((event->hw.config & X86_SELECT_CODE) != 0xc0)
		return 0;
	return perf_refuse(-EINVAL, "sample_period: erratum, instructions need %llu at least", least);
}

/* ----------------------------------------------------------- the hardware is ours */

atomic_t x86_irq_users;
static unsigned int hw_users;

static void release_msrs(unsigned long counters)
{
	unsigned int i;

	for_each_set_bit(i, &counters, INTEL_PMC_MAX_GENERIC) {
		release_perfctr_nmi(x86_hw.counter + i * x86_hw.step);
		release_evntsel_nmi(x86_hw.select + i * x86_hw.step);
	}
}

static int reserve_msrs(unsigned long counters)
{
	unsigned int i;

	for_each_set_bit(i, &counters, INTEL_PMC_MAX_GENERIC) {
		if (!reserve_perfctr_nmi(x86_hw.counter + i * x86_hw.step))
			break;
		if (!reserve_evntsel_nmi(x86_hw.select + i * x86_hw.step)) {
			release_perfctr_nmi(x86_hw.counter + i * x86_hw.step);
			break;
		}
	}
	if (i >= INTEL_PMC_MAX_GENERIC)
		return 0;
	release_msrs(counters & (BIT(i) - 1));
	return perf_refuse(-EBUSY, "counter %llu is in use by another driver", i);
}

static bool runs_on(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(x86_cpu.on, cpu));
}

static void let_rest(void *unused)
{
	x86_counters_off(this_cpu_ptr(&x86_cpu), ~0ULL);
}

/* The last event stops what has been left running. */
static void put_hw(struct perf_event *event)
{
	x86_extra_release(event);
	guard(mutex)(&hw_lock);
	if (--hw_users)
		return;
	on_each_cpu_cond(runs_on, let_rest, NULL, 1);
	atomic_dec(&x86_irq_users);
	release_msrs(x86_cores[0].counters & X86_GENERAL_MASK);
}

static int get_hw(void)
{
	int ret;

	guard(mutex)(&hw_lock);
	if (!hw_users) {
		ret = reserve_msrs(x86_cores[0].counters & X86_GENERAL_MASK);
		if (ret)
			return ret;
		atomic_inc(&x86_irq_users);
	}
	hw_users++;
	return 0;
}

/**
 * x86_event_init - pmu::event_init
 * @event: the event
 *
 * Return: 0; -ENOENT: not ours, or not counted here; -EINVAL, -EOPNOTSUPP, -EBUSY.
 */
int x86_event_init(struct perf_event *event)
{
	struct x86_core *core = x86_core_of(event->pmu);
	int ret;

	switch (event->attr.type) {
	case PERF_TYPE_RAW:
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		break;
	default:
		if (event->attr.type != event->pmu->type)
			return -ENOENT;
	}

	event->hw.idx = -1;
	event->hw.last_cpu = -1;
	ret = encode(core, event);
	if (!ret && is_sampling_event(event))
		ret = x86_check_period(event, event->attr.sample_period);
	if (ret)
		return ret;

	ret = get_hw();
	if (ret)
		return ret;
	if (event->hw.extra_reg.reg && extra_is_shared(core)) {
		ret = x86_extra_claim(core, event);
		if (ret) {
			put_hw(event);
			return ret;
		}
	}
	event->destroy = put_hw;
	if (is_sampling_event(event))
		event->hw.flags |= X86_EVENT_SAMPLING;
	if (READ_ONCE(x86_rdpmc_mode))
		event->hw.flags |= X86_EVENT_USER;
	return 0;
}
