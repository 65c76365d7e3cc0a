// SPDX-License-Identifier: GPL-2.0
/*
 * A program that is measured with Debian's perf: the shares of its functions, its calls, switches
 * and contention are known. It keeps its symbols in the guest. Usage: hot WHAT [N]; see main().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hot.h"

NOINLINE void hot_a(unsigned long n)
{
	loop(3 * n);
	STAY();
}

NOINLINE void hot_b(unsigned long n)
{
	loop(n);
	STAY();
}

NOINLINE void inner(unsigned long n)
{
	hot_a(n);
	STAY();
}

NOINLINE void outer(unsigned long n)
{
	inner(n);
	STAY();
}

/* 8 @n instructions: 3/4 in outer() -> inner() -> hot_a(), 1/4 in hot_b(). */
NOINLINE void round_of_both(unsigned long n)
{
	outer(n);
	hot_b(n);
	STAY();
}

/*
 * 8000 instructions each, on average of 100. One differs from the next: samples at equal distances,
 * as those of a clock under the emulator's -icount, would all be at a few places of equal rounds.
 */
NOINLINE void rounds(unsigned long n)
{
	while (n--)
		round_of_both(109 + 18 * (37 * n % 100));
	STAY();
}

/* The function for uprobes. */
NOINLINE long probed(long value)
{
	asm volatile("" : "+r" (value) : : "memory");
	return value + 1;
}

static unsigned long count;

static void *only_a(void *unused)
{
	prctl(PR_SET_NAME, "thread_a");
	for (unsigned long i = 0; i < count; i++)
		hot_a(1000);
	return unused;
}

static void *only_b(void *unused)
{
	prctl(PR_SET_NAME, "thread_b");
	for (unsigned long i = 0; i < count; i++)
		hot_b(3000);
	return unused;
}

/* Two threads of equal work. */
static void threads(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, only_a, NULL);
	pthread_create(&b, NULL, only_b, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A byte to the other task and back: each task sleeps once a round. */
static void ping_pong(void)
{
	int to[2], back[2];
	char byte = 0;

	if (pipe(to) || pipe(back))
		exit(1);
	pin_to_cpu(0);
	if (!fork()) {
		prctl(PR_SET_NAME, "pong");
		for (unsigned long i = 0; i < count; i++)
			if (read(to[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	prctl(PR_SET_NAME, "ping");
	for (unsigned long i = 0; i < count; i++)
		if (write(to[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
	wait(NULL);
}

/* Both threads take the write lock of the address space all the time. */
static void *map_and_unmap(void *unused)
{
	for (unsigned long i = 0; i < count; i++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*p = 1;
		munmap(p, 1 << 20);
	}
	return unused;
}

static void contend(void)
{
	pthread_t other;

	pthread_create(&other, NULL, map_and_unmap, NULL);
	map_and_unmap(NULL);
	pthread_join(other, NULL);
}

/* Runs until a file of this name exists, so that perf can attach and detach meanwhile. */
static void until(const char *file)
{
	while (access(file, F_OK))
		rounds(100);
}

static void system_calls(void)
{
	char word[4];
	int fd = open("/proc/self/comm", O_RDONLY);

	for (unsigned long i = 0; i < count; i++) {
		syscall(SYS_getppid);
		if (i % 2)
			pread(fd, word, 3, 0);
	}
	close(fd);
}

static bool is(const char *what, const char *name)
{
	return !strcmp(what, name);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long sum = 0;

	count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	if (is(what, "rounds"))		/* N times 8000 instructions */
		rounds(count);
	else if (is(what, "threads"))	/* thread_a and thread_b, N times 6000 instructions each */
		threads();
	else if (is(what, "until"))	/* as "rounds", until the file exists */
		until(argv[2]);
	else if (is(what, "calls"))	/* N of getppid(), N / 2 of pread() of three bytes */
		system_calls();
	else if (is(what, "probed"))	/* probed(0) to probed(N - 1) */
		for (unsigned long i = 0; i < count; i++)
			sum += probed(i);
	else if (is(what, "pingpong"))	/* N bytes to and fro between "ping" and "pong" */
		ping_pong();
	else if (is(what, "contend"))	/* N times mmap and munmap in two threads */
		contend();
	else
		return 2;
	return sum < 0;
}
