// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: access to counters and type registers. Context and sources: see pmuv3_regs.h.
 */
#include "pmuv3_regs.h"

DEFINE_PER_CPU(struct pmuv3_cpu, pmuv3_cpu);

static __always_inline u64 pmuv3_read_register(unsigned int idx)
{
	if (likely(idx < ARMV8_PMU_CYCLE_IDX))
		return read_pmevcntrn(idx);

	return idx == ARMV8_PMU_CYCLE_IDX ? read_pmccntr() : read_pmicntr();
}

/**
 * pmuv3_write_register - set the value of one counter register
 * @idx: counter index, 0..32
 * @value: value to set; an event counter of 32 bits takes the lower half
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi(), or the overflow
 *	handler.
 */
void pmuv3_write_register(unsigned int idx, u64 value)
{
	if (likely(idx < ARMV8_PMU_CYCLE_IDX))
		write_pmevcntrn(idx, value);
	else if (idx == ARMV8_PMU_CYCLE_IDX)
		write_pmccntr(value);
	else
		write_pmicntr(value);
}

/*
 * The upper counter changes when the lower one wraps: read again until it is unchanged. Without a
 * context synchronization event between them the reads may be performed early and in any order
 * (DDI 0487, D13 "Synchronization requirements for the Performance Monitors").
 */
static u64 pmuv3_read_pair(unsigned int upper)
{
	u64 high = read_pmevcntrn(upper), before, low;

	do {
		before = high;
		isb();
		low = read_pmevcntrn(upper - 1);
		isb();
		high = read_pmevcntrn(upper);
	} while (high != before);

	return high << 32 | lower_32_bits(low);
}

/**
 * pmuv3_read_counter - value of an event's counter or chained pair
 * @event: event on a counter of this CPU
 * @idx: counter index of the event, 0..32; of a chained pair the upper one
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi(), or the overflow
 *	handler.
 * Return: the value, as wide as the counter.
 */
u64 pmuv3_read_counter(const struct perf_event *event, unsigned int idx)
{
	return pmuv3_is_pair(&event->hw, idx) ? pmuv3_read_pair(idx) : pmuv3_read_register(idx);
}

static void pmuv3_write_counter(const struct hw_perf_event *hw, unsigned int idx, u64 value)
{
	if (!pmuv3_is_pair(hw, idx)) {
		pmuv3_write_register(idx, value);
		return;
	}
	write_pmevcntrn(idx, upper_32_bits(value));
	write_pmevcntrn(idx - 1, lower_32_bits(value));
}

/**
 * pmuv3_write_running - set the value of a counter or chained pair that may be enabled
 * @hw: event on a counter of this CPU
 * @idx: counter index of the event, 0..32; of a chained pair the upper one
 * @value: value to set
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 */
void pmuv3_write_running(const struct hw_perf_event *hw, unsigned int idx, u64 value)
{
	/* The lower counter of a pair must not wrap between the two writes. */
	if (pmuv3_is_pair(hw, idx)) {
		write_pmevcntrn(idx - 1, 0);
		isb();
	}
	pmuv3_write_counter(hw, idx, value);
}

/**
 * pmuv3_reload_counter - set the counter of a sampling event for the period
 * @event: sampling event
 * @idx: counter index of the event, 0..32; of a chained pair the upper one
 * @left: occurrences until the counter overflows, at least 1; a counter of 32 bits overflows after
 *	at most S32_MAX
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi(), or the overflow
 *	handler.
 */
void pmuv3_reload_counter(struct perf_event *event, unsigned int idx, s64 left)
{
	struct hw_perf_event *hw = &event->hw;

	if (pmuv3_needs_upper_half(hw, idx))
		left = min_t(s64, left, S32_MAX);
	local64_set(&hw->prev_count, -left);
	pmuv3_write_counter(hw, idx, -left);
}

/**
 * pmuv3_write_type - write a type or filter register
 * @c: state of this CPU
 * @idx: counter index, 0..32
 * @type: value for pmuv3_cpu::type: event, filters and threshold, with PMUV3_KVM
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 */
void pmuv3_write_type(struct pmuv3_cpu *c, unsigned int idx, u64 type)
{
	pmuv3_registers_change(c);
	c->type[idx] = type;
	if (idx < ARMV8_PMU_CYCLE_IDX)
		write_pmevtypern(idx, type & PMUV3_TYPE);
	else if (idx == ARMV8_PMU_CYCLE_IDX)
		write_pmccfiltr(type & PMUV3_FILTERS);
	else
		/* Its event, INST_RETIRED, has a field, too, which may be writable (DDI 0601). */
		write_pmicfiltr(type & (PMUV3_FILTERS | ARMV8_PMU_EVTYPE_EVENT));
}

/* Reads the counters from slot @i on, which has a pair. */
static noinline void pmuv3_read_pairs(const struct perf_sched_slot *slot, unsigned int i,
				      unsigned int nr, u64 *now)
{
	for (; i < nr; i++)
		now[i] = slot[i].idx & PMUV3_ENTRY_PAIR ?
			 pmuv3_read_pair(slot[i].idx & ~PMUV3_ENTRY_PAIR) :
			 pmuv3_read_register(slot[i].idx);
}

/**
 * pmuv3_read_slots - read the counters of events, which continue to run
 * @slot: events, of a schedule without chained pairs or of a batch
 * @nr: their number
 * @now: set to the values
 *
 * Events are loaded and saved by this same loop with the members of a group in the same order. Each
 * counter is read at the same distance from the previous counter both times, so that the members of
 * a group count the same instructions although no member is stopped. Where another schedule takes
 * over the counters, they are read in its order: in the kernel's instructions, which alone are
 * counted there, members can differ by those of this loop.
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 */
void pmuv3_read_slots(const struct perf_sched_slot *slot, unsigned int nr, u64 *now)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (unlikely(slot[i].idx & PMUV3_ENTRY_PAIR))
			return pmuv3_read_pairs(slot, i, nr, now);
		now[i] = pmuv3_read_register(slot[i].idx);
	}
}
