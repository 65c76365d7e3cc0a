// SPDX-License-Identifier: GPL-2.0
/*
 * Rotation.
 *
 * If more flexible groups are enabled than a PMU can run at a time, a timer ends the slice of those
 * that run, once in each multiplexing interval. It is armed only while some group on this CPU
 * waits. Its cost depends on the number of groups that run, not on the number that wait: those that
 * ran move to the end of their queues, and the next schedule is compiled from the front.
 *
 * A task that runs for less than an interval at a time has its slice ended when the sum of its runs
 * amounts to 7/8 of an interval or more: see perf_sched_load() and perf_sched_slice_expired().
 *
 * Locks: hard interrupt on the CPU; takes the locks of all contexts there.
 */
#include <linux/hrtimer.h>
#include <linux/smp.h>

#include "sched.h"

/* All contexts on this CPU locked. Returns true if some group still waits. */
static bool rotate_counters(struct perf_cpu_pmu_context *cpc, struct pmu *pmu,
			    struct perf_event_pmu_context *task_epc)
{
	struct perf_event_pmu_context *owner = task_epc ?: perf_sched_base(pmu);

	if (!owner->overcommitted)
		return false;
	/* The slice started with the task's switch-in, later than the timer's interval. */
	if (task_epc && !cpc->nr_cpu_side && !perf_sched_slice_expired(cpc, task_epc))
		return true;
	perf_sched_rotate(cpc, owner);
	perf_sched_reload(pmu);
	return owner->overcommitted;
}

static bool rotate_locked(struct perf_cpu_pmu_context *cpc)
{
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	struct perf_event_pmu_context *epc = NULL;
	struct pmu *pmu = cpc->epc.pmu;

	if (!perf_pmu_has_counters(pmu))
		return perf_adddel_rotate(pmu, true);
	if (task_ctx)
		epc = perf_epc_find(task_ctx, pmu);
	if (epc && list_empty(&epc->counter_entry))
		epc = NULL;
	return rotate_counters(cpc, pmu, epc);
}

static bool rotate_pmu(struct perf_cpu_pmu_context *cpc)
{
	guard(perf_cpu_contexts)();
	return rotate_locked(cpc);
}

/*
 * A slice may end too early or too late. The interval usually is a tick, and expiring with an
 * interrupt that happens anyway, as the tick does, costs a fraction of an interrupt of its own.
 */
static void rotate_set_window(struct perf_cpu_pmu_context *cpc, ktime_t now)
{
	s64 interval = ktime_to_ns(READ_ONCE(cpc->timer_interval));
	s64 tolerance = perf_slice_tolerance(interval);

	hrtimer_set_expires_range_ns(&cpc->timer, ktime_add_ns(now, interval - tolerance),
				     2 * tolerance);
}

static enum hrtimer_restart rotate_timer(struct hrtimer *timer)
{
	struct perf_cpu_pmu_context *cpc = container_of(timer, struct perf_cpu_pmu_context, timer);

	/* The timer of a CPU that is offline has been moved here; no group waits there. */
	if (cpc != perf_this_cpc(cpc->epc.pmu))
		return HRTIMER_NORESTART;
	if (!rotate_pmu(cpc))
		return HRTIMER_NORESTART;
	rotate_set_window(cpc, hrtimer_cb_get_time(timer));
	return HRTIMER_RESTART;
}

/**
 * perf_rotate_arm - arm the timer of a PMU on which some group waits
 * @cpc: PMU on this CPU; nothing is done if its timer is armed already
 *
 * Context: interrupts off; may be under rq->lock
 */
void perf_rotate_arm(struct perf_cpu_pmu_context *cpc)
{
	lockdep_assert_irqs_disabled();
	if (hrtimer_is_queued(&cpc->timer) || hrtimer_callback_running(&cpc->timer))
		return;
	rotate_set_window(cpc, hrtimer_cb_get_time(&cpc->timer));
	hrtimer_start_expires(&cpc->timer, HRTIMER_MODE_ABS_PINNED_HARD);
}

/**
 * perf_rotate_cancel - cancel the timers of a CPU that is offline
 * @cpu: CPU; its timers were moved to another one before it was offline
 *
 * No other code uses the timers before the CPU is online again.
 *
 * Context: may sleep
 */
void perf_rotate_cancel(int cpu)
{
	struct pmu *pmu;
	int idx;

	idx = srcu_read_lock(&perf_pmus_srcu);
	list_for_each_entry_srcu(pmu, &perf_pmus, entry, srcu_read_lock_held(&perf_pmus_srcu))
		hrtimer_cancel(&per_cpu_ptr(pmu->cpu_pmu_context, cpu)->timer);
	srcu_read_unlock(&perf_pmus_srcu, idx);
}

/* The default interval is a tick, but at least a millisecond. */
static void rotate_setup(struct perf_cpu_pmu_context *cpc, struct pmu *pmu)
{
	if (pmu->hrtimer_interval_ms <= 0)
		pmu->hrtimer_interval_ms = max(1, 1000 / HZ);
	cpc->timer_interval = ms_to_ktime(pmu->hrtimer_interval_ms);
	hrtimer_init(&cpc->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	cpc->timer.function = rotate_timer;
}

static void rotate_restart_here(void *arg)
{
	struct pmu *pmu = arg;
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(pmu);

	if (hrtimer_try_to_cancel(&cpc->timer) == 1)
		perf_rotate_arm(cpc);
}

/* Process context. The current slice ends by the new interval. */
static void rotate_interval_changed(struct pmu *pmu)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(pmu->cpu_pmu_context, cpu)->timer_interval,
			   ms_to_ktime(pmu->hrtimer_interval_ms));
	on_each_cpu(rotate_restart_here, pmu, 1);
}

/**
 * perf_rotate_init - connect rotation to the registration of PMUs
 *
 * Context: boot, before the first PMU is registered
 */
void __init perf_rotate_init(void)
{
	perf_pmu_timer_setup = rotate_setup;
	perf_pmu_interval_changed = rotate_interval_changed;
}
