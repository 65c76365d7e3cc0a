// SPDX-License-Identifier: GPL-2.0
/* How often samples are taken: clocks, frequencies, throttling and its sysctls. Run as root. */
#include "processes.h"
#include "require.h"
#include "sampling.h"

/* The interval of a timer of 1 ms; machines without a good clock have only ticks. */
static uint64_t timer_ns(void)
{
	struct timespec t;

	clock_getres(CLOCK_MONOTONIC, &t);
	return t.tv_nsec > 1000000 ? 2 * t.tv_nsec : 1000000;
}

static bool clock_periods(void)
{
	bool ok = true;

	for (uint64_t id = PERF_COUNT_SW_CPU_CLOCK; id <= PERF_COUNT_SW_TASK_CLOCK; id++) {
		struct perf_event_attr attr = clock_attr(id, 1000000);
		int fd, n = 0, good = 0;
		struct perf_event_header *h;
		struct sample s;
		uint64_t count;

		fd = open_mapped(&attr, 16);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		spin_ns(200000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		count = perf_count(fd);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			n++;
			good += sample_parse(&s, h, &attr) && s.period == 1000000 &&
				s.pid == (uint32_t)getpid();
		}
		/* A loaded host delays timers. */
		ok &= expect_between(id ? "task-clock, 1 ms: samples of 200 ms" :
					  "cpu-clock, 1 ms: samples of 200 ms",
				     n, count / timer_ns() / 2, count / 1000000 + 1);
		ok &= expect_eq("samples with the right period and pid", good, n);
		ok &= expect_between("count in ns", count, 195000000, 2000000000);
		close_mapped(fd);
	}
	return ok;
}

/* A clock with a frequency is a timer with a fixed period. */
static bool clock_frequency(void)
{
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, 0);
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	struct sample s;
	uint64_t count;
	int fd;

	attr.freq = 1;
	attr.sample_freq = 500;
	fd = open_mapped(&attr, 16);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(200000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	count = perf_count(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		n++;
		good += sample_parse(&s, h, &attr) && s.period == 2000000;
	}
	close_mapped(fd);
	return expect_between("cpu-clock, 500 Hz: samples of 200 ms", n, count / timer_ns() / 4,
			      count / 2000000 + 1) &
	       expect_eq("samples with a period of 2 ms", good, n);
}

/* There is nothing to sample while the task sleeps. */
static bool clock_asleep(void)
{
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_TASK_CLOCK, 1000000);
	int fd = open_mapped(&attr, 4);
	struct timespec t = { .tv_nsec = 200000000 };
	bool ok;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	nanosleep(&t, NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ok = expect_between("task-clock, 1 ms: 200 ms asleep",
			    ring_count(&ring, PERF_RECORD_SAMPLE), 0, 5);
	close_mapped(fd);
	return ok;
}

static void fault_for(uint64_t ns)
{
	uint64_t start = thread_cpu_ns();

	while (thread_cpu_ns() - start < ns) {
		char *p = fresh_pages(64);

		touch_pages(p, 64);
		munmap(p, 64 * page);
	}
}

/* Page faults at the rate of the CPU, sampled at a frequency of run time. */
static bool frequency_is_kept(void)
{
	static const unsigned int freq[] = { 100, 1000 };
	bool ok = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(freq); i++) {
		struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD);
		unsigned int n = 0, late = 0, jumps = 0;
		struct perf_event_header *h;
		uint64_t last = 0;
		struct sample s;
		int fd;

		attr.freq = 1;
		attr.sample_freq = freq[i];
		fd = open_mapped(&attr, 64);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		fault_for(1000000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			n++;
			if (!sample_parse(&s, h, &attr) || n <= 40)
				continue;
			/*
			 * Once it has settled no period is far from the one before; a factor of 3
			 * is no jump.
			 */
			late++;
			jumps += last && (s.period > 2 * last + 8 || 2 * s.period + 8 < last);
			last = s.period;
		}
		ok &= expect_between("frequency: samples in a second", n, freq[i] * 7 / 10,
				     freq[i] * 13 / 10 + 20);
		/*
		 * Faults on a debug kernel are uneven. A control that does not settle jumps every
		 * other time.
		 */
		ok &= expect_between("jumps of the period once it has settled", jumps, 0, late / 5);
		close_mapped(fd);
	}
	return ok;
}

/*
 * A child sleeps for 10 ms at a time, and runs for some microseconds in between: of the rate in
 * that time the frequency would leave next to nothing.
 */
static bool sleepers_have_samples(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE,
						PERF_COUNT_SW_CONTEXT_SWITCHES);
	unsigned int samples;
	uint64_t switches;
	pid_t child;
	int fd;

	require_cpus(2);
	child = fork_child();
	if (!child) {
		pin_to_cpu(1);
		for (;;)
			usleep(10000);
	}
	attr.freq = 1;
	attr.sample_freq = 1000;
	attr.sample_type = PERF_SAMPLE_PERIOD;
	attr.disabled = 1;
	fd = MUST(perf_open(&attr, child, -1, -1, 0));
	if (!ring_map(&ring, fd, 16))
		fail_case("mmap");
	event_enable(fd);
	usleep(2000000);
	event_disable(fd);
	samples = ring_count(&ring, PERF_RECORD_SAMPLE);
	switches = perf_count(fd);
	kill_child(child);
	close_mapped(fd);
	/* Two switches in a moment are a high rate: the period is 8 then, until the next sample. */
	return expect(switches >= 50, "%lu switches", (long)switches) &
	       expect_between("switches with a sample", samples, switches / 2, switches);
}

/* A page fault in each @ns of the task's own time, @count times. */
static void fault_slowly(uint64_t ns, unsigned int count)
{
	uint64_t next = thread_cpu_ns();

	while (count--) {
		char *p = fresh_pages(1);

		touch_pages(p, 1);
		munmap(p, page);
		next += ns;
		while (thread_cpu_ns() < next)
			;
	}
}

/* Two other tasks run on the CPU: the task waits for most of the time, and does not sleep. */
static bool waiting_is_no_sleep(void)
{
	struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_PERIOD);
	unsigned int samples;
	pid_t child[2];
	int fd;

	pin_to_cpu(0);
	for (unsigned int i = 0; i < ARRAY_SIZE(child); i++) {
		child[i] = fork_child();
		if (!child[i])
			for (;;)
				;
	}
	attr.freq = 1;
	attr.sample_freq = 20;
	fd = open_mapped(&attr, 16);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	fault_slowly(5000000, 60);
	ring_count(&ring, PERF_RECORD_SAMPLE);
	fault_slowly(1000000, 800);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	samples = ring_count(&ring, PERF_RECORD_SAMPLE);
	close_mapped(fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(child); i++)
		kill_child(child[i]);
	return expect_between("20 Hz: samples in 0.8 s of running", samples, 8, 40);
}

/* What was counted between two samples is the period of the second. */
static bool frequency_periods(void)
{
	struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_READ | PERF_SAMPLE_PERIOD);
	unsigned int n = 0, right = 0, changes = 0;
	uint64_t last = 0, last_period = 0;
	struct perf_event_header *h;
	struct sample s;
	int fd;
	bool ok = true;

	attr.freq = 1;
	attr.sample_freq = 1000;
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	fault_for(300000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		if (!sample_parse(&s, h, &attr))
			continue;
		n++;
		right += s.read[0] - last == s.period;
		changes += s.period != last_period;
		last = s.read[0];
		last_period = s.period;
	}
	/* The tick begins a new period if an overflow is late. */
	ok &= expect_between("frequency: samples that show what was counted", right, n - n / 10, n);
	ok &= expect_between("samples whose period differs from the last", changes, n / 10, n);
	close_mapped(fd);
	return ok;
}

/* IOC_PERIOD of an event with a frequency sets the frequency. */
static bool ioc_frequency(void)
{
	struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_ADDR);
	uint64_t limit = sysctl_get("perf_event_max_sample_rate", 0), over = limit + 1, zero = 0;
	static const uint64_t freq[] = { 200, 1500 };
	int fd;
	bool ok = true;

	attr.freq = 1;
	attr.sample_freq = 800;
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	fault_for(100000000);
	for (unsigned int i = 0; i < ARRAY_SIZE(freq); i++) {
		if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &freq[i]))
			fail_case("IOC_PERIOD");
		/* Until the period has settled. */
		fault_for(100000000);
		ring_count(&ring, PERF_RECORD_SAMPLE);
		fault_for(250000000);
		ok &= expect_between("IOC_PERIOD of a frequency: samples in 0.25 s",
				     ring_count(&ring, PERF_RECORD_SAMPLE), freq[i] / 4 * 7 / 10,
				     freq[i] / 4 * 13 / 10 + 5);
	}
	ok &= expect_errno("IOC_PERIOD of a frequency: 0", ioctl(fd, PERF_EVENT_IOC_PERIOD, &zero),
			   EINVAL);
	ok &= expect_errno("IOC_PERIOD of a frequency: over perf_event_max_sample_rate",
			   ioctl(fd, PERF_EVENT_IOC_PERIOD, &over), EINVAL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ok &= expect_errno("IOC_PERIOD of a frequency: perf_event_max_sample_rate",
			   ioctl(fd, PERF_EVENT_IOC_PERIOD, &limit), 0);
	close_mapped(fd);
	return ok;
}

/* A sample of a clock shows the period by which its timer was set. */
static bool clock_ioc_period(void)
{
	bool ok = true;

	for (uint64_t id = PERF_COUNT_SW_CPU_CLOCK; id <= PERF_COUNT_SW_TASK_CLOCK; id++) {
		struct perf_event_attr attr = clock_attr(id, 5000000);
		unsigned int before = 0, after = 0, other = 0;
		uint64_t period = 2 * timer_ns();
		struct perf_event_header *h;
		struct sample s;
		int fd;

		fd = open_mapped(&attr, 16);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		spin_ns(50000000);
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		spin_ns(100000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			if (!sample_parse(&s, h, &attr))
				continue;
			if (s.period == attr.sample_period && !after)
				before++;
			else if (s.period == period)
				after++;
			else
				other++;
		}
		ok &= expect(before && after > 2 && !other,
			     "IOC_PERIOD, %s: samples with the old period %u, new %u, other %u",
			     id ? "task-clock" : "cpu-clock", before, after, other);
		close_mapped(fd);
	}
	return ok;
}

/* Instructions in user space, which the driver's interrupt samples. */
static struct perf_event_attr counter_attr(uint64_t period)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS))
		skip_case("no instruction counter");
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD;
	return attr;
}

/*
 * The task is awake for a small part of a tick at a time, in which it is throttled: few ticks find
 * it on its CPU, and the event continues nevertheless.
 */
static bool throttled_sleeper(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct perf_event_attr attr = counter_attr(5000);
	unsigned int without = 0, throttled = 0;
	int fd;
	bool ok;

	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 1000))
		fail_case("perf_event_max_sample_rate");
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 60; i++) {
		struct perf_event_header *h;
		unsigned int samples = 0;

		run_loop(50000);
		while ((h = ring_next(&ring))) {
			samples += h->type == PERF_RECORD_SAMPLE;
			throttled += h->type == PERF_RECORD_THROTTLE;
		}
		without += !samples;
		usleep(10000);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);
	ok = expect_between("throttling: of 60 bursts, those without a sample", without, 0, 6) &
	     expect_between("THROTTLE records", throttled, 30, 60 * 20);
	close_mapped(fd);
	return ok;
}

/*
 * Samples between a THROTTLE record and the next UNTHROTTLE, without the first one: the overflow
 * that is throttled writes its sample after the THROTTLE record.
 */
static unsigned int samples_while_throttled(unsigned int *nr_throttled)
{
	unsigned int samples = 0, since = 0;
	struct perf_event_header *h;
	bool throttled = false;

	*nr_throttled = 0;
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_THROTTLE) {
			throttled = true;
			since = 0;
			++*nr_throttled;
		}
		if (h->type == PERF_RECORD_UNTHROTTLE)
			throttled = false;
		if (throttled && h->type == PERF_RECORD_SAMPLE)
			samples += since++ > 0;
	}
	return samples;
}

static void idle_turn(void)
{
}

/* The task is switched out and in several times a tick: its clock is throttled all the same. */
static bool throttled_clock_switches(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_TASK_CLOCK);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct gate go = gate_new(), back = gate_new();
	unsigned int samples, throttled;
	pid_t pid;
	int fd;

	if (timer_ns() > 1000000)
		skip_case("timers come by the tick");
	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 1000))
		fail_case("perf_event_max_sample_rate");
	pin_to_cpu(0);
	pid = fork_worker(&go, &back, idle_turn);
	attr.sample_period = 50000;
	attr.sample_type = PERF_SAMPLE_IP;
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 1000; i++) {
		run_loop(50000);
		gate_open(&go);
		gate_wait(&back);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);
	kill_child(pid);
	samples = samples_while_throttled(&throttled);
	close_mapped(fd);
	return expect_between("THROTTLE records", throttled, 5, 1000) &
	       expect_eq("samples while the event is throttled", samples, 0);
}

/* An event that would take 50000 samples a second, or a few less, is limited to 1000. */
static bool rate_is_limited_of(struct perf_event_attr attr)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	unsigned int throttled = 0, unthrottled = 0, samples = 0, order = 0, id_good = 0;
	struct perf_event_header *h;
	uint64_t id;
	int fd;
	bool ok = true;

	/* Another test may have disabled the limits; the rate cannot be set then. */
	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 1000))
		fail_case("perf_event_max_sample_rate");
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(300000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);

	while ((h = ring_next(&ring))) {
		const uint64_t *body = (uint64_t *)(h + 1);

		if (h->type == PERF_RECORD_SAMPLE)
			samples++;
		if (h->type == PERF_RECORD_THROTTLE) {
			order += throttled == unthrottled;
			throttled++;
		}
		if (h->type == PERF_RECORD_UNTHROTTLE) {
			unthrottled++;
			order += throttled == unthrottled;
		}
		if (h->type == PERF_RECORD_THROTTLE || h->type == PERF_RECORD_UNTHROTTLE)
			id_good += body[0] && body[1] == id && body[2] == id;
	}
	ok &= expect_between("throttling to 1000/s: samples in 300 ms of 50000/s", samples, 50,
			     700);
	ok &= expect_between("throttling: THROTTLE records", throttled, 10, 300);
	ok &= expect_between("throttling: UNTHROTTLE records", unthrottled, throttled - 1,
			     throttled);
	ok &= expect_eq("throttling: they alternate", order, throttled + unthrottled);
	ok &= expect_eq("throttling: time and ids", id_good, throttled + unthrottled);
	close_mapped(fd);
	return ok;
}

/* What THROTTLE and UNTHROTTLE records of a task say. */
struct throttle_ids {
	unsigned int	nr, id, stream_id;	/* records; with the id of the file there */
};

static struct throttle_ids throttles_of(pid_t task, uint64_t id)
{
	struct throttle_ids ids = { 0 };
	struct perf_event_header *h;

	while ((h = ring_next(&ring))) {
		const uint64_t *body = (uint64_t *)(h + 1);
		const uint32_t *tid = (uint32_t *)((char *)h + h->size - 8);

		if (h->type != PERF_RECORD_THROTTLE && h->type != PERF_RECORD_UNTHROTTLE)
			continue;
		if ((pid_t)tid[0] != task)
			continue;
		ids.nr++;
		ids.id += body[1] == id;
		ids.stream_id += body[2] == id;
	}
	return ids;
}

/* A child that has inherited the event is throttled: the records have the ids of both. */
static bool throttled_child(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, 20000);
	struct perf_event_attr other = sw_attr(PERF_COUNT_SW_DUMMY);
	struct gate go = gate_new();
	struct throttle_ids ids;
	uint64_t id;
	pid_t pid;
	int fd;

	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 1000))
		fail_case("perf_event_max_sample_rate");
	pin_to_cpu(0);
	attr.inherit = 1;
	attr.sample_id_all = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	fd = MUST(perf_open(&attr, 0, 0, -1, 0));
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	id = event_id(fd);
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		spin_ms(100);
		_exit(0);
	}
	/* A kernel may exchange the events of tasks that have the same ones. */
	open_self(&other, -1);
	event_enable(fd);
	gate_open(&go);
	waitpid(pid, NULL, 0);
	event_disable(fd);
	sysctl_set("perf_event_max_sample_rate", rate);
	ids = throttles_of(pid, id);
	close_mapped(fd);
	return expect_between("records", ids.nr, 10, 300) &
	       expect_eq("with the id of the file as id", ids.id, ids.nr) &
	       expect_eq("with it as stream_id", ids.stream_id, 0);
}

static bool rate_is_limited(void)
{
	if (timer_ns() > 1000000)
		skip_case("timers come by the tick");
	return rate_is_limited_of(clock_attr(PERF_COUNT_SW_CPU_CLOCK, 20000));
}

static bool counter_rate_is_limited(void)
{
	return rate_is_limited_of(counter_attr(20000));
}

/*
 * How often an event got @limit samples from one tick to the next, of how many ticks. On a slow
 * kernel a tick can have too few samples for throttling: they are counted with those of the next
 * one. @over is the number of ticks with more than @limit.
 */
static unsigned int ticks_with(unsigned int limit, unsigned int *ticks, unsigned int *over)
{
	unsigned int full = 0, samples = 0;
	struct perf_event_header *h;

	*ticks = 0;
	*over = 0;
	while ((h = ring_next(&ring))) {
		samples += h->type == PERF_RECORD_SAMPLE;
		if (h->type != PERF_RECORD_UNTHROTTLE)
			continue;
		full += samples == limit;
		*over += samples > limit;
		samples = 0;
		++*ticks;
	}
	return full;
}

/* The rate in samples of a tick: no more are taken. */
static bool tick_has_its_samples(void)
{
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, 20000);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	unsigned int full, ticks, over;
	struct timespec tick;
	bool ok = true;
	int fd;

	if (timer_ns() > 1000000)
		skip_case("timers come by the tick");
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	sysctl_set("perf_cpu_time_max_percent", 25);
	for (unsigned int limit = 2; limit <= 4; limit++) {
		if (sysctl_set("perf_event_max_sample_rate", limit * 1000000000L / tick.tv_nsec))
			fail_case("perf_event_max_sample_rate");
		fd = open_mapped(&attr, 64);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		spin_ns(300000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		full = ticks_with(limit, &ticks, &over);
		close_mapped(fd);
		ok &= expect_between("ticks", ticks, 10, 1000) &
		      expect_between("ticks with all samples", full, ticks * 3 / 4, ticks) &
		      expect_between("ticks with more", over, 0, ticks / 20);
	}
	sysctl_set("perf_event_max_sample_rate", rate);
	return ok;
}

/* Rounds of a loop of 50 ms or more. */
#define ROUNDS	25000000

/*
 * Interrupts that take longer than perf_cpu_time_max_percent allows at the rate lower the rate,
 * until they take no more of the CPU than that. The rest of an interrupt, which the driver does not
 * measure, takes less than nine times as much again: on the debug kernel it takes more than twice.
 */
static bool percent_lowers_rate(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1), lowered;
	long percent = sysctl_get("perf_cpu_time_max_percent", -1);
	struct perf_event_attr attr = counter_attr(5000);
	uint64_t without, with;
	int fd;

	require_exact_instructions();
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 1));
	without = shortest_loop_ns(ROUNDS);
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	/* The average over 128 interrupts takes some ticks to settle. */
	for (int i = 0; i < 8; i++)
		run_loop(ROUNDS);
	with = shortest_loop_ns(ROUNDS);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	close_mapped(fd);
	lowered = sysctl_get("perf_event_max_sample_rate", -1);
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", rate));
	MUST(sysctl_set("perf_cpu_time_max_percent", percent));
	ktap_note("rate %ld, loop %llu ns, sampled %llu ns", lowered, (unsigned long long)without,
		  (unsigned long long)with);
	return expect_between("perf_event_max_sample_rate", lowered, 10, 20000) &
	       expect_between("the sampled loop, thousandths", with * 1000 / without, 450, 1100);
}

/* Samples are at least a tick apart: one sample a tick is always allowed. */
static bool slow_clock(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, 20000000);
	unsigned int throttled = 0, samples = 0;
	struct perf_event_header *h;
	int fd;
	bool ok = true;

	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 100))
		fail_case("perf_event_max_sample_rate");
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin_ns(300000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);

	while ((h = ring_next(&ring))) {
		samples += h->type == PERF_RECORD_SAMPLE;
		throttled += h->type == PERF_RECORD_THROTTLE;
	}
	ok &= expect_between("throttling to 100/s: samples in 300 ms of 50/s", samples, 5, 20);
	ok &= expect_eq("throttling to 100/s: THROTTLE records", throttled, 0);
	close_mapped(fd);
	return ok;
}

static bool rate_sysctls(void)
{
	long percent = sysctl_get("perf_cpu_time_max_percent", -1);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	bool ok = true;

	ok &= expect_errno("perf_cpu_time_max_percent 101",
			   sysctl_set("perf_cpu_time_max_percent", 101), EINVAL);
	ok &= expect_errno("perf_cpu_time_max_percent -1",
			   sysctl_set("perf_cpu_time_max_percent", -1), EINVAL);
	ok &= expect_errno("perf_event_max_sample_rate 0",
			   sysctl_set("perf_event_max_sample_rate", 0), EINVAL);
	sysctl_set("perf_cpu_time_max_percent", 0);
	ok &= expect_errno("perf_event_max_sample_rate while there is no limit",
			   sysctl_set("perf_event_max_sample_rate", 5000), EINVAL);
	ok &= expect_eq("perf_event_max_sample_rate stays",
			sysctl_get("perf_event_max_sample_rate", -1), rate);
	sysctl_set("perf_cpu_time_max_percent", percent);
	ok &= expect_eq("perf_cpu_time_max_percent", sysctl_get("perf_cpu_time_max_percent", -1),
			percent);
	return ok;
}

static const struct test tests[] = {
	{ "a clock with a period of 1 ms", clock_periods },
	{ "a clock with a frequency of 500 Hz", clock_frequency },
	{ "task-clock takes no samples of a sleeping task", clock_asleep },
	{ "IOC_PERIOD sets the period of a running clock", clock_ioc_period },
	{ "a frequency of 100 and of 1000 Hz", frequency_is_kept },
	{ "a sample of a frequency shows what was counted", frequency_periods },
	{ "switches of a task that sleeps are samples at any frequency", sleepers_have_samples },
	{ "a task that waits for its CPU is sampled at its frequency", waiting_is_no_sleep },
	{ "IOC_PERIOD sets the frequency", ioc_frequency },
	{ "perf_event_max_sample_rate throttles and unthrottles", rate_is_limited },
	{ "perf_event_max_sample_rate throttles a counter", counter_rate_is_limited },
	{ "a tick has no more samples than the rate allows", tick_has_its_samples },
	{ "perf_cpu_time_max_percent lowers the rate", percent_lowers_rate },
	{ "THROTTLE has the ids of the file and of the child's event", throttled_child },
	{ "a clock of less than one sample a tick is not throttled", slow_clock },
	{ "a throttled event of a task with short bursts goes on", throttled_sleeper },
	{ "a throttled clock waits, whatever its task does", throttled_clock_switches },
	{ "the sysctls of the rate refuse wrong values", rate_sysctls },
};

TESTS_MAIN_SETUP(tests, sampling_setup)
