// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance and exec: which children inherit events, how their counts are added to the parent's,
 * and what starts or ends at exec.
 */
#include "cgroups.h"
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <linux/hw_breakpoint.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* System calls of one number: an exact count, where there are tracepoints. */
#define CALLS	1000

static struct perf_event_attr call_attr(void)
{
	char line[32];
	int n = read_line("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", line,
			  sizeof(line));
	struct perf_event_attr attr;

	if (n <= 0)
		skip_case("no syscall tracepoints");
	attr = perf_attr(PERF_TYPE_TRACEPOINT, strtoul(line, NULL, 10));
	attr.inherit = 1;
	return attr;
}

static void make_calls(void)
{
	for (int i = 0; i < CALLS; i++)
		short_syscall();
}

static bool child_counts(void (*work)(void))
{
	pid_t pid = fork_child();

	if (!pid) {
		work();
		_exit(0);
	}
	return child_succeeded(pid);
}

static bool children_count_for_parents(void)
{
	struct perf_event_attr attr = call_attr();
	int fd = open_self(&attr, -1);
	bool good = true;

	for (int i = 1; i <= 20; i++) {
		good &= child_counts(make_calls);
		good &= expect_eq("after a child", perf_count(fd), i * CALLS);
	}
	return good;
}

static void run_grandchild(void)
{
	make_calls();
	child_counts(make_calls);
	make_calls();
}

static bool grandchildren_count(void)
{
	struct perf_event_attr attr = call_attr();
	int fd = open_self(&attr, -1);

	return child_counts(run_grandchild) & expect_eq("three times", perf_count(fd), 3 * CALLS);
}

static bool without_inherit(void)
{
	struct perf_event_attr attr = call_attr();
	int fd;

	attr.inherit = 0;
	fd = open_self(&attr, -1);
	child_counts(make_calls);
	make_calls();
	return expect_eq("mine only", perf_count(fd), CALLS);
}

/* The child's event is disabled as long as the parent's is. */
static bool state_is_inherited(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new(), done = gate_new();
	bool good = true;
	pid_t pid;
	int fd;

	attr.disabled = 1;
	fd = open_self(&attr, -1);
	pid = fork_child();
	if (!pid) {
		for (;;) {
			gate_wait(&go);
			make_calls();
			gate_open(&done);
		}
	}
	gate_open(&go);
	gate_wait(&done);
	good &= expect_eq("disabled", perf_count(fd), 0);
	event_enable(fd);
	gate_open(&go);
	gate_wait(&done);
	good &= expect_eq("enabled", perf_count(fd), CALLS);
	event_disable(fd);
	gate_open(&go);
	gate_wait(&done);
	kill_child(pid);
	return good & expect_eq("disabled again", perf_count(fd), CALLS);
}

/* Groups are inherited whole, and read as one. */
static bool groups_are_inherited(void)
{
	struct perf_event_attr attr = call_attr();
	struct perf_event_attr sw = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct reading r;
	int leader, fd;

	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES | PERF_FORMAT_ID;
	sw.read_format = attr.read_format;
	sw.inherit = 1;
	leader = open_self(&attr, -1);
	open_self(&sw, leader);
	fd = perf_open(&attr, 0, -1, leader, 0);
	if (fd < 0)
		return expect_refused("sibling", fd, 0, NULL);
	for (int i = 0; i < 8; i++)
		child_counts(make_calls);
	make_calls();
	if (!read_in_format(leader, attr.read_format, &r) || !expect_eq("members", r.nr, 3))
		return false;
	return expect_eq("leader", r.member[0].value, 9 * CALLS) &
	       expect_eq("sibling", r.member[2].value, 9 * CALLS) &
	       expect_near_permille("clock and time running", r.member[1].value, r.running, 200);
}

/* The PMU that schedules a child's group is that of its counters, as with the parent's group. */
static bool software_leader_is_inherited(void)
{
	struct perf_event_attr sw = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	uint64_t before;
	int leader, fd;
	pid_t pid;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	sw.inherit = 1;
	hw.inherit = 1;
	hw.disabled = 0;
	leader = open_self(&sw, -1);
	fd = MUST(perf_open(&hw, 0, -1, leader, 0));
	before = perf_count(fd);
	pid = fork_child();
	if (!pid) {
		spin_ms(20);
		_exit(0);
	}
	/* The parent sleeps meanwhile. */
	return child_succeeded(pid) &
	       expect_between("cycles of the child", perf_count(fd) - before, 100000, UINT64_MAX);
}

/* A group is read while its children run and exit: no reading is less than the one before. */
static bool group_is_read_while_children_die(void)
{
	struct perf_event_attr attr = call_attr();
	struct reading r, last = { 0 };
	bool good = true;
	int leader;
	pid_t pid;

	attr.read_format = PERF_FORMAT_GROUP;
	leader = open_self(&attr, -1);
	for (int i = 0; i < 3; i++)
		open_self(&attr, leader);
	pid = fork_child();
	if (!pid) {
		for (int i = 0; i < 100; i++)
			child_counts(make_calls);
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) != pid && good) {
		good = read_in_format(leader, attr.read_format, &r) & expect_eq("members", r.nr, 4);
		for (uint64_t i = 0; i < r.nr && good; i++)
			good &= expect_between("a later reading", r.member[i].value,
					       last.member[i].value, 100 * CALLS);
		last = r;
	}
	good &= read_in_format(leader, attr.read_format, &r);
	for (uint64_t i = 0; i < r.nr; i++)
		good &= expect_eq("in the end", r.member[i].value, 100 * CALLS);
	return good;
}

static void *thread_calls(void *arg)
{
	make_calls();
	return arg;
}

static bool threads_only(void)
{
	struct perf_event_attr attr = call_attr();
	pthread_t thread;
	int fd;

	attr.inherit_thread = 1;
	fd = open_self(&attr, -1);
	for (int i = 0; i < 5; i++) {
		if (pthread_create(&thread, NULL, thread_calls, NULL))
			fail_case("pthread_create");
		pthread_join(thread, NULL);
		child_counts(make_calls);
	}
	return expect_eq("threads", perf_count(fd), 5 * CALLS);
}

/* Children keep counting after the parent's file is closed, without harm. */
static volatile uint64_t watched_word;

static struct perf_event_attr watch_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&watched_word;
	attr.bp_len = 8;
	attr.exclude_kernel = 1;
	return attr;
}

/* Breakpoints that can still be opened on a task, up to 16. */
static unsigned int breakpoints_left(pid_t pid)
{
	struct perf_event_attr attr = watch_attr();
	unsigned int nr;
	int fd[16];

	for (nr = 0; nr < ARRAY_SIZE(fd); nr++) {
		fd[nr] = perf_open(&attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd[nr] < 0)
			break;
	}
	for (unsigned int i = 0; i < nr; i++)
		close(fd[i]);
	return nr;
}

/* What a child has inherited ends when the parent's event is closed: its breakpoint is free. */
static bool children_end_with_parent(void)
{
	struct perf_event_attr attr = watch_attr();
	unsigned int all = breakpoints_left(0);
	struct gate ready = gate_new();
	bool good;
	pid_t pid;
	int fd;

	attr.inherit = 1;
	fd = MUST(perf_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
	pid = fork_child();
	if (!pid) {
		close(fd);
		gate_open(&ready);
		for (;;)
			pause();
	}
	gate_wait(&ready);
	good = expect_eq("breakpoints left to a child that has one", breakpoints_left(pid),
			 all - 1);
	close(fd);
	good &= expect_eq("breakpoints left to it when the event is closed", breakpoints_left(pid),
			  all);
	kill_child(pid);
	return good;
}

static bool closed_before_children_end(void)
{
	struct perf_event_attr attr = call_attr();
	bool good = true;

	for (int i = 0; i < 20; i++) {
		int fd = open_self(&attr, -1);
		pid_t pid = fork_child();

		if (!pid) {
			close(fd);	/* the file of the parent is the last */
			make_calls();
			usleep(i * 50);
			make_calls();
			_exit(0);
		}
		usleep(i * 30);
		close(fd);
		good &= child_succeeded(pid);
	}
	return good & children_end_with_parent();
}

/* A child cannot take over the event: reading the inherited file reads the parent's event. */
static bool child_reads_the_family(void)
{
	struct perf_event_attr attr = call_attr();
	int fd = open_self(&attr, -1);
	pid_t pid;

	make_calls();
	pid = fork_child();
	if (!pid) {
		make_calls();
		_exit(!expect_eq("with its children", perf_count(fd), 2 * CALLS));
	}
	return child_succeeded(pid) & expect_eq("with its children", perf_count(fd), 2 * CALLS);
}

/* An inherited event of a CPU counts on that CPU only. */
static bool bound_to_cpu(void)
{
	struct perf_event_attr attr = call_attr();
	int fd, other;
	pid_t pid;

	require_cpus(2);
	pin_to_cpu(0);
	fd = MUST(perf_open(&attr, 0, 0, -1, 0));
	other = MUST(perf_open(&attr, 0, 1, -1, 0));
	pid = fork_child();
	if (!pid) {
		make_calls();
		pin_to_cpu(1);
		make_calls();
		make_calls();
		_exit(0);
	}
	return child_succeeded(pid) & expect_eq("on CPU 0", perf_count(fd), CALLS) &
	       expect_eq("on CPU 1", perf_count(other), 2 * CALLS);
}

/* fork() fails at the cgroup's limit of processes: what was inherited by then is freed. */
static bool fork_fails(void)
{
	struct perf_event_attr attr = call_attr();
	int fd[8], dir;
	bool good = true;
	pid_t pid;

	need_cgroups();
	dir = make_cgroup("fork-fails");
	for (int i = 0; i < 8; i++)
		fd[i] = open_self(&attr, i & 1 ? fd[i - 1] : -1);
	pid = fork_child();
	if (!pid) {
		move_to(getpid(), "fork-fails");
		MUST(write_line(path_of("fork-fails", "pids.max"), "1"));
		for (int i = 0; i < 200; i++) {
			if (fork() >= 0 || errno != EAGAIN)
				_exit(1);
		}
		make_calls();
		_exit(0);
	}
	good &= child_succeeded(pid);
	close(dir);
	remove_cgroup("fork-fails");
	for (int i = 0; i < 8; i++)
		good &= expect_eq("count", perf_count(fd[i]), CALLS);
	return good;
}

/* clone3() fails after the events were inherited: the requested PID is in use. */
static bool clone_fails_late(void)
{
	struct perf_event_attr attr = call_attr();
	pid_t taken = getpid();
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&taken,
		.set_tid_size = 1,
	};
	bool good = true;
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr, -1);
	open_self(&attr, fd);
	for (int i = 0; i < 100; i++) {
		long ret = syscall(__NR_clone3, &args, sizeof(args));

		if (!ret)
			_exit(1);
		good &= expect_refused("clone3", ret, EEXIST, NULL);
		if (!good)
			return false;
	}
	make_calls();
	return good & expect_eq("count", read_timed_count(fd).value, CALLS);
}

/* exec of this program, with a word for what it does. */

static void exec_self(const char *word)
{
	execl("/proc/self/exe", "inherit", word, NULL);
	_exit(99);
}

static void exec_calls(void)
{
	exec_self("calls");
}

static bool enabled_by_exec(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new();
	bool good = true;
	pid_t pid;
	int fd;

	attr.inherit = 0;
	attr.disabled = 1;
	attr.enable_on_exec = 1;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		make_calls();
		exec_calls();
	}
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	gate_open(&go);
	good &= child_succeeded(pid);
	return good & expect_eq("after exec only", perf_count(fd), CALLS);
}

/* enable_on_exec acts at the first exec: an event that is disabled later stays disabled. */
static bool enabled_by_one_exec(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new();
	pid_t pid;
	int fd;

	attr.inherit = 0;
	attr.disabled = 1;
	attr.enable_on_exec = 1;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		exec_self("exec-stop-exec");
	}
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	gate_open(&go);
	waitpid(pid, NULL, WUNTRACED);
	if (!expect_eq("after the first", perf_count(fd), CALLS))
		return false;
	event_disable(fd);
	kill(pid, SIGCONT);
	return child_succeeded(pid) & expect_eq("after the second", perf_count(fd), CALLS);
}

/* As perf stat does: exec enables the leader of a group, which the program's children inherit. */
static bool group_enabled_by_exec(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new();
	struct reading r;
	pid_t pid;
	int leader;

	attr.disabled = 1;
	attr.enable_on_exec = 1;
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		exec_self("fork-calls");
	}
	leader = MUST(perf_open(&attr, pid, -1, -1, 0));
	attr.disabled = 0;
	attr.enable_on_exec = 0;
	MUST(perf_open(&attr, pid, -1, leader, 0));
	gate_open(&go);
	return child_succeeded(pid) && read_in_format(leader, attr.read_format, &r) &&
	       expect_eq("members", r.nr, 2) && expect_eq("leader", r.member[0].value, 2 * CALLS) &&
	       expect_eq("sibling", r.member[1].value, 2 * CALLS) &&
	       expect_eq("running", r.running, r.enabled);
}

static bool removed_by_exec(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new();
	bool good = true;
	pid_t pid;
	int fd, other;

	attr.inherit = 0;
	attr.remove_on_exec = 1;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		make_calls();
		exec_calls();
	}
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	attr.remove_on_exec = 0;
	other = MUST(perf_open(&attr, pid, -1, -1, 0));
	gate_open(&go);
	good &= child_succeeded(pid);
	return good & expect_eq("before exec", perf_count(fd), CALLS) &
	       expect_eq("one that stays", perf_count(other), 2 * CALLS);
}

/* remove_on_exec on some members of a group, which are closed in either order. */
static bool removed_from_group(bool leader_goes, bool sibling_goes, bool leader_first)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new();
	uint64_t want[2], have[2];
	bool good = true;
	int fd[2];
	pid_t pid;

	attr.inherit = 0;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		make_calls();
		exec_calls();
	}
	attr.remove_on_exec = leader_goes;
	fd[0] = MUST(perf_open(&attr, pid, -1, -1, 0));
	attr.remove_on_exec = sibling_goes;
	fd[1] = MUST(perf_open(&attr, pid, -1, fd[0], 0));
	gate_open(&go);
	good &= child_succeeded(pid);
	have[0] = perf_count(fd[0]);
	have[1] = perf_count(fd[1]);
	want[0] = leader_goes ? CALLS : 2 * CALLS;
	want[1] = sibling_goes ? CALLS : 2 * CALLS;
	good &= expect_eq("leader", have[0], want[0]);
	good &= expect_eq("sibling", have[1], want[1]);
	close(fd[!leader_first]);
	close(fd[leader_first]);
	if (!good)
		ktap_note("leader goes: %d, sibling goes: %d", leader_goes, sibling_goes);
	return good;
}

static bool removed_from_groups(void)
{
	bool good = true;

	for (int i = 0; i < 8; i++)
		good &= removed_from_group(i & 1, i & 2, i & 4);
	return good;
}

/* All members are removed: the group is read as that of a task that has exited. */
static bool removed_group_is_read(void)
{
	struct gate go = gate_new(), called = gate_new(), end = gate_new();
	struct perf_event_attr attr = call_attr();
	uint64_t id[2];
	bool good = true;
	int fd[2];
	pid_t pid;

	attr.remove_on_exec = 1;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		/* It outlives its parent, and has inherited the group. */
		if (!fork()) {
			make_calls();
			gate_open(&called);
			gate_wait(&end);
			_exit(0);
		}
		gate_wait(&called);
		make_calls();
		exec_calls();
	}
	fd[0] = MUST(perf_open(&attr, pid, -1, -1, 0));
	fd[1] = MUST(perf_open(&attr, pid, -1, fd[0], 0));
	gate_open(&go);
	good &= child_succeeded(pid);
	for (int i = 0; i < 2; i++)
		MUST(ioctl(fd[i], PERF_EVENT_IOC_ID, &id[i]));
	for (int i = 0; i < 2; i++) {
		struct reading r;

		if (!read_in_format(fd[i], attr.read_format, &r) ||
		    !expect_eq("members", r.nr, 2))
			return false;
		for (int j = 0; j < 2; j++) {
			good &= expect_eq("id", r.member[j].id, id[j]);
			good &= expect_eq("calls", r.member[j].value, 2 * CALLS);
		}
	}
	gate_open(&end);
	close(fd[0]);
	return good;
}

/* exec removes inherited events: the parent keeps what they counted. */
static bool children_removed_by_exec(void)
{
	struct perf_event_attr attr = call_attr();
	bool good = true;
	int fd;

	attr.remove_on_exec = 1;
	fd = open_self(&attr, -1);
	open_self(&attr, fd);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			make_calls();
			exec_calls();
		}
		good &= child_succeeded(pid);
	}
	make_calls();
	return good & expect_eq("up to exec", perf_count(fd), 11 * CALLS);
}

/* exec by a thread ends the events of the other threads. */
static void *thread_exec(void *arg)
{
	exec_calls();
	return arg;
}

static bool exec_by_a_thread(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new();
	pthread_t thread;
	bool good = true;
	pid_t pid;
	int fd;

	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		make_calls();
		for (int i = 0; i < 4; i++)
			pthread_create(&thread, NULL, i < 3 ? thread_calls : thread_exec, NULL);
		for (;;)
			pause();
	}
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	gate_open(&go);
	good &= child_succeeded(pid);
	/* How much the other threads have done by then varies. */
	return good & expect_between("count", perf_count(fd), 2 * CALLS, 5 * CALLS);
}

/* The first task has exited; its children have children. */
static bool first_task_is_gone(void)
{
	struct perf_event_attr attr = call_attr();
	struct gate go = gate_new(), gone = gate_new(), done = gate_new();
	bool good;
	pid_t pid;
	int fd;

	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		if (!fork()) {
			gate_wait(&gone);
			bool counted = child_counts(make_calls);

			gate_open(&done);
			_exit(!counted);
		}
		_exit(0);
	}
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	gate_open(&go);
	good = child_succeeded(pid);
	gate_open(&gone);
	gate_wait(&done);
	sleep_ms(50);
	return good & expect_eq("calls of a grandchild", perf_count(fd), CALLS);
}

/* exec of a child enables its event and those of its children, not the parent's. */
static bool exec_enables_descendants(void)
{
	struct perf_event_attr attr = call_attr();
	pid_t pid;
	bool good;
	int fd;

	attr.disabled = 1;
	attr.enable_on_exec = 1;
	fd = open_self(&attr, -1);
	pid = fork_child();
	if (!pid) {
		execl("/proc/self/exe", "inherit", "fork-calls", NULL);
		_exit(1);
	}
	good = child_succeeded(pid);
	make_calls();
	return good & expect_eq("calls", perf_count(fd), 2 * CALLS);
}

static const struct test tests[] = {
	{ "children count for their parent", children_count_for_parents },
	{ "grandchildren count for their parent", grandchildren_count },
	{ "grandchildren count when the first task has exited", first_task_is_gone },
	{ "children do not count without inherit", without_inherit },
	{ "children are enabled and disabled with their parent", state_is_inherited },
	{ "groups are inherited whole", groups_are_inherited },
	{ "a software leader with a hardware sibling is inherited", software_leader_is_inherited },
	{ "a group is read while children die", group_is_read_while_children_die },
	{ "inherit_thread: threads, but no processes", threads_only },
	{ "closed while children run", closed_before_children_end },
	{ "a child reads the count of all", child_reads_the_family },
	{ "inherited with a CPU", bound_to_cpu },
	{ "a fork that fails leaves nothing", fork_fails },
	{ "a clone that fails late leaves nothing", clone_fails_late },
	{ "enable_on_exec", enabled_by_exec },
	{ "enable_on_exec, once", enabled_by_one_exec },
	{ "enable_on_exec of a group that is inherited", group_enabled_by_exec },
	{ "enable_on_exec by a child, and its children", exec_enables_descendants },
	{ "remove_on_exec", removed_by_exec },
	{ "remove_on_exec of leader or sibling, closed in either order", removed_from_groups },
	{ "remove_on_exec of a whole group, which is read then", removed_group_is_read },
	{ "remove_on_exec of inherited events", children_removed_by_exec },
	{ "exec by a thread", exec_by_a_thread },
};

/* Work for other tests, by the word on the command line; perf_stat.sh uses it. */

static volatile uint64_t watched;

static void write_watched(void)
{
	for (int i = 0; i < CALLS; i++)
		watched = i;
}

static void *thread_waits(void *arg)
{
	while (access("/tmp/go", F_OK))
		usleep(1000);
	make_calls();
	while (access("/tmp/end", F_OK))
		usleep(1000);
	return arg;
}

/* Four threads that wait for one file before their calls, and for another before they exit. */
static void threads_wait(void)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, thread_waits, NULL);
	thread_waits(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static void run_a_loop(void)
{
	run_loop(20000000);
}

static void exec_stop_exec(void)
{
	make_calls();
	raise(SIGSTOP);
	exec_calls();
}

static void fork_calls(void)
{
	make_calls();
	if (!child_counts(make_calls))
		_exit(1);
}

static void print_address(void)
{
	printf("%#lx\n", (unsigned long)&watched);
}

static const struct {
	const char	*word;
	void		(*work)(void);
} words[] = {
	{ "calls", make_calls },
	{ "fork-calls", fork_calls },
	{ "exec-stop-exec", exec_stop_exec },
	{ "threads", threads_wait },
	{ "loop", run_a_loop },
	{ "write", write_watched },
	{ "address", print_address },
};

int main(int argc, char **argv)
{
	for (unsigned int i = 0; argc > 1 && i < ARRAY_SIZE(words); i++) {
		if (!strcmp(argv[1], words[i].word)) {
			words[i].work();
			return 0;
		}
	}
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
