// SPDX-License-Identifier: GPL-2.0
/*
 * State and time of events.
 *
 * One function moves an event from state to state, along the moves of one table. Times follow
 * from it: an event is enabled while its state and its leader's are at least INACTIVE, and running
 * while both are ACTIVE, both in terms of its context's clock. That clock stands still while the
 * context is on no CPU, so a context switch has no event's time to update.
 *
 * Locks: ctx->lock.
 */
#include "context.h"

#define MOVES_TO(state)	BIT((state) - PERF_EVENT_STATE_DEAD)

static const u8 legal_moves[] = {
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
		MOVES_TO(PERF_EVENT_STATE_INACTIVE),
};

/* What an event amounts to: a disabled leader disables its group. */
enum perf_event_state perf_event_effective_state(const struct perf_event *event)
{
	const struct perf_event *leader = event->group_leader;

	return leader->state <= PERF_EVENT_STATE_OFF ? leader->state : event->state;
}

/**
 * perf_event_times - an event's times at some moment
 * @event: the event
 * @now: the moment, on its context's clock
 * @enabled: result, ns
 * @running: result, ns
 *
 * Reads only. Context: any; exact under ctx->lock or on the context's CPU.
 */
void perf_event_times(const struct perf_event *event, u64 now, u64 *enabled, u64 *running)
{
	enum perf_event_state state = perf_event_effective_state(event);
	u64 since = now - event->tstamp;

	*enabled = event->total_time_enabled;
	*running = event->total_time_running;
	if ((s64)since <= 0)
		return;
	if (state >= PERF_EVENT_STATE_INACTIVE)
		*enabled += since;
	if (state >= PERF_EVENT_STATE_ACTIVE)
		*running += since;
}

/* Brings the stored times up to @now: perf_event_update_time(). */
void perf_event_add_time(struct perf_event *event, u64 now)
{
	perf_event_times(event, now, &event->total_time_enabled, &event->total_time_running);
	event->tstamp = now;
}

/* The same for all of a group, for when the leader is about to change. */
void perf_group_update_time(struct perf_event *leader)
{
	struct perf_event *sibling;

	perf_event_update_time(leader);
	for_each_sibling_event(sibling, leader)
		perf_event_update_time(sibling);
}

/**
 * perf_event_set_state - move an event to another state
 * @event: attached to a context
 * @state: new state
 *
 * Siblings' times depend on whether their leader is enabled, so a leader that crosses that line
 * takes theirs along.
 */
void perf_event_set_state(struct perf_event *event, enum perf_event_state state)
{
	enum perf_event_state old = event->state;

	lockdep_assert_held(&event->ctx->lock);
	if (old == state)
		return;
	WARN_ONCE(!(legal_moves[old - PERF_EVENT_STATE_DEAD] & MOVES_TO(state)),
		  "perf: event moved from state %d to %d\n", old, state);

	if (event->group_leader == event &&
	    (old >= PERF_EVENT_STATE_INACTIVE) != (state >= PERF_EVENT_STATE_INACTIVE))
		perf_group_update_time(event);
	else
		perf_event_update_time(event);
	WRITE_ONCE(event->state, state);
}
