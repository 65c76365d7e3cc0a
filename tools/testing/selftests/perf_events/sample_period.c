// SPDX-License-Identifier: GPL-2.0
/*
 * Which events become samples: periods, IOC_PERIOD, and what is lost in a full buffer. Page
 * faults are the events: their number and addresses are known. Run as root.
 */
#include "sampling.h"

#include <stddef.h>

static bool each_fault(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD);
	int fd = open_mapped(&attr, 8);
	unsigned int n = 0, good = 0;
	char *p = fresh_pages(200);
	struct perf_event_header *h;
	struct sample s;
	bool ok = true;

	count_faults(fd, p, 200);
	while ((h = ring_next(&ring))) {
		good += h->type == PERF_RECORD_SAMPLE && sample_parse(&s, h, &attr) &&
			(h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER &&
			s.addr == (uintptr_t)p + n * page && in_touch_pages(s.ip) &&
			s.pid == (uint32_t)getpid() && s.tid == s.pid && s.period == 1;
		n++;
	}
	ok &= expect_eq("period 1: samples of 200 faults", n, 200);
	ok &= expect_eq("period 1: address, ip, tid, period right", good, 200);
	ok &= expect_eq("period 1: count", perf_count(fd), 200);
	close_mapped(fd);
	return ok;
}

static bool longer_periods(void)
{
	static const struct {
		unsigned int period, faults, samples;
	} row[] = { { 2, 200, 100 }, { 7, 200, 28 }, { 100, 200, 2 }, { 201, 200, 0 } };
	bool ok = true;

	for (unsigned int i = 0; i < ARRAY_SIZE(row); i++) {
		struct perf_event_attr attr = fault_attr(row[i].period, PERF_SAMPLE_ADDR);
		int fd = open_mapped(&attr, 4);
		char *p = fresh_pages(row[i].faults);
		unsigned int n = 0, good = 0;
		struct perf_event_header *h;
		struct sample s;
		char name[48];

		count_faults(fd, p, row[i].faults);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			n++;
			good += sample_parse(&s, h, &attr) &&
				s.addr == (uintptr_t)p + (n * row[i].period - 1) * page;
		}
		snprintf(name, sizeof(name), "period %u: samples", row[i].period);
		ok &= expect_eq(name, n, row[i].samples);
		ok &= expect_eq("samples at the fault that ends the period", good, n);
		close_mapped(fd);
	}
	return ok;
}

/*
 * With PERF_SAMPLE_PERIOD and a fixed period each fault is a sample of period 1, as tracing tools
 * expect that set both.
 */
static bool period_field_takes_all(void)
{
	struct perf_event_attr attr = fault_attr(10, PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD);
	int fd = open_mapped(&attr, 4);
	unsigned int n = 0, good = 0;
	char *p = fresh_pages(100);
	struct perf_event_header *h;
	struct sample s;
	bool ok;

	count_faults(fd, p, 100);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		good += sample_parse(&s, h, &attr) && s.period == 1 &&
			s.addr == (uintptr_t)p + n * page;
		n++;
	}
	ok = expect_eq("samples of 100 faults", n, 100);
	ok &= expect_eq("samples with their fault and period 1", good, 100);
	ok &= expect_eq("count", perf_count(fd), 100);
	close_mapped(fd);
	return ok;
}

/* What is left of a period when the event is disabled is left when it is enabled. */
static bool period_left(void)
{
	struct perf_event_attr attr = fault_attr(10, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 1);
	bool ok;

	for (int i = 0; i < 30; i++)
		count_faults(fd, fresh_pages(1), 1);
	ok = expect_eq("period 10: samples of 30 times 1 fault",
		       ring_count(&ring, PERF_RECORD_SAMPLE), 3);
	close_mapped(fd);
	return ok;
}

static bool ioc_period(void)
{
	struct perf_event_attr attr = fault_attr(1000, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4), counting;
	uint64_t period = 5, zero = 0, sign = 1ULL << 63;
	bool ok = true;

	count_faults(fd, fresh_pages(100), 100);
	ok &= expect_eq("IOC_PERIOD: before", ring_count(&ring, PERF_RECORD_SAMPLE), 0);
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	count_faults(fd, fresh_pages(100), 100);
	ok &= expect_eq("IOC_PERIOD: samples with the new period",
			ring_count(&ring, PERF_RECORD_SAMPLE), 20);

	ok &= expect_errno("IOC_PERIOD of 0", ioctl(fd, PERF_EVENT_IOC_PERIOD, &zero), EINVAL);
	ok &= expect_errno("IOC_PERIOD with bit 63", ioctl(fd, PERF_EVENT_IOC_PERIOD, &sign),
			   EINVAL);
	attr.sample_period = 0;
	counting = perf_open(&attr, 0, -1, -1, 0);
	ok &= expect_errno("IOC_PERIOD of a counting event",
			   ioctl(counting, PERF_EVENT_IOC_PERIOD, &period), EINVAL);
	close(counting);
	close_mapped(fd);
	return ok;
}

/* The event runs while its own task changes the period. */
static bool ioc_period_running(void)
{
	struct perf_event_attr attr = fault_attr(1000, PERF_SAMPLE_ADDR);
	int fd = open_mapped(&attr, 4);
	uint64_t period = 4;
	char *p = fresh_pages(80), *q = fresh_pages(40);
	bool ok;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch_pages(p, 80);
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	touch_pages(q, 40);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ok = expect_eq("IOC_PERIOD of a running event", ring_count(&ring, PERF_RECORD_SAMPLE), 10);
	close_mapped(fd);
	return ok;
}

/*
 * A sample shows the period that ends with it: what was counted since the last sample, or since the
 * period was changed. Software events and tracepoints do not show it: with PERF_SAMPLE_PERIOD they
 * ignore the period.
 */
struct source {
	const char		*name;
	uint64_t		unit;	/* of a period */
	void			(*hit)(unsigned int units);
};

#define SOURCE_UNITS	60

/* Returns how many of the samples show @period and the count that belongs to it. */
static unsigned int right_periods(const struct perf_event_attr *attr, const struct source *source,
				  uint64_t last, uint64_t period, unsigned int *samples)
{
	unsigned int right = 0;
	struct perf_event_header *h;
	struct sample s;

	*samples = 0;
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		uint64_t slack = source->unit / 2;	/* for overflows that are seen late */

		(*samples)++;
		if (!sample_parse(&s, h, attr))
			continue;
		if (!(attr->sample_type & PERF_SAMPLE_PERIOD))
			s.period = period;
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

static bool source_periods_when(struct perf_event_attr attr, const struct source *source,
				bool running)
{
	static const unsigned int units[] = { 10, 7, 1, 30, 4 };
	unsigned int right = 0, samples = 0, want = 0;
	bool ok;
	int fd;

	attr.disabled = 1;
	attr.sample_period = units[0] * source->unit;
	attr.sample_type = PERF_SAMPLE_READ;
	if (attr.type == PERF_TYPE_HARDWARE)
		attr.sample_type |= PERF_SAMPLE_PERIOD;
	fd = open_mapped(&attr, 8);
	/* The first run of code takes page faults. */
	source->hit(1);
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &attr.sample_period);
	ring_count(&ring, PERF_RECORD_SAMPLE);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t period = units[i] * source->unit, last;
		unsigned int n;

		/* Ends in the middle of a period, which does not count for the next. */
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
	ok = expect(samples == want && right == want,
		    "IOC_PERIOD, %s, %s: %u samples, %u with their period, want %u", source->name,
		    running ? "running" : "disabled", samples, right, want);
	close_mapped(fd);
	return ok;
}

static bool source_periods(struct perf_event_attr attr, const struct source *source)
{
	bool ok = source_periods_when(attr, source, false);

	return source_periods_when(attr, source, true) && ok;
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

/* A tenth of a unit more, because the last overflow is seen late. */
static void hit_instructions(unsigned int n)
{
	run_loop(n * (INSNS / 2) + INSNS / 20);
}

static bool fault_periods(void)
{
	static const struct source faults = { "faults", 1, hit_faults };

	return source_periods(fault_attr(0, 0), &faults);
}

static bool system_call_periods(void)
{
	static const struct source calls = { "system calls", 1, hit_system_calls };
	int id = tracepoint_id("syscalls/sys_enter_getppid");

	if (id < 0)
		skip_case("no tracepoints in this kernel");
	return source_periods(perf_attr(PERF_TYPE_TRACEPOINT, id), &calls);
}

static bool instruction_periods(void)
{
	static const struct source insns = { "instructions", INSNS, hit_instructions };
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");

	if (!event_available(attr.type, attr.config))
		skip_case("no such event");
	return source_periods(attr, &insns);
}

static bool samples_lost(void)
{
	struct perf_event_attr attr = fault_attr(1, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	uint64_t value[2], lost = 0, read_back = 0;
	struct perf_event_header *h;
	int fd;
	bool ok = true;

	attr.read_format = PERF_FORMAT_LOST;
	fd = open_mapped(&attr, 1);
	for (int round = 0; round < 5; round++) {
		count_faults(fd, fresh_pages(500), 500);
		while ((h = ring_next(&ring))) {
			if (h->type == PERF_RECORD_LOST)
				lost += ((uint64_t *)(h + 1))[1];
			else
				read_back++;
		}
	}
	/* One more sample, which follows a LOST record. */
	count_faults(fd, fresh_pages(1), 1);
	while ((h = ring_next(&ring))) {
		if (h->type == PERF_RECORD_LOST)
			lost += ((uint64_t *)(h + 1))[1];
		else
			read_back++;
	}
	ok &= expect_eq("a full buffer: samples read and lost", read_back + lost, 2501);
	ok &= expect_between("a full buffer: lost", lost, 500, 2300);
	if (read(fd, value, sizeof(value)) != sizeof(value))
		fail_case("read");
	ok &= expect_eq("a full buffer: count", value[0], 2501);
	ok &= expect_eq("a full buffer: PERF_FORMAT_LOST", value[1], lost);
	close_mapped(fd);
	return ok;
}

static const struct test tests[] = {
	{ "a period of 1 samples each page fault, with its address", each_fault },
	{ "a longer period samples the fault that ends it", longer_periods },
	{ "with PERF_SAMPLE_PERIOD each fault is a sample", period_field_takes_all },
	{ "a disabled event keeps what is left of its period", period_left },
	{ "IOC_PERIOD sets the period of a disabled event", ioc_period },
	{ "IOC_PERIOD sets the period of a running event", ioc_period_running },
	{ "a sample ends the period that was set last: faults", fault_periods },
	{ "a sample ends the period that was set last: system calls", system_call_periods },
	{ "a sample shows the period that ends with it: instructions", instruction_periods },
	{ "samples read and samples lost add up to the count", samples_lost },
};

TESTS_MAIN_SETUP(tests, sampling_setup)
