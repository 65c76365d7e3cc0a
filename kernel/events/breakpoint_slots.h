/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accounting of debug registers.
 *
 * A CPU has a few debug registers, for data and for instruction breakpoints apart or for both. A
 * breakpoint gets its register when it is switched in, too late to say no; so opening it claims a
 * slot, and a claim is refused where some CPU could come to need more registers than it has.
 */
#ifndef _KERNEL_EVENTS_BREAKPOINT_SLOTS_H
#define _KERNEL_EVENTS_BREAKPOINT_SLOTS_H

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>

/* No architecture has more registers of a type than this. */
#define BP_SLOTS_MAX	16

/**
 * struct bp_histogram - how many holders need how many slots
 * @holders: by the number of slots they need; entry 0 is unused
 */
struct bp_histogram {
	u32	holders[BP_SLOTS_MAX + 1];
};

/**
 * struct bp_cpu_claims - claims of one type that concern one CPU
 * @bound: breakpoints of the CPU itself, whatever task runs
 * @local: tasks that have a breakpoint for this CPU alone, by all the slots they need here
 * @nr_local: tasks in @local
 */
struct bp_cpu_claims {
	unsigned int		bound;
	struct bp_histogram	local;
	unsigned int		nr_local;
};

/**
 * struct bp_type_claims - claims of one type of breakpoint
 * @slots: registers of the type that each CPU has
 * @claims: how many there are
 * @tasks: tasks, by the breakpoints they have for any CPU
 * @cpus: CPUs, by bp_cpu_claims::bound
 * @nr_local: sum of bp_cpu_claims::nr_local
 * @cpu: by CPU number
 */
struct bp_type_claims {
	unsigned int		slots;
	unsigned int		claims;
	struct bp_histogram	tasks;
	struct bp_histogram	cpus;
	unsigned int		nr_local;
	struct bp_cpu_claims	*cpu;
};

/**
 * struct bp_slots - the accounts
 * @lock: guards everything here, and hw.bp_list and attr.bp_type of claimed breakpoints; irqsave
 * @nr_cpus: CPUs have numbers below this
 * @type: by enum bp_type_idx
 * @by_task: claims of tasks, by task and CPU
 *
 * What a claim needs to know is kept as histograms: the time under the lock grows with the debug
 * registers of a CPU, not with the breakpoints in the system.
 */
struct bp_slots {
	spinlock_t		lock;
	unsigned int		nr_cpus;
	struct bp_type_claims	type[TYPE_MAX];
	struct rhltable		by_task;
};

/* The registers that serve a bp_type. */
static inline enum bp_type_idx bp_slot_type(u32 bp_type)
{
	return bp_type & HW_BREAKPOINT_RW ? TYPE_DATA : TYPE_INST;
}

int  bp_slots_init(struct bp_slots *s, unsigned int nr_cpus, const unsigned int slots[TYPE_MAX]);
void bp_slots_destroy(struct bp_slots *s);
int  bp_slots_claim(struct bp_slots *s, struct perf_event *bp);
void bp_slots_release(struct bp_slots *s, struct perf_event *bp);
int  bp_slots_retype(struct bp_slots *s, struct perf_event *bp, u32 bp_type);
int  bp_slots_claim_stopped(struct bp_slots *s, struct perf_event *bp);
int  bp_slots_release_stopped(struct bp_slots *s, struct perf_event *bp);
bool bp_slots_any(const struct bp_slots *s);
unsigned int bp_slots_needed(struct bp_slots *s, int cpu, enum bp_type_idx type);

#endif
