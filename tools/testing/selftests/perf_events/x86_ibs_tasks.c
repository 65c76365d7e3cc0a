// SPDX-License-Identifier: GPL-2.0
/*
 * Instruction based sampling of AMD, of tasks that fork, exec and move from CPU to CPU, and of CPUs
 * that turn offline and online: the samples are the periods in the counts. Every other task has
 * events as perf record opens them: one for each CPU, which the task's children inherit.
 *
 * A CPU has one counter of a kind: an event of all tasks on it and those of the tasks would take
 * turns. So they have cases of their own.
 *
 * BATCH_SAMPLES in the environment (a kernel parameter) is the number of samples that each case
 * takes, instead of some thousands.
 */
#include "harness.h"

#ifdef __x86_64__
#include "x86_ibs.h"
#include "x86_precise_tasks.h"

#define SAMPLES		5000
/* A period ends early where fewer events are left than the counter can count. */
#define EARLY		143
/* Events in which a stop has begun, and the counter is not read yet: a sample there is lost. */
#define STOP_EVENTS	8

/* The counter's events are those of user space and of the kernel. @config: of @pmu. */
static struct source ibs_source(const char *pmu, uint64_t config)
{
	struct source source = {
		.attr = ibs_attr(pmu, config), .ahead = EARLY, .may_miss = UINT64_MAX,
		.counts_all = true,
	};

	return source;
}

/* Periods that ended where a stop begins: no more than their share of the events. */
static bool few_are_missed(const struct turn *turn)
{
	ktap_note("%lu samples, %lu missed, %lu switches", turn->samples, turn->missed,
		  turn->switches);
	return expect_between("periods without a sample", turn->missed, 0,
			      turn->switches * scale * STOP_EVENTS / SAMPLED_PERIOD + 2);
}

/* The samples that a case takes, on a machine that can take them; the case runs on CPU 0. */
static uint64_t samples_of_case(void)
{
	need_ibs();
	require_cpus(CPUS);
	MUST(pin_to_cpu(0));
	return env_number("BATCH_SAMPLES", SAMPLES);
}

static bool tasks_are_complete(const char *pmu, uint64_t config)
{
	static struct worker workers[TASKS];
	struct turn turn = { };
	struct source kind;
	bool good = true;
	uint64_t wanted;

	wanted = samples_of_case();
	kind = ibs_source(pmu, config);
	for (unsigned int nr = 0; good && turn.samples < wanted; nr++) {
		for (unsigned int i = 0; i < TASKS; i++)
			start_worker(&workers[i], &kind, i % 2);
		for (unsigned int i = 0; i < TASKS; i++)
			gate_open(&workers[i].stepper.go);
		turn_cpu_off(nr);
		for (unsigned int i = 0; i < TASKS; i++)
			good &= finish_worker(&workers[i], &turn);
	}
	return good & few_are_missed(&turn);
}

/* The tasks have no events; those of the CPUs have what these execute, and the kernel. */
static bool cpus_are_complete(const char *pmu, uint64_t config)
{
	struct stepper steppers[TASKS];
	struct source cpus[CPUS];
	struct turn turn = { };
	bool good = true;
	uint64_t wanted;

	wanted = samples_of_case();
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		cpus[cpu] = ibs_source(pmu, config);
		open_source(&cpus[cpu], -1, cpu, CPU_PAGES);
	}
	for (unsigned int nr = 0; good && turn.samples < wanted; nr++) {
		uint64_t count = 0;

		for (unsigned int i = 0; i < TASKS; i++)
			start_stepper(&steppers[i]);
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			event_enable(cpus[cpu].fd);
		for (unsigned int i = 0; i < TASKS; i++)
			gate_open(&steppers[i].go);
		turn_cpu_off(nr);
		for (unsigned int i = 0; i < TASKS; i++)
			good &= finish_stepper(&steppers[i], &turn.switches);
		turn.samples = 0;
		turn.missed = 0;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
			event_disable(cpus[cpu].fd);
			good &= source_is_complete("samples of a CPU", &cpus[cpu]);
			count += cpus[cpu].tasks[0].count;
			turn.samples += cpus[cpu].tasks[0].samples;
			turn.missed += cpus[cpu].missed;
		}
		good &= expect(count + turn.samples >= (nr + 1) * TASKS * STEP_INSNS,
			       "%lu events in %u turns", count, nr + 1);
	}
	return good & few_are_missed(&turn);
}

static bool ops_of_tasks(void)
{
	return tasks_are_complete("ibs_op", CNT_CTL);
}

static bool fetches_of_tasks(void)
{
	return tasks_are_complete("ibs_fetch", 0);
}

static bool ops_of_cpus(void)
{
	return cpus_are_complete("ibs_op", CNT_CTL);
}

static bool fetches_of_cpus(void)
{
	return cpus_are_complete("ibs_fetch", 0);
}

static const struct test tests[] = {
	{ "ops of tasks that fork, exec and move: samples are the periods", ops_of_tasks },
	{ "fetches of tasks that fork, exec and move: samples are the periods", fetches_of_tasks },
	{ "ops of CPUs that turn offline: samples are the periods", ops_of_cpus },
	{ "fetches of CPUs that turn offline: samples are the periods", fetches_of_cpus },
};

int main(int argc, char **argv)
{
	return run_tests_or_steps(tests, ARRAY_SIZE(tests), argc, argv);
}
#else
TESTS_MAIN_SKIPPED("instruction based sampling of tasks", "not an x86")
#endif
