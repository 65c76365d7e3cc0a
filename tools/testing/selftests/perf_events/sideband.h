/* SPDX-License-Identifier: GPL-2.0 */
/* For tests of side-band records: events that count nothing and get records in a mapped buffer. */
#ifndef PERF_TEST_SIDEBAND_H
#define PERF_TEST_SIDEBAND_H

#include "expect.h"
#include "records.h"
#include "workloads.h"

static struct ring ring;
static long page;

static struct perf_event_attr sideband_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);

	attr.sample_type = ID_TYPES;
	attr.sample_id_all = 1;
	return attr;
}

static int open_sideband(struct ring *r, struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = perf_open(attr, pid, cpu, -1, 0);

	if (fd < 0 || !ring_map(r, fd, 16))
		fail_case("an event with a buffer");
	return fd;
}

static void close_sideband(struct ring *r)
{
	ring_unmap(r);
	close(r->fd);
}

static bool size_is_padded(size_t size, size_t fixed, const char *text)
{
	return size == fixed + (strlen(text) + 8) / 8 * 8;
}

struct comm {
	struct perf_event_header h;
	uint32_t	pid, tid;
	char		name[];
};

struct task {
	struct perf_event_header h;
	uint32_t	pid, ppid, tid, ptid;
	uint64_t	time;
};

/* Events that are inherited and have a buffer are bound to CPU 0, and so is the case. */
static void sideband_setup(void)
{
	MUST(pin_to_cpu(0));
	page = sysconf(_SC_PAGESIZE);
}

#endif /* PERF_TEST_SIDEBAND_H */
