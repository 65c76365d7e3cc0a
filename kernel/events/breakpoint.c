// SPDX-License-Identifier: GPL-2.0
/*
 * Breakpoints: events that count how often an address is read, written or executed.
 *
 * Here are the PMU "breakpoint" for perf_event_open(2) and the kernel API of
 * linux/hw_breakpoint.h for ptrace, kgdb and modules. The architecture programs the debug
 * registers and reports hits to perf_bp_event(); breakpoint_slots.c sees to it that a breakpoint
 * finds a free register when it is switched in.
 *
 * It may call the public header, floors 1 to 3, perf_swevent_event() and the architecture.
 *
 * Locks: none of its own but bp_slots::lock. Add and del run with interrupts off under the
 * context's lock. hw.info and the bp_* fields of attr are written only while the breakpoint is in
 * no debug register; who modifies a breakpoint sees to it that nobody else does.
 */
#include <linux/capability.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hw_breakpoint.h>
#include <linux/kdebug.h>
#include <linux/percpu.h>

#include "breakpoint_slots.h"
#include "event.h"
#include "wing.h"

static struct bp_slots bp_slots;

/* ------------------------------------------------------------------- checks */

static bool bp_type_exists(u32 bp_type)
{
	return bp_type == HW_BREAKPOINT_X ||
	       (bp_type && !(bp_type & ~(u32)HW_BREAKPOINT_RW));
}

/* Puts into words what the architecture only has an errno for. */
static int bp_refuse(int err, const struct perf_event_attr *attr)
{
	if (!bp_type_exists(attr->bp_type))
		return perf_refuse(err, "bp_type: %llu is not 1 (R), 2 (W), 3 (RW) or 4 (X)",
				   attr->bp_type);
	if (is_power_of_2(attr->bp_len) && attr->bp_addr & (attr->bp_len - 1))
		return perf_refuse(err, "bp_addr: 0x%llx is not aligned to bp_len %llu",
				   attr->bp_addr, attr->bp_len);
	if (attr->bp_len - 1 >= HW_BREAKPOINT_LEN_8)
		return perf_refuse(err, "bp_len: %llu is not a length to watch", attr->bp_len);
	if (attr->bp_addr >= TASK_SIZE_MAX)
		return perf_refuse(err, "bp_addr: 0x%llx in the kernel cannot be watched, or not in a task",
				   attr->bp_addr);
	return perf_refuse(err, "bp_type %llu: cannot watch bp_len %llu at bp_addr 0x%llx",
			   attr->bp_type, attr->bp_len, attr->bp_addr);
}

/*
 * What @attr asks for, as the architecture programs it. Nothing of @bp changes. A child may watch
 * what its parent was allowed to, whoever forks.
 */
static int bp_parse(struct perf_event *bp, const struct perf_event_attr *attr,
		    struct arch_hw_breakpoint *hw)
{
	int err = hw_breakpoint_arch_parse(bp, attr, hw);

	if (err)
		return bp_refuse(err, attr);
	if (!arch_check_bp_in_kernelspace(hw))
		return 0;
	if (attr->exclude_kernel)
		return perf_refuse(-EINVAL, "bp_addr: 0x%llx is in the kernel, exclude_kernel set",
				   attr->bp_addr);
	if (!bp->parent && !capable(CAP_SYS_ADMIN))
		return perf_refuse(-EPERM, "bp_addr: 0x%llx is in the kernel, needs CAP_SYS_ADMIN",
				   attr->bp_addr);
	return 0;
}

static int bp_refuse_slot(int err, u32 bp_type)
{
	if (err != -ENOSPC)
		return perf_refuse(err, "breakpoint: no memory for its slot");
	return perf_refuse(err, "bp_type: a CPU would need more than its %llu debug registers",
			   bp_slots.type[bp_slot_type(bp_type)].slots);
}

/* -------------------------------------------------------------------- slots */

/**
 * reserve_bp_slot - claim a debug register for a breakpoint
 * @bp: breakpoint; attr.bp_type, cpu and hw.target say what it needs
 *
 * Context: any but NMI.
 * Return: 0, -ENOSPC, -ENOMEM.
 */
int reserve_bp_slot(struct perf_event *bp)
{
	int err = bp_slots_claim(&bp_slots, bp);

	return err ? bp_refuse_slot(err, bp->attr.bp_type) : 0;
}

/**
 * release_bp_slot - give the debug register of a breakpoint back
 * @bp: breakpoint with a claim
 *
 * perf_event::destroy of a breakpoint does this. Who calls it otherwise must set destroy to NULL.
 * Context: any but NMI.
 */
void release_bp_slot(struct perf_event *bp)
{
	bp_slots_release(&bp_slots, bp);
}

/**
 * dbg_reserve_bp_slot - reserve_bp_slot() for a debugger that has stopped all CPUs
 * @bp: breakpoint of a CPU
 *
 * Takes no lock.
 * Return: 0, or -1 if there is none or the accounts were being changed when the CPUs stopped.
 */
int dbg_reserve_bp_slot(struct perf_event *bp)
{
	return bp_slots_claim_stopped(&bp_slots, bp) ? -1 : 0;
}

/**
 * dbg_release_bp_slot - release_bp_slot() for a debugger that has stopped all CPUs
 * @bp: breakpoint of a CPU with a claim
 *
 * Takes no lock.
 * Return: 0, or -1 if the accounts were being changed when the CPUs stopped.
 */
int dbg_release_bp_slot(struct perf_event *bp)
{
	return bp_slots_release_stopped(&bp_slots, bp) ? -1 : 0;
}

/**
 * hw_breakpoint_is_used - does any breakpoint exist?
 *
 * Context: any.
 */
bool hw_breakpoint_is_used(void)
{
	return bp_slots_any(&bp_slots);
}

/* ---------------------------------------------------------------------- PMU */

/**
 * register_perf_hw_breakpoint - make an event a breakpoint
 * @bp: event with attr, cpu and hw.target set
 *
 * Context: may sleep.
 * Return: 0; -EINVAL, -EOPNOTSUPP: no such breakpoint; -EPERM: an address of the kernel without
 * CAP_SYS_ADMIN; -ENOSPC: no debug register left.
 */
int register_perf_hw_breakpoint(struct perf_event *bp)
{
	struct arch_hw_breakpoint hw = { };
	int err;

	err = bp_parse(bp, &bp->attr, &hw);
	if (err)
		return err;
	err = reserve_bp_slot(bp);
	if (err)
		return err;

	bp->hw.info = hw;
	return 0;
}

static int bp_event_init(struct perf_event *bp)
{
	int err;

	if (bp->attr.type != PERF_TYPE_BREAKPOINT)
		return -ENOENT;
	if (!bp_slots.type[bp_slot_type(bp->attr.bp_type)].slots)
		return perf_refuse(-EOPNOTSUPP, "bp_type: no debug registers for type %llu",
				   bp->attr.bp_type);
	if (has_branch_stack(bp))
		return perf_refuse(-EOPNOTSUPP, "sample_type: a breakpoint has no BRANCH_STACK");

	err = register_perf_hw_breakpoint(bp);
	if (err)
		return err;

	bp->destroy = release_bp_slot;
	return 0;
}

static void bp_start(struct perf_event *bp, int flags)
{
	bp->hw.state = 0;
}

/* The registers stay as they are until del: hits are not counted. */
static void bp_stop(struct perf_event *bp, int flags)
{
	bp->hw.state = PERF_HES_STOPPED;
}

static int bp_add(struct perf_event *bp, int flags)
{
	bp->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED;

	if (is_sampling_event(bp))
		perf_swevent_set_period(bp);
	return arch_install_hw_breakpoint(bp);
}

static void bp_del(struct perf_event *bp, int flags)
{
	arch_uninstall_hw_breakpoint(bp);
}

static struct pmu perf_breakpoint_pmu = {
	.task_ctx_nr	= perf_sw_context,
	.event_init	= bp_event_init,
	.add		= bp_add,
	.del		= bp_del,
	.start		= bp_start,
	.stop		= bp_stop,
	.read		= hw_breakpoint_pmu_read,
};

static bool bp_excludes(const struct perf_event *bp, struct pt_regs *regs)
{
	return user_mode(regs) ? bp->attr.exclude_user : bp->attr.exclude_kernel;
}

/**
 * perf_bp_event - a breakpoint was hit
 * @bp: the breakpoint, which is in a debug register of this CPU
 * @data: registers at the hit (struct pt_regs)
 *
 * Context: debug exception, interrupts off; NMI on x86.
 */
void perf_bp_event(struct perf_event *bp, void *data)
{
	struct perf_sample_data sample __uninitialized;
	struct pt_regs *regs = data;

	if (bp->hw.state & PERF_HES_STOPPED || bp_excludes(bp, regs))
		return;

	perf_sample_data_init(&sample, bp->attr.bp_addr, 0);
	perf_swevent_event(bp, 1, &sample, regs);
}

/* ------------------------------------------------------------------- modify */

/*
 * Makes @bp what @attr says, parsed before into @hw. It is in no debug register. Only a change
 * between instruction and data can fail, and does so before anything has changed.
 */
static int bp_commit(struct perf_event *bp, const struct perf_event_attr *attr,
		     const struct arch_hw_breakpoint *hw)
{
	int err = bp_slots_retype(&bp_slots, bp, attr->bp_type);

	if (err)
		return bp_refuse_slot(err, attr->bp_type);

	bp->attr.bp_addr = attr->bp_addr;
	bp->attr.bp_len = attr->bp_len;
	bp->attr.disabled = attr->disabled;
	bp->hw.info = *hw;
	return 0;
}

/* Nothing but the breakpoint itself may differ; how long the user thinks attr is says nothing. */
static bool bp_attr_differs(const struct perf_event *bp, const struct perf_event_attr *attr)
{
	struct perf_event_attr want = bp->attr;

	want.bp_addr = attr->bp_addr;
	want.bp_len = attr->bp_len;
	want.bp_type = attr->bp_type;
	want.disabled = attr->disabled;
	want.sig_data = attr->sig_data;
	want.size = attr->size;
	return memcmp(&want, attr, sizeof(want));
}

/**
 * modify_user_hw_breakpoint_check - change a breakpoint that is disabled
 * @bp: breakpoint; the caller has disabled it, and enables it again if it wants to
 * @attr: what it shall be: bp_addr, bp_len, bp_type and disabled; with @check also sig_data
 * @check: refuse if @attr differs from the breakpoint's in anything else, which is else ignored
 *
 * Context: any but NMI.
 * Return: 0, or the errnos of register_perf_hw_breakpoint(), in which case the breakpoint is what
 * it was.
 */
int modify_user_hw_breakpoint_check(struct perf_event *bp, struct perf_event_attr *attr,
				    bool check)
{
	struct arch_hw_breakpoint hw = { };
	int err;

	if (check && bp_attr_differs(bp, attr))
		return perf_refuse(-EINVAL,
				   "attr: only bp_addr, bp_len, bp_type, disabled and sig_data can change");
	err = bp_parse(bp, attr, &hw) ?: bp_commit(bp, attr, &hw);
	if (!err && check)
		bp->attr.sig_data = attr->sig_data;
	return err;
}

/**
 * modify_user_hw_breakpoint - change a breakpoint
 * @bp: breakpoint of a task, from register_user_hw_breakpoint()
 * @attr: what it shall be: bp_addr, bp_len, bp_type and disabled; the rest is ignored
 *
 * Context: may sleep; or interrupts off, if @bp is the current task's: disabling and enabling what
 * is on this CPU takes no more than the context's lock.
 * Return: 0, and the breakpoint runs unless attr.disabled; or an errno as
 * register_perf_hw_breakpoint() has, and the breakpoint is and does what it did.
 */
int modify_user_hw_breakpoint(struct perf_event *bp, struct perf_event_attr *attr)
{
	struct arch_hw_breakpoint hw = { };
	bool enabled;
	int err;

	/* First, so that an invalid request does not even interrupt it. */
	err = bp_parse(bp, attr, &hw);
	if (err)
		return err;

	enabled = bp->state >= PERF_EVENT_STATE_INACTIVE;
	perf_event_disable(bp);
	err = bp_commit(bp, attr, &hw);
	if (err ? enabled : !attr->disabled)
		perf_event_enable(bp);
	return err;
}
EXPORT_SYMBOL_GPL(modify_user_hw_breakpoint);

/**
 * perf_bp_catch_up - an inherited breakpoint becomes what its parent is by now
 * @child: on no CPU; it may be disabled by this
 * @parent: whose child_mutex is held
 *
 * Does nothing to other events. Context: may sleep.
 */
void perf_bp_catch_up(struct perf_event *child, const struct perf_event *parent)
{
	if (child->attr.type != PERF_TYPE_BREAKPOINT)
		return;
	if (child->attr.bp_addr == parent->attr.bp_addr && child->attr.bp_len == parent->attr.bp_len &&
	    child->attr.bp_type == parent->attr.bp_type && child->attr.sig_data == parent->attr.sig_data)
		return;
	perf_event_disable(child);
	if (!bp_commit(child, &parent->attr, &parent->hw.info))
		child->attr.sig_data = parent->attr.sig_data;
}

/* --------------------------------------------------------------- kernel API */

/**
 * register_user_hw_breakpoint - set a breakpoint on a task
 * @attr: from ptrace_breakpoint_init(), with bp_addr, bp_len, bp_type
 * @triggered: called at each hit, in the debug exception; NULL to write records
 * @context: perf_event::overflow_handler_context
 * @tsk: the task; the caller keeps it from going away
 *
 * Context: may sleep.
 * Return: the breakpoint, or an ERR_PTR() as of register_perf_hw_breakpoint(), or -ESRCH.
 */
struct perf_event *register_user_hw_breakpoint(struct perf_event_attr *attr,
					       perf_overflow_handler_t triggered, void *context,
					       struct task_struct *tsk)
{
	return perf_event_create_kernel_counter(attr, -1, tsk, triggered, context);
}
EXPORT_SYMBOL_GPL(register_user_hw_breakpoint);

/**
 * unregister_hw_breakpoint - take a breakpoint away
 * @bp: from register_user_hw_breakpoint(); NULL is ignored
 *
 * Context: may sleep.
 */
void unregister_hw_breakpoint(struct perf_event *bp)
{
	if (bp)
		perf_event_release_kernel(bp);
}
EXPORT_SYMBOL_GPL(unregister_hw_breakpoint);

/**
 * register_wide_hw_breakpoint - set a breakpoint on all CPUs that are online
 * @attr: from hw_breakpoint_init(), with bp_addr, bp_len, bp_type
 * @triggered: called at each hit, in the debug exception; NULL to write records
 * @context: perf_event::overflow_handler_context
 *
 * Context: may sleep.
 * Return: a breakpoint per CPU (NULL where the CPU was offline), or an ERR_PTR(): -ENOMEM, or as of
 * register_perf_hw_breakpoint().
 */
struct perf_event * __percpu *register_wide_hw_breakpoint(struct perf_event_attr *attr,
							  perf_overflow_handler_t triggered,
							  void *context)
{
	struct perf_event * __percpu *events = alloc_percpu(typeof(*events));
	struct perf_event *bp = NULL;
	int cpu;

	if (!events)
		return ERR_PTR_PCPU(-ENOMEM);

	scoped_guard(cpus_read_lock) {
		for_each_online_cpu(cpu) {
			bp = perf_event_create_kernel_counter(attr, cpu, NULL, triggered, context);
			if (IS_ERR(bp))
				break;
			*per_cpu_ptr(events, cpu) = bp;
		}
	}
	if (!IS_ERR(bp))
		return events;

	unregister_wide_hw_breakpoint(events);
	return ERR_PTR_PCPU(PTR_ERR(bp));
}
EXPORT_SYMBOL_GPL(register_wide_hw_breakpoint);

/**
 * unregister_wide_hw_breakpoint - take a breakpoint of all CPUs away
 * @cpu_events: from register_wide_hw_breakpoint()
 *
 * Context: may sleep.
 */
void unregister_wide_hw_breakpoint(struct perf_event * __percpu *cpu_events)
{
	int cpu;

	for_each_possible_cpu(cpu)
		unregister_hw_breakpoint(*per_cpu_ptr(cpu_events, cpu));
	free_percpu(cpu_events);
}
EXPORT_SYMBOL_GPL(unregister_wide_hw_breakpoint);

/* --------------------------------------------------------------------- init */

/* Before all others: the debug exception of a breakpoint is nobody else's business. */
static struct notifier_block bp_exceptions_nb = {
	.notifier_call	= hw_breakpoint_exceptions_notify,
	.priority	= 0x7fffffff,
};

/**
 * init_hw_breakpoint - make breakpoints available
 *
 * Context: early boot, interrupts off.
 * Return: 0 or -errno.
 */
int __init init_hw_breakpoint(void)
{
	unsigned int slots[TYPE_MAX];
	int type, err;

	for (type = 0; type < TYPE_MAX; type++)
		slots[type] = hw_breakpoint_slots(type);

	err = bp_slots_init(&bp_slots, nr_cpu_ids, slots);
	if (err)
		return err;
	err = perf_pmu_register(&perf_breakpoint_pmu, "breakpoint", PERF_TYPE_BREAKPOINT);
	if (err < 0)
		return err;
	return register_die_notifier(&bp_exceptions_nb);
}
