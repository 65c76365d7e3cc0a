// SPDX-License-Identifier: GPL-2.0
/*
 * What overflow leaves to be done outside of NMI: waking and signalling, disabling, SIGTRAP.
 *
 * Lifetime. An irq_work is queued by code that runs on the event's CPU before the event is taken
 * off it, so whoever has detached an event and then calls perf_event_pending_sync() has nearly all
 * of it. What is left is code that was interrupted in the middle of a hit by the very call that
 * detached the event: it may still queue an irq_work, but inside the RCU read section that keeps
 * the event's memory. So may whoever fills a buffer that the event is about to leave, to wake its
 * reader. That is why memory is freed only when perf_event_pending_busy() says no.
 *
 * A SIGTRAP that is under way holds a reference.
 */
#include <linux/irq_work.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "event.h"

/* Tracepoints inside the handling of an event are not told to events: that would go on forever. */
static void late_wakeup(struct irq_work *work)
{
	struct perf_event *event = container_of(work, struct perf_event, pending_irq);
	int rctx = perf_swevent_get_recursion_context();

	if (xchg(&event->pending_wakeup, 0))
		perf_event_wakeup(event);

	if (rctx >= 0)
		perf_swevent_put_recursion_context(rctx);
}

/* If the event's task has moved on, the work follows it to the other CPU. */
static void late_disable(struct irq_work *work)
{
	struct perf_event *event = container_of(work, struct perf_event, pending_disable_irq);

	if (READ_ONCE(event->pending_disable))
		perf_event_disable_local(event);
}

/* An event that was closed meanwhile, or left behind by exec, has nothing to say any more. */
static bool sigtrap_is_due(const struct perf_event *event)
{
	return READ_ONCE(event->state) > PERF_EVENT_STATE_EXIT && !(current->flags & PF_EXITING);
}

static void late_sigtrap(struct callback_head *head)
{
	struct perf_event *event = container_of(head, struct perf_event, pending_task);
	unsigned long addr = event->pending_addr;
	int rctx = perf_swevent_get_recursion_context();

	/* The next hit may queue the work again from here on. */
	smp_store_release(&event->pending_work, 0);
	if (sigtrap_is_due(event))
		send_sig_perf((void __user *)addr, event->orig_type, event->attr.sig_data);

	if (rctx >= 0)
		perf_swevent_put_recursion_context(rctx);
	perf_event_put(event);
}

/* Before anything can overflow. */
void perf_event_pending_init(struct perf_event *event)
{
	init_irq_work(&event->pending_irq, late_wakeup);
	/* It takes raw locks only, and is not to come late on PREEMPT_RT. */
	event->pending_disable_irq = IRQ_WORK_INIT_HARD(late_disable);
	init_task_work(&event->pending_task, late_sigtrap);
}

/* The event is in no context any more, and was in one on this CPU or after a visit to its CPU. */
void perf_event_pending_sync(struct perf_event *event)
{
	irq_work_sync(&event->pending_irq);
	irq_work_sync(&event->pending_disable_irq);
}

/* After a grace period: is an irq_work of it still on its way? */
bool perf_event_pending_busy(struct perf_event *event)
{
	return irq_work_is_busy(&event->pending_irq) ||
	       irq_work_is_busy(&event->pending_disable_irq);
}
