// SPDX-License-Identifier: GPL-2.0
/*
 * Multiplexing: more events than counters. The count of each is estimated from the time it ran,
 * within 2 % after some 60 slices each; the time is shared evenly, whatever the sizes of the
 * groups. Slices are of 1 ms, so that this is soon; a slice lasts until an interrupt, and with
 * short ones the turns are less even than with those of 4 ms, which are usual.
 *
 * One CPU, with instructions as the clock of the machine: the enabled time of a task in ns is the
 * sum of its cycles in user and kernel mode, and of its instructions, where each takes one cycle.
 * So all true counts are known; but the x86 kernel has repeated string instructions, each
 * repetition of which takes a cycle.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <sched.h>
#include <sys/mman.h>

#ifdef __x86_64__
#define CPU_PMU		"cpu"
#else
#define CPU_PMU		"armv8_pmuv3"
#endif

#define MAX_EVENTS	64
#define PERCENT		10	/* per thousand */

struct mux {
	unsigned int		nr;
	int			fd[MAX_EVENTS];
	struct timed_count		t[MAX_EVENTS];
};

/* The three modes to count in, each of which has another true count. */
static const char * const levels[] = { "u", "k", "uk" };

/* A round is a loop and a system call; rounds are done in batches. */
#define LOOP		150
#define BATCH		500

static __always_inline void work_batch(void)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		run_loop(LOOP);
		short_syscall();
	}
}

/* User instructions of a batch, measured while a counter is free. */
static uint64_t batch_user;

static void measure_batch(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd = open_self(&attr, -1);

	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	work_batch();
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_DISABLE, 0);
	batch_user = perf_count(fd);
	close(fd);
}

static void need_exact_clock(void)
{
	require_exact_instructions();
	measure_batch();
}

static void need_fair_turns(void)
{
	if (!kernel_gives_reasons())
		skip_case("this kernel does not promise equal shares");
}

static int open_member(struct mux *m, uint64_t event, const char *level, int group)
{
	struct perf_event_attr attr = hw_attr(event, level);

	attr.read_format = FORMAT_TIMES;
	attr.disabled = group < 0;
	m->fd[m->nr] = MUST(perf_open(&attr, 0, -1, group, 0));
	return m->fd[m->nr++];
}

/* Works in user and kernel mode for @ms. Returns the user instructions of that. */
static uint64_t work_for(unsigned int ms)
{
	uint64_t end = monotonic_ns() + ms * 1000000ull, user = 0;

	for (; monotonic_ns() < end; user += batch_user)
		work_batch();
	return user;
}

static void enable_all(void)
{
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
}

static void read_all(struct mux *m)
{
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	for (unsigned int i = 0; i < m->nr; i++)
		m->t[i] = read_timed_count(m->fd[i]);
}

static uint64_t truth_at(const char *level, uint64_t user, uint64_t all)
{
	if (!strcmp(level, "u"))
		return user;
	return strcmp(level, "k") ? all : all - user;
}

/* True if each estimate is within @permille of the true count. */
static bool estimates_hold(struct mux *m, uint64_t user, unsigned int permille)
{
	bool good = true;
	char what[64];

	for (unsigned int i = 0; i < m->nr; i++) {
		const char *level = levels[i % 3];

		snprintf(what, sizeof(what), "event %u (%s), ran %.1f %%, estimate", i, level,
			 100.0 * m->t[i].running / m->t[i].enabled);
		good &= expect_near_permille(what, scaled_count(m->t[i]),
					     truth_at(level, user, m->t[i].enabled), permille);
	}
	return good;
}

/* True if all events ran for the same time, within @permille of it. */
static bool shares_are_equal(struct mux *m, unsigned int permille)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned int i = 0; i < m->nr; i++) {
		uint64_t ran = m->t[i].running;

		least = ran < least ? ran : least;
		most = ran > most ? ran : most;
	}
	ktap_note("shares from %.2f to %.2f %%", 100.0 * least / m->t[0].enabled,
		  100.0 * most / m->t[0].enabled);
	return expect_between("shares: most over least, in thousandths", most * 1000 / (least ?: 1),
			      1000, 1000 + permille);
}

static uint64_t event_of(unsigned int i)
{
#ifdef __x86_64__
	if (*levels[i % 3] != 'u' || levels[i % 3][1])
		return PERF_COUNT_HW_CPU_CYCLES;
#endif
	return i / 3 % 2 ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS;
}

static void open_singles(struct mux *m, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		open_member(m, event_of(i), levels[i % 3], -1);
}

static void open_groups(struct mux *m, const unsigned int *sizes, unsigned int nr)
{
	for (unsigned int g = 0; g < nr; g++) {
		int leader = -1;

		for (unsigned int i = 0; i < sizes[g]; i++) {
			int fd = open_member(m, event_of(m->nr), levels[m->nr % 3], leader);

			leader = leader < 0 ? fd : leader;
		}
	}
}

/* The milliseconds in which each of @nr events runs for enough slices. */
static unsigned int ms_of_turns(unsigned int nr)
{
	return nr >= 50 ? nr * 15 : 250;
}

static const char interval_file[] = "/sys/bus/event_source/devices/" CPU_PMU
				    "/perf_event_mux_interval_ms";

/* Slices do not end at the same time, and some are not complete: of 60 this is less than two. */
static unsigned int time_for_shares(unsigned int nr)
{
	unsigned int ms = nr * 60 / max_group_size(PERF_COUNT_HW_INSTRUCTIONS);

	return ms > ms_of_turns(nr) ? ms : ms_of_turns(nr);
}

/* The rotations of a debug kernel take parts of a slice, of which the program has none. */
static unsigned int estimate_bound(void)
{
	return kernel_function("kasan_report") ? 4 * PERCENT : 2 * PERCENT;
}

static bool estimates_of(unsigned int nr)
{
	struct mux m = { 0 };
	uint64_t user;

	need_exact_clock();
	open_singles(&m, nr);
	enable_all();
	user = work_for(time_for_shares(nr));
	read_all(&m);
	return estimates_hold(&m, user, estimate_bound());
}

static bool estimates_of_8(void)
{
	return estimates_of(8);
}

static bool estimates_of_16(void)
{
	return estimates_of(16);
}

static bool estimates_of_32(void)
{
	return estimates_of(32);
}

static bool estimates_of_64(void)
{
	return estimates_of(64);
}

static bool shares_of(unsigned int nr)
{
	struct mux m = { 0 };

	need_exact_clock();
	need_fair_turns();
	for (unsigned int i = 0; i < nr; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	enable_all();
	work_for(time_for_shares(nr));
	read_all(&m);
	return shares_are_equal(&m, 5 * PERCENT);
}

static bool shares_of_16(void)
{
	return shares_of(16);
}

static bool shares_of_64(void)
{
	return shares_of(64);
}

/*
 * With n counters and more events, the shares of all events add up to n. Events are enabled and
 * read one after the other, which adds a little: they do not count for the same time.
 */
static bool counters_are_used(void)
{
	struct mux m = { 0 };
	uint64_t sum = 0;

	need_exact_clock();
	for (int i = 0; i < 16; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	enable_all();
	work_for(100);
	read_all(&m);
	for (unsigned int i = 0; i < m.nr; i++)
		sum += m.t[i].running;
	return expect_between("counters in use, in hundredths", sum * 100 / m.t[0].enabled,
			      max_group_size(PERF_COUNT_HW_INSTRUCTIONS) * 100 - 10,
			      max_group_size(PERF_COUNT_HW_INSTRUCTIONS) * 100 + 3);
}

static const unsigned int mixed[] = { 1, 2, 3, 4, 4, 3, 2, 1, 3, 1, 4, 2 };

static bool estimates_of_groups(void)
{
	struct mux m = { 0 };
	uint64_t user;

	need_exact_clock();
	require_instruction_counters(4);
	open_groups(&m, mixed, ARRAY_SIZE(mixed));
	enable_all();
	user = work_for(300);
	read_all(&m);
	return estimates_hold(&m, user, estimate_bound());
}

static bool shares_of_groups(void)
{
	struct mux m = { 0 };

	need_exact_clock();
	require_instruction_counters(4);
	need_fair_turns();
	for (unsigned int g = 0; g < ARRAY_SIZE(mixed); g++) {
		int leader = -1;

		for (unsigned int i = 0; i < mixed[g]; i++) {
			int fd = open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", leader);

			leader = leader < 0 ? fd : leader;
		}
	}
	enable_all();
	work_for(500);
	read_all(&m);
	return shares_are_equal(&m, 5 * PERCENT);
}

/* Members of a group run at the same times, so they count the same. */
static bool groups_stay_together(void)
{
	struct mux m = { 0 };
	bool good = true;

	need_exact_clock();
	require_instruction_counters(3);
	for (int g = 0; g < 5; g++) {
		int leader = open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);

		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", leader);
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", leader);
	}
	enable_all();
	work_for(200);
	read_all(&m);
	for (unsigned int i = 0; i < m.nr; i += 3) {
		good &= expect(m.t[i].value, "group %u has counted", i / 3);
		good &= expect_eq("a sibling's time", m.t[i + 1].running, m.t[i].running);
		good &= expect_eq("a sibling's time", m.t[i + 2].running, m.t[i].running);
		good &= expect_eq("a sibling's count", m.t[i + 1].value, m.t[i].value);
		good &= expect_eq("a sibling's count", m.t[i + 2].value, m.t[i].value);
	}
	return good;
}

/* Events that fit are not multiplexed. */
static bool what_fits_runs_always(void)
{
	struct mux m = { 0 };
	bool good = true;

	need_exact_clock();
	for (unsigned int n = max_group_size(PERF_COUNT_HW_INSTRUCTIONS); m.nr < n;)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	enable_all();
	work_for(100);
	read_all(&m);
	for (unsigned int i = 0; i < m.nr; i++)
		good &= expect_eq("time running", m.t[i].running, m.t[i].enabled) &
			expect(m.t[i].value, "event %u has counted", i);
	return good;
}

/* A pinned event is not multiplexed. */
static bool pinned_runs_always(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct mux m = { 0 };
	struct timed_count pinned;
	int fd;

	need_exact_clock();
	open_singles(&m, 14);
	attr.read_format = FORMAT_TIMES;
	attr.pinned = 1;
	fd = open_self(&attr, -1);
	enable_all();
	work_for(200);
	read_all(&m);
	pinned = read_timed_count(fd);
	for (unsigned int i = 0; i < m.nr; i++) {
		if (!expect_between("others take turns", m.t[i].running, 1,
				    m.t[i].enabled * 9 / 10))
			return false;
	}
	return expect_eq("time running", pinned.running, pinned.enabled);
}

/* More events than a schedule has room for: those that do not fit do not affect those that do. */
static bool pinned_beside_too_many(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct timed_count pinned;
	struct gate go = gate_new();
	int fd, others[70];
	pid_t child;

	need_exact_clock();
	child = fork_child();
	if (!child) {
		gate_wait(&go);
		work_for(50);
		exit(0);
	}
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = MUST(perf_open(&attr, child, -1, -1, 0));
	attr.pinned = 1;
	fd = MUST(perf_open(&attr, child, -1, -1, 0));
	gate_open(&go);
	if (!child_succeeded(child))
		return false;
	pinned = read_timed_count(fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		close(others[i]);
	close(fd);
	return expect_between("time enabled", pinned.enabled, 40000000, 10000000000) &
	       expect_eq("time running", pinned.running, pinned.enabled);
}

/* The same in a task that runs while it opens them: the last one does not wait for its turn. */
static bool pinned_joins_too_many(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct timed_count pinned;
	int fd, others[70];

	need_exact_clock();
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = open_self(&attr, -1);
	attr.pinned = 1;
	fd = open_self(&attr, -1);
	work_for(1);
	pinned = read_timed_count(fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		close(others[i]);
	close(fd);
	return expect_between("time enabled", pinned.enabled, 500000, 10000000000) &
	       expect_eq("time running", pinned.running, pinned.enabled);
}

/* Rotation continues for a task that shares its CPU with other tasks. */
static bool switching_keeps_shares(void)
{
	struct mux m = { 0 };
	pid_t pid;

	need_exact_clock();
	need_fair_turns();
	pin_to_cpu(0);
	for (int i = 0; i < 16; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	pid = fork_child();
	if (!pid) {
		struct mux own = { 0 };

		for (int i = 0; i < 10; i++)
			open_member(&own, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
		enable_all();
		for (;;)
			run_loop(100000);
	}
	enable_all();
	work_for(1400);
	read_all(&m);
	kill_child(pid);
	/* Half of the CPU time: fewer slices to be even in, 20 where 2 counters fit. */
	return shares_are_equal(&m, 10 * PERCENT);
}

/* The events of the CPU and of a task share the counters; all of them run. */
static bool cpu_and_task_share(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct mux m = { 0 }, cpu = { 0 };
	unsigned int least;
	bool good = true;

	need_exact_clock();
	need_fair_turns();
	/* A fair share would be four of five, but no more than with four counters. */
	least = max_group_size(PERF_COUNT_HW_INSTRUCTIONS) * 50;
	least = least > 200 ? 200 : least;
	pin_to_cpu(0);
	attr.read_format = FORMAT_TIMES;
	for (cpu.nr = 0; cpu.nr < 8; cpu.nr++)
		cpu.fd[cpu.nr] = MUST(perf_open(&attr, -1, 0, -1, 0));
	for (int i = 0; i < 8; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	for (unsigned int i = 0; i < cpu.nr; i++)
		event_enable(cpu.fd[i]);
	enable_all();
	work_for(300);
	read_all(&m);
	for (unsigned int i = 0; i < cpu.nr; i++) {
		cpu.t[i] = read_timed_count(cpu.fd[i]);
		good &= expect_between("the CPU's, in thousandths",
				       cpu.t[i].running * 1000 / cpu.t[i].enabled, least, 999);
	}
	for (unsigned int i = 0; i < m.nr; i++) {
		good &= expect_between("the task's, in thousandths",
				       m.t[i].running * 1000 / m.t[i].enabled, least, 999);
	}
	ktap_note("the CPU's ran %.1f %%, the task's %.1f %%",
		  100.0 * cpu.t[0].running / cpu.t[0].enabled,
		  100.0 * m.t[0].running / m.t[0].enabled);
	return good;
}

/* Opens a group of @nr events of CPU 0, which are enabled with the leader. */
static void open_cpu_group(struct mux *cpu, unsigned int nr)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int leader = -1;

	attr.read_format = FORMAT_TIMES;
	while (nr--) {
		attr.disabled = leader < 0;
		cpu->fd[cpu->nr] = MUST(perf_open(&attr, -1, 0, leader, 0));
		if (leader < 0)
			leader = cpu->fd[cpu->nr];
		cpu->nr++;
	}
}

/* Each group needs all counters. The task's has half of the time, the CPU's the rest. */
static bool whole_groups_of_cpu_and_task(void)
{
	struct mux m = { 0 }, cpu = { 0 };
	unsigned int size, groups;
	bool good = true;
	int leader = -1;

	need_exact_clock();
	need_fair_turns();
	size = max_group_size(PERF_COUNT_HW_INSTRUCTIONS);
	if (size < 2)
		skip_case("too few counters for instructions");
	groups = size > 8 ? 4 : 7;
	pin_to_cpu(0);
	for (unsigned int i = 0; i < groups; i++)
		open_cpu_group(&cpu, size);
	for (unsigned int i = 0; i < size; i++) {
		int fd = open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", leader);

		leader = leader < 0 ? fd : leader;
	}
	for (unsigned int i = 0; i < groups; i++)
		event_enable(cpu.fd[i * size]);
	enable_all();
	work_for(200);
	read_all(&m);
	for (unsigned int i = 0; i < groups; i++) {
		struct timed_count t = read_timed_count(cpu.fd[i * size]);

		good &= expect_between("a group of the CPU, in thousandths",
				       t.running * 1000 / t.enabled, 350 / groups, 650 / groups);
	}
	return good & expect_between("the task's, in thousandths",
				     m.t[0].running * 1000 / m.t[0].enabled, 400, 600);
}

/* A program that counts for moments which are shorter than a slice. */
static bool moments_have_all_events(void)
{
	struct mux m = { 0 };

	need_exact_clock();
	need_fair_turns();
	for (int i = 0; i < 16; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	for (int i = 0; i < 1000; i++) {
		enable_all();
		work_batch();
		MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	}
	read_all(&m);
	/* Enabling takes a good part of each moment, and the first events run longest then. */
	return shares_are_equal(&m, 50 * PERCENT);
}

/* What the task's events have of the time, in thousandths: the least. */
static uint64_t least_share(unsigned int ms)
{
	struct mux m = { 0 };
	uint64_t least = 1000;

	for (int i = 0; i < 8; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	enable_all();
	work_for(ms);
	read_all(&m);
	for (unsigned int i = 0; i < m.nr; i++) {
		uint64_t share = m.t[i].running * 1000 / (m.t[i].enabled ?: 1);

		least = share < least ? share : least;
	}
	return least;
}

/* Eight events of CPU 0. */
static void open_of_cpu(int *fd, bool disabled)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");

	attr.disabled = disabled;
	attr.read_format = FORMAT_TIMES;
	for (int i = 0; i < 8; i++)
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, 0));
}

static bool cpu_has_had_turns(const int *fd)
{
	bool good = true;

	for (int i = 0; i < 8; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect_between("the CPU's, in thousandths",
				       t.running * 1000 / (t.enabled ?: 1), 30, 999);
	}
	return good;
}

/*
 * Two tasks share a CPU, in turns of a tick, which is the interval here. The events of the CPU may
 * not be first in each slice of one of them.
 */
static bool cpu_and_two_tasks_share(void)
{
	uint64_t *theirs, ours;
	int of_cpu[8];
	pid_t child;
	bool good;

	need_exact_clock();
	need_fair_turns();
	if (write_line(interval_file, "4"))
		skip_case("no PMU of this name");
	theirs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pin_to_cpu(0);
	open_of_cpu(of_cpu, false);
	child = fork_child();
	if (!child) {
		*theirs = least_share(800);
		exit(0);
	}
	ours = least_share(800);
	MUST(write_line(interval_file, "1"));
	good = child_succeeded(child);
	return good & cpu_has_had_turns(of_cpu) &
	       expect_between("this task's least, in thousandths", ours, 100, 999) &
	       expect_between("the other one's", *theirs, 100, 999);
}

/* What 16 events of 200 tasks, which run for less than a slice, have of the time. */
static void run_short_tasks(struct mux *tasks)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct mux m = { 0 }, before;

	if (write_line(interval_file, "4"))
		skip_case("no PMU of this name");
	attr.read_format = FORMAT_TIMES;
	attr.inherit = 1;
	for (m.nr = 0; m.nr < 16; m.nr++)
		m.fd[m.nr] = open_self(&attr, -1);
	enable_all();
	work_for(20);
	before = m;
	for (unsigned int i = 0; i < m.nr; i++)
		before.t[i] = read_timed_count(m.fd[i]);
	for (int i = 0; i < 200; i++) {
		pid_t child = fork_child();

		if (!child) {
			work_for(1);
			exit(0);
		}
		child_succeeded(child);
	}
	for (unsigned int i = 0; i < m.nr; i++) {
		m.t[i] = read_timed_count(m.fd[i]);
		m.t[i].running -= before.t[i].running;
		m.t[i].enabled -= before.t[i].enabled;
	}
	MUST(write_line(interval_file, "1"));
	*tasks = m;
}

/* The events take turns from task to task. */
static bool short_tasks_take_turns(void)
{
	struct mux m;

	need_exact_clock();
	need_fair_turns();
	run_short_tasks(&m);
	return shares_are_equal(&m, 15 * PERCENT);
}

/* They do so beside events of the CPU, which need all counters. */
static bool short_tasks_beside_cpu(void)
{
	uint64_t least = max_group_size(PERF_COUNT_HW_INSTRUCTIONS) * 10;
	bool good = true;
	int of_cpu[8];
	struct mux m;

	need_exact_clock();
	need_fair_turns();
	least = least < 80 ? least : 80;
	open_of_cpu(of_cpu, true);
	run_short_tasks(&m);
	good &= cpu_has_had_turns(of_cpu);
	for (unsigned int i = 0; i < m.nr; i++)
		good &= expect_between("the tasks', in thousandths",
				       m.t[i].running * 1000 / m.t[i].enabled, least, 999);
	return good;
}

/* The interval belongs to the PMU: with a long one the first event stays in place. */
static bool interval_is_settable(void)
{
	unsigned int ran = 0, least;
	struct mux m = { 0 };
	char line[16];

	need_exact_clock();
	if (read_line(interval_file, line, sizeof(line)) < 0)
		skip_case("no PMU of this name");
	if (!expect_refused("0 ms", write_line(interval_file, "0"), EINVAL, "mux_interval") ||
	    !expect_refused("-1 ms", write_line(interval_file, "-1"), EINVAL, "mux_interval"))
		return false;
	least = max_group_size(PERF_COUNT_HW_INSTRUCTIONS);
	MUST(write_line(interval_file, "100"));
	open_singles(&m, 16);
	enable_all();
	work_for(60);
	read_all(&m);
	MUST(write_line(interval_file, line));
	/* Disabling an event leaves its counter to another for some microseconds. */
	for (unsigned int i = 0; i < m.nr; i++)
		ran += m.t[i].running > 2000000;
	return expect_between("events that ran within the first interval", ran, least, least + 3);
}

/* The time of an event while it was alone does not reduce its share later. */
static bool alone_then_not(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct mux m = { 0 };
	struct timed_count before, after;
	int fd;

	need_exact_clock();
	need_fair_turns();
	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr, -1);
	event_enable(fd);
	work_for(400);
	for (int i = 0; i < 15; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	before = read_timed_count(fd);
	enable_all();
	work_for(600);
	read_all(&m);
	after = read_timed_count(fd);
	after.running -= before.running;
	return shares_are_equal(&m, 5 * PERCENT) &
	       expect_near_permille("its share of the second", after.running, m.t[0].running,
				    10 * PERCENT);
}

/* An event that is enabled again among new ones gets a counter. */
static bool back_among_new_ones(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct timed_count early, late, before;
	int fd[2];

	need_exact_clock();
	need_fair_turns();
	attr.read_format = FORMAT_TIMES;
	fd[0] = open_self(&attr, -1);
	fd[1] = open_self(&attr, -1);
	event_enable(fd[0]);
	work_for(200);
	event_disable(fd[0]);
	before = read_timed_count(fd[0]);
	event_enable(fd[1]);
	event_enable(fd[0]);
	work_for(100);
	event_disable(fd[0]);
	event_disable(fd[1]);
	early = read_timed_count(fd[0]);
	late = read_timed_count(fd[1]);
	return expect_eq("who was there first runs always", early.running - before.running,
			 early.enabled - before.enabled) &
	       expect_eq("and who came later", late.running, late.enabled);
}

/* A task that mostly sleeps, and is never awake for an interval: its events rotate nevertheless. */
static bool sleepers_turns(void)
{
	struct mux m = { 0 };

	need_exact_clock();
	need_fair_turns();
	if (write_line(interval_file, "4"))
		skip_case("no PMU of this name");
	for (int i = 0; i < 16; i++)
		open_member(&m, PERF_COUNT_HW_INSTRUCTIONS, "u", -1);
	enable_all();
	for (int i = 0; i < 750; i++) {
		work_for(1);
		sleep_ms(9);
	}
	read_all(&m);
	MUST(write_line(interval_file, "1"));
	return shares_are_equal(&m, 10 * PERCENT);
}

static const struct test tests[] = {
	{ "8 events: estimates within 2 %", estimates_of_8 },
	{ "16 events: estimates within 2 %", estimates_of_16 },
	{ "32 events: estimates within 2 %", estimates_of_32 },
	{ "64 events: estimates within 2 %", estimates_of_64 },
	{ "16 events: equal shares within 5 %", shares_of_16 },
	{ "64 events: equal shares within 5 %", shares_of_64 },
	{ "16 events: no counter idles", counters_are_used },
	{ "groups of 1 to 4: estimates within 2 %", estimates_of_groups },
	{ "groups of 1 to 4: equal shares within 5 %", shares_of_groups },
	{ "members of a group run at the same time", groups_stay_together },
	{ "events that fit run all the time", what_fits_runs_always },
	{ "a pinned event runs all the time", pinned_runs_always },
	{ "a pinned event beside 70 others", pinned_beside_too_many },
	{ "a pinned event that joins 70 others", pinned_joins_too_many },
	{ "shares of a task that is switched out and in", switching_keeps_shares },
	{ "shares of an event that was alone before", alone_then_not },
	{ "shares of an event that was disabled meanwhile", back_among_new_ones },
	{ "shares of a task that mostly sleeps", sleepers_turns },
	{ "events of CPU and task share the counters", cpu_and_task_share },
	{ "events of CPU and two tasks share the counters", cpu_and_two_tasks_share },
	{ "events of short tasks take turns from task to task", short_tasks_take_turns },
	{ "events of short tasks beside those of the CPU", short_tasks_beside_cpu },
	{ "groups of CPU and task that need all counters", whole_groups_of_cpu_and_task },
	{ "shares of events that count for moments", moments_have_all_events },
	{ "perf_event_mux_interval_ms", interval_is_settable },
};

int main(int argc, char **argv)
{
	char line[16];
	bool is_set;
	int ret;

	is_set = read_line(interval_file, line, sizeof(line)) >= 0 &&
		 !write_line(interval_file, "1");
	ret = run_tests(tests, ARRAY_SIZE(tests), argc, argv);
	if (is_set)
		MUST(write_line(interval_file, line));
	return ret;
}
