// SPDX-License-Identifier: GPL-2.0
/*
 * Counter 3 of Skylake to Coffee Lake. Microcode uses it for transactions, unless a register makes
 * them all abort. The register is set while an event has the counter. The file
 * allow_tsx_force_abort of the PMU states whether an event may have it.
 *
 * Manual: white paper 604224, "Performance Monitoring Impact of Intel Transactional Synchronization
 * Extension Memory Ordering Issue".
 *
 * Locks: intel_tfa_lock protects the setting, and is held while schedules are compiled again.
 */
#include <linux/kstrtox.h>
#include <linux/mutex.h>

#include "../pmu.h"

static bool intel_tfa_allowed = true;
static DEFINE_MUTEX(intel_tfa_lock);

/**
 * intel_tfa_may_abort - may transactions abort for the sake of an event?
 *
 * Context: any.
 * Return: false if events have to do without x86_pmu::rtm_counters
 */
bool intel_tfa_may_abort(void)
{
	return READ_ONCE(intel_tfa_allowed);
}

/**
 * intel_tfa_force_abort - take the counter from microcode, or return the counter
 * @on: transactions abort
 *
 * Context: interrupts disabled on the CPU of the counter.
 */
void intel_tfa_force_abort(bool on)
{
	lockdep_assert_irqs_disabled();
	if (on)
		msr_set_bit(MSR_TSX_FORCE_ABORT, MSR_TFA_RTM_FORCE_ABORT_BIT);
	else
		msr_clear_bit(MSR_TSX_FORCE_ABORT, MSR_TFA_RTM_FORCE_ABORT_BIT);
}

static ssize_t allow_tsx_force_abort_show(struct device *dev, struct device_attribute *attr,
					  char *page)
{
	return sysfs_emit(page, "%d\n", intel_tfa_allowed);
}

static ssize_t allow_tsx_force_abort_store(struct device *dev, struct device_attribute *attr,
					   const char *text, size_t count)
{
	bool val;
	int ret = kstrtobool(text, &val);

	if (ret)
		return ret;

	guard(mutex)(&intel_tfa_lock);
	if (intel_tfa_allowed == val)
		return count;
	WRITE_ONCE(intel_tfa_allowed, val);
	perf_pmu_resched(&x86_pmus[0].pmu);
	return count;
}
static DEVICE_ATTR_RW(allow_tsx_force_abort);

static struct attribute *intel_tfa_attrs[] = {
	&dev_attr_allow_tsx_force_abort.attr,
	NULL,
};

static umode_t intel_tfa_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	return x86_pmus[0].rtm_counters ? attr->mode : 0;
}

const struct attribute_group intel_tfa_group = {
	.attrs		= intel_tfa_attrs,
	.is_visible	= intel_tfa_visible,
};
