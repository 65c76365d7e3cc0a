// SPDX-License-Identifier: GPL-2.0
/*
 * Samples with a user part (call chain, registers, stack) of tasks that have no user memory: a task
 * that exits has given it back, and a kernel thread has none but may run on another task's. Run as
 * root.
 */
#include "events.h"
#include "expect.h"
#include "files.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "workloads.h"

#define CHILDREN	40
#define STACK_BYTES	1024
#define LATE		5
#define DEATHS		10

static struct ring ring;

/* All that a sample takes from user memory. */
static struct perf_event_attr user_attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = perf_attr(type, config);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			   PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = 0xff;
	attr.sample_stack_user = STACK_BYTES;
	attr.disabled = 1;
	return attr;
}

static struct perf_event_attr tracepoint_attr(const char *name)
{
	int id = tracepoint_id(name);

	if (id < 0)
		skip_case("no tracepoint");
	return user_attr(PERF_TYPE_TRACEPOINT, id);
}

static void open_on_cpu(struct perf_event_attr *attr, int cpu)
{
	int fd = MUST(perf_open(attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));

	if (!ring_map(&ring, fd, 256))
		fail_case("mmap");
}

static bool has_user_chain(const struct sample *s)
{
	for (uint64_t i = 1; i <= s->callchain[0]; i++) {
		if (s->callchain[i] == (uint64_t)PERF_CONTEXT_USER)
			return true;
	}
	return false;
}

static bool has_user_part(const struct sample *s)
{
	return s->user_abi || s->stack_size || has_user_chain(s);
}

/* A child that has a stack and mappings, on CPU 0. */
static void exit_after_work(void)
{
	MUST(pin_to_cpu(0));
	fault_pages(30);
	_exit(0);
}

/* The tracepoint in exit is hit after the task's memory is given back. */
static bool exiting_task_has_no_user_part(void)
{
	struct perf_event_attr attr = tracepoint_attr("sched/sched_process_exit");
	unsigned int with = 0, without = 0;
	struct perf_event_header *h;
	struct sample s;
	bool good = true;

	open_on_cpu(&attr, 0);
	event_enable(ring.fd);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork_child();

		if (!pid)
			exit_after_work();
		waitpid(pid, NULL, 0);
	}
	event_disable(ring.fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		good &= expect_eq("taken apart", sample_parse(&s, h, &attr), true);
		with += has_user_part(&s);
		without += !has_user_part(&s);
	}
	return good & expect_eq("samples with a user part", with, 0) &
	       expect_between("samples without", without, CHILDREN, UINT64_MAX);
}

/* By the flags in /proc/PID/stat; false for a task that has exited. */
static bool is_kernel_thread(uint32_t tid)
{
	char path[48], line[512], *at;
	unsigned long flags = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	if (read_line(path, line, sizeof(line)) <= 0)
		return false;
	at = strrchr(line, ')');
	/* state, ppid, pgrp, session, tty_nr, tpgid, flags */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		return false;
	return flags & 0x00200000;	/* PF_KTHREAD */
}

/*
 * A switch is sampled in the task that is switched out. A kernel thread may have run on the memory
 * of the task before it, which is not the thread's.
 */
static bool kernel_thread_has_no_user_part(void)
{
	struct perf_event_attr attr = tracepoint_attr("sched/sched_switch");
	unsigned int of_threads = 0, wrong = 0, of_user = 0;
	struct perf_event_header *h;
	struct sample s;
	bool good = true;

	MUST(pin_to_cpu(0));
	open_on_cpu(&attr, 0);
	event_enable(ring.fd);
	for (int i = 0; i < 200; i++) {
		/* Frees by RCU, and work of the kernel's threads. */
		close(MUST(open("/proc/self/stat", O_RDONLY)));
		fault_pages(10);
		usleep(500);
	}
	event_disable(ring.fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		good &= expect_eq("taken apart", sample_parse(&s, h, &attr), true);
		if (s.pid == (uint32_t)getpid()) {
			of_user += has_user_chain(&s) && s.user_abi && s.stack_size;
		} else if (!s.tid || is_kernel_thread(s.tid)) {
			of_threads++;
			wrong += has_user_part(&s);
		}
	}
	return good & expect_between("of this task, with a user part", of_user, 100, UINT64_MAX) &
	       expect_between("of the idle task and kernel threads", of_threads, 100, UINT64_MAX) &
	       expect_eq("of these, with a user part", wrong, 0);
}

/* Tasks with large mappings exec, compute until they are killed, and exit. */
static void die_somehow(unsigned int how)
{
	size_t size = 256ul << 12;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; p != MAP_FAILED && i < size; i += 4096)
		p[i] = 1;
	if (how % 3 == 0)
		execl("/bin/true", "true", NULL);
	if (how % 3 == 1)
		for (;;)
			run_loop(1000);
	_exit(0);
}

/**
 * struct exit_samples - what was found in samples of tasks that die
 * @attr: attributes of the events
 * @mark: ID of the tracepoint that is hit after the task has given back its memory
 * @nr: samples
 * @wrong: samples that cannot be taken apart
 * @late: samples of a task after its @mark
 * @late_user: samples among @late with a user part
 * @exited: the task of the latest @mark
 */
struct exit_samples {
	struct perf_event_attr	attr;
	uint64_t		mark;
	unsigned int		nr, wrong, late, late_user;
	uint32_t		exited;
};

static void read_exit_samples(struct exit_samples *seen)
{
	struct perf_event_header *h;
	struct sample s;

	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		seen->nr++;
		if (!sample_parse(&s, h, &seen->attr)) {
			seen->wrong++;
		} else if (s.id == seen->mark) {
			seen->exited = s.tid;
		} else if (s.tid == seen->exited) {
			seen->late++;
			seen->late_user += has_user_part(&s);
		}
	}
}

static bool sampled_while_tasks_exit(void)
{
	struct exit_samples seen = {
		.attr = user_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
	};
	struct perf_event_attr mark = tracepoint_attr("sched/sched_process_exit");
	uint64_t begin = monotonic_ns(), ns = 0;
	unsigned int deaths = 0;
	pid_t pid;
	int fd;

	seen.attr.sample_period = 100000;
	seen.attr.sample_type |= PERF_SAMPLE_ID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR |
				 PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_DATA_PAGE_SIZE;
	mark.sample_type = seen.attr.sample_type;
	MUST(pin_to_cpu(0));
	open_on_cpu(&seen.attr, 0);
	fd = MUST(perf_open(&mark, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
	MUST(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring.fd));
	seen.mark = event_id(fd);
	event_enable(fd);
	event_enable(ring.fd);
	/*
	 * Few samples are in the short time from the mark to the end of the task. On a debug kernel
	 * the samples leave a task little time to die.
	 */
	while (ns < 3 * NSEC_PER_SEC ||
	       ((seen.late < LATE || deaths < DEATHS) && ns < 150 * NSEC_PER_SEC)) {
		pid = fork_child();
		if (!pid)
			die_somehow(deaths);
		if (deaths % 3 == 1) {
			usleep(1000);
			kill(pid, SIGKILL);
		}
		waitpid(pid, NULL, 0);
		deaths++;
		read_exit_samples(&seen);
		ns = monotonic_ns() - begin;
	}
	event_disable(ring.fd);
	event_disable(fd);
	ktap_note("%u samples, %u after the exit of %u tasks", seen.nr, seen.late, deaths);
	return expect_eq("samples that cannot be taken apart", seen.wrong, 0) &
	       expect_between("samples", seen.nr, 100, UINT64_MAX) &
	       expect_between("samples of tasks after their exit", seen.late, LATE, UINT64_MAX) &
	       expect_eq("of these, with a user part", seen.late_user, 0) &
	       expect_between("tasks that died", deaths, DEATHS, UINT64_MAX);
}

static const struct test tests[] = {
	{ "a sample in exit has no user part", exiting_task_has_no_user_part },
	{ "a kernel thread's sample has no user part", kernel_thread_has_no_user_part },
	{ "call chains and stacks while tasks exit", sampled_while_tasks_exit },
};

TESTS_MAIN(tests)
