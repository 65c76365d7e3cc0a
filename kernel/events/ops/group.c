// SPDX-License-Identifier: GPL-2.0
/*
 * Membership in groups, and the PMU contexts in which groups are scheduled.
 *
 * All members of a group are scheduled in the PMU context of one PMU: that of the leader, unless
 * the leader is a software event and a member is not. Then the group moves to that member's.
 *
 * Locks: ctx->lock, where the context may be changed.
 */
#include <linux/module.h>

#include "ops.h"

/*
 * Every event that is scheduled in the PMU context keeps the PMU's module. When the last event of
 * that PMU itself leaves a group, the rest leaves the PMU context: group_leave_module().
 */
static noinline void group_epc_get(struct perf_event_pmu_context *epc)
{
	if (unlikely(epc->pmu->module))
		__module_get(epc->pmu->module);
	if (!epc->nr_events++ && perf_pmu_has_counters(epc->pmu))
		list_add(&epc->counter_entry, &epc->ctx->counter_list);
}

/* Only PMUs of modules and PMUs without counters of a dynamic type can be unregistered. */
static bool group_pmu_is_removable(const struct pmu *pmu)
{
	return pmu->module || (pmu->type >= PERF_TYPE_MAX && !perf_pmu_has_counters(pmu));
}

/**
 * perf_epc_drop_unused - drop a PMU context without events if its PMU may be unregistered
 * @epc: PMU context of a task or a cgroup
 *
 * All other PMU contexts stay with their context, so that the next event finds them. Those that are
 * dropped are freed by perf_epc_free_dropped().
 *
 * Context: ctx->lock
 */
void perf_epc_drop_unused(struct perf_event_pmu_context *epc)
{
	struct perf_event_context *ctx = epc->ctx;

	lockdep_assert_held(&ctx->lock);
	if (!epc->nr_events && group_pmu_is_removable(epc->pmu) && (ctx->task || ctx->cgrp))
		list_move(&epc->entry, &ctx->dropped);
}

/**
 * perf_epc_put - drop an event's use of a PMU context
 * @epc: PMU context
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_epc_put(struct perf_event_pmu_context *epc)
{
	struct module *module = epc->pmu->module;

	lockdep_assert_held(&epc->ctx->lock);
	if (!--epc->nr_events) {
		list_del_init(&epc->counter_entry);
		if (perf_pmu_has_counters(epc->pmu)) {
			perf_sched_invalidate_user(epc);
			perf_sched_base_left(epc);
		}
		perf_epc_drop_unused(epc);
	}
	/* Last: the PMU may be unregistered then. */
	if (unlikely(module))
		module_put(module);
}

/* Moves the members of a group, which does not run, to the PMU context of its first counter. */
static void group_move(struct perf_event *leader, struct perf_event_pmu_context *epc)
{
	struct perf_event *sibling;

	leader->round = 0;
	group_epc_get(epc);
	perf_epc_put(leader->pmu_ctx);
	leader->pmu_ctx = epc;
	for_each_group_sibling(sibling, leader) {
		group_epc_get(epc);
		perf_epc_put(sibling->pmu_ctx);
		sibling->pmu_ctx = epc;
	}
}

/**
 * perf_group_make - let an event lead a group of its own
 * @leader: event that is new in its context
 * @epc: PMU context of its PMU
 *
 * The group is queued if the event is enabled; it is not started.
 *
 * Context: ctx->lock, or the context is not published yet
 */
void perf_group_make(struct perf_event *leader, struct perf_event_pmu_context *epc)
{
	leader->pmu_ctx = epc;
	group_epc_get(epc);
	leader->group_caps = leader->event_caps;
	if (leader->state >= PERF_EVENT_STATE_INACTIVE)
		perf_group_queue(leader);
}

/**
 * perf_group_link - add an event to its leader's list of siblings
 * @event: event that is new in its context; its group does not run
 * @epc: PMU context in which the group is scheduled
 *
 * Context: ctx->lock, or the context is not published yet
 */
void perf_group_link(struct perf_event *event, struct perf_event_pmu_context *epc)
{
	struct perf_event *leader = event->group_leader;

	event->pmu_ctx = epc;
	group_epc_get(epc);
	event->attach_state |= PERF_ATTACH_GROUP;
	leader->group_caps &= event->event_caps;
	list_add_tail(&event->sibling_list, &leader->sibling_list);
	leader->nr_siblings++;
	leader->group_generation++;
}

/**
 * perf_group_join - add an event to its leader's group
 * @event: event that is new in its context
 * @epc: PMU context of its PMU
 *
 * A software event is started with a group that runs. Any other event stops the group. A software
 * group that gets its first hardware member is scheduled with that member's PMU from now on.
 *
 * Context: ctx->lock, where the context may be changed
 * Return: true if the group runs; false if it does not, and has to be scheduled
 */
bool perf_group_join(struct perf_event *event, struct perf_event_pmu_context *epc)
{
	struct perf_event *leader = event->group_leader;
	bool queued = perf_group_queued(leader);

	lockdep_assert_held(&event->ctx->lock);
	if (is_software_event(event)) {
		perf_group_link(event, leader->pmu_ctx);
		return perf_group_start_sibling(event);
	}
	if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
	if (epc != leader->pmu_ctx) {
		perf_group_unqueue(leader);
		group_move(leader, epc);
		if (queued)
			perf_group_queue(leader);
	}
	perf_group_link(event, epc);
	return false;
}

/*
 * The sibling of an AUX event that leaves no longer pauses, resumes or samples its trace. The
 * reference is not the last one, because the AUX event's user has another.
 */
static noinline void group_drop_aux(struct perf_event *sibling, struct perf_event *aux)
{
	if (sibling->aux_event != aux)
		return;
	WRITE_ONCE(sibling->aux_event, NULL);
	WARN_ON_ONCE(atomic_long_dec_and_test(&aux->refcount));
}

/* The group's capabilities are those that all of its events have. */
static void group_set_caps(struct perf_event *leader)
{
	struct perf_event *sibling;

	leader->group_caps = leader->event_caps;
	for_each_group_sibling(sibling, leader)
		leader->group_caps &= sibling->event_caps;
}

static bool group_has_event_of(struct perf_event *leader, const struct pmu *pmu)
{
	struct perf_event *sibling;

	if (leader->pmu == pmu)
		return true;
	for_each_group_sibling(sibling, leader) {
		if (sibling->pmu == pmu)
			return true;
	}
	return false;
}

/*
 * The PMU that schedules a group of software events is a module's: no event of it is left, so the
 * group is scheduled as it was before one joined, and the module can be unloaded. The group stays
 * if the PMU context of the leader's PMU has been dropped.
 */
static noinline void group_leave_module(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = perf_epc_find(leader->ctx, leader->pmu);
	bool queued = perf_group_queued(leader);

	if (!epc || group_has_event_of(leader, leader->pmu_ctx->pmu))
		return;
	if (queued) {
		perf_group_unqueue(leader);
		if (leader->state == PERF_EVENT_STATE_ACTIVE)
			perf_group_stop(leader);
		perf_sched_group_removed(leader);
	}
	group_move(leader, epc);
	group_set_caps(leader);
	if (queued) {
		perf_group_queue(leader);
		perf_sched_group_added(leader);
	}
}

/* A sibling of a group that is dissolved becomes a leader, or fails if it depends on the leader. */
static void group_make_leader(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	bool fails = event->event_caps & PERF_EV_CAP_SIBLING || event->aux_event == leader;

	group_drop_aux(event, leader);
	list_del_init(&event->sibling_list);
	event->group_leader = event;
	event->group_caps = event->event_caps;
	event->attach_state &= ~PERF_ATTACH_GROUP;
	event->round = 0;
	if (unlikely(event->pmu_ctx->pmu->module))
		group_leave_module(event);

	if (fails) {
		if (event->state >= PERF_EVENT_STATE_INACTIVE)
			perf_group_fail(event);
		return;
	}
	if (event->state >= PERF_EVENT_STATE_INACTIVE)
		perf_group_queue(event);
	/* perf_group_detach() reschedules counters once for all of them. */
	if (perf_pmu_has_counters(event->pmu_ctx->pmu))
		perf_sched_start_without_slots(event);
	else
		perf_sched_group_changed(event);
}

/* @runs_on: the group runs without @event. */
static void group_leave(struct perf_event *event, bool runs_on)
{
	struct perf_event *leader = event->group_leader;

	/* From now on its times do not depend on the leader's state. */
	perf_event_update_time(event);
	list_del_init(&event->sibling_list);
	event->group_leader = event;
	event->attach_state &= ~PERF_ATTACH_GROUP;
	leader->nr_siblings--;
	leader->group_generation++;
	group_drop_aux(event, leader);
	if (!runs_on)
		perf_sched_group_changed(leader);
	if (unlikely(leader->pmu_ctx->pmu->module))
		group_leave_module(leader);
}

static void group_dissolve(struct perf_event *leader)
{
	struct perf_event *sibling, *next;

	perf_group_update_time(leader);
	list_for_each_entry_safe(sibling, next, &leader->sibling_list, sibling_list)
		group_make_leader(sibling);
	leader->nr_siblings = 0;
	leader->group_generation++;
}

/**
 * perf_group_detach - take an event out of its group
 * @event: attached to its context; it does not run afterwards
 * @linked: the whole group leaves, the leader first, and is read as one afterwards
 *
 * The group continues without @event. If that is the leader, each sibling becomes a group of its
 * own. With @linked neither happens.
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_group_detach(struct perf_event *event, bool linked)
{
	struct perf_event *leader = event->group_leader;

	lockdep_assert_held(&event->ctx->lock);
	if (leader != event) {
		lockdep_assert(!linked || !(leader->attach_state & PERF_ATTACH_CONTEXT));
		if (!linked)
			group_leave(event, perf_group_stop_sibling(event));
		return;
	}
	perf_group_unqueue(event);
	if (event->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(event);
	if (!event->nr_siblings) {
		perf_sched_group_removed(event);
		return;
	}
	if (!linked)
		group_dissolve(event);
	perf_sched_group_changed(event);
}

/**
 * perf_group_unlink - take a detached event out of what is left of its group
 * @event: detached from its context: its task exited, or exec removed its group
 *
 * Context: ctx->lock
 */
void perf_group_unlink(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling, *next;

	lockdep_assert_held(&event->ctx->lock);
	if (leader != event) {
		list_del_init(&event->sibling_list);
		event->group_leader = event;
		leader->nr_siblings--;
		leader->group_generation++;
		return;
	}
	list_for_each_entry_safe(sibling, next, &event->sibling_list, sibling_list) {
		group_drop_aux(sibling, event);
		list_del_init(&sibling->sibling_list);
		sibling->group_leader = sibling;
	}
	event->nr_siblings = 0;
	event->group_generation++;
}
