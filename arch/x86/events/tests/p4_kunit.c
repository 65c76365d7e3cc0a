// SPDX-License-Identifier: GPL-2.0
/*
 * Events, ESCRs and schedules of the Pentium 4.
 */
#include <kunit/test.h>
#include <asm/perf_event_p4.h>

#include "../intel/models.h"
#include "helpers.h"

/* Events of the Pentium 4 by number, without an event mask. */
#define P4_EVENTS	(P4_EVENT_INSTR_COMPLETED + 1)
#define P4_CONFIG(_n)	p4_config_pack_escr(P4_ESCR_EVENT((u64)(_n)))

/* ESCRs of one counter per group: "Performance Counter MSRs and Associated CCCR and ESCR MSRs". */
static const u16 p4_escrs_of_4[] = { 0x3c0, 0x3c2, 0x3c4 };
static const u16 p4_escrs_of_10[] = { 0x3a5, 0x3a7, 0x3a9, 0x3af, 0x3b1 };
static const u16 p4_escrs_of_0[] = { 0x3a0, 0x3a2, 0x3aa, 0x3ac, 0x3b2, 0x3b4, 0x3b6, 0x3c8 };
static const u16 p4_escrs_of_17[] = { 0x3b9, 0x3bb, 0x3bd, 0x3cb, 0x3cd, 0x3e1 };

static bool p4_test_in_list(const u16 *escrs, unsigned int n, u32 escr)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (escrs[i] == escr)
			return true;
	return false;
}

static bool p4_test_reaches(unsigned int counter, u32 escr)
{
	/* Counters of the same side have the same ESCRs, the other side the others of the pairs. */
	if (counter >= 12)
		return p4_test_in_list(p4_escrs_of_17, ARRAY_SIZE(p4_escrs_of_17), escr | 1);
	if (counter >= 8)
		return p4_test_in_list(p4_escrs_of_10, ARRAY_SIZE(p4_escrs_of_10), escr | 1);
	if (counter >= 4)
		return p4_test_in_list(p4_escrs_of_4, ARRAY_SIZE(p4_escrs_of_4), escr & ~1);
	return p4_test_in_list(p4_escrs_of_0, ARRAY_SIZE(p4_escrs_of_0), escr & ~1);
}

static void p4_events_reach_their_escrs(struct kunit *test)
{
	unsigned int n, counter;

	for (n = 0; n < P4_EVENTS; n++) {
		unsigned long counters = p4_counters(P4_CONFIG(n));
		u64 select = p4_select(P4_CONFIG(n));

		KUNIT_EXPECT_NE_MSG(test, counters, 0UL, "event %u", n);
		KUNIT_EXPECT_EQ_MSG(test, counters & BIT(1), 0UL, "event %u", n);
		KUNIT_EXPECT_NE_MSG(test, select & p4_config_pack_escr(P4_ESCR_EVENT_MASK), 0ULL,
				    "event %u", n);
		KUNIT_EXPECT_EQ_MSG(test, select & P4_CCCR_THREAD_ANY, P4_CCCR_THREAD_ANY,
				    "event %u", n);
		for_each_set_bit(counter, &counters, 64)
			KUNIT_EXPECT_TRUE_MSG(test,
					      p4_test_reaches(counter, p4_escr(counter, select)),
					      "event %u, counter %u: ESCR %#x", n, counter,
					      p4_escr(counter, select));
	}
	KUNIT_EXPECT_EQ(test, p4_counters(P4_CONFIG(P4_EVENTS)), 0ULL);
}

struct p4_place {
	unsigned int	event;
	u64		counters;
	u32		escr[2];
};

/* Some events, with counters and ESCRs from the event lists. */
static void p4_events_are_where_the_manual_says(struct kunit *test)
{
	static const struct p4_place places[] = {
		{ P4_EVENT_GLOBAL_POWER_EVENTS, 0x0000d, { MSR_P4_FSB_ESCR0, MSR_P4_FSB_ESCR1 } },
		{ P4_EVENT_INSTR_RETIRED, 0x3f000, { MSR_P4_CRU_ESCR0, MSR_P4_CRU_ESCR1 } },
		{ P4_EVENT_MISPRED_BRANCH_RETIRED, 0x3f000,
		  { MSR_P4_CRU_ESCR0, MSR_P4_CRU_ESCR1 } },
		{ P4_EVENT_BRANCH_RETIRED, 0x3f000, { MSR_P4_CRU_ESCR2, MSR_P4_CRU_ESCR3 } },
		{ P4_EVENT_RETIRED_BRANCH_TYPE, 0x000f0, { MSR_P4_TBPU_ESCR0, MSR_P4_TBPU_ESCR1 } },
		{ P4_EVENT_BSQ_CACHE_REFERENCE, 0x0000d, { MSR_P4_BSU_ESCR0, MSR_P4_BSU_ESCR1 } },
		{ P4_EVENT_BSQ_ALLOCATION, 0x00001, { MSR_P4_BSU_ESCR0, MSR_P4_BSU_ESCR0 } },
		{ P4_EVENT_IOQ_ACTIVE_ENTRIES, 0x0000c, { MSR_P4_FSB_ESCR1, MSR_P4_FSB_ESCR1 } },
		{ P4_EVENT_SNOOP, 0x0000d, { MSR_P4_FSB_ESCR0, MSR_P4_FSB_ESCR1 } },
		{ P4_EVENT_X87_FP_UOP, 0x00f00, { MSR_P4_FIRM_ESCR0, MSR_P4_FIRM_ESCR1 } },
		{ P4_EVENT_UOP_TYPE, 0x3f000, { MSR_P4_RAT_ESCR0, MSR_P4_RAT_ESCR1 } },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		const struct p4_place *p = &places[i];
		u64 select = p4_select(P4_CONFIG(p->event));

		KUNIT_EXPECT_EQ_MSG(test, p4_counters(P4_CONFIG(p->event)), p->counters,
				    "event %u", p->event);
		KUNIT_EXPECT_EQ_MSG(test, p4_escr(__ffs64(p->counters), select), p->escr[0],
				    "event %u", p->event);
		KUNIT_EXPECT_EQ_MSG(test, p4_escr(__fls(p->counters), select), p->escr[1],
				    "event %u", p->event);
	}
}

static void p4_threads_share_no_escr(struct kunit *test)
{
	u64 both = p4_config_pack_escr(P4_ESCR_T0_OS | P4_ESCR_T0_USR) | P4_CCCR_OVF_PMI_T0;
	u64 second = p4_config_pack_escr(P4_ESCR_T1_OS | P4_ESCR_T1_USR) | P4_CCCR_OVF_PMI_T1;
	unsigned long counters = p4_counters_of_thread(2);
	u64 select = p4_select(P4_CONFIG(P4_EVENT_INSTR_RETIRED));
	unsigned int n, counter;

	KUNIT_EXPECT_EQ(test, p4_counters_of_thread(1), GENERAL(18) & ~BIT_ULL(1));
	KUNIT_EXPECT_EQ(test, counters & counters << 2, 0UL);
	KUNIT_EXPECT_EQ(test, p4_on_thread(select | both, false), select | both);
	KUNIT_EXPECT_EQ(test, p4_on_thread(select | both, true), select | second);
	KUNIT_EXPECT_EQ(test, p4_on_thread(p4_config_pack_escr(P4_ESCR_T0_USR), true),
			p4_config_pack_escr(P4_ESCR_T1_USR));

	/* A counter and its counterpart on the other thread never share an ESCR. */
	for (n = 0; n < P4_EVENTS; n++) {
		select = p4_select(P4_CONFIG(n));
		for_each_set_bit(counter, &counters, 64) {
			u32 escr = p4_escr(counter, select);

			if (!escr)
				continue;
			KUNIT_EXPECT_EQ_MSG(test, p4_escr(counter + 2, select), escr + 1,
					    "event %u, counter %u", n, counter);
		}
	}
}

static void p4_test_add(struct kunit *test, struct perf_schedule *s, unsigned int n)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->hw.idx = -1;
	event->hw.counters = p4_counters(P4_CONFIG(n));
	event->hw.config = p4_select(P4_CONFIG(n));
	s->slot[s->nr++].event = event;
}

/* Each event has a counter that can count it, and shares neither counter nor ESCR. */
static void p4_test_expect_apart(struct kunit *test, const struct perf_schedule *s)
{
	unsigned int i, j;

	for (i = 0; i < s->nr; i++) {
		const struct hw_perf_event *a = &s->slot[i].event->hw;

		KUNIT_EXPECT_TRUE(test, a->counters & BIT_ULL(s->slot[i].idx));
		for (j = 0; j < i; j++) {
			const struct hw_perf_event *b = &s->slot[j].event->hw;

			KUNIT_EXPECT_NE(test, s->slot[i].idx, s->slot[j].idx);
			KUNIT_EXPECT_NE(test, p4_escr(s->slot[i].idx, a->config),
					p4_escr(s->slot[j].idx, b->config));
		}
	}
}

static void p4_schedules_share_no_escr(struct kunit *test)
{
	static const u8 events[] = {
		P4_EVENT_IOQ_ALLOCATION, P4_EVENT_ITLB_REFERENCE, P4_EVENT_INSTR_RETIRED,
		P4_EVENT_BRANCH_RETIRED, P4_EVENT_REPLAY_EVENT, P4_EVENT_UOP_TYPE,
		P4_EVENT_MISPRED_BRANCH_RETIRED, P4_EVENT_RESOURCE_STALL,
		P4_EVENT_IOQ_ACTIVE_ENTRIES,
	};
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &p4_model;
	/* One by one: the last one needs the second side, where the first one can be by then. */
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		p4_test_add(test, s, events[i]);
		KUNIT_ASSERT_EQ_MSG(test, x86_sched_assign(&xpmu->pmu, s, i), 0, "slot %u", i);
		p4_test_expect_apart(test, s);
	}
	/* All at once. */
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, 0), 0);
	p4_test_expect_apart(test, s);
	/* A third event for two ESCRs does not fit, although there are free counters. */
	p4_test_add(test, s, P4_EVENT_UOPS_RETIRED);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, s->nr - 1), -ENOSPC);
	/* Neither does a second event, if the other thread uses the other ESCR. */
	s->nr = 0;
	p4_test_add(test, s, P4_EVENT_INSTR_RETIRED);
	p4_test_add(test, s, P4_EVENT_MISPRED_BRANCH_RETIRED);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, 0), 0);
	for (i = 0; i < s->nr; i++)
		s->slot[i].event->hw.counters &= p4_counters_of_thread(2);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, 0), -ENOSPC);
}

static struct kunit_case x86_pmu_p4_cases[] = {
	KUNIT_CASE(p4_events_reach_their_escrs),
	KUNIT_CASE(p4_events_are_where_the_manual_says),
	KUNIT_CASE(p4_threads_share_no_escr),
	KUNIT_CASE(p4_schedules_share_no_escr),
	{ }
};

static struct kunit_suite x86_pmu_p4_suite = {
	.name		= "x86_pmu_p4",
	.test_cases	= x86_pmu_p4_cases,
};

kunit_test_suite(x86_pmu_p4_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: Pentium 4");
MODULE_LICENSE("GPL");
