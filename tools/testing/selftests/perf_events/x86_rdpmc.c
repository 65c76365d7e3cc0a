// SPDX-License-Identifier: GPL-2.0
/*
 * The raw value of a counter that user space reads. Programs such as PAPI reset an event, keep what
 * RDPMC returns, and take differences to that without the user page's offset. So the raw value has
 * to continue where it stood, whatever happened to the event meanwhile, and shows no other task.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_rdpmc.h"

#define LOOPS	100000

/* Instructions from one look to the next, beside the loop between them. */
#define LOOK_SLACK	400

/* An event of the calling task, and its user page. */
struct reader {
	int					fd;
	volatile struct perf_event_mmap_page	*page;
};

/* What a program finds at one time; @raw is sign-extended. */
struct look {
	int64_t		raw, offset;
};

/* @output: an event that is mapped, or -1. */
static struct reader reader_new_in(uint64_t event, int output)
{
	struct perf_event_attr attr = hw_attr(event, "u");
	struct reader r;

	attr.disabled = 0;
	r.fd = open_self(&attr, -1);
	if (output >= 0)
		MUST(ioctl(r.fd, PERF_EVENT_IOC_SET_OUTPUT, output));
	r.page = map_event(r.fd);
	return r;
}

static struct reader reader_new(uint64_t event)
{
	return reader_new_in(event, -1);
}

/* False if the event is on no counter. */
static bool try_look(const struct reader *r, struct look *l)
{
	unsigned int shift = 64 - r->page->pmc_width;
	uint32_t seq, index;

	do {
		seq = r->page->lock;
		__sync_synchronize();
		index = r->page->index;
		l->offset = r->page->offset;
		if (index)
			l->raw = (int64_t)(read_rdpmc(index - 1) << shift) >> shift;
		__sync_synchronize();
	} while (r->page->lock != seq);
	return index;
}

static struct look look(const struct reader *r)
{
	struct look l;

	if (!try_look(r, &l))
		fail_case("no counter to read");
	return l;
}

/* The raw value moved by @own instructions and little more, the offset by nothing. */
static bool moved_by(const char *what, struct look before, struct look after, uint64_t own)
{
	return expect_between(what, after.raw - before.raw, own, own + LOOK_SLACK) &
	       expect_eq("offset moved by", after.offset - before.offset, 0);
}

/* Events that a worker opens; those of the reader are enough to disturb it. */
enum worker_events { NO_EVENTS, UNMAPPED, MAPPED };

static void worker_open(enum worker_events events)
{
	for (unsigned int i = 0; events && i < 4; i++) {
		struct perf_event_attr attr = hw_attr(i & 1, i & 2 ? "u" : "uk");
		int fd;

		attr.disabled = 0;
		fd = open_self(&attr, -1);
		if (events == MAPPED)
			map_event(fd);
	}
}

/* A task that executes ten million instructions in its turn. */
static pid_t worker_new(enum worker_events events, int cpu)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	MUST(pin_to_cpu(cpu));
	worker_open(events);
	for (;;) {
		await_turn(turn.to_worker);
		run_loop(50 * LOOPS);
		pass_turn(turn.to_spy);
	}
}

static void turns_new(void)
{
	require_exact_instructions();
	MUST(pin_to_cpu(0));
	MUST(pipe(turn.to_worker));
	MUST(pipe(turn.to_spy));
}

static void give_turn(void)
{
	pass_turn(turn.to_worker);
	await_turn(turn.to_spy);
}

static bool continues_over_switches(void)
{
	static const char *const what[] = {
		"beside a task without events", "beside a counted task", "beside another reader",
	};
	struct reader r;
	bool good = true;

	turns_new();
	r = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	for (enum worker_events e = NO_EVENTS; e <= MAPPED; e++) {
		pid_t worker = worker_new(e, 0);

		for (int i = 0; good && i < 20; i++) {
			struct look before = look(&r);

			run_loop(LOOPS);
			give_turn();
			good = moved_by(what[e], before, look(&r), LOOP_INSNS(LOOPS));
		}
		kill_child(worker);
	}
	return good;
}

static bool continues_over_migrations(void)
{
	struct look before, first;
	struct reader r;
	bool good = true;
	pid_t worker;

	require_cpus(2);
	turns_new();
	worker = worker_new(UNMAPPED, 1);
	r = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	first = look(&r);
	for (int i = 0; good && i < 20; i++) {
		before = look(&r);
		MUST(pin_to_cpu(!(i & 1)));
		run_loop(LOOPS);
		give_turn();
		good = expect_between("after a migration", look(&r).raw - before.raw,
				      LOOP_INSNS(LOOPS), LOOP_INSNS(LOOPS) + LOOK_SLACK);
	}
	kill_child(worker);
	return good & expect_eq("offset moved by", look(&r).offset - first.offset, 0);
}

/* While the event waits it counts nothing, and the raw value stands still. */
static bool continues_over_waits(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned int waits = 0, turns = 0;
	struct look first, now;
	struct reader r;
	bool good = true;
	uint64_t count;

	turns_new();
	r = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	first = look(&r);
	count = perf_count(r.fd);
	attr.disabled = 0;
	for (unsigned int i = 0; i < 20; i++)
		open_self(&attr, -1);
	for (unsigned int i = 0; good && i < 400; i++) {
		run_loop(LOOPS);
		if (!try_look(&r, &now)) {
			waits++;
			continue;
		}
		turns++;
		good = expect_eq("offset moved by", now.offset - first.offset, 0);
		good &= expect_near("raw value moved by", now.raw - first.raw,
				    perf_count(r.fd) - count, LOOK_SLACK);
	}
	return good & expect_between("turns", turns, 20, 400) &
	       expect_between("waits", waits, 20, 400);
}

/* As PAPI counts: the value at the reset is what later values are compared with. */
static bool reader_continues_over_resets(struct reader r)
{
	pid_t worker = worker_new(UNMAPPED, 0);
	bool good = true;

	give_turn();
	for (int i = 0; good && i < 20; i++) {
		struct look base;

		run_loop(LOOPS);
		MUST(ioctl(r.fd, PERF_EVENT_IOC_RESET, 0));
		base = look(&r);
		run_loop(LOOPS);
		give_turn();
		good = expect_between("since the reset", look(&r).raw - base.raw,
				      LOOP_INSNS(LOOPS), LOOP_INSNS(LOOPS) + LOOK_SLACK);
		good &= expect_near("read()", perf_count(r.fd), LOOP_INSNS(LOOPS), LOOPS / 20);
	}
	kill_child(worker);
	return good;
}

static bool continues_over_resets(void)
{
	turns_new();
	return reader_continues_over_resets(reader_new(PERF_COUNT_HW_INSTRUCTIONS));
}

/* The page becomes the event's when another one that has mapped the buffer unmaps it. */
static bool continues_in_shared_page(void)
{
	struct reader first, r;

	turns_new();
	first = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	r = reader_new_in(PERF_COUNT_HW_INSTRUCTIONS, first.fd);
	MUST(munmap((void *)first.page, 4096));
	return reader_continues_over_resets(r);
}

static bool continues_when_it_is_enabled_again(void)
{
	struct reader r;
	bool good = true;
	pid_t worker;

	turns_new();
	r = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	worker = worker_new(UNMAPPED, 0);
	for (int i = 0; good && i < 20; i++) {
		struct look before = look(&r);

		event_disable(r.fd);
		run_loop(LOOPS);
		give_turn();
		event_enable(r.fd);
		run_loop(LOOPS);
		good = moved_by("while it was enabled", before, look(&r), LOOP_INSNS(LOOPS));
	}
	kill_child(worker);
	return good;
}

/* The occurrences of a child are added to the count, not to the parent's counter. */
static bool continues_over_forks(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct look before;
	struct reader r;
	bool good = true;
	pid_t child;

	turns_new();
	attr.disabled = 0;
	attr.inherit = 1;
	r.fd = MUST(perf_open(&attr, 0, 0, -1, PERF_FLAG_FD_CLOEXEC));
	r.page = map_event(r.fd);
	for (int i = 0; good && i < 10; i++) {
		before = look(&r);
		child = fork_child();
		if (!child) {
			run_loop(10 * LOOPS);
			_exit(0);
		}
		good &= child_succeeded(child);
		run_loop(LOOPS);
		good &= expect_between("in the parent", look(&r).raw - before.raw,
				       LOOP_INSNS(LOOPS), LOOP_INSNS(LOOPS) + 20 * LOOK_SLACK);
	}
	return good & expect_between("count of all", perf_count(r.fd), LOOP_INSNS(110 * LOOPS),
				     LOOP_INSNS(111 * LOOPS));
}

/* The rights of the process change nothing in what it reads already. */
static bool continues_over_other_mappings(void)
{
	struct reader first, second;
	struct look before, then;
	bool good = true;
	pid_t worker;

	turns_new();
	worker = worker_new(UNMAPPED, 0);
	first = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	for (int i = 0; good && i < 10; i++) {
		before = look(&first);
		second = reader_new(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
		then = look(&second);
		run_loop(LOOPS);
		give_turn();
		good = expect_between("the second event", look(&second).raw - then.raw, 1,
				      LOOP_INSNS(LOOPS) + LOOK_SLACK);
		munmap((void *)second.page, 4096);
		close(second.fd);
		good &= expect_between("the first event", look(&first).raw - before.raw,
				       LOOP_INSNS(LOOPS), LOOP_INSNS(LOOPS) + 10 * LOOK_SLACK);
	}
	kill_child(worker);
	return good;
}

/* Its process reads the counter; that it moves only while the event counts is what is shown. */
static bool continues_where_a_mapping_began(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct look before;
	struct reader r;
	bool good = true;
	pid_t worker;

	turns_new();
	worker = worker_new(UNMAPPED, 0);
	for (int i = 0; good && i < 10; i++) {
		attr.disabled = 0;
		r.fd = open_self(&attr, -1);
		give_turn();
		r.page = map_event(r.fd);
		before = look(&r);
		run_loop(LOOPS);
		give_turn();
		good = moved_by("since the mapping", before, look(&r), LOOP_INSNS(LOOPS));
		munmap((void *)r.page, 4096);
		give_turn();
		close(r.fd);
	}
	kill_child(worker);
	return good;
}

/* As PAPI computes a count: the offset is taken in the width of the counter, too. */
static uint64_t count_in_width(const struct reader *r)
{
	unsigned int shift = 64 - r->page->pmc_width;
	struct look l = look(r);

	return ((int64_t)((uint64_t)l.offset << shift) >> shift) + l.raw;
}

static bool offset_fits_the_width(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct reader r;
	bool good;

	turns_new();
	r = reader_new(PERF_COUNT_HW_INSTRUCTIONS);
	good = expect_near("mapped at once", count_in_width(&r), perf_count(r.fd), LOOK_SLACK);
	run_loop(LOOPS);
	MUST(ioctl(r.fd, PERF_EVENT_IOC_RESET, 0));
	good &= expect_near("after a reset", count_in_width(&r), perf_count(r.fd), LOOK_SLACK);
	attr.disabled = 0;
	r.fd = open_self(&attr, -1);
	run_loop(LOOPS);
	r.page = map_event(r.fd);
	return good & expect_near("mapped later", count_in_width(&r), perf_count(r.fd), LOOK_SLACK);
}

#define GENERAL_COUNTERS	1
#define FIXED_COUNTERS		2
#define SWITCHES		500

/* Writes to counters in SWITCHES switches of a reader with four events to a worker and back. */
static uint64_t counter_writes(enum worker_events events)
{
	struct reader r[4];
	uint64_t before;
	pid_t worker = fork_child();

	if (!worker) {
		worker_open(events);
		for (;;) {
			await_turn(turn.to_worker);
			pass_turn(turn.to_spy);
		}
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(r); i++)
		r[i] = reader_new(i & 1);
	give_turn();
	before = stats_of(GENERAL_COUNTERS).writes + stats_of(FIXED_COUNTERS).writes;
	for (unsigned int i = 0; i < SWITCHES; i++)
		give_turn();
	before = stats_of(GENERAL_COUNTERS).writes + stats_of(FIXED_COUNTERS).writes - before;
	kill_child(worker);
	for (unsigned int i = 0; i < ARRAY_SIZE(r); i++) {
		munmap((void *)r[i].page, 4096);
		close(r[i].fd);
	}
	return before;
}

/* The counters stand still while the reader is away, and keep their values. */
static bool costs_few_writes(void)
{
	/* A Pentium 4's counters are written twice (erratum N15). */
	bool p4 = !access("/sys/bus/event_source/devices/cpu/format/cccr", F_OK);
	unsigned int times = p4 ? 2 : 1;

	need_stats();
	if (!kernel_gives_reasons() && !access("/proc/sys", F_OK))
		skip_case("this kernel writes at every switch");
	turns_new();
	/* A few switches to other tasks happen on the way. */
	return expect_between("writes beside a task without events", counter_writes(NO_EVENTS), 0,
			      SWITCHES / 10) &
	       expect_between("writes beside a counted task", counter_writes(UNMAPPED), 0,
			      times * (2 * 4 * SWITCHES + SWITCHES / 10));
}

static const struct test tests[] = {
	{ "the raw value continues over switches", continues_over_switches },
	{ "the raw value continues over migrations", continues_over_migrations },
	{ "the raw value continues over waits for a counter", continues_over_waits },
	{ "the raw value continues over resets", continues_over_resets },
	{ "the raw value continues in a page that was shared", continues_in_shared_page },
	{ "the raw value continues when it is enabled again", continues_when_it_is_enabled_again },
	{ "the raw value continues over forks", continues_over_forks },
	{ "the raw value continues over other mappings", continues_over_other_mappings },
	{ "the raw value continues from the first mapping", continues_where_a_mapping_began },
	{ "the offset fits the width of the counter", offset_fits_the_width },
	{ "a mapped event costs few writes to counters", costs_few_writes },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("x86_rdpmc", "not an x86")
#endif
