// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: counters that KVM switches at guest entry and exit.
 *
 * Everything here runs on the CPU concerned with interrupts off, between pmuv3_mask_nmi() and
 * pmuv3_unmask_nmi().
 */
#include <linux/bitops.h>
#include <linux/kvm_host.h>

#include "pmuv3.h"

/**
 * __pmuv3_kvm_update - have KVM switch the counters of an event, or no longer
 * @c: state of this CPU
 * @counters: mask of the event's counters
 * @event: event that is being loaded; PMUV3_KVM in hw.config_base: KVM is to switch the counters
 *
 * For host-only and guest-only events KVM changes the EL0 filter (VHE) or the enable bit (nVHE) of
 * the counters at guest entry and undoes the change at guest exit. A counter that runs on without
 * an event remains in pmuv3_cpu::kvm, so that its registers have the values in @c again when the
 * guest exits.
 *
 * Context: interrupts off; called by pmuv3_kvm_update().
 */
void __pmuv3_kvm_update(struct pmuv3_cpu *c, u64 counters, struct perf_event *event)
{
	pmuv3_registers_change(c);
	if (c->kvm & counters)
		kvm_clr_pmu_events(counters);
	c->kvm &= ~counters;
	if (!(event->hw.config_base & PMUV3_KVM))
		return;

	c->kvm |= counters;
	kvm_set_pmu_events(counters, &event->attr);
	kvm_vcpu_pmu_resync_el0();
}

/**
 * __pmuv3_kvm_release - have KVM no longer switch counters
 * @c: state of this CPU
 * @counters: mask of counters, switched by KVM or not
 *
 * Called for counters that are being disabled, which KVM must not enable again. KVM may have
 * changed the type of the counters: pmuv3_cpu::type becomes PMUV3_TYPE_UNKNOWN.
 *
 * Context: interrupts off; called by pmuv3_kvm_release().
 */
void __pmuv3_kvm_release(struct pmuv3_cpu *c, u64 counters)
{
	unsigned long switched = c->kvm & counters;
	unsigned int idx;

	pmuv3_registers_change(c);
	kvm_clr_pmu_events(switched);
	c->kvm &= ~switched;
	for_each_set_bit(idx, &switched, ARMPMU_MAX_HWEVENTS)
		c->type[idx] = PMUV3_TYPE_UNKNOWN;
}
