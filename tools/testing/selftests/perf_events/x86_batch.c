// SPDX-License-Identifier: GPL-2.0
/*
 * Many precise samples to one interrupt (large PEBS): no record is lost, they are in order and have
 * the times of their instructions, the count is exact at any time, and what needs an interrupt for
 * each sample has one.
 */
#include "harness.h"

#ifdef __x86_64__
#include "workloads.h"
#include "x86_precise.h"
#include "x86_rdpmc.h"

#define BATCH_PERIOD	101
/*
 * A store of 64 KiB has so many records, with the registers. Adaptive records have what events
 * before have needed, too: 58 words at most.
 */
#define LEAST_RECORDS	138
#define MOST_RECORDS	380

/* Interrupts of the PMUs of all CPUs. */
static unsigned int pmis(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned int sum = 0;
	char line[1024];

	if (!file)
		fail_case("/proc/interrupts");
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, "PMI:"), *end;

		for (at = at ? at + 4 : NULL; at; at = end) {
			unsigned long n = strtoul(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	fclose(file);
	return sum;
}

/* Records of Haswell and before have no time. */
static bool records_have_time(void)
{
	static const char *const older[] = { "15", "23", "26", "42", "60" };
	char line[256], model[16] = "";
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "model : %15s", model) == 1)
			break;
	if (file)
		fclose(file);
	for (unsigned int i = 0; i < ARRAY_SIZE(older); i++)
		if (!strcmp(model, older[i]))
			return false;
	return true;
}

/* The highest precision whose records need no branches to find the instruction. */
static unsigned int batch_precision(void)
{
	need_precise();
	/* Formats 0 and 1 have no address of the instruction itself. */
	if (max_precise > 2 || records_have_time())
		return max_precise;
	return 1;
}

static struct perf_event_attr batch_attr(void)
{
	struct perf_event_attr attr = precise_attr(PERF_COUNT_HW_INSTRUCTIONS, batch_precision());

	attr.sample_period = BATCH_PERIOD;
	return attr;
}

/* What a run of the loop with an event gives. */
struct run {
	struct tally	tally;
	uint64_t	count;
	unsigned int	interrupts;
	struct ring	ring;
	bool		exact;
};

static void run_batch(struct perf_event_attr *attr, struct run *run)
{
	struct perf_event_header *h;
	int fd = open_self(attr, -1);

	*run = (struct run){ 0 };
	if (!ring_map(&run->ring, fd, 128))
		fail_case("mmap");
	run->interrupts = pmis();
	event_enable(fd);
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
	run->interrupts = pmis() - run->interrupts;
	run->count = perf_count(fd);
	h = ring_find(&run->ring, PERF_RECORD_SAMPLE);
	run->exact = h && names_insn(attr->precise_ip, h);
	run->ring.tail = 0;
	tally_ring(&run->tally, &run->ring, attr, precise_loop_points, ROUNDS, run->exact);
	close(fd);
}

static bool run_is_exact(const char *what, const struct run *run)
{
	return tally_is_exact(what, &run->tally, run->count, BATCH_PERIOD, run->exact);
}

static bool has_batches(const char *what, const struct run *run)
{
	return expect_between(what, run->interrupts, run->tally.samples / MOST_RECORDS,
			      run->tally.samples / LEAST_RECORDS);
}

/* Full stores interrupt. Also those that are read at once at the end have all their samples. */
static bool interrupts_are_few(void)
{
	struct perf_event_attr attr = batch_attr();
	struct run run;

	run_batch(&attr, &run);
	ring_unmap(&run.ring);
	return expect(run.tally.samples > 1000, "%u samples", run.tally.samples) &
	       run_is_exact("instructions", &run) & has_batches("interrupts", &run);
}

/* Each sample has the period; together they are the count, but for the rest. */
static bool periods_are_the_count(void)
{
	struct perf_event_attr attr = batch_attr();
	struct perf_event_header *h;
	uint64_t sum = 0;
	unsigned int other = 0;
	struct run run;

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	run_batch(&attr, &run);
	run.ring.tail = 0;
	while ((h = ring_find(&run.ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		sum += s.period;
		other += s.period != BATCH_PERIOD;
	}
	ring_unmap(&run.ring);
	return expect_eq("samples with another period", other, 0) &
	       expect_between("sum of the periods", sum, run.count - BATCH_PERIOD - LEAST,
			      run.count) &
	       has_batches("interrupts", &run);
}

/* An instruction takes a nanosecond. */
static bool times_are_those_of_records(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int samples = 0, back = 0, apart = 0;
	struct perf_event_header *h;
	uint64_t before = 0;
	struct run run;

	attr.sample_type |= PERF_SAMPLE_TIME;
	run_batch(&attr, &run);
	run.ring.tail = 0;
	for (; (h = ring_find(&run.ring, PERF_RECORD_SAMPLE)); samples++) {
		struct sample s;

		sample_parse(&s, h, &attr);
		back += s.time <= before;
		apart += before && (s.time - before < BATCH_PERIOD - 8 ||
				    s.time - before > BATCH_PERIOD + 8);
		before = s.time;
	}
	ring_unmap(&run.ring);
	if (!records_have_time())
		return run_is_exact("times", &run) & expect_eq("samples before the last", back, 0) &
		       expect_between("interrupts", run.interrupts, samples, samples + 20);
	return run_is_exact("times", &run) & has_batches("interrupts", &run) &
	       expect_eq("samples before the last", back, 0) &
	       expect(apart * 10 < samples, "%u of %u samples are not a period after the last",
		      apart, samples);
}

/* What cannot be had from a record interrupts for each. */
static bool others_interrupt(void)
{
	bool good = true;

	for (unsigned int i = 0; i < 3; i++) {
		struct perf_event_attr attr = batch_attr();
		struct run run;

		if (i == 0)
			attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		else if (i == 1)
			attr.wakeup_events = 1;
		else
			attr.sample_type |= PERF_SAMPLE_READ;
		run_batch(&attr, &run);
		ring_unmap(&run.ring);
		good &= run_is_exact("each interrupts", &run) &
			expect_between("interrupts", run.interrupts, run.tally.samples,
				       run.tally.samples + 20);
	}
	return good;
}

/* The count of an event that is read has the periods of the records that are in the store. */
static bool reads_are_exact(void)
{
	struct perf_event_attr attr = batch_attr();
	uint64_t last, now, first, off = 0;
	struct ring ring;
	struct tally t = { 0 };
	int fd;

	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	first = perf_count(fd);
	last = first;
	for (unsigned int i = 0; i < 50; i++) {
		precise_loop(200 + i, XMM_VALUE);
		now = perf_count(fd);
		/* And the instructions around the loop. */
		off += now - last < (200 + i) * ROUND || now - last > (200 + i) * ROUND + 200;
		last = now;
	}
	event_disable(fd);
	last = perf_count(fd);
	tally_ring(&t, &ring, &attr, precise_loop_points, 0, attr.precise_ip > 1);
	close(fd);
	return expect_eq("differences that are not those of the loop", off, 0) &
	       expect(last - first > 50000, "%lu events", (long)(last - first)) &
	       expect_between("samples", t.samples, (last - 1 - 2 * LEAST) / BATCH_PERIOD,
			      (last - 1) / BATCH_PERIOD);
}

/* Records of before have the old period. */
static bool periods_change(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int n[2] = { 0 }, other = 0, mixed = 0;
	uint64_t count[2], period = 211;
	struct perf_event_header *h;
	struct ring ring;
	int fd;

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	precise_loop(ROUNDS / 4, XMM_VALUE);
	count[0] = perf_count(fd);
	MUST(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period));
	precise_loop(ROUNDS / 4, XMM_VALUE);
	event_disable(fd);
	count[1] = perf_count(fd) - count[0];
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		n[0] += s.period == BATCH_PERIOD;
		n[1] += s.period == period;
		other += s.period != BATCH_PERIOD && s.period != period;
		mixed += n[1] && s.period == BATCH_PERIOD;
	}
	close(fd);
	return expect_eq("samples of other periods", other, 0) &
	       expect(mixed < 2, "%u samples of the old period behind the new one", mixed) &
	       expect_between("samples before", n[0], count[0] / BATCH_PERIOD - 1,
			      count[0] / BATCH_PERIOD + 4) &
	       expect_between("samples after", n[1], count[1] / period - 3, count[1] / period + 1);
}

/* The samples of an event of a CPU have the identity of the task that ran. */
static bool tasks_have_their_own(void)
{
	struct gate go = gate_new(), back = gate_new();
	unsigned int n[2] = { 0 }, wrong = 0, loose = 0;
	struct perf_event_attr attr = batch_attr();
	struct perf_event_header *h;
	struct ring ring;
	uint64_t count;
	pid_t other;
	int fd;

	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	fd = MUST(perf_open(&attr, -1, 0, -1, 0));
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	take_turns(&go, &back, TURNS, run_mine);
	event_disable(fd);
	count = perf_count(fd);
	while ((h = ring_next(&ring))) {
		struct sample s;
		int here, there;

		if (h->type != PERF_RECORD_SAMPLE) {
			loose++;
			continue;
		}
		sample_parse(&s, h, &attr);
		here = point_of(precise_loop_points, s.ip) >= 0;
		there = point_of(other_precise_loop_points, s.ip) >= 0;
		n[0] += here;
		n[1] += there;
		wrong += (here && (pid_t)s.pid != getpid()) || (there && (pid_t)s.pid != other);
	}
	kill_child(other);
	close(fd);
	return expect(n[0] > 500 && n[1] > 500, "%u and %u samples in the loops", n[0], n[1]) &
	       expect_eq("samples with the identity of the other", wrong, 0) &
	       expect_eq("other records", loose, 0) &
	       expect(count / BATCH_PERIOD > 1000, "%lu events", (long)count);
}

/* An event that interrupts for each sample is opened and closed while another one has batches. */
static bool other_events_join(void)
{
	struct perf_event_attr attr = batch_attr(), chain;
	struct tally t = { 0 }, u = { 0 };
	struct ring ring[2];
	uint64_t count[2];
	bool exact = false;
	int fd[2];

	/* With more precision one counter alone has records of instructions. */
	if (attr.precise_ip > 2)
		attr.precise_ip = 2;
	chain = attr;
	chain.sample_type |= PERF_SAMPLE_CALLCHAIN;
	chain.sample_period = 487;
	fd[0] = open_self(&attr, -1);
	fd[1] = open_self(&chain, -1);
	for (int i = 0; i < 2; i++)
		if (!ring_map(&ring[i], fd[i], 128))
			fail_case("mmap");
	event_enable(fd[0]);
	for (unsigned int i = 0; i < 20; i++) {
		precise_loop(1000, XMM_VALUE);
		event_enable(fd[1]);
		precise_loop(1000, XMM_VALUE);
		event_disable(fd[1]);
	}
	event_disable(fd[0]);
	for (int i = 0; i < 2; i++)
		count[i] = perf_count(fd[i]);
	exact = attr.precise_ip > 1;
	tally_ring(&t, &ring[0], &attr, precise_loop_points, 1000, exact);
	tally_ring(&u, &ring[1], &chain, precise_loop_points, 1000, exact);
	close(fd[1]);
	close(fd[0]);
	return expect_between("samples", t.samples, (count[0] - 1) / BATCH_PERIOD - 40,
			      (count[0] - 1) / BATCH_PERIOD) &
	       expect_between("samples of the other", u.samples, (count[1] - 1) / 487 - 2,
			      (count[1] - 1) / 487) &
	       /* The next instruction is the loop's first one, but this one is before the loop. */
	       expect_between("registers that are not those of the instruction",
			      t.wrong + u.wrong, 0, exact ? 0 : 10);
}

static const struct test tests[] = {
	{ "many samples to one interrupt, none lost, each at its instruction", interrupts_are_few },
	{ "the periods of the samples are the count", periods_are_the_count },
	{ "samples have the times of their records", times_are_those_of_records },
	{ "what a record does not have interrupts for each sample", others_interrupt },
	{ "reads between interrupts are exact", reads_are_exact },
	{ "samples have the period that they end", periods_change },
	{ "samples of an event of a CPU are those of the task that ran", tasks_have_their_own },
	{ "an event that interrupts for each sample joins", other_events_join },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("precise samples of x86", "not an x86")
#endif
