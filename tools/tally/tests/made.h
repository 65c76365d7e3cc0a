/* SPDX-License-Identifier: GPL-2.0 */
/* Files that the tests make: events with all fields, records of all types, all sections. */
#ifndef TALLY_TEST_MADE_H
#define TALLY_TEST_MADE_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data_read.h"
#include "data_write.h"
#include "ktap.h"

#define MADE_EVENTS	3
#define MADE_IDS	2

/* The records of a file, one after another. */
struct made {
	struct perf_event_attr attrs[MADE_EVENTS];
	u64 ids[MADE_EVENTS][MADE_IDS];
	struct tally_buf records;
	struct tally_buf sections[TALLY_FEAT_END];
};

static const char * const made_names[MADE_EVENTS] = { "first", "second:u", "the third" };

/* The begin and the end of the program's functions, by the linker. */
extern const char __executable_start[], etext[];

static u64 made_seed = 1;

static inline u64 made_random(void)
{
	made_seed ^= made_seed << 13;
	made_seed ^= made_seed >> 7;
	made_seed ^= made_seed << 17;
	return made_seed;
}

static inline u64 made_below(u64 limit)
{
	return made_random() % limit;
}

static inline void made_attrs(struct made *made)
{
	static const u64 kinds[MADE_EVENTS] = {
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
			PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		(PERF_SAMPLE_MAX - 1) & ~PERF_SAMPLE_WEIGHT_STRUCT,
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
			PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT_STRUCT,
	};

	for (u32 i = 0; i < MADE_EVENTS; i++) {
		struct perf_event_attr *attr = &made->attrs[i];

		*attr = (struct perf_event_attr){
			.type = PERF_TYPE_SOFTWARE, .config = i, .size = sizeof(*attr),
			.sample_period = 1000 + i, .sample_type = kinds[i] | PERF_SAMPLE_IDENTIFIER,
			.sample_id_all = 1, .precise_ip = i, .inherit = 1, .mmap = 1, .comm = 1,
			.read_format = i == 1 ? PERF_FORMAT_ID | PERF_FORMAT_LOST :
				PERF_FORMAT_GROUP | PERF_FORMAT_ID |
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
			.branch_sample_type = PERF_SAMPLE_BRANCH_ANY |
				(i == 1 ? PERF_SAMPLE_BRANCH_HW_INDEX |
				 PERF_SAMPLE_BRANCH_COUNTERS : 0),
			.sample_regs_user = 0xff, .sample_regs_intr = 0x5, .sample_stack_user = 64,
			.sample_max_stack = 40 + i, .clockid = 1, .aux_sample_size = 64,
		};
		for (u32 k = 0; k < MADE_IDS; k++)
			made->ids[i][k] = 1000 + 10 * i + k;
	}
}

/*
 * Writes a file of one event with @sample_type, @records and the rows of build ids in @ids, which
 * can be NULL, and empties both.
 */
static inline bool made_write_one(const char *path, u64 sample_type, struct tally_buf *records,
				  struct tally_buf *ids)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .sample_period = 1, .sample_type = sample_type,
	};
	struct tally_writer *writer;
	struct tally_error err;

	if (tally_writer_open(&writer, path, 0, 0, &err))
		return false;
	tally_writer_add_attr(writer, &attr, "cpu-clock", NULL, 0, &err);
	if (ids && ids->size)
		tally_writer_feature(writer, TALLY_FEAT_BUILD_ID, ids->data, ids->size, &err);
	tally_stream_write(tally_writer_stream(writer, 0, &err), records->data, records->size);
	tally_buf_free(records);
	if (ids)
		tally_buf_free(ids);
	return !tally_writer_finish(writer, &err);
}

static inline void made_read(struct tally_buf *buf, u64 format)
{
	u64 nr = 1, each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	u64 times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (format & PERF_FORMAT_GROUP) {
		nr = 1 + made_below(3);
		tally_buf_put_u64(buf, nr);
	}
	for (u64 i = 0; i < times + nr * each; i++)
		tally_buf_put_u64(buf, made_random());
}

static inline void made_chain(struct tally_buf *buf)
{
	u64 nr = made_below(6);

	tally_buf_put_u64(buf, nr + 2);
	tally_buf_put_u64(buf, PERF_CONTEXT_KERNEL);
	tally_buf_put_u64(buf, 0xffffffff81000000 + made_below(4096));
	if (nr)
		tally_buf_put_u64(buf, PERF_CONTEXT_USER);
	for (u64 i = 1; i < nr; i++)
		tally_buf_put_u64(buf, 0x400000 + made_below(4096));
}

static inline void made_branches(struct tally_buf *buf, u64 type)
{
	u64 nr = made_below(4);

	tally_buf_put_u64(buf, nr);
	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		tally_buf_put_u64(buf, 3);
	for (u64 i = 0; i < nr; i++) {
		struct perf_branch_entry entry = {
			.from = 0x400000 + made_below(4096), .to = 0x400000 + made_below(4096),
			.predicted = 1, .cycles = made_below(65536), .type = made_below(16),
			.spec = made_below(4), .new_type = made_below(16), .priv = made_below(8),
		};

		tally_buf_put(buf, &entry, sizeof(entry));
	}
	for (u64 i = 0; i < nr && type & PERF_SAMPLE_BRANCH_COUNTERS; i++)
		tally_buf_put_u64(buf, made_random());
}

static inline void made_raw(struct tally_buf *buf)
{
	u32 size = made_below(40);

	tally_buf_put_u32(buf, size);
	for (u32 i = 0; i < size; i++)
		tally_buf_put(buf, &i, 1);
	tally_buf_grow(buf, -(size + sizeof(u32)) & 7);
}

static inline void made_words(struct tally_buf *buf, unsigned int nr)
{
	while (nr--)
		tally_buf_put_u64(buf, made_random());
}

static inline void made_pair(struct tally_buf *buf, u32 first, u32 second)
{
	tally_buf_put_u32(buf, first);
	tally_buf_put_u32(buf, second);
}

/* Begins a record; made_finish() sets its size. */
static inline size_t made_start(struct tally_buf *buf, u32 type, u16 misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };
	size_t at = buf->size;

	tally_buf_put(buf, &header, sizeof(header));
	return at;
}

static inline void made_finish(struct tally_buf *buf, size_t at)
{
	struct perf_event_header *header = (void *)(buf->data + at);

	header->size = buf->size - at;
}

static inline void made_sample(struct made *made, u32 event, u64 time)
{
	const struct perf_event_attr *attr = &made->attrs[event];
	struct tally_buf *buf = &made->records;
	u64 type = attr->sample_type, id = made->ids[event][made_below(MADE_IDS)];
	size_t at = made_start(buf, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	tally_buf_put_u64(buf, id);
	tally_buf_put_u64(buf, 0x400000 + made_below(4096));
	made_pair(buf, 100 + made_below(2), 100 + made_below(3));
	tally_buf_put_u64(buf, time);
	if (type & PERF_SAMPLE_ADDR) {
		made_words(buf, 1);
		tally_buf_put_u64(buf, id);
		tally_buf_put_u64(buf, id);
	}
	if (type & PERF_SAMPLE_CPU)
		made_pair(buf, made_below(4), 0);
	if (type & PERF_SAMPLE_PERIOD)
		tally_buf_put_u64(buf, 1 + made_below(1000));
	if (type & PERF_SAMPLE_READ)
		made_read(buf, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		made_chain(buf);
	if (type & PERF_SAMPLE_RAW)
		made_raw(buf);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		made_branches(buf, attr->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER) {
		tally_buf_put_u64(buf, PERF_SAMPLE_REGS_ABI_64);
		made_words(buf, 8);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		tally_buf_put_u64(buf, 64);
		made_words(buf, 8);
		tally_buf_put_u64(buf, made_below(65));
	}
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		made_words(buf, 1);
	if (type & PERF_SAMPLE_DATA_SRC)
		made_words(buf, 2);
	if (type & PERF_SAMPLE_REGS_INTR) {
		tally_buf_put_u64(buf, PERF_SAMPLE_REGS_ABI_64);
		made_words(buf, 2);
	}
	if (type & PERF_SAMPLE_PHYS_ADDR)
		made_words(buf, 4);
	if (type & PERF_SAMPLE_AUX) {
		tally_buf_put_u64(buf, 16);
		made_words(buf, 2);
	}
	made_finish(buf, at);
}

/* What sample_id_all adds to other records of the first event. */
static inline void made_id(struct made *made, u32 pid, u64 time)
{
	struct tally_buf *buf = &made->records;

	made_pair(buf, pid, pid);
	tally_buf_put_u64(buf, time);
	tally_buf_put_u64(buf, made->ids[0][0]);
	tally_buf_put_u64(buf, made->ids[0][0]);
	made_pair(buf, 1, 0);
	tally_buf_put_u64(buf, made->ids[0][0]);
}

static inline void made_text(struct tally_buf *buf, const char *text)
{
	tally_buf_put(buf, text, strlen(text) + 1);
	tally_buf_grow(buf, -(strlen(text) + 1) & 7);
}

static inline void made_mmap(struct made *made, u32 pid, u64 start, const char *name, u64 time)
{
	struct tally_buf *buf = &made->records;
	size_t at = made_start(buf, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	made_pair(buf, pid, pid);
	tally_buf_put_u64(buf, start);
	tally_buf_put_u64(buf, 4096);
	tally_buf_put_u64(buf, 0);
	made_words(buf, 3);
	made_pair(buf, 5, 2);
	made_text(buf, name);
	made_id(made, pid, time);
	made_finish(buf, at);
}

static inline void made_comm(struct made *made, u32 pid, const char *name, u64 time)
{
	struct tally_buf *buf = &made->records;
	size_t at = made_start(buf, PERF_RECORD_COMM, 0);

	made_pair(buf, pid, pid);
	made_text(buf, name);
	made_id(made, pid, time);
	made_finish(buf, at);
}

/* A record of 64-bit words. */
static inline void made_plain(struct made *made, u32 type, unsigned int words, u64 time)
{
	struct tally_buf *buf = &made->records;
	size_t at = made_start(buf, type, 0);

	made_words(buf, words);
	made_id(made, 100, time);
	made_finish(buf, at);
}

static inline void made_fork(struct made *made, u32 pid, u32 parent, u64 time)
{
	struct tally_buf *buf = &made->records;
	size_t at = made_start(buf, PERF_RECORD_FORK, 0);

	made_pair(buf, pid, parent);
	made_pair(buf, pid, parent);
	tally_buf_put_u64(buf, time);
	made_id(made, pid, time);
	made_finish(buf, at);
}

static inline void made_ksymbol(struct made *made, u64 time)
{
	struct tally_buf *buf = &made->records;
	size_t at = made_start(buf, PERF_RECORD_KSYMBOL, 0);
	u16 type = PERF_RECORD_KSYMBOL_TYPE_BPF, flags = 0;

	tally_buf_put_u64(buf, 0xffffffffc0000000);
	tally_buf_put_u32(buf, 256);
	tally_buf_put(buf, &type, sizeof(type));
	tally_buf_put(buf, &flags, sizeof(flags));
	made_text(buf, "bpf_prog_1");
	made_id(made, 100, time);
	made_finish(buf, at);
}

/* Records of tools, of each kind that has a layout of its own. */
static inline void made_tools(struct made *made)
{
	static const u16 cpus[] = { 0, 2, 0, 1 }, range[] = { 2, 0, 1, 3 };
	static const u16 mask[] = { 1, 1, sizeof(u64), 0, 5, 0, 0, 0 };
	static const struct {
		u32 type;
		const void *data;
		size_t size;
	} maps[] = {
		{ TALLY_RECORD_CPU_MAP, cpus, sizeof(cpus) },
		{ TALLY_RECORD_CPU_MAP, range, sizeof(range) },
		{ TALLY_RECORD_CPU_MAP, mask, sizeof(mask) },
	};
	static const struct {
		u32 type;
		u64 count;
		unsigned int words;
	} counted[] = {
		{ TALLY_RECORD_ID_INDEX, 2, 8 },
		{ TALLY_RECORD_AUXTRACE_INFO, 2, 6 },
		{ TALLY_RECORD_STAT_CONFIG, 3, 6 },
		{ TALLY_RECORD_STAT, 17, 4 },
		{ TALLY_RECORD_STAT_ROUND, 1, 1 },
		{ TALLY_RECORD_TIME_CONV, 10, 5 },
		{ TALLY_RECORD_FINISHED_INIT, 0, 0 },
	};
	struct tally_buf *buf = &made->records;
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		at = made_start(buf, maps[i].type, 0);
		tally_buf_put(buf, maps[i].data, maps[i].size);
		made_finish(buf, at);
	}
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		at = made_start(buf, counted[i].type, 0);
		if (counted[i].words)
			tally_buf_put_u64(buf, counted[i].count);
		made_words(buf, counted[i].words);
		made_finish(buf, at);
	}
	at = made_start(buf, TALLY_RECORD_THREAD_MAP, 0);
	tally_buf_put_u64(buf, 1);
	tally_buf_put_u64(buf, 100);
	tally_buf_put(buf, "program\0\0\0\0\0\0\0\0", 16);
	made_finish(buf, at);
}

/* Is it a type of a tool's record that made_records() makes? */
static inline bool made_has_type(u32 type)
{
	switch (type) {
	case TALLY_RECORD_FINISHED_ROUND:
	case TALLY_RECORD_ID_INDEX:
	case TALLY_RECORD_AUXTRACE_INFO:
	case TALLY_RECORD_THREAD_MAP:
	case TALLY_RECORD_CPU_MAP:
	case TALLY_RECORD_STAT_CONFIG:
	case TALLY_RECORD_STAT:
	case TALLY_RECORD_STAT_ROUND:
	case TALLY_RECORD_TIME_CONV:
	case TALLY_RECORD_FINISHED_INIT:
		return true;
	default:
		return false;
	}
}

static inline void made_round(struct made *made)
{
	made_finish(&made->records, made_start(&made->records, TALLY_RECORD_FINISHED_ROUND, 0));
}

/* Times grow, but samples of one round are out of order. */
static inline void made_records(struct made *made, u32 rounds)
{
	u64 time = 1000;

	made_comm(made, 100, "program", time);
	made_mmap(made, 100, 0x400000, "/nonexistent/program", time);
	made_fork(made, 101, 100, time);
	made_ksymbol(made, time);
	made_tools(made);
	for (u32 i = 0; i < rounds; i++) {
		for (u32 k = 0; k < 6; k++)
			made_sample(made, made_below(MADE_EVENTS), time + made_below(100));
		made_plain(made, PERF_RECORD_LOST, 2, time + 50);
		made_plain(made, PERF_RECORD_LOST_SAMPLES, 1, time + 60);
		made_plain(made, PERF_RECORD_THROTTLE, 3, time + 70);
		made_plain(made, PERF_RECORD_AUX, 3, time + 80);
		made_plain(made, PERF_RECORD_SWITCH, 0, time + 90);
		made_round(made);
		time += 100;
	}
}

static inline void made_strings(struct tally_buf *buf, unsigned int nr)
{
	char text[32];

	tally_buf_put_u32(buf, nr);
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "%u-%u", i, i + 3);
		tally_buf_put_string(buf, text);
	}
}

static inline void made_topology(struct tally_buf *buf, unsigned int revision)
{
	made_strings(buf, 2);
	made_strings(buf, 4);
	for (u32 i = 0; i < 4 && revision > 1; i++)
		made_pair(buf, i, i / 2);
	if (revision > 2) {
		made_strings(buf, 1);
		for (u32 i = 0; i < 4; i++)
			tally_buf_put_u32(buf, i / 2);
	}
}

static inline void made_pairs(struct tally_buf *buf)
{
	tally_buf_put_u32(buf, 2);
	for (int i = 0; i < 2; i++) {
		tally_buf_put_string(buf, i ? "branches" : "max_precise");
		tally_buf_put_string(buf, i ? "32" : "3");
	}
}

static inline void made_build_id(struct tally_buf *buf, const char *name)
{
	struct perf_event_header header = {
		TALLY_RECORD_BUILD_ID, PERF_RECORD_MISC_USER | 1 << 15, 36 + 64,
	};
	char text[64] = "";
	u8 id[24] = { 1, 2, 3, [19] = 20, [20] = 20 };

	snprintf(text, sizeof(text), "%s", name);
	tally_buf_put(buf, &header, sizeof(header));
	tally_buf_put_u32(buf, 100);
	tally_buf_put(buf, id, sizeof(id));
	tally_buf_put(buf, text, sizeof(text));
}

static inline void made_mem(struct tally_buf *buf)
{
	tally_buf_put_u64(buf, 1);
	tally_buf_put_u64(buf, 0x8000000);
	tally_buf_put_u64(buf, 2);
	for (u64 i = 0; i < 2; i++) {
		tally_buf_put_u64(buf, i);
		tally_buf_put_u64(buf, 70 + i);
		tally_buf_put_u64(buf, 70 + i);
		made_words(buf, 2);
	}
}

static inline void made_bpf(struct tally_buf *buf, bool btf)
{
	tally_buf_put_u32(buf, 1);
	made_pair(buf, btf ? 7 : 16, 24);
	if (!btf) {
		tally_buf_put_u64(buf, 3);
		made_words(buf, 2);
	}
	made_words(buf, 3);
}

static inline void made_rows(struct tally_buf *buf, u32 feature)
{
	switch (feature) {
	case TALLY_FEAT_NUMA_TOPOLOGY:
		tally_buf_put_u32(buf, 1);
		tally_buf_put_u32(buf, 0);
		made_words(buf, 2);
		tally_buf_put_string(buf, "0-3");
		break;
	case TALLY_FEAT_PMU_MAPPINGS:
		made_pair(buf, 1, 4);
		tally_buf_put_string(buf, "cpu");
		break;
	case TALLY_FEAT_GROUP_DESC:
		tally_buf_put_u32(buf, 1);
		tally_buf_put_string(buf, "group");
		made_pair(buf, 0, 2);
		break;
	case TALLY_FEAT_CACHE:
		made_pair(buf, 1, 1);
		made_pair(buf, 1, 64);
		made_pair(buf, 64, 8);
		tally_buf_put_string(buf, "Data");
		tally_buf_put_string(buf, "32K");
		tally_buf_put_string(buf, "0-1");
		break;
	case TALLY_FEAT_PMU_CAPS:
		tally_buf_put_u32(buf, 1);
		made_pairs(buf);
		tally_buf_put_string(buf, "cpu_atom");
		break;
	default:
		made_strings(buf, 3);
	}
}

static inline void made_section(struct tally_buf *buf, u32 feature)
{
	switch (feature) {
	case TALLY_FEAT_BUILD_ID:
		made_build_id(buf, "/nonexistent/program");
		made_build_id(buf, "[kernel.kallsyms]");
		break;
	case TALLY_FEAT_NRCPUS:
		made_pair(buf, 4, 3);
		break;
	case TALLY_FEAT_TOTAL_MEM:
	case TALLY_FEAT_CLOCKID:
		tally_buf_put_u64(buf, 123456789);
		break;
	case TALLY_FEAT_CPU_TOPOLOGY:
		made_topology(buf, 3);
		break;
	case TALLY_FEAT_SAMPLE_TIME:
		tally_buf_put_u64(buf, 1000);
		tally_buf_put_u64(buf, 2000);
		break;
	case TALLY_FEAT_MEM_TOPOLOGY:
		made_mem(buf);
		break;
	case TALLY_FEAT_BPF_PROG_INFO:
	case TALLY_FEAT_BPF_BTF:
		made_bpf(buf, feature == TALLY_FEAT_BPF_BTF);
		break;
	case TALLY_FEAT_CPU_PMU_CAPS:
	case TALLY_FEAT_HYBRID_TOPOLOGY:
		made_pairs(buf);
		break;
	case TALLY_FEAT_CLOCK_DATA:
		made_pair(buf, 1, 4);
		made_words(buf, 2);
		break;
	case TALLY_FEAT_TRACING_DATA:
		made_words(buf, 5);
		break;
	case TALLY_FEAT_BRANCH_STACK:
	case TALLY_FEAT_STAT:
		break;
	case TALLY_FEAT_NUMA_TOPOLOGY:
	case TALLY_FEAT_PMU_MAPPINGS:
	case TALLY_FEAT_GROUP_DESC:
	case TALLY_FEAT_CACHE:
	case TALLY_FEAT_PMU_CAPS:
	case TALLY_FEAT_CMDLINE:
		made_rows(buf, feature);
		break;
	default:
		tally_buf_put_string(buf, "a string of a section");
	}
}

/* Sections that the writer makes itself. */
static inline bool made_by_writer(u32 feature)
{
	return feature == TALLY_FEAT_EVENT_DESC || feature == TALLY_FEAT_COMPRESSED ||
	       feature == TALLY_FEAT_AUXTRACE || feature == TALLY_FEAT_DIR_FORMAT;
}

static inline void made_init(struct made *made, u32 rounds)
{
	*made = (struct made){};
	made_attrs(made);
	made_records(made, rounds);
	for (u32 i = 1; i < TALLY_FEAT_END; i++)
		if (!made_by_writer(i))
			made_section(&made->sections[i], i);
}

static inline void made_free(struct made *made)
{
	tally_buf_free(&made->records);
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		tally_buf_free(&made->sections[i]);
}

static inline void made_auxtrace(struct tally_stream *stream)
{
	static const u8 piece[40] = { 1, 2, 3 };
	struct tally_auxtrace record = { .offset = 0, .reference = 5, .idx = 1, .cpu = 1 };

	tally_stream_auxtrace(stream, &record, piece, 24, piece, 13);
}

/* Writes a file. The records are given in pieces that do not end where records do. */
static inline int made_write(const struct made *made, const char *path, unsigned int flags,
			     int level, bool sections, struct tally_error *err)
{
	struct tally_writer *writer;
	struct tally_stream *stream;
	int ret = tally_writer_open(&writer, path, flags, level, err);

	if (ret)
		return ret;
	for (u32 i = 0; i < MADE_EVENTS; i++)
		tally_writer_add_attr(writer, &made->attrs[i], made_names[i], made->ids[i],
				      MADE_IDS, err);
	for (u32 i = 1; i < TALLY_FEAT_END && sections; i++)
		if (!made_by_writer(i))
			tally_writer_feature(writer, i, made->sections[i].data,
					     made->sections[i].size, err);
	stream = tally_writer_stream(writer, flags & TALLY_WRITE_DIR ? 1 : 0, err);
	for (size_t at = 0; at < made->records.size; at += 1000) {
		size_t left = made->records.size - at;

		tally_stream_write(stream, made->records.data + at, left < 1000 ? left : 1000);
	}
	if (sections && !(flags & TALLY_WRITE_DIR))
		made_auxtrace(tally_writer_stream(writer, 0, err));
	return tally_writer_finish(writer, err);
}

#endif /* TALLY_TEST_MADE_H */
