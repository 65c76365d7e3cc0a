// SPDX-License-Identifier: GPL-2.0
/*
 * Fields of a sample. One walk serves parsing and byte order: it visits the fields in their order
 * in the record, converts each in place if requested, and notes its value.
 *
 * The layout is that of enum perf_event_type in include/uapi/linux/perf_event.h.
 */
#include "sample.h"

#include <byteswap.h>
#include <string.h>

/**
 * struct walk - position in a record
 * @data: the record
 * @at: next byte
 * @end: bytes of the record
 * @swap: convert
 * @to_host: the record is of the other byte order until it is converted
 * @fault: what is wrong
 */
struct walk {
	u8 *data;
	unsigned int at;
	unsigned int end;
	bool swap;
	bool to_host;
	struct tally_fault *fault;
};

static int walk_fail(struct walk *walk, const char *what)
{
	walk->fault->at = walk->at;
	walk->fault->what = what;
	return -EBADMSG;
}

/* All fields that are numbers begin at a multiple of 8 bytes. */
static inline bool walk_is_aligned(struct walk *walk)
{
	if (!(walk->at & 7))
		return true;
	walk_fail(walk, "a field is not aligned to 8 bytes");
	return false;
}

static inline u64 *walk_words(struct walk *walk, u64 count)
{
	u64 *words = (u64 *)(walk->data + walk->at);

	if (!walk_is_aligned(walk))
		return NULL;
	if (count > (walk->end - walk->at) / sizeof(u64)) {
		walk_fail(walk, "a field is larger than the record");
		return NULL;
	}
	for (u64 i = 0; walk->swap && i < count; i++)
		words[i] = bswap_64(words[i]);
	walk->at += count * sizeof(u64);
	return words;
}

/* The value in host order: before a conversion from it, after one to it. */
static inline bool walk_u64(struct walk *walk, u64 *value)
{
	u64 *word = walk_words(walk, 1);

	if (!word)
		return false;
	*value = walk->swap && !walk->to_host ? bswap_64(*word) : *word;
	return true;
}

static inline bool walk_u32_pair(struct walk *walk, u32 *first, u32 *second)
{
	u32 *words = (u32 *)(walk->data + walk->at);

	if (!walk_is_aligned(walk))
		return false;
	if (walk->end - walk->at < 2 * sizeof(u32)) {
		walk_fail(walk, "a field is larger than the record");
		return false;
	}
	*first = walk->swap && walk->to_host ? bswap_32(words[0]) : words[0];
	*second = walk->swap && walk->to_host ? bswap_32(words[1]) : words[1];
	if (walk->swap) {
		words[0] = bswap_32(words[0]);
		words[1] = bswap_32(words[1]);
	}
	walk->at += 2 * sizeof(u32);
	return true;
}

static const u8 *walk_bytes(struct walk *walk, u64 size)
{
	const u8 *bytes = walk->data + walk->at;

	if (size > walk->end - walk->at) {
		walk_fail(walk, "a field is larger than the record");
		return NULL;
	}
	walk->at += size;
	return bytes;
}

/* Widths of the bit-fields of struct perf_branch_entry, first to last. */
static const u8 branch_bits[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 31 };

/* Bit-fields are taken from the other end of the word: the fields change places. */
static u64 branch_flags_swap(u64 word)
{
	unsigned int low = 0, high = 64;
	u64 out = 0;

	for (size_t i = 0; i < ARRAY_SIZE(branch_bits); i++) {
		u64 mask = (1ULL << branch_bits[i]) - 1;

		high -= branch_bits[i];
		out |= (word >> high & mask) << low;
		low += branch_bits[i];
	}
	return out;
}

/* From host order: the same permutation is not its own inverse, the fields' places differ. */
static u64 branch_flags_unswap(u64 word)
{
	unsigned int low = 0, high = 64;
	u64 out = 0;

	for (size_t i = 0; i < ARRAY_SIZE(branch_bits); i++) {
		u64 mask = (1ULL << branch_bits[i]) - 1;

		high -= branch_bits[i];
		out |= (word >> low & mask) << high;
		low += branch_bits[i];
	}
	return out;
}

static bool walk_branches(struct walk *walk, const struct perf_event_attr *attr,
			  struct tally_sample *sample)
{
	u64 *words;
	u64 index;

	if (!walk_u64(walk, &sample->nr_branches))
		return false;
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) {
		if (!walk_u64(walk, &index))
			return false;
		sample->branch_index = index;
	}
	if (sample->nr_branches > walk->end / sizeof(struct perf_branch_entry)) {
		walk_fail(walk, "more branches than the record has room for");
		return false;
	}
	for (u64 i = 0; walk->swap && !walk->to_host && i < sample->nr_branches; i++) {
		words = (u64 *)(walk->data + walk->at) + 3 * i;
		if (!(walk->at & 7) && walk->at + (i + 1) * 24 <= walk->end)
			words[2] = branch_flags_unswap(words[2]);
	}
	words = walk_words(walk, sample->nr_branches * 3);
	if (!words)
		return false;
	for (u64 i = 0; walk->swap && walk->to_host && i < sample->nr_branches; i++)
		words[3 * i + 2] = branch_flags_swap(words[3 * i + 2]);
	sample->branches = (const struct perf_branch_entry *)words;
	if (!(attr->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS))
		return true;
	sample->branch_counts = walk_words(walk, sample->nr_branches);
	return sample->branch_counts;
}

static unsigned int walk_read_words(u64 format, u64 nr)
{
	unsigned int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned int each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);

	return times + nr * each;
}

static bool walk_read(struct walk *walk, u64 format, struct tally_sample *sample)
{
	u64 nr = 1;

	if (format & PERF_FORMAT_GROUP && !walk_u64(walk, &nr))
		return false;
	if (nr > walk->end / sizeof(u64)) {
		walk_fail(walk, "more values than the record has room for");
		return false;
	}
	sample->nr_read = walk_read_words(format, nr);
	sample->read = walk_words(walk, sample->nr_read);
	return sample->read;
}

static bool walk_chain(struct walk *walk, struct tally_sample *sample)
{
	if (!walk_u64(walk, &sample->nr_chain))
		return false;
	sample->chain = walk_words(walk, sample->nr_chain);
	return sample->chain;
}

static bool walk_raw(struct walk *walk, struct tally_sample *sample)
{
	u32 *word = (u32 *)(walk->data + walk->at);
	u32 size;

	if (!walk_is_aligned(walk))
		return false;
	if (walk->end - walk->at < sizeof(u64)) {
		walk_fail(walk, "a field is larger than the record");
		return false;
	}
	size = walk->swap && walk->to_host ? bswap_32(*word) : *word;
	if (walk->swap)
		*word = bswap_32(*word);
	walk->at += sizeof(u32);
	sample->raw_size = size;
	sample->raw = walk_bytes(walk, size);
	if (!sample->raw)
		return false;
	if (!walk_bytes(walk, -walk->at & 7)) {
		walk_fail(walk, "raw data without padding");
		return false;
	}
	return true;
}

static bool walk_regs(struct walk *walk, u64 mask, u64 *abi, const u64 **regs)
{
	if (!walk_u64(walk, abi))
		return false;
	if (*abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	*regs = walk_words(walk, __builtin_popcountll(mask));
	return *regs;
}

static bool walk_stack(struct walk *walk, struct tally_sample *sample)
{
	u64 size, valid;

	if (!walk_u64(walk, &size))
		return false;
	if (!size)
		return true;
	sample->stack = walk_bytes(walk, size);
	if (!sample->stack || !walk_u64(walk, &valid))
		return false;
	if (valid > size) {
		walk_fail(walk, "more valid bytes of the stack than bytes");
		return false;
	}
	sample->stack_size = valid;
	return true;
}

static bool walk_aux(struct walk *walk, struct tally_sample *sample)
{
	if (!walk_u64(walk, &sample->aux_size))
		return false;
	sample->aux = walk_bytes(walk, sample->aux_size);
	return sample->aux;
}

static inline bool walk_cpu(struct walk *walk, struct tally_sample *sample)
{
	u32 reserved;

	return walk_u32_pair(walk, &sample->cpu, &reserved);
}

/* The fields up to the period. */
static inline bool walk_sample_start(struct walk *walk, u64 type, struct tally_sample *sample)
{
	return (!(type & PERF_SAMPLE_IDENTIFIER) || walk_u64(walk, &sample->id)) &&
	       (!(type & PERF_SAMPLE_IP) || walk_u64(walk, &sample->ip)) &&
	       (!(type & PERF_SAMPLE_TID) || walk_u32_pair(walk, &sample->pid, &sample->tid)) &&
	       (!(type & PERF_SAMPLE_TIME) || walk_u64(walk, &sample->time)) &&
	       (!(type & PERF_SAMPLE_ADDR) || walk_u64(walk, &sample->addr)) &&
	       (!(type & PERF_SAMPLE_ID) || walk_u64(walk, &sample->id)) &&
	       (!(type & PERF_SAMPLE_STREAM_ID) || walk_u64(walk, &sample->stream_id)) &&
	       (!(type & PERF_SAMPLE_CPU) || walk_cpu(walk, sample)) &&
	       (!(type & PERF_SAMPLE_PERIOD) || walk_u64(walk, &sample->period));
}

/* The fields of variable size. */
static bool walk_sample_middle(struct walk *walk, const struct perf_event_attr *attr,
			       struct tally_sample *sample)
{
	u64 type = attr->sample_type;

	return (!(type & PERF_SAMPLE_READ) || walk_read(walk, attr->read_format, sample)) &&
	       (!(type & PERF_SAMPLE_CALLCHAIN) || walk_chain(walk, sample)) &&
	       (!(type & PERF_SAMPLE_RAW) || walk_raw(walk, sample)) &&
	       (!(type & PERF_SAMPLE_BRANCH_STACK) || walk_branches(walk, attr, sample)) &&
	       (!(type & PERF_SAMPLE_REGS_USER) ||
		walk_regs(walk, attr->sample_regs_user, &sample->user_abi, &sample->user_regs)) &&
	       (!(type & PERF_SAMPLE_STACK_USER) || walk_stack(walk, sample));
}

static bool walk_sample_end(struct walk *walk, const struct perf_event_attr *attr,
			    struct tally_sample *sample)
{
	u64 type = attr->sample_type;

	return (!(type & PERF_SAMPLE_WEIGHT_TYPE) || walk_u64(walk, &sample->weight)) &&
	       (!(type & PERF_SAMPLE_DATA_SRC) || walk_u64(walk, &sample->data_src)) &&
	       (!(type & PERF_SAMPLE_TRANSACTION) || walk_u64(walk, &sample->transaction)) &&
	       (!(type & PERF_SAMPLE_REGS_INTR) ||
		walk_regs(walk, attr->sample_regs_intr, &sample->intr_abi, &sample->intr_regs)) &&
	       (!(type & PERF_SAMPLE_PHYS_ADDR) || walk_u64(walk, &sample->phys_addr)) &&
	       (!(type & PERF_SAMPLE_CGROUP) || walk_u64(walk, &sample->cgroup)) &&
	       (!(type & PERF_SAMPLE_DATA_PAGE_SIZE) || walk_u64(walk, &sample->data_page_size)) &&
	       (!(type & PERF_SAMPLE_CODE_PAGE_SIZE) || walk_u64(walk, &sample->code_page_size)) &&
	       (!(type & PERF_SAMPLE_AUX) || walk_aux(walk, sample));
}

/* Fields of constant size that almost every sample has. */
#define WALK_START	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
			 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | \
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define WALK_MIDDLE	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | \
			 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static void walk_defaults(struct tally_sample *sample, const struct perf_event_attr *attr)
{
	*sample = (struct tally_sample){
		.pid = -1, .tid = -1, .cpu = -1, .branch_index = -1,
		.period = attr->freq || !attr->sample_period ? 1 : attr->sample_period,
	};
}

static inline int walk_sample(struct walk *walk, const struct perf_event_attr *attr,
			      struct tally_sample *sample)
{
	u64 type = attr->sample_type;

	walk_defaults(sample, attr);
	return walk_sample_start(walk, type, sample) &&
	       (!(type & WALK_MIDDLE) || walk_sample_middle(walk, attr, sample)) &&
	       (!(type & ~(WALK_START | WALK_MIDDLE)) || walk_sample_end(walk, attr, sample)) ?
	       0 : -EBADMSG;
}

/**
 * tally_sample_parse - fields of a sample
 * @sample: set to the fields
 * @attr: attr of its event
 * @record: record of type PERF_RECORD_SAMPLE, in host order, aligned to 8 bytes
 * @fault: set to what is wrong
 *
 * Return: 0, or -EBADMSG if a field is larger than the record.
 */
int tally_sample_parse(struct tally_sample *sample, const struct perf_event_attr *attr,
		       const struct perf_event_header *record, struct tally_fault *fault)
{
	struct walk walk = {
		.data = (u8 *)record, .at = sizeof(*record), .end = record->size, .fault = fault,
	};

	return walk_sample(&walk, attr, sample);
}

/**
 * tally_sample_id_size - bytes that identify a record that is not a sample
 * @attr: attr of its event
 *
 * Return: bytes at the end of the record; 0 without sample_id_all.
 */
unsigned int tally_sample_id_size(const struct perf_event_attr *attr)
{
	static const u64 fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return attr->sample_id_all ?
		__builtin_popcountll(attr->sample_type & fields) * sizeof(u64) : 0;
}

static bool walk_id(struct walk *walk, u64 type, struct tally_sample *sample)
{
	return (!(type & PERF_SAMPLE_TID) || walk_u32_pair(walk, &sample->pid, &sample->tid)) &&
	       (!(type & PERF_SAMPLE_TIME) || walk_u64(walk, &sample->time)) &&
	       (!(type & PERF_SAMPLE_ID) || walk_u64(walk, &sample->id)) &&
	       (!(type & PERF_SAMPLE_STREAM_ID) || walk_u64(walk, &sample->stream_id)) &&
	       (!(type & PERF_SAMPLE_CPU) || walk_cpu(walk, sample)) &&
	       (!(type & PERF_SAMPLE_IDENTIFIER) || walk_u64(walk, &sample->id));
}

/**
 * tally_sample_id - fields at the end of a record that is not a sample
 * @sample: set to the fields
 * @attr: attr of its event
 * @record: record in host order, aligned to 8 bytes
 * @fault: set to what is wrong
 *
 * Return: 0, or -EBADMSG if the record is too short.
 */
int tally_sample_id(struct tally_sample *sample, const struct perf_event_attr *attr,
		    const struct perf_event_header *record, struct tally_fault *fault)
{
	unsigned int size = tally_sample_id_size(attr);
	struct walk walk = {
		.data = (u8 *)record, .at = record->size - size, .end = record->size,
		.fault = fault,
	};

	walk_defaults(sample, attr);
	if (size + sizeof(*record) > record->size) {
		walk.at = 0;
		return walk_fail(&walk, "too short for the fields of sample_id_all");
	}
	return walk_id(&walk, attr->sample_type, sample) ? 0 : -EBADMSG;
}

/**
 * tally_sample_id_put - append the fields at the end of a record that is not a sample
 * @buf: buffer with the record
 * @attr: attr of its event
 * @sample: the fields
 */
void tally_sample_id_put(struct tally_buf *buf, const struct perf_event_attr *attr,
			 const struct tally_sample *sample)
{
	u64 type = attr->sample_id_all ? attr->sample_type : 0;

	if (type & PERF_SAMPLE_TID) {
		tally_buf_put_u32(buf, sample->pid);
		tally_buf_put_u32(buf, sample->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		tally_buf_put_u64(buf, sample->time);
	if (type & PERF_SAMPLE_ID)
		tally_buf_put_u64(buf, sample->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		tally_buf_put_u64(buf, sample->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		tally_buf_put_u32(buf, sample->cpu);
		tally_buf_put_u32(buf, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		tally_buf_put_u64(buf, sample->id);
}

/**
 * tally_record_time - time of a record
 * @attr: attr of its event
 * @record: record in host order, aligned to 8 bytes
 *
 * Return: nanoseconds; 0 if the record does not have it.
 */
u64 tally_record_time(const struct perf_event_attr *attr, const struct perf_event_header *record)
{
	u64 type = attr->sample_type;
	unsigned int at = 1 + !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP) +
			  !!(type & PERF_SAMPLE_TID);
	struct tally_sample sample;
	struct tally_fault fault;

	if (record->type != PERF_RECORD_SAMPLE)
		return tally_sample_id(&sample, attr, record, &fault) ? 0 : sample.time;
	if (!(type & PERF_SAMPLE_TIME) || record->size < (at + 1) * sizeof(u64))
		return 0;
	return ((const u64 *)record)[at];
}

/*
 * Layouts of the other records: w: u32, h: u16, q: u64, b: byte; '.' repeats the last one to the
 * end of the record; s: a string with its NUL. '|' begins the entries that older records lack. n is
 * a u64 with the number of times that the entries in parentheses, which follow it, occur.
 */
static const struct {
	const char *name;
	const char *layout;
} record_layouts[TALLY_RECORD_END] = {
	[PERF_RECORD_MMAP]		= { "MMAP", "wwqqqs" },
	[PERF_RECORD_LOST]		= { "LOST", "qq" },
	[PERF_RECORD_COMM]		= { "COMM", "wws" },
	[PERF_RECORD_EXIT]		= { "EXIT", "wwwwq" },
	[PERF_RECORD_THROTTLE]		= { "THROTTLE", "qqq" },
	[PERF_RECORD_UNTHROTTLE]	= { "UNTHROTTLE", "qqq" },
	[PERF_RECORD_FORK]		= { "FORK", "wwwwq" },
	[PERF_RECORD_READ]		= { "READ", "wwq." },
	[PERF_RECORD_SAMPLE]		= { "SAMPLE", NULL },
	[PERF_RECORD_MMAP2]		= { "MMAP2", "wwqqqwwqqwws" },
	[PERF_RECORD_AUX]		= { "AUX", "qqq" },
	[PERF_RECORD_ITRACE_START]	= { "ITRACE_START", "ww" },
	[PERF_RECORD_LOST_SAMPLES]	= { "LOST_SAMPLES", "q" },
	[PERF_RECORD_SWITCH]		= { "SWITCH", "" },
	[PERF_RECORD_SWITCH_CPU_WIDE]	= { "SWITCH_CPU_WIDE", "ww" },
	[PERF_RECORD_NAMESPACES]	= { "NAMESPACES", "wwn(qq)" },
	[PERF_RECORD_KSYMBOL]		= { "KSYMBOL", "qwhhs" },
	[PERF_RECORD_BPF_EVENT]		= { "BPF_EVENT", "hhwbbbbbbbb" },
	[PERF_RECORD_CGROUP]		= { "CGROUP", "qs" },
	[PERF_RECORD_TEXT_POKE]		= { "TEXT_POKE", "qhhb." },
	[PERF_RECORD_AUX_OUTPUT_HW_ID]	= { "AUX_OUTPUT_HW_ID", "q" },
	[TALLY_RECORD_HEADER_ATTR]	= { "HEADER_ATTR", "" },
	[TALLY_RECORD_HEADER_EVENT_TYPE] = { "HEADER_EVENT_TYPE", "qs" },
	[TALLY_RECORD_TRACING_DATA]	= { "TRACING_DATA", "w" },
	[TALLY_RECORD_BUILD_ID]		= { "BUILD_ID", "wbbbbbbbbbbbbbbbbbbbbbbbbs" },
	[TALLY_RECORD_FINISHED_ROUND]	= { "FINISHED_ROUND", "" },
	[TALLY_RECORD_ID_INDEX]		= { "ID_INDEX", "n(qqqq)|q." },
	[TALLY_RECORD_AUXTRACE_INFO]	= { "AUXTRACE_INFO", "ww|q." },
	[TALLY_RECORD_AUXTRACE]		= { "AUXTRACE", "qqqwww|w" },
	[TALLY_RECORD_AUXTRACE_ERROR]	= { "AUXTRACE_ERROR", "wwwwwwq" },
	[TALLY_RECORD_THREAD_MAP]	= { "THREAD_MAP", "n(qbbbbbbbbbbbbbbbb)" },
	[TALLY_RECORD_CPU_MAP]		= { "CPU_MAP", "h" },
	[TALLY_RECORD_STAT_CONFIG]	= { "STAT_CONFIG", "n(qq)" },
	[TALLY_RECORD_STAT]		= { "STAT", "qwwqqq" },
	[TALLY_RECORD_STAT_ROUND]	= { "STAT_ROUND", "qq" },
	[TALLY_RECORD_EVENT_UPDATE]	= { "EVENT_UPDATE", "qq" },
	[TALLY_RECORD_TIME_CONV]	= { "TIME_CONV", "qqq|qqbb" },
	[TALLY_RECORD_FEATURE]		= { "FEATURE", "q" },
	[TALLY_RECORD_COMPRESSED]	= { "COMPRESSED", "" },
	[TALLY_RECORD_FINISHED_INIT]	= { "FINISHED_INIT", "" },
	[TALLY_RECORD_COMPRESSED2]	= { "COMPRESSED2", "q" },
};

/**
 * tally_record_name - name of a record type
 * @type: perf_event_header.type, any
 *
 * Return: the name without its prefix, NULL for a type that is not known.
 */
const char *tally_record_name(u32 type)
{
	return type < TALLY_RECORD_END ? record_layouts[type].name : NULL;
}

static unsigned int layout_size(char letter)
{
	switch (letter) {
	case 'q':
	case 'n':
		return sizeof(u64);
	case 'w':
		return sizeof(u32);
	case 'h':
		return sizeof(u16);
	default:
		return 1;
	}
}

static void layout_swap(u8 *bytes, unsigned int size)
{
	for (unsigned int i = 0; i < size / 2; i++) {
		u8 byte = bytes[i];

		bytes[i] = bytes[size - 1 - i];
		bytes[size - 1 - i] = byte;
	}
}

/* Repeats the last letter of a layout as often as the record has room for it. */
static void layout_rest(struct walk *walk, unsigned int size)
{
	for (; walk->end - walk->at >= size; walk->at += size)
		if (walk->swap)
			layout_swap(walk->data + walk->at, size);
}

static bool layout_number(struct walk *walk, unsigned int size)
{
	if (size > walk->end - walk->at)
		return false;
	if (walk->swap)
		layout_swap(walk->data + walk->at, size);
	walk->at += size;
	return true;
}

/* The entries in parentheses, @count times: the number before them. */
static bool layout_group(struct walk *walk, const char *layout, u64 count)
{
	for (; count; count--)
		for (const char *letter = layout; *letter != ')'; letter++)
			if (!layout_number(walk, layout_size(*letter)))
				return false;
	return true;
}

/* A number in host order that the walk has just passed. */
static u64 layout_count(const struct walk *walk)
{
	u64 count;

	memcpy(&count, walk->data + walk->at - sizeof(count), sizeof(count));
	return walk->swap && !walk->to_host ? bswap_64(count) : count;
}

static int layout_walk(struct walk *walk, const char *layout)
{
	bool required = true;
	unsigned int size = 1;

	for (; *layout; layout++) {
		if (*layout == '|') {
			required = false;
			continue;
		}
		if (*layout == '.') {
			layout_rest(walk, size);
			break;
		}
		if (*layout == 's') {
			if (memchr(walk->data + walk->at, 0, walk->end - walk->at))
				break;
			return walk_fail(walk, "a string without its NUL");
		}
		if (*layout == '(') {
			if (!layout_group(walk, layout + 1, layout_count(walk)))
				return walk_fail(walk, "more entries than the record has room for");
			layout = strchr(layout, ')');
			continue;
		}
		size = layout_size(*layout);
		if (!layout_number(walk, size))
			return required ? walk_fail(walk, "too short for its type") : 0;
	}
	return 0;
}

/*
 * CPU_MAP: u16 kind. 0: u16 number, u16 CPUs; 1: u16 number, u16 size of a word, words at the end
 * of the record; 2: u8 any, u8 0, u16 first, u16 last.
 */
static const char *cpu_map_layout(u16 kind, u16 word)
{
	if (kind == 2)
		return "bbhh";
	if (kind == 1)
		return word == sizeof(u64) ? "hhbbq." : "hhw.";
	return "hh.";
}

static int cpu_map_walk(struct walk *walk)
{
	u16 kind = 0, word = 0;

	if (walk->end - walk->at >= 3 * sizeof(u16)) {
		memcpy(&kind, walk->data + walk->at, sizeof(kind));
		memcpy(&word, walk->data + walk->at + 2 * sizeof(u16), sizeof(word));
	}
	if (walk->swap && walk->to_host) {
		kind = bswap_16(kind);
		word = bswap_16(word);
	}
	if (!layout_number(walk, sizeof(u16)))
		return walk_fail(walk, "too short for its type");
	return layout_walk(walk, cpu_map_layout(kind, word));
}

/* The size of a record of the kernel without the fields of sample_id_all. */
static int record_body(struct walk *walk, const struct perf_event_header *record, u32 type,
		       const struct perf_event_attr *attr)
{
	unsigned int id = type < TALLY_RECORD_HEADER_ATTR && attr ? tally_sample_id_size(attr) : 0;

	walk->at = sizeof(*record);
	if (id > walk->end - sizeof(*record)) {
		walk->at = 0;
		return walk_fail(walk, "too short for the fields of sample_id_all");
	}
	walk->end -= id;
	return 0;
}

static int record_walk(struct walk *walk, u32 type, const struct perf_event_attr *attr)
{
	const struct perf_event_header *record = (const void *)walk->data;
	unsigned int end = walk->end;
	struct tally_sample sample;
	int ret;

	if (type == PERF_RECORD_SAMPLE) {
		walk->at = sizeof(*record);
		return attr ? walk_sample(walk, attr, &sample) : 0;
	}
	ret = record_body(walk, record, type, attr);
	if (ret || !tally_record_name(type))
		return ret;
	ret = type == TALLY_RECORD_CPU_MAP ? cpu_map_walk(walk) :
					     layout_walk(walk, record_layouts[type].layout);
	if (ret || walk->end == end)
		return ret;
	walk->at = walk->end;
	walk->end = end;
	return walk_id(walk, attr->sample_type, &sample) ? 0 : -EBADMSG;
}

/**
 * tally_record_swap - convert a record between byte orders
 * @record: record, aligned to 8 bytes; its header is in host order and stays so
 * @attr: attr of its event; NULL if none is known
 * @to_host: true: from the other byte order, false: to it
 * @fault: set to what is wrong
 *
 * Bytes of a type that depends on something else are left as they are: raw data, stacks, a MMAP2
 * record's build id, the payload of HEADER_ATTR, FEATURE, EVENT_UPDATE and compressed records.
 *
 * Return: 0, or -EBADMSG if a field is larger than the record.
 */
int tally_record_swap(struct perf_event_header *record, const struct perf_event_attr *attr,
		      bool to_host, struct tally_fault *fault)
{
	struct walk walk = {
		.data = (u8 *)record, .end = record->size, .swap = true, .to_host = to_host,
		.fault = fault,
	};
	u8 build_id[24];
	int ret;

	if (record->type != PERF_RECORD_MMAP2 || !(record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) ||
	    record->size < 64)
		return record_walk(&walk, record->type, attr);
	memcpy(build_id, (u8 *)record + 40, sizeof(build_id));
	ret = record_walk(&walk, record->type, attr);
	memcpy((u8 *)record + 40, build_id, sizeof(build_id));
	return ret;
}

/**
 * tally_record_verify - are the fields of a record within it?
 * @record: record in host order, aligned to 8 bytes
 * @attr: attr of its event; NULL if none is known
 * @fault: set to what is wrong
 *
 * Return: 0 or -EBADMSG. A record of an unknown type is good.
 */
int tally_record_verify(const struct perf_event_header *record, const struct perf_event_attr *attr,
			struct tally_fault *fault)
{
	struct walk walk = { .data = (u8 *)record, .end = record->size, .fault = fault };

	return record_walk(&walk, record->type, attr);
}
