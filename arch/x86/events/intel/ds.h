/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The debug store: memory that the processor writes records to. Each CPU has an area, struct
 * debug_store, which shows where the buffers of branch traces and of precise samples are.
 */
#ifndef _ARCH_X86_EVENTS_INTEL_DS_H
#define _ARCH_X86_EVENTS_INTEL_DS_H

#include <linux/percpu.h>
#include <asm/intel_ds.h>

/* Buffers of an area. */
enum intel_ds_buffer {
	INTEL_DS_BTS,
	INTEL_DS_PEBS,
	INTEL_DS_BUFFERS
};

#ifdef CONFIG_CPU_SUP_INTEL
/* The area of this CPU. Interrupts disabled. */
static inline struct debug_store *intel_ds_this_area(void)
{
	return this_cpu_ptr(&cpu_debug_store);
}

bool intel_ds_is_usable(void);
int  intel_ds_alloc(enum intel_ds_buffer which);
void *intel_ds_memory(enum intel_ds_buffer which);
u64  intel_ds_address(enum intel_ds_buffer which);
void intel_ds_cpu_load(void);
void intel_ds_cpu_reset(void);
#else
static inline void intel_ds_cpu_load(void)	{ }
static inline void intel_ds_cpu_reset(void)	{ }
#endif

#endif /* _ARCH_X86_EVENTS_INTEL_DS_H */
