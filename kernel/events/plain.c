// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling for PMUs without a schedule, and the entry point for both kinds.
 *
 * Most of these are software: whatever is enabled runs, and nothing needs to be chosen. The others
 * are drivers whose pmu::add may say no; then a pinned group fails, and a flexible one waits until
 * something else stops or the rotation comes round.
 *
 * Locks: ctx->lock, interrupts off, on the context's CPU if it is active.
 */
#include "engine.h"

static bool group_may_run(const struct perf_event *leader)
{
	struct perf_event_context *ctx = leader->ctx;

	if (leader->cpu < 0 || !ctx->task)
		return true;
	/* A task event bound to a CPU is looked at when the task comes there, be it once more. */
	if (ctx->active_cpu < 0)
		ctx->last_cpu = -1;
	return ctx->active_cpu == leader->cpu;
}

static void plain_wait(struct perf_event_pmu_context *epc)
{
	epc->overcommitted = true;
	epc->ctx->plain_waits = true;
	if (epc->ctx->active_cpu == smp_processor_id())
		perf_rotate_arm(perf_this_cpc(epc->pmu));
}

static void plain_try(struct perf_event *leader)
{
	if (!group_may_run(leader) || !perf_group_start(leader))
		return;
	if (leader->attr.pinned)
		perf_group_fail(leader);
	else
		plain_wait(leader->pmu_ctx);
}

/* Somebody left: those who wait try again. */
static void plain_try_waiting(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader;

	epc->overcommitted = false;
	list_for_each_entry(leader, &epc->flexible, group_entry) {
		if (leader->state == PERF_EVENT_STATE_INACTIVE)
			plain_try(leader);
	}
}

/*
 * The context has come onto a CPU: groups that have been refused ask again. A driver may not have had
 * an AUX area before, or not be on every CPU; and the timer of the CPU where it said no will not come.
 */
void perf_plain_retry(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	lockdep_assert_held(&ctx->lock);
	ctx->plain_waits = false;
	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (epc->overcommitted && !perf_pmu_has_counters(epc->pmu))
			plain_try_waiting(epc);
	}
}

/**
 * perf_sched_group_changed - a group was enabled, disabled, joined or left by an event
 * @leader: its leader; queued if and only if it is enabled
 */
void perf_sched_group_changed(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	lockdep_assert_held(&epc->ctx->lock);

	if (perf_pmu_has_counters(epc->pmu)) {
		perf_sched_changed(epc);
		if (epc->ctx->active_cpu >= 0)
			perf_sched_reload(epc->pmu);
		return;
	}
	if (perf_group_queued(leader))
		plain_try(leader);
	else if (epc->overcommitted)
		plain_try_waiting(epc);
}

static void rebind_group(struct perf_event *leader, int cpu)
{
	if (leader->cpu < 0)
		return;
	if (leader->cpu == cpu)
		plain_try(leader);
	else if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
}

/*
 * A group whose events with counters have gone has no slot in the schedule that is left, with which it
 * would stop. The next one starts it where it may run.
 */
static void stop_elsewhere(struct perf_event *leader, int cpu)
{
	if (leader->cpu >= 0 && leader->cpu != cpu && leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
}

/* A task came to another CPU: its events that are bound to CPUs change places. */
void perf_plain_rebind(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;
	struct perf_event *event;

	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (perf_pmu_has_counters(epc->pmu))
			perf_sched_changed(epc);
	}
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->group_leader != event || !perf_group_queued(event))
			continue;
		if (!perf_pmu_has_counters(event->pmu_ctx->pmu))
			rebind_group(event, ctx->active_cpu);
		else
			stop_elsewhere(event, ctx->active_cpu);
	}
}

/* The interval is over: all flexible groups off, then the least served first. */
void perf_plain_rotate(struct perf_event_pmu_context *epc)
{
	struct perf_event *event;

	list_for_each_entry(event, &epc->ctx->event_list, event_entry) {
		if (event->pmu_ctx == epc && event->state == PERF_EVENT_STATE_ACTIVE &&
		    !list_empty(&event->group_entry))
			perf_group_stop(event);
	}
	plain_try_waiting(epc);
}
