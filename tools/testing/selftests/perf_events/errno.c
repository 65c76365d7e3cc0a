// SPDX-License-Identifier: GPL-2.0
/*
 * Every refusal of perf_event_open(2), and of read, ioctl and mmap on an event, by its errno and,
 * on a kernel that says why, by its reason.
 *
 * A case is a row of a table: what is asked for, by whom, and what must come back. Each one runs in
 * a child of its own, so that descriptors, limits, privileges and the last reason start afresh. The
 * errnos are those of the stock kernel; a kernel without /proc/sys/kernel/perf_event_error is not
 * asked for reasons. Run as root. An argument selects the cases whose names contain it.
 */
#include "perf_test.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>

#define NOBODY_ID	65534

/* Who asks. */
enum who { ROOT, NOBODY, PERFMON };

/* What is asked about: a pair of pid and cpu. CHILD is a process that waits. */
enum target { SELF, SELF_CPU0, CPU0, CHILD, INIT, NOTHING, PAST_PID, PAST_CPU };

/* Types and configurations that only the running kernel knows; resolve() puts them in. */
enum { TYPE_KPROBE = 1 << 20, TYPE_UPROBE, TYPE_MSR, CONFIG_SWITCH = 1 << 20, CONFIG_FUNCTION };

struct mapping {
	unsigned int	pages, offset;	/* pages; length 1 + pages */
	int		flags;		/* MAP_SHARED if 0 */
};

struct test {
	const char		*name;
	int			error;		/* 0: it must succeed */
	const char		*reason;	/* a word of it, or a|b; NULL: there is none */
	int			(*run)(const struct test *t);	/* -1 and errno; NULL: open it */
	struct perf_event_attr	attr;
	enum target		on;
	unsigned long		flags;
	enum who		who;
	int			eased;		/* perf_event_paranoid is 2 less this */
	struct perf_event_attr	leader;		/* opened before it; its descriptor is group_fd */
	enum target		leader_on;
	bool			leader_mapped;
	unsigned long		request;	/* ioctl, with: */
	unsigned long		arg;
	struct mapping		map;
	int			or_error;	/* what other hardware gets, if not 0 */
};

/* What a child found out; shared with the parent. */
static struct outcome {
	int	done, error;
	char	skip[80], note[200], reason[160];
} *out;

static int reason_fd, type_kprobe, type_uprobe, type_msr;
static long config_switch, config_function, page_size;
static const char *cgroup_root;
static bool have_pmu, have_breakpoint;

/* What breakpoints watch. */
static long watched;

/*
 * Help for the cases; all of it runs in the child.
 */

/* The end of a case that is missing something. */
__attribute__((noreturn))
static void leave_skipped(const char *why)
{
	snprintf(out->skip, sizeof(out->skip), "%s", why);
	_exit(0);
}

/* For the steps before the one that counts. Returns @result. */
static int must(int result, const char *what)
{
	if (result >= 0)
		return result;
	snprintf(out->note, sizeof(out->note), "%s: %s", what, strerror(errno));
	_exit(0);
}

#define MUST(call) must(call, #call)

/* A failure of the case's own checks, as an errno that no case expects. */
static int wrong(const char *what)
{
	snprintf(out->note, sizeof(out->note), "%s", what);
	errno = EPROTO;
	return -1;
}

/* What the call that counts returned, with errno and reason of the calling thread. */
static void report(int ret)
{
	int n;

	out->error = ret < 0 ? errno : 0;
	n = ret < 0 && reason_fd >= 0 ?
		pread(reason_fd, out->reason, sizeof(out->reason) - 1, 0) : 0;
	out->reason[n > 0 ? n : 0] = '\0';
	out->reason[strcspn(out->reason, "\n")] = '\0';
	out->done = 1;
}

static pid_t waiting_child(void)
{
	pid_t pid = MUST(fork());

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

/* A process that has ended; @reap: and of which nothing is left. */
static pid_t ended_child(bool reap)
{
	pid_t pid = MUST(fork());
	siginfo_t info;

	if (!pid)
		_exit(0);
	MUST(waitid(P_PID, pid, &info, WEXITED | (reap ? 0 : WNOWAIT)));
	return pid;
}

static void resolve(struct perf_event_attr *attr)
{
	if (!attr->size)
		attr->size = sizeof(*attr);
	if (attr->type == TYPE_KPROBE)
		attr->type = type_kprobe;
	if (attr->type == TYPE_UPROBE)
		attr->type = type_uprobe;
	if (attr->type == TYPE_MSR)
		attr->type = type_msr;
	if (attr->type == (__u32)-1)
		leave_skipped("no such PMU");
	if (attr->config == CONFIG_SWITCH)
		attr->config = config_switch;
	if (attr->config == CONFIG_FUNCTION)
		attr->config = config_function;
	if (attr->type == PERF_TYPE_TRACEPOINT && attr->config == (__u64)-1)
		leave_skipped("no such tracepoint");
	if (attr->type <= PERF_TYPE_RAW && attr->type != PERF_TYPE_SOFTWARE &&
	    attr->type != PERF_TYPE_TRACEPOINT && !have_pmu)
		leave_skipped("no hardware PMU");
	if (attr->type == PERF_TYPE_BREAKPOINT && !have_breakpoint)
		leave_skipped("no breakpoints");
}

static int open_on(const struct perf_event_attr *wanted, enum target on, int group,
		   unsigned long flags)
{
	struct perf_event_attr attr = *wanted;

	resolve(&attr);
	switch (on) {
	case SELF:	return perf_open(&attr, 0, -1, group, flags);
	case SELF_CPU0:	return perf_open(&attr, 0, 0, group, flags);
	case CPU0:	return perf_open(&attr, -1, 0, group, flags);
	case CHILD:	return perf_open(&attr, waiting_child(), -1, group, flags);
	case INIT:	return perf_open(&attr, 1, -1, group, flags);
	case NOTHING:	return perf_open(&attr, -1, -1, group, flags);
	case PAST_PID:	return perf_open(&attr, ended_child(true), -1, group, flags);
	case PAST_CPU:	return perf_open(&attr, 0, 1 << 20, group, flags);
	}
	return -1;
}

static int map_event(int fd, unsigned int pages, int prot)
{
	void *base = mmap(NULL, (1 + pages) * page_size, prot, MAP_SHARED, fd, 0);

	return base == MAP_FAILED ? -1 : 0;
}

static int open_leader(const struct test *t)
{
	int fd = MUST(open_on(&t->leader, t->leader_on, -1, 0));

	if (t->leader_mapped)
		MUST(map_event(fd, 1, PROT_READ | PROT_WRITE));
	return fd;
}

/*
 * Ways to run a case
 */

static int run_open(const struct test *t)
{
	return open_on(&t->attr, t->on, -1, t->flags);
}

/* Gone with exec, or not. */
static int run_open_flag(const struct test *t)
{
	int fd = MUST(run_open(t));

	if (MUST(fcntl(fd, F_GETFD)) == (int)t->arg)
		return 0;
	errno = EBADF;
	return -1;
}

static int run_member(const struct test *t)
{
	return open_on(&t->attr, t->on, open_leader(t), t->flags);
}

static int run_ioctl(const struct test *t)
{
	int fd = MUST(run_open(t));

	return ioctl(fd, t->request, t->arg);
}

static int run_set_output(const struct test *t)
{
	int fd = MUST(run_open(t));

	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, open_leader(t));
}

static int run_output_self(const struct test *t)
{
	int fd = MUST(run_open(t));

	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd);
}

/* An event that has a buffer of its own. */
static int run_output_mapped(const struct test *t)
{
	int fd = MUST(run_open(t));

	MUST(map_event(fd, 1, PROT_READ | PROT_WRITE));
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, open_leader(t));
}

static int run_mmap(const struct test *t)
{
	int fd = MUST(run_open(t));
	void *base = mmap(NULL, (1 + t->map.pages) * page_size, PROT_READ | PROT_WRITE,
			  t->map.flags ?: MAP_SHARED, fd, t->map.offset * page_size);

	return base == MAP_FAILED ? -1 : 0;
}

/*
 * perf_event_open: cases that take more than an attr
 */

static int run_no_attr(const struct test *t)
{
	(void)t;
	return perf_open((void *)8, 0, -1, -1, 0);
}

/* The attr ends in a page that is not there. */
static int run_cut_attr(const struct test *t)
{
	char *two = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_attr *attr = (void *)(two + page_size - PERF_ATTR_SIZE_VER0);

	munmap(two + page_size, page_size);
	memcpy(attr, &t->attr, PERF_ATTR_SIZE_VER0);
	attr->size = PERF_ATTR_SIZE_VER8;
	return perf_open(attr, 0, -1, -1, 0);
}

/* arg: the size; flags: a byte for what is beyond the known attr. The kernel must tell its size. */
static int run_size(const struct test *t)
{
	char *room = calloc(4, page_size);
	struct perf_event_attr *attr = (void *)room;
	int fd;

	*attr = t->attr;
	attr->size = t->arg == ~0UL ? (unsigned long)page_size + 8 : t->arg;
	if (t->arg > sizeof(*attr))
		room[sizeof(*attr)] = t->flags;
	fd = perf_open(attr, 0, -1, -1, 0);
	if (fd < 0 && errno == E2BIG && attr->size != PERF_ATTR_SIZE_VER8)
		return wrong("the kernel's size is not written back");
	return fd;
}

static int run_no_descriptor(const struct test *t)
{
	struct rlimit none = { 0, 0 };

	MUST(setrlimit(RLIMIT_NOFILE, &none));
	return run_open(t);
}

/* No file left in the system for who is not root. It is he who is told why. */
static int run_no_file(const struct test *t)
{
	char before[32];
	pid_t pid;

	MUST(read_line("/proc/sys/fs/file-max", before, sizeof(before)));
	MUST(write_line("/proc/sys/fs/file-max", "1"));
	pid = fork();
	if (!pid) {
		MUST(setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID));
		report(run_open(t));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	MUST(write_line("/proc/sys/fs/file-max", before));
	_exit(0);
}

static int run_foreign_group(const struct test *t)
{
	return open_on(&t->attr, SELF, MUST(open("/dev/null", O_RDWR)), t->flags);
}

static int run_closed_group(const struct test *t)
{
	return open_on(&t->attr, SELF, 1000, t->flags);
}

static int run_dead_leader(const struct test *t)
{
	struct perf_event_attr attr = t->attr;
	pid_t pid = waiting_child();
	int leader;

	resolve(&attr);
	leader = MUST(perf_open(&attr, pid, -1, -1, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return perf_open(&attr, 0, -1, leader, 0);
}

static int run_zombie(const struct test *t)
{
	struct perf_event_attr attr = t->attr;

	resolve(&attr);
	return perf_open(&attr, ended_child(false), -1, -1, 0);
}

static int run_sibling_leads(const struct test *t)
{
	int leader = MUST(open_on(&t->attr, SELF, -1, 0));
	int sibling = MUST(open_on(&t->attr, SELF, leader, 0));

	return open_on(&t->attr, SELF, sibling, 0);
}

static int run_other_group(const struct test *t)
{
	int leader = MUST(open_on(&t->attr, SELF, -1, 0));

	return open_on(&t->attr, CHILD, leader, 0);
}

/* Adds members until the kernel has enough. */
static int run_large_group(const struct test *t)
{
	struct rlimit many = { 4096, 4096 };
	int leader;

	MUST(setrlimit(RLIMIT_NOFILE, &many));
	leader = MUST(open_on(&t->attr, SELF, -1, 0));
	for (int i = 0; i < 2000; i++) {
		if (open_on(&t->attr, SELF, leader, 0) < 0)
			return -1;
	}
	return 0;
}

/* arg: how many at most. Opens the event again and again. */
static int run_many(const struct test *t)
{
	for (unsigned long i = 0; i < t->arg; i++) {
		if (run_open(t) < 0)
			return -1;
	}
	return 0;
}

/* arg: how many hardware events are to be in one group. */
static int run_wide_group(const struct test *t)
{
	int leader = MUST(open_on(&t->attr, SELF, -1, 0));

	for (unsigned long i = 1; i < t->arg; i++) {
		if (open_on(&t->attr, SELF, leader, 0) < 0)
			return -1;
	}
	return 0;
}

static int run_offline_cpu(const struct test *t)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	struct perf_event_attr attr = t->attr;
	int ret, error;

	resolve(&attr);
	if (access(online, W_OK))
		leave_skipped("no second CPU that can be taken away");
	MUST(write_line(online, "0"));
	ret = perf_open(&attr, -1, 1, -1, 0);
	error = errno;
	MUST(write_line(online, "1"));
	errno = error;
	return ret;
}

static int run_locked_down(const struct test *t)
{
	char line[2048];

	if (read_line("/proc/cmdline", line, sizeof(line)) < 0 ||
	    !strstr(line, "lockdown=confidentiality"))
		leave_skipped("not booted with lockdown=confidentiality");
	return run_open(t);
}

/* A cgroup of this name, made now. */
static int cgroup_fd(const char *name)
{
	char path[128];

	if (!cgroup_root)
		leave_skipped("no cgroup2");
	/* perf_event needs no enabling, but is not there before some controller was enabled */
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup_root);
	MUST(write_line(path, "+pids"));
	snprintf(path, sizeof(path), "%s/%s", cgroup_root, name);
	if (mkdir(path, 0755) && errno != EEXIST)
		must(-1, path);
	return must(open(path, O_RDONLY | O_DIRECTORY), path);
}

static void remove_cgroup(const char *name)
{
	char path[128];

	if (!cgroup_root)
		return;
	snprintf(path, sizeof(path), "%s/%s", cgroup_root, name);
	rmdir(path);
}

static int open_cgroup(const struct test *t, int cgroup, int group)
{
	struct perf_event_attr attr = t->attr;

	resolve(&attr);
	return perf_open(&attr, cgroup, 0, group, PERF_FLAG_PID_CGROUP);
}

static int run_cgroup(const struct test *t)
{
	return open_cgroup(t, cgroup_fd("errno-a"), -1);
}

static int run_cgroup_closed(const struct test *t)
{
	return open_cgroup(t, 1000, -1);
}

static int run_cgroup_foreign(const struct test *t)
{
	return open_cgroup(t, MUST(open("/proc", O_RDONLY | O_DIRECTORY)), -1);
}

static int run_cgroup_removed(const struct test *t)
{
	int fd = cgroup_fd("errno-gone");

	remove_cgroup("errno-gone");
	return open_cgroup(t, fd, -1);
}

static int run_cgroup_other(const struct test *t)
{
	int leader = MUST(open_cgroup(t, cgroup_fd("errno-a"), -1));

	return open_cgroup(t, cgroup_fd("errno-b"), leader);
}

/*
 * read, mmap and prctl
 */

static int run_short_read(const struct test *t)
{
	char room[64];

	return read(MUST(run_open(t)), room, t->arg);
}

static int run_bad_read(const struct test *t)
{
	void *nowhere = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return read(MUST(run_open(t)), nowhere, 64);
}

/* More pinned events than there are counters: one at least must be in the error state. */
static int run_error_read(const struct test *t)
{
	__u64 value;
	int fd[40];

	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
		fd[i] = MUST(run_open(t));
	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++) {
		if (!read(fd[i], &value, sizeof(value)))
			return 0;
	}
	return wrong("no read found the end of file");
}

/* The parent's group grew after the child was made. */
static int run_grown_read(const struct test *t)
{
	int leader = MUST(run_open(t));
	char room[256];

	waiting_child();
	MUST(open_on(&t->attr, SELF, leader, 0));
	return read(leader, room, sizeof(room));
}

static int run_other_size(const struct test *t)
{
	int fd = MUST(run_open(t));

	MUST(map_event(fd, 1, PROT_READ | PROT_WRITE));
	return map_event(fd, 2, PROT_READ | PROT_WRITE);
}

static int run_much_memory(const struct test *t)
{
	struct rlimit none = { 0, 0 };
	int fd = MUST(run_open(t));

	MUST(setrlimit(RLIMIT_MEMLOCK, &none));
	return map_event(fd, t->map.pages, PROT_READ | PROT_WRITE);
}

/* A mapping of a page, whose user page asks for an AUX area of arg pages behind it. */
static int run_aux(const struct test *t)
{
	int fd = MUST(run_open(t));
	size_t length = 2 * page_size;
	struct perf_event_mmap_page *page = mmap(NULL, length, PROT_READ | PROT_WRITE,
						 MAP_SHARED, fd, 0);
	void *aux;

	must(page == MAP_FAILED ? -1 : 0, "mmap");
	if (t->arg) {
		page->aux_offset = length;
		page->aux_size = t->arg * page_size;
	}
	aux = mmap(NULL, (t->arg ?: 1) * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, length);
	return aux == MAP_FAILED ? -1 : 0;
}

static int run_part(const struct test *t)
{
	int fd = MUST(run_open(t));
	char *base = mmap(NULL, 5 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must(base == MAP_FAILED ? -1 : 0, "mmap");
	return munmap(base + 2 * page_size, page_size);
}

static void on_bus_error(int sig)
{
	(void)sig;
	out->done = 1;
	out->error = EFAULT;
	_exit(0);
}

/* Ends with SIGBUS, which the case expects under the name of EFAULT. */
static int run_write_data(const struct test *t)
{
	int fd = MUST(run_open(t));
	char *base = mmap(NULL, 3 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must(base == MAP_FAILED ? -1 : 0, "mmap");
	((struct perf_event_mmap_page *)base)->data_tail = 0;
	signal(SIGBUS, on_bus_error);
	*(volatile char *)(base + page_size) = 1;
	return 0;
}

static int run_prctl(const struct test *t)
{
	MUST(run_open(t));
	return prctl(PR_TASK_PERF_EVENTS_DISABLE) ?: prctl(PR_TASK_PERF_EVENTS_ENABLE);
}

/*
 * ioctl
 */

/* A program that returns 0. */
static int bpf_program(enum bpf_prog_type type)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (unsigned long)insns;
	attr.insn_cnt = ARRAY_SIZE(insns);
	attr.license = (unsigned long)"GPL";
	fd = syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0 && errno == ENOSYS)
		leave_skipped("no BPF");
	return must(fd, "BPF_PROG_LOAD");
}

static int run_bpf(const struct test *t)
{
	return ioctl(MUST(run_open(t)), PERF_EVENT_IOC_SET_BPF, bpf_program(t->arg));
}

static int run_bpf_twice(const struct test *t)
{
	int fd = MUST(run_open(t));
	int prog = bpf_program(t->arg);

	MUST(ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog));
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog);
}

static int run_many_bpf(const struct test *t)
{
	for (int i = 0; i < 80; i++) {
		if (run_bpf(t) < 0)
			return -1;
	}
	return 0;
}

/* Replaces the attr by one whose field at byte arg differs by flags. */
static int run_modify(const struct test *t)
{
	struct perf_event_attr attr = t->attr;
	int fd = MUST(open_on(&attr, SELF, -1, 0));

	resolve(&attr);
	*((char *)&attr + t->arg) ^= t->flags;
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
}

#include "errno_cases.h"

/*
 * The runner
 */

static void become(enum who who)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (who == ROOT)
		return;
	MUST(prctl(PR_SET_KEEPCAPS, 1));
	MUST(setgroups(0, NULL));
	MUST(setresgid(NOBODY_ID, NOBODY_ID, NOBODY_ID));
	MUST(setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID));
	if (who == PERFMON)
		data[1].permitted = data[1].effective = 1U << (CAP_PERFMON - 32);
	MUST(syscall(__NR_capset, &header, data));
	/* Whoever gave up privileges is closed even to those of his own kind, until he says so. */
	MUST(prctl(PR_SET_DUMPABLE, 1));
}

static void run_in_child(const struct test *t)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become(t->who);
	report(t->run ? t->run(t) : run_open(t));
	_exit(0);
}

/* Is one of the words in @any, as in "first|second", part of @text? */
static bool mentions(const char *text, const char *any)
{
	char words[120], *word, *rest = words;

	snprintf(words, sizeof(words), "%s", any);
	while ((word = strsep(&rest, "|"))) {
		if (strcasestr(text, word))
			return true;
	}
	return false;
}

static const char *errno_name(int error)
{
	return error ? strerrorname_np(error) : "success";
}

static void judge(const struct test *t)
{
	bool said = reason_fd < 0 || !t->error || !t->reason || mentions(out->reason, t->reason);
	bool right = out->done && (out->error == t->error ||
				   (t->or_error && out->error == t->or_error));

	if (*out->skip) {
		ktap_skip(t->name, out->skip);
		return;
	}
	if (*out->note)
		ktap_note("%s", out->note);
	if (*out->reason)
		ktap_note("reason: %s", out->reason);
	if (!out->done)
		ktap_note("the case did not come to its end");
	else if (!right)
		ktap_note("should be %s", errno_name(t->error));
	if (!said)
		ktap_note("the reason should mention: %s", t->reason);
	ktap_result(right && said, "%s: %s", t->name,
		    errno_name(out->done ? out->error : t->error));
}

static void run_test(const struct test *t)
{
	pid_t pid;

	memset(out, 0, sizeof(*out));
	if (sysctl_set("perf_event_paranoid", 2 - t->eased))
		ktap_bail_out("perf_event_paranoid");
	pid = fork();
	if (pid < 0)
		ktap_bail_out("fork");
	if (!pid)
		run_in_child(t);
	waitpid(pid, NULL, 0);
	judge(t);
}

static long tracepoint(const char *name)
{
	char path[128], line[32];

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	return read_line(path, line, sizeof(line)) > 0 ? strtol(line, NULL, 10) : -1;
}

/* What this kernel and machine have. */
static void look_around(void)
{
	struct perf_event_attr hw = perf_attr_user(PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr bp = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	int fd;

	page_size = sysconf(_SC_PAGESIZE);
	reason_fd = open("/proc/sys/kernel/perf_event_error", O_RDONLY | O_CLOEXEC);
	if (reason_fd < 0)
		ktap_note("this kernel gives no reasons: errnos only");
	type_kprobe = perf_pmu_type("kprobe");
	type_uprobe = perf_pmu_type("uprobe");
	type_msr = perf_pmu_type("msr");
	config_switch = tracepoint("sched/sched_switch");
	config_function = tracepoint("ftrace/function");
	if (!access("/cgroup/cgroup.procs", F_OK))
		cgroup_root = "/cgroup";
	else if (!access("/sys/fs/cgroup/cgroup.procs", F_OK))
		cgroup_root = "/sys/fs/cgroup";

	fd = perf_open(&hw, 0, -1, -1, 0);
	have_pmu = fd >= 0;
	close(fd);
	bp.bp_type = HW_BREAKPOINT_W;
	bp.bp_addr = (unsigned long)&watched;
	bp.bp_len = 4;
	fd = perf_open(&bp, 0, -1, -1, 0);
	have_breakpoint = fd >= 0;
	close(fd);
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";
	long paranoid = sysctl_get("perf_event_paranoid", 2);

	ktap_start(0);
	if (geteuid()) {
		ktap_skip("errno", "needs root");
		return ktap_finish();
	}
	out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out == MAP_FAILED)
		ktap_bail_out("mmap");
	look_around();
	for (unsigned int i = 0; i < ARRAY_SIZE(tests); i++) {
		if (strstr(tests[i].name, wanted))
			run_test(&tests[i]);
	}
	remove_cgroup("errno-a");
	remove_cgroup("errno-b");
	sysctl_set("perf_event_paranoid", paranoid);
	return ktap_finish();
}
