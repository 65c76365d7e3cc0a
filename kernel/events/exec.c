// SPDX-License-Identifier: GPL-2.0
/*
 * exec: events that wait for it begin, others end with the old program.
 *
 * Locks: ctx->mutex; exec_update_lock is held for writing by the caller.
 */
#include <linux/sched.h>

#include "buffer.h"
#include "operations.h"

static int enable_on_exec(struct perf_event_context *ctx, void *unused)
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

/* Ends one event; its file, if it has one, lives on. */
static void remove_on_exec(struct perf_event *event, struct list_head *gone)
{
	perf_remove(event, PERF_REMOVE_EXIT);
	if (event->parent)
		perf_event_bury_child(event, gone);
	else
		perf_event_wakeup(event);
}

static void remove_marked(struct perf_event_context *ctx, struct list_head *gone)
{
	struct perf_event *event, *next;

	list_for_each_entry_safe(event, next, &ctx->event_list, event_entry) {
		if (event->attr.remove_on_exec)
			remove_on_exec(event, gone);
	}
}

/* ctx->mutex; @gone collects what is to be put without it. */
static void exec_events(struct perf_event_context *ctx, struct list_head *gone)
{
	struct perf_event *event;

	if (list_empty(&ctx->event_list))
		return;
	perf_ctx_call(ctx, enable_on_exec, NULL);
	list_for_each_entry(event, &ctx->event_list, event_entry)
		perf_addr_filters_exec(event);
	remove_marked(ctx, gone);
}

/* The running task's image has been replaced. Context: may sleep. */
void perf_event_exec(void)
{
	struct perf_event_context *ctx = current->perf_event_ctxp;
	LIST_HEAD(gone);

	if (!ctx)
		return;
	scoped_guard(mutex, &ctx->mutex)
		exec_events(ctx, &gone);
	perf_event_put_all(&gone);
}
