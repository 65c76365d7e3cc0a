// SPDX-License-Identifier: GPL-2.0
/*
 * Notifying the reader of a buffer.
 *
 * perf_buffer::poll is set by a writer when a watermark is reached or a record does not fit.
 * poll(2) clears it, and reports the buffer as readable once for it. While it is set a writer has
 * nothing to do, because the next poll(2) will report later records, too: a reader that is behind
 * is not woken repeatedly.
 *
 * A writer that finds @poll clear checks the wait queues and wakes those that have waiters:
 * directly where that is possible, else by an irq_work, because the writer may be in NMI or hold
 * any lock. A reader between two calls of poll(2) costs nothing; an epoll registration, which stays
 * on the wait queue, costs one wake-up for each poll(2). Writer and reader each write one of @poll
 * and wait queue and then read the other, with a full barrier between: [poll] [sleep].
 *
 * Signals are not limited by @poll. With O_ASYNC set, each watermark and each overflow store
 * POLL_IN or POLL_HUP in perf_event::pending_kill and queue the same irq_work.
 *
 * Locks: wait-queue locks; RCU for perf_buffer::events.
 */
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>

#include "output.h"

static void wakeup_queue(struct perf_event *event)
{
	event->pending_wakeup = 1;
	perf_irq_work_queue(&event->pending_irq);
}

/*
 * Interrupts wake up tasks, so all locks of a wake-up are held with interrupts off: code with
 * interrupts on holds none of them. With PREEMPT_RT these locks may sleep.
 */
static bool wakeup_allowed_here(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && in_task() && !irqs_disabled();
}

/* Events do not count the tracepoints of their own wake-ups, as in pending.c. */
static void wakeup_now(struct perf_event *event)
{
	int rctx = perf_get_recursion(current->perf_recursion);

	wake_up_all(&event->waitq);
	if (rctx >= 0)
		perf_put_recursion(current->perf_recursion, rctx);
}

/* Each event uses its own irq_work, which runs even if the event has left the buffer then. RCU. */
static void wakeup_readers(struct perf_buffer *rb)
{
	bool here = wakeup_allowed_here();
	struct perf_event *event;

	list_for_each_entry_rcu(event, &rb->events, rb_entry, true) {
		/* The exchange of @poll is the barrier between @poll and the wait queue. */
		if (!waitqueue_active(&event->waitq))
			continue;
		if (here)
			wakeup_now(event);
		else
			wakeup_queue(event);
	}
}

/**
 * perf_buffer_notify - notify the readers of a buffer of new records
 * @rb: the buffer
 * @event: event that writes to the buffer
 * @signal: send SIGIO for @event; false if the overflow sends the signal
 *
 * Context: any, NMI included; preemption off
 */
void perf_buffer_notify(struct perf_buffer *rb, struct perf_event *event, bool signal)
{
	/* The CPU cannot run an irq_work; the next record after it is online notifies. */
	if (unlikely(perf_cpu_is_dead()))
		return;
	/* Signals are sent at each watermark. */
	if (unlikely(*perf_event_fasync(event)) && signal) {
		if (!event->pending_kill)
			event->pending_kill = POLL_IN;
		wakeup_queue(event);
	}
	/* Full barriers on both sides: [poll] before, [sleep] after. */
	if (!atomic_xchg(&rb->poll, 1))
		wakeup_readers(rb);
}

/**
 * perf_buffer_wake_failed - wake the tasks that poll a failed event until the other events end
 * @rb: buffer that an event has left, or of which an event has ended
 *
 * Context: hard IRQ (irq_work) or process; perf_buffers_lock or RCU
 */
void perf_buffer_wake_failed(struct perf_buffer *rb)
{
	struct perf_event *event;

	smp_mb();	/* [failed] */
	if (likely(!READ_ONCE(rb->failed_poll)))
		return;
	/* Another poll() sets it again, and is in the wait queue before: [failed]. */
	smp_store_mb(rb->failed_poll, false);
	list_for_each_entry_rcu(event, &rb->events, rb_entry,
				lockdep_is_held(&perf_buffers_lock))
		wake_up_all(&event->waitq);
}

/* The event has ended: other events of the buffer, which failed, end with it. */
static noinline void wakeup_ended(struct perf_event *event)
{
	struct perf_buffer *rb;

	guard(rcu)();
	rb = rcu_dereference(event->rb);
	if (rb)
		perf_buffer_wake_failed(rb);
}

/**
 * perf_event_wakeup - wake the waiters of an event and send its pending signal
 * @event: the event; for an inherited event the waiters of its parent are woken
 *
 * Context: hard IRQ (irq_work) or process
 */
void perf_event_wakeup(struct perf_event *event)
{
	int kill;

	wake_up_all(&perf_event_top(event)->waitq);
	if (unlikely(READ_ONCE(event->state) <= PERF_EVENT_STATE_ERROR))
		wakeup_ended(event);

	kill = xchg(&event->pending_kill, 0);
	if (kill)
		kill_fasync(perf_event_fasync(event), SIGIO, kill);
}

/* Neither the event nor an inherited event of it will count any more, unless it is enabled. */
static bool wakeup_event_has_ended(struct perf_event *event)
{
	if (READ_ONCE(event->state) > PERF_EVENT_STATE_ERROR)
		return false;
	smp_mb();	/* [childless] */
	return list_empty(&event->child_list);
}

/*
 * A pinned event that failed may have the buffer to which other events write. What is done when
 * they end either finds the flag or is found here: [failed]. RCU.
 */
static bool wakeup_buffer_has_ended(struct perf_buffer *rb)
{
	struct perf_event *event;

	WRITE_ONCE(rb->failed_poll, true);
	smp_mb();	/* [failed] */
	list_for_each_entry_rcu(event, &rb->events, rb_entry) {
		if (!wakeup_event_has_ended(event))
			return false;
	}
	return true;
}

/* An event in the state ERROR or below that has a buffer. RCU. */
static bool wakeup_has_ended(struct perf_event *event, struct perf_buffer *rb)
{
	return READ_ONCE(event->state) <= PERF_EVENT_STATE_EXIT ? wakeup_event_has_ended(event) :
								  wakeup_buffer_has_ended(rb);
}

/**
 * perf_event_poll - file_operations::poll of events: poll(2), select(2), epoll(7)
 * @file: file of an event
 * @wait: poll table
 *
 * Context: process context
 * Return: EPOLLIN | EPOLLRDNORM once for each notification; EPOLLHUP if the event has ended, has no
 *	buffer, or failed and no other event writes to its buffer; else 0
 */
__poll_t perf_event_poll(struct file *file, poll_table *wait)
{
	struct perf_event *event = file->private_data;
	struct perf_buffer *rb;

	poll_wait(file, &event->waitq, wait);	/* ends with a full barrier [sleep] */

	guard(rcu)();
	rb = rcu_dereference(event->rb);
	if (!rb || (READ_ONCE(event->state) <= PERF_EVENT_STATE_ERROR &&
		    wakeup_has_ended(event, rb)))
		return EPOLLHUP;
	/* Full barrier [poll]: records written after this set @poll again. */
	return atomic_xchg(&rb->poll, 0) ? EPOLLIN | EPOLLRDNORM : 0;
}

/**
 * perf_event_fasync_file - file_operations::fasync of events: O_ASYNC by fcntl(2)
 * @fd: file descriptor
 * @file: file of an event
 * @on: O_ASYNC is being set
 *
 * Context: process context
 * Return: 0 or a negative errno
 */
int perf_event_fasync_file(int fd, struct file *file, int on)
{
	struct perf_event *event = file->private_data;
	int ret = fasync_helper(fd, file, on, &event->fasync);

	return min(ret, 0);
}
