// SPDX-License-Identifier: GPL-2.0
/* Instruction based sampling of AMD (ibs_op, ibs_fetch) with a frequency. Run as root. */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#define CNT_CTL		0x80000ull	/* of ibs_op: ops, not cycles */
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

static const struct test tests[] = {
	{ "the periods of a frequency add up to the count of ops", ops_add_up },
	{ "the periods of a frequency add up to the count of cycles", cycles_add_up },
	{ "the periods of a frequency add up to the count of fetches", fetches_add_up },
};

TESTS_MAIN(tests)
