/* SPDX-License-Identifier: GPL-2.0 */
/* Assignment of events to counters, see assign.c. */
#ifndef _ARCH_X86_EVENTS_ASSIGN_H
#define _ARCH_X86_EVENTS_ASSIGN_H

#include <linux/types.h>

#define X86_ASSIGN_MAX	64

/**
 * struct x86_assign - a set of events and the counters assigned
 * @vacant: set of free counters
 * @allowed: by event: set of counters that can count the event
 * @counter_of: by event: number of the assigned counter; -1: none
 * @event_on: by counter that is not in @vacant: number of the event on the counter
 */
struct x86_assign {
	u64	vacant;
	u64	allowed[X86_ASSIGN_MAX];
	s8	counter_of[X86_ASSIGN_MAX];
	s8	event_on[X86_ASSIGN_MAX];
};

void x86_assign_init(struct x86_assign *a);
void x86_assign_seed(struct x86_assign *a, unsigned int event, u64 allowed, int counter);
bool x86_assign_add(struct x86_assign *a, unsigned int event, u64 allowed, int wish);

#endif
