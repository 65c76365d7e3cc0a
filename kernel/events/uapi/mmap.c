// SPDX-License-Identifier: GPL-2.0
/*
 * mmap(2) of an event: creating, mapping and unmapping its buffer, and accounting of the pages.
 *
 * Page offset 0 maps the user page and 2^n data pages, which the first mapping creates. The AUX
 * area is mapped at the offset and size that user space has written to the user page. The first
 * fault of a data or AUX page inserts all of them: a reader takes one fault, and a mapping that is
 * never read is cheap. User space can write to the user page only. A mapping cannot be grown or
 * split. fork() does not copy it unless madvise(2) has set MADV_DOFORK.
 *
 * Pages are charged to the user up to perf_event_mlock_kb for each online CPU, then to the address
 * space within RLIMIT_MEMLOCK. The charge is stored with the buffer, so that it is returned to the
 * same user and address space, whichever process unmaps last.
 *
 * Locks: mm->mmap_lock for writing, then event->mmap_mutex, then perf_buffers_lock or charge_mutex;
 * see buffer.h.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/security.h>

#include "uapi.h"

#define INSERT_BATCH 16

/* KiB per CPU that each user may map without a charge to RLIMIT_MEMLOCK: 512 and the user page. */
int sysctl_perf_event_mlock __read_mostly = 512 + PAGE_SIZE / 1024;

/* The same for all online CPUs, in pages; no limit if the value is negative. */
static unsigned long mmap_user_allowance(void)
{
	int kb = READ_ONCE(sysctl_perf_event_mlock);

	return kb < 0 ? ULONG_MAX : (unsigned long)(kb >> (PAGE_SHIFT - 10)) * num_online_cpus();
}

static void mmap_uncharge(struct perf_mlock *charge)
{
	if (!charge->user)
		return;
	atomic_long_sub(charge->user_pages, &charge->user->perf_mlock);
	atomic64_sub(charge->mm_pages, &charge->mm->pinned_vm);
	free_uid(charge->user);
	mmdrop(charge->mm);
	charge->user = NULL;
}

/* A charge that exceeds the limit is undone before another charge is compared with it. */
static DEFINE_MUTEX(charge_mutex);

/* Charges @pages to the caller and, beyond its allowance, to @mm. Fills in @charge. */
static int mmap_charge_pages(struct perf_mlock *charge, struct mm_struct *mm, unsigned long pages)
{
	struct user_struct *user = current_user();
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long allowance = mmap_user_allowance();
	unsigned long used, pinned;

	guard(mutex)(&charge_mutex);
	used = atomic_long_add_return(pages, &user->perf_mlock);
	charge->mm_pages = used > allowance ? min(used - allowance, pages) : 0;
	charge->user_pages = pages - charge->mm_pages;
	atomic_long_sub(charge->mm_pages, &user->perf_mlock);
	pinned = atomic64_add_return(charge->mm_pages, &mm->pinned_vm);

	charge->user = get_uid(user);
	charge->mm = mm;
	mmgrab(mm);

	if (!charge->mm_pages || pinned <= limit || !perf_is_paranoid() || capable(CAP_IPC_LOCK))
		return 0;

	pages = charge->mm_pages;
	mmap_uncharge(charge);
	return perf_refuse(-EPERM,
			   "mmap: %llu pages over perf_event_mlock_kb, RLIMIT_MEMLOCK is %llu",
			   pages, limit);
}

/*
 * Sets what perf_event_user_page_mapped() returns: whether the page can be that of the event, which
 * it becomes when others that have it mapped are unmapped. And whether it has data pages, for
 * perf_event_user_page_alone().
 */
static void mmap_set_user_page_mapped(struct perf_event *event)
{
	const struct perf_buffer *rb;
	unsigned int mapped = 0;

	guard(rcu)();
	rb = rcu_dereference(event->rb);
	if (rb && !READ_ONCE(rb->mapped_by_other_mm))
		mapped |= PERF_ATTACH_USER_PAGE;
	if (rb && rb->nr_pages)
		mapped |= PERF_ATTACH_DATA_PAGES;
	/* One store: an NMI reads both. */
	mapped |= event->attach_state & ~(PERF_ATTACH_USER_PAGE | PERF_ATTACH_DATA_PAGES);
	WRITE_ONCE(event->attach_state, mapped);
}

/* -ESTALE: the event has moved to the context of another CPU. */
static int mmap_update_here(struct perf_event_context *ctx, void *arg)
{
	struct perf_event *event = arg;

	if (event->ctx != ctx)
		return -ESTALE;
	mmap_set_user_page_mapped(event);
	perf_event_update_userpage(event);
	return 0;
}

/* User pages that are mapped are updated at each context switch: the context counts them. */
static int mmap_count_here(struct perf_event_context *ctx, void *arg)
{
	struct perf_event *event = arg;

	int ret = mmap_update_here(ctx, event);

	if (!ret) {
		ctx->nr_mapped++;
		ctx->counterless_pages |= !perf_pmu_has_counters(event->pmu);
	}
	return ret;
}

static void mmap_call_ctx(struct perf_event *event, perf_ctx_fn fn)
{
	while (perf_ctx_call_own(READ_ONCE(event->ctx), fn, event) == -ESTALE)
		cpu_relax();
}

/*
 * The event's last mapping was removed, and mmap_mutex keeps others away. There is no page that
 * only the event's CPU can update: ctx->lock is enough.
 */
static void mmap_uncount_in_ctx(struct perf_event *event)
{
	bool done = false;

	lockdep_assert_held(&event->mmap_mutex);
	while (!done) {
		struct perf_event_context *ctx = READ_ONCE(event->ctx);

		guard(perf_irqsave)(&ctx->lock);
		done = event->ctx == ctx;
		if (done) {
			if (!--ctx->nr_mapped)
				ctx->counterless_pages = false;
			event->attach_state &= ~(PERF_ATTACH_USER_PAGE | PERF_ATTACH_DATA_PAGES);
		}
	}
}

static void mmap_notify_driver(struct perf_event *event, struct mm_struct *mm)
{
	if (event->pmu->event_mapped)
		event->pmu->event_mapped(event, mm);
}

static bool mmap_is_aux(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff;
}

static struct perf_aux *mmap_aux_locked(struct perf_buffer *rb)
{
	return rcu_dereference_protected(rb->aux, lockdep_is_held(&perf_buffers_lock));
}

static void mmap_count_vma(struct perf_event *event, struct perf_buffer *rb, bool aux)
{
	lockdep_assert_held(&perf_buffers_lock);
	perf_buffer_get(rb);
	rb->mmap_count++;
	atomic_inc(&event->mmap_count);
	if (aux)
		mmap_aux_locked(rb)->mmap_count++;
}

/* Does another process than the counted one map the event? */
static bool mmap_is_by_other_mm(const struct perf_event *event, const struct vm_area_struct *vma)
{
	return event->hw.target && READ_ONCE(event->hw.target->mm) != vma->vm_mm;
}

/*
 * The mapping is copied: by mremap(), which closes the original, or by fork() after MADV_DOFORK,
 * for another process.
 */
static void mmap_vma_open(struct vm_area_struct *vma)
{
	struct perf_event *event = vma->vm_file->private_data;
	struct perf_buffer *rb = vma->vm_private_data;
	bool other_mm;

	scoped_guard(perf_buffers) {
		mmap_count_vma(event, rb, mmap_is_aux(vma));
		other_mm = !mmap_is_aux(vma) && mmap_is_by_other_mm(event, vma);
		if (other_mm)
			WRITE_ONCE(rb->mapped_by_other_mm, true);
	}
	if (other_mm)
		mmap_call_ctx(event, mmap_update_here);
	mmap_notify_driver(event, vma->vm_mm);
}

/*
 * A mapping of the AUX area is removed. If it is the last, no driver begins to use the area from
 * then on [stop], and the driver that uses it is stopped.
 */
static void mmap_aux_unmapped(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_aux *aux;

	lockdep_assert_held(&event->mmap_mutex);
	scoped_guard(perf_buffers) {
		aux = mmap_aux_locked(rb);
		if (--aux->mmap_count)
			return;
	}

	perf_aux_stop(event, aux);
	mmap_uncharge(&aux->charge);
	if (WARN_ON_ONCE(local_read(&aux->busy))) {
		perf_buffer_get(rb);	/* leak memory that a device may still write to */
		return;
	}
	scoped_guard(perf_buffers) {
		rb->aux_head = aux->head;
		RCU_INIT_POINTER(rb->aux, NULL);
	}
	perf_aux_free(aux);
}

/*
 * The user page is that of the one event that has the buffer mapped, from its next update on; of
 * none if there are several.
 */
static void mmap_find_page_event(struct perf_buffer *rb)
{
	struct perf_event *each, *mapped = NULL;

	list_for_each_entry(each, &rb->events, rb_entry) {
		if (!atomic_read(&each->mmap_count))
			continue;
		if (mapped)
			return;
		mapped = each;
	}
	WRITE_ONCE(rb->page_event, mapped);
}

/*
 * Clears the user page, after page_event was set to NULL and page_clears was raised, which is
 * undone here. The page is an event's again only after all clears: until then nothing else writes
 * it.
 */
static void mmap_clear_page(struct perf_buffer *rb)
{
	synchronize_rcu();
	guard(perf_buffers)();
	perf_event_clear_userpage(rb);
	if (!--rb->page_clears)
		mmap_find_page_event(rb);
}

/*
 * Removes a mapping. True if it was the buffer's last; @event_last is set for the event's,
 * @page_last if the user page was that of the event.
 */
static bool mmap_drop_vma(struct perf_event *event, struct perf_buffer *rb, bool *event_last,
			  bool *page_last)
{
	struct perf_event *each, *next;

	guard(perf_buffers)();
	*event_last = atomic_dec_and_test(&event->mmap_count);
	*page_last = *event_last && rb->page_event == event;
	if (*event_last)
		perf_buffer_detach(event);

	if (--rb->mmap_count) {
		rb->page_clears += *page_last;
		if (*event_last && !rb->page_event && !rb->page_clears)
			mmap_find_page_event(rb);
		return false;
	}
	list_for_each_entry_safe(each, next, &rb->events, rb_entry)
		perf_buffer_detach(each);
	return true;
}

static void mmap_vma_close(struct vm_area_struct *vma)
{
	struct perf_event *event = vma->vm_file->private_data;
	struct perf_buffer *rb = vma->vm_private_data;
	bool last, event_last, page_last;

	if (event->pmu->event_unmapped)
		event->pmu->event_unmapped(event, vma->vm_mm);

	scoped_guard(mutex, &event->mmap_mutex) {
		if (mmap_is_aux(vma))
			mmap_aux_unmapped(event, rb);
		last = mmap_drop_vma(event, rb, &event_last, &page_last);
		if (event_last) {
			mmap_uncount_in_ctx(event);
			if (has_aux(event))
				perf_aux_restart(event);
		}
	}
	if (last)
		mmap_uncharge(&rb->charge);
	else if (page_last)
		mmap_clear_page(rb);
	perf_buffer_put(rb);
}

/* Positions in the user page refer to the whole mapping. */
static int mmap_vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return perf_refuse(-EINVAL, "munmap: a buffer is unmapped, moved or protected as a whole");
}

/*
 * Inserts all pages but the user page. False if one could not be inserted, as it is when there are
 * pages that madvise(2) has not dropped.
 */
static bool mmap_insert_pages(struct vm_area_struct *vma, struct perf_buffer *rb)
{
	unsigned long at = mmap_is_aux(vma) ? 0 : 1, n, left;
	struct page *batch[INSERT_BATCH];

	for (; at < vma_pages(vma); at += n) {
		n = min_t(unsigned long, vma_pages(vma) - at, INSERT_BATCH);
		for (unsigned long i = 0; i < n; i++)
			batch[i] = perf_buffer_page(rb, vma->vm_pgoff + at + i);
		left = n;
		if (vm_insert_pages(vma, vma->vm_start + (at << PAGE_SHIFT), batch, &left))
			return false;
		cond_resched();
	}
	return true;
}

static vm_fault_t mmap_vma_fault(struct vm_fault *vmf)
{
	struct perf_buffer *rb = vmf->vma->vm_private_data;
	struct page *page = perf_buffer_page(rb, vmf->pgoff);

	if (!page)
		return VM_FAULT_SIGBUS;
	if (vmf->pgoff && mmap_insert_pages(vmf->vma, rb))
		return VM_FAULT_NOPAGE;
	get_page(page);
	vmf->page = page;
	return 0;
}

/* User space writes positions to the user page only. */
static vm_fault_t mmap_vma_mkwrite(struct vm_fault *vmf)
{
	if (vmf->pgoff)
		return VM_FAULT_SIGBUS;
	lock_page(vmf->page);
	return VM_FAULT_LOCKED;
}

static const struct vm_operations_struct mmap_vm_ops = {
	.open		= mmap_vma_open,
	.close		= mmap_vma_close,
	.may_split	= mmap_vma_may_split,
	.fault		= mmap_vma_fault,
	.page_mkwrite	= mmap_vma_mkwrite,
};

/* Cannot fail. All pages will be inserted write-protected, so that page_mkwrite is called. */
static void mmap_finish(struct vm_area_struct *vma, struct perf_event *event,
			struct perf_buffer *rb)
{
	vma->vm_private_data = rb;
	vma->vm_ops = &mmap_vm_ops;
	/* VM_MIXEDMAP: the fault handler may not change flags. */
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP);
	vma_set_page_prot(vma);

	mmap_notify_driver(event, vma->vm_mm);
	if (atomic_read(&event->mmap_count) == 1)
		mmap_call_ctx(event, mmap_count_here);
}

/* Maps the buffer that the event has. NULL if it has none. @shared: the page has to be cleared. */
static struct perf_buffer *mmap_data_again(struct perf_event *event,
					   const struct vm_area_struct *vma,
					   unsigned long nr_pages, bool *shared)
{
	struct perf_buffer *rb;

	guard(perf_buffers)();
	rb = perf_event_rb_locked(event);
	if (!rb)
		return NULL;
	if (rb->nr_pages != nr_pages)
		return ERR_PTR(perf_refuse(-EINVAL,
					   "mmap: the buffer exists and has %llu data pages",
					   rb->nr_pages));
	mmap_count_vma(event, rb, false);
	*shared = rb->page_event != event;
	if (*shared) {
		WRITE_ONCE(rb->page_event, NULL);
		rb->page_clears++;
	}
	if (mmap_is_by_other_mm(event, vma))
		WRITE_ONCE(rb->mapped_by_other_mm, true);
	return rb;
}

static struct perf_buffer *mmap_data_new(struct perf_event *event, struct vm_area_struct *vma,
					 unsigned long nr_pages)
{
	struct perf_mlock charge;
	struct perf_buffer *rb;
	int ret;

	ret = mmap_charge_pages(&charge, vma->vm_mm, nr_pages + 1);
	if (ret)
		return ERR_PTR(ret);

	rb = perf_buffer_alloc(event, nr_pages, vma->vm_flags & VM_WRITE);
	if (!rb) {
		mmap_uncharge(&charge);
		return ERR_PTR(perf_refuse(-ENOMEM, "mmap: no memory for %llu data pages",
					   nr_pages));
	}
	rb->charge = charge;
	perf_event_init_userpage(event, rb);
	rb->mapped_by_other_mm = mmap_is_by_other_mm(event, vma);
	/* The mapping takes over the reference of perf_buffer_alloc(). */
	rb->mmap_count = 1;
	atomic_set(&event->mmap_count, 1);
	perf_buffer_attach(rb, event);
	return rb;
}

static struct perf_buffer *mmap_data(struct perf_event *event, struct vm_area_struct *vma)
{
	unsigned long nr_pages = vma_pages(vma) - 1;
	struct perf_buffer *rb;
	bool shared;

	if (nr_pages && !is_power_of_2(nr_pages))
		return ERR_PTR(perf_refuse(-EINVAL,
					   "mmap: %llu data pages are not a power of 2",
					   nr_pages));
	rb = mmap_data_again(event, vma, nr_pages, &shared);
	if (!rb)
		return mmap_data_new(event, vma, nr_pages);
	if (IS_ERR(rb))
		return rb;
	if (shared)
		mmap_clear_page(rb);
	else if (rb->mapped_by_other_mm)
		mmap_call_ctx(event, mmap_update_here);
	return rb;
}

/* The offset and size in the user page must match the mapping. */
static int mmap_check_aux(struct perf_event *event, struct perf_buffer *rb,
			  struct vm_area_struct *vma)
{
	u64 offset, size;

	if (!rb)
		return perf_refuse(-EINVAL, "mmap: map the data before the AUX area");

	offset = READ_ONCE(rb->ring.page->aux_offset);
	size = READ_ONCE(rb->ring.page->aux_size);
	if (offset < rb->ring.size + PAGE_SIZE)
		return perf_refuse(-EINVAL, "mmap: aux_offset %llu is inside the data", offset);
	if (offset != (u64)vma->vm_pgoff << PAGE_SHIFT)
		return perf_refuse(-EINVAL,
				   "mmap: aux_offset %llu is not the offset mapped", offset);
	if (size != vma->vm_end - vma->vm_start)
		return perf_refuse(-EINVAL, "mmap: aux_size %llu is not the size mapped", size);
	if (!is_power_of_2(vma_pages(vma)))
		return perf_refuse(-EINVAL, "mmap: %llu AUX pages are not a power of 2",
				   vma_pages(vma));
	if (!has_aux(event))
		return perf_refuse(-EOPNOTSUPP, "mmap: the PMU has no AUX area");
	return 0;
}

/*
 * Maps the AUX area that the buffer has. 1 if it has none. A buffer to which the event was
 * redirected may have been unmapped before perf_buffers_lock was taken.
 */
static int mmap_aux_again(struct perf_event *event, struct perf_buffer *rb,
			  struct vm_area_struct *vma)
{
	struct perf_aux *aux = mmap_aux_locked(rb);

	if (perf_event_rb_locked(event) != rb)
		return perf_refuse(-EINVAL, "mmap: the data were unmapped meanwhile");
	if (!aux)
		return 1;
	if (aux->pmu != event->pmu)
		return perf_refuse(-EINVAL, "mmap: the AUX area is another PMU's");
	if (!aux->mmap_count || aux->pgoff != vma->vm_pgoff || aux->nr_pages != vma_pages(vma))
		return perf_refuse(-EINVAL, "mmap: the AUX area exists at another offset or size");
	mmap_count_vma(event, rb, true);
	return 0;
}

/* Creates the AUX area. Another caller may create one meanwhile: then that one is mapped. */
static int mmap_aux_new(struct perf_event *event, struct perf_buffer *rb,
			struct vm_area_struct *vma)
{
	struct perf_mlock charge;
	struct perf_aux *aux;
	int ret;

	ret = mmap_charge_pages(&charge, vma->vm_mm, vma_pages(vma));
	if (ret)
		return ret;

	aux = perf_aux_alloc(event, vma->vm_pgoff, vma_pages(vma), vma->vm_flags & VM_WRITE);
	if (IS_ERR(aux)) {
		mmap_uncharge(&charge);
		return PTR_ERR(aux);
	}

	scoped_guard(perf_buffers) {
		ret = mmap_aux_again(event, rb, vma);
		if (ret > 0) {
			aux->charge = charge;
			/* The positions in the user page stay. */
			aux->head = rb->aux_head;
			aux->woken = rounddown(aux->head, aux->watermark);
			rcu_assign_pointer(rb->aux, aux);
			mmap_count_vma(event, rb, true);
			return 0;
		}
	}
	mmap_uncharge(&charge);
	perf_aux_free(aux);
	return ret;
}

static struct perf_buffer *mmap_aux(struct perf_event *event, struct vm_area_struct *vma)
{
	struct perf_buffer *rb;
	int ret;

	scoped_guard(perf_buffers) {
		rb = perf_event_rb_locked(event);
		if (rb)
			perf_buffer_get(rb);
	}
	ret = mmap_check_aux(event, rb, vma);
	if (!ret) {
		scoped_guard(perf_buffers)
			ret = mmap_aux_again(event, rb, vma);
	}
	if (ret > 0)
		ret = mmap_aux_new(event, rb, vma);
	if (rb)
		perf_buffer_put(rb);
	return ret ? ERR_PTR(ret) : rb;
}

/**
 * perf_event_mmap_file - mmap(2) of an event's file
 * @file: file of the event
 * @vma: mapping to be set up
 *
 * Context: process context, mm->mmap_lock is held for writing
 * Return: 0, -EINVAL, -EPERM, -ENOMEM, -EOPNOTSUPP or a security module's error
 */
int perf_event_mmap_file(struct file *file, struct vm_area_struct *vma)
{
	struct perf_event *event = file->private_data;
	struct perf_buffer *rb;
	int ret;

	if (event->cpu == -1 && event->attr.inherit)
		return perf_refuse(-EINVAL, "mmap: an inherited event on any CPU has no buffer");
	if (!(vma->vm_flags & VM_SHARED))
		return perf_refuse(-EINVAL, "mmap: MAP_SHARED is needed");

	ret = security_perf_event_read(event);
	if (ret)
		return perf_refuse(ret, "security module: no mmap");

	guard(mutex)(&event->mmap_mutex);
	rb = mmap_is_aux(vma) ? mmap_aux(event, vma) : mmap_data(event, vma);
	if (IS_ERR(rb))
		return PTR_ERR(rb);
	mmap_finish(vma, event, rb);
	return 0;
}
