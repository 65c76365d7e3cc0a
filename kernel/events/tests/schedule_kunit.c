// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of schedules and their rotation. The scheduler builds them for the PMU of fake_pmu.c, which
 * has four counters.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/prandom.h>

#include "fake_pmu.h"
#include "helpers.h"

/* The counter of an event; -1 if the event is not loaded. */
static int counter_of(struct fake_pmu *f, struct perf_event *event)
{
	for (int i = 0; i < f->loaded.nr; i++) {
		if (f->loaded.slot[i].event == event)
			return f->loaded.slot[i].idx;
	}
	return -1;
}

/* Each slot has a counter of its own that can count the event; exactly loaded events are ACTIVE. */
static void check_schedule(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	unsigned int taken = 0;

	for (int i = 0; i < f->loaded.nr; i++) {
		int idx = f->loaded.slot[i].idx;

		KUNIT_EXPECT_TRUE(test, idx >= 0 && idx < FAKE_COUNTERS);
		KUNIT_EXPECT_FALSE(test, taken & BIT(idx));
		KUNIT_EXPECT_TRUE(test, f->loaded.slot[i].event->attr.config & BIT(idx));
		taken |= BIT(idx);
	}
	for (int i = 0; i < f->nr; i++)
		KUNIT_EXPECT_EQ(test, f->event[i]->state == PERF_EVENT_STATE_ACTIVE,
				counter_of(f, f->event[i]) >= 0);
}

static void test_what_fits_runs(struct kunit *test)
{
	struct fake_pmu *f = test->priv;

	for (int i = 0; i < FAKE_COUNTERS; i++) {
		fake_pmu_open_mask(test, FAKE_ALL, NULL);
		KUNIT_EXPECT_EQ(test, f->loaded.nr, i + 1);
		check_schedule(test);
	}
	fake_pmu_open_mask(test, FAKE_ALL, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, FAKE_COUNTERS);
	KUNIT_EXPECT_EQ(test, counter_of(f, f->event[FAKE_COUNTERS]), -1);
	check_schedule(test);
	perf_event_release_kernel(f->event[1]);
	f->event[1] = f->event[--f->nr];
	KUNIT_EXPECT_EQ(test, f->loaded.nr, FAKE_COUNTERS);
	check_schedule(test);
}

/* An event that fits any counter makes room for those that do not. */
static void test_constraints_move_others(struct kunit *test)
{
	struct fake_pmu *f = test->priv;

	fake_pmu_open_mask(test, FAKE_ALL, NULL);
	fake_pmu_open_mask(test, 0x1, NULL);
	fake_pmu_open_mask(test, 0x2, NULL);
	fake_pmu_open_mask(test, 0x4, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	KUNIT_EXPECT_EQ(test, counter_of(f, f->event[0]), 3);
	check_schedule(test);

	/* Both need the same counter: the new event waits. */
	fake_pmu_open_mask(test, 0x2, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	KUNIT_EXPECT_EQ(test, counter_of(f, f->event[4]), -1);
	check_schedule(test);
}

static void test_groups_run_whole(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *three = fake_pmu_open_group(test, 3);
	struct perf_event *two = fake_pmu_open_group(test, 2), *one;

	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	KUNIT_EXPECT_GE(test, counter_of(f, three), 0);
	KUNIT_EXPECT_EQ(test, counter_of(f, two), -1);
	check_schedule(test);
	one = fake_pmu_open_group(test, 1);
	KUNIT_EXPECT_GE(test, counter_of(f, one), 0);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	check_schedule(test);

	perf_event_disable(three);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	KUNIT_EXPECT_GE(test, counter_of(f, two), 0);
	check_schedule(test);
	perf_event_enable(three);
	check_schedule(test);
	perf_event_disable(two);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	KUNIT_EXPECT_GE(test, counter_of(f, three), 0);
	check_schedule(test);
}

static void test_group_that_never_fits(struct kunit *test)
{
	struct perf_event_attr attr = fake_pmu_attr(test->priv, FAKE_ALL);
	struct perf_event_attr first = fake_pmu_attr(test->priv, 0x1);
	struct perf_event *leader = fake_pmu_open_group(test, FAKE_COUNTERS), *event;

	event = fake_pmu_try_open(test, &attr, leader);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	leader = fake_pmu_open_mask(test, 0x1, NULL);
	event = fake_pmu_try_open(test, &first, leader);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
}

static void test_pinned_first(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *flexible = fake_pmu_open_group(test, 4), *pinned[5];

	attr.pinned = 1;
	for (int i = 0; i < 4; i++) {
		pinned[i] = fake_pmu_open(test, &attr, NULL);
		KUNIT_EXPECT_GE(test, counter_of(f, pinned[i]), 0);
		KUNIT_EXPECT_EQ(test, counter_of(f, flexible), -1);
	}
	pinned[4] = fake_pmu_open(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, (int)pinned[4]->state, PERF_EVENT_STATE_ERROR);
	for (int i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, (int)pinned[i]->state, PERF_EVENT_STATE_ACTIVE);
	check_schedule(test);

	perf_event_disable(pinned[0]);
	perf_event_enable(pinned[4]);
	KUNIT_EXPECT_EQ(test, (int)pinned[4]->state, PERF_EVENT_STATE_ACTIVE);
	check_schedule(test);
}

static void test_exclusive_alone(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *exclusive;

	attr.exclusive = 1;
	exclusive = fake_pmu_open(test, &attr, NULL);
	fake_pmu_open_mask(test, FAKE_ALL, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
	KUNIT_EXPECT_GE(test, counter_of(f, exclusive), 0);
	check_schedule(test);
	perf_event_disable(exclusive);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
	check_schedule(test);
	perf_event_enable(exclusive);
	check_schedule(test);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
}

/* A disabled sibling takes no counter; a disabled leader frees those of its group. */
static void test_disabled_take_no_counter(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *leader = fake_pmu_open_group(test, 3);

	perf_event_disable(f->event[1]);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 2);
	check_schedule(test);
	perf_event_enable(f->event[1]);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	perf_event_disable(leader);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 0);
	perf_event_enable(leader);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	check_schedule(test);
}

/* Is there an assignment for the loaded events and one that waits? */
static bool would_fit(struct fake_pmu *f, struct perf_event *event)
{
	u64 mask[FAKE_COUNTERS + 1];
	int idx[FAKE_COUNTERS + 1];

	for (int i = 0; i < f->loaded.nr; i++)
		mask[i] = f->loaded.slot[i].event->attr.config;
	mask[f->loaded.nr] = event->attr.config;
	return f->loaded.nr < FAKE_COUNTERS && fake_pmu_try_assign(mask, f->loaded.nr + 1, 0, idx);
}

/*
 * Events of the first three kinds that wait have no counter. The scheduler stops its search after
 * so many kinds, to limit the cost of a rotation: nothing is expected of later events.
 */
static void check_waiting(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	u64 kinds = 0;

	for (int i = 0; i < f->nr; i++) {
		if (counter_of(f, f->event[i]) >= 0)
			continue;
		if (hweight64(kinds) == 3 && !(kinds & BIT_ULL(f->event[i]->attr.config)))
			return;
		KUNIT_EXPECT_FALSE(test, would_fit(f, f->event[i]));
		kinds |= BIT_ULL(f->event[i]->attr.config);
	}
}

/* Schedules are valid for any constraints, and the first groups that wait do not fit. */
static void test_random_constraints(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 11);
	for (int round = 0; round < 100; round++) {
		unsigned int nr = 1 + prandom_u32_state(&rnd) % 7;

		while (nr--)
			fake_pmu_open_mask(test, 1 + prandom_u32_state(&rnd) % FAKE_ALL, NULL);
		check_schedule(test);
		check_waiting(test);
		fake_pmu_close_all(f);
		KUNIT_EXPECT_EQ(test, f->loaded.nr, 0);
	}
}

/* Events that wait for one counter do not keep later events from the others. */
static void test_waiting_events_block_no_others(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *last;

	for (int i = 0; i < 10; i++)
		fake_pmu_open_mask(test, 0x1, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
	for (u64 mask = 0x2; mask <= 0x8; mask <<= 1) {
		last = fake_pmu_open_mask(test, mask, NULL);
		KUNIT_EXPECT_GE(test, counter_of(f, last), 0);
		check_schedule(test);
		/* A second kind of events that wait. */
		fake_pmu_open_mask(test, 0x2, NULL);
	}
	KUNIT_EXPECT_EQ(test, f->loaded.nr, FAKE_COUNTERS);
}

/* A group that is more than one round ahead of the first one waits though counters are free. */
static void test_groups_ahead_wait(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *first = fake_pmu_open_mask(test, 0x1, NULL);
	struct perf_event *ahead = fake_pmu_open_mask(test, 0x2, NULL);

	KUNIT_EXPECT_GE(test, counter_of(f, ahead), 0);
	ahead->round = first->round + 2;
	/* The schedule is compiled again for each event that is opened. */
	fake_pmu_open_mask(test, 0x4, NULL);
	KUNIT_EXPECT_GE(test, counter_of(f, first), 0);
	KUNIT_EXPECT_EQ(test, counter_of(f, ahead), -1);
	check_schedule(test);
	ahead->round = first->round + 1;
	fake_pmu_open_mask(test, 0x8, NULL);
	KUNIT_EXPECT_GE(test, counter_of(f, ahead), 0);
	check_schedule(test);
}

/* --------------------------------------------------------------------- rotation */

/* As the sysfs file perf_event_mux_interval_ms does. */
static void set_interval(struct fake_pmu *f, int ms)
{
	f->pmu.hrtimer_interval_ms = ms;
	per_cpu_ptr(f->pmu.cpu_pmu_context, FAKE_CPU)->timer_interval = ms_to_ktime(ms);
}

/* Groups of 1 to 4 events with slices of 1 ms run for the same time. */
static void test_rotation_is_fair(struct kunit *test)
{
	static const unsigned int sizes[] = { 1, 2, 3, 4, 1, 4, 2, 3, 3, 1 };
	struct fake_pmu *f = test->priv;
	struct perf_event *leader[ARRAY_SIZE(sizes)];
	u64 enabled, running, least = U64_MAX, most = 0, sum = 0;

	set_interval(f, 1);
	for (int i = 0; i < ARRAY_SIZE(sizes); i++)
		leader[i] = fake_pmu_open_group(test, sizes[i]);
	msleep(600);
	for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
		perf_event_disable(leader[i]);
		perf_event_read_value(leader[i], &enabled, &running);
		least = min(least, running);
		most = max(most, running);
		sum += running;
	}
	kunit_info(test, "least %llu us, most %llu us of %llu us\n", div64_u64(least, 1000),
		   div64_u64(most, 1000), div64_u64(enabled, 1000));
	KUNIT_EXPECT_GT(test, least, 0ull);
	/* A late timer makes a slice longer: the bound has 20 ms of tolerance. */
	KUNIT_EXPECT_LT(test, most - least,
			div64_u64(sum, ARRAY_SIZE(sizes) * 10) + 20 * NSEC_PER_MSEC);
	KUNIT_EXPECT_GT(test, f->loads, 50);
}

/* If all events fit there is no rotation. */
static void test_no_turns_without_need(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	unsigned int loads;
	u64 enabled, running;

	set_interval(f, 1);
	for (int i = 0; i < FAKE_COUNTERS; i++)
		fake_pmu_open_mask(test, FAKE_ALL, NULL);
	loads = f->loads;
	msleep(50);
	KUNIT_EXPECT_EQ(test, f->loads, loads);
	for (int i = 0; i < FAKE_COUNTERS; i++) {
		perf_event_read_value(f->event[i], &enabled, &running);
		KUNIT_EXPECT_EQ(test, enabled, running);
	}
}

/* A group with a software leader and a sibling of the PMU. */
static struct perf_event *open_software_group(struct kunit *test, struct perf_event **sibling)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};
	struct perf_event *leader = fake_pmu_open(test, &attr, NULL);

	*sibling = fake_pmu_open_mask(test, FAKE_ALL, leader);
	return leader;
}

/* The leader stays ACTIVE when the only member with a counter is disabled or closed. */
static void test_software_leader_stays_active(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *leader, *sibling;

	leader = open_software_group(test, &sibling);
	KUNIT_EXPECT_EQ(test, leader->state, PERF_EVENT_STATE_ACTIVE);
	KUNIT_EXPECT_GE(test, counter_of(f, sibling), 0);
	perf_event_disable(sibling);
	KUNIT_EXPECT_EQ(test, counter_of(f, sibling), -1);
	KUNIT_EXPECT_EQ(test, leader->state, PERF_EVENT_STATE_ACTIVE);
	perf_event_enable(sibling);
	KUNIT_EXPECT_GE(test, counter_of(f, sibling), 0);
	KUNIT_EXPECT_EQ(test, leader->state, PERF_EVENT_STATE_ACTIVE);
	perf_event_release_kernel(sibling);
	f->nr--;
	KUNIT_EXPECT_EQ(test, leader->state, PERF_EVENT_STATE_ACTIVE);
}

static u64 running_of(struct perf_event *event)
{
	u64 enabled, running;

	perf_event_read_value(event, &enabled, &running);
	return running;
}

/* Each of the events runs within 100 ms, also after others have run for so long. */
static void expect_all_run(struct kunit *test, struct perf_event **event, unsigned int nr)
{
	u64 before[8];

	KUNIT_ASSERT_LE(test, nr, ARRAY_SIZE(before));
	msleep(100);
	for (int i = 0; i < nr; i++)
		before[i] = running_of(event[i]);
	msleep(100);
	for (int i = 0; i < nr; i++)
		KUNIT_EXPECT_GT_MSG(test, running_of(event[i]), before[i], "event %d", i);
}

/* A group without an enabled member of the PMU takes no turn. */
static void test_groups_without_counters(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *single[5], *sibling;

	set_interval(f, 1);
	open_software_group(test, &sibling);
	perf_event_disable(sibling);
	for (int i = 0; i < ARRAY_SIZE(single); i++)
		single[i] = fake_pmu_open_mask(test, FAKE_ALL, NULL);
	expect_all_run(test, single, ARRAY_SIZE(single));
}

/* A group that needs a counter no more runs at once, whatever its turn is. */
static void test_group_loses_its_counter(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *leader, *sibling;
	unsigned int stopped = 0;

	set_interval(f, 1);
	leader = open_software_group(test, &sibling);
	for (int i = 0; i < 32; i++)
		fake_pmu_open_mask(test, FAKE_ALL, NULL);
	for (int i = 0; i < 50; i++) {
		perf_event_enable(sibling);
		usleep_range(500 + i * 40, 500 + i * 40);
		perf_event_disable(sibling);
		stopped += leader->state != PERF_EVENT_STATE_ACTIVE;
	}
	KUNIT_EXPECT_EQ(test, stopped, 0);
}

/* A software leader that is closed before its sibling is in no list any more. */
static void test_software_leader_closes_first(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *leader, *sibling;
	struct hlist_head *list;

	leader = open_software_group(test, &sibling);
	KUNIT_ASSERT_EQ(test, leader->attr.config, PERF_COUNT_SW_DUMMY);
	list = &sibling->ctx->sw_list[PERF_COUNT_SW_DUMMY];
	KUNIT_ASSERT_EQ(test, f->nr, 2);
	f->event[0] = sibling;
	f->nr = 1;
	perf_event_release_kernel(leader);
	KUNIT_EXPECT_TRUE(test, hlist_empty(list));
	KUNIT_EXPECT_EQ(test, sibling->state, PERF_EVENT_STATE_ACTIVE);
	KUNIT_EXPECT_GE(test, counter_of(f, sibling), 0);
	INIT_HLIST_HEAD(list);
}

/* Groups that a pinned event keeps out do not keep out those behind them. */
static void test_groups_behind_misses(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *last;

	set_interval(f, 1);
	for (int i = 0; i < 6; i++)
		fake_pmu_open_group(test, FAKE_COUNTERS);
	attr.pinned = 1;
	fake_pmu_open(test, &attr, NULL);
	last = fake_pmu_open_mask(test, FAKE_ALL, NULL);
	expect_all_run(test, &last, 1);
}

/* An exclusive event that a pinned one keeps out does not keep out others with its config. */
static void test_event_behind_exclusive(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *event;

	set_interval(f, 1);
	attr.pinned = 1;
	fake_pmu_open(test, &attr, NULL);
	event = fake_pmu_open_mask(test, FAKE_ALL, NULL);
	attr.pinned = 0;
	attr.exclusive = 1;
	fake_pmu_open(test, &attr, NULL);
	expect_all_run(test, &event, 1);
}

static int stuck_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static int stuck_add(struct perf_event *event, int flags)
{
	return -EAGAIN;
}

static void stuck_del(struct perf_event *event, int flags)
{
}

static void stuck_read(struct perf_event *event)
{
}

/* A group with a member that cannot start, as a trace without a buffer, stops no others. */
static void test_groups_that_fail(struct kunit *test)
{
	struct pmu stuck = {
		.task_ctx_nr	= perf_sw_context,
		.event_init	= stuck_init,
		.add		= stuck_add,
		.del		= stuck_del,
		.start		= stuck_del,
		.stop		= stuck_del,
		.read		= stuck_read,
	};
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct fake_pmu *f = test->priv;
	struct perf_event *leader, *single[2];

	KUNIT_ASSERT_EQ(test, perf_pmu_register(&stuck, "perf_kunit_stuck", -1), 0);
	attr.type = stuck.type;
	set_interval(f, 1);
	leader = fake_pmu_open_mask(test, FAKE_ALL, NULL);
	fake_pmu_open(test, &attr, leader);
	for (int i = 0; i < ARRAY_SIZE(single); i++)
		single[i] = fake_pmu_open_mask(test, FAKE_ALL, NULL);
	expect_all_run(test, single, ARRAY_SIZE(single));
	fake_pmu_close_all(f);
	perf_pmu_unregister(&stuck);
}

/* An event that no counter can count is refused, also to users in the kernel. */
static void test_event_that_never_fits(struct kunit *test)
{
	struct perf_event_attr attr = fake_pmu_attr(test->priv, 0);
	struct perf_event *event;

	event = fake_pmu_try_open(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	event = perf_event_create_kernel_counter(&attr, FAKE_CPU, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	fake_pmu_open_mask(test, 1, NULL);
}

static u64 count_of(struct perf_event *event)
{
	u64 enabled, running;

	return perf_event_read_value(event, &enabled, &running);
}

/* An event has what its counters count while they are its own. */
static void test_counts_are_of_own_counter(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *event = fake_pmu_open_mask(test, BIT(0) | BIT(1), NULL), *other;
	int first = counter_of(f, event);

	f->value[first] += 5;
	f->value[!first] += 100;
	KUNIT_EXPECT_EQ(test, count_of(event), 5);
	other = fake_pmu_open_mask(test, BIT(first), NULL);
	KUNIT_EXPECT_EQ(test, counter_of(f, event), !first);
	KUNIT_EXPECT_EQ(test, counter_of(f, other), first);
	f->value[first] += 11;
	f->value[!first] += 7;
	KUNIT_EXPECT_EQ(test, count_of(event), 12);
	KUNIT_EXPECT_EQ(test, count_of(other), 11);
	perf_event_disable(event);
	f->value[!first] += 100;
	KUNIT_EXPECT_EQ(test, count_of(event), 12);
	perf_event_enable(event);
	f->value[!first] += 1;
	KUNIT_EXPECT_EQ(test, count_of(event), 13);
}

static void accept_all(struct pmu *pmu, int cpu, bool *refused)
{
	*refused = false;
}

static struct perf_event *open_of_task(struct kunit *test, int cpu)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, cpu, current, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	f->event[f->nr++] = event;
	return event;
}

/*
 * A task with an event that is bound to a CPU moves between CPUs of a PMU with pmu::filter: the
 * event starts and stops, and the groups without a counter stay INACTIVE.
 */
static void test_waiting_events_wait_after_a_move(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *bound;

	need_two_cpus(test);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(FAKE_CPU)), 0);
	f->pmu.filter = accept_all;
	bound = open_of_task(test, FAKE_CPU);
	for (int i = 0; i < FAKE_COUNTERS + 2; i++)
		open_of_task(test, -1);
	for (int i = 0; i < 4; i++) {
		unsigned int active = 0;

		KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(!(i & 1))), 0);
		for (int n = 0; n < f->nr; n++)
			active += f->event[n]->state == PERF_EVENT_STATE_ACTIVE;
		KUNIT_EXPECT_EQ_MSG(test, active, FAKE_COUNTERS, "move %d", i);
		if (!(i & 1))
			KUNIT_EXPECT_EQ(test, (int)bound->state, PERF_EVENT_STATE_INACTIVE);
	}
	fake_pmu_close_all(f);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static struct kunit_case schedule_cases[] = {
	KUNIT_CASE(test_what_fits_runs),
	KUNIT_CASE(test_counts_are_of_own_counter),
	KUNIT_CASE(test_constraints_move_others),
	KUNIT_CASE(test_groups_run_whole),
	KUNIT_CASE(test_group_that_never_fits),
	KUNIT_CASE(test_event_that_never_fits),
	KUNIT_CASE(test_pinned_first),
	KUNIT_CASE(test_exclusive_alone),
	KUNIT_CASE(test_disabled_take_no_counter),
	KUNIT_CASE(test_random_constraints),
	KUNIT_CASE(test_waiting_events_block_no_others),
	KUNIT_CASE(test_groups_ahead_wait),
	KUNIT_CASE(test_software_leader_stays_active),
	KUNIT_CASE(test_groups_without_counters),
	KUNIT_CASE(test_group_loses_its_counter),
	KUNIT_CASE(test_software_leader_closes_first),
	KUNIT_CASE(test_groups_behind_misses),
	KUNIT_CASE(test_event_behind_exclusive),
	KUNIT_CASE(test_groups_that_fail),
	KUNIT_CASE(test_rotation_is_fair),
	KUNIT_CASE(test_no_turns_without_need),
	KUNIT_CASE(test_waiting_events_wait_after_a_move),
	{ }
};

static struct kunit_suite schedule_suite = {
	.name		= "perf_schedule",
	.init		= fake_pmu_begin,
	.exit		= fake_pmu_end,
	.test_cases	= schedule_cases,
};

kunit_test_suite(schedule_suite);
