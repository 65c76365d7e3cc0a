// SPDX-License-Identifier: GPL-2.0
/*
 * Many precise samples to one interrupt: what a program changes with ioctl(2) and fcntl(2) holds
 * for the next sample, not for the next interrupt.
 */
#include "harness.h"

#ifdef __x86_64__
#include <signal.h>

#include "interrupts.h"
#include "x86_batch.h"

static struct ring ring;

static int open_batch(struct perf_event_attr *attr)
{
	int fd = open_self(attr, -1);

	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	return fd;
}

static void close_batch(int fd)
{
	ring_unmap(&ring);
	close(fd);
}

/* Runs until the event is throttled. */
static bool run_to_throttle(void)
{
	struct perf_event_header *h;
	bool throttled = false;

	for (unsigned int i = 0; i < 50 && !throttled; i++) {
		precise_loop(ROUNDS, XMM_VALUE);
		while ((h = ring_next(&ring))) {
			if (h->type == PERF_RECORD_THROTTLE)
				throttled = true;
			if (h->type == PERF_RECORD_UNTHROTTLE)
				throttled = false;
		}
	}
	return throttled;
}

/* A throttled event is not loaded again when its period changes. */
static bool throttled_event_gets_period(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int old = 0, new = 0;
	uint64_t period = 211, count;
	bool throttled;
	struct sample s;
	int fd;

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	sysctl_set("perf_cpu_time_max_percent", 25);
	sysctl_set("perf_event_max_sample_rate", 1);
	fd = open_batch(&attr);
	event_enable(fd);
	throttled = run_to_throttle();
	allow_any_rate();
	count = perf_count(fd);
	MUST(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
	/* A tick can have unthrottled it before. */
	ring_count(&ring, PERF_RECORD_SAMPLE);
	precise_loop(ROUNDS / 4, XMM_VALUE);
	event_disable(fd);
	count = perf_count(fd) - count;
	for (struct perf_event_header *h; (h = ring_find(&ring, PERF_RECORD_SAMPLE));) {
		sample_parse(&s, h, &attr);
		old += s.period == BATCH_PERIOD;
		new += s.period == period;
	}
	close_batch(fd);
	return expect(throttled, "throttled") &
	       expect(count > ROUNDS, "%lu instructions since", (long)count) &
	       expect_eq("samples of the old period", old, 0) &
	       expect_between("samples of the new period", new, count / period - 2,
			      count / period);
}

/* The event stops at the last of the samples, and afterwards has many to an interrupt again. */
static bool refresh_ends_in_time(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int samples, interrupts;
	uint64_t count;
	bool good;
	int fd;

	fd = open_batch(&attr);
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3));
	precise_loop(ROUNDS, XMM_VALUE);
	count = perf_count(fd);
	good = expect_eq("samples", ring_count(&ring, PERF_RECORD_SAMPLE), 3) &
	       expect_between("count", count, 3 * BATCH_PERIOD, 4 * BATCH_PERIOD);
	interrupts = pmis();
	event_enable(fd);
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
	interrupts = pmis() - interrupts;
	count = perf_count(fd) - count;
	samples = ring_count(&ring, PERF_RECORD_SAMPLE);
	close_batch(fd);
	return good & expect_between("samples without a limit", samples, count / BATCH_PERIOD - 2,
				     count / BATCH_PERIOD + 1) &
	       expect(interrupts < samples / 10, "%u interrupts for %u samples", interrupts,
		      samples);
}

static volatile unsigned int signals;

static void on_sample(int sig)
{
	(void)sig;
	signals++;
}

/* With O_ASYNC each sample has its signal. */
static bool samples_have_signals(void)
{
	struct sigaction action = { .sa_handler = on_sample };
	struct perf_event_attr attr = batch_attr();
	unsigned int samples;
	uint64_t count;
	int fd;

	attr.sample_period = 5003;
	fd = open_batch(&attr);
	signals = 0;
	MUST(sigaction(SIGIO, &action, NULL));
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC));
	event_enable(fd);
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
	count = perf_count(fd);
	samples = ring_count(&ring, PERF_RECORD_SAMPLE);
	close_batch(fd);
	return expect_between("samples", samples, count / 5003 - 1, count / 5003) &
	       expect_between("signals", signals, samples - 1, samples);
}

static const struct test tests[] = {
	{ "a throttled event has the period that it is given", throttled_event_gets_period },
	{ "IOC_REFRESH ends at the last sample, not at an interrupt", refresh_ends_in_time },
	{ "with O_ASYNC each sample has its signal", samples_have_signals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("precise samples of x86", "not an x86")
#endif
