/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of branch_loop(): how many are taken, and what the registers hold at each of them. The
 * newest branch follows from the address of a sample, the branches that are logged from the filter
 * and the part.
 */
#ifndef PERF_TEST_X86_BRANCH_SAMPLES_H
#define PERF_TEST_X86_BRANCH_SAMPLES_H

#include "expect.h"
#include "interrupts.h"
#include "records.h"
#include "workloads.h"
#include "x86_branch.h"

/* BRANCH_SAMPLES in the environment, a kernel parameter; without it one turn is enough. */
static inline unsigned int samples_wanted(void)
{
	return env_number("BRANCH_SAMPLES", 1);
}

/*
 * Opens an event of this task. Returns -1 for a selection that the part has to refuse; any other
 * refusal fails the case.
 */
static inline int open_selection(struct perf_event_attr *attr, const char *name)
{
	bool lacks = part_lacks(attr->branch_sample_type);
	int fd = perf_open(attr, 0, -1, -1, 0);

	if (lacks) {
		if (!expect_errno(name, fd, EOPNOTSUPP))
			fail_case("a selection that this part cannot have");
		return -1;
	}
	if (fd < 0)
		fail_case(name);
	return fd;
}

/**
 * typedef sample_fn - look at a sample
 * @s: the sample
 * @first: no other sample has been taken since the event was enabled
 * @data: of the caller of sample_loop()
 */
typedef void sample_fn(const struct sample *s, bool first, void *data);

/* The entries of a sample without HW_INDEX, newest first. */
static inline const struct perf_branch_entry *entries_of(const struct sample *s)
{
	return (const struct perf_branch_entry *)(s->branches + 1);
}

/* The next sample. There are no other records but those of samples that are missing. */
static inline bool ring_sample(struct ring *ring, const struct perf_event_attr *attr,
			       struct sample *s)
{
	struct perf_event_header *h = ring_next(ring);

	if (!h)
		return false;
	errno = EBADMSG;
	if (h->type != PERF_RECORD_SAMPLE) {
		ktap_note("a record of type %u among the samples", h->type);
		fail_case("samples lost or throttled");
	}
	if (!sample_parse(s, h, attr) &&
	    !(attr->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS))
		fail_case("the fields of a sample");
	return true;
}

/**
 * struct sampling - how a loop is sampled
 * @fd: the event
 * @attr: its attributes, with a period
 * @loop: what is sampled
 * @rounds: argument of @loop in each turn
 * @wanted: turns end with so many samples, or with a turn without any
 * @losses: one of so many samples can be missing; 0: none
 */
struct sampling {
	int				fd;
	const struct perf_event_attr	*attr;
	void				(*loop)(unsigned long rounds);
	unsigned long			rounds;
	unsigned int			wanted, losses;
};

/* As most cases do. */
static inline struct sampling sampling_of(int fd, const struct perf_event_attr *attr)
{
	return (struct sampling){
		.fd = fd, .attr = attr, .loop = branch_loop, .rounds = ROUNDS,
		.wanted = samples_wanted(),
	};
}

/* What has been counted in a turn has as many periods as there are samples, but for one. */
static inline void check_number(const struct sampling *how, uint64_t count, unsigned int samples)
{
	uint64_t periods = count / how->attr->sample_period;
	uint64_t losses = how->losses ? periods / how->losses : 0;

	errno = ERANGE;
	if (!expect(samples <= periods + 1 && samples + 1 + losses >= periods,
		    "%u samples of %lu periods", samples, (long)periods))
		fail_case("the number of samples");
}

/* Runs the loop in turns; returns the number of samples. */
static inline unsigned int sample_loop(const struct sampling *how, sample_fn *look, void *data)
{
	unsigned int samples = 0, turn;
	uint64_t count = perf_count(how->fd), before;
	struct ring ring;

	if (!ring_map(&ring, how->fd, 256))
		fail_case("mmap");
	do {
		struct sample s;

		event_enable(how->fd);
		how->loop(how->rounds);
		event_disable(how->fd);
		for (turn = 0; ring_sample(&ring, how->attr, &s); turn++)
			look(&s, !turn, data);
		before = count;
		count = perf_count(how->fd);
		check_number(how, count - before, turn);
		samples += turn;
	} while (samples < how->wanted && turn);
	ring_unmap(&ring);
	return samples;
}

/*
 * What leaves fewer entries in the next sample of this task: its switches, and the interrupts of
 * all CPUs but those of samples.
 */
static inline uint64_t disturbances(void)
{
	return thread_switches() + interrupts_of("") - interrupts_of("NMI:") - pmis();
}

/* ------------------------------------------------------------------ what is selected */

/**
 * struct selection - which branches of a round a filter names, as sets of their positions
 * @round: all branches of a round
 * @named: those that samples have
 * @logged: those that take an entry of the registers
 */
struct selection {
	struct branch	round[ROUND];
	unsigned int	named, logged;
};

static inline unsigned int positions_of(const struct branch *round, uint64_t kinds)
{
	unsigned int set = 0;

	for (unsigned int i = 0; i < ROUND; i++)
		if (kinds & PERF_SAMPLE_BRANCH_ANY || round[i].flags & kinds)
			set |= 1 << i;
	return set;
}

static inline unsigned int positions_of_jumps(const struct branch *round)
{
	unsigned int set = 0;

	for (unsigned int i = 0; i < ROUND; i++)
		if (!round[i].flags || round[i].flags & PERF_SAMPLE_BRANCH_IND_JUMP)
			set |= 1 << i;
	return set;
}

static inline struct selection selection_of(const uint32_t *at, uint64_t type)
{
	uint64_t with_jumps = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN;
	uint64_t kinds = named_kinds(type) | (type & PERF_SAMPLE_BRANCH_ANY);
	unsigned int part = part_of_cpu();
	struct selection s = { 0 };

	branches_of(at, s.round);
	s.named = positions_of(s.round, kinds);
	s.logged = s.named;
	if (part == NO_FILTER)
		s.logged = (1 << ROUND) - 1;
	if (part == NEHALEM && type & PERF_SAMPLE_BRANCH_IND_CALL)
		s.logged |= positions_of(s.round, PERF_SAMPLE_BRANCH_IND_JUMP);
	if (part == NEHALEM && type & with_jumps)
		s.logged |= positions_of_jumps(s.round);
	return s;
}

/* Does the hardware log what the filter names, and no more? */
static inline bool selection_is_exact(const struct selection *s)
{
	return s->logged == s->named;
}

/* Positions in a round. */
enum { BY_CALL, BY_RETURN, BY_IND_CALL, BY_RETURN_2, BY_IND_JUMP, BY_JUMP, BY_COND };

/*
 * The newest branch before the instruction at @ip; -1: it is not in the loop. Two calls lead to the
 * same code: the second one is @or, which else is the same.
 */
static inline int newest_in_round(const uint32_t *at, uint64_t ip, int *or)
{
	int newest = -1;

	if (ip == at[CALL])
		newest = BY_COND;
	if (ip == at[IND_CALL] - 1 || ip == at[IND_CALL])
		newest = BY_RETURN;
	if (ip == at[IND_JUMP])
		newest = BY_RETURN_2;
	if (ip == at[PLACE] || ip == at[JUMP])
		newest = BY_IND_JUMP;
	if (ip == at[TAIL] || ip == at[COND] || ip == at[END])
		newest = BY_JUMP;
	*or = newest;
	if (ip == at[TARGET] || ip == at[RETURN]) {
		newest = BY_CALL;
		*or = BY_IND_CALL;
	}
	return newest;
}

/*
 * Compares entries with those that the registers hold when the branch at position @newest is the
 * newest one; returns how many agree, and in @expected how many there are after many rounds.
 */
static inline unsigned int compare_from(const struct perf_branch_entry *e, unsigned int nr,
					const struct selection *sel, int newest,
					unsigned int *expected)
{
	unsigned int logged = 0, good = 0;
	bool agrees = true;

	*expected = 0;
	for (int i = newest; logged < depth; i = (i + ROUND - 1) % ROUND) {
		logged += sel->logged >> i & 1;
		if (!(sel->named >> i & 1))
			continue;
		agrees &= *expected < nr && e[*expected].from == sel->round[i].from &&
			  e[*expected].to == sel->round[i].to;
		good += agrees;
		++*expected;
	}
	return good;
}

/* The same by the address of the sample, which has to be in the loop. */
static inline unsigned int compare_entries(const struct sample *s,
					   const struct perf_branch_entry *e,
					   const struct selection *sel, const uint32_t *at,
					   unsigned int *expected)
{
	unsigned int good, other, more;
	int or, newest = newest_in_round(at, s->ip, &or);

	if (newest < 0)
		fail_case("a sample that is not in the loop");
	good = compare_from(e, *s->branches, sel, newest, expected);
	other = compare_from(e, *s->branches, sel, or, &more);
	if (other > good || (other == good && more < *expected)) {
		*expected = more;
		good = other;
	}
	return good;
}

#endif /* PERF_TEST_X86_BRANCH_SAMPLES_H */
