// SPDX-License-Identifier: GPL-2.0
/*
 * Inheritance and exec: which children take events along, how their counts come back, and what
 * begins or ends with exec.
 */
#include "workload.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PAGES	30

/* System calls of one number: an exact count where there are tracepoints. */
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
	return child_was_good(pid);
}

static bool children_count_for_parents(void)
{
	struct perf_event_attr attr = call_attr();
	int fd = open_self(&attr, -1);
	bool good = true;

	for (int i = 1; i <= 20; i++) {
		good &= child_counts(make_calls);
		good &= same("after a child", perf_count(fd), i * CALLS);
	}
	return good;
}

static void grandchild(void)
{
	make_calls();
	child_counts(make_calls);
	make_calls();
}

static bool grandchildren_count(void)
{
	struct perf_event_attr attr = call_attr();
	int fd = open_self(&attr, -1);

	return child_counts(grandchild) & same("three times", perf_count(fd), 3 * CALLS);
}

static bool without_inherit(void)
{
	struct perf_event_attr attr = call_attr();
	int fd;

	attr.inherit = 0;
	fd = open_self(&attr, -1);
	child_counts(make_calls);
	make_calls();
	return same("mine only", perf_count(fd), CALLS);
}

/* The parent's event is disabled: the child's is, until the parent's is enabled. */
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
	good &= same("disabled", perf_count(fd), 0);
	enable(fd);
	gate_open(&go);
	gate_wait(&done);
	good &= same("enabled", perf_count(fd), CALLS);
	disable(fd);
	gate_open(&go);
	gate_wait(&done);
	end_child(pid);
	return good & same("disabled again", perf_count(fd), CALLS);
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
		return refused("sibling", fd, 0, NULL);
	for (int i = 0; i < 8; i++)
		child_counts(make_calls);
	make_calls();
	if (!read_format(leader, attr.read_format, &r) || !same("members", r.nr, 3))
		return false;
	return same("leader", r.member[0].value, 9 * CALLS) &
	       same("sibling", r.member[2].value, 9 * CALLS) &
	       near_permille("clock and time running", r.member[1].value, r.running, 200);
}

/* A group read while its children run and end: each reading is at least the one before. */
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
		good = read_format(leader, attr.read_format, &r) & same("members", r.nr, 4);
		for (uint64_t i = 0; i < r.nr && good; i++)
			good &= between("a later reading", r.member[i].value,
					last.member[i].value, 100 * CALLS);
		last = r;
	}
	good &= read_format(leader, attr.read_format, &r);
	for (uint64_t i = 0; i < r.nr; i++)
		good &= same("in the end", r.member[i].value, 100 * CALLS);
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
	return same("threads", perf_count(fd), 5 * CALLS);
}

/* Children count on after the parent's file is closed: for nobody, and without harm. */
static bool closed_before_children_end(void)
{
	struct perf_event_attr attr = call_attr();
	bool good = true;

	for (int i = 0; i < 20; i++) {
		int fd = open_self(&attr, -1);
		pid_t pid = fork_child();

		if (!pid) {
			close(fd);	/* the last is to be the parent's */
			make_calls();
			usleep(i * 50);
			make_calls();
			_exit(0);
		}
		usleep(i * 30);
		close(fd);
		good &= child_was_good(pid);
	}
	return good;
}

/* A child may not take over its parent's event: reading through the inherited file is the parent. */
static bool child_reads_the_family(void)
{
	struct perf_event_attr attr = call_attr();
	int fd = open_self(&attr, -1);
	pid_t pid;

	make_calls();
	pid = fork_child();
	if (!pid) {
		make_calls();
		_exit(!same("of the family", perf_count(fd), 2 * CALLS));
	}
	return child_was_good(pid) & same("of the family", perf_count(fd), 2 * CALLS);
}

/* A CPU-bound inherited event is inherited with its CPU. */
static bool bound_to_cpu(void)
{
	struct perf_event_attr attr = call_attr();
	int fd, other;
	pid_t pid;

	need_cpus(2);
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
	return child_was_good(pid) & same("on CPU 0", perf_count(fd), CALLS) &
	       same("on CPU 1", perf_count(other), 2 * CALLS);
}

/* fork() fails for lack of processes: nothing is left of what it had inherited by then. */
static bool fork_fails(void)
{
	struct perf_event_attr attr = call_attr();
	struct rlimit none = { 0, 0 };
	int fd[8];
	bool good = true;
	pid_t pid;

	for (int i = 0; i < 8; i++)
		fd[i] = open_self(&attr, i & 1 ? fd[i - 1] : -1);
	pid = fork_child();
	if (!pid) {
		MUST(setrlimit(RLIMIT_NPROC, &none));
		MUST(setresuid(65534, 65534, 65534));
		for (int i = 0; i < 200; i++) {
			if (fork() >= 0)
				_exit(1);
		}
		/* A late failure: the pid that is asked for is taken. */
		make_calls();
		_exit(0);
	}
	good &= child_was_good(pid);
	for (int i = 0; i < 8; i++)
		good &= same("count", perf_count(fd[i]), CALLS);
	return good;
}

/* clone3() that fails after the events were inherited: the pid it wants is taken. */
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
		good &= refused("clone3", ret, EEXIST, NULL);
		if (!good)
			return false;
	}
	make_calls();
	return good & same("count", read_timed(fd).value, CALLS);
}

/*
 * exec: this program again, with a word that says what to do
 */

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
	good &= child_was_good(pid);
	return good & same("after exec only", perf_count(fd), CALLS);
}

/* enable_on_exec is used up by the first exec: one that is disabled later stays so. */
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
	if (!same("after the first", perf_count(fd), CALLS))
		return false;
	disable(fd);
	kill(pid, SIGCONT);
	return child_was_good(pid) & same("after the second", perf_count(fd), CALLS);
}

/* perf stat's way: a group whose leader is enabled by exec, inherited by what is run. */
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
	return child_was_good(pid) && read_format(leader, attr.read_format, &r) &&
	       same("members", r.nr, 2) && same("leader", r.member[0].value, 2 * CALLS) &&
	       same("sibling", r.member[1].value, 2 * CALLS) &&
	       same("running", r.running, r.enabled);
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
	good &= child_was_good(pid);
	return good & same("before exec", perf_count(fd), CALLS) &
	       same("one that stays", perf_count(other), 2 * CALLS);
}

/* remove_on_exec on some members of a group, closed in either order. */
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
	good &= child_was_good(pid);
	have[0] = perf_count(fd[0]);
	have[1] = perf_count(fd[1]);
	want[0] = leader_goes ? CALLS : 2 * CALLS;
	want[1] = sibling_goes ? CALLS : 2 * CALLS;
	good &= same("leader", have[0], want[0]);
	good &= same("sibling", have[1], want[1]);
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

/* Inherited events that exec removes: the parent has what they counted until then. */
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
		good &= child_was_good(pid);
	}
	make_calls();
	return good & same("up to exec", perf_count(fd), 11 * CALLS);
}

/* exec by a thread: the events of the others end with them. */
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
	good &= child_was_good(pid);
	/* How far the other threads came by then is their luck. */
	return good & between("count", perf_count(fd), 2 * CALLS, 5 * CALLS);
}

/* Whose event it was has ended; his children have children. */
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
	good = child_was_good(pid);
	gate_open(&gone);
	gate_wait(&done);
	sleep_ms(50);
	return good & same("calls of a grandchild", perf_count(fd), CALLS);
}

/* It is the child that execs, and what it begets then counts, whatever its parent does. */
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
	good = child_was_good(pid);
	make_calls();
	return good & same("calls", perf_count(fd), 2 * CALLS);
}

static const struct test tests[] = {
	{ "children count for their parent", children_count_for_parents },
	{ "grandchildren, too", grandchildren_count },
	{ "grandchildren, when the first task is gone", first_task_is_gone },
	{ "not without inherit", without_inherit },
	{ "children are enabled and disabled with their parent", state_is_inherited },
	{ "groups are inherited whole", groups_are_inherited },
	{ "a group is read while children die", group_is_read_while_children_die },
	{ "inherit_thread: threads, but no processes", threads_only },
	{ "closed while children run", closed_before_children_end },
	{ "a child reads the family's count", child_reads_the_family },
	{ "inherited with a CPU", bound_to_cpu },
	{ "fork fails", fork_fails },
	{ "clone fails late", clone_fails_late },
	{ "enable_on_exec", enabled_by_exec },
	{ "enable_on_exec, once", enabled_by_one_exec },
	{ "enable_on_exec of a group that is inherited", group_enabled_by_exec },
	{ "enable_on_exec by a child, and its children", exec_enables_descendants },
	{ "remove_on_exec", removed_by_exec },
	{ "remove_on_exec of leader or sibling, closed in either order", removed_from_groups },
	{ "remove_on_exec of inherited events", children_removed_by_exec },
	{ "exec by a thread", exec_by_a_thread },
};

/*
 * Work for others to measure, by the word on the command line; perf_stat.sh knows these words.
 */

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

/* Four threads that wait for one file to make their calls, and for another to end. */
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
