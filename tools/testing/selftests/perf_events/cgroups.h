/* SPDX-License-Identifier: GPL-2.0 */
/* Cgroups with events, and processes that work in them. */
#ifndef PERF_TEST_CGROUPS_H
#define PERF_TEST_CGROUPS_H

#include "events.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "workloads.h"

#include <sys/stat.h>

#define PAGES	50		/* that a worker touches in a round */

/* Where cgroup2 is mounted: need_cgroups() finds it. */
static const char *cgroup_root;

/* The perf_event controller exists only after another controller was enabled. */
static inline void need_cgroups(void)
{
	char path[128];

	if (!access("/cgroup/cgroup.procs", F_OK))
		cgroup_root = "/cgroup";
	else if (!access("/sys/fs/cgroup/cgroup.procs", F_OK))
		cgroup_root = "/sys/fs/cgroup";
	else
		skip_case("no cgroup2");
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup_root);
	if (write_line(path, "+pids"))
		skip_case("cgroup.subtree_control");
}

static inline const char *path_of(const char *name, const char *file)
{
	static char path[4][192];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/perf-%s%s%s", cgroup_root, name,
		 *file ? "/" : "", file);
	return path[next];
}

static inline int make_cgroup(const char *name)
{
	if (mkdir(path_of(name, ""), 0755) && errno != EEXIST)
		fail_case(name);
	return MUST(open(path_of(name, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static inline void remove_cgroup(const char *name)
{
	for (int i = 0; rmdir(path_of(name, "")) && i < 200; i++)
		sleep_ms(5);
}

static inline void move_to(pid_t pid, const char *name)
{
	char line[16];

	snprintf(line, sizeof(line), "%d", pid);
	MUST(write_line(path_of(name, "cgroup.procs"), line));
}

static inline void move_to_root(pid_t pid)
{
	char path[128], line[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup_root);
	snprintf(line, sizeof(line), "%d", pid);
	MUST(write_line(path, line));
}

static inline int open_in(struct perf_event_attr *attr, int cgroup, int cpu, int group)
{
	return MUST(perf_open(attr, cgroup, cpu, group, PERF_FLAG_PID_CGROUP));
}

static inline int open_soft(uint64_t config, int cgroup, int cpu)
{
	struct perf_event_attr attr = sw_attr(config);

	attr.read_format = FORMAT_TIMES;
	return open_in(&attr, cgroup, cpu, -1);
}

/* A child on CPU 0 that takes one page fault for each byte sent to it, and acknowledges it. */
struct worker {
	pid_t		pid;
	struct gate	go, done;
};

static inline struct worker worker_new(int cpu)
{
	struct worker w = { .go = gate_new(), .done = gate_new() };

	w.pid = fork_child();
	if (!w.pid) {
		pin_to_cpu(cpu);
		for (;;) {
			gate_wait(&w.go);
			fault_pages(PAGES);
			gate_open(&w.done);
		}
	}
	/* All that the child needs is mapped after one round. */
	gate_open(&w.go);
	gate_wait(&w.done);
	return w;
}

static inline void worker_round(struct worker *w)
{
	gate_open(&w->go);
	gate_wait(&w->done);
}

#endif
