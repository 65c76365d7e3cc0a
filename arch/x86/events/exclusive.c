// SPDX-License-Identifier: GPL-2.0
/*
 * Mutual exclusion of the facilities that record branches, see exclusive.h.
 *
 * Context: process, may sleep.
 */
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#include "exclusive.h"
#include "lbr.h"
#include "pmu.h"

static DEFINE_MUTEX(branch_users_lock);
static unsigned int branch_users[x86_lbr_exclusive_max];	/* branch_users_lock */
unsigned int x86_exclusive_users;				/* writers: branch_users_lock */
bool x86_lbr_with_pt __ro_after_init;

/* The LBR and samples of each branch do not share a register or a buffer. */
static bool exclusive_is_lbr_or_samples(unsigned int what)
{
	return what == x86_lbr_exclusive_lbr || what == x86_lbr_exclusive_samples;
}

static bool exclusive_excludes(unsigned int what, unsigned int other)
{
	if (what == other || (exclusive_is_lbr_or_samples(what) &&
			      exclusive_is_lbr_or_samples(other)))
		return false;
	if (what == x86_lbr_exclusive_samples || other == x86_lbr_exclusive_samples)
		return true;
	return !x86_lbr_with_pt || what == x86_lbr_exclusive_bts || other == x86_lbr_exclusive_bts;
}

static bool exclusive_cpu_records(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(x86_pmu_cpu.branches_on, cpu));
}

static void exclusive_stop_unused(void *unused)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (!cpu->lbr)
		x86_lbr_cpu_stop(cpu);
}

/* A CPU continues to record branches until the last event with branch records is closed. */
static void exclusive_stop_lbr(void)
{
	on_each_cpu_cond(exclusive_cpu_records, exclusive_stop_unused, NULL, true);
}

/**
 * x86_add_exclusive - add a user of a facility
 * @what: enum x86_branch_facility
 *
 * A full buffer raises the interrupt of the counters, which x86_pmi() must handle without events.
 *
 * Context: process, may sleep.
 * Return: 0, -EBUSY while another facility has users
 */
int x86_add_exclusive(unsigned int what)
{
	unsigned int i;

	guard(mutex)(&branch_users_lock);
	for (i = 0; i < x86_lbr_exclusive_max; i++)
		if (exclusive_excludes(what, i) && branch_users[i])
			return -EBUSY;
	branch_users[what]++;
	if (what != x86_lbr_exclusive_lbr)
		WRITE_ONCE(x86_exclusive_users, x86_exclusive_users + 1);
	atomic_inc(&x86_irq_users);
	return 0;
}

/**
 * x86_del_exclusive - remove a user of a facility
 * @what: enum x86_branch_facility, after x86_add_exclusive()
 *
 * Without users of the LBR no CPU records branches any more: a facility that does not work beside
 * the LBR can be used, and a hypervisor does not switch DEBUGCTL.
 *
 * Context: process, may sleep.
 */
void x86_del_exclusive(unsigned int what)
{
	guard(mutex)(&branch_users_lock);
	if (!--branch_users[what] && what == x86_lbr_exclusive_lbr)
		exclusive_stop_lbr();
	if (what != x86_lbr_exclusive_lbr)
		WRITE_ONCE(x86_exclusive_users, x86_exclusive_users - 1);
	atomic_dec(&x86_irq_users);
}
