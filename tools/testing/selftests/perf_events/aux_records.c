// SPDX-License-Identifier: GPL-2.0
/* Records that the driver writes: ITRACE_START, AUX_OUTPUT_HW_ID, LOST_SAMPLES. */
#include "aux.h"

#include <pthread.h>
#include <stddef.h>

/* The number in the records that the PMU writes on request. */
#define NUMBER		0x123456789abcdef0

static struct ring ring;

static struct perf_event_attr report_attr(uint64_t what)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);

	attr.config2 = what;
	attr.config3 = NUMBER;
	attr.sample_type = ID_TYPES;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return attr;
}

static struct area open_report(const struct perf_event_attr *attr)
{
	struct area area = open_data(*attr);

	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	memset(&ring, 0, offsetof(struct ring, record));
	ring.fd = area.fd;
	ring.size = DATA_PAGES * page;
	ring.page = area.user;
	ring.data = (char *)area.user + page;
	return area;
}

/* Any of the records with one word. */
struct one_word {
	struct perf_event_header	header;
	union {
		struct {
			uint32_t	pid, tid;
		};
		uint64_t		number;
	};
};

/* True if the next record has this type and one word; copies it. */
static bool next_is_one_word(uint32_t type, struct one_word *t)
{
	const struct perf_event_header *h = ring_next(&ring);

	if (!h || h->type != type || h->misc || record_body_size(h) != sizeof(uint64_t)) {
		ktap_note("record %d, misc %#x, %d bytes, not one of type %u",
			  h ? (int)h->type : -1, h ? h->misc : 0, h ? h->size : 0, type);
		return false;
	}
	memcpy(t, h, sizeof(*t));
	return true;
}

/* Checks the trailer of the record that was read last, which was written after @from. */
static bool trailer_is(uint64_t id, pid_t pid, pid_t tid, uint64_t from)
{
	const struct record_trailer *t = record_trailer((void *)ring.record);

	return t->pid == (uint32_t)pid && t->tid == (uint32_t)tid && t->id == id &&
	       t->stream_id == id && t->identifier == id && t->cpu == 0 && !t->reserved &&
	       t->time >= from && t->time <= monotonic_ns();
}

/* All records, in a thread with a TID that differs from the PID. */
static void *report_all(void *arg)
{
	bool *good = arg, ok = true;
	struct perf_event_attr attr = report_attr(REPORT_STARTED | REPORT_HW_ID | REPORT_LOST);
	struct area area = open_report(&attr);
	uint64_t id = event_id(area.fd), before = monotonic_ns();
	pid_t pid = getpid(), tid = gettid();
	const struct perf_event_header *h;
	struct one_word t;

	write_burst(&area);
	ok &= expect(next_is_one_word(PERF_RECORD_ITRACE_START, &t) && t.pid == (uint32_t)pid &&
		     t.tid == (uint32_t)tid && trailer_is(id, pid, tid, before) && pid != tid,
		     "ITRACE_START: pid, tid, trailer");
	ok &= expect(next_is_one_word(PERF_RECORD_AUX_OUTPUT_HW_ID, &t) && t.number == NUMBER &&
		     trailer_is(id, pid, tid, before), "AUX_OUTPUT_HW_ID: number, trailer");
	ok &= expect(next_is_one_word(PERF_RECORD_LOST_SAMPLES, &t) && t.number == NUMBER &&
		     trailer_is(id, pid, tid, before), "LOST_SAMPLES: number, trailer");
	h = ring_next(&ring);
	ok &= expect(h && h->type == PERF_RECORD_AUX && !h->misc && record_body_size(h) == 24 &&
		     trailer_is(id, pid, tid, before), "AUX: trailer");
	ok &= expect(!ring_next(&ring), "and nothing else");

	write_burst(&area);
	ok &= expect(next_is_one_word(PERF_RECORD_AUX_OUTPUT_HW_ID, &t) &&
		     next_is_one_word(PERF_RECORD_LOST_SAMPLES, &t) && ring_next(&ring) &&
		     !ring_next(&ring), "a trace that has begun does not begin again");
	close_area(&area);
	*good = ok;
	return NULL;
}

static bool all_records(void)
{
	pthread_t thread;
	bool good = false;

	if (pthread_create(&thread, NULL, report_all, &good))
		fail_case("pthread_create");
	pthread_join(thread, NULL);
	return good;
}

/* ITRACE_START is written at each start, unless the driver marks the trace as started. */
static bool start_records(void)
{
	struct perf_event_attr attr = report_attr(0);
	struct area area = open_report(&attr);
	bool ok;

	for (int i = 0; i < 10; i++)
		write_burst(&area);
	ok = expect(ring_count(&ring, PERF_RECORD_ITRACE_START) == 10,
		    "ITRACE_START: once for each start");
	close_area(&area);
	return ok;
}

/* Without sample_id_all a record ends with its fields. */
static bool records_without_trailer(void)
{
	struct perf_event_attr attr = report_attr(REPORT_HW_ID | REPORT_LOST);
	unsigned int records = 0, right = 0;
	const struct perf_event_header *h;
	struct area area;
	bool ok;

	attr.sample_id_all = 0;
	area = open_report(&attr);
	write_burst(&area);
	while ((h = ring_next(&ring))) {
		records++;
		right += h->size == (h->type == PERF_RECORD_AUX ? 32 : 16);
	}
	ok = expect(records == 4 && right == 4, "without sample_id_all: %u of %u have its size",
		    right, records);
	close_area(&area);
	return ok;
}

/* Records of a child are in the buffer of the parent, with the PID and TID of the child. */
static bool records_of_a_child(void)
{
	struct perf_event_attr attr = report_attr(REPORT_HW_ID | REPORT_LOST);
	unsigned int start = 0, hw_id = 0, lost = 0, wrong = 0;
	uint64_t id, before = monotonic_ns(), after;
	const struct perf_event_header *h;
	const struct record_trailer *t;
	struct area area;
	pid_t pid;
	bool ok;

	attr.inherit = 1;
	area = open_report(&attr);
	id = event_id(area.fd);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	after = monotonic_ns();
	while ((h = ring_next(&ring))) {
		struct one_word word;

		t = record_trailer(h);
		memcpy(&word, h, sizeof(word));
		if (t->pid != (uint32_t)pid)
			continue;
		wrong += h->misc || t->id != id || t->identifier != id || t->tid != t->pid ||
			 t->time < before || t->time > after;
		switch (h->type) {
		case PERF_RECORD_ITRACE_START:
			start++;
			wrong += word.pid != (uint32_t)pid || word.tid != (uint32_t)pid ||
				 record_body_size(h) != 8 || t->stream_id != id;
			break;
		case PERF_RECORD_AUX_OUTPUT_HW_ID:
			hw_id++;
			wrong += word.number != NUMBER || record_body_size(h) != 8 ||
				 t->stream_id != id;
			break;
		case PERF_RECORD_LOST_SAMPLES:
			lost++;
			wrong += word.number != NUMBER || record_body_size(h) != 8 ||
				 t->stream_id == id;
			break;
		}
	}
	ok = expect(start && hw_id && lost && !wrong,
		    "a child's: %u ITRACE_START, %u AUX_OUTPUT_HW_ID, %u LOST_SAMPLES", start,
		    hw_id, lost);
	close_area(&area);
	return ok;
}

static void records_setup(void)
{
	aux_setup();
	pin_to_cpu(0);
}

static const struct test tests[] = {
	{ "ITRACE_START, AUX_OUTPUT_HW_ID, LOST_SAMPLES and AUX with their trailers", all_records },
	{ "ITRACE_START once for each start", start_records },
	{ "records without sample_id_all", records_without_trailer },
	{ "records of a child name the child", records_of_a_child },
};

TESTS_MAIN_SETUP(tests, records_setup)
