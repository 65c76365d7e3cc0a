// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of events: IOC_SET_FILTER.
 *
 * Tracing events have filters in the tracing subsystem's language. Instruction traces have address
 * filters: a list of
 *
 *	filter START/SIZE[@FILE]	trace only there
 *	start  START[@FILE]		start tracing when execution gets there
 *	stop   START[@FILE]		and stop
 *
 * separated by blanks, commas or newlines. Without FILE the address is one of the kernel; with it,
 * an offset in an object file, which becomes an address when a task maps that part of the file for
 * execution. The list is the parent's; where its files are mapped is each inherited event's own.
 *
 * Locks: perf_addr_filters_head::lock for list, ranges and generation. Drivers program the ranges in
 * pmu::start, on the event's CPU; to make them do so the event is stopped and started there. The
 * ranges of a running task are renewed by that task itself, under its context's lock.
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

/* Events whose filters name files: mappings matter while there are any. */
static atomic_t nr_file_filter_events;

/* ------------------------------------------------------------------- the list */

static void filter_free(struct perf_addr_filter *filter)
{
	path_put(&filter->path);
	list_del(&filter->entry);
	kfree(filter);
}

static void filters_free(struct list_head *filters)
{
	struct perf_addr_filter *filter, *next;

	list_for_each_entry_safe(filter, next, filters, entry)
		filter_free(filter);
}

/* The new list takes the place of the old one, which goes into @filters. */
static void filters_swap(struct perf_event *event, struct list_head *filters,
			 unsigned int nr_files)
{
	struct perf_addr_filters_head *head = &event->addr_filters;
	LIST_HEAD(old);

	guard(raw_spinlock_irqsave)(&head->lock);
	if (!head->nr_file_filters && nr_files)
		atomic_inc(&nr_file_filter_events);
	if (head->nr_file_filters && !nr_files)
		atomic_dec(&nr_file_filter_events);
	head->nr_file_filters = nr_files;

	list_splice_init(&head->list, &old);
	list_splice_init(filters, &head->list);
	list_splice(&old, filters);
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

static int parse_action(const char *word, struct perf_addr_filter *filter)
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
static int parse_range(char *text, struct perf_addr_filter *filter, char **file)
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

static int resolve_file(struct perf_event *event, struct perf_addr_filter *filter, char *file)
{
	int ret;

	if (!(event->attach_state & PERF_ATTACH_TASK))
		return perf_refuse(-EOPNOTSUPP, "filter: a file means nothing to a CPU event");
	ret = kern_path(file, LOOKUP_FOLLOW, &filter->path);
	if (ret)
		return perf_refuse(ret, "filter: the file cannot be found");
	if (!d_is_reg(filter->path.dentry))
		return perf_refuse(-EINVAL, "filter: not a regular file");
	return 0;
}

static char *next_word(char **text)
{
	char *word;

	do {
		word = strsep(text, " ,\n");
	} while (word && !*word);
	return word;
}

static int parse_filter(struct perf_event *event, struct perf_addr_filter *filter, char *action,
			char *range)
{
	char *file;
	int ret = parse_action(action, filter);

	if (ret)
		return ret;
	if (!range)
		return perf_refuse(-EINVAL, "filter: an action needs a range");
	ret = parse_range(range, filter, &file);
	if (ret)
		return ret;
	if (file)
		return resolve_file(event, filter, file);
	if (event->attr.exclude_kernel)
		return perf_refuse(-EINVAL, "filter: a kernel address, but exclude_kernel is set");
	return 0;
}

/* On failure @filters holds what was parsed so far. */
static int parse_filters(struct perf_event *event, char *text, struct list_head *filters)
{
	struct perf_addr_filter *filter;
	unsigned int nr = 0;
	char *action;
	int ret;

	while ((action = next_word(&text))) {
		if (nr++ == event->pmu->nr_addr_filters)
			return perf_refuse(-EOPNOTSUPP, "filter: the PMU has only %llu",
					   event->pmu->nr_addr_filters);
		filter = kzalloc(sizeof(*filter), GFP_KERNEL);
		if (!filter)
			return perf_refuse(-ENOMEM, "filter: no memory");
		list_add_tail(&filter->entry, filters);
		ret = parse_filter(event, filter, action, next_word(&text));
		if (ret)
			return ret;
	}
	return 0;
}

/* ----------------------------------------------------------------- the ranges */

/* The part of the filter that lies in @vma, if any does. */
static bool filter_in_vma(const struct perf_addr_filter *filter, struct vm_area_struct *vma,
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

/* addr_filters.lock of the parent. */
static void ranges_changed(struct perf_event *event)
{
	event->addr_filters_gen++;
}

static void find_in_mm(struct perf_addr_filter *filter, struct mm_struct *mm,
		       struct perf_addr_filter_range *range)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		if (filter_in_vma(filter, vma, range))
			return;
	}
}

/*
 * @mm may be NULL, or is locked for reading. False if the task has another one by now: what exec has
 * found there is not to be overwritten.
 */
static bool find_ranges(struct perf_event *event, struct mm_struct *mm)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct perf_addr_filter *filter;

	guard(raw_spinlock_irqsave)(&head->lock);
	if (mm && READ_ONCE(event->hw.target->mm) != mm)
		return false;
	list_for_each_entry(filter, &head->list, entry) {
		*range = (struct perf_addr_filter_range){};
		if (!filter->path.dentry)
			*range = (struct perf_addr_filter_range){ filter->offset, filter->size };
		else if (mm)
			find_in_mm(filter, mm, range);
		range++;
	}
	ranges_changed(event);
	return true;
}

/* Interrupts off, on the event's CPU: the driver looks at the ranges when it starts. */
static void restart_here(struct perf_event *event)
{
	if (event->state != PERF_EVENT_STATE_ACTIVE || event->oncpu != smp_processor_id())
		return;
	perf_pmu_disable(event->pmu);
	event->pmu->stop(event, PERF_EF_UPDATE);
	event->pmu->start(event, PERF_EF_RELOAD);
	perf_pmu_enable(event->pmu);
}

static void restart_called(void *event)
{
	restart_here(event);
}

/*
 * If it is not on that CPU any more when we get there, it has been added somewhere since the
 * ranges changed, and has seen them.
 */
static void restart(struct perf_event *event)
{
	int cpu;

	smp_mb(); /* addr_filters_gen before oncpu; an event is added with its lock in between */
	cpu = READ_ONCE(event->oncpu);
	if (cpu >= 0)
		smp_call_function_single(cpu, restart_called, event, 1);
}

static bool try_apply(struct perf_event *event)
{
	struct task_struct *task = event->hw.target;
	struct mm_struct *mm = NULL;
	bool found;

	if (perf_event_addr_filters(event)->nr_file_filters && task)
		mm = get_task_mm(task);
	if (mm)
		mmap_read_lock(mm);
	found = find_ranges(event, mm);
	if (mm) {
		mmap_read_unlock(mm);
		mmput(mm);
	}
	return found;
}

static void apply(struct perf_event *event)
{
	while (!try_apply(event))
		cond_resched();
	restart(event);
}

/**
 * perf_event_addr_filters_sync - a driver starts an event: program its ranges if they are new
 * @event: the event
 *
 * Context: interrupts off
 */
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

/* ctx->lock, on the event's CPU. */
static void follow_mapping(struct perf_event *event, struct vm_area_struct *vma)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct perf_addr_filter *filter;
	bool found = false;

	scoped_guard(raw_spinlock, &head->lock) {
		list_for_each_entry(filter, &head->list, entry)
			found |= filter_in_vma(filter, vma, range++);
		if (found)
			ranges_changed(event);
	}
	if (found)
		restart_here(event);
}

/* The running task has mapped something. mmap_lock is held. */
void perf_addr_filters_mmap(struct vm_area_struct *vma)
{
	struct perf_event_context *ctx = READ_ONCE(current->perf_event_ctxp);
	struct perf_event *event;

	if (!atomic_read(&nr_file_filter_events) || !ctx || !vma->vm_file ||
	    !(vma->vm_flags & VM_EXEC))
		return;

	guard(raw_spinlock_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (has_addr_filter(event))
			follow_mapping(event, vma);
	}
}

/* The running task's mappings are gone with exec. Process context. */
void perf_addr_filters_exec(struct perf_event *event)
{
	if (!has_addr_filter(event) || !perf_event_addr_filters(event)->nr_file_filters)
		return;
	find_ranges(event, NULL);
	restart(event);
}

/* A new task starts with its creator's mappings. */
void perf_addr_filters_clone(struct perf_event *to, struct perf_event *from)
{
	guard(raw_spinlock_irqsave)(&perf_event_addr_filters(from)->lock);
	memcpy(to->addr_filter_ranges, from->addr_filter_ranges,
	       from->pmu->nr_addr_filters * sizeof(*from->addr_filter_ranges));
}

/* ----------------------------------------------------------------- the request */

static int set_addr_filters(struct perf_event *event, char *text)
{
	struct perf_addr_filter *filter;
	unsigned int nr_files = 0;
	struct perf_event *child;
	LIST_HEAD(filters);
	int ret;

	ret = parse_filters(event, text, &filters);
	if (!ret) {
		ret = event->pmu->addr_filters_validate(&filters);
		if (ret)
			perf_refuse(ret, "filter: the PMU cannot do that");
	}
	if (ret)
		goto out;

	list_for_each_entry(filter, &filters, entry)
		nr_files += !!filter->path.dentry;
	scoped_guard(mutex, &event->child_mutex) {
		filters_swap(event, &filters, nr_files);
		apply(event);
		list_for_each_entry(child, &event->child_list, child_list)
			apply(child);
	}
out:
	filters_free(&filters);
	return ret;
}

/**
 * perf_event_set_filter - give an event a filter
 * @event: it
 * @arg: text, in user memory
 *
 * Context: may sleep
 * Return: 0, -EFAULT, -ENOMEM, -EINVAL if the event has no filters, or what the parser says
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
		ret = set_addr_filters(event, text);
	else
		ret = perf_refuse(-EINVAL, "filter: the event has none");
	kfree(text);
	return ret;
}

/* The event goes. A tracing event keeps its filter as long as its memory. */
void perf_event_free_filter(struct perf_event *event)
{
	LIST_HEAD(filters);

	if (!event->addr_filter_ranges)
		return;
	filters_swap(event, &filters, 0);
	filters_free(&filters);
}
