// SPDX-License-Identifier: GPL-2.0
/*
 * Release of an event by its last user.
 *
 * Locks: ctx->mutex, then child_mutex.
 */
#include <linux/sched.h>

#include "ops.h"

/* The owner may clear its list at the same time, at its exit or a set-uid exec. */
static void release_remove_from_owner(struct perf_event *event)
{
	struct task_struct *owner;

	/* The current task needs no reference to itself. */
	scoped_guard(rcu) {
		/* Pairs with the store in exit_clear_owners(): [owner]. */
		owner = smp_load_acquire(&event->owner);
		if (owner && owner != current)
			get_task_struct(owner);
	}
	if (!owner)
		return;

	/* No recursion: prctl() and exit() do not close events with the mutex held. */
	scoped_guard(mutex, &owner->perf_event_mutex) {
		if (event->owner)
			list_del_init(&event->owner_entry);
		event->owner = NULL;
	}
	if (owner != current)
		put_task_struct(owner);
}

static struct perf_event *release_first_child(struct perf_event *parent)
{
	lockdep_assert_held(&parent->child_mutex);
	return list_first_entry_or_null(&parent->child_list, struct perf_event, child_list);
}

/*
 * Children are found under the parent's child_mutex and removed under their ctx->mutex, which is
 * the outer lock: find a child, drop child_mutex, take both, and check again.
 */
static struct perf_event *release_take_first_child(struct perf_event *parent, bool *done)
{
	struct perf_event_context *ctx;
	struct perf_event *child;

	*done = false;
	scoped_guard(mutex, &parent->child_mutex) {
		child = release_first_child(parent);
		if (!child) {
			*done = true;
			return NULL;
		}
		ctx = child->ctx;
		perf_ctx_get(ctx);
	}

	mutex_lock(&ctx->mutex);
	mutex_lock(&parent->child_mutex);
	if (release_first_child(parent) == child && child->ctx == ctx) {
		perf_remove(child, PERF_REMOVE_DEAD);
		list_del_init(&child->child_list);
	} else {
		child = NULL;
	}
	mutex_unlock(&parent->child_mutex);
	mutex_unlock(&ctx->mutex);
	perf_ctx_put(ctx);
	return child;
}

static void release_children(struct perf_event *parent)
{
	struct perf_event *child;
	bool done;

	for (;;) {
		child = release_take_first_child(parent, &done);
		if (done)
			return;
		if (child)
			perf_event_put(child);
	}
}

/* Removes the event from its context. Returns true if it has children, which stay. */
static bool release_remove(struct perf_event *event)
{
	if (!event->attr.inherit) {
		perf_remove(event, PERF_REMOVE_DEAD);
		return false;
	}
	/* inherit_link_child() adds no child after the state is DEAD. */
	guard(mutex)(&event->child_mutex);
	perf_remove(event, PERF_REMOVE_DEAD);
	return !list_empty(&event->child_list);
}

int perf_event_release_kernel(struct perf_event *event)
{
	struct perf_event_context *ctx;
	bool has_children;

	if (!event->ctx) {
		perf_event_put(event);
		return 0;
	}
	release_remove_from_owner(event);

	ctx = perf_event_ctx_lock(event);
	has_children = release_remove(event);
	perf_event_ctx_unlock(ctx);

	if (has_children)
		release_children(event);
	perf_event_put(event);
	return 0;
}
EXPORT_SYMBOL_GPL(perf_event_release_kernel);
