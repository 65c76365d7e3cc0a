/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts of the PMUs, and of calls from one CPU to another. */
#ifndef PERF_TEST_INTERRUPTS_H
#define PERF_TEST_INTERRUPTS_H

#include "files.h"
#include "harness.h"

/* Sum over all CPUs of the line of /proc/interrupts that has @text in it. */
static inline unsigned int interrupts_of(const char *text)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned int sum = 0;
	char line[1024];

	if (!file)
		fail_case("/proc/interrupts");
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, text) ? strchr(line, ':') : NULL, *end;

		for (at = at ? at + 1 : NULL; at; at = end) {
			unsigned long n = strtoul(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	fclose(file);
	return sum;
}

/* Interrupts of the PMUs of all CPUs. */
static inline unsigned int pmis(void)
{
	return interrupts_of("PMI:");
}

/* Calls to other CPUs. */
static inline unsigned int cross_calls(void)
{
	return interrupts_of("Function call interrupts");
}

#endif /* PERF_TEST_INTERRUPTS_H */
