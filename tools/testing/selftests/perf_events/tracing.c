// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints, kprobes and uprobes as counters: one count for each hit of the task or CPU of the
 * event.
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

#include <poll.h>
#include <sys/syscall.h>
#include <sys/stat.h>

#define CALLS	1000
#define TRACING	"/sys/kernel/tracing"

static long require_tracepoint(const char *name)
{
	char path[160], line[32];

	snprintf(path, sizeof(path), TRACING "/events/%s/id", name);
	if (read_line(path, line, sizeof(line)) <= 0)
		skip_case("no such tracepoint");
	return strtol(line, NULL, 10);
}

static int open_tracepoint(const char *name, pid_t pid, int cpu)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, require_tracepoint(name));

	return MUST(perf_open(&attr, pid, cpu, -1, 0));
}

static void make_calls(unsigned int nr)
{
	while (nr--)
		short_syscall();
}

static bool syscall_tracepoint(void)
{
	int in = open_tracepoint("syscalls/sys_enter_getppid", 0, -1);
	int out = open_tracepoint("syscalls/sys_exit_getppid", 0, -1);
	int other = open_tracepoint("syscalls/sys_enter_getpid", 0, -1);
	uint64_t before = perf_count(other);

	make_calls(CALLS);
	return expect_eq("entries", perf_count(in), CALLS) &
	       expect_eq("exits", perf_count(out), CALLS) &
	       expect_eq("of another call", perf_count(other) - before, 0);
}

/* An event of a task counts its own hits only; one of a CPU those of all tasks there. */
static bool of_task_and_cpu(void)
{
	int task, cpu, other;
	pid_t pid;

	require_cpus(2);
	pin_to_cpu(0);
	task = open_tracepoint("syscalls/sys_enter_getppid", 0, -1);
	cpu = open_tracepoint("syscalls/sys_enter_getppid", -1, 0);
	other = open_tracepoint("syscalls/sys_enter_getppid", -1, 1);
	make_calls(CALLS);
	pid = fork_child();
	if (!pid) {
		make_calls(CALLS);
		pin_to_cpu(1);
		make_calls(10 * CALLS);
		_exit(0);
	}
	return child_succeeded(pid) & expect_eq("the task's", perf_count(task), CALLS) &
	       expect_eq("its CPU's", perf_count(cpu), 2 * CALLS) &
	       expect_eq("the other CPU's", perf_count(other), 10 * CALLS);
}

static bool only_while_enabled(void)
{
	int fd = open_tracepoint("syscalls/sys_enter_getppid", 0, -1);

	make_calls(CALLS);
	event_disable(fd);
	make_calls(CALLS);
	event_enable(fd);
	make_calls(1);
	return expect_eq("while enabled", perf_count(fd), CALLS + 1);
}

/* sched_switch counts for the task that is switched out: as often as its context switches. */
static bool switches_of_task(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int fd = open_tracepoint("sched/sched_switch", 0, -1);
	int software = open_self(&attr, -1);
	uint64_t before = perf_count(fd), soft = perf_count(software);
	uint64_t switches = thread_switches();

	for (int i = 0; i < 200; i++)
		usleep(500);
	switches = thread_switches() - switches;
	return expect_near("switches", perf_count(fd) - before, switches, 2) &
	       expect_near("software event", perf_count(software) - soft, switches, 2) &
	       expect_between("enough of them", switches, 100, 1000);
}

static void wake_repeatedly(struct gate *gate, pid_t sleeper, unsigned int nr)
{
	while (nr--) {
		gate_open(gate);
		wait_until_asleep(sleeper);
	}
}

/* Wake-ups of other tasks, by interrupts in this task, do not count. */
static void told_of_itself(int fd, pid_t pid)
{
	char filter[32];

	snprintf(filter, sizeof(filter), "pid == %d", pid);
	MUST(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
}

/* The tracepoint counts for the task that is woken, in the waker; not while its group is off. */
static bool woken_task(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	uint64_t off;
	struct gate gate = gate_new();
	int leader, fd;
	pid_t child;

	pin_to_cpu(0);
	child = fork_child();
	if (!child)
		for (;;)
			gate_wait(&gate);
	attr.disabled = 1;
	leader = MUST(perf_open(&attr, child, 0, -1, 0));
	attr = perf_attr(PERF_TYPE_TRACEPOINT, require_tracepoint("sched/sched_waking"));
	fd = MUST(perf_open(&attr, child, 0, leader, 0));
	told_of_itself(fd, child);
	wait_until_asleep(child);
	wake_repeatedly(&gate, child, 10);
	off = perf_count(fd);
	event_enable(leader);
	wake_repeatedly(&gate, child, 10);
	event_disable(leader);
	wake_repeatedly(&gate, child, 10);
	kill_child(child);
	return expect_eq("while the leader is disabled", off, 0) &
	       expect_eq("while it is enabled", perf_count(fd), 10);
}

/* A task is in the state of a sleeper before it looks for the last time whether it has to sleep. */
static void wait_until_it_waits(pid_t sleeper)
{
	wait_until_asleep(sleeper);
	wait_until_asleep(sleeper);
}

/*
 * A limit of one sample that is set again before each wake-up, on the CPU where the child sleeps or
 * on another one: each has its sample.
 */
static unsigned int woken_with_limit(int cpu_of_child)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						require_tracepoint("sched/sched_waking"));
	struct gate gate = gate_new();
	unsigned int woken;
	pid_t child;
	int fd;

	pin_to_cpu(0);
	child = fork_child();
	if (!child) {
		MUST(pin_to_cpu(cpu_of_child));
		for (;;)
			gate_wait(&gate);
	}
	attr.disabled = 1;
	attr.sample_period = 1;
	fd = MUST(perf_open(&attr, child, 0, -1, 0));
	told_of_itself(fd, child);
	for (int i = 0; i < 10; i++) {
		wait_until_it_waits(child);
		MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
		gate_open(&gate);
	}
	wait_until_asleep(child);
	woken = perf_count(fd);
	kill_child(child);
	close(fd);
	return woken;
}

static bool limits_of_sleepers(void)
{
	require_cpus(2);
	return expect_eq("a child on this CPU", woken_with_limit(0), 10) &
	       expect_eq("a child on another CPU", woken_with_limit(1), 10);
}

#define BURN_NS	2000000

/* Uses @ns of CPU time. */
static void burn_ns(uint64_t ns)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec <
	       (int64_t)ns);
}

/* The clock in the group is up to date in the sample, though the task is not on the CPU. */
static bool woken_by_the_clock(void)
{
	struct perf_event_attr attr =
		perf_attr(PERF_TYPE_TRACEPOINT, require_tracepoint("sched/sched_waking"));
	struct gate gate = gate_new();
	struct perf_event_header *h;
	static struct ring ring;
	uint64_t last = 0, *read;
	unsigned int nr = 0;
	bool good = true;
	pid_t child;
	int fd;

	pin_to_cpu(0);
	child = fork_child();
	if (!child)
		for (;;) {
			gate_wait(&gate);
			burn_ns(BURN_NS);
		}
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_READ;
	attr.read_format = PERF_FORMAT_GROUP;
	fd = MUST(perf_open(&attr, child, 0, -1, 0));
	told_of_itself(fd, child);
	attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	MUST(perf_open(&attr, child, 0, fd, 0));
	if (!ring_map(&ring, fd, 1))
		fail_case("mmap");
	wait_until_asleep(child);
	wake_repeatedly(&gate, child, 10);
	event_disable(fd);
	kill_child(child);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		read = (uint64_t *)(h + 1);
		good &= expect_eq("members", read[0], 2);
		good &= !nr++ || expect_between("clock", read[2], last + 1, UINT64_MAX / 2);
		last = read[2];
	}
	ring_unmap(&ring);
	return good & expect_eq("samples", nr, 10);
}

/* sched_process_fork and _exec, of a whole process tree. */
static bool inherited_tracepoint(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						require_tracepoint("sched/sched_process_fork"));
	int fd;

	attr.inherit = 1;
	fd = open_self(&attr, -1);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			pid = fork_child();
			if (!pid)
				_exit(0);
			waitpid(pid, NULL, 0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return expect_eq("forks", perf_count(fd), 20);
}

/* An ftrace filter decides which hits count. */
static bool filtered_hits(void)
{
	int fd = open_tracepoint("syscalls/sys_enter_close", 0, -1);
	int second = open_tracepoint("syscalls/sys_enter_close", 0, -1);
	bool good = true;
	uint64_t before;

	MUST(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "fd == 12345"));
	before = perf_count(fd);
	for (int i = 0; i < CALLS; i++) {
		raw_syscall(__NR_close, 12345, 0, 0);
		raw_syscall(__NR_close, 12346, 0, 0);
	}
	good &= expect_eq("that pass", perf_count(fd) - before, CALLS);
	good &= expect_refused("nonsense",
			       ioctl(second, PERF_EVENT_IOC_SET_FILTER, "no_such_field == 1"),
			       EINVAL, NULL);
	return good;
}

/* An event is closed with its filter while another CPU matches a hit against it. */
static bool closed_while_matched(void)
{
	char filter[512] = "fd == 12300";
	uint64_t end;
	pid_t pid;

	require_cpus(2);
	for (int i = 1; i < 20; i++)
		sprintf(filter + strlen(filter), " || fd == %d", 12300 + i);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(1);
		for (;;)
			raw_syscall(__NR_close, 12345, 0, 0);
	}
	pin_to_cpu(0);
	end = monotonic_ns() + 2000000000;
	while (monotonic_ns() < end) {
		uint64_t id = require_tracepoint("syscalls/sys_enter_close");
		struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
		int fd;

		attr.disabled = 1;
		fd = MUST(perf_open(&attr, pid, -1, -1, 0));
		MUST(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter));
		event_enable(fd);
		usleep(100);
		if (!expect_eq("that pass", perf_count(fd), 0))
			return false;
		close(fd);
	}
	kill_child(pid);
	return true;
}

/* Events are opened and closed repeatedly: the hooks are removed with the last. */
static bool opened_and_closed(void)
{
	bool good = true;

	for (int i = 0; i < 100 && good; i++) {
		int fd = open_tracepoint("syscalls/sys_enter_getppid", 0, -1);
		int second = open_tracepoint("syscalls/sys_enter_getppid", 0, -1);

		make_calls(10);
		close(fd);
		make_calls(10);
		good &= expect_eq("the second", perf_count(second), 20);
		close(second);
	}
	return good;
}

static bool out_of_range(void)
{
	static const uint64_t numbers[] = { 0, 1 << 16, 1u << 31, 0xffffffff, 1ull << 63, ~0ull };
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, numbers[i]);
		int fd = perf_open(&attr, 0, -1, -1, 0);

		if (fd >= 0 || (errno != EINVAL && errno != ENOENT)) {
			ktap_note("number %#llx: %d, %s", (unsigned long long)numbers[i], fd,
				  strerrorname_np(errno));
			good = false;
		}
	}
	return good;
}

/* System calls with numbers that do not exist must not index anything. */
static bool syscalls_out_of_range(void)
{
	int fd = open_tracepoint("raw_syscalls/sys_enter", 0, -1);
	int one = open_tracepoint("syscalls/sys_enter_getppid", 0, -1);
	uint64_t before;

	perf_count(fd);
	before = perf_count(fd);
	for (long nr = 1000; nr < 1100; nr++)
		raw_syscall(nr, 0, 0, 0);
	raw_syscall(0x7fffffff, 0, 0, 0);
	raw_syscall(-2, 0, 0, 0);
	return expect_eq("known", perf_count(one), 0) &
	       expect_between("all", perf_count(fd) - before, 100, 106);
}

static int probe_attr(const char *pmu, struct perf_event_attr *attr, const char *path,
		      uint64_t offset, bool at_return)
{
	char file[128], line[64];
	int bit = 0;
	int type = perf_pmu_type(pmu);

	if (type < 0)
		skip_case("no such PMU");
	*attr = perf_attr(type, 0);
	snprintf(file, sizeof(file), "/sys/bus/event_source/devices/%s/format/retprobe", pmu);
	if (read_line(file, line, sizeof(line)) <= 0 || sscanf(line, "config:%d", &bit) != 1)
		skip_case("no format/retprobe");
	attr->config = (uint64_t)at_return << bit;
	attr->config1 = (uintptr_t)path;
	attr->config2 = offset;
	return type;
}

static int open_probe(const char *pmu, const char *path, uint64_t offset, bool at_return,
		      pid_t pid, int cpu)
{
	struct perf_event_attr attr;

	probe_attr(pmu, &attr, path, offset, at_return);
	return perf_open(&attr, pid, cpu, -1, 0);
}

/* Names of the function of the system call. */
#if defined(__x86_64__)
#define SYS_PREFIX	"__x64_sys_"
#else
#define SYS_PREFIX	"__arm64_sys_"
#endif
#define GETPPID		SYS_PREFIX "getppid"
#define NANOSLEEP	SYS_PREFIX "nanosleep"

static bool kprobe_counts(void)
{
	int in = MUST(open_probe("kprobe", GETPPID, 0, false, 0, -1));
	int out = MUST(open_probe("kprobe", GETPPID, 0, true, 0, -1));

	make_calls(CALLS);
	return expect_eq("entries", perf_count(in), CALLS) &
	       expect_eq("returns", perf_count(out), CALLS);
}

static bool kprobe_of_cpu(void)
{
	int fd;
	pid_t pid;

	pin_to_cpu(0);
	fd = MUST(open_probe("kprobe", GETPPID, 0, false, -1, 0));
	make_calls(CALLS);
	pid = fork_child();
	if (!pid) {
		make_calls(CALLS);
		_exit(0);
	}
	return child_succeeded(pid) & expect_eq("the CPU's", perf_count(fd), 2 * CALLS);
}

static bool kprobe_refused(void)
{
	bool good = true;
	int fd;

	fd = open_probe("kprobe", "no_such_function_anywhere", 0, false, 0, -1);
	good &= fd < 0;
	if (!good)
		ktap_note("a probe at a function that is not there");
	fd = open_probe("kprobe", (char *)8, 0, false, 0, -1);
	good &= expect_refused("a bad address", fd, EFAULT, NULL);
	return good;
}

static int open_inherited_kprobe(const char *function, bool trap)
{
	struct perf_event_attr attr;

	probe_attr("kprobe", &attr, function, 0, false);
	attr.inherit = 1;
	attr.sample_period = trap;
	attr.sigtrap = trap;
	attr.remove_on_exec = trap;
	return MUST(perf_open(&attr, 0, -1, -1, 0));
}

/* The probe is removed with its file; the event of a child at the exit of the child. */
static bool kprobe_closed_while_children_exit(void)
{
	for (int i = 0; i < 100; i++) {
		int fd = open_inherited_kprobe(GETPPID, false);
		pid_t pid = fork_child();

		if (!pid) {
			close(fd);	/* the file of this task is the last */
			make_calls(10);
			_exit(0);
		}
		run_loop(1 + i * 2000);
		close(fd);
		if (!child_succeeded(pid))
			return false;
	}
	return true;
}

/* A child that sleeps in the kernel has a signal pending when the probe is closed. */
static bool kprobe_closed_with_signal_due(void)
{
	struct timespec nap = { .tv_nsec = 200000000 };
	int fd = open_inherited_kprobe(NANOSLEEP, true);
	pid_t pid = fork_child();

	if (!pid) {
		close(fd);		/* the file of this task is the last */
		raw_syscall(__NR_nanosleep, (long)&nap, 0, 0);
		_exit(0);
	}
	/* The event counts in this task as well: no nanosleep() here. */
	poll(NULL, 0, 100);
	close(fd);
	return child_succeeded(pid);
}

/* The offset of this function in its file is probed. */
static noinline __noclone void probed_function(void)
{
	asm volatile("");
}

static uint64_t file_offset(void *function)
{
	unsigned long start, end, offset, addr = (unsigned long)function;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && addr >= start &&
		    addr < end) {
			fclose(maps);
			return addr - start + offset;
		}
	}
	skip_case("no /proc/self/maps");
}

static const char *own_path(void)
{
	static char path[256];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		fail_case("/proc/self/exe");
	path[n] = '\0';
	return path;
}

static void call_probed(unsigned int nr)
{
	while (nr--)
		probed_function();
}

static bool uprobe_counts(void)
{
	uint64_t offset = file_offset(probed_function);
	int in = open_probe("uprobe", own_path(), offset, false, 0, -1);
	int out = open_probe("uprobe", own_path(), offset, true, 0, -1);

	/* The root file system may not support probes. */
	if (in < 0 || out < 0)
		fail_case("uprobe");
	call_probed(CALLS);
	return expect_eq("entries", perf_count(in), CALLS) &
	       expect_eq("returns", perf_count(out), CALLS);
}

static bool uprobe_of_others(void)
{
	uint64_t offset = file_offset(probed_function);
	int mine = open_probe("uprobe", own_path(), offset, false, 0, -1), its, cpu;
	struct gate go = gate_new(), done = gate_new();
	bool good = true;
	pid_t pid;

	pin_to_cpu(0);
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		call_probed(CALLS);
		gate_open(&done);
		pause();
	}
	its = open_probe("uprobe", own_path(), offset, false, pid, -1);
	cpu = open_probe("uprobe", own_path(), offset, false, -1, 0);
	if (mine < 0 || its < 0 || cpu < 0)
		fail_case("uprobe");
	gate_open(&go);
	gate_wait(&done);
	good &= expect_eq("mine", perf_count(mine), 0);
	good &= expect_eq("the child's", perf_count(its), CALLS);
	good &= expect_eq("the CPU's", perf_count(cpu), CALLS);
	call_probed(10);
	good &= expect_eq("mine", perf_count(mine), 10);
	good &= expect_eq("the child's", perf_count(its), CALLS);
	good &= expect_eq("the CPU's", perf_count(cpu), CALLS + 10);
	close(its);
	close(mine);
	call_probed(10);
	good &= expect_eq("the CPU's", perf_count(cpu), CALLS + 20);
	kill_child(pid);
	return good;
}

static bool uprobe_is_inherited(void)
{
	struct perf_event_attr attr;
	pid_t pid;
	int fd;

	probe_attr("uprobe", &attr, own_path(), file_offset(probed_function), false);
	attr.inherit = 1;
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	for (int i = 0; i < 5; i++) {
		pid = fork_child();
		if (!pid) {
			call_probed(CALLS);
			_exit(0);
		}
		if (!child_succeeded(pid))
			return false;
	}
	return expect_eq("five children", perf_count(fd), 5 * CALLS);
}

/* A probe that was created in tracefs counts by its id. */
static bool probe_event(void)
{
	int fd;

	if (write_line(TRACING "/kprobe_events", "p:perf_test/getppid " GETPPID "\n"))
		skip_case("no kprobe_events");
	fd = open_tracepoint("perf_test/getppid", 0, -1);
	make_calls(CALLS);
	if (!expect_eq("entries", perf_count(fd), CALLS))
		return false;
	if (!expect_refused("removed while in use",
			    write_line(TRACING "/kprobe_events", "-:perf_test/getppid\n"), EBUSY,
			    NULL))
		return false;
	close(fd);
	return expect_eq("removed", write_line(TRACING "/kprobe_events", "-:perf_test/getppid\n"),
			 0);
}

/* Tracepoints in a group with other software events, read as one. */
static bool in_a_group(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						require_tracepoint("syscalls/sys_enter_getppid"));
	struct perf_event_attr clock = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct reading r;
	int leader;

	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	attr.disabled = 1;
	leader = open_self(&attr, -1);
	open_self(&clock, leader);
	make_calls(CALLS);
	event_enable(leader);
	make_calls(CALLS);
	event_disable(leader);
	make_calls(CALLS);
	return read_in_format(leader, attr.read_format, &r) && expect_eq("members", r.nr, 2) &&
	       expect_eq("calls", r.member[0].value, CALLS) &&
	       expect_between("clock", r.member[1].value, 1, r.running + 1000000);
}

static const struct test tests[] = {
	{ "syscall tracepoints", syscall_tracepoint },
	{ "tracepoint events of a task and of a CPU", of_task_and_cpu },
	{ "tracepoints count only while enabled", only_while_enabled },
	{ "sched_switch counts the switches of a task", switches_of_task },
	{ "sched_wakeup counts for the task that is woken", woken_task },
	{ "IOC_REFRESH before each wake-up of another task", limits_of_sleepers },
	{ "sched_wakeup in a group with a clock", woken_by_the_clock },
	{ "inherited tracepoint events", inherited_tracepoint },
	{ "an ftrace filter", filtered_hits },
	{ "a tracepoint event is closed while its filter is matched", closed_while_matched },
	{ "tracepoint events are opened and closed repeatedly", opened_and_closed },
	{ "tracepoint ids out of range are refused", out_of_range },
	{ "system call numbers out of range", syscalls_out_of_range },
	{ "tracepoints in a group", in_a_group },
	{ "kprobe and kretprobe", kprobe_counts },
	{ "kprobe on a CPU", kprobe_of_cpu },
	{ "kprobes that are refused", kprobe_refused },
	{ "kprobe, inherited, closed while children exit", kprobe_closed_while_children_exit },
	{ "kprobe, inherited, closed while a signal is due", kprobe_closed_with_signal_due },
	{ "uprobe and uretprobe", uprobe_counts },
	{ "uprobe of a child and of a CPU", uprobe_of_others },
	{ "uprobe, inherited", uprobe_is_inherited },
	{ "a probe made in tracefs", probe_event },
};

TESTS_MAIN(tests)
