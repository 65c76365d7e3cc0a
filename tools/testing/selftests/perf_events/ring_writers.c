// SPDX-License-Identifier: GPL-2.0
/* Several events, tasks and contexts write to one ring buffer. Run as root. */
#include "fault_ring.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static bool two_events(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t id[2], seen[2] = { 0, 0 };
	struct fault_ring ring;
	int second;
	bool ok = true;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	attr.wakeup_events = 1;
	ring = fault_ring_open(attr, 8, PROT_READ | PROT_WRITE);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	second = perf_open(&attr, 0, -1, -1, 0);
	ioctl(second, PERF_EVENT_IOC_SET_OUTPUT, (long)ring.fd);
	ioctl(ring.fd, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(second, PERF_EVENT_IOC_ID, &id[1]);

	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	fault_ring_enable(&ring);
	ioctl(second, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 500; i++)
		*(volatile char *)(fresh + i * page) = 1;
	ioctl(second, PERF_EVENT_IOC_DISABLE, 0);
	fault_ring_disable(&ring);

	for (uint64_t pos = 0; pos != ring.user->data_head && !ring.wrong;
	     pos += take_record(&ring, pos)) {
		for (int i = 0; i < 2; i++)
			seen[i] += ring_word(&ring, pos + 8) == id[i];
	}
	ok &= expect(seen[0] == 500 && seen[1] == 500 && ring.samples == 1000,
		     "two events in one buffer: %llu and %llu samples", (unsigned long long)seen[0],
		     (unsigned long long)seen[1]);
	ok &= expect(poll_events(second, 0) & POLLIN && !poll_events(ring.fd, 0),
		     "the first that polls is woken");
	close(second);
	fault_ring_close(&ring);
	return ok;
}

/* Children write to the buffer of their parent. */
static bool children_in_turn(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t count, lost;
	struct fault_ring ring;
	cpu_set_t all;
	int status;
	bool ok;

	sched_getaffinity(0, sizeof(all), &all);
	pin_to_cpu(0);
	attr.inherit = 1;
	ring = fault_ring_of(perf_open(&attr, 0, 0, -1, 0), 64, PROT_READ | PROT_WRITE);
	fault_ring_enable(&ring);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (!pid) {
			touch_fresh(500);
			_exit(0);
		}
		waitpid(pid, &status, 0);
	}
	fault_ring_disable(&ring);
	sched_setaffinity(0, sizeof(all), &all);
	drain_ring(&ring);
	read_totals(&ring, &count, &lost);
	ok = expect(ring.samples >= 2000 && ring.samples == count && !lost && !ring.wrong,
		    "four children's %llu faults in the parent's buffer",
		    (unsigned long long)ring.samples);
	fault_ring_close(&ring);
	return ok;
}

/* An inherited event on any CPU can only be redirected; then several CPUs write at once. */
static bool children_at_once(void)
{
	struct perf_event_attr attr = fault_attr();
	struct fault_ring ring = fault_ring_open(attr, 256, PROT_READ | PROT_WRITE),
			  inherited = ring;
	uint64_t count, lost;
	pid_t pid[4];
	bool ok;

	attr.inherit = 1;
	inherited.fd = perf_open(&attr, 0, -1, -1, 0);
	if (ioctl(inherited.fd, PERF_EVENT_IOC_SET_OUTPUT, (long)ring.fd))
		fail_case("SET_OUTPUT");
	fault_ring_enable(&inherited);
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			touch_fresh(3000);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		waitpid(pid[i], NULL, 0);
	fault_ring_disable(&inherited);
	/* One more sample, which follows a LOST record. */
	fault_ring_enable(&inherited);
	touch_fresh(1);
	fault_ring_disable(&inherited);
	drain_ring(&ring);
	read_totals(&inherited, &count, &lost);
	ok = expect(count >= 12000 && ring.samples + lost == count && ring.lost == lost &&
		    !ring.wrong,
		    "children on all CPUs: %llu faults, %llu read, %llu lost, %llu in LOST",
		    (unsigned long long)count, (unsigned long long)ring.samples,
		    (unsigned long long)lost, (unsigned long long)ring.lost);
	close(inherited.fd);
	fault_ring_close(&ring);
	return ok;
}

/*
 * Contexts that interrupt each other: a task, softirqs, hard interrupts and the interrupts or NMIs
 * of the PMU write to one buffer of one CPU.
 */
struct source {
	const char	*name;		/* of a tracepoint; NULL for another type of event */
	uint32_t	type;
	uint64_t	config, period;
	int		fd;
	uint64_t	id, samples;
	uint64_t	count, lost;
};

static unsigned int slow;		/* set by kernel_slowness() */

static struct source sources[] = {
	{ NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1 },
	{ "syscalls/sys_enter_getppid", PERF_TYPE_TRACEPOINT, 0, 1 },
	{ "irq/softirq_entry", PERF_TYPE_TRACEPOINT, 0, 1 },
	{ "timer/hrtimer_expire_entry", PERF_TYPE_TRACEPOINT, 0, 1 },
	{ NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 100000 },
	{ NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 70000 },
};

#define NR_SOURCES	ARRAY_SIZE(sources)

/* Opens all sources on CPU 0, disabled; all write to the buffer of the first. */
static struct fault_ring open_sources(unsigned int pages, bool overwrite)
{
	struct perf_event_attr attr = fault_attr();
	struct fault_ring ring;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	attr.exclude_kernel = 0;
	attr.write_backward = overwrite;
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		struct source *s = &sources[i];

		s->samples = 0;
		s->count = 0;
		s->lost = 0;
		s->id = 0;
		attr.type = s->type;
		attr.config = s->name ? (uint64_t)tracepoint_id(s->name) : s->config;
		attr.sample_period = s->period == 1 ? 1 : s->period * slow;
		s->fd = perf_open(&attr, -1, 0, -1, 0);
		if (s->fd < 0)
			continue;
		ioctl(s->fd, PERF_EVENT_IOC_ID, &s->id);
		if (!i)
			ring = fault_ring_of(s->fd, pages,
					     PROT_READ | (overwrite ? 0 : PROT_WRITE));
		else if (ioctl(s->fd, PERF_EVENT_IOC_SET_OUTPUT, (long)sources[0].fd))
			fail_case("SET_OUTPUT");
	}
	ring.lost_size = 24 + 16;
	return ring;
}

/* Returns how many times slower than usual this kernel is: interrupts must leave time for tasks. */
static unsigned int kernel_slowness(void)
{
	struct timespec t[2];

	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	for (int i = 0; i < 1000; i++)
		syscall(__NR_getppid);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	return 1 +
	       ((t[1].tv_sec - t[0].tv_sec) * 1000000000ll + t[1].tv_nsec - t[0].tv_nsec) / 2000000;
}

static void switch_sources(unsigned long request)
{
	for (unsigned int i = 0; i < NR_SOURCES; i++)
		ioctl(sources[i].fd, request, 0);
}

/* Counts a sample for its source; a sample without a source is wrong. */
static void count_sample(struct fault_ring *ring, uint64_t pos)
{
	uint64_t header = ring_word(ring, pos), id = ring_word(ring, pos + 8);

	if ((uint32_t)header != PERF_RECORD_SAMPLE)
		return;
	ring->wrong += header >> 48 != 24;
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		if (sources[i].id == id) {
			sources[i].samples++;
			return;
		}
	}
	ring->wrong++;
}

static void drain_sources(struct fault_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->user->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->user->data_tail;

	ring->wrong += head - tail > ring->size;
	while (tail != head && !ring->wrong) {
		count_sample(ring, tail);
		tail += take_record(ring, tail);
	}
	__atomic_store_n(&ring->user->data_tail, head, __ATOMIC_RELEASE);
}

static volatile bool stop_reading;

static void *read_sources(void *ring)
{
	pin_to_cpu(1);
	while (!stop_reading) {
		drain_sources(ring);
		usleep(200);
	}
	return NULL;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Half a second on CPU 0 of faults, system calls and timer interrupts. */
static void keep_sources_busy(void)
{
	struct itimerval often = { { 0, 300 * slow }, { 0, 300 * slow } }, never = { };
	struct timespec now, end;

	signal(SIGALRM, on_alarm);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += 500000000;
	switch_sources(PERF_EVENT_IOC_ENABLE);
	setitimer(ITIMER_REAL, &often, NULL);
	do {
		madvise(fresh, 64 * page, MADV_DONTNEED);
		for (unsigned int i = 0; i < 64; i++) {
			*(volatile char *)(fresh + i * page) = 1;
			syscall(__NR_getppid);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - end.tv_sec) * 1000000000LL + now.tv_nsec - end.tv_nsec < 0);
	setitimer(ITIMER_REAL, &never, NULL);
	switch_sources(PERF_EVENT_IOC_DISABLE);
}

/* Reads the count and losses of each source. Returns the sum of the losses. */
static uint64_t settle_sources(void)
{
	uint64_t value[2], lost = 0;

	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		struct source *s = &sources[i];

		if (s->fd < 0 || read(s->fd, value, sizeof(value)) != sizeof(value))
			continue;
		s->count = value[0];
		s->lost = value[1];
		lost += s->lost;
	}
	return lost;
}

static void close_sources(struct fault_ring *ring)
{
	munmap(ring->user, page + ring->size);
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		if (sources[i].fd >= 0)
			close(sources[i].fd);
	}
}

static void note_sources(unsigned int pages)
{
	for (unsigned int i = 0; i < NR_SOURCES; i++)
		ktap_note("%u pages, source %u: %llu counted, %llu read, %llu lost", pages, i,
			  (unsigned long long)sources[i].count,
			  (unsigned long long)sources[i].samples,
			  (unsigned long long)sources[i].lost);
}

/* For sources with period 1, samples read and lost add up to the count; all sources took part. */
static bool nested_writers(unsigned int pages)
{
	struct fault_ring ring = open_sources(pages, false);
	uint64_t lost, counted;
	pthread_t thread;
	bool good = true;

	stop_reading = false;
	pthread_create(&thread, NULL, read_sources, &ring);
	keep_sources_busy();
	stop_reading = true;
	pthread_join(thread, NULL);
	drain_sources(&ring);
	counted = ring.lost;
	lost = settle_sources();
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		struct source *s = &sources[i];

		if (s->fd >= 0 && s->period == 1)
			good &= s->samples + s->lost == s->count;
		/* Not every machine has a cycle counter. */
		good &= s->samples + s->lost > 0 ||
			(s->fd < 0 && s->type == PERF_TYPE_HARDWARE);
	}
	good = good && counted <= lost;

	/* A last sample follows a LOST record for all that is not reported yet. */
	ioctl(sources[0].fd, PERF_EVENT_IOC_ENABLE, 0);
	touch_fresh(1);
	ioctl(sources[0].fd, PERF_EVENT_IOC_DISABLE, 0);
	drain_sources(&ring);
	good = good && ring.lost == settle_sources() && ring.lost == lost && !ring.wrong;
	if (!good) {
		note_sources(pages);
		ktap_note("%llu in LOST, then %llu of %llu; %u wrong", (unsigned long long)counted,
			  (unsigned long long)ring.lost, (unsigned long long)lost, ring.wrong);
	}
	close_sources(&ring);
	return good;
}

/* The buffer is overwritten, newest record first: nothing is lost and each record is whole. */
static bool nested_overwriters(unsigned int pages)
{
	struct fault_ring ring = open_sources(pages, true);
	uint64_t written, kept, lost, exact = 0, others = 0, sum = 0, pos;
	bool good;

	keep_sources_busy();
	lost = settle_sources();
	written = -ring.user->data_head;
	kept = written < ring.size ? written : ring.size;
	pos = ring.user->data_head;
	while (pos - ring.user->data_head + 24 <= kept && !ring.wrong) {
		count_sample(&ring, pos);
		pos += take_record(&ring, pos);
	}
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		exact += sources[i].period == 1 ? sources[i].count : 0;
		others += sources[i].period > 1 && sources[i].fd >= 0;
		sum += sources[i].samples;
	}
	good = !lost && !ring.wrong && sum + 1 + 2 * ring.others >= kept / 24 &&
	       written >= exact * 24 && (written > exact * 24 || !others);
	if (!good) {
		note_sources(pages);
		ktap_note("%llu bytes, %llu samples of period 1, %u wrong",
			  (unsigned long long)written, (unsigned long long)exact, ring.wrong);
	}
	close_sources(&ring);
	return good;
}

static void nested_setup(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip_case("one CPU");
	pin_to_cpu(0);
	slow = kernel_slowness();
}

static bool nested_contexts(void)
{
	bool good = true;

	nested_setup();
	for (unsigned int pages = 1; pages <= 64; pages *= 4)
		good &= nested_writers(pages);
	return good;
}

static bool nested_contexts_overwrite(void)
{
	bool good = true;

	nested_setup();
	for (unsigned int pages = 1; pages <= 16; pages *= 4)
		good &= nested_overwriters(pages);
	return good;
}

static const struct test tests[] = {
	{ "two events write to one buffer", two_events },
	{ "four children write to the buffer of their parent", children_in_turn },
	{ "children on all CPUs write to one buffer", children_at_once },
	{ "task, softirq, interrupt and PMU write: samples and losses add up", nested_contexts },
	{ "task, softirq, interrupt and PMU overwrite: records are whole",
	  nested_contexts_overwrite },
};

TESTS_MAIN_SETUP(tests, fault_ring_setup)
