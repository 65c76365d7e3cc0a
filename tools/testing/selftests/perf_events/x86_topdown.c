// SPDX-License-Identifier: GPL-2.0
/*
 * Top-down metrics. The emulator's PERF_METRICS has known fractions of the slots, of 255: so each
 * metric is known from the slots, to the rounding of one slot for each time that it was read. They
 * change only where a case writes another set of them to a register of the emulator.
 */
#include "events.h"
#include "expect.h"
#include "harness.h"
#include "processes.h"
#include "records.h"
#include "require.h"
#include "workloads.h"

#ifdef __x86_64__
#include "x86_rdpmc.h"

#define SLOTS		0x0400
#define METRIC(n)	(0x8000 + ((n) << 8))
#define METRICS		8
#define LOOPS		1000000
#define SLOTS_FILE	"/sys/bus/event_source/devices/cpu/events/slots"
#define LEVEL_2_FILE	"/sys/bus/event_source/devices/cpu/events/topdown-heavy-ops"

static const unsigned int fraction[METRICS] = { 0x66, 0x19, 0x33, 0x4d, 0x0c, 0x10, 0x20, 0x40 };

/* What read() of a group returns. */
struct topdown {
	uint64_t nr, enabled, running;
	uint64_t value[1 + METRICS];
};

struct group {
	int		fd[1 + METRICS];
	unsigned int	metrics;
};

static unsigned int nr_metrics(void)
{
	if (access(SLOTS_FILE, F_OK))
		skip_case("no metrics");
	return access(LEVEL_2_FILE, F_OK) ? 4 : METRICS;
}

static struct perf_event_attr topdown_attr(uint64_t config)
{
	struct perf_event_attr attr = perf_attr_modes(PERF_TYPE_RAW, config, "u");

	attr.disabled = config == SLOTS;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

static struct group group_open(bool inherit)
{
	struct group g = { .metrics = nr_metrics() };

	for (unsigned int i = 0; i <= g.metrics; i++) {
		struct perf_event_attr attr = topdown_attr(i ? METRIC(i - 1) : SLOTS);

		attr.inherit = inherit;
		g.fd[i] = open_self(&attr, i ? g.fd[0] : -1);
	}
	return g;
}

static void group_close(const struct group *g)
{
	for (unsigned int i = 0; i <= g->metrics; i++)
		close(g->fd[i]);
}

static struct topdown group_read(const struct group *g)
{
	struct topdown t = { };

	MUST(read(g->fd[0], &t, sizeof(t)));
	return t;
}

/* Each metric is its fraction of the slots, with at most @reads slots rounded off. */
static bool fractions_hold(const char *what, const struct group *g, const struct topdown *t,
			   unsigned int reads)
{
	uint64_t slots = t->value[0];
	bool good = expect_eq(what, t->nr, 1 + g->metrics);

	for (unsigned int i = 0; i < g->metrics; i++)
		good &= expect_near(what, t->value[1 + i], slots * fraction[i] / 255, reads);
	return good;
}

/* Four slots in each cycle, a cycle to an instruction. */
#define LOOP_SLOTS(n)	(4 * LOOP_INSNS(n))

static bool counts_are_exact(void)
{
	struct group g = group_open(false);
	struct topdown t;
	bool good;

	event_enable(g.fd[0]);
	run_loop(LOOPS);
	event_disable(g.fd[0]);
	t = group_read(&g);
	good = fractions_hold("once", &g, &t, 1);
	good &= expect_between("slots", t.value[0], LOOP_SLOTS(LOOPS),
			       LOOP_SLOTS(LOOPS) * 1001 / 1000);
	group_close(&g);
	return good;
}

/* While it runs; each read is consistent, and what is rounded off does not add up. */
static bool reads_do_not_drift(void)
{
	struct group g = group_open(false);
	struct topdown t, last = { };
	bool good = true;

	event_enable(g.fd[0]);
	for (unsigned int i = 0; i < 2000 && good; i++) {
		run_loop(50);
		t = group_read(&g);
		good &= fractions_hold("a read", &g, &t, 1);
		for (unsigned int k = 0; k <= g.metrics; k++)
			good &= expect(t.value[k] >= last.value[k], "count %u grows", k);
		last = t;
	}
	good &= expect(t.value[0] > LOOP_SLOTS(2000 * 50), "slots of all reads");
	group_close(&g);
	return good;
}

/* Two tasks on one CPU that count and take turns, beside one that does not count. */
static bool switches_keep_counts(void)
{
	struct group g;
	struct topdown t;
	bool good = true;
	uint64_t before;
	pid_t child[2];

	nr_metrics();
	MUST(pin_to_cpu(0));
	for (int i = 0; i < 2; i++) {
		child[i] = MUST(fork());
		if (child[i])
			continue;
		if (i)
			g = group_open(false), event_enable(g.fd[0]);
		for (int k = 0; k < 300; k++) {
			run_loop(LOOPS / 300);
			sched_yield();
		}
		if (i) {
			event_disable(g.fd[0]);
			t = group_read(&g);
			good = fractions_hold("the child", &g, &t, 1);
		}
		_exit(!good);
	}
	g = group_open(false);
	before = thread_switches();
	event_enable(g.fd[0]);
	for (int k = 0; k < 300; k++) {
		run_loop(LOOPS / 300);
		sched_yield();
	}
	event_disable(g.fd[0]);
	t = group_read(&g);
	good &= expect(thread_switches() - before > 50, "there were switches");
	good &= fractions_hold("this task", &g, &t, 1);
	good &= expect_between("slots", t.value[0], LOOP_SLOTS(LOOPS / 300 * 300),
			       LOOP_SLOTS(LOOPS) * 102 / 100);
	for (int i = 0; i < 2; i++) {
		int status;

		MUST(waitpid(child[i], &status, 0));
		good &= expect_eq("status of a child", status, 0);
	}
	group_close(&g);
	return good;
}

/* Two groups have to take turns: the slots counter is one. */
static bool groups_take_turns(void)
{
	struct group g[2] = { group_open(false), group_open(false) };
	bool good = true;

	for (int i = 0; i < 2; i++)
		event_enable(g[i].fd[0]);
	spin_ms(200);
	for (int i = 0; i < 2; i++)
		event_disable(g[i].fd[0]);
	for (int i = 0; i < 2; i++) {
		struct topdown t = group_read(&g[i]);

		good &= fractions_hold("a group", &g[i], &t, 1);
		good &= expect(t.value[0], "group %d counted", i);
		good &= expect(t.running && t.running < t.enabled, "group %d had a turn", i);
		group_close(&g[i]);
	}
	return good;
}

static bool children_are_added(void)
{
	struct perf_event_attr attr;
	unsigned int n = nr_metrics();
	uint64_t slots, count;
	int fd[1 + METRICS];
	bool good = true;

	for (unsigned int i = 0; i <= n; i++) {
		attr = topdown_attr(i ? METRIC(i - 1) : SLOTS);
		attr.read_format = 0;
		attr.inherit = 1;
		fd[i] = open_self(&attr, i ? fd[0] : -1);
	}
	event_enable(fd[0]);
	for (int i = 0; i < 4; i++) {
		pid_t child = MUST(fork());

		if (!child) {
			run_loop(LOOPS);
			_exit(0);
		}
		MUST(waitpid(child, NULL, 0));
	}
	event_disable(fd[0]);
	slots = perf_count(fd[0]);
	good &= expect(slots >= LOOP_SLOTS(4 * LOOPS), "slots of four children");
	for (unsigned int i = 0; i < n; i++) {
		count = perf_count(fd[1 + i]);
		/* Five tasks round off. */
		good &= expect_near("metric", count, slots * fraction[i] / 255, 5);
		close(fd[1 + i]);
	}
	close(fd[0]);
	return good;
}

/* Metrics that join and leave while slots count, and that are closed after their leader. */
static bool members_come_and_go(void)
{
	struct perf_event_attr attr = topdown_attr(SLOTS), metric = topdown_attr(METRIC(0));
	uint64_t slots[3], retiring;
	bool good = true;
	int fd[2];

	nr_metrics();
	attr.read_format = 0;
	metric.read_format = 0;
	metric.disabled = 1;
	fd[0] = open_self(&attr, -1);
	fd[1] = open_self(&metric, fd[0]);
	event_enable(fd[0]);
	run_loop(LOOPS);
	event_enable(fd[1]);
	slots[0] = perf_count(fd[0]);
	run_loop(LOOPS);
	event_disable(fd[1]);
	slots[1] = perf_count(fd[0]);
	run_loop(LOOPS);
	slots[2] = perf_count(fd[0]);
	retiring = perf_count(fd[1]);
	good &= expect_near_permille("before", slots[0], LOOP_SLOTS(LOOPS), 2);
	good &= expect_near_permille("with", slots[1] - slots[0], LOOP_SLOTS(LOOPS), 2);
	good &= expect_near_permille("after", slots[2] - slots[1], LOOP_SLOTS(LOOPS), 2);
	good &= expect_near_permille("the metric", retiring,
				     (slots[1] - slots[0]) * fraction[0] / 255, 2);
	event_enable(fd[1]);
	close(fd[0]);
	retiring = perf_count(fd[1]);
	run_loop(LOOPS);
	good &= expect_eq("without its leader", perf_count(fd[1]), retiring);
	close(fd[1]);
	return good;
}

/* RDPMC shows both registers; they continue over switches, and start again when enabled again. */
static bool programs_read_registers(void)
{
	volatile struct perf_event_mmap_page *slots, *metric;
	struct group g = group_open(false);
	uint64_t all = g.metrics == 4 ? 0xffffffff : ~0ull, first, second;
	struct topdown t;
	bool good = true;

	slots = map_event(g.fd[0]);
	metric = map_event(g.fd[1]);
	event_enable(g.fd[0]);
	run_loop(LOOPS);
	good &= expect_eq("index of slots", slots->index - 1, 1 << 30 | 3);
	good &= expect_eq("index of a metric", metric->index - 1, 1 << 29);
	good &= expect_eq("fractions", read_rdpmc(1 << 29), 0x4020100c4d331966ull & all);
	first = read_rdpmc(1 << 30 | 3);
	good &= expect_near_permille("slots", first, LOOP_SLOTS(LOOPS), 2);
	sleep_ms(20);
	t = group_read(&g);
	run_loop(LOOPS);
	second = read_rdpmc(1 << 30 | 3);
	good &= expect_near_permille("slots after a switch and a read", second - first,
				     LOOP_SLOTS(LOOPS), 5);
	good &= expect_eq("fractions again", read_rdpmc(1 << 29), 0x4020100c4d331966ull & all);
	t = group_read(&g);
	good &= fractions_hold("read()", &g, &t, 1);
	event_disable(g.fd[0]);
	event_enable(g.fd[0]);
	good &= expect(read_rdpmc(1 << 30 | 3) < 100000, "enabled again from 0");
	group_close(&g);
	return good;
}

/* The metrics are closed before slots: the register is empty when another task may read it. */
static bool metrics_are_cleared(void)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "u");
	bool good;
	pid_t pid;
	int fd;

	nr_metrics();
	pid = fork_child();
	if (!pid) {
		struct group g = group_open(false);

		event_enable(g.fd[0]);
		run_loop(LOOPS);
		for (unsigned int i = g.metrics; i; i--)
			close(g.fd[i]);
		run_loop(LOOPS);
		close(g.fd[0]);
		_exit(0);
	}
	good = child_succeeded(pid);
	fd = open_self(&attr, -1);
	map_event(fd);
	event_enable(fd);
	run_loop(LOOPS);
	return good & expect_eq("fractions of another task", read_rdpmc(1 << 29), 0);
}

/* A read of slots alone, as by RESET, does not stand for a read of a metric at a later time. */
static bool metrics_are_read_again(void)
{
	struct perf_event_attr attr = topdown_attr(SLOTS), metric = topdown_attr(METRIC(0));
	uint64_t before, after;
	bool good;
	int fd[2];

	nr_metrics();
	metric.read_format = 0;
	fd[0] = open_self(&attr, -1);
	fd[1] = open_self(&metric, fd[0]);
	event_enable(fd[0]);
	run_loop(LOOPS);
	before = perf_count(fd[1]);
	ioctl(fd[0], PERF_EVENT_IOC_RESET, 0);
	run_loop(LOOPS);
	after = perf_count(fd[1]);
	good = expect_near_permille("the metric", after - before,
				    LOOP_SLOTS(LOOPS) * fraction[0] / 255, 5);
	close(fd[1]);
	close(fd[0]);
	return good;
}

/* A debug kernel's interrupts are long: with a shorter period they would be throttled. */
#define BRANCH_PERIOD	200003

/* Samples in @ring, which is empty afterwards; those without branches are added to @bare. */
static unsigned int branch_samples(struct ring *ring, const struct perf_event_attr *attr,
				   unsigned int *bare)
{
	struct perf_event_header *h;
	unsigned int n = 0;

	while ((h = ring_find(ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, attr);
		*bare += !s.branches[0];
		n++;
	}
	return n;
}

/*
 * perf record requests the branches of all members of a group. Slots and metrics do not sample: the
 * records of the event that does are right when the metric has left, too.
 */
static bool other_members_have_branches(void)
{
	struct perf_event_attr attr[3] = { topdown_attr(SLOTS), topdown_attr(METRIC(0)),
					   perf_attr_modes(PERF_TYPE_RAW, 0xc0, "u") };
	struct ring ring, page;
	unsigned int with, without, bare = 0;
	int fd[3];

	nr_metrics();
	for (int i = 0; i < 3; i++) {
		attr[i].disabled = !i;
		attr[i].sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
		attr[i].branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
		attr[i].sample_period = i == 2 ? BRANCH_PERIOD : 0;
		fd[i] = perf_open(&attr[i], 0, -1, i ? fd[0] : -1, 0);
		if (fd[i] < 0 && errno == EOPNOTSUPP)
			skip_case("no branch records");
		MUST(fd[i]);
	}
	if (!ring_map(&ring, fd[2], 256) || !ring_map(&page, fd[0], 1))
		fail_case("mmap");
	event_enable(fd[0]);
	run_loop(LOOPS);
	sleep_ms(20);
	with = branch_samples(&ring, &attr[2], &bare);
	close(fd[1]);
	run_loop(LOOPS / 10);
	sleep_ms(20);
	branch_samples(&ring, &attr[2], &bare);
	run_loop(LOOPS);
	without = branch_samples(&ring, &attr[2], &bare);
	event_disable(fd[0]);
	close(fd[2]);
	close(fd[0]);
	return expect_eq("samples without branches", bare, 0) &
	       expect_between("samples with a metric", with, LOOP_INSNS(LOOPS) / BRANCH_PERIOD - 1,
			      LOOP_INSNS(LOOPS) / BRANCH_PERIOD + 3) &
	       expect_between("samples without it", without, LOOP_INSNS(LOOPS) / BRANCH_PERIOD - 1,
			      LOOP_INSNS(LOOPS) / BRANCH_PERIOD + 3);
}

/* The shares of the slots from now on, a byte for each metric; a register of the emulator. */
#define MSR_SHARES	0x4f504d55

static const uint64_t phases[2] = { 0x4020100c4d331966ull, 0x1008402066194d33ull };

static void set_shares(uint64_t shares)
{
	int fd = MUST(open("/dev/cpu/0/msr", O_RDWR | O_CLOEXEC));
	uint64_t now = 0;

	if (nr_metrics() < METRICS)
		shares &= 0xffffffff;
	if (pwrite(fd, &shares, sizeof(shares), MSR_SHARES) != sizeof(shares) ||
	    pread(fd, &now, sizeof(now), MSR_SHARES) != sizeof(now) || now != shares)
		skip_case("the machine's shares cannot be set");
	close(fd);
}

/*
 * What perf record -e '{slots,cycles,topdown-...}:S' opens: a sample of cycles reads the group.
 * @last: what the read before has returned: slots, cycles, metrics.
 */
struct reading {
	int		fd[2 + METRICS];
	unsigned int	metrics;
	uint64_t	last[2 + METRICS];
	struct ring	ring;
	struct perf_event_attr attr;
};

/* Of this task, or of a CPU. @period: 0 without samples; @mapped: 0 for slots, 1 for cycles. */
static void reading_open(struct reading *r, pid_t pid, int cpu, uint64_t period, int mapped)
{
	memset(r, 0, offsetof(struct reading, ring));
	r->metrics = nr_metrics();
	MUST(pin_to_cpu(0));
	set_shares(phases[0]);
	for (unsigned int i = 0; i < 2 + r->metrics; i++) {
		struct perf_event_attr attr = topdown_attr(i == 1 ? 0x3c : SLOTS);

		if (i > 1)
			attr = topdown_attr(METRIC(i - 2));
		attr.disabled = !i;
		attr.read_format = PERF_FORMAT_GROUP;
		attr.sample_type = PERF_SAMPLE_READ;
		attr.sample_period = i == 1 ? period : 0;
		r->fd[i] = MUST(perf_open(&attr, pid, cpu, i ? r->fd[0] : -1, 0));
		if (i == 1)
			r->attr = attr;
	}
	if (!ring_map(&r->ring, r->fd[mapped], 64))
		fail_case("mmap");
	if (!mapped)
		MUST(ioctl(r->fd[1], PERF_EVENT_IOC_SET_OUTPUT, r->fd[0]));
	event_enable(r->fd[0]);
}

static void reading_close(struct reading *r)
{
	event_disable(r->fd[0]);
	set_shares(phases[0]);
	ring_unmap(&r->ring);
	for (unsigned int i = 2 + r->metrics; i--;)
		close(r->fd[i]);
}

/* @values: of a read that follows that of @last; the slots between them have the shares. */
static bool values_have_shares(struct reading *r, const uint64_t *values, uint64_t shares)
{
	uint64_t slots = values[0] - r->last[0];
	bool good = expect(slots > 100000, "%lu slots between two reads", (long)slots);

	for (unsigned int i = 0; i < r->metrics; i++)
		good &= expect_near_permille("a metric since the read before",
					     values[2 + i] - r->last[2 + i],
					     slots * (shares >> 8 * i & 0xff) / 255, 10);
	return good;
}

/* So do those of the samples in the ring, less the first one if it is @mixed. */
static bool samples_have_shares(struct reading *r, uint64_t shares, bool mixed)
{
	struct perf_event_header *h;
	unsigned int n = 0;
	bool good = true;

	while ((h = ring_find(&r->ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &r->attr);
		if (!expect_eq("members", s.read[0], 2 + r->metrics))
			return false;
		if (good && (n || !mixed))
			good = values_have_shares(r, s.read + 1, shares);
		memcpy(r->last, s.read + 1, (2 + r->metrics) * sizeof(uint64_t));
		n++;
	}
	return expect_between("samples", n, 20, 120) & good;
}

/* Each sample shows what was since the one before, not the mean of all the time. */
static bool samples_follow(pid_t pid, int cpu)
{
	struct reading r;
	bool good;

	reading_open(&r, pid, cpu, BRANCH_PERIOD, 0);
	run_loop(10 * LOOPS);
	good = samples_have_shares(&r, phases[0], false);
	set_shares(phases[1]);
	run_loop(10 * LOOPS);
	good &= samples_have_shares(&r, phases[1], true);
	set_shares(phases[0]);
	run_loop(10 * LOOPS);
	good &= samples_have_shares(&r, phases[0], true);
	reading_close(&r);
	return good;
}

static bool samples_of_a_task(void)
{
	return samples_follow(0, -1);
}

static bool samples_of_a_cpu(void)
{
	return samples_follow(-1, 0);
}

/* read() beside a ring that has slots mapped. */
static bool reads_follow(void)
{
	uint64_t values[3 + METRICS];
	struct reading r;
	bool good = true;

	reading_open(&r, 0, -1, 0, 0);
	for (unsigned int i = 0; i < 30 && good; i++) {
		uint64_t shares = phases[i / 10 % 2];

		set_shares(shares);
		run_loop(LOOPS);
		MUST(read(r.fd[0], values, sizeof(values)));
		good &= values_have_shares(&r, values + 1, shares);
		memcpy(r.last, values + 1, sizeof(r.last));
	}
	reading_close(&r);
	return good;
}

/* The page of a ring belongs to registers that samples and read() set back. */
static bool pages_of_rings_are_right(void)
{
	uint64_t before, values[3 + METRICS], after;
	struct reading r;
	bool good = true;

	reading_open(&r, 0, -1, 20011, 0);
	for (unsigned int i = 0; i < 3000 && good; i++) {
		run_loop(500);
		good &= expect(read_self(r.ring.page, &before), "there is an index");
		MUST(read(r.fd[0], values, sizeof(values)));
		read_self(r.ring.page, &after);
		good &= expect_between("read() after RDPMC", values[1] - before, 0, 4 * READ_SLACK);
		good &= expect_between("RDPMC after read()", after - values[1], 0, 4 * READ_SLACK);
		run_loop(5000);
		read_self(r.ring.page, &before);
		good &= expect_between("RDPMC after samples", before - after, LOOP_SLOTS(5000),
				       LOOP_SLOTS(5000) + 4 * READ_SLACK);
	}
	good &= expect(ring_count(&r.ring, PERF_RECORD_SAMPLE) > 100, "there are samples");
	reading_close(&r);
	return good;
}

/* A program that has a page of slots alone takes differences: samples leave it the registers. */
static bool samples_leave_registers(void)
{
	struct reading r;
	uint64_t first;
	bool good;

	reading_open(&r, 0, -1, BRANCH_PERIOD, 1);
	map_event(r.fd[0]);
	first = read_rdpmc(1 << 30 | 3);
	run_loop(LOOPS);
	good = expect_near_permille("slots", read_rdpmc(1 << 30 | 3) - first, LOOP_SLOTS(LOOPS), 5);
	good &= expect(ring_count(&r.ring, PERF_RECORD_SAMPLE) > 5, "there are samples");
	reading_close(&r);
	return good;
}

static int try_open(uint64_t config, uint64_t period, int leader)
{
	struct perf_event_attr attr = topdown_attr(config);

	attr.sample_period = period;
	return perf_open(&attr, 0, -1, leader, 0);
}

static bool refusals(void)
{
	unsigned int n = nr_metrics();
	struct perf_event_attr attr;
	int slots, cycles, sampling;
	bool good = true;

	slots = MUST(try_open(SLOTS, 0, -1));
	sampling = MUST(try_open(SLOTS, 100000, -1));
	cycles = MUST(try_open(0x3c, 0, -1));
	good &= expect_refused("alone", try_open(METRIC(0), 0, -1), EINVAL, "slots");
	good &= expect_refused("behind cycles", try_open(METRIC(0), 0, cycles), EINVAL, "slots");
	good &= expect_refused("sampling", try_open(METRIC(0), 1000, slots), EINVAL, "sample");
	good &= expect_refused("behind sampling slots", try_open(METRIC(0), 0, sampling), EINVAL,
			       "sample");
	good &= expect_refused("with cmask", try_open(METRIC(0) | 1 << 24, 0, slots), EINVAL, NULL);
	good &= expect_refused("one too many", try_open(METRIC(n), 0, slots), EINVAL, NULL);
	attr = topdown_attr(METRIC(0));
	attr.config1 = 1;
	good &= expect_refused("with config1", perf_open(&attr, 0, -1, slots, 0), EINVAL,
			       "config1");
	good &= expect(try_open(METRIC(0), 0, slots) >= 0, "behind slots");
	good &= expect_refused("twice", try_open(METRIC(0), 0, slots), EINVAL, NULL);
	return good;
}

static const struct test tests[] = {
	{ "metrics are their fractions of the slots", counts_are_exact },
	{ "reads are consistent and do not drift", reads_do_not_drift },
	{ "counts survive switches", switches_keep_counts },
	{ "two groups take turns", groups_take_turns },
	{ "children are added", children_are_added },
	{ "metrics join and leave", members_come_and_go },
	{ "programs read the registers", programs_read_registers },
	{ "a program does not read the metrics of another one", metrics_are_cleared },
	{ "a metric is read again after slots alone", metrics_are_read_again },
	{ "other members of the group have branches", other_members_have_branches },
	{ "samples of a task have the shares of their time", samples_of_a_task },
	{ "samples of a CPU have the shares of their time", samples_of_a_cpu },
	{ "reads beside a ring have the shares of their time", reads_follow },
	{ "the page of a ring agrees with read()", pages_of_rings_are_right },
	{ "samples leave the registers to a program", samples_leave_registers },
	{ "other groups are refused", refusals },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("top-down metrics", "not an x86")
#endif
