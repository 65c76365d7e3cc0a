/* SPDX-License-Identifier: GPL-2.0 */
/* Makes a file of the other byte order of a file that the writer made. */
#ifndef TALLY_TEST_SWAP_H
#define TALLY_TEST_SWAP_H

#include <byteswap.h>

#include "made.h"

static inline void swap_words(struct tally_buf *buf, size_t at, size_t size)
{
	u64 *words = (u64 *)(buf->data + at);

	for (size_t i = 0; i < size / sizeof(u64); i++)
		words[i] = bswap_64(words[i]);
}

static inline void swap_record(struct perf_event_header *header, const struct perf_event_attr *attr)
{
	struct tally_fault fault;

	if (tally_record_swap(header, attr, false, &fault))
		ktap_note("record type %u: %s at %u", header->type, fault.what, fault.at);
	header->type = bswap_32(header->type);
	header->misc = bswap_16(header->misc);
	header->size = bswap_16(header->size);
}

static inline void swap_records(struct tally_buf *buf, const struct tally_info *info,
				struct tally_reader *reader)
{
	struct tally_record record;
	struct tally_error err;

	while (tally_reader_next(reader, &record, &err) > 0)
		swap_record((struct perf_event_header *)(buf->data + record.offset),
			    record.event ? &record.event->attr : NULL);
	(void)info;
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
		struct tally_buf section = {};

		if (!(header->flags[0] >> i & 1))
			continue;
		nr++;
		if (!info->features.values[i])
			continue;
		tally_feature_encode(&section, &info->features, i, true);
		if (section.size == info->sections[i].size && section.size)
			memcpy(buf->data + info->sections[i].offset, section.data, section.size);
		tally_buf_free(&section);
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
	swap_sections(&buf, info);
	swap_attrs(&buf, info);
	swap_words(&buf, 0, sizeof(info->header));
	tally_reader_close(reader);
	return buf;
}

#endif /* TALLY_TEST_SWAP_H */
