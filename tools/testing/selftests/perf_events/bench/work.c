// SPDX-License-Identifier: GPL-2.0
/*
 * The loops. A round runs over several timer ticks where it can, so that what an operation leaves
 * to RCU, softirqs or a rotation timer is in the figure. System calls are made without libc's
 * wrappers where those do more than enter the kernel.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "bench.h"

#define FAULT_PAGES	256
#define SPIN		1000000		/* instructions of one spin operation */

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

/* The other task of a switch: sends back each byte it gets. */
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
 * What RCU has still to free goes from one round to the next: long rounds, and not many. A turn's
 * figure differs by some hundred instructions from the next one's: many turns.
 */
const struct work work_fork_exit = {
	.rounds = 1, .ops = 1500, .round = fork_exit_round, .turns = 24,
};

static bool fault_setup(struct run *run)
{
	run->area = mmap(NULL, FAULT_PAGES * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (run->area == MAP_FAILED)
		return run_failed(run, "mmap");
	/* One fault a page, whatever the base's huge page policy. */
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

static void fault_teardown(struct run *run)
{
	munmap(run->area, FAULT_PAGES * sysconf(_SC_PAGESIZE));
}

const struct work work_fault = {
	.rounds = 41, .ops = FAULT_PAGES,
	.setup = fault_setup, .prepare = fault_prepare, .round = fault_round,
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

/* SPIN instructions: the counter's two or three and the loop's two each. */
static void spin(void)
{
	unsigned long n = SPIN / 2;

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
		spin();
	return true;
}

/* A round is ten ticks or rotations. */
const struct work work_spin = { .rounds = 32, .ops = 40, .round = spin_round };

const struct work work_overflow = { .rounds = 5, .ops = 40, .round = spin_round };
