/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accounting of debug registers.
 *
 * A CPU has a few debug registers, separate ones for data and instruction breakpoints, or common
 * ones. A breakpoint gets its register when it is loaded, which must not fail. So a register is
 * claimed when a breakpoint is opened, and the claim fails if a CPU could need more registers than
 * it has.
 */
#ifndef _KERNEL_EVENTS_BREAKPOINT_SLOTS_H
#define _KERNEL_EVENTS_BREAKPOINT_SLOTS_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 3
# error "kernel/events/pmus is a higher layer than this file"
#endif

#include <linux/hashtable.h>
#include <linux/hw_breakpoint.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>

/* Most registers of a type that an architecture has. */
#define BP_SLOTS_MAX	16

/* Buckets of the hash of tasks' breakpoints, as a power of 2. */
#define BP_HASH_BITS	10

/**
 * struct bp_histogram - distribution of holders by the registers that they need
 * @holders: number of holders, by the number of registers that each needs; entry 0 is unused
 */
struct bp_histogram {
	u32	holders[BP_SLOTS_MAX + 1];
};

/**
 * struct bp_cpu_claims - claims of one type for one CPU
 * @bound: breakpoints of the CPU, which are loaded whichever task runs
 * @local: tasks with breakpoints for this CPU only, by all registers that they need there
 * @nr_local: number of tasks in @local
 */
struct bp_cpu_claims {
	unsigned int		bound;
	struct bp_histogram	local;
	unsigned int		nr_local;
};

/**
 * struct bp_type_claims - claims of one type of breakpoint
 * @slots: registers of the type on each CPU
 * @claims: number of claims
 * @tasks: tasks, by the number of their breakpoints for all CPUs
 * @cpus: CPUs, by bp_cpu_claims::bound
 * @nr_local: sum of bp_cpu_claims::nr_local
 * @cpu: claims for each CPU, by CPU number
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
 * @lock: guards all members, and hw.bp_list and attr.bp_type of claimed breakpoints
 * @nr_cpus: limit of CPU numbers
 * @type: claims, by enum bp_type_idx
 * @by_task: breakpoints of tasks, by task and CPU
 *
 * Claims are checked by histograms: the time under @lock depends on the number of debug registers
 * of a CPU, and not on the number of breakpoints in the system as long as the hash has a bucket for
 * each task.
 */
struct bp_slots {
	struct mutex		lock;		/* the accounts */
	unsigned int		nr_cpus;
	struct bp_type_claims	type[TYPE_MAX];
	DECLARE_HASHTABLE(by_task, BP_HASH_BITS);
};

/* Index of the registers for a bp_type. */
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
unsigned int bp_slots_needed(const struct bp_slots *s, int cpu, enum bp_type_idx type);

#endif
