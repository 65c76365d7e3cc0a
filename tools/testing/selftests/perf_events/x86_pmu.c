// SPDX-License-Identifier: GPL-2.0
/*
 * The x86 CPU PMU: what it says in sysfs, what it refuses, counters that user space reads itself and
 * those it must not see, and how many register writes a context switch costs.
 *
 * With instructions as the machine's clock. The number of register accesses comes from QEMU's PMU
 * model, which answers CPUID leaf 0x4f504d55 when it was told to count them (x-pmu-stats=on).
 */
#include "workload.h"

#ifdef __x86_64__
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

/* -------------------------------------------------------------------- sysfs */

struct field {
	const char	*name;
	unsigned int	shift;
};

/* Where a term of an event's description goes; the codes of 12 bits are split. */
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
	attr = perf_attr_at(PERF_TYPE_RAW, config, "u");
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
		/* Not an event: what its count is multiplied by. */
		if (*e->d_name == '.' || strstr(e->d_name, ".scale"))
			continue;
		n++;
		good += event_opens(e->d_name);
	}
	closedir(dir);
	return n >= 6 && good == n;
}

static bool says(const char *file, const char *want)
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

static bool format_is_what_tools_parse(void)
{
	char line[64];

	need_pmu();
	if (!access(PMU_DIR "/format/cccr", F_OK))
		return says("type", "4") && says("format/cccr", "config:0-31") &&
		       says("format/escr", "config:32-62") && says("format/ht", "config:63") &&
		       access(PMU_DIR "/format/event", F_OK) && says("rdpmc", "1");
	if (read_line(PMU_DIR "/format/event", line, sizeof(line)) < 0)
		return false;
	if (strcmp(line, "config:0-7") && strcmp(line, "config:0-7,32-35"))
		return false;
	if (is_intel() && !says("format/pc", "config:19"))
		return false;
	/* Without transactions, as the emulator is. */
	if (!access(PMU_DIR "/format/in_tx", F_OK))
		return false;
	return says("type", "4") && says("format/umask", "config:8-15") &&
	       says("format/edge", "config:18") && says("format/inv", "config:23") &&
	       says("format/cmask", "config:24-31") && says("rdpmc", "1");
}

/* ------------------------------------------------------------------ refusals */

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
	if (!refused("precise_ip", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, "precise_ip"))
		return false;
	attr.precise_ip = 0;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	return refused("branches", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, "branch");
}

static bool unknown_events_are_refused(void)
{
	struct perf_event_attr attr = hw_attr(99, "u");

	need_pmu();
	if (!refused("hardware event 99", perf_open(&attr, 0, -1, -1, 0), EINVAL, NULL))
		return false;
	/* The branch unit is not written to; a part without any cache events says that. */
	attr = perf_attr_at(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_BPU |
			    PERF_COUNT_HW_CACHE_OP_WRITE << 8, "u");
	if (!refused("writes to the branch unit", perf_open(&attr, 0, -1, -1, 0),
		     have_event(PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_BPU) ? EINVAL : ENOENT, NULL))
		return false;
	attr.config = PERF_COUNT_HW_CACHE_MAX;
	return refused("cache out of range", perf_open(&attr, 0, -1, -1, 0), EINVAL, NULL);
}

static bool groups_that_cannot_fit_are_refused(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	int leader, fd, n;

	need_pmu();
	leader = open_self(&attr, -1);
	attr.disabled = 0;
	for (n = 1; n < 64; n++) {
		fd = perf_open(&attr, 0, -1, leader, 0);
		if (fd < 0)
			break;
	}
	/* No part has fewer than two general counters, nor the model more than eight. */
	return refused("one more", fd, EINVAL, "group") && between("members", n, 2, 8);
}

/* ----------------------------------------------------------------- Pentium 4 */

/* An event class, its mask, and what replays are counted, if it is the class of those. */
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
	struct perf_event_attr attr = perf_attr_at(PERF_TYPE_RAW, config, "u");

	attr.disabled = leader < 0;
	return perf_open(&attr, 0, -1, leader, 0);
}

static bool p4_configs_are_checked(void)
{
	need_p4();
	return refused("class 46", open_raw(P4(46, 0, 0), -1), EINVAL, "class") &
	       refused("mask bit 4", open_raw(P4(38, 0x10, 0), -1), EINVAL, "mask") &
	       refused("metric 10", open_raw(P4_REPLAYS(10), -1), EINVAL, "metric") &
	       refused("a metric without replays", open_raw(P4_UOPS | 1, -1), EINVAL, "replay") &
	       refused("precise", open_raw(P4_REPLAYS(1) | 1 << 7, -1), EINVAL, "precise");
}

/* Each pair of ESCRs holds two events, and the core counts replays of one kind at a time. */
static bool p4_groups_fit_the_registers(void)
{
	int fd, leader;

	need_p4();
	leader = MUST(open_raw(P4_INSTRUCTIONS, -1));
	MUST(open_raw(P4_MISSES, leader));
	if (!refused("a third", open_raw(P4_UOPS, leader), EINVAL, "group"))
		return false;
	fd = MUST(open_raw(P4_REPLAYS(1), leader));
	if (!refused("other replays", open_raw(P4_REPLAYS(2), leader), EINVAL, "group"))
		return false;
	MUST(open_raw(P4_REPLAYS(1), leader));
	if (!refused("a third of these", open_raw(P4_BRANCHES, leader), EINVAL, "group"))
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
	need_instructions();
	for (unsigned int i = 0; i < ARRAY_SIZE(config); i++)
		fd[i] = MUST(open_raw(config[i], i ? fd[0] : -1));
	raw_syscall(__NR_ioctl, fd[0], PERF_EVENT_IOC_ENABLE, 0);
	run_loop(LOOPS);
	raw_syscall(__NR_ioctl, fd[0], PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(config); i++)
		good &= near("count", perf_count(fd[i]), LOOP_INSNS(LOOPS) / part[i], 60);
	return good;
}

/* --------------------------------------------------------------------- RDPMC */

static inline uint64_t rdpmc(uint32_t index)
{
	uint32_t low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index));
	return low | (uint64_t)high << 32;
}

static struct perf_event_mmap_page *map_event(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		fail_case("mmap of an event");
	return page;
}

/* The manual page's way to read a counter; false if there is none to read. */
static bool read_self(const volatile struct perf_event_mmap_page *page, uint64_t *count)
{
	uint32_t seq, index;
	int64_t pmc = 0;

	do {
		seq = page->lock;
		__sync_synchronize();
		index = page->index;
		*count = page->offset;
		if (page->cap_user_rdpmc && index) {
			pmc = rdpmc(index - 1);
			pmc <<= 64 - page->pmc_width;
			pmc >>= 64 - page->pmc_width;
			*count += pmc;
		}
		__sync_synchronize();
	} while (page->lock != seq);
	return index;
}

static bool rdpmc_counts_exactly(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before, after, told;
	struct perf_event_mmap_page *page;
	int fd;

	need_instructions();
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	page = map_event(fd);
	if (!read_self(page, &before))
		return ktap_note("no counter to read"), false;
	run_loop(LOOPS);
	read_self(page, &after);
	told = perf_count(fd);
	return near("loop", after - before, LOOP_INSNS(LOOPS), 60) &&
	       near("read()", told, after, 2000);
}

/* Instructions between reading by oneself and the system call, or back. */
#define READ_SLACK	150

/* What the program reads by itself is what read() says, in whichever order. */
static bool reads_agree(const volatile struct perf_event_mmap_page *page, int fd, const char *when)
{
	uint64_t before, told, after;

	read_self(page, &before);
	told = perf_count(fd);
	read_self(page, &after);
	return between(when, told - before, 0, READ_SLACK) &
	       between(when, after - told, 0, READ_SLACK);
}

/* As many samples as there are periods: the kernel is not to slow down. */
static void allow_many_samples(void)
{
	MUST(sysctl_set("perf_cpu_time_max_percent", 25));
	MUST(sysctl_set("perf_event_max_sample_rate", 100000000));
	MUST(sysctl_set("perf_cpu_time_max_percent", 0));
}

/* Where the mapper runs, the counter of that number is not its event's. */
static bool rdpmc_is_for_the_task(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint64_t count, told;
	uint32_t indices = 0;
	pid_t child;
	int fd;

	need_instructions();
	need_cpus(2);
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
	end_child(child);
	told = perf_count(fd);
	read_self(page, &count);
	close(fd);
	return same("index", indices, 0) & same("count of the page", count, told) &
	       between("count", told, LOOPS, UINT64_MAX / 2);
}

/* A copy of the page that a child was made to inherit. */
static bool inherited_page_has_no_index(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint32_t own;
	pid_t child;
	int fd;

	need_instructions();
	need_cpus(2);
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
		_exit(!same("index", indices, 0));
	}
	for (int i = 0; i < 1000; i++)
		run_loop(LOOPS / 100);
	return between("its own index before that", own, 1, UINT32_MAX) & child_was_good(child);
}

/* Each overflow starts the counter from another value; the program goes on as if there were none. */
static bool rdpmc_follows_overflows(void)
{
	static const uint64_t periods[] = { 997, 2003, 10007, 1ull << 40 };
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint64_t before, after;
	bool good = true;
	int fd;

	need_instructions();
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
			good &= near("loop", after - before, LOOP_INSNS(rounds), READ_SLACK);
			good &= reads_agree(page, fd, "a sampling event");
		}
		munmap(page, 4096);
		close(fd);
	}
	return good;
}

/*
 * Where writes set fewer bits than a counter has, one that only counts overflows within seconds: a
 * CPU's, because a task's is wound back at each switch so that it does not tell of others.
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

	need_instructions();
	MUST(pin_to_cpu(0));
	attr.disabled = 0;
	fd = MUST(perf_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	page = map_event(fd);
	left = -(int64_t)(rdpmc(page->index - 1) << (64 - page->pmc_width)) >> (64 - page->pmc_width);
	if (left > 1ll << 32)
		skip_case("its counters overflow after days");
	read_self(page, &before);
	for (left += 4 * LOOP_INSNS(rounds); good && left > 0; left -= LOOP_INSNS(rounds)) {
		run_loop(rounds);
		read_self(page, &after);
		/* Some other program may have had the CPU for a moment, and is counted, too. */
		visits += after - before > LOOP_INSNS(rounds) + READ_SLACK;
		good = between("loop", after - before, LOOP_INSNS(rounds) - READ_SLACK,
			       LOOP_INSNS(rounds) + (visits < 5 ? 100000 : READ_SLACK));
		good &= reads_agree(page, fd, "a counting event");
		read_self(page, &before);
	}
	return good;
}

/* The page says which counter, or that there is none, as soon as that changes. */
static bool rdpmc_follows_schedules(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	unsigned int turns = 0, waits = 0;
	struct perf_event_mmap_page *page;
	uint64_t seen;
	bool good;
	int fd;

	need_instructions();
	fd = open_self(&attr, -1);
	page = map_event(fd);
	good = same("index while it is off", page->index, 0);
	enable(fd);
	good &= same("index while it is on", !page->index, 0);
	run_loop(LOOPS);
	good &= reads_agree(page, fd, "enabled");
	disable(fd);
	good &= same("index when it is off again", page->index, 0);
	read_self(page, &seen);
	good &= same("disabled", seen, perf_count(fd));
	enable(fd);
	/* With these it takes turns, on one counter and another. */
	attr.disabled = 0;
	for (unsigned int i = 0; i < 20; i++)
		open_self(&attr, -1);
	for (unsigned int i = 0; good && i < 400; i++) {
		run_loop(LOOPS / 20);
		waits += !page->index;
		turns += !!page->index;
		good &= reads_agree(page, fd, "taking turns");
	}
	return good & between("turns", turns, 20, 400) & between("waits", waits, 20, 400);
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
		rdpmc(0);
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

	need_instructions();
	fd = open_self(&attr, -1);
	good = same("without a mapping", rdpmc_faults(), true);
	page = map_event(fd);
	good &= same("with a mapping", rdpmc_faults(), false);
	good &= set_mode("0") && same("mode 0", rdpmc_faults(), true);
	good &= set_mode("1") && same("mode 1", rdpmc_faults(), false);
	munmap(page, 4096);
	good &= same("after the mapping", rdpmc_faults(), true);
	good &= set_mode("2") && same("mode 2", rdpmc_faults(), false);
	good &= set_mode("1") && same("back in mode 1", rdpmc_faults(), true);
	good &= refused("mode 3", write_line(PMU_DIR "/rdpmc", "3"), EINVAL, NULL);
	return good;
}

/* --------------------------------------------- what a program must not see */

#define GENERAL		18
#define ALL		(GENERAL + 3)

/* A counter that is not there faults; it reads as 0. */
static void read_all(uint64_t *value)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &act, NULL);
	for (volatile int i = 0; i < ALL; i++) {
		value[i] = 0;
		if (!sigsetjmp(at_fault, 1))
			value[i] = rdpmc(i < GENERAL ? i : (1 << 30) + i - GENERAL);
	}
	signal(SIGSEGV, SIG_DFL);
}

static struct {
	int to_worker[2], to_spy[2];
} turn;

static void pass(int *pipe)
{
	MUST(write(pipe[1], "", 1));
}

static void await(int *pipe)
{
	char c;

	MUST(read(pipe[0], &c, 1));
}

/* Counts itself, in every way, and works whenever it is its turn. */
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
		await(turn.to_worker);
		run_loop(5 * LOOPS);
		pass(turn.to_spy);
	}
}

/* May read counters, too, and is counted by what the first has left running. */
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

/* What each of them does in its turn is ten million. */
static bool went_on_little(const char *who, const uint64_t *before, const uint64_t *after, int width)
{
	bool good = true;

	for (int i = 0; i < ALL; i++) {
		int64_t seen = (int64_t)(after[i] - before[i]) << (64 - width) >> (64 - width);

		if (seen > 5 * LOOPS) {
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

	need_instructions();
	MUST(pin_to_cpu(0));
	MUST(pipe(turn.to_worker));
	MUST(pipe(turn.to_spy));
	/* A CPU's own events count everybody, and are there for everybody to read. */
	sysctl_set("nmi_watchdog", 0);
	worker = busy_worker();
	reader = busy_reader(&go, &done);
	attr.disabled = 0;
	page = map_event(open_self(&attr, -1));

	for (int round = 0; round < 3; round++) {
		read_all(before);
		pass(turn.to_worker);
		await(turn.to_spy);
		read_all(after);
		good &= went_on_little("worker", before, after, page->pmc_width);
		gate_open(&go);
		gate_wait(&done);
		read_all(before);
		good &= went_on_little("reader", after, before, page->pmc_width);
	}
	end_child(worker);
	end_child(reader);
	return good;
}

/* What its counter has counted for others before it may read it, either. */
static bool others_counts_stay_hidden_from_the_first_mapping_on(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	struct perf_event_mmap_page *page;
	uint64_t seen[2];
	pid_t worker;
	int fd;

	need_instructions();
	MUST(pin_to_cpu(0));
	MUST(pipe(turn.to_worker));
	MUST(pipe(turn.to_spy));
	worker = fork_child();
	if (!worker) {
		for (;;) {
			await(turn.to_worker);
			run_loop(5 * LOOPS);
			pass(turn.to_spy);
		}
	}
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	for (int i = 0; i < 2; i++) {
		pass(turn.to_worker);
		await(turn.to_spy);
		page = map_event(fd);
		if (!page->index)
			fail_case("no index");
		seen[i] = rdpmc(page->index - 1) << (64 - page->pmc_width);
		seen[i] >>= 64 - page->pmc_width;
		munmap(page, 4096);
	}
	end_child(worker);
	return between("went on by", seen[1] > seen[0] ? seen[1] - seen[0] : 0, 0, LOOPS);
}

/* ------------------------------------------------------------ register writes */

#define SELECTS		0
#define RDPMCS		8

struct accesses {
	uint64_t reads, writes;
};

static struct accesses stats_of(unsigned int kind)
{
	uint32_t a, b, c, d;

	__cpuid_count(X86_MODEL_LEAF, kind, a, b, c, d);
	return (struct accesses){ a | (uint64_t)b << 32, c | (uint64_t)d << 32 };
}

/* Writes of selects, counters, fixed counters, their control, and the global control. */
static uint64_t writes_so_far(void)
{
	uint64_t n = 0;

	for (unsigned int kind = SELECTS; kind <= 4; kind++)
		n += stats_of(kind).writes;
	return n;
}

static void need_stats(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	uint64_t before;
	int fd;

	need_instructions();
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	before = stats_of(RDPMCS).reads;
	perf_count(fd);
	if (stats_of(RDPMCS).reads - before > 100 || stats_of(RDPMCS).reads == before)
		skip_case("the machine does not count register accesses (x-pmu-stats=on)");
	close(fd);
}

/* To the emulator every fourth instruction is a branch: tools/testing/qemu/README.md. */
static bool branches_of_a_loop(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "u");
	int fd;

	need_instructions();
	fd = open_self(&attr, -1);
	enable(fd);
	run_loop(1000000);
	disable(fd);
	return between("branches", perf_count(fd), LOOP_INSNS(1000000) / 4, LOOP_INSNS(1000000) / 4 + 100);
}

#define COUNTED	4

/* Four events of the calling task, in @fd if that is not NULL. */
static void count_self(uint64_t period, int *fd)
{
	static const uint64_t events[COUNTED] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
		PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
	};

	for (unsigned int i = 0; i < COUNTED; i++) {
		struct perf_event_attr attr = hw_attr(events[i], "u");
		int new;

		attr.disabled = 0;
		attr.sample_period = period;
		new = open_self(&attr, -1);
		if (fd)
			fd[i] = new;
	}
}

static pid_t echo(bool counted, uint64_t period)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	if (counted)
		count_self(period, NULL);
	for (;;) {
		await(turn.to_worker);
		pass(turn.to_spy);
	}
}

/* Register writes of @n switches to a counted process and back. */
static uint64_t writes_of_switches(unsigned int n, bool both, uint64_t period)
{
	uint64_t before;
	int fd[COUNTED];
	pid_t partner;

	MUST(pin_to_cpu(0));
	MUST(pipe(turn.to_worker));
	MUST(pipe(turn.to_spy));
	partner = echo(true, period);
	if (both)
		count_self(period, fd);
	for (unsigned int i = 0; i < 10; i++) {
		pass(turn.to_worker);
		await(turn.to_spy);
	}
	before = writes_so_far();
	for (unsigned int i = 0; i < n; i++) {
		pass(turn.to_worker);
		await(turn.to_spy);
	}
	before = writes_so_far() - before;
	end_child(partner);
	for (unsigned int i = 0; both && i < COUNTED; i++)
		close(fd[i]);
	return before;
}

#define SWITCHES 500

/* Told from the other kernel by its sysctl, where there are sysctls. */
static void need_lazy_writes(void)
{
	if (!says_why() && !access("/proc/sys", F_OK))
		skip_case("this kernel writes at every switch");
}

static bool counting_costs_no_writes(void)
{
	bool good = true;

	need_stats();
	need_lazy_writes();
	for (int both = 0; both <= 1; both++)
		good &= same(both ? "writes of 500 switches there and back, both counted" :
			     "writes of 500 switches there and back",
			     writes_of_switches(SWITCHES, both, 0), 0);
	return good;
}

/* Sampling counters stop and start again: one write each where one register stops them all. */
static bool sampling_costs_few_writes(void)
{
	uint64_t n;

	need_stats();
	need_lazy_writes();
	/* Shorter than every counter, so that none has to be wound back on the way. */
	n = writes_of_switches(SWITCHES, false, 1ull << 30);
	ktap_note("%.2f writes for a switch there and back with 4 sampling events",
		  (double)n / SWITCHES);
	return between("writes", n, 0, 8 * SWITCHES + SWITCHES / 10);
}

/* Cycles of both threads of a core, which takes rights that the children of whoever asked may not have. */
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
		if (!refused("an event of its own", perf_open(&attr, 0, -1, -1, 0), EACCES, "config"))
			_exit(1);
		grandchild = fork();
		if (!grandchild)
			_exit(0);
		if (grandchild < 0)
			fail_case("fork");
		_exit(!child_was_good(grandchild));
	}
	good = child_was_good(child);
	close(fd);
	return good;
}

static const struct test tests[] = {
	{ "the format is what tools parse", format_is_what_tools_parse },
	{ "each event in sysfs opens as it is described", events_open },
	{ "precise_ip and branch stacks answer EOPNOTSUPP", precise_and_branches_are_refused },
	{ "unknown events are refused", unknown_events_are_refused },
	{ "groups that cannot fit are refused at open", groups_that_cannot_fit_are_refused },
	{ "a Pentium 4's events are checked", p4_configs_are_checked },
	{ "its groups fit its registers", p4_groups_fit_the_registers },
	{ "its events count together", p4_events_count_together },
	{ "what was granted is not asked of children", children_are_not_asked_again },
	{ "rdpmc in user space counts exactly", rdpmc_counts_exactly },
	{ "rdpmc: no index for another task", rdpmc_is_for_the_task },
	{ "rdpmc: no index for whoever inherits the page", inherited_page_has_no_index },
	{ "rdpmc follows overflows", rdpmc_follows_overflows },
	{ "rdpmc follows a wrap", rdpmc_follows_a_wrap },
	{ "rdpmc follows schedules", rdpmc_follows_schedules },
	{ "rdpmc is allowed as its mode says", rdpmc_modes },
	{ "rdpmc does not show what others counted", others_counts_stay_hidden },
	{ "not from the first mapping on, either", others_counts_stay_hidden_from_the_first_mapping_on },
	{ "branches of a loop", branches_of_a_loop },
	{ "counting costs no register write on a switch", counting_costs_no_writes },
	{ "sampling costs few", sampling_costs_few_writes },
};

/* "exact": may counts be relied on? For scripts. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "exact"))
		return counts_are_rough();
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
#else
int main(void)
{
	ktap_start(1);
	ktap_skip("x86_pmu", "not an x86");
	return ktap_finish();
}
#endif
