// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of events: IOC_SET_FILTER.
 *
 * The filter of a tracing event is an expression of the tracing subsystem. The filter of an
 * instruction trace is a list of
 *
 *	filter START/SIZE[@FILE]	trace only there
 *	start  START[@FILE]		start tracing when execution gets there
 *	stop   START[@FILE]		and stop
 *
 * separated by blanks, commas or newlines. Without FILE, START is a kernel address. With FILE,
 * START is an offset in an object file; an address range results when a task maps that part of the
 * file for execution. The list belongs to the parent event, the address ranges to each inherited
 * event.
 *
 * Locks: perf_addr_filters_head::lock for list, ranges and generation. A driver programs the ranges
 * in pmu::start, so a change of the ranges stops and starts the event on its CPU. A task that maps
 * a file updates the ranges of its events under its context's lock.
 */
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/namei.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "event.h"

/* Number of events with filters that name files. While it is 0, mappings are ignored. */
static atomic_t nr_file_filter_events;

/* ------------------------------------------------------------------- the list */

static void addr_filter_free(struct perf_addr_filter *filter)
{
	path_put(&filter->path);
	list_del(&filter->entry);
	kfree(filter);
}

static noinline void addr_filter_free_list(struct list_head *filters)
{
	struct perf_addr_filter *filter, *next;

	list_for_each_entry_safe(filter, next, filters, entry)
		addr_filter_free(filter);
}

/* Exchanges the event's list with @filters. */
static void addr_filter_swap_lists(struct perf_event *event, struct list_head *filters,
				   unsigned int nr_files)
{
	struct perf_addr_filters_head *head = &event->addr_filters;
	struct list_head old;

	guard(perf_irqsave)(&head->lock);
	if (!head->nr_file_filters != !nr_files)
		atomic_add(nr_files ? 1 : -1, &nr_file_filter_events);
	head->nr_file_filters = nr_files;

	list_replace(&head->list, &old);
	list_replace(filters, &head->list);
	list_replace(&old, filters);
}

/* ---------------------------------------------------------------- the language */

static const struct {
	const char			*word;
	enum perf_addr_filter_action_t	action;
} actions[] = {
	{ "filter",	PERF_ADDR_FILTER_ACTION_FILTER },
	{ "start",	PERF_ADDR_FILTER_ACTION_START },
	{ "stop",	PERF_ADDR_FILTER_ACTION_STOP },
};

static int addr_filter_parse_action(const char *word, struct perf_addr_filter *filter)
{
	for (int i = 0; i < ARRAY_SIZE(actions); i++) {
		if (!strcmp(word, actions[i].word)) {
			filter->action = actions[i].action;
			return 0;
		}
	}
	return perf_refuse(-EINVAL, "filter: an action is filter, start or stop");
}

/* START[/SIZE][@FILE]; @file is set to FILE or NULL. */
static int addr_filter_parse_range(char *text, struct perf_addr_filter *filter, char **file)
{
	char *size;

	*file = text;
	text = strsep(file, "@");
	size = text;
	text = strsep(&size, "/");
	if (kstrtoul(text, 0, &filter->offset) || (size && kstrtoul(size, 0, &filter->size)))
		return perf_refuse(-EINVAL, "filter: a range is START[/SIZE][@FILE]");
	if (filter->offset + filter->size < filter->offset)
		return perf_refuse(-EINVAL, "filter: the range wraps around");
	if (filter->action == PERF_ADDR_FILTER_ACTION_FILTER && !filter->size)
		return perf_refuse(-EINVAL, "filter: the action filter needs a size");
	if (*file && !**file)
		return perf_refuse(-EINVAL, "filter: no file name after @");
	return 0;
}

static int addr_filter_resolve_file(struct perf_event *event, struct perf_addr_filter *filter,
				    char *file)
{
	int ret;

	if (!(event->attach_state & PERF_ATTACH_TASK))
		return perf_refuse(-EOPNOTSUPP, "filter: a file needs an event of a task");
	ret = kern_path(file, LOOKUP_FOLLOW, &filter->path);
	if (ret)
		return perf_refuse(ret, "filter: the file cannot be found");
	if (!d_is_reg(filter->path.dentry))
		return perf_refuse(-EINVAL, "filter: not a regular file");
	return 0;
}

static char *addr_filter_next_word(char **text)
{
	char *word;

	do {
		word = strsep(text, " ,\n");
	} while (word && !*word);
	return word;
}

static int addr_filter_parse_one(struct perf_event *event, struct perf_addr_filter *filter,
				 char *action, char *range)
{
	char *file;
	int ret = addr_filter_parse_action(action, filter);

	if (ret)
		return ret;
	if (!range)
		return perf_refuse(-EINVAL, "filter: an action needs a range");
	ret = addr_filter_parse_range(range, filter, &file);
	if (ret)
		return ret;
	if (file)
		return addr_filter_resolve_file(event, filter, file);
	if (event->attr.exclude_kernel)
		return perf_refuse(-EINVAL, "filter: a kernel address, but exclude_kernel is set");
	return 0;
}

/* On failure @filters holds what was parsed so far. */
static int addr_filter_parse_list(struct perf_event *event, char *text, struct list_head *filters)
{
	struct perf_addr_filter *filter;
	unsigned int nr = 0;
	char *action;
	int ret;

	while ((action = addr_filter_next_word(&text))) {
		if (nr++ == event->pmu->nr_addr_filters)
			return perf_refuse(-EOPNOTSUPP, "filter: the PMU has only %llu",
					   event->pmu->nr_addr_filters);
		filter = kzalloc(sizeof(*filter), GFP_KERNEL);
		if (!filter)
			return perf_refuse(-ENOMEM, "filter: no memory");
		list_add_tail(&filter->entry, filters);
		ret = addr_filter_parse_one(event, filter, action, addr_filter_next_word(&text));
		if (ret)
			return ret;
	}
	return 0;
}

/* ----------------------------------------------------------------- the ranges */

/* Sets @range to the part of the filter that lies in @vma. False if there is none. */
static bool addr_filter_in_vma(const struct perf_addr_filter *filter, struct vm_area_struct *vma,
			       struct perf_addr_filter_range *range)
{
	u64 begin = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 end = begin + (vma->vm_end - vma->vm_start);
	u64 from = max_t(u64, filter->offset, begin);
	u64 to = min_t(u64, filter->offset + filter->size, end);

	if (!vma->vm_file || !(vma->vm_flags & VM_EXEC) || !filter->path.dentry ||
	    file_user_inode(vma->vm_file) != d_inode(filter->path.dentry))
		return false;
	if (filter->size ? from >= to : (filter->offset < begin || filter->offset >= end))
		return false;
	range->start = vma->vm_start + (from - begin);
	range->size = filter->size ? to - from : 0;
	return true;
}

/* The parent's addr_filters.lock is held. */
static void addr_filter_ranges_changed(struct perf_event *event)
{
	lockdep_assert_held(&perf_event_addr_filters(event)->lock);
	event->addr_filters_gen++;
}

static void addr_filter_find_range(struct perf_addr_filter *filter, struct mm_struct *mm,
				   struct perf_addr_filter_range *range)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		if (addr_filter_in_vma(filter, vma, range))
			return;
	}
}

/*
 * @mm is locked for reading, or NULL. False if the task has a new mm: exec has computed ranges for
 * that one, which must not be overwritten.
 */
static bool addr_filter_find_ranges(struct perf_event *event, struct mm_struct *mm)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct perf_addr_filter *filter;

	guard(perf_irqsave)(&head->lock);
	if (mm && READ_ONCE(event->hw.target->mm) != mm)
		return false;
	list_for_each_entry(filter, &head->list, entry) {
		*range = (struct perf_addr_filter_range){};
		if (!filter->path.dentry)
			*range = (struct perf_addr_filter_range){ filter->offset, filter->size };
		else if (mm)
			addr_filter_find_range(filter, mm, range);
		range++;
	}
	addr_filter_ranges_changed(event);
	return true;
}

/* Interrupts off. The driver programs the ranges in pmu::start. */
static noinline void addr_filter_restart_local(struct perf_event *event)
{
	if (event->state != PERF_EVENT_STATE_ACTIVE || event->oncpu != smp_processor_id())
		return;
	perf_event_restart(event);
}

static void addr_filter_restart_ipi(void *arg)
{
	struct perf_event *event = arg;
	struct perf_event_context *ctx = READ_ONCE(event->ctx);

	guard(perf_irqsave)(&ctx->lock);
	/* An event that moves to another context is started there with the new ranges. */
	if (event->ctx == ctx)
		addr_filter_restart_local(event);
}

/*
 * If the event has left that CPU when the cross-call runs, pmu::add has started it with the new
 * ranges since, or will.
 */
static void addr_filter_restart(struct perf_event *event)
{
	int cpu;

	smp_mb(); /* store addr_filters_gen, then load oncpu; pmu::add takes the lock in between */
	cpu = READ_ONCE(event->oncpu);
	if (cpu >= 0)
		smp_call_function_single(cpu, addr_filter_restart_ipi, event, 1);
}

static bool addr_filter_try_apply(struct perf_event *event)
{
	struct task_struct *task = event->hw.target;
	struct mm_struct *mm = NULL;
	bool found;

	if (perf_event_addr_filters(event)->nr_file_filters && task)
		mm = get_task_mm(task);
	if (mm)
		mmap_read_lock(mm);
	found = addr_filter_find_ranges(event, mm);
	if (mm) {
		mmap_read_unlock(mm);
		mmput(mm);
	}
	return found;
}

static void addr_filter_apply(struct perf_event *event)
{
	while (!addr_filter_try_apply(event))
		cond_resched();
	addr_filter_restart(event);
}

void perf_event_addr_filters_sync(struct perf_event *event)
{
	if (!has_addr_filter(event))
		return;

	guard(raw_spinlock)(&perf_event_addr_filters(event)->lock);
	if (event->hw.addr_filters_gen == event->addr_filters_gen)
		return;
	event->pmu->addr_filters_sync(event);
	event->hw.addr_filters_gen = event->addr_filters_gen;
}
EXPORT_SYMBOL_GPL(perf_event_addr_filters_sync);

/* ---------------------------------------------------------------------- hooks */

/* The running task's ctx->lock is held. */
static void addr_filter_follow_mmap(struct perf_event *event, struct vm_area_struct *vma)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct perf_addr_filter *filter;
	bool found = false;

	scoped_guard(perf_irqsave, &head->lock) {
		list_for_each_entry(filter, &head->list, entry)
			found |= addr_filter_in_vma(filter, vma, range++);
		if (found)
			addr_filter_ranges_changed(event);
	}
	if (found)
		addr_filter_restart_local(event);
}

/**
 * perf_addr_filters_mmap - update the ranges of the running task after a new mapping
 * @vma: the mapping
 *
 * Context: process context, mmap_lock is held
 */
void perf_addr_filters_mmap(struct vm_area_struct *vma)
{
	struct perf_event_context *ctx = READ_ONCE(current->perf_event_ctxp);
	struct perf_event *event;

	if (!atomic_read(&nr_file_filter_events) || !ctx || !vma->vm_file ||
	    !(vma->vm_flags & VM_EXEC))
		return;

	guard(perf_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (has_addr_filter(event))
			addr_filter_follow_mmap(event, vma);
	}
}

/**
 * perf_addr_filters_exec - invalidate the ranges of an event at exec
 * @event: event of the running task
 *
 * Context: process context
 */
void perf_addr_filters_exec(struct perf_event *event)
{
	if (!has_addr_filter(event) || !perf_event_addr_filters(event)->nr_file_filters)
		return;
	addr_filter_find_ranges(event, NULL);
	addr_filter_restart(event);
}

/**
 * perf_addr_filters_clone - copy address ranges to an inherited event
 * @to: event of a new task, which has the mappings of the creating task
 * @from: the creating task's event
 *
 * Context: process context
 */
void perf_addr_filters_clone(struct perf_event *to, struct perf_event *from)
{
	guard(perf_irqsave)(&perf_event_addr_filters(from)->lock);
	memcpy(to->addr_filter_ranges, from->addr_filter_ranges,
	       from->pmu->nr_addr_filters * sizeof(*from->addr_filter_ranges));
}

/* ----------------------------------------------------------------- the request */

static int addr_filter_set_list(struct perf_event *event, char *text)
{
	struct perf_addr_filter *filter;
	unsigned int nr_files = 0;
	struct perf_event *child;
	LIST_HEAD(filters);
	int ret;

	ret = addr_filter_parse_list(event, text, &filters);
	if (!ret) {
		ret = event->pmu->addr_filters_validate(&filters);
		if (ret)
			perf_refuse(ret, "filter: the PMU does not support them");
	}
	if (ret)
		goto out;

	list_for_each_entry(filter, &filters, entry)
		nr_files += !!filter->path.dentry;
	scoped_guard(mutex, &event->child_mutex) {
		addr_filter_swap_lists(event, &filters, nr_files);
		addr_filter_apply(event);
		list_for_each_entry(child, &event->child_list, child_list)
			addr_filter_apply(child);
	}
out:
	addr_filter_free_list(&filters);
	return ret;
}

/**
 * perf_event_set_filter - set the filter of an event
 * @event: tracing event, or event of a PMU with address filters
 * @arg: text in user memory, less than a page
 *
 * Context: may sleep
 * Return: 0; -EFAULT; -ENOMEM; -EINVAL if the event has no filters or the text is malformed;
 *	-EOPNOTSUPP if there are more filters than the PMU has, or a file for a CPU event; the errno
 *	of looking the file up, of pmu::addr_filters_validate or of perf_tracepoint_set_filter()
 */
int perf_event_set_filter(struct perf_event *event, void __user *arg)
{
	bool tracing = perf_event_is_tracing(event);
	char *text;
	int ret;

	text = strndup_user(arg, PAGE_SIZE);
	if (text == ERR_PTR(-EINVAL))
		return perf_refuse(-EINVAL, "filter: text of less than %llu bytes", PAGE_SIZE);
	if (IS_ERR(text))
		return perf_refuse(PTR_ERR(text), "filter: the text cannot be read");
	if (tracing)
		ret = perf_tracepoint_set_filter(event, text);
	else if (has_addr_filter(event))
		ret = addr_filter_set_list(event, text);
	else
		ret = perf_refuse(-EINVAL, "filter: the event has none");
	kfree(text);
	return ret;
}

/**
 * perf_event_free_filter - free the address filters of an event
 * @event: event with ranges that is being freed; the filter of a tracing event is freed with its
 *	memory
 *
 * Context: may sleep
 */
void perf_event_free_filter(struct perf_event *event)
{
	LIST_HEAD(filters);

	addr_filter_swap_lists(event, &filters, 0);
	addr_filter_free_list(&filters);
}
