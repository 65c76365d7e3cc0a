/* SPDX-License-Identifier: GPL-2.0 */
/* Which event goes on which counter; see solver.c. */
#ifndef _ARCH_X86_EVENTS_SOLVER_H
#define _ARCH_X86_EVENTS_SOLVER_H

#include <linux/types.h>

#define X86_SOLVER_MAX	64

/**
 * struct x86_match - a problem for the solver and its answer
 * @vacant: a bit for each counter that is free
 * @allowed: for each event, a bit for each counter that can count it
 * @place: for each event its counter, -1 while it has none
 * @taken: for each counter its event, -1 while it is free
 */
struct x86_match {
	u64	vacant;
	u64	allowed[X86_SOLVER_MAX];
	s8	place[X86_SOLVER_MAX];
	s8	taken[X86_SOLVER_MAX];
};

void x86_match_init(struct x86_match *m);
void x86_match_seed(struct x86_match *m, unsigned int event, u64 allowed, int counter);
bool x86_match_add(struct x86_match *m, unsigned int event, u64 allowed, int wish);

#endif
