// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware events of cgroups: exact counts, and the turns that cgroups, their CPU and tasks take
 * with the counters.
 */
#include "cgroups.h"
#include "expect.h"
#include "records.h"
#include "require.h"

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

enum { TASKS, CGROUPS, CPUS };

/* Those from @first on have more events than there are counters, each: all of them take turns. */
static bool turns_from(int first, uint64_t least)
{
	static const char *const whose[] = { "the task's, in thousandths",
		"the cgroup's, in thousandths", "the CPU's, in thousandths" };
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[CPUS + 1][8], dir;
	bool good;
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
		if (first == TASKS)
			fd[TASKS][i] = MUST(perf_open(&attr, pid, -1, -1, 0));
		fd[CGROUPS][i] = open_in(&attr, dir, 0, -1);
		fd[CPUS][i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	}
	kill(pid, SIGCONT);
	good = child_succeeded(pid);
	for (int i = first * 8; i < (CPUS + 1) * 8; i++) {
		struct timed_count t = read_timed_count(fd[i / 8][i % 8]);

		good &= expect_between(whose[i / 8], t.running * 1000 / t.enabled, least, 999);
		close(fd[i / 8][i % 8]);
	}
	close(dir);
	remove_cgroup("a");
	return good;
}

static bool cgroup_and_cpu(void)
{
	return turns_from(CGROUPS, 150);
}

static bool task_cgroup_and_cpu(void)
{
	return turns_from(TASKS, 60);
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

/* The tasks are away at nearly every tick: a throttled event still continues. */
static bool throttled_continues(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	long percent = sysctl_get("perf_cpu_time_max_percent", -1);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	unsigned int without = 0, throttled = 0;
	uint64_t before = 0, now;
	struct worker in;
	struct ring ring;
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
	if (!ring_map(&ring, fd, 8))
		fail_case("mmap");
	for (int i = 0; i < 60; i++) {
		worker_round(&in);
		throttled += ring_count(&ring, PERF_RECORD_THROTTLE);
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
	return expect_between("of 60 bursts, those not counted", without, 0, 6) &
	       expect_between("THROTTLE records", throttled, 1, UINT64_MAX);
}

/* The last event of a cgroup is closed while its task runs: those of the CPU still take turns. */
static bool last_event_is_closed(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[12], dir, last;
	bool good = true;

	require_exact_instructions();
	need_cgroups();
	if (!kernel_gives_reasons())
		skip_case("this kernel does not promise turns");
	dir = make_cgroup("a");
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	pin_to_cpu(0);
	move_to(getpid(), "a");
	last = open_in(&attr, dir, 0, -1);
	for (int i = 0; i < 12; i++)
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	close(last);
	run_loop(200000000);
	move_to_root(getpid());
	for (int i = 0; i < 12; i++) {
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect_between("the CPU's, in thousandths", t.running * 1000 / t.enabled,
				       150, 950);
		close(fd[i]);
	}
	close(dir);
	remove_cgroup("a");
	return good;
}

/* Does each of @nr events have a turn while a loop runs? */
static bool all_have_turns(const char *where, const int *fd, unsigned int nr)
{
	uint64_t before[16];
	bool good = true;

	for (unsigned int i = 0; i < nr; i++)
		before[i] = read_timed_count(fd[i]).running;
	run_loop(50000000);
	for (unsigned int i = 0; i < nr; i++)
		good &= read_timed_count(fd[i]).running > before[i];
	return expect(good, "each event has a turn %s", where);
}

/*
 * A cgroup that has only software events, and has had others before, changes nothing for the turns
 * of its CPU's events, whether its tasks run or not.
 */
static bool software_beside_turns(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd[12], dir, soft;
	bool good;

	require_exact_instructions();
	need_cgroups();
	if (!kernel_gives_reasons())
		skip_case("this kernel does not promise turns");
	dir = make_cgroup("a");
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	pin_to_cpu(0);
	close(open_in(&attr, dir, 0, -1));
	soft = open_soft(PERF_COUNT_SW_PAGE_FAULTS, dir, 0);
	for (int i = 0; i < 6; i++)
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	move_to(getpid(), "a");
	for (int i = 6; i < 12; i++)
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	good = all_have_turns("in the cgroup", fd, 12);
	move_to_root(getpid());
	good &= all_have_turns("outside", fd, 12);
	move_to(getpid(), "a");
	good &= all_have_turns("in the cgroup again", fd, 12);
	move_to_root(getpid());
	for (int i = 0; i < 12; i++)
		close(fd[i]);
	close(soft);
	close(dir);
	remove_cgroup("a");
	return good;
}

static const struct test tests[] = {
	{ "a member's loop within 0.2 %", hardware_counts },
	{ "events of cgroups, CPU and task", hardware_of_all_kinds },
	{ "more cgroups than counters", many_cgroups },
	{ "a cgroup and its CPU take turns", cgroup_and_cpu },
	{ "a task, its cgroup and its CPU take turns", task_cgroup_and_cpu },
	{ "pinned events of a CPU have priority over those of a cgroup", pinned_to_cpu },
	{ "a cgroup within another takes turns", nested_cgroups },
	{ "the last event of a cgroup is closed while its task runs", last_event_is_closed },
	{ "a cgroup without hardware events beside turns of its CPU", software_beside_turns },
	{ "a leader without a counter runs with its cgroup", leader_without_counter },
	{ "events of an outer cgroup are opened later", outer_one_later },
	{ "throttled events of tasks that run for moments", throttled_continues },
};

TESTS_MAIN(tests)
