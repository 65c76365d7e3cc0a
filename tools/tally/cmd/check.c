// SPDX-License-Identifier: GPL-2.0
/* tally check: verify a perf.data. */
#include "commands.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"
#include "verify.h"

static int check_usage(FILE *out, int status)
{
	fprintf(out, "usage: tally check [-m LINES] [FILE]\n\n"
		"Verifies every section, offset, size, order and count of a perf.data file\n"
		"or directory (default: perf.data; \"-\": the standard input). Prints a line\n"
		"for each error. Exit status: 0 if there is none.\n\n"
		"  -m, --max LINES  print at most so many errors (100)\n");
	return status;
}

int cmd_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "max", required_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	struct tally_verdict verdict;
	unsigned int lines = 100;
	const char *path;
	int option, ret;

	while ((option = getopt_long(argc, argv, "m:h", options, NULL)) != -1) {
		if (option == 'h')
			return check_usage(stdout, 0);
		if (option != 'm')
			return check_usage(stderr, 2);
		lines = strtoul(optarg, NULL, 0);
	}
	if (argc - optind > 1)
		return check_usage(stderr, 2);
	path = argc > optind ? argv[optind] : "perf.data";
	ret = tally_verify(stdout, path, lines, &verdict);
	if (verdict.errors > lines)
		printf("and %llu more\n", verdict.errors - lines);
	printf("%s: %llu records, %llu samples, %llu lost, ", path, verdict.records,
	       verdict.samples, verdict.lost);
	if (verdict.aux)
		printf("%llu bytes of AUX areas, ", verdict.aux);
	printf("%llu errors\n", verdict.errors);
	return !!ret;
}
