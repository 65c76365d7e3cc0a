// SPDX-License-Identifier: GPL-2.0
/*
 * Initialization at boot: first what registering a PMU needs, then the PMUs. The scheduler's tick.
 */
#include <linux/hw_breakpoint.h>

#include "uapi.h"

/* A driver that can read its branch records at any time updates the call. */
DEFINE_STATIC_CALL_RET0(perf_snapshot_branch_stack, perf_snapshot_branch_stack_t);

/* SysRq: drivers that can print their registers override this. */
void __weak perf_event_print_debug(void)
{
}

/* Called by start_kernel(): one CPU, interrupts off, slab available. No mutex is contended. */
void __init perf_event_init(void)
{
	perf_refuse_init();
	perf_rotate_init();
	perf_pmu_init();
	perf_cgroup_init();
	perf_control_init();
	perf_hotplug_init();
	perf_event_cache_init();

	WARN_ON(perf_software_init());
	WARN_ON(perf_clock_pmus_init());
	WARN_ON(perf_tracepoint_init());
	perf_event_init_cpu(smp_processor_id());
	WARN_ON(init_hw_breakpoint());
}

/* Called by the scheduler's tick in hard interrupt context. */
void perf_event_task_tick(void)
{
	perf_throttle_tick();
}
