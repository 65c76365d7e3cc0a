// SPDX-License-Identifier: GPL-2.0
/*
 * Defaults of the sysctls, and values they accept. The guest boots for this test alone: other tests
 * change them, and long interrupts lower the rates.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"

#define NOBODY	65534

static long page_kb(void)
{
	return sysconf(_SC_PAGESIZE) / 1024;
}

static bool default_values(void)
{
	return expect_eq("perf_event_mlock_kb", sysctl_get("perf_event_mlock_kb", -9),
			 512 + page_kb()) &
	       expect_eq("perf_event_max_sample_rate", sysctl_get("perf_event_max_sample_rate", -9),
			 100000) &
	       expect_eq("perf_cpu_time_max_percent", sysctl_get("perf_cpu_time_max_percent", -9),
			 25) &
	       expect_eq("perf_event_max_stack", sysctl_get("perf_event_max_stack", -9), 127) &
	       expect_eq("perf_event_max_contexts_per_stack",
			 sysctl_get("perf_event_max_contexts_per_stack", -9), 8);
}

/* An ordinary user opens an event of its own task, in user space only. */
static bool user_gets(int error)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	pid_t pid = fork_child();

	if (!pid) {
		attr.exclude_kernel = 1;
		attr.exclude_hv = 1;
		MUST(setresgid(NOBODY, NOBODY, NOBODY));
		MUST(setresuid(NOBODY, NOBODY, NOBODY));
		_exit(!expect_refused("a user's event", perf_open(&attr, 0, -1, -1, 0), error,
				      error ? "paranoid" : NULL));
	}
	return child_succeeded(pid);
}

/* The default is 2, or 3 with CONFIG_SECURITY_PERF_EVENTS_RESTRICT, and is enforced. */
static bool paranoid_at_boot(void)
{
	long level = sysctl_get("perf_event_paranoid", -9);

	return expect_between("perf_event_paranoid", level, 2, 3) &
	       user_gets(level > 2 ? EACCES : 0);
}

static bool paranoid_is_set(void)
{
	long level = sysctl_get("perf_event_paranoid", -9);
	bool good = true;

	for (int i = 0; i < 2; i++) {
		MUST(sysctl_set("perf_event_paranoid", 3));
		good &= expect_eq("3", sysctl_get("perf_event_paranoid", -9), 3) &
			user_gets(EACCES);
		MUST(sysctl_set("perf_event_paranoid", 2));
		good &= expect_eq("2", sysctl_get("perf_event_paranoid", -9), 2) & user_gets(0);
	}
	MUST(sysctl_set("perf_event_paranoid", level));
	return good;
}

/* The value is refused, and the old one stays. */
static bool cannot_be(const char *name, long value)
{
	long before = sysctl_get(name, -9);

	return expect_refused(name, sysctl_set(name, value), EINVAL, NULL) &
	       expect_eq(name, sysctl_get(name, -9), before);
}

static bool limits_of_values(void)
{
	return cannot_be("perf_cpu_time_max_percent", -1) &
	       cannot_be("perf_cpu_time_max_percent", 101) &
	       cannot_be("perf_event_max_sample_rate", 0) &
	       cannot_be("perf_event_max_stack", -1) &
	       cannot_be("perf_event_max_stack", 640 * 1024 + 1) &
	       cannot_be("perf_event_max_contexts_per_stack", -1) &
	       cannot_be("perf_event_max_contexts_per_stack", 1001);
}

/* At 100 % and at 0 the time is not limited, and the rate cannot be set. */
static bool rate_values(void)
{
	bool good = true;

	MUST(sysctl_set("perf_event_max_sample_rate", 5000));
	good &= expect_eq("rate", sysctl_get("perf_event_max_sample_rate", -9), 5000);
	for (int percent = 0; percent <= 100; percent += 100) {
		MUST(sysctl_set("perf_cpu_time_max_percent", percent));
		good &= expect_eq("percent", sysctl_get("perf_cpu_time_max_percent", -9), percent);
		good &= cannot_be("perf_event_max_sample_rate", 6000);
	}
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000));
	return good & expect_eq("rate", sysctl_get("perf_event_max_sample_rate", -9), 100000);
}

static const struct test tests[] = {
	{ "the sysctls have their defaults", default_values },
	{ "perf_event_paranoid at boot", paranoid_at_boot },
	{ "perf_event_paranoid 3 refuses users everything, 2 does not", paranoid_is_set },
	{ "values out of range are refused", limits_of_values },
	{ "sample rate and percentage", rate_values },
};

TESTS_MAIN(tests)
