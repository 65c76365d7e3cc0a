// SPDX-License-Identifier: GPL-2.0
/*
 * Branches of precise samples, which adaptive records have: those before the instruction of the
 * sample, of its task alone, with many samples to one interrupt.
 */
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "workloads.h"

#ifdef __x86_64__
#include "interrupts.h"
#include "x86_branch.h"

#define CAPS_PRECISE	"/sys/bus/event_source/devices/cpu/caps/max_precise"
/* Samples between two interrupts: a store of 64 KiB, records of some 100 words. */
#define LEAST_RECORDS	40
#define TURNS		300
#define TURN_PERIOD	23
#define ROUNDS_OF_TURN	3	/* fewer branches than the registers have entries */

LOOP(other_branch_loop);

static struct perf_event_attr precise_branch_attr(uint64_t type)
{
	struct perf_event_attr attr = branch_attr(type);
	char line[32];

	need_branches();
	require_exact_instructions();
	if (read_line(CAPS_PRECISE, line, sizeof(line)) <= 0 || !atoi(line))
		skip_case("no precise samples");
	attr.precise_ip = atoi(line);
	return attr;
}

static bool is_in_loop(uint64_t at, const uint32_t *points)
{
	return at >= points[CALL] && at <= points[RETURN];
}

/* What the samples of an event in a loop show. */
struct tally {
	unsigned int	samples, inside, entries, wrong, late, other_records;
};

/*
 * The newest branch is that of the sampled instruction, or has led to the straight code with it:
 * the branch behind that is the next one.
 */
static bool newest_fits(const struct sample *s, const struct perf_branch_entry *e)
{
	struct branch all[ROUND];
	int at;

	branches_of(branch_loop_points, all);
	at = position_of(e, all, ROUND);
	if (at < 0)
		return false;
	return s->ip == e->from || (s->ip >= e->to && s->ip <= all[(at + 1) % ROUND].from);
}

static void tally_sample(struct tally *t, const struct sample *s, uint64_t type)
{
	const struct perf_branch_entry *e = (void *)(s->branches + 1);
	struct branch b[ROUND];
	unsigned int n, nr = *s->branches, good;

	t->samples++;
	/* At the first and the last rounds there are the branches from and to the loop. */
	if (!is_in_loop(s->ip, branch_loop_points) || nr < depth / 4 ||
	    !is_in_loop(e[nr - 1].from, branch_loop_points))
		return;
	t->inside++;
	n = select_branches(branch_loop_points, type, b);
	good = follow(e, nr, b, n);
	if (good != nr && !t->wrong++)
		ktap_note("sample at %#lx: entry %u is %#lx to %#lx", (long)s->ip, good,
			  (long)e[good].from, (long)e[good].to);
	t->entries += nr;
	t->late += type & PERF_SAMPLE_BRANCH_ANY && !newest_fits(s, e);
}

static unsigned int sample_loop(struct perf_event_attr *attr, struct tally *t)
{
	int fd = open_self(attr, -1);
	struct perf_event_header *h;
	unsigned int interrupts;
	struct ring ring;

	*t = (struct tally){ 0 };
	if (!ring_map(&ring, fd, 256))
		fail_case("mmap");
	interrupts = pmis();
	event_enable(fd);
	branch_loop(ROUNDS);
	event_disable(fd);
	interrupts = pmis() - interrupts;
	while ((h = ring_next(&ring))) {
		struct sample s;

		if (h->type != PERF_RECORD_SAMPLE) {
			t->other_records++;
			continue;
		}
		sample_parse(&s, h, attr);
		tally_sample(t, &s, attr->branch_sample_type);
	}
	ring_unmap(&ring);
	close(fd);
	return interrupts;
}

/* @all: the entries of a sample are as many as the registers. */
static bool tally_is_exact(const char *what, const struct tally *t, bool all)
{
	return expect(t->samples > 200, "%s: %u samples", what, t->samples) &
	       expect(t->inside * 20 >= t->samples * 19, "%s: %u of %u samples in the loop", what,
		      t->inside, t->samples) &
	       expect(all ? t->entries >= t->inside * (depth - 1) : t->entries >= t->inside,
		      "%s: %u entries in %u samples", what, t->entries, t->inside) &
	       expect_eq("samples with a wrong entry", t->wrong, 0) &
	       expect_eq("samples after whose instruction there were branches", t->late, 0) &
	       expect_eq("other records", t->other_records, 0);
}

static bool branches_are_those_before(void)
{
	struct perf_event_attr attr = precise_branch_attr(FORM_ANY);
	unsigned int interrupts;
	struct tally t;

	MUST(pin_to_cpu(0));
	interrupts = sample_loop(&attr, &t);
	return tally_is_exact("any", &t, true) &
	       expect(interrupts * LEAST_RECORDS <= t.samples, "%u interrupts of %u samples",
		      interrupts, t.samples);
}

/* What cannot be had from a record interrupts for each, with the branches of the record. */
static bool branches_are_there_with_chains(void)
{
	struct perf_event_attr attr = precise_branch_attr(FORM_ANY);
	unsigned int interrupts;
	struct tally t;

	MUST(pin_to_cpu(0));
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	interrupts = sample_loop(&attr, &t);
	return tally_is_exact("any", &t, true) &
	       expect_between("interrupts", interrupts, t.samples, t.samples + 20);
}

static bool filters_apply(void)
{
	static const struct {
		const char	*name;
		uint64_t	type;
	} c[] = {
		{ "any_call",	PERF_SAMPLE_BRANCH_ANY_CALL },
		{ "any_ret",	PERF_SAMPLE_BRANCH_ANY_RETURN },
		{ "ind_call",	PERF_SAMPLE_BRANCH_IND_CALL },
		{ "cond",	PERF_SAMPLE_BRANCH_COND },
	};
	bool good = true;

	MUST(pin_to_cpu(0));
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		struct perf_event_attr attr =
			precise_branch_attr(PERF_SAMPLE_BRANCH_USER | c[i].type);
		struct tally t;

		sample_loop(&attr, &t);
		good &= tally_is_exact(c[i].name, &t, false);
	}
	return good;
}

/* The branches of the loop that the other task runs, and of the kernel. */
static void count_foreign(const struct sample *s, const uint32_t *foreign, unsigned int *bad,
			  unsigned int *own)
{
	const struct perf_branch_entry *e = (void *)(s->branches + 1);

	for (uint64_t i = 0; i < *s->branches; i++) {
		bool is_foreign = is_in_loop(e[i].from, foreign) || is_in_loop(e[i].to, foreign) ||
				  e[i].from >> 63 || e[i].to >> 63;

		*bad += is_foreign;
		*own += !is_foreign;
	}
}

/* This task and another one take turns; the event is of the task or of the CPU. */
static bool turns_are_clean(bool of_cpu)
{
	struct perf_event_attr attr = precise_branch_attr(FORM_ANY);
	unsigned int samples[2] = { 0 }, bad = 0, own = 0;
	struct gate go = gate_new(), back = gate_new();
	struct perf_event_header *h;
	struct ring ring;
	pid_t other;
	int fd;

	MUST(pin_to_cpu(0));
	other = fork_child();
	if (!other) {
		for (int i = 0; i < TURNS; i++) {
			gate_wait(&go);
			other_branch_loop(ROUNDS_OF_TURN);
			gate_open(&back);
		}
		_exit(0);
	}
	attr.sample_period = TURN_PERIOD;
	fd = MUST(perf_open(&attr, of_cpu ? -1 : 0, of_cpu ? 0 : -1, -1, 0));
	if (!ring_map(&ring, fd, 2048))
		fail_case("mmap");
	event_enable(fd);
	for (int i = 0; i < TURNS; i++) {
		gate_open(&go);
		gate_wait(&back);
		branch_loop(ROUNDS_OF_TURN);
	}
	event_disable(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		if ((pid_t)s.pid == getpid()) {
			samples[0]++;
			count_foreign(&s, other_branch_loop_points, &bad, &own);
		} else if ((pid_t)s.pid == other) {
			samples[1]++;
			count_foreign(&s, branch_loop_points, &bad, &own);
		}
	}
	ring_unmap(&ring);
	close(fd);
	return expect(child_succeeded(other), "the other task") &
	       expect(samples[0] > TURNS, "%u samples of this task", samples[0]) &
	       expect(of_cpu ? samples[1] > TURNS : !samples[1], "%u of the other", samples[1]) &
	       expect(own > samples[0] * 4, "%u own entries", own) &
	       expect_eq("entries of the other task or the kernel", bad, 0);
}

static bool tasks_have_own_branches(void)
{
	return turns_are_clean(false);
}

static bool tasks_of_cpu_have_own_branches(void)
{
	return turns_are_clean(true);
}

static const struct test tests[] = {
	{ "branches of records are those before their instructions", branches_are_those_before },
	{ "records that interrupt each have them, too", branches_are_there_with_chains },
	{ "filters apply to branches of records", filters_apply },
	{ "an event of a task has no branch of another task", tasks_have_own_branches },
	{ "an event of a CPU has no branch of another task", tasks_of_cpu_have_own_branches },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branches of precise samples", "not an x86")
#endif
