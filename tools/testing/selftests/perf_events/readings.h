/* SPDX-License-Identifier: GPL-2.0 */
/* read() of events and groups, in each read_format. */
#ifndef PERF_TEST_READINGS_H
#define PERF_TEST_READINGS_H

#include "events.h"
#include "expect.h"
#include "workloads.h"

#define MAX_MEMBERS	80
#define FORMAT_TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* What read() shows of one event of a group; what the format has not is 0. */
struct member_reading {
	uint64_t	value, id, lost;
};

/* What read() shows; the leader is member[0]. Times are in ns. */
struct reading {
	uint64_t		nr, enabled, running;
	struct member_reading	member[MAX_MEMBERS];
};

static inline const uint64_t *parse_member(const uint64_t *p, uint64_t format,
					   struct member_reading *m)
{
	if (format & PERF_FORMAT_GROUP)
		m->value = *p++;
	if (format & PERF_FORMAT_ID)
		m->id = *p++;
	if (format & PERF_FORMAT_LOST)
		m->lost = *p++;
	return p;
}

/*
 * Reads @fd, with the read_format @format, into @r. False if read() failed or its length is not
 * that of the format. Retries for 5 seconds after ECHILD: a child that is being forked has
 * inherited only part of the group.
 */
static inline bool read_in_format(int fd, uint64_t format, struct reading *r)
{
	uint64_t words[3 + 3 * MAX_MEMBERS];
	const uint64_t *p = words;
	uint64_t end = 0;
	ssize_t n;

	do {
		n = read(fd, words, sizeof(words));
		if (n >= 0 || errno != ECHILD)
			break;
		end = end ?: monotonic_ns() + 5000000000;
	} while (monotonic_ns() < end);
	memset(r, 0, sizeof(*r));
	if (n <= 0) {
		ktap_note("read: %zd (%s)", n, n ? strerrorname_np(errno) : "end of file");
		return false;
	}
	r->nr = format & PERF_FORMAT_GROUP ? *p++ : 1;
	if (r->nr > MAX_MEMBERS)
		return expect_eq("members", r->nr, MAX_MEMBERS);
	if (!(format & PERF_FORMAT_GROUP))
		r->member[0].value = *p++;
	r->enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED ? *p++ : 0;
	r->running = format & PERF_FORMAT_TOTAL_TIME_RUNNING ? *p++ : 0;
	for (uint64_t i = 0; i < r->nr; i++)
		p = parse_member(p, format, &r->member[i]);
	return expect_eq("length of a reading", n, (p - words) * sizeof(*p));
}

/* A count with its times in ns: read_format FORMAT_TIMES. */
struct timed_count {
	uint64_t	value, enabled, running;
};

static inline struct timed_count read_timed_count(int fd)
{
	struct timed_count t;

	if (read(fd, &t, sizeof(t)) != sizeof(t))
		fail_case("read of a count and its times");
	return t;
}

/* The count extrapolated to the time that the event was enabled. */
static inline uint64_t scaled_count(struct timed_count t)
{
	return t.running ? (double)t.value * t.enabled / t.running : 0;
}

#endif /* PERF_TEST_READINGS_H */
