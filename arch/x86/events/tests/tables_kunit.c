// SPDX-License-Identifier: GPL-2.0
/*
 * Consistency of the tables of all models.
 */
#include "../amd/models.h"
#include "../assign.h"
#include "../intel/models.h"
#include "../topdown.h"
#include "helpers.h"

/* A model with all counters that a part of its line can have. */
struct table_case {
	const struct x86_model	*model;
	u64			counters;
};

static const struct table_case tables[] = {
#ifdef CONFIG_CPU_SUP_INTEL
	{ &p6_model, GENERAL(2) },
	{ &p4_model, GENERAL(18) & ~BIT_ULL(1) },
	{ &core_model, GENERAL(2) },
	{ &core2_model, ARCH(2, 3) },
	{ &nehalem_model, ARCH(4, 3) }, { &westmere_model, ARCH(4, 3) },
	{ &sandybridge_model, ARCH(4, 3) }, { &sandybridge_ep_model, ARCH(4, 3) },
	{ &ivybridge_model, ARCH(4, 3) }, { &ivybridge_ep_model, ARCH(4, 3) },
	{ &haswell_model, ARCH(4, 3) }, { &broadwell_model, ARCH(4, 3) },
	{ &skylake_model, ARCH(4, 3) }, { &icelake_model, ARCH(8, 4) },
	{ &goldencove_model, ARCH(8, 4) }, { &redwoodcove_model, ARCH(8, 4) },
	{ &goldencove_x_model, ARCH(8, 4) }, { &redwoodcove_x_model, ARCH(8, 4) },
	{ &lioncove_model, ARCH(10, 4) },
	{ &bonnell_model, ARCH(2, 3) }, { &silvermont_model, ARCH(2, 3) },
	{ &knl_model, ARCH(2, 3) }, { &goldmont_model, ARCH(4, 3) },
	{ &goldmont_plus_model, ARCH(4, 3) }, { &tremont_model, ARCH(4, 3) },
	{ &gracemont_model, ARCH(6, 3) }, { &crestmont_model, ARCH(8, 3) },
	{ &skymont_model, ARCH(8, 3) },
	{ &x86_model_arch_v1, GENERAL(2) }, { &x86_model_arch_v2, ARCH(4, 3) },
	{ &x86_model_arch_v5, ARCH(8, 4) },
#endif
#ifdef CONFIG_CPU_SUP_AMD
	{ &amd_model_k7, GENERAL(4) }, { &amd_model_k8, GENERAL(4) },
	{ &amd_model_fam10h, GENERAL(4) },
	{ &amd_model_fam15h, GENERAL(6) }, { &amd_model_fam17h, GENERAL(6) },
	{ &amd_model_zen2, GENERAL(6) },
	{ &amd_model_fam19h, GENERAL(6) }, { &amd_model_zen4, GENERAL(6) },
	{ &amd_model_fam1ah, GENERAL(6) },
#endif
};

static void describe_table(const struct table_case *t, char *desc)
{
	strscpy(desc, t->model->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(table, tables, describe_table);

static struct x86_pmu *tables_new_pmu(struct kunit *test)
{
	const struct table_case *t = test->param_value;
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	xpmu->model = t->model;
	xpmu->counters = t->counters;
	xpmu->arch_len = 7;
	xpmu->metrics = x86_metrics_mask(xpmu->model->metrics);
	return xpmu;
}

static void table_has_name_and_manual(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);

	KUNIT_ASSERT_NOT_NULL(test, xpmu->model->name);
	KUNIT_ASSERT_NOT_NULL(test, xpmu->model->manual);
	KUNIT_EXPECT_GT(test, strlen(xpmu->model->manual), 5UL);
}

static void table_counts_the_six_basic_events(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	unsigned int id;

	for (id = PERF_COUNT_HW_CPU_CYCLES; id <= PERF_COUNT_HW_BRANCH_MISSES; id++) {
		u64 select = x86_generic_select(xpmu, id);

		KUNIT_EXPECT_NE_MSG(test, select, 0ULL, "hardware event %u", id);
		KUNIT_EXPECT_NE_MSG(test, x86_rule_counters(xpmu, select), 0ULL, "event %u", id);
	}
}

static bool tables_add_generic(const struct x86_pmu *xpmu, struct x86_assign *a, unsigned int n,
			       unsigned int id)
{
	return x86_assign_add(a, n, x86_rule_counters(xpmu, x86_generic_select(xpmu, id)), -1);
}

/* The constraints of the two most frequent events must not collide. */
static void table_fits_cycles_and_instructions(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	struct x86_assign a;

	x86_assign_init(&a);
	KUNIT_EXPECT_TRUE(test, tables_add_generic(xpmu, &a, 0, PERF_COUNT_HW_CPU_CYCLES));
	KUNIT_EXPECT_TRUE(test, tables_add_generic(xpmu, &a, 1, PERF_COUNT_HW_INSTRUCTIONS));
}

static void table_cache_events_can_be_counted(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	const struct x86_cache_event *c, *d;

	for (c = xpmu->model->cache; c && c->config; c++) {
		const struct x86_extra *x = x86_test_extra(xpmu->model, c->config);

		KUNIT_EXPECT_NE_MSG(test, x86_rule_counters(xpmu, c->config), 0ULL, "%#x",
				    c->which);
		if (c->extra) {
			KUNIT_ASSERT_NOT_NULL_MSG(test, x, "%#x has a value but no register",
						  c->which);
			KUNIT_EXPECT_EQ_MSG(test, c->extra & ~x->valid, 0ULL, "%#x", c->which);
		}
		for (d = xpmu->model->cache; d < c; d++)
			KUNIT_EXPECT_NE_MSG(test, d->which, c->which, "twice");
	}
}

/* The selection that the content of a sysfs file describes; ~0 if it has unknown terms. */
static u64 tables_parse_event_text(const char *text)
{
	static const struct {
		const char	*term;
		unsigned int	shift;
		bool		config1;
	} terms[] = {
		{ "event=", 0 }, { "umask=", 8 }, { "any=", 21 }, { "cmask=", 24 },
		{ "in_tx=", 32 }, { "in_tx_cp=", 33 }, { "ldlat=", 0, true },
	};
	u64 config = 0, val;
	const char *number;
	char digits[20];
	int i;

	do {
		for (i = 0; i < ARRAY_SIZE(terms); i++) {
			if (!str_has_prefix(text, terms[i].term))
				continue;
			number = strchr(text, '=') + 1;
			strscpy(digits, number, min(sizeof(digits), strcspn(number, ",") + 1));
			if (kstrtoull(digits, 0, &val))
				return ~0ULL;
			if (!terms[i].config1)
				config |= val << terms[i].shift;
			break;
		}
		if (i == ARRAY_SIZE(terms))
			return ~0ULL;
		text = strchr(text, ',');
	} while (text++);
	return config;
}

/* The content of a sysfs file and the selection that decides on its visibility are the same. */
static void table_named_events_can_be_counted(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	const struct x86_sysfs_event *e = xpmu->model->sysfs_events;

	for (; e && e->name; e++) {
		KUNIT_EXPECT_NE_MSG(test, x86_rule_counters(xpmu, e->config), 0ULL, "%s", e->name);
		if (strchr(e->name, '.'))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, tables_parse_event_text(e->text), e->config, "%s",
				    e->name);
		if (e->smt_text)
			KUNIT_EXPECT_EQ_MSG(test, tables_parse_event_text(e->smt_text),
					    e->config | ARCH_PERFMON_EVENTSEL_ANY, "%s", e->name);
	}
}

static void table_rules_match_what_they_say(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	const struct x86_rule *r = xpmu->model->rules, *q;

	for (; r && r->mask; r++) {
		KUNIT_EXPECT_EQ_MSG(test, r->match & ~r->mask, 0ULL, "rule %#llx never holds",
				    r->match);
		for (q = xpmu->model->rules; q < r; q++)
			KUNIT_EXPECT_FALSE_MSG(test, !(q->mask & ~r->mask) &&
					       (r->match & q->mask) == q->match,
					       "rule %#llx hides behind %#llx", r->match, q->match);
	}
}

static void table_extra_registers_are_complete(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	const struct x86_extra *x = xpmu->model->extra;

	for (; x && x->mask; x++) {
		KUNIT_EXPECT_EQ(test, x->match & ~x->mask, 0ULL);
		KUNIT_EXPECT_NE(test, x->msr, 0U);
		KUNIT_EXPECT_NE(test, x->valid, 0ULL);
		KUNIT_EXPECT_LT(test, x->id, X86_EXTRA_MAX);
	}
}

/* Loading an extra register must not change the event. */
static void table_extra_select_keeps_event(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	const struct x86_extra *x = xpmu->model->extra;

	for (; x && x->mask; x++)
		KUNIT_EXPECT_EQ_MSG(test, x86_extra_select(xpmu, x->match, x->id), x->match,
				    "register %#x", x->msr);
}

/* Assigns two events with an off-core register each; @second is the value of the second event. */
static int tables_assign_offcore(struct kunit *test, struct x86_pmu *xpmu,
				 const struct x86_extra *x,
				 u64 second)
{
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->nr = 2;
	for (i = 0; i < s->nr; i++) {
		struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, event);
		event->hw.idx = -1;
		event->hw.counters = xpmu->counters & X86_GENERAL_MASK;
		event->hw.extra_reg.reg = x->msr;
		event->hw.extra_reg.idx = x->id;
		event->hw.extra_reg.config = i ? second : 1;
		s->slot[i].event = event;
	}
	return x86_sched_assign(&xpmu->pmu, s, 0);
}

static void table_extra_values_move_where_they_fit(struct kunit *test)
{
	struct x86_pmu *xpmu = tables_new_pmu(test);
	const struct x86_extra *x = xpmu->model->extra, *y;
	u64 only;

	if (!x || x->id != X86_EXTRA_OFFCORE_0)
		return;
	y = x + 1;
	if (y->id != X86_EXTRA_OFFCORE_1) {
		KUNIT_EXPECT_EQ(test, tables_assign_offcore(test, xpmu, x, 2), -ENOSPC);
		return;
	}
	KUNIT_EXPECT_EQ(test, tables_assign_offcore(test, xpmu, x, x->valid & y->valid), 0);
	/* This value fits the first register only: the other event gets the second one. */
	only = x->valid & ~y->valid;
	if (only)
		KUNIT_EXPECT_EQ(test, tables_assign_offcore(test, xpmu, x, only), 0);
}

/* in_tx_cp counts on counter 2 only. On AMD the bit is part of the event code. */
static void table_txcp_counts_on_counter_2(struct kunit *test)
{
	const struct x86_pmu *xpmu = tables_new_pmu(test);
	u64 config = 0x00c4, txcp = config | HSW_IN_TX_CHECKPOINTED;
	u64 prec_dist = 0x0100 | HSW_IN_TX_CHECKPOINTED;

	if (xpmu->model->flags & X86_MODEL_TSX) {
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, txcp), BIT_ULL(2));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, prec_dist) & ~BIT_ULL(2), 0ULL);
	} else {
		KUNIT_EXPECT_EQ(test, x86_rule_counters(xpmu, txcp) & X86_GENERAL_MASK,
				x86_rule_counters(xpmu, config) & X86_GENERAL_MASK);
	}
}

static struct kunit_case x86_pmu_tables_cases[] = {
	KUNIT_CASE_PARAM(table_has_name_and_manual, table_gen_params),
	KUNIT_CASE_PARAM(table_counts_the_six_basic_events, table_gen_params),
	KUNIT_CASE_PARAM(table_fits_cycles_and_instructions, table_gen_params),
	KUNIT_CASE_PARAM(table_cache_events_can_be_counted, table_gen_params),
	KUNIT_CASE_PARAM(table_named_events_can_be_counted, table_gen_params),
	KUNIT_CASE_PARAM(table_rules_match_what_they_say, table_gen_params),
	KUNIT_CASE_PARAM(table_extra_registers_are_complete, table_gen_params),
	KUNIT_CASE_PARAM(table_extra_select_keeps_event, table_gen_params),
	KUNIT_CASE_PARAM(table_extra_values_move_where_they_fit, table_gen_params),
	KUNIT_CASE_PARAM(table_txcp_counts_on_counter_2, table_gen_params),
	{ }
};

static struct kunit_suite x86_pmu_tables_suite = {
	.name		= "x86_pmu_tables",
	.test_cases	= x86_pmu_tables_cases,
};

kunit_test_suite(x86_pmu_tables_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: tables of models");
MODULE_LICENSE("GPL");
