// SPDX-License-Identifier: GPL-2.0
/*
 * Reasons of refusals: /proc/sys/kernel/perf_event_error for the thread that made the request, and
 * the tracepoint perf:perf_event_refused. errno.c checks errnos and reasons of every rule; this
 * program checks how they are delivered.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "require.h"
#include "workloads.h"

#include <pthread.h>
#include <sys/stat.h>

static const char sysctl[] = "/proc/sys/kernel/perf_event_error";

static void need_reasons(void)
{
	if (!kernel_gives_reasons())
		skip_case("this kernel does not say why");
}

static const char *reason_is(void)
{
	static __thread char line[256];

	if (perf_reason(line, sizeof(line)) < 0)
		fail_case(sysctl);
	return line;
}

static bool speaks_of(const char *text, const char *of)
{
	if (strstr(text, of))
		return true;
	ktap_note("\"%s\" does not speak of \"%s\"", text, of);
	return false;
}

/* A period with the highest bit, which no event may have. */
static int ask_for_nonsense(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);

	attr.exclude_kernel = 1;
	attr.sample_period = 1ull << 63;
	return perf_open(&attr, 0, -1, -1, 0);
}

static int ask_for_other_nonsense(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);

	attr.read_format = 1ull << 40;
	return perf_open(&attr, 0, -1, -1, 0);
}

static bool names_the_field(void)
{
	need_reasons();
	return expect_refused("bit 63", ask_for_nonsense(), EINVAL, "sample_period") &
	       expect_refused("bit 40", ask_for_other_nonsense(), EINVAL, "read_format");
}

/* Without a refusal there is no reason. A success does not clear it. */
static bool is_the_last_one(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);
	pid_t pid;

	need_reasons();
	pid = fork_child();
	if (!pid) {
		bool good = expect_eq("letters before the first", strlen(reason_is()), 0);

		ask_for_nonsense();
		good &= speaks_of(reason_is(), "sample_period");
		good &= speaks_of(reason_is(), "sample_period");
		open_self(&attr, -1);
		good &= speaks_of(reason_is(), "sample_period");
		ask_for_other_nonsense();
		good &= speaks_of(reason_is(), "read_format");
		fflush(stdout);
		_exit(!good);
	}
	return child_succeeded(pid);
}

static void *ask_in_thread(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++) {
		ask_for_other_nonsense();
		if (!speaks_of(reason_is(), "read_format"))
			return (void *)1;
	}
	return NULL;
}

static bool is_the_threads_own(void)
{
	pthread_t thread[4];
	bool good = true;
	void *bad;

	need_reasons();
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, ask_in_thread, NULL);
	for (int i = 0; i < 1000; i++) {
		ask_for_nonsense();
		good &= speaks_of(reason_is(), "sample_period");
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &bad);
		good &= !bad;
	}
	return good;
}

/* A PMU that does not exist. A driver may give a reason; if it does not, the core does. */
static int ask_for_no_pmu(void)
{
	struct perf_event_attr attr = perf_attr(0x7fffffff, 0);

	return perf_open(&attr, 0, -1, -1, 0);
}

static volatile bool enough;

static void *ask_until_enough(void *arg)
{
	(void)arg;
	while (!enough)
		ask_for_nonsense();
	return NULL;
}

/* While other threads are refused: some thousand times in three seconds. */
static bool is_always_given(void)
{
	unsigned int missing = 0, asked = 0;
	pthread_t thread[2];
	uint64_t until;

	need_reasons();
	require_cpus(2);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, ask_until_enough, NULL);
	until = monotonic_ns() + 3000000000;
	for (; !asked || monotonic_ns() < until; asked++) {
		ask_for_other_nonsense();
		ask_for_no_pmu();
		missing += !strstr(reason_is(), "no PMU");
	}
	enough = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	ktap_note("%u refusals", asked);
	return expect_eq("refusals without a reason of theirs", missing, 0);
}

/* An unprivileged user can read it; no user can write it. */
static bool is_for_everybody(void)
{
	struct stat st;
	pid_t pid;

	need_reasons();
	MUST(stat(sysctl, &st));
	pid = fork_child();
	if (!pid) {
		MUST(setresuid(65534, 65534, 65534));
		ask_for_nonsense();
		_exit(!speaks_of(reason_is(), "sample_period"));
	}
	return child_succeeded(pid) & expect_eq("mode", st.st_mode & 0777, 0444) &
	       expect_eq("write", write_line(sysctl, "x"), -1);
}

static bool ioctls_and_mmap_as_well(void)
{
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t period = 1000;
	bool good = true;
	int fd;
	void *p;

	need_reasons();
	fd = open_self(&attr, -1);
	good &= expect_refused("ioctl", ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EINVAL,
			       "period");
	p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	good &= expect_refused("mmap", p == MAP_FAILED ? -1 : 0, EINVAL, "pages");
	good &= expect_refused("read", read(fd, &period, 4), ENOSPC, "bytes");
	return good;
}

#define TRACING	"/sys/kernel/tracing"

/* The tracepoint shows errno and reason, and counts as any tracepoint. */
static bool tracepoint_counts(void)
{
	static char trace[16384];
	struct perf_event_attr attr;
	char line[64];
	bool good = true;
	ssize_t n = 0, got;
	int file, fd;

	need_reasons();
	if (read_line(TRACING "/events/perf/perf_event_refused/id", line, sizeof(line)) <= 0)
		fail_case("perf:perf_event_refused");
	attr = perf_attr(PERF_TYPE_TRACEPOINT, strtoul(line, NULL, 10));
	fd = open_self(&attr, -1);
	MUST(write_line(TRACING "/trace", ""));
	close(MUST(open(TRACING "/trace", O_WRONLY | O_TRUNC)));
	MUST(write_line(TRACING "/events/perf/perf_event_refused/enable", "1"));
	for (int i = 0; i < 10; i++)
		ask_for_nonsense();
	ask_for_other_nonsense();
	MUST(write_line(TRACING "/events/perf/perf_event_refused/enable", "0"));
	good &= expect_eq("counted", perf_count(fd), 11);
	file = MUST(open(TRACING "/trace", O_RDONLY));
	while ((got = read(file, trace + n, sizeof(trace) - 1 - n)) > 0)
		n += got;
	trace[n] = '\0';
	good &= speaks_of(trace, "sample_period");
	good &= speaks_of(trace, "read_format");
	good &= speaks_of(trace, "22");
	return good;
}

static const struct test tests[] = {
	{ "the reason names the field", names_the_field },
	{ "the reason is that of the last refusal", is_the_last_one },
	{ "each thread has its own reason", is_the_threads_own },
	{ "the reason stays while other threads are refused", is_always_given },
	{ "all users can read the reason, none can write it", is_for_everybody },
	{ "ioctl, mmap and read give reasons, too", ioctls_and_mmap_as_well },
	{ "perf:perf_event_refused", tracepoint_counts },
};

TESTS_MAIN(tests)
