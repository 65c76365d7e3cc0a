// SPDX-License-Identifier: GPL-2.0
/* Breakpoint events count each access of their kind and no other. Run as root. */
#include "breakpoint.h"

static bool counts_each_write(void)
{
	int fd = watch_writes(0, -1);
	bool good;

	if (fd < 0)
		return expect_errno("open", fd, 0);
	write_words(&target.word[0], 1000);
	read_words(&target.word[0], 77);
	write_words(&target.word[1], 55);
	good = expect_eq("count", perf_count(fd), 1000);
	close(fd);
	return good;
}

static bool counts_reads_and_writes(void)
{
	int fd = bp_open(HW_BREAKPOINT_RW, &target.word[0], 8, 0, -1);
	bool good;

	if (fd < 0)
		return expect_errno("open", fd, 0);
	write_words(&target.word[0], 300);
	read_words(&target.word[0], 700);
	read_words(&target.word[1], 55);
	good = expect_eq("count", perf_count(fd), 1000);
	close(fd);
	return good;
}

/* x86 has no register that watches reads alone. */
static bool counts_reads_or_refuses(void)
{
	int fd = bp_open(HW_BREAKPOINT_R, &target.word[0], 8, 0, -1);
	bool good;

	if (fd < 0) {
#ifdef __x86_64__
		return expect_refused("R", fd, EINVAL, "bp_type");
#else
		return expect_errno("R", fd, 0);
#endif
	}
	write_words(&target.word[0], 300);
	read_words(&target.word[0], 700);
	good = expect_eq("count", perf_count(fd), 700);
	close(fd);
	return good;
}

static bool counts_each_execution(void)
{
	int fd = bp_open(HW_BREAKPOINT_X, watched_function, X_LEN, 0, -1);
	bool good;

	if (fd < 0)
		return expect_errno("open", fd, 0);
	call_function(1000);
	good = expect_eq("count", perf_count(fd), 1000);
	close(fd);
	return good;
}

static bool watches_no_byte_more_than_asked(void)
{
	int fd = bp_open(HW_BREAKPOINT_W, &target.byte[1], 1, 0, -1);
	bool good;

	if (fd < 0)
		return expect_errno("open", fd, 0);
	target.byte[0] = 1;
	target.byte[2] = 1;
	good = expect_eq("neighbours", perf_count(fd), 0);
	target.byte[1] = 1;
	good &= expect_eq("byte", perf_count(fd), 1);
	target.word[0] = 1;
	good &= expect_eq("word around it", perf_count(fd), 2);
	close(fd);
	return good;
}

static bool counts_only_while_enabled(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	bool good;
	int fd;

	attr.disabled = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	write_words(&target.word[0], 10);
	good = expect_eq("opened disabled", perf_count(fd), 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	write_words(&target.word[0], 20);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	write_words(&target.word[0], 40);
	good &= expect_eq("disabled again", perf_count(fd), 20);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	write_words(&target.word[0], 5);
	good &= expect_eq("after reset", perf_count(fd), 5);
	close(fd);
	return good;
}

/*
 * Writes of the kernel that are hits, of 100. On arm64 none: MDSCR_EL1.KDE, which enables debug
 * exceptions in the kernel, is set only for kernel addresses.
 */
#ifdef __aarch64__
#define KERNEL_HITS	0
#else
#define KERNEL_HITS	100
#endif

/* The kernel writes to the word: each byte that is read from a pipe is one access. */
static void read_from_pipe(unsigned int times)
{
	char byte = 0;
	int fd[2];

	MUST(pipe2(fd, O_CLOEXEC));
	for (unsigned int i = 0; i < times; i++)
		MUST(write(fd[1], &byte, 1));
	while (times--)
		MUST(read(fd[0], (void *)&target.byte[0], 1));
	close(fd[0]);
	close(fd[1]);
}

static bool counts_writes_of(const char *modes)
{
	bool user = strchr(modes, 'u'), kernel = strchr(modes, 'k');
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	uint64_t n;
	bool good;
	int fd;

	attr.exclude_user = !user;
	attr.exclude_kernel = !kernel;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	ktap_note("breakpoint:%s", modes);
	read_from_pipe(100);
	n = perf_count(fd);
	good = expect_eq("writes of the kernel", n, kernel ? KERNEL_HITS : 0);
	write_words(&target.word[0], 30);
	good &= expect_eq("writes of the program", perf_count(fd) - n, user ? 30 : 0);
	close(fd);
	return good;
}

static bool counts_the_modes_it_does_not_exclude(void)
{
	return counts_writes_of("uk") & counts_writes_of("u") & counts_writes_of("k");
}

/* Two tasks alternate on one CPU, each watched at the same address. */
static bool a_switch_keeps_tasks_apart(void)
{
	static const unsigned int times[2] = { 300, 500 };
	int fd[2], go[2], n;
	pid_t pid[2];
	bool good = true;

	if (pipe(go))
		fail_case("pipe");
	for (n = 0; n < 2; n++) {
		char token;
		unsigned int i;

		pid[n] = fork_child();
		if (pid[n])
			continue;
		close(go[1]);
		pin_to_cpu(0);
		if (read(go[0], &token, 1))
			_exit(1);
		for (i = 0; i < times[n]; i++) {
			write_words(&target.word[0], 1);
			sched_yield();
		}
		_exit(0);
	}
	for (n = 0; n < 2; n++) {
		fd[n] = watch_writes(pid[n], -1);
		good &= fd[n] >= 0;
	}
	close(go[0]);
	close(go[1]);
	for (n = 0; n < 2; n++) {
		good &= child_succeeded(pid[n]);
		good &= expect_eq("count", perf_count(fd[n]), times[n]);
		close(fd[n]);
	}
	return good;
}

static bool a_cpu_breakpoint_counts_its_cpu(void)
{
	int fd, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool good;

	if (cpus < 2)
		skip_case("a second CPU");
	pin_to_cpu(1);
	fd = watch_writes(-1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	write_words(&target.word[0], 100);
	good = expect_eq("on another CPU", perf_count(fd), 0);
	pin_to_cpu(0);
	write_words(&target.word[0], 200);
	good &= expect_eq("on its CPU", perf_count(fd), 200);
	close(fd);
	return good;
}

static bool children_inherit_it(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	bool good = true;
	int fd, n;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	write_words(&target.word[0], 1);
	for (n = 0; n < 5; n++) {
		pid_t pid = fork_child();

		if (!pid) {
			write_words(&target.word[0], 100);
			_exit(0);
		}
		good &= child_succeeded(pid);
	}
	good &= expect_eq("count", perf_count(fd), 501);
	close(fd);
	return good;
}

/* Each hit overflows: as many samples as writes, each with the address. */
static bool a_period_of_one_samples_each_hit(void)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, &target.word[0], 8);
	struct { struct perf_event_header header; uint64_t addr; } *sample;
	size_t page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *user;
	unsigned int samples = 0;
	uint64_t tail = 0;
	bool good = true;
	int fd;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("open", fd, 0);
	user = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (user == MAP_FAILED) {
		close(fd);
		return expect_errno("mmap", -1, 0);
	}
	write_words(&target.word[0], 50);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (tail < __atomic_load_n(&user->data_head, __ATOMIC_ACQUIRE)) {
		sample = (void *)((char *)user + page + tail);
		if (sample->header.type == PERF_RECORD_SAMPLE) {
			samples++;
			good &= expect_eq("address", sample->addr, (uintptr_t)&target.word[0]);
		}
		tail += sample->header.size;
	}
	good &= expect_eq("samples", samples, 50);
	good &= expect_eq("count", perf_count(fd), 50);
	munmap(user, 2 * page);
	close(fd);
	return good;
}

/* An address that is not written while the test runs; 0 if the kernel hides its addresses. */
static unsigned long kernel_address(void)
{
	unsigned long addr = 0, value;
	char name[128], kind;
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !addr && fscanf(f, "%lx %c %127[^\n]", &value, &kind, name) == 3)
		if (!strcmp(name, "linux_banner"))
			addr = value & ~7ul;
	if (f)
		fclose(f);
	return addr;
}

static bool open_kernel_as(bool privileged, unsigned long addr, bool exclude_kernel, int error)
{
	struct perf_event_attr attr = bp_attr(HW_BREAKPOINT_W, (void *)addr, 8);
	pid_t pid = fork_child();
	int fd;

	if (pid)
		return child_succeeded(pid);

	attr.exclude_kernel = exclude_kernel;
	if (!privileged && (setgid(NOBODY_ID) || setuid(NOBODY_ID)))
		_exit(1);
	/* On a CPU: arm64 does not allow kernel addresses for a task. */
	fd = perf_open(&attr, -1, 0, -1, 0);
	_exit(!expect_refused(privileged ? "root" : "nobody", fd, error, error ? "bp_addr" : NULL));
}

static bool the_kernel_is_for_the_privileged(void)
{
	unsigned long addr = kernel_address();
	long paranoid = sysctl_get("perf_event_paranoid", 2);
	bool good;

	if (!addr)
		skip_case("addresses in /proc/kallsyms");
	sysctl_set("perf_event_paranoid", -1);
	good = open_kernel_as(true, addr, false, 0);
	good &= open_kernel_as(true, addr, true, EINVAL);
	good &= open_kernel_as(false, addr, false, EPERM);
	good &= open_kernel_as(false, addr, true, EINVAL);
	sysctl_set("perf_event_paranoid", paranoid);
	return good;
}

static const struct test tests[] = {
	{ "counts each write", counts_each_write },
	{ "counts reads and writes", counts_reads_and_writes },
	{ "counts reads, or refuses them", counts_reads_or_refuses },
	{ "counts each execution", counts_each_execution },
	{ "watches no byte more than asked", watches_no_byte_more_than_asked },
	{ "counts only while enabled", counts_only_while_enabled },
	{ "counts the modes that it does not exclude", counts_the_modes_it_does_not_exclude },
	{ "a switch keeps tasks apart", a_switch_keeps_tasks_apart },
	{ "a CPU breakpoint counts its CPU", a_cpu_breakpoint_counts_its_cpu },
	{ "children inherit a breakpoint", children_inherit_it },
	{ "a period of one samples each hit", a_period_of_one_samples_each_hit },
	{ "kernel addresses need privileges", the_kernel_is_for_the_privileged },
};

TESTS_MAIN(tests)
