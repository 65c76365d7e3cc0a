/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Facilities that record branches and exclude one another on some processors: the branch records
 * (LBR), the branch trace store (BTS) and processor trace (PT).
 */
#ifndef _ARCH_X86_EVENTS_EXCLUSIVE_H
#define _ARCH_X86_EVENTS_EXCLUSIVE_H

#include <linux/types.h>

enum x86_branch_facility {
	x86_lbr_exclusive_lbr,
	x86_lbr_exclusive_bts,
	x86_lbr_exclusive_pt,
	x86_lbr_exclusive_max,
};

int  x86_add_exclusive(unsigned int what);
void x86_del_exclusive(unsigned int what);

#endif
