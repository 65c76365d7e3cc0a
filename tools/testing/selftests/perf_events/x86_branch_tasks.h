/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Branch records of tasks that take turns on a CPU, and that fork: no record of a user has a branch
 * of another task or of the kernel.
 *
 * BRANCH_SWITCHES in the environment (a kernel parameter) is the number of task switches of each
 * case, instead of a few thousand.
 */
#ifndef PERF_TEST_X86_BRANCH_TASKS_H
#define PERF_TEST_X86_BRANCH_TASKS_H

#include "expect.h"
#include "processes.h"
#include "records.h"
#include "workloads.h"
#include "x86_branch_samples.h"

#define SWITCHES	3000
#define TASK_PERIOD	61	/* shorter than a child before its loop */
#define FORK_TURNS	50	/* a fork in so many turns */
#define READ_TURNS	100	/* the ring buffer holds the samples of that many turns */
#define MAX_PIDS	(4 << 20)

LOOP(other_loop);
LOOP(child_loop);

/* Each task runs one loop, and only that. */
enum { SELF, OTHER, CHILD, NR_LOOPS };

static const uint32_t *const points_of[NR_LOOPS] = {
	branch_loop_points, other_loop_points, child_loop_points,
};

static bool is_child[MAX_PIDS];

/* What has the event: the task and its children, the task that answers, too, or all on the CPU. */
enum counted { OF_SELF, OF_BOTH, OF_CPU };

/* A turn has fewer branches than the registers have entries: those of the turn before remain. */
static inline unsigned long rounds_of_turn(void)
{
	return depth > 16 ? 3 : 1;
}

/* Entries of the kernel on the way to a task, which a sample does not have; half of few entries. */
static inline unsigned int ways_out(void)
{
	return depth < 8 ? depth / 2 : 4;
}

/**
 * struct turns - tasks that take turns, and what was found in their samples
 * @fd: the event
 * @other: the task that answers
 * @go: opened for a turn of @other
 * @back: opened after it
 * @attr: attributes of @fd
 * @ring: buffer of @fd
 * @samples: by the loop of the sampled task
 * @own: entries of this loop
 * @foreign: entries of the other loops
 * @kernel: entries with an address of the kernel
 * @cut: samples without branches of the task before, which the registers had place for
 * @reads: times that the ring was read
 */
struct turns {
	int			fd;
	pid_t			other;
	struct gate		go, back;
	struct perf_event_attr	attr;
	struct ring		ring;
	unsigned long		samples[NR_LOOPS];
	unsigned long		own, foreign, kernel, cut, reads;
};

static inline unsigned long switches_wanted(void)
{
	return env_number("BRANCH_SWITCHES", SWITCHES);
}

static inline void run_other(void)
{
	other_loop(rounds_of_turn());
}

static inline void fork_turn(void)
{
	pid_t pid = MUST(fork());

	if (!pid) {
		child_loop(rounds_of_turn());
		_exit(0);
	}
	is_child[pid % MAX_PIDS] = true;
	waitpid(pid, NULL, 0);
}

/* The loop that the sampled task runs; -1: another program. */
static inline int loop_of(const struct turns *t, pid_t pid)
{
	if (pid == getpid())
		return SELF;
	if (pid == t->other)
		return OTHER;
	return is_child[pid % MAX_PIDS] ? CHILD : -1;
}

static inline bool entry_is_in(const struct perf_branch_entry *e, const uint32_t *at)
{
	return (e->from >= at[CALL] && e->from <= at[RETURN]) ||
	       (e->to >= at[CALL] && e->to <= at[RETURN]);
}

static inline void check_entries(struct turns *t, const struct sample *s)
{
	const struct perf_branch_entry *e = entries_of(s);
	int loop = loop_of(t, s->pid);

	if (loop >= 0)
		t->samples[loop]++;
	t->cut += loop >= 0 && *s->branches < depth - ways_out();
	for (uint64_t i = 0; i < *s->branches; i++) {
		t->kernel += e[i].from >> 63 || e[i].to >> 63;
		for (int other = 0; other < NR_LOOPS; other++) {
			if (!entry_is_in(&e[i], points_of[other]))
				continue;
			t->own += other == loop;
			t->foreign += other != loop;
		}
	}
}

/*
 * The event is disabled meanwhile: reading samples would make new ones. It continues with another
 * period: with one that is in step with the turns, which are alike, some tasks have few samples.
 */
static inline void read_turns(struct turns *t)
{
	uint64_t period = t->attr.sample_period - 2 * (t->reads++ % 8);
	struct sample s;

	event_disable(t->fd);
	MUST(ioctl(t->fd, PERF_EVENT_IOC_PERIOD, &period));
	while (ring_sample(&t->ring, &t->attr, &s))
		check_entries(t, &s);
	event_enable(t->fd);
}

static inline void hand_over(struct turns *t, unsigned long turns)
{
	for (unsigned long i = 1; i <= turns; i++) {
		gate_open(&t->go);
		gate_wait(&t->back);
		branch_loop(rounds_of_turn());
		if (i % FORK_TURNS == 0)
			fork_turn();
		if (i % READ_TURNS == 0)
			read_turns(t);
	}
	read_turns(t);
}

/* The least numbers of samples are a few times lower than those that there are. */
static inline bool turns_are_clean(const struct turns *t, unsigned long turns,
				   enum counted counted)
{
	unsigned long own[NR_LOOPS] = {
		turns / 10, counted == OF_SELF ? 0 : turns / 10, turns / FORK_TURNS / 10,
	};

	ktap_note("%lu turns: samples %lu, other %lu, children %lu, cut %lu; %lu own entries",
		  turns, t->samples[SELF], t->samples[OTHER], t->samples[CHILD], t->cut, t->own);
	for (int i = 0; i < NR_LOOPS; i++)
		if (!expect(t->samples[i] >= own[i], "%lu samples of task %d", t->samples[i], i))
			return false;
	return expect(counted != OF_SELF || !t->samples[OTHER],
		      "samples of a task without an event") &&
	       expect(t->own > turns * rounds_of_turn() / 8, "%lu entries of own loops",
		      t->own) &&
	       expect(t->cut > turns / 100, "%lu samples begin after a switch", t->cut) &&
	       expect_eq("entries of other tasks", t->foreign, 0) &&
	       expect_eq("entries with an address of the kernel", t->kernel, 0);
}

static inline void turns_open(struct turns *t, enum counted counted)
{
	t->attr.inherit = counted != OF_CPU;
	t->fd = MUST(perf_open(&t->attr, counted == OF_CPU ? -1 : 0, 0, -1, 0));
	if (!ring_map(&t->ring, t->fd, 512))
		fail_case("mmap");
}

/* Needs branch records. */
static inline bool turns_show_own_branches(const struct perf_event_attr *attr,
					   enum counted counted)
{
	unsigned long turns = switches_wanted() / 2, switches;
	static struct turns t;
	bool good;

	require_exact_instructions();
	MUST(pin_to_cpu(0));
	t = (struct turns) { .attr = *attr, .go = gate_new(), .back = gate_new() };
	/* What is forked later inherits. */
	if (counted == OF_BOTH)
		turns_open(&t, counted);
	t.other = fork_worker(&t.go, &t.back, run_other);
	if (counted != OF_BOTH)
		turns_open(&t, counted);
	switches = thread_switches();
	event_enable(t.fd);
	hand_over(&t, turns);
	event_disable(t.fd);
	switches = thread_switches() - switches;
	good = expect(switches >= turns, "%lu switches of %lu", (long)switches, turns) &
	       turns_are_clean(&t, turns, counted);
	kill_child(t.other);
	ring_unmap(&t.ring);
	close(t.fd);
	return good;
}

#endif /* PERF_TEST_X86_BRANCH_TASKS_H */
