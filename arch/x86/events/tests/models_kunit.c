// SPDX-License-Identifier: GPL-2.0
/*
 * Events, counters and registers of single models, compared with manuals and event files.
 */
#include "../amd/models.h"
#include "../archperf.h"
#include "../intel/models.h"
#include "../zhaoxin/models.h"
#include "helpers.h"

/* An event of a model that this machine need not have. Skips the test on machines without a PMU. */
static struct perf_event *x86_test_event(struct kunit *test, const struct x86_model *model,
					 u64 config)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	if (!x86_nr_pmus)
		kunit_skip(test, "no PMU");
	xpmu->model = model;
	xpmu->counters = ARCH(8, 3);
	xpmu->select_mask = X86_RAW_EVENT_MASK | ARCH_PERFMON_EVENTSEL_ANY | HSW_IN_TX |
			    HSW_IN_TX_CHECKPOINTED;
	cpumask_copy(&xpmu->cpus, cpu_possible_mask);
	xpmu->pmu.type = PERF_TYPE_RAW;
	event->pmu = &xpmu->pmu;
	event->cpu = -1;
	event->attr.type = PERF_TYPE_RAW;
	event->attr.config = config;
	return event;
}

static int x86_test_init(struct perf_event *event)
{
	int ret = x86_event_init(event);

	if (!ret)
		event->destroy(event);
	return ret;
}

#ifdef CONFIG_CPU_SUP_INTEL
struct models_counters_case {
	const struct x86_model	*model;
	u64			config;
	u64			counters;
};

static const struct models_counters_case counters_cases[] = {
	{ &goldencove_model, 0x04a3, GENERAL(8) },
	{ &goldencove_model, 0x05a3, GENERAL(4) },
	{ &goldencove_model, 0x06a3, GENERAL(4) },
	{ &goldencove_model, 0x0ca3, GENERAL(4) },
	{ &nehalem_model, 0x014c, GENERAL(2) }, { &nehalem_model, 0x0152, GENERAL(2) },
	{ &nehalem_model, 0x0153, GENERAL(2) },
	{ &westmere_model, 0x014c, GENERAL(2) }, { &westmere_model, 0x0152, GENERAL(2) },
	{ &westmere_model, 0x014e, GENERAL(2) },
	{ &icelake_model, 0x0155, GENERAL(4) }, { &icelake_model, 0x0156, GENERAL(4) },
	{ &icelake_model, 0x10ef, GENERAL(4) }, { &icelake_model, 0x01cd, GENERAL(8) },
	{ &goldencove_model, 0x01cd, GENERAL(8) & ~BIT_ULL(0) },
	{ &redwoodcove_model, 0x01cd, GENERAL(8) & ~BIT_ULL(0) },
	{ &goldencove_model, 0x02cd, BIT_ULL(0) },
	{ &goldencove_model, 0x0148, GENERAL(4) },
	{ &goldencove_x_model, 0x01ce, 1 }, { &goldencove_x_model, 0x02ce, 1 },
	{ &lioncove_model, 0x01cd, GENERAL(8) & ~GENERAL(2) },
	{ &lioncove_model, 0x02cd, GENERAL(2) },
	{ &lioncove_model, 0x0148, BIT_ULL(2) }, { &lioncove_model, 0x0175, BIT_ULL(2) },
	{ &lioncove_model, 0x10a4, BIT_ULL(3) }, { &lioncove_model, 0x04a4, BIT_ULL(0) },
	{ &lioncove_model, 0x01b1, BIT_ULL(3) }, { &lioncove_model, 0x10b1, GENERAL(8) },
	{ &lioncove_model, 0x0e11, GENERAL(8) }, { &lioncove_model, 0x81d0, GENERAL(4) },
	{ &gracemont_model, 0x05d0, GENERAL(2) }, { &gracemont_model, 0x06d0, GENERAL(8) },
	{ &crestmont_model, 0x05d0, GENERAL(2) }, { &skymont_model, 0x05d0, GENERAL(8) },
	{ &sandybridge_model, 0x0279, GENERAL(4) },
	{ &sandybridge_model, 0x0179, GENERAL(8) },
	{ &sandybridge_model, 0x81d0, GENERAL(4) },
	{ &sandybridge_model, 0x02d4, GENERAL(8) },
	{ &ivybridge_model, 0x81d0, GENERAL(4) },
	{ &ivybridge_ep_model, 0x01d3, GENERAL(4) },
	{ &haswell_model, 0x01d1, GENERAL(4) }, { &broadwell_model, 0x01d2, GENERAL(4) },
	{ &sandybridge_model, 0x019c, GENERAL(4) }, { &haswell_model, 0x019c, GENERAL(4) },
	{ &broadwell_model, 0x019c, GENERAL(4) }, { &skylake_model, 0x019c, GENERAL(8) },
	{ &haswell_model, 0x01a3, GENERAL(8) }, { &haswell_model, 0x02a3, GENERAL(4) },
	{ &haswell_model, 0x05a3, GENERAL(4) }, { &haswell_model, 0x06a3, GENERAL(4) },
	{ &haswell_model, 0x01b1, GENERAL(4) }, { &haswell_model, 0x11bc, GENERAL(4) },
	{ &skylake_model, 0x04d4, GENERAL(4) },
	{ &sandybridge_model, 0x01b7, GENERAL(4) },
	{ &sandybridge_ep_model, 0x01bb, GENERAL(4) },
	{ &ivybridge_model, 0x01b7, GENERAL(4) }, { &ivybridge_model, 0x01bb, GENERAL(4) },
	{ &haswell_model, 0x01b7, GENERAL(4) }, { &haswell_model, 0x01bb, GENERAL(4) },
	{ &broadwell_model, 0x01b7, GENERAL(4) }, { &broadwell_model, 0x01bb, GENERAL(4) },
	{ &skylake_model, 0x01b7, GENERAL(4) }, { &skylake_model, 0x01bb, GENERAL(4) },
	{ &icelake_model, 0x01c0, ARCH(0, 1) }, { &icelake_model, 0x0100, ARCH(0, 1) },
	{ &icelake_model, 0x018001c0, GENERAL(8) },	/* INST_RETIRED.STALL_CYCLES */
	{ &lioncove_model, 0x012a, GENERAL(4) }, { &lioncove_model, 0x012b, GENERAL(4) },
	{ &goldencove_model, 0x013c, GENERAL(8) | X86_FIXED(2) },
	{ &redwoodcove_model, 0x013c, GENERAL(8) | X86_FIXED(2) },
	{ &gracemont_model, 0x013c, GENERAL(8) | X86_FIXED(2) },
	{ &gracemont_model, 0x013c | ARCH_PERFMON_EVENTSEL_EDGE, GENERAL(8) },
	/* What a fixed counter cannot filter. */
	{ &goldencove_model, 0x013c | HSW_IN_TX, GENERAL(8) },
	{ &goldencove_model, 0x013c | ARCH_PERFMON_EVENTSEL_ANY, GENERAL(8) | X86_FIXED(2) },
	{ &icelake_model, 0x01c0 | HSW_IN_TX, GENERAL(8) },
	{ &icelake_model, 0x0100 | HSW_IN_TX, 0 }, { &icelake_model, 0xff000100, 0 },
	{ &icelake_model, 0x0100 | ARCH_PERFMON_EVENTSEL_EDGE, 0 },
	{ &lioncove_model, 0x013c | ARCH_PERFMON_EVENTSEL_EQ, GENERAL(8) },
	{ &lioncove_model, 0x013c | BIT_ULL(40), GENERAL(8) },
};

static void events_have_their_counters(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->counters = ARCH(8, 4);
	for (i = 0; i < ARRAY_SIZE(counters_cases); i++) {
		xpmu->model = counters_cases[i].model;
		KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(xpmu, counters_cases[i].config),
				    counters_cases[i].counters,
				    "%s %#llx", xpmu->model->name, counters_cases[i].config);
	}
}

/* Code 0: an event of a fixed counter where there is one, and nothing elsewhere. */
static void pseudo_events_have_their_counters(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &skylake_model;
	xpmu->counters = ARCH(8, 3);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0300), X86_FIXED(2));
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0400), GENERAL(8));
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0500), GENERAL(8));
	xpmu->model = &icelake_model;
	xpmu->counters = ARCH(8, 4);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0400), X86_FIXED(3));
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0500), GENERAL(8));
}

/* FRONTEND_RETIRED and MISP_ANT with values from the event files. */
static void frontend_events_have_their_register(struct kunit *test)
{
	static const struct {
		const struct x86_model	*model;
		u64			config, extra;
	} event[] = {
		{ &skylake_model, 0x01c6, 0x400406 }, { &icelake_model, 0x01c6, 0x500406 },
		{ &goldencove_model, 0x01c6, 0x600406 }, { &goldencove_model, 0x01c6, 0x17 },
		{ &redwoodcove_model, 0x03c6, 0x600406 }, { &redwoodcove_model, 0x03c6, 0x17 },
		{ &redwoodcove_model, 0x02c6, 0x9 }, { &lioncove_model, 0x03c6, 0x600406 },
		{ &redwoodcove_model, 0x40ad, 0x7 }, { &lioncove_model, 0x40ad, 0xb },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event); i++) {
		const struct x86_extra *x = x86_test_extra(event[i].model, event[i].config);

		KUNIT_ASSERT_NOT_NULL_MSG(test, x, "%s %#llx", event[i].model->name,
					  event[i].config);
		KUNIT_EXPECT_EQ(test, x->msr, (u32)MSR_PEBS_FRONTEND);
		KUNIT_EXPECT_EQ_MSG(test, event[i].extra & ~x->valid, 0ULL, "%s %#llx",
				    event[i].model->name, event[i].config);
	}
	/* The selection of older cores is no event of newer ones. */
	KUNIT_EXPECT_NULL(test, x86_test_extra(&redwoodcove_model, 0x01c6));
}

/* Event file ADL: counters 0 to 7 and SLOTS on big cores, 0 to 5 on small cores. */
static void alderlake_big_cores_have_more_counters(struct kunit *test)
{
	struct archperf_leaf leaf = { };

	leaf.eax.split.version_id = 5;
	leaf.eax.split.num_counters = 6;
	leaf.edx.split.num_counters_fixed = 3;
	leaf.ecx = 7;
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&goldencove_model, &leaf, false), ARCH(8, 4));
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&goldencove_model, &leaf, true), ARCH(6, 3));
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&gracemont_model, &leaf, false), ARCH(6, 3));
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&redwoodcove_model, &leaf, false), ARCH(6, 3));
}

/* Core Ultra 5 125H: CPUID.0AH has three fixed counters, CPUID.23H the slots. */
static void meteorlake_has_slots_in_leaf_23h(struct kunit *test)
{
	struct archperf_leaf leaf = { };

	leaf.eax.split.version_id = 5;
	leaf.eax.split.num_counters = 8;
	leaf.edx.split.num_counters_fixed = 3;
	leaf.ecx = 7;
	leaf.general = 0xff;
	leaf.fixed = 0xf;
	KUNIT_EXPECT_EQ(test, archperf_counters(&leaf), ARCH(8, 4));
}

/* CPUID.0AH has 8 general and 4 fixed counters at most: leaf 23H has the others. */
static void leaf_23h_has_further_counters(struct kunit *test)
{
	struct archperf_leaf leaf = { };

	leaf.eax.split.version_id = 6;
	leaf.eax.split.num_counters = 8;
	leaf.edx.split.num_counters_fixed = 3;
	leaf.ecx = 0x7;
	KUNIT_EXPECT_EQ(test, archperf_counters(&leaf), ARCH(8, 3));
	leaf.general = 0x3ff;
	leaf.fixed = 0xf;
	KUNIT_EXPECT_EQ(test, archperf_counters(&leaf), ARCH(10, 4));
	leaf.general = 0xff;
	leaf.fixed = 0x77;
	KUNIT_EXPECT_EQ(test, archperf_counters(&leaf), ARCH(8, 7) & ~X86_FIXED(3));
}

/* SDM 3B and event file LNL (skymont): fixed counters 4 to 6 are for top-down. */
static void skymont_counts_topdown_by_fixed_counters(struct kunit *test)
{
	static const struct {
		u16 general, fixed;
		u64 counter;
	} event[] = {
		{ 0x0073, 0x0500, X86_FIXED(4) },
		{ 0x019c, 0x0600, X86_FIXED(5) },
		{ 0x02c2, 0x0700, X86_FIXED(6) },
	};
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &skymont_model;
	for (i = 0; i < ARRAY_SIZE(event); i++) {
		xpmu->counters = ARCH(8, 7) & ~X86_FIXED(3);
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, event[i].general),
				GENERAL(8) | event[i].counter);
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, event[i].fixed), event[i].counter);
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, event[i].general | BIT_ULL(23)),
				GENERAL(8));
		xpmu->counters = ARCH(8, 3);
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, event[i].general), GENERAL(8));
	}
}

/* A CPU of another microarchitecture than the first one, or with fewer counters, has no PMU. */
static void core_unlike_the_first_has_no_pmu(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	const u32 skymont = 0x20000003, crestmont = 0x20000002;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->counters = ARCH(10, 4);
	KUNIT_EXPECT_TRUE(test, intel_pmu_accepts_cpu(xpmu, skymont, ARCH(8, 3)));
	KUNIT_EXPECT_EQ(test, xpmu->counters, ARCH(8, 3));
	KUNIT_EXPECT_TRUE(test, intel_pmu_accepts_cpu(xpmu, skymont, ARCH(8, 3)));
	KUNIT_EXPECT_TRUE(test, intel_pmu_accepts_cpu(xpmu, skymont, ARCH(10, 4)));
	KUNIT_EXPECT_FALSE(test, intel_pmu_accepts_cpu(xpmu, skymont, ARCH(6, 3)));
	KUNIT_EXPECT_FALSE(test, intel_pmu_accepts_cpu(xpmu, skymont, ARCH(8, 2)));
	KUNIT_EXPECT_FALSE(test, intel_pmu_accepts_cpu(xpmu, crestmont, ARCH(8, 3)));
	KUNIT_EXPECT_EQ(test, xpmu->counters, ARCH(8, 3));
}

/* SDM 3B: bits 30:23 are reserved on clients. Event files JKT, IVT: servers set all of them. */
static void remote_memory_events_on_servers_only(struct kunit *test)
{
	static const struct {
		const struct x86_model *client, *server;
	} line[] = {
		{ &sandybridge_model, &sandybridge_ep_model },
		{ &ivybridge_model, &ivybridge_ep_model },
	};
	static const u32 miss = X86_CACHE(LL, LOAD, MISS), remote = X86_CACHE(NODE, LOAD, MISS);
	unsigned int i;
	u64 extra;

	for (i = 0; i < ARRAY_SIZE(line); i++) {
		KUNIT_EXPECT_EQ(test, line[i].client->extra->valid, 0x3f807f8fffULL);
		KUNIT_EXPECT_EQ(test, line[i].server->extra->valid, 0x3fffff8fffULL);
		KUNIT_EXPECT_EQ(test, x86_cache_select(line[i].client, miss, &extra), 0x01b7ULL);
		KUNIT_EXPECT_EQ(test, extra, 0x3f80400001ULL);
		KUNIT_EXPECT_EQ(test, x86_cache_select(line[i].client, remote, &extra), 0ULL);
		KUNIT_EXPECT_EQ(test, x86_cache_select(line[i].server, miss, &extra), 0x01b7ULL);
		KUNIT_EXPECT_EQ(test, extra, 0x3fffc00001ULL);
		KUNIT_EXPECT_EQ(test, x86_cache_select(line[i].server, remote, &extra), 0x01b7ULL);
		KUNIT_EXPECT_EQ(test, extra, 0x3fff800001ULL);
	}
}

static void broadwell_llc_misses_have_local_memory_bit(struct kunit *test)
{
	static const u32 which[] = { X86_CACHE(LL, LOAD, MISS), X86_CACHE(NODE, LOAD, ACCESS) };
	unsigned int i;
	u64 extra;

	for (i = 0; i < ARRAY_SIZE(which); i++) {
		KUNIT_EXPECT_EQ(test, x86_cache_select(&broadwell_model, which[i], &extra), 0x01b7);
		KUNIT_EXPECT_EQ(test, extra & (BIT_ULL(26) | BIT_ULL(22)), BIT_ULL(26));
		KUNIT_EXPECT_EQ(test, x86_cache_select(&haswell_model, which[i], &extra), 0x01b7);
		KUNIT_EXPECT_EQ(test, extra & (BIT_ULL(26) | BIT_ULL(22)), BIT_ULL(22));
	}
}

static u64 models_counters_of_levels(struct kunit *test, const struct x86_model *model, u64 config,
				     bool user, bool kernel)
{
	struct perf_event *event = x86_test_event(test, model, config);

	event->attr.exclude_user = !user;
	event->attr.exclude_kernel = !kernel;
	KUNIT_EXPECT_EQ(test, x86_test_init(event), 0);
	return event->hw.counters;
}

/* Erratum: counters 4 to 7 do not count with USR set and OS clear. */
static void broadwell_counts_user_mode_on_low_counters(struct kunit *test)
{
	const struct x86_model *model = &broadwell_model;

	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x00c4, true, true),
			GENERAL(8));
	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x00c4, false, true),
			GENERAL(8));
	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x00c4, false, false),
			GENERAL(8));
	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x00c4, true, false),
			GENERAL(4));
	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x00c0, true, false),
			ARCH(4, 1));
	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x02a3, true, false),
			GENERAL(4));
	model = &haswell_model;
	KUNIT_EXPECT_EQ(test, models_counters_of_levels(test, model, 0x00c4, true, false),
			GENERAL(8));
}

/* An abort undoes the overflow, and its interrupt finds no cause. */
static void txcp_is_not_sampled(struct kunit *test)
{
	struct perf_event *txcp = x86_test_event(test, &haswell_model,
						 0x00c4 | HSW_IN_TX_CHECKPOINTED);
	struct perf_event *tx = x86_test_event(test, &haswell_model, 0x00c4 | HSW_IN_TX);

	KUNIT_EXPECT_EQ(test, x86_test_init(txcp), 0);
	txcp->attr.sample_period = 0x7ffffffe;
	KUNIT_EXPECT_EQ(test, x86_test_init(txcp), -EOPNOTSUPP);
	txcp->attr.sample_period = 0x7fffffff;
	KUNIT_EXPECT_EQ(test, x86_test_init(txcp), 0);
	KUNIT_EXPECT_EQ(test, x86_check_period(txcp, 0x7fffffff), 0);
	KUNIT_EXPECT_EQ(test, x86_check_period(txcp, 100000), -EOPNOTSUPP);
	txcp->attr.freq = 1;
	KUNIT_EXPECT_EQ(test, x86_test_init(txcp), -EOPNOTSUPP);
	txcp->attr.sample_freq = 1000;
	KUNIT_EXPECT_EQ(test, x86_test_init(txcp), -EOPNOTSUPP);

	tx->attr.sample_period = 100000;
	KUNIT_EXPECT_EQ(test, x86_test_init(tx), 0);
	tx->attr.freq = 1;
	KUNIT_EXPECT_EQ(test, x86_test_init(tx), 0);
}

static void tsx_events_refuse_any_thread(struct kunit *test)
{
	static const u64 tx[] = { HSW_IN_TX, HSW_IN_TX_CHECKPOINTED };
	u64 any = 0x00c4 | ARCH_PERFMON_EVENTSEL_ANY;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, x86_test_init(x86_test_event(test, &haswell_model, any)), 0);
	for (i = 0; i < ARRAY_SIZE(tx); i++) {
		struct perf_event *both = x86_test_event(test, &haswell_model, any | tx[i]);
		struct perf_event *one = x86_test_event(test, &haswell_model, 0x00c4 | tx[i]);

		KUNIT_EXPECT_EQ(test, x86_test_init(both), -EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, x86_test_init(one), 0);
	}
}

/* White paper 604224: what other counters can count leaves counter 3 to transactions. */
static void counter_of_microcode_is_assigned_last(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, 4 * sizeof(*event), GFP_KERNEL);
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	u64 taken = 0;

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &skylake_model;
	xpmu->counters = ARCH(4, 3);
	xpmu->rtm_counters = BIT_ULL(3);
	for (unsigned int i = 0; i < 4; i++) {
		event[i].hw.idx = -1;
		event[i].hw.counters = GENERAL(4);
		s->slot[i].event = &event[i];
	}
	for (s->nr = 1; s->nr <= 3; s->nr++)
		KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, s->nr - 1), 0);
	for (unsigned int i = 0; i < 3; i++)
		taken |= BIT_ULL(s->slot[i].idx);
	KUNIT_EXPECT_EQ(test, taken, GENERAL(3));

	s->nr = 4;
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, 3), 0);
	KUNIT_EXPECT_EQ(test, s->slot[3].idx, 3);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&xpmu->pmu, s, 0), 0);
}

/* The counters of guests are numbered without a gap. */
static void counters_of_guests_have_no_gap(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct x86_pmu_capability cap;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &skylake_model;
	xpmu->counters = ARCH(8, 3);
	x86_kvm_capability(xpmu, &cap);
	KUNIT_EXPECT_EQ(test, cap.num_counters_gp, 8);
	KUNIT_EXPECT_EQ(test, cap.num_counters_fixed, 3);
	xpmu->counters = ARCH(8, 3) & ~(BIT_ULL(3) | X86_FIXED(1));
	x86_kvm_capability(xpmu, &cap);
	KUNIT_EXPECT_EQ(test, cap.num_counters_gp, 3);
	KUNIT_EXPECT_EQ(test, cap.num_counters_fixed, 1);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x81d0), GENERAL(3));
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x00c4), GENERAL(8) & ~BIT_ULL(3));
}

/* Erratum AAJ80: if CPUID does not report the event; event file NHM-EP: BR_MISP_EXEC.ANY. */
static void nehalem_counts_executed_mispredictions(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->counters = ARCH(4, 3);
	xpmu->arch_len = 7;
	xpmu->model = &nehalem_model;
	KUNIT_EXPECT_EQ(test, x86_generic_select(xpmu, PERF_COUNT_HW_BRANCH_MISSES), 0x00c5ULL);
	xpmu->arch_missing = BIT(6);
	KUNIT_EXPECT_EQ(test, x86_generic_select(xpmu, PERF_COUNT_HW_BRANCH_MISSES), 0x7f89ULL);
	xpmu->model = &westmere_model;
	KUNIT_EXPECT_EQ(test, x86_generic_select(xpmu, PERF_COUNT_HW_BRANCH_MISSES), 0ULL);
	xpmu->arch_missing = 0;
	KUNIT_EXPECT_EQ(test, x86_generic_select(xpmu, PERF_COUNT_HW_BRANCH_MISSES), 0x00c5ULL);
}

/* OCR.DEMAND_DATA_RD and DEMAND_RFO, ANY_RESPONSE and L3_MISS, of the event files. */
static void last_level_values_match_event_files(struct kunit *test)
{
	static const struct {
		const struct x86_model *model;
		u64 read, read_miss, rfo, rfo_miss;
		bool node;
	} part[] = {
		{ &goldencove_model, 0x10001, 0x3fbfc00001, 0x10002, 0x3fbfc00002, false },
		{ &redwoodcove_model, 0x10001, 0x3fbfc00001, 0x10002, 0x3fbfc00002, false },
		{ &goldencove_x_model, 0x10001, 0x3fbfc00001, 0x3f3ffc0002, 0x3f3fc00002, true },
		{ &redwoodcove_x_model, 0x10001, 0x3fbfc00001, 0x3f3ffc0002, 0x3f3fc00002, true },
		{ &lioncove_model, 0x10001, 0x9e7fa000001, 0x10002, 0x9e7fa000002, false },
		{ &gracemont_model, 0x10001, 0x3f84400001, 0x10002, 0x3f84400002, false },
		{ &crestmont_model, 0x10001, 0x3fbfc00001, 0x10002, 0x3fbfc00002, false },
		{ &skymont_model, 0x10001, 0x3fbfc00001, 0x10002, 0x3fbfc00002, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(part); i++) {
		const struct x86_model *model = part[i].model;
		u64 extra[4] = { }, node;

		x86_cache_select(model, X86_CACHE(LL, LOAD, ACCESS), &extra[0]);
		x86_cache_select(model, X86_CACHE(LL, LOAD, MISS), &extra[1]);
		x86_cache_select(model, X86_CACHE(LL, STORE, ACCESS), &extra[2]);
		x86_cache_select(model, X86_CACHE(LL, STORE, MISS), &extra[3]);
		KUNIT_EXPECT_EQ_MSG(test, extra[0], part[i].read, "%s", model->name);
		KUNIT_EXPECT_EQ_MSG(test, extra[1], part[i].read_miss, "%s", model->name);
		KUNIT_EXPECT_EQ_MSG(test, extra[2], part[i].rfo, "%s", model->name);
		KUNIT_EXPECT_EQ_MSG(test, extra[3], part[i].rfo_miss, "%s", model->name);
		KUNIT_EXPECT_EQ_MSG(test,
				    !!x86_cache_select(model, X86_CACHE(NODE, LOAD, ACCESS), &node),
				    part[i].node, "%s", model->name);
	}
	/* OCR.DEMAND_DATA_RD.DRAM of Lunar Lake */
	KUNIT_EXPECT_EQ(test, 0x1e780000001 & ~lioncove_model.extra->valid, 0ULL);
}

/* No value in the event files has a bit outside, or bit 6 or 31. */
static void goldmont_offcore_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, x86_test_extra(&goldmont_model, 0x01b7)->valid, 0x760005ffbfULL);
	KUNIT_EXPECT_EQ(test, x86_test_extra(&goldmont_plus_model, 0x02b7)->valid, 0x360005ffbfULL);
}

/* Each of the two events has a register of its own, of which all bits may be set. */
static void crestmont_has_snoop_registers(struct kunit *test)
{
	const struct x86_extra *first = x86_test_extra(&crestmont_model, 0x0127);
	const struct x86_extra *second = x86_test_extra(&crestmont_model, 0x0227);

	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_NOT_NULL(test, second);
	KUNIT_EXPECT_EQ(test, first->msr, MSR_SNOOP_RSP_0);
	KUNIT_EXPECT_EQ(test, first->valid, ~0ULL);
	KUNIT_EXPECT_EQ(test, second->msr, MSR_SNOOP_RSP_1);
	KUNIT_EXPECT_EQ(test, second->valid, ~0ULL);
	KUNIT_EXPECT_NULL(test, x86_test_extra(&gracemont_model, 0x0127));
}

static void goldmont_counts_walks_at_retirement(struct kunit *test)
{
	const u32 load = X86_CACHE(DTLB, LOAD, MISS), store = X86_CACHE(DTLB, STORE, MISS);
	u64 extra;

	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_model, load, &extra), 0x11d0);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_model, store, &extra), 0x12d0);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_plus_model, load, &extra), 0x0e08);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_plus_model, store, &extra), 0x0e49);
}

/* Errata HSD11, BDM11 and BDM55 concern INST_RETIRED.ALL. */
static void short_periods_are_refused(struct kunit *test)
{
	static const struct {
		const struct x86_model	*model;
		u64			config;
		u32			least;
	} event[] = {
		{ &broadwell_model, 0x01c0, 128 }, { &broadwell_model, 0x00c0, 1 },
		{ &broadwell_model, 0x00c4, 1 }, { &haswell_model, 0x01c0, 128 },
		{ &haswell_model, 0x00c0, 32 }, { &haswell_model, 0x00c4, 32 },
		{ &nehalem_model, 0x00c0, 32 }, { &westmere_model, 0x003c, 32 },
		{ &skylake_model, 0x00c0, 1 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(event); i++) {
		struct perf_event *e = x86_test_event(test, event[i].model, event[i].config);

		e->attr.sample_period = event[i].least;
		KUNIT_EXPECT_EQ_MSG(test, x86_test_init(e), 0, "%s %#llx", event[i].model->name,
				    event[i].config);
		if (event[i].least == 1)
			continue;
		e->attr.sample_period = event[i].least - 1;
		KUNIT_EXPECT_EQ_MSG(test, x86_test_init(e), -EINVAL, "%s %#llx",
				    event[i].model->name, event[i].config);
		/* A frequency is accepted; its periods are made longer. */
		e->attr.freq = 1;
		KUNIT_EXPECT_EQ(test, x86_test_init(e), 0);
		KUNIT_EXPECT_TRUE(test, e->hw.flags & X86_EVENT_LIMITED);
	}
}

/* At the highest precision an event that only counter 0 has needs a period of 128. */
static void confined_samples_have_long_periods(struct kunit *test)
{
	struct perf_event *event = x86_test_event(test, &goldencove_model, 0x003c);
	const struct x86_period_limit *limit;

	event->hw.config = 0x003c;
	event->hw.flags = X86_EVENT_PRECISE;
	event->hw.counters = BIT_ULL(0);
	event->attr.precise_ip = 3;
	limit = x86_period_limit_of(event);
	KUNIT_ASSERT_NOT_NULL(test, limit);
	KUNIT_EXPECT_EQ(test, limit->least, 128);
	event->attr.precise_ip = 2;
	KUNIT_EXPECT_NULL(test, x86_period_limit_of(event));
	event->attr.precise_ip = 3;
	event->hw.counters = X86_FIXED(0);
	KUNIT_EXPECT_NULL(test, x86_period_limit_of(event));
}

static u64 models_sysfs_event(const struct x86_model *model, const char *name, const char **text)
{
	const struct x86_sysfs_event *e = model->sysfs_events;

	for (; e && e->name; e++) {
		if (!strcmp(e->name, name)) {
			*text = e->text;
			return e->config;
		}
	}
	return 0;
}

/* Event files: INT_MISC.RECOVERY_CYCLES has umask 3 up to Broadwell, and 1 on Skylake. */
static void recovery_bubbles_have_their_umask(struct kunit *test)
{
	const char *text = "", *name = "topdown-recovery-bubbles";

	KUNIT_EXPECT_EQ(test, models_sysfs_event(&skylake_model, name, &text), 0x100010dULL);
	KUNIT_EXPECT_STREQ(test, text, "event=0xd,umask=0x1,cmask=1");
	KUNIT_EXPECT_EQ(test, models_sysfs_event(&broadwell_model, name, &text), 0x100030dULL);
	KUNIT_EXPECT_STREQ(test, text, "event=0xd,umask=0x3,cmask=1");
}

static void golden_cove_has_no_lock_elision(struct kunit *test)
{
	const char *text;

	KUNIT_EXPECT_EQ(test, models_sysfs_event(&goldencove_x_model, "el-start", &text), 0ULL);
	KUNIT_EXPECT_EQ(test, models_sysfs_event(&goldencove_x_model, "tx-start", &text),
			0x01c9ULL);
	KUNIT_EXPECT_EQ(test, models_sysfs_event(&icelake_model, "el-start", &text), 0x01c8ULL);
}

/* A value that no part accepts is refused as such where the register is missing, too. */
static void bad_extra_value_is_refused_first(struct kunit *test)
{
	struct perf_event *event = x86_test_event(test, &skylake_model, 0x01b7);

	event->attr.config1 = ~0ULL;
	KUNIT_EXPECT_EQ(test, x86_test_init(event), -EINVAL);
}

static void any_thread_needs_version_3(struct kunit *test)
{
	struct perf_event *event = x86_test_event(test, &core2_model,
						  0x003c | ARCH_PERFMON_EVENTSEL_ANY);
	struct x86_pmu *xpmu = to_x86_pmu(event->pmu);

	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL)
		kunit_skip(test, "the bit is another one");
	xpmu->version = 2;
	KUNIT_EXPECT_EQ(test, x86_test_init(event), -EINVAL);
	xpmu->version = 3;
	KUNIT_EXPECT_EQ(test, x86_test_init(event), 0);
}

static void xmm_registers_need_precise_samples(struct kunit *test)
{
	struct perf_event *event = x86_test_event(test, &icelake_model, 0x00c0);

	event->attr.sample_period = 1000;
	event->attr.sample_regs_intr = BIT_ULL(PERF_REG_X86_XMM0);
	KUNIT_EXPECT_EQ(test, x86_test_init(event), -EINVAL);
	event->attr.sample_regs_intr = 0;
	event->attr.sample_regs_user = BIT_ULL(PERF_REG_X86_XMM0);
	KUNIT_EXPECT_EQ(test, x86_test_init(event), -EINVAL);
}
#endif

/* PPR of family 19h model 11h, DF_PERF_CTL: event 37:32 and 7:0, umask 27:24 and 15:8. */
static void data_fabric_select_has_its_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, AMD64_PERFMON_V2_RAW_EVENT_MASK_NB, 0x3f0f00ffffULL);
}

#ifdef CONFIG_CPU_SUP_AMD
static void zen2_counts_frontend_stalls_only(struct kunit *test)
{
	const u64 *zen = amd_model_fam17h.generic, *zen2 = amd_model_zen2.generic;

	KUNIT_EXPECT_EQ(test, zen[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND], 0x0287ULL);
	KUNIT_EXPECT_EQ(test, zen[PERF_COUNT_HW_STALLED_CYCLES_BACKEND], 0x0187ULL);
	KUNIT_EXPECT_EQ(test, zen2[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND], 0x00a9ULL);
	KUNIT_EXPECT_EQ(test, zen2[PERF_COUNT_HW_STALLED_CYCLES_BACKEND], 0ULL);
}

/* Event file amdzen4: LS_NOT_HALTED_P0_CYC, code 120h. */
static void zen4_counts_reference_cycles(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, amd_model_fam19h.generic[PERF_COUNT_HW_REF_CPU_CYCLES], 0ULL);
	KUNIT_EXPECT_EQ(test, amd_model_zen4.generic[PERF_COUNT_HW_REF_CPU_CYCLES], 0x100000120ULL);
	KUNIT_EXPECT_EQ(test, amd_model_fam1ah.generic[PERF_COUNT_HW_REF_CPU_CYCLES],
			0x100000120ULL);
}

/*
 * DRAM and inter-node requests, and L3 requests of family 10h. A K7 has no northbridge, that of
 * family 15h has counters of its own.
 */
static void northbridge_events_have_their_counters(struct kunit *test)
{
	static const u64 codes[] = {
		0x07e0, 0x07f6, 0x1000007e0, 0x1000007ef, 0x4000007e0, 0x4000007ed
	};
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	KUNIT_ASSERT_NOT_NULL(test, event);
	xpmu->counters = GENERAL(4);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		event->hw.config = codes[i];
		xpmu->model = &amd_model_fam10h;
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, codes[i]), GENERAL(4));
		KUNIT_EXPECT_TRUE_MSG(test, amd_node_has_event(xpmu, event), "%#llx", codes[i]);
		xpmu->model = &amd_model_fam15h;
		KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(xpmu, codes[i]), 0ULL, "%#llx",
				    codes[i]);
		xpmu->model = &amd_model_k7;
		KUNIT_EXPECT_FALSE(test, amd_node_has_event(xpmu, event));
	}
	xpmu->model = &amd_model_k8;
	KUNIT_EXPECT_TRUE(test, amd_node_has_event(xpmu, event));
	event->hw.config = 0x00d0;
	KUNIT_EXPECT_FALSE(test, amd_node_has_event(xpmu, event));
	KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x00d0), GENERAL(4));
}

/* BKDG 15h: all pipes of an operation, or several kinds of FPU events, on counter 3 alone. */
static void floating_point_events_have_their_counters(struct kunit *test)
{
	static const struct {
		u64	config, counters;
	} cases[] = {
		{ 0x0000, GENMASK(5, 3) }, { 0x0100, GENMASK(5, 3) }, { 0x1000, GENMASK(5, 3) },
		{ 0x0f00, GENMASK(5, 3) }, { 0xf000, GENMASK(5, 3) }, { 0x1100, BIT(3) },
		{ 0xff00, BIT(3) }, { 0x0004, GENMASK(5, 3) }, { 0x0104, GENMASK(5, 3) },
		{ 0x8004, GENMASK(5, 3) }, { 0x0304, BIT(3) }, { 0x0f04, BIT(3) },
		{ 0xff03, BIT(3) }, { 0x0005, GENMASK(5, 3) },
	};
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = &amd_model_fam15h;
	xpmu->counters = GENERAL(6);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(xpmu, cases[i].config),
				    cases[i].counters, "%#llx", cases[i].config);
}

/* BKDG 10h, E9h: requests of the CPU to memory, of its node and of others; of others. */
static void nodes_have_cache_events(struct kunit *test)
{
	u32 access = PERF_COUNT_HW_CACHE_NODE | PERF_COUNT_HW_CACHE_OP_READ << 8 |
		     PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16;
	u32 miss = access | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
	u64 extra;

	KUNIT_EXPECT_EQ(test, x86_cache_select(&amd_model_k8, access, &extra), 0xb8e9ULL);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&amd_model_fam10h, access, &extra), 0xb8e9ULL);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&amd_model_fam10h, miss, &extra), 0x98e9ULL);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&amd_model_k7, access, &extra), 0ULL);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&amd_model_fam15h, access, &extra), 0ULL);
}

/* Without the host and guest bits, counters are switched at VM entry. */
static void excluding_host_and_guest_counts_nothing(struct kunit *test)
{
	struct perf_event *event = x86_test_event(test, &amd_model_fam17h, 0x00c0);
	u64 levels = ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS;

	if (!x86_pmu_regs.guest_bits && !x86_pmu_regs.global_ctrl)
		kunit_skip(test, "this PMU cannot tell guests apart");
	event->attr.exclude_host = 1;
	KUNIT_EXPECT_EQ(test, x86_test_init(event), 0);
	KUNIT_EXPECT_EQ(test, event->hw.config & levels, levels);
	event->attr.exclude_guest = 1;
	KUNIT_EXPECT_EQ(test, x86_test_init(event), 0);
	KUNIT_EXPECT_EQ(test, event->hw.config & levels, x86_pmu_regs.guest_bits ? 0 : levels);
	KUNIT_EXPECT_EQ(test, event->hw.config & AMD64_EVENTSEL_HOSTONLY, 0ULL);
	KUNIT_EXPECT_EQ(test, event->hw.config & AMD64_EVENTSEL_GUESTONLY, 0ULL);
}

/* Even counters with a next one. MergeEvent itself is none that a user counts. */
static void zen_counts_flops_on_pairs(struct kunit *test)
{
	const struct x86_model *const models[] = {
		&amd_model_fam17h, &amd_model_zen2, &amd_model_fam19h, &amd_model_zen4,
		&amd_model_fam1ah
	};
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		xpmu->model = models[i];
		xpmu->counters = GENERAL(6);
		KUNIT_EXPECT_TRUE(test, x86_rule_is_pair(xpmu, 0x0f03));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0f03), 0x15ULL);
		KUNIT_EXPECT_FALSE(test, x86_rule_is_pair(xpmu, 0x100000f03));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x100000f03), GENERAL(6));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0f02), GENERAL(6));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, X86_SELECT_MERGE), 0ULL);
		xpmu->counters = GENERAL(5);
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, 0x0f03), 0x05ULL);
	}
	xpmu->model = &amd_model_fam15h;
	xpmu->counters = GENERAL(6);
	KUNIT_EXPECT_FALSE(test, x86_rule_is_pair(xpmu, 0x0f03));
}
#endif

#ifdef CONFIG_CPU_SUP_ZHAOXIN
/* Not all generic events exist; those that do can count on every general counter. */
static void zhaoxin_generic_events_have_counters(struct kunit *test)
{
	static const struct x86_model * const models[] = { &zxc_model, &zxd_model, &zxe_model };
	struct x86_pmu xpmu = { .counters = ARCH(4, 3), .arch_len = 7 };

	for (int i = 0; i < ARRAY_SIZE(models); i++) {
		xpmu.model = models[i];
		for (unsigned int id = 0; id < PERF_COUNT_HW_REF_CPU_CYCLES; id++) {
			u64 select = x86_generic_select(&xpmu, id), counters;

			if (!select)
				continue;
			counters = x86_rule_counters(&xpmu, select) & X86_GENERAL_MASK;
			KUNIT_EXPECT_EQ_MSG(test, counters, GENERAL(4), "%s event %u",
					    models[i]->name, id);
		}
	}
}

/* Of the fixed counters only the first one is Intel's: 0300H and 003CH are events as any other. */
static void zhaoxin_fixed_counters_are_its_own(struct kunit *test)
{
	static const u64 stalled_and_ref[] = { [7] = 0x1800101, [8] = 0x040f, [9] = 0 };
	static const u8 models[] = { 0x1b, 0x3b };

	for (int i = 0; i < ARRAY_SIZE(models); i++) {
		const struct zhaoxin_part *part = zhaoxin_find_part(7, models[i], 0);
		struct x86_pmu xpmu = { .arch_len = 7, .model = part ? part->model : NULL };

		KUNIT_ASSERT_NOT_NULL(test, part);
		xpmu.counters = GENERAL(4) | part->fixed;
		KUNIT_EXPECT_EQ(test, x86_rule_counters(&xpmu, 0x0300), GENERAL(4));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(&xpmu, 0x3c), GENERAL(4));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(&xpmu, 0xc0), GENERAL(4) | X86_FIXED(0));
		for (int id = 7; id < ARRAY_SIZE(stalled_and_ref); id++)
			KUNIT_EXPECT_EQ(test, x86_generic_select(&xpmu, id), stalled_and_ref[id]);
	}
}

/* ZX-C has cycles alone, and no fixed counter. VIA Nano is no ZX-C, but for late steppings. */
static void zhaoxin_nano_is_left_alone(struct kunit *test)
{
	const struct zhaoxin_part *zxc = zhaoxin_find_part(6, 0x0f, 0x0e);

	KUNIT_ASSERT_NOT_NULL(test, zxc);
	KUNIT_EXPECT_PTR_EQ(test, zxc->model, &zxc_model);
	KUNIT_EXPECT_EQ(test, zxc->fixed, 0ULL);
	KUNIT_EXPECT_EQ(test, zxc->model->generic[PERF_COUNT_HW_CPU_CYCLES], 0x0082ULL);
	for (unsigned int id = PERF_COUNT_HW_INSTRUCTIONS; id < PERF_COUNT_HW_MAX; id++)
		KUNIT_EXPECT_EQ(test, zxc->model->generic[id], 0ULL);
	KUNIT_EXPECT_PTR_EQ(test, zhaoxin_find_part(6, 0x19, 0), zxc + 1);
	KUNIT_EXPECT_NULL(test, zhaoxin_find_part(6, 0x0f, 0x0d));
	KUNIT_EXPECT_NULL(test, zhaoxin_find_part(7, 0x5b, 0));
}
#endif

static struct kunit_case x86_pmu_models_cases[] = {
#ifdef CONFIG_CPU_SUP_INTEL
	KUNIT_CASE(events_have_their_counters),
	KUNIT_CASE(pseudo_events_have_their_counters),
	KUNIT_CASE(goldmont_offcore_bits),
	KUNIT_CASE(crestmont_has_snoop_registers),
	KUNIT_CASE(goldmont_counts_walks_at_retirement),
	KUNIT_CASE(last_level_values_match_event_files),
	KUNIT_CASE(frontend_events_have_their_register),
	KUNIT_CASE(alderlake_big_cores_have_more_counters),
	KUNIT_CASE(meteorlake_has_slots_in_leaf_23h),
	KUNIT_CASE(leaf_23h_has_further_counters),
	KUNIT_CASE(skymont_counts_topdown_by_fixed_counters),
	KUNIT_CASE(core_unlike_the_first_has_no_pmu),
	KUNIT_CASE(remote_memory_events_on_servers_only),
	KUNIT_CASE(broadwell_llc_misses_have_local_memory_bit),
	KUNIT_CASE(broadwell_counts_user_mode_on_low_counters),
	KUNIT_CASE(txcp_is_not_sampled),
	KUNIT_CASE(tsx_events_refuse_any_thread),
	KUNIT_CASE(counter_of_microcode_is_assigned_last),
	KUNIT_CASE(counters_of_guests_have_no_gap),
	KUNIT_CASE(nehalem_counts_executed_mispredictions),
	KUNIT_CASE(short_periods_are_refused),
	KUNIT_CASE(confined_samples_have_long_periods),
	KUNIT_CASE(recovery_bubbles_have_their_umask),
	KUNIT_CASE(golden_cove_has_no_lock_elision),
	KUNIT_CASE(bad_extra_value_is_refused_first),
	KUNIT_CASE(any_thread_needs_version_3),
	KUNIT_CASE(xmm_registers_need_precise_samples),
#endif
	KUNIT_CASE(data_fabric_select_has_its_bits),
#ifdef CONFIG_CPU_SUP_AMD
	KUNIT_CASE(zen2_counts_frontend_stalls_only),
	KUNIT_CASE(zen4_counts_reference_cycles),
	KUNIT_CASE(northbridge_events_have_their_counters),
	KUNIT_CASE(floating_point_events_have_their_counters),
	KUNIT_CASE(nodes_have_cache_events),
	KUNIT_CASE(excluding_host_and_guest_counts_nothing),
	KUNIT_CASE(zen_counts_flops_on_pairs),
#endif
#ifdef CONFIG_CPU_SUP_ZHAOXIN
	KUNIT_CASE(zhaoxin_generic_events_have_counters),
	KUNIT_CASE(zhaoxin_fixed_counters_are_its_own),
	KUNIT_CASE(zhaoxin_nano_is_left_alone),
#endif
	{ }
};

static struct kunit_suite x86_pmu_models_suite = {
	.name		= "x86_pmu_models",
	.test_cases	= x86_pmu_models_cases,
};

kunit_test_suite(x86_pmu_models_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: facts about single models");
MODULE_LICENSE("GPL");
