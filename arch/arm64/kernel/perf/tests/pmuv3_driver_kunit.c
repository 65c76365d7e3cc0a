// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of PMUv3: generic events, fields of registers, counters that run without an event,
 * and counters that KVM switches. Some of them load events on the CPU that they run on.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "../pmuv3_regs.h"

/* ------------------------------------------------------------------------- events */

static int pmuv3_test_map_branches(struct arm_pmu *armpmu, struct perf_event *event)
{
	event->pmu = &armpmu->pmu;
	event->attr.type = PERF_TYPE_HARDWARE;
	event->attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	return pmuv3_map_common(event);
}

/* Branches that are not taken are branches, too; old cores count those that are taken only. */
static void branches_are_all_branches(struct kunit *test)
{
	struct arm_pmu *armpmu = kunit_kzalloc(test, sizeof(*armpmu), GFP_KERNEL);
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, armpmu);
	KUNIT_ASSERT_NOT_NULL(test, event);
	armpmu->pmu.type = PERF_TYPE_MAX;
	KUNIT_EXPECT_EQ(test, pmuv3_test_map_branches(armpmu, event), -ENOENT);
	set_bit(ARMV8_PMUV3_PERFCTR_PC_WRITE_RETIRED, armpmu->pmceid_bitmap);
	KUNIT_EXPECT_EQ(test, pmuv3_test_map_branches(armpmu, event),
			ARMV8_PMUV3_PERFCTR_PC_WRITE_RETIRED);
	set_bit(ARMV8_PMUV3_PERFCTR_BR_RETIRED, armpmu->pmceid_bitmap);
	KUNIT_EXPECT_EQ(test, pmuv3_test_map_branches(armpmu, event),
			ARMV8_PMUV3_PERFCTR_BR_RETIRED);
}

static void reserved_bus_widths_are_0(struct kunit *test)
{
	static const u32 widths[] = {
		0, 0, 0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 0, 0, 0,
	};
	struct arm_pmu *armpmu = kunit_kzalloc(test, sizeof(*armpmu), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, armpmu);
	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		armpmu->reg_pmmir = FIELD_PREP(ARMV8_PMU_BUS_WIDTH, i);
		KUNIT_EXPECT_EQ(test, pmuv3_bus_width(armpmu), widths[i]);
	}
}

/* -------------------------------------------------- counters that run without an event */

static void pmuv3_test_move(struct kunit *test, int cpu)
{
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
}

/* Instructions of this task, which runs on CPU 0 first and then on CPU 1. */
static struct perf_event *pmuv3_test_leave_cpu_0(struct kunit *test, u64 config1)
{
	const struct pmuv3_cpu *c = &per_cpu(pmuv3_cpu, 0);
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.config		= ARMV8_PMUV3_PERFCTR_INST_RETIRED,
		.config1	= config1,
	};
	struct perf_event *event;

	if (!cpu_online(1) || !c->pmu || c->pmu != per_cpu(pmuv3_cpu, 1).pmu)
		kunit_skip(test, "not enough CPUs");
	attr.type = c->pmu->pmu.type;
	pmuv3_test_move(test, 0);
	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_EXPECT_NE(test, c->used, 0);
	pmuv3_test_move(test, 1);
	KUNIT_EXPECT_EQ(test, c->used, 0);
	KUNIT_EXPECT_NE(test, c->enabled, 0);
	KUNIT_EXPECT_TRUE(test, c->pmcr_e);
	return event;
}

static void counters_stop_after_the_last_event(struct kunit *test)
{
	struct perf_event *event = pmuv3_test_leave_cpu_0(test, 0);
	const struct pmuv3_cpu *c = &per_cpu(pmuv3_cpu, 0);
	unsigned int i;

	perf_event_release_kernel(event);
	for (i = 0; i < 30 && READ_ONCE(c->pmcr_e); i++)
		msleep(100);
	KUNIT_EXPECT_FALSE(test, c->pmcr_e);
	KUNIT_EXPECT_EQ(test, c->enabled, 0);
	KUNIT_EXPECT_EQ(test, c->interrupts, 0);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* Counters that interrupt although they have no event are set to overflow at once. */
static void pmuv3_test_overflow_strays(void *strays)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long counters = c->interrupts & c->enabled & ~c->used;
	unsigned int idx;

	for_each_set_bit(idx, &counters, ARMPMU_MAX_HWEVENTS)
		pmuv3_write_register(idx, -1ULL);
	isb();
	*(u64 *)strays = counters;
}

static void counters_without_an_event_interrupt_once(struct kunit *test)
{
	/* With config1:1 (rdpmc) the counter interrupts after 2^31 occurrences at the latest. */
	struct perf_event *event = pmuv3_test_leave_cpu_0(test, BIT(1));
	const struct pmuv3_cpu *c = &per_cpu(pmuv3_cpu, 0);
	u64 strays = 0;
	unsigned int i;

	smp_call_function_single(0, pmuv3_test_overflow_strays, &strays, true);
	KUNIT_EXPECT_NE(test, strays, 0);
	for (i = 0; i < 30 && READ_ONCE(c->enabled) & strays; i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, c->enabled & strays, 0);
	KUNIT_EXPECT_EQ(test, c->interrupts & strays, 0);
	KUNIT_EXPECT_FALSE(test, c->pmcr_e);
	perf_event_release_kernel(event);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

/* ---------------------------------------------------------------------- schedules */

/**
 * struct pmuv3_test_one - a schedule of one event, and what was found
 * @event: the event, on counter 0
 * @s: the schedule
 * @throttled: what KVM has while the event is throttled
 * @started: counters that KVM, or any event, has while the event counts
 * @unloaded: the same when the event is not loaded
 * @enabled: is the counter enabled?
 * @type: type of the counter
 */
struct pmuv3_test_one {
	struct perf_event	*event;
	struct perf_schedule	*s;
	u64			throttled;
	u64			started;
	u64			unloaded;
	u64			enabled;
	u64			type;
};

/* An event of the host in a schedule with one slot. */
static void pmuv3_test_init_one(struct kunit *test, struct pmuv3_test_one *t)
{
	t->event = kunit_kzalloc(test, sizeof(*t->event), GFP_KERNEL);
	t->s = kunit_kzalloc(test, sizeof(*t->s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->event);
	KUNIT_ASSERT_NOT_NULL(test, t->s);
	t->event->hw.idx = -1;
	t->event->hw.config_base = ARMV8_PMUV3_PERFCTR_INST_RETIRED | PMUV3_KVM_HOST;
	t->event->attr.exclude_guest = 1;
	t->s->slot[0].event = t->event;
}

/* Calls @fn on a CPU without events. */
static void pmuv3_test_with_one(struct kunit *test, struct pmuv3_test_one *t,
				void (*fn)(struct pmuv3_test_one *t))
{
	bool idle;

	get_cpu();
	idle = this_cpu_ptr(&pmuv3_cpu)->pmu && !this_cpu_ptr(&pmuv3_cpu)->used;
	if (idle) {
		guard(irqsave)();
		fn(t);
	}
	put_cpu();
	KUNIT_ASSERT_TRUE_MSG(test, idle, "the PMU is in use");
}

/* A sampling event that is throttled when it is loaded, as after a switch of tasks. */
static void pmuv3_test_load_throttled(struct pmuv3_test_one *t)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmu *pmu = &c->pmu->pmu;

	t->event->pmu = pmu;
	t->event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	t->event->hw.interrupts = PERF_THROTTLED;
	t->s->nr = 1;
	pmuv3_sched_load(pmu, t->s);
	t->throttled = c->kvm;
	t->enabled = c->enabled & 1;
	pmuv3_start(t->event, 0);
	t->started = c->kvm;
	pmuv3_sched_save(pmu, t->s, 1, NULL);
	t->unloaded = c->kvm;
	t->s->nr = 0;
	pmuv3_sched_load(pmu, t->s);
}

/* KVM without VHE enables the counters at guest exit that it has been given. */
static void kvm_gets_no_counter_of_a_stopped_event(struct kunit *test)
{
	struct pmuv3_test_one t = {};

	pmuv3_test_init_one(test, &t);
	t.event->hw.flags = PMUV3_EVT_SAMPLES;
	t.event->hw.sample_period = S32_MAX;
	local64_set(&t.event->hw.period_left, S32_MAX);
	pmuv3_test_with_one(test, &t, pmuv3_test_load_throttled);
	KUNIT_EXPECT_EQ(test, t.throttled, 0);
	KUNIT_EXPECT_EQ(test, t.enabled, 0);
	KUNIT_EXPECT_EQ(test, t.started, 1);
	KUNIT_EXPECT_EQ(test, t.unloaded, 0);
}

/* A counting event that KVM switches is replaced by an empty schedule. */
static void pmuv3_test_replace_last(struct pmuv3_test_one *t)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmu *pmu = &c->pmu->pmu;

	t->event->pmu = pmu;
	t->s->nr = 1;
	pmuv3_sched_load(pmu, t->s);
	t->started = c->kvm;
	t->s->nr = 0;
	pmuv3_sched_load(pmu, t->s);
	t->unloaded = c->kvm;
	t->enabled = c->enabled;
}

static void the_last_event_leaves_no_counter_to_kvm(struct kunit *test)
{
	struct pmuv3_test_one t = { .enabled = 1 };

	pmuv3_test_init_one(test, &t);
	pmuv3_test_with_one(test, &t, pmuv3_test_replace_last);
	KUNIT_EXPECT_EQ(test, t.started, 1);
	KUNIT_EXPECT_EQ(test, t.unloaded, 0);
	KUNIT_EXPECT_EQ(test, t.enabled, 0);
}

/* ------------------------------------------------------------------------- stamps */

/* Loads and saves a schedule of one event; returns whether it has the stamp of the registers. */
static bool pmuv3_test_run_once(struct pmuv3_test_one *t)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct pmu *pmu = &c->pmu->pmu;

	t->event->pmu = pmu;
	t->s->nr = 1;
	pmuv3_sched_load(pmu, t->s);
	t->started = c->used;
	t->enabled = c->enabled & 1;
	t->type = c->type[0];
	pmuv3_sched_save(pmu, t->s, 1, NULL);
	t->unloaded = c->used;
	return t->s->stamp == c->stamp;
}

/* @t: two events with one counter. Something is written between two loads of each schedule. */
static void pmuv3_test_change_registers(struct pmuv3_test_one *t)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	struct perf_schedule nothing = {};
	unsigned int stamped = 0, valid = 0;

	for (unsigned int i = 0; i < 3; i++) {
		stamped += pmuv3_test_run_once(&t[i % 2]);
		valid += t[!(i % 2)].s->stamp == c->stamp;
	}
	stamped += pmuv3_test_run_once(&t[0]);
	pmuv3_sched_load(&c->pmu->pmu, &nothing);
	valid += t[0].s->stamp == c->stamp;
	stamped += pmuv3_test_run_once(&t[0]);
	t[1].type = valid;
	t[1].started = stamped;
}

static void a_stamp_ends_with_the_values_of_registers(struct kunit *test)
{
	struct pmuv3_test_one t[2] = {};

	for (unsigned int i = 0; i < 2; i++) {
		pmuv3_test_init_one(test, &t[i]);
		t[i].event->hw.config_base = i ? ARMV8_PMUV3_PERFCTR_CPU_CYCLES :
						 ARMV8_PMUV3_PERFCTR_INST_RETIRED;
	}
	pmuv3_test_with_one(test, t, pmuv3_test_change_registers);
	KUNIT_EXPECT_EQ(test, t[1].started, 5);
	KUNIT_EXPECT_EQ(test, t[1].type, 0);
	KUNIT_EXPECT_EQ(test, t[0].type, ARMV8_PMUV3_PERFCTR_INST_RETIRED);
	KUNIT_EXPECT_EQ(test, t[0].enabled, 1);
	KUNIT_EXPECT_EQ(test, t[0].started, 1);
	KUNIT_EXPECT_EQ(test, t[0].unloaded, 0);
}

/* A task's schedule may be loaded on another CPU next. */
static void stamps_of_two_cpus_differ(struct kunit *test)
{
	u64 stamp[2] = {};
	unsigned int cpu, nr = 0;

	for_each_online_cpu(cpu) {
		if (nr < 2 && per_cpu(pmuv3_cpu, cpu).pmu)
			stamp[nr++] = per_cpu(pmuv3_cpu, cpu).stamp;
	}
	if (nr < 2)
		kunit_skip(test, "needs two CPUs with a PMU");
	KUNIT_EXPECT_NE(test, stamp[0], 0);
	KUNIT_EXPECT_NE(test, stamp[0] >> 48, stamp[1] >> 48);
}

static struct kunit_case pmuv3_test_driver_cases[] = {
	KUNIT_CASE(branches_are_all_branches),
	KUNIT_CASE(reserved_bus_widths_are_0),
	KUNIT_CASE_SLOW(counters_stop_after_the_last_event),
	KUNIT_CASE(counters_without_an_event_interrupt_once),
	KUNIT_CASE(kvm_gets_no_counter_of_a_stopped_event),
	KUNIT_CASE(the_last_event_leaves_no_counter_to_kvm),
	KUNIT_CASE(a_stamp_ends_with_the_values_of_registers),
	KUNIT_CASE(stamps_of_two_cpus_differ),
	{}
};

static struct kunit_suite pmuv3_test_driver_suite = {
	.name		= "perf-pmuv3-driver",
	.test_cases	= pmuv3_test_driver_cases,
};

kunit_test_suite(pmuv3_test_driver_suite);
