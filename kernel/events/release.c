// SPDX-License-Identifier: GPL-2.0
/*
 * Where an event goes, and its end by its last user.
 *
 * Locks: ctx->mutex, then child_mutex.
 */
#include <linux/sched.h>

#include "operations.h"

/**
 * perf_event_find_context - the context an event belongs in
 * @event: made, not attached
 *
 * Context: may sleep
 * Return: a referenced context; -ESRCH, -EACCES, -ENOMEM
 */
struct perf_event_context *perf_event_find_context(struct perf_event *event)
{
	struct perf_event_context *ctx;
	int ret;

	if (event->hw.target)
		return perf_ctx_of_task(event->hw.target);

	ret = perf_allow_cpu();
	if (ret)
		return ERR_PTR(perf_refuse(ret, "pid: -1 (a whole CPU) needs CAP_PERFMON, perf_event_paranoid is %lld",
					   sysctl_perf_event_paranoid));
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp)
		return perf_cgroup_context(event, event->cpu);
#endif
	ctx = &per_cpu(perf_cpu_context, event->cpu).ctx;
	perf_ctx_get(ctx);
	return ctx;
}

/* The opener may be exiting and going through its list at the same time. */
static void disown_event(struct perf_event *event)
{
	struct task_struct *owner;

	scoped_guard(rcu) {
		/* Pairs with the store in disown(): [owner]. */
		owner = smp_load_acquire(&event->owner);
		if (owner)
			get_task_struct(owner);
	}
	if (!owner)
		return;

	/* Within the owner's own prctl() or exit this cannot be: they do not close events. */
	scoped_guard(mutex, &owner->perf_event_mutex) {
		if (event->owner)
			list_del_init(&event->owner_entry);
		event->owner = NULL;
	}
	put_task_struct(owner);
}

/*
 * Children are found by the parent's child_mutex but removed under their ctx->mutex, which comes
 * first: look, let go, take both, look again.
 */
static struct perf_event *take_first_child(struct perf_event *parent, bool *done)
{
	struct perf_event_context *ctx;
	struct perf_event *child;

	*done = false;
	scoped_guard(mutex, &parent->child_mutex) {
		child = list_first_entry_or_null(&parent->child_list, struct perf_event, child_list);
		if (!child) {
			*done = true;
			return NULL;
		}
		ctx = child->ctx;
		perf_ctx_get(ctx);
	}

	mutex_lock(&ctx->mutex);
	scoped_guard(mutex, &parent->child_mutex) {
		if (list_first_entry_or_null(&parent->child_list, struct perf_event,
					     child_list) == child && child->ctx == ctx) {
			perf_remove(child, PERF_REMOVE_DEAD);
			list_del_init(&child->child_list);
		} else {
			child = NULL;
		}
	}
	mutex_unlock(&ctx->mutex);
	perf_ctx_put(ctx);
	return child;
}

static void release_children(struct perf_event *parent)
{
	struct perf_event *child;
	bool done;

	for (;;) {
		child = take_first_child(parent, &done);
		if (done)
			return;
		if (child)
			perf_event_put(child);
	}
}

/**
 * perf_event_release_kernel - the last user of an event is done with it
 * @event: it; when this returns it counts no more and its counter is free
 *
 * Context: may sleep
 * Return: 0
 */
int perf_event_release_kernel(struct perf_event *event)
{
	struct perf_event_context *ctx;
	bool childless;

	if (!event->ctx) {
		perf_event_put(event);
		return 0;
	}
	disown_event(event);

	ctx = perf_event_ctx_lock(event);
	/* Under child_mutex, so that a fork adds no child any more: see adopt(). */
	scoped_guard(mutex, &event->child_mutex) {
		perf_remove(event, PERF_REMOVE_DEAD);
		childless = list_empty(&event->child_list);
	}
	perf_event_ctx_unlock(ctx);

	if (!childless)
		release_children(event);
	perf_event_put(event);
	return 0;
}
EXPORT_SYMBOL_GPL(perf_event_release_kernel);
