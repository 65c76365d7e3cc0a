// SPDX-License-Identifier: GPL-2.0
/*
 * One user among the facilities that record branches, see exclusive.h. May sleep.
 */
#include <linux/errno.h>
#include <linux/mutex.h>

#include "exclusive.h"
#include "pmu.h"

static DEFINE_MUTEX(branch_users_lock);
static unsigned int branch_users[x86_lbr_exclusive_max];	/* branch_users_lock */

/**
 * x86_add_exclusive - one more user of a facility
 * @what: enum x86_branch_facility
 *
 * Full buffers interrupt as counters do: the overflow handler is there for them, too.
 *
 * Return: 0, or -EBUSY while another facility has users.
 */
int x86_add_exclusive(unsigned int what)
{
	unsigned int i;

	guard(mutex)(&branch_users_lock);
	for (i = 0; i < x86_lbr_exclusive_max; i++)
		if (i != what && branch_users[i])
			return -EBUSY;
	branch_users[what]++;
	atomic_inc(&x86_irq_users);
	return 0;
}

/**
 * x86_del_exclusive - undo x86_add_exclusive()
 * @what: the same facility
 */
void x86_del_exclusive(unsigned int what)
{
	guard(mutex)(&branch_users_lock);
	branch_users[what]--;
	atomic_dec(&x86_irq_users);
}
