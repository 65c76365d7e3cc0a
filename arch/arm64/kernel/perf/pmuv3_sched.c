// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: loading and unloading events: schedules, single events, power-down.
 *
 * Everything here runs on the CPU concerned with interrupts off; pmuv3_start() and pmuv3_stop()
 * also in the overflow handler. A change that must be atomic for the handler stands between
 * pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 *
 * Source for the synchronization of registers: DDI 0487, D13 "The Performance Monitors Extension".
 */
#include <linux/bitops.h>
#include <linux/lockdep.h>

#include "pmuv3_regs.h"

/**
 * struct pmuv3_writes - register writes that loading a batch needs, as masks of counters
 * @used: counters of the batch
 * @enable: counters to enable
 * @disable: counters to leave disabled: KVM enables these at guest entry, or the event is throttled
 * @reload: counters of sampling events, to be set for the period; the upper one of a pair
 * @stop: counters of sampling events, both of a pair, to be stopped before they are set
 * @type: counters with another type in their register than the event's; the upper one of a pair
 * @interrupts: counters that interrupt at overflow
 */
struct pmuv3_writes {
	u64	used;
	u64	enable;
	u64	disable;
	u64	reload;
	u64	stop;
	u64	type;
	u64	interrupts;
};

/* ----------------------------------------------------------------------- loading */

/* A throttled event is loaded but stays stopped until the core starts it. */
static bool pmuv3_is_throttled(const struct hw_perf_event *hw)
{
	return hw->state & PERF_HES_STOPPED && hw->interrupts == PERF_THROTTLED;
}

static bool pmuv3_has_type(const struct pmuv3_cpu *c, const struct hw_perf_event *hw,
			   unsigned int idx)
{
	if (!pmuv3_is_pair(hw, idx))
		return c->type[idx] == hw->config_base;

	return c->type[idx] == (PMUV3_CHAIN | (hw->config_base & PMUV3_KVM)) &&
	       c->type[idx - 1] == hw->config_base;
}

/* Not to be switched by KVM, because the event is stopped. */
static bool pmuv3_is_withheld(const struct hw_perf_event *hw)
{
	return hw->state && hw->config_base & PMUV3_KVM;
}

static void pmuv3_compute_special(struct pmuv3_cpu *c, struct pmuv3_writes *w,
				  struct perf_event *event, unsigned int idx)
{
	struct hw_perf_event *hw = &event->hw;
	u64 counters = pmuv3_counters(hw, idx);

	w->used |= counters;
	if (!pmuv3_is_throttled(hw))
		hw->state = 0;
	if (hw->state || hw->flags & PMUV3_EVT_DEFERRED)
		w->disable |= counters;
	else
		w->enable |= counters;
	if (hw->flags & PMUV3_EVT_SAMPLES) {
		w->reload |= BIT_ULL(idx);
		w->stop |= counters;
		w->interrupts |= BIT_ULL(idx);
	} else if (pmuv3_needs_upper_half(hw, idx)) {
		w->interrupts |= BIT_ULL(idx);
	}
	if (!pmuv3_has_type(c, hw, idx) || pmuv3_is_withheld(hw))
		w->type |= BIT_ULL(idx);
}

static __always_inline void pmuv3_compute_writes(struct pmuv3_cpu *c, struct pmuv3_writes *w,
						 const struct pmuv3_batch *b)
{
	u64 used = 0, type = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		unsigned int idx = b->entry[i].idx & ~PMUV3_ENTRY_PAIR;
		struct perf_event *event = b->entry[i].event;
		struct hw_perf_event *hw = &event->hw;

		hw->idx = idx;
		if (unlikely(hw->flags & PMUV3_EVT_SPECIAL || hw->state)) {
			pmuv3_compute_special(c, w, event, idx);
			continue;
		}
		used |= BIT_ULL(idx);
		if (c->type[idx] != hw->config_base)
			type |= BIT_ULL(idx);
	}
	w->used |= used;
	w->enable |= used;
	w->type |= type;
}

static void pmuv3_apply_type(struct pmuv3_cpu *c, struct perf_event *event, unsigned int idx)
{
	struct hw_perf_event *hw = &event->hw;

	/*
	 * KVM without VHE enables the counters that it switches at guest exit. That of a stopped
	 * event is not one of them; the type is written when the event is started.
	 */
	if (pmuv3_is_withheld(hw)) {
		pmuv3_kvm_release(c, pmuv3_counters(hw, idx));
		pmuv3_registers_change(c);
		c->type[idx] = PMUV3_TYPE_UNKNOWN;
		return;
	}
	if (pmuv3_is_pair(hw, idx)) {
		pmuv3_write_type(c, idx - 1, hw->config_base);
		pmuv3_write_type(c, idx, PMUV3_CHAIN | (hw->config_base & PMUV3_KVM));
	} else {
		pmuv3_write_type(c, idx, hw->config_base);
	}
	pmuv3_kvm_update(c, pmuv3_counters(hw, idx), event);
}

static bool pmuv3_no_writes(const struct pmuv3_cpu *c, const struct pmuv3_writes *w)
{
	return !(w->type | w->reload | (w->enable & ~c->enabled) | (w->disable & c->enabled) |
		 (w->used & (w->interrupts ^ c->interrupts)));
}

/*
 * A counter is stopped before it is set; of a pair also the lower counter, which may run without an
 * event and could wrap before the upper one is enabled. An overflow flag that is left from an
 * earlier event is cleared before the interrupt is enabled, since it would be taken for this
 * event's.
 */
static noinline void pmuv3_apply_writes(struct pmuv3_cpu *c, const struct pmuv3_writes *w,
					const struct pmuv3_batch *b)
{
	pmuv3_disable_counters(c, w->disable | w->stop);
	c->zero &= ~w->used;
	for (unsigned int i = 0; i < b->nr; i++) {
		struct perf_event *event = b->entry[i].event;
		unsigned int idx = event->hw.idx;

		if (w->type & BIT_ULL(idx))
			pmuv3_apply_type(c, event, idx);
		if (w->reload & BIT_ULL(idx))
			pmuv3_reload_counter(event, idx, armpmu_period_resume(event));
	}
	isb();
	if (w->reload)
		write_pmovsclr(w->reload);
	pmuv3_set_interrupts(c, w->used, w->interrupts);
	pmuv3_enable_counters(c, w->enable);
	isb();
}

/* PMCR_EL0.E stays set until no counter is used, not only while events are loaded. */
static void pmuv3_set_pmcr_e(struct pmuv3_cpu *c)
{
	if (c->pmcr_e || c->disabled)
		return;

	c->pmcr_e = true;
	isb();
	write_pmcr(c->pmcr | ARMV8_PMU_PMCR_E);
}

/* Programs the counters of a batch. Nothing is written that has its value already. */
static __always_inline void pmuv3_program_batch(struct pmuv3_cpu *c,
						const struct pmuv3_batch *b)
{
	struct pmuv3_writes w = {};

	pmuv3_compute_writes(c, &w, b);
	if (!pmuv3_no_writes(c, &w))
		pmuv3_apply_writes(c, &w, b);
}

/*
 * Sets the counters of a task that reads counters to values of its events, since they have run on
 * without an event. An event with the rdpmc bit continues at the value that its counter had when it
 * was last read: user space may compare such values without the offset in the user page. The
 * counters of other events show their count.
 */
static noinline void pmuv3_write_own_values(const struct pmuv3_batch *b)
{
	bool all = pmuv3_user_access_is_on();

	for (unsigned int i = 0; i < b->nr; i++) {
		struct perf_event *event = b->entry[i].event;
		struct hw_perf_event *hw = &event->hw;
		unsigned int idx = hw->idx;
		u64 value;

		if (hw->flags & PMUV3_EVT_SAMPLES)
			continue;
		if (pmuv3_is_user_readable(event))
			value = local64_read(&hw->prev_count);
		else if (all)
			value = local64_read(&event->count);
		else
			continue;
		if (pmuv3_needs_upper_half(hw, idx))
			value |= PMUV3_UPPER_HALF;
		pmuv3_write_running(hw, idx, value);
	}
}

/* The events of a batch, which has been read, are on their counters. */
static __always_inline void pmuv3_begin_entries(struct pmuv3_cpu *c, const struct pmuv3_batch *b)
{
	c->used |= b->counters;
	for (unsigned int i = 0; i < b->nr; i++) {
		struct perf_event *event = b->entry[i].event;
		struct hw_perf_event *hw = &event->hw;
		unsigned int idx = b->entry[i].idx & ~PMUV3_ENTRY_PAIR;

		hw->idx = idx;
		c->event[idx] = event;
		if (likely(!(hw->flags & PMUV3_EVT_SPECIAL)))
			local64_set(&hw->prev_count, b->now[i]);
		else if (!(hw->flags & PMUV3_EVT_SAMPLES))
			pmuv3_count_start(event, idx, b->now[i]);
	}
	pmuv3_set_pmcr_e(c);
}

static __always_inline void pmuv3_begin_batch(struct pmuv3_cpu *c, struct pmuv3_batch *b)
{
	pmuv3_read_batch(b);
	pmuv3_begin_entries(c, b);
}

/* @user: the task has events with the rdpmc bit. */
static noinline void pmuv3_load_batch(struct pmuv3_cpu *c, struct pmuv3_batch *b, bool user)
{
	pmuv3_program_batch(c, b);
	if (unlikely(user))
		pmuv3_write_own_values(b);
	pmuv3_begin_batch(c, b);
}

/* --------------------------------------------------------------------- unloading */

/* Stops the counters of the sampling events, or with @all of all events of the batch. */
static noinline void pmuv3_stop_batch(struct pmuv3_cpu *c, const struct pmuv3_batch *b, bool all)
{
	u64 mask = 0;

	for (unsigned int i = 0; i < b->nr; i++) {
		const struct hw_perf_event *hw = &b->entry[i].event->hw;

		if (all || hw->flags & PMUV3_EVT_SAMPLES)
			mask |= pmuv3_counters(hw, hw->idx);
	}
	pmuv3_kvm_release(c, mask);
	pmuv3_disable_counters(c, mask);
}

/* Updates the count of any event, and marks a sampling event at the end of its period. */
static noinline void pmuv3_update_any(struct perf_event *event, u64 now)
{
	pmuv3_count_update(event, event->hw.idx, now);
	if (event->hw.flags & PMUV3_EVT_SAMPLES)
		armpmu_mark_overdue(&event->hw);
}

/*
 * Updates the counts of a batch. The counters of sampling events, with @stop those of all events,
 * are stopped first, all by one write.
 */
static noinline void pmuv3_update_batch(struct pmuv3_cpu *c, struct pmuv3_batch *b, bool stop)
{
	if (stop || b->special)
		pmuv3_stop_batch(c, b, stop);
	pmuv3_read_batch(b);
	for (unsigned int i = 0; i < b->nr; i++)
		pmuv3_update_any(b->entry[i].event, b->now[i]);
}

static void pmuv3_batch_add_used(struct pmuv3_batch *b, struct pmuv3_cpu *c, u64 mask)
{
	for (mask &= c->used; mask; mask &= mask - 1) {
		unsigned int idx = __ffs(mask);

		pmuv3_batch_add(b, c->event[idx], idx);
	}
}

/* A switch leaves the page of an event that user space may not read as it is. */
static noinline void pmuv3_unloaded_mapped(struct perf_event *event)
{
	if (pmuv3_is_user_readable(event) || event->state != PERF_EVENT_STATE_ACTIVE)
		perf_event_update_userpage(event);
}

/* Updates the counts of a batch; pmuv3_batch_take() has removed the events from the counters. */
static __always_inline void pmuv3_unload_batch(struct pmuv3_cpu *c, struct pmuv3_batch *b)
{
	c->used &= ~b->counters;
	if (unlikely(b->special))
		pmuv3_stop_batch(c, b, false);
	pmuv3_read_batch(b);
	for (unsigned int i = 0; i < b->nr; i++) {
		struct perf_event *event = b->entry[i].event;

		if (likely(!(event->hw.flags & PMUV3_EVT_SPECIAL)))
			pmuv3_count_add(event, b->now[i]);
		else
			pmuv3_update_any(event, b->now[i]);
		if (unlikely(rcu_access_pointer(event->rb)))
			pmuv3_unloaded_mapped(event);
	}
}

/* Removes an event from its counter and adds the event to a batch. */
static __always_inline void pmuv3_batch_take(struct pmuv3_batch *b, struct pmuv3_cpu *c,
					     struct perf_event *event, unsigned int idx)
{
	c->event[idx] = NULL;
	pmuv3_batch_add(b, event, idx);
}

static noinline void pmuv3_unload_counters(struct pmuv3_cpu *c, u64 mask)
{
	struct pmuv3_batch b __uninitialized;

	pmuv3_batch_init(&b);
	for (; mask; mask &= mask - 1) {
		unsigned int idx = __ffs(mask);

		pmuv3_batch_take(&b, c, c->event[idx], idx);
	}
	pmuv3_unload_batch(c, &b);
}

/**
 * pmuv3_disclose_loaded - set counters of loaded events to values that EL0 may read
 * @c: state of this CPU
 * @counters: mask of counters; sampling events among them are ignored
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 */
void pmuv3_disclose_loaded(struct pmuv3_cpu *c, u64 counters)
{
	struct pmuv3_batch b __uninitialized;

	pmuv3_batch_init(&b);
	for (counters &= c->used; counters; counters &= counters - 1) {
		unsigned int idx = __ffs(counters);

		if (!(c->event[idx]->hw.flags & PMUV3_EVT_SAMPLES))
			pmuv3_batch_add(&b, c->event[idx], idx);
	}
	pmuv3_update_batch(c, &b, false);
	pmuv3_write_own_values(&b);
	pmuv3_read_batch(&b);
	for (unsigned int i = 0; i < b.nr; i++)
		pmuv3_count_start(b.entry[i].event, b.entry[i].event->hw.idx, b.now[i]);
}

/* The task's first event with the rdpmc bit is loaded: its other events stay on their counters. */
static void pmuv3_disclose_staying(struct pmuv3_cpu *c, const struct perf_schedule *s,
				   u64 stay)
{
	u64 counters = 0;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		if (s->task_mask & BIT_ULL(i))
			counters |= BIT_ULL(s->slot[i].idx);
	}
	if (counters & stay)
		pmuv3_disclose_loaded(c, counters & stay);
}

/* No event is loaded and none is to be: counters that run on without an event are stopped, too. */
static noinline void pmuv3_disable_all(struct pmuv3_cpu *c)
{
	pmuv3_kvm_release(c, c->kvm);
	pmuv3_disable_counters(c, c->enabled);
	pmuv3_set_interrupts(c, c->present, 0);
	if (c->pmcr_e) {
		c->pmcr_e = false;
		write_pmcr(c->pmcr);
	}
}

/**
 * pmuv3_disable_unused - stop the counters of this CPU if no event is loaded
 * @c: state of this CPU
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi(), or the overflow
 * handler.
 */
void pmuv3_disable_unused(struct pmuv3_cpu *c)
{
	if (!c->used)
		pmuv3_disable_all(c);
}

/* -------------------------------------------------------------------- schedules */

/* The task has events with the rdpmc bit, or has lost the last one. */
static noinline void pmuv3_load_user(struct pmuv3_cpu *c, const struct perf_schedule *s,
				     struct pmuv3_batch *b, u64 stay)
{
	if (s->user && !c->reader)
		pmuv3_disclose_staying(c, s, stay);
	if (!pmuv3_batch_is_empty(b))
		pmuv3_load_batch(c, b, s->user);
	else if (!s->nr)
		pmuv3_disable_all(c);
	pmuv3_user_set_access(c, s->user);
}

/* Registers that differ, as bits, if counter @idx runs and @event only counts; 0: none. */
static __always_inline u64 pmuv3_changes(const struct pmuv3_cpu *c, const struct perf_event *event,
					 unsigned int idx)
{
	return event->hw.state | (c->type[idx] ^ event->hw.config_base);
}

/* Is nothing to be written to load the batch? */
static __always_inline bool pmuv3_runs_on(const struct pmuv3_cpu *c, const struct pmuv3_batch *b,
					  u64 changes)
{
	return !b->special && !changes && !(b->counters & ~(c->enabled & ~c->interrupts));
}

/* Loads a batch beside the events of the counters in @stay; no others are loaded. */
static __always_inline void pmuv3_load_beside(struct pmuv3_cpu *c, const struct perf_schedule *s,
					      struct pmuv3_batch *b, u64 stay, u64 changes)
{
	if (unlikely(c->reader || s->user))
		pmuv3_load_user(c, s, b, stay);
	else if (pmuv3_batch_is_empty(b))
		pmuv3_disable_unused(c);
	else if (likely(pmuv3_runs_on(c, b, changes)))
		pmuv3_begin_batch(c, b);
	else
		pmuv3_load_batch(c, b, false);
}

/*
 * Can events of a batch take over the counters in @leave from the events that are loaded there,
 * while the counters run? The batch, for which nothing is to be written, has all of these counters.
 */
static bool pmuv3_can_take_over(const struct pmuv3_cpu *c, u64 leave)
{
	for (; leave; leave &= leave - 1) {
		const struct perf_event *event = c->event[__ffs(leave)];

		if (event->hw.flags & PMUV3_EVT_SPECIAL || rcu_access_pointer(event->rb))
			return false;
	}
	return true;
}

/* Each counter in @leave is read once for the event that leaves and the one that is loaded. */
static void pmuv3_take_over(struct pmuv3_cpu *c, struct pmuv3_batch *b, u64 leave)
{
	pmuv3_read_batch(b);
	for (unsigned int i = 0; i < b->nr; i++) {
		unsigned int idx = b->entry[i].idx;

		if (leave & BIT_ULL(idx))
			pmuv3_count_add(c->event[idx], b->now[i]);
	}
	/* After all counts: an event may leave one counter for another. */
	pmuv3_begin_entries(c, b);
}

/* Loads a schedule while other events, or some of its own, are loaded. */
static noinline void pmuv3_exchange(struct pmuv3_cpu *c, const struct perf_schedule *s)
{
	const struct perf_sched_slot *slot, *end = &s->slot[s->nr];
	struct pmuv3_batch b __uninitialized;
	u64 stay = 0, changes = 0, leave;

	/* The events of a schedule with a stamp are not all that are loaded from here on. */
	pmuv3_registers_change(c);
	pmuv3_batch_init(&b);
	for (slot = s->slot; slot < end; slot++) {
		struct perf_event *event = slot->event;

		if (c->event[slot->idx] == event) {
			stay |= BIT_ULL(slot->idx);
			continue;
		}
		pmuv3_batch_add(&b, event, slot->idx);
		changes |= pmuv3_changes(c, event, slot->idx);
	}
	leave = c->used & ~stay;
	if (leave && !(leave & ~b.counters) && !c->reader && !s->user &&
	    pmuv3_runs_on(c, &b, changes) && pmuv3_can_take_over(c, leave)) {
		pmuv3_take_over(c, &b, leave);
		return;
	}
	if (leave) {
		/* KVM's claim of a counter that stops is released: its type becomes unknown. */
		changes |= c->kvm;
		pmuv3_unload_counters(c, leave);
	}
	pmuv3_load_beside(c, s, &b, stay, changes);
}

/* Loads a schedule on a CPU where no event is loaded. */
static noinline void pmuv3_load_first(struct pmuv3_cpu *c, struct perf_schedule *s)
{
	const struct perf_sched_slot *slot, *end = &s->slot[s->nr];
	struct pmuv3_batch b __uninitialized;
	u64 changes = 0;

	pmuv3_batch_init(&b);
	for (slot = s->slot; slot < end; slot++) {
		pmuv3_batch_add(&b, slot->event, slot->idx);
		changes |= pmuv3_changes(c, slot->event, slot->idx);
	}
	pmuv3_load_beside(c, s, &b, 0, changes);
	if (s->nr && !b.special && !s->user)
		s->stamp = c->stamp;
}

/*
 * Loads a schedule with the stamp of the registers, on a CPU where no event is loaded: its events
 * only count, and only PMCR_EL0 may be to write.
 */
static __always_inline void pmuv3_load_stamped(struct pmuv3_cpu *c, const struct perf_schedule *s)
{
	u64 now[ARMPMU_MAX_HWEVENTS] __uninitialized;
	unsigned int i, nr = s->nr;
	u64 used = 0;

	pmuv3_read_slots(s->slot, nr, now);
	for (i = 0; i < nr; i++) {
		struct perf_event *event = s->slot[i].event;
		unsigned int idx = s->slot[i].idx;

		used |= BIT_ULL(idx);
		event->hw.idx = idx;
		c->event[idx] = event;
		local64_set(&event->hw.prev_count, now[i]);
	}
	c->used = used;
	pmuv3_set_pmcr_e(c);
}

/**
 * pmuv3_sched_load - pmu::sched_load
 * @pmu: PMU of the events
 * @s: schedule to load; events of other schedules are unloaded. If none was loaded and all events
 *	of @s only count, its stamp is set to that of the registers
 *
 * Context: interrupts off.
 */
void pmuv3_sched_load(struct pmu *pmu, struct perf_schedule *s)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long daif;

	lockdep_assert_irqs_disabled();
	if (c->pmu != to_arm_pmu(pmu))
		return;

	daif = pmuv3_mask_nmi();
	if (unlikely(c->used))
		pmuv3_exchange(c, s);
	else if (likely(s->stamp == c->stamp && !s->user && !c->reader))
		pmuv3_load_stamped(c, s);
	else
		pmuv3_load_first(c, s);
	pmuv3_unmask_nmi(daif);

	if (unlikely(s->user))
		pmuv3_update_user_pages(c);
}

/* Saves all events of a schedule with the stamp of the registers. */
static __always_inline void pmuv3_save_stamped(struct pmuv3_cpu *c, const struct perf_schedule *s)
{
	u64 now[ARMPMU_MAX_HWEVENTS] __uninitialized;
	unsigned int i, nr = s->nr;

	c->used = 0;
	pmuv3_read_slots(s->slot, nr, now);
	for (i = 0; i < nr; i++) {
		struct perf_event *event = s->slot[i].event;

		lockdep_assert(c->event[s->slot[i].idx] == event);
		c->event[s->slot[i].idx] = NULL;
		pmuv3_count_add(event, now[i]);
		if (unlikely(rcu_access_pointer(event->rb)))
			pmuv3_unloaded_mapped(event);
	}
}

/* Saves the events in the slots of @mask. */
static noinline void pmuv3_save_slots(struct pmuv3_cpu *c, const struct perf_schedule *s, u64 mask)
{
	const struct perf_sched_slot *slot = s->slot;
	struct pmuv3_batch b __uninitialized;

	pmuv3_batch_init(&b);
	for (; mask; mask >>= 1, slot++) {
		if (likely(mask & 1 && c->event[slot->idx] == slot->event))
			pmuv3_batch_take(&b, c, slot->event, slot->idx);
	}

	pmuv3_unload_batch(c, &b);
	if (unlikely(c->reader))
		pmuv3_user_set_access(c, false);
}

/**
 * pmuv3_sched_save - pmu::sched_save
 * @pmu: PMU of the events
 * @s: schedule that is loaded
 * @mask: slots of @s with events to unload, bit 0 is slot 0
 * @next: unused: the counters of sampling events stop
 *
 * User space loses the access to counters: the next schedule may be another task's, and there may
 * be none.
 *
 * Context: interrupts off.
 */
void pmuv3_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask,
		      const struct task_struct *next)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long daif;

	lockdep_assert_irqs_disabled();
	if (c->pmu != to_arm_pmu(pmu))
		return;

	daif = pmuv3_mask_nmi();
	if (likely(s->stamp == c->stamp && mask == GENMASK_ULL(s->nr - 1, 0)))
		pmuv3_save_stamped(c, s);
	else
		pmuv3_save_slots(c, s, mask);
	pmuv3_unmask_nmi(daif);
}

/* ------------------------------------------------------------------ single events */

static bool pmuv3_is_loaded(struct pmuv3_cpu *c, struct perf_event *event)
{
	return event->hw.idx >= 0 && c->event[event->hw.idx] == event;
}

/**
 * pmuv3_read - pmu::read
 * @event: event to update the count of; nothing is done for one that is not loaded on this CPU
 *
 * Context: interrupts off; also NMI.
 */
void pmuv3_read(struct perf_event *event)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned int idx = event->hw.idx;
	unsigned long daif;

	if (!pmuv3_is_loaded(c, event))
		return;

	daif = pmuv3_mask_nmi();
	pmuv3_count_update(event, idx, pmuv3_read_counter(event, idx));
	pmuv3_unmask_nmi(daif);
}

/**
 * pmuv3_stop - pmu::stop
 * @event: event to stop; nothing is done for one that is not loaded on this CPU
 * @flags: PERF_EF_UPDATE or 0; the count is updated in either case
 *
 * Context: interrupts off; also the overflow handler.
 */
void pmuv3_stop(struct perf_event *event, int flags)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct hw_perf_event *hw = &event->hw;
	unsigned int idx = hw->idx;
	unsigned long daif;

	if (!pmuv3_is_loaded(c, event) || hw->state & PERF_HES_STOPPED)
		return;

	daif = pmuv3_mask_nmi();
	pmuv3_kvm_release(c, pmuv3_counters(hw, idx));
	pmuv3_disable_counters(c, pmuv3_counters(hw, idx));
	pmuv3_count_update(event, idx, pmuv3_read_counter(event, idx));
	if (hw->flags & PMUV3_EVT_SAMPLES)
		armpmu_mark_overdue(hw);
	hw->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	pmuv3_unmask_nmi(daif);
}

/**
 * pmuv3_start - pmu::start
 * @event: event to start; nothing is done for one that is not stopped
 * @flags: PERF_EF_RELOAD or 0; the counter of a sampling event is set in either case
 *
 * Context: interrupts off; also the overflow handler.
 */
void pmuv3_start(struct perf_event *event, int flags)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif;

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	event->hw.state = 0;
	if (!pmuv3_is_loaded(c, event))
		return;

	daif = pmuv3_mask_nmi();
	pmuv3_batch_init(&b);
	pmuv3_batch_add(&b, event, event->hw.idx);
	if (!c->reader && event->hw.flags & PMUV3_EVT_SAMPLES) {
		/* It is on its counter, which is set for the period: nothing is to be read. */
		pmuv3_program_batch(c, &b);
		pmuv3_set_pmcr_e(c);
	} else {
		pmuv3_load_batch(c, &b, c->reader);
	}
	pmuv3_unmask_nmi(daif);
	pmuv3_update_user_page(event);
}

/* ------------------------------------------------------------------ the whole PMU */

/**
 * pmuv3_disable - pmu::pmu_disable
 * @pmu: PMU to stop on this CPU
 *
 * Context: interrupts off.
 */
void pmuv3_disable(struct pmu *pmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);

	if (c->pmu != to_arm_pmu(pmu))
		return;

	c->disabled = true;
	if (!c->pmcr_e)
		return;

	c->pmcr_e = false;
	write_pmcr(c->pmcr);
	isb();
}

/**
 * pmuv3_enable - pmu::pmu_enable
 * @pmu: PMU to start on this CPU, if events are loaded
 *
 * Context: interrupts off.
 */
void pmuv3_enable(struct pmu *pmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);

	if (c->pmu != to_arm_pmu(pmu))
		return;

	c->disabled = false;
	if (c->used)
		pmuv3_set_pmcr_e(c);
}

/**
 * pmuv3_power_down - arm_pmu::power_down
 * @armpmu: PMU of this CPU
 *
 * Stops the events that are not stopped already, such as by throttling, for pmuv3_power_up() to
 * start again. No event is removed from a counter.
 *
 * Context: CPU power management notifier, interrupts off.
 */
void pmuv3_power_down(struct arm_pmu *armpmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif = pmuv3_mask_nmi();
	unsigned long used = c->used;
	unsigned int idx;

	pmuv3_batch_init(&b);
	c->suspended = 0;
	for_each_set_bit(idx, &used, ARMPMU_MAX_HWEVENTS) {
		if (!(c->event[idx]->hw.state & PERF_HES_STOPPED))
			c->suspended |= BIT_ULL(idx);
	}
	pmuv3_batch_add_used(&b, c, c->suspended);
	pmuv3_update_batch(c, &b, true);
	pmuv3_unmask_nmi(daif);
}

/* The counters of stopped events have lost their values: take the new ones as a base. */
static void pmuv3_reread_stopped(struct pmuv3_cpu *c, unsigned long counters)
{
	unsigned int idx;

	for_each_set_bit(idx, &counters, ARMPMU_MAX_HWEVENTS) {
		struct perf_event *event = c->event[idx];

		local64_set(&event->hw.prev_count, pmuv3_read_counter(event, idx));
	}
}

/**
 * pmuv3_power_up - arm_pmu::power_up
 * @armpmu: PMU of this CPU
 *
 * Context: CPU power management notifier, interrupts off, after arm_pmu::reset.
 */
void pmuv3_power_up(struct arm_pmu *armpmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmuv3_batch b __uninitialized;
	unsigned long daif = pmuv3_mask_nmi();

	pmuv3_reread_stopped(c, c->used & ~c->suspended);
	pmuv3_batch_init(&b);
	pmuv3_batch_add_used(&b, c, c->suspended);
	if (!pmuv3_batch_is_empty(&b))
		pmuv3_load_batch(c, &b, c->reader);
	c->suspended = 0;
	if (c->reader)
		pmuv3_user_set_access(c, true);
	pmuv3_unmask_nmi(daif);

	if (c->reader)
		pmuv3_update_user_pages(c);
}
