// SPDX-License-Identifier: GPL-2.0
/*
 * The loops. A round runs over several timer ticks where possible, so that work that an operation
 * leaves to RCU, softirqs or a rotation timer is in the figure. System calls are made without
 * wrappers of libc that do more than enter the kernel.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "bench.h"

#define FAULT_PAGES	256
#define FAULT_FEW	8		/* records of 32 KiB fit into the ring buffer */
#define DEEP		(40 * 1024)	/* bytes of stack: more than a sample takes */
#define SPIN		1000000		/* instructions of one spin operation */
#define INHERITED	100		/* children of an inherited event */

static bool getppid_round(struct run *run, unsigned int ops)
{
	while (ops--)
		syscall(SYS_getppid);
	return true;
}

const struct work work_getppid = { .rounds = 5, .ops = 20000, .round = getppid_round };

static bool open_close_round(struct run *run, unsigned int ops)
{
	int fd;

	while (ops--) {
		if (!events_open_one(run, &fd))
			return false;
		close(fd);
	}
	return true;
}

const struct work work_open_close = {
	.rounds = 5, .ops = 3000, .round = open_close_round, .opens = true,
};

static bool open_reject_round(struct run *run, unsigned int ops)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = 0x7fffffff };

	while (ops--) {
		if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) != -1)
			return run_failed(run, "an unknown type was accepted");
	}
	return errno == ENOENT || run_failed(run, "open of an unknown type");
}

const struct work work_open_reject = { .rounds = 5, .ops = 5000, .round = open_reject_round };

static bool read_round(struct run *run, unsigned int ops)
{
	uint64_t value[64];
	int fd = run->fd[0];

	while (ops--) {
		if (read(fd, value, sizeof(value)) < 24)
			return run_failed(run, "read");
	}
	return true;
}

const struct work work_read = { .rounds = 5, .ops = 10000, .round = read_round };

static bool toggle_round(struct run *run, unsigned int ops)
{
	int fd = run->fd[0];

	while (ops--) {
		if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			return run_failed(run, "ioctl");
	}
	return true;
}

const struct work work_toggle = { .rounds = 5, .ops = 5000, .round = toggle_round };

/* As work_toggle, of the first event's group. */
static bool toggle_group_round(struct run *run, unsigned int ops)
{
	int fd = run->fd[0];

	while (ops--) {
		if (ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP))
			return run_failed(run, "ioctl of a group");
	}
	return true;
}

const struct work work_toggle_group = { .rounds = 5, .ops = 2000, .round = toggle_group_round };

/* Long periods: no sample is due. */
static bool period_round(struct run *run, unsigned int ops)
{
	uint64_t period;

	while (ops--) {
		period = run->row->events.period + ops % 2;
		if (ioctl(run->fd[0], PERF_EVENT_IOC_PERIOD, &period))
			return run_failed(run, "PERIOD");
	}
	return true;
}

const struct work work_period = { .rounds = 5, .ops = 2000, .round = period_round };

static bool poll_round(struct run *run, unsigned int ops)
{
	static struct pollfd polled[POLLED];
	struct timespec at_once = { 0 };
	int i;

	for (i = 0; i < run->nr_fds; i++)
		polled[i] = (struct pollfd) { .fd = run->fd[i], .events = POLLIN };
	while (ops--) {
		if (syscall(SYS_ppoll, polled, run->nr_fds, &at_once, NULL, 0))
			return run_failed(run, "an event that has no records is ready");
	}
	return true;
}

const struct work work_poll = { .rounds = 5, .ops = 200, .round = poll_round };

/* The events are open by now: the children inherit them. */
static bool inherit_prepare(struct run *run)
{
	unsigned int i;
	char byte;

	if (run->to_peer[1])
		return true;
	if (pipe(run->to_peer))
		return run_failed(run, "pipe");
	for (i = 0; i < INHERITED; i++) {
		run->peer = fork();
		if (run->peer < 0)
			return run_failed(run, "fork");
		if (!run->peer) {
			close(run->to_peer[1]);
			_exit(read(run->to_peer[0], &byte, 1));
		}
	}
	/* All children wait. */
	usleep(100000);
	return true;
}

static void inherit_teardown(struct run *run)
{
	close(run->to_peer[0]);
	close(run->to_peer[1]);
	while (wait(NULL) > 0)
		;
}

const struct work work_read_inherited = {
	.rounds = 5, .ops = 200,
	.prepare = inherit_prepare, .round = read_round, .teardown = inherit_teardown,
};

static bool call_round(struct run *run, unsigned int ops)
{
	while (ops--)
		probe_called();
	return true;
}

const struct work work_call = { .rounds = 5, .ops = 2000, .round = call_round };

static bool store_round(struct run *run, unsigned int ops)
{
	while (ops--)
		probe_stored = ops;
	return true;
}

const struct work work_store = { .rounds = 5, .ops = 2000, .round = store_round };

/* The other task of a switch: sends back each byte that it reads. */
static void peer_loop(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(0);
}

static bool switch2_join_cgroups(struct run *run)
{
	if (!run->row->events.cgroups)
		return true;
	return (guest_join_cgroup(getpid(), 0) && guest_join_cgroup(run->peer, 1)) ||
		run_failed(run, "cgroup.procs");
}

static bool switch2_setup(struct run *run)
{
	if (pipe(run->to_peer) || pipe(run->from_peer))
		return run_failed(run, "pipe");
	run->peer = fork();
	if (run->peer < 0)
		return run_failed(run, "fork");
	if (!run->peer) {
		close(run->to_peer[1]);
		close(run->from_peer[0]);
		peer_loop(run->to_peer[0], run->from_peer[1]);
	}
	close(run->to_peer[0]);
	close(run->from_peer[1]);
	return switch2_join_cgroups(run);
}

static bool switch2_round(struct run *run, unsigned int ops)
{
	int out = run->to_peer[1], in = run->from_peer[0];
	char byte = 0;

	while (ops--) {
		if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
			return run_failed(run, "pipe to the peer");
	}
	return true;
}

static void switch2_teardown(struct run *run)
{
	if (!run->peer)
		return;
	close(run->to_peer[1]);
	waitpid(run->peer, NULL, 0);
	close(run->from_peer[0]);
	if (run->row->events.cgroups)
		guest_join_cgroup(getpid(), MAX_CGROUPS);
}

const struct work work_switch2 = {
	.rounds = 5, .ops = 1500,
	.setup = switch2_setup, .round = switch2_round, .teardown = switch2_teardown,
};

static bool fork_exit_round(struct run *run, unsigned int ops)
{
	while (ops--) {
		pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			syscall(SYS_exit_group, 0);
		if (pid < 0 || syscall(SYS_wait4, pid, NULL, 0, NULL) != pid)
			return run_failed(run, "fork");
	}
	return true;
}

/*
 * Memory that waits for RCU is freed in the next round: few long rounds. Figures of two turns
 * differ by some hundred instructions: many turns.
 */
const struct work work_fork_exit = {
	.rounds = 1, .ops = 1500, .round = fork_exit_round, .turns = 24,
};

/* A child that calls execve() when its parent has closed the pipe. */
static void exec_child(int in)
{
	static char *const argv[] = { "bench", "--exit", NULL };
	char byte;

	if (!read(in, &byte, 1))
		syscall(SYS_execve, "/proc/self/exe", argv, NULL);
	_exit(1);
}

static bool exec_once(struct run *run)
{
	bool opens = run->row->work->opens, ok;
	int pipes[2], status;
	pid_t pid;

	if (pipe(pipes))
		return run_failed(run, "pipe");
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		return run_failed(run, "fork");
	if (!pid) {
		close(pipes[1]);
		exec_child(pipes[0]);
	}
	ok = !opens || events_open_target(run, pid);
	close(pipes[0]);
	close(pipes[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		return run_failed(run, "exec");
	ok = ok && (!opens || events_check(run));
	if (opens)
		events_close(run);
	return ok;
}

static bool exec_round(struct run *run, unsigned int ops)
{
	while (ops--) {
		if (!exec_once(run))
			return false;
	}
	return true;
}

const struct work work_exec = { .rounds = 1, .ops = 60, .round = exec_round, .turns = 8 };

/* The events are the child's. */
const struct work work_exec_enable = {
	.rounds = 1, .ops = 60, .round = exec_round, .turns = 8, .opens = true,
};

static bool fault_setup(struct run *run)
{
	run->area = mmap(NULL, FAULT_PAGES * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (run->area == MAP_FAILED)
		return run_failed(run, "mmap");
	/* One fault a page, whatever the huge page policy of the base is. */
	madvise(run->area, FAULT_PAGES * sysconf(_SC_PAGESIZE), MADV_NOHUGEPAGE);
	return true;
}

static bool fault_prepare(struct run *run)
{
	return !madvise(run->area, FAULT_PAGES * sysconf(_SC_PAGESIZE), MADV_DONTNEED) ||
		run_failed(run, "madvise");
}

static bool fault_round(struct run *run, unsigned int ops)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int i;

	for (i = 0; i < ops; i++)
		*(volatile char *)(run->area + i * page) = 1;
	return true;
}

/* Calls fault_round() with more stack above than a sample takes. */
static bool fault_deep_round(struct run *run, unsigned int ops)
{
	volatile char stack[DEEP];
	size_t at;
	bool ok;

	for (at = 0; at < sizeof(stack); at += 4096)
		stack[at] = 1;
	ok = fault_round(run, ops);
	stack[0] = ok;
	return stack[0];
}

static bool fault_deep_prepare(struct run *run)
{
	/* The pages of the stack exist before the first fault is counted. */
	return fault_deep_round(run, 0) && fault_prepare(run);
}

static void fault_teardown(struct run *run)
{
	munmap(run->area, FAULT_PAGES * sysconf(_SC_PAGESIZE));
}

const struct work work_fault = {
	.rounds = 41, .ops = FAULT_PAGES,
	.setup = fault_setup, .prepare = fault_prepare, .round = fault_round,
	.teardown = fault_teardown,
};

const struct work work_fault_few = {
	.rounds = 41, .ops = FAULT_FEW,
	.setup = fault_setup, .prepare = fault_prepare, .round = fault_round,
	.teardown = fault_teardown,
};

const struct work work_fault_deep = {
	.rounds = 41, .ops = FAULT_FEW,
	.setup = fault_setup, .prepare = fault_deep_prepare, .round = fault_deep_round,
	.teardown = fault_teardown,
};

static bool mmap_exec_round(struct run *run, unsigned int ops)
{
	size_t page = sysconf(_SC_PAGESIZE);

	while (ops--) {
		void *at = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		if (at == MAP_FAILED || munmap(at, page))
			return run_failed(run, "mmap");
	}
	return true;
}

const struct work work_mmap_exec = { .rounds = 5, .ops = 2000, .round = mmap_exec_round };

/* Two instructions for each pass of the loop. */
void spin(unsigned long instructions)
{
	unsigned long n = instructions / 2;

#if defined(__aarch64__)
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r" (n) : : "cc");
#elif defined(__x86_64__)
	asm volatile("1: dec %0\n\tjnz 1b" : "+r" (n) : : "cc");
#else
#error "spin() needs this architecture's loop"
#endif
}

static bool spin_round(struct run *run, unsigned int ops)
{
	while (ops--)
		spin(SPIN);
	return true;
}

/* A round is ten ticks or rotations. */
const struct work work_spin = { .rounds = 32, .ops = 40, .round = spin_round };

const struct work work_overflow = { .rounds = 5, .ops = 40, .round = spin_round };

/* Records that the processor keeps become samples when the event is read. */
static bool spin_read_round(struct run *run, unsigned int ops)
{
	return spin_round(run, ops) && (!run->nr_fds || read_round(run, 1));
}

const struct work work_overflow_batch = { .rounds = 5, .ops = 40, .round = spin_read_round };
