// SPDX-License-Identifier: GPL-2.0
/*
 * Breakpoints for the rest of the kernel: the interface of linux/hw_breakpoint.h for ptrace, kgdb
 * and modules. The PMU "breakpoint" is in pmus/breakpoint.c.
 *
 * Locks: none held. A caller that modifies a breakpoint excludes other changes of it.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hw_breakpoint.h>
#include <linux/percpu.h>

#include "uapi.h"

/**
 * modify_user_hw_breakpoint - change a breakpoint
 * @bp: breakpoint of a task, from register_user_hw_breakpoint()
 * @attr: new bp_addr, bp_len, bp_type and disabled; other members are ignored
 *
 * Context: may sleep; or interrupts off if @bp is the current task's, because disabling and
 *	enabling an event that is active on this CPU needs no cross-call
 * Return: 0, and the breakpoint is enabled unless attr.disabled; or an errno of
 *	register_perf_hw_breakpoint(), and the breakpoint is unchanged
 */
int modify_user_hw_breakpoint(struct perf_event *bp, struct perf_event_attr *attr)
{
	struct arch_hw_breakpoint hw = { };
	bool enabled;
	int err;

	/* Before the event is disabled: an invalid request does not interrupt it. */
	err = perf_bp_parse(bp, attr, &hw);
	if (err)
		return err;

	enabled = bp->state >= PERF_EVENT_STATE_INACTIVE;
	perf_event_disable(bp);
	err = perf_bp_commit(bp, attr, &hw);
	if (err ? enabled : !attr->disabled)
		perf_event_enable(bp);
	return err;
}
EXPORT_SYMBOL_GPL(modify_user_hw_breakpoint);

/**
 * register_user_hw_breakpoint - set a breakpoint on a task
 * @attr: from ptrace_breakpoint_init(), with bp_addr, bp_len, bp_type
 * @triggered: called at each hit, in the debug exception; NULL to write records
 * @context: perf_event::overflow_handler_context
 * @tsk: task to watch; the caller holds a reference
 *
 * Context: may sleep
 * Return: the breakpoint, or an ERR_PTR(): -ESRCH, or as register_perf_hw_breakpoint()
 */
struct perf_event *register_user_hw_breakpoint(struct perf_event_attr *attr,
					       perf_overflow_handler_t triggered, void *context,
					       struct task_struct *tsk)
{
	return perf_event_create_kernel_counter(attr, -1, tsk, triggered, context);
}
EXPORT_SYMBOL_GPL(register_user_hw_breakpoint);

/**
 * unregister_hw_breakpoint - remove a breakpoint
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
 * register_wide_hw_breakpoint - set a breakpoint on each online CPU
 * @attr: from hw_breakpoint_init(), with bp_addr, bp_len, bp_type
 * @triggered: called at each hit, in the debug exception; NULL to write records
 * @context: perf_event::overflow_handler_context
 *
 * Context: may sleep
 * Return: a breakpoint per CPU, NULL where the CPU was offline; or an ERR_PTR(): -ENOMEM, or as
 *	register_perf_hw_breakpoint()
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
 * unregister_wide_hw_breakpoint - remove a breakpoint from all CPUs
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
