// SPDX-License-Identifier: GPL-2.0
/*
 * Records in the buffer: none is missing, none is invented, and the reader hears of them.
 *
 * The source is page faults, one record each: a program touches a known number of fresh pages, so
 * the number of records and the address in each are known before. Run as root.
 */
#include "perf_test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <time.h>

#define PAGES_MAX	4096	/* fresh pages at a time */

static long page;
static char *fresh;

/* Touches @n pages that are not there, one page fault each. */
static void fault(unsigned int n)
{
	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	for (unsigned int i = 0; i < n; i++)
		*(volatile char *)(fresh + i * page) = 1;
}

/**
 * struct ring - a mapped event
 * @fd: the event
 * @user: first page
 * @data: data
 * @size: bytes of data
 * @lost_size: bytes of a LOST record
 * @samples: samples read
 * @others: records read that are neither samples nor LOST
 * @lost: sum of the LOST records
 * @next: address that the next sample must have, if the samples carry it; 0 if not
 * @gaps: addresses that were left out
 * @wrong: things that must not be
 */
struct ring {
	int				fd;
	struct perf_event_mmap_page	*user;
	char				*data;
	uint64_t			size;
	unsigned int			lost_size;
	uint64_t			samples, others, lost;
	uintptr_t			next;
	uint64_t			gaps;
	unsigned int			wrong;
};

static struct perf_event_attr fault_attr(void)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR;	/* 16 bytes with the header */
	attr.read_format = PERF_FORMAT_LOST;
	attr.exclude_kernel = 1;
	attr.disabled = 1;
	return attr;
}

static struct ring ring_of(int fd, unsigned int pages, int prot)
{
	struct ring ring = { .fd = fd, .size = pages * page, .lost_size = 24 };

	if (fd < 0)
		ktap_bail_out("perf_event_open");
	ring.user = mmap(NULL, (1 + pages) * page, prot, MAP_SHARED, fd, 0);
	if (ring.user == MAP_FAILED)
		ktap_bail_out("mmap of %u pages", pages);
	ring.data = (char *)ring.user + page;
	/* Whether or not that takes page faults: none is to come later, among those counted. */
	for (unsigned int i = 0; i <= pages; i++)
		*(volatile char *)((char *)ring.user + i * page);
	if (prot & PROT_WRITE)
		ring.user->data_tail = 0;
	return ring;
}

static struct ring ring_open(struct perf_event_attr attr, unsigned int pages, int prot)
{
	return ring_of(perf_open(&attr, 0, -1, -1, 0), pages, prot);
}

static void ring_close(struct ring *ring)
{
	munmap(ring->user, page + ring->size);
	close(ring->fd);
}

static void enable(const struct ring *ring)
{
	ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void disable(const struct ring *ring)
{
	ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static uint64_t word(const struct ring *ring, uint64_t pos)
{
	return *(volatile uint64_t *)(ring->data + (pos & (ring->size - 1)));
}

/* Looks at the record at @pos; its size, 0 if it is none. */
static unsigned int take(struct ring *ring, uint64_t pos)
{
	union { uint64_t word; struct perf_event_header header; } u = { word(ring, pos) };

	switch (u.header.type) {
	case PERF_RECORD_SAMPLE:
		ring->samples++;
		if (ring->next) {
			uintptr_t addr = word(ring, pos + 8) & -page;

			ring->wrong += addr < ring->next;
			ring->gaps += (addr - ring->next) / page;
			ring->next = addr + page;
		}
		break;
	case PERF_RECORD_LOST:
		ring->wrong += u.header.size != ring->lost_size;
		ring->lost += word(ring, pos + 16);
		break;
	default:
		ring->others++;
	}
	ring->wrong += u.header.size < 8 || u.header.size % 8;
	return u.header.size;
}

/* Reads all there is. The number of samples among it. */
static uint64_t drain(struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->user->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->user->data_tail, before = ring->samples;

	ring->wrong += head - tail > ring->size;
	while (tail != head && !ring->wrong)
		tail += take(ring, tail);
	__atomic_store_n(&ring->user->data_tail, head, __ATOMIC_RELEASE);
	return ring->samples - before;
}

/* Counted, and lost by the event's own account. */
static void totals(const struct ring *ring, uint64_t *count, uint64_t *lost)
{
	uint64_t value[2] = { UINT64_MAX, UINT64_MAX };

	if (read(ring->fd, value, sizeof(value)) != sizeof(value))
		ktap_note("read: %s", strerror(errno));
	*count = value[0];
	*lost = value[1];
}

/* Nobody reads while three buffers full are written; then all is accounted for. */
static bool lost_is_exact(unsigned int pages)
{
	unsigned int n = 3 * pages * page / 16 + 17, done = 0;
	struct ring ring = ring_open(fault_attr(), pages, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	bool good;

	while (done < n) {
		unsigned int some = n - done < 2000 ? n - done : 2000;

		madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
		enable(&ring);
		for (unsigned int i = 0; i < some; i++)
			*(volatile char *)(fresh + i * page) = 1;
		disable(&ring);
		done += some;
	}
	drain(&ring);
	totals(&ring, &count, &lost);
	good = count == n && ring.samples + lost == n && ring.lost == 0 && lost > 0;

	/* The next one that fits is preceded by the news of all that did not. */
	enable(&ring);
	fault(1);
	disable(&ring);
	drain(&ring);
	totals(&ring, &count, &lost);
	good = good && count == n + 1 && ring.lost == lost && ring.samples + ring.lost == n + 1 &&
	       !ring.wrong && !ring.others;
	if (!good)
		ktap_note("%u pages: %llu counted, %llu read, %llu in LOST, %llu lost, %u wrong", pages,
			  (unsigned long long)count, (unsigned long long)ring.samples,
			  (unsigned long long)ring.lost, (unsigned long long)lost, ring.wrong);
	ring_close(&ring);
	return good;
}

static void test_lost(void)
{
	bool good = true;

	for (unsigned int pages = 1; pages <= 32; pages *= 2)
		good &= lost_is_exact(pages);
	ktap_result(good, "read and lost make what overflowed, from 1 to 32 pages");
}

/* The reader comes now and then; the addresses say where something is missing. */
static void test_lost_in_place(void)
{
	struct ring ring = ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	bool good = true;

	ring.next = (uintptr_t)fresh;
	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	enable(&ring);
	for (unsigned int i = 0; i < PAGES_MAX; i++) {
		*(volatile char *)(fresh + i * page) = 1;
		if (i % 701 == 700) {
			drain(&ring);
			good &= ring.gaps == ring.lost;
		}
	}
	disable(&ring);
	drain(&ring);
	totals(&ring, &count, &lost);
	ktap_result(good && ring.lost > 1000 && ring.gaps == ring.lost && !ring.wrong &&
		    ring.samples + lost == PAGES_MAX && count == PAGES_MAX,
		    "LOST stands where records are missing, and says how many: %llu of %u",
		    (unsigned long long)lost, PAGES_MAX);
	ring_close(&ring);
}

/* What identifies an event, at the end of all records but samples: each of its parts alone and all. */
static const uint64_t id_parts[] = {
	PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_IDENTIFIER,
};

/* A LOST record with @parts behind it, in the middle of samples. */
static bool lost_with_id(uint64_t parts, unsigned int words)
{
	struct perf_event_attr attr = fault_attr();
	unsigned int samples, n = 3000;
	uint64_t count, lost;
	struct ring ring;
	bool good = true;

	attr.sample_id_all = 1;
	attr.sample_type |= parts;
	ring = ring_open(attr, 1, PROT_READ | PROT_WRITE);
	ring.lost_size = 24 + 8 * words;
	for (int round = 0; round < 3; round++) {
		enable(&ring);
		fault(n / 3);
		disable(&ring);
		drain(&ring);
	}
	samples = ring.samples;
	enable(&ring);
	fault(1);
	disable(&ring);
	drain(&ring);
	totals(&ring, &count, &lost);
	good = count == n + 1 && lost > n / 2 && ring.lost == lost &&
	       ring.samples + lost == n + 1 && ring.samples == samples + 1 && !ring.wrong &&
	       !ring.others;
	if (!good)
		ktap_note("sample_type %#llx: %llu counted, %llu read, %llu in LOST, %llu lost, %u wrong",
			  (unsigned long long)attr.sample_type, (unsigned long long)count,
			  (unsigned long long)ring.samples, (unsigned long long)ring.lost,
			  (unsigned long long)lost, ring.wrong);
	ring_close(&ring);
	return good;
}

static void test_lost_with_id(void)
{
	uint64_t all = 0;
	bool good = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(id_parts); i++) {
		good &= lost_with_id(id_parts[i], 1);
		all |= id_parts[i];
	}
	good &= lost_with_id(all, ARRAY_SIZE(id_parts));
	ktap_result(good, "LOST with what sample_id_all adds");
}

static void test_overwrite(void)
{
	struct ring ring = ring_open(fault_attr(), 2, PROT_READ);
	uint64_t count, lost, head, fit = ring.size / 16;

	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	enable(&ring);
	for (unsigned int i = 0; i < PAGES_MAX; i++)
		*(volatile char *)(fresh + i * page) = 1;
	disable(&ring);
	totals(&ring, &count, &lost);
	head = ring.user->data_head;
	ring.next = (uintptr_t)fresh + (PAGES_MAX - fit) * page;
	for (uint64_t pos = head - ring.size; pos != head && !ring.wrong; )
		pos += take(&ring, pos);
	ktap_result(head == PAGES_MAX * 16 && count == PAGES_MAX && !lost && ring.samples == fit &&
		    !ring.gaps && !ring.wrong, "overwriting keeps the newest, in order");
	ring_close(&ring);
}

static void test_backward(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t count, lost, head, fit;
	uintptr_t expected;
	struct ring ring;

	attr.write_backward = 1;
	ring = ring_open(attr, 2, PROT_READ);
	fit = ring.size / 16;
	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	enable(&ring);
	for (unsigned int i = 0; i < PAGES_MAX; i++)
		*(volatile char *)(fresh + i * page) = 1;
	disable(&ring);
	totals(&ring, &count, &lost);
	head = ring.user->data_head;
	expected = (uintptr_t)fresh + (PAGES_MAX - 1) * page;
	for (uint64_t i = 0; i < fit; i++, expected -= page) {
		uint64_t pos = head + 16 * i;

		ring.wrong += take(&ring, pos) != 16 || (word(&ring, pos + 8) & -page) != expected;
	}
	ktap_result(head == -(uint64_t)PAGES_MAX * 16 && count == PAGES_MAX && !lost &&
		    ring.samples == fit && !ring.wrong, "backwards the newest comes first");
	ring_close(&ring);
}

static void test_pause(void)
{
	struct ring ring = ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	uint64_t count, lost;

	enable(&ring);
	fault(5);
	ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	fault(7);
	ioctl(ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	fault(3);
	disable(&ring);
	drain(&ring);
	totals(&ring, &count, &lost);
	ktap_result(count == 15 && lost == 7 && ring.lost == 7 && ring.samples == 8 && !ring.wrong,
		    "what comes in a pause is lost, and counted");
	ring_close(&ring);
}

/* One bad position after another in data_tail: records are lost, nothing else happens. */
static void test_bad_tail(void)
{
	static const uint64_t bad[] = { 8, 1, 1 << 20, -1ULL, -4096ULL, 1ULL << 63, 1ULL << 32 };
	struct ring ring = ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	uint64_t count, lost;
	unsigned int n = 0;

	enable(&ring);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++, n++) {
		ring.user->data_tail = bad[i];
		fault(1);
	}
	ring.user->data_tail = 0;
	fault(1);
	disable(&ring);
	drain(&ring);
	totals(&ring, &count, &lost);
	ktap_result(count == n + 1 && ring.samples + lost == n + 1 && ring.lost == lost && !ring.wrong,
		    "nonsense in data_tail costs records: %llu", (unsigned long long)lost);
	ring_close(&ring);
}

/*
 * Telling the reader
 */

static int ready(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout) == 1 ? p.revents : 0;
}

static void test_wakeup_events(void)
{
	bool good = true;

	for (unsigned int every = 1; every <= 9; every += 2) {
		struct perf_event_attr attr = fault_attr();
		struct ring ring;

		attr.wakeup_events = every;
		ring = ring_open(attr, 8, PROT_READ | PROT_WRITE);
		enable(&ring);
		for (unsigned int i = 1; i <= 100; i++) {
			fault(1);
			good &= !!(ready(ring.fd, 0) & POLLIN) == !(i % every);
			good &= !ready(ring.fd, 0);
		}
		ring_close(&ring);
	}
	ktap_result(good, "poll() says so once for each wakeup_events samples");
}

static void test_watermark(void)
{
	struct perf_event_attr attr = fault_attr();
	unsigned int told = 0, first = 0;
	struct ring ring;

	attr.watermark = 1;
	attr.wakeup_watermark = 160;
	ring = ring_open(attr, 1, PROT_READ | PROT_WRITE);
	enable(&ring);
	for (unsigned int i = 1; i <= 200; i++) {
		fault(1);
		if (ready(ring.fd, 0) & POLLIN) {
			told++;
			first = first ?: i;
		}
		if (!(i % 50))
			drain(&ring);
	}
	ktap_result(told >= 18 && told <= 20 && first >= 10 && first <= 11,
		    "wakeup_watermark of 10 records: told %u times in 200, first at %u", told, first);
	ring_close(&ring);

	/* With nothing asked for, half the buffer is the mark. */
	ring = ring_open(fault_attr(), 1, PROT_READ | PROT_WRITE);
	enable(&ring);
	for (first = 1; first < 250; first++) {
		fault(1);
		if (ready(ring.fd, 0) & POLLIN)
			break;
	}
	ktap_result(first * 16 >= ring.size / 2 && first * 16 <= ring.size / 2 + 16,
		    "by default half a buffer: %u records", first);
	ring_close(&ring);
}

static void test_epoll(void)
{
	int level = epoll_create1(0), edge = epoll_create1(0);
	struct perf_event_attr attr = fault_attr();
	struct epoll_event event = { .events = EPOLLIN };
	bool good = true;
	struct ring ring;

	attr.wakeup_events = 2;
	ring = ring_open(attr, 8, PROT_READ | PROT_WRITE);
	epoll_ctl(level, EPOLL_CTL_ADD, ring.fd, &event);
	enable(&ring);
	for (unsigned int i = 1; i <= 100; i++) {
		fault(1);
		good &= epoll_wait(level, &event, 1, 0) == !(i % 2);
		good &= epoll_wait(level, &event, 1, 0) == 0;
	}
	ktap_result(good, "epoll, by level");

	epoll_ctl(level, EPOLL_CTL_DEL, ring.fd, &event);
	event.events = EPOLLIN | EPOLLET;
	epoll_ctl(edge, EPOLL_CTL_ADD, ring.fd, &event);
	good = true;
	for (unsigned int i = 1; i <= 100; i++) {
		fault(1);
		good &= epoll_wait(edge, &event, 1, 0) == !(i % 2);
		good &= epoll_wait(edge, &event, 1, 0) == 0;
	}
	ktap_result(good, "epoll, by edge");
	close(level);
	close(edge);
	ring_close(&ring);
}

/* Who joins a buffer in which there is news, and nobody has asked, is told at once. */
static void test_joined(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct perf_event_attr attr = fault_attr();
	int edge = epoll_create1(0), joins;
	struct ring ring;
	bool before;

	attr.wakeup_events = 1;
	ring = ring_open(attr, 8, PROT_READ | PROT_WRITE);
	enable(&ring);
	fault(1);
	joins = perf_open(&attr, 0, -1, -1, 0);
	epoll_ctl(edge, EPOLL_CTL_ADD, joins, &event);
	/* It has no buffer: that is the news so far. */
	before = epoll_wait(edge, &event, 1, 0) == 1 && event.events & EPOLLHUP &&
		 epoll_wait(edge, &event, 1, 0) == 0;
	if (ioctl(joins, PERF_EVENT_IOC_SET_OUTPUT, (long)ring.fd))
		ktap_bail_out("SET_OUTPUT");
	ktap_result(before && epoll_wait(edge, &event, 1, 0) == 1 && event.events & EPOLLIN,
		    "by edge, of an event that joins a buffer");
	fault(1);
	ktap_result(epoll_wait(edge, &event, 1, 0) == 1, "and of what comes afterwards");
	close(edge);
	close(joins);
	ring_close(&ring);
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
 * A queued signal for each overflow, and no more if it also wakes whoever polls, with room or without,
 * nor if it is a child's.
 */
static void test_signals(uint32_t wakeup, unsigned int pages, bool in_child)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct f_owner_ex owner = { F_OWNER_TID, syscall(SYS_gettid) };
	struct perf_event_attr attr = fault_attr();
	struct ring ring;
	bool good = true;
	int status = -1;
	pid_t child;

	attr.wakeup_events = wakeup;
	attr.inherit = in_child;
	attr.read_format = 0;
	ring = ring_of(perf_open(&attr, 0, in_child ? 0 : -1, -1, 0), pages, PROT_READ | PROT_WRITE);
	signals = bad_signals = 0;
	sigaction(SIGRTMIN, &action, NULL);
	signal_fd = ring.fd;
	fcntl(ring.fd, F_SETFL, O_ASYNC);
	fcntl(ring.fd, F_SETSIG, SIGRTMIN);
	fcntl(ring.fd, F_SETOWN_EX, &owner);
	if (in_child) {
		/* One at a time: the parent waits in a system call that each signal ends. */
		pin_to_cpu(0);
		child = fork();
		if (!child) {
			for (int i = 0; i < 10; i++) {
				ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
				fault(1);
				ioctl(ring.fd, PERF_EVENT_IOC_DISABLE, 0);
			}
			_exit(0);
		}
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		/* What it touches first after the fork is counted, too. */
		good = !status && signals >= 10 && (uint64_t)signals == perf_count(ring.fd);
	} else {
		enable(&ring);
		for (int i = 1; i <= 100; i++) {
			fault(1);
			good &= signals == i;
		}
	}
	ktap_result(good && !bad_signals, "SIGIO for each overflow%s, wakeup_events %u, %u pages: %d of %llu, %d wrong",
		    in_child ? " of a child" : "", wakeup, pages, signals,
		    (unsigned long long)perf_count(ring.fd), bad_signals);
	ring_close(&ring);
}

/* A reader asleep in poll() is woken by each single record, thousands of times. */
#define ROUNDS 5000

static struct {
	struct ring	ring;
	uint64_t	wanted;		/* records that have been written, to be read */
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
		if (!ready(reader.ring.fd, 10000))
			reader.timeouts++;
		if (drain(&reader.ring) && write(reader.ack[1], &c, 1) != 1)
			break;
	}
	if (reader.timeouts && write(reader.ack[1], &c, 1) != 1)
		return NULL;
	return NULL;
}

static void test_no_wakeup_lost_singly(void)
{
	struct perf_event_attr attr = fault_attr();
	pthread_t thread;
	unsigned int i;
	char c;

	memset(&reader, 0, sizeof(reader));
	attr.wakeup_events = 1;
	reader.ring = ring_open(attr, 8, PROT_READ | PROT_WRITE);
	if (pipe(reader.ack))
		ktap_bail_out("pipe");
	pthread_create(&thread, NULL, reader_of_each, NULL);
	for (i = 0; i < ROUNDS && !reader.timeouts; i++) {
		madvise(fresh, page, MADV_DONTNEED);
		enable(&reader.ring);
		*(volatile char *)fresh = 1;
		disable(&reader.ring);
		if (read(reader.ack[0], &c, 1) != 1)
			break;
	}
	pthread_join(thread, NULL);
	ktap_result(i == ROUNDS && reader.ring.samples == ROUNDS && !reader.timeouts &&
		    reader.polls <= ROUNDS + 1,
		    "a sleeping reader is woken for each of %u records: %llu polls, %llu timeouts",
		    i, (unsigned long long)reader.polls, (unsigned long long)reader.timeouts);
	ring_close(&reader.ring);
	close(reader.ack[0]);
	close(reader.ack[1]);
}

/* The same at full speed, through a buffer that is too small and one that is not. */
#define FLOOD 100000

static void *reader_of_flood(void *arg)
{
	(void)arg;
	for (;;) {
		bool last = reader.finished;

		drain(&reader.ring);
		if (last)
			return NULL;
		reader.polls++;
		if (!ready(reader.ring.fd, 10000) && !reader.finished)
			reader.timeouts++;
	}
}

static void flood(unsigned int pages)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t count, lost;
	struct timespec t[2];
	pthread_t thread;
	double seconds;

	memset(&reader, 0, sizeof(reader));
	attr.wakeup_events = 1;
	attr.sample_type = 0;
	reader.ring = ring_open(attr, pages, PROT_READ | PROT_WRITE);
	pthread_create(&thread, NULL, reader_of_flood, NULL);
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	for (unsigned int done = 0; done < FLOOD; done += 2000) {
		madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
		enable(&reader.ring);
		for (unsigned int i = 0; i < 2000; i++)
			*(volatile char *)(fresh + i * page) = 1;
		disable(&reader.ring);
	}
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	/* A last record, so that the reader comes out of poll(). */
	reader.finished = true;
	enable(&reader.ring);
	fault(1);
	disable(&reader.ring);
	pthread_join(thread, NULL);
	drain(&reader.ring);
	totals(&reader.ring, &count, &lost);

	seconds = t[1].tv_sec - t[0].tv_sec + (t[1].tv_nsec - t[0].tv_nsec) / 1e9;
	ktap_note("%u pages: %.0f records/s, %llu polls, %llu lost", pages, FLOOD / seconds,
		  (unsigned long long)reader.polls, (unsigned long long)lost);
	ktap_result(count == FLOOD + 1 && reader.ring.samples + lost == count &&
		    reader.ring.lost <= lost && !reader.timeouts && !reader.ring.wrong,
		    "%u records to a parallel reader, %u pages: read %llu, lost %llu, %llu timeouts",
		    FLOOD + 1, pages, (unsigned long long)reader.ring.samples,
		    (unsigned long long)lost, (unsigned long long)reader.timeouts);
	ring_close(&reader.ring);
}

/*
 * Several events and tasks
 */

static void test_shared(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t id[2], seen[2] = { 0, 0 };
	struct ring ring;
	int second;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	attr.wakeup_events = 1;
	ring = ring_open(attr, 8, PROT_READ | PROT_WRITE);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	second = perf_open(&attr, 0, -1, -1, 0);
	ioctl(second, PERF_EVENT_IOC_SET_OUTPUT, (long)ring.fd);
	ioctl(ring.fd, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(second, PERF_EVENT_IOC_ID, &id[1]);

	madvise(fresh, PAGES_MAX * page, MADV_DONTNEED);
	enable(&ring);
	ioctl(second, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 500; i++)
		*(volatile char *)(fresh + i * page) = 1;
	ioctl(second, PERF_EVENT_IOC_DISABLE, 0);
	disable(&ring);

	for (uint64_t pos = 0; pos != ring.user->data_head && !ring.wrong; pos += take(&ring, pos)) {
		for (int i = 0; i < 2; i++)
			seen[i] += word(&ring, pos + 8) == id[i];
	}
	ktap_result(seen[0] == 500 && seen[1] == 500 && ring.samples == 1000,
		    "two events in one buffer: %llu and %llu samples",
		    (unsigned long long)seen[0], (unsigned long long)seen[1]);
	ktap_result(ready(second, 0) & POLLIN && !ready(ring.fd, 0),
		    "whoever of them polls first is told");
	close(second);
	ring_close(&ring);
}

/* Children write to their parent's buffer. */
static void test_inherited(void)
{
	struct perf_event_attr attr = fault_attr();
	uint64_t count, lost;
	struct ring ring;
	cpu_set_t all;
	int status;

	sched_getaffinity(0, sizeof(all), &all);
	pin_to_cpu(0);
	attr.inherit = 1;
	ring = ring_of(perf_open(&attr, 0, 0, -1, 0), 64, PROT_READ | PROT_WRITE);
	enable(&ring);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (!pid) {
			fault(500);
			_exit(0);
		}
		waitpid(pid, &status, 0);
	}
	disable(&ring);
	sched_setaffinity(0, sizeof(all), &all);
	drain(&ring);
	totals(&ring, &count, &lost);
	ktap_result(ring.samples >= 2000 && ring.samples == count && !lost && !ring.wrong,
		    "four children's %llu faults in the parent's buffer",
		    (unsigned long long)ring.samples);
	ring_close(&ring);
}

/* An inherited event on any CPU can only be redirected; then several CPUs write at once. */
static void test_crowded(void)
{
	struct perf_event_attr attr = fault_attr();
	struct ring ring = ring_open(attr, 256, PROT_READ | PROT_WRITE), inherited = ring;
	uint64_t count, lost;
	pid_t pid[4];

	attr.inherit = 1;
	inherited.fd = perf_open(&attr, 0, -1, -1, 0);
	if (ioctl(inherited.fd, PERF_EVENT_IOC_SET_OUTPUT, (long)ring.fd))
		ktap_bail_out("SET_OUTPUT");
	enable(&inherited);
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			fault(3000);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		waitpid(pid[i], NULL, 0);
	disable(&inherited);
	/* One more, which brings the news of what was lost. */
	enable(&inherited);
	fault(1);
	disable(&inherited);
	drain(&ring);
	totals(&inherited, &count, &lost);
	ktap_result(count >= 12000 && ring.samples + lost == count && ring.lost == lost && !ring.wrong,
		    "children on all CPUs: %llu faults, %llu read, %llu lost, %llu in LOST",
		    (unsigned long long)count, (unsigned long long)ring.samples,
		    (unsigned long long)lost, (unsigned long long)ring.lost);
	close(inherited.fd);
	ring_close(&ring);
}

/* A task's events hang up when it exits, and wake who waits for them. */
static void test_hangup(void)
{
	struct perf_event_attr attr = fault_attr();
	struct timespec t[2];
	struct ring ring;
	int go[2], events;
	pid_t pid;
	char c = 0;

	if (pipe(go))
		ktap_bail_out("pipe");
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			usleep(200000);
		_exit(0);
	}
	ring = ring_of(perf_open(&attr, pid, -1, -1, 0), 1, PROT_READ | PROT_WRITE);
	ktap_result(ready(ring.fd, 0) == 0, "no hang-up while the task is there");
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	if (write(go[1], &c, 1) != 1)
		ktap_bail_out("write");
	events = ready(ring.fd, 10000);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	ktap_result(events & POLLHUP && t[1].tv_sec - t[0].tv_sec < 8, "a hang-up when it exits");
	waitpid(pid, NULL, 0);
	ring_close(&ring);
	close(go[0]);
	close(go[1]);
}

/*
 * Writers that interrupt each other: a task, softirqs, hard interrupts and the PMU's, NMIs where
 * there are any, all into one buffer of one CPU.
 */
struct source {
	const char	*name;		/* of a tracepoint; NULL for another type of event */
	uint32_t	type;
	uint64_t	config, period;
	int		fd;
	uint64_t	id, samples;
	uint64_t	count, lost;
};

static unsigned int slow;		/* set by slowness() */

static struct source sources[] = {
	{ NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1 },
	{ "syscalls/sys_enter_getppid", PERF_TYPE_TRACEPOINT, 0, 1 },
	{ "irq/softirq_entry", PERF_TYPE_TRACEPOINT, 0, 1 },
	{ "timer/hrtimer_expire_entry", PERF_TYPE_TRACEPOINT, 0, 1 },
	{ NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 100000 },
	{ NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 70000 },
};

#define NR_SOURCES	ARRAY_SIZE(sources)

static uint64_t tracepoint_config(const char *name)
{
	char path[128], line[16];

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	return read_line(path, line, sizeof(line)) > 0 ? strtoul(line, NULL, 10) : UINT64_MAX;
}

/* All sources on CPU 0, disabled; the first one's buffer takes them all. */
static struct ring open_sources(unsigned int pages, bool overwrite)
{
	struct perf_event_attr attr = fault_attr();
	struct ring ring;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	attr.exclude_kernel = 0;
	attr.write_backward = overwrite;
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		struct source *s = &sources[i];

		s->samples = s->count = s->lost = s->id = 0;
		attr.type = s->type;
		attr.config = s->name ? tracepoint_config(s->name) : s->config;
		attr.sample_period = s->period == 1 ? 1 : s->period * slow;
		s->fd = perf_open(&attr, -1, 0, -1, 0);
		if (s->fd < 0)
			continue;
		ioctl(s->fd, PERF_EVENT_IOC_ID, &s->id);
		if (!i)
			ring = ring_of(s->fd, pages, PROT_READ | (overwrite ? 0 : PROT_WRITE));
		else if (ioctl(s->fd, PERF_EVENT_IOC_SET_OUTPUT, (long)sources[0].fd))
			ktap_bail_out("SET_OUTPUT");
	}
	ring.lost_size = 24 + 16;
	return ring;
}

/* How many times slower than others this kernel is: interrupts must not be all that it does. */
static unsigned int slowness(void)
{
	struct timespec t[2];

	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	for (int i = 0; i < 1000; i++)
		syscall(__NR_getppid);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	return 1 + ((t[1].tv_sec - t[0].tv_sec) * 1000000000ll + t[1].tv_nsec - t[0].tv_nsec) / 2000000;
}

static void switch_sources(unsigned long request)
{
	for (unsigned int i = 0; i < NR_SOURCES; i++)
		ioctl(sources[i].fd, request, 0);
}

/* Enters a sample under its source; it is wrong to be nobody's. */
static void tally(struct ring *ring, uint64_t pos)
{
	uint64_t header = word(ring, pos), id = word(ring, pos + 8);

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

static void drain_sources(struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->user->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->user->data_tail;

	ring->wrong += head - tail > ring->size;
	while (tail != head && !ring->wrong) {
		tally(ring, tail);
		tail += take(ring, tail);
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

/* On CPU 0 for half a second: faults and system calls, a timer that goes off all the time. */
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

/* What each has counted and lost; the sum of what was lost. */
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

static void close_sources(struct ring *ring)
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

/* Of sources that sample each event, read and lost make what was counted; all of them took part. */
static bool nested_writers(unsigned int pages)
{
	struct ring ring = open_sources(pages, false);
	uint64_t lost, told;
	pthread_t thread;
	bool good = true;

	stop_reading = false;
	pthread_create(&thread, NULL, read_sources, &ring);
	keep_sources_busy();
	stop_reading = true;
	pthread_join(thread, NULL);
	drain_sources(&ring);
	told = ring.lost;
	lost = settle_sources();
	for (unsigned int i = 0; i < NR_SOURCES; i++) {
		struct source *s = &sources[i];

		if (s->fd >= 0 && s->period == 1)
			good &= s->samples + s->lost == s->count;
		/* The cycle counter is not everywhere. */
		good &= s->samples + s->lost > 0 || s->fd < 0;
	}
	good = good && told <= lost;

	/* A last one brings the news of what is untold. */
	ioctl(sources[0].fd, PERF_EVENT_IOC_ENABLE, 0);
	fault(1);
	ioctl(sources[0].fd, PERF_EVENT_IOC_DISABLE, 0);
	drain_sources(&ring);
	good = good && ring.lost == settle_sources() && ring.lost == lost && !ring.wrong;
	if (!good) {
		note_sources(pages);
		ktap_note("%llu in LOST, then %llu of %llu; %u wrong", (unsigned long long)told,
			  (unsigned long long)ring.lost, (unsigned long long)lost, ring.wrong);
	}
	close_sources(&ring);
	return good;
}

/* Written over, newest first: nothing is lost, and each place holds a whole record. */
static bool nested_overwriters(unsigned int pages)
{
	struct ring ring = open_sources(pages, true);
	uint64_t written, kept, lost, exact = 0, others = 0, sum = 0, pos;
	bool good;

	keep_sources_busy();
	lost = settle_sources();
	written = -ring.user->data_head;
	kept = written < ring.size ? written : ring.size;
	pos = ring.user->data_head;
	while (pos - ring.user->data_head + 24 <= kept && !ring.wrong) {
		tally(&ring, pos);
		pos += take(&ring, pos);
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
		ktap_note("%llu bytes, %llu samples of period 1, %u wrong", (unsigned long long)written,
			  (unsigned long long)exact, ring.wrong);
	}
	close_sources(&ring);
	return good;
}

static void test_nested(void)
{
	bool good = true;
	cpu_set_t all;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		ktap_skip("writers that interrupt each other", "one CPU");
		return;
	}
	sched_getaffinity(0, sizeof(all), &all);
	pin_to_cpu(0);
	slow = slowness();
	for (unsigned int pages = 1; pages <= 64; pages *= 4)
		good &= nested_writers(pages);
	ktap_result(good, "task, softirq, interrupt and PMU: read and lost make what was counted");
	good = true;
	for (unsigned int pages = 1; pages <= 16; pages *= 4)
		good &= nested_overwriters(pages);
	ktap_result(good, "task, softirq, interrupt and PMU, written over: whole records");
	sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	fresh = mmap(NULL, PAGES_MAX * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (fresh == MAP_FAILED)
		ktap_bail_out("mmap");
	madvise(fresh, PAGES_MAX * page, MADV_NOHUGEPAGE);

	ktap_start(0);
	test_lost();
	test_lost_in_place();
	test_lost_with_id();
	test_overwrite();
	test_backward();
	test_pause();
	test_bad_tail();
	test_wakeup_events();
	test_watermark();
	test_epoll();
	test_joined();
	test_signals(0, 8, false);
	test_signals(1, 8, false);
	/* No reader: 4096 bytes have room for 256 samples, one page for 100, and then it is at half. */
	test_signals(1, 1, true);
	test_no_wakeup_lost_singly();
	flood(4);
	flood(1024);
	test_shared();
	test_inherited();
	test_crowded();
	test_hangup();
	test_nested();
	return ktap_finish();
}
