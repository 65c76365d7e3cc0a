// SPDX-License-Identifier: GPL-2.0
/* Readers of the ring buffer are woken: poll(), epoll, SIGIO, hang-up. Run as root. */
#include "fault_ring.h"
#include "processes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

static bool poll_wakeup_events(void)
{
	bool good = true;

	for (unsigned int every = 1; every <= 9; every += 2) {
		struct perf_event_attr attr = fault_attr();
		struct fault_ring ring;

		attr.wakeup_events = every;
		ring = fault_ring_open(attr, 8, PROT_READ | PROT_WRITE);
		fault_ring_enable(&ring);
		for (unsigned int i = 1; i <= 100; i++) {
			touch_fresh(1);
			good &= !!(poll_events(ring.fd, 0) & POLLIN) == !(i % every);
			good &= !poll_events(ring.fd, 0);
		}
		fault_ring_close(&ring);
	}
	return expect(good, "poll() says so once for each wakeup_events samples");
}

static bool poll_watermark(void)
{
	struct perf_event_attr attr = fault_attr();
	unsigned int woken = 0, first = 0;
	struct fault_ring ring;
	bool ok = true;

	attr.watermark = 1;
	attr.wakeup_watermark = 160;
	ring = fault_ring_open(attr, 1, PROT_READ | PROT_WRITE);
	fault_ring_enable(&ring);
	for (unsigned int i = 1; i <= 200; i++) {
		touch_fresh(1);
		if (poll_events(ring.fd, 0) & POLLIN) {
			woken++;
			first = first ?: i;
		}
		if (!(i % 50))
			drain_ring(&ring);
	}
	ok &= expect(woken >= 18 && woken <= 20 && first >= 10 && first <= 11,
		     "wakeup_watermark of 10 records: woken %u times in 200, first at %u", woken,
		     first);
	fault_ring_close(&ring);

	/* The default watermark is half of the buffer. */
	ring = fault_ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	fault_ring_enable(&ring);
	for (first = 1; first < 250; first++) {
		touch_fresh(1);
		if (poll_events(ring.fd, 0) & POLLIN)
			break;
	}
	ok &= expect(first * 16 >= ring.size / 2 && first * 16 <= ring.size / 2 + 16,
		     "by default half a buffer: %u records", first);
	fault_ring_close(&ring);
	return ok;
}

static bool epoll_modes(void)
{
	int level = epoll_create1(0), edge = epoll_create1(0);
	struct perf_event_attr attr = fault_attr();
	struct epoll_event event = { .events = EPOLLIN };
	bool good = true;
	struct fault_ring ring;
	bool ok = true;

	attr.wakeup_events = 2;
	ring = fault_ring_open(attr, 8, PROT_READ | PROT_WRITE);
	epoll_ctl(level, EPOLL_CTL_ADD, ring.fd, &event);
	fault_ring_enable(&ring);
	for (unsigned int i = 1; i <= 100; i++) {
		touch_fresh(1);
		good &= epoll_wait(level, &event, 1, 0) == !(i % 2);
		good &= epoll_wait(level, &event, 1, 0) == 0;
	}
	ok &= expect(good, "epoll, by level");

	epoll_ctl(level, EPOLL_CTL_DEL, ring.fd, &event);
	event.events = EPOLLIN | EPOLLET;
	epoll_ctl(edge, EPOLL_CTL_ADD, ring.fd, &event);
	good = true;
	for (unsigned int i = 1; i <= 100; i++) {
		touch_fresh(1);
		good &= epoll_wait(edge, &event, 1, 0) == !(i % 2);
		good &= epoll_wait(edge, &event, 1, 0) == 0;
	}
	ok &= expect(good, "epoll, by edge");
	close(level);
	close(edge);
	fault_ring_close(&ring);
	return ok;
}

/* An event that is redirected to a buffer with unread records wakes its reader at once. */
static bool epoll_after_redirect(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct perf_event_attr attr = fault_attr();
	int edge = epoll_create1(0), joins;
	struct fault_ring ring;
	bool before;
	bool ok = true;

	attr.wakeup_events = 1;
	ring = fault_ring_open(attr, 8, PROT_READ | PROT_WRITE);
	fault_ring_enable(&ring);
	touch_fresh(1);
	joins = perf_open(&attr, 0, -1, -1, 0);
	epoll_ctl(edge, EPOLL_CTL_ADD, joins, &event);
	/* Without a buffer it only hangs up. */
	before = epoll_wait(edge, &event, 1, 0) == 1 && event.events & EPOLLHUP &&
		 epoll_wait(edge, &event, 1, 0) == 0;
	if (ioctl(joins, PERF_EVENT_IOC_SET_OUTPUT, (long)ring.fd))
		fail_case("SET_OUTPUT");
	ok &= expect(before && epoll_wait(edge, &event, 1, 0) == 1 && event.events & EPOLLIN,
		     "by edge, of an event that joins a buffer");
	touch_fresh(1);
	ok &= expect(epoll_wait(edge, &event, 1, 0) == 1, "and of what comes afterwards");
	close(edge);
	close(joins);
	fault_ring_close(&ring);
	return ok;
}

static volatile sig_atomic_t signals, bad_signals;
static int signal_fd;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	signals++;
	bad_signals += info->si_fd != signal_fd || info->si_code != POLL_IN;
}

/*
 * One queued signal for each overflow: also if the overflow wakes poll(), if the buffer is full,
 * and if the event is a child's.
 */
static bool signals_per_overflow(uint32_t wakeup, unsigned int pages, bool in_child)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct f_owner_ex owner = { F_OWNER_TID, syscall(SYS_gettid) };
	struct perf_event_attr attr = fault_attr();
	struct fault_ring ring;
	bool good = true;
	int status = -1;
	pid_t child;
	bool ok;

	attr.wakeup_events = wakeup;
	attr.inherit = in_child;
	attr.read_format = 0;
	ring = fault_ring_of(perf_open(&attr, 0, in_child ? 0 : -1, -1, 0), pages,
			     PROT_READ | PROT_WRITE);
	signals = 0;
	bad_signals = 0;
	sigaction(SIGRTMIN, &action, NULL);
	signal_fd = ring.fd;
	fcntl(ring.fd, F_SETFL, O_ASYNC);
	fcntl(ring.fd, F_SETSIG, SIGRTMIN);
	fcntl(ring.fd, F_SETOWN_EX, &owner);
	if (in_child) {
		/* One at a time: each signal ends the system call in which the parent waits. */
		pin_to_cpu(0);
		child = fork();
		if (!child) {
			for (int i = 0; i < 10; i++) {
				ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
				touch_fresh(1);
				ioctl(ring.fd, PERF_EVENT_IOC_DISABLE, 0);
			}
			_exit(0);
		}
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		/* The first accesses of the child after the fork count as well. */
		good = !status && signals >= 10 && (uint64_t)signals == perf_count(ring.fd);
	} else {
		fault_ring_enable(&ring);
		for (int i = 1; i <= 100; i++) {
			touch_fresh(1);
			good &= signals == i;
		}
	}
	ok = expect(good && !bad_signals,
		    "SIGIO for each overflow%s, wakeup_events %u, %u pages: %d of %llu, %d wrong",
		    in_child ? " of a child" : "", wakeup, pages, signals,
		    (unsigned long long)perf_count(ring.fd), bad_signals);
	fault_ring_close(&ring);
	return ok;
}

/* A record that is written signals at the watermark; one that finds no room has nothing to read. */
static bool lost_records_are_silent(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct f_owner_ex owner = { F_OWNER_TID, syscall(SYS_gettid) };
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	struct fault_ring ring;
	unsigned int again = 0;

	attr.comm = 1;
	ring = fault_ring_open(attr, 1, PROT_READ | PROT_WRITE);
	signals = 0;
	sigaction(SIGRTMIN, &action, NULL);
	signal_fd = ring.fd;
	fcntl(ring.fd, F_SETFL, O_ASYNC);
	fcntl(ring.fd, F_SETSIG, SIGRTMIN);
	fcntl(ring.fd, F_SETOWN_EX, &owner);
	fault_ring_enable(&ring);
	for (int i = 0; i < 500; i++)
		prctl(PR_SET_NAME, "x");
	poll_events(ring.fd, 0);
	for (int i = 0; i < 10; i++) {
		prctl(PR_SET_NAME, "x");
		again += !!(poll_events(ring.fd, 0) & POLLIN);
	}
	fault_ring_close(&ring);
	return expect_eq("signals, at half of the buffer", signals, 1) &
	       expect_eq("times that a full buffer is readable again", again, 0);
}

static bool signal_default(void)
{
	return signals_per_overflow(0, 8, false);
}

static bool signal_wakeup(void)
{
	return signals_per_overflow(1, 8, false);
}

static bool signal_child(void)
{
	return signals_per_overflow(1, 1, true);
}

/* Each single record wakes a reader that sleeps in poll(), thousands of times. */
#define ROUNDS 5000

static struct {
	struct fault_ring	ring;
	uint64_t	wanted;		/* records written */
	uint64_t	polls, timeouts;
	volatile bool	finished;
	int		ack[2];
} reader;

static void *reader_of_each(void *arg)
{
	char c = 0;

	(void)arg;
	while (reader.ring.samples < ROUNDS && !reader.timeouts) {
		reader.polls++;
		if (!poll_events(reader.ring.fd, 10000))
			reader.timeouts++;
		if (drain_ring(&reader.ring) && write(reader.ack[1], &c, 1) != 1)
			break;
	}
	if (reader.timeouts && write(reader.ack[1], &c, 1) != 1)
		return NULL;
	return NULL;
}

static bool each_record_wakes(void)
{
	struct perf_event_attr attr = fault_attr();
	pthread_t thread;
	unsigned int i;
	char c;
	bool ok;

	memset(&reader, 0, sizeof(reader));
	attr.wakeup_events = 1;
	reader.ring = fault_ring_open(attr, 8, PROT_READ | PROT_WRITE);
	if (pipe(reader.ack))
		fail_case("pipe");
	pthread_create(&thread, NULL, reader_of_each, NULL);
	for (i = 0; i < ROUNDS && !reader.timeouts; i++) {
		madvise(fresh, page, MADV_DONTNEED);
		fault_ring_enable(&reader.ring);
		*(volatile char *)fresh = 1;
		fault_ring_disable(&reader.ring);
		if (read(reader.ack[0], &c, 1) != 1)
			break;
	}
	pthread_join(thread, NULL);
	ok = expect(i == ROUNDS && reader.ring.samples == ROUNDS && !reader.timeouts &&
		    reader.polls <= ROUNDS + 1,
		    "a sleeping reader is woken for each of %u records: %llu polls, %llu timeouts",
		    i, (unsigned long long)reader.polls, (unsigned long long)reader.timeouts);
	fault_ring_close(&reader.ring);
	close(reader.ack[0]);
	close(reader.ack[1]);
	return ok;
}

/* The same at full speed, with a buffer that is too small and one that is not. */
#define FLOOD 100000

static void *reader_of_flood(void *arg)
{
	(void)arg;
	for (;;) {
		bool last = reader.finished;

		drain_ring(&reader.ring);
		if (last)
			return NULL;
		reader.polls++;
		if (!poll_events(reader.ring.fd, 10000) && !reader.finished)
			reader.timeouts++;
	}
}

static bool parallel_reader(unsigned int pages)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t count, lost;
	struct timespec t[2];
	pthread_t thread;
	double seconds;
	bool ok;

	memset(&reader, 0, sizeof(reader));
	attr.wakeup_events = 1;
	attr.sample_type = 0;
	reader.ring = fault_ring_open(attr, pages, PROT_READ | PROT_WRITE);
	pthread_create(&thread, NULL, reader_of_flood, NULL);
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	for (unsigned int done = 0; done < FLOOD; done += 2000) {
		madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
		fault_ring_enable(&reader.ring);
		for (unsigned int i = 0; i < 2000; i++)
			*(volatile char *)(fresh + i * page) = 1;
		fault_ring_disable(&reader.ring);
	}
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	/* A last record, which ends the poll() of the reader. */
	reader.finished = true;
	fault_ring_enable(&reader.ring);
	touch_fresh(1);
	fault_ring_disable(&reader.ring);
	pthread_join(thread, NULL);
	drain_ring(&reader.ring);
	read_totals(&reader.ring, &count, &lost);

	seconds = t[1].tv_sec - t[0].tv_sec + (t[1].tv_nsec - t[0].tv_nsec) / 1e9;
	ktap_note("%u pages: %.0f records/s, %llu polls, %llu lost", pages, FLOOD / seconds,
		  (unsigned long long)reader.polls, (unsigned long long)lost);
	ok = expect(count == FLOOD + 1 && reader.ring.samples + lost == count &&
		    reader.ring.lost <= lost && !reader.timeouts && !reader.ring.wrong,
		    "%u records, %u pages: read %llu, lost %llu, %llu timeouts", FLOOD + 1, pages,
		    (unsigned long long)reader.ring.samples, (unsigned long long)lost,
		    (unsigned long long)reader.timeouts);
	fault_ring_close(&reader.ring);
	return ok;
}

static bool parallel_small(void)
{
	return parallel_reader(4);
}

static bool parallel_large(void)
{
	return parallel_reader(1024);
}

/* The events of a task hang up when it exits, and wake their readers. */
static bool hangup_at_exit(void)
{
	struct perf_event_attr attr = fault_attr();
	struct timespec t[2];
	struct fault_ring ring;
	int go[2], events;
	pid_t pid;
	char c = 0;
	bool ok = true;

	if (pipe(go))
		fail_case("pipe");
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			usleep(200000);
		_exit(0);
	}
	ring = fault_ring_of(perf_open(&attr, pid, -1, -1, 0), 1, PROT_READ | PROT_WRITE);
	ok &= expect(poll_events(ring.fd, 0) == 0, "no hang-up while the task is there");
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	if (write(go[1], &c, 1) != 1)
		fail_case("write");
	events = poll_events(ring.fd, 10000);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	ok &= expect(events & POLLHUP && t[1].tv_sec - t[0].tv_sec < 8, "a hang-up when it exits");
	waitpid(pid, NULL, 0);
	fault_ring_close(&ring);
	close(go[0]);
	close(go[1]);
	return ok;
}

/* An inherited event hangs up when neither its task nor a child of it is left. */
static bool hangup_of_last_child(void)
{
	struct gate go = gate_new(), end = gate_new();
	struct perf_event_attr attr = sw_attr(PERF_COUNT_SW_DUMMY);
	struct fault_ring ring;
	uint64_t begin;
	bool good;
	pid_t pid;

	attr.inherit = 1;
	pid = fork_child();
	if (!pid) {
		gate_wait(&go);
		if (!fork()) {
			gate_wait(&end);
			sleep_ms(200);
		}
		_exit(0);
	}
	ring = fault_ring_of(perf_open(&attr, pid, 0, -1, 0), 1, PROT_READ | PROT_WRITE);
	good = expect_eq("while the task is there", poll_events(ring.fd, 0), 0);
	gate_open(&go);
	good &= child_succeeded(pid);
	good &= expect_eq("while its child is there", poll_events(ring.fd, 500), 0);
	begin = monotonic_ns();
	gate_open(&end);
	good &= expect_eq("when the child exits", poll_events(ring.fd, 20000), POLLHUP);
	good &= expect_between("without the timeout, ns", monotonic_ns() - begin, 0,
			       15 * NSEC_PER_SEC);
	fault_ring_close(&ring);
	return good;
}

static const struct test tests[] = {
	{ "poll() is woken once for each wakeup_events samples", poll_wakeup_events },
	{ "poll() is woken at wakeup_watermark, or at half of the buffer", poll_watermark },
	{ "epoll by level and by edge", epoll_modes },
	{ "epoll by edge of an event that is redirected to a buffer", epoll_after_redirect },
	{ "SIGIO for each overflow, wakeup_events 0", signal_default },
	{ "SIGIO for each overflow, wakeup_events 1", signal_wakeup },
	{ "SIGIO for each overflow of a child, in a buffer that fills up", signal_child },
	{ "records that find no room signal nothing", lost_records_are_silent },
	{ "a sleeping reader is woken for each of 5000 records", each_record_wakes },
	{ "100000 records to a parallel reader, 4 pages", parallel_small },
	{ "100000 records to a parallel reader, 1024 pages", parallel_large },
	{ "POLLHUP when the task exits", hangup_at_exit },
	{ "POLLHUP when the last child exits", hangup_of_last_child },
};

TESTS_MAIN_SETUP(tests, fault_ring_setup)
