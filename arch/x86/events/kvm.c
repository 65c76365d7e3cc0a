// SPDX-License-Identifier: GPL-2.0
/*
 * The interface for KVM: description of the PMU, counters in guests, branch records.
 */
#include <linux/export.h>
#include <linux/perf_event.h>

#include "branch.h"
#include "pmu.h"

/**
 * x86_kvm_capability - describe a PMU to KVM
 * @xpmu: the PMU
 * @cap: set to the description
 *
 * The counters of a guest are numbered without a gap. Therefore the counters above the first one
 * that is missing here are not available to guests.
 *
 * Context: any.
 */
void x86_kvm_capability(const struct x86_pmu *xpmu, struct x86_pmu_capability *cap)
{
	*cap = (struct x86_pmu_capability){
		.version		= xpmu->version,
		.num_counters_gp	= x86_nr_in_row(xpmu->counters & X86_GENERAL_MASK),
		.num_counters_fixed	= x86_nr_in_row(xpmu->counters >> INTEL_PMC_IDX_FIXED),
		.bit_width_gp		= xpmu->width,
		.bit_width_fixed	= xpmu->width,
		.events_mask		= xpmu->arch_missing,
		.events_mask_len	= xpmu->arch_len,
	};
}

/**
 * perf_get_x86_pmu_capability - describe the PMU to KVM
 * @cap: set to the description; all 0 without a PMU and on hybrid parts
 *
 * Context: any.
 */
void perf_get_x86_pmu_capability(struct x86_pmu_capability *cap)
{
	*cap = (struct x86_pmu_capability){ };
	if (x86_nr_pmus == 1)
		x86_kvm_capability(&x86_pmus[0], cap);
}
EXPORT_SYMBOL_GPL(perf_get_x86_pmu_capability);

/**
 * perf_get_hw_event_config - the selection for a generic event
 * @hw_event: PERF_COUNT_HW_*
 *
 * Context: any.
 * Return: the selection; 0: not counted
 */
u64 perf_get_hw_event_config(int hw_event)
{
	return x86_nr_pmus ? x86_generic_select(&x86_pmus[0], hw_event) : 0;
}
EXPORT_SYMBOL_GPL(perf_get_hw_event_config);

#ifdef CONFIG_CPU_SUP_INTEL
/*
 * PEBS_ENABLE in the host, as far as a guest matters. The register keeps the bits of counters
 * without an event, but these counters are disabled. With 0, KVM does not switch the register.
 */
static u64 x86_kvm_pebs_enable(const struct x86_pmu_cpu *cpu)
{
	return cpu->precise & cpu->loaded ? cpu->pebs_enable_written : 0;
}

/**
 * perf_guest_get_msrs - registers that have another value in a guest
 * @nr: set to the number of registers
 * @data: the guest's PMU; unused, only precise samples of guests need @data
 *
 * Counters without an event continue to run in the guest. Those that write records do not: the
 * debug store is not in the guest's page tables.
 *
 * Context: interrupts disabled; the result is valid until these are enabled.
 * Return: array of @nr registers; NULL: none
 */
struct perf_guest_switch_msr *perf_guest_get_msrs(int *nr, void *data)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	lockdep_assert_irqs_disabled();
	*nr = 0;
	if (!x86_nr_pmus || !x86_pmu_regs.global_ctrl || x86_pmu_regs.guest_bits)
		return NULL;

	cpu->guest_msr[0] = (struct perf_guest_switch_msr){
		.msr	= x86_pmu_regs.global_ctrl,
		.host	= cpu->enabled,
		.guest	= (cpu->enabled | (cpu->guest_only & cpu->irq_owned)) & ~cpu->host_only &
			  ~cpu->precise,
	};
	cpu->guest_msr[1] = (struct perf_guest_switch_msr){
		.msr	= MSR_IA32_PEBS_ENABLE,
		.host	= x86_kvm_pebs_enable(cpu),
	};
	*nr = cpu->pmu && cpu->pmu->max_precise ? 2 : 1;
	return cpu->guest_msr;
}
EXPORT_SYMBOL_GPL(perf_guest_get_msrs);

/**
 * x86_kvm_branches - describe the branch records that a guest can have
 * @xpmu: the PMU
 * @lbr: set to the description; all 0: none
 *
 * A guest's records are saved as a call stack is: without call-stack mode there are none. KVM does
 * not give the architectural ones to guests.
 *
 * Context: any.
 */
void x86_kvm_branches(const struct x86_pmu *xpmu, struct x86_pmu_lbr *lbr)
{
	const struct x86_branches *b = xpmu->branches;

	*lbr = (struct x86_pmu_lbr){ };
	if (!b || b->kind != X86_BRANCHES_RING || !xpmu->pmu.task_ctx_cache ||
	    x86_branch_unsupported(b, PERF_SAMPLE_BRANCH_CALL_STACK))
		return;
	*lbr = (struct x86_pmu_lbr){
		.nr		= b->depth,
		.from		= b->from,
		.to		= b->to,
		.info		= xpmu->branch_layout & X86_BRANCH_INFO ? b->info : 0,
		.has_callstack	= true,
	};
}

/**
 * x86_perf_get_lbr - describe the branch records to KVM
 * @lbr: set to the description; all 0: none, and on hybrid parts
 *
 * KVM reserves the registers for a guest with an event INTEL_FIXED_VLBR_EVENT of the task that runs
 * the guest, and lets the guest access the registers while the event is on the CPU.
 *
 * Context: any.
 */
void x86_perf_get_lbr(struct x86_pmu_lbr *lbr)
{
	*lbr = (struct x86_pmu_lbr){ };
	if (x86_nr_pmus == 1)
		x86_kvm_branches(&x86_pmus[0], lbr);
}
EXPORT_SYMBOL_GPL(x86_perf_get_lbr);
#endif

/*
 * A late load of microcode changes nothing: whether the revision allows precise samples is
 * determined at boot, see intel_pebs_microcode_works().
 */
void perf_check_microcode(void)
{
}

#ifdef CONFIG_CPU_SUP_AMD
static void x86_kvm_set_virt_clear(u64 bits)
{
	struct x86_pmu_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->virt_clear != bits && x86_pmu_regs.guest_bits) {
		cpu->virt_clear = bits;
		x86_sched_reselect(cpu);
	}
	local_irq_restore(flags);
}

/**
 * amd_pmu_enable_virt - allow selections for guests: this CPU runs guests from now on
 *
 * Context: any but NMI, on the CPU concerned.
 */
void amd_pmu_enable_virt(void)
{
	x86_kvm_set_virt_clear(0);
}
EXPORT_SYMBOL_GPL(amd_pmu_enable_virt);

/**
 * amd_pmu_disable_virt - clear the host-only bit in selections: this CPU runs no guests any more
 *
 * Without guests the host-only bit makes no difference to what is counted. The guest-only bit must
 * stay: without both bits the counter would count in the host.
 *
 * Context: any but NMI, on the CPU concerned.
 */
void amd_pmu_disable_virt(void)
{
	x86_kvm_set_virt_clear(AMD64_EVENTSEL_HOSTONLY);
}
EXPORT_SYMBOL_GPL(amd_pmu_disable_virt);
#endif
