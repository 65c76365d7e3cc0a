/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMUv3: access to the registers of a CPU, and event counts.
 *
 * Everything here runs on the CPU concerned with interrupts off, either in the overflow handler or
 * between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 *
 * Source for the registers and their synchronisation: DDI 0487, D13 "The Performance Monitors
 * Extension" and D24.5 "Performance Monitors registers".
 */
#ifndef __PMUV3_REGS_H
#define __PMUV3_REGS_H

#include "pmuv3.h"

/* Set in perf_sched_slot::idx of a batch for a chained pair. */
#define PMUV3_ENTRY_PAIR	0x80

/**
 * struct pmuv3_batch - events that are loaded, updated or unloaded together
 * @nr: their number
 * @special: an event has a flag of PMUV3_EVT_SPECIAL
 * @counters: mask of the counter indices, of a chained pair the upper one
 * @entry: events and counter indices, with PMUV3_ENTRY_PAIR for a chained pair
 * @now: values of the counters or pairs, set by pmuv3_read_batch()
 */
struct pmuv3_batch {
	unsigned int		nr;
	bool			special;
	u64			counters;
	struct perf_sched_slot	entry[ARMPMU_MAX_HWEVENTS];
	u64			now[ARMPMU_MAX_HWEVENTS];
};

static __always_inline void pmuv3_batch_init(struct pmuv3_batch *b)
{
	b->nr = 0;
	b->special = false;
	b->counters = 0;
}

static __always_inline bool pmuv3_batch_is_empty(const struct pmuv3_batch *b)
{
	return !b->nr;
}

static __always_inline void pmuv3_batch_add(struct pmuv3_batch *b, struct perf_event *event,
					    unsigned int idx)
{
	struct perf_sched_slot *e = &b->entry[b->nr++];

	b->counters |= BIT_ULL(idx);
	e->event = event;
	e->idx = idx;
	if (unlikely(event->hw.flags & PMUV3_EVT_SPECIAL)) {
		b->special = true;
		if (pmuv3_is_pair(&event->hw, idx))
			e->idx |= PMUV3_ENTRY_PAIR;
	}
}

/* pmuv3_regs.c */
u64  pmuv3_read_counter(const struct perf_event *event, unsigned int idx);
void pmuv3_write_register(unsigned int idx, u64 value);
void pmuv3_read_slots(const struct perf_sched_slot *slot, unsigned int nr, u64 *now);
void pmuv3_write_running(const struct hw_perf_event *hw, unsigned int idx, u64 value);
void pmuv3_reload_counter(struct perf_event *event, unsigned int idx, s64 left);
void pmuv3_write_type(struct pmuv3_cpu *c, unsigned int idx, u64 type);

/* Reads the counters of a batch, which continue to run. */
static __always_inline void pmuv3_read_batch(struct pmuv3_batch *b)
{
	pmuv3_read_slots(b->entry, b->nr, b->now);
}

static inline void pmuv3_enable_counters(struct pmuv3_cpu *c, u64 mask)
{
	mask &= ~c->enabled;
	if (!mask)
		return;

	pmuv3_registers_change(c);
	c->enabled |= mask;
	write_pmcntenset(mask);
}

/* The counters have stopped on return. */
static inline void pmuv3_disable_counters(struct pmuv3_cpu *c, u64 mask)
{
	mask &= c->enabled;
	if (!mask)
		return;

	pmuv3_registers_change(c);
	c->enabled &= ~mask;
	write_pmcntenclr(mask);
	isb();
}

/* Enables the interrupts of the counters in @on and disables those of the others in @which. */
static inline void pmuv3_set_interrupts(struct pmuv3_cpu *c, u64 which, u64 on)
{
	u64 change = (c->interrupts ^ on) & which;

	if (!change)
		return;

	pmuv3_registers_change(c);
	if (change & on)
		write_pmintenset(change & on);
	if (change & ~on)
		write_pmintenclr(change & ~on);
	c->interrupts ^= change;
}

/* pmuv3_count_update() for an event without a flag of PMUV3_EVT_SPECIAL. */
static __always_inline void pmuv3_count_add(struct perf_event *event, u64 now)
{
	struct hw_perf_event *hw = &event->hw;
	u64 delta = now - local64_read(&hw->prev_count);

	local64_set(&hw->prev_count, now);
	local64_set(&event->count, local64_read(&event->count) + delta);
}

/*
 * Adds the difference to the last value to the event's count. No atomic operation is needed, since
 * the overflow handler cannot interrupt.
 */
static __always_inline void pmuv3_count_update(struct perf_event *event, unsigned int idx, u64 now)
{
	struct hw_perf_event *hw = &event->hw;
	u64 delta = now - local64_read(&hw->prev_count);

	if (hw->flags & PMUV3_EVT_SPECIAL) {
		if (pmuv3_is_32bit(hw, idx)) {
			delta = lower_32_bits(delta);
			now = (s64)(s32)now;
		}
		if (hw->flags & PMUV3_EVT_SAMPLES)
			local64_set(&hw->period_left, local64_read(&hw->period_left) - delta);
	}
	local64_set(&hw->prev_count, now);
	local64_set(&event->count, local64_read(&event->count) + delta);
}

/* Starts counting at value @now of the event's counter. */
static __always_inline void pmuv3_count_start(struct perf_event *event, unsigned int idx, u64 now)
{
	struct hw_perf_event *hw = &event->hw;

	if (hw->flags & PMUV3_EVT_SPECIAL && pmuv3_needs_upper_half(hw, idx)) {
		u64 value = pmuv3_is_32bit(hw, idx) ? (s64)(s32)now : now;

		now = value | PMUV3_UPPER_HALF;
		if (now != value)
			pmuv3_write_register(idx, now);
	}
	local64_set(&hw->prev_count, now);
}

#endif
