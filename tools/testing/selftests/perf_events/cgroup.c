// SPDX-License-Identifier: GPL-2.0
/*
 * Events of cgroups: they count the tasks of a cgroup and of its descendants, on one CPU, also
 * while tasks move between cgroups and cgroups are created and removed.
 */
#include "cgroups.h"
#include "expect.h"
#include "require.h"

#include <sys/syscall.h>

#define MS	1000000ull

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
	top = MUST(open(cgroup_root, O_RDONLY | O_DIRECTORY));
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

/*
 * A task moves another one, which sleeps on the same CPU, into the cgroup. The running task is in
 * the root, so its faults are not the cgroup's.
 */
static bool sleeping_task_moves(void)
{
	struct worker w;
	uint64_t before;
	int dir, fd;
	bool good = true;

	need_cgroups();
	dir = make_cgroup("a");
	MUST(pin_to_cpu(0));
	w = worker_new(0);
	fd = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir, 0);
	fault_pages(2 * PAGES);
	before = read_timed_count(fd).value;
	for (int i = 0; i < 10; i++) {
		wait_until_asleep(w.pid);
		move_to(w.pid, "a");
		fault_pages(2 * PAGES);
		move_to_root(w.pid);
	}
	good = expect_eq("faults of the mover", read_timed_count(fd).value - before, 0);
	move_to(w.pid, "a");
	worker_round(&w);
	good &= counts_rounds("faults of the one that was moved", fd, 1);
	kill_child(w.pid);
	close(fd);
	remove_cgroup("a");
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

/* Cgroups that were removed and are still referred to; -1 if the kernel does not count them. */
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
	{ "a task that sleeps is moved by one that runs", sleeping_task_moves },
	{ "cgroup-switches", cgroup_switches },
	{ "a cgroup is removed", cgroup_is_removed },
	{ "members fork and exit", members_fork_and_exit },
	{ "a group of events", group_of_events },
};

TESTS_MAIN(tests)
