/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks that all pages of buffers were given back. The kernel shows nowhere what a user has of the
 * allowance (perf_event_mlock_kb for each CPU), so a child that may have no page beyond it maps all
 * of it.
 */
#ifndef PERF_TEST_MEMLOCK_H
#define PERF_TEST_MEMLOCK_H

#include "events.h"

#include <linux/capability.h>
#include <sys/resource.h>

/* Pages of buffers that a user may have before RLIMIT_MEMLOCK limits them. */
static inline long memlock_allowance(void)
{
	long kb = sysctl_get("perf_event_mlock_kb", 516) * sysconf(_SC_NPROCESSORS_ONLN);

	return kb * 1024 / sysconf(_SC_PAGESIZE);
}

/* The largest 1 + 2^n that fits into @pages >= 2. */
static inline long memlock_fitting(long pages)
{
	long data = 1;

	while (1 + 2 * data <= pages)
		data *= 2;
	return 1 + data;
}

/* Drops the capabilities, so that limits hold for this user. */
static inline bool memlock_obey(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	struct rlimit no_page = { 0, 0 };

	return !setrlimit(RLIMIT_MEMLOCK, &no_page) && !syscall(SYS_capset, &header, none);
}

static inline bool memlock_map(long pages)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int fd;

	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	return fd >= 0 && mmap(NULL, pages * sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd,
			       0) != MAP_FAILED;
}

/* Maps buffers of 1 + 2^n pages until one page at most is left; the next one must be refused. */
static inline int memlock_use_up(long left)
{
	for (; left >= 2; left -= memlock_fitting(left)) {
		if (!memlock_map(memlock_fitting(left)))
			return 1;
	}
	return memlock_map(2) ? 2 : 0;
}

/* For a user without buffers, with perf_event_paranoid at 0 or more. */
static inline bool memlock_is_whole(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(memlock_obey() ? memlock_use_up(memlock_allowance()) : 3);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail_case("fork");
	if (status)
		ktap_note("of %ld pages of buffers %s", memlock_allowance(),
			  status == 1 << 8 ? "not all are available" :
			  status == 2 << 8 ? "more are available" : "none can be requested");
	return !status;
}

#endif /* PERF_TEST_MEMLOCK_H */
