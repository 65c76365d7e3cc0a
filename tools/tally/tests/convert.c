// SPDX-License-Identifier: GPL-2.0
/*
 * usage: convert FORM FROM TO - write the events, records and sections of a file with the writer
 *
 * FORM is file, zstd, pipe, pipe-zstd, dir or swapped (of the other byte order). Scripts use this
 * to have files that the writer wrote from files that perf wrote. Without arguments the program is
 * no test: it prints that it was skipped.
 */
#include "swap.h"

static const struct {
	const char *name;
	unsigned int flags;
	int level;
} convert_forms[] = {
	{ "file", 0, 0 },
	{ "zstd", 0, 1 },
	{ "pipe", TALLY_WRITE_PIPE, 0 },
	{ "pipe-zstd", TALLY_WRITE_PIPE, 1 },
	{ "dir", TALLY_WRITE_DIR, 0 },
};

static bool convert_takes(u32 type)
{
	switch (type) {
	case TALLY_RECORD_HEADER_ATTR:
	case TALLY_RECORD_FEATURE:
	case TALLY_RECORD_TRACING_DATA:
	case TALLY_RECORD_AUXTRACE:
		return false;
	default:
		return true;
	}
}

static void convert_start(struct tally_writer *writer, const struct tally_info *info)
{
	struct tally_error err;

	for (u32 i = 0; i < info->nr_events; i++) {
		const struct tally_event *event = info->events[i];

		tally_writer_add_attr(writer, &event->attr, event->name, event->ids, event->nr_ids,
				      &err);
	}
	for (u32 i = 1; i < TALLY_FEAT_END; i++) {
		struct tally_buf buf = {};

		if (!info->features.values[i] || made_by_writer(i))
			continue;
		tally_feature_encode(&buf, &info->features, i, false);
		if (tally_writer_feature(writer, i, buf.data, buf.size, &err))
			fprintf(stderr, "%s\n", err.text);
		tally_buf_free(&buf);
	}
}

static int convert(const char *from, const char *to, unsigned int flags, int level,
		   struct tally_error *err)
{
	struct tally_stream *stream = NULL;
	struct tally_reader *reader;
	struct tally_writer *writer;
	struct tally_record record;
	int ret = tally_reader_open(&reader, from, err) ?:
		  tally_writer_open(&writer, to, flags, level, err);

	if (ret)
		return ret;
	while ((ret = tally_reader_next(reader, &record, err)) > 0) {
		if (!convert_takes(record.header->type))
			continue;
		if (!stream) {
			convert_start(writer, tally_reader_info(reader));
			stream = tally_writer_stream(writer, flags & TALLY_WRITE_DIR ? 1 : 0, err);
		}
		tally_stream_write(stream, record.header, record.header->size);
	}
	tally_reader_close(reader);
	return tally_writer_finish(writer, err) ?: ret;
}

static int convert_swapped(const char *from, const char *to)
{
	struct tally_buf buf = swap_file(from);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	return !buf.size || fd < 0 || write(fd, buf.data, buf.size) != (ssize_t)buf.size;
}

int main(int argc, char **argv)
{
	struct tally_error err;

	if (argc != 4) {
		ktap_start();
		ktap_skip("convert", "a tool of other tests");
		return ktap_finish();
	}
	if (!strcmp(argv[1], "swapped"))
		return convert_swapped(argv[2], argv[3]);
	for (size_t i = 0; i < ARRAY_SIZE(convert_forms); i++) {
		if (strcmp(argv[1], convert_forms[i].name))
			continue;
		if (!convert(argv[2], argv[3], convert_forms[i].flags, convert_forms[i].level,
			     &err))
			return 0;
		fprintf(stderr, "convert: %s\n", err.text);
	}
	return 1;
}
