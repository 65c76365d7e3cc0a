// SPDX-License-Identifier: GPL-2.0
/*
 * Events and BPF programs: helpers that read events, and what bpf_link_info shows of an event.
 * Programs that drop samples are in sample_filter.c.
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

#define COOKIE		0x0123456789abcdefull
#define NR_EVENTS	4

/* Shared by the test and its program. */
struct shared {
	uint64_t	index;			/* input: the event, and flags */
	int64_t		error;			/* bpf_perf_event_read_value() */
	uint64_t	value, enabled, running;
	int64_t		read;			/* bpf_perf_event_read() */
};

static volatile struct shared *shared;
static int events;

static int put_event(uint32_t index, uint32_t fd)
{
	union bpf_attr attr = {
		.map_fd	= events,
		.key	= (uintptr_t)&index,
		.value	= (uintptr_t)&fd,
	};

	return sys_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

#define SHARED(field)	offsetof(struct shared, field)

/* The program runs at each getppid(2) of any task. */
static void attach_reader(void)
{
	int map = bpf_create_map(BPF_MAP_TYPE_ARRAY, sizeof(struct shared), 1, BPF_F_MMAPABLE);
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, 0);
	int id = tracepoint_id("syscalls/sys_enter_getppid");

	events = bpf_create_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, NR_EVENTS, 0);
	if (map < 0 || events < 0 || id < 0)
		skip_case("no BPF maps or no tracepoint");
	shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (shared == MAP_FAILED)
		fail_case("mmap");

	const struct bpf_insn code[] = {
		/* r6 = &shared */
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		BPF_LD_MAP_FD(BPF_REG_1, map),
		BPF_MOV64_REG(BPF_REG_2, BPF_REG_10),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_2, -4),
		BPF_EMIT_CALL(BPF_FUNC_map_lookup_elem),
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_0, .off = 1 },
		BPF_EXIT_INSN(),
		BPF_MOV64_REG(BPF_REG_6, BPF_REG_0),

		BPF_LD_MAP_FD(BPF_REG_1, events),
		BPF_LDX_MEM(BPF_DW, BPF_REG_2, BPF_REG_6, SHARED(index)),
		BPF_MOV64_REG(BPF_REG_3, BPF_REG_6),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_3, SHARED(value)),
		BPF_MOV64_IMM(BPF_REG_4, 24),
		BPF_EMIT_CALL(BPF_FUNC_perf_event_read_value),
		BPF_STX_MEM(BPF_DW, BPF_REG_6, BPF_REG_0, SHARED(error)),

		BPF_LD_MAP_FD(BPF_REG_1, events),
		BPF_LDX_MEM(BPF_DW, BPF_REG_2, BPF_REG_6, SHARED(index)),
		BPF_EMIT_CALL(BPF_FUNC_perf_event_read),
		BPF_STX_MEM(BPF_DW, BPF_REG_6, BPF_REG_0, SHARED(read)),

		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};

	attr.config = id;
	MUST(ioctl(MUST(perf_open(&attr, 0, -1, -1, 0)), PERF_EVENT_IOC_SET_BPF,
		   bpf_load(BPF_PROG_TYPE_TRACEPOINT, code, ARRAY_SIZE(code))));
}

/*
 * The program runs at each page fault of this task and of its children. It stores its cookie in
 * value, and in error the result of an output to the event with number 0.
 */
static void attach_to_faults(void)
{
	int map = bpf_create_map(BPF_MAP_TYPE_ARRAY, sizeof(struct shared), 1, BPF_F_MMAPABLE);
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	union bpf_attr link = { };

	events = bpf_create_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, NR_EVENTS, 0);
	if (map < 0 || events < 0)
		skip_case("no BPF maps");
	shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (shared == MAP_FAILED)
		fail_case("mmap");

	const struct bpf_insn code[] = {
		BPF_MOV64_REG(BPF_REG_6, BPF_REG_1),
		/* r7 = &shared */
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		BPF_LD_MAP_FD(BPF_REG_1, map),
		BPF_MOV64_REG(BPF_REG_2, BPF_REG_10),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_2, -8),
		BPF_EMIT_CALL(BPF_FUNC_map_lookup_elem),
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_0, .off = 1 },
		BPF_EXIT_INSN(),
		BPF_MOV64_REG(BPF_REG_7, BPF_REG_0),

		BPF_MOV64_REG(BPF_REG_1, BPF_REG_6),
		BPF_EMIT_CALL(BPF_FUNC_get_attach_cookie),
		BPF_STX_MEM(BPF_DW, BPF_REG_7, BPF_REG_0, SHARED(value)),

		BPF_MOV64_REG(BPF_REG_1, BPF_REG_6),
		BPF_LD_MAP_FD(BPF_REG_2, events),
		BPF_MOV64_IMM(BPF_REG_3, 0),
		BPF_MOV64_REG(BPF_REG_4, BPF_REG_10),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_4, -8),
		BPF_MOV64_IMM(BPF_REG_5, 8),
		BPF_EMIT_CALL(BPF_FUNC_perf_event_output),
		BPF_STX_MEM(BPF_DW, BPF_REG_7, BPF_REG_0, SHARED(error)),

		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};

	attr.inherit = 1;
	attr.sample_period = 1;
	link.link_create.prog_fd = bpf_load(BPF_PROG_TYPE_PERF_EVENT, code, ARRAY_SIZE(code));
	link.link_create.target_fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	link.link_create.attach_type = BPF_PERF_EVENT;
	link.link_create.perf_event.bpf_cookie = COOKIE;
	MUST(sys_bpf(BPF_LINK_CREATE, &link));
}

static bool cookie_of_children(void)
{
	pid_t child;

	attach_to_faults();
	fault_pages(10);
	if (!expect_eq("cookie", shared->value, COOKIE))
		return false;
	child = fork_child();
	if (!child) {
		/* The parent waits by then, and has no faults. */
		sleep_ms(50);
		shared->value = 0;
		fault_pages(10);
		exit(!expect_eq("cookie in a child", shared->value, COOKIE));
	}
	return child_succeeded(child);
}

/* As a lost record, which is what programs expect; ENOENT means that the map has no event. */
static bool output_without_buffer(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_BPF_OUTPUT);
	bool good;

	attach_to_faults();
	fault_pages(10);
	good = expect_eq("no event: error", shared->error, -ENOENT);
	MUST(put_event(0, MUST(perf_open(&attr, 0, -1, -1, 0))));
	fault_pages(10);
	return good & expect_eq("an event without a buffer: error", shared->error, -ENOSPC);
}

static struct shared program_reads(uint64_t index)
{
	memset((void *)shared, 0xa5, sizeof(*shared));
	shared->index = index;
	short_syscall();
	return *shared;
}

/* The helpers fail with this error and clear the result. */
static bool helper_refuses(const char *what, uint64_t index, int error)
{
	struct shared r = program_reads(index);

	return expect_eq(what, r.error, -error) & expect_eq(what, r.read, -error) &
	       expect_eq("value", r.value | r.enabled | r.running, 0);
}

/* The value that the program read lies between those of read(2) before and after. */
static bool reads_in_between(const char *what, int fd, uint64_t index)
{
	struct timed_count before = read_timed_count(fd), after;
	struct shared r = program_reads(index);

	after = read_timed_count(fd);
	return expect_eq(what, r.error, 0) &
	       expect_between("value", r.value, before.value, after.value) &
	       expect_between("enabled", r.enabled, before.enabled, after.enabled) &
	       expect_between("running", r.running, before.running, after.running) &
	       expect_between("bpf_perf_event_read()", r.read, r.value, after.value);
}

/* The helper reads the hardware or the clock itself. */
static bool still_counts(const char *what, uint64_t index)
{
	uint64_t last = program_reads(index).value;

	return expect_between(what, program_reads(index).value, last + 1, UINT64_MAX);
}

static int open_timed(struct perf_event_attr attr, pid_t pid, int cpu)
{
	attr.read_format = FORMAT_TIMES;
	return MUST(perf_open(&attr, pid, cpu, -1, 0));
}

static bool program_reads_software(void)
{
	int fd = open_timed(sw_attr(PERF_COUNT_SW_PAGE_FAULTS), 0, -1);
	int clock = open_timed(sw_attr(PERF_COUNT_SW_TASK_CLOCK), 0, -1);
	bool good = true;

	attach_reader();
	MUST(put_event(0, fd));
	MUST(put_event(1, clock));
	program_reads(0);
	for (int i = 0; i < 10; i++) {
		fault_pages(10);
		good &= reads_in_between("faults", fd, 0);
		good &= reads_in_between("task-clock", clock, 1) & still_counts("task-clock", 1);
	}
	good &= expect_between("faults", program_reads(0).value, 100, 1000);
	event_disable(fd);
	fault_pages(10);
	return good & reads_in_between("disabled", fd, 0) &
	       expect_eq("disabled", program_reads(0).enabled, read_timed_count(fd).enabled);
}

static bool program_reads_counters(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "uk");
	bool good = true;
	int fd;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attach_reader();
	attr.disabled = 0;
	fd = open_timed(attr, 0, -1);
	MUST(put_event(2, fd));
	for (int i = 0; i < 10; i++)
		good &= reads_in_between("cycles", fd, 2) & still_counts("cycles", 2);
	return good;
}

/* An event of a CPU on that CPU; BPF_F_CURRENT_CPU selects the index of the CPU. */
static bool program_reads_cpus(void)
{
	bool good = true;

	require_cpus(2);
	attach_reader();
	for (int cpu = 0; cpu < 2; cpu++)
		MUST(put_event(cpu, open_timed(sw_attr(PERF_COUNT_SW_CPU_CLOCK), -1, cpu)));
	for (int cpu = 0; cpu < 2; cpu++) {
		struct shared r;

		pin_to_cpu(cpu);
		r = program_reads(BPF_F_CURRENT_CPU);
		good &= expect_eq("this CPU's", r.error, 0) &
			expect_between("value", r.value, 1, r.running);
		good &= expect_eq("this CPU's by its number", program_reads(cpu).error, 0);
		good &= helper_refuses("another CPU's", !cpu, EINVAL);
	}
	return good;
}

/* An event of a task on a CPU has counted there, and can be read on any CPU. */
static bool program_reads_bound(void)
{
	bool good;
	int fd;

	require_cpus(2);
	fd = open_timed(sw_attr(PERF_COUNT_SW_PAGE_FAULTS), 0, 1);
	attach_reader();
	MUST(put_event(0, fd));
	pin_to_cpu(1);
	fault_pages(20);
	good = reads_in_between("on its CPU", fd, 0);
	pin_to_cpu(0);
	fault_pages(20);
	return good & reads_in_between("on another CPU", fd, 0) &
	       expect_between("faults", program_reads(0).value, 20, 39);
}

static bool program_is_refused(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	pid_t pid = fork_waiting_child();
	bool good;

	attach_reader();
	MUST(put_event(0, open_timed(attr, pid, -1)));
	attr.pinned = 1;
	attr.disabled = 1;
	MUST(put_event(1, open_timed(attr, 0, -1)));
	good = helper_refuses("another task's", 0, EINVAL) &
	       helper_refuses("pinned, not running", 1, EBUSY) &
	       helper_refuses("none there", 3, ENOENT) &
	       helper_refuses("out of the map", NR_EVENTS, E2BIG) &
	       helper_refuses("flags", 1ull << 32, EINVAL);
	attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	attr.inherit = 1;
	good &= expect_refused("an inherited event", put_event(2, open_timed(attr, 0, -1)),
			       EOPNOTSUPP, NULL);
	kill_child(pid);
	return good;
}

/* struct bpf_link_info of Linux 6.12; the headers of the C library may be older. */
struct link_info {
	uint32_t	type, id, prog_id, pad;
	uint32_t	kind, pad2;		/* enum bpf_perf_event_type */
	union {
		struct {
			uint64_t	name;
			uint32_t	name_len, offset;
			uint64_t	addr, missed, cookie;
		} kprobe;
		struct {
			uint64_t	name;
			uint32_t	name_len, offset;
			uint64_t	cookie;
		} uprobe;
		struct {
			uint64_t	name;
			uint32_t	name_len, pad;
			uint64_t	cookie;
		} tracepoint;
		struct {
			uint64_t	config;
			uint32_t	type, pad;
			uint64_t	cookie;
		} event;
	};
	uint64_t	rest[8];
};

enum { KIND_UPROBE = 1, KIND_URETPROBE, KIND_KPROBE, KIND_KRETPROBE, KIND_TRACEPOINT, KIND_EVENT };

static int object_info(int fd, void *info, unsigned int size)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = fd, .info_len = size, .info = (uintptr_t)info },
	};

	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* Links an empty program to @fd. Stores the name of the link's target in @name. */
static bool link_says(int fd, enum bpf_prog_type type, char *name, size_t size,
		      struct link_info *info)
{
	static const struct bpf_insn code[] = { BPF_MOV64_IMM(BPF_REG_0, 0), BPF_EXIT_INSN() };
	int program = bpf_load(type, code, ARRAY_SIZE(code)), link;
	union bpf_attr attr = {
		.link_create = {
			.prog_fd	= program,
			.target_fd	= fd,
			.attach_type	= BPF_PERF_EVENT,
			.perf_event	= { .bpf_cookie = COOKIE },
		},
	};
	struct bpf_prog_info about = {};

	link = MUST(sys_bpf(BPF_LINK_CREATE, &attr));
	MUST(object_info(program, &about, sizeof(about)));
	memset(info, 0, sizeof(*info));
	memset(name, 0, size);
	/* All types with a name have it at the same offset. */
	if (type != BPF_PROG_TYPE_PERF_EVENT) {
		info->kprobe.name = (uintptr_t)name;
		info->kprobe.name_len = size;
	}
	MUST(object_info(link, info, sizeof(*info)));
	close(link);
	return expect_eq("type of link", info->type, BPF_LINK_TYPE_PERF_EVENT) &
	       expect_eq("program", info->prog_id, about.id);
}

static bool name_is(const char *have, uint32_t len, const char *want)
{
	if (strcmp(have, want))
		ktap_note("name \"%s\", expected \"%s\"", have, want);
	return !strcmp(have, want) & expect_eq("length of the name", len, strlen(want) + 1);
}

static bool link_of_an_event(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct link_info info;
	char name[8];

	attr.sample_period = 1;
	return link_says(open_self(&attr, -1), BPF_PROG_TYPE_PERF_EVENT, name, sizeof(name),
			 &info) &
	       expect_eq("kind", info.kind, KIND_EVENT) &
	       expect_eq("type", info.event.type, PERF_TYPE_SOFTWARE) &
	       expect_eq("config", info.event.config, PERF_COUNT_SW_PAGE_FAULTS) &
	       expect_eq("cookie", info.event.cookie, COOKIE);
}

static bool link_of_a_tracepoint(void)
{
	static const char *const names[] = { "sched_process_fork", "sys_enter_getppid" };
	static const char *const paths[] = {
		"sched/sched_process_fork", "syscalls/sys_enter_getppid"
	};
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
							tracepoint_id(paths[i]));
		struct link_info info;
		char name[64];

		good &= link_says(open_self(&attr, -1), BPF_PROG_TYPE_TRACEPOINT, name,
				  sizeof(name), &info) &
			expect_eq("kind", info.kind, KIND_TRACEPOINT) &
			name_is(name, info.tracepoint.name_len, names[i]) &
			expect_eq("cookie", info.tracepoint.cookie, COOKIE);
	}
	return good;
}

#if defined(__x86_64__)
#define GETPPID	"__x64_sys_getppid"
#else
#define GETPPID	"__arm64_sys_getppid"
#endif

/* Bit 0 makes a probe a return probe, as in format/retprobe. */
static int open_probe(const char *pmu, const char *where, uint64_t offset, bool at_return)
{
	struct perf_event_attr attr = perf_attr(perf_pmu_type(pmu), at_return);

	attr.config1 = (uintptr_t)where;
	attr.config2 = offset;
	return MUST(perf_open(&attr, 0, -1, -1, 0));
}

static bool link_of_a_kprobe(void)
{
	struct link_info info;
	bool good = true;
	char name[64];

	if (perf_pmu_type("kprobe") < 0)
		skip_case("no kprobes");
	for (int at_return = 0; at_return < 2; at_return++) {
		good &= link_says(open_probe("kprobe", GETPPID, 0, at_return),
				  BPF_PROG_TYPE_KPROBE, name, sizeof(name), &info) &
			expect_eq("kind", info.kind, at_return ? KIND_KRETPROBE : KIND_KPROBE) &
			name_is(name, info.kprobe.name_len, GETPPID) &
			expect_eq("offset", info.kprobe.offset, 0) &
			expect_eq("missed", info.kprobe.missed, 0) &
			expect_eq("cookie", info.kprobe.cookie, COOKIE);
	}
	return good;
}

static bool link_of_a_uprobe(void)
{
	char path[256] = "", name[256];
	struct link_info info;
	bool good = true;

	if (perf_pmu_type("uprobe") < 0)
		skip_case("no uprobes");
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		fail_case("/proc/self/exe");
	for (int at_return = 0; at_return < 2; at_return++) {
		good &= link_says(open_probe("uprobe", path, 0x1000, at_return),
				  BPF_PROG_TYPE_KPROBE, name, sizeof(name), &info) &
			expect_eq("kind", info.kind, at_return ? KIND_URETPROBE : KIND_UPROBE) &
			name_is(name, info.uprobe.name_len, path) &
			expect_eq("offset", info.uprobe.offset, 0x1000) &
			expect_eq("cookie", info.uprobe.cookie, COOKIE);
	}
	return good;
}

/* Attaches a program that collects the chain at @function. Returns the counter of its runs. */
static const volatile uint64_t *chain_collector(const char *function)
{
	struct perf_event_attr attr = perf_attr(perf_pmu_type("kprobe"), 0);
	int map = bpf_create_map(BPF_MAP_TYPE_STACK_TRACE, 127 * 8, 64, 0);
	int runs = bpf_create_map(BPF_MAP_TYPE_ARRAY, 8, 1, BPF_F_MMAPABLE), fd;
	uint64_t *count;
	const struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_6,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = runs }, { },
		BPF_LDX_MEM(BPF_DW, BPF_REG_7, BPF_REG_6, 0),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_7, 1),
		BPF_STX_MEM(BPF_DW, BPF_REG_6, BPF_REG_7, 0),
		BPF_LD_MAP_FD(BPF_REG_2, map),
		BPF_MOV64_IMM(BPF_REG_3, 0),
		BPF_EMIT_CALL(BPF_FUNC_get_stackid),
		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};

	count = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, runs, 0);
	attr.config1 = (uintptr_t)function;
	fd = perf_open(&attr, -1, 0, -1, 0);
	if (map < 0 || count == MAP_FAILED || fd < 0)
		skip_case("no maps or no kprobe");
	MUST(ioctl(fd, PERF_EVENT_IOC_SET_BPF,
		   bpf_load(BPF_PROG_TYPE_KPROBE, code, ARRAY_SIZE(code))));
	return count;
}

/*
 * One hit of an event that counts nanoseconds may be several samples. A program that runs between
 * two of them collects another chain: each sample has its own nevertheless.
 */
static bool samples_of_a_hit_have_their_chain(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT,
						tracepoint_id("sched/sched_stat_runtime"));
	unsigned int samples = 0, wrong = 0;
	struct perf_event_header *h;
	const volatile uint64_t *runs;
	struct ring ring;
	int fd;

	pin_to_cpu(0);
	runs = chain_collector("perf_output_begin_forward");
	/* Before, the probe may be a trap, and chains of traps have a buffer of their own. */
	sleep_ms(1000);
	attr.disabled = 1;
	attr.sample_period = 50000;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_user = 1;
	fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	MUST(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	spin_ms(200);
	MUST(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	while ((h = ring_next(&ring))) {
		const uint64_t *chain = (void *)(h + 1);

		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		samples++;
		wrong += h->size != sizeof(*h) + 8 + 8 * chain[0] ||
			 chain[1] != (uint64_t)PERF_CONTEXT_KERNEL;
	}
	return expect_between("samples", samples, 200, 100000) & expect_eq("wrong", wrong, 0) &
	       expect_between("runs of the program", *runs, 200, 1000000);
}

static const struct test tests[] = {
	{ "a program reads software events", program_reads_software },
	{ "a program reads counters", program_reads_counters },
	{ "a program reads its CPU's events", program_reads_cpus },
	{ "a program reads an event that is bound to another CPU", program_reads_bound },
	{ "what a program cannot read", program_is_refused },
	{ "the cookie of a link, also in children", cookie_of_children },
	{ "output to an event without a buffer: ENOSPC", output_without_buffer },
	{ "a link of an event that samples", link_of_an_event },
	{ "links of tracepoints", link_of_a_tracepoint },
	{ "links of kprobes", link_of_a_kprobe },
	{ "links of uprobes", link_of_a_uprobe },
	{ "each of several samples of a hit has its chain", samples_of_a_hit_have_their_chain },
};

TESTS_MAIN(tests)
