/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Register state of the interrupted context, for the perf core. The PMU drivers' headers are
 * linux/perf/arm_pmu.h and linux/perf/arm_pmuv3.h.
 */
#ifndef __ASM_PERF_EVENT_H
#define __ASM_PERF_EVENT_H

#include <asm/stack_pointer.h>
#include <asm/ptrace.h>

#ifdef CONFIG_PERF_EVENTS
struct pt_regs;

/* Without guests the macros of linux/perf/hooks.h are enough. */
#ifdef CONFIG_GUEST_PERF_EVENTS
unsigned long perf_instruction_pointer(struct pt_regs *regs);
unsigned long perf_misc_flags(struct pt_regs *regs);
# define perf_misc_flags(regs)		perf_misc_flags(regs)
#endif

/* Only the user_regs part of pt_regs is ABI, which BPF programs may depend on. */
#define perf_arch_bpf_user_pt_regs(regs)	(&(regs)->user_regs)

/*
 * Sets the registers that the unwinder needs to start at the caller: program counter, frame
 * pointer, stack pointer and, in pstate, kernel mode.
 */
#define perf_arch_fetch_caller_regs(frame, caller_ip)				\
do {										\
	struct pt_regs *__regs = (frame);					\
										\
	__regs->pstate = PSR_MODE_EL1h;						\
	__regs->sp = current_stack_pointer;					\
	__regs->regs[29] = (unsigned long)__builtin_frame_address(0);		\
	__regs->pc = (caller_ip);						\
} while (0)
#endif

#endif
