// SPDX-License-Identifier: GPL-2.0
/*
 * Writing a record to a buffer.
 *
 *	if (perf_output_begin(&handle, data, event, size))
 *		return;				lost, and counted as such
 *	perf_output_copy(&handle, ...);		exactly size bytes altogether
 *	perf_output_end(&handle);
 *
 * How writers nest and what orders them against the reader is explained in buffer.h.
 *
 * Lost records are counted in the event, for read(), and in the buffer until the next record that
 * fits: a LOST record goes before that one, in the same reservation. The count is taken before the
 * reservation and given back if that fails, so at any time every lost record is in exactly one
 * place, whoever nests where.
 *
 * Context: any, NMI included. No locks. Preemption is off from begin to end, which also is the RCU
 * read section that keeps the buffer.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "buffer.h"

/* Body of PERF_RECORD_LOST; sample_id follows. */
struct lost_record {
	struct perf_event_header	header;
	u64				id;
	u64				lost;
};

static __always_inline void seek(struct perf_output_handle *handle, struct perf_buffer *rb,
				 unsigned long pos)
{
	unsigned int shift = perf_buffer_chunk_shift(rb);
	unsigned long in_chunk = pos & ((1UL << shift) - 1);

	handle->page = (pos & (rb->ring.size - 1)) >> shift;
	handle->addr = rb->data[handle->page] + in_chunk;
	handle->size = (1UL << shift) - in_chunk;
}

/* The current chunk is full. */
static void next_chunk(struct perf_output_handle *handle)
{
	struct perf_buffer *rb = handle->rb;

	handle->page = (handle->page + 1) & (rb->nr_chunks - 1);
	handle->addr = rb->data[handle->page];
	handle->size = 1UL << perf_buffer_chunk_shift(rb);
}

static inline void advance(struct perf_output_handle *handle, unsigned long len)
{
	handle->addr += len;
	handle->size -= len;
}

static void count_lost(struct perf_buffer *rb, struct perf_event *event, unsigned long given_back)
{
	local_add(1 + given_back, &rb->lost);
	atomic64_inc(&event->lost_samples);
}

static unsigned int lost_record_size(const struct perf_event *event)
{
	return sizeof(struct lost_record) +
	       (event->attr.sample_id_all ? event->id_header_size : 0);
}

static noinline void write_lost(struct perf_output_handle *handle, struct perf_sample_data *data,
				struct perf_event *event, unsigned long lost)
{
	struct lost_record record = { .id = event->id, .lost = lost };
	u64 stream_id = data->stream_id;

	/* The sample that follows may be a child's: its stream is not its parent's. */
	perf_event_header__init(&record.header, data, PERF_RECORD_LOST, 0,
				sizeof(record), event);
	perf_output_put(handle, record);
	perf_event__output_id_sample(event, handle, data);
	data->stream_id = stream_id;
}

/* Without a claim, where others may be counting too. */
static int lose_unclaimed(struct perf_buffer *rb, struct perf_event *event)
{
	atomic_inc(&rb->lost_elsewhere);
	atomic64_inc(&event->lost_samples);
	return -ENOSPC;
}

/* Crowded buffers: a claim is for a CPU, and given up by the writer that made it. */
static noinline int claim(struct perf_output_handle *handle, struct perf_buffer *rb,
			  struct perf_event *event)
{
	int me = smp_processor_id() + 1, owner = 0;

	if (atomic_read(&rb->owner) == me)
		return 0;
	if (!atomic_try_cmpxchg_acquire(&rb->owner, &owner, me))	/* [claim] */
		return lose_unclaimed(rb, event);
	handle->claimed = 1;
	local_add(atomic_xchg(&rb->lost_elsewhere, 0), &rb->lost);
	return 0;
}

static noinline void unclaim(struct perf_buffer *rb)
{
	atomic_set_release(&rb->owner, 0);	/* [claim] */
}

/*
 * Nothing fits: the reader is behind, or it sleeps and waits for more than there is room for.
 * Either way now is the time to tell it, once.
 */
static noinline int refuse_full(struct perf_output_handle *handle, struct perf_buffer *rb,
				struct perf_event *event, unsigned long lost, bool signal)
{
	count_lost(rb, event, lost);
	if (handle->claimed)
		unclaim(rb);
	perf_buffer_notify(rb, event, signal);
	return -ENOSPC;
}

static noinline int refuse_paused(struct perf_buffer *rb, struct perf_event *event)
{
	if (!rb->nr_pages)
		return -ENOSPC;
	if (READ_ONCE(rb->crowded))
		return lose_unclaimed(rb, event);
	count_lost(rb, event, 0);
	return -ENOSPC;
}

static __always_inline int begin_in(struct perf_output_handle *handle, struct perf_buffer *rb,
				    struct perf_sample_data *data, struct perf_event *event,
				    unsigned int size, bool backward, bool signal)
{
	unsigned long start, lost = 0, len = size;

	if (unlikely(READ_ONCE(rb->paused)))
		return refuse_paused(rb, event);

	handle->flags = 0;
	if (unlikely(READ_ONCE(rb->crowded)) && claim(handle, rb, event))
		return -ENOSPC;

	if (unlikely(local_read(&rb->lost))) {
		lost = local_xchg(&rb->lost, 0);
		if (lost)
			len += lost_record_size(event);
	}

	if (unlikely(!perf_ring_reserve(&rb->ring, len, &start)))
		return refuse_full(handle, rb, event, lost, signal);

	handle->rb = rb;
	handle->event = event;
	handle->wakeup = start;
	seek(handle, rb, backward ? -(start + len) : start);
	if (unlikely(lost))
		write_lost(handle, data, event, lost);
	return 0;
}

static __always_inline int begin(struct perf_output_handle *handle, struct perf_sample_data *data,
				 struct perf_event *event, unsigned int size, bool backward, bool signal)
{
	struct perf_buffer *rb;
	int ret = -ENOENT;

	event = perf_event_writer(event);

	preempt_disable_notrace();
	rb = rcu_dereference_sched(event->rb);
	if (likely(rb)) {
		ret = begin_in(handle, rb, data, event, size, backward, signal);
		if (likely(!ret))
			return 0;
	}
	preempt_enable_notrace();
	return ret;
}

/**
 * perf_output_begin_forward - begin an overflow's sample in a buffer that grows upwards
 * @handle: the write, to be ended by perf_output_end_overflow()
 * @data: sample data; its identity fields may be filled in for a LOST record
 * @event: whose record; a child writes to its parent's buffer
 * @size: bytes of the record
 *
 * Context: any, NMI included; on success preemption stays off until perf_output_end()
 * Return: 0, -ENOENT if the event has no buffer, -ENOSPC if the record is lost
 */
int perf_output_begin_forward(struct perf_output_handle *handle, struct perf_sample_data *data,
			      struct perf_event *event, unsigned int size)
{
	return begin(handle, data, event, size, false, false);
}

/* The same in a buffer that grows downwards. */
int perf_output_begin_backward(struct perf_output_handle *handle, struct perf_sample_data *data,
			       struct perf_event *event, unsigned int size)
{
	return begin(handle, data, event, size, true, false);
}

/* Any record, in whichever kind of buffer it is; to be ended by perf_output_end(). */
int perf_output_begin(struct perf_output_handle *handle, struct perf_sample_data *data,
		      struct perf_event *event, unsigned int size)
{
	return begin(handle, data, event, size, unlikely(is_write_backward(event)), true);
}

static __always_inline void end(struct perf_output_handle *handle, bool signal)
{
	struct perf_buffer *rb = handle->rb;
	bool wake = perf_ring_publish(&rb->ring, handle->wakeup);

	if (unlikely(handle->claimed))
		unclaim(rb);
	if (wake)
		perf_buffer_notify(rb, handle->event, signal);
	preempt_enable_notrace();
}

/**
 * perf_output_end - the record is complete
 * @handle: the write
 */
void perf_output_end(struct perf_output_handle *handle)
{
	end(handle, true);
}

void perf_output_end_overflow(struct perf_output_handle *handle)
{
	end(handle, false);
}

/**
 * perf_output_sample_done - what was written is a sample
 * @handle: the write, before perf_output_end()
 *
 * Samples, and no other records, count for perf_event_attr::wakeup_events.
 */
void perf_output_sample_done(struct perf_output_handle *handle)
{
	u32 every = handle->event->attr.wakeup_events;
	struct perf_buffer *rb = handle->rb;

	if (!every || handle->event->attr.watermark)
		return;
	if (every > 1) {
		/* Two that nest may both subtract: then it is negative for a while. */
		if ((s64)local_inc_return(&rb->samples) < every)
			return;
		local_sub(every, &rb->samples);
	}
	perf_ring_wake(&rb->ring, handle->wakeup);
}

/**
 * perf_output_copy - append to the record
 * @handle: the write
 * @buf: bytes
 * @len: how many
 *
 * Return: 0, the number of bytes that were not copied
 */
unsigned int perf_output_copy(struct perf_output_handle *handle, const void *buf, unsigned int len)
{
	unsigned long n;

	if (likely(len <= handle->size)) {
		memcpy(handle->addr, buf, len);
		advance(handle, len);
		return 0;
	}

	for (; len; len -= n, buf += n) {
		if (!handle->size)
			next_chunk(handle);
		n = min_t(unsigned long, len, handle->size);
		memcpy(handle->addr, buf, n);
		advance(handle, n);
	}
	return 0;
}

/**
 * perf_output_skip - leave a part of the record as it is
 * @handle: the write
 * @len: bytes, whose content is what the buffer had there before
 *
 * Return: 0
 */
unsigned int perf_output_skip(struct perf_output_handle *handle, unsigned int len)
{
	unsigned long n;

	for (; len; len -= n) {
		if (!handle->size)
			next_chunk(handle);
		n = min_t(unsigned long, len, handle->size);
		advance(handle, n);
	}
	return 0;
}

/**
 * perf_output_custom - append to the record by somebody's copying function
 * @handle: the write
 * @copy: called with growing offsets, once for each piece of the buffer
 * @src: its source
 * @len: bytes
 *
 * Return: number of bytes that @copy did not copy; it is not called again after it failed
 */
unsigned int perf_output_custom(struct perf_output_handle *handle, perf_copy_f copy,
				const void *src, unsigned int len)
{
	unsigned long n, left, off = 0;

	while (off < len) {
		if (!handle->size)
			next_chunk(handle);
		n = min_t(unsigned long, len - off, handle->size);
		left = copy(handle->addr, src, off, n);
		advance(handle, n - left);
		off += n - left;
		if (left)
			break;
	}
	return len - off;
}

#ifndef arch_perf_out_copy_user
# define arch_perf_out_copy_user out_copy_user
static unsigned long out_copy_user(void *dst, const void *src, unsigned long n)
{
	unsigned long left;

	pagefault_disable();
	left = __copy_from_user_inatomic(dst, (const void __force __user *)src, n);
	pagefault_enable();
	return left;
}
#endif

static unsigned long copy_user_piece(void *dst, const void *src, unsigned long off,
				     unsigned long n)
{
	return arch_perf_out_copy_user(dst, src + off, n);
}

/**
 * perf_output_copy_user - append user memory to the record
 * @handle: the write
 * @src: address in the current address space, range-checked by the caller
 * @len: bytes
 *
 * Return: number of bytes that were not copied because they are not there
 */
unsigned int perf_output_copy_user(struct perf_output_handle *handle, const void __user *src,
				   unsigned int len)
{
	return perf_output_custom(handle, copy_user_piece, (const void __force *)src, len);
}
