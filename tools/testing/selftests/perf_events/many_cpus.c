// SPDX-License-Identifier: GPL-2.0
/* A machine of 64 CPUs: each counts for itself, and together they count all that was done. */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "workloads.h"

#define MAX_CPUS	64
#define PAGES		64
#define ROUNDS		3

static int cpus;

static void look_around(void)
{
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (cpus > MAX_CPUS)
		cpus = MAX_CPUS;
}

static bool all_are_on_line(void)
{
	look_around();
	return expect_eq("CPUs on line", cpus, sysconf(_SC_NPROCESSORS_CONF)) &
	       expect_between("CPUs", cpus, 2, MAX_CPUS);
}

/* One event on each CPU; a task visits them in turn. Each counts its visits. */
static bool each_counts_for_itself(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before[MAX_CPUS];
	bool good = true;
	int fd[MAX_CPUS];

	look_around();
	attr.exclude_kernel = 1;
	for (int cpu = 0; cpu < cpus; cpu++)
		fd[cpu] = MUST(perf_open(&attr, -1, cpu, -1, 0));
	fault_pages(PAGES);
	for (int cpu = 0; cpu < cpus; cpu++)
		before[cpu] = perf_count(fd[cpu]);
	for (int round = 0; round < ROUNDS; round++) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			MUST(pin_to_cpu(cpu));
			fault_pages(PAGES + cpu);
		}
	}
	for (int cpu = 0; cpu < cpus; cpu++)
		good &= expect_between("a CPU's faults", perf_count(fd[cpu]) - before[cpu],
				       ROUNDS * (PAGES + cpu), ROUNDS * (PAGES + cpu) + 40);
	return good;
}

/* An event of a task counts on all CPUs. */
static bool task_is_followed(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr moves = sw_attr(PERF_COUNT_SW_CPU_MIGRATIONS);
	int fd, migrations;
	uint64_t before;

	look_around();
	attr.exclude_kernel = 1;
	pin_to_cpu(0);
	fd = open_self(&attr, -1);
	migrations = open_self(&moves, -1);
	fault_pages(PAGES);
	before = perf_count(fd);
	for (int cpu = 1; cpu < cpus; cpu++) {
		MUST(pin_to_cpu(cpu));
		fault_pages(PAGES);
	}
	return expect_between("faults", perf_count(fd) - before, (cpus - 1) * PAGES,
			      (cpus - 1) * PAGES + 5) &
	       expect_eq("migrations", perf_count(migrations), cpus - 1);
}

/* A child on each CPU at once, counted by one inherited event. */
static bool children_on_all(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct gate go = gate_new(), ready = gate_new();
	pid_t pid[MAX_CPUS];
	uint64_t before;
	bool good = true;
	int fd;

	look_around();
	attr.inherit = 1;
	attr.exclude_kernel = 1;
	fd = open_self(&attr, -1);
	for (int cpu = 0; cpu < cpus; cpu++) {
		pid[cpu] = fork_child();
		if (!pid[cpu]) {
			MUST(pin_to_cpu(cpu));
			fault_pages(PAGES);
			gate_open(&ready);
			gate_wait(&go);
			fault_pages(10 * PAGES);
			_exit(0);
		}
	}
	for (int cpu = 0; cpu < cpus; cpu++)
		gate_wait(&ready);
	before = perf_count(fd);
	for (int cpu = 0; cpu < cpus; cpu++)
		gate_open(&go);
	for (int cpu = 0; cpu < cpus; cpu++)
		good &= child_succeeded(pid[cpu]);
	return good & expect_between("faults", perf_count(fd) - before, cpus * 10 * PAGES,
				     cpus * (10 * PAGES + 20));
}

/* The clocks of all CPUs run at one rate. */
static bool clocks_agree(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t begin, opened, read_from, end;
	bool good = true;
	int fd[MAX_CPUS];

	look_around();
	begin = monotonic_ns();
	for (int cpu = 0; cpu < cpus; cpu++)
		fd[cpu] = MUST(perf_open(&attr, -1, cpu, -1, 0));
	opened = monotonic_ns();
	sleep_ms(300);
	read_from = monotonic_ns();
	for (int cpu = 0; cpu < cpus; cpu++) {
		uint64_t value = perf_count(fd[cpu]);

		end = monotonic_ns();
		good &= expect_between("a CPU's clock", value, (read_from - opened) * 98 / 100,
				       (end - begin) * 102 / 100);
	}
	return good;
}

static bool cycles_on_all(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "uk");
	bool good = true;
	int fd[MAX_CPUS];

	look_around();
	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	for (int cpu = 0; cpu < cpus; cpu++)
		fd[cpu] = MUST(perf_open(&attr, -1, cpu, -1, 0));
	for (int cpu = 0; cpu < cpus; cpu++) {
		MUST(pin_to_cpu(cpu));
		run_loop(100000);
	}
	for (int cpu = 0; cpu < cpus; cpu++) {
		struct timed_count t = read_timed_count(fd[cpu]);

		good &= expect_between("a CPU's cycles", t.value, 1, UINT64_MAX);
		good &= expect_eq("running", t.running, t.enabled);
	}
	return good;
}

static const struct test tests[] = {
	{ "all CPUs are online", all_are_on_line },
	{ "each CPU counts for itself", each_counts_for_itself },
	{ "a task is followed over all CPUs", task_is_followed },
	{ "children on all CPUs at once", children_on_all },
	{ "the clocks of all CPUs agree", clocks_agree },
	{ "cycles on all CPUs", cycles_on_all },
};

TESTS_MAIN(tests)
