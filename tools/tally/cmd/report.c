// SPDX-License-Identifier: GPL-2.0
/* tally report: where the samples of a perf.data are, as a table for each event. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "tree.h"

#define OPTION_LIMIT		OPTION_OWN
#define OPTION_HEADER		(OPTION_OWN + 1)
#define OPTION_HEADER_ONLY	(OPTION_OWN + 2)
#define OPTION_CHILDREN		(OPTION_OWN + 3)

/* Lines of callers below an entry. */
#define REPORT_CALLERS		24

/* Columns that entries can be distinguished by. */
enum report_key {
	REPORT_COMM,
	REPORT_PID,
	REPORT_DSO,
	REPORT_SYMBOL,
	REPORT_CPU,
	REPORT_KEYS,
};

static const char * const key_names[REPORT_KEYS] = { "comm", "pid", "dso", "symbol", "cpu" };
static const char * const key_titles[REPORT_KEYS] = {
	"Command", "Pid", "Shared Object", "Symbol", "CPU",
};

/**
 * struct report_entry - a line of the table
 * @event: number of the event
 * @pid: process, 0 if it is not a column
 * @cpu: CPU, 0 if it is not a column
 * @comm: name of the thread
 * @dso: file
 * @symbol: function; NULL: not known, then @address distinguishes entries
 * @address: address of a function that is not known
 * @mode: what the address is of, 0 if symbols are not a column
 * @self: weight of the samples in it
 * @total: weight of the samples in it and in what it calls
 * @samples: number of samples in it
 * @last: number of the last sample that was added to @total
 * @callers: node of the tree of callers
 */
struct report_entry {
	u32 event;
	u32 pid;
	u32 cpu;
	const char *comm;
	struct tally_dso *dso;
	const char *symbol;
	u64 address;
	enum tally_mode mode;
	u64 self;
	u64 total;
	u64 samples;
	u64 last;
	u32 callers;
};

/**
 * struct report_sums - of an event
 * @samples: number of samples
 * @weight: their weight
 */
struct report_sums {
	u64 samples;
	u64 weight;
};

/**
 * struct report - the table that is made
 * @session: session
 * @keys: columns, in their order
 * @nr_keys: number of them
 * @children: a line for each function in a chain, not only for the innermost
 * @graph: callers below each line
 * @limit: lines with less than so many percent are left out
 * @entries: lines
 * @nr: number of them
 * @room: number allocated
 * @slots: hash table of numbers of entries plus one, 0 where free
 * @nr_slots: entries of @slots, a power of two
 * @sums: by event
 * @nr_sums: number of events with a sum
 * @sample: number of the sample
 * @lost: records that were lost
 * @callers: tree of callers; the children of the root are the entries
 * @frames: room for the frames of a sample
 */
struct report {
	struct tally_session *session;
	enum report_key keys[REPORT_KEYS];
	unsigned int nr_keys;
	bool children;
	bool graph;
	double limit;
	struct report_entry *entries;
	u32 nr;
	u32 room;
	u32 *slots;
	u32 nr_slots;
	struct report_sums *sums;
	u32 nr_sums;
	u64 sample;
	u64 lost;
	struct tally_tree callers;
	struct tally_frame frames[TALLY_MAX_FRAMES];
};

static int report_usage(FILE *out, int status)
{
	fprintf(out, "usage: tally report [OPTION]... [FILE]\n\n"
		"Prints where the samples of a perf.data file are, a table for each event.\n\n"
		SESSION_HELP
		"  -s, --sort KEY,...   columns: comm, pid, dso, symbol, cpu (comm,dso,symbol)\n"
		"  -g, --graph          print the callers of each function\n"
		"      --children       count a sample for all functions of its call chain\n"
		"      --limit PERCENT  leave out lines below PERCENT (0)\n"
		"      --header         print the feature sections, too\n"
		"      --header-only    print these alone\n");
	return status;
}

static bool report_has(const struct report *report, enum report_key key)
{
	for (unsigned int i = 0; i < report->nr_keys; i++)
		if (report->keys[i] == key)
			return true;
	return false;
}

static int report_parse_keys(struct report *report, char *list)
{
	char *save, *word;

	report->nr_keys = 0;
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		unsigned int key = 0;

		if (!strcmp(word, "sym"))
			word = "symbol";
		while (key < REPORT_KEYS && strcmp(word, key_names[key]))
			key++;
		if (key == REPORT_KEYS || report_has(report, key)) {
			fprintf(stderr, "tally report: %s: not a column\n", word);
			return -EINVAL;
		}
		report->keys[report->nr_keys++] = key;
	}
	return 0;
}

static u64 report_hash(const struct report_entry *key)
{
	u64 hash = (uintptr_t)key->comm;

	hash = (hash ^ (uintptr_t)key->dso) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ (uintptr_t)key->symbol ^ key->address) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ key->event ^ (u64)key->pid << 32 ^ (u64)key->cpu << 16) *
	       0x9e3779b97f4a7c15ULL;
	return hash >> 32;
}

static bool report_equal(const struct report_entry *a, const struct report_entry *b)
{
	return a->event == b->event && a->pid == b->pid && a->cpu == b->cpu && a->comm == b->comm &&
	       a->dso == b->dso && a->symbol == b->symbol && a->address == b->address &&
	       a->mode == b->mode;
}

static u32 *report_slot(const struct report *report, const struct report_entry *key)
{
	u32 at = report_hash(key) & (report->nr_slots - 1);

	while (report->slots[at] && !report_equal(&report->entries[report->slots[at] - 1], key))
		at = (at + 1) & (report->nr_slots - 1);
	return &report->slots[at];
}

static int report_grow(struct report *report)
{
	u32 room = report->room ? report->room * 2 : 1024;
	struct report_entry *entries = realloc(report->entries, room * sizeof(*entries));
	u32 *slots = calloc(room * 4, sizeof(*slots));

	if (entries)
		report->entries = entries;
	if (!entries || !slots) {
		free(slots);
		return -ENOMEM;
	}
	free(report->slots);
	report->slots = slots;
	report->nr_slots = room * 4;
	report->room = room;
	for (u32 i = 0; i < report->nr; i++)
		*report_slot(report, &entries[i]) = i + 1;
	return 0;
}

static struct report_entry *report_entry(struct report *report, const struct report_entry *key)
{
	u32 *slot;

	if (report->nr == report->room && report_grow(report))
		return NULL;
	slot = report_slot(report, key);
	if (*slot)
		return &report->entries[*slot - 1];
	report->entries[report->nr] = *key;
	*slot = ++report->nr;
	return &report->entries[*slot - 1];
}

static void report_key(const struct report *report, const struct tally_record *record,
		       const struct tally_sample *sample, const struct tally_frame *frame,
		       struct report_entry *key)
{
	*key = (struct report_entry){
		.event = record->event->index, .symbol = "", .last = ~0ULL,
	};
	if (report_has(report, REPORT_COMM))
		key->comm = tally_space_comm(tally_session_space(report->session), sample->pid,
					     sample->tid);
	if (report_has(report, REPORT_PID))
		key->pid = sample->pid;
	if (report_has(report, REPORT_CPU))
		key->cpu = sample->cpu;
	if (report_has(report, REPORT_DSO))
		key->dso = frame->dso;
	if (!report_has(report, REPORT_SYMBOL))
		return;
	key->mode = frame->mode;
	key->symbol = frame->symbol;
	if (!frame->symbol)
		key->address = frame->at;
}

static struct report_sums *report_event(struct report *report, u32 event)
{
	struct report_sums *sums = report->sums;

	if (event < report->nr_sums)
		return &sums[event];
	sums = realloc(sums, (event + 1) * sizeof(*sums));
	if (!sums)
		return NULL;
	memset(sums + report->nr_sums, 0, (event + 1 - report->nr_sums) * sizeof(*sums));
	report->sums = sums;
	report->nr_sums = event + 1;
	return &sums[event];
}

static void report_callers(struct report *report, struct report_entry *entry, unsigned int nr,
			   u64 weight)
{
	u32 node;

	if (!entry->callers)
		entry->callers = tally_tree_child(&report->callers, TALLY_ROOT,
						  (void *)(uintptr_t)(entry - report->entries + 1),
						  "");
	node = entry->callers;
	for (unsigned int i = 1; i < nr; i++)
		node = tally_tree_frame(&report->callers, node, &report->frames[i]);
	tally_tree_weigh(&report->callers, node, weight);
}

static void report_sample(struct report *report, const struct tally_record *record,
			  const struct tally_sample *sample)
{
	bool chain = report->children || report->graph;
	struct report_sums *sums = report_event(report, record->event->index);
	struct report_entry key, *entry;
	unsigned int nr = 1;

	if (chain)
		nr = tally_session_chain(report->session, record, sample, report->frames);
	else
		tally_session_resolve(report->session, sample->pid, sample->ip,
				      tally_mode_of(record->header->misc), false, report->frames);
	if (!sums || !nr)
		return;
	sums->samples++;
	sums->weight += sample->period;
	report->sample++;
	for (unsigned int i = 0; i < (report->children ? nr : 1); i++) {
		report_key(report, record, sample, &report->frames[i], &key);
		entry = report_entry(report, &key);
		if (!entry)
			return;
		if (!i) {
			entry->self += sample->period;
			entry->samples++;
			if (report->graph)
				report_callers(report, entry, nr, sample->period);
		}
		if (entry->last != report->sample)
			entry->total += sample->period;
		entry->last = report->sample;
	}
}

static const char *report_cell(const struct report_entry *entry, enum report_key key, char *text,
			       size_t size)
{
	switch (key) {
	case REPORT_COMM:
		return entry->comm;
	case REPORT_PID:
		snprintf(text, size, "%d", entry->pid);
		return text;
	case REPORT_CPU:
		snprintf(text, size, "%03d", entry->cpu);
		return text;
	case REPORT_DSO:
		return entry->dso ? entry->dso->short_name : "[unknown]";
	default:
		if (entry->symbol)
			snprintf(text, size, "[%c] %s", tally_mode_letter(entry->mode),
				 entry->symbol);
		else
			snprintf(text, size, "[%c] 0x%016llx", tally_mode_letter(entry->mode),
				 entry->address);
		return text;
	}
}

static int report_compare(const void *left, const void *right, void *context)
{
	const struct report_entry *a = left, *b = right;
	const struct report *report = context;
	char a_text[512], b_text[512];

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	for (unsigned int i = 0; i < report->nr_keys; i++) {
		int order = strcmp(report_cell(a, report->keys[i], a_text, sizeof(a_text)),
				   report_cell(b, report->keys[i], b_text, sizeof(b_text)));

		if (order)
			return order;
	}
	return 0;
}

static void report_widths(const struct report *report, unsigned int *widths)
{
	char text[512];

	for (unsigned int i = 0; i < report->nr_keys; i++)
		widths[i] = strlen(key_titles[report->keys[i]]);
	for (u32 i = 0; i < report->nr; i++) {
		for (unsigned int column = 0; column + 1 < report->nr_keys; column++) {
			unsigned int width = strlen(report_cell(&report->entries[i],
								report->keys[column], text,
								sizeof(text)));

			if (width > widths[column])
				widths[column] = width;
		}
	}
}

/* Callers, the heaviest first; a chain without branches is not indented further. */
static void report_print_callers(const struct report *report, u32 parent, u64 whole,
				 unsigned int depth, unsigned int *lines)
{
	const struct tally_node *nodes = report->callers.nodes;

	for (u32 i = nodes[parent].child; i; i = nodes[i].sibling) {
		bool only = nodes[i].total == nodes[parent].total;

		if (!*lines || nodes[i].total * 20 < whole)
			return;
		--*lines;
		if (only)
			printf("%*s        %s%s\n", 12 + 2 * depth, "", nodes[i].name,
			       nodes[i].inlined ? " (inlined)" : "");
		else
			printf("%*s%6.2f%% %s%s\n", 12 + 2 * depth, "",
			       100.0 * nodes[i].total / whole, nodes[i].name,
			       nodes[i].inlined ? " (inlined)" : "");
		report_print_callers(report, i, whole, depth + !only, lines);
	}
}

static void report_print_entry(const struct report *report, const struct report_entry *entry,
			       const unsigned int *widths)
{
	double whole = report->sums[entry->event].weight ?: 1;
	unsigned int lines = REPORT_CALLERS;
	char text[512];

	if (100.0 * entry->total / whole < report->limit)
		return;
	printf("   %6.2f%%", 100.0 * entry->total / whole);
	if (report->children)
		printf("   %6.2f%%", 100.0 * entry->self / whole);
	for (unsigned int i = 0; i + 1 < report->nr_keys; i++)
		printf("  %-*s", widths[i],
		       report_cell(entry, report->keys[i], text, sizeof(text)));
	if (report->nr_keys)
		printf("  %s", report_cell(entry, report->keys[report->nr_keys - 1], text,
					   sizeof(text)));
	putchar('\n');
	if (report->graph && entry->callers) {
		report_print_callers(report, entry->callers, entry->self ?: 1, 0, &lines);
		putchar('\n');
	}
}

static void report_print_title(const struct report *report, u32 event, const unsigned int *widths)
{
	const struct tally_info *info = tally_session_info(report->session);

	printf("# Samples: %llu of event '%s'\n# Event count (approx.): %llu\n#\n# %s",
	       report->sums[event].samples, info->events[event]->name, report->sums[event].weight,
	       report->children ? "Children      Self" : "Overhead");
	for (unsigned int i = 0; i + 1 < report->nr_keys; i++)
		printf("  %-*s", widths[i], key_titles[report->keys[i]]);
	printf("  %s\n#\n", report->nr_keys ? key_titles[report->keys[report->nr_keys - 1]] : "");
}

static void report_print(struct report *report)
{
	unsigned int widths[REPORT_KEYS];
	u32 next = 0;

	if (report->nr)
		qsort_r(report->entries, report->nr, sizeof(*report->entries), report_compare,
			report);
	tally_tree_order(&report->callers, false);
	report_widths(report, widths);
	printf("# Total Lost Samples: %llu\n#\n", report->lost);
	for (u32 event = 0; event < report->nr_sums; event++) {
		if (!report->sums[event].samples)
			continue;
		report_print_title(report, event, widths);
		for (; next < report->nr && report->entries[next].event == event; next++)
			report_print_entry(report, &report->entries[next], widths);
		putchar('\n');
	}
}

static void report_header(const struct report *report)
{
	const struct tally_info *info = tally_session_info(report->session);

	printf("# ========\n");
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		tally_feature_print(stdout, &info->features, i);
	printf("# ========\n#\n");
}

/* The reasons for missing symbols, one for each file that samples fell in. */
static void report_problems(const struct report *report)
{
	for (u32 i = 0; i < report->nr; i++) {
		struct tally_dso *dso = report->entries[i].dso;

		if (!dso || !dso->problem || !report->entries[i].address)
			continue;
		fprintf(stderr, "tally report: %s: %s\n", dso->name, dso->problem);
		dso->problem = NULL;
	}
}

static void report_count_lost(struct report *report, const struct perf_event_header *header)
{
	const u64 *words = (const u64 *)(header + 1);

	if (header->type == PERF_RECORD_LOST && header->size >= 24)
		report->lost += words[1];
	else if (header->type == PERF_RECORD_LOST_SAMPLES && header->size >= 16)
		report->lost += words[0];
}

static int report_run(struct report *report, bool header, bool header_only)
{
	struct tally_record record;
	struct tally_sample sample;
	struct tally_error err;
	int ret = 0;

	if (header && !tally_session_info(report->session)->pipe)
		report_header(report);
	while (!header_only || tally_session_info(report->session)->pipe) {
		ret = tally_session_next(report->session, &record, &sample, &err);
		if (ret <= 0)
			break;
		if (record.header->type == PERF_RECORD_SAMPLE)
			report_sample(report, &record, &sample);
		else
			report_count_lost(report, record.header);
	}
	if (header && tally_session_info(report->session)->pipe)
		report_header(report);
	if (!header_only) {
		report_print(report);
		report_problems(report);
	}
	return session_end("report", report->session, ret, &err);
}

int cmd_report(int argc, char **argv)
{
	static const struct option long_options[] = {
		SESSION_OPTIONS,
		{ "sort", required_argument, NULL, 's' },
		{ "graph", no_argument, NULL, 'g' },
		{ "children", no_argument, NULL, OPTION_CHILDREN },
		{ "limit", required_argument, NULL, OPTION_LIMIT },
		{ "header", no_argument, NULL, OPTION_HEADER },
		{ "header-only", no_argument, NULL, OPTION_HEADER_ONLY },
		{}
	};
	static struct report report = {
		.keys = { REPORT_COMM, REPORT_DSO, REPORT_SYMBOL }, .nr_keys = 3,
	};
	struct tally_session_options options = {};
	bool header = false, header_only = false;
	int option, status;

	while ((option = getopt_long(argc, argv, "i:s:gh", long_options, NULL)) != -1) {
		if (option == 'h')
			return report_usage(stdout, 0);
		if (option == 's' && report_parse_keys(&report, optarg))
			return 2;
		else if (option == 'g')
			report.graph = true;
		else if (option == OPTION_CHILDREN)
			report.children = true;
		else if (option == OPTION_LIMIT)
			report.limit = strtod(optarg, NULL);
		else if (option == OPTION_HEADER || option == OPTION_HEADER_ONLY)
			header = true;
		else if (option != 's' && !session_option(&options, option))
			return report_usage(stderr, 2);
		header_only |= option == OPTION_HEADER_ONLY;
	}
	if (tally_tree_init(&report.callers) ||
	    session_start("report", &report.session, &options, argc, argv))
		return 1;
	status = report_run(&report, header, header_only);
	tally_tree_free(&report.callers);
	free(report.entries);
	free(report.slots);
	free(report.sums);
	return status;
}
