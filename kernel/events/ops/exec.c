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
		if (event->group_leader == event)
			perf_group_enable_locked(event, true);
	}
	return 0;
}

/* Is the whole group of an event removed, which is removed? The leader is the first. */
static bool exec_removes_group(const struct perf_event *event)
{
	const struct perf_event *leader = event->group_leader, *sibling;

	if (event != leader)
		return !(leader->attach_state & PERF_ATTACH_CONTEXT);
	for_each_group_sibling(sibling, leader) {
		if (!sibling->attr.remove_on_exec)
			return false;
	}
	return true;
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
	if (exec_removes_group(event))
		flags |= PERF_REMOVE_GROUP;
	perf_remove(event, flags);
	perf_event_wakeup(event);
}

/*
 * A removal may remove siblings, too. A leader is in the list before its siblings, so what is in
 * front of @event stays.
 */
static void exec_remove_events(struct perf_event_context *ctx, struct list_head *to_free)
{
	struct list_head *kept = &ctx->event_list;

	while (kept->next != &ctx->event_list) {
		struct perf_event *event = list_entry(kept->next, struct perf_event, event_entry);

		if (event->attr.remove_on_exec)
			exec_remove_event(event, to_free);
		else
			kept = kept->next;
		cond_resched();
	}
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
