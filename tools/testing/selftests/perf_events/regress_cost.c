// SPDX-License-Identifier: GPL-2.0
/*
 * What an event must not cost: memory that is allocated again at each open, register accesses of
 * PMUs that the event does not use, and interrupts of other CPUs. Run as root.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "interrupts.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <sys/stat.h>

#define OPENS	50

/* Allocations of this task of at least so many bytes, or of per-CPU memory. */
static int open_trace(const char *name, const char *filter)
{
	int id = tracepoint_id(name), fd;
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);

	if (id < 0)
		skip_case("no tracepoint");
	attr.disabled = 1;
	fd = open_self(&attr, -1);
	if (filter)
		MUST(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
	return fd;
}

static void open_and_close(struct perf_event_attr *attr)
{
	close(MUST(perf_open(attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

/* A CPU's buffer is of 4 KiB and more. */
static bool chain_buffers_are_kept(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	int large = open_trace("kmem/kmalloc", "bytes_req >= 4096");
	int percpu = open_trace("percpu/percpu_alloc_percpu", NULL);
	uint64_t first;
	bool good;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	/* The limit is written while no event has chains: the buffers are given up. */
	MUST(sysctl_set("perf_event_max_stack", sysctl_get("perf_event_max_stack", 127)));
	event_enable(large);
	open_and_close(&attr);
	event_disable(large);
	first = perf_count(large);
	good = expect_between("large allocations of the first open", first, 1, UINT64_MAX);
	event_enable(large);
	event_enable(percpu);
	for (int i = 0; i < OPENS; i++)
		open_and_close(&attr);
	event_disable(percpu);
	event_disable(large);
	good &= expect_between("large allocations of the next 50", perf_count(large) - first, 0, 4);
	return good & expect_between("per-CPU allocations", perf_count(percpu), 0, 4);
}

/*
 * Register accesses of switches
 */

#ifdef __x86_64__

#define SWITCHES	300
/* Selects, counters, fixed counters, their control, global control. */
#define KINDS		5
#define RDPMCS		8

static uint64_t accesses_so_far(void)
{
	uint32_t a, b, c, d;
	uint64_t n = 0;

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		__cpuid_count(X86_MODEL_LEAF, kind, a, b, c, d);
		n += (a | (uint64_t)b << 32) + (c | (uint64_t)d << 32);
	}
	__cpuid_count(X86_MODEL_LEAF, RDPMCS, a, b, c, d);
	return n + (a | (uint64_t)b << 32);
}

/* A byte to the partner and back: two switches. */
static uint64_t accesses_of_switches(struct gate *go, struct gate *back)
{
	uint64_t before;

	for (unsigned int i = 0; i < 10; i++) {
		gate_open(go);
		gate_wait(back);
	}
	before = accesses_so_far();
	for (unsigned int i = 0; i < SWITCHES; i++) {
		gate_open(go);
		gate_wait(back);
	}
	return accesses_so_far() - before;
}

static pid_t partner_in(const char *procs, struct gate *go, struct gate *back)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	MUST(write_line(procs, "0"));
	for (;;) {
		gate_wait(go);
		gate_open(back);
	}
}

/*
 * The machine counts. Software events of a cgroup leave the counter of a CPU's event alone; a
 * cgroup's counter is loaded at each switch into the cgroup.
 */
static bool cgroup_accesses_no_pmu(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr cycles = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct gate go = gate_new(), back = gate_new();
	uint64_t accesses, with_counter, afterwards;
	pid_t pid;
	int dir, fd;

	require_exact_instructions();
	if (write_line("/cgroup/cgroup.subtree_control", "+pids"))
		skip_case("no cgroup2");
	mkdir("/cgroup/regress", 0755);
	dir = MUST(open("/cgroup/regress", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	MUST(pin_to_cpu(0));
	MUST(perf_open(&attr, dir, 0, -1, PERF_FLAG_PID_CGROUP));
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	MUST(perf_open(&attr, dir, 0, -1, PERF_FLAG_PID_CGROUP));
	attr.config = PERF_COUNT_SW_CGROUP_SWITCHES;
	MUST(perf_open(&attr, dir, 0, -1, PERF_FLAG_PID_CGROUP));
	pid = partner_in("/cgroup/regress/cgroup.procs", &go, &back);
	cycles.disabled = 0;
	MUST(perf_open(&cycles, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	accesses = accesses_of_switches(&go, &back);
	fd = MUST(perf_open(&cycles, dir, 0, -1, PERF_FLAG_PID_CGROUP));
	with_counter = accesses_of_switches(&go, &back);
	close(fd);
	afterwards = accesses_of_switches(&go, &back);
	kill_child(pid);
	return expect_eq("register accesses of 300 switches there and back", accesses, 0) &
	       expect_between("with a counter", with_counter, SWITCHES, UINT64_MAX) &
	       expect_eq("when that is closed", afterwards, 0);
}

#else

static bool cgroup_accesses_no_pmu(void)
{
	skip_case("not an x86");
}

#endif

#define READS	1000

/* The count of a tracepoint is always up to date: a read interrupts no CPU. */
static bool tracepoints_are_read_from_afar(void)
{
	int id = tracepoint_id("sched/sched_switch"), fd;
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	unsigned int before, after;
	uint64_t first;
	pid_t child;
	bool good;

	if (id < 0)
		skip_case("no tracepoint");
	MUST(pin_to_cpu(0));
	attr.disabled = 0;
	fd = MUST(perf_open(&attr, -1, 1, -1, PERF_FLAG_FD_CLOEXEC));
	first = perf_count(fd);
	before = cross_calls();
	for (int i = 0; i < READS; i++)
		perf_count(fd);
	after = cross_calls();
	child = fork_child();
	if (!child) {
		MUST(pin_to_cpu(1));
		_exit(0);
	}
	good = expect(child_succeeded(child), "a child on the other CPU");
	return good &
	       expect_between("calls to the other CPU", after - before, 0, READS / 10) &
	       expect(perf_count(fd) > first, "the other CPU's switches");
}

#define CALLS	200

/* The fewest instructions of the kernel for as many calls with a record each. */
static uint64_t cost_of_records(int insns, struct ring *ring)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t before = perf_count(insns), after;

		for (int call = 0; call < CALLS; call++)
			syscall(SYS_getppid);
		after = perf_count(insns);
		if (after - before < least)
			least = after - before;
		if (ring_count(ring, PERF_RECORD_SAMPLE) != CALLS)
			fail_case("records");
	}
	return least;
}

/* An open that fails has not prepared the buffer for writers on several CPUs. */
static bool refused_output_costs_nothing(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid"), insns, fd;
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	struct perf_event_attr count = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k");
	struct perf_event_attr refused = sw_attr(PERF_COUNT_SW_DUMMY);
	uint64_t before, after, slack;
	struct ring ring;
	bool good;

	require_exact_instructions();
	if (id < 0)
		skip_case("no tracepoint");
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 16))
		fail_case("mmap");
	event_enable(fd);
	count.disabled = 0;
	insns = open_self(&count, -1);
	before = cost_of_records(insns, &ring);
	refused.inherit = 1;
	refused.aux_sample_size = 8;
	good = expect_errno("an AUX event without a leader",
			    perf_open(&refused, 0, -1, fd,
				      PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP), EINVAL);
	after = cost_of_records(insns, &ring);
	/* The records of a debug kernel differ. */
	slack = kernel_function("kasan_report") ? before / 20 : CALLS;
	return good & expect_between("instructions of the records", after, before - slack,
				     before + slack);
}

static const struct test tests[] = {
	{ "call chains' buffers are kept from one event to the next", chain_buffers_are_kept },
	{ "a cgroup's software events access no counter", cgroup_accesses_no_pmu },
	{ "reads of tracepoints interrupt no other CPU", tracepoints_are_read_from_afar },
	{ "a refused SET_OUTPUT of an open makes no record dearer", refused_output_costs_nothing },
};

TESTS_MAIN(tests)
