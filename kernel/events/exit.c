// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a task: its events stop, inherited ones hand their counts to their parents, and the
 * context goes.
 *
 * A group's members are folded into their parents under the leader's parent's child_mutex, which
 * readers of the group hold: they see the group before or after, not in between.
 *
 * An inherited event may hold the last reference on its parent, whose end takes other subsystems'
 * locks and some time. So the buried are collected, and put when no mutex is held any more.
 *
 * Locks: ctx->mutex, then child_mutex of the parents.
 */
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/wait_bit.h>

#include "buffer.h"
#include "operations.h"

/* What the child counted becomes the parent's. Parent's child_mutex. */
static void fold(struct perf_event *child)
{
	struct perf_event *parent = child->parent;

	atomic64_add(local64_read(&child->count), &parent->child_count);
	atomic64_add(child->total_time_enabled, &parent->child_total_time_enabled);
	atomic64_add(child->total_time_running, &parent->child_total_time_running);
	atomic64_add(atomic64_read(&child->lost_samples), &parent->lost_samples);
}

/* poll() has news when an event whose own task is gone loses its last child. */
static void wake_childless(struct perf_event *parent)
{
	if (parent->state <= PERF_EVENT_STATE_EXIT && list_empty(&parent->child_list))
		perf_event_wakeup(parent);
}

/* Takes a stopped child event out of its family. Parent's child_mutex: after it, @parent may go. */
static void leave_family(struct perf_event *child)
{
	list_del_init(&child->child_list);
	child->attach_state &= ~PERF_ATTACH_CHILD;
	fold(child);
	wake_childless(child->parent);
}

/* Whoever finds the parent childless may put it at once: its memory is kept until we are through. */
static void unlock_family(struct perf_event *parent)
{
	guard(rcu)();
	mutex_unlock(&parent->child_mutex);
}

/* Hands on what a detached child event counted; @gone collects it. */
void perf_event_bury_child(struct perf_event *child, struct list_head *gone)
{
	struct perf_event *parent = child->parent;

	mutex_lock(&parent->child_mutex);
	leave_family(child);
	unlock_family(parent);
	list_add_tail(&child->event_entry, gone);
}

static void leave_group(struct perf_event *sibling)
{
	list_del_init(&sibling->sibling_list);
	sibling->group_leader = sibling;
}

static void write_last_word(struct perf_event *child, struct task_struct *task)
{
	if (child->attr.inherit_stat)
		perf_output_read_record(child, task);
}

/* Each member's record may be about all of them: before the first of them leaves. */
static void write_last_words(struct perf_event *leader, struct task_struct *task)
{
	struct perf_event *sibling;

	write_last_word(leader, task);
	for_each_sibling_event(sibling, leader)
		write_last_word(sibling, task);
}

/*
 * The group of a child, with @task if that is to be told; @gone collects its members. Leader's
 * parent's child_mutex.
 */
static void bury_group(struct perf_event *leader, struct task_struct *task, struct list_head *gone)
{
	struct perf_event *sibling, *next;

	if (task)
		write_last_words(leader, task);
	list_for_each_entry_safe(sibling, next, &leader->sibling_list, sibling_list) {
		struct perf_event *parent = sibling->parent;

		leave_group(sibling);
		mutex_lock_nested(&parent->child_mutex, SINGLE_DEPTH_NESTING);
		leave_family(sibling);
		unlock_family(parent);
		list_move(&sibling->event_entry, gone);
	}
	leave_family(leader);
	list_move(&leader->event_entry, gone);
}

/* Frees what has been collected. Context: may sleep; without ctx->mutex. */
void perf_event_put_all(struct list_head *gone)
{
	struct perf_event *event, *next;

	list_for_each_entry_safe(event, next, gone, event_entry) {
		list_del_init(&event->event_entry);
		perf_event_put(event);
	}
}

/* All stop at one moment; then one group after the other goes. Those with a file only wake it. */
static void bury_all(struct perf_event_context *ctx, struct task_struct *task,
		     struct list_head *gone)
{
	struct perf_event *event, *leader, *parent;
	LIST_HEAD(leaving);

	guard(mutex)(&ctx->mutex);
	scoped_guard(raw_spinlock_irq, &ctx->lock) {
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
		bury_group(leader, task, gone);
		unlock_family(parent);
	}
}

static void exit_events(struct perf_event_context *ctx, struct task_struct *task)
{
	LIST_HEAD(gone);

	bury_all(ctx, task, &gone);
	perf_event_put_all(&gone);
}

/* From here on the task has no context; nobody can find it by the task any more. */
static struct perf_event_context *take_context(struct task_struct *task)
{
	struct perf_event_context *ctx;

	guard(mutex)(&task->perf_event_mutex);
	ctx = task->perf_event_ctxp;
	if (!ctx)
		return NULL;

	scoped_guard(raw_spinlock_irq, &ctx->lock) {
		/* Its counters stop now; what follows finds it on no CPU. */
		if (ctx->active_cpu >= 0)
			perf_ctx_sched_out_locked(ctx);
		RCU_INIT_POINTER(task->perf_event_ctxp, NULL);
		WRITE_ONCE(ctx->task, TASK_TOMBSTONE);
	}
	return ctx;
}

/* Events that the task opened, for whomever, lose their owner. */
static void disown(struct task_struct *task)
{
	struct perf_event *event, *next;

	guard(mutex)(&task->perf_event_mutex);
	list_for_each_entry_safe(event, next, &task->perf_event_list, owner_entry) {
		list_del_init(&event->owner_entry);
		/* Pairs with the load in disown_event(): [owner]. */
		smp_store_release(&event->owner, NULL);
	}
}

/**
 * perf_event_exit_task - a task exits, or execs something its tracers must not see
 * @child: the running task
 *
 * Context: may sleep; before the task's mm goes. In exec, exec_update_lock is held for writing.
 */
void perf_event_exit_task(struct task_struct *child)
{
	struct perf_event_context *ctx;

	if (child->flags & PF_EXITING)
		disown(child);

	ctx = take_context(child);
	/* After the last sample. */
	perf_sideband_task_exit(child, ctx);
	if (!ctx)
		return;
	exit_events(ctx, child);
	perf_ctx_put(ctx);
}

/**
 * perf_event_free_task - a task that never ran is given up
 * @task: it
 *
 * Context: may sleep
 */
void perf_event_free_task(struct task_struct *task)
{
	struct perf_event_context *ctx = take_context(task);

	if (!ctx)
		return;
	exit_events(ctx, NULL);
	/*
	 * Somebody may be closing a parent and hold the last of them. wait_var_event() has the
	 * barrier that pairs with perf_ctx_put()'s: [awaited].
	 */
	WRITE_ONCE(ctx->awaited, true);
	wait_var_event(&ctx->refcount, refcount_read(&ctx->refcount) == 1);
	perf_ctx_put(ctx);
}

/* The task's last reference goes. */
void perf_event_delayed_put(struct task_struct *task)
{
	WARN_ON_ONCE(task->perf_event_ctxp);
}
