// SPDX-License-Identifier: GPL-2.0
/*
 * Where a sample was taken, and who had called: instruction pointers, call chains of the kernel
 * and of user programs, 64-bit and compat.
 *
 * Context: NMI. No locks; user memory is only read where it can be without a fault.
 */
#include <linux/compat.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include <asm/compat.h>
#include <asm/desc.h>
#include <asm/mmu_context.h>
#include <asm/segment.h>
#include <asm/stacktrace.h>
#include <asm/tlbflush.h>
#include <asm/unwind.h>

/* ------------------------------------------------------------ code segments */

static const struct desc_struct *ldt_entry(unsigned int i)
{
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	/* Freed only after every CPU of the mm has taken an interrupt: not while this runs. */
	const struct ldt_struct *ldt = READ_ONCE(current->active_mm->context.ldt);

	if (ldt && i < ldt->nr_entries)
		return &ldt->entries[i];
#endif
	return NULL;
}

/* The base of a user's segment; 0 unless it is from the LDT or a TLS slot. */
static unsigned long segment_base(unsigned int selector)
{
	unsigned int i = selector >> 3;
	const struct desc_struct *desc = NULL;

	if ((selector & SEGMENT_TI_MASK) == SEGMENT_LDT)
		desc = ldt_entry(i);
	else if (i >= GDT_ENTRY_TLS_MIN && i <= GDT_ENTRY_TLS_MAX)
		desc = &current->thread.tls_array[i - GDT_ENTRY_TLS_MIN];

	return desc ? get_desc_base(desc) : 0;
}

static unsigned long code_base(struct pt_regs *regs)
{
#ifdef CONFIG_X86_32
	if (v8086_mode(regs) || (regs->flags & PERF_EFLAGS_VM))
		return regs->cs << 4;
#endif
	return user_mode(regs) && regs->cs != __USER_CS ? segment_base(regs->cs) : 0;
}

#undef perf_instruction_pointer
/**
 * perf_instruction_pointer - the address a sample is for
 * @regs: interrupted registers
 *
 * Return: the guest's address if a guest was interrupted, else the linear address.
 */
unsigned long perf_instruction_pointer(struct pt_regs *regs)
{
	if (perf_guest_state())
		return perf_guest_get_ip();

	return regs->ip + code_base(regs);
}

#undef perf_misc_flags
/**
 * perf_misc_flags - PERF_RECORD_MISC_* of a sample
 * @regs: interrupted registers
 */
unsigned long perf_misc_flags(struct pt_regs *regs)
{
	unsigned int guest = perf_guest_state();
	unsigned long misc;

	if (guest & PERF_GUEST_USER)
		misc = PERF_RECORD_MISC_GUEST_USER;
	else if (guest)
		misc = PERF_RECORD_MISC_GUEST_KERNEL;
	else if (user_mode(regs))
		misc = PERF_RECORD_MISC_USER;
	else
		misc = PERF_RECORD_MISC_KERNEL;

	return regs->flags & PERF_EFLAGS_EXACT ? misc | PERF_RECORD_MISC_EXACT_IP : misc;
}

/* -------------------------------------------------------------- the kernel's chain */

/*
 * Registers as the processor has saved them belong to the first address. Others only say where the stack
 * begins; there the instruction pointer is found as a return address. Nonzero if the chain is full.
 */
static int first_frame(struct unwind_state *state, struct perf_callchain_entry_ctx *entry,
		       struct pt_regs *regs)
{
	bool saved = regs->flags & X86_EFLAGS_FIXED;

	unwind_start(state, current, saved ? regs : NULL, saved ? NULL : (void *)regs->sp);
	return saved ? perf_callchain_store(entry, regs->ip) : 0;
}

void perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long addr;

	/* What a guest was doing is the guest's business. */
	if (perf_guest_state() || first_frame(&state, entry, regs))
		return;

	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (!addr || perf_callchain_store(entry, addr))
			return;
	}
}

/* --------------------------------------------------------------- a program's chain */

/*
 * A uprobe at a function's first instruction hits before there is a frame: the return address is
 * on top of the stack. The instruction that the probe replaced tells.
 */
static bool at_function_entry(struct pt_regs *regs)
{
#ifdef CONFIG_UPROBES
	static const u8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const u8 endbr32[] = { 0xf3, 0x0f, 0x1e, 0xfb };
	const struct arch_uprobe *probe;

	probe = current->utask ? current->utask->auprobe : NULL;
	if (!probe)
		return false;
	if (probe->insn[0] == 0x55)	/* push %rbp */
		return true;
	return !memcmp(probe->insn, user_64bit_mode(regs) ? endbr64 : endbr32, sizeof(endbr64));
#else
	return false;
#endif
}

/*
 * Reads words of @size bytes at @addr into @to; false where the program has no memory. Page faults are
 * disabled, and the memory is known to be current's.
 */
static __always_inline bool read_user(u64 *to, unsigned int n, unsigned int size,
				      unsigned long addr)
{
	void __user *from = (void __user *)addr;
	unsigned int i;
	u32 narrow;

	if (!user_read_access_begin(from, n * size))
		return false;
	for (i = 0; i < n; i++) {
		if (size == sizeof(u64)) {
			unsafe_get_user(to[i], (u64 __user *)from + i, fault);
		} else {
			unsafe_get_user(narrow, (u32 __user *)from + i, fault);
			to[i] = narrow;
		}
	}
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

/**
 * perf_callchain_user - follow a program's frame pointers
 * @entry: where the addresses go
 * @regs: the program's registers
 *
 * A frame is the caller's frame pointer and the return address, each a word of the program's.
 */
void perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	unsigned int size = user_64bit_mode(regs) ? sizeof(u64) : sizeof(u32);
	unsigned long stack = 0, base = 0;
	u64 frame[2] = { regs->bp };

	if (perf_guest_state())
		return;
#ifdef CONFIG_X86_32
	if (regs->flags & (X86_VM_MASK | PERF_EFLAGS_VM))
		return;
#endif
	if (perf_callchain_store(entry, perf_instruction_pointer(regs)))
		return;
	if (!nmi_uaccess_okay())
		return;

	if (size == sizeof(u32)) {
		base = code_base(regs);
		stack = segment_base(regs->ss);
	}

	pagefault_disable();
	if (at_function_entry(regs) && read_user(&frame[1], 1, size, stack + regs->sp))
		perf_callchain_store(entry, base + frame[1]);

	while (frame[0] && IS_ALIGNED(frame[0], size == sizeof(u64) ? 8 : 4)) {
		if (!read_user(frame, 2, size, stack + frame[0]))
			break;
		if (!frame[1] || perf_callchain_store(entry, base + frame[1]))
			break;
	}
	pagefault_enable();
}
