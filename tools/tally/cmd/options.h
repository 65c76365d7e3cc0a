/* SPDX-License-Identifier: GPL-2.0 */
/* Options that all readers of a perf.data have. */
#ifndef TALLY_OPTIONS_H
#define TALLY_OPTIONS_H

#include <getopt.h>

#include "session.h"

/* Numbers of the long options without a letter begin here. */
#define OPTION_SYMFS	256
#define OPTION_KALLSYMS	257
#define OPTION_INLINE	258
#define OPTION_OWN	259

#define SESSION_OPTIONS \
	{ "input", required_argument, NULL, 'i' }, \
	{ "symfs", required_argument, NULL, OPTION_SYMFS }, \
	{ "kallsyms", required_argument, NULL, OPTION_KALLSYMS }, \
	{ "inline", no_argument, NULL, OPTION_INLINE }, \
	{ "help", no_argument, NULL, 'h' }

#define SESSION_HELP \
	"  -i, --input FILE     read FILE (perf.data); \"-\": the standard input\n" \
	"      --symfs DIR      look up programs and libraries below DIR\n" \
	"      --kallsyms FILE  take the kernel's symbols from FILE\n" \
	"      --inline         show functions that the compiler inlined\n"

bool session_option(struct tally_session_options *options, int option);
int session_start(const char *command, struct tally_session **session,
		  struct tally_session_options *options, int argc, char **argv);
int session_end(const char *command, struct tally_session *session, int ret,
		const struct tally_error *err);

#endif /* TALLY_OPTIONS_H */
