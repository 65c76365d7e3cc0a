/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Facilities that record branches: last branch records (LBR), the branch trace store (BTS) and
 * processor trace (PT). On some processors only one of them works at a time.
 */
#ifndef _ARCH_X86_EVENTS_EXCLUSIVE_H
#define _ARCH_X86_EVENTS_EXCLUSIVE_H

#include <linux/types.h>

enum x86_branch_facility {
	x86_lbr_exclusive_lbr,
	x86_lbr_exclusive_bts,
	x86_lbr_exclusive_pt,
	x86_lbr_exclusive_samples,	/* of each branch, by the branch trace store */
	x86_lbr_exclusive_max,
};

/* Number of users of the facilities with buffers in memory: all but the LBR. */
extern unsigned int x86_exclusive_users;

/* Processor trace and the LBR work at the same time. */
extern bool x86_lbr_with_pt;

int  x86_add_exclusive(unsigned int what);
void x86_del_exclusive(unsigned int what);

#endif
