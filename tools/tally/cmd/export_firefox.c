// SPDX-License-Identifier: GPL-2.0
/*
 * JSON of the Firefox profiler, "processed" form, version 47. A thread has tables of columns:
 * samples refer to stacks, stacks to frames, frames to functions, functions to strings.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>

#define FIREFOX_VERSION		27
#define FIREFOX_PROCESSED	47

/**
 * struct firefox_sample - a sample of a thread
 * @node: node of the tree that it is in
 * @time: nanoseconds
 * @weight: its weight
 */
struct firefox_sample {
	u32 node;
	u64 time;
	u64 weight;
};

/**
 * struct firefox_thread - a thread with samples
 * @pid: its process
 * @tid: thread
 * @name: its name, as of its last sample
 * @samples: array of &struct firefox_sample
 * @next: next thread
 */
struct firefox_thread {
	u32 pid;
	u32 tid;
	const char *name;
	struct tally_buf samples;
	struct firefox_thread *next;
};

/**
 * struct firefox - a profile that is collected
 * @session: session
 * @tree: chains of all threads
 * @threads: all threads
 * @last: thread of the last sample
 * @start: time of the first sample
 */
struct firefox {
	struct tally_session *session;
	struct tally_tree tree;
	struct firefox_thread *threads;
	struct firefox_thread *last;
	u64 start;
};

static struct firefox_thread *firefox_thread(struct firefox *firefox, u32 pid, u32 tid)
{
	struct firefox_thread *thread = firefox->last;

	if (thread && thread->tid == tid && thread->pid == pid)
		return thread;
	for (thread = firefox->threads; thread; thread = thread->next)
		if (thread->tid == tid && thread->pid == pid)
			return firefox->last = thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->pid = pid;
	thread->tid = tid;
	thread->next = firefox->threads;
	firefox->threads = thread;
	return firefox->last = thread;
}

static void firefox_sample(void *context, u32 node, const struct tally_sample *sample)
{
	struct firefox *firefox = context;
	struct firefox_thread *thread = firefox_thread(firefox, sample->pid, sample->tid);
	struct firefox_sample entry = { node, sample->time, sample->period };

	if (!thread)
		return;
	if (!firefox->start || sample->time < firefox->start)
		firefox->start = sample->time;
	thread->name = tally_space_comm(tally_session_space(firefox->session), sample->pid,
					sample->tid);
	tally_buf_put(&thread->samples, &entry, sizeof(entry));
}

/* Bytes that are no valid UTF-8 are written as Latin 1. */
static void json_string(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		u8 c = *text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

/* A column of a table with cells that are all the same. */
static void json_fill(FILE *out, const char *name, const char *value, u32 nr)
{
	fprintf(out, ",\"%s\":[", name);
	for (u32 i = 0; i < nr; i++)
		fprintf(out, "%s%s", i ? "," : "", value);
	putc(']', out);
}

/**
 * struct firefox_tables - tables of a thread
 * @stack: by node of the tree: number of its stack plus one, 0 if the thread does not have it
 * @nodes: by stack: its node
 * @nr: number of stacks
 * @functions: the children of its root are the functions, by key
 * @libs: the children of its root are the files, by key
 */
struct firefox_tables {
	u32 *stack;
	u32 *nodes;
	u32 nr;
	struct tally_tree functions;
	struct tally_tree libs;
};

/* The nodes between the name of the thread and a sample; a parent has a lower number. */
static void tables_mark(struct firefox_tables *tables, const struct tally_tree *tree, u32 node)
{
	for (; tree->nodes[node].parent && !tables->stack[node]; node = tree->nodes[node].parent)
		tables->stack[node] = 1;
}

static int tables_build(struct firefox_tables *tables, const struct tally_tree *tree,
			const struct firefox_thread *thread)
{
	const struct firefox_sample *samples = (const void *)thread->samples.data;
	size_t nr = thread->samples.size / sizeof(*samples);

	*tables = (struct firefox_tables){
		.stack = calloc(tree->nr, sizeof(u32)), .nodes = calloc(tree->nr, sizeof(u32)),
	};
	if (!tables->stack || !tables->nodes || tally_tree_init(&tables->functions) ||
	    tally_tree_init(&tables->libs))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		tables_mark(tables, tree, samples[i].node);
	for (u32 i = 1; i < tree->nr; i++) {
		const struct tally_node *node = &tree->nodes[i];
		u32 function;

		if (!tables->stack[i])
			continue;
		tables->nodes[tables->nr++] = i;
		tables->stack[i] = tables->nr;
		function = tally_tree_child(&tables->functions, TALLY_ROOT, node->key, node->name);
		tables->functions.nodes[function].dso = node->dso;
		if (node->dso)
			tally_tree_child(&tables->libs, TALLY_ROOT, node->dso,
					 node->dso->short_name);
	}
	return 0;
}

static void tables_free(struct firefox_tables *tables)
{
	free(tables->stack);
	free(tables->nodes);
	tally_tree_free(&tables->functions);
	tally_tree_free(&tables->libs);
}

static void firefox_samples(FILE *out, const struct firefox *firefox,
			    const struct firefox_tables *tables,
			    const struct firefox_thread *thread)
{
	const struct firefox_sample *samples = (const void *)thread->samples.data;
	size_t nr = thread->samples.size / sizeof(*samples);

	fprintf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\"stack\":[", nr);
	for (size_t i = 0; i < nr; i++) {
		u32 stack = tables->stack[samples[i].node];

		if (stack)
			fprintf(out, "%s%u", i ? "," : "", stack - 1);
		else
			fprintf(out, "%snull", i ? "," : "");
	}
	fputs("],\"time\":[", out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s%.6f", i ? "," : "", (samples[i].time - firefox->start) / 1e6);
	fputs("],\"weight\":[", out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s1", i ? "," : "");
	fputs("]},\n", out);
}

static void firefox_stacks(FILE *out, const struct firefox_tables *tables,
			   const struct tally_tree *tree)
{
	fprintf(out, "\"stackTable\":{\"length\":%u,\"frame\":[", tables->nr);
	for (u32 i = 0; i < tables->nr; i++)
		fprintf(out, "%s%u", i ? "," : "", i);
	fputs("],\"prefix\":[", out);
	for (u32 i = 0; i < tables->nr; i++) {
		u32 prefix = tables->stack[tree->nodes[tables->nodes[i]].parent];

		if (prefix)
			fprintf(out, "%s%u", i ? "," : "", prefix - 1);
		else
			fprintf(out, "%snull", i ? "," : "");
	}
	fputs("],\"category\":[", out);
	for (u32 i = 0; i < tables->nr; i++)
		fprintf(out, "%s%u", i ? "," : "", tree->nodes[tables->nodes[i]].kernel);
	putc(']', out);
	json_fill(out, "subcategory", "0", tables->nr);
	fputs("},\n", out);
}

static void firefox_frames(FILE *out, struct firefox_tables *tables, const struct tally_tree *tree)
{
	fprintf(out, "\"frameTable\":{\"length\":%u,\"func\":[", tables->nr);
	for (u32 i = 0; i < tables->nr; i++) {
		const struct tally_node *node = &tree->nodes[tables->nodes[i]];
		u32 function = tally_tree_child(&tables->functions, TALLY_ROOT, node->key,
						node->name);

		fprintf(out, "%s%u", i ? "," : "", function - 1);
	}
	fputs("],\"category\":[", out);
	for (u32 i = 0; i < tables->nr; i++)
		fprintf(out, "%s%u", i ? "," : "", tree->nodes[tables->nodes[i]].kernel);
	putc(']', out);
	json_fill(out, "address", "-1", tables->nr);
	json_fill(out, "inlineDepth", "0", tables->nr);
	json_fill(out, "subcategory", "0", tables->nr);
	json_fill(out, "nativeSymbol", "null", tables->nr);
	json_fill(out, "innerWindowID", "0", tables->nr);
	json_fill(out, "implementation", "null", tables->nr);
	json_fill(out, "line", "null", tables->nr);
	json_fill(out, "column", "null", tables->nr);
	fputs("},\n", out);
}

/* Strings: the functions, then the files. */
static void firefox_functions(FILE *out, struct firefox_tables *tables)
{
	u32 functions = tables->functions.nr - 1, libs = tables->libs.nr - 1;

	fprintf(out, "\"funcTable\":{\"length\":%u,\"name\":[", functions);
	for (u32 i = 0; i < functions; i++)
		fprintf(out, "%s%u", i ? "," : "", i);
	fputs("],\"resource\":[", out);
	for (u32 i = 0; i < functions; i++) {
		struct tally_dso *dso = tables->functions.nodes[i + 1].dso;
		int lib = dso ? (int)tally_tree_child(&tables->libs, TALLY_ROOT, dso, "") - 1 : -1;

		fprintf(out, "%s%d", i ? "," : "", lib);
	}
	putc(']', out);
	json_fill(out, "isJS", "false", functions);
	json_fill(out, "relevantForJS", "false", functions);
	json_fill(out, "fileName", "null", functions);
	json_fill(out, "lineNumber", "null", functions);
	json_fill(out, "columnNumber", "null", functions);
	fprintf(out, "},\n\"resourceTable\":{\"length\":%u,\"name\":[", libs);
	for (u32 i = 0; i < libs; i++)
		fprintf(out, "%s%u", i ? "," : "", functions + i);
	putc(']', out);
	json_fill(out, "lib", "null", libs);
	json_fill(out, "host", "null", libs);
	json_fill(out, "type", "1", libs);
	fputs("},\n\"stringArray\":[", out);
	for (u32 i = 0; i < functions + libs; i++) {
		putc(i ? ',' : ' ', out);
		json_string(out, i < functions ? tables->functions.nodes[i + 1].name :
			    tables->libs.nodes[i - functions + 1].name);
	}
	fputs("],\n", out);
}

static int firefox_write_thread(FILE *out, struct firefox *firefox,
				const struct firefox_thread *thread)
{
	struct firefox_tables tables;
	int ret = tables_build(&tables, &firefox->tree, thread);

	if (!ret) {
		fputs("{\"name\":", out);
		json_string(out, thread->name);
		fprintf(out, ",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%u,",
			thread->pid == thread->tid ? "true" : "false", thread->pid, thread->tid);
		fputs("\"processName\":", out);
		json_string(out, thread->name);
		fputs(",\"processType\":\"default\",\"processStartupTime\":0,\n"
		      "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\n"
		      "\"pausedRanges\":[],\n", out);
		firefox_samples(out, firefox, &tables, thread);
		firefox_stacks(out, &tables, &firefox->tree);
		firefox_frames(out, &tables, &firefox->tree);
		firefox_functions(out, &tables);
		fputs("\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\n"
		      "\"name\":[],\"phase\":[],\"startTime\":[]},\n"
		      "\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\n"
		      "\"name\":[],\"functionSize\":[]}}", out);
	}
	tables_free(&tables);
	return ret;
}

static int firefox_write(FILE *out, struct firefox *firefox, const char *event)
{
	const struct tally_features *features = &tally_session_info(firefox->session)->features;
	int ret = 0;

	fprintf(out, "{\"meta\":{\"version\":%u,\"preprocessedProfileVersion\":%u,",
		FIREFOX_VERSION, FIREFOX_PROCESSED);
	fputs("\"interval\":1,\"startTime\":0,\"processType\":0,\"stackwalk\":1,\n"
	      "\"debug\":false,\"extensions\":{\"length\":0,\"id\":[],\"name\":[],\n"
	      "\"baseURL\":[]},\n"
	      "\"symbolicated\":true,\"symbolicationNotSupported\":true,\"markerSchema\":[],\n"
	      "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n"
	      "\"categories\":[\n"
	      "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},\n"
	      "{\"name\":\"Kernel\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}],\n"
	      "\"product\":", out);
	json_string(out, event ?: "");
	fputs(",\"oscpu\":", out);
	json_string(out, tally_feature_string(features, TALLY_FEAT_OSRELEASE));
	fputs(",\"CPUName\":", out);
	json_string(out, tally_feature_string(features, TALLY_FEAT_CPUDESC));
	fputs("},\n\"libs\":[],\"pages\":[],\"counters\":[],\"threads\":[\n", out);
	for (const struct firefox_thread *thread = firefox->threads; thread && !ret;
	     thread = thread->next) {
		ret = firefox_write_thread(out, firefox, thread);
		fputs(thread->next ? ",\n" : "\n", out);
	}
	fputs("]}\n", out);
	return ret;
}

/**
 * export_firefox - write the JSON of the Firefox profiler
 * @out: output
 * @stacks: samples; the session is read to its end
 * @err: what is wrong
 *
 * Return: 0 or a negative errno.
 */
int export_firefox(FILE *out, struct tally_stacks *stacks, struct tally_error *err)
{
	struct firefox firefox = { .session = stacks->session };
	int ret;

	if (tally_tree_init(&firefox.tree))
		return tally_fail(err, ENOMEM, "no memory");
	stacks->each = firefox_sample;
	stacks->context = &firefox;
	ret = tally_stacks_collect(stacks, &firefox.tree, err);
	if (firefox_write(out, &firefox, stacks->event_name) && !ret)
		ret = tally_fail(err, ENOMEM, "no memory");
	while (firefox.threads) {
		struct firefox_thread *thread = firefox.threads;

		firefox.threads = thread->next;
		tally_buf_free(&thread->samples);
		free(thread);
	}
	tally_tree_free(&firefox.tree);
	return ret;
}
