/* SPDX-License-Identifier: GPL-2.0 */
/* Children of a case, and their synchronization with it. */
#ifndef PERF_TEST_PROCESSES_H
#define PERF_TEST_PROCESSES_H

#include "harness.h"

#include <fcntl.h>
#include <sys/prctl.h>

/* fork() of a child that dies with its parent. */
static inline pid_t fork_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = MUST(fork());
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A child that only waits to be killed. */
static inline pid_t fork_waiting_child(void)
{
	pid_t pid = fork_child();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static inline void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits for a child; true if its exit status is 0. */
static inline bool child_succeeded(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		ktap_note("a child exited with status %#x", status);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* A gate between processes: each gate_open() lets one gate_wait() return. */
struct gate {
	int	fd[2];
};

static inline struct gate gate_new(void)
{
	struct gate g;

	MUST(pipe2(g.fd, O_CLOEXEC));
	return g;
}

static inline void gate_open(struct gate *g)
{
	MUST(write(g->fd[1], "", 1));
}

static inline void gate_wait(struct gate *g)
{
	char byte;

	while (read(g->fd[0], &byte, 1) < 0 && errno == EINTR)
		;
}

/* A child that does @work each time that @go is opened, and opens @back after that. */
static inline pid_t fork_worker(struct gate *go, struct gate *back, void (*work)(void))
{
	pid_t pid = fork_child();

	while (!pid) {
		gate_wait(go);
		work();
		gate_open(back);
	}
	return pid;
}

/* Takes turns with such a child: @turns times its work, then @work. */
static inline void take_turns(struct gate *go, struct gate *back, unsigned int turns,
			      void (*work)(void))
{
	while (turns--) {
		gate_open(go);
		gate_wait(back);
		work();
	}
}

/* Waits until /proc/PID/stat shows the process asleep: it has then left its CPU. */
static inline void wait_until_asleep(pid_t pid)
{
	char path[32], text[512], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		usleep(1000);
		fd = MUST(open(path, O_RDONLY | O_CLOEXEC));
		n = MUST(read(fd, text, sizeof(text) - 1));
		close(fd);
		text[n] = 0;
		state = strrchr(text, ')');
	} while (!state || state[1] != ' ' || state[2] != 'S');
}

#endif /* PERF_TEST_PROCESSES_H */
