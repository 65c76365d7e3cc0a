/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading perf.data: a file, a pipe or a directory, of either byte order.
 *
 *	tally_reader_open()
 *	tally_reader_next()	until it returns 0: in the order of the file
 *	tally_reader_sorted()	or this instead: by time
 *	tally_reader_close()
 *
 * Memory: a window of each file, one uncompressed record of a compressed file, and, where sorted,
 * the records of two rounds, at most SORT_LIMIT bytes.
 *
 * Compressed records are read as those that they contain. Records with attrs, features and names of
 * events are followed, and returned as well. The data behind TRACING_DATA and AUXTRACE are skipped.
 */
#ifndef TALLY_DATA_READ_H
#define TALLY_DATA_READ_H

#include "feature.h"
#include "sample.h"
#include "tally.h"

struct tally_reader;

/**
 * struct tally_event - an event of a file
 * @attr: attr in host order, zero beyond the size that it has in the file
 * @index: number, from 0
 * @name: name for reports
 * @ids: ids of its instances
 * @nr_ids: number of them
 * @attr_offset: where the attr is in the file
 * @newer: the file's attr has a field that is not known here
 */
struct tally_event {
	struct perf_event_attr attr;
	u32 index;
	char *name;
	u64 *ids;
	u64 nr_ids;
	u64 attr_offset;
	bool newer;
};

/**
 * struct tally_record - a record that was read
 * @header: the record in host order, aligned to 8 bytes; valid until the next is read
 * @event: event that it belongs to; NULL for records of tools and where there is none
 * @offset: where it is in the file, or where the compressed record is that contains it
 * @inner: its place in the contents of that record; 0 where not compressed
 * @file: number of the file in a directory; 0 is "data"
 * @swap_fault: the record could not be converted from the other byte order: what is wrong; NULL
 * @swap_at: byte of the record at which it is wrong
 */
struct tally_record {
	const struct perf_event_header *header;
	const struct tally_event *event;
	u64 offset;
	u64 inner;
	u32 file;
	const char *swap_fault;
	u32 swap_at;
};

/**
 * struct tally_section_error - a feature section that was refused
 * @feature: number of the feature
 * @err: why
 */
struct tally_section_error {
	u32 feature;
	struct tally_error err;
};

/**
 * struct tally_info - what is known of a file
 * @path: path as it was opened
 * @header: header of a file, in host order; only magic and size are set for a pipe
 * @file_size: bytes; 0 for a pipe
 * @pipe: it is in the form of a pipe
 * @swap: it is of the other byte order
 * @finished: its writer completed it
 * @nr_files: files with records: 1, or more in a directory
 * @sections: of the features, by number; size 0 where missing
 * @features: contents of the sections
 * @used: bytes of each section that have a meaning
 * @errors: sections that were refused
 * @nr_errors: number of them
 * @events: events, by number
 * @nr_events: number of them
 */
struct tally_info {
	const char *path;
	struct tally_file_header header;
	u64 file_size;
	bool pipe;
	bool swap;
	bool finished;
	u32 nr_files;
	struct tally_section sections[TALLY_FEAT_BITS];
	struct tally_features features;
	u64 used[TALLY_FEAT_END];
	struct tally_section_error errors[TALLY_FEAT_END];
	u32 nr_errors;
	struct tally_event **events;
	u32 nr_events;
};

int tally_reader_open(struct tally_reader **reader, const char *path, struct tally_error *err);
const struct tally_info *tally_reader_info(const struct tally_reader *reader);
int tally_reader_next(struct tally_reader *reader, struct tally_record *record,
		      struct tally_error *err);
int tally_reader_sorted(struct tally_reader *reader, struct tally_record *record,
			struct tally_error *err);
void tally_reader_close(struct tally_reader *reader);

bool tally_feature_present(const struct tally_info *info, u32 feature);
u64 tally_reader_progress(const struct tally_reader *reader, u64 *total);

#endif /* TALLY_DATA_READ_H */
