// SPDX-License-Identifier: GPL-2.0
/*
 * Framework for CPU PMUs of the Arm architectures: the part that does not depend on registers.
 *
 * Event setup, sampling periods, pmu::add and del by the callbacks of struct arm_pmu, CPU hotplug,
 * power-down, registration. Uses the perf core's public header only.
 *
 * struct pmu_hw_events is per CPU and accessed by that CPU with interrupts off. The overflow
 * handler may interrupt such an access as an NMI: entries of pmu_hw_events::events[] are set and
 * cleared by single stores, and counts are updated by compare-and-exchange.
 */
#define pr_fmt(fmt) "arm_pmu: " fmt

#include <linux/bitmap.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/slab.h>

#include "arm_pmu_internal.h"

/* ---------------------------------------------------------------- event maps */

static int armpmu_map_hardware(const unsigned int (*map)[PERF_COUNT_HW_MAX], u64 config)
{
	if (config >= PERF_COUNT_HW_MAX)
		return perf_refuse(-EINVAL, "config: there is no hardware event %llu", config);
	if (!map || (*map)[config] == HW_OP_UNSUPPORTED)
		return -ENOENT;

	return (*map)[config];
}

static int armpmu_map_cache(const unsigned int (*map)[C(MAX)][C(OP_MAX)][C(RESULT_MAX)], u64 config)
{
	u8 cache = config, op = config >> 8, result = config >> 16;
	unsigned int id;

	if (cache >= C(MAX) || op >= C(OP_MAX) || result >= C(RESULT_MAX))
		return perf_refuse(-EINVAL, "config: there is no cache event %#llx", config);
	if (!map)
		return -ENOENT;

	id = (*map)[cache][op][result];
	return id == CACHE_OP_UNSUPPORTED ? -ENOENT : id;
}

/**
 * armpmu_map_event - number of the hardware event that an event's attr selects
 * @event: event that is being opened
 * @event_map: event numbers of PERF_TYPE_HARDWARE; may be NULL
 * @cache_map: event numbers of PERF_TYPE_HW_CACHE; may be NULL
 * @raw_event_mask: bits of attr::config that are the event number of a raw event
 *
 * Context: process context; may sleep.
 * Return: the event number; -ENOENT if the maps do not have the event, -EINVAL if attr::config is
 * not a valid event of attr::type.
 */
int armpmu_map_event(struct perf_event *event,
		     const unsigned int (*event_map)[PERF_COUNT_HW_MAX],
		     const unsigned int (*cache_map)[C(MAX)][C(OP_MAX)][C(RESULT_MAX)],
		     u32 raw_event_mask)
{
	u64 config = event->attr.config;

	if (event->attr.type == event->pmu->type)
		return config & raw_event_mask;

	switch (event->attr.type) {
	case PERF_TYPE_RAW:
		return config & raw_event_mask;
	case PERF_TYPE_HARDWARE:
		return armpmu_map_hardware(event_map, config);
	case PERF_TYPE_HW_CACHE:
		return armpmu_map_cache(cache_map, config);
	default:
		return -ENOENT;
	}
}

/* ------------------------------------------------------------ counts and periods */

/* Largest value of the event's counter. */
static u64 armpmu_counter_max(const struct perf_event *event)
{
	if (event->hw.flags & ARMPMU_EVT_64BIT)
		return U64_MAX;
	if (event->hw.flags & ARMPMU_EVT_63BIT)
		return GENMASK_ULL(62, 0);
	if (event->hw.flags & ARMPMU_EVT_47BIT)
		return GENMASK_ULL(46, 0);
	return U32_MAX;
}

/**
 * armpmu_period_left - occurrences until the next overflow; starts a new period if needed
 * @event: sampling event; perf_event::count and period_left are up to date
 * @began: set to true if the period was over and a new one began, else to false
 *
 * Occurrences beyond the end of the old period shorten the new one, so that samples do not drift,
 * unless the number of these exceeds a whole period.
 *
 * Context: any, also NMI; interrupts off.
 * Return: occurrences until the next overflow, at least 1.
 */
s64 armpmu_period_left(struct perf_event *event, bool *began)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left = local64_read(&hw->period_left);
	s64 period = hw->sample_period;

	*began = left <= 0;
	if (left > 0)
		return left;

	/* The period of an event that KVM opens for a guest's counter can exceed S64_MAX. */
	if (period <= 0)
		period = S64_MAX;

	left = left > -period ? left + period : period;
	local64_set(&hw->period_left, left);
	hw->last_period = hw->sample_period;
	return left;
}

/**
 * armpmu_period_resume - occurrences until the next overflow, for an event that is being started
 * @event: sampling event; perf_event::count and period_left are up to date
 *
 * If the period ended while the event was being stopped, the next occurrence overflows and takes
 * the sample that is due. A new period instead would lose that sample and double the interval.
 *
 * Context: any, also NMI; interrupts off.
 * Return: occurrences until the next overflow, at least 1.
 */
s64 armpmu_period_resume(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	bool overdue = hw->flags & ARMPMU_EVT_OVERDUE;
	bool began;

	hw->flags &= ~ARMPMU_EVT_OVERDUE;
	if (overdue && local64_read(&hw->period_left) <= 0)
		return 1;

	return armpmu_period_left(event, &began);
}

/*
 * Sets the counter to overflow after @left occurrences, at most half of its range: the difference
 * to prev_count stays unambiguous while the counter runs on for the other half before it is read.
 */
static void armpmu_write_period(struct perf_event *event, s64 left)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	u64 max = armpmu_counter_max(event);

	left = min_t(u64, left, max >> 1);
	local64_set(&event->hw.prev_count, -left);
	armpmu->write_counter(event, -left & max);
	perf_event_update_userpage(event);
}

/**
 * armpmu_event_set_period - set the counter of an event for the rest of the period
 * @event: event on a counter of this CPU; perf_event::count is up to date
 *
 * Context: any, also NMI; interrupts off.
 * Return: 1 if a new period began, so that an overflow is to be reported; 0 if the counter, being
 * narrower than the period, was only set again.
 */
int armpmu_event_set_period(struct perf_event *event)
{
	bool began;
	s64 left = armpmu_period_left(event, &began);

	armpmu_write_period(event, left);
	return began;
}

/**
 * armpmu_event_update - update the count of an event from the counter
 * @event: event on a counter of this CPU
 *
 * Context: any, also NMI; interrupts off.
 * Return: value of the event's counter.
 */
u64 armpmu_event_update(struct perf_event *event)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	struct hw_perf_event *hw = &event->hw;
	u64 delta, now;
	s64 before = local64_read(&hw->prev_count);

	do {
		now = armpmu->read_counter(event);
	} while (!local64_try_cmpxchg(&hw->prev_count, &before, now));

	delta = (now - before) & armpmu_counter_max(event);
	local64_add(delta, &event->count);
	local64_sub(delta, &hw->period_left);
	return now;
}

/* ----------------------------------------------------------- struct pmu callbacks */

static bool armpmu_on_this_cpu(struct arm_pmu *armpmu)
{
	return cpumask_test_cpu(smp_processor_id(), &armpmu->supported_cpus);
}

static void armpmu_read(struct perf_event *event)
{
	/* A stopped event is up to date; its counter may have lost its value in a power-down. */
	if (!(event->hw.state & PERF_HES_STOPPED))
		armpmu_event_update(event);
}

static void armpmu_stop(struct perf_event *event, int flags)
{
	const int stopped = PERF_HES_STOPPED | PERF_HES_UPTODATE;

	/* The count is updated without PERF_EF_UPDATE, too: the counter is not read later. */
	if (event->hw.state & PERF_HES_STOPPED)
		return;

	to_arm_pmu(event->pmu)->disable(event);
	event->hw.state = stopped;
	armpmu_event_update(event);
	armpmu_mark_overdue(&event->hw);
}

/*
 * The counter is set without PERF_EF_RELOAD, too: another event may have used it since the event
 * was stopped.
 */
static void armpmu_start(struct perf_event *event, int flags)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);

	event->hw.state = 0;
	armpmu_write_period(event, armpmu_period_resume(event));
	armpmu->enable(event);
}

static int armpmu_add(struct perf_event *event, int flags)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	struct hw_perf_event *hw = &event->hw;
	int idx;

	if (!armpmu_on_this_cpu(armpmu))
		return -ENOENT;

	idx = armpmu->get_event_idx(hw_events, event);
	if (idx < 0)
		return idx;

	hw->idx = idx;
	hw->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	armpmu->disable(event);
	hw_events->events[idx] = event;
	/* A throttled event starts when it is unthrottled. */
	if (flags & PERF_EF_START && hw->interrupts != PERF_THROTTLED)
		armpmu_start(event, PERF_EF_RELOAD);

	perf_event_update_userpage(event);
	return 0;
}

static void armpmu_del(struct perf_event *event, int flags)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	struct hw_perf_event *hw = &event->hw;

	armpmu_stop(event, PERF_EF_UPDATE);
	hw_events->events[hw->idx] = NULL;
	armpmu->clear_event_idx(hw_events, event);
	hw->idx = -1;
	perf_event_update_userpage(event);
}

static void armpmu_enable(struct pmu *pmu)
{
	struct arm_pmu *armpmu = to_arm_pmu(pmu);
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);

	if (armpmu_on_this_cpu(armpmu) && !bitmap_empty(hw_events->used_mask, ARMPMU_MAX_HWEVENTS))
		armpmu->start(armpmu);
}

static void armpmu_disable(struct pmu *pmu)
{
	struct arm_pmu *armpmu = to_arm_pmu(pmu);

	if (armpmu_on_this_cpu(armpmu))
		armpmu->stop(armpmu);
}

static void armpmu_filter(struct pmu *pmu, int cpu, bool *ret)
{
	*ret = !cpumask_test_cpu(cpu, &to_arm_pmu(pmu)->supported_cpus);
}

/**
 * armpmu_event_setup - initialize the hw_perf_event of a new event
 * @event: event that is being opened
 *
 * Context: process context; may sleep.
 * Return: 0; -ENOENT if this PMU does not have the event or @event's CPU does not have this PMU;
 * -EINVAL or -EOPNOTSUPP if an attribute is invalid or not supported.
 */
int armpmu_event_setup(struct perf_event *event)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	struct hw_perf_event *hw = &event->hw;
	int id, err;

	if (event->cpu != -1 && !cpumask_test_cpu(event->cpu, &armpmu->supported_cpus))
		return -ENOENT;

	hw->flags = 0;
	id = armpmu->map_event(event);
	if (id < 0)
		return id;
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP,
				   "sample_type: BRANCH_STACK is not supported on this CPU");

	hw->idx = -1;
	hw->config = 0;
	hw->config_base = 0;
	hw->event_base = 0;
	if (armpmu->set_event_filter) {
		err = armpmu->set_event_filter(hw, &event->attr);
		if (err)
			return err;
	}
	hw->config_base |= id;
	return 0;
}

/*
 * Must @member have a counter for the group that @newcomer joins to run? A disabled sibling needs
 * none, since the group runs without it. The leader is taken as enabled, since no member runs while
 * the leader is disabled.
 */
static bool armpmu_group_needs(struct perf_event *member, struct perf_event *newcomer)
{
	if (is_software_event(member))
		return false;
	if (member == newcomer || member == newcomer->group_leader)
		return true;
	if (member->state == PERF_EVENT_STATE_OFF)
		return member->attr.enable_on_exec;

	return member->state > PERF_EVENT_STATE_OFF;
}

static bool armpmu_group_claim(struct pmu_hw_events *trial, struct perf_event *member,
			       struct perf_event *newcomer)
{
	struct arm_pmu *armpmu = to_arm_pmu(newcomer->pmu);

	if (!armpmu_group_needs(member, newcomer))
		return true;
	if (member->pmu != newcomer->pmu)
		return false;

	return armpmu->get_event_idx(trial, member) >= 0;
}

/* Does the group fit on a PMU with all counters free? */
static bool armpmu_group_fits(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;
	struct pmu_hw_events trial = {};

	if (leader == event)
		return true;
	if (!armpmu_group_claim(&trial, leader, event))
		return false;
	for_each_sibling_event(sibling, leader) {
		if (!armpmu_group_claim(&trial, sibling, event))
			return false;
	}

	return armpmu_group_claim(&trial, event, event);
}

/*
 * An event that does not sample has a period, too, of half its counter's range, so that the count
 * is updated before the difference to the last value becomes ambiguous.
 */
static int armpmu_event_init(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	int err;

	err = armpmu_event_setup(event);
	if (err)
		return err;

	if (!is_sampling_event(event)) {
		hw->sample_period = armpmu_counter_max(event) >> 1;
		hw->last_period = hw->sample_period;
		local64_set(&hw->period_left, hw->sample_period);
	}

	return armpmu_group_fits(event) ? 0 : -EINVAL;
}

/* ----------------------------------------------------------------- power-down */

/*
 * Records which events were running: armpmu_power_up() must not start those that are stopped for
 * another reason, such as throttling.
 */
static void armpmu_power_down(struct arm_pmu *armpmu)
{
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	int idx;

	bitmap_zero(hw_events->suspended, ARMPMU_MAX_HWEVENTS);
	for (idx = 0; idx < ARMPMU_MAX_HWEVENTS; idx++) {
		struct perf_event *event = hw_events->events[idx];

		if (!event || event->hw.state & PERF_HES_STOPPED)
			continue;
		armpmu_stop(event, PERF_EF_UPDATE);
		__set_bit(idx, hw_events->suspended);
	}
}

static void armpmu_power_up(struct arm_pmu *armpmu)
{
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	int idx;

	for_each_set_bit(idx, hw_events->suspended, ARMPMU_MAX_HWEVENTS)
		armpmu_start(hw_events->events[idx], PERF_EF_RELOAD);
	armpmu_enable(&armpmu->pmu);
}

#ifdef CONFIG_CPU_PM
static int armpmu_cpu_pm_event(struct notifier_block *nb, unsigned long action, void *unused)
{
	struct arm_pmu *armpmu = container_of(nb, struct arm_pmu, cpu_pm_nb);

	if (!armpmu_on_this_cpu(armpmu))
		return NOTIFY_DONE;

	switch (action) {
	case CPU_PM_ENTER:
		armpmu->power_down(armpmu);
		return NOTIFY_OK;
	case CPU_PM_EXIT:
		/* All registers are undefined now, those of unused counters included. */
		if (armpmu->reset)
			armpmu->reset(armpmu);
		fallthrough;
	case CPU_PM_ENTER_FAILED:
		armpmu->power_up(armpmu);
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static int armpmu_cpu_pm_register(struct arm_pmu *armpmu)
{
	armpmu->cpu_pm_nb.notifier_call = armpmu_cpu_pm_event;
	return cpu_pm_register_notifier(&armpmu->cpu_pm_nb);
}

static void armpmu_cpu_pm_unregister(struct arm_pmu *armpmu)
{
	cpu_pm_unregister_notifier(&armpmu->cpu_pm_nb);
}
#else
static int armpmu_cpu_pm_register(struct arm_pmu *armpmu)		{ return 0; }
static void armpmu_cpu_pm_unregister(struct arm_pmu *armpmu)	{ }
#endif

/* -------------------------------------------------------------------- hotplug */

static int armpmu_cpu_starting(unsigned int cpu, struct hlist_node *node)
{
	struct arm_pmu *armpmu = hlist_entry(node, struct arm_pmu, node);

	if (!cpumask_test_cpu(cpu, &armpmu->supported_cpus))
		return 0;
	if (armpmu->reset)
		armpmu->reset(armpmu);
	armpmu_irq_bind(armpmu, cpu);
	armpmu_irq_enable(cpu);
	return 0;
}

static int armpmu_cpu_dying(unsigned int cpu, struct hlist_node *node)
{
	struct arm_pmu *armpmu = hlist_entry(node, struct arm_pmu, node);

	if (cpumask_test_cpu(cpu, &armpmu->supported_cpus))
		armpmu_irq_disable(cpu);
	return 0;
}

static int __init armpmu_hotplug_init(void)
{
	return cpuhp_setup_state_multi(CPUHP_AP_PERF_ARM_STARTING, "perf/arm/pmu:starting",
				       armpmu_cpu_starting, armpmu_cpu_dying);
}
subsys_initcall(armpmu_hotplug_init);

/* ---------------------------------------------------------------------- sysfs */

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct arm_pmu *armpmu = armpmu_of_dev(dev);

	return cpumap_print_to_pagebuf(true, page, &armpmu->supported_cpus);
}
static DEVICE_ATTR_RO(cpus);

static struct attribute *armpmu_common_attrs[] = {
	&dev_attr_cpus.attr,
	NULL
};

static const struct attribute_group armpmu_common_group = {
	.attrs = armpmu_common_attrs,
};

/* ----------------------------------------------------------------- registration */

static const struct pmu armpmu_default_pmu = {
	.event_init	= armpmu_event_init,
	.filter		= armpmu_filter,
	.read		= armpmu_read,
	.stop		= armpmu_stop,
	.start		= armpmu_start,
	.del		= armpmu_del,
	.add		= armpmu_add,
	.pmu_disable	= armpmu_disable,
	.pmu_enable	= armpmu_enable,
	.capabilities	= PERF_PMU_CAP_EXTENDED_REGS | PERF_PMU_CAP_EXTENDED_HW_TYPE,
};

/**
 * armpmu_alloc - allocate an arm_pmu with the framework's callbacks
 *
 * Context: process context; may sleep.
 * Return: the PMU, which the driver completes; NULL if memory is short.
 */
struct arm_pmu *armpmu_alloc(void)
{
	struct arm_pmu *armpmu = kzalloc(sizeof(*armpmu), GFP_KERNEL);

	if (!armpmu)
		return NULL;

	armpmu->hw_events = alloc_percpu(struct pmu_hw_events);
	if (!armpmu->hw_events) {
		kfree(armpmu);
		return NULL;
	}

	armpmu->pmu = armpmu_default_pmu;
	armpmu->pmu.attr_groups = armpmu->attr_groups;
	armpmu->power_down = armpmu_power_down;
	armpmu->power_up = armpmu_power_up;
	armpmu->attr_groups[ARMPMU_ATTR_GROUP_COMMON] = &armpmu_common_group;
	return armpmu;
}

/**
 * armpmu_free - free an arm_pmu
 * @armpmu: PMU from armpmu_alloc() that is not registered
 *
 * Context: process context.
 */
void armpmu_free(struct arm_pmu *armpmu)
{
	free_percpu(armpmu->hw_events);
	kfree(armpmu);
}

/* Without an interrupt on any CPU the PMU can count but not sample. */
static bool armpmu_has_irq(struct arm_pmu *armpmu)
{
	int cpu;

	for_each_cpu(cpu, &armpmu->supported_cpus) {
		if (armpmu_irq_of_cpu(cpu))
			return true;
	}
	return false;
}

static void armpmu_print_info(struct arm_pmu *armpmu)
{
	unsigned int counters = bitmap_weight(armpmu->cntr_mask, ARMPMU_MAX_HWEVENTS);
	bool samples = !(armpmu->pmu.capabilities & PERF_PMU_CAP_NO_INTERRUPT);

	pr_info("%s: %u counters%s\n", armpmu->name, counters,
		!samples ? ", no interrupt" : arm_pmu_irq_is_nmi() ? ", overflow by NMI" : "");
}

/**
 * armpmu_register - register a PMU with the perf core and with KVM
 * @armpmu: PMU with all members set; the interrupts of the PMU are requested
 *
 * Context: process context; may sleep.
 * Return: 0 or -errno.
 */
int armpmu_register(struct arm_pmu *armpmu)
{
	int err;

	if (!armpmu_has_irq(armpmu))
		armpmu->pmu.capabilities |= PERF_PMU_CAP_NO_INTERRUPT;
	if (!armpmu->set_event_filter)
		armpmu->pmu.capabilities |= PERF_PMU_CAP_NO_EXCLUDE;

	err = cpuhp_state_add_instance(CPUHP_AP_PERF_ARM_STARTING, &armpmu->node);
	if (err)
		return err;
	err = armpmu_cpu_pm_register(armpmu);
	if (err)
		goto err_hotplug;
	err = perf_pmu_register(&armpmu->pmu, armpmu->name, -1);
	if (err)
		goto err_power;

	armpmu_print_info(armpmu);
	kvm_host_pmu_init(armpmu);
	return 0;

err_power:
	armpmu_cpu_pm_unregister(armpmu);
err_hotplug:
	cpuhp_state_remove_instance(CPUHP_AP_PERF_ARM_STARTING, &armpmu->node);
	armpmu_irq_unbind(armpmu);
	return err;
}
