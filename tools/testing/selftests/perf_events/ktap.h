/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KTAP output: the lines that harness.h prints. Test files use harness.h and expect.h, and of this
 * header only ktap_note(). It does not use ../kselftest.h because scripts/guest/build compiles the
 * tests outside of a kernel tree. Not thread safe: only one thread of a process prints results.
 */
#ifndef PERF_TEST_KTAP_H
#define PERF_TEST_KTAP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/cdefs.h>

/* The spellings of the kernel for attributes of functions and data. */
#define __printf(format, first)	__attribute__((__format__(printf, format, first)))
#define __noreturn		__attribute__((__noreturn__))
#define __maybe_unused		__attribute__((__unused__))
#define __used			__attribute__((__used__))
#define __packed		__attribute__((__packed__))
#define __aligned(bytes)	__attribute__((__aligned__(bytes)))
#define noinline		__attribute__((__noinline__))
#define __noclone		__attribute__((__noclone__))

/* Exit status of a program if all its cases were skipped. */
#define KTAP_EXIT_SKIP	4

static struct {
	unsigned int run, failed, skipped;
} ktap;

static inline void ktap_start(void)
{
	/* Line by line, so that a child that is killed loses none. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n");
}

/* The result line of one case. */
static inline void ktap_result(bool good, const char *name)
{
	ktap.run++;
	ktap.failed += !good;
	printf("%s %u - %s\n", good ? "ok" : "not ok", ktap.run, name);
}

/* The result line of a case that this machine or kernel cannot run. */
static inline void ktap_skip(const char *name, const char *why)
{
	ktap.run++;
	ktap.skipped++;
	printf("ok %u - %s # SKIP %s\n", ktap.run, name, why);
}

/* A diagnostic line. */
static inline __printf(1, 2) void ktap_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* Prints the closing lines. Returns the exit status of the program. */
static inline int ktap_finish(void)
{
	printf("1..%u\n", ktap.run);
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n",
	       ktap.run - ktap.failed - ktap.skipped, ktap.failed, ktap.skipped);
	if (ktap.failed)
		return 1;
	return ktap.run && ktap.run == ktap.skipped ? KTAP_EXIT_SKIP : 0;
}

/* Ends the program, where no case can be run at all. */
static inline __noreturn void ktap_bail_out(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

#endif /* PERF_TEST_KTAP_H */
