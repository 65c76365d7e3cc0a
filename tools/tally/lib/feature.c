// SPDX-License-Identifier: GPL-2.0
/*
 * Feature sections: tables of their layouts, decoder, encoder, printer. The layouts are those of
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "feature.h"

#include <byteswap.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct tally_field string_rows[] = { { "", TALLY_STRING }, {} };
static const struct tally_field id_rows[] = { { "id", TALLY_U64 }, {} };
static const struct tally_field no_fields[] = { {} };
static const struct tally_field bytes_field[] = { { "data", TALLY_BYTES_REST }, {} };
static const struct tally_field string_field[] = { { "", TALLY_STRING }, {} };
static const struct tally_field u64_field[] = { { "", TALLY_U64 }, {} };

static const struct tally_field build_id_row[] = {
	{ "type", TALLY_U32 },
	{ "misc", TALLY_U16 },
	{ "size", TALLY_RECORD_SIZE },
	{ "pid", TALLY_U32 },
	{ "build id", TALLY_BYTES_24 },
	{ "file", TALLY_BYTES_REST },
	{}
};

static const struct tally_field build_ids[] = {
	{ "build ids", TALLY_ROWS_REST, 0, build_id_row },
	{}
};

static const struct tally_field nrcpus[] = {
	{ "available", TALLY_U32 },
	{ "online", TALLY_U32 },
	{}
};

static const struct tally_field string_list[] = {
	{ "number", TALLY_U32 },
	{ "strings", TALLY_ROWS, 0, string_rows },
	{}
};

static const struct tally_field event_row[] = {
	{ "attr", TALLY_ATTR },
	{ "ids", TALLY_U32 },
	{ "name", TALLY_STRING },
	{ "ids", TALLY_ROWS, 1, id_rows },
	{}
};

static const struct tally_field event_desc[] = {
	{ "number", TALLY_U32 },
	{ "attr size", TALLY_ATTR_SIZE },
	{ "events", TALLY_ROWS, 0, event_row },
	{}
};

static const struct tally_field cpu_row[] = {
	{ "core", TALLY_U32 },
	{ "socket", TALLY_U32 },
	{}
};

static const struct tally_field die_row[] = { { "die", TALLY_U32 }, {} };
static const struct tally_field cpu_topology[] = {
	{ "number", TALLY_U32 },
	{ "sibling sockets", TALLY_ROWS, 0, string_rows },
	{ "number", TALLY_U32 },
	{ "sibling threads", TALLY_ROWS, 2, string_rows },
	{ "revision 2", TALLY_REVISION },
	{ "CPUs", TALLY_ROWS_CPUS, 0, cpu_row },
	{ "revision 3", TALLY_REVISION },
	{ "number", TALLY_U32 },
	{ "sibling dies", TALLY_ROWS, 7, string_rows },
	{ "dies", TALLY_ROWS_CPUS, 0, die_row },
	{}
};

static const struct tally_field numa_row[] = {
	{ "node", TALLY_U32 },
	{ "kB", TALLY_U64 },
	{ "kB free", TALLY_U64 },
	{ "CPUs", TALLY_STRING },
	{}
};

static const struct tally_field numa_topology[] = {
	{ "number", TALLY_U32 },
	{ "nodes", TALLY_ROWS, 0, numa_row },
	{}
};

static const struct tally_field pmu_row[] = {
	{ "type", TALLY_U32 },
	{ "PMU", TALLY_STRING },
	{}
};

static const struct tally_field pmu_mappings[] = {
	{ "number", TALLY_U32 },
	{ "PMUs", TALLY_ROWS, 0, pmu_row },
	{}
};

static const struct tally_field group_row[] = {
	{ "name", TALLY_STRING },
	{ "leader", TALLY_U32 },
	{ "members", TALLY_U32 },
	{}
};

static const struct tally_field group_desc[] = {
	{ "number", TALLY_U32 },
	{ "groups", TALLY_ROWS, 0, group_row },
	{}
};

static const struct tally_field auxtrace_row[] = {
	{ "offset", TALLY_U64 },
	{ "size", TALLY_U64 },
	{}
};

static const struct tally_field auxtrace[] = {
	{ "number", TALLY_U64 },
	{ "pieces", TALLY_ROWS, 0, auxtrace_row },
	{}
};

static const struct tally_field cache_row[] = {
	{ "level", TALLY_U32 },
	{ "line", TALLY_U32 },
	{ "sets", TALLY_U32 },
	{ "ways", TALLY_U32 },
	{ "type", TALLY_STRING },
	{ "size", TALLY_STRING },
	{ "CPUs", TALLY_STRING },
	{}
};

static const struct tally_field cache[] = {
	{ "version", TALLY_U32 },
	{ "number", TALLY_U32 },
	{ "caches", TALLY_ROWS, 1, cache_row },
	{}
};

static const struct tally_field sample_time[] = {
	{ "first", TALLY_U64 },
	{ "last", TALLY_U64 },
	{}
};

static const struct tally_field mem_row[] = {
	{ "node", TALLY_U64 },
	{ "blocks", TALLY_U64 },
	{ "bits", TALLY_U64 },
	{ "map", TALLY_BITMAP, 2 },
	{}
};

static const struct tally_field mem_topology[] = {
	{ "version", TALLY_U64 },
	{ "block size", TALLY_U64 },
	{ "number", TALLY_U64 },
	{ "nodes", TALLY_ROWS, 2, mem_row },
	{}
};

static const struct tally_field bpf_row[] = {
	{ "info length", TALLY_U32 },
	{ "data length", TALLY_U32 },
	{ "arrays", TALLY_U64 },
	{ "info", TALLY_BYTES, 0 },
	{ "data", TALLY_BYTES, 1 },
	{}
};

static const struct tally_field bpf_prog_info[] = {
	{ "number", TALLY_U32 },
	{ "programs", TALLY_ROWS, 0, bpf_row },
	{}
};

static const struct tally_field btf_row[] = {
	{ "id", TALLY_U32 },
	{ "size", TALLY_U32 },
	{ "data", TALLY_BYTES, 1 },
	{}
};

static const struct tally_field bpf_btf[] = {
	{ "number", TALLY_U32 },
	{ "types", TALLY_ROWS, 0, btf_row },
	{}
};

static const struct tally_field compressed[] = {
	{ "version", TALLY_U32 },
	{ "type", TALLY_U32 },
	{ "level", TALLY_U32 },
	{ "ratio", TALLY_U32 },
	{ "buffer", TALLY_U32 },
	{}
};

static const struct tally_field pair_row[] = {
	{ "name", TALLY_STRING },
	{ "value", TALLY_STRING },
	{}
};

static const struct tally_field pairs[] = {
	{ "number", TALLY_U32 },
	{ "entries", TALLY_ROWS, 0, pair_row },
	{}
};

static const struct tally_field clock_data[] = {
	{ "version", TALLY_U32 },
	{ "clockid", TALLY_U32 },
	{ "wall clock", TALLY_U64 },
	{ "clock", TALLY_U64 },
	{}
};

static const struct tally_field pmu_caps_row[] = {
	{ "number", TALLY_U32 },
	{ "capabilities", TALLY_ROWS, 0, pair_row },
	{ "PMU", TALLY_STRING },
	{}
};

static const struct tally_field pmu_caps[] = {
	{ "number", TALLY_U32 },
	{ "PMUs", TALLY_ROWS, 0, pmu_caps_row },
	{}
};

const struct tally_field * const tally_feature_layout[TALLY_FEAT_END] = {
	[TALLY_FEAT_TRACING_DATA]	= bytes_field,
	[TALLY_FEAT_BUILD_ID]		= build_ids,
	[TALLY_FEAT_HOSTNAME]		= string_field,
	[TALLY_FEAT_OSRELEASE]		= string_field,
	[TALLY_FEAT_VERSION]		= string_field,
	[TALLY_FEAT_ARCH]		= string_field,
	[TALLY_FEAT_NRCPUS]		= nrcpus,
	[TALLY_FEAT_CPUDESC]		= string_field,
	[TALLY_FEAT_CPUID]		= string_field,
	[TALLY_FEAT_TOTAL_MEM]		= u64_field,
	[TALLY_FEAT_CMDLINE]		= string_list,
	[TALLY_FEAT_EVENT_DESC]		= event_desc,
	[TALLY_FEAT_CPU_TOPOLOGY]	= cpu_topology,
	[TALLY_FEAT_NUMA_TOPOLOGY]	= numa_topology,
	[TALLY_FEAT_BRANCH_STACK]	= no_fields,
	[TALLY_FEAT_PMU_MAPPINGS]	= pmu_mappings,
	[TALLY_FEAT_GROUP_DESC]		= group_desc,
	[TALLY_FEAT_AUXTRACE]		= auxtrace,
	[TALLY_FEAT_STAT]		= no_fields,
	[TALLY_FEAT_CACHE]		= cache,
	[TALLY_FEAT_SAMPLE_TIME]	= sample_time,
	[TALLY_FEAT_MEM_TOPOLOGY]	= mem_topology,
	[TALLY_FEAT_CLOCKID]		= u64_field,
	[TALLY_FEAT_DIR_FORMAT]		= u64_field,
	[TALLY_FEAT_BPF_PROG_INFO]	= bpf_prog_info,
	[TALLY_FEAT_BPF_BTF]		= bpf_btf,
	[TALLY_FEAT_COMPRESSED]		= compressed,
	[TALLY_FEAT_CPU_PMU_CAPS]	= pairs,
	[TALLY_FEAT_CLOCK_DATA]		= clock_data,
	[TALLY_FEAT_HYBRID_TOPOLOGY]	= pairs,
	[TALLY_FEAT_PMU_CAPS]		= pmu_caps,
};

static const char * const feature_names[TALLY_FEAT_END] = {
	[TALLY_FEAT_TRACING_DATA]	= "tracing data",
	[TALLY_FEAT_BUILD_ID]		= "build ids",
	[TALLY_FEAT_HOSTNAME]		= "hostname",
	[TALLY_FEAT_OSRELEASE]		= "os release",
	[TALLY_FEAT_VERSION]		= "version",
	[TALLY_FEAT_ARCH]		= "arch",
	[TALLY_FEAT_NRCPUS]		= "cpus",
	[TALLY_FEAT_CPUDESC]		= "cpu",
	[TALLY_FEAT_CPUID]		= "cpuid",
	[TALLY_FEAT_TOTAL_MEM]		= "memory kB",
	[TALLY_FEAT_CMDLINE]		= "command line",
	[TALLY_FEAT_EVENT_DESC]		= "events",
	[TALLY_FEAT_CPU_TOPOLOGY]	= "cpu topology",
	[TALLY_FEAT_NUMA_TOPOLOGY]	= "numa topology",
	[TALLY_FEAT_BRANCH_STACK]	= "branch records",
	[TALLY_FEAT_PMU_MAPPINGS]	= "pmu mappings",
	[TALLY_FEAT_GROUP_DESC]		= "groups",
	[TALLY_FEAT_AUXTRACE]		= "auxtrace index",
	[TALLY_FEAT_STAT]		= "stat",
	[TALLY_FEAT_CACHE]		= "caches",
	[TALLY_FEAT_SAMPLE_TIME]	= "sample time",
	[TALLY_FEAT_MEM_TOPOLOGY]	= "memory topology",
	[TALLY_FEAT_CLOCKID]		= "clock resolution",
	[TALLY_FEAT_DIR_FORMAT]		= "directory format",
	[TALLY_FEAT_BPF_PROG_INFO]	= "bpf programs",
	[TALLY_FEAT_BPF_BTF]		= "bpf types",
	[TALLY_FEAT_COMPRESSED]		= "compression",
	[TALLY_FEAT_CPU_PMU_CAPS]	= "cpu pmu capabilities",
	[TALLY_FEAT_CLOCK_DATA]		= "clock data",
	[TALLY_FEAT_HYBRID_TOPOLOGY]	= "hybrid topology",
	[TALLY_FEAT_PMU_CAPS]		= "pmu capabilities",
};

/**
 * tally_feature_name - name of a feature for reports
 * @feature: number, any
 *
 * Return: the name, "unknown" for a number without one.
 */
const char *tally_feature_name(u32 feature)
{
	return feature < TALLY_FEAT_END && feature_names[feature] ? feature_names[feature] :
								    "unknown";
}

/**
 * tally_field_count - number of fields of a layout
 * @layout: fields
 *
 * Return: their number, without the end.
 */
unsigned int tally_field_count(const struct tally_field *layout)
{
	unsigned int count = 0;

	while (layout[count].kind)
		count++;
	return count;
}

/**
 * struct decoder - position in a section that is decoded
 * @section: the section
 * @features: tree that the values are added to
 * @err: set by the first failure
 * @feature: number of the section, for messages
 * @at: next byte
 * @end: end of the section, or of the record inside it
 * @row_start: where the row began
 * @attr_size: bytes of each attr
 */
struct decoder {
	const struct tally_section_data *section;
	struct tally_features *features;
	struct tally_error *err;
	u32 feature;
	size_t at;
	size_t end;
	size_t row_start;
	u32 attr_size;
};

static int decode_fail(const struct decoder *decoder, const struct tally_field *field,
		       const char *what, u64 number)
{
	return tally_fail_at(decoder->err, decoder->section->offset + decoder->at,
			     "section \"%s\", field \"%s\": %s (%llu)",
			     tally_feature_name(decoder->feature), field->name, what, number);
}

static int decode_take(struct decoder *decoder, const struct tally_field *field, u64 size,
		       const u8 **bytes)
{
	if (size > decoder->end - decoder->at)
		return decode_fail(decoder, field, "more bytes than the section has", size);
	*bytes = decoder->section->data + decoder->at;
	decoder->at += size;
	return 0;
}

static int decode_number(struct decoder *decoder, const struct tally_field *field, size_t size,
			 u64 *number)
{
	bool swap = decoder->section->swap;
	const u8 *bytes = NULL;
	int ret = decode_take(decoder, field, size, &bytes);
	u16 n16;
	u32 n32;

	if (ret)
		return ret;
	switch (size) {
	case sizeof(n16):
		memcpy(&n16, bytes, size);
		*number = swap ? bswap_16(n16) : n16;
		break;
	case sizeof(n32):
		memcpy(&n32, bytes, size);
		*number = swap ? bswap_32(n32) : n32;
		break;
	default:
		memcpy(number, bytes, size);
		*number = swap ? bswap_64(*number) : *number;
	}
	return 0;
}

static int decode_string(struct decoder *decoder, const struct tally_field *field,
			 struct tally_value *value)
{
	u64 length;
	int ret = decode_number(decoder, field, sizeof(u32), &length);

	ret = ret ?: decode_take(decoder, field, length, &value->bytes);
	if (ret)
		return ret;
	value->size = length;
	if (!memchr(value->bytes, 0, length))
		return decode_fail(decoder, field, "a string without its NUL; bytes", length);
	return 0;
}

static int decode_attr(struct decoder *decoder, const struct tally_field *field,
		       struct tally_value *value)
{
	struct perf_event_attr *attr;
	const u8 *bytes = NULL;
	int ret = decode_take(decoder, field, decoder->attr_size, &bytes);

	if (ret)
		return ret;
	attr = tally_arena_alloc(&decoder->features->arena, sizeof(*attr));
	if (!attr)
		return tally_fail(decoder->err, ENOMEM, "no memory");
	tally_attr_read(attr, bytes, decoder->attr_size, decoder->section->swap);
	value->bytes = (const u8 *)attr;
	value->size = sizeof(*attr);
	return 0;
}

static int decode_bitmap(struct decoder *decoder, const struct tally_field *field, u64 bits,
			 struct tally_value *value)
{
	u64 words = bits / 64 + !!(bits % 64);
	const u8 *bytes = NULL;
	u64 *copy;
	int ret;

	if (words > (decoder->end - decoder->at) / sizeof(u64))
		return decode_fail(decoder, field, "more bits than the section has", bits);
	ret = decode_take(decoder, field, words * sizeof(u64), &bytes);
	if (ret)
		return ret;
	copy = tally_arena_alloc(&decoder->features->arena, words * sizeof(u64) ?: 1);
	if (!copy)
		return tally_fail(decoder->err, ENOMEM, "no memory");
	memcpy(copy, bytes, words * sizeof(u64));
	for (u64 i = 0; decoder->section->swap && i < words; i++)
		copy[i] = bswap_64(copy[i]);
	value->bytes = (const u8 *)copy;
	value->size = words * sizeof(u64);
	return 0;
}

static int decode_fields(struct decoder *decoder, const struct tally_field *layout,
			 struct tally_value *values);

static int decode_row(struct decoder *decoder, const struct tally_field *layout,
		      struct tally_value *values)
{
	size_t end = decoder->end, start = decoder->row_start;
	int ret;

	decoder->row_start = decoder->at;
	ret = decode_fields(decoder, layout, values);
	decoder->end = end;
	decoder->row_start = start;
	return ret;
}

/* A field takes two bytes or more, apart from those that hold bytes. */
static int decode_rows(struct decoder *decoder, const struct tally_field *field, u64 count,
		       struct tally_value *value)
{
	unsigned int fields = tally_field_count(field->row);
	int ret;

	if (count > (decoder->end - decoder->at) / sizeof(u32))
		return decode_fail(decoder, field, "more rows than the section has", count);
	value->rows = tally_arena_alloc(&decoder->features->arena,
					(count * fields ?: 1) * sizeof(*value->rows));
	if (!value->rows)
		return tally_fail(decoder->err, ENOMEM, "no memory");
	value->number = count;
	for (u64 i = 0; i < count; i++) {
		ret = decode_row(decoder, field->row, value->rows + i * fields);
		if (ret)
			return ret;
	}
	return 0;
}

/* The number of rows is not known: two passes, the first one counts. */
static int decode_rows_rest(struct decoder *decoder, const struct tally_field *field,
			    struct tally_value *value)
{
	unsigned int fields = tally_field_count(field->row);
	struct tally_value *row = tally_arena_alloc(&decoder->features->arena,
						    fields * sizeof(*row));
	size_t start = decoder->at;
	u64 count = 0;
	int ret;

	if (!row)
		return tally_fail(decoder->err, ENOMEM, "no memory");
	while (decoder->at < decoder->end) {
		ret = decode_row(decoder, field->row, row);
		if (ret)
			return ret;
		count++;
	}
	decoder->at = start;
	return decode_rows(decoder, field, count, value);
}

static int decode_record_size(struct decoder *decoder, const struct tally_field *field,
			      struct tally_value *value)
{
	int ret = decode_number(decoder, field, sizeof(u16), &value->number);

	if (ret)
		return ret;
	if (value->number > decoder->end - decoder->row_start)
		return decode_fail(decoder, field, "a record larger than the section",
				   value->number);
	if (value->number < decoder->at - decoder->row_start)
		return decode_fail(decoder, field, "a record smaller than its header",
				   value->number);
	decoder->end = decoder->row_start + value->number;
	return 0;
}

static int decode_bytes(struct decoder *decoder, const struct tally_field *field, u64 size,
			struct tally_value *value)
{
	value->size = size;
	return decode_take(decoder, field, size, &value->bytes);
}

static int decode_field(struct decoder *decoder, const struct tally_field *field,
			const struct tally_value *values, struct tally_value *value)
{
	int ret;

	switch (field->kind) {
	case TALLY_U16:
		return decode_number(decoder, field, sizeof(u16), &value->number);
	case TALLY_U32:
		return decode_number(decoder, field, sizeof(u32), &value->number);
	case TALLY_U64:
		return decode_number(decoder, field, sizeof(u64), &value->number);
	case TALLY_STRING:
		return decode_string(decoder, field, value);
	case TALLY_ATTR_SIZE:
		ret = decode_number(decoder, field, sizeof(u32), &value->number);
		decoder->attr_size = value->number;
		if (!ret && value->number < PERF_ATTR_SIZE_VER0)
			return decode_fail(decoder, field, "smaller than any attr", value->number);
		return ret;
	case TALLY_ATTR:
		return decode_attr(decoder, field, value);
	case TALLY_ROWS:
		return decode_rows(decoder, field, values[field->of].number, value);
	case TALLY_ROWS_CPUS:
		return decode_rows(decoder, field, decoder->features->nr_cpus, value);
	case TALLY_ROWS_REST:
		return decode_rows_rest(decoder, field, value);
	case TALLY_BYTES:
		return decode_bytes(decoder, field, values[field->of].number, value);
	case TALLY_BYTES_24:
		return decode_bytes(decoder, field, 24, value);
	case TALLY_BYTES_REST:
		return decode_bytes(decoder, field, decoder->end - decoder->at, value);
	case TALLY_BITMAP:
		return decode_bitmap(decoder, field, values[field->of].number, value);
	case TALLY_RECORD_SIZE:
		return decode_record_size(decoder, field, value);
	default:
		value->number = 1;
		return 0;
	}
}

/* Nothing is left, or zeroes that fill the last word of a record in a pipe; revisions have more. */
static bool decode_is_complete(const struct decoder *decoder)
{
	static const u8 zeroes[sizeof(u64)];
	size_t left = decoder->end - decoder->at;

	return left < sizeof(zeroes) &&
	       !memcmp(decoder->section->data + decoder->at, zeroes, left);
}

static int decode_fields(struct decoder *decoder, const struct tally_field *layout,
			 struct tally_value *values)
{
	for (unsigned int i = 0; layout[i].kind; i++) {
		int ret;

		if (layout[i].kind == TALLY_REVISION && decode_is_complete(decoder))
			return 0;
		ret = decode_field(decoder, &layout[i], values, &values[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * tally_feature_decode - turn a section into values
 * @features: the values are added here; those of NRCPUS must be there before CPU_TOPOLOGY's
 * @feature: number of the section
 * @section: its bytes, which the values point into
 * @err: what is wrong, with the offset in the file
 *
 * Return: bytes of the section that have a meaning, or a negative errno. A feature without a known
 * layout has none.
 */
ssize_t tally_feature_decode(struct tally_features *features, u32 feature,
			     const struct tally_section_data *section, struct tally_error *err)
{
	struct decoder decoder = {
		.section = section, .features = features, .err = err, .feature = feature,
		.end = section->size,
	};
	const struct tally_field *layout;
	struct tally_value *values;
	int ret;

	if (feature >= TALLY_FEAT_END || !tally_feature_layout[feature])
		return 0;
	layout = tally_feature_layout[feature];
	values = tally_arena_alloc(&features->arena,
				   (tally_field_count(layout) + 1) * sizeof(*values));
	if (!values)
		return tally_fail(err, ENOMEM, "no memory");
	ret = decode_fields(&decoder, layout, values);
	if (ret)
		return ret;
	features->values[feature] = values;
	if (feature == TALLY_FEAT_NRCPUS)
		features->nr_cpus = values[0].number;
	return decoder.at;
}

static void encode_number(struct tally_buf *buf, u64 number, size_t size, bool swap)
{
	u16 n16 = swap ? bswap_16(number) : number;
	u32 n32 = swap ? bswap_32(number) : number;
	u64 n64 = swap ? bswap_64(number) : number;

	if (size == sizeof(n16))
		tally_buf_put(buf, &n16, size);
	else if (size == sizeof(n32))
		tally_buf_put(buf, &n32, size);
	else
		tally_buf_put(buf, &n64, size);
}

static void encode_fields(struct tally_buf *buf, const struct tally_field *layout,
			  const struct tally_value *values, u32 *attr_size, bool swap);

static void encode_rows(struct tally_buf *buf, const struct tally_field *field,
			const struct tally_value *value, u32 *attr_size, bool swap)
{
	unsigned int fields = tally_field_count(field->row);

	for (u64 i = 0; i < value->number; i++)
		encode_fields(buf, field->row, value->rows + i * fields, attr_size, swap);
}

static void encode_attr(struct tally_buf *buf, const struct tally_value *value, u32 size, bool swap)
{
	struct perf_event_attr attr;
	u8 *place = tally_buf_grow(buf, size);

	memcpy(&attr, value->bytes, sizeof(attr));
	if (swap)
		tally_attr_swap(&attr, false);
	if (place)
		memcpy(place, &attr, size < sizeof(attr) ? size : sizeof(attr));
}

static void encode_field(struct tally_buf *buf, const struct tally_field *field,
			 const struct tally_value *value, u32 *attr_size, bool swap)
{
	switch (field->kind) {
	case TALLY_U16:
	case TALLY_RECORD_SIZE:
		encode_number(buf, value->number, sizeof(u16), swap);
		break;
	case TALLY_ATTR_SIZE:
		*attr_size = value->number;
		encode_number(buf, value->number, sizeof(u32), swap);
		break;
	case TALLY_U32:
		encode_number(buf, value->number, sizeof(u32), swap);
		break;
	case TALLY_U64:
		encode_number(buf, value->number, sizeof(u64), swap);
		break;
	case TALLY_STRING:
		encode_number(buf, value->size, sizeof(u32), swap);
		tally_buf_put(buf, value->bytes, value->size);
		break;
	case TALLY_ATTR:
		encode_attr(buf, value, *attr_size, swap);
		break;
	case TALLY_BITMAP:
		for (size_t i = 0; i < value->size; i += sizeof(u64)) {
			u64 word;

			memcpy(&word, value->bytes + i, sizeof(word));
			encode_number(buf, word, sizeof(u64), swap);
		}
		break;
	case TALLY_ROWS:
	case TALLY_ROWS_CPUS:
	case TALLY_ROWS_REST:
		encode_rows(buf, field, value, attr_size, swap);
		break;
	default:
		tally_buf_put(buf, value->bytes, value->size);
	}
}

static void encode_fields(struct tally_buf *buf, const struct tally_field *layout,
			  const struct tally_value *values, u32 *attr_size, bool swap)
{
	for (unsigned int i = 0; layout[i].kind; i++) {
		if (layout[i].kind != TALLY_REVISION)
			encode_field(buf, &layout[i], &values[i], attr_size, swap);
		else if (!values[i].number)
			break;
	}
}

/**
 * tally_feature_encode - turn values into a section
 * @buf: the section is appended here
 * @features: values
 * @feature: number of the section, one that @features has
 * @swap: in the other byte order
 *
 * Return: 0 or -ENOMEM.
 */
int tally_feature_encode(struct tally_buf *buf, const struct tally_features *features, u32 feature,
			 bool swap)
{
	u32 attr_size = 0;

	encode_fields(buf, tally_feature_layout[feature], features->values[feature], &attr_size,
		      swap);
	return buf->failed ? -ENOMEM : 0;
}

/**
 * tally_feature_string - the string of a section that is one string
 * @features: values
 * @feature: number of the section
 *
 * Return: the string, "" if the section is missing.
 */
const char *tally_feature_string(const struct tally_features *features, u32 feature)
{
	if (!features->values[feature] || tally_feature_layout[feature] != string_field)
		return "";
	return (const char *)features->values[feature][0].bytes;
}

static void print_text(FILE *out, const u8 *bytes, size_t size)
{
	for (size_t i = 0; i < size && bytes[i]; i++)
		putc(isprint(bytes[i]) ? bytes[i] : '?', out);
}

static void print_bitmap(FILE *out, const struct tally_value *value)
{
	const u64 *words = (const u64 *)value->bytes;
	const char *comma = "";
	u64 bits = value->size * 8;

	for (u64 i = 0; i < bits; i++) {
		u64 first = i;

		if (!(words[i / 64] >> i % 64 & 1))
			continue;
		while (i + 1 < bits && words[(i + 1) / 64] >> (i + 1) % 64 & 1)
			i++;
		fprintf(out, first == i ? "%s%llu" : "%s%llu-%llu", comma, first, i);
		comma = ",";
	}
}

static void print_fields(FILE *out, const struct tally_field *layout,
			 const struct tally_value *values, unsigned int depth);

static void print_rows(FILE *out, const struct tally_field *field,
		       const struct tally_value *value, unsigned int depth)
{
	unsigned int fields = tally_field_count(field->row);

	if (field->row == string_rows || field->row == id_rows) {
		fprintf(out, " %s:", field->name);
		for (u64 i = 0; i < value->number; i++)
			print_fields(out, field->row, value->rows + i * fields, depth + 1);
		return;
	}
	for (u64 i = 0; i < value->number; i++) {
		fprintf(out, "\n#%*s", 2 * depth + 2, "");
		print_fields(out, field->row, value->rows + i * fields, depth + 1);
	}
}

static void print_build_id(FILE *out, const u8 *bytes)
{
	unsigned int size = bytes[20] && bytes[20] <= 20 ? bytes[20] : 20;

	putc(' ', out);
	for (unsigned int i = 0; i < size; i++)
		fprintf(out, "%02x", bytes[i]);
}

static void print_field(FILE *out, const struct tally_field *field,
			const struct tally_value *value, unsigned int depth)
{
	const struct perf_event_attr *attr;

	switch (field->kind) {
	case TALLY_STRING:
		fprintf(out, " %s%s", field->name, *field->name ? "=" : "");
		print_text(out, value->bytes, value->size);
		break;
	case TALLY_ATTR:
		attr = (const void *)value->bytes;
		fprintf(out, " type=%u config=%#llx period=%llu sample_type=%#llx", attr->type,
			attr->config, attr->sample_period, attr->sample_type);
		break;
	case TALLY_ROWS:
	case TALLY_ROWS_CPUS:
	case TALLY_ROWS_REST:
		print_rows(out, field, value, depth);
		break;
	case TALLY_BYTES_24:
		print_build_id(out, value->bytes);
		break;
	case TALLY_BITMAP:
		fprintf(out, " %s=", field->name);
		print_bitmap(out, value);
		break;
	case TALLY_BYTES:
	case TALLY_BYTES_REST:
		putc(' ', out);
		if (!strcmp(field->name, "file"))
			print_text(out, value->bytes, value->size);
		else
			fprintf(out, "%s: %zu bytes", field->name, value->size);
		break;
	case TALLY_REVISION:
		break;
	default:
		fprintf(out, *field->name ? " %s=%llu" : "%s %llu", field->name, value->number);
	}
}

static void print_fields(FILE *out, const struct tally_field *layout,
			 const struct tally_value *values, unsigned int depth)
{
	for (unsigned int i = 0; layout[i].kind; i++) {
		if (layout[i].kind == TALLY_REVISION && !values[i].number)
			break;
		print_field(out, &layout[i], &values[i], depth);
	}
}

/**
 * tally_feature_print - print a section as comment lines
 * @out: output
 * @features: values
 * @feature: number of the section; nothing is printed if it is missing
 */
void tally_feature_print(FILE *out, const struct tally_features *features, u32 feature)
{
	if (!features->values[feature])
		return;
	fprintf(out, "# %s:", tally_feature_name(feature));
	print_fields(out, tally_feature_layout[feature], features->values[feature], 0);
	putc('\n', out);
}

/**
 * tally_features_free - free all values
 * @features: empty then
 */
void tally_features_free(struct tally_features *features)
{
	tally_arena_free(&features->arena);
	*features = (struct tally_features){};
}
