// SPDX-License-Identifier: GPL-2.0
/*
 * Finding the PMU, registering it, and CPUs that come and go.
 *
 * A vendor's detection fills x86_hw and x86_cores; here they are tried out and put to use. This
 * must happen before the lockup detector and the other CPUs start (early_initcall).
 */
#define pr_fmt(fmt) "perf: " fmt

#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/cpu.h>
#include <asm/nmi.h>

#include "pmu.h"

/* Until there is a PMU. */
static int no_overflow(struct pt_regs *regs)
{
	return 0;
}

struct x86_pmu x86_pmu __read_mostly = { .handle_irq = no_overflow };
struct x86_hw x86_hw __ro_after_init;
struct x86_core x86_cores[2];
unsigned int x86_nr_cores __ro_after_init;

static bool has_interrupt __ro_after_init;

/**
 * perf_events_lapic_init - route overflow interrupts on this CPU to NMI
 *
 * Context: interrupts off, for each CPU that comes up.
 */
void perf_events_lapic_init(void)
{
	if (x86_nr_cores && has_interrupt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
}

/* ------------------------------------------------------------------- CPUs */

/* Which of the PMUs this CPU has. */
static struct x86_core *this_core(void)
{
	unsigned int i;

	if (x86_nr_cores < 2)
		return &x86_cores[0];
	for (i = 0; i < x86_nr_cores; i++)
		if (intel_core_is_here(&x86_cores[i]))
			return &x86_cores[i];
	return NULL;
}

static void announce(const struct x86_core *core)
{
	pr_info("%s, %s: %u general and %u fixed counters of %u bits%s\n", core->model->name,
		x86_hw.name, x86_nr_general(core), x86_nr_fixed(core), core->width,
		has_interrupt ? "" : ", no interrupt");
}

/* Of the two threads of a core, which the lowest bit of the APIC's number tells apart. */
static bool second_thread(unsigned int nr)
{
	return __max_threads_per_core > 1 && cpu_data(nr).topo.initial_apicid & 1;
}

static int pmu_cpu_starting(unsigned int nr)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	cpu->core = this_core();
	if (!cpu->core) {
		pr_warn_once("CPU %u is a kind of core of its own: no PMU\n", nr);
		return 0;
	}
	/* Of a hybrid part's kinds the counters are known now. */
	if (cpumask_empty(&cpu->core->cpus))
		announce(cpu->core);
	cpumask_set_cpu(nr, &cpu->core->cpus);
	cpu->first = x86_hw.netburst && second_thread(nr) ? 2 : 0;
	cpu->virt_clear = x86_hw.guest_bits ? AMD64_EVENTSEL_HOSTONLY : 0;
	x86_cpu_quiesce(cpu);
	intel_smi_cpu_starting();
	return 0;
}

static int pmu_cpu_dying(unsigned int nr)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	if (cpu->core) {
		x86_unload(cpu, cpu->loaded);
		x86_cpu_quiesce(cpu);
		if (x86_nr_cores > 1)
			cpumask_clear_cpu(nr, &cpu->core->cpus);
	}
	return 0;
}

/*
 * What counted when the core took the events off runs on for nobody. A kernel that takes over would find it
 * selected, and take it for somebody else's. (A task that goes on counting starts its own again.)
 */
static void stop_here(void *unused)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	if (cpu->core) {
		x86_unload(cpu, cpu->loaded);
		x86_cpu_quiesce(cpu);
	}
}

static int pmu_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	on_each_cpu(stop_here, NULL, 1);
	return NOTIFY_OK;
}

/* After the core's, which has this priority, too, and was registered before. */
static struct notifier_block pmu_reboot_notifier = {
	.notifier_call	= pmu_reboot,
	.priority	= INT_MIN,
};

/* ------------------------------------------------------------------ the PMU */

/* True if this PMU has nothing to say on @cpu. */
static void pmu_filter(struct pmu *pmu, int cpu, bool *ret)
{
	*ret = !cpumask_test_cpu(cpu, &x86_core_of(pmu)->cpus);
}

static const struct pmu pmu_template = {
	.event_init	= x86_event_init,
	.event_mapped	= x86_event_mapped,
	.event_unmapped	= x86_event_unmapped,
	.event_idx	= x86_event_idx,
	.start		= x86_event_start,
	.stop		= x86_event_stop,
	.read		= x86_event_read,
	.check_period	= x86_check_period,
	.sched_assign	= x86_sched_assign,
	.sched_load	= x86_sched_load,
	.sched_save	= x86_sched_save,
	.task_ctx_nr	= perf_hw_context,
};

/*
 * A hypervisor without a PMU, or firmware that uses the counters, shows in registers that do not
 * hold what is written.
 */
static bool __init counter_works(const struct x86_core *core, unsigned int n)
{
	u64 before, select, after;

	if (rdmsrl_safe(x86_hw.select + n * x86_hw.step, &select) ||
	    rdmsrl_safe(x86_hw.counter + n * x86_hw.step, &before))
		return false;
	if (select & x86_hw.enable)
		pr_warn("firmware uses counter %u (select %#llx); it is taken over\n", n, select);
	if (wrmsrl_safe(x86_hw.select + n * x86_hw.step, 0) ||
	    wrmsrl_safe(x86_hw.counter_write + n * x86_hw.step, 0xabcd) ||
	    rdmsrl_safe(x86_hw.counter + n * x86_hw.step, &after))
		return false;
	return after == 0xabcd;
}

static bool __init hardware_works(const struct x86_core *core)
{
	unsigned long counters = core->counters & X86_GENERAL_MASK;
	unsigned int n;

	for_each_set_bit(n, &counters, INTEL_PMC_MAX_GENERIC)
		if (!counter_works(core, n))
			return false;
	return counters;
}

static int __init detect(void)
{
	switch (boot_cpu_data.x86_vendor) {
	case X86_VENDOR_INTEL:
		return intel_pmu_detect();
	case X86_VENDOR_AMD:
	case X86_VENDOR_HYGON:
		return amd_pmu_detect();
	case X86_VENDOR_CENTAUR:
	case X86_VENDOR_ZHAOXIN:
		return zhaoxin_pmu_detect();
	default:
		return -ENODEV;
	}
}

static int __init register_core(struct x86_core *core, const char *name, int type)
{
	int ret;

	ret = x86_sysfs_setup(core);
	if (ret)
		return ret;
	core->pmu.capabilities = has_interrupt ? 0 : PERF_PMU_CAP_NO_INTERRUPT;
	if (x86_nr_cores > 1)
		core->pmu.capabilities |= PERF_PMU_CAP_EXTENDED_HW_TYPE;
	return perf_pmu_register(&core->pmu, name, type);
}

static int __init register_all(void)
{
	static const char *const hybrid_name[] = { "cpu_core", "cpu_atom" };
	unsigned int i;
	int ret;

	for (i = 0; i < x86_nr_cores; i++) {
		struct x86_core *core = &x86_cores[i];
		struct pmu pmu = pmu_template;

		if (x86_nr_cores > 1)
			pmu.filter = pmu_filter;
		core->pmu = pmu;
		ret = register_core(core, x86_nr_cores > 1 ? hybrid_name[i] : "cpu",
				    i ? -1 : PERF_TYPE_RAW);
		if (ret)
			return ret;
	}
	return 0;
}

static int __init init_hw_perf_events(void)
{
	int ret = detect();

	if (ret || !hardware_works(&x86_cores[0])) {
		x86_nr_cores = 0;
		pr_info("no CPU PMU: software events only\n");
		return 0;
	}

	has_interrupt = boot_cpu_has(X86_FEATURE_APIC);
	if (x86_nr_cores == 1) {
		cpumask_copy(&x86_cores[0].cpus, cpu_possible_mask);
		announce(&x86_cores[0]);
	}

	x86_hw.prepare = x86_cores[0].model->flags & X86_MODEL_PREPARE;
	x86_pmu.handle_irq = x86_hw.global_status ? x86_irq_status : x86_irq_scan;
	perf_events_lapic_init();
	register_nmi_handler(NMI_LOCAL, x86_pmi, 0, "PMI");
	register_reboot_notifier(&pmu_reboot_notifier);
	ret = cpuhp_setup_state(CPUHP_AP_PERF_X86_STARTING, "perf/x86:starting",
				pmu_cpu_starting, pmu_cpu_dying);
	return ret ?: register_all();
}
early_initcall(init_hw_perf_events);
