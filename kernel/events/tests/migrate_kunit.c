// SPDX-License-Identifier: GPL-2.0
/* Tests of events that move from one CPU to another while they are used. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/prandom.h>

#include "meter_pmu.h"
#include "soft.h"

static void test_migrate(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *single, *off, *leader, *sibling;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	single = meter_open_on(test, 0, NULL);
	off = meter_open_on(test, 0, NULL);
	leader = meter_open_on(test, 0, NULL);
	sibling = meter_open_on(test, 0, leader);
	perf_event_disable(off);
	atomic64_add(10, &m->now);

	perf_pmu_migrate_context(&m->pmu, 0, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 3);
	meter_expect_counts(test, single, 1);
	meter_expect_counts(test, leader, 1);
	meter_expect_counts(test, sibling, 1);
	KUNIT_EXPECT_PTR_EQ(test, sibling->group_leader, leader);
	KUNIT_EXPECT_EQ(test, leader->nr_siblings, 1);
	KUNIT_EXPECT_EQ(test, (int)off->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, value_of(off), 0);
	perf_event_enable(off);
	meter_expect_counts(test, off, 1);

	/* All events of the PMU are moved, and none of other PMUs. */
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	meter_expect_counts(test, single, 1);
	perf_pmu_migrate_context(&m->pmu, 1, 1);
	meter_expect_counts(test, single, 1);
	perf_pmu_migrate_context(&m->pmu, 1, 0);
	meter_expect_counts(test, single, 0);
	meter_expect_counts(test, sibling, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 4);
	meter_close_all(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->made), atomic_read(&m->ended));
}

/* A group with a software leader is migrated with its sibling's PMU; other events stay. */
static void test_migrate_mixed_group(struct kunit *test)
{
	struct perf_event_attr soft = soft_attr(0);
	struct perf_event *leader, *sibling, *stays;
	struct meter *m = test->priv;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	stays = meter_open(test, &soft, 0, NULL, NULL);
	leader = meter_open(test, &soft, 0, NULL, NULL);
	sibling = meter_open_on(test, 0, leader);
	raise_here(3);
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	meter_expect_counts(test, sibling, 1);
	raise_here(4);
	raise_on(1, 5);
	KUNIT_EXPECT_EQ(test, leader->cpu, 1);
	KUNIT_EXPECT_EQ(test, value_of(leader), 8);
	KUNIT_EXPECT_EQ(test, stays->cpu, 0);
	KUNIT_EXPECT_EQ(test, value_of(stays), 7);
}

/* A sibling that acts on its leader's trace does so on the other CPU, too. */
static void test_migrate_beside_trace(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *leader, *sibling;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	leader = meter_open_on(test, 0, NULL);
	sibling = meter_open_on(test, 0, leader);
	KUNIT_ASSERT_TRUE(test, perf_event_get_live(leader));
	sibling->aux_event = leader;
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	meter_expect_counts(test, sibling, 1);
	KUNIT_EXPECT_PTR_EQ(test, sibling->aux_event, leader);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&leader->refcount), 2);
	meter_close_all(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->made), atomic_read(&m->ended));
}

/**
 * struct transit - an operation on an event that is being migrated to CPU 1
 * @event: the event
 * @act: operation while CPU 1 has interrupts off, so that the migration cannot end; or NULL
 * @after: operation after interrupts have been enabled, while the migration ends; or NULL
 * @ready: completed when CPU 1 has interrupts off
 * @met: the event was seen with PERF_ATTACH_MOVING
 * @ret: result of @act: 0 or a negative errno
 * @value: count that @act has read
 */
struct transit {
	struct perf_event	*event;
	void			(*act)(struct transit *w);
	void			(*after)(struct transit *w);
	struct completion	ready;
	bool			met;
	int			ret;
	u64			value;
};

static int transit_work(void *arg)
{
	struct transit *w = arg;
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

static void move_once(struct kunit *test, struct transit *w)
{
	struct meter *m = test->priv;
	struct task_struct *task;

	init_completion(&w->ready);
	task = kthread_create_on_cpu(transit_work, w, 1, "perf-transit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);
	wait_for_completion(&w->ready);
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	kthread_stop(task);
}

/*
 * Migrates the PMU's events to CPU 1 and executes an operation on one in between. Code that waits
 * for all CPUs, such as code patching, may delay the migration until CPU 1 has stopped waiting:
 * tries again then.
 */
static void move_with(struct kunit *test, struct transit *w)
{
	struct meter *m = test->priv;

	move_once(test, w);
	for (int i = 0; i < 20 && !w->met; i++) {
		perf_pmu_migrate_context(&m->pmu, 1, 0);
		move_once(test, w);
	}
	KUNIT_ASSERT_TRUE_MSG(test, w->met, "the event was not seen on its way");
}

static struct transit transit_begin(struct kunit *test, void (*act)(struct transit *w))
{
	struct meter *m = test->priv;
	struct transit w = { .act = act };

	need_two_cpus(test);
	if (!m->registered)
		KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	w.event = meter_open_on(test, 0, NULL);
	atomic64_add(10, &m->now);
	return w;
}

static void act_disable(struct transit *w)
{
	perf_event_disable_local(w->event);
}

static void act_enable(struct transit *w)
{
	perf_event_enable(w->event);
}

static void act_off_and_on(struct transit *w)
{
	perf_event_disable(w->event);
	perf_event_enable(w->event);
}

static void act_pause(struct transit *w)
{
	w->value = perf_event_pause(w->event, true);
}

static void act_reset(struct transit *w)
{
	perf_event_reset(w->event);
}

static void act_read(struct transit *w)
{
	w->ret = perf_event_read_local(w->event, &w->value, NULL, NULL);
}

static void act_period(struct transit *w)
{
	w->ret = perf_event_period(w->event, 1000);
}

static void test_disabled_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_disable);
	struct meter *m = test->priv;

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, (int)w.event->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	atomic64_add(10, &m->now);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 10);
	perf_event_enable(w.event);
	meter_expect_counts(test, w.event, 1);
}

static void test_enabled_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_enable);
	struct meter *m = test->priv;

	perf_event_disable(w.event);
	atomic64_add(10, &m->now);
	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 10);
	meter_expect_counts(test, w.event, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 1);
}

static void test_off_and_on_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_off_and_on);
	struct meter *m = test->priv;

	move_with(test, &w);
	meter_expect_counts(test, w.event, 1);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 20);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 1);
}

static void test_paused_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_pause);

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, w.value, 10);
	KUNIT_EXPECT_EQ(test, (int)w.event->state, PERF_EVENT_STATE_OFF);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 0);
	perf_event_enable(w.event);
	meter_expect_counts(test, w.event, 1);
}

static void test_reset_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_reset);

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, value_of(w.event), 0);
	meter_expect_counts(test, w.event, 1);
}

static void test_read_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_read);

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, w.ret, 0);
	KUNIT_EXPECT_EQ(test, w.value, 10);
	meter_expect_counts(test, w.event, 1);
}

static void act_wait(struct transit *w)
{
	mdelay(5);
}

/* An event is enabled while it moves: no more is missed than from one lock to the next. */
static void test_time_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_wait);
	u64 enabled, before, running, start, end;

	perf_event_read_value(w.event, &before, &running);
	start = perf_clock();
	move_with(test, &w);
	end = perf_clock();
	perf_event_read_value(w.event, &enabled, &running);
	KUNIT_EXPECT_GE(test, enabled - before + NSEC_PER_MSEC, end - start);
	KUNIT_EXPECT_LE(test, running, enabled);
	meter_expect_counts(test, w.event, 1);
}

static void test_period_while_moving(struct kunit *test)
{
	struct perf_event_attr attr;
	struct meter *m = test->priv;
	struct transit w = { .act = act_period };

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	attr = meter_attr(m);
	attr.sample_period = 100;
	w.event = meter_open(test, &attr, 0, NULL, NULL);
	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, w.ret, 0);
	KUNIT_EXPECT_EQ(test, w.event->attr.sample_period, 1000);
	meter_expect_counts(test, w.event, 1);
}

/* The leader is disabled during the migration: the group is installed, but does not run. */
static void test_group_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, act_disable);
	struct perf_event *sibling = meter_open_on(test, 0, w.event);
	struct meter *m = test->priv;

	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_PTR_EQ(test, sibling->group_leader, w.event);
	perf_event_enable(w.event);
	meter_expect_counts(test, w.event, 1);
	meter_expect_counts(test, sibling, 1);
}

static void act_release(struct transit *w)
{
	perf_event_release_kernel(w->event);
}

/* Closing an event waits for the end of its migration. */
static void test_released_while_moving(struct kunit *test)
{
	struct transit w = transit_begin(test, NULL);
	struct meter *m = test->priv;

	w.after = act_release;
	m->nr--;
	move_with(test, &w);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->ended), 1);
}

/**
 * struct event_user - a user of events that are being migrated
 * @m: the PMU
 * @seed: of the user's random numbers
 * @uses: operations so far
 * @backwards: counts that were less than before
 * @failed: events that could not be created
 */
struct event_user {
	struct meter	*m;
	u32		seed;
	unsigned int	uses;
	unsigned int	backwards;
	unsigned int	failed;
};

static void use_one(struct event_user *c, u64 *last, u32 random)
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

static void open_and_close(struct event_user *c, u32 random)
{
	struct perf_event_attr attr = meter_attr(c->m);
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, random & 1, NULL, NULL, NULL);
	if (IS_ERR(event))
		c->failed++;
	else
		perf_event_release_kernel(event);
}

static int event_user_work(void *arg)
{
	struct event_user *c = arg;
	u64 last[METER_MAX_EVENTS] = {};
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

#define NR_USERS	4

static void test_use_while_moving(struct kunit *test)
{
	struct task_struct *task[NR_USERS];
	struct event_user user[NR_USERS] = {};
	struct meter *m = test->priv;
	struct perf_event *leader;
	unsigned int moves = 0, uses = 0;
	u64 end;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	for (int i = 0; i < 3; i++) {
		leader = meter_open_on(test, 0, NULL);
		for (int sibling = 0; sibling < i; sibling++)
			meter_open_on(test, 0, leader);
	}
	for (int i = 0; i < NR_USERS; i++) {
		user[i] = (struct event_user){ .m = m, .seed = i + 1 };
		task[i] = kthread_create_on_cpu(event_user_work, &user[i], i & 1, "perf-user");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task[i]));
		wake_up_process(task[i]);
	}
	for (end = local_clock() + NSEC_PER_SEC / 2; local_clock() < end; moves++)
		perf_pmu_migrate_context(&m->pmu, moves & 1, !(moves & 1));
	for (int i = 0; i < NR_USERS; i++) {
		kthread_stop(task[i]);
		KUNIT_EXPECT_EQ(test, user[i].backwards, 0);
		KUNIT_EXPECT_EQ(test, user[i].failed, 0);
		uses += user[i].uses;
	}
	kunit_info(test, "%u moves, %u uses\n", moves, uses);
	KUNIT_EXPECT_GT(test, uses, 0);
	for (int i = 0; i < m->nr; i++)
		perf_event_enable(m->event[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), m->nr);
	for (int i = 0; i < m->nr; i++)
		meter_expect_counts(test, m->event[i], moves & 1);
	meter_close_all(m);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->active), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&m->made), atomic_read(&m->ended));
}

/* Events that share the buffer may stay on the old CPU: from the move on several CPUs write. */
static void test_buffer_of_moved_event(struct kunit *test)
{
	struct meter *m = test->priv;
	struct perf_event *event;
	struct perf_buffer *rb;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, meter_register(m), 0);
	event = meter_open_on(test, 0, NULL);
	rb = perf_buffer_alloc(event, 1, true);
	KUNIT_ASSERT_NOT_NULL(test, rb);
	scoped_guard(mutex, &event->mmap_mutex)
		perf_buffer_attach(rb, event);
	KUNIT_EXPECT_FALSE(test, rb->multi_writer);
	perf_pmu_migrate_context(&m->pmu, 0, 1);
	KUNIT_EXPECT_TRUE(test, rb->multi_writer);
	scoped_guard(spinlock, &perf_buffers_lock)
		perf_buffer_detach(event);
	perf_buffer_put(rb);
}

static struct kunit_case migrate_cases[] = {
	KUNIT_CASE(test_migrate),
	KUNIT_CASE(test_migrate_mixed_group),
	KUNIT_CASE(test_migrate_beside_trace),
	KUNIT_CASE(test_disabled_while_moving),
	KUNIT_CASE(test_enabled_while_moving),
	KUNIT_CASE(test_off_and_on_while_moving),
	KUNIT_CASE(test_paused_while_moving),
	KUNIT_CASE(test_reset_while_moving),
	KUNIT_CASE(test_read_while_moving),
	KUNIT_CASE(test_time_while_moving),
	KUNIT_CASE(test_period_while_moving),
	KUNIT_CASE(test_group_while_moving),
	KUNIT_CASE(test_released_while_moving),
	KUNIT_CASE(test_use_while_moving),
	KUNIT_CASE(test_buffer_of_moved_event),
	{ }
};

static struct kunit_suite migrate_suite = {
	.name		= "perf_migrate",
	.init		= meter_begin,
	.exit		= meter_end,
	.test_cases	= migrate_cases,
};

kunit_test_suite(migrate_suite);
