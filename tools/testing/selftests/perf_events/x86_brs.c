// SPDX-License-Identifier: GPL-2.0
/*
 * Branch sampling of AMD's Zen 3: after an overflow the next 16 taken branches are recorded, then
 * there is an interrupt. Instructions are the clock of the machine.
 *
 * BRANCH_SAMPLES in the environment (a kernel parameter) is the number of samples with each period,
 * instead of a few hundred, BRANCH_SWITCHES the number of task switches.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"

#ifdef __x86_64__
#include "x86_branch_tasks.h"

#define BRANCH_BRS	"/sys/bus/event_source/devices/cpu/events/branch-brs"
#define TAKEN		0x00c4	/* retired taken branches */
#define DEPTH		16
#define SHORT_PERIOD	33	/* some children have samples, too */

static void need_sampling(void)
{
	if (access(BRANCH_BRS, F_OK))
		skip_case("no branch sampling");
	need_branches();
}

static struct perf_event_attr brs_attr(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY);

	attr.type = PERF_TYPE_RAW;
	attr.config = TAKEN;
	return attr;
}

static bool files_are_there(void)
{
	char text[32] = "";

	need_sampling();
	return expect_eq("caps/branches", depth, DEPTH) &
	       expect(read_line(BRANCH_BRS, text, sizeof(text)) > 0 &&
		      !strncmp(text, "event=0xc4", 10), "branch-brs is %s", text);
}

/**
 * struct buffers - what was found in samples
 * @round: the branches of a round
 * @samples: their number
 * @full: those with as many branches of the loop as the buffer holds
 * @wrong: those with other branches
 * @late: those of the full ones to which the newest branch does not lead
 */
struct buffers {
	struct branch	round[ROUND];
	unsigned int	samples, full, wrong, late;
};

static void check_buffer(const struct sample *s, bool first __maybe_unused, void *data)
{
	const struct perf_branch_entry *e = entries_of(s);
	struct buffers *f = data;
	unsigned int good = follow(e, *s->branches, f->round, ROUND);

	f->samples++;
	f->full += good == DEPTH;
	/* The branch that fills the buffer interrupts. */
	f->late += good == DEPTH && s->ip != e[0].to;
	if (good < *s->branches && !f->wrong++)
		ktap_note("sample %u of %u entries: %u is %#lx/%#lx", f->samples,
			  (int)*s->branches, good, (long)e[good].from, (long)e[good].to);
}

/* The last branches before each sample; an interrupt can take the place of some. */
static bool samples_have_branches(uint64_t period)
{
	struct perf_event_attr attr = brs_attr();
	struct buffers f = { 0 };
	struct sampling how;
	unsigned int others;

	attr.sample_period = period;
	branches_of(branch_loop_points, f.round);
	how = sampling_of(open_self(&attr, -1), &attr);
	how.losses = 500;
	sample_loop(&how, check_buffer, &f);
	close(how.fd);
	if (samples_wanted() > 1)
		ktap_note("period %u: %u samples, %u full, %u wrong", (int)period, f.samples,
			  f.full, f.wrong);
	others = f.samples / 500;
	return expect(f.samples >= samples_wanted(), "%u samples", f.samples) &
	       expect(f.full + 3 + others >= f.samples, "%u of %u samples full", f.full,
		      f.samples) &
	       expect_eq("samples that the newest branch does not lead to", f.late, 0) &
	       /* The entry into the loop, and the way out of it. */
	       expect(f.wrong <= 2 + others, "%u samples with other branches", f.wrong);
}

static bool entries_are_the_loop(void)
{
	need_sampling();
	require_exact_instructions();
	return samples_have_branches(997) && samples_have_branches(113);
}

/*
 * The interrupt of another counter finds the buffer partly filled, with its own way into the kernel
 * as the newest branches. They are none of the program's.
 */
static bool interrupt_is_not_shown(void)
{
	struct perf_event_attr attr = brs_attr(), other = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned int samples = 0, cut = 0, shown = 0;
	uint64_t entry = kernel_function("asm_exc_nmi");
	struct ring ring;
	struct sample s;
	int fd, second;

	need_sampling();
	require_exact_instructions();
	if (!entry)
		skip_case("addresses in /proc/kallsyms");
	if (kernel_function("kasan_report"))
		skip_case("a sample takes a debug kernel longer than a period");
	attr.exclude_kernel = 0;
	attr.branch_sample_type |= PERF_SAMPLE_BRANCH_KERNEL;
	attr.sample_period = 499;
	other.sample_period = 61;
	fd = open_self(&attr, -1);
	second = open_self(&other, -1);
	if (!ring_map(&ring, fd, 256))
		fail_case("mmap");
	event_enable(second);
	event_enable(fd);
	branch_loop(ROUNDS / 4);
	event_disable(fd);
	for (; ring_sample(&ring, &attr, &s); samples++) {
		cut += *s.branches < DEPTH;
		for (unsigned int i = 0; i < *s.branches; i++)
			shown += entries_of(&s)[i].to == entry;
	}
	close(second);
	return expect(samples > 50, "%u samples", samples) &
	       expect(cut > 5, "%u of %u samples of a part of the buffer", cut, samples) &
	       expect_eq("entries of the interrupt", shown, 0);
}

/* A buffer that is not full when its task leaves the CPU is not filled by the next one. */
static bool tasks_have_their_own(enum counted counted)
{
	struct perf_event_attr attr = brs_attr();

	need_sampling();
	attr.sample_period = SHORT_PERIOD;
	return turns_show_own_branches(&attr, counted);
}

static bool no_entries_of_others(void)
{
	return tasks_have_their_own(OF_SELF) & tasks_have_their_own(OF_BOTH);
}

static int open_brs(uint64_t config, uint64_t period, uint64_t type, int cpu)
{
	struct perf_event_attr attr = brs_attr();

	attr.config = config;
	attr.sample_period = period;
	attr.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER;
	return perf_open(&attr, cpu < 0 ? 0 : -1, cpu, -1, 0);
}

static bool refusals(void)
{
	struct perf_event_attr attr = brs_attr();
	uint64_t any = PERF_SAMPLE_BRANCH_ANY, shortest = DEPTH;
	bool good = true;
	int fd;

	need_sampling();
	good &= expect_refused("another event", open_brs(0xc2, PERIOD, any, -1), EINVAL,
			       "config: branches are recorded with event 0xc4 alone");
	good &= expect_refused("no period", open_brs(TAKEN, 0, any, -1), EINVAL,
			       "config: branches are recorded with event 0xc4 alone");
	good &= expect_refused("a short period", open_brs(TAKEN, DEPTH, any, -1), EINVAL,
			       "sample_period: it has to be longer than the 16 records");
	good &= expect_refused("a kind of branch",
			       open_brs(TAKEN, PERIOD, PERF_SAMPLE_BRANCH_COND, -1), EINVAL,
			       "branch_sample_type: this CPU records ANY alone");
	good &= expect_refused("a CPU", open_brs(TAKEN, PERIOD, any, 0), EOPNOTSUPP,
			       "cpu: this CPU records branches of tasks alone");
	attr.freq = 1;
	good &= expect_refused("a frequency", perf_open(&attr, 0, -1, -1, 0), EINVAL,
			       "freq: branches are recorded with a fixed period");
	fd = MUST(open_brs(TAKEN, DEPTH + 1, any, -1));
	good &= expect_refused("a short period later",
			       ioctl(fd, PERF_EVENT_IOC_PERIOD, &shortest), EINVAL,
			       "period: 16 is too short");
	return good;
}

static const struct test tests[] = {
	{ "sysfs has the depth and the event", files_are_there },
	{ "samples have the branches after the overflow", entries_are_the_loop },
	{ "a sample does not show its interrupt", interrupt_is_not_shown },
	{ "there are no entries of other tasks", no_entries_of_others },
	{ "other events and short periods are refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch sampling", "not an x86")
#endif
