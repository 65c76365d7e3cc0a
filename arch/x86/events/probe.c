// SPDX-License-Identifier: GPL-2.0
/*
 * Which of a list of counter MSRs does this machine have? Used by drivers that are modules.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <asm/msr.h>

#include "probe.h"

static umode_t hidden(struct kobject *kobj, struct attribute *attr, int i)
{
	return 0;
}

/* A MSR that is always 0 counts nothing, unless the driver said @zero is fine. */
static bool present(const struct perf_msr *m, int idx, bool zero, void *data)
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
 * perf_msr_probe - find the MSRs that can be counted with, and hide the files of the others
 * @msr: the list
 * @cnt: its length, at most BITS_PER_LONG
 * @zero: a MSR that reads 0 counts as present
 * @data: for perf_msr::test
 *
 * Return: a bit for each that is there.
 */
unsigned long perf_msr_probe(struct perf_msr *msr, int cnt, bool zero, void *data)
{
	unsigned long found = 0;
	int i;

	if (WARN_ON_ONCE(cnt > BITS_PER_LONG))
		return 0;

	for (i = 0; i < cnt; i++) {
		if (present(&msr[i], i, zero, data))
			found |= BIT(i);
		else if (msr[i].grp)
			msr[i].grp->is_visible = hidden;
	}
	return found;
}
EXPORT_SYMBOL_GPL(perf_msr_probe);
