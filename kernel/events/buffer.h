/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buffers: where records go and how user space gets them.
 *
 *   ring_buffer.c	memory of a buffer and of its AUX area		floor 1
 *   output.c		writing a record				floor 3
 *   aux.c		the AUX area					floor 3
 *   wakeup.c		telling the reader				floor 3
 *   userpage.c		the first page					floor 3
 *   redirect.c		which events write to a buffer			floor 4
 *   mmap.c		mapping it, and who pays for it			floor 7
 *
 * Writers
 * -------
 * At any time one CPU at most writes to a buffer: its events all belong to that CPU or to one task,
 * and a writer has preemption disabled. On that CPU writers nest like a stack, because each is
 * either the interrupted task or an interrupt (soft, hard, NMI) that returns before the writer
 * below it goes on. Positions count bytes since the buffer began and do not wrap:
 *
 *   published <= head	user space may read up to @published; [published, head) is being written
 *
 * A writer reserves [start, start + len) by moving @head with a compare-and-exchange, which only
 * fails if an interrupt reserved first. When its record is complete, there are two cases:
 *
 *   start == published	nobody below it has anything unfinished, and whoever came on top of it has
 *			returned. So all up to @head is complete; it publishes that.
 *   start != published	a writer below is not finished and will publish this record with its own.
 *
 * An interrupt between reading @head and setting @published finds the second case and leaves its
 * record to us, so after setting @published we look whether @head has moved, and go round again.
 * @published is what says whose turn it is, so it is set last. No lock, no counter of writers.
 *
 * Two kinds of event break the rule of one CPU: an inherited one that may run anywhere and whose
 * output was redirected here, because its children write where they run; and an inherited one with
 * inherit_stat, because its children write a READ record where they exit. Such a buffer is
 * @crowded, and its writers claim it for their CPU first; who finds it claimed by another CPU does
 * not wait, since it may have interrupted what the other waits for, and counts its record as lost.
 *
 * A backward buffer is the same with the sign of the position turned over: the record reserved as
 * [start, start + len) stands at -(start + len), and data_head is -head.
 *
 * Barriers
 * --------
 * Each pair's two sides carry the same label in square brackets; "user" is a reader of the mapping.
 *
 *   [head]	perf_ring_publish: record, then data_head	user: data_head, then record
 *   [tail]	user: record, then data_tail			perf_ring_fits: data_tail, then
 *								the branch before writing there
 *   [poll]	perf_buffer_notify: data_head, then @poll	perf_event_poll: @poll, then
 *								data_head by user
 *   [sleep]	perf_buffer_notify: @poll, then wait queues	perf_event_poll: wait queue,
 *								then @poll
 *   [claim]	unclaim: positions, then @owner			claim: @owner, then positions
 *   [aux]	perf_aux_output_end: trace, then aux_head	user: aux_head, then trace
 *   [stop]	mmap.c: perf_aux::mmap_count = 0, then a	perf_aux_output_begin: interrupts
 *		call to the CPU that stops the driver		off from looking at it to starting
 *		redirect.c: perf_event::rb, then the same
 *
 * Lifetime
 * --------
 * A buffer exists from the first mapping of its data to the last; perf_buffer::mmap_count counts
 * mappings, data and AUX. When the last goes, all events that write to it lose it and the pages
 * are given back to whoever was charged for them. Each event that writes to it and each mapping
 * holds a reference, whose last put frees the memory after a grace period. A driver that has
 * borrowed the AUX area holds none: it is stopped before the last mapping of the area goes.
 *
 * perf_buffers_lock guards perf_event::rb, perf_event::mmap_count and perf_buffer::{events,
 * mmap_count, page_event, aux}. It is a leaf but for wait-queue locks, and held for a few
 * instructions. perf_event::mmap_mutex, outside it, lets one change of an event's buffer finish
 * before the next. Writers take neither: they use RCU.
 */
#ifndef _KERNEL_EVENTS_BUFFER_H
#define _KERNEL_EVENTS_BUFFER_H

#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "ground.h"

struct mm_struct;
struct user_struct;

/* A test may stop a writer at each step, to nest another one there. */
#ifndef PERF_RING_STEP
# define PERF_RING_STEP(ring)	barrier()
#endif

/**
 * struct perf_ring - positions in a buffer
 * @head: bytes reserved so far
 * @published: bytes complete so far, readable by user space
 * @wake_at: the reader is to be woken when @published gets here
 * @watermark: bytes between two wake-ups
 * @size: bytes of data, a power of two; 0 if there is only the first page
 * @page: first page: data_head is written, data_tail is read and never trusted
 * @overwrite: mapped read-only: old records are overwritten
 * @backward: grows downwards
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
 * Is there room for @len bytes at @head? Garbage in data_tail amounts to no room. The last bytes
 * stay free, so that positions modulo the size never make a full buffer look empty.
 */
static __always_inline bool perf_ring_fits(const struct perf_ring *ring, unsigned long head,
					   unsigned long len)
{
	unsigned long tail, used = 0;

	if (!ring->overwrite) {
		tail = READ_ONCE(ring->page->data_tail);	/* [tail] */
		used = head - (ring->backward ? -tail : tail);
	}
	return used < ring->size && len < ring->size - used;
}

/**
 * perf_ring_reserve - reserve room for a record
 * @ring: the ring
 * @len: bytes
 * @start: result: position
 *
 * Context: any, on the one CPU that writes; preemption off until it is published
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
 * perf_ring_publish - a reserved record is complete
 * @ring: the ring
 * @start: its position
 *
 * Return: true if the reader is to be told
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
			/* A request that comes here is granted: we wake when all is published. */
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

/* Asks for a wake-up once the record at @start is published; before perf_ring_publish(). */
static __always_inline void perf_ring_wake(struct perf_ring *ring, unsigned long start)
{
	WRITE_ONCE(ring->wake_at, start);
}

/**
 * struct perf_mlock - pages charged to somebody
 * @user: user whose allowance, perf_event_mlock_kb, was used
 * @mm: address space in which the rest was pinned
 * @gift: pages from the allowance
 * @pinned: pages pinned
 */
struct perf_mlock {
	struct user_struct	*user;
	struct mm_struct	*mm;
	unsigned long		gift;
	unsigned long		pinned;
};

/**
 * struct perf_aux - an AUX area
 * @head: bytes written so far; in overwrite mode where the driver says
 * @woken: multiple of @watermark at which the reader was last woken
 * @watermark: bytes between two wake-ups
 * @busy: a driver is between perf_aux_output_begin() and _end()
 * @borrower: for which event it is
 * @sampling: a part of it is being copied into a sample
 * @overwrite: mapped read-only
 * @nr_pages: pages
 * @pages: their addresses
 * @pgoff: where it is in the mapping, pages
 * @mmap_count: mappings; perf_buffers_lock. At 0 nobody may begin to use it
 * @pmu: whose it is: no other driver can read @priv
 * @priv: driver's, from pmu::setup_aux
 * @free: pmu::free_aux
 * @charge: who pays
 * @free_work: frees it after a grace period
 */
struct perf_aux {
	unsigned long		head;
	unsigned long		woken;
	unsigned long		watermark;
	local_t			busy;
	struct perf_event	*borrower;
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
 * @chunk_shift: bytes of a chunk, log2
 * @paused: nothing is to be written: PAUSE_OUTPUT, or there are no data pages
 * @crowded: several CPUs write here; see above
 * @nr_pages: data pages
 * @owner: CPU plus 1 whose writers have claimed a crowded buffer
 * @lost_elsewhere: records lost to another CPU's claim or while paused, to be added to @lost
 * @poll: the reader has been told, and has not asked since
 * @events: events that write here, by perf_event::rb_entry; RCU
 * @page_event: event that the first page describes; NULL if several are mapped
 * @page_abroad: it is mapped by another process than the one that its event counts
 * @mmap_count: mappings; perf_buffers_lock
 * @refcount: see above
 * @aux: AUX area; RCU
 * @charge: who pays for the data pages
 * @free_work: frees it after a grace period
 * @data: the data
 */
struct perf_buffer {
	struct perf_ring	ring;
	local_t			lost;
	local_t			samples;
	unsigned int		nr_chunks;
	unsigned int		chunk_shift;
	bool			paused;
	bool			crowded;
	int			nr_pages;
	atomic_t		owner;
	atomic_t		lost_elsewhere;

	atomic_t		poll ____cacheline_aligned_in_smp;

	struct list_head	events;
	struct perf_event	*page_event;
	bool			page_abroad;
	unsigned int		mmap_count;
	refcount_t		refcount;
	struct perf_aux __rcu	*aux;
	struct perf_mlock	charge;
	struct rcu_work		free_work;
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

/* The event whose file, mapping and buffer @event uses. */
static __always_inline struct perf_event *perf_event_writer(struct perf_event *event)
{
	return event->parent ?: event;
}

extern spinlock_t perf_buffers_lock;

/* ring_buffer.c */
struct perf_buffer *perf_buffer_alloc(struct perf_event *event, unsigned long nr_pages,
				      bool writable);
void perf_buffer_put(struct perf_buffer *rb);
struct page *perf_buffer_page(struct perf_buffer *rb, unsigned long pgoff);
struct perf_aux *perf_aux_alloc(struct perf_event *event, unsigned long pgoff,
				unsigned long nr_pages, bool writable);
void perf_aux_free(struct perf_aux *aux);
static inline void perf_buffer_get(struct perf_buffer *rb)
{
	refcount_inc(&rb->refcount);
}

/* output.c: for those who write samples. */
void perf_output_sample_done(struct perf_output_handle *handle);
unsigned int perf_output_copy_user(struct perf_output_handle *handle, const void __user *src,
				   unsigned int len);
unsigned int perf_output_custom(struct perf_output_handle *handle, perf_copy_f copy,
				const void *src, unsigned int len);

/**
 * perf_output_span - a piece of the record to be stored to directly
 * @handle: the write
 * @len: bytes
 *
 * Return: where the next @len bytes of the record go, or NULL if they do not lie in one piece
 * and have to be given to perf_output_copy()
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

/* aux.c: for PERF_SAMPLE_AUX. */
unsigned long perf_aux_sample_size(struct perf_event *event, unsigned long max);
void perf_aux_sample_output(struct perf_event *event, struct perf_output_handle *handle,
			    unsigned long size);

/* output.c: perf_output_end() of an overflow's sample, whose signal is perf_event_overflow()'s */
void perf_output_end_overflow(struct perf_output_handle *handle);

/* wakeup.c */
void perf_buffer_notify(struct perf_buffer *rb, struct perf_event *event, bool signal);
void perf_event_wakeup(struct perf_event *event);
__poll_t perf_event_poll(struct file *file, poll_table *wait);
int  perf_event_fasync_file(int fd, struct file *file, int on);

/* userpage.c */
void perf_event_init_userpage(struct perf_event *event, struct perf_buffer *rb);
void perf_event_forget_userpage(struct perf_buffer *rb);

/* redirect.c */
void perf_buffer_mark_crowded(struct perf_event *target);
void perf_buffer_attach(struct perf_buffer *rb, struct perf_event *event);
void perf_buffer_detach(struct perf_event *event);
void perf_event_release_buffer(struct perf_event *event);
void perf_aux_stop(struct perf_event *event, struct perf_aux *aux);
void perf_aux_restart(struct perf_event *event);
int  perf_event_set_output(struct perf_event *event, struct perf_event *target);
int  perf_event_pause_output(struct perf_event *event, bool pause);

/* mmap.c */
int  perf_event_mmap_file(struct file *file, struct vm_area_struct *vma);

#endif
