// SPDX-License-Identifier: GPL-2.0
/* Events that every machine has a name for: hardware, software and cache events, as tables. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "names.h"

#define MAX_ALIASES	5

static const struct {
	const char *name[2];
	uint32_t type;
	uint64_t config;
} generic_events[] = {
	{ { "cycles", "cpu-cycles" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ { "instructions" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ { "cache-references" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ { "cache-misses" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ { "branches", "branch-instructions" }, PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ { "branch-misses" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ { "bus-cycles" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ { "stalled-cycles-frontend", "idle-cycles-frontend" }, PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ { "stalled-cycles-backend", "idle-cycles-backend" }, PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ { "ref-cycles" }, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ { "cpu-clock" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ { "task-clock" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ { "page-faults", "faults" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ { "context-switches", "cs" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ { "cpu-migrations", "migrations" }, PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_CPU_MIGRATIONS },
	{ { "minor-faults" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ { "major-faults" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ { "alignment-faults" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ { "emulation-faults" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ { "dummy" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
	{ { "bpf-output" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT },
	{ { "cgroup-switches" }, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES },
};

struct cache_word {
	const char *name[MAX_ALIASES];
};

static const struct cache_word cache_caches[PERF_COUNT_HW_CACHE_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D] = { { "L1-dcache", "l1-d", "l1d", "L1-data" } },
	[PERF_COUNT_HW_CACHE_L1I] = { { "L1-icache", "l1-i", "l1i", "L1-instruction" } },
	[PERF_COUNT_HW_CACHE_LL] = { { "LLC", "L2" } },
	[PERF_COUNT_HW_CACHE_DTLB] = { { "dTLB", "d-tlb", "Data-TLB" } },
	[PERF_COUNT_HW_CACHE_ITLB] = { { "iTLB", "i-tlb", "Instruction-TLB" } },
	[PERF_COUNT_HW_CACHE_BPU] = { { "branch", "branches", "bpu", "btb", "bpc" } },
	[PERF_COUNT_HW_CACHE_NODE] = { { "node" } },
};

static const struct cache_word cache_ops[PERF_COUNT_HW_CACHE_OP_MAX] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { { "load", "loads", "read" } },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { { "store", "stores", "write" } },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { { "prefetch", "prefetches", "speculative-read",
						"speculative-load" } },
};

static const struct cache_word cache_results[PERF_COUNT_HW_CACHE_RESULT_MAX] = {
	[PERF_COUNT_HW_CACHE_RESULT_ACCESS] = { { "refs", "Reference", "ops", "access" } },
	[PERF_COUNT_HW_CACHE_RESULT_MISS] = { { "misses", "miss" } },
};

/**
 * tally_generic_event() - look up a hardware or software event
 * @name: the whole name, any case
 * @attr: gets type and config
 *
 * Return: 0, or -ENOENT.
 */
int tally_generic_event(const char *name, struct perf_event_attr *attr)
{
	for (size_t i = 0; i < sizeof(generic_events) / sizeof(*generic_events); i++) {
		for (int k = 0; k < 2 && generic_events[i].name[k]; k++) {
			if (strcasecmp(name, generic_events[i].name[k]))
				continue;
			attr->type = generic_events[i].type;
			attr->config = generic_events[i].config;
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * The row of the longest alias that starts @at and ends at a '-' or at the end; @at moves behind
 * it. -1 if there is none.
 */
static int match_cache_word(const struct cache_word *words, int rows, const char **at)
{
	size_t longest = 0;
	int found = -1;

	for (int row = 0; row < rows; row++) {
		for (int k = 0; k < MAX_ALIASES && words[row].name[k]; k++) {
			size_t length = strlen(words[row].name[k]);

			if (length <= longest || strncasecmp(*at, words[row].name[k], length) ||
			    ((*at)[length] && (*at)[length] != '-'))
				continue;
			longest = length;
			found = row;
		}
	}
	*at += longest;
	return found;
}

/**
 * tally_cache_event() - look up CACHE[-OPERATION][-RESULT]
 * @name: the whole name, any case; operation and result in either order
 * @attr: gets type and config
 *
 * Return: 0, or -ENOENT.
 */
int tally_cache_event(const char *name, struct perf_event_attr *attr)
{
	int op = -1, result = -1;
	int cache = match_cache_word(cache_caches, PERF_COUNT_HW_CACHE_MAX, &name);

	if (cache < 0)
		return -ENOENT;
	while (*name == '-') {
		name++;
		if (op < 0) {
			op = match_cache_word(cache_ops, PERF_COUNT_HW_CACHE_OP_MAX, &name);
			if (op >= 0)
				continue;
		}
		if (result >= 0)
			return -ENOENT;
		result = match_cache_word(cache_results, PERF_COUNT_HW_CACHE_RESULT_MAX, &name);
		if (result < 0)
			return -ENOENT;
	}
	if (*name)
		return -ENOENT;
	if (op < 0)
		op = PERF_COUNT_HW_CACHE_OP_READ;
	if (result < 0)
		result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	attr->type = PERF_TYPE_HW_CACHE;
	attr->config = cache | op << 8 | result << 16;
	return 0;
}
