// SPDX-License-Identifier: GPL-2.0
/*
 * Version 6 of Intel's performance monitoring: counters that CPUID leaf 0AH has no room for, their
 * registers, and top-down events on fixed counters.
 *
 * The emulator has four slots in each cycle, and fixed fractions of them: of eight slots one is bad
 * speculation, one frontend bound, two are backend bound, four retire. A cycle is an instruction.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include <cpuid.h>

#include "x86_rdpmc.h"

#define INSNS		0x00c0
#define CYCLES		0x003c
#define BRANCHES	0x00c4
#define BE_BOUND	0x02a4
#define BAD_SPEC	0x0073
#define FE_BOUND	0x019c
#define RETIRING	0x02c2
/* Events that only fixed counter @n has; 0 and 1 have no such name. */
#define FIXED(n)	(((n) + 1) << 8)
#define UMASK2(n)	((uint64_t)(n) << 40)
#define LOOPS		100000
#define MOST_COUNTERS	17
#define PMU_DIR		"/sys/bus/event_source/devices/"

/**
 * struct part - a kind of core
 * @pmu: its PMU
 * @cpu: a CPU that has it
 * @general: number of general counters
 * @fixed: set of fixed counters
 */
struct part {
	const char	*pmu;
	int		cpu;
	unsigned int	general;
	unsigned int	fixed;
};

static const struct part all_parts[] = {
	{ "cpu", 0, 10, 0x7f },
	{ "cpu_core", 0, 10, 0x0f },
	{ "cpu_atom", 1, 8, 0x77 },
};

static void require_version_6(void)
{
	unsigned int eax = 0, ebx, ecx, edx;

	if (!__get_cpuid(0xa, &eax, &ebx, &ecx, &edx) || (eax & 0xff) < 6)
		skip_case("not version 6");
}

/* Runs @test on each kind of core that there is. */
static bool on_all_parts(bool (*test)(const struct part *part))
{
	unsigned int nr = 0;
	bool good = true;

	require_version_6();
	for (unsigned int i = 0; i < ARRAY_SIZE(all_parts); i++) {
		if (perf_pmu_type(all_parts[i].pmu) < 0)
			continue;
		MUST(pin_to_cpu(all_parts[i].cpu));
		nr++;
		good &= expect(test(&all_parts[i]), "on %s", all_parts[i].pmu);
	}
	return expect(nr, "no PMU") & good;
}

static struct perf_event_attr part_attr(const struct part *part, uint64_t config)
{
	struct perf_event_attr attr = perf_attr_modes(perf_pmu_type(part->pmu), config, "u");

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

/* What read() of a group returns. */
struct counts {
	uint64_t nr, enabled, running;
	uint64_t value[MOST_COUNTERS + 1];
};

/* Opens a group and counts a loop; the result of the first open that fails, else 0. */
static int count_group(const struct part *part, const uint64_t *config, unsigned int nr,
		       struct counts *counts)
{
	struct perf_event_attr attr;
	int fd[MOST_COUNTERS + 1], ret = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		attr = part_attr(part, config[i]);
		attr.disabled = !i;
		fd[i] = perf_open(&attr, 0, -1, i ? fd[0] : -1, 0);
		if (fd[i] < 0) {
			ret = -errno;
			break;
		}
	}
	if (!ret) {
		event_enable(fd[0]);
		run_loop(LOOPS);
		event_disable(fd[0]);
		MUST(read(fd[0], counts, sizeof(*counts)));
	}
	while (i--)
		close(fd[i]);
	return ret;
}

/* Fills @config with events for all counters: branches for the general ones. */
static unsigned int all_counters(const struct part *part, uint64_t *config)
{
	static const uint64_t fixed[] = {
		INSNS, CYCLES, FIXED(2), FIXED(3), FIXED(4), FIXED(5), FIXED(6)
	};
	unsigned int nr = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (part->fixed & 1u << i)
			config[nr++] = fixed[i];
	}
	for (unsigned int i = 0; i < part->general; i++)
		config[nr++] = BRANCHES;
	return nr;
}

/*
 * With instructions as the clock each takes one cycle. Turns of another CPU add as many if that is
 * busy, as it can be in the debug kernel.
 */
static bool cycles_fit(uint64_t cycles)
{
	uint64_t others = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? LOOP_INSNS(LOOPS) * 3 / 2 : 200;

	return expect_between("cycles", cycles, LOOP_INSNS(LOOPS), LOOP_INSNS(LOOPS) + others);
}

static bool part_counts_with_all(const struct part *part)
{
	uint64_t config[MOST_COUNTERS + 1];
	unsigned int nr = all_counters(part, config), fixed = nr - part->general;
	struct counts c = { };
	bool good;

	good = expect_eq("a group of all", count_group(part, config, nr, &c), 0) &&
	       expect_eq("members", c.nr, nr) & expect_eq("time", c.running, c.enabled) &
	       expect(c.enabled > 0, "no time") &
	       expect_near("instructions", c.value[0], LOOP_INSNS(LOOPS), 200) &
	       cycles_fit(c.value[1]);
	for (unsigned int i = fixed; good && i < nr; i++)
		good &= expect_eq("branches", c.value[i], c.value[fixed]) &
			expect_near("a fourth", c.value[i], c.value[0] / 4, 1);
	config[nr] = BRANCHES;
	return good & expect_errno("one more", count_group(part, config, nr + 1, &c) ? -1 : 0,
				   EINVAL);
}

static bool all_counters_count_at_once(void)
{
	return on_all_parts(part_counts_with_all);
}

static bool topdown_fractions_hold(const struct part *part, const uint64_t *config,
				   const char *what)
{
	struct counts c = { };
	uint64_t cycles;

	if (!expect_eq(what, count_group(part, config, 5, &c), 0))
		return false;
	cycles = c.value[0];
	return expect_eq(what, c.running, c.enabled) &
	       cycles_fit(cycles) &
	       expect_eq("backend bound", c.value[1], cycles) &
	       expect_near("bad speculation", c.value[2], cycles / 2, 1) &
	       expect_near("frontend bound", c.value[3], cycles / 2, 1) &
	       expect_eq("retiring", c.value[4], 2 * cycles);
}

/* On a big core fixed counters 4 to 6 are missing: their events are those of general counters. */
static bool part_has_topdown(const struct part *part)
{
	static const uint64_t named[] = { CYCLES, BE_BOUND, BAD_SPEC, FE_BOUND, RETIRING };
	static const uint64_t fixed[] = { CYCLES, BE_BOUND, FIXED(4), FIXED(5), FIXED(6) };

	return topdown_fractions_hold(part, named, "by name") &
	       (!(part->fixed & 0x70) || topdown_fractions_hold(part, fixed, "fixed"));
}

static bool topdown_events_are_fractions(void)
{
	return on_all_parts(part_has_topdown);
}

/* The events of the last general counters and of the last fixed one interrupt. */
static bool part_samples_with_all(const struct part *part)
{
	const uint64_t period = 4001;
	uint64_t config[MOST_COUNTERS + 1];
	unsigned int nr = all_counters(part, config);
	struct ring ring[MOST_COUNTERS];
	int fd[MOST_COUNTERS];
	bool good = true;

	for (unsigned int i = 0; i < nr; i++) {
		struct perf_event_attr attr = part_attr(part, config[i]);

		attr.sample_period = period;
		attr.sample_type = PERF_SAMPLE_IP;
		attr.read_format = 0;
		attr.pinned = 1;
		fd[i] = open_self(&attr, -1);
		if (!ring_map(&ring[i], fd[i], 8))
			fail_case("mmap");
		event_enable(fd[i]);
	}
	run_loop(LOOPS);
	for (unsigned int i = 0; i < nr; i++) {
		event_disable(fd[i]);
		good &= expect(perf_count(fd[i]) > period, "event %u counts nothing", i) &
			expect_eq("samples", ring_count(&ring[i], PERF_RECORD_SAMPLE),
				  perf_count(fd[i]) / period);
		ring_unmap(&ring[i]);
		close(fd[i]);
	}
	return good;
}

static bool all_counters_interrupt(void)
{
	return on_all_parts(part_samples_with_all);
}

static bool part_reads_by_rdpmc(const struct part *part)
{
	uint64_t config[MOST_COUNTERS + 1];
	unsigned int nr = all_counters(part, config), seen = 0;
	struct perf_event_mmap_page *page[MOST_COUNTERS];
	int fd[MOST_COUNTERS];
	bool good = true;

	for (unsigned int i = 0; i < nr; i++) {
		struct perf_event_attr attr = part_attr(part, config[i]);

		attr.read_format = 0;
		attr.pinned = 1;
		fd[i] = open_self(&attr, -1);
		page[i] = map_event(fd[i]);
		event_enable(fd[i]);
	}
	run_loop(LOOPS);
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t count;

		seen += read_self(page[i], &count);
		good &= reads_agree(page[i], fd[i], "count");
	}
	for (unsigned int i = 0; i < nr; i++) {
		munmap(page[i], 4096);
		close(fd[i]);
	}
	return expect_eq("counters that can be read", seen, nr) & good;
}

static bool all_counters_are_readable(void)
{
	return on_all_parts(part_reads_by_rdpmc);
}

static bool part_has_second_umask(const struct part *part)
{
	const uint64_t config[] = { CYCLES, CYCLES | UMASK2(1), CYCLES | UMASK2(0xff) };
	char path[128], line[64] = "";
	struct counts c = { };

	snprintf(path, sizeof(path), PMU_DIR "%s/format/eq", part->pmu);
	return expect(read_line(path, line, sizeof(line)) >= 0 && !strcmp(line, "config:36"),
		      "eq: %s", line) &
	       (expect_eq("a group", count_group(part, config, 3, &c), 0) &&
		expect(c.value[0] > LOOPS, "%lu cycles", (long)c.value[0]) &
		expect_eq("another event", c.value[1], 0) &
		expect_eq("and another", c.value[2], 0));
}

static bool second_umask_selects(void)
{
	return on_all_parts(part_has_second_umask);
}

static const struct test tests[] = {
	{ "all counters count at once", all_counters_count_at_once },
	{ "top-down events are fractions of the slots", topdown_events_are_fractions },
	{ "all counters interrupt", all_counters_interrupt },
	{ "user space reads all counters", all_counters_are_readable },
	{ "the second umask selects another event", second_umask_selects },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("version 6", "not an x86")
#endif
