// SPDX-License-Identifier: GPL-2.0
/* Tests of add/del PMUs that refuse events: a PMU with one unit, which all contexts share. */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/kthread.h>

#include "helpers.h"
#include "meter_pmu.h"
#include "soft.h"

/* No rotation while a test examines states, and one at each tick. */
#define LONG_MS		1000000
#define SHORT_MS	1

#define expect_state(test, event, expected) \
	KUNIT_EXPECT_EQ(test, (int)(event)->state, PERF_EVENT_STATE_##expected)

static int adddel_begin(struct kunit *test)
{
	int ret = meter_begin(test);
	struct meter *m = test->priv;

	if (ret)
		return ret;
	m->units = 1;
	m->pmu.task_ctx_nr = perf_hw_context;
	return 0;
}

static void set_up(struct kunit *test, int interval_ms)
{
	struct meter *m = test->priv;

	m->pmu.hrtimer_interval_ms = interval_ms;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
}

/* Of CPU 0, or of the running task if @task. */
static struct perf_event *open_event(struct kunit *test, bool task, bool pinned)
{
	struct perf_event_attr attr = meter_attr(test->priv);

	attr.pinned = pinned;
	return meter_open(test, &attr, task ? -1 : 0, task ? current : NULL, NULL);
}

static void close_last(struct kunit *test)
{
	struct meter *m = test->priv;

	perf_event_release_kernel(m->event[--m->nr]);
}

static u64 time_running(struct perf_event *event)
{
	u64 enabled, running;

	perf_event_read_value(event, &enabled, &running);
	return running;
}

static void pinned_stops_flexible(struct kunit *test, bool task)
{
	struct meter *m = test->priv;
	struct perf_event *flexible, *pinned;

	flexible = open_event(test, task, false);
	expect_state(test, flexible, ACTIVE);
	pinned = open_event(test, task, true);
	expect_state(test, pinned, ACTIVE);
	expect_state(test, flexible, INACTIVE);
	atomic64_add(10, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(pinned), 10);
	KUNIT_EXPECT_EQ(test, value_of(flexible), 0);

	close_last(test);
	expect_state(test, flexible, ACTIVE);
	atomic64_add(10, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(flexible), 10);
	meter_close_all(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
}

static void test_pinned_before_flexible(struct kunit *test)
{
	set_up(test, LONG_MS);
	pinned_stops_flexible(test, false);
	pinned_stops_flexible(test, true);
}

/* The running task's pinned event takes the unit from the CPU, and the CPU's from the task. */
static void test_pinned_of_other_context(struct kunit *test)
{
	struct perf_event *flexible, *pinned;

	set_up(test, LONG_MS);
	for (int task = 0; task < 2; task++) {
		flexible = open_event(test, task, false);
		pinned = open_event(test, !task, true);
		expect_state(test, pinned, ACTIVE);
		expect_state(test, flexible, INACTIVE);
		meter_close_all(test->priv);
	}
}

/* Only the CPU's flexible event runs while the task sleeps. */
static void test_pinned_at_switch(struct kunit *test)
{
	struct perf_event *flexible, *pinned;
	u64 before, enabled, running;

	set_up(test, SHORT_MS);
	flexible = open_event(test, false, false);
	pinned = open_event(test, true, true);
	for (int i = 0; i < 5; i++) {
		before = time_running(flexible);
		msleep(20);
		expect_state(test, pinned, ACTIVE);
		KUNIT_EXPECT_EQ(test, pinned->oncpu, 0);
		expect_state(test, flexible, INACTIVE);
		KUNIT_EXPECT_GT(test, time_running(flexible) - before, 5 * NSEC_PER_MSEC);
	}
	perf_event_read_value(pinned, &enabled, &running);
	KUNIT_EXPECT_EQ(test, enabled, running);
}

/* An event that is bound to a CPU takes the unit when its task moves to the CPU. */
static void test_pinned_of_bound_task(struct kunit *test)
{
	struct perf_event *flexible, *pinned;
	struct perf_event_attr attr;

	need_two_cpus(test);
	set_up(test, LONG_MS);
	attr = meter_attr(test->priv);
	flexible = meter_open(test, &attr, 1, NULL, NULL);
	attr.pinned = 1;
	pinned = meter_open(test, &attr, 1, current, NULL);
	expect_state(test, flexible, ACTIVE);
	expect_state(test, pinned, INACTIVE);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(1)), 0);
	expect_state(test, pinned, ACTIVE);
	KUNIT_EXPECT_EQ(test, pinned->oncpu, 1);
	expect_state(test, flexible, INACTIVE);
}

/* A flexible event that waits does not run before a pinned one of the same task. */
static void test_pinned_before_waiting(struct kunit *test)
{
	struct perf_event *flexible, *pinned;
	struct meter *m = test->priv;

	set_up(test, SHORT_MS);
	pinned = open_event(test, true, true);
	flexible = open_event(test, true, false);
	for (int i = 0; i < 5; i++) {
		usleep_range(2000, 4000);
		expect_state(test, pinned, ACTIVE);
		expect_state(test, flexible, INACTIVE);
	}
	KUNIT_EXPECT_EQ(test, m->pinned_refused, 0);
	KUNIT_EXPECT_EQ(test, time_running(flexible), 0);
}

static void second_pinned_fails(struct kunit *test, bool task, bool second_task)
{
	struct perf_event *flexible, *first, *second;

	flexible = open_event(test, task, false);
	first = open_event(test, task, true);
	second = open_event(test, second_task, true);
	expect_state(test, first, ACTIVE);
	expect_state(test, second, ERROR);
	expect_state(test, flexible, INACTIVE);
	usleep_range(2000, 4000);
	expect_state(test, first, ACTIVE);
	close_last(test);
	close_last(test);
	expect_state(test, flexible, ACTIVE);
	meter_close_all(test->priv);
}

static void test_second_pinned_fails(struct kunit *test)
{
	set_up(test, LONG_MS);
	second_pinned_fails(test, false, false);
	second_pinned_fails(test, true, true);
	second_pinned_fails(test, false, true);
}

/* A pinned event that fails even without flexible ones leaves them the unit. */
static void test_failure_stops_nothing(struct kunit *test)
{
	struct perf_event *flexible, *pinned;
	struct meter *m = test->priv;
	u64 enabled, running;

	set_up(test, LONG_MS);
	flexible = open_event(test, false, false);
	m->broken = true;
	pinned = open_event(test, true, true);
	expect_state(test, pinned, ERROR);
	expect_state(test, flexible, ACTIVE);
	perf_event_read_value(flexible, &enabled, &running);
	KUNIT_EXPECT_EQ(test, enabled, running);
}

/* Two flexible events share the unit; one of them runs at any time. */
static void test_flexible_take_turns(struct kunit *test)
{
	u64 enabled[2], running[2], sum;
	struct perf_event *event[2];

	set_up(test, SHORT_MS);
	for (int i = 0; i < 2; i++)
		event[i] = open_event(test, false, false);
	msleep(40);
	for (int i = 0; i < 2; i++) {
		perf_event_disable(event[i]);
		perf_event_read_value(event[i], &enabled[i], &running[i]);
		KUNIT_EXPECT_GT(test, running[i], enabled[i] / 4);
		KUNIT_EXPECT_LE(test, running[i], enabled[i]);
	}
	sum = running[0] + running[1];
	KUNIT_EXPECT_LE(test, sum, max(enabled[0], enabled[1]) + NSEC_PER_MSEC);
	KUNIT_EXPECT_GE(test, sum + 4 * NSEC_PER_MSEC, min(enabled[0], enabled[1]));
}

/* A driver that prepares a CPU in a callback of CPU hotplug. */
static DEFINE_PER_CPU(bool, adddel_prepared);
static atomic_t adddel_early;
static int (*adddel_meter_add)(struct perf_event *event, int flags);

static int prepare_cpu(unsigned int cpu)
{
	per_cpu(adddel_prepared, cpu) = true;
	return 0;
}

static int unprepare_cpu(unsigned int cpu)
{
	per_cpu(adddel_prepared, cpu) = false;
	return 0;
}

static int add_to_prepared_cpu(struct perf_event *event, int flags)
{
	if (!this_cpu_read(adddel_prepared))
		atomic_inc(&adddel_early);
	return adddel_meter_add(event, flags);
}

static void remove_state(void *state)
{
	cpuhp_remove_state((long)state);
}

static void test_drivers_prepare_cpus_first(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event[2];
	int state;

	if (!cpu_online(1))
		kunit_skip(test, "one CPU");
	m->units = 0;
	m->pmu.task_ctx_nr = perf_invalid_context;
	adddel_meter_add = m->pmu.add;
	m->pmu.add = add_to_prepared_cpu;
	atomic_set(&adddel_early, 0);
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perf:kunit", prepare_cpu, unprepare_cpu);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, remove_state, (void *)(long)state));
	set_up(test, LONG_MS);
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr attr = meter_attr(m);

		attr.pinned = i;
		event[i] = meter_open(test, &attr, 1, NULL, NULL);
	}
	KUNIT_EXPECT_EQ(test, remove_cpu(1), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, add_cpu(1), 0);
	for (int i = 0; i < 2; i++)
		meter_expect_counts(test, event[i], 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&adddel_early), 0);
}

static void adddel_filter(struct pmu *pmu, int cpu, bool *refused)
{
	*refused = cpu == 0;
}

/* The events of a task wait on a CPU that the PMU cannot count on: no pinned one fails there. */
static void test_task_on_other_kind_of_cpu(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event;

	need_two_cpus(test);
	m->pmu.filter = adddel_filter;
	set_up(test, LONG_MS);
	for (int pinned = 0; pinned < 2; pinned++) {
		event = open_event(test, true, pinned);
		expect_state(test, event, INACTIVE);
		for (int i = 0; i < 2; i++) {
			KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(1)), 0);
			expect_state(test, event, ACTIVE);
			atomic64_add(10, &m->now);
			KUNIT_EXPECT_EQ(test, value_of(event), 10 * (i + 1));
			KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
			expect_state(test, event, INACTIVE);
			atomic64_add(10, &m->now);
			msleep(20);
			KUNIT_EXPECT_EQ(test, value_of(event), 10 * (i + 1));
		}
		close_last(test);
	}
	/* It is opened where the PMU is, and closed where it is not. */
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(1)), 0);
	event = open_event(test, true, true);
	expect_state(test, event, ACTIVE);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	expect_state(test, event, INACTIVE);
	close_last(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
}

/* What is left of a group without its hardware event runs on all CPUs. */
static void test_software_rest_on_other_kind_of_cpu(struct kunit *test)
{
	struct perf_event_attr soft = soft_attr(0);
	struct perf_event *leader, *rest, *other;
	struct meter *m = test->priv;

	need_two_cpus(test);
	m->pmu.filter = adddel_filter;
	m->units = 0;
	set_up(test, LONG_MS);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(1)), 0);
	leader = open_event(test, true, false);
	rest = meter_open(test, &soft, -1, current, leader);
	other = open_event(test, true, false);
	perf_event_release_kernel(leader);
	m->event[0] = m->event[--m->nr];
	expect_state(test, rest, ACTIVE);

	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	expect_state(test, rest, ACTIVE);
	expect_state(test, other, INACTIVE);
	raise_here(3);
	KUNIT_EXPECT_EQ(test, value_of(rest), 3);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(1)), 0);
	expect_state(test, rest, ACTIVE);
	expect_state(test, other, ACTIVE);
}

static void adddel_accept(struct pmu *pmu, int cpu, bool *refused)
{
	*refused = false;
}

static int adddel_sleeper(void *unused)
{
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* pmu::filter rejects no CPU: an event that is enabled while its task sleeps starts with it. */
static void test_filter_that_rejects_nothing(struct kunit *test)
{
	struct perf_event_attr attr;
	struct meter *m = test->priv;
	struct task_struct *task;
	struct perf_event *event;

	m->pmu.filter = adddel_accept;
	set_up(test, LONG_MS);
	task = kthread_create(adddel_sleeper, NULL, "perf-adddel");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	attr = meter_attr(m);
	event = meter_open(test, &attr, -1, task, NULL);
	wake_up_process(task);
	msleep(50);
	expect_state(test, event, ACTIVE);
	meter_close_all(m);
	kthread_stop(task);
}

static struct kunit_case adddel_cases[] = {
	KUNIT_CASE(test_drivers_prepare_cpus_first),
	KUNIT_CASE(test_pinned_before_flexible),
	KUNIT_CASE(test_pinned_of_other_context),
	KUNIT_CASE(test_pinned_at_switch),
	KUNIT_CASE(test_pinned_of_bound_task),
	KUNIT_CASE(test_pinned_before_waiting),
	KUNIT_CASE(test_second_pinned_fails),
	KUNIT_CASE(test_failure_stops_nothing),
	KUNIT_CASE(test_flexible_take_turns),
	KUNIT_CASE(test_task_on_other_kind_of_cpu),
	KUNIT_CASE(test_filter_that_rejects_nothing),
	KUNIT_CASE(test_software_rest_on_other_kind_of_cpu),
	{ }
};

static struct kunit_suite adddel_suite = {
	.name		= "perf_adddel",
	.init		= adddel_begin,
	.exit		= meter_end,
	.test_cases	= adddel_cases,
};

kunit_test_suite(adddel_suite);
