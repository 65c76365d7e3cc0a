// SPDX-License-Identifier: GPL-2.0
/*
 * The first page of a mapping: where user space finds the event's count and times without a
 * system call.
 *
 * Its fields are written under a sequence count, which is odd meanwhile. Who writes: the CPU where
 * the event's context is, with interrupts off or from a driver's interrupt, so a reader that runs
 * there sees it whole. A page describes one event. If several share the buffer and more than one
 * is mapped, a reader could not know whose counter it would read, so it describes none and says so
 * by index 0. Count and times are the event's and those of its children that are gone, so that one
 * can be scaled by the others.
 *
 * An NMI may come while the page is written. It moves the offset alone, by one store, and the
 * sequence count by two; whoever was interrupted looks at the offset again. One of the two may
 * overwrite the other's step of the sequence count, but no reader runs before both are done, and
 * then it is even and not what it was.
 *
 * The index is also 0 while the event is not in its schedule or its context on no CPU: then the
 * counter, if it still runs, counts for somebody else. And it is 0 for good once another process has
 * mapped the page: where that runs, the counter of that number is not its event's.
 */
#include "buffer.h"
#include "context.h"

/* Drivers fill in capabilities, widths and the time conversion. */
void __weak arch_perf_update_userpage(struct perf_event *event,
				      struct perf_event_mmap_page *page, u64 now)
{
}

static u32 readable_counter(struct perf_event *event, const struct perf_buffer *rb)
{
	if (READ_ONCE(rb->page_abroad))
		return 0;
	if (event->state != PERF_EVENT_STATE_ACTIVE || READ_ONCE(event->ctx->active_cpu) < 0 ||
	    !event->pmu->event_idx)
		return 0;
	return event->pmu->event_idx(event);
}

/*
 * What is to be added to the counter @index. A counter cannot overflow without its event having
 * counted something, so the count tells whether an NMI has come in between.
 */
static void fill_offset(struct perf_event *event, struct perf_event_mmap_page *page, u32 index)
{
	s64 gone = atomic64_read(&event->child_count), base, count;

	do {
		count = local64_read(&event->count);
		base = index ? local64_read(&event->hw.prev_count) : 0;
		WRITE_ONCE(page->offset, count + gone - base);
	} while (unlikely(local64_read(&event->count) != count));
}

/* perf_clock() when the context's clock showed @time, which may be the start of what is going on. */
static u64 moment_of(struct perf_event_context *ctx, u64 time)
{
	return READ_ONCE(ctx->active_cpu) < 0 ? perf_clock() : time - ctx->offset;
}

static void fill_page(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->ring.page;
	u64 enabled, running, time = perf_ctx_time(event->ctx);
	u32 index = readable_counter(event, rb);

	perf_event_times(event, time, &enabled, &running);
	page->index = index;
	fill_offset(event, page, index);
	page->time_enabled = enabled + atomic64_read(&event->child_total_time_enabled);
	page->time_running = running + atomic64_read(&event->child_total_time_running);
	arch_perf_update_userpage(event, page, moment_of(event->ctx, time));
}

/**
 * perf_event_update_userpage - bring an event's page up to date
 * @event: the event
 *
 * To be called when the event comes on or goes off its counter, when the counter's base changes,
 * and for a task's event when the task comes or goes; for an event without a counter when it is
 * enabled or disabled, and when its task comes. An overflow changes the base alone, and an
 * NMI changes nothing else: times do not stop for it, and so it reads no clock.
 *
 * Context: any, NMI included; on the CPU where the event counts, or while it does not count
 */
void perf_event_update_userpage(struct perf_event *event)
{
	struct perf_event_mmap_page *page;
	struct perf_buffer *rb;

	if (!rcu_access_pointer(event->rb))
		return;

	guard(preempt_notrace)();
	rb = rcu_dereference_sched(event->rb);
	if (!rb || READ_ONCE(rb->page_event) != event)
		return;

	page = rb->ring.page;
	if (in_nmi()) {
		fill_offset(event, page, readable_counter(event, rb));
		WRITE_ONCE(page->lock, page->lock + 2);
		return;
	}
	WRITE_ONCE(page->lock, page->lock + 1);
	barrier();	/* the reader is on this CPU, or uses what it finds as an estimate */
	fill_page(event, rb);
	barrier();
	WRITE_ONCE(page->lock, page->lock + 1);
}
EXPORT_SYMBOL_GPL(perf_event_update_userpage);

/* Fields that do not change. Before the buffer is visible. */
void perf_event_init_userpage(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->ring.page;

	static_assert(offsetof(struct perf_event_mmap_page, data_head) == 1024);

	page->cap_bit0_is_deprecated = 1;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
	page->data_offset = PAGE_SIZE;
	page->data_size = rb->ring.size;
	rb->page_event = event;
}

/**
 * perf_event_forget_userpage - the page describes no event any more
 * @rb: its buffer, of which page_event has been cleared
 *
 * Context: may sleep, because an update may be under way
 */
void perf_event_forget_userpage(struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->ring.page;

	synchronize_rcu();
	WRITE_ONCE(page->lock, page->lock + 1);
	smp_wmb();	/* the reader may be on another CPU: count, field, count */
	page->index = 0;
	smp_wmb();	/* as above */
	WRITE_ONCE(page->lock, page->lock + 1);
}
