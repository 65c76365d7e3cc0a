// SPDX-License-Identifier: GPL-2.0
/* Opening and counting: places, inheritance, groups, what is done without, and what is refused. */
#include "names.h"

#include <sys/resource.h>

#include "../../testing/selftests/perf_events/harness.h"
#include "../../testing/selftests/perf_events/expect.h"
#include "../../testing/selftests/perf_events/events.h"
#include "../../testing/selftests/perf_events/processes.h"
#include "../../testing/selftests/perf_events/workloads.h"

#define PAGES		100
#define NOBODY		65534

static struct tally_events open_list;
static struct tally_opened session;
static struct tally_error open_err;

/* Opens @names for @target, ready to be enabled. */
static int open_names(const char *names, const struct tally_target *target)
{
	if (tally_parse_events(&open_list, names, &open_err) < 0)
		fail_case(open_err.text);
	for (int i = 0; i < open_list.n; i++) {
		struct tally_counter *event = &open_list.event[i];

		event->attr.disabled = event->leader || event->group < 0;
		event->attr.inherit = 1;
		event->attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (event->leader)
			event->attr.read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	}
	session.events = &open_list;
	return tally_open(&session, target, &open_err);
}

static int open_for_self(const char *names)
{
	pid_t self = getpid();
	const struct tally_target target = { .tids = &self, .nr_tids = 1 };

	return open_names(names, &target);
}

/* Sum of an event over its places; a task's events of one CPU each are not to be scaled. */
static uint64_t sum_counts(int event, bool scaled)
{
	struct tally_count counts[64];
	uint64_t sum = 0;

	if (open_list.n * session.nr_places > 64 ||
	    tally_read_counts(&session, counts, &open_err))
		fail_case("tally_read_counts");
	for (int place = 0; place < session.nr_places; place++)
		sum += scaled ? tally_scale(&counts[event * session.nr_places + place]) :
			counts[event * session.nr_places + place].value;
	return sum;
}

static uint64_t total_count(int event)
{
	return sum_counts(event, true);
}

static bool counts_faults(void)
{
	if (open_for_self("faults"))
		fail_case(open_err.text);
	tally_ioctl(&session, PERF_EVENT_IOC_ENABLE);
	fault_pages(PAGES);
	tally_ioctl(&session, PERF_EVENT_IOC_DISABLE);
	return expect_eq("faults", total_count(0), PAGES);
}

static bool counts_groups(void)
{
	bool good;

	if (open_for_self("cs,{faults,minor-faults,dummy},minor-faults"))
		fail_case(open_err.text);
	tally_ioctl(&session, PERF_EVENT_IOC_ENABLE);
	fault_pages(PAGES);
	tally_ioctl(&session, PERF_EVENT_IOC_DISABLE);
	good = expect_eq("leader", total_count(1), PAGES) &&
		expect_eq("member", total_count(2), PAGES) &&
		expect_eq("dummy", total_count(3), 0) &&
		expect_eq("alone", total_count(4), PAGES);
	tally_close(&session);
	return good;
}

static bool counts_children(void)
{
	pid_t child;

	if (open_for_self("minor-faults"))
		fail_case(open_err.text);
	child = fork_child();
	if (!child) {
		fault_pages(PAGES);
		_exit(0);
	}
	child_succeeded(child);
	if (!expect_eq("before the event is enabled", total_count(0), 0))
		return false;
	tally_ioctl(&session, PERF_EVENT_IOC_ENABLE);
	child = fork_child();
	if (!child) {
		fault_pages(PAGES);
		_exit(0);
	}
	return expect_eq("child", child_succeeded(child), 1) &&
		expect_between("faults with the child's", total_count(0), PAGES, 20 * PAGES);
}

static bool counts_per_cpu(void)
{
	pid_t self = getpid();
	const struct tally_target target = { .tids = &self, .nr_tids = 1, .per_cpu = true };
	int online;

	if (open_names("faults", &target))
		fail_case(open_err.text);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	tally_ioctl(&session, PERF_EVENT_IOC_ENABLE);
	fault_pages(PAGES);
	tally_ioctl(&session, PERF_EVENT_IOC_DISABLE);
	return expect_eq("places", session.nr_places, online) &&
		expect_eq("faults", sum_counts(0, false), PAGES);
}

static bool executes_command(void)
{
	char name[] = "/bin/true";
	char *argv[2] = { name };
	struct tally_command command;
	struct tally_target target = { .tids = &command.pid, .nr_tids = 1 };
	int status;

	if (tally_command_prepare(&command, argv, &open_err))
		fail_case(open_err.text);
	if (tally_parse_events(&open_list, "faults", &open_err) < 0)
		fail_case(open_err.text);
	open_list.event[0].attr.disabled = 1;
	open_list.event[0].attr.enable_on_exec = 1;
	open_list.event[0].attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
		PERF_FORMAT_TOTAL_TIME_RUNNING;
	session.events = &open_list;
	if (tally_open(&session, &target, &open_err))
		fail_case(open_err.text);
	if (!expect_eq("before exec", total_count(0), 0))
		return false;
	if (tally_command_start(&command, argv[0], &open_err))
		fail_case(open_err.text);
	waitpid(command.pid, &status, 0);
	return expect_eq("status", status, 0) && expect_between("faults", total_count(0), 5, 5000);
}

static bool reports_failed_exec(void)
{
	char name[] = "/no/such/program";
	char *argv[2] = { name };
	struct tally_command command;

	if (tally_command_prepare(&command, argv, &open_err))
		fail_case(open_err.text);
	return expect_eq("errno", -tally_command_start(&command, argv[0], &open_err), ENOENT);
}

/* The level of perf_event_paranoid, 2 if it cannot be read. */
static long paranoid_level(void)
{
	char text[16];

	return tally_file_text("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) > 0 ?
		atol(text) : 2;
}

static bool falls_back_to_user(void)
{
	if (paranoid_level() < 2)
		skip_case("perf_event_paranoid is below 2");
	if (setuid(NOBODY))
		skip_case("not root");
	if (open_for_self("task-clock,faults:u"))
		fail_case(open_err.text);
	return expect(!strcmp(open_list.event[0].name, "task-clock:u"), "named %s",
		      open_list.event[0].name) &&
		expect_eq("exclude_kernel", open_list.event[0].attr.exclude_kernel, 1) &&
		expect_eq("fell back", session.fell_back, TALLY_FELL_USER);
}

static bool explains_paranoid(void)
{
	const struct tally_target target = { .all_cpus = true };

	if (paranoid_level() < 1)
		skip_case("perf_event_paranoid is below 1");
	if (setuid(NOBODY))
		skip_case("not root");
	return expect_eq("errno", -open_names("faults", &target), EACCES) &&
		expect(strstr(open_err.text, "perf_event_paranoid is"), "says %s", open_err.text) &&
		expect_eq("restored", open_list.event[0].attr.exclude_kernel, 0);
}

static bool raises_file_limit(void)
{
	struct rlimit limit = { 8, 1024 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		skip_case("cannot set RLIMIT_NOFILE");
	if (open_for_self("cs,cs,cs,cs,cs,cs,cs,cs,cs,cs"))
		fail_case(open_err.text);
	return expect_eq("events", open_list.n, 10);
}

static bool explains_file_limit(void)
{
	struct rlimit limit = { 8, 8 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		skip_case("cannot set RLIMIT_NOFILE");
	return expect_eq("errno", -open_for_self("cs,cs,cs,cs,cs,cs,cs,cs,cs,cs"), EMFILE) &&
		expect(strstr(open_err.text, "8 files are allowed"), "says %s", open_err.text) &&
		expect(!session.fds, "nothing stays open");
}

/* The kernel lacks nothing that the table drops, so the steps are called as after a refusal. */
static bool drops_newest_first(void)
{
	struct tally_fallback fallback;
	struct tally_counter *event;

	tally_parse_events(&open_list, "dummy", &open_err);
	event = open_list.event;
	event->attr.mmap2 = 1;
	event->attr.cgroup = 1;
	event->attr.build_id = 1;
	event->attr.sample_type = PERF_SAMPLE_WEIGHT_STRUCT;
	tally_fallback_begin(&session, event, &fallback);
	if (!expect(tally_fallback_next(&session, event, EINVAL, &fallback), "a step") ||
	    !expect(!event->attr.build_id && event->attr.cgroup, "build_id is dropped first"))
		return false;
	tally_fallback_next(&session, event, EINVAL, &fallback);
	if (!expect_eq("weight", event->attr.sample_type, PERF_SAMPLE_WEIGHT))
		return false;
	tally_fallback_done(&session, event, &fallback);
	event->attr.build_id = 1;
	tally_fallback_begin(&session, event, &fallback);
	if (!expect(!event->attr.build_id, "the next event is opened without it at once"))
		return false;
	while (tally_fallback_next(&session, event, EINVAL, &fallback))
		;
	return expect(event->attr.build_id && event->attr.cgroup && event->attr.mmap2,
		      "after the last step the attr is the first one");
}

static bool takes_clock_for_cycles(void)
{
	struct tally_fallback fallback;
	struct tally_counter *event;

	tally_parse_events(&open_list, "cycles:k", &open_err);
	event = open_list.event;
	tally_fallback_begin(&session, event, &fallback);
	if (!expect(!tally_fallback_next(&session, event, ENOENT, &fallback), "not if not allowed"))
		return false;
	session.clock_for_cycles = true;
	tally_fallback_begin(&session, event, &fallback);
	return expect(tally_fallback_next(&session, event, ENOENT, &fallback), "cpu-clock") &&
		expect_eq("type", event->attr.type, PERF_TYPE_SOFTWARE) &&
		expect_eq("config", event->attr.config, PERF_COUNT_SW_CPU_CLOCK);
}

static bool scales(void)
{
	const struct tally_count half = { 1ull << 60, 2000, 1000 }, whole = { 7, 5, 5 };
	const struct tally_count none = { 7, 5, 0 };

	return expect_eq("half", tally_scale(&half), 1ull << 61) &&
		expect_eq("whole", tally_scale(&whole), 7) &&
		expect_eq("none", tally_scale(&none), 0);
}

static bool lists_of_cpus(void)
{
	int *cpus, n = tally_cpu_list("1-3,8", &cpus, &open_err);

	return expect_eq("CPUs", n, 4) && expect_eq("first", cpus[0], 1) &&
		expect_eq("last", cpus[3], 8) &&
		expect_eq("backwards", -tally_cpu_list("3-1", &cpus, &open_err), EINVAL) &&
		expect_eq("words", -tally_cpu_list("1,x", &cpus, &open_err), EINVAL) &&
		expect_eq("empty", -tally_cpu_list("", &cpus, &open_err), EINVAL);
}

static bool refuses_targets(void)
{
	pid_t self = getpid(), none = 0x7ffffff0;
	const struct tally_target both = { .tids = &self, .nr_tids = 1, .all_cpus = true };
	const struct tally_target gone = { .pids = &none, .nr_pids = 1 };
	char *name = "no/such/cgroup";
	const struct tally_target offline = { .cpus = "0,60000", .all_cpus = true };
	const struct tally_target cgroup = { .cgroups = &name, .nr_cgroups = 1 };

	return expect_eq("CPU", -open_names("cs", &offline), ENODEV) &&
		expect(strstr(open_err.text, "CPU 60000 is not online"), "says %s",
		       open_err.text) &&
		expect_eq("task and CPUs", -open_names("cs", &both), EINVAL) &&
		expect_eq("no process", -open_names("cs", &gone), ESRCH) &&
		expect_eq("no cgroup", -open_names("cs", &cgroup), ENOENT);
}

static const struct test tests[] = {
	{ "a task's faults are counted exactly", counts_faults },
	{ "a group is read with one call, other events apart", counts_groups },
	{ "children count with an enabled event", counts_children },
	{ "a task is counted on each CPU apart, exactly", counts_per_cpu },
	{ "a command is counted from exec on", executes_command },
	{ "a command that cannot be executed", reports_failed_exec },
	{ "user mode alone where the kernel may not be counted", falls_back_to_user },
	{ "a refusal names the level that allows it", explains_paranoid },
	{ "the limit of open files is raised as far as allowed", raises_file_limit },
	{ "too few open files are named", explains_file_limit },
	{ "features are dropped newest first, and for later events", drops_newest_first },
	{ "cpu-clock takes the place of cycles on request", takes_clock_for_cycles },
	{ "scaling of a multiplexed count", scales },
	{ "lists of CPUs", lists_of_cpus },
	{ "targets that exclude each other or do not exist", refuses_targets },
};

TESTS_MAIN(tests)
