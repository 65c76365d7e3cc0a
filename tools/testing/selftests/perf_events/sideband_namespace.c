// SPDX-License-Identifier: GPL-2.0
/* NAMESPACES and CGROUP records, and PIDs in other namespaces. Run as root. */
#include "sideband.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static bool namespaces_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
		uint64_t	nr;
		struct {
			uint64_t	dev, ino;
		} link[NR_NAMESPACES];
	} *r;
	struct stat uts, mnt;
	bool ok = true;

	attr.namespaces = 1;
	attr.comm = 1;
	open_sideband(&ring, &attr, 0, -1);
	if (unshare(CLONE_NEWUTS))
		skip_case("unshare failed");
	stat("/proc/self/ns/uts", &uts);
	stat("/proc/self/ns/mnt", &mnt);
	r = (void *)ring_find(&ring, PERF_RECORD_NAMESPACES);
	ok &= expect(r && record_body_size(&r->h) == 16 + NR_NAMESPACES * 16 &&
		     r->nr == NR_NAMESPACES && r->pid == (uint32_t)getpid(),
		     "NAMESPACES: pid, number");
	ok &= expect(r && r->link[UTS_NS_INDEX].ino == uts.st_ino &&
		     r->link[UTS_NS_INDEX].dev == uts.st_dev &&
		     r->link[MNT_NS_INDEX].ino == mnt.st_ino,
		     "NAMESPACES: what /proc/self/ns says");
	close_sideband(&ring);
	return ok;
}

struct namespaces {
	struct perf_event_header h;
	uint32_t	pid, tid;
	uint64_t	nr;
	struct {
		uint64_t	dev, ino;
	} link[NR_NAMESPACES];
};

/* True if the next record, written by @writer, is of @pid with all namespaces of /proc/PID/ns. */
static bool next_namespaces(pid_t pid, pid_t writer)
{
	static const struct {
		const char	*name;
		unsigned int	index;
	} ns[] = {
		{ "mnt", MNT_NS_INDEX }, { "uts", UTS_NS_INDEX }, { "ipc", IPC_NS_INDEX },
		{ "pid", PID_NS_INDEX }, { "net", NET_NS_INDEX }, { "user", USER_NS_INDEX },
		{ "cgroup", CGROUP_NS_INDEX },
	};
	const struct namespaces *r = (void *)ring_find(&ring, PERF_RECORD_NAMESPACES);
	bool good = r && !r->h.misc && record_body_size(&r->h) == sizeof(*r) - sizeof(r->h) &&
		    r->nr == NR_NAMESPACES && r->pid == (uint32_t)pid && r->tid == r->pid &&
		    record_trailer(&r->h)->pid == (uint32_t)writer;

	for (unsigned int i = 0; r && i < ARRAY_SIZE(ns); i++) {
		uint64_t dev = r->link[ns[i].index].dev, ino = r->link[ns[i].index].ino;
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, ns[i].name);
		if (stat(path, &st))
			memset(&st, 0, sizeof(st));
		if (dev == st.st_dev && ino == st.st_ino)
			continue;
		ktap_note("%s: %llu, expected %llu", ns[i].name, (unsigned long long)ino,
			  (unsigned long long)st.st_ino);
		good = false;
	}
	return good;
}

#define OTHER_NAMESPACES	(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNS)

/* A child has a record with its first namespaces, new or not. */
static bool namespaces_of_a_child(void)
{
	static const unsigned long flags[] = { 0, OTHER_NAMESPACES, CLONE_NEWUSER };
	struct perf_event_attr attr = sideband_attr();
	bool ok = true;

	attr.namespaces = 1;
	attr.inherit = 1;
	pin_to_cpu(0);
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		pid_t child;

		open_sideband(&ring, &attr, 0, 0);
		child = syscall(__NR_clone, flags[i] | SIGCHLD, NULL, NULL, NULL, NULL);
		if (!child)
			for (;;)
				pause();
		if (child < 0)
			skip_case(strerror(errno));
		ok &= expect(next_namespaces(child, getpid()) &&
			     !ring_find(&ring, PERF_RECORD_NAMESPACES),
			     "NAMESPACES: of a child, clone flags %#lx", flags[i]);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close_sideband(&ring);
	}
	return ok;
}

/* The PID of this process in the /proc of the opener. */
static pid_t outer_pid(void)
{
	char number[16] = "";

	return readlink("/proc/self", number, sizeof(number) - 1) > 0 ? atoi(number) : -1;
}

/* The first task of a namespace forks a child, both with the same inherited event. */
static void run_inside(volatile pid_t *child)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "inside");
		touch_pages(fresh_pages(20), 20);
		*child = outer_pid();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	_exit(0);
}

/* An inherited event shows PIDs in the namespace of its opener, at any depth. */
static bool inherited_into_namespace(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	volatile pid_t *child = mmap(NULL, page, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int samples = 0, comms = 0, exits = 0;
	const struct perf_event_header *h;
	struct sample s;
	pid_t pid;
	bool ok;

	pin_to_cpu(0);
	attr.sample_type = ID_TYPES;
	attr.sample_id_all = 1;
	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.inherit = 1;
	attr.comm = 1;
	attr.task = 1;
	open_sideband(&ring, &attr, 0, 0);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		if (!fork())
			run_inside(child);
		wait(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_SAMPLE && sample_parse(&s, h, &attr))
			samples += s.pid == (uint32_t)*child && s.tid == s.pid;
		if (h->type == PERF_RECORD_COMM)
			comms += ((struct comm *)h)->pid == (uint32_t)*child;
		if (h->type == PERF_RECORD_EXIT)
			exits += ((struct task *)h)->pid == (uint32_t)*child;
	}
	if (!*child)
		skip_case("no namespaces");
	ok = expect(*child > 2 && samples >= 20 && comms == 1 && exits == 1,
		    "inherited into a PID namespace: %u samples, %u COMM, %u EXIT of %d", samples,
		    comms, exits, (int)*child);
	close_sideband(&ring);
	munmap((void *)child, page);
	return ok;
}

/* To a new namespace and back. */
static bool setns_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	int home = open("/proc/self/ns/uts", O_RDONLY);
	bool good;
	bool ok;

	attr.namespaces = 1;
	open_sideband(&ring, &attr, 0, -1);
	if (home < 0 || unshare(CLONE_NEWUTS | CLONE_NEWIPC))
		skip_case("no namespaces");
	good = next_namespaces(getpid(), getpid());
	ok = expect(!setns(home, CLONE_NEWUTS) && good && next_namespaces(getpid(), getpid()) &&
		    !ring_find(&ring, PERF_RECORD_NAMESPACES), "NAMESPACES: unshare and setns");
	close(home);
	close_sideband(&ring);
	return ok;
}

static bool cgroup_record(void)
{
	static const char root[] = "/tmp/sideband-cgroup";
	struct perf_event_attr attr = sideband_attr();
	struct {
		struct perf_event_header h;
		uint64_t	id;
		char		path[];
	} *r;
	char path[64];
	struct stat st;
	bool ok;

	mkdir("/tmp", 0755);
	mkdir(root, 0755);
	if (mount("none", root, "cgroup2", 0, NULL))
		skip_case("no cgroup2");
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	write_line(path, "+pids");
	attr.cgroup = 1;
	attr.comm = 1;
	open_sideband(&ring, &attr, 0, -1);
	snprintf(path, sizeof(path), "%s/sideband", root);
	if (mkdir(path, 0755) || stat(path, &st))
		fail_case(path);
	r = (void *)ring_find(&ring, PERF_RECORD_CGROUP);
	ok = expect(r && r->id == st.st_ino && !strcmp(r->path, "/sideband") &&
		    record_body_size(&r->h) == 8 + 16, "CGROUP: id and path");
	rmdir(path);
	close_sideband(&ring);
	umount(root);
	rmdir(root);
	return ok;
}

static const struct test tests[] = {
	{ "NAMESPACES: unshare of one namespace", namespaces_record },
	{ "NAMESPACES: of a new child", namespaces_of_a_child },
	{ "an inherited event shows the PIDs that its opener sees", inherited_into_namespace },
	{ "NAMESPACES: unshare and setns", setns_record },
	{ "CGROUP: a new cgroup", cgroup_record },
};

TESTS_MAIN_SETUP(tests, sideband_setup)
