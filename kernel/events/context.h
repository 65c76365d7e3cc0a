/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 2: contexts, the state and time of events, PMUs, and reaching the CPU where a context runs.
 *
 * Lock order:
 *
 *   signal->exec_update_lock
 *     task->perf_event_mutex  or  ctx->mutex (a task's before a CPU's; two of a kind by address)
 *       parent event->child_mutex
 *         mm->mmap_lock (mmap(2) comes with it; address filters look for mappings)
 *           event->mmap_mutex
 *             rq->lock (taken by the scheduler around its hooks)
 *               ctx->lock: the task's, then cgroups' from the inside out, then the CPU's, then
 *                 those of cgroups that are not on the CPU, or not yet
 *
 * User memory may be read and written under ctx->mutex and child_mutex, not under mmap_mutex.
 *
 * ctx->mutex guards which events a context has, in process context. ctx->lock (interrupts off)
 * guards everything that the switch path reads: lists, states, clock, schedule. Whoever changes a
 * context does it on the CPU where the context runs, or anywhere, under ctx->lock, while it runs
 * nowhere; perf_ctx_call() is the one way there. A CPU's own contexts are only changed on that CPU
 * while it is online. Overflow (NMI) takes none of these; what it reads is published by RCU.
 */
#ifndef _KERNEL_EVENTS_CONTEXT_H
#define _KERNEL_EVENTS_CONTEXT_H

#include "ground.h"

/**
 * struct perf_event_pmu_context - the groups of one context that one PMU has to schedule
 * @pmu: the PMU
 * @ctx: the context
 * @entry: in ctx->pmu_ctx_list
 * @counter_entry: in ctx->counter_list, for PMUs with pmu::sched_load
 * @nr_events: events here, whatever their state
 * @nr_flexible: enabled flexible groups
 * @pinned: enabled pinned groups, in the order of their coming
 * @flexible: enabled flexible groups, in the order in which they are served
 * @round: the earliest round that was served last; see groups.c
 * @turn_began: since when the turn lasts, on the context's clock; while @overcommitted
 * @seq: changes whenever what could be scheduled changes
 * @sched: the compiled schedule; counter PMUs only
 * @sched_seq: @seq for which @sched was compiled
 * @sched_side: side_seq of the CPU for which it was compiled, 0 if the CPU side had no events
 * @sched_base: PMU context whose schedule runs there when no task has events; the same. For a
 *	cgroup's that is on no CPU: whose schedule its ACTIVE groups are in
 * @sched_cpu: CPU for which it was compiled, -1 if any CPU will do
 * @displaces: the CPU side's events in @sched are not those that run without the task
 * @overcommitted: some flexible group is not in @sched and waits for its turn
 */
struct perf_event_pmu_context {
	struct pmu			*pmu;
	struct perf_event_context	*ctx;
	struct list_head		entry;
	struct list_head		counter_entry;
	unsigned int			nr_events;
	unsigned int			nr_flexible;
	struct list_head		pinned;
	struct list_head		flexible;
	u64				round;
	u64				seq;
	u64				sched_seq;
	u64				sched_side;
	struct perf_event_pmu_context	*sched_base;
	u64				turn_began;
	int				sched_cpu;
	bool				displaces;
	bool				overcommitted;
	struct perf_schedule		*sched;
};

/**
 * struct perf_event_context - the events of one task, one CPU, or one cgroup on one CPU
 * @lock: see above
 * @mutex: see above
 * @refcount: the task or CPU, and each event
 * @task: whose it is; NULL for a CPU's; TASK_TOMBSTONE once the task has exited
 * @cgrp: for a cgroup's
 * @cpu: of a CPU's or cgroup's; -1 for a task's
 * @active_cpu: CPU it is running on now, -1 if none
 * @last_cpu: CPU it ran on before; -1 if its bound events are to be looked at wherever it comes
 * @time: the clock's reading while it stands still
 * @offset: clock = perf_clock() + @offset while it runs
 * @stamp: the clock's reading while @frozen
 * @frozen: an operation is under way, all of which happens at one moment
 * @plain_pages: some of those mapped may be of events without a counter
 * @pmu_ctx_list: its PMU contexts
 * @dropped: PMU contexts that are to be freed, without ctx->lock
 * @counter_list: those of counter PMUs that have events
 * @switched: ACTIVE events that are added and deleted at every switch
 * @event_list: all its events
 * @sb_list: events that want side-band records; RCU
 * @freq_list: ACTIVE events with a sampling frequency, or throttled ones: the tick's work
 * @sw_list: ACTIVE software events by number; RCU, read where they fire
 * @nr_events: events
 * @nr_user: events that user space may read from the counter (user page)
 * @nr_bound: task events bound to one CPU
 * @nr_mapped: events whose user page somebody has mapped
 * @nr_switch_records: events that want PERF_RECORD_SWITCH
 * @throttled: an event may have been throttled since the last tick here
 * @plain_waits: a driver without a schedule may have refused a group
 * @cgrp_next: next outer active cgroup context on this CPU
 * @rcu_head: freed after a grace period
 * @shared: somebody beside its task and its light events has had a reference
 * @awaited: perf_event_free_task() waits for the last reference but its own
 * @first_epc: memory for one PMU context; most contexts need no more
 * @nr_light: inherited events for which the context still has or will get memory
 * @light_room: how many of them fit into what it has
 * @light: where the next of them goes
 * @blocks: memory for more of them than fit behind the context itself
 */
struct perf_event_context {
	raw_spinlock_t		lock;
	int			active_cpu;
	int			last_cpu;
	int			cpu;
	u64			time;
	u64			offset;
	u64			stamp;
	bool			frozen;
	bool			plain_pages;
	struct list_head	counter_list;
	struct list_head	switched;
	unsigned int		nr_bound;
	unsigned int		nr_mapped;
	unsigned int		nr_switch_records;
	unsigned int		nr_user;
	struct hlist_head	sw_list[PERF_COUNT_SW_MAX];
	struct list_head	sb_list;
	struct list_head	freq_list;
	struct list_head	pmu_ctx_list;
	struct list_head	dropped;
	struct list_head	event_list;
	unsigned int		nr_events;
	struct mutex		mutex;
	refcount_t		refcount;
	struct task_struct	*task;
	struct perf_cgroup	*cgrp;
	struct perf_event_context *cgrp_next;
	struct rcu_head		rcu_head;
	bool			throttled;
	bool			plain_waits;
	bool			shared;
	bool			awaited;
	struct perf_event_pmu_context first_epc;
	unsigned int		nr_light;
	unsigned int		light_room;
	void			*light;
	struct perf_light_block	*blocks;
};

/*
 * An inherited event that can be kept small (see perf_event_clone()) has no memory of its own but
 * lies in its context's: a task's whole inheritance is one piece of memory, or a few.
 */
#define PERF_LIGHT_SIZE	offsetof(struct perf_event, mmap_mutex)

#define TASK_TOMBSTONE ((struct task_struct *)-1L)

/**
 * struct perf_cpu_context - what runs on a CPU
 * @ctx: the CPU's own context
 * @cgrp_ctx: innermost active cgroup context; outer ones by cgrp_next
 * @task_ctx: the running task's context, if it has one
 * @cgrp: cgroup of the running task, NULL before the first cgroup event
 * @cgrp_changes: how often the chain at @cgrp_ctx has changed
 * @online: new events may come
 *
 * Written on its own CPU with interrupts off.
 */
struct perf_cpu_context {
	struct perf_event_context	ctx;
	struct perf_event_context	*cgrp_ctx;
	struct perf_event_context	*task_ctx;
	struct perf_cgroup		*cgrp;
	u64				cgrp_changes;
	bool				online;
};

DECLARE_PER_CPU(struct perf_cpu_context, perf_cpu_context);

/* A CPU that has taken its last interrupt switches tasks for a while: an irq_work would stay there. */
static inline bool perf_cpu_is_dead(void)
{
	return !cpu_online(smp_processor_id());
}

/* Tracepoint events; while there are any, hits look at the contexts of tasks that do not run. */
extern atomic_t perf_nr_tracepoints;

/**
 * struct perf_cpu_pmu_context - one PMU on one CPU
 * @epc: the PMU context of the CPU's own context
 * @side_seq: changes whenever what the CPU side wants from this PMU changes
 * @nr_side: enabled groups of the CPU side (CPU and cgroup contexts) here
 * @side: leaders of the CPU side's groups that run now
 * @nr_side_running: how many
 * @displaced: these are not those of the base schedule
 * @task_first: the task's flexible groups go first in this turn, not the CPU side's
 * @turn: which of the CPU side's contexts goes first in this turn, modulo their number
 * @cgrp_change: the last change of the chain of cgroups that loaded something here
 * @serves: the PMU can count on this CPU, as far as the last schedule compiled here goes
 * @timer: multiplexing timer
 * @timer_interval: its interval
 */
struct perf_cpu_pmu_context {
	struct perf_event_pmu_context	epc;
	u64				side_seq;
	unsigned int			nr_side;
	unsigned int			nr_side_running;
	struct perf_event		*side[PERF_SCHED_SLOTS];
	bool				displaced;
	bool				task_first;
	bool				serves;
	unsigned int			turn;
	u64				cgrp_change;
	struct hrtimer			timer;
	ktime_t				timer_interval;
};

/* The context's clock, for events: ns for which the context was on a CPU. ctx->lock, or its CPU. */
static __always_inline u64 perf_ctx_time(const struct perf_event_context *ctx)
{
	if (READ_ONCE(ctx->active_cpu) < 0)
		return READ_ONCE(ctx->time);
	if (READ_ONCE(ctx->frozen))
		return ctx->stamp;
	return perf_clock() + READ_ONCE(ctx->offset);
}

/*
 * What is done to events under one lock is done at one moment: an event that is enabled and starts
 * has been enabled and running for the same time.
 */
static inline void perf_ctx_freeze(struct perf_event_context *ctx, u64 now)
{
	if (ctx->frozen)
		return;
	ctx->stamp = now + ctx->offset;
	WRITE_ONCE(ctx->frozen, true);
}

static inline void perf_ctx_thaw(struct perf_event_context *ctx)
{
	WRITE_ONCE(ctx->frozen, false);
}

/* The clock starts on this CPU, at perf_clock() @now; frozen at its start until perf_ctx_thaw(). */
static inline void perf_ctx_clock_start(struct perf_event_context *ctx, u64 now)
{
	ctx->stamp = ctx->time;
	WRITE_ONCE(ctx->offset, ctx->time - now);
	WRITE_ONCE(ctx->frozen, true);
	WRITE_ONCE(ctx->active_cpu, smp_processor_id());
}

static inline void perf_ctx_clock_stop(struct perf_event_context *ctx)
{
	ctx->time = perf_ctx_time(ctx);
	WRITE_ONCE(ctx->active_cpu, -1);
	WRITE_ONCE(ctx->frozen, false);
}

static inline bool perf_pmu_has_counters(const struct pmu *pmu)
{
	return pmu->sched_load;
}

/* context.c */
void perf_ctx_init(struct perf_event_context *ctx, struct task_struct *task, int cpu);
struct perf_event_context *perf_ctx_alloc(struct task_struct *task, unsigned int nr_light);
struct perf_event *perf_ctx_light_event(struct perf_event_context *ctx);
void perf_ctx_put(struct perf_event_context *ctx);
static inline void perf_ctx_get(struct perf_event_context *ctx)
{
	WRITE_ONCE(ctx->shared, true);
	refcount_inc(&ctx->refcount);
}
struct perf_event_context *perf_ctx_of_task(struct task_struct *task);
struct perf_event_pmu_context *perf_epc_find(struct perf_event_context *ctx, struct pmu *pmu);
struct perf_event_pmu_context *perf_epc_alloc(struct perf_event_context *ctx, struct pmu *pmu);
void perf_epc_free(struct perf_event_context *ctx, struct perf_event_pmu_context *epc);
void perf_epc_free_dropped(struct perf_event_context *ctx);
void perf_epc_attach(struct perf_event_context *ctx, struct perf_event_pmu_context *epc);

/* state.c */
void perf_event_set_state(struct perf_event *event, enum perf_event_state state);
enum perf_event_state perf_event_effective_state(const struct perf_event *event);
void perf_event_add_time(struct perf_event *event, u64 now);
void perf_event_times(const struct perf_event *event, u64 now, u64 *enabled, u64 *running);
void perf_group_update_time(struct perf_event *leader);

/* Brings the stored times up to now. Within one visit to a context the second time is free. */
static __always_inline void perf_event_update_time(struct perf_event *event)
{
	u64 now = perf_ctx_time(event->ctx);

	if (now != event->tstamp)
		perf_event_add_time(event, now);
}

/* The same for a leader: no state counts but its own. */
static __always_inline void perf_leader_update_time(struct perf_event *leader)
{
	u64 now = perf_ctx_time(leader->ctx);
	s64 since = now - leader->tstamp;

	if (since <= 0)
		return;
	if (leader->state >= PERF_EVENT_STATE_INACTIVE)
		leader->total_time_enabled += since;
	if (leader->state >= PERF_EVENT_STATE_ACTIVE)
		leader->total_time_running += since;
	leader->tstamp = now;
}

/*
 * From INACTIVE to ACTIVE or back: always legal, of no concern to siblings, and what rotation does
 * all the time. Every other move is perf_event_set_state()'s.
 */
static __always_inline void perf_event_set_active(struct perf_event *event, bool active)
{
	if (event->group_leader == event)
		perf_leader_update_time(event);
	else
		perf_event_update_time(event);
	WRITE_ONCE(event->state, active ? PERF_EVENT_STATE_ACTIVE : PERF_EVENT_STATE_INACTIVE);
}

/* pmu.c */
extern struct list_head perf_pmus;		/* perf_pmus_lock, or pmus_srcu */
extern struct mutex perf_pmus_lock;
extern struct srcu_struct perf_pmus_srcu;
struct pmu *perf_pmu_init_event(struct perf_event *event);
bool perf_pmu_serves_cpu(struct pmu *pmu, int cpu);
bool perf_pmu_is_partial(struct pmu *pmu);
int  perf_exclusive_get(struct perf_event *event);
void perf_exclusive_put(struct perf_event *event);
bool perf_exclusive_installable(struct perf_event *event, struct perf_event_context *ctx);
void perf_pmu_cpc_init(struct pmu *pmu, struct perf_cpu_pmu_context *cpc, int cpu);
extern void (*perf_pmu_timer_setup)(struct perf_cpu_pmu_context *cpc, struct pmu *pmu);
extern void (*perf_pmu_interval_changed)(struct pmu *pmu);
int __init perf_pmu_init(void);

/* pmu_sysfs.c */
int  perf_pmu_dev_alloc(struct pmu *pmu);
void perf_pmu_dev_free(struct pmu *pmu);
extern bool perf_pmu_bus_running;

/* scope.c: PMUs that several CPUs share, and the CPU that serves them. */
const struct cpumask *perf_scope_siblings(unsigned int scope, int cpu);
const struct cpumask *perf_scope_servers(unsigned int scope);
int  perf_scope_place(struct perf_event *event);
void perf_scope_cpu_online(int cpu);
void perf_scope_cpu_offline(int cpu, void (*migrate)(struct pmu *pmu, int from, int to));
static inline struct perf_cpu_pmu_context *perf_this_cpc(struct pmu *pmu)
{
	return this_cpu_ptr(pmu->cpu_pmu_context);
}

/*
 * The context of an event and its mutex, taken together: perf_pmu_migrate_context() may move a
 * CPU event. Process context.
 */
struct perf_event_context *perf_event_ctx_lock(struct perf_event *event);
void perf_event_ctx_unlock(struct perf_event_context *ctx);

#endif
