// SPDX-License-Identifier: GPL-2.0
/*
 * Events of AMD's Zen that take two counters: of the PMU model each instruction is as many
 * floating-point operations (event 003H) as the unit mask gives, if the odd counter of a pair has
 * MergeEvent, and 15 at most if it has not.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_rdpmc.h"

#define INSNS		0x00c0
#define FLOPS(n)	((n) << 8 | 0x03)	/* an instruction is @n of them */
#define MERGE_EVENT	(0xfull << 32 | 0xff)
#define COUNTERS	6
#define LOOPS		100000

static struct perf_event_attr raw_attr(uint64_t config)
{
	struct perf_event_attr attr = perf_attr_modes(PERF_TYPE_RAW, config, "u");

	attr.disabled = 0;
	return attr;
}

static int open_raw(uint64_t config, int group)
{
	struct perf_event_attr attr = raw_attr(config);

	return open_self(&attr, group);
}

static uint64_t count_a_loop(uint64_t config)
{
	struct perf_event_attr attr = raw_attr(config);
	uint64_t count;
	int fd;

	attr.disabled = 1;
	fd = open_self(&attr, -1);
	count_loop(fd, LOOPS, 0);
	count = perf_count(fd);
	close(fd);
	return count;
}

/* A Zen, where the event is not what another processor has under its code. */
static void need_pairs(void)
{
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	if ((a >> 8 & 15) != 15 || (a >> 20 & 255) < 8)
		skip_case("no events that take two counters");
	__cpuid(0x80000000, a, b, c, d);
	if (b != 0x68747541)
		skip_case("no events that take two counters");
	require_exact_instructions();
}

static bool flops_are_all_counted(void)
{
	uint64_t insns;
	bool good = true;

	need_pairs();
	insns = count_a_loop(INSNS);
	good &= expect_between("instructions", insns, LOOP_INSNS(LOOPS), LOOP_INSNS(LOOPS) + 20);
	good &= expect_eq("1 for each", count_a_loop(FLOPS(1)), insns);
	good &= expect_eq("16 for each", count_a_loop(FLOPS(16)), 16 * insns);
	good &= expect_eq("64 for each", count_a_loop(FLOPS(64)), 64 * insns);
	return good & expect_eq("255 for each", count_a_loop(FLOPS(255)), 255 * insns);
}

/* A group: FLOPs with these unit masks, 0: no more; events of instructions before or after them. */
struct group_of {
	unsigned int	flops[3], insns;
	bool		insns_first, fits;
};

static uint64_t group_config(const struct group_of *g, unsigned int i, unsigned int pairs)
{
	unsigned int first = g->insns_first ? g->insns : 0;

	if (i >= first && i < first + pairs)
		return FLOPS(g->flops[i - first]);
	return INSNS;
}

/* Opens the group; the number of members that it accepts. They start to count together. */
static unsigned int group_open(const struct group_of *g, int *fd, unsigned int pairs)
{
	unsigned int nr = pairs + g->insns, i;

	for (i = 0; i < nr; i++) {
		struct perf_event_attr attr = raw_attr(group_config(g, i, pairs));

		attr.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
		fd[i] = perf_open(&attr, 0, -1, i ? fd[0] : -1, PERF_FLAG_FD_CLOEXEC);
		if (fd[i] < 0)
			break;
	}
	MUST(ioctl(fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
	return i;
}

/* Members of the group, in user mode, have executed the same instructions. */
static bool group_is_right(const struct group_of *g)
{
	unsigned int pairs, nr, opened, i;
	uint64_t insns;
	struct reading r;
	int fd[8];
	bool good;

	for (pairs = 0; pairs < 3 && g->flops[pairs]; pairs++)
		;
	nr = pairs + g->insns;
	ktap_note("%u pairs, %u others%s", pairs, g->insns, g->insns_first ? " before them" : "");
	opened = group_open(g, fd, pairs);
	good = expect_eq("members", opened, g->fits ? nr : nr - 1);
	if (good && g->fits) {
		run_loop(LOOPS);
		good = read_in_format(fd[0], PERF_FORMAT_GROUP | FORMAT_TIMES, &r) &&
		       expect_eq("ran always", r.running, r.enabled);
		insns = r.member[0].value / (group_config(g, 0, pairs) == INSNS ? 1 : g->flops[0]);
		good = good && expect(insns > LOOP_INSNS(LOOPS), "%llu instructions",
				      (unsigned long long)insns);
		for (i = 0; good && i < nr; i++) {
			uint64_t config = group_config(g, i, pairs);

			good = expect_eq("member", r.member[i].value,
					 config == INSNS ? insns : insns * (config >> 8));
		}
	}
	while (opened--)
		close(fd[opened]);
	return good;
}

static bool groups_have_room(void)
{
	static const struct group_of groups[] = {
		{ { 64, 16, 255 }, 0, false, true },
		{ { 64, 16, 255 }, 1, false, false },
		{ { 64, 16 }, 2, false, true },
		{ { 64, 16 }, 2, true, true },
		{ { 64, 16 }, 3, false, false },
		{ { 255 }, 4, false, true },
		{ { 255 }, 4, true, true },
		{ { 255 }, 5, false, false },
	};
	bool good = true;

	need_pairs();
	for (unsigned int i = 0; good && i < ARRAY_SIZE(groups); i++)
		good = group_is_right(&groups[i]);
	return good;
}

/*
 * Seven events of two and one counters take turns: each counts for its share of the time. An
 * instruction is a nanosecond. They count instructions of user space. Its share of the time is
 * nearly the same in all turns, because the kernel executes as many instructions at each tick: a
 * half more or less, on a debug kernel.
 */
static bool pairs_take_turns(void)
{
	static const uint64_t configs[] = {
		FLOPS(64), INSNS, FLOPS(32), INSNS, FLOPS(255), FLOPS(16), INSNS
	};
	int fd[ARRAY_SIZE(configs)];
	bool good = true;
	double share;

	need_pairs();
	for (unsigned int i = 0; i < ARRAY_SIZE(configs); i++) {
		struct perf_event_attr attr = raw_attr(configs[i]);

		attr.read_format = FORMAT_TIMES;
		fd[i] = open_self(&attr, -1);
	}
	share = monotonic_ns();
	run_loop(200000000);
	share = LOOP_INSNS(200000000) / (monotonic_ns() - share);
	ktap_note("user space has %.4f of the time", share);
	for (unsigned int i = 0; i < ARRAY_SIZE(configs); i++) {
		unsigned int each = configs[i] == INSNS ? 1 : configs[i] >> 8;
		struct timed_count t = read_timed_count(fd[i]);

		good &= expect(t.running > t.enabled / 4 && t.running < t.enabled,
			       "event %u ran for %llu of %llu ns", i, (unsigned long long)t.running,
			       (unsigned long long)t.enabled);
		good &= expect_near_permille("count", t.value / each, t.running * share,
					     10 + (1 - share) * 500);
	}
	return good;
}

/* As many samples as periods: no throttling. */
static void allow_many_samples(void)
{
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
}

static struct ring rings[COUNTERS];

static void open_sampled(struct ring *ring, uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = raw_attr(config);

	attr.disabled = 1;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP;
	if (!ring_map(ring, open_self(&attr, -1), 16))
		fail_case("mapping a buffer");
}

/* A period may have ended while the event was stopped. */
static bool samples_of(const char *what, struct ring *ring, uint64_t period)
{
	uint64_t count = perf_count(ring->fd);
	unsigned int samples = ring_count(ring, PERF_RECORD_SAMPLE);

	return expect(count > 10 * period, "%s: %llu counts", what, (unsigned long long)count) &
	       expect_near(what, samples, count / period, 1);
}

/* Periods that are multiples of an increment, and not; counters next to each other. */
static bool pairs_are_sampled(void)
{
	bool good;

	need_pairs();
	allow_many_samples();
	open_sampled(&rings[0], FLOPS(64), 64 * 10007);
	open_sampled(&rings[1], INSNS, 5003);
	open_sampled(&rings[2], FLOPS(255), 1000003);
	open_sampled(&rings[3], INSNS, 20011);
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
	run_loop(10 * LOOPS);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	good = samples_of("FLOPs, 64 each", &rings[0], 64 * 10007);
	good &= samples_of("instructions", &rings[1], 5003);
	good &= samples_of("FLOPs, 255 each", &rings[2], 1000003);
	return good & samples_of("more instructions", &rings[3], 20011);
}

/* Counters that have been merged, and those that others were merged into. */
static bool others_are_sampled_after_pairs(void)
{
	bool good = true;
	int fd[3];

	need_pairs();
	allow_many_samples();
	for (int i = 0; i < 3; i++)
		fd[i] = open_raw(FLOPS(200), -1);
	run_loop(LOOPS);
	for (int i = 0; i < 3; i++) {
		good &= expect(perf_count(fd[i]) > 200 * LOOP_INSNS(LOOPS), "FLOPs counted");
		event_disable(fd[i]);
	}
	for (unsigned int i = 0; i < COUNTERS; i++)
		open_sampled(&rings[i], INSNS, 10007 + i);
	/* One is beside a counter that has no event; after that all have. */
	event_enable(rings[0].fd);
	run_loop(10 * LOOPS);
	good &= expect(perf_count(rings[0].fd) >= 10 * LOOP_INSNS(LOOPS), "instructions alone") &
		expect(rings[0].page->data_head, "samples of them");
	for (unsigned int i = 1; i < COUNTERS; i++)
		event_enable(rings[i].fd);
	run_loop(10 * LOOPS);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	for (unsigned int i = 0; i < COUNTERS; i++)
		good &= samples_of("instructions", &rings[i], 10007 + i);
	return good & expect_eq("again 64 for each", count_a_loop(FLOPS(64)),
				64 * count_a_loop(INSNS));
}

/* A task that counts @nr events of @config in its turns. */
static pid_t fork_counted(uint64_t config, unsigned int nr, struct gate *go, struct gate *back)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	while (nr--)
		open_raw(config, -1);
	for (;;) {
		gate_wait(go);
		run_loop(1000);
		gate_open(back);
	}
}

static void give_turns(unsigned int n, struct gate *go, struct gate *back)
{
	while (n--) {
		run_loop(1000);
		gate_open(go);
		gate_wait(back);
	}
}

/* The events of another task on the CPU take the same counters in another way. */
static bool counts_are_exact_over_switches(void)
{
	static const struct group_of self = { { 64 }, 1, false, true };
	struct gate go = gate_new(), back = gate_new();
	struct reading r;
	pid_t partner;
	int fd[2];
	bool good;

	need_pairs();
	MUST(pin_to_cpu(0));
	partner = fork_counted(INSNS, COUNTERS, &go, &back);
	MUST(group_open(&self, fd, 1));
	give_turns(100, &go, &back);
	kill_child(partner);
	good = read_in_format(fd[0], PERF_FORMAT_GROUP | FORMAT_TIMES, &r);
	return good && expect_eq("64 for each instruction", r.member[0].value,
				 64 * r.member[1].value);
}

static bool counts_are_exact_over_migrations(void)
{
	static const struct group_of self = { { 255 }, 1, true, true };
	struct reading r;
	bool good;
	int fd[2];

	need_pairs();
	require_cpus(2);
	MUST(group_open(&self, fd, 1));
	for (int i = 0; i < 20; i++) {
		MUST(pin_to_cpu(i & 1));
		run_loop(1000);
	}
	good = read_in_format(fd[0], PERF_FORMAT_GROUP | FORMAT_TIMES, &r);
	return good && expect_eq("255 for each instruction", r.member[1].value,
				 255 * r.member[0].value);
}

#define SWITCHES	500

/* The stock kernel is recognized by its sysctl, where there are sysctls. */
static bool switches_write_nothing(void)
{
	struct gate go = gate_new(), back = gate_new();
	uint64_t writes;
	pid_t partner;

	need_pairs();
	need_stats();
	if (!kernel_gives_reasons() && !access("/proc/sys", F_OK))
		skip_case("this kernel writes at every switch");
	MUST(pin_to_cpu(0));
	partner = fork_counted(FLOPS(64), 2, &go, &back);
	open_raw(FLOPS(64), -1);
	open_raw(FLOPS(64), -1);
	give_turns(10, &go, &back);
	writes = writes_so_far();
	give_turns(SWITCHES, &go, &back);
	writes = writes_so_far() - writes;
	kill_child(partner);
	return expect_eq("writes of 500 switches there and back", writes, 0);
}

/* Instructions from one reading to the next. */
static bool rdpmc_reads_pairs(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t before, told, after;
	bool good = true;
	int fd;

	need_pairs();
	fd = open_raw(FLOPS(255), -1);
	page = map_event(fd);
	for (int i = 0; good && i < 10; i++) {
		run_loop(LOOPS);
		good = expect(read_self(page, &before), "a counter to read");
		told = perf_count(fd);
		read_self(page, &after);
		good = good && expect_between("read()", told - before, 0, 255 * READ_SLACK) &&
		       expect_between("RDPMC", after - told, 0, 255 * READ_SLACK) &&
		       expect_eq("part of 255", after % 255, 0);
	}
	return good;
}

static bool merge_event_is_refused(void)
{
	struct perf_event_attr attr = raw_attr(MERGE_EVENT);

	need_pairs();
	if (!kernel_gives_reasons() && !access("/proc/sys", F_OK))
		skip_case("this kernel lets a user merge any counters");
	return expect_refused("MergeEvent", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config");
}

static const struct test tests[] = {
	{ "all of an instruction's operations are counted", flops_are_all_counted },
	{ "groups have the room of pairs", groups_have_room },
	{ "pairs take turns with other events", pairs_take_turns },
	{ "pairs are sampled", pairs_are_sampled },
	{ "other events are sampled after pairs", others_are_sampled_after_pairs },
	{ "counts are exact over switches", counts_are_exact_over_switches },
	{ "counts are exact over migrations", counts_are_exact_over_migrations },
	{ "switches write no register", switches_write_nothing },
	{ "RDPMC reads a pair", rdpmc_reads_pairs },
	{ "MergeEvent is refused", merge_event_is_refused },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("x86_amd_pair", "not an x86")
#endif
