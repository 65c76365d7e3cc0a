// SPDX-License-Identifier: GPL-2.0
/*
 * profile.proto of pprof: protocol buffers, compressed by zlib. The numbers of the fields are those
 * of https://github.com/google/pprof/blob/main/proto/profile.proto.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

/* Fields of messages: Profile, ValueType, Sample, Mapping, Location, Line, Function, Label. */
enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5, PROFILE_STRING = 6, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12,
	VALUE_TYPE = 1, VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3,
	LABEL_KEY = 1, LABEL_STRING = 2,
};

/* Strings that each profile has, by their place in its table. */
enum { STRING_EMPTY, STRING_SAMPLES, STRING_COUNT, STRING_EVENT, STRING_THREAD, STRINGS_FIXED };

/**
 * struct pprof - a profile that is written
 * @out: messages so far
 * @tree: chains
 * @functions: the children of its root are the functions, by key
 * @files: the children of its root are the files, by key
 * @nr_strings: strings in the table so far
 */
struct pprof {
	struct tally_buf out;
	struct tally_tree tree;
	struct tally_tree functions;
	struct tally_tree files;
	u64 nr_strings;
};

static void proto_varint(struct tally_buf *buf, u64 value)
{
	u8 byte;

	for (; value >= 0x80; value >>= 7) {
		byte = value | 0x80;
		tally_buf_put(buf, &byte, 1);
	}
	byte = value;
	tally_buf_put(buf, &byte, 1);
}

static void proto_number(struct tally_buf *buf, unsigned int field, u64 value)
{
	proto_varint(buf, field << 3);
	proto_varint(buf, value);
}

static void proto_bytes(struct tally_buf *buf, unsigned int field, const void *data, size_t size)
{
	proto_varint(buf, field << 3 | 2);
	proto_varint(buf, size);
	tally_buf_put(buf, data, size);
}

/* Adds a message to another and empties it. */
static void proto_message(struct tally_buf *buf, unsigned int field, struct tally_buf *message)
{
	proto_bytes(buf, field, message->data, message->size);
	message->size = 0;
}

static u64 pprof_string(struct pprof *pprof, const char *string)
{
	proto_bytes(&pprof->out, PROFILE_STRING, string, strlen(string));
	return pprof->nr_strings++;
}

static void pprof_types(struct pprof *pprof)
{
	static const u8 values[2][2] = {
		{ STRING_SAMPLES, STRING_COUNT }, { STRING_EVENT, STRING_COUNT },
	};
	struct tally_buf type = {};

	for (size_t i = 0; i < 2; i++) {
		proto_number(&type, VALUE_TYPE, values[i][0]);
		proto_number(&type, VALUE_UNIT, values[i][1]);
		proto_message(&pprof->out, PROFILE_SAMPLE_TYPE, &type);
	}
	proto_number(&type, VALUE_TYPE, STRING_EVENT);
	proto_number(&type, VALUE_UNIT, STRING_COUNT);
	proto_message(&pprof->out, PROFILE_PERIOD_TYPE, &type);
	proto_number(&pprof->out, PROFILE_PERIOD, 1);
	tally_buf_free(&type);
}

static void pprof_mapping(struct pprof *pprof, const struct tally_dso *dso, u32 number)
{
	char hex[2 * TALLY_BUILD_ID_SIZE + 1] = "";
	struct tally_buf mapping = {};

	for (u32 i = 0; i < dso->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", dso->build_id[i]);
	proto_number(&mapping, MAPPING_ID, number);
	proto_number(&mapping, MAPPING_FILE, pprof_string(pprof, dso->name));
	proto_number(&mapping, MAPPING_BUILD_ID, pprof_string(pprof, hex));
	proto_number(&mapping, MAPPING_HAS_FUNCTIONS, 1);
	proto_message(&pprof->out, PROFILE_MAPPING, &mapping);
	tally_buf_free(&mapping);
}

/* A function is a location, too: samples have no addresses in the tree. */
static void pprof_function(struct pprof *pprof, const struct tally_node *node, u32 number)
{
	struct tally_buf message = {}, line = {};
	u64 name = pprof_string(pprof, node->name);
	u32 mapping = 0;

	if (node->dso) {
		u32 before = pprof->files.nr;

		mapping = tally_tree_child(&pprof->files, TALLY_ROOT, node->dso, "");
		if (pprof->files.nr > before)
			pprof_mapping(pprof, node->dso, mapping);
	}
	proto_number(&message, FUNCTION_ID, number);
	proto_number(&message, FUNCTION_NAME, name);
	proto_number(&message, FUNCTION_SYSTEM_NAME, name);
	proto_message(&pprof->out, PROFILE_FUNCTION, &message);
	proto_number(&message, LOCATION_ID, number);
	if (mapping)
		proto_number(&message, LOCATION_MAPPING, mapping);
	proto_number(&line, LINE_FUNCTION, number);
	proto_message(&message, LOCATION_LINE, &line);
	proto_message(&pprof->out, PROFILE_LOCATION, &message);
	tally_buf_free(&message);
	tally_buf_free(&line);
}

static u32 pprof_location(struct pprof *pprof, const struct tally_node *node)
{
	u32 before = pprof->functions.nr;
	u32 number = tally_tree_child(&pprof->functions, TALLY_ROOT, node->key, node->name);

	if (pprof->functions.nr > before)
		pprof_function(pprof, node, number);
	return number;
}

/* Samples in each node, without those below. */
static u64 *pprof_counts(const struct tally_tree *tree)
{
	u64 *counts = calloc(tree->nr, sizeof(*counts));

	for (u32 i = 0; counts && i < tree->nr; i++)
		counts[i] = tree->nodes[i].samples;
	for (u32 i = 1; counts && i < tree->nr; i++)
		counts[tree->nodes[i].parent] -= tree->nodes[i].samples;
	return counts;
}

static void pprof_sample(struct pprof *pprof, u32 node, u64 count)
{
	const struct tally_node *nodes = pprof->tree.nodes;
	struct tally_buf sample = {}, label = {};
	u64 weight = nodes[node].self;

	for (; nodes[node].parent; node = nodes[node].parent)
		proto_number(&sample, SAMPLE_LOCATION, pprof_location(pprof, &nodes[node]));
	proto_number(&sample, SAMPLE_VALUE, count);
	proto_number(&sample, SAMPLE_VALUE, weight);
	proto_number(&label, LABEL_KEY, STRING_THREAD);
	proto_number(&label, LABEL_STRING, pprof_string(pprof, nodes[node].name));
	proto_message(&sample, SAMPLE_LABEL, &label);
	proto_message(&pprof->out, PROFILE_SAMPLE, &sample);
	tally_buf_free(&sample);
	tally_buf_free(&label);
}

static int pprof_write(FILE *out, const struct tally_buf *buf, struct tally_error *err)
{
#ifdef HAVE_ZLIB
	gzFile file;

	fflush(out);
	file = gzdopen(dup(fileno(out)), "wb");
	if (!file)
		return tally_fail(err, ENOMEM, "no memory");
	if (gzwrite(file, buf->data, buf->size) != (int)buf->size) {
		gzclose(file);
		return tally_fail(err, EIO, "the output cannot be written");
	}
	return gzclose(file) == Z_OK ? 0 : tally_fail(err, EIO, "the output cannot be written");
#else
	if (fwrite(buf->data, 1, buf->size, out) != buf->size)
		return tally_fail(err, EIO, "the output cannot be written");
	return 0;
#endif
}

static int pprof_profile(struct pprof *pprof, FILE *out, struct tally_stacks *stacks,
			 struct tally_error *err)
{
	int ret = tally_stacks_collect(stacks, &pprof->tree, err);
	u64 *counts = pprof_counts(&pprof->tree);

	if (!counts)
		return tally_fail(err, ENOMEM, "no memory");
	pprof_string(pprof, "");
	pprof_string(pprof, "samples");
	pprof_string(pprof, "count");
	pprof_string(pprof, stacks->event_name ?: "");
	pprof_string(pprof, "thread");
	pprof_types(pprof);
	for (u32 i = 1; i < pprof->tree.nr; i++)
		if (counts[i])
			pprof_sample(pprof, i, counts[i]);
	free(counts);
	if (pprof->out.failed)
		return tally_fail(err, ENOMEM, "no memory");
	return ret ?: pprof_write(out, &pprof->out, err);
}

/**
 * export_pprof - write profile.proto
 * @out: output
 * @stacks: samples; the session is read to its end
 * @err: what is wrong
 *
 * Return: 0 or a negative errno.
 */
int export_pprof(FILE *out, struct tally_stacks *stacks, struct tally_error *err)
{
	struct pprof pprof = {};
	int ret;

	if (tally_tree_init(&pprof.tree) || tally_tree_init(&pprof.functions) ||
	    tally_tree_init(&pprof.files))
		ret = tally_fail(err, ENOMEM, "no memory");
	else
		ret = pprof_profile(&pprof, out, stacks, err);
	tally_tree_free(&pprof.tree);
	tally_tree_free(&pprof.functions);
	tally_tree_free(&pprof.files);
	tally_buf_free(&pprof.out);
	return ret;
}
