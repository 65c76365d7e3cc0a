// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of each branch: the event branch-instructions of a task, in user space, with period 1. A
 * counter would interrupt for every branch. The branch trace store collects records in the debug
 * store instead, and one interrupt takes the samples of more than 2,000.
 *
 * A sample is of a branch that is taken: its IP is where the branch is, its ADDR where it leads.
 * What samples have of the moment of the interrupt, such as call chains and registers, a record
 * does not have; events that sample these are counted. Entries to and exits from the kernel are no
 * branches of the event, and an unprivileged user must not see the kernel's addresses: they are
 * left out.
 *
 * The events belong to a PMU of their own, without a device, to which x86_event_init() gives them.
 * So other events of the CPU cost nothing more. Several of them on a CPU share the store: it is
 * drained by the interrupt, and when one of them is started, stopped or read.
 *
 * While the CPU is in the kernel it records nothing, so draining needs no register.
 *
 * Context: interrupts disabled on the CPU of the event, or NMI, unless a function states
 * otherwise.
 */
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <asm/cpufeature.h>
#include <asm/segment.h>

#include "../branch.h"
#include "../exclusive.h"
#include "../pmu.h"
#include "bts.h"
#include "ds.h"

/* Events of one CPU that run at a time. */
#define BTS_SAMPLERS	8

#define BTS_BUFFER_NR	(BTS_BUFFER_SIZE / sizeof(struct intel_bts_record))

/* Records between the interrupt and its handler. */
#define BTS_BUFFER_REST	(BTS_BUFFER_NR / 16)

#define BTS_SAMPLE_CONTROL	(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT | \
				 DEBUGCTLMSR_BTS_OFF_OS)

/* What samples have of the branch, its task and its event, and what has no value in them. */
#define BTS_SAMPLE_TYPES	(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_TID |		\
				 PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |	\
				 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU |			\
				 PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC |			\
				 PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_TRANSACTION)

/**
 * struct bts_sampler - events that sample the records of a CPU
 * @on: the handler may drain the store
 * @late: an interrupt may arrive for records that have been drained
 * @nr: number of events
 * @event: the events
 */
struct bts_sampler {
	bool			on;
	bool			late;
	unsigned int		nr;
	struct perf_event	*event[BTS_SAMPLERS];
};

static DEFINE_PER_CPU(struct bts_sampler, bts_sampler);
static bool bts_samples_branches __ro_after_init;
static struct pmu bts_sample_pmu;

/* --------------------------------------------------------------------- records */

/**
 * intel_bts_record_is_user - is a record of a branch within user space?
 * @r: the record
 *
 * Context: any, NMI included.
 * Return: true for such a branch
 */
bool intel_bts_record_is_user(const struct intel_bts_record *r)
{
	return !x86_address_is_kernel(r->from) && !x86_address_is_kernel(r->to);
}

/* The period is 1 when an event is opened, and any that the ioctl sets. 0: the next one begins. */
static bool bts_sample_period_ends(struct hw_perf_event *hw)
{
	s64 left = local64_read(&hw->period_left);

	left = (left > 0 ? left : (s64)hw->sample_period) - 1;
	local64_set(&hw->period_left, left);
	return !left;
}

static void bts_sample_one(struct perf_event *event, const struct intel_bts_record *r)
{
	struct pt_regs regs = { .ip = r->from, .cs = __USER_CS, .ss = __USER_DS };
	struct perf_sample_data data __uninitialized;

	local64_inc(&event->count);
	if (!bts_sample_period_ends(&event->hw))
		return;
	perf_sample_data_init(&data, r->to, event->hw.sample_period);
	data.sample_flags |= PERF_SAMPLE_ADDR;
	perf_event_output(event, &data, &regs);
}

static void bts_sampler_drain(struct bts_sampler *s)
{
	const struct intel_bts_record *r = intel_ds_memory(INTEL_DS_BTS);
	struct debug_store *ds = intel_ds_this_area();
	unsigned long size = ds->bts_index - ds->bts_buffer_base;
	unsigned long nr = min(size / sizeof(*r), BTS_BUFFER_NR);

	for (; nr; nr--, r++) {
		if (!intel_bts_record_is_user(r))
			continue;
		for (unsigned int i = 0; i < s->nr; i++)
			bts_sample_one(s->event[i], r);
	}
	ds->bts_index = ds->bts_buffer_base;
}

/* --------------------------------------------------------------- on and off */

/* The handler leaves the store alone until bts_sampler_continue(). */
static void bts_sampler_pause(struct bts_sampler *s)
{
	WRITE_ONCE(s->on, false);
	barrier();
	if (!s->nr)
		return;
	if (intel_bts_is_due(intel_ds_this_area()))
		s->late = true;
	barrier();
	bts_sampler_drain(s);
}

static void bts_sampler_continue(struct bts_sampler *s)
{
	struct debug_store *ds = intel_ds_this_area();

	if (!s->nr) {
		intel_bts_write_control(0);
		ds->bts_interrupt_threshold = 0;
		return;
	}
	ds->bts_buffer_base = intel_ds_address(INTEL_DS_BTS);
	ds->bts_index = ds->bts_buffer_base;
	ds->bts_absolute_maximum =
		ds->bts_buffer_base + BTS_BUFFER_NR * sizeof(struct intel_bts_record);
	ds->bts_interrupt_threshold =
		ds->bts_absolute_maximum - BTS_BUFFER_REST * sizeof(struct intel_bts_record);
	intel_ds_cpu_load();
	barrier();
	WRITE_ONCE(s->on, true);
	intel_bts_write_control(BTS_SAMPLE_CONTROL);
}

/**
 * intel_bts_sample_irq - take the samples in an interrupt
 * @due: the store of this CPU has reached the threshold
 *
 * Context: NMI.
 * Return: whether the interrupt is a late one for samples that have been taken
 */
bool intel_bts_sample_irq(bool due)
{
	struct bts_sampler *s = this_cpu_ptr(&bts_sampler);
	bool late = s->late;

	s->late = false;
	if (due && READ_ONCE(s->on)) {
		WRITE_ONCE(s->on, false);
		bts_sampler_drain(s);
		WRITE_ONCE(s->on, true);
	}
	return late;
}

/**
 * intel_bts_sample_restore - continue after a suspension that has cleared the register
 *
 * Context: interrupts disabled.
 */
void intel_bts_sample_restore(void)
{
	if (this_cpu_read(bts_sampler.nr))
		intel_bts_write_control(BTS_SAMPLE_CONTROL);
}

/* --------------------------------------------------------------------- the PMU */

static void bts_sample_start(struct perf_event *event, int flags)
{
	struct bts_sampler *s = this_cpu_ptr(&bts_sampler);

	lockdep_assert_irqs_disabled();
	if (!(event->hw.state & PERF_HES_STOPPED) || s->nr == BTS_SAMPLERS)
		return;
	bts_sampler_pause(s);
	s->event[s->nr++] = event;
	event->hw.state = 0;
	bts_sampler_continue(s);
}

static void bts_sample_stop(struct perf_event *event, int flags)
{
	struct bts_sampler *s = this_cpu_ptr(&bts_sampler);
	unsigned int i;

	lockdep_assert_irqs_disabled();
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	bts_sampler_pause(s);
	for (i = 0; i < s->nr && s->event[i] != event; i++)
		;
	s->event[i] = s->event[--s->nr];
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	bts_sampler_continue(s);
}

static int bts_sample_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (!(flags & PERF_EF_START))
		return 0;
	bts_sample_start(event, flags);
	return event->hw.state & PERF_HES_STOPPED ? -EAGAIN : 0;
}

static void bts_sample_del(struct perf_event *event, int flags)
{
	bts_sample_stop(event, PERF_EF_UPDATE);
}

static void bts_sample_read(struct perf_event *event)
{
	struct bts_sampler *s = this_cpu_ptr(&bts_sampler);

	if (event->hw.state & PERF_HES_STOPPED || in_nmi())
		return;
	bts_sampler_pause(s);
	bts_sampler_continue(s);
}

/* Context: process. */
static void bts_sample_destroy(struct perf_event *event)
{
	x86_del_exclusive(x86_lbr_exclusive_samples);
}

/**
 * intel_bts_sample_suits - are the samples of an event better taken from records?
 * @event: event to be opened, with attr set
 * @period: period of the event, in events
 *
 * Context: process.
 * Return: true for an event that is to be sampled from records
 */
bool intel_bts_sample_suits(const struct perf_event *event, u64 period)
{
	const struct perf_event_attr *attr = &event->attr;

	return bts_samples_branches && attr->type == PERF_TYPE_HARDWARE &&
	       attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS &&
	       period == 1 && !attr->freq && attr->exclude_kernel &&
	       !attr->exclude_user && !attr->exclude_host && !attr->precise_ip &&
	       !attr->sigtrap && !attr->aux_output && !attr->aux_action &&
	       !(attr->sample_type & ~BTS_SAMPLE_TYPES) &&
	       event->attach_state & PERF_ATTACH_TASK;
}

/**
 * intel_bts_sample_init - have the samples of an event taken from records
 * @event: event to be opened, that intel_bts_sample_suits()
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, -EBUSY
 */
int intel_bts_sample_init(struct perf_event *event)
{
	int ret = intel_ds_alloc(INTEL_DS_BTS);

	if (ret)
		return perf_refuse(ret, "sample_period: no memory for a record of each branch");
	if (x86_add_exclusive(x86_lbr_exclusive_samples))
		return perf_refuse(-EBUSY,
				   "sample_period: branches are being traced by another PMU");
	event->pmu = &bts_sample_pmu;
	event->destroy = bts_sample_destroy;
	return 0;
}

/* pmu::event_init: only inherited events are opened here. Context: process. */
static int bts_sample_event_init(struct perf_event *event)
{
	if (!event->parent || event->parent->pmu != &bts_sample_pmu)
		return -ENOENT;
	return intel_bts_sample_init(event);
}

static struct pmu bts_sample_pmu = {
	.dev		= PMU_NULL_DEV,
	.task_ctx_nr	= perf_sw_context,
	.event_init	= bts_sample_event_init,
	.add		= bts_sample_add,
	.del		= bts_sample_del,
	.start		= bts_sample_start,
	.stop		= bts_sample_stop,
	.read		= bts_sample_read,
};

static int __init bts_sample_register(void)
{
	int ret;

	if (!intel_bts_is_usable())
		return -ENODEV;
	ret = perf_pmu_register(&bts_sample_pmu, "branches_bts", -1);
	bts_samples_branches = !ret;
	return ret;
}
arch_initcall(bts_sample_register);
