// SPDX-License-Identifier: GPL-2.0
/*
 * What has broken implementations of this ABI before, where it concerns groups, switches and
 * schedules: concurrent operations, operations in unusual order, or with a part of them failing.
 * The kernel survives, has nothing in its log, and counts correctly afterwards. Forks, exec and
 * exit are in races_fork.c.
 */
#include "processes.h"
#include "races.h"
#include "require.h"

#include <poll.h>
#include <sys/resource.h>

#define NOBODY		65534

/*
 * CVE-2015-9004, 2016-6786, 2016-6787, 2017-6001, 2022-1729: opens with one group_fd race each
 * other, and some move the group to the hardware context.
 */
static volatile int shared_leader = -1;

static void *join_leader(void *arg)
{
	bool hw = event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	unsigned int turn = 0;
	pid_t pid = *(pid_t *)arg;

	while (race_runs()) {
		struct perf_event_attr attr = hw_or_sw(hw && turn++ % 2);
		int fd = perf_open(&attr, pid, -1, shared_leader, 0);
		uint64_t value;

		if (fd >= 0) {
			if (turn % 3)
				read(fd, &value, sizeof(value));
			close(fd);
		}
	}
	return NULL;
}

static void *replace_leader(void *arg)
{
	struct perf_event_attr attr = hw_or_sw(false);
	pid_t pid = *(pid_t *)arg;

	attr.read_format = PERF_FORMAT_GROUP;
	while (race_runs()) {
		int old = shared_leader, fd = perf_open(&attr, pid, -1, -1, 0);

		shared_leader = fd;
		usleep(300);
		close(old);
	}
	return NULL;
}

static void *any_role(void *arg)
{
	static unsigned int next;

	return __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) ? join_leader(arg)
							      : replace_leader(arg);
}

static bool opens_race_in_one_group(void)
{
	pid_t pid = fork_child();

	if (!pid)
		for (;;)
			usleep(100);
	begin_race(RACE_MS);
	in_threads(5, any_role, &pid);
	kill_child(pid);
	return still_counts();
}

/* The same on a CPU instead of a task. */
static void *join_on_cpu(void *arg)
{
	bool hw = event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	unsigned int turn = 0;

	(void)arg;
	while (race_runs()) {
		struct perf_event_attr attr = hw_or_sw(false);
		int leader = perf_open(&attr, -1, turn % 2, -1, 0), fd[4];

		for (int i = 0; i < 4; i++) {
			attr = hw_or_sw(hw && i % 2);
			fd[i] = perf_open(&attr, -1, turn % 2, leader, 0);
		}
		turn++;
		close(turn % 3 ? fd[0] : leader);
		for (int i = 1; i < 4; i++)
			close(fd[i]);
		close(turn % 3 ? leader : fd[0]);
	}
	return NULL;
}

static bool opens_race_on_a_cpu(void)
{
	require_cpus(2);
	begin_race(RACE_MS);
	in_threads(4, join_on_cpu, NULL);
	return still_counts();
}

/* The leader is closed while siblings are opened, read and enabled. */
static volatile int victim[4];

static void *use_victims(void *arg)
{
	uint64_t room[32], value;

	(void)arg;
	while (race_runs()) {
		for (int i = 0; i < 4; i++) {
			int fd = victim[i];

			ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
			read(fd, room, sizeof(room));
			ioctl(fd, PERF_EVENT_IOC_ENABLE, i & 1 ? PERF_IOC_FLAG_GROUP : 0);
			ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
			ioctl(fd, PERF_EVENT_IOC_ID, &value);
		}
	}
	return NULL;
}

static bool groups_end_under_use(void)
{
	struct perf_event_attr attr = hw_or_sw(false);
	pthread_t thread[2];

	attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES | PERF_FORMAT_ID;
	begin_race(RACE_MS);
	for (int i = 0; i < 4; i++)
		victim[i] = -1;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, use_victims, NULL);
	for (unsigned int turn = 0; race_runs(); turn++) {
		for (int i = 0; i < 4; i++)
			victim[i] = perf_open(&attr, 0, -1, i ? victim[0] : -1, 0);
		usleep(100);
		for (int i = 0; i < 4; i++)
			close(victim[(i + turn) % 4]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return still_counts();
}

#define PINNED	40

/**
 * struct pinned_poll - a thread that polls events of another task
 * @fd: pinned events
 * @about_to_sleep: set by the thread
 * @ready: result of poll()
 */
struct pinned_poll {
	int	fd[PINNED];
	bool	about_to_sleep;
	int	ready;
};

static void *poll_pinned(void *arg)
{
	struct pinned_poll *poller = arg;
	struct pollfd p[PINNED];

	MUST(pin_to_cpu(0));
	for (int i = 0; i < PINNED; i++)
		p[i] = (struct pollfd){ .fd = poller->fd[i], .events = POLLIN };
	__atomic_store_n(&poller->about_to_sleep, true, __ATOMIC_RELEASE);
	poller->ready = poll(p, PINNED, 10000);
	return NULL;
}

/*
 * Pinned events that find no counter when their task is switched in: the runqueue is locked. A
 * thread of the same CPU that sleeps in poll() is woken nevertheless.
 */
static bool pinned_fails_at_switch(void)
{
	struct perf_event_attr attr = hw_or_sw(true);
	long page = sysconf(_SC_PAGESIZE);
	struct gate go = gate_new();
	void *buffer[PINNED];
	bool good = true;
	pid_t pid;

	attr.pinned = 1;
	pid = fork_child();
	if (!pid) {
		MUST(pin_to_cpu(0));
		for (;;)
			gate_wait(&go);
	}
	for (int round = 0; round < 5; round++) {
		struct pinned_poll poller = { .ready = -1 };
		pthread_t thread;

		wait_until_asleep(pid);
		for (int i = 0; i < PINNED; i++) {
			poller.fd[i] = MUST(perf_open(&attr, pid, -1, -1, 0));
			/* An event without a buffer has nothing to wait for. */
			buffer[i] = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, poller.fd[i], 0);
			if (buffer[i] == MAP_FAILED)
				fail_case("mmap");
		}
		if (pthread_create(&thread, NULL, poll_pinned, &poller))
			fail_case("pthread_create");
		while (!__atomic_load_n(&poller.about_to_sleep, __ATOMIC_ACQUIRE))
			usleep(100);
		sleep_ms(10);
		gate_open(&go);
		pthread_join(thread, NULL);
		good &= expect_between("events whose failure is reported", poller.ready, 1, PINNED);
		for (int i = 0; i < PINNED; i++) {
			munmap(buffer[i], 2 * page);
			close(poller.fd[i]);
		}
	}
	kill_child(pid);
	return good;
}

/* CVE-2026-23311: pinned groups that do not fit, while other tasks wait in poll() or read(). */
static bool pinned_without_room(void)
{
	struct perf_event_attr attr = hw_or_sw(true);
	unsigned int in_error = 0;
	uint64_t value;
	int fd[64];

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	for (int round = 0; round < 20; round++) {
		in_error = 0;
		for (int i = 0; i < 64; i++) {
			attr.pinned = i % 3 == 0;
			fd[i] = MUST(perf_open(&attr, round & 1 ? -1 : 0, round & 1 ? 0 : -1,
					       i % 3 ? fd[i - i % 3] : -1, 0));
		}
		spin_ms(2);
		for (int i = 0; i < 64; i++)
			in_error += !read(fd[i], &value, sizeof(value));
		for (int i = 63; i >= 0; i--)
			close(fd[i]);
	}
	return expect_between("in error", in_error, 1, 64) & pinned_fails_at_switch() &
	       still_counts();
}

/* Do all of these clocks of the caller count? */
static bool all_count(const int *fd, unsigned int nr)
{
	uint64_t before[64];
	bool good = true;

	for (unsigned int i = 0; i < nr; i++)
		before[i] = perf_count(fd[i]);
	spin_ms(1);
	for (unsigned int i = 0; i < nr; i++)
		good &= expect_between("a clock that was opened since", perf_count(fd[i]),
				       before[i] + 1, UINT64_MAX);
	return good;
}

/* Events of a sleeping task are closed, and their memory is reused before it runs. */
static bool closed_while_asleep(void)
{
	struct perf_event_attr attr = hw_or_sw(true), other = hw_or_sw(false);
	bool good = true;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	for (int round = 0; round < 8; round++) {
		struct gate ran = gate_new(), go = gate_new();
		pid_t pid = fork_child();
		int fd[4], reuse[64];

		if (!pid) {
			for (int i = 0; i < 2; i++) {
				spin_ms(3);
				gate_open(&ran);
				gate_wait(&go);
			}
			spin_ms(5);
			gate_open(&ran);
			pause();
		}
		gate_wait(&ran);
		for (int i = 0; i < 4; i++)
			fd[i] = MUST(perf_open(&attr, pid, -1, round & 1 && i ? fd[0] : -1, 0));
		gate_open(&go);
		gate_wait(&ran);
		for (int i = 0; i < 3; i++)
			close(fd[(i + round / 2) % 3]);
		sleep_ms(60);
		for (int i = 0; i < 64; i++)
			reuse[i] = open_self(&other, -1);
		gate_open(&go);
		gate_wait(&ran);
		good &= expect_between("cycles of what is left", perf_count(fd[3]), 1000,
				       UINT64_MAX - 1);
		good &= all_count(reuse, 64);
		close(fd[3]);
		for (int i = 0; i < 64; i++)
			close(reuse[i]);
		kill_child(pid);
	}
	return good & still_counts();
}

/* CVE-2019-3901: an unprivileged user cannot count a task that has more rights now. */
static bool opens_on_set_uid_program(void)
{
	struct perf_event_attr attr = hw_or_sw(false);
	struct gate ready = gate_new();
	bool good;
	pid_t target, pid;

	attr.exclude_kernel = 1;
	target = fork_child();
	if (!target) {
		/* As after exec of a set-uid program: another user, not dumpable. */
		gate_open(&ready);
		pause();
	}
	gate_wait(&ready);
	pid = fork_child();
	if (!pid) {
		int fd;

		MUST(setresgid(NOBODY, NOBODY, NOBODY));
		MUST(setresuid(NOBODY, NOBODY, NOBODY));
		fd = perf_open(&attr, target, -1, -1, 0);
		_exit(!expect_refused("another user's task", fd, EACCES, ""));
	}
	good = child_succeeded(pid);
	kill_child(target);
	return good;
}

/* The interval of a PMU changes, events rotate, tasks start, move and exit: all at once. */
static void *rotate_work(void *arg)
{
	struct perf_event_attr attr = hw_or_sw(true);

	(void)arg;
	while (race_runs()) {
		int fd[16];

		for (int i = 0; i < 16; i++)
			fd[i] = perf_open(&attr, i & 1 ? -1 : 0, i & 1 ? (i >> 1) & 1 : -1, -1, 0);
		spin_ms(10);
		for (int i = 0; i < 16; i++)
			close(fd[i]);
	}
	return NULL;
}

static void *move_work(void *arg)
{
	(void)arg;
	for (unsigned int turn = 0; race_runs(); turn++) {
		pin_to_cpu(turn & 1);
		spin_ms(1);
	}
	return NULL;
}

static void *mixed_work(void *arg)
{
	static unsigned int next;

	return __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 2 ? rotate_work(arg)
								  : move_work(arg);
}

static bool rotation_and_migration(void)
{
	struct perf_event_attr attr = hw_or_sw(true);
	int fd[10];

	require_cpus(2);
	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attr.inherit = 1;
	for (int i = 0; i < 10; i++)
		fd[i] = open_self(&attr, -1);
	begin_race(RACE_MS);
	in_threads(4, mixed_work, NULL);
	for (int i = 0; i < 10; i++)
		close(fd[i]);
	return still_counts();
}

/* As many events as descriptors allow, opened and closed repeatedly, leave no memory behind. */
static uint64_t memory_in_use_kb(void)
{
	char line[128];
	uint64_t slab = 0, value;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SUnreclaim: %lu", &value) == 1 ||
		    sscanf(line, "Percpu: %lu", &value) == 1)
			slab += value;
	}
	if (f)
		fclose(f);
	return slab;
}

static void open_many(unsigned int nr)
{
	int *fd = calloc(nr, sizeof(*fd));

	for (unsigned int i = 0; i < nr; i++) {
		struct perf_event_attr attr = hw_or_sw(false);

		attr.config = i % PERF_COUNT_SW_BPF_OUTPUT;
		fd[i] = perf_open(&attr, i & 1 ? -1 : 0, i & 1 ? 0 : -1, -1, 0);
	}
	for (unsigned int i = 0; i < nr; i++)
		close(fd[i]);
	free(fd);
}

/*
 * The memory that stays in use after events, however many. KASAN keeps freed objects, up to 1/32 of
 * the memory: it has enough of them once more events make no difference.
 */
static uint64_t settled_memory_kb(void)
{
	uint64_t before, now = 0;

	for (int i = 0; i < 10; i++) {
		before = now;
		open_many(3000);
		sleep_ms(1000);
		now = memory_in_use_kb();
		if (now <= before + 200)
			break;
	}
	return now;
}

static bool nothing_is_left(void)
{
	struct rlimit many = { 4096, 4096 };
	uint64_t before, after;

	MUST(setrlimit(RLIMIT_NOFILE, &many));
	before = settled_memory_kb();
	for (int i = 0; i < 10; i++)
		open_many(3000);
	/* Memory that waits for RCU is freed later, on a busy machine. */
	for (int i = 0; i < 100; i++) {
		sleep_ms(100);
		after = memory_in_use_kb();
		if (after <= before + 2000)
			break;
	}
	return expect_between("KiB that did not come back", after > before ? after - before : 0, 0,
			      2000);
}

/*
 * An event that counts switches reaches its refresh limit while its task leaves the CPU: the
 * request to disable it runs when the task is nowhere, or on another CPU.
 */
static void bounce_between(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1)
		write(to, &byte, 1);
	_exit(0);
}

/*
 * True once a task that is switched all the time is not counted any more; on a busy host after a
 * while.
 */
static bool comes_to_rest(int fd)
{
	uint64_t before, now = perf_count(fd);

	for (int i = 0; i < 50; i++) {
		before = now;
		sleep_ms(50);
		now = perf_count(fd);
		if (now == before)
			return true;
	}
	return expect_eq("switches after the limit", now, before);
}

static bool limit_while_leaving(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t rounds = 0;
	int fd[4], there[2], back[2];
	pid_t pid[4];
	bool good = true;

	attr.sample_period = 1;
	attr.wakeup_events = 1;
	attr.disabled = 1;
	for (int i = 0; i < 4; i++) {
		if (i % 2 == 0) {
			MUST(pipe(there));
			MUST(pipe(back));
		}
		pid[i] = fork_child();
		if (!pid[i])
			i % 2 ? bounce_between(back[0], there[1]) :
				bounce_between(there[0], back[1]);
		fd[i] = MUST(perf_open(&attr, pid[i], -1, -1, 0));
		if (i % 2)
			MUST(write(there[1], "", 1));
	}
	begin_race(RACE_MS);
	while (race_runs()) {
		for (int i = 0; i < 4; i++)
			MUST(ioctl(fd[i], PERF_EVENT_IOC_REFRESH, 1));
		if (rounds++ % 50 == 49) {
			close(fd[rounds / 50 % 4]);
			fd[rounds / 50 % 4] =
				MUST(perf_open(&attr, pid[rounds / 50 % 4], -1, -1, 0));
		}
		usleep(rounds % 7 * 50);
	}
	for (int i = 0; i < 4; i++) {
		/* The last refresh ends as well, and then nothing is counted. */
		good &= comes_to_rest(fd[i]);
		close(fd[i]);
		kill_child(pid[i]);
	}
	return good & expect_between("rounds", rounds, 50, UINT64_MAX) & still_counts();
}

/* A child on CPU 1 that takes page faults all the time. */
static pid_t faulting_child(void)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	MUST(pin_to_cpu(1));
	for (;;)
		fault_pages(64);
}

/*
 * A hit on another CPU is being handled when the event is disabled: its sample is written before
 * DISABLE returns, or not at all. Copying the stack makes hits long.
 */
static bool no_sample_after_disable(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	unsigned int late = 0, rounds = 0, samples = 0;
	struct perf_event_mmap_page *user;
	long page = sysconf(_SC_PAGESIZE);
	pid_t pid;
	int fd;

	require_cpus(2);
	MUST(pin_to_cpu(0));
	pid = faulting_child();
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = 32768;
	fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	user = mmap(NULL, 257 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (user == MAP_FAILED)
		fail_case("mmap");
	for (begin_race(RACE_MS); race_runs(); rounds++) {
		uint64_t head, before = user->data_tail;

		event_enable(fd);
		usleep(50);
		event_disable(fd);
		head = __atomic_load_n(&user->data_head, __ATOMIC_ACQUIRE);
		usleep(300);
		late += __atomic_load_n(&user->data_head, __ATOMIC_ACQUIRE) != head;
		samples += head != before;
		user->data_tail = user->data_head;
	}
	kill_child(pid);
	return expect_between("rounds with samples", samples, 10, rounds) &
	       expect_eq("rounds with a sample after DISABLE", late, 0);
}

/* A clock that is read here while its task stops and starts it there: nothing decreases. */
static bool clock_never_decreases(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	unsigned int values = 0, enabled = 0, running = 0;
	struct timed_count last = { 0 };
	uint64_t end;
	pid_t child;
	int fd;

	require_cpus(2);
	attr.read_format = FORMAT_TIMES;
	pin_to_cpu(0);
	fd = open_self(&attr, -1);
	child = fork_child();
	if (!child) {
		pin_to_cpu(1);
		for (end = monotonic_ns() + 1000000000; monotonic_ns() < end;) {
			struct timed_count t = read_timed_count(fd);

			values += t.value < last.value;
			enabled += t.enabled < last.enabled;
			running += t.running < last.running;
			last = t;
		}
		exit(!(expect_eq("counts that decreased", values, 0) &
		       expect_eq("times enabled that decreased", enabled, 0) &
		       expect_eq("times running that decreased", running, 0)));
	}
	for (end = monotonic_ns() + 1200000000; monotonic_ns() < end;) {
		event_disable(fd);
		event_enable(fd);
	}
	close(fd);
	return child_succeeded(child);
}

static const struct test tests[] = {
	{ "no sample is written after DISABLE has returned", no_sample_after_disable },
	{ "a clock that stops and starts while it is read", clock_never_decreases },
	{ "opens with one group_fd race each other", opens_race_in_one_group },
	{ "opens on a CPU race each other", opens_race_on_a_cpu },
	{ "groups end while they are used", groups_end_under_use },
	{ "pinned groups that do not fit", pinned_without_room },
	{ "closed while their task sleeps", closed_while_asleep },
	{ "opened on a task that becomes another user", opens_on_set_uid_program },
	{ "rotation and migration", rotation_and_migration },
	{ "30000 events leave no memory behind", nothing_is_left },
	{ "out of the refresh limit while the task leaves its CPU", limit_while_leaving },
};

TESTS_MAIN(tests)
