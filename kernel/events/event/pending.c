// SPDX-License-Identifier: GPL-2.0
/*
 * Work that an overflow defers out of NMI context: wake-ups and signals, disabling, SIGTRAP.
 *
 * Lifetime. An irq_work is queued on the event's CPU before the event is removed from that CPU, so
 * perf_event_pending_sync() after the removal waits for it. Two callers can still queue one later:
 * code in the middle of a hit, interrupted by the cross-call that removed the event, and a writer
 * to a buffer that the event is about to leave, which wakes its readers. Both are in an RCU read
 * section that keeps the event's memory. After a grace period the memory is therefore freed only if
 * perf_event_pending_busy() is false, and that of its parent, which an irq_work uses too, only
 * after that of the event. With PREEMPT_RT, and without an interrupt for irq_work, one more grace
 * period follows: see perf_event_pending_trails().
 *
 * A pending SIGTRAP holds a reference.
 */
#include <linux/irq_work.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "event.h"

/* The recursion count keeps tracepoints that this hits from triggering the event again. */
static void pending_wakeup_work(struct irq_work *work)
{
	struct perf_event *event = container_of(work, struct perf_event, pending_irq);
	int rctx = perf_swevent_get_recursion_context();

	if (xchg(&event->pending_wakeup, 0))
		perf_event_wakeup(event);

	if (rctx >= 0)
		perf_swevent_put_recursion_context(rctx);
}

/* control_disable_pending(), set at boot by the ops layer. Interrupts off. */
void (*perf_event_pending_disable_fn)(struct perf_event *event) __ro_after_init;

/* If the event's task has migrated, the disable function forwards the request to its CPU. */
static void pending_disable_work(struct irq_work *work)
{
	struct perf_event *event = container_of(work, struct perf_event, pending_disable_irq);

	if (READ_ONCE(event->pending_disable))
		perf_event_pending_disable_fn(event);
}

/* No signal for an event that was closed or removed by exec since the hit. */
static bool pending_sigtrap_is_due(const struct perf_event *event)
{
	return READ_ONCE(event->state) > PERF_EVENT_STATE_EXIT && !(current->flags & PF_EXITING);
}

static void pending_sigtrap_work(struct callback_head *head)
{
	struct perf_event *event = container_of(head, struct perf_event, pending_task);
	unsigned long addr = event->pending_addr;
	int rctx = perf_swevent_get_recursion_context();

	/* The next hit may queue the work again from here on. */
	smp_store_release(&event->pending_work, 0);
	if (pending_sigtrap_is_due(event))
		send_sig_perf((void __user *)addr, event->orig_type, event->attr.sig_data);

	if (rctx >= 0)
		perf_swevent_put_recursion_context(rctx);
	perf_event_put(event);
}

/**
 * perf_event_pending_init - initialize the deferred work of an event
 * @event: new event
 *
 * Context: any
 */
void perf_event_pending_init(struct perf_event *event)
{
	init_irq_work(&event->pending_irq, pending_wakeup_work);
	/*
	 * pending_disable_work() takes raw locks only, so PREEMPT_RT need not defer it to a thread.
	 */
	event->pending_disable_irq = IRQ_WORK_INIT_HARD(pending_disable_work);
	init_task_work(&event->pending_task, pending_sigtrap_work);
}

/**
 * perf_event_pending_sync - wait for the irq_works of an event
 * @event: event that has been removed from its context by its CPU
 *
 * Context: may sleep
 */
void perf_event_pending_sync(struct perf_event *event)
{
	might_sleep();
	irq_work_sync(&event->pending_irq);
	irq_work_sync(&event->pending_disable_irq);
}
