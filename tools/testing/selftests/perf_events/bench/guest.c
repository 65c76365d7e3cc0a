// SPDX-License-Identifier: GPL-2.0
/*
 * Work of the benchmark as process 1 of a guest: it mounts file systems, lifts limits that are not
 * measured, and stops the machine at the end. An ordinary process leaves mounts, sysctls and the
 * machine alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "bench.h"

#define CGROUP_ROOT "/cgroup"

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t done;

	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text));
	close(fd);
	return done == (ssize_t)strlen(text);
}

static void mount_all(void)
{
	static const struct { const char *type, *at; } mounts[] = {
		{ "proc", "/proc" }, { "sysfs", "/sys" }, { "cgroup2", CGROUP_ROOT },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].at, 0755);
		if (mount("none", mounts[i].at, mounts[i].type, 0, NULL))
			printf("note: cannot mount %s: %s\n", mounts[i].type, strerror(errno));
	}
	/* Implicit controllers such as perf_event reach children only after a first change. */
	put(CGROUP_ROOT "/cgroup.subtree_control", "+pids");
	put(CGROUP_ROOT "/cgroup.subtree_control", "-pids");
}

bool guest_setup(void)
{
	struct rlimit files = { MAX_FDS + 64, MAX_FDS + 64 };
	cpu_set_t first;

	if (getpid() == 1) {
		mount_all();
		/* Throttling protects real machines; here it would hide the cost of a sample. */
		put("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	}
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	return !sched_setaffinity(0, sizeof(first), &first) && !setrlimit(RLIMIT_NOFILE, &files);
}

void guest_finish(void)
{
	fflush(NULL);
	if (getpid() == 1)
		reboot(RB_AUTOBOOT);
}

static void cgroup_path(char *path, size_t size, unsigned int index, const char *file)
{
	/* The index after the last one is the root, to leave the cgroup. */
	if (index == MAX_CGROUPS)
		snprintf(path, size, CGROUP_ROOT "%s", file);
	else
		snprintf(path, size, CGROUP_ROOT "/bench%u%s", index, file);
}

/* The directory of cgroup @index, created if it does not exist; -1 and errno on failure. */
int guest_cgroup(unsigned int index)
{
	char path[64];

	cgroup_path(path, sizeof(path), index, "");
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY);
}

bool guest_join_cgroup(pid_t pid, unsigned int index)
{
	char path[64], text[16];
	int dir;

	cgroup_path(path, sizeof(path), index, "");
	if (index < MAX_CGROUPS) {
		dir = guest_cgroup(index);
		if (dir < 0)
			return false;
		close(dir);
	}
	cgroup_path(path, sizeof(path), index, "/cgroup.procs");
	snprintf(text, sizeof(text), "%d", pid);
	return put(path, text);
}
