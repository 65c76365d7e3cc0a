// SPDX-License-Identifier: GPL-2.0
/* tally record: samples of events into a perf.data file. */
#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "data_write.h"
#include "feature.h"
#include "measure.h"
#include "record_setup.h"
#include "sample.h"

#define RECORD_DEFAULT	"cycles:P"

/* Offsets of names in MMAP and MMAP2 records, and of fields of samples (perf_event_open(2)). */
#define MMAP_NAME	40
#define MMAP2_FILE	40
#define MMAP2_PROT	64
#define MMAP2_NAME	72
#define LOST_COUNT	16
#define LOST_SAMPLES	8

/**
 * struct record_part - what was written to a stream
 * @stream: records of the output
 * @samples: number of samples
 * @lost: number of lost records
 * @counted: number of those that the kernel's LOST records count
 * @first_time: time of the oldest sample, ns
 * @last_time: time of the newest sample, ns
 */
struct record_part {
	struct tally_stream *stream;
	uint64_t samples;
	uint64_t lost;
	uint64_t counted;
	uint64_t first_time;
	uint64_t last_time;
};

/**
 * struct record_loss - what a buffer had no room for
 * @counted: number of records that its LOST records count
 * @lost: number of records that its events have lost
 */
struct record_loss {
	uint64_t counted;
	uint64_t lost;
};

/**
 * struct record_run - a call of "tally record"
 * @options: target and signals
 * @setup: how samples are taken
 * @events: what is sampled
 * @session: the same, open
 * @rings: buffers
 * @pump: threads that empty these
 * @command: command that is recorded
 * @writer: output
 * @parts: streams; the first has what ran already, in a directory each reading thread has another
 * @nr_parts: number of streams
 * @losses: of each buffer
 * @lock: held while a thread writes to the only stream, or while it notes an object
 * @objects: what is mapped
 * @output: path of the output
 * @level: level of compression, 0 for none
 * @pages: pages of a buffer, 0 for the default
 * @aux_pages: pages of an AUX area, 0 for the default
 * @aux: an event fills AUX areas
 * @threads: reading threads, 0 for one a node
 * @directory: write a directory, a file for each reading thread
 * @overwrite: the newest records of all events replace the oldest
 * @snapshot: some events overwrite their records
 * @per_thread: a buffer for each task in place of each CPU
 * @no_build_ids: leave the section BUILD_ID out
 * @quiet: print nothing
 * @delay: seconds before events are enabled
 * @max_size: bytes to stop at, 0 for no limit
 * @time_at: offset of the time in a sample, 0 if samples differ
 * @map_time_at: offset of the time in a record of a mapping, from its end; 0 without
 * @status: wait status of the command
 * @stopped: a signal has ended the recording
 */
struct record_run {
	struct measure_options options;
	struct record_setup setup;
	struct tally_events events;
	struct tally_opened session;
	struct tally_rings rings;
	struct tally_pump pump;
	struct tally_command command;
	struct tally_writer *writer;
	struct record_part *parts;
	int nr_parts;
	struct record_loss *losses;
	pthread_mutex_t lock;
	struct tally_objects objects;
	const char *output;
	int level;
	unsigned int pages;
	unsigned int aux_pages;
	bool aux;
	int threads;
	bool directory;
	bool overwrite;
	bool snapshot;
	bool per_thread;
	bool no_build_ids;
	bool quiet;
	double delay;
	uint64_t max_size;
	size_t time_at;
	size_t map_time_at;
	int status;
	bool stopped;
};

static int record_usage(FILE *out, int status)
{
	fputs("usage: tally record [OPTION]... [--] [COMMAND [ARG]...]\n\n"
	      "  -e EVENTS        names, separated by commas, groups in braces\n"
	      "  -F FREQUENCY     samples a second; max: as many as the kernel allows\n"
	      "  -c PERIOD        a sample for so many events\n"
	      "  -g               call chains; --call-graph fp|dwarf[,SIZE]|lbr\n"
	      "  -b               branch records; -j FILTER for some kinds\n"
	      "  -a, -C CPUS      all CPUs, these CPUs\n"
	      "  -p PIDS, -t TIDS processes, threads\n"
	      "  -G CGROUPS       cgroups\n"
	      "  -o FILE          output, perf.data; - for a pipe\n"
	      "  -z[LEVEL]        compress\n"
	      "  -m PAGES[,AUX]   pages of a buffer, of an AUX area\n"
	      "  -d, -W, -R       data addresses, weights, raw data\n"
	      "  --phys-data      physical addresses of data\n"
	      "  -k CLOCK         clock of the times: monotonic, boottime, realtime, tai\n"
	      "  -i               do not sample children\n"
	      "  -D MS            enable the events after this time\n"
	      "  -N               no build ids; --buildid-mmap: in the records of mappings\n"
	      "  -q               print nothing\n"
	      "  --per-thread     a buffer for each task, none for each CPU\n"
	      "  --switch-events  records of context switches\n"
	      "  --namespaces     records of namespaces\n"
	      "  --threads N      reading threads\n"
	      "  --dir            write a directory, a file for each reading thread\n"
	      "  --overwrite      keep the newest records, written at the end\n"
	      "  --max-size SIZE  stop at this size, with K, M or G\n", out);
	return status;
}

/* Offset of the time in samples of all events, 0 if these differ or have none. */
static size_t record_time_offset(const struct tally_events *events)
{
	size_t offset = 0;

	for (int i = 0; i < events->n; i++) {
		uint64_t type = events->event[i].attr.sample_type;
		size_t at = sizeof(struct perf_event_header) + 8 +
			(type & PERF_SAMPLE_IDENTIFIER ? 8 : 0) + 8;

		if (!(type & PERF_SAMPLE_TIME) || (offset && offset != at))
			return 0;
		offset = at;
	}
	return offset;
}

/* The same in records of mappings, from their ends: one event has these. */
static size_t record_map_time_offset(const struct tally_events *events)
{
	for (int i = 0; i < events->n; i++) {
		const struct perf_event_attr *attr = &events->event[i].attr;

		if (!attr->mmap)
			continue;
		if (!(attr->sample_type & PERF_SAMPLE_TIME))
			return 0;
		return tally_sample_id_size(attr) -
			(attr->sample_type & PERF_SAMPLE_TID ? sizeof(u64) : 0);
	}
	return 0;
}

static void record_sample_time(struct record_part *part, uint64_t time)
{
	if (!part->first_time || time < part->first_time)
		part->first_time = time;
	if (time > part->last_time)
		part->last_time = time;
}

/* What all streams have. */
static struct record_part record_sum(const struct record_run *run)
{
	struct record_part sum = { 0 };

	for (int i = 0; i < run->nr_parts; i++) {
		const struct record_part *part = &run->parts[i];

		sum.samples += part->samples;
		sum.lost += part->lost;
		if (!part->samples || !run->time_at)
			continue;
		record_sample_time(&sum, part->first_time);
		record_sample_time(&sum, part->last_time);
	}
	return sum;
}

/* Notes the object of an executable mapping. */
static void record_mapping(struct record_run *run, const struct tally_piece *piece, size_t at,
			   const struct perf_event_header *header)
{
	size_t offset = header->type == PERF_RECORD_MMAP ? MMAP_NAME : MMAP2_NAME;
	struct tally_file_id id = {};
	char name[4096];
	size_t length;
	u32 prot, pid;
	u64 time = 0;

	if (header->misc & PERF_RECORD_MISC_MMAP_DATA || header->size <= offset)
		return;
	if (header->type == PERF_RECORD_MMAP2) {
		tally_piece_copy(piece, at + MMAP2_PROT, &prot, sizeof(prot));
		if (!(prot & PROT_EXEC))
			return;
		tally_piece_copy(piece, at + MMAP2_FILE, &id, TALLY_FILE_ID_BYTES);
		id.has_build_id = header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
	}
	length = header->size - offset;
	if (length > sizeof(name))
		length = sizeof(name);
	tally_piece_copy(piece, at + offset, name, length);
	name[length - 1] = 0;
	tally_piece_copy(piece, at + sizeof(*header), &pid, sizeof(pid));
	if (run->map_time_at)
		tally_piece_copy(piece, at + header->size - run->map_time_at, &time, sizeof(time));
	if (run->directory)
		pthread_mutex_lock(&run->lock);
	tally_objects_add(&run->objects, name, pid, &id, time);
	if (run->directory)
		pthread_mutex_unlock(&run->lock);
}

static void record_note(struct record_run *run, struct record_part *part,
			const struct tally_piece *piece, size_t at,
			const struct perf_event_header *header)
{
	uint64_t number;

	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		part->samples++;
		if (!run->time_at)
			break;
		tally_piece_copy(piece, at + run->time_at, &number, sizeof(number));
		record_sample_time(part, number);
		break;
	case PERF_RECORD_LOST:
		tally_piece_copy(piece, at + LOST_COUNT, &number, sizeof(number));
		part->lost += number;
		part->counted += number;
		break;
	case PERF_RECORD_LOST_SAMPLES:
		tally_piece_copy(piece, at + LOST_SAMPLES, &number, sizeof(number));
		part->lost += number;
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (!run->no_build_ids)
			record_mapping(run, piece, at, header);
		break;
	}
}

static void record_walk(struct record_run *run, struct record_part *part,
			const struct tally_piece *piece)
{
	size_t size = piece->head_size + piece->tail_size;
	struct perf_event_header header;

	for (size_t at = 0; at + sizeof(header) <= size; at += header.size) {
		tally_piece_copy(piece, at, &header, sizeof(header));
		if (header.size < sizeof(header) || at + header.size > size)
			return;
		record_note(run, part, piece, at, &header);
	}
}

static void record_take(void *arg, const struct tally_ring *ring, const struct tally_piece *piece)
{
	struct record_run *run = arg;
	struct record_part *part = &run->parts[run->directory ? ring->thread + 1 : 0];
	struct record_loss *loss = &run->losses[ring - run->rings.ring];

	if (!run->directory)
		pthread_mutex_lock(&run->lock);
	loss->counted -= part->counted;
	record_walk(run, part, piece);
	loss->counted += part->counted;
	tally_stream_write(part->stream, piece->head, piece->head_size);
	if (piece->tail_size)
		tally_stream_write(part->stream, piece->tail, piece->tail_size);
	if (!run->directory)
		pthread_mutex_unlock(&run->lock);
}

static u64 record_clock_ns(int clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* What an AUX area has is for the CPU of its buffer, or for the task that has a buffer. */
static void record_take_aux(void *arg, const struct tally_ring *ring,
			    const struct tally_piece *piece, uint64_t offset)
{
	struct record_run *run = arg;
	struct record_part *part = &run->parts[run->directory ? ring->thread + 1 : 0];
	u32 number = ring - run->rings.ring;
	const struct tally_auxtrace record = {
		.offset = offset,
		.reference = record_clock_ns(CLOCK_MONOTONIC) * run->rings.n + number,
		.idx = number,
		.tid = ring->cpu < 0 ? run->session.places[ring->place].pid : -1,
		.cpu = ring->cpu,
	};

	if (!run->directory)
		pthread_mutex_lock(&run->lock);
	tally_stream_auxtrace(part->stream, &record, piece->head, piece->head_size, piece->tail,
			      piece->tail_size);
	if (!run->directory)
		pthread_mutex_unlock(&run->lock);
}

static int record_add_attrs(struct record_run *run, struct tally_error *err)
{
	const struct tally_opened *session = &run->session;
	u64 *ids = calloc(session->nr_places, sizeof(*ids));
	int ret = ids ? 0 : tally_fail(err, ENOMEM, "out of memory");

	for (int event = 0; event < run->events.n && ret >= 0; event++) {
		u32 n = 0;

		for (int place = 0; place < session->nr_places; place++) {
			size_t at = (size_t)event * session->nr_places + place;

			if (session->fds[at] >= 0)
				ids[n++] = session->ids[at];
		}
		ret = tally_writer_add_attr(run->writer, &run->events.event[event].attr,
					    run->events.event[event].name, ids, n, err);
	}
	free(ids);
	return ret < 0 ? ret : 0;
}

static int record_put_feature(struct record_run *run, enum tally_feature feature,
			      struct tally_buf *buf, struct tally_error *err)
{
	int ret = buf->failed ? tally_fail(err, ENOMEM, "out of memory") :
		tally_writer_feature(run->writer, feature, buf->data, buf->size, err);

	tally_buf_free(buf);
	return ret;
}

static int record_group_desc(struct record_run *run, struct tally_error *err)
{
	struct tally_buf buf = {};

	if (!run->events.groups)
		return 0;
	tally_buf_put_u32(&buf, run->events.groups);
	for (int first = 0; first < run->events.n; first++) {
		int end = first + 1;

		if (!run->events.event[first].leader)
			continue;
		while (end < run->events.n && run->events.event[end].group ==
		       run->events.event[first].group)
			end++;
		tally_buf_put_string(&buf, "{anon_group}");
		tally_buf_put_u32(&buf, first);
		tally_buf_put_u32(&buf, end - first);
	}
	return record_put_feature(run, TALLY_FEAT_GROUP_DESC, &buf, err);
}

static int record_clock_features(struct record_run *run, struct tally_error *err)
{
	struct tally_buf buf = {};
	struct timespec resolution;
	int ret;

	if (run->setup.clockid < 0)
		return 0;
	clock_getres(run->setup.clockid, &resolution);
	tally_buf_put_u64(&buf, resolution.tv_sec * 1000000000ull + resolution.tv_nsec);
	ret = record_put_feature(run, TALLY_FEAT_CLOCKID, &buf, err);
	if (ret)
		return ret;
	tally_buf_put_u32(&buf, 1);
	tally_buf_put_u32(&buf, run->setup.clockid);
	tally_buf_put_u64(&buf, record_clock_ns(CLOCK_REALTIME));
	tally_buf_put_u64(&buf, record_clock_ns(run->setup.clockid));
	return record_put_feature(run, TALLY_FEAT_CLOCK_DATA, &buf, err);
}

static bool record_has_branches(const struct tally_events *events)
{
	for (int i = 0; i < events->n; i++) {
		if (events->event[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	}
	return false;
}

static int record_begin_features(struct record_run *run, int argc, char **argv,
				 struct tally_error *err)
{
	char **line = calloc(argc + 1, sizeof(*line));
	struct tally_buf tracing = {};
	int ret;

	if (!line)
		return tally_fail(err, ENOMEM, "out of memory");
	line[0] = "tally";
	line[1] = "record";
	memcpy(line + 2, argv + 1, (argc - 1) * sizeof(*line));
	ret = tally_features_collect(run->writer, argc + 1, line, err);
	free(line);
	if (!ret && record_has_branches(&run->events))
		ret = tally_writer_feature(run->writer, TALLY_FEAT_BRANCH_STACK, NULL, 0, err);
	if (!ret)
		ret = record_group_desc(run, err);
	if (!ret && tally_tracing_data(&run->events, &tracing))
		ret = record_put_feature(run, TALLY_FEAT_TRACING_DATA, &tracing, err);
	return ret ?: record_clock_features(run, err);
}

static int record_end_features(struct record_run *run, struct tally_error *err)
{
	struct record_part sum = record_sum(run);
	struct tally_buf buf = {};
	int ret;

	if (run->time_at && sum.samples) {
		tally_buf_put_u64(&buf, sum.first_time);
		tally_buf_put_u64(&buf, sum.last_time);
		ret = record_put_feature(run, TALLY_FEAT_SAMPLE_TIME, &buf, err);
		if (ret)
			return ret;
	}
	if (run->no_build_ids)
		return 0;
	if (tally_objects_build_ids(&run->objects, &buf))
		buf.failed = true;
	return buf.size || buf.failed ? record_put_feature(run, TALLY_FEAT_BUILD_ID, &buf, err) : 0;
}

/* How times of the kernel are made from the CPU's clock, where user space may do so. */
static void record_time_conversion(struct record_run *run, struct tally_buf *buf)
{
	const struct perf_event_mmap_page *page = run->rings.n ? run->rings.ring[0].page : NULL;
	struct {
		struct perf_event_header header;
		u64 time_shift, time_mult, time_zero, time_cycles, time_mask;
		u8 cap_user_time_zero, cap_user_time_short;
		u8 reserved[6];
	} record = { .header = { TALLY_RECORD_TIME_CONV, 0, sizeof(record) } };

	if (!page || !page->cap_user_time_zero)
		return;
	record.time_shift = page->time_shift;
	record.time_mult = page->time_mult;
	record.time_zero = page->time_zero;
	record.time_cycles = page->time_cycles;
	record.time_mask = page->time_mask;
	record.cap_user_time_zero = 1;
	record.cap_user_time_short = page->cap_user_time_short;
	tally_buf_put(buf, &record, sizeof(record));
}

/* What a decoder of the AUX areas reads first. */
static void record_aux_info(struct record_run *run, struct tally_buf *buf)
{
	const struct perf_event_mmap_page *page = run->rings.ring[0].page;
	bool per_cpu = run->session.places[0].cpu >= 0;

	for (int event = 0; event < run->events.n; event++) {
		if (run->events.event[event].aux)
			tally_auxtrace_info(buf, &run->events.event[event], page, per_cpu);
	}
	tally_id_index(buf, &run->rings, &run->session);
}

static int record_synthesize(struct record_run *run, struct tally_error *err)
{
	static const struct perf_event_header init = {
		.type = TALLY_RECORD_FINISHED_INIT, .size = sizeof(init),
	};
	const struct tally_target *target = &run->options.target;
	unsigned int id_size = tally_sample_id_size(&run->events.event[0].attr);
	struct tally_piece piece = { 0 };
	struct tally_buf buf = {};

	if (run->aux)
		record_aux_info(run, &buf);
	record_time_conversion(run, &buf);
	tally_synthesize_kernel(&buf, id_size);
	for (int i = 0; i < target->nr_pids; i++)
		tally_synthesize_process(&buf, target->pids[i], id_size);
	for (int i = 0; i < target->nr_tids; i++)
		tally_synthesize_process(&buf, target->tids[i], id_size);
	if (!target->nr_pids && !target->nr_tids) {
		if (run->options.argv && !target->all_cpus && !target->nr_cgroups)
			tally_synthesize_process(&buf, run->command.pid, id_size);
		else
			tally_synthesize_all(&buf, id_size);
	}
	tally_buf_put(&buf, &init, sizeof(init));
	if (buf.failed) {
		tally_buf_free(&buf);
		return tally_fail(err, ENOMEM, "out of memory");
	}
	piece.head = buf.data;
	piece.head_size = buf.size;
	record_walk(run, &run->parts[0], &piece);
	tally_stream_write(run->parts[0].stream, buf.data, buf.size);
	tally_buf_free(&buf);
	/* The records above have no times. */
	run->map_time_at = record_map_time_offset(&run->events);
	return 0;
}

/* Removes a file, or a directory with the files that a recording has. */
static void record_remove(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, "data") || !strncmp(entry->d_name, "data.", 5))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	remove(path);
}

/* Keeps the output that is there. */
static void record_keep_old(const char *output)
{
	struct stat status;
	char old[4096];

	snprintf(old, sizeof(old), "%s.old", output);
	if (!strcmp(output, "-") || stat(output, &status))
		return;
	if (!S_ISDIR(status.st_mode) && (!S_ISREG(status.st_mode) || !status.st_size))
		return;
	record_remove(old);
	rename(output, old);
}

static int record_open_streams(struct record_run *run, struct tally_error *err)
{
	int nr = run->directory ? run->pump.nr_threads + 1 : 1;

	run->parts = calloc(nr, sizeof(*run->parts));
	run->losses = calloc(run->rings.n, sizeof(*run->losses));
	if (!run->parts || !run->losses)
		return tally_fail(err, ENOMEM, "out of memory");
	run->nr_parts = nr;
	for (int i = 0; i < nr; i++) {
		run->parts[i].stream = tally_writer_stream(run->writer, i, err);
		if (!run->parts[i].stream)
			return -err->code;
	}
	return 0;
}

static int record_open_output(struct record_run *run, int argc, char **argv,
			      struct tally_error *err)
{
	int ret;

	record_keep_old(run->output);
	ret = tally_writer_open(&run->writer, run->output, run->directory ? TALLY_WRITE_DIR : 0,
				run->level, err);
	if (!ret)
		ret = record_add_attrs(run, err);
	if (!ret)
		ret = record_begin_features(run, argc, argv, err);
	if (!ret)
		ret = record_open_streams(run, err);
	return ret ?: record_synthesize(run, err);
}

static void record_progress(const struct record_run *run, bool last)
{
	double size = tally_writer_size(run->writer) / 1048576.0;
	struct record_part sum = record_sum(run);

	if (run->quiet || (!last && !isatty(STDERR_FILENO)))
		return;
	fprintf(stderr, "%s[ tally record: %llu samples, %llu lost, %.3f MB in %s ]%s",
		isatty(STDERR_FILENO) ? "\r" : "", (unsigned long long)sum.samples,
		(unsigned long long)sum.lost, size, run->output, last ? "\n" : "");
	fflush(stderr);
}

/*
 * Empties the buffers. A pass without records leaves no mark. A directory has no marks: its files
 * are not in step. Neither has a file with the oldest records written at its end.
 */
static void record_pass(struct record_run *run)
{
	if (tally_pump_pass(&run->pump) && !run->directory && !run->snapshot)
		tally_stream_round(run->parts[0].stream);
}

/*
 * Writes the LOST record that the kernel would have written in front of the buffer's next one. It
 * has no time, as what is lost: that of the last sample may be before rounds that have ended.
 */
static void record_put_lost(struct record_run *run, const struct tally_ring *ring, uint64_t lost)
{
	const struct tally_opened *session = &run->session;
	struct record_part *part = &run->parts[run->directory ? ring->thread + 1 : 0];
	struct tally_sample sample = {
		.pid = -1, .tid = -1, .cpu = ring->cpu,
	};
	struct perf_event_header header = { .type = PERF_RECORD_LOST };
	const struct perf_event_attr *attr;
	struct tally_buf buf = {};
	int event = 0;

	while (session->fds[(size_t)event * session->nr_places + ring->place] != ring->fd)
		event++;
	attr = &run->events.event[event].attr;
	sample.id = session->ids[(size_t)event * session->nr_places + ring->place];
	sample.stream_id = sample.id;
	header.size = sizeof(header) + 2 * sizeof(u64) + tally_sample_id_size(attr);
	tally_buf_put(&buf, &header, sizeof(header));
	tally_buf_put_u64(&buf, sample.id);
	tally_buf_put_u64(&buf, lost);
	tally_sample_id_put(&buf, attr, &sample);
	if (!buf.failed)
		tally_stream_write(part->stream, buf.data, buf.size);
	tally_buf_free(&buf);
	part->lost += lost;
}

/* Losses after the last record of a buffer, which is empty and is not written to any more. */
static void record_last_losses(struct record_run *run)
{
	struct record_loss *loss;

	for (int event = 0; event < run->events.n; event++) {
		for (int place = 0; place < run->session.nr_places; place++) {
			const struct tally_ring *ring =
				tally_ring_of(&run->rings, &run->session, place, false);

			if (!ring || run->events.event[event].attr.write_backward)
				continue;
			loss = &run->losses[ring - run->rings.ring];
			loss->lost += tally_read_lost(&run->session, event, place);
		}
	}
	for (int i = 0; i < run->rings.n; i++) {
		loss = &run->losses[i];
		if (loss->lost > loss->counted)
			record_put_lost(run, &run->rings.ring[i], loss->lost - loss->counted);
	}
}

/* True if the recording continues after a signal. */
static bool record_continues(struct record_run *run, int signal)
{
	if (!signal)
		return true;
	if (signal != SIGCHLD) {
		run->stopped = true;
		if (run->command.pid)
			kill(run->command.pid, signal == SIGALRM ? SIGTERM : signal);
		return false;
	}
	if (!run->command.pid || waitpid(run->command.pid, &run->status, WNOHANG) <= 0)
		return true;
	run->command.pid = 0;
	return false;
}

static void record_loop(struct record_run *run, struct measure_poll *poll)
{
	double due = measure_now() + 1;
	int signal = 0;

	while (record_continues(run, signal) && poll->open) {
		if (run->max_size && tally_writer_size(run->writer) >= run->max_size)
			break;
		signal = measure_poll_wait(poll, fmin(0.5, fmax(0, due - measure_now())));
		record_pass(run);
		if (measure_now() >= due) {
			record_progress(run, false);
			due = measure_now() + 1;
		}
	}
}

/* Empties the buffers until the delay is over, or until a signal, which stays pending. */
static void record_wait(struct record_run *run, struct measure_poll *poll)
{
	double due = measure_now() + run->delay;
	int signal = 0;

	while (!signal && poll->open && measure_now() < due) {
		signal = measure_poll_wait(poll, fmin(0.5, due - measure_now()));
		record_pass(run);
	}
	if (signal)
		raise(signal);
}

static int record_enable(struct record_run *run, struct measure_poll *poll, bool on_exec,
			 struct tally_error *err)
{
	int ret;

	if (on_exec)
		return 0;
	if (run->setup.delayed)
		record_wait(run, poll);
	ret = tally_ioctl(&run->session, PERF_EVENT_IOC_ENABLE);
	return ret ? tally_explain(err, -ret, "enable") : 0;
}

static int record_measure(struct record_run *run, bool on_exec, struct tally_error *err)
{
	bool late = run->options.argv && run->setup.delayed;
	struct measure_poll poll;
	int ret = measure_poll_init(&poll, &run->session, &run->options, err);

	if (ret)
		return ret;
	if (!late)
		ret = record_enable(run, &poll, on_exec, err);
	if (!ret && run->options.argv)
		ret = tally_command_start(&run->command, *run->options.argv, err);
	if (!ret && late)
		ret = record_enable(run, &poll, false, err);
	if (!ret)
		record_loop(run, &poll);
	run->pump.enable_aux = false;
	tally_ioctl(&run->session, PERF_EVENT_IOC_DISABLE);
	record_pass(run);
	record_last_losses(run);
	tally_pump_last(&run->pump);
	if (!ret && run->command.pid &&
	    !measure_wait_command(&run->options, run->command.pid, run->stopped, &run->status,
				  NULL))
		fprintf(stderr, "tally record: the command still runs\n");
	measure_poll_end(&poll);
	return ret;
}

static int record_open_events(struct record_run *run, bool on_exec, struct tally_error *err)
{
	struct tally_target target = run->options.target;
	int ret;

	if (run->options.argv) {
		run->command.to_stderr = !strcmp(run->output, "-");
		ret = tally_command_prepare(&run->command, run->options.argv, err);
		if (ret)
			return ret;
		if (!target.all_cpus && !target.nr_cgroups) {
			target.tids = &run->command.pid;
			target.nr_tids = 1;
		}
	}
	target.per_cpu = !run->per_thread;
	record_prepare_attrs(&run->events, &run->setup, on_exec);
	tally_rings_watermark(&run->events, run->pages);
	tally_aux_watermark(&run->events, run->aux_pages);
	run->session.events = &run->events;
	ret = tally_open(&run->session, &target, err);
	if (!ret)
		ret = tally_rings_map(&run->rings, &run->session, run->pages, err);
	if (!ret && run->aux)
		ret = tally_aux_map(&run->rings, &run->session, run->aux_pages, err);
	if (ret)
		return ret;
	measure_fallback_note(&run->session);
	run->time_at = record_time_offset(&run->events);
	run->pump.rings = &run->rings;
	run->pump.take = record_take;
	run->pump.take_aux = record_take_aux;
	run->pump.enable_aux = true;
	run->pump.arg = run;
	return tally_pump_start(&run->pump, run->threads, err);
}

/* Exit status of the command, as a shell has it. That it ends by our signal is no failure. */
static int record_status(const struct record_run *run)
{
	if (!run->options.argv)
		return 0;
	if (WIFEXITED(run->status))
		return WEXITSTATUS(run->status);
	return run->stopped ? 0 : 128 + WTERMSIG(run->status);
}

static int record_run_all(struct record_run *run, int argc, char **argv)
{
	const struct tally_target *target = &run->options.target;
	bool on_exec = run->options.argv && !target->all_cpus && !target->nr_cgroups &&
		!run->setup.delayed;
	struct tally_error err = { 0 };
	int ret = record_open_events(run, on_exec, &err);

	if (!ret)
		ret = record_open_output(run, argc, argv, &err);
	if (!ret)
		ret = record_measure(run, on_exec, &err);
	tally_pump_stop(&run->pump);
	if (!ret)
		ret = record_end_features(run, &err);
	if (!ret) {
		record_progress(run, true);
		ret = tally_writer_finish(run->writer, &err);
	} else {
		if (run->command.pid > 0)
			kill(run->command.pid, SIGKILL);
		tally_writer_abandon(run->writer);
	}
	tally_rings_unmap(&run->rings);
	tally_close(&run->session);
	if (ret)
		return measure_complain("record", &err);
	return record_status(run);
}

/* Values of options without a letter. */
enum record_long {
	RECORD_CALL_GRAPH = 256,
	RECORD_PHYS_DATA,
	RECORD_BUILDID_MMAP,
	RECORD_PER_THREAD,
	RECORD_SWITCH_EVENTS,
	RECORD_NAMESPACES,
	RECORD_THREADS,
	RECORD_MAX_SIZE,
	RECORD_DIR,
	RECORD_OVERWRITE,
	RECORD_HELP,
};

static const struct option record_long_options[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "freq", required_argument, NULL, 'F' },
	{ "count", required_argument, NULL, 'c' },
	{ "call-graph", required_argument, NULL, RECORD_CALL_GRAPH },
	{ "branch-any", no_argument, NULL, 'b' },
	{ "branch-filter", required_argument, NULL, 'j' },
	MEASURE_TARGET_OPTIONS,
	{ "output", required_argument, NULL, 'o' },
	{ "compression-level", optional_argument, NULL, 'z' },
	{ "mmap-pages", required_argument, NULL, 'm' },
	{ "data", no_argument, NULL, 'd' },
	{ "weight", no_argument, NULL, 'W' },
	{ "raw-samples", no_argument, NULL, 'R' },
	{ "phys-data", no_argument, NULL, RECORD_PHYS_DATA },
	{ "clockid", required_argument, NULL, 'k' },
	{ "no-inherit", no_argument, NULL, 'i' },
	{ "delay", required_argument, NULL, 'D' },
	{ "no-buildid", no_argument, NULL, 'N' },
	{ "buildid-mmap", no_argument, NULL, RECORD_BUILDID_MMAP },
	{ "quiet", no_argument, NULL, 'q' },
	{ "per-thread", no_argument, NULL, RECORD_PER_THREAD },
	{ "switch-events", no_argument, NULL, RECORD_SWITCH_EVENTS },
	{ "namespaces", no_argument, NULL, RECORD_NAMESPACES },
	{ "threads", required_argument, NULL, RECORD_THREADS },
	{ "max-size", required_argument, NULL, RECORD_MAX_SIZE },
	{ "dir", no_argument, NULL, RECORD_DIR },
	{ "overwrite", no_argument, NULL, RECORD_OVERWRITE },
	{ "help", no_argument, NULL, RECORD_HELP },
	{ NULL, 0, NULL, 0 },
};

static int record_number(const char *text, uint64_t *number)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	*number = strtoull(text, &end, 0);
	if (end == text)
		return -EINVAL;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		*number <<= 10 * (unit - units + 1);
		end++;
	}
	return *end ? -EINVAL : 0;
}

static int record_clock(const char *text, int *clock)
{
	static const struct {
		const char *name;
		int clock;
	} clocks[] = {
		{ "monotonic", CLOCK_MONOTONIC },
		{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
		{ "boottime", CLOCK_BOOTTIME },
		{ "realtime", CLOCK_REALTIME },
		{ "tai", CLOCK_TAI },
	};

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (!strcmp(text, clocks[i].name)) {
			*clock = clocks[i].clock;
			return 0;
		}
	}
	return -EINVAL;
}

static int record_max_rate(uint64_t *rate)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "r");
	int n = file ? fscanf(file, "%lu", rate) : 0;

	if (file)
		fclose(file);
	return n == 1 ? 0 : -EINVAL;
}

/* "PAGES", "PAGES,AUX" or ",AUX". */
static int record_pages(struct record_run *run, char *value)
{
	char *comma = strchr(value, ',');
	uint64_t pages = 0, aux = 0;

	if (comma)
		*comma = 0;
	if ((*value || !comma) && (record_number(value, &pages) || !pages))
		return -EINVAL;
	if (comma && (record_number(comma + 1, &aux) || !aux))
		return -EINVAL;
	run->pages = pages;
	run->aux_pages = aux;
	return pages > 0x100000 || aux > 0x100000 ? -EINVAL : 0;
}

static int record_number_option(struct record_run *run, int option, const char *value)
{
	uint64_t number = 1;

	if (option == 'F' && !strcmp(value, "max"))
		return record_max_rate(&run->setup.frequency);
	if (value && record_number(value, &number))
		return -EINVAL;
	switch (option) {
	case 'F':
		run->setup.frequency = number;
		break;
	case 'c':
		run->setup.period = number;
		break;
	case 'z':
		run->level = number;
		return number > 22 ? -EINVAL : 0;
	case 'D':
		run->delay = number / 1000.0;
		return 0;
	case RECORD_THREADS:
		run->threads = number;
		return number > 1024 ? -EINVAL : 0;
	case RECORD_MAX_SIZE:
		run->max_size = number;
		return 0;
	}
	return number ? 0 : -EINVAL;
}

static int record_flag_option(struct record_run *run, int option)
{
	static const struct {
		int option;
		uint64_t sample_type;
	} fields[] = {
		{ 'd', PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC },
		{ 'W', PERF_SAMPLE_WEIGHT_STRUCT },
		{ 'R', PERF_SAMPLE_RAW },
		{ RECORD_PHYS_DATA, PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_ADDR },
	};
	const struct {
		int option;
		bool *flag;
		bool value;
	} flags[] = {
		{ 'i', &run->setup.inherit, false },
		{ 'N', &run->no_build_ids, true },
		{ 'q', &run->quiet, true },
		{ RECORD_BUILDID_MMAP, &run->setup.build_ids, true },
		{ RECORD_PER_THREAD, &run->per_thread, true },
		{ RECORD_DIR, &run->directory, true },
		{ RECORD_OVERWRITE, &run->overwrite, true },
		{ RECORD_SWITCH_EVENTS, &run->setup.switches, true },
		{ RECORD_NAMESPACES, &run->setup.namespaces, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].option == option) {
			run->setup.extra |= fields[i].sample_type;
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (flags[i].option == option) {
			*flags[i].flag = flags[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

static int record_option(struct record_run *run, int option, char *value, struct tally_error *err)
{
	switch (option) {
	case 'e':
		return tally_parse_events(&run->events, value, err) < 0 ? -EINVAL : 0;
	case 'g':
		run->setup.callgraph = TALLY_CALLGRAPH_FP;
		return 0;
	case RECORD_CALL_GRAPH:
		return tally_callgraph_mode(value, &run->setup.callgraph, &run->setup.stack_size,
					    err);
	case 'b':
		run->setup.branches = PERF_SAMPLE_BRANCH_ANY;
		return 0;
	case 'j':
		return tally_branch_filter(value, &run->setup.branches, err);
	case 'o':
		run->output = value;
		return 0;
	case 'k':
		return record_clock(value, &run->setup.clockid);
	case 'a':
	case 'C':
	case 'p':
	case 't':
	case 'G':
		return measure_target_option(&run->options.target, option, value);
	case 'm':
		return record_pages(run, value);
	case 'F':
	case 'c':
	case 'z':
	case 'D':
	case RECORD_THREADS:
	case RECORD_MAX_SIZE:
		return record_number_option(run, option, value);
	default:
		return record_flag_option(run, option);
	}
}

/* Checks the options against each other, and completes them. */
static int record_complete(struct record_run *run, struct tally_error *err)
{
	struct tally_target *target = &run->options.target;
	bool tasks = target->nr_pids || target->nr_tids;
	int ret;

	if (!run->events.n) {
		run->session.clock_for_cycles = true;
		if (tally_parse_events(&run->events, RECORD_DEFAULT, err) < 0)
			return -EINVAL;
	}
	if (record_check_terms(&run->events, true, err))
		return -EOPNOTSUPP;
	ret = record_aux(&run->events, run->aux_pages, err);
	if (ret < 0)
		return ret;
	run->aux = ret;
	if (run->aux_pages && !run->aux)
		return tally_fail(err, EINVAL, "-m: no event has a PMU with an AUX area");
	ret = record_overwrite(&run->events, run->overwrite, err);
	if (ret < 0)
		return ret;
	run->snapshot = ret;
	run->setup.delayed = run->delay > 0;
	if (run->setup.delayed && record_delay(&run->events, err))
		return -EINVAL;
	if (run->directory && !strcmp(run->output, "-"))
		return tally_fail(err, EINVAL, "--dir takes a path");
	if (target->cpus && !tasks && !target->nr_cgroups)
		target->all_cpus = true;
	if (!run->options.argv && !tasks && !target->all_cpus && !target->nr_cgroups)
		return tally_fail(err, EINVAL, "what to record? a command, -a, -p, -t or -G");
	if (run->options.argv && tasks)
		return tally_fail(err, EINVAL, "a command and -p or -t exclude each other");
	if (run->per_thread && (target->all_cpus || target->nr_cgroups))
		return tally_fail(err, EINVAL, "--per-thread takes tasks");
	if (run->per_thread)
		run->setup.inherit = false;
	run->setup.cpu = target->all_cpus || target->nr_cgroups;
	return 0;
}

/**
 * cmd_record() - the command
 * @argc: number of arguments
 * @argv: arguments, the first is "record"
 *
 * Return: exit status of the command, 0 without one, 1 after a failure, 2 for bad options.
 */
int cmd_record(int argc, char **argv)
{
	struct record_run run = { .setup = { .clockid = -1, .inherit = true },
				  .output = "perf.data" };
	struct tally_error err = { 0 };
	int option, ret;

	optind = 1;
	while ((option = getopt_long(argc, argv, "+e:F:c:gbj:aC:p:t:G:o:z::m:dWRk:iD:Nq",
				     record_long_options, NULL)) >= 0) {
		if (option == RECORD_HELP)
			return record_usage(stdout, 0);
		if (option == '?')
			return record_usage(stderr, 2);
		if (record_option(&run, option, optarg, &err)) {
			if (!*err.text)
				tally_fail(&err, EINVAL, "'%s' makes no sense", argv[optind - 1]);
			return measure_complain("record", &err) + 1;
		}
	}
	if (optind < argc)
		run.options.argv = argv + optind;
	if (record_complete(&run, &err))
		return measure_complain("record", &err) + 1;
	pthread_mutex_init(&run.lock, NULL);
	measure_block_signals(&run.options);
	ret = record_run_all(&run, argc, argv);
	tally_objects_free(&run.objects);
	tally_free_events(&run.events);
	free(run.parts);
	free(run.losses);
	free(run.options.target.pids);
	free(run.options.target.tids);
	free(run.options.target.cgroups);
	return ret;
}
