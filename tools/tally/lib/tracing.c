// SPDX-License-Identifier: GPL-2.0
/*
 * Fields of tracepoints. Section TRACING_DATA has the formats that tracefs shows:
 *
 *	17 08 44 "tracing", version, NUL; u8 big-endian; u8 bytes of a long; u32 bytes of a page;
 *	"header_page" NUL, u64 size, text; "header_event" NUL, u64 size, text;
 *	u32 number of formats of ftrace, each u64 size, text;
 *	u32 number of systems, each: name NUL, u32 number of formats, each u64 size, text;
 *	u32 size, symbols of the kernel; u32 size, strings of printk; and names of tasks since 0.6
 */
#include "tracing.h"

#include <byteswap.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_TRACEEVENT
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

/**
 * struct tally_tracing - formats of tracepoints
 * @tep: state of libtraceevent
 */
struct tally_tracing {
	struct tep_handle *tep;
};

/**
 * struct tracing_text - position in the section
 * @data: the section
 * @size: bytes of it
 * @at: next byte
 * @swap: numbers are of the other byte order
 * @bad: the section ended too early
 */
struct tracing_text {
	const u8 *data;
	size_t size;
	size_t at;
	bool swap;
	bool bad;
};

static const void *tracing_take(struct tracing_text *text, u64 size)
{
	const u8 *place = text->data + text->at;

	if (text->bad || size > text->size - text->at) {
		text->bad = true;
		return NULL;
	}
	text->at += size;
	return place;
}

static u64 tracing_number(struct tracing_text *text, size_t size)
{
	const void *place = tracing_take(text, size);
	u32 n32;
	u64 n64;

	if (!place)
		return 0;
	if (size == sizeof(n32)) {
		memcpy(&n32, place, size);
		return text->swap ? bswap_32(n32) : n32;
	}
	memcpy(&n64, place, sizeof(n64));
	return text->swap ? bswap_64(n64) : n64;
}

static const char *tracing_string(struct tracing_text *text)
{
	const u8 *start = text->data + text->at;
	const u8 *end = text->bad ? NULL : memchr(start, 0, text->size - text->at);

	return tracing_take(text, end ? (u64)(end + 1 - start) : ~0ULL);
}

/* A format, which libtraceevent takes with a system; one that it does not know is left out. */
static void tracing_format(struct tally_tracing *tracing, struct tracing_text *text,
			   const char *system)
{
	u64 size = tracing_number(text, sizeof(u64));
	const char *format = tracing_take(text, size);
	char *copy = format ? strndup(format, size) : NULL;

	if (copy)
		tep_parse_event(tracing->tep, copy, strlen(copy), system);
	free(copy);
}

static void tracing_header(struct tally_tracing *tracing, struct tracing_text *text)
{
	const u8 *flags;

	tracing_take(text, 10);
	tracing_string(text);
	flags = tracing_take(text, 2);
	if (!flags)
		return;
	text->swap = flags[0] != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	tep_set_file_bigendian(tracing->tep, flags[0] ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tracing->tep, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ?
				TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(tracing->tep, flags[1]);
	tracing_number(text, sizeof(u32));
	for (int i = 0; i < 2; i++) {
		tracing_string(text);
		tracing_take(text, tracing_number(text, sizeof(u64)));
	}
}

static void tracing_formats(struct tally_tracing *tracing, struct tracing_text *text)
{
	u64 nr = tracing_number(text, sizeof(u32));

	for (; nr && !text->bad; nr--)
		tracing_format(tracing, text, "ftrace");
	for (nr = tracing_number(text, sizeof(u32)); nr && !text->bad; nr--) {
		const char *system = tracing_string(text);
		u64 events = tracing_number(text, sizeof(u32));

		for (; events && !text->bad; events--)
			tracing_format(tracing, text, system);
	}
}

/**
 * tally_tracing_new - take the formats of tracepoints
 * @tracing: set to them, for tally_tracing_free()
 * @data: section TRACING_DATA
 * @size: bytes of it
 * @err: what is wrong
 *
 * Return: 0; -EBADMSG: the section is not valid; -EOPNOTSUPP: built without libtraceevent.
 */
int tally_tracing_new(struct tally_tracing **tracing, const u8 *data, size_t size,
		      struct tally_error *err)
{
	struct tracing_text text = { .data = data, .size = size };
	struct tally_tracing *new;

	if (size < 10 || memcmp(data, "\x17\x08\x44tracing", 10))
		return tally_fail(err, EBADMSG, "section \"tracing data\": not of tracefs");
	new = calloc(1, sizeof(*new));
	if (!new)
		return tally_fail(err, ENOMEM, "no memory");
	new->tep = tep_alloc();
	if (new->tep) {
		tracing_header(new, &text);
		tracing_formats(new, &text);
	}
	if (!new->tep || text.bad) {
		tally_tracing_free(new);
		return text.bad ? tally_fail(err, EBADMSG, "section \"tracing data\": too short") :
				  tally_fail(err, ENOMEM, "no memory");
	}
	*tracing = new;
	return 0;
}

/**
 * tally_tracing_print - print the fields of a tracepoint
 * @out: output
 * @tracing: formats
 * @raw: raw data of a sample
 * @size: bytes of them
 * @cpu: CPU of the sample
 */
void tally_tracing_print(FILE *out, struct tally_tracing *tracing, const void *raw, u64 size,
			 u32 cpu)
{
	struct tep_record record = { .data = (void *)raw, .size = size, .cpu = cpu };
	struct trace_seq seq;

	trace_seq_init(&seq);
	tep_print_event(tracing->tep, &seq, &record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&seq);
	fprintf(out, " %.*s", (int)seq.len, seq.buffer);
	trace_seq_destroy(&seq);
}

/**
 * tally_tracing_free - free the formats
 * @tracing: formats; may be NULL
 */
void tally_tracing_free(struct tally_tracing *tracing)
{
	if (tracing)
		tep_free(tracing->tep);
	free(tracing);
}
#else
int tally_tracing_new(struct tally_tracing **tracing, const u8 *data, size_t size,
		      struct tally_error *err)
{
	(void)tracing;
	(void)data;
	(void)size;
	return tally_fail(err, EOPNOTSUPP, "this program was built without libtraceevent");
}

void tally_tracing_print(FILE *out, struct tally_tracing *tracing, const void *raw, u64 size,
			 u32 cpu)
{
	(void)out;
	(void)tracing;
	(void)raw;
	(void)size;
	(void)cpu;
}

void tally_tracing_free(struct tally_tracing *tracing)
{
	(void)tracing;
}
#endif
