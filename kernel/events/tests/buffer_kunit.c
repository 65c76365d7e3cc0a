// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of buffers: records that cross pages, lost records, overwriting in both directions,
 * wake-ups.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../event/event.h"

#define TEST_ID		0x1234
#define TEST_RECORD	4711	/* an unused record type */

/* A test record: header, number, payload that is computed from the number. */
struct test_record {
	struct perf_event_header	header;
	u64				number;
	u64				filling[];
};

/**
 * struct rig - an event, its buffer and a reader
 * @test: the test
 * @event: the event
 * @rb: the event's buffer
 * @tail: position of the reader, bytes
 * @written: records begun so far, lost ones included; the number of the next record
 * @next: number of the record after the one read last
 * @seen: records read
 * @lost: sum of the LOST records read
 */
struct rig {
	struct kunit		*test;
	struct perf_event	*event;
	struct perf_buffer	*rb;
	u64			tail;
	u64			written;
	u64			next;
	u64			seen;
	u64			lost;
};

static void rig_stop(void *data)
{
	struct rig *rig = data;

	scoped_guard(spinlock, &perf_buffers_lock)
		perf_buffer_detach(rig->event);
	perf_buffer_put(rig->rb);
	synchronize_rcu();
}

static struct rig *rig_start(struct kunit *test, unsigned long pages, bool writable,
			     const struct perf_event_attr *attr)
{
	struct rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rig);
	KUNIT_ASSERT_NOT_NULL(test, event);
	event->cpu = -1;
	event->id = TEST_ID;
	event->clock = local_clock;
	if (attr)
		event->attr = *attr;
	mutex_init(&event->mmap_mutex);
	init_waitqueue_head(&event->waitq);
	INIT_LIST_HEAD(&event->rb_entry);
	perf_event_pending_init(event);

	rig->test = test;
	rig->event = event;
	rig->rb = perf_buffer_alloc(event, pages, writable);
	KUNIT_ASSERT_NOT_NULL(test, rig->rb);
	perf_event_init_userpage(event, rig->rb);
	scoped_guard(mutex, &event->mmap_mutex)
		perf_buffer_attach(rig->rb, event);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, rig_stop, rig), 0);
	return rig;
}

static u64 rig_filling(u64 number, unsigned int i)
{
	return number * 0x9e3779b97f4a7c15ULL + i;
}

static int rig_begin(struct rig *rig, struct perf_output_handle *handle, unsigned int words)
{
	struct test_record head = {
		.header = { .type = TEST_RECORD, .size = sizeof(head) + words * sizeof(u64) },
		.number = rig->written++,
	};
	struct perf_sample_data data = {};
	int ret;

	ret = perf_output_begin(handle, &data, rig->event, head.header.size);
	if (ret)
		return ret;
	perf_output_put(handle, head);
	return 0;
}

static void rig_end(struct perf_output_handle *handle, u64 number, unsigned int words)
{
	for (unsigned int i = 0; i < words; i++) {
		u64 word = rig_filling(number, i);

		perf_output_put(handle, word);
	}
	perf_output_end(handle);
}

static bool rig_write(struct rig *rig, unsigned int words)
{
	struct perf_output_handle handle;
	u64 number = rig->written;

	if (rig_begin(rig, &handle, words))
		return false;
	rig_end(&handle, number, words);
	return true;
}

/* The 8-byte word at a position of the data. */
static u64 rig_word(struct rig *rig, u64 pos)
{
	struct perf_buffer *rb = rig->rb;
	unsigned long at = pos & (rb->ring.size - 1);
	unsigned int shift = perf_buffer_chunk_shift(rb);

	return *(u64 *)(rb->data[at >> shift] + (at & ((1UL << shift) - 1)));
}

static void rig_check_record(struct rig *rig, u64 pos, struct perf_event_header header)
{
	u64 number = rig_word(rig, pos + 8);

	for (unsigned int i = 0; i < header.size / 8 - 2; i++)
		KUNIT_EXPECT_EQ(rig->test, rig_word(rig, pos + 16 + 8 * i), rig_filling(number, i));
}

/* Checks the record at @pos; returns its size. */
static unsigned int rig_read_at(struct rig *rig, u64 pos)
{
	union { u64 word; struct perf_event_header header; } u = { .word = rig_word(rig, pos) };

	if (u.header.type == PERF_RECORD_LOST) {
		KUNIT_EXPECT_EQ(rig->test, u.header.size, 24);
		KUNIT_EXPECT_EQ(rig->test, rig_word(rig, pos + 8), TEST_ID);
		KUNIT_EXPECT_GT(rig->test, rig_word(rig, pos + 16), 0);
		rig->lost += rig_word(rig, pos + 16);
		return u.header.size;
	}
	KUNIT_ASSERT_EQ(rig->test, u.header.type, TEST_RECORD);
	KUNIT_ASSERT_GE(rig->test, u.header.size, 16);
	rig_check_record(rig, pos, u.header);
	rig->seen++;
	rig->next = rig_word(rig, pos + 8) + 1;
	return u.header.size;
}

/* Reads all records that are published. */
static void rig_read(struct rig *rig)
{
	struct perf_event_mmap_page *page = rig->rb->ring.page;

	KUNIT_ASSERT_LE(rig->test, page->data_head - rig->tail, rig->rb->ring.size);
	while (rig->tail != page->data_head)
		rig->tail += rig_read_at(rig, rig->tail);
	WRITE_ONCE(page->data_tail, rig->tail);
}

/* Records read, lost and not yet reported add up to those written. */
static void rig_expect_exact(struct rig *rig)
{
	rig_read(rig);
	KUNIT_EXPECT_EQ(rig->test, rig->seen + rig->lost + local_read(&rig->rb->lost),
			rig->written);
	KUNIT_EXPECT_EQ(rig->test, rig->lost + local_read(&rig->rb->lost),
			(u64)atomic64_read(&rig->event->lost_samples));
}

/* Records of random sizes in buffers from one page up; the reader reads at random times. */
static void test_lost_exact(struct kunit *test)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	for (unsigned long pages = 1; pages <= 16; pages *= 2) {
		struct rig *rig = rig_start(test, pages, true, NULL);

		for (int i = 0; i < 20000; i++) {
			rig_write(rig, prandom_u32_state(&rnd) % 200);
			if (prandom_u32_state(&rnd) % (12 * pages) == 0)
				rig_read(rig);
		}
		rig_expect_exact(rig);
		KUNIT_EXPECT_GT(test, rig->lost, 0);
		KUNIT_EXPECT_GT(test, rig->seen, 100);
		/* The buffer is empty: the next record has room, and the losses are reported. */
		KUNIT_EXPECT_TRUE(test, rig_write(rig, 0));
		rig_expect_exact(rig);
		KUNIT_EXPECT_EQ(test, local_read(&rig->rb->lost), 0);
	}
}

static void nested_writes(struct rig *rig, struct rnd_state *rnd, int depth)
{
	unsigned int words = prandom_u32_state(rnd) % 40;
	struct perf_output_handle handle;
	u64 number = rig->written;
	u64 head;

	if (rig_begin(rig, &handle, words))
		return;
	head = READ_ONCE(rig->rb->ring.page->data_head);
	for (u32 n = prandom_u32_state(rnd) % 3; n && depth < 3; n--)
		nested_writes(rig, rnd, depth + 1);
	/* A record is not published before the unfinished ones below it. */
	KUNIT_EXPECT_EQ(rig->test, READ_ONCE(rig->rb->ring.page->data_head), head);
	rig_end(&handle, number, words);
}

/* As test_lost_exact(), with nested writers. */
static void test_lost_exact_nested(struct kunit *test)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 2);
	for (unsigned long pages = 1; pages <= 8; pages *= 2) {
		struct rig *rig = rig_start(test, pages, true, NULL);

		for (int i = 0; i < 10000; i++) {
			nested_writes(rig, &rnd, 0);
			if (prandom_u32_state(&rnd) % (8 * pages) == 0)
				rig_read(rig);
		}
		rig_expect_exact(rig);
		KUNIT_EXPECT_GT(test, rig->lost, 0);
	}
}

static void test_pause_output(struct kunit *test)
{
	struct rig *rig = rig_start(test, 1, true, NULL);

	KUNIT_EXPECT_TRUE(test, rig_write(rig, 4));
	KUNIT_EXPECT_EQ(test, perf_event_pause_output(rig->event, true), 0);
	for (int i = 0; i < 7; i++)
		KUNIT_EXPECT_FALSE(test, rig_write(rig, 4));
	rig_read(rig);
	KUNIT_EXPECT_EQ(test, rig->seen, 1);
	KUNIT_EXPECT_EQ(test, perf_event_pause_output(rig->event, false), 0);
	KUNIT_EXPECT_TRUE(test, rig_write(rig, 4));
	rig_expect_exact(rig);
	KUNIT_EXPECT_EQ(test, rig->seen, 2);
	KUNIT_EXPECT_EQ(test, rig->lost, 7);
}

/* The time of a sample that its driver has set stays, with a LOST record in front of it. */
static void test_lost_keeps_time(struct kunit *test)
{
	static const struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
	};
	struct rig *rig = rig_start(test, 1, true, &attr);
	struct perf_sample_data data = { .time = 123, .sample_flags = PERF_SAMPLE_TIME };
	struct perf_output_handle handle;

	rig->event->id_header_size = sizeof(u64);
	local_set(&rig->rb->lost, 1);
	KUNIT_ASSERT_EQ(test, perf_output_begin(&handle, &data, rig->event, sizeof(u64)), 0);
	KUNIT_EXPECT_EQ(test, data.time, 123ull);
	perf_output_put(&handle, data.time);
	perf_output_end(&handle);
}

/* A buffer without data pages: nothing is written, nothing counts as lost. */
static void test_no_data_pages(struct kunit *test)
{
	struct rig *rig = rig_start(test, 0, true, NULL);

	KUNIT_EXPECT_FALSE(test, rig_write(rig, 0));
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->event->lost_samples), 0);
	KUNIT_EXPECT_EQ(test, perf_event_pause_output(rig->event, false), -EINVAL);
	KUNIT_EXPECT_FALSE(test, rig_write(rig, 0));
}

/* The newest records are intact and in order after the oldest have been overwritten. */
static void test_overwrite_forward(struct kunit *test)
{
	struct rig *rig = rig_start(test, 2, false, NULL);
	u64 head, per_buffer = rig->rb->ring.size / 64;

	for (int i = 0; i < 1000; i++)
		KUNIT_EXPECT_TRUE(test, rig_write(rig, 6));	/* 64 bytes */
	head = rig->rb->ring.page->data_head;
	KUNIT_EXPECT_EQ(test, head, 64000);

	rig->tail = head - rig->rb->ring.size;
	rig->next = 1000 - per_buffer;
	for (u64 i = 0; i < per_buffer; i++, rig->tail += 64) {
		KUNIT_EXPECT_EQ(test, rig_word(rig, rig->tail + 8), rig->next);
		KUNIT_EXPECT_EQ(test, rig_read_at(rig, rig->tail), 64);
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->event->lost_samples), 0);
}

/* From data_head upwards: the newest record first, up to the first that is cut. */
static void test_overwrite_backward(struct kunit *test)
{
	struct perf_event_attr attr = { .write_backward = 1 };
	struct rig *rig = rig_start(test, 1, false, &attr);
	u64 pos, end, number;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 3);
	KUNIT_EXPECT_TRUE(test, rig_write(rig, 3));
	KUNIT_EXPECT_EQ(test, rig->rb->ring.page->data_head, -40ULL);

	for (int i = 0; i < 3000; i++) {
		KUNIT_EXPECT_TRUE(test, rig_write(rig, prandom_u32_state(&rnd) % 60));
		pos = rig->rb->ring.page->data_head;
		end = pos + rig->rb->ring.size;
		number = rig->written - 1;
		while (pos != 0 && end - pos >= 8) {
			union { u64 word; struct perf_event_header header; } u = {
				.word = rig_word(rig, pos) };

			if (u.header.size > end - pos)
				break;
			KUNIT_ASSERT_EQ(test, rig_word(rig, pos + 8), number--);
			pos += rig_read_at(rig, pos);
		}
	}
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->event->lost_samples), 0);
}

/* A backward buffer that is mapped writable does not overwrite unread records. */
static void test_consume_backward(struct kunit *test)
{
	struct perf_event_attr attr = { .write_backward = 1 };
	struct rig *rig = rig_start(test, 1, true, &attr);
	struct perf_event_mmap_page *page = rig->rb->ring.page;
	int fit = 0;

	while (rig_write(rig, 6))
		fit++;
	KUNIT_EXPECT_EQ(test, fit, PAGE_SIZE / 64 - 1);
	page->data_tail = page->data_head;
	KUNIT_EXPECT_TRUE(test, rig_write(rig, 6));
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&rig->event->lost_samples), 1);
	KUNIT_EXPECT_EQ(test, page->data_head, -(u64)((fit + 1) * 64 + 24));
}

/* ------------------------------------------------------------------- pieces */

static unsigned long copy_three_words(void *dst, const void *src, unsigned long off,
				      unsigned long n)
{
	unsigned long can = off < 24 ? min(n, 24 - off) : 0;

	memcpy(dst, src + off, can);
	return n - can;
}

static void check_pieces(struct kunit *test, unsigned int pages)
{
	struct rig *rig = rig_start(test, pages, false, NULL);
	const u64 end = pages * PAGE_SIZE;
	struct perf_sample_data data = {};
	struct perf_output_handle handle;
	u64 words[] = { 11, 12, 13, 14 };
	u64 *span;

	while (rig->rb->ring.page->data_head < end - 24)
		KUNIT_ASSERT_TRUE(test, rig_write(rig, 1));
	KUNIT_ASSERT_EQ(test, rig->rb->ring.page->data_head, end - 16);

	KUNIT_ASSERT_EQ(test, perf_output_begin(&handle, &data, rig->event, 80), 0);
	span = perf_output_span(&handle, 8);
	KUNIT_ASSERT_NOT_NULL(test, span);
	*span = 10;
	KUNIT_EXPECT_NULL(test, perf_output_span(&handle, 16));
	KUNIT_EXPECT_EQ(test, perf_output_copy(&handle, words, 16), 0);
	KUNIT_EXPECT_EQ(test, perf_output_skip(&handle, 8), 0);
	KUNIT_EXPECT_EQ(test, perf_output_custom(&handle, copy_three_words, words, 32), 8);
	KUNIT_EXPECT_EQ(test, perf_output_copy(&handle, &words[3], 8), 0);
	perf_output_end(&handle);

	KUNIT_EXPECT_EQ(test, rig_word(rig, end - 16), 10);
	KUNIT_EXPECT_EQ(test, rig_word(rig, end - 8), 11);
	KUNIT_EXPECT_EQ(test, rig_word(rig, end + 0), 12);
	for (int i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, rig_word(rig, end + 16 + 8 * i), words[i]);
}

/* Copying, skipping and spans over the end of a page and of the buffer, which has one or four. */
static void test_pieces(struct kunit *test)
{
	check_pieces(test, 1);
	check_pieces(test, 4);
}

/* ----------------------------------------------------------------------- RAW */

static unsigned long copy_all(void *dst, const void *src, unsigned long off, unsigned long n)
{
	memcpy(dst, src + off, n);
	return 0;
}

/* A sample of @len bytes in up to three fragments; a function copies the second. */
static void write_raw_sample(struct rig *rig, const u8 *bytes, unsigned int len,
			     unsigned int pieces)
{
	struct perf_raw_frag last = { .data = (void *)bytes + 2, .size = len - 2 };
	struct perf_raw_frag middle = { .next = &last, .copy = copy_all,
					.data = (void *)bytes + 1, .size = 1 };
	struct perf_raw_record raw = { .frag = { .data = (void *)bytes, .size = len } };
	struct perf_sample_data data;
	struct pt_regs regs = {};

	if (pieces > 1) {
		raw.frag.size = 1;
		raw.frag.next = &middle;
	}
	if (pieces == 2) {
		middle.next = NULL;
		middle.size = len - 1;
	}
	perf_sample_data_init(&data, 0, 0);
	perf_sample_save_raw_data(&data, rig->event, &raw);
	KUNIT_ASSERT_EQ(rig->test, perf_event_output(rig->event, &data, &regs), 0);
}

/* Size, bytes and padding of RAW at all offsets from the end of a page. */
static void test_raw(struct kunit *test)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_RAW };
	struct rig *rig = rig_start(test, 1, false, &attr);
	u8 bytes[80], have[sizeof(bytes) + 16];
	u64 pos = 0;

	perf_event_sample_sizes(rig->event);
	memset(rig->rb->data[0], 0xff, PAGE_SIZE);
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0x40 + i;

	for (unsigned int round = 0; round < 12 * sizeof(bytes); round++) {
		unsigned int len = 3 + round % (sizeof(bytes) - 2);
		unsigned int size = round_up(len + sizeof(u32), sizeof(u64));

		write_raw_sample(rig, bytes, len, 1 + round % 3);
		for (unsigned int i = 0; i < size; i += 8)
			*(u64 *)(have + i) = rig_word(rig, pos + 8 + i);
		KUNIT_ASSERT_EQ(test, *(u32 *)have, size - sizeof(u32));
		KUNIT_ASSERT_MEMEQ(test, have + 4, bytes, len);
		for (unsigned int i = 4 + len; i < size; i++)
			KUNIT_ASSERT_EQ(test, have[i], 0);
		pos += 8 + size;
		KUNIT_ASSERT_EQ(test, rig->rb->ring.page->data_head, pos);
	}
	KUNIT_EXPECT_GT(test, pos, 4 * PAGE_SIZE);
}

#define TOO_LARGE	70000	/* more than the size in a header can be */

/* Such a sample is lost, and the buffer's next record is preceded by a LOST record. */
static void test_lost_too_large(struct kunit *test)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_RAW };
	struct rig *rig = rig_start(test, 32, true, &attr);
	struct perf_raw_record raw = { .frag = { .size = TOO_LARGE } };
	struct perf_sample_data data;
	struct pt_regs regs = {};

	perf_event_sample_sizes(rig->event);
	raw.frag.data = kunit_kzalloc(test, TOO_LARGE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, raw.frag.data);
	for (int i = 1; i <= 3; i++) {
		perf_sample_data_init(&data, 0, 0);
		perf_sample_save_raw_data(&data, rig->event, &raw);
		KUNIT_EXPECT_EQ(test, perf_event_output(rig->event, &data, &regs), -E2BIG);
		rig->written++;
		KUNIT_EXPECT_TRUE(test, rig_write(rig, 1));
		rig_expect_exact(rig);
		KUNIT_EXPECT_EQ(test, rig->lost, i);
		KUNIT_EXPECT_EQ(test, atomic64_read(&rig->event->lost_samples), i);
	}
}

/* ------------------------------------------------------------------- wake-ups */

/* Consumes what poll() would report. */
static bool rig_poll(struct rig *rig)
{
	return atomic_xchg(&rig->rb->poll, 0);
}

static void test_watermark(struct kunit *test)
{
	struct perf_event_attr attr = { .watermark = 1, .wakeup_watermark = 640 };
	struct rig *rig = rig_start(test, 1, true, &attr);

	for (int i = 1; i <= 1000; i++) {
		KUNIT_ASSERT_TRUE(test, rig_write(rig, 6));
		KUNIT_EXPECT_EQ(test, rig_poll(rig), i % 10 == 0);
		rig_read(rig);
	}
}

/* Without a watermark the reader is woken for every half buffer. */
static void test_watermark_default(struct kunit *test)
{
	struct rig *rig = rig_start(test, 2, true, NULL);
	int per_half = PAGE_SIZE / 64;

	for (int i = 1; i <= 10 * per_half; i++) {
		KUNIT_ASSERT_TRUE(test, rig_write(rig, 6));
		KUNIT_EXPECT_EQ(test, rig_poll(rig), i % per_half == 0);
		rig_read(rig);
	}
}

static void rig_write_sample(struct rig *rig)
{
	struct perf_output_handle handle;
	u64 number = rig->written;

	KUNIT_ASSERT_EQ(rig->test, rig_begin(rig, &handle, 0), 0);
	perf_output_sample_done(&handle);
	rig_end(&handle, number, 0);
}

/* Samples count, other records do not. */
static void test_wakeup_events(struct kunit *test)
{
	for (u32 every = 1; every <= 5; every++) {
		struct perf_event_attr attr = { .wakeup_events = every };
		struct rig *rig = rig_start(test, 4, true, &attr);

		for (int i = 1; i <= 100; i++) {
			rig_write(rig, 0);
			KUNIT_EXPECT_FALSE(test, rig_poll(rig));
			rig_write_sample(rig);
			KUNIT_EXPECT_EQ(test, rig_poll(rig), i % every == 0);
			rig_read(rig);
		}
	}
}

/* A reader is woken once until it polls, and when the buffer is full. */
static void test_wakeup_once(struct kunit *test)
{
	struct perf_event_attr attr = { .wakeup_events = 1 };
	struct rig *rig = rig_start(test, 1, true, &attr);

	for (int i = 0; i < 20; i++)
		rig_write_sample(rig);
	KUNIT_EXPECT_TRUE(test, rig_poll(rig));
	KUNIT_EXPECT_FALSE(test, rig_poll(rig));

	while (rig_write(rig, 6))
		;
	KUNIT_EXPECT_TRUE(test, rig_poll(rig));
	KUNIT_EXPECT_FALSE(test, rig_poll(rig));
	/* There is no sleeping reader, so no wake-up is pending. */
	KUNIT_EXPECT_EQ(test, rig->event->pending_wakeup, 0);
}

/* The wake-up of a nested writer is done when the outermost one has published. */
static void test_wakeup_nested(struct kunit *test)
{
	struct perf_event_attr attr = { .wakeup_events = 1 };
	struct rig *rig = rig_start(test, 1, true, &attr);
	struct perf_output_handle outer;

	KUNIT_ASSERT_EQ(test, rig_begin(rig, &outer, 1), 0);
	rig_write_sample(rig);
	KUNIT_EXPECT_FALSE(test, rig_poll(rig));
	rig_end(&outer, 0, 1);
	KUNIT_EXPECT_TRUE(test, rig_poll(rig));
	rig_expect_exact(rig);
	KUNIT_EXPECT_EQ(test, rig->seen, 2);
}

/* Another event with the buffer of a rig, and a sleeping reader of it. */
struct sleeper {
	struct perf_event	event;
	struct wait_queue_entry	wait;
	unsigned int		woken;
};

static int sleeper_woken(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	container_of(wait, struct sleeper, wait)->woken++;
	return 0;
}

/* An event that reaches the watermark and is detached at once still wakes the reader. */
static void test_wakeup_after_detach(struct kunit *test)
{
	struct perf_event_attr attr = { .wakeup_events = 1 };
	struct rig *rig = rig_start(test, 1, true, &attr);
	struct sleeper *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	mutex_init(&s->event.mmap_mutex);
	init_waitqueue_head(&s->event.waitq);
	perf_event_pending_init(&s->event);
	init_waitqueue_func_entry(&s->wait, sleeper_woken);
	add_wait_queue(&s->event.waitq, &s->wait);
	scoped_guard(mutex, &s->event.mmap_mutex)
		perf_buffer_attach(rig->rb, &s->event);

	scoped_guard(irqsave) {
		rig_write_sample(rig);
		/* As a switch to another buffer does. */
		rcu_assign_pointer(rig->event->rb, NULL);
	}
	perf_event_pending_sync(rig->event);
	perf_event_pending_sync(&s->event);
	KUNIT_EXPECT_GE(test, s->woken, 1);

	rcu_assign_pointer(rig->event->rb, rig->rb);
	scoped_guard(spinlock, &perf_buffers_lock)
		perf_buffer_detach(&s->event);
	synchronize_rcu();
}

/* A child event writes PERF_RECORD_READ on any CPU; it is lost while another CPU writes. */
static void test_multi_writer_by_inherit_stat(struct kunit *test)
{
	struct perf_event_attr attr = { .inherit = 1, .inherit_stat = 1 };
	struct rig *rig = rig_start(test, 1, true, &attr);

	KUNIT_ASSERT_TRUE(test, rig->rb->multi_writer);
	KUNIT_EXPECT_TRUE(test, rig_write(rig, 1));
	atomic_set(&rig->rb->owner, nr_cpu_ids + 1);
	KUNIT_EXPECT_FALSE(test, rig_write(rig, 1));
	atomic_set(&rig->rb->owner, 0);
	KUNIT_EXPECT_TRUE(test, rig_write(rig, 1));
	rig_expect_exact(rig);
	KUNIT_EXPECT_EQ(test, rig->seen, 2);
	KUNIT_EXPECT_EQ(test, rig->lost, 1);
}

#define PAUSED_WRITES	100000

static void write_paused(void *info)
{
	struct rig *rig = info;

	for (int i = 0; i < PAUSED_WRITES; i++) {
		struct perf_output_handle handle;
		struct perf_sample_data data = {};

		if (!perf_output_begin(&handle, &data, rig->event, 16))
			perf_output_end(&handle);
	}
}

/* Records that all CPUs lose while a multi_writer buffer is paused are counted. */
static void test_multi_writer_paused(struct kunit *test)
{
	struct perf_event_attr attr = { .inherit = 1 };
	struct rig *rig = rig_start(test, 1, true, &attr);

	KUNIT_ASSERT_TRUE(test, rig->rb->multi_writer);
	KUNIT_EXPECT_EQ(test, perf_event_pause_output(rig->event, true), 0);
	scoped_guard(cpus_read_lock) {
		on_each_cpu(write_paused, rig, 1);
		rig->written = (u64)PAUSED_WRITES * num_online_cpus();
	}
	KUNIT_EXPECT_EQ(test, perf_event_pause_output(rig->event, false), 0);
	KUNIT_EXPECT_TRUE(test, rig_write(rig, 1));
	rig_expect_exact(rig);
	KUNIT_EXPECT_EQ(test, rig->seen, 1);
	KUNIT_EXPECT_EQ(test, rig->lost, rig->written - 1);
}

/* inherit_stat without inherit: one writer at a time. */
static void test_single_writer(struct kunit *test)
{
	struct perf_event_attr attr = { .inherit_stat = 1 };

	KUNIT_EXPECT_FALSE(test, rig_start(test, 1, true, &attr)->rb->multi_writer);
}

/* A redirection that is refused leaves the target's buffer as it was. */
static void test_single_writer_after_refusal(struct kunit *test)
{
	struct perf_event_attr attr = { .inherit = 1, .inherit_stat = 1 };
	static struct pmu pmu;
	struct rig *target = rig_start(test, 1, true, NULL);
	struct rig *mapped = rig_start(test, 1, true, &attr);

	target->event->pmu = &pmu;
	mapped->event->pmu = &pmu;
	target->rb->mmap_count = 1;
	atomic_set(&mapped->event->mmap_count, 1);
	KUNIT_EXPECT_EQ(test, perf_event_set_output(mapped->event, target->event), -EINVAL);
	KUNIT_EXPECT_FALSE(test, target->rb->multi_writer);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(mapped->event->rb), mapped->rb);
}

static struct kunit_case buffer_cases[] = {
	KUNIT_CASE(test_lost_exact),
	KUNIT_CASE(test_lost_exact_nested),
	KUNIT_CASE(test_pause_output),
	KUNIT_CASE(test_lost_keeps_time),
	KUNIT_CASE(test_no_data_pages),
	KUNIT_CASE(test_overwrite_forward),
	KUNIT_CASE(test_overwrite_backward),
	KUNIT_CASE(test_consume_backward),
	KUNIT_CASE(test_pieces),
	KUNIT_CASE(test_raw),
	KUNIT_CASE(test_lost_too_large),
	KUNIT_CASE(test_watermark),
	KUNIT_CASE(test_watermark_default),
	KUNIT_CASE(test_wakeup_events),
	KUNIT_CASE(test_wakeup_once),
	KUNIT_CASE(test_wakeup_nested),
	KUNIT_CASE(test_wakeup_after_detach),
	KUNIT_CASE(test_multi_writer_by_inherit_stat),
	KUNIT_CASE(test_multi_writer_paused),
	KUNIT_CASE(test_single_writer),
	KUNIT_CASE(test_single_writer_after_refusal),
	{ }
};

static struct kunit_suite buffer_suite = {
	.name		= "perf_buffer",
	.test_cases	= buffer_cases,
};

kunit_test_suite(buffer_suite);
