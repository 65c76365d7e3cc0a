/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 5: choosing what runs. Schedules, task and cgroup switches, rotation.
 *
 * All of it with interrupts off. A context's functions run on the CPU where it is active, or
 * anywhere, under ctx->lock, while it is active nowhere.
 */
#ifndef _KERNEL_EVENTS_ENGINE_H
#define _KERNEL_EVENTS_ENGINE_H

#include "event.h"
#include "output.h"

/* cross_call.c */
typedef int (*perf_ctx_fn)(struct perf_event_context *ctx, void *arg);
typedef int (*perf_event_fn)(struct perf_event *event, void *arg);
int  perf_ctx_call(struct perf_event_context *ctx, perf_ctx_fn fn, void *arg);
int  perf_event_call(struct perf_event *event, perf_event_fn fn, void *arg);
int  perf_event_call_inatomic(struct perf_event *event, perf_event_fn fn, void *arg);
bool perf_ctx_is_elsewhere(struct perf_event_context *ctx);

/* the order in which flexible groups are served: groups.c */
void perf_groups_insert(struct perf_event_pmu_context *epc, struct perf_event *leader);
void perf_groups_serve(struct perf_event_pmu_context *epc, struct perf_event *leader);

/* groups that run or do not: running.c */
int  perf_switched_add(struct perf_event *event);
void perf_switched_del(struct perf_event *event);
int  perf_group_start_members(struct perf_event *leader);
void perf_group_stop_members(struct perf_event *leader);
void perf_member_end(struct perf_event *event);
void perf_group_queue(struct perf_event *leader);
void perf_group_unqueue(struct perf_event *leader);
bool perf_group_queued(const struct perf_event *leader);
void perf_group_fail(struct perf_event *leader);

/* What is the same for all kinds of events, and all there is to do for a counter. */
static __always_inline void perf_mark_active(struct perf_event *event)
{
	perf_event_set_active(event, true);
	if (is_sampling_event(event)) {
		list_add(&event->freq_entry, &event->ctx->freq_list);
		if (unlikely(event->hw.interrupts == PERF_THROTTLED))
			perf_throttle_goes_on(event);
	}
}

static __always_inline void perf_mark_inactive(struct perf_event *event)
{
	if (is_sampling_event(event))
		list_del_init(&event->freq_entry);
	perf_event_set_active(event, false);
}

/* What a rotation mostly has to do with. */
static __always_inline bool perf_is_lone_counter(const struct perf_event *leader)
{
	return !leader->nr_siblings && perf_pmu_has_counters(leader->pmu);
}

/* Enters the time for which a flexible group ran into the order of its queue, if it is in one. */
static __always_inline void perf_group_charge(struct perf_event *leader)
{
	perf_leader_update_time(leader);
	if (leader->total_time_running != leader->sched_stamp && !list_empty(&leader->group_entry))
		perf_groups_serve(leader->pmu_ctx, leader);
}

/**
 * perf_group_start - let a queued group run
 * @leader: its leader; members that run already are left alone
 *
 * Context: ctx->lock, interrupts off, on the context's CPU if it is active
 * Return: 0, or the error of the member that could not be added; then none of them runs
 */
static __always_inline int perf_group_start(struct perf_event *leader)
{
	if (!perf_is_lone_counter(leader))
		return perf_group_start_members(leader);
	if (leader->state == PERF_EVENT_STATE_INACTIVE)
		perf_mark_active(leader);
	return 0;
}

/* Takes a group off. A member in a schedule counts until the next one is loaded. */
static __always_inline void perf_group_stop(struct perf_event *leader)
{
	if (!perf_is_lone_counter(leader))
		perf_group_stop_members(leader);
	else if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_mark_inactive(leader);
	perf_group_charge(leader);
}

/* schedule.c: counter PMUs */
void perf_sched_changed(struct perf_event_pmu_context *epc);
void perf_sched_forget(struct perf_event *event);
void perf_sched_forget_user(struct perf_event_pmu_context *epc);
void perf_sched_load(struct perf_event_pmu_context *epc);	/* task's switch-in */
void perf_sched_load_base(struct perf_cpu_pmu_context *cpc, struct pmu *pmu);
void perf_sched_reload(struct pmu *pmu);			/* whoever runs here now */
struct perf_event_pmu_context *perf_sched_base(struct pmu *pmu);
bool perf_sched_load_again(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base);
bool perf_sched_turn_over(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc);
void perf_sched_next_turn(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc);
int  perf_sched_group_fits(struct perf_event *leader, struct perf_event *newcomer);

/* lockdep's subclass for the lock of a context within so many others. */
static inline unsigned int perf_lock_depth(unsigned int depth)
{
	return min_t(unsigned int, depth, MAX_LOCKDEP_SUBCLASSES - 1);
}

static __always_inline void perf_ctx_lock_frozen(struct perf_event_context *ctx, unsigned int depth,
						 u64 now)
{
	raw_spin_lock_nested(&ctx->lock, perf_lock_depth(depth));
	perf_ctx_freeze(ctx, now);
}

static __always_inline void perf_ctx_unlock_thawed(struct perf_event_context *ctx)
{
	perf_ctx_thaw(ctx);
	raw_spin_unlock(&ctx->lock);
}

/*
 * The CPU side's locks, for those who have the task's already or none. Interrupts off. All is
 * frozen at perf_clock() @now. Answers how many contexts there are.
 */
static inline unsigned int perf_cpu_side_lock(u64 now)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;
	unsigned int depth = 0;

	lockdep_assert_irqs_disabled();
	for (ctx = cpuctx->cgrp_ctx; ctx; ctx = ctx->cgrp_next)
		perf_ctx_lock_frozen(ctx, depth++, now);
	perf_ctx_lock_frozen(&cpuctx->ctx, depth++, now);
	return depth;
}

static inline void perf_cpu_side_unlock(void)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	for (ctx = cpuctx->cgrp_ctx; ctx; ctx = ctx->cgrp_next)
		perf_ctx_unlock_thawed(ctx);
	perf_ctx_unlock_thawed(&cpuctx->ctx);
}

/* plain.c: all other PMUs, and the entry for both kinds */
void perf_sched_group_changed(struct perf_event *leader);
void perf_plain_retry(struct perf_event_context *ctx);
void perf_plain_rebind(struct perf_event_context *ctx);
void perf_plain_rotate(struct perf_event_pmu_context *epc);

/* switch.c */
void perf_ctx_sched_in(struct perf_event_context *ctx);
void perf_ctx_sched_out(struct perf_event_context *ctx);
void perf_ctx_sched_out_locked(struct perf_event_context *ctx);
void perf_ctx_retire(struct perf_event_context *ctx);	/* its last event has gone; locked */
void perf_switched_in(struct perf_event_context *ctx);
void perf_switched_out(struct perf_event_context *ctx);

/* rotate.c */
void perf_rotate_arm(struct perf_cpu_pmu_context *cpc);
void perf_rotate_cancel(int cpu);
void perf_rotate_init(void);

/* cgroup.c */
#ifdef CONFIG_CGROUP_PERF
struct perf_event_context *perf_cgroup_context(struct perf_event *event, int cpu);
void perf_cgroup_sync(struct task_struct *task);	/* on this CPU, interrupts off */
void perf_cgroup_kick(int cpu);
void perf_cgroup_retire(struct perf_event_context *ctx);
extern struct static_key_false perf_cgroup_key;
#endif

#endif
