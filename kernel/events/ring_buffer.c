// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of buffers and of AUX areas.
 *
 * A buffer is a first page that the user and the kernel talk through, and 2^n pages of data (or
 * none). Where the processor's caches do not care by which address a page is used, they are single
 * pages; elsewhere, CONFIG_PERF_USE_VMALLOC, one piece of vmalloc memory, whose kernel and user
 * addresses have the same colour.
 *
 * An AUX area is written by a device, so its pages come in as large pieces as its driver wants.
 * The first page of each piece carries the size of the piece in page_private().
 *
 * Allocation is in process context, without waking the out-of-memory killer: the caller is told
 * instead. Freeing goes through a grace period to a work queue, so the last reference may be put
 * anywhere but in NMI. No locks.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "buffer.h"

#define BUFFER_GFP (GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static int event_node(const struct perf_event *event)
{
	return event->cpu < 0 ? NUMA_NO_NODE : cpu_to_node(event->cpu);
}

#ifdef CONFIG_PERF_USE_VMALLOC

static unsigned int chunks_of(unsigned long nr_pages)
{
	return nr_pages ? 1 : 0;
}

/* The first page and the data in one piece. */
static int alloc_data(struct perf_buffer *rb, int node)
{
	void *all = vmalloc_user((rb->nr_pages + 1UL) << PAGE_SHIFT);

	if (!all)
		return -ENOMEM;
	rb->ring.page = all;
	rb->data[0] = all + PAGE_SIZE;
	rb->chunk_shift = PAGE_SHIFT + (rb->nr_pages ? ilog2(rb->nr_pages) : 0);
	return 0;
}

static void free_data(struct perf_buffer *rb)
{
	vfree(rb->ring.page);
}

static struct page *page_of(void *addr)
{
	return vmalloc_to_page(addr);
}

#else

static unsigned int chunks_of(unsigned long nr_pages)
{
	return nr_pages;
}

static void *alloc_one(int node)
{
	struct page *page = alloc_pages_node(node, BUFFER_GFP, 0);

	return page ? page_address(page) : NULL;
}

static void free_data(struct perf_buffer *rb)
{
	for (unsigned int i = 0; i < rb->nr_chunks && rb->data[i]; i++)
		free_page((unsigned long)rb->data[i]);
	free_page((unsigned long)rb->ring.page);
}

static int alloc_data(struct perf_buffer *rb, int node)
{
	rb->chunk_shift = PAGE_SHIFT;
	rb->ring.page = alloc_one(node);
	if (!rb->ring.page)
		return -ENOMEM;

	for (unsigned int i = 0; i < rb->nr_chunks; i++) {
		rb->data[i] = alloc_one(node);
		if (!rb->data[i]) {
			free_data(rb);
			return -ENOMEM;
		}
	}
	return 0;
}

static struct page *page_of(void *addr)
{
	return virt_to_page(addr);
}

#endif

/*
 * Every watermark bytes the reader is woken. More than the buffer would be never; so is all of it,
 * because a buffer does not fill to the last byte.
 */
static unsigned long data_watermark(const struct perf_event *event, unsigned long size)
{
	unsigned long watermark = event->attr.watermark ? event->attr.wakeup_watermark : 0;

	return watermark && watermark < size ? watermark : max(size / 2, 1UL);
}

/**
 * perf_buffer_alloc - allocate a buffer
 * @event: event it is for
 * @nr_pages: data pages; a power of two, or 0
 * @writable: the reader says what it has read; else old records are overwritten
 *
 * Context: may sleep
 * Return: a buffer without events and with one reference, NULL if there is no memory
 */
struct perf_buffer *perf_buffer_alloc(struct perf_event *event, unsigned long nr_pages,
				      bool writable)
{
	int node = event_node(event);
	struct perf_buffer *rb;

	if (nr_pages > totalram_pages() || nr_pages > INT_MAX)
		return NULL;

	rb = kvzalloc_node(struct_size(rb, data, max(chunks_of(nr_pages), 1U)),
			   GFP_KERNEL | __GFP_NOWARN, node);
	if (!rb)
		return NULL;

	rb->nr_pages = nr_pages;
	rb->nr_chunks = chunks_of(nr_pages);
	rb->paused = !nr_pages;
	rb->ring.size = nr_pages << PAGE_SHIFT;
	rb->ring.watermark = data_watermark(event, rb->ring.size);
	rb->ring.wake_at = rb->ring.watermark;
	rb->ring.overwrite = !writable;
	rb->ring.backward = is_write_backward(event);
	refcount_set(&rb->refcount, 1);
	INIT_LIST_HEAD(&rb->events);

	if (alloc_data(rb, node)) {
		kvfree(rb);
		return NULL;
	}
	return rb;
}

static void free_buffer(struct work_struct *work)
{
	struct perf_buffer *rb = container_of(to_rcu_work(work), struct perf_buffer, free_work);

	free_data(rb);
	kvfree(rb);
}

/* Any context but NMI. */
void perf_buffer_put(struct perf_buffer *rb)
{
	if (!refcount_dec_and_test(&rb->refcount))
		return;

	WARN_ON_ONCE(!list_empty(&rb->events) || rcu_access_pointer(rb->aux));
	INIT_RCU_WORK(&rb->free_work, free_buffer);
	queue_rcu_work(system_unbound_wq, &rb->free_work);
}

static struct page *aux_page(const struct perf_aux *aux, unsigned long pgoff)
{
	if (!aux || pgoff < aux->pgoff || pgoff - aux->pgoff >= aux->nr_pages)
		return NULL;
	return virt_to_page(aux->pages[pgoff - aux->pgoff]);
}

/**
 * perf_buffer_page - the page at some place of a mapping
 * @rb: the buffer, mapped there
 * @pgoff: page offset in the file
 *
 * Return: the page, NULL if there is none
 */
struct page *perf_buffer_page(struct perf_buffer *rb, unsigned long pgoff)
{
	unsigned long at;

	if (!pgoff)
		return page_of(rb->ring.page);
	if (pgoff > rb->nr_pages)	/* the mapping keeps the area from going away */
		return aux_page(rcu_dereference_protected(rb->aux, true), pgoff);

	at = (pgoff - 1) << PAGE_SHIFT;
	return page_of(rb->data[at >> perf_buffer_chunk_shift(rb)] +
		       (at & ((1UL << perf_buffer_chunk_shift(rb)) - 1)));
}

/* A piece of at most 2^order pages, cut up; its order, or -1. */
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
 * The largest piece to ask for. A driver that wants one contiguous piece needs two when the area is
 * read while it is traced: one that it fills, one that is being read.
 */
static int aux_max_order(const struct perf_event *event, unsigned long nr_pages, bool writable)
{
	int caps = event->pmu->capabilities;
	int order = ilog2(nr_pages);

	if (!(caps & (PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_AUX_PREFER_LARGE)))
		return 0;
	if ((caps & PERF_PMU_CAP_AUX_NO_SG) && writable)
		order--;
	return min(order, MAX_PAGE_ORDER);
}

static int aux_fill(struct perf_aux *aux, struct perf_event *event, unsigned long nr_pages)
{
	bool contiguous = event->pmu->capabilities & PERF_PMU_CAP_AUX_NO_SG;
	int max_order = aux_max_order(event, nr_pages, !aux->overwrite);
	int order;

	if (max_order < 0)
		return perf_refuse(-EINVAL, "mmap: this PMU needs an AUX area of at least 2 pages");

	while (aux->nr_pages < nr_pages) {
		order = min_t(int, max_order, ilog2(nr_pages - aux->nr_pages));
		order = aux_alloc_piece(aux, event_node(event), order);
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
 * @pgoff: where it will be mapped, pages
 * @nr_pages: pages; a power of two
 * @writable: the reader says what it has read
 *
 * Context: may sleep
 * Return: the area, or an ERR_PTR; the reason has been left with perf_refuse()
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

static void free_aux(struct work_struct *work)
{
	struct perf_aux *aux = container_of(to_rcu_work(work), struct perf_aux, free_work);

	aux_free_pages(aux);
	kfree(aux);
}

/**
 * perf_aux_free - free an AUX area
 * @aux: the area; no driver uses it any more, but a sample may be looking at it still
 *
 * The driver's part goes at once, while the event and with it the driver is certainly there.
 *
 * Context: may sleep
 */
void perf_aux_free(struct perf_aux *aux)
{
	aux->free(aux->priv);
	INIT_RCU_WORK(&aux->free_work, free_aux);
	queue_rcu_work(system_unbound_wq, &aux->free_work);
}
