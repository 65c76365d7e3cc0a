// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: stopping counters that run on although no event is open.
 *
 * A CPU's counters run on when a task leaves the CPU. If the task's events are closed elsewhere, no
 * schedule is loaded on that CPU that would stop them: they keep the PMU's clock on, and counters
 * of 32 bits interrupt once. A second after the last event of all PMUs has been closed they are
 * stopped. Until then nothing is done, so that programs which open and close events in turn pay
 * for no cross-call.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "pmuv3.h"

#define PMUV3_UNUSED_DELAY	HZ

static atomic_t pmuv3_nr_events;

static bool pmuv3_runs(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(pmuv3_cpu, cpu).pmcr_e);
}

static void pmuv3_disable_unused_here(void *unused)
{
	unsigned long daif = pmuv3_mask_nmi();

	pmuv3_disable_unused(this_cpu_ptr(&pmuv3_cpu));
	pmuv3_unmask_nmi(daif);
}

/* An event that is opened meanwhile has no disadvantage: loading it starts its counter. */
static void pmuv3_unused_fn(struct work_struct *work)
{
	if (!atomic_read(&pmuv3_nr_events))
		on_each_cpu_cond(pmuv3_runs, pmuv3_disable_unused_here, NULL, true);
}

static DECLARE_DELAYED_WORK(pmuv3_unused_work, pmuv3_unused_fn);

static void pmuv3_event_destroy(struct perf_event *event)
{
	if (atomic_dec_and_test(&pmuv3_nr_events))
		queue_delayed_work(system_power_efficient_wq, &pmuv3_unused_work,
				   PMUV3_UNUSED_DELAY);
}

/**
 * pmuv3_get - count an event that is being opened
 * @event: event of PMUv3; perf_event::destroy is set, which counts the event as closed
 *
 * Context: process context.
 */
void pmuv3_get(struct perf_event *event)
{
	atomic_inc(&pmuv3_nr_events);
	event->destroy = pmuv3_event_destroy;
}
