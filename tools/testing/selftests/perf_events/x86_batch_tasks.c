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
#include "workloads.h"
#include "x86_precise.h"

#define SAMPLES		30000
#define TASK_PERIOD	211
#define CPU_PERIOD	307
#define CPUS		4
#define TASKS		6
#define STEPS		24
#define STEP_ROUNDS	2000	/* of the loop */
#define TASK_PAGES	64	/* of a ring buffer: more than the samples of a turn */
#define CPU_PAGES	512
/* A rest of a period that is shorter than a part allows is made that much longer at most. */
#define TASK_LATE	128
/* Of do_steps() in both images. */
#define CHILDREN	(2 * STEPS / 4)
#define STEP_INSNS	(2ull * STEPS * STEP_ROUNDS * ROUND)

/*
 * What one event has shown. @tasks: those that can have had it one by one. Samples with another
 * @pid, if it is not 0, are @foreign.
 */
struct source {
	int		fd;
	pid_t		pid;
	unsigned int	tasks;
	uint64_t	period, count, samples, foreign, kernel, other_records;
	struct ring	ring;
};

/* A task with one event, or with one for each CPU, and the gate at which it waits for them. */
struct worker {
	pid_t		pid;
	unsigned int	nr;
	struct source	sources[CPUS];
	struct gate	go;
};

static uint64_t samples_wanted(void)
{
	return env_number("BATCH_SAMPLES", SAMPLES);
}

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
		precise_loop(STEP_ROUNDS, 0);
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

/* The program continues in another image, which handles the word. */
static void run_worker(struct gate *go)
{
	gate_wait(go);
	do_steps();
	execl("/proc/self/exe", "x86_batch_tasks", "steps", NULL);
	_exit(1);
}

/* -------------------------------------------------------------- the events of a turn */

/*
 * Only what a record has, so that there are many to an interrupt. One counter alone can have the
 * highest precision: inherited events have less, and never wait for it.
 */
static struct perf_event_attr batch_attr(uint64_t period, bool inherit)
{
	struct perf_event_attr attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS,
						   inherit ? 2 : max_precise);

	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	attr.read_format = PERF_FORMAT_LOST;
	attr.disabled = 0;
	attr.inherit = inherit;
	return attr;
}

/* @pid: -1: any; @cpu: -1: any. The event of a task on one CPU is inherited. */
static void open_source(struct source *source, pid_t pid, int cpu)
{
	bool of_cpu = pid < 0, inherit = pid > 0 && cpu >= 0;
	struct perf_event_attr attr = batch_attr(of_cpu ? CPU_PERIOD : TASK_PERIOD, inherit);

	*source = (struct source){
		.pid = of_cpu ? 0 : pid, .tasks = inherit ? 1 + CHILDREN : 1,
		.period = attr.sample_period,
	};
	attr.disabled = of_cpu;
	source->fd = MUST(perf_open(&attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
	if (!ring_map(&source->ring, source->fd, of_cpu ? CPU_PAGES : TASK_PAGES))
		fail_case("mmap");
}

static void take_samples(struct source *source)
{
	struct perf_event_attr attr = batch_attr(source->period, source->tasks > 1);
	struct perf_event_header *h;
	struct sample s;

	while ((h = ring_next(&source->ring))) {
		if (h->type != PERF_RECORD_SAMPLE) {
			source->other_records++;
			continue;
		}
		sample_parse(&s, h, &attr);
		source->samples++;
		source->foreign += source->pid && (pid_t)s.pid != source->pid;
		source->kernel += s.ip >> 63;
	}
}

/*
 * Each task has ended a period before its count is the next one. A period that has ended less than
 * TASK_LATE ago can be without its sample.
 */
static bool source_is_complete(const char *what, struct source *source)
{
	uint64_t value[2], rests = source->tasks * (source->period - 1 + TASK_LATE), least = 0;

	take_samples(source);
	if (read(source->fd, value, sizeof(value)) != sizeof(value))
		fail_case("read");
	source->count = value[0];
	if (source->count > rests)
		least = (source->count - rests + source->period - 1) / source->period;
	return expect_between(what, source->samples, least, source->count / source->period) &
	       expect_eq("samples of the kernel", source->kernel, 0) &
	       expect_eq("records beside samples", source->other_records, 0) &
	       expect_eq("lost samples in the count", value[1], 0);
}

static void close_source(struct source *source)
{
	ring_unmap(&source->ring);
	close(source->fd);
}

static void start_worker(struct worker *worker, bool inherit)
{
	worker->go = gate_new();
	worker->pid = fork_child();
	if (!worker->pid)
		run_worker(&worker->go);
	worker->nr = inherit ? CPUS : 1;
	for (unsigned int i = 0; i < worker->nr; i++)
		open_source(&worker->sources[i], worker->pid, inherit ? (int)i : -1);
}

/* Returns the number of samples in @samples. */
static bool finish_worker(struct worker *worker, uint64_t *samples)
{
	bool good = expect(child_succeeded(worker->pid), "a task"), inherit = worker->nr > 1;
	uint64_t count = 0, of_children = 0;

	*samples = 0;
	for (unsigned int i = 0; i < worker->nr; i++) {
		struct source *source = &worker->sources[i];

		good &= source_is_complete(inherit ? "samples of a task and its children" :
						     "samples of a task", source);
		count += source->count;
		*samples += source->samples;
		of_children += source->foreign;
		close_source(source);
	}
	close(worker->go.fd[0]);
	close(worker->go.fd[1]);
	if (!inherit)
		return good & expect_eq("samples of others", of_children, 0);
	return good & expect(count >= STEP_INSNS, "%lu events", count) &
	       expect(of_children >= CHILDREN, "%lu samples of children", of_children);
}

static void set_online(unsigned int cpu, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	MUST(write_line(path, on ? "1" : "0"));
}

/* A CPU turns offline, and online again, while the tasks run. */
static bool run_turn(unsigned int turn, struct source *cpus, uint64_t *samples)
{
	unsigned int away = 1 + turn % (CPUS - 1);
	static struct worker workers[TASKS];
	bool good = true;

	for (unsigned int i = 0; i < TASKS; i++)
		start_worker(&workers[i], i % 2);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		event_enable(cpus[cpu].fd);
	for (unsigned int i = 0; i < TASKS; i++)
		gate_open(&workers[i].go);
	sleep_ms(2);
	set_online(away, false);
	set_online(away, true);
	for (unsigned int i = 0; i < TASKS; i++) {
		uint64_t of_worker;

		good &= finish_worker(&workers[i], &of_worker);
		*samples += of_worker;
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		event_disable(cpus[cpu].fd);
		good &= source_is_complete("samples of a CPU", &cpus[cpu]);
	}
	return good;
}

static bool no_record_is_lost(void)
{
	uint64_t wanted = samples_wanted(), of_tasks = 0, of_cpus = 0;
	struct source cpus[CPUS];
	unsigned int turn;
	bool good = true;

	need_precise();
	if (!records_have_time())
		skip_case("the record of a system call has the address of the kernel");
	if (sysconf(_SC_NPROCESSORS_ONLN) < CPUS)
		skip_case("fewer than 4 CPUs");
	MUST(pin_to_cpu(0));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		open_source(&cpus[cpu], -1, cpu);
	for (turn = 0; good && of_tasks + of_cpus < wanted; turn++) {
		good = run_turn(turn, cpus, &of_tasks);
		of_cpus = 0;
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			of_cpus += cpus[cpu].samples;
	}
	ktap_note("%u turns, %lu samples of tasks, %lu of CPUs", turn, of_tasks, of_cpus);
	return good;
}

static const struct test tests[] = {
	{ "forks, execs, moves and CPUs that turn offline lose no record", no_record_is_lost },
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "steps")) {
		do_steps();
		return 0;
	}
	return run_tests(tests, ARRAY_SIZE(tests), argc, argv);
}
#else
TESTS_MAIN_SKIPPED("precise samples of tasks", "not an x86")
#endif
