// SPDX-License-Identifier: GPL-2.0
/* Several events, tasks and PMUs with AUX areas: groups, children, SET_OUTPUT, exclusive PMUs. */
#include "aux.h"
#include "files.h"
#include "processes.h"
#include "readings.h"

#include <sys/stat.h>
#include <time.h>

/* A task on CPU 0; its event fills an area. The case itself runs on another CPU. */
static pid_t fork_spinning_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		pin_to_cpu(0);
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){});
		for (;;)
			;
	}
	return pid;
}

static struct area open_of_task(pid_t pid, bool mapped)
{
	struct perf_event_attr attr = aux_attr(64);
	struct area area = { .fd = perf_open(&attr, pid, 0, -1, 0) };

	if (area.fd < 0)
		fail_case("test_aux event of a task");
	if (!mapped)
		return area;
	area.user = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED,
			 area.fd, 0);
	if (area.user == MAP_FAILED || map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of a task's event");
	return area;
}

/* Events of tasks that have exited but @runner, which is never switched out. */
struct sharing {
	struct area	area[3];
	pid_t		runner;
};

static struct sharing open_sharing(unsigned int nr, unsigned int mapped, unsigned int runner)
{
	struct sharing s = {};

	if (pin_to_cpu(1))
		skip_case("there is one CPU");
	for (unsigned int i = 0; i < nr; i++) {
		pid_t pid = fork_spinning_child();

		s.area[i] = open_of_task(pid, mapped & 1 << i);
		if (i == runner)
			s.runner = pid;
		else
			kill_child(pid);
	}
	if (ioctl(s.area[1].fd, PERF_EVENT_IOC_SET_OUTPUT, s.area[0].fd))
		fail_case("SET_OUTPUT");
	ioctl(s.area[runner].fd, PERF_EVENT_IOC_ENABLE, 0);
	usleep(10000);
	return s;
}

/*
 * An event that left the area does not fill it any more: the area can be unmapped and mapped again.
 */
static bool leaves_running(void)
{
	struct sharing s = open_sharing(2, 1, 1);
	struct area *a = &s.area[0];
	uint64_t head;
	int error;
	bool ok;

	if (ioctl(s.area[1].fd, PERF_EVENT_IOC_SET_OUTPUT, -1L))
		fail_case("SET_OUTPUT to none");
	head = a->user->aux_head;
	sleep_ms(50);
	ok = expect_eq("written since the event has left", a->user->aux_head - head, 0);
	munmap(a->aux, a->aux_bytes);
	error = map_aux(a, AUX_PAGES, PROT_READ | PROT_WRITE);
	ok &= expect(!error, "unmapped after a running event has left it: %s", strerror(error));
	kill_child(s.runner);
	close(s.area[1].fd);
	close_area(a);
	return ok;
}

/* The event continues in its new area, and writes no record there about the old one. */
static bool changes_running(void)
{
	struct sharing s = open_sharing(3, 5, 1);
	struct area *a = &s.area[0], *c = &s.area[2];
	struct aux_record record;
	bool first;
	int error;
	bool ok;

	ioctl(s.area[1].fd, PERF_EVENT_IOC_SET_OUTPUT, c->fd);
	munmap(a->aux, a->aux_bytes);
	error = map_aux(a, AUX_PAGES, PROT_READ | PROT_WRITE);
	ioctl(s.area[1].fd, PERF_EVENT_IOC_DISABLE, 0);
	first = next_aux_record(c, &record);
	ok = expect(!error && first && !record.offset && record.size == 64 &&
		    c->user->aux_head >= 64 && words_are_right(c, 0, 64),
		    "a running event goes on in another area: %s", strerror(error));
	kill_child(s.runner);
	close(s.area[1].fd);
	close_area(c);
	close_area(a);
	return ok;
}

/* A mapped event of a task that has exited. */
static struct area open_unused_area(void)
{
	pid_t pid = fork_waiting_child();
	struct area area = open_of_task(pid, true);

	kill_child(pid);
	return area;
}

/*
 * The trace of a child on CPU 0, which is not switched out, ends in one area and begins in another.
 * Only the second one has a record.
 */
static bool child_changes_area(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	struct gate ready = gate_new();
	struct area a, c;
	uint64_t head;
	bool good;
	pid_t pid;
	int fd;

	if (pin_to_cpu(1))
		skip_case("there is one CPU");
	a = open_unused_area();
	c = open_unused_area();
	attr.disabled = 0;
	attr.inherit = 1;
	fd = MUST(perf_open(&attr, 0, 0, -1, 0));
	MUST(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, a.fd));
	pid = fork_child();
	if (!pid) {
		pin_to_cpu(0);
		gate_open(&ready);
		for (;;)
			;
	}
	gate_wait(&ready);
	sleep_ms(5);
	records_of(&a);
	head = a.user->aux_head;
	MUST(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c.fd));
	good = expect_eq("SET_OUTPUT: bytes in the old area", a.user->aux_head - head,
			 RANGE_BYTES) &
	       expect_eq("SET_OUTPUT: bytes in the new area", c.user->aux_head, 0);
	kill_child(pid);
	good &= expect_eq("exit: bytes in the old area", a.user->aux_head - head, RANGE_BYTES) &
		expect_eq("exit: bytes in the new area", c.user->aux_head, RANGE_BYTES) &
		expect_eq("records in the old area", records_of(&a), 0) &
		expect_eq("records in the new area", records_of(&c), 1) &
		expect(words_are_right(&c, 0, RANGE_BYTES), "words in the new area");
	close(fd);
	close_area(&c);
	close_area(&a);
	return good;
}

/* The area outlives the mappings of the event that fills it. */
static bool unmapped_by_one(void)
{
	struct sharing s = open_sharing(2, 1, 0);
	struct area *a = &s.area[0], *b = &s.area[1];
	int error;
	bool ok;

	b->user = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->user == MAP_FAILED || map_aux(b, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of an area once more");
	munmap(a->aux, a->aux_bytes);
	munmap(a->user, (1 + DATA_PAGES) * page);
	munmap(b->aux, b->aux_bytes);
	error = map_aux(b, AUX_PAGES, PROT_READ | PROT_WRITE);
	ok = expect(!error, "unmapped by the running event first: %s", strerror(error));
	kill_child(s.runner);
	close(a->fd);
	close_area(b);
	return ok;
}

/* Works in pieces: the task leaves its CPU in between, and multiplexing rotates. */
static void work_and_sleep(void)
{
	for (int i = 0; i < 20; i++) {
		run_loop(100000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* A counter in a group with a trace does not count while the trace has no area. */
static bool group_waits(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct timed_count before, after;
	struct area area;
	bool good;
	int fd;
	bool ok = true;

	area = open_data(aux_attr(RANGE_BYTES));
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	if (fd < 0)
		skip_case("no instruction counter");
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	work_and_sleep();
	after = read_timed_count(fd);
	ok &= expect(!after.value && !after.running && after.enabled,
		     "without an area its group does not count: %llu in %llu of %llu ns",
		     (unsigned long long)after.value, (unsigned long long)after.running,
		     (unsigned long long)after.enabled);

	good = !map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE);
	/* The group starts at a rotation; on a busy host there are few. */
	for (int i = 0; i < 20 && !after.running; i++) {
		work_and_sleep();
		after = read_timed_count(fd);
	}
	ok &= expect(good && after.value && after.running, "and with one it counts");

	munmap(area.aux, area.aux_bytes);
	area.aux = NULL;
	work_and_sleep();
	before = read_timed_count(fd);
	work_and_sleep();
	after = read_timed_count(fd);
	ok &= expect(after.value == before.value && after.running == before.running &&
		     after.enabled > before.enabled, "and when it is gone the group waits again");
	close(fd);
	close_area(&area);
	return ok;
}

/*
 * An enabled event without an area: its group is scheduled again at each switch to the task, for no
 * timer runs while the task sleeps.
 */
static bool mapped_late(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES);
	unsigned int traces;
	struct area area;
	bool ok;

	attr.disabled = 0;
	area = open_data(attr);
	usleep(100000);
	usleep(100000);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	for (int i = 0; i < 10; i++)
		usleep(1000);
	ioctl(area.fd, PERF_EVENT_IOC_DISABLE, 0);
	traces = records_of(&area);
	ok = expect(traces >= 9, "enabled before its area is there: %u traces", traces);
	close_area(&area);
	return ok;
}

/* The events of a child refer to each other as those of the parent do. */
static bool closed_while_inherited(void)
{
	struct perf_event_attr attr = aux_attr(RANGE_BYTES), pause;
	int sibling, status = -1, turns = 0;
	uint64_t counted = 0;
	struct area area;
	cpu_set_t all;
	pid_t pid;
	bool ok;

	sched_getaffinity(0, sizeof(all), &all);
	pin_to_cpu(0);
	attr.inherit = 1;
	area = open_data(attr);
	if (map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	pause = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	pause.sample_period = 1;
	pause.inherit = 1;
	pause.aux_pause = 1;
	sibling = perf_open(&pause, 0, 0, area.fd, 0);
	ioctl(area.fd, PERF_EVENT_IOC_ENABLE, 0);
	pid = sibling >= 0 ? fork() : -1;
	if (!pid) {
		for (int i = 0; i < 20; i++) {
			fault_pages(1);
			usleep(1000);
		}
		_exit(0);
	}
	while (pid > 0 && !counted && ++turns < 10000) {
		usleep(1000);
		counted = perf_count(sibling);
	}
	close(sibling);
	if (pid > 0)
		waitpid(pid, &status, 0);
	ok = expect(!status && counted, "inherited: closed while a child runs, %llu faults",
		    (unsigned long long)counted);
	close_area(&area);
	sched_setaffinity(0, sizeof(all), &all);
	return ok;
}

/* Is no event of a task left? The last reference may be dropped by a task that exits. */
static bool pmu_is_free(void)
{
	struct perf_event_attr attr = aux_attr(64);
	int fd = -1;

	for (int i = 0; i < 200 && fd < 0; i++) {
		fd = perf_open(&attr, -1, 0, -1, 0);
		usleep(5000);
	}
	if (fd >= 0)
		close(fd);
	return expect(fd >= 0, "an event of a CPU, after all events of tasks");
}

/* A trace of @pid and a counting event that pauses it; exec removes those in @removed. */
static void open_pausing(int *fd, pid_t pid, unsigned int removed)
{
	struct perf_event_attr attr = aux_attr(64);

	attr.inherit = 1;
	attr.remove_on_exec = removed & 1;
	fd[0] = MUST(perf_open(&attr, pid, -1, -1, 0));
	attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.inherit = 1;
	attr.aux_pause = 1;
	attr.remove_on_exec = removed >> 1;
	fd[1] = MUST(perf_open(&attr, pid, -1, fd[0], 0));
}

/* Waits at @go, forks a child that waits at @later and forks one itself, and execs. */
static pid_t fork_execing(struct gate *go, struct gate *later)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	gate_wait(go);
	if (!fork()) {
		gate_wait(later);
		if (!fork())
			_exit(0);
		wait(NULL);
		_exit(0);
	}
	execl("/bin/busybox", "sleep", "1", NULL);
	_exit(1);
}

/*
 * A task's trace is removed by exec, a child's is not: the child of the child inherits the trace
 * and an event that pauses it, and gives both back.
 */
static bool trace_of_grandchildren(void)
{
	struct gate go = gate_new(), later = gate_new();
	pid_t pid = fork_execing(&go, &later);
	int fd[2];

	open_pausing(fd, pid, 1);
	gate_open(&go);
	usleep(300000);
	gate_open(&later);
	child_succeeded(pid);
	close(fd[1]);
	close(fd[0]);
	return pmu_is_free();
}

/* exec removes the event that pauses a trace. The trace is closed, the other one stays open. */
static bool pausing_is_removed(void)
{
	struct gate go = gate_new(), later = gate_new();
	pid_t pid = fork_execing(&go, &later);
	int fd[2];
	bool good;

	gate_open(&later);
	open_pausing(fd, pid, 2);
	gate_open(&go);
	child_succeeded(pid);
	close(fd[0]);
	good = pmu_is_free();
	close(fd[1]);
	return good;
}

/* A PMU does not use the area of another PMU, even if both write to the buffer of a third event. */
static bool other_pmu(void)
{
	struct area data, too = { .fd = -1 };
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	int first, other = perf_pmu_type("test_aux_too"), error;
	struct aux_record record;
	bool good;
	bool ok = true;

	data = open_data(attr);
	attr = aux_attr(64);
	first = perf_open(&attr, 0, -1, -1, 0);
	attr.type = other;
	too.fd = perf_open(&attr, 0, -1, -1, 0);
	if (other < 0 || first < 0 || too.fd < 0 ||
	    ioctl(first, PERF_EVENT_IOC_SET_OUTPUT, data.fd) ||
	    ioctl(too.fd, PERF_EVENT_IOC_SET_OUTPUT, data.fd))
		fail_case("events of two PMUs");

	too.user = data.user;
	close(data.fd);
	data.fd = first;
	if (map_aux(&data, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the AUX area");
	error = map_aux(&too, AUX_PAGES, PROT_READ | PROT_WRITE);
	ok &= expect(error == EINVAL, "mmap of another PMU's AUX area: %s", strerror(error));
	write_burst(&too);
	good = !next_aux_record(&data, &record);
	write_burst(&data);
	ok &= expect(good && next_aux_record(&data, &record) && record.size == 64,
		     "another PMU does not fill it, its own does");
	close(too.fd);
	close_area(&data);
	return ok;
}

/* The traces of two PMUs run at the same time, each in its own area. */
static bool two_pmus(void)
{
	struct area one = open_area(64, PROT_READ | PROT_WRITE), two = {};
	struct perf_event_attr attr = aux_attr(128);
	struct aux_record record;
	bool ok;

	attr.type = perf_pmu_type("test_aux_too");
	two.fd = MUST(perf_open(&attr, 0, -1, -1, 0));
	two.user = mmap(NULL, (1 + DATA_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, two.fd,
			0);
	if (two.user == MAP_FAILED || map_aux(&two, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("mmap of the second event");
	ioctl(one.fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(two.fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(one.fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(two.fd, PERF_EVENT_IOC_DISABLE, 0);
	ok = expect(next_aux_record(&one, &record), "the first PMU wrote") &&
	     expect_eq("its bytes", record.size % 64 + one.user->aux_head % 64, 0) &&
	     expect_between("its position", one.user->aux_head, 64, AUX_PAGES * page);
	ok &= expect(next_aux_record(&two, &record), "the second PMU wrote") &&
	      expect_eq("its bytes", record.size % 128 + two.user->aux_head % 128, 0) &&
	      expect_between("its position", two.user->aux_head, 128, AUX_PAGES * page);
	close_area(&one);
	close_area(&two);
	return ok;
}

/* The PMU has one event of a task at a time, and events either of tasks or of CPUs. */
static bool exclusive_pmu(void)
{
	struct perf_event_attr attr = aux_attr(8);
	int fd = perf_open(&attr, 0, -1, -1, 0);
	bool ok = true;

	ok &= expect(fd >= 0 && expect_refused("task", perf_open(&attr, 0, -1, -1, 0), EBUSY,
					       "an event here already"),
		     "exclusive: no second event of the task");
	ok &= expect(expect_refused("CPU", perf_open(&attr, -1, 0, -1, 0), EBUSY,
				    "used for tasks, or for CPUs"),
		     "exclusive: no event of a CPU beside a task's");
	close(fd);
	fd = perf_open(&attr, -1, 0, -1, 0);
	ok &= expect(fd >= 0 && expect_refused("CPU", perf_open(&attr, -1, 0, -1, 0), EBUSY,
					       "an event here already"),
		     "exclusive: no second event of the CPU");
	ok &= expect(expect_refused("task", perf_open(&attr, 0, -1, -1, 0), EBUSY,
				    "used for tasks, or for CPUs"),
		     "exclusive: no event of a task beside a CPU's");
	close(fd);
	fd = perf_open(&attr, 0, -1, -1, 0);
	ok &= expect(fd >= 0, "exclusive: free again");
	close(fd);
	return ok;
}

/* Two PMUs cannot fill one area. */
static bool redirect_to_other_pmu(void)
{
	struct perf_event_attr attr = aux_attr(8);
	struct area area = open_area(8, PROT_READ | PROT_WRITE);
	int fd;
	bool ok;

	attr.type = perf_pmu_type("test_aux_too");
	fd = perf_open(&attr, 0, -1, -1, 0);
	ok = expect(fd >= 0 && expect_refused("redirect",
					      ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, area.fd), EINVAL,
					      "another PMU's"),
		    "SET_OUTPUT to another PMU's area");
	close(fd);
	close_area(&area);
	return ok;
}

/* Closes the event, if there is one. */
static bool expect_opened(const char *what, int fd)
{
	bool good = expect(fd >= 0, "%s: %s", what, strerror(errno));

	close(fd);
	return good;
}

/* A cgroup's event is one of the CPU's: its own context counts at the same time. */
static bool exclusive_of_cgroups(void)
{
	static const char dir[] = "/cgroup/perf-aux";
	unsigned int flags = PERF_FLAG_PID_CGROUP;
	struct perf_event_attr attr = aux_attr(8);
	int root, cgroup, own, fd;
	bool ok;

	if (write_line("/cgroup/cgroup.subtree_control", "+pids"))
		skip_case("no cgroup2");
	mkdir(dir, 0755);
	root = MUST(open("/cgroup", O_RDONLY | O_DIRECTORY));
	cgroup = MUST(open(dir, O_RDONLY | O_DIRECTORY));
	own = MUST(perf_open(&attr, -1, 0, -1, 0));
	ok = expect_refused("cgroup beside the CPU", perf_open(&attr, cgroup, 0, -1, flags), EBUSY,
			    "an event here already");
	fd = perf_open(&attr, cgroup, 1, -1, flags);
	ok &= expect_errno("cgroup on another CPU", fd, 0);
	ok &= expect_refused("the CPU beside its cgroup", perf_open(&attr, -1, 1, -1, 0), EBUSY,
			     "an event here already");
	ok &= expect_refused("another cgroup", perf_open(&attr, root, 1, -1, flags), EBUSY,
			     "an event here already");
	close(fd);
	close(own);
	fd = perf_open(&attr, cgroup, 0, -1, flags);
	ok &= expect_errno("cgroup on the CPU that is free again", fd, 0);
	close(fd);
	close(cgroup);
	close(root);
	rmdir(dir);
	return ok;
}

/* The PMU of the event with aux_output decides whether its leader's trace can take its samples. */
static bool output_to_a_trace(void)
{
	struct perf_event_attr attr = aux_attr(64), out = aux_attr(0);
	int trace = MUST(perf_open(&attr, 0, -1, -1, 0)), too;
	bool good;

	out.aux_output = 1;
	good = expect_refused("of the trace's PMU", perf_open(&out, 0, -1, trace, 0), EOPNOTSUPP,
			      "aux_output");
	attr.type = perf_pmu_type("test_aux_too");
	out.type = attr.type;
	good &= expect_opened("aux_output", perf_open(&out, 0, -1, trace, 0));
	out.sample_type = PERF_SAMPLE_AUX;
	out.sample_period = 1000;
	out.aux_sample_size = 64;
	good &= expect_refused("with a part of the trace in its samples",
			       perf_open(&out, 0, -1, trace, 0), EINVAL, "aux_");
	close(trace);

	out = attr;
	out.aux_output = 1;
	too = MUST(perf_open(&attr, 0, -1, -1, 0));
	good &= expect_refused("in a group with another trace", perf_open(&out, 0, -1, too, 0),
			       EINVAL, "aux_");
	close(too);
	return good;
}

/* What was recorded so far has no gap: the trace did not end and begin again. */
static unsigned int traces_so_far(struct area *area)
{
	struct aux_record record;
	unsigned int n = 0;

	while (next_aux_record(area, &record))
		n++;
	return n;
}

/* A software sibling is toggled, added and closed while the trace of its group runs. */
static bool sibling_leaves_trace_alone(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct area area = open_area(RANGE_BYTES, PROT_READ | PROT_WRITE);
	bool ok = true;
	int fd;

	attr.exclude_kernel = 1;
	fault_pages(10);
	/* The first access to a data page is a fault, too. */
	ok &= expect_eq("the buffer before ENABLE", area_word(&area, 0), 0);
	fd = perf_open(&attr, 0, -1, area.fd, 0);
	event_enable(area.fd);
	for (int i = 0; i < 10; i++) {
		event_disable(fd);
		event_enable(fd);
	}
	fault_pages(10);
	ok &= expect_eq("AUX records after DISABLE and ENABLE", traces_so_far(&area), 0);
	ok &= expect_eq("faults", perf_count(fd), 10);
	for (int i = 0; i < 10; i++) {
		close(fd);
		fd = perf_open(&attr, 0, -1, area.fd, 0);
	}
	fault_pages(10);
	ok &= expect_eq("AUX records after opening and closing", traces_so_far(&area), 0);
	ok &= expect_eq("faults of the last one", perf_count(fd), 10);
	event_disable(area.fd);
	fault_pages(10);
	ok &= expect_eq("AUX records of the whole", traces_so_far(&area), 1);
	ok &= expect_eq("faults of the last one, disabled", perf_count(fd), 10);
	close(fd);
	close_area(&area);
	return ok;
}

/* A sibling that samples the trace depends on it, and does not keep it. */
static bool closed_before_sibling(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr aux = aux_attr(8);
	int leader, sampler, plain, other;
	uint64_t value;
	bool ok = true;

	leader = MUST(perf_open(&aux, 0, -1, -1, 0));
	plain = MUST(perf_open(&attr, 0, -1, leader, 0));
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_AUX;
	attr.aux_sample_size = 512;
	sampler = MUST(perf_open(&attr, 0, -1, leader, 0));
	close(leader);
	ok &= expect_eq("read() of the sampling sibling", read(sampler, &value, 8), 0);
	ok &= expect_eq("read() of the other sibling", read(plain, &value, 8), 8);
	/* Its PMU has one event, of tasks or of CPUs. */
	other = perf_open(&aux, -1, 0, -1, 0);
	ok &= expect_errno("the PMU is free", other, 0);
	close(other);
	/* Without a trace it samples what there is: nothing. */
	event_enable(sampler);
	fault_pages(10);
	ok &= expect_between("faults, after ENABLE", perf_count(sampler), 10, 40);
	close(sampler);
	close(plain);
	return ok;
}

/* An area in the buffer of another event. */
static struct area area_in(const struct area *data)
{
	struct perf_event_attr attr = aux_attr(64);
	struct area area = { .fd = open_self(&attr, -1), .user = data->user };

	if (ioctl(area.fd, PERF_EVENT_IOC_SET_OUTPUT, data->fd) ||
	    map_aux(&area, AUX_PAGES, PROT_READ | PROT_WRITE))
		fail_case("an area in another event's buffer");
	return area;
}

#ifdef __x86_64__

/* An area is unmapped that is in the buffer of a counting event: its page stays as it is. */
static bool unmapped_beside_a_page(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct area data, area;
	uint32_t index;

	attr.disabled = 0;
	data = open_data(attr);
	area = area_in(&data);
	index = data.user->index;
	munmap(area.aux, area.aux_bytes);
	return expect_between("index of the counter", index, 1, UINT32_MAX) &
	       expect_eq("index after the area was unmapped", data.user->index, index);
}

#else

static bool unmapped_beside_a_page(void)
{
	skip_case("not an x86");
}

#endif

/*
 * The data are unmapped while an area of the buffer stays. An event that maps the buffer then is
 * described by the page after the area has been unmapped.
 */
static bool unmapped_before_the_area(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_PAGE_FAULTS);
	volatile struct perf_event_mmap_page *page;
	struct area data, area;
	int fd;

	data = open_data(attr);
	area = area_in(&data);
	munmap((void *)data.user, (1 + DATA_PAGES) * getpagesize());
	attr.disabled = 1;
	fd = open_self(&attr, -1);
	MUST(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, area.fd));
	page = mmap(NULL, (1 + DATA_PAGES) * getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (page == MAP_FAILED)
		fail_case("mmap");
	munmap(area.aux, area.aux_bytes);
	event_enable(fd);
	spin_ms(5);
	event_disable(fd);
	return expect_between("enabled by the page", page->time_enabled, 5000000, UINT64_MAX);
}

static const struct test tests[] = {
	{ "a group with a trace counts only with an AUX area", group_waits },
	{ "an enabled event begins once its area is mapped", mapped_late },
	{ "a software sibling does not interrupt its group's trace", sibling_leaves_trace_alone },
	{ "a trace is closed before an event that samples it", closed_before_sibling },
	{ "a pausing event is closed while a child has inherited it", closed_while_inherited },
	{ "a trace that exec removed is inherited by others", trace_of_grandchildren },
	{ "an event that pauses a trace is removed by exec", pausing_is_removed },
	{ "one PMU does not fill the area of another PMU", other_pmu },
	{ "two PMUs fill an area each at the same time", two_pmus },
	{ "an exclusive PMU has one event, of tasks or of CPUs", exclusive_pmu },
	{ "an exclusive PMU has one event for a CPU and its cgroups", exclusive_of_cgroups },
	{ "aux_output is asked of the event's own PMU", output_to_a_trace },
	{ "SET_OUTPUT to the area of another PMU is refused", redirect_to_other_pmu },
	{ "a running event leaves its area by SET_OUTPUT", leaves_running },
	{ "a running event changes its area by SET_OUTPUT", changes_running },
	{ "a running event of a child changes its area by SET_OUTPUT", child_changes_area },
	{ "an area is unmapped by one of two events", unmapped_by_one },
	{ "an area is unmapped from the buffer of a counting event", unmapped_beside_a_page },
	{ "the data are unmapped before an area of the same buffer", unmapped_before_the_area },
};

TESTS_MAIN_SETUP(tests, aux_setup)
