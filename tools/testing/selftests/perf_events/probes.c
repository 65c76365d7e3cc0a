// SPDX-License-Identifier: GPL-2.0
/*
 * Tracepoints, kprobes and uprobes as counters: each call is counted, of this task, of its children
 * if they inherit, and only by who may. Run as root.
 */
#include "record.h"

#define NOBODY	65534

static bool exactly(uint64_t got, uint64_t want, const char *what)
{
	return ktap_result(got == want, "%s: %llu, want %llu", what, (unsigned long long)got,
			   (unsigned long long)want);
}

#ifdef __x86_64__
static const char getppid_function[] = "__x64_sys_getppid";
#else
static const char getppid_function[] = "__arm64_sys_getppid";
#endif

/* One for each case: a probe that comes soon after another has gone from there is a case of its own. */
#define PROBED(n)								\
__attribute__((noinline, used))							\
static void probed_function_##n(void)						\
{										\
	asm volatile("# " #n : : : "memory");					\
}
PROBED(0)
PROBED(1)
PROBED(2)
PROBED(3)

static void (*const probed[])(void) = {
	probed_function_0, probed_function_1, probed_function_2, probed_function_3,
};

static void call_all(int n)
{
	for (int i = 0; i < n; i++) {
		syscall(__NR_getppid);
		for (unsigned int j = 0; j < ARRAY_SIZE(probed); j++)
			probed[j]();
	}
}

/* The count of 3 calls here and 4 in a child and 5 in its child. */
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

static void test_probe(const char *name, struct perf_event_attr *attr, uint64_t step)
{
	char what[64];
	int fd;

	attr->disabled = 1;
	for (int inherit = 0; inherit < 2; inherit++, attr->config2 += step) {
		attr->inherit = inherit;
		snprintf(what, sizeof(what), "%s%s", name, inherit ? ", inherited" : "");
		fd = perf_open(attr, 0, -1, -1, 0);
		if (fd < 0)
			ktap_result(false, "%s: errno %d", what, errno);
		else
			exactly(count_calls(fd), inherit ? 12 : 3, what);
	}
}

static void test_tracepoint(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid");
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);

	if (id < 0)
		ktap_skip("tracepoint", "there is no sys_enter_getppid");
	else
		test_probe("tracepoint", &attr, 0);

	attr.config = 0x7fffffff;
	ktap_result(perf_open(&attr, 0, -1, -1, 0) < 0 && errno == EINVAL,
		    "a tracepoint that is not there");
}

static void test_kprobe(void)
{
	struct perf_event_attr attr = perf_attr(perf_pmu_type("kprobe"), 0);
	char line[64];

	if (perf_pmu_type("kprobe") < 0) {
		ktap_skip("kprobe", "no PMU");
		return;
	}
	read_line("/sys/bus/event_source/devices/kprobe/format/retprobe", line, sizeof(line));
	ktap_result(!strcmp(line, "config:0"), "kprobe: format of retprobe");
	attr.config1 = (uintptr_t)getppid_function;
	test_probe("kprobe", &attr, 0);
	attr.config = 1;
	test_probe("kretprobe", &attr, 0);
	attr.config1 = (uintptr_t)"no_such_function_here";
	ktap_result(perf_open(&attr, 0, -1, -1, 0) < 0 && errno == ENOENT,
		    "kprobe on a function that is not there");
}

/* Where the function is in its file: the program is static and not relocated. */
static void test_uprobe(void)
{
	extern char __executable_start[];
	struct perf_event_attr attr = perf_attr(perf_pmu_type("uprobe"), 0);
	static char path[256], line[64];

	if (perf_pmu_type("uprobe") < 0) {
		ktap_skip("uprobe", "no PMU");
		return;
	}
	read_line("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", line,
		  sizeof(line));
	ktap_result(!strcmp(line, "config:32-63"), "uprobe: format of ref_ctr_offset");
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
		ktap_bail_out("/proc/self/exe");
	attr.config1 = (uintptr_t)path;
	attr.config2 = (uintptr_t)probed[0] - (uintptr_t)__executable_start;
	test_probe("uprobe", &attr, (uintptr_t)probed[1] - (uintptr_t)probed[0]);
	attr.config = 1;
	attr.config2 = (uintptr_t)probed[2] - (uintptr_t)__executable_start;
	test_probe("uretprobe", &attr, (uintptr_t)probed[3] - (uintptr_t)probed[2]);
	attr.config1 = 0;
	ktap_result(perf_open(&attr, 0, -1, -1, 0) < 0 && errno == EINVAL, "uprobe without a file");
}

/* As another user, in a child. */
static void test_permission(void)
{
	int kprobe = perf_pmu_type("kprobe"), uprobe = perf_pmu_type("uprobe");
	int id = tracepoint_id("raw_syscalls/sys_enter");
	int answer[2], result[3] = {}, status;
	pid_t child;

	if (pipe(answer))
		ktap_bail_out("pipe");
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
		ktap_bail_out("the other user's answer");
	exactly(result[0], kprobe < 0 ? ENOENT : EACCES, "kprobe of another user: errno");
	exactly(result[1], uprobe < 0 ? ENOENT : EACCES, "uprobe of another user: errno");
	exactly(result[2], EPERM, "raw tracepoint of a CPU, of another user: errno");
	close(answer[0]), close(answer[1]);
}

int main(void)
{
	ktap_start(0);
	test_tracepoint();
	test_kprobe();
	test_uprobe();
	test_permission();
	return ktap_finish();
}
