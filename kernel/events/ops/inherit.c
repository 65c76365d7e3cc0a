// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance: a new task gets the inheritable events of the task that creates it.
 *
 * Only whole groups are inherited. The parent of a child event is the top event, which has the
 * file, and not its origin, the event of the creating task: each fork in a chain costs the same. A
 * child uses what its parent has set up, because a parent is not freed before its children.
 *
 * The new task's context is filled before it is published. Then each event is linked to its parent,
 * and from then on it can be enabled, read and closed.
 *
 * Locks: ctx->mutex of the creating task; parent's child_mutex for the child list.
 */
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "ops.h"

/**
 * struct inherit - a fork in progress
 * @spec: description of the child event that is being created
 * @ctx: context of the new task
 * @clone_flags: flags of clone(2)
 * @to_free: child events with a parent that has been closed meanwhile
 */
struct inherit {
	struct perf_event_spec		spec;
	struct perf_event_context	*ctx;
	u64				clone_flags;
	struct list_head		to_free;
};

static __always_inline bool inherit_is_wanted(const struct perf_event *event, u64 clone_flags)
{
	const struct perf_event_attr *a = &event->attr;

	if (!a->inherit || (a->inherit_thread && !(clone_flags & CLONE_THREAD)))
		return false;
	/* The new task has no handler for the signal. */
	return !(a->sigtrap && (clone_flags & CLONE_CLEAR_SIGHAND));
}

static struct perf_event_pmu_context *inherit_add_epc(struct perf_event_context *ctx,
						      struct pmu *pmu)
{
	struct perf_event_pmu_context *epc = perf_epc_alloc(ctx, pmu);

	if (!epc)
		return NULL;
	guard(perf_irqsave)(&ctx->lock);
	perf_epc_attach(ctx, epc);
	return epc;
}

/* The PMU that schedules the group need not be that of @event, a member. */
static struct perf_event_pmu_context *inherit_epc(struct perf_event_context *ctx,
						  const struct perf_event *event)
{
	struct pmu *pmu = event->pmu_ctx->pmu;
	struct perf_event_pmu_context *epc = perf_epc_find(ctx, pmu);

	if (!epc)
		epc = inherit_add_epc(ctx, pmu);
	if (epc && unlikely(perf_epc_lacks_task_data(ctx, epc, event)) &&
	    !perf_epc_alloc_task_data(epc))
		return NULL;
	return epc;
}

static bool inherit_is_enabled(const struct perf_event *event)
{
	return event->state >= PERF_EVENT_STATE_INACTIVE;
}

/*
 * A child has the initial state of its origin. If the origin is in the ERROR state, which may be
 * due to the CPU it runs on, the parent's state decides.
 */
static bool inherit_starts_enabled(const struct perf_event *event, const struct perf_event *parent)
{
	if (event->state == PERF_EVENT_STATE_ERROR && parent->state > PERF_EVENT_STATE_EXIT)
		return inherit_is_enabled(parent);
	return inherit_is_enabled(event);
}

static void inherit_set_state(struct perf_event *child, struct perf_event *event,
			      const struct perf_event *parent)
{
	child->origin = event;
	child->state = inherit_starts_enabled(event, parent) ? PERF_EVENT_STATE_INACTIVE :
							       PERF_EVENT_STATE_OFF;
	if (parent->attr.freq) {
		child->hw.sample_period = event->hw.sample_period;
		child->hw.last_period = child->hw.sample_period;
		local64_set(&child->hw.period_left, child->hw.sample_period);
	}
}

static noinline struct perf_event *inherit_clone_breakpoint(struct inherit *in)
{
	struct perf_event *parent = in->spec.parent;
	struct perf_event_attr attr __uninitialized;
	struct perf_event_spec spec = in->spec;

	/* Address and length change together: IOC_MODIFY_ATTRIBUTES. */
	scoped_guard(mutex, &parent->child_mutex)
		attr = parent->attr;
	spec.attr = &attr;
	return perf_event_clone(in->ctx, &spec);
}

/*
 * Creates an event of the new task and adds it to the context and its group, without starting it.
 */
static struct perf_event *inherit_event(struct inherit *in, struct perf_event *event,
					struct perf_event *leader)
{
	struct perf_event *parent = perf_event_top(event);
	struct perf_event_pmu_context *epc;
	struct perf_event *child;

	epc = inherit_epc(in->ctx, event);
	if (!epc)
		return ERR_PTR(-ENOMEM);
	in->spec.attr = &parent->attr;
	in->spec.cpu = parent->cpu;
	in->spec.leader = leader;
	in->spec.parent = parent;
	child = parent->attr.type == PERF_TYPE_BREAKPOINT ? inherit_clone_breakpoint(in) :
							    perf_event_clone(in->ctx, &in->spec);
	if (IS_ERR(child))
		return child;
	inherit_set_state(child, event, parent);
	perf_attach_unpublished(in->ctx, child, epc);
	return child;
}

static int inherit_group(struct inherit *in, struct perf_event *leader)
{
	struct perf_event *new_leader, *sibling, *new;

	new_leader = inherit_event(in, leader, NULL);
	if (IS_ERR(new_leader))
		return PTR_ERR(new_leader);

	for_each_group_sibling(sibling, leader) {
		new = inherit_event(in, sibling, new_leader);
		if (IS_ERR(new))
			return PTR_ERR(new);
		if (sibling->aux_event == leader && perf_event_get_live(new_leader))
			new->aux_event = new_leader;
	}
	new_leader->group_generation = leader->group_generation;
	return 0;
}

/* Do groups take turns? The schedule of a CPU that the PMU does not support does not show it. */
static bool inherit_takes_turns(const struct perf_event_pmu_context *epc)
{
	return epc->overcommitted ||
	       (epc->nr_flexible > 1 && !raw_cpu_ptr(epc->pmu->cpu_pmu_context)->cpu_supported);
}

/*
 * Many tasks run for less than a slice: in every second one the CPU side is placed first, and
 * groups that take turns begin with another one in each. Multiples of the golden ratio, as
 * fractions of the queue, are spread evenly, no matter how many there are.
 */
static void inherit_begin_elsewhere(struct perf_event_pmu_context *epc,
				    struct perf_event_pmu_context *from)
{
	struct list_head *first = epc->flexible.next;
	u32 distance;

	lockdep_assert_held(&from->ctx->mutex);
	epc->nr_forks = ++from->nr_forks;
	epc->slice_nr = epc->nr_forks;
	if (!epc->nr_flexible || !inherit_takes_turns(from))
		return;
	distance = reciprocal_scale(epc->nr_forks * GOLDEN_RATIO_32, epc->nr_flexible);
	for (; distance; distance--)
		first = first->next;
	list_rotate_to_front(first, &epc->flexible);
}

static int inherit_groups(struct inherit *in, struct perf_event_context *from)
{
	struct perf_event_pmu_context *epc;
	struct perf_event *event;
	int ret;

	list_for_each_entry(event, &from->event_list, event_entry) {
		if (event->group_leader != event || !inherit_is_wanted(event, in->clone_flags))
			continue;
		ret = inherit_group(in, event);
		if (ret)
			return ret;
	}
	list_for_each_entry(epc, &in->ctx->pmu_ctx_list, entry)
		inherit_begin_elsewhere(epc, perf_epc_find(from, epc->pmu));
	return 0;
}

/* Applies requests on the parent and its children that were made after the child was created. */
static void inherit_sync_child(struct perf_event *child, struct perf_event *parent,
			       struct perf_event *origin)
{
	/*
	 * The new task has the mappings of the creating task, which may differ from the parent's.
	 */
	if (has_addr_filter(child))
		perf_addr_filters_clone(child, origin);
	if (perf_bp_differs(child, parent)) {
		perf_event_disable(child);
		perf_bp_copy(child, parent);
	}
}

/*
 * Links a child to its parent. False if the parent has been closed. A request on the parent and its
 * children holds child_mutex, and may have been made since the child was created.
 */
static bool inherit_link_child(struct perf_event *child)
{
	struct perf_event *parent = child->parent, *origin = child->origin;
	bool enabled;

	child->origin = NULL;
	guard(mutex)(&parent->child_mutex);
	if (parent->state == PERF_EVENT_STATE_DEAD)
		return false;
	list_add_tail(&child->child_list, &parent->child_list);
	child->attach_state |= PERF_ATTACH_CHILD;
	inherit_sync_child(child, parent, origin);
	enabled = inherit_starts_enabled(origin, parent);
	if (unlikely(enabled && child->state == PERF_EVENT_STATE_OFF))
		perf_event_enable(child);
	else if (unlikely(!enabled && inherit_is_enabled(child)))
		perf_event_disable(child);
	return true;
}

static void inherit_link_children(struct inherit *in)
{
	struct perf_event_context *ctx = in->ctx;
	struct perf_event *child, *next;

	/* Inside the creating task's ctx->mutex. No path takes the two in the other order. */
	mutex_lock_nested(&ctx->mutex, SINGLE_DEPTH_NESTING);
	list_for_each_entry_safe(child, next, &ctx->event_list, event_entry) {
		if (!inherit_link_child(child)) {
			perf_remove(child, PERF_REMOVE_DEAD);
			list_add_tail(&child->event_entry, &in->to_free);
		}
	}
	mutex_unlock(&ctx->mutex);
}

/* Returns the number of events to inherit; @nr_embedded is set to the number of embeddable ones. */
static unsigned int inherit_count(const struct inherit *in, struct perf_event_context *from,
				  unsigned int *nr_embedded)
{
	struct perf_event *event;
	unsigned int nr = 0;

	*nr_embedded = 0;
	list_for_each_entry(event, &from->event_list, event_entry) {
		if (inherit_is_wanted(event->group_leader, in->clone_flags)) {
			nr++;
			*nr_embedded += perf_event_is_embeddable(perf_event_top(event));
		}
	}
	return nr;
}

static int inherit_events(struct inherit *in, struct perf_event_context *from)
{
	unsigned int nr_embedded;
	int ret;

	guard(mutex)(&from->mutex);
	if (!inherit_count(in, from, &nr_embedded))
		return 0;
	in->ctx = perf_ctx_alloc(in->spec.task, nr_embedded);
	if (!in->ctx)
		return -ENOMEM;
	in->spec.task->perf_event_ctxp = in->ctx;

	/* After an error, too: a parent must not be freed before the children created so far. */
	ret = inherit_groups(in, from);
	perf_start_unpublished(in->ctx);
	inherit_link_children(in);
	return ret;
}

static int inherit_all(struct perf_event_context *from, struct task_struct *child, u64 clone_flags)
{
	struct inherit in = {
		.spec		= { .task = child, .cgroup_fd = -1 },
		.clone_flags	= clone_flags,
		.to_free	= LIST_HEAD_INIT(in.to_free),
	};
	int ret = inherit_events(&in, from);

	perf_event_free_list(&in.to_free);
	if (ret)
		perf_event_free_task(child);
	return ret;
}

int perf_event_init_task(struct task_struct *child, u64 clone_flags)
{
	struct perf_event_context *from = current->perf_event_ctxp;

	memset(child->perf_recursion, 0, sizeof(child->perf_recursion));
	child->perf_event_ctxp = NULL;
	mutex_init(&child->perf_event_mutex);
	INIT_LIST_HEAD(&child->perf_event_list);

	if (!from || !from->nr_events)
		return 0;
	return inherit_all(from, child, clone_flags);
}
