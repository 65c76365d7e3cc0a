// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations that fail: each system call is repeated, and each time the next of its allocations
 * fails. It either works without, or fails with ENOMEM and leaves nothing behind: earlier events
 * keep counting, and the call works once there is memory.
 *
 * Needs a kernel with fault injection (CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC); the debug kernel
 * has it, and looks for leaks after the tests.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "workloads.h"

#include <linux/hw_breakpoint.h>

#define MANY	2000	/* more allocations than any call here makes */

static const char fail_nth[] = "/proc/thread-self/fail-nth";
static int fail_fd = -1;

/* By default only allocations that may not sleep fail. */
static void need_faults(void)
{
	static const char * const wait[] = {
		"/sys/kernel/debug/failslab/ignore-gfp-wait",
		"/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(wait); i++) {
		if (write_line(wait[i], "N"))
			skip_case("no fault injection in this kernel");
	}
	write_line("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	write_line("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	write_line("/sys/kernel/debug/failslab/verbose", "0");
	fail_fd = MUST(open(fail_nth, O_RDWR | O_CLOEXEC));
}

static void fail_next(unsigned int nth)
{
	char line[16];

	MUST(pwrite(fail_fd, line, snprintf(line, sizeof(line), "%u", nth), 0));
}

/* Disarms fault injection. Returns whether an allocation has failed. */
static bool has_failed(void)
{
	int error = errno;
	char line[16] = "";
	bool failed;

	MUST(pread(fail_fd, line, sizeof(line) - 1, 0));
	failed = !strtoul(line, NULL, 10);
	if (!failed)
		MUST(pwrite(fail_fd, "0", 1, 0));
	errno = error;
	return failed;
}

/*
 * @call returns what it created, for @undo, or -1 and errno. True if it fails with ENOMEM or not at
 * all, at least once with ENOMEM, and works in the end.
 */
static bool every_allocation(const char *what, long (*call)(void), void (*undo)(long))
{
	unsigned int nth, refusals = 0;
	bool failed = true;
	long made;

	for (nth = 1; failed && nth < MANY; nth++) {
		fail_next(nth);
		made = call();
		failed = has_failed();
		if (made >= 0) {
			undo(made);
			continue;
		}
		refusals++;
		if (errno != ENOMEM) {
			ktap_note("%s, allocation %u: %s", what, nth, strerrorname_np(errno));
			return false;
		}
	}
	if (!expect_between(what, refusals, 1, nth) ||
	    !expect_between("allocations", nth, 2, MANY - 1))
		return false;
	return true;
}

static void close_made(long fd)
{
	close(fd);
}

static struct perf_event_attr wanted;
static int wanted_pid, wanted_cpu, wanted_group;

static long open_wanted(void)
{
	return perf_open(&wanted, wanted_pid, wanted_cpu, wanted_group, PERF_FLAG_FD_CLOEXEC);
}

static bool open_without(const char *what, struct perf_event_attr attr, int pid, int cpu, int group)
{
	wanted = attr;
	wanted_pid = pid;
	wanted_cpu = cpu;
	wanted_group = group;
	return every_allocation(what, open_wanted, close_made);
}

static volatile int watched;

static bool open_events(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr sampling = attr;
	struct perf_event_attr trace = perf_attr(PERF_TYPE_TRACEPOINT, 0);
	struct perf_event_attr bp = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	pid_t pid = fork_waiting_child();
	bool good;

	need_faults();
	trace.config = tracepoint_id("syscalls/sys_enter_getppid");
	bp.bp_type = HW_BREAKPOINT_W;
	bp.bp_len = HW_BREAKPOINT_LEN_4;
	bp.bp_addr = (unsigned long)&watched;
	bp.exclude_kernel = 1;
	sampling.sample_period = 1;
	sampling.sample_type = PERF_SAMPLE_CALLCHAIN;
	good = open_without("a task's software event", attr, 0, -1, -1);
	good &= open_without("another task's", attr, pid, -1, -1);
	good &= open_without("a CPU's", attr, -1, 0, -1);
	good &= open_without("with call chains", sampling, 0, -1, -1);
	good &= open_without("a tracepoint", trace, 0, -1, -1);
	good &= open_without("a breakpoint", bp, 0, -1, -1);
	if (event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) {
		attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
		good &= open_without("a hardware event", attr, 0, -1, -1);
		good &= open_without("another task's hardware event", attr, pid, -1, -1);
	}
	kill_child(pid);
	return good;
}

/* The third member of a group cannot be opened: the other two keep counting. */
static bool group_keeps_counting(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before;
	int leader, member;
	bool good;

	need_faults();
	leader = open_self(&attr, -1);
	member = open_self(&attr, leader);
	before = perf_count(member);
	good = open_without("a member", attr, 0, -1, leader);
	for (int i = 0; i < 10; i++) {
		char *p = mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		*(volatile char *)p = 1;
		munmap(p, 4096);
	}
	return good & expect_between("faults since", perf_count(member) - before, 10, 100000) &
	       expect_between("the leader's", perf_count(leader), perf_count(member), UINT64_MAX);
}

/* Inherited events: two groups, one of them of three. */
#define INHERITED	4
static int inherited[INHERITED];

static void open_inherited(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);

	attr.inherit = 1;
	attr.read_format = FORMAT_TIMES;
	for (int i = 0; i < INHERITED; i++) {
		if (i == 2 && event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
			attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
		attr.inherit = 1;
		attr.disabled = 0;
		attr.read_format = FORMAT_TIMES;
		inherited[i] = open_self(&attr, i == 1 || i == 3 ? inherited[i & 2] : -1);
	}
}

static long fork_one(void)
{
	pid_t pid = fork();

	if (!pid) {
		run_loop(1000);
		_exit(0);
	}
	return pid;
}

static void reap_child(long pid)
{
	waitpid(pid, NULL, 0);
}

static bool fork_tasks(void)
{
	uint64_t enabled[INHERITED];
	bool good;

	need_faults();
	open_inherited();
	good = every_allocation("fork", fork_one, reap_child);
	/* Forks that failed have counted nothing, and the count of the next child is complete. */
	for (int i = 0; i < INHERITED; i++) {
		enabled[i] = read_timed_count(inherited[i]).enabled;
		good &= expect_between("enabled", enabled[i], 1, monotonic_ns());
	}
	reap_child(MUST(fork_one()));
	for (int i = 0; i < INHERITED; i++) {
		struct timed_count t = read_timed_count(inherited[i]);

		good &= expect_between("enabled since", t.enabled, enabled[i] + 1, UINT64_MAX);
	}
	for (int i = 0; i < INHERITED; i++)
		close(inherited[i]);
	return good;
}

/* Another task closes the parents while forks fail. */
static bool forks_and_closes(void)
{
	uint64_t end;
	pid_t pid;

	need_faults();
	end = monotonic_ns() + 2000000000;
	for (unsigned int nth = 1; monotonic_ns() < end; nth = nth % 150 + 1) {
		int sync[2];

		open_inherited();
		MUST(pipe(sync));
		/* The closing task shares the files. */
		pid = syscall(__NR_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
		if (!pid) {
			MUST(read(sync[0], &(char){ 0 }, 1));
			for (int i = 0; i < INHERITED; i++)
				close(inherited[i]);
			_exit(0);
		}
		MUST(pid);
		MUST(write(sync[1], "", 1));
		fail_next(nth);
		long child = fork_one();

		has_failed();
		if (child > 0)
			reap_child(child);
		waitpid(pid, NULL, 0);
		close(sync[0]);
		close(sync[1]);
	}
	return true;
}

static int mapped_fd;

static long map_buffer(void)
{
	void *p = mmap(NULL, 9 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		       mapped_fd, 0);

	return p == MAP_FAILED ? -1 : (long)p;
}

static void unmap_buffer(long p)
{
	munmap((void *)p, 9 * sysconf(_SC_PAGESIZE));
}

static bool map_buffers(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	need_faults();
	attr.sample_period = 1;
	mapped_fd = open_self(&attr, -1);
	return every_allocation("mmap", map_buffer, unmap_buffer);
}

static const char *filter = "common_pid > 0 && (common_pid < 100000 || common_pid == 7)";
static struct perf_event_attr filtered;

/* A filter is set once, so each attempt has a new event. */
static long open_filtered(void)
{
	int fd = perf_open(&filtered, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), error;

	if (fd < 0 || !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static bool set_filters(void)
{
	need_faults();
	filtered = perf_attr(PERF_TYPE_TRACEPOINT, tracepoint_id("syscalls/sys_enter_getppid"));
	return every_allocation("SET_FILTER", open_filtered, close_made);
}

static const struct test tests[] = {
	{ "each open, with each of its allocations failing", open_events },
	{ "a group counts on when it gets no further member", group_keeps_counting },
	{ "fork with inherited groups, with each allocation failing", fork_tasks },
	{ "failing forks while the events are closed", forks_and_closes },
	{ "mmap, with each allocation failing", map_buffers },
	{ "SET_FILTER, with each allocation failing", set_filters },
};

TESTS_MAIN(tests)
