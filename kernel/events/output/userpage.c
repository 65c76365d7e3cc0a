// SPDX-License-Identifier: GPL-2.0
/*
 * The first page of a mapping, by which user space reads an event's count and times without a
 * system call.
 *
 * The fields are written under a sequence count, which is odd while they change. The writer is
 * the CPU where the event's context is active, or any CPU under ctx->lock while it is active on
 * none; it has interrupts off or is in a driver's interrupt. So a reader on the context's CPU
 * sees consistent fields. A page describes one event. If several events share the buffer and more
 * than one is mapped, a reader could not identify the counter, so the page describes none, by
 * index 0. Count and times include those of children that have exited, so that the count can be
 * scaled by the times.
 *
 * An NMI may interrupt the writing. It updates only the offset, by one store, and adds two to the
 * sequence count; the interrupted writer checks the offset again. One of the two may overwrite the
 * other's increment of the sequence count, but no reader runs before both have finished, and then
 * the sequence count is even and has changed.
 *
 * The index is also 0 while the event is not loaded or its context is inactive: the counter, if it
 * runs, counts another event. And it is 0 once another process has mapped the page: where that
 * process runs, the counter with this index counts another event.
 */
#include "output.h"

/* An architecture fills in capabilities, counter width and time conversion. */
void __weak arch_perf_update_userpage(struct perf_event *event,
				      struct perf_event_mmap_page *page, u64 now)
{
}

static u32 userpage_counter_index(struct perf_event *event, const struct perf_buffer *rb)
{
	if (READ_ONCE(rb->mapped_by_other_mm))
		return 0;
	if (event->state != PERF_EVENT_STATE_ACTIVE || READ_ONCE(event->ctx->active_cpu) < 0 ||
	    !event->pmu->event_idx)
		return 0;
	return event->pmu->event_idx(event);
}

/*
 * Writes what user space has to add to the counter @index. An NMI that changes prev_count also
 * changes the count, so an unchanged count means that both belong together.
 */
static void userpage_fill_offset(struct perf_event *event, struct perf_event_mmap_page *page,
				 u32 index)
{
	s64 exited = atomic64_read(&event->child_count), base, count;

	do {
		count = local64_read(&event->count);
		base = index ? local64_read(&event->hw.prev_count) : 0;
		WRITE_ONCE(page->offset, count + exited - base);
	} while (unlikely(local64_read(&event->count) != count));
}

/* perf_clock() at the time when the context's clock showed @time. */
static u64 userpage_clock_at(struct perf_event_context *ctx, u64 time)
{
	return READ_ONCE(ctx->active_cpu) < 0 ? perf_clock() : time - ctx->offset;
}

static void userpage_fill(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->ring.page;
	u64 enabled, running, time = perf_ctx_read_time(event->ctx);
	u32 index = userpage_counter_index(event, rb);

	perf_event_times(event, time, &enabled, &running);
	page->index = index;
	userpage_fill_offset(event, page, index);
	page->time_enabled = enabled + atomic64_read(&event->child_total_time_enabled);
	page->time_running = running + atomic64_read(&event->child_total_time_running);
	arch_perf_update_userpage(event, page, userpage_clock_at(event->ctx, time));
}

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
		userpage_fill_offset(event, page, userpage_counter_index(event, rb));
		WRITE_ONCE(page->lock, page->lock + 2);
		return;
	}
	WRITE_ONCE(page->lock, page->lock + 1);
	barrier();	/* a reader on another CPU gets an estimate only */
	userpage_fill(event, rb);
	barrier();
	WRITE_ONCE(page->lock, page->lock + 1);
}
EXPORT_SYMBOL_GPL(perf_event_update_userpage);

/**
 * perf_event_init_userpage - write the constant fields of a buffer's first page
 * @event: event that the page describes
 * @rb: buffer that is not published yet
 *
 * Context: process context
 */
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
 * perf_event_clear_userpage - make the first page describe no event
 * @rb: the buffer, a grace period after page_event was set to NULL: nothing else writes the page
 *
 * Context: perf_buffers_lock
 */
void perf_event_clear_userpage(struct perf_buffer *rb)
{
	struct perf_event_mmap_page *page = rb->ring.page;

	lockdep_assert_held(&perf_buffers_lock);
	WRITE_ONCE(page->lock, page->lock + 1);
	smp_wmb();	/* for a reader on another CPU: sequence count before field */
	page->index = 0;
	page->offset = 0;
	page->time_enabled = 0;
	page->time_running = 0;
	smp_wmb();	/* and field before sequence count */
	WRITE_ONCE(page->lock, page->lock + 1);
}
