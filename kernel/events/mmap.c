// SPDX-License-Identifier: GPL-2.0
/*
 * mmap(2) of an event: the buffer's life as user space steers it, and who pays.
 *
 * Page offset 0 maps the first page and 2^n data pages, and creates them the first time. The AUX
 * area is mapped at the offset and size that the user has written into the first page. All pages
 * are mapped at once, so that reading a counter or a record takes no fault; the fault handler
 * serves those that were dropped by madvise(2) or did not fit. Only the first page can be written
 * to by the user. A mapping cannot be grown or split, and is not inherited by fork unless madvise(2)
 * asks for it.
 *
 * Pages are charged to the allowance of the user, perf_event_mlock_kb for each CPU that is online,
 * and beyond it to the address space, within RLIMIT_MEMLOCK. What was charged is remembered with
 * the buffer, and goes back to exactly where it came from, whoever unmaps last.
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

#include "buffer.h"
#include "engine.h"

#define INSERT_BATCH 16

/* Pages of every user that perf_event_mlock_kb allows. */
static unsigned long user_allowance(void)
{
	unsigned long kb = max(READ_ONCE(sysctl_perf_event_mlock), 0);

	return (kb >> (PAGE_SHIFT - 10)) * num_online_cpus();
}

static void uncharge(struct perf_mlock *charge)
{
	if (!charge->user)
		return;
	atomic_long_sub(charge->gift, &charge->user->perf_mlock);
	atomic64_sub(charge->pinned, &charge->mm->pinned_vm);
	free_uid(charge->user);
	mmdrop(charge->mm);
	charge->user = NULL;
}

/* Until it is known whether a charge stands, nobody else is judged by it. */
static DEFINE_MUTEX(charge_mutex);

/* Takes what it can from the allowance; the rest is pinned. Fills in @charge, or says why not. */
static int charge_pages(struct perf_mlock *charge, struct mm_struct *mm, unsigned long pages)
{
	struct user_struct *user = current_user();
	unsigned long allowance = user_allowance(), limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long used, pinned;

	guard(mutex)(&charge_mutex);
	used = atomic_long_add_return(pages, &user->perf_mlock);
	charge->pinned = used > allowance ? min(used - allowance, pages) : 0;
	charge->gift = pages - charge->pinned;
	atomic_long_sub(charge->pinned, &user->perf_mlock);
	pinned = atomic64_add_return(charge->pinned, &mm->pinned_vm);

	charge->user = get_uid(user);
	charge->mm = mm;
	mmgrab(mm);

	if (!charge->pinned || pinned <= limit || !perf_is_paranoid() || capable(CAP_IPC_LOCK))
		return 0;

	pages = charge->pinned;
	uncharge(charge);
	return perf_refuse(-EPERM,
			   "mmap: %llu pages over perf_event_mlock_kb, RLIMIT_MEMLOCK is %llu pages",
			   pages, limit);
}

/* Context side of a mapping: a user page that is mapped is brought up to date at every switch. */
struct mapping_change {
	struct perf_event	*event;
	int			delta;
};

static int count_mapped(struct perf_event_context *ctx, void *arg)
{
	struct mapping_change *change = arg;

	ctx->nr_mapped += change->delta;
	ctx->plain_pages |= !perf_pmu_has_counters(change->event->pmu);
	if (!ctx->nr_mapped)
		ctx->plain_pages = false;
	perf_event_update_userpage(change->event);
	return 0;
}

/* The event's first mapping has come, or its last has gone. */
static void note_mapped(struct perf_event *event, int delta)
{
	struct mapping_change change = { .event = event, .delta = delta };

	perf_ctx_call(event->ctx, count_mapped, &change);
}

static void tell_driver_mapped(struct perf_event *event, struct mm_struct *mm)
{
	if (event->pmu->event_mapped)
		event->pmu->event_mapped(event, mm);
}

static bool is_aux_mapping(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff;
}

static struct perf_buffer *locked_rb(struct perf_event *event)
{
	return rcu_dereference_protected(event->rb, lockdep_is_held(&perf_buffers_lock));
}

static struct perf_aux *locked_aux(struct perf_buffer *rb)
{
	return rcu_dereference_protected(rb->aux, lockdep_is_held(&perf_buffers_lock));
}

/* One more mapping. perf_buffers_lock. */
static void count_mapping(struct perf_event *event, struct perf_buffer *rb, bool aux)
{
	perf_buffer_get(rb);
	rb->mmap_count++;
	atomic_inc(&event->mmap_count);
	if (aux)
		locked_aux(rb)->mmap_count++;
}

/* Is it mapped by another process than the one that it counts? */
static bool is_abroad(const struct perf_event *event, const struct vm_area_struct *vma)
{
	return event->hw.target && READ_ONCE(event->hw.target->mm) != vma->vm_mm;
}

/*
 * A copy of the mapping: it is being moved, and the original will be closed; or it has been told to be
 * inherited, and belongs to another process.
 */
static void mapping_open(struct vm_area_struct *vma)
{
	struct perf_event *event = vma->vm_file->private_data;
	struct perf_buffer *rb = vma->vm_private_data;
	bool abroad;

	scoped_guard(spinlock, &perf_buffers_lock) {
		count_mapping(event, rb, is_aux_mapping(vma));
		abroad = !is_aux_mapping(vma) && rb->page_event == event && is_abroad(event, vma);
		if (abroad)
			WRITE_ONCE(rb->page_abroad, true);
	}
	if (abroad)
		note_mapped(event, 0);
	tell_driver_mapped(event, vma->vm_mm);
}

/*
 * The AUX area's last mapping goes: from now on no driver begins to use it [stop]; those that do
 * are stopped. event->mmap_mutex.
 */
static void aux_unmapped(struct perf_event *event, struct perf_buffer *rb)
{
	struct perf_aux *aux;

	scoped_guard(spinlock, &perf_buffers_lock) {
		aux = locked_aux(rb);
		if (--aux->mmap_count)
			return;
	}

	perf_aux_stop(event, aux);
	uncharge(&aux->charge);
	if (WARN_ON_ONCE(local_read(&aux->busy))) {
		perf_buffer_get(rb);	/* better lost than written to by a device when it is free */
		return;
	}
	scoped_guard(spinlock, &perf_buffers_lock)
		RCU_INIT_POINTER(rb->aux, NULL);
	perf_aux_free(aux);
}

/* One mapping less. True if it was the buffer's last. */
static bool drop_mapping(struct perf_event *event, struct perf_buffer *rb, bool *event_last)
{
	struct perf_event *each, *next;

	guard(spinlock)(&perf_buffers_lock);
	*event_last = atomic_dec_and_test(&event->mmap_count);
	if (*event_last)
		perf_buffer_detach(event);

	if (--rb->mmap_count)
		return false;
	list_for_each_entry_safe(each, next, &rb->events, rb_entry)
		perf_buffer_detach(each);
	return true;
}

static void mapping_close(struct vm_area_struct *vma)
{
	struct perf_event *event = vma->vm_file->private_data;
	struct perf_buffer *rb = vma->vm_private_data;
	bool last, event_last;

	if (event->pmu->event_unmapped)
		event->pmu->event_unmapped(event, vma->vm_mm);

	scoped_guard(mutex, &event->mmap_mutex) {
		if (is_aux_mapping(vma))
			aux_unmapped(event, rb);
		last = drop_mapping(event, rb, &event_last);
		if (event_last && has_aux(event))
			perf_aux_restart(event);
	}
	if (event_last)
		note_mapped(event, -1);
	if (last)
		uncharge(&rb->charge);
	else if (event_last)
		perf_event_forget_userpage(rb);
	perf_buffer_put(rb);
}

/* Positions mean something only in the whole of a mapping. */
static int mapping_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return perf_refuse(-EINVAL, "munmap: a buffer is unmapped, moved or protected as a whole");
}

static vm_fault_t mapping_fault(struct vm_fault *vmf)
{
	struct page *page = perf_buffer_page(vmf->vma->vm_private_data, vmf->pgoff);

	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

/* The user writes positions, to the first page, and nothing else. */
static vm_fault_t mapping_mkwrite(struct vm_fault *vmf)
{
	if (vmf->pgoff)
		return VM_FAULT_SIGBUS;
	lock_page(vmf->page);
	return VM_FAULT_LOCKED;
}

static const struct vm_operations_struct mapping_ops = {
	.open		= mapping_open,
	.close		= mapping_close,
	.may_split	= mapping_may_split,
	.fault		= mapping_fault,
	.page_mkwrite	= mapping_mkwrite,
};

/* The rest of the pages; where it fails, faults will do. */
static void insert_pages(struct vm_area_struct *vma, struct perf_buffer *rb, unsigned long first)
{
	struct page *batch[INSERT_BATCH];
	unsigned long at, n, left;

	for (at = first; at < vma_pages(vma); at += n) {
		n = min_t(unsigned long, vma_pages(vma) - at, INSERT_BATCH);
		for (unsigned long i = 0; i < n; i++)
			batch[i] = perf_buffer_page(rb, vma->vm_pgoff + at + i);
		left = n;
		if (vm_insert_pages(vma, vma->vm_start + (at << PAGE_SHIFT), batch, &left))
			return;
		cond_resched();
	}
}

/*
 * Nothing can fail any more. The first page is inserted with the protection the mapping was made
 * with, all others with what is left of it when writes are to be noticed.
 */
static void finish_mapping(struct vm_area_struct *vma, struct perf_event *event,
			   struct perf_buffer *rb)
{
	unsigned long first = 0;

	vma->vm_private_data = rb;
	vma->vm_ops = &mapping_ops;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);

	if (!is_aux_mapping(vma) &&
	    !vm_insert_page(vma, vma->vm_start, perf_buffer_page(rb, 0)))
		first = 1;
	vma_set_page_prot(vma);
	insert_pages(vma, rb, first);

	tell_driver_mapped(event, vma->vm_mm);
	if (atomic_read(&event->mmap_count) == 1)
		note_mapped(event, 1);
}

/* The buffer that the event has already, mapped once more; NULL if it has none. */
static struct perf_buffer *map_again(struct perf_event *event, const struct vm_area_struct *vma,
				     unsigned long nr_pages)
{
	struct perf_buffer *rb;

	guard(spinlock)(&perf_buffers_lock);
	rb = locked_rb(event);
	if (!rb)
		return NULL;
	if (rb->nr_pages != nr_pages)
		return ERR_PTR(perf_refuse(-EINVAL,
					   "mmap: the buffer exists and has %llu data pages",
					   rb->nr_pages));
	count_mapping(event, rb, false);
	if (rb->page_event != event)
		WRITE_ONCE(rb->page_event, NULL);
	else if (is_abroad(event, vma))
		WRITE_ONCE(rb->page_abroad, true);
	return rb;
}

static struct perf_buffer *map_new(struct perf_event *event, struct vm_area_struct *vma,
				   unsigned long nr_pages)
{
	struct perf_mlock charge;
	struct perf_buffer *rb;
	int ret;

	ret = charge_pages(&charge, vma->vm_mm, nr_pages + 1);
	if (ret)
		return ERR_PTR(ret);

	rb = perf_buffer_alloc(event, nr_pages, vma->vm_flags & VM_WRITE);
	if (!rb) {
		uncharge(&charge);
		return ERR_PTR(perf_refuse(-ENOMEM, "mmap: no memory for %llu data pages",
					   nr_pages));
	}
	rb->charge = charge;
	perf_event_init_userpage(event, rb);
	rb->page_abroad = is_abroad(event, vma);
	/* The reference from its allocation is this mapping's. */
	rb->mmap_count = 1;
	atomic_set(&event->mmap_count, 1);
	perf_buffer_attach(rb, event);
	return rb;
}

static struct perf_buffer *map_data(struct perf_event *event, struct vm_area_struct *vma)
{
	unsigned long nr_pages = vma_pages(vma) - 1;
	struct perf_buffer *rb;

	if (nr_pages && !is_power_of_2(nr_pages))
		return ERR_PTR(perf_refuse(-EINVAL,
					   "mmap: %llu data pages are not a power of 2",
					   nr_pages));
	rb = map_again(event, vma, nr_pages);
	if (!rb)
		return map_new(event, vma, nr_pages);
	if (IS_ERR(rb))
		return rb;
	if (!rb->page_event)
		perf_event_forget_userpage(rb);
	else if (rb->page_abroad)
		note_mapped(event, 0);
	return rb;
}

/* What the user wrote into the first page has to agree with what is mapped. */
static int check_aux(struct perf_event *event, struct perf_buffer *rb, struct vm_area_struct *vma)
{
	u64 offset, size;

	if (!rb)
		return perf_refuse(-EINVAL, "mmap: map the data before the AUX area");

	offset = READ_ONCE(rb->ring.page->aux_offset);
	size = READ_ONCE(rb->ring.page->aux_size);
	if (offset < rb->ring.size + PAGE_SIZE)
		return perf_refuse(-EINVAL, "mmap: aux_offset %llu is inside the data", offset);
	if (offset != (u64)vma->vm_pgoff << PAGE_SHIFT)
		return perf_refuse(-EINVAL, "mmap: aux_offset %llu is not the offset mapped", offset);
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
 * The AUX area that is there already, mapped once more; 1 if there is none. A buffer to which the
 * event was redirected can go away until it is looked at under the lock.
 */
static int map_aux_again(struct perf_event *event, struct perf_buffer *rb,
			 struct vm_area_struct *vma)
{
	struct perf_aux *aux = locked_aux(rb);

	if (locked_rb(event) != rb)
		return perf_refuse(-EINVAL, "mmap: the data were unmapped meanwhile");
	if (!aux)
		return 1;
	if (aux->pmu != event->pmu)
		return perf_refuse(-EINVAL, "mmap: the AUX area is another PMU's");
	if (!aux->mmap_count || aux->pgoff != vma->vm_pgoff || aux->nr_pages != vma_pages(vma))
		return perf_refuse(-EINVAL, "mmap: the AUX area exists, elsewhere or of another size");
	count_mapping(event, rb, true);
	return 0;
}

/* Makes it, unless somebody else was faster. */
static int map_aux_new(struct perf_event *event, struct perf_buffer *rb,
		       struct vm_area_struct *vma)
{
	struct perf_mlock charge;
	struct perf_aux *aux;
	int ret;

	ret = charge_pages(&charge, vma->vm_mm, vma_pages(vma));
	if (ret)
		return ret;

	aux = perf_aux_alloc(event, vma->vm_pgoff, vma_pages(vma), vma->vm_flags & VM_WRITE);
	if (IS_ERR(aux)) {
		uncharge(&charge);
		return PTR_ERR(aux);
	}

	scoped_guard(spinlock, &perf_buffers_lock) {
		ret = map_aux_again(event, rb, vma);
		if (ret > 0) {
			aux->charge = charge;
			rcu_assign_pointer(rb->aux, aux);
			count_mapping(event, rb, true);
			return 0;
		}
	}
	uncharge(&charge);
	perf_aux_free(aux);
	return ret;
}

static struct perf_buffer *map_aux(struct perf_event *event, struct vm_area_struct *vma)
{
	struct perf_buffer *rb;
	int ret;

	scoped_guard(spinlock, &perf_buffers_lock) {
		rb = locked_rb(event);
		if (rb)
			perf_buffer_get(rb);
	}
	ret = check_aux(event, rb, vma);
	if (!ret) {
		scoped_guard(spinlock, &perf_buffers_lock)
			ret = map_aux_again(event, rb, vma);
	}
	if (ret > 0)
		ret = map_aux_new(event, rb, vma);
	if (rb)
		perf_buffer_put(rb);
	return ret ? ERR_PTR(ret) : rb;
}

/**
 * perf_event_mmap_file - mmap(2) of an event's file
 * @file: the file
 * @vma: what is to be mapped
 *
 * Context: mm->mmap_lock for writing
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
	rb = is_aux_mapping(vma) ? map_aux(event, vma) : map_data(event, vma);
	if (IS_ERR(rb))
		return PTR_ERR(rb);
	finish_mapping(vma, event, rb);
	return 0;
}
