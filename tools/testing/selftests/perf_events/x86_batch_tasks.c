// SPDX-License-Identifier: GPL-2.0
/*
 * Many precise samples to one interrupt, on CPUs that turn offline and online, of tasks that fork,
 * exec and move from CPU to CPU: there are as many samples as the count has periods.
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

/* What one event has shown. */
struct source {
	int		fd;
	pid_t		pid;		/* of all samples; 0: any */
	uint64_t	period, samples, foreign, other_records;
	struct ring	ring;
};

/* A task, and the gates at which it waits for its event, and for the others of its turn. */
struct worker {
	struct source	source;
	struct gate	go;
};

static uint64_t samples_wanted(void)
{
	const char *value = getenv("BATCH_SAMPLES");

	return value ? strtoull(value, NULL, 0) : SAMPLES;
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

/* Only what a record has, so that there are many to an interrupt. */
static struct perf_event_attr batch_attr(uint64_t period)
{
	struct perf_event_attr attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, max_precise);

	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	attr.read_format = PERF_FORMAT_LOST;
	attr.disabled = 0;
	return attr;
}

static void open_source(struct source *source, pid_t pid, int cpu)
{
	struct perf_event_attr attr = batch_attr(cpu < 0 ? TASK_PERIOD : CPU_PERIOD);

	*source = (struct source){ .pid = pid > 0 ? pid : 0, .period = attr.sample_period };
	attr.disabled = cpu >= 0;
	source->fd = MUST(perf_open(&attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
	if (!ring_map(&source->ring, source->fd, cpu < 0 ? TASK_PAGES : CPU_PAGES))
		fail_case("mmap");
}

static void take_samples(struct source *source)
{
	struct perf_event_attr attr = batch_attr(source->period);
	struct perf_event_header *h;
	struct sample s;

	while ((h = ring_next(&source->ring))) {
		if (h->type != PERF_RECORD_SAMPLE) {
			source->other_records++;
			continue;
		}
		sample_parse(&s, h, &attr);
		source->samples++;
		source->foreign += (source->pid && (pid_t)s.pid != source->pid) || s.ip >> 63;
	}
}

/* A period that has ended less than TASK_LATE ago can be without its sample. */
static bool source_is_complete(const char *what, struct source *source)
{
	uint64_t value[2];

	take_samples(source);
	if (read(source->fd, value, sizeof(value)) != sizeof(value))
		fail_case("read");
	return expect_between(what, source->samples, (value[0] - TASK_LATE) / source->period,
			      value[0] / source->period) &
	       expect_eq("samples of others", source->foreign, 0) &
	       expect_eq("records beside samples", source->other_records, 0) &
	       expect_eq("lost samples in the count", value[1], 0);
}

static void close_source(struct source *source)
{
	ring_unmap(&source->ring);
	close(source->fd);
}

static void start_worker(struct worker *worker)
{
	pid_t pid;

	worker->go = gate_new();
	pid = fork_child();
	if (!pid)
		run_worker(&worker->go);
	open_source(&worker->source, pid, -1);
}

static bool finish_worker(struct worker *worker)
{
	bool good = expect(child_succeeded(worker->source.pid), "a task");

	good &= source_is_complete("samples of a task", &worker->source);
	close_source(&worker->source);
	close(worker->go.fd[0]);
	close(worker->go.fd[1]);
	return good;
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
	struct worker workers[TASKS];
	bool good = true;

	for (unsigned int i = 0; i < TASKS; i++)
		start_worker(&workers[i]);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		event_enable(cpus[cpu].fd);
	for (unsigned int i = 0; i < TASKS; i++)
		gate_open(&workers[i].go);
	sleep_ms(2);
	set_online(away, false);
	set_online(away, true);
	for (unsigned int i = 0; i < TASKS; i++) {
		good &= finish_worker(&workers[i]);
		*samples += workers[i].source.samples;
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
