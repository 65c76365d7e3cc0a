// SPDX-License-Identifier: GPL-2.0
/*
 * What hypervisors ask: what PMU is there, which counters run in a guest, branch records.
 *
 * Context: as said at each function. No locks.
 */
#include <linux/export.h>
#include <linux/perf_event.h>

#include "pmu.h"

/**
 * x86_guest_capability - describe a PMU to KVM
 * @core: the PMU
 * @cap: the answer
 *
 * A guest's counters are numbered from 0 without a gap, so it can have those before the first that
 * is missing here.
 */
void x86_guest_capability(const struct x86_core *core, struct x86_pmu_capability *cap)
{
	*cap = (struct x86_pmu_capability){
		.version		= core->version,
		.num_counters_gp	= x86_nr_in_row(core->counters & X86_GENERAL_MASK),
		.num_counters_fixed	= x86_nr_in_row(core->counters >> INTEL_PMC_IDX_FIXED),
		.bit_width_gp		= core->width,
		.bit_width_fixed	= core->width,
		.events_mask		= core->arch_missing,
		.events_mask_len	= core->arch_len,
	};
}

/**
 * perf_get_x86_pmu_capability - describe the PMU to KVM
 * @cap: the answer; all 0 where there is none, or two of different kinds
 */
void perf_get_x86_pmu_capability(struct x86_pmu_capability *cap)
{
	*cap = (struct x86_pmu_capability){ };
	if (x86_nr_cores == 1)
		x86_guest_capability(&x86_cores[0], cap);
}
EXPORT_SYMBOL_GPL(perf_get_x86_pmu_capability);

/**
 * perf_get_hw_event_config - the selection for a generic event
 * @hw_event: PERF_COUNT_HW_*
 *
 * Return: 0 if it is not counted.
 */
u64 perf_get_hw_event_config(int hw_event)
{
	return x86_nr_cores ? x86_generic_select(&x86_cores[0], hw_event) : 0;
}
EXPORT_SYMBOL_GPL(perf_get_hw_event_config);

#ifdef CONFIG_CPU_SUP_INTEL
/**
 * perf_guest_get_msrs - registers that have another value in a guest
 * @nr: receives how many
 * @data: the guest's PMU, which is not needed without precise samples
 *
 * What runs on for nobody may run on in the guest: fewer registers to switch.
 *
 * Return: the registers; NULL if there is none. Interrupts off; valid until they are on.
 */
struct perf_guest_switch_msr *perf_guest_get_msrs(int *nr, void *data)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	*nr = 0;
	if (!x86_nr_cores || !x86_hw.global_ctrl || x86_hw.guest_bits)
		return NULL;

	cpu->guest_msr = (struct perf_guest_switch_msr){
		.msr	= x86_hw.global_ctrl,
		.host	= cpu->on,
		.guest	= (cpu->on | (cpu->guest_only & cpu->armed)) & ~cpu->host_only,
	};
	*nr = 1;
	return &cpu->guest_msr;
}
EXPORT_SYMBOL_GPL(perf_guest_get_msrs);

/* A guest gets no branch records: the driver does not use them. */
void x86_perf_get_lbr(struct x86_pmu_lbr *lbr)
{
	*lbr = (struct x86_pmu_lbr){ };
}
EXPORT_SYMBOL_GPL(x86_perf_get_lbr);

/* The debug store is mapped for user page tables, where PEBS and BTS would write through it. */
DEFINE_PER_CPU_PAGE_ALIGNED(struct debug_store, cpu_debug_store);

/* Nothing to restore: the debug store is not in use. */
void perf_restore_debug_store(void)
{
}
#endif

/* No microcode revision makes a difference to what this driver uses. */
void perf_check_microcode(void)
{
}

#ifdef CONFIG_CPU_SUP_AMD
static void set_virt_clear(u64 bits)
{
	struct x86_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_cpu);
	if (cpu->virt_clear != bits && x86_hw.guest_bits) {
		cpu->virt_clear = bits;
		for (u64 todo = cpu->loaded; todo; todo &= todo - 1) {
			unsigned int idx = __ffs64(todo);

			x86_select(cpu, cpu->event[idx], idx);
		}
	}
	local_irq_restore(flags);
}

/**
 * amd_pmu_enable_virt - this CPU can run guests from now on
 */
void amd_pmu_enable_virt(void)
{
	set_virt_clear(0);
}
EXPORT_SYMBOL_GPL(amd_pmu_enable_virt);

/**
 * amd_pmu_disable_virt - it cannot any more
 *
 * A host that never runs guests counts with the host-only bit as without; a guest-only counter
 * would never run, but with both bits clear it would always.
 */
void amd_pmu_disable_virt(void)
{
	set_virt_clear(AMD64_EVENTSEL_HOSTONLY);
}
EXPORT_SYMBOL_GPL(amd_pmu_disable_virt);
#endif
