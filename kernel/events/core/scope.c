// SPDX-License-Identifier: GPL-2.0
/*
 * PMUs that several CPUs share: one online CPU of each instance is designated for the
 * instance's events.
 *
 * Locks: the masks change in CPU hotplug callbacks only.
 */
#include <linux/cpumask.h>
#include <linux/topology.h>

#include "core.h"

static struct cpumask scope_designated[PERF_PMU_MAX_SCOPE];

/**
 * perf_scope_siblings - CPUs that share an instance of a PMU
 * @scope: PERF_PMU_SCOPE_*
 * @cpu: one of the CPUs
 *
 * Context: any
 * Return: the CPUs, NULL for PERF_PMU_SCOPE_NONE
 */
noinline const struct cpumask *perf_scope_siblings(unsigned int scope, int cpu)
{
	if (scope == PERF_PMU_SCOPE_SYS_WIDE)
		return cpu_online_mask;
	if (scope == PERF_PMU_SCOPE_PKG)
		return topology_core_cpumask(cpu);
	if (scope == PERF_PMU_SCOPE_CLUSTER)
		return topology_cluster_cpumask(cpu);
	if (scope == PERF_PMU_SCOPE_DIE)
		return topology_die_cpumask(cpu);
	return scope == PERF_PMU_SCOPE_CORE ? topology_sibling_cpumask(cpu) : NULL;
}

/**
 * perf_scope_designated - designated CPUs of a scope, one for each instance
 * @scope: PERF_PMU_SCOPE_*
 *
 * Context: any
 * Return: the CPUs, NULL for PERF_PMU_SCOPE_NONE
 */
const struct cpumask *perf_scope_designated(unsigned int scope)
{
	if (scope == PERF_PMU_SCOPE_NONE || scope >= PERF_PMU_MAX_SCOPE)
		return NULL;
	return &scope_designated[scope];
}

/**
 * perf_scope_place - bind a new event to the designated CPU of its instance
 * @event: new CPU event of a PMU with a scope
 *
 * Context: process context
 * Return: 0, or -ENODEV if no CPU of the instance is online
 */
int perf_scope_place(struct perf_event *event)
{
	unsigned int scope = event->pmu->scope;
	const struct cpumask *siblings = perf_scope_siblings(scope, event->cpu);
	int cpu;

	if (!siblings)
		return -ENODEV;
	cpu = cpumask_any_and(&scope_designated[scope], siblings);
	if (cpu >= nr_cpu_ids)
		return perf_refuse(-ENODEV, "cpu: no CPU of the PMU's scope is online");
	event->cpu = cpu;
	event->event_caps |= PERF_EV_CAP_READ_SCOPE;
	return 0;
}

static void scope_hand_over(unsigned int scope, int from, int to,
			    void (*migrate)(struct pmu *pmu, int from, int to))
{
	struct pmu *pmu;
	int idx = srcu_read_lock(&perf_pmus_srcu);

	list_for_each_entry_rcu(pmu, &perf_pmus, entry, srcu_read_lock_held(&perf_pmus_srcu)) {
		if (pmu->scope == scope)
			migrate(pmu, from, to);
	}
	srcu_read_unlock(&perf_pmus_srcu, idx);
}

/**
 * perf_scope_cpu_online - designate a CPU for its instances that have no designated CPU
 * @cpu: CPU that is coming up
 * @migrate: moves a PMU's events from one CPU to another: when @cpu was the last of its instance to
 *	be unplugged its events stayed, and another one may be designated now
 *
 * Context: CPU hotplug callback, may sleep
 */
void perf_scope_cpu_online(int cpu, void (*migrate)(struct pmu *pmu, int from, int to))
{
	for (int scope = PERF_PMU_SCOPE_CORE; scope < PERF_PMU_MAX_SCOPE; scope++) {
		struct cpumask *designated = &scope_designated[scope];
		int to = nr_cpu_ids;

		/* Where cpumask_var_t is a pointer the boot CPU has no mask of siblings yet. */
		if (!cpumask_empty(designated))
			to = cpumask_any_and(designated, perf_scope_siblings(scope, cpu));
		if (to >= nr_cpu_ids)
			cpumask_set_cpu(cpu, designated);
		else if (to != cpu)
			scope_hand_over(scope, cpu, to, migrate);
	}
}

/**
 * perf_scope_cpu_offline - designate other CPUs for the instances of a CPU
 * @cpu: CPU that is being unplugged
 * @migrate: moves a PMU's events from one CPU to another
 *
 * Context: CPU hotplug callback, may sleep
 */
void perf_scope_cpu_offline(int cpu, void (*migrate)(struct pmu *pmu, int from, int to))
{
	for (int scope = PERF_PMU_SCOPE_CORE; scope < PERF_PMU_MAX_SCOPE; scope++) {
		int to;

		if (!cpumask_test_and_clear_cpu(cpu, &scope_designated[scope]))
			continue;
		to = cpumask_any_but(perf_scope_siblings(scope, cpu), cpu);
		if (to >= nr_cpu_ids)
			continue;
		cpumask_set_cpu(to, &scope_designated[scope]);
		scope_hand_over(scope, cpu, to, migrate);
	}
}
