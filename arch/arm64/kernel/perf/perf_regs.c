// SPDX-License-Identifier: GPL-2.0
/*
 * Registers in samples: PERF_SAMPLE_REGS_USER and PERF_SAMPLE_REGS_INTR.
 *
 * Context: any, also NMI; no locks.
 */
#include <linux/compat.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/perf_regs.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include <asm/fpsimd.h>
#include <asm/ptrace.h>

#define REGS_GENERAL	GENMASK_ULL(PERF_REG_ARM64_MAX - 1, 0)

/* SP, LR and PC in the register numbers of 32-bit Arm. */
#define COMPAT_REG_SP	13
#define COMPAT_REG_LR	14
#define COMPAT_REG_PC	15

/* VG, a register of DWARF for AArch64: length of an SVE register in units of 64 bits. */
static u64 perf_reg_vg(void)
{
	return system_supports_sve() ? task_get_sve_vl(current) / sizeof(u64) : 0;
}

/*
 * The SP and LR of a 32-bit task are in x13 and x14. Both register numberings must yield them: that
 * of 64-bit tools (SP, LR) and that of 32-bit tools (r13, r14, r15).
 */
static u64 perf_reg_compat_value(struct pt_regs *regs, int idx)
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
 * @regs: registers to read from
 * @idx: register number, PERF_REG_ARM64_*
 *
 * Context: any, also NMI.
 * Return: the value; 0 for an invalid @idx.
 */
u64 perf_reg_value(struct pt_regs *regs, int idx)
{
	if (likely((u32)idx < PERF_REG_ARM64_SP && !compat_user_mode(regs)))
		return regs->regs[idx];
	if (idx == PERF_REG_ARM64_VG)
		return perf_reg_vg();
	if (WARN_ON_ONCE((u32)idx >= PERF_REG_ARM64_MAX))
		return 0;
	if (idx == PERF_REG_ARM64_PC)
		return regs->pc;
	return compat_user_mode(regs) ? perf_reg_compat_value(regs, idx) : regs->sp;
}

/**
 * perf_reg_validate - check the sample_regs_user or sample_regs_intr of an attr
 * @mask: bits 1 << PERF_REG_ARM64_*
 *
 * Context: any.
 * Return: 0; -EINVAL if @mask is empty or has a register that this system does not have.
 */
int perf_reg_validate(u64 mask)
{
	u64 known = REGS_GENERAL;

	if (system_supports_sve())
		known |= BIT_ULL(PERF_REG_ARM64_VG);

	return mask && !(mask & ~known) ? 0 : -EINVAL;
}

/**
 * perf_reg_abi - register set of a task
 * @task: task that is sampled
 *
 * Context: any, also NMI.
 * Return: PERF_SAMPLE_REGS_ABI_32 or PERF_SAMPLE_REGS_ABI_64.
 */
u64 perf_reg_abi(struct task_struct *task)
{
	return is_compat_thread(task_thread_info(task)) ? PERF_SAMPLE_REGS_ABI_32
							: PERF_SAMPLE_REGS_ABI_64;
}

/**
 * perf_get_regs_user - get the user registers of the current task
 * @regs_user: set to the user registers and the register set of the task
 * @regs: registers of the interrupted context, user or kernel
 *
 * Context: any, also NMI.
 */
void perf_get_regs_user(struct perf_regs *regs_user, struct pt_regs *regs)
{
	regs_user->abi = perf_reg_abi(current);
	regs_user->regs = task_pt_regs(current);
}
