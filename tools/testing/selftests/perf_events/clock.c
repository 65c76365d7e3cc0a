// SPDX-License-Identifier: GPL-2.0
/*
 * Times: clock events against the time that passes and the CPU time of the task, and the times
 * enabled and running of every event.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <sys/resource.h>

#define MS		1000000ull

static int open_clock(uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attr = sw_attr(config);

	attr.read_format = FORMAT_TIMES;
	attr.disabled = 1;
	return MUST(perf_open(&attr, pid, cpu, -1, 0));
}

/* A clock lies between the time inside and the time around enabling and disabling. */
struct span {
	uint64_t	before, begin, end, after;
};

static bool in_span(const char *what, uint64_t value, const struct span *s)
{
	uint64_t least = s->end - s->begin, most = s->after - s->before;

	return expect_between(what, value, least - least / 20, most + most / 20);
}

static bool task_clock_is_cpu_time(void)
{
	int fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	struct span s, wall;
	struct timed_count t;

	wall.before = monotonic_ns();
	s.before = thread_cpu_ns();
	event_enable(fd);
	wall.begin = monotonic_ns();
	s.begin = thread_cpu_ns();
	for (int i = 0; i < 10; i++) {
		spin_ms(10);
		sleep_ms(10);
	}
	s.end = thread_cpu_ns();
	wall.end = monotonic_ns();
	event_disable(fd);
	s.after = thread_cpu_ns();
	wall.after = monotonic_ns();
	t = read_timed_count(fd);
	return in_span("task-clock", t.value, &s) & in_span("time enabled", t.enabled, &s) &
	       expect_eq("time running", t.running, t.enabled) &
	       expect_between("time that passed", wall.end - wall.begin, 200 * MS, UINT64_MAX);
}

/* cpu-clock of a task is the same as its task-clock. */
static bool cpu_clock_of_a_task(void)
{
	int fd = open_clock(PERF_COUNT_SW_CPU_CLOCK, 0, -1);
	struct span s;

	s.before = thread_cpu_ns();
	event_enable(fd);
	s.begin = thread_cpu_ns();
	for (int i = 0; i < 10; i++) {
		spin_ms(10);
		sleep_ms(10);
	}
	s.end = thread_cpu_ns();
	event_disable(fd);
	s.after = thread_cpu_ns();
	return in_span("cpu-clock", read_timed_count(fd).value, &s);
}

/* Of a CPU: time that passes, idle or not. */
static bool clocks_of_a_cpu(void)
{
	bool good = true;

	for (int i = 0; i < 2; i++) {
		int fd = open_clock(i ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK, -1, 0);
		struct span s;
		struct timed_count t;

		s.before = monotonic_ns();
		event_enable(fd);
		s.begin = monotonic_ns();
		spin_ms(30);
		sleep_ms(70);
		s.end = monotonic_ns();
		event_disable(fd);
		s.after = monotonic_ns();
		t = read_timed_count(fd);
		good &= in_span(i ? "task-clock" : "cpu-clock", t.value, &s);
		good &= in_span("time enabled", t.enabled, &s);
		good &= expect_eq("time running", t.running, t.enabled);
	}
	return good;
}

/* Two tasks on one CPU have half of the time each. */
static bool shared_cpu(void)
{
	int fd, child, cpu;
	uint64_t all, mine, its;
	pid_t pid;

	pin_to_cpu(0);
	pid = fork_child();
	if (!pid)
		for (;;)
			run_loop(100000);
	cpu = open_clock(PERF_COUNT_SW_CPU_CLOCK, -1, 0);
	fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	child = open_clock(PERF_COUNT_SW_TASK_CLOCK, pid, -1);
	event_enable(cpu);
	event_enable(fd);
	event_enable(child);
	spin_ms(500);
	event_disable(child);
	event_disable(fd);
	event_disable(cpu);
	kill_child(pid);
	all = read_timed_count(cpu).value;
	mine = read_timed_count(fd).value;
	its = read_timed_count(child).value;
	return expect_near_permille("both", mine + its, all, 30) &
	       expect_between("mine, in thousandths", mine * 1000 / all, 250, 750);
}

/* The times of a disabled event stand still; they continue when it is enabled again. */
static bool times_stand_still(void)
{
	int fd = open_clock(PERF_COUNT_SW_CPU_CLOCK, -1, 0);
	struct timed_count first, second, third;

	first = read_timed_count(fd);
	if (!expect_eq("never enabled", first.enabled | first.running | first.value, 0))
		return false;
	event_enable(fd);
	sleep_ms(20);
	event_disable(fd);
	first = read_timed_count(fd);
	sleep_ms(20);
	second = read_timed_count(fd);
	event_enable(fd);
	sleep_ms(20);
	third = read_timed_count(fd);
	return expect_between("enabled", first.enabled, 20 * MS, 10000 * MS) &
	       expect_eq("enabled, while disabled", second.enabled, first.enabled) &
	       expect_eq("value, while disabled", second.value, first.value) &
	       expect_between("enabled again", third.enabled - second.enabled, 20 * MS,
			      10000 * MS) &
	       expect_near("value and time", third.value, third.running, MS);
}

/* The times of an event of a task rise only while the task runs. */
static bool times_of_a_sleeper(void)
{
	int fd = open_clock(PERF_COUNT_SW_DUMMY, 0, -1);
	struct timed_count t;
	uint64_t most;

	most = thread_cpu_ns();
	event_enable(fd);
	sleep_ms(100);
	event_disable(fd);
	most = thread_cpu_ns() - most;
	t = read_timed_count(fd);
	return expect_between("enabled", t.enabled, 1, most + most / 50) &
	       expect_eq("running", t.running, t.enabled);
}

/* The clock of another task, sleeping or running, rises and is not faster than time. */
static bool clock_of_another_task(void)
{
	struct timed_count t, last = { 0 };
	uint64_t begin, now;
	bool good = true;
	pid_t pid;
	int fd;

	require_cpus(2);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(1);
		for (;;) {
			spin_ms(3);
			sleep_ms(2);
		}
	}
	pin_to_cpu(0);
	begin = monotonic_ns();
	fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, pid, -1);
	event_enable(fd);
	for (int i = 0; i < 50; i++) {
		usleep(3000);
		t = read_timed_count(fd);
		now = monotonic_ns();
		good &= expect_between("value", t.value, last.value, now - begin);
		good &= expect_between("enabled", t.enabled, last.enabled, now - begin);
		good &= expect_near("value and running", t.value, t.running, MS);
		last = t;
	}
	kill_child(pid);
	return good & expect_between("in the end", last.value, 10 * MS, UINT64_MAX);
}

/* An event of a task on a CPU: enabled wherever the task runs, running only there. */
static bool times_of_a_bound_event(void)
{
	struct timed_count t;
	int fd;

	require_cpus(2);
	pin_to_cpu(0);
	fd = open_clock(PERF_COUNT_SW_TASK_CLOCK, 0, 1);
	event_enable(fd);
	spin_ms(50);
	t = read_timed_count(fd);
	if (!expect_eq("running elsewhere", t.running, 0) ||
	    !expect_eq("value elsewhere", t.value, 0))
		return false;
	pin_to_cpu(1);
	spin_ms(50);
	pin_to_cpu(0);
	t = read_timed_count(fd);
	return expect_between("value", t.value, 45 * MS, 1000 * MS) &
	       expect_near("value and running", t.value, t.running, 2 * MS) &
	       expect_between("enabled", t.enabled, 95 * MS, 2000 * MS);
}

/* IOC_RESET clears the value, not the times. */
static bool reset_leaves_times(void)
{
	int fd = open_clock(PERF_COUNT_SW_PAGE_FAULTS, 0, -1);
	struct timed_count before, after;

	event_enable(fd);
	spin_ms(20);
	free(calloc(1, 1 << 20));
	event_disable(fd);
	before = read_timed_count(fd);
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	after = read_timed_count(fd);
	return expect_eq("value", after.value, 0) &
	       expect_eq("enabled", after.enabled, before.enabled) &
	       expect_eq("running", after.running, before.running);
}

/* The clocks of many tasks, forked in turn, add up to the time of all of them. */
static bool children_add_up(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	struct rusage usage;
	uint64_t want, own, slack;
	struct timed_count t;
	int fd;

	attr.read_format = FORMAT_TIMES;
	attr.inherit = 1;
	own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	fd = open_self(&attr, -1);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			spin_ms(10);
			sleep_ms(5);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	t = read_timed_count(fd);
	own = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own;
	MUST(getrusage(RUSAGE_CHILDREN, &usage));
	want = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ull +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ull;
	/* A task exits without its event, which takes a debug kernel long. */
	slack = (want + own) / (kernel_function("kasan_report") ? 3 : 25);
	ktap_note("children's time: %llu us, the clock's %llu us",
		  (unsigned long long)want / 1000, (unsigned long long)t.value / 1000);
	return expect_between("clock of all", t.value, 100 * MS * 9 / 10, 100000 * MS) &
	       expect_near("clock and times of all", t.value, want + own, slack) &
	       expect_near("value and running", t.value, t.running, 2 * MS) &
	       expect_near("enabled and running", t.enabled, t.running, 2 * MS);
}

/* The user page shows the time without a system call. */

#define PAGE_ROUNDS	200
#define ROUNDING	4	/* ns */

/* The counter that the formula of the user page refers to: TSC or virtual counter. */
static uint64_t hardware_counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a" (low), "=d" (high) : : "memory");
	return (uint64_t)high << 32 | low;
#else
	uint64_t value;

	asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r" (value) : : "memory");
	return value;
#endif
}

struct page_time {
	uint64_t	enabled, running, clock;
	uint32_t	index;
};

/* The formula in the description of struct perf_event_mmap_page. */
static struct page_time page_now(volatile struct perf_event_mmap_page *page)
{
	uint64_t cycles, whole, rest, ns;
	struct page_time t;
	uint32_t seq;

	do {
		seq = page->lock;
		asm volatile("" : : : "memory");
		cycles = hardware_counter();
		if (page->cap_user_time_short)
			cycles = page->time_cycles +
				 ((cycles - page->time_cycles) & page->time_mask);
		whole = cycles >> page->time_shift;
		rest = cycles & ((1ull << page->time_shift) - 1);
		ns = whole * page->time_mult + ((rest * page->time_mult) >> page->time_shift);
		t.index = page->index;
		t.enabled = page->time_enabled + page->time_offset + ns;
		t.running = page->time_running + (t.index ? page->time_offset + ns : 0);
		t.clock = page->time_zero + ns;
		asm volatile("" : : : "memory");
	} while (seq != page->lock);
	return t;
}

static volatile struct perf_event_mmap_page *map_page(int fd)
{
	volatile struct perf_event_mmap_page *page =
		mmap(NULL, 2 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		fail_case("mmap");
	if (!page->cap_user_time)
		skip_case("no cap_user_time");
	return page;
}

static bool page_is_between(volatile struct perf_event_mmap_page *page, int fd)
{
	struct timed_count before = read_timed_count(fd), after;
	struct page_time t = page_now(page);

	after = read_timed_count(fd);
	return expect_between("enabled by the page", t.enabled, before.enabled - ROUNDING,
			      after.enabled + ROUNDING) &&
	       (!t.index || expect_between("running by the page", t.running,
					   before.running - ROUNDING, after.running + ROUNDING));
}

/* Each reading of the page lies between two of read(2). */
static bool page_shows_time(volatile struct perf_event_mmap_page *page, int fd)
{
	for (int i = 0; i < PAGE_ROUNDS; i++) {
		if (!page_is_between(page, fd))
			return false;
	}
	return true;
}

/*
 * The page is mapped before the event is enabled; then the task sleeps, and the event is disabled
 * and enabled again.
 */
static bool page_follows(struct perf_event_attr attr, pid_t pid, int cpu)
{
	struct timed_count t;
	volatile struct perf_event_mmap_page *page;
	int fd;

	pin_to_cpu(0);
	attr.read_format = FORMAT_TIMES;
	attr.disabled = 1;
	fd = MUST(perf_open(&attr, pid, cpu, -1, 0));
	page = map_page(fd);
	for (int i = 0; i < 3; i++) {
		spin_ms(5);
		event_enable(fd);
		if (!page_shows_time(page, fd))
			return false;
		sleep_ms(20);
		if (!page_shows_time(page, fd))
			return false;
		event_disable(fd);
		t = read_timed_count(fd);
		if (!expect_eq("enabled by the page, disabled", page->time_enabled, t.enabled) |
		    !expect_eq("running by the page, disabled", page->time_running, t.running))
			return false;
	}
	return true;
}

static bool page_time_of_software(void)
{
	struct perf_event_attr clock = sw_attr(PERF_COUNT_SW_TASK_CLOCK);

	if (!page_follows(sw_attr(PERF_COUNT_SW_PAGE_FAULTS), 0, -1) ||
	    !page_follows(clock, 0, -1))
		return false;
	clock.sample_period = 1000 * MS;
	return page_follows(clock, 0, -1);
}

static bool page_time_of_a_counter(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	long access = sysctl_get("perf_user_access", -1);
	bool good;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	if (!page_follows(attr, 0, -1) || !page_follows(attr, -1, 0))
		return false;
	if (access < 0)
		return true;
	attr.config1 = 2;	/* arm64: user space may read it */
	sysctl_set("perf_user_access", 1);
	good = page_follows(attr, 0, -1);
	sysctl_set("perf_user_access", access);
	return good;
}

static bool page_time_of_a_cpu(void)
{
	return page_follows(sw_attr(PERF_COUNT_SW_PAGE_FAULTS), -1, 0) &&
	       page_follows(sw_attr(PERF_COUNT_SW_CPU_CLOCK), -1, 0);
}

/* Reads all records of header, time and address. Returns the time of @addr, 0 if it has none. */
static uint64_t fault_time(volatile struct perf_event_mmap_page *page, uint64_t addr)
{
	const char *data = (char *)page + page->data_offset;
	uint64_t time = 0;

	for (uint64_t at = page->data_tail; at < page->data_head; at += 24) {
		uint64_t words[3];

		for (unsigned int i = 0; i < 3; i++)
			words[i] = *(uint64_t *)(data + (at + 8 * i) % page->data_size);
		if (words[2] == addr)
			time = words[1];
	}
	page->data_tail = page->data_head;
	return time;
}

/* With cap_user_time_zero the formula gives the time of samples. */
static bool page_clock_is_samples_time(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	volatile struct perf_event_mmap_page *page;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
	attr.exclude_kernel = 1;
	page = map_page(open_self(&attr, -1));
	if (!page->cap_user_time_zero)
		skip_case("no cap_user_time_zero");
	for (int i = 0; i < PAGE_ROUNDS; i++) {
		volatile char *fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t before = page_now(page).clock, after;

		*fresh = 1;
		after = page_now(page).clock;
		if (!expect_between("the sample's time", fault_time(page, (uintptr_t)fresh),
				    before - ROUNDING, after + ROUNDING))
			return false;
	}
	return true;
}

/* time_cycles extends a narrow counter. */
static bool page_cycles_extend(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	volatile struct perf_event_mmap_page *page = map_page(open_self(&attr, -1));
	uint64_t cycles = hardware_counter();

	if (!page->cap_user_time_short)
		skip_case("no cap_user_time_short");
	/*
	 * The architecture guarantees 56 bits; the kernel reads the counter at least once an hour.
	 */
	return expect_eq("time_mask, a mask", page->time_mask & (page->time_mask + 1), 0) &
	       expect_between("time_mask", page->time_mask, (1ull << 56) - 1, UINT64_MAX) &
	       expect_between("time_cycles", page->time_cycles, 1, cycles);
}

/* An event with another clockid, for which the formula gives no time. */
static bool page_of_another_clock(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	volatile struct perf_event_mmap_page *page;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	page = map_page(open_self(&attr, -1));
	return expect_eq("cap_user_time_zero", page->cap_user_time_zero, 0);
}

static const struct test tests[] = {
	{ "task-clock is the CPU time of the task", task_clock_is_cpu_time },
	{ "cpu-clock of a task is its CPU time", cpu_clock_of_a_task },
	{ "clocks of a CPU are the time that passes", clocks_of_a_cpu },
	{ "clocks of two tasks add up to their CPU's", shared_cpu },
	{ "times stand still while disabled", times_stand_still },
	{ "a sleeping task's times stand still", times_of_a_sleeper },
	{ "the clock of another task rises with the time", clock_of_another_task },
	{ "times of an event bound to a CPU", times_of_a_bound_event },
	{ "IOC_RESET leaves the times", reset_leaves_times },
	{ "clocks of children add up", children_add_up },
	{ "the user page shows the time of a software event", page_time_of_software },
	{ "the user page shows the time of a counter", page_time_of_a_counter },
	{ "the user page shows the time of an event of a CPU", page_time_of_a_cpu },
	{ "the clock of the user page is that of the samples", page_clock_is_samples_time },
	{ "the counter of the user page is extended", page_cycles_extend },
#ifdef __x86_64__
	{ "the user page shows no time of another clock", page_of_another_clock },
#endif
};

TESTS_MAIN(tests)
