// SPDX-License-Identifier: GPL-2.0
/*
 * Events on counters: assigning the counters of a schedule, loading and saving a schedule, and
 * starting, stopping and reading single events.
 *
 * Context: interrupts disabled on the CPU of the counters; x86_sched_assign() runs anywhere.
 */
#include <linux/mmu_context.h>

#include "assign.h"
#include "lbr.h"
#include "intel/pebs.h"
#include "pmu.h"
#include "topdown.h"

/* ------------------------------------------------------------------ assignment */

/*
 * Assigns a counter to slot @i, but none of @without. A slot below @from keeps its counter, but on
 * NetBurst, where the events of other slots restrict the choice, it can be moved.
 */
static bool x86_sched_place_slot(const struct x86_pmu *xpmu, struct x86_assign *assign,
				 const struct perf_schedule *s, unsigned int i, unsigned int from,
				 u64 without)
{
	const struct hw_perf_event *hw = &s->slot[i].event->hw;
	int has = i < from ? s->slot[i].idx & X86_SLOT_COUNTER : hw->idx;

	if (xpmu->model->flags & X86_MODEL_NETBURST)
		return x86_assign_add(assign, i, p4_sched_counters(s, i, from), has);
	if (i >= from)
		return x86_assign_add(assign, i, hw->counters & ~without, has);
	x86_assign_seed(assign, i, hw->counters & ~without, has);
	return true;
}

static bool x86_sched_place_all(const struct x86_pmu *xpmu, struct x86_assign *assign,
				const struct perf_schedule *s, unsigned int from, u64 without)
{
	unsigned int i;

	x86_assign_init(assign);
	for (i = 0; i < s->nr; i++)
		if (!x86_sched_place_slot(xpmu, assign, s, i, from, without))
			return false;
	return true;
}

/* The slots of events that take two counters. */
static u64 x86_sched_pairs(const struct x86_pmu *xpmu, const struct perf_schedule *s)
{
	u64 pairs = 0;
	unsigned int i;

	for (i = 0; xpmu->model->pairs && i < s->nr; i++)
		if (s->slot[i].event->hw.flags & X86_EVENT_PAIR)
			pairs |= BIT_ULL(i);
	return pairs;
}

/* The even counter that slot @i has or had; 0: none. */
static u64 x86_sched_pair_had(const struct perf_schedule *s, unsigned int i, unsigned int from)
{
	const struct hw_perf_event *hw = &s->slot[i].event->hw;
	int idx = i < from ? s->slot[i].idx & X86_SLOT_COUNTER : hw->idx;

	return idx < 0 ? 0 : BIT_ULL(idx) & hw->counters;
}

/* Gives the even counters in @even to the slots in @pairs, as many, and others to other slots. */
static bool x86_sched_place_pairs(struct x86_assign *assign, const struct perf_schedule *s,
				  unsigned int from, u64 pairs, u64 even)
{
	u64 taken = even | even << 1, vacant = even, todo;
	unsigned int i;

	x86_assign_init(assign);
	for (todo = pairs; todo; todo &= todo - 1) {
		u64 had = x86_sched_pair_had(s, __ffs64(todo), from) & vacant;

		if (!had)
			continue;
		x86_assign_seed(assign, __ffs64(todo), had, __ffs64(had));
		vacant &= ~had;
	}
	for (i = 0; i < s->nr; i++) {
		const struct hw_perf_event *hw = &s->slot[i].event->hw;
		int has = i < from ? s->slot[i].idx & X86_SLOT_COUNTER : hw->idx;

		if (!(pairs & BIT_ULL(i))) {
			if (!x86_assign_add(assign, i, hw->counters & ~taken, has))
				return false;
		} else if (assign->counter_of[i] < 0) {
			x86_assign_seed(assign, i, vacant, __ffs64(vacant));
			vacant &= vacant - 1;
		}
	}
	return true;
}

/*
 * Pairs are not a matching of events and counters. They are all alike, so what matters is the set
 * of even counters that have them: at most 2^8. Sets with those that they have are first.
 */
static bool x86_sched_assign_pairs(struct x86_assign *assign, const struct perf_schedule *s,
				   unsigned int from, u64 pairs)
{
	u64 all = s->slot[__ffs64(pairs)].event->hw.counters, had = 0, even, todo;
	int keep;

	for (todo = pairs; todo; todo &= todo - 1)
		had |= x86_sched_pair_had(s, __ffs64(todo), from);
	for (keep = 1; keep >= 0; keep--) {
		even = 0;
		do {
			even = (even - all) & all;
			if (hweight64(even) == hweight64(pairs) && !!(had & ~even) != keep &&
			    x86_sched_place_pairs(assign, s, from, pairs, even))
				return true;
		} while (even);
	}
	return false;
}

/* Transactions abort, where that is allowed, if the events do not fit otherwise. */
static bool x86_sched_assign_simple(const struct x86_pmu *xpmu, struct x86_assign *assign,
				    const struct perf_schedule *s, unsigned int from)
{
	if (x86_sched_place_all(xpmu, assign, s, from, xpmu->rtm_counters))
		return true;
	return unlikely(xpmu->rtm_counters) && intel_tfa_may_abort() &&
	       x86_sched_place_all(xpmu, assign, s, from, 0);
}

/*
 * Are there more events than counters that can count any of them? Then the events do not fit. This
 * is how the first group that has to wait mostly fails in a rotation. A pair takes even more.
 */
static bool x86_sched_exceeds(const struct x86_pmu *xpmu, const struct perf_schedule *s)
{
	u64 counters = 0;
	unsigned int i;

	if (xpmu->model->flags & X86_MODEL_NETBURST)
		return false;	/* the selects decide, see p4_sched_counters() */
	for (i = 0; i < s->nr; i++)
		counters |= s->slot[i].event->hw.counters;
	return s->nr > hweight64(counters);
}

/**
 * x86_sched_assign - pmu::sched_assign: assign counters to the events of a schedule
 * @pmu: the PMU
 * @s: the schedule
 * @from: first slot without a counter, 0..@s->nr
 *
 * Context: any.
 * Return: 0, -ENOSPC
 */
int x86_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from)
{
	const struct x86_pmu *xpmu = to_x86_pmu(pmu);
	u8 bits[PERF_SCHED_SLOTS] = { };
	struct x86_assign assign __uninitialized;
	unsigned int i;
	bool placed;
	u64 pairs;

	if (x86_sched_exceeds(xpmu, s))
		return -ENOSPC;
	pairs = x86_sched_pairs(xpmu, s);
	placed = unlikely(pairs) ? x86_sched_assign_pairs(&assign, s, from, pairs) :
				   x86_sched_assign_simple(xpmu, &assign, s, from);
	if (!placed)
		return -ENOSPC;
	if (x86_extra_assign(xpmu, s, bits))
		return -ENOSPC;

	for (i = 0; i < s->nr; i++)
		s->slot[i].idx = assign.counter_of[i] | bits[i];
	return 0;
}

/* --------------------------------------------------------------- off the CPU */

/* mm with activity that a released counter still reveals; see perf_clear_dirty_counters(). */
static u64 x86_sched_current_owner(void)
{
	return current->mm ? current->mm->context.ctx_id : 0;
}

/*
 * Disables the counters that write records, and takes the samples of records that no interrupt has
 * taken yet. The events of these records are still loaded; events that have to stop are stopped.
 * Returns the counters that are to be enabled again.
 */
static noinline u64 x86_sched_pause(struct x86_pmu_cpu *cpu)
{
	u64 on = cpu->precise & cpu->enabled, stop = 0, todo;

	if (on)
		x86_counters_disable(cpu, on);
	if (intel_pebs_is_pending())
		stop = intel_pebs_drain(cpu, task_pt_regs(current));
	for (todo = stop; todo; todo &= todo - 1)
		cpu->event[__ffs64(todo)]->hw.state |= PERF_HES_STOPPED;
	x86_cpu_clear_bits(irq_owned, stop);
	return on & ~stop;
}

/* An NMI can have stopped events that x86_sched_pause() had found enabled. */
static void x86_sched_unpause(struct x86_pmu_cpu *cpu, u64 on)
{
	x86_cpu_set_bits(enabled, on & READ_ONCE(cpu->irq_owned));
	x86_commit_enabled(cpu);
}

/**
 * x86_sched_drain - take the samples of records, and stop the events that have to stop
 * @cpu: this CPU
 *
 * Context: interrupts disabled.
 */
void x86_sched_drain(struct x86_pmu_cpu *cpu)
{
	x86_sched_unpause(cpu, x86_sched_pause(cpu));
}

/* Does the event need pmu::sched_task while it is loaded? */
static bool x86_sched_batch_needs_task(const struct perf_event *event)
{
	return event->hw.flags & X86_EVENT_BATCH && event->attach_state & PERF_ATTACH_SCHED_CB;
}

/* Events with records are about to leave: no record of theirs is written from here on. */
static noinline void x86_sched_unload_precise(struct x86_pmu_cpu *cpu, u64 counters)
{
	if (counters & cpu->enabled)
		x86_counters_disable(cpu, counters);
	if (intel_pebs_is_pending())
		x86_sched_drain(cpu);
	for (cpu->batch &= ~counters; counters; counters &= counters - 1) {
		struct perf_event *event = cpu->event[__ffs64(counters)];

		if (x86_sched_batch_needs_task(event))
			perf_sched_cb_dec(event->pmu);
	}
}

/*
 * An event with branch records in the store stays. Counts of these records are those of the present
 * counters: records are sampled before an event that has such counts leaves its counter.
 */
static noinline void x86_sched_unload_counted(struct x86_pmu_cpu *cpu, u64 counters)
{
	u32 flags = 0;

	for (; counters; counters &= counters - 1)
		flags |= cpu->event[__ffs64(counters)]->hw.flags;
	if (flags & X86_EVENT_BRANCH_COUNTS && intel_pebs_is_pending())
		x86_sched_drain(cpu);
}

/**
 * x86_sched_task - pmu::sched_task: an event of the CPU continues with another task
 * @pmu_ctx: unused
 * @task: unused; current if @sched_in is false
 * @sched_in: a task is switched in
 *
 * Samples of a task's records are taken before the task is switched out: a sample has the identity
 * of current.
 *
 * Context: interrupts disabled.
 */
void x86_sched_task(struct perf_event_pmu_context *pmu_ctx, struct task_struct *task,
		    bool sched_in)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (!sched_in && cpu->batch && intel_pebs_is_pending())
		x86_sched_drain(cpu);
	if (sched_in)
		x86_lbr_sched_task(cpu);
}

static void x86_sched_unload_sampling(struct x86_pmu_cpu *cpu, struct perf_event *event, u64 delta)
{
	struct hw_perf_event *hw = &event->hw;

	local64_sub(delta, &hw->period_left);
	if (local64_read(&hw->period_left) <= 0) {
		hw->flags |= X86_EVENT_MISSED;
		cpu->nmi_grace = jiffies + X86_NMI_GRACE;
	}
}

/*
 * @event has its counter, but not in irq_owned: the update is that of x86_event_update() without a
 * compare and exchange. @shift: 64 minus the width of the counter.
 */
static __always_inline u64 x86_event_update_unowned(struct perf_event *event, unsigned int shift)
{
	s64 now = (s64)(x86_event_read_counter(event) << shift) >> shift;
	u64 delta = (u64)(now - local64_read(&event->hw.prev_count)) << shift >> shift;

	local64_set(&event->hw.prev_count, now);
	local64_add(delta, &event->count);
	return delta;
}

static __always_inline void x86_sched_unload_one(struct x86_pmu_cpu *cpu, unsigned int idx,
						 u64 owner, unsigned int shift)
{
	struct perf_event *event = cpu->event[idx];
	u64 delta = x86_event_update_unowned(event, shift);

	if (unlikely(event->hw.flags & X86_EVENT_SAMPLING))
		x86_sched_unload_sampling(cpu, event, delta);
	else if (unlikely(perf_event_user_page_mapped(event)))
		x86_event_keep_value(event, cpu->readable & BIT_ULL(idx));
	cpu->owner[idx] = event->attach_state & PERF_ATTACH_TASK ? owner : 0;
	WRITE_ONCE(cpu->event[idx], NULL);
	/* An ACTIVE event is only switched out or moved: x86_sched_load() updates its user page. */
	if (event->state != PERF_EVENT_STATE_ACTIVE)
		x86_user_base_changed(event);
}

/* With the last metric, or with slots, what is left in PERF_METRICS is of the task that leaves. */
static noinline u64 x86_sched_unload_metrics(struct x86_pmu_cpu *cpu, u64 counters, u64 stop,
					     u64 owner)
{
	const struct perf_event *slots = cpu->event[INTEL_PMC_IDX_FIXED_SLOTS];

	if (counters & X86_FIXED(3) || !(cpu->metrics & ~counters)) {
		cpu->dirty |= X86_METRICS_BIT;
		cpu->owner[X86_METRIC_BASE] =
			slots->attach_state & PERF_ATTACH_TASK ? owner : 0;
	}
	return x86_topdown_unload(cpu, counters, stop);
}

/* The event of a guest's branch records has no counter. Returns the counters that are left. */
static noinline u64 x86_sched_unload_guest(struct x86_pmu_cpu *cpu, u64 counters)
{
	x86_lbr_unload_guest(cpu, cpu->event[INTEL_PMC_IDX_FIXED_VLBR]);
	WRITE_ONCE(cpu->event[INTEL_PMC_IDX_FIXED_VLBR], NULL);
	cpu->guest_only &= ~X86_GUEST_BRANCHES;
	x86_cpu_clear_bits(loaded, X86_GUEST_BRANCHES);
	return counters & ~X86_GUEST_BRANCHES;
}

/*
 * Stops the registers that events of X86_EVENT_SPECIAL have beside their counters. Returns the
 * counters of which the events are still to be removed.
 */
static noinline u64 x86_sched_unload_special(struct x86_pmu_cpu *cpu, u64 counters, u64 stop,
					     u64 owner)
{
	cpu->special &= ~counters;
	stop |= counters & cpu->pmu->rtm_counters;
	if (counters & X86_GUEST_BRANCHES)
		counters = x86_sched_unload_guest(cpu, counters);
	if (counters & cpu->precise)
		x86_sched_unload_precise(cpu, counters & cpu->precise);
	if (cpu->lbr & cpu->precise & ~counters)
		x86_sched_unload_counted(cpu, counters);
	if (cpu->metrics && counters & (cpu->metrics | X86_FIXED(3)))
		counters = x86_sched_unload_metrics(cpu, counters, stop, owner);
	if (stop & cpu->enabled)
		x86_counters_disable(cpu, stop);
	x86_cpu_clear_bits(irq_owned, counters);
	if (counters & cpu->lbr)
		x86_lbr_unload(cpu, counters & cpu->lbr);
	return counters;
}

/* The events are removed: the store may interrupt later for the batches of the others. */
static noinline void x86_sched_unloaded_special(struct x86_pmu_cpu *cpu, u64 counters)
{
	if (counters & cpu->pmu->rtm_counters)
		x86_counters_release(cpu);
	if (cpu->batch && counters & cpu->precise)
		intel_pebs_cpu_load(cpu);
}

/* In a select: what counts outside of this CPU's user space. */
#define X86_SCHED_NOT_USER	(ARCH_PERFMON_EVENTSEL_OS | ARCH_PERFMON_EVENTSEL_ANY)

/*
 * Which of these counters, in x86_pmu_cpu::sampling, need not stop before the load that follows?
 * Those of user space alone do not count meanwhile, nor overflow. If the load does not follow, a
 * counter can overflow without an event, and the handler sets it back.
 */
static noinline u64 x86_sched_linger(struct x86_pmu_cpu *cpu, u64 counters)
{
	u64 run = 0, todo = counters & cpu->enabled & ~(cpu->precise | cpu->guest_only);

	if (x86_pmu_regs.netburst || cpu->merged || x86_lbr_holds_overflows(cpu))
		return 0;
	todo &= ~cpu->pmu->rtm_counters;
	x86_cpu_clear_bits(irq_owned, todo);
	for (; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		if (cpu->event[idx]->hw.config & X86_SCHED_NOT_USER)
			continue;
		/* The event must not take the value for that of a counter that has stopped. */
		cpu->tag[idx]++;
		run |= BIT_ULL(idx);
	}
	cpu->lingering |= run;
	return run;
}

/**
 * x86_sched_unload - remove events from counters and update the counts of the events
 * @cpu: this CPU
 * @counters: subset of @cpu->loaded
 * @load_follows: x86_sched_load() follows before this CPU is in user space again
 *
 * Counters of sampling events, and those that programs read, stop and keep the value, but those
 * that linger for the load. Those that microcode uses are returned to it. The others continue to
 * run.
 *
 * Context: interrupts disabled.
 */
void x86_sched_unload(struct x86_pmu_cpu *cpu, u64 counters, bool load_follows)
{
	u64 stop = counters & (cpu->sampling | cpu->readable), todo;
	u64 special = counters & cpu->special;
	unsigned int shift = 64 - cpu->pmu->width;
	u64 owner = x86_sched_current_owner();

	lockdep_assert_irqs_disabled();
	if (stop & cpu->sampling && load_follows)
		stop &= ~x86_sched_linger(cpu, stop & cpu->sampling);
	if (unlikely(special))
		counters = x86_sched_unload_special(cpu, counters, stop, owner);
	if (stop & cpu->enabled)
		x86_counters_disable(cpu, stop);
	x86_cpu_clear_bits(irq_owned, counters);
	for (todo = counters; todo; todo &= todo - 1)
		x86_sched_unload_one(cpu, __ffs64(todo), owner, shift);

	cpu->sampling &= ~counters;
	cpu->readable &= ~counters;
	cpu->host_only &= ~counters;
	cpu->guest_only &= ~counters;
	cpu->dirty |= counters;
	x86_cpu_clear_bits(loaded, counters);
	x86_cpu_clear_bits(missed, counters);
	if (unlikely(special))
		x86_sched_unloaded_special(cpu, special);
}

/**
 * x86_sched_save - pmu::sched_save: remove events of the loaded schedule
 * @pmu: the PMU
 * @s: the loaded schedule
 * @mask: bit n is set if the event of slot n is to be removed
 * @next: task that is switched in; NULL: none
 *
 * Context: interrupts disabled.
 */
void x86_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask,
		    const struct task_struct *next)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	bool follows = false;
	u64 counters = 0;

	lockdep_assert_irqs_disabled();
	for (; mask; mask &= mask - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(mask)];
		unsigned int idx = slot->idx & X86_SLOT_COUNTER;

		if (cpu->event[idx] == slot->event)
			counters |= BIT_ULL(idx);
	}
	if (counters & cpu->sampling && x86_nr_pmus == 1)
		follows = perf_sched_load_follows(pmu, next);
	if (counters)
		x86_sched_unload(cpu, counters, follows);
}

/* ------------------------------------------------------------ missed overflows */

/* Has the counter of @event overflowed without the handler? The event's count is up to date. */
static bool x86_event_overflowed(const struct perf_event *event)
{
	if (event->hw.flags & X86_EVENT_SAMPLING)
		return local64_read(&event->hw.period_left) <= 0;
	return x86_event_wrapped(event);
}

/*
 * Does the overflow handler's work for a counting event; with @rewind its counter is wound back
 * even if it has not overflowed. A sampling event with an expired period is programmed to overflow
 * at once instead. The counter is disabled until it is in irq_owned again, because only then can
 * the handler take the sample.
 */
static noinline void x86_event_catch_up(struct x86_pmu_cpu *cpu, struct perf_event *event, u64 bit,
					bool rewind)
{
	x86_counters_disable(cpu, bit);
	x86_cpu_clear_bits(missed, bit);
	x86_event_update(event);
	if (!(event->hw.flags & X86_EVENT_SAMPLING)) {
		if (rewind || x86_event_wrapped(event))
			x86_event_rewind(cpu, event);
	} else {
		if (x86_event_overflowed(event)) {
			event->hw.flags |= X86_EVENT_MISSED;
			cpu->nmi_grace = jiffies + X86_NMI_GRACE;
		}
		x86_event_program(cpu, event);
	}
	x86_user_base_changed(event);
	x86_cpu_set_bits(irq_owned, bit);
	x86_counter_enable(cpu, event);
	x86_commit_enabled(cpu);
}

/* The handler found an overflow of the counter while it was not in irq_owned. */
static noinline void x86_event_handle_missed(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	u64 bit = BIT_ULL(event->hw.idx);

	x86_cpu_clear_bits(irq_owned, bit);
	/* A later interrupt can have handled the overflow and stopped the event. */
	if (event->hw.state & PERF_HES_STOPPED)
		x86_cpu_clear_bits(missed, bit);
	else
		x86_event_catch_up(cpu, event, bit, false);
}

/**
 * x86_sched_rewind_counting - wind back the counters of counting events
 * @cpu: this CPU
 *
 * The values can include counts from before the events were loaded. Call this when the current
 * program gets the permission to read counters. Counters that programs read already stay.
 *
 * Context: interrupts disabled.
 */
void x86_sched_rewind_counting(struct x86_pmu_cpu *cpu)
{
	u64 todo = cpu->irq_owned & ~(cpu->sampling | cpu->readable);

	lockdep_assert_irqs_disabled();
	for (; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		x86_cpu_clear_bits(irq_owned, BIT_ULL(idx));
		x86_event_catch_up(cpu, cpu->event[idx], BIT_ULL(idx), true);
		cpu->readable |= BIT_ULL(idx);
	}
}

/**
 * x86_sched_reselect - write the selects of loaded events again, for another virt_clear
 * @cpu: this CPU
 *
 * Meanwhile the overflow handler stops no counter, and what overflows is handled afterwards.
 *
 * Context: interrupts disabled.
 */
void x86_sched_reselect(struct x86_pmu_cpu *cpu)
{
	u64 owned = x86_cpu_take_bits(irq_owned), todo;

	lockdep_assert_irqs_disabled();
	for (todo = cpu->loaded; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		x86_select(cpu, cpu->event[idx], idx);
	}
	x86_cpu_set_bits(irq_owned, owned);
	for (todo = READ_ONCE(cpu->missed) & owned; todo; todo &= todo - 1)
		x86_event_handle_missed(cpu, cpu->event[__ffs64(todo)]);
}

/* ---------------------------------------------------------------- onto the CPU */

static __always_inline void x86_sched_set_counter(const struct x86_pmu_cpu *cpu,
						  struct perf_event *event, unsigned int idx)
{
	/* A tag describes the value of the previous counter, not of this one. */
	if (event->hw.idx != idx)
		event->hw.last_cpu = -1;
	event->hw.idx = idx;
	if (likely(idx < X86_METRIC_BASE))
		event->hw.event_base_rdpmc = x86_rdpmc_index(cpu, idx);
}

static void x86_sched_load_select(struct x86_pmu_cpu *cpu, const struct perf_sched_slot *slot)
{
	struct perf_event *event = slot->event;
	unsigned int idx = slot->idx & X86_SLOT_COUNTER;

	x86_sched_set_counter(cpu, event, idx);
	if (unlikely(idx >= X86_METRIC_BASE))
		return;
	if (event->hw.extra_reg.reg)
		x86_extra_load(cpu, event, slot->idx & X86_SLOT_ALTERNATE);
	x86_select(cpu, event, idx);
}

static void x86_sched_mark_guest(struct x86_pmu_cpu *cpu, const struct perf_event *event, u64 bit)
{
	if (event->attr.exclude_host)
		cpu->guest_only |= bit;
	if (event->attr.exclude_guest)
		cpu->host_only |= bit;
}

/*
 * The event counts from the counter's present value. The counter is wound back if it overflowed
 * without an event, and to @hide earlier counts from a program that may read it.
 */
static __always_inline void x86_sched_load_counting(struct x86_pmu_cpu *cpu,
						    struct perf_event *event, bool hide)
{
	unsigned int shift = 64 - cpu->pmu->width;
	s64 val = (s64)(x86_event_read_counter(event) << shift) >> shift;

	if (x86_value_overflowed(val) || hide) {
		x86_event_rewind(cpu, event);
		return;
	}
	/* The event that left this value must not find its tag again. */
	cpu->tag[event->hw.idx]++;
	local64_set(&event->hw.prev_count, val);
}

/* A throttled event stays stopped until the core calls pmu::start. Only sampling ones are. */
static bool x86_event_is_throttled(const struct perf_event *event)
{
	return event->hw.interrupts == PERF_THROTTLED;
}

static __always_inline void x86_sched_load_unsampled(struct x86_pmu_cpu *cpu,
						     struct perf_event *event, u64 bit,
						     u64 hide)
{
	if (unlikely(perf_event_user_page_mapped(event))) {
		x86_event_resume(cpu, event);
		cpu->readable |= bit;
	} else {
		x86_sched_load_counting(cpu, event, hide & bit);
	}
}

/* An event that samples, or has more than a count. Returns its state. */
static noinline int x86_sched_load_special(struct x86_pmu_cpu *cpu, struct perf_event *event,
					   u64 bit, u64 hide)
{
	if (event->hw.flags & X86_EVENT_SPECIAL)
		cpu->special |= bit;
	/* x86_topdown_load() starts a group with metrics. */
	if (event->hw.flags & X86_EVENT_TOPDOWN && cpu->loaded & X86_METRICS)
		return PERF_HES_STOPPED;
	if (event->hw.flags & X86_EVENT_GUEST_BRANCHES) {
		x86_lbr_load_guest(cpu, event);
		return PERF_HES_STOPPED;
	}
	if (event->hw.flags & X86_EVENT_BRANCHES)
		x86_lbr_load(cpu, event);
	if (x86_sched_batch_needs_task(event))
		perf_sched_cb_inc(event->pmu);
	if (!(event->hw.flags & X86_EVENT_SAMPLING)) {
		x86_sched_load_unsampled(cpu, event, bit, hide);
		return 0;
	}
	x86_event_program(cpu, event);
	cpu->sampling |= bit;
	return x86_event_is_throttled(event) ? PERF_HES_STOPPED : 0;
}

static void x86_sched_load_event(struct x86_pmu_cpu *cpu, const struct perf_sched_slot *slot,
				 u64 hide)
{
	unsigned int idx = slot->idx & X86_SLOT_COUNTER;
	struct perf_event *event = slot->event;
	u64 bit = BIT_ULL(idx);
	int state = 0;

	if (event->hw.flags & (X86_EVENT_SAMPLING | X86_EVENT_SPECIAL))
		state = x86_sched_load_special(cpu, event, bit, hide);
	else
		x86_sched_load_unsampled(cpu, event, bit, hide);
	if (event->attr.exclude_host | event->attr.exclude_guest)
		x86_sched_mark_guest(cpu, event, bit);
	WRITE_ONCE(cpu->event[idx], event);
	event->hw.state = state;
	if (state)
		return;
	x86_cpu_set_bits(irq_owned, bit);
	if (!(cpu->enabled & bit))
		x86_counter_enable(cpu, event);
}

/* Must the counter be disabled while it is programmed for this event, unless it has lingered? */
static bool x86_sched_must_stop(const struct perf_event *event)
{
	return event->hw.flags & X86_EVENT_SAMPLING || x86_guest_only(event);
}

/* Is the event on the slot's counter already, with the slot's extra register? */
static bool x86_sched_slot_stays(const struct x86_pmu_cpu *cpu, const struct perf_sched_slot *slot)
{
	const struct hw_perf_event_extra *reg = &slot->event->hw.extra_reg;

	return cpu->event[slot->idx & X86_SLOT_COUNTER] == slot->event &&
	       (!reg->reg || reg->alloc == !!(slot->idx & X86_SLOT_ALTERNATE));
}

static noinline bool x86_sched_needs_prepare(const struct x86_pmu_cpu *cpu,
					     const struct perf_schedule *s, u64 fresh)
{
	for (; fresh; fresh &= fresh - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(fresh)];

		if (x86_select_needs_prepare(cpu, slot->event, slot->idx & X86_SLOT_COUNTER))
			return true;
	}
	return false;
}

static noinline void x86_sched_prepare(struct x86_pmu_cpu *cpu, const struct perf_schedule *s,
				       u64 fresh)
{
	if (!x86_sched_needs_prepare(cpu, s, fresh))
		return;
	if (cpu->batch)
		x86_sched_pause(cpu);
	x86_select_prepare(cpu);
}

/* Events get counters that microcode uses. Returns the counters with values of microcode. */
static noinline u64 x86_sched_load_rtm(struct x86_pmu_cpu *cpu, u64 counters)
{
	cpu->special |= counters;
	intel_tfa_force_abort(true);
	return cpu->pmu->rtm_counters;
}

/* Events of X86_EVENT_SPECIAL are on their counters. @paused: counters to be enabled again */
static noinline void x86_sched_loaded_special(struct x86_pmu_cpu *cpu, u64 taken, u64 paused)
{
	if (cpu->loaded & X86_METRICS && taken & (X86_METRICS | X86_FIXED(3)))
		x86_topdown_load(cpu, taken);
	x86_cpu_set_bits(enabled, paused & READ_ONCE(cpu->irq_owned));
}

static void x86_sched_handle_missed(struct x86_pmu_cpu *cpu, u64 taken)
{
	u64 todo;

	for (todo = READ_ONCE(cpu->missed) & taken; unlikely(todo); todo &= todo - 1)
		x86_event_handle_missed(cpu, cpu->event[__ffs64(todo)]);
}

/*
 * Can the event have a counter in x86_pmu_cpu::lingering without a stop? It is selected already,
 * and starts to count when this CPU is in user space again.
 */
static bool x86_sched_takes_over(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
				 unsigned int idx)
{
	u32 other = X86_EVENT_PRECISE | X86_EVENT_TOPDOWN | X86_EVENT_PAIR;

	return !(event->hw.flags & other) && !event->attr.exclude_host &&
	       !x86_event_is_throttled(event) && x86_select_is_done(cpu, event, idx);
}

/* Ends the set of lingering counters. Returns those that events take over; @fresh: their slots. */
static noinline u64 x86_sched_take_over(struct x86_pmu_cpu *cpu, const struct perf_schedule *s,
					u64 fresh)
{
	u64 run = 0;

	for (; fresh; fresh &= fresh - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(fresh)];
		unsigned int idx = slot->idx & X86_SLOT_COUNTER;

		if (cpu->lingering & BIT_ULL(idx) && x86_sched_takes_over(cpu, slot->event, idx))
			run |= BIT_ULL(idx);
	}
	cpu->lingering = 0;
	return run;
}

/* Stops the lingering counters but those in @taken, which counting events take as they are. */
static noinline void x86_sched_stop_lingering(struct x86_pmu_cpu *cpu, u64 taken)
{
	x86_counters_disable(cpu, cpu->lingering & ~taken);
	cpu->lingering = 0;
}

/*
 * Must no record be written while events with these flags are loaded? The periods that records
 * begin, and their size, do not change while there are some, nor do the places of counts in their
 * branches.
 */
static bool x86_sched_must_pause(const struct x86_pmu_cpu *cpu, unsigned int flags)
{
	if (flags & X86_EVENT_BRANCH_COUNTS && cpu->lbr & cpu->precise)
		return true;
	return flags & X86_EVENT_PRECISE && cpu->batch;
}

/* Puts events on counters; @fresh: their slots in @s. */
static noinline void x86_sched_load_slots(struct x86_pmu_cpu *cpu, const struct perf_schedule *s,
					  u64 fresh)
{
	u64 stop = 0, taken = 0, paused = 0, hide, todo;
	unsigned int flags = 0;

	for (todo = fresh; todo; todo &= todo - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(todo)];
		u64 bit = BIT_ULL(slot->idx & X86_SLOT_COUNTER);

		taken |= bit;
		flags |= slot->event->hw.flags;
		if (x86_sched_must_stop(slot->event))
			stop |= bit;
	}
	if (unlikely(x86_pmu_regs.prepare))
		x86_sched_prepare(cpu, s, fresh);
	if (unlikely(flags & X86_EVENT_SPECIAL) && x86_sched_must_pause(cpu, flags))
		paused = x86_sched_pause(cpu);
	if (unlikely(cpu->lingering)) {
		stop |= cpu->lingering;
		stop &= ~x86_sched_take_over(cpu, s, fresh);
	}
	if (stop & cpu->enabled)
		x86_counters_disable(cpu, stop);
	x86_cpu_set_bits(loaded, taken);
	hide = x86_user_reads_counters() ? cpu->dirty : 0;
	cpu->dirty &= ~taken;
	if (unlikely(taken & cpu->pmu->rtm_counters))
		hide |= x86_sched_load_rtm(cpu, taken & cpu->pmu->rtm_counters);

	for (todo = fresh; todo; todo &= todo - 1)
		x86_sched_load_select(cpu, &s->slot[__ffs64(todo)]);
	x86_select_flush(cpu);
	if (unlikely(flags & X86_EVENT_BRANCH_COUNTS))
		x86_lbr_counts_moved(cpu);
	for (todo = fresh; todo; todo &= todo - 1)
		x86_sched_load_event(cpu, &s->slot[__ffs64(todo)], hide);
	if (unlikely(flags & X86_EVENT_SPECIAL))
		x86_sched_loaded_special(cpu, taken, paused);
	x86_commit_enabled(cpu);
	x86_sched_handle_missed(cpu, taken);
	for (todo = fresh; todo; todo &= todo - 1)
		x86_user_base_changed(s->slot[__ffs64(todo)].event);
}

/*
 * The counters on which an event that only counts can be loaded by reading the counter: they run,
 * and what they have counted for others need not be hidden. With CR4.PCE set there is none.
 */
static __always_inline u64 x86_sched_running(const struct x86_pmu_cpu *cpu)
{
	if (unlikely(x86_pmu_regs.prepare | x86_pmu_regs.netburst) || unlikely(cpu->merged) ||
	    unlikely(x86_user_reads_counters()))
		return 0;
	return cpu->enabled & ~(cpu->precise | cpu->pmu->rtm_counters);
}

/*
 * Does loading the event on counter @idx, if that is one of x86_sched_running(), take no more than
 * reading the counter? A metric has no select, and one of the flags.
 */
static __always_inline bool x86_sched_is_plain(const struct x86_pmu_cpu *cpu,
					       const struct perf_event *event, unsigned int idx)
{
	const struct hw_perf_event *hw = &event->hw;

	return !(hw->flags & (X86_EVENT_SAMPLING | X86_EVENT_SPECIAL | X86_EVENT_PAIR)) &&
	       !hw->extra_reg.reg && !event->attr.exclude_host &&
	       !perf_event_user_page_mapped(event) && x86_select_is_done(cpu, event, idx);
}

/*
 * Puts events that only count on counters that run already; @fresh: their slots in @s, @taken: the
 * counters. The handler notes an overflow of a counter in loaded as missed: a counter is in that
 * set before it is read.
 */
static __always_inline void x86_sched_load_plain(struct x86_pmu_cpu *cpu,
						 const struct perf_schedule *s, u64 fresh,
						 u64 taken)
{
	x86_cpu_set_bits(loaded, taken);
	cpu->dirty &= ~taken;
	for (; fresh; fresh &= fresh - 1) {
		const struct perf_sched_slot *slot = &s->slot[__ffs64(fresh)];
		unsigned int idx = slot->idx & X86_SLOT_COUNTER;
		struct perf_event *event = slot->event;

		if (unlikely(event->hw.idx != idx))
			x86_sched_set_counter(cpu, event, idx);
		x86_sched_load_counting(cpu, event, false);
		if (event->attr.exclude_guest)
			cpu->host_only |= BIT_ULL(idx);
		WRITE_ONCE(cpu->event[idx], event);
		event->hw.state = 0;
		x86_user_base_changed(event);
	}
	x86_cpu_set_bits(irq_owned, taken);
	x86_sched_handle_missed(cpu, taken);
}

/**
 * x86_sched_load - pmu::sched_load: put the events of a schedule on the assigned counters
 * @pmu: the PMU
 * @s: the schedule, with counters assigned
 *
 * Events that are loaded and not in @s are removed. Events that stay on a counter are not
 * touched.
 *
 * Context: interrupts disabled.
 */
void x86_sched_load(struct pmu *pmu, struct perf_schedule *s)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	u64 keep = 0, fresh = 0, taken = 0;
	bool plain = true;
	unsigned int i;

	lockdep_assert_irqs_disabled();
	for (i = 0; i < s->nr; i++) {
		unsigned int idx = s->slot[i].idx & X86_SLOT_COUNTER;

		if (x86_sched_slot_stays(cpu, &s->slot[i])) {
			keep |= BIT_ULL(idx);
			continue;
		}
		fresh |= BIT_ULL(i);
		taken |= BIT_ULL(idx);
		if (!x86_sched_is_plain(cpu, s->slot[i].event, idx))
			plain = false;
	}

	if (cpu->loaded & ~keep)
		x86_sched_unload(cpu, cpu->loaded & ~keep, fresh);
	if (unlikely(cpu->lingering) && (!fresh || plain))
		x86_sched_stop_lingering(cpu, taken);
	if (!fresh)
		return;
	/* All or none: the members of a group start to count together. */
	if (plain && !(taken & ~x86_sched_running(cpu)))
		x86_sched_load_plain(cpu, s, fresh, taken);
	else
		x86_sched_load_slots(cpu, s, fresh);
}

/* ----------------------------------------------------------------- single events */

static bool x86_event_is_loaded(const struct x86_pmu_cpu *cpu, const struct perf_event *event)
{
	return event->hw.idx >= 0 && cpu->event[event->hw.idx] == event;
}

/**
 * x86_event_start - pmu::start: let a stopped event count
 * @event: event to start; nothing happens unless @event is loaded on this CPU
 * @flags: PERF_EF_RELOAD if a sampling event's period was set by the caller
 *
 * Context: interrupts disabled.
 */
void x86_event_start(struct perf_event *event, int flags)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	lockdep_assert_irqs_disabled();
	event->hw.state = 0;
	if (!x86_event_is_loaded(cpu, event) || event->hw.idx >= X86_METRIC_BASE)
		return;
	if (event->hw.flags & X86_EVENT_SAMPLING) {
		/* IOC_PERIOD can have changed the period of a throttled event. */
		if (event->hw.flags & X86_EVENT_BATCH)
			x86_select_reload(cpu, event);
		/* The counter can have overflowed again before x86_event_stop(). */
		if (!(flags & PERF_EF_RELOAD)) {
			x86_event_catch_up(cpu, event, BIT_ULL(event->hw.idx), false);
			return;
		}
		x86_event_program(cpu, event);
		x86_user_base_changed(event);
	}
	x86_cpu_set_bits(irq_owned, BIT_ULL(event->hw.idx));
	x86_counter_enable(cpu, event);
	x86_commit_enabled(cpu);
}

/**
 * x86_event_stop - pmu::stop: disable an event's counter
 * @event: event to stop; nothing happens unless @event is loaded on this CPU
 * @flags: PERF_EF_UPDATE to update the count
 *
 * The overflow handler stops an event that is throttled or has reached the event limit.
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_event_stop(struct perf_event *event, int flags)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	bool was_stopped = event->hw.state & PERF_HES_STOPPED;

	lockdep_assert_irqs_disabled();
	event->hw.state |= PERF_HES_STOPPED;
	if (!x86_event_is_loaded(cpu, event) || event->hw.idx >= X86_METRIC_BASE)
		return;
	if (!was_stopped) {
		x86_counters_disable(cpu, BIT_ULL(event->hw.idx));
		if (cpu->batch & BIT_ULL(event->hw.idx) && !in_nmi() && intel_pebs_is_pending())
			x86_sched_drain(cpu);
		x86_cpu_clear_bits(irq_owned, BIT_ULL(event->hw.idx));
	}
	if (flags & PERF_EF_UPDATE && !(event->hw.state & PERF_HES_UPTODATE)) {
		x86_event_update(event);
		event->hw.state |= PERF_HES_UPTODATE;
	}
}

/*
 * An update is right only with all records accounted and no other written meanwhile. In an NMI that
 * is not the overflow handler, or that has interrupted a change of the counter, the count stays as
 * it is.
 */
static noinline void x86_event_read_batch(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	u64 on;

	if (in_nmi()) {
		if (cpu->irq_owned & BIT_ULL(event->hw.idx) && cpu->halted &&
		    intel_pebs_try_account(cpu))
			x86_event_update(event);
		return;
	}
	on = x86_sched_pause(cpu);
	x86_event_update(event);
	x86_sched_unpause(cpu, on);
}

/* Of an event that has more than a counter. Returns false for a counter as any other. */
static noinline bool x86_event_read_special(struct x86_pmu_cpu *cpu, struct perf_event *event,
					    u64 bit)
{
	if (bit & X86_GUEST_BRANCHES)
		return true;
	if (cpu->metrics && event->hw.flags & X86_EVENT_TOPDOWN)
		x86_topdown_read(cpu, event);
	else if (cpu->batch & bit)
		x86_event_read_batch(cpu, event);
	else
		return false;
	return true;
}

/**
 * x86_event_read - pmu::read: update an event's count
 * @event: event to update; nothing happens unless @event is loaded on this CPU
 *
 * An update writes prev_count and then the count. The overflow handler must not run in between: the
 * handler would see a sampling period that has not ended yet, and publish a count in the user page
 * that does not match prev_count. An overflow that happens meanwhile is handled afterwards.
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_event_read(struct perf_event *event)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	u64 bit, delta;

	lockdep_assert_irqs_disabled();
	if (!x86_event_is_loaded(cpu, event))
		return;
	bit = BIT_ULL(event->hw.idx);
	if (unlikely(event->hw.flags & X86_EVENT_SPECIAL) &&
	    x86_event_read_special(cpu, event, bit))
		return;
	if (unlikely(!(cpu->irq_owned & bit) || in_nmi())) {
		/* A counter that is not in irq_owned is stopped, or an NMI found it so. */
		if (cpu->irq_owned & bit || !in_nmi())
			x86_event_update(event);
		return;
	}

	x86_cpu_clear_bits(irq_owned, bit);
	delta = x86_event_update_unowned(event, 64 - cpu->pmu->width);
	if (event->hw.flags & X86_EVENT_SAMPLING) {
		local64_sub(delta, &event->hw.period_left);
		/* An NMI can have throttled the event before: it stays stopped. */
		if (unlikely(event->hw.state & PERF_HES_STOPPED))
			return;
	}
	/* At the end of its period an event with precise samples waits for a record. */
	if (unlikely(x86_event_overflowed(event)) && !(event->hw.flags & X86_EVENT_PRECISE)) {
		x86_event_catch_up(cpu, event, bit, false);
		return;
	}
	x86_cpu_set_bits(irq_owned, bit);
	if (unlikely(READ_ONCE(cpu->missed) & bit))
		x86_event_handle_missed(cpu, event);
}
