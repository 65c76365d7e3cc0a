/* SPDX-License-Identifier: GPL-2.0 */
/* The branch trace store: events of the PMU "intel_bts" and the branches that its records have. */
#ifndef PERF_TEST_X86_BTS_H
#define PERF_TEST_X86_BTS_H

#include "expect.h"
#include "processes.h"
#include "x86_branch.h"

LOOP(other_loop);

static int pmu;

/* A switch to another task ends a trace. */
static inline void run_alone(void)
{
	MUST(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 10 }));
}

/* Is a word among the flags of /proc/cpuinfo? */
static inline bool cpu_has_flag(const char *flag)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[8192], *word = NULL;

	while (f && !word && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "flags", 5))
			continue;
		for (word = strtok(line, "\n "); word && strcmp(word, flag); )
			word = strtok(NULL, "\n ");
		break;
	}
	if (f)
		fclose(f);
	return word;
}

/* With page table isolation there is none. */
static inline void need_bts(void)
{
	pmu = perf_pmu_type("intel_bts");
	if (pmu < 0)
		skip_case(cpu_has_flag("pti") ? "no traces with page table isolation" :
						"no PMU intel_bts");
	run_alone();
}

static inline struct perf_event_attr bts_attr(const char *modes)
{
	struct perf_event_attr attr = perf_attr_modes(pmu, 0, modes);

	attr.disabled = 1;
	return attr;
}

static inline int open_bts(const char *modes)
{
	struct perf_event_attr attr = bts_attr(modes);

	return perf_open(&attr, 0, -1, -1, 0);
}

struct bts_record {
	uint64_t	from, to, flags;
};

/* What has been found in a trace of user space. */
struct walk {
	int		last;		/* branch of the round; -1: unknown */
	unsigned int	loop, ends, wrong, kernel, foreign, flags;
};

static inline bool in_loop(const uint32_t *at, uint64_t ip)
{
	return ip >= at[CALL] && ip <= at[RETURN];
}

/* The branch of a round. The return to the caller stands for the branch that is not taken. */
static inline int branch_in_round(const struct bts_record *r)
{
	struct branch b[ROUND];

	branches_of(branch_loop_points, b);
	if (r->from == branch_loop_points[END])
		return ROUND - 1;
	for (int i = 0; i < ROUND; i++)
		if (b[i].from == r->from && b[i].to == r->to)
			return i;
	return -1;
}

static inline void walk_record(struct walk *w, const struct bts_record *r)
{
	int at;

	if (!r->from && !r->to)
		return;
	w->flags += r->flags & ~0x10ull ? 1 : 0;
	w->foreign += in_loop(other_loop_points, r->from) || in_loop(other_loop_points, r->to);
	if (r->to >> 63) {
		w->kernel++;
		return;
	}
	if (!in_loop(branch_loop_points, r->from)) {
		w->wrong += r->from >> 63;
		return;
	}
	at = branch_in_round(r);
	if (at < 0 || at != (w->last + 1) % ROUND)
		if (w->last >= 0 && !w->wrong++)
			ktap_note("branch %u is %#lx/%#lx, after the round's %d", w->loop,
				  (long)r->from, (long)r->to, w->last);
	w->last = at;
	w->loop++;
	w->ends += r->from == branch_loop_points[END];
}

#define NEW_WALK	{ .last = ROUND - 1 }

static inline bool walk_is_exact(const struct walk *w, unsigned int rounds, unsigned int calls)
{
	return expect_eq("branches of the loop", w->loop, rounds * ROUND * calls) &
	       expect_eq("returns from it", w->ends, calls) &
	       expect_eq("wrong ones", w->wrong, 0) &
	       expect_eq("unknown flags", w->flags, 0);
}

#define TURNS	40

static inline void run_other(void)
{
	other_loop(50);
}

static inline void run_mine(void)
{
	branch_loop(15);
}

#endif
