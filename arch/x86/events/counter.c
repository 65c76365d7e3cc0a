// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and their control registers: reading, writing, selecting, switching on and off. Every
 * register write of the driver is here and in irq.c, and none is made that would change nothing.
 *
 * Context: interrupts off on the CPU concerned, or NMI; see pmu.h for how the two get along.
 */
#include "pmu.h"

DEFINE_PER_CPU(struct x86_cpu, x86_cpu);

static inline bool is_fixed(unsigned int idx)
{
	return idx >= INTEL_PMC_IDX_FIXED;
}

static inline s64 sign_extend(u64 val, unsigned int width)
{
	return (s64)(val << (64 - width)) >> (64 - width);
}

u64 x86_counter_read(const struct x86_cpu *cpu, unsigned int idx)
{
	u64 val;

	rdpmcl(x86_rdpmc_index(cpu, idx), val);
	return val;
}

/*
 * What retained values are compared by changes with it. A Pentium 4's counter may not take a value
 * that is written once (erratum N15 of the specification update, 249199).
 */
void x86_counter_write(struct x86_cpu *cpu, unsigned int idx, s64 val)
{
	u32 msr = is_fixed(idx) ? MSR_ARCH_PERFMON_FIXED_CTR0 + idx - INTEL_PMC_IDX_FIXED
				: x86_hw.counter_write + (idx + cpu->first) * x86_hw.step;

	cpu->tag[idx]++;
	val &= GENMASK_ULL(cpu->core->width - 1, 0);
	wrmsrl(msr, val);
	if (x86_hw.netburst)
		wrmsrl(msr, val);
}

/* --------------------------------------------------------------- on and off */

/* @on without what runs in a guest only. The loop is for the handler coming in between. */
void x86_commit_on(struct x86_cpu *cpu)
{
	u64 want;

	if (!x86_hw.global_ctrl || cpu->halted)
		return;
	while ((want = READ_ONCE(cpu->on)) != READ_ONCE(cpu->global)) {
		wrmsrl(x86_hw.global_ctrl, want);
		WRITE_ONCE(cpu->global, want);
	}
}

static u32 select_msr(const struct x86_cpu *cpu, unsigned int idx)
{
	return x86_hw.select + (idx + cpu->first) * x86_hw.step;
}

/* Another counter takes the ESCR: those that have used it will have to write it again. */
static void forget_escr(struct x86_cpu *cpu, u32 escr)
{
	unsigned long counters = cpu->core->counters;
	unsigned int idx;

	for_each_set_bit(idx, &counters, INTEL_PMC_MAX_GENERIC)
		if (p4_escr(idx + cpu->first, cpu->select[idx]) == escr)
			cpu->select[idx] = lower_32_bits(cpu->select[idx]);
}

/* ESCR and CCCR. An ESCR's value is never 0, so an upper half of 0 stands for an unknown one. */
static void write_pair(struct x86_cpu *cpu, unsigned int idx, u64 val)
{
	u64 old = cpu->select[idx], hard = p4_on_thread(val, cpu->first);
	u32 escr = p4_escr(idx + cpu->first, val);

	if (upper_32_bits(old ^ val) || p4_escr(idx + cpu->first, old) != escr) {
		forget_escr(cpu, escr);
		wrmsrl(escr, upper_32_bits(hard));
	}
	cpu->select[idx] = val;
	if (lower_32_bits(old ^ val))
		wrmsrl(select_msr(cpu, idx), lower_32_bits(hard));
}

static void write_select(struct x86_cpu *cpu, unsigned int idx, u64 val)
{
	if (cpu->select[idx] == val)
		return;
	if (x86_hw.netburst) {
		write_pair(cpu, idx, val);
		return;
	}
	cpu->select[idx] = val;
	wrmsrl(select_msr(cpu, idx), val);
}

/**
 * x86_select_ack - clear the overflow flags that selects have (Pentium 4)
 * @cpu: this CPU
 * @counters: counters that have overflowed, and not yet another value
 */
void x86_select_ack(struct x86_cpu *cpu, u64 counters)
{
	for (; counters; counters &= counters - 1) {
		unsigned int idx = __ffs64(counters);

		wrmsrl(select_msr(cpu, idx), lower_32_bits(p4_on_thread(cpu->select[idx], cpu->first)));
	}
}

/* The select of a counter that is off, on parts that switch counters there. */
static void select_off(struct x86_cpu *cpu, unsigned int idx)
{
	if (x86_hw.enable)
		write_select(cpu, idx, cpu->select[idx] & ~x86_hw.enable);
	else
		write_select(cpu, idx, idx ? 0 : x86_hw.idle);
}

/**
 * x86_counters_off - let counters stand still
 * @cpu: this CPU
 * @counters: which
 */
void x86_counters_off(struct x86_cpu *cpu, u64 counters)
{
	unsigned long todo = counters & cpu->on;
	unsigned int idx;

	this_cpu_and(x86_cpu.on, ~counters);
	if (x86_hw.global_ctrl) {
		x86_commit_on(cpu);
		return;
	}
	for_each_set_bit(idx, &todo, INTEL_PMC_MAX_GENERIC)
		select_off(cpu, idx);
}

/* What selects @event on counter @idx, whether it is on or not. */
static u64 select_value(const struct x86_cpu *cpu, const struct perf_event *event,
			unsigned int idx)
{
	u64 config = event->hw.config & ~cpu->virt_clear;
	u64 fixed = INTEL_FIXED_0_ENABLE_PMI;

	if (!is_fixed(idx))
		return config | x86_hw.interrupt;
	if (config & ARCH_PERFMON_EVENTSEL_USR)
		fixed |= INTEL_FIXED_0_USER;
	if (config & ARCH_PERFMON_EVENTSEL_OS)
		fixed |= INTEL_FIXED_0_KERNEL;
	if (config & ARCH_PERFMON_EVENTSEL_ANY)
		fixed |= INTEL_FIXED_0_ANYTHREAD;
	return fixed;
}

/* The same with what makes counter @idx run, on parts that switch counters on there. */
static u64 running_value(const struct x86_cpu *cpu, const struct perf_event *event,
			 unsigned int idx)
{
	return select_value(cpu, event, idx) | x86_hw.enable | (idx ? 0 : x86_hw.idle);
}

static void select_fixed(struct x86_cpu *cpu, unsigned int idx, u64 bits)
{
	unsigned int n = idx - INTEL_PMC_IDX_FIXED;

	cpu->select[idx] = bits;
	cpu->fixed_ctrl &= ~intel_fixed_bits_by_idx(n, INTEL_FIXED_BITS_MASK);
	cpu->fixed_ctrl |= intel_fixed_bits_by_idx(n, bits);
}

/**
 * x86_select - make a counter select an event's occurrences
 * @cpu: this CPU
 * @event: the event
 * @idx: the counter; not armed, and off if it is for sampling
 *
 * x86_select_flush() must follow.
 */
void x86_select(struct x86_cpu *cpu, struct perf_event *event, unsigned int idx)
{
	u64 val = select_value(cpu, event, idx);

	if (is_fixed(idx)) {
		if (cpu->select[idx] != val)
			select_fixed(cpu, idx, val);
		return;
	}
	if (x86_hw.global_ctrl || cpu->on & BIT_ULL(idx))
		write_select(cpu, idx, running_value(cpu, event, idx));
	else if (x86_hw.enable)
		write_select(cpu, idx, val);
}

void x86_select_flush(struct x86_cpu *cpu)
{
	if (cpu->fixed_written == cpu->fixed_ctrl)
		return;
	cpu->fixed_written = cpu->fixed_ctrl;
	wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, cpu->fixed_ctrl);
}

/* The counter of @event is to run; x86_commit_on() must follow. */
void x86_counter_on(struct x86_cpu *cpu, struct perf_event *event)
{
	unsigned int idx = event->hw.idx;

	if (x86_guest_only(event))
		return;
	this_cpu_or(x86_cpu.on, BIT_ULL(idx));
	if (!x86_hw.global_ctrl)
		write_select(cpu, idx, running_value(cpu, event, idx));
}

/* ---------------------------------------------------------------- values */

/**
 * x86_event_update - bring an event's count up to date with its counter
 * @event: loaded on this CPU
 *
 * Whoever gets its value into prev_count accounts for the difference; the handler may be quicker.
 */
void x86_event_update(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	unsigned int width = x86_core_of(event->pmu)->width;
	s64 prev = local64_read(&hw->prev_count), now;
	u64 delta;

	do {
		now = sign_extend(x86_event_counter(event), width);
	} while (!local64_try_cmpxchg(&hw->prev_count, &prev, now));

	delta = (u64)(now - prev) & GENMASK_ULL(width - 1, 0);
	local64_add(delta, &event->count);
	if (hw->flags & X86_EVENT_SAMPLING)
		local64_sub(delta, &hw->period_left);
}

/**
 * x86_period_next - has the period run out?
 * @event: a sampling event, up to date
 *
 * If the next one is over, too, it is made up for at once, but no more: where counters run on during
 * the overflow handler, periods that are shorter than that would never end.
 *
 * Return: true if it has; then the next period has begun, shortened by what was counted of it.
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

static void set_counter(struct x86_cpu *cpu, struct perf_event *event, s64 val)
{
	struct hw_perf_event *hw = &event->hw;

	local64_set(&hw->prev_count, val);
	x86_counter_write(cpu, hw->idx, val);
	hw->last_tag = cpu->tag[hw->idx];
	hw->last_cpu = smp_processor_id();
}

/**
 * x86_event_program - set a sampling event's counter to overflow at the end of its period
 * @cpu: this CPU
 * @event: the event; its counter is not armed, or this is the overflow handler
 *
 * An overflow that came when the event was being taken off is made up for at once. Some parts do
 * not interrupt for a single event left, so it is two at least; the period that follows is
 * shorter by that. Nothing is written if the counter still stands where it should.
 */
void x86_event_program(struct x86_cpu *cpu, struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left;

	if (!(hw->flags & X86_EVENT_MISSED))
		x86_period_next(event);
	hw->flags &= ~X86_EVENT_MISSED;

	left = clamp(local64_read(&hw->period_left), 2LL, -x86_rest_value(cpu->core));
	if (hw->last_tag == cpu->tag[hw->idx] && hw->last_cpu == smp_processor_id() &&
	    local64_read(&hw->prev_count) == -left)
		return;
	set_counter(cpu, event, -left);
}

/* Winds a counting event's counter back. Its count is up to date. */
void x86_event_rewind(struct x86_cpu *cpu, struct perf_event *event)
{
	set_counter(cpu, event, x86_rest_value(cpu->core));
}

/* ------------------------------------------------------------- whole CPU */

static void clear_all(struct x86_cpu *cpu)
{
	unsigned long counters = cpu->core->counters;
	unsigned int idx;

	for_each_set_bit(idx, &counters, X86_PMC_IDX_MAX) {
		cpu->select[idx] = 0;
		if (!is_fixed(idx))
			wrmsrl(select_msr(cpu, idx), idx ? 0 : x86_hw.idle);
		x86_counter_write(cpu, idx, 0);
	}
	if (x86_hw.idle)
		cpu->select[0] = x86_hw.idle;
	cpu->fixed_ctrl = cpu->fixed_written = 0;
	if (cpu->core->counters & X86_FIXED_MASK)
		wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0);
}

/**
 * x86_cpu_quiesce - no events, all counters off and 0, all caches as the registers
 * @cpu: this CPU
 *
 * For a CPU that comes up, and when the last event has gone.
 */
void x86_cpu_quiesce(struct x86_cpu *cpu)
{
	cpu->on = cpu->armed = cpu->missed = cpu->stale = 0;
	memset(cpu->extra, 0xff, sizeof(cpu->extra));
	if (x86_hw.global_ctrl)
		wrmsrl(x86_hw.global_ctrl, 0);
	cpu->global = 0;
	clear_all(cpu);
	if (x86_hw.global_ack)
		wrmsrl(x86_hw.global_ack, cpu->core->counters);
}

/**
 * x86_cpu_rest - all counters stand still, their events up to date
 * @cpu: this CPU
 */
void x86_cpu_rest(struct x86_cpu *cpu)
{
	unsigned long loaded = cpu->loaded;
	unsigned int idx;

	x86_counters_off(cpu, ~0ULL);
	for_each_set_bit(idx, &loaded, X86_PMC_IDX_MAX) {
		struct perf_event *event = cpu->event[idx];

		x86_event_update(event);
		if (cpu->sampling & BIT_ULL(idx) && local64_read(&event->hw.period_left) <= 0)
			event->hw.flags |= X86_EVENT_MISSED;
	}
}

static void restart(struct x86_cpu *cpu, struct perf_event *event, bool armed)
{
	if (event->hw.flags & X86_EVENT_SAMPLING)
		x86_event_program(cpu, event);
	else
		x86_event_rewind(cpu, event);
	x86_event_moved(event);
	if (!armed)
		return;
	this_cpu_or(x86_cpu.armed, BIT_ULL(event->hw.idx));
	x86_counter_on(cpu, event);
}

/* All registers from what is loaded; the counters of @armed go on. */
static void write_anew(struct x86_cpu *cpu, u64 armed)
{
	unsigned long loaded = cpu->loaded;
	unsigned int idx;

	x86_cpu_quiesce(cpu);
	for_each_set_bit(idx, &loaded, X86_PMC_IDX_MAX) {
		struct perf_event *event = cpu->event[idx];

		if (event->hw.extra_reg.reg)
			x86_extra_load(cpu, event, event->hw.extra_reg.alloc);
		x86_select(cpu, event, idx);
	}
	x86_select_flush(cpu);
	for_each_set_bit(idx, &loaded, X86_PMC_IDX_MAX)
		restart(cpu, cpu->event[idx], armed & BIT_ULL(idx));
	x86_commit_on(cpu);
}

/**
 * x86_cpu_rewrite - the registers have lost their values: write them anew and go on
 * @cpu: this CPU, after x86_cpu_rest()
 */
void x86_cpu_rewrite(struct x86_cpu *cpu)
{
	write_anew(cpu, cpu->armed);
}

/* ------------------------------------------------------- selects to prepare */

/**
 * x86_needs_prepared - will this event change a general counter's select?
 * @cpu: this CPU
 * @event: the event
 * @idx: the counter it gets
 */
bool x86_needs_prepared(const struct x86_cpu *cpu, const struct perf_event *event, unsigned int idx)
{
	return !is_fixed(idx) &&
	       (event->hw.extra_reg.reg || cpu->select[idx] != running_value(cpu, event, idx));
}

/**
 * x86_prepare_selects - before general counters get other events
 * @cpu: this CPU
 *
 * On Nehalem and Westmere a counter that gets another event may count core cycles instead, or
 * nothing. It does not if certain events have been selected before, with all counters at 0 and
 * switched on and off (errata AAK100, AAP53 and BD53 of the specification updates 320767, 322166 and
 * 323338). What is loaded goes on afterwards. Its overflow may be on its way as an interrupt that
 * finds no cause any more.
 */
void x86_prepare_selects(struct x86_cpu *cpu)
{
	static const u32 events[] = { 0x4300b5, 0x4300d2, 0x4300b1, 0x4300b1 };
	unsigned int n = min_t(unsigned int, x86_nr_general(cpu->core), ARRAY_SIZE(events));
	u64 armed, status;
	unsigned int idx;

	lockdep_assert_irqs_disabled();
	armed = this_cpu_xchg(x86_cpu.armed, 0);
	x86_cpu_rest(cpu);
	rdmsrl(x86_hw.global_status, status);
	if (status & cpu->core->counters)
		cpu->nmi_grace = jiffies + HZ;

	for (idx = 0; idx < n; idx++) {
		wrmsrl(select_msr(cpu, idx), events[idx]);
		x86_counter_write(cpu, idx, 0);
	}
	wrmsrl(x86_hw.global_ctrl, GENMASK_ULL(n - 1, 0));
	wrmsrl(x86_hw.global_ctrl, 0);
	write_anew(cpu, armed);
}
