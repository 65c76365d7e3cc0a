/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work for the events of compare.c: of a known number of page faults, system calls and stores, by
 * the process of the case or by its helper, a process that takes commands from a pipe.
 */
#ifndef PERF_TEST_COMPARE_WORK_H
#define PERF_TEST_COMPARE_WORK_H

#include "compare_attr.h"

#include <sys/prctl.h>

#define COMPARE_HELPER	"--helper"	/* argument of the program: it is a helper after exec */
#define COMPARE_WORKER	"--worker"	/* argument of the program: work and exit */

/* Commands to the helper, one byte each. */
enum {
	HELPER_WORK	= 'w',
	HELPER_EXEC	= 'e',
	HELPER_FORK	= 'f',
	HELPER_RENAME	= 'n',
	HELPER_MAP	= 'm',
	HELPER_EXIT	= 'x',
	HELPER_NOTHING	= '0',
};

/* Descriptors of the helper's ends of its pipes; fixed, so that they survive its exec. */
#define HELPER_COMMANDS	60
#define HELPER_ANSWERS	61

static int helper_to = -1, helper_from = -1;
static bool helper_exited;

/* Signals of events that have arrived. */
static volatile unsigned int compare_signals;

/* Too many signals would leave the case no time for anything else. */
static void compare_count_signal(int number __maybe_unused)
{
	if (++compare_signals == 100)
		prctl(PR_TASK_PERF_EVENTS_DISABLE);
}

static void compare_spin(unsigned int loops)
{
	while (loops--)
		__asm__ volatile("" ::: "memory");
}

/*
 * 3 calls of getppid, a call of what uprobes probe, a store to each watched word, 3 page faults
 * after the first call, and some instructions.
 */
static void compare_work(void)
{
	static char *pages;
	unsigned int i;

	if (!pages)
		pages = mmap(NULL, 3 * COMPARE_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 3; i++)
		syscall(__NR_getppid);
	compare_probed();
	for (i = 0; i < ARRAY_SIZE(compare_watched); i++)
		compare_watched[i]++;
	for (i = 0; i < 3; i++)
		pages[i * COMPARE_PAGE] = 1;
	madvise(pages, 3 * COMPARE_PAGE, MADV_DONTNEED);
	compare_spin(30000);
}

/* A child that works, perhaps as a new program, until it has ended. */
static void compare_work_in_child(bool exec)
{
	pid_t pid = fork();

	if (!pid) {
		if (exec)
			execl("/proc/self/exe", "compare", COMPARE_WORKER, NULL);
		compare_work();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void helper_map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, COMPARE_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	if (p != MAP_FAILED)
		munmap(p, COMPARE_PAGE);
}

/* Runs commands until the pipe has no writer. */
static __noreturn void helper_run(void)
{
	char command;

	while (read(HELPER_COMMANDS, &command, 1) == 1) {
		switch (command) {
		case HELPER_WORK:
			compare_work();
			break;
		case HELPER_EXEC:
			execl("/proc/self/exe", "compare", COMPARE_HELPER, NULL);
			break;
		case HELPER_FORK:
			compare_work_in_child(false);
			break;
		case HELPER_RENAME:
			prctl(PR_SET_NAME, "renamed");
			break;
		case HELPER_MAP:
			helper_map_file();
			break;
		case HELPER_EXIT:
			_exit(0);
		}
		if (write(HELPER_ANSWERS, &command, 1) != 1)
			break;
	}
	_exit(0);
}

static bool helper_do(char command);

/* The helper waits for commands when this returns. */
static void helper_start(void)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		_exit(1);
	compare.helper = fork();
	if (!compare.helper) {
		dup2(to[0], HELPER_COMMANDS);
		dup2(from[1], HELPER_ANSWERS);
		close(to[1]);
		close(from[0]);
		helper_run();
	}
	close(to[0]);
	close(from[1]);
	helper_to = to[1];
	helper_from = from[0];
	helper_do(HELPER_NOTHING);
}

/*
 * Sends a command to the helper; true when it is done. The program after exec is a new one. After
 * its exit the helper is reaped, so that its events are no task's events.
 */
static bool helper_do(char command)
{
	char answer;

	if (write(helper_to, &command, 1) != 1)
		return false;
	if (command == HELPER_EXIT) {
		helper_exited = true;
		return waitpid(compare.helper, NULL, 0) == compare.helper;
	}
	if (command == HELPER_EXEC) {
		command = HELPER_WORK;
		if (write(helper_to, &command, 1) != 1)
			return false;
	}
	if (read(helper_from, &answer, 1) != 1)
		return false;
	/* It waits for the next command before its events are looked at: also on a debug kernel. */
	usleep(1000);
	return true;
}

#endif /* PERF_TEST_COMPARE_WORK_H */
