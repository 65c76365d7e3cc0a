// SPDX-License-Identifier: GPL-2.0
/*
 * AUX areas: what an area had is in the file as it was, and is described for a decoder. The area is
 * memory that the test fills as a driver does; the PMUs are files that it makes.
 *
 * usage: auxtrace [PATH FORM] - with a path: write a file with branch traces, for perf to decode;
 * FORM is file, zstd, pipe or dir
 */
#include "made.h"
#include "tally_open.h"
#include "verify.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define AREA_SIZE	4096
#define AREA_ROUNDS	7
#define BTS_TYPE	77
#define BTS_BRANCHES	100
#define BTS_TASK	100
#define BTS_ID		1001

static char folder[] = "/tmp/tally-auxtrace-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* A file of sysfs, with the directories above it. */
static void make_file(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s", folder, name);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = 0;
		mkdir(path, 0700);
	}
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		ktap_bail_out(name);
}

static void make_pmus(void)
{
	make_file("intel_pt/type", "8\n");
	make_file("intel_pt/format/tsc", "config:10\n");
	make_file("intel_pt/format/noretcomp", "config:11\n");
	make_file("intel_pt/format/mtc", "config:9\n");
	make_file("intel_pt/format/mtc_period", "config:14-17\n");
	make_file("intel_pt/format/cyc", "config:1\n");
	make_file("intel_pt/max_nonturbo_ratio", "29\n");
	make_file("intel_bts/type", "77\n");
	make_file("arm_spe_0/type", "9\n");
	make_file("hisi_ptt0_1/type", "10\n");
	make_file("cs_etm/type", "11\n");
	tally_set_roots(folder, NULL);
}

/* The words of AUXTRACE_INFO of a PMU: compares those that do not depend on the machine. */
static bool info_is(char *pmu, u32 type, const u64 *words, u32 nr)
{
	const struct perf_event_mmap_page page = {
		.time_shift = 31, .time_mult = 7, .time_zero = 1234567, .cap_user_time_zero = 1,
	};
	struct tally_counter event = { .pmu = pmu, .name = pmu };
	struct tally_buf buf = {};
	const u64 *read;
	u32 kind = 0;
	bool good;

	if (tally_auxtrace_info(&buf, &event, &page, true)) {
		ktap_note("%s is not described", pmu);
		return false;
	}
	memcpy(&kind, buf.data + 8, sizeof(kind));
	read = (const u64 *)(buf.data + 16);
	good = buf.size == 16 + nr * sizeof(u64) && kind == type &&
		((const struct perf_event_header *)buf.data)->size == buf.size;
	for (u32 i = 0; good && i < nr; i++) {
		if (words[i] != ~0ULL && words[i] != read[i]) {
			ktap_note("%s: word %u is %llu", pmu, i, read[i]);
			good = false;
		}
	}
	tally_buf_free(&buf);
	return good;
}

static void case_info(void)
{
	static const u64 pt[] = { 8, 31, 7, 1234567, 1, 0x400, 0x800, 0, 0, 1, 0x200, 0x3c000,
				  ~0ULL, ~0ULL, 2, 29, 0 };
	static const u64 bts[] = { 77, 31, 7, 1234567, 1, 0 };
	static const u64 spe[] = { 9, 1 }, ptt[] = { 10 };
	struct tally_counter etm = { .pmu = "cs_etm" }, cpu = { .pmu = "cpu" }, none = {};

	ktap_result(info_is("intel_pt", 1, pt, ARRAY_SIZE(pt)), "a processor trace is described");
	ktap_result(info_is("intel_bts", 2, bts, ARRAY_SIZE(bts)), "a branch trace is described");
	ktap_result(info_is("arm_spe_0", 4, spe, ARRAY_SIZE(spe)), "a profile is described");
	ktap_result(info_is("hisi_ptt0_1", 6, ptt, ARRAY_SIZE(ptt)), "a bus trace is described");
	ktap_result(tally_aux_is_known(&etm) && !tally_aux_is_described(&etm) &&
		    !tally_aux_is_known(&cpu) && !tally_aux_is_known(&none),
		    "a trace whose decoder needs registers is known, and not described");
}

/* An area that the test fills, and the stream that gets what it had. */
struct made_area {
	struct tally_ring ring;
	struct tally_rings rings;
	struct tally_pump pump;
	struct tally_stream *stream;
	struct tally_buf all;
	u32 pieces;
};

static void area_take(void *arg, const struct tally_ring *ring, const struct tally_piece *piece)
{
	(void)arg;
	(void)ring;
	(void)piece;
}

static void area_take_aux(void *arg, const struct tally_ring *ring,
			  const struct tally_piece *piece, uint64_t offset)
{
	const struct tally_auxtrace record = {
		.offset = offset, .reference = offset + 1, .idx = 3, .tid = -1, .cpu = ring->cpu,
	};
	struct made_area *area = arg;

	area->pieces++;
	tally_stream_auxtrace(area->stream, &record, piece->head, piece->head_size, piece->tail,
			      piece->tail_size);
}

static void area_init(struct made_area *area)
{
	u8 *page = mmap(NULL, 2 * AREA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	struct tally_error err;

	if (page == MAP_FAILED)
		ktap_bail_out("mmap");
	area->ring = (struct tally_ring){
		.page = (void *)page, .data = page, .size = AREA_SIZE, .fd = -1, .cpu = 2,
		.aux = page + AREA_SIZE, .aux_size = AREA_SIZE, .aux_fd = -1,
	};
	area->rings = (struct tally_rings){ .ring = &area->ring, .n = 1 };
	area->pump = (struct tally_pump){
		.rings = &area->rings, .take = area_take, .take_aux = area_take_aux, .arg = area,
	};
	if (tally_pump_start(&area->pump, 1, &err))
		ktap_bail_out(err.text);
}

/* As a driver does: bytes first, then the position. Whole pieces of 8 bytes but for the last. */
static void area_fill(struct made_area *area, size_t size)
{
	struct perf_event_mmap_page *page = area->ring.page;

	for (size_t i = 0; i < size; i++) {
		u8 byte = made_random();

		area->ring.aux[(page->aux_head + i) & (AREA_SIZE - 1)] = byte;
		tally_buf_put(&area->all, &byte, 1);
	}
	__atomic_store_n(&page->aux_head, page->aux_head + size, __ATOMIC_RELEASE);
}

static void area_free(struct made_area *area)
{
	tally_pump_stop(&area->pump);
	munmap(area->ring.page, 2 * AREA_SIZE);
	tally_buf_free(&area->all);
}

/* Fills and empties the area several times, so that pieces wrap; a full area, too. */
static bool area_to_file(struct made_area *area, const char *path, unsigned int flags, int level)
{
	const struct perf_event_attr attr = {
		.type = BTS_TYPE, .sample_period = 1, .sample_type = PERF_SAMPLE_TID,
	};
	struct tally_writer *writer;
	struct tally_error err;
	bool good = true;

	if (tally_writer_open(&writer, path, flags, level, &err))
		return false;
	tally_writer_add_attr(writer, &attr, "trace", NULL, 0, &err);
	area->stream = tally_writer_stream(writer, flags & TALLY_WRITE_DIR ? 1 : 0, &err);
	for (u32 i = 0; i < AREA_ROUNDS; i++) {
		size_t size = i == 3 ? AREA_SIZE : i == AREA_ROUNDS - 1 ? 1029 : 1000 + 8 * i;

		area_fill(area, size);
		good &= tally_pump_pass(&area->pump) == size && !tally_pump_pass(&area->pump) &&
			area->ring.page->aux_tail == area->ring.page->aux_head;
	}
	return !tally_writer_finish(writer, &err) && good && area->pieces == AREA_ROUNDS;
}

/* Reads the bytes behind a record; what a file has in front of them is the record's. */
static void read_piece(struct tally_buf *buf, const char *path, const struct tally_record *record,
		       u64 size)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || pread(fd, tally_buf_grow(buf, size), size,
			    record->offset + record->header->size) != (ssize_t)size)
		buf->failed = true;
	if (fd >= 0)
		close(fd);
}

static bool area_is_in_file(const struct made_area *area, const char *path, const char *data)
{
	struct tally_reader *reader;
	struct tally_buf buf = {};
	struct tally_record record;
	struct tally_error err;
	u64 position = 0;
	bool good = true;

	if (tally_reader_open(&reader, path, &err))
		return false;
	while (tally_reader_next(reader, &record, &err) > 0) {
		const struct tally_auxtrace *piece = (const void *)record.header;

		if (piece->header.type != TALLY_RECORD_AUXTRACE)
			continue;
		good &= piece->offset == position && piece->reference == position + 1 &&
			piece->idx == 3 && piece->cpu == 2 && piece->tid == (u32)-1 &&
			!(piece->size & 7);
		position += piece->size;
		read_piece(&buf, data, &record, piece->size);
	}
	good &= !buf.failed && position == ((area->all.size + 7) & ~7ULL) &&
		!memcmp(buf.data, area->all.data, area->all.size);
	tally_buf_free(&buf);
	tally_reader_close(reader);
	return good;
}

static void case_area(const char *form, unsigned int flags, int level)
{
	struct tally_verdict verdict;
	struct made_area area = {};
	char path[256], data[300], title[128];
	bool good;

	snprintf(path, sizeof(path), "%s", path_of(form));
	snprintf(data, sizeof(data), "%s%s", path, flags & TALLY_WRITE_DIR ? "/data.0" : "");
	area_init(&area);
	snprintf(title, sizeof(title), "%s: each piece of an area that wraps is taken once", form);
	ktap_result(area_to_file(&area, path, flags, level), title);
	snprintf(title, sizeof(title), "%s: the pieces are in it, by position", form);
	ktap_result(area_is_in_file(&area, path, data), title);
	good = !tally_verify(stdout, path, 10, &verdict);
	snprintf(title, sizeof(title), "%s: verified without an error, all bytes", form);
	ktap_result(good && verdict.aux == ((area.all.size + 7) & ~7ULL), title);
	area_free(&area);
}

/* The task has a buffer, and its event an id. */
static void bts_index(struct tally_buf *buf)
{
	struct tally_counter event = { .pmu = "intel_bts" };
	struct tally_events events = { .event = &event, .n = 1 };
	struct tally_place place = { .cpu = -1, .pid = BTS_TASK, .cgroup = -1 };
	struct tally_ring ring = { .cpu = -1, .aux_fd = -1 };
	struct tally_rings rings = { .ring = &ring, .n = 1 };
	uint64_t id = BTS_ID;
	int fd = 0;
	const struct tally_opened session = {
		.events = &events, .places = &place, .nr_places = 1, .fds = &fd, .ids = &id,
	};

	tally_id_index(buf, &rings, &session);
}

/* What precedes the records of the buffers. */
static void bts_describe(struct tally_buf *buf)
{
	const struct perf_event_mmap_page page = { .time_mult = 1 };
	struct tally_counter event = { .pmu = "intel_bts" };

	tally_auxtrace_info(buf, &event, &page, false);
	bts_index(buf);
}

/* A task that jumps to and fro, as the branch trace store writes it: from, to, and a word. */
static void bts_records(struct tally_buf *buf, struct tally_buf *piece)
{
	size_t at = made_start(buf, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);

	made_pair(buf, BTS_TASK, BTS_TASK);
	made_text(buf, "traced");
	made_pair(buf, BTS_TASK, BTS_TASK);
	tally_buf_put_u64(buf, BTS_ID);
	made_finish(buf, at);
	at = made_start(buf, PERF_RECORD_AUX, 0);
	tally_buf_put_u64(buf, 0);
	tally_buf_put_u64(buf, BTS_BRANCHES * 24);
	tally_buf_put_u64(buf, 0);
	made_pair(buf, BTS_TASK, BTS_TASK);
	tally_buf_put_u64(buf, BTS_ID);
	made_finish(buf, at);
	for (u64 i = 0; i < BTS_BRANCHES; i++) {
		tally_buf_put_u64(piece, 0x401000 + 16 * i);
		tally_buf_put_u64(piece, 0x402000 + 16 * i);
		tally_buf_put_u64(piece, 0);
	}
}

static int bts_write(const char *path, unsigned int flags, int level)
{
	const struct perf_event_attr attr = {
		.type = BTS_TYPE, .sample_period = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_IDENTIFIER,
	};
	const struct tally_auxtrace record = { .tid = BTS_TASK, .cpu = -1, .reference = 1 };
	struct tally_buf first = {}, buf = {}, piece = {};
	struct tally_writer *writer;
	struct tally_stream *stream;
	struct tally_error err;
	u64 id = BTS_ID;
	int ret = tally_writer_open(&writer, path, flags, level, &err);

	if (ret)
		return ret;
	bts_describe(&first);
	bts_records(&buf, &piece);
	tally_writer_add_attr(writer, &attr, "intel_bts//", &id, 1, &err);
	stream = tally_writer_stream(writer, 0, &err);
	tally_stream_write(stream, first.data, first.size);
	if (flags & TALLY_WRITE_DIR)
		stream = tally_writer_stream(writer, 1, &err);
	tally_stream_write(stream, buf.data, buf.size);
	tally_stream_auxtrace(stream, &record, piece.data, 48, piece.data + 48, piece.size - 48);
	tally_buf_free(&first);
	tally_buf_free(&buf);
	tally_buf_free(&piece);
	return tally_writer_finish(writer, &err);
}

static int bts_write_form(const char *path, const char *form)
{
	bool pipe = !strcmp(form, "pipe"), dir = !strcmp(form, "dir");

	return bts_write(path, pipe ? TALLY_WRITE_PIPE : dir ? TALLY_WRITE_DIR : 0,
			 !strcmp(form, "zstd"));
}

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		ktap_note("%s stays", folder);
}

int main(int argc, char **argv)
{
	int ret = 0;

	if (!mkdtemp(folder))
		ktap_bail_out("mkdtemp");
	make_pmus();
	if (argc > 2) {
		ret = !!bts_write_form(argv[1], argv[2]);
		remove_folder();
		return ret;
	}
	ktap_start();
	case_info();
	case_area("file", 0, 0);
	case_area("pipe", TALLY_WRITE_PIPE, 0);
	case_area("directory", TALLY_WRITE_DIR, 0);
#ifdef HAVE_ZSTD
	case_area("compressed", 0, 1);
#endif
	remove_folder();
	return ktap_finish();
}
