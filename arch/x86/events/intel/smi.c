// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that stand still in system management mode, if the user wants that ("perf stat
 * --smi-cost" does).
 *
 * Manual: SDM 3B, "IA32_DEBUGCTL", bit FREEZE_WHILE_SMM; with version 2.
 *
 * Locks: @lock over the setting and its cross-calls.
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#include "../pmu.h"

static bool freeze;
static DEFINE_MUTEX(lock);

/* Bring this CPU's register in line with the setting. */
static void apply(void *unused)
{
	if (freeze)
		msr_set_bit(MSR_IA32_DEBUGCTLMSR, DEBUGCTLMSR_FREEZE_IN_SMM_BIT);
	else
		msr_clear_bit(MSR_IA32_DEBUGCTLMSR, DEBUGCTLMSR_FREEZE_IN_SMM_BIT);
}

static bool can_freeze(void)
{
	return x86_nr_cores && x86_cores[0].version >= 2 &&
	       boot_cpu_data.x86_vendor == X86_VENDOR_INTEL;
}

/* A CPU comes up: firmware may have left anything there. */
void intel_smi_cpu_starting(void)
{
	if (can_freeze())
		apply(NULL);
}

static ssize_t freeze_on_smi_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%d\n", freeze);
}

static ssize_t freeze_on_smi_store(struct device *dev, struct device_attribute *attr,
				   const char *text, size_t count)
{
	unsigned long val;
	int ret = kstrtoul(text, 0, &val);

	if (ret)
		return ret;
	if (val > 1)
		return -EINVAL;

	guard(mutex)(&lock);
	if (freeze == val)
		return count;
	freeze = val;
	cpus_read_lock();
	on_each_cpu(apply, NULL, 1);
	cpus_read_unlock();
	return count;
}
static DEVICE_ATTR_RW(freeze_on_smi);

static struct attribute *smi_attrs[] = {
	&dev_attr_freeze_on_smi.attr,
	NULL,
};

static umode_t smi_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	return can_freeze() ? attr->mode : 0;
}

const struct attribute_group intel_smi_group = {
	.attrs		= smi_attrs,
	.is_visible	= smi_visible,
};
