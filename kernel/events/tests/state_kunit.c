// SPDX-License-Identifier: GPL-2.0
/* Tests of states: how an event's times follow from them. */
#include <kunit/test.h>
#include <linux/slab.h>

struct perf_event;
static void read_between_stores(const struct perf_event *event);
#define PERF_TIMES_STEP(event)	read_between_stores(event)

#include "../ops/ops.h"

/* An event in a context; the test sets the context's time. */
static struct perf_event *clocked_event(struct kunit *test, struct perf_event_context *ctx,
					struct perf_event *leader)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->ctx = ctx;
	event->state = PERF_EVENT_STATE_OFF;
	event->tstamp = ctx->stamp;
	event->group_leader = leader ?: event;
	INIT_LIST_HEAD(&event->sibling_list);
	if (leader) {
		leader->nr_siblings++;
		list_add_tail(&event->sibling_list, &leader->sibling_list);
	}
	return event;
}

static struct perf_event_context *stopped_context(struct kunit *test)
{
	struct perf_event_context *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	perf_ctx_init(ctx, current, -1);
	return ctx;
}

static void set_at(struct perf_event *event, u64 time, enum perf_event_state state)
{
	guard(raw_spinlock_irqsave)(&event->ctx->lock);
	event->ctx->stamp = time;
	perf_event_set_state(event, state);
}

static void expect_times(struct kunit *test, struct perf_event *event, u64 now, u64 enabled,
			 u64 running)
{
	u64 ena, run;

	perf_event_times(event, now, &ena, &run);
	KUNIT_EXPECT_EQ(test, ena, enabled);
	KUNIT_EXPECT_EQ(test, run, running);
}

static void test_times_follow_state(struct kunit *test)
{
	struct perf_event_context *ctx = stopped_context(test);
	struct perf_event *event = clocked_event(test, ctx, NULL);

	expect_times(test, event, 50, 0, 0);
	set_at(event, 100, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, event, 130, 30, 0);
	set_at(event, 150, PERF_EVENT_STATE_ACTIVE);
	expect_times(test, event, 170, 70, 20);
	set_at(event, 200, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, event, 300, 200, 50);
	set_at(event, 300, PERF_EVENT_STATE_OFF);
	expect_times(test, event, 1000, 200, 50);
	set_at(event, 1000, PERF_EVENT_STATE_INACTIVE);
	set_at(event, 1000, PERF_EVENT_STATE_ACTIVE);
	expect_times(test, event, 1100, 300, 150);
	/* A time before the last state change does not make times decrease. */
	expect_times(test, event, 900, 200, 50);
	set_at(event, 1100, PERF_EVENT_STATE_INACTIVE);
	set_at(event, 1200, PERF_EVENT_STATE_ERROR);
	expect_times(test, event, 9000, 400, 150);
}

static void test_leader_holds_siblings_time(struct kunit *test)
{
	struct perf_event_context *ctx = stopped_context(test);
	struct perf_event *leader = clocked_event(test, ctx, NULL);
	struct perf_event *sibling = clocked_event(test, ctx, leader);

	set_at(sibling, 100, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, sibling, 200, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)perf_event_effective_state(sibling), PERF_EVENT_STATE_OFF);
	set_at(leader, 200, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, sibling, 300, 100, 0);
	set_at(leader, 300, PERF_EVENT_STATE_ACTIVE);
	set_at(sibling, 300, PERF_EVENT_STATE_ACTIVE);
	expect_times(test, sibling, 400, 200, 100);
	set_at(sibling, 400, PERF_EVENT_STATE_INACTIVE);
	set_at(leader, 400, PERF_EVENT_STATE_INACTIVE);
	set_at(leader, 500, PERF_EVENT_STATE_OFF);
	expect_times(test, sibling, 900, 300, 100);
	expect_times(test, leader, 900, 300, 100);
}

/* What an NMI in the middle of an update reads of the event that it samples. */
static struct {
	u64		now;
	u64		enabled;
	u64		running;
	unsigned int	right;
	unsigned int	wrong;
	unsigned int	negative;
} nmi;

static void read_between_stores(const struct perf_event *event)
{
	u64 enabled, running;

	perf_event_times(event, nmi.now, &enabled, &running);
	nmi.negative += (s64)enabled < 0 || (s64)running < 0;
	if (enabled == nmi.enabled && running == nmi.running)
		nmi.right++;
	else
		nmi.wrong++;
}

static void test_times_in_the_middle_of_an_update(struct kunit *test)
{
	struct perf_event_context *ctx = stopped_context(test);
	struct perf_event *event = clocked_event(test, ctx, NULL);
	unsigned long flags;

	set_at(event, 100, PERF_EVENT_STATE_INACTIVE);
	set_at(event, 150, PERF_EVENT_STATE_ACTIVE);
	raw_spin_lock_irqsave(&ctx->lock, flags);
	for (u64 now = 200; now <= 1000; now += 200) {
		/* The NMI reads the clock later than the update did. */
		nmi.now = now + 7;
		nmi.enabled = nmi.now - 100;
		nmi.running = nmi.now - 150;
		perf_leader_add_time(event, now);
	}
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	KUNIT_EXPECT_EQ(test, nmi.wrong, 0);
	KUNIT_EXPECT_GE(test, nmi.right, 10);
	expect_times(test, event, 1100, 1000, 950);
}

static void test_no_time_is_negative_in_an_update(struct kunit *test)
{
	struct perf_event_context *ctx = stopped_context(test);
	struct perf_event *event = clocked_event(test, ctx, NULL);
	unsigned long flags;

	nmi.negative = 0;
	nmi.now = 10000;
	set_at(event, 100, PERF_EVENT_STATE_INACTIVE);
	set_at(event, 150, PERF_EVENT_STATE_ACTIVE);
	set_at(event, 160, PERF_EVENT_STATE_INACTIVE);
	raw_spin_lock_irqsave(&ctx->lock, flags);
	perf_leader_add_time(event, 1000);
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	set_at(event, 1000, PERF_EVENT_STATE_OFF);
	raw_spin_lock_irqsave(&ctx->lock, flags);
	perf_leader_add_time(event, 5000);
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	KUNIT_EXPECT_EQ(test, nmi.negative, 0);
	expect_times(test, event, 5000, 900, 10);
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(test_times_follow_state),
	KUNIT_CASE(test_leader_holds_siblings_time),
	KUNIT_CASE(test_times_in_the_middle_of_an_update),
	KUNIT_CASE(test_no_time_is_negative_in_an_update),
	{ }
};

static struct kunit_suite state_suite = {
	.name		= "perf_state",
	.test_cases	= state_cases,
};

kunit_test_suite(state_suite);
