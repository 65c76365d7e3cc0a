// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what needs no hardware: the solver against brute force, and the tables against what
 * every table must be. And one of what happens to the hardware when a machine sleeps, which the
 * emulated one cannot.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/perf_event_p4.h>

#include "arch.h"
#include "exclusive.h"
#include "pmu.h"
#include "solver.h"
#include "amd/models.h"
#include "intel/models.h"
#include "zhaoxin/models.h"

/* ------------------------------------------------------------------- solver */

#define CASES		100000
#define COUNTERS	6
#define EVENTS		8

/* Of the 64 sets of six counters, those without counter @c: a bit for each set. */
static u64 sets_without(unsigned int c)
{
	u64 sets = 0;
	unsigned int set;

	for (set = 0; set < 1 << COUNTERS; set++)
		if (!(set & BIT(c)))
			sets |= BIT_ULL(set);
	return sets;
}

/*
 * Brute force: all sets of counters that the events so far can occupy between them, and from those
 * the sets with one event more. No search, and nothing in common with the solver.
 */
static u64 sets_with_one_more(u64 sets, u64 allowed, const u64 *without)
{
	u64 next = 0;
	unsigned int c;

	for (c = 0; c < COUNTERS; c++)
		if (allowed & BIT(c))
			next |= (sets & without[c]) << (1 << c);
	return next;
}

/* Each event with a counter has one it may have, and nobody else has it. */
static bool consistent(const struct x86_match *m, unsigned int n)
{
	u64 seen = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		int c = m->place[i];

		if (c < 0)
			continue;
		if (seen & BIT_ULL(c) || !(m->allowed[i] & BIT_ULL(c)) || m->taken[c] != i)
			return false;
		seen |= BIT_ULL(c);
	}
	return m->vacant == ~seen;
}

/* Few bits, so that many sets do not fit. */
static u64 random_counters(struct rnd_state *rnd)
{
	u32 r = prandom_u32_state(rnd);

	return r & (r >> 8) & ((1 << COUNTERS) - 1);
}

static unsigned int one_case(struct kunit *test, struct rnd_state *rnd, const u64 *without)
{
	unsigned int n = 0, refused = 0, i;
	u64 sets = 1, next, allowed;
	struct x86_match m;

	x86_match_init(&m);
	for (i = 0; i < EVENTS; i++) {
		int wish = prandom_u32_state(rnd) % (COUNTERS + 1) - 1;

		allowed = random_counters(rnd);
		next = sets_with_one_more(sets, allowed, without);
		KUNIT_ASSERT_EQ(test, x86_match_add(&m, n, allowed, wish), next != 0);
		if (next) {
			sets = next;
			n++;
		} else {
			refused++;
		}
		KUNIT_ASSERT_TRUE(test, consistent(&m, n));
	}
	return refused;
}

static void solver_agrees_with_brute_force(struct kunit *test)
{
	unsigned int refused = 0, i;
	u64 without[COUNTERS];
	struct rnd_state rnd;

	for (i = 0; i < COUNTERS; i++)
		without[i] = sets_without(i);
	prandom_seed_state(&rnd, 20041);
	for (i = 0; i < CASES; i++) {
		refused += one_case(test, &rnd, without);
		cond_resched();
	}
	/* Both answers must have been asked for often. */
	KUNIT_EXPECT_GT(test, refused, CASES * EVENTS / 10);
	KUNIT_EXPECT_LT(test, refused, CASES * EVENTS * 9 / 10);
}

static void solver_moves_events_along_a_chain(struct kunit *test)
{
	struct x86_match m;
	unsigned int i;

	/* Event i may use counters i and i + 1 and gets i + 1; the last wants counter 7 alone. */
	x86_match_init(&m);
	for (i = 0; i < 7; i++)
		KUNIT_ASSERT_TRUE(test, x86_match_add(&m, i, 3ULL << i, i + 1));
	KUNIT_ASSERT_TRUE(test, x86_match_add(&m, 7, BIT(7), -1));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, m.place[i], i);
	KUNIT_EXPECT_FALSE(test, x86_match_add(&m, 8, 0xff, -1));
}

static void solver_leaves_everything_on_failure(struct kunit *test)
{
	struct x86_match m, before;

	x86_match_init(&m);
	x86_match_seed(&m, 0, 3, 0);
	x86_match_seed(&m, 1, 3, 1);
	before = m;
	KUNIT_EXPECT_FALSE(test, x86_match_add(&m, 2, 3, 0));
	KUNIT_EXPECT_MEMEQ(test, m.place, before.place, sizeof(m.place));
	KUNIT_EXPECT_MEMEQ(test, m.taken, before.taken, sizeof(m.taken));
	KUNIT_EXPECT_EQ(test, m.vacant, before.vacant);
}

static void solver_fills_64_counters(struct kunit *test)
{
	struct x86_match m;
	unsigned int i;

	x86_match_init(&m);
	for (i = 0; i < 64; i++)
		KUNIT_ASSERT_TRUE(test, x86_match_add(&m, i, ~0ULL >> i, -1));
	KUNIT_EXPECT_EQ(test, m.vacant, 0ULL);
	KUNIT_EXPECT_TRUE(test, consistent(&m, 64));
}

static void drivers_constraints_are_solved(struct kunit *test)
{
	struct event_constraint pair = EVENT_CONSTRAINT(0, 0x3, 0);
	struct event_constraint first = EVENT_CONSTRAINT(0, 0x1, 0);
	struct event_constraint *want[] = { &pair, &first, &pair };
	int assign[3];

	KUNIT_EXPECT_EQ(test, perf_assign_events(want, 2, 1, 2, 2, assign), 0);
	KUNIT_EXPECT_EQ(test, assign[0], 1);
	KUNIT_EXPECT_EQ(test, assign[1], 0);
	KUNIT_EXPECT_EQ(test, perf_assign_events(want, 3, 1, 2, 2, NULL), 1);
}

/* ------------------------------------------------------------------- tables */

/* A part with all the counters that its line may have. */
struct table_case {
	const struct x86_model	*model;
	u64			counters;
};

#define GENERAL(n)	((1ULL << (n)) - 1)
#define ARCH(n, f)	(GENERAL(n) | GENERAL(f) << INTEL_PMC_IDX_FIXED)

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

static struct x86_core *core_for(struct kunit *test)
{
	const struct table_case *t = test->param_value;
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->model = t->model;
	core->counters = t->counters;
	core->arch_len = 7;
	return core;
}

static void table_names_itself(struct kunit *test)
{
	const struct x86_core *core = core_for(test);

	KUNIT_ASSERT_NOT_NULL(test, core->model->name);
	KUNIT_ASSERT_NOT_NULL(test, core->model->manual);
	KUNIT_EXPECT_GT(test, strlen(core->model->manual), 5UL);
}

static void table_counts_the_six_basic_events(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	unsigned int id;

	for (id = PERF_COUNT_HW_CPU_CYCLES; id <= PERF_COUNT_HW_BRANCH_MISSES; id++) {
		u64 select = x86_generic_select(core, id);

		KUNIT_EXPECT_NE_MSG(test, select, 0ULL, "hardware event %u", id);
		KUNIT_EXPECT_NE_MSG(test, x86_rule_counters(core, select), 0ULL, "event %u", id);
	}
}

#ifdef CONFIG_CPU_SUP_ZHAOXIN
/* They have not all of the six: what is there has counters, the general ones too. */
static void zhaoxin_counts_what_it_names(struct kunit *test)
{
	static const struct x86_model * const models[] = { &zxc_model, &zxd_model, &zxe_model };
	struct x86_core core = { .counters = ARCH(4, 3), .arch_len = 7 };

	for (int i = 0; i < ARRAY_SIZE(models); i++) {
		core.model = models[i];
		for (unsigned int id = 0; id < PERF_COUNT_HW_REF_CPU_CYCLES; id++) {
			u64 select = x86_generic_select(&core, id);

			if (select)
				KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(&core, select) & X86_GENERAL_MASK,
						    GENERAL(4), "%s event %u", models[i]->name, id);
		}
	}
}
#endif

/* Six of them at once, unless there are too few counters: constraints must not collide. */
static void table_fits_cycles_and_instructions(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	struct x86_match m;

	x86_match_init(&m);
	KUNIT_EXPECT_TRUE(test, x86_match_add(&m, 0, x86_rule_counters(core,
			x86_generic_select(core, PERF_COUNT_HW_CPU_CYCLES)), -1));
	KUNIT_EXPECT_TRUE(test, x86_match_add(&m, 1, x86_rule_counters(core,
			x86_generic_select(core, PERF_COUNT_HW_INSTRUCTIONS)), -1));
}

static const struct x86_extra *extra_of(const struct x86_model *model, u64 config)
{
	const struct x86_extra *x = model->extra;

	for (; x && x->mask; x++)
		if ((config & x->mask) == x->match)
			return x;
	return NULL;
}

static void table_cache_events_can_be_counted(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	const struct x86_cache_event *c, *d;

	for (c = core->model->cache; c && c->config; c++) {
		const struct x86_extra *x = extra_of(core->model, c->config);

		KUNIT_EXPECT_NE_MSG(test, x86_rule_counters(core, c->config), 0ULL, "%#x", c->which);
		if (c->extra) {
			KUNIT_ASSERT_NOT_NULL_MSG(test, x, "%#x has a value but no register", c->which);
			KUNIT_EXPECT_EQ_MSG(test, c->extra & ~x->valid, 0ULL, "%#x", c->which);
		}
		for (d = core->model->cache; d < c; d++)
			KUNIT_EXPECT_NE_MSG(test, d->which, c->which, "twice");
	}
}

/* The selection that a file describes; ~0 if that cannot be understood. */
static u64 described(const char *text)
{
	static const struct {
		const char	*term;
		unsigned int	shift;
	} terms[] = {
		{ "event=", 0 }, { "umask=", 8 }, { "any=", 21 }, { "cmask=", 24 },
		{ "in_tx=", 32 }, { "in_tx_cp=", 33 },
	};
	u64 config = 0;
	int i;

	do {
		for (i = 0; i < ARRAY_SIZE(terms); i++) {
			if (!str_has_prefix(text, terms[i].term))
				continue;
			config |= simple_strtoull(strchr(text, '=') + 1, NULL, 0) << terms[i].shift;
			break;
		}
		if (i == ARRAY_SIZE(terms))
			return ~0ULL;
		text = strchr(text, ',');
	} while (text++);
	return config;
}

/* Their file says what decides whether it is there. */
static void table_named_events_can_be_counted(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	const struct x86_named_event *e = core->model->named;

	for (; e && e->name; e++) {
		KUNIT_EXPECT_NE_MSG(test, x86_rule_counters(core, e->config), 0ULL, "%s", e->name);
		if (strchr(e->name, '.'))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, described(e->text), e->config, "%s", e->name);
		if (e->smt_text)
			KUNIT_EXPECT_EQ_MSG(test, described(e->smt_text),
					    e->config | ARCH_PERFMON_EVENTSEL_ANY, "%s", e->name);
	}
}

static void table_rules_match_what_they_say(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	const struct x86_rule *r = core->model->rules, *q;

	for (; r && r->mask; r++) {
		KUNIT_EXPECT_EQ_MSG(test, r->match & ~r->mask, 0ULL, "rule %#llx never holds", r->match);
		for (q = core->model->rules; q < r; q++)
			KUNIT_EXPECT_FALSE_MSG(test, !(q->mask & ~r->mask) &&
					       (r->match & q->mask) == q->match,
					       "rule %#llx hides behind %#llx", r->match, q->match);
	}
}

static void table_extra_registers_are_complete(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	const struct x86_extra *x = core->model->extra;

	for (; x && x->mask; x++) {
		KUNIT_EXPECT_EQ(test, x->match & ~x->mask, 0ULL);
		KUNIT_EXPECT_NE(test, x->msr, 0U);
		KUNIT_EXPECT_NE(test, x->valid, 0ULL);
		KUNIT_EXPECT_LT(test, x->id, X86_EXTRA_MAX);
	}
}

/* Loading its register must not make another event of it. */
static void table_extra_events_stay_themselves(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	const struct x86_extra *x = core->model->extra;

	for (; x && x->mask; x++)
		KUNIT_EXPECT_EQ_MSG(test, x86_extra_select(core, x->match, x->id), x->match,
				    "register %#x", x->msr);
}

/* Two events with an off-core register each: the second one's value needs the second register. */
static int assign_offcore(struct kunit *test, struct x86_core *core, const struct x86_extra *x,
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
		event->hw.counters = core->counters & X86_GENERAL_MASK;
		event->hw.extra_reg.reg = x->msr;
		event->hw.extra_reg.idx = x->id;
		event->hw.extra_reg.config = i ? second : 1;
		s->slot[i].event = event;
	}
	return x86_sched_assign(&core->pmu, s, 0);
}

static void table_extra_values_move_where_they_fit(struct kunit *test)
{
	struct x86_core *core = core_for(test);
	const struct x86_extra *x = core->model->extra, *y;
	u64 only;

	if (!x || x->id != X86_EXTRA_OFFCORE_0)
		return;
	y = x + 1;
	if (y->id != X86_EXTRA_OFFCORE_1) {
		KUNIT_EXPECT_EQ(test, assign_offcore(test, core, x, 2), -ENOSPC);
		return;
	}
	KUNIT_EXPECT_EQ(test, assign_offcore(test, core, x, x->valid & y->valid), 0);
	/* Or the other event's moves, because this one cannot. */
	only = x->valid & ~y->valid;
	if (only)
		KUNIT_EXPECT_EQ(test, assign_offcore(test, core, x, only), 0);
}

#ifdef CONFIG_CPU_SUP_INTEL
static struct perf_event *offcore_event(struct kunit *test, const struct x86_core *core, u64 val)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->hw.config = core->model->extra->match | ARCH_PERFMON_EVENTSEL_USR;
	event->hw.extra_reg.reg = core->model->extra->msr;
	event->hw.extra_reg.idx = core->model->extra->id;
	event->hw.extra_reg.config = val;
	return event;
}

/* Two values at a time, by however many events; then there is room for a third. */
static void shared_registers_hold_what_all_agree_on(struct kunit *test)
{
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	struct perf_event *event[5];

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->model = &westmere_model;
	for (int i = 0; i < ARRAY_SIZE(event); i++)
		event[i] = offcore_event(test, core, 0x100 + i % 3);

	for (int i = 0; i < ARRAY_SIZE(event); i++) {
		KUNIT_EXPECT_EQ_MSG(test, x86_extra_claim(core, event[i]), i == 2 ? -EBUSY : 0, "%d", i);
		if (i == 2)
			continue;
		KUNIT_EXPECT_EQ(test, event[i]->hw.extra_reg.idx, i % 3);
		KUNIT_EXPECT_EQ(test, event[i]->hw.config,
				(i % 3 ? 0x01bb : 0x01b7) | ARCH_PERFMON_EVENTSEL_USR);
	}
	x86_extra_release(event[1]);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(core, event[2]), -EBUSY);
	x86_extra_release(event[4]);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(core, event[2]), 0);
	KUNIT_EXPECT_EQ(test, event[2]->hw.extra_reg.idx, 1);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(core, event[1]), -EBUSY);

	for (int i = 0; i < ARRAY_SIZE(event); i++)
		x86_extra_release(event[i]);
	KUNIT_EXPECT_EQ(test, x86_extra_claim(core, event[1]), 0);
	KUNIT_EXPECT_EQ(test, event[1]->hw.extra_reg.idx, 1);
	x86_extra_release(event[1]);
}
#endif

#ifdef CONFIG_CPU_SUP_INTEL
/* One value fits one register alone, the other both: in whichever order they come, both fit. */
static void registers_go_to_those_without_a_choice_first(struct kunit *test)
{
	static const u64 value[] = { 0x10001, 0x8000000000010001ULL, 0x10001 };
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, core);
	KUNIT_ASSERT_NOT_NULL(test, s);
	core->model = &tremont_model;
	core->counters = ARCH(4, 3);
	for (int i = 0; i < ARRAY_SIZE(value); i++) {
		s->slot[i].event = offcore_event(test, core, value[i]);
		s->slot[i].event->hw.counters = FIRST(4);
		s->slot[i].event->hw.idx = -1;
	}
	for (s->nr = 1; s->nr <= ARRAY_SIZE(value); s->nr++)
		KUNIT_EXPECT_EQ_MSG(test, x86_sched_assign(&core->pmu, s, 0), 0, "%u", s->nr);
	KUNIT_EXPECT_TRUE(test, s->slot[0].idx & X86_SLOT_ALTERNATE);
	KUNIT_EXPECT_FALSE(test, s->slot[1].idx & X86_SLOT_ALTERNATE);
	KUNIT_EXPECT_TRUE(test, s->slot[2].idx & X86_SLOT_ALTERNATE);

	/* A third value has no register. */
	s->nr = ARRAY_SIZE(value);
	s->slot[2].event->hw.extra_reg.config = 0x10002;
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&core->pmu, s, 0), -ENOSPC);
}
#endif

/* in_tx_cp: on counter 2 or nowhere. AMD has part of the code there. */
static void table_aborted_transactions_have_their_counter(struct kunit *test)
{
	const struct x86_core *core = core_for(test);
	u64 config = 0x00c4, txcp = config | HSW_IN_TX_CHECKPOINTED;

	if (core->model->flags & X86_MODEL_TSX) {
		KUNIT_EXPECT_EQ(test, x86_rule_counters(core, txcp), BIT_ULL(2));
		KUNIT_EXPECT_EQ(test, x86_rule_counters(core, 0x0100 | HSW_IN_TX_CHECKPOINTED) & ~BIT_ULL(2),
				0ULL);
	} else {
		KUNIT_EXPECT_EQ(test, x86_rule_counters(core, txcp) & X86_GENERAL_MASK,
				x86_rule_counters(core, config) & X86_GENERAL_MASK);
	}
}

/* -------------------------------------------------------- what manuals say of one part */

/* A user's event on a part that this machine need not have. */
static struct perf_event *event_of(struct kunit *test, const struct x86_model *model, u64 config)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, core);
	if (!x86_nr_cores)
		kunit_skip(test, "no PMU");
	core->model = model;
	core->counters = ARCH(8, 3);
	core->select_mask = X86_RAW_EVENT_MASK | ARCH_PERFMON_EVENTSEL_ANY | HSW_IN_TX |
			    HSW_IN_TX_CHECKPOINTED;
	cpumask_copy(&core->cpus, cpu_possible_mask);
	event->pmu = &core->pmu;
	event->cpu = -1;
	event->attr.type = PERF_TYPE_RAW;
	event->attr.config = config;
	return event;
}

static int try_init(struct perf_event *event)
{
	int ret = x86_event_init(event);

	if (!ret)
		event->destroy(event);
	return ret;
}

#ifdef CONFIG_CPU_SUP_INTEL
/* The Pentium 4's events by number, without a mask. */
#define P4_EVENTS	(P4_EVENT_INSTR_COMPLETED + 1)
#define P4_CONFIG(_n)	p4_config_pack_escr(P4_ESCR_EVENT((u64)(_n)))

/* From "Performance Counter MSRs and Associated CCCR and ESCR MSRs": those of one counter of each group. */
static const u16 p4_escrs_of_4[] = { 0x3c0, 0x3c2, 0x3c4 };
static const u16 p4_escrs_of_10[] = { 0x3a5, 0x3a7, 0x3a9, 0x3af, 0x3b1 };
static const u16 p4_escrs_of_0[] = { 0x3a0, 0x3a2, 0x3aa, 0x3ac, 0x3b2, 0x3b4, 0x3b6, 0x3c8 };
static const u16 p4_escrs_of_17[] = { 0x3b9, 0x3bb, 0x3bd, 0x3cb, 0x3cd, 0x3e1 };

static bool p4_reaches(const u16 *escrs, unsigned int n, u32 escr)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (escrs[i] == escr)
			return true;
	return false;
}

static bool p4_listed(unsigned int counter, u32 escr)
{
	/* The same for the counters of its side; the other side has the register beside. */
	if (counter >= 12)
		return p4_reaches(p4_escrs_of_17, ARRAY_SIZE(p4_escrs_of_17), escr | 1);
	if (counter >= 8)
		return p4_reaches(p4_escrs_of_10, ARRAY_SIZE(p4_escrs_of_10), escr | 1);
	if (counter >= 4)
		return p4_reaches(p4_escrs_of_4, ARRAY_SIZE(p4_escrs_of_4), escr & ~1);
	return p4_reaches(p4_escrs_of_0, ARRAY_SIZE(p4_escrs_of_0), escr & ~1);
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
		KUNIT_EXPECT_EQ_MSG(test, select & P4_CCCR_THREAD_ANY, P4_CCCR_THREAD_ANY, "event %u", n);
		for_each_set_bit(counter, &counters, 64)
			KUNIT_EXPECT_TRUE_MSG(test, p4_listed(counter, p4_escr(counter, select)),
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

/* A few, as the lists of events have them. */
static void p4_events_are_where_the_manual_says(struct kunit *test)
{
	static const struct p4_place places[] = {
		{ P4_EVENT_GLOBAL_POWER_EVENTS, 0x0000d, { MSR_P4_FSB_ESCR0, MSR_P4_FSB_ESCR1 } },
		{ P4_EVENT_INSTR_RETIRED, 0x3f000, { MSR_P4_CRU_ESCR0, MSR_P4_CRU_ESCR1 } },
		{ P4_EVENT_MISPRED_BRANCH_RETIRED, 0x3f000, { MSR_P4_CRU_ESCR0, MSR_P4_CRU_ESCR1 } },
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

static void p4_threads_have_registers_of_their_own(struct kunit *test)
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

	/* A thread's counter and the one that stands for it on the other never have an ESCR in common. */
	for (n = 0; n < P4_EVENTS; n++) {
		select = p4_select(P4_CONFIG(n));
		for_each_set_bit(counter, &counters, 64)
			KUNIT_EXPECT_TRUE_MSG(test, !p4_escr(counter, select) ||
					      p4_escr(counter + 2, select) == p4_escr(counter, select) + 1,
					      "event %u, counter %u", n, counter);
	}
}

static void p4_add(struct kunit *test, struct perf_schedule *s, unsigned int n)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->hw.idx = -1;
	event->hw.counters = p4_counters(P4_CONFIG(n));
	event->hw.config = p4_select(P4_CONFIG(n));
	s->slot[s->nr++].event = event;
}

/* Each has a counter that can count it, nobody else has that, nor its ESCR. */
static void p4_expect_apart(struct kunit *test, const struct perf_schedule *s)
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
		P4_EVENT_MISPRED_BRANCH_RETIRED, P4_EVENT_RESOURCE_STALL, P4_EVENT_IOQ_ACTIVE_ENTRIES,
	};
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, core);
	core->model = &p4_model;
	/* One by one: the last can be on the second side alone, where the first one may be by then. */
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		p4_add(test, s, events[i]);
		KUNIT_ASSERT_EQ_MSG(test, x86_sched_assign(&core->pmu, s, i), 0, "slot %u", i);
		p4_expect_apart(test, s);
	}
	/* All at once. */
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&core->pmu, s, 0), 0);
	p4_expect_apart(test, s);
	/* A third for two ESCRs has no place, though there are counters. */
	p4_add(test, s, P4_EVENT_UOPS_RETIRED);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&core->pmu, s, s->nr - 1), -ENOSPC);
	/* Nor has a second, where the other one is the other thread's. */
	s->nr = 0;
	p4_add(test, s, P4_EVENT_INSTR_RETIRED);
	p4_add(test, s, P4_EVENT_MISPRED_BRANCH_RETIRED);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&core->pmu, s, 0), 0);
	for (i = 0; i < s->nr; i++)
		s->slot[i].event->hw.counters &= p4_counters_of_thread(2);
	KUNIT_EXPECT_EQ(test, x86_sched_assign(&core->pmu, s, 0), -ENOSPC);
}

struct placed {
	const struct x86_model	*model;
	u64			config;
	u64			counters;
};

static void events_are_on_their_counters(struct kunit *test)
{
	static const struct placed placed[] = {
		{ &goldencove_model, 0x04a3, GENERAL(8) }, { &goldencove_model, 0x05a3, GENERAL(4) },
		{ &goldencove_model, 0x06a3, GENERAL(4) }, { &goldencove_model, 0x0ca3, GENERAL(4) },
		{ &nehalem_model, 0x014c, GENERAL(2) }, { &nehalem_model, 0x0152, GENERAL(2) },
		{ &nehalem_model, 0x0153, GENERAL(2) },
		{ &westmere_model, 0x014c, GENERAL(2) }, { &westmere_model, 0x0152, GENERAL(2) },
		{ &westmere_model, 0x014e, GENERAL(2) },
		{ &icelake_model, 0x0155, GENERAL(4) }, { &icelake_model, 0x0156, GENERAL(4) },
		{ &icelake_model, 0x10ef, GENERAL(4) }, { &icelake_model, 0x01cd, GENERAL(8) },
		{ &goldencove_model, 0x01cd, GENERAL(8) & ~BIT_ULL(0) },
		{ &redwoodcove_model, 0x01cd, GENERAL(8) & ~BIT_ULL(0) },
		{ &goldencove_model, 0x02cd, BIT_ULL(0) }, { &goldencove_model, 0x0148, GENERAL(4) },
		{ &lioncove_model, 0x01cd, GENERAL(8) & ~GENERAL(2) }, { &lioncove_model, 0x02cd, GENERAL(2) },
		{ &lioncove_model, 0x0148, BIT_ULL(2) }, { &lioncove_model, 0x0175, BIT_ULL(2) },
		{ &lioncove_model, 0x10a4, BIT_ULL(3) }, { &lioncove_model, 0x04a4, BIT_ULL(0) },
		{ &lioncove_model, 0x01b1, BIT_ULL(3) }, { &lioncove_model, 0x10b1, GENERAL(8) },
		{ &lioncove_model, 0x0e11, GENERAL(8) }, { &lioncove_model, 0x81d0, GENERAL(4) },
		{ &gracemont_model, 0x05d0, GENERAL(2) }, { &gracemont_model, 0x06d0, GENERAL(8) },
		{ &crestmont_model, 0x05d0, GENERAL(2) }, { &skymont_model, 0x05d0, GENERAL(8) },
		{ &sandybridge_model, 0x0279, GENERAL(4) }, { &sandybridge_model, 0x0179, GENERAL(8) },
		{ &sandybridge_model, 0x81d0, GENERAL(4) }, { &sandybridge_model, 0x02d4, GENERAL(8) },
		{ &ivybridge_model, 0x81d0, GENERAL(4) }, { &ivybridge_ep_model, 0x01d3, GENERAL(4) },
		{ &haswell_model, 0x01d1, GENERAL(4) }, { &broadwell_model, 0x01d2, GENERAL(4) },
		{ &sandybridge_model, 0x01b7, GENERAL(4) }, { &sandybridge_ep_model, 0x01bb, GENERAL(4) },
		{ &ivybridge_model, 0x01b7, GENERAL(4) }, { &ivybridge_model, 0x01bb, GENERAL(4) },
		{ &haswell_model, 0x01b7, GENERAL(4) }, { &haswell_model, 0x01bb, GENERAL(4) },
		{ &broadwell_model, 0x01b7, GENERAL(4) }, { &broadwell_model, 0x01bb, GENERAL(4) },
		{ &skylake_model, 0x01b7, GENERAL(4) }, { &skylake_model, 0x01bb, GENERAL(4) },
	};
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->counters = ARCH(8, 4);
	for (i = 0; i < ARRAY_SIZE(placed); i++) {
		core->model = placed[i].model;
		KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(core, placed[i].config), placed[i].counters,
				    "%s %#llx", core->model->name, placed[i].config);
	}
}

/* FRONTEND_RETIRED and MISP_ANT of the event files, and values that they have there. */
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
		const struct x86_extra *x = extra_of(event[i].model, event[i].config);

		KUNIT_ASSERT_NOT_NULL_MSG(test, x, "%s %#llx", event[i].model->name, event[i].config);
		KUNIT_EXPECT_EQ(test, x->msr, (u32)MSR_PEBS_FRONTEND);
		KUNIT_EXPECT_EQ_MSG(test, event[i].extra & ~x->valid, 0ULL, "%s %#llx",
				    event[i].model->name, event[i].config);
	}
	/* What the older cores have there is no event of the newer ones. */
	KUNIT_EXPECT_NULL(test, extra_of(&redwoodcove_model, 0x01c6));
}

/* Event file ADL: counters 0 to 7 and SLOTS on the big cores, 0 to 5 on the small ones. */
static void alder_lakes_big_cores_have_counters_of_their_own(struct kunit *test)
{
	struct x86_arch_leaf leaf = { };

	leaf.eax.split.version_id = 5;
	leaf.eax.split.num_counters = 6;
	leaf.edx.split.num_counters_fixed = 3;
	leaf.ecx = 7;
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&goldencove_model, &leaf, false), ARCH(8, 4));
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&goldencove_model, &leaf, true), ARCH(6, 3));
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&gracemont_model, &leaf, false), ARCH(6, 3));
	KUNIT_EXPECT_EQ(test, intel_hybrid_counters(&redwoodcove_model, &leaf, false), ARCH(6, 3));
}

/* The first CPU of a kind tells what it is; another make, or one with fewer counters, has no PMU. */
static void core_unlike_the_first_has_no_pmu(struct kunit *test)
{
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	const u32 skymont = 0x20000003, crestmont = 0x20000002;

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->counters = ARCH(10, 4);
	KUNIT_EXPECT_TRUE(test, intel_core_takes(core, skymont, ARCH(8, 3)));
	KUNIT_EXPECT_EQ(test, core->counters, ARCH(8, 3));
	KUNIT_EXPECT_TRUE(test, intel_core_takes(core, skymont, ARCH(8, 3)));
	KUNIT_EXPECT_TRUE(test, intel_core_takes(core, skymont, ARCH(10, 4)));
	KUNIT_EXPECT_FALSE(test, intel_core_takes(core, skymont, ARCH(6, 3)));
	KUNIT_EXPECT_FALSE(test, intel_core_takes(core, skymont, ARCH(8, 2)));
	KUNIT_EXPECT_FALSE(test, intel_core_takes(core, crestmont, ARCH(8, 3)));
	KUNIT_EXPECT_EQ(test, core->counters, ARCH(8, 3));
}

/* SDM 3B: bits 30:23 are reserved on clients; event files JKT, IVT: on servers all are set together. */
static void remote_memory_is_the_servers(struct kunit *test)
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

static void broadwell_misses_go_to_its_memory(struct kunit *test)
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

static u64 counters_of_levels(struct kunit *test, const struct x86_model *model, u64 config,
			      bool user, bool kernel)
{
	struct perf_event *event = event_of(test, model, config);

	event->attr.exclude_user = !user;
	event->attr.exclude_kernel = !kernel;
	KUNIT_EXPECT_EQ(test, try_init(event), 0);
	return event->hw.counters;
}

/* Erratum: counters 4 to 7 do not count with USR set and OS clear. */
static void broadwell_counts_users_on_the_low_counters(struct kunit *test)
{
	const struct x86_model *model = &broadwell_model;

	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x00c4, true, true), GENERAL(8));
	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x00c4, false, true), GENERAL(8));
	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x00c4, false, false), GENERAL(8));
	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x00c4, true, false), GENERAL(4));
	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x00c0, true, false), ARCH(4, 1));
	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x02a3, true, false), GENERAL(4));
	model = &haswell_model;
	KUNIT_EXPECT_EQ(test, counters_of_levels(test, model, 0x00c4, true, false), GENERAL(8));
}

/* An abort takes the overflow back, and the interrupt that is under way finds no cause. */
static void aborted_transactions_are_not_sampled(struct kunit *test)
{
	struct perf_event *txcp = event_of(test, &haswell_model, 0x00c4 | HSW_IN_TX_CHECKPOINTED);
	struct perf_event *tx = event_of(test, &haswell_model, 0x00c4 | HSW_IN_TX);

	KUNIT_EXPECT_EQ(test, try_init(txcp), 0);
	txcp->attr.sample_period = 0x7ffffffe;
	KUNIT_EXPECT_EQ(test, try_init(txcp), -EOPNOTSUPP);
	txcp->attr.sample_period = 0x7fffffff;
	KUNIT_EXPECT_EQ(test, try_init(txcp), 0);
	KUNIT_EXPECT_EQ(test, x86_check_period(txcp, 0x7fffffff), 0);
	KUNIT_EXPECT_EQ(test, x86_check_period(txcp, 100000), -EOPNOTSUPP);
	txcp->attr.freq = 1;
	KUNIT_EXPECT_EQ(test, try_init(txcp), -EOPNOTSUPP);
	txcp->attr.sample_freq = 1000;
	KUNIT_EXPECT_EQ(test, try_init(txcp), -EOPNOTSUPP);

	tx->attr.sample_period = 100000;
	KUNIT_EXPECT_EQ(test, try_init(tx), 0);
	tx->attr.freq = 1;
	KUNIT_EXPECT_EQ(test, try_init(tx), 0);
}

static void transactions_are_of_one_thread(struct kunit *test)
{
	static const u64 tx[] = { HSW_IN_TX, HSW_IN_TX_CHECKPOINTED };
	u64 any = 0x00c4 | ARCH_PERFMON_EVENTSEL_ANY;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, try_init(event_of(test, &haswell_model, any)), 0);
	for (i = 0; i < ARRAY_SIZE(tx); i++) {
		KUNIT_EXPECT_EQ(test, try_init(event_of(test, &haswell_model, any | tx[i])),
				-EOPNOTSUPP);
		KUNIT_EXPECT_EQ(test, try_init(event_of(test, &haswell_model, 0x00c4 | tx[i])), 0);
	}
}

/* White paper 604224: counter 3 is the microcode's; guests' counters are numbered without a gap. */
static void microcode_takes_counter_3_for_transactions(struct kunit *test)
{
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	struct x86_pmu_capability cap;

	KUNIT_ASSERT_NOT_NULL(test, core);
	KUNIT_EXPECT_EQ(test, intel_counters_beside_rtm(ARCH(4, 3), false), ARCH(4, 3));
	KUNIT_EXPECT_EQ(test, intel_counters_beside_rtm(ARCH(4, 3), true), ARCH(3, 3));

	core->model = &skylake_model;
	core->counters = ARCH(8, 3);
	x86_guest_capability(core, &cap);
	KUNIT_EXPECT_EQ(test, cap.num_counters_gp, 8);
	KUNIT_EXPECT_EQ(test, cap.num_counters_fixed, 3);
	core->counters = ARCH(8, 3) & ~(BIT_ULL(3) | X86_FIXED(1));
	KUNIT_EXPECT_EQ(test, intel_counters_beside_rtm(ARCH(8, 3), true),
			core->counters | X86_FIXED(1));
	x86_guest_capability(core, &cap);
	KUNIT_EXPECT_EQ(test, cap.num_counters_gp, 3);
	KUNIT_EXPECT_EQ(test, cap.num_counters_fixed, 1);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(core, 0x81d0), GENERAL(3));
	KUNIT_EXPECT_EQ(test, x86_rule_counters(core, 0x00c4), GENERAL(8) & ~BIT_ULL(3));
}

/* Erratum AAJ80: CPUID denies the architectural event; event file NHM-EP: BR_MISP_EXEC.ANY */
static void nehalem_counts_mispredictions_it_executes(struct kunit *test)
{
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->counters = ARCH(4, 3);
	core->arch_len = 7;
	core->model = &nehalem_model;
	KUNIT_EXPECT_EQ(test, x86_generic_select(core, PERF_COUNT_HW_BRANCH_MISSES), 0x7f89ULL);
	core->arch_missing = BIT(6);
	KUNIT_EXPECT_EQ(test, x86_generic_select(core, PERF_COUNT_HW_BRANCH_MISSES), 0x7f89ULL);
	core->model = &westmere_model;
	KUNIT_EXPECT_EQ(test, x86_generic_select(core, PERF_COUNT_HW_BRANCH_MISSES), 0ULL);
	core->arch_missing = 0;
	KUNIT_EXPECT_EQ(test, x86_generic_select(core, PERF_COUNT_HW_BRANCH_MISSES), 0x00c5ULL);
}

/* OCR.DEMAND_DATA_RD and DEMAND_RFO, ANY_RESPONSE and L3_MISS, of the event files. */
static void last_level_values_are_the_event_files(struct kunit *test)
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
		KUNIT_EXPECT_EQ_MSG(test, !!x86_cache_select(model, X86_CACHE(NODE, LOAD, ACCESS), &node),
				    part[i].node, "%s", model->name);
	}
	/* OCR.DEMAND_DATA_RD.DRAM of Lunar Lake */
	KUNIT_EXPECT_EQ(test, 0x1e780000001 & ~lioncove_model.extra->valid, 0ULL);
}

/* The event files' values have no bit outside; neither request 6 nor answer 31 is among them. */
static void goldmonts_offcore_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, extra_of(&goldmont_model, 0x01b7)->valid, 0x760005ffbfULL);
	KUNIT_EXPECT_EQ(test, extra_of(&goldmont_plus_model, 0x02b7)->valid, 0x360005ffbfULL);
}

static void goldmont_counts_walks_at_retirement(struct kunit *test)
{
	u64 extra;

	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_model, X86_CACHE(DTLB, LOAD, MISS), &extra), 0x11d0);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_model, X86_CACHE(DTLB, STORE, MISS), &extra), 0x12d0);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_plus_model, X86_CACHE(DTLB, LOAD, MISS), &extra),
			0x0e08);
	KUNIT_EXPECT_EQ(test, x86_cache_select(&goldmont_plus_model, X86_CACHE(DTLB, STORE, MISS), &extra),
			0x0e49);
}
#endif

#ifdef CONFIG_CPU_SUP_AMD
static void zen_2_stalls_in_front_alone(struct kunit *test)
{
	const u64 *zen = amd_model_fam17h.generic, *zen2 = amd_model_zen2.generic;

	KUNIT_EXPECT_EQ(test, zen[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND], 0x0287ULL);
	KUNIT_EXPECT_EQ(test, zen[PERF_COUNT_HW_STALLED_CYCLES_BACKEND], 0x0187ULL);
	KUNIT_EXPECT_EQ(test, zen2[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND], 0x00a9ULL);
	KUNIT_EXPECT_EQ(test, zen2[PERF_COUNT_HW_STALLED_CYCLES_BACKEND], 0ULL);
}

/* Event file amdzen4: LS_NOT_HALTED_P0_CYC, code 120h. */
static void zen_4_counts_reference_cycles(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, amd_model_fam19h.generic[PERF_COUNT_HW_REF_CPU_CYCLES], 0ULL);
	KUNIT_EXPECT_EQ(test, amd_model_zen4.generic[PERF_COUNT_HW_REF_CPU_CYCLES], 0x100000120ULL);
	KUNIT_EXPECT_EQ(test, amd_model_fam1ah.generic[PERF_COUNT_HW_REF_CPU_CYCLES], 0x100000120ULL);
}

/* Requests to DRAM and between nodes, and family 10h's to the L3 cache: a K7 has no northbridge. */
static void northbridge_events_are_refused(struct kunit *test)
{
	static const u64 codes[] = { 0x07e0, 0x07f6, 0x1000007e0, 0x1000007ef, 0x4000007e0, 0x4000007ed };
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->counters = GENERAL(4);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		core->model = &amd_model_fam10h;
		KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(core, codes[i]), 0ULL, "%#llx", codes[i]);
		core->model = &amd_model_fam15h;
		KUNIT_EXPECT_EQ_MSG(test, x86_rule_counters(core, codes[i]), 0ULL, "%#llx", codes[i]);
	}
	core->model = &amd_model_k8;
	KUNIT_EXPECT_EQ(test, x86_rule_counters(core, codes[0]), 0ULL);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(core, codes[1]), 0ULL);
	KUNIT_EXPECT_EQ(test, x86_rule_counters(core, 0x00d0), GENERAL(4));
	core->model = &amd_model_k7;
	KUNIT_EXPECT_EQ(test, x86_rule_counters(core, codes[0]), GENERAL(4));
}

/* Neither in hosts nor in guests. Without bits for these counters are switched at VM entry. */
static void nowhere_counts_nothing(struct kunit *test)
{
	struct perf_event *event = event_of(test, &amd_model_fam17h, 0x00c0);
	u64 levels = ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS;

	if (!x86_hw.guest_bits && !x86_hw.global_ctrl)
		kunit_skip(test, "this PMU cannot tell guests apart");
	event->attr.exclude_host = 1;
	KUNIT_EXPECT_EQ(test, try_init(event), 0);
	KUNIT_EXPECT_EQ(test, event->hw.config & levels, levels);
	event->attr.exclude_guest = 1;
	KUNIT_EXPECT_EQ(test, try_init(event), 0);
	KUNIT_EXPECT_EQ(test, event->hw.config & levels, x86_hw.guest_bits ? 0 : levels);
	KUNIT_EXPECT_EQ(test, event->hw.config & AMD64_EVENTSEL_HOSTONLY, 0ULL);
	KUNIT_EXPECT_EQ(test, event->hw.config & AMD64_EVENTSEL_GUESTONLY, 0ULL);
}

static void zen_cannot_add_up_flops(struct kunit *test)
{
	const struct x86_model *const models[] = {
		&amd_model_fam17h, &amd_model_zen2, &amd_model_fam19h, &amd_model_zen4,
		&amd_model_fam1ah
	};
	struct x86_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->counters = GENERAL(6);
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		core->model = models[i];
		KUNIT_EXPECT_EQ(test, x86_rule_counters(core, 0x0f03), 0ULL);
		KUNIT_EXPECT_EQ(test, x86_rule_counters(core, 0x0f02), GENERAL(6));
	}
}
#endif

/* -------------------------------------------------------------------- sleep */

#define SLEEP_ROUNDS	1000000
#define SLEEP_PERIOD	50021

struct sleep_case {
	struct perf_event	*counting, *sampling;
	u64			counted;
	unsigned int		samples, samples_after;
	int			ret;
};

static void sleep_sample(struct perf_event *event, struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	struct sleep_case *c = event->overflow_handler_context;

	c->samples++;
}

/* Two instructions a round. */
static noinline void sleep_work(void)
{
	unsigned long n = SLEEP_ROUNDS;

	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc", "memory");
}

/* As if the machine had been off. */
static void lose_registers(const struct x86_core *core)
{
	unsigned long general = core->counters & X86_GENERAL_MASK;
	unsigned int i;

	if (x86_hw.global_ctrl)
		wrmsrl(x86_hw.global_ctrl, 0);
	for_each_set_bit(i, &general, INTEL_PMC_MAX_GENERIC) {
		wrmsrl(x86_hw.select + i * x86_hw.step, 0);
		wrmsrl(x86_hw.counter_write + i * x86_hw.step, 0);
	}
	if (!(core->counters & X86_FIXED_MASK))
		return;
	wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0);
	for (i = 0; i < x86_nr_fixed(core); i++)
		wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR0 + i, 0);
}

static void sleep_here(void *info)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	struct sleep_case *c = info;
	u64 before, after;

	c->ret = perf_event_read_local(c->counting, &before, NULL, NULL);
	sleep_work();
	x86_cpu_rest(cpu);
	lose_registers(cpu->core);
	sleep_work();
	x86_cpu_rewrite(cpu);
	c->samples_after = c->samples;
	sleep_work();
	c->samples_after = c->samples - c->samples_after;
	c->ret = c->ret ?: perf_event_read_local(c->counting, &after, NULL, NULL);
	c->counted = after - before;
}

/* The kernel's instructions on CPU 0, on whichever counters. */
static struct perf_event *sleep_event(struct sleep_case *c, u64 period)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_INSTRUCTIONS,
		.size		= sizeof(attr),
		.exclude_user	= 1,
		.pinned		= 1,
		.sample_period	= period,
	};

	return perf_event_create_kernel_counter(&attr, 0, NULL, period ? sleep_sample : NULL, c);
}

static void sleep_leaves_counts_and_periods(struct kunit *test)
{
	struct sleep_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	const unsigned int insns = 2 * SLEEP_ROUNDS;

	KUNIT_ASSERT_NOT_NULL(test, c);
	if (!x86_nr_cores)
		kunit_skip(test, "no PMU");
	c->counting = sleep_event(c, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->counting);
	c->sampling = sleep_event(c, SLEEP_PERIOD);
	if (!IS_ERR(c->sampling)) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(0, sleep_here, c, 1), 0);
		perf_event_release_kernel(c->sampling);
	}
	perf_event_release_kernel(c->counting);
	KUNIT_ASSERT_EQ(test, c->ret, 0);
	/* What the overflow handlers and the two ends take counts, too; a sleep's work does not. */
	KUNIT_EXPECT_GE(test, c->counted, 2ULL * insns);
	KUNIT_EXPECT_LT(test, c->counted, 2ULL * insns + insns / 10);
	KUNIT_EXPECT_GE(test, c->samples_after, insns / SLEEP_PERIOD);
	KUNIT_EXPECT_LE(test, c->samples_after, insns / SLEEP_PERIOD + 4);
}

/* An event on counter @idx of this CPU, as a schedule of its own. */
static void load_alone(struct perf_schedule *s, struct perf_event *event, unsigned int idx)
{
	s->nr = 1;
	s->slot[0].event = event;
	s->slot[0].idx = idx;
	x86_sched_load(event->pmu, s);
}

/* It finds the value in a counter that it has left there, but not in one that it comes to. */
static void moved_event_writes_its_counter(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	s64 left = SLEEP_ROUNDS, stays = 0, moves = 0;
	bool busy = true, same = false;
	unsigned int from, to;
	struct x86_cpu *cpu;
	unsigned long flags;
	u64 tag;

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, s);
	if (!x86_nr_cores || x86_hw.netburst)
		kunit_skip(test, "no counters that are alike");

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_cpu);
	if (cpu->core && !cpu->loaded) {
		busy = false;
		from = __ffs64(cpu->core->counters);
		to = from + 1;
		event->pmu = &cpu->core->pmu;
		event->hw.idx = event->hw.last_cpu = -1;
		event->hw.flags = X86_EVENT_SAMPLING;
		/* Of user programs, so that it stands still here. */
		event->hw.config = x86_generic_select(cpu->core, PERF_COUNT_HW_INSTRUCTIONS) |
				   ARCH_PERFMON_EVENTSEL_USR;
		event->hw.sample_period = left;
		local64_set(&event->hw.period_left, left);

		load_alone(s, event, from);
		x86_sched_save(event->pmu, s, 1);
		tag = cpu->tag[from];
		load_alone(s, event, from);
		same = cpu->tag[from] == tag;
		stays = local64_read(&event->hw.prev_count);
		x86_sched_save(event->pmu, s, 1);
		x86_counter_write(cpu, to, -1);
		cpu->tag[to] = cpu->tag[from];
		load_alone(s, event, to);
		x86_event_update(event);
		moves = local64_read(&event->hw.prev_count);
		x86_sched_save(event->pmu, s, 1);
	}
	local_irq_restore(flags);

	if (busy)
		kunit_skip(test, "somebody counts here");
	KUNIT_EXPECT_TRUE(test, same);
	KUNIT_EXPECT_EQ(test, stays, -left);
	KUNIT_EXPECT_EQ(test, moves, -left);
}

/* An overflow that the handler leaves to whoever loads is seen to, and not found by the next event. */
static void overflow_before_arming_is_not_left(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u64 bit = 0, loaded = 0, unloaded = 0, armed = 0;
	struct x86_cpu *cpu;
	unsigned long flags;

	KUNIT_ASSERT_NOT_NULL(test, event);
	KUNIT_ASSERT_NOT_NULL(test, s);
	if (!x86_nr_cores || x86_hw.netburst)
		kunit_skip(test, "no counters that are alike");

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_cpu);
	if (cpu->core && !cpu->loaded) {
		bit = cpu->core->counters & -cpu->core->counters;
		event->pmu = &cpu->core->pmu;
		event->hw.idx = -1;
		event->hw.config = x86_generic_select(cpu->core, PERF_COUNT_HW_INSTRUCTIONS) |
				   ARCH_PERFMON_EVENTSEL_USR;

		this_cpu_or(x86_cpu.missed, bit);
		load_alone(s, event, __ffs64(bit));
		loaded = cpu->missed;
		armed = cpu->armed;
		this_cpu_or(x86_cpu.missed, bit);
		x86_sched_save(event->pmu, s, 1);
		unloaded = cpu->missed;
		x86_counters_off(cpu, ~0ULL);
	}
	local_irq_restore(flags);

	if (!bit)
		kunit_skip(test, "somebody counts here");
	KUNIT_EXPECT_EQ(test, armed, bit);
	KUNIT_EXPECT_EQ(test, loaded & bit, 0ULL);
	KUNIT_EXPECT_EQ(test, unloaded & bit, 0ULL);
}

/*
 * The interrupt of an event that has just gone may find that nobody counts any more. If it then left
 * the local APIC's entry masked, no later event would ever interrupt on that CPU. One that did not
 * come through the entry is somebody else's.
 */
static void last_events_interrupt_opens_the_entry(struct kunit *test)
{
	unsigned long grace, flags;
	int late, foreign, in_grace;
	u32 entry;

	if (!x86_nr_cores || !x86_hw.ack_lvt)
		kunit_skip(test, "the entry is never masked");
	if (atomic_read(&x86_irq_users))
		kunit_skip(test, "somebody counts");

	local_irq_save(flags);
	apic_write(APIC_LVTPC, APIC_DM_NMI | APIC_LVT_MASKED);
	late = x86_pmi(NMI_LOCAL, NULL);
	entry = apic_read(APIC_LVTPC);
	apic_write(APIC_LVTPC, APIC_DM_NMI);
	grace = this_cpu_read(x86_cpu.nmi_grace);
	this_cpu_write(x86_cpu.nmi_grace, jiffies);
	foreign = x86_pmi(NMI_LOCAL, NULL);
	this_cpu_write(x86_cpu.nmi_grace, jiffies + HZ);
	in_grace = x86_pmi(NMI_LOCAL, NULL);
	this_cpu_write(x86_cpu.nmi_grace, grace);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, late, NMI_HANDLED);
	KUNIT_EXPECT_EQ(test, entry, APIC_DM_NMI);
	KUNIT_EXPECT_EQ(test, foreign, NMI_DONE);
	/* Where the entry stays open, a stopped counter may still have one on the way. */
	KUNIT_EXPECT_EQ(test, in_grace, x86_hw.late_nmi ? NMI_HANDLED : NMI_DONE);
}

/* A trace's full buffer interrupts, whether there is an event on a counter or not. */
static void recorded_branches_have_their_interrupts(struct kunit *test)
{
	int users = atomic_read(&x86_irq_users);

	KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_pt), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&x86_irq_users), users + 1);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), -EBUSY);
	KUNIT_EXPECT_EQ(test, atomic_read(&x86_irq_users), users + 1);
	x86_del_exclusive(x86_lbr_exclusive_pt);
	KUNIT_EXPECT_EQ(test, atomic_read(&x86_irq_users), users);
}

static struct kunit_case x86_pmu_cases[] = {
	KUNIT_CASE(last_events_interrupt_opens_the_entry),
	KUNIT_CASE(recorded_branches_have_their_interrupts),
	KUNIT_CASE(sleep_leaves_counts_and_periods),
	KUNIT_CASE(moved_event_writes_its_counter),
	KUNIT_CASE(overflow_before_arming_is_not_left),
#ifdef CONFIG_CPU_SUP_ZHAOXIN
	KUNIT_CASE(zhaoxin_counts_what_it_names),
#endif
	KUNIT_CASE_SLOW(solver_agrees_with_brute_force),
	KUNIT_CASE(solver_moves_events_along_a_chain),
	KUNIT_CASE(solver_leaves_everything_on_failure),
	KUNIT_CASE(solver_fills_64_counters),
	KUNIT_CASE(drivers_constraints_are_solved),
	KUNIT_CASE_PARAM(table_names_itself, table_gen_params),
	KUNIT_CASE_PARAM(table_counts_the_six_basic_events, table_gen_params),
	KUNIT_CASE_PARAM(table_fits_cycles_and_instructions, table_gen_params),
	KUNIT_CASE_PARAM(table_cache_events_can_be_counted, table_gen_params),
	KUNIT_CASE_PARAM(table_named_events_can_be_counted, table_gen_params),
	KUNIT_CASE_PARAM(table_rules_match_what_they_say, table_gen_params),
	KUNIT_CASE_PARAM(table_extra_registers_are_complete, table_gen_params),
	KUNIT_CASE_PARAM(table_extra_events_stay_themselves, table_gen_params),
	KUNIT_CASE_PARAM(table_extra_values_move_where_they_fit, table_gen_params),
	KUNIT_CASE_PARAM(table_aborted_transactions_have_their_counter, table_gen_params),
#ifdef CONFIG_CPU_SUP_INTEL
	KUNIT_CASE(shared_registers_hold_what_all_agree_on),
	KUNIT_CASE(registers_go_to_those_without_a_choice_first),
	KUNIT_CASE(p4_events_reach_their_escrs),
	KUNIT_CASE(p4_events_are_where_the_manual_says),
	KUNIT_CASE(p4_threads_have_registers_of_their_own),
	KUNIT_CASE(p4_schedules_share_no_escr),
	KUNIT_CASE(events_are_on_their_counters),
	KUNIT_CASE(goldmonts_offcore_bits),
	KUNIT_CASE(goldmont_counts_walks_at_retirement),
	KUNIT_CASE(last_level_values_are_the_event_files),
	KUNIT_CASE(frontend_events_have_their_register),
	KUNIT_CASE(alder_lakes_big_cores_have_counters_of_their_own),
	KUNIT_CASE(core_unlike_the_first_has_no_pmu),
	KUNIT_CASE(remote_memory_is_the_servers),
	KUNIT_CASE(broadwell_misses_go_to_its_memory),
	KUNIT_CASE(broadwell_counts_users_on_the_low_counters),
	KUNIT_CASE(aborted_transactions_are_not_sampled),
	KUNIT_CASE(transactions_are_of_one_thread),
	KUNIT_CASE(microcode_takes_counter_3_for_transactions),
	KUNIT_CASE(nehalem_counts_mispredictions_it_executes),
#endif
#ifdef CONFIG_CPU_SUP_AMD
	KUNIT_CASE(zen_2_stalls_in_front_alone),
	KUNIT_CASE(zen_4_counts_reference_cycles),
	KUNIT_CASE(northbridge_events_are_refused),
	KUNIT_CASE(nowhere_counts_nothing),
	KUNIT_CASE(zen_cannot_add_up_flops),
#endif
	{ }
};

static struct kunit_suite x86_pmu_suite = {
	.name		= "perf_x86",
	.test_cases	= x86_pmu_cases,
};
kunit_test_suite(x86_pmu_suite);

MODULE_DESCRIPTION("Tests of the x86 PMU driver's solver and tables");
MODULE_LICENSE("GPL");
