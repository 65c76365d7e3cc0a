// SPDX-License-Identifier: GPL-2.0
/*
 * Prints this CPU's counters to the log, for SysRq-P.
 */
#include <linux/perf_event.h>

#include "pmu.h"

static void x86_debug_print_counter(const struct x86_pmu_cpu *cpu, unsigned int idx)
{
	const struct perf_event *event = cpu->event[idx];

	pr_info("CPU#%d: counter %u: select %016llx value %012llx%s\n", smp_processor_id(), idx,
		cpu->select[idx], x86_counter_read(cpu, idx),
		cpu->enabled & BIT_ULL(idx) ? ", on" : "");
	if (event)
		pr_info("CPU#%d: counter %u: event %llu, %lld left\n", smp_processor_id(), idx,
			event->id, (s64)local64_read(&event->hw.period_left));
}

/**
 * perf_event_print_debug - print this CPU's counters
 *
 * Context: any but NMI.
 */
void perf_event_print_debug(void)
{
	struct x86_pmu_cpu *cpu;
	unsigned long flags;

	if (!x86_nr_pmus)
		return;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu) {
		pr_info("CPU#%d: on %016llx owned %016llx loaded %016llx fixed %016llx\n",
			smp_processor_id(), cpu->enabled, cpu->irq_owned, cpu->loaded,
			cpu->fixed_ctrl);
		for (u64 todo = cpu->pmu->counters; todo; todo &= todo - 1)
			x86_debug_print_counter(cpu, __ffs64(todo));
	}
	local_irq_restore(flags);
}
