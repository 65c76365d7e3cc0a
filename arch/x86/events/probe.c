// SPDX-License-Identifier: GPL-2.0
/*
 * Finds out which of a list of counter MSRs this machine has, for drivers that can be modules.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <asm/msr.h>

#include "probe.h"

static umode_t perf_msr_hidden(struct kobject *kobj, struct attribute *attr, int i)
{
	return 0;
}

/* An MSR that reads 0 does not exist, unless the driver accepts that (@zero). */
static bool perf_msr_present(const struct perf_msr *m, int idx, bool zero, void *data)
{
	u64 val;

	if (m->test && !m->test(idx, data))
		return false;
	if (m->no_check)
		return true;
	if (!m->msr || rdmsrl_safe(m->msr, &val))
		return false;
	if (m->mask)
		val &= m->mask;
	return zero || val;
}

/**
 * perf_msr_probe - find the MSRs that exist, and hide the sysfs files of the others
 * @msr: array of descriptions
 * @cnt: length of @msr, at most BITS_PER_LONG
 * @zero: accept an MSR that reads 0
 * @data: argument for perf_msr::test
 *
 * Context: process.
 * Return: bitmap, bit n is set if MSR n exists
 */
unsigned long perf_msr_probe(struct perf_msr *msr, int cnt, bool zero, void *data)
{
	unsigned long found = 0;
	int i;

	if (WARN_ON_ONCE(cnt > BITS_PER_LONG))
		return 0;

	for (i = 0; i < cnt; i++) {
		if (perf_msr_present(&msr[i], i, zero, data))
			found |= BIT(i);
		else if (msr[i].grp)
			msr[i].grp->is_visible = perf_msr_hidden;
	}
	return found;
}
EXPORT_SYMBOL_GPL(perf_msr_probe);
