// SPDX-License-Identifier: GPL-2.0
/* Side-band records of tasks: COMM, FORK, EXIT, SWITCH, and which events get them. Run as root. */
#include "sideband.h"

#include <pthread.h>
#include <sys/prctl.h>

static bool comm_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	const struct record_trailer *t;
	struct comm *c;
	uint64_t id;
	bool ok = true;

	attr.comm = 1;
	open_sideband(&ring, &attr, 0, -1);
	ioctl(ring.fd, PERF_EVENT_IOC_ID, &id);
	prctl(PR_SET_NAME, "seven77");
	prctl(PR_SET_NAME, "fifteen-letters");

	c = (void *)ring_find(&ring, PERF_RECORD_COMM);
	ok &= expect(c && !strcmp(c->name, "seven77") && c->pid == (uint32_t)getpid() &&
		     c->tid == c->pid && !c->h.misc &&
		     size_is_padded(record_body_size(&c->h), 8, c->name),
		     "COMM: name, pid, tid, size");
	t = c ? record_trailer(&c->h) : NULL;
	ok &= expect(t && t->pid == (uint32_t)getpid() && t->tid == t->pid && t->time &&
		     t->id == id && t->stream_id == id && t->identifier == id && !t->reserved,
		     "COMM: trailer");
	c = (void *)ring_find(&ring, PERF_RECORD_COMM);
	ok &= expect(c && !strcmp(c->name, "fifteen-letters") && record_body_size(&c->h) == 24,
		     "COMM: the longest name");
	ok &= expect(!ring_next(&ring), "COMM: nothing else");
	close_sideband(&ring);
	return ok;
}

static bool fork_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct task *forked, *exited;
	uint64_t forked_at;
	int status;
	pid_t child;
	bool ok = true;

	attr.task = 1;
	attr.inherit = 1;
	pin_to_cpu(0);
	open_sideband(&ring, &attr, 0, 0);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);

	forked = (void *)ring_next(&ring);
	ok &= expect(forked && forked->h.type == PERF_RECORD_FORK &&
		     forked->pid == (uint32_t)child && forked->tid == (uint32_t)child &&
		     forked->ppid == (uint32_t)getpid() &&
		     forked->ptid == (uint32_t)getpid() &&
		     record_body_size(&forked->h) == 24 &&
		     record_trailer(&forked->h)->pid == (uint32_t)getpid(), "FORK");
	forked_at = forked ? forked->time : 0;
	exited = (void *)ring_next(&ring);
	ok &= expect(exited && exited->h.type == PERF_RECORD_EXIT &&
		     exited->pid == (uint32_t)child && exited->tid == (uint32_t)child &&
		     exited->ppid == (uint32_t)getpid() &&
		     exited->ptid == (uint32_t)getpid() && exited->time > forked_at,
		     "EXIT");
	ok &= expect(!ring_next(&ring), "FORK and EXIT: once each");
	close_sideband(&ring);
	return ok;
}

/* FORK and EXIT are also for events that request names or mappings alone. */
static bool fork_without_task(void)
{
	static const char *const what[] = { "comm", "mmap", "mmap_data" };
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(what); i++) {
		struct perf_event_attr attr = sideband_attr();
		struct task *r;
		pid_t child;

		attr.comm = i == 0;
		attr.mmap = i == 1;
		attr.mmap_data = i == 2;
		attr.inherit = 1;
		open_sideband(&ring, &attr, 0, 0);
		while (ring_next(&ring))
			;	/* the mapping of the buffer is one of data */
		child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		r = (void *)ring_next(&ring);
		good &= expect(r && r->h.type == PERF_RECORD_FORK && r->pid == (uint32_t)child &&
			       r->ppid == (uint32_t)getpid(), "%s: FORK first", what[i]);
		r = (void *)ring_next(&ring);
		good &= expect(r && r->h.type == PERF_RECORD_EXIT && r->pid == (uint32_t)child &&
			       r->ppid == (uint32_t)getpid(), "%s: EXIT second", what[i]);
		good &= expect(!ring_next(&ring), "%s: nothing else", what[i]);
		close_sideband(&ring);
	}
	return good;
}

static void *fork_here(void *tid)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	*(pid_t *)tid = syscall(SYS_gettid);
	waitpid(child, NULL, 0);
	return NULL;
}

/* FORK shows the thread that forks, EXIT the process. */
static bool fork_by_thread(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct task *record;
	bool forked = false, exited = false;
	pthread_t thread;
	pid_t tid = 0;
	bool ok;

	attr.task = 1;
	attr.inherit = 1;
	open_sideband(&ring, &attr, 0, 0);
	pthread_create(&thread, NULL, fork_here, &tid);
	pthread_join(thread, NULL);
	while ((record = (void *)ring_next(&ring))) {
		bool ours = record->ppid == (uint32_t)getpid() && record->pid != record->ppid;

		forked |= ours && record->h.type == PERF_RECORD_FORK &&
			  record->ptid == (uint32_t)tid;
		exited |= ours && record->h.type == PERF_RECORD_EXIT &&
			  record->ptid == (uint32_t)getpid();
	}
	ok = expect(forked && exited, "FORK and EXIT of a thread's child: its thread, its process");
	close_sideband(&ring);
	return ok;
}

/* Records of a child from fork to exit, in their order. */
static bool exec_order(void)
{
	static const uint32_t order[] = {
		PERF_RECORD_FORK, PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_EXIT,
	};
	struct perf_event_attr attr = sideband_attr();
	unsigned int at = 0, exec_comm = 0;
	struct perf_event_header *h;
	bool child_only = true;
	int status;
	pid_t child;
	bool ok = true;

	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.inherit = 1;
	open_sideband(&ring, &attr, 0, 0);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "sideband", "exit", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_COMM && (h->misc & PERF_RECORD_MISC_COMM_EXEC))
			exec_comm++;
		if (h->type != PERF_RECORD_FORK)
			child_only &= record_trailer(h)->pid == (uint32_t)child;
		if (at < ARRAY_SIZE(order) && h->type == order[at])
			at++;
	}
	ok &= expect_eq("exec: FORK, COMM, MMAP2, EXIT in this order", at, ARRAY_SIZE(order));
	ok &= expect_eq("exec: COMM with MISC_COMM_EXEC", exec_comm, 1);
	ok &= expect(child_only, "exec: all but FORK come from the child");
	close_sideband(&ring);
	return ok;
}

static bool switch_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct perf_event_header *h;
	unsigned int in = 0, out = 0, order = 0, before, count;
	int fd;
	bool ok = true;

	attr.context_switch = 1;
	attr.disabled = 1;
	fd = open_sideband(&ring, &attr, 0, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = thread_switches();
	for (int i = 0; i < 10; i++)
		sleep_ms(2);
	count = thread_switches() - before;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_next(&ring))) {
		bool is_out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;

		if (h->type != PERF_RECORD_SWITCH || record_body_size(h))
			continue;
		order += is_out == (in == out);
		in += !is_out;
		out += is_out;
	}
	ok &= expect(count >= 5 && out >= count && out <= count + 3 && in == out,
		     "SWITCH: %u out and %u in, the scheduler says %u", out, in, count);
	ok &= expect_eq("SWITCH: they alternate", order, in + out);
	close_sideband(&ring);
	return ok;
}

/* No other event needs the scheduler's hooks, which are disabled a second after their last user. */
static bool switch_cpu_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	unsigned int away = 0, back = 0, wrong = 0;
	struct {
		struct perf_event_header h;
		uint32_t	pid, tid;
	} *r;
	int fd;
	bool ok;

	sleep_ms(2000);
	attr.context_switch = 1;
	attr.disabled = 1;
	fd = open_sideband(&ring, &attr, -1, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 10; i++)
		sleep_ms(2);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((r = (void *)ring_find(&ring, PERF_RECORD_SWITCH_CPU_WIDE))) {
		const struct record_trailer *t = record_trailer(&r->h);

		wrong += record_body_size(&r->h) != 8;
		if (t->pid != (uint32_t)getpid())
			continue;
		if (r->h.misc & PERF_RECORD_MISC_SWITCH_OUT)
			away += r->pid != t->pid &&
				!(r->h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		else
			back += r->pid != t->pid;
	}
	ok = expect(away >= 5 && back >= 5 && !wrong,
		    "SWITCH_CPU_WIDE: us away %u, back %u times of 10 naps", away, back);
	close_sideband(&ring);
	return ok;
}

static bool unwanted_records(void)
{
	struct perf_event_attr attr = sideband_attr();
	int status;
	pid_t child;
	bool ok = true;

	/* Disabled; of another task; of another type. */
	attr.comm = 1;
	attr.disabled = 1;
	open_sideband(&ring, &attr, 0, -1);
	prctl(PR_SET_NAME, "deaf");
	ok &= expect(!ring_next(&ring), "a disabled event records nothing");
	ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "other");
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok &= expect(!ring_find(&ring, PERF_RECORD_COMM),
		     "an event without inherit records no COMM of a child");
	close_sideband(&ring);

	attr.comm = 0;
	attr.ksymbol = 1;
	attr.disabled = 0;
	open_sideband(&ring, &attr, 0, -1);
	prctl(PR_SET_NAME, "unwanted");
	ok &= expect(!ring_next(&ring), "an event without comm records no COMM");
	close_sideband(&ring);
	return ok;
}

/* An event of a CPU gets the records of all tasks on that CPU only. */
static bool records_of_a_cpu(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct comm *c;
	int status;
	pid_t child;
	bool ok = true;

	attr.comm = 1;
	pin_to_cpu(0);
	open_sideband(&ring, &attr, -1, 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "on-cpu-0");
		if (!pin_to_cpu(1))
			prctl(PR_SET_NAME, "on-cpu-1");
		_exit(0);
	}
	waitpid(child, &status, 0);
	while ((c = (void *)ring_find(&ring, PERF_RECORD_COMM)) && c->pid != (uint32_t)child)
		;
	ok &= expect(c && !strcmp(c->name, "on-cpu-0") && record_trailer(&c->h)->cpu == 0,
		     "an event of a CPU records another task there");
	while ((c = (void *)ring_find(&ring, PERF_RECORD_COMM)) && c->pid != (uint32_t)child)
		;
	ok &= expect(!c, "an event of a CPU records nothing of other CPUs");
	close_sideband(&ring);
	return ok;
}

/* An event of a task that is bound to a CPU gets what the task does on that CPU. */
static bool records_of_a_task_on_a_cpu(void)
{
	struct perf_event_attr attr = sideband_attr();
	const struct comm *c;
	bool good = true;

	if (pin_to_cpu(1))
		skip_case("no second CPU");
	attr.comm = 1;
	pin_to_cpu(0);
	open_sideband(&ring, &attr, 0, 0);
	for (int i = 0; i < 5; i++) {
		MUST(pin_to_cpu(1));
		prctl(PR_SET_NAME, "on-cpu-1");
		good &= expect(!ring_next(&ring), "nothing on CPU 1");
		MUST(pin_to_cpu(0));
		prctl(PR_SET_NAME, "on-cpu-0");
		c = (void *)ring_next(&ring);
		good &= expect(c && c->h.type == PERF_RECORD_COMM && !strcmp(c->name, "on-cpu-0") &&
			       record_trailer(&c->h)->cpu == 0, "COMM on CPU 0");
		good &= expect(!ring_next(&ring), "COMM on CPU 0: once");
	}
	close_sideband(&ring);
	return good;
}

static const struct test tests[] = {
	{ "COMM: a task changes its name", comm_record },
	{ "FORK and EXIT of a child", fork_record },
	{ "FORK and EXIT for events with comm, mmap or mmap_data alone", fork_without_task },
	{ "FORK names the forking thread, EXIT the process", fork_by_thread },
	{ "exec of a child: its records in their order", exec_order },
	{ "SWITCH of a task", switch_record },
	{ "SWITCH_CPU_WIDE names the other task", switch_cpu_record },
	{ "an event gets no records that it did not ask for", unwanted_records },
	{ "an event of a CPU gets the records of that CPU", records_of_a_cpu },
	{ "an event of a task that is bound to a CPU gets those of that CPU",
	  records_of_a_task_on_a_cpu },
};

/* "exit": the program that exec_order() runs. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "exit"))
		return 0;
	return run_tests_setup(tests, ARRAY_SIZE(tests), sideband_setup, argc, argv);
}
