// SPDX-License-Identifier: GPL-2.0
/*
 * Where a sample was taken: call chains, instruction pointer, and whose code it was.
 *
 * Kernel code and 32-bit programs are walked by the architecture (kernel/stacktrace.c), 64-bit
 * programs here: a loop of its own, that reads just the two words of each frame record, costs a
 * third of calling back for every address. Any context, NMI included; no locks.
 */
#include <linux/perf_event.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#include <asm/pointer_auth.h>
#include <asm/ptrace.h>

static bool store_address(void *chain, unsigned long address)
{
	return !perf_callchain_store(chain, address);
}

/*
 * A frame record is the address of the caller's record and the return address (AAPCS64, "The Frame
 * Pointer"). Stacks grow downwards: a record that is not above the one before it is none.
 */
static void walk_user(struct perf_callchain_entry_ctx *entry, unsigned long frame)
{
	unsigned long caller, ret;

	pagefault_disable();
	while (frame && IS_ALIGNED(frame, sizeof(u64))) {
		unsigned long __user *record = (unsigned long __user *)frame;

		if (__get_user(caller, record) || __get_user(ret, record + 1) ||
		    perf_callchain_store(entry, ptrauth_strip_user_insn_pac(ret)) ||
		    caller <= frame)
			break;
		frame = caller;
	}
	pagefault_enable();
}

/**
 * perf_callchain_user - chain of the user code of the current task
 * @entry: where it goes
 * @regs: its user registers
 *
 * A guest's chain is not followed: its memory is not ours to read.
 */
void perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	if (perf_guest_state())
		return;
	if (compat_user_mode(regs))
		arch_stack_walk_user(store_address, entry, regs);
	else if (!perf_callchain_store(entry, regs->pc))
		walk_user(entry, regs->regs[29]);
}

/**
 * struct caller_walk - a walk from where a hook of perf was called
 * @entry: where the addresses go
 * @caller: the first one, which is stored already
 * @again: how often it may still come
 */
struct caller_walk {
	struct perf_callchain_entry_ctx	*entry;
	unsigned long			caller;
	unsigned int			again;
};

static bool store_further(void *cookie, unsigned long address)
{
	struct caller_walk *walk = cookie;

	if (walk->again && address == walk->caller) {
		walk->again--;
		return true;
	}
	walk->again = 0;
	return !perf_callchain_store(walk->entry, address);
}

/*
 * What perf_fetch_caller_regs() makes of the frame that is left: its return address is the instruction
 * pointer, and is found there once more.
 */
static void walk_caller(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	struct caller_walk walk = { entry, regs->pc, 2 };

	if (!perf_callchain_store(entry, regs->pc))
		arch_stack_walk(store_further, &walk, current, regs);
}

/**
 * perf_callchain_kernel - chain of the kernel code that was interrupted
 * @entry: where it goes
 * @regs: the registers there
 */
void perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	if (perf_guest_state())
		return;
	if (regs->pstate == PSR_MODE_EL1h)
		walk_caller(entry, regs);
	else
		arch_stack_walk(store_address, entry, current, regs);
}

/**
 * perf_instruction_pointer - address that a sample shows
 * @regs: registers of the interrupted context
 */
unsigned long perf_instruction_pointer(struct pt_regs *regs)
{
	return perf_guest_state() ? perf_guest_get_ip() : instruction_pointer(regs);
}

/* In parentheses: the name is also a macro. */
unsigned long (perf_misc_flags)(struct pt_regs *regs)
{
	unsigned int guest = perf_guest_state();

	if (!guest)
		return user_mode(regs) ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;

	return guest & PERF_GUEST_USER ? PERF_RECORD_MISC_GUEST_USER
				       : PERF_RECORD_MISC_GUEST_KERNEL;
}
