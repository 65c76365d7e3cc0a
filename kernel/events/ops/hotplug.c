// SPDX-License-Identifier: GPL-2.0
/*
 * CPU hotplug.
 *
 * A CPU's contexts are active while the CPU is online. When it is taken offline their clocks and
 * events stop; when it is online again they continue. No event is removed. PMU drivers prepare a
 * CPU in states of their own, modules in dynamic ones; the contexts are activated in a state after
 * all of them. Before that the CPU accepts events, such as the watchdog's.
 *
 * Locks: the CPU's ctx->mutex against opens. CPU hotplug calls one callback at a time.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/reboot.h>
#include <linux/smp.h>

#include "ops.h"

static void hotplug_load(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		perf_sched_changed(epc);
		perf_sched_reload(epc->pmu);
	}
}

/* The task that runs here, the CPU's hotplug thread, may have events, too. */
static void hotplug_activate_ctx(struct perf_event_context *ctx)
{
	CLASS(perf_cpu_contexts, locks)();
	perf_ctx_clock_start(ctx, locks.held.now);
	perf_adddel_retry(ctx);
	perf_switch_list_in(ctx);
	hotplug_load(ctx);
}

/* On the CPU, interrupts off. */
static void hotplug_activate_cpu(void *unused)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);

	if (cpuctx->ctx.active_cpu >= 0)
		return;
	hotplug_activate_ctx(&cpuctx->ctx);
	cpuctx->cgrp = NULL;
	if (perf_cgroup_is_used())
		perf_cgroup_sync(current);
}

/* Stops the counters of the context's PMUs and updates the counts. */
static void hotplug_unload(struct perf_event_context *ctx)
{
	static struct perf_schedule nothing;
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);

		while (cpc->nr_cpu_side_running)
			perf_group_stop(cpc->cpu_side[--cpc->nr_cpu_side_running]);
		if (perf_pmu_supports_cpu(epc->pmu, smp_processor_id()))
			epc->pmu->sched_load(epc->pmu, &nothing);
		/* The events in the schedule may be closed before the next compilation. */
		epc->sched->nr = 0;
		epc->sched->stamp = 0;
		epc->sched->task_mask = 0;
		epc->overcommitted = false;
		perf_sched_changed(epc);
	}
}

static noinline void hotplug_deactivate_ctx(struct perf_event_context *ctx)
{
	hotplug_unload(ctx);
	perf_switch_list_out(ctx);
	perf_ctx_clock_stop(ctx);
}

static void hotplug_deactivate_cpu(void *unused)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (cpuctx->ctx.active_cpu < 0)
		return;
	ctx = cpuctx->task_ctx;
	if (ctx) {
		guard(perf_irqsave)(&ctx->lock);
		perf_ctx_sched_out_locked(ctx, NULL);
	}

	perf_cpu_side_lock();
	for_each_cgrp_ctx(ctx, cpuctx)
		hotplug_deactivate_ctx(ctx);
	hotplug_deactivate_ctx(&cpuctx->ctx);
	perf_cpu_side_unlock();
	cpuctx->cgrp_ctx = NULL;
	cpuctx->cgrp = NULL;
}

int perf_event_init_cpu(unsigned int cpu)
{
	struct perf_cpu_context *cpuctx = per_cpu_ptr(&perf_cpu_context, cpu);

	if (!cpu_online(cpu))
		return 0;

	perf_scope_cpu_online(cpu, perf_pmu_migrate_context);
	guard(mutex)(&cpuctx->ctx.mutex);
	cpuctx->online = true;
	return 0;
}

/* The drivers have prepared the CPU. */
static int hotplug_cpu_prepared(unsigned int cpu)
{
	guard(mutex)(&per_cpu(perf_cpu_context, cpu).ctx.mutex);
	perf_call_on_cpu(cpu, hotplug_activate_cpu, NULL);
	return 0;
}

int perf_event_exit_cpu(unsigned int cpu)
{
	struct perf_cpu_context *cpuctx = per_cpu_ptr(&perf_cpu_context, cpu);

	if (!cpu_online(cpu))
		perf_rotate_cancel(cpu);
	if (!cpuctx->online)
		return 0;

	/* Refuse new events, move those that can count elsewhere, stop the rest. */
	scoped_guard(mutex, &cpuctx->ctx.mutex)
		cpuctx->online = false;
	perf_scope_cpu_offline(cpu, perf_pmu_migrate_context);
	guard(mutex)(&cpuctx->ctx.mutex);
	perf_call_on_cpu(cpu, hotplug_deactivate_cpu, NULL);
	return 0;
}

/* A kernel started by kexec must not find running counters. */
static int hotplug_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	int cpu;

	for_each_online_cpu(cpu)
		perf_event_exit_cpu(cpu);
	return NOTIFY_OK;
}

static struct notifier_block hotplug_reboot_notifier = {
	.notifier_call	= hotplug_reboot,
	.priority	= INT_MIN,
};

void __init perf_hotplug_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		perf_ctx_init(&per_cpu(perf_cpu_context, cpu).ctx, NULL, cpu);
	register_reboot_notifier(&hotplug_reboot_notifier);
	cpuhp_setup_state(CPUHP_AP_PERF_EVENTS_ONLINE, "perf/events:online", hotplug_cpu_prepared,
			  NULL);
}
