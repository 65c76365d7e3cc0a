// SPDX-License-Identifier: GPL-2.0
/*
 * Many precise samples to one interrupt, on CPUs that turn offline and online, of tasks that fork,
 * exec and move from CPU to CPU: there are as many samples as the count has periods. Every other
 * task has events as perf record opens them: one for each CPU, which the task's children inherit.
 *
 * BATCH_SAMPLES in the environment (a kernel parameter) is the number of samples that the case
 * takes, instead of some thousands.
 */
#include "harness.h"

#ifdef __x86_64__
#include <pthread.h>

#include "x86_batch.h"
#include "x86_precise_tasks.h"

#define SAMPLES		30000
#define TASK_PERIOD	211
#define CPU_PERIOD	307
/* A rest of a period that is shorter than a part allows is made that much longer at most. */
#define TASK_LATE	128

/*
 * Only what a record has, so that there are many to an interrupt. One counter alone can have the
 * highest precision: inherited events have less, and never wait for it. The event behind the end of
 * a period writes the record.
 */
static struct source batch_source(uint64_t period, bool inherit)
{
	struct source source = {
		.attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, inherit ? 2 : max_precise),
		.behind = 1 + TASK_LATE, .ahead = -1, .counts_all = inherit,
	};

	source.attr.sample_period = period;
	return source;
}

static bool run_turn(unsigned int nr, struct source *cpus, struct turn *turn)
{
	static struct worker workers[TASKS];
	bool good = true;

	for (unsigned int i = 0; i < TASKS; i++) {
		struct source kind = batch_source(TASK_PERIOD, i % 2);

		start_worker(&workers[i], &kind, i % 2);
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		event_enable(cpus[cpu].fd);
	for (unsigned int i = 0; i < TASKS; i++)
		gate_open(&workers[i].stepper.go);
	turn_cpu_off(nr);
	for (unsigned int i = 0; i < TASKS; i++)
		good &= finish_worker(&workers[i], turn);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		event_disable(cpus[cpu].fd);
		good &= source_is_complete("samples of a CPU", &cpus[cpu]);
		turn->kernel += cpus[cpu].kernel;
	}
	return good & expect_eq("samples of the kernel", turn->kernel, 0);
}

static bool no_record_is_lost(void)
{
	uint64_t wanted = env_number("BATCH_SAMPLES", SAMPLES), of_cpus = 0;
	struct source cpus[CPUS];
	struct turn turn = { };
	unsigned int nr;
	bool good = true;

	need_precise();
	if (!records_have_time())
		skip_case("the record of a system call has the address of the kernel");
	require_cpus(CPUS);
	MUST(pin_to_cpu(0));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		cpus[cpu] = batch_source(CPU_PERIOD, false);
		open_source(&cpus[cpu], -1, cpu, CPU_PAGES);
	}
	for (nr = 0; good && turn.samples + of_cpus < wanted; nr++) {
		good = run_turn(nr, cpus, &turn);
		of_cpus = 0;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			of_cpus += cpus[cpu].tasks[0].samples;
	}
	ktap_note("%u turns, %lu samples of tasks, %lu of CPUs", nr, turn.samples, of_cpus);
	return good;
}

static volatile pid_t thread;

static void *run_thread(void *unused)
{
	thread = gettid();
	other_precise_loop(2000, 0);
	return unused;
}

/*
 * A thread that exits has no number any more at its last switch, where samples of an event of the
 * CPU are taken otherwise. In a store there is room for all of its records.
 */
static bool exiting_threads_have_samples(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int samples = 0, wrong = 0;
	pthread_t of_loop;
	struct ring ring;
	struct sample s;
	int fd;

	MUST(pin_to_cpu(0));
	fd = MUST(perf_open(&attr, -1, 0, -1, 0));
	if (!ring_map(&ring, fd, CPU_PAGES))
		fail_case("mmap");
	event_enable(fd);
	if (pthread_create(&of_loop, NULL, run_thread, NULL) || pthread_join(of_loop, NULL))
		fail_case("thread");
	event_disable(fd);
	for (struct perf_event_header *h; (h = ring_find(&ring, PERF_RECORD_SAMPLE));) {
		sample_parse(&s, h, &attr);
		if (point_of(other_precise_loop_points, s.ip) < 0)
			continue;
		samples++;
		wrong += (pid_t)s.pid != getpid() || (pid_t)s.tid != thread;
	}
	ring_unmap(&ring);
	close(fd);
	return expect_between("samples of the thread", samples, 2000 * ROUND / BATCH_PERIOD - 2,
			      2000 * ROUND / BATCH_PERIOD + 1) &
	       expect_eq("samples of another thread", wrong, 0);
}

static const struct test tests[] = {
	{ "samples of a thread that exits are its own", exiting_threads_have_samples },
	{ "forks, execs, moves and CPUs that turn offline lose no record", no_record_is_lost },
};

int main(int argc, char **argv)
{
	return run_tests_or_steps(tests, ARRAY_SIZE(tests), argc, argv);
}
#else
TESTS_MAIN_SKIPPED("precise samples of tasks", "not an x86")
#endif
