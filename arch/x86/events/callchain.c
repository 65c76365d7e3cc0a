// SPDX-License-Identifier: GPL-2.0
/*
 * Instruction pointers and call chains of samples: of the kernel and of user programs, 64-bit and
 * compat.
 *
 * Context: any, NMI included. No locks. User memory is read with page faults disabled.
 */
#include <linux/compat.h>
#include <linux/mmu_context.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include <asm/desc.h>
#include <asm/segment.h>
#include <asm/stacktrace.h>
#include <asm/tlbflush.h>
#include <asm/unwind.h>

#include "pmu.h"

/* ------------------------------------------------------------ code segments */

static const struct desc_struct *callchain_ldt_entry(unsigned int i)
{
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	/* An LDT is freed only after an IPI to every CPU of the mm, so not while this runs. */
	const struct ldt_struct *ldt = READ_ONCE(current->active_mm->context.ldt);

	if (ldt && i < ldt->nr_entries)
		return &ldt->entries[i];
#endif
	return NULL;
}

/* Base address of a user segment in the LDT or a TLS slot; 0 for other segments. */
static unsigned long callchain_segment_base(unsigned int selector)
{
	unsigned int i = selector >> 3;
	const struct desc_struct *desc = NULL;

	if ((selector & SEGMENT_TI_MASK) == SEGMENT_LDT)
		desc = callchain_ldt_entry(i);
	else if (i >= GDT_ENTRY_TLS_MIN && i <= GDT_ENTRY_TLS_MAX)
		desc = &current->thread.tls_array[i - GDT_ENTRY_TLS_MIN];

	return desc ? get_desc_base(desc) : 0;
}

static unsigned long callchain_code_base(struct pt_regs *regs)
{
#ifdef CONFIG_X86_32
	if (v8086_mode(regs) || (regs->flags & PERF_EFLAGS_VM))
		return regs->cs << 4;
#endif
	return user_mode(regs) && regs->cs != __USER_CS ? callchain_segment_base(regs->cs) : 0;
}

static noinline unsigned long callchain_linear_ip(struct pt_regs *regs)
{
	return regs->ip + callchain_code_base(regs);
}

/* The state of the guest that was interrupted; 0: none, or the sample is one of the host. */
static unsigned int callchain_guest_state(void)
{
	unsigned int state = perf_guest_state();

	return state && this_cpu_read(x86_pmu_cpu.host_records) ? 0 : state;
}

#undef perf_instruction_pointer
/**
 * perf_instruction_pointer - the address of a sample
 * @regs: interrupted registers
 *
 * Context: any, NMI included.
 * Return: the guest's address if a guest was interrupted, else the linear address
 */
unsigned long perf_instruction_pointer(struct pt_regs *regs)
{
	if (callchain_guest_state())
		return perf_guest_get_ip();

	/* Usually the base is 0, and no register has to be saved around a call. */
	if (IS_ENABLED(CONFIG_X86_64) && (!user_mode(regs) || regs->cs == __USER_CS))
		return regs->ip;
	return callchain_linear_ip(regs);
}

#undef perf_misc_flags
/**
 * perf_misc_flags - the processor mode of a sample
 * @regs: interrupted registers
 *
 * Context: any, NMI included.
 * Return: PERF_RECORD_MISC_*
 */
unsigned long perf_misc_flags(struct pt_regs *regs)
{
	unsigned int guest = callchain_guest_state();
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

/* -------------------------------------------------------------- kernel call chains */

/*
 * If the processor saved @regs, their instruction pointer is the first address. Registers of
 * perf_arch_fetch_caller_regs() only have the stack pointer: unwinding from there finds the
 * instruction pointer as a return address. Returns nonzero if the chain is full.
 */
static int callchain_start_unwind(struct unwind_state *state,
				  struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	bool saved = regs->flags & X86_EFLAGS_FIXED;

	unwind_start(state, current, saved ? regs : NULL, saved ? NULL : (void *)regs->sp);
	return saved ? perf_callchain_store(entry, regs->ip) : 0;
}

/**
 * perf_callchain_kernel - add the kernel's return addresses to a call chain
 * @entry: call chain to extend
 * @regs: registers of kernel mode
 *
 * Context: any, NMI included.
 */
void perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long addr;

	/* The stack of a guest is not accessible. */
	if (callchain_guest_state() || callchain_start_unwind(&state, entry, regs))
		return;

	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		addr = unwind_get_return_address(&state);
		if (!addr || perf_callchain_store(entry, addr))
			return;
	}
}

/* --------------------------------------------------------------- user call chains */

/*
 * Is this a uprobe at the first instruction of a function, where the return address is on top of
 * the stack because there is no frame yet? Judged by the instruction that the probe replaced.
 */
static bool callchain_at_function_entry(struct pt_regs *regs)
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
 * Reads @n words, one or two, of @size bytes at @addr into @to; false if the memory is not
 * accessible. Page faults are disabled, and nmi_uaccess_okay() is true.
 */
static __always_inline bool callchain_read_user(u64 *to, unsigned int n, unsigned int size,
						unsigned long addr)
{
	void __user *from = (void __user *)addr;
	u32 narrow;

	if (!user_read_access_begin(from, n * size))
		return false;
	if (size == sizeof(u64)) {
		unsafe_get_user(to[0], (u64 __user *)from, fault);
		if (n > 1)
			unsafe_get_user(to[1], (u64 __user *)from + 1, fault);
	} else {
		unsafe_get_user(narrow, (u32 __user *)from, fault);
		to[0] = narrow;
		if (n > 1) {
			unsafe_get_user(narrow, (u32 __user *)from + 1, fault);
			to[1] = narrow;
		}
	}
	user_read_access_end();
	return true;
fault:
	user_read_access_end();
	return false;
}

/*
 * Can there be a frame? A program without frame pointers often has a small number in the register.
 * There is no stack in the first page, and reading it would be a fault for each sample.
 */
static __always_inline bool callchain_is_frame(u64 at, unsigned int size, unsigned long stack)
{
	return at && stack + at >= PAGE_SIZE && IS_ALIGNED(at, size == sizeof(u64) ? 8 : 4);
}

/*
 * Adds the return addresses of the frame at @at and of its callers. @size is a constant: each size
 * of words has code of its own.
 */
static __always_inline void callchain_follow(struct perf_callchain_entry_ctx *entry, u64 at,
					     unsigned int size, unsigned long stack,
					     unsigned long base)
{
	u64 frame[2] __uninitialized;

	for (; callchain_is_frame(at, size, stack); at = frame[0]) {
		if (!callchain_read_user(frame, 2, size, stack + at) || !frame[1] ||
		    perf_callchain_store(entry, base + frame[1]))
			return;
	}
}

/**
 * perf_callchain_user - add a program's return addresses to a call chain
 * @entry: call chain to extend
 * @regs: registers of user mode
 *
 * Follows frame pointers. A frame is the caller's frame pointer and the return address, in words
 * of the program's size.
 *
 * Context: any, NMI included.
 */
void perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	unsigned int size = user_64bit_mode(regs) ? sizeof(u64) : sizeof(u32);
	unsigned long stack = 0, base = 0;
	u64 caller;

	if (callchain_guest_state())
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
		base = callchain_code_base(regs);
		stack = callchain_segment_base(regs->ss);
	}

	pagefault_disable();
	if (callchain_at_function_entry(regs) &&
	    callchain_read_user(&caller, 1, size, stack + regs->sp))
		perf_callchain_store(entry, base + caller);
	if (likely(size == sizeof(u64)))
		callchain_follow(entry, regs->bp, sizeof(u64), 0, 0);
	else
		callchain_follow(entry, regs->bp, sizeof(u32), stack, base);
	pagefault_enable();
}
