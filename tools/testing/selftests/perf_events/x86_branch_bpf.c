// SPDX-License-Identifier: GPL-2.0
/* The branch snapshot of a BPF program: the branches that led to it. */
#include "bpf_prog.h"
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_branch.h"

#define MOST		32
#define NEAR		4096	/* bytes of code without a taken branch */

/* Shared by the test and its program. */
struct shared {
	int64_t				size;	/* bytes of entries, or an error */
	struct perf_branch_entry	entry[MOST];
};

static volatile struct shared *shared;

/* The program runs where the event is, of any task. */
static void attach_snapshot(struct perf_event_attr *where, enum bpf_prog_type type)
{
	int map = bpf_create_map(BPF_MAP_TYPE_ARRAY, sizeof(struct shared), 1, BPF_F_MMAPABLE);

	if (map < 0)
		skip_case("no BPF maps");
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

		BPF_MOV64_REG(BPF_REG_1, BPF_REG_6),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_1, offsetof(struct shared, entry)),
		BPF_MOV64_IMM(BPF_REG_2, sizeof(shared->entry)),
		BPF_MOV64_IMM(BPF_REG_3, 0),
		BPF_EMIT_CALL(BPF_FUNC_get_branch_snapshot),
		BPF_STX_MEM(BPF_DW, BPF_REG_6, BPF_REG_0, offsetof(struct shared, size)),

		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};

	MUST(ioctl(MUST(perf_open(where, 0, -1, -1, 0)), PERF_EVENT_IOC_SET_BPF,
		   bpf_load(type, code, ARRAY_SIZE(code))));
}

static void attach_to_entry(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid");
	struct perf_event_attr where = perf_attr(PERF_TYPE_TRACEPOINT, id);

	if (id < 0)
		skip_case("no tracepoint");
	attach_snapshot(&where, BPF_PROG_TYPE_TRACEPOINT);
}

#define PROBED		"__x64_sys_getppid"
#define RETPROBE	1	/* of config */

static void attach_to_return(void)
{
	struct perf_event_attr where = perf_attr(perf_pmu_type("kprobe"), RETPROBE);

	if ((int)where.type < 0)
		skip_case("no PMU for probes");
	where.config1 = (uintptr_t)PROBED;
	attach_snapshot(&where, BPF_PROG_TYPE_KPROBE);
}

/* The entries that the program found; -1 if there were none. */
static int take_snapshot(void)
{
	memset((void *)shared, 0xa5, sizeof(*shared));
	short_syscall();
	return shared->size < 0 ? -1 : shared->size / (int)sizeof(shared->entry[0]);
}

/* Is the newer branch reached from where the older one leads, without another one? */
static bool follows(const volatile struct perf_branch_entry *newer,
		    const volatile struct perf_branch_entry *older)
{
	return newer->from - older->to < NEAR;
}

static bool branches_lead_there(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY | PERF_SAMPLE_BRANCH_KERNEL);
	unsigned int broken = 0, kernel = 0;
	int fd, n;

	need_branches();
	attach_to_entry();
	if (take_snapshot() != -1)
		return expect(false, "entries without an event: %ld", (long)shared->size);
	attr.exclude_kernel = 0;
	attr.sample_period = 1ull << 40;
	fd = open_self(&attr, -1);
	event_enable(fd);
	branch_loop(100);
	n = take_snapshot();
	event_disable(fd);
	if (!expect(n >= (int)depth - 1 && n <= MOST, "%d entries", n))
		return false;
	for (int i = 0; i < n; i++) {
		const volatile struct perf_branch_entry *e = &shared->entry[i];

		kernel += e->from >> 63 && e->to >> 63;
		if (i + 1 < n && !follows(e, e + 1) && !broken++)
			ktap_note("entry %d: %#lx is not reached from %#lx", i, (long)e->from,
				  (long)e[1].to);
	}
	/* The newest ones are those of the kernel on its way to the program. */
	return expect_eq("branches out of order", broken, 0) &
	       expect(kernel >= depth / 2, "%u of %d entries in the kernel", kernel, n) &
	       expect_eq("entries after the event", (close(fd), take_snapshot()), -1);
}

#define SHORT		256	/* bytes of a short function */

/*
 * Is there the return of the probed function, which leads to the probe, and before it the return of
 * what the function calls? Then the index of the former, else -1.
 */
static int find_return(int n, uint64_t function, uint64_t probe)
{
	for (int i = 0; i + 1 < n; i++) {
		const volatile struct perf_branch_entry *e = &shared->entry[i];

		if (e->to != probe)
			continue;
		return e->from - function < SHORT && e[1].to - function < SHORT &&
		       e->from - e[1].to < SHORT && e[1].from - function >= SHORT ? i : -1;
	}
	return -1;
}

/* The entries of the newest call; @way branches lead from its return to the program. */
static bool return_is_shown(uint64_t type, const char *name, int way)
{
	struct perf_event_attr attr = branch_attr(type | PERF_SAMPLE_BRANCH_KERNEL);
	uint64_t function = kernel_function(PROBED);
	unsigned int broken = 0;
	int fd, n, at;

	if (!function)
		skip_case("addresses in /proc/kallsyms");
	attr.exclude_kernel = 0;
	attr.sample_period = 1ull << 40;
	fd = open_self(&attr, -1);
	event_enable(fd);
	for (int i = 0; i < 8; i++)
		n = take_snapshot();
	close(fd);
	at = find_return(n, function, kernel_function("arch_rethook_trampoline"));
	for (int i = 0; i < at && type & PERF_SAMPLE_BRANCH_ANY; i++)
		broken += !follows(&shared->entry[i], &shared->entry[i + 1]);
	return expect_eq(name, n, depth) &
	       expect(at >= 0 && at <= way, "%s: the return is entry %d", name, at) &
	       expect(!broken, "%s: %u branches out of order", name, broken);
}

static bool branches_lead_to_return(void)
{
	need_branches();
	if (kernel_function("kasan_report"))
		skip_case("the way to the program has more branches on a debug kernel");
	attach_to_return();
	/* The way through the probe has as many branches as small parts log. */
	return return_is_shown(PERF_SAMPLE_BRANCH_ANY_RETURN, "returns", 3) &&
	       (depth < 32 || return_is_shown(PERF_SAMPLE_BRANCH_ANY, "any", depth - 2));
}

static const struct test tests[] = {
	{ "a snapshot has the branches that led to the program", branches_lead_there },
	{ "a snapshot on a function's return has the function's branches",
	  branches_lead_to_return },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch snapshots", "not an x86")
#endif
