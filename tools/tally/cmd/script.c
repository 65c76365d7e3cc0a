// SPDX-License-Identifier: GPL-2.0
/* tally script: the records of a perf.data, as text. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "tracing.h"

#define OPTION_HEADER	OPTION_OWN

/**
 * struct script - what is printed
 * @session: session
 * @all: every record, not only samples
 * @header: the feature sections, too
 * @tracing: formats of tracepoints, NULL without
 * @no_tracing: they were looked for and are not there
 * @frames: room for the frames of a sample
 */
struct script {
	struct tally_session *session;
	bool all;
	bool header;
	struct tally_tracing *tracing;
	bool no_tracing;
	struct tally_frame frames[TALLY_MAX_FRAMES];
};

static int script_usage(FILE *out, int status)
{
	fprintf(out, "usage: tally script [OPTION]... [FILE]\n\n"
		"Prints the samples of a perf.data file by time, with their call chains.\n\n"
		SESSION_HELP
		"  -a, --all            print all records, with their place in the file\n"
		"      --header         print the feature sections, too\n");
	return status;
}

static void script_print_frame(const struct tally_frame *frame)
{
	const char *dso = frame->dso ? frame->dso->name : "[unknown]";

	if (frame->symbol)
		printf("%16llx %s+0x%llx (%s)%s", frame->address, frame->symbol,
		       frame->symbol_offset, dso, frame->inlined ? " (inlined)" : "");
	else
		printf("%16llx [unknown] (%s)", frame->address, dso);
}

/* Formats of tracepoints are in the file, or precede the samples of a pipe. */
static struct tally_tracing *script_tracing(struct script *script)
{
	const struct tally_value *section =
		tally_session_info(script->session)->features.values[TALLY_FEAT_TRACING_DATA];
	struct tally_error err;

	if (script->tracing || script->no_tracing)
		return script->tracing;
	script->no_tracing = true;
	if (section && tally_tracing_new(&script->tracing, section->bytes, section->size, &err))
		fprintf(stderr, "tally script: %s\n", err.text);
	return script->tracing;
}

static void script_print_raw(struct script *script, const struct tally_event *event,
			     const struct tally_sample *sample)
{
	if (event->attr.type == PERF_TYPE_TRACEPOINT && script_tracing(script))
		tally_tracing_print(stdout, script->tracing, sample->raw, sample->raw_size,
				    sample->cpu);
	else if (sample->raw_size)
		printf(" raw=%llu", sample->raw_size);
}

static void script_print_data(const struct tally_event *event, const struct tally_sample *sample)
{
	u64 type = event->attr.sample_type;

	if (type & PERF_SAMPLE_ADDR)
		printf(" addr=%llx", sample->addr);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		printf(" weight=%llu", sample->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		printf(" data_src=%llx", sample->data_src);
	if (type & PERF_SAMPLE_TRANSACTION && sample->transaction)
		printf(" transaction=%llx", sample->transaction);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		printf(" phys=%llx", sample->phys_addr);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		printf(" data_page=%llu", sample->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		printf(" code_page=%llu", sample->code_page_size);
	if (type & PERF_SAMPLE_CGROUP)
		printf(" cgroup=%llu", sample->cgroup);
	if (sample->aux_size)
		printf(" aux=%llu", sample->aux_size);
	for (u64 i = 0; i < sample->nr_read; i++)
		printf("%s%llu", i ? "," : " read=", sample->read[i]);
}

static void script_print_branches(const struct tally_sample *sample)
{
	for (u64 i = 0; i < sample->nr_branches; i++) {
		const struct perf_branch_entry *branch = &sample->branches[i];

		printf("%s%llx/%llx/%c/%u", i ? " " : "\tbranches: ", branch->from, branch->to,
		       branch->mispred ? 'M' : branch->predicted ? 'P' : '-', branch->cycles);
	}
	if (sample->nr_branches)
		putchar('\n');
}

static void script_print_ident(struct script *script, const struct tally_sample *sample)
{
	struct tally_space *space = tally_session_space(script->session);

	printf("%16s %5d/%-5d ", tally_space_comm(space, sample->pid, sample->tid), sample->pid,
	       sample->tid);
	if (sample->cpu != (u32)-1)
		printf("[%03u] ", sample->cpu);
	printf("%llu.%09llu: ", sample->time / 1000000000, sample->time % 1000000000);
}

static void script_print_sample(struct script *script, const struct tally_record *record,
				const struct tally_sample *sample)
{
	unsigned int nr = tally_session_chain(script->session, record, sample, script->frames);

	script_print_ident(script, sample);
	printf("%10llu %s:", sample->period, record->event->name);
	script_print_data(record->event, sample);
	script_print_raw(script, record->event, sample);
	if (!sample->nr_chain && nr == 1) {
		putchar(' ');
		script_print_frame(script->frames);
		putchar('\n');
		script_print_branches(sample);
		return;
	}
	putchar('\n');
	for (unsigned int i = 0; i < nr; i++) {
		putchar('\t');
		script_print_frame(&script->frames[i]);
		putchar('\n');
	}
	script_print_branches(sample);
	putchar('\n');
}

static void script_print_mmap(const struct perf_event_header *header)
{
	const u32 *pids = (const u32 *)(header + 1);
	const u64 *words = (const u64 *)(header + 1);
	unsigned int at = header->type == PERF_RECORD_MMAP ? 40 : 72;

	printf(" %d/%d [%#llx(%#llx) @ %#llx] %s", pids[0], pids[1], words[1], words[2], words[3],
	       (const char *)header + at);
}

static void script_print_fields(const struct perf_event_header *header)
{
	const u32 *halves = (const u32 *)(header + 1);
	const u64 *words = (const u64 *)(header + 1);

	switch (header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		script_print_mmap(header);
		break;
	case PERF_RECORD_COMM:
		printf(" %s:%d/%d", (const char *)(words + 1), halves[0], halves[1]);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		printf(" (%d:%d):(%d:%d)", halves[0], halves[2], halves[1], halves[3]);
		break;
	case PERF_RECORD_LOST:
		printf(" %llu", words[1]);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		printf(" %llu", words[0]);
		break;
	case PERF_RECORD_AUX:
		printf(" offset %#llx size %#llx flags %#llx", words[0], words[1], words[2]);
		break;
	case PERF_RECORD_KSYMBOL:
		printf(" %#llx %s", words[0], (const char *)(words + 2));
		break;
	case TALLY_RECORD_TIME_CONV:
		printf(" shift %llu mult %llu zero %llu", words[0], words[1], words[2]);
		break;
	case TALLY_RECORD_STAT:
		printf(" id %llu cpu %d thread %d: %llu %llu %llu", words[0], halves[2], halves[3],
		       words[2], words[3], words[4]);
		break;
	case TALLY_RECORD_STAT_ROUND:
		printf(" kind %llu time %llu", words[0], words[1]);
		break;
	case TALLY_RECORD_ID_INDEX:
	case TALLY_RECORD_THREAD_MAP:
	case TALLY_RECORD_STAT_CONFIG:
		printf(" %llu entries", words[0]);
		break;
	case TALLY_RECORD_FEATURE:
		printf(" %s", tally_feature_name(words[0] < TALLY_FEAT_END ? words[0] : 0));
		break;
	case TALLY_RECORD_AUXTRACE_INFO:
		printf(" type %u", halves[0]);
		break;
	case TALLY_RECORD_AUXTRACE:
		printf(" size %#llx offset %#llx idx %u", words[0], words[1], halves[6]);
		break;
	case PERF_RECORD_CGROUP:
		printf(" %llu %s", words[0], (const char *)(words + 1));
		break;
	}
}

static void script_print_other(struct script *script, const struct tally_record *record,
			       const struct tally_sample *sample)
{
	const struct perf_event_attr *attr = record->event ? &record->event->attr : NULL;
	const char *name = tally_record_name(record->header->type);
	struct tally_fault fault;

	if (record->event && sample->time)
		script_print_ident(script, sample);
	printf("PERF_RECORD_%s", name ?: "UNKNOWN");
	if (record->swap_fault || tally_record_verify(record->header, attr, &fault))
		printf(" (not valid)");
	else
		script_print_fields(record->header);
	putchar('\n');
}

static void script_print(struct script *script, const struct tally_record *record,
			 const struct tally_sample *sample)
{
	if (script->all) {
		if (record->file)
			printf("%u:", record->file);
		printf("%#llx", record->offset);
		if (record->inner)
			printf("+%#llx", record->inner);
		printf(" [%u]: ", record->header->size);
	}
	if (record->header->type == PERF_RECORD_SAMPLE)
		script_print_sample(script, record, sample);
	else if (script->all)
		script_print_other(script, record, sample);
}

static void script_header(const struct tally_session *session)
{
	const struct tally_info *info = tally_session_info(session);

	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		tally_feature_print(stdout, &info->features, i);
}

int cmd_script(int argc, char **argv)
{
	static const struct option long_options[] = {
		SESSION_OPTIONS,
		{ "all", no_argument, NULL, 'a' },
		{ "header", no_argument, NULL, OPTION_HEADER },
		{}
	};
	struct tally_session_options options = {};
	static struct script script;
	struct tally_record record;
	struct tally_sample sample;
	struct tally_error err;
	int option, ret;

	while ((option = getopt_long(argc, argv, "i:ah", long_options, NULL)) != -1) {
		if (option == 'h')
			return script_usage(stdout, 0);
		if (option == 'a')
			script.all = true;
		else if (option == OPTION_HEADER)
			script.header = true;
		else if (!session_option(&options, option))
			return script_usage(stderr, 2);
	}
	if (session_start("script", &script.session, &options, argc, argv))
		return 1;
	if (script.header)
		script_header(script.session);
	while ((ret = tally_session_next(script.session, &record, &sample, &err)) > 0)
		script_print(&script, &record, &sample);
	tally_tracing_free(script.tracing);
	return session_end("script", script.session, ret, &err);
}
