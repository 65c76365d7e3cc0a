// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the in-kernel API. The events are software events, which the tests raise themselves.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "../ops/ops.h"
#include "soft.h"

/**
 * struct consumer - a kernel user of events
 * @event: events that the test has created
 * @nr: number of @event, 0 to 4
 * @overflows: calls of the overflow handler so far
 */
struct consumer {
	struct perf_event	*event[4];
	unsigned int		nr;
	unsigned int		overflows;
};

static int user_begin(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct consumer), GFP_KERNEL);
	if (!test->priv)
		return -ENOMEM;
	/* KUnit runs each test in a thread of its own: its affinity needs no restoring. */
	return set_cpus_allowed_ptr(current, cpumask_of(0));
}

static void user_end(struct kunit *test)
{
	struct consumer *u = test->priv;

	while (u && u->nr)
		perf_event_release_kernel(u->event[--u->nr]);
}

static void on_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	((struct consumer *)event->overflow_handler_context)->overflows++;
}

static struct perf_event *api_create(struct kunit *test, struct perf_event_attr *attr, int cpu,
				     struct task_struct *task)
{
	struct consumer *u = test->priv;
	struct perf_event *event;

	event = perf_event_create_kernel_counter(attr, cpu, task, on_overflow, u);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_ASSERT_LT(test, u->nr, ARRAY_SIZE(u->event));
	u->event[u->nr++] = event;
	return event;
}

static struct perf_event *create_soft(struct kunit *test, u64 period, int cpu,
				      struct task_struct *task)
{
	struct perf_event_attr attr = soft_attr(period);

	return api_create(test, &attr, cpu, task);
}

static void test_task_counter(struct kunit *test)
{
	struct perf_event *event = create_soft(test, 0, -1, current);
	u64 enabled, running, value;

	raise_here(5);
	KUNIT_EXPECT_EQ(test, perf_event_read_value(event, &enabled, &running), 5);
	KUNIT_EXPECT_GT(test, enabled, 0);
	KUNIT_EXPECT_EQ(test, enabled, running);
	KUNIT_EXPECT_EQ(test, perf_event_read_local(event, &value, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, value, 5);

	perf_event_disable(event);
	perf_event_disable(event);
	raise_here(5);
	KUNIT_EXPECT_EQ(test, value_of(event), 5);
	perf_event_enable(event);
	perf_event_enable(event);
	raise_here(5);
	KUNIT_EXPECT_EQ(test, value_of(event), 10);
}

static void test_cpu_counter(struct kunit *test)
{
	struct perf_event *here, *there;

	need_two_cpus(test);
	here = create_soft(test, 0, 0, NULL);
	there = create_soft(test, 0, 1, NULL);
	raise_here(3);
	raise_on(1, 7);
	KUNIT_EXPECT_EQ(test, value_of(here), 3);
	KUNIT_EXPECT_EQ(test, value_of(there), 7);
	perf_event_disable(there);
	raise_on(1, 7);
	KUNIT_EXPECT_EQ(test, value_of(there), 7);
	perf_event_enable(there);
	raise_on(1, 7);
	KUNIT_EXPECT_EQ(test, value_of(there), 14);
	KUNIT_EXPECT_EQ(test, value_of(here), 3);
}

static void test_created_disabled(struct kunit *test)
{
	struct perf_event_attr attr = soft_attr(0);
	struct perf_event *event;

	attr.disabled = 1;
	event = api_create(test, &attr, -1, current);
	raise_here(3);
	KUNIT_EXPECT_EQ(test, value_of(event), 0);
	perf_event_enable(event);
	raise_here(3);
	KUNIT_EXPECT_EQ(test, value_of(event), 3);
}

/*
 * An overflow has requested a disable, and another CPU enables the event before the irq_work is
 * run: the event stays enabled.
 */
static void test_enabled_before_pending_disable(struct kunit *test)
{
	struct perf_event_attr attr = soft_attr(0);
	struct perf_event *event = api_create(test, &attr, -1, current);

	WRITE_ONCE(event->pending_disable, 1);
	perf_event_enable(event);
	scoped_guard(preempt)
		irq_work_queue(&event->pending_disable_irq);
	irq_work_sync(&event->pending_disable_irq);
	raise_here(3);
	KUNIT_EXPECT_EQ(test, value_of(event), 3);
}

static int raise_and_wait(void *nr)
{
	raise_here((uintptr_t)nr);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* The event keeps its count, and no event can be created for a task that has exited. */
static void test_task_that_ends(struct kunit *test)
{
	struct perf_event_attr attr = soft_attr(0);
	struct task_struct *task = kthread_create(raise_and_wait, (void *)6, "perf-api");
	struct perf_event *event, *late;

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	event = create_soft(test, 0, -1, task);
	wake_up_process(task);
	msleep(20);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, value_of(event), 6);
	perf_event_enable(event);
	KUNIT_EXPECT_EQ(test, perf_event_pause(event, false), 6);
	KUNIT_EXPECT_EQ(test, value_of(event), 6);

	late = perf_event_create_kernel_counter(&attr, -1, task, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(late), -ESRCH);
	put_task_struct(task);
}

static void test_create_refuses(struct kunit *test)
{
	struct perf_event_attr attr = soft_attr(0);

	expect_refused(test, &attr, -1, -EINVAL);
	expect_refused(test, &attr, nr_cpu_ids, -EINVAL);
	attr.aux_output = 1;
	expect_refused(test, &attr, 0, -EINVAL);
	attr.aux_output = 0;
	attr.aux_pause = 1;
	expect_refused(test, &attr, 0, -EINVAL);
	attr.aux_pause = 0;
	attr.config = PERF_COUNT_SW_MAX;
	expect_refused(test, &attr, 0, -ENOENT);
	attr.type = 0x7ffffffe;
	expect_refused(test, &attr, 0, -ENOENT);
}

static void test_pause_counter(struct kunit *test)
{
	struct perf_event *event = create_soft(test, 0, -1, current);

	raise_here(4);
	KUNIT_EXPECT_EQ(test, perf_event_pause(event, false), 4);
	raise_here(4);
	KUNIT_EXPECT_EQ(test, perf_event_pause(event, true), 4);
	KUNIT_EXPECT_EQ(test, value_of(event), 0);
	raise_here(4);
	KUNIT_EXPECT_EQ(test, value_of(event), 0);
	perf_event_enable(event);
	raise_here(4);
	KUNIT_EXPECT_EQ(test, value_of(event), 4);
}

static void test_refresh(struct kunit *test)
{
	struct perf_event_attr attr = soft_attr(1);
	struct consumer *u = test->priv;
	struct perf_event *event;

	attr.disabled = 1;
	event = api_create(test, &attr, -1, current);
	KUNIT_EXPECT_EQ(test, perf_event_refresh(event, 2), 0);
	raise_here(5);
	KUNIT_EXPECT_EQ(test, u->overflows, 2);
	KUNIT_EXPECT_EQ(test, (int)event->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, value_of(event), 2);
	KUNIT_EXPECT_EQ(test, perf_event_refresh(event, 1), 0);
	raise_here(5);
	KUNIT_EXPECT_EQ(test, u->overflows, 3);

	KUNIT_EXPECT_EQ(test, perf_event_refresh(create_soft(test, 0, -1, current), 1), -EINVAL);
	attr.inherit = 1;
	KUNIT_EXPECT_EQ(test, perf_event_refresh(api_create(test, &attr, -1, current), 1), -EINVAL);
}

static void test_period(struct kunit *test)
{
	struct perf_event *event = create_soft(test, 100, -1, current);
	struct perf_event *counts = create_soft(test, 0, -1, current);
	struct consumer *u = test->priv;

	raise_here(99);
	KUNIT_EXPECT_EQ(test, u->overflows, 0);
	raise_here(1);
	KUNIT_EXPECT_EQ(test, u->overflows, 1);
	KUNIT_EXPECT_EQ(test, perf_event_period(event, 10), 0);
	/* The current period may end at once. */
	raise_here(10);
	u->overflows = 0;
	raise_here(50);
	KUNIT_EXPECT_EQ(test, u->overflows, 5);

	KUNIT_EXPECT_EQ(test, perf_event_period(event, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, perf_event_period(event, BIT_ULL(63)), -EINVAL);
	KUNIT_EXPECT_EQ(test, perf_event_period(counts, 10), -EINVAL);
	u->overflows = 0;
	raise_here(50);
	KUNIT_EXPECT_EQ(test, u->overflows, 5);
}

static void test_read_local_refuses(struct kunit *test)
{
	struct perf_event_attr attr = soft_attr(0);
	struct perf_event *pinned;
	struct task_struct *task;
	u64 value;

	attr.inherit = 1;
	KUNIT_EXPECT_EQ(test, perf_event_read_local(api_create(test, &attr, -1, current), &value,
						    NULL, NULL), -EOPNOTSUPP);
	attr.inherit = 0;
	attr.pinned = 1;
	pinned = api_create(test, &attr, -1, current);
	KUNIT_EXPECT_EQ(test, perf_event_read_local(pinned, &value, NULL, NULL), 0);
	perf_event_disable(pinned);
	KUNIT_EXPECT_EQ(test, perf_event_read_local(pinned, &value, NULL, NULL), -EBUSY);

	task = kthread_run(raise_and_wait, NULL, "perf-api");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_EQ(test, perf_event_read_local(create_soft(test, 0, -1, task), &value, NULL,
						    NULL), -EINVAL);
	kthread_stop(task);
	if (cpu_online(1))
		KUNIT_EXPECT_EQ(test, perf_event_read_local(create_soft(test, 0, 1, NULL), &value,
							    NULL, NULL), -EINVAL);
}

/**
 * struct long_hit - a hit with an overflow handler of some milliseconds
 * @running: the handler runs
 * @nr: calls of the handler that have ended
 */
struct long_hit {
	bool		running;
	unsigned int	nr;
};

static void on_long_overflow(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	struct long_hit *hit = event->overflow_handler_context;

	WRITE_ONCE(hit->running, true);
	mdelay(20);
	hit->nr++;
	WRITE_ONCE(hit->running, false);
}

static void disable_only(struct perf_event *event)
{
	perf_event_disable(event);
}

static void pause_only(struct perf_event *event)
{
	perf_event_pause(event, false);
}

static void release_only(struct perf_event *event)
{
	perf_event_release_kernel(event);
}

/* A thread on CPU 1 hits an event, which this CPU stops while the handler runs. */
static void expect_handler_ended(struct kunit *test, void (*stop)(struct perf_event *event))
{
	struct long_hit *hit = kunit_kzalloc(test, sizeof(*hit), GFP_KERNEL);
	struct perf_event_attr attr = soft_attr(1);
	unsigned long end = jiffies + 5 * HZ;
	struct perf_event *event;
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, hit);
	event = perf_event_create_kernel_counter(&attr, 1, NULL, on_long_overflow, hit);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	task = kthread_create(raise_and_wait, (void *)1, "perf-api");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, 1);
	wake_up_process(task);
	while (!READ_ONCE(hit->running) && time_before(jiffies, end))
		usleep_range(50, 100);

	stop(event);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(hit->running));
	KUNIT_EXPECT_EQ(test, hit->nr, 1);
	kthread_stop(task);
	if (stop != release_only)
		perf_event_release_kernel(event);
}

/* A hit of a software event has interrupts on: the request to stop the event interrupts it. */
static void test_stopped_after_handler(struct kunit *test)
{
	need_two_cpus(test);
	expect_handler_ended(test, disable_only);
	expect_handler_ended(test, pause_only);
	expect_handler_ended(test, release_only);
}

/* Defaults of the sysctls, but for the sample rate, which the load of the machine changes. */
static void test_defaults(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sysctl_perf_event_paranoid,
			IS_ENABLED(CONFIG_SECURITY_PERF_EVENTS_RESTRICT) ? 3 : 2);
	KUNIT_EXPECT_EQ(test, sysctl_perf_event_mlock, (int)(512 + PAGE_SIZE / 1024));
	KUNIT_EXPECT_EQ(test, sysctl_perf_event_max_stack, 127);
	KUNIT_EXPECT_EQ(test, sysctl_perf_event_max_contexts_per_stack, 8);
}

/* A clock is stopped when its timer has expired: the timer expires again soon after the start. */
static void test_late_clock(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_CPU_CLOCK,
		.size		= sizeof(attr),
		.sample_period	= 20 * NSEC_PER_MSEC,
	};
	struct perf_event *event = api_create(test, &attr, 0, NULL);
	s64 stopped, started;

	scoped_guard(irqsave) {
		mdelay(25);
		event->pmu->stop(event, PERF_EF_UPDATE);
		stopped = local64_read(&event->hw.period_left);
		event->pmu->start(event, 0);
		started = ktime_to_ns(hrtimer_get_remaining(&event->hw.hrtimer));
	}
	KUNIT_EXPECT_EQ(test, stopped, 1);
	KUNIT_EXPECT_LE(test, started, (s64)NSEC_PER_MSEC);
}

static struct kunit_case user_cases[] = {
	KUNIT_CASE(test_task_counter),
	KUNIT_CASE(test_cpu_counter),
	KUNIT_CASE(test_created_disabled),
	KUNIT_CASE(test_enabled_before_pending_disable),
	KUNIT_CASE(test_task_that_ends),
	KUNIT_CASE(test_create_refuses),
	KUNIT_CASE(test_pause_counter),
	KUNIT_CASE(test_refresh),
	KUNIT_CASE(test_period),
	KUNIT_CASE(test_read_local_refuses),
	KUNIT_CASE(test_stopped_after_handler),
	KUNIT_CASE(test_late_clock),
	KUNIT_CASE(test_defaults),
	{ }
};

static struct kunit_suite user_suite = {
	.name		= "perf_api",
	.init		= user_begin,
	.exit		= user_end,
	.test_cases	= user_cases,
};

kunit_test_suite(user_suite);
