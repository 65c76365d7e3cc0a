// SPDX-License-Identifier: GPL-2.0
/*
 * Detection and registration of the PMUs, CPU hotplug, and reboot.
 *
 * A vendor's detection fills x86_pmu_regs and x86_pmus. This file tests the registers and
 * registers the PMUs, at early_initcall: before the lockup detector and before the other CPUs.
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

#include "lbr.h"
#include "intel/bts.h"
#include "intel/ds.h"

static bool x86_has_interrupt __ro_after_init;

/**
 * perf_events_lapic_init - deliver the overflow interrupts of this CPU as NMI
 *
 * Context: interrupts disabled, on each CPU that starts or resumes.
 */
void perf_events_lapic_init(void)
{
	if (x86_nr_pmus && x86_has_interrupt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
}

/* ------------------------------------------------------------------- CPUs */

/* The PMU of this CPU; NULL: none. */
static struct x86_pmu *x86_setup_this_pmu(void)
{
	unsigned int i;

	if (x86_nr_pmus < 2)
		return &x86_pmus[0];
	for (i = 0; i < x86_nr_pmus; i++)
		if (intel_pmu_is_here(&x86_pmus[i]))
			return &x86_pmus[i];
	return NULL;
}

static void x86_setup_announce(const struct x86_pmu *xpmu)
{
	pr_info("%s, %s: %u general and %u fixed counters of %u bits%s\n", xpmu->model->name,
		x86_pmu_regs.name, x86_nr_general(xpmu), x86_nr_fixed(xpmu), xpmu->width,
		x86_has_interrupt ? "" : ", no interrupt");
}

/* Is this the second thread of its core? The lowest bit of the APIC ID shows it. */
static bool x86_setup_second_thread(unsigned int nr)
{
	return __max_threads_per_core > 1 && cpu_data(nr).topo.initial_apicid & 1;
}

/* A CPU that is online when the state of CPU hotplug is set up has interrupts enabled. */
static void x86_setup_reset_cpu(struct x86_pmu_cpu *cpu)
{
	guard(irqsave)();
	if (cpu->pmu) {
		x86_pmu_cpu_reset(cpu);
		x86_lbr_cpu_reset(cpu);
	}
	intel_bts_cpu_reset();
	intel_ds_cpu_reset();
}

static int x86_pmu_cpu_starting(unsigned int nr)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	cpu->pmu = x86_setup_this_pmu();
	if (!cpu->pmu) {
		pr_warn_once("CPU %u is a kind of core of its own: no PMU\n", nr);
		x86_setup_reset_cpu(cpu);
		return 0;
	}
	/* Hybrid parts: the first CPU of its kind has set the PMU's counters. */
	if (cpumask_empty(&cpu->pmu->cpus))
		x86_setup_announce(cpu->pmu);
	cpumask_set_cpu(nr, &cpu->pmu->cpus);
	cpu->thread_offset = x86_pmu_regs.netburst && x86_setup_second_thread(nr) ? 2 : 0;
	cpu->virt_clear = x86_pmu_regs.guest_bits ? AMD64_EVENTSEL_HOSTONLY : 0;
	x86_setup_reset_cpu(cpu);
	intel_smi_cpu_starting();
	return 0;
}

/*
 * Counters continue to run after the core has removed their events. A kernel started by kexec would
 * find them enabled, and report that firmware uses them. A task that still counts starts its
 * counters again.
 */
static void x86_setup_stop_cpu(void *unused)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (cpu->pmu)
		x86_sched_unload(cpu, cpu->loaded, false);
	x86_setup_reset_cpu(cpu);
}

static int x86_pmu_cpu_dying(unsigned int nr)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	x86_setup_stop_cpu(NULL);
	if (cpu->pmu && x86_nr_pmus > 1)
		cpumask_clear_cpu(nr, &cpu->pmu->cpus);
	return 0;
}

static int x86_setup_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	on_each_cpu(x86_setup_stop_cpu, NULL, 1);
	return NOTIFY_OK;
}

/* Runs after the core's notifier, which has the same priority and was registered before. */
static struct notifier_block x86_setup_reboot_notifier = {
	.notifier_call	= x86_setup_reboot,
	.priority	= INT_MIN,
};

/* ------------------------------------------------------------------ the PMU */

/* pmu::filter: @ret is true if @cpu does not have this PMU. */
static void x86_pmu_filter(struct pmu *pmu, int cpu, bool *ret)
{
	*ret = !cpumask_test_cpu(cpu, &to_x86_pmu(pmu)->cpus);
}

static const struct pmu x86_pmu_template = {
	.event_init	= x86_event_init,
	.event_mapped	= x86_event_mapped,
	.event_unmapped	= x86_event_unmapped,
	.event_idx	= x86_event_idx,
	.start		= x86_event_start,
	.stop		= x86_event_stop,
	.read		= x86_event_read,
	.check_period	= x86_check_new_period,
	.sched_assign	= x86_sched_assign,
	.sched_load	= x86_sched_load,
	.sched_save	= x86_sched_save,
	.sched_task	= x86_sched_task,
	.task_ctx_nr	= perf_hw_context,
};

/*
 * Without a PMU in the hypervisor, or with counters that firmware uses, registers do not keep what
 * is written.
 */
static bool __init x86_setup_counter_works(unsigned int n)
{
	u64 before, select, after;

	if (rdmsrl_safe(x86_pmu_regs.select + n * x86_pmu_regs.step, &select) ||
	    rdmsrl_safe(x86_pmu_regs.counter + n * x86_pmu_regs.step, &before))
		return false;
	if (select & x86_pmu_regs.enable)
		pr_warn("firmware uses counter %u (select %#llx); it is taken over\n", n, select);
	if (wrmsrl_safe(x86_pmu_regs.select + n * x86_pmu_regs.step, 0) ||
	    wrmsrl_safe(x86_pmu_regs.counter_write + n * x86_pmu_regs.step, 0xabcd) ||
	    rdmsrl_safe(x86_pmu_regs.counter + n * x86_pmu_regs.step, &after))
		return false;
	return after == 0xabcd;
}

static bool __init x86_setup_hardware_works(const struct x86_pmu *xpmu)
{
	unsigned long counters = xpmu->counters & X86_GENERAL_MASK & ~xpmu->rtm_counters;
	unsigned int n;

	for_each_set_bit(n, &counters, INTEL_PMC_MAX_GENERIC)
		if (!x86_setup_counter_works(n))
			return false;
	return counters;
}

static int __init x86_setup_detect(void)
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

static int __init x86_setup_register_pmu(struct x86_pmu *xpmu, const char *name, int type)
{
	int ret;

	ret = x86_sysfs_setup(xpmu);
	if (ret)
		return ret;
	xpmu->pmu.capabilities |= x86_has_interrupt ? 0 : PERF_PMU_CAP_NO_INTERRUPT;
	if (x86_nr_pmus > 1)
		xpmu->pmu.capabilities |= PERF_PMU_CAP_EXTENDED_HW_TYPE;
	return perf_pmu_register(&xpmu->pmu, name, type);
}

static int __init x86_setup_register_all(void)
{
	static const char *const hybrid_name[] = { "cpu_core", "cpu_atom" };
	unsigned int i;
	int ret;

	for (i = 0; i < x86_nr_pmus; i++) {
		struct x86_pmu *xpmu = &x86_pmus[i];
		struct pmu pmu = x86_pmu_template;

		if (x86_nr_pmus > 1)
			pmu.filter = x86_pmu_filter;
		pmu.task_ctx_cache = x86_lbr_task_cache(xpmu);
		pmu.capabilities = xpmu->pmu.capabilities;
		xpmu->pmu = pmu;
		ret = x86_setup_register_pmu(xpmu, x86_nr_pmus > 1 ? hybrid_name[i] : "cpu",
					     i ? -1 : PERF_TYPE_RAW);
		if (ret)
			return ret;
	}
	return 0;
}

static int __init init_hw_perf_events(void)
{
	int ret = x86_setup_detect();

	if (ret || !x86_setup_hardware_works(&x86_pmus[0])) {
		x86_nr_pmus = 0;
		pr_info("no CPU PMU: software events only\n");
		return 0;
	}

	x86_has_interrupt = boot_cpu_has(X86_FEATURE_APIC);
	if (x86_nr_pmus == 1) {
		cpumask_copy(&x86_pmus[0].cpus, cpu_possible_mask);
		x86_setup_announce(&x86_pmus[0]);
	}

	x86_pmu_regs.prepare = x86_pmus[0].model->flags & X86_MODEL_PREPARE;
	x86_pmu.handle_irq = x86_pmu_regs.global_status ? x86_irq_status : x86_irq_scan;
	perf_events_lapic_init();
	register_nmi_handler(NMI_LOCAL, x86_pmi, 0, "PMI");
	register_reboot_notifier(&x86_setup_reboot_notifier);
	x86_lbr_init(&x86_pmus[0]);
	ret = cpuhp_setup_state(CPUHP_AP_PERF_X86_STARTING, "perf/x86:starting",
				x86_pmu_cpu_starting, x86_pmu_cpu_dying);
	return ret ?: x86_setup_register_all();
}
early_initcall(init_hw_perf_events);
