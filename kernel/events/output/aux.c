// SPDX-License-Identifier: GPL-2.0
/*
 * The AUX area: a second ring of a buffer, filled by a device.
 *
 * From perf_aux_output_begin() to perf_aux_output_end() one driver owns the free part of the area,
 * to which its device writes; for a second driver the function returns NULL. The driver passes the
 * number of bytes written to perf_aux_output_end(), which advances aux_head and writes an AUX
 * record to the data.
 *
 * If the area is mapped read-only it is overwritten: the driver may use all of it, and keeps the
 * position itself (snapshot mode).
 *
 * Samples of other events in the group can contain a part of the area (PERF_SAMPLE_AUX): the driver
 * copies it by pmu::snapshot_aux while it is tracing.
 *
 * If the event's buffer is replaced while its driver owns the area, no AUX record is written.
 *
 * Context: interrupts off for drivers, preemption off for samples; NMI included. No locks; the
 * lifetime of the area is explained in buffer.h.
 */
#include <linux/irqflags.h>

#include "output.h"

/* PERF_RECORD_AUX; sample_id follows. */
struct aux_record {
	struct perf_event_header	header;
	u64				offset;
	u64				size;
	u64				flags;
};

/* The area that the driver owns, which keeps the area from being freed. */
static struct perf_aux *aux_of_handle(struct perf_output_handle *handle)
{
	return rcu_dereference_raw(handle->rb->aux);
}

static void aux_write_record(struct perf_event *event, u64 offset, u64 size, u64 flags)
{
	struct aux_record record = { .offset = offset, .size = size, .flags = flags };
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data data __uninitialized;

	perf_event_header__init(&record.header, &data, PERF_RECORD_AUX, 0,
				sizeof(record), event);
	if (perf_output_begin(&handle, &data, event, record.header.size))
		return;
	perf_output_put(&handle, record);
	perf_event__output_id_sample(event, &handle, &data);
	perf_output_end(&handle);
}

/* Advances the position and publishes it. Returns true if the reader is to be notified. */
static bool aux_advance_head(struct perf_buffer *rb, struct perf_aux *aux, unsigned long head)
{
	aux->head = head;
	smp_wmb();	/* [aux] */
	WRITE_ONCE(rb->ring.page->aux_head, head);

	if (aux->overwrite || head - aux->woken < aux->watermark)
		return false;
	aux->woken = rounddown(head, aux->watermark);
	return true;
}

/* The reader stores aux_tail as a position that only grows, or modulo the size. */
static unsigned long aux_room(struct perf_buffer *rb, struct perf_aux *aux)
{
	return (READ_ONCE(rb->ring.page->aux_tail) - aux->head - 1) & (perf_aux_bytes(aux) - 1);
}

/* No free space: the event is disabled. The reader enables it when it has read. */
static void aux_refuse_full(struct perf_buffer *rb, struct perf_event *event)
{
	perf_event_disable_inatomic(event);
	perf_buffer_notify(rb, perf_event_top(event), true);
}

static void aux_release(struct perf_aux *aux)
{
	WRITE_ONCE(aux->writer, NULL);
	local_set(&aux->busy, 0);
}

/*
 * An AUX record of size 0 is written only for flags that report a condition; OVERWRITE and the
 * format bits alone do not justify one.
 */
static bool aux_flags_report(u64 flags)
{
	return flags & ~(u64)(PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK);
}

/* Does @event still write to @rb? The reader of another buffer does not map this area. */
static bool aux_event_writes_to(struct perf_event *event, const struct perf_buffer *rb)
{
	return rcu_access_pointer(perf_event_top(event)->rb) == rb;
}

void *perf_aux_output_begin(struct perf_output_handle *handle, struct perf_event *event)
{
	struct perf_buffer *rb;
	struct perf_aux *aux;

	guard(preempt_notrace)();
	rb = rcu_dereference_sched(perf_event_top(event)->rb);
	aux = rb ? rcu_dereference_sched(rb->aux) : NULL;
	if (!aux || aux->pmu != event->pmu || !READ_ONCE(aux->mmap_count))	/* [stop] */
		return NULL;
	if (local_xchg(&aux->busy, 1))
		return NULL;
	WRITE_ONCE(aux->writer, event);

	handle->rb = rb;
	handle->event = event;
	handle->head = aux->head;
	handle->size = 0;
	handle->aux_flags = 0;
	if (aux->overwrite)
		return aux->priv;

	handle->wakeup = aux->woken + aux->watermark;
	handle->size = aux_room(rb, aux);
	if (handle->size)
		return aux->priv;

	handle->event = NULL;
	aux_refuse_full(rb, event);
	aux_release(aux);
	return NULL;
}
EXPORT_SYMBOL_GPL(perf_aux_output_begin);

void perf_aux_output_end(struct perf_output_handle *handle, unsigned long size)
{
	bool truncated = handle->aux_flags & PERF_AUX_FLAG_TRUNCATED;
	struct perf_aux *aux = aux_of_handle(handle);
	struct perf_event *event = handle->event;
	struct perf_buffer *rb = handle->rb;
	unsigned long from = aux->head;
	bool wake;

	if (aux->overwrite) {
		handle->aux_flags |= PERF_AUX_FLAG_OVERWRITE;
		from = handle->head;
		wake = aux_advance_head(rb, aux, from);
	} else {
		wake = aux_advance_head(rb, aux, from + size);
	}

	if ((size || aux_flags_report(handle->aux_flags)) && aux_event_writes_to(event, rb))
		aux_write_record(event, from, size, handle->aux_flags);
	if (truncated)
		perf_event_disable_inatomic(event);
	if (wake || truncated)
		perf_buffer_notify(rb, perf_event_top(event), true);

	handle->event = NULL;
	aux_release(aux);		/* the area may be freed after this */
}
EXPORT_SYMBOL_GPL(perf_aux_output_end);

int perf_aux_output_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct perf_aux *aux = aux_of_handle(handle);

	if (size > handle->size)
		return -ENOSPC;

	if (aux_advance_head(handle->rb, aux, aux->head + size)) {
		perf_buffer_notify(handle->rb, perf_event_top(handle->event), true);
		handle->wakeup = aux->woken + aux->watermark;
	}
	handle->head = aux->head;
	handle->size -= size;
	return 0;
}
EXPORT_SYMBOL_GPL(perf_aux_output_skip);

void *perf_get_aux(struct perf_output_handle *handle)
{
	return handle->event ? aux_of_handle(handle)->priv : NULL;
}
EXPORT_SYMBOL_GPL(perf_get_aux);

void perf_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	handle->aux_flags |= flags;
}
EXPORT_SYMBOL_GPL(perf_aux_output_flag);

long perf_output_copy_aux(struct perf_output_handle *aux_handle,
			  struct perf_output_handle *handle, unsigned long from,
			  unsigned long to)
{
	struct perf_aux *aux = aux_of_handle(aux_handle);
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

/*
 * The area that @source, the AUX event of a sample's event or NULL, fills; NULL if it does not on
 * this CPU.
 */
static struct perf_aux *aux_sampled(struct perf_event *source)
{
	struct perf_buffer *rb;
	struct perf_aux *aux;

	if (!source || READ_ONCE(source->state) != PERF_EVENT_STATE_ACTIVE ||
	    READ_ONCE(source->oncpu) != smp_processor_id())
		return NULL;
	rb = rcu_dereference_sched(perf_event_top(source)->rb);
	aux = rb ? rcu_dereference_sched(rb->aux) : NULL;
	return aux && aux->pmu == source->pmu ? aux : NULL;
}

/**
 * perf_aux_sample_size - size of the part of the AUX area in a sample
 * @event: event of the sample
 * @max: upper limit, bytes
 *
 * Context: any, NMI included; preemption off
 * Return: bytes, a multiple of 8; 0 if no AUX event is tracing here, or if this is an NMI that has
 *	interrupted the copying of another sample's part
 */
unsigned long perf_aux_sample_size(struct perf_event *event, unsigned long max)
{
	struct perf_aux *aux = aux_sampled(READ_ONCE(event->aux_event));

	if (!aux || READ_ONCE(aux->sampling))
		return 0;
	return round_down(min(max, perf_aux_bytes(aux)), sizeof(u64));
}

/* Returns the number of bytes copied, or a negative errno. Interrupts off. */
static long aux_sample_copy(struct perf_event *source, struct perf_output_handle *handle,
			    unsigned long size)
{
	struct perf_aux *aux = aux_sampled(source);
	long done;

	if (!aux)
		return 0;
	WRITE_ONCE(aux->sampling, 1);
	barrier();
	done = source->pmu->snapshot_aux(source, handle, size);
	barrier();
	WRITE_ONCE(aux->sampling, 0);
	return done;
}

/**
 * perf_aux_sample_output - append a part of the AUX area to a sample
 * @event: event of the sample
 * @handle: the sample
 * @size: bytes, from perf_aux_sample_size(); zeroes are written for what the driver does not have
 *
 * Context: any, NMI included; preemption off
 */
void perf_aux_sample_output(struct perf_event *event, struct perf_output_handle *handle,
			    unsigned long size)
{
	static const u64 zero;
	long done;

	/* The driver's interrupt must not advance the area. */
	scoped_guard(perf_irqs)
		done = aux_sample_copy(READ_ONCE(event->aux_event), handle, size);

	for (unsigned long n, left = size - max(done, 0L); left; left -= n) {
		n = min(left, sizeof(zero));
		perf_output_copy(handle, &zero, n);
	}
}
