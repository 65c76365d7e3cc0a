/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of the AUX area. The software PMU "test_aux" of the test kernel fills it: whenever the
 * event stops it writes a burst of words, each of which is its own position. The PMU needs the
 * kernel parameter perf_test_aux.
 */
#ifndef PERF_TEST_AUX_H
#define PERF_TEST_AUX_H

#include "expect.h"
#include "processes.h"
#include "records.h"
#include "workloads.h"

#define DATA_PAGES	4
#define AUX_PAGES	4

/* What the PMU writes (config1), and records beside it (config2, with a number in config3). */
#define WORDS_RANGES	1
#define WORDS_WAKEUP	2
#define REPORT_STARTED	1
#define REPORT_HW_ID	2
#define REPORT_LOST	4
#define REPORT_SKIP	8
#define REPORT_FLAGS	16

static long page;
static int pmu;

struct area {
	int				fd;
	struct perf_event_mmap_page	*user;
	char				*aux;
	uint64_t			aux_bytes;
	uint64_t			tail;		/* position in the data */
};

struct aux_record {
	struct perf_event_header	header;
	uint64_t			offset, size, flags;
};

static struct perf_event_attr aux_attr(uint64_t burst)
{
	struct perf_event_attr attr = perf_attr(pmu, burst);

	attr.disabled = 1;
	return attr;
}

static struct area open_data(struct perf_event_attr attr)
{
	/* An inherited event can be mapped if it is bound to a CPU. */
	struct area area = { .fd = perf_open(&attr, 0, attr.inherit ? 0 : -1, -1, 0) };

	if (area.fd < 0)
		fail_case("test_aux event");
	area.user =
		mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, area.fd, 0);
	if (area.user == MAP_FAILED)
		fail_case("mmap of the data");
	return area;
}

/* Maps the AUX area. Returns 0 or errno. */
static int map_aux(struct area *area, uint64_t pages, int prot)
{
	area->user->aux_offset = (1 + DATA_PAGES) * page;
	area->user->aux_size = pages * page;
	area->aux_bytes = pages * page;
	area->aux = mmap(NULL, pages * page, prot, MAP_SHARED, area->fd, area->user->aux_offset);
	return area->aux == MAP_FAILED ? errno : 0;
}

static struct area open_area(uint64_t burst, int prot)
{
	struct area area = open_data(aux_attr(burst));

	if (map_aux(&area, AUX_PAGES, prot))
		fail_case("mmap of the AUX area");
	return area;
}

static void close_area(struct area *area)
{
	if (area->aux)
		munmap(area->aux, area->aux_bytes);
	munmap(area->user, (1 + DATA_PAGES) * page);
	close(area->fd);
}

/* Lets the PMU write one burst. */
static void write_burst(const struct area *area)
{
	ioctl(area->fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(area->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static uint64_t area_word(const struct area *area, uint64_t pos)
{
	uint64_t at = pos & (area->user->data_size - 1);

	return *(volatile uint64_t *)((char *)area->user + area->user->data_offset + at);
}

/* The next AUX record; false if there is none. */
static bool next_aux_record(struct area *area, struct aux_record *record)
{
	while (area->tail != __atomic_load_n(&area->user->data_head, __ATOMIC_ACQUIRE)) {
		union { uint64_t word; struct perf_event_header header; } u;
		uint64_t pos = area->tail;

		u.word = area_word(area, pos);
		record->header = u.header;
		area->tail += record->header.size;
		if (record->header.type == PERF_RECORD_AUX) {
			record->offset = area_word(area, pos + 8);
			record->size = area_word(area, pos + 16);
			record->flags = area_word(area, pos + 24);
		}
		area->user->data_tail = area->tail;
		if (record->header.type == PERF_RECORD_AUX)
			return true;
	}
	return false;
}

static bool words_are_right(const struct area *area, uint64_t from, uint64_t len)
{
	for (uint64_t pos = from; pos < from + len; pos += 8) {
		if (*(uint64_t *)(area->aux + (pos & (area->aux_bytes - 1))) != pos)
			return false;
	}
	return true;
}

/* Bytes of a burst; with WORDS_RANGES it is the start and size of each range of the filter. */
#define RANGE_BYTES	64

/* Returns the number of AUX records of one burst. */
static unsigned int records_of(struct area *area)
{
	struct aux_record record;
	unsigned int n = 0;

	while (next_aux_record(area, &record))
		n += record.size == RANGE_BYTES;
	return n;
}

static void aux_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	pmu = perf_pmu_type("test_aux");
	if (pmu < 0)
		skip_case("no PMU test_aux");
	/* A switch to another task would end one trace and start another. */
	MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 10 }));
}

#endif /* PERF_TEST_AUX_H */
