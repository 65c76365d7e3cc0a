// SPDX-License-Identifier: GPL-2.0
/* Tests of PMUs: registering and unregistering, and address filters. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/uaccess.h>

#include "meter_pmu.h"
#include "helpers.h"
#include "soft.h"

static void test_pmu_types(struct kunit *test)
{
	struct meter *m = test->priv, *other;
	struct perf_event_attr attr;

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	other->pmu = m->pmu;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	KUNIT_EXPECT_GE(test, (int)m->pmu.type, PERF_TYPE_MAX);
	KUNIT_EXPECT_EQ(test, perf_pmu_register(&other->pmu, "perf_kunit_other", m->pmu.type),
			-ENOSPC);
	attr = meter_attr(m);
	meter_open_on(test, 0, NULL);
	meter_expect_counts(test, m->event[0], 0);
	meter_close_all(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->ended), 1);

	perf_pmu_unregister(&m->pmu);
	m->registered = false;
	expect_refused(test, &attr, 0, -ENOENT);
	/* The number is free again. */
	KUNIT_EXPECT_EQ(test, perf_pmu_register(&other->pmu, "perf_kunit_other", attr.type), 0);
	perf_pmu_unregister(&other->pmu);
}

/* A PMU with perf_invalid_context has no events of tasks. */
static void test_pmu_of_cpus(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event_attr attr;
	struct perf_event *event;

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->made), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->ended), 1);
}

/* Unregistering a PMU removes its PMU contexts from the contexts of tasks. */
static void test_unregister_removes_task_context(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event_attr attr;

	m->pmu.task_ctx_nr = perf_sw_context;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	meter_open(test, &attr, -1, current, NULL);
	atomic64_add(5, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(m->event[0]), 5);
	meter_close_all(m);
	perf_pmu_unregister(&m->pmu);
	m->registered = false;

	KUNIT_ASSERT_NOT_NULL(test, current->perf_event_ctxp);
	guard(mutex)(&current->perf_event_ctxp->mutex);
	KUNIT_EXPECT_NULL(test, perf_epc_find(current->perf_event_ctxp, &m->pmu));
}

struct late_open {
	struct perf_event_attr	attr;
	struct completion	done;
	int			ret;
};

static int open_late(void *arg)
{
	struct late_open *late = arg;
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&late->attr, 0, NULL, NULL, NULL);
	late->ret = PTR_ERR_OR_ZERO(event);
	complete(&late->done);
	return 0;
}

struct removal {
	struct pmu		*pmu;
	struct completion	done;
};

static int pmu_unregister_work(void *arg)
{
	struct removal *r = arg;

	perf_pmu_unregister(r->pmu);
	complete_all(&r->done);
	return 0;
}

/* perf_pmu_unregister() waits for event_init. */
static void test_unregister_waits(struct kunit *test)
{
	struct removal removal = {};
	struct late_open late = {};
	struct meter *m = test->priv;
	struct task_struct *task;

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	m->gated = true;
	late.attr = meter_attr(m);
	removal.pmu = &m->pmu;
	init_completion(&late.done);
	init_completion(&removal.done);
	task = kthread_run(open_late, &late, "perf-open");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wait_for_completion(&m->asked);
	m->registered = false;
	task = kthread_run(pmu_unregister_work, &removal, "perf-unregister");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&removal.done, HZ / 5), 0);
	complete(&m->gate);
	wait_for_completion(&late.done);
	wait_for_completion(&removal.done);
	KUNIT_EXPECT_EQ(test, late.ret, -EINVAL);
}

static void set_filter(struct kunit *test, struct perf_event *event, const char *text)
{
	void __user *user = user_page(test);

	KUNIT_ASSERT_EQ(test, copy_to_user(user, text, strlen(text) + 1), 0);
	KUNIT_EXPECT_EQ(test, perf_event_set_filter(event, user), 0);
}

static int meter_validate(struct list_head *filters)
{
	return 0;
}

static void meter_sync(struct perf_event *event)
{
	struct meter *m = meter_of(event);

	m->syncs++;
	memcpy(m->range, event->addr_filter_ranges, sizeof(m->range));
}

/* Ranges are programmed when they have changed, not at every start of the event. */
static void test_ranges_are_programmed(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event;
	unsigned int syncs;

	m->pmu.nr_addr_filters = METER_RANGES;
	m->pmu.addr_filters_validate = meter_validate;
	m->pmu.addr_filters_sync = meter_sync;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	event = meter_open_on(test, 0, NULL);
	syncs = m->syncs;
	set_filter(test, event, "filter 0x1000/0x100, start 0x2000");
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 1);
	KUNIT_EXPECT_EQ(test, m->range[0].start, 0x1000);
	KUNIT_EXPECT_EQ(test, m->range[0].size, 0x100);
	KUNIT_EXPECT_EQ(test, m->range[1].start, 0x2000);

	perf_event_disable(event);
	perf_event_enable(event);
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 1);
	set_filter(test, event, "filter 0x3000/0x10");
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 2);
	KUNIT_EXPECT_EQ(test, m->range[0].start, 0x3000);

	/* Changed while the event is off: programmed when it is enabled. */
	perf_event_disable(event);
	set_filter(test, event, "filter 0x4000/0x10");
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 2);
	perf_event_enable(event);
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 3);
	KUNIT_EXPECT_EQ(test, m->range[0].start, 0x4000);
}

/* The PMU and the CPUs of the last move. */
static struct {
	struct pmu	*pmu;
	int		from, to;
} scope_move;

static void record_scope_move(struct pmu *pmu, int from, int to)
{
	scope_move.pmu = pmu;
	scope_move.from = from;
	scope_move.to = to;
}

/* CPU 1 kept the events of its domain when it was unplugged; another CPU is designated now. */
static void test_scope_gathers_events(struct kunit *test)
{
	struct meter *m = test->priv;
	int designated;

	need_two_cpus(test);
	m->pmu.scope = PERF_PMU_SCOPE_SYS_WIDE;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	designated = cpumask_first(perf_scope_designated(PERF_PMU_SCOPE_SYS_WIDE));
	scope_move.pmu = NULL;
	perf_scope_cpu_online(designated, record_scope_move);
	KUNIT_EXPECT_NULL(test, scope_move.pmu);
	perf_scope_cpu_online(!designated, record_scope_move);
	KUNIT_EXPECT_PTR_EQ(test, scope_move.pmu, &m->pmu);
	KUNIT_EXPECT_EQ(test, scope_move.from, !designated);
	KUNIT_EXPECT_EQ(test, scope_move.to, designated);
}

/* An event of a PMU with one designated CPU is opened for any CPU, and read on any. */
static void test_scope_of_the_system(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event;
	u64 value;

	need_two_cpus(test);
	m->pmu.scope = PERF_PMU_SCOPE_SYS_WIDE;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	event = meter_open_on(test, 1, NULL);
	KUNIT_ASSERT_EQ(test, event->cpu, (int)cpumask_first(perf_scope_designated(m->pmu.scope)));
	meter_expect_counts(test, event, event->cpu);
	perf_pmu_migrate_context(&m->pmu, event->cpu, !event->cpu);
	meter_expect_counts(test, event, event->cpu);
	KUNIT_EXPECT_EQ(test, perf_event_read_local(event, &value, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, value, value_of(event));
}

/* All members of a group are of the PMU context that schedules the group. */
static void test_group_has_one_pmu_context(struct kunit *test)
{
	struct perf_event_attr soft = soft_attr(0);
	struct perf_event_pmu_context *epc;
	struct perf_event *leader, *sibling;
	struct meter *m = test->priv;

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	epc = &per_cpu_ptr(m->pmu.cpu_pmu_context, 0)->epc;
	leader = meter_open(test, &soft, 0, NULL, NULL);
	sibling = meter_open(test, &soft, 0, NULL, leader);
	meter_open_on(test, 0, leader);
	KUNIT_EXPECT_PTR_EQ(test, leader->pmu_ctx, epc);
	KUNIT_EXPECT_PTR_EQ(test, sibling->pmu_ctx, epc);
	KUNIT_EXPECT_EQ(test, epc->nr_events, 3);
	meter_close_all(m);
	KUNIT_EXPECT_EQ(test, epc->nr_events, 0);
}

/* The text of a module may be freed before the reason is read. */
static void test_reason_of_a_module(struct kunit *test)
{
	char fmt[] = "a literal of a module", text[128];

	KUNIT_EXPECT_EQ(test, __perf_refuse_0(-EINVAL, fmt), -EINVAL);
	fmt[0] = 0;
	perf_refusal_format(text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "refused by a module");
	KUNIT_EXPECT_EQ(test, perf_refuse(-EINVAL, "the kernel's own, %llu", 7ULL), -EINVAL);
	perf_refusal_format(text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "the kernel's own, 7");
}

/* A BPF program checks oncpu: it is a CPU only while the event's context is on it. */
static void test_bpf_output_is_not_resident(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->pmu = &perf_software_pmu;
	event->attr.type = PERF_TYPE_SOFTWARE;
	event->attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	KUNIT_EXPECT_EQ(test, perf_swevent_init(event), 0);
	KUNIT_EXPECT_NULL(test, event->destroy);
	KUNIT_EXPECT_FALSE(test, event->event_caps & PERF_EV_CAP_RESIDENT);
}

static struct kunit_case pmu_cases[] = {
	KUNIT_CASE(test_pmu_types),
	KUNIT_CASE(test_scope_gathers_events),
	KUNIT_CASE(test_pmu_of_cpus),
	KUNIT_CASE(test_unregister_removes_task_context),
	KUNIT_CASE(test_unregister_waits),
	KUNIT_CASE(test_ranges_are_programmed),
	KUNIT_CASE(test_scope_of_the_system),
	KUNIT_CASE(test_group_has_one_pmu_context),
	KUNIT_CASE(test_reason_of_a_module),
	KUNIT_CASE(test_bpf_output_is_not_resident),
	{ }
};

static struct kunit_suite pmu_suite = {
	.name		= "perf_pmu",
	.init		= meter_begin,
	.exit		= meter_end,
	.test_cases	= pmu_cases,
};

kunit_test_suite(pmu_suite);
