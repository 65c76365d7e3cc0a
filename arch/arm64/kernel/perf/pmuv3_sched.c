// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: putting events on counters and taking them off again, and the overflow interrupt.
 *
 * Everything here runs on the CPU concerned with interrupts off. pmuv3.h says what struct pmuv3_cpu
 * may look like to an NMI.
 *
 * Source for the registers and their synchronisation: DDI 0487, D13 "The Performance Monitors
 * Extension" and D24.5 "Performance Monitors registers".
 */
#include <linux/bitops.h>
#include <linux/kvm_host.h>

#include <asm/irq_regs.h>

#include "pmuv3.h"

DEFINE_PER_CPU(struct pmuv3_cpu, pmuv3_cpu);

/* pmuv3_batch::idx of a chained pair. */
#define BATCH_PAIR	0x80

/**
 * struct pmuv3_batch - events that go on or off counters together
 * @nr: how many
 * @event: the events
 * @idx: their counters, with BATCH_PAIR
 * @now: what the counters hold
 */
struct pmuv3_batch {
	unsigned int		nr;
	struct perf_event	*event[ARMPMU_MAX_HWEVENTS];
	u8			idx[ARMPMU_MAX_HWEVENTS];
	u64			now[ARMPMU_MAX_HWEVENTS];
};

/**
 * struct pmuv3_plan - what has to be written to put a batch on
 * @used: counters concerned
 * @on: those to be enabled
 * @off: those to be stopped, for now: KVM will enable them, or they are throttled
 * @arm: those that sample: to be set
 * @stop: those of events that sample, both of a pair: to be stopped meanwhile
 * @retype: those whose type register has to change
 * @interrupts: those that are to interrupt
 */
struct pmuv3_plan {
	u64	used;
	u64	on;
	u64	off;
	u64	arm;
	u64	stop;
	u64	retype;
	u64	interrupts;
};

static __always_inline void batch_add(struct pmuv3_batch *b, struct perf_event *event,
				      unsigned int idx)
{
	b->event[b->nr] = event;
	b->idx[b->nr] = pmuv3_is_pair(&event->hw, idx) ? idx | BATCH_PAIR : idx;
	b->nr++;
}

/* ------------------------------------------------------------------- registers */

/* The upper half moves when the lower one wraps: read until it stands still. */
static u64 read_pair(unsigned int upper)
{
	u64 high, low;

	do {
		high = read_pmevcntrn(upper);
		low = read_pmevcntrn(upper - 1);
	} while (high != read_pmevcntrn(upper));

	return high << 32 | lower_32_bits(low);
}

static u64 read_counter(const struct hw_perf_event *hw, unsigned int idx)
{
	return pmuv3_is_pair(hw, idx) ? read_pair(idx) : pmuv3_read_one(idx);
}

static void write_counter(const struct hw_perf_event *hw, unsigned int idx, u64 value)
{
	if (!pmuv3_is_pair(hw, idx)) {
		pmuv3_write_one(idx, value);
		return;
	}
	write_pmevcntrn(idx, upper_32_bits(value));
	write_pmevcntrn(idx - 1, lower_32_bits(value));
}

static void write_type(struct pmuv3_cpu *c, unsigned int idx, u64 type)
{
	c->type[idx] = type;
	if (idx < ARMV8_PMU_CYCLE_IDX)
		write_pmevtypern(idx, type & PMUV3_TYPE);
	else if (idx == ARMV8_PMU_CYCLE_IDX)
		write_pmccfiltr(type & PMUV3_FILTERS);
	else
		write_pmicfiltr(type & PMUV3_FILTERS);
}

static void enable_counters(struct pmuv3_cpu *c, u64 mask)
{
	mask &= ~c->enabled;
	if (!mask)
		return;

	c->enabled |= mask;
	write_pmcntenset(mask);
}

/* On return they stand still. */
static void stop_counters(struct pmuv3_cpu *c, u64 mask)
{
	mask &= c->enabled;
	if (!mask)
		return;

	c->enabled &= ~mask;
	write_pmcntenclr(mask);
	isb();
}

static void set_interrupts(struct pmuv3_cpu *c, u64 which, u64 want)
{
	u64 change = (c->interrupts ^ want) & which;

	if (change & want)
		write_pmintenset(change & want);
	if (change & ~want)
		write_pmintenclr(change & ~want);
	c->interrupts ^= change;
}

/* From the first pair on. */
static noinline void snapshot_rest(struct pmuv3_batch *b, unsigned int i)
{
	for (; i < b->nr; i++) {
		unsigned int idx = b->idx[i];

		b->now[i] = idx & BATCH_PAIR ? read_pair(idx & ~BATCH_PAIR) : pmuv3_read_one(idx);
	}
}

/*
 * All the counters of a batch, one after the other. Going on and going off both use this function
 * and list the members of a group in the same order, so that each member is read equally long after
 * the one before it both times: they see the same instructions although nothing is stopped.
 */
static noinline void snapshot(struct pmuv3_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		unsigned int idx = b->idx[i];

		if (unlikely(idx & BATCH_PAIR))
			return snapshot_rest(b, i);
		b->now[i] = pmuv3_read_one(idx);
	}
}

/* ----------------------------------------------------------------------- counts */

/* Adds what the counter has seen; without atomics since nobody else can come in between. */
static __always_inline void count_up(struct perf_event *event, unsigned int idx, u64 now)
{
	struct hw_perf_event *hw = &event->hw;
	u64 delta = now - local64_read(&hw->prev_count);

	if (hw->flags & PMUV3_EVT_SPECIAL) {
		if (pmuv3_is_short(hw, idx)) {
			delta = lower_32_bits(delta);
			now = (s64)(s32)now;
		}
		if (hw->flags & PMUV3_EVT_SAMPLES)
			local64_set(&hw->period_left, local64_read(&hw->period_left) - delta);
	}
	local64_set(&hw->prev_count, now);
	local64_set(&event->count, local64_read(&event->count) + delta);
}

/* Where counting starts. */
static __always_inline void count_from(struct perf_event *event, unsigned int idx, u64 now)
{
	struct hw_perf_event *hw = &event->hw;

	if (hw->flags & PMUV3_EVT_SPECIAL && pmuv3_needs_window(hw, idx)) {
		u64 value = pmuv3_is_short(hw, idx) ? (s64)(s32)now : now;

		now = value | PMUV3_WINDOW;
		if (now != value)
			pmuv3_write_one(idx, now);
	}
	local64_set(&hw->prev_count, now);
}

/* Sets the counter so that it overflows after @left events. */
static void arm_counter(struct perf_event *event, unsigned int idx, s64 left)
{
	struct hw_perf_event *hw = &event->hw;

	if (pmuv3_needs_window(hw, idx))
		left = min_t(s64, left, S32_MAX);
	local64_set(&hw->prev_count, -left);
	write_counter(hw, idx, -left);
}

/* --------------------------------------------------------------------------- KVM */

/*
 * KVM switches the EL0 filter (VHE) or the enable bit (otherwise) of such counters when it enters
 * and leaves a guest. A counter that runs on for nobody stays in its care: the registers come back
 * to what is remembered here only if KVM undoes what it did.
 */
static void give_to_kvm(struct pmuv3_cpu *c, u64 counters, struct perf_event *event)
{
	if (c->kvm & counters)
		kvm_clr_pmu_events(counters);
	c->kvm &= ~counters;
	if (!(event->hw.config_base & PMUV3_KVM))
		return;

	c->kvm |= counters;
	kvm_set_pmu_events(counters, &event->attr);
	kvm_vcpu_pmu_resync_el0();
}

/* A stopped counter must not be started by KVM; its type is to be written again. */
void pmuv3_take_from_kvm(struct pmuv3_cpu *c, u64 counters)
{
	unsigned long mine = c->kvm & counters;
	unsigned int idx;

	if (likely(!mine))
		return;

	kvm_clr_pmu_events(mine);
	c->kvm &= ~mine;
	for_each_set_bit(idx, &mine, ARMPMU_MAX_HWEVENTS)
		c->type[idx] = PMUV3_UNKNOWN;
}

/* ------------------------------------------------------------------- putting on */

/* Does it stay stopped although it goes on? Throttled: until the core starts it again. */
static bool is_throttled(const struct hw_perf_event *hw)
{
	return hw->state & PERF_HES_STOPPED && hw->interrupts == PERF_THROTTLED;
}

static bool has_right_type(const struct pmuv3_cpu *c, const struct hw_perf_event *hw,
			   unsigned int idx)
{
	if (!pmuv3_is_pair(hw, idx))
		return c->type[idx] == hw->config_base;

	return c->type[idx] == (PMUV3_CHAIN | (hw->config_base & PMUV3_KVM)) &&
	       c->type[idx - 1] == hw->config_base;
}

static void plan_special(struct pmuv3_plan *p, struct perf_event *event, unsigned int idx)
{
	struct hw_perf_event *hw = &event->hw;
	u64 counters = pmuv3_counters(hw, idx);

	p->used |= counters;
	if (!is_throttled(hw))
		hw->state = 0;
	if (hw->state || hw->flags & PMUV3_EVT_DEFERRED)
		p->off |= counters;
	else
		p->on |= counters;
	if (hw->flags & PMUV3_EVT_SAMPLES) {
		p->arm |= BIT_ULL(idx);
		p->stop |= counters;
		p->interrupts |= BIT_ULL(idx);
	} else if (pmuv3_needs_window(hw, idx)) {
		p->interrupts |= BIT_ULL(idx);
	}
}

static void plan(struct pmuv3_cpu *c, struct pmuv3_plan *p, struct perf_event *event,
		 unsigned int idx)
{
	struct hw_perf_event *hw = &event->hw;

	hw->idx = idx;
	if (hw->flags & PMUV3_EVT_SPECIAL || hw->state) {
		plan_special(p, event, idx);
		if (!has_right_type(c, hw, idx))
			p->retype |= BIT_ULL(idx);
		return;
	}

	p->used |= BIT_ULL(idx);
	p->on |= BIT_ULL(idx);
	if (c->type[idx] != hw->config_base)
		p->retype |= BIT_ULL(idx);
}

static void retype(struct pmuv3_cpu *c, struct perf_event *event, unsigned int idx)
{
	struct hw_perf_event *hw = &event->hw;

	if (pmuv3_is_pair(hw, idx)) {
		write_type(c, idx - 1, hw->config_base);
		write_type(c, idx, PMUV3_CHAIN | (hw->config_base & PMUV3_KVM));
	} else {
		write_type(c, idx, hw->config_base);
	}
	give_to_kvm(c, pmuv3_counters(hw, idx), event);
}

static bool plan_is_fulfilled(const struct pmuv3_cpu *c, const struct pmuv3_plan *p)
{
	return !(p->retype | p->arm | (p->on & ~c->enabled) | (p->off & c->enabled) |
		 (p->used & (p->interrupts ^ c->interrupts)));
}

/*
 * A counter that has to be set is stopped first, of a pair also the lower one, which may be running
 * for nobody: it could wrap before the upper one counts. An overflow flag that it still has, from
 * whoever had the counter before, would be taken for the new event's; it goes before the interrupt
 * is enabled.
 */
static noinline void carry_out(struct pmuv3_cpu *c, const struct pmuv3_plan *p,
			       const struct pmuv3_batch *b)
{
	unsigned int i;

	stop_counters(c, p->off | p->stop);
	c->zero &= ~p->used;
	for (i = 0; i < b->nr; i++) {
		struct perf_event *event = b->event[i];
		unsigned int idx = event->hw.idx;

		if (p->retype & BIT_ULL(idx))
			retype(c, event, idx);
		if (p->arm & BIT_ULL(idx))
			arm_counter(event, idx, armpmu_period_resume(event));
	}
	isb();
	if (p->arm)
		write_pmovsclr(p->arm);
	set_interrupts(c, p->used, p->interrupts);
	enable_counters(c, p->on);
	isb();
}

/* PMCR_EL0.E stays on for as long as counters are in use. */
static void let_run(struct pmuv3_cpu *c)
{
	if (c->on || c->halted)
		return;

	c->on = true;
	isb();
	write_pmcr(c->pmcr | ARMV8_PMU_PMCR_E);
}

/* Events of all kinds. */
static noinline void set_up_any(struct pmuv3_cpu *c, const struct pmuv3_batch *b)
{
	struct pmuv3_plan p = {};
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		plan(c, &p, b->event[i], b->idx[i] & ~BATCH_PAIR);
	if (!plan_is_fulfilled(c, &p))
		carry_out(c, &p, b);
}

/*
 * What mostly is found: events that just count, on counters that were left running, mostly with
 * the right type.
 */
static void set_up(struct pmuv3_cpu *c, const struct pmuv3_batch *b)
{
	struct pmuv3_plan p = {};
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		struct hw_perf_event *hw = &b->event[i]->hw;
		unsigned int idx = b->idx[i];

		if (hw->flags & PMUV3_EVT_SPECIAL || hw->state)
			return set_up_any(c, b);
		hw->idx = idx;
		p.used |= BIT_ULL(idx);
		if (c->type[idx] != hw->config_base)
			p.retype |= BIT_ULL(idx);
	}
	p.on = p.used;
	if (p.retype || p.used & ~(c->enabled & ~c->interrupts))
		carry_out(c, &p, b);
}

static void put_on(struct pmuv3_cpu *c, struct pmuv3_batch *b)
{
	unsigned int i;

	set_up(c, b);
	snapshot(b);
	for (i = 0; i < b->nr; i++) {
		struct perf_event *event = b->event[i];
		unsigned int idx = event->hw.idx;

		if (!(event->hw.flags & PMUV3_EVT_SAMPLES))
			count_from(event, idx, b->now[i]);
		c->event[idx] = event;
		c->running |= BIT_ULL(idx);
	}
	let_run(c);
}

/* ------------------------------------------------------------------- taking off */

/* Those that sample, or all of them. */
static noinline void stop_batch(struct pmuv3_cpu *c, const struct pmuv3_batch *b, bool all)
{
	u64 mask = 0;
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		struct hw_perf_event *hw = &b->event[i]->hw;

		if (all || hw->flags & PMUV3_EVT_SAMPLES)
			mask |= pmuv3_counters(hw, hw->idx);
	}
	pmuv3_take_from_kvm(c, mask);
	stop_counters(c, mask);
}

/*
 * Brings the events of @b up to date. Those that sample are stopped, all of them at the same time;
 * with @stop all are.
 */
static __always_inline void settle(struct pmuv3_cpu *c, struct pmuv3_batch *b, bool stop)
{
	unsigned int i;

	if (stop || c->interrupts)
		stop_batch(c, b, stop);
	snapshot(b);
	for (i = 0; i < b->nr; i++) {
		struct perf_event *event = b->event[i];

		count_up(event, event->hw.idx, b->now[i]);
		if (event->hw.flags & PMUV3_EVT_SAMPLES)
			armpmu_mark_overdue(&event->hw);
	}
}

static __always_inline void forget(struct pmuv3_cpu *c, const struct pmuv3_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		unsigned int idx = b->event[i]->hw.idx;

		c->event[idx] = NULL;
		c->running &= ~BIT_ULL(idx);
		if (unlikely(b->event[i]->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT))
			perf_event_update_userpage(b->event[i]);
	}
}

static __always_inline void batch_add_running(struct pmuv3_batch *b, struct pmuv3_cpu *c, u64 mask)
{
	for (mask &= c->running; mask; mask &= mask - 1) {
		unsigned int idx = __ffs(mask);

		batch_add(b, c->event[idx], idx);
	}
}

static noinline void drop(struct pmuv3_cpu *c, u64 mask)
{
	struct pmuv3_batch b __uninitialized;

	b.nr = 0;
	batch_add_running(&b, c, mask);
	settle(c, &b, false);
	forget(c, &b);
}

/* No event is on a counter, and none is to be: no counter runs on, either. */
static noinline void all_off(struct pmuv3_cpu *c)
{
	pmuv3_take_from_kvm(c, c->kvm);
	stop_counters(c, c->enabled);
	set_interrupts(c, c->there, 0);
	if (c->on) {
		c->on = false;
		write_pmcr(c->pmcr);
	}
}

/* -------------------------------------------------------------------- schedules */

/**
 * pmuv3_sched_load - pmu::sched_load
 * @pmu: the PMU
 * @s: what is to run
 */
void pmuv3_sched_load(struct pmu *pmu, const struct perf_schedule *s)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif;
	u64 stay = 0;
	unsigned int i;

	if (c->pmu != to_arm_pmu(pmu))
		return;

	daif = pmuv3_mask_nmi();
	b.nr = 0;
	for (i = 0; i < s->nr; i++) {
		struct perf_event *event = s->slot[i].event;
		unsigned int idx = s->slot[i].idx;

		if (c->event[idx] == event)
			stay |= BIT_ULL(idx);
		else
			batch_add(&b, event, idx);
	}

	if (unlikely(c->running & ~stay))
		drop(c, c->running & ~stay);
	if (b.nr)
		put_on(c, &b);
	else if (!s->nr)
		all_off(c);
	if (unlikely(c->reader || s->user))
		pmuv3_user_access(c, s->user);
	pmuv3_unmask_nmi(daif);

	if (unlikely(s->user))
		pmuv3_user_pages(c);
}

/**
 * pmuv3_sched_save - pmu::sched_save
 * @pmu: the PMU
 * @s: what runs
 * @mask: slots whose events go
 *
 * User space's access goes with the task: what is loaded next, if anything is, may belong to
 * another one.
 */
void pmuv3_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif;
	unsigned int i;

	if (c->pmu != to_arm_pmu(pmu))
		return;

	daif = pmuv3_mask_nmi();
	b.nr = 0;
	for (i = 0; i < s->nr; i++) {
		struct perf_event *event = s->slot[i].event;
		unsigned int idx = s->slot[i].idx;

		if (!(mask & BIT_ULL(i)) || c->event[idx] != event)
			continue;
		batch_add(&b, event, idx);
	}

	settle(c, &b, false);
	forget(c, &b);
	if (unlikely(c->reader))
		pmuv3_user_access(c, false);
	pmuv3_unmask_nmi(daif);
}

/* ------------------------------------------------------------------ single events */

static bool is_here(struct pmuv3_cpu *c, struct perf_event *event)
{
	return event->hw.idx >= 0 && c->event[event->hw.idx] == event;
}

/**
 * pmuv3_read - pmu::read
 * @event: the event
 */
void pmuv3_read(struct perf_event *event)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned int idx = event->hw.idx;
	unsigned long daif;

	if (!is_here(c, event))
		return;

	daif = pmuv3_mask_nmi();
	count_up(event, idx, read_counter(&event->hw, idx));
	pmuv3_unmask_nmi(daif);
}

/**
 * pmuv3_stop - pmu::stop
 * @event: the event
 * @flags: PERF_EF_UPDATE; it is brought up to date in any case
 *
 * Context: the overflow handler, too.
 */
void pmuv3_stop(struct perf_event *event, int flags)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif;

	if (!is_here(c, event) || event->hw.state & PERF_HES_STOPPED)
		return;

	daif = pmuv3_mask_nmi();
	b.nr = 0;
	batch_add(&b, event, event->hw.idx);
	settle(c, &b, true);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	pmuv3_unmask_nmi(daif);
}

/**
 * pmuv3_start - pmu::start
 * @event: the event
 * @flags: PERF_EF_RELOAD; a counter that samples is set in any case
 *
 * Context: the overflow handler, too.
 */
void pmuv3_start(struct perf_event *event, int flags)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif;

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	event->hw.state = 0;
	if (!is_here(c, event))
		return;

	daif = pmuv3_mask_nmi();
	b.nr = 0;
	batch_add(&b, event, event->hw.idx);
	put_on(c, &b);
	pmuv3_unmask_nmi(daif);
}

/* ------------------------------------------------------------------ the whole PMU */

/**
 * pmuv3_disable - pmu::pmu_disable
 * @pmu: the PMU
 */
void pmuv3_disable(struct pmu *pmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);

	if (c->pmu != to_arm_pmu(pmu))
		return;

	c->halted = true;
	if (!c->on)
		return;

	c->on = false;
	write_pmcr(c->pmcr);
	isb();
}

/**
 * pmuv3_enable - pmu::pmu_enable
 * @pmu: the PMU
 */
void pmuv3_enable(struct pmu *pmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);

	if (c->pmu != to_arm_pmu(pmu))
		return;

	c->halted = false;
	if (c->running)
		let_run(c);
}

/**
 * pmuv3_power_down - arm_pmu::power_down
 * @armpmu: the PMU
 *
 * The events keep their counters; throttled ones are not woken by power_up.
 */
void pmuv3_power_down(struct arm_pmu *armpmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif = pmuv3_mask_nmi();
	unsigned long running = c->running;
	unsigned int idx;

	b.nr = 0;
	c->asleep = 0;
	for_each_set_bit(idx, &running, ARMPMU_MAX_HWEVENTS) {
		if (!(c->event[idx]->hw.state & PERF_HES_STOPPED))
			c->asleep |= BIT_ULL(idx);
	}
	batch_add_running(&b, c, c->asleep);
	settle(c, &b, true);
	pmuv3_unmask_nmi(daif);
}

/* Counters whose events stand still, and are up to date, have lost their values. */
static void forget_values(struct pmuv3_cpu *c, unsigned long counters)
{
	unsigned int idx;

	for_each_set_bit(idx, &counters, ARMPMU_MAX_HWEVENTS) {
		struct hw_perf_event *hw = &c->event[idx]->hw;

		local64_set(&hw->prev_count, read_counter(hw, idx));
	}
}

/**
 * pmuv3_power_up - arm_pmu::power_up
 * @armpmu: the PMU
 */
void pmuv3_power_up(struct arm_pmu *armpmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif = pmuv3_mask_nmi();

	forget_values(c, c->running & ~c->asleep);
	b.nr = 0;
	batch_add_running(&b, c, c->asleep);
	if (b.nr)
		put_on(c, &b);
	c->asleep = 0;
	if (c->reader)
		pmuv3_user_access(c, true);
	pmuv3_unmask_nmi(daif);

	if (c->reader)
		pmuv3_user_pages(c);
}

/* ----------------------------------------------------------------------- overflow */

/* A program that reads the counter by itself adds to it what the page says. */
static void user_base_moved(struct perf_event *event)
{
	if (unlikely(event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT))
		perf_event_update_userpage(event);
}

static void overflow(struct perf_event *event, unsigned int idx, struct pt_regs *regs)
{
	struct hw_perf_event *hw = &event->hw;
	struct perf_sample_data data;
	u64 period = hw->last_period;
	u64 now = read_counter(hw, idx);
	bool began;

	count_up(event, idx, now);
	if (!(hw->flags & PMUV3_EVT_SAMPLES)) {
		count_from(event, idx, now);
		user_base_moved(event);
		return;
	}

	arm_counter(event, idx, armpmu_period_left(event, &began));
	user_base_moved(event);
	if (!began)
		return;

	perf_sample_data_init(&data, 0, period);
	if (perf_event_overflow(event, &data, regs))
		pmuv3_stop(event, 0);
}

/**
 * pmuv3_handle_irq - arm_pmu::handle_irq
 * @armpmu: the PMU
 *
 * The counters stand still meanwhile: the handler is not what is to be measured. Flags of counters
 * that nobody has any more are from before they were taken off; they are dropped.
 *
 * Context: interrupt or NMI.
 */
irqreturn_t pmuv3_handle_irq(struct arm_pmu *armpmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long flags = read_pmovsclr() & c->there;
	struct pt_regs *regs = get_irq_regs();
	unsigned int idx;

	if (!flags)
		return IRQ_NONE;

	if (c->on)
		write_pmcr(c->pmcr);
	write_pmovsclr(flags);
	isb();

	flags &= c->running & c->interrupts;
	for_each_set_bit(idx, &flags, ARMPMU_MAX_HWEVENTS) {
		if (!(c->event[idx]->hw.state & PERF_HES_STOPPED))
			overflow(c->event[idx], idx, regs);
	}

	if (c->on) {
		isb();
		write_pmcr(c->pmcr | ARMV8_PMU_PMCR_E);
	}
	return IRQ_HANDLED;
}
