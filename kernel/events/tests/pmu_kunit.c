// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of PMUs that come and go, and of events that move from one CPU to another while somebody
 * uses them. All events of the PMU made up here count one number, which the tests add to.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../operations.h"
#include "soft.h"

static void expect_refused(struct kunit *test, struct perf_event_attr *attr, int cpu, int err)
{
	struct perf_event *event = perf_event_create_kernel_counter(attr, cpu, NULL, NULL, NULL);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), err);
	if (!IS_ERR(event))
		perf_event_release_kernel(event);
}

static struct perf_event_attr soft_attr(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_event_attr), .config = SOFT,
	};
}

/* -------------------------------------------------------------- a PMU made up here */

#define MAX_EVENTS	32
#define RANGES		2

/**
 * struct meter - the PMU
 * @pmu: it; serves CPUs as drivers of uncore PMUs do, if the test does not make it another
 * @registered: perf_pmu_unregister() is due
 * @now: what its events count
 * @active: events that have been added and not deleted
 * @made: events that were initialised
 * @ended: events that were destroyed
 * @syncs: how often ranges were programmed
 * @range: what they were
 * @gate: event_init waits here if @gated
 * @asked: event_init has been entered
 * @gated: the next event is to be refused, later
 * @event: the test's events
 * @nr: how many
 */
struct meter {
	struct pmu			pmu;
	bool				registered;
	atomic64_t			now;
	atomic_t			active;
	atomic_t			made;
	atomic_t			ended;
	unsigned int			syncs;
	struct perf_addr_filter_range	range[RANGES];
	struct completion		gate;
	struct completion		asked;
	bool				gated;
	struct perf_event		*event[MAX_EVENTS];
	unsigned int			nr;
};

static struct meter *meter_of(struct perf_event *event)
{
	return container_of(event->pmu, struct meter, pmu);
}

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

/* hw.idx is the CPU. */
static int meter_add(struct perf_event *event, int flags)
{
	atomic_inc(&meter_of(event)->active);
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

static int meter_register(struct meter *m)
{
	int ret = perf_pmu_register(&m->pmu, "perf_kunit_meter", -1);

	m->registered = !ret;
	return ret;
}

static int meter_begin(struct kunit *test)
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

static void close_meters(struct meter *m)
{
	while (m->nr)
		perf_event_release_kernel(m->event[--m->nr]);
}

static void meter_end(struct kunit *test)
{
	struct meter *m = test->priv;

	close_meters(m);
	if (m->registered)
		perf_pmu_unregister(&m->pmu);
	kfree(m);
}

static struct perf_event_attr meter_attr(struct meter *m)
{
	return (struct perf_event_attr){
		.type = m->pmu.type, .size = sizeof(struct perf_event_attr),
	};
}

/* As an open does; kernel users have no groups. */
static struct perf_event *open_meter(struct kunit *test, struct perf_event_attr *attr, int cpu,
				     struct task_struct *task, struct perf_event *leader)
{
	struct perf_event_spec spec = {
		.attr = attr, .cpu = cpu, .task = task, .leader = leader, .cgroup_fd = -1,
	};
	struct perf_event *event = perf_event_alloc(&spec);
	struct meter *m = test->priv;

	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_ASSERT_LT(test, m->nr, MAX_EVENTS);
	event->ctx = perf_event_find_context(event);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event->ctx));
	m->event[m->nr++] = event;
	scoped_guard(mutex, &event->ctx->mutex)
		KUNIT_ASSERT_EQ(test, perf_install(event->ctx, event), 0);
	return event;
}

static struct perf_event *open_on_cpu(struct kunit *test, int cpu, struct perf_event *leader)
{
	struct perf_event_attr attr = meter_attr(test->priv);

	return open_meter(test, &attr, cpu, NULL, leader);
}

static void expect_counts_on(struct kunit *test, struct perf_event *event, int cpu)
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

/* -------------------------------------------------------------- PMUs come and go */

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
	open_on_cpu(test, 0, NULL);
	expect_counts_on(test, m->event[0], 0);
	close_meters(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->ended), 1);

	perf_pmu_unregister(&m->pmu);
	m->registered = false;
	expect_refused(test, &attr, 0, -ENOENT);
	/* The number is free again. */
	KUNIT_EXPECT_EQ(test, perf_pmu_register(&other->pmu, "perf_kunit_other", attr.type), 0);
	perf_pmu_unregister(&other->pmu);
}

/* Its type is whole CPUs: no task can have it. */
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

/* A PMU that is gone leaves nothing of itself with a task that has had its events. */
static void test_task_forgets_pmu(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event_attr attr;

	m->pmu.task_ctx_nr = perf_sw_context;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	open_meter(test, &attr, -1, current, NULL);
	atomic64_add(5, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(m->event[0]), 5);
	close_meters(m);
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

static int unregister(void *arg)
{
	struct removal *r = arg;

	perf_pmu_unregister(r->pmu);
	complete_all(&r->done);
	return 0;
}

/* Whoever asks a PMU for an event is answered before the PMU is gone. */
static void test_unregister_waits(struct kunit *test)
{
	struct removal removal = {};
	struct late_open late = {};
	struct meter *m = test->priv;

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	m->gated = true;
	late.attr = meter_attr(m);
	removal.pmu = &m->pmu;
	init_completion(&late.done);
	init_completion(&removal.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(open_late, &late, "perf-open")));
	wait_for_completion(&m->asked);
	m->registered = false;
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(unregister, &removal, "perf-unregister")));
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&removal.done, HZ / 5), 0);
	complete(&m->gate);
	wait_for_completion(&late.done);
	wait_for_completion(&removal.done);
	KUNIT_EXPECT_EQ(test, late.ret, -EINVAL);
}

static void set_filter(struct kunit *test, struct perf_event *event, const char *text)
{
	unsigned long user = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE(test, user, 0);
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)user, text, strlen(text) + 1), 0);
	KUNIT_EXPECT_EQ(test, perf_event_set_filter(event, (void __user *)user), 0);
}

/* Ranges are programmed when they have changed, and when the event starts with others' there. */
static void test_ranges_are_programmed(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event;
	unsigned int syncs;

	m->pmu.nr_addr_filters = RANGES;
	m->pmu.addr_filters_validate = meter_validate;
	m->pmu.addr_filters_sync = meter_sync;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	event = open_on_cpu(test, 0, NULL);
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

	/* Set while it is off: when it is enabled. */
	perf_event_disable(event);
	set_filter(test, event, "filter 0x4000/0x10");
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 2);
	perf_event_enable(event);
	KUNIT_EXPECT_EQ(test, m->syncs, syncs + 3);
	KUNIT_EXPECT_EQ(test, m->range[0].start, 0x4000);
}

/* ------------------------------------------------------------ events that move */

static void test_migrate(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *single, *off, *leader, *sibling;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	single = open_on_cpu(test, 0, NULL);
	off = open_on_cpu(test, 0, NULL);
	leader = open_on_cpu(test, 0, NULL);
	sibling = open_on_cpu(test, 0, leader);
	perf_event_disable(off);
	atomic64_add(10, &m->now);

	perf_pmu_migrate_context(&m->pmu, 0, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 3);
	expect_counts_on(test, single, 1);
	expect_counts_on(test, leader, 1);
	expect_counts_on(test, sibling, 1);
	KUNIT_EXPECT_PTR_EQ(test, sibling->group_leader, leader);
	KUNIT_EXPECT_EQ(test, leader->nr_siblings, 1);
	KUNIT_EXPECT_EQ(test, (int)off->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, value_of(off), 0);
	perf_event_enable(off);
	expect_counts_on(test, off, 1);

	/* Nothing is left behind, and nothing of what other PMUs count goes along. */
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	expect_counts_on(test, single, 1);
	perf_pmu_migrate_context(&m->pmu, 1, 1);
	expect_counts_on(test, single, 1);
	perf_pmu_migrate_context(&m->pmu, 1, 0);
	expect_counts_on(test, single, 0);
	expect_counts_on(test, sibling, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 4);
	close_meters(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->made), atomic_read(&m->ended));
}

/* A group goes with the PMU that it is scheduled by, software leader and all; others stay. */
static void test_migrate_mixed_group(struct kunit *test)
{
	struct perf_event_attr soft = soft_attr();
	struct perf_event *leader, *sibling, *stays;
	struct meter *m = test->priv;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	stays = open_meter(test, &soft, 0, NULL, NULL);
	leader = open_meter(test, &soft, 0, NULL, NULL);
	sibling = open_on_cpu(test, 0, leader);
	raise_here(3);
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	expect_counts_on(test, sibling, 1);
	raise_here(4);
	raise_on(1, 5);
	KUNIT_EXPECT_EQ(test, leader->cpu, 1);
	KUNIT_EXPECT_EQ(test, value_of(leader), 8);
	KUNIT_EXPECT_EQ(test, stays->cpu, 0);
	KUNIT_EXPECT_EQ(test, value_of(stays), 7);
}

/**
 * struct wayside - what is done to an event that is on its way to CPU 1
 * @event: the event
 * @act: what; interrupts are off on CPU 1, where the event cannot arrive so
 * @after: what is done when they are on again, while it arrives
 * @ready: interrupts are off
 * @met: the event was seen on its way
 * @ret: what was answered
 * @value: and the count
 */
struct wayside {
	struct perf_event	*event;
	void			(*act)(struct wayside *w);
	void			(*after)(struct wayside *w);
	struct completion	ready;
	bool			met;
	int			ret;
	u64			value;
};

static int wait_by_the_way(void *arg)
{
	struct wayside *w = arg;
	unsigned long flags;
	u64 end;

	local_irq_save(flags);
	complete(&w->ready);
	end = local_clock() + NSEC_PER_SEC / 20;
	while (!w->met && local_clock() < end) {
		cpu_relax();
		w->met = READ_ONCE(w->event->attach_state) & PERF_ATTACH_MOVING;
	}
	if (w->met && w->act)
		w->act(w);
	local_irq_restore(flags);
	if (w->met && w->after)
		w->after(w);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void move_once(struct kunit *test, struct wayside *w)
{
	struct meter *m = test->priv;
	struct task_struct *task;

	init_completion(&w->ready);
	task = kthread_create_on_cpu(wait_by_the_way, w, 1, "perf-wayside");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);
	wait_for_completion(&w->ready);
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	kthread_stop(task);
}

/*
 * Moves the PMU's events to CPU 1; on the way something is done to one. Who wants an answer of
 * every CPU, as code patching does, may keep us from moving until CPU 1 has given up waiting.
 */
static void move_with(struct kunit *test, struct wayside *w)
{
	struct meter *m = test->priv;

	need_two_cpus(test);
	move_once(test, w);
	for (int i = 0; i < 20 && !w->met; i++) {
		perf_pmu_migrate_context(&m->pmu, 1, 0);
		move_once(test, w);
	}
	KUNIT_ASSERT_TRUE_MSG(test, w->met, "the event was not seen on its way");
}

static struct wayside first_of(struct kunit *test, void (*act)(struct wayside *w))
{
	struct meter *m = test->priv;
	struct wayside w = { .act = act };

	if (!m->registered)
		KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	w.event = open_on_cpu(test, 0, NULL);
	atomic64_add(10, &m->now);
	return w;
}

static void act_disable(struct wayside *w)
{
	perf_event_disable_local(w->event);
}

static void act_enable(struct wayside *w)
{
	perf_event_enable(w->event);
}

static void act_off_and_on(struct wayside *w)
{
	perf_event_disable(w->event);
	perf_event_enable(w->event);
}

static void act_pause(struct wayside *w)
{
	w->value = perf_event_pause(w->event, true);
}

static void act_reset(struct wayside *w)
{
	perf_event_reset(w->event);
}

static void act_read(struct wayside *w)
{
	w->ret = perf_event_read_local(w->event, &w->value, NULL, NULL);
}

static void act_period(struct wayside *w)
{
	w->ret = perf_event_period(w->event, 1000);
}

static void test_disabled_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_disable);
	struct meter *m = test->priv;

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, (int)w.event->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	atomic64_add(10, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 10);
	perf_event_enable(w.event);
	expect_counts_on(test, w.event, 1);
}

static void test_enabled_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_enable);
	struct meter *m = test->priv;

	perf_event_disable(w.event);
	atomic64_add(10, &m->now);
	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 10);
	expect_counts_on(test, w.event, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 1);
}

static void test_off_and_on_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_off_and_on);
	struct meter *m = test->priv;

	move_with(test, &w);
	expect_counts_on(test, w.event, 1);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 1);
}

static void test_paused_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_pause);

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, w.value, 10);
	KUNIT_EXPECT_EQ(test, (int)w.event->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 0);
	perf_event_enable(w.event);
	expect_counts_on(test, w.event, 1);
}

static void test_reset_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_reset);

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 0);
	expect_counts_on(test, w.event, 1);
}

static void test_read_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_read);

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, w.ret, 0);
	KUNIT_EXPECT_EQ(test, w.value, 10);
	expect_counts_on(test, w.event, 1);
}

static void test_period_on_the_way(struct kunit *test)
{
	struct perf_event_attr attr;
	struct meter *m = test->priv;
	struct wayside w = { .act = act_period };

	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	attr.sample_period = 100;
	w.event = open_meter(test, &attr, 0, NULL, NULL);
	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, w.ret, 0);
	KUNIT_EXPECT_EQ(test, w.event->attr.sample_period, 1000);
	expect_counts_on(test, w.event, 1);
}

/* The leader goes off while its group is on the way: the group arrives, and waits. */
static void test_group_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, act_disable);
	struct perf_event *sibling = open_on_cpu(test, 0, w.event);
	struct meter *m = test->priv;

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_PTR_EQ(test, sibling->group_leader, w.event);
	perf_event_enable(w.event);
	expect_counts_on(test, w.event, 1);
	expect_counts_on(test, sibling, 1);
}

static void release(struct wayside *w)
{
	perf_event_release_kernel(w->event);
}

/* Who closes it waits until it is there. */
static void test_released_on_the_way(struct kunit *test)
{
	struct wayside w = first_of(test, NULL);
	struct meter *m = test->priv;

	w.after = release;
	m->nr--;
	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->ended), 1);
}

/* One CPU serves all: opened on whichever, and read from there. */
static void test_scope_of_the_system(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event;
	u64 value;

	need_two_cpus(test);
	m->pmu.scope = PERF_PMU_SCOPE_SYS_WIDE;
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	event = open_on_cpu(test, 1, NULL);
	KUNIT_ASSERT_EQ(test, event->cpu, (int)cpumask_first(perf_scope_servers(m->pmu.scope)));
	expect_counts_on(test, event, event->cpu);
	perf_pmu_migrate_context(&m->pmu, event->cpu, !event->cpu);
	expect_counts_on(test, event, event->cpu);
	KUNIT_EXPECT_EQ(test, perf_event_read_local(event, &value, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, value, value_of(event));
}

/**
 * struct crowd - those who use events while they move
 * @m: the PMU
 * @seed: of one of them
 * @uses: how often one did something
 * @backwards: a count that was less than before
 * @failed: a create that was refused
 */
struct crowd {
	struct meter	*m;
	u32		seed;
	unsigned int	uses;
	unsigned int	backwards;
	unsigned int	failed;
};

static void use_one(struct crowd *c, u64 *last, u32 random)
{
	unsigned int nr = random % c->m->nr;
	struct perf_event *event = c->m->event[nr];
	u64 value;

	atomic64_inc(&c->m->now);
	switch (random >> 16 & 3) {
	case 0:
		perf_event_disable(event);
		break;
	case 1:
		perf_event_enable(event);
		break;
	default:
		value = value_of(event);
		c->backwards += value < last[nr];
		last[nr] = value;
	}
}

static void open_and_close(struct crowd *c, u32 random)
{
	struct perf_event_attr attr = meter_attr(c->m);
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, random & 1, NULL, NULL, NULL);
	if (IS_ERR(event))
		c->failed++;
	else
		perf_event_release_kernel(event);
}

static int crowd_work(void *arg)
{
	struct crowd *c = arg;
	u64 last[MAX_EVENTS] = {};
	struct rnd_state rnd;

	prandom_seed_state(&rnd, c->seed);
	while (!kthread_should_stop()) {
		u32 random = prandom_u32_state(&rnd);

		if (random >> 24 & 7)
			use_one(c, last, random);
		else
			open_and_close(c, random);
		c->uses++;
		cond_resched();
	}
	return 0;
}

#define CROWD	4

static void test_crowd_on_the_way(struct kunit *test)
{
	struct task_struct *task[CROWD];
	struct crowd crowd[CROWD] = {};
	struct meter *m = test->priv;
	struct perf_event *leader;
	unsigned int moves = 0, uses = 0;
	u64 end;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	for (int i = 0; i < 3; i++) {
		leader = open_on_cpu(test, 0, NULL);
		for (int sibling = 0; sibling < i; sibling++)
			open_on_cpu(test, 0, leader);
	}
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = (struct crowd){ .m = m, .seed = i + 1 };
		task[i] = kthread_create_on_cpu(crowd_work, &crowd[i], i & 1, "perf-crowd");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task[i]));
		wake_up_process(task[i]);
	}
	for (end = local_clock() + NSEC_PER_SEC / 2; local_clock() < end; moves++)
		perf_pmu_migrate_context(&m->pmu, moves & 1, !(moves & 1));
	for (int i = 0; i < CROWD; i++) {
		kthread_stop(task[i]);
		KUNIT_EXPECT_EQ(test, crowd[i].backwards, 0);
		KUNIT_EXPECT_EQ(test, crowd[i].failed, 0);
		uses += crowd[i].uses;
	}
	kunit_info(test, "%u moves, %u uses\n", moves, uses);
	KUNIT_EXPECT_GT(test, uses, 0);
	for (int i = 0; i < m->nr; i++)
		perf_event_enable(m->event[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), m->nr);
	for (int i = 0; i < m->nr; i++)
		expect_counts_on(test, m->event[i], moves & 1);
	close_meters(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->made), atomic_read(&m->ended));
}

static struct kunit_case pmu_cases[] = {
	KUNIT_CASE(test_pmu_types),
	KUNIT_CASE(test_pmu_of_cpus),
	KUNIT_CASE(test_task_forgets_pmu),
	KUNIT_CASE(test_unregister_waits),
	KUNIT_CASE(test_ranges_are_programmed),
	KUNIT_CASE(test_migrate),
	KUNIT_CASE(test_migrate_mixed_group),
	KUNIT_CASE(test_disabled_on_the_way),
	KUNIT_CASE(test_enabled_on_the_way),
	KUNIT_CASE(test_off_and_on_on_the_way),
	KUNIT_CASE(test_paused_on_the_way),
	KUNIT_CASE(test_reset_on_the_way),
	KUNIT_CASE(test_read_on_the_way),
	KUNIT_CASE(test_period_on_the_way),
	KUNIT_CASE(test_group_on_the_way),
	KUNIT_CASE(test_released_on_the_way),
	KUNIT_CASE(test_scope_of_the_system),
	KUNIT_CASE(test_crowd_on_the_way),
	{ }
};

static struct kunit_suite pmu_suite = {
	.name		= "perf_pmu",
	.init		= meter_begin,
	.exit		= meter_end,
	.test_cases	= pmu_cases,
};

kunit_test_suite(pmu_suite);
