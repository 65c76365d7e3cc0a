// SPDX-License-Identifier: GPL-2.0
/* Buffers: nothing is lost or torn with one thread and several, and records leave by time. */
#include "tally_open.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>

#include "../../testing/selftests/perf_events/harness.h"
#include "../../testing/selftests/perf_events/expect.h"
#include "../../testing/selftests/perf_events/workloads.h"

#define FAULTS		3000

static struct tally_error ring_err;

/* What the takes of all buffers have found. */
static struct taken {
	pthread_mutex_t lock;
	uint64_t samples;
	uint64_t lost;
	uint64_t torn;
	uint64_t wrapped;
} taken = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void take_piece(void *arg, const struct tally_ring *ring, const struct tally_piece *piece)
{
	size_t size = piece->head_size + piece->tail_size, at = 0;
	struct perf_event_header header;
	uint64_t lost;

	(void)arg;
	(void)ring;
	pthread_mutex_lock(&taken.lock);
	taken.wrapped += !!piece->tail_size;
	for (; at + sizeof(header) <= size; at += header.size) {
		tally_piece_copy(piece, at, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		taken.samples += header.type == PERF_RECORD_SAMPLE;
		if (header.type == PERF_RECORD_LOST) {
			tally_piece_copy(piece, at + 16, &lost, sizeof(lost));
			taken.lost += lost;
		}
	}
	taken.torn += at != size;
	pthread_mutex_unlock(&taken.lock);
}

/* Faults of this task on each CPU apart, sampled into buffers of @pages that @threads read. */
static bool takes_all(int threads, unsigned int pages)
{
	pid_t self = getpid();
	const struct tally_target target = { .tids = &self, .nr_tids = 1, .per_cpu = true };
	struct tally_events events = { 0 };
	struct tally_opened session = { .events = &events };
	struct tally_rings rings = { 0 };
	struct tally_pump pump = { .rings = &rings, .take = take_piece };
	struct perf_event_attr *attr;

	if (tally_parse_events(&events, "faults:u", &ring_err) < 0)
		fail_case(ring_err.text);
	attr = &events.event[0].attr;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->disabled = 1;
	if (tally_open(&session, &target, &ring_err) ||
	    tally_rings_map(&rings, &session, pages, &ring_err) ||
	    tally_pump_start(&pump, threads, &ring_err))
		fail_case(ring_err.text);
	tally_ioctl(&session, PERF_EVENT_IOC_ENABLE);
	for (int i = 0; i < FAULTS / 50; i++) {
		fault_pages(50);
		tally_pump_pass(&pump);
	}
	tally_ioctl(&session, PERF_EVENT_IOC_DISABLE);
	tally_pump_pass(&pump);
	if (tally_pump_pass(&pump))
		fail_case("a pass after the last record takes bytes");
	tally_pump_stop(&pump);
	tally_rings_unmap(&rings);
	tally_close(&session);
	tally_free_events(&events);
	return expect_eq("lost", taken.lost, 0) && expect_eq("torn pieces", taken.torn, 0) &&
		expect_between("samples", taken.samples, FAULTS, FAULTS + 100) &&
		expect(pages != 1 || taken.wrapped, "some piece wraps");
}

static bool one_thread(void)
{
	return takes_all(1, 1);
}

static bool several_threads(void)
{
	return takes_all(3, 1);
}

static bool default_size(void)
{
	return takes_all(0, 0);
}

static bool odd_size(void)
{
	struct tally_rings rings = { 0 };
	struct tally_opened session = { .nr_places = 1 };

	return expect_eq("3 pages", -tally_rings_map(&rings, &session, 3, &ring_err), EINVAL);
}

static bool wakes_readers(void)
{
	pid_t self = getpid();
	const struct tally_target target = { .tids = &self, .nr_tids = 1 };
	struct tally_events events = { 0 };
	struct tally_opened session = { .events = &events };
	struct tally_rings rings = { 0 };
	struct pollfd wait = { .events = POLLIN };
	struct perf_event_attr *attr;
	int part;

	if (tally_parse_events(&events, "faults:u", &ring_err) < 0)
		fail_case(ring_err.text);
	attr = &events.event[0].attr;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->disabled = 1;
	tally_rings_watermark(&events, 4);
	/* So many samples of 32 bytes are a quarter of the buffer. */
	part = sysconf(_SC_PAGESIZE) / 32;
	if (tally_open(&session, &target, &ring_err) ||
	    tally_rings_map(&rings, &session, 4, &ring_err))
		fail_case(ring_err.text);
	wait.fd = rings.ring[0].fd;
	tally_ioctl(&session, PERF_EVENT_IOC_ENABLE);
	fault_pages(part * 3 / 4);
	if (!expect_eq("before a quarter is full", poll(&wait, 1, 50), 0))
		return false;
	fault_pages(part / 2);
	return expect_eq("a quarter is full", poll(&wait, 1, 5000), 1) &&
		expect_eq("poll", wait.revents, POLLIN);
}

/* Two kinds of buffers share what may be locked: the watermark is of the size that they have. */
static bool wakes_by_real_size(void)
{
	pid_t self = getpid();
	const struct tally_target target = { .tids = &self, .nr_tids = 1 };
	struct tally_events events = { 0 };
	struct tally_opened session = { .events = &events };
	struct tally_rings rings = { 0 };

	if (tally_parse_events(&events, "faults:u,dummy/overwrite/", &ring_err) < 0)
		fail_case(ring_err.text);
	for (int i = 0; i < events.n; i++)
		events.event[i].attr.sample_period = 1;
	tally_rings_watermark(&events, 0);
	if (tally_open(&session, &target, &ring_err) ||
	    tally_rings_map(&rings, &session, 0, &ring_err))
		fail_case(ring_err.text);
	return expect_eq("buffers", rings.n, 2) &&
		expect_eq("bytes", rings.ring[0].size, rings.ring[1].size) &&
		expect_eq("watermark", events.event[0].attr.wakeup_watermark,
			  rings.ring[0].size / 4);
}

/* What an order has given. */
static struct given {
	uint64_t n;
	uint64_t times[4096];
} given;

static void give_record(void *arg, const struct perf_event_header *record, uint64_t time)
{
	(void)arg;
	if (record->size != sizeof(*record) + 8 || ((const uint64_t *)record)[1] != time)
		fail_case("the record is another one");
	if (given.n < ARRAY_SIZE(given.times))
		given.times[given.n++] = time;
}

static void put_time(struct tally_order *order, uint64_t time)
{
	struct {
		struct perf_event_header header;
		uint64_t time;
	} record = { { PERF_RECORD_SAMPLE, 0, sizeof(record) }, time };

	if (tally_order_put(order, &record.header, time))
		fail_case("tally_order_put");
}

static bool given_in_order(void)
{
	for (uint64_t i = 1; i < given.n; i++) {
		if (given.times[i] < given.times[i - 1])
			return expect(false, "record %llu is older than the one before",
				      (unsigned long long)i);
	}
	return true;
}

/* Several buffers, each in order, of which a pass takes what was written when it reached each. */
static bool orders_rounds(void)
{
	struct tally_order order = { .limit = 1 << 20, .give = give_record };
	uint64_t time = 0;

	for (int pass = 0; pass < 100; pass++) {
		for (int ring = 0; ring < 4; ring++) {
			/* Later buffers are read later: they have newer records. */
			for (int i = 0; i < 5; i++)
				put_time(&order, time + ring + 4 * i);
		}
		time += 20;
		tally_order_round(&order);
		if (!expect(order.n <= 2 * 20, "two passes are kept"))
			return false;
	}
	tally_order_end(&order);
	return expect_eq("given", given.n, 2000) && given_in_order() &&
		expect_eq("early", order.early, 0) && expect_eq("late", order.late, 0);
}

static bool waits_for_late_rings(void)
{
	struct tally_order order = { .limit = 1 << 20, .give = give_record };

	put_time(&order, 10);
	put_time(&order, 20);
	tally_order_round(&order);
	if (!expect_eq("after one pass", given.n, 0))
		return false;
	put_time(&order, 15);
	put_time(&order, 30);
	tally_order_round(&order);
	if (!expect_eq("after two", given.n, 3) || !given_in_order())
		return false;
	tally_order_end(&order);
	return expect_eq("all", given.n, 4) && expect_eq("late", order.late, 0);
}

static bool bounds_memory(void)
{
	struct tally_order order = { .limit = 10 * 16, .give = give_record };

	for (uint64_t i = 0; i < 1000; i++) {
		put_time(&order, 2 * i);
		if (order.used > order.limit)
			return expect(false, "%zu bytes are kept", order.used);
	}
	put_time(&order, 1);
	tally_order_end(&order);
	return expect_eq("given", given.n, 1001) && expect_eq("late", order.late, 1) &&
		expect(order.early >= 990, "the oldest are given early");
}

static const struct test tests[] = {
	{ "one thread takes all of buffers that wrap", one_thread },
	{ "several threads take all", several_threads },
	{ "the default size and a thread for each node", default_size },
	{ "a size that is no power of two is refused", odd_size },
	{ "a reader is woken when a quarter of its buffer is full", wakes_readers },
	{ "the watermark is of the size that the buffers have", wakes_by_real_size },
	{ "rounds give records by time, and keep two passes at most", orders_rounds },
	{ "a record of a buffer that is read later is waited for", waits_for_late_rings },
	{ "memory is bounded, what is late is counted", bounds_memory },
};

TESTS_MAIN(tests)
