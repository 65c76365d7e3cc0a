/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters described as a list of MSRs, by the drivers msr, rapl and cstate. perf_msr_probe()
 * determines which of the MSRs exist and have files in sysfs.
 */
#ifndef _ARCH_X86_EVENTS_PROBE_H
#define _ARCH_X86_EVENTS_PROBE_H

#include <linux/sysfs.h>

/**
 * struct perf_msr - a counter that is an MSR
 * @msr: MSR number; 0: none
 * @grp: files in sysfs, hidden if the MSR does not exist; may be NULL
 * @test: returns whether this model has the MSR; NULL: yes
 * @no_check: do not read the MSR to find out
 * @mask: bits of the value to look at; 0: all
 *
 * The drivers' initialisers rely on the order of the members.
 */
struct perf_msr {
	u64			msr;
	struct attribute_group	*grp;
	bool			(*test)(int idx, void *data);
	bool			no_check;
	u64			mask;
};

unsigned long perf_msr_probe(struct perf_msr *msr, int cnt, bool zero, void *data);

#define PMU_EVENT_GROUP(_dir, _name)				\
static struct attribute *attrs_##_name[] = {			\
	&attr_##_name.attr.attr,				\
	NULL,							\
};								\
static struct attribute_group group_##_name = {			\
	.name	= #_dir,					\
	.attrs	= attrs_##_name,				\
}

#endif /* _ARCH_X86_EVENTS_PROBE_H */
