// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU "intel_bts": a trace of all branches of a task or a CPU in an AUX area.
 *
 * The processor writes to the area itself. Its records are 24 bytes and lie at multiples of that
 * from the start of the area. What does not hold a whole record, at the end of the area and where
 * two contiguous parts of it meet, is filled with zeroes, which readers take for no branch.
 *
 * The interrupt is due with the record that reaches the position of the next wake-up, or at the end
 * of a part. No status register has it: the handler compares the index with the threshold. Records
 * of the kernel continue until the handler stops them, so a part for them has a margin.
 *
 * A user's record has the address of the kernel where the kernel is entered, and the reader can
 * read what the processor writes. So a trace of user space needs the permission for the kernel's.
 *
 * The processor writes by linear addresses, whatever page tables are in use. Those of user space do
 * not have the area with page table isolation, so there is no such PMU then.
 *
 * Manual: SDM 3B, "Branch Trace Store (BTS)" and "BTS and DS Save Area".
 *
 * Context: interrupts disabled on the CPU that traces, or NMI, unless a function states
 * otherwise.
 */
#define pr_fmt(fmt) "perf: " fmt

#include <linux/init.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <asm/cpufeature.h>

#include "../exclusive.h"
#include "../pmu.h"
#include "bts.h"
#include "ds.h"

#define BTS_RECORD	sizeof(struct intel_bts_record)

/* Records of the kernel between the interrupt and its handler. */
#define BTS_MARGIN	256UL

/**
 * struct bts_cpu - the trace of a CPU
 * @handle: the AUX area's, while an event is traced
 * @part: what is being filled, unless the area is overwritten
 * @control: bits of DEBUGCTL that the trace needs
 * @on: the handler may access the trace
 * @late: an interrupt may arrive after the trace has ended
 */
struct bts_cpu {
	struct perf_output_handle	handle;
	struct intel_bts_part		part;
	u64				control;
	bool				on;
	bool				late;
};

static DEFINE_PER_CPU(struct bts_cpu, bts_cpu);

/* -------------------------------------------------------------------- the area */

static const struct intel_bts_run *bts_run_at(const struct intel_bts_area *area, unsigned long at)
{
	const struct intel_bts_run *run = area->run;

	while (at >= run->at + run->size)
		run++;
	return run;
}

/*
 * Sets @part to the rest of the run at an offset. Returns 0, or the number of bytes that have to be
 * left out there.
 */
static unsigned long bts_part_at(const struct intel_bts_area *area, unsigned long at,
				 unsigned long *margin, struct intel_bts_part *part)
{
	const struct intel_bts_run *run = bts_run_at(area, at);
	unsigned long left = run->at + run->size - at;

	if (at % BTS_RECORD)
		return min(BTS_RECORD - at % BTS_RECORD, area->size - at);
	if (area->size - at < BTS_RECORD)
		return area->size - at;
	if (left < BTS_RECORD)
		return BTS_RECORD;
	part->nr = left / BTS_RECORD;
	*margin = min(*margin, run->size / BTS_RECORD / 2);
	if (part->nr <= *margin)
		return part->nr * BTS_RECORD;
	part->memory = run->memory + (at - run->at);
	return 0;
}

/**
 * intel_bts_next_part - the part of an area that is to be filled next
 * @area: the area, which is not overwritten
 * @head: position up to which the area has been filled, bytes
 * @room: bytes from there on that the reader has read
 * @wakeup: position with which the reader is to be woken, bytes
 * @kernel: branches of the kernel are recorded
 * @part: set to the part
 *
 * Context: any.
 * Return: false if there is no room
 */
bool intel_bts_next_part(const struct intel_bts_area *area, unsigned long head,
			 unsigned long room, unsigned long wakeup, bool kernel,
			 struct intel_bts_part *part)
{
	unsigned long margin = kernel ? BTS_MARGIN : 0, pos = head, pad;

	while ((pad = bts_part_at(area, pos & (area->size - 1), &margin, part)))
		pos += pad;
	part->pad = pos - head;
	if (room < part->pad + BTS_RECORD)
		return false;
	room = (room - part->pad) / BTS_RECORD;
	part->unread = room < part->nr;
	part->nr = min(part->nr, room);
	part->due = (long)(wakeup - pos) > 0 ? DIV_ROUND_UP(wakeup - pos, BTS_RECORD) : 1;
	part->due = min(part->due, part->nr > margin ? part->nr - margin : part->nr);
	return true;
}

static void bts_clear(const struct intel_bts_area *area, unsigned long pos, unsigned long size)
{
	unsigned long n;

	for (; size; size -= n, pos += n) {
		unsigned long at = pos & (area->size - 1);
		const struct intel_bts_run *run = bts_run_at(area, at);

		n = min(size, run->at + run->size - at);
		memset(run->memory + (at - run->at), 0, n);
	}
}

/* Sets bts_cpu::part. Returns false if there is no room. */
static bool bts_place(struct bts_cpu *bts, const struct intel_bts_area *area, bool kernel)
{
	struct perf_output_handle *handle = &bts->handle;
	struct intel_bts_part *part = &bts->part;

	if (!intel_bts_next_part(area, handle->head, handle->size, handle->wakeup, kernel, part))
		return false;
	if (!part->pad)
		return true;
	bts_clear(area, handle->head, part->pad);
	/* The position of the wake-up can have been left out. */
	return !perf_aux_output_skip(handle, part->pad) &&
	       intel_bts_next_part(area, handle->head, handle->size, handle->wakeup, kernel, part);
}

/* pmu::setup_aux. Context: process. */
static void *bts_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct intel_bts_area *area;
	unsigned int nr = 1;
	int i;

	for (i = 1; i < nr_pages; i++)
		nr += pages[i] != pages[i - 1] + PAGE_SIZE;
	if (overwrite && nr > 1)
		return NULL;
	area = kvzalloc(struct_size(area, run, nr), GFP_KERNEL);
	if (!area)
		return NULL;
	area->size = (unsigned long)nr_pages << PAGE_SHIFT;
	area->overwrite = overwrite;
	area->nr = nr;
	for (i = 0, nr = 0; i < nr_pages; i++) {
		if (i && pages[i] != pages[i - 1] + PAGE_SIZE)
			nr++;
		if (!area->run[nr].size) {
			area->run[nr].memory = pages[i];
			area->run[nr].at = (unsigned long)i << PAGE_SHIFT;
		}
		area->run[nr].size += PAGE_SIZE;
	}
	return area;
}

/* pmu::free_aux. Context: process. */
static void bts_free_aux(void *area)
{
	kvfree(area);
}

/* --------------------------------------------------------------- the registers */

static u64 bts_control_of(const struct perf_event *event, bool overwrite)
{
	u64 bits = DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS;

	if (!overwrite)
		bits |= DEBUGCTLMSR_BTINT;
	if (event->attr.exclude_kernel)
		bits |= DEBUGCTLMSR_BTS_OFF_OS;
	if (event->attr.exclude_user)
		bits |= DEBUGCTLMSR_BTS_OFF_USR;
	return bits;
}

static void bts_load_part(struct debug_store *ds, const struct intel_bts_part *part)
{
	ds->bts_buffer_base = (unsigned long)part->memory;
	ds->bts_index = ds->bts_buffer_base;
	ds->bts_absolute_maximum = ds->bts_buffer_base + part->nr * BTS_RECORD;
	ds->bts_interrupt_threshold = ds->bts_buffer_base + part->due * BTS_RECORD;
}

/* Without BTINT the processor continues at the base when it has reached the maximum. */
static void bts_load_ring(struct debug_store *ds, const struct intel_bts_area *area)
{
	ds->bts_buffer_base = (unsigned long)area->run[0].memory;
	ds->bts_index = ds->bts_buffer_base + area->at;
	ds->bts_absolute_maximum = ds->bts_buffer_base + rounddown(area->size, BTS_RECORD);
	ds->bts_interrupt_threshold = ds->bts_absolute_maximum + BTS_RECORD;
}

/* ------------------------------------------------------------------ the trace */

/* Returns false if the area has no room, or is not there. */
static bool bts_trace_begin(struct bts_cpu *bts, struct perf_event *event)
{
	struct intel_bts_area *area = perf_aux_output_begin(&bts->handle, event);
	struct debug_store *ds = intel_ds_this_area();

	if (!area)
		return false;
	if (area->overwrite) {
		bts_load_ring(ds, area);
	} else if (bts_place(bts, area, !event->attr.exclude_kernel)) {
		bts_load_part(ds, &bts->part);
	} else {
		perf_aux_output_flag(&bts->handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(&bts->handle, 0);
		return false;
	}
	bts->control = bts_control_of(event, area->overwrite);
	return true;
}

/* An overwritten area is all of it the trace, which ends at the position. */
static void bts_trace_end_ring(struct bts_cpu *bts, struct intel_bts_area *area,
			       unsigned long size)
{
	area->at = size;
	bts->handle.head = size;
	perf_aux_output_end(&bts->handle, area->size);
}

/*
 * The processor has stopped. Returns false if branches after the trace are lost, because the reader
 * is late; then the event is being disabled.
 */
static bool bts_trace_end(struct bts_cpu *bts)
{
	struct intel_bts_area *area = perf_get_aux(&bts->handle);
	struct debug_store *ds = intel_ds_this_area();
	unsigned long size = ds->bts_index - ds->bts_buffer_base;
	bool full;

	ds->bts_interrupt_threshold = 0;
	if (area->overwrite) {
		bts_trace_end_ring(bts, area, size);
		return true;
	}
	size = min(size, bts->part.nr * BTS_RECORD);
	full = bts->part.unread && size == bts->part.nr * BTS_RECORD;
	if (full)
		perf_aux_output_flag(&bts->handle, PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&bts->handle, size);
	return !full;
}

/* A trace continues behind what has been recorded. Returns false if it cannot. */
static bool bts_trace_continue(struct bts_cpu *bts)
{
	struct perf_event *event = bts->handle.event;

	intel_bts_write_control(0);
	if (bts_trace_end(bts) && bts_trace_begin(bts, event)) {
		intel_bts_write_control(bts->control);
		return true;
	}
	WRITE_ONCE(bts->on, false);
	event->hw.state = PERF_HES_STOPPED;
	return false;
}

/**
 * intel_bts_irq - handle the interrupt of the counters for the records of this CPU
 *
 * Context: NMI.
 * Return: 1 if records were a cause of the interrupt, or can have been one before the records were
 *	taken; else 0
 */
int intel_bts_irq(void)
{
	struct bts_cpu *bts = this_cpu_ptr(&bts_cpu);
	bool due = intel_bts_is_due(intel_ds_this_area()), late = bts->late;

	bts->late = false;
	late |= intel_bts_sample_irq(due);
	if (!due)
		return late;
	/* Else the records are samples, or the interrupted code ends the trace or begins one. */
	if (READ_ONCE(bts->on))
		bts_trace_continue(bts);
	return 1;
}

/**
 * intel_bts_cpu_reset - stop the processor, which may not find the store any longer
 *
 * For a CPU that starts or stops, and for a reboot.
 *
 * Context: interrupts disabled.
 */
void intel_bts_cpu_reset(void)
{
	if (boot_cpu_has(X86_FEATURE_BTS))
		intel_bts_write_control(0);
}

/**
 * intel_bts_cpu_restore - continue after a suspension that has cleared the register
 *
 * Context: interrupts disabled.
 */
void intel_bts_cpu_restore(void)
{
	struct bts_cpu *bts = this_cpu_ptr(&bts_cpu);

	if (bts->on)
		intel_bts_write_control(bts->control);
	intel_bts_sample_restore();
}

/* -------------------------------------------------------------------- the PMU */

static void bts_event_start(struct perf_event *event, int flags)
{
	struct bts_cpu *bts = this_cpu_ptr(&bts_cpu);

	lockdep_assert_irqs_disabled();
	if (!bts_trace_begin(bts, event)) {
		event->hw.state = PERF_HES_STOPPED;
		return;
	}
	event->hw.state = 0;
	intel_ds_cpu_load();
	WRITE_ONCE(bts->on, true);
	intel_bts_write_control(bts->control);
}

/* The handler leaves the trace alone from here on; an interrupt can be on its way. */
static void bts_event_stop(struct perf_event *event, int flags)
{
	struct bts_cpu *bts = this_cpu_ptr(&bts_cpu);

	lockdep_assert_irqs_disabled();
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	WRITE_ONCE(bts->on, false);
	barrier();
	/* The handler can have stopped it just before. */
	if (READ_ONCE(event->hw.state) & PERF_HES_STOPPED)
		return;
	event->hw.state = PERF_HES_STOPPED;
	intel_bts_write_control(0);
	if (intel_bts_is_due(intel_ds_this_area()))
		bts->late = true;
	barrier();
	bts_trace_end(bts);
}

static int bts_event_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (this_cpu_read(bts_cpu.handle.event))
		return -EBUSY;
	if (!(flags & PERF_EF_START))
		return 0;
	bts_event_start(event, 0);
	return event->hw.state & PERF_HES_STOPPED ? -EINVAL : 0;
}

static void bts_event_del(struct perf_event *event, int flags)
{
	bts_event_stop(event, PERF_EF_UPDATE);
}

static void bts_event_read(struct perf_event *event)
{
}

/* Context: process. */
static void bts_event_destroy(struct perf_event *event)
{
	x86_del_exclusive(x86_lbr_exclusive_bts);
}

/*
 * pmu::event_init. An inherited event is not checked again: its parent was accepted.
 * Context: process.
 */
static int bts_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->attr.exclude_kernel && !event->parent && perf_allow_kernel())
		return perf_refuse(-EACCES,
			"exclude_kernel: a trace has addresses of the kernel nevertheless");
	if (x86_add_exclusive(x86_lbr_exclusive_bts))
		return perf_refuse(-EBUSY, "type: branches are being recorded by another PMU");
	event->destroy = bts_event_destroy;
	return 0;
}

static struct pmu bts_pmu = {
	.task_ctx_nr	= perf_sw_context,
	.capabilities	= PERF_PMU_CAP_AUX_NO_SG | PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE,
	.event_init	= bts_event_init,
	.add		= bts_event_add,
	.del		= bts_event_del,
	.start		= bts_event_start,
	.stop		= bts_event_stop,
	.read		= bts_event_read,
	.setup_aux	= bts_setup_aux,
	.free_aux	= bts_free_aux,
};

static int __init bts_register(void)
{
	if (!intel_bts_is_usable() || boot_cpu_has(X86_FEATURE_PTI))
		return -ENODEV;
	return perf_pmu_register(&bts_pmu, "intel_bts", -1);
}
arch_initcall(bts_register);
