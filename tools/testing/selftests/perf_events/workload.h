/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of counting: cases that run each in a process of their own, comparisons that say what
 * they found, readings in every format, and work that is counted to the instruction.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "perf_test.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/*
 * Cases
 */

/**
 * struct test - one case
 * @name: what it shows
 * @run: true if that is so
 */
struct test {
	const char	*name;
	bool		(*run)(void);
};

#define CASE_SKIPPED	77
#define CASE_SECONDS	90	/* of the guest's clock, for one case */

/* Why a case cannot be had here; in memory that all cases share. */
static char (*case_skip)[120];

/* Leaves the case that runs now. */
__attribute__((noreturn))
static inline void skip_case(const char *why)
{
	snprintf(*case_skip, sizeof(*case_skip), "%s", why);
	fflush(stdout);
	_exit(CASE_SKIPPED);
}

/* For what a case needs but does not test. */
__attribute__((noreturn))
static inline void fail_case(const char *what)
{
	ktap_note("%s: %s", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static inline long must_name(long ret, const char *what)
{
	if (ret < 0)
		fail_case(what);
	return ret;
}

#define MUST(call)	must_name((call), #call)

/* Runs the cases whose name contains argv[1], if given; returns main()'s result. */
static inline int run_tests(const struct test *tests, unsigned int nr, int argc, char **argv)
{
	int status;
	pid_t pid;

	ktap_start(0);
	case_skip = mmap(NULL, sizeof(*case_skip), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (case_skip == MAP_FAILED)
		ktap_bail_out("mmap");
	for (unsigned int i = 0; i < nr; i++) {
		if (argc > 1 && !strstr(tests[i].name, argv[1]))
			continue;
		fflush(stdout);
		pid = fork();
		if (pid < 0)
			ktap_bail_out("fork");
		if (!pid) {
			bool good;

			setpgid(0, 0);
			alarm(CASE_SECONDS);
			good = tests[i].run();
			fflush(stdout);
			_exit(!good);
		}
		waitpid(pid, &status, 0);
		kill(-pid, SIGKILL);	/* children that a failed case left */
		if (WIFSIGNALED(status))
			ktap_note("ended by signal %d", WTERMSIG(status));
		if (WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIPPED)
			ktap_skip(tests[i].name, *case_skip);
		else
			ktap_result(WIFEXITED(status) && !WEXITSTATUS(status), "%s", tests[i].name);
	}
	return ktap_finish();
}

#define TESTS_MAIN(tests)						\
int main(int argc, char **argv)						\
{									\
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);		\
}

/*
 * Comparisons; each says what it found if that is not what it should be.
 */

static inline bool same(const char *what, uint64_t have, uint64_t want)
{
	if (have != want)
		ktap_note("%s: %lld, expected %lld", what, (long long)have, (long long)want);
	return have == want;
}

static inline bool between(const char *what, uint64_t have, uint64_t least, uint64_t most)
{
	bool good = have >= least && have <= most;

	if (!good)
		ktap_note("%s: %lld, expected %lld to %lld", what, (long long)have,
			  (long long)least, (long long)most);
	return good;
}

/* At most @slack apart. */
static inline bool near(const char *what, uint64_t have, uint64_t want, uint64_t slack)
{
	bool good = (have > want ? have - want : want - have) <= slack;

	if (!good)
		ktap_note("%s: %lld, expected %lld +- %lld (off by %lld, %.3f %%)", what,
			  (long long)have, (long long)want, (long long)slack,
			  (long long)(have - want), 100.0 * ((double)have - want) / (want ?: 1));
	return good;
}

/* At most @permille thousandths of @want apart. */
static inline bool near_permille(const char *what, uint64_t have, uint64_t want,
				 unsigned int permille)
{
	return near(what, have, want, want / 1000 * permille);
}

/*
 * Kernels and machines
 */

/* Is this the kernel that says why it refuses? Some promises are only its own. */
static inline bool says_why(void)
{
	return !access("/proc/sys/kernel/perf_event_error", F_OK);
}

static inline bool have_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = perf_attr(type, config);
	int fd;

	attr.exclude_kernel = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

#ifdef __x86_64__
/* QEMU's PMU model answers this leaf of CPUID: its register accesses, and in the last what it is. */
#define X86_MODEL_LEAF	0x4f504d55
#define X86_MODEL_ABOUT	0xffffffff

/* Is this the PMU model, and are instructions not its clock? What counts is hardware elsewhere. */
static inline bool counts_are_rough(void)
{
	uint32_t a, b, c, d;

	__cpuid_count(X86_MODEL_LEAF, X86_MODEL_ABOUT, a, b, c, d);
	return a == X86_MODEL_LEAF && !(b & 1);
}
#else
static inline bool counts_are_rough(void)
{
	return false;
}
#endif

/*
 * Emulators count instructions exactly only while instructions are their clock. arm64's has no such
 * event otherwise; x86's counts something else, and says so: a miscount is no reason to skip.
 */
static inline void need_instructions(void)
{
	struct perf_event_attr attr = perf_attr_user(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_open(&attr, 0, -1, -1, 0);

	if (fd < 0)
		skip_case("no instruction counter");
	if (counts_are_rough())
		skip_case("instructions are not the clock");
	close(fd);
}

static inline void need_cpus(int nr)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < nr)
		skip_case("not enough CPUs");
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Context switches of the calling thread, by the scheduler's own count. */
static inline uint64_t thread_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static inline uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Takes so much of a CPU's time, however often others come in between. */
static inline void spin_ms(unsigned int ms)
{
	uint64_t end = thread_ns() + ms * 1000000ull;

	while (thread_ns() < end)
		run_loop(1000);
}

/*
 * Attributes, in short: what is excluded in letters, as perf writes what is included.
 */

/* @levels: "u", "k" or "uk". Disabled. */
static inline struct perf_event_attr perf_attr_at(uint32_t type, uint64_t config,
						  const char *levels)
{
	struct perf_event_attr attr = perf_attr(type, config);

	attr.disabled = 1;
	attr.exclude_user = !strchr(levels, 'u');
	attr.exclude_kernel = !strchr(levels, 'k');
	attr.exclude_hv = attr.exclude_kernel;
	return attr;
}

static inline struct perf_event_attr hw_attr(uint64_t config, const char *levels)
{
	return perf_attr_at(PERF_TYPE_HARDWARE, config, levels);
}

/* Runs from the start; counts the kernel, too. */
static inline struct perf_event_attr sw_attr(uint64_t config)
{
	return perf_attr(PERF_TYPE_SOFTWARE, config);
}

static inline int open_self(struct perf_event_attr *attr, int group)
{
	return MUST(perf_open(attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC));
}

/* Of pinned events of a kind that are on at once, how many count: a pinned one that cannot ends its file. */
static inline unsigned int pinned_that_count(uint64_t event)
{
	struct perf_event_attr attr = hw_attr(event, "u");
	unsigned int nr = 0, fit = 0;
	uint64_t value;
	int fd[40];

	attr.pinned = 1;
	attr.disabled = 0;
	for (; nr < ARRAY_SIZE(fd); nr++)
		fd[nr] = open_self(&attr, -1);
	while (nr)
		fit += read(fd[--nr], &value, sizeof(value)) == sizeof(value);
	for (; nr < ARRAY_SIZE(fd); nr++)
		close(fd[nr]);
	return fit;
}

/* How many of these can count at once: as many as a group may have. */
static inline unsigned int capacity(uint64_t event)
{
	struct perf_event_attr attr = hw_attr(event, "u");
	unsigned int n;
	int fd[64];

	fd[0] = open_self(&attr, -1);
	for (n = 1; n < ARRAY_SIZE(fd); n++) {
		fd[n] = perf_open(&attr, 0, -1, fd[0], 0);
		if (fd[n] < 0)
			break;
	}
	for (unsigned int i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

/* Some parts have many counters, but few that instructions can be counted with. */
static inline void need_capacity(unsigned int nr)
{
	if (capacity(PERF_COUNT_HW_INSTRUCTIONS) < nr)
		skip_case("too few counters for instructions");
}

/*
 * Readings
 */

#define MAX_MEMBERS	80
#define FORMAT_TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct member {
	uint64_t	value, id, lost;
};

struct reading {
	uint64_t	nr, enabled, running;
	struct member	member[MAX_MEMBERS];
};

static inline const uint64_t *take_member(const uint64_t *p, uint64_t format, struct member *m)
{
	if (format & PERF_FORMAT_GROUP)
		m->value = *p++;
	if (format & PERF_FORMAT_ID)
		m->id = *p++;
	if (format & PERF_FORMAT_LOST)
		m->lost = *p++;
	return p;
}

/* Takes a read() of this format apart. False if it failed or its length is not what it must be. */
static inline bool read_format(int fd, uint64_t format, struct reading *r)
{
	uint64_t words[3 + 3 * MAX_MEMBERS];
	const uint64_t *p = words;
	uint64_t end = 0;
	ssize_t n;

	/* ECHILD: a child is just being made, and has but a part of the group. */
	do {
		n = read(fd, words, sizeof(words));
		if (n >= 0 || errno != ECHILD)
			break;
		end = end ?: now_ns() + 5000000000;
	} while (now_ns() < end);
	memset(r, 0, sizeof(*r));
	if (n <= 0) {
		ktap_note("read: %zd (%s)", n, n ? strerrorname_np(errno) : "end of file");
		return false;
	}
	r->nr = format & PERF_FORMAT_GROUP ? *p++ : 1;
	if (r->nr > MAX_MEMBERS)
		return same("members", r->nr, MAX_MEMBERS);
	if (!(format & PERF_FORMAT_GROUP))
		r->member[0].value = *p++;
	r->enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED ? *p++ : 0;
	r->running = format & PERF_FORMAT_TOTAL_TIME_RUNNING ? *p++ : 0;
	for (uint64_t i = 0; i < r->nr; i++)
		p = take_member(p, format, &r->member[i]);
	return same("length of a reading", n, (p - words) * sizeof(*p));
}

/* A count with its times: read_format FORMAT_TIMES. */
struct timed {
	uint64_t	value, enabled, running;
};

static inline struct timed read_timed(int fd)
{
	struct timed t;

	if (read(fd, &t, sizeof(t)) != sizeof(t))
		fail_case("read of a count and its times");
	return t;
}

/* The count as it would have been, had the event run all the time. */
static inline uint64_t scaled(struct timed t)
{
	return t.running ? (double)t.value * t.enabled / t.running : 0;
}

/*
 * Work
 */

/* System calls without the C library's instructions around them. */
static __always_inline long raw_syscall(long nr, long a, long b, long c)
{
#if defined(__x86_64__)
	long ret;

	asm volatile("syscall" : "=a" (ret) : "a" (nr), "D" (a), "S" (b), "d" (c)
		     : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 asm("x8") = nr;
	register long x0 asm("x0") = a;
	register long x1 asm("x1") = b;
	register long x2 asm("x2") = c;

	asm volatile("svc 0" : "+r" (x0) : "r" (x8), "r" (x1), "r" (x2) : "memory", "cc");
	return x0;
#endif
}

/* A system call that does next to nothing. */
static __always_inline void short_syscall(void)
{
	raw_syscall(__NR_getppid, 0, 0, 0);
}

/* Page faults: as many as asked for, and no others once this has run before. */
static inline void fault(unsigned int nr)
{
	char *p = mmap(NULL, nr * 4096ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		fail_case("mmap");
	madvise(p, nr * 4096ul, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < nr; i++)
		*(volatile char *)(p + i * 4096ul) = 1;
	munmap(p, nr * 4096ul);
}

/* Enables an event, runs the loop, disables it: a handful of instructions more than the loop. */
static inline void count_loop(int fd, unsigned long n, unsigned long flags)
{
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, flags);
	run_loop(n);
	raw_syscall(__NR_ioctl, fd, PERF_EVENT_IOC_DISABLE, flags);
}

static inline void enable(int fd)
{
	MUST(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
}

static inline void disable(int fd)
{
	MUST(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
}

static inline pid_t fork_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = MUST(fork());
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A child that does nothing but wait. */
static inline pid_t waiting_child(void)
{
	pid_t pid = fork_child();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static inline void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What a child says by its exit status: 0 for good. */
static inline bool child_was_good(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		ktap_note("child left with status %#x", status);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* A byte passed through a pipe: the other side may go on. */
struct gate {
	int	fd[2];
};

static inline struct gate gate_new(void)
{
	struct gate g;

	MUST(pipe2(g.fd, O_CLOEXEC));
	return g;
}

static inline void gate_open(struct gate *g)
{
	MUST(write(g->fd[1], "", 1));
}

static inline void gate_wait(struct gate *g)
{
	char byte;

	while (read(g->fd[0], &byte, 1) < 0 && errno == EINTR)
		;
}

/* Until /proc/PID/stat says that a process sleeps: if on our CPU, it has left that. */
static inline void wait_until_asleep(pid_t pid)
{
	char path[32], text[512], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		usleep(1000);
		fd = MUST(open(path, O_RDONLY | O_CLOEXEC));
		n = MUST(read(fd, text, sizeof(text) - 1));
		close(fd);
		text[n] = 0;
		state = strrchr(text, ')');
	} while (!state || state[1] != ' ' || state[2] != 'S');
}

#endif /* WORKLOAD_H */
