// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of a sample, by the numbers of uapi/asm/perf_regs.h.
 *
 * Context: all of it may run in NMI. No locks.
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

#define REG(_id, _field) [PERF_REG_X86_##_id] = 1 + offsetof(struct pt_regs, _field)

/* Where a register stands in pt_regs, plus one; 0 where pt_regs does not have it. */
static const u8 reg_place[PERF_REG_X86_64_MAX] = {
	REG(AX, ax), REG(BX, bx), REG(CX, cx), REG(DX, dx), REG(SI, si), REG(DI, di),
	REG(BP, bp), REG(SP, sp), REG(IP, ip), REG(FLAGS, flags), REG(CS, cs), REG(SS, ss),
#ifdef CONFIG_X86_32
	REG(DS, ds), REG(ES, es), REG(FS, fs), REG(GS, gs),
#else
	REG(R8, r8), REG(R9, r9), REG(R10, r10), REG(R11, r11),
	REG(R12, r12), REG(R13, r13), REG(R14, r14), REG(R15, r15),
#endif
};

/* The bits that may be asked for. */
static u64 known_regs(void)
{
	u64 mask = PERF_REG_EXTENDED_MASK;
	int i;

	for (i = 0; i < PERF_REG_X86_64_MAX; i++)
		if (reg_place[i])
			mask |= BIT_ULL(i);
	return mask;
}

/**
 * perf_reg_value - one register of a sample
 * @regs: the registers; part of a struct x86_perf_regs if they come from the PMU driver
 * @idx: PERF_REG_X86_*
 *
 * Return: its value, 0 if it is not known.
 */
u64 perf_reg_value(struct pt_regs *regs, int idx)
{
	if (idx >= PERF_REG_X86_XMM0 && idx < PERF_REG_X86_XMM_MAX) {
		struct x86_perf_regs *wide = container_of(regs, struct x86_perf_regs, regs);

		return wide->xmm_regs ? wide->xmm_regs[idx - PERF_REG_X86_XMM0] : 0;
	}

	if (WARN_ON_ONCE(idx >= ARRAY_SIZE(reg_place) || !reg_place[idx]))
		return 0;
	return *(unsigned long *)((void *)regs + reg_place[idx] - 1);
}

/**
 * perf_reg_validate - may these registers be asked for?
 * @mask: bit n is PERF_REG_X86_n
 *
 * Return: 0 or -EINVAL.
 */
int perf_reg_validate(u64 mask)
{
	return mask && !(mask & ~known_regs()) ? 0 : -EINVAL;
}

u64 perf_reg_abi(struct task_struct *task)
{
	if (IS_ENABLED(CONFIG_X86_32) || !user_64bit_mode(task_pt_regs(task)))
		return PERF_SAMPLE_REGS_ABI_32;
	return PERF_SAMPLE_REGS_ABI_64;
}

/*
 * An interrupt may hit the entry code before it has saved all of the user's registers. Then the
 * stack pointer stands inside the place where they belong or on the small stack that entries
 * begin on, or is still the user's. What the place holds then is an earlier entry's.
 */
static bool user_regs_saved(struct pt_regs *user, struct pt_regs *regs)
{
	struct stack_info info;

	if (regs == user || user_mode(regs))
		return true;
	if (regs->sp > (unsigned long)user && regs->sp <= (unsigned long)(user + 1))
		return false;
	if (in_entry_stack((unsigned long *)regs->sp, &info))
		return false;
	return !ip_within_syscall_gap(regs);
}

/**
 * perf_get_regs_user - the registers with which the current task left user mode
 * @regs_user: result; ABI_NONE when they are not to be had
 * @regs: registers of the interrupt that is being handled
 */
void perf_get_regs_user(struct perf_regs *regs_user, struct pt_regs *regs)
{
	struct pt_regs *user = task_pt_regs(current);

	if (in_nmi() && !user_regs_saved(user, regs)) {
		regs_user->abi = PERF_SAMPLE_REGS_ABI_NONE;
		regs_user->regs = NULL;
		return;
	}

	regs_user->regs = user;
	regs_user->abi = perf_reg_abi(current);
}
