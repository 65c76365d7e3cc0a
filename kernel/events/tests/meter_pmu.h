/* SPDX-License-Identifier: GPL-2.0 */
/* A PMU for tests of PMUs: all its events count one number, which the test adds to. */
#ifndef _KERNEL_EVENTS_TESTS_METER_PMU_H
#define _KERNEL_EVENTS_TESTS_METER_PMU_H

#include <kunit/test.h>
#include <linux/completion.h>

#include "../ops/ops.h"

#define METER_MAX_EVENTS	32
#define METER_RANGES		2

/**
 * struct meter - a PMU, and the calls of its driver
 * @pmu: the PMU; its events are those of CPUs, as of an uncore PMU, unless the test changes it
 * @registered: perf_pmu_register() has succeeded, perf_pmu_unregister() is due
 * @now: number that all events count
 * @active: events that have been added and not deleted
 * @units: maximum of @active, events beyond it are refused; 0: no maximum
 * @broken: pinned events are refused
 * @pinned_refused: pinned events refused so far
 * @made: events initialised so far
 * @ended: events destroyed so far
 * @syncs: times that ranges of address filters were programmed
 * @range: ranges programmed last
 * @gate: if @gated, event_init waits for it
 * @asked: completed when event_init has been entered, if @gated
 * @gated: event_init waits, then refuses the event
 * @attach: PERF_ATTACH_* bits that event_init sets
 * @event: events that the test has open
 * @nr: number of @event, 0 to METER_MAX_EVENTS
 */
struct meter {
	struct pmu			pmu;
	bool				registered;
	atomic64_t			now;
	atomic_t			active;
	unsigned int			units;
	bool				broken;
	unsigned int			pinned_refused;
	atomic_t			made;
	atomic_t			ended;
	unsigned int			syncs;
	struct perf_addr_filter_range	range[METER_RANGES];
	struct completion		gate;
	struct completion		asked;
	bool				gated;
	unsigned int			attach;
	struct perf_event		*event[METER_MAX_EVENTS];
	unsigned int			nr;
};

static inline struct meter *meter_of(struct perf_event *event)
{
	return container_of(event->pmu, struct meter, pmu);
}

/**
 * meter_begin - init callback of a suite: prepares a PMU and moves the test to CPU 0
 * @test: the test; the struct meter is its priv
 *
 * The test calls meter_register() when it has changed in the PMU what it needs.
 *
 * Return: 0 or a negative errno.
 * Context: may sleep.
 */
int meter_begin(struct kunit *test);

/**
 * meter_end - exit callback of a suite: closes the test's events and unregisters the PMU
 * @test: the test
 *
 * Context: may sleep.
 */
void meter_end(struct kunit *test);

/**
 * meter_register - register the PMU with a dynamic type
 * @m: the PMU
 *
 * Return: 0 or a negative errno.
 * Context: may sleep.
 */
int meter_register(struct meter *m);

/**
 * meter_attr - attributes of an event
 * @m: the PMU
 *
 * Return: attributes of a counting event, enabled at its open.
 */
struct perf_event_attr meter_attr(struct meter *m);

/**
 * meter_open - open an event, of any PMU, as perf_event_open() does
 * @test: the test; meter_end() closes the event
 * @attr: the event's attributes
 * @cpu: the event's CPU; -1 for any
 * @task: the event's task; NULL for an event of a CPU
 * @leader: leader of the event's group; NULL if the event leads its own
 *
 * perf_event_create_kernel_counter() has no groups. The test fails if the open does.
 *
 * Return: the event.
 * Context: may sleep.
 */
struct perf_event *meter_open(struct kunit *test, struct perf_event_attr *attr, int cpu,
			      struct task_struct *task, struct perf_event *leader);

/**
 * meter_open_on - open an event of the PMU on a CPU
 * @test: the test; meter_end() closes the event
 * @cpu: the event's CPU
 * @leader: leader of the event's group; NULL if the event leads its own
 *
 * Return: the event.
 * Context: may sleep.
 */
struct perf_event *meter_open_on(struct kunit *test, int cpu, struct perf_event *leader);

/**
 * meter_close_all - close the test's events
 * @m: the PMU
 *
 * Context: may sleep.
 */
void meter_close_all(struct meter *m);

/**
 * meter_expect_counts - expect that an event is active and counts
 * @test: the test
 * @event: the event
 * @cpu: CPU that the event is expected on
 *
 * Adds 10 to what all events of the PMU count.
 *
 * Context: may sleep.
 */
void meter_expect_counts(struct kunit *test, struct perf_event *event, int cpu);

#endif /* _KERNEL_EVENTS_TESTS_METER_PMU_H */
