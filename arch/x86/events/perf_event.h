/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface of this folder for other drivers: uncore, rapl, cstate, PT, IOMMU, power, Xen and
 * resctrl. The CPU PMU driver's own header is pmu.h.
 */
#ifndef _ARCH_X86_EVENTS_PERF_EVENT_H
#define _ARCH_X86_EVENTS_PERF_EVENT_H

#include <linux/perf_event.h>
#include <asm/cpu.h>
#include <asm/fpu/xstate.h>
#include <asm/intel_ds.h>

#include "exclusive.h"

/* An event select register; event2, go (guest only) and ho (host only) exist on AMD. */
union x86_pmu_config {
	struct {
		u64	event		: 8,
			umask		: 8,
			usr		: 1,
			os		: 1,
			edge		: 1,
			pc		: 1,
			interrupt	: 1,
			__reserved1	: 1,
			en		: 1,
			inv		: 1,
			cmask		: 8,
			event2		: 4,
			__reserved2	: 4,
			go		: 1,
			ho		: 1;
	} bits;
	u64	value;
};

#define X86_CONFIG(args...)	((union x86_pmu_config){ .bits = { args } }).value

/**
 * struct x86_pmu_hooks - functions of the CPU PMU driver for other drivers
 * @handle_irq: handles an overflow interrupt in NMI or, on Xen, interrupt context; returns the
 *	number of causes found; 1 if an earlier interrupt may have handled the cause; 0 if the
 *	interrupt is not of this PMU
 */
struct x86_pmu_hooks {
	int (*handle_irq)(struct pt_regs *regs);
};

/* arch/x86/xen/pmu.c uses it by this name. It is no PMU: those are struct x86_pmu, in pmu.h. */
extern struct x86_pmu_hooks x86_pmu;

/* ----------------------------------------------------- events and their counters */

/**
 * struct event_constraint - events that only some counters can count
 * @idxmsk: set of counters as a bitmap
 * @idxmsk64: set of counters as a number
 * @code: the constraint applies to selections that equal this ...
 * @cmask: ... in these bits
 * @weight: number of counters in the set; -1 terminates a list
 * @overlap: unused: perf_assign_events() finds an assignment if there is one
 * @flags: for the driver that owns the list
 */
struct event_constraint {
	union {
		unsigned long	idxmsk[BITS_TO_LONGS(X86_PMC_IDX_MAX)];
		u64		idxmsk64;
	};
	u64	code;
	u64	cmask;
	int	weight;
	int	overlap;
	int	flags;
};

#define __EVENT_CONSTRAINT(_code, _counters, _cmask, _weight, _overlap, _flags)	\
{										\
	{ .idxmsk64 = (_counters) },						\
	.code		= (_code),						\
	.cmask		= (_cmask),						\
	.weight		= (_weight),						\
	.overlap	= (_overlap),						\
	.flags		= (_flags),						\
}

#define EVENT_CONSTRAINT(_code, _counters, _cmask)	\
	__EVENT_CONSTRAINT(_code, _counters, _cmask, HWEIGHT(_counters), 0, 0)
#define EVENT_CONSTRAINT_END	{ .weight = -1 }

#define for_each_event_constraint(_c, _list)	\
	for ((_c) = (_list); (_c)->weight != -1; (_c)++)

int perf_assign_events(struct event_constraint **constraints, int n, int wmin, int wmax,
		       int gpmax, int *assign);

/* hw_perf_event_extra::idx of an event without an extra register */
#define EXTRA_REG_NONE	(-1)

/**
 * struct extra_reg - uncore events that need a register beside the control register
 * @event: configurations that equal this ...
 * @config_mask: ... in these bits need the register
 * @valid_mask: bits that exist in the register
 * @msr: MSR number
 * @idx: EXTRA_REG_* of the driver; EXTRA_REG_NONE terminates a list
 */
struct extra_reg {
	u64		event;
	u64		config_mask;
	u64		valid_mask;
	unsigned int	msr;
	int		idx;
};

#define EVENT_EXTRA_REG(_event, _msr, _mask, _valid, _idx)	\
	{ (_event), (_mask), (_valid), (_msr), EXTRA_REG_##_idx }
#define EVENT_EXTRA_END	{ .idx = EXTRA_REG_NONE }

#define EVENT_PTR(_id)	(&event_attr_##_id.attr.attr)

ssize_t events_sysfs_show(struct device *dev, struct device_attribute *attr, char *page);
ssize_t events_hybrid_sysfs_show(struct device *dev, struct device_attribute *attr, char *page);

/* Defines the attribute of an event's file with a fixed text. */
#define EVENT_ATTR_STR(_name, _id, _text)					\
static struct perf_pmu_events_attr event_attr_##_id = {				\
	.attr		= __ATTR(_name, 0444, events_sysfs_show, NULL),		\
	.event_str	= (_text),						\
}

#ifdef CONFIG_CPU_SUP_INTEL
void intel_pt_interrupt(void);
#else
static inline void intel_pt_interrupt(void)	{ }
#endif

#endif /* _ARCH_X86_EVENTS_PERF_EVENT_H */
