// SPDX-License-Identifier: GPL-2.0
/*
 * Option to stop counters in system management mode, for "perf stat --smi-cost". They stop by
 * default: firmware that runs there at CPL 3 would be counted as user mode.
 *
 * Manual: SDM 3B, "IA32_DEBUGCTL", bit FREEZE_WHILE_SMM; with version 2.
 *
 * Locks: intel_smi_lock protects the setting, and is held while it is applied to all CPUs.
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#include "../pmu.h"

static bool intel_smi_freeze = true;
static DEFINE_MUTEX(intel_smi_lock);

/* Applies the setting to this CPU. */
static void intel_smi_apply(void *unused)
{
	if (intel_smi_freeze)
		msr_set_bit(MSR_IA32_DEBUGCTLMSR, DEBUGCTLMSR_FREEZE_IN_SMM_BIT);
	else
		msr_clear_bit(MSR_IA32_DEBUGCTLMSR, DEBUGCTLMSR_FREEZE_IN_SMM_BIT);
}

static bool intel_smi_supported(void)
{
	return x86_nr_pmus && x86_pmus[0].version >= 2 &&
	       boot_cpu_data.x86_vendor == X86_VENDOR_INTEL;
}

/**
 * intel_smi_cpu_starting - apply the setting to a CPU that starts or resumes
 *
 * Firmware can have changed the register.
 *
 * Context: interrupts disabled.
 */
void intel_smi_cpu_starting(void)
{
	if (intel_smi_supported())
		intel_smi_apply(NULL);
}

static ssize_t freeze_on_smi_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%d\n", intel_smi_freeze);
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

	guard(mutex)(&intel_smi_lock);
	if (intel_smi_freeze == val)
		return count;
	intel_smi_freeze = val;
	cpus_read_lock();
	on_each_cpu(intel_smi_apply, NULL, 1);
	cpus_read_unlock();
	return count;
}
static DEVICE_ATTR_RW(freeze_on_smi);

static struct attribute *intel_smi_attrs[] = {
	&dev_attr_freeze_on_smi.attr,
	NULL,
};

static umode_t intel_smi_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	return intel_smi_supported() ? attr->mode : 0;
}

const struct attribute_group intel_smi_group = {
	.attrs		= intel_smi_attrs,
	.is_visible	= intel_smi_visible,
};
