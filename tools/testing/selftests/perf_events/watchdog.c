// SPDX-License-Identifier: GPL-2.0
/*
 * The hard lockup detector: the kernel's own user of a counter on each CPU. While it is on, it has
 * one counter for itself, and its interrupts come as often as it asks; off, it leaves nothing behind.
 */
#include "workload.h"

#define THRESHOLD_S	1
#define WATCHED_MS	2500
#define MOST_PINNED	64

static void watchdog(int on)
{
	if (sysctl_get("nmi_watchdog", -1) < 0)
		skip_case("no hard lockup detector");
	MUST(sysctl_set("watchdog_thresh", THRESHOLD_S));
	/* Refused where overflows cannot interrupt what has interrupts off. */
	if (sysctl_set("nmi_watchdog", on))
		skip_case("no NMI for it");
	if (sysctl_get("nmi_watchdog", -1) != on)
		fail_case("nmi_watchdog does not say what was written");
}

/* How many pinned events of all programs on CPU 0 count beside each other. */
static unsigned int pinned_that_count(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "uk");
	int fd[MOST_PINNED];
	unsigned int n = 0;
	uint64_t count;

	attr.disabled = 0;
	attr.pinned = 1;
	for (unsigned int i = 0; i < MOST_PINNED; i++)
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	for (unsigned int i = 0; i < MOST_PINNED; i++) {
		n += MUST(read(fd[i], &count, sizeof(count))) == sizeof(count);
		close(fd[i]);
	}
	return n;
}

static bool takes_a_counter(void)
{
	unsigned int off, on, off_again;

	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	watchdog(0);
	off = pinned_that_count();
	watchdog(1);
	on = pinned_that_count();
	watchdog(0);
	off_again = pinned_that_count();
	ktap_note("%u counters for cycles", off);
	return between("counters", off, 2, MOST_PINNED - 1) & same("with the detector", on, off - 1) &
	       same("after it", off_again, off);
}

#if defined(__x86_64__)
/* Overflow interrupts so far on a CPU. */
static uint64_t interrupts_on(int cpu)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long long n[2] = { 0, 0 };
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " PMI: %llu %llu", &n[0], &n[1]) > 0)
			break;
	if (f)
		fclose(f);
	return n[cpu];
}

/* A second of the time stamp counter's rate in cycles; the emulator's two rates are the same. */
static bool interrupts_as_asked(void)
{
	uint64_t on, off, elsewhere;

	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	need_cpus(2);
	pin_to_cpu(0);
	watchdog(1);
	on = interrupts_on(0);
	elsewhere = interrupts_on(1);
	spin_ms(WATCHED_MS);
	on = interrupts_on(0) - on;
	elsewhere = interrupts_on(1) - elsewhere;
	watchdog(0);
	off = interrupts_on(0);
	spin_ms(WATCHED_MS);
	off = interrupts_on(0) - off;
	return between("interrupts", on, WATCHED_MS / 1000 / THRESHOLD_S, WATCHED_MS / 1000 / THRESHOLD_S + 1) &
	       same("on a CPU that sleeps", elsewhere, 0) & same("when it is off", off, 0);
}
#else
static bool interrupts_as_asked(void)
{
	skip_case("takes too long at the rate that is asked for here");
	return true;
}
#endif

static const struct test tests[] = {
	{ "it has a counter of its own", takes_a_counter },
	{ "its interrupts come as asked", interrupts_as_asked },
};

TESTS_MAIN(tests)
