// SPDX-License-Identifier: GPL-2.0
/*
 * Reading perf.data: header, events, feature sections, records.
 *
 * LOCKING: none. A reader belongs to one thread at a time.
 */
#include "data_read.h"

#include <byteswap.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "input.h"
#include "sorter.h"

/* First bytes of files that perf of Linux 2.6 wrote. */
#define MAGIC1			0x454c494646524550ULL
/* An entry of the attr section: the smallest attr and its section of ids. */
#define ATTR_ENTRY_MIN		(PERF_ATTR_SIZE_VER0 + sizeof(struct tally_section))
/* Contents of one compressed record at most. */
#define CONTENTS_MAX		(64 * 1024 * 1024)

/**
 * struct data_file - a file with records
 * @input: its window
 * @contents: of the compressed record that is being read; with what the one before left over
 * @next: next byte of @contents
 * @compressed_at: offset of the compressed record
 * @zstd: state of the decompression, NULL without
 */
struct data_file {
	struct input input;
	struct tally_buf contents;
	size_t next;
	u64 compressed_at;
#ifdef HAVE_ZSTD
	ZSTD_DCtx *zstd;
#endif
};

/**
 * struct id_slot - entry of the table of ids
 * @id: id, 0 where free
 * @event: its event
 */
struct id_slot {
	u64 id;
	struct tally_event *event;
};

/**
 * struct tally_reader - an open perf.data
 * @info: what is known of it
 * @files: files with records
 * @file: number of the one that is being read
 * @slots: hash table of ids, a power of two
 * @nr_slots: entries of @slots
 * @nr_used: entries of @slots in use
 * @sample_id_at: byte of a sample at which the id is, 0 if there is none at the same in all events
 * @other_id_at: bytes before the end of another record at which it is, 0 if there is none
 * @nr_features: sections that were read, each time that they occur
 * @ids_size: bytes of the ids of all attrs
 * @scratch: a record that is not aligned in its file
 * @sorter: records that are sorted, NULL until the first is requested
 */
struct tally_reader {
	struct tally_info info;
	struct data_file *files;
	u32 file;
	struct id_slot *slots;
	u32 nr_slots;
	u32 nr_used;
	unsigned int sample_id_at;
	unsigned int other_id_at;
	u32 nr_features;
	u64 ids_size;
	u64 *scratch;
	struct sorter *sorter;
};

static u64 reader_u64(const struct tally_reader *reader, u64 word)
{
	return reader->info.swap ? bswap_64(word) : word;
}

static struct id_slot *id_slot_find(struct id_slot *slots, u32 nr_slots, u64 id)
{
	u32 at = (id * 0x9e3779b97f4a7c15ULL >> 32) & (nr_slots - 1);

	while (slots[at].id && slots[at].id != id)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static int id_table_grow(struct tally_reader *reader)
{
	u32 nr = reader->nr_slots ? reader->nr_slots * 2 : 64;
	struct id_slot *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (u32 i = 0; i < reader->nr_slots; i++)
		if (reader->slots[i].id)
			*id_slot_find(slots, nr, reader->slots[i].id) = reader->slots[i];
	free(reader->slots);
	reader->slots = slots;
	reader->nr_slots = nr;
	return 0;
}

static int id_table_add(struct tally_reader *reader, u64 id, struct tally_event *event)
{
	struct id_slot *slot;

	if (!id)
		return 0;
	if (reader->nr_used * 2 >= reader->nr_slots && id_table_grow(reader))
		return -ENOMEM;
	slot = id_slot_find(reader->slots, reader->nr_slots, id);
	reader->nr_used += !slot->id;
	*slot = (struct id_slot){ id, event };
	return 0;
}

/* Where a sample has its id; 0: nowhere. */
static unsigned int sample_id_place(u64 type)
{
	static const u64 before = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				  PERF_SAMPLE_ADDR;

	if (type & PERF_SAMPLE_IDENTIFIER)
		return sizeof(struct perf_event_header);
	if (type & PERF_SAMPLE_ID)
		return sizeof(struct perf_event_header) +
		       __builtin_popcountll(type & before) * sizeof(u64);
	return 0;
}

static unsigned int other_id_place(const struct perf_event_attr *attr)
{
	static const u64 behind = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

	if (!attr->sample_id_all)
		return 0;
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return sizeof(u64);
	if (attr->sample_type & PERF_SAMPLE_ID)
		return (1 + __builtin_popcountll(attr->sample_type & behind)) * sizeof(u64);
	return 0;
}

/* Ids help only if all events have them at the same place. */
static void reader_place_ids(struct tally_reader *reader, const struct tally_event *event)
{
	unsigned int sample = sample_id_place(event->attr.sample_type);
	unsigned int other = other_id_place(&event->attr);

	if (!event->index) {
		reader->sample_id_at = sample;
		reader->other_id_at = other;
		return;
	}
	if (reader->sample_id_at != sample)
		reader->sample_id_at = 0;
	if (reader->other_id_at != other)
		reader->other_id_at = 0;
}

static void event_free(struct tally_event *event)
{
	free(event->name);
	free(event->ids);
	free(event);
}

static int reader_add_event(struct tally_reader *reader, struct tally_event *event)
{
	struct tally_info *info = &reader->info;
	struct tally_event **events;
	char name[64];

	events = realloc(info->events, (info->nr_events + 1) * sizeof(*events));
	if (!events)
		return -ENOMEM;
	info->events = events;
	event->index = info->nr_events;
	event->name = strdup(tally_attr_name(&event->attr, name, sizeof(name)));
	if (!event->name)
		return -ENOMEM;
	for (u64 i = 0; i < event->nr_ids; i++)
		if (id_table_add(reader, event->ids[i], event))
			return -ENOMEM;
	events[info->nr_events++] = event;
	reader_place_ids(reader, event);
	return 0;
}

/* Ids from memory, as they are in the file. */
static int event_set_ids(struct tally_reader *reader, struct tally_event *event, const void *ids,
			 u64 nr)
{
	event->ids = malloc(nr * sizeof(u64) ?: 1);
	if (!event->ids)
		return -ENOMEM;
	memcpy(event->ids, ids, nr * sizeof(u64));
	for (u64 i = 0; i < nr; i++)
		event->ids[i] = reader_u64(reader, event->ids[i]);
	event->nr_ids = nr;
	return 0;
}

/* The attr's own size gives the bytes of an entry that are the attr; 0 is the first size. */
static int reader_attr_size(const struct tally_reader *reader, const u8 *entry, u64 room,
			    u64 offset, u32 *size, struct tally_error *err)
{
	memcpy(size, entry + offsetof(struct perf_event_attr, size), sizeof(*size));
	if (reader->info.swap)
		*size = bswap_32(*size);
	if (!*size)
		*size = PERF_ATTR_SIZE_VER0;
	if (*size < PERF_ATTR_SIZE_VER0 || *size > room || *size % sizeof(u64))
		return tally_fail_at(err, offset + 4, "attr of %u bytes, there is room for %llu",
				     *size, room);
	return 0;
}

static int reader_attr(struct tally_reader *reader, const u8 *entry, u64 entry_size, u64 offset,
		       struct tally_error *err)
{
	u64 room = entry_size - sizeof(struct tally_section);
	struct tally_event *event;
	struct tally_section ids;
	void *data = NULL;
	u32 size;
	int ret = reader_attr_size(reader, entry, room, offset, &size, err);

	if (ret)
		return ret;
	memcpy(&ids, entry + room, sizeof(ids));
	ids.offset = reader_u64(reader, ids.offset);
	ids.size = reader_u64(reader, ids.size);
	if (ids.size % sizeof(u64) || ids.size > reader->info.file_size ||
	    ids.offset > reader->info.file_size - ids.size)
		return tally_fail_at(err, offset + room, "ids at %#llx, %llu bytes: not in file",
				     ids.offset, ids.size);
	reader->ids_size += ids.size;
	if (reader->ids_size > reader->info.file_size)
		return tally_fail_at(err, offset + room, "ids of all events: larger than the file");
	event = calloc(1, sizeof(*event));
	data = malloc(ids.size ?: 1);
	if (!event || !data)
		goto no_memory;
	event->attr_offset = offset;
	event->newer = tally_attr_read(&event->attr, entry, size, reader->info.swap);
	ret = input_at(reader->files[0].input.fd, ids.offset, data, ids.size);
	if (ret) {
		tally_fail_at(err, ids.offset, "ids cannot be read");
		goto failed;
	}
	if (event_set_ids(reader, event, data, ids.size / sizeof(u64)) ||
	    reader_add_event(reader, event))
		goto no_memory;
	free(data);
	return 0;
no_memory:
	ret = tally_fail(err, ENOMEM, "no memory");
failed:
	free(data);
	if (event)
		event_free(event);
	return ret;
}

static int reader_attrs(struct tally_reader *reader, struct tally_error *err)
{
	const struct tally_file_header *header = &reader->info.header;
	u64 size = header->attr_size;
	u8 *entry;
	int ret = 0;

	if (size < ATTR_ENTRY_MIN || size > 4096 || size % sizeof(u64))
		return tally_fail_at(err, offsetof(struct tally_file_header, attr_size),
				     "attrs of %llu bytes", size);
	if (header->attrs.size % size)
		return tally_fail_at(err, offsetof(struct tally_file_header, attrs.size),
				     "%llu bytes are no number of attrs of %llu bytes",
				     header->attrs.size, size);
	entry = malloc(size);
	if (!entry)
		return tally_fail(err, ENOMEM, "no memory");
	for (u64 i = 0; i < header->attrs.size / size && !ret; i++) {
		u64 offset = header->attrs.offset + i * size;

		if (input_at(reader->files[0].input.fd, offset, entry, size))
			ret = tally_fail_at(err, offset, "attr %llu cannot be read", i);
		else
			ret = reader_attr(reader, entry, size, offset, err);
	}
	free(entry);
	return ret;
}

static int event_rename(struct tally_event *event, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(event->name);
	event->name = copy;
	return 0;
}

/* The event that an entry of EVENT_DESC describes: by its ids, else by its number. */
static struct tally_event *reader_described(struct tally_reader *reader,
					    const struct tally_value *ids, u64 number)
{
	struct id_slot *slot;

	if (ids->number && reader->nr_slots) {
		slot = id_slot_find(reader->slots, reader->nr_slots, ids->rows[0].number);
		if (slot->id)
			return slot->event;
	}
	return number < reader->info.nr_events ? reader->info.events[number] : NULL;
}

static void reader_name_events(struct tally_reader *reader)
{
	const struct tally_value *desc = reader->info.features.values[TALLY_FEAT_EVENT_DESC];

	if (!desc)
		return;
	for (u64 i = 0; i < desc[2].number; i++) {
		const struct tally_value *row = desc[2].rows + i * 4;
		struct tally_event *event = reader_described(reader, &row[3], i);

		if (event && *(const char *)row[2].bytes)
			event_rename(event, (const char *)row[2].bytes);
	}
}

/* A pipe that repeats its sections must not fill the memory. */
#define FEATURES_MAX		1024

/* A section that is refused is noted: the records can be read without it. */
static void reader_feature(struct tally_reader *reader, u32 feature, const u8 *data, size_t size,
			   u64 offset)
{
	struct tally_info *info = &reader->info;
	struct tally_section_data section = { NULL, size, offset, info->swap };
	struct tally_error err;
	ssize_t used;
	u8 *copy;

	if (reader->nr_features++ >= FEATURES_MAX)
		return;
	copy = tally_arena_alloc(&info->features.arena, size + 1);
	if (!copy)
		return;
	if (size)
		memcpy(copy, data, size);
	section.data = copy;
	used = tally_feature_decode(&info->features, feature, &section, &err);
	if (used >= 0 && feature < TALLY_FEAT_END)
		info->used[feature] = used;
	else if (info->nr_errors < TALLY_FEAT_END)
		info->errors[info->nr_errors++] = (struct tally_section_error){ feature, err };
	if (feature == TALLY_FEAT_EVENT_DESC)
		reader_name_events(reader);
}

static void reader_refuse_section(struct tally_info *info, u32 feature, u64 entry,
				  const struct tally_section *section)
{
	struct tally_section_error *error;

	if (info->nr_errors == TALLY_FEAT_END)
		return;
	error = &info->errors[info->nr_errors++];
	error->feature = feature;
	tally_fail_at(&error->err, entry, "section \"%s\" at %#llx, %llu bytes: not in the file",
		      tally_feature_name(feature), section->offset, section->size);
}

static void reader_section(struct tally_reader *reader, u32 feature, u64 entry)
{
	struct tally_section *section = &reader->info.sections[feature];
	int fd = reader->files[0].input.fd;
	void *data = NULL;

	if (section->size > reader->info.file_size ||
	    section->offset > reader->info.file_size - section->size) {
		reader_refuse_section(&reader->info, feature, entry, section);
		return;
	}
	data = malloc(section->size ?: 1);
	if (data && !input_at(fd, section->offset, data, section->size))
		reader_feature(reader, feature, data, section->size, section->offset);
	else
		reader_refuse_section(&reader->info, feature, entry, section);
	free(data);
}

static bool header_has(const struct tally_file_header *header, u32 feature)
{
	return header->flags[feature / 64] >> feature % 64 & 1;
}

/**
 * tally_feature_present - does the file have a section?
 * @info: of the file
 * @feature: number
 *
 * Return: true if it has, refused or not.
 */
bool tally_feature_present(const struct tally_info *info, u32 feature)
{
	return header_has(&info->header, feature) ||
	       (feature < TALLY_FEAT_END && info->features.values[feature]);
}

static void reader_sections(struct tally_reader *reader)
{
	struct tally_info *info = &reader->info;
	u64 entry = info->header.data.offset + info->header.data.size;
	int fd = reader->files[0].input.fd;

	for (u32 i = 0; i < TALLY_FEAT_BITS; i++) {
		struct tally_section *section = &info->sections[i];

		if (!header_has(&info->header, i))
			continue;
		if (input_at(fd, entry, section, sizeof(*section))) {
			*section = (struct tally_section){ entry, 0 };
			reader_refuse_section(info, i, entry, section);
			continue;
		}
		section->offset = reader_u64(reader, section->offset);
		section->size = reader_u64(reader, section->size);
		reader_section(reader, i, entry);
		entry += sizeof(*section);
	}
}

static void header_swap(struct tally_file_header *header)
{
	u64 *words = (u64 *)header;

	for (size_t i = 0; i < sizeof(*header) / sizeof(u64); i++)
		words[i] = bswap_64(words[i]);
}

static int reader_magic(struct tally_reader *reader, struct tally_error *err)
{
	struct tally_info *info = &reader->info;
	u64 magic = info->header.magic;

	info->swap = magic == bswap_64(TALLY_MAGIC2);
	if (magic == TALLY_MAGIC2 || info->swap)
		return 0;
	if (magic == MAGIC1 || magic == bswap_64(MAGIC1))
		return tally_fail_at(err, 0, "PERFFILE: this old version is not read");
	return tally_fail_at(err, 0, "no perf.data: it does not begin with PERFILE2");
}

static int reader_header_bounds(struct tally_reader *reader, struct tally_error *err)
{
	const struct tally_file_header *header = &reader->info.header;
	u64 size = reader->info.file_size;

	if (header->size < sizeof(*header))
		return tally_fail_at(err, offsetof(struct tally_file_header, size),
				     "a header of %llu bytes", header->size);
	if (header->attrs.size > size || header->attrs.offset > size - header->attrs.size)
		return tally_fail_at(err, offsetof(struct tally_file_header, attrs),
				     "attrs at %#llx, %llu bytes: not in the file",
				     header->attrs.offset, header->attrs.size);
	if (header->data.offset > size)
		return tally_fail_at(err, offsetof(struct tally_file_header, data),
				     "data at %#llx: not in the file", header->data.offset);
	return 0;
}

/*
 * A file that was not finished has data and no size of them, and no table of sections behind them.
 * In a finished file the first section is behind the table.
 */
static bool reader_is_finished(const struct tally_reader *reader)
{
	const struct tally_file_header *header = &reader->info.header;
	struct tally_section first;
	u64 nr = 0;

	if (header->data.size > reader->info.file_size - header->data.offset)
		return false;
	if (header->data.size)
		return true;
	for (u32 i = 0; i < ARRAY_SIZE(header->flags); i++)
		nr += __builtin_popcountll(header->flags[i]);
	if (!nr || input_at(reader->files[0].input.fd, header->data.offset, &first, sizeof(first)))
		return false;
	return reader_u64(reader, first.offset) == header->data.offset + nr * sizeof(first);
}

/* The data of a file that was not finished extend to its end. */
static int reader_open_file(struct tally_reader *reader, struct tally_error *err)
{
	struct tally_file_header *header = &reader->info.header;
	struct input *input = &reader->files[0].input;
	u64 end, size = reader->info.file_size;
	int ret;

	ret = reader_header_bounds(reader, err) ?: reader_attrs(reader, err);
	if (ret)
		return ret;
	end = header->data.offset + header->data.size;
	reader->info.finished = reader_is_finished(reader);
	if (reader->info.finished)
		reader_sections(reader);
	else
		end = size;
	input_seek(input, header->data.offset, end);
	return 0;
}

static int reader_open_pipe(struct tally_reader *reader)
{
	struct input *input = &reader->files[0].input;

	reader->info.pipe = true;
	input->start += TALLY_PIPE_HEADER_SIZE;
	input->offset += TALLY_PIPE_HEADER_SIZE;
	return 0;
}

/* A file in the form of a pipe is a pipe that was stored. */
static int reader_header(struct tally_reader *reader, struct tally_error *err)
{
	struct tally_file_header *header = &reader->info.header;
	struct input *input = &reader->files[0].input;
	ssize_t have = input_need(input, sizeof(*header));
	u64 size;
	int ret;

	if (have < 0)
		return tally_fail(err, -have, "%s: %s", reader->info.path, strerror(-have));
	if (have < TALLY_PIPE_HEADER_SIZE)
		return tally_fail_at(err, have, "the file ends within its header");
	memcpy(header, input->window + input->start, TALLY_PIPE_HEADER_SIZE);
	ret = reader_magic(reader, err);
	if (ret)
		return ret;
	size = reader_u64(reader, header->size);
	if (size == TALLY_PIPE_HEADER_SIZE) {
		header->size = size;
		return reader_open_pipe(reader);
	}
	if ((size_t)have < sizeof(*header))
		return tally_fail_at(err, have, "the file ends within its header");
	if (!reader->info.file_size)
		return tally_fail_at(err, 8, "a file, not a pipe: give its path");
	memcpy(header, input->window + input->start, sizeof(*header));
	if (reader->info.swap)
		header_swap(header);
	return reader_open_file(reader, err);
}

static int data_file_open(struct tally_reader *reader, struct data_file *file, const char *path,
			  struct tally_error *err)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;

	if (fd < 0)
		return tally_fail(err, errno, "%s: %s", path, strerror(errno));
	reader->info.nr_files++;
	if (input_init(&file->input, fd))
		return tally_fail(err, ENOMEM, "no memory");
	return 0;
}

static int file_number(const char *name)
{
	char *end;
	long number;

	if (strncmp(name, "data.", 5))
		return -1;
	number = strtol(name + 5, &end, 10);
	return end == name + 5 || *end || number < 0 || number >= 65536 ? -1 : number;
}

/* Files data.<n> in a directory. Returns the highest number plus one, or a negative errno. */
static int count_data_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int last = -1;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		int number = file_number(entry->d_name);

		if (number > last)
			last = number;
	}
	closedir(dir);
	return last + 1;
}

static int reader_open_part(struct tally_reader *reader, const char *name, struct tally_error *err)
{
	struct data_file *file = &reader->files[reader->info.nr_files];
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", reader->info.path, name) < 0)
		return tally_fail(err, ENOMEM, "no memory");
	if (reader->info.nr_files && access(path, F_OK)) {
		free(path);
		return 0;
	}
	ret = data_file_open(reader, file, path, err);
	free(path);
	if (!ret && reader->info.nr_files > 1) {
		struct stat st;

		fstat(file->input.fd, &st);
		file->input.limit = st.st_size;
	}
	return ret;
}

static int reader_open_dir(struct tally_reader *reader, struct tally_error *err)
{
	int nr = count_data_files(reader->info.path);
	int ret;

	if (nr < 0)
		return tally_fail(err, -nr, "%s: %s", reader->info.path, strerror(-nr));
	reader->files = calloc(nr + 1, sizeof(*reader->files));
	if (!reader->files)
		return tally_fail(err, ENOMEM, "no memory");
	ret = reader_open_part(reader, "data", err);
	for (int i = 0; i < nr && !ret; i++) {
		char name[32];

		snprintf(name, sizeof(name), "data.%d", i);
		ret = reader_open_part(reader, name, err);
	}
	return ret;
}

static int reader_open_path(struct tally_reader *reader, struct tally_error *err)
{
	const char *path = reader->info.path;
	struct stat st = {};
	int ret;

	if (strcmp(path, "-") && stat(path, &st))
		return tally_fail(err, errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		ret = reader_open_dir(reader, err);
		if (!ret)
			fstat(reader->files[0].input.fd, &st);
	} else {
		reader->files = calloc(1, sizeof(*reader->files));
		if (!reader->files)
			return tally_fail(err, ENOMEM, "no memory");
		ret = data_file_open(reader, &reader->files[0], path, err);
	}
	if (S_ISREG(st.st_mode))
		reader->info.file_size = st.st_size;
	return ret ?: reader_header(reader, err);
}

/**
 * tally_reader_open - open a perf.data and read what precedes its records
 * @reader: set to the reader, for tally_reader_close()
 * @path: file, directory or FIFO; "-": the standard input, in the form of a pipe
 * @err: what is wrong
 *
 * In a pipe events and features are known after the records that have them were read.
 *
 * Return: 0 or a negative errno; -EBADMSG: no valid perf.data.
 */
int tally_reader_open(struct tally_reader **reader, const char *path, struct tally_error *err)
{
	struct tally_reader *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return tally_fail(err, ENOMEM, "no memory");
	new->info.path = strdup(path);
	new->scratch = malloc(65536);
	ret = new->info.path && new->scratch ? reader_open_path(new, err) :
					       tally_fail(err, ENOMEM, "no memory");
	if (ret) {
		tally_reader_close(new);
		return ret;
	}
	*reader = new;
	return 0;
}

/**
 * tally_reader_info - what is known of the file
 * @reader: reader
 *
 * Return: valid until the reader is closed.
 */
const struct tally_info *tally_reader_info(const struct tally_reader *reader)
{
	return &reader->info;
}

/**
 * tally_reader_progress - how far the reader is
 * @reader: reader
 * @total: set to the bytes of the file that is being read, ~0 for a pipe
 *
 * Return: bytes of it that were read.
 */
u64 tally_reader_progress(const struct tally_reader *reader, u64 *total)
{
	const struct input *input;

	if (reader->file == reader->info.nr_files) {
		*total = 1;
		return 1;
	}
	input = &reader->files[reader->file].input;
	*total = input->limit;
	return input->offset;
}

/**
 * tally_reader_close - close a reader
 * @reader: reader, freed
 */
void tally_reader_close(struct tally_reader *reader)
{
	for (u32 i = 0; reader->files && i < reader->info.nr_files; i++) {
		input_free(&reader->files[i].input);
		tally_buf_free(&reader->files[i].contents);
#ifdef HAVE_ZSTD
		ZSTD_freeDCtx(reader->files[i].zstd);
#endif
	}
	for (u32 i = 0; i < reader->info.nr_events; i++)
		event_free(reader->info.events[i]);
	sorter_free(reader->sorter);
	tally_features_free(&reader->info.features);
	free(reader->info.events);
	free((char *)reader->info.path);
	free(reader->files);
	free(reader->slots);
	free(reader->scratch);
	free(reader);
}

static struct tally_event *reader_event_of(const struct tally_reader *reader,
					   const struct perf_event_header *header, bool swap)
{
	const struct tally_info *info = &reader->info;
	unsigned int at = header->type == PERF_RECORD_SAMPLE ? reader->sample_id_at :
				header->size - reader->other_id_at;
	const struct id_slot *slot;
	u64 id;

	if (!info->nr_events || header->type >= TALLY_RECORD_HEADER_ATTR)
		return NULL;
	if (info->nr_events == 1 || !reader->nr_slots)
		return info->events[0];
	if (at < sizeof(*header) || at + sizeof(u64) > header->size)
		return info->events[0];
	memcpy(&id, (const u8 *)header + at, sizeof(id));
	slot = id_slot_find(reader->slots, reader->nr_slots, swap ? bswap_64(id) : id);
	if (slot->id)
		return slot->event;
	return info->events[0];
}

static int reader_header_attr(struct tally_reader *reader, const struct perf_event_header *header,
			      u64 offset, struct tally_error *err)
{
	const u8 *data = (const u8 *)(header + 1);
	u64 room = header->size - sizeof(*header);
	struct tally_event *event;
	u32 size;
	int ret;

	if (!reader->info.pipe)
		return 0;
	if (room < PERF_ATTR_SIZE_VER0)
		return tally_fail_at(err, offset, "HEADER_ATTR of %u bytes", header->size);
	ret = reader_attr_size(reader, data, room, offset + sizeof(*header), &size, err);
	if (ret)
		return ret;
	event = calloc(1, sizeof(*event));
	if (!event)
		return tally_fail(err, ENOMEM, "no memory");
	event->attr_offset = offset + sizeof(*header);
	event->newer = tally_attr_read(&event->attr, data, size, reader->info.swap);
	if (event_set_ids(reader, event, data + size, (room - size) / sizeof(u64)) ||
	    reader_add_event(reader, event)) {
		event_free(event);
		return tally_fail(err, ENOMEM, "no memory");
	}
	return 0;
}

/* EVENT_UPDATE: u64 kind, u64 id of an event, and here its name. */
#define EVENT_UPDATE_NAME	2

static void reader_event_update(struct tally_reader *reader, const struct perf_event_header *header)
{
	const u64 *words = (const u64 *)(header + 1);
	const char *name = (const char *)(words + 2);
	size_t room = header->size - sizeof(*header) - 2 * sizeof(u64);
	struct id_slot *slot;

	if (header->size <= sizeof(*header) + 2 * sizeof(u64) || words[0] != EVENT_UPDATE_NAME ||
	    !reader->nr_slots || !memchr(name, 0, room))
		return;
	slot = id_slot_find(reader->slots, reader->nr_slots, words[1]);
	if (slot->id)
		event_rename(slot->event, name);
}

static void reader_feature_record(struct tally_reader *reader,
				  const struct perf_event_header *header, u64 offset)
{
	const u64 *words = (const u64 *)(header + 1);
	unsigned int start = sizeof(*header) + sizeof(u64);

	if (header->size >= start && words[0] < TALLY_FEAT_END)
		reader_feature(reader, words[0], (const u8 *)header + start, header->size - start,
			       offset + start);
}

/* The data that follow a record without being part of it. */
static u64 record_tail(const struct perf_event_header *header)
{
	u32 size;

	if (header->type == TALLY_RECORD_AUXTRACE && header->size >= 16)
		return *(const u64 *)(header + 1);
	if (header->type != TALLY_RECORD_TRACING_DATA || header->size < 12)
		return 0;
	memcpy(&size, header + 1, sizeof(size));
	return ((u64)size + 7) & ~7ULL;
}

/* Takes a record out of the window, which is about to move. */
static void reader_keep_record(struct tally_reader *reader, struct tally_record *record)
{
	if (record->header != (void *)reader->scratch)
		record->header = memcpy(reader->scratch, record->header, record->header->size);
}

/* Formats of tracepoints, which are not part of their record. */
static int reader_tracing(struct tally_reader *reader, struct tally_record *record,
			  struct tally_error *err)
{
	struct input *input = &reader->files[record->file].input;
	u64 offset = input->offset, size = record_tail(record->header);
	struct tally_buf buf = {};

	reader_keep_record(reader, record);
	while (buf.size < size && !buf.failed) {
		u64 left = size - buf.size;
		ssize_t have = input_need(input, left < input->room ? left : input->room);

		if (have <= 0) {
			tally_buf_free(&buf);
			return tally_fail_at(err, record->offset,
					     "%llu bytes behind the record: not in the file", size);
		}
		have = (u64)have < left ? have : (ssize_t)left;
		tally_buf_put(&buf, input->window + input->start, have);
		input->start += have;
		input->offset += have;
	}
	if (!buf.failed)
		reader_feature(reader, TALLY_FEAT_TRACING_DATA, buf.data, buf.size, offset);
	tally_buf_free(&buf);
	return 0;
}

/* What the reader learns from a record of a tool. Returns 0 or a negative errno. */
static int reader_learn(struct tally_reader *reader, struct tally_record *record,
			struct tally_error *err)
{
	const struct perf_event_header *header = record->header;
	struct input *input = &reader->files[record->file].input;
	u64 tail;

	switch (header->type) {
	case TALLY_RECORD_HEADER_ATTR:
		return reader_header_attr(reader, header, record->offset, err);
	case TALLY_RECORD_EVENT_UPDATE:
		reader_event_update(reader, header);
		return 0;
	case TALLY_RECORD_FEATURE:
		reader_feature_record(reader, header, record->offset);
		return 0;
	case TALLY_RECORD_TRACING_DATA:
		return reader_tracing(reader, record, err);
	case TALLY_RECORD_AUXTRACE:
		tail = record_tail(header);
		reader_keep_record(reader, record);
		if (input_skip(input, tail))
			return tally_fail_at(err, record->offset,
					     "%llu bytes behind the record: not in the file", tail);
	}
	return 0;
}

/* Makes a record of the file one of the host: aligned, in host order, with its event. */
static void reader_host_record(struct tally_reader *reader, const u8 *data,
			       struct tally_record *record)
{
	struct perf_event_header *header = (void *)data;
	struct tally_fault fault = {};

	record->swap_fault = NULL;
	if ((uintptr_t)data & 7 || reader->info.swap) {
		u16 size;

		memcpy(&size, data + offsetof(struct perf_event_header, size), sizeof(size));
		size = reader->info.swap ? bswap_16(size) : size;
		header = memcpy(reader->scratch, data, size);
	}
	if (reader->info.swap) {
		header->type = bswap_32(header->type);
		header->misc = bswap_16(header->misc);
		header->size = bswap_16(header->size);
		record->event = reader_event_of(reader, header, true);
		if (tally_record_swap(header, record->event ? &record->event->attr : NULL, true,
				      &fault)) {
			record->swap_fault = fault.what;
			record->swap_at = fault.at;
		}
	} else {
		record->event = reader_event_of(reader, header, false);
	}
	record->header = header;
}

static u16 reader_record_size(const struct tally_reader *reader, const u8 *data)
{
	u16 size;

	memcpy(&size, data + offsetof(struct perf_event_header, size), sizeof(size));
	return reader->info.swap ? bswap_16(size) : size;
}

static u32 reader_record_type(const struct tally_reader *reader, const u8 *data)
{
	u32 type;

	memcpy(&type, data, sizeof(type));
	return reader->info.swap ? bswap_32(type) : type;
}

/* The next record of the contents of a compressed one. Returns 1, or 0: they end before. */
static int contents_next(struct tally_reader *reader, struct data_file *file,
			 struct tally_record *record, struct tally_error *err)
{
	size_t left = file->contents.size - file->next;
	const u8 *data = file->contents.data + file->next;
	u16 size;

	if (left < sizeof(struct perf_event_header))
		return 0;
	size = reader_record_size(reader, data);
	if (size < sizeof(struct perf_event_header))
		return tally_fail_at(err, file->compressed_at,
				     "a record of %u bytes at byte %zu of the compressed contents",
				     size, file->next);
	if (size > left)
		return 0;
	record->offset = file->compressed_at;
	record->inner = file->next;
	file->next += size;
	reader_host_record(reader, data, record);
	return 1;
}

#ifdef HAVE_ZSTD
static int contents_decompress(struct data_file *file, const u8 *data, size_t size, u64 offset,
			       struct tally_error *err)
{
	ZSTD_inBuffer in = { data, size, 0 };
	const size_t room = 64 * 1024;

	if (!file->zstd)
		file->zstd = ZSTD_createDCtx();
	if (!file->zstd)
		return tally_fail(err, ENOMEM, "no memory");
	for (;;) {
		size_t before = file->contents.size;
		void *place = tally_buf_grow(&file->contents, room);
		ZSTD_outBuffer out = { place, room, 0 };
		size_t ret;

		if (!place)
			return tally_fail(err, ENOMEM, "no memory");
		ret = ZSTD_decompressStream(file->zstd, &out, &in);
		file->contents.size = before + out.pos;
		if (ZSTD_isError(ret))
			return tally_fail_at(err, offset, "not valid zstd data: %s",
					     ZSTD_getErrorName(ret));
		if (file->contents.size > CONTENTS_MAX)
			return tally_fail_at(err, offset, "more than %u bytes in one record",
					     CONTENTS_MAX);
		if (in.pos == in.size && out.pos < out.size)
			return 0;
	}
}
#else
static int contents_decompress(struct data_file *file, const u8 *data, size_t size, u64 offset,
			       struct tally_error *err)
{
	(void)file;
	(void)data;
	(void)size;
	(void)offset;
	return tally_fail(err, EOPNOTSUPP, "compressed, and this program was built without zstd");
}
#endif

/* A record may begin in one compressed record and end in the next. */
static int contents_load(struct tally_reader *reader, struct data_file *file, const u8 *data,
			 u16 size, u32 type, struct tally_error *err)
{
	size_t left = file->contents.size - file->next;
	unsigned int start = sizeof(struct perf_event_header);
	u64 payload = size - start;
	u64 offset = file->input.offset;

	if (type == TALLY_RECORD_COMPRESSED2) {
		if (payload < sizeof(u64))
			return tally_fail_at(err, offset, "COMPRESSED2 of %u bytes", size);
		memcpy(&payload, data + start, sizeof(payload));
		payload = reader_u64(reader, payload);
		start += sizeof(u64);
		if (payload > size - start)
			return tally_fail_at(err, offset + 8, "%llu bytes in a record of %u",
					     payload, size);
	}
	if (left)
		memmove(file->contents.data, file->contents.data + file->next, left);
	file->contents.size = left;
	file->next = 0;
	file->compressed_at = offset;
	return contents_decompress(file, data + start, payload, offset, err);
}

static int file_end(struct data_file *file, ssize_t have, struct tally_error *err)
{
	if (have < 0)
		return tally_fail(err, -have, "%s", strerror(-have));
	if (have)
		return tally_fail_at(err, file->input.offset,
				     "the data end within a record: %zd bytes", have);
	if (file->contents.size != file->next)
		return tally_fail_at(err, file->compressed_at,
				     "the compressed data end within a record: %zu bytes",
				     file->contents.size - file->next);
	return 0;
}

/* The next record as it is in the file. Returns its size, 0 at the end, or a negative errno. */
static int file_next(struct tally_reader *reader, struct data_file *file, const u8 **data,
		     struct tally_error *err)
{
	struct input *input = &file->input;
	ssize_t have = input_need(input, sizeof(struct perf_event_header));
	u16 size;

	if (have < (ssize_t)sizeof(struct perf_event_header))
		return file_end(file, have, err);
	size = reader_record_size(reader, input->window + input->start);
	if (size < sizeof(struct perf_event_header))
		return tally_fail_at(err, input->offset, "a record of %u bytes", size);
	have = input_need(input, size);
	if (have < size)
		return have < 0 ? tally_fail(err, -have, "%s", strerror(-have)) :
			tally_fail_at(err, input->offset,
				      "a record of %u bytes where the data have %zd", size, have);
	*data = input->window + input->start;
	return size;
}

/* Returns 1, 0 at the end of the file, or a negative errno. */
static int file_record(struct tally_reader *reader, struct data_file *file,
		       struct tally_record *record, struct tally_error *err)
{
	const u8 *data = NULL;
	int size;

	for (;;) {
		u32 type;
		int ret = contents_next(reader, file, record, err);

		if (ret)
			return ret;
		size = file_next(reader, file, &data, err);
		if (size <= 0)
			return size;
		type = reader_record_type(reader, data);
		if (type != TALLY_RECORD_COMPRESSED && type != TALLY_RECORD_COMPRESSED2)
			break;
		ret = contents_load(reader, file, data, size, type, err);
		if (ret)
			return ret;
		file->input.start += size;
		file->input.offset += size;
	}
	record->offset = file->input.offset;
	record->inner = 0;
	reader_host_record(reader, data, record);
	file->input.start += size;
	file->input.offset += size;
	return 1;
}

/**
 * tally_reader_next - the next record in the order of the file
 * @reader: reader
 * @record: set to the record
 * @err: what is wrong
 *
 * The files of a directory are read one after another.
 *
 * Return: 1; 0 after the last record; a negative errno. After -EBADMSG there is no next record.
 */
int tally_reader_next(struct tally_reader *reader, struct tally_record *record,
		      struct tally_error *err)
{
	while (reader->file < reader->info.nr_files) {
		int ret;

		record->file = reader->file;
		ret = file_record(reader, &reader->files[reader->file], record, err);
		if (ret < 0)
			return ret;
		if (ret)
			return reader_learn(reader, record, err) ?: 1;
		reader->file++;
	}
	return 0;
}

static u64 reader_record_time(const struct tally_record *record)
{
	return record->event ? tally_record_time(&record->event->attr, record->header) : 0;
}

/**
 * tally_reader_sorted - the next record by time
 * @reader: reader; tally_reader_next() is not to be used as well
 * @record: set to the record
 * @err: what is wrong
 *
 * A record without a time keeps its place behind the one that precedes it in the file. Records that
 * are further out of order than the rounds in the file allow stay out of order.
 *
 * Return: 1; 0 after the last record; a negative errno.
 */
int tally_reader_sorted(struct tally_reader *reader, struct tally_record *record,
			struct tally_error *err)
{
	struct tally_record next;
	int ret;

	if (!reader->sorter) {
		reader->sorter = sorter_new(reader->info.nr_files > 1);
		if (!reader->sorter)
			return tally_fail(err, ENOMEM, "no memory");
	}
	for (;;) {
		ret = sorter_take(reader->sorter, record);
		if (ret)
			return ret;
		ret = tally_reader_next(reader, &next, err);
		if (ret < 0)
			return ret;
		if (!ret)
			sorter_end(reader->sorter);
		else if (next.header->type == TALLY_RECORD_FINISHED_ROUND)
			sorter_round(reader->sorter);
		else
			ret = sorter_put(reader->sorter, &next, reader_record_time(&next));
		if (ret < 0)
			return tally_fail(err, ENOMEM, "no memory");
		if (!ret && sorter_empty(reader->sorter))
			return 0;
	}
}
