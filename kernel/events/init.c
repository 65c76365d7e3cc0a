// SPDX-License-Identifier: GPL-2.0
/*
 * Boot: each part in the order of the floors.
 */
#include <linux/hw_breakpoint.h>

#include "buffer.h"
#include "doors.h"

/* Set by a driver that can hand out the branch stack of this very moment. */
DEFINE_STATIC_CALL_RET0(perf_snapshot_branch_stack, perf_snapshot_branch_stack_t);

/* Buffer memory of a user that is not charged to RLIMIT_MEMLOCK, KiB per CPU: half a MiB and a page. */
int sysctl_perf_event_mlock __read_mostly = 512 + PAGE_SIZE / 1024;

/* SysRq: drivers that can show their registers have their own. */
void __weak perf_event_print_debug(void)
{
}

/* From start_kernel(): interrupts off, one CPU, slab works, nothing may sleep. */
void __init perf_event_init(void)
{
	perf_refuse_init();
	perf_rotate_init();
	perf_pmu_init();
	perf_hotplug_init();
	perf_event_cache_init();

	perf_software_init();
	perf_clock_pmus_init();
	perf_tracepoint_init();
	perf_event_init_cpu(smp_processor_id());
	WARN_ON(init_hw_breakpoint());
}

/* The scheduler's tick: hard interrupt. */
void perf_event_task_tick(void)
{
	perf_throttle_tick();
}
