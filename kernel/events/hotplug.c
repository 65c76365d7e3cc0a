// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that come and go.
 *
 * A CPU's contexts are active while it is online. When it goes offline their clocks stop and their
 * events wait; when it comes back they go on. Nothing is lost but what the CPU did not run.
 *
 * Locks: hotplug callbacks; the CPU's ctx->mutex against opens.
 */
#include <linux/cpu.h>
#include <linux/reboot.h>
#include <linux/smp.h>

#include "operations.h"

static void reload_all(struct perf_event_context *ctx)
{
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		perf_sched_changed(epc);
		perf_sched_reload(epc->pmu);
	}
}

/* On the CPU, interrupts off. */
static void cpu_activate(void *unused)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx = &cpuctx->ctx;
	u64 now = perf_clock();

	if (ctx->active_cpu >= 0)
		return;
	perf_cpu_side_lock(now);
	perf_ctx_clock_start(ctx, now);
	perf_plain_retry(ctx);
	perf_switched_in(ctx);
	reload_all(ctx);
	perf_cpu_side_unlock();
#ifdef CONFIG_CGROUP_PERF
	cpuctx->cgrp = NULL;
	if (static_branch_unlikely(&perf_cgroup_key))
		perf_cgroup_sync(current);
#endif
}

/* Counters run nothing from now on; what they counted is taken in. */
static void unload_all(struct perf_event_context *ctx)
{
	static const struct perf_schedule nothing;
	struct perf_event_pmu_context *epc;

	list_for_each_entry(epc, &ctx->counter_list, counter_entry) {
		struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);

		while (cpc->nr_side_running)
			perf_group_stop(cpc->side[--cpc->nr_side_running]);
		if (perf_pmu_serves_cpu(epc->pmu, smp_processor_id()))
			epc->pmu->sched_load(epc->pmu, &nothing);
		/* Its events may be closed before the next one is compiled. */
		epc->sched->nr = 0;
		epc->sched->task_mask = 0;
		epc->overcommitted = false;
		perf_sched_changed(epc);
	}
}

static void ctx_deactivate(struct perf_event_context *ctx)
{
	unload_all(ctx);
	perf_switched_out(ctx);
	perf_ctx_clock_stop(ctx);
}

static void cpu_deactivate(void *unused)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (cpuctx->ctx.active_cpu < 0)
		return;
	if (cpuctx->task_ctx)
		perf_ctx_sched_out(cpuctx->task_ctx);

	perf_cpu_side_lock(perf_clock());
	for (ctx = cpuctx->cgrp_ctx; ctx; ctx = ctx->cgrp_next)
		ctx_deactivate(ctx);
	ctx_deactivate(&cpuctx->ctx);
	perf_cpu_side_unlock();
	cpuctx->cgrp_ctx = NULL;
	cpuctx->cgrp = NULL;
}

/* The callbacks run on their CPU where it runs at all; at boot interrupts are off. */
static void run_on(int cpu, smp_call_func_t fn)
{
	unsigned long flags;
	int here = get_cpu();

	if (cpu == here) {
		local_irq_save(flags);
		fn(NULL);
		local_irq_restore(flags);
	}
	put_cpu();
	if (cpu != here)
		smp_call_function_single(cpu, fn, NULL, 1);
}

/**
 * perf_event_init_cpu - a CPU comes
 * @cpu: it; called once before it runs and once on it
 *
 * Return: 0
 */
int perf_event_init_cpu(unsigned int cpu)
{
	struct perf_cpu_context *cpuctx = per_cpu_ptr(&perf_cpu_context, cpu);

	if (!cpu_online(cpu))
		return 0;

	perf_scope_cpu_online(cpu);
	guard(mutex)(&cpuctx->ctx.mutex);
	cpuctx->online = true;
	run_on(cpu, cpu_activate);
	return 0;
}

/**
 * perf_event_exit_cpu - a CPU goes
 * @cpu: it; called once while it can still run and once when it cannot
 *
 * Return: 0
 */
int perf_event_exit_cpu(unsigned int cpu)
{
	struct perf_cpu_context *cpuctx = per_cpu_ptr(&perf_cpu_context, cpu);

	if (!cpu_online(cpu))
		perf_rotate_cancel(cpu);
	if (!cpuctx->online)
		return 0;

	/* First nothing comes any more, then what can go elsewhere goes, then what is left stops. */
	scoped_guard(mutex, &cpuctx->ctx.mutex)
		cpuctx->online = false;
	perf_scope_cpu_offline(cpu, perf_pmu_migrate_context);
	guard(mutex)(&cpuctx->ctx.mutex);
	run_on(cpu, cpu_deactivate);
	return 0;
}

/* A kernel that takes over must not find running counters. */
static int perf_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	int cpu;

	for_each_online_cpu(cpu)
		perf_event_exit_cpu(cpu);
	return NOTIFY_OK;
}

static struct notifier_block perf_reboot_notifier = {
	.notifier_call	= perf_reboot,
	.priority	= INT_MIN,
};

int __init perf_hotplug_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		perf_ctx_init(&per_cpu(perf_cpu_context, cpu).ctx, NULL, cpu);
	register_reboot_notifier(&perf_reboot_notifier);
	return 0;
}
