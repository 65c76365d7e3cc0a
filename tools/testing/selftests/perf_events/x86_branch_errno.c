// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for branch records on x86: which ones each part refuses, with which errno and, on a
 * kernel that gives reasons, in which words. Each refusal stands beside a request that differs in
 * one thing and succeeds. x86_branch_counters.c and x86_brs.c have those of their parts.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"

#ifdef __x86_64__
#include "x86_branch_samples.h"
#include "x86_rdpmc.h"

#define NOBODY_ID	65534

static int open_branches(uint64_t type)
{
	struct perf_event_attr attr = branch_attr(type);

	return perf_open(&attr, 0, -1, -1, 0);
}

#define BRANCH(kind)	PERF_SAMPLE_BRANCH_##kind

static const struct request {
	const char	*name;
	uint64_t	type;		/* without levels */
	unsigned int	lacking;	/* parts that refuse it */
} requests[] = {
	{ "any",	BRANCH(ANY) },
	{ "any_call",	BRANCH(ANY_CALL) },
	{ "any_ret",	BRANCH(ANY_RETURN) },
	{ "ind_call",	BRANCH(IND_CALL) },
	{ "ind_jmp",	BRANCH(IND_JUMP) },
	{ "cond",	BRANCH(COND) },
	{ "call",	BRANCH(CALL), NEHALEM },
	{ "call and cond", BRANCH(CALL) | BRANCH(COND), NEHALEM },
	{ "call stack",	BRANCH(CALL_STACK), WITHOUT_STACK },
	{ "hw_index",	BRANCH(ANY) | BRANCH(HW_INDEX) },
	{ "types",	BRANCH(ANY) | BRANCH(TYPE_SAVE) },
	{ "levels",	BRANCH(ANY) | BRANCH(PRIV_SAVE) },
	{ "in_tx",	BRANCH(ANY) | BRANCH(IN_TX), AMD_V2 },
	{ "no_tx",	BRANCH(ANY) | BRANCH(NO_TX), AMD_V2 },
	{ "abort_tx",	BRANCH(ANY) | BRANCH(ABORT_TX), AMD_V2 },
	{ "no_flags",	BRANCH(ANY) | BRANCH(NO_FLAGS), AMD_V2 },
};

/* A request succeeds, or its reason names what the part lacks. */
static bool request_is_answered(const char *name, uint64_t type, bool lacks, uint64_t missing)
{
	bool none = part_of_cpu() == NO_RECORDS, good;
	char reason[64];
	int fd;

	snprintf(reason, sizeof(reason), "branch_sample_type: this CPU cannot record %#lx",
		 (long)missing);
	fd = open_branches(type);
	if (none)
		good = expect_refused(name, fd, EOPNOTSUPP, "no branch records");
	else if (lacks)
		good = expect_refused(name, fd, EOPNOTSUPP, reason);
	else
		good = expect(fd >= 0, "%s: errno %d", name, errno);
	if (fd >= 0)
		close(fd);
	return good;
}

/* What a part cannot select, of all that are in the table. */
static uint64_t kinds_missing(unsigned int part)
{
	uint64_t all = 0, missing = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(requests); i++) {
		if (requests[i].lacking & part)
			missing |= requests[i].type;
		else
			all |= requests[i].type;
	}
	return missing & ~all;
}

static bool parts_refuse_what_they_lack(void)
{
	unsigned int part = part_of_cpu();
	uint64_t missing = kinds_missing(part);
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(requests); i++) {
		const struct request *r = &requests[i];

		good &= request_is_answered(r->name, r->type | BRANCH(USER), r->lacking & part,
					    r->type & missing);
		good &= request_is_answered(r->name, r->type | BRANCH(USER) | BRANCH(KERNEL),
					    r->lacking & part, r->type & missing);
	}
	return good;
}

static bool selections_are_checked(void)
{
	static const uint64_t user = BRANCH(USER);
	bool good = true;

	good &= expect_refused("levels alone", open_branches(user), EINVAL,
			       "branch_sample_type: names no kind");
	good &= expect_refused("unknown bit", open_branches(user | BRANCH(ANY) | BRANCH(MAX)),
			       EINVAL, "branch_sample_type: unknown bits 0x100000");
	return good;
}

/* A stack is what calls and returns leave: other branches cannot be in the same registers. */
static bool stacks_stand_alone(void)
{
	static const struct {
		const char	*name;
		uint64_t	type;
	} others[] = {
		{ "any", BRANCH(ANY) },
		{ "any_call", BRANCH(ANY_CALL) },
		{ "any_ret", BRANCH(ANY_RETURN) },
		{ "cond", BRANCH(COND) },
		{ "call", BRANCH(CALL) },
		{ "ind_jmp, of the kernel, too", BRANCH(IND_JUMP) | BRANCH(KERNEL) },
	};
	uint64_t stack = BRANCH(CALL_STACK) | BRANCH(USER);
	bool good = true;

	if (part_of_cpu() != WITH_STACK)
		skip_case("no call-stack mode");
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		good &= expect_refused(others[i].name, open_branches(stack | others[i].type),
				       EINVAL, "CALL_STACK does not go with other kinds");
	return good & expect(open_branches(stack) >= 0, "a stack: errno %d", errno) &
	       expect(open_branches(stack | BRANCH(KERNEL)) >= 0, "with the kernel's level");
}

/* x86_branch_counters.c has the rules of groups with counts. */
static bool counts_need_counters(void)
{
	bool none = part_of_cpu() == NO_RECORDS;
	uint64_t counts = BRANCH(USER) | BRANCH(COUNTERS);

	if (!access(CAPS_COUNTERS, F_OK))
		return expect_refused("counts of no branches", open_branches(counts), EINVAL,
				      "COUNTERS needs a leader with branches") &
		       expect_refused("counts and a stack",
				      open_branches(counts | BRANCH(CALL_STACK)), EINVAL,
				      "COUNTERS does not go with CALL_STACK");
	return expect_refused("counts alone", open_branches(counts), EINVAL, "no branch counters") &
	       expect_refused("counts and branches", open_branches(counts | BRANCH(ANY)),
			      none ? EOPNOTSUPP : EINVAL,
			      none ? "no branch records" : "no branch counters");
}

/* A request of a user without privileges, while perf_event_paranoid is @paranoid. */
static bool asks_as_nobody(int paranoid, const char *name, uint64_t type, int error)
{
	bool none = part_of_cpu() == NO_RECORDS;
	pid_t pid = fork_child();
	bool good;

	if (pid)
		return child_succeeded(pid);
	MUST(sysctl_set("perf_event_paranoid", paranoid));
	MUST(setuid(NOBODY_ID));
	if (error)
		good = expect_refused(name, open_branches(type), error,
				      "branch_sample_type: kernel branches need CAP_PERFMON");
	else if (none)
		good = expect_refused(name, open_branches(type), EOPNOTSUPP, "no branch records");
	else
		good = expect(open_branches(type) >= 0, "%s, paranoid %d: errno %d", name, paranoid,
			      errno);
	fflush(stdout);
	_exit(!good);
}

/* The event itself excludes the kernel. Without levels the branches are of the event's own. */
static bool kernel_needs_permission(void)
{
	long old = sysctl_get("perf_event_paranoid", -2);
	uint64_t any = BRANCH(ANY);
	bool good = true;

	good &= asks_as_nobody(2, "kernel", any | BRANCH(KERNEL), EACCES);
	good &= asks_as_nobody(2, "user and kernel", any | BRANCH(USER) | BRANCH(KERNEL), EACCES);
	good &= asks_as_nobody(2, "hypervisor", any | BRANCH(HV), EACCES);
	good &= asks_as_nobody(2, "a stack, user and kernel",
			       BRANCH(CALL_STACK) | BRANCH(USER) | BRANCH(KERNEL), EACCES);
	good &= asks_as_nobody(2, "user", any | BRANCH(USER), 0);
	good &= asks_as_nobody(2, "of the event's own levels", any, 0);
	good &= asks_as_nobody(1, "kernel", any | BRANCH(KERNEL), 0);
	if (part_of_cpu() == WITH_STACK)
		good &= asks_as_nobody(2, "a stack of user space",
				       BRANCH(CALL_STACK) | BRANCH(USER), 0);
	MUST(sysctl_set("perf_event_paranoid", old));
	return good;
}

/* Events of software have no branches, on any part. */
static bool software_has_none(void)
{
	static const uint32_t configs[] = {
		PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
	};
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(configs); i++) {
		struct perf_event_attr attr = branch_attr(FORM_ANY);

		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = configs[i];
		good &= expect_refused("a software event", perf_open(&attr, 0, -1, -1, 0),
				       EOPNOTSUPP, "branch");
	}
	return good;
}

/* Nehalem has one filter for the threads of a core; each other part has one for each CPU. */
static bool threads_share_a_filter(void)
{
	char active[8] = "";
	uint32_t a, b, c, d;

	__cpuid(1, a, b, c, d);
	if (part_of_cpu() != NEHALEM || ((a >> 4 & 0xf) | (a >> 12 & 0xf0)) == INTEL_SILVERMONT)
		return false;
	return read_line("/sys/devices/system/cpu/smt/active", active, sizeof(active)) > 0 &&
	       *active == '1';
}

/* A filter that threads share is that of the events that are open, until they are closed. */
static bool open_events_agree_on_a_filter(void)
{
	uint64_t cond = BRANCH(COND) | BRANCH(USER), ret = BRANCH(ANY_RETURN) | BRANCH(USER);
	bool shared = threads_share_a_filter(), good;
	int fd[3];

	if (part_of_cpu() == NO_RECORDS)
		return expect_refused("a filter", open_branches(cond), EOPNOTSUPP,
				      "no branch records");
	fd[0] = open_branches(cond);
	fd[1] = open_branches(cond | BRANCH(TYPE_SAVE));
	good = expect(fd[0] >= 0 && fd[1] >= 0, "two events of a filter: errno %d", errno);
	close(fd[0]);
	fd[2] = open_branches(ret);
	if (shared)
		good &= expect_refused("another filter", fd[2], EBUSY,
				       "branch_sample_type: threads share the filter");
	else
		good &= expect(fd[2] >= 0, "another filter: errno %d", errno);
	close(fd[1]);
	close(fd[2]);
	fd[2] = open_branches(ret);
	good &= expect(fd[2] >= 0, "another filter, alone: errno %d", errno);
	close(fd[2]);
	return good;
}

#define CAPS_PRECISE	"/sys/bus/event_source/devices/cpu/caps/max_precise"

/*
 * Before Haswell the branches lead to the instruction of a precise sample: all are needed that the
 * event can have. Without levels they are at those of the event, of which a hypervisor's is none.
 */
static bool precise_events_have_branches(void)
{
	uint64_t levels = BRANCH(USER) | BRANCH(KERNEL);
	unsigned int part = part_of_cpu();
	struct perf_event_attr attr = branch_attr(BRANCH(ANY));
	char line[8];
	int fd[3];
	bool good;

	if (read_line(CAPS_PRECISE, line, sizeof(line)) <= 0 || atoi(line) < 2)
		skip_case("no records of precise samples");
	attr.exclude_kernel = 0;
	attr.exclude_hv = 0;
	attr.precise_ip = 2;
	fd[0] = perf_open(&attr, 0, -1, -1, 0);
	good = expect(fd[0] >= 0, "without levels: errno %d", errno);
	attr.branch_sample_type = BRANCH(ANY) | levels | BRANCH(HV);
	fd[1] = perf_open(&attr, 0, -1, -1, 0);
	good &= expect(fd[1] >= 0, "with all levels: errno %d", errno);
	attr.branch_sample_type = BRANCH(ANY) | BRANCH(USER);
	fd[2] = perf_open(&attr, 0, -1, -1, 0);
	if (part & (NO_FILTER | NEHALEM | SANDYBRIDGE))
		good &= expect_refused("with fewer levels", fd[2], EOPNOTSUPP,
				       "precise_ip 2 needs ANY at the event's levels");
	else
		good &= expect(fd[2] >= 0, "with fewer levels: errno %d", errno);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	return good;
}

struct index_tally {
	unsigned int	samples, wrong, different;
	uint64_t	last;
};

/* Behind the number of entries lies the number of the registers of the newest one. */
static void count_index(const struct sample *s, struct index_tally *t)
{
	uint64_t index = s->branches[1];

	t->wrong += index >= (records_are_a_ring() ? depth : 1);
	t->different += t->samples++ && index != t->last;
	t->last = index;
}

static bool index_is_of_the_newest(void)
{
	struct perf_event_attr attr = branch_attr(FORM_ANY | BRANCH(HW_INDEX));
	struct index_tally t = { 0 };
	struct ring ring;
	struct sample s;
	int fd;

	if (part_of_cpu() == NO_RECORDS)
		return expect_refused("an index", open_branches(attr.branch_sample_type),
				      EOPNOTSUPP, "no branch records");
	need_branches();
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 64))
		fail_case("mmap");
	event_enable(fd);
	branch_loop(ROUNDS / 10);
	event_disable(fd);
	while (ring_sample(&ring, &attr, &s))
		count_index(&s, &t);
	ring_unmap(&ring);
	close(fd);
	/* Of few registers the newest is often the same one again. */
	return expect(t.samples >= 10, "%u samples", t.samples) &
	       expect_eq("indices that no register has", t.wrong, 0) &
	       (records_are_a_ring() ? expect(t.different > t.samples / 8, "%u of %u differ",
					      t.different, t.samples) :
				       expect_eq("indices that differ", t.different, 0));
}

static const struct test tests[] = {
	{ "each part refuses the branches that it cannot select", parts_refuse_what_they_lack },
	{ "a selection names a kind, and known bits alone", selections_are_checked },
	{ "a call stack does not go with other kinds", stacks_stand_alone },
	{ "counts need branch counters", counts_need_counters },
	{ "branches of the kernel need permission", kernel_needs_permission },
	{ "software events have no branches", software_has_none },
	{ "open events agree on a filter that threads share", open_events_agree_on_a_filter },
	{ "precise events have the branches of all their levels", precise_events_have_branches },
	{ "the index is that of the newest entry", index_is_of_the_newest },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch records of x86", "not an x86")
#endif
