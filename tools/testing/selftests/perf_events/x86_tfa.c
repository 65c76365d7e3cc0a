// SPDX-License-Identifier: GPL-2.0
/*
 * Counter 3 of parts on which microcode uses it for transactions: an event gets it only where no
 * other counter is left, transactions abort for as long as the event has it, and the file
 * allow_tsx_force_abort forbids it. The emulator counts the accesses to the counter while microcode
 * has it.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_rdpmc.h"

#include <sys/stat.h>

#define ALLOW_FILE	"/sys/bus/event_source/devices/cpu/allow_tsx_force_abort"
#define COUNTERS	4	/* general ones of the machine */
#define LOOP		1000
#define TURNS		100

/* Kinds of the PMU model's statistics. */
#define FORCE_ABORT	15
#define MICROCODE	16	/* of the counter while microcode has it */

static void tfa_setup(void)
{
	if (access(ALLOW_FILE, F_OK))
		skip_case("no microcode that uses counter 3");
	require_exact_instructions();
	MUST(pin_to_cpu(0));
	MUST(write_line(ALLOW_FILE, "1"));
}

/* Branches of this task, which fixed counters do not count. */
static struct perf_event_attr branches_attr(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");

	attr.read_format = FORMAT_TIMES;
	return attr;
}

static void open_events(int *fd, unsigned int nr, bool group)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct perf_event_attr attr = branches_attr();

		attr.disabled = !group || !i;
		fd[i] = open_self(&attr, group && i ? fd[0] : -1);
	}
}

static void enable_events(const int *fd, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		event_enable(fd[i]);
}

static void close_events(const int *fd, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		close(fd[i]);
}

static uint64_t force_abort_writes(void)
{
	return stats_of(FORCE_ABORT).writes;
}

/* Is the counter left alone while microcode has it? @before: stats_of(MICROCODE) */
static bool counter_was_left(struct accesses before)
{
	struct accesses now = stats_of(MICROCODE);

	if (!kernel_gives_reasons())
		return true;
	return expect_eq("reads of microcode's counter", now.reads, before.reads) &
	       expect_eq("writes of microcode's counter", now.writes, before.writes);
}

static bool file_holds_a_boolean(void)
{
	struct stat st;
	char line[16];
	bool good;

	MUST(stat(ALLOW_FILE, &st));
	MUST(read_line(ALLOW_FILE, line, sizeof(line)));
	good = expect_eq("mode", st.st_mode & 0777, 0644);
	good &= expect(!strcmp(line, "1"), "is %s", line);
	good &= expect_errno("2", write_line(ALLOW_FILE, "2"), EINVAL);
	MUST(write_line(ALLOW_FILE, "n"));
	MUST(read_line(ALLOW_FILE, line, sizeof(line)));
	good &= expect(!strcmp(line, "0"), "after n: %s", line);
	MUST(write_line(ALLOW_FILE, "1"));
	return good;
}

static bool others_come_first(void)
{
	struct accesses before = stats_of(MICROCODE);
	uint64_t writes = force_abort_writes();
	int fd[COUNTERS - 1];
	bool good = true;

	open_events(fd, COUNTERS - 1, false);
	enable_events(fd, COUNTERS - 1);
	run_loop(LOOP);
	for (unsigned int i = 0; i < COUNTERS - 1; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect(t.value >= LOOP_BRANCHES(LOOP) && t.running == t.enabled,
			       "event %u: %lu", i, (long)t.value);
	}
	close_events(fd, COUNTERS - 1);
	return good & expect_eq("writes of the register", force_abort_writes(), writes) &
	       counter_was_left(before);
}

static bool last_one_aborts(void)
{
	struct accesses before = stats_of(MICROCODE);
	uint64_t writes = force_abort_writes(), count[COUNTERS];
	int fd[COUNTERS];
	bool good = true;

	open_events(fd, COUNTERS, true);
	good &= expect_eq("writes before", force_abort_writes(), writes);
	event_enable(fd[0]);
	good &= expect_eq("writes while counted", force_abort_writes(), writes + 1);
	run_loop(LOOP);
	event_disable(fd[0]);
	good &= expect_eq("writes afterwards", force_abort_writes(), writes + 2);
	for (unsigned int i = 0; i < COUNTERS; i++) {
		count[i] = read_timed_count(fd[i]).value;
		good &= expect_eq("count of a member", count[i], count[0]);
	}
	close_events(fd, COUNTERS);
	return good & expect_between("branches", count[0], LOOP_BRANCHES(LOOP), LOOP + 100) &
	       counter_was_left(before);
}

static void run_other(void)
{
	run_loop(LOOP);
}

static void run_mine(void)
{
	run_loop(LOOP);
}

/* While the other task runs, the counter is microcode's. */
static bool switch_gives_it_back(void)
{
	struct gate go = gate_new(), back = gate_new();
	struct accesses before;
	uint64_t writes, count;
	int fd[COUNTERS];
	pid_t other;

	other = fork_worker(&go, &back, run_other);
	open_events(fd, COUNTERS, true);
	event_enable(fd[0]);
	take_turns(&go, &back, 1, run_mine);
	before = stats_of(MICROCODE);
	writes = force_abort_writes();
	count = read_timed_count(fd[COUNTERS - 1]).value;
	take_turns(&go, &back, TURNS, run_mine);
	count = read_timed_count(fd[COUNTERS - 1]).value - count;
	writes = force_abort_writes() - writes;
	close_events(fd, COUNTERS);
	kill_child(other);
	/* The scheduler can preempt a task once more than the gates do. */
	return expect_between("writes", writes, 2 * TURNS, 2 * (TURNS + 20)) &
	       expect_between("branches", count, TURNS * LOOP_BRANCHES(LOOP),
			      TURNS * (LOOP_BRANCHES(LOOP) + 400)) &
	       counter_was_left(before);
}

#define PERIOD	997

/* Samples of each event are as many as its periods. */
static bool samples_are_complete(void)
{
	struct accesses before = stats_of(MICROCODE);
	uint64_t writes = force_abort_writes();
	struct ring ring[COUNTERS];
	int fd[COUNTERS];
	bool good = true;

	for (unsigned int i = 0; i < COUNTERS; i++) {
		struct perf_event_attr attr = branches_attr();

		attr.disabled = 1;
		attr.sample_period = PERIOD;
		attr.sample_type = PERF_SAMPLE_IP;
		fd[i] = open_self(&attr, -1);
		if (!ring_map(&ring[i], fd[i], 8))
			fail_case("mmap");
	}
	enable_events(fd, COUNTERS);
	run_loop(20 * LOOP);
	for (unsigned int i = 0; i < COUNTERS; i++) {
		struct timed_count t;

		event_disable(fd[i]);
		t = read_timed_count(fd[i]);
		good &= expect_eq("samples", ring_count(&ring[i], PERF_RECORD_SAMPLE),
				  t.value / PERIOD);
		good &= expect_between("branches", t.value, LOOP_BRANCHES(20 * LOOP), UINT64_MAX);
		good &= expect_eq("time running", t.running, t.enabled);
	}
	close_events(fd, COUNTERS);
	return good & expect(force_abort_writes() > writes, "the counter has been used") &
	       counter_was_left(before);
}

/* The event that has no counter waits for its turn. */
static bool events_take_turns(const int *fd)
{
	unsigned int whole = 0;
	bool good = true;

	for (unsigned int i = 0; i < COUNTERS; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		whole += t.running == t.enabled;
		good &= expect(t.running, "event %u never ran", i);
	}
	return good & expect(whole < COUNTERS, "all events ran all the time");
}

static bool file_forbids_it(void)
{
	struct accesses before = stats_of(MICROCODE);
	struct perf_event_attr attr = branches_attr();
	uint64_t writes;
	int fd[COUNTERS];
	bool good;

	MUST(write_line(ALLOW_FILE, "0"));
	writes = force_abort_writes();
	open_events(fd, COUNTERS - 1, true);
	good = expect_errno("a fourth member", perf_open(&attr, 0, -1, fd[0], 0), EINVAL);
	close_events(fd, COUNTERS - 1);
	open_events(fd, COUNTERS, false);
	enable_events(fd, COUNTERS);
	spin_ms(100);
	good &= events_take_turns(fd);
	close_events(fd, COUNTERS);
	MUST(write_line(ALLOW_FILE, "1"));
	return good & expect_eq("writes of the register", force_abort_writes(), writes) &
	       counter_was_left(before);
}

/* The file is written while events count. */
static bool file_takes_it_back(void)
{
	uint64_t writes = force_abort_writes();
	struct timed_count before, after;
	int fd[COUNTERS];
	bool good;

	open_events(fd, COUNTERS, false);
	enable_events(fd, COUNTERS);
	good = expect_eq("writes while counted", force_abort_writes(), writes + 1);
	MUST(write_line(ALLOW_FILE, "0"));
	good &= expect_eq("writes when it is forbidden", force_abort_writes(), writes + 2);
	spin_ms(100);
	good &= events_take_turns(fd);
	good &= expect_eq("writes while it is forbidden", force_abort_writes(), writes + 2);
	MUST(write_line(ALLOW_FILE, "1"));
	good &= expect_eq("writes when it is allowed", force_abort_writes(), writes + 3);
	for (unsigned int i = 0; i < COUNTERS; i++) {
		before = read_timed_count(fd[i]);
		run_loop(LOOP);
		after = read_timed_count(fd[i]);
		good &= expect_eq("time without a counter", after.enabled - before.enabled,
				  after.running - before.running);
	}
	close_events(fd, COUNTERS);
	return good;
}

/* What has been decided for a task that does not run is decided again. */
static bool file_reaches_sleepers(void)
{
	struct gate go = gate_new(), back = gate_new();
	struct perf_event_attr attr = branches_attr();
	int fd[COUNTERS];
	uint64_t writes;
	pid_t other;
	bool good;

	other = fork_worker(&go, &back, run_other);
	attr.disabled = 0;
	for (unsigned int i = 0; i < COUNTERS; i++)
		fd[i] = MUST(perf_open(&attr, other, -1, -1, 0));
	writes = force_abort_writes();
	take_turns(&go, &back, 1, run_mine);
	wait_until_asleep(other);
	good = expect(force_abort_writes() > writes, "the events have no counter 3");
	MUST(write_line(ALLOW_FILE, "0"));
	writes = force_abort_writes();
	take_turns(&go, &back, 3, run_mine);
	good &= expect_eq("writes while it is forbidden", force_abort_writes(), writes);
	MUST(write_line(ALLOW_FILE, "1"));
	take_turns(&go, &back, 1, run_mine);
	good &= expect(force_abort_writes() > writes, "the events have no counter 3 again");
	close_events(fd, COUNTERS);
	kill_child(other);
	return good;
}

static const struct test tests[] = {
	{ "the file has a boolean", file_holds_a_boolean },
	{ "events on other counters let transactions be", others_come_first },
	{ "an event on the last counter makes them abort", last_one_aborts },
	{ "a switch gives the counter back", switch_gives_it_back },
	{ "samples of the counter are complete", samples_are_complete },
	{ "the file forbids the counter", file_forbids_it },
	{ "the file takes the counter from events", file_takes_it_back },
	{ "the file is for tasks that sleep, too", file_reaches_sleepers },
};

TESTS_MAIN_SETUP(tests, tfa_setup)
#else
TESTS_MAIN_SKIPPED("counter 3 and transactions", "not an x86")
#endif
