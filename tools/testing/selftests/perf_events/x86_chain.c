// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains that a driver collects before the sample: those of records of the kernel, which are
 * later than the interrupt's registers. A sample that is dropped leaves the chain's buffer to the
 * next one.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__

#define PERIOD	10000	/* of IBS a multiple of 16 */
#define CALLS	20000

static void make_calls(void)
{
	for (unsigned int i = 0; i < CALLS; i++)
		getppid();
}

/* Samples with precise addresses, or of instruction based sampling, with chains. */
static struct perf_event_attr precise_attr(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "uk");

	attr.precise_ip = 2;
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	return attr;
}

/* How many samples of the kernel have a chain, and how many do not. */
static void count_chains(struct perf_event_attr *attr, unsigned int *full, unsigned int *empty)
{
	struct perf_event_header *h;
	struct ring ring;
	int fd = MUST(perf_open(attr, 0, -1, -1, 0));

	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	make_calls();
	event_disable(fd);
	*full = *empty = 0;
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, attr);
		if (s.ip >> 63)
			++*(s.callchain[0] > 2 ? full : empty);
	}
	ring_unmap(&ring);
	close(fd);
}

/*
 * The first instructions of the kernel's entry have no callers, some 2 % of the samples. Where the
 * buffer is lost all samples are without.
 */
static bool chains_are_there(const char *what, unsigned int full, unsigned int empty)
{
	return expect(full > 20 && empty * 20 <= full, "%s: %u chains, %u without", what, full,
		      empty);
}

/* An event without a buffer drops its samples. */
static bool dropped_samples_leave_the_buffer(void)
{
	struct perf_event_attr attr = precise_attr(), plain;
	unsigned int full, empty;
	bool good;
	int fd;

	MUST(pin_to_cpu(0));
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0 && errno == EOPNOTSUPP)
		skip_case("no precise samples");
	MUST(fd);
	event_enable(fd);
	make_calls();
	close(fd);

	count_chains(&attr, &full, &empty);
	good = chains_are_there("precise samples", full, empty);
	plain = attr;
	plain.precise_ip = 0;
	count_chains(&plain, &full, &empty);
	return good & chains_are_there("samples", full, empty);
}

static const struct test tests[] = {
	{ "a sample that is dropped leaves the chain's buffer", dropped_samples_leave_the_buffer },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("call chains of precise samples", "not an x86")
#endif
