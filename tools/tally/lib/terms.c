// SPDX-License-Identifier: GPL-2.0
/* The terms between the slashes of PMU/term=value,.../ */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#define MAX_TERMS	64

/* The terms of one event, and what is being made of these. */
struct term_list {
	struct tally_term term[MAX_TERMS];
	int n;
	char *copy;
};

struct term_context {
	struct tally_counter *event;
	const struct tally_pmu *pmu;
	const struct term_list *given;
	struct tally_error *err;
};

/* Cuts @list->copy into terms at the commas that are not in quotes. */
static int split_terms(struct term_list *list, const char *text, struct tally_error *err)
{
	char *at, *out;

	list->n = 0;
	list->copy = strdup(text);
	if (!list->copy)
		return -ENOMEM;
	for (at = list->copy; *at;) {
		struct tally_term *term = &list->term[list->n];
		size_t length = strcspn(at, "=,");
		char quote = 0;

		if (!length || length >= sizeof(term->key) || list->n == MAX_TERMS)
			return tally_fail(err, EINVAL,
					  "'%s': a term is empty, too long or one too many", text);
		memcpy(term->key, at, length);
		term->key[length] = 0;
		term->value = NULL;
		list->n++;
		at += length;
		if (*at == '=') {
			out = ++at;
			term->value = out;
			for (; *at && (quote || *at != ','); at++) {
				if (quote ? *at == quote : *at == '\'' || *at == '"')
					quote = quote ? 0 : *at;
				else
					*out++ = *at;
			}
			if (quote)
				return tally_fail(err, EINVAL, "'%s': no closing quote", text);
			if (*at)
				at++;
			*out = 0;
		} else if (*at) {
			at++;
		}
	}
	return 0;
}

static int term_number(const struct term_context *ctx, const struct tally_term *term,
		       uint64_t *value)
{
	char *end;

	*value = 1;
	if (!term->value)
		return 0;
	errno = 0;
	*value = strtoull(term->value, &end, 0);
	if (end == term->value || *end || errno || *term->value == '-')
		return tally_fail(ctx->err, EINVAL, "%s=%s: not a number of 64 bits", term->key,
				  term->value);
	return 0;
}

static int set_string(char **to, const struct term_context *ctx, const struct tally_term *term)
{
	if (!term->value || !*term->value)
		return tally_fail(ctx->err, EINVAL, "%s: needs a text", term->key);
	free(*to);
	*to = strdup(term->value);
	return *to ? 0 : -ENOMEM;
}

static int set_config(const struct term_context *ctx, const struct tally_term *term, int word)
{
	return term_number(ctx, term, tally_attr_word(&ctx->event->attr, word));
}

static int set_name(const struct term_context *ctx, const struct tally_term *term, int arg)
{
	(void)arg;
	return set_string(&ctx->event->name, ctx, term);
}

static int set_period(const struct term_context *ctx, const struct tally_term *term, int is_freq)
{
	uint64_t value;
	int ret = term_number(ctx, term, &value);

	if (ret)
		return ret;
	ctx->event->attr.freq = is_freq;
	ctx->event->attr.sample_period = value;
	ctx->event->set |= TALLY_SET_PERIOD;
	return 0;
}

static int set_time(const struct term_context *ctx, const struct tally_term *term, int arg)
{
	uint64_t value;
	int ret = term_number(ctx, term, &value);

	(void)arg;
	if (ret)
		return ret;
	if (value)
		ctx->event->attr.sample_type |= PERF_SAMPLE_TIME;
	else
		ctx->event->attr.sample_type &= ~PERF_SAMPLE_TIME;
	ctx->event->set |= TALLY_SET_TIME;
	return 0;
}

/* The numbers that a term may set, each with its largest value. */
enum number_place { MAX_STACK, STACK_SIZE, MAX_EVENTS, AUX_SAMPLE_SIZE, PERCORE, AUX_OUTPUT };

static int set_number(const struct term_context *ctx, const struct tally_term *term, int place)
{
	static const uint64_t largest[] = {
		[MAX_STACK] = 0xffff, [STACK_SIZE] = 65528, [MAX_EVENTS] = ~0ull,
		[AUX_SAMPLE_SIZE] = 0xffffffff, [PERCORE] = 1, [AUX_OUTPUT] = 1,
	};
	struct tally_counter *event = ctx->event;
	uint64_t value;
	int ret = term_number(ctx, term, &value);

	if (ret)
		return ret;
	if (value > largest[place])
		return tally_fail(ctx->err, ERANGE, "%s=%s: %llu at most", term->key, term->value,
				  (unsigned long long)largest[place]);
	switch (place) {
	case MAX_STACK:
		event->attr.sample_max_stack = value;
		break;
	case STACK_SIZE:
		event->stack_size = value;
		break;
	case MAX_EVENTS:
		event->max_events = value;
		break;
	case AUX_SAMPLE_SIZE:
		event->attr.aux_sample_size = value;
		break;
	case PERCORE:
		event->percore = value;
		break;
	case AUX_OUTPUT:
		event->attr.aux_output = value;
		break;
	}
	return 0;
}

static int set_inherit(const struct term_context *ctx, const struct tally_term *term, int yes)
{
	if (term->value)
		return tally_fail(ctx->err, EINVAL, "%s: takes no value", term->key);
	ctx->event->attr.inherit = yes;
	ctx->event->set |= TALLY_SET_INHERIT;
	return 0;
}

static int set_overwrite(const struct term_context *ctx, const struct tally_term *term, int yes)
{
	if (term->value)
		return tally_fail(ctx->err, EINVAL, "%s: takes no value", term->key);
	ctx->event->attr.write_backward = yes;
	ctx->event->set |= TALLY_SET_OVERWRITE;
	return 0;
}

static int set_callgraph(const struct term_context *ctx, const struct tally_term *term,
			 int arg)
{
	(void)arg;
	ctx->event->set |= TALLY_SET_CALLGRAPH;
	return tally_callgraph_mode(term->value ? term->value : "fp", &ctx->event->callgraph,
				    &ctx->event->stack_size, ctx->err);
}

static int set_branch_type(const struct term_context *ctx, const struct tally_term *term,
			   int arg)
{
	uint64_t mask;
	int ret = tally_branch_filter(term->value ? term->value : "any", &mask, ctx->err);

	(void)arg;
	if (ret)
		return ret;
	ctx->event->attr.branch_sample_type = mask;
	ctx->event->set |= TALLY_SET_BRANCH;
	return 0;
}

static int set_probe_text(const struct term_context *ctx, const struct tally_term *term,
			  int arg)
{
	int ret = set_string(&ctx->event->text, ctx, term);

	(void)arg;
	ctx->event->attr.config1 = (uintptr_t)ctx->event->text;
	return ret;
}

/* Terms that are not in sysfs; a PMU's own term of the same name is preferred. */
static const struct {
	const char *key;
	const char *pmu;
	int (*set)(const struct term_context *ctx, const struct tally_term *term, int arg);
	int arg;
} own_terms[] = {
	{ "config", NULL, set_config, 0 },
	{ "config1", NULL, set_config, 1 },
	{ "config2", NULL, set_config, 2 },
	{ "config3", NULL, set_config, 3 },
	{ "name", NULL, set_name, 0 },
	{ "period", NULL, set_period, 0 },
	{ "freq", NULL, set_period, 1 },
	{ "time", NULL, set_time, 0 },
	{ "call-graph", NULL, set_callgraph, 0 },
	{ "stack-size", NULL, set_number, STACK_SIZE },
	{ "max-stack", NULL, set_number, MAX_STACK },
	{ "nr", NULL, set_number, MAX_EVENTS },
	{ "inherit", NULL, set_inherit, 1 },
	{ "no-inherit", NULL, set_inherit, 0 },
	{ "overwrite", NULL, set_overwrite, 1 },
	{ "no-overwrite", NULL, set_overwrite, 0 },
	{ "branch_type", NULL, set_branch_type, 0 },
	{ "percore", NULL, set_number, PERCORE },
	{ "aux-output", NULL, set_number, AUX_OUTPUT },
	{ "aux-sample-size", NULL, set_number, AUX_SAMPLE_SIZE },
	{ "func", "kprobe", set_probe_text, 0 },
	{ "addr", "kprobe", set_config, 2 },
	{ "offset", "kprobe", set_config, 2 },
	{ "path", "uprobe", set_probe_text, 0 },
	{ "offset", "uprobe", set_config, 2 },
};

/* 1 if the term is in the table, 0 if not. */
static int apply_own_term(const struct term_context *ctx, const struct tally_term *term)
{
	for (size_t i = 0; i < sizeof(own_terms) / sizeof(*own_terms); i++) {
		if (strcmp(own_terms[i].key, term->key) ||
		    (own_terms[i].pmu && (!ctx->pmu || strcmp(own_terms[i].pmu, ctx->pmu->name))))
			continue;
		return own_terms[i].set(ctx, term, own_terms[i].arg) ?: 1;
	}
	return 0;
}

/* The value that the event's own terms give for a term that its alias leaves open with "?". */
static const struct tally_term *given_term(const struct term_context *ctx,
					   const struct tally_term *term)
{
	if (!term->value || strcmp(term->value, "?"))
		return term;
	for (int i = 0; ctx->given && i < ctx->given->n; i++) {
		if (!strcmp(ctx->given->term[i].key, term->key))
			return &ctx->given->term[i];
	}
	return NULL;
}

/* 1 if the PMU has a term of that name, 0 if not. */
static int apply_pmu_term(const struct term_context *ctx, const struct tally_term *term)
{
	const struct tally_term *given = given_term(ctx, term);
	struct tally_pmu_field field;
	uint64_t value;
	int ret;

	if (!ctx->pmu || tally_pmu_field(ctx->pmu, term->key, &field))
		return 0;
	if (!given)
		return tally_fail(ctx->err, EINVAL, "%s: needs %s=value", ctx->pmu->name,
				  term->key);
	ret = term_number(ctx, given, &value);
	if (ret)
		return ret;
	if (tally_field_put(&field, &ctx->event->attr, value))
		return tally_fail(ctx->err, ERANGE, "%s=%s: the field of %s has %d bits", term->key,
				  given->value, ctx->pmu->name, __builtin_popcountll(field.mask));
	return 1;
}

/* rNNN and the generic events as a term of a core's PMU; 1 if the term is one of these. */
static int apply_generic_term(const struct term_context *ctx, const struct tally_term *term)
{
	struct perf_event_attr generic = { 0 };
	const char *hex = term->key + 1;
	char *end;

	if (!ctx->pmu || term->value)
		return 0;
	if (*term->key == 'r' && *hex) {
		uint64_t config = strtoull(hex, &end, 16);

		if (!*end) {
			ctx->event->attr.config = config;
			return 1;
		}
	}
	if (!ctx->pmu->core)
		return 0;
	if (tally_generic_event(term->key, &generic) && tally_cache_event(term->key, &generic))
		return 0;
	if (generic.type == PERF_TYPE_SOFTWARE)
		return 0;
	ctx->event->attr.type = generic.type;
	ctx->event->attr.config = generic.config | (uint64_t)ctx->pmu->type << PERF_PMU_TYPE_SHIFT;
	return 1;
}

static int unknown_term(const struct term_context *ctx, const struct tally_term *term)
{
	char terms[80] = "", events[80] = "";

	if (!ctx->pmu)
		return tally_fail(ctx->err, ENOENT, "%s: no such term", term->key);
	tally_pmu_list(ctx->pmu, "format", terms, sizeof(terms));
	tally_pmu_list(ctx->pmu, "events", events, sizeof(events));
	return tally_fail(ctx->err, ENOENT, "%s: neither a term of %s (%s) nor an event of it (%s)",
			  term->key, ctx->pmu->name, terms, events);
}

static int apply_list(const struct term_context *ctx, const struct term_list *list)
{
	for (int i = 0; i < list->n; i++) {
		const struct tally_term *term = &list->term[i];
		int ret = apply_pmu_term(ctx, term);

		if (!ret)
			ret = apply_own_term(ctx, term);
		if (!ret)
			ret = apply_generic_term(ctx, term) ?: unknown_term(ctx, term);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Unit and scale of an alias: files beside it. */
static int apply_alias_unit(struct tally_counter *event, const struct tally_pmu *pmu,
			    const char *name)
{
	char file[160], text[64];

	snprintf(file, sizeof(file), "%s.scale", name);
	if (tally_pmu_file(pmu, "events", file, text, sizeof(text)) > 0)
		event->scale = strtod(text, NULL);
	snprintf(file, sizeof(file), "%s.unit", name);
	if (tally_pmu_file(pmu, "events", file, text, sizeof(text)) > 0) {
		free(event->unit);
		event->unit = strdup(text);
		if (!event->unit)
			return -ENOMEM;
	}
	return 0;
}

static int apply_alias_with(const struct term_context *ctx, const char *name)
{
	struct term_list list;
	char text[1024];
	int ret = tally_pmu_file(ctx->pmu, "events", name, text, sizeof(text));

	if (ret < 0 || strchr(name, '.'))
		return -ENOENT;
	ret = split_terms(&list, text, ctx->err);
	if (!ret)
		ret = apply_list(ctx, &list);
	free(list.copy);
	return ret ?: apply_alias_unit(ctx->event, ctx->pmu, name);
}

/**
 * tally_alias_apply() - make an event what a file in its PMU's events directory describes
 * @event: event
 * @pmu: PMU
 * @name: name of the file
 * @err: gets the reason, but for -ENOENT
 *
 * Return: 0, -ENOENT without such a file, or another negative errno.
 */
int tally_alias_apply(struct tally_counter *event, const struct tally_pmu *pmu, const char *name,
		      struct tally_error *err)
{
	struct term_context ctx = { event, pmu, NULL, err };

	return apply_alias_with(&ctx, name);
}

/**
 * tally_terms_apply() - make an event what a list of terms describes
 * @event: event
 * @pmu: its PMU, or NULL for a name without one, which has no terms of sysfs
 * @text: terms, separated by commas; a value with a comma stands in quotes
 * @err: gets the reason
 *
 * An alias is applied before the other terms, so that these may change what it sets.
 *
 * Return: 0, or a negative errno.
 */
int tally_terms_apply(struct tally_counter *event, const struct tally_pmu *pmu, const char *text,
		      struct tally_error *err)
{
	struct term_context ctx = { event, pmu, NULL, err };
	struct term_list list, rest;
	int ret = split_terms(&list, text, err);

	rest.n = 0;
	rest.copy = NULL;
	ctx.given = &list;
	for (int i = 0; !ret && i < list.n; i++) {
		struct tally_pmu_field field;
		int alias = -ENOENT;

		if (pmu && !list.term[i].value && tally_pmu_field(pmu, list.term[i].key, &field))
			alias = apply_alias_with(&ctx, list.term[i].key);
		if (alias == -ENOENT)
			rest.term[rest.n++] = list.term[i];
		else
			ret = alias;
	}
	if (!ret)
		ret = apply_list(&ctx, &rest);
	free(list.copy);
	return ret;
}
