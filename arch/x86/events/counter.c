// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and their control registers: reading, writing, selecting, enabling and disabling. A
 * register is not written if it has the value already.
 *
 * Context: interrupts disabled on the CPU of the registers, or NMI; see pmu.h for the
 * rules between the two.
 */
#include "branch.h"
#include "intel/pebs.h"
#include "pmu.h"

static inline s64 x86_counter_sign_extend(u64 val, unsigned int width)
{
	return (s64)(val << (64 - width)) >> (64 - width);
}

/**
 * x86_counter_read - read a counter
 * @cpu: this CPU
 * @idx: number of the counter, 0..47
 *
 * Context: interrupts disabled, or NMI.
 * Return: value of the counter, not sign-extended
 */
u64 x86_counter_read(const struct x86_pmu_cpu *cpu, unsigned int idx)
{
	u64 val;

	rdpmcl(x86_rdpmc_index(cpu, idx), val);
	return val;
}

static u32 x86_counter_msr(const struct x86_pmu_cpu *cpu, unsigned int idx)
{
	if (x86_counter_is_fixed(idx))
		return x86_pmu_regs.fixed + (idx - INTEL_PMC_IDX_FIXED) * x86_pmu_regs.step;
	return x86_pmu_regs.counter_write + (idx + cpu->thread_offset) * x86_pmu_regs.step;
}

/*
 * The counter after this one has bits 63:48, and the overflow is that of 64 bits. They are written
 * first: the counter can be running.
 */
static noinline void x86_counter_write_upper(struct x86_pmu_cpu *cpu, unsigned int idx, s64 val)
{
	cpu->tag[idx + 1]++;
	wrmsrl(x86_counter_msr(cpu, idx + 1), (u64)val >> cpu->pmu->width);
}

/**
 * x86_counter_write - write a counter and change the tag of the counter
 * @cpu: this CPU
 * @idx: number of the counter, 0..47
 * @val: value, of which x86_pmu::width bits are used
 *
 * A Pentium 4's counter can ignore a single write (erratum N15 of the specification update,
 * 249199).
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_counter_write(struct x86_pmu_cpu *cpu, unsigned int idx, s64 val)
{
	u32 msr = x86_counter_msr(cpu, idx);

	if (unlikely(cpu->merged & BIT_ULL(idx + 1)))
		x86_counter_write_upper(cpu, idx, val);
	cpu->tag[idx]++;
	val &= GENMASK_ULL(cpu->pmu->width - 1, 0);
	wrmsrl(msr, val);
	if (x86_pmu_regs.netburst)
		wrmsrl(msr, val);
}

/* --------------------------------------------------------------- on and off */

/**
 * x86_commit_enabled - write x86_pmu_cpu::enabled to GLOBAL_CTRL
 * @cpu: this CPU
 *
 * The overflow handler can change the set during the write: then the loop writes the register
 * again.
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_commit_enabled(struct x86_pmu_cpu *cpu)
{
	u64 want;

	if (!x86_pmu_regs.global_ctrl || cpu->halted)
		return;
	while ((want = READ_ONCE(cpu->enabled)) != READ_ONCE(cpu->global_ctrl)) {
		wrmsrl(x86_pmu_regs.global_ctrl, want);
		WRITE_ONCE(cpu->global_ctrl, want);
	}
}

static u32 x86_select_msr(const struct x86_pmu_cpu *cpu, unsigned int idx)
{
	return x86_pmu_regs.select + (idx + cpu->thread_offset) * x86_pmu_regs.step;
}

/* Another counter is about to use the ESCR: its earlier users have to write it again. */
static void x86_select_invalidate_escr(struct x86_pmu_cpu *cpu, u32 escr)
{
	unsigned long counters = cpu->pmu->counters;
	unsigned int idx;

	for_each_set_bit(idx, &counters, INTEL_PMC_MAX_GENERIC)
		if (p4_escr(idx + cpu->thread_offset, cpu->select[idx]) == escr)
			cpu->select[idx] = lower_32_bits(cpu->select[idx]);
}

/* Writes ESCR and CCCR. The value of an ESCR is never 0: an upper half of 0 means unknown. */
static void x86_select_write_pair(struct x86_pmu_cpu *cpu, unsigned int idx, u64 val)
{
	u64 old = cpu->select[idx], hard = p4_on_thread(val, cpu->thread_offset);
	u32 escr = p4_escr(idx + cpu->thread_offset, val);

	if (upper_32_bits(old ^ val) || p4_escr(idx + cpu->thread_offset, old) != escr) {
		x86_select_invalidate_escr(cpu, escr);
		wrmsrl(escr, upper_32_bits(hard));
	}
	cpu->select[idx] = val;
	if (lower_32_bits(old ^ val))
		wrmsrl(x86_select_msr(cpu, idx), lower_32_bits(hard));
}

static void x86_select_write(struct x86_pmu_cpu *cpu, unsigned int idx, u64 val)
{
	if (cpu->select[idx] == val)
		return;
	if (x86_pmu_regs.netburst) {
		x86_select_write_pair(cpu, idx, val);
		return;
	}
	cpu->select[idx] = val;
	wrmsrl(x86_select_msr(cpu, idx), val);
}

/**
 * x86_select_ack - clear the overflow flags in selects (Pentium 4)
 * @cpu: this CPU
 * @counters: counters that have overflowed and have not been written since
 *
 * Context: NMI, or Xen's interrupt.
 */
void x86_select_ack(struct x86_pmu_cpu *cpu, u64 counters)
{
	for (; counters; counters &= counters - 1) {
		unsigned int idx = __ffs64(counters);

		wrmsrl(x86_select_msr(cpu, idx),
		       lower_32_bits(p4_on_thread(cpu->select[idx], cpu->thread_offset)));
	}
}

/* Disables a counter in its select, on parts without GLOBAL_CTRL. */
static void x86_select_disable(struct x86_pmu_cpu *cpu, unsigned int idx)
{
	if (x86_pmu_regs.enable)
		x86_select_write(cpu, idx, cpu->select[idx] & ~x86_pmu_regs.enable);
	else
		x86_select_write(cpu, idx, idx ? 0 : x86_pmu_regs.idle);
}

/**
 * x86_counters_disable - disable counters
 * @cpu: this CPU
 * @counters: set of counters; those that are disabled already do not matter
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_counters_disable(struct x86_pmu_cpu *cpu, u64 counters)
{
	unsigned long todo = counters & cpu->enabled;
	unsigned int idx;

	x86_cpu_clear_bits(enabled, counters);
	if (x86_pmu_regs.global_ctrl) {
		x86_commit_enabled(cpu);
		return;
	}
	for_each_set_bit(idx, &todo, INTEL_PMC_MAX_GENERIC)
		x86_select_disable(cpu, idx);
}

/* Selection of @event for counter @idx, without enable bits. */
static u64 x86_select_value(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
			    unsigned int idx)
{
	u64 config = event->hw.config & ~cpu->virt_clear;
	bool precise = event->hw.flags & X86_EVENT_PRECISE;

	if (!x86_counter_is_fixed(idx))
		return precise ? config : config | x86_pmu_regs.interrupt;
	return x86_select_fixed_bits(config) |
	       (precise ? ICL_FIXED_0_ADAPTIVE : INTEL_FIXED_0_ENABLE_PMI);
}

/* The same with enable bits, on parts that have them in selects. */
static u64 x86_select_enabled_value(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
				    unsigned int idx)
{
	return x86_select_value(cpu, event, idx) | x86_pmu_regs.enable |
	       (idx ? 0 : x86_pmu_regs.idle);
}

static void x86_select_fixed(struct x86_pmu_cpu *cpu, unsigned int idx, u64 bits)
{
	unsigned int n = idx - INTEL_PMC_IDX_FIXED;

	cpu->select[idx] = bits;
	cpu->fixed_ctrl &= ~intel_fixed_bits_by_idx(n, INTEL_FIXED_BITS_MASK |
						       ICL_FIXED_0_ADAPTIVE);
	cpu->fixed_ctrl |= intel_fixed_bits_by_idx(n, bits);
}

static void x86_select_not_precise(struct x86_pmu_cpu *cpu, unsigned int idx)
{
	cpu->pebs_enable &= ~intel_pebs_counter_bits(cpu->pmu, idx);
	cpu->precise &= ~BIT_ULL(idx);
	cpu->batch &= ~BIT_ULL(idx);
	cpu->pebs_changed = true;
}

/*
 * The counter is for an event with precise samples, or has been for one. Records keep the groups
 * that earlier events needed while such an event is open anywhere: a switch between events with
 * different groups does not change PEBS_DATA_CFG.
 */
static noinline void x86_select_precise(struct x86_pmu_cpu *cpu, const struct perf_event *event,
					unsigned int idx)
{
	x86_select_not_precise(cpu, idx);
	if (event->hw.flags & X86_EVENT_PRECISE) {
		intel_pebs_set_reload(cpu, event, idx);
		cpu->pebs_enable |= intel_pebs_enable_bits(cpu->pmu, idx, event->hw.config_base);
		cpu->pebs_config = intel_pebs_config(cpu->pmu, event->hw.event_base |
						     (cpu->pebs_config & intel_pebs_open_groups()));
		cpu->precise |= BIT_ULL(idx);
	}
}

/* PEBS_DATA_CFG may change while there are records: each record has its own groups in its head. */
static noinline void x86_select_flush_precise(struct x86_pmu_cpu *cpu)
{
	cpu->pebs_changed = false;
	if (cpu->pebs_config_written != cpu->pebs_config) {
		cpu->pebs_config_written = cpu->pebs_config;
		if (cpu->pmu->precise_format >= INTEL_PEBS_ADAPTIVE)
			wrmsrl(MSR_PEBS_DATA_CFG, cpu->pebs_config);
	}
	intel_pebs_cpu_load(cpu);
	if (cpu->pebs_enable_written == cpu->pebs_enable)
		return;
	cpu->pebs_enable_written = cpu->pebs_enable;
	wrmsrl(MSR_IA32_PEBS_ENABLE, cpu->pebs_enable);
}

/*
 * Merges the counter after @idx into counter @idx, before that is selected. Counters without an
 * overflow are below zero: so are the upper bits.
 */
static void x86_select_merge(struct x86_pmu_cpu *cpu, unsigned int idx)
{
	u64 odd = BIT_ULL(idx + 1), select = X86_SELECT_MERGE | x86_pmu_regs.enable;

	WRITE_ONCE(cpu->merged, cpu->merged | odd);
	cpu->dirty &= ~odd;
	x86_cpu_set_bits(enabled, odd);
	if (cpu->select[idx + 1] == select)
		return;
	x86_select_write(cpu, idx + 1, select);
	x86_counter_write_upper(cpu, idx, -1);
}

/*
 * Counter @idx is about to count @event: the counter after it is merged, or not any more. A merged
 * counter that gets an event has a value that is not below zero, as after an overflow.
 */
static noinline void x86_select_pair(struct x86_pmu_cpu *cpu, const struct perf_event *event,
				     unsigned int idx)
{
	u64 odd = BIT_ULL(idx + 1);

	WRITE_ONCE(cpu->merged, cpu->merged & ~BIT_ULL(idx));
	if (event->hw.flags & X86_EVENT_PAIR) {
		x86_select_merge(cpu, idx);
	} else if (cpu->merged & odd) {
		x86_cpu_clear_bits(enabled, odd);
		x86_select_write(cpu, idx + 1, 0);
		WRITE_ONCE(cpu->merged, cpu->merged & ~odd);
	}
}

/**
 * x86_select_clear - select nothing on a general counter
 * @cpu: this CPU
 * @idx: number of the counter, 0..31, which has no event
 *
 * Context: interrupts disabled.
 */
void x86_select_clear(struct x86_pmu_cpu *cpu, unsigned int idx)
{
	lockdep_assert_irqs_disabled();
	x86_counters_disable(cpu, BIT_ULL(idx));
	x86_select_write(cpu, idx, 0);
}

/**
 * x86_select_reload - set the period that a record of an event begins
 * @cpu: this CPU
 * @event: event with X86_EVENT_BATCH, loaded on this CPU; the counter is disabled, without records
 *
 * Context: interrupts disabled.
 */
void x86_select_reload(struct x86_pmu_cpu *cpu, const struct perf_event *event)
{
	cpu->batch &= ~BIT_ULL(event->hw.idx);
	intel_pebs_set_reload(cpu, event, event->hw.idx);
	intel_pebs_cpu_load(cpu);
}

static noinline void x86_select_change(struct x86_pmu_cpu *cpu, struct perf_event *event,
				       unsigned int idx)
{
	u64 val = x86_select_value(cpu, event, idx);

	if (unlikely(event->hw.flags & X86_EVENT_PRECISE || cpu->precise & BIT_ULL(idx)))
		x86_select_precise(cpu, event, idx);
	if (unlikely(cpu->merged || event->hw.flags & X86_EVENT_PAIR))
		x86_select_pair(cpu, event, idx);
	if (x86_counter_is_fixed(idx)) {
		if (cpu->select[idx] != val)
			x86_select_fixed(cpu, idx, val);
		return;
	}
	if (x86_pmu_regs.global_ctrl || cpu->enabled & BIT_ULL(idx))
		x86_select_write(cpu, idx, x86_select_enabled_value(cpu, event, idx));
	else if (x86_pmu_regs.enable)
		x86_select_write(cpu, idx, val);
}

/**
 * x86_select - select an event on a counter
 * @cpu: this CPU
 * @event: event to select
 * @idx: number of the counter, 0..47, which is not in x86_pmu_cpu::irq_owned; the counter is
 *	disabled if @event is a sampling event that is being loaded, or selects @event already
 *
 * x86_select_flush() must follow, because all fixed counters have one control register.
 *
 * Context: interrupts disabled.
 */
void x86_select(struct x86_pmu_cpu *cpu, struct perf_event *event, unsigned int idx)
{
	bool simple = !(event->hw.flags & (X86_EVENT_PRECISE | X86_EVENT_PAIR)) && !cpu->merged &&
		      !(cpu->precise & BIT_ULL(idx));

	if (!simple || !x86_select_is_done(cpu, event, idx))
		x86_select_change(cpu, event, idx);
}

/**
 * x86_select_flush - write the control registers of several counters, if changed
 * @cpu: this CPU
 *
 * Context: interrupts disabled.
 */
void x86_select_flush(struct x86_pmu_cpu *cpu)
{
	if (unlikely(cpu->pebs_changed))
		x86_select_flush_precise(cpu);
	if (cpu->fixed_written == cpu->fixed_ctrl)
		return;
	cpu->fixed_written = cpu->fixed_ctrl;
	wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, cpu->fixed_ctrl);
}

/**
 * x86_counter_enable - enable the counter of an event
 * @cpu: this CPU
 * @event: event, loaded on @cpu
 *
 * x86_commit_enabled() must follow. A counter for guests only is left disabled.
 *
 * Context: interrupts disabled.
 */
void x86_counter_enable(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	unsigned int idx = event->hw.idx;

	if (x86_guest_only(event))
		return;
	x86_cpu_set_bits(enabled, BIT_ULL(idx));
	if (!x86_pmu_regs.global_ctrl)
		x86_select_write(cpu, idx, x86_select_enabled_value(cpu, event, idx));
}

/* ---------------------------------------------------------------- values */

/**
 * x86_event_update - add to an event's count what the counter has counted since the last update
 * @event: event, loaded on this CPU
 *
 * The overflow handler can interrupt this and update the event, too. The update that stores a
 * counter value in prev_count adds the difference.
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_event_update(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	unsigned int width = to_x86_pmu(event->pmu)->width;
	s64 prev = local64_read(&hw->prev_count), now;
	u64 delta;

	do {
		now = x86_counter_sign_extend(x86_event_read_counter(event), width);
	} while (!local64_try_cmpxchg(&hw->prev_count, &prev, now));

	delta = (u64)(now - prev) & GENMASK_ULL(width - 1, 0);
	local64_add(delta, &event->count);
	if (hw->flags & X86_EVENT_SAMPLING)
		local64_sub(delta, &hw->period_left);
}

/* Branches that fill the buffer after the overflow. */
static s64 x86_event_ahead(const struct perf_event *event)
{
	return to_x86_pmu(event->pmu)->branches->depth;
}

/* Does the line limit the periods of events at the highest precision? */
static bool x86_period_is_confined(const struct perf_event *event)
{
	const struct x86_precise_line *line = to_x86_pmu(event->pmu)->model->precise;

	return event->hw.flags & X86_EVENT_PRECISE && event->attr.precise_ip == 3 && line->least &&
	       !(event->hw.counters & ~line->rest);
}

/**
 * x86_period_limit_of - the limit of an event's sampling periods
 * @event: sampling event; hw.config and hw.counters are set
 *
 * Context: any.
 * Return: the limit; NULL: none
 */
const struct x86_period_limit *x86_period_limit_of(const struct perf_event *event)
{
	static const struct x86_period_limit confined = { .least = 128, .multiple = 1 };
	const struct x86_period_limit *limit = to_x86_pmu(event->pmu)->model->periods;

	if (unlikely(x86_period_is_confined(event)))
		return &confined;
	for (; limit && limit->least; limit++)
		if ((event->hw.config & limit->mask) == limit->match)
			return limit;
	return NULL;
}

/*
 * Makes a period that is below the limit longer; the next one is shorter by the difference. A
 * period that a record begins stays as it is: its event interrupts when the store is full, with any
 * rest of the period. A buffer of branches is filled after the overflow.
 */
static noinline s64 x86_period_apply_limit(const struct x86_pmu_cpu *cpu,
					   const struct perf_event *event, s64 left)
{
	const struct x86_period_limit *limit = x86_period_limit_of(event);

	if (limit && limit->busy && cpu->batch & BIT_ULL(event->hw.idx))
		return left;
	if (event->hw.flags & X86_EVENT_AHEAD && left > x86_event_ahead(event))
		left -= x86_event_ahead(event);
	return limit ? round_up(max_t(s64, left, limit->least), limit->multiple) : left;
}

/* The rest of a period that its counter gets: @left, or more where there is a limit. */
static noinline s64 x86_period_stretch(struct x86_pmu_cpu *cpu, const struct perf_event *event,
				       s64 left)
{
	if (event->hw.flags & X86_EVENT_LIMITED)
		left = x86_period_apply_limit(cpu, event, left);
	if (cpu->batch & BIT_ULL(event->hw.idx))
		intel_pebs_set_late(cpu, event->hw.idx,
				    left > local64_read(&event->hw.period_left));
	return left;
}

/**
 * x86_period_next - begin the next sampling period if the current one has ended
 * @event: sampling event; perf_event::count is up to date
 *
 * The next period is shortened by the counts since the current one ended. If the next has ended as
 * well, one more sample is due at once (X86_EVENT_MISSED), and further ends are dropped: with
 * counters that run during the overflow handler, periods shorter than the handler would keep the
 * handler busy forever.
 *
 * Context: interrupts disabled, or NMI.
 * Return: true if the period had ended
 */
bool x86_period_next(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left = local64_read(&hw->period_left);
	s64 period = hw->sample_period;

	if (left > 0)
		return false;
	left += period;
	if (left <= -period)
		left = period;
	if (left <= 0)
		hw->flags |= X86_EVENT_MISSED;
	local64_set(&hw->period_left, left);
	hw->last_period = period;
	return true;
}

/* Does the counter of @event have the value that was last written for @event? */
static bool x86_event_counter_is(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
				 s64 val)
{
	const struct hw_perf_event *hw = &event->hw;

	return hw->last_tag == cpu->tag[hw->idx] && hw->last_cpu == smp_processor_id() &&
	       local64_read(&hw->prev_count) == val;
}

static void x86_event_set_counter(struct x86_pmu_cpu *cpu, struct perf_event *event, s64 val)
{
	struct hw_perf_event *hw = &event->hw;

	local64_set(&hw->prev_count, val);
	x86_counter_write(cpu, hw->idx, val);
	hw->last_tag = cpu->tag[hw->idx];
	hw->last_cpu = smp_processor_id();
}

/**
 * x86_event_program - write a sampling event's counter to overflow at the end of the period
 * @cpu: this CPU
 * @event: event; the counter is not in x86_pmu_cpu::irq_owned, or this is the overflow handler
 *
 * If the period ended while the event was being removed, the counter overflows at once. The
 * distance to the overflow is at least 2, because some parts raise no interrupt for 1, or what a
 * limit of the model demands; the next period is shorter by the difference. Nothing is written if
 * the counter has the value already.
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_event_program(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left;

	if (!(hw->flags & X86_EVENT_MISSED))
		x86_period_next(event);
	hw->flags &= ~X86_EVENT_MISSED;

	left = clamp(local64_read(&hw->period_left), 2LL, -x86_parked_value(cpu->pmu));
	if (unlikely(hw->flags & (X86_EVENT_LIMITED | X86_EVENT_BATCH)))
		left = x86_period_stretch(cpu, event, left);
	if (!x86_event_counter_is(cpu, event, -left))
		x86_event_set_counter(cpu, event, -left);
}

/* The value as if the counter had started from the parked value with the event's first count. */
static s64 x86_event_own_value(const struct x86_pmu_cpu *cpu, const struct perf_event *event)
{
	s64 parked = x86_parked_value(cpu->pmu);
	u64 count = local64_read(&event->count);

	return count < -parked ? parked + count : parked;
}

/**
 * x86_event_rewind - set a counting event's counter to a value that the count alone determines
 * @cpu: this CPU
 * @event: counting event; perf_event::count is up to date
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_event_rewind(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	x86_event_set_counter(cpu, event, x86_event_own_value(cpu, event));
}

/* The value for a counting event's counter that is to continue from @val. */
static s64 x86_event_start_value(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
				 s64 val)
{
	return x86_value_overflowed(val) ? x86_event_own_value(cpu, event) : val;
}

/**
 * x86_event_keep_value - save a counting event's counter for x86_event_resume()
 * @event: event with a mapped user page that is being removed; perf_event::count is up to date
 * @stopped: the counter is stopped and keeps the value
 *
 * Context: interrupts disabled.
 */
void x86_event_keep_value(struct perf_event *event, bool stopped)
{
	struct hw_perf_event *hw = &event->hw;

	local64_set(&hw->period_left, -local64_read(&hw->prev_count));
	if (!stopped)
		hw->last_cpu = -1;
}

/**
 * x86_event_resume - let the counter of a counting event continue
 * @cpu: this CPU
 * @event: counting event with a mapped user page, loaded on this CPU; the counter is not in
 *	x86_pmu_cpu::irq_owned
 *
 * The counter continues from x86_event_keep_value(), or starts as in x86_event_rewind(). Nothing is
 * written if the counter has the value already.
 *
 * Context: interrupts disabled.
 */
void x86_event_resume(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	s64 val = x86_event_start_value(cpu, event, -local64_read(&event->hw.period_left));

	if (!x86_event_counter_is(cpu, event, val))
		x86_event_set_counter(cpu, event, val);
}

/* ---------------------------------------- counters that microcode uses, too */

/**
 * x86_counters_release - give x86_pmu::rtm_counters back to microcode
 * @cpu: this CPU, without an event on one of these counters
 *
 * Nothing of an event is left in the counters, and none interrupts. What microcode leaves in them
 * later is no event's either: the next event that is loaded writes select and value.
 *
 * Context: interrupts disabled.
 */
noinline void x86_counters_release(struct x86_pmu_cpu *cpu)
{
	u64 todo;

	lockdep_assert_irqs_disabled();
	for (todo = cpu->pmu->rtm_counters; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		if (cpu->precise & BIT_ULL(idx)) {
			x86_select_not_precise(cpu, idx);
			x86_select_flush(cpu);
		}
		x86_select_clear(cpu, idx);
		x86_counter_write(cpu, idx, 0);
		cpu->dirty &= ~BIT_ULL(idx);
	}
	intel_tfa_force_abort(false);
}

/* ------------------------------------------------------------- whole CPU */

static void x86_pmu_cpu_clear_registers(struct x86_pmu_cpu *cpu)
{
	for (u64 todo = cpu->pmu->counters; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		cpu->select[idx] = 0;
		if (!x86_counter_is_fixed(idx))
			wrmsrl(x86_select_msr(cpu, idx), idx ? 0 : x86_pmu_regs.idle);
		x86_counter_write(cpu, idx, 0);
	}
	if (cpu->pmu->metrics)
		wrmsrl(MSR_PERF_METRICS, 0);
	if (x86_pmu_regs.idle)
		cpu->select[0] = x86_pmu_regs.idle;
	cpu->fixed_ctrl = 0;
	cpu->fixed_written = 0;
	if (cpu->pmu->counters & X86_FIXED_MASK)
		wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0);
	cpu->precise = 0;
	cpu->batch = 0;
	cpu->pebs_enable = 0;
	cpu->pebs_enable_written = 0;
	cpu->pebs_config = 0;
	cpu->pebs_config_written = 0;
	intel_pebs_cpu_reset(cpu->pmu);
}

/* Firmware or another kernel can have left any bit; with some of them set no counter counts. */
static void x86_pmu_cpu_clear_status(void)
{
	u64 status;

	if (!x86_pmu_regs.global_ack)
		return;
	rdmsrl(x86_pmu_regs.global_status, status);
	if (status)
		wrmsrl(x86_pmu_regs.global_ack, status);
}

/**
 * x86_pmu_cpu_reset - disable and clear all counters, and set the cached values accordingly
 * @cpu: this CPU
 *
 * For a CPU that starts, stops or restores the registers. x86_pmu_cpu::loaded stays.
 *
 * Context: interrupts disabled.
 */
void x86_pmu_cpu_reset(struct x86_pmu_cpu *cpu)
{
	cpu->enabled = 0;
	cpu->irq_owned = 0;
	cpu->missed = 0;
	cpu->dirty = 0;
	cpu->merged = 0;
	memset(cpu->extra, 0xff, sizeof(cpu->extra));
	if (x86_pmu_regs.global_ctrl)
		wrmsrl(x86_pmu_regs.global_ctrl, 0);
	cpu->global_ctrl = 0;
	if (unlikely(cpu->pmu->rtm_counters))
		intel_tfa_force_abort(true);
	x86_pmu_cpu_clear_registers(cpu);
	x86_pmu_cpu_clear_status();
	if (unlikely(cpu->pmu->rtm_counters & ~cpu->loaded))
		x86_counters_release(cpu);
}

/**
 * x86_pmu_cpu_stop - disable all counters and update the counts of the loaded events
 * @cpu: this CPU, after x86_topdown_suspend()
 *
 * Context: interrupts disabled.
 */
void x86_pmu_cpu_stop(struct x86_pmu_cpu *cpu)
{
	x86_counters_disable(cpu, ~0ULL);
	for (u64 todo = cpu->loaded & ~X86_NO_COUNTERS; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);
		struct perf_event *event = cpu->event[idx];

		x86_event_update(event);
		if (cpu->sampling & BIT_ULL(idx) && local64_read(&event->hw.period_left) <= 0)
			event->hw.flags |= X86_EVENT_MISSED;
	}
}

static void x86_pmu_cpu_restart_event(struct x86_pmu_cpu *cpu, struct perf_event *event, bool owned)
{
	s64 val = local64_read(&event->hw.prev_count);

	if (event->hw.flags & X86_EVENT_SAMPLING)
		x86_event_program(cpu, event);
	else
		x86_event_set_counter(cpu, event, x86_event_start_value(cpu, event, val));
	x86_user_base_changed(event);
	if (!owned)
		return;
	x86_cpu_set_bits(irq_owned, BIT_ULL(event->hw.idx));
	x86_counter_enable(cpu, event);
}

/* Writes all registers for the loaded events; the counters in @owned start to count. */
static void x86_pmu_cpu_load_all(struct x86_pmu_cpu *cpu, u64 owned)
{
	x86_pmu_cpu_reset(cpu);
	for (u64 todo = cpu->loaded & ~X86_NO_COUNTERS; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);
		struct perf_event *event = cpu->event[idx];

		if (event->hw.extra_reg.reg)
			x86_extra_load(cpu, event, event->hw.extra_reg.alloc);
		x86_select(cpu, event, idx);
	}
	x86_select_flush(cpu);
	for (u64 todo = cpu->loaded & ~X86_NO_COUNTERS; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		x86_pmu_cpu_restart_event(cpu, cpu->event[idx], owned & BIT_ULL(idx));
	}
	x86_commit_enabled(cpu);
}

/**
 * x86_pmu_cpu_restore - write all registers after the values are lost
 * @cpu: this CPU, after x86_pmu_cpu_stop()
 *
 * Context: one CPU is online, interrupts disabled.
 */
void x86_pmu_cpu_restore(struct x86_pmu_cpu *cpu)
{
	x86_pmu_cpu_load_all(cpu, cpu->irq_owned);
}

/* ------------------------------------------------------- selects to prepare */

/**
 * x86_select_needs_prepare - can an event change a general counter's select, or an extra register?
 * @cpu: this CPU
 * @event: event to be loaded
 * @idx: number of the counter for @event, 0..47
 *
 * Context: interrupts disabled.
 * Return: true if the event can change either
 */
bool x86_select_needs_prepare(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
			      unsigned int idx)
{
	return !x86_counter_is_fixed(idx) &&
	       (event->hw.extra_reg.reg ||
		cpu->select[idx] != x86_select_enabled_value(cpu, event, idx));
}

/**
 * x86_select_prepare - prepare the selects of general counters for other events
 * @cpu: this CPU
 *
 * On Nehalem and Westmere a counter can count core cycles or nothing after its select changes. The
 * workaround is to select certain events first, with all counters at 0, and to enable and disable
 * the counters (errata AAK100, AAP53 and BD53 of the specification updates 320767, 322166 and
 * 323338). Loaded events continue afterwards. An interrupt for an overflow of such an event can
 * arrive later and find no cause.
 *
 * Context: interrupts disabled.
 */
void x86_select_prepare(struct x86_pmu_cpu *cpu)
{
	static const u32 events[] = { 0x4300b5, 0x4300d2, 0x4300b1, 0x4300b1 };
	unsigned int n = min_t(unsigned int, x86_nr_general(cpu->pmu), ARRAY_SIZE(events));
	u64 owned, status;
	unsigned int idx;

	lockdep_assert_irqs_disabled();
	owned = x86_cpu_take_bits(irq_owned);
	x86_pmu_cpu_stop(cpu);
	rdmsrl(x86_pmu_regs.global_status, status);
	if (status & (cpu->pmu->counters | GLOBAL_STATUS_BUFFER_OVF))
		cpu->nmi_grace = jiffies + X86_NMI_GRACE;

	for (idx = 0; idx < n; idx++) {
		wrmsrl(x86_select_msr(cpu, idx), events[idx]);
		x86_counter_write(cpu, idx, 0);
	}
	wrmsrl(x86_pmu_regs.global_ctrl, GENMASK_ULL(n - 1, 0));
	wrmsrl(x86_pmu_regs.global_ctrl, 0);
	x86_pmu_cpu_load_all(cpu, owned);
}
