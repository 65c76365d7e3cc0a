// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupt of instruction based sampling: an entry of the extended local vector table.
 *
 * The firmware has chosen the entry, which IBSCTL names. Manual: APM volume 2, 13.3.
 */
#include <asm/apic.h>
#include <asm/msr.h>

#include "ibs.h"

#define IBSCTL_OFFSET	GENMASK_ULL(3, 0)
#define IBSCTL_VALID	BIT_ULL(8)

/* Negative: the firmware has left none. */
static int amd_ibs_apic_offset(void)
{
	u64 ctl;

	if (rdmsrl_safe(MSR_AMD64_IBSCTL, &ctl) || !(ctl & IBSCTL_VALID))
		return -ENODEV;
	return ctl & IBSCTL_OFFSET;
}

/**
 * amd_ibs_apic_setup - deliver the interrupts of this CPU as NMI
 *
 * Context: interrupts disabled.
 * Return: 0, -ENODEV, -EBUSY if another driver uses the entry
 */
int amd_ibs_apic_setup(void)
{
	int offset = amd_ibs_apic_offset();

	if (offset < 0)
		return offset;
	return setup_APIC_eilvt(offset, 0, APIC_EILVT_MSG_NMI, 0) ? -EBUSY : 0;
}

/**
 * amd_ibs_apic_clear - mask the interrupts of this CPU
 *
 * Context: interrupts disabled.
 */
void amd_ibs_apic_clear(void)
{
	int offset = amd_ibs_apic_offset();

	if (offset >= 0)
		setup_APIC_eilvt(offset, 0, APIC_EILVT_MSG_FIX, 1);
}
