// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks of drivers at context switches: pmu::sched_task.
 *
 * A driver of hardware that records what a CPU executes, whichever task that is, separates the
 * tasks' records even at switches between tasks without events. The hooks of the scheduler test for
 * requests together with SWITCH records: a switch without either has one test for both.
 *
 * Locks: none; each CPU has its own list, which changes with interrupts off.
 */
#include "sched.h"

/* PMUs with requests on this CPU. */
static DEFINE_PER_CPU(struct hlist_head, sched_cb_pmus);

void perf_sched_cb_inc(struct pmu *pmu)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(pmu);

	lockdep_assert_irqs_disabled();
	if (cpc->nr_sched_cb++)
		return;
	hlist_add_head(&cpc->sched_cb_entry, this_cpu_ptr(&sched_cb_pmus));
	atomic_inc(&perf_nr_switch_events);
}
EXPORT_SYMBOL_GPL(perf_sched_cb_inc);

void perf_sched_cb_dec(struct pmu *pmu)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(pmu);

	lockdep_assert_irqs_disabled();
	if (--cpc->nr_sched_cb)
		return;
	hlist_del(&cpc->sched_cb_entry);
	atomic_dec(&perf_nr_switch_events);
}
EXPORT_SYMBOL_GPL(perf_sched_cb_dec);

/**
 * perf_sched_cb_switch - call pmu::sched_task of the PMUs with requests on this CPU
 * @task: task that is switched in or out
 * @sched_in: @task is switched in
 *
 * Context: scheduler, interrupts off
 */
void perf_sched_cb_switch(struct task_struct *task, bool sched_in)
{
	struct perf_cpu_pmu_context *cpc;

	hlist_for_each_entry(cpc, this_cpu_ptr(&sched_cb_pmus), sched_cb_entry) {
		struct pmu *pmu = cpc->epc.pmu;

		perf_pmu_disable(pmu);
		pmu->sched_task(NULL, task, sched_in);
		perf_pmu_enable(pmu);
	}
}

/**
 * perf_sched_cb_flush - take the samples of the running task that PMUs have recorded
 *
 * At exit and exec the task loses the identity, or the program, that these samples have.
 *
 * Context: process
 */
void perf_sched_cb_flush(void)
{
	if (!atomic_read(&perf_nr_switch_events))
		return;
	guard(perf_irqs)();
	perf_sched_cb_switch(current, false);
}
