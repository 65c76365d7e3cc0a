// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on an open event: the ioctls that concern counting, for the event, its group and its
 * children, and prctl(2) for all events of a task.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "readings.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#include <poll.h>

#define PAGES	40

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	return attr;
}

/* All that fault_pages() itself needs is mapped after its first run. */
static void warm_up(void)
{
	fault_pages(2);
}

static bool enable_and_disable(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1);
	bool good = true;

	warm_up();
	fault_pages(PAGES);
	good &= expect_eq("before", perf_count(fd), 0);
	event_enable(fd);
	event_enable(fd);
	fault_pages(PAGES);
	good &= expect_eq("enabled", perf_count(fd), PAGES);
	event_disable(fd);
	event_disable(fd);
	fault_pages(PAGES);
	good &= expect_eq("disabled", perf_count(fd), PAGES);
	event_enable(fd);
	fault_pages(PAGES);
	return good & expect_eq("enabled again", perf_count(fd), 2 * PAGES);
}

/* What is not multiplexed runs whenever it is enabled: both times are the same, to the ns. */
static bool runs_when_enabled(int fd, int sibling)
{
	struct timed_count leader, member;
	bool good;

	for (int i = 0; i < 200; i++) {
		event_enable(fd);
		event_disable(fd);
	}
	leader = read_timed_count(fd);
	member = read_timed_count(sibling);
	good = expect_eq("leader: has run", leader.running > 0, 1);
	good &= expect_eq("leader: running", leader.running, leader.enabled);
	return good & expect_eq("sibling: running", member.running, member.enabled);
}

static bool toggled_times(void)
{
	struct perf_event_attr attr = fault_attr();
	bool good = true;
	int fd;

	attr.read_format = FORMAT_TIMES;
	fd = open_self(&attr, -1);
	good &= runs_when_enabled(fd, fd);
	MUST(pin_to_cpu(0));
	fd = MUST(perf_open(&attr, -1, 0, -1, 0));
	good &= runs_when_enabled(fd, fd);
	fd = open_self(&attr, -1);
	attr.disabled = 0;
	return good & runs_when_enabled(fd, open_self(&attr, fd));
}

/* FLAG_GROUP acts on the whole group, through any of its members. */
static bool flag_group(void)
{
	struct perf_event_attr attr = fault_attr();
	int leader = open_self(&attr, -1), second, third;
	bool good = true;

	second = open_self(&attr, leader);
	third = open_self(&attr, leader);
	warm_up();
	event_enable(leader);		/* alone: the siblings stay disabled */
	fault_pages(PAGES);
	good &= expect_eq("leader", perf_count(leader), PAGES);
	good &= expect_eq("sibling", perf_count(second), 0);
	MUST(ioctl(third, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	fault_pages(PAGES);
	good &= expect_eq("leader", perf_count(leader), 2 * PAGES);
	good &= expect_eq("sibling", perf_count(second), PAGES);
	good &= expect_eq("sibling", perf_count(third), PAGES);
	MUST(ioctl(second, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
	good &= expect_eq("leader, reset", perf_count(leader), 0);
	good &= expect_eq("sibling, reset", perf_count(third), 0);
	MUST(ioctl(second, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	fault_pages(PAGES);
	good &= expect_eq("leader, disabled", perf_count(leader), 0);
	return good & expect_eq("sibling, disabled", perf_count(third), 0);
}

/* A group of different PMUs is enabled for as long as each of its members, to the nanosecond. */
static bool group_has_one_time(void)
{
	struct perf_event_attr attr = fault_attr(), hw = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct timed_count r[4];
	bool good = true;
	int fd[4];

	attr.read_format = FORMAT_TIMES;
	hw.read_format = FORMAT_TIMES;
	fd[0] = open_self(&hw, -1);
	fd[1] = open_self(&attr, fd[0]);
	fd[2] = open_self(&hw, fd[0]);
	fd[3] = open_self(&attr, fd[0]);
	for (int turn = 0; turn < 3; turn++) {
		MUST(ioctl(fd[turn], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
		fault_pages(PAGES);
		MUST(ioctl(fd[3 - turn], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	}
	for (int i = 0; i < 4; i++) {
		r[i] = read_timed_count(fd[i]);
		good &= expect_eq("enabled", r[i].enabled, r[0].enabled);
		good &= expect_eq("running", r[i].running, r[0].enabled);
	}
	good &= expect(r[0].enabled > 0, "the group was enabled");
	good &= expect_eq("page faults", r[1].value, 3 * PAGES);
	return good & expect_eq("page faults, the second", r[3].value, 3 * PAGES);
}

static bool reset_counts_from_zero(void)
{
	struct perf_event_attr attr = fault_attr();
	int leader = open_self(&attr, -1), sibling = open_self(&attr, leader);
	bool good = true;

	warm_up();
	MUST(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	fault_pages(PAGES);
	MUST(ioctl(leader, PERF_EVENT_IOC_RESET, 0));
	good &= expect_eq("reset", perf_count(leader), 0);
	good &= expect_eq("not reset", perf_count(sibling), PAGES);
	fault_pages(PAGES);
	good &= expect_eq("since", perf_count(leader), PAGES);
	return good & expect_eq("in all", perf_count(sibling), 2 * PAGES);
}

/* A reset clears the event and each of its children that run. */
static bool reset_with_children(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), done = gate_new();
	bool good = true;
	uint64_t before;
	pid_t pid;
	int fd;

	attr.inherit = 1;
	fd = open_self(&attr, -1);
	event_enable(fd);
	pid = fork_child();
	if (!pid) {
		for (;;) {
			fault_pages(PAGES);
			gate_open(&done);
			gate_wait(&go);
		}
	}
	gate_wait(&done);
	good &= expect_between("before", perf_count(fd), PAGES, 10 * PAGES);
	for (unsigned int flag = 0; flag <= PERF_IOC_FLAG_GROUP; flag++) {
		MUST(ioctl(fd, PERF_EVENT_IOC_DISABLE, flag));
		MUST(ioctl(fd, PERF_EVENT_IOC_RESET, flag));
		good &= expect_eq("reset", perf_count(fd), 0);
		gate_open(&go);
		gate_wait(&done);
		good &= expect_eq("child is disabled, too", perf_count(fd), 0);
		MUST(ioctl(fd, PERF_EVENT_IOC_ENABLE, flag));
		before = perf_count(fd);
		gate_open(&go);
		gate_wait(&done);
		good &= expect_between("child is enabled", perf_count(fd) - before, PAGES,
				       PAGES + 10);
	}
	kill_child(pid);
	return good;
}

static bool event_ids(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t id = 0, again = 0;
	int fd = open_self(&attr, -1);

	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &id));
	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &again));
	return expect_between("id", id, 1, UINT64_MAX) & expect_eq("id", again, id) &
	       expect_refused("no room for it", ioctl(fd, PERF_EVENT_IOC_ID, 8), EFAULT, NULL);
}

/* REFRESH disables the event after so many overflows. */
static bool refresh_counts_down(void)
{
	struct perf_event_attr attr = fault_attr();
	struct pollfd p = { .events = POLLIN };
	bool good = true;
	void *map;
	int fd;

	attr.sample_period = 10;
	attr.wakeup_events = 1;
	fd = open_self(&attr, -1);
	p.fd = fd;
	map = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail_case("mmap");
	warm_up();
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3));
	fault_pages(25);
	good &= expect_eq("after two", perf_count(fd), 25);
	fault_pages(25);
	good &= expect_eq("after three", perf_count(fd), 30);
	good &= expect_eq("poll", poll(&p, 1, 0), 1);
	good &= expect_eq("POLLIN", p.revents, POLLIN);
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
	fault_pages(25);
	good &= expect_eq("after one more", perf_count(fd), 40);
	/* Without a limit: enabled until disabled. */
	MUST(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	fault_pages(25);
	return good & expect_eq("enabled", perf_count(fd), 65);
}

/* A REFRESH adds to what is left of the one before. */
static bool refresh_adds_up(void)
{
	struct perf_event_attr attr = fault_attr();
	struct ring ring;
	bool good;
	int fd;

	attr.sample_period = 1;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 1))
		fail_case("mmap");
	warm_up();
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3));
	fault_pages(1);
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3));
	fault_pages(20);
	good = expect_eq("faults until disabled", perf_count(fd), 6);
	return good & expect_eq("samples", ring_count(&ring, PERF_RECORD_SAMPLE), 6);
}

static bool refresh_needs_sampling(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1);
	bool good;

	good = expect_refused("a counting event", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL,
			      "refresh");
	attr.sample_period = 10;
	attr.inherit = 1;
	fd = open_self(&attr, -1);
	return good & expect_refused("an inherited event", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1),
				     EINVAL, "inherit");
}

static bool period_values(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t p = 0;
	bool good;
	int fd;

	fd = open_self(&attr, -1);
	p = 5;
	good = expect_refused("a counting event", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), EINVAL,
			      "period");
	attr.sample_period = 100;
	fd = open_self(&attr, -1);
	p = 0;
	good &= expect_refused("no period", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), EINVAL, "period");
	p = 1ull << 63;
	good &= expect_refused("bit 63", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), EINVAL, "period");
	good &= expect_refused("a bad address", ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), EFAULT, NULL);
	p = 50;
	return good & expect_eq("a period", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), 0);
}

/* The new period takes effect at once: two overflows after 2 * 50 faults, not 2 * 10000. */
static bool period_takes_effect(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t p = 50;
	int fd;

	if (!kernel_gives_reasons())
		skip_case("this kernel ends the old period of a software event first");
	attr.sample_period = 10000;
	fd = open_self(&attr, -1);
	warm_up();
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2));
	MUST(ioctl(fd, PERF_EVENT_IOC_PERIOD, &p));
	fault_pages(300);
	/* The current period ends at once or after 50, depending on the PMU. */
	return expect_between("faults until disabled", perf_count(fd), 51, 101);
}

static bool unknown_ioctl(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1);

	return expect_refused("unknown", ioctl(fd, _IO('$', 100), 0), ENOTTY, "ioctl");
}

/* A child that takes PAGES faults each time @go is opened, and then opens @done. */
static pid_t fork_fault_server(struct gate *go, struct gate *done)
{
	pid_t pid = fork_child();

	if (!pid) {
		for (;;) {
			gate_wait(go);
			fault_pages(PAGES);
			gate_open(done);
		}
	}
	gate_open(go);		/* maps what the child needs */
	gate_wait(done);
	return pid;
}

/* prctl(2) switches the events that the caller opened, on any task, and no others. */
static bool prctl_switches_own_events(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), done = gate_new();
	int mine, its, sibling;
	bool good = true;
	pid_t pid;

	pid = fork_fault_server(&go, &done);
	mine = open_self(&attr, -1);
	sibling = open_self(&attr, mine);
	its = MUST(perf_open(&attr, pid, -1, -1, 0));
	warm_up();
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
	fault_pages(PAGES);
	gate_open(&go);
	gate_wait(&done);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	fault_pages(PAGES);
	gate_open(&go);
	gate_wait(&done);
	good &= expect_eq("mine", perf_count(mine), PAGES);
	good &= expect_eq("its sibling", perf_count(sibling), PAGES);
	good &= expect_between("the child's, that I opened", perf_count(its), PAGES, PAGES + 10);
	kill_child(pid);
	return good;
}

/* What children have inherited is switched with the event of the caller. */
static bool prctl_switches_children(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), done = gate_new();
	bool good = true;
	pid_t pid;
	int fd;

	attr.inherit = 1;
	fd = open_self(&attr, -1);
	pid = fork_fault_server(&go, &done);
	warm_up();
	good &= expect_eq("disabled", perf_count(fd), 0);
	for (unsigned int turn = 1; turn <= 2; turn++) {
		MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
		gate_open(&go);
		gate_wait(&done);
		MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
		good &= expect_eq("enabled", perf_count(fd), turn * PAGES);
		gate_open(&go);
		gate_wait(&done);
		good &= expect_eq("disabled again", perf_count(fd), turn * PAGES);
	}
	kill_child(pid);
	return good;
}

/* Events of the same memory are opened later, by a child, which prctl() must not enable. */
static bool prctl_skips_closed_events(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), ready = gate_new();
	pid_t pid = getpid(), child;
	int fd[60], mine;

	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
		fd[i] = open_self(&attr, -1);
	for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	sleep_ms(30);
	child = fork_child();
	if (!child) {
		bool good = true;

		for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
			fd[i] = MUST(perf_open(&attr, pid, -1, -1, 0));
		gate_open(&ready);
		gate_wait(&go);
		for (unsigned int i = 0; i < ARRAY_SIZE(fd); i++)
			good &= expect_eq("an event of the child", perf_count(fd[i]), 0);
		_exit(!good);
	}
	gate_wait(&ready);
	mine = open_self(&attr, -1);
	warm_up();
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
	fault_pages(PAGES);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	gate_open(&go);
	return child_succeeded(child) & expect_eq("an event opened since", perf_count(mine), PAGES);
}

static bool prctl_leaves_foreign_events(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t before, after;
	pid_t pid = getpid(), child;
	struct gate go = gate_new(), ready = gate_new();

	warm_up();
	child = fork_child();
	if (!child) {
		int fd;

		attr.disabled = 0;
		fd = MUST(perf_open(&attr, pid, -1, -1, 0));
		before = perf_count(fd);
		gate_open(&ready);
		gate_wait(&go);
		after = perf_count(fd);
		_exit(!expect_between("counted on", after - before, PAGES, PAGES + 10));
	}
	gate_wait(&ready);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	fault_pages(PAGES);
	gate_open(&go);
	return child_succeeded(child);
}

/* The file may be passed to another task: the last user frees the event. */
static bool descriptor_is_passed_on(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1), copy;
	struct gate go = gate_new();
	bool good = true;
	uint64_t before;
	pid_t pid;

	warm_up();
	event_enable(fd);
	copy = dup(fd);
	close(fd);
	fault_pages(PAGES);
	good &= expect_eq("through a copy", perf_count(copy), PAGES);
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);	/* the parent has copied it */
		sleep_ms(20);
		before = perf_count(copy);
		fault_pages(PAGES);	/* not inherited: not counted */
		_exit(!expect_eq("in the child", perf_count(copy), before));
	}
	warm_up();
	gate_open(&go);
	return good & child_succeeded(pid);
}

/* An event keeps its count after its task has exited. */
static bool outlives_its_task(void)
{
	struct perf_event_attr attr = fault_attr();
	struct pollfd p = { .events = POLLIN };
	struct gate go = gate_new(), done = gate_new();
	volatile struct perf_event_mmap_page *page;
	uint64_t count;
	pid_t pid = fork_child();
	bool good;

	if (!pid) {
		warm_up();
		gate_wait(&go);
		fault_pages(PAGES);
		gate_open(&done);
		gate_wait(&go);
		_exit(0);
	}
	p.fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	page = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, p.fd, 0);
	if (page == MAP_FAILED)
		fail_case("mmap");
	event_enable(p.fd);
	gate_open(&go);
	gate_wait(&done);
	event_disable(p.fd);
	good = expect_eq("user page", page->offset, perf_count(p.fd));
	event_enable(p.fd);
	gate_open(&go);
	good &= child_succeeded(pid);
	count = perf_count(p.fd);
	good &= expect_between("count", count, PAGES, PAGES + 30);
	event_enable(p.fd);
	event_disable(p.fd);
	good &= expect_eq("count, again", perf_count(p.fd), count);
	good &= expect_eq("poll", poll(&p, 1, 1000), 1);
	good &= expect_eq("POLLHUP", p.revents & POLLHUP, POLLHUP);
	MUST(ioctl(p.fd, PERF_EVENT_IOC_RESET, 0));
	good &= expect_eq("user page, reset", page->offset, 0);
	return good & expect_eq("count, reset", perf_count(p.fd), 0);
}

/*
 * Enabled while the task sleeps, on the CPU where it ran and will run. The first event makes sure
 * that the context of the task has been on that CPU.
 */
static bool enabled_asleep(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), done = gate_new();
	int first, second, elsewhere;
	bool good = true;
	pid_t pid;

	require_cpus(2);
	pid = fork_child();
	if (!pid) {
		MUST(pin_to_cpu(0));
		warm_up();
		for (;;) {
			gate_wait(&go);
			fault_pages(PAGES);
			gate_open(&done);
		}
	}
	gate_open(&go);		/* maps what the child needs */
	gate_wait(&done);
	first = MUST(perf_open(&attr, pid, 0, -1, 0));
	second = MUST(perf_open(&attr, pid, 0, -1, 0));
	elsewhere = MUST(perf_open(&attr, pid, 1, -1, 0));
	event_enable(first);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= expect_eq("first", perf_count(first), PAGES);

	event_enable(second);
	event_enable(elsewhere);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= expect_eq("enabled asleep", perf_count(second), PAGES);

	event_disable(second);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= expect_eq("disabled asleep", perf_count(second), PAGES);

	event_enable(second);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= expect_eq("enabled again", perf_count(second), 2 * PAGES);
	good &= expect_eq("first, all the time", perf_count(first), 4 * PAGES);
	good &= expect_eq("another CPU's", perf_count(elsewhere), 0);
	kill_child(pid);
	return good;
}

static volatile unsigned int signals;

static void count_signal(int nr)
{
	(void)nr;
	signals++;
}

/* Each record, not only samples, although there is no poll(). */
static bool signals_per_record(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	void *map;
	int fd;

	attr.context_switch = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = 1;
	fd = open_self(&attr, -1);
	map = mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail_case("mmap");
	signal(SIGIO, count_signal);
	MUST(fcntl(fd, F_SETOWN, getpid()));
	MUST(fcntl(fd, F_SETFL, O_ASYNC));
	for (int i = 0; i < 20; i++)
		usleep(2000);
	MUST(fcntl(fd, F_SETFL, 0));
	/* A signal can end the next sleep before it has begun. */
	return expect_between("signals", signals, 10, 1000);
}

static const struct test tests[] = {
	{ "ENABLE and DISABLE", enable_and_disable },
	{ "ENABLE and DISABLE: running as long as enabled", toggled_times },
	{ "FLAG_GROUP", flag_group },
	{ "FLAG_GROUP: all members have the same times", group_has_one_time },
	{ "ENABLE while the task sleeps, bound to the CPU where it was", enabled_asleep },
	{ "RESET", reset_counts_from_zero },
	{ "RESET, ENABLE and DISABLE reach children", reset_with_children },
	{ "IOC_ID", event_ids },
	{ "REFRESH disables after so many overflows", refresh_counts_down },
	{ "REFRESH adds to the overflows that are left", refresh_adds_up },
	{ "REFRESH is refused for counting events", refresh_needs_sampling },
	{ "PERIOD: values that are refused", period_values },
	{ "PERIOD takes effect at once", period_takes_effect },
	{ "an unknown ioctl", unknown_ioctl },
	{ "SIGIO for each record", signals_per_record },
	{ "prctl switches the events that the caller opened", prctl_switches_own_events },
	{ "prctl switches what children have inherited", prctl_switches_children },
	{ "prctl leaves out the events that were closed", prctl_skips_closed_events },
	{ "prctl leaves the events that others opened", prctl_leaves_foreign_events },
	{ "a copied descriptor keeps the event", descriptor_is_passed_on },
	{ "an event outlives its task", outlives_its_task },
};

TESTS_MAIN(tests)
