// SPDX-License-Identifier: GPL-2.0
/*
 * What overflow leaves to be done later, signals, wake-ups, disabling, against everything that may
 * end the event meanwhile: close by its owner or another task, exec, exit, a signal that is
 * blocked, a BPF program. Each case runs many times; what it shows is that signals are neither
 * lost nor come to the wrong task, and, on a debug kernel, that nothing is used after it is freed.
 */
#include "bpf_answer.h"
#include "record.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#define ROUNDS	60

static struct ring ring;
static long page;

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.exclude_kernel = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	return attr;
}

static struct perf_event_attr trap_attr(void)
{
	struct perf_event_attr attr = fault_attr();

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.sig_data = 77;
	return attr;
}

/* One page's worth of faults, without end. */
static void fault_for_ever(void)
{
	for (;;) {
		char *p = fresh_pages(16);

		touch_pages(p, 16);
		munmap(p, 16 * page);
	}
}

static volatile sig_atomic_t traps;
static unsigned long *all_traps;	/* of all processes */

static void on_trap(int sig)
{
	(void)sig;
	traps++;
	__atomic_fetch_add(all_traps, 1, __ATOMIC_RELAXED);
}

static unsigned long traps_so_far(void)
{
	return __atomic_load_n(all_traps, __ATOMIC_RELAXED);
}

/* Until an event has counted something; false if it does not for ten seconds. */
static bool counts_something(int fd)
{
	for (int i = 0; i < 10000; i++) {
		if (perf_count(fd))
			return true;
		usleep(1000);
	}
	return false;
}

/* True if the child left by itself with this status. */
static bool left_with(pid_t child, int want)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == want;
}

static void result(int good, const char *what)
{
	ktap_result(good == ROUNDS, "%s: %d of %d", what, good, ROUNDS);
}

/* The event goes while its own task takes the signals. */
static void *fault_thread(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		char *p = fresh_pages(16);

		touch_pages(p, 16);
		munmap(p, 16 * page);
	}
	return NULL;
}

static void test_close_by_other_thread(void)
{
	struct perf_event_attr attr = trap_attr();
	int stop = 0, good = 0;
	pthread_t thread;

	attr.inherit = 1;
	attr.inherit_thread = 1;
	signal(SIGTRAP, on_trap);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = perf_open(&attr, 0, -1, -1, 0);

		stop = 0;
		traps = 0;
		if (pthread_create(&thread, NULL, fault_thread, &stop))
			ktap_bail_out("pthread_create");
		while (!traps)
			sched_yield();
		good += !close(fd);
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	signal(SIGTRAP, SIG_DFL);
	result(good, "closed by another thread while signals are under way");
}

/* An event of a child, closed by the parent. Without a handler a late signal would kill it. */
static void test_close_by_parent(void)
{
	struct perf_event_attr attr = trap_attr();
	unsigned long before = traps_so_far();
	int good = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int ready[2], fd;
		char byte = 0;
		pid_t child;

		if (pipe(ready))
			ktap_bail_out("pipe");
		child = fork();
		if (!child) {
			signal(SIGTRAP, on_trap);
			touch_pages(fresh_pages(1), 1);
			if (write(ready[1], &byte, 1) == 1)
				fault_for_ever();
			_exit(1);
		}
		if (read(ready[0], &byte, 1) != 1)
			ktap_bail_out("the child");
		fd = perf_open(&attr, child, -1, -1, 0);
		if (fd >= 0) {
			good += counts_something(fd);
			usleep(i * 50);
			close(fd);
		}
		usleep(500);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(ready[0]), close(ready[1]);
	}
	result(good, "of another task, closed while it is hit");
	ktap_result(traps_so_far() - before >= ROUNDS / 2, "   and it got its signals: %lu",
		    traps_so_far() - before);
}

/* A signal that is pending must not come to the next program: it would kill it. */
static void test_exec_pending(void)
{
	struct perf_event_attr attr = trap_attr();
	int good = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t child = fork();

		if (!child) {
			signal(SIGTRAP, on_trap);
			if (perf_open(&attr, 0, -1, -1, 0) < 0)
				_exit(2);
			touch_pages(fresh_pages(3), 3);
			execl("/proc/self/exe", "deferred", "faults", NULL);
			_exit(3);
		}
		good += left_with(child, 9);
	}
	result(good, "remove_on_exec: no signal comes to the next program");
}

static void test_exit_pending(void)
{
	struct perf_event_attr attr = trap_attr();
	int good = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t child = fork();

		if (!child) {
			sigset_t set;

			sigemptyset(&set);
			sigaddset(&set, SIGTRAP);
			sigprocmask(SIG_BLOCK, &set, NULL);
			if (perf_open(&attr, 0, -1, -1, 0) < 0)
				_exit(2);
			touch_pages(fresh_pages(3), 3);
			_exit(7);
		}
		good += left_with(child, 7);
	}
	result(good, "exit with the signal pending and blocked");
}

/* IOC_REFRESH disables from irq_work; the owner enables, disables and closes meanwhile. */
static void test_refresh_race(void)
{
	struct perf_event_attr attr = fault_attr();
	int good = 0;

	attr.disabled = 1;
	for (int i = 0; i < ROUNDS; i++) {
		int fd = perf_open(&attr, 0, -1, -1, 0);
		char *p = fresh_pages(40);
		uint64_t want;

		if (fd < 0 || !ring_map(&ring, fd, 1))
			ktap_bail_out("an event");
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 3);
		touch_pages(p, 10);
		want = 3;
		if (i % 2) {
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			touch_pages(p + 10 * page, 10);
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			want += 10;
		}
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
		touch_pages(p + 20 * page, 10);
		want += 2;
		good += ring_count(&ring, PERF_RECORD_SAMPLE) == want && perf_count(fd) == want;
		ring_unmap(&ring);
		close(fd);
		munmap(p, 40 * page);
	}
	result(good, "IOC_REFRESH, enabled in between: as many samples as allowed");
}

/* It stands still, and has counted. */
static bool has_stopped(int fd)
{
	uint64_t last = 0, now = perf_count(fd);

	for (int i = 0; i < 10000 && now != last; i++) {
		last = now;
		run_loop(100000);
		now = perf_count(fd);
	}
	return now && now == last;
}

/* Timers of a clock stop themselves, are stopped by the tick's throttling, and by close. */
static void test_clock_race(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	int good = 0;

	attr.sample_period = 20000;
	attr.sample_type = PERF_SAMPLE_IP;
	for (int i = 0; i < ROUNDS; i++) {
		int fd, leader;

		attr.disabled = 1;
		leader = perf_open(&attr, 0, -1, -1, 0);
		attr.disabled = 0;
		fd = perf_open(&attr, 0, -1, leader, 0);
		if (leader < 0 || fd < 0)
			ktap_bail_out("a clock");
		ioctl(leader, PERF_EVENT_IOC_REFRESH, 1 + i % 3);
		good += has_stopped(leader);
		if (i % 2)
			ioctl(leader, PERF_EVENT_IOC_REFRESH, 1);
		close(leader);
		run_loop(100000);
		close(fd);
	}
	result(good, "a clock that stops itself, in a group");
}

/* The program goes with its event while a child is hit. */
static void test_bpf_race(void)
{
	struct perf_event_attr attr = fault_attr();
	int good = 0;

	attr.inherit = 1;
	for (int i = 0; i < ROUNDS; i++) {
		int program = load_answer(BPF_PROG_TYPE_PERF_EVENT, i % 2);
		int fd = perf_open(&attr, 0, -1, -1, 0);
		pid_t child;

		if (program < 0) {
			ktap_skip("a BPF program against the end of its event", "no BPF");
			return;
		}
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) || ioctl(fd, PERF_EVENT_IOC_RESET, 0))
			ktap_bail_out("a BPF program");
		close(program);
		child = fork();
		if (!child)
			fault_for_ever();
		good += counts_something(fd);
		close(fd);
		usleep(200);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	result(good, "a BPF program against the end of its event");
}

/* An inherited tracepoint event with a program; parent and child exit in both orders. */
static void test_bpf_tracepoint(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid"), good = 0;
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);

	if (id < 0 || load_answer(BPF_PROG_TYPE_TRACEPOINT, 1) < 0) {
		ktap_skip("an inherited tracepoint event with a program", "no tracepoint or BPF");
		return;
	}
	attr.inherit = 1;
	attr.sample_period = 1;
	for (int i = 0; i < ROUNDS / 3; i++) {
		pid_t child = fork(), grandchild;

		if (child) {
			good += left_with(child, 5);
			continue;
		}
		int program = load_answer(BPF_PROG_TYPE_TRACEPOINT, 1);
		int fd = perf_open(&attr, 0, -1, -1, 0);

		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
			_exit(1);
		grandchild = fork();
		for (int j = 0; j < 100; j++)
			syscall(__NR_getppid);
		if (!grandchild) {
			if (i % 2)
				usleep(2000);
			_exit(0);
		}
		if (i % 2 == 0)
			waitpid(grandchild, NULL, 0);
		_exit(5);
	}
	ktap_result(good == ROUNDS / 3, "an inherited tracepoint event with a program: %d of %d",
		    good, ROUNDS / 3);
}

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	if (argc > 1 && !strcmp(argv[1], "faults")) {
		touch_pages(fresh_pages(50), 50);
		return 9;
	}
	all_traps = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all_traps == MAP_FAILED)
		ktap_bail_out("mmap");
	ktap_start(0);
	test_close_by_other_thread();
	test_close_by_parent();
	test_exec_pending();
	test_exit_pending();
	test_refresh_race();
	test_clock_race();
	test_bpf_race();
	test_bpf_tracepoint();
	return ktap_finish();
}
