// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records of tasks that take turns on a CPU, and that fork: no record of a user has a branch
 * of another task or of the kernel. Instructions are the clock of the machine.
 *
 * BRANCH_SWITCHES in the environment (a kernel parameter) is the number of task switches of each
 * case, instead of a few thousand.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_branch_tasks.h"

#define CPU_PERIOD	311	/* less than two turns of a task */

static bool type_shows_own_branches(uint64_t type, enum counted counted)
{
	struct perf_event_attr attr = branch_attr(type);

	need_branches();
	attr.sample_period = counted == OF_CPU ? CPU_PERIOD : TASK_PERIOD;
	return turns_show_own_branches(&attr, counted);
}

static bool tasks_have_their_own(void)
{
	return type_shows_own_branches(FORM_ANY, OF_SELF);
}

static bool heirs_have_their_own(void)
{
	return type_shows_own_branches(FORM_ANY, OF_BOTH);
}

static bool cpu_has_those_of_its_task(void)
{
	return type_shows_own_branches(FORM_ANY, OF_CPU);
}

static bool returns_are_of_the_task(void)
{
	return type_shows_own_branches(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY_RETURN,
				       OF_CPU);
}

static const struct test tests[] = {
	{ "tasks and their children have branches of their own", tasks_have_their_own },
	{ "so have two tasks of which both inherit the event", heirs_have_their_own },
	{ "samples of a CPU have branches of the task that runs", cpu_has_those_of_its_task },
	{ "so have samples with the branches of a filter", returns_are_of_the_task },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("branch records of tasks", "not an x86")
#endif
