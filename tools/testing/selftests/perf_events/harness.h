/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The harness of these tests. A test file is one program with one table of cases:
 *
 *	static bool period_of_ten(void)
 *	{
 *		...
 *		return expect_eq("samples of 100 faults", samples, 10);
 *	}
 *
 *	static const struct test tests[] = {
 *		{ "a period of 10 takes one sample in 10 faults", period_of_ten },
 *	};
 *
 *	TESTS_MAIN(tests)
 *
 * Each case runs in a process of its own, is ended after CASE_SECONDS and prints one KTAP line with
 * its name. A case passes if its function returns true, fails if it returns false, leaves by
 * fail_case() or dies, and is skipped if it leaves by skip_case(). Children that a case leaves
 * behind are killed.
 *
 *	program [-v] [-l] [part of a name]	run the cases, or those with this part in the name
 *		-v	print each comparison that holds, too
 *		-l	print the names and run nothing
 *
 * The other headers, each for one subject:
 *
 *	expect.h	comparisons, which print what they found
 *	files.h		files of one line, sysctls
 *	events.h	attributes, opening, counting, PMUs
 *	readings.h	read() in each read_format
 *	workloads.h	work of known size: instructions, faults, system calls, time
 *	processes.h	children and their synchronization
 *	require.h	what a case needs of the machine, or else is skipped
 *	records.h	the ring buffer, records and samples
 *	bpf_prog.h	BPF programs
 *	memlock.h	accounting of locked memory
 */
#ifndef PERF_TEST_HARNESS_H
#define PERF_TEST_HARNESS_H

#include "ktap.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/**
 * struct test - one case
 * @name: what the case shows, in a few words; unique in the program
 * @run: runs the case; returns true if it shows that
 */
struct test {
	const char	*name;
	bool		(*run)(void);
};

#define CASE_SKIPPED	77	/* exit status of a case's process */
#define CASE_SECONDS	240	/* of the guest's clock, for one case on a debug kernel */

/* Why the case that is running is skipped; shared by the processes of all cases. */
static char (*test_skip_reason)[120];

/*
 * Comparisons that hold are printed, too. Not in shared memory: its first access in a new process
 * is a page fault that a case might count.
 */
static bool test_verbose;

/* Leaves the case that is running: this machine or kernel cannot run it. */
static inline __noreturn void skip_case(const char *why)
{
	snprintf(*test_skip_reason, sizeof(*test_skip_reason), "%s", why);
	fflush(stdout);
	_exit(CASE_SKIPPED);
}

/* Leaves the case that is running: something failed that it needs but does not test. */
static inline __noreturn void fail_case(const char *what)
{
	ktap_note("%s: %s", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static inline long must_succeed(long ret, const char *call)
{
	if (ret < 0)
		fail_case(call);
	return ret;
}

/* The result of a call that the case needs but does not test; fails the case if it is negative. */
#define MUST(call)	must_succeed((call), #call)

/* A number of the environment, which has the kernel parameters that the kernel does not know. */
static inline uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

/*
 * Maps all of the process's memory. fork() leaves text unmapped in the child; faults on it would
 * add to those that a case counts.
 */
static inline void test_prefault(void)
{
	if (!mlockall(MCL_CURRENT))
		munlockall();
}

static inline void test_run_row(const char *name, const void *row, bool (*run)(const void *row),
				void (*setup)(void))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		ktap_bail_out("fork");
	if (!pid) {
		bool good;

		setpgid(0, 0);
		alarm(CASE_SECONDS);
		test_prefault();
		if (setup)
			setup();
		good = run(row);
		fflush(stdout);
		_exit(!good);
	}
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status))
		ktap_note("ended by signal %d", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIPPED)
		ktap_skip(name, *test_skip_reason);
	else
		ktap_result(WIFEXITED(status) && !WEXITSTATUS(status), name);
}

/**
 * run_rows - run the cases of a table that the command line selects
 * @rows: table; the first member of a row is the name of its case, a const char *
 * @nr: number of rows
 * @size: bytes of a row
 * @run: runs the case of a row; returns true if it passes
 * @setup: runs before @run, in the process of the case, and may skip or fail the case; or NULL
 * @argc: of main()
 * @argv: of main()
 *
 * Return: the exit status of the program.
 */
static inline int run_rows(const void *rows, unsigned int nr, size_t size,
			   bool (*run)(const void *row), void (*setup)(void), int argc, char **argv)
{
	bool list = false;
	int option;

	test_skip_reason = mmap(NULL, sizeof(*test_skip_reason), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (test_skip_reason == MAP_FAILED)
		ktap_bail_out("mmap");
	while ((option = getopt(argc, argv, "lv")) != -1) {
		list |= option == 'l';
		test_verbose |= option == 'v';
		if (option == '?')
			return 2;
	}
	if (!list)
		ktap_start();
	for (const char *row = rows; nr--; row += size) {
		const char *name = *(const char * const *)row;

		if (optind < argc && !strstr(name, argv[optind]))
			continue;
		if (list)
			printf("%s\n", name);
		else
			test_run_row(name, row, run, setup);
	}
	return list ? 0 : ktap_finish();
}

static inline bool test_run(const void *row)
{
	return ((const struct test *)row)->run();
}

/* run_rows() for a table of struct test. */
static inline int run_tests_setup(const struct test *tests, unsigned int nr, void (*setup)(void),
				  int argc, char **argv)
{
	return run_rows(tests, nr, sizeof(*tests), test_run, setup, argc, argv);
}

static inline int run_tests(const struct test *tests, unsigned int nr, int argc, char **argv)
{
	return run_tests_setup(tests, nr, NULL, argc, argv);
}

#define TESTS_MAIN_SETUP(tests, setup)							\
int main(int argc, char **argv)								\
{											\
	return run_tests_setup(tests, ARRAY_SIZE(tests), setup, argc, argv);		\
}

#define TESTS_MAIN(tests)	TESTS_MAIN_SETUP(tests, NULL)

/* A program with nothing to run where it is compiled for; @why: the reason of the skip. */
#define TESTS_MAIN_SKIPPED(name, why)							\
int main(void)										\
{											\
	ktap_start();									\
	ktap_skip(name, why);								\
	return ktap_finish();								\
}

#endif /* PERF_TEST_HARNESS_H */
