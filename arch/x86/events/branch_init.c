// SPDX-License-Identifier: GPL-2.0
/*
 * pmu::event_init of events with branch records: from perf_event_attr::branch_sample_type to the
 * filters of hardware and software, see lbr.h.
 *
 * Context: process, may sleep.
 */
#include <linux/bitops.h>

#include "branch.h"
#include "lbr.h"

/* What a call stack cannot be combined with: all that selects branches. */
#define BRANCH_OTHER_KINDS							\
	(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL |			\
	 PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL |		\
	 PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |		\
	 PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_ABORT_TX |		\
	 PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX)

static int branch_init_check(const struct x86_pmu *xpmu, u64 type)
{
	u64 missing;

	if (!xpmu->branches)
		return perf_refuse(-EOPNOTSUPP,
				   "branch_sample_type: no branch records on this CPU");
	if (xpmu->branches->kind == X86_BRANCHES_BUFFER &&
	    (type & ~PERF_SAMPLE_BRANCH_PLM_ALL) != PERF_SAMPLE_BRANCH_ANY)
		return perf_refuse(-EINVAL, "branch_sample_type: this CPU records ANY alone");
	missing = x86_branch_unsupported(xpmu->branches, type);
	if (!xpmu->pmu.task_ctx_cache)
		missing |= type & PERF_SAMPLE_BRANCH_CALL_STACK;
	if (missing)
		return perf_refuse(-EOPNOTSUPP,
				   "branch_sample_type: this CPU cannot record %#llx", missing);
	if (type & PERF_SAMPLE_BRANCH_CALL_STACK && type & BRANCH_OTHER_KINDS)
		return perf_refuse(-EINVAL,
				   "branch_sample_type: CALL_STACK does not go with other kinds");
	return 0;
}

/* Does the event select branches, or is it only counted in the records of another one? */
static bool branch_init_has_records(struct perf_event *event)
{
	return has_branch_stack(event) &&
	       event->attr.branch_sample_type & ~(PERF_SAMPLE_BRANCH_PLM_ALL |
						  PERF_SAMPLE_BRANCH_COUNTERS);
}

static int branch_init_check_group(const struct x86_branches *b, struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;
	unsigned int n = 1;

	if (branch_sample_call_stack(event) || branch_sample_call_stack(leader))
		return perf_refuse(-EINVAL,
				   "branch_sample_type: COUNTERS does not go with CALL_STACK");
	if (!branch_init_has_records(leader))
		return perf_refuse(-EINVAL,
				   "branch_sample_type: COUNTERS needs a leader with branches");
	n += leader != event && branch_sample_counters(leader);
	for_each_sibling_event(sibling, leader)
		n += branch_sample_counters(sibling);
	if (n > hweight8(b->counters))
		return perf_refuse(-EINVAL,
				   "branch_sample_type: COUNTERS of at most %llu events of a group",
				   hweight8(b->counters));
	return 0;
}

/*
 * The records are those of the branches after an overflow of counter 0: the event has to count
 * them. A CPU that idles with a full buffer could not interrupt, so there are no events of CPUs.
 */
static int branch_init_buffer(struct perf_event *event)
{
	if (event->hw.config != X86_BRS_EVENT || !is_sampling_event(event))
		return perf_refuse(-EINVAL,
				   "config: branches are recorded with event %#llx alone",
				   X86_BRS_EVENT);
	if (!(event->attach_state & PERF_ATTACH_TASK))
		return perf_refuse(-EOPNOTSUPP, "cpu: this CPU records branches of tasks alone");
	event->hw.counters &= X86_BRS_COUNTERS;
	event->hw.flags |= X86_EVENT_AHEAD;
	return 0;
}

/**
 * x86_branch_check_period - can an event with branch records have a period?
 * @event: sampling event
 * @period: period in events; with attr.freq a frequency in Hz
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL for a frequency, or a period of no more events than the buffer has entries
 */
int x86_branch_check_period(const struct perf_event *event, u64 period)
{
	if (!(event->hw.flags & X86_EVENT_AHEAD))
		return 0;
	if (event->attr.freq)
		return perf_refuse(-EINVAL, "freq: branches are recorded with a fixed period");
	if (period > to_x86_pmu(event->pmu)->branches->depth)
		return 0;
	return perf_refuse(-EINVAL, "sample_period: it has to be longer than the %llu records",
			   to_x86_pmu(event->pmu)->branches->depth);
}

/**
 * x86_branch_init_counter - restrict the counters of an event to those that the records need
 * @xpmu: the PMU
 * @event: event being initialised; hw.config and hw.counters are set
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL if the CPU or the event's group has no such records; -EOPNOTSUPP for an event
 *	of a CPU where the records are branch samples
 */
int x86_branch_init_counter(const struct x86_pmu *xpmu, struct perf_event *event)
{
	int ret;

	if (event->hw.flags & X86_EVENT_BRANCHES && xpmu->branches->kind == X86_BRANCHES_BUFFER)
		return branch_init_buffer(event);
	if (!has_branch_stack(event) || !branch_sample_counters(event))
		return 0;
	if (!xpmu->branches || !xpmu->branches->counters)
		return perf_refuse(-EINVAL, "branch_sample_type: this CPU has no branch counters");
	if (event->attr.config & ~INTEL_ARCH_EVENT_MASK)
		return perf_refuse(-EINVAL,
				   "config: branch counters need an event without modifiers");
	ret = event->parent ? 0 : branch_init_check_group(xpmu->branches, event);
	if (ret)
		return ret;
	event->hw.config |= X86_SELECT_BRANCH_COUNTER;
	event->hw.flags |= X86_EVENT_BRANCH_COUNTS;
	event->hw.counters &= xpmu->branches->counters;
	return 0;
}

/**
 * x86_branch_init_type - set the filters of an event for branch records
 * @xpmu: the PMU
 * @event: event being initialised
 * @type: the branches to record, PERF_SAMPLE_BRANCH_*
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP for branches that the CPU cannot record, -EINVAL
 */
int x86_branch_init_type(const struct x86_pmu *xpmu, struct perf_event *event, u64 type)
{
	struct hw_perf_event_extra *reg = &event->hw.branch_reg;
	const struct x86_branches *b = xpmu->branches;
	u64 select;
	u32 filter;
	int ret;

	ret = branch_init_check(xpmu, type);
	if (ret)
		return ret;
	filter = x86_branch_filter(type);
	select = b->select ? x86_branch_select(b, type) : 0;
	if (!x86_branch_select_is_exact(b, select, filter))
		filter |= X86_BRANCH_DECODE;
	reg->reg = b->select;
	reg->config = b->kind == X86_BRANCHES_ARCH ? x86_branch_arch_control(select) : select;
	reg->idx = filter;
	event->hw.flags |= X86_EVENT_BRANCHES;
	if (x86_event_branch_stack(event))
		event->attach_state |= PERF_ATTACH_TASK_DATA;
	/* An event of a CPU is not loaded again when the task changes. */
	if (!(event->attach_state & PERF_ATTACH_TASK))
		event->attach_state |= PERF_ATTACH_SCHED_CB;
	return 0;
}

/* Equals the filter of no host. */
#define BRANCH_GUEST_FILTER	(~0ULL)

/**
 * x86_branch_is_guest - does an event reserve the branch records for a guest?
 * @event: event being initialised
 *
 * KVM opens such an event for the task that runs the guest. The event counts nothing.
 *
 * Context: process.
 * Return: true for an event of a guest
 */
bool x86_branch_is_guest(struct perf_event *event)
{
	return event->attr.type == PERF_TYPE_RAW && event->attr.config == INTEL_FIXED_VLBR_EVENT &&
	       event->attr.exclude_host && !event->attr.exclude_guest &&
	       has_branch_stack(event) && !is_sampling_event(event) &&
	       event->attach_state & PERF_ATTACH_TASK;
}

/**
 * x86_branch_init_guest - set up an event that reserves the branch records for a guest
 * @xpmu: the PMU
 * @event: event being initialised, x86_branch_is_guest()
 *
 * Events of the host are not on the CPU at the same time.
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP, -EINVAL if guests have no branch records here
 */
int x86_branch_init_guest(const struct x86_pmu *xpmu, struct perf_event *event)
{
	int ret = x86_branch_init_type(xpmu, event, event->attr.branch_sample_type);

	if (ret)
		return ret;
	if (xpmu->branches->kind != X86_BRANCHES_RING || !x86_event_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP,
				   "branch_sample_type: this CPU has no branch records for guests");
	event->hw.branch_reg.config = BRANCH_GUEST_FILTER;
	event->hw.flags |= X86_EVENT_GUEST_BRANCHES;
	event->hw.counters = X86_GUEST_BRANCHES;
	return 0;
}

/**
 * x86_branch_init - set the filters of an event with branch records
 * @xpmu: the PMU
 * @event: event being initialised
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP for branches that the CPU cannot record, -EINVAL
 */
int x86_branch_init(const struct x86_pmu *xpmu, struct perf_event *event)
{
	if (!branch_init_has_records(event))
		return 0;
	return x86_branch_init_type(xpmu, event, event->attr.branch_sample_type);
}
