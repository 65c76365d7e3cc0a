// SPDX-License-Identifier: GPL-2.0
/*
 * A machine that sleeps: suspend to RAM and hibernation take the registers of the CPU that goes
 * last. The others go through hotplug, see setup.c.
 *
 * Events stay on their counters. What they have counted is taken when the counters stop, and then
 * nobody runs any more; afterwards every register is written anew, and they go on.
 *
 * Context: one CPU is left, interrupts off; an NMI that was on its way may come.
 */
#include <linux/init.h>
#include <linux/syscore_ops.h>
#include <asm/apic.h>

#include "pmu.h"

/* Callbacks got their argument, and the list its own structure, within the 6.12 series. */
#ifdef SYSCORE_WITHOUT_DATA
#define SYSCORE_DATA	void
#else
#define SYSCORE_DATA	void *unused
#endif

static int sleep_suspend(SYSCORE_DATA)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	if (cpu->core)
		x86_cpu_rest(cpu);
	return 0;
}

static void sleep_resume(SYSCORE_DATA)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);

	if (!cpu->core)
		return;
	perf_events_lapic_init();
	intel_smi_cpu_starting();
	x86_cpu_rewrite(cpu);
}

static struct syscore_ops sleep_ops = {
	.suspend	= sleep_suspend,
	.resume		= sleep_resume,
};

#ifdef SYSCORE_WITHOUT_DATA
static void __init register_sleep(void)
{
	register_syscore_ops(&sleep_ops);
}
#else
static struct syscore sleep_core = { .ops = &sleep_ops };

static void __init register_sleep(void)
{
	register_syscore(&sleep_core);
}
#endif

/* After the local APIC's, which come at core_initcall: it goes to sleep after us and wakes before. */
static int __init sleep_init(void)
{
	if (x86_nr_cores)
		register_sleep();
	return 0;
}
arch_initcall(sleep_init);
