// SPDX-License-Identifier: GPL-2.0
/*
 * Enabling, disabling, resetting, changing the period.
 *
 * Functions with the suffix "_locked" or "_here" run under ctx->lock and act on one event, but
 * control_set_here() can act on its group, too. For the context of the others see
 * linux/perf/event.h. A request on a file to enable, disable or reset also applies to the event's
 * children and, with a flag, to its group; a new period applies to the event of the file alone.
 *
 * Locks: perf_event_call() takes those of all contexts on the event's CPU, but only that of the
 * event's context if that has no part in what others run; perf_event_call_own() never takes more.
 * child_mutex for the children.
 */
#include "ops.h"

/* An event that is being moved to another CPU is started there according to its state. */
static bool control_is_moving(const struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_MOVING;
}

/* The times of siblings depend on their leader's state: update their user pages, too. */
static void control_update_pages(struct perf_event *event)
{
	struct perf_event *sibling;

	/* The count of a CPU's context is not kept when its events migrate. */
	if (likely(event->ctx->task && !event->ctx->nr_mapped))
		return;
	perf_event_update_userpage(event);
	if (event != event->group_leader)
		return;
	for_each_group_sibling(sibling, event)
		perf_event_update_userpage(sibling);
}

/* Unqueued first, so that stopping need not move the group in the queue. */
static void control_stop_group(struct perf_event *leader)
{
	perf_group_unqueue(leader);
	if (leader->state != PERF_EVENT_STATE_ACTIVE)
		return;
	perf_group_stop(leader);
	if (!leader->attr.pinned)
		perf_group_queue_settle(leader);
}

/**
 * perf_event_disable_locked - disable an event
 * @event: event in any state; if it is a leader its group is stopped. The state ERROR stays: a
 *	pinned event that failed is reported until it is enabled
 *
 * Context: ctx->lock is held, where the context may be changed
 */
void perf_event_disable_locked(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	bool runs_on;

	lockdep_assert_held(&event->ctx->lock);
	if (event->state < PERF_EVENT_STATE_INACTIVE)
		return;
	if (control_is_moving(event)) {
		perf_event_set_state(event, PERF_EVENT_STATE_OFF);
		return;
	}
	if (event == leader) {
		control_stop_group(leader);
		perf_event_set_state(event, PERF_EVENT_STATE_OFF);
		perf_sched_group_removed(leader);
	} else {
		runs_on = perf_group_stop_sibling(event);
		perf_event_set_state(event, PERF_EVENT_STATE_OFF);
		if (!runs_on && leader->state >= PERF_EVENT_STATE_INACTIVE)
			perf_sched_group_changed(leader);
	}
	control_update_pages(event);
}

/*
 * Ends a request of a hit to disable the event: the irq_work that is still to do so would undo what
 * is requested now. The counter may be stopped, so the event has to be. Hits that concern a
 * sleeping task find its tracepoint events without a pmu::add before.
 */
static noinline int control_disable_pending_here(struct perf_event *event, void *unused)
{
	if (!READ_ONCE(event->pending_disable))
		return 0;
	if (event->state >= PERF_EVENT_STATE_INACTIVE)
		perf_event_disable_locked(event);
	if (event->attr.type == PERF_TYPE_TRACEPOINT)
		event->hw.state = 0;
	WRITE_ONCE(event->pending_disable, 0);
	return 0;
}

/*
 * @on_exec: only if it has enable_on_exec, which it loses. Returns whether the event is a sibling,
 * and its group is to be scheduled again.
 */
static bool control_enable(struct perf_event *event, bool on_exec)
{
	struct perf_event *leader = event->group_leader;
	bool runs = true;

	if (on_exec) {
		if (!event->attr.enable_on_exec)
			return false;
		event->attr.enable_on_exec = 0;
	}
	if (unlikely(READ_ONCE(event->pending_disable)))
		control_disable_pending_here(event, NULL);
	if (event->state >= PERF_EVENT_STATE_INACTIVE || event->state <= PERF_EVENT_STATE_EXIT)
		return false;
	/* An event that can only be a sibling cannot be enabled as a leader. */
	if (event == leader && (event->event_caps & PERF_EV_CAP_SIBLING))
		return false;
	perf_event_set_state(event, PERF_EVENT_STATE_INACTIVE);
	if (control_is_moving(event))
		return false;
	if (event == leader) {
		perf_group_queue(leader);
		perf_sched_group_added(leader);
	} else {
		runs = perf_group_start_sibling(event);
	}
	control_update_pages(event);
	return !runs && leader->state >= PERF_EVENT_STATE_INACTIVE;
}

/* Siblings of @leader, which runs or could run, have been enabled. */
static void control_schedule(struct perf_event *leader)
{
	perf_sched_group_changed(leader);
	control_update_pages(leader);
}

/**
 * perf_group_enable_locked - enable members of a group
 * @leader: leader of the group
 * @on_exec: those with enable_on_exec, which they lose; false: all
 *
 * What runs is scheduled again once, however many siblings are enabled.
 *
 * Context: ctx->lock is held, where the context may be changed
 */
void perf_group_enable_locked(struct perf_event *leader, bool on_exec)
{
	struct perf_event *sibling;
	bool changed = false;

	lockdep_assert_held(&leader->ctx->lock);
	for_each_group_sibling(sibling, leader)
		changed |= control_enable(sibling, on_exec);
	if (changed)
		control_schedule(leader);
	control_enable(leader, on_exec);
}

/**
 * struct control_request - a request to enable or disable an event
 * @enable: enable
 * @group: the event is a leader, and all members of its group are meant
 * @in_hit: result, if not @enable: a hit was interrupted
 */
struct control_request {
	bool	enable;
	bool	group;
	bool	in_hit;
};

/* A change of a sibling changes no schedule while its leader is disabled. */
static void control_disable_group(struct perf_event *leader)
{
	struct perf_event *sibling;

	perf_event_disable_locked(leader);
	for_each_group_sibling(sibling, leader)
		perf_event_disable_locked(sibling);
}

static int control_set_here(struct perf_event *event, void *arg)
{
	struct control_request *request = arg;

	if (request->enable) {
		if (request->group)
			perf_group_enable_locked(event, false);
		else if (control_enable(event, false))
			control_schedule(event->group_leader);
		return 0;
	}
	if (request->group)
		control_disable_group(event);
	else
		perf_event_disable_locked(event);
	request->in_hit = perf_call_interrupts_hit();
	return 0;
}

/* No handler of the event runs, and none writes a sample, when a request to stop it returns. */
static void control_wait_for_hit(bool in_hit)
{
	if (unlikely(in_hit))
		synchronize_rcu_expedited();
}

static void control_set(struct perf_event *event, bool enable, bool group)
{
	struct control_request request = { .enable = enable, .group = group };

	perf_event_call(event, control_set_here, &request);
	control_wait_for_hit(request.in_hit);
}

void perf_event_enable(struct perf_event *event)
{
	control_set(event, true, false);
}
EXPORT_SYMBOL_GPL(perf_event_enable);

void perf_event_disable(struct perf_event *event)
{
	control_set(event, false, false);
}
EXPORT_SYMBOL_GPL(perf_event_disable);

/* Does what a hit has requested, unless that was done since, or forwards it. Interrupts off. */
static void control_disable_pending(struct perf_event *event)
{
	int cpu = perf_event_call_inatomic(event, control_disable_pending_here, NULL);

	if (cpu >= 0)
		irq_work_queue_on(&event->pending_disable_irq, cpu);
}

void perf_event_disable_local(struct perf_event *event)
{
	WRITE_ONCE(event->pending_disable, 1);
	control_disable_pending(event);
}

static int control_reset_here(struct perf_event *event, void *unused)
{
	struct perf_event_context *ctx = event->ctx;

	if (event->state == PERF_EVENT_STATE_ACTIVE &&
	    (ctx->active_cpu == smp_processor_id() || (event->event_caps & PERF_EV_CAP_RESIDENT)))
		event->pmu->read(event);
	local64_set(&event->count, 0);
	perf_event_update_userpage(event);
	return 0;
}

/**
 * perf_event_reset - set the count of an event to 0
 * @event: event; its times and the counts of exited children stay
 *
 * Context: may sleep
 */
void perf_event_reset(struct perf_event *event)
{
	/* -ESRCH: the event has been removed from its context. */
	if (perf_event_call_own(event, control_reset_here, NULL) == -ESRCH) {
		guard(perf_irqsave)(&event->ctx->lock);
		local64_set(&event->count, 0);
		perf_event_update_userpage(event);
	}
}

/**
 * struct control_pause - a request to pause an event
 * @count: result: count of the event
 * @in_hit: result: a hit was interrupted
 */
struct control_pause {
	u64	count;
	bool	in_hit;
};

static int control_pause_here(struct perf_event *event, void *arg)
{
	struct control_pause *pause = arg;

	perf_event_disable_locked(event);
	pause->count = local64_read(&event->count);
	pause->in_hit = perf_call_interrupts_hit();
	return 0;
}

u64 perf_event_pause(struct perf_event *event, bool reset)
{
	struct control_pause pause = {};

	WARN_ON_ONCE(event->attr.inherit);
	/* -ESRCH: the task has exited. */
	if (perf_event_call(event, control_pause_here, &pause) == -ESRCH)
		pause.count = local64_read(&event->count);
	control_wait_for_hit(pause.in_hit);
	if (reset)
		local64_set(&event->count, 0);
	return pause.count;
}
EXPORT_SYMBOL_GPL(perf_event_pause);

/* Has the event no children, nor attributes that another task may modify under child_mutex? */
static bool control_is_childless(const struct perf_event *event)
{
	return !event->attr.inherit && event->attr.type != PERF_TYPE_BREAKPOINT;
}

/**
 * perf_event_visit_children - call a function for an event and for each of its children
 * @event: top event
 * @fn: function to call
 *
 * Context: may sleep
 */
void perf_event_visit_children(struct perf_event *event, void (*fn)(struct perf_event *))
{
	struct perf_event *child;

	if (control_is_childless(event)) {
		fn(event);
		return;
	}
	guard(mutex)(&event->child_mutex);
	fn(event);
	list_for_each_entry(child, &event->child_list, child_list)
		fn(child);
}

int perf_event_refresh(struct perf_event *event, int refresh)
{
	if (event->attr.inherit)
		return perf_refuse(-EINVAL, "refresh: not for an inherited event");
	if (!is_sampling_event(event))
		return perf_refuse(-EINVAL, "refresh: not for a counting event");

	atomic_add(refresh, &event->event_limit);
	perf_event_enable(event);
	return 0;
}
EXPORT_SYMBOL_GPL(perf_event_refresh);

static int control_period_here(struct perf_event *event, void *arg)
{
	return perf_event_set_period_value(event, *(u64 *)arg);
}

static int control_check_period(struct perf_event *event, u64 value)
{
	if (!is_sampling_event(event))
		return perf_refuse(-EINVAL, "period: not for a counting event");
	if (!value)
		return perf_refuse(-EINVAL, "period: must not be 0");
	if (event->attr.freq && value > sysctl_perf_event_sample_rate)
		return perf_refuse(-EINVAL,
				   "period: frequency %llu is over perf_event_max_sample_rate %llu",
				   value, sysctl_perf_event_sample_rate);
	if (!event->attr.freq && (value & BIT_ULL(63)))
		return perf_refuse(-EINVAL, "period: bit 63 must be clear");
	if (event->pmu->check_period(event, value))
		return perf_refuse(-EINVAL, "period: %llu is too short for the PMU", value);
	return 0;
}

int perf_event_period(struct perf_event *event, u64 value)
{
	int ret = control_check_period(event, value);

	if (!ret)
		perf_event_call_own(event, control_period_here, &value);
	return ret;
}
EXPORT_SYMBOL_GPL(perf_event_period);

static bool control_group_is_childless(const struct perf_event *leader)
{
	const struct perf_event *sibling;

	for_each_group_sibling(sibling, leader) {
		if (!control_is_childless(sibling))
			return false;
	}
	return control_is_childless(leader);
}

static void control_visit_group(struct perf_event *leader, void (*fn)(struct perf_event *))
{
	struct perf_event *sibling;

	perf_event_visit_children(leader, fn);
	for_each_group_sibling(sibling, leader)
		perf_event_visit_children(sibling, fn);
}

static void control_set_group(struct perf_event *leader, bool enable)
{
	lockdep_assert_held(&leader->ctx->mutex);
	if (control_group_is_childless(leader))
		control_set(leader, enable, true);
	else
		control_visit_group(leader, enable ? perf_event_enable : perf_event_disable);
}

/**
 * perf_event_enable_group - enable all members of a group and their children
 * @leader: leader of the group; if no member can have children or is a breakpoint, all are enabled
 *	at the same moment
 *
 * Context: may sleep; ctx->mutex is held
 */
void perf_event_enable_group(struct perf_event *leader)
{
	control_set_group(leader, true);
}

/**
 * perf_event_disable_group - disable all members of a group and their children
 * @leader: as for perf_event_enable_group()
 *
 * Context: as for perf_event_enable_group()
 */
void perf_event_disable_group(struct perf_event *leader)
{
	control_set_group(leader, false);
}

/**
 * perf_event_reset_group - set the counts of all members of a group and of their children to 0
 * @leader: leader of the group
 *
 * Context: as for perf_event_enable_group()
 */
void perf_event_reset_group(struct perf_event *leader)
{
	lockdep_assert_held(&leader->ctx->mutex);
	control_visit_group(leader, perf_event_reset);
}

/* prctl(2): all the events that the caller has opened, wherever they count. */
static noinline void control_visit_owned(void (*fn)(struct perf_event *))
{
	struct perf_event *event;

	guard(mutex)(&current->perf_event_mutex);
	list_for_each_entry(event, &current->perf_event_list, owner_entry)
		perf_event_visit_children(event, fn);
}

int perf_event_task_enable(void)
{
	control_visit_owned(perf_event_enable);
	return 0;
}

int perf_event_task_disable(void)
{
	control_visit_owned(perf_event_disable);
	return 0;
}

void __init perf_control_init(void)
{
	perf_event_pending_disable_fn = control_disable_pending;
}
