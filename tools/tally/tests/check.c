// SPDX-License-Identifier: GPL-2.0
/*
 * Each message of "tally check", and each refusal of the reader: a file that is wrong in one place
 * gives the line that names it, with the offset of that place.
 */
#include "made.h"
#include "verify.h"

#include <fnmatch.h>
#include <sys/mman.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define HEADER_AT(member)	offsetof(struct tally_file_header, member)
#define ATTR_AT(member)		offsetof(struct perf_event_attr, member)
#define LINES			200

/* What an offset is relative to. */
enum place {
	PLACE_FILE,	/* the begin of the file */
	PLACE_ATTR,	/* the attr of an event */
	PLACE_ENTRY,	/* the entry of a section in the table of these */
	PLACE_SECTION,	/* a section */
	PLACE_RECORD,	/* the first record of a type; the last one from LAST on */
};

#define LAST		0x10000

/**
 * struct refusal - a file that is wrong in one place
 * @says: the message; a pattern of fnmatch(3), so that numbers that depend on the file are left out
 * @place: what @at is relative to
 * @which: event, section or type of record
 * @at: where bytes are changed
 * @size: number of these bytes; 0: the file ends at @at
 * @value: their value
 * @says_at: offset in the message, relative to the same place
 */
struct refusal {
	const char *says;
	enum place place;
	u32 which;
	s32 at;
	u32 size;
	u64 value;
	s32 says_at;
};

static struct tally_buf base, piped;
static char check_path[64];
static int check_fd;

static const struct tally_file_header *base_header(void)
{
	return (const void *)base.data;
}

static u64 section_entry(u32 feature)
{
	u64 at = base_header()->data.offset + base_header()->data.size;

	for (u32 i = 0; i < feature; i++)
		at += (base_header()->flags[0] >> i & 1) * sizeof(struct tally_section);
	return at;
}

/* Records from @at on. */
static u64 record_at(const struct tally_buf *buf, u64 at, u64 end, u32 which)
{
	const struct perf_event_header *header;
	u64 found = 0;

	for (; at < end; at += header->size) {
		header = (const void *)(buf->data + at);
		if (header->type == (which & ~LAST))
			found = at;
		if (found && !(which & LAST))
			return found;
		if (header->type == TALLY_RECORD_AUXTRACE ||
		    header->type == TALLY_RECORD_TRACING_DATA)
			at += header->type == TALLY_RECORD_AUXTRACE ? *(u64 *)(header + 1) :
				(*(u32 *)(header + 1) + 7) & ~7ULL;
	}
	if (!found)
		ktap_bail_out("no such record");
	return found;
}

static u64 place_of(enum place place, u32 which)
{
	const struct tally_file_header *header = base_header();
	u64 at;

	switch (place) {
	case PLACE_ATTR:
		return header->attrs.offset + which * header->attr_size;
	case PLACE_ENTRY:
		return section_entry(which);
	case PLACE_SECTION:
		memcpy(&at, base.data + section_entry(which), sizeof(at));
		return at;
	case PLACE_RECORD:
		return record_at(&base, header->data.offset,
				 header->data.offset + header->data.size, which);
	default:
		return 0;
	}
}

/* Is one of the lines of "tally check" this one? */
static bool check_prints(const struct tally_buf *buf, const char *line)
{
	struct tally_verdict verdict;
	char *text = NULL, *next, *save;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool found = false;
	int ret;

	if (!out || ftruncate(check_fd, 0) ||
	    pwrite(check_fd, buf->data, buf->size, 0) != (ssize_t)buf->size)
		ktap_bail_out("memfd");
	ret = tally_verify(out, check_path, LINES, &verdict);
	fclose(out);
	for (next = strtok_r(text, "\n", &save); next; next = strtok_r(NULL, "\n", &save))
		found |= !fnmatch(line, next, 0);
	if (!found && *text)
		ktap_note("says: %s", text);
	free(text);
	return found && ret == -EBADMSG && verdict.errors;
}

/* A file with bytes changed at @at, or cut there: the message has the offset @says_at. */
static void case_changed(const struct tally_buf *from, u64 at, u32 size, u64 value, u64 says_at,
			 const char *says)
{
	struct tally_buf buf = {};
	char line[256];

	tally_buf_put(&buf, from->data, from->size);
	if (size)
		memcpy(buf.data + at, &value, size);
	else
		buf.size = at;
	snprintf(line, sizeof(line), "at offset %#llx: %s", says_at, says);
	ktap_result(check_prints(&buf, line), says);
	tally_buf_free(&buf);
}

static void case_refusals(const struct refusal *refusals, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct refusal *one = &refusals[i];
		u64 place = place_of(one->place, one->which);

		case_changed(&base, place + one->at, one->size, one->value, place + one->says_at,
			     one->says);
	}
}

static const struct refusal in_headers[] = {
	{ "the file ends within its header", .says_at = 0, .at = 0 },
	{ "the file ends within its header", .at = 50, .says_at = 50 },
	{ "no perf.data: it does not begin with PERFILE2", .size = 1, .value = 'X' },
	{ "PERFFILE: this old version is not read", .size = 8, .value = 0x454c494646524550 },
	{ "a header of 40 bytes", .at = HEADER_AT(size), .size = 8, .value = 40, .says_at = 8 },
	{ "the header has 112 bytes, not 104", .at = HEADER_AT(size), .size = 8, .value = 112,
	  .says_at = HEADER_AT(size) },
	{ "attrs of 16 bytes", .at = HEADER_AT(attr_size), .size = 8, .value = 16,
	  .says_at = HEADER_AT(attr_size) },
	{ "attrs at 0x10000000, * bytes: not in the file", .at = HEADER_AT(attrs.offset),
	  .size = 8, .value = 0x10000000, .says_at = HEADER_AT(attrs) },
	{ "1000 bytes are no number of attrs of * bytes", .at = HEADER_AT(attrs.size), .size = 8,
	  .value = 1000, .says_at = HEADER_AT(attrs.size) },
	{ "no attrs", .at = HEADER_AT(attrs.size), .size = 8, .says_at = HEADER_AT(attrs) },
	{ "data at 0x10000000: not in the file", .at = HEADER_AT(data.offset), .size = 8,
	  .value = 0x10000000, .says_at = HEADER_AT(data) },
	{ "data at 0x*, 268435456 bytes: the file ends at 0x*", .at = HEADER_AT(data.size),
	  .size = 8, .value = 0x10000000, .says_at = HEADER_AT(data) },
	{ "the file was not finished: its data have no size", .at = HEADER_AT(data.size),
	  .size = 8, .says_at = HEADER_AT(data) },
	{ "feature 40 is not known", .at = HEADER_AT(flags) + 5, .size = 1, .value = 1,
	  .says_at = HEADER_AT(flags) },
	{ "id 1010 belongs to two events", PLACE_ATTR, .at = -6 * 8, .size = 8, .value = 1010 },
	{ "attr of 8 bytes, there is room for *", PLACE_ATTR, 1, ATTR_AT(size), 4, 8, 4 },
	{ "event 1: reserved bits are set", PLACE_ATTR, 1, ATTR_AT(read_format) + 15, 1, 0x80 },
	{ "event 2: unknown bits in sample_type 0x8*", PLACE_ATTR, 2, ATTR_AT(sample_type) + 7, 1,
	  0x80, ATTR_AT(sample_type) },
	{ "event 0: unknown bits in read_format 0x8*", PLACE_ATTR, 0, ATTR_AT(read_format) + 7, 1,
	  0x80, ATTR_AT(read_format) },
	{ "event 0: sample_stack_user 63 is not a multiple of 8", PLACE_ATTR, 0,
	  ATTR_AT(sample_stack_user), 4, 63, ATTR_AT(sample_stack_user) },
};

static const struct refusal in_sections[] = {
	{ "section \"hostname\" at 0x*, 268435456 bytes: not in the file", PLACE_ENTRY,
	  TALLY_FEAT_HOSTNAME, 8, 8, 0x10000000 },
	{ "section \"hostname\", field \"*\": more bytes than the section has (100000)",
	  PLACE_SECTION, TALLY_FEAT_HOSTNAME, 0, 4, 100000, 4 },
	{ "section \"hostname\", field \"*\": a string without its NUL; bytes (1)", PLACE_SECTION,
	  TALLY_FEAT_HOSTNAME, 0, 4, 1, 5 },
	{ "section \"memory topology\", field \"*\": more bits than the section has (100000)",
	  PLACE_SECTION, TALLY_FEAT_MEM_TOPOLOGY, 40, 8, 100000, 48 },
	{ "section \"numa topology\", field \"*\": more rows than the section has (100000)",
	  PLACE_SECTION, TALLY_FEAT_NUMA_TOPOLOGY, 0, 4, 100000, 4 },
	{ "section \"build ids\", field \"*\": a record larger than the section (65528)",
	  PLACE_SECTION, TALLY_FEAT_BUILD_ID, 6, 2, 65528, 8 },
	{ "section \"build ids\", field \"*\": a record smaller than its header (4)",
	  PLACE_SECTION, TALLY_FEAT_BUILD_ID, 6, 2, 4, 8 },
	{ "section \"events\", field \"*\": smaller than any attr (8)", PLACE_SECTION,
	  TALLY_FEAT_EVENT_DESC, 4, 4, 8, 8 },
	{ "2 events are described, there are 3 attrs", PLACE_SECTION, TALLY_FEAT_EVENT_DESC, 0, 4,
	  2 },
	{ "group 0: events 0 to 8, there are 3 attrs", PLACE_SECTION, TALLY_FEAT_GROUP_DESC, 76, 4,
	  9 },
	{ "5 CPUs online of 4", PLACE_SECTION, TALLY_FEAT_NRCPUS, 4, 4, 5 },
};

static const struct refusal in_records[] = {
	{ "a record of 4 bytes", PLACE_RECORD, PERF_RECORD_FORK, 6, 2, 4 },
	{ "a record of 65528 bytes where the data have *", PLACE_RECORD, TALLY_RECORD_AUXTRACE, 6,
	  2, 65528 },
	{ "268435456 bytes behind the record: not in the file", PLACE_RECORD,
	  TALLY_RECORD_AUXTRACE, 8, 8, 0x10000000 },
	{ "AUXTRACE record: the size of its piece is not a multiple of 8", PLACE_RECORD,
	  TALLY_RECORD_AUXTRACE, 8, 8, 36, 8 },
	{ "unknown record: its type is not known", PLACE_RECORD, TALLY_RECORD_FINISHED_INIT, 0, 4,
	  99 },
	{ "LOST record: its size is not a multiple of 8", PLACE_RECORD, PERF_RECORD_LOST, 6, 2, 68,
	  6 },
	{ "LOST record: too short for its type", PLACE_RECORD, PERF_RECORD_LOST, 6, 2, 64, 16 },
	{ "SWITCH record: too short for the fields of sample_id_all", PLACE_RECORD,
	  PERF_RECORD_SWITCH, 6, 2, 16 },
	{ "COMM record: a string without its NUL", PLACE_RECORD, PERF_RECORD_COMM, 23, 1, 'x',
	  16 },
	{ "COMM record: its id belongs to no event", PLACE_RECORD, PERF_RECORD_COMM, 64, 8, 999 },
	{ "COMM record: its CPU is beyond those of section \"cpus\"", PLACE_RECORD,
	  PERF_RECORD_COMM, 56, 4, 4 },
	{ "THREAD_MAP record: more entries than the record has room for", PLACE_RECORD,
	  TALLY_RECORD_THREAD_MAP, 8, 8, 100, 40 },
	{ "SAMPLE record: older than a round that has ended", PLACE_RECORD,
	  PERF_RECORD_SAMPLE | LAST, 32, 8, 1 },
};

/* What is wrong in one place of the file and reported of another. */
static void case_elsewhere(void)
{
	u64 index = place_of(PLACE_SECTION, TALLY_FEAT_AUXTRACE), data = base_header()->data.offset;
	u64 piece = place_of(PLACE_RECORD, TALLY_RECORD_AUXTRACE);
	u64 entry = place_of(PLACE_ENTRY, TALLY_FEAT_HOSTNAME);
	u64 cpus = place_of(PLACE_SECTION, TALLY_FEAT_NRCPUS);
	u64 ids = place_of(PLACE_ATTR, 1) - sizeof(struct tally_section);

	case_changed(&base, entry, 8, data + 8, data + 8,
		     "\"hostname\" begins inside \"data\", which ends at 0x*");
	case_changed(&base, place_of(PLACE_ENTRY, TALLY_FEAT_NRCPUS) + 8, 8, 16, cpus + 8,
		     "section \"cpus\": 8 bytes without a meaning");
	case_changed(&base, index, 8, 0, piece, "AUXTRACE record: not in the auxtrace index");
	case_changed(&base, index + 8, 8, 8, piece,
		     "AUXTRACE record: elsewhere by the auxtrace index");
	case_changed(&base, index + 16, 8, 88, piece + 8,
		     "AUXTRACE record: of another size by the auxtrace index");
	case_changed(&base, piece, 4, TALLY_RECORD_FINISHED_INIT, index,
		     "the index has 1 pieces, there are 0 AUXTRACE records");
	case_changed(&base, piece + 8, 8, 36, piece + 48 + 36,
		     "the data end within a record: 4 bytes");
	case_changed(&base, HEADER_AT(attrs.size), 8, 0, data, "COMM record: before any event");
	case_changed(&base, ids, 8, 0x10000000, ids,
		     "ids at 0x10000000, 16 bytes: not in file");
}

/* A pipe has its attrs and sections in records. */
static void case_pipe(void)
{
	u64 attr = record_at(&piped, 16, piped.size, TALLY_RECORD_HEADER_ATTR);
	u64 tracing = record_at(&piped, 16, piped.size, TALLY_RECORD_TRACING_DATA);

	case_changed(&piped, attr + 6, 2, 16, attr, "HEADER_ATTR of 16 bytes");
	case_changed(&piped, attr + 8 + ATTR_AT(size), 4, 8, attr + 8 + ATTR_AT(size),
		     "attr of 8 bytes, there is room for *");
	case_changed(&piped, attr + 8 + ATTR_AT(size), 4,
		     *(u32 *)(piped.data + attr + 8 + ATTR_AT(size)) + 16, attr + 8,
		     "event 0: the attr has fields that are not known");
	case_changed(&piped, tracing + 8, 4, 0x10000000, tracing,
		     "268435456 bytes behind the record: not in the file");
}

/* A file cannot be read from a pipe: its sections are behind its records. */
static void case_no_seek(void)
{
	struct tally_verdict verdict;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	char path[64];
	int fds[2];

	if (!out || pipe(fds) || write(fds[1], base.data, 4096) != 4096)
		ktap_bail_out("pipe");
	close(fds[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	tally_verify(out, path, LINES, &verdict);
	fclose(out);
	ktap_result(!strcmp(text, "at offset 0x8: a file, not a pipe: give its path\n"),
		    "a file, not a pipe: give its path");
	free(text);
	close(fds[0]);
}

/* A file of one event and of these records; a line names what is wrong in them. */
static void case_records(const struct perf_event_attr *attr, const void *records, size_t size,
			 u32 says_at, const char *says)
{
	static char path[] = "/tmp/tally-check-XXXXXX";
	const struct tally_file_header *header;
	struct tally_writer *writer;
	struct tally_buf buf = {};
	struct tally_error err;
	int fd = mkstemp(path);
	char line[256];
	off_t end;

	if (tally_writer_open(&writer, path, 0, 0, &err))
		ktap_bail_out(err.text);
	tally_writer_add_attr(writer, attr, "event", NULL, 0, &err);
	tally_stream_write(tally_writer_stream(writer, 0, &err), records, size);
	if (tally_writer_finish(writer, &err))
		ktap_bail_out(err.text);
	end = lseek(fd, 0, SEEK_END);
	if (pread(fd, tally_buf_grow(&buf, end), end, 0) != end)
		ktap_bail_out(path);
	close(fd);
	unlink(path);
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	header = (const void *)buf.data;
	snprintf(line, sizeof(line), "at offset %#llx: %s", header->data.offset + says_at, says);
	ktap_result(check_prints(&buf, line), says);
	tally_buf_free(&buf);
}

/* Samples with one field, which is wrong. */
static const struct {
	const char *says;
	u64 type;
	u64 words[4];
	u16 size;
	u32 says_at;
} bad_samples[] = {
	{ "SAMPLE record: a field is larger than the record", PERF_SAMPLE_IP | PERF_SAMPLE_TID,
	  { 1 }, 16, 16 },
	{ "SAMPLE record: a field is not aligned to 8 bytes", PERF_SAMPLE_STACK_USER,
	  { 4, 0, 0 }, 32, 20 },
	{ "SAMPLE record: more branches than the record has room for", PERF_SAMPLE_BRANCH_STACK,
	  { 1000 }, 16, 16 },
	{ "SAMPLE record: more values than the record has room for", PERF_SAMPLE_READ,
	  { 1000 }, 16, 16 },
	{ "SAMPLE record: raw data without padding", PERF_SAMPLE_RAW, { 9 }, 22, 21 },
	{ "SAMPLE record: more valid bytes of the stack than bytes", PERF_SAMPLE_STACK_USER,
	  { 8, 0, 9 }, 32, 32 },
};

static void case_samples(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_samples); i++) {
		const struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE, .sample_period = 1,
			.sample_type = bad_samples[i].type, .read_format = PERF_FORMAT_GROUP,
		};
		struct {
			struct perf_event_header header;
			u64 words[4];
		} record = { .header = { PERF_RECORD_SAMPLE, 0, bad_samples[i].size } };

		memcpy(record.words, bad_samples[i].words, sizeof(record.words));
		case_records(&attr, &record, record.header.size, bad_samples[i].says_at,
			     bad_samples[i].says);
	}
}

#ifdef HAVE_ZSTD
static void case_contents(const void *contents, size_t size, const char *says)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .sample_period = 1,
	};
	static u8 record[65528];
	struct perf_event_header header = { .type = TALLY_RECORD_COMPRESSED };
	size_t used = ZSTD_compress(record + 8, sizeof(record) - 8, contents, size, 1);

	if (ZSTD_isError(used))
		ktap_bail_out("ZSTD_compress");
	header.size = 8 + used;
	memcpy(record, &header, sizeof(header));
	case_records(&attr, record, header.size, 0, says);
}

static void case_compressed(void)
{
	static const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .sample_period = 1,
	};
	static const u64 junk[] = { 0x0018000000000051, 0x1234, 0x5678 };
	static const u64 second[] = { 0x0018000000000053, 1000, 0 };
	static const u8 small[] = { 0x53, 0, 0, 0, 0, 0, 12, 0, 1, 2, 3, 4 };
	static const struct perf_event_header wrong = { TALLY_RECORD_FINISHED_ROUND, 0, 4 };
	static const struct perf_event_header cut = { PERF_RECORD_COMM, 0, 64 };
	static const u64 comm[] = { 0x0008000000000044, 0x0018000000000003, 0, ~0ULL };
	size_t large = 65 << 20;
	void *zeroes = calloc(1, large);

	case_records(&attr, junk, sizeof(junk), 0, "not valid zstd data: *");
	case_records(&attr, second, sizeof(second), 8, "1000 bytes in a record of 24");
	case_records(&attr, small, sizeof(small), 0, "COMPRESSED2 of 12 bytes");
	case_contents(&wrong, sizeof(wrong),
		      "a record of 4 bytes at byte 0 of the compressed contents");
	case_contents(&cut, sizeof(cut), "the compressed data end within a record: 8 bytes");
	case_contents(comm, sizeof(comm),
		      "COMM record, at byte 0x8 of the contents: a string without its NUL");
	case_contents(zeroes, large, "more than 67108864 bytes in one record");
	free(zeroes);
}
#endif

/* The bytes of a form that made_write() writes. */
static void read_form(struct tally_buf *buf, const struct made *made, unsigned int flags)
{
	static char path[] = "/tmp/tally-check-XXXXXX";
	struct tally_error err;
	int fd = mkstemp(path);
	off_t size;

	if (made_write(made, path, flags, 0, true, &err))
		ktap_bail_out(err.text);
	size = lseek(fd, 0, SEEK_END);
	if (pread(fd, tally_buf_grow(buf, size), size, 0) != size)
		ktap_bail_out(path);
	close(fd);
	unlink(path);
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
}

static void case_right(const struct tally_buf *buf, const char *name)
{
	ktap_result(!check_prints(buf, "*"), name);
}

int main(void)
{
	struct made made;

	ktap_start();
	check_fd = memfd_create("check", MFD_CLOEXEC);
	snprintf(check_path, sizeof(check_path), "/proc/self/fd/%d", check_fd);
	made_init(&made, 4);
	read_form(&base, &made, 0);
	read_form(&piped, &made, TALLY_WRITE_PIPE);
	case_right(&base, "nothing is said of a file that is right");
	case_right(&piped, "nothing is said of a pipe that is right");
	case_refusals(in_headers, ARRAY_SIZE(in_headers));
	case_refusals(in_sections, ARRAY_SIZE(in_sections));
	case_refusals(in_records, ARRAY_SIZE(in_records));
	case_elsewhere();
	case_pipe();
	case_no_seek();
	case_samples();
#ifdef HAVE_ZSTD
	case_compressed();
#endif
	tally_buf_free(&base);
	tally_buf_free(&piped);
	made_free(&made);
	return ktap_finish();
}
