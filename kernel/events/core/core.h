/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 1, core: refusals, contexts, the state and time of events, PMUs.
 *
 * Lock order:
 *
 *   signal->exec_update_lock
 *     task->perf_event_mutex  or  ctx->mutex (a fork's: the running task's, then the new one's;
 *     those of two CPUs by address)
 *       parent event->child_mutex (that of a leader's parent, then those of its siblings' parents)
 *         mm->mmap_lock (held by the caller of mmap(2); address filters walk the mappings)
 *           event->mmap_mutex (within it perf_buffers_lock, and charge_mutex)
 *             rq->lock (held by the scheduler around its hooks)
 *               ctx->lock: the task's, then the CPU's, then within it any of the CPU's cgroups'
 *                 addr_filters.lock (raw): an event's address ranges
 *
 * User memory may be read and written under ctx->mutex and child_mutex, not under mmap_mutex.
 *
 * ctx->mutex guards which events a context has, in process context. ctx->lock (interrupts off)
 * guards everything that the switch path reads: lists, states, clock, schedule. A context is
 * changed under ctx->lock on the CPU where it is active, or on any CPU while it is inactive;
 * perf_ctx_call() does both. A CPU's own contexts are changed only on that CPU while it is online.
 * Overflow (NMI) takes none of these locks; what it reads is published by RCU.
 */
#ifndef _KERNEL_EVENTS_CORE_H
#define _KERNEL_EVENTS_CORE_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 1
# error "kernel/events/core is a higher layer than this file"
#endif

#include <linux/perf_event.h>
#include <linux/sched/clock.h>

/* refuse.c; perf_refuse() itself is in the public header, for drivers */
int perf_refusal_format(char *buf, size_t size);
unsigned int perf_refusals(void);
bool perf_refused_since(unsigned int before);
void __init perf_refuse_init(void);

/* The clock of every context: ns, monotonic on one CPU. Context: any, NMI included. */
static __always_inline u64 perf_clock(void)
{
	return local_clock();
}

/**
 * struct perf_event_pmu_context - the groups of one context that one PMU schedules
 * @pmu: the PMU
 * @ctx: the context
 * @entry: node in ctx->pmu_ctx_list
 * @counter_entry: node in ctx->counter_list; used if @pmu has counters and there are events
 * @nr_events: events in this PMU context, in any state
 * @nr_flexible: enabled flexible groups
 * @pinned: enabled pinned groups, oldest first
 * @flexible: enabled flexible groups, in deficit round robin order; see group_queue.c
 * @round: latest round that was the earliest one of a schedule; see group_queue.c
 * @seq: incremented when the set of groups that can be scheduled changes
 * @sched_seq: @seq for which @sched was compiled
 * @sched_cpu_side: perf_cpu_pmu_context::cpu_side_seq for which @sched was compiled; its
 *	@alone_seq if the CPU side had no events
 * @sched_base: PMU context that had the base schedule when @sched was compiled; for an inactive
 *	cgroup context: PMU context with the schedule that contains its ACTIVE groups
 * @slice_start: start of the current time slice, ns on the context's clock; valid while
 *	@overcommitted
 * @slice_nr: number of the slice. Of a task: if it is odd the task's flexible groups precede those
 *	of the CPU side. Of the one that keeps the base schedule: the index, modulo their number,
 *	of the context of the CPU side that is placed first
 * @nr_forks: forks of the task, from the number of the creating task's fork on; see inherit.c
 * @sched_cpu: CPU for which @sched was compiled; -1 if it is valid on any CPU
 * @overrides_base: @sched contains other events of the CPU side than the base schedule
 * @overcommitted: a flexible group waits for a time slice: it is not in @sched, or could not be
 *	added if there are no counters
 * @sched: the compiled schedule; NULL if @pmu has no counters
 * @task_data: object of pmu::task_ctx_cache; NULL until an event has PERF_ATTACH_TASK_DATA
 *
 * ctx->lock guards all members, but ctx->mutex @nr_forks.
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
	u64				sched_cpu_side;
	struct perf_event_pmu_context	*sched_base;
	u64				slice_start;
	unsigned int			slice_nr;
	u32				nr_forks;
	int				sched_cpu;
	bool				overrides_base;
	bool				overcommitted;
	struct perf_schedule		*sched;
	void				*task_data;
};

/**
 * struct perf_event_context - the events of one task, one CPU, or one cgroup on one CPU
 * @lock: guards lists, states, clock and schedules; see above
 * @active_cpu: CPU on which the context is active, -1 if none
 * @last_cpu: CPU on which the context was active last; -1: @nr_bound events have to be checked
 *	against the CPU at the next switch, whichever CPU that is
 * @cpu: CPU of a CPU's or a cgroup's context; -1 for a task's
 * @offset: while the clock is not frozen it shows perf_clock() + @offset, ns
 * @stamp: what the clock shows while it is frozen, ns
 * @frozen: the clock is frozen: always while the context is inactive, else for the length of an
 *	operation, all of which happens at one time
 * @counterless_pages: some of the @nr_mapped events may be of PMUs without counters
 * @counter_list: PMU contexts with events, of PMUs with counters
 * @switch_list: ACTIVE events that are added and deleted at every context switch
 * @nr_bound: task events that some CPUs cannot count, such as one that is bound to a CPU
 * @nr_mapped: events with a mapped user page; not kept for a CPU, between which events migrate
 * @nr_user: events that user space may read from the counter (user page)
 * @sw_list: ACTIVE software events by PERF_COUNT_SW_*; read under RCU by software.c
 * @sb_list: events with side-band records; read under RCU
 * @freq_list: ACTIVE sampling events: the tick adjusts their frequencies and unthrottles them
 * @pmu_ctx_list: all PMU contexts
 * @dropped: PMU contexts to be freed once @lock is released
 * @event_list: all events; changed under @mutex and @lock, read under either
 * @nr_events: length of @event_list
 * @mutex: guards which events the context has
 * @refcount: one reference for the task, CPU or cgroup, one for each event, and temporary ones
 * @task: the task; NULL for a CPU's or cgroup's; TASK_TOMBSTONE once the task has exited
 * @cgrp: the cgroup of a cgroup's context, else NULL
 * @cgrp_next: context of the next outer cgroup that is active on this CPU
 * @rcu_head: for freeing after a grace period
 * @throttled: an event may have been throttled since the last tick on @active_cpu
 * @adddel_waiting: groups wait for pmu::add, which may have failed for them before
 * @shared: a reference has been taken by other users than the task and its embedded events
 * @awaited: perf_event_free_task() waits until its reference is the last
 * @first_epc: memory for one PMU context; most contexts need no more
 * @nr_embedded: inherited events that may still be embedded, with memory yet to be allocated
 * @embedded_room: events that fit into the memory at @embedded_next
 * @embedded_next: memory for the next embedded event
 * @blocks: memory for embedded events that did not fit behind the context itself
 */
struct perf_event_context {
	raw_spinlock_t		lock;
	int			active_cpu;
	int			last_cpu;
	int			cpu;
	u64			offset;
	u64			stamp;
	bool			frozen;
	bool			counterless_pages;
	struct list_head	counter_list;
	struct list_head	switch_list;
	unsigned int		nr_bound;
	unsigned int		nr_mapped;
	unsigned int		nr_user;
	struct hlist_head	sw_list[PERF_COUNT_SW_MAX];
	struct list_head	sb_list;
	struct list_head	freq_list;
	struct list_head	pmu_ctx_list;
	struct list_head	dropped;
	struct list_head	event_list;
	unsigned int		nr_events;
	struct mutex		mutex;		/* which events the context has */
	refcount_t		refcount;
	struct task_struct	*task;
	struct perf_cgroup	*cgrp;
	struct perf_event_context *cgrp_next;
	struct rcu_head		rcu_head;
	bool			throttled;
	bool			adddel_waiting;
	bool			shared;
	bool			awaited;
	struct perf_event_pmu_context first_epc;
	unsigned int		nr_embedded;
	unsigned int		embedded_room;
	void			*embedded_next;
	struct perf_embedded_block	*blocks;
} __aligned(sizeof(u64));	/* the events behind it have 64-bit atomic variables */

/*
 * An inherited event that needs only its first members (see perf_event_clone()) is embedded in its
 * context's allocation: all that a task inherits is one piece of memory, or a few.
 */
#define PERF_EMBEDDED_SIZE	round_up(offsetof(struct perf_event, child_mutex), sizeof(u64))

#define TASK_TOMBSTONE ((struct task_struct *)-1L)

/**
 * struct perf_cpu_context - the contexts that are active on a CPU
 * @ctx: the CPU's own context
 * @cgrp_ctx: innermost active cgroup context; outer ones by perf_event_context::cgrp_next
 * @task_ctx: the running task's context; NULL if the task has none
 * @cgrp: cgroup for which @cgrp_ctx was set; NULL: to be set at the next switch, whatever cgroup
 * @cgrp_changes: number of changes of the chain at @cgrp_ctx
 * @online: the CPU accepts new events
 *
 * Written on its own CPU with interrupts off; @online by CPU hotplug, with @ctx's mutex held.
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

/* Cgroup contexts of a chain from @from outwards, without @end, which is in the chain or NULL. */
#define for_each_cgrp_ctx_until(ctx, from, end)	\
	for ((ctx) = (from); (ctx) != (end); (ctx) = (ctx)->cgrp_next)

/* Active cgroup contexts of a CPU, innermost first. Interrupts off on that CPU. */
#define for_each_cgrp_ctx(ctx, cpuctx)	for_each_cgrp_ctx_until(ctx, (cpuctx)->cgrp_ctx, NULL)

/* The same on that CPU with preemption off only: an interrupt may change the chain meanwhile. */
#define for_each_cgrp_ctx_preempt(ctx, cpuctx)	\
	for ((ctx) = READ_ONCE((cpuctx)->cgrp_ctx); (ctx); (ctx) = READ_ONCE((ctx)->cgrp_next))

/*
 * A CPU that is being unplugged runs on for a little longer after its last interrupt. An irq_work
 * queued there would not run: see perf_irq_work_queue().
 */
static inline bool perf_cpu_is_dead(void)
{
	return !cpu_online(smp_processor_id());
}

void perf_irq_work_queue(struct irq_work *work);

/* Number of tracepoint events. While it is not 0, hits search contexts of tasks not running. */
extern atomic_t perf_nr_tracepoints;

/**
 * struct perf_cpu_pmu_context - one PMU on one CPU
 * @epc: the PMU context of the CPU's own context
 * @cpu_side_seq: incremented when the CPU side's groups for this PMU change; never 0
 * @alone_seq: generation of the driver's constraints, the same on all CPUs, see
 *	perf_pmu_resched(); 0 or with bit 63, so never a value of @cpu_side_seq
 * @nr_cpu_side: enabled groups of the CPU side (CPU and active cgroup contexts) for this PMU
 * @nr_cpu_side_running: entries of @cpu_side
 * @cpu_side: leaders of the CPU side's groups that are running
 * @base_overridden: @cpu_side is not what the base schedule contains
 * @load_empty: load schedules without events, too; set by perf_sched_load_follows(), for good
 * @cpu_supported: result of pmu::filter when a schedule was last compiled on this CPU
 * @cgrp_change: perf_cpu_context::cgrp_changes at the last reload by a cgroup switch
 * @exclusive: exclusive PMU: the CPU's only event, its own or a cgroup's
 * @nr_sched_cb: requests of perf_sched_cb_inc()
 * @sched_cb_entry: node in the CPU's list of PMUs with requests
 * @timer: multiplexing timer
 * @timer_interval: interval of @timer
 *
 * @exclusive and @timer_interval are written by any CPU, the rest on its own CPU with interrupts
 * off, or on any CPU while that one is offline.
 */
struct perf_cpu_pmu_context {
	struct perf_event_pmu_context	epc;
	u64				cpu_side_seq;
	u64				alone_seq;
	unsigned int			nr_cpu_side;
	unsigned int			nr_cpu_side_running;
	struct perf_event		*cpu_side[PERF_SCHED_SLOTS];
	bool				base_overridden;
	bool				load_empty;
	bool				cpu_supported;
	u64				cgrp_change;
	struct perf_event		*exclusive;
	unsigned int			nr_sched_cb;
	struct hlist_node		sched_cb_entry;
	struct hrtimer			timer;
	ktime_t				timer_interval;
};

/**
 * perf_ctx_time - read a context's clock
 * @ctx: the context
 *
 * Context: any; exact under ctx->lock or on the context's CPU
 * Return: time for which the context has been active, ns
 */
static __always_inline u64 perf_ctx_time(const struct perf_event_context *ctx)
{
	if (READ_ONCE(ctx->frozen))
		return READ_ONCE(ctx->stamp);
	return perf_clock() + READ_ONCE(ctx->offset);
}

/*
 * Stops the clock's reading of an active context until perf_ctx_thaw(), @now in terms of
 * perf_clock(). What happens to events meanwhile happens at one time: an event that is enabled and
 * starts has been enabled and running for the same time. ctx->lock.
 */
static inline void perf_ctx_freeze(struct perf_event_context *ctx, u64 now)
{
	lockdep_assert_held(&ctx->lock);
	if (ctx->frozen)
		return;
	/* An NMI that finds the clock frozen reads this. */
	WRITE_ONCE(ctx->stamp, now + ctx->offset);
	WRITE_ONCE(ctx->frozen, true);
}

/* Undoes perf_ctx_freeze(). The context is active. ctx->lock. */
static inline void perf_ctx_thaw(struct perf_event_context *ctx)
{
	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->frozen, false);
}

/* Activates the context here at perf_clock() @now; frozen until perf_ctx_thaw(). ctx->lock. */
static inline void perf_ctx_clock_start(struct perf_event_context *ctx, u64 now)
{
	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->offset, ctx->stamp - now);
	WRITE_ONCE(ctx->active_cpu, smp_processor_id());
}

/* Deactivates the context, on its CPU. ctx->lock. */
static inline void perf_ctx_clock_stop(struct perf_event_context *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (!ctx->frozen)
		perf_ctx_freeze(ctx, perf_clock());
	WRITE_ONCE(ctx->active_cpu, -1);
}

/* Events of a PMU with counters run by a compiled schedule; those of others by add and del. */
static inline bool perf_pmu_has_counters(const struct pmu *pmu)
{
	return pmu->sched_load;
}

/* context.c */
void perf_ctx_init(struct perf_event_context *ctx, struct task_struct *task, int cpu);
struct perf_event_context *perf_ctx_alloc(struct task_struct *task, unsigned int nr_embedded);
struct perf_event *perf_ctx_embed_event(struct perf_event_context *ctx);
void perf_ctx_get(struct perf_event_context *ctx);
void perf_ctx_put(struct perf_event_context *ctx);
u64  perf_ctx_read_time(const struct perf_event_context *ctx);
struct perf_event_context *perf_ctx_of_task(struct task_struct *task);
struct perf_event_pmu_context *perf_epc_find(struct perf_event_context *ctx, struct pmu *pmu);
void perf_epc_init(struct perf_event_pmu_context *epc, struct pmu *pmu);
struct perf_event_pmu_context *perf_epc_alloc(struct perf_event_context *ctx, struct pmu *pmu);
void perf_epc_free(struct perf_event_context *ctx, struct perf_event_pmu_context *epc);
void perf_epc_free_dropped(struct perf_event_context *ctx);
bool perf_epc_lacks_task_data(const struct perf_event_context *ctx,
			      const struct perf_event_pmu_context *epc,
			      const struct perf_event *event);
bool perf_epc_alloc_task_data(struct perf_event_pmu_context *epc);
void perf_epc_attach(struct perf_event_context *ctx, struct perf_event_pmu_context *epc);

/* state.c */
void perf_event_set_state(struct perf_event *event, enum perf_event_state state);
void perf_event_times(const struct perf_event *event, u64 now, u64 *enabled, u64 *running);

/**
 * perf_event_effective_state - state of an event with its leader's taken into account
 * @event: event in a group, or its leader
 *
 * A leader that is disabled, or worse, disables its whole group.
 *
 * Context: any; exact under ctx->lock
 * Return: the leader's state if that is at most OFF, else the event's own
 */
static __always_inline enum perf_event_state
perf_event_effective_state(const struct perf_event *event)
{
	const struct perf_event *leader = event->group_leader;

	return leader->state <= PERF_EVENT_STATE_OFF ? leader->state : event->state;
}

/* Times of an event up to the moment of its last update, in ns. */
static __always_inline u64 perf_event_stored_enabled(const struct perf_event *event)
{
	return event->tstamp - event->time_disabled;
}

static __always_inline u64 perf_event_stored_running(const struct perf_event *event)
{
	return event->tstamp - event->time_stopped;
}

/**
 * perf_event_times_at - times of an event at a given moment
 * @event: event to read; nothing in it is written
 * @now: moment, in ns of the clock of @event's context
 * @enabled: result: time enabled, ns
 * @running: result: time running, ns
 *
 * Context: any; exact under ctx->lock or on the context's CPU, in an NMI for an event that runs
 */
static __always_inline void perf_event_times_at(const struct perf_event *event, u64 now,
						u64 *enabled, u64 *running)
{
	enum perf_event_state state = perf_event_effective_state(event);
	u64 tstamp = event->tstamp;

	if ((s64)(now - tstamp) < 0)
		now = tstamp;
	*enabled = (state >= PERF_EVENT_STATE_INACTIVE ? now : tstamp) - event->time_disabled;
	*running = (state >= PERF_EVENT_STATE_ACTIVE ? now : tstamp) - event->time_stopped;
}

/* A test reads the times before and after each store, as an NMI can. */
#ifndef PERF_TIMES_STEP
# define PERF_TIMES_STEP(event)	((void)(event))
#endif

/* Stores the times of an event in @state up to @now. ctx->lock. */
static __always_inline void perf_event_store_times(struct perf_event *event,
						   enum perf_event_state state, u64 now)
{
	s64 since = now - event->tstamp;

	if (since <= 0)
		return;
	PERF_TIMES_STEP(event);
	/* First: an NMI in between reads a time that is too long, but none below 0. */
	WRITE_ONCE(event->tstamp, now);
	barrier();
	PERF_TIMES_STEP(event);
	if (state < PERF_EVENT_STATE_INACTIVE)
		event->time_disabled += since;
	if (state < PERF_EVENT_STATE_ACTIVE)
		event->time_stopped += since;
	PERF_TIMES_STEP(event);
}

/* Moves the last update to @now, a reading of another clock. The stored times stay. ctx->lock. */
static __always_inline void perf_event_set_clock(struct perf_event *event, u64 now)
{
	u64 ahead = now - event->tstamp;

	event->tstamp = now;
	event->time_disabled += ahead;
	event->time_stopped += ahead;
}

/* for_each_sibling_event() for an event that is a leader */
#define for_each_group_sibling(sibling, leader)					\
	list_for_each_entry(sibling, &(leader)->sibling_list, sibling_list)

void perf_event_update_time(struct perf_event *event);
void perf_group_update_time(struct perf_event *leader);

/* perf_event_update_time() where the clock mostly is frozen since the last update. */
static __always_inline void perf_event_update_time_again(struct perf_event *event)
{
	const struct perf_event_context *ctx = event->ctx;

	if (!ctx->frozen || ctx->stamp != event->tstamp)
		perf_event_update_time(event);
}

/* Stores the times of a leader up to @now: they depend on its own state only. ctx->lock. */
static __always_inline void perf_leader_add_time(struct perf_event *leader, u64 now)
{
	perf_event_store_times(leader, leader->state, now);
}

static __always_inline void perf_leader_update_time(struct perf_event *leader)
{
	perf_leader_add_time(leader, perf_ctx_time(leader->ctx));
}

#ifdef CONFIG_PROVE_LOCKING
void perf_event_check_move(const struct perf_event *event, enum perf_event_state state);
#else
static inline void perf_event_check_move(const struct perf_event *event,
					 enum perf_event_state state) { }
#endif

/*
 * Stores the state of an event, with its times up to date. All changes of the state of an event in
 * a context are by this function. A kernel with lockdep compares the move with the table of
 * state.c. ctx->lock.
 */
static __always_inline void perf_event_store_state(struct perf_event *event,
						   enum perf_event_state state)
{
	perf_event_check_move(event, state);
	WRITE_ONCE(event->state, state);
}

/* From INACTIVE to ACTIVE or back, with the times of the event up to date. ctx->lock. */
static __always_inline void perf_event_set_active(struct perf_event *event, bool active)
{
	perf_event_store_state(event, active ? PERF_EVENT_STATE_ACTIVE : PERF_EVENT_STATE_INACTIVE);
}

/* Updates the times of a leader first. The times of its siblings do not depend on the move. */
static __always_inline void perf_leader_set_active(struct perf_event *leader, bool active)
{
	perf_leader_update_time(leader);
	perf_event_set_active(leader, active);
}

/* For all events of a context at the same time: the times of all of them are up to date. */
static __always_inline void perf_event_set_exit(struct perf_event *event)
{
	perf_event_store_state(event, PERF_EVENT_STATE_EXIT);
}

/* pmu.c */
extern struct list_head perf_pmus;		/* perf_pmus_lock, or perf_pmus_srcu */
extern struct mutex perf_pmus_lock;
extern struct srcu_struct perf_pmus_srcu;
int  perf_pmu_check_type(const struct perf_event_attr *attr);
struct pmu *perf_pmu_init_event(struct perf_event *event);
bool perf_pmu_supports_cpu(struct pmu *pmu, int cpu);
bool perf_pmu_is_partial(struct pmu *pmu);
int  perf_exclusive_get(struct perf_event *event);
void perf_exclusive_put(struct perf_event *event);
void perf_exclusive_migrate(struct perf_event *event, int to);
int  perf_exclusive_check(struct perf_event *event, struct perf_event_context *ctx);
void perf_event_restart_begin(struct perf_event *event);
void perf_event_restart_end(struct perf_event *event, bool start);

/**
 * perf_event_restart - stop an event and start it again
 * @event: event that is ACTIVE on this CPU
 *
 * A driver looks at what does not change while it counts (address filters, the AUX area, the
 * period) when it starts an event.
 *
 * Context: as perf_event_restart_begin()
 */
static inline void perf_event_restart(struct perf_event *event)
{
	perf_event_restart_begin(event);
	perf_event_restart_end(event, true);
}

void perf_pmu_cpc_init(struct pmu *pmu, struct perf_cpu_pmu_context *cpc, int cpu);
extern void (*perf_pmu_timer_setup)(struct perf_cpu_pmu_context *cpc, struct pmu *pmu);
extern void (*perf_pmu_interval_changed)(struct pmu *pmu);
void __init perf_pmu_init(void);

/* pmu_sysfs.c */
int  perf_pmu_dev_alloc(struct pmu *pmu);
void perf_pmu_dev_free(struct pmu *pmu);
extern bool perf_pmu_bus_running;

/* scope.c: PMUs that several CPUs share, and the CPU that is designated for their events. */
const struct cpumask *perf_scope_siblings(unsigned int scope, int cpu);
const struct cpumask *perf_scope_designated(unsigned int scope);
int  perf_scope_place(struct perf_event *event);
void perf_scope_cpu_online(int cpu, void (*migrate)(struct pmu *pmu, int from, int to));
void perf_scope_cpu_offline(int cpu, void (*migrate)(struct pmu *pmu, int from, int to)) __cold;
static inline struct perf_cpu_pmu_context *perf_this_cpc(struct pmu *pmu)
{
	return this_cpu_ptr(pmu->cpu_pmu_context);
}

/* context.c: an event's context with its mutex held */
struct perf_event_context *perf_event_ctx_lock(struct perf_event *event);
void perf_event_ctx_unlock(struct perf_event_context *ctx);

unsigned long perf_lock_irqsave(raw_spinlock_t *lock);
void perf_unlock_irqrestore(raw_spinlock_t *lock, unsigned long flags);

/*
 * As guard(raw_spinlock_irqsave), without a copy of the lock operations at each user: for all but
 * frequent paths, with interrupts on or off.
 */
DEFINE_LOCK_GUARD_1(perf_irqsave, raw_spinlock_t, _T->flags = perf_lock_irqsave(_T->lock),
		    perf_unlock_irqrestore(_T->lock, _T->flags), unsigned long flags)

unsigned long perf_irqs_save(void);
void perf_irqs_restore(unsigned long flags);

/* As guard(irqsave), in the same way. */
DEFINE_LOCK_GUARD_0(perf_irqs, _T->flags = perf_irqs_save(), perf_irqs_restore(_T->flags),
		    unsigned long flags)

#endif
