// SPDX-License-Identifier: GPL-2.0
/*
 * The buffer that an event writes to: its own, created by mmap(), or another event's, set by
 * PERF_EVENT_IOC_SET_OUTPUT or PERF_FLAG_FD_OUTPUT.
 *
 * Writers follow perf_event::rb. perf_buffer::events lists the events of a buffer, to wake their
 * readers and to detach them when the buffer is unmapped. Interrupts walk the list under RCU, so an
 * event that left one list is added to the next only after a grace period. The pointer may change
 * before that.
 *
 * Locks: perf_buffers_lock; event->mmap_mutex around waiting for a grace period. See buffer.h.
 */
#include <linux/rculist.h>
#include <linux/slab.h>

#include "event.h"

static void redirect_leave_list(struct perf_event *event)
{
	lockdep_assert_held(&perf_buffers_lock);
	list_del_rcu(&event->rb_entry);
	event->rcu_batches = get_state_synchronize_rcu();
	event->rcu_pending = 1;
}

/* An interrupt may still walk the event's last list. Called before perf_buffers_lock is taken. */
static void redirect_wait_for_list(struct perf_event *event)
{
	lockdep_assert_held(&event->mmap_mutex);
	if (!event->rcu_pending)
		return;
	cond_synchronize_rcu(event->rcu_batches);
	event->rcu_pending = 0;
}

/* Can several CPUs write to a buffer because of this event? */
static bool redirect_is_multi_writer(const struct perf_event *event)
{
	return event->attr.inherit && (event->cpu == -1 || event->attr.inherit_stat);
}

/**
 * perf_buffer_attach - let an event write to its new buffer
 * @rb: buffer that is not published yet
 * @event: top event without a buffer
 *
 * Context: event->mmap_mutex is held; may sleep
 */
void perf_buffer_attach(struct perf_buffer *rb, struct perf_event *event)
{
	redirect_wait_for_list(event);
	perf_buffer_get(rb);
	rb->multi_writer = redirect_is_multi_writer(event);
	guard(perf_buffers)();
	list_add_rcu(&event->rb_entry, &rb->events);
	rcu_assign_pointer(event->rb, rb);
}

/**
 * perf_buffer_detach - detach an event from its buffer
 * @event: event that has a buffer and is on its list
 *
 * Tasks that poll the event are woken: no record will follow.
 *
 * Context: perf_buffers_lock is held; the caller holds another reference to the buffer
 */
void perf_buffer_detach(struct perf_event *event)
{
	struct perf_buffer *rb = perf_event_rb_locked(event);

	redirect_leave_list(event);
	if (rb->page_event == event)
		WRITE_ONCE(rb->page_event, NULL);
	rcu_assign_pointer(event->rb, NULL);
	/* A poller either is found asleep or finds no buffer: [sleep]. */
	if (wq_has_sleeper(&event->waitq))
		wake_up_all(&event->waitq);
	/* With the last mapping all events leave. */
	if (rb->mmap_count)
		perf_buffer_wake_failed(rb);
	WARN_ON_ONCE(refcount_dec_and_test(&rb->refcount));
}

/* What forbids a redirection whatever the target's buffer is. */
static int redirect_check_mapped(struct perf_event *event)
{
	lockdep_assert_held(&perf_buffers_lock);
	if (atomic_read(&event->mmap_count))
		return perf_refuse(-EINVAL, "output: the event's own buffer is mapped");
	return 0;
}

static int redirect_check_buffer(const struct perf_buffer *rb)
{
	if (!rb || !rb->mmap_count)
		return perf_refuse(-EINVAL, "output: the target has no mapped buffer");
	return 0;
}

/* IOC_SET_OUTPUT with -1. */
static int redirect_to_none(struct perf_event *event)
{
	struct perf_buffer *rb;
	int ret;

	scoped_guard(perf_buffers) {
		ret = redirect_check_mapped(event);
		if (ret)
			return ret;
		rb = perf_event_rb_locked(event);
		if (!rb)
			return 0;
		perf_buffer_get(rb);
		perf_buffer_detach(event);
	}
	perf_buffer_put(rb);
	return 0;
}

/**
 * perf_event_release_buffer - detach an event that is being freed from its buffer
 * @event: event without a mapping, no child; its buffer is another event's
 *
 * Context: may sleep
 */
void perf_event_release_buffer(struct perf_event *event)
{
	redirect_to_none(event);
}

/**
 * perf_buffer_set_multi_writer - prepare an event's buffer for writers on several CPUs
 * @target: event, with or without a buffer
 *
 * When the function returns, every write that did not see the mark has ended.
 *
 * Context: may sleep
 */
void perf_buffer_set_multi_writer(struct perf_event *target)
{
	struct perf_buffer *rb;

	scoped_guard(perf_buffers) {
		rb = perf_event_rb_locked(target);
		if (!rb)
			return;
		WRITE_ONCE(rb->multi_writer, true);
	}
	synchronize_rcu();
}

/*
 * Prepares the buffer of @target for @event. A buffer that is marked stays so for life: only if the
 * redirection cannot fail any more but by what happens meanwhile.
 */
static int redirect_mark_target(struct perf_event *event, struct perf_event *target)
{
	int ret;

	if (!redirect_is_multi_writer(event))
		return 0;
	scoped_guard(perf_buffers) {
		ret = redirect_check_mapped(event);
		if (ret || perf_event_rb_locked(event) == perf_event_rb_locked(target))
			return ret;
	}
	perf_buffer_set_multi_writer(target);
	return 0;
}

/*
 * Sets event->rb to @target's buffer, which is returned in @now. If the event had another buffer it
 * has left that one's list, is on none, and the reference to that buffer is the caller's: @before.
 */
static int redirect_switch_pointer(struct perf_event *event, struct perf_event *target,
				   struct perf_buffer **now, struct perf_buffer **before)
{
	struct perf_buffer *rb;
	int ret;

	guard(perf_buffers)();
	rb = perf_event_rb_locked(target);
	*before = perf_event_rb_locked(event);
	*now = rb;

	ret = redirect_check_mapped(event) ?: redirect_check_buffer(rb);
	if (ret)
		return ret;
	if (*before == rb)
		return 0;
	if (redirect_is_multi_writer(event) && !rb->multi_writer)
		return -EAGAIN;		/* not the buffer that was marked as multi_writer */
	if (!*before && event->rcu_pending)
		return -EAGAIN;		/* an RCU walk of its old list may be at this event */

	perf_buffer_get(rb);
	/*
	 * Link before publishing: a reader that polled @rb through event->rb must be on rb->events
	 * for its next wake-up.
	 */
	if (!*before)
		list_add_rcu(&event->rb_entry, &rb->events);
	rcu_assign_pointer(event->rb, rb);
	if (*before) {
		redirect_leave_list(event);
		perf_buffer_wake_failed(*before);
	}
	return 0;
}

/* Adds the event to its new buffer's list. The buffer may have been unmapped meanwhile. */
static void redirect_switch_list(struct perf_event *event, struct perf_buffer *rb)
{
	bool late;

	redirect_wait_for_list(event);

	perf_buffer_get(rb);
	scoped_guard(perf_buffers) {
		list_add_rcu(&event->rb_entry, &rb->events);
		late = !rb->mmap_count;
		if (late)
			perf_buffer_detach(event);
	}
	perf_buffer_put(rb);
}

/* The events of a buffer count on the same CPU or task, with the same clock, in one direction. */
static int redirect_check_target(struct perf_event *event, struct perf_event *target)
{
	if (event == target)
		return perf_refuse(-EINVAL, "output: an event cannot be its own target");
	if (target->cpu != event->cpu)
		return perf_refuse(-EINVAL, "output: the target is on CPU %lld, the event on %lld",
				   target->cpu, event->cpu);
	if (target->cpu == -1 && target->hw.target != event->hw.target)
		return perf_refuse(-EINVAL, "output: the target counts for another task");
	if (target->clock != event->clock)
		return perf_refuse(-EINVAL, "output: the target uses another clock");
	if (is_write_backward(target) != is_write_backward(event))
		return perf_refuse(-EINVAL, "output: write_backward differs from the target's");
	if (has_aux(event) && has_aux(target) && event->pmu != target->pmu)
		return perf_refuse(-EINVAL, "output: the target's AUX area is another PMU's");
	return 0;
}

static int redirect_to(struct perf_event *event, struct perf_event *target)
{
	struct perf_buffer *now, *before;
	int ret;

	ret = redirect_check_target(event, target);
	if (ret)
		return ret;

	do {
		redirect_wait_for_list(event);
		ret = redirect_mark_target(event, target);
		if (!ret)
			ret = redirect_switch_pointer(event, target, &now, &before);
	} while (ret == -EAGAIN);
	if (ret || before == now)
		return ret;

	if (before) {
		redirect_switch_list(event, now);
		perf_buffer_put(before);
	}
	/* Records may have been written while the event was on no list. */
	wake_up_all(&event->waitq);
	return 0;
}

/**
 * perf_event_check_output - compare an event with one that is to be its target
 * @event: new event
 * @target: event with the buffer that it is to write to
 *
 * Context: may sleep; the caller holds a reference to @target
 * Return: 0 or -EINVAL
 */
int perf_event_check_output(struct perf_event *event, struct perf_event *target)
{
	int ret = redirect_check_target(event, target);

	if (ret)
		return ret;
	guard(perf_buffers)();
	return redirect_check_buffer(perf_event_rb_locked(target));
}

/**
 * perf_event_set_output - let an event write to another event's buffer
 * @event: top event that is not mapped
 * @target: event with a mapped buffer; NULL to detach @event from its buffer
 *
 * Context: may sleep; the caller holds references to both events
 * Return: 0 or -EINVAL
 */
int perf_event_set_output(struct perf_event *event, struct perf_event *target)
{
	struct perf_buffer *before;
	int ret;

	guard(mutex)(&event->mmap_mutex);
	before = rcu_access_pointer(event->rb);
	ret = target ? redirect_to(event, target) : redirect_to_none(event);
	if (before != rcu_access_pointer(event->rb) && has_aux(event))
		perf_aux_restart(event);
	return ret;
}

/**
 * perf_event_pause_output - stop or resume writing to an event's buffer
 * @event: event with a buffer
 * @pause: true to stop; records are then counted as lost. False to resume.
 *
 * Context: any
 * Return: 0; -EINVAL if the event has no buffer with data pages
 */
int perf_event_pause_output(struct perf_event *event, bool pause)
{
	struct perf_buffer *rb;

	guard(rcu)();
	rb = rcu_dereference(event->rb);
	if (!rb || !rb->nr_pages)
		return perf_refuse(-EINVAL, "output: no buffer with data pages is mapped");
	WRITE_ONCE(rb->paused, pause);
	return 0;
}
