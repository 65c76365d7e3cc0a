// SPDX-License-Identifier: GPL-2.0
/*
 * Branch sampling of AMD's Zen 3: after an overflow the next 16 taken branches are recorded, then
 * there is an interrupt. Instructions are the clock of the machine.
 *
 * BRANCH_SAMPLES in the environment (a kernel parameter) is the number of samples with each period,
 * instead of a few hundred.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"

#ifdef __x86_64__
#include "x86_branch_samples.h"

#define BRANCH_BRS	"/sys/bus/event_source/devices/cpu/events/branch-brs"
#define TAKEN		0x00c4	/* retired taken branches */
#define DEPTH		16

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

static void check_buffer(const struct sample *s, bool first, void *data)
{
	const struct perf_branch_entry *e = (void *)(s->branches + 1);
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
	unsigned int others;
	uint64_t expected;
	int fd;

	attr.sample_period = period;
	branches_of(branch_loop_points, f.round);
	fd = open_self(&attr, -1);
	sample_loop(fd, &attr, ROUNDS, 100, check_buffer, &f);
	expected = perf_count(fd) / period;
	close(fd);
	if (samples_wanted() > 1)
		ktap_note("period %u: %u samples, %u full, %u wrong", (int)period, f.samples,
			  f.full, f.wrong);
	others = f.samples / 500;
	return expect_between("samples", f.samples, expected - 1 - others, expected + 1) &
	       expect(f.samples >= samples_wanted(), "%u samples", f.samples) &
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
	struct perf_event_header *h;
	struct ring ring;
	int fd, second;

	need_sampling();
	require_exact_instructions();
	if (!entry)
		skip_case("addresses in /proc/kallsyms");
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
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		const struct perf_branch_entry *e;
		struct sample s;

		sample_parse(&s, h, &attr);
		e = (void *)(s.branches + 1);
		samples++;
		cut += *s.branches < DEPTH;
		for (unsigned int i = 0; i < *s.branches; i++)
			shown += e[i].to == entry;
	}
	close(second);
	return expect(samples > 50, "%u samples", samples) &
	       expect(cut > 5, "%u of %u samples of a part of the buffer", cut, samples) &
	       expect_eq("entries of the interrupt", shown, 0);
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
	good &= expect_errno("another event", open_brs(0xc2, PERIOD, any, -1), EINVAL);
	good &= expect_errno("no period", open_brs(TAKEN, 0, any, -1), EINVAL);
	good &= expect_errno("a short period", open_brs(TAKEN, DEPTH, any, -1), EINVAL);
	good &= expect_errno("a kind of branch",
			     open_brs(TAKEN, PERIOD, PERF_SAMPLE_BRANCH_COND, -1), EINVAL);
	good &= expect_errno("a CPU", open_brs(TAKEN, PERIOD, any, 0), EOPNOTSUPP);
	attr.freq = 1;
	good &= expect_errno("a frequency", perf_open(&attr, 0, -1, -1, 0), EINVAL);
	fd = MUST(open_brs(TAKEN, DEPTH + 1, any, -1));
	good &= expect_errno("a short period later",
			     ioctl(fd, PERF_EVENT_IOC_PERIOD, &shortest), EINVAL);
	return good;
}

static const struct test tests[] = {
	{ "sysfs has the depth and the event", files_are_there },
	{ "samples have the branches after the overflow", entries_are_the_loop },
	{ "a sample does not show its interrupt", interrupt_is_not_shown },
	{ "other events and short periods are refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch sampling", "not an x86")
#endif
