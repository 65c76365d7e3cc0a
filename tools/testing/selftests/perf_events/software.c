// SPDX-License-Identifier: GPL-2.0
/*
 * Software events: each counts exactly what its name describes, in the task or on the CPU where it
 * happens.
 */
#include "bpf_prog.h"
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/syscall.h>

#define PAGES	200

static char *map_fresh(int prot, int flags, int fd)
{
	char *p = mmap(NULL, PAGES * 4096ul, prot, flags, fd, 0);

	if (p == MAP_FAILED)
		fail_case("mmap");
	/* huge pages would take one fault for all */
	madvise(p, PAGES * 4096ul, MADV_NOHUGEPAGE);
	return p;
}

static void touch_fresh(char *p)
{
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(p + i * 4096ul) = 1;
}

static int open_event(uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attr = sw_attr(config);

	return MUST(perf_open(&attr, pid, cpu, -1, 0));
}

/* Anonymous memory: one minor fault for each page, and none for pages that are mapped. */
static bool minor_faults(void)
{
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int all = open_event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1);
	int minor = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, -1);
	int major = open_event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0, -1);
	uint64_t before[3];

	perf_count(all);
	before[0] = perf_count(all);
	before[1] = perf_count(minor);
	before[2] = perf_count(major);
	touch_fresh(p);
	touch_fresh(p);
	return expect_eq("faults", perf_count(all) - before[0], PAGES) &
	       expect_eq("minor faults", perf_count(minor) - before[1], PAGES) &
	       expect_eq("major faults", perf_count(major) - before[2], 0);
}

/**
 * struct missing_page - a page that a thread provides when it is missed twice
 * @uffd: userfaultfd
 * @at: the page
 */
struct missing_page {
	int	uffd;
	char	*at;
};

static void *provide_page(void *arg)
{
	struct missing_page *missing = arg;
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)missing->at, .len = sysconf(_SC_PAGESIZE) },
	};
	struct uffd_msg message;

	/* The first try has the lock of the mapping only, and is not counted as one that waited. */
	MUST(read(missing->uffd, &message, sizeof(message)));
	MUST(ioctl(missing->uffd, UFFDIO_WAKE, &zero.range));
	MUST(read(missing->uffd, &message, sizeof(message)));
	MUST(ioctl(missing->uffd, UFFDIO_ZEROPAGE, &zero));
	return NULL;
}

/* A fault that waits for its page is a major one. No disk is needed with userfaultfd. */
static bool major_faults_are_sampled(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int uffd = syscall(__NR_userfaultfd, O_CLOEXEC), minor;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)p, .len = PAGES * 4096ul },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	static struct ring ring;
	struct sample s;
	uint64_t before;

	MUST(uffd);
	MUST(ioctl(uffd, UFFDIO_API, &api));
	MUST(ioctl(uffd, UFFDIO_REGISTER, &range));
	minor = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, -1);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR;
	attr.disabled = 1;
	if (!ring_map(&ring, open_self(&attr, -1), 4))
		fail_case("mmap");
	for (int i = 0; i < 10; i++) {
		struct missing_page missing = { uffd, p + i * sysconf(_SC_PAGESIZE) };
		pthread_t thread;

		if (pthread_create(&thread, NULL, provide_page, &missing))
			fail_case("pthread_create");
		before = perf_count(minor);
		before = perf_count(minor);
		event_enable(ring.fd);
		*(volatile char *)missing.at = 1;
		event_disable(ring.fd);
		good += perf_count(minor) == before;
		pthread_join(thread, NULL);
	}
	if (!expect_eq("major faults", perf_count(ring.fd), 10) ||
	    !expect_eq("major faults that are no minor ones", good, 10))
		return false;
	for (good = 0; (h = ring_find(&ring, PERF_RECORD_SAMPLE)); n++)
		good += sample_parse(&s, h, &attr) && s.tid == (uint32_t)getpid() &&
			s.addr == (uintptr_t)p + n * sysconf(_SC_PAGESIZE);
	return expect_eq("samples", n, 10) &
	       expect_eq("samples with the task and the address", good, 10);
}

/* A write to a page that was read before (mapped to the zero page) is a second fault. */
static bool faults_of_reading_and_writing(void)
{
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int all = open_event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1);
	uint64_t before = perf_count(all);
	unsigned int sum = 0;

	for (int i = 0; i < PAGES; i++)
		sum += *(volatile char *)(p + i * 4096ul);
	touch_fresh(p);
	return expect_eq("faults", perf_count(all) - before, 2 * PAGES) & !sum;
}

/* exclude_user: only faults of the kernel on user memory, those of a read() into new pages. */
static bool faults_by_mode(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *q = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int zero = open("/dev/zero", O_RDONLY), user, kernel;
	uint64_t before[2];

	attr.exclude_kernel = 1;
	user = open_self(&attr, -1);
	attr.exclude_kernel = 0;
	attr.exclude_user = 1;
	kernel = open_self(&attr, -1);
	perf_count(user);
	before[0] = perf_count(user);
	before[1] = perf_count(kernel);
	touch_fresh(p);
	MUST(read(zero, q, PAGES * 4096ul));
	return expect_eq("user's faults", perf_count(user) - before[0], PAGES) &
	       expect_eq("kernel's faults", perf_count(kernel) - before[1], PAGES);
}

/* Faults of other tasks do not count. */
static bool faults_of_the_task(void)
{
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct gate go = gate_new(), done = gate_new();
	uint64_t before, own;
	pid_t pid = fork_child();
	int fd, mine;

	if (!pid) {
		gate_wait(&go);
		touch_fresh(p);
		gate_open(&done);
		pause();
	}
	fd = open_event(PERF_COUNT_SW_PAGE_FAULTS, pid, -1);
	mine = open_event(PERF_COUNT_SW_PAGE_FAULTS, 0, -1);
	before = perf_count(fd);
	own = perf_count(mine);
	gate_open(&go);
	gate_wait(&done);
	before = perf_count(fd) - before;
	own = perf_count(mine) - own;
	kill_child(pid);
	return expect_between("the child's", before, PAGES, PAGES + 20) &
	       expect_between("mine", own, 0, 5);
}

/* A task that sleeps N times: N switches. */
static bool context_switches(void)
{
	int fd = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0, -1);
	uint64_t before = perf_count(fd), switches = thread_switches();

	for (int i = 0; i < 200; i++)
		usleep(500);
	switches = thread_switches() - switches;
	return expect_near("switches", perf_count(fd) - before, switches, 2) &
	       expect_between("enough of them", switches, 100, 1000);
}

/* Switches of another task, as the scheduler counts them. */
static uint64_t switches_of(pid_t pid)
{
	unsigned long value;
	uint64_t sum = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &value) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &value) == 1)
			sum += value;
	}
	if (f)
		fclose(f);
	return sum;
}

/* The CPU on which a task runs or ran last. */
static int cpu_of(pid_t pid)
{
	char path[64], line[512];
	const char *word;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_line(path, line, sizeof(line)) < 0)
		return -1;
	/* the 37th word after the name, which may contain blanks */
	word = strrchr(line, ')');
	for (int i = 0; word && i < 37; i++)
		word = strchr(word + 1, ' ');
	return word ? atoi(word) : -1;
}

/*
 * Waits until the task has run there: a task that is moved twice before it runs has migrated once.
 */
static void wait_until_on(pid_t pid, int cpu)
{
	uint64_t switches;
	int ms;

	for (ms = 0; cpu_of(pid) != cpu && ms < 1000; ms++)
		sleep_ms(1);
	switches = switches_of(pid);
	for (; switches_of(pid) < switches + 2 && ms < 1000; ms++)
		sleep_ms(1);
}

/* Two tasks alternate on one CPU: both switch at each round, and the CPU twice as often. */
static bool switches_of_two_tasks(void)
{
	struct gate ping, pong;
	int task, child, cpu;
	uint64_t before, mine, other;
	pid_t pid;

	pin_to_cpu(0);
	ping = gate_new();
	pong = gate_new();
	pid = fork_child();
	if (!pid) {
		for (;;) {
			gate_wait(&ping);
			gate_open(&pong);
		}
	}
	other = switches_of(pid);
	mine = thread_switches();
	task = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0, -1);
	child = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, pid, -1);
	cpu = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, -1, 0);
	before = perf_count(cpu);
	for (int i = 0; i < 500; i++) {
		gate_open(&ping);
		gate_wait(&pong);
	}
	before = perf_count(cpu) - before;
	mine = thread_switches() - mine;
	other = switches_of(pid) - other;
	return expect_near("mine", perf_count(task), mine, 2) &
	       expect_near("the other's", perf_count(child), other, 2) &
	       expect_between("at each round", mine, 500, UINT64_MAX) &
	       expect_between("the CPU's", before, mine + other - 2, mine + other + 300);
}

static bool own_migrations(void)
{
	int fd, switches;

	require_cpus(2);
	pin_to_cpu(0);
	fd = open_event(PERF_COUNT_SW_CPU_MIGRATIONS, 0, -1);
	switches = open_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0, -1);
	for (int i = 1; i <= 50; i++)
		pin_to_cpu(i & 1);
	return expect_eq("migrations", perf_count(fd), 50) &
	       expect_between("switches", perf_count(switches), 50, 200);
}

static bool migrations_are_sampled(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_MIGRATIONS);
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	static struct ring ring;
	struct sample s;

	require_cpus(2);
	pin_to_cpu(0);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CPU;
	if (!ring_map(&ring, open_self(&attr, -1), 4))
		fail_case("mmap");
	for (int i = 1; i <= 50; i++)
		pin_to_cpu(i & 1);
	/* Each on the CPU to which the task has moved. */
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		n++;
		good += sample_parse(&s, h, &attr) && s.tid == (uint32_t)getpid() &&
			s.cpu == (n & 1);
	}
	return expect_eq("samples of 50 migrations", n, 50) &
	       expect_eq("samples with the task and its new CPU", good, 50);
}

/* A task is moved by another, while it sleeps. */
static bool migrations_of_another(void)
{
	cpu_set_t set;
	pid_t pid;
	int fd;

	require_cpus(2);
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(0);
		for (;;)
			usleep(100);
	}
	sleep_ms(20);
	fd = open_event(PERF_COUNT_SW_CPU_MIGRATIONS, pid, -1);
	for (int i = 1; i <= 20; i++) {
		CPU_ZERO(&set);
		CPU_SET(i & 1, &set);
		MUST(sched_setaffinity(pid, sizeof(set), &set));
		wait_until_on(pid, i & 1);
	}
	kill_child(pid);
	return expect_eq("migrations", perf_count(fd), 20);
}

static bool dummy_counts_nothing(void)
{
	int fd = open_event(PERF_COUNT_SW_DUMMY, 0, -1);
	int cpu = open_event(PERF_COUNT_SW_DUMMY, -1, 0);

	usleep(1000);
	touch_fresh(map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	return expect_eq("dummy", perf_count(fd), 0) & expect_eq("the CPU's", perf_count(cpu), 0);
}

/* They exist everywhere, even where they cannot happen. */
static bool all_can_be_opened(void)
{
	bool good = true;

	for (int i = 0; i < PERF_COUNT_SW_MAX; i++) {
		struct perf_event_attr attr = sw_attr(i);
		int self = perf_open(&attr, 0, -1, -1, 0);
		int cpu = perf_open(&attr, -1, 0, -1, 0);

		if (self < 0 || cpu < 0) {
			ktap_note("number %d: %d, %d (%s)", i, self, cpu, strerrorname_np(errno));
			good = false;
		}
		close(self);
		close(cpu);
	}
	return good;
}

/* A fault is counted by each of many events. */
static bool many_events_count_alike(void)
{
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t before[64];
	bool good = true;
	int fd[64];

	for (int i = 0; i < 64; i++)
		fd[i] = open_event(PERF_COUNT_SW_PAGE_FAULTS, 0, i & 1 ? -1 : 0);
	pin_to_cpu(0);
	for (int i = 0; i < 64; i++)
		before[i] = perf_count(fd[i]);
	for (int i = 0; i < 64; i++)
		before[i] = perf_count(fd[i]);
	touch_fresh(p);
	for (int i = 0; i < 64; i++)
		good &= expect_eq("one of 64", perf_count(fd[i]) - before[i], PAGES);
	return good;
}

/* Disabled: nothing; enabled: all; bound to another CPU: nothing. */
static bool only_while_enabled(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *q = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *r = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t before;
	int fd;

	attr.disabled = 1;
	fd = open_self(&attr, -1);
	touch_fresh(p);
	event_enable(fd);
	before = perf_count(fd);
	before = perf_count(fd);
	touch_fresh(q);
	before = perf_count(fd) - before;
	event_disable(fd);
	touch_fresh(r);
	return expect_eq("while enabled", before, PAGES) &
	       expect_between("in all", perf_count(fd), PAGES, PAGES + 5);
}

#define INSN(c, d, s, o, i)							\
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }

static int output_map(uint32_t cpu, int fd)
{
	union bpf_attr make = { .map_type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .key_size = 4,
				.value_size = 4, .max_entries = sysconf(_SC_NPROCESSORS_CONF) };
	int map = sys_bpf(BPF_MAP_CREATE, &make);
	union bpf_attr put = { .map_fd = map };

	if (map < 0)
		skip_case("no BPF");
	put.key = (uintptr_t)&cpu;
	put.value = (uintptr_t)&fd;
	MUST(sys_bpf(BPF_MAP_UPDATE_ELEM, &put));
	return map;
}

/* return bpf_perf_event_output(ctx, map, BPF_F_CURRENT_CPU, &word, 8) */
static int output_program(int map)
{
	struct bpf_insn insns[] = {
		INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0x1234),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 3, 0, 0, -1),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 8),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_perf_event_output),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insn_cnt = ARRAY_SIZE(insns) };

	attr.insns = (uintptr_t)insns;
	attr.license = (uintptr_t)"GPL";
	return MUST(sys_bpf(BPF_PROG_LOAD, &attr));
}

/* Runs the program here. Returns the result of the helper. */
static int output_here(int program)
{
	union bpf_attr attr = { .test.prog_fd = program };

	MUST(sys_bpf(BPF_PROG_TEST_RUN, &attr));
	return attr.test.retval;
}

/* A program on CPU 0, in this task, writes to an event of @pid and @cpu. */
static bool bpf_writes(const char *what, pid_t pid, int cpu, int want)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_BPF_OUTPUT);
	static struct ring ring;
	int fd, program;
	bool good;

	attr.sample_type = PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	fd = MUST(perf_open(&attr, pid, cpu, -1, 0));
	if (!ring_map(&ring, fd, 1))
		fail_case("mmap");
	program = output_program(output_map(0, fd));
	good = expect_eq(what, output_here(program), want) &
	       expect_eq(what, output_here(program), want) &
	       expect_eq(what, ring_count(&ring, PERF_RECORD_SAMPLE), want ? 0 : 2);
	ring_unmap(&ring);
	close(fd);
	close(program);
	return good;
}

/* Programs write to an event where it counts: in its task, on its CPU. */
static bool bpf_output(void)
{
	pid_t other = fork_waiting_child();
	bool good;

	require_cpus(2);
	pin_to_cpu(0);
	good = bpf_writes("of the CPU", -1, 0, 0) &
	       bpf_writes("of another CPU", -1, 1, -EOPNOTSUPP) &
	       bpf_writes("of the task", 0, -1, 0) &
	       bpf_writes("of the task on this CPU", 0, 0, 0) &
	       bpf_writes("of the task on another CPU", 0, 1, -EOPNOTSUPP) &
	       bpf_writes("of another task", other, -1, -EOPNOTSUPP) &
	       bpf_writes("of another task on this CPU", other, 0, -EOPNOTSUPP);
	kill_child(other);
	return good;
}

static bool elsewhere_is_not_here(void)
{
	char *p = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *q = map_fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t other_before, here;
	int other, fd;

	require_cpus(2);
	pin_to_cpu(0);
	other = open_event(PERF_COUNT_SW_PAGE_FAULTS, -1, 1);
	fd = open_event(PERF_COUNT_SW_PAGE_FAULTS, 0, 1);
	other_before = perf_count(other);
	touch_fresh(p);
	other_before = perf_count(other) - other_before;
	here = perf_count(fd);
	pin_to_cpu(1);
	touch_fresh(q);
	pin_to_cpu(0);
	return expect_between("another CPU's", other_before, 0, 20) &
	       expect_eq("a task's there", here, 0) &
	       expect_between("after it went there", perf_count(fd), PAGES, PAGES + 10);
}

static const struct test tests[] = {
	{ "minor faults, one for each page", minor_faults },
	{ "major faults are sampled with their addresses", major_faults_are_sampled },
	{ "reading, then writing, takes two faults", faults_of_reading_and_writing },
	{ "faults in user and in kernel mode", faults_by_mode },
	{ "a task's faults are its own", faults_of_the_task },
	{ "a context switch for each sleep", context_switches },
	{ "switches of two tasks and of their CPU", switches_of_two_tasks },
	{ "migrations of a task that moves itself", own_migrations },
	{ "a sample for each migration", migrations_are_sampled },
	{ "migrations of a task that is moved", migrations_of_another },
	{ "the dummy counts nothing", dummy_counts_nothing },
	{ "every software event can be opened", all_can_be_opened },
	{ "64 events count the same faults", many_events_count_alike },
	{ "nothing is counted while disabled", only_while_enabled },
	{ "events of one CPU do not count on another", elsewhere_is_not_here },
	{ "BPF programs write where the event counts", bpf_output },
};

TESTS_MAIN(tests)
