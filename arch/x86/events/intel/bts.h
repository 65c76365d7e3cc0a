/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The branch trace store (BTS): the processor appends a record of each branch to memory.
 */
#ifndef _ARCH_X86_EVENTS_INTEL_BTS_H
#define _ARCH_X86_EVENTS_INTEL_BTS_H

#include <linux/types.h>

/* struct intel_bts_record - a record as the processor writes it */
struct intel_bts_record {
	u64	from;
	u64	to;
	u64	flags;		/* bit 4: predicted */
};

/**
 * struct intel_bts_run - a part of an AUX area that is contiguous in memory
 * @memory: its address
 * @at: its offset in the area
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
 * @overwrite: the area is a ring that is overwritten; it is one run then
 * @at: if it is overwritten, where the next record belongs
 * @nr: number of runs
 * @run: the runs, in their order
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
 * @pad: bytes before it that no record fits in
 * @memory: where its first record belongs
 * @nr: records that fit
 * @due: record with which the interrupt is due
 * @unread: it ends at what the reader has not read yet
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

#ifdef CONFIG_CPU_SUP_INTEL
int  intel_bts_irq(void);
void intel_bts_cpu_reset(void);
void intel_bts_cpu_restore(void);
#else
static inline int intel_bts_irq(void)		{ return 0; }
static inline void intel_bts_cpu_reset(void)	{ }
static inline void intel_bts_cpu_restore(void)	{ }
#endif

#endif /* _ARCH_X86_EVENTS_INTEL_BTS_H */
