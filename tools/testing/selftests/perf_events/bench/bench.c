// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmark of perf_events: the cost of counting and sampling, row by row.
 *
 * usage: bench [REGEX]: rows with names that match the extended regular expression, or all
 *
 * Prints "row NAME raw R marginal M" for each, "access NAME ..." with the accesses to PMU registers
 * of one operation where the emulator counts them, "skip NAME REASON" where the machine lacks what
 * the row needs, "fail NAME REASON" on a failure, and "done" at the end. Runs as init of a guest or
 * as any root process. Figures are nanoseconds of CLOCK_MONOTONIC, which under QEMU's -icount
 * shift=0 are instructions.
 */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/utsname.h>
#include "bench.h"

#define MAX_ROUNDS 64

#define PERF_DEFAULT (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)
#define CALLCHAIN (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define REGS_STACK (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER | \
		    PERF_SAMPLE_STACK_USER)

#define SWITCH2(n, ...) \
	{ "switch2-" n, &work_switch2, { __VA_ARGS__ }, .floor = "switch2-none" }
#define FORK_EXIT(n, ...) \
	{ "fork-exit-" n, &work_fork_exit, { __VA_ARGS__ }, .floor = "fork-exit-none" }
#define SPIN(n, ...) \
	{ n, &work_spin, { __VA_ARGS__ }, .floor = "spin-none" }
#define FAULT(n, type, ...) \
	{ "fault-sample-" n, &work_fault, \
	  { .sw = 1, .period = 1, .sample_type = (type), __VA_ARGS__ }, \
	  .floor = "fault-none", .records = 1 }
#define STACK(n, size) \
	{ "fault-sample-stack" n, &work_fault_deep, \
	  { .sw = 1, .period = 1, .sample_type = REGS_STACK, .stack = (size) }, \
	  .floor = "fault-deep-none", .records = 1 }
#define OVERFLOW(n, work, type, ...) \
	{ "hw-overflow-" n, (work), \
	  { .hw = 1, .period = 25000, .sample_type = (type), __VA_ARGS__ }, \
	  .floor = "spin-none", .records = 40, .per_record = true }
#define KPROBE(n, ...) \
	{ "kprobe-" n, &work_getppid, { .sw = 1, .probe = PROBE_KPROBE, __VA_ARGS__ }, \
	  .floor = "kprobe-none" }
#define UPROBE(n, ...) \
	{ "uprobe-" n, &work_call, { .sw = 1, .probe = PROBE_UPROBE, __VA_ARGS__ }, \
	  .floor = "uprobe-none" }

static const struct row rows[] = {
	{ "getppid", &work_getppid },
	{ "open-close-sw-task", &work_open_close, { .sw = 1 } },
	{ "open-close-sw-cpu", &work_open_close, { .sw = 1, .cpu = true } },
	{ "open-close-hw-task", &work_open_close, { .hw = 1 } },
	{ "open-close-hw-cpu", &work_open_close, { .hw = 1, .cpu = true } },
	{ "open-reject", &work_open_reject },
	{ "read-sw", &work_read, { .sw = 1 }, .floor = "getppid" },
	{ "ioctl-disable-enable-sw", &work_toggle, { .sw = 1 } },
	{ "read-group8-sw", &work_read, { .sw = 8, .group = true }, .floor = "getppid" },
	{ "read-group4-hw", &work_read, { .hw = 4, .group = true }, .floor = "getppid" },
	{ "read-hw", &work_read, { .hw = 1 }, .floor = "getppid" },
	{ "ioctl-disable-enable-hw", &work_toggle, { .hw = 1 } },
	{ "switch2-none", &work_switch2 },
	SWITCH2("sw1", .sw = 1),
	SWITCH2("sw8", .sw = 8),
	SWITCH2("sw32", .sw = 32),
	SWITCH2("sw8-both", .sw = 8, .both = true),
	SWITCH2("hw1", .hw = 1),
	SWITCH2("hw4", .hw = 4),
	SWITCH2("hw4-group", .hw = 4, .group = true),
	SWITCH2("hw4-both", .hw = 4, .both = true),
	SWITCH2("hw16-mux", .hw = 16),
	SWITCH2("hw128-mux", .hw = 128),
	SWITCH2("sw4hw4-both", .sw = 4, .hw = 4, .both = true),
	SWITCH2("branches-both", .hw = 1, .both = true, .branches = PERF_SAMPLE_BRANCH_ANY,
		.period = 1ull << 30, .sample_type = PERF_SAMPLE_IP),
	SWITCH2("branches-stack-both", .hw = 1, .both = true,
		.branches = PERF_SAMPLE_BRANCH_CALL_STACK, .period = 1ull << 30,
		.sample_type = PERF_SAMPLE_IP),
	SWITCH2("branches-cpu", .hw = 1, .cpu = true, .branches = PERF_SAMPLE_BRANCH_ANY,
		.period = 1ull << 30, .sample_type = PERF_SAMPLE_IP),
	SWITCH2("precise-both", .hw = 1, .both = true, .precise = 2, .period = 1ull << 30,
		.sample_type = CALLCHAIN),
	SWITCH2("batch-both", .hw = 1, .both = true, .precise = 2, .period = 1ull << 30,
		.sample_type = PERF_SAMPLE_IP),
	SWITCH2("topdown-both", .hw = 5, .both = true, .group = true, .topdown = true),
	SWITCH2("ibs-both", .hw = 1, .both = true, .ibs = true, .period = 1ull << 26,
		.sample_type = PERF_SAMPLE_IP),
	{ "fork-exit-none", &work_fork_exit },
	FORK_EXIT("inherit-sw1", .sw = 1, .inherit = true),
	FORK_EXIT("inherit-sw8", .sw = 8, .inherit = true),
	FORK_EXIT("inherit-sw32", .sw = 32, .inherit = true),
	FORK_EXIT("inherit-hw4", .hw = 4, .inherit = true),
	{ "fault-none", &work_fault },
	FAULT("ip", PERF_SAMPLE_IP),
	FAULT("perf-default", PERF_DEFAULT),
	FAULT("callchain", CALLCHAIN),
	FAULT("regs-stack1k", REGS_STACK, .stack = 1024),
	{ "fault-deep-none", &work_fault_deep },
	STACK("8k", 8 * 1024),
	STACK("32k", 32 * 1024),
	{ "fault-few-none", &work_fault_few },
	/* Of a stack that ends before the size that the sample may have. */
	{ "fault-sample-stack-end", &work_fault_few,
	  { .sw = 1, .period = 1, .sample_type = REGS_STACK, .stack = 8 * 1024 },
	  .floor = "fault-few-none", .records = 1 },
	/* 40 records for each spin of a million instructions. */
	OVERFLOW("to-record", &work_overflow, PERF_DEFAULT),
	/* A round has 1600 records of 816 bytes. */
	OVERFLOW("branches", &work_overflow, PERF_DEFAULT, .branches = PERF_SAMPLE_BRANCH_ANY,
		 .pages = 512),
	/* A callchain is taken in the interrupt: each record has its own. */
	OVERFLOW("precise", &work_overflow, CALLCHAIN, .precise = 2),
	OVERFLOW("batch", &work_overflow_batch, PERF_SAMPLE_IP | PERF_SAMPLE_TID, .precise = 2),
	{ "mmap-exec-none", &work_mmap_exec },
	{ "mmap-exec-sideband", &work_mmap_exec, { .sw = 1, .sideband = true },
	  .floor = "mmap-exec-none", .records = 1, .record_type = PERF_RECORD_MMAP2 },
	{ "fork-exit-sideband", &work_fork_exit, { .sw = 1, .sideband = true },
	  .floor = "fork-exit-none", .records = 1, .record_type = PERF_RECORD_FORK },
	/* The cost beyond the floor is per million instructions. */
	{ "spin-none", &work_spin },
	{ "tick-ppm-freq64", &work_spin,
	  { .sw = 64, .period = 1000, .freq = true, .sample_type = PERF_DEFAULT },
	  .floor = "spin-none" },
	SPIN("mux-ppm-hw16", .hw = 16),
	SPIN("mux-ppm-hw256", .hw = 256),
	SPIN("mux-ppm-hw1024", .hw = 1024),
	SPIN("tick-ppm-sw256", .sw = 256),
	SWITCH2("cgroup2", .cgroups = 2),
	SWITCH2("cgroup16", .cgroups = 16),
	SWITCH2("cgroup128", .cgroups = 128),
	{ "munmap-none", &work_unmap_freed, { .sw = 1 } },
	{ "mmap8", &work_map, { .sw = 1, .pages = 8 } },
	{ "munmap8", &work_unmap, { .sw = 1, .pages = 8 } },
	{ "munmap8-freed", &work_unmap_freed, { .sw = 1, .pages = 8 }, .floor = "munmap-none" },
	{ "mmap512", &work_map, { .sw = 1, .pages = 512 } },
	{ "munmap512", &work_unmap, { .sw = 1, .pages = 512 } },
	{ "munmap512-freed", &work_unmap_freed, { .sw = 1, .pages = 512 },
	  .floor = "munmap-none" },
	{ "close-hw-task", &work_close, { .hw = 1 } },
	{ "close-hw-cpu", &work_close, { .hw = 1, .cpu = true } },
	{ "open512-hw", &work_open_many, { .hw = 1 } },
	{ "close512-hw", &work_close_many, { .hw = 1 } },
	{ "set-output", &work_set_output, { .sw = 1, .cpu = true, .pages = 8 } },
	{ "poll64", &work_poll, { .sw = POLLED, .pages = 1 } },
	{ "ioctl-period-sw", &work_period,
	  { .sw = 1, .period = 1ull << 40, .sample_type = PERF_DEFAULT } },
	{ "ioctl-period-hw", &work_period,
	  { .hw = 1, .period = 1ull << 30, .sample_type = PERF_DEFAULT } },
	{ "ioctl-group8-sw", &work_toggle_group, { .sw = 8, .group = true } },
	{ "ioctl-group4-hw", &work_toggle_group, { .hw = 4, .group = true } },
	{ "read-inherit100-sw", &work_read_inherited, { .sw = 1, .inherit = true } },
	{ "read-inherit100-hw", &work_read_inherited, { .hw = 1, .inherit = true } },
	{ "kprobe-none", &work_getppid, { .sw = 1, .disabled = true, .probe = PROBE_KPROBE } },
	KPROBE("count"),
	KPROBE("bpf", .bpf = true),
	{ "uprobe-none", &work_call, { .sw = 1, .disabled = true, .probe = PROBE_UPROBE } },
	UPROBE("count"),
	UPROBE("bpf", .bpf = true),
	{ "breakpoint-count", &work_store, { .sw = 1, .probe = PROBE_BREAKPOINT } },
	{ "exec-none", &work_exec },
	{ "exec-enable-hw4", &work_exec_enable, { .hw = 4, .exec = true, .inherit = true },
	  .floor = "exec-none" },
	{ "exec-sideband16", &work_exec,
	  { .sw = 16, .cpu = true, .sideband = true, .pages = RING_PAGES },
	  .floor = "exec-none", .records = 1, .record_type = PERF_RECORD_COMM },
};

/* Raw figures of the rows that ran, for rows with these as floor; 0: did not run. */
static double raw_of[ARRAY_SIZE(rows)];

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Stores the reason, with errno if that is set. Returns false, for the caller to return. */
bool run_failed(struct run *run, const char *what)
{
	snprintf(run->reason, sizeof(run->reason), "%s%s%s", what, errno ? ": " : "",
		 errno ? strerror(errno) : "");
	return false;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool check_records(struct run *run, unsigned int ops)
{
	uint64_t want = (uint64_t)run->row->records * ops, got = ring_drain(run);

	/* A period may straddle two rounds. */
	if (!want || (got + 1 >= want && got <= want + 1))
		return true;
	snprintf(run->reason, sizeof(run->reason), "%llu records instead of %llu",
		 (unsigned long long)got, (unsigned long long)want);
	return false;
}

static bool one_round(struct run *run, unsigned int ops, double *cost)
{
	const struct work *work = run->row->work;
	uint64_t start;

	if (work->prepare && !work->prepare(run))
		return false;
	ring_drain(run);
	start = now_ns();
	if (!work->round(run, ops))
		return false;
	*cost = (double)(now_ns() - start) / ops;
	return check_records(run, ops);
}

/* Mean of the middle half, which excludes rounds in which a kernel thread ran. */
static double middle(double *cost, unsigned int rounds)
{
	unsigned int skip = rounds / 4, i;
	double sum = 0;

	qsort(cost, rounds, sizeof(cost[0]), ascending);
	for (i = skip; i < rounds - skip; i++)
		sum += cost[i];
	return sum / (rounds - 2 * skip);
}

/* Prints the register accesses of one operation, where they are known. */
static void show_access(const struct run *run)
{
	const struct work *work = run->row->work;
	double ops = (double)work->rounds * work->ops;
	struct access now;

	if (!run->nr_fds || !access_counts(&now))
		return;
	printf("access %s writes %.2f reads %.2f rdpmc %.2f\n", run->row->name,
	       (now.writes - run->before.writes) / ops, (now.reads - run->before.reads) / ops,
	       (now.rdpmc - run->before.rdpmc) / ops);
}

/*
 * The hooks of the scheduler stay patched in for a second after the last event is closed. A floor
 * that is measured in that second has a part of the row's cost in it.
 */
static void wait_for_keys(void)
{
	nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 200000000 }, NULL);
}

/* One round warms up slabs, branch keys and page tables; a short one for rows with turns. */
static bool all_rounds(struct run *run, double *raw)
{
	const struct work *work = run->row->work;
	unsigned int rounds = work->rounds, i;
	double cost[MAX_ROUNDS];

	if (!run->nr_fds)
		wait_for_keys();
	if (!one_round(run, work->ops / (work->turns ? 10 : 1), &cost[0]))
		return false;
	access_counts(&run->before);
	for (i = 0; i < rounds; i++) {
		if (!one_round(run, work->ops, &cost[i]))
			return false;
	}
	show_access(run);
	*raw = middle(cost, rounds);
	return true;
}

static bool run_row(struct run *run, double *raw)
{
	const struct work *work = run->row->work;
	bool ok = !work->setup || work->setup(run);

	ok = ok && events_open(run) && all_rounds(run, raw) && events_check(run);
	events_close(run);
	if (work->teardown)
		work->teardown(run);
	return ok;
}

static const struct row *find_row(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	}
	return NULL;
}

static bool measure(struct run *run, const struct row *row, double *raw)
{
	*run = (struct run) { .row = row };
	errno = 0;
	return run_row(run, raw);
}

/* Returns the raw cost of @row, measured if necessary; 0 and run->reason on failure. */
static double raw_cost(struct run *run, const struct row *row)
{
	double *raw = &raw_of[row - rows];

	if (!*raw && !measure(run, row, raw))
		*raw = 0;
	return *raw;
}

static bool measure_once(struct run *run, const struct row *row, double *raw, double *marginal)
{
	double floor = row->floor ? raw_cost(run, find_row(row->floor)) : 0;

	if (row->floor && !floor)
		return false;
	*raw = raw_cost(run, row);
	*marginal = *raw - floor;
	return *raw;
}

/* Floor and row alternate; a turn of the row is compared with the floor before and after it. */
static bool measure_in_turns(struct run *run, const struct row *row, double *raw, double *marginal)
{
	double cost[MAX_ROUNDS], more[MAX_ROUNDS], before, after;
	const struct row *floor = find_row(row->floor);
	unsigned int turns = row->work->turns, i;

	if (!measure(run, floor, &before))
		return false;
	for (i = 0; i < turns; i++) {
		if (!measure(run, row, &cost[i]) || !measure(run, floor, &after))
			return false;
		more[i] = cost[i] - (before + after) / 2;
		before = after;
	}
	*raw = middle(cost, turns);
	*marginal = middle(more, turns);
	return true;
}

static bool show_row(const struct row *row)
{
	bool in_turns = row->floor && row->work->turns;
	double raw, marginal;
	static struct run run;

	if (!(in_turns ? measure_in_turns : measure_once)(&run, row, &raw, &marginal)) {
		printf("%s %s %s\n", run.skip ? "skip" : "fail", row->name, run.reason);
		return run.skip;
	}
	if (row->per_record)
		marginal /= row->records;
	printf("row %s raw %.0f marginal %.0f\n", row->name, raw, marginal);
	return true;
}

static void show_kernel(void)
{
	struct utsname name;

	if (!uname(&name))
		printf("kernel %s %s %s\n", name.release, name.machine, name.version);
}

int main(int argc, char **argv)
{
	/* The kernel passes unknown words of its command line before this argument. */
	const char *pattern = argc > 1 ? argv[argc - 1] : ".";
	unsigned int failed = 0;
	bool ok = true;
	regex_t regex;
	size_t i;

	/* The program that the rows about exec run. */
	if (argc == 2 && !strcmp(argv[1], "--exit"))
		return 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!guest_setup())
		perror("bench: limits");
	show_kernel();
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB)) {
		fprintf(stderr, "bench: bad regular expression %s\n", pattern);
		ok = false;
	}
	for (i = 0; ok && i < ARRAY_SIZE(rows); i++) {
		if (!regexec(&regex, rows[i].name, 0, NULL, 0))
			failed += !show_row(&rows[i]);
	}
	printf("done\n");
	guest_finish();
	return !ok || failed;
}
