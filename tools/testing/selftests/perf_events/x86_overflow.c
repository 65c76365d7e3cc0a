// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that overflow on x86: an event of a fixed period gives as many samples as its count holds
 * periods, whoever comes in between; and a million interrupts on four CPUs leave none lost and none
 * unknown (the log tells of those).
 *
 * Where instructions are the machine's clock, interrupts come at the very instruction.
 */
#include "workload.h"
#include "record.h"

#ifdef __x86_64__
#include <pthread.h>

#define PAGES	16
#define MOST	24

/* A sampling event, and what came of it so far. */
struct source {
	struct ring	ring;
	uint64_t	period, samples, lost, other, outside;
};

/* The loop's code: where all user instructions but a few are. */
extern const char loop_start[], loop_end[];

__attribute__((noinline))
static void sampled_loop(unsigned long n)
{
	asm volatile(".globl loop_start, loop_end\n"
		     "loop_start: dec %0; jnz loop_start\n"
		     "loop_end:" : "+r" (n) : : "cc");
}

/* As many samples as there are periods: the kernel is not to slow down. */
static void allow_many_samples(void)
{
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
}

/*
 * How often as slow as it might be the kernel is: by a short call, of which 250 instructions are its.
 * A period of what the kernel does has to be longer than what its interrupt handler does.
 */
static unsigned long slowness(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k");
	int fd = open_self(&attr, -1);
	uint64_t count;

	enable(fd);
	for (int i = 0; i < 100; i++)
		short_syscall();
	disable(fd);
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

/* A period may be open at the end, and one may have ended while the event was being stopped. */
static bool source_adds_up(struct source *s, const char *what)
{
	uint64_t count;

	source_drain(s);
	count = perf_count(s->ring.fd);
	if (near(what, s->samples, count / s->period, 1) && same("lost", s->lost, 0))
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

	need_instructions();
	allow_many_samples();
	for (unsigned int i = 0; i < ARRAY_SIZE(periods); i++) {
		struct source *s = &source[0];
		unsigned long rounds = periods[i] * 300;

		source_open(s, hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"), periods[i], -1);
		raw_syscall(__NR_ioctl, s->ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		sampled_loop(rounds);
		raw_syscall(__NR_ioctl, s->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
		good &= source_adds_up(s, "samples");
		good &= near("samples of the loop", s->samples, LOOP_INSNS(rounds) / periods[i], 1);
		good &= near("its count", perf_count(s->ring.fd), LOOP_INSNS(rounds), 50);
		good &= between("samples outside of the loop", s->outside, 0, 1);
		ring_unmap(&s->ring);
		close(s->ring.fd);
	}
	return good;
}

/* Works in bursts until the sources are done; each is read before its buffer is full. */
static void work(unsigned int nr, unsigned int bursts)
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
		good &= between("samples", source[i].samples, 5, UINT64_MAX / 2);
	}
	return good;
}

static bool events_sample_beside_each_other(void)
{
	static const uint64_t periods[] = { 2003, 5003, 10007, 2003 };
	static const char *const levels[] = { "u", "u", "uk", "k" };
	unsigned long slow;

	need_instructions();
	allow_many_samples();
	slow = slowness();
	for (unsigned int i = 0; i < ARRAY_SIZE(periods); i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, levels[i]),
			    periods[i] * (strchr(levels[i], 'k') ? slow : 1), -1);
	enable_all();
	work(ARRAY_SIZE(periods), 50);
	disable_all();
	return all_add_up(ARRAY_SIZE(periods));
}

static bool members_of_a_group_sample(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");

	need_instructions();
	need_capacity(3);
	allow_many_samples();
	source_open(&source[0], attr, 10007, -1);
	attr.disabled = 0;
	source_open(&source[1], attr, 3001, source[0].ring.fd);
	source_open(&source[2], attr, 3001, source[0].ring.fd);
	enable(source[0].ring.fd);
	work(3, 50);
	disable(source[0].ring.fd);
	return all_add_up(3);
}

/* A period that ends just while the kernel brings the count up to date is not forgotten. */
static bool reads_keep_periods(void)
{
	struct source *s = &source[0];
	unsigned long slow;

	need_instructions();
	allow_many_samples();
	slow = slowness();
	source_open(s, hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k"), 2003 * slow, -1);
	enable(s->ring.fd);
	for (int i = 0; i < (slow > 1 ? 300 : 3000); i++) {
		perf_count(s->ring.fd);
		for (int j = 0; j < 100; j++)
			short_syscall();
		source_drain(s);
	}
	disable(s->ring.fd);
	return source_adds_up(s, "samples");
}

/* More than there are counters: a period goes on where the turn before left it. */
static bool turns_keep_periods(void)
{
	unsigned int nr = MOST;

	need_instructions();
	allow_many_samples();
	for (unsigned int i = 0; i < nr; i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"), 20011 + 1000 * i, -1);
	enable_all();
	work(nr, 2000);
	disable_all();
	return all_add_up(nr);
}

static bool switches_keep_periods(void)
{
	unsigned long slow;
	bool good;
	pid_t pid;

	need_instructions();
	allow_many_samples();
	slow = slowness();
	pin_to_cpu(0);
	pid = fork_child();
	for (unsigned int i = 0; i < 3; i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "uk"), (5003 + i) * slow, -1);
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
	return child_was_good(pid) & good;
}

#define TURNS		500
#define TURN_LOOPS	20000
/* Instructions around a turn's loop. */
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
 * One task is sampled, the other's events of the same kind are counted, with the same counter; neither
 * has the other's. They map nothing themselves: what is left in counters is wiped for those that do.
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

	need_instructions();
	allow_many_samples();
	pin_to_cpu(0);
	pid[0] = turn_taker(&sampled, &counted);
	pid[1] = turn_taker(&counted, &sampled);
	attr.disabled = 0;
	source_open_of(s, pid[0], attr, 1000003, -1);
	fd = MUST(perf_open(&attr, pid[1], -1, -1, PERF_FLAG_FD_CLOEXEC));
	gate_open(&sampled);
	good = child_was_good(pid[0]) & child_was_good(pid[1]);
	good &= source_adds_up(s, "samples");
	good &= near("the sampled task", perf_count(s->ring.fd), all, TURNS * TURN_SLACK);
	good &= near("the counted task", perf_count(fd), all, TURNS * TURN_SLACK);
	return good;
}

static bool moves_keep_periods(void)
{
	need_instructions();
	need_cpus(2);
	allow_many_samples();
	for (unsigned int i = 0; i < 3; i++)
		source_open(&source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u"), 100003 + i, -1);
	enable_all();
	for (int i = 0; i < 100; i++) {
		pin_to_cpu(i & 1);
		work(3, 1);
	}
	disable_all();
	return all_add_up(3);
}

/* A sample of these has its period and the count. */
struct period_sample {
	struct perf_event_header	header;
	uint64_t			period, count;
};

/*
 * The kernel looks for the period, so it changes from sample to sample: each has that which has just
 * ended. A beginning with periods too short for the handler does not matter, nor a new start or two.
 */
static bool samples_tell_their_period(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before = 0, last = 0;
	unsigned int n = 0, changes = 0, wrong = 0;
	struct perf_event_header *h;
	static struct ring ring;

	need_instructions();
	allow_many_samples();
	attr.freq = 1;
	attr.sample_freq = 2000;
	attr.sample_type = PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	if (!ring_map(&ring, open_self(&attr, -1), PAGES))
		fail_case("mapping a buffer");
	enable(ring.fd);
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
	disable(ring.fd);
	ktap_note("%u samples, %u periods, %u wrong", n, changes, wrong);
	return between("other periods", changes, 20, UINT64_MAX / 2) &
	       between("samples with another period", wrong, 0, 3);
}

/*
 * A period that is over before the overflow handler is: the counter has overflowed once more when the
 * event is throttled, and nobody interrupts for that. Each tick lets it go on nevertheless.
 */
static bool throttled_events_go_on(void)
{
	struct source *s = &source[0];
	uint64_t end;

	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS))
		skip_case("no instruction counter");
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 1000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
	source_open(s, hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "uk"), 300, -1);
	enable_all();
	for (end = now_ns() + 400000000; now_ns() < end; )
		sampled_loop(100000);
	disable_all();
	source_drain(s);
	allow_many_samples();
	/* A hundred ticks, each with the end of one rest and the beginning of another. */
	return between("THROTTLE and UNTHROTTLE", s->other, 50, 300) &
	       between("samples", s->samples, 50, UINT64_MAX / 2);
}

/* ------------------------------------------------------------------ many interrupts */

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
	/* Whatever is on its way when the counter stops must find somebody. */
	ioctl(last->ring.fd, n & 1 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	sampled_loop(500);
	sched_yield();
	for (unsigned int i = 0; i < STORM_EVENTS; i++)
		source_drain(&me->source[i]);
}

/*
 * Without an instruction clock the emulator's interrupts come late, by periods: there the counters
 * must only go on.
 */
static void *storm(void *arg)
{
	static const uint64_t exact[] = { 499, 997, 1499 }, rough[] = { 199999, 399989, 500009 };
	struct stormer *me = arg;

	pin_to_cpu(me->cpu);
	for (unsigned int i = 0; i < STORM_EVENTS; i++) {
		source_open(&me->source[i], hw_attr(PERF_COUNT_HW_INSTRUCTIONS, i || !me->exact ? "u" : "uk"),
			    me->exact ? exact[i] * (i ? 1 : 5 * me->slow) : rough[i], -1);
		ioctl(me->source[i].ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	for (unsigned int n = 0; pmis_so_far() < storm_end; n++)
		storm_burst(me, n);
	me->good = true;
	for (unsigned int i = 0; i < STORM_EVENTS; i++) {
		struct source *s = &me->source[i];

		ioctl(s->ring.fd, PERF_EVENT_IOC_DISABLE, 0);
		me->good &= me->exact ? source_adds_up(s, "in the storm") : (source_drain(s), s->samples > 100);
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

	need_cpus(STORM_CPUS);
	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS))
		skip_case("no instruction counter");
	alarm(0);
	allow_many_samples();
	if (!counts_are_rough())
		slow = slowness();
	/* They take the host's time where that is the clock, and with a slow kernel too much of it. */
	if (counts_are_rough() || slow > 1)
		pmis /= 10;
	storm_end = before + pmis;
	for (unsigned int i = 0; i < ARRAY_SIZE(stormer); i++) {
		stormer[i].cpu = i % STORM_CPUS;
		stormer[i].exact = !counts_are_rough();
		stormer[i].slow = slow;
		if (pthread_create(&stormer[i].thread, NULL, storm, &stormer[i]))
			fail_case("pthread_create");
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(stormer); i++) {
		pthread_join(stormer[i].thread, NULL);
		good &= same("what a thread found", stormer[i].good, true);
		samples += stormer[i].samples;
	}
	ktap_note("%llu interrupts, %llu samples", (unsigned long long)(pmis_so_far() - before),
		  (unsigned long long)samples);
	return good & between("interrupts", pmis_so_far() - before, pmis, UINT64_MAX / 2);
}

static const struct test tests[] = {
	{ "a fixed period gives its samples, in the loop", periods_give_their_samples },
	{ "events beside each other", events_sample_beside_each_other },
	{ "members of a group", members_of_a_group_sample },
	{ "reads keep periods", reads_keep_periods },
	{ "turns on too few counters keep periods", turns_keep_periods },
	{ "switches between tasks keep periods", switches_keep_periods },
	{ "counting in turns with sampling", counting_leaves_sampling_alone },
	{ "moves between CPUs keep periods", moves_keep_periods },
	{ "samples tell their period", samples_tell_their_period },
	{ "a short period, throttled, goes on with each tick", throttled_events_go_on },
	{ "a million interrupts on four CPUs: none lost", storm_loses_nothing },
};

TESTS_MAIN(tests)
#else
int main(void)
{
	ktap_start(1);
	ktap_skip("x86_overflow", "not an x86");
	return ktap_finish();
}
#endif
