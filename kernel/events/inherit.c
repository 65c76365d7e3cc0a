// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance: a task that is being created gets the inheritable events of its creator.
 *
 * Only whole groups are inherited. A child's event refers to the event that has the file, not to
 * its creator's, so a chain of forks costs the same at each link. What a child event shares with
 * its parent it does not set up again: the parent cannot go while it has children, and is not
 * freed before they are.
 *
 * The new task's context is filled while nobody sees it. Then its events are entered with their
 * parents, one after the other, and from there on they can be enabled, read and closed.
 *
 * Locks: the creator's ctx->mutex keeps its events still; parent's child_mutex for the child list.
 */
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "operations.h"

struct inherit {
	struct perf_event_spec		spec;		/* of the child's event that is being made */
	struct perf_event_context	*ctx;
	u64				clone_flags;
	struct list_head		orphans;	/* whose parents are going: to be put */
};

static bool wants_inherit(const struct perf_event *event, u64 clone_flags)
{
	const struct perf_event_attr *a = &event->attr;

	if (!a->inherit || (a->inherit_thread && !(clone_flags & CLONE_THREAD)))
		return false;
	/* A fresh set of handlers cannot expect our signal. */
	return !(a->sigtrap && (clone_flags & CLONE_CLEAR_SIGHAND));
}

static struct perf_event *parent_of(struct perf_event *event)
{
	return event->parent ?: event;
}

static struct perf_event_pmu_context *child_epc(struct perf_event_context *ctx, struct pmu *pmu)
{
	struct perf_event_pmu_context *epc = perf_epc_find(ctx, pmu);

	if (epc)
		return epc;
	epc = perf_epc_alloc(ctx, pmu);
	if (epc) {
		guard(raw_spinlock_irqsave)(&ctx->lock);
		perf_epc_attach(ctx, epc);
	}
	return epc;
}

static bool is_enabled(const struct perf_event *event)
{
	return event->state >= PERF_EVENT_STATE_INACTIVE;
}

/*
 * A child begins in the state of its creator. If that has failed, which the creator's place may be to
 * blame for, the family's state is asked for.
 */
static bool begins_enabled(const struct perf_event *event, const struct perf_event *parent)
{
	if (event->state == PERF_EVENT_STATE_ERROR && parent->state > PERF_EVENT_STATE_EXIT)
		return is_enabled(parent);
	return is_enabled(event);
}

static void child_state(struct perf_event *child, struct perf_event *event,
			const struct perf_event *parent)
{
	child->creator = event;
	child->state = begins_enabled(event, parent) ? PERF_EVENT_STATE_INACTIVE : PERF_EVENT_STATE_OFF;
	if (parent->attr.freq) {
		child->hw.sample_period = event->hw.sample_period;
		child->hw.last_period = child->hw.sample_period;
		local64_set(&child->hw.period_left, child->hw.sample_period);
	}
}

static struct perf_event *clone_event(struct inherit *in)
{
	struct perf_event *parent = in->spec.parent;
	struct perf_event_attr attr __uninitialized;
	struct perf_event_spec spec = in->spec;

	if (parent->attr.type != PERF_TYPE_BREAKPOINT)
		return perf_event_clone(in->ctx, &in->spec);

	/* Address and length change together: IOC_MODIFY_ATTRIBUTES. */
	scoped_guard(mutex, &parent->child_mutex)
		attr = parent->attr;
	spec.attr = &attr;
	return perf_event_clone(in->ctx, &spec);
}

/* One event of the new task: in its context and its group, but not running. */
static struct perf_event *inherit_event(struct inherit *in, struct perf_event *event,
					struct perf_event *leader)
{
	struct perf_event *parent = parent_of(event);
	struct perf_event_pmu_context *epc;
	struct perf_event *child;

	/* A group may be in the care of another PMU than this member's. */
	epc = child_epc(in->ctx, event->pmu_ctx->pmu);
	if (!epc)
		return ERR_PTR(-ENOMEM);
	in->spec.attr = &parent->attr;
	in->spec.cpu = parent->cpu;
	in->spec.leader = leader;
	in->spec.parent = parent;
	child = clone_event(in);
	if (IS_ERR(child))
		return child;
	child_state(child, event, parent);
	perf_attach_unseen(in->ctx, child, epc);
	return child;
}

static int inherit_group(struct inherit *in, struct perf_event *leader)
{
	struct perf_event *new_leader, *sibling, *new;

	new_leader = inherit_event(in, leader, NULL);
	if (IS_ERR(new_leader))
		return PTR_ERR(new_leader);

	for_each_sibling_event(sibling, leader) {
		new = inherit_event(in, sibling, new_leader);
		if (IS_ERR(new))
			return PTR_ERR(new);
		if (sibling->aux_event == leader && perf_event_get_live(new_leader))
			new->aux_event = new_leader;
	}
	new_leader->group_generation = leader->group_generation;
	return 0;
}

static int inherit_groups(struct inherit *in, struct perf_event_context *from)
{
	struct perf_event *event;
	int ret;

	list_for_each_entry(event, &from->event_list, event_entry) {
		if (event->group_leader != event || !wants_inherit(event, in->clone_flags))
			continue;
		ret = inherit_group(in, event);
		if (ret)
			return ret;
	}
	return 0;
}

/* What has been asked of the family since the child was made, and not of the child. */
static void catch_up(struct perf_event *child, struct perf_event *parent,
		     struct perf_event *creator)
{
	/* Its mappings are its creator's, which may have gone through exec since it was a child. */
	if (has_addr_filter(child))
		perf_addr_filters_clone(child, creator);
	perf_bp_catch_up(child, parent);
}

/*
 * Enters the event into its parent's list. False: the parent is going. Whoever enables, disables or
 * changes the family holds its child_mutex, and may have done so since the child was made.
 */
static bool adopt(struct perf_event *child)
{
	struct perf_event *parent = child->parent, *creator = child->creator;
	bool enabled;

	child->creator = NULL;
	guard(mutex)(&parent->child_mutex);
	if (parent->state == PERF_EVENT_STATE_DEAD)
		return false;
	list_add_tail(&child->child_list, &parent->child_list);
	child->attach_state |= PERF_ATTACH_CHILD;
	catch_up(child, parent, creator);
	enabled = begins_enabled(creator, parent);
	if (unlikely(enabled && child->state == PERF_EVENT_STATE_OFF))
		perf_event_enable(child);
	else if (unlikely(!enabled && is_enabled(child)))
		perf_event_disable(child);
	return true;
}

static void adopt_all(struct inherit *in)
{
	struct perf_event_context *ctx = in->ctx;
	struct perf_event *child, *next;

	/* Within the creator's, but nobody takes these two the other way round. */
	mutex_lock_nested(&ctx->mutex, SINGLE_DEPTH_NESTING);
	list_for_each_entry_safe(child, next, &ctx->event_list, event_entry) {
		if (!adopt(child)) {
			perf_remove(child, PERF_REMOVE_DEAD);
			list_add_tail(&child->event_entry, &in->orphans);
		}
	}
	mutex_unlock(&ctx->mutex);
}

/* How many events there are to inherit, and of these, light ones. */
static unsigned int count_heirs(const struct inherit *in, struct perf_event_context *from,
				unsigned int *nr_light)
{
	struct perf_event *event;
	unsigned int nr = 0;

	*nr_light = 0;
	list_for_each_entry(event, &from->event_list, event_entry) {
		if (wants_inherit(event->group_leader, in->clone_flags)) {
			nr++;
			*nr_light += perf_event_is_light(parent_of(event));
		}
	}
	return nr;
}

static int inherit_all(struct inherit *in, struct perf_event_context *from)
{
	unsigned int nr_light;
	int ret;

	guard(mutex)(&from->mutex);
	if (!count_heirs(in, from, &nr_light))
		return 0;
	in->ctx = perf_ctx_alloc(in->spec.task, nr_light);
	if (!in->ctx)
		return -ENOMEM;
	in->spec.task->perf_event_ctxp = in->ctx;

	/* After an error, too: a parent must know of the children there are, not to go before them. */
	ret = inherit_groups(in, from);
	perf_start_unseen(in->ctx);
	adopt_all(in);
	return ret;
}

/**
 * perf_event_init_task - a task is being created
 * @child: it; not visible yet
 * @clone_flags: of clone(2)
 *
 * Context: may sleep
 * Return: 0 or -errno; nothing is left behind then
 */
int perf_event_init_task(struct task_struct *child, u64 clone_flags)
{
	struct perf_event_context *from = current->perf_event_ctxp;
	struct inherit in = {
		.spec		= { .task = child, .cgroup_fd = -1 },
		.clone_flags	= clone_flags,
		.orphans	= LIST_HEAD_INIT(in.orphans),
	};
	int ret;

	memset(child->perf_recursion, 0, sizeof(child->perf_recursion));
	child->perf_event_ctxp = NULL;
	mutex_init(&child->perf_event_mutex);
	INIT_LIST_HEAD(&child->perf_event_list);

	if (!from || !from->nr_events)
		return 0;
	ret = inherit_all(&in, from);
	perf_event_put_all(&in.orphans);
	if (ret)
		perf_event_free_task(child);
	return ret;
}
