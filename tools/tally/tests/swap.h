/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a file or pipe of the other byte order of one that the writer made. */
#ifndef TALLY_TEST_SWAP_H
#define TALLY_TEST_SWAP_H

#include <byteswap.h>

#include "made.h"

static inline void swap_words(struct tally_buf *buf, size_t at, size_t size)
{
	for (size_t i = 0; i < size / sizeof(u64); i++, at += sizeof(u64)) {
		u64 word;

		memcpy(&word, buf->data + at, sizeof(word));
		word = bswap_64(word);
		memcpy(buf->data + at, &word, sizeof(word));
	}
}

/* A record of a pipe may stand at any address. */
static inline void swap_record(u8 *at, u16 size, const struct perf_event_attr *attr)
{
	static u64 aligned[0x10000 / sizeof(u64)];
	struct perf_event_header *header = memcpy(aligned, at, size);
	struct tally_fault fault;

	if (tally_record_swap(header, attr, false, &fault))
		ktap_note("record type %u: %s at %u", header->type, fault.what, fault.at);
	header->type = bswap_32(header->type);
	header->misc = bswap_16(header->misc);
	header->size = bswap_16(header->size);
	memcpy(at, header, size);
}

/* What is behind an attr of a pipe are its ids. */
static inline void swap_header_attr(struct tally_buf *buf, size_t at, size_t end)
{
	struct perf_event_attr attr = {};
	u32 size;

	memcpy(&size, buf->data + at + offsetof(struct perf_event_attr, size), sizeof(size));
	memcpy(&attr, buf->data + at, size);
	tally_attr_swap(&attr, false);
	memcpy(buf->data + at, &attr, size);
	swap_words(buf, at + size, end - at - size);
}

static inline void swap_feature(struct tally_buf *buf, size_t at, size_t end,
				const struct tally_features *features, u64 feature)
{
	struct tally_buf section = {};

	if (feature < TALLY_FEAT_END && features->values[feature])
		tally_feature_encode(&section, features, feature, true);
	if (section.size && section.size <= end - at)
		memcpy(buf->data + at, section.data, section.size);
	tally_buf_free(&section);
}

static inline void swap_records(struct tally_buf *buf, const struct tally_info *info,
				struct tally_reader *reader)
{
	struct tally_record record;
	struct tally_error err;

	while (tally_reader_next(reader, &record, &err) > 0) {
		const u64 *words = (const u64 *)(record.header + 1);
		u64 at = record.offset + sizeof(*record.header);
		u64 end = record.offset + record.header->size;

		if (record.header->type == TALLY_RECORD_HEADER_ATTR)
			swap_header_attr(buf, at, end);
		if (record.header->type == TALLY_RECORD_FEATURE)
			swap_feature(buf, at + sizeof(*words), end, &info->features, *words);
		swap_record(buf->data + record.offset, record.header->size,
			    record.event ? &record.event->attr : NULL);
	}
}

static inline void swap_attrs(struct tally_buf *buf, const struct tally_info *info)
{
	const struct tally_file_header *header = &info->header;
	u64 size = header->attr_size - sizeof(struct tally_section);

	for (u32 i = 0; i < info->nr_events; i++) {
		u8 *entry = buf->data + header->attrs.offset + i * header->attr_size;
		struct tally_section ids;
		struct perf_event_attr attr = {};

		memcpy(&attr, entry, size);
		memcpy(&ids, entry + size, sizeof(ids));
		swap_words(buf, ids.offset, ids.size);
		tally_attr_swap(&attr, false);
		memcpy(entry, &attr, size);
		swap_words(buf, entry + size - buf->data, sizeof(ids));
	}
}

static inline void swap_sections(struct tally_buf *buf, const struct tally_info *info)
{
	const struct tally_file_header *header = &info->header;
	u32 nr = 0;

	for (u32 i = 0; i < TALLY_FEAT_END; i++) {
		const struct tally_section *section = &info->sections[i];

		if (!(header->flags[0] >> i & 1))
			continue;
		nr++;
		swap_feature(buf, section->offset, section->offset + section->size,
			     &info->features, i);
	}
	swap_words(buf, header->data.offset + header->data.size, nr * 16);
}

/* Returns the bytes of the file at @path in the other byte order. */
static inline struct tally_buf swap_file(const char *path)
{
	struct tally_reader *reader;
	struct tally_buf buf = {};
	const struct tally_info *info;
	struct tally_error err;
	int fd;

	if (tally_reader_open(&reader, path, &err)) {
		ktap_note("%s", err.text);
		return buf;
	}
	info = tally_reader_info(reader);
	fd = open(path, O_RDONLY);
	if (read(fd, tally_buf_grow(&buf, info->file_size), info->file_size) < 0)
		buf.size = 0;
	close(fd);
	swap_records(&buf, info, reader);
	if (info->pipe) {
		swap_words(&buf, 0, 2 * sizeof(u64));
		tally_reader_close(reader);
		return buf;
	}
	swap_sections(&buf, info);
	swap_attrs(&buf, info);
	swap_words(&buf, 0, sizeof(info->header));
	tally_reader_close(reader);
	return buf;
}

#endif /* TALLY_TEST_SWAP_H */
