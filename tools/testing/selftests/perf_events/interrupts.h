/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts of the PMUs. */
#ifndef PERF_TEST_INTERRUPTS_H
#define PERF_TEST_INTERRUPTS_H

#include "files.h"
#include "harness.h"

/* Interrupts of the PMUs of all CPUs. */
static inline unsigned int pmis(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned int sum = 0;
	char line[1024];

	if (!file)
		fail_case("/proc/interrupts");
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, "PMI:"), *end;

		for (at = at ? at + 4 : NULL; at; at = end) {
			unsigned long n = strtoul(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	fclose(file);
	return sum;
}

#endif /* PERF_TEST_INTERRUPTS_H */
