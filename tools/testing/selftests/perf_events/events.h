/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes of events, opening them, counting with them, and PMUs by name. */
#ifndef PERF_TEST_EVENTS_H
#define PERF_TEST_EVENTS_H

#include "files.h"
#include "harness.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <linux/perf_event.h>

/* perf_event_open(2); -1 and errno on failure. */
static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			    unsigned long flags)
{
	return syscall(__NR_perf_event_open, attr, pid, cpu, group, flags);
}

/* An attribute with nothing else set: the event counts from the start, in all modes. */
static inline struct perf_event_attr perf_attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr;

	/* memset, not an initializer: the kernel reads the padding as well. */
	memset(&attr, 0, sizeof(attr));
	attr.type = type;
	attr.size = sizeof(attr);
	attr.config = config;
	return attr;
}

/* @modes: what is counted, "u" (user space), "k" (kernel) or "uk". Disabled. */
static inline struct perf_event_attr perf_attr_modes(uint32_t type, uint64_t config,
						     const char *modes)
{
	struct perf_event_attr attr = perf_attr(type, config);

	attr.disabled = 1;
	attr.exclude_user = !strchr(modes, 'u');
	attr.exclude_kernel = !strchr(modes, 'k');
	attr.exclude_hv = attr.exclude_kernel;
	return attr;
}

/* A generic hardware event; disabled. */
static inline struct perf_event_attr hw_attr(uint64_t config, const char *modes)
{
	return perf_attr_modes(PERF_TYPE_HARDWARE, config, modes);
}

/* A software event that counts from the start, in all modes. */
static inline struct perf_event_attr sw_attr(uint64_t config)
{
	return perf_attr(PERF_TYPE_SOFTWARE, config);
}

/* Opens an event of the calling thread on any CPU; fails the case if that fails. */
static inline int open_self(struct perf_event_attr *attr, int group)
{
	return MUST(perf_open(attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
}

/* True if such an event of the calling thread in user space can be opened. */
static inline bool event_available(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = perf_attr(type, config);
	int fd;

	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static inline void event_enable(int fd)
{
	MUST(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
}

static inline void event_disable(int fd)
{
	MUST(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
}

/* The id of an event, as PERF_FORMAT_ID and PERF_SAMPLE_ID show it. */
static inline uint64_t event_id(int fd)
{
	uint64_t id = 0;

	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &id));
	return id;
}

/* The count of an event with read_format 0; UINT64_MAX if it cannot be read. */
static inline uint64_t perf_count(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : UINT64_MAX;
}

/* The type of the PMU of this name in sysfs; -1: no such PMU. */
static inline int perf_pmu_type(const char *name)
{
	char path[128], line[32];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	return read_line(path, line, sizeof(line)) > 0 ? atoi(line) : -1;
}

/* The number of pinned events that can count at once; reading one that cannot gives end of file. */
static inline unsigned int max_pinned_events(uint64_t hw_event)
{
	struct perf_event_attr attr = hw_attr(hw_event, "u");
	unsigned int nr = 0, fit = 0;
	uint64_t value;
	int fd[40];

	attr.pinned = 1;
	attr.disabled = 0;
	for (; nr < ARRAY_SIZE(fd); nr++)
		fd[nr] = open_self(&attr, -1);
	while (nr)
		fit += read(fd[--nr], &value, sizeof(value)) == sizeof(value);
	for (; nr < ARRAY_SIZE(fd); nr++)
		close(fd[nr]);
	return fit;
}

/* The number of events of this kind that can count at once: the size of the largest group. */
static inline unsigned int max_group_size(uint64_t hw_event)
{
	struct perf_event_attr attr = hw_attr(hw_event, "u");
	unsigned int n;
	int fd[64];

	/* Disabled siblings need no counter. */
	attr.disabled = 0;
	fd[0] = open_self(&attr, -1);
	for (n = 1; n < ARRAY_SIZE(fd); n++) {
		fd[n] = perf_open(&attr, 0, -1, fd[0], 0);
		if (fd[n] < 0)
			break;
	}
	for (unsigned int i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

#endif /* PERF_TEST_EVENTS_H */
