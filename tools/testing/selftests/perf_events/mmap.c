// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping an event's buffer: sizes, what the first page says, what may be written, splitting and
 * moving, whose output goes where, and that every page charged is given back. Run as root; what
 * concerns limits is done as another user in a child.
 */
#include "memlock.h"

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

static void on_fault(int sig)
{
	fault_signal = sig;
	siglongjmp(fault_exit, 1);
}

static void catch_faults(void)
{
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

/* The signal that a store to @p raises, 0 if it works. */
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

static int open_fault(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd = perf_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		ktap_bail_out("cannot open page-faults");
	return fd;
}

static void *map(int fd, unsigned int pages, int prot)
{
	return mmap(NULL, pages * page, prot, MAP_SHARED, fd, 0);
}

/* errno of a mapping that must not work, 0 if it does. */
static int map_error(int fd, size_t pages, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, pages * page, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, pages * page);
	return 0;
}

/* Does the last refusal speak of @word? Yes, if this kernel does not say. */
static bool said(const char *word)
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
static long pinned(void)
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

/* Runs @fn in a child; its result is the child's exit status. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		ktap_bail_out("fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void become_nobody(unsigned long memlock_pages)
{
	struct rlimit limit = { memlock_pages * page, memlock_pages * page };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(NOBODY_ID) || setuid(NOBODY_ID))
		_exit(99);
}

static void test_sizes(void)
{
	bool good = true;
	int fd, error;

	for (unsigned int data = 0; data <= 64; data++) {
		bool power = !(data & (data - 1));

		fd = open_fault();
		error = map_error(fd, 1 + data, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
		if (error != (power ? 0 : EINVAL) || (error && !said("power of 2"))) {
			ktap_note("%u data pages: %s", data, strerror(error));
			good = false;
		}
		close(fd);
	}
	ktap_result(good, "1 + 2^n pages and one page can be mapped, nothing else");

	fd = open_fault();
	ktap_result(map_error(fd, 2, PROT_READ, MAP_PRIVATE, 0) == EINVAL && said("MAP_SHARED"),
		    "a private mapping is refused");
	error = map_error(fd, 1, PROT_READ, MAP_SHARED, page);
	ktap_result(error == EOPNOTSUPP || error == EINVAL, "no AUX area on this PMU: %s",
		    strerror(error));
	error = map_error(fd, 1 + (1UL << 30), PROT_READ, MAP_SHARED | MAP_NORESERVE, 0);
	ktap_result(error == ENOMEM, "4 TiB of data: %s", strerror(error));
	ktap_result(map_error(fd, 3, PROT_READ, MAP_SHARED, 0) == 0, "and none of that is kept");
	close(fd);
}

static void test_first_page(void)
{
	int fd = open_fault();
	struct perf_event_mmap_page *p = map(fd, 1 + 4, PROT_READ | PROT_WRITE);

	if (p == MAP_FAILED)
		ktap_bail_out("mmap");
	ktap_result(p->version == 0 && p->compat_version == 0 && !p->cap_bit0 &&
		    p->cap_bit0_is_deprecated, "versions and the deprecated bit");
	ktap_result(p->size == offsetof(struct perf_event_mmap_page, __reserved),
		    "size is %u", p->size);
	ktap_result((void *)&p->data_head == (void *)p + 1024, "data_head at byte 1024");
	ktap_result(p->data_offset == (uint64_t)page && p->data_size == 4 * (uint64_t)page &&
		    !p->data_head && !p->data_tail && !p->aux_offset && !p->aux_size,
		    "the data begin behind it, empty");
	ktap_result(!(p->lock & 1) && p->index == 0, "index 0: a software event has no counter");
	munmap(p, 5 * page);
	close(fd);
}

/* Reading the first page takes no page fault, not even for the first time. */
static void test_no_first_fault(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	int counter = perf_open(&attr, 0, -1, -1, 0), fd = open_fault();
	volatile struct perf_event_mmap_page *p = map(fd, 1 + 8, PROT_READ | PROT_WRITE);
	uint64_t before, after;
	uint32_t sum;

	before = perf_count(counter);
	sum = p->lock + p->index;
	for (int i = 0; i < 8; i++)
		sum += *(volatile uint32_t *)((void *)p + (1 + i) * page);
	after = perf_count(counter);
	ktap_result(after == before && !(sum & 0), "%llu page faults at the first read",
		    (unsigned long long)(after - before));
	munmap((void *)p, 9 * page);
	close(fd);
	close(counter);
}

static void test_stores(void)
{
	int fd = open_fault();
	struct perf_event_mmap_page *p = map(fd, 1 + 2, PROT_READ | PROT_WRITE);
	void *ro;

	ktap_result(store_signal(&p->data_tail) == 0, "data_tail can be written");
	ktap_result(store_signal((void *)p + page) == SIGBUS &&
		    store_signal((void *)p + 2 * page + 8) == SIGBUS, "data cannot");
	ro = map(fd, 1 + 2, PROT_READ);
	ktap_result(ro != MAP_FAILED && store_signal(ro) == SIGSEGV,
		    "nor anything in a mapping that is for reading");
	munmap(ro, 3 * page);

	/* Dropped pages come back by faults, with the same rights. */
	madvise(p, 3 * page, MADV_DONTNEED);
	ktap_result(load_signal((void *)p + page) == 0 && p->data_size == 2 * (uint64_t)page &&
		    store_signal(&p->data_tail) == 0 &&
		    store_signal((void *)p + page) == SIGBUS, "the same after MADV_DONTNEED");
	munmap(p, 3 * page);
	close(fd);
}

static void test_again(void)
{
	int fd = open_fault();
	struct perf_event_mmap_page *a = map(fd, 1 + 2, PROT_READ | PROT_WRITE), *b;

	ktap_result(map_error(fd, 1 + 4, PROT_READ | PROT_WRITE, MAP_SHARED, 0) == EINVAL &&
		    said("2 data pages"), "a second mapping has the size of the first");
	b = map(fd, 1 + 2, PROT_READ);
	ktap_result(b != MAP_FAILED, "and can be had");
	a->data_tail = 4242;
	munmap(a, 3 * page);
	ktap_result(b->data_tail == 4242, "both show the same page, and the second outlives the first");
	munmap(b, 3 * page);
	ktap_result(map_error(fd, 1 + 4, PROT_READ, MAP_SHARED, 0) == 0,
		    "another size when all are gone");
	close(fd);
}

static void test_split(void)
{
	int fd = open_fault();
	void *p = map(fd, 1 + 4, PROT_READ | PROT_WRITE), *q, *room;

	ktap_result(munmap(p, page) == -1 && errno == EINVAL &&
		    munmap(p + 4 * page, page) == -1 && errno == EINVAL &&
		    munmap(p + 2 * page, page) == -1 && errno == EINVAL,
		    "a part cannot be unmapped");
	ktap_result(mprotect(p, page, PROT_READ) == -1 && errno == EINVAL,
		    "nor protected");
	ktap_result(mremap(p, 5 * page, page, 0) == MAP_FAILED, "nor kept alone");
	ktap_result(mremap(p, 5 * page, 9 * page, MREMAP_MAYMOVE) == MAP_FAILED, "nor can it grow");
	ktap_result(madvise(p + page, page, MADV_DODUMP) == -1, "nor be advised on in parts");
	ktap_result(load_signal(p + 4 * page) == 0, "it is whole after all that");

	room = mmap(NULL, 5 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = mremap(p, 5 * page, 5 * page, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	ktap_result(q == room && ((struct perf_event_mmap_page *)q)->data_size == 4 * (uint64_t)page &&
		    store_signal(&((struct perf_event_mmap_page *)q)->data_tail) == 0,
		    "it can be moved");
	ktap_result(mprotect(q, 5 * page, PROT_READ) == 0 && mprotect(q, 5 * page, PROT_READ |
		    PROT_WRITE) == 0 && store_signal(q + page) == SIGBUS, "and protected, as a whole");
	munmap(q, 5 * page);
	ktap_result(pinned() == 0 && memlock_is_whole(), "nothing is left pinned");
	close(fd);
}

static void test_fork(void)
{
	int fd = open_fault(), status;
	void *p = map(fd, 1 + 1, PROT_READ | PROT_WRITE);
	pid_t pid = fork();

	if (!pid)
		_exit(load_signal(p) == SIGSEGV ? 0 : 1);
	waitpid(pid, &status, 0);
	ktap_result(status == 0, "a child has no mapping");
	munmap(p, 2 * page);
	close(fd);
}

static void test_inherit(void)
{
	struct perf_event_attr attr = fault_attr();
	int fd;

	attr.inherit = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	ktap_result(map_error(fd, 2, PROT_READ, MAP_SHARED, 0) == EINVAL && said("inherit"),
		    "an inherited event on any CPU has no buffer");
	close(fd);
	fd = perf_open(&attr, 0, 0, -1, 0);
	ktap_result(map_error(fd, 2, PROT_READ, MAP_SHARED, 0) == 0, "on one CPU it has");
	close(fd);
}

/* Counts and times of children that are gone are in the first page, as they are in a read. */
static void test_gone_children(void)
{
	struct perf_event_attr attr = fault_attr();
	struct perf_event_mmap_page *user;
	uint64_t reading[3] = { 0 };
	int fd, status;
	pid_t pid;

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
	user = map(fd, 1, PROT_READ);
	if (user == MAP_FAILED || read(fd, reading, sizeof(reading)) != sizeof(reading))
		ktap_bail_out("cannot map or read");
	ktap_result(!user->index && reading[0] >= 20 && (uint64_t)user->offset == reading[0],
		    "the first page counts children that are gone: %lld, read says %llu",
		    (long long)user->offset, (unsigned long long)reading[0]);
	ktap_result(user->time_enabled == reading[1] && user->time_running == reading[2],
		    "the first page has their times");
	munmap(user, page);
	close(fd);
}

/*
 * Limits
 */

#define PER_CPU_KB	32

/* What is allowed can be had, all of it, and no page more. */
static int child_allowance(void)
{
	struct { void *p; unsigned int pages; int fd; } part[64];
	long left;
	int fd, n;

	become_nobody(0);
	for (int round = 0; round < 3; round++) {
		for (n = 0, left = memlock_allowance(); left >= 2 && n < 64; n++) {
			part[n].fd = open_fault();
			part[n].pages = memlock_fitting(left);
			part[n].p = map(part[n].fd, part[n].pages, PROT_READ);
			if (part[n].p == MAP_FAILED)
				return 1;
			left -= part[n].pages;
		}
		if (pinned() != 0)
			return 2;
		fd = open_fault();
		if (map_error(fd, 2 + left, PROT_READ, MAP_SHARED, 0) != EPERM)
			return 3;
		if (!said("perf_event_mlock_kb"))
			return 4;
		close(fd);
		while (n--) {
			munmap(part[n].p, part[n].pages * page);
			close(part[n].fd);
		}
	}
	return 0;
}

/* Beyond the allowance RLIMIT_MEMLOCK holds, and what is beyond is pinned to the page. */
static int child_pinned(void)
{
	unsigned int pages = 1;
	void *p;
	int fd;

	while (pages < memlock_allowance())
		pages *= 2;
	pages++;
	become_nobody(pages - memlock_allowance());

	for (int round = 0; round < 3; round++) {
		fd = open_fault();
		p = map(fd, pages, PROT_READ | PROT_WRITE);
		if (p == MAP_FAILED)
			return 1;
		if (pinned() != (long)pages - memlock_allowance())
			return 2;
		if (map_error(open_fault(), 1, PROT_READ, MAP_SHARED, 0) != EPERM)
			return 3;
		/* The same buffer once more costs nothing. */
		if (map_error(fd, pages, PROT_READ, MAP_SHARED, 0) != 0)
			return 4;
		if (pinned() != (long)pages - memlock_allowance())
			return 5;
		munmap(p, pages * page);
		if (pinned() != 0)
			return 6;
		close(fd);
	}
	return 0;
}

/* The last mapping is another process's. Pages go back to whom they were taken from. */
static int child_other_unmaps(void)
{
	unsigned int pages = memlock_fitting(2 * memlock_allowance()) * 2 - 1;
	int fd, ready[2], go[2], status;
	char c = 0;
	void *p;
	pid_t pid;

	become_nobody(4 * pages);
	fd = open_fault();
	p = map(fd, pages, PROT_READ);
	if (p == MAP_FAILED || pinned() != (long)pages - memlock_allowance() || pipe(ready) || pipe(go))
		return 1;
	pid = fork();
	if (!pid) {
		p = map(fd, pages, PROT_READ);
		if (p == MAP_FAILED || pinned() != 0 || write(ready[1], &c, 1) != 1 ||
		    read(go[0], &c, 1) != 1)
			_exit(1);
		munmap(p, pages * page);
		_exit(pinned() == 0 ? 0 : 2);
	}
	if (read(ready[0], &c, 1) != 1)
		return 2;
	munmap(p, pages * page);
	if (pinned() != (long)pages - memlock_allowance())
		return 3;
	if (write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid || status)
		return 4;
	return pinned() == 0 ? 0 : 5;
}

/* perf_event_paranoid -1 lifts the limit; pages are counted all the same. */
static int child_unlimited(void)
{
	unsigned int pages = memlock_fitting(2 * memlock_allowance()) * 2 - 1;
	void *p;

	become_nobody(0);
	p = map(open_fault(), pages, PROT_READ);
	if (p == MAP_FAILED || pinned() != (long)pages - memlock_allowance())
		return 1;
	munmap(p, pages * page);
	return pinned() == 0 ? 0 : 2;
}

static void test_limits(void)
{
	long kb = sysctl_get("perf_event_mlock_kb", 516), paranoid;
	int status;

	sysctl_set("perf_event_mlock_kb", PER_CPU_KB);
	status = in_child(child_allowance);
	ktap_result(status == 0, "perf_event_mlock_kb is given to the page, again and again (%d)",
		    status);
	status = in_child(child_pinned);
	ktap_result(status == 0, "RLIMIT_MEMLOCK for what is beyond (%d)", status);
	status = in_child(child_other_unmaps);
	ktap_result(status == 0, "given back to whom it was taken from (%d)", status);

	paranoid = sysctl_get("perf_event_paranoid", 2);
	sysctl_set("perf_event_paranoid", -1);
	status = in_child(child_unlimited);
	ktap_result(status == 0, "no limit with perf_event_paranoid -1 (%d)", status);
	sysctl_set("perf_event_paranoid", paranoid);
	sysctl_set("perf_event_mlock_kb", kb);
}

/*
 * Whose buffer
 */

static int set_output(int fd, long target)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target) ? errno : 0;
}

static int open_with(struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = perf_open(&attr, pid, cpu, -1, 0);

	if (fd < 0)
		ktap_bail_out("cannot open an event");
	return fd;
}

static bool hangs_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static void test_output_rules(void)
{
	struct perf_event_attr clock = fault_attr(), backward = fault_attr(), inherit = fault_attr();
	int a = open_fault(), b = open_fault(), fd;
	void *p = map(a, 1 + 2, PROT_READ | PROT_WRITE), *q;

	ktap_result(set_output(a, a) == EINVAL && said("own target"), "not to itself");
	ktap_result(set_output(a, b) == EINVAL, "not from a mapped event");
	ktap_result(set_output(b, -1) == 0, "to nothing, from nothing");
	ktap_result(set_output(b, 1) == EBADF || set_output(b, 1) == EINVAL, "not to another file");

	fd = open_fault();
	ktap_result(set_output(b, fd) == EINVAL && said("no mapped buffer"),
		    "not to an event without a buffer");
	close(fd);

	fd = open_with(fault_attr(), -1, 0);
	ktap_result(set_output(fd, a) == EINVAL && said("CPU"), "not to another CPU's");
	close(fd);
	fd = open_with(fault_attr(), getppid(), -1);
	ktap_result(set_output(fd, a) == EINVAL && said("another task"), "not to another task's");
	close(fd);

	clock.use_clockid = 1;
	clock.clockid = CLOCK_MONOTONIC;
	fd = open_with(clock, 0, -1);
	ktap_result(set_output(fd, a) == EINVAL && said("clock"), "not with another clock");
	close(fd);
	backward.write_backward = 1;
	fd = open_with(backward, 0, -1);
	ktap_result(set_output(fd, a) == EINVAL && said("write_backward"),
		    "not in the other direction");
	close(fd);

	ktap_result(set_output(b, a) == 0 && !hangs_up(b), "to a mapped event of this task");
	ktap_result(map_error(b, 1 + 4, PROT_READ, MAP_SHARED, 0) == EINVAL,
		    "a mapping of the second event has the size of the shared buffer");
	q = map(b, 1 + 2, PROT_READ);
	((struct perf_event_mmap_page *)p)->data_tail = 4343;
	ktap_result(q != MAP_FAILED && ((struct perf_event_mmap_page *)q)->data_tail == 4343,
		    "and shows it");
	ktap_result(set_output(b, -1) == EINVAL, "it cannot leave while it is mapped");
	munmap(q, 3 * page);
	ktap_result(set_output(b, a) == 0 && set_output(b, -1) == 0 && hangs_up(b),
		    "it can leave after that, and has no buffer then");

	ktap_result(set_output(b, a) == 0 && !hangs_up(b), "and come back");
	munmap(p, 3 * page);
	ktap_result(hangs_up(a) && hangs_up(b), "all lose the buffer with its last mapping");
	ktap_result(pinned() == 0 && memlock_is_whole(),
		    "and its pages are given back, though events are open");

	inherit.inherit = 1;
	fd = open_with(inherit, 0, -1);
	p = map(a, 1 + 2, PROT_READ);
	ktap_result(set_output(fd, a) == 0, "an inherited event on any CPU may be redirected");
	munmap(p, 3 * page);
	close(fd);
	close(a);
	close(b);
}

/* PERF_FLAG_FD_OUTPUT is the same at once; the second is mapped, the first unmapped. */
static void test_fd_output(void)
{
	struct perf_event_attr attr = fault_attr();
	int a = open_fault(), b;
	void *p = map(a, 1 + 1, PROT_READ | PROT_WRITE), *q;

	b = perf_open(&attr, 0, -1, a, PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
	if (!ktap_result(b >= 0, "FD_OUTPUT into a mapped event"))
		return;
	q = map(b, 1 + 1, PROT_READ | PROT_WRITE);
	ktap_result(q != MAP_FAILED, "mapping the second");
	munmap(p, 2 * page);
	ktap_result(!hangs_up(b) && load_signal(q + page) == 0, "the buffer is the second's now");
	munmap(q, 2 * page);
	close(a);
	close(b);
	ktap_result(pinned() == 0 && memlock_is_whole(), "given back in the end");
}

static void test_pause_needs_data(void)
{
	int fd = open_fault();
	void *p;

	ktap_result(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) == -1 && errno == EINVAL,
		    "no pause without a buffer");
	p = map(fd, 1, PROT_READ);
	ktap_result(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) == -1 && errno == EINVAL,
		    "nor without data pages");
	munmap(p, page);
	p = map(fd, 2, PROT_READ);
	ktap_result(!ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) &&
		    !ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), "with them");
	munmap(p, 2 * page);
	close(fd);
}

/*
 * Races
 */

#define RACERS	4
#define SECONDS	3

static struct {
	int fd[2];		/* replaced under everybody's feet */
	volatile bool stop;
	unsigned long done[RACERS];
} race;

static void *race_map(void *arg)
{
	unsigned long n = (unsigned long)arg;

	for (; !race.stop; race.done[n]++) {
		int fd = race.fd[race.done[n] & 1];
		void *p = map(fd, 1 + 1, PROT_READ | PROT_WRITE);

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
		int fd = open_fault();

		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		dup2(fd, race.fd[race.done[n] & 1]);
		close(fd);
		usleep(100);
	}
	return NULL;
}

/* mmap, munmap, SET_OUTPUT and close against each other: nothing may be left. */
static void test_races(void)
{
	void *(*run[RACERS])(void *) = { race_map, race_map, race_redirect, race_reopen };
	pthread_t thread[RACERS];

	race.fd[0] = open_fault();
	race.fd[1] = open_fault();
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
	ktap_result(race.done[0] > 10 && race.done[2] > 10 && race.done[3] > 10 && pinned() == 0 &&
		    memlock_is_whole(),
		    "mmap, munmap, SET_OUTPUT and close race: %ld pages are left pinned", pinned());
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	catch_faults();
	ktap_start(0);
	test_sizes();
	test_first_page();
	test_no_first_fault();
	test_stores();
	test_again();
	test_split();
	test_fork();
	test_inherit();
	test_gone_children();
	test_limits();
	test_output_rules();
	test_fd_output();
	test_pause_needs_data();
	test_races();
	return ktap_finish();
}
