// SPDX-License-Identifier: GPL-2.0
/*
 * A machine with two kinds of core, each with a PMU of its own: where events of either count, what tells
 * them apart, and registers that only one kind has. CPU 0 is big, CPU 1 small.
 */
#include "workload.h"

#define CORE	"/sys/bus/event_source/devices/cpu_core/"
#define ATOM	"/sys/bus/event_source/devices/cpu_atom/"

static void need_hybrid(void)
{
	if (access(CORE "type", F_OK) || access(ATOM "type", F_OK))
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
	need_cpus(2);
	attr = insns_of("cpu_core");
	core = open_self(&attr, -1);
	attr = insns_of("cpu_atom");
	atom = open_self(&attr, -1);
	enable(core);
	enable(atom);
	for (int i = 0; i < 20; i++) {
		pin_to_cpu(0);
		run_loop(100000);
		pin_to_cpu(1);
		run_loop(200000);
	}
	disable(core);
	disable(atom);
	return near("on the big core", perf_count(core), 20 * LOOP_INSNS(100000), 20 * 200) &
	       near("on the small one", perf_count(atom), 20 * LOOP_INSNS(200000), 20 * 200);
}

static bool says(const char *file, const char *want)
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
	return says(CORE "cpus", "0") & says(ATOM "cpus", "1") &
	       says(CORE "caps/pmu_name", "alderlake_hybrid") &
	       says(ATOM "caps/pmu_name", "alderlake_hybrid") & says(CORE "type", "4");
}

/* UOPS_RETIRED.MS, with the register of front-end events, which small cores do not have. */
static bool register_of_big_cores(void)
{
	struct perf_event_attr attr;
	pid_t child;
	bool good;
	int fd;

	need_hybrid();
	need_cpus(2);
	attr = perf_attr_at(perf_pmu_type("cpu_core"), 0x04c2, "u");
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
	good = same("fork on a small core", child > 0 && child_was_good(child), true);
	close(fd);
	return good;
}

static const struct test tests[] = {
	{ "each kind's events count on its cores", each_counts_on_its_cores },
	{ "sysfs tells the kinds apart", sysfs_tells_them_apart },
	{ "a register that only big cores have", register_of_big_cores },
};

TESTS_MAIN(tests)
