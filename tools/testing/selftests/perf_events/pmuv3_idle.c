// SPDX-License-Identifier: GPL-2.0
/*
 * The arm64 PMU on a machine of which the CPUs lose their context when they idle: the PMU is saved,
 * reset and loaded again at each idle.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "require.h"
#include "workloads.h"

#ifdef __aarch64__
#include "pmuv3.h"

/* The emulator returns from the idle state as if it had been refused. */
#define IDLE_STATE	"/sys/devices/system/cpu/cpu0/cpuidle/state1/rejected"

#define ROUNDS		300
#define LOOP		10000
#define ROUND_INSNS	500	/* of a round apart from the loop, at most */

static long idle_count(void)
{
	char line[32];

	if (read_line(IDLE_STATE, line, sizeof(line)) <= 0)
		skip_case("no idle state that loses the context");
	return strtol(line, NULL, 10);
}

static void need_idle(void)
{
	need_pmu();
	require_exact_instructions();
	pin_to_cpu(0);
	idle_count();
}

static void work_and_sleep(void)
{
	struct timespec ts = { .tv_nsec = 300000 };

	run_loop(LOOP);
	nanosleep(&ts, NULL);
}

/* Rounds of work and idle; false if the CPU did not idle in that state. */
static bool run_rounds(void)
{
	long before = idle_count();

	for (int i = 0; i < ROUNDS; i++)
		work_and_sleep();
	return expect_between("idle periods", idle_count() - before, ROUNDS / 3, UINT64_MAX);
}

static bool counts_all_rounds(pid_t pid, int cpu)
{
	struct perf_event_attr attr;
	bool good;
	int fd;

	need_idle();
	attr = perf_attr_modes(pmu_type, INSTRUCTIONS, "u");
	fd = MUST(perf_open(&attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
	event_enable(fd);
	good = run_rounds();
	event_disable(fd);
	return good & expect_between("instructions", perf_count(fd), ROUNDS * LOOP_INSNS(LOOP),
				     ROUNDS * (LOOP_INSNS(LOOP) + ROUND_INSNS));
}

static bool task_counts_over_idle(void)
{
	return counts_all_rounds(0, -1);
}

static bool cpu_counts_over_idle(void)
{
	return counts_all_rounds(-1, 0);
}

static bool samples_over_idle(void)
{
	const uint64_t period = 100003;
	struct perf_event_mmap_page *page;
	struct perf_event_attr attr;
	bool good;
	int fd;

	need_idle();
	sysctl_set("perf_event_max_sample_rate", 100000);
	sysctl_set("perf_cpu_time_max_percent", 0);
	attr = perf_attr_modes(pmu_type, INSTRUCTIONS, "u");
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP;
	fd = MUST(perf_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	page = mmap(NULL, 9 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		fail_case("mmap of the buffer");
	event_enable(fd);
	good = run_rounds();
	event_disable(fd);
	return good & expect_near("samples", page->data_head / 16, perf_count(fd) / period, 1);
}

/* Registers are junk after a loss of context; a reader gets nothing of it. */
static bool reader_reads_over_idle(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t first = 0, last = 0;
	bool good = true;

	need_idle();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	good &= expect_eq("index is there", read_self(page, &first), 1);
	for (int i = 0; i < ROUNDS; i++) {
		work_and_sleep();
		good &= expect_eq("index is there", read_self(page, &last), 1);
		for (unsigned int n = 0; n < 6; n++) {
			if (n != page->index - 1)
				good &= expect_eq("unused counter", read_counter(n), 0);
		}
	}
	return good & expect_between("instructions", last - first, ROUNDS * LOOP_INSNS(LOOP),
				     ROUNDS * (LOOP_INSNS(LOOP) + ROUND_INSNS));
}

static const struct test tests[] = {
	{ "a task's event counts exactly", task_counts_over_idle },
	{ "a CPU's event counts exactly", cpu_counts_over_idle },
	{ "samples are neither lost nor made", samples_over_idle },
	{ "user space reads its counter and no other", reader_reads_over_idle },
};

TESTS_MAIN(tests)

#else

TESTS_MAIN_SKIPPED("PMUv3", "not this architecture")

#endif
