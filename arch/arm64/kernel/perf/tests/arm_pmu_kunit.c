// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the framework of PMUs with counters, on a PMU without registers. */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/perf/arm_pmu.h>
#include <linux/smp.h>

#define TEST_PERIOD	1000

/**
 * struct test_pmu - a PMU with one counter of 32 bits
 * @armpmu: the PMU
 * @event: its event
 * @counter: value of the counter
 * @enabled: the counter counts
 * @nr_enables: calls of arm_pmu::enable
 */
struct test_pmu {
	struct arm_pmu		*armpmu;
	struct perf_event	event;
	u64			counter;
	bool			enabled;
	unsigned int		nr_enables;
};

static struct test_pmu *test_pmu_of(struct perf_event *event)
{
	return container_of(event, struct test_pmu, event);
}

static void test_pmu_enable(struct perf_event *event)
{
	test_pmu_of(event)->enabled = true;
	test_pmu_of(event)->nr_enables++;
}

static void test_pmu_disable(struct perf_event *event)
{
	test_pmu_of(event)->enabled = false;
}

static u64 test_pmu_read_counter(struct perf_event *event)
{
	return test_pmu_of(event)->counter;
}

static void test_pmu_write_counter(struct perf_event *event, u64 value)
{
	test_pmu_of(event)->counter = value;
}

static int test_pmu_get_event_idx(struct pmu_hw_events *hw_events, struct perf_event *event)
{
	return test_and_set_bit(0, hw_events->used_mask) ? -EAGAIN : 0;
}

static void test_pmu_clear_event_idx(struct pmu_hw_events *hw_events, struct perf_event *event)
{
	clear_bit(0, hw_events->used_mask);
}

static void test_pmu_nop(struct arm_pmu *armpmu)
{
}

static int test_pmu_begin(struct kunit *test)
{
	struct test_pmu *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct hw_perf_event *hw;

	if (!t)
		return -ENOMEM;
	t->armpmu = armpmu_alloc();
	if (!t->armpmu)
		return -ENOMEM;
	t->armpmu->enable = test_pmu_enable;
	t->armpmu->disable = test_pmu_disable;
	t->armpmu->read_counter = test_pmu_read_counter;
	t->armpmu->write_counter = test_pmu_write_counter;
	t->armpmu->get_event_idx = test_pmu_get_event_idx;
	t->armpmu->clear_event_idx = test_pmu_clear_event_idx;
	t->armpmu->start = test_pmu_nop;
	t->armpmu->stop = test_pmu_nop;
	cpumask_setall(&t->armpmu->supported_cpus);

	t->event.pmu = &t->armpmu->pmu;
	hw = &t->event.hw;
	hw->idx = -1;
	hw->sample_period = TEST_PERIOD;
	hw->last_period = TEST_PERIOD;
	local64_set(&hw->period_left, TEST_PERIOD);
	test->priv = t;
	return 0;
}

static void test_pmu_end(struct kunit *test)
{
	struct test_pmu *t = test->priv;

	if (t)
		armpmu_free(t->armpmu);
}

static int test_pmu_add(struct test_pmu *t)
{
	return t->armpmu->pmu.add(&t->event, PERF_EF_START);
}

static void an_added_event_counts(struct kunit *test)
{
	struct test_pmu *t = test->priv;

	guard(irqsave)();
	KUNIT_EXPECT_EQ(test, test_pmu_add(t), 0);
	KUNIT_EXPECT_TRUE(test, t->enabled);
	KUNIT_EXPECT_EQ(test, t->counter, (u64)(u32)-TEST_PERIOD);

	t->counter += 10;
	t->armpmu->pmu.del(&t->event, 0);
	KUNIT_EXPECT_FALSE(test, t->enabled);
	KUNIT_EXPECT_EQ(test, (u64)local64_read(&t->event.count), 10);
}

/* The tick starts it. */
static void a_throttled_event_is_added_stopped(struct kunit *test)
{
	struct test_pmu *t = test->priv;

	guard(irqsave)();
	t->event.hw.interrupts = PERF_THROTTLED;
	KUNIT_EXPECT_EQ(test, test_pmu_add(t), 0);
	KUNIT_EXPECT_EQ(test, t->nr_enables, 0);
	KUNIT_EXPECT_TRUE(test, t->event.hw.state & PERF_HES_STOPPED);

	t->event.hw.interrupts = 0;
	t->armpmu->pmu.start(&t->event, 0);
	KUNIT_EXPECT_TRUE(test, t->enabled);
	t->armpmu->pmu.del(&t->event, 0);
}

static void a_stopped_event_sleeps_stopped(struct kunit *test)
{
	struct test_pmu *t = test->priv;

	guard(irqsave)();
	KUNIT_EXPECT_EQ(test, test_pmu_add(t), 0);
	t->armpmu->power_down(t->armpmu);
	KUNIT_EXPECT_FALSE(test, t->enabled);
	t->armpmu->power_up(t->armpmu);
	KUNIT_EXPECT_TRUE(test, t->enabled);

	t->armpmu->pmu.stop(&t->event, 0);
	t->armpmu->power_down(t->armpmu);
	t->armpmu->power_up(t->armpmu);
	KUNIT_EXPECT_FALSE(test, t->enabled);
	t->armpmu->pmu.del(&t->event, 0);
}

static struct kunit_case arm_pmu_cases[] = {
	KUNIT_CASE(an_added_event_counts),
	KUNIT_CASE(a_throttled_event_is_added_stopped),
	KUNIT_CASE(a_stopped_event_sleeps_stopped),
	{}
};

static struct kunit_suite arm_pmu_suite = {
	.name		= "arm_pmu",
	.init		= test_pmu_begin,
	.exit		= test_pmu_end,
	.test_cases	= arm_pmu_cases,
};

kunit_test_suite(arm_pmu_suite);

MODULE_DESCRIPTION("KUnit tests of the framework of arm_pmu");
MODULE_LICENSE("GPL");
