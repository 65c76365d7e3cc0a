// SPDX-License-Identifier: GPL-2.0
/*
 * exec against other operations on a group that it removes: siblings are opened, read and closed,
 * and the whole group is read.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <poll.h>
#include <time.h>

#define SECONDS		4
#define SIBLINGS	20

static void exec_again(void)
{
	execl("/proc/self/exe", "regress_exec", "exec-again", NULL);
	_exit(1);
}

static pid_t execing_child(void)
{
	pid_t pid = fork_child();

	if (!pid)
		exec_again();
	return pid;
}

/* Of the task that execs; every other sibling moves the group to the counters' PMU. */
static int open_member(pid_t pid, unsigned int nr, int leader)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	if (nr % 2 && event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	attr.disabled = 0;
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	attr.remove_on_exec = leader < 0 || nr % 3 == 0;
	return perf_open(&attr, pid, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/*
 * Siblings until an exec has removed the leader, or there are enough. The refusal is ENODEV; EINVAL
 * is that of a counter that does not fit. Returns the number opened.
 */
static unsigned int open_group(pid_t pid, unsigned int round, unsigned int *removed,
			       unsigned int *wrong)
{
	uint64_t room[3 + SIBLINGS + 1];
	int fd[SIBLINGS + 1];
	unsigned int nr;

	fd[0] = open_member(pid, 0, -1);
	if (fd[0] < 0)
		return 0;
	for (nr = 1; nr <= SIBLINGS; nr++) {
		fd[nr] = open_member(pid, nr, fd[0]);
		if (fd[nr] < 0 && errno == ENODEV)
			++*removed;
		else if (fd[nr] < 0 && errno != EINVAL)
			++*wrong;
		if (fd[nr] < 0)
			break;
		read(fd[nr / 2], room, sizeof(room));
	}
	for (unsigned int i = 0; i < nr; i++)
		close(fd[(i + round) % nr]);
	return nr;
}

static bool siblings_while_leader_is_removed(void)
{
	uint64_t end = monotonic_ns() + SECONDS * NSEC_PER_SEC;
	unsigned int opened = 0, removed = 0, wrong = 0;
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	pid_t pid = execing_child();
	int fd;

	for (unsigned int round = 0; monotonic_ns() < end; round++)
		opened += open_group(pid, round, &removed, &wrong);
	kill_child(pid);
	fault_pages(10);
	fd = open_self(&attr, -1);
	fault_pages(10);
	return expect_between("events opened", opened, 100, UINT64_MAX) &
	       expect_between("leaders removed in between", removed, 10, UINT64_MAX) &
	       expect_eq("opens that failed for another reason", wrong, 0) &
	       expect_between("faults counted afterwards", perf_count(fd), 10, 13);
}

#define CHILDREN	8	/* that exec at the same time */

/* Children that have inherited all of the group exec while it is read; none of them forks then. */
static bool read_while_children_exec(int leader, unsigned int *readings)
{
	uint64_t words[8], last[2] = { 0, 0 };
	struct gate go = gate_new(), ready = gate_new();
	unsigned int failed = 0, back = 0, left = CHILDREN;
	int status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			fault_pages(3);
			gate_open(&ready);
			gate_wait(&go);
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
	}
	for (int i = 0; i < CHILDREN; i++)
		gate_wait(&ready);
	for (int i = 0; i < CHILDREN; i++)
		gate_open(&go);
	while (left) {
		if (read(leader, words, sizeof(words)) < 0) {
			failed += errno == ECHILD;
		} else {
			back += words[1] < last[0] || words[2] < last[1];
			memcpy(last, &words[1], sizeof(last));
			++*readings;
		}
		while (waitpid(-1, &status, WNOHANG) > 0)
			left--;
	}
	return expect_eq("readings that failed with ECHILD", failed, 0) &
	       expect_eq("readings with a lower count than before", back, 0);
}

static bool group_while_children_exec(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	unsigned int readings = 0;
	bool good = true;
	int leader;

	attr.inherit = 1;
	attr.remove_on_exec = 1;
	attr.read_format = PERF_FORMAT_GROUP;
	leader = open_self(&attr, -1);
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	open_self(&attr, leader);
	for (int round = 0; good && round < 30; round++)
		good &= read_while_children_exec(leader, &readings);
	return good & expect_between("readings", readings, 100, UINT64_MAX);
}

/*
 * A sibling that exec removes: poll() returns, and the times do not contain what the removed event
 * would have been enabled for outside of its group: the leader is disabled.
 */
static bool removal_is_reported(void)
{
	struct perf_event_attr leader = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr sibling = leader;
	struct gate go = gate_new();
	struct timed_count t;
	uint64_t start;
	struct pollfd p;
	bool good;
	pid_t pid;
	int fd;

	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		spin_ms(20);
		usleep(200000);
		execl("/proc/self/exe", "regress_exec", "wait", NULL);
		_exit(1);
	}
	leader.disabled = 1;
	fd = MUST(perf_open(&leader, pid, -1, -1, PERF_FLAG_FD_CLOEXEC));
	sibling.remove_on_exec = 1;
	sibling.read_format = FORMAT_TIMES;
	p.fd = MUST(perf_open(&sibling, pid, -1, fd, PERF_FLAG_FD_CLOEXEC));
	p.events = POLLIN;
	if (mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, p.fd, 0) == MAP_FAILED)
		fail_case("mmap");
	gate_open(&go);
	start = monotonic_ns();
	good = expect_eq("poll()", poll(&p, 1, 20000), 1) &&
	       expect_eq("its answer", p.revents & POLLHUP, POLLHUP) &&
	       expect_between("ns in poll(), which looks again at its end", monotonic_ns() - start,
			      0, 10 * NSEC_PER_SEC);
	kill_child(pid);
	t = read_timed_count(p.fd);
	return good & expect_eq("time enabled", t.enabled, 0) &
	       expect_eq("time running", t.running, 0);
}

#define MANY_PAGES	16384

static void on_signal(int sig)
{
	(void)sig;
}

/* A task with an exec that takes some time, in which its memory is freed. */
static pid_t slow_exec(struct gate *ready)
{
	size_t size = MANY_PAGES * sysconf(_SC_PAGESIZE);
	pid_t pid = fork_child();
	char *p;

	if (pid)
		return pid;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		_exit(1);
	madvise(p, size, MADV_NOHUGEPAGE);
	memset(p, 1, size);
	gate_open(ready);
	execl("/proc/self/exe", "regress_exec", "wait", NULL);
	_exit(1);
}

/* An open waits while its task execs. A signal to the caller ends the wait. */
static bool open_is_interrupted(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec each_ms = { { .tv_nsec = 1000000 }, { .tv_nsec = 1000000 } };
	struct sigaction action = { .sa_handler = on_signal };
	unsigned int interrupted = 0, other = 0;
	struct gate ready = gate_new();
	timer_t timer;

	require_cpus(2);
	MUST(sigaction(SIGUSR1, &action, NULL));
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	for (int round = 0; round < 20 && !interrupted; round++) {
		pid_t pid = slow_exec(&ready);
		uint64_t end;

		gate_wait(&ready);
		MUST(timer_settime(timer, 0, &each_ms, NULL));
		for (end = monotonic_ns() + NSEC_PER_SEC; monotonic_ns() < end && !interrupted;) {
			int fd = perf_open(&attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

			interrupted += fd < 0 && errno == EINTR;
			other += fd < 0 && errno != EINTR;
			close(fd);
		}
		MUST(timer_settime(timer, 0, &(struct itimerspec){}, NULL));
		kill_child(pid);
	}
	return expect_eq("opens that a signal has interrupted", interrupted, 1) &
	       expect_eq("other errors", other, 0);
}

static const struct test tests[] = {
	{ "a signal interrupts an open that waits for exec: EINTR", open_is_interrupted },
	{ "poll() reports a sibling that exec removes", removal_is_reported },
	{ "a group is read while its children exec", group_while_children_exec },
	{ "siblings are opened while exec removes their leader", siblings_while_leader_is_removed },
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "exec-again"))
		exec_again();
	if (argc > 1 && !strcmp(argv[1], "wait"))
		pause();
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
