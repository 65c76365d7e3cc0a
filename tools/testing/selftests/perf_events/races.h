/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Races: work in several threads or processes until a time is over, and what holds afterwards.
 */
#ifndef RACES_H
#define RACES_H

#include "events.h"
#include "expect.h"
#include "harness.h"
#include "readings.h"
#include "workloads.h"

#include <pthread.h>

/* ms that a race takes */
#define RACE_MS		4000

static uint64_t end_of_race;

static void begin_race(unsigned int ms)
{
	end_of_race = monotonic_ns() + ms * 1000000ull;
}

static bool race_runs(void)
{
	return monotonic_ns() < end_of_race;
}

/* Runs @fn in @nr threads until each returns. */
static void in_threads(unsigned int nr, void *(*fn)(void *), void *arg)
{
	pthread_t thread[16];

	for (unsigned int i = 0; i < nr; i++) {
		if (pthread_create(&thread[i], NULL, fn, arg))
			fail_case("pthread_create");
	}
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
}

/* A clock that is opened after the race counts. */
static bool still_counts(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr, -1);
	spin_ms(5);
	return expect_between("task-clock afterwards", read_timed_count(fd).value, 4000000,
			      UINT64_MAX);
}

/* A counter event of user space, or a clock. */
static struct perf_event_attr hw_or_sw(bool hw)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);

	if (!hw)
		return attr;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.exclude_kernel = 1;
	return attr;
}

#endif
