// SPDX-License-Identifier: GPL-2.0
/*
 * Opens, checks and closes the events of a row. The check at the end of a row is what makes a
 * figure reliable: an event that never ran costs nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "bench.h"

#define COUNT_FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Used in this order; rows that sample use page faults. */
static const uint64_t sw_events[] = {
	PERF_COUNT_SW_PAGE_FAULTS,
	PERF_COUNT_SW_CONTEXT_SWITCHES,
	PERF_COUNT_SW_CPU_MIGRATIONS,
	PERF_COUNT_SW_PAGE_FAULTS_MIN,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	PERF_COUNT_SW_ALIGNMENT_FAULTS,
	PERF_COUNT_SW_EMULATION_FAULTS,
	PERF_COUNT_SW_DUMMY,
};

static const uint64_t hw_events[] = {
	PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_INSTRUCTIONS,
};

/* Slots, retiring, bad speculation, frontend bound, backend bound: of the PMU cpu. */
static const uint64_t topdown_events[] = { 0x400, 0x8000, 0x8100, 0x8200, 0x8300 };

#define SLOTS_FILE	"/sys/bus/event_source/devices/cpu/events/slots"
#define IBS_TYPE	"/sys/bus/event_source/devices/ibs_op/type"
#define IBS_OPS		0x80000		/* of config: not cycles */

static int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			   unsigned long flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static void attr_sampling(struct perf_event_attr *attr, const struct events *ev)
{
	attr->freq = ev->freq;
	attr->sample_period = ev->period;
	attr->sample_type = ev->sample_type;
	/* No wake-ups: these rows are about writing records. */
	attr->watermark = 1;
	attr->wakeup_watermark = (ev->pages ? ev->pages : RING_PAGES) * 4096 - 1;
	if (ev->sample_type & PERF_SAMPLE_REGS_USER)
		attr->sample_regs_user = 0xff;
	if (ev->sample_type & PERF_SAMPLE_STACK_USER)
		attr->sample_stack_user = ev->stack;
	if (ev->branches) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = PERF_SAMPLE_BRANCH_USER | ev->branches;
	}
}

static void attr_sideband(struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->task = 1;
	attr->sample_id_all = 1;
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->watermark = 1;
	attr->wakeup_watermark = RING_PAGES * 4096 - 1;
}

/* That of no PMU: the answer is ENOENT. */
#define NO_TYPE		UINT32_MAX

static uint32_t ibs_type(void)
{
	FILE *file = fopen(IBS_TYPE, "r");
	unsigned int type;
	bool there;

	if (!file)
		return NO_TYPE;
	there = fscanf(file, "%u", &type) == 1;
	fclose(file);
	return there ? type : NO_TYPE;
}

/* Hardware events that have no generic name. */
static void attr_special(struct perf_event_attr *attr, const struct events *ev, unsigned int index)
{
	if (ev->topdown) {
		attr->type = access(SLOTS_FILE, F_OK) ? NO_TYPE : PERF_TYPE_RAW;
		attr->config = topdown_events[index % ARRAY_SIZE(topdown_events)];
	}
	if (ev->ibs) {
		attr->type = ibs_type();
		attr->config = IBS_OPS;
		attr->exclude_kernel = 0;
	}
}

static struct perf_event_attr attr_of(const struct events *ev, bool hw, unsigned int index)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = hw ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.read_format = COUNT_FORMAT,
		.inherit = ev->inherit,
		.disabled = ev->disabled || ev->exec,
		.enable_on_exec = ev->exec,
	};

	attr.config = hw ? hw_events[index % ARRAY_SIZE(hw_events)]
			 : sw_events[index % ARRAY_SIZE(sw_events)];
	if (ev->group)
		attr.read_format |= PERF_FORMAT_GROUP;
	if (ev->sideband)
		attr_sideband(&attr);
	if (ev->period) {
		attr_sampling(&attr, ev);
		/* The samples of the overflow row are then those of its spin. */
		attr.exclude_kernel = hw;
		attr.precise_ip = ev->precise;
		if (ev->precise)
			attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	}
	if (hw)
		attr_special(&attr, ev, index);
	return attr;
}

static bool open_failed(struct run *run, bool hw)
{
	if (hw && (errno == ENOENT || errno == EOPNOTSUPP)) {
		run->skip = true;
		snprintf(run->reason, sizeof(run->reason), "not on this PMU: %s", strerror(errno));
		return false;
	}
	return run_failed(run, "perf_event_open");
}

/* Elsewhere precise_ip is accepted and changes nothing: the row would be another row. */
static bool lacks_precise(struct run *run)
{
	if (!run->row->events.precise ||
	    !access("/sys/bus/event_source/devices/cpu/caps/max_precise", F_OK))
		return false;
	run->skip = true;
	snprintf(run->reason, sizeof(run->reason), "no precise samples on this PMU");
	return true;
}

static bool open_at(struct run *run, bool hw, unsigned int index, pid_t pid, int group,
		    unsigned long flags)
{
	const struct events *ev = &run->row->events;
	struct perf_event_attr attr = attr_of(ev, hw, index);
	int cpu = (ev->cpu || flags & PERF_FLAG_PID_CGROUP) ? 0 : -1;
	int fd;

	if (lacks_precise(run))
		return false;
	if (ev->probe && !probe_attr(run, &attr))
		return false;
	fd = perf_event_open(&attr, ev->cpu ? -1 : pid, cpu, group, flags);
	if (fd < 0)
		return open_failed(run, hw);
	if (run->nr_fds == MAX_FDS) {
		close(fd);
		errno = EMFILE;
		return run_failed(run, "too many events");
	}
	run->fd[run->nr_fds++] = fd;
	return !ev->bpf || probe_set_bpf(run, fd);
}

/* Opens the row's events of one task. */
bool events_open_target(struct run *run, pid_t pid)
{
	const struct events *ev = &run->row->events;
	int first = run->nr_fds;
	unsigned int i;

	for (i = 0; i < ev->sw + ev->hw; i++) {
		int group = ev->group && i ? run->fd[first] : -1;
		bool hw = i >= ev->sw;

		if (!open_at(run, hw, hw ? i - ev->sw : i, pid, group, 0))
			return false;
	}
	return true;
}

static bool open_cgroups(struct run *run)
{
	unsigned int i;

	for (i = 0; i < run->row->events.cgroups; i++) {
		int dir = guest_cgroup(i);
		bool ok;

		if (dir < 0)
			return run_failed(run, "cgroup");
		ok = open_at(run, true, 0, dir, -1, PERF_FLAG_PID_CGROUP);
		close(dir);
		if (!ok)
			return false;
	}
	return true;
}

static size_t map_bytes(const struct run *run)
{
	unsigned int pages = run->row->events.pages;

	return ((pages ? pages : RING_PAGES) + 1) * sysconf(_SC_PAGESIZE);
}

static bool map_one(struct run *run, int index)
{
	void *map = mmap(NULL, map_bytes(run), PROT_READ | PROT_WRITE, MAP_SHARED,
			 run->fd[index], 0);

	if (map == MAP_FAILED)
		return run_failed(run, "mmap of a buffer");
	run->map[index] = map;
	return true;
}

/* Maps the buffers of all open events. */
bool events_map(struct run *run)
{
	int i;

	for (i = 0; i < run->nr_fds; i++) {
		if (!map_one(run, i))
			return false;
	}
	return true;
}

void events_unmap(struct run *run)
{
	int i;

	for (i = 0; i < run->nr_fds; i++) {
		if (run->map[i])
			munmap(run->map[i], map_bytes(run));
		run->map[i] = NULL;
	}
}

/* Maps what the row needs: a buffer for each event, or for the first one. */
static bool map_wanted(struct run *run)
{
	bool ok = true;

	if (run->row->events.pages)
		ok = events_map(run);
	else if (run->row->records)
		ok = map_one(run, 0);
	run->ring = run->row->records ? run->map[0] : NULL;
	return ok;
}

/* Opens all events of the row. */
bool events_open(struct run *run)
{
	const struct events *ev = &run->row->events;

	if (run->row->work->opens)
		return true;
	if (!events_open_target(run, 0))
		return false;
	if (ev->both && !events_open_target(run, run->peer))
		return false;
	if (ev->cgroups && !open_cgroups(run))
		return false;
	return map_wanted(run);
}

/* Opens one event of the row, for rows about opening. */
bool events_open_one(struct run *run, int *fd)
{
	const struct events *ev = &run->row->events;
	struct perf_event_attr attr = attr_of(ev, ev->hw, 0);

	*fd = perf_event_open(&attr, ev->cpu ? -1 : 0, ev->cpu ? 0 : -1, -1, 0);
	return *fd >= 0 || open_failed(run, ev->hw);
}

static bool check_event(struct run *run, int fd, bool *ran)
{
	uint64_t value[3 + MAX_FDS];
	bool group = run->row->events.group;
	ssize_t got = read(fd, value, sizeof(value));
	uint64_t enabled, running;

	if (got < (ssize_t)(3 * sizeof(value[0])))
		return run_failed(run, "read of an event");
	/* A read of a group begins with the number of its members. */
	enabled = value[1];
	running = value[2];
	if (!enabled || running > enabled) {
		errno = 0;
		return run_failed(run, group ? "times of a group" : "times of an event");
	}
	*ran |= running > 0;
	return true;
}

/* Checks that each event was enabled, and that at least one of them had a counter. */
bool events_check(struct run *run)
{
	const struct events *ev = &run->row->events;
	bool ran = false;
	int i;

	for (i = 0; i < run->nr_fds && !ev->disabled; i++) {
		/* Only the first two of the cgroups have a task. */
		if (ev->cgroups && i >= 2)
			break;
		if (ev->group && i % (ev->sw + ev->hw))
			continue;
		if (!check_event(run, run->fd[i], &ran))
			return false;
	}
	errno = 0;
	return !run->nr_fds || ev->disabled || ran || run_failed(run, "no event ever ran");
}

void events_close(struct run *run)
{
	events_unmap(run);
	run->ring = NULL;
	while (run->nr_fds)
		close(run->fd[--run->nr_fds]);
}

static uint64_t ring_walk(struct run *run, uint32_t type)
{
	size_t page = sysconf(_SC_PAGESIZE), size = map_bytes(run) - page;
	const char *data = (const char *)run->ring + page;
	uint64_t head = __atomic_load_n(&run->ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = run->ring->data_tail, found = 0;

	while (at < head) {
		const struct perf_event_header *record = (const void *)(data + at % size);

		if (!record->size)
			break;
		found += record->type == type;
		at += record->size;
	}
	return found;
}

/* Empties all buffers. Returns the number of records of the row's type in the first one. */
uint64_t ring_drain(struct run *run)
{
	uint32_t type = run->row->record_type;
	uint64_t found;
	int i;

	if (!run->ring)
		return 0;
	found = ring_walk(run, type ? type : PERF_RECORD_SAMPLE);
	for (i = 0; i < run->nr_fds; i++) {
		if (run->map[i])
			__atomic_store_n(&run->map[i]->data_tail, run->map[i]->data_head,
					 __ATOMIC_RELEASE);
	}
	return found;
}
