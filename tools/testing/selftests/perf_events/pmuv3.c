// SPDX-License-Identifier: GPL-2.0
/*
 * The arm64 PMU: its files in sysfs, what it refuses, counters that user space reads itself, and
 * periods across context switches.
 *
 * Instructions are the clock of the machine.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#ifdef __aarch64__
#include "pmuv3.h"

#include <setjmp.h>

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
	return good & expect_eq("events/chain is there", !access(path, F_OK), 0);
}

static bool refuses_what_it_cannot(void)
{
	struct perf_event_attr attr;
	bool good = true;

	need_pmu();
	attr = perf_attr(pmu_type, CHAIN);
	good &= expect_refused("CHAIN", perf_open(&attr, 0, -1, -1, 0), EINVAL, "config");

	attr = perf_attr(pmu_type, CYCLES);
	attr.exclude_idle = 1;
	good &= expect_refused("exclude_idle", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP,
			       "exclude_idle");

	attr = perf_attr(pmu_type, CYCLES);
	attr.config1 = 0xffful << 5;
	good &= expect_refused("threshold", perf_open(&attr, 0, -1, -1, 0), EINVAL, "threshold");

	attr = perf_attr(pmu_type, CYCLES);
	attr.config1 = CONFIG1_RDPMC;
	good &= expect_refused("a CPU's counter for user space", perf_open(&attr, -1, 0, -1, 0),
			       EINVAL, "config1");

	attr = perf_attr(pmu_type, CYCLES);
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	attr.sample_period = 100000;
	good &= expect_refused("branch stack", perf_open(&attr, 0, -1, -1, 0), EOPNOTSUPP, NULL);

	attr = perf_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX);
	return good & expect_refused("unknown generic event", perf_open(&attr, 0, -1, -1, 0),
				     EINVAL, NULL);
}

/* Is the common event that the core implements in sysfs? */
static bool in_sysfs(const char *event)
{
	char path[160];

	snprintf(path, sizeof(path), PMU_DIR "%s/events/%s", pmu_name, event);
	return event && !access(path, F_OK);
}

/* A generic event is the common event of the core, if that is implemented. */
static bool generic_events_are_in_sysfs(void)
{
	static const struct {
		uint64_t	config;
		const char	*name, *other;
	} generic[] = {
		{ PERF_COUNT_HW_CPU_CYCLES, "cpu_cycles" },
		{ PERF_COUNT_HW_INSTRUCTIONS, "inst_retired" },
		{ PERF_COUNT_HW_CACHE_REFERENCES, "l1d_cache" },
		{ PERF_COUNT_HW_CACHE_MISSES, "l1d_cache_refill" },
		{ PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "br_retired", "pc_write_retired" },
		{ PERF_COUNT_HW_BRANCH_MISSES, "br_mis_pred" },
		{ PERF_COUNT_HW_BUS_CYCLES, "bus_cycles" },
		{ PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "stall_frontend" },
		{ PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "stall_backend" },
		{ PERF_COUNT_HW_REF_CPU_CYCLES, "no common event" },
	};
	unsigned int counted = 0;
	bool good = true;

	need_pmu();
	for (unsigned int i = 0; i < ARRAY_SIZE(generic); i++) {
		struct perf_event_attr attr = hw_attr(generic[i].config, "uk");
		bool there = in_sysfs(generic[i].name) || in_sysfs(generic[i].other);
		int fd = perf_open(&attr, 0, -1, -1, 0);

		good &= expect_errno(generic[i].name, fd, there ? 0 : ENOENT);
		counted += there;
		if (fd >= 0)
			close(fd);
	}
	return good & expect_between("events that are counted", counted, 1, 9);
}

/* Instructions of a loop and of 1000 system calls; @modes: those of user space or of the kernel. */
static uint64_t instructions_of(const char *modes, bool host, bool guest)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, modes);
	uint64_t n;
	int fd;

	attr.exclude_host = !host;
	attr.exclude_guest = !guest;
	fd = open_self(&attr, -1);
	event_enable(fd);
	run_loop(100000);
	for (int i = 0; i < 1000; i++)
		short_syscall();
	event_disable(fd);
	n = perf_count(fd);
	close(fd);
	return n;
}

/* The host is this kernel and its user space, whichever exception levels they have. */
static bool host_is_kernel_and_user(void)
{
	uint64_t user;

	need_pmu();
	require_exact_instructions();
	user = instructions_of("u", true, true);
	return expect_between("user space", user, LOOP_INSNS(100000), LOOP_INSNS(150000)) &
	       expect_near("host in user space", instructions_of("u", true, false), user, 20) &
	       expect_between("host in the kernel", instructions_of("k", true, false), 50000,
			      100000000) &
	       expect_eq("guests in user space", instructions_of("u", false, true), 0) &
	       expect_eq("guests in the kernel", instructions_of("k", false, true), 0);
}

static bool index_is_0_without_the_sysctl(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t count;

	need_pmu();
	allow_users(false);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	return expect_eq("index", read_self(page, &count), 0);
}

static bool index_is_0_without_asking(void)
{
	volatile struct perf_event_mmap_page *page;
	uint64_t count;

	need_pmu();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_LONG));
	return expect_eq("index", read_self(page, &count), 0) &
	       expect_eq("cap_user_rdpmc", page->cap_user_rdpmc, 0);
}

/* The clock runs on while other CPUs of the machine run: returns the least of several tries. */
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
	require_exact_instructions();
	allow_users(true);
	fd = open_readable(config, config1 | CONFIG1_RDPMC);
	page = map_page(fd);
	if (!read_self(page, &last))
		return expect_eq("index is there", 0, 1);

	loop = read_loop(page, &last);
	told = perf_count(fd);
	good = expect_eq("width", page->pmc_width, width);
	good &= expect_near("loop", loop, LOOP_INSNS(100000), 100);
	return good & expect_between("read() after it", told, last, last + 10000);
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

/* Another period sets the counter, and with it the offset in the user page. */
static bool user_reads_past_a_period(void)
{
	struct perf_event_attr attr;
	volatile struct perf_event_mmap_page *page;
	uint64_t first, next, told, period = 100000000;
	int fd;

	need_pmu();
	if (pmu_is_mute())
		skip_case("no overflow interrupt");
	require_exact_instructions();
	allow_users(true);
	attr = perf_attr(pmu_type, INSTRUCTIONS);
	attr.config1 = CONFIG1_RDPMC;
	attr.sample_period = 1000000;
	attr.exclude_kernel = 1;
	fd = open_self(&attr, -1);
	page = map_page(fd);
	read_self(page, &first);
	MUST(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
	if (!read_self(page, &next))
		return expect_eq("index is there", 0, 1);
	told = perf_count(fd);
	return expect_between("after the change", next, first, first + 10000) &
	       expect_between("read() after it", told, next, next + 10000);
}

/* A task on the same CPU that counts as well, and alternates with this one. */
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
	require_exact_instructions();
	allow_users(true);
	pin_to_cpu(0);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	partner = busy_partner();
	good &= expect_eq("index is there", read_self(page, &first), 1);
	for (uint64_t i = 0; i < rounds; i++) {
		run_loop(5000);
		sched_yield();
	}
	read_self(page, &count);
	kill_child(partner);
	return good &
	       expect_near("all rounds", count - first, rounds * LOOP_INSNS(5000), rounds * 100);
}

/* Values that other tasks left in the counters read as 0, whether they still count or not. */
static bool counters_of_others_are_zero(void)
{
	volatile struct perf_event_mmap_page *page;
	unsigned int looks = 0;
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
		looks++;
		for (unsigned int n = 0; n < 6; n++) {
			if (n != page->index - 1)
				good &= expect_eq("another's counter", read_counter(n), 0);
		}
	}
	kill_child(partner);
	return good & expect_between("looks", looks, 1, 20);
}

static uint64_t selected_counter(void)
{
	uint64_t value;

	asm volatile("mrs %0, pmselr_el0" : "=r" (value));
	return value;
}

/* A task on the same CPU that selects a counter each time that it runs; counts its turns. */
static pid_t selecting_partner(volatile unsigned int *turns)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	for (;;) {
		++*turns;
		asm volatile("msr pmselr_el0, %0" : : "r" (3ul));
		sched_yield();
	}
}

/* User space may write the number of a counter to PMSELR_EL0; the next task does not read it. */
static bool selection_of_others_is_hidden(void)
{
	volatile unsigned int *turns = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int looks = 0, shown = 0;
	pid_t partner;

	need_user_access();
	if (!kernel_gives_reasons())
		skip_case("this kernel shows the selection of another task");
	open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	partner = selecting_partner(turns);
	sleep_ms(50);
	for (int round = 0; round < 100; round++) {
		unsigned int before = *turns;

		sched_yield();
		looks += *turns != before;
		shown += selected_counter() != 0;
	}
	kill_child(partner);
	return expect_between("looks after turns of the other", looks, 20, 100) &
	       expect_eq("selections of the other", shown, 0);
}

/* A task without such an event gets SIGILL, whatever task ran before. */
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
	return expect_eq("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGILL);
}

static bool others_may_not_read(void)
{
	int fd;

	need_pmu();
	if (!kernel_gives_reasons())
		skip_case("this kernel lets the next task read on");
	allow_users(true);
	pin_to_cpu(0);
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	return next_task_may_not_read(fd);
}

static sigjmp_buf no_access;

static void on_sigill(int sig)
{
	(void)sig;
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
 * A program may have read the index and be about to read the counter when its event loses the
 * counter. It discards the value, but the read must work, and must not show the value of another
 * task.
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
	good = expect_eq("index is there", !!read_self(page, &count), 1);
	event_disable(fd);
	good &= expect_eq("index when disabled", read_self(page, &count), 0);
	good &= expect_eq("may read when disabled", may_read(), 1);
	sched_yield();
	sleep_ms(2);
	good &= expect_eq("may read after a switch", may_read(), 1);
	for (unsigned int n = 0; good && kernel_gives_reasons() && n < 6; n++)
		good &= expect_eq("unused counter", read_counter(n), 0);
	if (kernel_gives_reasons())
		good &= next_task_may_not_read(fd);
	event_enable(fd);
	return good & expect_eq("index when enabled", !!read_self(page, &count), 1);
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
	for (unsigned int i = 2 * max_group_size(PERF_COUNT_HW_INSTRUCTIONS); i; i--)
		open_self(&attr, -1);
	end = monotonic_ns() + 300000000;
	while (good && monotonic_ns() < end) {
		good &= expect_eq("may read", may_read(), 1);
		if (read_self(page, &count))
			ran++;
		else
			waited++;
	}
	return good & expect_between("readings while it ran", ran, 1, UINT64_MAX) &
	       expect_between("readings while it waited", waited, 1, UINT64_MAX);
}

static bool task_without_counter_reads(void)
{
	struct perf_event_attr attr;
	volatile struct perf_event_mmap_page *page;
	unsigned int nr;
	uint64_t count;
	bool good;
	int fd;

	need_user_access();
	nr = max_group_size(PERF_COUNT_HW_INSTRUCTIONS);
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	page = map_page(fd);
	attr = perf_attr(pmu_type, INSTRUCTIONS);
	attr.pinned = 1;
	while (nr--)
		MUST(perf_open(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	good = expect_eq("index", read_self(page, &count), 0);
	good &= expect_eq("may read", may_read(), 1);
	return good & (!kernel_gives_reasons() || next_task_may_not_read(fd));
}

/* A clock has no counter, whatever value it has where a counter has its flags. */
static bool clocks_do_not_grant_it(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	bool good;
	int fd;

	need_pmu();
	if (!kernel_gives_reasons())
		skip_case("this kernel looks at the sysctl alone");
	allow_users(true);
	attr.sample_period = 1000000;
	fd = open_self(&attr, -1);
	good = expect_eq("cap_user_rdpmc", map_page(fd)->cap_user_rdpmc, 0);
	open_readable(INSTRUCTIONS, 0);
	sched_yield();
	return good & expect_eq("may read", may_read(), 0);
}

/* Access ends with the last such event. */
static bool closing_withdraws_it(void)
{
	bool good = true;
	int fd, other;

	need_pmu();
	if (!kernel_gives_reasons())
		skip_case("this kernel lets the task read on");
	allow_users(true);
	for (int off = 0; off < 2; off++) {
		fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
		other = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
		if (off) {
			event_disable(fd);
			event_disable(other);
		}
		good &= expect_eq("may read", may_read(), 1);
		close(other);
		good &= expect_eq("may read with the other event", may_read(), 1);
		close(fd);
		good &= expect_eq("may read after that", may_read(), 0);
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
	if (!kernel_gives_reasons())
		skip_case("this kernel does so when the task runs again");
	allow_users(false);
	fd = open_readable(INSTRUCTIONS, CONFIG1_RDPMC);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	good = expect_eq("may read before", may_read(), 0);
	allow_users(true);
	second = map_page(fd);
	good &= expect_eq("index, mapped after it", !!second->index, 1);
	good &= expect_eq("index, mapped before", !!page->index, 1);
	good &= expect_eq("may read", may_read(), 1);
	if (!good)
		return false;
	return expect_eq("index", !!read_self(page, &count), 1) &
	       expect_eq("index of the second", !!read_self(second, &count), 1);
}

static bool clearing_the_sysctl_withdraws_it(void)
{
	volatile struct perf_event_mmap_page *page;
	bool good;

	need_pmu();
	allow_users(true);
	page = map_page(open_readable(INSTRUCTIONS, CONFIG1_RDPMC));
	good = expect_eq("may read", may_read(), 1);
	allow_users(false);
	good &= expect_eq("may read without the sysctl", may_read(), 0);
	return good & (!kernel_gives_reasons() || expect_eq("index", page->index, 0));
}

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

	/* No throttling: the clock of the emulator makes samples look slow. */
	sysctl_set("perf_event_max_sample_rate", 100000);
	sysctl_set("perf_cpu_time_max_percent", 0);
	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	if (pmu_is_mute())
		skip_case("no overflow interrupt");
	s.fd = open_self(&attr, -1);
	s.page = mmap(NULL, 65 * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	if (s.page == MAP_FAILED)
		fail_case("mmap of the buffer");
	return s;
}

/* @least: instructions of the work, each of which is a cycle at least. */
static bool one_sample_a_period(struct sampler *s, uint64_t least)
{
	uint64_t count = perf_count(s->fd);

	return expect_near("samples", s->page->data_head / RECORD_BYTES, count / PERIOD, 1) &
	       expect_between("count", count, least, least * 100);
}

/* Often enough that many overflows are pending when their task is switched out. */
static bool switches_swallow_no_overflow(void)
{
	struct sampler s;
	pid_t partner;

	need_pmu();
	require_exact_instructions();
	pin_to_cpu(0);
	s = sample_cycles();
	partner = busy_partner();
	event_enable(s.fd);
	for (int i = 0; i < 3000; i++) {
		run_loop(1013);
		sched_yield();
	}
	event_disable(s.fd);
	kill_child(partner);
	return one_sample_a_period(&s, 3000 * LOOP_INSNS(1013));
}

static bool migrations_swallow_no_overflow(void)
{
	struct sampler s;

	need_pmu();
	require_exact_instructions();
	require_cpus(2);
	s = sample_cycles();
	event_enable(s.fd);
	for (int i = 0; i < 300; i++) {
		run_loop(10007);
		pin_to_cpu(i & 1);
	}
	event_disable(s.fd);
	return one_sample_a_period(&s, 300 * LOOP_INSNS(10007));
}

/* The cycle counter counts for all threads of its core, so machines with threads do not use it. */
static bool cycles_are_the_threads_own(void)
{
	char siblings[32] = "";
	bool threads;

	need_pmu();
	require_exact_instructions();
	/* With maxcpus=1 the other thread is not known when the PMU is probed. */
	write_line("/sys/devices/system/cpu/cpu1/online", "1");
	read_line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", siblings,
		  sizeof(siblings));
	threads = strpbrk(siblings, ",-");
	return expect_eq(threads ? "counters for cycles of a thread" : "counters for cycles",
			 max_pinned_events(PERF_COUNT_HW_CPU_CYCLES),
			 max_pinned_events(PERF_COUNT_HW_INSTRUCTIONS) + !threads);
}

static bool sampling_needs_an_interrupt(void)
{
	bool mute = pmu_is_mute();
	struct perf_event_attr attr;
	int fd;

	need_pmu();
	attr = perf_attr(pmu_type, CYCLES);
	attr.sample_period = PERIOD;
	fd = perf_open(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (mute)
		return expect_refused("sampling", fd, EOPNOTSUPP, "interrupt");
	return expect_errno("sampling", fd, 0);
}

static const struct test tests[] = {
	{ "sysfs shows events, fields and capabilities", sysfs_describes_it },
	{ "events that the PMU cannot count are refused", refuses_what_it_cannot },
	{ "generic events are counted if they are in sysfs", generic_events_are_in_sysfs },
	{ "what excludes the host excludes its kernel and user space", host_is_kernel_and_user },
	{ "user page: index 0 while the sysctl is off", index_is_0_without_the_sysctl },
	{ "user page: index 0 without the request for it", index_is_0_without_asking },
	{ "cycles are those of the thread", cycles_are_the_threads_own },
	{ "user space reads 64 bits", user_reads_64_bits },
	{ "user space reads 32 bits", user_reads_32_bits },
	{ "user space reads cycles", user_reads_cycles },
	{ "user space reads the same after a change of the period", user_reads_past_a_period },
	{ "user space reads the same across switches", count_survives_switches },
	{ "counters of other tasks read as 0", counters_of_others_are_zero },
	{ "the selection of another task reads as 0", selection_of_others_is_hidden },
	{ "a task without such an event may not read", others_may_not_read },
	{ "a task may read while its event is disabled", stopped_event_may_be_read },
	{ "a task may read while its event waits", waiting_event_may_be_read },
	{ "a task may read while its event has lost its counter", task_without_counter_reads },
	{ "closing the last event withdraws access", closing_withdraws_it },
	{ "a sampling clock grants no access", clocks_do_not_grant_it },
	{ "setting the sysctl grants access", setting_the_sysctl_grants_it },
	{ "clearing the sysctl withdraws access", clearing_the_sysctl_withdraws_it },
	{ "sampling needs an overflow interrupt", sampling_needs_an_interrupt },
	{ "context switches lose no overflow", switches_swallow_no_overflow },
	{ "migrations lose no overflow", migrations_swallow_no_overflow },
};

TESTS_MAIN(tests)

#else

TESTS_MAIN_SKIPPED("PMUv3", "not this architecture")

#endif
