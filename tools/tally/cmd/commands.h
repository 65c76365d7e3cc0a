/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subcommands. Each is in a file of its name and returns the exit status of the program: 0, 1
 * after a failure, 2 if the arguments make no sense. argv[0] is "tally NAME", as messages of
 * getopt(3) begin.
 *
 * The symbols are weak: main.c leaves out a subcommand that is not linked in.
 */
#ifndef TALLY_COMMANDS_H
#define TALLY_COMMANDS_H

#define TALLY_COMMAND(name) \
	int cmd_##name(int argc, char **argv) __attribute__((__weak__))

TALLY_COMMAND(stat);
TALLY_COMMAND(record);
TALLY_COMMAND(top);
TALLY_COMMAND(report);
TALLY_COMMAND(script);
TALLY_COMMAND(check);
TALLY_COMMAND(flame);
TALLY_COMMAND(export);

#endif /* TALLY_COMMANDS_H */
