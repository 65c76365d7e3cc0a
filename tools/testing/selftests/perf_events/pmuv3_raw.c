// SPDX-License-Identifier: GPL-2.0
/*
 * The arm64 PMU: what the value of a counter itself shows, without the user page's offset. It shows
 * nothing that other tasks did, and it continues where it stood when the task was last on a CPU.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __aarch64__
#include "pmuv3.h"

#define VICTIM_INSNS	1000000
#define GENERAL		6	/* event counters of all emulated CPUs */

/* Instructions of the reader itself between two looks at one counter, and at all of them. */
#define LOOK_INSNS	100
#define ALL_INSNS	1000

static volatile unsigned int *victim_turns;	/* one for each CPU */

struct raw_case {
	const char	*text;		/* @name, for run_rows() */
	char		name[96];
	bool		(*run)(const struct raw_case *c);
	uint64_t	config;
	uint64_t	config1;
};

/* A task of another user on @cpu, without events, with turns of a known number of instructions. */
static pid_t start_victim(int cpu)
{
	pid_t pid;

	if (!victim_turns)
		victim_turns = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (victim_turns == MAP_FAILED)
		fail_case("mmap of the victims' page");
	pid = fork_child();
	if (pid)
		return pid;

	MUST(pin_to_cpu(cpu));
	MUST(setresuid(1000, 1000, 1000));
	for (;;) {
		run_loop(VICTIM_INSNS / 2);
		victim_turns[cpu]++;
		sched_yield();
	}
}

/* Without turns of the victim nothing has been shown. */
static bool victim_had_turns(unsigned int rounds)
{
	return expect_between("turns of the victim", victim_turns[0], rounds / 2, 2 * rounds);
}

/* After this the case is a task that may open events of itself in user space. */
static void become_spy(void)
{
	MUST(setresuid(2000, 2000, 2000));
}

/* The value of the page's counter, as wide as it is; fails the case if there is none. */
static uint64_t read_raw(volatile struct perf_event_mmap_page *page)
{
	uint32_t seq, index;
	uint64_t value;

	do {
		seq = page->lock;
		asm volatile("" : : : "memory");
		index = page->index;
		value = index ? read_counter(index - 1) : 0;
		asm volatile("" : : : "memory");
	} while (seq != page->lock);

	if (!index) {
		ktap_note("the user page has no index");
		_exit(1);
	}
	return page->pmc_width == 32 ? (uint32_t)value : value;
}

static uint64_t raw_moved(volatile struct perf_event_mmap_page *page, uint64_t from)
{
	uint64_t moved = read_raw(page) - from;

	return page->pmc_width == 32 ? (uint32_t)moved : moved;
}

struct raw_values {
	uint64_t	counter[GENERAL + 1];	/* the last is the cycle counter */
};

static unsigned int counter_number(unsigned int n)
{
	return n < GENERAL ? n : CYCLE_COUNTER;
}

static struct raw_values read_all(void)
{
	struct raw_values values;

	for (unsigned int n = 0; n <= GENERAL; n++)
		values.counter[n] = read_counter(counter_number(n));
	return values;
}

/* A counter that moves by more than @most shows another task, of which one turn is more. */
static bool none_moved(const struct raw_values *before, uint64_t most)
{
	struct raw_values now = read_all();
	bool good = true;

	for (unsigned int n = 0; n <= GENERAL; n++) {
		uint64_t moved = now.counter[n] - before->counter[n];
		char what[32];

		snprintf(what, sizeof(what), "counter %u moved", counter_number(n));
		good &= expect_between(what, moved, 0, most);
	}
	return good;
}

static bool spy_sees_itself(const struct raw_case *c)
{
	volatile struct perf_event_mmap_page *page;
	unsigned int rounds = 20;
	bool good = true;
	uint64_t before;

	need_user_access();
	require_exact_instructions();
	start_victim(0);
	become_spy();
	page = map_page(open_readable(c->config, c->config1));
	for (unsigned int i = 0; i < rounds; i++) {
		before = read_raw(page);
		sched_yield();
		good &= expect_between("raw value moved", raw_moved(page, before), 0, LOOK_INSNS);
	}
	return good & victim_had_turns(rounds);
}

/* Events of the task that do not request user access are on counters that it may read, too. */
static bool spy_sees_itself_on_all(const struct raw_case *c)
{
	unsigned int rounds = 20;
	struct raw_values before;
	bool good = true;

	need_user_access();
	require_exact_instructions();
	start_victim(0);
	become_spy();
	open_readable(c->config, c->config1);
	for (unsigned int i = 0; i < 3; i++)
		open_readable(INSTRUCTIONS, 0);
	open_readable(CYCLES, 0);
	for (unsigned int i = 0; i < rounds; i++) {
		before = read_all();
		sched_yield();
		good &= none_moved(&before, ALL_INSNS);
	}
	return good & victim_had_turns(rounds);
}

static bool spy_sees_itself_elsewhere(const struct raw_case *c)
{
	volatile struct perf_event_mmap_page *page;
	unsigned int rounds = 20;
	bool good = true;
	uint64_t before;

	require_cpus(2);
	need_user_access();
	require_exact_instructions();
	start_victim(0);
	start_victim(1);
	become_spy();
	page = map_page(open_readable(c->config, c->config1));
	for (unsigned int i = 0; i < rounds; i++) {
		before = read_raw(page);
		pin_to_cpu(~i & 1);
		sched_yield();
		good &= expect_between("raw value moved", raw_moved(page, before), 0, ALL_INSNS);
	}
	return good & expect_between("turns of the victims", victim_turns[0] + victim_turns[1],
				     rounds / 2, UINT64_MAX);
}

/* What is on the counters when access is granted has been there without it. */
static bool granting_shows_nothing(const struct raw_case *c)
{
	struct raw_values before;
	unsigned int turns;
	bool good = true;

	need_user_access();
	require_exact_instructions();
	if (!kernel_gives_reasons())
		skip_case("this kernel does so when the task runs again");
	start_victim(0);
	open_readable(c->config, c->config1);
	open_readable(INSTRUCTIONS, 0);
	open_readable(CYCLES, 0);
	before = read_all();
	for (unsigned int round = 0; good && round < 4; round++) {
		allow_users(false);
		turns = victim_turns[0];
		for (unsigned int i = 0; i < 4; i++)
			sched_yield();
		good &= expect_between("turns of the victim", victim_turns[0] - turns, 1, 8);
		allow_users(true);
		good &= none_moved(&before, (round + 1) * 30000);
	}
	return good;
}

/* ------------------------------------------------------------ continuing values */

struct raw_meter {
	volatile struct perf_event_mmap_page	*page;
	int					fd;
	uint64_t				raw;
	int64_t					offset;
	uint64_t				count;
};

static struct raw_meter start_meter(const struct raw_case *c)
{
	struct raw_meter m;

	m.fd = open_readable(c->config, c->config1);
	m.page = map_page(m.fd);
	m.raw = read_raw(m.page);
	m.offset = m.page->offset;
	m.count = perf_count(m.fd);
	return m;
}

/* The raw value has moved as the count has, so that the offset stayed. */
static bool went_on(const struct raw_meter *m)
{
	uint64_t moved = raw_moved(m->page, m->raw);

	return expect_near("raw value moved", moved, perf_count(m->fd) - m->count, ALL_INSNS) &
	       expect_eq("offset", m->page->offset, m->offset);
}

static bool continues_over_switches(const struct raw_case *c)
{
	const unsigned int rounds = 40;
	struct raw_meter m;
	bool good = true;

	need_user_access();
	require_exact_instructions();
	start_victim(0);
	m = start_meter(c);
	for (unsigned int i = 0; good && i < rounds; i++) {
		run_loop(5000);
		sched_yield();
		good &= went_on(&m);
	}
	return good & expect_near("all rounds", raw_moved(m.page, m.raw),
				  rounds * LOOP_INSNS(5000), rounds * 2 * ALL_INSNS);
}

static bool continues_over_migrations(const struct raw_case *c)
{
	struct raw_meter m;
	bool good = true;

	require_cpus(2);
	need_user_access();
	require_exact_instructions();
	start_victim(0);
	start_victim(1);
	m = start_meter(c);
	for (unsigned int i = 0; good && i < 20; i++) {
		run_loop(5000);
		pin_to_cpu(~i & 1);
		good &= went_on(&m);
	}
	return good;
}

static bool continues_in_turns(const struct raw_case *c)
{
	struct perf_event_attr attr;
	unsigned int waited = 0, ran = 0;
	struct raw_meter m;
	bool good = true;
	uint64_t end;

	need_user_access();
	require_exact_instructions();
	start_victim(0);
	m = start_meter(c);
	attr = perf_attr(pmu_type, INSTRUCTIONS);
	attr.exclude_kernel = 1;
	for (unsigned int i = 2 * max_group_size(PERF_COUNT_HW_INSTRUCTIONS); i; i--)
		open_self(&attr, -1);
	end = monotonic_ns() + 200000000;
	while (good && monotonic_ns() < end) {
		uint32_t seq = m.page->lock, index = m.page->index;
		int64_t offset = m.page->offset;

		asm volatile("" : : : "memory");
		if (seq != m.page->lock)
			continue;
		run_loop(VICTIM_INSNS / 2);
		sched_yield();
		if (index) {
			ran++;
			good &= expect_eq("offset", offset, m.offset);
		} else {
			waited++;
		}
	}
	/* The stock kernel may not give it another turn for as long. */
	good &= expect_between("readings while it ran", ran, kernel_gives_reasons(), UINT64_MAX);
	/* Cycles have a counter to themselves. */
	return good & expect_between("readings while it waited", waited, c->config != CYCLES,
				     UINT64_MAX);
}

/* PAPI remembers the raw value at a reset, and subtracts it from later ones. */
static bool continues_over_a_reset(const struct raw_case *c)
{
	struct raw_meter m;
	bool good = true;

	need_user_access();
	require_exact_instructions();
	start_victim(0);
	m = start_meter(c);
	for (unsigned int i = 0; good && i < 20; i++) {
		run_loop(5000);
		MUST(ioctl(m.fd, PERF_EVENT_IOC_RESET, 0));
		good &= expect_near("raw value moved", raw_moved(m.page, m.raw),
				    (i + 1) * LOOP_INSNS(5000), (i + 1) * 2 * ALL_INSNS);
		sched_yield();
		good &= expect_near("raw value moved, after a switch", raw_moved(m.page, m.raw),
				    (i + 1) * LOOP_INSNS(5000), (i + 1) * 2 * ALL_INSNS);
	}
	return good;
}

static bool stands_while_disabled(const struct raw_case *c)
{
	struct raw_meter m;
	bool good = true;

	need_user_access();
	require_exact_instructions();
	start_victim(0);
	m = start_meter(c);
	for (unsigned int i = 0; good && i < 10; i++) {
		event_disable(m.fd);
		run_loop(50000);
		sched_yield();
		event_enable(m.fd);
		good &= went_on(&m);
	}
	return good & expect_between("raw value moved", raw_moved(m.page, m.raw), 0,
				     20 * ALL_INSNS);
}

/* ------------------------------------------------------------------------- */

static const struct {
	const char	*name;
	bool		(*run)(const struct raw_case *c);
} subjects[] = {
	{ "a raw value shows no other task", spy_sees_itself },
	{ "no counter shows another task", spy_sees_itself_on_all },
	{ "a raw value shows no other task on other CPUs", spy_sees_itself_elsewhere },
	{ "granting access shows no other task", granting_shows_nothing },
	{ "raw values continue over switches", continues_over_switches },
	{ "raw values continue over migrations", continues_over_migrations },
	{ "raw values continue when events take turns", continues_in_turns },
	{ "raw values continue over a reset", continues_over_a_reset },
	{ "raw values stand while an event is disabled", stands_while_disabled },
};

static const struct {
	const char	*name;
	uint64_t	config;
	uint64_t	config1;
} kinds[] = {
	{ "instructions in 32 bits", INSTRUCTIONS, CONFIG1_RDPMC },
	{ "instructions in 64 bits", INSTRUCTIONS, CONFIG1_RDPMC | CONFIG1_LONG },
	{ "cycles", CYCLES, CONFIG1_RDPMC | CONFIG1_LONG },
};

static struct raw_case cases[ARRAY_SIZE(subjects) * ARRAY_SIZE(kinds)];

/* Each subject with each kind of event. */
static void fill_cases(void)
{
	struct raw_case *c = cases;

	for (unsigned int i = 0; i < ARRAY_SIZE(subjects); i++) {
		for (unsigned int k = 0; k < ARRAY_SIZE(kinds); k++, c++) {
			snprintf(c->name, sizeof(c->name), "%s: %s", subjects[i].name,
				 kinds[k].name);
			c->text = c->name;
			c->run = subjects[i].run;
			c->config = kinds[k].config;
			c->config1 = kinds[k].config1;
		}
	}
}

static bool run_case(const void *row)
{
	const struct raw_case *c = row;

	return c->run(c);
}

int main(int argc, char **argv)
{
	fill_cases();
	return run_rows(cases, ARRAY_SIZE(cases), sizeof(*cases), run_case, NULL, argc, argv);
}

#else

TESTS_MAIN_SKIPPED("PMUv3", "not this architecture")

#endif
