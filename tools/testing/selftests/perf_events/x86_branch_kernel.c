// SPDX-License-Identifier: GPL-2.0
/*
 * Branches of the kernel on x86: a system call takes the same way each time. Its branches are found
 * out from samples of all branches, which must follow each other. Each filter must give those alone
 * that it names, of the levels that it names. Instructions are the clock of the machine.
 *
 * BRANCH_SAMPLES in the environment (a kernel parameter) is the number of samples with each filter,
 * instead of a few dozen.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"

#ifdef __x86_64__
#include "x86_branch_samples.h"

/* getppid(2) by number; no register but RDI is kept. */
#define CALL_LOOP				\
	asm(".pushsection .text\n"		\
	    "call_loop:\n"			\
	    "	mov $110, %eax\n"		\
	    "call_loop_call:\n"			\
	    "	syscall\n"			\
	    "call_loop_back:\n"			\
	    "	dec %rdi\n"			\
	    "call_loop_end:\n"			\
	    "	jnz call_loop\n"		\
	    "	ret\n"				\
	    ".popsection")

CALL_LOOP;
void call_loop(unsigned long rounds);

extern const char call_loop_call[], call_loop_back[], call_loop_end[];

#define CALLS		20000
#define INSTRUCTIONS	4	/* of a round, in user space */
#define LONGEST		64	/* branches of a round */
#define NEAR		4096	/* bytes of code without a taken branch */
#define BOTH		(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL)

/**
 * struct way - the branches of one round
 * @e: the branches, newest first; @e[0] is the one back to the beginning of the loop
 * @nr: their number
 */
struct way {
	struct perf_branch_entry	e[LONGEST];
	unsigned int			nr;
};

/* Samples of @rounds system calls; their number, or -1 if the part lacks the filter. */
static int look_at_samples(struct perf_event_attr *attr, unsigned long rounds, unsigned int wanted,
			   sample_fn *look, void *data)
{
	struct sampling how = sampling_of(open_selection(attr, "a filter"), attr);
	int samples;

	if (how.fd < 0)
		return -1;
	how.loop = call_loop;
	how.rounds = rounds;
	how.wanted = wanted;
	samples = sample_loop(&how, look, data);
	close(how.fd);
	return samples;
}

/* ------------------------------------------------------------ the way of a system call */

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

static bool same_branch(const struct perf_branch_entry *a, const struct perf_branch_entry *b)
{
	return a->from == b->from && a->to == b->to;
}

static bool is_back(const struct perf_branch_entry *e)
{
	return e->from == (uintptr_t)call_loop_end && e->to == (uintptr_t)call_loop;
}

static bool is_entry(const struct perf_branch_entry *e)
{
	return e->from == (uintptr_t)call_loop_call && is_kernel(e->to);
}

static bool is_exit(const struct perf_branch_entry *e)
{
	return is_kernel(e->from) && e->to == (uintptr_t)call_loop_back;
}

static bool is_of_interrupt(const struct perf_branch_entry *e)
{
	return e->type == PERF_BR_IRQ || e->type == PERF_BR_ERET;
}

/* Appends what is older than the oldest known branch, if the sample has it. */
static void extend_way(const struct sample *s, bool first __maybe_unused, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	struct way *way = data;

	for (unsigned int i = 0; i + 1 < *s->branches && way->nr < LONGEST; i++) {
		if (way->nr > 1 && is_entry(&way->e[way->nr - 1]))
			return;
		if (way->nr ? same_branch(&e[i], &way->e[way->nr - 1]) : is_back(&e[i + 1]))
			way->e[way->nr++] = e[i + 1];
		/* Not the way of each round: begin again. */
		if (way->nr && is_of_interrupt(&way->e[way->nr - 1]))
			way->nr = 0;
	}
}

static bool way_is_whole(const struct way *way)
{
	return way->nr > 3 && is_entry(&way->e[way->nr - 1]);
}

/* Parts with few registers show it bit by bit: samples are taken everywhere in the kernel. */
static void learn_way(struct way *way)
{
	struct perf_event_attr attr = branch_attr(BOTH | PERF_SAMPLE_BRANCH_ANY |
						  PERF_SAMPLE_BRANCH_TYPE_SAVE |
						  PERF_SAMPLE_BRANCH_PRIV_SAVE);

	way->nr = 0;
	attr.exclude_kernel = 0;
	attr.sample_period = 1009;
	for (unsigned int i = 0; i < LONGEST && !way_is_whole(way); i++) {
		unsigned int before = way->nr;

		/* As many samples as the buffer has room for. */
		look_at_samples(&attr, CALLS / 10, 1, extend_way, way);
		/* A way that is not taken again, such as that to another task, leads nowhere. */
		if (way->nr == before || way->nr == LONGEST)
			way->nr = 0;
	}
	if (!way_is_whole(way))
		fail_case("the branches of a system call");
}

/* Each branch begins where the one before leads, and the level is that of the target. */
static bool way_is_right(void)
{
	unsigned int broken = 0, levels = 0, calls = 0, returns = 0;
	struct way way;

	need_branches();
	need_short_interrupts();
	require_exact_instructions();
	learn_way(&way);
	for (unsigned int i = 0; i < way.nr; i++) {
		const struct perf_branch_entry *e = &way.e[i];

		broken += i + 1 < way.nr && e->from - e[1].to >= NEAR;
		levels += e->priv != (is_kernel(e->to) ? PERF_BR_PRIV_KERNEL : PERF_BR_PRIV_USER);
		calls += e->type == PERF_BR_CALL || e->type == PERF_BR_IND_CALL;
		returns += e->type == PERF_BR_RET;
	}
	return expect_eq("branches out of order", broken, 0) &
	       expect_eq("wrong levels", levels, 0) &
	       expect_eq("returns", returns, calls) &
	       expect(is_exit(&way.e[1]), "exit %#lx/%#lx", (long)way.e[1].from,
		      (long)way.e[1].to) &
	       expect_eq("type of the loop's branch", way.e[0].type, PERF_BR_COND) &
	       expect_eq("type of the entry", way.e[way.nr - 1].type, PERF_BR_SYSCALL) &
	       expect_eq("type of the exit", way.e[1].type, PERF_BR_SYSRET);
}

/* Near branches that are taken, on Intel; all that are taken, on AMD. */
static bool counter_agrees(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_RAW, 0x20c4);
	struct way way;
	uint64_t each;
	int fd;

	need_branches();
	need_short_interrupts();
	require_exact_instructions();
	learn_way(&way);
	each = way.nr - 2;
	if (records_are_amd()) {
		attr.config = 0xc4;
		each = way.nr;
	}
	fd = open_self(&attr, -1);
	event_enable(fd);
	call_loop(CALLS);
	event_disable(fd);
	/* Interrupts have branches, too. */
	return expect_between("branches taken", perf_count(fd), each * CALLS,
			      each * CALLS + CALLS / 2);
}

/* ----------------------------------------------------------------------------- filters */

static bool kind_is_named(uint64_t type, unsigned int kind)
{
	switch (kind) {
	case PERF_BR_COND:
		return type & PERF_SAMPLE_BRANCH_COND;
	case PERF_BR_IND:
		return type & PERF_SAMPLE_BRANCH_IND_JUMP;
	case PERF_BR_CALL:
		return type & (PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_ANY_CALL);
	case PERF_BR_IND_CALL:
		return type & (PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_ANY_CALL);
	case PERF_BR_SYSCALL:
		return type & PERF_SAMPLE_BRANCH_ANY_CALL;
	case PERF_BR_RET:
	case PERF_BR_SYSRET:
		return type & PERF_SAMPLE_BRANCH_ANY_RETURN;
	}
	return false;
}

/* A branch is of the level that it leads to; without the kernel no address of it is shown. */
static bool branch_is_named(uint64_t type, const struct perf_branch_entry *e)
{
	if (is_kernel(e->to) && !(type & PERF_SAMPLE_BRANCH_KERNEL))
		return false;
	if (!is_kernel(e->to) && !(type & PERF_SAMPLE_BRANCH_USER))
		return false;
	if (is_kernel(e->from) && !(type & PERF_SAMPLE_BRANCH_KERNEL))
		return false;
	return type & PERF_SAMPLE_BRANCH_ANY || kind_is_named(type, e->type);
}

/**
 * struct finding - samples with a filter
 * @way: all branches of a round
 * @type: the filter
 * @named: how many of them the filter names
 * @least: entries that a sample has at least
 * @samples: those in the loop
 * @broken: those of them with an entry that is not the next one
 * @short_ones: those with fewer entries than @least
 * @disturbed: how often other branches took their way into the registers: at the beginning of a
 *	turn, in interrupts and task switches
 */
struct finding {
	struct way	way;
	uint64_t	type;
	unsigned int	named, least, samples, broken, short_ones;
	uint64_t	disturbed;
};

/* The newest branch before a sample: an index of the way, or -1 for a sample elsewhere. */
static int newest_branch(const struct way *way, uint64_t ip)
{
	if (ip == way->e[way->nr - 1].to)
		return way->nr - 1;
	if (ip == (uintptr_t)call_loop || ip == (uintptr_t)call_loop_call)
		return 0;
	return ip == (uintptr_t)call_loop_end ? 1 : -1;
}

static bool is_of_way(const struct perf_branch_entry *e, const struct way *way)
{
	for (unsigned int i = 0; i < way->nr; i++)
		if (same_branch(e, &way->e[i]))
			return true;
	return false;
}

static void check_sample(const struct sample *s, bool first, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	struct finding *f = data;
	const struct way *way = &f->way;
	int at = newest_branch(way, s->ip);
	unsigned int i, j;

	f->disturbed += first;
	if (at < 0)
		return;
	f->samples++;
	f->short_ones += *s->branches < f->least;
	for (i = 0; i < *s->branches; i++, at = (at + 1) % way->nr) {
		for (j = 0; j < way->nr && !branch_is_named(f->type, &way->e[at]); j++)
			at = (at + 1) % way->nr;
		/* With a filter that names none of the loop, what was before it stays. */
		if (f->named ? !same_branch(&e[i], &way->e[at]) : is_of_way(&e[i], way))
			break;
	}
	if (i < *s->branches && !f->broken++)
		ktap_note("sample %u at %#lx: entry %u of %u is %#lx/%#lx", f->samples,
			  (long)s->ip, i, (int)*s->branches, (long)e[i].from, (long)e[i].to);
}

/* With these filters the hardware logs no other branches; with calls and returns, far ones too. */
#define EXACT_KINDS	(PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |	\
			 PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_CALL)

static bool registers_are_exact(uint64_t type)
{
	if (part_of_cpu() == NO_FILTER)
		return false;
	if (type & PERF_SAMPLE_BRANCH_ANY)
		return type & PERF_SAMPLE_BRANCH_KERNEL;
	if (part_of_cpu() == NEHALEM)
		return !(type & ~(BOTH | PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP));
	return !(type & ~(BOTH | EXACT_KINDS));
}

/* Entries that each sample has at least. */
static unsigned int least_entries(const struct finding *f)
{
	if (!f->named)
		return 0;
	/* Where the hardware logs more branches, the others are dropped. */
	return registers_are_exact(f->type) ? depth : (depth - 2) * f->named / f->way.nr;
}

/*
 * The samples that can have other branches: those in the next rounds, of which a sample shows as
 * many as the filter needs to fill the registers. What disturbs falls on any round between samples.
 */
static unsigned int samples_disturbed(const struct finding *f)
{
	unsigned int rounds = 1 + depth / (f->named ?: depth);

	return 2 + 2 * f->disturbed * rounds * INSTRUCTIONS / PERIOD;
}

static bool filter_is_exact(struct finding *f, uint64_t type, const char *name)
{
	struct perf_event_attr attr = branch_attr(type);
	const char *levels = (type & BOTH) == BOTH ? "u,k" :
			     type & PERF_SAMPLE_BRANCH_KERNEL ? "k" : "u";
	unsigned int others;
	uint64_t before;

	*f = (struct finding){ .way = f->way, .type = type };
	for (unsigned int i = 0; i < f->way.nr; i++)
		f->named += branch_is_named(type, &f->way.e[i]);
	f->least = least_entries(f);
	before = disturbances();
	if (look_at_samples(&attr, CALLS, samples_wanted(), check_sample, f) < 0)
		return true;
	f->disturbed += disturbances() - before;
	others = samples_disturbed(f);
	if (samples_wanted() > 1)
		ktap_note("%s,%s: %u samples, %u wrong, %u short, of %u at most", name, levels,
			  f->samples, f->broken, f->short_ones, others);
	return expect(f->samples > CALLS * INSTRUCTIONS / PERIOD - 3, "%s,%s: %u samples", name,
		      levels, f->samples) &
	       expect(f->broken <= others, "%s,%s: %u of %u samples wrong", name, levels,
		      f->broken, f->samples) &
	       expect(f->short_ones <= others, "%s,%s: %u of %u samples have fewer than %u", name,
		      levels, f->short_ones, f->samples, f->least);
}

static const struct {
	const char	*name;
	uint64_t	type;
} kinds[] = {
	{ "any",	PERF_SAMPLE_BRANCH_ANY },
	{ "any_call",	PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret",	PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "cond",	PERF_SAMPLE_BRANCH_COND },
	{ "call",	PERF_SAMPLE_BRANCH_CALL },
	{ "ind_jmp",	PERF_SAMPLE_BRANCH_IND_JUMP },
	{ "ind_call",	PERF_SAMPLE_BRANCH_IND_CALL },
	{ "cond,ret",	PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_ANY_RETURN },
};

static bool filters_are_exact(uint64_t level)
{
	static struct finding f;
	bool good = true;

	need_branches();
	need_short_interrupts();
	require_exact_instructions();
	learn_way(&f.way);
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		good &= filter_is_exact(&f, kinds[i].type | level, kinds[i].name);
	return good;
}

static bool kernel_filters(void)
{
	return filters_are_exact(PERF_SAMPLE_BRANCH_KERNEL);
}

static bool user_filters(void)
{
	return filters_are_exact(PERF_SAMPLE_BRANCH_USER);
}

static bool both_filters(void)
{
	return filters_are_exact(BOTH);
}

/* Branches of user space alone, and those that the kernel takes part in. */
static void count_levels(const struct sample *s, bool first __maybe_unused, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	unsigned int *nr = data;

	for (unsigned int i = 0; i < *s->branches; i++)
		nr[is_kernel(e[i].from) || is_kernel(e[i].to)]++;
}

/* A filter that names no level has those of the event. */
static bool levels_by_default(void)
{
	bool good = true;

	need_branches();
	need_short_interrupts();
	for (int in_kernel = 0; in_kernel < 2; in_kernel++) {
		struct perf_event_attr attr = branch_attr(PERF_SAMPLE_BRANCH_ANY);
		unsigned int nr[2] = { 0, 0 };

		attr.exclude_kernel = !in_kernel;
		/* As many samples as the buffer has room for. */
		look_at_samples(&attr, CALLS / 10, 1, count_levels, nr);
		good &= expect(nr[0] > 0, "branches of user space: %u", nr[0]);
		good &= expect(!nr[1] == !in_kernel, "branches of the kernel: %u, %s", nr[1],
			       in_kernel ? "expected some" : "expected none");
	}
	return good;
}

/* -------------------------------------------------------------------- the interrupt */

/**
 * struct interrupt - samples, and what they show of interrupts
 * @entry: where the interrupt of a sample enters the kernel
 * @samples: their number
 * @apart: those to which the newest branch does not lead
 * @broken: entries that the next one does not lead to
 * @shown: entries that lead to @entry
 */
struct interrupt {
	uint64_t	entry;
	unsigned int	samples, apart, broken, shown;
};

static void find_interrupt(const struct sample *s, bool first __maybe_unused, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	struct interrupt *found = data;

	found->samples++;
	found->apart += !*s->branches || s->ip - e[0].to >= NEAR;
	for (unsigned int i = 0; i < *s->branches; i++) {
		found->shown += e[i].to == found->entry;
		found->broken += i + 1 < *s->branches && e[i].from - e[i + 1].to >= NEAR;
	}
}

static bool interrupt_is_not_shown(void)
{
	struct perf_event_attr attr = branch_attr(BOTH | PERF_SAMPLE_BRANCH_ANY);
	struct interrupt found = { .entry = kernel_function("asm_exc_nmi") };

	need_branches();
	need_short_interrupts();
	require_exact_instructions();
	if (!found.entry)
		skip_case("addresses in /proc/kallsyms");
	attr.exclude_kernel = 0;
	attr.sample_period = 5003;
	look_at_samples(&attr, CALLS, 1, find_interrupt, &found);
	return expect(found.samples > CALLS / 50, "%u samples", found.samples) &
	       expect_eq("samples without the branch before", found.apart, 0) &
	       expect_eq("branches out of order", found.broken, 0) &
	       expect_eq("entries of the interrupt", found.shown, 0);
}

static const struct test tests[] = {
	{ "branches of a system call follow each other", way_is_right },
	{ "a counter has as many branches", counter_agrees },
	{ "a filter selects branches of the kernel", kernel_filters },
	{ "a filter leaves branches of the kernel out", user_filters },
	{ "a filter selects branches of both levels", both_filters },
	{ "without a level a filter has those of the event", levels_by_default },
	{ "a sample does not show its interrupt", interrupt_is_not_shown },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branches of the kernel", "not an x86")
#endif
