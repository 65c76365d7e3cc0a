// SPDX-License-Identifier: GPL-2.0
/* Opening the events of a session at each of its places. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "names.h"

static int *fd_at(const struct tally_opened *session, int event, int place)
{
	return &session->fds[(size_t)event * session->nr_places + place];
}

/* Index of the event's leader, the event itself without a group. */
static int leader_of(const struct tally_opened *session, int event)
{
	const struct tally_events *events = session->events;

	while (events->event[event].group >= 0 && !events->event[event].leader)
		event--;
	return event;
}

/* A PMU of some CPUs is opened on these, or by a task on any. */
static bool place_has_pmu(const struct tally_counter *event, const struct tally_place *place)
{
	bool found = false;
	int *cpus, n;

	if (!event->cpus || place->cpu < 0)
		return true;
	n = tally_cpu_list(event->cpus, &cpus, NULL);
	for (int i = 0; i < n; i++)
		found |= cpus[i] == place->cpu;
	if (n >= 0)
		free(cpus);
	return found;
}

static int open_file(const struct tally_opened *session, int event, int place)
{
	const struct tally_place *where = &session->places[place];
	struct perf_event_attr *attr = &session->events->event[event].attr;
	int leader = leader_of(session, event), group = -1, fd;

	if (leader != event) {
		group = *fd_at(session, leader, place);
		if (group < 0)
			return -ESRCH;
	}
	fd = syscall(SYS_perf_event_open, attr, where->pid, where->cpu, group, where->flags);
	return fd < 0 ? -errno : fd;
}

static int open_with_fallback(struct tally_opened *session, int event, int place)
{
	struct tally_counter *one = &session->events->event[event];
	struct tally_fallback fallback;
	int fd;

	tally_fallback_begin(session, one, &fallback);
	do {
		fd = open_file(session, event, place);
	} while (fd < 0 && fd != -ESRCH && tally_fallback_next(session, one, -fd, &fallback));
	if (fd >= 0 && tally_fallback_done(session, one, &fallback)) {
		close(fd);
		return -ENOMEM;
	}
	if (fd >= 0 || fd == -ESRCH)
		return fd;
	/* The first attr once more: the kernel's reason is to be about this one. */
	return open_file(session, event, place);
}

static void close_event(struct tally_opened *session, int event)
{
	for (int place = 0; place < session->nr_places; place++) {
		int *fd = fd_at(session, event, place);

		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
}

/* A software event is everywhere: what is refused then is the cgroup. */
static bool machine_lacks(const struct tally_opened *session, int event, int error)
{
	if (session->places[0].cgroup >= 0 &&
	    session->events->event[event].attr.type == PERF_TYPE_SOFTWARE)
		return false;
	return error == ENOENT || error == ENODEV || error == EOPNOTSUPP || error == ENXIO;
}

/* Opens one event everywhere; the number of files, or a negative errno. */
static int open_event(struct tally_opened *session, int event)
{
	int opened = 0;

	for (int place = 0; place < session->nr_places; place++) {
		int fd;

		if (!place_has_pmu(&session->events->event[event], &session->places[place]))
			continue;
		fd = open_with_fallback(session, event, place);
		if (fd == -ESRCH)
			continue;
		if (fd < 0)
			return fd;
		*fd_at(session, event, place) = fd;
		opened++;
		if (!ioctl(fd, PERF_EVENT_IOC_ID,
			   &session->ids[(size_t)event * session->nr_places + place]))
			continue;
		return -errno;
	}
	return opened;
}

static int group_end(const struct tally_opened *session, int first)
{
	const struct tally_events *events = session->events;
	int end = first + 1;

	while (events->event[first].group >= 0 && end < events->n &&
	       events->event[end].group == events->event[first].group)
		end++;
	return end;
}

/* Makes each member of a group an event of its own, which starts as the leader does. */
static void split_group(struct tally_opened *session, int first, int end)
{
	struct tally_counter *leader = &session->events->event[first];

	for (int event = first; event < end; event++) {
		struct tally_counter *member = &session->events->event[event];

		close_event(session, event);
		member->group = -1;
		member->leader = false;
		member->attr.disabled = leader->attr.disabled;
		member->attr.enable_on_exec = leader->attr.enable_on_exec;
		member->attr.read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
	}
	session->fell_back |= TALLY_FELL_GROUP;
}

/* Opens the events @first to @end - 1, one event or a group. */
static int open_unit(struct tally_opened *session, int first, int end, struct tally_error *err)
{
	for (int event = first; event < end; event++) {
		struct tally_counter *one = &session->events->event[event];
		int ret = open_event(session, event);

		if (!ret)
			ret = -ESRCH;
		if (ret > 0)
			continue;
		if (session->keep_unsupported && machine_lacks(session, event, -ret)) {
			one->unsupported = true;
			close_event(session, event);
			if (event == first && end > first + 1)
				split_group(session, first, end);
			continue;
		}
		if (ret == -EINVAL && end > first + 1 && session->events->event[first].weak) {
			split_group(session, first, end);
			event = first - 1;
			continue;
		}
		return tally_explain(err, -ret, one->name);
	}
	return 0;
}

static int allocate_session(struct tally_opened *session)
{
	size_t files = (size_t)session->events->n * session->nr_places;

	session->fds = malloc(files * sizeof(*session->fds));
	session->ids = calloc(files, sizeof(*session->ids));
	if (!session->fds || !session->ids)
		return -ENOMEM;
	for (size_t i = 0; i < files; i++)
		session->fds[i] = -1;
	return 0;
}

int tally_open(struct tally_opened *session, const struct tally_target *target,
	       struct tally_error *err)
{
	int ret = tally_places(target, &session->places, err);

	if (ret < 0)
		return ret;
	session->nr_places = ret;
	ret = allocate_session(session);
	if (ret)
		tally_fail(err, ENOMEM, "out of memory");
	for (int first = 0, end; !ret && first < session->events->n; first = end) {
		end = group_end(session, first);
		ret = open_unit(session, first, end, err);
	}
	if (ret)
		tally_close(session);
	return ret;
}

void tally_close(struct tally_opened *session)
{
	for (int event = 0; session->fds && event < session->events->n; event++)
		close_event(session, event);
	for (int place = 0, last = -1; place < session->nr_places; place++) {
		if (session->places[place].cgroup > last) {
			last = session->places[place].cgroup;
			close(session->places[place].pid);
		}
	}
	free(session->fds);
	free(session->ids);
	free(session->places);
	session->fds = NULL;
	session->ids = NULL;
	session->places = NULL;
	session->nr_places = 0;
}

int tally_ioctl(const struct tally_opened *session, unsigned long request)
{
	int ret = 0;

	for (int event = 0; event < session->events->n; event++) {
		if (leader_of(session, event) != event)
			continue;
		for (int place = 0; place < session->nr_places; place++) {
			int fd = *fd_at(session, event, place);

			if (fd >= 0 && ioctl(fd, request, PERF_IOC_FLAG_GROUP) && !ret)
				ret = -errno;
		}
	}
	return ret;
}

uint64_t tally_scale(const struct tally_count *count)
{
	if (!count->running)
		return 0;
	if (count->running >= count->enabled)
		return count->value;
	return (__uint128_t)count->value * count->enabled / count->running;
}

static int read_event(const struct tally_opened *session, int event, int place,
		      struct tally_count *count)
{
	int fd = *fd_at(session, event, place);
	uint64_t words[3];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, words, sizeof(words));
	if (n < 0)
		return -errno;
	/* The end of the file: a pinned event that found no counter. */
	if (n != sizeof(words))
		return 0;
	*count = (struct tally_count) { words[0], words[1], words[2] };
	return 0;
}

/* Reads the leader's file: nr, times, and value with id of each member in the order of opening. */
static int read_group(const struct tally_opened *session, int first, int end, int place,
		      struct tally_count *counts)
{
	int fd = *fd_at(session, first, place);
	uint64_t words[3 + 2 * 64];
	uint64_t member = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	if (end - first > 64)
		return -E2BIG;
	n = read(fd, words, sizeof(words));
	if (n <= 0)
		return n ? -errno : 0;
	for (int event = first; event < end; event++) {
		if (*fd_at(session, event, place) < 0)
			continue;
		if (n < (ssize_t)sizeof(uint64_t) * 3 || member >= words[0])
			return -ENODATA;
		counts[(size_t)event * session->nr_places + place] =
			(struct tally_count) { words[3 + 2 * member], words[1], words[2] };
		member++;
	}
	return 0;
}

int tally_read_counts(const struct tally_opened *session, struct tally_count *counts,
		      struct tally_error *err)
{
	int ret = 0;

	memset(counts, 0, sizeof(*counts) * session->events->n * session->nr_places);
	for (int first = 0, end; first < session->events->n; first = end) {
		struct tally_counter *event = &session->events->event[first];
		bool group = event->attr.read_format & PERF_FORMAT_GROUP;

		end = group ? group_end(session, first) : first + 1;
		for (int place = 0; place < session->nr_places && !ret; place++)
			ret = group ? read_group(session, first, end, place, counts) :
				read_event(session, first, place,
					   &counts[(size_t)first * session->nr_places + place]);
		if (ret)
			return tally_explain(err, -ret, event->name);
	}
	return 0;
}

uint64_t tally_read_lost(const struct tally_opened *session, int event, int place)
{
	const uint64_t format = session->events->event[event].attr.read_format;
	const size_t each = 1 + !!(format & PERF_FORMAT_ID) + 1;
	size_t at = !!(format & PERF_FORMAT_GROUP) + !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		!!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t words[3 + 3 * 64], id = session->ids[(size_t)event * session->nr_places + place];
	int fd = *fd_at(session, event, place);
	ssize_t n;

	if (fd < 0 || !(format & PERF_FORMAT_LOST))
		return 0;
	n = read(fd, words, sizeof(words));
	for (; (ssize_t)((at + each) * sizeof(*words)) <= n; at += each) {
		/* Of a group each member is read. */
		if (!(format & PERF_FORMAT_GROUP) || words[at + 1] == id)
			return words[at + each - 1];
	}
	return 0;
}
