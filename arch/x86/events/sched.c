// SPDX-License-Identifier: GPL-2.0
/*
 * Which events are on the counters: building a schedule, loading and saving it, and starting,
 * stopping and reading single events.
 *
 * Context: interrupts off on the CPU concerned; x86_sched_assign() anywhere.
 */
#include <asm/mmu_context.h>
#include <asm/tlbflush.h>

#include "pmu.h"
#include "solver.h"

/* ------------------------------------------------------------- extra registers */

/* Registers in use, and their values, while a schedule is gone through. */
struct extra_use {
	unsigned int	used;
	u64		val[X86_EXTRA_MAX];
};

static const struct x86_extra *extra_by_id(const struct x86_core *core, unsigned int id)
{
	const struct x86_extra *x = core->model->extra;

	for (; x && x->mask; x++)
		if (x->id == id)
			return x;
	return NULL;
}

/* The register that can stand in for @id, if there is one. */
static int extra_alternate(const struct x86_core *core, unsigned int id)
{
	switch (id) {
	case X86_EXTRA_OFFCORE_0:
	case X86_EXTRA_OFFCORE_1:
	case X86_EXTRA_SNOOP_0:
	case X86_EXTRA_SNOOP_1:
		id = id & 1 ? (id ^ 1) : id + 1;
		return extra_by_id(core, id) ? id : -1;
	}
	return -1;
}

/* Of two that stand in for one another, one may have bits that the other has not. */
static bool extra_takes(const struct x86_core *core, int id, u64 val)
{
	return id >= 0 && !(val & ~extra_by_id(core, id)->valid);
}

/* The other one of a pair, if it takes @val; or negative. */
int x86_extra_other(const struct x86_core *core, int id, u64 val)
{
	id = extra_alternate(core, id);
	return extra_takes(core, id, val) ? id : -1;
}

static bool extra_holds(const struct extra_use *use, int id, u64 val)
{
	return id >= 0 && use->used & BIT(id) && use->val[id] == val;
}

static bool extra_is_free(const struct extra_use *use, int id)
{
	return id >= 0 && !(use->used & BIT(id));
}

/* A register that holds @val already is better than another one that does not hold anything. */
static int extra_pick(const struct extra_use *use, int id, int other, u64 val)
{
	if (extra_holds(use, id, val))
		return id;
	if (extra_holds(use, other, val))
		return other;
	if (extra_is_free(use, id))
		return id;
	return extra_is_free(use, other) ? other : -ENOSPC;
}

/*
 * Gives registers to the events of @s that can have one only, or (@pairs) to those that can have either of
 * two; @bits are the slots'.
 */
static int extras_claim(const struct x86_core *core, struct extra_use *use,
			const struct perf_schedule *s, bool pairs, u8 *bits)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct hw_perf_event_extra *reg = &s->slot[i].event->hw.extra_reg;
		int other, id;

		if (!reg->reg)
			continue;
		other = x86_extra_other(core, reg->idx, reg->config);
		if (pairs != (other >= 0))
			continue;
		id = extra_pick(use, reg->idx, other, reg->config);
		if (id < 0)
			return id;
		use->used |= BIT(id);
		use->val[id] = reg->config;
		bits[i] = id == reg->idx ? 0 : X86_SLOT_ALTERNATE;
	}
	return 0;
}

/* ------------------------------------------------------------------ assignment */

/* A slot's event gets a counter, or keeps it: where events share registers, if it can. */
static bool place(const struct x86_core *core, struct x86_match *match, const struct perf_schedule *s,
		  unsigned int i, unsigned int from)
{
	const struct hw_perf_event *hw = &s->slot[i].event->hw;
	int has = i < from ? s->slot[i].idx & X86_SLOT_COUNTER : hw->idx;

	if (core->model->flags & X86_MODEL_NETBURST)
		return x86_match_add(match, i, p4_sched_counters(s, i, from), has);
	if (i >= from)
		return x86_match_add(match, i, hw->counters, has);
	x86_match_seed(match, i, hw->counters, has);
	return true;
}

/**
 * x86_sched_assign - pmu::sched_assign
 * @pmu: the PMU
 * @s: the schedule
 * @from: first slot without a counter
 *
 * Return: 0, -ENOSPC.
 */
int x86_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from)
{
	const struct x86_core *core = x86_core_of(pmu);
	u8 bits[PERF_SCHED_SLOTS] = { };
	struct extra_use use = { };
	struct x86_match match;
	unsigned int i;

	x86_match_init(&match);
	for (i = 0; i < s->nr; i++) {
		if (!place(core, &match, s, i, from))
			return -ENOSPC;
	}
	/* Those that have a choice take what is left. */
	if (extras_claim(core, &use, s, false, bits) || extras_claim(core, &use, s, true, bits))
		return -ENOSPC;

	for (i = 0; i < s->nr; i++)
		s->slot[i].idx = match.place[i] | bits[i];
	return 0;
}

/* --------------------------------------------------------------- off the CPU */

/* Whose program has been running; values that are left tell of it. */
static u64 owner_now(void)
{
	return current->mm ? current->mm->context.ctx_id : 0;
}

static void unload_one(struct x86_cpu *cpu, unsigned int idx, u64 owner)
{
	struct perf_event *event = cpu->event[idx];
	struct hw_perf_event *hw = &event->hw;

	x86_event_update(event);
	if (cpu->sampling & BIT_ULL(idx) && local64_read(&hw->period_left) <= 0) {
		hw->flags |= X86_EVENT_MISSED;
		cpu->nmi_grace = jiffies + HZ;
	}
	cpu->owner[idx] = event->attach_state & PERF_ATTACH_TASK ? owner : 0;
	WRITE_ONCE(cpu->event[idx], NULL);
	/* One that goes with its task, or to another counter, is told later. */
	if (event->state != PERF_EVENT_STATE_ACTIVE)
		x86_event_moved(event);
}

/**
 * x86_unload - take events off their counters, their counts up to date
 * @cpu: this CPU
 * @counters: counters with an event
 *
 * Those that interrupt for samples stop and keep their value, the others run on.
 */
void x86_unload(struct x86_cpu *cpu, u64 counters)
{
	u64 sampling = counters & cpu->sampling, todo;
	u64 owner = owner_now();

	if (sampling & cpu->on)
		x86_counters_off(cpu, sampling);
	this_cpu_and(x86_cpu.armed, ~counters);
	for (todo = counters; todo; todo &= todo - 1)
		unload_one(cpu, __ffs64(todo), owner);

	cpu->sampling &= ~counters;
	cpu->host_only &= ~counters;
	cpu->guest_only &= ~counters;
	cpu->stale |= counters;
	this_cpu_and(x86_cpu.loaded, ~counters);
	this_cpu_and(x86_cpu.missed, ~counters);
}

/**
 * x86_sched_save - pmu::sched_save
 * @pmu: the PMU
 * @s: the schedule that is loaded
 * @mask: slots whose events leave
 */
void x86_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	u64 counters = 0;

	for (; mask; mask &= mask - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(mask)];
		unsigned int idx = slot->idx & X86_SLOT_COUNTER;

		if (cpu->event[idx] == slot->event)
			counters |= BIT_ULL(idx);
	}
	if (counters)
		x86_unload(cpu, counters);
}

/* ------------------------------------------------------- overflows not seen to */

/* Is there something for the overflow handler to do? The event is up to date. */
static bool ran_out(const struct perf_event *event)
{
	if (event->hw.flags & X86_EVENT_SAMPLING)
		return local64_read(&event->hw.period_left) <= 0;
	return !x86_at_rest(local64_read(&event->hw.prev_count));
}

/*
 * Does the overflow handler's work, or lets it: a sampling event whose period has run out is set to
 * overflow at once. That must not be before the event is armed again, so the counter stands still.
 */
static noinline void catch_up(struct x86_cpu *cpu, struct perf_event *event, u64 bit)
{
	x86_counters_off(cpu, bit);
	this_cpu_and(x86_cpu.missed, ~bit);
	x86_event_update(event);
	if (!(event->hw.flags & X86_EVENT_SAMPLING)) {
		x86_event_rewind(cpu, event);
	} else {
		if (ran_out(event)) {
			event->hw.flags |= X86_EVENT_MISSED;
			cpu->nmi_grace = jiffies + HZ;
		}
		x86_event_program(cpu, event);
	}
	x86_event_moved(event);
	this_cpu_or(x86_cpu.armed, bit);
	x86_counter_on(cpu, event);
	x86_commit_on(cpu);
}

/* The handler found an overflow before the event was armed. */
static noinline void see_to_missed(struct x86_cpu *cpu, struct perf_event *event)
{
	u64 bit = BIT_ULL(event->hw.idx);

	this_cpu_and(x86_cpu.armed, ~bit);
	/* Another counter's interrupt may have seen to it already, and stopped it. */
	if (event->hw.state & PERF_HES_STOPPED)
		this_cpu_and(x86_cpu.missed, ~bit);
	else
		catch_up(cpu, event, bit);
}

/**
 * x86_hide_counts - wind counting events' counters back
 * @cpu: this CPU
 *
 * They may have run on for others before they were loaded, and now there is somebody who can see that.
 */
void x86_hide_counts(struct x86_cpu *cpu)
{
	u64 todo = cpu->armed & ~cpu->sampling;

	for (; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		this_cpu_and(x86_cpu.armed, ~BIT_ULL(idx));
		catch_up(cpu, cpu->event[idx], BIT_ULL(idx));
	}
}

/* ---------------------------------------------------------------- onto the CPU */

/**
 * x86_extra_select - the selection with which an event uses an extra register
 * @core: the PMU
 * @config: selection, for either of a pair of registers
 * @id: the register
 *
 * Only of a pair each has a code of its own; several codes may share a register that is not of one.
 */
u64 x86_extra_select(const struct x86_core *core, u64 config, unsigned int id)
{
	const struct x86_extra *x = extra_by_id(core, id);

	if (!x || extra_alternate(core, id) < 0)
		return config;
	return (config & ~x->mask) | x->match;
}

static void write_extra(const struct x86_extra *x, u64 val)
{
	if (x->pair) {
		wrmsrl(x->msr + 1, upper_32_bits(val));
		val = lower_32_bits(val);
	}
	wrmsrl(x->msr, val);
}

/**
 * x86_extra_load - set the extra register of an event, and the selection that goes with it
 * @cpu: this CPU
 * @event: the event, which needs one
 * @alternate: the other one of a pair
 */
void x86_extra_load(struct x86_cpu *cpu, struct perf_event *event, bool alternate)
{
	struct hw_perf_event_extra *reg = &event->hw.extra_reg;
	const struct x86_extra *x;
	int id = reg->idx;

	if (alternate)
		id = extra_alternate(cpu->core, id);
	x = extra_by_id(cpu->core, id);
	if (WARN_ON_ONCE(!x))
		return;

	reg->alloc = alternate;
	event->hw.config = x86_extra_select(cpu->core, event->hw.config, id);
	/* One that is shared may have been another CPU's to write since. */
	if (cpu->extra[id] != reg->config || event->hw.flags & X86_EVENT_SHARED_EXTRA) {
		cpu->extra[id] = reg->config;
		write_extra(x, reg->config);
	}
}

static void load_select(struct x86_cpu *cpu, const struct perf_sched_slot *slot)
{
	struct perf_event *event = slot->event;
	unsigned int idx = slot->idx & X86_SLOT_COUNTER;

	/* What it left in another counter is not in this one, even if their tags are the same. */
	if (event->hw.idx != idx)
		event->hw.last_cpu = -1;
	event->hw.idx = idx;
	event->hw.event_base_rdpmc = x86_rdpmc_index(cpu, idx);
	if (event->hw.extra_reg.reg)
		x86_extra_load(cpu, event, slot->idx & X86_SLOT_ALTERNATE);
	x86_select(cpu, event, idx);
}

static void note_guest(struct x86_cpu *cpu, const struct perf_event *event, u64 bit)
{
	if (event->attr.exclude_host)
		cpu->guest_only |= bit;
	if (event->attr.exclude_guest)
		cpu->host_only |= bit;
}

/*
 * From where the counter stands now. It is wound back if it has overflowed with nobody there, and
 * to @hide what it counted meanwhile from a program that may read it.
 */
static void load_counting(struct x86_cpu *cpu, struct perf_event *event, bool hide)
{
	unsigned int shift = 64 - cpu->core->width;
	s64 val = (s64)(x86_event_counter(event) << shift) >> shift;

	if (!x86_at_rest(val) || hide) {
		x86_event_rewind(cpu, event);
		return;
	}
	/* Whoever left a value in it will not find that again. */
	cpu->tag[event->hw.idx]++;
	local64_set(&event->hw.prev_count, val);
}

/* A throttled event stands still until the core starts it. */
static bool stays_off(const struct perf_event *event)
{
	return event->hw.interrupts == PERF_THROTTLED;
}

static void load_event(struct x86_cpu *cpu, const struct perf_sched_slot *slot, u64 hide)
{
	unsigned int idx = slot->idx & X86_SLOT_COUNTER;
	struct perf_event *event = slot->event;
	u64 bit = BIT_ULL(idx);

	if (event->hw.flags & X86_EVENT_SAMPLING) {
		x86_event_program(cpu, event);
		cpu->sampling |= bit;
	} else {
		load_counting(cpu, event, hide & bit);
	}
	if (event->attr.exclude_host | event->attr.exclude_guest)
		note_guest(cpu, event, bit);
	WRITE_ONCE(cpu->event[idx], event);
	event->hw.state = stays_off(event) ? PERF_HES_STOPPED : 0;
	if (event->hw.state)
		return;
	this_cpu_or(x86_cpu.armed, bit);
	if (!(cpu->on & bit))
		x86_counter_on(cpu, event);
}

/* Must the counter stand still before it gets this event? */
static bool must_stop(const struct perf_event *event)
{
	return event->hw.flags & X86_EVENT_SAMPLING || stays_off(event) || x86_guest_only(event);
}

/* On this counter, and with this extra register, already? */
static bool stays_on(const struct x86_cpu *cpu, const struct perf_sched_slot *slot)
{
	const struct hw_perf_event_extra *reg = &slot->event->hw.extra_reg;

	return cpu->event[slot->idx & X86_SLOT_COUNTER] == slot->event &&
	       (!reg->reg || reg->alloc == !!(slot->idx & X86_SLOT_ALTERNATE));
}

static noinline bool needs_prepared(const struct x86_cpu *cpu, const struct perf_schedule *s, u64 fresh)
{
	for (; fresh; fresh &= fresh - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(fresh)];

		if (x86_needs_prepared(cpu, slot->event, slot->idx & X86_SLOT_COUNTER))
			return true;
	}
	return false;
}

/**
 * x86_sched_load - pmu::sched_load
 * @pmu: the PMU
 * @s: the schedule
 */
void x86_sched_load(struct pmu *pmu, const struct perf_schedule *s)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	u64 keep = 0, stop = 0, fresh = 0, taken = 0, todo;
	unsigned int i;
	u64 hide;

	for (i = 0; i < s->nr; i++) {
		u64 bit = BIT_ULL(s->slot[i].idx & X86_SLOT_COUNTER);

		if (stays_on(cpu, &s->slot[i])) {
			keep |= bit;
			continue;
		}
		fresh |= BIT_ULL(i);
		taken |= bit;
		if (must_stop(s->slot[i].event))
			stop |= bit;
	}

	if (cpu->loaded & ~keep)
		x86_unload(cpu, cpu->loaded & ~keep);
	if (!fresh)
		return;
	if (unlikely(x86_hw.prepare) && needs_prepared(cpu, s, fresh))
		x86_prepare_selects(cpu);
	if (stop & cpu->on)
		x86_counters_off(cpu, stop);
	this_cpu_or(x86_cpu.loaded, taken);
	hide = x86_user_reads_counters() ? cpu->stale : 0;
	cpu->stale &= ~taken;

	for (todo = fresh; todo; todo &= todo - 1)
		load_select(cpu, &s->slot[__ffs64(todo)]);
	x86_select_flush(cpu);
	for (todo = fresh; todo; todo &= todo - 1)
		load_event(cpu, &s->slot[__ffs64(todo)], hide);
	x86_commit_on(cpu);
	for (todo = READ_ONCE(cpu->missed) & taken; unlikely(todo); todo &= todo - 1)
		see_to_missed(cpu, cpu->event[__ffs64(todo)]);
	for (todo = fresh; todo; todo &= todo - 1)
		x86_event_moved(s->slot[__ffs64(todo)].event);
}

/* ----------------------------------------------------------------- single events */

static bool is_loaded(const struct x86_cpu *cpu, const struct perf_event *event)
{
	return event->hw.idx >= 0 && cpu->event[event->hw.idx] == event;
}

/**
 * x86_event_start - pmu::start
 * @event: loaded on this CPU
 * @flags: PERF_EF_RELOAD
 */
void x86_event_start(struct perf_event *event, int flags)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	event->hw.state = 0;
	if (!is_loaded(cpu, event))
		return;
	if (event->hw.flags & X86_EVENT_SAMPLING) {
		/* Between its last interrupt and its stop its counter may have overflowed again. */
		if (!(flags & PERF_EF_RELOAD)) {
			catch_up(cpu, event, BIT_ULL(event->hw.idx));
			return;
		}
		x86_event_program(cpu, event);
		x86_event_moved(event);
	}
	this_cpu_or(x86_cpu.armed, BIT_ULL(event->hw.idx));
	x86_counter_on(cpu, event);
	x86_commit_on(cpu);
}

/**
 * x86_event_stop - pmu::stop
 * @event: loaded on this CPU
 * @flags: PERF_EF_UPDATE
 *
 * The handler calls it for an event that is throttled or done.
 */
void x86_event_stop(struct perf_event *event, int flags)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	bool was_stopped = event->hw.state & PERF_HES_STOPPED;

	event->hw.state |= PERF_HES_STOPPED;
	if (!is_loaded(cpu, event))
		return;
	if (!was_stopped) {
		x86_counters_off(cpu, BIT_ULL(event->hw.idx));
		this_cpu_and(x86_cpu.armed, ~BIT_ULL(event->hw.idx));
	}
	if (flags & PERF_EF_UPDATE && !(event->hw.state & PERF_HES_UPTODATE)) {
		x86_event_update(event);
		event->hw.state |= PERF_HES_UPTODATE;
	}
}

/**
 * x86_event_read - pmu::read
 * @event: loaded on this CPU
 *
 * The handler is kept away from the two halves of an update: between them a sampling event's period
 * must not run out, nor a user page be told of a count without its counter. If it came meanwhile, or
 * would have had to, its work is done afterwards.
 */
void x86_event_read(struct perf_event *event)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	u64 bit = BIT_ULL(event->hw.idx);

	if (!is_loaded(cpu, event))
		return;
	if (in_nmi() || !(cpu->armed & bit)) {
		x86_event_update(event);
		return;
	}

	this_cpu_and(x86_cpu.armed, ~bit);
	x86_event_update(event);
	if (unlikely(ran_out(event))) {
		catch_up(cpu, event, bit);
		return;
	}
	this_cpu_or(x86_cpu.armed, bit);
	if (unlikely(READ_ONCE(cpu->missed) & bit))
		see_to_missed(cpu, event);
}
