// SPDX-License-Identifier: GPL-2.0
/*
 * Extra registers: MSRs that some events need beside their event select, for example the off-core
 * response registers.
 *
 * Two registers can be a pair: an event can use either of them, and its event code selects one.
 * Events on one CPU use the same register if they need the same value in it. A register that
 * several CPUs share holds one value for all open events, see x86_extra_claim().
 *
 * Calls no other file of the driver.
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/sched/smt.h>

#include "pmu.h"

/**
 * struct x86_extra_use - extra registers that are in use, and the values
 * @used: bit X86_EXTRA_* is set for a register in use
 * @val: values by X86_EXTRA_*
 */
struct x86_extra_use {
	unsigned int	used;
	u64		val[X86_EXTRA_MAX];
};

/**
 * x86_extra_find - the extra register that a selection needs
 * @xpmu: the PMU
 * @config: selection
 *
 * Context: any.
 * Return: description of the register; NULL: none
 */
const struct x86_extra *x86_extra_find(const struct x86_pmu *xpmu, u64 config)
{
	const struct x86_extra *x = xpmu->model->extra;

	for (; x && x->mask; x++)
		if ((config & x->mask) == x->match)
			return x;
	return NULL;
}

static const struct x86_extra *x86_extra_by_id(const struct x86_pmu *xpmu, unsigned int id)
{
	const struct x86_extra *x = xpmu->model->extra;

	for (; x && x->mask; x++)
		if (x->id == id)
			return x;
	return NULL;
}

/* The other register of the pair that @id belongs to; -1: none. */
static int x86_extra_alternate(const struct x86_pmu *xpmu, unsigned int id)
{
	switch (id) {
	case X86_EXTRA_OFFCORE_0:
	case X86_EXTRA_OFFCORE_1:
	case X86_EXTRA_SNOOP_0:
	case X86_EXTRA_SNOOP_1:
		id = id & 1 ? (id ^ 1) : id + 1;
		return x86_extra_by_id(xpmu, id) ? id : -1;
	}
	return -1;
}

/* The other register of a pair; -1: none. It can lack bits that the first one has. */
static int x86_extra_other(const struct x86_pmu *xpmu, int id, u64 val)
{
	id = x86_extra_alternate(xpmu, id);
	return id >= 0 && !(val & ~x86_extra_by_id(xpmu, id)->valid) ? id : -1;
}

static bool x86_extra_holds(const struct x86_extra_use *use, int id, u64 val)
{
	return id >= 0 && use->used & BIT(id) && use->val[id] == val;
}

static bool x86_extra_is_free(const struct x86_extra_use *use, int id)
{
	return id >= 0 && !(use->used & BIT(id));
}

/*
 * One of the registers @id and @other (-1: none) for the value @val, preferably one that holds it
 * already. -1 if both hold something else.
 */
static int x86_extra_pick(const struct x86_extra_use *use, int id, int other, u64 val)
{
	if (x86_extra_holds(use, id, val))
		return id;
	if (x86_extra_holds(use, other, val))
		return other;
	if (x86_extra_is_free(use, id))
		return id;
	return x86_extra_is_free(use, other) ? other : -1;
}

/* ------------------------------------------------------------------- one event */

/*
 * A hypervisor can report the model without all of its registers. On hybrid parts the register
 * need not exist on the CPU that this runs on.
 */
static bool x86_extra_present(const struct x86_pmu *xpmu, u32 msr)
{
	u64 now;

	if (x86_nr_pmus == 1)
		return !rdmsrl_safe(msr, &now);
	return !rdmsrl_safe_on_cpu(cpumask_any_and(&xpmu->cpus, cpu_online_mask), msr, &now);
}

/**
 * x86_extra_init - set up the extra register of an event, if hw.config needs one
 * @xpmu: the PMU
 * @event: event being initialised, hw.config is set
 * @value: value for the register
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL if bits of @value do not exist, -ENXIO if the register does not
 */
int x86_extra_init(const struct x86_pmu *xpmu, struct perf_event *event, u64 value)
{
	struct hw_perf_event_extra *reg = &event->hw.extra_reg;
	const struct x86_extra *x = x86_extra_find(xpmu, event->hw.config);

	if (!x)
		return 0;
	if (value & ~x->valid)
		return perf_refuse(-EINVAL,
				   "config1: bits %#llx do not exist in the event's register",
				   value & ~x->valid);
	/* An inherited event's register was found when its parent was opened. */
	if (!event->parent && !x86_extra_present(xpmu, x->msr))
		return perf_refuse(-ENXIO, "config: the event's register %#llx is not there",
				   x->msr);
	reg->reg = x->msr;
	reg->idx = x->id;
	reg->config = value;
	return 0;
}

/**
 * x86_extra_select - the selection with which an event uses an extra register
 * @xpmu: the PMU
 * @config: selection, for either register of a pair
 * @id: X86_EXTRA_* of the register to use
 *
 * Each register of a pair has a separate event code. Several codes can share a register that
 * is in no pair: then the code stays.
 *
 * Context: any.
 * Return: the selection
 */
u64 x86_extra_select(const struct x86_pmu *xpmu, u64 config, unsigned int id)
{
	const struct x86_extra *x = x86_extra_by_id(xpmu, id);

	if (!x || x86_extra_alternate(xpmu, id) < 0)
		return config;
	return (config & ~x->mask) | x->match;
}

static void x86_extra_write(const struct x86_extra *x, u64 val)
{
	if (x->pair) {
		wrmsrl(x->msr + 1, upper_32_bits(val));
		val = lower_32_bits(val);
	}
	wrmsrl(x->msr, val);
}

/**
 * x86_extra_load - write the extra register of an event, and select that register
 * @cpu: this CPU
 * @event: event with an extra register
 * @alternate: use the other register of the pair
 *
 * Context: interrupts disabled. The event's counter is not in x86_pmu_cpu::irq_owned.
 */
void x86_extra_load(struct x86_pmu_cpu *cpu, struct perf_event *event, bool alternate)
{
	struct hw_perf_event_extra *reg = &event->hw.extra_reg;
	const struct x86_extra *x;
	int id = reg->idx;

	if (alternate)
		id = x86_extra_alternate(cpu->pmu, id);
	x = x86_extra_by_id(cpu->pmu, id);
	if (WARN_ON_ONCE(!x))
		return;

	reg->alloc = alternate;
	event->hw.config = x86_extra_select(cpu->pmu, event->hw.config, id);
	/* Another CPU can have written a shared register since, and ~0 is cached if unknown. */
	if (cpu->extra[id] != reg->config || reg->config == ~0ULL ||
	    event->hw.flags & X86_EVENT_SHARED_EXTRA) {
		cpu->extra[id] = reg->config;
		x86_extra_write(x, reg->config);
	}
}

/* -------------------------------------------------------- events of a schedule */

/*
 * Assigns registers to the events of @s that can use one register only, or (@pairs) to those that
 * can use either of two.
 */
static int x86_extra_assign_kind(const struct x86_pmu *xpmu, struct x86_extra_use *use,
				 const struct perf_schedule *s, bool pairs, u8 *bits)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct hw_perf_event_extra *reg = &s->slot[i].event->hw.extra_reg;
		int other, id;
		bool pair;

		if (!reg->reg)
			continue;
		other = x86_extra_other(xpmu, reg->idx, reg->config);
		pair = other >= 0;
		if (pair != pairs)
			continue;
		id = x86_extra_pick(use, reg->idx, other, reg->config);
		if (id < 0)
			return -ENOSPC;
		use->used |= BIT(id);
		use->val[id] = reg->config;
		bits[i] = id == reg->idx ? 0 : X86_SLOT_ALTERNATE;
	}
	return 0;
}

/* The branch filter holds one value, as an extra register does. */
static int x86_extra_assign_branches(struct x86_extra_use *use, const struct perf_schedule *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct hw_perf_event *hw = &s->slot[i].event->hw;

		if (!(hw->flags & X86_EVENT_BRANCHES) || !hw->branch_reg.reg)
			continue;
		if (x86_extra_pick(use, X86_EXTRA_BRANCHES, -1, hw->branch_reg.config) < 0)
			return -ENOSPC;
		use->used |= BIT(X86_EXTRA_BRANCHES);
		use->val[X86_EXTRA_BRANCHES] = hw->branch_reg.config;
	}
	return 0;
}

static bool x86_extra_is_used(const struct perf_schedule *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct hw_perf_event *hw = &s->slot[i].event->hw;

		if (hw->extra_reg.reg || hw->flags & X86_EVENT_BRANCHES)
			return true;
	}
	return false;
}

/**
 * x86_extra_assign - assign extra registers to the events of a schedule
 * @xpmu: the PMU
 * @s: the schedule
 * @bits: for each slot of @s, set to X86_SLOT_ALTERNATE or 0 if the event has an extra register
 *
 * Events with a choice are assigned last.
 *
 * Context: any.
 * Return: 0, -ENOSPC
 */
int x86_extra_assign(const struct x86_pmu *xpmu, const struct perf_schedule *s, u8 *bits)
{
	struct x86_extra_use use __uninitialized;

	if (!x86_extra_is_used(s))
		return 0;
	use = (struct x86_extra_use){ };
	return x86_extra_assign_kind(xpmu, &use, s, false, bits) ?:
	       x86_extra_assign_kind(xpmu, &use, s, true, bits) ?:
	       x86_extra_assign_branches(&use, s);
}

/* ------------------------------------------------- registers that CPUs share */

/*
 * The schedule of a CPU does not contain the events of the CPUs that share a register with it.
 * Therefore all open events of the machine that use a shared register have one value for it.
 */
static DEFINE_MUTEX(x86_extra_lock);
static struct x86_extra_use x86_extra_shared;			/* x86_extra_lock */
static unsigned int x86_extra_users[X86_EXTRA_MAX];		/* x86_extra_lock */

/**
 * x86_extra_is_shared - do CPUs share the extra registers of a PMU?
 * @xpmu: the PMU
 *
 * Context: any.
 * Return: true if the threads of a core or the cores of a module do
 */
bool x86_extra_is_shared(const struct x86_pmu *xpmu)
{
	if (xpmu->model->flags & X86_MODEL_HT_EXTRA)
		return cpu_smt_possible() || sched_smt_active();
	return xpmu->model->flags & X86_MODEL_MODULE_EXTRA;
}

/**
 * x86_extra_claim - claim a value of a shared register
 * @xpmu: the PMU
 * @event: event after x86_extra_init(); can get the other register of the pair
 *
 * Context: process, may sleep.
 * Return: 0, -EBUSY while other events use the register for another value
 */
int x86_extra_claim(const struct x86_pmu *xpmu, struct perf_event *event)
{
	struct hw_perf_event_extra *reg = &event->hw.extra_reg;
	int id;

	guard(mutex)(&x86_extra_lock);
	id = x86_extra_pick(&x86_extra_shared, reg->idx,
			    x86_extra_other(xpmu, reg->idx, reg->config), reg->config);
	if (id < 0)
		return perf_refuse(-EBUSY,
				   "config1: CPUs share the event's register, and it is in use");
	x86_extra_shared.used |= BIT(id);
	x86_extra_shared.val[id] = reg->config;
	x86_extra_users[id]++;
	reg->idx = id;
	event->hw.config = x86_extra_select(xpmu, event->hw.config, id);
	event->hw.flags |= X86_EVENT_SHARED_EXTRA;
	return 0;
}

/**
 * x86_extra_claim_branches - claim a value of a branch filter that threads share
 * @event: event with branch records
 *
 * Context: process, may sleep.
 * Return: 0, -EBUSY while other events use another filter
 */
int x86_extra_claim_branches(struct perf_event *event)
{
	u64 val = event->hw.branch_reg.config;

	guard(mutex)(&x86_extra_lock);
	if (x86_extra_pick(&x86_extra_shared, X86_EXTRA_BRANCHES, -1, val) < 0)
		return perf_refuse(-EBUSY,
				   "branch_sample_type: threads share the filter; it is in use");
	x86_extra_shared.used |= BIT(X86_EXTRA_BRANCHES);
	x86_extra_shared.val[X86_EXTRA_BRANCHES] = val;
	x86_extra_users[X86_EXTRA_BRANCHES]++;
	event->hw.flags |= X86_EVENT_SHARED_BRANCHES;
	return 0;
}

static void x86_extra_release_one(struct perf_event *event, unsigned int id, int flag)
{
	if (!(event->hw.flags & flag))
		return;
	guard(mutex)(&x86_extra_lock);
	if (!--x86_extra_users[id])
		x86_extra_shared.used &= ~BIT(id);
	event->hw.flags &= ~flag;
}

/**
 * x86_extra_release - drop the claims of an event on shared registers, if any
 * @event: the event
 *
 * Context: process, may sleep.
 */
void x86_extra_release(struct perf_event *event)
{
	x86_extra_release_one(event, event->hw.extra_reg.idx, X86_EVENT_SHARED_EXTRA);
	x86_extra_release_one(event, X86_EXTRA_BRANCHES, X86_EVENT_SHARED_BRANCHES);
}
