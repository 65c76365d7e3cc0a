/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch trace store (BTS): the processor appends a record of each branch to memory.
 */
#ifndef _ARCH_X86_EVENTS_INTEL_BTS_H
#define _ARCH_X86_EVENTS_INTEL_BTS_H

#include <linux/types.h>
#include <asm/cpufeature.h>
#include <asm/debugreg.h>
#include <asm/msr.h>

#include "../pmu.h"
#include "ds.h"

/* struct intel_bts_record - a record as the processor writes it */
struct intel_bts_record {
	u64	from;
	u64	to;
	u64	flags;		/* bit 4: predicted */
};

/**
 * struct intel_bts_run - a part of an AUX area that is contiguous in memory
 * @memory: address of the run
 * @at: offset of the run in the area, bytes
 * @size: bytes
 */
struct intel_bts_run {
	void		*memory;
	unsigned long	at;
	unsigned long	size;
};

/**
 * struct intel_bts_area - an AUX area
 * @size: bytes, a power of two
 * @overwrite: the area is a ring that is overwritten, of one run
 * @at: with @overwrite, where the next record belongs
 * @nr: number of runs
 * @run: the runs, by offset in the area
 */
struct intel_bts_area {
	unsigned long		size;
	bool			overwrite;
	unsigned long		at;
	unsigned int		nr;
	struct intel_bts_run	run[] __counted_by(nr);
};

/**
 * struct intel_bts_part - what the processor fills next
 * @pad: bytes before the part that no record fits in
 * @memory: where the first record belongs
 * @nr: records that fit
 * @due: record with which the interrupt is due
 * @unread: the part ends at what the reader has not read yet
 */
struct intel_bts_part {
	unsigned long	pad;
	void		*memory;
	unsigned long	nr;
	unsigned long	due;
	bool		unread;
};

bool intel_bts_next_part(const struct intel_bts_area *area, unsigned long head,
			 unsigned long room, unsigned long wakeup, bool kernel,
			 struct intel_bts_part *part);

/* Bits of DEBUGCTL. Single steps, branch records and bus locks use other ones. */
#define INTEL_BTS_CONTROL	(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS | DEBUGCTLMSR_BTINT |	\
				 DEBUGCTLMSR_BTS_OFF_OS | DEBUGCTLMSR_BTS_OFF_USR)

/* Sets those bits. Interrupts disabled, or NMI. */
static inline void intel_bts_write_control(u64 bits)
{
	u64 old = get_debugctlmsr(), debugctl = (old & ~INTEL_BTS_CONTROL) | bits;

	if (debugctl != old)
		update_debugctlmsr(debugctl);
}

/* Has a record reached the threshold? */
static inline bool intel_bts_is_due(const struct debug_store *ds)
{
	u64 threshold = READ_ONCE(ds->bts_interrupt_threshold);

	return threshold && READ_ONCE(ds->bts_index) >= threshold;
}

#ifdef CONFIG_CPU_SUP_INTEL
/* The interrupt is handled on parts with a status register alone. */
static inline bool intel_bts_is_usable(void)
{
	return x86_nr_pmus && x86_pmu_regs.global_status && boot_cpu_has(X86_FEATURE_BTS) &&
	       intel_ds_is_usable();
}

bool intel_bts_record_is_user(const struct intel_bts_record *r);
bool intel_bts_sample_irq(bool due);
void intel_bts_sample_restore(void);
bool intel_bts_sample_suits(const struct perf_event *event, u64 period);
int  intel_bts_sample_init(struct perf_event *event);
int  intel_bts_irq(void);
void intel_bts_cpu_reset(void);
void intel_bts_cpu_restore(void);
#else
static inline int intel_bts_irq(void)		{ return 0; }
static inline bool intel_bts_sample_suits(const struct perf_event *event, u64 period)
{
	return false;
}

static inline int intel_bts_sample_init(struct perf_event *event)	{ return -ENOENT; }
static inline void intel_bts_cpu_reset(void)	{ }
static inline void intel_bts_cpu_restore(void)	{ }
#endif

#endif /* _ARCH_X86_EVENTS_INTEL_BTS_H */
