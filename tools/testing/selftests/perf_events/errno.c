// SPDX-License-Identifier: GPL-2.0
/*
 * Each refusal of perf_event_open(2), and of read, ioctl and mmap of an event, by its errno and, on
 * a kernel that gives reasons, by its reason.
 *
 * A case is a row of the table in errno_cases.h: the request, the user, and the result. Each runs
 * in a child, so that descriptors, limits, privileges and the last reason are new. The errnos are
 * those of the stock kernel; a kernel without /proc/sys/kernel/perf_event_error is checked for
 * errnos only. Run as root.
 */
#include "bpf_prog.h"
#include "events.h"
#include "expect.h"
#include "processes.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>

#define NOBODY_ID	65534

/* The user that makes the request. */
enum who { ROOT, NOBODY, PERFMON };

/* What the event counts: a pair of pid and cpu. CHILD is a process that waits. */
enum target { SELF, SELF_CPU0, CPU0, CHILD, INIT, NOTHING, PAST_PID, PAST_CPU };

/* Types and configs that depend on the running kernel; resolve_attr() replaces them. */
enum { TYPE_KPROBE = 1 << 20, TYPE_UPROBE, TYPE_MSR, CONFIG_SWITCH = 1 << 20, CONFIG_FUNCTION };

struct mapping {
	unsigned int	pages, offset;	/* pages; length 1 + pages */
	int		flags;		/* MAP_SHARED if 0 */
};

struct errno_case {
	const char		*name;
	int			error;		/* 0: success */
	const char		*reason;	/* a part of the reason, or a|b; NULL: any */
	int			(*run)(const struct errno_case *t);	/* NULL: open the event */
	struct perf_event_attr	attr;
	enum target		on;
	unsigned long		flags;
	enum who		who;
	int			eased;		/* perf_event_paranoid is 2 - @eased */
	struct perf_event_attr	leader;		/* opened first; its descriptor is group_fd */
	enum target		leader_on;
	bool			leader_mapped;
	unsigned long		request;	/* ioctl, with @arg */
	unsigned long		arg;
	struct mapping		map;
	int			or_error;	/* errno on other hardware, if not 0 */
};

/* The result of a child; shared with the parent. */
static struct outcome {
	int	done, error;
	char	note[200], reason[160];
} *out;

static int reason_fd, type_kprobe, type_uprobe, type_msr;
static long config_switch, config_function, page_size;
static const char *cgroup_root;
static bool have_pmu, have_breakpoint;

/* The word that breakpoints watch. */
static long watched;

/* The case itself failed: an errno that no case expects. */
static int case_is_wrong(const char *what)
{
	snprintf(out->note, sizeof(out->note), "%s", what);
	errno = EPROTO;
	return -1;
}

/* Stores the result of the call under test, with errno and reason of the calling thread. */
static void report_result(int ret)
{
	int n;

	out->error = ret < 0 ? errno : 0;
	n = ret < 0 && reason_fd >= 0 ?
		pread(reason_fd, out->reason, sizeof(out->reason) - 1, 0) : 0;
	out->reason[n > 0 ? n : 0] = '\0';
	out->reason[strcspn(out->reason, "\n")] = '\0';
	out->done = 1;
}

/* A process that has exited; @reap: and has been reaped. */
static pid_t ended_child(bool reap)
{
	pid_t pid = MUST(fork());
	siginfo_t info;

	if (!pid)
		_exit(0);
	MUST(waitid(P_PID, pid, &info, WEXITED | (reap ? 0 : WNOWAIT)));
	return pid;
}

static void resolve_attr(struct perf_event_attr *attr)
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
		skip_case("no such PMU");
	if (attr->config == CONFIG_SWITCH)
		attr->config = config_switch;
	if (attr->config == CONFIG_FUNCTION)
		attr->config = config_function;
	if (attr->type == PERF_TYPE_TRACEPOINT && attr->config == (__u64)-1)
		skip_case("no such tracepoint");
	if (attr->type <= PERF_TYPE_RAW && attr->type != PERF_TYPE_SOFTWARE &&
	    attr->type != PERF_TYPE_TRACEPOINT && !have_pmu)
		skip_case("no hardware PMU");
	if (attr->type == PERF_TYPE_BREAKPOINT && !have_breakpoint)
		skip_case("no breakpoints");
}

static int open_on(const struct perf_event_attr *wanted, enum target on, int group,
		   unsigned long flags)
{
	struct perf_event_attr attr = *wanted;

	resolve_attr(&attr);
	switch (on) {
	case SELF:	return perf_open(&attr, 0, -1, group, flags);
	case SELF_CPU0:	return perf_open(&attr, 0, 0, group, flags);
	case CPU0:	return perf_open(&attr, -1, 0, group, flags);
	case CHILD:	return perf_open(&attr, fork_waiting_child(), -1, group, flags);
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

static int open_leader(const struct errno_case *t)
{
	int fd = MUST(open_on(&t->leader, t->leader_on, -1, 0));

	if (t->leader_mapped)
		MUST(map_event(fd, 1, PROT_READ | PROT_WRITE));
	return fd;
}

static int run_open(const struct errno_case *t)
{
	return open_on(&t->attr, t->on, -1, t->flags);
}

/* Checks close-on-exec of the new descriptor. */
static int run_open_flag(const struct errno_case *t)
{
	int fd = MUST(run_open(t));

	if (MUST(fcntl(fd, F_GETFD)) == (int)t->arg)
		return 0;
	errno = EBADF;
	return -1;
}

static int run_member(const struct errno_case *t)
{
	return open_on(&t->attr, t->on, open_leader(t), t->flags);
}

static int run_ioctl(const struct errno_case *t)
{
	int fd = MUST(run_open(t));

	return ioctl(fd, t->request, t->arg);
}

static int run_set_output(const struct errno_case *t)
{
	int fd = MUST(run_open(t));

	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, open_leader(t));
}

static int run_output_self(const struct errno_case *t)
{
	int fd = MUST(run_open(t));

	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd);
}

/* The event has a buffer of its own. */
static int run_output_mapped(const struct errno_case *t)
{
	int fd = MUST(run_open(t));

	MUST(map_event(fd, 1, PROT_READ | PROT_WRITE));
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, open_leader(t));
}

static int run_mmap(const struct errno_case *t)
{
	int fd = MUST(run_open(t));
	void *base = mmap(NULL, (1 + t->map.pages) * page_size, PROT_READ | PROT_WRITE,
			  t->map.flags ?: MAP_SHARED, fd, t->map.offset * page_size);

	return base == MAP_FAILED ? -1 : 0;
}

static int run_no_attr(const struct errno_case *t)
{
	(void)t;
	return perf_open((void *)8, 0, -1, -1, 0);
}

/* The second part of the attribute is in a page that is not mapped. */
static int run_cut_attr(const struct errno_case *t)
{
	char *two = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_attr *attr = (void *)(two + page_size - PERF_ATTR_SIZE_VER0);

	munmap(two + page_size, page_size);
	memcpy(attr, &t->attr, PERF_ATTR_SIZE_VER0);
	attr->size = PERF_ATTR_SIZE_VER8;
	return perf_open(attr, 0, -1, -1, 0);
}

/* @arg: size; @flags: the byte behind the known attribute. The kernel must write back its size. */
static int run_size(const struct errno_case *t)
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
		return case_is_wrong("the kernel's size is not written back");
	return fd;
}

static int run_no_descriptor(const struct errno_case *t)
{
	struct rlimit none = { 0, 0 };

	MUST(setrlimit(RLIMIT_NOFILE, &none));
	return run_open(t);
}

/* The system has no file left for users other than root. The reason is that of the user. */
static int run_no_file(const struct errno_case *t)
{
	char before[32];
	pid_t pid;

	MUST(read_line("/proc/sys/fs/file-max", before, sizeof(before)));
	MUST(write_line("/proc/sys/fs/file-max", "1"));
	pid = fork();
	if (!pid) {
		MUST(setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID));
		report_result(run_open(t));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	MUST(write_line("/proc/sys/fs/file-max", before));
	_exit(0);
}

static int run_foreign_group(const struct errno_case *t)
{
	return open_on(&t->attr, SELF, MUST(open("/dev/null", O_RDWR)), t->flags);
}

static int run_closed_group(const struct errno_case *t)
{
	return open_on(&t->attr, SELF, 1000, t->flags);
}

static int run_dead_leader(const struct errno_case *t)
{
	struct perf_event_attr attr = t->attr;
	pid_t pid = fork_waiting_child();
	int leader;

	resolve_attr(&attr);
	leader = MUST(perf_open(&attr, pid, -1, -1, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return perf_open(&attr, 0, -1, leader, 0);
}

static int run_zombie(const struct errno_case *t)
{
	struct perf_event_attr attr = t->attr;

	resolve_attr(&attr);
	return perf_open(&attr, ended_child(false), -1, -1, 0);
}

static int run_sibling_leads(const struct errno_case *t)
{
	int leader = MUST(open_on(&t->attr, SELF, -1, 0));
	int sibling = MUST(open_on(&t->attr, SELF, leader, 0));

	return open_on(&t->attr, SELF, sibling, 0);
}

static int run_other_group(const struct errno_case *t)
{
	int leader = MUST(open_on(&t->attr, SELF, -1, 0));

	return open_on(&t->attr, CHILD, leader, 0);
}

/* Adds members until the kernel refuses one. */
static int run_large_group(const struct errno_case *t)
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

/* @arg: maximum number of times that the event is opened. */
static int run_many(const struct errno_case *t)
{
	for (unsigned long i = 0; i < t->arg; i++) {
		if (run_open(t) < 0)
			return -1;
	}
	return 0;
}

/* @arg: number of hardware events in the group. */
static int run_wide_group(const struct errno_case *t)
{
	int leader = MUST(open_on(&t->attr, SELF, -1, 0));

	for (unsigned long i = 1; i < t->arg; i++) {
		if (open_on(&t->attr, SELF, leader, 0) < 0)
			return -1;
	}
	return 0;
}

static int run_offline_cpu(const struct errno_case *t)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	struct perf_event_attr attr = t->attr;
	int ret, error;

	resolve_attr(&attr);
	if (access(online, W_OK))
		skip_case("no second CPU that can be taken away");
	MUST(write_line(online, "0"));
	ret = perf_open(&attr, -1, 1, -1, 0);
	error = errno;
	MUST(write_line(online, "1"));
	errno = error;
	return ret;
}

static int run_locked_down(const struct errno_case *t)
{
	char line[2048];

	if (read_line("/proc/cmdline", line, sizeof(line)) < 0 ||
	    !strstr(line, "lockdown=confidentiality"))
		skip_case("not booted with lockdown=confidentiality");
	return run_open(t);
}

/* A new cgroup of this name. */
static int cgroup_fd(const char *name)
{
	char path[128];

	if (!cgroup_root)
		skip_case("no cgroup2");
	/* perf_event needs no enabling, but exists only after another controller was enabled. */
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup_root);
	MUST(write_line(path, "+pids"));
	snprintf(path, sizeof(path), "%s/%s", cgroup_root, name);
	if (mkdir(path, 0755) && errno != EEXIST)
		must_succeed(-1, path);
	return must_succeed(open(path, O_RDONLY | O_DIRECTORY), path);
}

static void remove_cgroup(const char *name)
{
	char path[128];

	if (!cgroup_root)
		return;
	snprintf(path, sizeof(path), "%s/%s", cgroup_root, name);
	rmdir(path);
}

static int open_cgroup(const struct errno_case *t, int cgroup, int group)
{
	struct perf_event_attr attr = t->attr;

	resolve_attr(&attr);
	return perf_open(&attr, cgroup, 0, group, PERF_FLAG_PID_CGROUP);
}

static int run_cgroup(const struct errno_case *t)
{
	return open_cgroup(t, cgroup_fd("errno-a"), -1);
}

static int run_cgroup_closed(const struct errno_case *t)
{
	return open_cgroup(t, 1000, -1);
}

static int run_cgroup_foreign(const struct errno_case *t)
{
	return open_cgroup(t, MUST(open("/proc", O_RDONLY | O_DIRECTORY)), -1);
}

static int run_cgroup_removed(const struct errno_case *t)
{
	int fd = cgroup_fd("errno-gone");

	remove_cgroup("errno-gone");
	return open_cgroup(t, fd, -1);
}

static int run_cgroup_other(const struct errno_case *t)
{
	int leader = MUST(open_cgroup(t, cgroup_fd("errno-a"), -1));

	return open_cgroup(t, cgroup_fd("errno-b"), leader);
}

static int run_short_read(const struct errno_case *t)
{
	char room[64];

	return read(MUST(run_open(t)), room, t->arg);
}

static int run_bad_read(const struct errno_case *t)
{
	void *nowhere = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return read(MUST(run_open(t)), nowhere, 64);
}

/* More pinned events than counters: at least one must be in the error state. */
static int run_error_read(const struct errno_case *t)
{
	__u64 value;
	int fd[40];

	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
		fd[i] = MUST(run_open(t));
	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++) {
		if (!read(fd[i], &value, sizeof(value)))
			return 0;
	}
	return case_is_wrong("no read found the end of file");
}

/* The group of the parent grew after the fork. */
static int run_grown_read(const struct errno_case *t)
{
	int leader = MUST(run_open(t));
	char room[256];

	fork_waiting_child();
	MUST(open_on(&t->attr, SELF, leader, 0));
	return read(leader, room, sizeof(room));
}

/* As many members as the child has, after there was one more. */
static int run_changed_read(const struct errno_case *t)
{
	int leader = MUST(run_open(t));
	char room[256];

	fork_waiting_child();
	close(MUST(open_on(&t->attr, SELF, leader, 0)));
	return read(leader, room, sizeof(room));
}

static int run_other_size(const struct errno_case *t)
{
	int fd = MUST(run_open(t));

	MUST(map_event(fd, 1, PROT_READ | PROT_WRITE));
	return map_event(fd, 2, PROT_READ | PROT_WRITE);
}

static int run_much_memory(const struct errno_case *t)
{
	struct rlimit none = { 0, 0 };
	int fd = MUST(run_open(t));

	MUST(setrlimit(RLIMIT_MEMLOCK, &none));
	return map_event(fd, t->map.pages, PROT_READ | PROT_WRITE);
}

/* One page is mapped; its user page requests an AUX area of @arg pages behind it. */
static int run_aux(const struct errno_case *t)
{
	int fd = MUST(run_open(t));
	size_t length = 2 * page_size;
	struct perf_event_mmap_page *page = mmap(NULL, length, PROT_READ | PROT_WRITE,
						 MAP_SHARED, fd, 0);
	void *aux;

	must_succeed(page == MAP_FAILED ? -1 : 0, "mmap");
	if (t->arg) {
		page->aux_offset = length;
		page->aux_size = t->arg * page_size;
	}
	aux = mmap(NULL, (t->arg ?: 1) * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, length);
	return aux == MAP_FAILED ? -1 : 0;
}

static int run_part(const struct errno_case *t)
{
	int fd = MUST(run_open(t));
	char *base = mmap(NULL, 5 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must_succeed(base == MAP_FAILED ? -1 : 0, "mmap");
	return munmap(base + 2 * page_size, page_size);
}

static void on_bus_error(int sig)
{
	(void)sig;
	out->done = 1;
	out->error = EFAULT;
	_exit(0);
}

/* Ends with SIGBUS, which the case expects as EFAULT. */
static int run_write_data(const struct errno_case *t)
{
	int fd = MUST(run_open(t));
	char *base = mmap(NULL, 3 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	must_succeed(base == MAP_FAILED ? -1 : 0, "mmap");
	((struct perf_event_mmap_page *)base)->data_tail = 0;
	signal(SIGBUS, on_bus_error);
	*(volatile char *)(base + page_size) = 1;
	return 0;
}

static int run_prctl(const struct errno_case *t)
{
	MUST(run_open(t));
	return prctl(PR_TASK_PERF_EVENTS_DISABLE) ?: prctl(PR_TASK_PERF_EVENTS_ENABLE);
}

/* A program that returns 0. */
static int bpf_program_of(enum bpf_prog_type type, const struct bpf_insn *insns, unsigned int nr)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = (unsigned long)insns;
	attr.insn_cnt = nr;
	attr.license = (unsigned long)"GPL";
	fd = sys_bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0 && errno == ENOSYS)
		skip_case("no BPF");
	return must_succeed(fd, "BPF_PROG_LOAD");
}

static int bpf_program(enum bpf_prog_type type)
{
	static const struct bpf_insn insns[] = { BPF_MOV64_IMM(BPF_REG_0, 0), BPF_EXIT_INSN() };

	return bpf_program_of(type, insns, ARRAY_SIZE(insns));
}

/* The program reads the record at this offset. */
static int run_bpf_reader(const struct errno_case *t)
{
	const struct bpf_insn insns[] = {
		BPF_LDX_MEM(BPF_DW, BPF_REG_0, BPF_REG_1, t->arg),
		BPF_EXIT_INSN(),
	};

	return ioctl(MUST(run_open(t)), PERF_EVENT_IOC_SET_BPF,
		     bpf_program_of(BPF_PROG_TYPE_TRACEPOINT, insns, ARRAY_SIZE(insns)));
}

static int run_bpf(const struct errno_case *t)
{
	return ioctl(MUST(run_open(t)), PERF_EVENT_IOC_SET_BPF, bpf_program(t->arg));
}

static int run_bpf_twice(const struct errno_case *t)
{
	int fd = MUST(run_open(t));
	int prog = bpf_program(t->arg);

	MUST(ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog));
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog);
}

static int run_many_bpf(const struct errno_case *t)
{
	for (int i = 0; i < 80; i++) {
		if (run_bpf(t) < 0)
			return -1;
	}
	return 0;
}

/* Modifies the attribute: the byte at offset @arg changes by @flags. */
static int run_modify(const struct errno_case *t)
{
	struct perf_event_attr attr = t->attr;
	int fd = MUST(open_on(&attr, SELF, -1, 0));

	resolve_attr(&attr);
	*((char *)&attr + t->arg) ^= t->flags;
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
}

#include "errno_cases.h"

static void become_user(enum who who)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (who == ROOT)
		return;
	MUST(prctl(PR_SET_KEEPCAPS, 1));
	MUST(setgroups(0, NULL));
	MUST(setresgid(NOBODY_ID, NOBODY_ID, NOBODY_ID));
	MUST(setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID));
	if (who == PERFMON) {
		data[1].permitted = 1U << (CAP_PERFMON - 32);
		data[1].effective = data[1].permitted;
	}
	MUST(syscall(__NR_capset, &header, data));
	/*
	 * A process that dropped privileges cannot be inspected by its own user unless it is
	 * dumpable.
	 */
	MUST(prctl(PR_SET_DUMPABLE, 1));
}

static void run_in_child(const struct errno_case *t)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become_user(t->who);
	report_result(t->run ? t->run(t) : run_open(t));
	_exit(0);
}

/* True if @text contains one of the words in @any, which is "first|second". */
static bool contains_any(const char *text, const char *any)
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

static bool outcome_is_right(const struct errno_case *t)
{
	bool said = reason_fd < 0 || !t->error || !t->reason ||
		    contains_any(out->reason, t->reason);
	bool right = out->done && (out->error == t->error ||
				   (t->or_error && out->error == t->or_error));

	if (*out->note)
		ktap_note("%s", out->note);
	if (*out->reason)
		ktap_note("reason: %s", out->reason);
	if (!out->done)
		ktap_note("the case did not reach its end");
	else if (!right)
		ktap_note("%s, should be %s", errno_name(out->error), errno_name(t->error));
	if (!said)
		ktap_note("the reason should contain: %s", t->reason);
	return right && said;
}

/* Runs a case as its user, in a child. */
static bool run_case(const void *row)
{
	const struct errno_case *t = row;
	int status;
	pid_t pid;

	memset(out, 0, sizeof(*out));
	if (sysctl_set("perf_event_paranoid", 2 - t->eased))
		fail_case("perf_event_paranoid");
	fflush(stdout);
	pid = MUST(fork());
	if (!pid)
		run_in_child(t);
	waitpid(pid, &status, 0);
	/* skip_case() in the child has stored the reason. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIPPED)
		_exit(CASE_SKIPPED);
	return outcome_is_right(t);
}

/* What this kernel and machine have. */
static void find_resources(void)
{
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct perf_event_attr bp = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	int fd;

	page_size = sysconf(_SC_PAGESIZE);
	reason_fd = open("/proc/sys/kernel/perf_event_error", O_RDONLY | O_CLOEXEC);
	type_kprobe = perf_pmu_type("kprobe");
	type_uprobe = perf_pmu_type("uprobe");
	type_msr = perf_pmu_type("msr");
	config_switch = tracepoint_id("sched/sched_switch");
	config_function = tracepoint_id("ftrace/function");
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

static void errno_setup(void)
{
	if (geteuid())
		skip_case("needs root");
}

int main(int argc, char **argv)
{
	long paranoid = sysctl_get("perf_event_paranoid", 2);
	int ret;

	out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out == MAP_FAILED)
		ktap_bail_out("mmap");
	find_resources();
	ret = run_rows(errno_cases, ARRAY_SIZE(errno_cases), sizeof(errno_cases[0]), run_case,
		       errno_setup, argc, argv);
	remove_cgroup("errno-a");
	remove_cgroup("errno-b");
	sysctl_set("perf_event_paranoid", paranoid);
	return ret;
}
