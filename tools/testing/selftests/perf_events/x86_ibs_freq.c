// SPDX-License-Identifier: GPL-2.0
/* Instruction based sampling of AMD (ibs_op, ibs_fetch) with a frequency. Run as root. */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#define CNT_CTL		0x80000ull	/* of ibs_op: ops, not cycles */
#define FETCH_RAND	0x200000000000000ull	/* of ibs_fetch: a random start */
#define LOOPS		20000000ul

/* With a frequency periods differ: a sample has the one that it ends; their sum is the count. */
static bool periods_add_up_of(const char *pmu, uint64_t config)
{
	struct perf_event_attr attr;
	uint64_t count, sum = 0, last = 0;
	struct perf_event_header *h;
	unsigned int samples = 0;
	struct ring ring;
	int fd;

	if (perf_pmu_type(pmu) < 0)
		skip_case("no instruction based sampling");
	attr = perf_attr(perf_pmu_type(pmu), config);
	attr.disabled = 1;
	attr.freq = 1;
	attr.sample_freq = 20000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	run_loop(LOOPS);
	event_disable(fd);
	count = perf_count(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		sum += s.period;
		last = s.period;
		samples++;
	}
	ring_unmap(&ring);
	close(fd);
	ktap_note("%u samples, the last of %lu", samples, (long)last);
	return expect_between("samples", samples, 5, 100000) &
	       expect_between("sum of the periods", sum, count - 4 * last, count);
}

static bool ops_add_up(void)
{
	return periods_add_up_of("ibs_op", CNT_CTL);
}

static bool cycles_add_up(void)
{
	return periods_add_up_of("ibs_op", 0);
}

static bool fetches_add_up(void)
{
	return periods_add_up_of("ibs_fetch", 0);
}

/* Samples while the CPU is busy for @busy_us of each millisecond, for @ms. */
static unsigned int samples_of_phase(struct ring *ring, unsigned int ms, unsigned int busy_us)
{
	uint64_t end = monotonic_ns() + ms * 1000000ull;

	while (monotonic_ns() < end) {
		spin_ns(busy_us * 1000ull);
		if (busy_us < 1000)
			usleep(1000 - busy_us);
	}
	return ring_count(ring, PERF_RECORD_SAMPLE);
}

/* The CPU's rate of ops falls to a tenth, and rises again. */
static bool the_frequency_follows_the_rate(void)
{
	unsigned int busy, idle, again;
	struct perf_event_attr attr;
	struct ring ring;
	int fd;

	if (perf_pmu_type("ibs_op") < 0)
		skip_case("no instruction based sampling");
	attr = perf_attr(perf_pmu_type("ibs_op"), CNT_CTL);
	attr.freq = 1;
	attr.sample_freq = 99;
	attr.sample_type = PERF_SAMPLE_PERIOD;
	fd = perf_open(&attr, -1, 0, -1, 0);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	samples_of_phase(&ring, 500, 1000);
	busy = samples_of_phase(&ring, 1000, 1000);
	idle = samples_of_phase(&ring, 3000, 100);
	again = samples_of_phase(&ring, 1000, 1000);
	ring_unmap(&ring);
	close(fd);
	return expect_between("samples in a second", busy, 80, 120) &
	       expect_between("... in three seconds, mostly idle", idle, 240, 360) &
	       expect_between("... in a second thereafter", again, 80, 130);
}

/*
 * A read in the middle of a period: where a period has become too long, the kernel's tick needs the
 * count for the rate of the event.
 */
static bool count_is_up_to_date_of(const char *pmu, uint64_t config)
{
	struct perf_event_attr attr;
	uint64_t before, after, end;
	int fd;

	if (perf_pmu_type(pmu) < 0)
		skip_case("no instruction based sampling");
	attr = perf_attr(perf_pmu_type(pmu), config);
	attr.sample_period = 0xffff0;
	fd = open_self(&attr, -1);
	before = perf_count(fd);
	run_loop(200000);
	after = perf_count(fd);
	event_disable(fd);
	end = perf_count(fd);
	close(fd);
	return expect_between("counted", after - before, LOOP_INSNS(200000) - 16,
			      LOOP_INSNS(200000) + 30000) &
	       expect_between("... until the end", end, after, after + 30000);
}

static bool ops_are_up_to_date(void)
{
	return count_is_up_to_date_of("ibs_op", CNT_CTL);
}

static bool fetches_are_up_to_date(void)
{
	return count_is_up_to_date_of("ibs_fetch", 0);
}

static bool random_fetches_are_up_to_date(void)
{
	return count_is_up_to_date_of("ibs_fetch", FETCH_RAND);
}

/* A maximum is a period, in whatever field. As a frequency it would be above the highest. */
static bool a_maximum_is_no_frequency(void)
{
	struct perf_event_attr attr;
	int fd;

	if (perf_pmu_type("ibs_op") < 0)
		skip_case("no instruction based sampling");
	attr = perf_attr(perf_pmu_type("ibs_op"), 0xffff);
	attr.freq = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	fd = perf_open(&attr, 0, -1, -1, 0);
	return expect_refused("a maximum beside freq", fd, EINVAL, "sample_freq");
}

static const struct test tests[] = {
	{ "the periods of a frequency add up to the count of ops", ops_add_up },
	{ "the periods of a frequency add up to the count of cycles", cycles_add_up },
	{ "the periods of a frequency add up to the count of fetches", fetches_add_up },
	{ "the count of ops is up to date within a period", ops_are_up_to_date },
	{ "the count of fetches is up to date within a period", fetches_are_up_to_date },
	{ "the count of random fetches is up to date within a period",
	  random_fetches_are_up_to_date },
	{ "the frequency follows the rate of ops", the_frequency_follows_the_rate },
	{ "a maximum is no frequency", a_maximum_is_no_frequency },
};

TESTS_MAIN(tests)
