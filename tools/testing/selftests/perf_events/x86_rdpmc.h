/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters that user space reads with RDPMC, tasks that take turns, and the register accesses that
 * QEMU's PMU model reports by CPUID leaf 0x4f504d55, with x-pmu-stats=on.
 */
#ifndef PERF_TEST_X86_RDPMC_H
#define PERF_TEST_X86_RDPMC_H

#include "events.h"
#include "expect.h"
#include "harness.h"
#include "require.h"

static inline uint64_t read_rdpmc(uint32_t index)
{
	uint32_t low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index));
	return low | (uint64_t)high << 32;
}

static inline struct perf_event_mmap_page *map_event(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		fail_case("mmap of an event");
	return page;
}

/* Reads a counter as the manual page describes; false if there is none to read. */
static inline bool read_self(const volatile struct perf_event_mmap_page *page, uint64_t *count)
{
	uint32_t seq, index;
	int64_t pmc = 0;

	do {
		seq = page->lock;
		__sync_synchronize();
		index = page->index;
		*count = page->offset;
		if (page->cap_user_rdpmc && index) {
			pmc = read_rdpmc(index - 1);
			pmc <<= 64 - page->pmc_width;
			pmc >>= 64 - page->pmc_width;
			*count += pmc;
		}
		__sync_synchronize();
	} while (page->lock != seq);
	return index;
}

/* Instructions between the two ways of reading. */
#define READ_SLACK	150

/* RDPMC and read() agree, in either order. */
static inline bool reads_agree(const volatile struct perf_event_mmap_page *page, int fd,
			       const char *when)
{
	uint64_t before, told, after;

	read_self(page, &before);
	told = perf_count(fd);
	read_self(page, &after);
	return expect_between(when, told - before, 0, READ_SLACK) &
	       expect_between(when, after - told, 0, READ_SLACK);
}

static __maybe_unused struct {
	int to_worker[2], to_spy[2];
} turn;

static inline void pass_turn(int *pipe)
{
	MUST(write(pipe[1], "", 1));
}

static inline void await_turn(int *pipe)
{
	char c;

	MUST(read(pipe[0], &c, 1));
}

#define SELECTS		0
#define RDPMCS		8

struct accesses {
	uint64_t reads, writes;
};

static inline struct accesses stats_of(unsigned int kind)
{
	uint32_t a, b, c, d;

	__cpuid_count(X86_MODEL_LEAF, kind, a, b, c, d);
	return (struct accesses){ a | (uint64_t)b << 32, c | (uint64_t)d << 32 };
}

/* Writes of selects, counters, fixed counters, their control, and the global control. */
static inline uint64_t writes_so_far(void)
{
	uint64_t n = 0;

	for (unsigned int kind = SELECTS; kind <= 4; kind++)
		n += stats_of(kind).writes;
	return n;
}

static inline void need_stats(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before;
	int fd;

	require_exact_instructions();
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	before = stats_of(RDPMCS).reads;
	perf_count(fd);
	if (stats_of(RDPMCS).reads - before > 100 || stats_of(RDPMCS).reads == before)
		skip_case("the machine does not count register accesses (x-pmu-stats=on)");
	close(fd);
}

#endif /* PERF_TEST_X86_RDPMC_H */
