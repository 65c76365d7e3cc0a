// SPDX-License-Identifier: GPL-2.0
/*
 * Events of AMD's northbridge on K8 and family 10h: a counter of one core counts for all cores of
 * the node, as long as no other core counts such an event on the counter of the same number. Of the
 * PMU model the events are the instructions of all CPUs, and cores that disturb each other count
 * nothing.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#define NODE_EVENT(umask)	((umask) << 8 | 0xe0)	/* DRAM accesses */
#define LINK_EVENT		0x4000007f6ull	/* code 4F6H: bandwidth of a link */
#define COUNTERS		4
#define LOOPS			1000000

#define ONLINE			"/sys/devices/system/cpu/cpu1/online"

static int open_on(uint64_t config, int cpu)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_RAW, config);

	return perf_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The package of a CPU, of which each has one node. */
static int package_of(int cpu)
{
	char path[96], line[16];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		 cpu);
	MUST(read_line(path, line, sizeof(line)));
	return atoi(line);
}

/* Two CPUs of family 10h. */
static void need_northbridge(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	if ((a >> 8 & 15) != 15 || (a >> 20 & 255) != 1)
		skip_case("no northbridge that counts for a core");
	require_cpus(2);
	require_exact_instructions();
	MUST(pin_to_cpu(0));
}

/* They are of one node. */
static void need_node(void)
{
	need_northbridge();
	if (package_of(0) != package_of(1))
		skip_case("a northbridge for each CPU");
}

/*
 * Each of these events counts the loop, wherever it is executed, and the kernel's instructions of
 * all CPUs. An instruction of any CPU takes a nanosecond, a tick of the time stamp counter: no more
 * of them are counted than ticks pass.
 */
static bool all_count(const char *what, const int *fd, unsigned int nr)
{
	uint64_t before[2 * COUNTERS], began[2 * COUNTERS];
	bool good = true;

	for (int cpu = 0; cpu < 2; cpu++) {
		MUST(pin_to_cpu(cpu));
		for (unsigned int i = 0; i < nr; i++) {
			began[i] = __builtin_ia32_rdtsc();
			before[i] = perf_count(fd[i]);
		}
		run_loop(LOOPS);
		for (unsigned int i = 0; i < nr; i++) {
			uint64_t count = perf_count(fd[i]) - before[i];

			good &= expect_between(what, count, LOOP_INSNS(LOOPS),
					       __builtin_ia32_rdtsc() - began[i]);
		}
	}
	MUST(pin_to_cpu(0));
	return good;
}

static void close_all(const int *fd, unsigned int nr)
{
	while (nr--)
		close(fd[nr]);
}

static bool one_core_counts_for_the_node(void)
{
	bool good = true;

	need_node();
	for (int cpu = 0; cpu < 2; cpu++) {
		int fd = MUST(open_on(cpu ? LINK_EVENT : NODE_EVENT(7), cpu));

		good &= all_count(cpu ? "on CPU 1" : "on CPU 0", &fd, 1);
		close(fd);
	}
	return good;
}

static bool cores_do_not_disturb_each_other(void)
{
	int fd[COUNTERS];
	bool good;

	need_node();
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(open_on(NODE_EVENT(1 << i), i & 1));
	good = all_count("two on each core", fd, COUNTERS);
	close_all(fd, COUNTERS);
	return good;
}

/* A counter belongs to a core as long as an event of it is open. */
static bool counters_of_a_node_are_claimed(void)
{
	int fd[COUNTERS];
	bool good;

	need_node();
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(open_on(NODE_EVENT(1 << i), 0));
	good = all_count("four on a core", fd, COUNTERS);
	good &= expect_refused("on the other core", open_on(NODE_EVENT(7), 1), EBUSY, "node");
	close(fd[2]);
	fd[2] = open_on(NODE_EVENT(7), 1);
	good = good && expect_errno("after a close", fd[2], 0) &&
	       all_count("three on a core, one on the other", fd, COUNTERS);
	close_all(fd, COUNTERS);
	return good;
}

/* Events of one core on one counter. */
static bool events_of_a_core_take_turns(void)
{
	uint64_t time[3];
	int fd[COUNTERS + 2];
	bool good = true;

	need_node();
	for (unsigned int i = 0; i < COUNTERS + 2; i++) {
		struct perf_event_attr attr = perf_attr(PERF_TYPE_RAW, NODE_EVENT(1));

		attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	}
	run_loop(100 * LOOPS);
	for (unsigned int i = 0; i < COUNTERS + 2; i++) {
		MUST(read(fd[i], time, sizeof(time)));
		good &= expect(time[2] > time[1] / 4, "event %u ran for %llu of %llu ns", i,
			       (unsigned long long)time[2], (unsigned long long)time[1]);
		good &= expect_near_permille("count", time[0], time[2], 50);
	}
	close_all(fd, COUNTERS + 2);
	return good;
}

/* Counters run on without events; that of a closed one must not disturb the other core's. */
static bool closed_events_leave_no_selection(void)
{
	struct perf_event_attr other = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[COUNTERS], kept;
	bool good;

	need_node();
	other.disabled = 0;
	kept = MUST(perf_open(&other, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(open_on(NODE_EVENT(1 << i), 0));
	run_loop(LOOPS);
	close_all(fd, COUNTERS);
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(open_on(NODE_EVENT(1 << i), 1));
	good = all_count("four on the other core", fd, COUNTERS);
	close_all(fd, COUNTERS);
	close(kept);
	return good;
}

static bool cores_come_and_go(void)
{
	int fd[COUNTERS];
	bool good;

	need_node();
	if (access(ONLINE, W_OK))
		skip_case("not enough CPUs");
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(open_on(NODE_EVENT(1 << i), 1));
	run_loop(LOOPS);
	MUST(write_line(ONLINE, "0"));
	good = expect_refused("while they are open", open_on(NODE_EVENT(7), 0), EBUSY, "node");
	close_all(fd, COUNTERS);
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(open_on(NODE_EVENT(1 << i), 0));
	MUST(write_line(ONLINE, "1"));
	good &= all_count("after a core has been away", fd, COUNTERS);
	close_all(fd, COUNTERS);
	return good;
}

static bool tasks_are_refused(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_RAW, NODE_EVENT(7));

	need_northbridge();
	return expect_refused("of a task", perf_open(&attr, 0, -1, -1, 0), EINVAL, "cpu");
}

/*
 * A CPU of one node has all counters, and one of another node has them, too. What they count is not
 * looked at: the model has one node, in which they disturb each other.
 */
static bool nodes_have_counters_of_their_own(void)
{
	int fd[2 * COUNTERS];
	bool good = true;

	need_northbridge();
	if (package_of(0) == package_of(1))
		skip_case("one northbridge");
	for (unsigned int i = 0; i < 2 * COUNTERS; i++) {
		fd[i] = open_on(NODE_EVENT(1 << i % COUNTERS), i / COUNTERS);
		good &= expect_errno(i < COUNTERS ? "on a node" : "on the other node", fd[i], 0);
	}
	for (unsigned int i = 0; i < 2 * COUNTERS; i++)
		close(fd[i]);
	return good;
}

static const struct test tests[] = {
	{ "one core counts for the node", one_core_counts_for_the_node },
	{ "cores do not disturb each other", cores_do_not_disturb_each_other },
	{ "counters of a node are claimed", counters_of_a_node_are_claimed },
	{ "events of a core take turns", events_of_a_core_take_turns },
	{ "closed events leave no selection", closed_events_leave_no_selection },
	{ "cores come and go", cores_come_and_go },
	{ "tasks are refused", tasks_are_refused },
	{ "nodes have counters of their own", nodes_have_counters_of_their_own },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("x86_amd_nb", "not an x86")
#endif
