// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling for PMUs with pmu::add and pmu::del, which have no schedule.
 *
 * Most of these PMUs are software: every enabled event runs. For the others pmu::add may fail; then
 * a pinned group gets into the ERROR state, and a flexible one waits until another group stops or
 * the PMU is rotated.
 *
 * Locks: ctx->lock, interrupts off, on the context's CPU if it is active.
 */
#include "sched.h"

static bool adddel_may_run(const struct perf_event *leader)
{
	struct perf_event_context *ctx = leader->ctx;

	if (leader->cpu < 0 || !ctx->task)
		return true;
	/* A task event bound to a CPU is started when the task is switched in there, even again. */
	if (ctx->active_cpu < 0)
		ctx->last_cpu = -1;
	return ctx->active_cpu == leader->cpu;
}

static void adddel_wait(struct perf_event_pmu_context *epc)
{
	epc->overcommitted = true;
	epc->ctx->adddel_waiting = true;
	if (epc->ctx->active_cpu == smp_processor_id())
		perf_rotate_arm(perf_this_cpc(epc->pmu));
}

static void adddel_try(struct perf_event *leader)
{
	if (!adddel_may_run(leader) || !perf_group_start(leader))
		return;
	if (leader->attr.pinned)
		perf_group_fail(leader);
	else
		adddel_wait(leader->pmu_ctx);
}

/* A group has stopped: try to start those that wait. */
static noinline void adddel_try_waiting(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader;

	epc->overcommitted = false;
	list_for_each_entry(leader, &epc->flexible, group_entry) {
		if (leader->state == PERF_EVENT_STATE_INACTIVE)
			adddel_try(leader);
	}
}

/**
 * perf_adddel_retry - try to start the groups that wait in a context
 * @ctx: context that has just become active on this CPU
 *
 * pmu::add may succeed here: the event may have an AUX area now, or the PMU may not exist on the
 * CPU where it failed. The rotation timer of that CPU does not act on this context any more.
 *
 * Context: ctx->lock is held, interrupts off
 */
void perf_adddel_retry(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	lockdep_assert_held(&ctx->lock);
	ctx->adddel_waiting = false;
	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (epc->overcommitted && !perf_pmu_has_counters(epc->pmu))
			adddel_try_waiting(epc);
	}
}

/**
 * perf_adddel_group_changed - perf_sched_group_changed() for a PMU without a schedule
 * @leader: leader of the group; queued if and only if it is enabled
 *
 * Context: ctx->lock is held, interrupts off
 */
void perf_adddel_group_changed(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	lockdep_assert_held(&epc->ctx->lock);

	if (perf_group_queued(leader))
		adddel_try(leader);
	else if (epc->overcommitted)
		adddel_try_waiting(epc);
}

static void adddel_rebind_group(struct perf_event *leader, int cpu)
{
	if (leader->cpu < 0)
		return;
	if (leader->cpu == cpu)
		adddel_try(leader);
	else if (leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
}

/*
 * A group of a counter PMU that has only software members left has no slot in a schedule, so saving
 * the schedule does not stop it. The next schedule starts it on its CPU.
 */
static void adddel_stop_elsewhere(struct perf_event *leader, int cpu)
{
	if (leader->cpu >= 0 && leader->cpu != cpu && leader->state == PERF_EVENT_STATE_ACTIVE)
		perf_group_stop(leader);
}

/**
 * perf_adddel_rebind - start and stop the events of a task that are bound to a CPU
 * @ctx: context of a task that has been switched in on another CPU than before
 *
 * Context: ctx->lock is held, interrupts off
 */
void perf_adddel_rebind(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;
	struct perf_event *event;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry(epc, &ctx->pmu_ctx_list, entry) {
		if (perf_pmu_has_counters(epc->pmu))
			perf_sched_changed(epc);
	}
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->group_leader != event || !perf_group_queued(event))
			continue;
		if (!perf_pmu_has_counters(event->pmu_ctx->pmu))
			adddel_rebind_group(event, ctx->active_cpu);
		else
			adddel_stop_elsewhere(event, ctx->active_cpu);
	}
}

/**
 * perf_adddel_rotate - stop all flexible groups and start them in the order of the queue
 * @epc: PMU context at the end of a multiplexing interval
 *
 * Context: ctx->lock is held, interrupts off
 */
void perf_adddel_rotate(struct perf_event_pmu_context *epc)
{
	struct perf_event *event;

	lockdep_assert_held(&epc->ctx->lock);
	list_for_each_entry(event, &epc->ctx->event_list, event_entry) {
		if (event->pmu_ctx == epc && event->state == PERF_EVENT_STATE_ACTIVE &&
		    !list_empty(&event->group_entry))
			perf_group_stop(event);
	}
	adddel_try_waiting(epc);
}
