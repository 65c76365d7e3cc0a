// SPDX-License-Identifier: GPL-2.0
/*
 * Events with period 1: the samples are the records of the branch trace store, every branch of a
 * program with known branches, shared interrupts, tasks, children, other periods, refusals.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "interrupts.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_bts.h"

#define SAMPLE_PAGES	512

/* Samples need the store and its records of 64-bit addresses, but not the PMU of traces. */
static void need_store(void)
{
	if (!cpu_has_flag("bts") || !cpu_has_flag("dtes64"))
		skip_case("no branch trace store");
	pmu = perf_pmu_type("intel_bts");
	run_alone();
}

static struct perf_event_attr each_attr(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");

	attr.disabled = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_TID;
	return attr;
}

static int open_each(struct ring *ring, struct perf_event_attr *attr)
{
	int fd = MUST(perf_open(attr, 0, -1, -1, 0));

	if (!ring_map(ring, fd, SAMPLE_PAGES))
		fail_case("mmap");
	return fd;
}

/* Walks the samples, which are all of this task; returns their number. */
static unsigned int walk_samples(struct ring *ring, const struct perf_event_attr *attr,
				 struct walk *w)
{
	struct perf_event_header *h;
	unsigned int n = 0;

	while ((h = ring_next(ring))) {
		struct bts_record r = { 0 };
		struct sample s;

		w->wrong += h->type == PERF_RECORD_LOST || h->type == PERF_RECORD_THROTTLE;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		sample_parse(&s, h, attr);
		r.from = s.ip;
		r.to = s.addr;
		walk_record(w, &r);
		w->wrong += (pid_t)s.pid != getpid() ||
			    (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
		n++;
	}
	return n;
}

static bool samples_are_exact(void)
{
	struct perf_event_attr attr = each_attr();
	struct walk w = NEW_WALK;
	struct ring ring;
	unsigned int n;
	uint64_t count;
	bool good;
	int fd;

	require_exact_instructions();
	fd = open_each(&ring, &attr);
	event_enable(fd);
	branch_loop(2000);
	/* A read counts the samples up to now. */
	count = perf_count(fd);
	event_disable(fd);
	n = walk_samples(&ring, &attr, &w);
	good = walk_is_exact(&w, 2000, 1) & expect_eq("kernel addresses", w.kernel, 0) &
	       expect_between("count", count, 14000, n) & expect_eq("later", perf_count(fd), n);
	event_enable(fd);
	branch_loop(1000);
	event_disable(fd);
	w = (struct walk)NEW_WALK;
	n += walk_samples(&ring, &attr, &w);
	return good & walk_is_exact(&w, 1000, 1) & expect_eq("in the end", perf_count(fd), n);
}

/* 64 KiB hold 2730 records; the interrupt is due with 2560. */
static bool samples_share_interrupts(void)
{
	struct perf_event_attr attr = each_attr();
	struct walk w = NEW_WALK;
	unsigned int before, after;
	struct ring ring;
	int fd;

	require_exact_instructions();
	fd = open_each(&ring, &attr);
	before = pmis();
	event_enable(fd);
	branch_loop(5000);
	event_disable(fd);
	after = pmis();
	walk_samples(&ring, &attr, &w);
	return walk_is_exact(&w, 5000, 1) &
	       expect_between("interrupts", after - before, 35000 / 2730, 35000 / 2560 + 1);
}

static bool samples_of_one_task(void)
{
	struct perf_event_attr attr = each_attr();
	struct gate go = gate_new(), back = gate_new();
	struct walk w = NEW_WALK;
	struct ring ring;
	unsigned int n;
	pid_t other;
	int fd;

	require_exact_instructions();
	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	fd = open_each(&ring, &attr);
	event_enable(fd);
	take_turns(&go, &back, TURNS, run_mine);
	event_disable(fd);
	kill_child(other);
	n = walk_samples(&ring, &attr, &w);
	return walk_is_exact(&w, 15, TURNS) & expect_eq("branches of the other", w.foreign, 0) &
	       expect_eq("count", perf_count(fd), n);
}

/* Each of two events has the samples from its start to its end. */
static bool events_share_records(void)
{
	struct perf_event_attr attr = each_attr();
	struct walk w[2] = { NEW_WALK, NEW_WALK };
	struct ring ring[2];
	int fd[2];

	require_exact_instructions();
	for (int i = 0; i < 2; i++)
		fd[i] = open_each(&ring[i], &attr);
	event_enable(fd[0]);
	branch_loop(100);
	event_enable(fd[1]);
	branch_loop(100);
	event_disable(fd[0]);
	branch_loop(100);
	branch_loop(100);
	event_disable(fd[1]);
	for (int i = 0; i < 2; i++)
		walk_samples(&ring[i], &attr, &w[i]);
	return walk_is_exact(&w[0], 100, 2) & walk_is_exact(&w[1], 100, 3);
}

#define SAMPLERS	8	/* that a CPU has at once */

/* Nine events take turns: each branch is a sample of eight. */
static bool ninth_event_waits(void)
{
	static struct ring ring[SAMPLERS + 1];
	struct perf_event_attr attr = each_attr();
	unsigned int loop = 0, waited = 0;
	int fd[SAMPLERS + 1];
	bool good = true;

	require_exact_instructions();
	attr.read_format = FORMAT_TIMES;
	for (int i = 0; i <= SAMPLERS; i++)
		fd[i] = open_each(&ring[i], &attr);
	for (int i = 0; i <= SAMPLERS; i++)
		event_enable(fd[i]);
	for (int i = 0; i < 8; i++)
		branch_loop(1000);
	for (int i = 0; i <= SAMPLERS; i++)
		event_disable(fd[i]);
	for (int i = 0; i <= SAMPLERS; i++) {
		struct timed_count t = read_timed_count(fd[i]);
		struct walk w = NEW_WALK;
		unsigned int n = walk_samples(&ring[i], &attr, &w);

		loop += w.loop;
		waited += t.running < t.enabled;
		good &= expect_eq("count", t.value, n) &
			expect_between("samples", n, 1000, 8 * 1000 * ROUND + 1000);
		close(fd[i]);
	}
	return good & expect_between("events that have waited", waited, 2, SAMPLERS + 1) &
	       expect_eq("samples of the loop", loop, SAMPLERS * 8 * 1000 * ROUND);
}

static bool child_is_sampled(void)
{
	struct perf_event_attr attr = each_attr();
	uint64_t before;
	pid_t pid;
	int fd;

	require_exact_instructions();
	attr.inherit = 1;
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	event_enable(fd);
	pid = fork_child();
	if (!pid) {
		branch_loop(1000);
		_exit(0);
	}
	before = perf_count(fd);
	return expect(child_succeeded(pid), "a child") &
	       expect_between("branches of the child", perf_count(fd) - before, 7000, 9000);
}

static int open_period(uint64_t period, const char *modes)
{
	struct perf_event_attr attr = each_attr();

	attr.exclude_kernel = !strchr(modes, 'k');
	attr.sample_period = period;
	return perf_open(&attr, 0, -1, -1, 0);
}

static bool samples_exclude_traces(void)
{
	struct perf_event_attr branches = branch_attr(FORM_ANY);
	bool good;
	int fd;

	need_bts();
	fd = MUST(open_period(1, "u"));
	good = expect_refused("a trace beside it", open_bts("u"), EBUSY, "type: branches") &
	       expect(perf_open(&branches, 0, -1, -1, 0) >= 0, "branch records: errno %d", errno);
	close(fd);
	return good;
}

#define EVERY	10	/* rounds of 7 branches: each is sampled in turn */

/* The period of such an event can become another; that of others cannot become 1. */
static bool period_changes(void)
{
	struct perf_event_attr attr = each_attr();
	uint64_t period = EVERY, one = 1;
	struct perf_event_header *h;
	struct branch b[ROUND];
	unsigned int n = 0, wrong = 0;
	struct ring ring;
	int fd, last = -1;
	bool good;

	require_exact_instructions();
	branches_of(branch_loop_points, b);
	fd = open_each(&ring, &attr);
	MUST(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
	event_enable(fd);
	branch_loop(1000);
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct perf_branch_entry e = { 0 };
		struct sample s;
		int at;

		sample_parse(&s, h, &attr);
		e.from = s.ip;
		e.to = s.addr;
		at = position_of(&e, b, ROUND);
		wrong += last >= 0 && at >= 0 && at != (last + EVERY) % ROUND;
		last = at;
		n += at >= 0;
	}
	good = expect_between("samples", n, 7000 / EVERY - 2, 7000 / EVERY + 1) &
	       expect_eq("samples that do not follow", wrong, 0) &
	       expect_between("branches", perf_count(fd), 7000, 7100);
	close(fd);

	fd = MUST(open_period(2, "u"));
	good &= expect_errno("from 2 to 1", ioctl(fd, PERF_EVENT_IOC_PERIOD, &one), EINVAL);
	close(fd);
	return good;
}

static bool traces_exclude_samples(void)
{
	bool good;
	int fd;

	need_bts();
	fd = MUST(open_bts("u"));
	good = expect_refused("samples beside a trace", open_period(1, "u"), EBUSY,
			      "sample_period: branches") &
	       expect(open_period(2, "u") >= 0, "with period 2: errno %d", errno);
	close(fd);
	return good & expect(open_period(1, "u") >= 0, "afterwards: errno %d", errno);
}

static const struct test tests[] = {
	{ "with period 1 there is a sample of every branch", samples_are_exact },
	{ "such samples share interrupts", samples_share_interrupts },
	{ "such samples are of one task", samples_of_one_task },
	{ "two events have the samples from their start to their end", events_share_records },
	{ "nine events take turns, eight at a time", ninth_event_waits },
	{ "a child inherits such an event", child_is_sampled },
	{ "such samples exclude traces", samples_exclude_traces },
	{ "the period can become another, but not 1", period_changes },
	{ "traces exclude such samples", traces_exclude_samples },
};

TESTS_MAIN_SETUP(tests, need_store)
#else
TESTS_MAIN_SKIPPED("branch trace store", "not an x86")
#endif
