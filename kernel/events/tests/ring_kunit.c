// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of a ring's positions: nested writers, room.
 *
 * The nesting tests do not depend on when an interrupt happens. They run a writer inside another
 * one at every step of reserving and publishing, to a depth of four, and check what a reader would
 * see after each step.
 */
#include <kunit/test.h>
#include <linux/slab.h>

struct perf_ring;
static void ring_step(struct perf_ring *ring);
#define PERF_RING_STEP(ring) ring_step(ring)

#include "../event/event.h"

#define NEST_DEPTH	4	/* task, soft interrupt, hard interrupt, NMI */
#define NEST_STEPS	14	/* more than one writer has */

/**
 * struct nest - nested writers
 * @test: the test
 * @ring: the ring that they write to
 * @at: bit s of [d]: another writer runs at step s of the writer of depth d
 * @depth: depth of the innermost active writer, 0 to NEST_DEPTH - 1; -1 if there is none
 * @step: steps that the writer of each depth has executed
 * @start: position of the record of each depth; -1 while there is none
 * @shown: data_head at the last check
 * @woken: data_head at the last wake-up
 * @records: writers so far
 */
struct nest {
	struct kunit	*test;
	struct perf_ring ring;
	u32		at[NEST_DEPTH];
	int		depth;
	int		step[NEST_DEPTH];
	long		start[NEST_DEPTH];
	u64		shown;
	u64		woken;
	unsigned int	records;
};

static struct nest *nest;

/* What a reader on another CPU may see now. */
static void nest_look(struct nest *n)
{
	u64 head = READ_ONCE(n->ring.page->data_head);

	KUNIT_EXPECT_GE(n->test, head, n->shown);
	n->shown = head;
	for (int d = 0; d <= n->depth; d++) {
		if (n->start[d] >= 0)
			KUNIT_EXPECT_LE(n->test, head, (u64)n->start[d]);
	}
}

static void nest_write(struct nest *n)
{
	unsigned long start, len = 8 * (1 + n->records % 3);
	int d = ++n->depth;

	n->records++;
	n->step[d] = 0;
	n->start[d] = -1;
	KUNIT_ASSERT_TRUE(n->test, perf_ring_reserve(&n->ring, len, &start));

	n->start[d] = start;
	ring_step(&n->ring);		/* while the record is being written */
	perf_ring_wake(&n->ring, start);
	nest_look(n);

	n->start[d] = -1;		/* complete: may be published from here on */
	if (perf_ring_publish(&n->ring, start))
		n->woken = READ_ONCE(n->ring.page->data_head);
	n->depth--;
}

static void ring_step(struct perf_ring *ring)
{
	struct nest *n = nest;
	int d, step;

	if (!n || ring != &n->ring)
		return;
	d = n->depth;
	nest_look(n);
	step = n->step[d]++;
	if (d + 1 < NEST_DEPTH && (n->at[d] & BIT(step)))
		nest_write(n);
}

/* One writer, interrupted at the steps in @n->at, in a ring that has been used before. */
static void nest_run(struct nest *n)
{
	struct perf_ring *ring = &n->ring;
	unsigned long before;

	before = local_read(&ring->head);
	n->depth = -1;
	n->records = 0;
	nest_write(n);

	KUNIT_EXPECT_EQ(n->test, n->depth, -1);
	KUNIT_EXPECT_EQ(n->test, ring->published, (unsigned long)local_read(&ring->head));
	KUNIT_EXPECT_EQ(n->test, ring->page->data_head, (u64)local_read(&ring->head));
	/* All writers requested a wake-up; the last one is done when all is published. */
	KUNIT_EXPECT_EQ(n->test, n->woken, ring->page->data_head);
	KUNIT_EXPECT_GT(n->test, (unsigned long)local_read(&ring->head), before);
	ring->page->data_tail = ring->page->data_head;
}

static struct nest *nest_start(struct kunit *test)
{
	struct nest *n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, n);
	n->test = test;
	n->ring.page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, n->ring.page);
	n->ring.size = PAGE_SIZE;
	n->ring.watermark = PAGE_SIZE;
	n->ring.wake_at = PAGE_SIZE;
	nest = n;
	return n;
}

/* An interrupt at each step, in it one at each step, and in that one again. */
static void test_nest_four_deep(struct kunit *test)
{
	struct nest *n = nest_start(test);
	unsigned long records = 0;

	for (int i = 0; i < NEST_STEPS * NEST_STEPS * NEST_STEPS; i++) {
		n->at[0] = BIT(i % NEST_STEPS);
		n->at[1] = BIT(i / NEST_STEPS % NEST_STEPS);
		n->at[2] = BIT(i / NEST_STEPS / NEST_STEPS);
		nest_run(n);
		records += n->records;
	}
	nest = NULL;
	/* A writer has at least ten steps, so most of the interrupts did happen. */
	KUNIT_EXPECT_GT(test, records, 3UL * 10 * 10 * 10);
}

static void nest_pairs(struct nest *n, u32 outer)
{
	for (int a = 0; a < NEST_STEPS; a++) {
		for (int b = 0; b < a; b++) {
			n->at[0] = outer;
			n->at[1] = BIT(a) | BIT(b);
			n->at[2] = 0;
			nest_run(n);
		}
	}
}

/* Two interrupts at each pair of steps, both interrupted twice at each pair. */
static void test_nest_twice(struct kunit *test)
{
	struct nest *n = nest_start(test);

	for (int a = 0; a < NEST_STEPS; a++)
		for (int b = 0; b < a; b++)
			nest_pairs(n, BIT(a) | BIT(b));
	nest = NULL;
}

/* The positions of a 32-bit kernel wrap, and so do these. */
static void test_nest_wraps(struct kunit *test)
{
	struct nest *n = nest_start(test);

	local_set(&n->ring.head, -64L);
	n->ring.published = -64UL;
	n->ring.wake_at = -64UL + PAGE_SIZE;
	nest = NULL;	/* the checks compare positions as if they did not wrap */

	n->ring.page->data_tail = -64UL;
	for (int i = 0; i < 32; i++) {
		unsigned long start;

		KUNIT_ASSERT_TRUE(test, perf_ring_reserve(&n->ring, 8, &start));
		KUNIT_EXPECT_EQ(test, start, -64UL + 8 * i);
		KUNIT_EXPECT_FALSE(test, perf_ring_publish(&n->ring, start));
		KUNIT_EXPECT_EQ(test, n->ring.page->data_head, (u64)(start + 8));
	}
}

static void test_room(struct kunit *test)
{
	struct perf_event_mmap_page *page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct perf_ring ring = { .page = page, .size = 4096 };

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 0, 4088));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 0, 4096));
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 4000, 88));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 4000, 96));
	page->data_tail = 4000;
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 4000, 4088));

	/* The position modulo the size decides. */
	page->data_tail = 4008;
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 4000, 8));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 3 * 4096 + 4000, 8));
	page->data_tail = 4000;
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 3 * 4096 + 4000, 4088));
	page->data_tail = ~0ULL;
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 4096, 4088));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 4096, 4095));
	page->data_tail = (1ULL << 63) + 100;
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 4096, 99));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 4096, 100));

	ring.overwrite = true;
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 123456, 4088));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 0, 8192));

	ring.overwrite = false;
	ring.backward = true;
	page->data_tail = -4000ULL;
	KUNIT_EXPECT_TRUE(test, perf_ring_fits(&ring, 4096, 3992));
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 4096, 4000));

	ring.size = 0;
	KUNIT_EXPECT_FALSE(test, perf_ring_fits(&ring, 0, 8));
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(test_nest_four_deep),
	KUNIT_CASE(test_nest_twice),
	KUNIT_CASE(test_nest_wraps),
	KUNIT_CASE(test_room),
	{ }
};

static struct kunit_suite ring_suite = {
	.name		= "perf_ring",
	.test_cases	= ring_cases,
};

kunit_test_suite(ring_suite);
