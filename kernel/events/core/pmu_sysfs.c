// SPDX-License-Identifier: GPL-2.0
/*
 * PMUs in sysfs: /sys/bus/event_source/devices/.
 *
 * Locks: perf_pmus_lock for the devices of PMUs, mux_interval_lock for a PMU's interval.
 */
#include <linux/device.h>
#include <linux/slab.h>

#include "core.h"

bool perf_pmu_bus_running;

static struct pmu *dev_to_pmu(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static ssize_t type_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%d\n", dev_to_pmu(dev)->type);
}
static DEVICE_ATTR_RO(type);

static ssize_t nr_addr_filters_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u\n", dev_to_pmu(dev)->nr_addr_filters);
}
static DEVICE_ATTR_RO(nr_addr_filters);

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct cpumask *mask = perf_scope_designated(dev_to_pmu(dev)->scope);

	return mask ? cpumap_print_to_pagebuf(true, page, mask) : 0;
}
static DEVICE_ATTR_RO(cpumask);

/* Returns the interval in ms, or a negative errno. */
static int pmu_parse_interval_ms(const char *text)
{
	int ms, err;

	err = kstrtoint(text, 0, &ms);
	if (err)
		return err;
	if (ms <= 0)
		return perf_refuse(-EINVAL, "perf_event_mux_interval_ms: %lld is less than 1", ms);
	return ms;
}

/*
 * Not perf_pmus_lock: perf_pmu_unregister() holds that while it waits for writers of this file to
 * finish. The PMU's CPU state is freed after that.
 */
static DEFINE_MUTEX(mux_interval_lock);

static ssize_t perf_event_mux_interval_ms_store(struct device *d, struct device_attribute *a,
						const char *text, size_t length)
{
	int ms = pmu_parse_interval_ms(text);
	struct pmu *pmu = dev_to_pmu(d);

	if (ms < 0)
		return ms;
	guard(mutex)(&mux_interval_lock);
	pmu->hrtimer_interval_ms = ms;
	perf_pmu_interval_changed(pmu);
	return length;
}

static ssize_t perf_event_mux_interval_ms_show(struct device *d, struct device_attribute *a,
					       char *page)
{
	return sysfs_emit(page, "%d\n", dev_to_pmu(d)->hrtimer_interval_ms);
}
static DEVICE_ATTR_RW(perf_event_mux_interval_ms);

static struct attribute *pmu_dev_attrs[] = {
	&dev_attr_cpumask.attr,
	&dev_attr_nr_addr_filters.attr,
	&dev_attr_perf_event_mux_interval_ms.attr,
	&dev_attr_type.attr,
	NULL,
};

static umode_t pmu_dev_is_visible(struct kobject *kobj, struct attribute *a, int n)
{
	struct pmu *pmu = dev_to_pmu(kobj_to_dev(kobj));

	if (a == &dev_attr_cpumask.attr && pmu->scope == PERF_PMU_SCOPE_NONE)
		return 0;
	if (a == &dev_attr_nr_addr_filters.attr && !pmu->nr_addr_filters)
		return 0;
	return a->mode;
}

static const struct attribute_group pmu_dev_group = {
	.attrs		= pmu_dev_attrs,
	.is_visible	= pmu_dev_is_visible,
};

static const struct attribute_group *pmu_dev_groups[] = {
	&pmu_dev_group,
	NULL,
};

static const struct bus_type pmu_bus = {
	.name		= "event_source",
	.dev_groups	= pmu_dev_groups,
};

static void pmu_dev_release(struct device *dev)
{
	kfree(dev);
}

/**
 * perf_pmu_dev_alloc - create a PMU's directory in sysfs
 * @pmu: the PMU; pmu->dev is set on success
 *
 * Context: may sleep; perf_pmus_lock
 * Return: 0 or a negative errno
 */
int perf_pmu_dev_alloc(struct pmu *pmu)
{
	struct device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int ret;

	if (!dev)
		return -ENOMEM;

	device_initialize(dev);
	dev->release = pmu_dev_release;
	dev->groups = pmu->attr_groups;
	dev->bus = &pmu_bus;
	dev->parent = pmu->parent;
	dev_set_drvdata(dev, pmu);
	pmu->dev = dev;

	ret = dev_set_name(dev, "%s", pmu->name);
	if (ret)
		goto err_put;
	ret = device_add(dev);
	if (ret)
		goto err_put;
	if (pmu->attr_update) {
		ret = sysfs_update_groups(&dev->kobj, pmu->attr_update);
		if (ret)
			goto err_del;
	}
	return 0;

err_del:
	device_del(dev);
err_put:
	pmu->dev = NULL;
	put_device(dev);
	return ret;
}

/**
 * perf_pmu_dev_free - remove a PMU's directory from sysfs
 * @pmu: the PMU, which has one
 *
 * Context: may sleep; perf_pmus_lock
 */
void perf_pmu_dev_free(struct pmu *pmu)
{
	device_unregister(pmu->dev);
	pmu->dev = NULL;
}

ssize_t perf_event_sysfs_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct perf_pmu_events_attr *e = container_of(attr, struct perf_pmu_events_attr, attr);

	return e->event_str ? sysfs_emit(page, "%s\n", e->event_str) : 0;
}
EXPORT_SYMBOL_GPL(perf_event_sysfs_show);

/* PMUs that were registered before sysfs was available get their directories now. */
static int __init perf_event_sysfs_init(void)
{
	struct pmu *pmu;
	int ret;

	guard(mutex)(&perf_pmus_lock);

	ret = bus_register(&pmu_bus);
	if (ret)
		return ret;
	list_for_each_entry(pmu, &perf_pmus, entry) {
		if (pmu->dev)
			continue;
		ret = perf_pmu_dev_alloc(pmu);
		WARN(ret, "perf: PMU %s has no directory in sysfs: %d\n", pmu->name, ret);
	}
	perf_pmu_bus_running = true;
	return 0;
}
device_initcall(perf_event_sysfs_init);
