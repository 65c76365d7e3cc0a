// SPDX-License-Identifier: GPL-2.0
/*
 * The AUX area: a second ring beside a buffer's data, filled by a device.
 *
 * A driver borrows the free part of the area from perf_aux_output_begin() to perf_aux_output_end(),
 * lets the device write there, and says at the end how much it was. That moves aux_head and
 * writes an AUX record into the data. One borrower at a time; the second gets nothing.
 *
 * Mapped read-only, the area is overwritten without end: the driver may use all of it and keeps
 * the position itself (snapshot mode).
 *
 * Samples of other events in the group can carry a piece of the area (PERF_SAMPLE_AUX): the driver
 * copies it while it is tracing, by pmu::snapshot_aux.
 *
 * If its event is given another buffer meanwhile, there is no AUX record of what was written.
 *
 * Context: interrupts off, NMI included. No locks; who keeps the area is explained in buffer.h.
 */
#include <linux/irqflags.h>

#include "buffer.h"

struct aux_record {
	struct perf_event_header	header;
	u64				offset;
	u64				size;
	u64				flags;
};

/* The area that a driver has borrowed, which therefore stays. */
static struct perf_aux *handle_aux(struct perf_output_handle *handle)
{
	return rcu_dereference_raw(handle->rb->aux);
}

static void write_record(struct perf_event *event, u64 offset, u64 size, u64 flags)
{
	struct aux_record record = { .offset = offset, .size = size, .flags = flags };
	struct perf_output_handle handle;
	struct perf_sample_data data;

	perf_event_header__init(&record.header, &data, PERF_RECORD_AUX, 0,
				sizeof(record), event);
	if (perf_output_begin(&handle, &data, event, record.header.size))
		return;
	perf_output_put(&handle, record);
	perf_event__output_id_sample(event, &handle, &data);
	perf_output_end(&handle);
}

/* Moves the position on and shows it. Should the reader be told? */
static bool move_head(struct perf_buffer *rb, struct perf_aux *aux, unsigned long head)
{
	aux->head = head;
	smp_wmb();	/* [aux] */
	WRITE_ONCE(rb->ring.page->aux_head, head);

	if (aux->overwrite || head - aux->woken < aux->watermark)
		return false;
	aux->woken = rounddown(head, aux->watermark);
	return true;
}

static unsigned long room(struct perf_buffer *rb, struct perf_aux *aux)
{
	unsigned long used = aux->head - READ_ONCE(rb->ring.page->aux_tail);

	return used < perf_aux_bytes(aux) ? perf_aux_bytes(aux) - 1 - used : 0;
}

/* The reader is behind. The event is disabled until it is enabled by someone who has read. */
static void refuse_full(struct perf_buffer *rb, struct perf_event *event)
{
	perf_event_disable_inatomic(event);
	perf_buffer_notify(rb, perf_event_writer(event), true);
}

static void give_back(struct perf_aux *aux)
{
	WRITE_ONCE(aux->borrower, NULL);
	local_set(&aux->busy, 0);
}

/* What a record is worth that tells of no bytes: how the area is used, and in what format, is nothing. */
static bool flags_tell(u64 flags)
{
	return flags & ~(u64)(PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK);
}

/* Does @event still write to this buffer? Another one's reader does not know the area. */
static bool writes_to(struct perf_event *event, const struct perf_buffer *rb)
{
	return rcu_access_pointer(perf_event_writer(event)->rb) == rb;
}

/**
 * perf_aux_output_begin - borrow the free part of the AUX area
 * @handle: result: @head position of the free part, @size bytes there are, @wakeup position at
 *	which the reader wants to be told. In overwrite mode @size is 0 and all of it may be used.
 * @event: an event of the driver's PMU, an inherited one too
 *
 * Context: on the event's CPU, interrupts off
 * Return: what pmu::setup_aux answered; NULL if there is no area, or another PMU's, none free, or it
 * is in use
 */
void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	struct perf_buffer *rb;
	struct perf_aux *aux;

	guard(preempt_notrace)();
	rb = rcu_dereference_sched(perf_event_writer(event)->rb);
	aux = rb ? rcu_dereference_sched(rb->aux) : NULL;
	if (!aux || aux->pmu != event->pmu || !READ_ONCE(aux->mmap_count))	/* [stop] */
		return NULL;
	if (local_xchg(&aux->busy, 1))
		return NULL;
	WRITE_ONCE(aux->borrower, event);

	handle->rb = rb;
	handle->event = event;
	handle->head = aux->head;
	handle->size = 0;
	handle->aux_flags = 0;
	if (aux->overwrite)
		return aux->priv;

	handle->wakeup = aux->woken + aux->watermark;
	handle->size = room(rb, aux);
	if (handle->size)
		return aux->priv;

	handle->event = NULL;
	refuse_full(rb, event);
	give_back(aux);
	return NULL;
}
EXPORT_SYMBOL_GPL(perf_aux_output_begin);

/**
 * perf_aux_output_end - give the AUX area back
 * @handle: the write
 * @size: bytes written at @handle->head; in overwrite mode @handle->head is behind them
 *
 * A driver that ran out of room has set PERF_AUX_FLAG_TRUNCATED: the event is disabled then, and
 * the reader told.
 *
 * Context: on the event's CPU, interrupts off
 */
void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size)
{
	bool truncated = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	struct perf_aux *aux = handle_aux(handle);
	struct perf_event *event = handle->event;
	struct perf_buffer *rb = handle->rb;
	unsigned long from = aux->head;
	bool wake;

	if (aux->overwrite) {
		handle->aux_flags |= PERF_AUX_FLAG_OVERWRITE;
		from = handle->head;
		wake = move_head(rb, aux, from);
	} else {
		wake = move_head(rb, aux, from + size);
	}

	if ((size || flags_tell(handle->aux_flags)) && writes_to(event, rb))
		write_record(event, from, size, handle->aux_flags);
	if (truncated)
		perf_event_disable_inatomic(event);
	if (wake || truncated)
		perf_buffer_notify(rb, perf_event_writer(event), true);

	handle->event = NULL;
	give_back(aux);		/* the area may be gone after this */
}
EXPORT_SYMBOL_GPL(perf_aux_output_end);

/**
 * perf_aux_output_skip - leave out a part of what was borrowed
 * @handle: the write
 * @size: bytes
 *
 * Return: 0, -ENOSPC if that much was not borrowed
 */
int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_aux *aux = handle_aux(handle);

	if (size > handle->size)
		return -ENOSPC;

	if (move_head(handle->rb, aux, aux->head + size)) {
		perf_buffer_notify(handle->rb, perf_event_writer(handle->event), true);
		handle->wakeup = aux->woken + aux->watermark;
	}
	handle->head = aux->head;
	handle->size -= size;
	return 0;
}
EXPORT_SYMBOL_GPL(perf_aux_output_skip);

/* What pmu::setup_aux answered; NULL if nothing is borrowed. */
void *perf_get_aux(struct perf_output_handle *handle)
{
	return handle->event ? handle_aux(handle)->priv : NULL;
}
EXPORT_SYMBOL_GPL(perf_get_aux);

/* Adds PERF_AUX_FLAG_* to the AUX record that perf_aux_output_end() will write. */
void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	handle->aux_flags |= flags;
}
EXPORT_SYMBOL_GPL(perf_aux_output_flag);

/**
 * perf_output_copy_aux - append a part of the AUX area to a record
 * @aux_handle: the driver's borrowing
 * @handle: the record
 * @from: position of the first byte; positions wrap at the size of the area
 * @to: position behind the last; the whole area if that is the place of @from again
 *
 * Context: any, NMI included
 * Return: bytes appended
 */
long perf_output_copy_aux(struct perf_output_handle *aux_handle,
			  struct perf_output_handle *handle, unsigned long from,
			  unsigned long to)
{
	struct perf_aux *aux = handle_aux(aux_handle);
	unsigned long mask = perf_aux_bytes(aux) - 1;
	unsigned long left = ((to - from) & mask) ?: perf_aux_bytes(aux);
	long len = left;

	for (unsigned long n; left; left -= n, from += n) {
		from &= mask;
		n = min(left, PAGE_SIZE - offset_in_page(from));
		perf_output_copy(handle, aux->pages[from >> PAGE_SHIFT] + offset_in_page(from), n);
	}
	return len;
}

/* The area from which @event's samples take a piece, if it is being filled here. Preemption off. */
static struct perf_aux *sampled_aux(struct perf_event *event)
{
	struct perf_event *source = event->aux_event;
	struct perf_buffer *rb;
	struct perf_aux *aux;

	if (!source || READ_ONCE(source->state) != PERF_EVENT_STATE_ACTIVE ||
	    READ_ONCE(source->oncpu) != smp_processor_id())
		return NULL;
	rb = rcu_dereference_sched(perf_event_writer(source)->rb);
	aux = rb ? rcu_dereference_sched(rb->aux) : NULL;
	return aux && aux->pmu == source->pmu ? aux : NULL;
}

/**
 * perf_aux_sample_size - how much of the AUX area a sample will carry
 * @event: event whose sample it is
 * @max: bytes at most
 *
 * Context: any, NMI included; preemption off
 * Return: bytes, a multiple of 8; 0 if there is nothing, or we are in the middle of copying some
 */
unsigned long perf_aux_sample_size(struct perf_event *event, unsigned long max)
{
	struct perf_aux *aux = sampled_aux(event);

	if (!aux || READ_ONCE(aux->sampling))
		return 0;
	return round_down(min(max, perf_aux_bytes(aux)), sizeof(u64));
}

/**
 * perf_aux_sample_output - append the piece of AUX area to a sample
 * @event: event whose sample it is
 * @handle: the sample
 * @size: what perf_aux_sample_size() said; what the driver does not have is filled with zeroes
 */
void perf_aux_sample_output(struct perf_event *event, struct perf_output_handle *handle,
			    unsigned long size)
{
	struct perf_aux *aux = sampled_aux(event);
	static const u64 zero;
	long done = 0;

	if (aux) {
		guard(irqsave)();	/* the driver's interrupt must not move the area on */
		WRITE_ONCE(aux->sampling, 1);
		barrier();
		done = event->aux_event->pmu->snapshot_aux(event->aux_event, handle, size);
		barrier();
		WRITE_ONCE(aux->sampling, 0);
	}

	for (unsigned long n, left = size - max(done, 0L); left; left -= n) {
		n = min(left, sizeof(zero));
		perf_output_copy(handle, &zero, n);
	}
}
