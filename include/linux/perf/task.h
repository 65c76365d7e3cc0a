/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Performance events, for drivers of PMUs that record: state that belongs to a task, and what
 * happens at the switches between tasks. Include linux/perf_event.h.
 */
#ifndef _LINUX_PERF_TASK_H
#define _LINUX_PERF_TASK_H

/**
 * perf_event_task_data - the driver's data of the task that an event belongs to
 * @event: event with PERF_ATTACH_TASK_DATA
 *
 * A task has one object of pmu::task_ctx_cache for all such events of the PMU. The object is zeroed
 * when the first event is installed, and freed some time after the last event is removed. A child
 * has a separate object, zeroed too. A driver that is unloaded calls rcu_barrier() before it
 * destroys the cache.
 *
 * Context: where the event is on a CPU, NMI included; or ctx->lock
 * Return: the object; NULL for events of CPUs and cgroups
 */
void *perf_event_task_data(const struct perf_event *event);

/**
 * perf_event_task_clock - what the clock of the context of a task's event shows
 * @event: event of a task
 *
 * The clock stands still from before pmu::sched_save is called when the task leaves a CPU until
 * pmu::sched_load has returned when it is back. If two readings are equal, the task has not run in
 * between.
 *
 * Context: any; exact where the event's counter is saved or loaded
 * Return: ns
 */
u64 perf_event_task_clock(const struct perf_event *event);

/**
 * perf_sched_cb_inc - request pmu::sched_task at the context switches of this CPU
 * @pmu: PMU with that callback
 *
 * The callback is called for a task that leaves before the events of the task are stopped, and for
 * a task that arrives after the events of that task are started, with interrupts off, rq->lock held
 * and NULL as the PMU context; at exit and exec for the task that runs, without rq->lock. Requests
 * are counted. pmu::event_init sets PERF_ATTACH_SCHED_CB for events that need requests, because an
 * event of a CPU does not enable the hooks of the scheduler otherwise.
 *
 * Context: interrupts off, not NMI
 */
void perf_sched_cb_inc(struct pmu *pmu);

/**
 * perf_sched_cb_dec - withdraw a request of perf_sched_cb_inc() on this CPU
 * @pmu: the PMU
 *
 * Context: as perf_sched_cb_inc(), but not in pmu::sched_task
 */
void perf_sched_cb_dec(struct pmu *pmu);

/**
 * perf_sched_load_follows - is another schedule loaded before any task runs in user space?
 * @pmu: PMU of this CPU, of which pmu::sched_save is being called
 * @next: argument of pmu::sched_save
 *
 * From the first time that this returns true, schedules without events are loaded, too, on this
 * CPU. There is no load nevertheless if the next task loses its last event of @pmu meanwhile, or
 * has events of other PMUs with counters alone.
 *
 * Context: interrupts off
 * Return: false also without @next
 */
bool perf_sched_load_follows(struct pmu *pmu, const struct task_struct *next);

#endif /* _LINUX_PERF_TASK_H */
