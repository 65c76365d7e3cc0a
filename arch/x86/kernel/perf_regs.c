// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of a sample, by the numbers of uapi/asm/perf_regs.h.
 *
 * Context: any, NMI included. No locks.
 */
#include <linux/compat.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/perf_regs.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <asm/perf_event.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#define REG(_id, _field)	\
	[PERF_REG_X86_##_id] = 1 + offsetof(struct pt_regs, _field)

/* Offset of a register in struct pt_regs plus one; 0 if it is not there. */
static const u8 perf_regs_offset[PERF_REG_X86_64_MAX] = {
	REG(AX, ax), REG(BX, bx), REG(CX, cx), REG(DX, dx), REG(SI, si), REG(DI, di),
	REG(BP, bp), REG(SP, sp), REG(IP, ip), REG(FLAGS, flags), REG(CS, cs), REG(SS, ss),
#ifdef CONFIG_X86_32
	REG(DS, ds), REG(ES, es), REG(FS, fs), REG(GS, gs),
#else
	REG(R8, r8), REG(R9, r9), REG(R10, r10), REG(R11, r11),
	REG(R12, r12), REG(R13, r13), REG(R14, r14), REG(R15, r15),
#endif
};

/* The registers that a sample can have. */
static u64 perf_regs_known_mask(void)
{
	u64 mask = PERF_REG_EXTENDED_MASK;
	int i;

	for (i = 0; i < PERF_REG_X86_64_MAX; i++)
		if (perf_regs_offset[i])
			mask |= BIT_ULL(i);
	return mask;
}

/**
 * perf_reg_value - the value of a register of a sample
 * @regs: registers; part of a struct x86_perf_regs if @idx is an XMM register
 * @idx: PERF_REG_X86_*
 *
 * Context: any, NMI included.
 * Return: value of the register; 0 if there is none
 */
u64 perf_reg_value(struct pt_regs *regs, int idx)
{
	if (likely((unsigned int)idx < ARRAY_SIZE(perf_regs_offset) && perf_regs_offset[idx]))
		return *(unsigned long *)((void *)regs + perf_regs_offset[idx] - 1);

	if (idx >= PERF_REG_X86_XMM0 && idx < PERF_REG_X86_XMM_MAX) {
		struct x86_perf_regs *wide = container_of(regs, struct x86_perf_regs, regs);

		return wide->xmm_regs ? wide->xmm_regs[idx - PERF_REG_X86_XMM0] : 0;
	}

	WARN_ON_ONCE(1);
	return 0;
}

/**
 * perf_reg_validate - check the registers that an event samples
 * @mask: set of registers, bit n is PERF_REG_X86_n
 *
 * Context: any.
 * Return: 0; -EINVAL if @mask is empty or has registers that do not exist
 */
int perf_reg_validate(u64 mask)
{
	return mask && !(mask & ~perf_regs_known_mask()) ? 0 : -EINVAL;
}

/**
 * perf_reg_abi - the ABI of a task's registers
 * @task: task in user mode
 *
 * Context: any, NMI included.
 * Return: PERF_SAMPLE_REGS_ABI_*
 */
u64 perf_reg_abi(struct task_struct *task)
{
	if (IS_ENABLED(CONFIG_X86_32) || !user_64bit_mode(task_pt_regs(task)))
		return PERF_SAMPLE_REGS_ABI_32;
	return PERF_SAMPLE_REGS_ABI_64;
}

/*
 * An NMI can interrupt the entry code before that has saved all user registers. Then task_pt_regs()
 * has values of an earlier entry. The stack pointer shows it: it points into task_pt_regs(), to
 * the entry stack, or it is still the user's.
 */
static bool perf_regs_user_saved(struct pt_regs *user, struct pt_regs *regs)
{
	struct stack_info info;

	if (regs == user || user_mode(regs))
		return true;
	if (regs->sp > (unsigned long)user && regs->sp <= (unsigned long)(user + 1))
		return false;
	if (in_entry_stack((unsigned long *)regs->sp, &info))
		return false;
#ifdef CONFIG_X86_64
	return !ip_within_syscall_gap(regs);
#else
	return true;
#endif
}

/**
 * perf_get_regs_user - the registers with which the current task left user mode
 * @regs_user: set to the registers; PERF_SAMPLE_REGS_ABI_NONE if these have not been saved yet
 * @regs: registers of the interrupt that is being handled
 *
 * Context: any, NMI included.
 */
void perf_get_regs_user(struct perf_regs *regs_user, struct pt_regs *regs)
{
	struct pt_regs *user = task_pt_regs(current);

	if (in_nmi() && !perf_regs_user_saved(user, regs)) {
		regs_user->abi = PERF_SAMPLE_REGS_ABI_NONE;
		regs_user->regs = NULL;
		return;
	}

	regs_user->regs = user;
	regs_user->abi = perf_reg_abi(current);
}
