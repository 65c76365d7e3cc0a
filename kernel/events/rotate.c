// SPDX-License-Identifier: GPL-2.0
/*
 * Rotation: when more flexible groups are enabled than a PMU can run at a time, a timer gives
 * each its turn. It runs while somebody on this CPU waits, and what it costs depends on what runs,
 * not on how many wait: the groups that ran go to the end of their queues, and the front of the
 * queues is compiled into the next schedule. The turn of a task that runs for less than an interval
 * at a time is over when its runs come to one; see perf_sched_load().
 *
 * Locks: hard interrupt on the CPU; takes the locks of all contexts there.
 */
#include <linux/hrtimer.h>
#include <linux/smp.h>

#include "engine.h"

static bool has_turns(const struct perf_event_pmu_context *epc)
{
	return epc && epc->overcommitted;
}

/* Task's context and CPU side locked. True if somebody still waits. */
static bool rotate_counters(struct perf_cpu_pmu_context *cpc, struct pmu *pmu,
			    struct perf_event_pmu_context *task_epc)
{
	struct perf_event_pmu_context *owner = task_epc ?: perf_sched_base(pmu);

	if (!has_turns(owner))
		return false;
	/* It began when the task came, after the last turn of the timer. */
	if (task_epc && !cpc->nr_side && !perf_sched_turn_over(cpc, task_epc))
		return true;
	perf_sched_next_turn(cpc, owner);
	perf_sched_reload(pmu);
	return has_turns(owner);
}

static bool rotate_plain(struct perf_event_pmu_context *epc)
{
	if (!has_turns(epc))
		return false;
	perf_plain_rotate(epc);
	return has_turns(epc);
}

static bool rotate_locked(struct perf_cpu_pmu_context *cpc)
{
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx, *ctx;
	struct pmu *pmu = cpc->epc.pmu;
	struct perf_event_pmu_context *epc = task_ctx ? perf_epc_find(task_ctx, pmu) : NULL;
	bool more;

	if (perf_pmu_has_counters(pmu))
		return rotate_counters(cpc, pmu, epc && !list_empty(&epc->counter_entry) ?
						 epc : NULL);
	more = rotate_plain(&cpc->epc);
	for (ctx = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx; ctx; ctx = ctx->cgrp_next)
		more |= rotate_plain(perf_epc_find(ctx, pmu));
	return rotate_plain(epc) || more;
}

/*
 * The turn may end a little before the interval is over or a little after: an interval is usually
 * a tick, and an interrupt that comes anyway, as the tick does, costs a fraction of one of our own.
 */
static void set_window(struct perf_cpu_pmu_context *cpc, ktime_t now)
{
	u64 interval = ktime_to_ns(READ_ONCE(cpc->timer_interval));

	hrtimer_set_expires_range_ns(&cpc->timer, ktime_add_ns(now, interval - interval / 8),
				     interval / 4);
}

static enum hrtimer_restart rotate_timer(struct hrtimer *timer)
{
	struct perf_cpu_pmu_context *cpc = container_of(timer, struct perf_cpu_pmu_context, timer);
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	u64 now = perf_clock();
	bool more;

	/* Its own CPU has just gone, with all that waited there. */
	if (cpc != perf_this_cpc(cpc->epc.pmu))
		return HRTIMER_NORESTART;
	if (task_ctx) {
		raw_spin_lock(&task_ctx->lock);
		perf_ctx_freeze(task_ctx, now);
	}
	perf_cpu_side_lock(now);
	more = rotate_locked(cpc);
	perf_cpu_side_unlock();
	if (task_ctx) {
		perf_ctx_thaw(task_ctx);
		raw_spin_unlock(&task_ctx->lock);
	}

	if (!more)
		return HRTIMER_NORESTART;
	set_window(cpc, hrtimer_cb_get_time(timer));
	return HRTIMER_RESTART;
}

/* Makes sure the next turn comes. Interrupts off, on the CPU; may be under rq->lock. */
void perf_rotate_arm(struct perf_cpu_pmu_context *cpc)
{
	if (hrtimer_is_queued(&cpc->timer) || hrtimer_callback_running(&cpc->timer))
		return;
	set_window(cpc, hrtimer_cb_get_time(&cpc->timer));
	hrtimer_start_expires(&cpc->timer, HRTIMER_MODE_ABS_PINNED_HARD);
}

/**
 * perf_rotate_cancel - no turns on a CPU that has gone
 * @cpu: it; its timers were moved to another CPU when it went
 *
 * Nobody else touches them before the CPU is back. Context: may sleep
 */
void perf_rotate_cancel(int cpu)
{
	struct pmu *pmu;

	guard(srcu)(&perf_pmus_srcu);
	list_for_each_entry_srcu(pmu, &perf_pmus, entry, srcu_read_lock_held(&perf_pmus_srcu))
		hrtimer_cancel(&per_cpu_ptr(pmu->cpu_pmu_context, cpu)->timer);
}

/* Default interval: a tick, but no less than a millisecond. */
static void rotate_setup(struct perf_cpu_pmu_context *cpc, struct pmu *pmu)
{
	if (pmu->hrtimer_interval_ms <= 0)
		pmu->hrtimer_interval_ms = max(1, 1000 / HZ);
	cpc->timer_interval = ms_to_ktime(pmu->hrtimer_interval_ms);
	hrtimer_init(&cpc->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	cpc->timer.function = rotate_timer;
}

static void restart_here(void *arg)
{
	struct pmu *pmu = arg;
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(pmu);

	if (hrtimer_try_to_cancel(&cpc->timer) == 1)
		perf_rotate_arm(cpc);
}

/* Process context. A turn that is under way ends by the new interval. */
static void rotate_interval_changed(struct pmu *pmu)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(pmu->cpu_pmu_context, cpu)->timer_interval,
			   ms_to_ktime(pmu->hrtimer_interval_ms));
	on_each_cpu(restart_here, pmu, 1);
}

void __init perf_rotate_init(void)
{
	perf_pmu_timer_setup = rotate_setup;
	perf_pmu_interval_changed = rotate_interval_changed;
}
