// SPDX-License-Identifier: GPL-2.0
/*
 * State and time of events.
 *
 * perf_event_store_state() moves an event from state to state, along the moves of one table:
 * through perf_event_set_state(), which updates the times, or through the frequent moves that are
 * inline in core.h, perf_event_set_active() and perf_leader_set_active() between INACTIVE and
 * ACTIVE, and perf_event_set_exit() for all events of a task that exits. An event that is being
 * created gets its initial state by an assignment.
 *
 * Times follow from the state. An event is enabled while its own state and its leader's state are
 * at least INACTIVE, and running while both are ACTIVE. Both times are measured by the clock of the
 * event's context. That clock stands still while the context is on no CPU, so a context switch has
 * no event's times to update.
 *
 * Stored is the time for which the event was not enabled, and not running, up to the last update.
 * For an event that runs, both times are the clock's reading less what is stored, whatever that
 * update was. So an NMI in the middle of an update reads the right times of the event that it
 * samples: an update of an event that runs changes nothing but the moment.
 *
 * Locks: ctx->lock.
 */
#include <linux/irq_work.h>

#include "core.h"

#ifdef CONFIG_PROVE_LOCKING
#define MOVES_TO(state)	BIT((state) - PERF_EVENT_STATE_DEAD)

static const u8 state_moves[] = {
	[PERF_EVENT_STATE_DEAD - PERF_EVENT_STATE_DEAD] = 0,
	[PERF_EVENT_STATE_EXIT - PERF_EVENT_STATE_DEAD] = MOVES_TO(PERF_EVENT_STATE_DEAD),
	[PERF_EVENT_STATE_ERROR - PERF_EVENT_STATE_DEAD] =
		MOVES_TO(PERF_EVENT_STATE_OFF) | MOVES_TO(PERF_EVENT_STATE_INACTIVE) |
		MOVES_TO(PERF_EVENT_STATE_EXIT) | MOVES_TO(PERF_EVENT_STATE_DEAD),
	[PERF_EVENT_STATE_OFF - PERF_EVENT_STATE_DEAD] =
		MOVES_TO(PERF_EVENT_STATE_INACTIVE) | MOVES_TO(PERF_EVENT_STATE_ERROR) |
		MOVES_TO(PERF_EVENT_STATE_EXIT) | MOVES_TO(PERF_EVENT_STATE_DEAD),
	[PERF_EVENT_STATE_INACTIVE - PERF_EVENT_STATE_DEAD] =
		MOVES_TO(PERF_EVENT_STATE_ACTIVE) | MOVES_TO(PERF_EVENT_STATE_OFF) |
		MOVES_TO(PERF_EVENT_STATE_ERROR) |
		MOVES_TO(PERF_EVENT_STATE_EXIT) | MOVES_TO(PERF_EVENT_STATE_DEAD),
	[PERF_EVENT_STATE_ACTIVE - PERF_EVENT_STATE_DEAD] =
		MOVES_TO(PERF_EVENT_STATE_INACTIVE) | MOVES_TO(PERF_EVENT_STATE_EXIT),
};

/**
 * perf_event_check_move - compare a change of an event's state with the table of moves
 * @event: attached to a context
 * @state: new state; the old one is allowed
 *
 * Context: ctx->lock
 */
void perf_event_check_move(const struct perf_event *event, enum perf_event_state state)
{
	enum perf_event_state old = event->state;

	lockdep_assert_held(&event->ctx->lock);
	WARN_ONCE(old != state &&
		  !(state_moves[old - PERF_EVENT_STATE_DEAD] & MOVES_TO(state)),
		  "perf: event moved from state %d to %d\n", old, state);
}
#endif

/**
 * perf_event_times - perf_event_times_at(), not inline
 * @event: as for perf_event_times_at()
 * @now: moment, in ns of the clock of @event's context
 * @enabled: result: time enabled, ns
 * @running: result: time running, ns
 *
 * Context: as for perf_event_times_at()
 */
void perf_event_times(const struct perf_event *event, u64 now, u64 *enabled, u64 *running)
{
	perf_event_times_at(event, now, enabled, running);
}

/**
 * perf_event_update_time - bring the stored times of an event up to the context's clock
 * @event: event to update
 *
 * Does nothing a second time while the clock is frozen.
 *
 * Context: ctx->lock
 */
void perf_event_update_time(struct perf_event *event)
{
	lockdep_assert_held(&event->ctx->lock);
	perf_event_store_times(event, perf_event_effective_state(event),
			       perf_ctx_time(event->ctx));
}

/**
 * perf_group_update_time - bring the stored times of a group's events up to now
 * @leader: leader of the group
 *
 * To be called before the leader's state changes, on which the times of its siblings depend.
 *
 * Context: ctx->lock
 */
void perf_group_update_time(struct perf_event *leader)
{
	struct perf_event *sibling;

	perf_event_update_time_again(leader);
	for_each_group_sibling(sibling, leader)
		perf_event_update_time_again(sibling);
}

/**
 * perf_event_set_state - move an event to another state
 * @event: attached to a context
 * @state: new state; the old one is allowed and does nothing
 *
 * The times of siblings depend on whether their leader is enabled. If @event is a leader and the
 * move enables or disables it, the times of its siblings are updated as well.
 *
 * Context: ctx->lock
 */
void perf_event_set_state(struct perf_event *event, enum perf_event_state state)
{
	enum perf_event_state old = event->state;
	bool was_enabled = old >= PERF_EVENT_STATE_INACTIVE;
	bool enabled = state >= PERF_EVENT_STATE_INACTIVE;

	lockdep_assert_held(&event->ctx->lock);
	if (old == state)
		return;

	if (event->nr_siblings && was_enabled != enabled)
		perf_group_update_time(event);
	else
		perf_event_update_time_again(event);
	perf_event_store_state(event, state);
}

/* Takes no lock and leaves the state alone: the irq_work disables the event (event/pending.c). */
void perf_event_disable_inatomic(struct perf_event *event)
{
	event->pending_disable = 1;
	perf_irq_work_queue(&event->pending_disable_irq);
}

/**
 * perf_irq_work_queue - queue an irq_work on this CPU, if it can still run there
 * @work: the irq_work
 *
 * On a dead CPU the irq_work would stay queued until the CPU is taken offline the next time: the
 * closing of its event waits for it, and no later irq_work of the CPU gets an interrupt. A wake-up
 * or a signal is left to the next overflow on a CPU that is online. The other users are not called
 * on a dead CPU but for events of the stopper task.
 *
 * Context: any, NMI included; preemption off
 */
void perf_irq_work_queue(struct irq_work *work)
{
	if (!perf_cpu_is_dead())
		irq_work_queue(work);
}
