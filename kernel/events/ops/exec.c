// SPDX-License-Identifier: GPL-2.0
/*
 * exec: events with enable_on_exec are enabled, events with remove_on_exec are removed.
 *
 * Locks: ctx->mutex; exec_update_lock is held for writing by the caller.
 */
#include <linux/sched.h>

#include "ops.h"

static int exec_enable_events(struct perf_event_context *ctx, void *unused)
{
	struct perf_event *event;

	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (!event->attr.enable_on_exec)
			continue;
		event->attr.enable_on_exec = 0;
		perf_event_enable_locked(event);
	}
	return 0;
}

static bool exec_removes_group(const struct perf_event *leader)
{
	const struct perf_event *sibling;

	for_each_group_sibling(sibling, leader) {
		if (!sibling->attr.remove_on_exec)
			return false;
	}
	return leader->attr.remove_on_exec;
}

/*
 * Removes an event. Its file, if it has one, stays open. A group of which all members are removed
 * is read as that of a task that has exited.
 */
static void exec_remove_event(struct perf_event *event, struct list_head *to_free)
{
	unsigned int flags = PERF_REMOVE_EXIT;

	if (event->parent) {
		perf_event_remove_child(event, to_free);
		return;
	}
	/* A leader is in the list before its siblings. */
	if (exec_removes_group(event->group_leader))
		flags |= PERF_REMOVE_GROUP;
	perf_remove(event, flags);
	perf_event_wakeup(event);
}

static struct perf_event *exec_next_to_remove(struct perf_event_context *ctx)
{
	struct perf_event *event;

	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->attr.remove_on_exec)
			return event;
	}
	return NULL;
}

/* Each removal may remove siblings, too. */
static void exec_remove_events(struct perf_event_context *ctx, struct list_head *to_free)
{
	struct perf_event *event;

	while ((event = exec_next_to_remove(ctx)))
		exec_remove_event(event, to_free);
}

/* Adds removed child events to @to_free, to be put without ctx->mutex. */
static void exec_events(struct perf_event_context *ctx, struct list_head *to_free)
{
	struct perf_event *event;

	lockdep_assert_held(&ctx->mutex);
	if (list_empty(&ctx->event_list))
		return;
	perf_ctx_call(ctx, exec_enable_events, NULL);
	list_for_each_entry(event, &ctx->event_list, event_entry)
		perf_addr_filters_exec(event);
	exec_remove_events(ctx, to_free);
}

void perf_event_exec(void)
{
	struct perf_event_context *ctx = current->perf_event_ctxp;
	LIST_HEAD(to_free);

	perf_sched_cb_flush();
	if (!ctx)
		return;
	scoped_guard(mutex, &ctx->mutex)
		exec_events(ctx, &to_free);
	perf_event_free_list(&to_free);
}
