// SPDX-License-Identifier: GPL-2.0
/*
 * Records of the ring buffer: none is missing without being counted as lost, and none is invented.
 */
#include "fault_ring.h"

/* Three times the size of the buffer is written without a reader; then all is accounted for. */
static bool lost_is_exact(unsigned int pages)
{
	unsigned int n = 3 * pages * page / 16 + 17, done = 0;
	struct fault_ring ring = fault_ring_open(fault_attr(), pages, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	bool good;

	while (done < n) {
		unsigned int some = n - done < 2000 ? n - done : 2000;

		madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
		fault_ring_enable(&ring);
		for (unsigned int i = 0; i < some; i++)
			*(volatile char *)(fresh + i * page) = 1;
		fault_ring_disable(&ring);
		done += some;
	}
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	good = count == n && ring.samples + lost == n && ring.lost == 0 && lost > 0;

	/* The next record that fits follows a LOST record for all that did not. */
	fault_ring_enable(&ring);
	touch_fresh(1);
	fault_ring_disable(&ring);
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	good = good && count == n + 1 && ring.lost == lost && ring.samples + ring.lost == n + 1 &&
	       !ring.wrong && !ring.others;
	if (!good)
		ktap_note("%u pages: %llu counted, %llu read, %llu in LOST, %llu lost, %u wrong",
			  pages, (unsigned long long)count, (unsigned long long)ring.samples,
			  (unsigned long long)ring.lost, (unsigned long long)lost, ring.wrong);
	fault_ring_close(&ring);
	return good;
}

static bool lost_adds_up(void)
{
	bool good = true;

	for (unsigned int pages = 1; pages <= 32; pages *= 2)
		good &= lost_is_exact(pages);
	return good;
}

/* The reader reads from time to time; the addresses show where samples are missing. */
static bool lost_in_place(void)
{
	struct fault_ring ring = fault_ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	bool good = true;
	bool ok;

	ring.next = (uintptr_t)fresh;
	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	fault_ring_enable(&ring);
	for (unsigned int i = 0; i < PAGES_MAX; i++) {
		*(volatile char *)(fresh + i * page) = 1;
		if (i % 701 == 700) {
			drain_ring(&ring);
			good &= ring.gaps == ring.lost;
		}
	}
	fault_ring_disable(&ring);
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	ok = expect(good && ring.lost > 1000 && ring.gaps == ring.lost && !ring.wrong &&
		    ring.samples + lost == PAGES_MAX && count == PAGES_MAX,
		    "LOST stands where records are missing, and says how many: %llu of %u",
		    (unsigned long long)lost, PAGES_MAX);
	fault_ring_close(&ring);
	return ok;
}

/* The fields of a trailer: each alone, and all. */
static const uint64_t id_parts[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_IDENTIFIER,
};

/* A LOST record with @parts in its trailer, among samples. */
static bool lost_with_id(uint64_t parts, unsigned int words)
{
	struct perf_event_attr attr = fault_attr();
	unsigned int samples, n = 3000;
	uint64_t count, lost;
	struct fault_ring ring;
	bool good = true;

	attr.sample_id_all = 1;
	attr.sample_type |= parts;
	ring = fault_ring_open(attr, 1, PROT_READ | PROT_WRITE);
	ring.lost_size = 24 + 8 * words;
	for (int round = 0; round < 3; round++) {
		fault_ring_enable(&ring);
		touch_fresh(n / 3);
		fault_ring_disable(&ring);
		drain_ring(&ring);
	}
	samples = ring.samples;
	fault_ring_enable(&ring);
	touch_fresh(1);
	fault_ring_disable(&ring);
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	good = count == n + 1 && lost > n / 2 && ring.lost == lost &&
	       ring.samples + lost == n + 1 && ring.samples == samples + 1 && !ring.wrong &&
	       !ring.others;
	if (!good)
		ktap_note("sample_type %#llx: %llu counted, %llu read, %llu in LOST, %llu lost",
			  (unsigned long long)attr.sample_type, (unsigned long long)count,
			  (unsigned long long)ring.samples, (unsigned long long)ring.lost,
			  (unsigned long long)lost);
	fault_ring_close(&ring);
	return good;
}

static bool lost_with_trailer(void)
{
	uint64_t all = 0;
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(id_parts); i++) {
		good &= lost_with_id(id_parts[i], 1);
		all |= id_parts[i];
	}
	good &= lost_with_id(all, ARRAY_SIZE(id_parts));
	return good;
}

static bool overwritten_buffer(void)
{
	struct fault_ring ring = fault_ring_open(fault_attr(), 2, PROT_READ);
	uint64_t count, lost, head, fit = ring.size / 16;
	bool ok;

	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	fault_ring_enable(&ring);
	for (unsigned int i = 0; i < PAGES_MAX; i++)
		*(volatile char *)(fresh + i * page) = 1;
	fault_ring_disable(&ring);
	read_totals(&ring, &count, &lost);
	head = ring.user->data_head;
	ring.next = (uintptr_t)fresh + (PAGES_MAX - fit) * page;
	for (uint64_t pos = head - ring.size; pos != head && !ring.wrong; )
		pos += take_record(&ring, pos);
	ok = expect(head == PAGES_MAX * 16 && count == PAGES_MAX && !lost && ring.samples == fit &&
		    !ring.gaps && !ring.wrong, "overwriting keeps the newest, in order");
	fault_ring_close(&ring);
	return ok;
}

static bool backward_buffer(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t count, lost, head, fit;
	uintptr_t expected;
	struct fault_ring ring;
	bool ok;

	attr.write_backward = 1;
	ring = fault_ring_open(attr, 2, PROT_READ);
	fit = ring.size / 16;
	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	fault_ring_enable(&ring);
	for (unsigned int i = 0; i < PAGES_MAX; i++)
		*(volatile char *)(fresh + i * page) = 1;
	fault_ring_disable(&ring);
	read_totals(&ring, &count, &lost);
	head = ring.user->data_head;
	expected = (uintptr_t)fresh + (PAGES_MAX - 1) * page;
	for (uint64_t i = 0; i < fit; i++, expected -= page) {
		uint64_t pos = head + 16 * i;

		ring.wrong += take_record(&ring, pos) != 16 ||
			      (ring_word(&ring, pos + 8) & -page) != expected;
	}
	ok = expect(head == -(uint64_t)PAGES_MAX * 16 && count == PAGES_MAX && !lost &&
		    ring.samples == fit && !ring.wrong, "backwards the newest comes first");
	fault_ring_close(&ring);
	return ok;
}

static bool paused_output(void)
{
	struct fault_ring ring = fault_ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	bool ok;

	fault_ring_enable(&ring);
	touch_fresh(5);
	ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	touch_fresh(7);
	ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	touch_fresh(3);
	fault_ring_disable(&ring);
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	ok = expect(count == 15 && lost == 7 && ring.lost == 7 && ring.samples == 8 && !ring.wrong,
		    "what comes in a pause is lost, and counted");
	fault_ring_close(&ring);
	return ok;
}

/* Wrong positions in data_tail: records are lost, nothing else happens. */
static bool bad_tail(void)
{
	static const uint64_t bad[] = { 8, 1, 1 << 20, -1ULL, -4096ULL, 1ULL << 63, 1ULL << 32 };
	struct fault_ring ring = fault_ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	unsigned int n = 0;
	bool ok;

	fault_ring_enable(&ring);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++, n++) {
		ring.user->data_tail = bad[i];
		touch_fresh(1);
	}
	ring.user->data_tail = 0;
	touch_fresh(1);
	fault_ring_disable(&ring);
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	ok = expect(count == n + 1 && ring.samples + lost == n + 1 && ring.lost == lost &&
		    !ring.wrong, "nonsense in data_tail costs records: %llu",
		    (unsigned long long)lost);
	fault_ring_close(&ring);
	return ok;
}

/* A reader that keeps its position modulo the size of the buffer. */
static bool tail_modulo_size(int nr_pages, bool backward)
{
	struct perf_event_attr attr = fault_attr();
	unsigned int n = nr_pages * page / 16 / 2;
	uint64_t count, lost, head = 0, bytes = 0;
	struct fault_ring ring;
	bool ok;

	attr.write_backward = backward;
	ring = fault_ring_open(attr, nr_pages, PROT_READ | PROT_WRITE);
	fault_ring_enable(&ring);
	for (unsigned int round = 0; round < 20; round++) {
		uint64_t before = head;

		touch_fresh(n);
		head = ring.user->data_head;
		bytes += backward ? before - head : head - before;
		ring.user->data_tail = head % ring.size;
	}
	fault_ring_disable(&ring);
	read_totals(&ring, &count, &lost);
	ok = expect(count == 20 * n && bytes == 16 * count && !lost,
		    "%d pages: %llu faults, %llu bytes of records, %llu lost", nr_pages,
		    (unsigned long long)count, (unsigned long long)bytes,
		    (unsigned long long)lost);
	fault_ring_close(&ring);
	return ok;
}

static bool tail_modulo(void)
{
	return tail_modulo_size(1, false) & tail_modulo_size(4, false) &
	       tail_modulo_size(2, true);
}

static const struct test tests[] = {
	{ "samples read and lost add up, with buffers of 1 to 32 pages", lost_adds_up },
	{ "LOST stands where samples are missing, with their number", lost_in_place },
	{ "LOST with each part of its trailer", lost_with_trailer },
	{ "an overwritten buffer keeps the newest samples, in order", overwritten_buffer },
	{ "a buffer written backward begins with the newest sample", backward_buffer },
	{ "samples during PAUSE_OUTPUT are lost and counted", paused_output },
	{ "a wrong data_tail only loses samples", bad_tail },
	{ "data_tail may be stored modulo the size of the buffer", tail_modulo },
};

TESTS_MAIN_SETUP(tests, fault_ring_setup)
