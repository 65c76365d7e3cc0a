// SPDX-License-Identifier: GPL-2.0
/*
 * Verification of a perf.data: everything that the reader accepts and that is wrong all the same.
 * One line for each error, with its offset.
 */
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#include "data_read.h"

/* Bytes of an AUXTRACE record up to the CPU. */
#define AUXTRACE_SIZE	44

/**
 * struct verifier - state of a verification
 * @out: output
 * @info: the file
 * @verdict: counts
 * @max_lines: errors that are printed at most; the others are counted
 * @newest: time of the newest record
 * @this_round: time of the newest record when the last round ended
 * @last_round: the same of the round before
 * @auxtrace: AUXTRACE records so far that the index has to have
 * @known_ids: ids of all events, sorted
 * @nr_ids: number of them
 */
struct verifier {
	FILE *out;
	const struct tally_info *info;
	struct tally_verdict *verdict;
	unsigned int max_lines;
	u64 newest;
	u64 this_round;
	u64 last_round;
	u64 auxtrace;
	u64 *known_ids;
	u64 nr_ids;
};

/**
 * struct extent - a part of a file, for finding those that overlap
 * @section: where it is
 * @name: name for messages
 */
struct extent {
	struct tally_section section;
	const char *name;
};

static void TALLY_PRINTF(3, 4) verify_say(struct verifier *verifier, u64 offset,
					  const char *fmt, ...)
{
	va_list ap;

	if (++verifier->verdict->errors > verifier->max_lines)
		return;
	fprintf(verifier->out, "at offset %#llx: ", offset);
	va_start(ap, fmt);
	vfprintf(verifier->out, fmt, ap);
	va_end(ap);
	putc('\n', verifier->out);
}

static void verify_print(struct verifier *verifier, const struct tally_error *err)
{
	if (++verifier->verdict->errors <= verifier->max_lines)
		fprintf(verifier->out, "%s\n", err->text);
}

static int extent_compare(const void *left, const void *right)
{
	const struct extent *a = left, *b = right;

	if (a->section.offset != b->section.offset)
		return a->section.offset < b->section.offset ? -1 : 1;
	return a->section.size < b->section.size ? -1 : a->section.size > b->section.size;
}

static void verify_overlap(struct verifier *verifier, struct extent *extents, size_t nr)
{
	qsort(extents, nr, sizeof(*extents), extent_compare);
	for (size_t i = 1; i < nr; i++) {
		const struct tally_section *before = &extents[i - 1].section;

		if (before->offset + before->size > extents[i].section.offset)
			verify_say(verifier, extents[i].section.offset,
				   "\"%s\" begins inside \"%s\", which ends at %#llx",
				   extents[i].name, extents[i - 1].name,
				   before->offset + before->size);
	}
}

static void verify_extents(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;
	const struct tally_file_header *header = &info->header;
	struct extent extents[TALLY_FEAT_BITS + 4] = {
		{ { 0, header->size }, "header" },
		{ header->attrs, "attrs" },
		{ header->data, "data" },
	};
	size_t nr = 3;
	u64 table = 0;

	for (u32 i = 0; i < TALLY_FEAT_BITS; i++) {
		if (!(header->flags[i / 64] >> i % 64 & 1))
			continue;
		table += sizeof(struct tally_section);
		if (info->sections[i].size)
			extents[nr++] = (struct extent){ info->sections[i], tally_feature_name(i) };
	}
	if (header->data.size)
		extents[nr++] = (struct extent){
			{ header->data.offset + header->data.size, table }, "table of sections",
		};
	verify_overlap(verifier, extents, nr);
}

static void verify_header(struct verifier *verifier)
{
	const struct tally_file_header *header = &verifier->info->header;
	u64 size = verifier->info->file_size;

	if (header->size != sizeof(*header))
		verify_say(verifier, offsetof(struct tally_file_header, size),
			   "the header has %llu bytes, not %zu", header->size, sizeof(*header));
	if (!header->attrs.size)
		verify_say(verifier, offsetof(struct tally_file_header, attrs), "no attrs");
	if (!header->data.size && header->data.offset != size && !verifier->info->finished)
		verify_say(verifier, offsetof(struct tally_file_header, data),
			   "the file was not finished: its data have no size");
	if (header->data.size > size - header->data.offset)
		verify_say(verifier, offsetof(struct tally_file_header, data),
			   "data at %#llx, %llu bytes: the file ends at %#llx",
			   header->data.offset, header->data.size, size);
	for (u32 i = 0; i < TALLY_FEAT_BITS; i++)
		if (header->flags[i / 64] >> i % 64 & 1 && (!i || i >= TALLY_FEAT_END))
			verify_say(verifier,
				   offsetof(struct tally_file_header, flags) + i / 64 * sizeof(u64),
				   "feature %u is not known", i);
	verify_extents(verifier);
}

static void verify_attr(struct verifier *verifier, const struct tally_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	u64 at = event->attr_offset;

	if (event->newer)
		verify_say(verifier, at, "event %u: the attr has fields that are not known",
			   event->index);
	if (attr->__reserved_1 || attr->__reserved_2 || attr->__reserved_3)
		verify_say(verifier, at, "event %u: reserved bits are set", event->index);
	if (attr->sample_type & ~(PERF_SAMPLE_MAX - 1ULL))
		verify_say(verifier, at + offsetof(struct perf_event_attr, sample_type),
			   "event %u: unknown bits in sample_type %#llx", event->index,
			   attr->sample_type);
	if (attr->read_format & ~(PERF_FORMAT_MAX - 1ULL))
		verify_say(verifier, at + offsetof(struct perf_event_attr, read_format),
			   "event %u: unknown bits in read_format %#llx", event->index,
			   attr->read_format);
	if (attr->sample_stack_user % sizeof(u64))
		verify_say(verifier, at + offsetof(struct perf_event_attr, sample_stack_user),
			   "event %u: sample_stack_user %u is not a multiple of 8", event->index,
			   attr->sample_stack_user);
}

static int id_compare(const void *left, const void *right)
{
	u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return a < b ? -1 : a > b;
}

static void verify_ids(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;
	u64 nr = 0;

	for (u32 i = 0; i < info->nr_events; i++)
		nr += info->events[i]->nr_ids;
	verifier->known_ids = malloc(nr * sizeof(u64) ?: 1);
	if (!verifier->known_ids)
		return;
	for (u32 i = 0; i < info->nr_events; i++) {
		memcpy(verifier->known_ids + verifier->nr_ids, info->events[i]->ids,
		       info->events[i]->nr_ids * sizeof(u64));
		verifier->nr_ids += info->events[i]->nr_ids;
	}
	qsort(verifier->known_ids, nr, sizeof(u64), id_compare);
	for (u64 i = 1; i < nr; i++)
		if (verifier->known_ids[i] && verifier->known_ids[i] == verifier->known_ids[i - 1])
			verify_say(verifier, info->header.attrs.offset,
				   "id %llu belongs to two events", verifier->known_ids[i]);
}

static void verify_event_desc(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;
	const struct tally_value *desc = info->features.values[TALLY_FEAT_EVENT_DESC];
	u64 at = info->sections[TALLY_FEAT_EVENT_DESC].offset;

	if (desc && desc[0].number != info->nr_events)
		verify_say(verifier, at, "%llu events are described, there are %u attrs",
			   desc[0].number, info->nr_events);
}

static void verify_group_desc(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;
	const struct tally_value *groups = info->features.values[TALLY_FEAT_GROUP_DESC];
	u64 at = info->sections[TALLY_FEAT_GROUP_DESC].offset;

	for (u64 i = 0; groups && i < groups[1].number; i++) {
		const struct tally_value *row = groups[1].rows + i * 3;

		if (row[1].number + row[2].number > info->nr_events)
			verify_say(verifier, at,
				   "group %llu: events %llu to %llu, there are %u attrs", i,
				   row[1].number, row[1].number + row[2].number - 1,
				   info->nr_events);
	}
}

static void verify_cpus(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;
	const struct tally_value *cpus = info->features.values[TALLY_FEAT_NRCPUS];

	if (cpus && cpus[1].number > cpus[0].number)
		verify_say(verifier, info->sections[TALLY_FEAT_NRCPUS].offset,
			   "%llu CPUs online of %llu", cpus[1].number, cpus[0].number);
}

static void verify_features(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;

	for (u32 i = 0; i < info->nr_errors; i++)
		verify_print(verifier, &info->errors[i].err);
	for (u32 i = 0; i < TALLY_FEAT_END; i++) {
		const struct tally_section *section = &info->sections[i];

		if (info->features.values[i] && !info->pipe && info->used[i] < section->size)
			verify_say(verifier, section->offset + info->used[i],
				   "section \"%s\": %llu bytes without a meaning",
				   tally_feature_name(i), section->size - info->used[i]);
	}
	verify_event_desc(verifier);
	verify_group_desc(verifier);
	verify_cpus(verifier);
}

static void verify_fault(struct verifier *verifier, const struct tally_record *record,
			 unsigned int at, const char *what)
{
	const char *name = tally_record_name(record->header->type);
	char inner[64] = "";

	if (record->inner)
		snprintf(inner, sizeof(inner), ", at byte %#llx of the contents", record->inner);
	verify_say(verifier, record->offset + (record->inner ? 0 : at), "%s record%s: %s",
		   name ?: "unknown", inner, what);
}

static void verify_record_id(struct verifier *verifier, const struct tally_record *record, u64 id)
{
	if (!id || !verifier->known_ids || !verifier->nr_ids)
		return;
	if (!bsearch(&id, verifier->known_ids, verifier->nr_ids, sizeof(id), id_compare))
		verify_fault(verifier, record, 0, "its id belongs to no event");
}

/* A CPU beyond those available, a time before the rounds that have ended. */
static void verify_sample(struct verifier *verifier, const struct tally_record *record,
			  const struct tally_sample *sample)
{
	const struct tally_features *features = &verifier->info->features;

	verify_record_id(verifier, record, sample->id);
	if (sample->cpu != (u32)-1 && features->nr_cpus && sample->cpu >= features->nr_cpus)
		verify_fault(verifier, record, 0, "its CPU is beyond those of section \"cpus\"");
	if (!sample->time || sample->time == ~0ULL)
		return;
	if (sample->time < verifier->last_round)
		verify_fault(verifier, record, 0, "older than a round that has ended");
	if (sample->time > verifier->newest)
		verifier->newest = sample->time;
}

static void verify_auxtrace(struct verifier *verifier, const struct tally_record *record)
{
	const struct tally_value *index =
		verifier->info->features.values[TALLY_FEAT_AUXTRACE];
	const u64 *words = (const u64 *)(record->header + 1);
	u64 number = verifier->auxtrace;

	if (record->header->size < AUXTRACE_SIZE)
		return;
	verifier->verdict->aux += words[0];
	if (words[0] % sizeof(u64))
		verify_fault(verifier, record, sizeof(*record->header),
			     "the size of its piece is not a multiple of 8");
	if (!index || record->file)
		return;
	verifier->auxtrace++;
	if (number >= index[1].number)
		verify_fault(verifier, record, 0, "not in the auxtrace index");
	else if (index[1].rows[number * 2].number != record->offset)
		verify_fault(verifier, record, 0, "elsewhere by the auxtrace index");
	else if (index[1].rows[number * 2 + 1].number != record->header->size)
		verify_fault(verifier, record, sizeof(*record->header),
			     "of another size by the auxtrace index");
}

static void verify_contents(struct verifier *verifier, const struct tally_record *record)
{
	const struct perf_event_header *header = record->header;
	const struct perf_event_attr *attr = record->event ? &record->event->attr : NULL;
	struct tally_fault fault = {};
	struct tally_sample sample;

	if (record->swap_fault) {
		verify_fault(verifier, record, record->swap_at, record->swap_fault);
		return;
	}
	if (tally_record_verify(header, attr, &fault)) {
		verify_fault(verifier, record, fault.at, fault.what);
		return;
	}
	if (!attr)
		return;
	if (header->type == PERF_RECORD_SAMPLE) {
		if (!tally_sample_parse(&sample, attr, header, &fault))
			verify_sample(verifier, record, &sample);
	} else if (attr->sample_id_all && !tally_sample_id(&sample, attr, header, &fault)) {
		verify_sample(verifier, record, &sample);
	}
}

static void verify_round(struct verifier *verifier)
{
	verifier->last_round = verifier->this_round;
	verifier->this_round = verifier->newest;
}

static void verify_record(struct verifier *verifier, const struct tally_record *record)
{
	const struct perf_event_header *header = record->header;
	const u64 *words = (const u64 *)(header + 1);

	verifier->verdict->records++;
	if (!tally_record_name(header->type)) {
		verify_fault(verifier, record, 0, "its type is not known");
		return;
	}
	if (header->size % sizeof(u64) && header->type < TALLY_RECORD_HEADER_ATTR)
		verify_fault(verifier, record, 6, "its size is not a multiple of 8");
	if (header->type < TALLY_RECORD_HEADER_ATTR && !record->event)
		verify_fault(verifier, record, 0, "before any event");
	verify_contents(verifier, record);
	if (header->type == PERF_RECORD_SAMPLE)
		verifier->verdict->samples++;
	else if (header->type == PERF_RECORD_LOST && header->size >= 24)
		verifier->verdict->lost += words[1];
	else if (header->type == PERF_RECORD_LOST_SAMPLES && header->size >= 16)
		verifier->verdict->lost += words[0];
	else if (header->type == TALLY_RECORD_FINISHED_ROUND)
		verify_round(verifier);
	else if (header->type == TALLY_RECORD_AUXTRACE)
		verify_auxtrace(verifier, record);
}

static void verify_end(struct verifier *verifier)
{
	const struct tally_info *info = verifier->info;
	const struct tally_value *index = info->features.values[TALLY_FEAT_AUXTRACE];

	if (info->pipe) {
		verify_features(verifier);
		for (u32 i = 0; i < info->nr_events; i++)
			verify_attr(verifier, info->events[i]);
	}
	if (index && index[1].number > verifier->auxtrace)
		verify_say(verifier, info->sections[TALLY_FEAT_AUXTRACE].offset,
			   "the index has %llu pieces, there are %llu AUXTRACE records",
			   index[1].number, verifier->auxtrace);
}

static void verify_records(struct verifier *verifier, struct tally_reader *reader)
{
	struct tally_error err;
	struct tally_record record;
	int ret;

	for (;;) {
		ret = tally_reader_next(reader, &record, &err);
		if (ret <= 0)
			break;
		verify_record(verifier, &record);
	}
	if (ret)
		verify_print(verifier, &err);
}

/**
 * tally_verify - verify a perf.data
 * @out: one line for each error
 * @path: file, directory, or "-"
 * @max_lines: errors that are printed at most
 * @verdict: set to what was found
 *
 * Return: 0 if nothing is wrong, -EBADMSG if something is; another negative errno if the file
 * cannot be read.
 */
int tally_verify(FILE *out, const char *path, unsigned int max_lines,
		 struct tally_verdict *verdict)
{
	struct verifier verifier = { .out = out, .verdict = verdict, .max_lines = max_lines };
	struct tally_reader *reader;
	struct tally_error err;
	int ret;

	*verdict = (struct tally_verdict){};
	ret = tally_reader_open(&reader, path, &err);
	if (ret) {
		verify_print(&verifier, &err);
		return ret;
	}
	verifier.info = tally_reader_info(reader);
	if (!verifier.info->pipe) {
		verify_header(&verifier);
		for (u32 i = 0; i < verifier.info->nr_events; i++)
			verify_attr(&verifier, verifier.info->events[i]);
		verify_features(&verifier);
		verify_ids(&verifier);
	}
	verify_records(&verifier, reader);
	verify_end(&verifier);
	free(verifier.known_ids);
	tally_reader_close(reader);
	return verdict->errors ? -EBADMSG : 0;
}
