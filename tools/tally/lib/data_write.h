/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing perf.data: a file, a pipe, or a directory with a file for each reading thread.
 *
 *	tally_writer_open()
 *	tally_writer_add_attr()		for each event, in the order of the sections
 *	tally_writer_feature()		those that are known at the start
 *	tally_stream_write()		records, as the kernel wrote them; any number of times
 *	tally_writer_feature()		those that are known at the end only
 *	tally_writer_finish()
 *
 * A write that fails is remembered: later writes do nothing, tally_writer_finish() reports it.
 */
#ifndef TALLY_DATA_WRITE_H
#define TALLY_DATA_WRITE_H

#include "tally.h"

struct tally_writer;
struct tally_stream;

/* The output is a pipe: nothing is written twice. Implied by the path "-" and by a FIFO. */
#define TALLY_WRITE_PIPE		0x1
/* The output is a directory: stream 0 is in the file "data", stream n in "data.<n - 1>". */
#define TALLY_WRITE_DIR			0x2

/* Streams of a directory. */
#define TALLY_MAX_STREAMS		4096

int tally_writer_open(struct tally_writer **writer, const char *path, unsigned int flags,
		      int zstd_level, struct tally_error *err);
int tally_writer_add_attr(struct tally_writer *writer, const struct perf_event_attr *attr,
			  const char *name, const u64 *ids, u32 nr_ids, struct tally_error *err);
int tally_writer_feature(struct tally_writer *writer, enum tally_feature feature, const void *data,
			 size_t size, struct tally_error *err);
struct tally_stream *tally_writer_stream(struct tally_writer *writer, u32 index,
					 struct tally_error *err);
u64 tally_writer_size(const struct tally_writer *writer);
int tally_writer_finish(struct tally_writer *writer, struct tally_error *err);
void tally_writer_abandon(struct tally_writer *writer);

int tally_stream_write(struct tally_stream *stream, const void *records, size_t size);
int tally_stream_round(struct tally_stream *stream);
int tally_stream_flush(struct tally_stream *stream);

/**
 * struct tally_auxtrace - record that precedes a piece of an AUX area
 * @header: type TALLY_RECORD_AUXTRACE; the size is that of this structure, without the piece
 * @size: bytes of the piece
 * @offset: position of the piece in the stream of the AUX area, bytes
 * @reference: value that is unique to this piece
 * @idx: number of the buffer
 * @tid: thread that is traced, or -1
 * @cpu: CPU that is traced, or -1
 * @reserved: 0
 */
struct tally_auxtrace {
	struct perf_event_header header;
	u64 size;
	u64 offset;
	u64 reference;
	u32 idx;
	u32 tid;
	u32 cpu;
	u32 reserved;
};

int tally_stream_auxtrace(struct tally_stream *stream, const struct tally_auxtrace *record,
			  const void *head, size_t head_size, const void *tail, size_t tail_size);

u32 tally_attr_write_size(const struct perf_event_attr *attr);

#endif /* TALLY_DATA_WRITE_H */
