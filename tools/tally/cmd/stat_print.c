// SPDX-License-Identifier: GPL-2.0
/* The outputs of "tally stat": table, CSV and JSON lines with the fields that perf-stat(1) has. */
#include <math.h>
#include <string.h>

#include "stat.h"

/**
 * stat_add_run() - take a value into the mean (Welford's method)
 * @row: row
 * @value: value of one run
 */
void stat_add_run(struct stat_row *row, double value)
{
	double before = value - row->mean;

	row->runs++;
	row->mean += before / row->runs;
	row->squares += before * (value - row->mean);
}

/**
 * stat_deviation() - standard error of the mean
 * @row: row
 *
 * Return: percent of the mean, 0 for a single run.
 */
double stat_deviation(const struct stat_row *row)
{
	if (row->runs < 2 || row->mean == 0)
		return 0;
	return 100 * sqrt(row->squares / (row->runs - 1) / row->runs) / fabs(row->mean);
}

struct stat_term {
	uint32_t type;
	uint64_t config;
};

#define HW(name)	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name }
#define LOADS(name)	{ PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##name }
#define MISSES(name)	{ PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##name | 1 << 16 }

/* Ratios of two events of one part. */
static const struct {
	struct stat_term event;
	struct stat_term of;
	double factor;
	const char *unit;
} stat_metrics[] = {
	{ HW(INSTRUCTIONS), HW(CPU_CYCLES), 1, "insn per cycle" },
	{ HW(BRANCH_MISSES), HW(BRANCH_INSTRUCTIONS), 100, "% of all branches" },
	{ HW(CACHE_MISSES), HW(CACHE_REFERENCES), 100, "% of all cache refs" },
	{ HW(STALLED_CYCLES_FRONTEND), HW(CPU_CYCLES), 100, "% frontend cycles idle" },
	{ HW(STALLED_CYCLES_BACKEND), HW(CPU_CYCLES), 100, "% backend cycles idle" },
	{ MISSES(L1D), LOADS(L1D), 100, "% of all L1-dcache accesses" },
	{ MISSES(L1I), LOADS(L1I), 100, "% of all L1-icache accesses" },
	{ MISSES(LL), LOADS(LL), 100, "% of all LL-cache accesses" },
	{ MISSES(DTLB), LOADS(DTLB), 100, "% of all dTLB cache accesses" },
	{ MISSES(ITLB), LOADS(ITLB), 100, "% of all iTLB cache accesses" },
};

/* Units of a rate, the largest first. */
static const struct {
	double least;
	const char *unit;
} stat_rates[] = {
	{ 1e9, "G/sec" }, { 1e6, "M/sec" }, { 1e3, "K/sec" }, { 0, "/sec" },
};

static const struct perf_event_attr *row_attr(const struct stat_report *report,
					      const struct stat_row *row)
{
	return &report->session->events->event[row->event].attr;
}

static bool is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK;
}

/* The row of the same part that counts @type and @config at the same levels as @attr. */
static const struct stat_row *find_row(const struct stat_report *report, const struct stat_row *row,
				       const struct stat_term *term)
{
	const struct perf_event_attr *attr = row_attr(report, row);

	for (int i = 0; i < report->nr_rows; i++) {
		const struct perf_event_attr *other = row_attr(report, &report->rows[i]);

		if (report->rows[i].key == row->key && other->type == term->type &&
		    other->config == term->config && other->exclude_user == attr->exclude_user &&
		    other->exclude_kernel == attr->exclude_kernel)
			return &report->rows[i];
	}
	return NULL;
}

static const struct stat_row *find_clock(const struct stat_report *report,
					 const struct stat_row *row)
{
	for (int i = 0; i < report->nr_rows; i++) {
		if (report->rows[i].key == row->key && is_clock(row_attr(report, &report->rows[i])))
			return &report->rows[i];
	}
	return NULL;
}

/* The value of all runs. */
static double row_value(const struct stat_row *row)
{
	return row->runs ? row->mean : row->value;
}

/* A rate by the task's time, with a unit that leaves few digits. */
static bool rate_metric(const struct stat_report *report, const struct stat_row *row, double *value,
			const char **unit)
{
	const struct perf_event_attr *attr = row_attr(report, row);
	const struct stat_row *clock = find_clock(report, row);
	double rate;

	if (!clock || row_value(clock) <= 0)
		return false;
	rate = row_value(row) / row_value(clock) * 1000;
	if (attr->type == PERF_TYPE_HARDWARE &&
	    (attr->config & PERF_HW_EVENT_MASK) == PERF_COUNT_HW_CPU_CYCLES) {
		*value = rate / 1e9;
		*unit = "GHz";
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(stat_rates); i++) {
		if (rate < stat_rates[i].least)
			continue;
		*unit = stat_rates[i].unit;
		*value = stat_rates[i].least ? rate / stat_rates[i].least : rate;
		break;
	}
	return true;
}

/* What the count means beside others; false if it has no such meaning. */
static bool row_metric(const struct stat_report *report, const struct stat_row *row, double *value,
		       const char **unit)
{
	const struct perf_event_attr *attr = row_attr(report, row);

	if (is_clock(attr)) {
		double seconds = report->runs > 1 ? report->elapsed.mean : report->seconds;

		*value = seconds > 0 ? row_value(row) / 1000 / seconds : 0;
		*unit = "CPUs utilized";
		return seconds > 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(stat_metrics); i++) {
		const struct stat_row *of;

		if (stat_metrics[i].event.type != attr->type ||
		    stat_metrics[i].event.config != attr->config)
			continue;
		of = find_row(report, row, &stat_metrics[i].of);
		if (!of || row_value(of) <= 0)
			continue;
		*value = stat_metrics[i].factor * row_value(row) / row_value(of);
		*unit = stat_metrics[i].unit;
		return true;
	}
	return rate_metric(report, row, value, unit);
}

/* The whole part of @value in groups of three digits. */
static void group_digits(double value, int decimals, char *text, size_t size)
{
	char plain[64], *end = plain, *out = text;
	int digits;

	snprintf(plain, sizeof(plain), "%.*f", decimals, value);
	if (*end == '-')
		*out++ = *end++;
	digits = strspn(end, "0123456789");
	while (*end && out + 2 < text + size) {
		*out++ = *end++;
		if (--digits > 0 && digits % 3 == 0)
			*out++ = ',';
	}
	*out = 0;
}

static const struct tally_counter *row_event(const struct stat_report *report,
					     const struct stat_row *row)
{
	return &report->session->events->event[row->event];
}

/* NULL for a value, else what stands in its place. */
static const char *row_missing(const struct stat_report *report, const struct stat_row *row)
{
	if (row_event(report, row)->unsupported)
		return "<not supported>";
	return row->count.running ? NULL : "<not counted>";
}

static double row_running(const struct stat_row *row)
{
	return row->count.enabled ? 100.0 * row->count.running / row->count.enabled : 0;
}

static void print_table_row(const struct stat_report *report, const struct stat_row *row)
{
	const struct tally_counter *event = row_event(report, row);
	const char *missing = row_missing(report, row), *unit;
	double metric;
	char text[64];

	if (report->interval >= 0)
		fprintf(report->out, "%15.9f ", report->interval);
	if (*row->part)
		fprintf(report->out, "%-14s %4d ", row->part, row->places);
	if (missing) {
		fprintf(report->out, "%18s      %s\n", missing, event->name);
		return;
	}
	group_digits(row_value(row), event->unit ? 2 : 0, text, sizeof(text));
	fprintf(report->out, "%18s %-4s %-28s", text, event->unit ? event->unit : "", event->name);
	if (row_metric(report, row, &metric, &unit))
		fprintf(report->out, " # %8.3f%s%-23s", metric, *unit == '%' ? "" : " ", unit);
	else if (report->runs > 1 || row->count.running < row->count.enabled)
		fprintf(report->out, " %*s", 33, "");
	if (report->runs > 1)
		fprintf(report->out, " ( +- %6.2f%% )", stat_deviation(row));
	if (row->count.running < row->count.enabled)
		fprintf(report->out, "  (%.2f%%)", row_running(row));
	fputc('\n', report->out);
}

/* The unit as perf-stat(1) has it in fields, without the sign of percent. */
static const char *plain_unit(const char *unit)
{
	return *unit == '%' ? unit + 2 : unit;
}

static void print_csv_row(const struct stat_report *report, const struct stat_row *row)
{
	const struct tally_counter *event = row_event(report, row);
	const char *missing = row_missing(report, row), *unit, *s = report->separator;
	double metric;

	if (report->interval >= 0)
		fprintf(report->out, "%.9f%s", report->interval, s);
	if (*row->part)
		fprintf(report->out, "%s%s%d%s", row->part, s, row->places, s);
	if (missing)
		fprintf(report->out, "%s", missing);
	else
		fprintf(report->out, "%.*f", event->unit ? 2 : 0, row_value(row));
	fprintf(report->out, "%s%s%s%s%s", s, event->unit ? event->unit : "", s, event->name, s);
	if (report->runs > 1)
		fprintf(report->out, "%.2f%%%s", stat_deviation(row), s);
	fprintf(report->out, "%llu%s%.2f%s", (unsigned long long)row->count.running, s,
		missing ? 0 : row_running(row), s);
	if (!missing && row_metric(report, row, &metric, &unit))
		fprintf(report->out, "%.2f%s%s\n", metric, s, plain_unit(unit));
	else
		fprintf(report->out, "%s\n", s);
}

static void print_json_string(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\" : \"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text < 0x20)
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void print_json_row(const struct stat_report *report, const struct stat_row *row)
{
	const struct tally_counter *event = row_event(report, row);
	const char *missing = row_missing(report, row), *unit;
	FILE *out = report->out;
	char value[64];
	double metric;

	fputc('{', out);
	if (report->interval >= 0)
		fprintf(out, "\"interval\" : %.9f, ", report->interval);
	if (*row->part) {
		print_json_string(out, "part", row->part);
		fprintf(out, ", \"aggregate-number\" : %d, ", row->places);
	}
	snprintf(value, sizeof(value), "%.6f", row_value(row));
	print_json_string(out, "counter-value", missing ? missing : value);
	fputs(", ", out);
	print_json_string(out, "unit", event->unit ? event->unit : "");
	fputs(", ", out);
	print_json_string(out, "event", event->name);
	if (report->runs > 1)
		fprintf(out, ", \"variance\" : %.2f", stat_deviation(row));
	fprintf(out, ", \"event-runtime\" : %llu, \"pcnt-running\" : %.2f",
		(unsigned long long)row->count.running, missing ? 0 : row_running(row));
	if (!missing && row_metric(report, row, &metric, &unit)) {
		fprintf(out, ", \"metric-value\" : \"%.6f\", ", metric);
		print_json_string(out, "metric-unit", plain_unit(unit));
	}
	fputs("}\n", out);
}

static void print_table_end(const struct stat_report *report)
{
	FILE *out = report->out;

	fprintf(out, "\n %17.9f seconds time elapsed", row_value(&report->elapsed));
	if (report->runs > 1)
		fprintf(out, " ( +- %.2f%% )", stat_deviation(&report->elapsed));
	fputc('\n', out);
	if (report->command)
		fprintf(out, "\n %17.9f seconds user\n %17.9f seconds sys\n", report->user,
			report->system);
	fputc('\n', out);
}

/**
 * stat_print() - print one run, all runs, or an interval
 * @report: what is printed
 */
void stat_print(const struct stat_report *report)
{
	static void (* const row_printers[])(const struct stat_report *report,
					     const struct stat_row *row) = {
		[STAT_TABLE] = print_table_row,
		[STAT_CSV] = print_csv_row,
		[STAT_JSON] = print_json_row,
	};
	bool whole = report->interval < 0 && report->format == STAT_TABLE;

	if (whole) {
		fprintf(report->out, "\n Performance counter stats for %s", report->what);
		if (report->runs > 1)
			fprintf(report->out, " (%d runs)", report->runs);
		fputs(":\n\n", report->out);
	}
	for (int i = 0; i < report->nr_rows; i++)
		row_printers[report->format](report, &report->rows[i]);
	if (whole)
		print_table_end(report);
	fflush(report->out);
}
