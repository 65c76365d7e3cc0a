// SPDX-License-Identifier: GPL-2.0
/*
 * What is done to an event that is open: the ioctls that concern counting, each for the event, for
 * its group and for its children, and prctl(2) for all of a task's.
 */
#include "workload.h"

#include <poll.h>

#define PAGES	40

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	return attr;
}

/* What fault() itself needs is there after it ran once. */
static void warm_up(void)
{
	fault(2);
}

static bool enable_and_disable(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1);
	bool good = true;

	warm_up();
	fault(PAGES);
	good &= same("before", perf_count(fd), 0);
	enable(fd);
	enable(fd);
	fault(PAGES);
	good &= same("enabled", perf_count(fd), PAGES);
	disable(fd);
	disable(fd);
	fault(PAGES);
	good &= same("disabled", perf_count(fd), PAGES);
	enable(fd);
	fault(PAGES);
	return good & same("enabled again", perf_count(fd), 2 * PAGES);
}

/* FLAG_GROUP acts on the whole group, whichever member it is said to. */
static bool flag_group(void)
{
	struct perf_event_attr attr = fault_attr();
	int leader = open_self(&attr, -1), second, third;
	bool good = true;

	second = open_self(&attr, leader);
	third = open_self(&attr, leader);
	warm_up();
	enable(leader);		/* alone: the siblings stay disabled */
	fault(PAGES);
	good &= same("leader", perf_count(leader), PAGES);
	good &= same("sibling", perf_count(second), 0);
	MUST(ioctl(third, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	fault(PAGES);
	good &= same("leader", perf_count(leader), 2 * PAGES);
	good &= same("sibling", perf_count(second), PAGES);
	good &= same("sibling", perf_count(third), PAGES);
	MUST(ioctl(second, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP));
	good &= same("leader, reset", perf_count(leader), 0);
	good &= same("sibling, reset", perf_count(third), 0);
	MUST(ioctl(second, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP));
	fault(PAGES);
	good &= same("leader, disabled", perf_count(leader), 0);
	return good & same("sibling, disabled", perf_count(third), 0);
}

static bool reset_counts_from_zero(void)
{
	struct perf_event_attr attr = fault_attr();
	int leader = open_self(&attr, -1), sibling = open_self(&attr, leader);
	bool good = true;

	warm_up();
	MUST(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	fault(PAGES);
	MUST(ioctl(leader, PERF_EVENT_IOC_RESET, 0));
	good &= same("reset", perf_count(leader), 0);
	good &= same("not reset", perf_count(sibling), PAGES);
	fault(PAGES);
	good &= same("since", perf_count(leader), PAGES);
	return good & same("in all", perf_count(sibling), 2 * PAGES);
}

/* Reset concerns the event and each of its children that live. */
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
	enable(fd);
	pid = fork_child();
	if (!pid) {
		for (;;) {
			fault(PAGES);
			gate_open(&done);
			gate_wait(&go);
		}
	}
	gate_wait(&done);
	good &= between("before", perf_count(fd), PAGES, 10 * PAGES);
	disable(fd);
	MUST(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	good &= same("reset", perf_count(fd), 0);
	gate_open(&go);
	gate_wait(&done);
	good &= same("child is disabled, too", perf_count(fd), 0);
	enable(fd);
	before = perf_count(fd);
	gate_open(&go);
	gate_wait(&done);
	good &= between("child is enabled", perf_count(fd) - before, PAGES, PAGES + 10);
	end_child(pid);
	return good;
}

static bool ids(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t id = 0, again = 0;
	int fd = open_self(&attr, -1);

	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &id));
	MUST(ioctl(fd, PERF_EVENT_IOC_ID, &again));
	return between("id", id, 1, UINT64_MAX) & same("id", again, id) &
	       refused("no room for it", ioctl(fd, PERF_EVENT_IOC_ID, 8), EFAULT, NULL);
}

/* REFRESH lets an event overflow so many times, then disables it. */
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
	fault(25);
	good &= same("after two", perf_count(fd), 25);
	fault(25);
	good &= same("after three", perf_count(fd), 30);
	good &= same("poll", poll(&p, 1, 0), 1);
	good &= between("POLLIN and POLLHUP", p.revents, POLLIN, POLLIN | POLLHUP);
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
	fault(25);
	good &= same("after one more", perf_count(fd), 40);
	/* A limit that is not one: enabled without end. */
	MUST(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	fault(25);
	return good & same("enabled", perf_count(fd), 65);
}

static bool refresh_needs_sampling(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1);
	bool good;

	good = refused("a counting event", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL, "refresh");
	attr.sample_period = 10;
	attr.inherit = 1;
	fd = open_self(&attr, -1);
	return good & refused("an inherited event", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1), EINVAL,
			      "inherit");
}

static bool period(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t p = 0;
	bool good;
	int fd;

	fd = open_self(&attr, -1);
	p = 5;
	good = refused("a counting event", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), EINVAL, "period");
	attr.sample_period = 100;
	fd = open_self(&attr, -1);
	p = 0;
	good &= refused("no period", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), EINVAL, "period");
	p = 1ull << 63;
	good &= refused("bit 63", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), EINVAL, "period");
	good &= refused("a bad address", ioctl(fd, PERF_EVENT_IOC_PERIOD, 8), EFAULT, NULL);
	p = 50;
	return good & same("a period", ioctl(fd, PERF_EVENT_IOC_PERIOD, &p), 0);
}

/* The new period holds at once: two overflows come after 2 * 50 faults, not 2 * 10000. */
static bool period_takes_effect(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t p = 50;
	int fd;

	if (!says_why())
		skip_case("this kernel ends the old period of a software event first");
	attr.sample_period = 10000;
	fd = open_self(&attr, -1);
	warm_up();
	MUST(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2));
	MUST(ioctl(fd, PERF_EVENT_IOC_PERIOD, &p));
	fault(300);
	/* The period that is under way ends at once or after 50, as the PMU has it. */
	return between("faults until disabled", perf_count(fd), 51, 101);
}

static bool unknown_ioctl(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1);

	return refused("unknown", ioctl(fd, _IO('$', 100), 0), ENOTTY, "ioctl");
}

/* prctl(2) switches the events that the caller opened, for whomever, and no others. */
static bool prctl_switches_own_events(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), done = gate_new();
	int mine, its, sibling;
	bool good = true;
	pid_t pid;

	pid = fork_child();
	if (!pid) {
		for (;;) {
			gate_wait(&go);
			fault(PAGES);
			gate_open(&done);
		}
	}
	gate_open(&go);		/* what its part of this needs is there, then */
	gate_wait(&done);
	mine = open_self(&attr, -1);
	sibling = open_self(&attr, mine);
	its = MUST(perf_open(&attr, pid, -1, -1, 0));
	warm_up();
	MUST(prctl(PR_TASK_PERF_EVENTS_ENABLE));
	fault(PAGES);
	gate_open(&go);
	gate_wait(&done);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	fault(PAGES);
	gate_open(&go);
	gate_wait(&done);
	good &= same("mine", perf_count(mine), PAGES);
	good &= same("its sibling", perf_count(sibling), PAGES);
	good &= between("the child's, that I opened", perf_count(its), PAGES, PAGES + 10);
	end_child(pid);
	return good;
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
		_exit(!between("counted on", after - before, PAGES, PAGES + 10));
	}
	gate_wait(&ready);
	MUST(prctl(PR_TASK_PERF_EVENTS_DISABLE));
	fault(PAGES);
	gate_open(&go);
	return child_was_good(child);
}

/* The file may be another task's by now: the event goes with its last user. */
static bool descriptor_is_passed_on(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = open_self(&attr, -1), copy;
	struct gate go = gate_new();
	bool good = true;
	uint64_t before;
	pid_t pid;

	warm_up();
	enable(fd);
	copy = dup(fd);
	close(fd);
	fault(PAGES);
	good &= same("through a copy", perf_count(copy), PAGES);
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);	/* until the parent has copied what it writes to */
		sleep_ms(20);
		before = perf_count(copy);
		fault(PAGES);	/* not inherited: not counted */
		_exit(!same("in the child", perf_count(copy), before));
	}
	warm_up();
	gate_open(&go);
	return good & child_was_good(pid);
}

/* After its task is gone an event keeps its count. */
static bool outlives_its_task(void)
{
	struct perf_event_attr attr = fault_attr();
	struct pollfd p = { .events = POLLIN };
	struct gate go = gate_new();
	uint64_t count;
	pid_t pid = fork_child();
	bool good;

	if (!pid) {
		warm_up();
		gate_wait(&go);
		fault(PAGES);
		_exit(0);
	}
	p.fd = MUST(perf_open(&attr, pid, -1, -1, 0));
	enable(p.fd);
	gate_open(&go);
	good = child_was_good(pid);
	count = perf_count(p.fd);
	good &= between("count", count, PAGES, PAGES + 30);
	enable(p.fd);
	disable(p.fd);
	good &= same("count, again", perf_count(p.fd), count);
	good &= same("poll", poll(&p, 1, 1000), 1);
	good &= same("POLLHUP", p.revents & POLLHUP, POLLHUP);
	MUST(ioctl(p.fd, PERF_EVENT_IOC_RESET, 0));
	return good & same("count, reset", perf_count(p.fd), 0);
}

/*
 * Enabled while the task is asleep, for the CPU on which it was before and will be again. The first
 * event makes sure that the task's events have been on that CPU.
 */
static bool enabled_asleep(void)
{
	struct perf_event_attr attr = fault_attr();
	struct gate go = gate_new(), done = gate_new();
	int first, second, elsewhere;
	bool good = true;
	pid_t pid;

	need_cpus(2);
	pid = fork_child();
	if (!pid) {
		MUST(pin_to_cpu(0));
		warm_up();
		for (;;) {
			gate_wait(&go);
			fault(PAGES);
			gate_open(&done);
		}
	}
	gate_open(&go);		/* what its part of this needs is there, then */
	gate_wait(&done);
	first = MUST(perf_open(&attr, pid, 0, -1, 0));
	second = MUST(perf_open(&attr, pid, 0, -1, 0));
	elsewhere = MUST(perf_open(&attr, pid, 1, -1, 0));
	enable(first);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= same("first", perf_count(first), PAGES);

	enable(second);
	enable(elsewhere);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= same("enabled asleep", perf_count(second), PAGES);

	disable(second);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= same("disabled asleep", perf_count(second), PAGES);

	enable(second);
	gate_open(&go);
	gate_wait(&done);
	sleep_ms(50);
	good &= same("enabled again", perf_count(second), 2 * PAGES);
	good &= same("first, all the time", perf_count(first), 4 * PAGES);
	good &= same("another CPU's", perf_count(elsewhere), 0);
	end_child(pid);
	return good;
}

static volatile unsigned int signals;

static void count_signal(int nr)
{
	(void)nr;
	signals++;
}

/* Any record, not only samples, and although nobody ever polls. */
static bool signal_for_each_record(void)
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
	return between("signals", signals, 20, 1000);
}

static const struct test tests[] = {
	{ "ENABLE and DISABLE", enable_and_disable },
	{ "FLAG_GROUP", flag_group },
	{ "ENABLE while the task sleeps, bound to the CPU where it was", enabled_asleep },
	{ "RESET", reset_counts_from_zero },
	{ "RESET, ENABLE and DISABLE reach children", reset_with_children },
	{ "ID", ids },
	{ "REFRESH disables after so many overflows", refresh_counts_down },
	{ "REFRESH is for sampling events alone", refresh_needs_sampling },
	{ "PERIOD: what it refuses", period },
	{ "PERIOD holds at once", period_takes_effect },
	{ "an unknown ioctl", unknown_ioctl },
	{ "SIGIO for each record", signal_for_each_record },
	{ "prctl switches the events that one opened", prctl_switches_own_events },
	{ "prctl leaves the events that others opened", prctl_leaves_foreign_events },
	{ "a copied descriptor keeps the event", descriptor_is_passed_on },
	{ "an event outlives its task", outlives_its_task },
};

TESTS_MAIN(tests)
