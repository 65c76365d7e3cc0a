// SPDX-License-Identifier: GPL-2.0
/* Tests of what a read() of an event returns. */
#include <kunit/test.h>
#include <linux/uaccess.h>

#include "fake_pmu.h"
#include "helpers.h"

static void test_read_sizes(struct kunit *test)
{
	u64 all = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
		  PERF_FORMAT_ID | PERF_FORMAT_LOST;

	KUNIT_EXPECT_EQ(test, perf_event_read_size(0, 0), 8);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(0, 5), 8);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(all, 5), 40);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(PERF_FORMAT_GROUP, 0), 16);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(PERF_FORMAT_GROUP, 3), 40);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(PERF_FORMAT_GROUP | all, 1), 24 + 2 * 24);
	/* The limit is 16 KiB, inclusive. */
	KUNIT_EXPECT_EQ(test, perf_event_read_size(PERF_FORMAT_GROUP, 2046), 16384);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(PERF_FORMAT_GROUP, 2047), -E2BIG);
	KUNIT_EXPECT_EQ(test, perf_event_read_size(PERF_FORMAT_GROUP, INT_MAX - 1), -E2BIG);
}

static unsigned int words_of(u64 format, unsigned int nr)
{
	return !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
	       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING) + !!(format & PERF_FORMAT_GROUP) +
	       nr * (1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST));
}

/* A group of three in one format; counts are 100, 101, 102, losses 200, 201, 202. */
static void check_format(struct kunit *test, char __user *user, u64 format)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	unsigned int nr = format & PERF_FORMAT_GROUP ? 3 : 1, at = 0;
	size_t size = words_of(format, nr) * sizeof(u64);
	u64 words[16];

	attr.read_format = format;
	for (int i = 0; i < 3; i++) {
		struct perf_event *event = fake_pmu_open(test, &attr, i ? f->event[0] : NULL);

		local64_set(&event->count, 100 + i);
		atomic64_set(&event->lost_samples, 200 + i);
	}
	KUNIT_EXPECT_EQ(test, perf_event_read_file(f->event[0], user, size - 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, perf_event_read_file(f->event[0], user, size), size);
	KUNIT_ASSERT_EQ(test, copy_from_user(words, user, size), 0);

	if (format & PERF_FORMAT_GROUP)
		KUNIT_EXPECT_EQ(test, words[at++], 3);
	else
		KUNIT_EXPECT_EQ(test, words[at++], 100);
	at += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED);
	at += !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	for (int i = 0; i < nr; i++) {
		if (format & PERF_FORMAT_GROUP)
			KUNIT_EXPECT_EQ(test, words[at++], 100 + i);
		if (format & PERF_FORMAT_ID)
			KUNIT_EXPECT_EQ(test, words[at++], f->event[i]->id);
		if (format & PERF_FORMAT_LOST)
			KUNIT_EXPECT_EQ(test, words[at++], 200 + i);
	}
	KUNIT_EXPECT_EQ(test, at * sizeof(u64), size);
	fake_pmu_close_all(f);
}

static void test_read_layout(struct kunit *test)
{
	char __user *user = user_page(test);

	for (u64 format = 0; format < PERF_FORMAT_MAX; format++)
		check_format(test, user, format);
}

static void test_read_in_error(struct kunit *test)
{
	char __user *user = user_page(test);
	struct perf_event_attr attr = fake_pmu_attr(test->priv, 0x1);
	struct perf_event *first, *second;

	attr.pinned = 1;
	first = fake_pmu_open(test, &attr, NULL);
	second = fake_pmu_open(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, perf_event_read_file(first, user, 8), 8);
	KUNIT_EXPECT_EQ(test, perf_event_read_file(second, user, 8), 0);
}

static struct kunit_case read_cases[] = {
	KUNIT_CASE(test_read_sizes),
	KUNIT_CASE(test_read_layout),
	KUNIT_CASE(test_read_in_error),
	{ }
};

static struct kunit_suite read_suite = {
	.name		= "perf_read",
	.init		= fake_pmu_begin,
	.exit		= fake_pmu_end,
	.test_cases	= read_cases,
};

kunit_test_suite(read_suite);
