// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of buffers and of AUX areas.
 *
 * A buffer consists of the first page, which user space and kernel share for control, and of 2^n
 * pages of data, or none. These are single pages; with CONFIG_PERF_USE_VMALLOC, where caches are
 * virtually indexed, they are one piece of vmalloc memory, with kernel and user addresses of the
 * same colour.
 *
 * An AUX area is written by a device, so its pages are allocated in pieces as large as the driver
 * requests. The first page of a piece of several pages has the piece's order in page_private().
 *
 * Memory is allocated in process context, without the OOM killer: the caller gets an error instead.
 * It is freed after a grace period: a small buffer by the RCU callback, a large one and an AUX area
 * by a work item. So the last reference may be put in any context but NMI. No locks.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "output.h"

DEFINE_SPINLOCK(perf_buffers_lock);

/*
 * The two functions of guard(perf_buffers) are neutral for sparse, which does not see the second
 * one called.
 */
void perf_buffers_acquire(void)
{
	spin_lock(&perf_buffers_lock);
	__release(&perf_buffers_lock);
}

void perf_buffers_release(void)
{
	__acquire(&perf_buffers_lock);
	spin_unlock(&perf_buffers_lock);
}

/* Data pages of a buffer that an RCU callback frees by itself. */
#define FREE_AT_ONCE 1024

#define BUFFER_GFP (GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static int buffer_node(const struct perf_event *event)
{
	return event->cpu < 0 ? NUMA_NO_NODE : cpu_to_node(event->cpu);
}

#ifdef CONFIG_PERF_USE_VMALLOC

static unsigned int buffer_nr_chunks(unsigned long nr_pages)
{
	return nr_pages ? 1 : 0;
}

/* Allocates the first page and the data in one piece. */
static int buffer_alloc_data(struct perf_buffer *rb, int node)
{
	void *all = vmalloc_user((rb->nr_pages + 1UL) << PAGE_SHIFT);

	if (!all)
		return -ENOMEM;
	rb->ring.page = all;
	rb->data[0] = all + PAGE_SIZE;
	rb->chunk_shift = PAGE_SHIFT + (rb->nr_pages ? ilog2(rb->nr_pages) : 0);
	return 0;
}

static void buffer_free_data(struct perf_buffer *rb)
{
	vfree(rb->ring.page);
}

static inline struct page *buffer_addr_to_page(void *addr)
{
	return vmalloc_to_page(addr);
}

#else

static unsigned int buffer_nr_chunks(unsigned long nr_pages)
{
	return nr_pages;
}

static void *buffer_alloc_page(int node)
{
	struct page *page = alloc_pages_node(node, BUFFER_GFP, 0);

	return page ? page_address(page) : NULL;
}

static void buffer_free_data(struct perf_buffer *rb)
{
	for (unsigned int i = 0; i < rb->nr_chunks && rb->data[i]; i++)
		__free_page(virt_to_page(rb->data[i]));
	free_page((unsigned long)rb->ring.page);
}

/* While pages are being allocated @data holds them instead of their addresses. */
static int buffer_alloc_data(struct perf_buffer *rb, int node)
{
	unsigned int nr = 0, had;

	rb->chunk_shift = PAGE_SHIFT;
	rb->ring.page = buffer_alloc_page(node);
	if (!rb->ring.page)
		return -ENOMEM;

	while (nr < rb->nr_chunks) {
		had = nr;
		nr += alloc_pages_bulk_array_node(BUFFER_GFP, node, rb->nr_chunks - had,
						  (struct page **)&rb->data[had]);
		for (unsigned int i = had; i < nr; i++)
			rb->data[i] = page_address(rb->data[i]);
		if (nr == had) {
			buffer_free_data(rb);
			return -ENOMEM;
		}
	}
	return 0;
}

static inline struct page *buffer_addr_to_page(void *addr)
{
	return virt_to_page(addr);
}

#endif

/*
 * Bytes between two wake-ups. A watermark that is not smaller than the buffer would never be
 * reached, because a buffer is never filled completely.
 */
static unsigned long buffer_watermark(const struct perf_event *event, unsigned long size)
{
	unsigned long watermark = event->attr.watermark ? event->attr.wakeup_watermark : 0;

	return watermark && watermark < size ? watermark : max(size / 2, 1UL);
}

/**
 * perf_buffer_alloc - allocate a buffer
 * @event: event to allocate the buffer for
 * @nr_pages: data pages; a power of two, or 0
 * @writable: the reader writes data_tail; else old records are overwritten
 *
 * Context: may sleep
 * Return: a buffer without events and with one reference; NULL if there is no memory
 */
struct perf_buffer *perf_buffer_alloc(struct perf_event *event, unsigned long nr_pages,
				      bool writable)
{
	int node = buffer_node(event);
	struct perf_buffer *rb;

	if (nr_pages > totalram_pages() || nr_pages > INT_MAX)
		return NULL;

	rb = kvzalloc_node(struct_size(rb, data, max(buffer_nr_chunks(nr_pages), 1U)),
			   GFP_KERNEL | __GFP_NOWARN, node);
	if (!rb)
		return NULL;

	rb->nr_pages = nr_pages;
	rb->nr_chunks = buffer_nr_chunks(nr_pages);
	rb->paused = !nr_pages;
	rb->ring.size = nr_pages << PAGE_SHIFT;
	rb->ring.watermark = buffer_watermark(event, rb->ring.size);
	rb->ring.wake_at = rb->ring.watermark;
	rb->ring.overwrite = !writable;
	rb->ring.backward = is_write_backward(event);
	refcount_set(&rb->refcount, 1);
	INIT_LIST_HEAD(&rb->events);

	if (buffer_alloc_data(rb, node)) {
		kvfree(rb);
		return NULL;
	}
	return rb;
}

static void buffer_free(struct perf_buffer *rb)
{
	buffer_free_data(rb);
	kvfree(rb);
}

static void buffer_free_work(struct work_struct *work)
{
	buffer_free(container_of(work, struct perf_buffer, free_work));
}

/* Freeing many pages takes too long for an interrupt. */
static void buffer_free_rcu(struct rcu_head *head)
{
	struct perf_buffer *rb = container_of(head, struct perf_buffer, free_rcu);

	if (rb->nr_pages <= FREE_AT_ONCE) {
		buffer_free(rb);
		return;
	}
	INIT_WORK(&rb->free_work, buffer_free_work);
	queue_work(system_unbound_wq, &rb->free_work);
}

/**
 * perf_buffer_get - take a reference to a buffer
 * @rb: buffer that has a reference already
 *
 * Context: any
 */
void perf_buffer_get(struct perf_buffer *rb)
{
	refcount_inc(&rb->refcount);
}

/**
 * perf_buffer_put - drop a reference to a buffer
 * @rb: the buffer; the last reference frees it after a grace period
 *
 * Context: any but NMI
 */
void perf_buffer_put(struct perf_buffer *rb)
{
	if (!refcount_dec_and_test(&rb->refcount))
		return;

	WARN_ON_ONCE(!list_empty(&rb->events) || rcu_access_pointer(rb->aux));
	call_rcu(&rb->free_rcu, buffer_free_rcu);
}

static struct page *aux_page(const struct perf_aux *aux, unsigned long pgoff)
{
	if (!aux || pgoff < aux->pgoff || pgoff - aux->pgoff >= aux->nr_pages)
		return NULL;
	return virt_to_page(aux->pages[pgoff - aux->pgoff]);
}

/**
 * perf_buffer_page - find a page of a mapped buffer
 * @rb: the buffer
 * @pgoff: page offset in the event's file
 *
 * Context: process context
 * Return: the page of the buffer or of its AUX area; NULL if there is none
 */
struct page *perf_buffer_page(struct perf_buffer *rb, unsigned long pgoff)
{
	unsigned long at;

	if (!pgoff)
		return buffer_addr_to_page(rb->ring.page);
	if (pgoff > rb->nr_pages)	/* the mapping keeps the area from being freed */
		return aux_page(rcu_dereference_protected(rb->aux, true), pgoff);

	at = (pgoff - 1) << PAGE_SHIFT;
	return buffer_addr_to_page(rb->data[at >> perf_buffer_chunk_shift(rb)] +
				   (at & ((1UL << perf_buffer_chunk_shift(rb)) - 1)));
}

/* Allocates at most 2^@order contiguous pages. Returns the order of the piece, or -1. */
static int aux_alloc_piece(struct perf_aux *aux, int node, int order)
{
	struct page *page;

	for (;;) {
		page = alloc_pages_node(node, BUFFER_GFP | (order ? __GFP_NORETRY : 0), order);
		if (page)
			break;
		if (!order--)
			return -1;
	}

	if (order) {
		split_page(page, order);
		SetPagePrivate(page);
		set_page_private(page, order);
	}
	for (int i = 0; i < 1 << order; i++)
		aux->pages[aux->nr_pages++] = page_address(page + i);
	return order;
}

static void aux_free_pages(struct perf_aux *aux)
{
	for (int i = 0; i < aux->nr_pages; i++) {
		struct page *page = virt_to_page(aux->pages[i]);

		ClearPagePrivate(page);
		set_page_private(page, 0);
		__free_page(page);
	}
	kvfree(aux->pages);
}

/*
 * Order of the largest piece. A driver without scatter-gather gets one contiguous piece if the area
 * is overwritten. If the area is read while it is written there are two pieces, or more where
 * memory is fragmented: one to fill, and one to be read.
 */
static int aux_max_order(const struct perf_event *event, unsigned long nr_pages, bool writable)
{
	int caps = event->pmu->capabilities;
	int order = ilog2(nr_pages);

	if (!(caps & (PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_AUX_PREFER_LARGE)))
		return 0;
	if ((caps & PERF_PMU_CAP_AUX_NO_SG) && writable && order)
		order--;
	return min(order, MAX_PAGE_ORDER);
}

static int aux_fill(struct perf_aux *aux, struct perf_event *event, unsigned long nr_pages)
{
	bool contiguous = event->pmu->capabilities & PERF_PMU_CAP_AUX_NO_SG;
	int max_order = aux_max_order(event, nr_pages, !aux->overwrite);
	int order;

	while (aux->nr_pages < nr_pages) {
		order = min_t(int, max_order, ilog2(nr_pages - aux->nr_pages));
		order = aux_alloc_piece(aux, buffer_node(event), order);
		if (order < 0)
			return perf_refuse(-ENOMEM, "mmap: no memory for %llu AUX pages", nr_pages);
		if (contiguous && aux->overwrite && order != ilog2(nr_pages))
			return perf_refuse(-ENOMEM,
					   "mmap: no %llu contiguous AUX pages", nr_pages);
	}
	return 0;
}

/**
 * perf_aux_alloc - allocate an AUX area and let the driver prepare it
 * @event: event of an AUX PMU
 * @pgoff: page offset in the event's file at which the area will be mapped
 * @nr_pages: size, pages; a power of two
 * @writable: the reader writes aux_tail; else the area is overwritten
 *
 * Context: may sleep
 * Return: the area, or an ERR_PTR after perf_refuse(): -ENOMEM
 */
struct perf_aux *perf_aux_alloc(struct perf_event *event, unsigned long pgoff,
				unsigned long nr_pages, bool writable)
{
	struct perf_aux *aux;
	int ret = -ENOMEM;

	if (nr_pages > totalram_pages() || nr_pages > INT_MAX)
		return ERR_PTR(perf_refuse(-ENOMEM, "mmap: no memory for %llu AUX pages",
					   nr_pages));

	aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	if (!aux)
		return ERR_PTR(perf_refuse(-ENOMEM, "mmap: no memory"));

	aux->pages = kvcalloc(nr_pages, sizeof(*aux->pages), GFP_KERNEL | __GFP_NOWARN);
	if (!aux->pages) {
		perf_refuse(ret, "mmap: no memory for %llu AUX pages", nr_pages);
		goto err;
	}
	aux->pgoff = pgoff;
	aux->overwrite = !writable;
	aux->watermark = event->attr.aux_watermark ?: nr_pages << (PAGE_SHIFT - 1);

	ret = aux_fill(aux, event, nr_pages);
	if (ret)
		goto err;

	aux->priv = event->pmu->setup_aux(event, aux->pages, nr_pages, aux->overwrite);
	if (!aux->priv) {
		ret = perf_refuse(-ENOMEM, "mmap: the PMU cannot use such an AUX area");
		goto err;
	}
	aux->free = event->pmu->free_aux;
	aux->pmu = event->pmu;
	return aux;
err:
	aux_free_pages(aux);
	kfree(aux);
	return ERR_PTR(ret);
}

static void aux_free_work(struct work_struct *work)
{
	struct perf_aux *aux = container_of(to_rcu_work(work), struct perf_aux, free_work);

	aux_free_pages(aux);
	kfree(aux);
}

/**
 * perf_aux_free - free an AUX area
 * @aux: the area; no driver writes to it any more, but a sample may still be copied from it
 *
 * The driver's part is freed immediately, while the caller's event keeps the driver loaded.
 *
 * Context: may sleep
 */
void perf_aux_free(struct perf_aux *aux)
{
	aux->free(aux->priv);
	INIT_RCU_WORK(&aux->free_work, aux_free_work);
	queue_rcu_work(system_unbound_wq, &aux->free_work);
}
