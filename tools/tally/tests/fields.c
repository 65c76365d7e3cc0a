// SPDX-License-Identifier: GPL-2.0
/* Fields that a record does not have, or has in another place than others. */
#include "sample.h"

#include "../../testing/selftests/perf_events/harness.h"
#include "../../testing/selftests/perf_events/expect.h"

/* A sample of IP, TID, TIME, CPU and, if the attr has it, PERIOD. */
static const struct {
	struct perf_event_header header;
	u64 ip;
	u32 pid, tid;
	u64 time;
	u32 cpu, res;
	u64 period;
} made_sample = {
	{ PERF_RECORD_SAMPLE, 0, sizeof(made_sample) }, 0x1000, 7, 8, 123456789, 3, 0, 55,
};

static struct perf_event_attr made_attr(u64 more)
{
	return (struct perf_event_attr){
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | more,
		.sample_id_all = 1,
	};
}

static u64 period_of(const struct perf_event_attr *attr)
{
	struct tally_sample sample;
	struct tally_fault fault;

	if (tally_sample_parse(&sample, attr, &made_sample.header, &fault))
		fail_case("the sample is not parsed");
	return sample.period;
}

static bool periods_are_those_of_events(void)
{
	struct perf_event_attr fixed = made_attr(0), freq = made_attr(0), none = made_attr(0);
	struct perf_event_attr each = made_attr(PERF_SAMPLE_PERIOD);

	fixed.sample_period = 100000;
	each.sample_period = 100000;
	freq.sample_freq = 4000;
	freq.freq = 1;
	return expect_eq("a fixed period", period_of(&fixed), 100000) &
	       expect_eq("a frequency", period_of(&freq), 1) &
	       expect_eq("neither", period_of(&none), 1) &
	       expect_eq("a period in the sample", period_of(&each), 55);
}

static bool times_of_samples_are_found(void)
{
	struct perf_event_attr attr = made_attr(PERF_SAMPLE_PERIOD), none = made_attr(0);

	none.sample_type &= ~(u64)PERF_SAMPLE_TIME;
	return expect_eq("time", tally_record_time(&attr, &made_sample.header), 123456789) &
	       expect_eq("no time", tally_record_time(&none, &made_sample.header), 0);
}

static const struct test tests[] = {
	{ "a sample without a period has that of its event", periods_are_those_of_events },
	{ "the time of a sample is not that of other records", times_of_samples_are_found },
};

TESTS_MAIN(tests)
