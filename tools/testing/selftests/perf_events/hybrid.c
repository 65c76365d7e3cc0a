// SPDX-License-Identifier: GPL-2.0
/*
 * A machine with two kinds of core and a PMU for each: where the events of each count, how they are
 * distinguished, and registers that only one kind has. CPU 0 is big, CPU 1 small.
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
#define BIG	"armv8_cortex_a72"
#define SMALL	"armv8_cortex_a53"
#define RAW_INSNS	0x08
#else
#define BIG	"cpu_core"
#define SMALL	"cpu_atom"
#define RAW_INSNS	0xc0
#endif
#define PMU_DIR	"/sys/bus/event_source/devices/"

static void need_hybrid(void)
{
	if (access(PMU_DIR BIG "/type", F_OK) || access(PMU_DIR SMALL "/type", F_OK))
		skip_case("one kind of core");
}

static struct perf_event_attr insns_of(const char *pmu)
{
	uint64_t type = perf_pmu_type(pmu);

	return hw_attr(type << PERF_PMU_TYPE_SHIFT | PERF_COUNT_HW_INSTRUCTIONS, "u");
}

static bool each_counts_on_its_cores(void)
{
	struct perf_event_attr attr;
	int core, atom;

	need_hybrid();
	require_cpus(2);
	attr = insns_of(BIG);
	core = open_self(&attr, -1);
	attr = insns_of(SMALL);
	atom = open_self(&attr, -1);
	event_enable(core);
	event_enable(atom);
	for (int i = 0; i < 20; i++) {
		pin_to_cpu(0);
		run_loop(100000);
		pin_to_cpu(1);
		run_loop(200000);
	}
	event_disable(core);
	event_disable(atom);
	return expect_near("on the big core", perf_count(core), 20 * LOOP_INSNS(100000), 20 * 200) &
	       expect_near("on the small one", perf_count(atom), 20 * LOOP_INSNS(200000), 20 * 200);
}

static bool file_contains(const char *file, const char *want)
{
	char line[64] = "";

	if (read_line(file, line, sizeof(line)) >= 0 && !strcmp(line, want))
		return true;
	ktap_note("%s: \"%s\", expected \"%s\"", file, line, want);
	return false;
}

static bool sysfs_tells_them_apart(void)
{
	need_hybrid();
	if (!(file_contains(PMU_DIR BIG "/cpus", "0") & file_contains(PMU_DIR SMALL "/cpus", "1")))
		return false;
#ifdef __x86_64__
	return file_contains(PMU_DIR BIG "/caps/pmu_name", "alderlake_hybrid") &
	       file_contains(PMU_DIR SMALL "/caps/pmu_name", "alderlake_hybrid") &
	       file_contains(PMU_DIR BIG "/type", "4");
#else
	return true;
#endif
}

/* An event of one kind that is bound to a CPU of the other. */
static bool other_cpus_are_refused(void)
{
	struct perf_event_attr attr;
	bool good = true;

	need_hybrid();
	require_cpus(2);
	attr = insns_of(BIG);
	good &= expect_errno("big, CPU 0", perf_open(&attr, -1, 0, -1, 0), 0);
	good &= expect_errno("big, CPU 1", perf_open(&attr, -1, 1, -1, 0), ENOENT);
	/* On x86 the type of the big cores' PMU is that of raw events. */
	attr = perf_attr_modes(perf_pmu_type(BIG), RAW_INSNS, "u");
	good &= expect_errno("big by its type, CPU 1", perf_open(&attr, -1, 1, -1, 0), ENOENT);
	attr = insns_of(SMALL);
	good &= expect_errno("small, CPU 1", perf_open(&attr, -1, 1, -1, 0), 0);
	return good & expect_errno("small, CPU 0", perf_open(&attr, -1, 0, -1, 0), ENOENT);
}

struct timed_count {
	uint64_t	count;
	uint64_t	enabled;
	uint64_t	running;
};

static struct timed_count read_times(int fd)
{
	struct timed_count t;

	if (read(fd, &t, sizeof(t)) != sizeof(t))
		fail_case("read of an event");
	return t;
}

static int open_timed(const char *pmu)
{
	struct perf_event_attr attr = insns_of(pmu);

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = 0;
	return open_self(&attr, -1);
}

/* Returns the CPU time that is used on the CPU without the migration to it. */
static uint64_t spin_on_cpu(int cpu, unsigned int ms)
{
	uint64_t begin;

	pin_to_cpu(cpu);
	begin = thread_cpu_ns();
	spin_ms(ms);
	return thread_cpu_ns() - begin;
}

/*
 * Three quarters of the time on the small core. A migration's time is that of one of the cores. The
 * CPU time and the event's start at different points of a context switch: 2 % are for that.
 */
static bool time_running_is_that_kinds(void)
{
	uint64_t on_big = 0, on_small = 0;
	struct timed_count big, small;
	int big_fd, small_fd;

	need_hybrid();
	require_cpus(2);
	pin_to_cpu(0);
	big_fd = open_timed(BIG);
	small_fd = open_timed(SMALL);
	for (int i = 0; i < 4; i++) {
		on_big += spin_on_cpu(0, 5);
		on_small += spin_on_cpu(1, 15);
	}
	big = read_times(big_fd);
	small = read_times(small_fd);
	return expect_near_permille("both", big.running + small.running, big.enabled, 50) &
	       expect_between("on the big core", big.running, on_big - on_big / 50,
			      big.enabled - on_small + on_small / 50);
}

#ifdef __x86_64__
/* UOPS_RETIRED.MS, with the register for front-end events, which small cores lack. */
static bool register_of_big_cores(void)
{
	struct perf_event_attr attr;
	pid_t child;
	bool good;
	int fd;

	need_hybrid();
	require_cpus(2);
	attr = perf_attr_modes(perf_pmu_type(BIG), 0x04c2, "u");
	attr.config1 = 8;
	attr.sample_period = 1000000;
	attr.inherit = 1;
	pin_to_cpu(1);
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0) {
		ktap_note("opened on a small core: %s", strerrorname_np(errno));
		return false;
	}
	child = fork();
	if (!child)
		_exit(0);
	good = expect_eq("fork on a small core", child > 0 && child_succeeded(child), true);
	close(fd);
	return good;
}

#else
static bool register_of_big_cores(void)
{
	skip_case("not an x86");
}
#endif

static const struct test tests[] = {
	{ "each kind's events count on its cores", each_counts_on_its_cores },
	{ "sysfs describes both kinds of core", sysfs_tells_them_apart },
	{ "events bound to CPUs of the other kind", other_cpus_are_refused },
	{ "time running is the time on cores of the event's kind", time_running_is_that_kinds },
	{ "a register that only big cores have", register_of_big_cores },
};

TESTS_MAIN(tests)
