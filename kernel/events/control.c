// SPDX-License-Identifier: GPL-2.0
/*
 * Enabling, disabling, resetting, changing the period.
 *
 * Each comes in two forms: for one event where its context may be changed ("_locked"), and for
 * process context. A user's request on a file also goes to the event's group and to its inherited
 * children.
 *
 * Locks: none for one event, perf_event_call() sees to that; child_mutex for the children.
 */
#include "operations.h"

/* It is on its way to another CPU, and goes by its state when it gets there. */
static bool is_moving(const struct perf_event *event)
{
	return event->attach_state & PERF_ATTACH_MOVING;
}

/* A driver with counters sees to its events' pages itself. */
static void update_page(struct perf_event *event)
{
	if (!perf_pmu_has_counters(event->pmu))
		perf_event_update_userpage(event);
}

/* Times begin to pass, or have passed: a leader's, and its siblings' with them. */
static void update_pages(struct perf_event *event)
{
	struct perf_event *sibling;

	update_page(event);
	if (event != event->group_leader)
		return;
	for_each_sibling_event(sibling, event)
		update_page(sibling);
}

/**
 * perf_event_enable_locked - let an event count
 * @event: disabled, or failed
 */
void perf_event_enable_locked(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	if (event->state >= PERF_EVENT_STATE_INACTIVE || event->state <= PERF_EVENT_STATE_EXIT)
		return;
	/* The siblings of a leader's event must stay one. */
	if (event == leader && (event->event_caps & PERF_EV_CAP_SIBLING))
		return;
	if (event != leader && leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);

	perf_event_set_state(event, PERF_EVENT_STATE_INACTIVE);
	if (is_moving(event))
		return;
	if (event == leader)
		perf_group_queue(leader);
	if (leader->state >= PERF_EVENT_STATE_INACTIVE)
		perf_sched_group_changed(leader);
	update_pages(event);
}

/**
 * perf_event_disable_locked - stop an event's counting
 * @event: enabled; a leader takes its group along
 */
void perf_event_disable_locked(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	if (event->state < PERF_EVENT_STATE_INACTIVE) {
		if (event->state == PERF_EVENT_STATE_ERROR)
			perf_event_set_state(event, PERF_EVENT_STATE_OFF);
		return;
	}
	if (is_moving(event)) {
		perf_event_set_state(event, PERF_EVENT_STATE_OFF);
		return;
	}
	/* Out of the queue first: then its time need not move it there. */
	if (event == leader)
		perf_group_unqueue(leader);
	if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
	perf_event_set_state(event, PERF_EVENT_STATE_OFF);
	perf_sched_group_changed(leader);
	update_pages(event);
}

static int enable_here(struct perf_event *event, void *unused)
{
	perf_event_enable_locked(event);
	return 0;
}

static int disable_here(struct perf_event *event, void *unused)
{
	perf_event_disable_locked(event);
	return 0;
}

/**
 * perf_event_enable - let an event count
 * @event: it
 *
 * Context: may sleep
 */
void perf_event_enable(struct perf_event *event)
{
	perf_event_call(event, enable_here, NULL);
}
EXPORT_SYMBOL_GPL(perf_event_enable);

/**
 * perf_event_disable - stop an event's counting; when it returns it does not count any more
 * @event: it
 *
 * Context: may sleep
 */
void perf_event_disable(struct perf_event *event)
{
	perf_event_call(event, disable_here, NULL);
}
EXPORT_SYMBOL_GPL(perf_event_disable);

/* Who enables it after this finds nothing pending. */
static int disable_pending_here(struct perf_event *event, void *unused)
{
	if (event->state >= PERF_EVENT_STATE_INACTIVE)
		perf_event_disable_locked(event);
	WRITE_ONCE(event->pending_disable, 0);
	return 0;
}

/**
 * perf_event_disable_local - the same for an event of this CPU or of the running task
 * @event: it
 *
 * Context: interrupts off, not NMI. If the task has gone to another CPU meanwhile, the request
 * follows it there.
 */
void perf_event_disable_local(struct perf_event *event)
{
	int cpu;

	WRITE_ONCE(event->pending_disable, 1);
	cpu = perf_event_call_inatomic(event, disable_pending_here, NULL);
	if (cpu >= 0)
		irq_work_queue_on(&event->pending_disable_irq, cpu);
}

static int reset_here(struct perf_event *event, void *unused)
{
	struct perf_event_context *ctx = event->ctx;

	if (event->state == PERF_EVENT_STATE_ACTIVE &&
	    (ctx->active_cpu == smp_processor_id() || (event->event_caps & PERF_EV_CAP_RESIDENT)))
		event->pmu->read(event);
	local64_set(&event->count, 0);
	perf_event_update_userpage(event);
	return 0;
}

/* Counts from zero again; times go on. What children that are gone have counted stays. */
void perf_event_reset(struct perf_event *event)
{
	/* What is in no context any more has its count nevertheless. */
	if (perf_event_call(event, reset_here, NULL) == -ESRCH)
		local64_set(&event->count, 0);
}

static int pause_here(struct perf_event *event, void *arg)
{
	u64 *count = arg;

	perf_event_disable_locked(event);
	*count = local64_read(&event->count);
	return 0;
}

/**
 * perf_event_pause - stop an event and tell what it counted
 * @event: a kernel user's event, without children
 * @reset: and count from zero next time
 *
 * Context: may sleep
 * Return: the count
 */
u64 perf_event_pause(struct perf_event *event, bool reset)
{
	u64 count = 0;

	WARN_ON_ONCE(event->attr.inherit);
	/* Its task may have exited. */
	if (perf_event_call(event, pause_here, &count) == -ESRCH)
		count = local64_read(&event->count);
	if (reset)
		local64_set(&event->count, 0);
	return count;
}
EXPORT_SYMBOL_GPL(perf_event_pause);

/* Calls @fn for an event and for each of its inherited children. Process context. */
void perf_event_for_each_child(struct perf_event *event, void (*fn)(struct perf_event *))
{
	struct perf_event *child;

	guard(mutex)(&event->child_mutex);
	fn(event);
	list_for_each_entry(child, &event->child_list, child_list)
		fn(child);
}

/**
 * perf_event_refresh_by - allow so many more overflows and enable
 * @event: a sampling event without children
 * @refresh: how many
 *
 * Return: 0 or -EINVAL
 */
int perf_event_refresh_by(struct perf_event *event, int refresh)
{
	if (event->attr.inherit)
		return perf_refuse(-EINVAL, "refresh: not for an inherited event");
	if (!is_sampling_event(event))
		return perf_refuse(-EINVAL, "refresh: not for a counting event");

	atomic_add(refresh, &event->event_limit);
	perf_event_enable(event);
	return 0;
}

/* The same, for kernel users. */
int perf_event_refresh(struct perf_event *event, int refresh)
{
	return perf_event_refresh_by(event, refresh);
}
EXPORT_SYMBOL_GPL(perf_event_refresh);

static int period_here(struct perf_event *event, void *arg)
{
	return perf_event_set_period_value(event, *(u64 *)arg);
}

static int period_check(struct perf_event *event, u64 value)
{
	if (!is_sampling_event(event))
		return perf_refuse(-EINVAL, "period: not for a counting event");
	if (!value)
		return perf_refuse(-EINVAL, "period: must not be 0");
	if (event->attr.freq && value > sysctl_perf_event_sample_rate)
		return perf_refuse(-EINVAL, "period: frequency %llu is over perf_event_max_sample_rate %llu",
				   value, sysctl_perf_event_sample_rate);
	if (!event->attr.freq && (value & BIT_ULL(63)))
		return perf_refuse(-EINVAL, "period: bit 63 must be clear");
	if (event->pmu->check_period(event, value))
		return perf_refuse(-EINVAL, "period: %llu is too short for the PMU", value);
	return 0;
}

/**
 * perf_event_period - change a sampling event's period or frequency
 * @event: it
 * @value: events, or Hz
 *
 * Context: may sleep
 * Return: 0 or -EINVAL
 */
int perf_event_period(struct perf_event *event, u64 value)
{
	int ret = period_check(event, value);

	if (!ret)
		perf_event_call(event, period_here, &value);
	return ret;
}
EXPORT_SYMBOL_GPL(perf_event_period);

/* prctl(2): all the events that the caller has opened, wherever they count. */
static void for_each_owned(void (*fn)(struct perf_event *))
{
	struct perf_event *event;

	guard(mutex)(&current->perf_event_mutex);
	list_for_each_entry(event, &current->perf_event_list, owner_entry)
		perf_event_for_each_child(event, fn);
}

int perf_event_task_enable(void)
{
	for_each_owned(perf_event_enable);
	return 0;
}

int perf_event_task_disable(void)
{
	for_each_owned(perf_event_disable);
	return 0;
}
