// SPDX-License-Identifier: GPL-2.0
/*
 * CPU PMUs of the Arm architectures: what does not depend on the registers.
 *
 * Setting up events, periods, a plain implementation of struct pmu over the callbacks of struct
 * arm_pmu, hotplug, power-down, registration. Uses perf's public header only.
 *
 * struct pmu_hw_events is per CPU and used by that CPU with interrupts off. The overflow handler
 * may come in between as an NMI: it finds an event in hw_events::events[] or it does not, and
 * counts are brought up to date by compare-and-exchange.
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

static int map_hardware_event(const unsigned int (*map)[PERF_COUNT_HW_MAX], u64 config)
{
	if (config >= PERF_COUNT_HW_MAX)
		return perf_refuse(-EINVAL, "config: there is no hardware event %llu", config);
	if (!map || (*map)[config] == HW_OP_UNSUPPORTED)
		return -ENOENT;

	return (*map)[config];
}

static int map_cache_event(const unsigned int (*map)[C(MAX)][C(OP_MAX)][C(RESULT_MAX)], u64 config)
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
 * armpmu_map_event - number of the hardware event that an event asks for
 * @event: the event
 * @event_map: numbers of PERF_TYPE_HARDWARE events; may be NULL
 * @cache_map: numbers of PERF_TYPE_HW_CACHE events; may be NULL
 * @raw_event_mask: bits of attr::config that are the number, for raw events
 *
 * Return: the number; -ENOENT if there is no such event, -EINVAL if there cannot be.
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
		return map_hardware_event(event_map, config);
	case PERF_TYPE_HW_CACHE:
		return map_cache_event(cache_map, config);
	default:
		return -ENOENT;
	}
}

/* ------------------------------------------------------------ counts and periods */

/* Largest value of the counter. */
static u64 counter_max(const struct perf_event *event)
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
 * armpmu_period_left - events until the next overflow; begins a new period if this one is used up
 * @event: a sampling event, its count up to date
 * @began: set to whether a new period began
 *
 * What went past the end of the old period is taken off the new one, so that periods do not drift,
 * unless that is more than a whole period.
 */
s64 armpmu_period_left(struct perf_event *event, bool *began)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left = local64_read(&hw->period_left);
	s64 period = hw->sample_period;

	*began = left <= 0;
	if (left > 0)
		return left;

	/* A hypervisor emulating a counter can come here with a period past the end of s64. */
	if (period <= 0)
		period = S64_MAX;

	left = left > -period ? left + period : period;
	local64_set(&hw->period_left, left);
	hw->last_period = hw->sample_period;
	return left;
}

/**
 * armpmu_period_resume - the same for an event that is being started
 * @event: a sampling event
 *
 * If it overflowed while it was being stopped, the overflow is made up for at once: it is the next
 * event that overflows. To begin a new period instead would swallow a sample and make the period
 * twice as long.
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
 * Half the range at most: the counter can run on for the other half before it is read, and the
 * difference is still right.
 */
static void program_counter(struct perf_event *event, s64 left)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	u64 max = counter_max(event);

	left = min_t(u64, left, max >> 1);
	local64_set(&event->hw.prev_count, -left);
	armpmu->write_counter(event, -left & max);
	perf_event_update_userpage(event);
}

/**
 * armpmu_event_set_period - set the counter of an event for the rest of its period
 * @event: the event, its count up to date; on this CPU
 *
 * Context: any, interrupts off. Return: 1 if a new period began: the old one has overflowed. 0 if
 * the counter only has to be set again, being narrower than the period.
 */
int armpmu_event_set_period(struct perf_event *event)
{
	bool began;
	s64 left = armpmu_period_left(event, &began);

	program_counter(event, left);
	return began;
}

/**
 * armpmu_event_update - bring the count of an event up to date
 * @event: the event; on this CPU
 *
 * Context: any, interrupts off. Return: value of its counter.
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

	delta = (now - before) & counter_max(event);
	local64_add(delta, &event->count);
	local64_sub(delta, &hw->period_left);
	return now;
}

/* ------------------------------------------------------------------ struct pmu */

static bool runs_here(struct arm_pmu *armpmu)
{
	return cpumask_test_cpu(smp_processor_id(), &armpmu->supported_cpus);
}

static void armpmu_read(struct perf_event *event)
{
	/* What stands still is up to date, and the counter may have been without power since. */
	if (!(event->hw.state & PERF_HES_STOPPED))
		armpmu_event_update(event);
}

static void armpmu_stop(struct perf_event *event, int flags)
{
	const int stopped = PERF_HES_STOPPED | PERF_HES_UPTODATE;

	/* To leave PERF_EF_UPDATE out would save nothing. */
	if (event->hw.state & PERF_HES_STOPPED)
		return;

	to_arm_pmu(event->pmu)->disable(event);
	event->hw.state = stopped;
	armpmu_event_update(event);
	armpmu_mark_overdue(&event->hw);
}

/*
 * The counter is set whether PERF_EF_RELOAD is there or not: from stop to start it may have been
 * another event's.
 */
static void armpmu_start(struct perf_event *event, int flags)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);

	event->hw.state = 0;
	program_counter(event, armpmu_period_resume(event));
	armpmu->enable(event);
}

static int armpmu_add(struct perf_event *event, int flags)
{
	struct arm_pmu *armpmu = to_arm_pmu(event->pmu);
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	struct hw_perf_event *hw = &event->hw;
	int idx;

	if (!runs_here(armpmu))
		return -ENOENT;

	idx = armpmu->get_event_idx(hw_events, event);
	if (idx < 0)
		return idx;

	hw->idx = idx;
	hw->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	armpmu->disable(event);
	hw_events->events[idx] = event;
	if (flags & PERF_EF_START)
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

	if (runs_here(armpmu) && !bitmap_empty(hw_events->used_mask, ARMPMU_MAX_HWEVENTS))
		armpmu->start(armpmu);
}

static void armpmu_disable(struct pmu *pmu)
{
	struct arm_pmu *armpmu = to_arm_pmu(pmu);

	if (runs_here(armpmu))
		armpmu->stop(armpmu);
}

static void armpmu_filter(struct pmu *pmu, int cpu, bool *ret)
{
	*ret = !cpumask_test_cpu(cpu, &to_arm_pmu(pmu)->supported_cpus);
}

/**
 * armpmu_event_setup - fill in the hw_perf_event of a new event
 * @event: the event
 *
 * Return: 0; -ENOENT if it is not for this PMU or not for its CPU; -EINVAL; -EOPNOTSUPP.
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
		return perf_refuse(-EOPNOTSUPP, "sample_type: BRANCH_STACK is not to be had on this CPU");

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

/**
 * armpmu_counts_in_group - does a group need a counter for this member?
 * @member: leader or sibling
 * @newcomer: the event that is about to join
 *
 * A disabled sibling does not: the group runs without it. The leader is taken for enabled since
 * nothing of the group runs before it is.
 */
bool armpmu_counts_in_group(struct perf_event *member, struct perf_event *newcomer)
{
	if (is_software_event(member))
		return false;
	if (member == newcomer || member == newcomer->group_leader)
		return true;
	if (member->state == PERF_EVENT_STATE_OFF)
		return member->attr.enable_on_exec;

	return member->state > PERF_EVENT_STATE_OFF;
}

static bool claim_counter(struct pmu_hw_events *trial, struct perf_event *member,
			  struct perf_event *newcomer)
{
	struct arm_pmu *armpmu = to_arm_pmu(newcomer->pmu);

	if (!armpmu_counts_in_group(member, newcomer))
		return true;
	if (member->pmu != newcomer->pmu)
		return false;

	return armpmu->get_event_idx(trial, member) >= 0;
}

/* Could the group run on a PMU of which nobody else uses anything? */
static bool group_fits(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;
	struct pmu_hw_events trial = {};

	if (leader == event)
		return true;
	if (!claim_counter(&trial, leader, event))
		return false;
	for_each_sibling_event(sibling, leader) {
		if (!claim_counter(&trial, sibling, event))
			return false;
	}

	return claim_counter(&trial, event, event);
}

/*
 * An event that does not sample has a period all the same: its counter must not go through its
 * range unseen.
 */
static int armpmu_event_init(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	int err;

	err = armpmu_event_setup(event);
	if (err)
		return err;

	if (!is_sampling_event(event)) {
		hw->sample_period = counter_max(event) >> 1;
		hw->last_period = hw->sample_period;
		local64_set(&hw->period_left, hw->sample_period);
	}

	return group_fits(event) ? 0 : -EINVAL;
}

/* ----------------------------------------------------------------- power-down */

/*
 * Only events that this has stopped are started again; there may be others that are throttled.
 */
static void power_down(struct arm_pmu *armpmu)
{
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	int idx;

	bitmap_zero(hw_events->asleep, ARMPMU_MAX_HWEVENTS);
	for (idx = 0; idx < ARMPMU_MAX_HWEVENTS; idx++) {
		struct perf_event *event = hw_events->events[idx];

		if (!event || event->hw.state & PERF_HES_STOPPED)
			continue;
		armpmu_stop(event, PERF_EF_UPDATE);
		__set_bit(idx, hw_events->asleep);
	}
}

static void power_up(struct arm_pmu *armpmu)
{
	struct pmu_hw_events *hw_events = this_cpu_ptr(armpmu->hw_events);
	int idx;

	for_each_set_bit(idx, hw_events->asleep, ARMPMU_MAX_HWEVENTS)
		armpmu_start(hw_events->events[idx], PERF_EF_RELOAD);
	armpmu_enable(&armpmu->pmu);
}

#ifdef CONFIG_CPU_PM
static int cpu_pm_event(struct notifier_block *nb, unsigned long action, void *unused)
{
	struct arm_pmu *armpmu = container_of(nb, struct arm_pmu, cpu_pm_nb);

	if (!runs_here(armpmu))
		return NOTIFY_DONE;

	switch (action) {
	case CPU_PM_ENTER:
		armpmu->power_down(armpmu);
		return NOTIFY_OK;
	case CPU_PM_EXIT:
		/* What the registers hold now is unknown, whether they were in use or not. */
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

static int watch_power(struct arm_pmu *armpmu)
{
	armpmu->cpu_pm_nb.notifier_call = cpu_pm_event;
	return cpu_pm_register_notifier(&armpmu->cpu_pm_nb);
}

static void unwatch_power(struct arm_pmu *armpmu)
{
	cpu_pm_unregister_notifier(&armpmu->cpu_pm_nb);
}
#else
static int watch_power(struct arm_pmu *armpmu)		{ return 0; }
static void unwatch_power(struct arm_pmu *armpmu)	{ }
#endif

/* -------------------------------------------------------------------- hotplug */

static int pmu_cpu_starting(unsigned int cpu, struct hlist_node *node)
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

static int pmu_cpu_dying(unsigned int cpu, struct hlist_node *node)
{
	struct arm_pmu *armpmu = hlist_entry(node, struct arm_pmu, node);

	if (cpumask_test_cpu(cpu, &armpmu->supported_cpus))
		armpmu_irq_disable(cpu);
	return 0;
}

static int __init hotplug_init(void)
{
	return cpuhp_setup_state_multi(CPUHP_AP_PERF_ARM_STARTING, "perf/arm/pmu:starting",
				       pmu_cpu_starting, pmu_cpu_dying);
}
subsys_initcall(hotplug_init);

/* ---------------------------------------------------------------------- sysfs */

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct arm_pmu *armpmu = to_arm_pmu((struct pmu *)dev_get_drvdata(dev));

	return cpumap_print_to_pagebuf(true, page, &armpmu->supported_cpus);
}
static DEVICE_ATTR_RO(cpus);

static struct attribute *common_attrs[] = {
	&dev_attr_cpus.attr,
	NULL
};

static const struct attribute_group common_group = {
	.attrs = common_attrs,
};

/* ----------------------------------------------------------------- registration */

static const struct pmu default_pmu = {
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
 * armpmu_alloc - a new arm_pmu with the framework's callbacks
 *
 * Return: the PMU, for the driver to complete; NULL if there is no memory.
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

	armpmu->pmu = default_pmu;
	armpmu->pmu.attr_groups = armpmu->attr_groups;
	armpmu->power_down = power_down;
	armpmu->power_up = power_up;
	armpmu->attr_groups[ARMPMU_ATTR_GROUP_COMMON] = &common_group;
	return armpmu;
}

/**
 * armpmu_free - undo armpmu_alloc()
 * @armpmu: a PMU that is not registered
 */
void armpmu_free(struct arm_pmu *armpmu)
{
	free_percpu(armpmu->hw_events);
	kfree(armpmu);
}

/* Without an interrupt anywhere it can count but not sample. */
static bool has_interrupt(struct arm_pmu *armpmu)
{
	int cpu;

	for_each_cpu(cpu, &armpmu->supported_cpus) {
		if (armpmu_irq_of_cpu(cpu))
			return true;
	}
	return false;
}

static void announce(struct arm_pmu *armpmu)
{
	unsigned int counters = bitmap_weight(armpmu->cntr_mask, ARMPMU_MAX_HWEVENTS);
	bool samples = !(armpmu->pmu.capabilities & PERF_PMU_CAP_NO_INTERRUPT);

	pr_info("%s: %u counters%s\n", armpmu->name, counters,
		!samples ? ", no interrupt" : arm_pmu_irq_is_nmi() ? ", overflow by NMI" : "");
}

/**
 * armpmu_register - let perf, and KVM, have a PMU
 * @armpmu: the PMU, complete, its interrupts requested
 *
 * Context: may sleep. Return: 0 or -errno.
 */
int armpmu_register(struct arm_pmu *armpmu)
{
	int err;

	if (!has_interrupt(armpmu))
		armpmu->pmu.capabilities |= PERF_PMU_CAP_NO_INTERRUPT;
	if (!armpmu->set_event_filter)
		armpmu->pmu.capabilities |= PERF_PMU_CAP_NO_EXCLUDE;

	err = cpuhp_state_add_instance(CPUHP_AP_PERF_ARM_STARTING, &armpmu->node);
	if (err)
		return err;
	err = watch_power(armpmu);
	if (err)
		goto err_hotplug;
	err = perf_pmu_register(&armpmu->pmu, armpmu->name, -1);
	if (err)
		goto err_power;

	announce(armpmu);
	kvm_host_pmu_init(armpmu);
	return 0;

err_power:
	unwatch_power(armpmu);
err_hotplug:
	cpuhp_state_remove_instance(CPUHP_AP_PERF_ARM_STARTING, &armpmu->node);
	armpmu_irq_unbind(armpmu);
	return err;
}
