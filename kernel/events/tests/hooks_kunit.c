// SPDX-License-Identifier: GPL-2.0
/* Tests of what drivers of branch records use: task data, switch callbacks, the snapshot call. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/static_call.h>

#include "helpers.h"
#include "meter_pmu.h"

#define DATA_WORDS	8

/* The slab of the PMU, and what sched_task has seen of @task; the callback has no PMU argument. */
static struct hooks {
	struct kmem_cache	*data;
	struct task_struct	*task;
	unsigned int		in;
	unsigned int		out;
	unsigned int		others;
	bool			present;
	bool			unbalanced;
} hooks;

/* The PMU can have events of tasks. */
static int hooks_begin(struct kunit *test)
{
	int ret = meter_begin(test);
	struct meter *m = test->priv;

	if (ret)
		return ret;
	memset(&hooks, 0, sizeof(hooks));
	hooks.task = current;
	hooks.present = true;
	hooks.data = kmem_cache_create("perf_kunit_data", DATA_WORDS * sizeof(u64), 0,
				       SLAB_NO_MERGE, NULL);
	m->pmu.task_ctx_nr = perf_sw_context;
	m->pmu.task_ctx_cache = hooks.data;
	return hooks.data ? 0 : -ENOMEM;
}

/* kmem_cache_destroy() reports objects that are still allocated. */
static void hooks_end(struct kunit *test)
{
	meter_end(test);
	/* The child's context is freed after a grace period. */
	rcu_barrier();
	kmem_cache_destroy(hooks.data);
}

static void test_task_has_data(struct kunit *test)
{
	struct perf_event *plain, *first, *second, *cpu;
	struct meter *m = test->priv;
	struct perf_event_attr attr;
	u64 *data;

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	plain = meter_open(test, &attr, -1, current, NULL);
	KUNIT_EXPECT_NULL(test, perf_event_task_data(plain));
	m->attach = PERF_ATTACH_TASK_DATA;
	cpu = meter_open(test, &attr, 0, NULL, NULL);
	KUNIT_EXPECT_NULL(test, perf_event_task_data(cpu));
	KUNIT_EXPECT_NULL(test, perf_event_task_data(plain));

	first = meter_open(test, &attr, -1, current, NULL);
	data = perf_event_task_data(first);
	KUNIT_ASSERT_NOT_NULL(test, data);
	KUNIT_EXPECT_NULL(test, memchr_inv(data, 0, DATA_WORDS * sizeof(u64)));
	memset(data, 0x5a, DATA_WORDS * sizeof(u64));
	second = meter_open(test, &attr, -1, current, NULL);
	KUNIT_EXPECT_PTR_EQ(test, perf_event_task_data(second), (void *)data);
	KUNIT_EXPECT_EQ(test, data[DATA_WORDS - 1], 0x5a5a5a5a5a5a5a5aULL);
	KUNIT_EXPECT_PTR_EQ(test, first->pmu_ctx, plain->pmu_ctx);
	KUNIT_EXPECT_NULL(test, perf_event_task_data(cpu));
	meter_close_all(m);
}

/* The first event of a context needs data. */
static void test_first_event_has_data(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event_attr attr;

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	m->attach = PERF_ATTACH_TASK_DATA;
	meter_open(test, &attr, -1, current, NULL);
	KUNIT_EXPECT_NOT_NULL(test, perf_event_task_data(m->event[0]));
	meter_close_all(m);
}

/* A child task has data of its own, zeroed; the event before it in the context needs none. */
static void test_child_has_data(struct kunit *test)
{
	struct task_struct *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct meter *m = test->priv;
	struct perf_event_attr attr;
	struct perf_event *event;
	u64 *data, *of_child;

	KUNIT_ASSERT_NOT_NULL(test, child);
	refcount_set(&child->usage, 2);
	raw_spin_lock_init(&child->pi_lock);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	attr.inherit = 1;
	meter_open(test, &attr, -1, current, NULL);
	m->attach = PERF_ATTACH_TASK_DATA;
	meter_open(test, &attr, -1, current, NULL);
	data = perf_event_task_data(m->event[1]);
	KUNIT_ASSERT_NOT_NULL(test, data);
	data[0] = 1;

	m->attach = 0;
	KUNIT_ASSERT_EQ(test, perf_event_init_task(child, 0), 0);
	KUNIT_ASSERT_NOT_NULL(test, child->perf_event_ctxp);
	event = list_last_entry(&child->perf_event_ctxp->event_list, struct perf_event,
				event_entry);
	of_child = perf_event_task_data(event);
	KUNIT_EXPECT_NOT_NULL(test, of_child);
	KUNIT_EXPECT_PTR_NE(test, of_child, data);
	if (of_child)
		KUNIT_EXPECT_EQ(test, of_child[0], 0);
	perf_event_free_task(child);
	meter_close_all(m);
}

static void hooks_sched_task(struct perf_event_pmu_context *pmu_ctx, struct task_struct *task,
			     bool sched_in)
{
	if (task != hooks.task) {
		hooks.others++;
		return;
	}
	hooks.unbalanced |= hooks.present == sched_in;
	hooks.present = sched_in;
	if (sched_in)
		hooks.in++;
	else
		hooks.out++;
}

static void hooks_request(struct pmu *pmu, bool on)
{
	guard(irqsave)();
	if (on)
		perf_sched_cb_inc(pmu);
	else
		perf_sched_cb_dec(pmu);
}

/* Leaves the CPU once; sleeping tasks and kernel threads have no events. */
static unsigned int hooks_calls_of_sleep(void)
{
	unsigned int before = hooks.in + hooks.out;

	usleep_range(1000, 2000);
	return hooks.in + hooks.out - before;
}

/* Tasks without events: each switch calls the PMUs with requests on this CPU, once. */
static void test_sched_task(struct kunit *test)
{
	struct meter *m = test->priv;

	m->pmu.sched_task = hooks_sched_task;
	m->attach = PERF_ATTACH_SCHED_CB;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	meter_open_on(test, 0, NULL);
	KUNIT_EXPECT_EQ(test, hooks_calls_of_sleep(), 0);

	hooks_request(&m->pmu, true);
	KUNIT_EXPECT_GE(test, hooks_calls_of_sleep(), 2);
	KUNIT_EXPECT_GE(test, hooks.others, 2);
	hooks_request(&m->pmu, true);
	hooks_request(&m->pmu, false);
	KUNIT_EXPECT_GE(test, hooks_calls_of_sleep(), 2);
	KUNIT_EXPECT_EQ(test, hooks.in, hooks.out);
	KUNIT_EXPECT_FALSE(test, hooks.unbalanced);

	hooks_request(&m->pmu, false);
	hooks.others = 0;
	KUNIT_EXPECT_EQ(test, hooks_calls_of_sleep(), 0);
	KUNIT_EXPECT_EQ(test, hooks.others, 0);
}

static int hooks_snapshot(struct perf_branch_entry *entries, unsigned int cnt)
{
	entries[0].from = 0x1234;
	return cnt;
}

static void test_snapshot(struct kunit *test)
{
	struct perf_branch_entry entry = {};
	perf_snapshot_branch_stack_t *before = static_call_query(perf_snapshot_branch_stack);

	static_call_update(perf_snapshot_branch_stack, hooks_snapshot);
	KUNIT_EXPECT_EQ(test, static_call(perf_snapshot_branch_stack)(&entry, 1), 1);
	KUNIT_EXPECT_EQ(test, entry.from, 0x1234);
	__static_call_update(&STATIC_CALL_KEY(perf_snapshot_branch_stack),
			     STATIC_CALL_TRAMP_ADDR(perf_snapshot_branch_stack), before);
}

static struct kunit_case hooks_cases[] = {
	KUNIT_CASE(test_task_has_data),
	KUNIT_CASE(test_first_event_has_data),
	KUNIT_CASE(test_child_has_data),
	KUNIT_CASE(test_sched_task),
	KUNIT_CASE(test_snapshot),
	{ }
};

static struct kunit_suite hooks_suite = {
	.name		= "perf_hooks",
	.init		= hooks_begin,
	.exit		= hooks_end,
	.test_cases	= hooks_cases,
};

kunit_test_suite(hooks_suite);
