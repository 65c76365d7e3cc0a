// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that overflow.
 *
 * Context: NMI (or Xen's interrupt). Only armed counters' events are touched; a counter that runs
 * on for nobody is wound back; one that is just being programmed is left to whoever does that.
 *
 * Every interrupt is claimed for which a counter had overflowed, whether it still had an event or
 * not. Parts that keep no status (and AMD's, whose interrupts may be on their way while the
 * handler of an earlier one sees to their counter) get some grace for interrupts without cause.
 */
#include <linux/hardirq.h>
#include <linux/kprobes.h>
#include <linux/sched/clock.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "pmu.h"

static void sample(struct x86_cpu *cpu, struct perf_event *event, struct pt_regs *regs)
{
	struct perf_sample_data data;
	u64 period = event->hw.last_period;
	bool over = x86_period_next(event);

	x86_event_program(cpu, event);
	x86_event_moved(event);
	if (!over)
		return;
	/* The sample is of the period that has ended. */
	perf_sample_data_init(&data, 0, period);
	if (perf_event_overflow(event, &data, regs))
		x86_event_stop(event, 0);
}

static void overflowed(struct x86_cpu *cpu, unsigned int idx, struct pt_regs *regs)
{
	struct perf_event *event = cpu->event[idx];

	if (!(cpu->loaded & BIT_ULL(idx))) {
		x86_counter_write(cpu, idx, x86_rest_value(cpu->core));
		return;
	}
	if (!(cpu->armed & BIT_ULL(idx))) {
		this_cpu_or(x86_cpu.missed, BIT_ULL(idx));
		return;
	}

	x86_event_update(event);
	if (event->hw.flags & X86_EVENT_SAMPLING) {
		sample(cpu, event, regs);
	} else {
		x86_event_rewind(cpu, event);
		x86_event_moved(event);
	}
}

static int overflows(struct x86_cpu *cpu, u64 counters, struct pt_regs *regs)
{
	int n = hweight64(counters);

	for (; counters; counters &= counters - 1)
		overflowed(cpu, __ffs64(counters), regs);
	return n;
}

/* An interrupt without cause: late, or somebody else's? */
static int stray(struct x86_cpu *cpu)
{
	return (x86_hw.late_nmi || x86_hw.prepare) && time_before(jiffies, cpu->nmi_grace);
}

static int handled(struct x86_cpu *cpu, int n)
{
	if (!n)
		return stray(cpu);
	cpu->nmi_grace = jiffies + HZ;
	inc_irq_stat(apic_perf_irqs);
	return n;
}

/* One reading of the status register. */
static int handle_status(struct x86_cpu *cpu, u64 status, struct pt_regs *regs)
{
	int n = overflows(cpu, status & cpu->core->counters, regs);

	if (status & GLOBAL_STATUS_TRACE_TOPAPMI && !x86_hw.late_nmi) {
		if (!perf_guest_handle_intel_pt_intr())
			intel_pt_interrupt();
		n++;
	}
	return n;
}

static u64 read_status(const struct x86_cpu *cpu)
{
	u64 status;

	rdmsrl(x86_hw.global_status, status);
	return status & (cpu->core->counters | GLOBAL_STATUS_TRACE_TOPAPMI);
}

static void ack_status(const struct x86_cpu *cpu, u64 status)
{
	if (x86_hw.ack_while_on)
		wrmsrl(x86_hw.global_ctrl, cpu->on);
	wrmsrl(x86_hw.global_ack, status);
	if (x86_hw.ack_while_on)
		wrmsrl(x86_hw.global_ctrl, 0);
}

/* Those that are on for the acknowledgement may overflow meanwhile, and interrupt no more for that. */
static u64 take_status(const struct x86_cpu *cpu)
{
	u64 status = read_status(cpu), taken = 0;

	while (status) {
		ack_status(cpu, status);
		taken |= status;
		status = x86_hw.ack_while_on ? read_status(cpu) & ~taken : 0;
	}
	return taken;
}

/**
 * x86_irq_status - handle an interrupt on a part with a status register
 * @regs: interrupted registers
 *
 * All counters stand still from before the status is read, so one reading has every overflow. One
 * that came after the interrupt has had its own swallowed: its cause is among those found here. If
 * it is delivered nevertheless, and masks the local APIC's entry, there is no cause left, but the
 * entry must be opened all the same.
 *
 * Return: how many causes were found.
 */
int x86_irq_status(struct pt_regs *regs)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	u64 status;
	int n = 0;

	if (!cpu->core)
		return 0;

	cpu->halted = true;
	wrmsrl(x86_hw.global_ctrl, 0);
	status = take_status(cpu);
	if (status)
		n = handle_status(cpu, status, regs);
	if (x86_hw.ack_lvt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
	cpu->halted = false;
	cpu->global = cpu->on;
	wrmsrl(x86_hw.global_ctrl, cpu->on);
	return handled(cpu, n);
}

/* Counters run up from below zero: those at zero or above have overflowed. */
static u64 scan(const struct x86_cpu *cpu)
{
	u64 todo = (cpu->armed | cpu->on) & cpu->core->counters, over = 0;
	u64 sign = BIT_ULL(cpu->core->width - 1);

	for (; todo; todo &= todo - 1)
		if (!(x86_counter_read(cpu, __ffs64(todo)) & sign))
			over |= todo & -todo;
	return over;
}

/**
 * x86_irq_scan - handle an interrupt on a part without one
 * @regs: interrupted registers
 *
 * Counters go on meanwhile. One that overflows before the local APIC's entry is open again is seen
 * to here; one that does so later interrupts once more, if only to find that it has been seen to.
 *
 * Return: how many counters had overflowed.
 */
int x86_irq_scan(struct pt_regs *regs)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	u64 over;

	if (x86_hw.ack_lvt)
		apic_write(APIC_LVTPC, APIC_DM_NMI);
	over = cpu->core ? scan(cpu) : 0;
	if (x86_hw.netburst)
		x86_select_ack(cpu, over);
	return handled(cpu, overflows(cpu, over, regs));
}

/*
 * Nobody counts, but the last event may have sent this when it went. Where the local APIC masks its
 * entry it has done so then, and it would remain so for the events to come.
 */
static int handle_leftover(void)
{
	if (x86_hw.ack_lvt && apic_read(APIC_LVTPC) & APIC_LVT_MASKED) {
		apic_write(APIC_LVTPC, APIC_DM_NMI);
		return NMI_HANDLED;
	}
	return stray(this_cpu_ptr(&x86_cpu));
}

/**
 * x86_pmi - the NMI handler
 * @cmd: unused
 * @regs: interrupted registers
 *
 * Return: how many causes were found; NMI_DONE if this was not ours.
 */
int x86_pmi(unsigned int cmd, struct pt_regs *regs)
{
	u64 start;
	int ret;

	if (!atomic_read(&x86_irq_users))
		return handle_leftover();

	start = sched_clock();
	ret = x86_pmu.handle_irq(regs);
	perf_sample_event_took(sched_clock() - start);
	return ret;
}
NOKPROBE_SYMBOL(x86_pmi);
