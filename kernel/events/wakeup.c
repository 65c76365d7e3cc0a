// SPDX-License-Identifier: GPL-2.0
/*
 * Telling the reader.
 *
 * perf_buffer::poll says that there is news which the reader has not asked for yet. The writer
 * sets it when a watermark is reached; poll() takes it, and that is the one time this news is
 * told. While it is set, later news is told with it, so the writer has nothing to do: a reader
 * that is behind is not woken again and again.
 *
 * When the writer finds it clear, somebody may be asleep. Only then it looks at the wait queues,
 * and wakes up those that have a waiter: at once where it may, else by an irq_work, since it may be in
 * NMI or hold any lock. A reader between two calls of poll() costs nothing; a registration with
 * epoll, which stays on the queue, costs one wake-up for each time that it is polled. Each side writes
 * one of the two and then reads the other, with a full barrier between [poll] [sleep].
 *
 * Signals do not wait to be asked for: at each watermark, and at each overflow of an event, whoever
 * finds O_ASYNC set leaves POLL_IN or POLL_HUP in perf_event::pending_kill and sends the same irq_work.
 */
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>

#include "buffer.h"
#include "context.h"

static void queue_wakeup(struct perf_event *event)
{
	event->pending_wakeup = 1;
	irq_work_queue(&event->pending_irq);
}

/*
 * Waking is done in interrupts, so each lock that it takes is held with interrupts off, wherever that
 * is: who has them on holds none. With PREEMPT_RT these locks sleep.
 */
static bool may_wake_here(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && in_task() && !irqs_disabled();
}

/* Tracepoints of waking are not told to events, as in late_wakeup(). */
static void wake_here(struct perf_event *event)
{
	int rctx = perf_swevent_get_recursion_context();

	wake_up_all(&event->waitq);
	if (rctx >= 0)
		perf_swevent_put_recursion_context(rctx);
}

/* Each event's readers, later by its own irq_work: it may leave the buffer until that comes. RCU. */
static void wake_readers(struct perf_buffer *rb)
{
	bool here = may_wake_here();
	struct perf_event *event;

	list_for_each_entry_rcu(event, &rb->events, rb_entry, true) {
		/* The exchange of @poll is the barrier that this needs. */
		if (!waitqueue_active(&event->waitq))
			continue;
		if (here)
			wake_here(event);
		else
			queue_wakeup(event);
	}
}

/**
 * perf_buffer_notify - there is news in a buffer
 * @rb: the buffer
 * @event: an event that writes to it, for the signal
 * @signal: send one; an overflow sends its own, and one is enough
 *
 * Context: any, NMI included; preemption off
 */
void perf_buffer_notify(struct perf_buffer *rb, struct perf_event *event, bool signal)
{
	/* The next record after the CPU's return tells of this one, too. */
	if (unlikely(perf_cpu_is_dead()))
		return;
	/* Asked for once, it comes each time. */
	if (unlikely(*perf_event_fasync(event)) && signal) {
		if (!event->pending_kill)
			event->pending_kill = POLL_IN;
		queue_wakeup(event);
	}
	/* Full barriers on both sides: [poll] before, [sleep] after. */
	if (!atomic_xchg(&rb->poll, 1))
		wake_readers(rb);
}

/**
 * perf_event_wakeup - wake and signal whoever waits for an event
 * @event: the event, or an inherited one
 *
 * Context: hard IRQ (irq_work) or process
 */
void perf_event_wakeup(struct perf_event *event)
{
	int kill;

	wake_up_all(&perf_event_writer(event)->waitq);

	kill = xchg(&event->pending_kill, 0);
	if (kill)
		kill_fasync(perf_event_fasync(event), SIGIO, kill);
}

/* It will not count any more, nor will any child. */
static bool event_is_over(struct perf_event *event)
{
	enum perf_event_state state = READ_ONCE(event->state);

	if (state == PERF_EVENT_STATE_ERROR)
		return true;
	return state <= PERF_EVENT_STATE_EXIT && list_empty(&event->child_list);
}

/* poll(2), select(2), epoll(7). */
__poll_t perf_event_poll(struct file *file, poll_table *wait)
{
	struct perf_event *event = file->private_data;
	struct perf_buffer *rb;

	poll_wait(file, &event->waitq, wait);	/* ends with a full barrier [sleep] */

	if (event_is_over(event))
		return EPOLLHUP;

	guard(rcu)();
	rb = rcu_dereference(event->rb);
	if (!rb)
		return EPOLLHUP;
	/* Taken with a full barrier [poll]: what is written from here on is told again. */
	return atomic_xchg(&rb->poll, 0) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* fcntl(2) with F_SETFL and O_ASYNC. */
int perf_event_fasync_file(int fd, struct file *file, int on)
{
	struct perf_event *event = file->private_data;
	int ret = fasync_helper(fd, file, on, &event->fasync);

	return min(ret, 0);
}
