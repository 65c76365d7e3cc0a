// SPDX-License-Identifier: GPL-2.0
/*
 * Work that an overflow defers (signals, wake-ups, disabling) while the event is ended: by close()
 * in its owner or another task, exec, exit, or with the signal blocked, or with a BPF program. Each
 * case runs many times. Signals are neither lost nor sent to the wrong task, and a debug kernel
 * sees no use after free.
 */
#include "bpf_prog.h"
#include "expect.h"
#include "records.h"
#include "workloads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#define ROUNDS	60

#define FIRST_DATA	77		/* sig_data of the events that are hit */
#define SECOND_DATA	78		/* of events that are opened later and not hit */

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
	attr.sig_data = FIRST_DATA;
	return attr;
}

/* Page faults without end. */
static void fault_endlessly(void)
{
	for (;;) {
		char *p = fresh_pages(16);

		touch_pages(p, 16);
		munmap(p, 16 * page);
	}
}

static volatile sig_atomic_t traps, wrong_traps;
static unsigned long *all_traps;	/* of all processes */

/* si_perf_data follows si_addr. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	unsigned long data;

	(void)sig;
	(void)context;
	memcpy(&data, (char *)&info->si_addr + sizeof(info->si_addr), sizeof(data));
	traps++;
	wrong_traps += data != FIRST_DATA;
	__atomic_fetch_add(all_traps, 1, __ATOMIC_RELAXED);
}

static void catch_traps(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	MUST(sigaction(SIGTRAP, &action, NULL));
}

static unsigned long traps_so_far(void)
{
	return __atomic_load_n(all_traps, __ATOMIC_RELAXED);
}

/* Waits until the event has counted; false if it has not within ten seconds. */
static bool counts_something(int fd)
{
	for (int i = 0; i < 10000; i++) {
		if (perf_count(fd))
			return true;
		usleep(1000);
	}
	return false;
}

/* True if the child exits with this status. */
static bool left_with(pid_t child, int want)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == want;
}

/* A page that holds @bytes and is not mapped yet: the kernel's first access is a page fault. */
static void *unmapped_copy(const void *bytes, size_t size)
{
	int fd = MUST(memfd_create("copy", MFD_CLOEXEC));
	void *p;

	MUST(write(fd, bytes, size));
	MUST(ftruncate(fd, page));
	p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		fail_case("mmap");
	close(fd);
	return p;
}

/* As trap_attr(), also hit by the faults of system calls. */
static struct perf_event_attr syscall_trap_attr(void)
{
	struct perf_event_attr attr = trap_attr();

	attr.exclude_kernel = 0;
	return attr;
}

/* The event is closed while its own task receives the signals. */
static void *fault_thread(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		char *p = fresh_pages(16);

		touch_pages(p, 16);
		munmap(p, 16 * page);
	}
	return NULL;
}

/* A thread that sleeps in a system call which has overflowed: the signal is due at its end. */
struct napper {
	struct timespec	*length;
	pid_t		tid;
	int		go;
};

static void *nap(void *arg)
{
	struct napper *n = arg;

	__atomic_store_n(&n->tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&n->go, __ATOMIC_ACQUIRE))
		sched_yield();
	syscall(__NR_nanosleep, n->length, NULL);
	return NULL;
}

#define SPRAYED	200

/*
 * Closes the event @fd of a task that sleeps while a signal of the event is due. If the task holds
 * no reference the memory of the event is used again now, by one of many events of the task.
 */
static void close_and_reuse(int fd, pid_t tid)
{
	struct perf_event_attr attr = syscall_trap_attr();
	int sprayed[SPRAYED];

	close(fd);
	usleep(30000);
	attr.disabled = 1;
	attr.sig_data = SECOND_DATA;
	for (int i = 0; i < SPRAYED; i++)
		sprayed[i] = perf_open(&attr, tid, -1, -1, 0);
	usleep(150000);
	for (int i = 0; i < SPRAYED; i++)
		close(sprayed[i]);
}

static bool closed_while_thread_sleeps(void)
{
	struct timespec length = { .tv_nsec = 100000000 };
	struct perf_event_attr attr = syscall_trap_attr();
	pthread_t thread;
	bool ok = true;

	for (int i = 0; i < 5; i++) {
		struct napper n = { .length = unmapped_copy(&length, sizeof(length)) };
		int fd;

		wrong_traps = 0;
		if (pthread_create(&thread, NULL, nap, &n))
			fail_case("pthread_create");
		while (!__atomic_load_n(&n.tid, __ATOMIC_ACQUIRE))
			sched_yield();
		fd = MUST(perf_open(&attr, n.tid, -1, -1, 0));
		__atomic_store_n(&n.go, 1, __ATOMIC_RELEASE);
		ok &= expect(counts_something(fd), "the argument of nanosleep() took a fault");
		close_and_reuse(fd, n.tid);
		pthread_join(thread, NULL);
		munmap(n.length, page);
		ok &= expect_eq("signals of an event that was not hit", wrong_traps, 0);
	}
	return ok;
}

static bool closed_by_thread(void)
{
	struct perf_event_attr attr = trap_attr();
	int stop = 0, good = 0;
	pthread_t thread;

	attr.inherit = 1;
	attr.inherit_thread = 1;
	catch_traps();
	for (int i = 0; i < ROUNDS; i++) {
		int fd = perf_open(&attr, 0, -1, -1, 0);

		stop = 0;
		traps = 0;
		if (pthread_create(&thread, NULL, fault_thread, &stop))
			fail_case("pthread_create");
		while (!traps)
			sched_yield();
		good += !close(fd);
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	return expect_eq("closed by another thread while signals are under way", good, ROUNDS) &
	       closed_while_thread_sleeps();
}

/* The same as closed_while_thread_sleeps() with a child process. */
static bool closed_while_child_sleeps(void)
{
	struct timespec length = { .tv_nsec = 100000000 };
	struct perf_event_attr attr = syscall_trap_attr();
	int good = 0;

	for (int i = 0; i < 5; i++) {
		struct napper *n = mmap(NULL, page, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pid_t child;
		int fd;

		if (n == MAP_FAILED)
			fail_case("mmap");
		n->length = unmapped_copy(&length, sizeof(length));
		child = fork();
		if (!child) {
			nap(n);
			_exit(wrong_traps ? 1 : 5);
		}
		while (!__atomic_load_n(&n->tid, __ATOMIC_ACQUIRE))
			sched_yield();
		fd = MUST(perf_open(&attr, child, -1, -1, 0));
		__atomic_store_n(&n->go, 1, __ATOMIC_RELEASE);
		if (!counts_something(fd))
			fail_case("the argument of nanosleep() took no fault");
		close_and_reuse(fd, child);
		good += left_with(child, 5);
		munmap(n->length, page);
		munmap(n, page);
	}
	return expect_eq("children without a signal of an event that was not hit", good, 5);
}

/* A parent closes an event of its child. A late signal without a handler would kill the child. */
static bool closed_by_parent(void)
{
	struct perf_event_attr attr = trap_attr();
	unsigned long before = traps_so_far();
	int good = 0;
	bool ok = true;

	for (int i = 0; i < ROUNDS; i++) {
		int ready[2], fd;
		char byte = 0;
		pid_t child;

		if (pipe(ready))
			fail_case("pipe");
		child = fork();
		if (!child) {
			catch_traps();
			touch_pages(fresh_pages(1), 1);
			if (write(ready[1], &byte, 1) == 1)
				fault_endlessly();
			_exit(1);
		}
		if (read(ready[0], &byte, 1) != 1)
			fail_case("the child");
		fd = perf_open(&attr, child, -1, -1, 0);
		if (fd >= 0) {
			good += counts_something(fd);
			usleep(i * 50);
			close(fd);
		}
		usleep(500);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(ready[0]);
		close(ready[1]);
	}
	ok &= expect_eq("of another task, closed while it is hit", good, ROUNDS);
	ok &= expect(traps_so_far() - before >= ROUNDS / 2, "the child got its signals: %lu",
		     traps_so_far() - before);
	catch_traps();
	return ok & closed_while_child_sleeps();
}

/*
 * A pending signal must not reach the next program, which it would kill. exec() overflows itself
 * when it reads an argument that is not mapped; the signal is due when the program begins.
 */
static bool exec_pending(void)
{
	struct perf_event_attr attr = syscall_trap_attr();
	int good = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t child = fork();

		if (!child) {
			char *word = unmapped_copy("faults", sizeof("faults"));

			catch_traps();
			if (perf_open(&attr, 0, -1, -1, 0) < 0)
				_exit(2);
			touch_pages(fresh_pages(3), 3);
			execl("/proc/self/exe", "deferred", word, NULL);
			_exit(3);
		}
		good += left_with(child, 9);
	}
	return expect_eq("remove_on_exec: next programs without a signal", good, ROUNDS);
}

/*
 * A list of locks that exit() reads from a page that is not mapped yet: the event is hit when the
 * task is exiting, and closed before the signal is due.
 */
static void fault_in_exit(void)
{
	int fd = MUST(memfd_create("locks", MFD_CLOEXEC));
	struct robust_list_head head = { };
	void *p;

	MUST(ftruncate(fd, page));
	p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		fail_case("mmap");
	head.list.next = p;
	MUST(pwrite(fd, &head, sizeof(head), 0));
	MUST(syscall(__NR_set_robust_list, p, sizeof(head)));
}

/* Probes in the function of this name; -1: the kernel does not show them. */
static int probes_in(const char *function)
{
	FILE *f = fopen("/sys/kernel/debug/kprobes/list", "r");
	char line[256];
	int nr = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		nr += !!strstr(line, function);
	fclose(f);
	return nr;
}

/*
 * A hit in exit sends a signal without effect. It does not keep the event when that is closed.
 * This is seen by the probe, which is removed with the event.
 */
static bool hit_in_exit(void)
{
	static const char function[] = "perf_event_exit_task";
	struct perf_event_attr attr = perf_attr(perf_pmu_type("kprobe"), 0);
	pid_t child;
	int fd;

	if (attr.type == (uint32_t)-1 || probes_in(function) < 0)
		return true;
	attr.kprobe_func = (uintptr_t)function;
	attr.sample_period = 1;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	fd = MUST(perf_open(&attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (!expect_eq("hits in exit", perf_count(fd), 1))
		return false;
	close(fd);
	for (int i = 0; i < 100 && probes_in(function); i++)
		usleep(10000);
	return expect_eq("probes of events that are closed", probes_in(function), 0);
}

static bool exit_pending(void)
{
	struct perf_event_attr attr = syscall_trap_attr();
	int good = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t child = fork();

		if (!child) {
			sigset_t set;

			sigemptyset(&set);
			sigaddset(&set, SIGTRAP);
			sigprocmask(SIG_BLOCK, &set, NULL);
			fault_in_exit();
			if (perf_open(&attr, 0, -1, -1, 0) < 0)
				_exit(2);
			touch_pages(fresh_pages(3), 3);
			_exit(7);
		}
		good += left_with(child, 7);
	}
	return expect_eq("exit with the signal pending and blocked", good, ROUNDS) &
	       hit_in_exit();
}

/* IOC_REFRESH disables by irq_work; the owner enables, disables and closes meanwhile. */
static bool refresh_and_enable(void)
{
	struct perf_event_attr attr = fault_attr();
	int good = 0;

	attr.disabled = 1;
	for (int i = 0; i < ROUNDS; i++) {
		int fd = perf_open(&attr, 0, -1, -1, 0);
		char *p = fresh_pages(40);
		uint64_t want;

		if (fd < 0 || !ring_map(&ring, fd, 1))
			fail_case("an event");
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
	return expect_eq("IOC_REFRESH, enabled in between: as many samples as allowed", good,
			 ROUNDS);
}

/* True once the event has counted and stands still. */
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

/* The timer of a clock stops itself, is stopped by throttling at the tick, and by close(). */
static bool clock_stops_itself(void)
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
			fail_case("a clock");
		ioctl(leader, PERF_EVENT_IOC_REFRESH, 1 + i % 3);
		good += has_stopped(leader);
		if (i % 2)
			ioctl(leader, PERF_EVENT_IOC_REFRESH, 1);
		close(leader);
		run_loop(100000);
		close(fd);
	}
	return expect_eq("a clock that stops itself, in a group", good, ROUNDS);
}

/* The program is freed with its event while a child triggers the event. */
static bool bpf_and_close(void)
{
	struct perf_event_attr attr = fault_attr();
	int good = 0;

	attr.inherit = 1;
	for (int i = 0; i < ROUNDS; i++) {
		int program = bpf_load_constant(BPF_PROG_TYPE_PERF_EVENT, i % 2);
		int fd = perf_open(&attr, 0, -1, -1, 0);
		pid_t child;

		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ||
		    ioctl(fd, PERF_EVENT_IOC_RESET, 0))
			fail_case("a BPF program");
		close(program);
		child = fork();
		if (!child)
			fault_endlessly();
		good += counts_something(fd);
		close(fd);
		usleep(200);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return expect_eq("a BPF program against the end of its event", good, ROUNDS);
}

/* An inherited tracepoint event with a program; parent and child exit in either order. */
static bool bpf_and_exit(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid"), good = 0;
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);

	if (id < 0)
		skip_case("no such tracepoint");
	/* Each child loads its own: a program cannot be attached twice to a tracepoint. */
	close(bpf_load_constant(BPF_PROG_TYPE_TRACEPOINT, 1));
	attr.inherit = 1;
	attr.sample_period = 1;
	for (int i = 0; i < ROUNDS / 3; i++) {
		pid_t child = fork(), grandchild;

		if (child) {
			good += left_with(child, 5);
			continue;
		}
		int program = bpf_load_constant(BPF_PROG_TYPE_TRACEPOINT, 1);
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
	return expect(good == ROUNDS / 3, "an inherited tracepoint event with a program: %d of %d",
		      good, ROUNDS / 3);
}

static const struct test tests[] = {
	{ "closed by another thread while signals are on their way", closed_by_thread },
	{ "an event of a child is closed while it overflows", closed_by_parent },
	{ "remove_on_exec: no signal reaches the next program", exec_pending },
	{ "exit with the signal blocked and pending", exit_pending },
	{ "IOC_REFRESH with enabling in between takes as many samples as allowed",
	  refresh_and_enable },
	{ "a clock in a group stops itself", clock_stops_itself },
	{ "a BPF program while its event is closed", bpf_and_close },
	{ "an inherited tracepoint event with a BPF program", bpf_and_exit },
};

static void deferred_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	all_traps = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all_traps == MAP_FAILED)
		fail_case("mmap");
}

/* "faults": the program that exec_pending() runs. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "faults")) {
		touch_pages(fresh_pages(50), 50);
		return 9;
	}
	return run_tests_setup(tests, ARRAY_SIZE(tests), deferred_setup, argc, argv);
}
