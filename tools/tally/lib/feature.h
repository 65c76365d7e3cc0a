/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Feature sections of perf.data. The layout of each is a table of fields; one decoder turns a
 * section into a tree of values, one encoder a tree into a section, of either byte order.
 */
#ifndef TALLY_FEATURE_H
#define TALLY_FEATURE_H

#include "tally.h"

struct tally_writer;

/**
 * enum tally_field_kind - what a field of a section is
 * @TALLY_FIELD_END: there is no further field
 * @TALLY_U16: number
 * @TALLY_U32: number
 * @TALLY_U64: number
 * @TALLY_STRING: u32 length, and so many bytes, with a NUL among them
 * @TALLY_ATTR_SIZE: u32 size of each TALLY_ATTR that follows
 * @TALLY_ATTR: struct perf_event_attr
 * @TALLY_ROWS: rows, by the number in the field at index "of"
 * @TALLY_ROWS_CPUS: rows, one for each CPU that section NRCPUS counts as available
 * @TALLY_ROWS_REST: rows up to the end of the section
 * @TALLY_BYTES: bytes, by the number in the field at index "of"
 * @TALLY_BYTES_24: 24 bytes
 * @TALLY_BYTES_REST: bytes up to the end of the section or of the record
 * @TALLY_BITMAP: u64 words with the number of bits in the field at index "of"
 * @TALLY_RECORD_SIZE: u16 bytes of the row that the field is in, from its start
 * @TALLY_REVISION: no bytes: older revisions of the section end here
 */
enum tally_field_kind {
	TALLY_FIELD_END,
	TALLY_U16,
	TALLY_U32,
	TALLY_U64,
	TALLY_STRING,
	TALLY_ATTR_SIZE,
	TALLY_ATTR,
	TALLY_ROWS,
	TALLY_ROWS_CPUS,
	TALLY_ROWS_REST,
	TALLY_BYTES,
	TALLY_BYTES_24,
	TALLY_BYTES_REST,
	TALLY_BITMAP,
	TALLY_RECORD_SIZE,
	TALLY_REVISION,
};

/**
 * struct tally_field - a field of a section or of a row
 * @name: name for reports
 * @kind: &enum tally_field_kind
 * @of: index of the field, in the same table, that has the count
 * @row: for rows: their fields, up to one of kind TALLY_FIELD_END
 */
struct tally_field {
	const char *name;
	enum tally_field_kind kind;
	unsigned int of;
	const struct tally_field *row;
};

/**
 * struct tally_value - value of a field
 * @number: the number; number of rows; 1 for a revision that is there
 * @bytes: a string, bytes, words of a bitmap in host order, or an attr in host order
 * @size: bytes in @bytes
 * @rows: values of the rows one after another, each row as many as its table has fields
 */
struct tally_value {
	u64 number;
	const u8 *bytes;
	size_t size;
	struct tally_value *rows;
};

/**
 * struct tally_arena - memory that is freed at once
 * @chunks: allocations, each pointing to the one before
 * @strings: the next copy of a string, in the last allocation for these
 * @strings_left: bytes that are left there
 * @strings_room: bytes of an allocation
 */
struct tally_arena {
	void *chunks;
	char *strings;
	size_t strings_left;
	size_t strings_room;
};

void *tally_arena_alloc(struct tally_arena *arena, size_t size);
char *tally_arena_strdup(struct tally_arena *arena, const char *string);
void tally_arena_free(struct tally_arena *arena);

/**
 * struct tally_features - the feature sections of a file
 * @arena: memory of the values
 * @values: by feature, the values of its fields; NULL where the section is missing or refused
 * @nr_cpus: available CPUs by section NRCPUS, for the layout of CPU_TOPOLOGY
 */
struct tally_features {
	struct tally_arena arena;
	struct tally_value *values[TALLY_FEAT_END];
	u64 nr_cpus;
};

extern const struct tally_field * const tally_feature_layout[TALLY_FEAT_END];
const char *tally_feature_name(u32 feature);
unsigned int tally_field_count(const struct tally_field *layout);

/**
 * struct tally_section_data - bytes of a section
 * @data: the bytes
 * @size: number of them
 * @offset: where they are in the file
 * @swap: of the other byte order
 */
struct tally_section_data {
	const u8 *data;
	size_t size;
	u64 offset;
	bool swap;
};

ssize_t tally_feature_decode(struct tally_features *features, u32 feature,
			     const struct tally_section_data *section, struct tally_error *err);
int tally_feature_encode(struct tally_buf *buf, const struct tally_features *features, u32 feature,
			 bool swap);
const char *tally_feature_string(const struct tally_features *features, u32 feature);
void tally_feature_print(FILE *out, const struct tally_features *features, u32 feature);
void tally_features_free(struct tally_features *features);

int tally_features_collect(struct tally_writer *writer, int argc, char **argv,
			   struct tally_error *err);

void tally_attr_swap(struct perf_event_attr *attr, bool to_host);
int tally_attr_read(struct perf_event_attr *attr, const void *data, size_t size, bool swap);
const char *tally_attr_name(const struct perf_event_attr *attr, char *name, size_t size);

#endif /* TALLY_FEATURE_H */
