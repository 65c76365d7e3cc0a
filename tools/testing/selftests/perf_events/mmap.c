// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping the buffer of an event: sizes, the fields of the user page, write access, splitting and
 * moving, SET_OUTPUT, and that each charged page is given back. Run as root; children that are
 * other users test the limits.
 */
#include "expect.h"
#include "memlock.h"
#include "workloads.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

#define NOBODY_ID	65534

static long page;
static sigjmp_buf fault_exit;
static volatile sig_atomic_t fault_signal;

static void on_fault_signal(int sig)
{
	fault_signal = sig;
	siglongjmp(fault_exit, 1);
}

static void catch_faults(void)
{
	struct sigaction action = { .sa_handler = on_fault_signal, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

/* Returns the signal that a store to @p raises, 0 if there is none. */
static int store_signal(volatile void *p)
{
	fault_signal = 0;
	if (!sigsetjmp(fault_exit, 0))
		*(volatile uint64_t *)p = 0;
	return fault_signal;
}

static int load_signal(volatile void *p)
{
	fault_signal = 0;
	if (!sigsetjmp(fault_exit, 0))
		(void)*(volatile uint64_t *)p;
	return fault_signal;
}

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	return attr;
}

static int open_faults(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = perf_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		fail_case("cannot open page-faults");
	return fd;
}

static void *map_buffer(int fd, unsigned int pages, int prot)
{
	return mmap(NULL, pages * page, prot, MAP_SHARED, fd, 0);
}

/* Returns the errno of a mapping, 0 if it succeeds. */
static int map_error(int fd, size_t pages, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, pages * page, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, pages * page);
	return 0;
}

/* True if the reason of the last refusal contains @word, or the kernel gives no reasons. */
static bool reason_mentions(const char *word)
{
	char line[256];

	if (perf_reason(line, sizeof(line)) < 0)
		return true;
	if (strstr(line, word))
		return true;
	ktap_note("reason: %s", line);
	return false;
}

/* Pages that this process has pinned. */
static long pinned_pages(void)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmPin: %ld", &kb) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kb < 0 ? -1 : kb * 1024 / page;
}

/* Runs @fn in a child. Returns the exit status of the child. */
static int status_of_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail_case("fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void become_nobody(unsigned long memlock_pages)
{
	struct rlimit limit = { memlock_pages * page, memlock_pages * page };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(NOBODY_ID) || setuid(NOBODY_ID))
		_exit(99);
}

static bool mapping_sizes(void)
{
	bool good = true;
	int fd, error;
	bool ok = true;

	for (unsigned int data = 0; data <= 64; data++) {
		bool power = !(data & (data - 1));

		fd = open_faults();
		error = map_error(fd, 1 + data, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
		if (error != (power ? 0 : EINVAL) || (error && !reason_mentions("power of 2"))) {
			ktap_note("%u data pages: %s", data, strerror(error));
			good = false;
		}
		close(fd);
	}
	ok &= expect(good, "1 + 2^n pages and one page can be mapped, nothing else");

	fd = open_faults();
	ok &= expect(map_error(fd, 2, PROT_READ, MAP_PRIVATE, 0) == EINVAL &&
		     reason_mentions("MAP_SHARED"), "a private mapping is refused");
	error = map_error(fd, 1, PROT_READ, MAP_SHARED, page);
	ok &= expect(error == EOPNOTSUPP || error == EINVAL, "no AUX area on this PMU: %s",
		     strerror(error));
	if (sizeof(long) == 8) {
		error = map_error(fd, 1 + (1UL << 30), PROT_READ, MAP_SHARED | MAP_NORESERVE, 0);
		ok &= expect(error == ENOMEM, "4 TiB of data: %s", strerror(error));
	}
	ok &= expect(map_error(fd, 3, PROT_READ, MAP_SHARED, 0) == 0, "and none of that is kept");
	close(fd);
	return ok;
}

static bool first_page(void)
{
	int fd = open_faults();
	struct perf_event_mmap_page *p = map_buffer(fd, 1 + 4, PROT_READ | PROT_WRITE);
	bool ok = true;

	if (p == MAP_FAILED)
		fail_case("mmap");
	ok &= expect(p->version == 0 && p->compat_version == 0 && !p->cap_bit0 &&
		     p->cap_bit0_is_deprecated, "versions and the deprecated bit");
	ok &= expect(p->size == offsetof(struct perf_event_mmap_page, __reserved), "size is %u",
		     p->size);
	ok &= expect((void *)&p->data_head == (void *)p + 1024, "data_head at byte 1024");
	ok &= expect(p->data_offset == (uint64_t)page && p->data_size == 4 * (uint64_t)page &&
		     !p->data_head && !p->data_tail && !p->aux_offset && !p->aux_size,
		     "the data begin behind it, empty");
	ok &= expect(!(p->lock & 1) && p->index == 0, "index 0: a software event has no counter");
	munmap(p, 5 * page);
	close(fd);
	return ok;
}

/* The first read of the user page takes one page fault, and that of all data pages another one. */
static bool few_page_faults(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	int counter = perf_open(&attr, 0, -1, -1, 0), fd = open_faults();
	volatile struct perf_event_mmap_page *p = map_buffer(fd, 1 + 8, PROT_READ | PROT_WRITE);
	uint64_t before, between, after;
	uint32_t sum;
	bool ok;

	before = perf_count(counter);
	sum = p->lock + p->index;
	between = perf_count(counter);
	for (int i = 0; i < 8; i++)
		sum += *(volatile uint32_t *)((void *)p + (1 + i) * page);
	after = perf_count(counter);
	ok = expect(between - before == 1 && after - between == 1 && !(sum & 0),
		    "%llu page faults at the first read of the user page, %llu of 8 data pages",
		    (unsigned long long)(between - before), (unsigned long long)(after - between));
	munmap((void *)p, 9 * page);
	close(fd);
	close(counter);
	return ok;
}

static bool stores_to_mapping(void)
{
	int fd = open_faults();
	struct perf_event_mmap_page *p = map_buffer(fd, 1 + 2, PROT_READ | PROT_WRITE);
	void *ro;
	bool ok = true;

	ok &= expect(store_signal(&p->data_tail) == 0, "data_tail can be written");
	ok &= expect(store_signal((void *)p + page) == SIGBUS &&
		     store_signal((void *)p + 2 * page + 8) == SIGBUS, "data cannot");
	ro = map_buffer(fd, 1 + 2, PROT_READ);
	ok &= expect(ro != MAP_FAILED && store_signal(ro) == SIGSEGV,
		     "nor anything in a mapping that is for reading");
	munmap(ro, 3 * page);

	/* Dropped pages are mapped again by faults, with the same rights. */
	madvise(p, 3 * page, MADV_DONTNEED);
	ok &= expect(load_signal((void *)p + page) == 0 && p->data_size == 2 * (uint64_t)page &&
		     store_signal(&p->data_tail) == 0 && store_signal((void *)p + page) == SIGBUS,
		     "the same after MADV_DONTNEED");
	munmap(p, 3 * page);
	close(fd);
	return ok;
}

static bool second_mapping(void)
{
	int fd = open_faults();
	struct perf_event_mmap_page *a = map_buffer(fd, 1 + 2, PROT_READ | PROT_WRITE), *b;
	bool ok = true;

	ok &= expect(map_error(fd, 1 + 4, PROT_READ | PROT_WRITE, MAP_SHARED, 0) == EINVAL &&
		     reason_mentions("2 data pages"), "a second mapping has the size of the first");
	b = map_buffer(fd, 1 + 2, PROT_READ);
	ok &= expect(b != MAP_FAILED, "and can be had");
	a->data_tail = 4242;
	munmap(a, 3 * page);
	ok &= expect(b->data_tail == 4242,
		     "both show the same page, and the second outlives the first");
	munmap(b, 3 * page);
	ok &= expect(map_error(fd, 1 + 4, PROT_READ, MAP_SHARED, 0) == 0,
		     "another size when all are gone");
	close(fd);
	return ok;
}

static bool partial_changes(void)
{
	int fd = open_faults();
	void *p = map_buffer(fd, 1 + 4, PROT_READ | PROT_WRITE), *q, *room;
	bool ok = true;

	ok &= expect(munmap(p, page) == -1 && errno == EINVAL && munmap(p + 4 * page, page) == -1 &&
		     errno == EINVAL && munmap(p + 2 * page, page) == -1 && errno == EINVAL,
		     "a part cannot be unmapped");
	ok &= expect(mprotect(p, page, PROT_READ) == -1 && errno == EINVAL, "nor protected");
	ok &= expect(mremap(p, 5 * page, page, 0) == MAP_FAILED, "nor kept alone");
	ok &= expect(mremap(p, 5 * page, 9 * page, MREMAP_MAYMOVE) == MAP_FAILED,
		     "nor can it grow");
	ok &= expect(madvise(p + page, page, MADV_DODUMP) == -1, "nor be advised on in parts");
	ok &= expect(load_signal(p + 4 * page) == 0, "it is whole after all that");

	room = mmap(NULL, 5 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = mremap(p, 5 * page, 5 * page, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	ok &= expect(q == room &&
		     ((struct perf_event_mmap_page *)q)->data_size == 4 * (uint64_t)page &&
		     store_signal(&((struct perf_event_mmap_page *)q)->data_tail) == 0,
		     "it can be moved");
	ok &= expect(mprotect(q, 5 * page, PROT_READ) == 0 &&
		     mprotect(q, 5 * page, PROT_READ | PROT_WRITE) == 0 &&
		     store_signal(q + page) == SIGBUS, "and protected, as a whole");
	munmap(q, 5 * page);
	ok &= expect(pinned_pages() == 0 && memlock_is_whole(), "nothing is left pinned");
	close(fd);
	return ok;
}

static bool not_forked(void)
{
	int fd = open_faults(), status;
	void *p = map_buffer(fd, 1 + 1, PROT_READ | PROT_WRITE);
	pid_t pid = fork();
	bool ok;

	if (!pid)
		_exit(load_signal(p) == SIGSEGV ? 0 : 1);
	waitpid(pid, &status, 0);
	ok = expect(status == 0, "a child has no mapping");
	munmap(p, 2 * page);
	close(fd);
	return ok;
}

static bool inherited_buffer(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd;
	bool ok = true;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	ok &= expect(map_error(fd, 2, PROT_READ, MAP_SHARED, 0) == EINVAL &&
		     reason_mentions("inherit"), "an inherited event on any CPU has no buffer");
	close(fd);
	fd = perf_open(&attr, 0, 0, -1, 0);
	ok &= expect(map_error(fd, 2, PROT_READ, MAP_SHARED, 0) == 0, "on one CPU it has");
	close(fd);
	return ok;
}

/*
 * A counter that is stopped for good leaves its count and its times in the user page. What an
 * emulator without an instruction clock counts is time.
 */
static bool disabled_counter(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_CPU_CYCLES, "u");
	struct perf_event_mmap_page *user;
	uint64_t reading[3] = { 0 };
	bool good;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		skip_case("no instruction counter");
	user = map_buffer(fd, 1, PROT_READ);
	if (user == MAP_FAILED)
		fail_case("mmap");
	event_enable(fd);
	run_loop(1000000);
	event_disable(fd);
	if (read(fd, reading, sizeof(reading)) != sizeof(reading))
		fail_case("read");
	good = expect_eq("index", user->index, 0) & expect_eq("offset", user->offset, reading[0]) &
	       expect_eq("time_enabled", user->time_enabled, reading[1]) &
	       expect_eq("time_running", user->time_running, reading[2]) &
	       expect_between("count", reading[0], 1, UINT64_MAX);
	munmap(user, page);
	close(fd);
	return good;
}

/* The user page includes counts and times of children that have exited, as read() does. */
static bool exited_children(void)
{
	struct perf_event_attr attr = fault_attr();
	struct perf_event_mmap_page *user;
	uint64_t reading[3] = { 0 };
	int fd, status;
	pid_t pid;
	bool ok = true;

	attr.inherit = 1;
	attr.sample_period = 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_open(&attr, 0, 0, -1, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	pid = fork();
	if (!pid) {
		char *p = mmap(NULL, 20 * page, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		pin_to_cpu(0);
		for (int i = 0; i < 20; i++)
			*(volatile char *)(p + i * page) = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	user = map_buffer(fd, 1, PROT_READ);
	if (user == MAP_FAILED || read(fd, reading, sizeof(reading)) != sizeof(reading))
		fail_case("cannot map or read");
	ok &= expect(!user->index && reading[0] >= 20 && (uint64_t)user->offset == reading[0],
		     "the first page counts children that are gone: %lld, read says %llu",
		     (long long)user->offset, (unsigned long long)reading[0]);
	ok &= expect(user->time_enabled == reading[1] && user->time_running == reading[2],
		     "the first page has their times");
	munmap(user, page);
	close(fd);
	return ok;
}

#define PER_CPU_KB	32

/* All of the allowance is available, and no page more. */
static int child_allowance(void)
{
	struct { void *p; unsigned int pages; int fd; } part[64];
	long left;
	int fd, n;

	become_nobody(0);
	for (int round = 0; round < 3; round++) {
		for (n = 0, left = memlock_allowance(); left >= 2 && n < 64; n++) {
			part[n].fd = open_faults();
			part[n].pages = memlock_fitting(left);
			part[n].p = map_buffer(part[n].fd, part[n].pages, PROT_READ);
			if (part[n].p == MAP_FAILED)
				return 1;
			left -= part[n].pages;
		}
		if (pinned_pages() != 0)
			return 2;
		fd = open_faults();
		if (map_error(fd, 2 + left, PROT_READ, MAP_SHARED, 0) != EPERM)
			return 3;
		if (!reason_mentions("perf_event_mlock_kb"))
			return 4;
		close(fd);
		while (n--) {
			munmap(part[n].p, part[n].pages * page);
			close(part[n].fd);
		}
	}
	return 0;
}

/* RLIMIT_MEMLOCK limits pages beyond the allowance, and exactly these are pinned. */
static int child_pinned(void)
{
	long pages = 1;
	void *p;
	int fd;

	while (pages < memlock_allowance())
		pages *= 2;
	pages++;
	become_nobody(pages - memlock_allowance());

	for (int round = 0; round < 3; round++) {
		fd = open_faults();
		p = map_buffer(fd, pages, PROT_READ | PROT_WRITE);
		if (p == MAP_FAILED)
			return 1;
		if (pinned_pages() != pages - memlock_allowance())
			return 2;
		if (map_error(open_faults(), 1, PROT_READ, MAP_SHARED, 0) != EPERM)
			return 3;
		/* A second mapping of the same buffer is not charged. */
		if (map_error(fd, pages, PROT_READ, MAP_SHARED, 0) != 0)
			return 4;
		if (pinned_pages() != pages - memlock_allowance())
			return 5;
		munmap(p, pages * page);
		if (pinned_pages() != 0)
			return 6;
		close(fd);
	}
	return 0;
}

/* Another process unmaps last. The pages are given back to the user that was charged. */
static int child_other_unmaps(void)
{
	unsigned int pages = memlock_fitting(2 * memlock_allowance()) * 2 - 1;
	int fd, ready[2], go[2], status;
	char c = 0;
	void *p;
	pid_t pid;

	become_nobody(4 * pages);
	fd = open_faults();
	p = map_buffer(fd, pages, PROT_READ);
	if (p == MAP_FAILED || pinned_pages() != (long)pages - memlock_allowance() || pipe(ready) ||
	    pipe(go))
		return 1;
	pid = fork();
	if (!pid) {
		p = map_buffer(fd, pages, PROT_READ);
		if (p == MAP_FAILED || pinned_pages() != 0 || write(ready[1], &c, 1) != 1 ||
		    read(go[0], &c, 1) != 1)
			_exit(1);
		munmap(p, pages * page);
		_exit(pinned_pages() == 0 ? 0 : 2);
	}
	if (read(ready[0], &c, 1) != 1)
		return 2;
	munmap(p, pages * page);
	if (pinned_pages() != (long)pages - memlock_allowance())
		return 3;
	if (write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		return 4;
	return pinned_pages() == 0 ? 0 : 5;
}

/* Another user unmaps last. */
static int child_root_unmaps(void)
{
	long pages = memlock_fitting(memlock_allowance());
	int fd = open_faults(), ready[2], go[2], status;
	char c = 0;
	void *p;
	pid_t pid;

	if (pipe(ready) || pipe(go))
		return 1;
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		p = map_buffer(fd, pages, PROT_READ);
		if (p == MAP_FAILED || write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(2);
		_exit(munmap(p, pages * page) ? 3 : 0);
	}
	become_nobody(0);
	p = map_buffer(fd, pages, PROT_READ);
	if (p == MAP_FAILED || write(go[1], &c, 1) != 1 || read(ready[0], &c, 1) != 1)
		return 2;
	munmap(p, pages * page);
	if (write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		return 3;
	return memlock_is_whole() ? 0 : 4;
}

/* perf_event_paranoid -1 lifts the limit; pages are charged nevertheless. */
static int child_unlimited(void)
{
	unsigned int pages = memlock_fitting(2 * memlock_allowance()) * 2 - 1;
	void *p;

	become_nobody(0);
	p = map_buffer(open_faults(), pages, PROT_READ);
	if (p == MAP_FAILED || pinned_pages() != (long)pages - memlock_allowance())
		return 1;
	munmap(p, pages * page);
	return pinned_pages() == 0 ? 0 : 2;
}

/* Far beyond the default. Nothing is pinned: all of it is within the allowance. */
static int child_negative_allowance(void)
{
	unsigned int pages = 1 + 2048;
	void *p;

	become_nobody(0);
	p = map_buffer(open_faults(), pages, PROT_READ);
	if (p == MAP_FAILED)
		return 1;
	if (pinned_pages() != 0)
		return 2;
	munmap(p, pages * page);
	return 0;
}

/* Runs @fn in a child with these limits; they are restored afterwards. */
static bool child_with_kb(int (*fn)(void), long paranoid, long kb)
{
	long old_kb = sysctl_get("perf_event_mlock_kb", 516);
	long old_paranoid = sysctl_get("perf_event_paranoid", 2);
	int status;

	sysctl_set("perf_event_mlock_kb", kb);
	sysctl_set("perf_event_paranoid", paranoid);
	status = status_of_child(fn);
	sysctl_set("perf_event_paranoid", old_paranoid);
	sysctl_set("perf_event_mlock_kb", old_kb);
	return expect_eq("the step at which the child failed", status, 0);
}

static bool child_with_limits(int (*fn)(void), long paranoid)
{
	return child_with_kb(fn, paranoid, PER_CPU_KB);
}

static bool negative_allowance(void)
{
	return child_with_kb(child_negative_allowance, sysctl_get("perf_event_paranoid", 2), -1);
}

static bool whole_allowance(void)
{
	return child_with_limits(child_allowance, sysctl_get("perf_event_paranoid", 2));
}

static bool beyond_allowance(void)
{
	return child_with_limits(child_pinned, sysctl_get("perf_event_paranoid", 2));
}

static bool unmapped_by_other(void)
{
	long paranoid = sysctl_get("perf_event_paranoid", 2);

	return child_with_limits(child_other_unmaps, paranoid) &
	       child_with_limits(child_root_unmaps, paranoid);
}

static bool no_limit(void)
{
	return child_with_limits(child_unlimited, -1);
}

static int set_output(int fd, long target)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target) ? errno : 0;
}

static int open_with(struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = perf_open(&attr, pid, cpu, -1, 0);

	if (fd < 0)
		fail_case("cannot open an event");
	return fd;
}

static bool hangs_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

/* Whether an event with these attributes may not use @target's buffer, for this reason. */
static bool output_refused(struct perf_event_attr attr, pid_t pid, int cpu, int target,
			   const char *reason)
{
	int fd = open_with(attr, pid, cpu);
	bool refused = set_output(fd, target) == EINVAL && reason_mentions(reason);

	close(fd);
	return refused;
}

/* @a is mapped, @b is not. */
static bool output_is_refused(int a, int b)
{
	struct perf_event_attr clock = fault_attr(), backward = fault_attr();
	int fd = open_faults();
	bool ok = true;

	ok &= expect(set_output(a, a) == EINVAL && reason_mentions("own target"), "not to itself");
	ok &= expect(set_output(a, b) == EINVAL, "not from a mapped event");
	ok &= expect(set_output(b, -1) == 0, "to nothing, from nothing");
	ok &= expect(set_output(b, 1) == EBADF || set_output(b, 1) == EINVAL,
		     "not to another file");
	ok &= expect(set_output(b, fd) == EINVAL && reason_mentions("no mapped buffer"),
		     "not to an event without a buffer");
	close(fd);

	ok &= expect(output_refused(fault_attr(), -1, 0, a, "CPU"), "not to another CPU's");
	ok &= expect(output_refused(fault_attr(), getppid(), -1, a, "another task"),
		     "not to another task's");
	clock.use_clockid = 1;
	clock.clockid = CLOCK_MONOTONIC;
	ok &= expect(output_refused(clock, 0, -1, a, "clock"), "not with another clock");
	backward.write_backward = 1;
	return ok & expect(output_refused(backward, 0, -1, a, "write_backward"),
			   "not in the other direction");
}

/* @b enters and leaves the buffer of @a, which is mapped at @p and is unmapped at the end. */
static bool output_is_shared(int a, int b, struct perf_event_mmap_page *p)
{
	struct perf_event_mmap_page *q;
	bool ok = true;

	ok &= expect(set_output(b, a) == 0 && !hangs_up(b), "to a mapped event of this task");
	ok &= expect(map_error(b, 1 + 4, PROT_READ, MAP_SHARED, 0) == EINVAL,
		     "a mapping of the second event has the size of the shared buffer");
	q = map_buffer(b, 1 + 2, PROT_READ);
	p->data_tail = 4343;
	ok &= expect(q != MAP_FAILED && q->data_tail == 4343, "and shows it");
	ok &= expect(set_output(b, -1) == EINVAL, "it cannot leave while it is mapped");
	munmap(q, 3 * page);
	ok &= expect(set_output(b, a) == 0 && set_output(b, -1) == 0 && hangs_up(b),
		     "it can leave after that, and has no buffer then");

	ok &= expect(set_output(b, a) == 0 && !hangs_up(b), "and come back");
	munmap(p, 3 * page);
	ok &= expect(hangs_up(a) && hangs_up(b), "all lose the buffer with its last mapping");
	return ok & expect(pinned_pages() == 0 && memlock_is_whole(),
			   "and its pages are given back, though events are open");
}

static bool output_rules(void)
{
	struct perf_event_attr inherit = fault_attr();
	int a = open_faults(), b = open_faults(), fd;
	void *p = map_buffer(a, 1 + 2, PROT_READ | PROT_WRITE);
	bool ok = output_is_refused(a, b);

	ok &= output_is_shared(a, b, p);

	inherit.inherit = 1;
	fd = open_with(inherit, 0, -1);
	p = map_buffer(a, 1 + 2, PROT_READ);
	ok &= expect(set_output(fd, a) == 0, "an inherited event on any CPU may be redirected");
	munmap(p, 3 * page);
	close(fd);
	close(a);
	close(b);
	return ok;
}

/* PERF_FLAG_FD_OUTPUT redirects at once; the second event is mapped, then the first unmapped. */
static bool fd_output(void)
{
	struct perf_event_attr attr = fault_attr();
	int a = open_faults(), b;
	void *p = map_buffer(a, 1 + 1, PROT_READ | PROT_WRITE), *q;
	bool ok = true;

	b = perf_open(&attr, 0, -1, a, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	if (!expect_errno("FD_OUTPUT into a mapped event", b, 0))
		return false;
	ok &= expect(map_buffer(b, 1 + 2, PROT_READ | PROT_WRITE) == MAP_FAILED,
		     "the second has a buffer of one page");
	q = map_buffer(b, 1 + 1, PROT_READ | PROT_WRITE);
	ok &= expect(q != MAP_FAILED, "mapping the second");
	munmap(p, 2 * page);
	ok &= expect(!hangs_up(b) && load_signal(q + page) == 0, "the buffer is the second's now");
	munmap(q, 2 * page);
	close(a);
	close(b);
	ok &= expect(pinned_pages() == 0 && memlock_is_whole(), "given back in the end");
	return ok;
}

static bool pause_needs_data(void)
{
	int fd = open_faults();
	void *p;
	bool ok = true;

	ok &= expect(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) == -1 && errno == EINVAL,
		     "no pause without a buffer");
	p = map_buffer(fd, 1, PROT_READ);
	ok &= expect(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) == -1 && errno == EINVAL,
		     "nor without data pages");
	munmap(p, page);
	p = map_buffer(fd, 2, PROT_READ);
	ok &= expect(!ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) &&
		     !ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), "with them");
	munmap(p, 2 * page);
	close(fd);
	return ok;
}

#define RACERS	4
#define SECONDS	3

static struct {
	int fd[2];		/* replaced by race_reopen() */
	volatile bool stop;
	unsigned long done[RACERS];
} race;

static void *race_map(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (; !race.stop; race.done[n]++) {
		int fd = race.fd[race.done[n] & 1];
		void *p = map_buffer(fd, 1 + 1, PROT_READ | PROT_WRITE);

		if (p != MAP_FAILED) {
			*(volatile char *)(p + page);
			munmap(p, 2 * page);
		}
	}
	return NULL;
}

static void *race_redirect(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (; !race.stop; race.done[n]++) {
		set_output(race.fd[1], race.fd[0]);
		set_output(race.fd[0], race.fd[1]);
		if (!(race.done[n] % 3))
			set_output(race.fd[1], -1);
	}
	return NULL;
}

static void *race_reopen(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (; !race.stop; race.done[n]++) {
		int fd = open_faults();

		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		dup2(fd, race.fd[race.done[n] & 1]);
		close(fd);
		usleep(100);
	}
	return NULL;
}

/* mmap, munmap, SET_OUTPUT and close run at the same time: no page stays pinned. */
static bool mapping_races(void)
{
	void *(*run[RACERS])(void *) = { race_map, race_map, race_redirect, race_reopen };
	pthread_t thread[RACERS];

	race.fd[0] = open_faults();
	race.fd[1] = open_faults();
	for (unsigned long i = 0; i < RACERS; i++)
		pthread_create(&thread[i], NULL, run[i], (void *)i);
	sleep(SECONDS);
	race.stop = true;
	for (int i = 0; i < RACERS; i++)
		pthread_join(thread[i], NULL);
	close(race.fd[0]);
	close(race.fd[1]);
	ktap_note("%lu and %lu mappings, %lu redirections, %lu events", race.done[0], race.done[1],
		  race.done[2], race.done[3]);
	return expect(race.done[0] > 10 && race.done[2] > 10 && race.done[3] > 10 &&
		      pinned_pages() == 0 && memlock_is_whole(),
		      "mmap, munmap, SET_OUTPUT and close race: %ld pages are left pinned",
		      pinned_pages());
}

static void mmap_setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	catch_faults();
}

static const struct test tests[] = {
	{ "1 + 2^n pages can be mapped, and one", mapping_sizes },
	{ "the fields of the user page", first_page },
	{ "the first read of a mapping takes two page faults", few_page_faults },
	{ "only the user page can be written", stores_to_mapping },
	{ "a second mapping shows the same buffer", second_mapping },
	{ "a mapping is moved and protected as a whole only", partial_changes },
	{ "a child has no mapping", not_forked },
	{ "an inherited event has a buffer only on one CPU", inherited_buffer },
	{ "the user page has the count of an event that was disabled", disabled_counter },
	{ "the user page counts children that have exited", exited_children },
	{ "perf_event_mlock_kb is available to the page, repeatedly", whole_allowance },
	{ "perf_event_mlock_kb of -1 is no limit", negative_allowance },
	{ "RLIMIT_MEMLOCK holds for what is beyond", beyond_allowance },
	{ "pages are given back to the user that was charged", unmapped_by_other },
	{ "no limit with perf_event_paranoid -1", no_limit },
	{ "SET_OUTPUT: what is allowed and what is refused", output_rules },
	{ "PERF_FLAG_FD_OUTPUT shares the buffer", fd_output },
	{ "PAUSE_OUTPUT needs data pages", pause_needs_data },
	{ "mmap, munmap, SET_OUTPUT and close race", mapping_races },
};

TESTS_MAIN_SETUP(tests, mmap_setup)
