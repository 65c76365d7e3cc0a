// SPDX-License-Identifier: GPL-2.0
/* tally stat: count events while a command runs, or until a signal. */
#include "stat.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "measure.h"

#define STAT_DEFAULT	"task-clock,context-switches,cpu-migrations,page-faults," \
			"cycles,instructions,branches,branch-misses"
#define STAT_DETAILED	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses"

/**
 * struct stat_run - a call of "tally stat"
 * @options: target and signals
 * @events: what is counted
 * @session: the same, open
 * @report: how it is printed
 * @counts: by event and place, the newest
 * @before: by event and place, at the end of the last interval
 * @interval: seconds, 0 for none
 * @timeout: seconds to count, 0 for no limit
 * @delay: seconds before events are enabled, 0 for none, negative: never
 * @repeats: runs of the command
 * @level: part that places are summed over, valid with @parts
 * @parts: print parts of the machine
 * @inherit: count children
 * @null: open no events
 * @started: when events were enabled
 * @status: wait status of the last command
 * @stop: a signal has ended it all
 */
struct stat_run {
	struct measure_options options;
	struct tally_events events;
	struct tally_opened session;
	struct stat_report report;
	struct tally_count *counts;
	struct tally_count *before;
	double interval;
	double timeout;
	double delay;
	int repeats;
	enum tally_level level;
	bool parts;
	bool inherit;
	bool null;
	double started;
	int status;
	bool stop;
};

static int stat_usage(FILE *out, int status)
{
	fputs("usage: tally stat [OPTION]... [--] [COMMAND [ARG]...]\n\n"
	      "  -e EVENTS       names, separated by commas, groups in braces\n"
	      "  -a              all CPUs\n"
	      "  -C CPUS         these CPUs, as 0-3,8\n"
	      "  -p PIDS         processes with all their threads\n"
	      "  -t TIDS         threads\n"
	      "  -G CGROUPS      cgroups\n"
	      "  -I MS           print the counts of each interval\n"
	      "  -r N            run the command N times\n"
	      "  -x SEPARATOR    print fields\n"
	      "  -j              print JSON, an object a line\n"
	      "  -o FILE         print there; with --append at its end\n"
	      "  -A              print each CPU; --per-core, --per-die, --per-socket, --per-node\n"
	      "  -i              do not count children\n"
	      "  -D MS           enable the events after this time\n"
	      "  -d              events of caches, too\n"
	      "  -n              no events, only the time\n"
	      "  --timeout MS    stop after this time\n", out);
	return status;
}

static int stat_prepare_attrs(struct stat_run *run)
{
	bool tasks = run->options.argv && !run->options.target.all_cpus;

	for (int i = 0; i < run->events.n; i++) {
		struct tally_counter *event = &run->events.event[i];
		bool first = event->leader || event->group < 0;

		event->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (event->leader)
			event->attr.read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
		if (!(event->set & TALLY_SET_INHERIT))
			event->attr.inherit = run->inherit;
		event->attr.sample_period = 0;
		event->attr.freq = 0;
		event->attr.sample_type = 0;
		event->attr.disabled = first;
		event->attr.enable_on_exec = first && tasks && !run->delay &&
			!run->options.target.nr_cgroups;
	}
	return 0;
}

/* Name and number of the part that a place is in, for an event. */
static uint64_t stat_part(const struct stat_run *run, int event, int place, char *name, size_t size)
{
	const struct tally_place *where = &run->session.places[place];
	bool percore = run->events.event[event].percore;
	char machine[40] = "";
	uint64_t key = 0;

	if ((run->parts || percore) && where->cpu >= 0)
		key = tally_part_of(where->cpu, percore ? TALLY_LEVEL_CORE : run->level, machine,
				    sizeof(machine)) + 1;
	if (where->cgroup >= 0)
		snprintf(name, size, "%.*s%s%s", (int)(size - sizeof(machine) - 2),
			 run->options.target.cgroups[where->cgroup], *machine ? " " : "", machine);
	else
		snprintf(name, size, "%s", machine);
	return key << 8 | (where->cgroup + 1);
}

static struct stat_row *stat_find_row(struct stat_run *run, int event, int place)
{
	struct stat_report *report = &run->report;
	struct stat_row *rows = report->rows;
	char name[sizeof(rows->part)];
	uint64_t key = stat_part(run, event, place, name, sizeof(name));

	for (int i = 0; i < report->nr_rows; i++) {
		if (rows[i].event == event && rows[i].key == key)
			return &rows[i];
	}
	rows = realloc(rows, (report->nr_rows + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	report->rows = rows;
	rows += report->nr_rows++;
	memset(rows, 0, sizeof(*rows));
	rows->event = event;
	rows->key = key;
	snprintf(rows->part, sizeof(rows->part), "%s", name);
	return rows;
}

static int by_part(const void *a, const void *b)
{
	const struct stat_row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->event - y->event;
}

/* Makes the rows, so that each event has one though nothing was counted. */
static int stat_make_rows(struct stat_run *run)
{
	free(run->report.rows);
	run->report.rows = NULL;
	run->report.nr_rows = 0;
	for (int event = 0; event < run->events.n; event++) {
		for (int place = 0; place < run->session.nr_places; place++) {
			if (!stat_find_row(run, event, place))
				return -ENOMEM;
		}
	}
	if (run->report.nr_rows)
		qsort(run->report.rows, run->report.nr_rows, sizeof(*run->report.rows), by_part);
	return 0;
}

/* Takes the difference to the last interval, or to nothing. */
static int stat_sum(struct stat_run *run, struct tally_error *err)
{
	int ret = tally_read_counts(&run->session, run->counts, err);

	if (ret)
		return ret;
	for (int i = 0; i < run->report.nr_rows; i++) {
		struct stat_row *row = &run->report.rows[i];

		memset(&row->count, 0, sizeof(row->count));
		row->value = 0;
		row->places = 0;
	}
	for (int event = 0; event < run->events.n; event++) {
		for (int place = 0; place < run->session.nr_places; place++) {
			size_t at = (size_t)event * run->session.nr_places + place;
			struct tally_count *now = &run->counts[at], *was = &run->before[at];
			struct tally_count passed = { now->value - was->value,
						      now->enabled - was->enabled,
						      now->running - was->running };
			struct stat_row *row = stat_find_row(run, event, place);

			if (!row)
				return tally_fail(err, ENOMEM, "out of memory");
			row->count.value += passed.value;
			row->count.enabled += passed.enabled;
			row->count.running += passed.running;
			row->value += tally_scale(&passed) * run->events.event[event].scale;
			row->places += run->session.fds[at] >= 0;
		}
	}
	return 0;
}

static int stat_end_interval(struct stat_run *run, double began, struct tally_error *err)
{
	double now = measure_now();
	int ret = stat_sum(run, err);

	if (ret)
		return ret;
	run->report.interval = now - run->started;
	run->report.seconds = now - began;
	stat_print(&run->report);
	memcpy(run->before, run->counts,
	       sizeof(*run->counts) * run->events.n * run->session.nr_places);
	return 0;
}

/* Seconds to sleep: to the end of the interval, of the time, or a look at the tasks. */
static double stat_next_wait(const struct stat_run *run, double interval_end, double end)
{
	double wait = 3600, now = measure_now();

	if (run->interval && interval_end - now < wait)
		wait = interval_end - now;
	if (run->timeout && end - now < wait)
		wait = end - now;
	if ((run->options.target.nr_pids || run->options.target.nr_tids) && !run->options.argv &&
	    wait > 0.02)
		wait = 0.02;
	return wait;
}

/* True once the command has ended, which then is reaped. */
static void stat_add_usage(struct stat_run *run, const struct rusage *usage)
{
	run->report.user += usage->ru_utime.tv_sec + usage->ru_utime.tv_usec / 1e6;
	run->report.system += usage->ru_stime.tv_sec + usage->ru_stime.tv_usec / 1e6;
}

static bool stat_reap(struct stat_run *run, pid_t pid)
{
	struct rusage usage;

	if (wait4(pid, &run->status, WNOHANG, &usage) != pid)
		return false;
	stat_add_usage(run, &usage);
	return true;
}

/* The command has got a signal, or the counting has failed. */
static void stat_reap_last(struct stat_run *run, pid_t pid)
{
	struct rusage usage;

	if (measure_wait_command(&run->options, pid, true, &run->status, &usage))
		stat_add_usage(run, &usage);
	else
		fprintf(stderr, "tally stat: the command still runs\n");
}

static int stat_wait(struct stat_run *run, const struct tally_command *command,
		     struct tally_error *err)
{
	double began = run->started, next = began + run->interval, end = began + run->timeout;
	bool reaped = false;
	int ret = 0;

	while (!ret && !reaped) {
		int signal = measure_wait(&run->options, stat_next_wait(run, next, end));

		if (signal && signal != SIGCHLD) {
			run->stop = true;
			if (command)
				kill(command->pid, signal == SIGALRM ? SIGTERM : signal);
			break;
		}
		if (command)
			reaped = stat_reap(run, command->pid);
		else if (!measure_target_alive(&run->options.target))
			break;
		if (run->timeout && measure_now() >= end) {
			if (command && !reaped)
				kill(command->pid, SIGTERM);
			break;
		}
		if (run->interval && measure_now() >= next && !reaped) {
			ret = stat_end_interval(run, began, err);
			began = measure_now();
			next += run->interval;
		}
	}
	tally_ioctl(&run->session, PERF_EVENT_IOC_DISABLE);
	run->report.seconds = measure_now() - (run->interval ? began : run->started);
	if (command && !reaped)
		stat_reap_last(run, command->pid);
	if (!ret && run->interval)
		ret = stat_end_interval(run, began, err);
	return ret;
}

static int stat_open(struct stat_run *run, struct tally_command *command, struct tally_error *err)
{
	struct tally_target target = run->options.target;
	size_t counts;
	int ret;

	if (run->options.argv) {
		ret = tally_command_prepare(command, run->options.argv, err);
		if (ret)
			return ret;
		if (!target.all_cpus && !target.nr_cgroups) {
			target.tids = &command->pid;
			target.nr_tids = 1;
		}
	}
	run->session.events = &run->events;
	run->session.keep_unsupported = true;
	ret = tally_open(&run->session, &target, err);
	if (ret)
		return ret;
	counts = (size_t)run->events.n * run->session.nr_places + 1;
	free(run->counts);
	free(run->before);
	run->counts = calloc(counts, sizeof(*run->counts));
	run->before = calloc(counts, sizeof(*run->before));
	if (!run->counts || !run->before || (!run->report.nr_rows && stat_make_rows(run)))
		return tally_fail(err, ENOMEM, "out of memory");
	return 0;
}

static int stat_enable(struct stat_run *run, struct tally_error *err)
{
	int ret;

	if (run->delay > 0)
		measure_delay(&run->options, run->delay);
	if (run->delay < 0)
		return 0;
	ret = tally_ioctl(&run->session, PERF_EVENT_IOC_ENABLE);
	return ret ? tally_explain(err, -ret, "enable") : 0;
}

/* One run of the command, or the only one without a command. */
static int stat_once(struct stat_run *run, struct tally_error *err)
{
	bool on_exec = run->options.argv && !run->options.target.all_cpus && !run->delay &&
		!run->options.target.nr_cgroups;
	struct tally_command command = { .pid = 0 };
	int ret = stat_open(run, &command, err);

	run->status = 0;
	if (!ret && !on_exec && !(run->options.argv && run->delay))
		ret = stat_enable(run, err);
	run->started = measure_now();
	if (!ret && run->options.argv)
		ret = tally_command_start(&command, *run->options.argv, err);
	else if (ret && command.pid)
		kill(command.pid, SIGKILL);
	if (!ret && run->options.argv && run->delay)
		ret = stat_enable(run, err);
	if (!ret)
		ret = stat_wait(run, run->options.argv ? &command : NULL, err);
	if (!ret && !run->interval)
		ret = stat_sum(run, err);
	for (int i = 0; !ret && i < run->report.nr_rows; i++) {
		if (run->repeats > 1)
			stat_add_run(&run->report.rows[i], run->report.rows[i].value);
	}
	if (!ret)
		stat_add_run(&run->report.elapsed, run->report.seconds);
	tally_close(&run->session);
	return ret;
}

static int stat_run_all(struct stat_run *run)
{
	struct tally_error err = { 0 };
	int done = 0, ret = 0;

	while (!ret && done < run->repeats && !run->stop) {
		ret = stat_once(run, &err);
		done++;
	}
	if (ret)
		return measure_complain("stat", &err);
	measure_fallback_note(&run->session);
	run->report.runs = done;
	run->report.user /= done;
	run->report.system /= done;
	if (!run->interval)
		stat_print(&run->report);
	if (run->options.argv && WIFEXITED(run->status))
		return WEXITSTATUS(run->status);
	return run->options.argv && WIFSIGNALED(run->status) && !run->stop && !run->timeout ?
		128 + WTERMSIG(run->status) : 0;
}

/* Values of options without a letter. */
enum stat_long {
	STAT_PER_CORE = 256,
	STAT_PER_DIE,
	STAT_PER_SOCKET,
	STAT_PER_NODE,
	STAT_TIMEOUT,
	STAT_APPEND,
	STAT_HELP,
};

static const struct option stat_long_options[] = {
	{ "event", required_argument, NULL, 'e' },
	MEASURE_TARGET_OPTIONS,
	{ "interval-print", required_argument, NULL, 'I' },
	{ "repeat", required_argument, NULL, 'r' },
	{ "field-separator", required_argument, NULL, 'x' },
	{ "json-output", no_argument, NULL, 'j' },
	{ "output", required_argument, NULL, 'o' },
	{ "append", no_argument, NULL, STAT_APPEND },
	{ "no-aggr", no_argument, NULL, 'A' },
	{ "no-inherit", no_argument, NULL, 'i' },
	{ "delay", required_argument, NULL, 'D' },
	{ "detailed", no_argument, NULL, 'd' },
	{ "null", no_argument, NULL, 'n' },
	{ "per-core", no_argument, NULL, STAT_PER_CORE },
	{ "per-die", no_argument, NULL, STAT_PER_DIE },
	{ "per-socket", no_argument, NULL, STAT_PER_SOCKET },
	{ "per-node", no_argument, NULL, STAT_PER_NODE },
	{ "timeout", required_argument, NULL, STAT_TIMEOUT },
	{ "help", no_argument, NULL, STAT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* What options set that the run does not keep. */
struct stat_words {
	const char *output;
	bool append;
	bool detailed;
	struct tally_error err;
};

static int stat_milliseconds(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end) / 1000;
	return end == text || *end || *seconds < 0 ? -EINVAL : 0;
}

static int stat_set_level(struct stat_run *run, enum tally_level level)
{
	run->parts = true;
	run->level = level;
	return 0;
}

static int stat_number_option(struct stat_run *run, int option, const char *value)
{
	switch (option) {
	case 'I':
		return stat_milliseconds(value, &run->interval) ?: run->interval > 0 ? 0 : -EINVAL;
	case 'r':
		run->repeats = atoi(value);
		return run->repeats > 0 ? 0 : -EINVAL;
	case 'D':
		if (!strcmp(value, "-1")) {
			run->delay = -1;
			return 0;
		}
		return stat_milliseconds(value, &run->delay);
	default:
		return stat_milliseconds(value, &run->timeout);
	}
}

static int stat_output_option(struct stat_run *run, struct stat_words *words, int option,
			      char *value)
{
	switch (option) {
	case 'x':
		run->report.format = STAT_CSV;
		run->report.separator = strcmp(value, "\\t") ? value : "\t";
		return 0;
	case 'j':
		run->report.format = STAT_JSON;
		return 0;
	case 'o':
		words->output = value;
		return 0;
	case STAT_APPEND:
		words->append = true;
		return 0;
	case 'i':
		run->inherit = false;
		return 0;
	case 'd':
		words->detailed = true;
		return 0;
	case 'n':
		run->null = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* 0, or a negative errno if the option or its value makes no sense. */
static int stat_option(struct stat_run *run, struct stat_words *words, int option, char *value)
{
	switch (option) {
	case 'e':
		return tally_parse_events(&run->events, value, &words->err) < 0 ? -EINVAL : 0;
	case 'a':
	case 'C':
	case 'p':
	case 't':
	case 'G':
		return measure_target_option(&run->options.target, option, value);
	case 'I':
	case 'r':
	case 'D':
	case STAT_TIMEOUT:
		return stat_number_option(run, option, value);
	case 'A':
		return stat_set_level(run, TALLY_LEVEL_CPU);
	case STAT_PER_CORE:
		return stat_set_level(run, TALLY_LEVEL_CORE);
	case STAT_PER_DIE:
		return stat_set_level(run, TALLY_LEVEL_DIE);
	case STAT_PER_SOCKET:
		return stat_set_level(run, TALLY_LEVEL_SOCKET);
	case STAT_PER_NODE:
		return stat_set_level(run, TALLY_LEVEL_NODE);
	default:
		return stat_output_option(run, words, option, value);
	}
}

/* What is measured, in the words of the heading. */
static void stat_heading(struct stat_run *run, char *text, size_t size)
{
	const struct tally_target *target = &run->options.target;
	size_t used;

	if (!run->options.argv || target->all_cpus || target->nr_cgroups) {
		snprintf(text, size, "%s", target->nr_cgroups ? "cgroups" :
			 target->nr_pids ? "processes" : target->nr_tids ? "threads" :
			 target->cpus ? "CPUs" : "system wide");
		return;
	}
	used = snprintf(text, size, "'");
	for (char **arg = run->options.argv; *arg && used < size; arg++)
		used += snprintf(text + used, size - used, "%s%s", *arg, arg[1] ? " " : "'");
}

/* Checks the options against each other, and completes them. */
static int stat_complete(struct stat_run *run, struct stat_words *words)
{
	struct tally_target *target = &run->options.target;
	bool tasks = target->nr_pids || target->nr_tids;

	if (!run->events.n && !run->null &&
	    (tally_parse_events(&run->events, STAT_DEFAULT, &words->err) < 0 ||
	     (words->detailed && tally_parse_events(&run->events, STAT_DETAILED, &words->err) < 0)))
		return -EINVAL;
	/* A task's event of one CPU is enabled wherever the task runs, and could not be scaled. */
	if (target->cpus && tasks)
		return tally_fail(&words->err, EINVAL, "-C and -p or -t exclude each other");
	if (target->cpus && !tasks && !target->nr_cgroups)
		target->all_cpus = true;
	if (!run->options.argv && !tasks && !target->all_cpus && !target->nr_cgroups)
		return tally_fail(&words->err, EINVAL,
				  "what to count? a command, -a, -p, -t or -G");
	if (run->options.argv && tasks)
		return tally_fail(&words->err, EINVAL, "a command and -p or -t exclude each other");
	if (run->repeats > 1 && (!run->options.argv || run->interval))
		return tally_fail(&words->err, EINVAL, "-r takes a command, and no -I");
	if (run->parts && !target->all_cpus && !target->nr_cgroups)
		return tally_fail(&words->err, EINVAL, "parts of the machine take -a, -C or -G");
	run->report.out = stderr;
	if (words->output)
		run->report.out = fopen(words->output, words->append ? "a" : "w");
	if (!run->report.out)
		return tally_fail(&words->err, errno, "%s: %s", words->output, strerror(errno));
	return stat_prepare_attrs(run);
}

static void stat_free(struct stat_run *run)
{
	tally_free_events(&run->events);
	free(run->options.target.pids);
	free(run->options.target.tids);
	free(run->options.target.cgroups);
	free(run->counts);
	free(run->before);
	free(run->report.rows);
}

/**
 * cmd_stat() - the command
 * @argc: number of arguments
 * @argv: arguments, the first is "stat"
 *
 * Return: exit status of the measured command, 0 without one, 1 after a failure, 2 for bad options.
 */
int cmd_stat(int argc, char **argv)
{
	struct stat_run run = { .repeats = 1, .inherit = true };
	struct stat_words words = { 0 };
	char heading[256];
	int option, ret;

	run.report.interval = -1;
	run.report.session = &run.session;
	run.report.what = heading;
	optind = 1;
	while ((option = getopt_long(argc, argv, "+e:aC:p:t:G:I:r:x:jo:AiD:dn", stat_long_options,
				     NULL)) >= 0) {
		if (option == STAT_HELP)
			return stat_usage(stdout, 0);
		if (option == '?')
			return stat_usage(stderr, 2);
		if (stat_option(&run, &words, option, optarg)) {
			if (!*words.err.text)
				tally_fail(&words.err, EINVAL, "'%s' makes no sense",
					   argv[optind - 1]);
			return measure_complain("stat", &words.err) + 1;
		}
	}
	if (optind < argc)
		run.options.argv = argv + optind;
	run.report.command = run.options.argv;
	if (stat_complete(&run, &words))
		return measure_complain("stat", &words.err) + 1;
	stat_heading(&run, heading, sizeof(heading));
	measure_block_signals(&run.options);
	ret = stat_run_all(&run);
	if (run.report.out != stderr)
		fclose(run.report.out);
	stat_free(&run);
	return ret;
}
