// SPDX-License-Identifier: GPL-2.0
/* A PMU for tests: all its events count one number, which the test adds to. */
#include <linux/slab.h>

#include "helpers.h"
#include "meter_pmu.h"

static void meter_destroy(struct perf_event *event)
{
	atomic_inc(&meter_of(event)->ended);
}

static int meter_init(struct perf_event *event)
{
	struct meter *m = meter_of(event);

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (m->gated) {
		complete(&m->asked);
		wait_for_completion(&m->gate);
		return -EINVAL;
	}
	atomic_inc(&m->made);
	event->attach_state |= m->attach;
	event->destroy = meter_destroy;
	return 0;
}

static void meter_read(struct perf_event *event)
{
	struct meter *m = meter_of(event);
	u64 now = atomic64_read(&m->now);

	if (!(event->hw.state & PERF_HES_STOPPED))
		local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void meter_start(struct perf_event *event, int flags)
{
	perf_event_addr_filters_sync(event);
	local64_set(&event->hw.prev_count, atomic64_read(&meter_of(event)->now));
	event->hw.state = 0;
}

static void meter_stop(struct perf_event *event, int flags)
{
	meter_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static bool meter_refuses(const struct perf_event *event, const struct meter *m)
{
	if (event->attr.pinned && m->broken)
		return true;
	return m->units && atomic_read(&m->active) >= m->units;
}

/* hw.idx is the CPU. */
static int meter_add(struct perf_event *event, int flags)
{
	struct meter *m = meter_of(event);

	if (meter_refuses(event, m)) {
		m->pinned_refused += event->attr.pinned;
		return -EAGAIN;
	}
	atomic_inc(&m->active);
	event->hw.idx = smp_processor_id();
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		meter_start(event, flags);
	return 0;
}

static void meter_del(struct perf_event *event, int flags)
{
	atomic_dec(&meter_of(event)->active);
	WARN_ON_ONCE(event->hw.idx != smp_processor_id());
	meter_stop(event, PERF_EF_UPDATE);
	event->hw.idx = -1;
}

int meter_register(struct meter *m)
{
	int ret = perf_pmu_register(&m->pmu, "perf_kunit_meter", -1);

	m->registered = !ret;
	return ret;
}

int meter_begin(struct kunit *test)
{
	struct meter *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	init_completion(&m->gate);
	init_completion(&m->asked);
	m->pmu = (struct pmu){
		.task_ctx_nr	= perf_invalid_context,
		.event_init	= meter_init,
		.add		= meter_add,
		.del		= meter_del,
		.start		= meter_start,
		.stop		= meter_stop,
		.read		= meter_read,
	};
	test->priv = m;
	return set_cpus_allowed_ptr(current, cpumask_of(0));
}

void meter_close_all(struct meter *m)
{
	while (m->nr)
		perf_event_release_kernel(m->event[--m->nr]);
}

void meter_end(struct kunit *test)
{
	struct meter *m = test->priv;

	if (!m)
		return;
	meter_close_all(m);
	if (m->registered)
		perf_pmu_unregister(&m->pmu);
	kfree(m);
}

struct perf_event_attr meter_attr(struct meter *m)
{
	return (struct perf_event_attr){
		.type = m->pmu.type, .size = sizeof(struct perf_event_attr),
	};
}

struct perf_event *meter_open(struct kunit *test, struct perf_event_attr *attr, int cpu,
			      struct task_struct *task, struct perf_event *leader)
{
	struct perf_event_spec spec = {
		.attr = attr, .cpu = cpu, .task = task, .leader = leader, .cgroup_fd = -1,
	};
	struct perf_event *event = perf_event_alloc(&spec);
	struct perf_event_pmu_context *epc;
	struct meter *m = test->priv;

	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_ASSERT_LT(test, m->nr, METER_MAX_EVENTS);
	event->ctx = perf_event_find_context(event);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event->ctx));
	m->event[m->nr++] = event;
	scoped_guard(mutex, &event->ctx->mutex) {
		KUNIT_ASSERT_EQ(test, perf_install_prepare(event->ctx, event, &epc), 0);
		perf_install(event->ctx, event, epc);
	}
	return event;
}

struct perf_event *meter_open_on(struct kunit *test, int cpu, struct perf_event *leader)
{
	struct perf_event_attr attr = meter_attr(test->priv);

	return meter_open(test, &attr, cpu, NULL, leader);
}

void meter_expect_counts(struct kunit *test, struct perf_event *event, int cpu)
{
	struct meter *m = test->priv;
	u64 before = value_of(event);

	KUNIT_EXPECT_EQ(test, (int)event->state, PERF_EVENT_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, event->hw.idx, cpu);
	KUNIT_EXPECT_EQ(test, event->cpu, cpu);
	KUNIT_EXPECT_EQ(test, event->attach_state & (PERF_ATTACH_CONTEXT | PERF_ATTACH_MOVING),
			PERF_ATTACH_CONTEXT);
	atomic64_add(10, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(event), before + 10);
}
