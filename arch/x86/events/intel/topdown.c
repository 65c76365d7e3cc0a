// SPDX-License-Identifier: GPL-2.0
/*
 * Top-down metrics: how the slots of the pipeline were used.
 *
 * PERF_METRICS has one byte for each metric: its share of the slots that fixed counter 3 has
 * counted since both registers were written, in 255ths (SDM 3B, "Performance Metrics"). So a metric
 * is no counter. It has a number in the schedule, from X86_METRIC_BASE on, and runs only
 * in a group that the event slots leads. While such a group is loaded both registers start from 0,
 * and what they show is added to the counts of all events of the group at once:
 *
 *	metric = (slots * byte + rest) / 255
 *
 * A read by the kernel sets both back to 0, as the share of a long time has no more than 8 bits:
 * otherwise that of a short one, as between two samples, would be lost in it. A program that has
 * mapped a user page, and no data pages with it, reads the registers itself and takes differences.
 * For it they are not set back, and are saved and restored over context switches; disabling the
 * group sets them back. A page with data pages is that of a ring: it is updated where the registers
 * are set back, so that its offset and the register are together what they were.
 *
 * The counter is stopped while the registers are read and written, so that both describe the same
 * slots. The overflow handler has stopped all counters, and accesses the registers only while the
 * counter is in x86_pmu_cpu::irq_owned. Another NMI stops nothing, and adds without setting back.
 *
 * Members of hw_perf_event with another meaning here: extra_reg.config of a metric is the rest in
 * 255ths, prev_count what has been added since both registers were 0. Of slots extra_reg.config and
 * branch_reg.config are the saved fractions and slots.
 *
 * Context: interrupts disabled on the CPU of the registers, or NMI.
 */
#include <asm/cpufeature.h>

#include "../topdown.h"

#define TOPDOWN_SLOTS	X86_FIXED(3)

/* The event slots of the loaded group. */
static struct perf_event *topdown_slots(const struct x86_pmu_cpu *cpu)
{
	return cpu->event[INTEL_PMC_IDX_FIXED_SLOTS];
}

/**
 * x86_topdown_count - the slots of a metric
 * @slots: slots since both registers were 0
 * @byte: share of the metric in 255ths
 * @rest: 255ths of a slot from before
 *
 * Context: any, NMI included.
 * Return: slots, rounded down
 */
u64 x86_topdown_count(u64 slots, u8 byte, u64 rest)
{
	return div_u64(slots * byte + rest, X86_TOPDOWN_WHOLE);
}

/**
 * x86_topdown_rest - what x86_topdown_count() rounds off
 * @slots: slots since both registers were 0
 * @byte: share of the metric in 255ths
 * @rest: 255ths of a slot from before
 *
 * Context: any, NMI included.
 * Return: 255ths of a slot
 */
u64 x86_topdown_rest(u64 slots, u8 byte, u64 rest)
{
	return slots * byte + rest - x86_topdown_count(slots, byte, rest) * X86_TOPDOWN_WHOLE;
}

/* ------------------------------------------------------------------- one event */

static int topdown_init_metric(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;

	if (is_sampling_event(event))
		return perf_refuse(-EINVAL, "sample_period: top-down metrics do not sample");
	if (leader == event || leader->pmu != event->pmu || leader->hw.counters != TOPDOWN_SLOTS)
		return perf_refuse(-EINVAL,
				   "group_fd: top-down metrics need a group that slots leads");
	if (is_sampling_event(leader))
		return perf_refuse(-EINVAL,
				   "group_fd: slots must not sample in a group with metrics");
	if (event->attr.exclude_host || leader->attr.exclude_host)
		return perf_refuse(-EOPNOTSUPP, "exclude_host: guests have no top-down metrics");
	return 0;
}

/**
 * x86_topdown_init - set up an event that is slots or a metric
 * @xpmu: the PMU
 * @event: event with hw.counters; other events are not changed
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL, -EOPNOTSUPP as perf_refuse() explains
 */
int x86_topdown_init(const struct x86_pmu *xpmu, struct perf_event *event)
{
	bool metric = event->hw.counters & X86_METRICS;
	int ret;

	if (!xpmu->metrics || (!metric && event->hw.counters != TOPDOWN_SLOTS))
		return 0;
	if (event->attr.config1 || event->attr.config2)
		return perf_refuse(-EINVAL, "config1: slots and metrics have one value, config");
	if (metric) {
		ret = topdown_init_metric(event);
		if (ret)
			return ret;
		event->event_caps |= PERF_EV_CAP_SIBLING;
		event->hw.event_base_rdpmc = X86_METRICS_RDPMC;
	} else if (is_sampling_event(event)) {
		return 0;
	}
	/* Nothing of the event is sampled, and branch_reg has another meaning. */
	event->hw.flags &= ~X86_EVENT_BRANCHES;
	event->hw.flags |= X86_EVENT_TOPDOWN;
	return 0;
}

/* -------------------------------------------------------------------- registers */

static void topdown_write(struct x86_pmu_cpu *cpu, u64 slots, u64 metrics)
{
	x86_counter_write(cpu, INTEL_PMC_IDX_FIXED_SLOTS, slots);
	wrmsrl(MSR_PERF_METRICS, metrics);
}

static void topdown_read(const struct x86_pmu_cpu *cpu, u64 *slots, u64 *metrics)
{
	*slots = x86_counter_read(cpu, INTEL_PMC_IDX_FIXED_SLOTS);
	rdpmcl(X86_METRICS_RDPMC, *metrics);
}

static u8 topdown_byte(unsigned int idx, u64 metrics)
{
	return metrics >> (idx - X86_METRIC_BASE) * 8;
}

/* A handler that runs before the counter has left irq_owned finds the counter stopped. */
static void topdown_stop(struct x86_pmu_cpu *cpu, u64 others)
{
	x86_counters_disable(cpu, TOPDOWN_SLOTS | X86_METRICS_BIT | others);
	x86_cpu_clear_bits(irq_owned, TOPDOWN_SLOTS);
}

/* Without metrics the counter continues alone. x86_commit_enabled() must follow. */
static void topdown_continue(struct x86_pmu_cpu *cpu)
{
	x86_cpu_set_bits(irq_owned, TOPDOWN_SLOTS);
	x86_counter_enable(cpu, topdown_slots(cpu));
	if (cpu->metrics)
		x86_cpu_set_bits(enabled, X86_METRICS_BIT);
}

/* ----------------------------------------------------------------------- counts */

/* A share that became smaller does not take a count back. */
static void topdown_add_metric(struct perf_event *event, u64 count)
{
	u64 prev = local64_read(&event->hw.prev_count);

	if (count <= prev)
		return;
	local64_add(count - prev, &event->count);
	local64_set(&event->hw.prev_count, count);
}

/* Adds what both registers show. */
static void topdown_add(struct x86_pmu_cpu *cpu, u64 slots, u64 metrics)
{
	struct perf_event *leader = topdown_slots(cpu);
	u64 prev = local64_read(&leader->hw.prev_count), todo;

	local64_add((slots - prev) & GENMASK_ULL(cpu->pmu->width - 1, 0), &leader->count);
	local64_set(&leader->hw.prev_count, slots);
	for (todo = cpu->metrics; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);
		struct perf_event *event = cpu->event[idx];

		topdown_add_metric(event, x86_topdown_count(slots, topdown_byte(idx, metrics),
							    event->hw.extra_reg.config));
	}
}

/* Both registers are to be 0 again: they showed @slots and @metrics, which have been added. */
static void topdown_keep_rests(struct x86_pmu_cpu *cpu, u64 slots, u64 metrics)
{
	u64 todo;

	for (todo = cpu->metrics; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);
		struct hw_perf_event *hw = &cpu->event[idx]->hw;

		hw->extra_reg.config = x86_topdown_rest(slots, topdown_byte(idx, metrics),
							hw->extra_reg.config);
		local64_set(&hw->prev_count, 0);
	}
}

static void topdown_reset(struct x86_pmu_cpu *cpu, u64 slots, u64 metrics)
{
	topdown_keep_rests(cpu, slots, metrics);
	topdown_write(cpu, 0, 0);
	local64_set(&topdown_slots(cpu)->hw.prev_count, 0);
}

static void topdown_update_pages(struct x86_pmu_cpu *cpu)
{
	u64 todo;

	x86_user_base_changed(topdown_slots(cpu));
	for (todo = cpu->metrics; todo; todo &= todo - 1)
		x86_user_base_changed(cpu->event[__ffs64(todo)]);
}

/* Does a program read the registers of the group? */
static bool topdown_user_reads(const struct x86_pmu_cpu *cpu, u64 metrics)
{
	if (perf_event_user_page_alone(topdown_slots(cpu)))
		return true;
	for (; metrics; metrics &= metrics - 1)
		if (perf_event_user_page_alone(cpu->event[__ffs64(metrics)]))
			return true;
	return false;
}

/* -------------------------------------------------------------------- schedules */

/* The group starts with its slots, or its metrics join slots that counted alone. */
static void topdown_begin(struct x86_pmu_cpu *cpu, u64 metrics, bool fresh)
{
	struct perf_event *leader = topdown_slots(cpu);
	struct hw_perf_event *hw = &leader->hw;
	u64 slots = 0, fractions = 0;

	if (!fresh) {
		x86_event_update(leader);
	} else if (topdown_user_reads(cpu, metrics)) {
		slots = hw->branch_reg.config;
		fractions = hw->extra_reg.config;
	}
	topdown_write(cpu, slots, fractions);
	local64_set(&hw->prev_count, slots);
}

/* What the registers show now is not of @metrics, which have just been loaded. */
static void topdown_join(struct x86_pmu_cpu *cpu, u64 metrics)
{
	u64 slots, fractions;

	topdown_read(cpu, &slots, &fractions);
	if (cpu->metrics)
		topdown_add(cpu, slots, fractions);
	for (; metrics; metrics &= metrics - 1) {
		unsigned int idx = __ffs64(metrics);
		struct hw_perf_event *hw = &cpu->event[idx]->hw;

		local64_set(&hw->prev_count,
			    x86_topdown_count(slots, topdown_byte(idx, fractions),
					      hw->extra_reg.config));
	}
}

/**
 * x86_topdown_load - start the metrics of a schedule
 * @cpu: this CPU
 * @taken: counters with an event that has just been loaded
 *
 * x86_commit_enabled() must follow.
 *
 * Context: interrupts disabled.
 */
void x86_topdown_load(struct x86_pmu_cpu *cpu, u64 taken)
{
	u64 metrics = cpu->loaded & X86_METRICS;
	struct perf_event *leader = topdown_slots(cpu);

	if (WARN_ON_ONCE(!(cpu->loaded & TOPDOWN_SLOTS)))
		return;
	topdown_stop(cpu, 0);
	x86_cpu_clear_bits(missed, TOPDOWN_SLOTS);
	if (!cpu->metrics)
		topdown_begin(cpu, metrics, taken & TOPDOWN_SLOTS);
	topdown_join(cpu, metrics & taken);

	cpu->metrics = metrics;
	cpu->metrics_read = 0;
	cpu->readable |= TOPDOWN_SLOTS;
	cpu->dirty &= ~X86_METRICS_BIT;
	cpu->host_only &= ~X86_METRICS;
	if (cpu->host_only & TOPDOWN_SLOTS)
		cpu->host_only |= X86_METRICS_BIT;
	leader->hw.state = 0;
	if (!(taken & TOPDOWN_SLOTS))
		x86_user_base_changed(leader);
	topdown_continue(cpu);
}

/* The registers continue for the group's program when it is loaded again, unless it is disabled. */
static void topdown_save(struct x86_pmu_cpu *cpu, u64 slots, u64 metrics)
{
	struct perf_event *leader = topdown_slots(cpu);
	bool keep = leader->state == PERF_EVENT_STATE_ACTIVE;

	if (!keep || !topdown_user_reads(cpu, cpu->metrics)) {
		topdown_keep_rests(cpu, slots, metrics);
		slots = 0;
		metrics = 0;
	}
	leader->hw.branch_reg.config = slots;
	leader->hw.extra_reg.config = metrics;
}

static void topdown_unload_metrics(struct x86_pmu_cpu *cpu, u64 metrics)
{
	cpu->metrics &= ~metrics;
	cpu->metrics_read = 0;
	x86_cpu_clear_bits(loaded, metrics);
	for (; metrics; metrics &= metrics - 1) {
		unsigned int idx = __ffs64(metrics);
		struct perf_event *event = cpu->event[idx];

		WRITE_ONCE(cpu->event[idx], NULL);
		if (event->state != PERF_EVENT_STATE_ACTIVE)
			x86_user_base_changed(event);
	}
}

/**
 * x86_topdown_unload - update the counts of a group, and remove metrics
 * @cpu: this CPU
 * @counters: counters that are to be removed, with metrics or the counter of slots
 * @stop: other counters to stop
 *
 * If slots is removed, the counter of slots is stopped, and the caller removes the event. If only
 * metrics are removed, the counter continues.
 *
 * Context: interrupts disabled.
 * Return: @counters without the metrics
 */
u64 x86_topdown_unload(struct x86_pmu_cpu *cpu, u64 counters, u64 stop)
{
	u64 slots, metrics;

	topdown_stop(cpu, stop);
	topdown_read(cpu, &slots, &metrics);
	topdown_add(cpu, slots, metrics);
	if (counters & TOPDOWN_SLOTS)
		topdown_save(cpu, slots, metrics);
	topdown_unload_metrics(cpu, counters & X86_METRICS);
	if (!(counters & TOPDOWN_SLOTS)) {
		topdown_continue(cpu);
		x86_commit_enabled(cpu);
	} else {
		cpu->host_only &= ~X86_METRICS_BIT;
	}
	return counters & ~X86_METRICS;
}

/* ---------------------------------------------------------------- reads, interrupt */

/* What both registers showed has been added. */
static void topdown_reset_unless_read(struct x86_pmu_cpu *cpu, u64 slots, u64 metrics)
{
	if (topdown_user_reads(cpu, cpu->metrics))
		return;
	topdown_reset(cpu, slots, metrics);
	topdown_update_pages(cpu);
}

static void topdown_read_and_reset(struct x86_pmu_cpu *cpu)
{
	u64 slots, metrics;

	topdown_stop(cpu, 0);
	topdown_read(cpu, &slots, &metrics);
	topdown_add(cpu, slots, metrics);
	topdown_reset_unless_read(cpu, slots, metrics);
	topdown_continue(cpu);
	x86_commit_enabled(cpu);
}

/* The counter is stopped, and may have begun again from 0. */
static void topdown_irq_add(struct x86_pmu_cpu *cpu, u64 *slots, u64 *metrics)
{
	u64 width = GENMASK_ULL(cpu->pmu->width - 1, 0);

	topdown_read(cpu, slots, metrics);
	if (*slots < (local64_read(&topdown_slots(cpu)->hw.prev_count) & width))
		*slots += width + 1;
	topdown_add(cpu, *slots, *metrics);
}

/*
 * A sample reads the members of a group one by one, while nothing counts: only the first read finds
 * slots. The others leave prev_count as it is, so that an update of a user page that this NMI has
 * interrupted can see by the count that prev_count has changed.
 */
static void topdown_nmi_read(struct x86_pmu_cpu *cpu)
{
	s64 prev = local64_read(&topdown_slots(cpu)->hw.prev_count);
	u64 slots, metrics;

	if (!cpu->halted) {
		topdown_read(cpu, &slots, &metrics);
		topdown_add(cpu, slots, metrics);
		return;
	}
	topdown_irq_add(cpu, &slots, &metrics);
	if (slots != prev)
		topdown_reset_unless_read(cpu, slots, metrics);
}

/*
 * Is this the operation that has read slots? It takes less than 2^16 slots: a metric that is read
 * later has another value.
 */
static bool topdown_is_same_read(const struct x86_pmu_cpu *cpu)
{
	u64 prev = local64_read(&topdown_slots(cpu)->hw.prev_count);
	u64 now = x86_counter_read(cpu, INTEL_PMC_IDX_FIXED_SLOTS);

	return ((now - prev) & GENMASK_ULL(cpu->pmu->width - 1, 0)) < BIT(16);
}

/**
 * x86_topdown_read - update the counts of a group with metrics
 * @cpu: this CPU
 * @event: slots or a metric, loaded on @cpu
 *
 * The core reads a group member by member, slots first. Those of PERF_FORMAT_GROUP have the counts
 * of the time when slots was read.
 *
 * Context: interrupts disabled, or NMI.
 */
void x86_topdown_read(struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	u64 bit = BIT_ULL(event->hw.idx);

	if (!(cpu->irq_owned & TOPDOWN_SLOTS))
		return;
	if (in_nmi()) {
		topdown_nmi_read(cpu);
		return;
	}
	if (cpu->metrics_read & bit) {
		cpu->metrics_read &= ~bit;
		if (topdown_is_same_read(cpu))
			return;
	}
	topdown_read_and_reset(cpu);
	cpu->metrics_read = event == topdown_slots(cpu) &&
			    event->attr.read_format & PERF_FORMAT_GROUP ? cpu->metrics : 0;
}

/**
 * x86_topdown_irq - handle an overflow of slots or metrics
 * @cpu: this CPU, all counters are stopped
 *
 * Context: NMI.
 */
void x86_topdown_irq(struct x86_pmu_cpu *cpu)
{
	u64 slots, metrics;

	if (!cpu->metrics || !(cpu->irq_owned & TOPDOWN_SLOTS))
		return;
	topdown_irq_add(cpu, &slots, &metrics);
	topdown_reset(cpu, slots, metrics);
	topdown_update_pages(cpu);
}

/* ----------------------------------------------------------------------- suspend */

/**
 * x86_topdown_suspend - update the counts before the registers are lost
 * @cpu: this CPU
 *
 * Context: one CPU is online, interrupts disabled.
 */
void x86_topdown_suspend(struct x86_pmu_cpu *cpu)
{
	u64 slots, metrics;

	if (!cpu->metrics)
		return;
	x86_counters_disable(cpu, ~0ULL);
	topdown_read(cpu, &slots, &metrics);
	topdown_add(cpu, slots, metrics);
	topdown_reset(cpu, slots, metrics);
}

/**
 * x86_topdown_resume - let the loaded metrics continue after x86_pmu_cpu_restore()
 * @cpu: this CPU
 *
 * Context: one CPU is online, interrupts disabled.
 */
void x86_topdown_resume(struct x86_pmu_cpu *cpu)
{
	if (!cpu->metrics)
		return;
	topdown_stop(cpu, 0);
	topdown_write(cpu, 0, 0);
	local64_set(&topdown_slots(cpu)->hw.prev_count, 0);
	topdown_update_pages(cpu);
	topdown_continue(cpu);
	x86_commit_enabled(cpu);
}

/* ------------------------------------------------------------------------- setup */

/**
 * intel_topdown_setup - find out whether a PMU has metrics
 * @xpmu: PMU; x86_pmu::model is set
 *
 * On hybrid parts PERF_CAPABILITIES describes what all cores have, and the small cores have none.
 * In a guest the bit of PERF_CAPABILITIES alone is used.
 *
 * Context: initcall; may sleep.
 */
void __init intel_topdown_setup(struct x86_pmu *xpmu)
{
	bool hybrid = boot_cpu_has(X86_FEATURE_HYBRID_CPU) &&
		      !boot_cpu_has(X86_FEATURE_HYPERVISOR);
	u64 caps = 0;

	if (!xpmu->model->metrics || xpmu->version < 5)
		return;
	if (boot_cpu_has(X86_FEATURE_PDCM))
		rdmsrl_safe(MSR_IA32_PERF_CAPABILITIES, &caps);
	if (hybrid || caps & BIT_ULL(PERF_CAP_METRICS_IDX))
		xpmu->metrics = x86_metrics_mask(xpmu->model->metrics);
}
