// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend to RAM and hibernation: the last CPU loses its registers. The other CPUs have been
 * unplugged before, see setup.c.
 *
 * Events stay loaded. Suspend stops the counters and updates the counts, resume writes all
 * registers, and the events continue.
 *
 * Context: one CPU is online, interrupts disabled. A pending NMI can still arrive.
 */
#include <linux/init.h>
#include <linux/syscore_ops.h>
#include <asm/apic.h>

#include "lbr.h"
#include "intel/bts.h"
#include "intel/pebs.h"
#include "topdown.h"

/* Within the 6.12 series the callbacks got an argument, and struct syscore was added. */
#ifdef SYSCORE_WITHOUT_DATA
#define SYSCORE_DATA	void
#else
#define SYSCORE_DATA	void *unused
#endif

static int x86_pmu_suspend(SYSCORE_DATA)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (cpu->pmu) {
		x86_topdown_suspend(cpu);
		intel_pebs_suspend(cpu);
		x86_pmu_cpu_stop(cpu);
	}
	amd_ibs_suspend();
	return 0;
}

static void x86_pmu_resume(SYSCORE_DATA)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (!cpu->pmu)
		return;
	perf_events_lapic_init();
	intel_smi_cpu_starting();
	x86_lbr_cpu_reset(cpu);
	x86_pmu_cpu_restore(cpu);
	x86_topdown_resume(cpu);
	intel_bts_cpu_restore();
	amd_ibs_resume();
}

static struct syscore_ops x86_suspend_ops = {
	.suspend	= x86_pmu_suspend,
	.resume		= x86_pmu_resume,
};

#ifdef SYSCORE_WITHOUT_DATA
static void __init x86_suspend_register(void)
{
	register_syscore_ops(&x86_suspend_ops);
}
#else
static struct syscore x86_suspend_syscore = { .ops = &x86_suspend_ops };

static void __init x86_suspend_register(void)
{
	register_syscore(&x86_suspend_syscore);
}
#endif

/* After the local APIC's core_initcall: it suspends after the PMU and resumes before it. */
static int __init x86_suspend_init(void)
{
	if (x86_nr_pmus)
		x86_suspend_register();
	return 0;
}
arch_initcall(x86_suspend_init);
