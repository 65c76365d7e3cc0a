// SPDX-License-Identifier: GPL-2.0
/*
 * Top-down metrics: arithmetic, numbers, and the rules of their groups.
 */
#include "../intel/models.h"
#include "../topdown.h"
#include "helpers.h"

static void counts_are_shares_of_slots(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, x86_topdown_count(0, 0xff, 0), 0);
	KUNIT_EXPECT_EQ(test, x86_topdown_count(1000, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, x86_topdown_count(1000, 0xff, 0), 1000);
	/* 1000 * 102 / 255 = 400; 1000 * 25 / 255 = 98.04 */
	KUNIT_EXPECT_EQ(test, x86_topdown_count(1000, 102, 0), 400);
	KUNIT_EXPECT_EQ(test, x86_topdown_count(1000, 25, 0), 98);
	KUNIT_EXPECT_EQ(test, x86_topdown_rest(1000, 25, 0), 25000 - 98 * 255);
	KUNIT_EXPECT_EQ(test, x86_topdown_count((1ULL << 48) - 1, 0xff, 0), (1ULL << 48) - 1);
	KUNIT_EXPECT_EQ(test, x86_topdown_count(1, 1, 254), 1);
}

/* What single periods round off is not lost. */
static void rests_add_up(struct kunit *test)
{
	u64 count = 0, rest = 0;

	for (int i = 0; i < 255 * 100; i++) {
		count += x86_topdown_count(7, 0x4d, rest);
		rest = x86_topdown_rest(7, 0x4d, rest);
		KUNIT_ASSERT_LT(test, rest, X86_TOPDOWN_WHOLE);
	}
	KUNIT_EXPECT_EQ(test, count, 7 * 0x4d * 100);
	KUNIT_EXPECT_EQ(test, rest, 0);
}

static struct x86_pmu *topdown_new_pmu(struct kunit *test, const struct x86_model *model)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = model;
	xpmu->counters = ARCH(8, 4);
	xpmu->metrics = x86_metrics_mask(model->metrics);
	xpmu->select_mask = X86_RAW_EVENT_MASK;
	cpumask_copy(&xpmu->cpus, cpu_possible_mask);
	return xpmu;
}

static void selections_have_their_number(struct kunit *test)
{
	struct x86_pmu *icl = topdown_new_pmu(test, &icelake_model);
	struct x86_pmu *spr = topdown_new_pmu(test, &goldencove_x_model);

	KUNIT_EXPECT_EQ(test, x86_rule_counters(spr, 0x0400), X86_FIXED(3));
	for (u64 i = 0; i < 8; i++) {
		u64 config = 0x8000 + (i << 8);

		KUNIT_EXPECT_EQ(test, x86_rule_counters(spr, config), BIT_ULL(48 + i));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(icl, config), i < 4 ? BIT_ULL(48 + i) : 0);
		/* With cmask. */
		KUNIT_EXPECT_EQ(test, x86_rule_counters(spr, config | 0x1000000), 0);
	}
	KUNIT_EXPECT_EQ(test, x86_rule_counters(spr, 0x8800), 0);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(spr, 0x7f00), 0xffULL);
	spr->counters = ARCH(8, 3);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(spr, 0x8000), 0);
	icl->metrics = 0;
	KUNIT_EXPECT_EQ(test, x86_rule_counters(icl, 0x8000), 0);
}

static struct perf_event *topdown_new_event(struct kunit *test, struct x86_pmu *xpmu, u64 config,
					    struct perf_event *leader)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->pmu = &xpmu->pmu;
	event->cpu = -1;
	event->group_leader = leader ?: event;
	event->attr.config = config;
	event->hw.counters = x86_rule_counters(xpmu, config);
	return event;
}

static void metrics_follow_slots(struct kunit *test)
{
	struct x86_pmu *xpmu = topdown_new_pmu(test, &icelake_model);
	struct perf_event *slots = topdown_new_event(test, xpmu, 0x0400, NULL);
	struct perf_event *cycles = topdown_new_event(test, xpmu, 0x003c, NULL);
	struct perf_event *metric = topdown_new_event(test, xpmu, 0x8100, slots);

	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, cycles), 0);
	KUNIT_EXPECT_EQ(test, cycles->hw.flags, 0);
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, slots), 0);
	KUNIT_EXPECT_EQ(test, slots->hw.flags, X86_EVENT_TOPDOWN);
	KUNIT_EXPECT_FALSE(test, slots->event_caps & PERF_EV_CAP_SIBLING);
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), 0);
	KUNIT_EXPECT_EQ(test, metric->hw.flags, X86_EVENT_TOPDOWN);
	KUNIT_EXPECT_TRUE(test, metric->event_caps & PERF_EV_CAP_SIBLING);
	KUNIT_EXPECT_EQ(test, metric->hw.event_base_rdpmc, 1 << 29);

	metric->group_leader = metric;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), -EINVAL);
	metric->group_leader = cycles;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), -EINVAL);
	metric->group_leader = slots;
	metric->attr.config1 = 1;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), -EINVAL);
	metric->attr.config1 = 0;
	metric->attr.exclude_host = 1;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), -EOPNOTSUPP);
	metric->attr.exclude_host = 0;
	metric->attr.sample_period = 1000;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), -EINVAL);
	metric->attr.sample_period = 0;
	slots->attr.sample_period = 1000;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), -EINVAL);
}

/* Slots have no samples, and a group's other events may be meant to have branch records. */
static void slots_have_no_branches(struct kunit *test)
{
	struct x86_pmu *xpmu = topdown_new_pmu(test, &icelake_model);
	struct perf_event *slots = topdown_new_event(test, xpmu, 0x0400, NULL);
	struct perf_event *metric = topdown_new_event(test, xpmu, 0x8100, slots);
	struct perf_event *sampling = topdown_new_event(test, xpmu, 0x0400, NULL);

	slots->hw.flags = X86_EVENT_BRANCHES;
	metric->hw.flags = X86_EVENT_BRANCHES;
	sampling->hw.flags = X86_EVENT_BRANCHES;
	sampling->attr.sample_period = 1000;
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, slots), 0);
	KUNIT_EXPECT_EQ(test, slots->hw.flags, X86_EVENT_TOPDOWN);
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, metric), 0);
	KUNIT_EXPECT_EQ(test, metric->hw.flags, X86_EVENT_TOPDOWN);
	KUNIT_EXPECT_EQ(test, x86_topdown_init(xpmu, sampling), 0);
	KUNIT_EXPECT_EQ(test, sampling->hw.flags, X86_EVENT_BRANCHES);
}

/* For which pages are the registers left to programs? */
static void rings_are_not_pages_alone(struct kunit *test)
{
	struct x86_pmu *xpmu = topdown_new_pmu(test, &icelake_model);
	struct perf_event *slots = topdown_new_event(test, xpmu, 0x0400, NULL);

	KUNIT_EXPECT_FALSE(test, perf_event_user_page_alone(slots));
	slots->attach_state = PERF_ATTACH_USER_PAGE;
	KUNIT_EXPECT_TRUE(test, perf_event_user_page_alone(slots));
	slots->attach_state |= PERF_ATTACH_DATA_PAGES;
	KUNIT_EXPECT_FALSE(test, perf_event_user_page_alone(slots));
	KUNIT_EXPECT_TRUE(test, perf_event_user_page_mapped(slots));
	slots->attach_state = PERF_ATTACH_DATA_PAGES;
	KUNIT_EXPECT_FALSE(test, perf_event_user_page_alone(slots));
}

static struct kunit_case x86_topdown_cases[] = {
	KUNIT_CASE(counts_are_shares_of_slots),
	KUNIT_CASE(rests_add_up),
	KUNIT_CASE(selections_have_their_number),
	KUNIT_CASE(metrics_follow_slots),
	KUNIT_CASE(slots_have_no_branches),
	KUNIT_CASE(rings_are_not_pages_alone),
	{ }
};

static struct kunit_suite x86_topdown_suite = {
	.name		= "x86_topdown",
	.test_cases	= x86_topdown_cases,
};

kunit_test_suite(x86_topdown_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: top-down metrics");
MODULE_LICENSE("GPL");
