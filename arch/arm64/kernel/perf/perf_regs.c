// SPDX-License-Identifier: GPL-2.0
/*
 * Registers in samples: PERF_SAMPLE_REGS_USER and PERF_SAMPLE_REGS_INTR.
 *
 * Any context; no locks.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include <asm/compat.h>
#include <asm/fpsimd.h>
#include <asm/perf_regs.h>
#include <asm/ptrace.h>

#define REGS_PLAIN	GENMASK_ULL(PERF_REG_ARM64_MAX - 1, 0)

/* What a tool that knows the 32-bit numbering takes for stack pointer, link register and pc. */
#define COMPAT_REG_SP	13
#define COMPAT_REG_LR	14
#define COMPAT_REG_PC	15

/* Vector granule: length of an SVE register in units of 64 bits. DWARF counts it as a register. */
static u64 vector_granule(void)
{
	return system_supports_sve() ? task_get_sve_vl(current) / sizeof(u64) : 0;
}

/*
 * A 32-bit task's stack pointer and link register live in x13 and x14. Tools of either numbering
 * must find them: 64-bit ones ask for SP and LR, 32-bit ones for r13, r14 and r15.
 */
static u64 compat_reg_value(struct pt_regs *regs, int idx)
{
	switch (idx) {
	case PERF_REG_ARM64_SP:
	case COMPAT_REG_SP:
		return regs->compat_sp;
	case PERF_REG_ARM64_LR:
	case COMPAT_REG_LR:
		return regs->compat_lr;
	case COMPAT_REG_PC:
		return regs->pc;
	default:
		return regs->regs[idx];
	}
}

/**
 * perf_reg_value - value of a register
 * @regs: where
 * @idx: PERF_REG_ARM64_*
 */
u64 perf_reg_value(struct pt_regs *regs, int idx)
{
	if (idx == PERF_REG_ARM64_VG)
		return vector_granule();
	if (WARN_ON_ONCE((u32)idx >= PERF_REG_ARM64_MAX))
		return 0;
	if (idx == PERF_REG_ARM64_PC)
		return regs->pc;
	if (compat_user_mode(regs))
		return compat_reg_value(regs, idx);
	if (idx == PERF_REG_ARM64_SP)
		return regs->sp;

	return regs->regs[idx];
}

/**
 * perf_reg_validate - may a user ask for these registers?
 * @mask: bits of PERF_REG_ARM64_*
 *
 * Return: 0 or -EINVAL.
 */
int perf_reg_validate(u64 mask)
{
	u64 known = REGS_PLAIN;

	if (system_supports_sve())
		known |= BIT_ULL(PERF_REG_ARM64_VG);

	return mask && !(mask & ~known) ? 0 : -EINVAL;
}

/**
 * perf_reg_abi - the register set of a task, PERF_SAMPLE_REGS_ABI_*
 * @task: the task
 */
u64 perf_reg_abi(struct task_struct *task)
{
	return is_compat_thread(task_thread_info(task)) ? PERF_SAMPLE_REGS_ABI_32
							: PERF_SAMPLE_REGS_ABI_64;
}

/**
 * perf_get_regs_user - the user registers of the current task
 * @regs_user: set to them
 * @regs: registers of the interrupted context, which may be the kernel's
 */
void perf_get_regs_user(struct perf_regs *regs_user, struct pt_regs *regs)
{
	regs_user->abi = perf_reg_abi(current);
	regs_user->regs = task_pt_regs(current);
}
