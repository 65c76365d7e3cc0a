// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow and samples: how many there are, what is in them, limits, signals, throttling, BPF
 * programs. Page faults are the events: as many as we like, at addresses we know. Run as root.
 */
#include "bpf_answer.h"
#include "record.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#ifndef TRAP_PERF
# define TRAP_PERF 6
#endif
#ifndef TRAP_PERF_FLAG_ASYNC
# define TRAP_PERF_FLAG_ASYNC 1
#endif

static struct ring ring;
static long page;

static struct perf_event_attr fault_attr(uint64_t period, uint64_t sample_type)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.sample_period = period;
	attr.sample_type = sample_type;
	return attr;
}

static int open_mapped(struct perf_event_attr *attr, int nr_pages)
{
	int fd = perf_open(attr, 0, -1, -1, 0);

	if (fd < 0 || !ring_map(&ring, fd, nr_pages))
		ktap_bail_out("opening and mapping an event");
	return fd;
}

static void close_mapped(int fd)
{
	ring_unmap(&ring);
	close(fd);
}

static bool exactly(uint64_t got, uint64_t want, const char *what)
{
	return ktap_result(got == want, "%s: %llu, want %llu", what, (unsigned long long)got,
			   (unsigned long long)want);
}

static bool between(uint64_t got, uint64_t min, uint64_t max, const char *what)
{
	return ktap_result(got >= min && got <= max, "%s: %llu in [%llu, %llu]", what,
			   (unsigned long long)got, (unsigned long long)min,
			   (unsigned long long)max);
}

static void faults(int fd, char *p, unsigned int nr)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch_pages(p, nr);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* --------------------------------------------------------------------- periods */

static void test_every_fault(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD);
	int fd = open_mapped(&attr, 8);
	unsigned int n = 0, good = 0;
	char *p = fresh_pages(200);
	struct perf_event_header *h;
	struct sample s;

	faults(fd, p, 200);
	while ((h = ring_next(&ring))) {
		good += h->type == PERF_RECORD_SAMPLE && sample_parse(&s, h, &attr) &&
			(h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER &&
			s.addr == (uintptr_t)p + n * page && in_touch_pages(s.ip) &&
			s.pid == (uint32_t)getpid() && s.tid == s.pid && s.period == 1;
		n++;
	}
	exactly(n, 200, "period 1: samples of 200 faults");
	exactly(good, 200, "period 1: address, ip, tid, period right");
	exactly(perf_count(fd), 200, "period 1: count");
	close_mapped(fd);
}

static void test_period(void)
{
	static const struct {
		unsigned int period, faults, samples;
	} row[] = { { 2, 200, 100 }, { 7, 200, 28 }, { 100, 200, 2 }, { 201, 200, 0 } };

	for (unsigned int i = 0; i < ARRAY_SIZE(row); i++) {
		struct perf_event_attr attr = fault_attr(row[i].period, PERF_SAMPLE_ADDR);
		int fd = open_mapped(&attr, 4);
		char *p = fresh_pages(row[i].faults);
		unsigned int n = 0, good = 0;
		struct perf_event_header *h;
		struct sample s;
		char name[48];

		faults(fd, p, row[i].faults);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			n++;
			good += sample_parse(&s, h, &attr) &&
				s.addr == (uintptr_t)p + (n * row[i].period - 1) * page;
		}
		snprintf(name, sizeof(name), "period %u: samples", row[i].period);
		exactly(n, row[i].samples, name);
		exactly(good, n, "   at the fault that ends the period");
		close_mapped(fd);
	}
}

/* What was left of a period when the event was disabled is left when it is enabled. */
static void test_period_left(void)
{
	struct perf_event_attr attr = fault_attr(10, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 1);

	for (int i = 0; i < 30; i++)
		faults(fd, fresh_pages(1), 1);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 3, "period 10: samples of 30 times 1 fault");
	close_mapped(fd);
}

static void test_ioc_period(void)
{
	struct perf_event_attr attr = fault_attr(1000, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4), counting;
	uint64_t period = 5, zero = 0, sign = 1ULL << 63;

	faults(fd, fresh_pages(100), 100);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 0, "IOC_PERIOD: before");
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	faults(fd, fresh_pages(100), 100);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 20, "IOC_PERIOD: samples with the new period");

	ktap_result(ioctl(fd, PERF_EVENT_IOC_PERIOD, &zero) && errno == EINVAL, "IOC_PERIOD of 0");
	ktap_result(ioctl(fd, PERF_EVENT_IOC_PERIOD, &sign) && errno == EINVAL,
		    "IOC_PERIOD with bit 63");
	attr.sample_period = 0;
	counting = perf_open(&attr, 0, -1, -1, 0);
	ktap_result(ioctl(counting, PERF_EVENT_IOC_PERIOD, &period) && errno == EINVAL,
		    "IOC_PERIOD of a counting event");
	close(counting);
	close_mapped(fd);
}

/* Running while it is changed, by itself. */
static void test_ioc_period_running(void)
{
	struct perf_event_attr attr = fault_attr(1000, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4);
	uint64_t period = 4;
	char *p = fresh_pages(80), *q = fresh_pages(40);

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch_pages(p, 80);
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	touch_pages(q, 40);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 10, "IOC_PERIOD of a running event");
	close_mapped(fd);
}

/*
 * Each sample shows the period that ends with it: as much was counted since the last one, or since
 * the period was changed.
 */
struct source {
	const char		*name;
	uint64_t		unit;	/* of a period */
	void			(*hit)(unsigned int units);
};

#define SOURCE_UNITS	60

/* Samples of @units, all of which should be right; those that are. */
static unsigned int right_periods(const struct perf_event_attr *attr, const struct source *source,
				  uint64_t last, uint64_t period, unsigned int *samples)
{
	unsigned int right = 0;
	struct perf_event_header *h;
	struct sample s;

	*samples = 0;
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		uint64_t slack = source->unit / 2;	/* for what is seen late */

		(*samples)++;
		if (!sample_parse(&s, h, attr))
			continue;
		if (s.period == period && s.read[0] - last + slack >= period &&
		    s.read[0] - last <= period + slack)
			right++;
		else
			ktap_note("period %llu, counted %llu", (unsigned long long)s.period,
				  (unsigned long long)(s.read[0] - last));
		last = s.read[0];
	}
	return right;
}

static void test_sample_periods(struct perf_event_attr attr, const struct source *source,
				bool running)
{
	static const unsigned int units[] = { 10, 7, 1, 30, 4 };
	unsigned int right = 0, samples = 0, want = 0;
	int fd;

	attr.disabled = 1;
	attr.sample_period = units[0] * source->unit;
	attr.sample_type = PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	fd = open_mapped(&attr, 8);
	/* Code that runs for the first time faults. */
	source->hit(1);
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &attr.sample_period);
	ring_count(&ring, PERF_RECORD_SAMPLE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t period = units[i] * source->unit, last;
		unsigned int n;

		/* In the middle of a period, which does not count for the next. */
		source->hit(1);
		ring_count(&ring, PERF_RECORD_SAMPLE);
		if (!running)
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		last = perf_count(fd);
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		if (!running)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		source->hit(SOURCE_UNITS);
		right += right_periods(&attr, source, last, period, &n);
		samples += n;
		want += SOURCE_UNITS / units[i];
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ktap_result(samples == want && right == want,
		    "IOC_PERIOD, %s, %s: %u samples, %u with their period, want %u", source->name,
		    running ? "running" : "disabled", samples, right, want);
	close_mapped(fd);
}

static void hit_faults(unsigned int n)
{
	char *p = fresh_pages(n);

	touch_pages(p, n);
	munmap(p, n * page);
}

static void hit_system_calls(unsigned int n)
{
	while (n--)
		syscall(__NR_getppid);
}

#define INSNS	100000

/* A tenth of a unit more, for the last period is seen late. */
static void hit_instructions(unsigned int n)
{
	run_loop(n * (INSNS / 2) + INSNS / 20);
}

static void test_periods_shown(void)
{
	static const struct source faults = { "faults", 1, hit_faults };
	static const struct source calls = { "system calls", 1, hit_system_calls };
	static const struct source insns = { "instructions", INSNS, hit_instructions };
	struct perf_event_attr attr = perf_attr_user(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_open(&attr, 0, -1, -1, 0);

	for (int running = 0; running < 2; running++) {
		test_sample_periods(fault_attr(0, 0), &faults, running);
		test_sample_periods(perf_attr(PERF_TYPE_TRACEPOINT,
					      tracepoint_id("syscalls/sys_enter_getppid")),
				    &calls, running);
		if (fd >= 0)
			test_sample_periods(attr, &insns, running);
		else
			ktap_skip("IOC_PERIOD, instructions", "no such event");
	}
	if (fd >= 0)
		close(fd);
}

/* ---------------------------------------------------------------------- fields */

#define PLAIN_TYPES	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |	\
			 PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |		\
			 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define OTHER_TYPES	(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |	\
			 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |		\
			 PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |			\
			 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |		\
			 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |			\
			 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE)

/* Registers by asm/perf_regs.h: where the stack pointer and the program counter are. */
#if defined(__x86_64__)
# define ALL_REGS	0xff0fffULL
# define REG_SP		7
# define REG_PC		8
# define REGS_ABI_64	2
#elif defined(__aarch64__)
# define ALL_REGS	0x1ffffffffULL
# define REG_SP		31
# define REG_PC		32
# define REGS_ABI_64	2
#endif

static uint64_t reg(const uint64_t *regs, uint64_t mask, int nr)
{
	return regs[__builtin_popcountll(mask & ((1ULL << nr) - 1))];
}

/* The source of data of which nothing is known: no field of it is. */
#define NO_DATA_SRC	(PERF_MEM_S(OP, NA) | PERF_MEM_S(LVL, NA) | PERF_MEM_S(SNOOP, NA) |	\
			 PERF_MEM_S(LOCK, NA) | PERF_MEM_S(TLB, NA) | PERF_MEM_S(LVLNUM, NA))

/* Words in a frame that is there while samples are taken and while they are looked at. */
#define MARKS		8
#define STACK_DUMP	2048

/* Does the copy of the stack have the marks where the stack pointer says they are? */
static bool stack_is_right(const struct sample *s, const volatile uint64_t *marks)
{
	uint64_t at = (uintptr_t)marks - reg(s->user_regs, ALL_REGS, REG_SP);

	return s->stack_size == STACK_DUMP && s->stack_got == STACK_DUMP &&
	       at < STACK_DUMP - MARKS * sizeof(*marks) &&
	       !memcmp(s->stack + at, (const void *)marks, MARKS * sizeof(*marks));
}

static const char *first_wrong(const struct sample *s, const char *p, uint64_t id, uint64_t before,
			       uint64_t count, const volatile uint64_t *marks)
{
	if (s->identifier != id || s->id != id || s->stream_id != id)
		return "ids";
	if (!in_touch_pages(s->ip))
		return "ip";
	if (s->pid != (uint32_t)getpid() || s->tid != s->pid)
		return "tid";
	if (s->time <= before)
		return "time";
	if (s->addr != (uintptr_t)p)
		return "addr";
	if (s->cpu != 0 || s->reserved)
		return "cpu";
	if (s->period != 1)
		return "period";
	if (!s->read)
		return NULL;
	if (s->read[0] != count || s->read[1] < s->read[2] || !s->read[2] || s->read[3] != id ||
	    s->read[4])
		return "read";
	if (s->callchain[0] < 2 || s->callchain[1] != PERF_CONTEXT_USER ||
	    s->callchain[2] != s->ip)
		return "callchain";
	if (s->raw_size != 4)
		return "raw";
	if (s->user_abi != REGS_ABI_64 || reg(s->user_regs, ALL_REGS, REG_PC) != s->ip)
		return "regs_user";
	if (!stack_is_right(s, marks))
		return "stack_user";
	if (s->weight || s->transaction)
		return "weight";
	if (s->data_src != NO_DATA_SRC)
		return "data_src";
	if (s->intr_abi != REGS_ABI_64 || reg(s->intr_regs, ALL_REGS, REG_PC) != s->ip)
		return "regs_intr";
	if (!s->cgroup)
		return "cgroup";
	if (s->code_page_size < (uint64_t)page)
		return "code_page_size";
	return NULL;
}

static void test_fields(const char *name, uint64_t types)
{
	struct perf_event_attr attr = fault_attr(1, types);
	volatile uint64_t marks[MARKS];
	uint64_t id, before = 0;
	int fd, n = 0, good = 0;
	struct perf_event_header *h;
	const char *wrong = NULL;
	struct sample s;
	char *p;

	for (int i = 0; i < MARKS; i++)
		marks[i] = 0x3c3c000022220000ULL + i;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr.sample_regs_user = attr.sample_regs_intr = ALL_REGS;
	attr.sample_stack_user = STACK_DUMP;
	pin_to_cpu(0);
	fd = open_mapped(&attr, 32);
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	p = fresh_pages(20);
	faults(fd, p, 20);
	while ((h = ring_next(&ring))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		if (!sample_parse(&s, h, &attr))
			wrong = wrong ?: "the length";
		else
			wrong = wrong ?: first_wrong(&s, p + n * page, id, before, n + 1,
						      marks);
		before = s.time;
		good += !wrong;
		n++;
	}
	ktap_result(n == 20 && good == 20, "%s: %d samples, %d good%s%s", name, n, good,
		    wrong ? ", first wrong: " : "", wrong ?: "");
	close_mapped(fd);
}

/* The cgroup of a sample is the inode of its directory. */
static void test_cgroup(void)
{
	static const char root[] = "/tmp/sampling-cgroup", dir[] = "/tmp/sampling-cgroup/sampled";
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_CGROUP);
	struct perf_event_header *h;
	struct sample s = {};
	struct stat st;
	int fd;

	mkdir(root, 0755);
	if (mount("none", root, "cgroup2", 0, NULL)) {
		ktap_skip("cgroup", "no cgroup2");
		return;
	}
	/* The perf_event controller is there once some controller was asked for. */
	write_line("/tmp/sampling-cgroup/cgroup.subtree_control", "+pids");
	if (mkdir(dir, 0755) || stat(dir, &st) ||
	    write_line("/tmp/sampling-cgroup/sampled/cgroup.procs", "0"))
		ktap_bail_out("%s", dir);
	fd = open_mapped(&attr, 1);
	faults(fd, fresh_pages(1), 1);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	exactly(h && sample_parse(&s, h, &attr) ? s.cgroup : 0, st.st_ino, "cgroup: its inode");
	close_mapped(fd);
	write_line("/tmp/sampling-cgroup/cgroup.procs", "0");
	rmdir(dir);
	umount(root);
	rmdir(root);
}

/* Each field alone: if one took another's place, the length would not tell when all are there. */
static void test_each_field(void)
{
	int good = 0, all = 0;

	for (int bit = 0; bit < 25; bit++) {
		struct perf_event_attr attr = fault_attr(1, 1ULL << bit);
		struct sample s;
		int n = 0;

		if (attr.sample_type & (PERF_SAMPLE_AUX | PERF_SAMPLE_BRANCH_STACK))
			continue;
		all++;
		attr.sample_regs_user = attr.sample_regs_intr = ALL_REGS;
		attr.sample_stack_user = 64;
		ring.fd = open_mapped(&attr, 8);
		faults(ring.fd, fresh_pages(3), 3);
		for (struct perf_event_header *h; (h = ring_next(&ring));)
			n += h->type == PERF_RECORD_SAMPLE && sample_parse(&s, h, &attr);
		good += n == 3;
		if (n != 3)
			ktap_note("sample_type bit %d: %d samples", bit, n);
		close_mapped(ring.fd);
	}
	exactly(good, all, "each field alone");
}

/* The kernel finds the same word on the stack that we put there. */
__attribute__((noinline))
static void fault_with_marker(int fd, char *p)
{
	volatile uint64_t marker[8];

	for (int i = 0; i < 8; i++)
		marker[i] = 0x5a5a000011110000ULL + i;
	faults(fd, p, 1);
	(void)marker[0];
}

static void test_stack(void)
{
	static const struct {
		uint32_t size, least;
	} row[] = { { 1024, 1024 }, { 8192, 256 }, { 65528, 256 } };

	for (unsigned int i = 0; i < ARRAY_SIZE(row); i++) {
		struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER |
							 PERF_SAMPLE_STACK_USER |
							 PERF_SAMPLE_CALLCHAIN);
		struct perf_event_header *h;
		bool found = false;
		struct sample s;
		int fd;

		attr.sample_regs_user = ALL_REGS;
		attr.sample_stack_user = row[i].size;
		fd = open_mapped(&attr, 64);
		fault_with_marker(fd, fresh_pages(1));
		h = ring_find(&ring, PERF_RECORD_SAMPLE);
		if (!h || !sample_parse(&s, h, &attr)) {
			ktap_result(false, "user stack of %u: no sample", row[i].size);
			close_mapped(fd);
			continue;
		}
		for (uint64_t at = 0; at + 64 <= s.stack_got && !found; at += 8)
			found = *(uint64_t *)(s.stack + at) == 0x5a5a000011110000ULL &&
				*(uint64_t *)(s.stack + at + 56) == 0x5a5a000011110007ULL;
		ktap_result(found && s.stack_size <= row[i].size && s.stack_got <= s.stack_size &&
			    s.stack_got >= row[i].least && h->size % 8 == 0,
			    "user stack of %u: record %u, dump %llu, filled %llu, marker %s",
			    row[i].size, h->size, (unsigned long long)s.stack_size,
			    (unsigned long long)s.stack_got, found ? "found" : "missing");
		close_mapped(fd);
	}
}

/* Members of the group are read when the leader overflows. */
static void test_group_read(void)
{
	struct perf_event_attr attr = fault_attr(10, PERF_SAMPLE_READ), member = attr;
	uint64_t id[2];
	int leader, sibling, n = 0, good = 0;
	struct perf_event_header *h;
	struct sample s;

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
	leader = open_mapped(&attr, 4);
	member.sample_period = 0;
	member.disabled = 0;
	member.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	member.read_format = attr.read_format;
	sibling = perf_open(&member, 0, -1, leader, 0);
	ioctl(leader, PERF_EVENT_IOC_ID, &id[0]);
	ioctl(sibling, PERF_EVENT_IOC_ID, &id[1]);

	faults(leader, fresh_pages(50), 50);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		n++;
		/* The minor fault of this very page is counted when it has been handled. */
		good += sample_parse(&s, h, &attr) && s.read[0] == 2 && s.read[1] &&
			s.read[2] == n * 10ULL && s.read[3] == id[0] &&
			s.read[4] == n * 10ULL - 1 && s.read[5] == id[1];
	}
	exactly(n, 5, "group read: samples");
	exactly(good, 5, "group read: both counts and ids");
	close(sibling);
	close_mapped(leader);
}

static void test_time_clock(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TIME);
	struct timespec t[2];
	struct perf_event_header *h;
	struct sample s = {};
	int fd;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd = open_mapped(&attr, 1);
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	faults(fd, fresh_pages(1), 1);
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	h = ring_find(&ring, PERF_RECORD_SAMPLE);
	between(h && sample_parse(&s, h, &attr) ? s.time : 0,
		t[0].tv_sec * 1000000000ULL + t[0].tv_nsec,
		t[1].tv_sec * 1000000000ULL + t[1].tv_nsec, "use_clockid: CLOCK_MONOTONIC");
	close_mapped(fd);
}

/* ------------------------------------------------------------------------- lost */

static void test_lost(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	uint64_t value[2], lost = 0, read_back = 0;
	struct perf_event_header *h;
	int fd;

	attr.read_format = PERF_FORMAT_LOST;
	fd = open_mapped(&attr, 1);
	for (int round = 0; round < 5; round++) {
		faults(fd, fresh_pages(500), 500);
		while ((h = ring_next(&ring))) {
			if (h->type == PERF_RECORD_LOST)
				lost += ((uint64_t *)(h + 1))[1];
			else
				read_back++;
		}
	}
	/* One more, so that the last losses are told. */
	faults(fd, fresh_pages(1), 1);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_LOST)
			lost += ((uint64_t *)(h + 1))[1];
		else
			read_back++;
	}
	exactly(read_back + lost, 2501, "a full buffer: samples read and lost");
	between(lost, 500, 2300, "a full buffer: lost");
	if (read(fd, value, sizeof(value)) != sizeof(value))
		ktap_bail_out("read");
	exactly(value[0], 2501, "a full buffer: count");
	exactly(value[1], lost, "a full buffer: PERF_FORMAT_LOST");
	close_mapped(fd);
}

/* ---------------------------------------------------------------------- signals */

static volatile sig_atomic_t got_in, got_hup, got_other;

static void on_io(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	if (info->si_code == POLL_IN)
		got_in++;
	else if (info->si_code == POLL_HUP)
		got_hup++;
	else
		got_other++;
}

static void signals_to(int fd)
{
	struct sigaction action = { .sa_sigaction = on_io, .sa_flags = SA_SIGINFO };

	sigaction(SIGRTMIN + 3, &action, NULL);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, SIGRTMIN + 3);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
	got_in = got_hup = got_other = 0;
}

static void test_refresh(void)
{
	struct perf_event_attr attr = fault_attr(2, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4);
	char *p = fresh_pages(100);

	signals_to(fd);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 5);
	touch_pages(p, 100);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 5, "IOC_REFRESH 5: samples");
	exactly(perf_count(fd), 10, "IOC_REFRESH 5: it stopped counting");
	exactly(got_in, 4, "IOC_REFRESH 5: POLL_IN");
	exactly(got_hup, 1, "IOC_REFRESH 5: POLL_HUP");

	p = fresh_pages(100);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	touch_pages(p, 100);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 1, "IOC_REFRESH 1: samples");
	exactly(got_hup, 2, "IOC_REFRESH 1: POLL_HUP");
	exactly(got_in + got_other, 4, "IOC_REFRESH 1: nothing else");
	close_mapped(fd);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void burn_ns(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		run_loop(1000);
}

static struct perf_event_attr clock_attr(uint64_t id, uint64_t period)
{
	struct perf_event_attr attr = perf_attr(PERF_TYPE_SOFTWARE, id);

	attr.disabled = 1;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD;
	return attr;
}

/* A timer that stops itself inside its own handler. */
static void test_clock_refresh(void)
{
	for (uint64_t id = PERF_COUNT_SW_CPU_CLOCK; id <= PERF_COUNT_SW_TASK_CLOCK; id++) {
		struct perf_event_attr attr = clock_attr(id, 1000000);
		int fd = open_mapped(&attr, 4);

		signals_to(fd);
		for (int i = 1; i <= 3; i++) {
			ioctl(fd, PERF_EVENT_IOC_REFRESH, 2);
			burn_ns(30000000);
		}
		exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 6,
			id ? "task-clock with IOC_REFRESH: samples" :
			     "cpu-clock with IOC_REFRESH: samples");
		exactly(got_hup, 3, "   POLL_HUP");
		close_mapped(fd);
	}
}

/* One fault is one signal, where it happened. */
static volatile sig_atomic_t traps, good_traps, trap_flags;
static char *trap_page;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	/* si_perf_data, si_perf_type: behind si_addr. */
	struct perf_info {
		void		*addr;
		unsigned long	data;
		uint32_t	type, flags;
	} *perf = (void *)&info->si_addr;

	(void)sig, (void)context;
	good_traps += info->si_code == TRAP_PERF && perf->addr == trap_page + traps * page &&
		      perf->data == 0xfeedface12345678UL && perf->type == PERF_TYPE_SOFTWARE &&
		      perf->flags == 0;
	trap_flags = perf->flags;
	traps++;
}

static struct perf_event_attr trap_attr(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.sig_data = 0xfeedface12345678ULL;
	return attr;
}

static void test_sigtrap(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = trap_attr();
	int fd = perf_open(&attr, 0, -1, -1, 0);

	if (fd < 0) {
		ktap_result(false, "sigtrap: errno %d", errno);
		return;
	}
	sigaction(SIGTRAP, &action, NULL);
	trap_page = fresh_pages(50);
	faults(fd, trap_page, 50);
	exactly(traps, 50, "sigtrap: signals of 50 faults");
	exactly(good_traps, 50, "sigtrap: code, address, data, type");
	close(fd);
}

static volatile sig_atomic_t trap_types;

static void on_clock_trap(int sig, siginfo_t *info, void *context)
{
	/* si_perf_type: behind si_addr and si_perf_data. */
	const uint32_t *type = (void *)((char *)&info->si_addr + 2 * sizeof(long));

	(void)sig, (void)context;
	trap_types |= 1 << *type;
	traps++;
}

static void *burn(void *unused)
{
	burn_ns(20000000);
	return unused;
}

/* A clock has a PMU of its own, but what its user has asked for is a software event. */
static void test_sigtrap_inherited(void)
{
	struct sigaction action = { .sa_sigaction = on_clock_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_TASK_CLOCK, 1000000);
	struct sigaction before;
	pthread_t thread;
	int fd;

	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	attr.inherit = 1;
	attr.inherit_thread = 1;
	sigaction(SIGTRAP, &action, &before);
	fd = perf_open(&attr, 0, -1, -1, 0);
	traps = trap_types = 0;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (fd < 0 || pthread_create(&thread, NULL, burn, NULL))
		ktap_bail_out("a thread with an inherited event");
	pthread_join(thread, NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	between(traps, 10, 10000, "sigtrap: signals of an inherited clock");
	exactly(trap_types, 1 << PERF_TYPE_SOFTWARE, "   their types");
	close(fd);
	sigaction(SIGTRAP, &before, NULL);
}

/* Closed, or the task gone, with the signal not delivered yet: nothing happens. */
static void test_sigtrap_blocked(void)
{
	struct perf_event_attr attr = trap_attr();
	int fd = perf_open(&attr, 0, -1, -1, 0), status;
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	traps = good_traps = 0;
	faults(fd, fresh_pages(5), 5);
	close(fd);
	exactly(traps, 0, "sigtrap: none while it is blocked");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exactly(traps, 1, "sigtrap: one afterwards");
	exactly(trap_flags, TRAP_PERF_FLAG_ASYNC, "sigtrap: marked asynchronous");

	child = fork();
	if (!child) {
		signal(SIGTRAP, SIG_DFL);
		fd = perf_open(&attr, 0, -1, -1, 0);
		sigprocmask(SIG_BLOCK, &set, NULL);
		faults(fd, fresh_pages(5), 5);
		_exit(7);
	}
	waitpid(child, &status, 0);
	ktap_result(WIFEXITED(status) && WEXITSTATUS(status) == 7,
		    "sigtrap: a task exits with the signal pending");
}

/* --------------------------------------------------------------- clocks, frequency */

/* How often a timer of a millisecond comes; machines without a good clock have ticks only. */
static uint64_t timer_ns(void)
{
	struct timespec t;

	clock_getres(CLOCK_MONOTONIC, &t);
	return t.tv_nsec > 1000000 ? 2 * t.tv_nsec : 1000000;
}

static void test_clock_period(void)
{
	for (uint64_t id = PERF_COUNT_SW_CPU_CLOCK; id <= PERF_COUNT_SW_TASK_CLOCK; id++) {
		struct perf_event_attr attr = clock_attr(id, 1000000);
		int fd, n = 0, good = 0;
		struct perf_event_header *h;
		struct sample s;
		uint64_t count;

		fd = open_mapped(&attr, 16);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		burn_ns(200000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		count = perf_count(fd);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			n++;
			good += sample_parse(&s, h, &attr) && s.period == 1000000 &&
				s.pid == (uint32_t)getpid();
		}
		/* A loaded host delays timers. */
		between(n, count / timer_ns() / 2, count / 1000000 + 1,
			id ? "task-clock, 1 ms: samples of 200 ms" :
			     "cpu-clock, 1 ms: samples of 200 ms");
		exactly(good, n, "   period and pid");
		between(count, 195000000, 2000000000, "   count");
		close_mapped(fd);
	}
}

/* Asleep there is nothing to sample for a task. */
static void test_clock_asleep(void)
{
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_TASK_CLOCK, 1000000);
	int fd = open_mapped(&attr, 4);
	struct timespec t = { .tv_nsec = 200000000 };

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	nanosleep(&t, NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	between(ring_count(&ring, PERF_RECORD_SAMPLE), 0, 5, "task-clock, 1 ms: 200 ms asleep");
	close_mapped(fd);
}

static void fault_for(uint64_t ns)
{
	uint64_t start = cpu_ns();

	while (cpu_ns() - start < ns) {
		char *p = fresh_pages(64);

		touch_pages(p, 64);
		munmap(p, 64 * page);
	}
}

/* As many faults as the processor can make, sampled so many times a second of run time. */
static void test_frequency(void)
{
	static const unsigned int freq[] = { 100, 1000 };

	for (unsigned int i = 0; i < ARRAY_SIZE(freq); i++) {
		struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD);
		unsigned int n = 0, late = 0, jumps = 0;
		struct perf_event_header *h;
		uint64_t last = 0;
		struct sample s;
		int fd;

		attr.freq = 1;
		attr.sample_freq = freq[i];
		fd = open_mapped(&attr, 64);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		fault_for(1000000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			n++;
			if (!sample_parse(&s, h, &attr) || n <= 40)
				continue;
			/* Settled: no period is far from the one before, but 3 to 1 is no jump. */
			late++;
			jumps += last && (s.period > 2 * last + 8 || 2 * s.period + 8 < last);
			last = s.period;
		}
		between(n, freq[i] * 7 / 10, freq[i] * 13 / 10 + 20, "frequency: samples in a second");
		/* A debug kernel's faults come unevenly. Control that does not settle jumps each other time. */
		between(jumps, 0, late / 5, "   jumps of the period, settled");
		close_mapped(fd);
	}
}

/* What was counted from one sample to the next is the period of the second. */
static void test_frequency_periods(void)
{
	struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_READ | PERF_SAMPLE_PERIOD);
	unsigned int n = 0, right = 0, changes = 0;
	uint64_t last = 0, last_period = 0;
	struct perf_event_header *h;
	struct sample s;
	int fd;

	attr.freq = 1;
	attr.sample_freq = 1000;
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	fault_for(300000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		if (!sample_parse(&s, h, &attr))
			continue;
		n++;
		right += s.read[0] - last == s.period;
		changes += s.period != last_period;
		last = s.read[0];
		last_period = s.period;
	}
	/* The tick begins a new period where one is late. */
	between(right, n - n / 10, n, "frequency: samples that show what was counted");
	between(changes, n / 10, n, "   of which the period has changed");
	close_mapped(fd);
}

/* IOC_PERIOD gives an event that has a frequency another one. */
static void test_ioc_frequency(void)
{
	struct perf_event_attr attr = fault_attr(0, PERF_SAMPLE_ADDR);
	uint64_t limit = sysctl_get("perf_event_max_sample_rate", 0), over = limit + 1, zero = 0;
	static const uint64_t freq[] = { 200, 1500 };
	int fd;

	attr.freq = 1;
	attr.sample_freq = 800;
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	fault_for(100000000);
	for (unsigned int i = 0; i < ARRAY_SIZE(freq); i++) {
		if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &freq[i]))
			ktap_bail_out("IOC_PERIOD");
		/* Until it has settled. */
		fault_for(100000000);
		ring_count(&ring, PERF_RECORD_SAMPLE);
		fault_for(250000000);
		between(ring_count(&ring, PERF_RECORD_SAMPLE), freq[i] / 4 * 7 / 10,
			freq[i] / 4 * 13 / 10 + 5, "IOC_PERIOD of a frequency: samples in 0.25 s");
	}
	ktap_result(ioctl(fd, PERF_EVENT_IOC_PERIOD, &zero) && errno == EINVAL,
		    "IOC_PERIOD of a frequency: 0");
	ktap_result(ioctl(fd, PERF_EVENT_IOC_PERIOD, &over) && errno == EINVAL,
		    "IOC_PERIOD of a frequency: over perf_event_max_sample_rate");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ktap_result(!ioctl(fd, PERF_EVENT_IOC_PERIOD, &limit),
		    "IOC_PERIOD of a frequency: perf_event_max_sample_rate");
	close_mapped(fd);
}

/* A clock's samples show the period that their time was set by. */
static void test_clock_ioc_period(void)
{
	for (uint64_t id = PERF_COUNT_SW_CPU_CLOCK; id <= PERF_COUNT_SW_TASK_CLOCK; id++) {
		struct perf_event_attr attr = clock_attr(id, 5000000);
		unsigned int before = 0, after = 0, other = 0;
		uint64_t period = 2 * timer_ns();
		struct perf_event_header *h;
		struct sample s;
		int fd;

		fd = open_mapped(&attr, 16);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		burn_ns(50000000);
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		burn_ns(100000000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			if (!sample_parse(&s, h, &attr))
				continue;
			if (s.period == attr.sample_period && !after)
				before++;
			else if (s.period == period)
				after++;
			else
				other++;
		}
		ktap_result(before && after > 2 && !other,
			    "IOC_PERIOD, %s: samples with the old period %u, new %u, other %u",
			    id ? "task-clock" : "cpu-clock", before, after, other);
		close_mapped(fd);
	}
}

/* ------------------------------------------------------------------- throttling */

static unsigned int samples_in(struct ring *r)
{
	struct perf_event_header *h;
	unsigned int n = 0;

	while ((h = ring_next(r)))
		n += h->type == PERF_RECORD_SAMPLE;
	return n;
}

/* A task that is awake for less than a tick at a time: a throttled event is not stopped for good. */
static void test_throttled_sleeper(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP);
	char *area = mmap(NULL, 100 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int without = 0;
	int fd;

	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 1000))
		ktap_bail_out("perf_event_max_sample_rate");
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 60; i++) {
		for (int p = 0; p < 100; p++)
			*(volatile char *)(area + p * page) = 1;
		madvise(area, 100 * page, MADV_DONTNEED);
		without += !samples_in(&ring);
		usleep(10000);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);
	between(without, 0, 6, "throttling: of 60 bursts, those without a sample");
	munmap(area, 100 * page);
	close_mapped(fd);
}

static void test_throttle(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, 20000);
	unsigned int throttled = 0, unthrottled = 0, samples = 0, order = 0, id_good = 0;
	struct perf_event_header *h;
	uint64_t id;
	int fd;

	if (timer_ns() > 1000000) {
		ktap_skip("throttling", "timers come by the tick");
		return;
	}
	/* Another test may have turned the limits off, and then the rate cannot be set. */
	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 1000))
		ktap_bail_out("perf_event_max_sample_rate");
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	burn_ns(300000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);

	while ((h = ring_next(&ring))) {
		const uint64_t *body = (uint64_t *)(h + 1);

		if (h->type == PERF_RECORD_SAMPLE)
			samples++;
		if (h->type == PERF_RECORD_THROTTLE) {
			order += throttled == unthrottled;
			throttled++;
		}
		if (h->type == PERF_RECORD_UNTHROTTLE) {
			unthrottled++;
			order += throttled == unthrottled;
		}
		if (h->type == PERF_RECORD_THROTTLE || h->type == PERF_RECORD_UNTHROTTLE)
			id_good += body[0] && body[1] == id && body[2] == id;
	}
	between(samples, 50, 700, "throttling to 1000/s: samples in 300 ms of 50000/s");
	between(throttled, 10, 300, "throttling: THROTTLE records");
	between(unthrottled, throttled - 1, throttled, "throttling: UNTHROTTLE records");
	exactly(order, throttled + unthrottled, "throttling: they alternate");
	exactly(id_good, throttled + unthrottled, "throttling: time and ids");
	close_mapped(fd);
}

/* A tick at least is between samples; and if one is all that a tick may have, it may. */
static void test_throttle_slow(void)
{
	long rate = sysctl_get("perf_event_max_sample_rate", -1);
	struct perf_event_attr attr = clock_attr(PERF_COUNT_SW_CPU_CLOCK, 20000000);
	unsigned int throttled = 0, samples = 0;
	struct perf_event_header *h;
	int fd;

	sysctl_set("perf_cpu_time_max_percent", 25);
	if (sysctl_set("perf_event_max_sample_rate", 100))
		ktap_bail_out("perf_event_max_sample_rate");
	fd = open_mapped(&attr, 64);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	burn_ns(300000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	sysctl_set("perf_event_max_sample_rate", rate);

	while ((h = ring_next(&ring))) {
		samples += h->type == PERF_RECORD_SAMPLE;
		throttled += h->type == PERF_RECORD_THROTTLE;
	}
	between(samples, 5, 20, "throttling to 100/s: samples in 300 ms of 50/s");
	exactly(throttled, 0, "throttling to 100/s: THROTTLE records");
	close_mapped(fd);
}

static void test_limits(void)
{
	long percent = sysctl_get("perf_cpu_time_max_percent", -1);
	long rate = sysctl_get("perf_event_max_sample_rate", -1);

	ktap_result(sysctl_set("perf_cpu_time_max_percent", 101) && errno == EINVAL,
		    "perf_cpu_time_max_percent 101");
	ktap_result(sysctl_set("perf_cpu_time_max_percent", -1) && errno == EINVAL,
		    "perf_cpu_time_max_percent -1");
	ktap_result(sysctl_set("perf_event_max_sample_rate", 0) && errno == EINVAL,
		    "perf_event_max_sample_rate 0");
	sysctl_set("perf_cpu_time_max_percent", 0);
	ktap_result(sysctl_set("perf_event_max_sample_rate", 5000) && errno == EINVAL,
		    "perf_event_max_sample_rate while there is no limit");
	exactly(sysctl_get("perf_event_max_sample_rate", -1), rate, "   and stays what it was");
	sysctl_set("perf_cpu_time_max_percent", percent);
	exactly(sysctl_get("perf_cpu_time_max_percent", -1), percent, "perf_cpu_time_max_percent");
}

/* --------------------------------------------------------------- tracing, filters */

static int getppid_attr(struct perf_event_attr *attr, const char *name)
{
	int id = tracepoint_id(name);

	*attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	attr->disabled = 1;
	attr->sample_period = 1;
	attr->sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD;
	return id;
}

/* Calls other system calls, too, and getppid 20 times. */
static void system_calls(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20; i++) {
		syscall(__NR_getppid);
		syscall(__NR_getuid);
		syscall(__NR_getgid);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* A record of raw_syscalls:sys_enter: common fields, then the number of the call. */
static void test_raw(void)
{
	struct perf_event_attr attr;
	struct perf_event_header *h;
	int id = getppid_attr(&attr, "raw_syscalls/sys_enter"), fd, n = 0, all = 0, good = 0;
	struct sample s;

	if (id < 0) {
		ktap_skip("raw_syscalls:sys_enter", "no such tracepoint");
		return;
	}
	fd = open_mapped(&attr, 16);
	system_calls(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		bool whole = sample_parse(&s, h, &attr) && s.raw_size >= 8 + 7 * 8 && s.period == 1;

		all++;
		good += whole && *(uint16_t *)s.raw == id &&
			*(int32_t *)(s.raw + 4) == getpid();
		n += whole && *(int64_t *)(s.raw + 8) == __NR_getppid;
	}
	exactly(n, 20, "raw tracepoint data: getppid calls among them");
	exactly(good, all, "raw tracepoint data: type and pid");
	exactly(all, 61, "raw tracepoint data: calls, with the one that disables");
	close_mapped(fd);
}

static void test_filter(void)
{
	struct perf_event_attr attr;
	int id = getppid_attr(&attr, "raw_syscalls/sys_enter"), fd;
	char filter[32];

	if (id < 0) {
		ktap_skip("filter", "no such tracepoint");
		return;
	}
	fd = open_mapped(&attr, 16);
	ktap_result(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "no_such_field == 1") && errno == EINVAL,
		    "filter: a field that is not there");
	snprintf(filter, sizeof(filter), "id == %d", __NR_getppid);
	ktap_result(!ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter), "filter: set");
	system_calls(fd);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 20, "filter: samples that pass it");
	exactly(perf_count(fd), 20, "filter: count");
	close_mapped(fd);

	attr = fault_attr(1, PERF_SAMPLE_IP);
	fd = perf_open(&attr, 0, -1, -1, 0);
	ktap_result(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "id == 1") && errno == EINVAL,
		    "filter: not for page faults");
	close(fd);
}

/* -------------------------------------------------------------------------- BPF */

static void test_bpf(void)
{
	int drop = load_answer(BPF_PROG_TYPE_PERF_EVENT, 0);
	int pass = load_answer(BPF_PROG_TYPE_PERF_EVENT, 1);
	int wrong = load_answer(BPF_PROG_TYPE_KPROBE, 0);
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4);

	if (drop < 0 || pass < 0) {
		ktap_skip("BPF programs", "cannot be loaded");
		return;
	}
	ktap_result(ioctl(fd, PERF_EVENT_IOC_SET_BPF, wrong) && errno == EINVAL,
		    "BPF: another type of program");
	ktap_result(!ioctl(fd, PERF_EVENT_IOC_SET_BPF, drop), "BPF: a program that says no");
	ktap_result(ioctl(fd, PERF_EVENT_IOC_SET_BPF, pass) && errno == EEXIST, "BPF: a second one");
	faults(fd, fresh_pages(20), 20);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 0, "BPF: samples it lets through");
	exactly(perf_count(fd), 20, "BPF: count all the same");
	close_mapped(fd);

	fd = open_mapped(&attr, 4);
	ktap_result(!ioctl(fd, PERF_EVENT_IOC_SET_BPF, pass), "BPF: a program that says yes");
	faults(fd, fresh_pages(20), 20);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 20, "BPF: samples it lets through");
	close_mapped(fd);
	close(drop), close(pass), close(wrong);
}

/* A perf link holds the program for as long as it is open. */
static void test_bpf_link(void)
{
	int drop = load_answer(BPF_PROG_TYPE_PERF_EVENT, 0);
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4), link;
	union bpf_attr create = {
		.link_create = {
			.prog_fd	= drop,
			.target_fd	= fd,
			.attach_type	= BPF_PERF_EVENT,
		},
	};

	link = syscall(__NR_bpf, BPF_LINK_CREATE, &create, sizeof(create));
	if (!ktap_result(link >= 0, "BPF link"))
		return;
	faults(fd, fresh_pages(10), 10);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 0, "BPF link: samples with it");
	close(link);
	faults(fd, fresh_pages(10), 10);
	exactly(ring_count(&ring, PERF_RECORD_SAMPLE), 10, "BPF link: samples without it");
	close(drop);
	close_mapped(fd);
}

static uint32_t program_id(int program)
{
	struct bpf_prog_info about = {};
	union bpf_attr attr = {
		.info = { .bpf_fd = program, .info_len = sizeof(about), .info = (uintptr_t)&about },
	};

	syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	return about.id;
}

/* An event is asked for all programs of its tracepoint, which other events may have brought. */
static void test_bpf_query(void)
{
	int id = tracepoint_id("syscalls/sys_enter_getppid"), fd[2], program[2];
	struct perf_event_attr attr = perf_attr(PERF_TYPE_TRACEPOINT, id);
	struct {
		uint32_t	len, nr, id[4];
	} query = { .len = 4 };

	program[0] = load_answer(BPF_PROG_TYPE_TRACEPOINT, 1);
	program[1] = load_answer(BPF_PROG_TYPE_TRACEPOINT, 1);
	if (id < 0 || program[1] < 0) {
		ktap_skip("BPF query", "no tracepoint or BPF");
		return;
	}
	for (int i = 0; i < 2; i++)
		fd[i] = perf_open(&attr, 0, -1, -1, 0);
	ktap_result(!ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &query) && !query.nr,
		    "BPF query: no program");
	for (int i = 0; i < 2; i++) {
		if (ioctl(fd[i], PERF_EVENT_IOC_SET_BPF, program[i]))
			ktap_bail_out("SET_BPF");
	}
	ktap_result(!ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &query) && query.nr == 2 &&
		    query.id[0] == program_id(program[0]) && query.id[1] == program_id(program[1]),
		    "BPF query: two events' programs");
	query.len = 1;
	ktap_result(ioctl(fd[0], PERF_EVENT_IOC_QUERY_BPF, &query) && errno == ENOSPC &&
		    query.nr == 2 && query.id[0] == program_id(program[0]),
		    "BPF query: room for one of them");
	close(fd[0]);
	query.len = 4;
	ktap_result(!ioctl(fd[1], PERF_EVENT_IOC_QUERY_BPF, &query) && query.nr == 1 &&
		    query.id[0] == program_id(program[1]), "BPF query: one has been closed");
	close(fd[1]);
	close(program[0]), close(program[1]);
}

/* ------------------------------------------------------------------- inheritance */

/* Enabled, with its buffer and for one CPU, as inherited events that have one must be. */
static int open_inherited(struct perf_event_attr *attr, uint64_t *id)
{
	int fd;

	attr->inherit = 1;
	pin_to_cpu(0);
	fd = perf_open(attr, 0, 0, -1, 0);
	if (fd < 0 || !ring_map(&ring, fd, 32))
		ktap_bail_out("inherited event");
	ioctl(fd, PERF_EVENT_IOC_ID, id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

/* A child's samples come into the same buffer, under the parent's id. */
static void test_inherited_samples(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TID | PERF_SAMPLE_ID |
						 PERF_SAMPLE_ADDR);
	unsigned int n = 0, good = 0, in_child = 0;
	struct perf_event_header *h;
	char *p = fresh_pages(30);
	struct sample s;
	uint64_t id;
	int fd, status;
	pid_t child;

	fd = open_inherited(&attr, &id);
	child = fork();
	if (!child) {
		touch_pages(p, 30);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		n++;
		if (!sample_parse(&s, h, &attr))
			continue;
		good += s.id == id;
		in_child += s.pid == (uint32_t)child && s.addr >= (uintptr_t)p &&
			    s.addr < (uintptr_t)p + 30 * page;
	}
	exactly(in_child, 30, "inherited: samples of the child's pages");
	exactly(good, n, "inherited: id");
	close_mapped(fd);
}

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* The clock that was asked for is the children's as well. */
static void test_inherited_clock(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	uint64_t id, before;
	struct sample s;
	int fd, status;
	pid_t child;

	attr.use_clockid = 1;
	attr.clockid = CLOCK_REALTIME;
	before = real_ns();
	fd = open_inherited(&attr, &id);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(30), 30);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		if (!sample_parse(&s, h, &attr) || s.pid != (uint32_t)child)
			continue;
		n++;
		good += s.time >= before && s.time <= real_ns();
	}
	ktap_result(n >= 30 && good == n, "inherited: %u of %u samples with the parent's clock",
		    good, n);
	close_mapped(fd);
}

/* A sample's READ is about the task that was sampled: the last of each add up to the family's. */
static void test_inherited_read(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_TID | PERF_SAMPLE_READ);
	uint64_t id, own = 0, childs = 0, reading[2] = { 0 };
	unsigned int n = 0, good = 0;
	struct perf_event_header *h;
	struct sample s;
	int fd, status;
	pid_t child;

	attr.read_format = PERF_FORMAT_ID;
	fd = open_inherited(&attr, &id);
	child = fork();
	if (!child) {
		touch_pages(fresh_pages(30), 30);
		_exit(0);
	}
	touch_pages(fresh_pages(20), 20);
	waitpid(child, &status, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		uint64_t *last;

		n++;
		if (!sample_parse(&s, h, &attr))
			continue;
		last = s.pid == (uint32_t)child ? &childs : &own;
		good += s.read[0] == *last + 1 && s.read[1] == id;
		*last = s.read[0];
	}
	ktap_result(read(fd, reading, sizeof(reading)) == sizeof(reading) && own >= 20 &&
		    childs >= 30 && own + childs == reading[0],
		    "inherited: last READs %llu and %llu, the family's count %llu",
		    (unsigned long long)own, (unsigned long long)childs,
		    (unsigned long long)reading[0]);
	exactly(good, n, "inherited: each READ one more than its task's last, with the id");
	close_mapped(fd);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	ktap_start(0);
	test_every_fault();
	test_period();
	test_period_left();
	test_ioc_period();
	test_ioc_period_running();
	test_periods_shown();
	test_fields("plain fields", PLAIN_TYPES);
	test_fields("all fields", PLAIN_TYPES | OTHER_TYPES);
	test_cgroup();
	test_each_field();
	test_stack();
	test_group_read();
	test_time_clock();
	test_lost();
	test_refresh();
	test_clock_refresh();
	test_sigtrap();
	test_sigtrap_inherited();
	test_sigtrap_blocked();
	test_clock_period();
	test_clock_asleep();
	test_clock_ioc_period();
	test_frequency();
	test_frequency_periods();
	test_ioc_frequency();
	test_throttle();
	test_throttle_slow();
	test_throttled_sleeper();
	test_limits();
	test_raw();
	test_filter();
	test_bpf();
	test_bpf_link();
	test_bpf_query();
	test_inherited_samples();
	test_inherited_clock();
	test_inherited_read();
	return ktap_finish();
}
