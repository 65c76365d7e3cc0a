// SPDX-License-Identifier: GPL-2.0
/*
 * Extra registers that CPUs and events share.
 */
#include "../intel/models.h"
#include "helpers.h"

static struct perf_event *extra_new_event(struct kunit *test, const struct x86_pmu *xpmu, u64 val)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->hw.config = xpmu->model->extra->match | ARCH_PERFMON_EVENTSEL_USR;
	event->hw.extra_reg.reg = xpmu->model->extra->msr;
	event->hw.extra_reg.idx = xpmu->model->extra->id;
	event->hw.extra_reg.config = val;
	return event;
}

/* A pair of registers holds two values for all events; a third one has to wait for a free one. */
static void shared_registers_hold_one_value(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct perf_event *event[5];

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &westmere_model;
	for (int i = 0; i < ARRAY_SIZE(event); i++)
		event[i] = extra_new_event(test, xpmu, 0x100 + i % 3);

	for (int i = 0; i < ARRAY_SIZE(event); i++) {
		KUNIT_EXPECT_EQ_MSG(test, x86_extra_claim(xpmu, event[i]), i == 2 ? -EBUSY : 0,
				    "%d", i);
		if (i == 2)
			continue;
		KUNIT_EXPECT_EQ(test, event[i]->hw.extra_reg.idx, i % 3);
		KUNIT_EXPECT_EQ(test, event[i]->hw.config,
				(i % 3 ? 0x01bb : 0x01b7) | ARCH_PERFMON_EVENTSEL_USR);
	}
	x86_extra_release(event[1]);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(xpmu, event[2]), -EBUSY);
	x86_extra_release(event[4]);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(xpmu, event[2]), 0);
	KUNIT_EXPECT_EQ(test, event[2]->hw.extra_reg.idx, 1);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(xpmu, event[1]), -EBUSY);

	for (int i = 0; i < ARRAY_SIZE(event); i++)
		x86_extra_release(event[i]);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(xpmu, event[1]), 0);
	KUNIT_EXPECT_EQ(test, event[1]->hw.extra_reg.idx, 1);
	x86_extra_release(event[1]);
}

/* One value fits one register only, the other one fits both: both are assigned in any order. */
static void registers_without_alternative_are_assigned_first(struct kunit *test)
{
	static const u64 value[] = { 0x10001, 0x8000000000010001ULL, 0x10001 };
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	KUNIT_ASSERT_NOT_NULL(test, s);
	xpmu->model = &tremont_model;
	xpmu->counters = ARCH(4, 3);
	for (int i = 0; i < ARRAY_SIZE(value); i++) {
		s->slot[i].event = extra_new_event(test, xpmu, value[i]);
		s->slot[i].event->hw.counters = FIRST(4);
		s->slot[i].event->hw.idx = -1;
	}
	for (s->nr = 1; s->nr <= ARRAY_SIZE(value); s->nr++)
		KUNIT_EXPECT_EQ_MSG(test, x86_sched_assign(&xpmu->pmu, s, 0), 0, "%u", s->nr);
	KUNIT_EXPECT_TRUE(test, s->slot[0].idx & X86_SLOT_ALTERNATE);
	KUNIT_EXPECT_FALSE(test, s->slot[1].idx & X86_SLOT_ALTERNATE);
	KUNIT_EXPECT_TRUE(test, s->slot[2].idx & X86_SLOT_ALTERNATE);

	/* There is no register for a third value. */
	s->nr = ARRAY_SIZE(value);
	s->slot[2].event->hw.extra_reg.config = 0x10002;
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, 0), -ENOSPC);
}

static struct kunit_case x86_pmu_extra_cases[] = {
	KUNIT_CASE(shared_registers_hold_one_value),
	KUNIT_CASE(registers_without_alternative_are_assigned_first),
	{ }
};

static struct kunit_suite x86_pmu_extra_suite = {
	.name		= "x86_pmu_extra",
	.test_cases	= x86_pmu_extra_cases,
};

kunit_test_suite(x86_pmu_extra_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: extra registers");
MODULE_LICENSE("GPL");
