// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: overflow interrupt. Context: interrupt or NMI, on the CPU concerned.
 */
#include <linux/bitops.h>

#include <asm/irq_regs.h>

#include "pmuv3_regs.h"

static void pmuv3_overflow(struct perf_event *event, unsigned int idx, struct pt_regs *regs)
{
	struct hw_perf_event *hw = &event->hw;
	struct perf_sample_data data __uninitialized;
	u64 period = hw->last_period;
	u64 now = pmuv3_read_counter(event, idx);
	bool began;

	pmuv3_count_update(event, idx, now);
	if (!(hw->flags & PMUV3_EVT_SAMPLES)) {
		pmuv3_count_start(event, idx, now);
		pmuv3_update_user_page(event);
		return;
	}

	pmuv3_reload_counter(event, idx, armpmu_period_left(event, &began));
	pmuv3_update_user_page(event);
	if (!began)
		return;

	perf_sample_data_init(&data, 0, period);
	if (perf_event_overflow(event, &data, regs))
		pmuv3_stop(event, 0);
}

/* Counters that interrupt but have no event. The lower counter of a pair does not interrupt. */
static noinline void pmuv3_stop_strays(struct pmuv3_cpu *c, u64 counters)
{
	pmuv3_kvm_release(c, counters);
	pmuv3_disable_counters(c, counters);
	pmuv3_set_interrupts(c, counters, 0);
	pmuv3_disable_unused(c);
}

/**
 * pmuv3_handle_irq - arm_pmu::handle_irq
 * @armpmu: PMU of this CPU
 *
 * The counters are stopped meanwhile, so that no counter counts the handler. An overflow flag of a
 * counter without an event is from an event that has been unloaded: the flag is cleared, and the
 * counter is stopped, so that the counter interrupts once only.
 *
 * Context: interrupt or NMI.
 * Return: IRQ_HANDLED; IRQ_NONE if no counter of this CPU has overflowed.
 */
irqreturn_t pmuv3_handle_irq(struct arm_pmu *armpmu)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long flags = read_pmovsclr() & c->present;
	struct pt_regs *regs = get_irq_regs();
	unsigned int idx;

	if (!flags)
		return IRQ_NONE;

	if (c->pmcr_e)
		write_pmcr(c->pmcr);
	write_pmovsclr(flags);
	isb();

	flags &= c->interrupts;
	if (unlikely(flags & ~c->used)) {
		pmuv3_stop_strays(c, flags & ~c->used);
		flags &= c->used;
	}
	for_each_set_bit(idx, &flags, ARMPMU_MAX_HWEVENTS) {
		if (!(c->event[idx]->hw.state & PERF_HES_STOPPED))
			pmuv3_overflow(c->event[idx], idx, regs);
	}

	if (c->pmcr_e) {
		isb();
		write_pmcr(c->pmcr | ARMV8_PMU_PMCR_E);
	}
	return IRQ_HANDLED;
}
