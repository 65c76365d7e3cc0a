/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every test program here needs: the system call, KTAP output, the reason of a refusal,
 * sysctls, and a loop whose retired instructions are known. Header only, so that one source file
 * is one static program. Not thread safe: only one thread reports.
 */
#ifndef PERF_TEST_H
#define PERF_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/perf_event.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit status of a program whose tests were all skipped. */
#define KTAP_EXIT_SKIP	4

/*
 * KTAP
 */

static struct {
	unsigned int planned, run, failed, skipped;
} ktap;

/* @planned: number of results to come, or 0 if that is known only at the end */
static inline void ktap_start(unsigned int planned)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap.planned = planned;
	printf("KTAP version 1\n");
	if (planned)
		printf("1..%u\n", planned);
}

/* One result. Returns @good, so that a test can stop at its first failure. */
__attribute__((format(printf, 2, 3)))
static inline bool ktap_result(bool good, const char *fmt, ...)
{
	va_list ap;

	ktap.run++;
	ktap.failed += !good;
	printf("%s %u - ", good ? "ok" : "not ok", ktap.run);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return good;
}

/* A result that could not be had here; @why says what was missing. */
static inline void ktap_skip(const char *name, const char *why)
{
	ktap.run++;
	ktap.skipped++;
	printf("ok %u - %s # SKIP %s\n", ktap.run, name, why);
}

__attribute__((format(printf, 1, 2)))
static inline void ktap_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* The closing line; returns the program's exit status. */
static inline int ktap_finish(void)
{
	if (!ktap.planned)
		printf("1..%u\n", ktap.run);
	else if (ktap.planned != ktap.run)
		ktap_note("planned %u results, have %u", ktap.planned, ktap.run);
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n",
	       ktap.run - ktap.failed - ktap.skipped, ktap.failed, ktap.skipped);
	if (ktap.failed || (ktap.planned && ktap.planned != ktap.run))
		return 1;
	return ktap.run && ktap.run == ktap.skipped ? KTAP_EXIT_SKIP : 0;
}

/* For what must work before any test makes sense. */
__attribute__((format(printf, 1, 2), noreturn))
static inline void ktap_bail_out(const char *fmt, ...)
{
	int error = errno;
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(": %s\n", strerror(error));
	exit(1);
}

/*
 * Events
 */

/* perf_event_open(2); -1 and errno on failure */
static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			    unsigned long flags)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, group, flags);
}

/* An attr of this type that has nothing else set; starts enabled. */
static inline struct perf_event_attr perf_attr(unsigned int type, uint64_t config)
{
	struct perf_event_attr attr;

	/* memset, not an initialiser: padding goes to the kernel as well */
	memset(&attr, 0, sizeof(attr));
	attr.type = type;
	attr.size = sizeof(attr);
	attr.config = config;
	return attr;
}

/* Instructions or another hardware event in user space only, disabled. */
static inline struct perf_event_attr perf_attr_user(uint64_t hw_id)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_HARDWARE, hw_id);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return attr;
}

/* The count of an event whose read_format is 0; UINT64_MAX if it cannot be read. */
static inline uint64_t perf_count(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : UINT64_MAX;
}

/* The number of a PMU that is listed in sysfs; -1 if there is none of this name. */
static inline int perf_pmu_type(const char *name)
{
	char path[128];
	int type = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &type) != 1)
		type = -1;
	fclose(f);
	return type;
}

/*
 * Files of one line
 */

/* Reads @path into @line without its newline. Returns the length, or -1. */
static inline int read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, line, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return strlen(line);
}

/* Returns 0, or -1 with errno. */
static inline int write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, line, strlen(line));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* A sysctl below kernel/ that holds one number; @missing if it does not exist. */
static inline long sysctl_get(const char *name, long missing)
{
	char path[96], line[32];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	return read_line(path, line, sizeof(line)) > 0 ? strtol(line, NULL, 10) : missing;
}

static inline int sysctl_set(const char *name, long value)
{
	char path[96], line[32];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	snprintf(line, sizeof(line), "%ld\n", value);
	return write_line(path, line);
}

/* Why the calling thread's last request was refused. -1: this kernel does not say. */
static inline int perf_reason(char *line, size_t size)
{
	return read_line("/proc/sys/kernel/perf_event_error", line, size);
}

/* The call returned @ret and errno; it should have failed with @want, for @reason if we tell. */
static inline bool refused(const char *what, long ret, int want, const char *reason)
{
	int error = ret < 0 ? errno : 0;
	char line[160];

	if (error != want) {
		ktap_note("%s: %s, expected %s", what, error ? strerrorname_np(error) : "success",
			  strerrorname_np(want));
		return false;
	}
	if (!reason || perf_reason(line, sizeof(line)) < 0 || strcasestr(line, reason))
		return true;
	ktap_note("%s: the reason \"%s\" does not speak of \"%s\"", what, line, reason);
	return false;
}

/*
 * Work of known size
 */

/* Instructions that run_loop(n) retires between the first and the last of its loop. */
#define LOOP_INSNS(n)		(2 * (uint64_t)(n))
/* Branches among them. All are taken but the last. */
#define LOOP_BRANCHES(n)	((uint64_t)(n))

/* @n > 0 rounds of two instructions: nothing else, no memory access, no call. */
static inline void run_loop(unsigned long n)
{
#if defined(__x86_64__)
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
#elif defined(__aarch64__)
	asm volatile("1: subs %0, %0, #1; b.ne 1b" : "+r" (n) : : "cc");
#else
#error "no loop of known length for this architecture"
#endif
}

/* Returns 0, or -1 with errno. */
static inline int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

#endif /* PERF_TEST_H */
