// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's data: the PMUs of this machine, their registers, and the state of each CPU.
 *
 * setup.c and the vendors' detection fill it at boot.
 */
#include "pmu.h"

static int x86_pmu_no_irq(struct pt_regs *regs)
{
	return 0;
}

struct x86_pmu_hooks x86_pmu __read_mostly = { .handle_irq = x86_pmu_no_irq };
struct x86_pmu_regs x86_pmu_regs __ro_after_init;
struct x86_pmu x86_pmus[2];
unsigned int x86_nr_pmus __ro_after_init;

/* Users of the overflow interrupt: all events of the driver together are one, see exclusive.c. */
atomic_t x86_irq_users;

DEFINE_PER_CPU(struct x86_pmu_cpu, x86_pmu_cpu);
