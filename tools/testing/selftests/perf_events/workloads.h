/* SPDX-License-Identifier: GPL-2.0 */
/* Work of known size: instructions, branches, system calls, page faults, CPU time. */
#ifndef PERF_TEST_WORKLOADS_H
#define PERF_TEST_WORKLOADS_H

#include "events.h"
#include "harness.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#define NSEC_PER_SEC	1000000000ull

/*
 * Time
 */

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. */
static inline uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Context switches of the calling thread, as the scheduler counts them. */
static inline uint64_t thread_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/*
 * Instructions
 */

/* Instructions that the loop of run_loop(n) retires. */
#define LOOP_INSNS(n)		(2 * (uint64_t)(n))
/* Branches among them; all are taken but the last. */
#define LOOP_BRANCHES(n)	((uint64_t)(n))

/* @n > 0 rounds of two instructions: nothing else, no memory access, no call. */
static inline void run_loop(unsigned long n)
{
#if defined(__aarch64__)
	asm volatile("1: subs %0, %0, #1; b.ne 1b" : "+r" (n) : : "cc");
#else
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
#endif
}

/* Uses @ns of CPU time of the calling thread, however often it is preempted. */
static inline void spin_ns(uint64_t ns)
{
	uint64_t end = thread_cpu_ns() + ns;

	while (thread_cpu_ns() < end)
		run_loop(1000);
}

static inline void spin_ms(unsigned int ms)
{
	spin_ns(ms * 1000000ull);
}

/* Returns 0, or -1 and errno. */
static inline int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* Time of the shortest of some run_loop(@n), ns: in the others the CPU does other work, too. */
static inline uint64_t shortest_loop_ns(unsigned long n)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t begin = monotonic_ns(), ns;

		run_loop(n);
		ns = monotonic_ns() - begin;
		if (ns < shortest)
			shortest = ns;
	}
	return shortest;
}

/*
 * System calls
 */

/* A system call without the instructions of the C library around it; returns -errno on failure. */
static __always_inline long raw_syscall(long nr, long a, long b, long c)
{
#if defined(__x86_64__)
	long ret;

	asm volatile("syscall" : "=a" (ret) : "a" (nr), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 asm("x8") = nr;
	register long x0 asm("x0") = a;
	register long x1 asm("x1") = b;
	register long x2 asm("x2") = c;

	asm volatile("svc 0" : "+r" (x0) : "r" (x8), "r" (x1), "r" (x2) : "memory", "cc");
	return x0;
#else
	long ret;

	asm volatile("int $0x80" : "=a" (ret) : "a" (nr), "b" (a), "c" (b), "d" (c) : "memory");
	return ret;
#endif
}

/* A system call that does next to nothing. */
static __always_inline void short_syscall(void)
{
	raw_syscall(__NR_getppid, 0, 0, 0);
}

/* Enables the event, runs the loop, disables it: a few instructions more than the loop. */
static inline void count_loop(int fd, unsigned long n, unsigned long flags)
{
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, flags);
	run_loop(n);
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_DISABLE, flags);
}

/*
 * Page faults
 */

/* Fresh memory: the first access to each of the pages is one fault. */
static inline char *fresh_pages(unsigned int nr)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail_case("mmap of fresh pages");
	madvise(p, nr * page, MADV_NOHUGEPAGE);
	return p;
}

/* Writes to each of the pages: @nr faults in user mode, at p, p + page, ... */
static noinline __maybe_unused void touch_pages(char *p, unsigned int nr)
{
	long page = sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < nr; i++)
		*(volatile char *)(p + i * page) = 1;
}

/* True for an address in the code of touch_pages(), which is shorter than 256 bytes. */
static inline bool in_touch_pages(uint64_t ip)
{
	return ip >= (uintptr_t)touch_pages && ip < (uintptr_t)touch_pages + 256;
}

/* @nr page faults; from its second call on exactly as many. */
static inline void fault_pages(unsigned int nr)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = fresh_pages(nr);

	touch_pages(p, nr);
	munmap(p, nr * page);
}

#endif /* PERF_TEST_WORKLOADS_H */
