// SPDX-License-Identifier: GPL-2.0
/*
 * Moving a PMU's CPU events to another CPU, because theirs is taken offline or a driver moves them.
 *
 * Locks: both CPUs' ctx->mutex, in the order of their addresses.
 */
#include "ops.h"

/**
 * struct migration - an event on its way to another CPU
 * @event: event
 * @to: context of the other CPU
 */
struct migration {
	struct perf_event		*event;
	struct perf_event_context	*to;
};

/*
 * The clock of the destination. Its mutex is held, so it is neither activated nor deactivated; its
 * lock is not, so that "frozen" and "stamp" of an active one may be those of different moments.
 */
static u64 migrate_clock(const struct perf_event_context *to)
{
	return to->active_cpu < 0 ? to->stamp : perf_clock() + to->offset;
}

/*
 * Sets event->ctx to the destination. Until the event arrives there it has no PMU context, and
 * requests change only its state. perf_detach_locked() drops the reference to the AUX event:
 * another one is taken, for the event after the move.
 */
static int migrate_leave_here(struct perf_event_context *from, void *arg)
{
	struct perf_event_context *to = ((struct migration *)arg)->to;
	struct perf_event *event = ((struct migration *)arg)->event;
	bool enabled = event->state >= PERF_EVENT_STATE_INACTIVE;
	struct perf_event *aux = event->aux_event;

	if (aux && !perf_event_get_live(aux))
		aux = NULL;
	perf_detach_locked(from, event, 0);
	event->aux_event = aux;
	/* perf_detach_locked() disables the event; it stays enabled on the other CPU. */
	if (enabled)
		perf_event_set_state(event, PERF_EVENT_STATE_INACTIVE);
	event->attach_state |= PERF_ATTACH_MOVING;
	perf_exclusive_migrate(event, to->cpu);
	event->cpu = to->cpu;
	perf_event_set_clock(event, migrate_clock(to));
	/* Pairs with cross_call_event(): [moving]. The context is found after the mark. */
	smp_store_release(&event->ctx, to);
	return 0;
}

static int migrate_arrive_here(struct perf_event_context *to, void *arg)
{
	struct perf_event *event = arg;

	event->attach_state &= ~PERF_ATTACH_MOVING;
	/* It has been enabled on the way. */
	perf_event_update_time(event);
	perf_attach_locked(to, event, perf_epc_find(to, event->pmu));
	return 0;
}

/*
 * Events that share a buffer with this one may stay on the old CPU: the buffer gets multi_writer.
 * mmap_mutex: the event gets no other buffer meanwhile.
 */
static void migrate_leave(struct perf_event *event, struct perf_event_context *from,
			  struct perf_event_context *to)
{
	struct migration move = { .event = event, .to = to };

	guard(mutex)(&event->mmap_mutex);
	perf_buffer_set_multi_writer(event);
	perf_ctx_get(to);
	perf_ctx_call(from, migrate_leave_here, &move);
}

static void migrate_arrive(struct perf_event *event, struct perf_event *leader,
			   struct perf_event_context *from, struct perf_event_context *to)
{
	event->group_leader = leader;
	perf_ctx_call(to, migrate_arrive_here, event);
	perf_ctx_put(from);
}

/* An event that was on a list that is walked under RCU joins the next after a grace period. */
static bool migrate_is_on_rcu_list(struct perf_event *event)
{
	return perf_event_is_sideband(event) || is_software_event(event);
}

static void migrate_group(struct perf_event *leader, struct perf_event_context *from,
			  struct perf_event_context *to)
{
	struct perf_event *sibling, *next;
	bool walked = migrate_is_on_rcu_list(leader);
	LIST_HEAD(members);

	/* active_entry is unused while an event is in no context. */
	list_for_each_entry_safe(sibling, next, &leader->sibling_list, sibling_list) {
		migrate_leave(sibling, from, to);
		walked |= migrate_is_on_rcu_list(sibling);
		list_add_tail(&sibling->active_entry, &members);
	}
	migrate_leave(leader, from, to);
	if (walked)
		synchronize_rcu();

	migrate_arrive(leader, leader, from, to);
	list_for_each_entry_safe(sibling, next, &members, active_entry) {
		list_del_init(&sibling->active_entry);
		migrate_arrive(sibling, leader, from, to);
	}
}

/* A group is moved with the PMU that schedules it, which need not be its leader's. */
static struct perf_event *migrate_next_group(struct pmu *pmu, struct perf_event_context *from)
{
	struct perf_event *event;

	list_for_each_entry(event, &from->event_list, event_entry) {
		if (event->group_leader == event && event->pmu_ctx->pmu == pmu)
			return event;
	}
	return NULL;
}

static void migrate_lock_two(struct perf_event_context *a, struct perf_event_context *b)
{
	if (a > b)
		swap(a, b);
	mutex_lock(&a->mutex);
	mutex_lock_nested(&b->mutex, SINGLE_DEPTH_NESTING);
}

void __cold perf_pmu_migrate_context(struct pmu *pmu, int src_cpu, int dst_cpu)
{
	struct perf_event_context *from = &per_cpu(perf_cpu_context, src_cpu).ctx;
	struct perf_event_context *to = &per_cpu(perf_cpu_context, dst_cpu).ctx;
	struct perf_event *leader;

	if (from == to)
		return;
	migrate_lock_two(from, to);
	while ((leader = migrate_next_group(pmu, from)))
		migrate_group(leader, from, to);
	mutex_unlock(&to->mutex);
	mutex_unlock(&from->mutex);
}
EXPORT_SYMBOL_GPL(perf_pmu_migrate_context);
