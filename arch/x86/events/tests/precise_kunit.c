// SPDX-License-Identifier: GPL-2.0
/*
 * Events with precise samples: each row of each line of processors, what applies to its other
 * events, and which models are of which line.
 *
 * Expected values are those of the manual's chapters ("Precise Events", "PEBS") and of the event
 * files.
 */
#include <kunit/test.h>

#include "../intel/models.h"
#include "../intel/pebs.h"
#include "helpers.h"

#define KIND(_kind)	X86_PRECISE_##_kind
#define F0		X86_FIXED(0)
#define F3		X86_FIXED(3)

/* Cycles in which fewer than 16 of an event occur. */
#define CYCLES(_sel)	((_sel) | SEL_INV | SEL_CMASK(16))

/**
 * struct row_case - an event of a list
 * @config: selection
 * @counters: set of counters that write records of @config; 0: no row has @config
 * @kind: of records, X86_PRECISE_*
 */
struct row_case {
	u64		config;
	u64		counters;
	unsigned int	kind;
};

static const struct row_case rows_core2[] = {
	{ 0x00c0, 0x1, KIND(PLAIN) }, { CYCLES(0x00c0), 0x1, KIND(PLAIN) },
	{ 0xfec1, 0x1, KIND(PLAIN) }, { 0x00c5, 0x1, KIND(PLAIN) },
	{ 0x1fc7, 0x1, KIND(PLAIN) }, { 0x01cb, 0x1, KIND(PLAIN) },
	{ 0x02cb, 0x1, KIND(PLAIN) }, { 0x04cb, 0x1, KIND(PLAIN) },
	{ 0x08cb, 0x1, KIND(PLAIN) }, { 0x10cb, 0x1, KIND(PLAIN) },
	{ 0x01c0 }, { 0x01c1 }, { 0x01c5 }, { 0x01c7 }, { 0x00c4 }, { 0x003c },
	{ CYCLES(0x003c) },
};

static const struct row_case rows_nehalem[] = {
	{ 0x100b, 0xf, KIND(LOAD_LATENCY) },
	{ 0x010b, 0xf, KIND(PLAIN) }, { 0x020b, 0xf, KIND(PLAIN) },
	{ 0x020f, 0xf, KIND(PLAIN) }, { 0x200f, 0xf, KIND(PLAIN) },
	{ 0x010c, 0xf, KIND(PLAIN) },
	{ 0x00c0, 0xf, KIND(PLAIN) }, { 0x01c0, 0xf, KIND(PLAIN) }, { 0x02c0, 0xf, KIND(PLAIN) },
	{ CYCLES(0x00c0), 0xf, KIND(PLAIN) }, { CYCLES(0x01c0), 0xf, KIND(PLAIN) },
	{ 0x01c2, 0xf, KIND(PLAIN) }, { 0x02c2, 0xf, KIND(PLAIN) }, { 0x04c2, 0xf, KIND(PLAIN) },
	{ CYCLES(0x01c2), 0xf, KIND(PLAIN) }, { 0x01c2 | SEL_CMASK(1), 0xf, KIND(PLAIN) },
	{ 0x00c4, 0xf, KIND(PLAIN) }, { 0x01c4, 0xf, KIND(PLAIN) }, { 0x02c4, 0xf, KIND(PLAIN) },
	{ 0x02c5, 0xf, KIND(PLAIN) },
	{ 0x01c7, 0xf, KIND(PLAIN) }, { 0x10c7, 0xf, KIND(PLAIN) },
	{ 0x20c8, 0xf, KIND(PLAIN) },
	{ 0x01cb, 0xf, KIND(PLAIN) }, { 0x10cb, 0xf, KIND(PLAIN) }, { 0x80cb, 0xf, KIND(PLAIN) },
	{ 0x01f7, 0xf, KIND(PLAIN) }, { 0x02f7, 0xf, KIND(PLAIN) },
	{ 0x040b }, { 0x020c }, { 0x00c5 }, { 0x01c5 }, { 0x10c8 }, { 0x003c },
	{ CYCLES(0x02c0) }, { 0x00c4 | SEL_CMASK(1) },
};

static const struct row_case rows_westmere[] = {
	{ 0x100b, 0xf, KIND(LOAD_LATENCY) },
	{ 0x010b, 0xf, KIND(PLAIN) }, { 0x020b, 0xf, KIND(PLAIN) },
	{ 0x020f, 0xf, KIND(PLAIN) }, { 0x200f, 0xf, KIND(PLAIN) },
	{ 0x010c, 0xf, KIND(PLAIN) },
	{ 0x00c0, 0xf, KIND(PLAIN) }, { 0x01c0, 0xf, KIND(PLAIN) }, { 0x02c0, 0xf, KIND(PLAIN) },
	{ CYCLES(0x00c0), 0xf, KIND(PLAIN) }, { CYCLES(0x01c0), 0xf, KIND(PLAIN) },
	{ 0x01c2, 0xf, KIND(PLAIN) }, { 0x02c2, 0xf, KIND(PLAIN) }, { 0x04c2, 0xf, KIND(PLAIN) },
	{ CYCLES(0x01c2), 0xf, KIND(PLAIN) }, { 0x01c2 | SEL_CMASK(1), 0xf, KIND(PLAIN) },
	{ 0x00c4, 0xf, KIND(PLAIN) }, { 0x01c4, 0xf, KIND(PLAIN) }, { 0x02c4, 0xf, KIND(PLAIN) },
	{ 0x01c5, 0xf, KIND(PLAIN) }, { 0x02c5, 0xf, KIND(PLAIN) }, { 0x04c5, 0xf, KIND(PLAIN) },
	{ 0x01c7, 0xf, KIND(PLAIN) }, { 0x10c7, 0xf, KIND(PLAIN) },
	{ 0x20c8, 0xf, KIND(PLAIN) },
	{ 0x01cb, 0xf, KIND(PLAIN) }, { 0x10cb, 0xf, KIND(PLAIN) }, { 0x80cb, 0xf, KIND(PLAIN) },
	{ 0x01f7, 0xf, KIND(PLAIN) }, { 0x02f7, 0xf, KIND(PLAIN) },
	{ 0x040b }, { 0x020c }, { 0x10c8 }, { 0x003c }, { CYCLES(0x02c0) },
};

static const struct row_case rows_sandybridge[] = {
	{ 0x01c0, 0x2, KIND(PLAIN) }, { CYCLES(0x01c0), 0x2, KIND(PLAIN) },
	{ 0x01cd, 0x8, KIND(LOAD_LATENCY) }, { 0x02cd, 0x8, KIND(STORE_OLD) },
	{ 0x11d0, 0xf, KIND(PLAIN) }, { 0x81d0, 0xf, KIND(PLAIN) }, { 0x82d0, 0xf, KIND(PLAIN) },
	{ 0x01d1, 0xf, KIND(PLAIN) }, { 0x01d2, 0xf, KIND(PLAIN) }, { 0x01d3, 0xf, KIND(PLAIN) },
	{ 0x00c0 }, { 0x01c2 }, { CYCLES(0x01c2) }, { 0x04cd }, { 0x01d4 }, { 0x01cf },
};

static const struct row_case rows_haswell[] = {
	{ 0x01c0, 0x2, KIND(PLAIN) }, { CYCLES(0x01c0), 0x2, KIND(PLAIN) },
	{ 0x01cd, 0xf, KIND(LOAD_LATENCY) },
	{ 0x11d0, 0xf, KIND(LOAD) }, { 0x21d0, 0xf, KIND(LOAD) }, { 0x41d0, 0xf, KIND(LOAD) },
	{ 0x81d0, 0xf, KIND(LOAD) },
	{ 0x12d0, 0xf, KIND(STORE) }, { 0x42d0, 0xf, KIND(STORE) }, { 0x82d0, 0xf, KIND(STORE) },
	{ 0x01d1, 0xf, KIND(LOAD) }, { 0x40d1, 0xf, KIND(LOAD) }, { 0x02d2, 0xf, KIND(LOAD) },
	{ 0x01d3, 0xf, KIND(LOAD) },
	{ 0x22d0 }, { 0x02cd }, { 0x01c2 }, { 0x02c2 }, { CYCLES(0x01c2) }, { 0x00c0 },
	{ 0x01d4 },
};

static const struct row_case rows_skylake[] = {
	{ 0x01c0, 0x2, KIND(PLAIN) }, { CYCLES(0x01c0), 0x2, KIND(PLAIN) },
	{ 0x01cd, 0xf, KIND(LOAD_LATENCY) },
	{ 0x11d0, 0xf, KIND(LOAD) }, { 0x21d0, 0xf, KIND(LOAD) }, { 0x41d0, 0xf, KIND(LOAD) },
	{ 0x81d0, 0xf, KIND(LOAD) },
	{ 0x12d0, 0xf, KIND(STORE) }, { 0x22d0, 0xf, KIND(STORE) }, { 0x42d0, 0xf, KIND(STORE) },
	{ 0x82d0, 0xf, KIND(STORE) },
	{ 0x01d1, 0xf, KIND(LOAD) }, { 0x40d1, 0xf, KIND(LOAD) }, { 0x02d2, 0xf, KIND(LOAD) },
	{ 0x01d3, 0xf, KIND(LOAD) },
	{ 0x02cd }, { 0x01c2 }, { CYCLES(0x00c0) }, { 0x00c0 }, { 0x01d4 }, { 0x83d0 },
};

/* Of all lines from Ice Lake on, but the small cores. */
static const struct row_case rows_baseline[] = {
	{ 0x11d0, 0xf, KIND(LOAD) }, { 0x21d0, 0xf, KIND(LOAD) }, { 0x41d0, 0xf, KIND(LOAD) },
	{ 0x81d0, 0xf, KIND(LOAD) },
	{ 0x12d0, 0xf, KIND(STORE) }, { 0x22d0, 0xf, KIND(STORE) }, { 0x42d0, 0xf, KIND(STORE) },
	{ 0x82d0, 0xf, KIND(STORE) },
	{ 0x01d1, 0xf, KIND(LOAD) }, { 0x40d1, 0xf, KIND(LOAD) }, { 0x02d2, 0xf, KIND(LOAD) },
	{ 0x01d3, 0xf, KIND(LOAD) }, { 0x04d4, 0xf, KIND(LOAD) },
	{ 0x83d0, 0xf, KIND(PLAIN) }, { 0x01d0, 0xf, KIND(PLAIN) },
	{ 0x00c4 }, { 0x04cd }, { 0x01d5 }, { 0x01cf },
};

static const struct row_case rows_icelake[] = {
	{ 0x0100, F0, KIND(PLAIN) }, { 0x01c0, F0, KIND(PLAIN) }, { 0x0400, F3, KIND(PLAIN) },
	{ 0x01cd, 0xff, KIND(LOAD_LATENCY) },
	{ 0x00c0 }, { 0x02cd }, { CYCLES(0x01c0) },
};

static const struct row_case rows_goldencove[] = {
	{ 0x0100, F0, KIND(PLAIN) }, { 0x0400, F3, KIND(PLAIN) },
	{ 0x01cd, 0xfe, KIND(LOAD_LATENCY) }, { 0x02cd, 0x1, KIND(STORE_LATENCY) },
	{ 0x00c0, 0xfe | F0, KIND(PLAIN) }, { 0x02c0, 0xfe | F0, KIND(PLAIN) },
};

static const struct row_case rows_lioncove[] = {
	{ 0x0100, F0, KIND(PLAIN) }, { 0x0400, F3, KIND(PLAIN) },
	{ 0x012a, 0x1, KIND(PLAIN) }, { 0x012b, 0x1, KIND(PLAIN) },
	{ 0x01cd, 0x3fc, KIND(LOAD_LATENCY) }, { 0x02cd, 0x3, KIND(STORE_LATENCY) },
	{ 0x00c0 }, { 0x01c0 },
};

static const struct row_case rows_gracemont[] = {
	{ 0x05d0, 0x3, KIND(LOAD_LATENCY) }, { 0x06d0, 0x3f, KIND(STORE_LATENCY) },
	{ 0x01d0 }, { 0x81d0 }, { 0x82d0 }, { 0x01d1 }, { 0x00c0 },
};

/**
 * struct line_case - a line of processors
 * @name: name of the line
 * @line: table of the line
 * @rows: events of the list of the line, and some that are not in the list
 * @nr: number of @rows
 * @baseline: has those of rows_baseline, too
 * @want: other fields of the table
 */
struct line_case {
	const char			*name;
	const struct x86_precise_line	*line;
	const struct row_case		*rows;
	unsigned int			nr;
	bool				baseline;
	struct x86_precise_line		want;
};

#define ROWS(_rows)	.rows = (_rows), .nr = ARRAY_SIZE(_rows)
#define ANY_COUNTER	~0ULL
#define SAME_CYCLES(_sel)	{ 0, CYCLES(_sel), CYCLES(_sel), CYCLES(_sel) }

static const struct line_case line_cases[] = {
	{ "core2", &intel_pebs_core2, ROWS(rows_core2),
	  .want = { .cycles = SAME_CYCLES(0x00c0), .source = &intel_datasrc_nehalem, .max = 2 } },
	{ "atom", &intel_pebs_atom,
	  .want = { .others = 0x1, .cycles = SAME_CYCLES(0x00c0),
		    .source = &intel_datasrc_nehalem, .max = 2 } },
	{ "goldmont", &intel_pebs_goldmont,
	  .want = { .others = 0x1, .source = &intel_datasrc_nehalem, .max = 3 } },
	{ "goldmont plus", &intel_pebs_goldmont_plus,
	  .want = { .others = ANY_COUNTER, .instructions = 0x1, .rest = 0x1,
		    .source = &intel_datasrc_nehalem, .max = 3 } },
	{ "tremont", &intel_pebs_tremont,
	  .want = { .others = ANY_COUNTER, .instructions = 0x1 | F0, .rest = 0x1,
		    .source = &intel_datasrc_nehalem, .max = 3 } },
	{ "nehalem", &intel_pebs_nehalem, ROWS(rows_nehalem),
	  .want = { .cycles = SAME_CYCLES(0x00c0), .source = &intel_datasrc_nehalem, .max = 2 } },
	{ "westmere", &intel_pebs_westmere, ROWS(rows_westmere),
	  .want = { .cycles = SAME_CYCLES(0x00c0), .source = &intel_datasrc_nehalem, .max = 2 } },
	{ "sandybridge", &intel_pebs_sandybridge, ROWS(rows_sandybridge),
	  .want = { .others = 0xf, .cycles = SAME_CYCLES(0x01c2),
		    .source = &intel_datasrc_sandybridge, .max = 2 } },
	{ "ivybridge", &intel_pebs_ivybridge, ROWS(rows_sandybridge),
	  .want = { .others = 0xf,
		    .cycles = { 0, CYCLES(0x01c2), CYCLES(0x01c2), CYCLES(0x01c0) },
		    .source = &intel_datasrc_sandybridge, .max = 3 } },
	{ "haswell", &intel_pebs_haswell, ROWS(rows_haswell),
	  .want = { .others = 0xf,
		    .cycles = { 0, CYCLES(0x01c2), CYCLES(0x01c2), CYCLES(0x01c0) },
		    .source = &intel_datasrc_sandybridge, .max = 3 } },
	{ "skylake", &intel_pebs_skylake, ROWS(rows_skylake),
	  .want = { .others = 0xf,
		    .cycles = { 0, CYCLES(0x00c0), CYCLES(0x00c0), CYCLES(0x01c0) },
		    .source = &intel_datasrc_skylake, .max = 3 } },
	{ "icelake", &intel_pebs_icelake, ROWS(rows_icelake), .baseline = true,
	  .want = { .others = ANY_COUNTER, .instructions = F0,
		    .source = &intel_datasrc_skylake, .max = 3 } },
	{ "goldencove", &intel_pebs_goldencove, ROWS(rows_goldencove), .baseline = true,
	  .want = { .others = ANY_COUNTER, .instructions = F0, .rest = 0x1, .least = 128,
		    .source = &intel_datasrc_goldencove,
		    .flags = X86_PRECISE_TWO_LATENCIES | X86_PRECISE_LOADS_AUX, .max = 3 } },
	{ "redwoodcove", &intel_pebs_redwoodcove, ROWS(rows_goldencove), .baseline = true,
	  .want = { .others = ANY_COUNTER, .instructions = F0, .rest = 0x1, .least = 128,
		    .source = &intel_datasrc_goldencove,
		    .flags = X86_PRECISE_TWO_LATENCIES | X86_PRECISE_RETIRE_GENERAL,
		    .max = 3 } },
	{ "lioncove", &intel_pebs_lioncove, ROWS(rows_lioncove), .baseline = true,
	  .want = { .others = ANY_COUNTER, .instructions = F0, .rest = 0x1, .least = 128,
		    .source = &intel_datasrc_lioncove,
		    .flags = X86_PRECISE_TWO_LATENCIES | X86_PRECISE_RETIRE_GENERAL,
		    .max = 3 } },
	{ "gracemont", &intel_pebs_gracemont, ROWS(rows_gracemont),
	  .want = { .others = ANY_COUNTER, .instructions = 0x1 | F0, .rest = 0x1, .least = 128,
		    .source = &intel_datasrc_gracemont, .flags = X86_PRECISE_TWO_LATENCIES,
		    .max = 3 } },
	{ "crestmont", &intel_pebs_crestmont, ROWS(rows_gracemont),
	  .want = { .others = ANY_COUNTER, .instructions = 0x3 | F0, .rest = 0x3, .least = 128,
		    .source = &intel_datasrc_crestmont, .flags = X86_PRECISE_TWO_LATENCIES,
		    .max = 3 } },
	{ "skymont", &intel_pebs_skymont, ROWS(rows_gracemont),
	  .want = { .others = ANY_COUNTER, .instructions = 0x1 | F0, .rest = 0x1, .least = 128,
		    .source = &intel_datasrc_crestmont, .flags = X86_PRECISE_TWO_LATENCIES,
		    .max = 3 } },
};

static void describe_line(const struct line_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(line, line_cases, describe_line);

static unsigned int count_rows(const struct x86_precise_line *line)
{
	const struct x86_precise *p = line->events;
	unsigned int n = 0;

	for (; p && p->mask; p++)
		n++;
	return n;
}

/* Returns the rows of the line's list that are those of cases. */
static u64 check_rows(struct kunit *test, const struct x86_precise_line *line,
		      const struct row_case *rows, unsigned int nr)
{
	u64 found = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		const struct x86_precise *p = intel_pebs_find(line, rows[i].config);
		u64 config = rows[i].config;

		KUNIT_EXPECT_EQ_MSG(test, p ? p->counters : 0, rows[i].counters, "%#llx", config);
		KUNIT_EXPECT_EQ_MSG(test, p ? p->kind : 0, rows[i].kind, "%#llx", config);
		/* Edges are another event. */
		KUNIT_EXPECT_NULL_MSG(test, intel_pebs_find(line, config | SEL_EDGE), "%#llx",
				      config);
		if (p)
			found |= BIT_ULL(p - line->events);
	}
	return found;
}

static void rows_have_counters_and_kind(struct kunit *test)
{
	const struct line_case *c = test->param_value;
	unsigned int n = count_rows(c->line);
	u64 found;

	KUNIT_ASSERT_LT(test, n, 64);
	found = check_rows(test, c->line, c->rows, c->nr);
	if (c->baseline)
		found |= check_rows(test, c->line, rows_baseline, ARRAY_SIZE(rows_baseline));
	/* No row of the list is without a case. */
	KUNIT_EXPECT_EQ(test, found, GENERAL(n));
}

static void lines_have_their_rules(struct kunit *test)
{
	const struct line_case *c = test->param_value;
	const struct x86_precise_line *line = c->line, *want = &c->want;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, line->others, want->others);
	for (i = 0; i < ARRAY_SIZE(line->cycles); i++)
		KUNIT_EXPECT_EQ_MSG(test, line->cycles[i], want->cycles[i], "precise_ip %u", i);
	KUNIT_EXPECT_EQ(test, line->instructions, want->instructions);
	KUNIT_EXPECT_EQ(test, line->rest, want->rest);
	KUNIT_EXPECT_EQ(test, line->least, want->least);
	KUNIT_EXPECT_PTR_EQ(test, line->source, want->source);
	KUNIT_EXPECT_EQ(test, line->flags, want->flags);
	KUNIT_EXPECT_EQ(test, line->max, want->max);
}

struct model_case {
	const struct x86_model		*model;
	const struct x86_precise_line	*line;
};

static const struct model_case model_cases[] = {
	{ &p6_model }, { &p4_model }, { &core_model },
	{ &x86_model_arch_v1 }, { &x86_model_arch_v2 }, { &x86_model_arch_v5 },
	{ &core2_model, &intel_pebs_core2 },
	{ &nehalem_model, &intel_pebs_nehalem }, { &westmere_model, &intel_pebs_westmere },
	{ &sandybridge_model, &intel_pebs_sandybridge },
	{ &sandybridge_ep_model, &intel_pebs_sandybridge },
	{ &ivybridge_model, &intel_pebs_ivybridge },
	{ &ivybridge_ep_model, &intel_pebs_ivybridge },
	{ &haswell_model, &intel_pebs_haswell }, { &broadwell_model, &intel_pebs_haswell },
	{ &skylake_model, &intel_pebs_skylake }, { &icelake_model, &intel_pebs_icelake },
	{ &goldencove_model, &intel_pebs_goldencove },
	{ &goldencove_x_model, &intel_pebs_goldencove },
	{ &redwoodcove_model, &intel_pebs_redwoodcove },
	{ &redwoodcove_x_model, &intel_pebs_redwoodcove },
	{ &lioncove_model, &intel_pebs_lioncove },
	{ &bonnell_model, &intel_pebs_atom }, { &silvermont_model, &intel_pebs_atom },
	{ &knl_model, &intel_pebs_atom }, { &goldmont_model, &intel_pebs_goldmont },
	{ &goldmont_plus_model, &intel_pebs_goldmont_plus },
	{ &tremont_model, &intel_pebs_tremont },
	{ &gracemont_model, &intel_pebs_gracemont },
	{ &crestmont_model, &intel_pebs_crestmont },
	{ &skymont_model, &intel_pebs_skymont },
};

static void models_have_their_lines(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(model_cases); i++)
		KUNIT_EXPECT_PTR_EQ_MSG(test, model_cases[i].model->precise, model_cases[i].line,
					"%s", model_cases[i].model->name);
}

static struct kunit_case precise_cases[] = {
	KUNIT_CASE_PARAM(rows_have_counters_and_kind, line_gen_params),
	KUNIT_CASE_PARAM(lines_have_their_rules, line_gen_params),
	KUNIT_CASE(models_have_their_lines),
	{ }
};

static struct kunit_suite precise_suite = {
	.name		= "x86_pmu_precise",
	.test_cases	= precise_cases,
};

kunit_test_suite(precise_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: events with precise samples");
MODULE_LICENSE("GPL");
