// SPDX-License-Identifier: GPL-2.0
/* tally export: the samples of a perf.data in formats of other tools. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "options.h"

#define OPTION_EVENT	OPTION_OWN

static const struct {
	const char *name;
	int (*write)(FILE *out, struct tally_stacks *stacks, struct tally_error *err);
} formats[] = {
	{ "folded", export_folded },
	{ "pprof", export_pprof },
	{ "firefox", export_firefox },
};

static int export_usage(FILE *out, int status)
{
	fprintf(out, "usage: tally export --format FORMAT [OPTION]... [FILE]\n\n"
		"Converts the call chains in a perf.data file. Formats:\n"
		"  folded   a line for each chain: thread;caller;...;callee weight\n"
		"  pprof    profile.proto, compressed, of \"pprof\" and \"go tool pprof\"\n"
		"  firefox  JSON of profiler.firefox.com\n\n"
		SESSION_HELP
		"  -f, --format FORMAT  format (folded)\n"
		"  -o, --output FILE    write to FILE (the standard output)\n"
		"      --event NAME     take this event (that of the first sample)\n");
	return status;
}

static void folded_path(FILE *out, const struct tally_tree *tree, u32 node)
{
	if (tree->nodes[node].parent) {
		folded_path(out, tree, tree->nodes[node].parent);
		putc(';', out);
	}
	for (const char *c = tree->nodes[node].name; *c; c++)
		putc(*c == ';' ? ':' : (u8)*c < ' ' ? '?' : *c, out);
}

/**
 * export_folded - write a line for each chain
 * @out: output
 * @stacks: samples; the session is read to its end
 * @err: what is wrong
 *
 * Return: 0 or a negative errno.
 */
int export_folded(FILE *out, struct tally_stacks *stacks, struct tally_error *err)
{
	struct tally_tree tree;
	int ret;

	if (tally_tree_init(&tree))
		return tally_fail(err, ENOMEM, "no memory");
	ret = tally_stacks_collect(stacks, &tree, err);
	for (u32 i = 1; i < tree.nr; i++) {
		if (!tree.nodes[i].self)
			continue;
		folded_path(out, &tree, i);
		fprintf(out, " %llu\n", tree.nodes[i].self);
	}
	tally_tree_free(&tree);
	return ret;
}

static int export_run(unsigned int format, struct tally_stacks *stacks,
		      struct tally_session_options *options, const char *output, int argc,
		      char **argv)
{
	struct tally_error err;
	FILE *out = stdout;
	int ret;

	if (session_start("export", &stacks->session, options, argc, argv))
		return 1;
	if (output)
		out = fopen(output, "we");
	ret = out ? formats[format].write(out, stacks, &err) :
		    tally_fail(&err, errno, "%s: %s", output, strerror(errno));
	if (out && (fflush(out) || (output && fclose(out))) && !ret)
		ret = tally_fail(&err, EIO, "the output cannot be written");
	return session_end("export", stacks->session, ret, &err);
}

static int export_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(name, formats[i].name))
			return i;
	fprintf(stderr, "tally export: %s: not a format\n", name);
	return -EINVAL;
}

int cmd_export(int argc, char **argv)
{
	static const struct option long_options[] = {
		SESSION_OPTIONS,
		{ "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "event", required_argument, NULL, OPTION_EVENT },
		{}
	};
	struct tally_session_options options = {};
	struct tally_stacks stacks = {};
	const char *output = NULL;
	int option, format = 0;

	while ((option = getopt_long(argc, argv, "i:f:o:h", long_options, NULL)) != -1) {
		if (option == 'h')
			return export_usage(stdout, 0);
		if (option == 'f')
			format = export_format(optarg);
		else if (option == 'o')
			output = optarg;
		else if (option == OPTION_EVENT)
			stacks.event_name = optarg;
		else if (!session_option(&options, option))
			return export_usage(stderr, 2);
		if (format < 0)
			return 2;
	}
	return export_run(format, &stacks, &options, output, argc, argv);
}
