// SPDX-License-Identifier: GPL-2.0
/*
 * The overflow interrupt.
 *
 * Context: NMI (or Xen's interrupt). Only events of counters in x86_pmu_cpu::irq_owned are
 * accessed. A counter without an event is wound back. If the interrupted code is programming a
 * counter, that code handles its overflow, see x86_pmu_cpu::missed.
 *
 * Every interrupt for which the handler finds a counter that has overflowed, with or without an
 * event, is reported as handled. On parts without a status register, and on AMD, the handler of one
 * interrupt can handle the cause of the next one; on Nehalem and Westmere x86_select_prepare() can.
 * On these an interrupt without a cause is reported as handled as well, for X86_NMI_GRACE after the
 * last one with a cause, and after a counter was stopped at the end of its period.
 */
#include <linux/hardirq.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/timer.h>
#include <asm/tsc.h>

#include "lbr.h"
#include "exclusive.h"
#include "intel/bts.h"
#include "intel/pebs.h"
#include "pmu.h"
#include "topdown.h"

/* Reads of a status that does not become 0, as a broken hypervisor can have it. */
#define X86_IRQ_ROUNDS	16

static void x86_irq_sample(struct x86_pmu_cpu *cpu, struct perf_event *event, struct pt_regs *regs)
{
	struct perf_sample_data data __uninitialized;
	u64 period = event->hw.last_period;
	bool over = x86_period_next(event);

	x86_event_program(cpu, event);
	x86_user_base_changed(event);
	if (!over)
		return;
	/* The sample belongs to the period that has ended. */
	perf_sample_data_init(&data, 0, period);
	if (unlikely(event->hw.flags & X86_EVENT_BRANCHES))
		x86_lbr_sample(cpu, event, &data);
	if (perf_event_overflow(event, &data, regs))
		x86_event_stop(event, 0);
}

static void x86_irq_overflow_one(struct x86_pmu_cpu *cpu, unsigned int idx, struct pt_regs *regs)
{
	struct perf_event *event = cpu->event[idx];

	if (unlikely(cpu->merged & BIT_ULL(idx)))
		return;
	if (!(cpu->loaded & BIT_ULL(idx))) {
		/* The overflow of a counter that has been returned to microcode is over. */
		if (!(cpu->pmu->rtm_counters & BIT_ULL(idx)))
			x86_counter_write(cpu, idx, x86_parked_value(cpu->pmu));
		return;
	}
	if (!(cpu->irq_owned & BIT_ULL(idx))) {
		x86_cpu_set_bits(missed, BIT_ULL(idx));
		return;
	}

	x86_event_update(event);
	if (event->hw.flags & X86_EVENT_SAMPLING) {
		x86_irq_sample(cpu, event, regs);
	} else if (x86_event_wrapped(event)) {
		x86_event_rewind(cpu, event);
		x86_user_base_changed(event);
	}
}

static int x86_irq_overflow_set(struct x86_pmu_cpu *cpu, u64 counters, struct pt_regs *regs)
{
	int n = hweight64(counters);

	for (; counters; counters &= counters - 1)
		x86_irq_overflow_one(cpu, __ffs64(counters), regs);
	return n;
}

/* Can an interrupt without a cause be a late one of this PMU? */
static int x86_irq_expects_late(struct x86_pmu_cpu *cpu)
{
	/* Not later than the grace, nor so long after it that jiffies has wrapped. */
	return (x86_pmu_regs.late_nmi || x86_pmu_regs.prepare) &&
	       cpu->nmi_grace - jiffies - 1 < X86_NMI_GRACE;
}

static int x86_irq_account(struct x86_pmu_cpu *cpu, int n)
{
	if (!n)
		return x86_irq_expects_late(cpu);
	cpu->nmi_grace = jiffies + X86_NMI_GRACE;
	inc_irq_stat(apic_perf_irqs);
	return n;
}

/* Takes the samples of records. */
static int x86_irq_drain(struct x86_pmu_cpu *cpu, struct pt_regs *regs)
{
	u64 stop = intel_pebs_drain(cpu, regs);

	for (; stop; stop &= stop - 1)
		x86_event_stop(cpu->event[__ffs64(stop)], 0);
	return 1;
}

/* Is the buffer of processor trace full? Returns 1 if it was. */
static int x86_irq_trace(u64 status)
{
	if (!(status & GLOBAL_STATUS_TRACE_TOPAPMI) || x86_pmu_regs.late_nmi)
		return 0;
	if (!perf_guest_handle_intel_pt_intr())
		intel_pt_interrupt();
	return 1;
}

/*
 * Handles the overflows in one value of the status register; returns their number. A counter that
 * writes records may have overflowed without a record until now.
 */
static int x86_irq_handle_status(struct x86_pmu_cpu *cpu, u64 status, struct pt_regs *regs)
{
	u64 topdown = X86_METRICS_BIT | (cpu->metrics ? X86_FIXED(3) : 0);
	u64 others = cpu->precise | topdown;
	int n = 0;

	if (unlikely(status & GLOBAL_STATUS_BUFFER_OVF))
		n += x86_irq_drain(cpu, regs);
	n += x86_irq_overflow_set(cpu, status & cpu->pmu->counters & ~others, regs);
	if (unlikely(status & topdown & (cpu->pmu->metrics | cpu->pmu->counters))) {
		x86_topdown_irq(cpu);
		n++;
	}
	if (unlikely(status & GLOBAL_STATUS_UNC_OVF))
		n++;

	return n + x86_irq_trace(status);
}

static u64 x86_irq_read_status(void)
{
	u64 status;

	rdmsrl(x86_pmu_regs.global_status, status);
	return status;
}

/* All bits are acknowledged: a counter that the interrupt stopped is off while its bit is set. */
static void x86_irq_ack_status(const struct x86_pmu_cpu *cpu, u64 status)
{
	if (x86_pmu_regs.ack_while_on)
		wrmsrl(x86_pmu_regs.global_ctrl, cpu->enabled);
	wrmsrl(x86_pmu_regs.global_ack, status);
	if (x86_pmu_regs.ack_while_on)
		wrmsrl(x86_pmu_regs.global_ctrl, 0);
}

/*
 * The bits of the status that mean a sample with branch records of the registers. Adaptive records
 * have branches themselves.
 */
static u64 x86_irq_lbr_status(const struct x86_pmu_cpu *cpu)
{
	if (!(cpu->lbr & cpu->precise))
		return cpu->lbr;
	if (cpu->pmu->precise_format >= INTEL_PEBS_ADAPTIVE)
		return cpu->lbr & ~cpu->precise;
	return cpu->lbr | GLOBAL_STATUS_BUFFER_OVF;
}

/* Counters that run while the status is cleared can overflow without another interrupt. */
static u64 x86_irq_take_status(struct x86_pmu_cpu *cpu)
{
	u64 status = x86_irq_read_status(), taken = 0;

	while (status) {
		if (unlikely(cpu->lbr && status & x86_irq_lbr_status(cpu)))
			x86_lbr_irq_log(cpu);
		x86_irq_ack_status(cpu, status);
		taken |= status;
		status = x86_pmu_regs.ack_while_on ? x86_irq_read_status() & ~taken : 0;
	}
	return taken;
}

/* More events than a transaction can have before it exceeds the caches or is interrupted. */
#define X86_TRANSACTION_EVENTS	BIT_ULL(20)

/*
 * The overflow of an in_tx_cp event aborts the transaction, and the abort takes counter and status
 * back to where it began (SDM 3B, "Performance Monitoring and Intel TSX"). The interrupt finds no
 * cause then, and each later transaction would overflow again. So the period of such an event that
 * is about to end has ended.
 */
static noinline int x86_irq_undone(struct x86_pmu_cpu *cpu, struct pt_regs *regs)
{
	u64 todo = cpu->sampling & cpu->irq_owned;
	int n = 0;

	for (; todo; todo &= todo - 1) {
		struct perf_event *event = cpu->event[__ffs64(todo)];

		if (!(event->hw.flags & X86_EVENT_CHECKPOINTED))
			continue;
		x86_event_update(event);
		if (local64_read(&event->hw.period_left) > (s64)X86_TRANSACTION_EVENTS)
			continue;
		local64_set(&event->hw.period_left, 0);
		x86_irq_sample(cpu, event, regs);
		n++;
	}
	return n;
}

/*
 * Counters are stopped, so all their causes are in the first status. Processor trace is not stopped
 * by GLOBAL_CTRL: its buffer can fill meanwhile, and that interrupt is lost while the LVT entry is
 * masked. The branch trace store has no bit in the status.
 */
static int x86_irq_handle_all(struct x86_pmu_cpu *cpu, struct pt_regs *regs)
{
	unsigned int rounds = 0;
	u64 status;
	int n = 0;

	do {
		status = x86_irq_take_status(cpu);
		if (!status)
			break;
		n += x86_irq_handle_status(cpu, status, regs);
	} while (unlikely(READ_ONCE(x86_exclusive_users)) && ++rounds < X86_IRQ_ROUNDS);
	if (unlikely(READ_ONCE(x86_exclusive_users)))
		n += intel_bts_irq();
	return n ?: x86_irq_undone(cpu, regs);
}

/* The counters of this CPU have no driver, but its traces have. */
static noinline int x86_irq_traces(void)
{
	u64 status;

	/* First: a trace that starts again can interrupt again at once. */
	if (x86_pmu_regs.ack_lvt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
	status = x86_irq_read_status() & GLOBAL_STATUS_TRACE_TOPAPMI;
	if (status)
		wrmsrl(x86_pmu_regs.global_ack, status);
	return x86_irq_trace(status) + intel_bts_irq();
}

/**
 * x86_irq_status - handle an overflow interrupt on a part with a status register
 * @regs: interrupted registers
 *
 * All counters are stopped before the status is read, so that one value has every overflow. An
 * overflow after the interrupt raises another one, which is usually lost while this one is being
 * handled; the cause is found here. If the other interrupt is delivered nevertheless, it has no
 * cause. Its delivery has masked the LVT entry of the local APIC, so the entry is unmasked in any
 * case.
 *
 * Context: NMI, or Xen's interrupt.
 * Return: number of causes found, those of traces if this CPU has no PMU; on Nehalem and Westmere 1
 *	for an interrupt that can be a late one
 */
int x86_irq_status(struct pt_regs *regs)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	int n;

	if (unlikely(!cpu->pmu))
		return x86_irq_traces();

	cpu->halted = true;
	if (unlikely(cpu->lbr))
		x86_lbr_irq_begin(cpu);
	wrmsrl(x86_pmu_regs.global_ctrl, 0);
	n = x86_irq_handle_all(cpu, regs);
	if (x86_pmu_regs.ack_lvt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
	if (unlikely(cpu->lbr))
		x86_lbr_irq_end(cpu);
	else
		cpu->branches_frozen = true;
	cpu->halted = false;
	cpu->global_ctrl = cpu->enabled;
	wrmsrl(x86_pmu_regs.global_ctrl, cpu->enabled);
	return x86_irq_account(cpu, n);
}

/* Counters start below zero: a counter with a clear sign bit has overflowed. */
static u64 x86_irq_find_overflows(const struct x86_pmu_cpu *cpu)
{
	u64 todo = (cpu->irq_owned | cpu->enabled) & cpu->pmu->counters & ~cpu->merged, over = 0;
	u64 sign = BIT_ULL(cpu->pmu->width - 1);

	for (; todo; todo &= todo - 1)
		if (!(x86_counter_read(cpu, __ffs64(todo)) & sign))
			over |= todo & -todo;
	return over;
}

/**
 * x86_irq_scan - handle an overflow interrupt on a part without a status register
 * @regs: interrupted registers
 *
 * Counters continue to run. An overflow before the LVT entry is unmasked is handled here. A later
 * one raises another interrupt, which can find that the overflow has been handled already.
 *
 * Context: NMI, or Xen's interrupt.
 * Return: number of counters that had overflowed; 1 for an interrupt that can be a late one
 */
int x86_irq_scan(struct pt_regs *regs)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	u64 over;
	int n;

	if (unlikely(cpu->lbr))
		x86_lbr_irq_begin(cpu);
	if (x86_pmu_regs.ack_lvt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
	over = cpu->pmu ? x86_irq_find_overflows(cpu) : 0;
	if (x86_pmu_regs.netburst)
		x86_select_ack(cpu, over);
	n = x86_irq_overflow_set(cpu, over, regs);
	if (unlikely(cpu->lbr))
		x86_lbr_irq_end(cpu);
	return x86_irq_account(cpu, n);
}

/*
 * There are no events, but the last one can have caused this interrupt before it was removed. If
 * the local APIC masked its LVT entry for that, it must be unmasked for later events.
 */
static int x86_irq_without_users(void)
{
	if (x86_pmu_regs.ack_lvt && apic_read(APIC_LVTPC) & APIC_LVT_MASKED) {
		apic_write(APIC_LVTPC, APIC_DM_NMI);
		return NMI_HANDLED;
	}
	return x86_irq_expects_late(this_cpu_ptr(&x86_pmu_cpu));
}

/* sched_clock() would be read twice, which costs several times as much. */
static u64 x86_irq_ns(u64 cycles)
{
	struct cyc2ns_data data __uninitialized;
	u64 ns;

	cyc2ns_read_begin(&data);
	ns = mul_u64_u32_shr(cycles, data.cyc2ns_mul, data.cyc2ns_shift);
	cyc2ns_read_end();
	return ns;
}

/**
 * x86_pmi - NMI handler of the performance monitoring interrupt
 * @cmd: unused
 * @regs: interrupted registers
 *
 * Context: NMI.
 * Return: as x86_pmu_hooks::handle_irq; NMI_DONE if the interrupt is not of this PMU
 */
int x86_pmi(unsigned int cmd, struct pt_regs *regs)
{
	u64 start;
	int ret;

	if (!atomic_read(&x86_irq_users))
		return x86_irq_without_users();

	start = rdtsc();
	ret = x86_pmu.handle_irq(regs);
	perf_sample_event_took(x86_irq_ns(rdtsc() - start));
	return ret;
}

NOKPROBE_SYMBOL(x86_pmi);
