// SPDX-License-Identifier: GPL-2.0
/*
 * Writing perf.data.
 *
 * A file is, in this order: header, ids, attrs, data, table of the feature sections, sections. The
 * header is written with an empty data section first and again at the end: a file that was not
 * finished differs from an empty one.
 *
 * LOCKING: none. A stream belongs to one thread at a time; everything else to the thread that
 * opened the writer.
 */
#include "data_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* Bytes that a stream collects before it writes or compresses them. */
#define STREAM_BUFFER		(512 * 1024)
/* Largest record: its size has 16 bits, and is a multiple of 8. */
#define RECORD_MAX		65528

/**
 * struct tally_stream - a sequence of records in one file
 * @writer: writer of all streams
 * @fd: file
 * @used: bytes in @buffer
 * @buffer: records that are not in the file yet
 * @written: bytes of records in the file
 * @raw: bytes of records before their compression
 * @zstd: state of the compression, NULL without
 */
struct tally_stream {
	struct tally_writer *writer;
	int fd;
	size_t used;
	u8 *buffer;
	u64 written;
	u64 raw;
#ifdef HAVE_ZSTD
	ZSTD_CCtx *zstd;
#endif
};

/**
 * struct written_attr - an event
 * @attr: its attr, zero beyond the size that it was written with
 * @name: its name
 * @ids: ids of its instances
 * @nr_ids: number of them
 */
struct written_attr {
	struct perf_event_attr attr;
	char *name;
	u64 *ids;
	u32 nr_ids;
};

/**
 * struct tally_writer - an open perf.data
 * @path: path of the output, for messages
 * @flags: TALLY_WRITE_*
 * @level: level of the compression; 0: none
 * @started: attrs are in the file, none can be added
 * @error: first errno of a write, 0 if none failed
 * @data_offset: where the records begin in the file
 * @attrs_offset: where the attrs begin in the file
 * @attr_size: bytes of an attr in the file
 * @nr_attrs: number of events
 * @attrs: the events
 * @streams: by number; NULL where not in use
 * @nr_streams: number of entries in @streams
 * @features: contents of the sections
 * @have: there is a section
 * @auxtrace: index of the pieces of AUX areas, &struct tally_section each
 */
struct tally_writer {
	char *path;
	unsigned int flags;
	int level;
	bool started;
	int error;
	u64 data_offset;
	u64 attrs_offset;
	u32 attr_size;
	u32 nr_attrs;
	struct written_attr *attrs;
	struct tally_stream **streams;
	u32 nr_streams;
	struct tally_buf features[TALLY_FEAT_END];
	bool have[TALLY_FEAT_END];
	struct tally_buf auxtrace;
};

static int writer_out(struct tally_writer *writer, int fd, const void *data, size_t size)
{
	const u8 *next = data;

	while (size && !writer->error) {
		ssize_t done = write(fd, next, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			writer->error = done ? errno : EIO;
			break;
		}
		next += done;
		size -= done;
	}
	return -writer->error;
}

static int stream_out(struct tally_stream *stream, const void *data, size_t size)
{
	stream->written += size;
	return writer_out(stream->writer, stream->fd, data, size);
}

#ifdef HAVE_ZSTD
/* One piece of the compressed stream is one record. Returns true if there is more. */
static bool stream_out_piece(struct tally_stream *stream, ZSTD_inBuffer *in)
{
	static const struct perf_event_header compressed = { .type = TALLY_RECORD_COMPRESSED };
	u8 record[RECORD_MAX];
	struct perf_event_header header = compressed;
	ZSTD_outBuffer out = { record + sizeof(header), RECORD_MAX - sizeof(header), 0 };
	size_t left = ZSTD_compressStream2(stream->zstd, &out, in, ZSTD_e_flush);

	if (ZSTD_isError(left)) {
		stream->writer->error = EIO;
		return false;
	}
	header.size = sizeof(header) + out.pos;
	memcpy(record, &header, sizeof(header));
	if (out.pos)
		stream_out(stream, record, header.size);
	return left && !stream->writer->error;
}

/* The reader's buffer has room for STREAM_BUFFER bytes: no flush covers more. */
static void stream_compress(struct tally_stream *stream, const void *data, size_t size)
{
	while (size) {
		ZSTD_inBuffer in = { data, size < STREAM_BUFFER ? size : STREAM_BUFFER, 0 };

		data += in.size;
		size -= in.size;
		while (stream_out_piece(stream, &in))
			;
	}
}
#endif

static void stream_out_records(struct tally_stream *stream, const void *data, size_t size)
{
	stream->raw += size;
#ifdef HAVE_ZSTD
	if (stream->zstd) {
		stream_compress(stream, data, size);
		return;
	}
#endif
	stream_out(stream, data, size);
}

/**
 * tally_stream_flush - write what a stream has collected
 * @stream: stream
 *
 * Return: 0 or the negative errno of the first write that failed.
 */
int tally_stream_flush(struct tally_stream *stream)
{
	size_t used = stream->used;

	stream->used = 0;
	if (used)
		stream_out_records(stream, stream->buffer, used);
	return -stream->writer->error;
}

/* The size of a section shows its revision: it is not filled up, as perf's are not. */
static void writer_pipe_record(struct tally_writer *writer, u32 type, u64 word, const void *data,
			       size_t size)
{
	struct {
		struct perf_event_header header;
		u64 word;
	} start = {
		.header = { .type = type, .size = sizeof(start) + size },
		.word = word,
	};
	int fd = writer->streams[0]->fd;

	writer_out(writer, fd, &start, sizeof(start));
	writer_out(writer, fd, data, size);
}

/**
 * tally_attr_write_size - bytes that an attr has in a file
 * @attr: attr
 *
 * perf of any version reads a file with attrs as short as their contents allow.
 *
 * Return: one of PERF_ATTR_SIZE_VER*.
 */
u32 tally_attr_write_size(const struct perf_event_attr *attr)
{
	static const u32 sizes[] = {
		PERF_ATTR_SIZE_VER5, PERF_ATTR_SIZE_VER6, PERF_ATTR_SIZE_VER7,
	};
	static const u8 zeroes[sizeof(*attr)];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (!memcmp((const u8 *)attr + sizes[i], zeroes, sizeof(*attr) - sizes[i]))
			return sizes[i];
	return sizeof(*attr);
}

static void writer_pipe_attr(struct tally_writer *writer, const struct written_attr *event)
{
	struct perf_event_header header = {
		.type = TALLY_RECORD_HEADER_ATTR,
		.size = sizeof(header) + event->attr.size + event->nr_ids * sizeof(u64),
	};
	int fd = writer->streams[0]->fd;

	writer_out(writer, fd, &header, sizeof(header));
	writer_out(writer, fd, &event->attr, event->attr.size);
	writer_out(writer, fd, event->ids, event->nr_ids * sizeof(u64));
}

static void writer_event_desc(struct tally_writer *writer)
{
	struct tally_buf *buf = &writer->features[TALLY_FEAT_EVENT_DESC];

	if (writer->have[TALLY_FEAT_EVENT_DESC])
		return;
	writer->have[TALLY_FEAT_EVENT_DESC] = true;
	tally_buf_put_u32(buf, writer->nr_attrs);
	tally_buf_put_u32(buf, writer->attr_size);
	for (u32 i = 0; i < writer->nr_attrs; i++) {
		const struct written_attr *event = &writer->attrs[i];

		tally_buf_put(buf, &event->attr, writer->attr_size);
		tally_buf_put_u32(buf, event->nr_ids);
		tally_buf_put_string(buf, event->name);
		tally_buf_put(buf, event->ids, event->nr_ids * sizeof(u64));
	}
}

/* In a section the type of a build id's record may be left at 0. */
static int writer_pipe_build_ids(struct tally_writer *writer, const struct tally_buf *buf)
{
	int fd = writer->streams[0]->fd;
	struct perf_event_header header;

	for (size_t at = 0; at + sizeof(header) <= buf->size; at += header.size) {
		memcpy(&header, buf->data + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > buf->size - at)
			break;
		header.type = TALLY_RECORD_BUILD_ID;
		writer_out(writer, fd, &header, sizeof(header));
		writer_out(writer, fd, buf->data + at + sizeof(header),
			   header.size - sizeof(header));
	}
	return -writer->error;
}

/* Build ids and tracing data have records of their own in a pipe. */
static int writer_pipe_feature(struct tally_writer *writer, u32 feature,
			       const struct tally_buf *buf, struct tally_error *err)
{
	struct {
		struct perf_event_header header;
		u32 size;
	} tracing = { { TALLY_RECORD_TRACING_DATA, 0, 12 }, buf->size };
	int fd = writer->streams[0]->fd;

	if (feature == TALLY_FEAT_BUILD_ID)
		return writer_pipe_build_ids(writer, buf);
	if (feature == TALLY_FEAT_TRACING_DATA) {
		static const u8 zeroes[8];

		writer_out(writer, fd, &tracing, sizeof(tracing));
		writer_out(writer, fd, buf->data, buf->size);
		return writer_out(writer, fd, zeroes, -buf->size & 7);
	}
	if (buf->size > RECORD_MAX - sizeof(struct perf_event_header) - sizeof(u64))
		return tally_fail(err, E2BIG, "feature %u has %zu bytes, too many for a pipe",
				  feature, buf->size);
	writer_pipe_record(writer, TALLY_RECORD_FEATURE, feature, buf->data, buf->size);
	return -writer->error;
}

static void writer_start_pipe(struct tally_writer *writer)
{
	static const u64 header[] = { TALLY_MAGIC2, TALLY_PIPE_HEADER_SIZE };

	writer_out(writer, writer->streams[0]->fd, header, sizeof(header));
	for (u32 i = 0; i < writer->nr_attrs; i++)
		writer_pipe_attr(writer, &writer->attrs[i]);
	writer_event_desc(writer);
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		if (writer->have[i])
			writer_pipe_feature(writer, i, &writer->features[i], NULL);
	writer_pipe_record(writer, TALLY_RECORD_FEATURE, TALLY_FEAT_END, NULL, 0);
}

static void writer_file_header(struct tally_writer *writer, struct tally_file_header *header)
{
	u32 entry = writer->attr_size + sizeof(struct tally_section);

	*header = (struct tally_file_header){
		.magic = TALLY_MAGIC2,
		.size = sizeof(*header),
		.attr_size = entry,
		.attrs = { writer->attrs_offset, (u64)writer->nr_attrs * entry },
		.data = { writer->data_offset, writer->streams[0]->written },
	};
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		if (writer->have[i])
			header->flags[0] |= 1ULL << i;
}

static void writer_start_file(struct tally_writer *writer)
{
	struct tally_file_header header;
	struct tally_buf buf = {};
	u64 ids = sizeof(header);

	for (u32 i = 0; i < writer->nr_attrs; i++)
		tally_buf_put(&buf, writer->attrs[i].ids, writer->attrs[i].nr_ids * sizeof(u64));
	writer->attrs_offset = sizeof(header) + buf.size;
	for (u32 i = 0; i < writer->nr_attrs; i++) {
		u64 size = writer->attrs[i].nr_ids * sizeof(u64);

		tally_buf_put(&buf, &writer->attrs[i].attr, writer->attr_size);
		tally_buf_put_u64(&buf, ids);
		tally_buf_put_u64(&buf, size);
		ids += size;
	}
	writer->data_offset = sizeof(header) + buf.size;
	writer_file_header(writer, &header);
	if (buf.failed)
		writer->error = ENOMEM;
	writer_out(writer, writer->streams[0]->fd, &header, sizeof(header));
	writer_out(writer, writer->streams[0]->fd, buf.data, buf.size);
	tally_buf_free(&buf);
}

static void writer_compressed(struct tally_writer *writer)
{
	struct tally_buf *buf = &writer->features[TALLY_FEAT_COMPRESSED];
	u64 raw = 0, written = 0;

	for (u32 i = 0; i < writer->nr_streams; i++) {
		raw += writer->streams[i] ? writer->streams[i]->raw : 0;
		written += writer->streams[i] ? writer->streams[i]->written : 0;
	}
	buf->size = 0;
	writer->have[TALLY_FEAT_COMPRESSED] = true;
	tally_buf_put_u32(buf, 1);
	tally_buf_put_u32(buf, 1);
	tally_buf_put_u32(buf, writer->level);
	tally_buf_put_u32(buf, written && raw > written ? (raw + written / 2) / written : 1);
	tally_buf_put_u32(buf, STREAM_BUFFER);
}

/*
 * All attrs in a file have the size of the largest. In a pipe perf of Linux 6.1 expects its own
 * size, whatever the size in the attr is.
 */
static void writer_start(struct tally_writer *writer)
{
	if (writer->started)
		return;
	writer->started = true;
	if (writer->flags & TALLY_WRITE_PIPE)
		writer->attr_size = PERF_ATTR_SIZE_VER7;
	for (u32 i = 0; i < writer->nr_attrs; i++)
		if (writer->attrs[i].attr.size > writer->attr_size)
			writer->attr_size = writer->attrs[i].attr.size;
	for (u32 i = 0; i < writer->nr_attrs; i++)
		writer->attrs[i].attr.size = writer->attr_size;
	if (writer->level)
		writer_compressed(writer);
	if (writer->flags & TALLY_WRITE_PIPE)
		writer_start_pipe(writer);
	else
		writer_start_file(writer);
}

/**
 * tally_stream_write - append records
 * @stream: stream
 * @records: records as the kernel wrote them, or a part of them: the pieces follow one another
 * @size: bytes
 *
 * Return: 0 or the negative errno of the first write that failed.
 */
int tally_stream_write(struct tally_stream *stream, const void *records, size_t size)
{
	bool direct = size > STREAM_BUFFER / 2;

	writer_start(stream->writer);
	if (direct || stream->used + size > STREAM_BUFFER)
		tally_stream_flush(stream);
	if (direct) {
		stream_out_records(stream, records, size);
		return -stream->writer->error;
	}
	memcpy(stream->buffer + stream->used, records, size);
	stream->used += size;
	return -stream->writer->error;
}

/**
 * tally_stream_round - append a mark: no later record is older than the mark before this one
 * @stream: stream
 *
 * Return: 0 or the negative errno of the first write that failed.
 */
int tally_stream_round(struct tally_stream *stream)
{
	static const struct perf_event_header mark = {
		.type = TALLY_RECORD_FINISHED_ROUND, .size = sizeof(mark),
	};

	return tally_stream_write(stream, &mark, sizeof(mark));
}

/**
 * tally_stream_auxtrace - append a piece of an AUX area
 * @stream: stream
 * @record: what the piece is; header.type, header.size and size are filled in here
 * @head: the piece, or its first part where the area wraps
 * @head_size: bytes of @head
 * @tail: its second part
 * @tail_size: bytes of @tail, 0 if there is none
 *
 * The piece is not compressed. The index of a file has an entry for each piece in stream 0: the
 * place and the size of the record, without the piece.
 *
 * Return: 0 or the negative errno of the first write that failed.
 */
int tally_stream_auxtrace(struct tally_stream *stream, const struct tally_auxtrace *record,
			  const void *head, size_t head_size, const void *tail, size_t tail_size)
{
	static const u8 zeroes[8];
	struct tally_writer *writer = stream->writer;
	struct tally_auxtrace start = *record;
	size_t padding = -(head_size + tail_size) & 7;

	writer_start(writer);
	tally_stream_flush(stream);
	start.header.type = TALLY_RECORD_AUXTRACE;
	start.header.size = sizeof(start);
	start.size = head_size + tail_size + padding;
	if (stream == writer->streams[0]) {
		tally_buf_put_u64(&writer->auxtrace, writer->data_offset + stream->written);
		tally_buf_put_u64(&writer->auxtrace, sizeof(start));
	}
	stream->raw += sizeof(start) + start.size;
	stream_out(stream, &start, sizeof(start));
	stream_out(stream, head, head_size);
	stream_out(stream, tail, tail_size);
	return stream_out(stream, zeroes, padding);
}

static void stream_free(struct tally_stream *stream)
{
	if (!stream)
		return;
#ifdef HAVE_ZSTD
	ZSTD_freeCCtx(stream->zstd);
#endif
	if (stream->fd > STDERR_FILENO)
		close(stream->fd);
	free(stream->buffer);
	free(stream);
}

static int stream_init_zstd(struct tally_stream *stream)
{
#ifdef HAVE_ZSTD
	int level = stream->writer->level;

	if (!level)
		return 0;
	stream->zstd = ZSTD_createCCtx();
	if (!stream->zstd)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_compressionLevel, level);
#else
	(void)stream;
#endif
	return 0;
}

static struct tally_stream *stream_new(struct tally_writer *writer, int fd)
{
	struct tally_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->writer = writer;
	stream->fd = fd;
	stream->buffer = malloc(STREAM_BUFFER);
	if (!stream->buffer || stream_init_zstd(stream)) {
		stream->fd = -1;
		stream_free(stream);
		return NULL;
	}
	return stream;
}

static int writer_set_stream(struct tally_writer *writer, u32 index, int fd)
{
	struct tally_stream **streams = writer->streams;

	if (index >= writer->nr_streams) {
		streams = realloc(streams, (index + 1) * sizeof(*streams));
		if (!streams)
			return -ENOMEM;
		memset(streams + writer->nr_streams, 0,
		       (index + 1 - writer->nr_streams) * sizeof(*streams));
		writer->streams = streams;
		writer->nr_streams = index + 1;
	}
	streams[index] = stream_new(writer, fd);
	return streams[index] ? 0 : -ENOMEM;
}

static int writer_create(struct tally_writer *writer, const char *name, struct tally_error *err)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 && errno == ENXIO)
		fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return tally_fail(err, errno, "%s: %s", name, strerror(errno));
	if (lseek(fd, 0, SEEK_CUR) < 0)
		writer->flags |= TALLY_WRITE_PIPE;
	return fd;
}

/**
 * tally_writer_stream - the stream of a number, created when it is first requested
 * @writer: writer
 * @index: 0: the one that every writer has; below TALLY_MAX_STREAMS, others: TALLY_WRITE_DIR only
 * @err: what failed
 *
 * Creating a stream ends the adding of attrs.
 *
 * Return: the stream, valid until the writer is finished; NULL after a failure.
 */
struct tally_stream *tally_writer_stream(struct tally_writer *writer, u32 index,
					 struct tally_error *err)
{
	char *path;
	int fd;

	if (index < writer->nr_streams && writer->streams[index])
		return writer->streams[index];
	writer_start(writer);
	if (!(writer->flags & TALLY_WRITE_DIR) || index >= TALLY_MAX_STREAMS) {
		tally_fail(err, EINVAL, "%s: has no stream %u", writer->path, index);
		return NULL;
	}
	if (asprintf(&path, "%s/data.%u", writer->path, index - 1) < 0) {
		tally_fail(err, ENOMEM, "no memory");
		return NULL;
	}
	fd = writer_create(writer, path, err);
	free(path);
	if (fd < 0)
		return NULL;
	if (writer_set_stream(writer, index, fd)) {
		close(fd);
		tally_fail(err, ENOMEM, "no memory");
		return NULL;
	}
	return writer->streams[index];
}

static int writer_open_output(struct tally_writer *writer, struct tally_error *err)
{
	char *path = NULL;
	int fd;

	if (!strcmp(writer->path, "-")) {
		writer->flags |= TALLY_WRITE_PIPE;
		return STDOUT_FILENO;
	}
	if (!(writer->flags & TALLY_WRITE_DIR))
		return writer_create(writer, writer->path, err);
	if (mkdir(writer->path, 0700) && errno != EEXIST)
		return tally_fail(err, errno, "%s: %s", writer->path, strerror(errno));
	if (asprintf(&path, "%s/data", writer->path) < 0)
		return tally_fail(err, ENOMEM, "no memory");
	fd = writer_create(writer, path, err);
	free(path);
	return fd;
}

/**
 * tally_writer_abandon - close a writer without finishing the file
 * @writer: writer, freed; may be NULL
 */
void tally_writer_abandon(struct tally_writer *writer)
{
	if (!writer)
		return;
	for (u32 i = 0; i < writer->nr_streams; i++)
		stream_free(writer->streams[i]);
	for (u32 i = 0; i < writer->nr_attrs; i++) {
		free(writer->attrs[i].name);
		free(writer->attrs[i].ids);
	}
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		tally_buf_free(&writer->features[i]);
	tally_buf_free(&writer->auxtrace);
	free(writer->streams);
	free(writer->attrs);
	free(writer->path);
	free(writer);
}

/**
 * tally_writer_open - create a perf.data
 * @writer: set to the writer, for tally_writer_finish()
 * @path: file or directory; "-": the standard output
 * @flags: TALLY_WRITE_*
 * @zstd_level: 0: no compression; 1 to 22: level of zstd
 * @err: what failed
 *
 * Return: 0 or a negative errno; -EOPNOTSUPP: built without zstd.
 */
int tally_writer_open(struct tally_writer **writer, const char *path, unsigned int flags,
		      int zstd_level, struct tally_error *err)
{
	struct tally_writer *new;
	int fd;

#ifndef HAVE_ZSTD
	if (zstd_level)
		return tally_fail(err, EOPNOTSUPP, "this program was built without zstd");
#endif
	new = calloc(1, sizeof(*new));
	if (!new)
		return tally_fail(err, ENOMEM, "no memory");
	new->path = strdup(path);
	new->flags = flags;
	new->level = zstd_level;
	fd = new->path ? writer_open_output(new, err) : tally_fail(err, ENOMEM, "no memory");
	if (fd >= 0 && writer_set_stream(new, 0, fd)) {
		if (fd > STDERR_FILENO)
			close(fd);
		fd = tally_fail(err, ENOMEM, "no memory");
	}
	if (fd < 0) {
		tally_writer_abandon(new);
		return fd;
	}
	*writer = new;
	return 0;
}

/**
 * tally_writer_add_attr - add an event
 * @writer: writer that no record was written to
 * @attr: attr as it was opened; any attr.size
 * @name: name for reports
 * @ids: ids of its instances (PERF_EVENT_IOC_ID), one for each CPU or task
 * @nr_ids: number of @ids; a reader needs them where there are several events
 * @err: what failed
 *
 * Return: number of the event, from 0, or a negative errno.
 */
int tally_writer_add_attr(struct tally_writer *writer, const struct perf_event_attr *attr,
			  const char *name, const u64 *ids, u32 nr_ids, struct tally_error *err)
{
	struct written_attr *event;

	if (writer->started)
		return tally_fail(err, EINVAL, "records were written before an attr");
	if (writer->flags & TALLY_WRITE_PIPE &&
	    nr_ids > (RECORD_MAX - sizeof(*attr) - sizeof(struct perf_event_header)) / sizeof(u64))
		return tally_fail(err, E2BIG, "%u ids are too many for a pipe", nr_ids);
	event = realloc(writer->attrs, (writer->nr_attrs + 1) * sizeof(*event));
	if (!event)
		return tally_fail(err, ENOMEM, "no memory");
	writer->attrs = event;
	event += writer->nr_attrs;
	event->attr = *attr;
	event->attr.size = tally_attr_write_size(attr);
	event->name = strdup(name);
	event->nr_ids = nr_ids;
	event->ids = malloc(nr_ids * sizeof(u64) ?: 1);
	if (!event->name || !event->ids) {
		free(event->name);
		free(event->ids);
		return tally_fail(err, ENOMEM, "no memory");
	}
	if (nr_ids)
		memcpy(event->ids, ids, nr_ids * sizeof(u64));
	return writer->nr_attrs++;
}

/**
 * tally_writer_feature - add or replace a feature section
 * @writer: writer
 * @feature: which one
 * @data: contents in the layout of the format
 * @size: bytes of @data
 * @err: what failed
 *
 * EVENT_DESC, COMPRESSED, AUXTRACE and DIR_FORMAT are written without this. In a pipe a feature
 * that is added after a record is written at that place.
 *
 * Return: 0 or a negative errno.
 */
int tally_writer_feature(struct tally_writer *writer, enum tally_feature feature, const void *data,
			 size_t size, struct tally_error *err)
{
	struct tally_buf *buf;

	if (feature < 1 || feature >= TALLY_FEAT_END)
		return tally_fail(err, EINVAL, "there is no feature %u", feature);
	buf = &writer->features[feature];
	buf->size = 0;
	tally_buf_put(buf, data, size);
	if (buf->failed)
		return tally_fail(err, ENOMEM, "no memory");
	writer->have[feature] = true;
	if (writer->started && writer->flags & TALLY_WRITE_PIPE) {
		tally_stream_flush(writer->streams[0]);
		return writer_pipe_feature(writer, feature, buf, err);
	}
	return 0;
}

/**
 * tally_writer_size - size of the output
 * @writer: writer
 *
 * Return: bytes of records that were written or are about to be; all streams.
 */
u64 tally_writer_size(const struct tally_writer *writer)
{
	u64 size = 0;

	for (u32 i = 0; i < writer->nr_streams; i++)
		if (writer->streams[i])
			size += writer->streams[i]->written + writer->streams[i]->used;
	return size;
}

static void writer_own_features(struct tally_writer *writer)
{
	static const u64 dir_version = 1;
	u64 pieces = writer->auxtrace.size / sizeof(struct tally_section);
	struct tally_buf *buf = &writer->features[TALLY_FEAT_AUXTRACE];

	writer_event_desc(writer);
	if (writer->level)
		writer_compressed(writer);
	if (writer->flags & TALLY_WRITE_DIR)
		tally_writer_feature(writer, TALLY_FEAT_DIR_FORMAT, &dir_version,
				     sizeof(dir_version), NULL);
	if (!pieces)
		return;
	buf->size = 0;
	writer->have[TALLY_FEAT_AUXTRACE] = true;
	tally_buf_put_u64(buf, pieces);
	tally_buf_put(buf, writer->auxtrace.data, writer->auxtrace.size);
}

static void writer_finish_file(struct tally_writer *writer)
{
	int fd = writer->streams[0]->fd;
	struct tally_file_header header;
	struct tally_buf table = {};
	u64 offset;

	writer_own_features(writer);
	writer_file_header(writer, &header);
	offset = header.data.offset + header.data.size;
	offset += __builtin_popcountll(header.flags[0]) * sizeof(struct tally_section);
	for (u32 i = 0; i < TALLY_FEAT_END; i++) {
		if (!writer->have[i])
			continue;
		tally_buf_put_u64(&table, offset);
		tally_buf_put_u64(&table, writer->features[i].size);
		offset += writer->features[i].size;
	}
	writer_out(writer, fd, table.data, table.size);
	for (u32 i = 0; i < TALLY_FEAT_END; i++)
		if (writer->have[i])
			writer_out(writer, fd, writer->features[i].data, writer->features[i].size);
	tally_buf_free(&table);
	if (!writer->error && lseek(fd, 0, SEEK_SET) < 0)
		writer->error = errno;
	writer_out(writer, fd, &header, sizeof(header));
}

/**
 * tally_writer_finish - write what is left, and close
 * @writer: writer, freed
 * @err: what failed
 *
 * A directory's file "data" is never left without a record: perf takes that for an unfinished file.
 *
 * Return: 0 or the negative errno of the first write that failed.
 */
int tally_writer_finish(struct tally_writer *writer, struct tally_error *err)
{
	int error;

	writer_start(writer);
	if (writer->flags & TALLY_WRITE_DIR && !writer->streams[0]->written &&
	    !writer->streams[0]->used)
		tally_stream_round(writer->streams[0]);
	for (u32 i = 0; i < writer->nr_streams; i++)
		if (writer->streams[i])
			tally_stream_flush(writer->streams[i]);
	if (!(writer->flags & TALLY_WRITE_PIPE))
		writer_finish_file(writer);
	error = writer->error;
	if (error)
		tally_fail(err, error, "%s: %s", writer->path, strerror(error));
	tally_writer_abandon(writer);
	return -error;
}
