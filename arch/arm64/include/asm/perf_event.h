/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What perf asks the architecture about registers. The PMU has nothing here: see
 * linux/perf/arm_pmu.h and linux/perf/arm_pmuv3.h.
 */
#ifndef __ASM_PERF_EVENT_H
#define __ASM_PERF_EVENT_H

#include <asm/stack_pointer.h>
#include <asm/ptrace.h>

#ifdef CONFIG_PERF_EVENTS
struct pt_regs;

unsigned long perf_instruction_pointer(struct pt_regs *regs);
unsigned long perf_misc_flags(struct pt_regs *regs);
#define perf_misc_flags(regs)		perf_misc_flags(regs)

/* BPF programs see the part of pt_regs that is ABI. */
#define perf_arch_bpf_user_pt_regs(regs)	(&(regs)->user_regs)

/*
 * Enough of the caller for the unwinder to start from: program counter, frame, stack, and a mode
 * that says "kernel".
 */
#define perf_arch_fetch_caller_regs(regs, caller_ip)				\
do {										\
	(regs)->pstate = PSR_MODE_EL1h;						\
	(regs)->sp = current_stack_pointer;					\
	(regs)->regs[29] = (unsigned long)__builtin_frame_address(0);		\
	(regs)->pc = (caller_ip);						\
} while (0)
#endif

#endif
