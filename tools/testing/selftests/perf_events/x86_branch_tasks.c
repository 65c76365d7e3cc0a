// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records of tasks that take turns on a CPU, and that fork: no record of a user has a branch
 * of another task or of the kernel. Instructions are the clock of the machine.
 *
 * BRANCH_SWITCHES in the environment (a kernel parameter) is the number of task switches of each
 * case, instead of a few thousand.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include <sys/resource.h>
#include "x86_branch.h"

#define SWITCHES	3000
#define CPU_PERIOD	311	/* less than two turns of a task */
#define TASK_PERIOD	61	/* shorter than a child before its loop */
#define FORK_TURNS	50	/* a fork in so many turns */
#define READ_TURNS	100	/* the ring buffer holds the samples of that many turns */
#define WAYS_OUT	4	/* entries of the kernel, which a sample does not have */
#define MAX_PIDS	(4 << 20)

LOOP(other_loop);
LOOP(child_loop);

/* Each task runs one loop, and only that. */
enum { SELF, OTHER, CHILD, NR_LOOPS };

static const uint32_t *const points_of[NR_LOOPS] = {
	branch_loop_points, other_loop_points, child_loop_points,
};

static bool is_child[MAX_PIDS];

/* A turn has fewer branches than the registers have entries: those of the turn before remain. */
static unsigned long rounds_of_turn(void)
{
	return depth > 16 ? 3 : 1;
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
 * @lost: records that report others as lost
 * @reads: times that the ring was read
 */
struct turns {
	int			fd;
	pid_t			other;
	struct gate		go, back;
	struct perf_event_attr	attr;
	struct ring		ring;
	unsigned long		samples[NR_LOOPS];
	unsigned long		own, foreign, kernel, cut, lost, reads;
};

static unsigned long switches_wanted(void)
{
	return env_number("BRANCH_SWITCHES", SWITCHES);
}

static void run_other(void)
{
	other_loop(rounds_of_turn());
}

static void fork_turn(void)
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
static int loop_of(const struct turns *t, pid_t pid)
{
	if (pid == getpid())
		return SELF;
	if (pid == t->other)
		return OTHER;
	return is_child[pid % MAX_PIDS] ? CHILD : -1;
}

static bool entry_is_in(const struct perf_branch_entry *e, const uint32_t *at)
{
	return (e->from >= at[CALL] && e->from <= at[RETURN]) ||
	       (e->to >= at[CALL] && e->to <= at[RETURN]);
}

static void check_entries(struct turns *t, const struct sample *s)
{
	const struct perf_branch_entry *e = (void *)(s->branches + 1);
	int loop = loop_of(t, s->pid);

	if (loop >= 0)
		t->samples[loop]++;
	t->cut += loop >= 0 && *s->branches < depth - WAYS_OUT;
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
static void read_turns(struct turns *t)
{
	uint64_t period = t->attr.sample_period - 2 * (t->reads++ % 8);
	struct perf_event_header *h;

	event_disable(t->fd);
	MUST(ioctl(t->fd, PERF_EVENT_IOC_PERIOD, &period));
	while ((h = ring_next(&t->ring))) {
		struct sample s;

		t->lost += h->type == PERF_RECORD_LOST || h->type == PERF_RECORD_THROTTLE;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		sample_parse(&s, h, &t->attr);
		check_entries(t, &s);
	}
	event_enable(t->fd);
}

static void hand_over(struct turns *t, unsigned long turns)
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

static unsigned long switches_of_self(void)
{
	struct rusage usage;

	MUST(getrusage(RUSAGE_SELF, &usage));
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* The least numbers of samples are a few times lower than those that there are. */
static bool turns_are_clean(const struct turns *t, unsigned long turns, bool of_cpu)
{
	unsigned long own[NR_LOOPS] = {
		turns / 10, of_cpu ? turns / 10 : 0, turns / FORK_TURNS / 10,
	};

	ktap_note("%lu turns: samples %lu, other %lu, children %lu, cut %lu; %lu own entries",
		  turns, t->samples[SELF], t->samples[OTHER], t->samples[CHILD], t->cut, t->own);
	for (int i = 0; i < NR_LOOPS; i++)
		if (!expect(t->samples[i] >= own[i], "%lu samples of task %d", t->samples[i], i))
			return false;
	return expect(of_cpu || !t->samples[OTHER], "samples of a task without an event") &&
	       expect(t->own > turns * rounds_of_turn() / 3, "%lu entries of own loops",
		      t->own) &&
	       expect(t->cut > turns / 100, "%lu samples begin after a switch", t->cut) &&
	       expect_eq("records lost or throttled", t->lost, 0) &&
	       expect_eq("entries of other tasks", t->foreign, 0) &&
	       expect_eq("entries with an address of the kernel", t->kernel, 0);
}

static bool turns_show_own_branches(uint64_t type, bool of_cpu)
{
	unsigned long turns = switches_wanted() / 2, before;
	static struct turns t;
	bool good;

	need_branches();
	require_exact_instructions();
	MUST(pin_to_cpu(0));
	t = (struct turns) { .attr = branch_attr(type), .go = gate_new(), .back = gate_new() };
	t.attr.sample_period = of_cpu ? CPU_PERIOD : TASK_PERIOD;
	t.attr.inherit = !of_cpu;
	t.other = fork_worker(&t.go, &t.back, run_other);
	t.fd = MUST(perf_open(&t.attr, of_cpu ? -1 : 0, 0, -1, 0));
	if (!ring_map(&t.ring, t.fd, 512))
		fail_case("mmap");
	before = switches_of_self();
	event_enable(t.fd);
	hand_over(&t, turns);
	event_disable(t.fd);
	good = expect(switches_of_self() - before >= turns, "%lu switches of %lu",
		      switches_of_self() - before, turns) &
	       turns_are_clean(&t, turns, of_cpu);
	kill_child(t.other);
	ring_unmap(&t.ring);
	close(t.fd);
	return good;
}

static bool tasks_have_their_own(void)
{
	return turns_show_own_branches(FORM_ANY, false);
}

static bool cpu_has_those_of_its_task(void)
{
	return turns_show_own_branches(FORM_ANY, true);
}

static bool returns_are_of_the_task(void)
{
	return turns_show_own_branches(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY_RETURN,
				       true);
}

static const struct test tests[] = {
	{ "tasks and their children have branches of their own", tasks_have_their_own },
	{ "samples of a CPU have branches of the task that runs", cpu_has_those_of_its_task },
	{ "so have samples with the branches of a filter", returns_are_of_the_task },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch records of tasks", "not an x86")
#endif
