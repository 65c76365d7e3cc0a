// SPDX-License-Identifier: GPL-2.0
/*
 * The hard lockup detector: the kernel's own user of a counter on each CPU. While enabled it uses
 * one counter, and its interrupts arrive at its period; disabled, it uses nothing.
 */
#include "bpf_prog.h"
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "require.h"
#include "workloads.h"

#define THRESHOLD_S	1
#define WATCHED_MS	2500
#define MOST_PINNED	64

static void set_watchdog(int on)
{
	if (sysctl_get("nmi_watchdog", -1) < 0)
		skip_case("no hard lockup detector");
	MUST(sysctl_set("watchdog_thresh", THRESHOLD_S));
	/* Refused where overflows cannot interrupt code with interrupts disabled. */
	if (sysctl_set("nmi_watchdog", on))
		skip_case("no NMI for it");
	if (sysctl_get("nmi_watchdog", -1) != on)
		fail_case("nmi_watchdog does not say what was written");
}

/* The number of pinned events on CPU 0 that count at once. */
static unsigned int pinned_on_cpu(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "uk");
	int fd[MOST_PINNED];
	unsigned int n = 0;
	uint64_t count;

	attr.disabled = 0;
	attr.pinned = 1;
	for (unsigned int i = 0; i < MOST_PINNED; i++)
		fd[i] = MUST(perf_open(&attr, -1, 0, -1, 0));
	for (unsigned int i = 0; i < MOST_PINNED; i++) {
		n += MUST(read(fd[i], &count, sizeof(count))) == sizeof(count);
		close(fd[i]);
	}
	return n;
}

static bool takes_a_counter(void)
{
	unsigned int off, on, off_again;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	set_watchdog(0);
	off = pinned_on_cpu();
	set_watchdog(1);
	on = pinned_on_cpu();
	set_watchdog(0);
	off_again = pinned_on_cpu();
	ktap_note("%u counters for cycles", off);
	return expect_between("counters", off, 2, MOST_PINNED - 1) &
	       expect_eq("with the detector", on, off - 1) & expect_eq("after it", off_again, off);
}

#if defined(__x86_64__)
/* Overflow interrupts of a CPU so far. */
static uint64_t interrupts_on(int cpu)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long long n[2] = { 0, 0 };
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " PMI: %llu %llu", &n[0], &n[1]) > 0)
			break;
	if (f)
		fclose(f);
	return n[cpu];
}

/*
 * The period is one second at the rate of the time stamp counter; the emulator's cycles have the
 * same rate.
 */
static bool interrupts_as_asked(void)
{
	uint64_t on, off, elsewhere;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	require_cpus(2);
	pin_to_cpu(0);
	set_watchdog(1);
	on = interrupts_on(0);
	elsewhere = interrupts_on(1);
	spin_ms(WATCHED_MS);
	on = interrupts_on(0) - on;
	elsewhere = interrupts_on(1) - elsewhere;
	set_watchdog(0);
	off = interrupts_on(0);
	spin_ms(WATCHED_MS);
	off = interrupts_on(0) - off;
	return expect_between("interrupts", on, WATCHED_MS / 1000 / THRESHOLD_S,
			      WATCHED_MS / 1000 / THRESHOLD_S + 1) &
	       expect_eq("on a CPU that sleeps", elsewhere, 0) &
	       expect_eq("when it is off", off, 0);
}

/* The input of the program, which copies it onto itself to use up time. */
struct holder {
	uint64_t	ns;		/* time to hold the CPU, once */
	char		copied[(1 << 20) - 8];
};

/* A program that runs in the interrupt of the next timer and holds the CPU. */
static volatile struct holder *make_holder(void)
{
	int map = bpf_create_map(BPF_MAP_TYPE_ARRAY, sizeof(struct holder), 1, BPF_F_MMAPABLE);
	union bpf_attr attr = { .raw_tracepoint.name = (uintptr_t)"hrtimer_expire_entry" };
	struct holder *holder;

	if (map < 0)
		skip_case("no BPF maps");
	holder = mmap(NULL, sizeof(*holder), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (holder == MAP_FAILED)
		fail_case("mmap");

	const struct bpf_insn code[] = {
		/* r6 = holder, r7 = holder->ns, which becomes 0 */
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		BPF_LD_MAP_FD(BPF_REG_1, map),
		BPF_MOV64_REG(BPF_REG_2, BPF_REG_10),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_2, -4),
		BPF_EMIT_CALL(BPF_FUNC_map_lookup_elem),
		BPF_JMP_IMM(BPF_JEQ, BPF_REG_0, 0, 16),
		BPF_MOV64_REG(BPF_REG_6, BPF_REG_0),
		BPF_LDX_MEM(BPF_DW, BPF_REG_7, BPF_REG_6, 0),
		BPF_JMP_IMM(BPF_JEQ, BPF_REG_7, 0, 13),
		BPF_MOV64_IMM(BPF_REG_1, 0),
		BPF_STX_MEM(BPF_DW, BPF_REG_6, BPF_REG_1, 0),
		/* r7 = end of the time, r8 = maximum number of rounds */
		BPF_EMIT_CALL(BPF_FUNC_ktime_get_ns),
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = BPF_REG_7, .src_reg = BPF_REG_0 },
		BPF_MOV64_IMM(BPF_REG_8, 8000),
		BPF_MOV64_REG(BPF_REG_1, BPF_REG_6),
		BPF_MOV64_IMM(BPF_REG_2, sizeof(struct holder)),
		BPF_MOV64_REG(BPF_REG_3, BPF_REG_6),
		BPF_EMIT_CALL(BPF_FUNC_probe_read_kernel),
		BPF_EMIT_CALL(BPF_FUNC_ktime_get_ns),
		BPF_JMP_REG(BPF_JGE, BPF_REG_0, BPF_REG_7, 2),
		BPF_ALU64_IMM(BPF_ADD, BPF_REG_8, -1),
		BPF_JMP_IMM(BPF_JNE, BPF_REG_8, 0, -8),
		BPF_MOV64_IMM(BPF_REG_0, 0),
		BPF_EXIT_INSN(),
	};

	attr.raw_tracepoint.prog_fd =
		bpf_load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, ARRAY_SIZE(code));
	MUST(sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr));
	return holder;
}

/* True if the kernel logs a hard lockup while a CPU is held for @ms. */
static bool lockup_is_told(volatile struct holder *holder, unsigned int ms)
{
	int log = MUST(open("/dev/kmsg", O_RDWR | O_NONBLOCK));
	char line[1024];
	bool told = false;
	ssize_t n;

	MUST(lseek(log, 0, SEEK_END));
	holder->ns = ms * 1000000ull;
	usleep(ms * 1000 + 500000);
	while ((n = read(log, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		told |= !!strstr(line, "hard LOCKUP on cpu");
	}
	close(log);
	if (holder->ns)
		fail_case("the program has not run");
	return told;
}

/* An interrupt of a timer that does not end: an NMI finds that there was no other one since. */
static bool lockup_is_found(void)
{
	volatile struct holder *holder;
	bool on, off;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	holder = make_holder();
	MUST(sysctl_set("soft_watchdog", 0));	/* it would report one as well, later */
	MUST(write_line("/dev/kmsg", "test expects: hard LOCKUP"));
	set_watchdog(1);
	on = lockup_is_told(holder, 3200);
	set_watchdog(0);
	MUST(write_line("/dev/kmsg", "test expects: nothing"));
	off = lockup_is_told(holder, 3200);
	MUST(sysctl_set("soft_watchdog", 1));
	return expect_eq("a lockup with the detector", on, true) &
	       expect_eq("without it", off, false);
}
#else
static bool interrupts_as_asked(void)
{
	skip_case("takes too long at the rate that is asked for here");
	return true;
}

static bool lockup_is_found(void)
{
	return interrupts_as_asked();
}
#endif

static const struct test tests[] = {
	{ "the detector has a counter of its own", takes_a_counter },
	{ "the detector is interrupted at its period", interrupts_as_asked },
	{ "the detector finds a lockup", lockup_is_found },
};

TESTS_MAIN(tests)
