// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that turn offline and online while events are open: an event counts again afterwards, and
 * misses only what its CPU did not run.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <sys/stat.h>

#define MS	1000000ull
#define PAGES	100

static const char online[] = "/sys/devices/system/cpu/cpu1/online";

static void set_online(bool on)
{
	MUST(write_line(online, on ? "1" : "0"));
}

static void need_hotplug(void)
{
	if (access(online, W_OK))
		skip_case("no CPU that can be taken away");
	set_online(true);
	pin_to_cpu(0);
}

static void need_return(void)
{
	if (!kernel_gives_reasons())
		skip_case("on this kernel events of a CPU do not come back with it");
}

/* A child that moves to the CPU, works there and exits. */
static void work_on(int cpu, unsigned long rounds)
{
	pid_t pid = fork_child();

	if (!pid) {
		MUST(pin_to_cpu(cpu));
		fault_pages(PAGES);
		run_loop(rounds);
		_exit(0);
	}
	child_succeeded(pid);
}

static int open_on(uint64_t config, int cpu)
{
	struct perf_event_attr attr = sw_attr(config);

	attr.read_format = FORMAT_TIMES;
	return MUST(perf_open(&attr, -1, cpu, -1, 0));
}

static bool software_comes_back(void)
{
	struct timed_count t, gone, back;
	bool good = true;
	int fd;

	need_hotplug();
	need_return();
	fd = open_on(PERF_COUNT_SW_PAGE_FAULTS, 1);
	for (int i = 0; i < 5; i++) {
		t = read_timed_count(fd);
		work_on(1, 1000);
		set_online(false);
		gone = read_timed_count(fd);
		good &= expect_between("before", gone.value - t.value, PAGES, 2 * PAGES);
		sleep_ms(50);
		t = read_timed_count(fd);
		good &= expect_eq("count, off line", t.value, gone.value);
		good &= expect_eq("time, off line", t.enabled, gone.enabled);
		set_online(true);
		work_on(1, 1000);
		back = read_timed_count(fd);
		good &= expect_between("after", back.value - t.value, PAGES, 3 * PAGES);
		good &= expect_eq("running", back.running, back.enabled);
	}
	return good;
}

static bool clock_stands_still(void)
{
	struct timed_count before, off, after;
	uint64_t begin;
	int fd;

	need_hotplug();
	need_return();
	fd = open_on(PERF_COUNT_SW_CPU_CLOCK, 1);
	sleep_ms(50);
	set_online(false);
	before = read_timed_count(fd);
	sleep_ms(200);
	off = read_timed_count(fd);
	begin = monotonic_ns();
	set_online(true);
	sleep_ms(100);
	after = read_timed_count(fd);
	return expect_between("clock before", before.value, 40 * MS, 10000 * MS) &
	       expect_eq("clock, off line", off.value, before.value) &
	       expect_eq("enabled, off line", off.enabled, before.enabled) &
	       expect_between("clock after", after.value - off.value, 90 * MS,
			      monotonic_ns() - begin) &
	       expect_near("running", after.running, after.value, 5 * MS);
}

static bool hardware_comes_back(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned long n = 10000000;
	struct reading r;
	bool good = true;
	int fd;

	require_exact_instructions();
	need_hotplug();
	need_return();
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	fd = MUST(perf_open(&attr, -1, 1, -1, 0));
	attr.disabled = 0;
	for (int i = 1; i < 4; i++)
		MUST(perf_open(&attr, -1, 1, fd, 0));
	event_enable(fd);
	for (int i = 1; i <= 4; i++) {
		work_on(1, n);
		set_online(false);
		sleep_ms(10);
		if (!read_in_format(fd, attr.read_format, &r))
			return false;
		good &= expect_near("instructions", r.member[0].value, i * LOOP_INSNS(n),
				    i * 40000);
		good &= expect_eq("running", r.running, r.enabled);
		for (uint64_t m = 1; m < r.nr; m++)
			good &= expect_eq("member", r.member[m].value, r.member[0].value);
		set_online(true);
	}
	return good;
}

/* An event of a task: the task moves to another CPU and is counted there. */
static bool task_is_counted_elsewhere(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct timed_count before, after;
	cpu_set_t set;
	pid_t pid;
	bool good;
	int fd;

	need_hotplug();
	attr.read_format = FORMAT_TIMES;
	pid = fork_child();
	if (!pid) {
		CPU_ZERO(&set);
		CPU_SET(1, &set);
		MUST(sched_setaffinity(0, sizeof(set), &set));
		for (;;)
			run_loop(10000);
	}
	sleep_ms(20);
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	sleep_ms(50);
	set_online(false);
	before = read_timed_count(fd);
	sleep_ms(200);
	after = read_timed_count(fd);
	set_online(true);
	kill_child(pid);
	/* The child shares CPU 0 with this task, which sleeps. */
	good = expect_between("counted on", after.value - before.value, 50 * MS, 20000 * MS);
	return good & expect_eq("running", after.running, after.enabled);
}

/* Operations on an event of an offline CPU. */
static bool operations_while_away(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct timed_count t;
	bool good = true;
	int fd, second, leader, gone;

	need_hotplug();
	need_return();
	fd = open_on(PERF_COUNT_SW_PAGE_FAULTS, 1);
	second = open_on(PERF_COUNT_SW_PAGE_FAULTS, 1);
	leader = open_on(PERF_COUNT_SW_PAGE_FAULTS, 1);
	attr.read_format = FORMAT_TIMES;
	MUST(perf_open(&attr, -1, 1, leader, 0));
	set_online(false);
	gone = perf_open(&attr, -1, 1, -1, 0);
	good &= expect_refused("opening one there", gone, ENODEV, "cpu");
	event_disable(fd);
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	good &= expect_eq("reset", read_timed_count(fd).value, 0);
	close(leader);
	close(second);
	set_online(true);
	work_on(1, 1000);
	good &= expect_eq("disabled while away", read_timed_count(fd).value, 0);
	set_online(false);
	event_enable(fd);
	set_online(true);
	work_on(1, 1000);
	t = read_timed_count(fd);
	return good & expect_between("enabled while away", t.value, PAGES, 3 * PAGES);
}

/*
 * The memory of events that are closed while their CPU is offline is used again by events of the
 * other CPU, which must not notice when the first CPU is online again.
 */
static bool closed_while_away(void)
{
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "");
	bool has_hw = event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), good = true;

	need_hotplug();
	for (int i = 0; i < 10; i++) {
		int fd[8], reuse[60];
		uint64_t before;

		for (int j = 0; j < 8; j++) {
			if (has_hw && j % 4 < 2)
				fd[j] = MUST(perf_open(&hw, -1, 1, -1, 0));
			else
				fd[j] = open_on(j & 1 ? PERF_COUNT_SW_CPU_CLOCK :
						PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
			event_enable(fd[j]);
		}
		sleep_ms(5);
		set_online(false);
		for (int j = 0; j < 4; j++)
			close(fd[j]);
		sleep_ms(20);
		for (unsigned int j = 0; j < ARRAY_SIZE(reuse); j++)
			reuse[j] = open_on(PERF_COUNT_SW_CPU_CLOCK, 0);
		set_online(true);
		for (unsigned int j = 0; j < ARRAY_SIZE(reuse); j++) {
			before = perf_count(reuse[j]);
			good &= expect_between("a clock of the other CPU", perf_count(reuse[j]),
					       before + 1, UINT64_MAX);
			close(reuse[j]);
		}
		for (int j = 4; j < 8; j++)
			close(fd[j]);
	}
	return good;
}

/* Events are opened and closed on a CPU that turns offline and online. */
static bool opened_meanwhile(void)
{
	unsigned int opened = 0;
	bool good;
	pid_t pid;

	need_hotplug();
	pid = fork_child();
	if (!pid) {
		for (int i = 0; i < 20; i++) {
			set_online(false);
			sleep_ms(5);
			set_online(true);
			sleep_ms(5);
		}
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);
		int leader = perf_open(&attr, -1, 1, -1, 0);
		int sibling = leader < 0 ? -1 : perf_open(&attr, -1, 1, leader, 0);

		if (leader < 0 && errno != ENODEV)
			fail_case("perf_event_open");
		opened += leader >= 0;
		if (leader >= 0)
			perf_count(leader);
		close(leader);
		close(sibling);
	}
	good = expect_between("opened", opened, 1, UINT32_MAX);
	set_online(true);
	return good;
}

/* Events of a cgroup on a CPU stop and start with the CPU. */
static bool cgroup_comes_back(void)
{
	static const char dir[] = "/cgroup/perf-hotplug";
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t before;
	bool good;
	int cgroup, fd;
	pid_t pid;

	need_hotplug();
	need_return();
	if (write_line("/cgroup/cgroup.subtree_control", "+pids"))
		skip_case("no cgroup2");
	mkdir(dir, 0755);
	cgroup = MUST(open(dir, O_RDONLY | O_DIRECTORY));
	fd = MUST(perf_open(&attr, cgroup, 1, -1, PERF_FLAG_PID_CGROUP));
	pid = fork_child();
	if (!pid) {
		char line[16];

		snprintf(line, sizeof(line), "%d", getpid());
		MUST(write_line("/cgroup/perf-hotplug/cgroup.procs", line));
		work_on(1, 1000);
		set_online(false);
		before = perf_count(fd);
		set_online(true);
		good = expect_between("before", before, PAGES, 3 * PAGES);
		work_on(1, 1000);
		good &= expect_between("after", perf_count(fd) - before, PAGES, 3 * PAGES);
		fflush(stdout);
		_exit(!good);
	}
	good = child_succeeded(pid);
	close(fd);
	close(cgroup);
	sleep_ms(20);
	rmdir(dir);
	return good;
}

#define TURNS	16	/* events: more than there are counters */

/* Opens more events than counters, of a CPU or of a task. */
static void open_many(int fd[TURNS], pid_t pid, int cpu)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "");

	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	for (int i = 0; i < TURNS; i++)
		fd[i] = MUST(perf_open(&attr, pid, cpu, -1, 0));
}

/* True if each event has run, and waited, within half a second. */
static bool all_have_turns(const char *whose, const int fd[TURNS])
{
	struct timed_count before[TURNS], after;
	bool good = true;

	for (int i = 0; i < TURNS; i++)
		before[i] = read_timed_count(fd[i]);
	sleep_ms(500);
	for (int i = 0; i < TURNS; i++) {
		after = read_timed_count(fd[i]);
		good &= expect_between(whose, after.running - before[i].running, 10 * MS, 490 * MS);
		good &= expect_between("time", after.enabled - before[i].enabled, 490 * MS,
				       UINT64_MAX);
	}
	return good;
}

/* The timer for multiplexing belongs to the CPU: it stops and starts with the CPU. */
static bool turns_come_back(void)
{
	int cpu_fd[TURNS], task_fd[TURNS], other_fd[TURNS];
	bool good = true;
	cpu_set_t set;
	pid_t pid;

	require_exact_instructions();
	need_hotplug();
	need_return();
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	pid = fork_child();
	while (!pid)
		run_loop(10000);
	open_many(cpu_fd, -1, 1);
	open_many(other_fd, -1, 0);
	open_many(task_fd, pid, -1);
	for (int i = 0; i < 8; i++) {
		MUST(sched_setaffinity(pid, sizeof(set), &set));
		sleep_ms(7 * i + 1);
		set_online(false);
		sleep_ms(i % 4);
		set_online(true);
	}
	good &= all_have_turns("CPU's, its task elsewhere", cpu_fd);
	MUST(sched_setaffinity(pid, sizeof(set), &set));
	good &= all_have_turns("CPU's, beside a task's", cpu_fd);
	good &= all_have_turns("task's, beside a CPU's", task_fd);
	for (int i = 0; i < TURNS; i++)
		close(cpu_fd[i]);
	good &= all_have_turns("task's", task_fd);
	good &= all_have_turns("other CPU's", other_fd);
	kill_child(pid);
	return good;
}

static volatile unsigned int signals;

static void count_signal(int nr)
{
	(void)nr;
	signals++;
}

static int open_signalling(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int fd;

	attr.sample_period = 1;
	attr.wakeup_events = 1;
	fd = MUST(perf_open(&attr, -1, 1, -1, 0));
	if (mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		fail_case("mmap");
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETFL, O_ASYNC));
	return fd;
}

/*
 * The last switches of a CPU follow its last interrupt: work that they left to an interrupt would
 * never run, and would block all later work.
 */
static bool signals_come_back(void)
{
	bool good = true;
	int fd;

	need_hotplug();
	need_return();
	signal(SIGIO, count_signal);
	for (int i = 0; i < 5; i++) {
		fd = open_signalling();
		set_online(false);
		set_online(true);
		signals = 0;
		work_on(1, 1000);
		sleep_ms(20);
		good &= expect_between("signals", signals, 1, UINT32_MAX);
		close(fd);
	}
	return good;
}

static pid_t kernel_thread(const char *name)
{
	char path[32], line[32];

	for (pid_t pid = 2; pid < 200; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		*line = '\0';
		read_line(path, line, sizeof(line));
		if (!strcmp(line, name))
			return pid;
	}
	fail_case("no kernel thread");
}

/*
 * A probe of what the last task of a CPU calls when the CPU is dead. Tracepoints are not hit there,
 * kprobes and the counters of that task are.
 */
static int open_last_hit(void)
{
	struct perf_event_attr attr = {
		.type = perf_pmu_type("kprobe"), .size = sizeof(attr), .sample_period = 1,
		.kprobe_func = (uintptr_t)"stop_machine_park",
	};

	if ((int)attr.type < 0)
		skip_case("no PMU kprobe");
	return MUST(perf_open(&attr, kernel_thread("migration/1"), -1, -1, 0));
}

/*
 * An irq_work queued on the dead CPU would keep those of other events from being run when the CPU
 * is back online. It would run when the CPU is taken offline once more, which lets @fd be closed.
 */
static bool later_signals_arrive(const char *what, int fd)
{
	int other;
	bool good;

	set_online(false);
	set_online(true);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	good = expect_between("hits of the dead CPU", perf_count(fd), 1, 10);
	other = open_signalling();
	signals = 0;
	work_on(1, 1000);
	sleep_ms(20);
	good &= expect_between(what, signals, 1, UINT32_MAX);
	if (!good)
		set_online(false);
	set_online(true);
	close(other);
	close(fd);
	return good;
}

static bool hits_of_dead_cpu(void)
{
	bool good;
	int fd;

	need_hotplug();
	need_return();
	signal(SIGIO, count_signal);
	fd = open_last_hit();
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETFL, O_ASYNC));
	good = later_signals_arrive("signals, after one of a dead CPU", fd);

	fd = open_last_hit();
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
	return good & later_signals_arrive("signals, after a last overflow of a dead CPU", fd);
}

/* The CPU's events are activated by a task that has events of its own. */
static bool thread_is_counted(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k");
	struct timed_count cpu, task;
	int fd[2];

	require_exact_instructions();
	need_hotplug();
	need_return();
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	fd[0] = MUST(perf_open(&attr, -1, 1, -1, 0));
	fd[1] = MUST(perf_open(&attr, kernel_thread("cpuhp/1"), -1, -1, 0));
	for (int i = 0; i < 3; i++) {
		set_online(false);
		set_online(true);
	}
	cpu = read_timed_count(fd[0]);
	task = read_timed_count(fd[1]);
	close(fd[0]);
	close(fd[1]);
	return expect_between("the thread's instructions", task.value, 10000, 1000000000) &
	       expect_eq("time that the thread's waited", task.enabled - task.running, 0) &
	       expect_between("the CPU's instructions", cpu.value, 10000, 1000000000) &
	       expect_eq("time that the CPU's waited", cpu.enabled - cpu.running, 0);
}

static const struct test tests[] = {
	{ "page faults of a CPU are counted once it is online again", software_comes_back },
	{ "the clock of a CPU stands still while it is offline", clock_stands_still },
	{ "hardware events of a CPU count once it is online again", hardware_comes_back },
	{ "multiplexed events take turns once their CPU is online again", turns_come_back },
	{ "overflows of a CPU send signals once it is online again", signals_come_back },
	{ "hits of a CPU that is dead leave nothing queued", hits_of_dead_cpu },
	{ "an event of a task follows the task", task_is_counted_elsewhere },
	{ "enabled, disabled and closed while the CPU is offline", operations_while_away },
	{ "closed before and after the CPU is online again", closed_while_away },
	{ "opened while the CPU turns offline and online", opened_meanwhile },
	{ "the thread that activates a CPU is counted, too", thread_is_counted },
	{ "an event of a cgroup counts once its CPU is online again", cgroup_comes_back },
};

TESTS_MAIN(tests)
