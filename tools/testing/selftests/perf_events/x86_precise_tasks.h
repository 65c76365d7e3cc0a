/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that fork, exec and move from CPU to CPU while CPUs turn offline and online, and events
 * that sample them: there are as many samples as the count of each task has periods.
 *
 * A test with such tasks has a main() that calls run_tests_or_steps().
 */
#ifndef X86_PRECISE_TASKS_H
#define X86_PRECISE_TASKS_H

#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "workloads.h"

#define CPUS		4
#define TASKS		6
#define STEPS		24
#define STEP_LOOPS	5000
/* Of do_steps() in both images. */
#define CHILDREN	(2 * STEPS / 4)
#define STEP_INSNS	(2ull * STEPS * LOOP_INSNS(STEP_LOOPS))

/* --------------------------------------------------------------- what a task does */

/* The CPU can be offline: then the task stays where it is. */
static void move_once(unsigned int at)
{
	cpu_set_t all;

	pin_to_cpu(at % CPUS);
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < CPUS; cpu++)
		CPU_SET(cpu, &all);
	MUST(sched_setaffinity(0, sizeof(all), &all));
}

static void fork_and_exec(void)
{
	pid_t pid = MUST(vfork());

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void do_steps(void)
{
	unsigned int seed = getpid();

	for (unsigned int i = 0; i < STEPS; i++) {
		run_loop(STEP_LOOPS);
		switch ((seed + i) % 4) {
		case 0:
			move_once(seed / 4 + i / 4);
			break;
		case 1:
			fork_and_exec();
			break;
		case 2:
			sched_yield();
			break;
		}
	}
}

/* A task, and the gate at which it waits for its events. */
struct stepper {
	pid_t		pid;
	struct gate	go;
};

/* The program continues in another image, which handles the word. */
static void start_stepper(struct stepper *stepper)
{
	stepper->go = gate_new();
	stepper->pid = fork_child();
	if (stepper->pid)
		return;
	gate_wait(&stepper->go);
	do_steps();
	execl("/proc/self/exe", "test", "steps", NULL);
	_exit(1);
}

/* Adds the switches of the task and of its children to @switches. */
static bool finish_stepper(struct stepper *stepper, uint64_t *switches)
{
	struct rusage usage = { };
	int status = -1;

	wait4(stepper->pid, &status, 0, &usage);
	*switches += usage.ru_nvcsw + usage.ru_nivcsw;
	close(stepper->go.fd[0]);
	close(stepper->go.fd[1]);
	return expect_eq("status of a task", status, 0);
}

static void set_online(unsigned int cpu, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	MUST(write_line(path, on ? "1" : "0"));
}

/* A CPU turns offline, and online again, while the tasks run: another one in each turn. */
static void turn_cpu_off(unsigned int turn)
{
	unsigned int away = 1 + turn % (CPUS - 1);

	sleep_ms(2);
	set_online(away, false);
	set_online(away, true);
}

/* As run_tests(), but "steps" is what a task continues with. */
static int run_tests_or_steps(const struct test *tests, unsigned int nr, int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "steps")) {
		do_steps();
		return 0;
	}
	return run_tests(tests, nr, argc, argv);
}

/* ------------------------------------------------------------ events that sample it */

/* Of one task, or of all tasks on a CPU. */
struct sampled {
	pid_t		pid;
	uint64_t	count, samples;
};

/**
 * struct source - an event and what it has shown
 * @fd: the event, with PERF_FORMAT_LOST
 * @attr: its attribute; inherited events have inherit_stat
 * @behind: a period that has ended fewer events ago can be without its sample
 * @ahead: a period that ends so many events later at most can have its sample
 * @may_miss: periods of a task that can have ended without a sample
 * @missed: the sum of those of all tasks
 * @counts_all: what the task executes: no other event needs its counter
 * @nr: number of tasks
 * @tasks: what it has shown of them: of the one that it was opened of, or of all on its CPU, and
 *	then of the children
 * @kernel: samples of the kernel
 * @lost: records that were lost, by PERF_RECORD_LOST
 * @other_records: records other than that, samples, and those at the end of a child
 * @ring: ring buffer
 *
 * A child that ends writes to the buffers of all CPUs. What another CPU brings meanwhile is lost:
 * Documentation/core-api/perf/limits.rst has that.
 */
struct source {
	int			fd;
	struct perf_event_attr	attr;
	int64_t			behind, ahead;
	uint64_t		may_miss, missed;
	bool			counts_all;
	unsigned int		nr;
	struct sampled		tasks[1 + CHILDREN];
	uint64_t		kernel, lost, other_records;
	struct ring		ring;
};

/* @pid: -1: any; @cpu: -1: any. The samples have PERF_SAMPLE_IP and PERF_SAMPLE_TID alone. */
static void open_source(struct source *source, pid_t pid, int cpu, unsigned int pages)
{
	struct perf_event_attr *attr = &source->attr;

	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	attr->sample_regs_intr = 0;
	attr->read_format = PERF_FORMAT_LOST;
	attr->disabled = 1;
	attr->inherit = pid > 0 && cpu >= 0;
	attr->inherit_stat = attr->inherit;
	source->nr = 1;
	source->tasks[0].pid = pid;
	source->fd = MUST(perf_open(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
	if (!ring_map(&source->ring, source->fd, pages))
		fail_case("mmap");
	/* The task may not wait at its gate yet: what it executes needs the buffer. */
	if (pid >= 0)
		event_enable(source->fd);
}

static void close_source(struct source *source)
{
	ring_unmap(&source->ring);
	close(source->fd);
}

static struct sampled *task_of(struct source *source, pid_t pid)
{
	unsigned int i;

	if (source->tasks[0].pid < 0)
		return &source->tasks[0];
	for (i = 0; i < source->nr; i++)
		if (source->tasks[i].pid == pid)
			return &source->tasks[i];
	if (i == ARRAY_SIZE(source->tasks))
		fail_case("more tasks than were started");
	source->nr++;
	source->tasks[i].pid = pid;
	return &source->tasks[i];
}

/* The events of a child have a record each when it ends. */
static void take_records(struct source *source)
{
	struct perf_event_header *h;
	struct sample s;

	while ((h = ring_next(&source->ring))) {
		const uint64_t *body = (void *)(h + 1);

		if (h->type == PERF_RECORD_LOST && source->attr.inherit_stat) {
			source->lost += body[1];
		} else if (h->type == PERF_RECORD_READ && source->attr.inherit_stat) {
			task_of(source, (pid_t)body[0])->count = body[1];
		} else if (h->type == PERF_RECORD_SAMPLE) {
			sample_parse(&s, h, &source->attr);
			task_of(source, s.pid)->samples++;
			source->kernel += s.ip >> 63;
		} else {
			source->other_records++;
		}
	}
}

static bool task_is_complete(const char *what, struct source *source, const struct sampled *task)
{
	int64_t period = source->attr.sample_period, count = task->count;
	uint64_t least = count > source->behind ? (count - source->behind) / period : 0;
	uint64_t most = count + source->ahead > 0 ? (count + source->ahead) / period : 0;
	uint64_t missed = least > task->samples ? least - task->samples : 0;

	source->missed += missed;
	return expect(missed <= source->may_miss && task->samples <= most,
		      "%s: %lu, expected %lu to %lu, of %ld events", what, task->samples, least,
		      most, count);
}

/* All tasks together, after a record was lost: each has a rest of a period at most. */
static bool sum_is_complete(const char *what, const struct source *source, int64_t count)
{
	int64_t period = source->attr.sample_period;
	int64_t rests = ARRAY_SIZE(source->tasks) * (period + source->behind);
	uint64_t samples = source->lost, least = 0;

	if (count > rests)
		least = (count - rests) / period;
	for (unsigned int i = 0; i < source->nr; i++)
		samples += source->tasks[i].samples;
	return expect_between(what, samples, least, count / period + ARRAY_SIZE(source->tasks)) &
	       expect(source->lost <= 2, "%lu records of a turn are lost", source->lost);
}

/* No task is short of a sample: each has those of its own count. */
static bool source_is_complete(const char *what, struct source *source)
{
	uint64_t value[2];
	bool good;

	source->missed = 0;
	take_records(source);
	if (read(source->fd, value, sizeof(value)) != sizeof(value))
		fail_case("read");
	good = expect_eq("other records", source->other_records, 0);
	source->tasks[0].count = value[0];
	/* Those that were lost last are in no record. */
	if (source->attr.inherit_stat && value[1] > source->lost)
		source->lost = value[1];
	if (source->lost)
		return good & sum_is_complete(what, source, value[0]);
	good &= expect_eq("lost samples in the count", value[1], 0);
	for (unsigned int i = 1; i < source->nr; i++) {
		source->tasks[0].count -= source->tasks[i].count;
		good &= task_is_complete("samples of a child", source, &source->tasks[i]);
	}
	return good & task_is_complete(what, source, &source->tasks[0]) &
	       expect_eq("tasks with records", source->nr,
			 source->attr.inherit ? 1 + CHILDREN : 1);
}

/* A task with one event, or with one for each CPU, which its children inherit. */
struct worker {
	struct stepper	stepper;
	unsigned int	nr;
	struct source	sources[CPUS];
};

#define TASK_PAGES	64	/* of a ring buffer: more than the samples of a turn */
#define CPU_PAGES	512

/* @kind: each event of the task is like that. */
static void start_worker(struct worker *worker, const struct source *kind, bool inherit)
{
	start_stepper(&worker->stepper);
	worker->nr = inherit ? CPUS : 1;
	for (unsigned int i = 0; i < worker->nr; i++) {
		worker->sources[i] = *kind;
		open_source(&worker->sources[i], worker->stepper.pid, inherit ? (int)i : -1,
			    TASK_PAGES);
	}
}

/* What the tasks of a turn have shown. */
struct turn {
	uint64_t	samples, switches, kernel, missed;
};

static bool finish_worker(struct worker *worker, struct turn *turn)
{
	bool good = finish_stepper(&worker->stepper, &turn->switches);
	uint64_t count = 0, of_children = 0, least = 0;

	if (worker->sources[0].counts_all)
		least = STEP_INSNS;
	for (unsigned int i = 0; i < worker->nr; i++) {
		struct source *source = &worker->sources[i];

		good &= source_is_complete("samples of a task", source);
		count += source->tasks[0].count;
		turn->samples += source->tasks[0].samples;
		for (unsigned int child = 1; child < source->nr; child++)
			of_children += source->tasks[child].samples;
		turn->kernel += source->kernel;
		turn->missed += source->missed;
		close_source(source);
	}
	turn->samples += of_children;
	return good & expect(count >= least, "%lu events of a task", count) &
	       expect(worker->nr == 1 || of_children >= CHILDREN, "%lu samples of children",
		      of_children);
}

#endif /* X86_PRECISE_TASKS_H */
