// SPDX-License-Identifier: GPL-2.0
/*
 * Call chain, instruction pointer and privilege level of a sample.
 *
 * arch/arm64/kernel/stacktrace.c walks the stacks of the kernel and of 32-bit programs. 64-bit
 * programs are walked here: a loop that reads the two words of each frame record takes a third of
 * the time of a callback for each address.
 *
 * Context: any, also NMI; no locks.
 */
#include <linux/perf_event.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>

#include <asm/pointer_auth.h>
#include <asm/ptrace.h>

static bool callchain_store(void *chain, unsigned long address)
{
	return !perf_callchain_store(chain, address);
}

/**
 * struct callchain_frame - a frame record (AAPCS64, "The Frame Pointer")
 * @caller: address of the caller's frame record
 * @ret: return address
 */
struct callchain_frame {
	unsigned long	caller;
	unsigned long	ret;
};

/* Both words in one section of accesses to user memory. Page faults are disabled. */
static __always_inline bool callchain_read_frame(struct callchain_frame *frame,
						 unsigned long address)
{
	const struct callchain_frame __user *from = (const void __user *)address;

	if (!user_access_begin(from, sizeof(*from)))
		return false;
	unsafe_get_user(frame->caller, &from->caller, fault);
	unsafe_get_user(frame->ret, &from->ret, fault);
	user_access_end();
	return true;
fault:
	user_access_end();
	return false;
}

/*
 * Stores the return address of each frame, after an address that perf_callchain_store() has stored.
 * The stack grows downwards: a caller's record that is not at a higher address is invalid and ends
 * the walk.
 */
static void callchain_walk_user(struct perf_callchain_entry_ctx *entry, unsigned long address)
{
	u32 nr = 0, room = entry->max_stack - entry->nr;
	u64 *ip = &entry->entry->ip[entry->entry->nr];
	struct callchain_frame frame;

	pagefault_disable();
	while (nr < room && address && IS_ALIGNED(address, sizeof(u64)) &&
	       callchain_read_frame(&frame, address)) {
		ip[nr++] = ptrauth_strip_user_insn_pac(frame.ret);
		if (frame.caller <= address)
			break;
		address = frame.caller;
	}
	pagefault_enable();
	entry->entry->nr += nr;
	entry->nr += nr;
}

/**
 * perf_callchain_user - store the call chain of the current task in user space
 * @entry: chain to append to
 * @regs: user registers of the task
 *
 * Stores nothing if a guest was interrupted: the host cannot walk a guest's memory.
 *
 * Context: any, also NMI.
 */
void perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	if (perf_guest_state())
		return;
	if (compat_user_mode(regs))
		arch_stack_walk_user(callchain_store, entry, regs);
	else if (!perf_callchain_store(entry, regs->pc))
		callchain_walk_user(entry, regs->regs[29]);
}

/**
 * struct callchain_caller - a kernel stack walk that starts at perf_fetch_caller_regs()
 * @entry: chain to append to
 * @caller: instruction pointer, the first address of the chain, which is stored already
 * @skip: leading occurrences of @caller that may still be skipped, 0 to 2
 */
struct callchain_caller {
	struct perf_callchain_entry_ctx	*entry;
	unsigned long			caller;
	unsigned int			skip;
};

static bool callchain_store_caller(void *cookie, unsigned long address)
{
	struct callchain_caller *walk = cookie;

	if (walk->skip && address == walk->caller) {
		walk->skip--;
		return true;
	}
	walk->skip = 0;
	return !perf_callchain_store(walk->entry, address);
}

/*
 * perf_fetch_caller_regs() takes the return address of a frame as the instruction pointer, so that
 * the walk, which starts at this frame, finds the same address again in the frame record.
 */
static void callchain_walk_caller(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	struct callchain_caller walk = { entry, regs->pc, 2 };

	if (!perf_callchain_store(entry, regs->pc))
		arch_stack_walk(callchain_store_caller, &walk, current, regs);
}

/**
 * perf_callchain_kernel - store the call chain of the kernel
 * @entry: chain to append to
 * @regs: registers at the start of the chain: of an exception, or of perf_fetch_caller_regs()
 *
 * Stores nothing if a guest was interrupted: the host cannot walk a guest's memory.
 *
 * Context: any, also NMI.
 */
void perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
	if (perf_guest_state())
		return;
	if (regs->pstate == PSR_MODE_EL1h)
		callchain_walk_caller(entry, regs);
	else
		arch_stack_walk(callchain_store, entry, current, regs);
}

#ifdef CONFIG_GUEST_PERF_EVENTS
/**
 * perf_instruction_pointer - instruction pointer of a sample
 * @regs: registers of the interrupted context
 *
 * Context: any, also NMI.
 * Return: the address; if a vCPU was interrupted, an address in the guest.
 */
unsigned long perf_instruction_pointer(struct pt_regs *regs)
{
	return perf_guest_state() ? perf_guest_get_ip() : instruction_pointer(regs);
}

/* The parentheses keep the macro of the same name from being expanded. */
unsigned long (perf_misc_flags)(struct pt_regs *regs)
{
	unsigned int guest = perf_guest_state();

	if (!guest)
		return user_mode(regs) ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;

	return guest & PERF_GUEST_USER ? PERF_RECORD_MISC_GUEST_USER
				       : PERF_RECORD_MISC_GUEST_KERNEL;
}
#endif
