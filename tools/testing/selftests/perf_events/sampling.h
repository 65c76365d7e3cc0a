/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of sampling: events with one mapped buffer, and page faults that are counted. */
#ifndef PERF_TEST_SAMPLING_H
#define PERF_TEST_SAMPLING_H

#include "expect.h"
#include "records.h"
#include "workloads.h"

static struct ring ring;
static long page;

static struct perf_event_attr fault_attr(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.sample_period = period;
	attr.sample_type = sample_type;
	return attr;
}

static int open_mapped(struct perf_event_attr *attr, int nr_pages)
{
	int fd = perf_open(attr, 0, -1, -1, 0);

	if (fd < 0 || !ring_map(&ring, fd, nr_pages))
		fail_case("opening and mapping an event");
	return fd;
}

static void close_mapped(int fd)
{
	ring_unmap(&ring);
	close(fd);
}

static void count_faults(int fd, char *p, unsigned int nr)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch_pages(p, nr);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

static struct perf_event_attr clock_attr(uint64_t id, uint64_t period)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, id);

	attr.disabled = 1;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD;
	return attr;
}

static int syscall_tracepoint_attr(struct perf_event_attr *attr, const char *name)
{
	int id = tracepoint_id(name);

	*attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	attr->disabled = 1;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD;
	return id;
}

/* 20 calls of getppid, and others. */
static void call_getppid_20_times(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20; i++) {
		syscall(__NR_getppid);
		syscall(__NR_getuid);
		syscall(__NR_getgid);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Maps memory before a case counts its page faults. */
static void sampling_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
}

#endif /* PERF_TEST_SAMPLING_H */
