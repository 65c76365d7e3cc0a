// SPDX-License-Identifier: GPL-2.0
/*
 * The x86 CPU PMU: its files in sysfs, what it refuses, counters that user space reads itself and
 * those it must not see. Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_rdpmc.h"
#include <dirent.h>
#include <setjmp.h>

#define PMU_DIR		"/sys/bus/event_source/devices/cpu"
#define NOBODY_ID	65534
#define LOOPS		1000000

static void need_pmu(void)
{
	if (access(PMU_DIR "/type", F_OK))
		skip_case("no CPU PMU");
}

struct field {
	const char	*name;
	unsigned int	shift;
};

/* Where a term of an event's description belongs; codes of 12 bits are split. */
static bool add_term(const char *term, uint64_t *config)
{
	static const struct field fields[] = {
		{ "event=", 0 }, { "umask=", 8 }, { "cmask=", 24 }, { "inv", 23 }, { "edge", 18 },
		{ "any", 21 }, { "pc", 19 },
		/* A Pentium 4 has no codes, but values for two registers. */
		{ "cccr=", 64 }, { "escr=", 32 },
	};
	uint64_t value;

	for (unsigned int i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t len = strlen(fields[i].name);

		if (strncmp(term, fields[i].name, len))
			continue;
		term += len + (term[len] == '=');
		value = *term ? strtoull(term, NULL, 0) : 1;
		if (!fields[i].shift)
			*config |= (value & 0xff) | (value & 0xf00) << 24;
		else
			*config |= value << fields[i].shift % 64;
		return true;
	}
	ktap_note("unknown term %s", term);
	return false;
}

static bool parse_event(const char *name, uint64_t *config)
{
	char path[400], line[200], *term, *save = NULL;

	snprintf(path, sizeof(path), PMU_DIR "/events/%s", name);
	if (read_line(path, line, sizeof(line)) < 0)
		return false;
	*config = 0;
	for (term = strtok_r(line, ",", &save); term; term = strtok_r(NULL, ",", &save))
		if (!add_term(term, config))
			return false;
	return true;
}

static bool event_opens(const char *name)
{
	struct perf_event_attr attr;
	uint64_t config;
	int fd;

	if (!parse_event(name, &config))
		return false;
	attr = perf_attr_modes(PERF_TYPE_RAW, config, "u");
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0) {
		ktap_note("%s (%#llx): %s", name, (long long)config, strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

static bool events_open(void)
{
	unsigned int n = 0, good = 0;
	struct dirent *e;
	DIR *dir;

	need_pmu();
	dir = opendir(PMU_DIR "/events");
	if (!dir)
		fail_case("events directory");
	while ((e = readdir(dir))) {
		/* Not an event: a factor for its count. */
		if (*e->d_name == '.' || strstr(e->d_name, ".scale"))
			continue;
		n++;
		good += event_opens(e->d_name);
	}
	closedir(dir);
	return n >= 6 && good == n;
}

static bool file_says(const char *file, const char *want)
{
	char path[200], line[200];

	snprintf(path, sizeof(path), PMU_DIR "/%s", file);
	if (read_line(path, line, sizeof(line)) >= 0 && !strcmp(line, want))
		return true;
	ktap_note("%s: not \"%s\"", file, want);
	return false;
}

static bool is_intel(void)
{
	char line[256];
	bool found = false;
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "GenuineIntel");
	if (f)
		fclose(f);
	return found;
}

/* The version of Intel's architectural PMU; 0: another PMU. */
static unsigned int intel_version(void)
{
	unsigned int a, b, c, d;

	return is_intel() && __get_cpuid_count(0xa, 0, &a, &b, &c, &d) ? a & 0xff : 0;
}

/* Firmware that runs at CPL 3 would be counted as user mode. */
static bool firmware_is_not_counted(void)
{
	need_pmu();
	if (intel_version() < 2)
		return expect_eq("freeze_on_smi is absent",
				 access(PMU_DIR "/freeze_on_smi", F_OK), -1);
	return file_says("freeze_on_smi", "1");
}

static bool format_is_what_tools_parse(void)
{
	char line[64];

	need_pmu();
	if (!access(PMU_DIR "/format/cccr", F_OK))
		return file_says("type", "4") && file_says("format/cccr", "config:0-31") &&
		       file_says("format/escr", "config:32-62") &&
		       file_says("format/ht", "config:63") &&
		       access(PMU_DIR "/format/event", F_OK) && file_says("rdpmc", "1");
	if (read_line(PMU_DIR "/format/event", line, sizeof(line)) < 0)
		return false;
	if (strcmp(line, "config:0-7") && strcmp(line, "config:0-7,32-35"))
		return false;
	if (is_intel() && !file_says("format/pc", "config:19"))
		return false;
	/* Without transactions, as in the emulator. */
	if (!access(PMU_DIR "/format/in_tx", F_OK))
		return false;
	return file_says("type", "4") && file_says("format/umask", "config:8-15") &&
	       file_says("format/edge", "config:18") && file_says("format/inv", "config:23") &&
	       file_says("format/cmask", "config:24-31") && file_says("rdpmc", "1");
}

static bool precise_and_branches_are_refused(void)
{
	struct perf_event_attr attr;
	char max[8];

	need_pmu();
	if (read_line(PMU_DIR "/caps/max_precise", max, sizeof(max)) > 0 && *max != '0')
		skip_case("this part has precise samples");

	attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	attr.precise_ip = 1;
	attr.sample_period = 100000;
	if (!expect_refused("precise_ip", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, "precise_ip"))
		return false;
	attr.precise_ip = 0;
	attr.sample_type = PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 1ull << 32;
	if (!expect_refused("XMM0", perf_open(&attr, 0, -1, -1, 0), EINVAL, "sample_regs"))
		return false;
	attr.sample_regs_intr = 0;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	/* x86_branch.c has what is refused then. */
	if (!access(PMU_DIR "/caps/branches", F_OK))
		return true;
	return expect_refused("branches", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, "branch");
}

static bool unknown_events_are_refused(void)
{
	struct perf_event_attr attr = hw_attr(99, "u");

	need_pmu();
	if (!expect_refused("hardware event 99", perf_open(&attr, 0, -1, -1, 0), EINVAL, NULL))
		return false;
	/* The branch unit has no writes; on CPUs without cache events the reason differs. */
	attr = perf_attr_modes(PERF_TYPE_HW_CACHE,
			       PERF_COUNT_HW_CACHE_BPU | PERF_COUNT_HW_CACHE_OP_WRITE << 8, "u");
	if (!expect_refused("writes to the branch unit", perf_open(&attr, 0, -1, -1, 0),
			    event_available(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_BPU) ? EINVAL :
											   ENOENT,
			    NULL))
		return false;
	attr.config = PERF_COUNT_HW_CACHE_MAX;
	if (intel_version() == 1 || intel_version() == 2) {
		struct perf_event_attr any = perf_attr_modes(PERF_TYPE_RAW, 1 << 21 | 0x3c, "u");

		if (!expect_refused("any", perf_open(&any, 0, -1, -1, 0), EINVAL, "config"))
			return false;
	}
	return expect_refused("cache out of range", perf_open(&attr, 0, -1, -1, 0), EINVAL, NULL);
}

static bool groups_that_cannot_fit_are_refused(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	uint32_t a, b, c, d, general = 0;
	int leader, fd, n;

	need_pmu();
	if (intel_version()) {
		__cpuid_count(0xa, 0, a, b, c, d);
		general = a >> 8 & 0xff;
	}
	leader = open_self(&attr, -1);
	attr.disabled = 0;
	for (n = 1; n < 64; n++) {
		fd = perf_open(&attr, 0, -1, leader, 0);
		if (fd < 0)
			break;
	}
	/* CPUID has the number of general counters, or there are at least two and at most eight. */
	return expect_refused("one more", fd, EINVAL, "group") &&
	       expect_between("members", n, general ?: 2, general ?: 8);
}

/* An event class, its mask, and which replays are counted, if it is that class. */
#define P4(class, mask, metric)	((uint64_t)(class) << 57 | (uint64_t)(mask) << 41 | (metric))
#define P4_INSTRUCTIONS		P4(38, 0x5, 0)
#define P4_UOPS			P4(39, 0x1, 0)
#define P4_BRANCHES		P4(41, 0xf, 0)
#define P4_MISSES		P4(42, 0x1, 0)
#define P4_REPLAYS(metric)	P4(37, 0x1, metric)

static void need_p4(void)
{
	if (access(PMU_DIR "/format/cccr", F_OK))
		skip_case("not a Pentium 4");
}

static int open_raw(uint64_t config, int leader)
{
	struct perf_event_attr attr = perf_attr_modes(PERF_TYPE_RAW, config, "u");

	attr.disabled = leader < 0;
	return perf_open(&attr, 0, -1, leader, 0);
}

static bool p4_configs_are_checked(void)
{
	need_p4();
	return expect_refused("class 46", open_raw(P4(46, 0, 0), -1), EINVAL, "class") &
	       expect_refused("mask bit 4", open_raw(P4(38, 0x10, 0), -1), EINVAL, "mask") &
	       expect_refused("metric 10", open_raw(P4_REPLAYS(10), -1), EINVAL, "metric") &
	       expect_refused("a metric without replays", open_raw(P4_UOPS | 1, -1), EINVAL,
			      "replay") &
	       expect_refused("precise", open_raw(P4_REPLAYS(1) | 1 << 7, -1), EINVAL, "precise");
}

/* Each pair of ESCRs holds two events, and a core counts replays of one kind at a time. */
static bool p4_groups_fit_the_registers(void)
{
	int fd, leader;

	need_p4();
	leader = MUST(open_raw(P4_INSTRUCTIONS, -1));
	MUST(open_raw(P4_MISSES, leader));
	if (!expect_refused("a third", open_raw(P4_UOPS, leader), EINVAL, "group"))
		return false;
	fd = MUST(open_raw(P4_REPLAYS(1), leader));
	if (!expect_refused("other replays", open_raw(P4_REPLAYS(2), leader), EINVAL, "group"))
		return false;
	MUST(open_raw(P4_REPLAYS(1), leader));
	if (!expect_refused("a third of these", open_raw(P4_BRANCHES, leader), EINVAL, "group"))
		return false;
	close(fd);
	return open_raw(P4_BRANCHES, leader) >= 0;
}

static bool p4_events_count_together(void)
{
	static const uint64_t config[] = { P4_INSTRUCTIONS, P4_UOPS, P4_BRANCHES };
	static const unsigned int part[] = { 1, 1, 4 };
	int fd[ARRAY_SIZE(config)];
	bool good = true;

	need_p4();
	require_exact_instructions();
	for (unsigned int i = 0; i < ARRAY_SIZE(config); i++)
		fd[i] = MUST(open_raw(config[i], i ? fd[0] : -1));
	raw_syscall(__NR_ioctl, fd[0], PERF_EVENT_IOC_ENABLE, 0);
	run_loop(LOOPS);
	raw_syscall(__NR_ioctl, fd[0], PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(config); i++)
		good &= expect_near("count", perf_count(fd[i]), LOOP_INSNS(LOOPS) / part[i], 60);
	return good;
}

static bool rdpmc_counts_exactly(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before, after, told;
	struct perf_event_mmap_page *page;
	int fd;

	require_exact_instructions();
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	page = map_event(fd);
	if (!read_self(page, &before))
		return ktap_note("no counter to read"), false;
	run_loop(LOOPS);
	read_self(page, &after);
	told = perf_count(fd);
	return expect_near("loop", after - before, LOOP_INSNS(LOOPS), 60) &&
	       expect_near("read()", told, after, 2000);
}

/* As many samples as there are periods: no throttling. */
static void allow_many_samples(void)
{
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
}

/* On the CPU of the mapper the counter with that number is not that of the event. */
static bool rdpmc_is_for_the_task(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint64_t count, told;
	uint32_t indices = 0;
	pid_t child;
	int fd;

	require_exact_instructions();
	require_cpus(2);
	pin_to_cpu(0);
	child = fork_child();
	if (!child) {
		MUST(pin_to_cpu(1));
		for (;;)
			run_loop(LOOPS);
	}
	attr.disabled = 0;
	fd = MUST(perf_open(&attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC));
	page = map_event(fd);
	for (int i = 0; i < 100; i++) {
		usleep(1000);
		indices |= *(volatile uint32_t *)&page->index;
	}
	kill_child(child);
	told = perf_count(fd);
	read_self(page, &count);
	close(fd);
	return expect_eq("index", indices, 0) & expect_eq("count of the page", count, told) &
	       expect_between("count", told, LOOPS, UINT64_MAX / 2);
}

/* A copy of the page, which a child inherits. */
static bool inherited_page_has_no_index(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint32_t own;
	pid_t child;
	int fd;

	require_exact_instructions();
	require_cpus(2);
	pin_to_cpu(0);
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	page = map_event(fd);
	own = page->index;
	MUST(madvise(page, sysconf(_SC_PAGESIZE), MADV_DOFORK));
	child = fork_child();
	if (!child) {
		uint32_t indices = 0;

		MUST(pin_to_cpu(1));
		for (int i = 0; i < 100; i++) {
			usleep(1000);
			indices |= *(volatile uint32_t *)&page->index;
		}
		_exit(!expect_eq("index", indices, 0));
	}
	for (int i = 0; i < 1000; i++)
		run_loop(LOOPS / 100);
	return expect_between("its own index before that", own, 1, UINT32_MAX) &
	       child_succeeded(child);
}

/* Each overflow restarts the counter from another value, which the program does not notice. */
static bool rdpmc_follows_overflows(void)
{
	static const uint64_t periods[] = { 997, 2003, 10007, 1ull << 40 };
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint64_t before, after;
	bool good = true;
	int fd;

	require_exact_instructions();
	allow_many_samples();
	attr.disabled = 0;
	for (unsigned int p = 0; p < ARRAY_SIZE(periods); p++) {
		attr.sample_period = periods[p];
		fd = open_self(&attr, -1);
		page = map_event(fd);
		for (unsigned int i = 0; good && i < 2000; i++) {
			unsigned long rounds = 50 + i * 7 % 1500;

			read_self(page, &before);
			run_loop(rounds);
			read_self(page, &after);
			good &= expect_near("loop", after - before, LOOP_INSNS(rounds), READ_SLACK);
			good &= reads_agree(page, fd, "a sampling event");
		}
		munmap(page, 4096);
		close(fd);
	}
	return good;
}

/*
 * Where writes set fewer bits than a counter has, a counting event overflows within seconds: an
 * event of a CPU, because that of a task is restarted at each switch, so that it shows nothing of
 * other tasks.
 */
static bool rdpmc_follows_a_wrap(void)
{
	const unsigned long rounds = 500000;
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	unsigned int visits = 0;
	uint64_t before, after;
	bool good = true;
	int64_t left;
	int fd;

	require_exact_instructions();
	MUST(pin_to_cpu(0));
	attr.disabled = 0;
	fd = MUST(perf_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	page = map_event(fd);
	left = -(int64_t)(read_rdpmc(page->index - 1) << (64 - page->pmc_width)) >>
	       (64 - page->pmc_width);
	if (left > 1ll << 32)
		skip_case("its counters overflow after days");
	read_self(page, &before);
	for (left += 4 * LOOP_INSNS(rounds); good && left > 0; left -= LOOP_INSNS(rounds)) {
		run_loop(rounds);
		read_self(page, &after);
		/* Another program may have run for a moment, and is counted as well. */
		visits += after - before > LOOP_INSNS(rounds) + READ_SLACK;
		good = expect_between("loop", after - before, LOOP_INSNS(rounds) - READ_SLACK,
				      LOOP_INSNS(rounds) + (visits < 5 ? 100000 : READ_SLACK));
		good &= reads_agree(page, fd, "a counting event");
		read_self(page, &before);
	}
	return good;
}

/* The page shows the counter, or that there is none, as soon as that changes. */
static bool rdpmc_follows_schedules(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned int turns = 0, waits = 0;
	struct perf_event_mmap_page *page;
	uint64_t seen;
	bool good;
	int fd;

	require_exact_instructions();
	fd = open_self(&attr, -1);
	page = map_event(fd);
	good = expect_eq("index while it is off", page->index, 0);
	event_enable(fd);
	good &= expect_eq("index while it is on", !page->index, 0);
	run_loop(LOOPS);
	good &= reads_agree(page, fd, "enabled");
	event_disable(fd);
	good &= expect_eq("index when it is off again", page->index, 0);
	read_self(page, &seen);
	good &= expect_eq("disabled", seen, perf_count(fd));
	event_enable(fd);
	/* With these events it is multiplexed, on changing counters. */
	attr.disabled = 0;
	for (unsigned int i = 0; i < 20; i++)
		open_self(&attr, -1);
	for (unsigned int i = 0; good && i < 400; i++) {
		run_loop(LOOPS / 20);
		waits += !page->index;
		turns += !!page->index;
		good &= reads_agree(page, fd, "taking turns");
	}
	return good & expect_between("turns", turns, 20, 400) &
	       expect_between("waits", waits, 20, 400);
}

static sigjmp_buf at_fault;

static void on_fault(int sig)
{
	siglongjmp(at_fault, sig);
}

static bool rdpmc_faults(void)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	bool faulted;

	sigaction(SIGSEGV, &act, NULL);
	faulted = sigsetjmp(at_fault, 1);
	if (!faulted)
		read_rdpmc(0);
	signal(SIGSEGV, SIG_DFL);
	return faulted;
}

static bool set_mode(const char *mode)
{
	if (!write_line(PMU_DIR "/rdpmc", mode))
		return true;
	ktap_note("rdpmc: %s: %s", mode, strerror(errno));
	return false;
}

static bool rdpmc_modes(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	bool good;
	int fd;

	require_exact_instructions();
	fd = open_self(&attr, -1);
	good = expect_eq("without a mapping", rdpmc_faults(), true);
	page = map_event(fd);
	good &= expect_eq("with a mapping", rdpmc_faults(), false);
	good &= set_mode("0") && expect_eq("mode 0", rdpmc_faults(), true);
	good &= set_mode("1") && expect_eq("mode 1", rdpmc_faults(), false);
	munmap(page, 4096);
	good &= expect_eq("after the mapping", rdpmc_faults(), true);
	good &= set_mode("2") && expect_eq("mode 2", rdpmc_faults(), false);
	good &= set_mode("1") && expect_eq("back in mode 1", rdpmc_faults(), true);
	good &= expect_refused("mode 3", write_line(PMU_DIR "/rdpmc", "3"), EINVAL, NULL);
	return good;
}

#define GENERAL		18
#define ALL		(GENERAL + 3)

/* Reads every counter; one that does not exist faults and reads as 0. */
static void read_all(uint64_t *value)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &act, NULL);
	for (volatile int i = 0; i < ALL; i++) {
		value[i] = 0;
		if (!sigsetjmp(at_fault, 1))
			value[i] = read_rdpmc(i < GENERAL ? i : (1 << 30) + i - GENERAL);
	}
	signal(SIGSEGV, SIG_DFL);
}

/* A task that counts itself in each way, and works while it runs. */
static pid_t busy_worker(void)
{
	static const char *const levels[] = { "u", "k", "uk" };
	pid_t pid = fork_child();

	if (pid)
		return pid;
	for (unsigned int i = 0; i < 6; i++) {
		struct perf_event_attr attr = hw_attr(i & 1, levels[i / 2]);

		attr.disabled = 0;
		open_self(&attr, -1);
	}
	for (;;) {
		await_turn(turn.to_worker);
		run_loop(5 * LOOPS);
		pass_turn(turn.to_spy);
	}
}

/* A task that may read counters, and is counted by what the first one left running. */
static pid_t busy_reader(struct gate *go, struct gate *done)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	pid_t pid = fork_child();

	if (pid)
		return pid;
	map_event(open_self(&attr, -1));
	for (;;) {
		gate_wait(go);
		run_loop(5 * LOOPS);
		gate_open(done);
	}
}

/*
 * Each task executes ten million in its turn. A counter that is hidden is zero: from the number
 * below zero that an event of an earlier test has left that is no count.
 */
static bool went_on_little(const char *who, const uint64_t *before, const uint64_t *after,
			   int width)
{
	bool good = true;

	for (int i = 0; i < ALL; i++) {
		int64_t seen = (int64_t)(after[i] - before[i]) << (64 - width) >> (64 - width);

		if (after[i] && seen > 5 * LOOPS) {
			ktap_note("%s: counter %d went on by %lld", who, i, (long long)seen);
			good = false;
		}
	}
	return good;
}

static bool others_counts_stay_hidden(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	struct gate go = gate_new(), done = gate_new();
	uint64_t before[ALL], after[ALL];
	struct perf_event_mmap_page *page;
	bool good = true;
	pid_t worker, reader;

	require_exact_instructions();
	MUST(pin_to_cpu(0));
	MUST(pipe(turn.to_worker));
	MUST(pipe(turn.to_spy));
	/* Events of a CPU count all tasks, and all tasks may read them. */
	sysctl_set("nmi_watchdog", 0);
	worker = busy_worker();
	reader = busy_reader(&go, &done);
	attr.disabled = 0;
	page = map_event(open_self(&attr, -1));

	for (int round = 0; round < 3; round++) {
		read_all(before);
		pass_turn(turn.to_worker);
		await_turn(turn.to_spy);
		read_all(after);
		good &= went_on_little("worker", before, after, page->pmc_width);
		gate_open(&go);
		gate_wait(&done);
		read_all(before);
		good &= went_on_little("reader", after, before, page->pmc_width);
	}
	kill_child(worker);
	kill_child(reader);
	return good;
}

/* Nor what its counter has counted for other tasks before it may read the counter. */
static bool others_counts_stay_hidden_from_the_first_mapping_on(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint64_t seen[2];
	pid_t worker;
	int fd;

	require_exact_instructions();
	MUST(pin_to_cpu(0));
	MUST(pipe(turn.to_worker));
	MUST(pipe(turn.to_spy));
	worker = fork_child();
	if (!worker) {
		for (;;) {
			await_turn(turn.to_worker);
			run_loop(5 * LOOPS);
			pass_turn(turn.to_spy);
		}
	}
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	for (int i = 0; i < 2; i++) {
		pass_turn(turn.to_worker);
		await_turn(turn.to_spy);
		page = map_event(fd);
		if (!page->index)
			fail_case("no index");
		seen[i] = read_rdpmc(page->index - 1) << (64 - page->pmc_width);
		seen[i] >>= 64 - page->pmc_width;
		munmap(page, 4096);
	}
	kill_child(worker);
	return expect_between("went on by", seen[1] > seen[0] ? seen[1] - seen[0] : 0, 0, LOOPS);
}

/* In the emulator every fourth instruction is a branch: tools/testing/qemu/README.md. */
static bool branches_of_a_loop(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	int fd;

	require_exact_instructions();
	fd = open_self(&attr, -1);
	event_enable(fd);
	run_loop(1000000);
	event_disable(fd);
	return expect_between("branches", perf_count(fd), LOOP_INSNS(1000000) / 4,
			      LOOP_INSNS(1000000) / 4 + 100);
}

/* Cycles of both threads of a core need rights that the opener's children may not have. */
#define CYCLES_OF_ANY_THREAD	(0x3c | 1 << 21)

static bool children_are_not_asked_again(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_RAW, CYCLES_OF_ANY_THREAD);
	pid_t child, grandchild;
	bool good;
	int fd;

	if (access(PMU_DIR "/format/any", F_OK))
		skip_case("events of any thread are not there");
	attr.exclude_kernel = 1;
	attr.inherit = 1;
	attr.sample_period = 1000000000;
	fd = open_self(&attr, -1);
	child = fork_child();
	if (!child) {
		if (setgid(NOBODY_ID) || setuid(NOBODY_ID))
			fail_case("setuid");
		if (!expect_refused("an event of its own", perf_open(&attr, 0, -1, -1, 0), EACCES,
				    "config"))
			_exit(1);
		grandchild = fork();
		if (!grandchild)
			_exit(0);
		if (grandchild < 0)
			fail_case("fork");
		_exit(!child_succeeded(grandchild));
	}
	good = child_succeeded(child);
	close(fd);
	return good;
}

static const struct test tests[] = {
	{ "the format in sysfs is what tools parse", format_is_what_tools_parse },
	{ "firmware is not counted by default", firmware_is_not_counted },
	{ "each event in sysfs opens as it is described", events_open },
	{ "precise_ip and branch stacks answer EOPNOTSUPP", precise_and_branches_are_refused },
	{ "unknown events are refused", unknown_events_are_refused },
	{ "groups that cannot fit are refused at open", groups_that_cannot_fit_are_refused },
	{ "Pentium 4: events are checked", p4_configs_are_checked },
	{ "Pentium 4: groups fit the registers", p4_groups_fit_the_registers },
	{ "Pentium 4: events count together", p4_events_count_together },
	{ "inherited events need no rights again", children_are_not_asked_again },
	{ "rdpmc in user space counts exactly", rdpmc_counts_exactly },
	{ "rdpmc: no index for another task", rdpmc_is_for_the_task },
	{ "rdpmc: no index in an inherited page", inherited_page_has_no_index },
	{ "rdpmc follows overflows", rdpmc_follows_overflows },
	{ "rdpmc follows a wrap", rdpmc_follows_a_wrap },
	{ "rdpmc follows schedules", rdpmc_follows_schedules },
	{ "rdpmc is allowed as its mode says", rdpmc_modes },
	{ "rdpmc does not show counts of other tasks", others_counts_stay_hidden },
	{ "rdpmc shows nothing of others at the first mapping",
	  others_counts_stay_hidden_from_the_first_mapping_on },
	{ "branches of a loop", branches_of_a_loop },
};

/* "exact": exits with 0 if counts are exact; for scripts. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "exact"))
		return counts_are_inexact();
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
#else
TESTS_MAIN_SKIPPED("x86_pmu", "not an x86")
#endif
