// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of branch records: reading, marking, starting and stopping.
 *
 * Entries have two numbers: their age, with 0 for the newest, and the number of their registers. In
 * a ring and in a buffer the number of the newest entry's registers changes; elsewhere it is 0, and
 * both numbers are the same.
 *
 * Manuals: SDM 3B, "Last Branch, Interrupt, and Exception Recording" and "Architectural Last Branch
 * Records"; APM volume 2, "Last Branch Stack Registers".
 *
 * Context: interrupts disabled on the CPU of the registers, or NMI.
 */
#include <asm/debugreg.h>

#include "branch.h"

/* The next entry is 0 when the buffer is full. */
static u64 branches_buffer_newest(const struct x86_branches *b)
{
	u64 val;

	rdmsrl(b->control, val);
	if (!(val & X86_BRS_VALID))
		return -1ULL;
	return ((val >> X86_BRS_NEXT_SHIFT) - 1) & X86_BRS_NEXT_MASK;
}

/**
 * x86_branches_newest - the number of the registers with the newest entry
 * @b: the registers
 *
 * Context: interrupts disabled, or NMI.
 * Return: 0..@b->depth - 1; -1ULL: a buffer is empty
 */
u64 x86_branches_newest(const struct x86_branches *b)
{
	u64 top;

	if (b->kind == X86_BRANCHES_BUFFER)
		return branches_buffer_newest(b);
	if (b->kind != X86_BRANCHES_RING)
		return 0;
	rdmsrl(b->top, top);
	return top & (b->depth - 1);
}

/* Distance of the registers of an entry from the first ones. */
static unsigned int branches_offset(const struct x86_branches *b, u64 newest, unsigned int i)
{
	if (b->kind == X86_BRANCHES_BUFFER)
		return (newest - i) << b->shift;
	return b->kind == X86_BRANCHES_RING ? (newest - i) & (b->depth - 1) : i << b->shift;
}

/* The flags of TO decide, not the address. */
static bool branches_read_amd(const struct x86_branches *b, unsigned int at,
			      struct x86_branch_raw *raw)
{
	rdmsrl(b->to + at, raw->to);
	if (!(raw->to & X86_BRANCH_TO_FLAGS))
		return false;
	rdmsrl(b->from + at, raw->from);
	raw->info = 0;
	return true;
}

static bool branches_read_buffer(const struct x86_branches *b, u64 newest, unsigned int i,
				 struct x86_branch_raw *raw)
{
	unsigned int at = branches_offset(b, newest, i);

	if (newest == -1ULL || i > newest)
		return false;
	rdmsrl(b->to + at, raw->to);
	if (!raw->to)
		return false;
	rdmsrl(b->from + at, raw->from);
	raw->info = 0;
	return true;
}

/**
 * x86_branches_read_one - read an entry
 * @b: the registers
 * @newest: x86_branches_newest()
 * @i: age of the entry, 0..@b->depth - 1
 * @info: read INFO, too
 * @raw: set to the registers; x86_branch_raw::info is 0 without @info
 *
 * Context: interrupts disabled, or NMI.
 * Return: false if the entry is empty: the older ones are empty, too, or of other tasks
 */
bool x86_branches_read_one(const struct x86_branches *b, u64 newest, unsigned int i, bool info,
			   struct x86_branch_raw *raw)
{
	unsigned int at = branches_offset(b, newest, i);

	if (b->kind == X86_BRANCHES_AMD)
		return branches_read_amd(b, at, raw);
	if (b->kind == X86_BRANCHES_BUFFER)
		return branches_read_buffer(b, newest, i, raw);
	rdmsrl(b->from + at, raw->from);
	if (!raw->from)
		return false;
	rdmsrl(b->to + at, raw->to);
	raw->info = 0;
	if (info)
		rdmsrl(b->info + at, raw->info);
	return true;
}

static unsigned int branches_read_info(const struct x86_branches *b, u64 newest,
				       struct x86_branch_raw *raw)
{
	unsigned int i, at;

	for (i = 0; i < b->depth; i++, raw++) {
		at = branches_offset(b, newest, i);
		rdmsrl(b->from + at, raw->from);
		if (!raw->from)
			break;
		rdmsrl(b->to + at, raw->to);
		rdmsrl(b->info + at, raw->info);
	}
	return i;
}

/**
 * x86_branches_read - read all entries
 * @b: the registers
 * @newest: x86_branches_newest()
 * @info: read INFO, too
 * @raw: set to the registers, newest first; @b->depth entries
 *
 * Context: interrupts disabled, or NMI.
 * Return: number of entries before the first empty one
 */
unsigned int x86_branches_read(const struct x86_branches *b, u64 newest, bool info,
			       struct x86_branch_raw *raw)
{
	unsigned int i;

	if (info)
		return branches_read_info(b, newest, raw);
	for (i = 0; i < b->depth; i++)
		if (!x86_branches_read_one(b, newest, i, false, &raw[i]))
			break;
	return i;
}

static void branches_mark_buffer(const struct x86_branches *b)
{
	u64 newest = branches_buffer_newest(b);

	if (newest != -1ULL)
		wrmsrl(b->to + branches_offset(b, newest, 0), 0);
}

/**
 * x86_branches_mark - mark all present entries as those of other tasks
 * @b: the registers
 *
 * The newest entry becomes empty. A write of the depth empties all architectural entries.
 *
 * Context: interrupts disabled.
 */
void x86_branches_mark(const struct x86_branches *b)
{
	switch (b->kind) {
	case X86_BRANCHES_RING:
		wrmsrl(b->from + x86_branches_newest(b), 0);
		break;
	case X86_BRANCHES_ARCH:
		wrmsrl(MSR_ARCH_LBR_DEPTH, b->depth);
		break;
	case X86_BRANCHES_AMD:
		wrmsrl(b->to, 0);
		break;
	case X86_BRANCHES_BUFFER:
		branches_mark_buffer(b);
		break;
	}
}

/**
 * x86_branches_are_kept - have the registers kept the values that were read?
 * @b: a ring or architectural registers, which nothing else has used
 * @task: what was read
 *
 * A deep C-state clears the registers.
 *
 * Context: interrupts disabled.
 * Return: false if the registers are empty
 */
bool x86_branches_are_kept(const struct x86_branches *b, const struct x86_branch_task *task)
{
	u64 from;

	if (!task->nr)
		return true;
	rdmsrl(b->from + branches_offset(b, task->top, 0), from);
	return from;
}

static void branches_write_entry(const struct x86_branches *b, unsigned int at,
				 const struct x86_branch_raw *raw, u32 layout)
{
	wrmsrl(b->from + at, x86_branch_from_to_write(layout, raw->from));
	wrmsrl(b->to + at, raw->to);
	if (layout & X86_BRANCH_INFO)
		wrmsrl(b->info + at, raw->info);
}

/**
 * x86_branches_write_stack - fill the registers with a call stack
 * @b: the registers
 * @task: the call stack; NULL: an empty one
 * @layout: layout of the registers
 *
 * All entries are written: a mark is not enough, because returns make older entries the newest.
 *
 * Context: interrupts disabled.
 */
void x86_branches_write_stack(const struct x86_branches *b, const struct x86_branch_task *task,
			      u32 layout)
{
	unsigned int i, nr = task ? task->nr : 0;
	u64 newest = task ? task->top : 0;

	if (b->kind == X86_BRANCHES_ARCH)
		x86_branches_mark(b);
	for (i = 0; i < nr; i++)
		branches_write_entry(b, branches_offset(b, newest, i), &task->entry[i], layout);
	if (b->kind != X86_BRANCHES_RING)
		return;
	for (; i < b->depth; i++)
		wrmsrl(b->from + branches_offset(b, newest, i), 0);
	wrmsrl(b->top, newest);
}

/**
 * x86_branches_write_guest - fill a ring of registers with the records of a guest
 * @b: the registers
 * @task: the records, with the guest's filter; NULL: none
 * @layout: layout of the registers
 *
 * Nothing of the host is left, because the guest reads all registers.
 *
 * Context: interrupts disabled.
 */
void x86_branches_write_guest(const struct x86_branches *b, const struct x86_branch_task *task,
			      u32 layout)
{
	static const struct x86_branch_raw none;
	unsigned int i, nr = task ? task->nr : 0;
	u64 newest = task ? task->top : 0;

	for (i = 0; i < b->depth; i++)
		branches_write_entry(b, branches_offset(b, newest, i),
				     i < nr ? &task->entry[i] : &none, layout);
	wrmsrl(b->top, newest);
	wrmsrl(b->select, task ? task->select : 0);
}

/* Of DEBUGCTL: whether recording is on in a ring, and freezing, where there is that. */
static u64 branches_debugctl_bits(const struct x86_branches *b)
{
	u64 freeze = b->flags & X86_BRANCHES_NO_FREEZE ? 0 : DEBUGCTLMSR_FREEZE_LBRS_ON_PMI;

	return freeze | (b->kind == X86_BRANCHES_RING ? b->on : 0);
}

/* Single steps and bus locks use other bits of the register: they are left as they are. */
static void branches_set_debugctl(u64 mask, u64 bits)
{
	u64 old = get_debugctlmsr(), debugctl = (old & ~mask) | bits;

	if (debugctl != old)
		update_debugctlmsr(debugctl);
}

/* DBG_EXTN_CFG has bits of others, too. */
static void branches_set_amd(const struct x86_branches *b, u64 on)
{
	u64 val;

	rdmsrl(b->control, val);
	wrmsrl(b->control, (val & ~b->on) | on);
}

/**
 * x86_branches_start - start to record; a buffer is emptied
 * @b: the registers; of the architectural ones the control has been written with the filter
 * @freeze: an overflow interrupt stops recording; no matter with X86_BRANCHES_NO_FREEZE
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_branches_start(const struct x86_branches *b, bool freeze)
{
	u64 bits = branches_debugctl_bits(b);

	if (b->kind == X86_BRANCHES_BUFFER) {
		wrmsrl(b->control, X86_BRS_ENABLE | X86_BRS_SET);
		return;
	}
	branches_set_debugctl(bits, freeze ? bits : bits & ~DEBUGCTLMSR_FREEZE_LBRS_ON_PMI);
	if (b->kind == X86_BRANCHES_AMD)
		branches_set_amd(b, b->on);
}

/**
 * x86_branches_stop - stop recording
 * @b: the registers
 *
 * Context: interrupts disabled.
 */
void x86_branches_stop(const struct x86_branches *b)
{
	if (b->kind == X86_BRANCHES_BUFFER) {
		wrmsrl(b->control, X86_BRS_SET);
		return;
	}
	if (b->kind == X86_BRANCHES_AMD)
		branches_set_amd(b, 0);
	else if (b->kind == X86_BRANCHES_ARCH)
		wrmsrl(b->control, 0);
	branches_set_debugctl(branches_debugctl_bits(b), 0);
}
