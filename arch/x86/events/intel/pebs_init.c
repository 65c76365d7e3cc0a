// SPDX-License-Identifier: GPL-2.0
/*
 * pmu::event_init of events with precise samples.
 *
 * Context: process, may sleep.
 */
#include <linux/sched/clock.h>
#include <asm/perf_regs.h>
#include <asm/timer.h>

#include "../branch.h"
#include "../lbr.h"
#include "ds.h"
#include "models.h"
#include "pebs.h"

#define PEBS_SELECT	(X86_SELECT_UMASK | SEL_EDGE | SEL_INV | SEL_CMASK(0xff))
#define PEBS_CYCLES	0x003c
#define PEBS_INSNS	0x00c0
#define PEBS_PREC_DIST	0x0100	/* instructions of fixed counter 0 alone */

/* Fields of a sample that adaptive records have only with a group; EAX has the code of an abort. */
#define PEBS_NEEDS_GPRS	(PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER |	\
			 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN |	\
			 PERF_SAMPLE_TRANSACTION)

/**
 * intel_pebs_init_select - select what stands for core cycles in an event with precise samples
 * @xpmu: the PMU
 * @event: event being initialised; its selection is set
 *
 * Context: process, may sleep.
 * Return: 0
 */
int intel_pebs_init_select(const struct x86_pmu *xpmu, struct perf_event *event)
{
	unsigned int precise = event->attr.precise_ip;
	u64 *config = &event->hw.config;

	if (precise && (*config & PEBS_SELECT) == PEBS_CYCLES &&
	    xpmu->model->precise->cycles[precise])
		*config = xpmu->model->precise->cycles[precise] | (*config & ~PEBS_SELECT);
	return 0;
}

/*
 * Before Ice Lake there are no records of an event with a modifier, but for those that a row of the
 * line has and the one that stands for cycles. Parts on which any event has records accept all.
 *
 * Manual: SDM 3B, "Processor Event Based Sampling" of the lines before Ice Lake.
 */
static bool pebs_init_is_modified(const struct x86_precise_line *line, u64 config)
{
	u64 any = config & ARCH_PERFMON_EVENTSEL_ANY, select = config & PEBS_SELECT;

	if (line->others == ~0ULL)
		return false;
	return any || (select & ~X86_SELECT_UMASK && select != line->cycles[1]);
}

static u64 pebs_init_allowed(const struct x86_precise_line *line, const struct perf_event *event,
			     const struct x86_precise *row)
{
	u64 select = event->hw.config & PEBS_SELECT;
	bool insns = select == PEBS_INSNS || select == PEBS_PREC_DIST;
	u64 counters = row ? row->counters :
			     pebs_init_is_modified(line, event->hw.config) ? 0 : line->others;
	u64 confined = insns ? line->instructions : line->rest;

	if (event->attr.precise_ip == 3 && confined)
		return counters & confined;
	if (line->flags & X86_PRECISE_RETIRE_GENERAL &&
	    event->attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		return counters & ~X86_FIXED(0) ?: counters;
	return counters;
}

/**
 * intel_pebs_groups - the groups of an adaptive record that an event needs
 * @event: event with precise samples
 *
 * Context: any.
 * Return: INTEL_PEBS_GROUPS
 */
u32 intel_pebs_groups(const struct perf_event *event)
{
	u64 type = event->attr.sample_type;
	u32 groups = 0;

	if (type & PEBS_NEEDS_GPRS)
		groups |= INTEL_PEBS_GPRS;
	if (type & INTEL_PEBS_DATA_TYPES)
		groups |= INTEL_PEBS_MEMORY;
	if (type & PERF_SAMPLE_REGS_INTR && event->attr.sample_regs_intr & PERF_REG_EXTENDED_MASK)
		groups |= INTEL_PEBS_XMM;
	if (event->hw.flags & X86_EVENT_BRANCHES)
		groups |= INTEL_PEBS_BRANCHES;
	return groups;
}

#define PEBS_BRANCHES							\
	(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL)

/*
 * Records that name the next instruction alone: the newest branch leads to the one before. All
 * branches at the event's levels are recorded for that.
 */
static int pebs_init_branches(const struct x86_pmu *xpmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 type = PERF_SAMPLE_BRANCH_ANY |
		   (attr->exclude_user ? 0 : PERF_SAMPLE_BRANCH_USER) |
		   (attr->exclude_kernel ? 0 : PERF_SAMPLE_BRANCH_KERNEL);

	if (attr->precise_ip < 2 || xpmu->precise_format >= 2)
		return 0;
	if (!has_branch_stack(event))
		return x86_branch_init_type(xpmu, event, type);
	if ((attr->branch_sample_type & PEBS_BRANCHES) == type)
		return 0;
	return perf_refuse(-EOPNOTSUPP,
			   "branch_sample_type: precise_ip 2 needs ANY at the event's levels");
}

#define PEBS_LOAD_LATENCY	0x01cd
#define PEBS_LOADS_AUX		0x8203

/* On some parts the source of a load is right only after an event LD_BLOCKS in its group. */
static int pebs_init_check_loads(const struct x86_precise_line *line, struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;

	if (!(line->flags & X86_PRECISE_LOADS_AUX) || event->parent ||
	    !(event->attr.sample_type & PERF_SAMPLE_DATA_SRC) ||
	    (event->hw.config & INTEL_ARCH_EVENT_MASK) != PEBS_LOAD_LATENCY)
		return 0;
	if (leader != event) {
		if ((leader->attr.config & INTEL_ARCH_EVENT_MASK) == PEBS_LOADS_AUX)
			return 0;
		for_each_sibling_event(sibling, leader)
			if ((sibling->attr.config & INTEL_ARCH_EVENT_MASK) == PEBS_LOADS_AUX)
				return 0;
	}
	return perf_refuse(-ENODATA,
			   "sample_type: DATA_SRC of loads needs event %#llx in the group before",
			   PEBS_LOADS_AUX);
}

/*
 * Fields that a sample can have long after its record was written: those of the record, and those
 * that stay until the task or the CPU changes.
 */
#define PEBS_BATCH_FIELDS						\
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_DATA_SRC |	\
	 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |	\
	 PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |	\
	 PERF_SAMPLE_REGS_INTR)

/* Registers that no record has. */
#define PEBS_NO_REGS							\
	(BIT_ULL(PERF_REG_X86_CS) | BIT_ULL(PERF_REG_X86_SS) | BIT_ULL(PERF_REG_X86_DS) |	\
	 BIT_ULL(PERF_REG_X86_ES) | BIT_ULL(PERF_REG_X86_FS) | BIT_ULL(PERF_REG_X86_GS))

/* Records have a time stamp from format 3 on, which is the clock of samples as it is by default. */
static u64 pebs_init_batch_fields(const struct x86_pmu *xpmu, const struct perf_event_attr *attr)
{
	u64 fields = PEBS_BATCH_FIELDS;

	if (xpmu->precise_format >= 3 && !attr->use_clockid && sched_clock_stable() &&
	    using_native_sched_clock())
		fields |= PERF_SAMPLE_TIME;
	if (xpmu->precise_format >= INTEL_PEBS_ADAPTIVE)
		fields |= PERF_SAMPLE_BRANCH_STACK;
	if (attr->exclude_kernel && !(attr->sample_regs_user & PEBS_NO_REGS))
		fields |= PERF_SAMPLE_REGS_USER;
	if (attr->sample_regs_intr & PEBS_NO_REGS)
		fields &= ~PERF_SAMPLE_REGS_INTR;
	return fields;
}

/* Many records to one interrupt: the event has one period, and needs the interrupt for nothing. */
static void pebs_init_batch(const struct x86_pmu *xpmu, struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	bool needs_registers = event->hw.flags & X86_EVENT_BRANCHES &&
			       xpmu->precise_format < INTEL_PEBS_ADAPTIVE;

	if (attr->freq || (attr->wakeup_events && !attr->watermark) || attr->sigtrap ||
	    attr->aux_output || attr->aux_pause || attr->aux_resume || needs_registers ||
	    attr->sample_type & ~pebs_init_batch_fields(xpmu, attr))
		return;
	event->hw.flags |= X86_EVENT_BATCH;
	/* An event of a CPU is not loaded again when the task changes. */
	if (!(event->attach_state & PERF_ATTACH_TASK))
		event->attach_state |= PERF_ATTACH_SCHED_CB;
}

/**
 * intel_pebs_init_counters - restrict an event with precise samples to counters with records
 * @xpmu: the PMU
 * @event: event being initialised; its selection and its counters are set
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL if there are no records of the event; -ENODATA if its group lacks the event
 *	that the source of a load needs; -EOPNOTSUPP, -ENOMEM
 */
int intel_pebs_init_counters(const struct x86_pmu *xpmu, struct perf_event *event)
{
	const struct x86_precise_line *line = xpmu->model->precise;
	struct hw_perf_event *hw = &event->hw;
	const struct x86_precise *row;
	int ret;

	if (!event->attr.precise_ip)
		return 0;
	row = intel_pebs_find(line, hw->config);
	hw->counters &= pebs_init_allowed(line, event, row) & xpmu->precise_counters;
	if (!hw->counters)
		return perf_refuse(-EINVAL, "precise_ip: no counter has precise samples of %#llx",
				   hw->config);
	ret = pebs_init_check_loads(line, event) ?: pebs_init_branches(xpmu, event);
	if (ret)
		return ret;
	if (intel_ds_alloc(INTEL_DS_PEBS))
		return perf_refuse(-ENOMEM, "precise_ip: no memory for the debug store");
	hw->flags |= X86_EVENT_PRECISE;
	hw->config_base = row ? row->kind : X86_PRECISE_PLAIN;
	hw->event_base = intel_pebs_groups(event);
	if (xpmu->precise_format >= INTEL_PEBS_ADAPTIVE)
		hw->config |= ICL_EVENTSEL_ADAPTIVE;
	pebs_init_batch(xpmu, event);
	return 0;
}
