// SPDX-License-Identifier: GPL-2.0
/* Options that all readers of a perf.data have. */
#include "options.h"

/**
 * session_option - take one of SESSION_OPTIONS
 * @options: changed
 * @option: result of getopt_long(3)
 *
 * Return: true if @option is one of these.
 */
bool session_option(struct tally_session_options *options, int option)
{
	switch (option) {
	case 'i':
		options->path = optarg;
		return true;
	case OPTION_SYMFS:
		options->symfs = optarg;
		return true;
	case OPTION_KALLSYMS:
		options->kallsyms = optarg;
		return true;
	case OPTION_INLINE:
		options->inlined = true;
		return true;
	default:
		return false;
	}
}

/**
 * session_start - open the session that the arguments select
 * @command: name for messages
 * @session: set to the session
 * @options: options; the path is completed
 * @argc: number of @argv
 * @argv: arguments; after the options there may be a path
 *
 * Return: 0 or a negative errno, after a message.
 */
int session_start(const char *command, struct tally_session **session,
		  struct tally_session_options *options, int argc, char **argv)
{
	struct tally_error err;
	int ret;

	if (!options->path)
		options->path = optind < argc ? argv[optind] : "perf.data";
	ret = tally_session_open(session, options, &err);
	/* A file that does not open is in the text. */
	if (ret && err.offset == TALLY_NO_OFFSET)
		fprintf(stderr, "tally %s: %s\n", command, err.text);
	else if (ret)
		fprintf(stderr, "tally %s: %s: %s\n", command, options->path, err.text);
	return ret;
}

/**
 * session_end - close a session, and print what was wrong
 * @command: name for messages
 * @session: session, freed
 * @ret: result of the last tally_session_next()
 * @err: its error
 *
 * Return: exit status.
 */
int session_end(const char *command, struct tally_session *session, int ret,
		const struct tally_error *err)
{
	const struct tally_info *info = tally_session_info(session);
	u64 refused = tally_session_refused(session);

	if (ret < 0)
		fprintf(stderr, "tally %s: %s: %s\n", command, info->path, err->text);
	for (u32 i = 0; i < info->nr_errors; i++)
		fprintf(stderr, "tally %s: %s: %s\n", command, info->path,
			info->errors[i].err.text);
	if (refused)
		fprintf(stderr, "tally %s: %s: %llu samples refused; \"tally check\" says why\n",
			command, info->path, refused);
	tally_session_close(session);
	return ret < 0;
}
