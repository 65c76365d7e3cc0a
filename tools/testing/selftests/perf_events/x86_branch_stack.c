// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records in call-stack mode: the calls in the registers are the chain of frame pointers, of
 * each task and whatever recorded before. Instructions are the clock of the machine.
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
#include "x86_branch.h"

#define FORM_STACK	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK)
#define LEVELS		10
#define CALLERS		3	/* in a chain, behind its length, the context and the address */
#define WALKS		200
#define NO_SAMPLES	1000000000000ull

extern const char stack_bottom[];

/* What a task does at the bottom of its stack before it takes samples there. */
static void (*at_bottom)(void);

/* At another level it does that before the calls of the levels below, which follow then. */
static unsigned int bottom_level;

#define WITH_FRAMES	\
	__attribute__((optimize("no-omit-frame-pointer", "no-shrink-wrap")))

/*
 * A stack of calls: each level calls the next from two places, so that chains differ. The loop at
 * the bottom takes samples.
 */
WITH_FRAMES static noinline void stack_level(unsigned int level, unsigned long path)
{
	if (level == bottom_level && at_bottom)
		at_bottom();
	if (!level) {
		unsigned long n = 600;

		/* Here the frame is complete. */
		asm volatile("stack_bottom: dec %0; jnz stack_bottom" : "+r" (n) : : "cc");
	} else if (path & 1) {
		stack_level(level - 1, path >> 1);
		asm volatile("nop" : : : "memory");
	} else {
		stack_level(level - 1, path >> 1);
	}
	asm volatile("" : : : "memory");
}

/* The paths of two tasks, @other 0 and 1, are never the same. */
WITH_FRAMES static noinline void stack_walks(unsigned int levels, unsigned int other)
{
	for (unsigned int path = 0; path < WALKS; path++)
		stack_level(levels, path * 2654435761u << 1 | other);
}

static void walk(void)
{
	stack_walks(LEVELS, 0);
}

/*
 * The calls in the registers against the chain of frame pointers: each return address is 5 bytes,
 * the length of a call, behind the address of the call. @least: how many calls must be there.
 */
static bool stack_is_chain(const struct sample *s, unsigned int least)
{
	const struct perf_branch_entry *e = (void *)(s->branches + 1);
	uint64_t nr = *s->branches;

	for (uint64_t i = 0; i < nr && i < LEVELS; i++)
		if (s->callchain[CALLERS + i] != e[i].from + 5)
			return false;
	return nr >= least;
}

/**
 * struct stacks - an event in call-stack mode and its samples
 * @attr: its attributes
 * @fd: the event
 * @ring: its buffer
 * @samples: those at the bottom of a stack
 * @wrong: those with a stack that is not the chain
 */
struct stacks {
	struct perf_event_attr	attr;
	int			fd;
	struct ring		ring;
	unsigned int		samples, wrong;
};

static void stacks_open(struct stacks *t, pid_t pid, int cpu)
{
	t->attr = branch_attr(FORM_STACK);
	t->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	t->attr.exclude_callchain_kernel = 1;
	t->fd = perf_open(&t->attr, pid, cpu, -1, 0);
	if (t->fd < 0 && errno == EOPNOTSUPP)
		skip_case("no call-stack mode");
	MUST(t->fd);
	if (!ring_map(&t->ring, t->fd, 256))
		fail_case("mmap");
	event_enable(t->fd);
}

/*
 * The samples of @pid, 0: of all tasks, that are at the bottom of a stack. Those of other tasks
 * have all calls of their stacks.
 */
static void stacks_count_of(struct stacks *t, pid_t pid, unsigned int least, unsigned int most)
{
	struct perf_event_header *h;

	event_disable(t->fd);
	while ((h = ring_find(&t->ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &t->attr);
		if (s.ip - (uint64_t)stack_bottom > 3)
			continue;
		t->samples++;
		if (pid && (pid_t)s.pid != pid)
			t->wrong += !stack_is_chain(&s, LEVELS);
		else
			t->wrong += !stack_is_chain(&s, least) || *s.branches > most;
	}
}

static void stacks_count(struct stacks *t, unsigned int least)
{
	stacks_count_of(t, 0, least, depth);
}

static bool stacks_are_right(struct stacks *t, const char *what, unsigned int least)
{
	stacks_count(t, least);
	return expect(t->samples > WALKS / 4, "%s: %u samples at the bottom", what, t->samples) &&
	       expect_eq(what, t->wrong, 0);
}

static void need_stacks(void)
{
	need_branches();
	require_exact_instructions();
	MUST(pin_to_cpu(0));
}

/* -------------------------------------------------------------------- one task */

static bool stacks_are_chains(void)
{
	static struct stacks t;

	need_stacks();
	stacks_open(&t, 0, -1);
	walk();
	return stacks_are_right(&t, "stacks that are not the chain", LEVELS);
}

/* The interrupt freezes the records of other events, and older parts stop recording for that. */
static bool stacks_follow_other_records(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	static struct stacks t;
	int fd;

	need_stacks();
	attr.sample_period = NO_SAMPLES;
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	event_enable(fd);
	walk();
	event_disable(fd);
	stacks_open(&t, 0, -1);
	walk();
	return stacks_are_right(&t, "stacks that are not the chain", LEVELS);
}

static struct stacks again;

static void disable_once(void)
{
	event_disable(again.fd);
	at_bottom = NULL;
}

/* The calls that have returned meanwhile are no callers of what is called then. */
static bool disabled_events_forget(void)
{
	need_stacks();
	stacks_open(&again, 0, -1);
	at_bottom = disable_once;
	stack_level(LEVELS, 0x155);
	event_enable(again.fd);
	for (unsigned int path = 0; path < WALKS; path++)
		stack_level(2, path);
	stacks_count(&again, 2);
	return expect(again.samples > WALKS / 4, "%u samples at the bottom", again.samples) &&
	       expect_eq("stacks with calls that have returned", again.wrong, 0);
}

/* ------------------------------------------------------------------- two tasks */

/* Each of two tasks lets the other one run when it is at the bottom of its own stack. */
static struct gate to_other, to_self;

static void meet_other(void)
{
	gate_open(&to_other);
	gate_wait(&to_self);
}

static void meet_self(void)
{
	gate_open(&to_self);
	gate_wait(&to_other);
}

static pid_t fork_walker(void)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	at_bottom = meet_self;
	gate_wait(&to_other);
	for (;;)
		stack_walks(LEVELS, 1);
}

static pid_t begin_turns(void)
{
	to_other = gate_new();
	to_self = gate_new();
	at_bottom = meet_other;
	return fork_walker();
}

static bool tasks_have_their_stacks(void)
{
	static struct stacks self, other;
	bool good;
	pid_t pid;

	need_stacks();
	pid = begin_turns();
	stacks_open(&self, 0, -1);
	stacks_open(&other, pid, -1);
	walk();
	good = stacks_are_right(&self, "stacks of the first task", LEVELS) &
	       stacks_are_right(&other, "stacks of the second task", LEVELS);
	kill_child(pid);
	return good;
}

#define MEET_LEVEL	4

/*
 * The CPU's event stays. Of the task without an event it sees what it has called since the switch
 * to it, the last levels; of the other one the stack that was saved, and these levels.
 */
static bool stacks_beside_the_cpus(void)
{
	static struct stacks cpu, other;
	bool good;
	pid_t pid;

	need_stacks();
	bottom_level = MEET_LEVEL;
	pid = begin_turns();
	stacks_open(&cpu, -1, 0);
	stacks_open(&other, pid, -1);
	walk();
	stacks_count_of(&cpu, getpid(), MEET_LEVEL, MEET_LEVEL);
	good = expect(cpu.samples > WALKS / 2, "%u samples of the CPU", cpu.samples) &
	       expect_eq("stacks of the CPU", cpu.wrong, 0) &
	       stacks_are_right(&other, "stacks of the task", LEVELS);
	kill_child(pid);
	return good;
}

static void sleep_at_bottom(void)
{
	at_bottom = NULL;
	gate_open(&to_other);
	gate_wait(&to_self);
}

/* Disables the event while its task sleeps, and enables it while the task sleeps the next time. */
static pid_t fork_controller(void)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	gate_wait(&to_other);
	event_disable(again.fd);
	gate_open(&to_self);
	gate_wait(&to_other);
	event_enable(again.fd);
	gate_open(&to_self);
	for (;;)
		pause();
}

/* The task returns from its calls and sleeps without the event in between. */
static bool disabled_asleep_forget(void)
{
	pid_t pid;

	need_stacks();
	again = (struct stacks){ 0 };
	stacks_open(&again, 0, -1);
	to_other = gate_new();
	to_self = gate_new();
	pid = fork_controller();
	at_bottom = sleep_at_bottom;
	stack_level(LEVELS, 0x155);
	gate_open(&to_other);
	gate_wait(&to_self);
	for (unsigned int path = 0; path < WALKS; path++)
		stack_level(2, path);
	stacks_count(&again, 2);
	kill_child(pid);
	return expect(again.samples > WALKS / 4, "%u samples at the bottom", again.samples) &
	       expect_eq("stacks with calls that have returned", again.wrong, 0);
}

static const struct test tests[] = {
	{ "call stacks are the chains of frame pointers", stacks_are_chains },
	{ "so they are after records of another kind", stacks_follow_other_records },
	{ "an event that was disabled forgets its stack", disabled_events_forget },
	{ "one that was disabled and enabled while its task slept, too", disabled_asleep_forget },
	{ "a task finds its own stack after a switch", tasks_have_their_stacks },
	{ "so it does beside an event of the CPU", stacks_beside_the_cpus },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("call stacks in branch records", "not an x86")
#endif
