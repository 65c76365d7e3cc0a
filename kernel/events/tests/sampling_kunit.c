// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of sampling: the layout of samples, the period for a frequency, throttling, AUX pause.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../output/freq.h"
#include "../output/output.h"

/* --------------------------------------------------------------------- layout */

static struct perf_event *layout_of(struct kunit *test, u64 sample_type)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->attr.sample_type = sample_type;
	perf_event_sample_sizes(event);
	return event;
}

/* Fields by their minimum size; READ, CALLCHAIN, RAW and BRANCH_STACK have none. */
#define VARIABLE	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |	\
			 PERF_SAMPLE_BRANCH_STACK)
#define IDENTITY	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define WORDS		(IDENTITY | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD)

static void layout_sizes(struct kunit *test)
{
	u64 all = PERF_SAMPLE_MAX - 1;

	for (int a = 0; BIT_ULL(a) < PERF_SAMPLE_MAX; a++) {
		for (int b = a; BIT_ULL(b) < PERF_SAMPLE_MAX; b++) {
			u64 type = BIT_ULL(a) | BIT_ULL(b);
			struct perf_event *event;

			/* Two forms of one field; attributes have one of them at most. */
			if ((type & PERF_SAMPLE_WEIGHT_TYPE) == PERF_SAMPLE_WEIGHT_TYPE)
				continue;
			event = layout_of(test, type);
			KUNIT_EXPECT_EQ(test, event->id_header_size,
					8 * hweight64(type & IDENTITY));
			KUNIT_EXPECT_EQ(test, event->header_size,
					8 * hweight64(type & ~IDENTITY & ~VARIABLE));
			KUNIT_EXPECT_EQ(test, event->layout.nr_words, hweight64(type & WORDS));
			KUNIT_EXPECT_EQ(test, event->layout.nr_fields, hweight64(type & ~WORDS));
			kunit_kfree(test, event);
		}
	}
	KUNIT_EXPECT_EQ(test, layout_of(test, all)->layout.nr_words, 9);
	KUNIT_EXPECT_EQ(test, layout_of(test, all)->layout.nr_fields, 15);
}

#define WORD_OF(member)	(offsetof(struct perf_sample_data, member) / sizeof(u64))

/* The order of the record is not the order of the bits. */
static void layout_order(struct kunit *test)
{
	static const u8 order[] = {
		WORD_OF(id), WORD_OF(ip), WORD_OF(tid_entry), WORD_OF(time), WORD_OF(addr),
		WORD_OF(id), WORD_OF(stream_id), WORD_OF(cpu_entry), WORD_OF(period),
	};
	struct perf_event *event = layout_of(test, WORDS);

	KUNIT_ASSERT_EQ(test, event->layout.nr_words, ARRAY_SIZE(order));
	for (int i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_EQ(test, event->layout.word[i], order[i]);
}

/* ------------------------------------------------------------------ frequency */

/**
 * struct source - a source of occurrences, and an event that counts them
 * @rate: occurrences per second
 * @noise: largest random deviation of the duration of a period, percent
 * @freq: overflows per second that are requested
 * @period: the event's current period
 * @now: time since the start, ns
 * @overflows: overflows so far
 * @random: state for @noise
 */
struct source {
	u64			rate;
	unsigned int		noise;
	u64			freq;
	u64			period;
	u64			now;
	unsigned int		overflows;
	struct rnd_state	random;
};

static void freq_overflow(struct source *s)
{
	u64 span = max_t(u64, mul_u64_u64_div_u64(s->period, NSEC_PER_SEC, s->rate), 200);

	if (s->noise) {
		u32 percent = 100 - s->noise + prandom_u32_state(&s->random) % (2 * s->noise + 1);

		span = div_u64(span * percent, 100);
	}
	s->now += span;
	s->overflows++;
	s->period = perf_freq_next(s->period, s->freq, s->period, span);
}

static u64 freq_ideal(const struct source *s)
{
	return max_t(u64, div64_u64(s->rate, s->freq), 1);
}

/* From a period of 1 the frequency is reached within a few overflows. */
static void freq_start(struct kunit *test)
{
	static const u64 rates[] = { 5000, 1000000, 100000000, 5000000000ULL };
	static const u64 freqs[] = { 1, 99, 1000, 4000, 50000 };

	for (int i = 0; i < ARRAY_SIZE(rates) * ARRAY_SIZE(freqs); i++) {
		struct source s = {
			.rate = rates[i / ARRAY_SIZE(freqs)],
			.freq = freqs[i % ARRAY_SIZE(freqs)],
			.period = 1,
		};

		while (s.overflows < 64 && s.period < div64_u64(freq_ideal(&s) * 3, 4))
			freq_overflow(&s);
		KUNIT_EXPECT_LE_MSG(test, s.overflows, 20, "rate %llu freq %llu", s.rate, s.freq);
		KUNIT_EXPECT_LE_MSG(test, s.period, div64_u64(freq_ideal(&s) * 5, 4) + 1,
				    "rate %llu freq %llu", s.rate, s.freq);
		/* Only the last few periods take nearly the requested time. */
		KUNIT_EXPECT_LE_MSG(test, s.now, div64_u64(5ULL * NSEC_PER_SEC, s.freq) + 20000,
				    "rate %llu freq %llu", s.rate, s.freq);
	}
}

/* The frequency and the period stay constant for ten seconds. */
static void freq_steady(struct kunit *test)
{
	struct source s = { .rate = 1000000000, .freq = 1000, .period = 1 };
	u64 least = U64_MAX, most = 0;

	while (s.now < NSEC_PER_SEC / 10)
		freq_overflow(&s);
	s.now = 0;
	s.overflows = 0;
	while (s.now < 10ULL * NSEC_PER_SEC) {
		freq_overflow(&s);
		least = min(least, s.period);
		most = max(most, s.period);
	}
	KUNIT_EXPECT_GE(test, s.overflows, 9990);
	KUNIT_EXPECT_LE(test, s.overflows, 10010);
	KUNIT_EXPECT_LE(test, most - least, div64_u64(most, 1000));
}

/* Noise in the measured time is damped, and does not shift the frequency. */
static void freq_noise(struct kunit *test)
{
	struct source s = { .rate = 1000000000, .freq = 1000, .period = 1000000, .noise = 30 };
	u64 least = U64_MAX, most = 0;

	prandom_seed_state(&s.random, 20250101);
	for (int i = 0; i < 100; i++)
		freq_overflow(&s);
	s.now = 0;
	s.overflows = 0;
	while (s.now < 20ULL * NSEC_PER_SEC) {
		freq_overflow(&s);
		least = min(least, s.period);
		most = max(most, s.period);
	}
	KUNIT_EXPECT_GE(test, s.overflows, 20000 * 90 / 100);
	KUNIT_EXPECT_LE(test, s.overflows, 20000 * 110 / 100);
	KUNIT_EXPECT_GE(test, least, 800000);
	KUNIT_EXPECT_LE(test, most, 1350000);
}

/* The rate changes by a factor of 1000: the period follows within a few overflows. */
static void freq_jump(struct kunit *test)
{
	struct source s = { .rate = 1000000, .freq = 1000, .period = 1000 };

	s.rate = 1000000000;
	for (int i = 0; i < 8; i++)
		freq_overflow(&s);
	KUNIT_EXPECT_GE(test, s.period, 700000);
	KUNIT_EXPECT_LE(test, s.period, 1300000);

	s.rate = 1000000;
	for (int i = 0; i < 8; i++)
		freq_overflow(&s);
	KUNIT_EXPECT_GE(test, s.period, 700);
	KUNIT_EXPECT_LE(test, s.period, 1300);
}

/* Small periods: rounding does not keep the period from changing. */
static void freq_small(struct kunit *test)
{
	for (u64 want = 1; want < 20; want++) {
		struct source s = { .rate = 1000 * want, .freq = 1000, .period = 1 };

		for (int i = 0; i < 40; i++)
			freq_overflow(&s);
		KUNIT_EXPECT_EQ(test, s.period, want);
	}
}

/* The period stays within 1 and PERF_FREQ_PERIOD_MAX for any measurement. */
static void freq_bounds(struct kunit *test)
{
	static const u64 extreme[] = { 0, 1, 100, U32_MAX, 1ULL << 40, 1ULL << 62, U64_MAX };
	const int n = ARRAY_SIZE(extreme);

	for (int i = 0; i < n * n * n; i++) {
		u64 count = extreme[i % n], span = extreme[i / n % n];
		u64 freq = min_t(u64, extreme[i / n / n], INT_MAX);
		u64 period = 1;

		for (int j = 0; j < 30; j++) {
			period = perf_freq_next(period, freq, count, span);
			KUNIT_ASSERT_GE(test, period, 1);
			KUNIT_ASSERT_LE(test, period, PERF_FREQ_PERIOD_MAX);
		}
	}
}

/* 1000 Hz; 20 us of running between sleeps of 10 ms. */
static void freq_sleeper(struct kunit *test)
{
	u64 run = 20 * NSEC_PER_USEC, gap = 10 * NSEC_PER_MSEC, period;

	/* An event or two in a moment: each has its sample, at any period before. */
	KUNIT_EXPECT_EQ(test, perf_freq_after_sleep(1, 1000, 1, run, gap), 1ULL);
	KUNIT_EXPECT_EQ(test, perf_freq_after_sleep(1, 1000, 2, run, 2 * NSEC_PER_MSEC), 1ULL);
	period = 100;
	for (int i = 0; i < 10; i++)
		period = perf_freq_after_sleep(period, 1000, min(period, 2), run, gap);
	KUNIT_EXPECT_EQ(test, period, 1ULL);
	/* A counter counts much in it: the period is that of the moments, and not shorter. */
	KUNIT_EXPECT_EQ(test, perf_freq_after_sleep(5000, 1000, 20000, run, gap), 5000ULL);
	KUNIT_EXPECT_LT(test, perf_freq_after_sleep(50000, 1000, 100, run, gap), 50000ULL);
	/* ... unless that is too short for the whole time, too. */
	KUNIT_EXPECT_GT(test, perf_freq_after_sleep(5000, 1000, 100000, run, gap / 200), 5000ULL);
	/* Without a sleep it is another measurement as any. */
	KUNIT_EXPECT_EQ(test, perf_freq_after_sleep(5000, 1000, 100000, run, 0),
			perf_freq_next(5000, 1000, 100000, run));
}

/* Samples in a second of bursts of @run ns, @sleep ns apart, with three events in a nanosecond. */
static u64 freq_burst_samples(u64 freq, u64 run, u64 sleep)
{
	u64 period = 1, left = 1, samples = 0, ran = 0, slept = 0;

	for (u64 time = 0; time < NSEC_PER_SEC; time += run + sleep) {
		u64 events = 3 * run;

		for (; left <= events; left = period) {
			ran += left / 3;
			events -= left;
			period = perf_freq_after_sleep(period, freq, period, ran,
						       slept > ran ? slept + ran : 0);
			samples++;
			ran = 0;
			slept = 0;
		}
		left -= events;
		ran += events / 3;
		slept += sleep;
	}
	return samples;
}

/* A task that sleeps longer than it runs, each time: not more samples than in its whole time. */
static void freq_bursts(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, freq_burst_samples(1000, 10000, 20000), 2000ULL);
	KUNIT_EXPECT_LE(test, freq_burst_samples(4000, 3000, 5000), 8000ULL);
	KUNIT_EXPECT_LE(test, freq_burst_samples(99, 10000, 100000), 200ULL);
	KUNIT_EXPECT_GE(test, freq_burst_samples(1000, 10000, 20000), 500ULL);
}

/*
 * An overflow after 1000 events in 1 ms of the event, @ran ms of the context's clock and @still ms
 * for which that stood still, ended by a sleep or not. Returns whether the period became longer.
 */
static bool freq_grows(struct perf_event *event, u64 ran, u64 still, bool slept)
{
	struct perf_event_context *ctx = event->ctx;

	event->hw.sample_period = 1000;
	ctx->stamp += ran * NSEC_PER_MSEC;
	event->time_stopped += (ran - 1) * NSEC_PER_MSEC;
	ctx->offset -= still * NSEC_PER_MSEC;
	if (slept)
		schedule_timeout_uninterruptible(1);
	local64_add(1000, &event->count);
	perf_freq_overflow(event);
	return event->hw.sample_period > 1000;
}

/* What is taken for a sleep: neither turns of other events nor other tasks on the CPU. */
static void freq_asleep(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->ctx = kunit_kzalloc(test, sizeof(*event->ctx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, event->ctx);
	event->attr.sample_freq = 400;
	event->ctx->frozen = true;
	event->group_leader = event;
	event->state = PERF_EVENT_STATE_ACTIVE;
	event->hw.target = current;
	freq_grows(event, 1, 0, false);
	KUNIT_EXPECT_TRUE(test, freq_grows(event, 1, 0, true));
	KUNIT_EXPECT_FALSE(test, freq_grows(event, 1, 5, true));
	/* It has run for longer than it slept, and the event for a part of that. */
	KUNIT_EXPECT_TRUE(test, freq_grows(event, 3, 2, true));
	KUNIT_EXPECT_FALSE(test, freq_grows(event, 3, 4, true));
	/* It waited for its CPU. */
	KUNIT_EXPECT_TRUE(test, freq_grows(event, 1, 5, false));
	event->hw.target = NULL;
	KUNIT_EXPECT_TRUE(test, freq_grows(event, 4, 0, true));
}

/* ----------------------------------------------------------------- throttling */

/* The last of perf_samples_per_tick overflows in a tick throttles. */
static void throttle_after(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);
	unsigned int before = perf_samples_per_tick;

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->ctx = kunit_kzalloc(test, sizeof(*event->ctx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, event->ctx);
	event->clock = local_clock;
	for (unsigned int allowed = 1; allowed <= 3; allowed++) {
		unsigned int passed;
		unsigned long tick;

		do {
			guard(irqsave)();
			passed = 0;
			event->hw.interrupts = 0;
			tick = jiffies;
			WRITE_ONCE(perf_samples_per_tick, allowed);
			while (passed < 10 && !perf_overflow_account(event, true))
				passed++;
			WRITE_ONCE(perf_samples_per_tick, before);
		} while (time_after(jiffies, tick));
		KUNIT_EXPECT_EQ(test, passed + 1, allowed);
	}
}

/* ------------------------------------------------------------------ AUX pause */

/**
 * struct pausing - an AUX event and one that pauses or resumes it
 * @aux: the AUX event
 * @event: the event that pauses or resumes @aux
 * @stops: times that @aux was stopped
 * @starts: times that @aux was started
 * @nested: event that overflows during each stop and start; or NULL
 */
struct pausing {
	struct perf_event	*aux, *event;
	unsigned int		stops, starts;
	struct perf_event	*nested;
};

static struct pausing *pausing;

static void overflow_once(struct perf_event *event)
{
	struct perf_sample_data data;
	struct pt_regs regs = {};

	perf_sample_data_init(&data, 0, 1);
	perf_event_overflow(event, &data, &regs);
}

static void pausing_stop(struct perf_event *event, int flags)
{
	pausing->stops++;
	if (pausing->nested)
		overflow_once(pausing->nested);
}

static void pausing_start(struct perf_event *event, int flags)
{
	pausing->starts++;
	if (pausing->nested)
		overflow_once(pausing->nested);
}

static void overflow_ignored(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
}

static struct perf_event *event_of(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->attr.sample_period = 1;
	event->hw.sample_period = 1;
	event->overflow_handler = overflow_ignored;
	return event;
}

static void pausing_init(struct kunit *test, struct pausing *p)
{
	static struct pmu pmu = { .start = pausing_start, .stop = pausing_stop };

	*p = (struct pausing){ .aux = event_of(test), .event = event_of(test) };
	p->aux->pmu = &pmu;
	p->aux->state = PERF_EVENT_STATE_ACTIVE;
	p->event->aux_event = p->aux;
	p->event->attr.aux_pause = 1;
	pausing = p;
}

/* An event may overflow before the AUX event of its context is added. */
static void pause_before_added(struct kunit *test)
{
	struct pausing p;

	pausing_init(test, &p);
	scoped_guard(irqsave) {
		p.aux->oncpu = -1;
		overflow_once(p.event);
		KUNIT_EXPECT_EQ(test, p.stops, 0);
		p.aux->oncpu = smp_processor_id();
		overflow_once(p.event);
		KUNIT_EXPECT_EQ(test, p.stops, 1);
		KUNIT_EXPECT_EQ(test, p.aux->hw.aux_paused, 1);
	}
}

/* An NMI while the driver is pausing. */
static void pause_nested(struct kunit *test)
{
	struct pausing p;

	pausing_init(test, &p);
	p.nested = event_of(test);
	p.nested->aux_event = p.aux;
	p.nested->attr.aux_resume = 1;
	scoped_guard(irqsave) {
		p.aux->oncpu = smp_processor_id();
		overflow_once(p.event);
		KUNIT_EXPECT_EQ(test, p.stops, 1);
		KUNIT_EXPECT_EQ(test, p.starts, 0);
		KUNIT_EXPECT_EQ(test, p.aux->hw.aux_paused, 1);
		overflow_once(p.nested);
		KUNIT_EXPECT_EQ(test, p.starts, 1);
		KUNIT_EXPECT_EQ(test, p.aux->hw.aux_paused, 0);
	}
}

static struct kunit_case sampling_cases[] = {
	KUNIT_CASE(layout_sizes),
	KUNIT_CASE(layout_order),
	KUNIT_CASE(freq_start),
	KUNIT_CASE(freq_steady),
	KUNIT_CASE(freq_noise),
	KUNIT_CASE(freq_jump),
	KUNIT_CASE(freq_small),
	KUNIT_CASE(freq_bounds),
	KUNIT_CASE(freq_sleeper),
	KUNIT_CASE(freq_bursts),
	KUNIT_CASE(freq_asleep),
	KUNIT_CASE(throttle_after),
	KUNIT_CASE(pause_before_added),
	KUNIT_CASE(pause_nested),
	{ }
};

static struct kunit_suite sampling_suite = {
	.name		= "perf_sampling",
	.test_cases	= sampling_cases,
};

kunit_test_suite(sampling_suite);
