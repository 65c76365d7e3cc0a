// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: the sysctl kernel.perf_user_access. A change applies to the current task of each CPU at
 * once, and to other tasks when they are switched in.
 */
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/sysctl.h>

#include "pmuv3_regs.h"

static void pmuv3_user_access_changed(void *unused)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long daif;

	if (!c->reader)
		return;

	daif = pmuv3_mask_nmi();
	/* Access that a load has allowed meanwhile may have found the counters as they were. */
	if (pmuv3_user_access_is_on())
		pmuv3_disclose_loaded(c, c->used);
	pmuv3_user_set_access(c, true);
	pmuv3_unmask_nmi(daif);
	pmuv3_update_user_pages(c);
}

static int pmuv3_user_access_handler(const struct ctl_table *table, int write, void *buffer,
				     size_t *lenp, loff_t *ppos)
{
	int ret = proc_dointvec_minmax(table, write, buffer, lenp, ppos);

	if (!ret && write)
		on_each_cpu(pmuv3_user_access_changed, NULL, 1);
	return ret;
}

static struct ctl_table pmuv3_user_access_table[] = {
	{
		.procname	= "perf_user_access",
		.data		= &pmuv3_user_access_on,
		.maxlen		= sizeof(pmuv3_user_access_on),
		.mode		= 0644,
		.proc_handler	= pmuv3_user_access_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

/**
 * pmuv3_sysctl_init - register the sysctl kernel.perf_user_access
 *
 * Called for each PMU; the first call registers the sysctl.
 *
 * Context: process context, probing; may sleep.
 */
void pmuv3_sysctl_init(void)
{
	static bool done;

	if (!done)
		register_sysctl("kernel", pmuv3_user_access_table);
	done = true;
}
