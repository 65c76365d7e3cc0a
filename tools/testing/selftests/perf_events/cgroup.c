// SPDX-License-Identifier: GPL-2.0
/*
 * Events of cgroups: they count the tasks of a cgroup and of its descendants, on one CPU, also
 * while tasks move between cgroups and cgroups are created and removed.
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
#include <sys/syscall.h>

#define MS	1000000ull
#define PAGES	50

static const char *root;

/* The perf_event controller exists only after another controller was enabled. */
static void need_cgroups(void)
{
	char path[128];

	if (!access("/cgroup/cgroup.procs", F_OK))
		root = "/cgroup";
	else if (!access("/sys/fs/cgroup/cgroup.procs", F_OK))
		root = "/sys/fs/cgroup";
	else
		skip_case("no cgroup2");
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	if (write_line(path, "+pids"))
		skip_case("cgroup.subtree_control");
}

static const char *path_of(const char *name, const char *file)
{
	static char path[4][192];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/perf-%s%s%s", root, name, *file ? "/" : "",
		 file);
	return path[next];
}

static int make_cgroup(const char *name)
{
	if (mkdir(path_of(name, ""), 0755) && errno != EEXIST)
		fail_case(name);
	return MUST(open(path_of(name, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static void remove_cgroup(const char *name)
{
	for (int i = 0; rmdir(path_of(name, "")) && i < 200; i++)
		sleep_ms(5);
}

static void move_to(pid_t pid, const char *name)
{
	char line[16];

	snprintf(line, sizeof(line), "%d", pid);
	MUST(write_line(path_of(name, "cgroup.procs"), line));
}

static void move_to_root(pid_t pid)
{
	char path[128], line[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", root);
	snprintf(line, sizeof(line), "%d", pid);
	MUST(write_line(path, line));
}

static int open_in(struct perf_event_attr *attr, int cgroup, int cpu, int group)
{
	return MUST(perf_open(attr, cgroup, cpu, group, PERF_FLAG_PID_CGROUP));
}

static int open_soft(uint64_t config, int cgroup, int cpu)
{
	struct perf_event_attr attr = sw_attr(config);

	attr.read_format = FORMAT_TIMES;
	return open_in(&attr, cgroup, cpu, -1);
}

/* A child on CPU 0 that takes one page fault for each byte sent to it, and acknowledges it. */
struct worker {
	pid_t		pid;
	struct gate	go, done;
};

static struct worker worker_new(int cpu)
{
	struct worker w = { .go = gate_new(), .done = gate_new() };

	w.pid = fork_child();
	if (!w.pid) {
		pin_to_cpu(cpu);
		for (;;) {
			gate_wait(&w.go);
			fault_pages(PAGES);
			gate_open(&w.done);
		}
	}
	/* All that the child needs is mapped after one round. */
	gate_open(&w.go);
	gate_wait(&w.done);
	return w;
}

static void worker_round(struct worker *w)
{
	gate_open(&w->go);
	gate_wait(&w->done);
}

/* Checks the faults of @nr rounds: a running process takes few others. */
static bool counts_rounds(const char *what, int fd, unsigned int nr)
{
	uint64_t value = read_timed_count(fd).value;

	return expect_between(what, value, nr * PAGES, nr * PAGES + nr * 2);
}

static bool members_only(void)
{
	struct worker in, out;
	int dir, fd;
	bool good;

	need_cgroups();
	dir = make_cgroup("a");
	in = worker_new(0);
	out = worker_new(0);
	move_to(in.pid, "a");
	fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir, 0);
	for (int i = 0; i < 20; i++) {
		worker_round(&in);
		worker_round(&out);
	}
	good = counts_rounds("the member's", fd, 20);
	kill_child(in.pid);
	kill_child(out.pid);
	close(fd);
	remove_cgroup("a");
	return good;
}

/* Tasks of a descendant count for the ancestor as well. */
static bool hierarchy_counts(void)
{
	int a, ab, fd_a, fd_ab, fd_root, top;
	struct worker upper, lower;
	bool good;

	need_cgroups();
	top = MUST(open(root, O_RDONLY | O_DIRECTORY));
	a = make_cgroup("a");
	MUST(write_line(path_of("a", "cgroup.subtree_control"), "+pids"));
	ab = make_cgroup("a/b");
	upper = worker_new(0);
	lower = worker_new(0);
	move_to(lower.pid, "a/b");
	fd_a = open_soft(PERF_COUNT_SW_PAGE_FAULTS, a, 0);
	fd_ab = open_soft(PERF_COUNT_SW_PAGE_FAULTS, ab, 0);
	fd_root = open_soft(PERF_COUNT_SW_PAGE_FAULTS, top, 0);
	for (int i = 0; i < 10; i++) {
		worker_round(&lower);
		worker_round(&upper);
	}
	good = counts_rounds("the lower cgroup's", fd_ab, 10) &
	       counts_rounds("the upper one's", fd_a, 10) &
	       expect_between("the root's", read_timed_count(fd_root).value, 20 * PAGES,
			      30 * PAGES);
	kill_child(upper.pid);
	kill_child(lower.pid);
	close(fd_ab);
	close(fd_a);
	remove_cgroup("a/b");
	remove_cgroup("a");
	return good;
}

/* A task that moves is counted where it is. */
static bool task_moves(void)
{
	struct worker w;
	int a, b, fd_a, fd_b;
	bool good;

	need_cgroups();
	a = make_cgroup("a");
	b = make_cgroup("b");
	w = worker_new(0);
	fd_a = open_soft(PERF_COUNT_SW_PAGE_FAULTS, a, 0);
	fd_b = open_soft(PERF_COUNT_SW_PAGE_FAULTS, b, 0);
	for (int i = 0; i < 20; i++) {
		move_to(w.pid, i & 1 ? "b" : "a");
		worker_round(&w);
		if (i % 4 == 3) {
			move_to_root(w.pid);
			worker_round(&w);
		}
	}
	good = counts_rounds("in the first", fd_a, 10) & counts_rounds("in the second", fd_b, 10);
	kill_child(w.pid);
	close(fd_a);
	close(fd_b);
	remove_cgroup("a");
	remove_cgroup("b");
	return good;
}

/* Another task moves it while it runs: time and count follow at once. */
static bool running_task_moves(void)
{
	int a, b, fd_a, fd_b;
	struct timed_count ta, tb;
	pid_t pid;
	bool good;

	need_cgroups();
	require_cpus(2);
	a = make_cgroup("a");
	b = make_cgroup("b");
	pin_to_cpu(0);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(1);
		for (;;)
			run_loop(10000);
	}
	sleep_ms(20);
	fd_a = open_soft(PERF_COUNT_SW_CPU_CLOCK, a, 1);
	fd_b = open_soft(PERF_COUNT_SW_CPU_CLOCK, b, 1);
	move_to(pid, "a");
	sleep_ms(200);
	move_to(pid, "b");
	sleep_ms(200);
	move_to_root(pid);
	sleep_ms(100);
	ta = read_timed_count(fd_a);
	tb = read_timed_count(fd_b);
	kill_child(pid);
	good = expect_between("clock of the first", ta.value, 150 * MS, 10000 * MS) &
	       expect_between("clock of the second", tb.value, 150 * MS, 10000 * MS) &
	       expect_near("time running", ta.running, ta.value, ta.value / 5) &
	       expect_eq("moved away: stands still", read_timed_count(fd_b).value, tb.value);
	close(fd_a);
	close(fd_b);
	remove_cgroup("a");
	remove_cgroup("b");
	return good;
}

/* cgroup-switches: one for each switch of the CPU between two cgroups. */
static bool cgroup_switches(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CGROUP_SWITCHES);
	struct perf_event_attr any = sw_attr(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t before, after, most;
	struct worker in, too;
	bool good;
	int dir, cpu, all;

	need_cgroups();
	dir = make_cgroup("a");
	pin_to_cpu(0);
	in = worker_new(0);
	too = worker_new(0);
	move_to(in.pid, "a");
	all = MUST(perf_open(&any, -1, 0, -1, 0));
	cpu = MUST(perf_open(&attr, -1, 0, -1, 0));
	/* Between this task in the root and the worker in its cgroup, and between others. */
	most = perf_count(all);
	before = perf_count(cpu);
	for (int i = 0; i < 100; i++)
		worker_round(&in);
	after = perf_count(cpu);
	most = perf_count(all) - most;
	good = expect_between("there and back", after - before, 200, most);
	/* Within the root there are none. */
	before = perf_count(cpu);
	for (int i = 0; i < 100; i++)
		worker_round(&too);
	after = perf_count(cpu);
	good &= expect_between("within a cgroup", after - before, 0, 20);
	kill_child(in.pid);
	kill_child(too.pid);
	close(dir);
	remove_cgroup("a");
	return good;
}

/* Cgroups that were removed and are still referred to; -1 if the kernel does not say. */
static int nr_dying(void)
{
	FILE *f = fopen("/cgroup/cgroup.stat", "r");
	char line[64];
	int nr = -1;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "nr_dying_descendants %d", &nr) == 1)
			break;
	}
	if (f)
		fclose(f);
	return nr;
}

/* Events of a cgroup that is removed stand still, and can be read. */
static bool cgroup_is_removed(void)
{
	struct timed_count before, after;
	int dir, fd, dying;
	struct worker w;
	bool good;

	need_cgroups();
	dying = nr_dying();
	dir = make_cgroup("a");
	w = worker_new(0);
	move_to(w.pid, "a");
	fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir, 0);
	worker_round(&w);
	move_to_root(w.pid);
	close(dir);
	remove_cgroup("a");
	before = read_timed_count(fd);
	worker_round(&w);
	after = read_timed_count(fd);
	good = expect_between("before", before.value, PAGES, PAGES + 5) &
	       expect_eq("after", after.value, before.value) &
	       expect_eq("removed", access(path_of("a", ""), F_OK), -1);
	close(fd);
	kill_child(w.pid);
	/* RCU frees it, and what earlier cases removed. */
	for (int i = 0; i < 40 && nr_dying() > dying; i++)
		sleep_ms(50);
	return good & expect_eq("more removed cgroups are left", nr_dying() > dying, false);
}

/* Hardware counts exactly: a loop in the cgroup, not one outside. */
static bool hardware_counts(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	pid_t pid[2];
	int dir, fd;
	bool good = true;

	require_exact_instructions();
	need_cgroups();
	dir = make_cgroup("a");
	attr.disabled = 0;
	pin_to_cpu(0);
	fd = open_in(&attr, dir, 0, -1);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork_child();
		if (!pid[i]) {
			raise(SIGSTOP);
			run_loop(20000000);
			_exit(0);
		}
		waitpid(pid[i], NULL, WUNTRACED);
	}
	move_to(pid[0], "a");
	kill(pid[0], SIGCONT);
	kill(pid[1], SIGCONT);
	good &= child_succeeded(pid[0]) & child_succeeded(pid[1]);
	good &= expect_near_permille("the member's loop", perf_count(fd), LOOP_INSNS(20000000), 2);
	close(fd);
	remove_cgroup("a");
	return good;
}

/* Events of a cgroup, of its CPU and of its task share the counters and agree. */
static bool hardware_of_all_kinds(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int dir, inner, fd[4];
	bool good = true;
	pid_t pid;

	require_exact_instructions();
	need_cgroups();
	dir = make_cgroup("a");
	MUST(write_line(path_of("a", "cgroup.subtree_control"), "+pids"));
	inner = make_cgroup("a/b");
	attr.disabled = 0;
	pin_to_cpu(0);
	pid = fork_child();
	if (!pid) {
		raise(SIGSTOP);
		for (int i = 0; i < 100; i++) {
			run_loop(200000);
			usleep(100);
		}
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	move_to(pid, "a/b");
	fd[0] = open_in(&attr, dir, 0, -1);
	fd[1] = open_in(&attr, inner, 0, -1);
	fd[2] = MUST(perf_open(&attr, -1, 0, -1, 0));
	fd[3] = MUST(perf_open(&attr, pid, -1, -1, 0));
	kill(pid, SIGCONT);
	good &= child_succeeded(pid);
	for (int i = 0; i < 4; i++)
		good &= expect_near_permille("one of four", perf_count(fd[i]),
					     100 * LOOP_INSNS(200000), 5);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	remove_cgroup("a/b");
	remove_cgroup("a");
	return good;
}

/* Many cgroups with a hardware event each, more than counters: no multiplexing is needed. */
static bool many_cgroups(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	char name[8];
	bool good = true;
	pid_t pid[16];
	int fd[16];

	require_exact_instructions();
	need_cgroups();
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	pin_to_cpu(0);
	for (int i = 0; i < 16; i++) {
		int dir;

		snprintf(name, sizeof(name), "m%d", i);
		dir = make_cgroup(name);
		fd[i] = open_in(&attr, dir, 0, -1);
		close(dir);
		pid[i] = fork_child();
		if (!pid[i]) {
			raise(SIGSTOP);
			run_loop((i + 1) * 500000);
			_exit(0);
		}
		waitpid(pid[i], NULL, WUNTRACED);
		move_to(pid[i], name);
	}
	for (int i = 0; i < 16; i++)
		kill(pid[i], SIGCONT);
	for (int i = 0; i < 16; i++)
		good &= child_succeeded(pid[i]);
	for (int i = 0; i < 16; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect_near("a cgroup's loop", t.value, LOOP_INSNS((i + 1) * 500000), 5000);
		good &= expect_eq("running", t.running, t.enabled);
		close(fd[i]);
		snprintf(name, sizeof(name), "m%d", i);
		remove_cgroup(name);
	}
	return good;
}

/* A stopped child in a cgroup, before a loop of half a second. */
static pid_t stopped_member(const char *cgroup)
{
	pid_t pid = fork_child();

	if (!pid) {
		raise(SIGSTOP);
		run_loop(200000000);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	move_to(pid, cgroup);
	return pid;
}

/* A cgroup and its CPU have more events than there are counters: both are multiplexed. */
static bool cgroup_and_cpu(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[16], dir;
	bool good = true;
	pid_t pid;

	require_exact_instructions();
	need_cgroups();
	if (!kernel_gives_reasons())
		skip_case("this kernel does not promise turns");
	dir = make_cgroup("a");
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	pin_to_cpu(0);
	pid = stopped_member("a");
	for (int i = 0; i < 8; i++) {
		fd[i] = open_in(&attr, dir, 0, -1);
		fd[8 + i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	}
	kill(pid, SIGCONT);
	good &= child_succeeded(pid);
	for (int i = 0; i < 16; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect_between(i < 8 ? "the cgroup's, in thousandths" :
					       "the CPU's, in thousandths",
				       t.running * 1000 / t.enabled, 150, 999);
		close(fd[i]);
	}
	close(dir);
	remove_cgroup("a");
	return good;
}

/* Pinned events of a CPU keep their counters, whatever a cgroup pins. */
static bool pinned_to_cpu(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[16], cpu, dir;
	struct timed_count t;
	bool good;
	pid_t pid;

	require_exact_instructions();
	need_cgroups();
	dir = make_cgroup("a");
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	attr.pinned = 1;
	pin_to_cpu(0);
	pid = stopped_member("a");
	cpu = MUST(perf_open(&attr, -1, 0, -1, 0));
	for (int i = 0; i < 16; i++)
		fd[i] = open_in(&attr, dir, 0, -1);
	kill(pid, SIGCONT);
	good = child_succeeded(pid);
	t = read_timed_count(cpu);
	good &= expect_eq("running", t.running, t.enabled);
	for (int i = 0; i < 16; i++)
		close(fd[i]);
	close(cpu);
	close(dir);
	remove_cgroup("a");
	return good;
}

/* A child on CPU 0 that runs a loop of 3 ms for each byte sent to it, and acknowledges it. */
static struct worker looper_new(void)
{
	struct worker w = { .go = gate_new(), .done = gate_new() };

	w.pid = fork_child();
	if (!w.pid) {
		pin_to_cpu(0);
		for (;;) {
			gate_wait(&w.go);
			run_loop(1500000);
			gate_open(&w.done);
		}
	}
	return w;
}

/*
 * A cgroup within another, each with almost as many events as counters: the events of the outer one
 * are multiplexed while tasks of the inner one run, not while its own do.
 */
static bool nested_cgroups(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[32], dir[2], nr;
	struct worker w[2];
	bool good = true;

	require_exact_instructions();
	need_cgroups();
	if (!kernel_gives_reasons())
		skip_case("this kernel does not promise turns");
	dir[0] = make_cgroup("a");
	dir[1] = make_cgroup("a/b");
	nr = max_group_size(PERF_COUNT_HW_INSTRUCTIONS) - 1;
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	pin_to_cpu(1);
	w[0] = looper_new();
	move_to(w[0].pid, "a");
	w[1] = looper_new();
	move_to(w[1].pid, "a/b");
	for (int i = 0; i < 2 * nr; i++)
		fd[i] = open_in(&attr, dir[i / nr], 0, -1);
	for (int i = 0; i < 200; i++) {
		worker_round(&w[0]);
		sleep_ms(1);
		worker_round(&w[1]);
		sleep_ms(1);
	}
	for (int i = 0; i < 2 * nr; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect_near_permille(i < nr ? "estimate, outer" : "estimate, inner",
					     scaled_count(t),
					     (i < nr ? 2 : 1) * 200 * LOOP_INSNS(1500000), 50);
		good &= expect_between("thousandths of its time", t.running * 1000 / t.enabled, 150,
				       1000);
		close(fd[i]);
	}
	kill_child(w[0].pid);
	kill_child(w[1].pid);
	close(dir[0]);
	close(dir[1]);
	remove_cgroup("a/b");
	remove_cgroup("a");
	return good;
}

/* A software leader runs whenever its cgroup does, with its hardware sibling disabled. */
static bool leader_without_counter(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct timed_count t;
	struct worker w[2];
	int dir[2], fd;

	need_cgroups();
	dir[0] = make_cgroup("a");
	dir[1] = make_cgroup("a/b");
	pin_to_cpu(1);
	for (int i = 0; i < 2; i++) {
		w[i] = looper_new();
		move_to(w[i].pid, i ? "a/b" : "a");
		attr.disabled = 0;
		open_in(&attr, dir[i], 0, -1);
	}
	fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir[0], 0);
	attr.disabled = 1;
	open_in(&attr, dir[0], 0, fd);
	for (int i = 0; i < 20; i++) {
		worker_round(&w[i % 2]);
		sleep_ms(5);
	}
	t = read_timed_count(fd);
	kill_child(w[0].pid);
	kill_child(w[1].pid);
	remove_cgroup("a/b");
	remove_cgroup("a");
	return expect_between("time", t.enabled, 40000000, UINT64_MAX) &
	       expect_eq("time that it waited", t.enabled - t.running, 0);
}

/* A cgroup gets its first event while a task of a cgroup within it runs. */
static bool outer_one_later(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct timed_count inner, outer;
	int fd[3], dir[2];
	bool good = true;

	require_exact_instructions();
	need_cgroups();
	dir[0] = make_cgroup("a");
	dir[1] = make_cgroup("a/b");
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	pin_to_cpu(0);
	move_to(getpid(), "a/b");
	fd[0] = open_in(&attr, dir[1], 0, -1);
	fd[1] = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir[1], 0);
	run_loop(10000000);
	fd[2] = open_in(&attr, dir[0], 0, -1);
	run_loop(10000000);
	fault_pages(PAGES);
	inner = read_timed_count(fd[0]);
	outer = read_timed_count(fd[2]);
	move_to_root(getpid());

	good &= expect_near_permille("the inner one's loops", inner.value, LOOP_INSNS(20000000), 2);
	good &= expect_near_permille("the outer one's loop", outer.value, LOOP_INSNS(10000000), 2);
	good &= expect_between("time that the inner one waited", inner.enabled - inner.running, 0,
			       0);
	good &= expect_between("time that the outer one waited", outer.enabled - outer.running, 0,
			       0);
	good &= expect_between("the inner one's faults", read_timed_count(fd[1]).value, PAGES,
			       PAGES + 20);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	remove_cgroup("a/b");
	remove_cgroup("a");
	return good;
}

/* A group of software and hardware events of a cgroup is read as one. */
static bool group_of_events(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);
	struct worker w;
	struct reading r;
	bool good = true;
	int dir, leader, other;

	need_cgroups();
	dir = make_cgroup("a");
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	w = worker_new(0);
	move_to(w.pid, "a");
	leader = open_in(&attr, dir, 0, -1);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	open_in(&attr, dir, 0, leader);
	for (int i = 0; i < 10; i++)
		worker_round(&w);
	good &= read_in_format(leader, attr.read_format, &r) && expect_eq("members", r.nr, 2) &&
		expect_near("clock", r.member[0].value, r.running, r.running / 10 + MS) &&
		expect_between("faults", r.member[1].value, 10 * PAGES, 10 * PAGES + 20);
	other = perf_open(&attr, -1, 0, leader, 0);
	if (kernel_gives_reasons())
		good &= expect_refused("a CPU's event in a cgroup's group", other, EINVAL, "group");
	close(other);
	kill_child(w.pid);
	close(leader);
	remove_cgroup("a");
	return good;
}

/* A child of a member is a member; the exit of a member does not change the count. */
static bool members_fork_and_exit(void)
{
	pid_t pid;
	int dir, fd;
	bool good;

	need_cgroups();
	dir = make_cgroup("a");
	fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir, 0);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(0);
		move_to(getpid(), "a");
		for (int i = 0; i < 20; i++) {
			pid = fork_child();
			if (!pid) {
				fault_pages(PAGES);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		_exit(0);
	}
	good = child_succeeded(pid) & expect_between("faults", read_timed_count(fd).value,
						     20 * PAGES, 20 * PAGES + 20 * 60);
	close(fd);
	remove_cgroup("a");
	return good;
}

/* The tasks are away at nearly every tick: a throttled event still continues. */
static bool throttled_continues(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	long percent = sysctl_get("perf_cpu_time_max_percent", -1);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	unsigned int without = 0;
	uint64_t before = 0, now;
	struct worker in;
	int dir, fd;

	need_cgroups();
	require_exact_instructions();
	dir = make_cgroup("throttled");
	in = worker_new(0);
	move_to(in.pid, "throttled");
	sysctl_set("perf_cpu_time_max_percent", 25);
	MUST(sysctl_set("perf_event_max_sample_rate", 1000));
	attr.disabled = 0;
	attr.sample_period = 50;
	attr.read_format = FORMAT_TIMES;
	fd = open_in(&attr, dir, 0, -1);
	for (int i = 0; i < 60; i++) {
		worker_round(&in);
		now = read_timed_count(fd).value;
		without += now == before;
		before = now;
		sleep_ms(10);
	}
	sysctl_set("perf_event_max_sample_rate", rate);
	sysctl_set("perf_cpu_time_max_percent", percent);
	close(fd);
	kill_child(in.pid);
	close(dir);
	remove_cgroup("throttled");
	return expect_between("of 60 bursts, those not counted", without, 0, 6);
}

/*
 * Nested cgroups on each side of a switch, which locks the contexts of both sides: more than
 * lockdep has subclasses (8), and more than a task may hold locks (48).
 */
#define DEEP	26

/* Nested in one another below @top; an event in each on CPU 0. */
static void open_nested(const char *top, char name[][128], int *fd)
{
	int dir;

	for (int i = 0; i < DEEP; i++) {
		snprintf(name[i], sizeof(name[i]), "%s%s", i ? name[i - 1] : top, i ? "/in" : "");
		dir = make_cgroup(name[i]);
		fd[i] = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir, 0);
		close(dir);
	}
}

/* Takes page faults whenever the gate opens, then opens the other one. */
static pid_t fault_in_turn(const char *cgroup, struct gate *mine, struct gate *other)
{
	pid_t pid = fork_child();

	if (pid) {
		move_to(pid, cgroup);
		return pid;
	}
	MUST(pin_to_cpu(0));
	for (;;) {
		gate_wait(mine);
		fault_pages(PAGES);
		gate_open(other);
	}
}

/* The tasks of the innermost cgroup are those of all. */
static bool nested_agree(const int *fd)
{
	uint64_t outermost = read_timed_count(fd[0]).value;
	bool good = expect_between("faults", outermost, 2 * PAGES, UINT64_MAX);

	for (int i = 1; i < DEEP; i++)
		good &= expect_eq("faults in a nested cgroup", read_timed_count(fd[i]).value,
				  outermost);
	return good;
}

/* A switch between the leaves changes as many contexts as there are cgroups. */
static bool deep_switches(void)
{
	char x[DEEP][128], y[DEEP][128];
	struct gate to_x = gate_new(), to_y = gate_new();
	int in_x[DEEP], in_y[DEEP];
	bool good = true;
	pid_t pid[2];

	need_cgroups();
	open_nested("deep-x", x, in_x);
	open_nested("deep-y", y, in_y);
	pid[0] = fault_in_turn(x[DEEP - 1], &to_x, &to_y);
	pid[1] = fault_in_turn(y[DEEP - 1], &to_y, &to_x);
	gate_open(&to_x);
	sleep_ms(300);
	kill_child(pid[0]);
	kill_child(pid[1]);
	good &= nested_agree(in_x) & nested_agree(in_y);
	for (int i = DEEP; i--;) {
		close(in_x[i]);
		close(in_y[i]);
		remove_cgroup(x[i]);
		remove_cgroup(y[i]);
	}
	return good;
}

static const struct test tests[] = {
	{ "switches between cgroups that are nested deep", deep_switches },
	{ "members are counted, others not", members_only },
	{ "cgroups below count, too", hierarchy_counts },
	{ "a task moves between cgroups", task_moves },
	{ "a task moves while it runs", running_task_moves },
	{ "cgroup-switches", cgroup_switches },
	{ "a cgroup is removed", cgroup_is_removed },
	{ "members fork and exit", members_fork_and_exit },
	{ "a group of events", group_of_events },
	{ "hardware: a member's loop within 0.2 %", hardware_counts },
	{ "hardware: events of cgroups, CPU and task", hardware_of_all_kinds },
	{ "hardware: more cgroups than counters", many_cgroups },
	{ "hardware: a cgroup and its CPU take turns", cgroup_and_cpu },
	{ "hardware: pinned events of a CPU have priority over those of a cgroup", pinned_to_cpu },
	{ "hardware: a cgroup within another takes turns", nested_cgroups },
	{ "a leader without a counter runs with its cgroup", leader_without_counter },
	{ "hardware: events of an outer cgroup are opened later", outer_one_later },
	{ "hardware: throttled events of tasks that run for moments", throttled_continues },
};

TESTS_MAIN(tests)
