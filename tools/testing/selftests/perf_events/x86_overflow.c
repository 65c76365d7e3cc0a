// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that overflow on x86: an event with a fixed period takes as many samples as its count
 * contains periods, whatever runs in between; and a million interrupts on four CPUs are neither
 * lost nor unknown (the log would show those).
 *
 * Where instructions are the clock of the machine, interrupts arrive exactly at their instruction.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include <pthread.h>

#define PAGES	16
#define MOST	24

/* A sampling event, and its totals so far. */
struct source {
	struct ring	ring;
	uint64_t	period, samples, lost, other, outside;
};

/* The code of the loop, which has all user instructions but a few. */
extern const char loop_start[], loop_end[];

static noinline void sampled_loop(unsigned long n)
{
	asm volatile(".globl loop_start, loop_end\n"
		     "loop_start: dec %0; jnz loop_start\n"
		     "loop_end:" : "+r" (n) : : "cc");
}

/* As many samples as there are periods: no throttling. */
static void allow_many_samples(void)
{
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
}

/*
 * Returns how many times slower than usual the kernel is, by a short system call of some 250
 * instructions. A period of kernel events has to be longer than the interrupt handler.
 */
static unsigned long kernel_slowness(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k");
	int fd = open_self(&attr, -1);
	uint64_t count;

	event_enable(fd);
	for (int i = 0; i < 100; i++)
		short_syscall();
	event_disable(fd);
	count = perf_count(fd) / 100;
	close(fd);
	return count > 1000 ? count / 250 : 1;
}

static void source_open_of(struct source *s, pid_t pid, struct perf_event_attr attr,
			   uint64_t period, int group)
{
	int fd;

	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP;
	memset(s, 0, sizeof(*s));
	s->period = period;
	fd = MUST(perf_open(&attr, pid, -1, group, PERF_FLAG_FD_CLOEXEC));
	if (!ring_map(&s->ring, fd, PAGES))
		fail_case("mapping a buffer");
}

static void source_open(struct source *s, struct perf_event_attr attr, uint64_t period, int group)
{
	source_open_of(s, 0, attr, period, group);
}

static void source_drain(struct source *s)
{
	struct perf_event_header *h;
	uint64_t ip;

	while ((h = ring_next(&s->ring))) {
		switch (h->type) {
		case PERF_RECORD_SAMPLE:
			s->samples++;
			memcpy(&ip, h + 1, sizeof(ip));
			s->outside += ip < (uint64_t)loop_start || ip >= (uint64_t)loop_end;
			break;
		case PERF_RECORD_LOST:
			s->lost++;
			break;
		default:
			s->other++;
		}
	}
}

/* A period may be incomplete at the end, and one may have ended while the event was stopped. */
static bool source_adds_up(struct source *s, const char *what)
{
	uint64_t count;

	source_drain(s);
	count = perf_count(s->ring.fd);
	if (expect_near(what, s->samples, count / s->period, 1) && expect_eq("lost", s->lost, 0))
		return true;
	ktap_note("period %llu, count %llu, %llu samples, %llu other records",
		  (unsigned long long)s->period, (unsigned long long)count,
		  (unsigned long long)s->samples, (unsigned long long)s->other);
	return false;
}

static void enable_all(void)
{
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
}

static void disable_all(void)
{
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
}

static struct source source[MOST];

static bool periods_give_their_samples(void)
{
	static const uint64_t periods[] = { 499, 1009, 10007, 100003, 1000003 };
	bool good = true;

	require_exact_instructions();
	allow_many_samples();
	for (unsigned int i = 0; i < ARRAY_SIZE(periods); i++) {
		struct source *s = &source[0];
		unsigned long rounds = periods[i] * 300;

		source_open(s, hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"), periods[i], -1);
		raw_syscall(__NR_ioctl, s->ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		sampled_loop(rounds);
		raw_syscall(__NR_ioctl, s->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
		good &= source_adds_up(s, "samples");
		good &= expect_near("samples of the loop", s->samples,
				    LOOP_INSNS(rounds) / periods[i], 1);
		good &= expect_near("its count", perf_count(s->ring.fd), LOOP_INSNS(rounds), 50);
		good &= expect_between("samples outside of the loop", s->outside, 0, 1);
		ring_unmap(&s->ring);
		close(s->ring.fd);
	}
	return good;
}

/* Works in bursts until the sources are done; each buffer is read before it is full. */
static void work_in_bursts(unsigned int nr, unsigned int bursts)
{
	for (unsigned int b = 0; b < bursts; b++) {
		sampled_loop(100000);
		for (int i = 0; i < 20; i++)
			short_syscall();
		for (unsigned int i = 0; i < nr; i++)
			source_drain(&source[i]);
	}
}

static bool all_add_up(unsigned int nr)
{
	bool good = true;

	for (unsigned int i = 0; i < nr; i++) {
		good &= source_adds_up(&source[i], "one of several");
		good &= expect_between("samples", source[i].samples, 5, UINT64_MAX / 2);
	}
	return good;
}

static bool events_sample_beside_each_other(void)
{
	static const uint64_t periods[] = { 2003, 5003, 10007, 2003 };
	static const char *const levels[] = { "u", "u", "uk", "k" };
	unsigned long slow;

	require_exact_instructions();
	allow_many_samples();
	slow = kernel_slowness();
	for (unsigned int i = 0; i < ARRAY_SIZE(periods); i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, levels[i]),
			    periods[i] * (strchr(levels[i], 'k') ? slow : 1), -1);
	enable_all();
	work_in_bursts(ARRAY_SIZE(periods), 50);
	disable_all();
	return all_add_up(ARRAY_SIZE(periods));
}

static bool members_of_a_group_sample(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");

	require_exact_instructions();
	require_instruction_counters(3);
	allow_many_samples();
	source_open(&source[0], attr, 10007, -1);
	attr.disabled = 0;
	source_open(&source[1], attr, 3001, source[0].ring.fd);
	source_open(&source[2], attr, 3001, source[0].ring.fd);
	event_enable(source[0].ring.fd);
	work_in_bursts(3, 50);
	event_disable(source[0].ring.fd);
	return all_add_up(3);
}

/* A period that ends while the kernel updates the count is not lost. */
static bool reads_keep_periods(void)
{
	struct source *s = &source[0];
	unsigned long slow, rounds;

	require_exact_instructions();
	allow_many_samples();
	slow = kernel_slowness();
	source_open(s, hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k"), 2003 * slow, -1);
	event_enable(s->ring.fd);
	rounds = slow > 1 ? 300 : 3000;
	for (unsigned int i = 0; i < rounds; i++) {
		perf_count(s->ring.fd);
		for (int j = 0; j < 100; j++)
			short_syscall();
		source_drain(s);
	}
	event_disable(s->ring.fd);
	/* 100 system calls in a round, of 50 instructions at least. */
	return source_adds_up(s, "samples") &
	       expect_between("samples", s->samples, rounds * 100 * 50 / 2003, UINT64_MAX / 2);
}

/* More events than counters: a period continues where the event stopped. */
static bool turns_keep_periods(void)
{
	unsigned int nr = MOST;

	require_exact_instructions();
	allow_many_samples();
	for (unsigned int i = 0; i < nr; i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"), 20011 + 1000 * i,
			    -1);
	enable_all();
	work_in_bursts(nr, 2000);
	disable_all();
	return all_add_up(nr);
}

static bool switches_keep_periods(void)
{
	unsigned long slow;
	bool good;
	pid_t pid;

	require_exact_instructions();
	allow_many_samples();
	slow = kernel_slowness();
	pin_to_cpu(0);
	pid = fork_child();
	for (unsigned int i = 0; i < 3; i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "uk"),
			    (5003 + i) * slow, -1);
	enable_all();
	for (int i = 0; i < 500; i++) {
		sampled_loop(5000);
		sched_yield();
		for (unsigned int j = 0; j < 3; j++)
			source_drain(&source[j]);
	}
	disable_all();
	good = all_add_up(3);
	if (!pid)
		_exit(!good);
	return child_succeeded(pid) & good;
}

#define TURNS		500
#define TURN_LOOPS	20000
/* Instructions around the loop of a slice. */
#define TURN_SLACK	300

static pid_t turn_taker(struct gate *mine, struct gate *others)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	for (int i = 0; i < TURNS; i++) {
		gate_wait(mine);
		sampled_loop(TURN_LOOPS);
		gate_open(others);
	}
	_exit(0);
}

/*
 * One task samples, another counts the same kind of event on the same counter; neither gets the
 * other's counts. They map nothing themselves: for tasks that do, old values of counters are
 * cleared.
 */
static bool counting_leaves_sampling_alone(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct gate sampled = gate_new(), counted = gate_new();
	uint64_t all = TURNS * LOOP_INSNS(TURN_LOOPS);
	struct source *s = &source[0];
	pid_t pid[2];
	bool good;
	int fd;

	require_exact_instructions();
	allow_many_samples();
	pin_to_cpu(0);
	pid[0] = turn_taker(&sampled, &counted);
	pid[1] = turn_taker(&counted, &sampled);
	attr.disabled = 0;
	source_open_of(s, pid[0], attr, 1000003, -1);
	fd = MUST(perf_open(&attr, pid[1], -1, -1, PERF_FLAG_FD_CLOEXEC));
	gate_open(&sampled);
	good = child_succeeded(pid[0]) & child_succeeded(pid[1]);
	good &= source_adds_up(s, "samples");
	good &= expect_near("the sampled task", perf_count(s->ring.fd), all, TURNS * TURN_SLACK);
	good &= expect_near("the counted task", perf_count(fd), all, TURNS * TURN_SLACK);
	return good;
}

static bool moves_keep_periods(void)
{
	require_exact_instructions();
	require_cpus(2);
	allow_many_samples();
	for (unsigned int i = 0; i < 3; i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"), 100003 + i, -1);
	enable_all();
	for (int i = 0; i < 100; i++) {
		pin_to_cpu(i & 1);
		work_in_bursts(3, 1);
	}
	disable_all();
	return all_add_up(3);
}

/* A sample with period and count. */
struct period_sample {
	struct perf_event_header	header;
	uint64_t			period, count;
};

/*
 * The kernel adapts the period: each sample shows the period that ended with it. Periods shorter
 * than the handler at the beginning do not matter, nor a restart or two.
 */
static bool samples_tell_their_period(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before = 0, last = 0;
	unsigned int n = 0, changes = 0, wrong = 0;
	struct perf_event_header *h;
	static struct ring ring;

	require_exact_instructions();
	allow_many_samples();
	attr.freq = 1;
	attr.sample_freq = 2000;
	attr.sample_type = PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	if (!ring_map(&ring, open_self(&attr, -1), PAGES))
		fail_case("mapping a buffer");
	event_enable(ring.fd);
	while (n < 200) {
		sampled_loop(100000);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			struct period_sample *p = (void *)h;
			uint64_t counted = p->count - before;

			before = p->count;
			if (p->period < 2000)
				continue;
			n++;
			changes += p->period != last;
			last = p->period;
			if (counted > p->period + 100 || counted + 100 < p->period)
				wrong++;
		}
	}
	event_disable(ring.fd);
	ktap_note("%u samples, %u periods, %u wrong", n, changes, wrong);
	return expect_between("other periods", changes, 20, UINT64_MAX / 2) &
	       expect_between("samples with another period", wrong, 0, 3);
}

/*
 * A period that ends before the overflow handler does: the counter has overflowed again when the
 * event is throttled, and raises no interrupt for it. The event continues at each tick
 * nevertheless.
 */
static bool throttled_events_go_on(void)
{
	struct source *s = &source[0];
	uint64_t end;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS))
		skip_case("no instruction counter");
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 1000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
	source_open(s, hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "uk"), 300, -1);
	enable_all();
	for (end = monotonic_ns() + 400000000; monotonic_ns() < end; )
		sampled_loop(100000);
	disable_all();
	source_drain(s);
	allow_many_samples();
	/* A hundred ticks, each of which may end one throttling and begin another. */
	return expect_between("THROTTLE and UNTHROTTLE", s->other, 50, 300) &
	       expect_between("samples", s->samples, 50, UINT64_MAX / 2);
}

#define STORM_CPUS	4
#define STORM_EVENTS	3
#define STORM_PMIS	1000000
#define STAT_PMI	9

static uint64_t pmis_so_far(void)
{
	uint32_t a, b, c, d;

	__cpuid_count(X86_MODEL_LEAF, STAT_PMI, a, b, c, d);
	return c | (uint64_t)d << 32;
}

struct stormer {
	pthread_t	thread;
	unsigned int	cpu;
	unsigned long	slow;
	bool		exact, good;
	uint64_t	samples;
	struct source	source[STORM_EVENTS];
};

static uint64_t storm_end;

static void storm_burst(struct stormer *me, unsigned int n)
{
	struct source *last = &me->source[STORM_EVENTS - 1];

	sampled_loop(20000);
	/* An overflow that is pending when the counter stops must be handled. */
	ioctl(last->ring.fd, n & 1 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	sampled_loop(500);
	sched_yield();
	for (unsigned int i = 0; i < STORM_EVENTS; i++)
		source_drain(&me->source[i]);
}

/*
 * Without an instruction clock the interrupts of the emulator are late by periods: there the
 * counters only have to continue.
 */
static void *interrupt_storm(void *arg)
{
	static const uint64_t exact[] = { 499, 997, 1499 }, rough[] = { 199999, 399989, 500009 };
	struct stormer *me = arg;

	pin_to_cpu(me->cpu);
	for (unsigned int i = 0; i < STORM_EVENTS; i++) {
		source_open(&me->source[i],
			    hw_attr(PERF_COUNT_HW_INSTRUCTIONS, i || !me->exact ? "u" : "uk"),
			    me->exact ? exact[i] * (i ? 1 : 5 * me->slow) : rough[i], -1);
		ioctl(me->source[i].ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	for (unsigned int n = 0; pmis_so_far() < storm_end; n++)
		storm_burst(me, n);
	me->good = true;
	for (unsigned int i = 0; i < STORM_EVENTS; i++) {
		struct source *s = &me->source[i];

		ioctl(s->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
		me->good &= me->exact ? source_adds_up(s, "in the storm") :
					(source_drain(s), s->samples > 100);
		me->samples += s->samples;
	}
	return NULL;
}

static bool storm_loses_nothing(void)
{
	static struct stormer stormer[2 * STORM_CPUS];
	uint64_t before = pmis_so_far(), samples = 0;
	uint64_t pmis = STORM_PMIS;
	unsigned long slow = 1;
	bool good = true;

	require_cpus(STORM_CPUS);
	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS))
		skip_case("no instruction counter");
	alarm(0);
	allow_many_samples();
	if (!counts_are_inexact())
		slow = kernel_slowness();
	/*
	 * They use the time of the host where that is the clock, and too much of it on a slow
	 * kernel.
	 */
	if (counts_are_inexact() || slow > 1)
		pmis /= 10;
	storm_end = before + pmis;
	for (unsigned int i = 0; i < ARRAY_SIZE(stormer); i++) {
		stormer[i].cpu = i % STORM_CPUS;
		stormer[i].exact = !counts_are_inexact();
		stormer[i].slow = slow;
		if (pthread_create(&stormer[i].thread, NULL, interrupt_storm, &stormer[i]))
			fail_case("pthread_create");
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(stormer); i++) {
		pthread_join(stormer[i].thread, NULL);
		good &= expect_eq("what a thread found", stormer[i].good, true);
		samples += stormer[i].samples;
	}
	ktap_note("%llu interrupts, %llu samples", (unsigned long long)(pmis_so_far() - before),
		  (unsigned long long)samples);
	return good & expect_between("interrupts", pmis_so_far() - before, pmis, UINT64_MAX / 2);
}

static const struct test tests[] = {
	{ "a fixed period gives its samples, in the loop", periods_give_their_samples },
	{ "events beside each other", events_sample_beside_each_other },
	{ "members of a group", members_of_a_group_sample },
	{ "reads keep periods", reads_keep_periods },
	{ "multiplexing keeps periods", turns_keep_periods },
	{ "switches between tasks keep periods", switches_keep_periods },
	{ "one task samples, another counts on the same counter", counting_leaves_sampling_alone },
	{ "moves between CPUs keep periods", moves_keep_periods },
	{ "samples show their period", samples_tell_their_period },
	{ "a throttled short period goes on at each tick", throttled_events_go_on },
	{ "a million interrupts on four CPUs: none lost", storm_loses_nothing },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("x86_overflow", "not an x86")
#endif
