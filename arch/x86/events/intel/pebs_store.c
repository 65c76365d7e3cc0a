// SPDX-License-Identifier: GPL-2.0
/*
 * The store of precise records: where records are written, when the store interrupts, and what
 * records make of the counts of events.
 *
 * An event with X86_EVENT_BATCH has a fixed period. Its counter's reset value is the negative
 * period, so a record begins the next period without an interrupt. The counter is that much less
 * than before, which intel_pebs_account() adds to the event's count. Records are accounted before
 * the count of the event is updated: an update takes the difference of two values of the counter.
 *
 * If all events with records on the CPU are like that, the store interrupts when it is nearly full.
 * Else it interrupts at each record. So it does after a period that a limit has made longer: the
 * record has begun the next period, which the interrupt makes shorter by the difference.
 *
 * Formats before 3 do not show which of several counters a record is of. There only a single event
 * reloads.
 *
 * Manual: SDM 3B, "Processor Event Based Sampling" and "Setting Up the DS Save Area".
 *
 * Context: interrupts disabled on the CPU of the registers, or NMI, unless a function states
 * otherwise.
 */
#include <linux/bitfield.h>
#include <linux/math64.h>
#include <linux/mutex.h>

#include "../branch.h"
#include "ds.h"
#include "models.h"
#include "pebs.h"

/**
 * struct pebs_store - the store of one CPU
 * @reset: reset value of each counter
 * @accounted: bytes of records that are part of the counts
 */
struct pebs_store {
	u64		reset[X86_PMC_IDX_MAX];
	unsigned int	accounted;
};

static DEFINE_PER_CPU(struct pebs_store, pebs_store);

/* ------------------------------------------------------------------ pure parts */

/**
 * intel_pebs_threshold - at how many bytes the store interrupts
 * @space: bytes of the store
 * @size: bytes of a record
 * @reserve: number of records that can be written until the interrupt arrives
 *
 * Context: any.
 * Return: bytes, at least those of a record
 */
unsigned int intel_pebs_threshold(unsigned int space, unsigned int size, unsigned int reserve)
{
	unsigned int records = space / size;

	return (records > reserve ? records - reserve : 1) * size;
}

/**
 * intel_pebs_lost - how many periods have ended without a record
 * @left: rest of the period, below zero after its end
 * @period: the period
 *
 * The record of the last of them can still be written.
 *
 * Context: any.
 * Return: number of periods
 */
u64 intel_pebs_lost(s64 left, u64 period)
{
	return left < 0 ? div64_u64(-left, period) : 0;
}

/* IOC_REFRESH stops an event after some overflows, and O_ASYNC sends a signal for each. */
static bool store_counts_overflows(const struct perf_event *event)
{
	const struct perf_event *top = event->parent ?: event;

	return atomic_read(&event->event_limit) || READ_ONCE(top->fasync);
}

/**
 * intel_pebs_reset_value - what a record is to add to the counter of an event
 * @xpmu: the PMU
 * @event: event with precise samples; its period is set
 *
 * Context: any.
 * Return: value in the width of a counter; 0 if the period is begun by software
 */
u64 intel_pebs_reset_value(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	const struct x86_period_limit *limit = NULL;
	u64 period = event->hw.sample_period;

	if (!(event->hw.flags & X86_EVENT_BATCH) || period < 2 || period > -x86_parked_value(xpmu))
		return 0;
	if (store_counts_overflows(event))
		return 0;
	if (event->hw.flags & X86_EVENT_LIMITED)
		limit = x86_period_limit_of(event);
	if (limit && (period < limit->least || period & (limit->multiple - 1)))
		return 0;
	return -period & GENMASK_ULL(xpmu->width - 1, 0);
}

/* ------------------------------------------------------------------- registers */

/* Where struct debug_store has the reset value of a counter. */
static unsigned int store_reset_index(const struct x86_pmu *xpmu, unsigned int idx)
{
	unsigned int general = xpmu->precise_format < 5 ? MAX_PEBS_EVENTS_FMT4 : MAX_PEBS_EVENTS;

	return idx < INTEL_PMC_IDX_FIXED ? idx : general + idx - INTEL_PMC_IDX_FIXED;
}

/* Records that end before the maximum are written. */
static void store_set_area(const struct x86_pmu *xpmu, struct debug_store *ds, u64 base)
{
	unsigned int largest = intel_pebs_record_max(xpmu->precise_format);

	memset(ds->pebs_event_reset, 0, sizeof(ds->pebs_event_reset));
	ds->pebs_buffer_base = base;
	ds->pebs_index = base;
	ds->pebs_absolute_maximum = base + rounddown(PEBS_BUFFER_SIZE, largest);
}

/* Each event can write one more record until the interrupt arrives. */
static void store_set_threshold(const struct x86_pmu_cpu *cpu, struct debug_store *ds, u64 precise)
{
	unsigned int space = ds->pebs_absolute_maximum - ds->pebs_buffer_base;
	unsigned int format = cpu->pmu->precise_format;
	unsigned int bytes = intel_pebs_record_size(format);

	if (cpu->batch && !(precise & ~cpu->batch) && !(cpu->batch & cpu->batch_late))
		bytes = intel_pebs_threshold(space,
					     intel_pebs_config_size(format, cpu->pebs_config),
					     hweight64(precise));
	ds->pebs_interrupt_threshold = ds->pebs_buffer_base + bytes;
}

/**
 * intel_pebs_set_reload - let records begin the next period of an event, if its period allows that
 * @cpu: this CPU
 * @event: event with precise samples
 * @idx: its counter, which is disabled
 *
 * intel_pebs_cpu_load() must follow.
 */
void intel_pebs_set_reload(struct x86_pmu_cpu *cpu, const struct perf_event *event,
			   unsigned int idx)
{
	u64 reset = intel_pebs_reset_value(cpu->pmu, event);

	this_cpu_ptr(&pebs_store)->reset[idx] = reset;
	x86_cpu_clear_bits(batch_late, BIT_ULL(idx));
	if (reset)
		cpu->batch |= BIT_ULL(idx);
}

/**
 * intel_pebs_cpu_load - prepare the debug store of this CPU for the records of its events
 * @cpu: this CPU; a counter that is added to or removed from @cpu->batch is disabled and has no
 *	records in the store; so are all of @cpu->batch if the groups of records change
 *
 * Context: interrupts disabled.
 */
void intel_pebs_cpu_load(struct x86_pmu_cpu *cpu)
{
	struct pebs_store *store = this_cpu_ptr(&pebs_store);
	struct debug_store *ds = intel_ds_this_area();
	u64 base = intel_ds_address(INTEL_DS_PEBS);
	u64 precise = cpu->precise & cpu->loaded, todo;

	if (ds->pebs_buffer_base != base)
		store_set_area(cpu->pmu, ds, base);
	if (cpu->pmu->precise_format < 3 && hweight64(precise) > 1)
		cpu->batch = 0;
	for (todo = precise; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		ds->pebs_event_reset[store_reset_index(cpu->pmu, idx)] =
			cpu->batch & todo & -todo ? store->reset[idx] : 0;
	}
	store_set_threshold(cpu, ds, precise);
	intel_ds_cpu_load();
}

/**
 * intel_pebs_set_late - set whether the store interrupts at the next record of an event
 * @cpu: this CPU
 * @idx: counter of the event, in @cpu->batch
 * @late: the record ends a period that a limit has made longer
 *
 * If an NMI changes @cpu->batch_late for another event while the threshold is being computed here,
 * the change has no effect: the later periods of that event end late until the store is read.
 *
 * Context: interrupts disabled, or NMI.
 */
void intel_pebs_set_late(struct x86_pmu_cpu *cpu, unsigned int idx, bool late)
{
	u64 bit = BIT_ULL(idx);

	lockdep_assert_irqs_disabled();
	if (late)
		x86_cpu_set_bits(batch_late, bit);
	else if (cpu->batch_late & bit)
		x86_cpu_clear_bits(batch_late, bit);
	else
		return;
	store_set_threshold(cpu, intel_ds_this_area(), cpu->precise & cpu->loaded);
}

/**
 * intel_pebs_cpu_reset - set a CPU to no counters with records
 * @xpmu: its PMU
 *
 * Context: interrupts disabled.
 */
void intel_pebs_cpu_reset(const struct x86_pmu *xpmu)
{
	if (!xpmu->max_precise)
		return;
	wrmsrl(MSR_IA32_PEBS_ENABLE, 0);
	if (xpmu->precise_format >= INTEL_PEBS_ADAPTIVE)
		wrmsrl(MSR_PEBS_DATA_CFG, 0);
	intel_pebs_set_empty();
}

/**
 * intel_pebs_set_empty - drop the records in the store of this CPU
 */
void intel_pebs_set_empty(void)
{
	struct debug_store *ds = intel_ds_this_area();

	ds->pebs_index = ds->pebs_buffer_base;
	barrier();
	this_cpu_write(pebs_store.accounted, 0);
}

/**
 * intel_pebs_remove - drop the first records in the store of this CPU
 * @bytes: their size
 *
 * A record can be written a moment after its counter was stopped. Those behind @bytes are moved to
 * the beginning.
 *
 * Context: interrupts disabled; the CPU's counters with records are off.
 * Return: true if there were such records
 */
bool intel_pebs_remove(unsigned int bytes)
{
	struct debug_store *ds = intel_ds_this_area();
	unsigned int late = intel_pebs_bytes() - bytes, accounted;
	void *records = intel_ds_memory(INTEL_DS_PEBS);

	if (likely(!late)) {
		intel_pebs_set_empty();
		return false;
	}
	memmove(records, records + bytes, late);
	ds->pebs_index = ds->pebs_buffer_base + late;
	accounted = this_cpu_read(pebs_store.accounted);
	this_cpu_write(pebs_store.accounted, accounted > bytes ? accounted - bytes : 0);
	return true;
}

/**
 * intel_pebs_bytes - the size of the records in the store of this CPU
 *
 * Return: bytes
 */
unsigned int intel_pebs_bytes(void)
{
	const struct debug_store *ds = intel_ds_this_area();
	u64 bytes = ds->pebs_index - ds->pebs_buffer_base;

	return bytes <= PEBS_BUFFER_SIZE ? bytes : 0;
}

/**
 * intel_pebs_is_pending - does the store of this CPU have records?
 *
 * Context: interrupts disabled.
 * Return: true if it has
 */
bool intel_pebs_is_pending(void)
{
	const struct debug_store *ds = intel_ds_this_area();

	return ds->pebs_index != ds->pebs_buffer_base;
}

/* --------------------------------------------------------- counters of records */

/*
 * Those of @set with an event that has counted at least @more beyond the end of its period. The
 * interrupted code programs those that are not in irq_owned: it looks at their periods itself.
 */
static u64 store_counters_past(struct x86_pmu_cpu *cpu, u64 set, s64 more)
{
	u64 past = 0;

	x86_cpu_set_bits(missed, set & ~cpu->irq_owned);
	for (set &= cpu->irq_owned; set; set &= set - 1) {
		struct perf_event *event = cpu->event[__ffs64(set)];

		x86_event_update(event);
		if (local64_read(&event->hw.period_left) <= -more)
			past |= set & -set;
	}
	return past;
}

/**
 * intel_pebs_overflowed - the counters that a record of a format before 3 is of
 * @cpu: this CPU; its counters with records are off
 * @counters: those that the record names
 *
 * In formats 1 and 2 that is the status, with all counters that have overflowed, but without those
 * that were acknowledged meanwhile. Then those have had their record that have counted further.
 *
 * Return: set of counters
 */
u64 intel_pebs_overflowed(struct x86_pmu_cpu *cpu, u64 counters)
{
	u64 all = cpu->precise & cpu->loaded, set = counters & all;

	if (hweight64(set) == 1)
		return set;
	if (hweight64(all) == 1)
		return all;
	set = set ?: all;
	return store_counters_past(cpu, set, 1) ?: store_counters_past(cpu, set, 0);
}

/* ---------------------------------------------------------------------- counts */

/**
 * intel_pebs_period - the period that a record of a counter begins
 * @cpu: this CPU
 * @idx: counter in @cpu->batch
 *
 * Return: number of events
 */
u64 intel_pebs_period(const struct x86_pmu_cpu *cpu, unsigned int idx)
{
	return -this_cpu_read(pebs_store.reset[idx]) & GENMASK_ULL(cpu->pmu->width - 1, 0);
}

/* Is there no room for another record? */
static bool store_is_full(const struct x86_pmu_cpu *cpu)
{
	const struct debug_store *ds = intel_ds_this_area();

	return ds->pebs_index + intel_pebs_config_size(cpu->pmu->precise_format, cpu->pebs_config) >
	       ds->pebs_absolute_maximum;
}

/*
 * A full store has no room for records; their counters continue, and interrupt no more. The record
 * of the last period that has ended is written as soon as there is room.
 */
static void store_account_lost(struct x86_pmu_cpu *cpu, struct perf_event *event, u64 lost,
			       u64 period)
{
	local64_add(lost * period, &event->hw.period_left);
	event->hw.flags |= X86_EVENT_MISSED;
	x86_event_program(cpu, event);
	if (lost)
		perf_log_lost_samples(event, lost);
}

/*
 * The counter of an event has been set back @nr times. Its value can be off the end of the period,
 * where the first rest was too short for the counter.
 */
static void store_account_one(struct x86_pmu_cpu *cpu, unsigned int idx, unsigned int nr, bool full)
{
	struct perf_event *event = cpu->event[idx];
	u64 period = intel_pebs_period(cpu, idx), lost;
	struct hw_perf_event *hw = &event->hw;

	local64_sub(nr * period, &hw->prev_count);
	local64_add(nr * period, &hw->period_left);
	x86_event_update(event);
	lost = intel_pebs_lost(local64_read(&hw->period_left), period);
	if (unlikely(lost || (full && local64_read(&hw->period_left) <= 0)))
		store_account_lost(cpu, event, lost, period);
	else if (local64_read(&hw->period_left) > 0)
		x86_event_program(cpu, event);
	x86_user_base_changed(event);
}

/* Returns the bytes of the record; 0 if there is no complete one. @old: it was accounted before. */
static __always_inline unsigned int store_count_record(struct x86_pmu_cpu *cpu, const void *at,
						       unsigned int left, u16 *old,
						       struct intel_pebs_summary *sum)
{
	unsigned int size;
	u64 counters, ip;

	size = intel_pebs_peek(cpu->pmu->precise_format, at, left, &counters, &ip);
	if (!size)
		return 0;
	if (x86_address_is_kernel(ip))
		sum->kernel = true;
	else
		sum->user = true;
	counters = intel_pebs_counters_of(cpu, counters) & cpu->batch & cpu->irq_owned;
	for (; counters; counters &= counters - 1) {
		sum->nr[__ffs64(counters)]++;
		if (old)
			old[__ffs64(counters)]++;
	}
	return size;
}

/**
 * intel_pebs_account - add records to the counts of their events
 * @cpu: this CPU; its counters with records are off
 * @sum: set to what the records are of; zero before
 *
 * Records that were accounted before are not accounted again.
 */
void intel_pebs_account(struct x86_pmu_cpu *cpu, struct intel_pebs_summary *sum)
{
	unsigned int bytes = intel_pebs_bytes(), before = this_cpu_read(pebs_store.accounted);
	const void *at = intel_ds_memory(INTEL_DS_PEBS);
	unsigned int done = 0, size;
	bool full = store_is_full(cpu);
	u16 old[X86_PMC_IDX_MAX] = { };
	u64 todo;

	do {
		size = store_count_record(cpu, at + done, bytes - done,
					  done < before ? old : NULL, sum);
		done += size;
	} while (size);
	for (todo = cpu->batch & cpu->irq_owned; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo), nr = sum->nr[idx] - old[idx];

		if (nr || full)
			store_account_one(cpu, idx, nr, full);
	}
	barrier();
	this_cpu_write(pebs_store.accounted, bytes);
}

/**
 * intel_pebs_is_accounted - are all records part of the counts?
 *
 * Return: true if they are
 */
bool intel_pebs_is_accounted(void)
{
	return intel_pebs_bytes() == this_cpu_read(pebs_store.accounted);
}

/* ------------------------------------------------ groups that open events need */

static DEFINE_MUTEX(pebs_groups_lock);
static unsigned int pebs_group_users[INTEL_PEBS_NR_GROUPS];	/* pebs_groups_lock */
static u32 pebs_open_groups __read_mostly;			/* written under pebs_groups_lock */

static void pebs_count_groups(const struct perf_event *event, int change)
{
	unsigned long groups = event->hw.event_base;
	unsigned int i;

	guard(mutex)(&pebs_groups_lock);
	for_each_set_bit(i, &groups, INTEL_PEBS_NR_GROUPS) {
		pebs_group_users[i] += change;
		if (pebs_group_users[i])
			WRITE_ONCE(pebs_open_groups, pebs_open_groups | BIT(i));
		else
			WRITE_ONCE(pebs_open_groups, pebs_open_groups & ~BIT(i));
	}
}

/**
 * intel_pebs_add_groups - add an event's groups of records
 * @event: event with X86_EVENT_PRECISE, not loaded yet
 *
 * Context: process, may sleep.
 */
void intel_pebs_add_groups(const struct perf_event *event)
{
	pebs_count_groups(event, 1);
}

/**
 * intel_pebs_drop_groups - remove an event's groups of records
 * @event: event after intel_pebs_add_groups(), not loaded any more
 *
 * Context: process, may sleep.
 */
void intel_pebs_drop_groups(const struct perf_event *event)
{
	pebs_count_groups(event, -1);
}

/**
 * intel_pebs_open_groups - the groups of records that any open event needs
 *
 * Context: any. The groups of events that are loaded on this CPU are among them.
 * Return: INTEL_PEBS_*
 */
u32 intel_pebs_open_groups(void)
{
	return READ_ONCE(pebs_open_groups);
}

/**
 * intel_pebs_config - PEBS_DATA_CFG for records with some groups
 * @xpmu: PMU with adaptive records
 * @groups: INTEL_PEBS_*
 *
 * Context: any.
 * Return: the groups, and the number of branches if they are among them
 */
u64 intel_pebs_config(const struct x86_pmu *xpmu, u32 groups)
{
	if (!(groups & INTEL_PEBS_BRANCHES))
		return groups;
	return groups | FIELD_PREP(INTEL_PEBS_BRANCHES_NR, xpmu->branches->depth - 1);
}
