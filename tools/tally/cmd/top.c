// SPDX-License-Identifier: GPL-2.0
/* tally top: functions with the most samples, as they are taken. */
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "measure.h"
#include "record_setup.h"
#include "sample.h"
#include "space.h"
#include "dso.h"

#define TOP_DEFAULT	"cycles:P"
/* Bytes of records that wait for their turn at most. */
#define TOP_ORDER	(64 << 20)

/**
 * struct top_entry - a function
 * @event: index of the event
 * @mode: what the function is of
 * @dso: its file, NULL if it is not known
 * @symbol: its name, NULL if it is not known
 * @address: address, if it has no name
 * @weight: periods of its samples, less the older they are
 */
struct top_entry {
	int event;
	enum tally_mode mode;
	const struct tally_dso *dso;
	const char *symbol;
	uint64_t address;
	double weight;
};

/**
 * struct top_id - event of an id
 * @id: id of a file
 * @event: index of the event
 */
struct top_id {
	uint64_t id;
	int event;
};

/**
 * struct top_run - a call of "tally top"
 * @options: target and signals
 * @setup: how samples are taken
 * @events: what is sampled
 * @session: the same, open
 * @rings: buffers
 * @pump: threads that empty these
 * @order: records by time
 * @lock: held while a record is put in order
 * @space: what is mapped
 * @ids: events by id, sorted
 * @nr_ids: number of these
 * @entries: functions
 * @nr_entries: number of functions
 * @room: room of @entries
 * @slots: hash table of numbers of entries plus one, 0 where free
 * @nr_slots: entries of @slots, a power of two
 * @samples: samples since the last update
 * @lost: records that were lost
 * @delay: seconds between two updates
 * @updates: updates to end after, 0 for no limit
 * @lines: functions that are shown of each event
 * @pages: pages of a buffer, 0 for the default
 * @failed: no memory
 */
struct top_run {
	struct measure_options options;
	struct record_setup setup;
	struct tally_events events;
	struct tally_opened session;
	struct tally_rings rings;
	struct tally_pump pump;
	struct tally_order order;
	pthread_mutex_t lock;
	struct tally_space *space;
	struct top_id *ids;
	size_t nr_ids;
	struct top_entry *entries;
	size_t nr_entries;
	size_t room;
	uint32_t *slots;
	size_t nr_slots;
	uint64_t samples;
	uint64_t lost;
	double delay;
	long updates;
	long lines;
	unsigned int pages;
	bool failed;
};

static int top_usage(FILE *out, int status)
{
	fputs("usage: tally top [OPTION]...\n\n"
	      "  -e EVENTS         names, separated by commas\n"
	      "  -F FREQUENCY      samples a second\n"
	      "  -c PERIOD         a sample for so many events\n"
	      "  -C CPUS           these CPUs, as 0-3,8\n"
	      "  -p PIDS, -t TIDS  processes, threads\n"
	      "  -G CGROUPS        cgroups\n"
	      "  -d SECONDS        time between two updates, 2\n"
	      "  -n UPDATES        end after so many\n"
	      "  -E LINES          functions that are shown, 20\n"
	      "  -m PAGES          pages of a buffer\n", out);
	return status;
}

static int top_by_id(const void *a, const void *b)
{
	const struct top_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int top_collect_ids(struct top_run *run)
{
	int places = run->session.nr_places;

	run->ids = calloc((size_t)run->events.n * places, sizeof(*run->ids));
	if (!run->ids)
		return -ENOMEM;
	for (int event = 0; event < run->events.n; event++) {
		for (int place = 0; place < places; place++) {
			size_t at = (size_t)event * places + place;

			if (run->session.fds[at] >= 0)
				run->ids[run->nr_ids++] =
					(struct top_id) { run->session.ids[at], event };
		}
	}
	qsort(run->ids, run->nr_ids, sizeof(*run->ids), top_by_id);
	return 0;
}

/* Index of the event of a sample; the id is the first field if there are several events. */
static int top_event_of(const struct top_run *run, const struct perf_event_header *record)
{
	const struct top_id key = { .id = *(const uint64_t *)(record + 1) }, *found;

	if (run->events.n == 1)
		return 0;
	found = bsearch(&key, run->ids, run->nr_ids, sizeof(*run->ids), top_by_id);
	return found ? found->event : -1;
}

static uint64_t top_hash(const struct top_entry *entry)
{
	uint64_t hash = (uintptr_t)entry->dso ^ (uint64_t)entry->event << 56;

	hash = (hash ^ (uintptr_t)entry->symbol ^ entry->address) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

static bool top_same(const struct top_entry *a, const struct top_entry *b)
{
	return a->event == b->event && a->dso == b->dso && a->symbol == b->symbol &&
		a->address == b->address;
}

static uint32_t *top_slot(const struct top_run *run, const struct top_entry *entry)
{
	size_t at = top_hash(entry) & (run->nr_slots - 1);

	while (run->slots[at] && !top_same(&run->entries[run->slots[at] - 1], entry))
		at = (at + 1) & (run->nr_slots - 1);
	return &run->slots[at];
}

/* Room for @room entries, with their places in the hash table. */
static int top_rehash(struct top_run *run, size_t room)
{
	struct top_entry *entries = realloc(run->entries, room * sizeof(*entries));
	uint32_t *slots = calloc(room * 2, sizeof(*slots));

	if (entries)
		run->entries = entries;
	if (!entries || !slots) {
		free(slots);
		return -ENOMEM;
	}
	free(run->slots);
	run->slots = slots;
	run->nr_slots = room * 2;
	run->room = room;
	for (size_t i = 0; i < run->nr_entries; i++)
		*top_slot(run, &run->entries[i]) = i + 1;
	return 0;
}

static void top_add(struct top_run *run, const struct top_entry *entry)
{
	uint32_t *slot;

	if (run->nr_entries == run->room && top_rehash(run, run->room ? 2 * run->room : 1024)) {
		run->failed = true;
		return;
	}
	slot = top_slot(run, entry);
	if (*slot) {
		run->entries[*slot - 1].weight += entry->weight;
		return;
	}
	run->entries[run->nr_entries++] = *entry;
	*slot = run->nr_entries;
}

static void top_sample(struct top_run *run, int event, const struct tally_sample *sample,
		       enum tally_mode mode)
{
	struct top_entry entry = { .event = event, .mode = mode, .weight = sample->period };
	struct tally_dsos *dsos = tally_space_dsos(run->space);
	bool kernel = tally_mode_is_kernel(mode);
	const struct tally_symbol *symbol = NULL;
	const struct tally_map *map = NULL;

	if (tally_mode_is_guest(mode))
		entry.dso = tally_dso_guest(dsos, kernel);
	else
		map = tally_space_find(run->space, sample->pid, sample->ip, kernel);
	if (map) {
		uint64_t at = map->dso->kernel ? sample->ip : sample->ip - map->start + map->offset;

		entry.dso = map->dso;
		symbol = tally_dso_find(dsos, map->dso, at);
	}
	if (symbol)
		entry.symbol = symbol->name;
	else
		entry.address = sample->ip;
	run->samples++;
	top_add(run, &entry);
}

/* A record, now that all older ones have been given. */
static void top_give(void *arg, const struct perf_event_header *header, uint64_t time)
{
	const struct tally_record record = { .header = header };
	struct tally_sample sample;
	struct tally_fault fault;
	struct top_run *run = arg;
	int event;

	(void)time;
	if (header->type != PERF_RECORD_SAMPLE) {
		if (header->type == PERF_RECORD_LOST)
			run->lost += ((const uint64_t *)(header + 1))[1];
		if (tally_space_learn(run->space, &record))
			run->failed = true;
		return;
	}
	event = top_event_of(run, header);
	if (event >= 0 &&
	    !tally_sample_parse(&sample, &run->events.event[event].attr, header, &fault))
		top_sample(run, event, &sample, tally_mode_of(header->misc));
}

static uint64_t top_time(const struct top_run *run, const struct perf_event_header *header)
{
	bool is_sample = header->type == PERF_RECORD_SAMPLE;
	int event = is_sample ? top_event_of(run, header) : 0;

	return event < 0 ? 0 : tally_record_time(&run->events.event[event].attr, header);
}

static void top_take(void *arg, const struct tally_ring *ring, const struct tally_piece *piece)
{
	size_t size = piece->head_size + piece->tail_size;
	struct top_run *run = arg;
	union {
		struct perf_event_header header;
		uint64_t words[8192];
	} record;

	(void)ring;
	for (size_t at = 0; at + sizeof(record.header) <= size; at += record.header.size) {
		tally_piece_copy(piece, at, &record.header, sizeof(record.header));
		if (record.header.size < sizeof(record.header) || at + record.header.size > size)
			return;
		tally_piece_copy(piece, at, &record, record.header.size);
		pthread_mutex_lock(&run->lock);
		if (tally_order_put(&run->order, &record.header, top_time(run, &record.header)))
			run->failed = true;
		pthread_mutex_unlock(&run->lock);
	}
}

static int top_learn_running(struct top_run *run)
{
	const struct tally_target *target = &run->options.target;
	struct tally_buf buf = {};
	int ret = 0;

	tally_synthesize_kernel(&buf, 0);
	for (int i = 0; i < target->nr_pids; i++)
		tally_synthesize_process(&buf, target->pids[i], 0);
	for (int i = 0; i < target->nr_tids; i++)
		tally_synthesize_process(&buf, target->tids[i], 0);
	if (!target->nr_pids && !target->nr_tids)
		tally_synthesize_all(&buf, 0);
	for (size_t at = 0; !buf.failed && at < buf.size && !ret;) {
		const void *data = buf.data + at;
		const struct tally_record record = { .header = data };

		ret = tally_space_learn(run->space, &record);
		at += record.header->size;
	}
	tally_buf_free(&buf);
	return buf.failed ? -ENOMEM : ret;
}

static int top_by_weight(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;

	if (x->event != y->event)
		return x->event - y->event;
	return x->weight > y->weight ? -1 : x->weight < y->weight;
}

/* Sorts the functions; those of older samples alone that weigh nothing any more are left out. */
static int top_sort(struct top_run *run)
{
	size_t n = 0;

	qsort(run->entries, run->nr_entries, sizeof(*run->entries), top_by_weight);
	for (size_t i = 0; i < run->nr_entries; i++) {
		if (run->entries[i].weight >= 1)
			run->entries[n++] = run->entries[i];
	}
	run->nr_entries = n;
	return run->room ? top_rehash(run, run->room) : 0;
}

static void top_print_event(const struct top_run *run, int event)
{
	double sum = 0;
	long lines = 0;

	for (size_t i = 0; i < run->nr_entries; i++) {
		if (run->entries[i].event == event)
			sum += run->entries[i].weight;
	}
	printf("\n%s\n\n", run->events.event[event].name);
	for (size_t i = 0; i < run->nr_entries && lines < run->lines; i++) {
		const struct top_entry *entry = &run->entries[i];
		char address[32];

		if (entry->event != event)
			continue;
		snprintf(address, sizeof(address), "%#llx", (unsigned long long)entry->address);
		printf("%7.2f%%  %-24.24s  [%c] %s\n", 100 * entry->weight / sum,
		       entry->dso ? entry->dso->short_name : "[unknown]",
		       tally_mode_letter(entry->mode), entry->symbol ? entry->symbol : address);
		lines++;
	}
}

static void top_print(struct top_run *run, double seconds)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	printf("tally top: %llu samples, %.0f a second, %llu lost\n",
	       (unsigned long long)run->samples, run->samples / seconds,
	       (unsigned long long)run->lost);
	for (int event = 0; event < run->events.n; event++)
		top_print_event(run, event);
	fflush(stdout);
	run->samples = 0;
	for (size_t i = 0; i < run->nr_entries; i++)
		run->entries[i].weight *= 0.875;
}

static void top_pass(struct top_run *run)
{
	tally_pump_pass(&run->pump);
	tally_order_round(&run->order);
}

/* Shows what has been sampled. After a second pass all records of the first one are complete. */
static int top_update(struct top_run *run, double seconds)
{
	top_pass(run);
	if (run->failed || top_sort(run))
		return -ENOMEM;
	top_print(run, seconds);
	return 0;
}

/* The buffers are emptied when a part of one is full, and for each update. */
static int top_loop(struct top_run *run, struct measure_poll *poll)
{
	double shown = measure_now();
	long updates = 0;

	while (!run->failed) {
		int signal = measure_poll_wait(poll, shown + run->delay - measure_now());
		bool last = (signal && signal != SIGCHLD) || !poll->open ||
			!measure_target_alive(&run->options.target);

		top_pass(run);
		if (!last && measure_now() - shown < run->delay)
			continue;
		if (top_update(run, measure_now() - shown))
			return -ENOMEM;
		shown = measure_now();
		updates++;
		if (last || updates == run->updates)
			return 0;
	}
	return -ENOMEM;
}

static int top_open(struct top_run *run, struct tally_error *err)
{
	struct tally_target target = run->options.target;
	int ret;

	target.per_cpu = true;
	record_prepare_attrs(&run->events, &run->setup, false);
	tally_rings_watermark(&run->events, run->pages);
	run->session.events = &run->events;
	ret = tally_open(&run->session, &target, err);
	if (!ret)
		ret = tally_rings_map(&run->rings, &run->session, run->pages, err);
	if (ret)
		return ret;
	measure_fallback_note(&run->session);
	run->pump = (struct tally_pump) { .rings = &run->rings, .take = top_take, .arg = run };
	run->order = (struct tally_order) { .limit = TOP_ORDER, .give = top_give, .arg = run };
	if (tally_space_new(&run->space, NULL, NULL) || top_collect_ids(run))
		return tally_fail(err, ENOMEM, "out of memory");
	return tally_pump_start(&run->pump, 0, err);
}

static int top_run_all(struct top_run *run)
{
	struct measure_poll poll = { 0 };
	struct tally_error err = { 0 };
	int ret = top_open(run, &err);

	if (!ret)
		ret = measure_poll_init(&poll, &run->session, &run->options, &err);
	if (!ret && tally_ioctl(&run->session, PERF_EVENT_IOC_ENABLE))
		ret = tally_explain(&err, errno, "enable");
	if (!ret && (top_learn_running(run) || top_loop(run, &poll)))
		ret = tally_fail(&err, ENOMEM, "out of memory");
	measure_poll_end(&poll);
	tally_pump_stop(&run->pump);
	run->samples = 0;
	tally_order_end(&run->order);
	tally_rings_unmap(&run->rings);
	tally_close(&run->session);
	if (run->space)
		tally_space_free(run->space);
	free(run->ids);
	free(run->entries);
	free(run->slots);
	return ret ? measure_complain("top", &err) : 0;
}

static int top_number(const char *text, long *number)
{
	char *end;

	*number = strtol(text, &end, 0);
	return end == text || *end || *number <= 0 ? -EINVAL : 0;
}

static int top_number_option(struct top_run *run, int option, const char *value)
{
	long number;
	int ret;

	if (option == 'd') {
		run->delay = strtod(value, NULL);
		return run->delay > 0 ? 0 : -EINVAL;
	}
	ret = top_number(value, &number);
	if (ret)
		return ret;
	switch (option) {
	case 'F':
		run->setup.frequency = number;
		break;
	case 'c':
		run->setup.period = number;
		break;
	case 'n':
		run->updates = number;
		break;
	case 'E':
		run->lines = number;
		break;
	default:
		run->pages = number;
		break;
	}
	return 0;
}

static int top_option(struct top_run *run, int option, char *value, struct tally_error *err)
{
	switch (option) {
	case 'e':
		return tally_parse_events(&run->events, value, err) < 0 ? -EINVAL : 0;
	case 'a':
	case 'C':
	case 'p':
	case 't':
	case 'G':
		return measure_target_option(&run->options.target, option, value);
	default:
		return top_number_option(run, option, value);
	}
}

/**
 * cmd_top() - the command
 * @argc: number of arguments
 * @argv: arguments, the first is "top"
 *
 * Return: 0, 1 after a failure, 2 for bad options.
 */
int cmd_top(int argc, char **argv)
{
	static const struct option help[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct top_run run = { .setup = { .clockid = -1, .inherit = true }, .delay = 2,
			       .lines = 20 };
	struct tally_target *target = &run.options.target;
	struct tally_error err = { 0 };
	int option, ret;

	optind = 1;
	while ((option = getopt_long(argc, argv, "e:F:c:aC:p:t:G:d:n:E:m:", help, NULL)) >= 0) {
		if (option == 'h')
			return top_usage(stdout, 0);
		if (option == '?')
			return top_usage(stderr, 2);
		if (!top_option(&run, option, optarg, &err))
			continue;
		if (!*err.text)
			tally_fail(&err, EINVAL, "'%s' makes no sense", argv[optind - 1]);
		return measure_complain("top", &err) + 1;
	}
	run.session.clock_for_cycles = !run.events.n;
	if (!run.events.n && tally_parse_events(&run.events, TOP_DEFAULT, &err) < 0)
		return measure_complain("top", &err) + 1;
	if (record_check_terms(&run.events, false, &err))
		return measure_complain("top", &err) + 1;
	target->all_cpus = !target->nr_pids && !target->nr_tids && !target->nr_cgroups;
	pthread_mutex_init(&run.lock, NULL);
	measure_block_signals(&run.options);
	ret = top_run_all(&run);
	tally_free_events(&run.events);
	free(target->pids);
	free(target->tids);
	free(target->cgroups);
	return ret;
}
