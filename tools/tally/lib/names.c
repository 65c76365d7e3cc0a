// SPDX-License-Identifier: GPL-2.0
/*
 * Names of events:
 *
 *	list:	item, item, ...
 *	item:	event, or [NAME:]{ list }[:modifiers]
 *	event:	WORD[:modifiers]		generic event, cache event, alias of a PMU
 *		WORD/terms/[modifiers]		a generic event with terms of its own
 *		rHEX[:modifiers]		raw event of the CPU's PMU
 *		PMU/terms/[modifiers]
 *		SYSTEM:NAME[:modifiers]		tracepoint, both with globs
 *		kprobe:FUNCTION[+OFFSET], kretprobe:..., uprobe:PATH:OFFSET, uretprobe:...
 *		mem:ADDRESS[/LENGTH][:rwx][:modifiers]
 *
 * An item may stand for several events; modifiers hold for all of these.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

/* Longest text of one event without its modifiers. */
#define MAX_WORD	1024

/**
 * struct name_parser - state of tally_parse_events()
 * @text: the whole text
 * @at: first character that is not read yet
 * @events: list to append to
 * @err: gets the reason
 * @group: number of the group that is open, or -1
 * @group_first: index of its first event
 */
struct name_parser {
	const char *text;
	const char *at;
	struct tally_events *events;
	struct tally_error *err;
	int group;
	int group_first;
};

static void free_event(struct tally_counter *event)
{
	free(event->name);
	free(event->pmu);
	free(event->cpus);
	free(event->unit);
	free(event->text);
}

void tally_free_events(struct tally_events *events)
{
	for (int i = 0; i < events->n; i++)
		free_event(&events->event[i]);
	free(events->event);
	memset(events, 0, sizeof(*events));
}

/* An event at the end of the list, counting everything; NULL without memory. */
static struct tally_counter *append_event(struct name_parser *parser, const char *name)
{
	struct tally_events *events = parser->events;
	struct tally_counter *event = realloc(events->event, (events->n + 1) * sizeof(*event));

	if (!event)
		return NULL;
	events->event = event;
	event += events->n;
	memset(event, 0, sizeof(*event));
	event->attr.size = sizeof(event->attr);
	event->scale = 1.0;
	event->group = parser->group;
	event->leader = parser->group >= 0 && events->n == parser->group_first;
	event->name = strdup(name);
	if (!event->name)
		return NULL;
	events->n++;
	return event;
}

static int bad_text(struct name_parser *parser, const char *at, const char *why)
{
	return tally_fail(parser->err, EINVAL, "column %d of '%s': %s",
			  (int)(at - parser->text) + 1, parser->text, why);
}

static struct tally_counter *append_pmu_event(struct name_parser *parser, const char *name,
					      const struct tally_pmu *pmu)
{
	struct tally_counter *event = append_event(parser, name);

	if (!event)
		return NULL;
	event->attr.type = pmu->type;
	event->pmu = strdup(pmu->name);
	if (*pmu->cpus)
		event->cpus = strdup(pmu->cpus);
	return event->pmu && !*pmu->cpus == !event->cpus ? event : NULL;
}

static void mark_unit(struct tally_counter *event)
{
	if (event->attr.type != PERF_TYPE_SOFTWARE ||
	    event->attr.config > PERF_COUNT_SW_TASK_CLOCK)
		return;
	event->unit = strdup("msec");
	event->scale = 0.000001;
}

/* A generic hardware event once for each kind of core, if there are several. */
static int add_per_core(struct name_parser *parser, const char *name,
			const struct perf_event_attr *attr)
{
	struct tally_pmu *pmus = NULL;
	int n = attr->type == PERF_TYPE_SOFTWARE ? 0 : tally_pmu_cores(&pmus);
	struct tally_counter *event;
	int ret = 0;

	if (n <= 1) {
		event = append_event(parser, name);
		if (event) {
			event->attr.type = attr->type;
			event->attr.config = attr->config;
			mark_unit(event);
		}
		ret = event ? 0 : -ENOMEM;
	}
	for (int i = 0; n > 1 && i < n && !ret; i++) {
		char full[256];

		snprintf(full, sizeof(full), "%s/%s/", pmus[i].name, name);
		event = append_pmu_event(parser, full, &pmus[i]);
		if (!event) {
			ret = -ENOMEM;
			break;
		}
		event->attr.type = attr->type == PERF_TYPE_RAW ? pmus[i].type : attr->type;
		event->attr.config = attr->config;
		if (attr->type != PERF_TYPE_RAW)
			event->attr.config |= (uint64_t)pmus[i].type << PERF_PMU_TYPE_SHIFT;
	}
	free(pmus);
	return ret;
}

static int add_generic(struct name_parser *parser, const char *word)
{
	struct perf_event_attr attr = { 0 };

	if (tally_generic_event(word, &attr) && tally_cache_event(word, &attr))
		return -ENOENT;
	return add_per_core(parser, word, &attr);
}

static int add_raw(struct name_parser *parser, const char *word)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW };
	char *end;

	if (*word != 'r' || !isxdigit((unsigned char)word[1]))
		return -ENOENT;
	attr.config = strtoull(word + 1, &end, 16);
	return *end ? -ENOENT : add_per_core(parser, word, &attr);
}

/* The alias @word in each PMU of @pmus that has it. */
static int add_alias_of(struct name_parser *parser, const char *word, const struct tally_pmu *pmus,
			int n)
{
	struct tally_counter *event;
	int ret = -ENOENT;

	for (int i = 0; i < n; i++) {
		char text[1024];
		int one;

		if (strchr(word, '.') ||
		    tally_pmu_file(&pmus[i], "events", word, text, sizeof(text)) < 0)
			continue;
		event = append_pmu_event(parser, word, &pmus[i]);
		if (!event)
			return -ENOMEM;
		one = tally_alias_apply(event, &pmus[i], word, parser->err);
		if (one)
			return one;
		ret = 0;
	}
	return ret;
}

static int add_alias(struct name_parser *parser, const char *word)
{
	struct tally_pmu *pmus;
	int n = tally_pmu_match("*", &pmus);
	int ret = add_alias_of(parser, word, pmus, n);

	free(pmus);
	return ret;
}

static int add_with_terms(struct name_parser *parser, const char *word, const char *terms)
{
	struct tally_pmu *pmus;
	int n = tally_pmu_match(word, &pmus), ret = 0, first = parser->events->n;
	char full[MAX_WORD * 2 + 130];

	for (int i = 0; i < n && !ret; i++) {
		struct tally_counter *event;

		snprintf(full, sizeof(full), "%s/%s/", pmus[i].name, terms);
		event = append_pmu_event(parser, full, &pmus[i]);
		ret = event ? tally_terms_apply(event, &pmus[i], terms, parser->err) : -ENOMEM;
	}
	free(pmus);
	if (n > 0 || ret)
		return ret;
	ret = add_generic(parser, word);
	if (ret == -ENOENT)
		return tally_fail(parser->err, ENOENT,
				  "%s/%s/: no PMU %s, see /sys/bus/event_source/devices", word,
				  terms, word);
	snprintf(full, sizeof(full), "%s/%s/", word, terms);
	for (int i = first; !ret && i < parser->events->n; i++) {
		struct tally_counter *event = &parser->events->event[i];

		if (!event->pmu) {
			free(event->name);
			event->name = strdup(full);
		}
		ret = event->name ? tally_terms_apply(event, NULL, terms, parser->err) : -ENOMEM;
	}
	return ret;
}

static const struct {
	const char *prefix;
	const char *pmu;
	bool is_return;
} probe_kinds[] = {
	{ "kprobe:", "kprobe", false },
	{ "kretprobe:", "kprobe", true },
	{ "uprobe:", "uprobe", false },
	{ "uretprobe:", "uprobe", true },
};

static int set_probe(struct name_parser *parser, struct tally_counter *event,
		     const struct tally_pmu *pmu, bool is_return, const char *place)
{
	bool user = !strcmp(pmu->name, "uprobe");
	const char *mark = user ? strrchr(place, ':') : strrchr(place, '+');
	struct tally_pmu_field field;
	char *end;

	if (user && !mark)
		return tally_fail(parser->err, EINVAL, "%s: uprobe:PATH:OFFSET", event->name);
	event->text = mark ? strndup(place, mark - place) : strdup(place);
	if (!event->text)
		return -ENOMEM;
	event->attr.config1 = (uintptr_t)event->text;
	if (mark) {
		event->attr.config2 = strtoull(mark + 1, &end, 0);
		if (*end || end == mark + 1)
			return tally_fail(parser->err, EINVAL, "%s: '%s' is no offset in bytes",
					  event->name, mark + 1);
	}
	if (!is_return)
		return 0;
	if (tally_pmu_field(pmu, "retprobe", &field))
		return tally_fail(parser->err, ENOENT, "%s: this kernel has no return probes",
				  event->name);
	return tally_field_put(&field, &event->attr, 1);
}

static int add_probe(struct name_parser *parser, const char *word)
{
	struct tally_counter *event;
	struct tally_pmu pmu;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probe_kinds); i++) {
		if (!strncmp(word, probe_kinds[i].prefix, strlen(probe_kinds[i].prefix)))
			break;
	}
	if (i == ARRAY_SIZE(probe_kinds))
		return -ENOENT;
	if (tally_pmu_find(probe_kinds[i].pmu, &pmu))
		return tally_fail(parser->err, ENOENT, "%s: this kernel has no PMU %s", word,
				  probe_kinds[i].pmu);
	event = append_pmu_event(parser, word, &pmu);
	if (!event)
		return -ENOMEM;
	return set_probe(parser, event, &pmu, probe_kinds[i].is_return,
			 word + strlen(probe_kinds[i].prefix));
}

static int append_tracepoint(void *arg, const char *full, uint64_t id)
{
	struct tally_counter *event = append_event(arg, full);

	if (!event)
		return -ENOMEM;
	event->attr.type = PERF_TYPE_TRACEPOINT;
	event->attr.config = id;
	return 0;
}

static int add_tracepoints_of(struct name_parser *parser, char *word)
{
	char *name = strchr(word, ':');
	int ret;

	if (!name)
		return -ENOENT;
	*name++ = 0;
	ret = tally_tracepoint_ids(word, name, append_tracepoint, parser, parser->err);
	return ret < 0 ? ret : 0;
}

/* mem:ADDRESS[/LENGTH]; "rwx" may follow, and is not part of @word. */
static int add_breakpoint(struct name_parser *parser, const char *word, const char *access)
{
	uint64_t address, length = 0;
	struct tally_counter *event;
	char full[MAX_WORD + 8], *end;
	uint32_t type = 0;

	address = strtoull(word + 4, &end, 0);
	if (end == word + 4)
		return bad_text(parser, parser->at, "mem: needs an address");
	if (*end == '/')
		length = strtoull(end + 1, &end, 0);
	if (*end)
		return bad_text(parser, parser->at, "mem:ADDRESS[/LENGTH][:rwx]");
	for (const char *c = access; *c; c++)
		type |= *c == 'r' ? HW_BREAKPOINT_R : *c == 'w' ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
	snprintf(full, sizeof(full), "%s%s%s", word, *access ? ":" : "", access);
	event = append_event(parser, full);
	if (!event)
		return -ENOMEM;
	event->attr.type = PERF_TYPE_BREAKPOINT;
	event->attr.bp_addr = address;
	event->attr.bp_type = type ? type : HW_BREAKPOINT_RW;
	if (!length)
		length = type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	event->attr.bp_len = length;
	return 0;
}

/* What the letters of a modifier request, before it is applied. */
struct modifiers {
	bool user, kernel, hv, guest, host, idle;
	bool pinned, exclusive, weak, sample_read, precise_max;
	int precise;
};

static const struct {
	char letter;
	size_t flag;
} modifier_letters[] = {
	{ 'u', offsetof(struct modifiers, user) },
	{ 'k', offsetof(struct modifiers, kernel) },
	{ 'h', offsetof(struct modifiers, hv) },
	{ 'G', offsetof(struct modifiers, guest) },
	{ 'H', offsetof(struct modifiers, host) },
	{ 'I', offsetof(struct modifiers, idle) },
	{ 'P', offsetof(struct modifiers, precise_max) },
	{ 'S', offsetof(struct modifiers, sample_read) },
	{ 'D', offsetof(struct modifiers, pinned) },
	{ 'e', offsetof(struct modifiers, exclusive) },
	{ 'W', offsetof(struct modifiers, weak) },
};

/* True if all @length letters are modifiers; @mods gets these. */
static bool parse_modifiers(const char *letters, size_t length, struct modifiers *mods)
{
	memset(mods, 0, sizeof(*mods));
	for (; length; length--, letters++) {
		size_t i;

		if (*letters == 'p') {
			mods->precise++;
			continue;
		}
		for (i = 0; i < ARRAY_SIZE(modifier_letters); i++) {
			if (modifier_letters[i].letter == *letters)
				break;
		}
		if (i == ARRAY_SIZE(modifier_letters))
			return false;
		*((bool *)mods + modifier_letters[i].flag) = true;
	}
	return mods->precise <= 3;
}

static void apply_levels(struct tally_counter *event, const struct modifiers *mods)
{
	struct perf_event_attr *attr = &event->attr;

	if (mods->user || mods->kernel || mods->hv) {
		attr->exclude_user = !mods->user;
		attr->exclude_kernel = !mods->kernel;
		attr->exclude_hv = !mods->hv;
		event->set |= TALLY_SET_LEVEL;
	}
	if (mods->guest || mods->host) {
		attr->exclude_guest = !mods->guest;
		attr->exclude_host = !mods->host;
		event->set |= TALLY_SET_GUEST;
	}
}

static int apply_modifiers(struct name_parser *parser, struct tally_counter *event,
			   const struct modifiers *mods, const char *letters, size_t length)
{
	struct perf_event_attr *attr = &event->attr;
	size_t room = strlen(event->name) + length + 2;
	bool slash = event->name[strlen(event->name) - 1] == '/';
	char *name;

	apply_levels(event, mods);
	attr->exclude_idle |= mods->idle;
	attr->exclusive |= mods->exclusive;
	event->weak |= mods->weak;
	event->sample_read |= mods->sample_read;
	event->precise_max |= mods->precise_max;
	if (mods->precise)
		attr->precise_ip = mods->precise;
	/* Only a leader can be pinned: its group is scheduled with it. */
	if (event->leader || event->group < 0)
		attr->pinned |= mods->pinned;
	name = malloc(room);
	if (!name)
		return tally_fail(parser->err, ENOMEM, "out of memory");
	snprintf(name, room, "%s%s%.*s", event->name, slash ? "" : ":", (int)length, letters);
	free(event->name);
	event->name = name;
	return 0;
}

/* Modifiers of all events from @first on, if some follow; after a slash these need no colon. */
static int parse_suffix(struct name_parser *parser, int first, bool colon)
{
	struct modifiers mods;
	const char *letters = parser->at;
	size_t length;
	int ret = 0;

	if (*letters == ':')
		letters++;
	else if (colon)
		return 0;
	length = strcspn(letters, ",{}: \t\n");
	if (!length && letters == parser->at)
		return 0;
	if (!length || !parse_modifiers(letters, length, &mods))
		return bad_text(parser, letters,
				"modifiers are u k h I G H p (3 at most) P S D e W");
	for (int i = first; i < parser->events->n && !ret; i++)
		ret = apply_modifiers(parser, &parser->events->event[i], &mods, letters, length);
	parser->at = letters + length;
	return ret;
}

/* End of the text at @at that a closing slash ends; quotes hide slashes. */
static const char *end_of_terms(const char *at)
{
	char quote = 0;

	for (; *at && (quote || *at != '/'); at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? 0 : *at;
	}
	return at;
}

static int copy_word(struct name_parser *parser, char *word, const char *end)
{
	size_t length = end - parser->at;

	if (!length)
		return bad_text(parser, parser->at, "a name is missing");
	if (length >= MAX_WORD)
		return bad_text(parser, parser->at, "this name is too long");
	memcpy(word, parser->at, length);
	word[length] = 0;
	parser->at = end;
	return 0;
}

static int parse_mem(struct name_parser *parser, char *word)
{
	char access[4] = "";
	size_t length;
	int ret = copy_word(parser, word, parser->at + 4 + strcspn(parser->at + 4, ",{}: \t\n"));

	if (ret)
		return ret;
	if (*parser->at == ':') {
		length = strspn(parser->at + 1, "rwx");
		if (length && length < sizeof(access) &&
		    !isalnum((unsigned char)parser->at[1 + length])) {
			memcpy(access, parser->at + 1, length);
			parser->at += 1 + length;
		}
	}
	return add_breakpoint(parser, word, access);
}

static int parse_probe(struct name_parser *parser, char *word)
{
	int ret = copy_word(parser, word, parser->at + strcspn(parser->at, ",{} \t\n"));

	return ret ?: add_probe(parser, word);
}

static int parse_terms(struct name_parser *parser, char *word, const char *slash)
{
	const char *end = end_of_terms(slash + 1);
	char terms[MAX_WORD];
	int ret = copy_word(parser, word, slash);

	if (ret)
		return ret;
	if (!*end || end - slash > MAX_WORD)
		return bad_text(parser, slash, "no closing slash");
	memcpy(terms, slash + 1, end - slash - 1);
	terms[end - slash - 1] = 0;
	parser->at = end + 1;
	return add_with_terms(parser, word, terms);
}

/* A word of one part, or of two with a colon between them, which is a tracepoint. */
static int parse_word(struct name_parser *parser, char *word)
{
	const char *begin = parser->at;
	int ret = copy_word(parser, word, begin + strcspn(begin, ",{}: \t\n"));

	if (!ret)
		ret = add_generic(parser, word);
	if (ret == -ENOENT)
		ret = add_raw(parser, word);
	if (ret == -ENOENT)
		ret = add_alias(parser, word);
	if (ret != -ENOENT)
		return ret;
	if (*parser->at != ':')
		return tally_fail(parser->err, ENOENT, "%s: no such event; see 'perf list'", word);
	parser->at = begin;
	ret = copy_word(parser, word, begin + strcspn(begin, ":") + 1 +
			strcspn(strchr(begin, ':') + 1, ",{}: \t\n"));
	return ret ?: add_tracepoints_of(parser, word);
}

static bool starts_probe(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(probe_kinds); i++) {
		if (!strncmp(at, probe_kinds[i].prefix, strlen(probe_kinds[i].prefix)))
			return true;
	}
	return false;
}

static int parse_event(struct name_parser *parser)
{
	const char *stop = parser->at + strcspn(parser->at, "/,{}: \t\n");
	int first = parser->events->n, ret;
	char word[MAX_WORD];

	if (!strncmp(parser->at, "mem:", 4))
		ret = parse_mem(parser, word);
	else if (starts_probe(parser->at))
		ret = parse_probe(parser, word);
	else if (*stop == '/')
		ret = parse_terms(parser, word, stop);
	else
		ret = parse_word(parser, word);
	if (ret)
		return ret;
	return parse_suffix(parser, first, *stop != '/');
}

static void skip_space(struct name_parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

/* Where the brace of a group with or without a name opens, or NULL. */
static const char *group_brace(const char *at)
{
	const char *brace = at + strcspn(at, "{,/");

	if (*brace != '{')
		return NULL;
	return brace == at || brace[-1] == ':' ? brace : NULL;
}

static int parse_group(struct name_parser *parser, const char *brace)
{
	int first = parser->events->n, ret;

	parser->group = parser->events->groups;
	parser->group_first = first;
	parser->at = brace;
	do {
		parser->at++;
		skip_space(parser);
		if (group_brace(parser->at))
			return bad_text(parser, parser->at, "a group in a group");
		ret = parse_event(parser);
		if (ret)
			return ret;
		skip_space(parser);
	} while (*parser->at == ',');
	if (*parser->at != '}')
		return bad_text(parser, parser->at, "a comma or a closing brace is missing");
	parser->at++;
	parser->events->groups++;
	parser->group = -1;
	return parse_suffix(parser, first, true);
}

static int parse_items(struct name_parser *parser)
{
	for (;;) {
		const char *brace;
		int ret;

		skip_space(parser);
		brace = group_brace(parser->at);
		ret = brace ? parse_group(parser, brace) : parse_event(parser);
		if (ret)
			return ret;
		skip_space(parser);
		if (!*parser->at)
			return 0;
		if (*parser->at++ != ',')
			return bad_text(parser, parser->at - 1, "a comma is missing");
	}
}

int tally_parse_events(struct tally_events *events, const char *text, struct tally_error *err)
{
	struct name_parser parser = { text, text, events, err, -1, 0 };
	int before = events->n, groups = events->groups;
	int ret = parse_items(&parser);

	if (!ret)
		return events->n - before;
	if (ret == -ENOMEM)
		tally_fail(err, ENOMEM, "out of memory");
	while (events->n > before)
		free_event(&events->event[--events->n]);
	events->groups = groups;
	return ret;
}
