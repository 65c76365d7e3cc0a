// SPDX-License-Identifier: GPL-2.0
/*
 * Moving a PMU's CPU events to another CPU, when the one that served them goes away.
 *
 * Locks: both CPUs' ctx->mutex, in the order of their addresses.
 */
#include "buffer.h"
#include "operations.h"

struct move {
	struct perf_event		*event;
	struct perf_event_context	*to;
};

/*
 * From here on requests go to the context where the event is bound for; they find it without a PMU
 * context and change its state alone.
 */
static int leave_here(struct perf_event_context *from, void *arg)
{
	struct perf_event_context *to = ((struct move *)arg)->to;
	struct perf_event *event = ((struct move *)arg)->event;
	enum perf_event_state state = event->state;

	perf_detach_locked(from, event, 0);
	/* It will go on where it stopped. */
	event->state = state >= PERF_EVENT_STATE_OFF ? min(state, PERF_EVENT_STATE_INACTIVE) : state;
	event->attach_state |= PERF_ATTACH_MOVING;
	event->cpu = to->cpu;
	event->tstamp = perf_ctx_time(to);
	WRITE_ONCE(event->ctx, to);
	return 0;
}

static int arrive_here(struct perf_event_context *to, void *arg)
{
	struct perf_event *event = arg;

	event->attach_state &= ~PERF_ATTACH_MOVING;
	perf_attach_locked(to, event, perf_epc_find(to, event->pmu));
	return 0;
}

/* Those that write to its buffer, or whose buffer it writes to, may stay behind. */
static void leave(struct perf_event *event, struct perf_event_context *from,
		  struct perf_event_context *to)
{
	struct move move = { .event = event, .to = to };

	perf_buffer_mark_crowded(event);
	perf_ctx_get(to);
	perf_ctx_call(from, leave_here, &move);
}

static void arrive(struct perf_event *event, struct perf_event *leader,
		   struct perf_event_context *from, struct perf_event_context *to)
{
	event->group_leader = leader;
	perf_ctx_call(to, arrive_here, event);
	perf_ctx_put(from);
}

/* Is it on a list that is walked under RCU, and may not be on another before the walk is over? */
static bool is_walked(struct perf_event *event)
{
	return perf_event_is_sideband(event) || is_software_event(event);
}

static void move_group(struct perf_event *leader, struct perf_event_context *from,
		       struct perf_event_context *to)
{
	struct perf_event *sibling, *next;
	bool walked = is_walked(leader);
	LIST_HEAD(members);

	/* Out of the group, each is on no list that its list node is needed for. */
	list_for_each_entry_safe(sibling, next, &leader->sibling_list, sibling_list) {
		leave(sibling, from, to);
		walked |= is_walked(sibling);
		list_add_tail(&sibling->active_entry, &members);
	}
	leave(leader, from, to);
	if (walked)
		synchronize_rcu();

	arrive(leader, leader, from, to);
	list_for_each_entry_safe(sibling, next, &members, active_entry) {
		list_del_init(&sibling->active_entry);
		arrive(sibling, leader, from, to);
	}
}

/* A group goes with the PMU that schedules it, whatever its leader is. */
static struct perf_event *next_to_move(struct pmu *pmu, struct perf_event_context *from)
{
	struct perf_event *event;

	list_for_each_entry(event, &from->event_list, event_entry) {
		if (event->group_leader == event && event->pmu_ctx->pmu == pmu)
			return event;
	}
	return NULL;
}

static void lock_two(struct perf_event_context *a, struct perf_event_context *b)
{
	if (a > b)
		swap(a, b);
	mutex_lock(&a->mutex);
	mutex_lock_nested(&b->mutex, SINGLE_DEPTH_NESTING);
}

/**
 * perf_pmu_migrate_context - move a PMU's events from one CPU to another
 * @pmu: its events can count on any CPU of some domain
 * @src_cpu: from; may be about to go offline
 * @dst_cpu: to
 *
 * Context: may sleep; CPU hotplug callbacks
 */
void perf_pmu_migrate_context(struct pmu *pmu, int src_cpu, int dst_cpu)
{
	struct perf_event_context *from = &per_cpu(perf_cpu_context, src_cpu).ctx;
	struct perf_event_context *to = &per_cpu(perf_cpu_context, dst_cpu).ctx;
	struct perf_event *leader;

	if (from == to)
		return;
	lock_two(from, to);
	while ((leader = next_to_move(pmu, from)))
		move_group(leader, from, to);
	mutex_unlock(&to->mutex);
	mutex_unlock(&from->mutex);
}
EXPORT_SYMBOL_GPL(perf_pmu_migrate_context);
