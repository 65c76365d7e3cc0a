// SPDX-License-Identifier: GPL-2.0
/*
 * The branch trace store: which part of an AUX area is filled next, and when the interrupt is due;
 * its records, and what it excludes. No memory of the areas is accessed.
 */
#include <kunit/test.h>
#include <linux/mm.h>

#include "../exclusive.h"
#include "../intel/bts.h"

#define AREA_PAGES	4UL
#define AREA_SIZE	(AREA_PAGES * PAGE_SIZE)
#define AREA_RECORDS	(AREA_SIZE / 24)
/* The first record that the end of a page cuts, and the one after it. */
#define CUT		rounddown(PAGE_SIZE, 24)
#define UNCUT		(CUT + 24)

/* An area of @nr runs of equal size, which do not adjoin. */
static struct intel_bts_area *bts_new_area(struct kunit *test, unsigned int nr)
{
	struct intel_bts_area *area = kunit_kzalloc(test, struct_size(area, run, nr), GFP_KERNEL);
	unsigned long size = AREA_SIZE / nr;

	KUNIT_ASSERT_NOT_NULL(test, area);
	area->size = AREA_SIZE;
	area->nr = nr;
	for (unsigned int i = 0; i < nr; i++)
		area->run[i] = (struct intel_bts_run){
			.memory = (void *)(0x100000UL * (i + 1)), .at = i * size, .size = size,
		};
	return area;
}

static void bts_expect_part(struct kunit *test, const struct intel_bts_part *part,
			    unsigned long pad, unsigned long memory, unsigned long nr,
			    unsigned long due, bool unread)
{
	KUNIT_EXPECT_EQ(test, part->pad, pad);
	KUNIT_EXPECT_EQ(test, (unsigned long)part->memory, memory);
	KUNIT_EXPECT_EQ(test, part->nr, nr);
	KUNIT_EXPECT_EQ(test, part->due, due);
	KUNIT_EXPECT_EQ(test, part->unread, unread);
}

static void interrupt_is_at_the_wakeup(struct kunit *test)
{
	struct intel_bts_area *area = bts_new_area(test, 1);
	struct intel_bts_part part;

	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, 0, AREA_SIZE - 1, 2400, false, &part));
	bts_expect_part(test, &part, 0, 0x100000, AREA_RECORDS, 100, false);
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, 0, AREA_SIZE - 1, 2401, false, &part));
	bts_expect_part(test, &part, 0, 0x100000, AREA_RECORDS, 101, false);
	/* The second round; its first record is not at the start. */
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, AREA_SIZE + 240, AREA_SIZE - 1,
						    AREA_SIZE + 2400, false, &part));
	bts_expect_part(test, &part, 0, 0x1000f0, AREA_RECORDS - 10, 90, false);
	/* The wake-up is over, or beyond the area. */
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, 240, AREA_SIZE - 1, 240, false, &part));
	bts_expect_part(test, &part, 0, 0x1000f0, AREA_RECORDS - 10, 1, false);
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, 240, AREA_SIZE - 1, 9 * AREA_SIZE, false,
						    &part));
	bts_expect_part(test, &part, 0, 0x1000f0, AREA_RECORDS - 10, AREA_RECORDS - 10, false);
}

static void unread_records_stay(struct kunit *test)
{
	struct intel_bts_area *area = bts_new_area(test, 1);
	struct intel_bts_part part;

	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, 0, 100, AREA_SIZE, false, &part));
	bts_expect_part(test, &part, 0, 0x100000, 4, 4, true);
	KUNIT_EXPECT_TRUE(test, intel_bts_next_part(area, 0, 24, AREA_SIZE, false, &part));
	KUNIT_EXPECT_FALSE(test, intel_bts_next_part(area, 0, 23, AREA_SIZE, false, &part));
}

static void no_record_crosses_the_end(struct kunit *test)
{
	unsigned long end = rounddown(AREA_SIZE, 24), pad = AREA_SIZE - end;
	struct intel_bts_area *area = bts_new_area(test, 1);
	struct intel_bts_part part;

	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, end, pad + 72, 0, false, &part));
	bts_expect_part(test, &part, pad, 0x100000, 3, 1, true);
	KUNIT_EXPECT_FALSE(test, intel_bts_next_part(area, end, pad, 0, false, &part));
	KUNIT_EXPECT_FALSE(test, intel_bts_next_part(area, end, pad + 23, 0, false, &part));
}

static void no_record_crosses_runs(struct kunit *test)
{
	struct intel_bts_area *area = bts_new_area(test, AREA_PAGES);
	struct intel_bts_part part;

	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, 0, AREA_SIZE - 1, AREA_SIZE, false,
						    &part));
	bts_expect_part(test, &part, 0, 0x100000, CUT / 24, CUT / 24, false);
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, CUT, AREA_SIZE - 1, AREA_SIZE, false,
						    &part));
	bts_expect_part(test, &part, 24, 0x200000 + UNCUT - PAGE_SIZE,
			(2 * PAGE_SIZE - UNCUT) / 24, (2 * PAGE_SIZE - UNCUT) / 24, false);
}

/* The kernel's branches between interrupt and handler have room, however small a run is. */
static void kernel_has_a_margin(struct kunit *test)
{
	struct intel_bts_area *whole = bts_new_area(test, 1);
	struct intel_bts_area *pages = bts_new_area(test, AREA_PAGES);
	unsigned long last = AREA_RECORDS - 256, half = PAGE_SIZE / 24 / 2;
	struct intel_bts_part part;

	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(whole, 0, AREA_SIZE - 1, AREA_SIZE, true,
						    &part));
	bts_expect_part(test, &part, 0, 0x100000, AREA_RECORDS, last, false);
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(whole, (last - 1) * 24, AREA_SIZE - 1,
						    2 * AREA_SIZE, true, &part));
	bts_expect_part(test, &part, 0, 0x100000 + (last - 1) * 24, 257, 1, false);
	/* Less than the margin is left out. */
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(whole, last * 24, 2 * AREA_SIZE, 2 * AREA_SIZE,
						    true, &part));
	bts_expect_part(test, &part, AREA_SIZE - last * 24, 0x100000, AREA_RECORDS, last, false);
	KUNIT_ASSERT_TRUE(test, intel_bts_next_part(pages, 0, AREA_SIZE - 1, AREA_SIZE, true,
						    &part));
	bts_expect_part(test, &part, 0, 0x100000, CUT / 24, CUT / 24 - half, false);
}

/* All positions of several rounds: parts are aligned, within one run and in the room. */
static void parts_are_within_their_run(struct kunit *test)
{
	struct intel_bts_area *area = bts_new_area(test, 2);
	unsigned long head = 0, done = 0;
	struct intel_bts_part part;

	while (done < 20 * AREA_SIZE) {
		bool kernel = done & 8;
		unsigned long at, in_run;

		KUNIT_ASSERT_TRUE(test, intel_bts_next_part(area, head, AREA_SIZE - 1, head + 999,
							    kernel, &part));
		at = (head + part.pad) & (AREA_SIZE - 1);
		in_run = at % (AREA_SIZE / 2);
		KUNIT_ASSERT_EQ(test, at % 24, 0);
		KUNIT_ASSERT_LE(test, in_run + part.nr * 24, AREA_SIZE / 2);
		KUNIT_ASSERT_EQ(test, (unsigned long)part.memory,
				0x100000 * (at / (AREA_SIZE / 2) + 1) + in_run);
		KUNIT_ASSERT_GE(test, part.due, 1);
		KUNIT_ASSERT_LE(test, part.due, part.nr);
		done += part.pad + part.due * 24;
		head += part.pad + part.due * 24;
	}
}

static void kernel_addresses_are_told_apart(struct kunit *test)
{
	unsigned long kernel = (unsigned long)kernel_addresses_are_told_apart;
	struct intel_bts_record r = { .from = 0x401000, .to = 0x401010 };

	KUNIT_EXPECT_TRUE(test, intel_bts_record_is_user(&r));
	r.to = kernel;
	KUNIT_EXPECT_FALSE(test, intel_bts_record_is_user(&r));
	r = (struct intel_bts_record){ .from = kernel, .to = 0x401000 };
	KUNIT_EXPECT_FALSE(test, intel_bts_record_is_user(&r));
	r = (struct intel_bts_record){ .from = kernel, .to = kernel };
	KUNIT_EXPECT_FALSE(test, intel_bts_record_is_user(&r));
}

static void record_has_three_words(struct kunit *test)
{
	static const u64 words[] = { 0x401000, 0x401010, 0x10 };
	const struct intel_bts_record *r = (const void *)words;

	KUNIT_EXPECT_EQ(test, sizeof(*r), sizeof(words));
	KUNIT_EXPECT_EQ(test, r->from, words[0]);
	KUNIT_EXPECT_EQ(test, r->to, words[1]);
	KUNIT_EXPECT_EQ(test, r->flags, words[2]);
}

static void samples_and_branch_records_go_together(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_samples), 0);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), -EBUSY);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_pt), -EBUSY);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_lbr), 0);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_samples), 0);
	x86_del_exclusive(x86_lbr_exclusive_samples);
	x86_del_exclusive(x86_lbr_exclusive_samples);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), -EBUSY);
	x86_del_exclusive(x86_lbr_exclusive_lbr);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), 0);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_samples), -EBUSY);
	x86_del_exclusive(x86_lbr_exclusive_bts);
}

static struct kunit_case bts_cases[] = {
	KUNIT_CASE(interrupt_is_at_the_wakeup),
	KUNIT_CASE(unread_records_stay),
	KUNIT_CASE(no_record_crosses_the_end),
	KUNIT_CASE(no_record_crosses_runs),
	KUNIT_CASE(kernel_has_a_margin),
	KUNIT_CASE(parts_are_within_their_run),
	KUNIT_CASE(kernel_addresses_are_told_apart),
	KUNIT_CASE(record_has_three_words),
	KUNIT_CASE(samples_and_branch_records_go_together),
	{ }
};

static struct kunit_suite bts_suite = {
	.name		= "x86_bts",
	.test_cases	= bts_cases,
};

kunit_test_suite(bts_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: the branch trace store");
MODULE_LICENSE("GPL");
