// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a record to a buffer.
 *
 *	if (perf_output_begin(&handle, data, event, size))
 *		return;				the record is lost, and counted as lost
 *	perf_output_copy(&handle, ...);		exactly size bytes in total
 *	perf_output_end(&handle);
 *
 * buffer.h explains how writers nest and how they are ordered against the reader.
 *
 * Lost records are counted in the event, for read(2), and in the buffer until the next record that
 * fits: a LOST record precedes that one, in the same reservation. A writer takes the buffer's count
 * before it reserves and returns the count if that fails, so at any time each lost record is
 * counted by exactly one of the nested writers, or by the buffer.
 *
 * Context: any, NMI included. No locks. Preemption is off from begin to end, which is also the RCU
 * read-side section that protects the buffer.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "output.h"

/* PERF_RECORD_LOST; sample_id follows. */
struct lost_record {
	struct perf_event_header	header;
	u64				id;
	u64				lost;
};

static __always_inline void output_seek(struct perf_output_handle *handle, struct perf_buffer *rb,
					unsigned long pos)
{
	unsigned int shift = perf_buffer_chunk_shift(rb);
	unsigned long in_chunk = pos & ((1UL << shift) - 1);

	handle->page = (pos & (rb->ring.size - 1)) >> shift;
	handle->addr = rb->data[handle->page] + in_chunk;
	handle->size = (1UL << shift) - in_chunk;
}

/* The current chunk is full: continues in the next one. */
static void output_next_chunk(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;

	handle->page = (handle->page + 1) & (rb->nr_chunks - 1);
	handle->addr = rb->data[handle->page];
	handle->size = 1UL << perf_buffer_chunk_shift(rb);
}

static inline void output_advance(struct perf_output_handle *handle, unsigned long len)
{
	handle->addr += len;
	handle->size -= len;
}

static void output_count_lost(struct perf_buffer *rb, struct perf_event *event,
			      unsigned long given_back)
{
	local_add(1 + given_back, &rb->lost);
	atomic64_inc(&event->lost_samples);
}

static unsigned int output_lost_size(const struct perf_event *event)
{
	return sizeof(struct lost_record) +
	       (event->attr.sample_id_all ? event->id_header_size : 0);
}

static noinline void output_write_lost(struct perf_output_handle *handle,
				       struct perf_sample_data *data, struct perf_event *event,
				       unsigned long lost)
{
	struct lost_record record = { .id = event->id, .lost = lost };
	u64 stream_id = data->stream_id, time = data->time;

	/* The sample that follows may have a stream id of its own, and the time of a record. */
	perf_event_header__init(&record.header, data, PERF_RECORD_LOST, 0,
				sizeof(record), event);
	perf_output_put(handle, record);
	perf_event__output_id_sample(event, handle, data);
	data->stream_id = stream_id;
	data->time = time;
}

/* Counts a lost record without a claim: other CPUs may count at the same time. */
static int output_lose_unclaimed(struct perf_buffer *rb, struct perf_event *event)
{
	atomic_long_inc(&rb->lost_elsewhere);
	atomic64_inc(&event->lost_samples);
	return -ENOSPC;
}

/* Buffers with several writers: a claim is a CPU's. The writer that made it gives it up. */
static noinline int output_claim(struct perf_output_handle *handle, struct perf_buffer *rb,
				 struct perf_event *event)
{
	int me = smp_processor_id() + 1, owner = 0;

	if (atomic_read(&rb->owner) == me)
		return 0;
	if (!atomic_try_cmpxchg_acquire(&rb->owner, &owner, me))	/* [claim] */
		return output_lose_unclaimed(rb, event);
	handle->claimed = 1;
	local_add(atomic_long_xchg(&rb->lost_elsewhere, 0), &rb->lost);
	return 0;
}

static noinline void output_unclaim(struct perf_buffer *rb)
{
	atomic_set_release(&rb->owner, 0);	/* [claim] */
}

/*
 * The record does not fit: the reader is behind, or it sleeps until a watermark is reached that is
 * beyond the free space. In both cases it is woken, by the first record that is lost; which one is
 * the first is not known of several writers. Signals are sent for records that are written, and for
 * overflows.
 */
static noinline int output_refuse_full(struct perf_output_handle *handle, struct perf_buffer *rb,
				       struct perf_event *event, unsigned long lost)
{
	output_count_lost(rb, event, lost);
	if (handle->claimed)
		output_unclaim(rb);
	if (!lost || handle->claimed)
		perf_buffer_notify(rb, event, false);
	return -ENOSPC;
}

/* A record that cannot be written whatever room there is. */
static noinline int output_lose(struct perf_buffer *rb, struct perf_event *event)
{
	if (!rb->nr_pages)
		return -ENOSPC;
	if (READ_ONCE(rb->multi_writer))
		return output_lose_unclaimed(rb, event);
	output_count_lost(rb, event, 0);
	return -ENOSPC;
}

static __always_inline int output_begin_in(struct perf_output_handle *handle,
					   struct perf_buffer *rb, struct perf_sample_data *data,
					   struct perf_event *event, unsigned int size,
					   bool backward)
{
	unsigned long start, lost = 0, len = size;

	if (unlikely(READ_ONCE(rb->paused)))
		return output_lose(rb, event);

	handle->flags = 0;
	if (unlikely(READ_ONCE(rb->multi_writer)) && output_claim(handle, rb, event))
		return -ENOSPC;

	if (unlikely(local_read(&rb->lost))) {
		lost = local_xchg(&rb->lost, 0);
		if (lost)
			len += output_lost_size(event);
	}

	if (unlikely(!perf_ring_reserve(&rb->ring, len, &start)))
		return output_refuse_full(handle, rb, event, lost);

	handle->rb = rb;
	handle->event = event;
	handle->wakeup = start;
	output_seek(handle, rb, backward ? -(start + len) : start);
	if (unlikely(lost))
		output_write_lost(handle, data, event, lost);
	return 0;
}

int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_data *data,
		      struct perf_event *event, unsigned int size)
{
	bool backward = unlikely(is_write_backward(event));
	struct perf_buffer *rb;
	int ret = -ENOSPC;

	event = perf_event_top(event);

	preempt_disable_notrace();
	rb = rcu_dereference_sched(event->rb);
	if (likely(rb)) {
		ret = output_begin_in(handle, rb, data, event, size, backward);
		if (likely(!ret))
			return 0;
	}
	preempt_enable_notrace();
	return ret;
}

/* One function: the test of the direction costs less than a call. */
int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size)
	__alias(perf_output_begin);

/**
 * perf_output_lose - count a record as lost that is too large for its header
 * @event: event of the record
 *
 * Context: as perf_output_begin()
 */
void perf_output_lose(struct perf_event *event)
{
	struct perf_buffer *rb;

	event = perf_event_top(event);
	guard(preempt_notrace)();
	rb = rcu_dereference_sched(event->rb);
	if (rb)
		output_lose(rb, event);
}

#ifdef CONFIG_CPU_SUP_INTEL
/**
 * perf_output_begin_many - begin to write several records at once
 * @handle: result
 * @event: event of the records
 * @size: size of all of them, bytes
 *
 * Nothing is counted as lost if that is not possible: the caller writes the records one by one.
 *
 * Context: any, NMI included; on success preemption stays off until perf_output_end()
 * Return: true if the caller can write them; false if it has to write them one by one
 */
bool perf_output_begin_many(struct perf_output_handle *handle, struct perf_event *event,
			    unsigned int size)
{
	struct perf_buffer *rb;
	unsigned long start;

	event = perf_event_top(event);
	preempt_disable_notrace();
	rb = rcu_dereference_sched(event->rb);
	if (!rb || READ_ONCE(rb->paused) || READ_ONCE(rb->multi_writer) || local_read(&rb->lost) ||
	    !perf_ring_reserve(&rb->ring, size, &start)) {
		preempt_enable_notrace();
		return false;
	}
	handle->flags = 0;
	handle->rb = rb;
	handle->event = event;
	handle->wakeup = start;
	output_seek(handle, rb, start);
	return true;
}
#endif

void perf_output_end(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;
	bool wake = perf_ring_publish(&rb->ring, handle->wakeup);

	if (unlikely(handle->claimed))
		output_unclaim(rb);
	if (wake)
		perf_buffer_notify(rb, handle->event, !handle->no_signal);
	preempt_enable_notrace();
}

/**
 * perf_output_sample_done - count a sample for perf_event_attr::wakeup_events
 * @handle: the complete sample, before perf_output_end()
 *
 * Records that are not samples do not count.
 *
 * Context: as perf_output_begin()
 */
void perf_output_sample_done(struct perf_output_handle *handle)
{
	u32 every = handle->event->attr.wakeup_events;
	struct perf_buffer *rb = handle->rb;

	if (!every || handle->event->attr.watermark)
		return;
	if (every > 1) {
		/* Two nested writers may both subtract: @samples may be negative for a time. */
		if ((s64)local_inc_return(&rb->samples) < every)
			return;
		local_sub(every, &rb->samples);
	}
	perf_ring_wake(&rb->ring, handle->wakeup);
}

unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf, unsigned int len)
{
	unsigned long n;

	if (likely(len <= handle->size)) {
		memcpy(handle->addr, buf, len);
		output_advance(handle, len);
		return 0;
	}

	for (; len; len -= n, buf += n) {
		if (!handle->size)
			output_next_chunk(handle);
		n = min_t(unsigned long, len, handle->size);
		memcpy(handle->addr, buf, n);
		output_advance(handle, n);
	}
	return 0;
}

unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len)
{
	unsigned long n;

	for (; len; len -= n) {
		if (!handle->size)
			output_next_chunk(handle);
		n = min_t(unsigned long, len, handle->size);
		output_advance(handle, n);
	}
	return 0;
}

/* perf_output_custom(), inline */
static __always_inline unsigned int output_copy_by(struct perf_output_handle *handle,
						   perf_copy_f copy, const void *src,
						   unsigned long len)
{
	unsigned long n, left, off = 0;

	while (off < len) {
		if (!handle->size)
			output_next_chunk(handle);
		n = min_t(unsigned long, len - off, handle->size);
		left = copy(handle->addr, src, off, n);
		output_advance(handle, n - left);
		off += n - left;
		if (left)
			break;
	}
	return len - off;
}

/**
 * perf_output_custom - append to a record by a function of the caller
 * @handle: the record
 * @copy: called for each contiguous piece of the buffer, with ascending offsets
 * @src: source, passed to @copy
 * @len: bytes to append
 *
 * Context: as perf_output_begin()
 * Return: number of bytes that @copy did not copy; @copy is not called again after it has failed
 */
unsigned int perf_output_custom(struct perf_output_handle *handle, perf_copy_f copy,
				const void *src, unsigned int len)
{
	return output_copy_by(handle, copy, src, len);
}

#ifndef arch_perf_out_copy_user
# define arch_perf_out_copy_user __copy_from_user_inatomic
#endif

static __always_inline unsigned long output_copy_user_piece(void *dst, const void *src,
							    unsigned long off, unsigned long n)
{
	return arch_perf_out_copy_user(dst, (const void __force __user *)src + off, n);
}

/**
 * perf_output_copy_user - append user memory to a record
 * @handle: the record
 * @src: address in the current address space; the caller has checked the range
 * @len: bytes to append
 *
 * Context: as perf_output_begin()
 * Return: number of bytes that were not copied because the memory is not mapped or not present
 */
unsigned int perf_output_copy_user(struct perf_output_handle *handle, const void __user *src,
				   unsigned int len)
{
	unsigned int left;

	pagefault_disable();
	left = output_copy_by(handle, output_copy_user_piece, (const void __force *)src, len);
	pagefault_enable();
	return left;
}
