// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records in call-stack mode: the calls in the registers are the chain of frame pointers, of
 * each task and whatever recorded before. Instructions are the clock of the machine.
 *
 * BRANCH_SWITCHES in the environment (a kernel parameter) is the number of walks down a stack in
 * each case, instead of 200. Where tasks take turns each walk has a switch to the other one.
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
#include "x86_branch_samples.h"

#define FORM_STACK	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK)
#define LEVELS		10
#define DEEP_LEVELS	40	/* more than any part has registers for */
#define CALLERS		3	/* in a chain, behind its length, the context and the address */
#define WALKS		200
#define READ_WALKS	100	/* the ring buffer holds the samples of that many walks */
#define FORK_WALKS	50	/* a fork in so many walks */
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

/* Levels of each walk. */
static unsigned int levels = LEVELS;

/* Walks @first and on. The paths of two tasks, @other 0 and 1, are never the same. */
WITH_FRAMES static noinline void stack_walks(unsigned int first, unsigned int nr,
					     unsigned int other)
{
	for (unsigned int path = first; path < first + nr; path++)
		stack_level(levels, path * 2654435761u << 1 | other);
}

static unsigned int walks_wanted(void)
{
	return env_number("BRANCH_SWITCHES", WALKS);
}

/*
 * The calls in the registers against the chain of frame pointers: each return address is 5 bytes,
 * the length of a call, behind the address of the call. @least: how many calls must be there.
 */
static bool stack_is_chain(const struct sample *s, unsigned int least)
{
	const struct perf_branch_entry *e = entries_of(s);
	uint64_t nr = *s->branches;

	for (uint64_t i = 0; i < nr && i < levels; i++)
		if (CALLERS + i > s->callchain[0] || s->callchain[CALLERS + i] != e[i].from + 5)
			return false;
	return nr >= least;
}

/**
 * struct stacks - an event in call-stack mode and its samples
 * @attr: its attributes
 * @fd: the event
 * @ring: its buffer
 * @pid: the task that has the event; -1: all on a CPU
 * @least: calls that must be in a sample
 * @most: if not 0, calls in samples of this task: those since it was switched to
 * @samples: those at the bottom of a stack
 * @of_others: those of other tasks than @pid
 * @elsewhere: those on other CPUs than the first one
 * @wrong: those with a stack that is not the chain
 * @cut: those with fewer calls than @most
 */
struct stacks {
	struct perf_event_attr	attr;
	int			fd;
	struct ring		ring;
	pid_t			pid;
	unsigned int		least, most, samples, of_others, elsewhere, wrong, cut;
};

/* With a CPU, children of the task have the event, too. */
static void stacks_open_in(struct stacks *t, pid_t pid, int cpu, int leader)
{
	t->attr = branch_attr(FORM_STACK);
	t->attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU;
	t->attr.exclude_callchain_kernel = 1;
	t->attr.inherit = pid >= 0 && cpu >= 0;
	t->pid = pid ?: getpid();
	t->least = levels < depth ? levels : depth;
	t->fd = perf_open(&t->attr, pid, cpu, leader, 0);
	if (t->fd < 0 && errno == EOPNOTSUPP)
		skip_case("no call-stack mode");
	MUST(t->fd);
	if (!ring_map(&t->ring, t->fd, 256))
		fail_case("mmap");
	event_enable(t->fd);
}

static void stacks_open(struct stacks *t, pid_t pid, int cpu)
{
	stacks_open_in(t, pid, cpu, -1);
}

static void stacks_check(struct stacks *t, const struct sample *s)
{
	t->samples++;
	t->of_others += (pid_t)s->pid != t->pid;
	t->elsewhere += s->cpu != 0;
	if (t->most && (pid_t)s->pid == getpid()) {
		t->cut += *s->branches < t->most;
		t->wrong += !stack_is_chain(s, 0) || *s->branches > t->most;
	} else {
		t->wrong += !stack_is_chain(s, t->least);
	}
}

/* The samples that are at the bottom of a stack. */
static void stacks_read(struct stacks *t)
{
	struct sample s;

	while (ring_sample(&t->ring, &t->attr, &s))
		if (s.ip - (uint64_t)stack_bottom <= 3)
			stacks_check(t, &s);
}

/*
 * Takes samples of all walks. The event of another task, which waits at the bottom of its stack,
 * stays enabled meanwhile; reading samples makes new ones of this task. @other can be NULL.
 */
static void stacks_take(struct stacks *t, struct stacks *other)
{
	for (unsigned int walks = 0; walks < walks_wanted(); walks += READ_WALKS) {
		stack_walks(walks, READ_WALKS, 0);
		event_disable(t->fd);
		stacks_read(t);
		if (other)
			stacks_read(other);
		event_enable(t->fd);
	}
	event_disable(t->fd);
}

static bool stacks_are_right(const struct stacks *t, const char *what)
{
	if (walks_wanted() != WALKS)
		ktap_note("%s: %u samples, %u of others, %u elsewhere, %u wrong, %u cut", what,
			  t->samples, t->of_others, t->elsewhere, t->wrong, t->cut);
	return expect(t->samples > walks_wanted() / 4, "%s: %u samples at the bottom", what,
		      t->samples) &
	       expect_eq(what, t->wrong, 0);
}

static void need_stacks(void)
{
	need_branches();
	require_exact_instructions();
	MUST(pin_to_cpu(0));
}

/* -------------------------------------------------------------------- one task */

static bool walks_are_chains(void)
{
	static struct stacks t;

	stacks_open(&t, 0, -1);
	stacks_take(&t, NULL);
	return stacks_are_right(&t, "stacks that are not the chain");
}

static bool stacks_are_chains(void)
{
	need_stacks();
	return walks_are_chains();
}

/* The oldest calls have been overwritten. */
static bool deep_stacks_are_chains(void)
{
	need_stacks();
	levels = DEEP_LEVELS;
	return walks_are_chains();
}

/* The interrupt freezes the records of other events, and older parts stop recording for that. */
static bool stacks_follow_other_records(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);
	int fd;

	need_stacks();
	attr.sample_period = NO_SAMPLES;
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	event_enable(fd);
	stack_walks(0, WALKS, 0);
	event_disable(fd);
	return walks_are_chains();
}

static struct stacks again;

/* Of other calls than those before, which have returned. The call of this can be in a sample. */
WITH_FRAMES static noinline bool short_walks_are_chains(void)
{
	again.least = 2;
	for (unsigned int path = 0; path < WALKS; path++)
		stack_level(2, path);
	event_disable(again.fd);
	stacks_read(&again);
	return expect(again.samples > WALKS / 4, "%u samples at the bottom", again.samples) &
	       expect_eq("stacks with calls that have returned", again.wrong, 0);
}

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
	return short_walks_are_chains();
}

/* ------------------------------------------------------------------- two tasks */

/* Each of two tasks lets the other one run when it is at the bottom of its own stack. */
static struct gate to_other, to_self;

/* Turns of this task. */
static unsigned int meetings;

static void meet_other(void)
{
	meetings++;
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
	for (unsigned int walks = 0;; walks++)
		stack_walks(walks, 1, 1);
}

/* @meet: what this task does at the bottom of its stack */
static pid_t begin_turns(void (*meet)(void))
{
	to_other = gate_new();
	to_self = gate_new();
	at_bottom = meet;
	return fork_walker();
}

/* A child begins with the stack that this task has here, but not in the registers. */
static void fork_and_meet(void)
{
	pid_t pid;

	if (meetings % FORK_WALKS == 0) {
		pid = fork_child();
		if (!pid) {
			at_bottom = NULL;
			stack_level(levels, 0x2aa);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	meet_other();
}

static bool tasks_have_stacks(bool both)
{
	static struct stacks self, other;
	bool good;
	pid_t pid;

	need_stacks();
	pid = begin_turns(fork_and_meet);
	stacks_open(&self, 0, 0);
	if (both)
		stacks_open(&other, pid, -1);
	stacks_take(&self, both ? &other : NULL);
	good = stacks_are_right(&self, "stacks of the first task") &
	       expect(self.of_others >= meetings / FORK_WALKS, "%u samples of children",
		      self.of_others) &
	       (!both || stacks_are_right(&other, "stacks of the second task"));
	kill_child(pid);
	return good;
}

static bool tasks_have_their_stacks(void)
{
	return tasks_have_stacks(true);
}

static bool task_has_its_stack(void)
{
	return tasks_have_stacks(false);
}

/* Both are of this task: whichever is loaded first finds the stack. */
static bool two_events_have_the_stack(void)
{
	static struct stacks two[2];
	bool good = true;
	pid_t pid;

	need_stacks();
	pid = begin_turns(meet_other);
	for (int i = 0; i < 2; i++)
		stacks_open(&two[i], 0, -1);
	for (unsigned int walks = 0; walks < walks_wanted(); walks += READ_WALKS) {
		stack_walks(walks, READ_WALKS, 0);
		for (int i = 0; i < 2; i++)
			event_disable(two[i].fd);
		for (int i = 0; i < 2; i++)
			stacks_read(&two[i]);
		for (int i = 0; i < 2; i++)
			event_enable(two[i].fd);
	}
	for (int i = 0; i < 2; i++)
		good &= stacks_are_right(&two[i], i ? "stacks of the second event" :
						      "stacks of the first event");
	kill_child(pid);
	return good;
}

static void move_and_meet(void)
{
	MUST(pin_to_cpu(meetings & 1));
	meet_other();
}

/* Each walk ends on another CPU than the one before; on the first one the other task waits. */
static bool stack_follows_its_task(void)
{
	static struct stacks self, other;
	bool good;
	pid_t pid;

	require_cpus(2);
	need_stacks();
	pid = begin_turns(move_and_meet);
	stacks_open(&self, 0, -1);
	stacks_open(&other, pid, -1);
	stacks_take(&self, &other);
	good = stacks_are_right(&self, "stacks of a task that moves") &
	       expect_between("samples on the second CPU", self.elsewhere, self.samples / 3,
			      self.samples - self.samples / 3) &
	       stacks_are_right(&other, "stacks of the task that stays");
	kill_child(pid);
	return good;
}

/* As perf record opens them: an event for each CPU, of which the other one has saved the stack. */
static bool stack_moves_to_another_event(void)
{
	static struct stacks on[2];
	bool good;
	pid_t pid;

	require_cpus(2);
	need_stacks();
	pid = begin_turns(move_and_meet);
	for (int cpu = 0; cpu < 2; cpu++)
		stacks_open(&on[cpu], 0, cpu);
	stacks_take(&on[0], &on[1]);
	good = stacks_are_right(&on[0], "stacks of the first CPU's event") &
	       stacks_are_right(&on[1], "stacks of the second CPU's event");
	kill_child(pid);
	return good;
}

#define MEET_LEVEL	4

static uint64_t preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/*
 * The CPU's event stays. Of the task without an event it sees what it has called since the switch
 * to it, the last levels; of the other one the stack that was saved, and these levels.
 */
static bool stacks_beside_the_cpus(void)
{
	static struct stacks cpu, other;
	uint64_t cuts;
	bool good;
	pid_t pid;

	need_stacks();
	bottom_level = MEET_LEVEL;
	pid = begin_turns(meet_other);
	cuts = preemptions();
	stacks_open(&cpu, -1, 0);
	cpu.most = MEET_LEVEL;
	stacks_open(&other, pid, -1);
	stacks_take(&cpu, &other);
	cuts = preemptions() - cuts;
	good = stacks_are_right(&cpu, "stacks of the CPU") &
	       expect(cpu.cut <= cuts, "%u stacks of %lu preemptions", cpu.cut, (long)cuts) &
	       stacks_are_right(&other, "stacks of the task");
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
	bool good;
	pid_t pid;

	need_stacks();
	stacks_open(&again, 0, -1);
	to_other = gate_new();
	to_self = gate_new();
	pid = fork_controller();
	at_bottom = sleep_at_bottom;
	stack_level(LEVELS, 0x155);
	gate_open(&to_other);
	gate_wait(&to_self);
	good = short_walks_are_chains();
	kill_child(pid);
	return good;
}

/* Disables the event while its task sleeps, and enables it in the next sleep. */
static pid_t fork_switcher(int fd)
{
	pid_t pid;

	to_other = gate_new();
	to_self = gate_new();
	pid = fork_child();
	if (pid)
		return pid;
	for (;;) {
		gate_wait(&to_other);
		event_disable(fd);
		gate_open(&to_self);
		gate_wait(&to_other);
		event_enable(fd);
		gate_open(&to_self);
	}
}

/* One of two events is switched while their task sleeps at the bottom: the other has the stack. */
static bool stack_stays_with_the_other(void)
{
	static struct stacks two[2];
	bool good = true;
	pid_t pid;

	need_stacks();
	for (int i = 0; i < 2; i++)
		stacks_open(&two[i], 0, -1);
	for (int gone = 0; gone < 2; gone++) {
		struct stacks *t = &two[!gone];

		pid = fork_switcher(two[gone].fd);
		t->samples = 0;
		t->wrong = 0;
		for (unsigned int walk = 0; walk < READ_WALKS / 2; walk++) {
			at_bottom = sleep_at_bottom;
			stack_walks(walk, 1, 0);
		}
		event_disable(t->fd);
		stacks_read(t);
		event_enable(t->fd);
		good &= expect(t->samples > READ_WALKS / 4, "%u samples at the bottom",
			       t->samples) &
			expect_eq(gone ? "stacks of the first event" : "stacks of the second",
				  t->wrong, 0);
		kill_child(pid);
		while (ring_next(&two[gone].ring))
			;
	}
	return good;
}

/* Closes the leader of a group, which no other process has open then, while their task sleeps. */
static pid_t fork_closer(int leader)
{
	pid_t pid;

	to_other = gate_new();
	to_self = gate_new();
	pid = fork_child();
	if (pid) {
		close(leader);
		return pid;
	}
	gate_wait(&to_other);
	close(leader);
	gate_open(&to_self);
	for (;;)
		pause();
}

/* The event has counted for a shorter time than its leader. */
static bool stack_stays_without_the_leader(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	static struct stacks t;

	need_stacks();
	attr.disabled = 0;
	for (unsigned int walk = 0; walk < READ_WALKS / 4; walk++) {
		int leader = MUST(perf_open(&attr, 0, -1, -1, 0));
		pid_t pid;

		run_loop(1000);
		stacks_open_in(&t, 0, -1, leader);
		pid = fork_closer(leader);
		at_bottom = sleep_at_bottom;
		stack_walks(walk, 1, 0);
		event_disable(t.fd);
		stacks_read(&t);
		ring_unmap(&t.ring);
		close(t.fd);
		kill_child(pid);
	}
	return expect(t.samples > READ_WALKS / 8, "%u samples at the bottom", t.samples) &
	       expect_eq("stacks that are not the chain", t.wrong, 0);
}

static const struct test tests[] = {
	{ "call stacks are the chains of frame pointers", stacks_are_chains },
	{ "of a deep stack the newest calls are", deep_stacks_are_chains },
	{ "so they are after records of another kind", stacks_follow_other_records },
	{ "an event that was disabled forgets its stack", disabled_events_forget },
	{ "one that was disabled and enabled while its task slept, too", disabled_asleep_forget },
	{ "the other one of two events has the stack then", stack_stays_with_the_other },
	{ "so it has when its leader is closed then", stack_stays_without_the_leader },
	{ "a task finds its own stack after a switch", tasks_have_their_stacks },
	{ "so it does after a task without an event", task_has_its_stack },
	{ "two events of a task have its stack", two_events_have_the_stack },
	{ "a stack follows its task to another CPU", stack_follows_its_task },
	{ "and to the event of that CPU", stack_moves_to_another_event },
	{ "so it does beside an event of the CPU", stacks_beside_the_cpus },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("call stacks in branch records", "not an x86")
#endif
