// SPDX-License-Identifier: GPL-2.0
/*
 * Breakpoints: events that count how often an address is read, written or executed.
 *
 * This is the PMU "breakpoint", and the functions of linux/hw_breakpoint.h that claim, check and
 * modify breakpoints; those that open and close them are in uapi/breakpoint_api.c. The architecture
 * programs the debug registers and reports hits to perf_bp_event(). breakpoint_slots.c ensures that
 * there is a free register when a breakpoint is loaded.
 *
 * Locks: bp_slots::lock. pmu::add and pmu::del run under ctx->lock. hw.info and the bp_* fields of
 * attr are written only while the breakpoint is in no debug register; callers that modify a
 * breakpoint serialise themselves.
 */
#include <linux/capability.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hw_breakpoint.h>
#include <linux/kdebug.h>
#include <linux/percpu.h>

#include "pmus.h"
#include "breakpoint_slots.h"

static struct bp_slots bp_slots;

static bool bp_type_exists(u32 bp_type)
{
	return bp_type == HW_BREAKPOINT_X ||
	       (bp_type && !(bp_type & ~(u32)HW_BREAKPOINT_RW));
}

/* The architecture returns only an errno: names the field that is the likely reason. */
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
		return perf_refuse(err,
				   "bp_addr: 0x%llx in the kernel cannot be watched (in a task)",
				   attr->bp_addr);
	return perf_refuse(err, "bp_type %llu: cannot watch bp_len %llu at bp_addr 0x%llx",
			   attr->bp_type, attr->bp_len, attr->bp_addr);
}

/**
 * perf_bp_parse - convert a breakpoint's attr into what the architecture programs
 * @bp: breakpoint, which is not changed
 * @attr: address, length and type
 * @hw: result
 *
 * Permissions of an inherited breakpoint are not checked: its parent had them.
 *
 * Context: process context
 * Return: 0; -EPERM for an address in the kernel without CAP_SYS_ADMIN; -EINVAL, or another errno
 *	of the architecture
 */
int perf_bp_parse(struct perf_event *bp, const struct perf_event_attr *attr,
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

static noinline int bp_refuse_slot(u32 bp_type)
{
	return perf_refuse(-ENOSPC,
			   "bp_type: a CPU would need more than its %llu debug registers",
			   bp_slots.type[bp_slot_type(bp_type)].slots);
}

/**
 * reserve_bp_slot - claim a debug register for a breakpoint
 * @bp: breakpoint with attr.bp_type, cpu and hw.target set
 *
 * Context: process context
 * Return: 0; -ENOSPC if there is no free register
 */
int reserve_bp_slot(struct perf_event *bp)
{
	return bp_slots_claim(&bp_slots, bp) ? bp_refuse_slot(bp->attr.bp_type) : 0;
}

/**
 * release_bp_slot - release the debug register of a breakpoint
 * @bp: breakpoint with a claim
 *
 * This is perf_event::destroy of a breakpoint. Other callers must set destroy to NULL.
 *
 * Context: process context
 */
void release_bp_slot(struct perf_event *bp)
{
	bp_slots_release(&bp_slots, bp);
}

/**
 * dbg_reserve_bp_slot - reserve_bp_slot() for a debugger that has stopped all CPUs
 * @bp: breakpoint of a CPU
 *
 * Context: all other CPUs are stopped; takes no lock
 * Return: 0; -1 if there is no free register, or the CPUs were stopped while claims were changed
 */
int dbg_reserve_bp_slot(struct perf_event *bp)
{
	return bp_slots_claim_stopped(&bp_slots, bp) ? -1 : 0;
}

/**
 * dbg_release_bp_slot - release_bp_slot() for a debugger that has stopped all CPUs
 * @bp: breakpoint of a CPU with a claim
 *
 * Context: all other CPUs are stopped; takes no lock
 * Return: 0; -1 if the CPUs were stopped while claims were changed
 */
int dbg_release_bp_slot(struct perf_event *bp)
{
	return bp_slots_release_stopped(&bp_slots, bp) ? -1 : 0;
}

/**
 * hw_breakpoint_is_used - does any breakpoint exist?
 *
 * Context: any
 * Return: true if a debug register is claimed
 */
bool hw_breakpoint_is_used(void)
{
	return bp_slots_any(&bp_slots);
}

/**
 * register_perf_hw_breakpoint - initialise an event as a breakpoint and claim a register
 * @bp: new event with attr, cpu and hw.target set
 *
 * Context: may sleep
 * Return: 0; -EINVAL or -EOPNOTSUPP for an impossible breakpoint; -EPERM for an address in the
 *	kernel without CAP_SYS_ADMIN; -ENOSPC if there is no free register
 */
int register_perf_hw_breakpoint(struct perf_event *bp)
{
	struct arch_hw_breakpoint hw = { };
	int err;

	err = perf_bp_parse(bp, &bp->attr, &hw);
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

/* A breakpoint that is stopped stays in its debug register until pmu::del. */
static struct pmu perf_breakpoint_pmu = {
	.task_ctx_nr	= perf_sw_context,
	.event_init	= bp_event_init,
	.add		= bp_add,
	.del		= bp_del,
	.start		= perf_swevent_start,
	.stop		= perf_swevent_stop,
	.read		= perf_swevent_read,
};

static bool bp_excludes(const struct perf_event *bp, struct pt_regs *regs)
{
	return user_mode(regs) ? bp->attr.exclude_user : bp->attr.exclude_kernel;
}

static noinline void bp_sample(struct perf_event *bp, struct pt_regs *regs)
{
	struct perf_sample_data sample __uninitialized;

	perf_sample_data_init(&sample, bp->attr.bp_addr, 0);
	perf_swevent_event(bp, 1, &sample, regs);
}

void perf_bp_event(struct perf_event *bp, void *data)
{
	struct pt_regs *regs = data;

	if (bp->hw.state & PERF_HES_STOPPED || bp_excludes(bp, regs))
		return;
	if (is_sampling_event(bp))
		bp_sample(bp, regs);
	else
		local64_inc(&bp->count);
}

/**
 * perf_bp_commit - change a breakpoint that is in no debug register
 * @bp: breakpoint with a claim
 * @attr: new address, length, type and disabled
 * @hw: result of perf_bp_parse() for @attr
 *
 * Context: process context
 * Return: 0; -ENOSPC if the type changes between instruction and data and there is no free
 *	register; @bp is not changed then
 */
noinline int perf_bp_commit(struct perf_event *bp, const struct perf_event_attr *attr,
			    const struct arch_hw_breakpoint *hw)
{
	if (bp_slots_retype(&bp_slots, bp, attr->bp_type))
		return bp_refuse_slot(attr->bp_type);

	bp->attr.bp_addr = attr->bp_addr;
	bp->attr.bp_len = attr->bp_len;
	bp->attr.disabled = attr->disabled;
	bp->hw.info = *hw;
	return 0;
}

/* Does @attr differ in another field than those that can change? attr.size is ignored. */
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
 * @bp: breakpoint that the caller has disabled
 * @attr: new bp_addr, bp_len, bp_type and disabled; with @check also sig_data
 * @check: refuse an @attr that differs in other fields, which are ignored without @check
 *
 * Context: process context
 * Return: 0, or an errno of register_perf_hw_breakpoint(): then @bp is not changed
 */
int modify_user_hw_breakpoint_check(struct perf_event *bp, struct perf_event_attr *attr,
				    bool check)
{
	struct arch_hw_breakpoint hw = { };
	int err;

	if (check && bp_attr_differs(bp, attr))
		return perf_refuse(-EINVAL,
				   "attr: only bp_*, disabled and sig_data can change");
	err = perf_bp_parse(bp, attr, &hw) ?: perf_bp_commit(bp, attr, &hw);
	if (!err && check)
		bp->attr.sig_data = attr->sig_data;
	return err;
}

/**
 * perf_bp_differs - has the parent of an inherited breakpoint been modified?
 * @child: inherited event of any type
 * @parent: parent of @child; its child_mutex is held
 *
 * Context: process context
 * Return: true if @child is a breakpoint that differs from @parent
 */
bool perf_bp_differs(const struct perf_event *child, const struct perf_event *parent)
{
	lockdep_assert_held(&parent->child_mutex);
	if (child->attr.type != PERF_TYPE_BREAKPOINT)
		return false;
	return child->attr.bp_addr != parent->attr.bp_addr ||
	       child->attr.bp_len != parent->attr.bp_len ||
	       child->attr.bp_type != parent->attr.bp_type ||
	       child->attr.sig_data != parent->attr.sig_data;
}

/**
 * perf_bp_copy - change an inherited breakpoint to what its parent is
 * @child: disabled breakpoint
 * @parent: parent of @child; its child_mutex is held
 *
 * @child is not changed if its claim cannot be changed to another type.
 *
 * Context: may sleep
 */
void perf_bp_copy(struct perf_event *child, const struct perf_event *parent)
{
	lockdep_assert_held(&parent->child_mutex);
	if (!perf_bp_commit(child, &parent->attr, &parent->hw.info))
		child->attr.sig_data = parent->attr.sig_data;
}

/* A debug exception of a breakpoint is for no other notifier but those of PMUs. */
static struct notifier_block bp_exceptions_nb = {
	.notifier_call	= hw_breakpoint_exceptions_notify,
	.priority	= INT_MAX - 1,
};

/**
 * init_hw_breakpoint - register the PMU of breakpoints
 *
 * Context: early boot, interrupts off
 * Return: 0 or a negative errno
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
