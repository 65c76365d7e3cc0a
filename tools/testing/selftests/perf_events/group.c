// SPDX-License-Identifier: GPL-2.0
/*
 * Groups and read(2): every format, short buffers, pinned and exclusive groups, groups of software
 * and hardware events, and members that are added and closed.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "require.h"
#include "workloads.h"

#include <sys/resource.h>

/* A software event that counts nothing, and one that counts the time of this task. */
#define DUMMY	PERF_COUNT_SW_DUMMY
#define CLOCK	PERF_COUNT_SW_TASK_CLOCK

static struct perf_event_attr sw_format(uint64_t config, uint64_t format)
{
	struct perf_event_attr attr = sw_attr(config);

	attr.read_format = format;
	return attr;
}

static uint64_t id_of(int fd)
{
	uint64_t id = 0;

	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &id));
	return id;
}

static unsigned int words_of(uint64_t format, unsigned int nr)
{
	unsigned int words = 0;

	words += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED);
	words += !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	words += !!(format & PERF_FORMAT_GROUP);
	return words + nr * (1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST));
}

/* One of the 32 formats, of a group of three. */
static bool format_is_right(uint64_t format)
{
	uint64_t room[64], elapsed = monotonic_ns();
	struct perf_event_attr attr = sw_format(CLOCK, format);
	bool grouped = format & PERF_FORMAT_GROUP;
	unsigned int nr = grouped ? 3 : 1;
	size_t size = words_of(format, nr) * 8;
	struct reading r;
	bool good = true;
	int fd[3];

	fd[0] = open_self(&attr, -1);
	for (int i = 1; i < 3; i++)
		fd[i] = open_self(&attr, fd[0]);
	spin_ms(2);
	if (!read_in_format(fd[0], format, &r))
		return false;
	elapsed = monotonic_ns() - elapsed;

	good &= expect_eq("members", r.nr, nr);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		good &= expect_between("enabled", r.enabled, 1900000, elapsed);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		good &= expect_between("running", r.running, 1900000, elapsed);
	for (unsigned int i = 0; i < nr; i++) {
		good &= expect_between("value", r.member[i].value, 1900000, elapsed);
		if (format & PERF_FORMAT_ID)
			good &= expect_eq("id", r.member[i].id, id_of(fd[i]));
		good &= expect_eq("lost", r.member[i].lost, 0);
	}
	good &= expect_refused("a byte less", read(fd[0], room, size - 1), ENOSPC, "read");
	good &= expect_refused("no room", read(fd[0], room, 0), ENOSPC, "read");
	good &= expect_eq("all the room", read(fd[0], room, sizeof(room)), size);
	good &= expect_eq("just enough", read(fd[0], room, size), size);
	for (int i = 2; i >= 0; i--)
		close(fd[i]);
	if (!good)
		ktap_note("in format %#llx", (unsigned long long)format);
	return good;
}

static bool every_format(void)
{
	bool good = true;

	for (uint64_t format = 0; format < PERF_FORMAT_MAX; format++)
		good &= format_is_right(format);
	return good;
}

/* A sibling with PERF_FORMAT_GROUP reads its group. */
static bool sibling_reads_group(void)
{
	struct perf_event_attr attr = sw_format(DUMMY, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	struct reading r;
	int leader, sibling;

	leader = open_self(&attr, -1);
	sibling = open_self(&attr, leader);
	return read_in_format(sibling, attr.read_format, &r) && expect_eq("members", r.nr, 2) &&
	       expect_eq("leader's id", r.member[0].id, id_of(leader)) &&
	       expect_eq("own id", r.member[1].id, id_of(sibling));
}

static bool ids_are_unique(void)
{
	struct perf_event_attr attr = sw_attr(DUMMY);
	uint64_t last = 0;
	bool good = true;

	for (int i = 0; i < 200; i++) {
		int fd = open_self(&attr, -1);
		uint64_t id = id_of(fd);

		good &= expect_between("id", id, last + 1, UINT64_MAX);
		last = id;
		if (i & 1)
			close(fd);
	}
	return good;
}

/* The largest group is limited by what one read can return. */
static bool largest_group(void)
{
	struct perf_event_attr attr = sw_format(DUMMY, PERF_FORMAT_GROUP | PERF_FORMAT_ID |
						PERF_FORMAT_LOST | FORMAT_TIMES);
	struct perf_event_attr alone = sw_attr(DUMMY);
	static uint64_t room[4096];
	struct rlimit many = { 4096, 4096 };
	int leader, fd = 0, nr = 1;
	ssize_t n;

	MUST(setrlimit(RLIMIT_NOFILE, &many));
	leader = open_self(&attr, -1);
	for (; nr < 2000; nr++) {
		fd = perf_open(&attr, 0, -1, leader, 0);
		if (fd < 0)
			break;
	}
	if (fd >= 0) {
		ktap_note("no end of the group");
		return false;
	}
	n = read(leader, room, sizeof(room));
	ktap_note("%d members, %zd bytes", nr, n);
	return expect_refused("one more", perf_open(&attr, 0, -1, leader, 0), E2BIG,
			      "read_format") &
	       expect_refused("one more that is read alone", perf_open(&alone, 0, -1, leader, 0),
			      E2BIG, "read_format") &
	       expect_eq("members", room[0], nr) &
	       expect_eq("bytes", n, 8 * words_of(attr.read_format, nr)) &
	       expect_between("bytes", n, 15000, 16384);
}

/* The read of one sibling limits its group, if the other members are read alone, too. */
static bool sibling_limits_group(void)
{
	struct perf_event_attr attr = sw_format(DUMMY, PERF_FORMAT_GROUP | PERF_FORMAT_ID |
						PERF_FORMAT_LOST | FORMAT_TIMES);
	struct perf_event_attr alone = sw_attr(DUMMY);
	struct rlimit many = { 4096, 4096 };
	int leader, sibling, fd = 0, nr = 2;
	static uint64_t room[4096];
	bool good;

	MUST(setrlimit(RLIMIT_NOFILE, &many));
	leader = open_self(&alone, -1);
	sibling = open_self(&attr, leader);
	for (; nr < 2000; nr++) {
		fd = perf_open(&alone, 0, -1, leader, 0);
		if (fd < 0)
			break;
	}
	good = expect_refused("one more", fd, E2BIG, "read_format");
	good &= expect_refused("one more with a large format",
			       perf_open(&attr, 0, -1, leader, 0), E2BIG, "read_format");
	/* Three words for the group and three for each member. */
	good &= expect_eq("members", nr, (16384 / 8 - 3) / 3);
	good &= expect_eq("bytes", read(sibling, room, sizeof(room)),
			  8 * words_of(attr.read_format, nr));
	return good & expect_eq("members of the reading", room[0], nr);
}

/* The other members of a group keep counting, in order, when one is closed. */
/* A task's exit ends its events and leaves their groups to be read. */
static bool members_are_closed_after_exit(void)
{
	struct perf_event_attr attr = sw_format(CLOCK, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	pid_t pid = fork_waiting_child();
	struct reading r;
	bool good = true;
	int fd[4], reuse[100];

	attr.disabled = 1;
	fd[0] = MUST(perf_open(&attr, pid, -1, -1, 0));
	for (int i = 1; i < 4; i++)
		fd[i] = MUST(perf_open(&attr, pid, -1, fd[0], 0));
	kill_child(pid);
	close(fd[1]);
	close(fd[3]);
	sleep_ms(30);
	/* They use the memory of those that were closed. */
	for (unsigned int i = 0; i < ARRAY_SIZE(reuse); i++)
		reuse[i] = open_self(&attr, -1);
	if (!read_in_format(fd[0], attr.read_format, &r) || !expect_eq("members", r.nr, 2))
		return false;
	good &= expect_eq("first", r.member[0].id, id_of(fd[0]));
	good &= expect_eq("second", r.member[1].id, id_of(fd[2]));
	close(fd[0]);
	good &= read_in_format(fd[2], attr.read_format, &r) && expect_eq("members", r.nr, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(reuse); i++)
		close(reuse[i]);
	close(fd[2]);
	return good;
}

static bool members_leave(void)
{
	struct perf_event_attr attr = sw_format(CLOCK, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	struct reading r;
	bool good = true;
	int fd[6];

	fd[0] = open_self(&attr, -1);
	for (int i = 1; i < 6; i++)
		fd[i] = open_self(&attr, fd[0]);
	close(fd[2]);
	close(fd[5]);
	spin_ms(1);
	if (!read_in_format(fd[0], attr.read_format, &r) || !expect_eq("members", r.nr, 4))
		return false;
	good &= expect_eq("first", r.member[0].id, id_of(fd[0]));
	good &= expect_eq("second", r.member[1].id, id_of(fd[1]));
	good &= expect_eq("third", r.member[2].id, id_of(fd[3]));
	good &= expect_eq("fourth", r.member[3].id, id_of(fd[4]));
	return good;
}

/* A group from which a member was closed is inherited as it is, and is read with the child's. */
static bool closed_before_fork(void)
{
	struct gate go = gate_new(), done = gate_new();
	struct perf_event_attr attr = sw_format(PERF_COUNT_SW_PAGE_FAULTS,
						PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	struct reading r;
	bool good = true;
	int fd[3];
	pid_t pid;

	attr.disabled = 1;
	attr.inherit = 1;
	attr.exclude_kernel = 1;
	for (int i = 0; i < 3; i++)
		fd[i] = open_self(&attr, i ? fd[0] : -1);
	close(fd[1]);
	pid = fork_child();
	while (!pid) {
		gate_wait(&go);
		fault_pages(40);
		gate_open(&done);
	}
	gate_open(&go);		/* maps what the child needs */
	gate_wait(&done);
	MUST(ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	gate_open(&go);
	gate_wait(&done);
	MUST(ioctl(fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	if (!read_in_format(fd[0], attr.read_format, &r) || !expect_eq("members", r.nr, 2))
		return false;
	for (int i = 0; i < 2; i++) {
		good &= expect_eq("id", r.member[i].id, id_of(fd[2 * i]));
		good &= expect_eq("faults", r.member[i].value, 40);
	}
	kill_child(pid);
	return good;
}

/*
 * The siblings become events of their own when the leader is closed, and keep counting. The clock
 * counts all of a loop in user mode; how long a context switch takes is not part of the bound. The
 * loop takes up to twice as long while the guest's other CPU is busy.
 */
static bool siblings_outlive_leader(void)
{
	struct perf_event_attr attr = sw_format(CLOCK, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
	uint64_t shortest = shortest_loop_ns(1000000);
	struct reading before, after;
	bool good = true;
	int fd[4];

	fd[0] = open_self(&attr, -1);
	for (int i = 1; i < 4; i++)
		fd[i] = open_self(&attr, fd[0]);
	close(fd[0]);
	for (int i = 1; i < 4; i++) {
		if (!read_in_format(fd[i], attr.read_format, &before))
			return false;
		run_loop(1000000);
		if (!read_in_format(fd[i], attr.read_format, &after))
			return false;
		good &= expect_eq("members", after.nr, 1);
		good &= expect_eq("id", after.member[0].id, id_of(fd[i]));
		good &= expect_between("went on by", after.member[0].value - before.member[0].value,
				       shortest / 4, 1000 * shortest);
	}
	return good;
}

/* A disabled leader disables its group; enabled siblings start with it. */
static bool leader_rules(void)
{
	struct perf_event_attr attr = sw_format(CLOCK, FORMAT_TIMES);
	struct timed_count t;
	bool good = true;
	int leader, sibling;

	attr.disabled = 1;
	leader = open_self(&attr, -1);
	attr.disabled = 0;
	sibling = open_self(&attr, leader);
	spin_ms(2);
	t = read_timed_count(sibling);
	good &= expect_eq("counted under a disabled leader", t.value, 0);
	good &= expect_eq("enabled under a disabled leader", t.enabled, 0);
	event_enable(leader);
	spin_ms(2);
	event_disable(leader);
	t = read_timed_count(sibling);
	/* Another task may have run for part of the 2 ms. */
	good &= expect_between("counted", t.value, 1000000, 1000000000);
	good &= expect_eq("running", t.running, t.enabled);
	spin_ms(2);
	return good & expect_eq("stands still", read_timed_count(sibling).value, t.value);
}

/* The number of programmable counters, found by filling them with pinned events. */
static unsigned int general_counters(void)
{
	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	return max_pinned_events(PERF_COUNT_HW_CPU_CYCLES);
}

/* Pinned events without a counter are in the error state; reading them is end of file. */
static bool pinned_fails(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	unsigned int fits = general_counters();
	bool good = true;
	uint64_t value;
	int fd[40];

	attr.pinned = 1;
	attr.disabled = 0;
	for (unsigned int i = 0; i < fits + 2; i++)
		fd[i] = open_self(&attr, -1);
	for (unsigned int i = 0; i < fits; i++)
		good &= expect_eq("reading one that fits", read(fd[i], &value, 8), 8);
	good &= expect_eq("reading one too many", read(fd[fits], &value, 8), 0);
	good &= expect_eq("reading another", read(fd[fits + 1], &value, 8), 0);

	/* With a free counter, enabling clears the error. */
	close(fd[0]);
	event_enable(fd[fits]);
	good &= expect_eq("enabled again", read(fd[fits], &value, 8), 8);
	ktap_note("%u counters", fits);
	return good & expect_eq("still in error", read(fd[fits + 1], &value, 8), 0);
}

/* While an exclusive group runs no other event counts; it runs only for its slice. */
static bool exclusive_is_alone(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct timed_count alone, other;
	int fd, second;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attr.read_format = FORMAT_TIMES;
	attr.exclusive = 1;
	fd = open_self(&attr, -1);
	attr.exclusive = 0;
	second = open_self(&attr, -1);
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
	spin_ms(400);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	alone = read_timed_count(fd);
	other = read_timed_count(second);
	ktap_note("exclusive ran %.1f %%, the other %.1f %%",
		  100.0 * alone.running / alone.enabled, 100.0 * other.running / other.enabled);
	return expect_between("both at once, in thousandths",
			      (alone.running + other.running) * 1000 / alone.enabled, 950, 1005) &
	       expect_between("exclusive", alone.running, 1, alone.enabled * 9 / 10) &
	       expect_between("the other", other.running, 1, other.enabled * 9 / 10);
}

/* An exclusive event that is added to a running PMU waits for its turn. */
static bool exclusive_pinned(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct timed_count t;
	int fd, second;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attr.read_format = FORMAT_TIMES;
	attr.exclusive = 1;
	attr.pinned = 1;
	attr.disabled = 0;
	fd = open_self(&attr, -1);
	attr.exclusive = 0;
	attr.pinned = 0;
	second = open_self(&attr, -1);
	spin_ms(50);
	t = read_timed_count(fd);
	return expect_eq("exclusive and pinned: running", t.running, t.enabled) &
	       expect_eq("the other: running", read_timed_count(second).running, 0);
}

/* A software leader with hardware siblings, opened in either order. */
static bool software_leads_hardware(void)
{
	struct perf_event_attr sw = sw_format(CLOCK, PERF_FORMAT_GROUP | FORMAT_TIMES);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct reading r;
	int leader;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	hw.disabled = 0;
	hw.read_format = sw.read_format;
	leader = open_self(&sw, -1);
	open_self(&sw, leader);
	spin_ms(2);
	open_self(&hw, leader);		/* moves the group to the hardware context */
	open_self(&sw, leader);
	open_self(&hw, leader);
	spin_ms(20);
	if (!read_in_format(leader, sw.read_format, &r) || !expect_eq("members", r.nr, 5))
		return false;
	return expect_between("leader", r.member[0].value, 21000000, UINT32_MAX) &
	       expect_between("sibling", r.member[1].value, 21000000, UINT32_MAX) &
	       expect_between("hardware", r.member[2].value, 1000000, UINT32_MAX * 4ull) &
	       expect_between("late sibling", r.member[3].value, 19000000, UINT32_MAX) &
	       expect_between("late hardware", r.member[4].value, 1000000, UINT32_MAX * 4ull) &
	       expect_eq("running", r.running, r.enabled);
}

/* A hardware leader with software siblings. */
static bool hardware_leads_software(void)
{
	struct perf_event_attr sw = sw_attr(CLOCK);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct reading r;
	int leader;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	hw.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	leader = open_self(&hw, -1);
	open_self(&sw, leader);
	sw.config = PERF_COUNT_SW_PAGE_FAULTS;
	open_self(&sw, leader);
	event_enable(leader);
	spin_ms(20);
	event_disable(leader);
	if (!read_in_format(leader, hw.read_format, &r) || !expect_eq("members", r.nr, 3))
		return false;
	return expect_between("hardware", r.member[0].value, 1000000, UINT32_MAX * 4ull) &
	       expect_between("clock", r.member[1].value, 19000000, UINT32_MAX) &
	       expect_near("clock and time running", r.member[1].value, r.running, 1000000) &
	       expect_eq("running", r.running, r.enabled);
}

/*
 * A group that has lost its hardware members is still scheduled with the PMU's events, such as one
 * of the CPU: to enable it concerns both.
 */
static bool software_left_by_hardware(void)
{
	struct perf_event_attr sw = sw_format(CLOCK, FORMAT_TIMES);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct timed_count t;
	int cpu, leader;
	bool good;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	MUST(pin_to_cpu(0));
	hw.disabled = 0;
	hw.read_format = FORMAT_TIMES;
	cpu = MUST(perf_open(&hw, -1, 0, -1, 0));
	sw.disabled = 1;
	leader = open_self(&sw, -1);
	close(open_self(&hw, leader));
	for (int i = 0; i < 20; i++) {
		event_enable(leader);
		spin_ms(1);
		event_disable(leader);
	}
	t = read_timed_count(leader);
	good = expect_eq("leader: running", t.running, t.enabled);
	good &= expect_eq("leader: counted", t.value, t.running);
	t = read_timed_count(cpu);
	return good & expect_eq("the CPU's: running", t.running, t.enabled);
}

/* The same in a task that sleeps, behind more events than there are counters. */
static bool software_left_in_a_queue(void)
{
	struct perf_event_attr sw = sw_format(PERF_COUNT_SW_PAGE_FAULTS, FORMAT_TIMES);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct gate go = gate_new(), done = gate_new();
	struct timed_count t;
	int leader, faults;
	pid_t pid;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	hw.disabled = 0;
	sw.exclude_kernel = 1;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		fault_pages(40);
		gate_open(&done);
		pause();
	}
	wait_until_asleep(pid);
	for (int i = 0; i < 80; i++)
		MUST(perf_open(&hw, pid, -1, -1, 0));
	leader = MUST(perf_open(&hw, pid, -1, -1, 0));
	faults = MUST(perf_open(&sw, pid, -1, leader, 0));
	close(leader);
	gate_open(&go);
	gate_wait(&done);
	wait_until_asleep(pid);
	t = read_timed_count(faults);
	kill_child(pid);
	return expect_between("page faults", t.value, 40, 80) &
	       expect_eq("running", t.running, t.enabled);
}

/* Software events in a multiplexed group count only while their group runs. */
static bool software_waits_with_its_group(void)
{
	struct perf_event_attr sw = sw_format(CLOCK, FORMAT_TIMES);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	unsigned int nr = 2 * general_counters();
	bool good = true;
	int leader, clock[80];

	if (nr > ARRAY_SIZE(clock))
		skip_case("too many counters");
	hw.read_format = FORMAT_TIMES;
	for (unsigned int i = 0; i < nr; i++) {
		leader = open_self(&hw, -1);
		clock[i] = open_self(&sw, leader);
	}
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
	spin_ms(200);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	for (unsigned int i = 0; i < nr; i++) {
		struct timed_count t = read_timed_count(clock[i]);

		good &= expect_between("running", t.running, 1, t.enabled * 8 / 10);
		good &= expect_near("counted and running", t.value, t.running, 2000000);
	}
	return good;
}

/* Only hardware members need counters. */
static bool hardware_joins_many_software(void)
{
	struct perf_event_attr sw = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	int leader, first, last;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	hw.disabled = 0;
	leader = open_self(&sw, -1);
	first = open_self(&hw, leader);
	for (int i = 0; i < 80; i++)
		open_self(&sw, leader);
	last = open_self(&hw, leader);
	spin_ms(5);
	return expect_between("the first counter", perf_count(first), 1, INT64_MAX) &
	       expect_between("the last counter", perf_count(last), 1, INT64_MAX);
}

/*
 * A disabled sibling needs no counter until it is enabled. With more enabled members than there are
 * counters the group waits.
 */
static bool disabled_siblings_need_no_counter(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	int nr = general_counters() + 3, leader, fd[40];
	struct timed_count before, after;
	bool good = true;

	attr.read_format = FORMAT_TIMES;
	attr.disabled = 0;
	leader = open_self(&attr, -1);
	attr.disabled = 1;
	for (int i = 0; i < nr; i++)
		fd[i] = open_self(&attr, leader);
	spin_ms(2);
	before = read_timed_count(leader);
	good &= expect_eq("running with disabled siblings", before.running, before.enabled);

	for (int i = 0; i < nr; i++)
		event_enable(fd[i]);
	before = read_timed_count(leader);
	spin_ms(2);
	after = read_timed_count(leader);
	good &= expect_between("enabled", after.enabled - before.enabled, 1900000, UINT64_MAX);
	good &= expect_eq("running with too many", after.running - before.running, 0);

	for (int i = 0; i < nr; i++)
		event_disable(fd[i]);
	before = read_timed_count(leader);
	spin_ms(2);
	after = read_timed_count(leader);
	/* Kernels that give no reasons wait for the next tick with a rotation. */
	return good & expect_between("running again", after.running - before.running,
				     kernel_gives_reasons() ? after.enabled - before.enabled : 1,
				     after.enabled - before.enabled);
}

/* More of them than a schedule has slots. */
static bool more_counters_than_slots(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct timed_count t;
	int leader, fd[70];

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	attr.read_format = FORMAT_TIMES;
	leader = open_self(&attr, -1);
	for (int i = 0; i < 70; i++)
		fd[i] = open_self(&attr, leader);
	for (int i = 0; i < 70; i++)
		event_enable(fd[i]);
	event_enable(leader);
	spin_ms(2);
	t = read_timed_count(leader);
	return expect_between("enabled", t.enabled, 1900000, UINT64_MAX) &
	       expect_eq("running", t.running, 0);
}

/* A breakpoint is scheduled like a software event: it can join any group, and counts with it. */
static bool breakpoint_in_hardware_group(void)
{
	struct perf_event_attr bp = perf_attr(PERF_TYPE_BREAKPOINT, 0);
	struct perf_event_attr hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	static volatile long watched;
	int leader, fd;

	if (!event_available(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		skip_case("no cycle counter");
	bp.bp_type = 2;
	bp.bp_addr = (uintptr_t)&watched;
	bp.bp_len = sizeof(watched);
	bp.exclude_kernel = 1;
	fd = perf_open(&bp, 0, -1, -1, 0);
	if (fd < 0)
		skip_case("no breakpoints");
	close(fd);
	leader = open_self(&hw, -1);
	fd = open_self(&bp, leader);
	watched = 1;
	event_enable(leader);
	for (int i = 0; i < 10; i++)
		watched = i;
	event_disable(leader);
	watched = 2;
	return expect_eq("writes", perf_count(fd), 10) &
	       expect_between("cycles", perf_count(leader), 1, UINT64_MAX / 2);
}

/* Cycles of one kind of core of a hybrid machine. */
static struct perf_event_attr core_attr(const char *pmu)
{
	int type = perf_pmu_type(pmu);

	if (type < 0)
		skip_case("one hardware PMU");
	return hw_attr((uint64_t)type << PERF_PMU_TYPE_SHIFT | PERF_COUNT_HW_CPU_CYCLES, "u");
}

/* Two hardware PMUs cannot be in one group, also below a software leader. */
static bool no_group_of_two_pmus(void)
{
	struct perf_event_attr core = core_attr("cpu_core"), atom = core_attr("cpu_atom");
	struct perf_event_attr dummy = sw_attr(DUMMY);
	int leader = open_self(&core, -1), software = open_self(&dummy, -1), fd;
	bool good;

	fd = perf_open(&atom, 0, -1, leader, 0);
	good = expect_refused("led by hardware", fd, EINVAL, "another PMU");
	open_self(&core, leader);
	open_self(&core, software);
	fd = perf_open(&atom, 0, -1, software, 0);
	return good & expect_refused("led by software", fd, EINVAL, "another PMU");
}

/* Members need the CPU, the task and the clock of their leader. */
static bool group_rules(void)
{
	struct perf_event_attr attr = sw_attr(DUMMY);
	int self = open_self(&attr, -1), cpu, fd;
	pid_t pid = fork_waiting_child();
	bool good = true;

	cpu = MUST(perf_open(&attr, -1, 0, -1, 0));
	fd = perf_open(&attr, pid, -1, self, 0);
	good &= expect_refused("another task", fd, EINVAL, "leader");
	fd = perf_open(&attr, 0, -1, cpu, 0);
	good &= expect_refused("a task's in a CPU's group", fd, EINVAL, "leader");
	fd = perf_open(&attr, -1, 0, self, 0);
	good &= expect_refused("a CPU's in a task's group", fd, EINVAL, "leader");
	fd = perf_open(&attr, 0, 0, self, 0);
	good &= expect_refused("a CPU that the leader has not", fd, EINVAL, "leader");
	fd = perf_open(&attr, 0, -1, open_self(&attr, self), 0);
	good &= expect_refused("a sibling as the leader", fd, EINVAL, "leader");
	attr.pinned = 1;
	fd = perf_open(&attr, 0, -1, self, 0);
	good &= expect_refused("a pinned sibling", fd, EINVAL, "pinned");
	attr.pinned = 0;
	attr.exclusive = 1;
	fd = perf_open(&attr, 0, -1, self, 0);
	good &= expect_refused("an exclusive sibling", fd, EINVAL, "exclusive");
	attr.exclusive = 0;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd = perf_open(&attr, 0, -1, self, 0);
	good &= expect_refused("a sibling with another clock", fd, EINVAL, "clock");
	kill_child(pid);
	return good;
}

static bool no_group_flag(void)
{
	struct perf_event_attr attr = sw_format(DUMMY, PERF_FORMAT_GROUP);
	int first = open_self(&attr, -1);
	int second = MUST(perf_open(&attr, 0, -1, first, PERF_FLAG_FD_NO_GROUP));
	struct reading r;

	return read_in_format(first, attr.read_format, &r) && expect_eq("members", r.nr, 1) &&
	       read_in_format(second, attr.read_format, &r) && expect_eq("members", r.nr, 1);
}

/* Returns the time that closing a hardware leader with @nr software siblings takes. */
static uint64_t time_of_close(unsigned int nr)
{
	struct perf_event_attr leads = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u"),
			       attr = sw_attr(DUMMY);
	uint64_t before;
	int leader, fd = -1;

	leads.disabled = 0;
	leader = open_self(&leads, -1);
	for (unsigned int i = 0; i < nr; i++)
		fd = open_self(&attr, leader);
	before = monotonic_ns();
	close(leader);
	before = monotonic_ns() - before;
	for (unsigned int i = 0; i < nr; i++)
		close(fd - i);
	return before;
}

/* Interrupts are disabled meanwhile: four times as many siblings take about four times as long. */
static bool closing_a_leader_is_linear(void)
{
	struct rlimit limit = { 8192, 8192 };
	uint64_t few, many;

	require_instruction_counters(1);
	MUST(setrlimit(RLIMIT_NOFILE, &limit));
	few = time_of_close(1000);
	many = time_of_close(4000);
	return expect_between("thousandths of four times the time", many * 1000 / (4 * few), 0,
			      2000);
}

static const struct test tests[] = {
	{ "every read format, and its short buffers", every_format },
	{ "a sibling reads its group", sibling_reads_group },
	{ "ids are unique and rising", ids_are_unique },
	{ "the largest group", largest_group },
	{ "the read of one sibling limits its group", sibling_limits_group },
	{ "members leave a group", members_leave },
	{ "a member leaves a group before it is inherited", closed_before_fork },
	{ "members are closed after their task has ended", members_are_closed_after_exit },
	{ "siblings outlive their leader", siblings_outlive_leader },
	{ "a disabled leader disables its group", leader_rules },
	{ "pinned events that do not fit read as end of file", pinned_fails },
	{ "an exclusive event counts alone, in turns", exclusive_is_alone },
	{ "an exclusive pinned event keeps the PMU", exclusive_pinned },
	{ "a software leader with hardware siblings", software_leads_hardware },
	{ "a hardware leader with software siblings", hardware_leads_software },
	{ "a software leader whose hardware sibling has left", software_left_by_hardware },
	{ "the same behind more events than there are counters", software_left_in_a_queue },
	{ "software events count only while their group does", software_waits_with_its_group },
	{ "a hardware event joins a group of 80 software events", hardware_joins_many_software },
	{ "disabled siblings need no counter", disabled_siblings_need_no_counter },
	{ "a group of more counters than a schedule has slots", more_counters_than_slots },
	{ "a breakpoint in a hardware group", breakpoint_in_hardware_group },
	{ "no group of two hardware PMUs", no_group_of_two_pmus },
	{ "a leader with many siblings is closed", closing_a_leader_is_linear },
	{ "which events may join a group", group_rules },
	{ "FD_NO_GROUP makes no group", no_group_flag },
};

TESTS_MAIN(tests)
