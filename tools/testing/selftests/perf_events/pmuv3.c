// SPDX-License-Identifier: GPL-2.0
/*
 * The arm64 PMU: what it says in sysfs, what it refuses, counters that user space reads itself, and
 * periods that survive switches.
 *
 * With instructions as the machine's clock.
 */
#include "workload.h"

#ifdef __aarch64__
#include <dirent.h>
#include <setjmp.h>
#include <sys/mman.h>

#define PMU_DIR		"/sys/bus/event_source/devices/"

#define CYCLES		0x11
#define INSTRUCTIONS	0x08
#define CHAIN		0x1e
#define CONFIG1_LONG	1
#define CONFIG1_RDPMC	2
#define CYCLE_COUNTER	31

static char pmu_name[64];
static int pmu_type;

static void need_pmu(void)
{
	struct dirent *entry;
	DIR *dir = opendir(PMU_DIR);

	while (dir && (entry = readdir(dir))) {
		if (!strncmp(entry->d_name, "armv8_", 6))
			snprintf(pmu_name, sizeof(pmu_name), "%.60s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!*pmu_name)
		skip_case("no PMUv3");
	pmu_type = perf_pmu_type(pmu_name);
}

/* ------------------------------------------------------------------------ sysfs */

static bool file_says(const char *file, const char *want)
{
	char path[160], line[64] = "";

	snprintf(path, sizeof(path), PMU_DIR "%s/%s", pmu_name, file);
	if (read_line(path, line, sizeof(line)) >= 0 && !strcmp(line, want))
		return true;
	ktap_note("%s: \"%s\", expected \"%s\"", file, line, want);
	return false;
}

static bool sysfs_describes_it(void)
{
	static const char *const files[][2] = {
		{ "format/event", "config:0-15" },
		{ "format/long", "config1:0" },
		{ "format/rdpmc", "config1:1" },
		{ "format/threshold_count", "config1:2" },
		{ "format/threshold_compare", "config1:3-4" },
		{ "format/threshold", "config1:5-16" },
		{ "events/cpu_cycles", "event=0x0011" },
		{ "events/inst_retired", "event=0x0008" },
		{ "caps/threshold_max", "0x00000000" },
	};
	char path[160];
	bool good = true;

	need_pmu();
	for (unsigned int i = 0; i < ARRAY_SIZE(files); i++)
		good &= file_says(files[i][0], files[i][1]);

	/* CHAIN is no event of its own. */
	snprintf(path, sizeof(path), PMU_DIR "%s/events/chain", pmu_name);
	return good & same("events/chain is there", !access(path, F_OK), 0);
}

/* --------------------------------------------------------------------- refusals */

static bool refuses_what_it_cannot(void)
{
	struct perf_event_attr attr;
	bool good = true;

	need_pmu();
	attr = perf_attr(pmu_type, CHAIN);
	good &= refused("CHAIN", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config");

	attr = perf_attr(pmu_type, CYCLES);
	attr.exclude_idle = 1;
	good &= refused("exclude_idle", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP,
			"exclude_idle");

	attr = perf_attr(pmu_type, CYCLES);
	attr.config1 = 0xffful << 5;
	good &= refused("threshold", perf_open(&attr, 0, -1, -1, 0), EINVAL, "threshold");

	attr = perf_attr(pmu_type, CYCLES);
	attr.config1 = CONFIG1_RDPMC;
	good &= refused("a CPU's counter for user space", perf_open(&attr, -1, 0, -1, 0), EINVAL,
			"config1");

	attr = perf_attr(pmu_type, CYCLES);
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	attr.sample_period = 100000;
	good &= refused("branch stack", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, NULL);

	attr = perf_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX);
	return good & refused("unknown generic event", perf_open(&attr, 0, -1, -1, 0), EINVAL, NULL);
}

/* ------------------------------------------------------------------ user access */

#define READ_CASE(n)							\
	case n:								\
		asm volatile("mrs %0, pmevcntr" #n "_el0" : "=r" (value));	\
		break

/* A counter by its number, as the index of the user page less 1 gives it. */
static uint64_t read_counter(unsigned int n)
{
	uint64_t value = 0;

	switch (n) {
	READ_CASE(0);
	READ_CASE(1);
	READ_CASE(2);
	READ_CASE(3);
	READ_CASE(4);
	READ_CASE(5);
	case CYCLE_COUNTER:
		asm volatile("mrs %0, pmccntr_el0" : "=r" (value));
		break;
	default:
		fail_case("a counter that the machine does not have");
	}
	return value;
}

/* What the manual page says: false if the page gives no counter. */
static bool read_self(volatile struct perf_event_mmap_page *page, uint64_t *count)
{
	uint32_t seq, index;
	int64_t value;

	do {
		seq = page->lock;
		asm volatile("" : : : "memory");
		index = page->index;
		*count = page->offset;
		if (index && page->cap_user_rdpmc) {
			value = (int64_t)(read_counter(index - 1) << (64 - page->pmc_width)) >>
				(64 - page->pmc_width);
			*count += value;
		}
		asm volatile("" : : : "memory");
	} while (seq != page->lock);

	return index;
}

static void allow_users(bool allow)
{
	if (sysctl_set("perf_user_access", allow) < 0)
		skip_case("no sysctl kernel.perf_user_access");
}

/* On one CPU. */
static void need_user_access(void)
{
	need_pmu();
	allow_users(true);
	pin_to_cpu(0);
}

static volatile struct perf_event_mmap_page *map_page(int fd)
{
	void *page = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		fail_case("mmap of the user page");
	return page;
}

/* Event counters of older parts have 32 bits; user space cannot read two of them as one. */
static int open_readable(uint64_t config, uint64_t config1)
{
	struct perf_event_attr attr = perf_attr(pmu_type, config);
	int fd;

	attr.config1 = config1;
	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EOPNOTSUPP && config != CYCLES)
		skip_case("event counters have 32 bits");
	return MUST(fd);
}

static bool index_is_0_without_the_sysctl(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t count;

	need_pmu();
	allow_users(false);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	return same("index", read_self(page, &count), 0);
}

static bool index_is_0_without_asking(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t count;

	need_pmu();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_LONG));
	return same("index", read_self(page, &count), 0) &
	       same("cap_user_rdpmc", page->cap_user_rdpmc, 0);
}

/* The clock goes on while the machine's other CPUs have their turns: the best of some tries. */
static uint64_t read_loop(volatile struct perf_event_mmap_page *page, uint64_t *after)
{
	uint64_t before, best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		read_self(page, &before);
		run_loop(100000);
		read_self(page, after);
		if (*after - before < best)
			best = *after - before;
	}
	return best;
}

static bool reads_a_loop(uint64_t config, uint64_t config1, unsigned int width)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t loop, last, told;
	bool good;
	int fd;

	need_pmu();
	need_instructions();
	allow_users(true);
	fd = open_readable(config, config1 | CONFIG1_RDPMC);
	page = map_page(fd);
	if (!read_self(page, &last))
		return same("index is there", 0, 1);

	loop = read_loop(page, &last);
	told = perf_count(fd);
	good = same("width", page->pmc_width, width);
	good &= near("loop", loop, LOOP_INSNS(100000), 100);
	return good & between("read() after it", told, last, last + 10000);
}

static bool user_reads_64_bits(void)
{
	return reads_a_loop(INSTRUCTIONS, CONFIG1_LONG, 64);
}

static bool user_reads_32_bits(void)
{
	return reads_a_loop(INSTRUCTIONS, 0, 32);
}

static bool user_reads_cycles(void)
{
	return reads_a_loop(CYCLES, CONFIG1_LONG, 64);
}

/* Half of its 2^32 lie before the first interrupt of a counter that has 32 bits. */
static bool user_reads_past_a_wrap(void)
{
	const unsigned long rounds = 20000000;
	volatile struct perf_event_mmap_page *page;
	uint64_t before, after;
	bool good = true;

	need_pmu();
	need_instructions();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	read_self(page, &before);
	for (uint64_t sum = 0; good && sum >> 31 < 1; sum += LOOP_INSNS(rounds)) {
		run_loop(rounds);
		read_self(page, &after);
		good = near("loop", after - before, LOOP_INSNS(rounds), 100000);
		before = after;
	}
	return good;
}

/* A partner on the same CPU that counts, too, takes turns with us. */
static pid_t busy_partner(void)
{
	struct perf_event_attr attr = perf_attr(pmu_type, INSTRUCTIONS);
	pid_t pid = fork_child();

	if (pid)
		return pid;
	for (int i = 0; i < 4; i++)
		open_self(&attr, -1);
	for (;;) {
		run_loop(5000);
		sched_yield();
	}
}

static bool count_survives_switches(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t first, count = 0, rounds = 200;
	bool good = true;
	pid_t partner;

	need_pmu();
	need_instructions();
	allow_users(true);
	pin_to_cpu(0);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	partner = busy_partner();
	good &= same("index is there", read_self(page, &first), 1);
	for (uint64_t i = 0; i < rounds; i++) {
		run_loop(5000);
		sched_yield();
	}
	read_self(page, &count);
	end_child(partner);
	return good & near("all rounds", count - first, rounds * LOOP_INSNS(5000), rounds * 100);
}

/* What others left in the counters is not seen, whether they still count or not. */
static bool counters_of_others_are_zero(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t count;
	bool good = true;
	pid_t partner;

	need_user_access();
	partner = busy_partner();
	sleep_ms(50);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	for (int round = 0; round < 20; round++) {
		sched_yield();
		if (!read_self(page, &count))
			continue;
		for (unsigned int n = 0; n < 6; n++) {
			if (n != page->index - 1)
				good &= same("another's counter", read_counter(n), 0);
		}
	}
	end_child(partner);
	return good;
}

/* A task without such an event gets SIGILL, whoever had the CPU before. */
static bool next_task_may_not_read(int fd)
{
	int status;
	pid_t pid = fork_child();

	if (!pid) {
		close(fd);
		sched_yield();
		read_counter(0);
		_exit(0);
	}
	run_loop(100000);
	waitpid(pid, &status, 0);
	return same("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGILL);
}

static bool others_may_not_read(void)
{
	int fd;

	need_pmu();
	if (!says_why())
		skip_case("this kernel lets the next task read on");
	allow_users(true);
	pin_to_cpu(0);
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	return next_task_may_not_read(fd);
}

static sigjmp_buf no_access;

static void on_sigill(int sig)
{
	siglongjmp(no_access, 1);
}

static bool may_read(void)
{
	volatile bool may = false;

	signal(SIGILL, on_sigill);
	if (!sigsetjmp(no_access, 1)) {
		read_counter(0);
		may = true;
	}
	signal(SIGILL, SIG_DFL);
	return may;
}

/*
 * A program may have looked up the index and be about to read when its event goes off the counter.
 * What it reads then it throws away, but it must be able to; and it is nobody else's.
 */
static bool stopped_event_may_be_read(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t count;
	bool good;
	int fd;

	need_user_access();
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	page = map_page(fd);
	good = same("index is there", !!read_self(page, &count), 1);
	disable(fd);
	good &= same("index when disabled", read_self(page, &count), 0);
	good &= same("may read when disabled", may_read(), 1);
	sched_yield();
	sleep_ms(2);
	good &= same("may read after a switch", may_read(), 1);
	for (unsigned int n = 0; good && says_why() && n < 6; n++)
		good &= same("unused counter", read_counter(n), 0);
	if (says_why())
		good &= next_task_may_not_read(fd);
	enable(fd);
	return good & same("index when enabled", !!read_self(page, &count), 1);
}

static bool waiting_event_may_be_read(void)
{
	struct perf_event_attr attr;
	volatile struct perf_event_mmap_page *page;
	unsigned int waited = 0, ran = 0;
	bool good = true;
	uint64_t count, end;

	need_pmu();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	attr = perf_attr(pmu_type, INSTRUCTIONS);
	for (unsigned int i = 2 * capacity(PERF_COUNT_HW_INSTRUCTIONS); i; i--)
		open_self(&attr, -1);
	end = now_ns() + 300000000;
	while (good && now_ns() < end) {
		good &= same("may read", may_read(), 1);
		if (read_self(page, &count))
			ran++;
		else
			waited++;
	}
	return good & between("readings while it ran", ran, 1, UINT64_MAX) &
	       between("readings while it waited", waited, 1, UINT64_MAX);
}

static bool displaced_event_may_be_read(void)
{
	struct perf_event_attr attr;
	volatile struct perf_event_mmap_page *page;
	unsigned int nr;
	uint64_t count;
	bool good;
	int fd;

	need_user_access();
	nr = capacity(PERF_COUNT_HW_INSTRUCTIONS);
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	page = map_page(fd);
	attr = perf_attr(pmu_type, INSTRUCTIONS);
	attr.pinned = 1;
	while (nr--)
		MUST(perf_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	good = same("index", read_self(page, &count), 0);
	good &= same("may read", may_read(), 1);
	return good & (!says_why() || next_task_may_not_read(fd));
}

/* It has no counter to be read, whatever it keeps where counters have their flags. */
static bool clocks_do_not_grant_it(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	bool good;
	int fd;

	need_pmu();
	if (!says_why())
		skip_case("this kernel looks at the sysctl alone");
	allow_users(true);
	attr.sample_period = 1000000;
	fd = open_self(&attr, -1);
	good = same("cap_user_rdpmc", map_page(fd)->cap_user_rdpmc, 0);
	open_readable(INSTRUCTIONS, 0);
	sched_yield();
	return good & same("may read", may_read(), 0);
}

/* With the last such event. */
static bool closing_withdraws_it(void)
{
	bool good = true;
	int fd, other;

	need_pmu();
	if (!says_why())
		skip_case("this kernel lets the task read on");
	allow_users(true);
	for (int off = 0; off < 2; off++) {
		fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
		other = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
		if (off) {
			disable(fd);
			disable(other);
		}
		good &= same("may read", may_read(), 1);
		close(other);
		good &= same("may read with the other event", may_read(), 1);
		close(fd);
		good &= same("may read after that", may_read(), 0);
	}
	return good;
}

static bool setting_the_sysctl_grants_it(void)
{
	volatile struct perf_event_mmap_page *page, *second;
	uint64_t count;
	bool good;
	int fd;

	need_pmu();
	if (!says_why())
		skip_case("this kernel does so when the task comes back");
	allow_users(false);
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	good = same("may read before", may_read(), 0);
	allow_users(true);
	second = map_page(fd);
	good &= same("index, mapped after it", !!second->index, 1);
	good &= same("index, mapped before", !!page->index, 1);
	good &= same("may read", may_read(), 1);
	if (!good)
		return false;
	return same("index", !!read_self(page, &count), 1) &
	       same("index of the second", !!read_self(second, &count), 1);
}

static bool clearing_the_sysctl_withdraws_it(void)
{
	volatile struct perf_event_mmap_page *page;
	bool good;

	need_pmu();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	good = same("may read", may_read(), 1);
	allow_users(false);
	good &= same("may read without the sysctl", may_read(), 0);
	return good & (!says_why() || same("index", page->index, 0));
}

/* ---------------------------------------------------------------------- sampling */

#define PERIOD		100003
#define RECORD_BYTES	16	/* header and IP */

struct sampler {
	int				fd;
	struct perf_event_mmap_page	*page;
};

static struct sampler sample_cycles(void)
{
	struct perf_event_attr attr = perf_attr(pmu_type, CYCLES);
	struct sampler s;

	/* No throttling: an emulator's clock makes samples look long. */
	sysctl_set("perf_event_max_sample_rate", 100000);
	sysctl_set("perf_cpu_time_max_percent", 0);
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	s.fd = open_self(&attr, -1);
	s.page = mmap(NULL, 65 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	if (s.page == MAP_FAILED)
		fail_case("mmap of the buffer");
	return s;
}

static bool one_sample_a_period(struct sampler *s)
{
	uint64_t count = perf_count(s->fd);

	return near("samples", s->page->data_head / RECORD_BYTES, count / PERIOD, 1);
}

/* Often enough that many overflows are pending when their task is switched. */
static bool switches_swallow_no_overflow(void)
{
	struct sampler s;
	pid_t partner;

	need_pmu();
	need_instructions();
	pin_to_cpu(0);
	s = sample_cycles();
	partner = busy_partner();
	enable(s.fd);
	for (int i = 0; i < 3000; i++) {
		run_loop(1013);
		sched_yield();
	}
	disable(s.fd);
	end_child(partner);
	return one_sample_a_period(&s);
}

static bool migrations_swallow_no_overflow(void)
{
	struct sampler s;

	need_pmu();
	need_instructions();
	need_cpus(2);
	s = sample_cycles();
	enable(s.fd);
	for (int i = 0; i < 300; i++) {
		run_loop(10007);
		pin_to_cpu(i & 1);
	}
	disable(s.fd);
	return one_sample_a_period(&s);
}

/* The cycle counter runs while any thread of its core runs, so where there are several it serves nobody. */
static bool cycles_are_the_threads_own(void)
{
	char siblings[32] = "";
	bool threads;

	need_pmu();
	need_instructions();
	read_line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", siblings, sizeof(siblings));
	threads = strpbrk(siblings, ",-");
	return same(threads ? "counters for cycles of a thread" : "counters for cycles",
		    pinned_that_count(PERF_COUNT_HW_CPU_CYCLES),
		    pinned_that_count(PERF_COUNT_HW_INSTRUCTIONS) + !threads);
}

static const struct test tests[] = {
	{ "sysfs has its events, fields and capabilities", sysfs_describes_it },
	{ "refuses what it cannot do", refuses_what_it_cannot },
	{ "user page: index 0 while the sysctl is off", index_is_0_without_the_sysctl },
	{ "user page: index 0 for who has not asked", index_is_0_without_asking },
	{ "cycles are the thread's own", cycles_are_the_threads_own },
	{ "user space reads 64 bits", user_reads_64_bits },
	{ "user space reads 32 bits", user_reads_32_bits },
	{ "user space reads past a wrap of 32 bits", user_reads_past_a_wrap },
	{ "user space reads cycles", user_reads_cycles },
	{ "what user space reads survives switches", count_survives_switches },
	{ "counters that others used are 0", counters_of_others_are_zero },
	{ "a task that has not asked may not read", others_may_not_read },
	{ "a task may read while its event is disabled", stopped_event_may_be_read },
	{ "a task may read while its event waits", waiting_event_may_be_read },
	{ "a task may read while its event is displaced", displaced_event_may_be_read },
	{ "closing the last event withdraws it", closing_withdraws_it },
	{ "user page: a sampling clock beside grants nothing", clocks_do_not_grant_it },
	{ "setting the sysctl grants it", setting_the_sysctl_grants_it },
	{ "clearing the sysctl withdraws it", clearing_the_sysctl_withdraws_it },
	{ "context switches swallow no overflow", switches_swallow_no_overflow },
	{ "migrations swallow no overflow", migrations_swallow_no_overflow },
};

TESTS_MAIN(tests)

#else

int main(void)
{
	ktap_start(1);
	ktap_skip("PMUv3", "not this architecture");
	return ktap_finish();
}

#endif
