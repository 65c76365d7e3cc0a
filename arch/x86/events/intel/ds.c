// SPDX-License-Identifier: GPL-2.0
/*
 * The debug store: its memory, and the register that points to it.
 *
 * The processor writes by linear addresses, whatever page tables are in use, so areas and buffers
 * are part of the CPU entry area, which page tables of user space have, too. The base has mapped
 * the areas there. A buffer is allocated for all possible CPUs when an event needs it for the
 * first time; it stays, as does its mapping. Software accesses a buffer in the linear mapping.
 *
 * What is in an area belongs to the users of its buffers. A CPU's register is written when its
 * first user is loaded there.
 *
 * Manual: SDM 3B, "BTS and DS Save Area".
 */
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <asm/cpu_entry_area.h>
#include <asm/cpufeature.h>
#include <asm/io.h>
#include <asm/msr.h>

#include "ds.h"

/**
 * struct ds_cpu - the debug store of a CPU
 * @memory: buffers in the linear mapping; NULL: not allocated
 * @loaded: the register points to the area
 */
struct ds_cpu {
	void	*memory[INTEL_DS_BUFFERS];
	bool	loaded;
};

static DEFINE_PER_CPU(struct ds_cpu, ds_cpu);
static DEFINE_MUTEX(ds_lock);
static bool ds_allocated[INTEL_DS_BUFFERS];	/* written under ds_lock */

/* Part of the CPU entry area. */
DEFINE_PER_CPU_PAGE_ALIGNED(struct debug_store, cpu_debug_store);

static const unsigned int ds_size[INTEL_DS_BUFFERS] = {
	[INTEL_DS_BTS]	= BTS_BUFFER_SIZE,
	[INTEL_DS_PEBS]	= PEBS_BUFFER_SIZE,
};

/* Where the processor finds a buffer. */
static void *ds_mapping(unsigned int cpu, enum intel_ds_buffer which)
{
	struct debug_store_buffers *buffers = &get_cpu_entry_area(cpu)->cpu_debug_buffers;

	return which == INTEL_DS_BTS ? (void *)buffers->bts_buffer : (void *)buffers->pebs_buffer;
}

/**
 * intel_ds_is_usable - does the processor have a debug store in the format of struct debug_store?
 *
 * Context: any.
 * Return: true with such a debug store
 */
bool intel_ds_is_usable(void)
{
	return boot_cpu_has(X86_FEATURE_DS) && boot_cpu_has(X86_FEATURE_DTES64);
}

/* The entries of the page tables were not present before: no TLB has them. */
static int ds_alloc_cpu(unsigned int cpu, enum intel_ds_buffer which)
{
	void *to = ds_mapping(cpu, which);
	struct page *pages;
	unsigned int at;

	if (per_cpu(ds_cpu, cpu).memory[which])
		return 0;
	pages = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL | __GFP_ZERO,
				 get_order(ds_size[which]));
	if (!pages)
		return -ENOMEM;
	for (at = 0; at < ds_size[which]; at += PAGE_SIZE)
		cea_set_pte(to + at, page_to_phys(pages) + at, PAGE_KERNEL);
	per_cpu(ds_cpu, cpu).memory[which] = page_address(pages);
	return 0;
}

/**
 * intel_ds_alloc - allocate a buffer for each possible CPU, unless that was done before
 * @which: the buffer
 *
 * After a failure the buffers that were allocated stay for the next call.
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM
 */
int intel_ds_alloc(enum intel_ds_buffer which)
{
	unsigned int cpu;
	int ret;

	if (READ_ONCE(ds_allocated[which]))
		return 0;
	guard(mutex)(&ds_lock);
	for_each_possible_cpu(cpu) {
		ret = ds_alloc_cpu(cpu, which);
		if (ret)
			return ret;
	}
	WRITE_ONCE(ds_allocated[which], true);
	return 0;
}

/**
 * intel_ds_memory - a buffer of this CPU, for software
 * @which: the buffer
 *
 * Context: interrupts disabled, or NMI.
 * Return: address in the linear mapping; NULL before intel_ds_alloc()
 */
void *intel_ds_memory(enum intel_ds_buffer which)
{
	return this_cpu_read(ds_cpu.memory[which]);
}

/**
 * intel_ds_address - a buffer of this CPU, for the fields of struct debug_store
 * @which: the buffer
 *
 * Context: interrupts disabled, or NMI.
 * Return: linear address in the CPU entry area
 */
u64 intel_ds_address(enum intel_ds_buffer which)
{
	return (unsigned long)ds_mapping(smp_processor_id(), which);
}

static void ds_write_register(void)
{
	wrmsrl(MSR_IA32_DS_AREA,
	       (unsigned long)&get_cpu_entry_area(smp_processor_id())->cpu_debug_store);
}

/**
 * intel_ds_cpu_load - have the processor use the area of this CPU
 *
 * Context: interrupts disabled.
 */
void intel_ds_cpu_load(void)
{
	if (this_cpu_read(ds_cpu.loaded))
		return;
	this_cpu_write(ds_cpu.loaded, true);
	ds_write_register();
}

/**
 * intel_ds_cpu_reset - take the debug store area from the processor, if there is one
 *
 * For a CPU that stops, and for one that has lost the registers.
 *
 * Context: interrupts disabled; nothing uses the area.
 */
void intel_ds_cpu_reset(void)
{
	if (!this_cpu_read(ds_cpu.loaded))
		return;
	this_cpu_write(ds_cpu.loaded, false);
	wrmsrl(MSR_IA32_DS_AREA, 0);
}

/**
 * perf_restore_debug_store - write the register of this CPU again after a loss
 *
 * Context: interrupts disabled.
 */
void perf_restore_debug_store(void)
{
	if (this_cpu_read(ds_cpu.loaded))
		ds_write_register();
}
