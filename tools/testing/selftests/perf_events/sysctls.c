// SPDX-License-Identifier: GPL-2.0
/*
 * What the sysctls are when nothing has changed them, and what they may be set to. The guest boots
 * for this test alone: others change them, and interrupts that take long lower the rates.
 */
#include "workload.h"

#define NOBODY	65534

static long page_kb(void)
{
	return sysconf(_SC_PAGESIZE) / 1024;
}

static bool defaults(void)
{
	return same("perf_event_mlock_kb", sysctl_get("perf_event_mlock_kb", -9), 512 + page_kb()) &
	       same("perf_event_max_sample_rate", sysctl_get("perf_event_max_sample_rate", -9),
		    100000) &
	       same("perf_cpu_time_max_percent", sysctl_get("perf_cpu_time_max_percent", -9), 25) &
	       same("perf_event_max_stack", sysctl_get("perf_event_max_stack", -9), 127) &
	       same("perf_event_max_contexts_per_stack",
		    sysctl_get("perf_event_max_contexts_per_stack", -9), 8);
}

/* An ordinary user asks for an event of his own task, in user space alone. */
static bool user_gets(int error)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	pid_t pid = fork_child();

	if (!pid) {
		attr.exclude_kernel = 1;
		attr.exclude_hv = 1;
		MUST(setresgid(NOBODY, NOBODY, NOBODY));
		MUST(setresuid(NOBODY, NOBODY, NOBODY));
		_exit(!refused("a user's event", perf_open(&attr, 0, -1, -1, 0), error,
			       error ? "paranoid" : NULL));
	}
	return child_was_good(pid);
}

/* At boot it is 2, or 3 where CONFIG_SECURITY_PERF_EVENTS_RESTRICT is set, and holds. */
static bool paranoid_at_boot(void)
{
	long level = sysctl_get("perf_event_paranoid", -9);

	return between("perf_event_paranoid", level, 2, 3) & user_gets(level > 2 ? EACCES : 0);
}

static bool paranoid_is_set(void)
{
	long level = sysctl_get("perf_event_paranoid", -9);
	bool good = true;

	for (int i = 0; i < 2; i++) {
		MUST(sysctl_set("perf_event_paranoid", 3));
		good &= same("3", sysctl_get("perf_event_paranoid", -9), 3) & user_gets(EACCES);
		MUST(sysctl_set("perf_event_paranoid", 2));
		good &= same("2", sysctl_get("perf_event_paranoid", -9), 2) & user_gets(0);
	}
	MUST(sysctl_set("perf_event_paranoid", level));
	return good;
}

/* Refused, and nothing has changed. */
static bool cannot_be(const char *name, long value)
{
	long before = sysctl_get(name, -9);

	return refused(name, sysctl_set(name, value), EINVAL, NULL) &
	       same(name, sysctl_get(name, -9), before);
}

static bool limits(void)
{
	return cannot_be("perf_cpu_time_max_percent", -1) &
	       cannot_be("perf_cpu_time_max_percent", 101) &
	       cannot_be("perf_event_max_sample_rate", 0) &
	       cannot_be("perf_event_max_stack", -1) &
	       cannot_be("perf_event_max_stack", 640 * 1024 + 1) &
	       cannot_be("perf_event_max_contexts_per_stack", -1) &
	       cannot_be("perf_event_max_contexts_per_stack", 1001);
}

/* At 100 % and at 0 the time is not limited, and the rate cannot be. */
static bool rates(void)
{
	bool good = true;

	MUST(sysctl_set("perf_event_max_sample_rate", 5000));
	good &= same("rate", sysctl_get("perf_event_max_sample_rate", -9), 5000);
	for (int percent = 0; percent <= 100; percent += 100) {
		MUST(sysctl_set("perf_cpu_time_max_percent", percent));
		good &= same("percent", sysctl_get("perf_cpu_time_max_percent", -9), percent);
		good &= cannot_be("perf_event_max_sample_rate", 6000);
	}
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000));
	return good & same("rate", sysctl_get("perf_event_max_sample_rate", -9), 100000);
}

static const struct test tests[] = {
	{ "defaults", defaults },
	{ "perf_event_paranoid at boot", paranoid_at_boot },
	{ "perf_event_paranoid 3 refuses users everything, 2 does not", paranoid_is_set },
	{ "values out of range", limits },
	{ "sample rate and percentage", rates },
};

TESTS_MAIN(tests)
