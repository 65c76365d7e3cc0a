// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints, kprobes and uprobes as counters: each call is counted, of this task and of children
 * that inherit the event, those in the kernel unless it is excluded; the call chains of probes; and
 * privileges are checked. Run as root.
 */
#include "events.h"
#include "expect.h"
#include "records.h"
#include "workloads.h"

#define NOBODY	65534

#ifdef __x86_64__
static const char getppid_function[] = "__x64_sys_getppid";
#else
static const char getppid_function[] = "__arm64_sys_getppid";
#endif

/*
 * One function for each case: probing a function again soon after its probe was removed is another
 * case.
 */
#define PROBED(n)								\
static noinline __used void probed_function_##n(void)				\
{										\
	asm volatile("# " #n : : : "memory");					\
}

PROBED(0)
PROBED(1)
PROBED(2)
PROBED(3)
PROBED(4)

static void (*const probed[])(void) = {
	probed_function_0, probed_function_1, probed_function_2, probed_function_3,
	probed_function_4,
};

static void call_all(int n)
{
	for (int i = 0; i < n; i++) {
		syscall(__NR_getppid);
		for (unsigned int j = 0; j < ARRAY_SIZE(probed); j++)
			probed[j]();
	}
}

/* Returns the count of 3 calls here, 4 in a child and 5 in a grandchild. */
static uint64_t count_calls(int fd)
{
	uint64_t n;
	int status;
	pid_t child;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	child = fork();
	if (!child) {
		pid_t grandchild = fork();

		call_all(grandchild ? 4 : 5);
		if (grandchild)
			waitpid(grandchild, &status, 0);
		_exit(0);
	}
	call_all(3);
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	call_all(6);
	n = perf_count(fd);
	close(fd);
	return n;
}

static bool counts_calls(const char *name, struct perf_event_attr *attr, uint64_t step)
{
	char what[64];
	int fd;
	bool ok = true;

	attr->disabled = 1;
	for (int inherit = 0; inherit < 2; inherit++, attr->config2 += step) {
		attr->inherit = inherit;
		snprintf(what, sizeof(what), "%s%s", name, inherit ? ", inherited" : "");
		fd = perf_open(attr, 0, -1, -1, 0);
		ok &= expect_errno(what, fd, 0) &&
		      expect_eq(what, count_calls(fd), inherit ? 12 : 3);
	}
	return ok;
}

static bool tracepoint_counts(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid");
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	bool ok = true;

	if (id < 0)
		skip_case("there is no sys_enter_getppid");
	ok &= counts_calls("tracepoint", &attr, 0);

	attr.config = 0x7fffffff;
	ok &= expect_errno("a tracepoint that is not there", perf_open(&attr, 0, -1, -1, 0),
			   EINVAL);
	return ok;
}

static bool kprobe_counts(void)
{
	struct perf_event_attr attr = perf_attr(perf_pmu_type("kprobe"), 0);
	char line[64];
	bool ok = true;

	if (perf_pmu_type("kprobe") < 0)
		skip_case("no PMU");
	read_line("/sys/bus/event_source/devices/kprobe/format/retprobe", line, sizeof(line));
	ok &= expect(!strcmp(line, "config:0"), "kprobe: format of retprobe");
	attr.config1 = (uintptr_t)getppid_function;
	ok &= counts_calls("kprobe", &attr, 0);
	attr.config = 1;
	ok &= counts_calls("kretprobe", &attr, 0);
	attr.config1 = (uintptr_t)"no_such_function_here";
	ok &= expect_errno("kprobe on a function that is not there", perf_open(&attr, 0, -1, -1, 0),
			   ENOENT);
	return ok;
}

/* The offset of the function in its file: the program is static and not relocated. */
static bool uprobe_counts(void)
{
	bool ok = true;

	extern char __executable_start[];
	struct perf_event_attr attr = perf_attr(perf_pmu_type("uprobe"), 0);
	static char path[256], line[64];

	if (perf_pmu_type("uprobe") < 0)
		skip_case("no PMU");
	read_line("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", line,
		  sizeof(line));
	ok &= expect(!strcmp(line, "config:32-63"), "uprobe: format of ref_ctr_offset");
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		fail_case("/proc/self/exe");
	attr.config1 = (uintptr_t)path;
	attr.config2 = (uintptr_t)probed[0] - (uintptr_t)__executable_start;
	ok &= counts_calls("uprobe", &attr, (uintptr_t)probed[1] - (uintptr_t)probed[0]);
	attr.config = 1;
	attr.config2 = (uintptr_t)probed[2] - (uintptr_t)__executable_start;
	ok &= counts_calls("uretprobe", &attr, (uintptr_t)probed[3] - (uintptr_t)probed[2]);
	attr.config1 = 0;
	ok &= expect_errno("uprobe without a file", perf_open(&attr, 0, -1, -1, 0), EINVAL);
	return ok;
}

#define HITS	100

/*
 * Hits are counted and sampled if the mode of their registers is not excluded. @in_kernel: that of
 * this event; @more: what the kernel may add to the hits.
 */
static bool excludes_kernel(const char *what, struct perf_event_attr attr, void (*hit)(void),
			    bool in_kernel, unsigned int more)
{
	static struct ring ring;
	bool ok = true;

	attr.disabled = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	for (int exclude = 0; exclude < 2; exclude++) {
		unsigned int least = exclude && in_kernel ? 0 : HITS, samples;
		int fd;

		attr.exclude_kernel = exclude;
		fd = MUST(perf_open(&attr, 0, -1, -1, 0));
		if (!ring_map(&ring, fd, 16))
			fail_case("mmap");
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (int i = 0; i < HITS; i++)
			hit();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		samples = ring_count(&ring, PERF_RECORD_SAMPLE);
		ok &= expect_between(what, perf_count(fd), least, least ? least + more : 0) &
		      expect_eq("samples", samples, perf_count(fd));
		ring_unmap(&ring);
		close(fd);
	}
	return ok;
}

static void call_getppid(void)
{
	syscall(__NR_getppid);
}

static void sleep_shortly(void)
{
	/* On a slow machine 1 ms can be over before the task has left its CPU. */
	usleep(10000);
}

static struct perf_event_attr tracepoint_attr(const char *name)
{
	int id = tracepoint_id(name);

	if (id < 0)
		skip_case("no such tracepoint");
	return perf_attr(PERF_TYPE_TRACEPOINT, id);
}

/* The registers of a system call are those of user space, as those of a uprobe. */
static bool kernel_is_excluded(void)
{
	extern char __executable_start[];
	struct perf_event_attr kprobe = perf_attr(perf_pmu_type("kprobe"), 0);
	struct perf_event_attr uprobe = perf_attr(perf_pmu_type("uprobe"), 0);
	static char path[256];

	if (perf_pmu_type("kprobe") < 0 || perf_pmu_type("uprobe") < 0)
		skip_case("no PMU");
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		fail_case("/proc/self/exe");
	kprobe.config1 = (uintptr_t)getppid_function;
	uprobe.config1 = (uintptr_t)path;
	uprobe.config2 = (uintptr_t)probed[4] - (uintptr_t)__executable_start;
	return excludes_kernel("sched_switch", tracepoint_attr("sched/sched_switch"),
			       sleep_shortly, true, HITS) &
	       excludes_kernel("kprobe", kprobe, call_getppid, true, 0) &
	       excludes_kernel("sys_enter_getppid", tracepoint_attr("syscalls/sys_enter_getppid"),
			       call_getppid, false, 0) &
	       excludes_kernel("uprobe", uprobe, probed[4], false, 0);
}

/*
 * chain_top() calls chain_outer(), which calls chain_first(), which jumps to chain_second(), which
 * writes to *@page. All have frames, but chain_first(), which needs none.
 */
void chain_top(char *page);
void chain_outer(char *page);
void chain_first(char *page);
void chain_second(char *page);
extern const char chain_top_back[], chain_outer_back[];

#define GLOBAL	".globl chain_top, chain_top_back, chain_outer, chain_outer_back, chain_first\n" \
		".globl chain_second\n"

#ifdef __x86_64__
asm(".text\n" GLOBAL
	"chain_top: push %rbp; mov %rsp, %rbp; call chain_outer\n"
	"chain_top_back: pop %rbp; ret\n"
	"chain_outer: push %rbp; mov %rsp, %rbp; call chain_first\n"
	"chain_outer_back: pop %rbp; ret\n"
	"chain_first: nop; jmp chain_second\n"
	"chain_second: push %rbp; mov %rsp, %rbp; movb $1, (%rdi); pop %rbp; ret\n");
#else
asm(".text; .align 2\n" GLOBAL
	"chain_top: stp x29, x30, [sp, #-16]!; mov x29, sp; bl chain_outer\n"
	"chain_top_back: ldp x29, x30, [sp], #16; ret\n"
	"chain_outer: stp x29, x30, [sp, #-16]!; mov x29, sp; bl chain_first\n"
	"chain_outer_back: ldp x29, x30, [sp], #16; ret\n"
	"chain_first: nop; b chain_second\n"
	"chain_second: stp x29, x30, [sp, #-16]!; mov x29, sp; strb w0, [x0]\n"
	"ldp x29, x30, [sp], #16; ret\n");
#endif

/* A tail call has two return probes, and one return address. */
static bool chain_with_return_probes(void)
{
	void (*const functions[])(char *) = { chain_outer, chain_first, chain_second };
	extern char __executable_start[];
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS), probe;
	static char path[256];
	struct perf_event_header *h;
	struct sample s = { 0 };
	struct ring ring;
	bool found;
	char *page;
	int fd;

	if (perf_pmu_type("uprobe") < 0)
		skip_case("no PMU");
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		fail_case("/proc/self/exe");
	probe = perf_attr(perf_pmu_type("uprobe"), 1);
	probe.config1 = (uintptr_t)path;
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++) {
		probe.config2 = (uintptr_t)functions[i] - (uintptr_t)__executable_start;
		MUST(perf_open(&probe, 0, -1, -1, 0));
	}
	attr.disabled = 1;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 8))
		fail_case("mmap");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	chain_top(page);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	do {
		h = ring_find(&ring, PERF_RECORD_SAMPLE);
		found = h && sample_parse(&s, h, &attr) && s.addr == (uintptr_t)page;
	} while (h && !found);
	/* A number of entries, a mark, the fault, and the callers. */
	return expect(found && s.callchain[0] >= 4, "a chain of the fault") &&
	       expect_eq("the caller of the tail call", s.callchain[3],
			 (uintptr_t)chain_outer_back) &
	       expect_eq("its caller", s.callchain[4], (uintptr_t)chain_top_back);
}

#ifdef __x86_64__
/*
 * entry_top() calls entry_outer(), which calls the function. Its first instruction is what the
 * probe replaces: before push %rbp the frame is that of the caller.
 */
void entry_top(void (*function)(void));
void entry_push(void);
void entry_endbr(void);
void entry_nop(void);
extern const char entry_top_back[], entry_outer_back[];

asm(".text\n.globl entry_top, entry_top_back, entry_outer_back\n"
	".globl entry_push, entry_endbr, entry_nop\n"
	"entry_top: push %rbp; mov %rsp, %rbp; call entry_outer\n"
	"entry_top_back: pop %rbp; ret\n"
	"entry_outer: push %rbp; mov %rsp, %rbp; call *%rdi\n"
	"entry_outer_back: pop %rbp; ret\n"
	"entry_push: push %rbp; mov %rsp, %rbp; pop %rbp; ret\n"
	"entry_endbr: endbr64; push %rbp; mov %rsp, %rbp; pop %rbp; ret\n"
	"entry_nop: nop; push %rbp; mov %rsp, %rbp; pop %rbp; ret\n");

static bool chain_at_entry(const char *what, void (*function)(void), bool entry)
{
	extern char __executable_start[];
	struct perf_event_attr attr = perf_attr(perf_pmu_type("uprobe"), 0);
	static char path[256];
	static struct ring ring;
	struct perf_event_header *h;
	struct sample s = { 0 };
	bool ok;
	int fd;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		fail_case("/proc/self/exe");
	attr.config1 = (uintptr_t)path;
	attr.config2 = (uintptr_t)function - (uintptr_t)__executable_start;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_kernel = 1;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 8))
		fail_case("mmap");
	entry_top(function);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	/* A number of entries, a mark, the function, and its callers. */
	ktap_note("%s", what);
	ok = expect(h && sample_parse(&s, h, &attr) && s.callchain[0] >= 4, "a chain") &&
	     expect_eq("the function", s.callchain[2], (uintptr_t)function) &
	     expect_eq("its caller, or the caller's", s.callchain[3],
		       (uintptr_t)(entry ? entry_outer_back : entry_top_back)) &
	     (!entry || expect_eq("the caller's caller", s.callchain[4],
				  (uintptr_t)entry_top_back));
	ring_unmap(&ring);
	close(fd);
	return ok;
}

static bool chains_at_entries(void)
{
	if (perf_pmu_type("uprobe") < 0)
		skip_case("no PMU");
	return chain_at_entry("push %rbp", entry_push, true) &
	       chain_at_entry("endbr64", entry_endbr, true) &
	       chain_at_entry("nop", entry_nop, false);
}
#endif

static bool write_tracefs(const char *file, const char *line)
{
	char path[128];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/%s", file);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ok = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
	close(fd);
	return ok;
}

/* A uprobe that ftrace has enabled is not available to events, and the other way round. */
static bool uprobe_in_use(void)
{
	static const char file[] = "events/uprobes/perf_test_in_use/enable";
	extern char __executable_start[];
	char line[320], path[256] = "";
	struct perf_event_attr attr;
	bool ok = true;
	int fd;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		fail_case("/proc/self/exe");
	snprintf(line, sizeof(line), "p:perf_test_in_use %s:0x%lx", path,
		 (unsigned long)((uintptr_t)probed[0] - (uintptr_t)__executable_start));
	if (!write_tracefs("uprobe_events", line))
		skip_case("no uprobes in ftrace");
	attr = perf_attr(PERF_TYPE_TRACEPOINT, tracepoint_id("uprobes/perf_test_in_use"));
	ok &= expect(write_tracefs(file, "1"), "ftrace enables the probe");
	ok &= expect_errno("an event while ftrace has the probe", perf_open(&attr, 0, -1, -1, 0),
			   EINTR);
	ok &= expect(write_tracefs(file, "0"), "ftrace disables the probe");
	fd = perf_open(&attr, 0, -1, -1, 0);
	ok &= expect_errno("an event afterwards", fd, 0);
	ok &= expect(!write_tracefs(file, "1"), "ftrace cannot enable a probe that an event has");
	close(fd);
	write_tracefs("uprobe_events", "-:perf_test_in_use");
	return ok;
}

/* The requests of another user, in a child. */
static bool probe_permissions(void)
{
	int kprobe = perf_pmu_type("kprobe"), uprobe = perf_pmu_type("uprobe");
	int id = tracepoint_id("raw_syscalls/sys_enter");
	int answer[2], result[3] = {}, status;
	pid_t child;
	bool ok = true;

	if (pipe(answer))
		fail_case("pipe");
	child = fork();
	if (!child) {
		struct perf_event_attr attr = perf_attr(kprobe, 0);

		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		attr.exclude_kernel = 1;
		attr.config1 = (uintptr_t)getppid_function;
		result[0] = perf_open(&attr, 0, -1, -1, 0) < 0 ? errno : 0;
		attr.type = uprobe;
		result[1] = perf_open(&attr, 0, -1, -1, 0) < 0 ? errno : 0;
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = id;
		attr.config1 = 0;
		attr.sample_type = PERF_SAMPLE_RAW;
		attr.sample_period = 1;
		result[2] = perf_open(&attr, -1, 0, -1, 0) < 0 ? errno : 0;
		_exit(write(answer[1], result, sizeof(result)) != sizeof(result));
	}
	waitpid(child, &status, 0);
	if (read(answer[0], result, sizeof(result)) != sizeof(result))
		fail_case("the other user's answer");
	ok &= expect_eq("kprobe of another user: errno", result[0], kprobe < 0 ? ENOENT : EACCES);
	ok &= expect_eq("uprobe of another user: errno", result[1], uprobe < 0 ? ENOENT : EACCES);
	ok &= expect_eq("raw tracepoint of a CPU, of another user: errno", result[2], EPERM);
	close(answer[0]);
	close(answer[1]);
	return ok;
}

static const struct test tests[] = {
	{ "a tracepoint counts each call, also of children", tracepoint_counts },
	{ "kprobes and kretprobes count each call, also of children", kprobe_counts },
	{ "uprobes and uretprobes count each call, also of children", uprobe_counts },
	{ "a uprobe is ftrace's or an event's: EINTR", uprobe_in_use },
	{ "the call chain of a tail call with return probes", chain_with_return_probes },
#ifdef __x86_64__
	{ "the call chain of a probe on a function's first instruction", chains_at_entries },
#endif
	{ "hits in the kernel are excluded with it", kernel_is_excluded },
	{ "probes and raw tracepoint data need privileges", probe_permissions },
};

TESTS_MAIN(tests)
