// SPDX-License-Identifier: GPL-2.0
/*
 * The context of an event: finding it, adding the event to it, removing the event.
 *
 * perf_install_prepare() allocates what a context needs for an event. perf_install() is the point
 * of no return of an open: everything has been checked and allocated, and it cannot fail.
 *
 * Locks: ctx->mutex; the lists change under ctx->lock, where perf_ctx_call() runs its function.
 */
#include <linux/module.h>

#include "ops.h"

/**
 * struct install - an installation in progress
 * @event: event to install
 * @epc: PMU context to use if the context has none for the PMU, and task data to use if that has
 *	none; NULL once it is used
 * @first: result: the event is the first of its context
 */
struct install {
	struct perf_event		*event;
	struct perf_event_pmu_context	*epc;
	bool				first;
};

static int install_allow_cpu(void)
{
	int ret = perf_allow_cpu();

	if (!ret)
		return 0;
	return perf_refuse(ret,
			   "pid: -1 needs CAP_PERFMON, perf_event_paranoid is %lld",
			   sysctl_perf_event_paranoid);
}

/**
 * perf_event_find_context - get the context that an event belongs to
 * @event: new event
 *
 * Context: may sleep
 * Return: a referenced context, or an ERR_PTR(): -ESRCH, -EACCES, -ENOMEM or a security module's
 *	errno
 */
struct perf_event_context *perf_event_find_context(struct perf_event *event)
{
	struct perf_event_context *ctx;
	int ret;

	if (event->hw.target)
		return perf_ctx_of_task(event->hw.target);

	ret = install_allow_cpu();
	if (ret)
		return ERR_PTR(ret);
	if (event->cgrp)
		return perf_cgroup_context(event, event->cpu);
	ctx = &per_cpu(perf_cpu_context, event->cpu).ctx;
	perf_ctx_get(ctx);
	return ctx;
}

/* hw.flags is part of a union: other PMUs use the memory for something else. */
static bool install_is_user_readable(const struct perf_event *event)
{
	return perf_pmu_has_counters(event->pmu) &&
	       event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT;
}

static void install_count(struct perf_event_context *ctx, struct perf_event *event, int by)
{
	ctx->nr_bound += event->account_flags & EVENT_BOUND ? by : 0;
	ctx->nr_user += install_is_user_readable(event) ? by : 0;
}

static void install_list(struct perf_event_context *ctx, struct perf_event *event)
{
	event->attach_state |= PERF_ATTACH_CONTEXT;
	list_add_tail(&event->event_entry, &ctx->event_list);
	ctx->nr_events++;
	if (perf_event_is_sideband(event))
		list_add_rcu(&event->sb_list, &ctx->sb_list);
	install_count(ctx, event, 1);
}

/**
 * perf_attach_locked - add an event to a context
 * @ctx: context
 * @event: event; its leader is in @ctx or the event itself
 * @epc: PMU context of the event's PMU in @ctx
 *
 * Context: ctx->lock is held, where the context may be changed
 */
void perf_attach_locked(struct perf_event_context *ctx, struct perf_event *event,
			struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&ctx->lock);

	perf_event_set_clock(event, perf_ctx_read_time(ctx));
	install_list(ctx, event);
	if (event->group_leader == event) {
		perf_group_make(event, epc);
		perf_sched_group_added(event);
	} else if (!perf_group_join(event, epc)) {
		perf_sched_group_changed(event->group_leader);
	}
}

/**
 * perf_attach_unpublished - add an event to a new task's context
 * @ctx: context that is not published yet, with its clock at 0
 * @event: event; its leader has been attached or is the event itself
 * @epc: PMU context that schedules the group
 *
 * The group is started by perf_start_unpublished().
 *
 * Context: process context
 */
void perf_attach_unpublished(struct perf_event_context *ctx, struct perf_event *event,
			     struct perf_event_pmu_context *epc)
{
	install_list(ctx, event);
	if (event->group_leader == event)
		perf_group_make(event, epc);
	else
		perf_group_link(event, epc);
}

/**
 * perf_start_unpublished - start the groups of a new task's context
 * @ctx: context that is not published yet
 *
 * Context: process context; takes ctx->lock
 */
void perf_start_unpublished(struct perf_event_context *ctx)
{
	struct perf_event *event;

	guard(perf_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->group_leader == event && event->state >= PERF_EVENT_STATE_INACTIVE)
			perf_sched_group_changed(event);
	}
}

static int install_call(struct perf_event_context *ctx, void *arg)
{
	struct install *in = arg;
	struct perf_event_pmu_context *epc = perf_epc_find(ctx, in->event->pmu);

	if (!epc) {
		epc = in->epc;
		in->epc = NULL;
		perf_epc_attach(ctx, epc);
	} else if (in->epc) {
		swap(epc->task_data, in->epc->task_data);
	}
	in->first = !ctx->nr_events;
	perf_attach_locked(ctx, in->event, epc);
	/* A software event may be scheduled by its leader's PMU instead. */
	perf_epc_drop_unused(epc);
	return 0;
}

/**
 * perf_install_prepare - allocate what a context needs for a new event
 * @ctx: context of the event
 * @event: new event
 * @epc: result, to be given to perf_install(): new PMU context, or NULL if @ctx has one with all
 *	that the event needs
 *
 * Context: may sleep; ctx->mutex is held until perf_install()
 * Return: 0 or -ENOMEM
 */
int perf_install_prepare(struct perf_event_context *ctx, struct perf_event *event,
			 struct perf_event_pmu_context **epc)
{
	struct perf_event_pmu_context *present = perf_epc_find(ctx, event->pmu);

	lockdep_assert_held(&ctx->mutex);
	*epc = NULL;
	if (present && !perf_epc_lacks_task_data(ctx, present, event))
		return 0;
	*epc = perf_epc_alloc(ctx, event->pmu);
	if (*epc && perf_epc_lacks_task_data(ctx, *epc, event) &&
	    !perf_epc_alloc_task_data(*epc)) {
		perf_epc_free(ctx, *epc);
		*epc = NULL;
	}
	return *epc ? 0 : perf_refuse(-ENOMEM, "no memory for the PMU's part of the context");
}

static int install_no_op(struct task_struct *task, void *unused)
{
	return 0;
}

/*
 * The switch-in hook reads task->perf_event_ctxp with rq->lock held. Taking that lock divides the
 * task's switches into those that are over, with an rq->curr that perf_ctx_call() reads, and those
 * that find the context and wait for its lock. The current task is not switched in meanwhile. The
 * task may exit at any time: its exit takes ctx->mutex only after it has left the context.
 */
static void install_publish(struct perf_event_context *ctx)
{
	struct task_struct *task = READ_ONCE(ctx->task);

	if (task && task != TASK_TOMBSTONE && task != current && !ctx->nr_events)
		task_call_func(task, install_no_op, NULL);
}

/**
 * perf_install - add an event to its context
 * @ctx: context; event->ctx has been set and holds a reference
 * @event: event that has been checked against the events of @ctx
 * @epc: from perf_install_prepare()
 *
 * Context: may sleep; ctx->mutex is held
 */
void perf_install(struct perf_event_context *ctx, struct perf_event *event,
		  struct perf_event_pmu_context *epc)
{
	struct install in = { .event = event, .epc = epc };

	lockdep_assert_held(&ctx->mutex);
	install_publish(ctx);
	perf_ctx_call(ctx, install_call, &in);
	if (ctx->cgrp && in.first)
		perf_cgroup_resync(ctx->cpu);
	if (in.epc)
		perf_epc_free(ctx, in.epc);
	perf_epc_free_dropped(ctx);
}

static enum perf_event_state install_final_state(unsigned int flags, enum perf_event_state state)
{
	if (flags & PERF_REMOVE_DEAD)
		return PERF_EVENT_STATE_DEAD;
	if (flags & PERF_REMOVE_EXIT)
		return PERF_EVENT_STATE_EXIT;
	return min(state, PERF_EVENT_STATE_OFF);
}

/*
 * The last user-readable event was removed. If it was disabled its schedule was not recompiled:
 * clear perf_schedule::user here.
 */
static void install_invalidate_user(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry)
		perf_sched_invalidate_user(epc);
}

/**
 * perf_detach_locked - remove an event from its context
 * @ctx: context
 * @event: event; nothing happens if it is not in @ctx's lists
 * @flags: PERF_REMOVE_*
 *
 * The other members of a group continue to count. The siblings of a leader become groups of their
 * own. A sibling that depends on the leader (PERF_EV_CAP_SIBLING, its AUX trace) fails instead.
 * With PERF_REMOVE_GROUP neither happens: the group stops with its leader and stays linked.
 *
 * Context: ctx->lock is held, where the context may be changed
 */
void perf_detach_locked(struct perf_event_context *ctx, struct perf_event *event,
			unsigned int flags)
{
	lockdep_assert_held(&ctx->lock);
	if (!(event->attach_state & PERF_ATTACH_CONTEXT))
		return;

	/* Before schedules are compiled for the remaining events. */
	install_count(ctx, event, -1);
	perf_group_detach(event, flags & PERF_REMOVE_GROUP);
	perf_sched_drop_event(event);
	if (install_is_user_readable(event) && !ctx->nr_user)
		install_invalidate_user(ctx);
	perf_event_set_state(event, install_final_state(flags, event->state));
	if (!list_empty(&event->sb_list))
		list_del_rcu(&event->sb_list);
	list_del_init(&event->event_entry);
	event->attach_state &= ~PERF_ATTACH_CONTEXT;
	perf_epc_put(event->pmu_ctx);
	event->pmu_ctx = NULL;
	if (!--ctx->nr_events)
		perf_ctx_deactivate_empty(ctx);
}

static void install_clear_queues(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		epc->nr_events = 0;
		epc->nr_flexible = 0;
		INIT_LIST_HEAD(&epc->flexible);
		INIT_LIST_HEAD(&epc->pinned);
	}
	INIT_LIST_HEAD(&ctx->counter_list);
}

/**
 * perf_detach_all_locked - remove all events from the context of a task that exits
 * @ctx: context that is active on no CPU and will not be again
 *
 * All events stop at the same time. Groups stay linked, so that they can be read. The events stay
 * on @ctx->event_list.
 *
 * Context: ctx->lock is held
 */
void perf_detach_all_locked(struct perf_event_context *ctx)
{
	struct perf_event *event;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry)
		perf_event_update_time(event);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		perf_group_member_exit(event);
		if (!list_empty(&event->sb_list))
			list_del_rcu(&event->sb_list);
		INIT_LIST_HEAD(&event->group_entry);
		INIT_LIST_HEAD(&event->pinned_entry);
		event->attach_state &= ~PERF_ATTACH_CONTEXT;
		if (unlikely(event->pmu_ctx->pmu->module))
			module_put(event->pmu_ctx->pmu->module);
		event->pmu_ctx = NULL;
	}
	install_clear_queues(ctx);
	ctx->nr_events = 0;
	ctx->nr_bound = 0;
	ctx->nr_user = 0;
}

/**
 * struct install_removal - a removal in progress
 * @event: event to remove
 * @flags: PERF_REMOVE_*
 * @in_hit: result: a hit was interrupted
 */
struct install_removal {
	struct perf_event	*event;
	unsigned int		flags;
	bool			in_hit;
};

static int install_remove_call(struct perf_event_context *ctx, void *arg)
{
	struct install_removal *r = arg;

	if (r->event->attach_state & PERF_ATTACH_CONTEXT)
		perf_detach_locked(ctx, r->event, r->flags);
	else
		perf_group_unlink(r->event);
	if (r->flags & PERF_REMOVE_DEAD)
		perf_event_set_state(r->event, PERF_EVENT_STATE_DEAD);
	r->in_hit = perf_call_interrupts_hit();
	return 0;
}

/**
 * perf_remove - remove an event from its context
 * @event: event
 * @flags: PERF_REMOVE_*
 *
 * When the function returns the event's counter is free and its overflow handler is not running.
 *
 * Context: may sleep; ctx->mutex is held
 */
void perf_remove(struct perf_event *event, unsigned int flags)
{
	struct install_removal r = { .event = event, .flags = flags };

	lockdep_assert_held(&event->ctx->mutex);
	perf_ctx_call(event->ctx, install_remove_call, &r);
	if (unlikely(r.in_hit))
		synchronize_rcu_expedited();
	perf_epc_free_dropped(event->ctx);
}
