/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What files that are not of this driver include: the base's uncore, rapl, cstate, PT, IOMMU and
 * power drivers, Xen and resctrl. The CPU driver's own header is pmu.h.
 */
#ifndef _ARCH_X86_EVENTS_PERF_EVENT_H
#define _ARCH_X86_EVENTS_PERF_EVENT_H

#include <linux/perf_event.h>
#include <asm/cpu.h>
#include <asm/fpu/xstate.h>
#include <asm/intel_ds.h>

#include "exclusive.h"

/* An event select register by its fields; AMD's has four more bits of select, and guest and host. */
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
 * struct x86_pmu - entries of the CPU driver that others call
 * @handle_irq: handle an overflow interrupt; answers how many counters had overflowed
 */
struct x86_pmu {
	int (*handle_irq)(struct pt_regs *regs);
};

extern struct x86_pmu x86_pmu;

/* ----------------------------------------------- counters of a PMU and who may use which */

/**
 * struct event_constraint - events that only some counters can count
 * @idxmsk: the counters, as a bitmap
 * @idxmsk64: the same as a number
 * @code: the events are those whose select, under @cmask, is this
 * @cmask: bits compared
 * @weight: number of counters; -1 ends a list
 * @overlap: unused: the solver finds an assignment if there is one
 * @flags: the driver's
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

/* hw_perf_event_extra::idx of an event that needs no extra register */
#define EXTRA_REG_NONE	(-1)

/**
 * struct extra_reg - an uncore event that needs a register beside its control register
 * @event: such an event's configuration ...
 * @config_mask: ... under these bits
 * @valid_mask: bits of the register that exist
 * @msr: the register
 * @idx: which; EXTRA_REG_*
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

/* The attribute of an event's file. */
#define EVENT_PTR(_id)	(&event_attr_##_id.attr.attr)

ssize_t events_sysfs_show(struct device *dev, struct device_attribute *attr, char *page);
ssize_t events_hybrid_sysfs_show(struct device *dev, struct device_attribute *attr, char *page);

/* An event's file whose text is given. */
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
