// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records on a CPU: loading, the interrupt, switches between tasks.
 *
 * The registers belong to the CPU, and an entry does not name its task. When an event is loaded,
 * one entry is overwritten with a marker: older entries belong to other tasks, and a reader stops
 * there. The marker ages as the other entries do. It is overwritten when as many branches as there
 * are entries have been logged. Clearing all registers would be 100 writes on a part with 32
 * entries. Architectural records are emptied by one write.
 *
 * Recording continues without events, as counters do, until the machine's last event with branch
 * records is closed. Call stacks and buffers are different: recording stops with the last of their
 * events on the CPU.
 *
 * Manual: SDM 3B, "Last Branch, Interrupt, and Exception Recording" and "Freezing LBRs on PMI".
 *
 * Context: interrupts disabled on the CPU of the registers, or NMI.
 */
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/idtentry.h>

#include "branch.h"
#include "lbr.h"

/**
 * struct x86_branch_sample - branch records of a sample
 * @stack: entries, followed by @entry
 * @entry: storage of the entries of @stack
 * @counts: what counters have counted since the branch before, for each of @entry
 */
struct x86_branch_sample {
	struct perf_branch_stack	stack;
	struct perf_branch_entry	entry[X86_BRANCH_MAX];
	u64				counts[X86_BRANCH_MAX];
};

/**
 * struct x86_branch_cpu - branch records of one CPU
 * @info_users: loaded events with branch records that need INFO registers
 * @stack_users: those in call-stack mode; no others are loaded then
 * @stack: task of which the registers hold the call stack, for an event of the task; NULL: none
 * @freezes: recording was started with a freeze by the interrupt
 * @stopped: x86_lbr_snapshot() reads the registers, and an NMI must not start recording
 * @restart: an NMI would have started recording meanwhile
 * @logged: @log is valid for the interrupt being handled
 * @seq: changes with each use of the registers
 * @select: value last written to the filter register; ~0: unknown
 * @log: registers as read in the interrupt
 * @sample: what a sample refers to that is being made outside of an NMI
 * @nmi_sample: the same in an NMI
 */
struct x86_branch_cpu {
	unsigned int			info_users;
	unsigned int			stack_users;
	const struct x86_branch_task	*stack;
	bool				freezes;
	bool				stopped;
	bool				restart;
	bool				logged;
	u64				seq;
	u64				select;
	struct x86_branch_log		log;
	struct x86_branch_sample	sample;
	struct x86_branch_sample	nmi_sample;
};

static DEFINE_PER_CPU(struct x86_branch_cpu, x86_branch_cpu);

static bool lbr_has_ring(const struct x86_pmu *xpmu)
{
	return xpmu->branches->kind == X86_BRANCHES_RING;
}

/* With version 4 a flag of the status freezes the records; before, DEBUGCTL.LBR is cleared. */
static bool lbr_freeze_clears_lbr(const struct x86_pmu_cpu *cpu)
{
	return lbr_has_ring(cpu->pmu) && cpu->pmu->version < 4;
}

static bool lbr_has_buffer(const struct x86_pmu *xpmu)
{
	return xpmu->branches->kind == X86_BRANCHES_BUFFER;
}

/* Has the handler of an interrupt to stop recording itself? */
static bool lbr_lacks_freeze(const struct x86_pmu *xpmu)
{
	return lbr_has_buffer(xpmu) || xpmu->branches->flags & X86_BRANCHES_NO_FREEZE;
}

static bool lbr_has_info(const struct x86_pmu *xpmu)
{
	return xpmu->branch_layout & X86_BRANCH_INFO;
}

/* ------------------------------------------------------------- call-stack mode */

/* What was saved for the event's task; NULL: nothing, or what the other kind of user saved. */
static const struct x86_branch_task *lbr_saved(const struct perf_event *event, bool guest)
{
	const struct x86_branch_task *task = perf_event_task_data(event);

	return task && task->seq && task->guest == guest ? task : NULL;
}

/* The call stack of the event's task; NULL if the task can have run since it was saved. */
static const struct x86_branch_task *lbr_saved_stack(const struct perf_event *event)
{
	const struct x86_branch_task *task = lbr_saved(event, false);

	return task && task->time == perf_event_task_clock(event) ? task : NULL;
}

/* What the event's guest has left; NULL if it has not run, or another guest has run since. */
static const struct x86_branch_task *lbr_saved_guest(const struct perf_event *event)
{
	const struct x86_branch_task *task = lbr_saved(event, true);

	return task && event->hw.branch_tag == task->generation ? task : NULL;
}

/* Do the registers hold it still, without another use since? */
static bool lbr_saved_is_there(const struct x86_branch_cpu *br, const struct x86_pmu *xpmu,
			       const struct x86_branch_task *task)
{
	return task && task->seq == br->seq && task->cpu == smp_processor_id() &&
	       x86_branches_are_kept(xpmu->branches, task);
}

/* Fills the registers with a call stack; @task is NULL for an empty one. */
static void lbr_stack_restore(struct x86_branch_cpu *br, const struct x86_pmu *xpmu,
			      const struct x86_branch_task *task)
{
	if (!lbr_saved_is_there(br, xpmu, task))
		x86_branches_write_stack(xpmu->branches, task, xpmu->branch_layout);
}

static void lbr_stack_save(struct x86_branch_cpu *br, const struct x86_pmu *xpmu,
			   struct x86_branch_task *task)
{
	const struct x86_branches *b = xpmu->branches;

	task->top = x86_branches_newest(b);
	task->nr = x86_branches_read(b, task->top, lbr_has_info(xpmu), task->entry);
	task->cpu = smp_processor_id();
	task->seq = br->seq;
	task->guest = false;
	task->generation++;
}

/*
 * The first event finds the registers with the stack of another task, or none. An event of a task
 * may also find that of a task before in them, if an event of the CPU has stayed. Any event of the
 * task restores what another one has saved: events that are bound to CPUs take turns when the task
 * moves.
 */
static void lbr_stack_load(struct x86_branch_cpu *br, const struct x86_pmu *xpmu,
			   const struct perf_event *event)
{
	const struct x86_branch_task *task = perf_event_task_data(event);

	if (br->stack_users++ && (!task || task == br->stack))
		return;
	br->stack = task;
	lbr_stack_restore(br, xpmu, lbr_saved_stack(event));
}

/* Leaves in the registers the stack of the event's task, or else nothing of other tasks. */
static void lbr_hand_over(struct x86_branch_cpu *br, const struct x86_pmu *xpmu,
			  const struct perf_event *event)
{
	if (x86_event_branch_stack(event))
		lbr_stack_load(br, xpmu, event);
	else
		x86_branches_mark(xpmu->branches);
	br->seq++;
}

/*
 * Events of one task have the same data. The task of an event that is not ACTIVE continues without
 * it: what is in the registers now is no stack when the event is loaded again.
 */
static void lbr_stack_unload(struct x86_branch_cpu *br, const struct x86_pmu *xpmu,
			     const struct perf_event *event, struct x86_branch_task **saved)
{
	struct x86_branch_task *task = perf_event_task_data(event);

	br->stack_users--;
	if (!task || task == *saved)
		return;
	if (event->state != PERF_EVENT_STATE_ACTIVE) {
		task->seq = 0;
		return;
	}
	lbr_stack_save(br, xpmu, task);
	task->time = perf_event_task_clock(event);
	*saved = task;
}

/* ------------------------------------------------------------------ on the CPU */

static void lbr_select(struct x86_branch_cpu *br, const struct perf_event *event)
{
	const struct hw_perf_event_extra *reg = &event->hw.branch_reg;

	if (!reg->reg)
		return;
	/* Another thread can have written a shared register since. */
	if (br->select == reg->config && !(event->hw.flags & X86_EVENT_SHARED_BRANCHES))
		return;
	br->select = reg->config;
	wrmsrl(reg->reg, reg->config);
}

static bool lbr_needs_info(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	u32 none = X86_BRANCH_NO_FLAGS | X86_BRANCH_NO_CYCLES;
	u32 filter = x86_event_branch_filter(event);

	return (filter & none) != none ||
	       filter & (X86_BRANCH_IN_TX | X86_BRANCH_NO_TX | X86_BRANCH_ABORT |
			 X86_BRANCH_COUNTERS) ||
	       (filter & X86_BRANCH_DECODE && xpmu->branch_layout & X86_BRANCH_INFO_TYPE);
}

/* Events of a CPU stay while tasks change. */
static bool lbr_needs_sched_task(const struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_SCHED_CB;
}

/* Is recording off, or on with the other kind of freeze? */
static bool lbr_must_start(const struct x86_pmu_cpu *cpu, const struct x86_branch_cpu *br)
{
	if (!cpu->branches_on || br->freezes == !!br->stack_users)
		return true;
	return cpu->branches_frozen && lbr_freeze_clears_lbr(cpu);
}

static void lbr_start(struct x86_pmu_cpu *cpu, struct x86_branch_cpu *br)
{
	br->freezes = !br->stack_users;
	x86_branches_start(cpu->pmu->branches, br->freezes);
}

/**
 * x86_lbr_load - prepare the branch records for an event
 * @cpu: this CPU
 * @event: event with X86_EVENT_BRANCHES that is put on a counter, which does not count yet
 *
 * Context: interrupts disabled.
 */
void x86_lbr_load(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);

	lockdep_assert_irqs_disabled();
	cpu->lbr |= BIT_ULL(event->hw.idx);
	br->info_users += lbr_needs_info(cpu->pmu, event);
	lbr_select(br, event);
	lbr_hand_over(br, cpu->pmu, event);
	if (lbr_must_start(cpu, br)) {
		cpu->branches_on = true;
		lbr_start(cpu, br);
	}
	cpu->branches_frozen = false;
	if (lbr_needs_sched_task(event))
		perf_sched_cb_inc(event->pmu);
}

/**
 * x86_lbr_cpu_stop - stop recording
 * @cpu: this CPU, without events with branch records from now on
 *
 * Context: interrupts disabled.
 */
void x86_lbr_cpu_stop(struct x86_pmu_cpu *cpu)
{
	if (!cpu->branches_on)
		return;
	x86_branches_stop(cpu->pmu->branches);
	cpu->branches_on = false;
	/* The control of some parts has the filter, too. */
	this_cpu_write(x86_branch_cpu.select, ~0ULL);
}

/**
 * x86_lbr_holds_overflows - can an interrupt be due later than its counter overflows?
 * @cpu: this CPU
 *
 * A buffer is filled first, which may be after the entry into the kernel.
 *
 * Context: interrupts disabled.
 * Return: true if events with a buffer are loaded
 */
bool x86_lbr_holds_overflows(const struct x86_pmu_cpu *cpu)
{
	return cpu->lbr && lbr_has_buffer(cpu->pmu);
}

/* Is an event of a task loaded? It has filled the registers with the task's stack. */
static bool lbr_has_task_event(const struct x86_pmu_cpu *cpu)
{
	u64 todo = cpu->lbr;

	for (; todo; todo &= todo - 1)
		if (perf_event_task_data(cpu->event[__ffs64(todo)]))
			return true;
	return false;
}

/**
 * x86_lbr_unload - remove events with branch records
 * @cpu: this CPU
 * @counters: subset of @cpu->lbr; the events are still in @cpu->event
 *
 * Context: interrupts disabled.
 */
void x86_lbr_unload(struct x86_pmu_cpu *cpu, u64 counters)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);
	struct x86_branch_task *saved = NULL;

	lockdep_assert_irqs_disabled();
	/*
	 * What other tasks call and return from is no part of a stack, and freezing differs. A
	 * buffer holds back the interrupt of the counter for whatever event is on it.
	 */
	cpu->lbr &= ~counters;
	if ((br->stack_users || lbr_has_buffer(cpu->pmu)) && !cpu->lbr)
		x86_lbr_cpu_stop(cpu);
	for (; counters; counters &= counters - 1) {
		struct perf_event *event = cpu->event[__ffs64(counters)];

		if (x86_event_branch_stack(event))
			lbr_stack_unload(br, cpu->pmu, event, &saved);
		br->info_users -= lbr_needs_info(cpu->pmu, event);
		if (lbr_needs_sched_task(event))
			perf_sched_cb_dec(event->pmu);
	}
	/* The events of the CPU that stay loaded record the calls of the next task. */
	if (br->stack_users && !lbr_has_task_event(cpu))
		br->stack = NULL;
}

/**
 * x86_lbr_counts_moved - separate the records of two assignments of counters
 * @cpu: this CPU; events with X86_EVENT_BRANCH_COUNTS are selected, and not in @cpu->event yet
 *
 * An entry has counts by the number of the counter. An event that stays may have entries from
 * before these events were on their counters.
 *
 * Context: interrupts disabled.
 */
void x86_lbr_counts_moved(struct x86_pmu_cpu *cpu)
{
	lockdep_assert_irqs_disabled();
	if (cpu->lbr)
		x86_branches_mark(cpu->pmu->branches);
}

/* --------------------------------------------------------------------- guests */

/**
 * x86_lbr_load_guest - let a guest have the registers
 * @cpu: this CPU, without other events with branch records
 * @event: event with X86_EVENT_GUEST_BRANCHES
 *
 * The host does not record meanwhile: what turns recording on is DEBUGCTL, which has a separate
 * value in a guest.
 *
 * Context: interrupts disabled.
 */
void x86_lbr_load_guest(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	const struct x86_branch_task *task = lbr_saved_guest(event);
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);

	lockdep_assert_irqs_disabled();
	x86_lbr_cpu_stop(cpu);
	if (!lbr_saved_is_there(br, cpu->pmu, task))
		x86_branches_write_guest(cpu->pmu->branches, task, cpu->pmu->branch_layout);
	br->select = ~0ULL;
	br->seq++;
}

/**
 * x86_lbr_unload_guest - save what a guest has in the registers
 * @cpu: this CPU
 * @event: event with X86_EVENT_GUEST_BRANCHES
 *
 * Context: interrupts disabled.
 */
void x86_lbr_unload_guest(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);
	struct x86_branch_task *task = perf_event_task_data(event);

	lockdep_assert_irqs_disabled();
	if (!task)
		return;
	lbr_stack_save(br, cpu->pmu, task);
	rdmsrl(cpu->pmu->branches->select, task->select);
	task->guest = true;
	event->hw.branch_tag = task->generation;
}

/* ---------------------------------------------------------------- task switches */

/**
 * x86_lbr_sched_task - separate the records of two tasks, for an event of the CPU
 * @cpu: this CPU, on which another task has been switched in
 *
 * Context: interrupts disabled.
 */
void x86_lbr_sched_task(struct x86_pmu_cpu *cpu)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);

	if (!cpu->lbr)
		return;
	if (!br->stack_users) {
		x86_branches_mark(cpu->pmu->branches);
	} else if (!lbr_has_task_event(cpu)) {
		/* A stack that belongs to no event of a task is not saved. */
		br->seq++;
		lbr_stack_restore(br, cpu->pmu, NULL);
	}
}

/* ------------------------------------------------------------------- interrupt */

/**
 * x86_lbr_irq_begin - begin an interrupt
 * @cpu: this CPU, with events in @cpu->lbr
 *
 * Parts without a freeze stop to record here. An interrupt of another counter stops a buffer before
 * the buffer is full. That raises one more interrupt, which finds no cause.
 *
 * Context: NMI.
 */
void x86_lbr_irq_begin(struct x86_pmu_cpu *cpu)
{
	const struct x86_branches *b = cpu->pmu->branches;
	u64 val;

	if (!lbr_lacks_freeze(cpu->pmu))
		return;
	rdmsrl(b->control, val);
	wrmsrl(b->control, val & ~b->on);
}

/*
 * Without a freeze, and in a buffer that is still being filled when another counter interrupts, the
 * newest entries are the interrupt itself and the branches from there to x86_lbr_irq_begin(). A
 * full buffer has no such entries; other registers can have no others.
 */
static void lbr_drop_interrupt(const struct x86_pmu *xpmu, struct x86_branch_log *log)
{
	bool buffer = lbr_has_buffer(xpmu);
	unsigned int n = x86_branch_count_interrupt(xpmu->branch_layout, log,
						    (unsigned long)asm_exc_nmi, !buffer);

	log->nr -= n;
	if (buffer)
		log->top -= n;
	if (n)
		memmove(log->entry, log->entry + n, log->nr * sizeof(*log->entry));
}

/**
 * x86_lbr_irq_log - read the branch records of an interrupt, once
 * @cpu: this CPU
 *
 * Call this before the status is acknowledged, which lets the hardware record again.
 *
 * Context: NMI.
 */
void x86_lbr_irq_log(struct x86_pmu_cpu *cpu)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);
	const struct x86_branches *b = cpu->pmu->branches;

	if (br->logged)
		return;
	br->logged = true;
	br->log.top = x86_branches_newest(b);
	br->log.nr = x86_branches_read(b, br->log.top, br->info_users && lbr_has_info(cpu->pmu),
				       br->log.entry);
	if (lbr_lacks_freeze(cpu->pmu))
		lbr_drop_interrupt(cpu->pmu, &br->log);
}

/**
 * x86_lbr_irq_end - record again after an interrupt
 * @cpu: this CPU
 *
 * Without events with branch records on the CPU, recording stays off until one is loaded. A ring
 * can be off without a freeze, because not all debug exceptions have a notification.
 *
 * Context: NMI.
 */
void x86_lbr_irq_end(struct x86_pmu_cpu *cpu)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);

	br->logged = false;
	if (!lbr_has_ring(cpu->pmu) && !lbr_lacks_freeze(cpu->pmu))
		return;
	if (br->stopped)
		br->restart = true;
	else
		x86_branches_start(cpu->pmu->branches, br->freezes);
}

/*
 * A debug exception has cleared DEBUGCTL.LBR, which its handler has to set again. Other kinds of
 * registers have no such rule. A snapshot that is being read sets the flag at its end.
 */
static int lbr_debug_exception(struct notifier_block *nb, unsigned long reason, void *args)
{
	const struct x86_branch_cpu *br;
	const struct x86_pmu_cpu *cpu;

	/* Other reasons can be those of a task that can move. */
	if (reason != DIE_DEBUG)
		return NOTIFY_DONE;
	lockdep_assert_irqs_disabled();
	br = this_cpu_ptr(&x86_branch_cpu);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (!cpu->branches_on || br->stopped)
		return NOTIFY_DONE;
	/* An interrupt has left recording off until an event is loaded. */
	if (cpu->branches_frozen && lbr_freeze_clears_lbr(cpu))
		return NOTIFY_DONE;
	x86_branches_start(cpu->pmu->branches, br->freezes);
	return NOTIFY_DONE;
}

NOKPROBE_SYMBOL(lbr_debug_exception);

/* Before that of breakpoints, which ends the chain. */
static struct notifier_block lbr_debug_exception_nb = {
	.notifier_call = lbr_debug_exception,
	.priority = INT_MAX,
};

/**
 * x86_lbr_newest - the branch before an interrupt
 * @cpu: this CPU
 * @entry: set to the branch
 *
 * Context: NMI.
 * Return: false if none is logged
 */
bool x86_lbr_newest(struct x86_pmu_cpu *cpu, struct perf_branch_entry *entry)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);

	x86_lbr_irq_log(cpu);
	if (!br->log.nr)
		return false;
	x86_branch_decode(cpu->pmu->branch_layout, &br->log.entry[0], entry);
	return true;
}

/* Where INFO has the count of an event; past all counts if the event is not on a counter. */
static u8 lbr_count_shift(const struct x86_pmu_cpu *cpu, const struct perf_event *event)
{
	int idx = event->hw.idx;

	if (idx < 0 || idx >= LBR_INFO_BR_CNTR_NUM || cpu->event[idx] != event)
		idx = LBR_INFO_BR_CNTR_NUM;
	return idx * LBR_INFO_BR_CNTR_BITS;
}

/* The places of the counts that a sample shows: those of the group, in its order. */
static unsigned int lbr_group_counts(const struct x86_pmu_cpu *cpu, struct perf_event *event,
				     u8 *shift)
{
	struct perf_event *leader = event->group_leader, *sibling;
	unsigned int n = 0;

	if (branch_sample_counters(leader))
		shift[n++] = lbr_count_shift(cpu, leader);
	for_each_sibling_event(sibling, leader)
		if (branch_sample_counters(sibling) && n < LBR_INFO_BR_CNTR_NUM)
			shift[n++] = lbr_count_shift(cpu, sibling);
	return n;
}

/* From the order of the counters to that of the events; @counts has nothing else in it. */
static void lbr_order_counts(const struct x86_pmu_cpu *cpu, struct perf_event *event, u64 *counts,
			     unsigned int nr)
{
	u8 shift[LBR_INFO_BR_CNTR_NUM];
	unsigned int i, j, n = lbr_group_counts(cpu, event, shift);

	for (i = 0; i < nr; i++) {
		u64 logged = counts[i];

		counts[i] = 0;
		for (j = 0; j < n; j++)
			counts[i] |= (logged >> shift[j] & LBR_INFO_BR_CNTR_MASK) <<
				     j * LBR_INFO_BR_CNTR_BITS;
	}
}

static void lbr_sample_save(struct x86_pmu_cpu *cpu, struct perf_event *event,
			    struct perf_sample_data *data, const struct x86_branch_raw *raw,
			    unsigned int nr, u64 top)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);
	struct x86_branch_sample *sample = in_nmi() ? &br->nmi_sample : &br->sample;
	u64 *counts = branch_sample_counters(event) ? sample->counts : NULL;

	sample->stack.hw_idx = top;
	sample->stack.nr = x86_branch_fill(raw, nr, cpu->pmu->branch_layout,
					   x86_event_branch_filter(event), sample->entry, counts);
	if (counts)
		lbr_order_counts(cpu, event, counts, sample->stack.nr);
	perf_sample_save_brstack(data, event, &sample->stack, counts);
}

/**
 * x86_lbr_sample - add the branch records to a sample
 * @cpu: this CPU
 * @event: event with X86_EVENT_BRANCHES
 * @data: sample of @event, which refers to memory of the CPU until the next call
 *
 * Context: NMI.
 */
void x86_lbr_sample(struct x86_pmu_cpu *cpu, struct perf_event *event,
		    struct perf_sample_data *data)
{
	const struct x86_branch_log *log = this_cpu_ptr(&x86_branch_cpu.log);

	x86_lbr_irq_log(cpu);
	lbr_sample_save(cpu, event, data, log->entry, log->nr, log->top);
}

/**
 * x86_lbr_sample_logged - add branch records that memory holds to a sample
 * @cpu: this CPU
 * @event: event with X86_EVENT_BRANCHES
 * @data: sample of @event, which refers to memory of the CPU until the next call
 * @raw: values of the registers when the sample was due, newest first
 * @nr: number of entries in @raw; those from the first empty one on are of other tasks
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_lbr_sample_logged(struct x86_pmu_cpu *cpu, struct perf_event *event,
			   struct perf_sample_data *data, const struct x86_branch_raw *raw,
			   unsigned int nr)
{
	unsigned int own = 0;

	lockdep_assert_irqs_disabled();
	nr = min(nr, X86_BRANCH_MAX);
	while (own < nr && raw[own].from)
		own++;
	lbr_sample_save(cpu, event, data, raw, own, -1ULL);
}

/* -------------------------------------------------------------------- snapshot */

/* An NMI would overwrite the CPU's log: each entry is converted where it is read. */
static unsigned int lbr_snapshot_entries(const struct x86_pmu *xpmu,
					 struct perf_branch_entry *entries, unsigned int cnt)
{
	const struct x86_branches *b = xpmu->branches;
	struct x86_branch_raw raw;
	u64 newest = x86_branches_newest(b);
	unsigned int i, n = 0;

	for (i = 0; i < b->depth && n < cnt; i++) {
		if (!x86_branches_read_one(b, newest, i, lbr_has_info(xpmu), &raw))
			break;
		n += x86_branch_decode_one(xpmu->branch_layout, &raw, &entries[n]);
	}
	return n;
}

/**
 * x86_lbr_snapshot - target of the static call perf_snapshot_branch_stack
 * @entries: set to the branches, newest first
 * @cnt: number of entries that fit
 *
 * Recording stops first, so that the branches in here do not replace those of the caller. An NMI
 * that ends meanwhile leaves recording off, even if the freeze by that NMI had stopped recording
 * before the handler began. An NMI can take a snapshot within a snapshot.
 *
 * Context: any.
 * Return: number of entries; 0 if no loaded event of this CPU has branch records
 */
int x86_lbr_snapshot(struct perf_branch_entry *entries, unsigned int cnt)
{
	const struct x86_branches *b;
	struct x86_branch_cpu *br;
	const struct x86_pmu *xpmu;
	unsigned long flags;
	u64 control;
	bool outer;

	local_irq_save(flags);
	if (unlikely(!this_cpu_read(x86_pmu_cpu.lbr))) {
		local_irq_restore(flags);
		return 0;
	}
	xpmu = this_cpu_read(x86_pmu_cpu.pmu);
	b = xpmu->branches;
	br = this_cpu_ptr(&x86_branch_cpu);
	outer = br->stopped;
	WRITE_ONCE(br->stopped, true);
	rdmsrl(b->control, control);
	wrmsrl(b->control, control & ~b->on);
	cnt = lbr_snapshot_entries(xpmu, entries, cnt);
	WRITE_ONCE(br->stopped, outer);
	wrmsrl(b->control, control);
	if (unlikely(READ_ONCE(br->restart)) && !outer) {
		br->restart = false;
		x86_branches_start(b, br->freezes);
	}
	local_irq_restore(flags);
	return cnt;
}

/* ------------------------------------------------------------------------ CPUs */

/**
 * x86_lbr_cpu_reset - mark the registers of a CPU as without events' branches
 * @cpu: this CPU, which starts, stops, or has lost the registers
 *
 * Events that stay loaded record again.
 *
 * Context: interrupts disabled.
 */
void x86_lbr_cpu_reset(struct x86_pmu_cpu *cpu)
{
	struct x86_branch_cpu *br = this_cpu_ptr(&x86_branch_cpu);
	u64 todo = cpu->lbr;

	if (!cpu->pmu->branches)
		return;
	br->select = ~0ULL;
	/* What was saved here is not in the registers any more. */
	br->seq++;
	/* Firmware, or a kernel before this one, can have left recording on. */
	if (!todo) {
		x86_branches_stop(cpu->pmu->branches);
		x86_branches_mark(cpu->pmu->branches);
		cpu->branches_on = false;
		return;
	}
	lbr_select(br, cpu->event[__ffs64(todo)]);
	if (br->stack_users)
		lbr_stack_restore(br, cpu->pmu, NULL);
	else
		x86_branches_mark(cpu->pmu->branches);
	lbr_start(cpu, br);
}

/**
 * x86_lbr_init - prepare for debug exceptions
 * @xpmu: PMU that is not registered yet, of the boot CPU
 *
 * Hybrid parts have architectural records.
 *
 * Context: process, may sleep; once.
 */
void x86_lbr_init(const struct x86_pmu *xpmu)
{
	if (xpmu->branches && lbr_has_ring(xpmu))
		register_die_notifier(&lbr_debug_exception_nb);
}

/**
 * x86_lbr_task_cache - the cache of what tasks keep
 * @xpmu: PMU that is not registered yet
 *
 * The PMUs of a hybrid part share the cache.
 *
 * Context: process, may sleep; the caller is the only one.
 * Return: the cache; NULL if the PMU has no call-stack mode or there is no memory
 */
struct kmem_cache *x86_lbr_task_cache(const struct x86_pmu *xpmu)
{
	const struct x86_branches *b = xpmu->branches;
	static struct kmem_cache *cache;

	if (!b || !b->map || !b->map[PERF_SAMPLE_BRANCH_CALL_STACK_SHIFT])
		return NULL;
	if (!cache)
		cache = kmem_cache_create("x86_branch_task", sizeof(struct x86_branch_task), 0,
					  0, NULL);
	return cache;
}
