// SPDX-License-Identifier: GPL-2.0
/*
 * Could a group run at all? An event that no group of its PMU could ever have room for is refused
 * when it is opened.
 *
 * Accesses no context and no hardware; uses the memory of a CPU with preemption off.
 */
#include "sched.h"

static bool fits_add_member(struct perf_schedule *s, struct pmu *pmu, struct perf_event *event)
{
	if (event->pmu != pmu)
		return true;
	if (s->nr == PERF_SCHED_SLOTS)
		return false;
	s->slot[s->nr++] = (struct perf_sched_slot){ event, -1 };
	return true;
}

/* All members of @pmu but disabled siblings, which need no counter until they are enabled. */
static bool fits_add_group(struct perf_schedule *s, struct pmu *pmu, struct perf_event *leader,
			   struct perf_event *newcomer)
{
	struct perf_event *sibling;

	if (!fits_add_member(s, pmu, leader))
		return false;
	if (newcomer == leader)
		return true;
	for_each_group_sibling(sibling, leader) {
		if (sibling->state >= PERF_EVENT_STATE_INACTIVE &&
		    !fits_add_member(s, pmu, sibling))
			return false;
	}
	return fits_add_member(s, pmu, newcomer);
}

/* With preemption off. Interrupts compile in a memory of their own. */
static DEFINE_PER_CPU(struct perf_schedule, fits_trial);

/**
 * perf_sched_group_fits - could a group run on a PMU that is otherwise unused?
 * @leader: leader of the group
 * @newcomer: event that is about to join the group, or @leader itself
 *
 * Context: process context; ctx->mutex
 * Return: 0, -EINVAL if the group could never run
 */
int perf_sched_group_fits(struct perf_event *leader, struct perf_event *newcomer)
{
	struct pmu *pmu = newcomer->pmu;
	struct perf_schedule *s;

	if (!perf_pmu_has_counters(pmu))
		return 0;

	guard(preempt)();
	s = this_cpu_ptr(&fits_trial);
	s->nr = 0;
	s->user = false;
	s->task_mask = 0;
	if (!fits_add_group(s, pmu, leader, newcomer) || pmu->sched_assign(pmu, s, 0))
		return perf_refuse(-EINVAL,
				   "group: its %llu events need more counters than the PMU has",
				   s->nr);
	return 0;
}
