// SPDX-License-Identifier: GPL-2.0
/* What the options of stat, record and top have in common: targets, signals, the clock. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds that a command has for its end after a signal, and seconds without a limit. */
#define MEASURE_PATIENCE	2
#define MEASURE_FOREVER		1e9

/* A list of tasks, "1,20,300". The array becomes longer with each call. */
static int measure_tasks(const char *text, pid_t **tasks, int *n)
{
	while (*text) {
		char *end;
		long task = strtol(text, &end, 10);
		pid_t *more;

		if (end == text || task <= 0 || (*end && *end != ','))
			return -EINVAL;
		more = realloc(*tasks, (*n + 1) * sizeof(**tasks));
		if (!more)
			return -ENOMEM;
		*tasks = more;
		more[(*n)++] = task;
		text = end + (*end == ',');
	}
	return *n ? 0 : -EINVAL;
}

/* A list of cgroups, "a,b/c", which is cut at the commas. */
static int measure_cgroups(char *text, struct tally_target *target)
{
	char *name;

	while ((name = strsep(&text, ","))) {
		char **more = realloc(target->cgroups, (target->nr_cgroups + 1) * sizeof(char *));

		if (!more)
			return -ENOMEM;
		target->cgroups = more;
		more[target->nr_cgroups++] = name;
	}
	return 0;
}

/**
 * measure_target_option() - one of the options MEASURE_TARGET_OPTIONS
 * @target: what the option names is added here
 * @option: its letter
 * @value: its value, which is cut at commas and has to stay; or NULL
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int measure_target_option(struct tally_target *target, int option, char *value)
{
	switch (option) {
	case 'a':
		target->all_cpus = true;
		return 0;
	case 'C':
		target->cpus = value;
		return 0;
	case 'p':
		return measure_tasks(value, &target->pids, &target->nr_pids);
	case 't':
		return measure_tasks(value, &target->tids, &target->nr_tids);
	default:
		return measure_cgroups(value, target);
	}
}

/**
 * measure_block_signals() - keep signals for measure_wait()
 * @options: gets the set
 */
void measure_block_signals(struct measure_options *options)
{
	static const int ends[] = {
		SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGCHLD,
	};

	sigemptyset(&options->signals);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaddset(&options->signals, ends[i]);
	sigprocmask(SIG_BLOCK, &options->signals, NULL);
}

/**
 * measure_wait() - wait for a signal
 * @options: options with the set of signals
 * @seconds: at most this long
 *
 * Return: number of the signal, 0 after the time.
 */
int measure_wait(const struct measure_options *options, double seconds)
{
	struct timespec time = { 0 };
	int ret;

	if (seconds > 0) {
		time.tv_sec = seconds;
		time.tv_nsec = (seconds - time.tv_sec) * 1e9;
	}
	ret = sigtimedwait(&options->signals, NULL, &time);
	return ret > 0 ? ret : 0;
}

/**
 * measure_delay() - wait before events are enabled
 * @options: options with the set of signals
 * @seconds: this long, or until a signal, which stays pending
 */
void measure_delay(const struct measure_options *options, double seconds)
{
	int signal = measure_wait(options, seconds);

	if (signal)
		raise(signal);
}

/**
 * measure_wait_command() - wait for the end of a command
 * @options: options with the set of signals
 * @pid: the command
 * @stopped: it has got a signal; it may ignore that, or take its time
 * @status: gets its wait status
 * @usage: gets what it has used
 *
 * Another signal, which the command gets as well, or two seconds after the first one end the wait.
 *
 * Return: false if the command is left running.
 */
bool measure_wait_command(const struct measure_options *options, pid_t pid, bool stopped,
			  int *status, struct rusage *usage)
{
	double end = measure_now() + MEASURE_PATIENCE;

	while (!wait4(pid, status, WNOHANG, usage)) {
		double left = stopped ? end - measure_now() : MEASURE_FOREVER;
		int signal;

		if (left <= 0)
			return false;
		signal = measure_wait(options, left);
		if (!signal || signal == SIGCHLD)
			continue;
		kill(pid, signal == SIGALRM ? SIGTERM : signal);
		if (stopped)
			return false;
		stopped = true;
		end = measure_now() + MEASURE_PATIENCE;
	}
	return true;
}

/*
 * An event of a place: its events write to one buffer, and each of their files is ready when that
 * is to be emptied. A buffer that is overwritten is not emptied before the end.
 */
static struct pollfd measure_poll_fd(const struct tally_opened *session, int place)
{
	struct pollfd poll = { .fd = -1 };

	for (int event = 0; event < session->events->n && !poll.events; event++) {
		int fd = session->fds[(size_t)event * session->nr_places + place];
		bool overwrite = session->events->event[event].attr.write_backward;

		if (fd < 0 || (overwrite && poll.fd >= 0))
			continue;
		poll.fd = fd;
		poll.events = overwrite ? 0 : POLLIN;
	}
	return poll;
}

/**
 * measure_poll_init() - prepare to wait for records, for the end of tasks and for signals
 * @poll: is initialized
 * @session: events with their buffers
 * @options: options with the set of signals
 * @err: reason for a failure
 *
 * Return: 0 or a negative error code.
 */
int measure_poll_init(struct measure_poll *poll, const struct tally_opened *session,
		      const struct measure_options *options, struct tally_error *err)
{
	struct pollfd *signals;

	poll->n = session->nr_places;
	poll->open = 0;
	poll->fds = calloc(poll->n + 1, sizeof(*poll->fds));
	if (!poll->fds)
		return tally_fail(err, ENOMEM, "out of memory");
	for (int place = 0; place < poll->n; place++) {
		poll->fds[place] = measure_poll_fd(session, place);
		poll->open += poll->fds[place].fd >= 0;
	}
	signals = &poll->fds[poll->n];
	signals->fd = signalfd(-1, &options->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	signals->events = POLLIN;
	if (signals->fd >= 0)
		return 0;
	free(poll->fds);
	poll->fds = NULL;
	return tally_fail(err, errno, "signalfd: %s", strerror(errno));
}

/* Leaves out the tasks that have ended: poll() would return at once. */
static void measure_poll_drop(struct measure_poll *poll)
{
	for (int i = 0; i < poll->n; i++) {
		if (poll->fds[i].fd >= 0 && poll->fds[i].revents & (POLLHUP | POLLERR)) {
			poll->fds[i].fd = -1;
			poll->open--;
		}
	}
}

/**
 * measure_poll_wait() - wait for a buffer to be emptied, the end of a task, or a signal
 * @poll: what to wait for
 * @seconds: at most this long
 *
 * Return: number of the signal, 0 without one.
 */
int measure_poll_wait(struct measure_poll *poll, double seconds)
{
	struct signalfd_siginfo info;
	struct timespec time = { 0 };

	if (seconds > 0) {
		time.tv_sec = seconds;
		time.tv_nsec = (seconds - time.tv_sec) * 1e9;
	}
	if (ppoll(poll->fds, poll->n + 1, &time, NULL) <= 0)
		return 0;
	measure_poll_drop(poll);
	if (read(poll->fds[poll->n].fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return info.ssi_signo;
}

/**
 * measure_poll_end() - free what measure_poll_init() has allocated
 * @poll: as it was initialized, or all zero
 */
void measure_poll_end(struct measure_poll *poll)
{
	if (!poll->fds)
		return;
	close(poll->fds[poll->n].fd);
	free(poll->fds);
	poll->fds = NULL;
}

/**
 * measure_target_alive() - whether something is left to measure
 * @target: target
 *
 * Return: false if it has tasks, and all of these have ended.
 */
bool measure_target_alive(const struct tally_target *target)
{
	for (int i = 0; i < target->nr_pids; i++) {
		if (!kill(target->pids[i], 0) || errno != ESRCH)
			return true;
	}
	for (int i = 0; i < target->nr_tids; i++) {
		if (!kill(target->tids[i], 0) || errno != ESRCH)
			return true;
	}
	return !target->nr_pids && !target->nr_tids;
}

/**
 * measure_now() - the monotonic clock
 *
 * Return: seconds.
 */
double measure_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/**
 * measure_complain() - print why a command fails
 * @command: name of the command
 * @err: reason
 *
 * Return: 1, the exit status.
 */
int measure_complain(const char *command, const struct tally_error *err)
{
	fflush(stdout);
	fprintf(stderr, "tally %s: %s\n", command, err->text);
	return 1;
}

/**
 * measure_fallback_note() - print what tally_open() did without
 * @session: session that is open
 */
void measure_fallback_note(const struct tally_opened *session)
{
	static const struct {
		unsigned int bit;
		const char *text;
	} notes[] = {
		{ TALLY_FELL_USER, "the kernel is not measured: kernel.perf_event_paranoid" },
		{ TALLY_FELL_CLOCK, "no cycles here: cpu-clock takes their place" },
		{ TALLY_FELL_PRECISE, "samples are less precise than was asked for" },
		{ TALLY_FELL_GROUP, "a group that does not fit was split" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		if (session->fell_back & notes[i].bit)
			fprintf(stderr, "tally: %s\n", notes[i].text);
	}
}
