/* SPDX-License-Identifier: GPL-2.0 */
/* The arm64 PMU: its name and events, and counters that user space reads. */
#ifndef PERF_TEST_PMUV3_H
#define PERF_TEST_PMUV3_H

#include "events.h"
#include "files.h"
#include "harness.h"
#include "workloads.h"

#include <dirent.h>
#include <sys/mman.h>

#define PMU_DIR		"/sys/bus/event_source/devices/"

#define CYCLES		0x11
#define INSTRUCTIONS	0x08
#define CHAIN		0x1e
#define CONFIG1_LONG	1
#define CONFIG1_RDPMC	2
#define CYCLE_COUNTER	31

static char pmu_name[64];
static int pmu_type;

static inline void need_pmu(void)
{
	struct dirent *entry;
	DIR *dir = opendir(PMU_DIR);

	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "armv8_", 6))
			snprintf(pmu_name, sizeof(pmu_name), "%.60s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!*pmu_name)
		skip_case("no PMUv3");
	pmu_type = perf_pmu_type(pmu_name);
}

/* The PMU's node in the device tree has no interrupt. */
static inline bool pmu_is_mute(void)
{
	return !access("/proc/device-tree/pmu", F_OK) &&
	       access("/proc/device-tree/pmu/interrupts", F_OK);
}

#define READ_CASE(n)							\
	case n:								\
		asm volatile("mrs %0, pmevcntr" #n "_el0" : "=r" (value));	\
		break

/* Reads a counter by its number, the index of the user page less 1. */
static inline uint64_t read_counter(unsigned int n)
{
	uint64_t value = 0;

	switch (n) {
	READ_CASE(0);
	READ_CASE(1);
	READ_CASE(2);
	READ_CASE(3);
	READ_CASE(4);
	READ_CASE(5);
	case CYCLE_COUNTER:
		asm volatile("mrs %0, pmccntr_el0" : "=r" (value));
		break;
	default:
		fail_case("a counter that the machine does not have");
	}
	return value;
}

/* Reads as the manual page describes; false if the page shows no counter. */
static inline bool read_self(volatile struct perf_event_mmap_page *page, uint64_t *count)
{
	uint32_t seq, index;
	int64_t value;

	do {
		seq = page->lock;
		asm volatile("" : : : "memory");
		index = page->index;
		*count = page->offset;
		if (index && page->cap_user_rdpmc) {
			value = (int64_t)(read_counter(index - 1) << (64 - page->pmc_width)) >>
				(64 - page->pmc_width);
			*count += value;
		}
		asm volatile("" : : : "memory");
	} while (seq != page->lock);

	return index;
}

static inline void allow_users(bool allow)
{
	if (sysctl_set("perf_user_access", allow) < 0)
		skip_case("no sysctl kernel.perf_user_access");
}

/* Pins the case to one CPU. */
static inline void need_user_access(void)
{
	need_pmu();
	allow_users(true);
	pin_to_cpu(0);
}

static inline volatile struct perf_event_mmap_page *map_page(int fd)
{
	void *page = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		fail_case("mmap of the user page");
	return page;
}

/* Event counters of older CPUs have 32 bits; user space cannot read two of them as one. */
static inline int open_readable(uint64_t config, uint64_t config1)
{
	struct perf_event_attr attr = perf_attr(pmu_type, config);
	int fd;

	attr.config1 = config1;
	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EOPNOTSUPP && config != CYCLES)
		skip_case("event counters have 32 bits");
	return MUST(fd);
}

#endif /* PERF_TEST_PMUV3_H */
