// SPDX-License-Identifier: GPL-2.0
/*
 * Exit of a task: its events are stopped, the counts of inherited events are added to those of
 * their parents, and the context is released.
 *
 * The members of an inherited group are detached under the child_mutex of the leader's parent,
 * which readers of the group hold: a reader sees all of them or none.
 *
 * An inherited event may hold the last reference to its parent. Freeing the parent takes locks of
 * other subsystems, so detached events are collected in a list and put when no mutex is held.
 *
 * Locks: ctx->mutex, then child_mutex of the parents.
 */
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/wait_bit.h>

#include "ops.h"

/* Adds the counts of a child to those of its parent. */
static void exit_sync_child(struct perf_event *child)
{
	struct perf_event *parent = child->parent;

	lockdep_assert_held(&parent->child_mutex);
	atomic64_add(local64_read(&child->count), &parent->child_count);
	atomic64_add(perf_event_stored_enabled(child), &parent->child_total_time_enabled);
	atomic64_add(perf_event_stored_running(child), &parent->child_total_time_running);
	if (unlikely(atomic64_read(&child->lost_samples)))
		atomic64_add(atomic64_read(&child->lost_samples), &parent->lost_samples);
}

/* poll() returns EPOLLHUP when neither the event's task nor a child exists: wake its callers. */
static void exit_wake_childless(struct perf_event *parent)
{
	smp_mb();	/* [childless] */
	if (READ_ONCE(parent->state) <= PERF_EVENT_STATE_ERROR && list_empty(&parent->child_list))
		perf_event_wakeup(parent);
}

/* Unlinks a stopped child event. The parent may be freed once its child_mutex is released. */
static void exit_detach_child(struct perf_event *child)
{
	list_del_init(&child->child_list);
	child->attach_state &= ~PERF_ATTACH_CHILD;
	exit_sync_child(child);
	exit_wake_childless(child->parent);
}

/* A task that finds no child may put the parent at once: RCU keeps its memory during the unlock. */
static void exit_unlock_parent(struct perf_event *parent)
{
	guard(rcu)();
	mutex_unlock(&parent->child_mutex);
}

static void exit_leave_group(struct perf_event *sibling)
{
	list_del_init(&sibling->sibling_list);
	sibling->group_leader = sibling;
}

static void exit_output_read(struct perf_event *child, struct task_struct *task)
{
	if (child->attr.inherit_stat)
		perf_output_read_record(child, task);
}

/* Writes the READ records before a member leaves the group: each may contain the whole group. */
static void exit_output_reads(struct perf_event *leader, struct task_struct *task)
{
	struct perf_event *sibling;

	exit_output_read(leader, task);
	for_each_group_sibling(sibling, leader)
		exit_output_read(sibling, task);
}

/*
 * Detaches the members of an inherited group and adds them to @to_free. READ records are written if
 * @task, the exiting task, is not NULL.
 */
static void exit_detach_group(struct perf_event *leader, struct task_struct *task,
			      struct list_head *to_free)
{
	struct perf_event *sibling, *next;

	lockdep_assert_held(&leader->parent->child_mutex);
	if (task)
		exit_output_reads(leader, task);
	list_for_each_entry_safe(sibling, next, &leader->sibling_list, sibling_list) {
		struct perf_event *parent = sibling->parent;

		exit_leave_group(sibling);
		mutex_lock_nested(&parent->child_mutex, SINGLE_DEPTH_NESTING);
		exit_detach_child(sibling);
		exit_unlock_parent(parent);
		list_move(&sibling->event_entry, to_free);
	}
	exit_detach_child(leader);
	list_move(&leader->event_entry, to_free);
}

static noinline void exit_remove_one(struct perf_event *child, struct list_head *to_free)
{
	perf_remove(child, PERF_REMOVE_EXIT);
	exit_output_read(child, current);
	exit_detach_child(child);
	list_add_tail(&child->event_entry, to_free);
}

/**
 * perf_event_remove_child - remove a child event and its siblings at exec
 * @child: child event of the running task with remove_on_exec
 * @to_free: list to which it is added, for perf_event_free_list()
 *
 * With a leader its siblings with remove_on_exec are removed, under the child_mutex that readers of
 * the parent's group hold: they see all of the group or nothing.
 *
 * Context: may sleep; ctx->mutex is held
 */
void perf_event_remove_child(struct perf_event *child, struct list_head *to_free)
{
	struct perf_event *group_parent = child->group_leader->parent, *parent = child->parent;
	struct perf_event *sibling, *next;

	mutex_lock(&group_parent->child_mutex);
	if (child->group_leader != child) {
		mutex_lock_nested(&parent->child_mutex, SINGLE_DEPTH_NESTING);
		exit_remove_one(child, to_free);
		exit_unlock_parent(parent);
		exit_unlock_parent(group_parent);
		return;
	}
	list_for_each_entry_safe(sibling, next, &child->sibling_list, sibling_list) {
		struct perf_event *sibling_parent = sibling->parent;

		if (!sibling->attr.remove_on_exec)
			continue;
		mutex_lock_nested(&sibling_parent->child_mutex, SINGLE_DEPTH_NESTING);
		exit_remove_one(sibling, to_free);
		exit_unlock_parent(sibling_parent);
	}
	exit_remove_one(child, to_free);
	exit_unlock_parent(parent);
}

/**
 * perf_event_free_list - put detached events
 * @to_free: list of events, by event_entry
 *
 * Context: may sleep; ctx->mutex and child_mutex are not held
 */
void perf_event_free_list(struct list_head *to_free)
{
	struct perf_event *event, *next;

	list_for_each_entry_safe(event, next, to_free, event_entry) {
		list_del_init(&event->event_entry);
		perf_event_put(event);
	}
}

/* All events stop at the same time. Inherited groups are detached, readers of others are woken. */
static void exit_detach_all(struct perf_event_context *ctx, struct task_struct *task,
			    struct list_head *to_free)
{
	struct perf_event *event, *leader, *parent;
	LIST_HEAD(leaving);

	guard(mutex)(&ctx->mutex);
	scoped_guard(perf_irqsave, &ctx->lock) {
		perf_detach_all_locked(ctx);
		list_splice_init(&ctx->event_list, &leaving);
	}
	while (!list_empty(&leaving)) {
		event = list_first_entry(&leaving, struct perf_event, event_entry);
		if (!event->parent) {
			list_del_init(&event->event_entry);
			perf_event_wakeup(event);
			continue;
		}
		leader = event->group_leader;
		parent = leader->parent;
		mutex_lock(&parent->child_mutex);
		exit_detach_group(leader, task, to_free);
		exit_unlock_parent(parent);
	}
}

static void exit_free_events(struct perf_event_context *ctx, struct task_struct *task)
{
	LIST_HEAD(to_free);

	exit_detach_all(ctx, task, &to_free);
	perf_event_free_list(&to_free);
}

/* Takes the context from the task: it cannot be found through the task any more. */
static struct perf_event_context *exit_take_context(struct task_struct *task)
{
	struct perf_event_context *ctx;

	guard(mutex)(&task->perf_event_mutex);
	ctx = task->perf_event_ctxp;
	if (!ctx)
		return NULL;

	scoped_guard(perf_irqsave, &ctx->lock) {
		/* The counters stop here. */
		if (ctx->active_cpu >= 0)
			perf_ctx_sched_out_locked(ctx, NULL);
		WRITE_ONCE(task->perf_event_ctxp, NULL);
		WRITE_ONCE(ctx->task, TASK_TOMBSTONE);
	}
	return ctx;
}

/*
 * The events that the task has opened, for any task or CPU, lose their owner: the task exits, or
 * execs a program that others may not inspect.
 */
static void exit_clear_owners(struct task_struct *task)
{
	struct perf_event *event, *next;

	guard(mutex)(&task->perf_event_mutex);
	list_for_each_entry_safe(event, next, &task->perf_event_list, owner_entry) {
		list_del_init(&event->owner_entry);
		/* Pairs with the load in release_remove_from_owner(): [owner]. */
		smp_store_release(&event->owner, NULL);
	}
}

void perf_event_exit_task(struct task_struct *child)
{
	struct perf_event_context *ctx;

	exit_clear_owners(child);
	if (child == current)
		perf_sched_cb_flush();
	ctx = exit_take_context(child);
	/* After the last sample. */
	perf_sideband_task_exit(child, ctx);
	if (!ctx)
		return;
	exit_free_events(ctx, child);
	perf_ctx_put(ctx);
}

void perf_event_free_task(struct task_struct *task)
{
	struct perf_event_context *ctx = exit_take_context(task);

	if (!ctx)
		return;
	exit_free_events(ctx, NULL);
	/*
	 * A task that is closing a parent may still hold references. wait_var_event() has the
	 * barrier that pairs with the one in perf_ctx_put(): [awaited].
	 */
	WRITE_ONCE(ctx->awaited, true);
	wait_var_event(&ctx->refcount, refcount_read(&ctx->refcount) == 1);
	perf_ctx_put(ctx);
}

void perf_event_delayed_put(struct task_struct *task)
{
	WARN_ON_ONCE(task->perf_event_ctxp);
}
