/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drivers of the base (msr, rapl, cstate) describe their counters as a list of MSRs; which of them
 * this machine has is found out here, and decides which files appear in sysfs.
 */
#ifndef _ARCH_X86_EVENTS_PROBE_H
#define _ARCH_X86_EVENTS_PROBE_H

#include <linux/sysfs.h>

/**
 * struct perf_msr - one counter that is a MSR
 * @msr: its number
 * @grp: the files that appear in sysfs if it is there; may be NULL
 * @test: does this model have it? NULL: yes
 * @no_check: do not try to read it
 * @mask: bits that count; 0 means all
 *
 * The order of the members is part of the interface: the drivers' tables rely on it.
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
