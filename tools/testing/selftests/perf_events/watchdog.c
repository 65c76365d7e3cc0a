// SPDX-License-Identifier: GPL-2.0
/*
 * The hard lockup detector: the kernel's own user of a counter on each CPU. While it is on, it has
 * one counter for itself, and its interrupts come as often as it asks; off, it leaves nothing behind.
 */
#include "program.h"

#define THRESHOLD_S	1
#define WATCHED_MS	2500
#define MOST_PINNED	64

static void watchdog(int on)
{
	if (sysctl_get("nmi_watchdog", -1) < 0)
		skip_case("no hard lockup detector");
	MUST(sysctl_set("watchdog_thresh", THRESHOLD_S));
	/* Refused where overflows cannot interrupt what has interrupts off. */
	if (sysctl_set("nmi_watchdog", on))
		skip_case("no NMI for it");
	if (sysctl_get("nmi_watchdog", -1) != on)
		fail_case("nmi_watchdog does not say what was written");
}

/* How many pinned events of all programs on CPU 0 count beside each other. */
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

	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	watchdog(0);
	off = pinned_on_cpu();
	watchdog(1);
	on = pinned_on_cpu();
	watchdog(0);
	off_again = pinned_on_cpu();
	ktap_note("%u counters for cycles", off);
	return between("counters", off, 2, MOST_PINNED - 1) & same("with the detector", on, off - 1) &
	       same("after it", off_again, off);
}

#if defined(__x86_64__)
/* Overflow interrupts so far on a CPU. */
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

/* A second of the time stamp counter's rate in cycles; the emulator's two rates are the same. */
static bool interrupts_as_asked(void)
{
	uint64_t on, off, elsewhere;

	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	need_cpus(2);
	pin_to_cpu(0);
	watchdog(1);
	on = interrupts_on(0);
	elsewhere = interrupts_on(1);
	spin_ms(WATCHED_MS);
	on = interrupts_on(0) - on;
	elsewhere = interrupts_on(1) - elsewhere;
	watchdog(0);
	off = interrupts_on(0);
	spin_ms(WATCHED_MS);
	off = interrupts_on(0) - off;
	return between("interrupts", on, WATCHED_MS / 1000 / THRESHOLD_S, WATCHED_MS / 1000 / THRESHOLD_S + 1) &
	       same("on a CPU that sleeps", elsewhere, 0) & same("when it is off", off, 0);
}

/* What the program finds; it copies all of it onto itself to pass the time. */
struct holder {
	uint64_t	ns;		/* how long to hold the CPU, once */
	char		copied[(1 << 20) - 8];
};

/* A program that runs when the next timer expires, in its interrupt, and does not let go of the CPU. */
static volatile struct holder *make_holder(void)
{
	int map = make_map(BPF_MAP_TYPE_ARRAY, sizeof(struct holder), 1, BPF_F_MMAPABLE);
	union bpf_attr attr = { .raw_tracepoint.name = (uintptr_t)"hrtimer_expire_entry" };
	struct holder *holder;

	if (map < 0)
		skip_case("no BPF maps");
	holder = mmap(NULL, sizeof(*holder), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (holder == MAP_FAILED)
		fail_case("mmap");

	const struct bpf_insn code[] = {
		/* r6 = holder, r7 = holder->ns, which is 0 from now on */
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		MAP(BPF_REG_1, map),
		MOVE(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JUMP_IF(BPF_JEQ, BPF_REG_0, 0, 16),
		MOVE(BPF_REG_6, BPF_REG_0),
		LOAD(BPF_REG_7, BPF_REG_6, 0),
		JUMP_IF(BPF_JEQ, BPF_REG_7, 0, 13),
		SET(BPF_REG_1, 0),
		STORE(BPF_REG_6, 0, BPF_REG_1),
		/* r7 = when that is over, r8 = most rounds */
		CALL(BPF_FUNC_ktime_get_ns),
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = BPF_REG_7, .src_reg = BPF_REG_0 },
		SET(BPF_REG_8, 8000),
		MOVE(BPF_REG_1, BPF_REG_6),
		SET(BPF_REG_2, sizeof(struct holder)),
		MOVE(BPF_REG_3, BPF_REG_6),
		CALL(BPF_FUNC_probe_read_kernel),
		CALL(BPF_FUNC_ktime_get_ns),
		JUMP(BPF_JGE, BPF_REG_0, BPF_REG_7, 2),
		ADD(BPF_REG_8, -1),
		JUMP_IF(BPF_JNE, BPF_REG_8, 0, -8),
		SET(BPF_REG_0, 0),
		EXIT(),
	};

	attr.raw_tracepoint.prog_fd = load_program(BPF_PROG_TYPE_RAW_TRACEPOINT, code, ARRAY_SIZE(code));
	MUST(bpf(BPF_RAW_TRACEPOINT_OPEN, &attr));
	return holder;
}

/* Does the kernel tell of a hard lockup from here on, while a CPU is held for some time? */
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
		told |= strstr(line, "hard LOCKUP on cpu") != NULL;
	}
	close(log);
	return same("the program has run", holder->ns, 0) & told;
}

/* A timer's interrupt that does not end: whoever looks from an NMI finds that no other one came since. */
static bool lockup_is_found(void)
{
	volatile struct holder *holder;
	bool on, off;

	if (!have_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	holder = make_holder();
	MUST(sysctl_set("soft_watchdog", 0));	/* it would find one, too, later */
	MUST(write_line("/dev/kmsg", "test expects: hard LOCKUP"));
	watchdog(1);
	on = lockup_is_told(holder, 3200);
	watchdog(0);
	MUST(write_line("/dev/kmsg", "test expects: nothing"));
	off = lockup_is_told(holder, 3200);
	MUST(sysctl_set("soft_watchdog", 1));
	return same("a lockup with the detector", on, true) & same("without it", off, false);
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
	{ "it has a counter of its own", takes_a_counter },
	{ "its interrupts come as asked", interrupts_as_asked },
	{ "it finds a lockup", lockup_is_found },
};

TESTS_MAIN(tests)
