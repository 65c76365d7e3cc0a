/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers: where records are written and how user space reads them.
 *
 *   output/ring_buffer.c	memory of a buffer and of its AUX area
 *   output/output.c		writing a record
 *   output/aux.c		the AUX area
 *   output/wakeup.c		notifying the reader
 *   output/userpage.c		the first page
 *   event/redirect.c		which events write to a buffer
 *   uapi/mmap.c		mapping a buffer, and charging its pages
 *
 * Writers
 * -------
 * At any time at most one CPU writes to a buffer: its events all belong to that CPU or to one task,
 * and a writer has preemption disabled. Writers on that CPU nest like a stack: each is either the
 * interrupted task or an interrupt (soft, hard, NMI) that returns before the writer that it
 * interrupted continues. Positions count bytes since the buffer was allocated and do not wrap:
 *
 *   published <= head	user space may read up to @published; [published, head) is being written
 *
 * A writer reserves [start, start + len) by moving @head with a compare-and-exchange, which only
 * fails if an interrupt reserved first. When its record is complete, there are two cases:
 *
 *   start == published	No interrupted writer has an unfinished record, and all interrupts of this
 *			writer have returned. All up to @head is complete; the writer publishes it.
 *   start != published	An interrupted writer is not finished. It will publish this record with its
 *			own.
 *
 * An interrupt between the reading of @head and the setting of @published finds the second case, so
 * after setting @published the writer checks whether @head has moved, and repeats. @published
 * decides which writer publishes, so it is set last. There is no lock and no count of writers.
 *
 * Three kinds of event may write from several CPUs: inherited ones that run on any CPU and have
 * redirected output, because their children write where they run; inherited ones with inherit_stat,
 * because their children write a READ record where they exit; and events that were moved to another
 * CPU, because others with the same buffer may have stayed. Such a buffer is @multi_writer, and its
 * writers first claim it for their CPU. A writer that finds it claimed by another CPU counts its
 * record as lost: it cannot wait, because it may have interrupted code that the other CPU waits
 * for.
 *
 * A backward buffer is the same with the sign of the position inverted: the record reserved as
 * [start, start + len) is stored at -(start + len), and data_head is -head.
 *
 * Barriers
 * --------
 * Both sides of a pair have the same label in square brackets; "user" is a reader of the mapping.
 *
 *   [head]	perf_ring_publish: record, then data_head	user: data_head, then record
 *   [tail]	user: record, then data_tail			perf_ring_fits: data_tail, then
 *								the branch before writing there
 *   [poll]	perf_buffer_notify: data_head, then @poll	perf_event_poll: @poll, then
 *								data_head by user
 *   [sleep]	perf_buffer_notify: @poll, then wait queues	perf_event_poll: wait queue,
 *								then @poll
 *		redirect.c: perf_event::rb, then the wait	perf_event_poll: wait queue,
 *		queue						then perf_event::rb
 *   [failed]	redirect.c: @events, then @failed_poll	perf_event_poll: @failed_poll, then
 *		the state, then @failed_poll			@events and the states
 *		wakeup.c: @failed_poll = false, then wait	perf_event_poll: wait queue, then
 *		queues						@failed_poll = true
 *   [childless]	exit.c: perf_event::child_list, then	perf_event_poll: the parent's state,
 *		the parent's state				then @child_list
 *   [claim]	output_unclaim: positions, then @owner		output_claim: @owner, then positions
 *   [aux]	perf_aux_output_end: trace, then aux_head	user: aux_head, then trace
 *   [stop]	mmap.c: perf_aux::mmap_count = 0, then a	perf_aux_output_begin: interrupts
 *		call to the CPU that stops the driver		off from the check to the start
 *		redirect.c: perf_event::rb, then the same
 *
 * Lifetime
 * --------
 * A buffer exists while it is mapped; perf_buffer::mmap_count counts mappings of its data and of
 * its AUX area. When the last mapping is removed, all events that write to the buffer are detached
 * from it and its pages are uncharged. Each event that writes to it and each mapping holds a
 * reference; the last put frees the memory after a grace period. A driver that writes to the AUX
 * area holds no reference: when the last mapping of the area is removed, the driver is stopped
 * before the area is freed.
 *
 * perf_buffers_lock guards perf_event::rb, perf_event::mmap_count and perf_buffer::{events,
 * mmap_count, page_event, page_clears, aux}. Only wait-queue locks and the lock of a refusal nest
 * inside it, and it is held for a few instructions. perf_event::mmap_mutex, outside it, serialises
 * changes of one event's buffer. Writers take neither: they use RCU.
 */
#ifndef _KERNEL_EVENTS_BUFFER_H
#define _KERNEL_EVENTS_BUFFER_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 2
# error "kernel/events/output is a higher layer than this file"
#endif

#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../core/core.h"

struct mm_struct;
struct user_struct;

/* A test defines it to interrupt a writer at each step by another writer. */
#ifndef PERF_RING_STEP
# define PERF_RING_STEP(ring)	do { (void)(ring); barrier(); } while (0)
#endif

/**
 * struct perf_ring - positions in a buffer, in bytes
 * @head: end of the last reserved record
 * @published: end of the records that user space may read
 * @wake_at: value of @published at which the reader is woken
 * @watermark: distance between two wake-ups
 * @size: size of the data, a power of two; 0 if there is only the first page
 * @page: first page: data_head is written; data_tail is read and not trusted
 * @overwrite: the buffer is mapped read-only: old records are overwritten
 * @backward: records are stored at descending addresses
 */
struct perf_ring {
	local_t				head;
	unsigned long			published;
	unsigned long			wake_at;
	unsigned long			watermark;
	unsigned long			size;
	struct perf_event_mmap_page	*page;
	bool				overwrite;
	bool				backward;
};

/*
 * Is there room for @len bytes at @head? Readers store data_tail as a position that only grows, or
 * modulo the size of the buffer. The buffer is never filled completely: it would look like an empty
 * one.
 */
static __always_inline bool perf_ring_fits(const struct perf_ring *ring, unsigned long head,
					   unsigned long len)
{
	unsigned long tail, used = 0;

	if (!ring->overwrite) {
		tail = READ_ONCE(ring->page->data_tail);	/* [tail] */
		used = (head - (ring->backward ? -tail : tail)) & (ring->size - 1);
	}
	return used + len < ring->size;
}

/**
 * perf_ring_reserve - reserve room for a record
 * @ring: the ring
 * @len: size of the record, bytes
 * @start: result: position of the record
 *
 * Context: any, NMI included, on the CPU that writes; preemption off until perf_ring_publish()
 * Return: false if there is no room
 */
static __always_inline bool perf_ring_reserve(struct perf_ring *ring, unsigned long len,
					      unsigned long *start)
{
	long head = local_read(&ring->head);

	do {
		PERF_RING_STEP(ring);
		if (!perf_ring_fits(ring, head, len))
			return false;
	} while (!local_try_cmpxchg(&ring->head, &head, head + len));

	PERF_RING_STEP(ring);
	*start = head;
	return true;
}

/**
 * perf_ring_publish - publish a complete record
 * @ring: the ring
 * @start: position of the record, from perf_ring_reserve()
 *
 * Context: any, NMI included, on the CPU that writes; preemption off
 * Return: true if the reader is to be notified
 */
static __always_inline bool perf_ring_publish(struct perf_ring *ring, unsigned long start)
{
	unsigned long head;
	bool wake = false;

	while (READ_ONCE(ring->published) == start) {
		head = local_read(&ring->head);
		PERF_RING_STEP(ring);
		smp_wmb();	/* [head] */
		WRITE_ONCE(ring->page->data_head, ring->backward ? -(u64)head : head);
		PERF_RING_STEP(ring);
		if ((long)(head - READ_ONCE(ring->wake_at)) >= 0) {
			PERF_RING_STEP(ring);
			/* An interrupt's request at this point is met: @wake is of all up to it. */
			WRITE_ONCE(ring->wake_at, head + ring->watermark);
			wake = true;
		}
		PERF_RING_STEP(ring);
		WRITE_ONCE(ring->published, head);
		PERF_RING_STEP(ring);
		if (likely(local_read(&ring->head) == head))
			break;
		start = head;
	}
	return wake;
}

/* Requests a wake-up when the record at @start is published; before perf_ring_publish(). */
static __always_inline void perf_ring_wake(struct perf_ring *ring, unsigned long start)
{
	WRITE_ONCE(ring->wake_at, start);
}

/**
 * struct perf_mlock - what pages of a buffer are charged to
 * @user: user that is charged within perf_event_mlock_kb
 * @mm: address space that is charged with the rest, by pinned_vm
 * @user_pages: pages charged to @user
 * @mm_pages: pages charged to @mm
 */
struct perf_mlock {
	struct user_struct	*user;
	struct mm_struct	*mm;
	unsigned long		user_pages;
	unsigned long		mm_pages;
};

/**
 * struct perf_aux - an AUX area
 * @head: bytes written to this and earlier areas of the buffer; in overwrite mode the position that
 *	the driver reports
 * @woken: multiple of @watermark at which the reader was last woken, bytes
 * @watermark: bytes between two wake-ups
 * @busy: a driver is between perf_aux_output_begin() and perf_aux_output_end()
 * @writer: event for which the driver writes while @busy
 * @sampling: a part of the area is being copied into a sample
 * @overwrite: the area is mapped read-only
 * @nr_pages: size of the area, pages
 * @pages: addresses of the pages
 * @pgoff: page offset of the area in the event's file
 * @mmap_count: number of mappings; perf_buffers_lock. At 0 no driver starts to write
 * @pmu: PMU that set up @priv, which other drivers cannot use
 * @priv: driver's data, from pmu::setup_aux
 * @free: pmu::free_aux
 * @charge: what the pages are charged to
 * @free_work: frees the area after a grace period
 */
struct perf_aux {
	unsigned long		head;
	unsigned long		woken;
	unsigned long		watermark;
	local_t			busy;
	struct perf_event	*writer;
	int			sampling;
	bool			overwrite;
	int			nr_pages;
	void			**pages;
	unsigned long		pgoff;
	unsigned int		mmap_count;
	struct pmu		*pmu;
	void			*priv;
	void			(*free)(void *priv);
	struct perf_mlock	charge;
	struct rcu_work		free_work;
};

/**
 * struct perf_buffer - a buffer
 * @ring: positions
 * @lost: records lost since the last LOST record was written
 * @samples: samples since the reader was last woken for wakeup_events
 * @nr_chunks: entries of @data; a power of two or 0
 * @chunk_shift: log2 of the bytes of a chunk
 * @paused: no records are written: PERF_EVENT_IOC_PAUSE_OUTPUT, or there are no data pages
 * @multi_writer: several CPUs may write; see above
 * @nr_pages: data pages
 * @owner: 1 + the CPU that has claimed a @multi_writer buffer; 0: not claimed
 * @lost_elsewhere: records lost without a claim, to be added to @lost
 * @failed_poll: a pinned event that failed has been polled, and other events wrote to the buffer
 * @poll: the reader has been notified and has not polled since
 * @events: events that write to the buffer, by perf_event::rb_entry; perf_buffers_lock, RCU
 * @page_event: event that the first page describes; NULL if several events are mapped
 * @page_clears: how many changes of mappings have set it to NULL, and have not cleared the page yet
 * @mapped_by_other_mm: mapped by another process than the one that its event counts
 * @mmap_count: number of mappings; perf_buffers_lock
 * @refcount: one for each event in @events and for each mapping
 * @aux: AUX area; perf_buffers_lock, RCU
 * @aux_head: while there is no AUX area, perf_aux::head of the last one; perf_buffers_lock
 * @charge: what the data pages are charged to
 * @free_rcu: frees the buffer after a grace period
 * @free_work: frees a large buffer in process context, afterwards
 * @data: addresses of the data's chunks
 */
struct perf_buffer {
	struct perf_ring	ring;
	local_t			lost;
	local_t			samples;
	unsigned int		nr_chunks;
	unsigned int		chunk_shift;
	bool			paused;
	bool			multi_writer;
	bool			failed_poll;
	int			nr_pages;
	atomic_t		owner;
	atomic_long_t		lost_elsewhere;

	atomic_t		poll ____cacheline_aligned_in_smp;

	struct list_head	events;
	struct perf_event	*page_event;
	unsigned int		page_clears;
	bool			mapped_by_other_mm;
	unsigned int		mmap_count;
	refcount_t		refcount;
	struct perf_aux __rcu	*aux;
	unsigned long		aux_head;
	struct perf_mlock	charge;
	struct rcu_head		free_rcu;
	struct work_struct	free_work;
	void			*data[];
};

static inline unsigned int perf_buffer_chunk_shift(const struct perf_buffer *rb)
{
	return IS_ENABLED(CONFIG_PERF_USE_VMALLOC) ? rb->chunk_shift : PAGE_SHIFT;
}

static inline unsigned long perf_aux_bytes(const struct perf_aux *aux)
{
	return (unsigned long)aux->nr_pages << PAGE_SHIFT;
}

/* The event with the file, mapping, buffer and id: the parent of an inherited event. */
static __always_inline struct perf_event *perf_event_top(struct perf_event *event)
{
	return event->parent ?: event;
}

/* ring_buffer.c */
extern spinlock_t perf_buffers_lock;
void perf_buffers_acquire(void);
void perf_buffers_release(void);

/* guard(perf_buffers)(): perf_buffers_lock, without a copy of its operations at each user. */
DEFINE_LOCK_GUARD_0(perf_buffers, perf_buffers_acquire(), perf_buffers_release())

struct perf_buffer *perf_buffer_alloc(struct perf_event *event, unsigned long nr_pages,
				      bool writable);
void perf_buffer_get(struct perf_buffer *rb);
void perf_buffer_put(struct perf_buffer *rb);
struct page *perf_buffer_page(struct perf_buffer *rb, unsigned long pgoff);
struct perf_aux *perf_aux_alloc(struct perf_event *event, unsigned long pgoff,
				unsigned long nr_pages, bool writable);
void perf_aux_free(struct perf_aux *aux);

/* output.c: for samples. */
void perf_output_sample_done(struct perf_output_handle *handle);
void perf_output_lose(struct perf_event *event);
bool perf_output_begin_many(struct perf_output_handle *handle, struct perf_event *event,
			    unsigned int size);
unsigned int perf_output_copy_user(struct perf_output_handle *handle, const void __user *src,
				   unsigned int len);
unsigned int perf_output_custom(struct perf_output_handle *handle, perf_copy_f copy,
				const void *src, unsigned int len);

/**
 * perf_output_span - append to a record by direct stores
 * @handle: the record
 * @len: bytes to append
 *
 * Context: as perf_output_begin()
 * Return: address for the next @len bytes of the record; NULL if these are not contiguous in the
 *	buffer, and perf_output_copy() has to be used
 */
static __always_inline void *perf_output_span(struct perf_output_handle *handle, unsigned int len)
{
	void *at = handle->addr;

	if (unlikely(handle->size < len))
		return NULL;
	handle->addr += len;
	handle->size -= len;
	return at;
}

/* perf_output_put() of a u64, inlined. */
static __always_inline void perf_output_put_u64(struct perf_output_handle *handle, u64 value)
{
	u64 *at = perf_output_span(handle, sizeof(value));

	if (likely(at))
		*at = value;
	else
		perf_output_put(handle, value);
}

/* aux.c: for PERF_SAMPLE_AUX. */
unsigned long perf_aux_sample_size(struct perf_event *event, unsigned long max);
void perf_aux_sample_output(struct perf_event *event, struct perf_output_handle *handle,
			    unsigned long size);

/* wakeup.c */
void perf_buffer_notify(struct perf_buffer *rb, struct perf_event *event, bool signal);
void perf_buffer_wake_failed(struct perf_buffer *rb);
void perf_event_wakeup(struct perf_event *event);
__poll_t perf_event_poll(struct file *file, poll_table *wait);
int  perf_event_fasync_file(int fd, struct file *file, int on);

/* userpage.c */
void perf_event_init_userpage(struct perf_event *event, struct perf_buffer *rb);
void perf_event_clear_userpage(struct perf_buffer *rb);

#endif
