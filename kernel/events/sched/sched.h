/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 5, sched: which events run. Schedules, task and cgroup switches, rotation.
 *
 * What starts, stops or loads events runs with interrupts off; cross-calls, allocation and the
 * check of a group at open run in process context. A context's functions run on the CPU where the
 * context is active, or on any CPU, under ctx->lock, while it is active on none.
 *
 * The CPU side is the CPU's own context together with the active cgroup contexts of that CPU.
 */
#ifndef _KERNEL_EVENTS_SCHED_H
#define _KERNEL_EVENTS_SCHED_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 5
# error "kernel/events/sched is a higher layer than this file"
#endif

#include <linux/cleanup.h>
#include <linux/smp.h>

#include "../event/event.h"

/* cross_call.c */
typedef int (*perf_ctx_fn)(struct perf_event_context *ctx, void *arg);
typedef int (*perf_event_fn)(struct perf_event *event, void *arg);
void perf_call_on_cpu(int cpu, smp_call_func_t fn, void *info);
int  perf_ctx_call(struct perf_event_context *ctx, perf_ctx_fn fn, void *arg);
int  perf_ctx_call_own(struct perf_event_context *ctx, perf_ctx_fn fn, void *arg);
int  perf_event_call_how(struct perf_event *event, perf_event_fn fn, void *arg, bool own);
int  perf_event_call_inatomic(struct perf_event *event, perf_event_fn fn, void *arg);
bool perf_call_interrupts_hit(void);
bool perf_ctx_is_elsewhere(struct perf_event_context *ctx);

/**
 * perf_event_call - enable or disable an event where its context may be changed
 * @event: referenced; may be leaving its context
 * @fn: enables or disables @event; called as by perf_ctx_call(), but other contexts on the CPU may
 *	be unlocked if they do not depend on @event. Returns neither -ESTALE nor -ESRCH
 * @arg: argument of @fn
 *
 * No lock is needed: the context of an event changes only when a PMU's CPU events are moved to
 * another CPU, and the contexts of CPUs are never freed. @fn may find the event on its way to the
 * other CPU (PERF_ATTACH_MOVING), in none of the context's lists.
 *
 * Context: as for perf_ctx_call()
 * Return: what @fn returns, -ESRCH if the event is in no context
 */
static inline int perf_event_call(struct perf_event *event, perf_event_fn fn, void *arg)
{
	return perf_event_call_how(event, fn, arg, false);
}

/**
 * perf_event_call_own - perf_event_call() for a function that changes no schedule
 * @event: as for perf_event_call()
 * @fn: as for perf_ctx_call_own()
 * @arg: argument of @fn
 *
 * Context: as for perf_ctx_call()
 * Return: as for perf_event_call()
 */
static inline int perf_event_call_own(struct perf_event *event, perf_event_fn fn, void *arg)
{
	return perf_event_call_how(event, fn, arg, true);
}

/* sched_cb.c: pmu::sched_task */
void perf_sched_cb_switch(struct task_struct *task, bool sched_in);
void perf_sched_cb_flush(void);

/* group_queue.c: the order in which flexible groups run */
void perf_group_queue_insert(struct perf_event_pmu_context *epc, struct perf_event *leader);
void perf_group_queue_account(struct perf_event_pmu_context *epc, struct perf_event *leader);
void perf_group_queue_settle(struct perf_event *leader);
void perf_group_queue_pass(struct perf_event_pmu_context *epc, const struct perf_event *end);
void perf_group_queue_fail(struct perf_event *leader);

/* The group that has waited longest; NULL if there is none. */
static inline struct perf_event *perf_group_queue_first(struct perf_event_pmu_context *epc)
{
	return list_first_entry_or_null(&epc->flexible, struct perf_event, group_entry);
}

/* group_run.c: starting and stopping groups */
int  perf_switch_event_add(struct perf_event *event);
void perf_switch_event_del(struct perf_event *event);
int  perf_group_start(struct perf_event *leader);
void perf_group_stop(struct perf_event *leader);
bool perf_group_start_sibling(struct perf_event *event);
bool perf_group_stop_sibling(struct perf_event *event);
void perf_group_member_exit(struct perf_event *event);
void perf_group_queue(struct perf_event *leader);
void perf_group_unqueue(struct perf_event *leader);
bool perf_group_queued(const struct perf_event *leader);
void perf_group_fail(struct perf_event *leader);

/* A single event of a counter PMU: the usual group in a rotation. */
static __always_inline bool perf_is_lone_counter(const struct perf_event *leader)
{
	return !leader->nr_siblings && perf_pmu_has_counters(leader->pmu);
}

/* Accounts the time for which a flexible group ran up to leader->tstamp, if it is still queued. */
static __always_inline void perf_group_account(struct perf_event *leader)
{
	if (perf_event_stored_running(leader) != leader->sched_stamp &&
	    !list_empty(&leader->group_entry))
		perf_group_queue_account(leader->pmu_ctx, leader);
}

/* schedule.c: counter PMUs, and the entry for all PMUs */
void perf_sched_group_changed(struct perf_event *leader);
void perf_sched_add_group(struct perf_event *leader);
void perf_sched_remove_group(struct perf_event *leader);
void perf_sched_changed(struct perf_event_pmu_context *epc);
void perf_sched_drop_event(struct perf_event *event);
void perf_sched_invalidate_user(struct perf_event_pmu_context *epc);
void perf_sched_load(struct perf_event_pmu_context *epc);
void perf_sched_load_base(struct perf_cpu_pmu_context *cpc, struct pmu *pmu);
void perf_sched_base_left(struct perf_event_pmu_context *epc);
void perf_sched_start_without_slots(struct perf_event *leader);
void perf_sched_reload(struct pmu *pmu);
struct perf_event_pmu_context *perf_sched_base(struct pmu *pmu);
bool perf_sched_load_again(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base);
bool perf_sched_group_needs_slots(const struct pmu *pmu, const struct perf_event *leader);
bool perf_sched_slice_expired(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc);
void perf_sched_rotate(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc);

/* By how much a slice may end too early or too late; @interval: multiplexing interval, ns. */
static inline u64 perf_slice_tolerance(u64 interval)
{
	return interval / 8;
}

/* fits.c */
int  perf_sched_group_fits(struct perf_event *leader, struct perf_event *newcomer);

/* sched_adddel.c: all other PMUs */
bool perf_group_may_run(const struct perf_event *leader);
void perf_adddel_group_changed(struct perf_event *leader);
void perf_adddel_retry(struct perf_event_context *ctx);
void perf_adddel_rebind(struct perf_event_context *ctx);
bool perf_adddel_rotate(struct pmu *pmu, bool start);

/**
 * perf_sched_group_added - act on a group on a PMU of any kind that has joined a context or was
 *	enabled
 * @leader: leader of the group, which does not run; queued if and only if it is enabled
 *
 * Context: ctx->lock, where the context may be changed
 */
static inline void perf_sched_group_added(struct perf_event *leader)
{
	if (perf_pmu_has_counters(leader->pmu_ctx->pmu))
		perf_sched_add_group(leader);
	else
		perf_adddel_group_changed(leader);
}

/**
 * perf_sched_group_removed - act on a group on a PMU of any kind that leaves or was disabled
 * @leader: leader of the group, which was stopped and is not queued; its members stay members
 *
 * Context: ctx->lock, where the context may be changed
 */
static inline void perf_sched_group_removed(struct perf_event *leader)
{
	if (perf_pmu_has_counters(leader->pmu_ctx->pmu))
		perf_sched_remove_group(leader);
	else
		perf_adddel_group_changed(leader);
}

/* Locks a cgroup's context. The lock of its CPU's own context, held, makes the order irrelevant. */
static __always_inline void perf_cgroup_ctx_lock(struct perf_event_context *ctx,
						 struct perf_event_context *cpu_ctx)
	__acquires(&ctx->lock)
{
	raw_spin_lock_nest_lock(&ctx->lock, &cpu_ctx->lock);
}

static __always_inline void perf_ctx_unlock_thawed(struct perf_event_context *ctx)
	__releases(&ctx->lock)
{
	/* The context may have been deactivated under the lock. */
	if (ctx->active_cpu >= 0)
		perf_ctx_thaw(ctx);
	raw_spin_unlock(&ctx->lock);
}

/**
 * struct perf_cpu_locks - all contexts of this CPU, locked and with their clocks frozen
 * @task_ctx: the running task's context when the locks were taken, or NULL. It stays locked even
 *	if it is deactivated meanwhile
 * @now: moment at which the clocks stand, as perf_clock() ns
 */
struct perf_cpu_locks {
	struct perf_event_context	*task_ctx;
	u64				now;
};

/* locks.c */
u64  perf_cpu_side_lock(void)
	__acquires(&perf_cpu_context.ctx.lock);
void perf_cpu_side_unlock(void)
	__releases(&perf_cpu_context.ctx.lock);
void perf_cpu_contexts_lock(struct perf_cpu_locks *locks);
void perf_cpu_contexts_unlock(struct perf_cpu_locks *locks);

/*
 * guard(perf_cpu_contexts)(): everything that is active on this CPU, locked in the order of core.h
 * and frozen at one moment. Interrupts off.
 */
DEFINE_LOCK_GUARD_0(perf_cpu_contexts, perf_cpu_contexts_lock(&_T->held),
		    perf_cpu_contexts_unlock(&_T->held), struct perf_cpu_locks held)

/* switch.c */
void perf_ctx_sched_in(struct perf_event_context *ctx);
void perf_ctx_sched_out_locked(struct perf_event_context *ctx, const struct task_struct *next);
void perf_ctx_deactivate_empty(struct perf_event_context *ctx);
void perf_switch_list_in(struct perf_event_context *ctx);
void perf_switch_list_out(struct perf_event_context *ctx);

/* rotate.c */
void perf_rotate_arm(struct perf_cpu_pmu_context *cpc);
void perf_rotate_cancel(int cpu);
void perf_rotate_init(void);

/* cgroup.c */
#ifdef CONFIG_CGROUP_PERF
struct perf_event_context *perf_cgroup_context(struct perf_event *event, int cpu);
void perf_cgroup_sync(struct task_struct *task);
void perf_cgroup_resync(int cpu);
void perf_cgroup_deactivate_empty(struct perf_event_context *ctx);
void __init perf_cgroup_init(void);

/* Has any event a cgroup? Patched code: no cost for a switch while there is none. */
static __always_inline bool perf_cgroup_is_used(void)
{
	return static_branch_unlikely(&perf_cgroup_key);
}
#else
static inline struct perf_event_context *perf_cgroup_context(struct perf_event *event, int cpu)
{
	return ERR_PTR(-EINVAL);
}

static inline void perf_cgroup_sync(struct task_struct *task) { }
static inline void perf_cgroup_resync(int cpu) { }
static inline void perf_cgroup_deactivate_empty(struct perf_event_context *ctx) { }
static inline void perf_cgroup_init(void) { }

static inline bool perf_cgroup_is_used(void)
{
	return false;
}
#endif

#endif
