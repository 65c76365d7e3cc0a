// SPDX-License-Identifier: GPL-2.0
/* tally: find the subcommand and run it. */
#include "commands.h"

#include <string.h>

#include "tally.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "stat",	cmd_stat,	"count events and print a table" },
	{ "record",	cmd_record,	"record samples of events in a perf.data file" },
	{ "top",	cmd_top,	"show where samples fall, as they are taken" },
	{ "report",	cmd_report,	"print a profile of a perf.data file" },
	{ "script",	cmd_script,	"print the records of a perf.data file, one a line" },
	{ "check",	cmd_check,	"verify a perf.data file" },
	{ "flame",	cmd_flame,	"draw a flame graph of a perf.data file, as SVG" },
	{ "export",	cmd_export,	"convert a perf.data file for pprof and others" },
};

static int main_usage(FILE *out, int status)
{
	fprintf(out, "usage: tally COMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].run)
			fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\n\"tally COMMAND --help\" lists the options.\n");
	return status;
}

int main(int argc, char **argv)
{
	static char name[32];

	if (argc < 2)
		return main_usage(stderr, 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return main_usage(stdout, 0);
	if (!strcmp(argv[1], "--version")) {
		printf("tally %s\n", TALLY_VERSION);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!commands[i].run || strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "tally %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "tally: %s is not a command\n", argv[1]);
	return main_usage(stderr, 2);
}
