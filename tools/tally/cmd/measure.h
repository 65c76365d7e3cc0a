/* SPDX-License-Identifier: GPL-2.0 */
/* What the options of stat, record and top have in common. */
#ifndef TALLY_MEASURE_H
#define TALLY_MEASURE_H

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include "tally_open.h"

/**
 * struct measure_options - a target with the memory of its lists
 * @target: what tally_open() gets
 * @argv: command that the options leave, or NULL
 * @signals: those that end a measurement, and SIGCHLD, blocked
 */
struct measure_options {
	struct tally_target target;
	char **argv;
	sigset_t signals;
};

/**
 * struct measure_poll - what a main loop waits for
 * @fds: an event of each place, and behind these the signals
 * @n: number of places
 * @open: places that still may get records
 */
struct measure_poll {
	struct pollfd *fds;
	int n;
	int open;
};

/* The long names, entries of struct option; the letters are "aC:p:t:G:". */
#define MEASURE_TARGET_OPTIONS				\
	{ "all-cpus", no_argument, NULL, 'a' },		\
	{ "cpu", required_argument, NULL, 'C' },	\
	{ "pid", required_argument, NULL, 'p' },	\
	{ "tid", required_argument, NULL, 't' },	\
	{ "cgroup", required_argument, NULL, 'G' }

int measure_target_option(struct tally_target *target, int option, char *value);
void measure_block_signals(struct measure_options *options);
int measure_wait(const struct measure_options *options, double seconds);
void measure_delay(const struct measure_options *options, double seconds);
bool measure_wait_command(const struct measure_options *options, pid_t pid, bool stopped,
			  int *status, struct rusage *usage);
int measure_poll_init(struct measure_poll *poll, const struct tally_opened *session,
		      const struct measure_options *options, struct tally_error *err);
int measure_poll_wait(struct measure_poll *poll, double seconds);
void measure_poll_end(struct measure_poll *poll);
bool measure_target_alive(const struct tally_target *target);
double measure_now(void);
int measure_complain(const char *command, const struct tally_error *err);
void measure_fallback_note(const struct tally_opened *session);

#endif
