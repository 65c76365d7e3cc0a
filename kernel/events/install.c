// SPDX-License-Identifier: GPL-2.0
/*
 * Into a context and out of it.
 *
 * perf_install() is an open's point of no return: everything has been checked, everything has
 * been allocated, it cannot fail.
 *
 * Locks: ctx->mutex; the lists change under ctx->lock where perf_ctx_call() leads.
 */
#include "operations.h"

struct install {
	struct perf_event		*event;
	struct perf_event_pmu_context	*epc;	/* used if there is none for the PMU yet */
	bool				first;
};

static void epc_get(struct perf_event_pmu_context *epc)
{
	if (!epc->nr_events++ && perf_pmu_has_counters(epc->pmu))
		list_add(&epc->counter_entry, &epc->ctx->counter_list);
}

/* Those that give counters out are the CPUs' own, those with a type of their own the kernel's. */
static bool pmu_may_go(const struct pmu *pmu)
{
	return pmu->module || (pmu->type >= PERF_TYPE_MAX && !perf_pmu_has_counters(pmu));
}

/*
 * PMU contexts stay with their context, so that opening again finds them; but not those of a PMU
 * that may be unregistered: of a module, or of a device whose driver can be unbound.
 */
static void epc_drop_unused(struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	if (!epc->nr_events && pmu_may_go(epc->pmu) && (epc->ctx->task || epc->ctx->cgrp))
		list_move(&epc->entry, &epc->ctx->dropped);
}

static void epc_put(struct perf_event_pmu_context *epc)
{
	if (--epc->nr_events)
		return;
	list_del_init(&epc->counter_entry);
	if (perf_pmu_has_counters(epc->pmu))
		perf_sched_forget_user(epc);
	epc_drop_unused(epc);
}

/* Other PMUs' events have something else where the flags are. */
static bool is_user_readable(const struct perf_event *event)
{
	return perf_pmu_has_counters(event->pmu) &&
	       event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT;
}

static void count_kinds(struct perf_event_context *ctx, struct perf_event *event, int by)
{
	ctx->nr_bound += event->account_flags & EVENT_BOUND ? by : 0;
	ctx->nr_switch_records += event->attr.context_switch ? by : 0;
	ctx->nr_user += is_user_readable(event) ? by : 0;
}

/* The members of a group move to another PMU's care: that of its first counter. Not running. */
static void group_move(struct perf_event *leader, struct perf_event_pmu_context *epc)
{
	struct perf_event *sibling;

	leader->round = 0;
	epc_get(epc);
	epc_put(leader->pmu_ctx);
	leader->pmu_ctx = epc;
	for_each_sibling_event(sibling, leader) {
		epc_get(epc);
		epc_put(sibling->pmu_ctx);
		sibling->pmu_ctx = epc;
	}
}

/* Into its leader's group, which does not run. */
static void group_link(struct perf_event *event, struct perf_event_pmu_context *epc)
{
	struct perf_event *leader = event->group_leader;

	event->pmu_ctx = epc;
	epc_get(epc);
	event->attach_state |= PERF_ATTACH_GROUP;
	leader->group_caps &= event->event_caps;
	list_add_tail(&event->sibling_list, &leader->sibling_list);
	leader->nr_siblings++;
	leader->group_generation++;
}

/*
 * Joins an event to its leader. A software group that gets its first hardware member is from now
 * on scheduled with that PMU.
 */
static void group_join(struct perf_event *event, struct perf_event_pmu_context *epc)
{
	struct perf_event *leader = event->group_leader;
	bool queued = perf_group_queued(leader);

	if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
	if (epc != leader->pmu_ctx) {
		if (is_software_event(event)) {
			epc = leader->pmu_ctx;
		} else {
			perf_group_unqueue(leader);
			group_move(leader, epc);
			if (queued)
				perf_group_queue(leader);
		}
	}
	group_link(event, epc);
}

/* Into the context's lists. */
static void enter(struct perf_event_context *ctx, struct perf_event *event)
{
	event->attach_state |= PERF_ATTACH_CONTEXT;
	list_add_tail(&event->event_entry, &ctx->event_list);
	ctx->nr_events++;
	if (perf_event_is_sideband(event))
		list_add_rcu(&event->sb_list, &ctx->sb_list);
	count_kinds(ctx, event, 1);
}

static void make_group(struct perf_event *leader, struct perf_event_pmu_context *epc)
{
	leader->pmu_ctx = epc;
	epc_get(epc);
	leader->group_caps = leader->event_caps;
	if (leader->state >= PERF_EVENT_STATE_INACTIVE)
		perf_group_queue(leader);
}

/**
 * perf_attach_locked - put an event into a context
 * @ctx: the context, locked where it may be changed
 * @event: its group_leader is in @ctx or itself
 * @epc: PMU context of the event's PMU in @ctx
 */
void perf_attach_locked(struct perf_event_context *ctx, struct perf_event *event,
			struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&ctx->lock);

	event->tstamp = perf_ctx_time(ctx);
	enter(ctx, event);
	if (event->group_leader == event)
		make_group(event, epc);
	else
		group_join(event, epc);
	perf_sched_group_changed(event->group_leader);
}

/**
 * perf_attach_unseen - put an event into a new task's context
 * @ctx: the context; nobody sees it yet, and its clock stands at 0
 * @event: its group_leader, if that is another event, has been attached
 * @epc: PMU context in which the group is scheduled
 *
 * No group runs before perf_start_unseen().
 */
void perf_attach_unseen(struct perf_event_context *ctx, struct perf_event *event,
			struct perf_event_pmu_context *epc)
{
	enter(ctx, event);
	if (event->group_leader == event)
		make_group(event, epc);
	else
		group_link(event, epc);
}

/**
 * perf_start_unseen - let the groups of a new task's context run
 * @ctx: the context
 */
void perf_start_unseen(struct perf_event_context *ctx)
{
	struct perf_event *event;

	guard(raw_spinlock_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->group_leader == event && event->state >= PERF_EVENT_STATE_INACTIVE)
			perf_sched_group_changed(event);
	}
}

static int install_here(struct perf_event_context *ctx, void *arg)
{
	struct install *in = arg;
	struct perf_event_pmu_context *epc = perf_epc_find(ctx, in->event->pmu);

	if (!epc) {
		epc = in->epc;
		in->epc = NULL;
		perf_epc_attach(ctx, epc);
	}
	in->first = !ctx->nr_events;
	perf_attach_locked(ctx, in->event, epc);
	epc_drop_unused(epc);	/* a software event is cared for by its leader's PMU */
	return 0;
}

/**
 * perf_install - let an event begin its life in a context
 * @ctx: the context; ctx->mutex is held. event->ctx already, referenced
 * @event: checked against everything in @ctx
 *
 * Context: may sleep
 * Return: 0 or -ENOMEM; nothing has changed then
 */
int perf_install(struct perf_event_context *ctx, struct perf_event *event)
{
	struct install in = { .event = event };

	lockdep_assert_held(&ctx->mutex);
	if (!perf_epc_find(ctx, event->pmu)) {
		in.epc = perf_epc_alloc(ctx, event->pmu);
		if (!in.epc)
			return perf_refuse(-ENOMEM, "no memory for the PMU's part of the context");
	}
	perf_ctx_call(ctx, install_here, &in);
#ifdef CONFIG_CGROUP_PERF
	if (ctx->cgrp && in.first)
		perf_cgroup_kick(ctx->cpu);
#endif
	if (in.epc)
		perf_epc_free(ctx, in.epc);
	perf_epc_free_dropped(ctx);
	return 0;
}

/* A sibling goes its own way. */
static void make_leader(struct perf_event *event, int group_caps)
{
	list_del_init(&event->sibling_list);
	event->group_leader = event;
	event->group_caps = event->event_caps;
	event->attach_state &= ~PERF_ATTACH_GROUP;
	event->round = 0;

	if (event->event_caps & PERF_EV_CAP_SIBLING) {
		if (event->state >= PERF_EVENT_STATE_INACTIVE)
			perf_event_set_state(event, PERF_EVENT_STATE_ERROR);
		return;
	}
	if (event->state >= PERF_EVENT_STATE_INACTIVE)
		perf_group_queue(event);
	/* Counters are given out anew once for all of them, by whoever dissolves the group. */
	if (!perf_pmu_has_counters(event->pmu_ctx->pmu))
		perf_sched_group_changed(event);
}

static void group_leave(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	/* Its time goes on under other rules. */
	perf_event_update_time(event);
	list_del_init(&event->sibling_list);
	event->group_leader = event;
	event->attach_state &= ~PERF_ATTACH_GROUP;
	leader->nr_siblings--;
	leader->group_generation++;
	perf_sched_group_changed(leader);
}

static void group_dissolve(struct perf_event *leader)
{
	struct perf_event *sibling, *next;

	perf_group_update_time(leader);
	list_for_each_entry_safe(sibling, next, &leader->sibling_list, sibling_list)
		make_leader(sibling, leader->group_caps);
	leader->nr_siblings = 0;
	leader->group_generation++;
}

/* Stops the group and takes @event out of it; the others go on as they can. */
static void group_detach(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	if (leader == event)
		perf_group_unqueue(event);
	if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
	if (leader != event) {
		group_leave(event);
		return;
	}
	group_dissolve(event);
	perf_sched_group_changed(event);
}

static enum perf_event_state final_state(unsigned int flags, enum perf_event_state state)
{
	if (flags & PERF_REMOVE_DEAD)
		return PERF_EVENT_STATE_DEAD;
	if (flags & PERF_REMOVE_EXIT)
		return PERF_EVENT_STATE_EXIT;
	return min(state, PERF_EVENT_STATE_OFF);
}

/* The last event that user space may read leaves. Its PMU's schedule stands if it was disabled. */
static void forget_user(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry)
		perf_sched_forget_user(epc);
}

/**
 * perf_detach_locked - take an event out of its context
 * @ctx: the context, locked where it may be changed
 * @event: in @ctx
 * @flags: PERF_REMOVE_*
 *
 * Its group goes on without it; the siblings of a leader become single events.
 */
void perf_detach_locked(struct perf_event_context *ctx, struct perf_event *event,
			unsigned int flags)
{
	lockdep_assert_held(&ctx->lock);
	if (!(event->attach_state & PERF_ATTACH_CONTEXT))
		return;

	/* Schedules that are compiled from here on are for those that stay. */
	count_kinds(ctx, event, -1);
	group_detach(event);
	perf_sched_forget(event);
	if (is_user_readable(event) && !ctx->nr_user)
		forget_user(ctx);
	perf_event_set_state(event, final_state(flags, event->state));
	if (!list_empty(&event->sb_list))
		list_del_rcu(&event->sb_list);
	list_del_init(&event->event_entry);
	event->attach_state &= ~PERF_ATTACH_CONTEXT;
	epc_put(event->pmu_ctx);
	event->pmu_ctx = NULL;
	if (!--ctx->nr_events)
		perf_ctx_retire(ctx);
}

static void forget_groups(struct perf_event_context *ctx)
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
 * perf_detach_all_locked - take all events out of a task's context for good
 * @ctx: the context, locked; on no CPU, and never again
 *
 * All at one moment. Groups stay together for those who read them. The events are still on
 * @ctx->event_list.
 */
void perf_detach_all_locked(struct perf_event_context *ctx)
{
	struct perf_event *event;

	lockdep_assert_held(&ctx->lock);
	/* A sibling's times depend on its leader's state: all the times before any state. */
	list_for_each_entry(event, &ctx->event_list, event_entry)
		perf_event_update_time(event);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		perf_member_end(event);
		if (!list_empty(&event->sb_list))
			list_del_rcu(&event->sb_list);
		INIT_LIST_HEAD(&event->group_entry);
		INIT_LIST_HEAD(&event->pinned_entry);
		event->attach_state &= ~PERF_ATTACH_CONTEXT;
		event->pmu_ctx = NULL;
	}
	forget_groups(ctx);
	ctx->nr_events = 0;
	ctx->nr_bound = 0;
	ctx->nr_switch_records = 0;
	ctx->nr_user = 0;
}

/* An event of a task that has exited leaves what is left of its group. */
static void group_unlink(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling, *next;

	if (leader != event) {
		list_del_init(&event->sibling_list);
		event->group_leader = event;
		leader->nr_siblings--;
		leader->group_generation++;
		return;
	}
	list_for_each_entry_safe(sibling, next, &event->sibling_list, sibling_list) {
		list_del_init(&sibling->sibling_list);
		sibling->group_leader = sibling;
	}
	event->nr_siblings = 0;
	event->group_generation++;
}

struct removal {
	struct perf_event	*event;
	unsigned int		flags;
};

static int remove_here(struct perf_event_context *ctx, void *arg)
{
	struct removal *r = arg;

	if (r->event->attach_state & PERF_ATTACH_CONTEXT)
		perf_detach_locked(ctx, r->event, r->flags);
	else
		group_unlink(r->event);
	if (r->flags & PERF_REMOVE_DEAD)
		WRITE_ONCE(r->event->state, PERF_EVENT_STATE_DEAD);
	return 0;
}

/**
 * perf_remove - take an event out of its context
 * @event: it; ctx->mutex held
 * @flags: PERF_REMOVE_*
 *
 * When it returns the counter is free again. Context: may sleep
 */
void perf_remove(struct perf_event *event, unsigned int flags)
{
	struct removal r = { .event = event, .flags = flags };

	lockdep_assert_held(&event->ctx->mutex);
	perf_ctx_call(event->ctx, remove_here, &r);
	perf_epc_free_dropped(event->ctx);
}
