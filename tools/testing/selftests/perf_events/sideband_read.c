// SPDX-License-Identifier: GPL-2.0
/* READ records, by which a child that exits leaves its counts. Run as root. */
#include "sideband.h"

static bool read_record(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	value, enabled, running, id;
	} *r;
	uint64_t id;
	int status;
	pid_t child;
	bool ok = true;

	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.exclude_kernel = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID;
	open_sideband(&ring, &attr, 0, 0);
	ioctl(ring.fd, PERF_EVENT_IOC_ID, &id);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(100), 100);
		_exit(0);
	}
	waitpid(child, &status, 0);
	r = (void *)ring_find(&ring, PERF_RECORD_READ);
	ok &= expect(r && r->h.size == sizeof(*r) && r->pid == (uint32_t)child &&
		     r->tid == (uint32_t)child && r->id == id, "READ: pid, tid, id");
	ok &= expect(r && r->value >= 100 && r->value < 250, "READ: count %llu of 100 and some",
		     r ? (unsigned long long)r->value : 0);
	ok &= expect(r && r->enabled && r->enabled == r->running, "READ: times");
	close_sideband(&ring);
	return ok;
}

/* Samples that the parent has lost are not the child's. */
static bool read_lost(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	value, lost;
	} *r;
	uint64_t reading[2] = { 0 };
	int status, fd;
	pid_t child;
	bool ok;

	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.exclude_kernel = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
	attr.read_format = PERF_FORMAT_LOST;
	fd = open_sideband(&ring, &attr, 0, 0);
	while (reading[1] < 100) {
		touch_pages(fresh_pages(1000), 1000);
		if (read(fd, reading, sizeof(reading)) != sizeof(reading))
			fail_case("read");
	}
	while (ring_next(&ring))
		;
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	r = (void *)ring_find(&ring, PERF_RECORD_READ);
	ok = expect(r && r->h.size == sizeof(*r) && r->pid == (uint32_t)child, "READ: pid") &&
	     expect_eq("READ: samples that the child has lost", r->lost, 0);
	close_sideband(&ring);
	return ok;
}

/* An event that exec removes has ended, too: its last count is written there. */
static bool read_record_at_exec(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	value;
	} *r;
	unsigned int n = 0, good = 0;
	int status;
	pid_t child;
	bool ok;

	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.remove_on_exec = 1;
	attr.exclude_kernel = 1;
	open_sideband(&ring, &attr, 0, 0);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(100), 100);
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	while ((r = (void *)ring_find(&ring, PERF_RECORD_READ))) {
		n++;
		good += r->h.size == sizeof(*r) && r->pid == (uint32_t)child &&
			r->tid == (uint32_t)child && r->value >= 100 && r->value < 250;
	}
	ok = expect_eq("exit status of the program", status, 0);
	ok &= expect_eq("READ records of one exec", n, 1);
	ok &= expect_eq("READ records with the child and its count", good, 1);
	ok &= expect_between("the sum", perf_count(ring.fd), 100, 500);
	close_sideband(&ring);
	return ok;
}

/*
 * Each member of a group writes the values of the whole group, also those of members that exit
 * first.
 */
static bool read_group_record(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	nr;
		struct {
			uint64_t	value, id;
		} member[3];
	} *r;
	unsigned int n = 0, good_ids = 0, good_values = 0;
	int status, fd[3];
	uint64_t id[3];
	pid_t child;
	bool ok = true;

	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.exclude_kernel = 1;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	for (int i = 0; i < 3; i++) {
		fd[i] = i ? perf_open(&attr, 0, 0, fd[0], 0) : open_sideband(&ring, &attr, 0, 0);
		ioctl(fd[i], PERF_EVENT_IOC_ID, &id[i]);
		if (i && ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, fd[0]))
			fail_case("SET_OUTPUT");
	}
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(100), 100);
		_exit(0);
	}
	waitpid(child, &status, 0);
	while ((r = (void *)ring_find(&ring, PERF_RECORD_READ))) {
		n++;
		if (r->h.size != sizeof(*r) || r->pid != (uint32_t)child || r->nr != 3)
			continue;
		good_ids += r->member[0].id == id[0] && r->member[1].id == id[1] &&
			    r->member[2].id == id[2];
		good_values += r->member[0].value >= 100 && r->member[0].value < 250 &&
			       r->member[1].value == r->member[0].value &&
			       r->member[2].value == r->member[0].value;
	}
	ok &= expect_eq("READ of a group: records", n, 3);
	ok &= expect_eq("READ of a group: with the ids of all members", good_ids, 3);
	ok &= expect_eq("READ of a group: with the values of all members", good_values, 3);
	close(fd[1]);
	close(fd[2]);
	close_sideband(&ring);
	return ok;
}

#define READ_EVENTS		4
#define CHILDREN	200

/* Adds up whole records of the expected types; LOST records count for what they report. */
static bool add_records(uint64_t *records)
{
	struct {
		struct perf_event_header h;
		uint64_t	id, lost;
	} *r;

	while ((r = (void *)ring_next(&ring))) {
		bool sample = r->h.type == PERF_RECORD_SAMPLE && r->h.size == 16;
		bool other = (r->h.type == PERF_RECORD_READ || r->h.type == PERF_RECORD_LOST) &&
			     r->h.size == 24;

		if (!sample && !other)
			return expect(false, "READ from another CPU: type %u of %u bytes",
				      r->h.type, r->h.size);
		*records += r->h.type == PERF_RECORD_LOST ? r->lost : 1;
	}
	return true;
}

/* Children exit on another CPU than the one that fills the buffer: records stay whole. */
static bool read_from_another_cpu(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	uint64_t records = 0;
	int status, fd[READ_EVENTS], sampler;
	pid_t child;
	bool ok;

	if (pin_to_cpu(1))
		skip_case("there is none");
	pin_to_cpu(0);
	attr.exclude_kernel = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	sampler = open_sideband(&ring, &attr, 0, 0);
	attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr.inherit = 1;
	attr.inherit_stat = 1;
	for (int i = 0; i < READ_EVENTS; i++) {
		fd[i] = perf_open(&attr, 0, 0, -1, 0);
		if (fd[i] < 0 || ioctl(fd[i], PERF_EVENT_IOC_SET_OUTPUT, sampler))
			fail_case("SET_OUTPUT");
	}
	child = fork();
	if (!child) {
		pin_to_cpu(1);
		for (int i = 0; i < CHILDREN; i++) {
			if (!fork())
				_exit(0);
			wait(&status);
		}
		_exit(0);
	}
	while (waitpid(child, &status, WNOHANG) != child) {
		char *p = fresh_pages(16);

		touch_pages(p, 16);
		munmap(p, 16 * page);
		if (!add_records(&records))
			return false;
	}
	/* A LOST record precedes the next sample. */
	touch_pages(fresh_pages(1), 1);
	ioctl(sampler, PERF_EVENT_IOC_DISABLE, 0);
	if (!add_records(&records))
		return false;
	ok = expect_eq("READ from another CPU: records, written or lost", records,
		       perf_count(sampler) + READ_EVENTS * (CHILDREN + 1));
	for (int i = 0; i < READ_EVENTS; i++)
		close(fd[i]);
	close_sideband(&ring);
	return ok;
}

static const struct test tests[] = {
	{ "READ: the count of a child that exits", read_record },
	{ "READ: the lost samples of a child that exits", read_lost },
	{ "READ: the count of a child whose event exec removes", read_record_at_exec },
	{ "READ: each member shows the whole group", read_group_record },
	{ "READ: written from another CPU than the samples", read_from_another_cpu },
};

TESTS_MAIN_SETUP(tests, sideband_setup)
