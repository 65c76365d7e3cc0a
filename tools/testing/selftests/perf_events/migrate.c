// SPDX-License-Identifier: GPL-2.0
/*
 * Counts across CPUs and tasks: a loop is counted while its task moves between CPUs, or in children
 * that inherit the event, to some instructions for each move or child, or within 0.2 %.
 *
 * Two CPUs, with instructions as the clock of the machine. On arm64 the other CPU must be idle and
 * counts are within 0.2 % only, because the counters of the emulator see the instructions of both.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <pthread.h>

/* User instructions of a move, and of the start and end of a child. */
#define A_MOVE		200
#define A_CHILD		5000

static bool moves_itself(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t want = 40 * LOOP_INSNS(1000000);
	int fd;

	require_exact_instructions();
	require_cpus(2);
	fd = open_self(&attr, -1);
	event_enable(fd);
	for (int i = 0; i < 40; i++) {
		pin_to_cpu(i & 1);
		run_loop(1000000);
	}
	event_disable(fd);
	return expect_near("moved 40 times", perf_count(fd), want, 40 * A_MOVE);
}

static bool is_moved(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t want = LOOP_INSNS(200000000);
	cpu_set_t set;
	pid_t pid;
	int fd;

	require_exact_instructions();
	require_cpus(2);
	attr.inherit = 0;
	attr.enable_on_exec = 0;
	pid = fork_child();
	if (!pid) {
		raise(SIGSTOP);
		run_loop(200000000);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	event_enable(fd);
	kill(pid, SIGCONT);
	for (int i = 0; waitpid(pid, NULL, WNOHANG) != pid; i++) {
		CPU_ZERO(&set);
		CPU_SET(i & 1, &set);
		sched_setaffinity(pid, sizeof(set), &set);
		sleep_ms(25);
	}
	return expect_near("moved by another task", perf_count(fd), want, A_CHILD);
}

static bool moved_group(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct reading r;
	bool good = true;
	int leader;

	require_exact_instructions();
	require_cpus(2);
	require_instruction_counters(4);
	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	leader = open_self(&attr, -1);
	attr.disabled = 0;
	for (int i = 1; i < 4; i++)
		open_self(&attr, leader);
	event_enable(leader);
	for (int i = 0; i < 40; i++) {
		pin_to_cpu(i & 1);
		run_loop(1000000);
	}
	event_disable(leader);
	if (!read_in_format(leader, attr.read_format, &r))
		return false;
	for (uint64_t i = 0; i < r.nr; i++) {
		good &= expect_near("member", r.member[i].value, 40 * LOOP_INSNS(1000000),
				    40 * A_MOVE);
		good &= expect_eq("another member", r.member[i].value, r.member[0].value);
	}
	return good & expect_eq("time running", r.running, r.enabled);
}

/*
 * An event of a task on a CPU counts there and stands still elsewhere. Its times are the task's CPU
 * time there and everywhere, as the scheduler counts it: the time of a loop depends on the load.
 */
static bool bound_to_cpu(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t want = 20 * LOOP_INSNS(1000000);
	uint64_t all, begin, least = 0, most = 0;
	struct timed_count t;
	int fd;

	require_exact_instructions();
	require_cpus(2);
	attr.read_format = FORMAT_TIMES;
	pin_to_cpu(0);
	fd = MUST(perf_open(&attr, 0, 1, -1, 0));
	all = thread_cpu_ns();
	event_enable(fd);
	for (int i = 0; i < 20; i++) {
		run_loop(1000000);
		most -= thread_cpu_ns();
		pin_to_cpu(1);
		begin = thread_cpu_ns();
		run_loop(1000000);
		least += thread_cpu_ns() - begin;
		pin_to_cpu(0);
		most += thread_cpu_ns();
	}
	event_disable(fd);
	all = thread_cpu_ns() - all;
	t = read_timed_count(fd);
	return expect_near("on its CPU", t.value, want, 40 * A_MOVE) &
	       expect_between("running", t.running, least - least / 50, most + most / 50) &
	       expect_between("enabled", t.enabled, all - all / 10, all + all / 50);
}

static uint64_t faults_of(int fd, unsigned int nr)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *map =
		mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before = perf_count(fd);

	if (map == MAP_FAILED)
		fail_case("mmap");
	madvise(map, nr * page, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < nr; i++)
		*(volatile char *)(map + i * page) = 1;
	munmap(map, nr * page);
	return perf_count(fd) - before;
}

/* The rest of a group stays bound to its CPU when the event with a counter is closed. */
static bool left_alone_is_bound(bool leads)
{
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_attr sw = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	bool good = true;
	int leader, fd, other;

	require_exact_instructions();
	require_cpus(2);
	hw.disabled = 0;
	pin_to_cpu(0);
	leader = MUST(perf_open(leads ? &sw : &hw, 0, 0, -1, 0));
	other = MUST(perf_open(leads ? &hw : &sw, 0, 0, leader, 0));
	fd = leads ? leader : other;
	good &= expect_near("in its group", faults_of(fd, 100), 100, 5);
	close(leads ? other : leader);
	good &= expect_near("alone", faults_of(fd, 100), 100, 5);
	for (int i = 0; i < 3; i++) {
		pin_to_cpu(1);
		good &= expect_eq("on another CPU", faults_of(fd, 100), 0);
		pin_to_cpu(0);
		good &= expect_near("back on its own", faults_of(fd, 100), 100, 5);
	}
	return good;
}

static bool sibling_stays_bound(void)
{
	return left_alone_is_bound(false);
}

static bool leader_stays_bound(void)
{
	return left_alone_is_bound(true);
}

/* Each child runs while the others wait, on either CPU. */
static bool children_are_counted(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t want = 8 * LOOP_INSNS(20000000);
	bool good = true;
	int fd;

	require_exact_instructions();
	attr.inherit = 1;
	fd = open_self(&attr, -1);
	event_enable(fd);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			pin_to_cpu(i & 1);
			run_loop(20000000);
			_exit(0);
		}
		good &= child_succeeded(pid);
	}
	event_disable(fd);
	return good & expect_near("eight children", perf_count(fd), want, 8 * A_CHILD);
}

static void fork_generations(int depth)
{
	pid_t pid;

	run_loop(5000000);
	if (!depth)
		return;
	pid = fork_child();
	if (!pid) {
		fork_generations(depth - 1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static bool grandchildren_are_counted(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	int fd;

	require_exact_instructions();
	attr.inherit = 1;
	fd = open_self(&attr, -1);
	event_enable(fd);
	fork_generations(9);
	event_disable(fd);
	return expect_near("ten generations", perf_count(fd), 10 * LOOP_INSNS(5000000),
			   10 * A_CHILD);
}

static void *thread_loop(void *arg)
{
	pin_to_cpu((long)arg & 1);
	run_loop(20000000);
	return NULL;
}

static bool threads_are_counted(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	pthread_t thread;
	int fd;

	require_exact_instructions();
	attr.inherit = 1;
	attr.inherit_thread = 1;
	fd = open_self(&attr, -1);
	event_enable(fd);
	for (long i = 0; i < 4; i++) {
		pid_t pid;

		if (pthread_create(&thread, NULL, thread_loop, (void *)i))
			fail_case("pthread_create");
		pthread_join(thread, NULL);
		/* inherit_thread: a new process does not inherit */
		pid = fork_child();
		if (!pid) {
			run_loop(5000000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	event_disable(fd);
	return expect_near("four threads", perf_count(fd), 4 * LOOP_INSNS(20000000),
			   4 * 4 * A_CHILD);
}

/*
 * Loops until it is killed, and publishes the number of rounds, which the count is compared with.
 */
static void loop_and_tell(uint64_t *rounds)
{
	for (;;) {
		run_loop(100000);
		__atomic_add_fetch(rounds, 1, __ATOMIC_SEQ_CST);
	}
}

static uint64_t published_rounds(uint64_t *rounds)
{
	return __atomic_load_n(rounds, __ATOMIC_SEQ_CST);
}

static uint64_t *shared_counter(void)
{
	uint64_t *at =
		mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail_case("mmap");
	return at;
}

static uint64_t no_more_than(uint64_t count)
{
	return count + count / 10000 + A_CHILD;
}

/*
 * The count of a running child is part of the parent's reading on any CPU: at least the rounds
 * published before, and at most those published after and the current one.
 */
static bool running_child_is_read(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t *rounds = shared_counter();
	uint64_t value, least, most, first = 0;
	bool good = true;
	pid_t pid;
	int fd;

	require_exact_instructions();
	require_cpus(2);
	attr.inherit = 1;
	pin_to_cpu(0);
	fd = open_self(&attr, -1);
	event_enable(fd);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(1);
		loop_and_tell(rounds);
	}
	for (int i = 0; i < 20; i++) {
		sleep_ms(10);
		least = published_rounds(rounds) * LOOP_INSNS(100000);
		value = perf_count(fd);
		most = (published_rounds(rounds) + 2) * LOOP_INSNS(100000);
		good &= expect_between("while it runs", value, least, no_more_than(most));
		if (!i)
			first = value;
	}
	good &= expect_between("and it ran", value - first, 10 * LOOP_INSNS(100000),
			       UINT64_MAX / 2);
	kill_child(pid);
	least = published_rounds(rounds) * LOOP_INSNS(100000);
	most = least + 2 * LOOP_INSNS(100000);
	value = perf_count(fd);
	munmap(rounds, sizeof(*rounds));
	return good & expect_between("after its death", value, least, no_more_than(most));
}

/* An event on a task that runs elsewhere counts from the moment it is opened. */
static bool running_task_is_attached_to(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t *rounds = shared_counter();
	bool good = true;
	pid_t pid;

	require_exact_instructions();
	require_cpus(2);
	attr.disabled = 0;
	attr.read_format = FORMAT_TIMES;
	pin_to_cpu(0);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(1);
		loop_and_tell(rounds);
	}
	sleep_ms(20);
	for (int i = 0; i < 5; i++) {
		uint64_t early = published_rounds(rounds), begin = monotonic_ns(), late, least,
			 most;
		int fd = MUST(perf_open(&attr, pid, -1, -1, 0));
		struct timed_count t;

		late = published_rounds(rounds);
		sleep_ms(20);
		least = (published_rounds(rounds) - late - 1) * LOOP_INSNS(100000);
		t = read_timed_count(fd);
		most = (published_rounds(rounds) - early + 2) * LOOP_INSNS(100000);
		good &= expect_eq("running", t.running, t.enabled);
		good &= expect_between("enabled", t.enabled, 16000000,
				       monotonic_ns() - begin + 20000000);
		good &= expect_between("rounds", published_rounds(rounds) - late, 10,
				       UINT64_MAX / 2);
		good &= expect_between("since then", t.value, least, most + most / 100);
		close(fd);
	}
	kill_child(pid);
	munmap(rounds, sizeof(*rounds));
	return good;
}

/* Both CPUs work, each for its own task: neither counts the other's instructions. */
static bool cpus_count_their_own(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	bool good = true;
	pid_t pid[2];
	int fd[2];

	require_exact_instructions();
	require_cpus(2);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork_child();
		if (!pid[i]) {
			pin_to_cpu(i);
			raise(SIGSTOP);
			run_loop(50000000);
			_exit(0);
		}
		waitpid(pid[i], NULL, WUNTRACED);
		fd[i] = MUST(perf_open(&attr, pid[i], -1, -1, 0));
		event_enable(fd[i]);
	}
	for (int i = 0; i < 2; i++)
		kill(pid[i], SIGCONT);
	for (int i = 0; i < 2; i++) {
		good &= child_succeeded(pid[i]);
		good &= expect_near("one of two", perf_count(fd[i]), LOOP_INSNS(50000000), A_CHILD);
	}
	return good;
}

static const struct test tests[] = {
	{ "a task that moves itself", moves_itself },
	{ "a task that is moved while it runs", is_moved },
	{ "members of a group that moves count the same", moved_group },
	{ "a task's event bound to a CPU", bound_to_cpu },
	{ "a sibling whose leader is closed stays bound to its CPU", sibling_stays_bound },
	{ "a leader whose sibling is closed stays bound to its CPU", leader_stays_bound },
	{ "eight inheriting children", children_are_counted },
	{ "ten generations", grandchildren_are_counted },
	{ "inheriting threads, but not processes", threads_are_counted },
	{ "two CPUs at work, each counts its own", cpus_count_their_own },
	{ "a running child is part of a reading", running_child_is_read },
	{ "an event is opened on a running task", running_task_is_attached_to },
};

TESTS_MAIN(tests)
