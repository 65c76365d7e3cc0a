// SPDX-License-Identifier: GPL-2.0
/* What the writer writes is what the reader reads: sections, records, all forms of a file. */
#include "swap.h"
#include "verify.h"

#include <sys/stat.h>

static struct made made;
static char folder[] = "/tmp/tally-roundtrip-XXXXXX";
static char path[sizeof(folder) + 32];

static const char *path_of(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static bool reader_refuses(const char *name, struct tally_reader **reader)
{
	struct tally_error err;

	if (!tally_reader_open(reader, path_of(name), &err))
		return false;
	ktap_note("%s: %s", name, err.text);
	return true;
}

/* The records of a file, without those that the writer adds, one after another. */
static struct tally_buf kernel_records(struct tally_reader *reader, bool sorted)
{
	u32 several = tally_reader_info(reader)->nr_files;
	struct tally_buf buf = {};
	struct tally_record record;
	struct tally_error err;
	int ret;

	while ((ret = sorted ? tally_reader_sorted(reader, &record, &err) :
			       tally_reader_next(reader, &record, &err)) > 0) {
		u32 type = record.header->type;

		if (record.swap_fault)
			ktap_note("swap: %s at %u", record.swap_fault, record.swap_at);
		if (type == TALLY_RECORD_FINISHED_ROUND && (sorted || several > 1) && !record.file)
			continue;
		if (type < TALLY_RECORD_HEADER_ATTR || made_has_type(type))
			tally_buf_put(&buf, record.header, record.header->size);
	}
	if (ret < 0)
		ktap_note("%s", err.text);
	return buf;
}

static bool attrs_are_equal(const struct tally_info *info)
{
	bool good = info->nr_events == MADE_EVENTS;

	for (u32 i = 0; good && i < info->nr_events; i++) {
		struct perf_event_attr attr = info->events[i]->attr;

		attr.size = made.attrs[i].size;
		good = !memcmp(&attr, &made.attrs[i], sizeof(attr)) &&
		       !strcmp(info->events[i]->name, made_names[i]) &&
		       info->events[i]->nr_ids == MADE_IDS &&
		       !memcmp(info->events[i]->ids, made.ids[i], sizeof(made.ids[i]));
		if (!good)
			ktap_note("event %u differs", i);
	}
	return good;
}

static bool section_is_equal(const struct tally_info *info, u32 feature)
{
	const struct tally_buf *expected = &made.sections[feature];
	struct tally_buf read = {};
	bool good;

	if (!info->features.values[feature]) {
		ktap_note("section \"%s\" was not read", tally_feature_name(feature));
		return false;
	}
	tally_feature_encode(&read, &info->features, feature, false);
	good = read.size == expected->size &&
	       (!read.size || !memcmp(read.data, expected->data, read.size));
	if (!good)
		ktap_note("section \"%s\" differs: %zu bytes of %zu", tally_feature_name(feature),
			  read.size, expected->size);
	tally_buf_free(&read);
	return good;
}

/* In a pipe the sections are records. Those of build ids are as in the section, in its order. */
static bool pipe_is_read(struct tally_reader *reader)
{
	const struct tally_buf *expected = &made.sections[TALLY_FEAT_BUILD_ID];
	struct tally_buf ids = {};
	struct tally_record record;
	struct tally_error err;
	bool good;

	while (tally_reader_next(reader, &record, &err) > 0) {
		if (record.header->type == TALLY_RECORD_BUILD_ID)
			tally_buf_put(&ids, record.header, record.header->size);
	}
	good = ids.size == expected->size && !memcmp(ids.data, expected->data, ids.size);
	tally_buf_free(&ids);
	return good;
}

/* What @file has of the recording; NULL if it is refused, which fails the case. */
static const struct tally_info *case_info(const char *name, const char *file,
					  struct tally_reader **reader)
{
	if (!reader_refuses(file, reader))
		return tally_reader_info(*reader);
	ktap_result(false, name);
	return NULL;
}

static void case_sections(const char *name, const char *file)
{
	struct tally_reader *reader;
	const struct tally_info *info = case_info(name, file, &reader);
	char title[128];

	if (!info)
		return;
	snprintf(title, sizeof(title), "%s: build ids are read as they were written", name);
	if (info->pipe)
		ktap_result(pipe_is_read(reader), title);
	for (u32 i = 1; i < TALLY_FEAT_END; i++) {
		if (made_by_writer(i) || (info->pipe && i == TALLY_FEAT_BUILD_ID))
			continue;
		snprintf(title, sizeof(title), "%s: section \"%s\" is read as it was written", name,
			 tally_feature_name(i));
		ktap_result(section_is_equal(info, i), title);
	}
	for (u32 i = 0; i < info->nr_errors; i++)
		ktap_note("%s", info->errors[i].err.text);
	tally_reader_close(reader);
}

/* Section EVENT_DESC: attrs, ids and names once more. */
static bool events_are_described(const struct tally_info *info)
{
	const struct tally_value *desc = info->features.values[TALLY_FEAT_EVENT_DESC];
	bool good = desc && desc[0].number == MADE_EVENTS && desc[2].number == MADE_EVENTS;

	for (u32 i = 0; good && i < MADE_EVENTS; i++) {
		const struct tally_value *row = desc[2].rows + 4 * i;
		struct perf_event_attr attr = *(const struct perf_event_attr *)row[0].bytes;

		attr.size = made.attrs[i].size;
		good = !memcmp(&attr, &made.attrs[i], sizeof(attr)) && row[1].number == MADE_IDS &&
		       !strcmp((const char *)row[2].bytes, made_names[i]);
		for (u32 k = 0; good && k < MADE_IDS; k++)
			good = row[3].rows[k].number == made.ids[i][k];
	}
	return good;
}

/* Section AUXTRACE: the place and the size of each of these records, without its piece. */
static bool pieces_are_indexed(struct tally_reader *reader)
{
	const struct tally_info *info = tally_reader_info(reader);
	const struct tally_value *index = info->features.values[TALLY_FEAT_AUXTRACE];
	struct tally_record record;
	struct tally_error err;
	u64 found = 0;

	while (index && tally_reader_next(reader, &record, &err) > 0) {
		const struct tally_value *row = index[1].rows + 2 * found;

		if (record.header->type != TALLY_RECORD_AUXTRACE)
			continue;
		if (found++ >= index[1].number || row[0].number != record.offset ||
		    row[1].number != record.header->size)
			return false;
	}
	return index && found == 1 && index[0].number == 1;
}

/* Section COMPRESSED: version, zstd, level, ratio, size of a buffer. */
static bool compression_is(const struct tally_info *info, u64 level)
{
	const struct tally_value *value = info->features.values[TALLY_FEAT_COMPRESSED];

	if (!level)
		return !value;
	return value && value[0].number == 1 && value[1].number == 1 && value[2].number == level &&
	       value[3].number >= 1 && value[4].number;
}

static bool directory_is(const struct tally_info *info, bool directory)
{
	const struct tally_value *value = info->features.values[TALLY_FEAT_DIR_FORMAT];

	return directory ? value && value[0].number == 1 : !value;
}

/* Sections that the writer makes. */
static void case_made_by_writer(const char *name, const char *file, u64 level, bool directory)
{
	struct tally_reader *reader;
	const struct tally_info *info = case_info(name, file, &reader);
	char title[128];

	if (!info)
		return;
	snprintf(title, sizeof(title), "%s: section \"events\" has attrs, ids and names", name);
	ktap_result(events_are_described(info), title);
	snprintf(title, sizeof(title), "%s: section \"compression\"", name);
	ktap_result(compression_is(info, level), title);
	snprintf(title, sizeof(title), "%s: section \"directory format\"", name);
	ktap_result(directory_is(info, directory), title);
	snprintf(title, sizeof(title), "%s: section \"auxtrace index\" has each piece", name);
	if (!directory)
		ktap_result(pieces_are_indexed(reader), title);
	tally_reader_close(reader);
}

static void case_records(const char *name, const char *file)
{
	struct tally_verdict verdict;
	struct tally_reader *reader;
	struct tally_buf read;
	char title[128];
	bool good;

	if (reader_refuses(file, &reader)) {
		ktap_result(false, name);
		return;
	}
	read = kernel_records(reader, false);
	good = read.size == made.records.size && !memcmp(read.data, made.records.data, read.size);
	if (!good)
		ktap_note("%zu bytes of %zu", read.size, made.records.size);
	snprintf(title, sizeof(title), "%s: records are read as they were written", name);
	ktap_result(good, title);
	snprintf(title, sizeof(title), "%s: attrs, names and ids are read as they were written",
		 name);
	ktap_result(attrs_are_equal(tally_reader_info(reader)), title);
	tally_buf_free(&read);
	tally_reader_close(reader);
	snprintf(title, sizeof(title), "%s: verified without an error", name);
	ktap_result(!tally_verify(stdout, path_of(file), 10, &verdict), title);
}

static u64 sample_time(const struct perf_event_header *header)
{
	return ((const u64 *)header)[4];
}

static void case_sorted(const char *name, const char *file)
{
	struct tally_reader *reader;
	struct tally_buf read;
	u64 last = 0, samples = 0;
	char title[128];
	bool good = true;

	if (reader_refuses(file, &reader)) {
		ktap_result(false, name);
		return;
	}
	read = kernel_records(reader, true);
	for (size_t at = 0; at < read.size;) {
		const struct perf_event_header *header = (void *)(read.data + at);

		if (header->type == PERF_RECORD_SAMPLE) {
			good &= sample_time(header) >= last;
			last = sample_time(header);
			samples++;
		}
		at += header->size;
	}
	snprintf(title, sizeof(title), "%s: %llu samples by time", name, samples);
	ktap_result(good && samples == 6 * 40, title);
	tally_buf_free(&read);
	tally_reader_close(reader);
}

static void write_bytes(const char *name, const struct tally_buf *buf)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, buf->data, buf->size) != (ssize_t)buf->size)
		ktap_bail_out(name);
	close(fd);
}

static void make_swapped(const char *file, const char *swapped)
{
	struct tally_buf buf = swap_file(path_of(file));

	write_bytes(swapped, &buf);
	tally_buf_free(&buf);
}

/* A file and a pipe of the other byte order. Raw bytes and text are those of the first. */
static void case_swapped(void)
{
	make_swapped("file", "swapped");
	case_made_by_writer("other byte order", "swapped", 0, false);
	case_records("other byte order", "swapped");
	case_sections("other byte order", "swapped");
	make_swapped("pipe", "swapped-pipe");
	case_records("pipe of the other byte order", "swapped-pipe");
	case_sections("pipe of the other byte order", "swapped-pipe");
}

static bool topology_is_read(unsigned int revision, bool swap)
{
	struct tally_features features = { .nr_cpus = 4 };
	struct tally_section_data section = {};
	struct tally_buf buf = {}, other = {};
	struct tally_error err = {};
	ssize_t used;
	bool good;

	made_topology(&buf, revision);
	section.data = buf.data;
	section.size = buf.size;
	used = tally_feature_decode(&features, TALLY_FEAT_CPU_TOPOLOGY, &section, &err);
	if (swap && used == (ssize_t)buf.size) {
		tally_feature_encode(&other, &features, TALLY_FEAT_CPU_TOPOLOGY, true);
		section = (struct tally_section_data){ other.data, other.size, 0, true };
		used = tally_feature_decode(&features, TALLY_FEAT_CPU_TOPOLOGY, &section, &err);
	}
	good = used == (ssize_t)buf.size &&
	       features.values[TALLY_FEAT_CPU_TOPOLOGY][4].number == (revision > 1) &&
	       features.values[TALLY_FEAT_CPU_TOPOLOGY][6].number == (revision > 2);
	if (!good)
		ktap_note("revision %u: %zd of %zu bytes: %s", revision, used, buf.size, err.text);
	tally_buf_free(&buf);
	tally_buf_free(&other);
	tally_features_free(&features);
	return good;
}

static void case_revisions(void)
{
	for (unsigned int i = 1; i <= 3; i++) {
		char title[64];

		snprintf(title, sizeof(title), "revision %u of the topology", i);
		ktap_result(topology_is_read(i, false) && topology_is_read(i, true), title);
	}
}

/* A section that ends too early is refused at each of its bytes, with an offset inside it. */
static bool cut_section_is_refused(u32 feature)
{
	const struct tally_buf *whole = &made.sections[feature];
	const u64 place = 0x1000;
	bool good = true;

	for (size_t size = 0; size < whole->size && good; size++) {
		struct tally_features features = { .nr_cpus = 4 };
		struct tally_section_data section = { whole->data, size, place, false };
		struct tally_error err = {};
		ssize_t used = tally_feature_decode(&features, feature, &section, &err);

		good = used < 0 ? err.offset >= place && err.offset <= place + size :
				  (size_t)used <= size;
		tally_features_free(&features);
	}
	return good;
}

static void case_cut_sections(void)
{
	bool good = true;

	for (u32 i = 1; i < TALLY_FEAT_END; i++)
		good &= cut_section_is_refused(i);
	ktap_result(good, "a section that ends too early is refused where it ends");
}

static void case_old_attr(void)
{
	struct perf_event_attr attr = { .type = 1, .size = PERF_ATTR_SIZE_VER0, .precise_ip = 1 };
	struct perf_event_attr read;
	u8 data[PERF_ATTR_SIZE_VER0];

	memcpy(data, &attr, sizeof(data));
	ktap_result(!tally_attr_read(&read, data, sizeof(data), false) &&
		    !memcmp(&read, &attr, sizeof(read)), "an attr of the first size");
	tally_attr_swap(&attr, false);
	memcpy(data, &attr, sizeof(data));
	ktap_result(!tally_attr_read(&read, data, sizeof(data), true) && read.precise_ip == 1 &&
		    read.type == 1, "an attr of the first size, in the other byte order");
}

static void write_form(const char *name, unsigned int flags, int level, bool sections)
{
	struct tally_error err;

	if (made_write(&made, path_of(name), flags, level, sections, &err))
		ktap_note("%s: %s", name, err.text);
}

/* The parts of a buffer that wraps: a small one, and one that is larger than what is collected. */
static void case_pieces(void)
{
	struct tally_buf all = {}, read = {};
	struct tally_reader *reader;
	struct tally_writer *writer;
	struct tally_stream *stream;
	struct tally_error err;

	while (all.size < 1024 * 1024)
		tally_buf_put(&all, made.records.data, made.records.size);
	if (tally_writer_open(&writer, path_of("pieces"), 0, 0, &err))
		ktap_bail_out(err.text);
	for (u32 i = 0; i < MADE_EVENTS; i++)
		tally_writer_add_attr(writer, &made.attrs[i], made_names[i], made.ids[i], MADE_IDS,
				      &err);
	stream = tally_writer_stream(writer, 0, &err);
	tally_stream_write(stream, all.data, 16);
	tally_stream_write(stream, all.data + 16, 300 * 1024);
	tally_stream_write(stream, all.data + 16 + 300 * 1024, all.size - 16 - 300 * 1024);
	if (tally_writer_finish(writer, &err))
		ktap_note("%s", err.text);
	if (!reader_refuses("pieces", &reader)) {
		read = kernel_records(reader, false);
		tally_reader_close(reader);
	}
	ktap_result(read.size == all.size && !memcmp(read.data, all.data, all.size),
		    "pieces of any size keep their order");
	tally_buf_free(&read);
	tally_buf_free(&all);
}

static void remove_all(void)
{
	static const char * const names[] = {
		"file", "pieces", "zstd", "pipe", "pipe-zstd", "swapped", "swapped-pipe",
		"dir/data", "dir/data.0", "dir-zstd/data", "dir-zstd/data.0", "dir", "dir-zstd",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (unlink(path_of(names[i])))
			rmdir(path_of(names[i]));
	rmdir(folder);
}

int main(void)
{
	ktap_start();
	if (!mkdtemp(folder))
		ktap_bail_out("mkdtemp");
	made_init(&made, 40);
	write_form("file", 0, 0, true);
	write_form("pipe", TALLY_WRITE_PIPE, 0, true);
	write_form("dir", TALLY_WRITE_DIR, 0, true);
	case_sections("file", "file");
	case_made_by_writer("file", "file", 0, false);
	case_records("file", "file");
	case_sorted("file", "file");
	case_sections("pipe", "pipe");
	case_records("pipe", "pipe");
	case_sorted("pipe", "pipe");
	case_sections("directory", "dir");
	case_made_by_writer("directory", "dir", 0, true);
	case_records("directory", "dir");
	case_sorted("directory", "dir");
	case_swapped();
#ifdef HAVE_ZSTD
	write_form("zstd", 0, 3, true);
	write_form("pipe-zstd", TALLY_WRITE_PIPE, 1, true);
	write_form("dir-zstd", TALLY_WRITE_DIR, 1, true);
	case_sections("compressed file", "zstd");
	case_made_by_writer("compressed file", "zstd", 3, false);
	case_records("compressed file", "zstd");
	case_sorted("compressed file", "zstd");
	case_records("compressed pipe", "pipe-zstd");
	case_records("compressed directory", "dir-zstd");
#endif
	case_revisions();
	case_cut_sections();
	case_old_attr();
	case_pieces();
	made_free(&made);
	remove_all();
	return ktap_finish();
}
