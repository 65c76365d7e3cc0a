/* SPDX-License-Identifier: GPL-2.0 */
/* A PMU for tests of the scheduler: four counters and events of one CPU. */
#ifndef _KERNEL_EVENTS_TESTS_FAKE_PMU_H
#define _KERNEL_EVENTS_TESTS_FAKE_PMU_H

#include <kunit/test.h>

#include "../ops/ops.h"

#define FAKE_COUNTERS	4
#define FAKE_ALL	0xf	/* mask of all counters */
#define FAKE_CPU	0	/* CPU of all events */
#define FAKE_MAX_EVENTS	64
#define FAKE_LONG_MS	1000000	/* no rotation while a test examines a schedule */

/* perf_event_attr::config1: event_init sets the destructor, and refuses the event or accepts it. */
#define FAKE_REFUSES	1
#define FAKE_ACCEPTS	2

/**
 * struct fake_pmu - a PMU, and the last calls of its driver
 * @pmu: the PMU; perf_event_attr::config is the mask of counters that can count an event
 * @value: value of each counter, to which the test adds what the counter counts
 * @running: event that each counter of FAKE_CPU counts for; NULL: none
 * @loaded: schedule that FAKE_CPU runs now
 * @loads: schedules loaded on FAKE_CPU so far
 * @destroyed: events destroyed so far
 * @event: events that the test has open
 * @nr: number of @event, 0 to FAKE_MAX_EVENTS
 */
struct fake_pmu {
	struct pmu		pmu;
	u64			value[FAKE_COUNTERS];
	struct perf_event	*running[FAKE_COUNTERS];
	struct perf_schedule	loaded;
	unsigned int		loads;
	unsigned int		destroyed;
	struct perf_event	*event[FAKE_MAX_EVENTS];
	unsigned int		nr;
};

/**
 * fake_pmu_begin - init callback of a suite: registers a PMU
 * @test: the test; the struct fake_pmu is its priv
 *
 * Return: 0 or a negative errno.
 * Context: may sleep.
 */
int fake_pmu_begin(struct kunit *test);

/**
 * fake_pmu_end - exit callback of a suite: closes the test's events and unregisters the PMU
 * @test: the test
 *
 * Context: may sleep.
 */
void fake_pmu_end(struct kunit *test);

/**
 * fake_pmu_attr - attributes of an event
 * @f: the PMU
 * @mask: counters that can count the event, bits 0 to FAKE_COUNTERS - 1
 *
 * Return: attributes of a counting event, enabled at its open.
 */
struct perf_event_attr fake_pmu_attr(struct fake_pmu *f, u64 mask);

/**
 * fake_pmu_try_open - open an event on FAKE_CPU, which may fail
 * @test: the test
 * @attr: the event's attributes
 * @leader: leader of the event's group; NULL if the event leads its own
 *
 * Return: the event, which the caller releases, or an ERR_PTR().
 * Context: may sleep.
 */
struct perf_event *fake_pmu_try_open(struct kunit *test, struct perf_event_attr *attr,
				     struct perf_event *leader);

/**
 * fake_pmu_open - open an event on FAKE_CPU; the test fails if that fails
 * @test: the test; fake_pmu_end() closes the event
 * @attr: the event's attributes
 * @leader: leader of the event's group; NULL if the event leads its own
 *
 * Return: the event.
 * Context: may sleep.
 */
struct perf_event *fake_pmu_open(struct kunit *test, struct perf_event_attr *attr,
				 struct perf_event *leader);

/**
 * fake_pmu_open_mask - open an event that some counters can count
 * @test: the test; fake_pmu_end() closes the event
 * @mask: counters that can count the event, bits 0 to FAKE_COUNTERS - 1
 * @leader: leader of the event's group; NULL if the event leads its own
 *
 * Return: the event.
 * Context: may sleep.
 */
struct perf_event *fake_pmu_open_mask(struct kunit *test, u64 mask, struct perf_event *leader);

/**
 * fake_pmu_open_group - open a group of events that every counter can count
 * @test: the test; fake_pmu_end() closes the events
 * @members: events of the group, the leader included; at least 1
 *
 * Return: the leader.
 * Context: may sleep.
 */
struct perf_event *fake_pmu_open_group(struct kunit *test, unsigned int members);

/**
 * fake_pmu_close_all - close the test's events
 * @f: the PMU
 *
 * Context: may sleep.
 */
void fake_pmu_close_all(struct fake_pmu *f);

/**
 * fake_pmu_try_assign - find a counter for each event, trying all assignments
 * @mask: for each event the counters that can count it
 * @nr: number of events, 0 to FAKE_COUNTERS
 * @taken: mask of the counters in use
 * @idx: output: counter of each event; undefined if there is no assignment
 *
 * Return: true if there is an assignment.
 */
bool fake_pmu_try_assign(const u64 *mask, unsigned int nr, unsigned int taken, int *idx);

#endif /* _KERNEL_EVENTS_TESTS_FAKE_PMU_H */
