// SPDX-License-Identifier: GPL-2.0
/*
 * Many precise samples to one interrupt (large PEBS): no record is lost, they are in order and have
 * the times of their instructions, the count is exact at any time, and what needs an interrupt for
 * each sample has one.
 */
#include "harness.h"

#ifdef __x86_64__
#include "interrupts.h"
#include "workloads.h"
#include "x86_batch.h"
#include "x86_rdpmc.h"

/* At the end of a period the counter overflows 2 events later, or twice that. */
#define LATE		4
/* A store, and words of adaptive records: all groups, the basic one, the registers. */
#define STORE_BYTES	0x10000
#define MOST_WORDS	154
#define BASIC_WORDS	4
#define REGS_WORDS	18

#define PERF_CAPABILITIES	0x345

/* Records that a store has room for. @words: of an adaptive one. */
static unsigned int room_of_store(unsigned int words)
{
	static const unsigned char fixed[] = { 18, 22, 24, 25 };	/* of formats 0 to 3 */
	int fd = MUST(open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC));
	unsigned int format, most = MOST_WORDS;
	uint64_t caps = 0;

	MUST(pread(fd, &caps, sizeof(caps), PERF_CAPABILITIES));
	close(fd);
	format = caps >> 8 & 15;
	if (format < ARRAY_SIZE(fixed)) {
		words = fixed[format];
		most = words;
	}
	/* It ends where the largest record would not fit any more. */
	return STORE_BYTES / (most * 8) * most / words;
}

/* What a run of the loop with an event gives. */
struct run {
	struct tally	tally;
	uint64_t	count;
	unsigned int	interrupts, switches;
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
	run->switches = thread_switches();
	event_enable(fd);
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
	run->switches = thread_switches() - run->switches;
	run->interrupts = pmis() - run->interrupts;
	run->tally.stops = run->switches;
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

/*
 * A store interrupts when there is room for one more record. A switch to another task takes the
 * samples without an interrupt; behind it the first sample can interrupt, if its period has become
 * longer.
 */
static bool stores_were_full(unsigned int interrupts, unsigned int samples, unsigned int switches,
			     unsigned int words)
{
	unsigned int full = samples / (room_of_store(words) - 1);

	return expect_between("interrupts", interrupts, full > switches ? full - switches : 0,
			      full + switches);
}

static bool has_batches(const struct run *run)
{
	return stores_were_full(run->interrupts, run->tally.samples, run->switches,
				BASIC_WORDS + REGS_WORDS);
}

/* Full stores interrupt. Also those that are read at once at the end have all their samples. */
static bool interrupts_are_few(void)
{
	struct perf_event_attr attr = batch_attr();
	struct run run;

	run_batch(&attr, &run);
	ring_unmap(&run.ring);
	return expect(run.tally.samples > 1000, "%u samples", run.tally.samples) &
	       run_is_exact("instructions", &run) & has_batches(&run);
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
	       has_batches(&run);
}

/* An instruction takes a nanosecond. */
static bool times_are_those_of_records(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int samples = 0, back = 0, apart = 0;
	struct perf_event_header *h;
	uint64_t before = 0, first = 0;
	struct run run;

	attr.sample_type |= PERF_SAMPLE_TIME;
	run_batch(&attr, &run);
	run.ring.tail = 0;
	for (; (h = ring_find(&run.ring, PERF_RECORD_SAMPLE)); samples++) {
		struct sample s;

		sample_parse(&s, h, &attr);
		first = first ?: s.time;
		back += s.time <= before;
		apart += before && (s.time - before < BATCH_PERIOD - 8 ||
				    s.time - before > BATCH_PERIOD + 8);
		before = s.time;
	}
	ring_unmap(&run.ring);
	if (!records_have_time())
		return run_is_exact("times", &run) & expect_eq("samples before the last", back, 0) &
		       expect_between("interrupts", run.interrupts, samples, samples + 1);
	return run_is_exact("times", &run) & has_batches(&run) &
	       expect_eq("samples before the last", back, 0) &
	       /* But for interrupts, those of the timer, too, of which there are 1000 a second. */
	       expect_between("samples that are not a period after the last", apart, 0,
			      run.interrupts + (before - first) / 1000000 + 1);
}

#define BRACKETS	200
#define BRACKET_ROUNDS	200

/* The times before and behind the work of a bracket. */
struct bracket {
	uint64_t	begin, end;
};

/* A page fault of each bracket is at its own page from @pages on. */
static void take_fault_times(struct ring *ring, const struct perf_event_attr *attr,
			     const char *pages, uint64_t *times, unsigned int step)
{
	struct perf_event_header *h;

	while ((h = ring_find(ring, PERF_RECORD_SAMPLE))) {
		uint64_t page;
		struct sample s;

		sample_parse(&s, h, attr);
		page = (s.addr - (uint64_t)pages) / 4096;
		if (page < BRACKETS)
			times[page * step] = s.time;
	}
}

/*
 * The samples of the loop are those of brackets 0, 1 and so on: instructions of the first round
 * follow those of the last one. An instruction takes a nanosecond.
 */
static bool samples_are_in_brackets(struct ring *ring, const struct perf_event_attr *attr,
				    const struct bracket *brackets)
{
	unsigned int samples = 0, outside = 0, nr = 0;
	const struct bracket *b = brackets;
	struct perf_event_header *h;
	int64_t before = -1;

	while ((h = ring_find(ring, PERF_RECORD_SAMPLE))) {
		struct sample s;
		int64_t insn;

		sample_parse(&s, h, attr);
		if (point_of(precise_loop_points, s.ip) < 0)
			continue;
		insn = insn_of(&s, precise_loop_points, BRACKET_ROUNDS,
			       names_insn(attr->precise_ip, h));
		nr += insn < before;
		before = insn;
		samples++;
		if (nr >= BRACKETS)
			break;
		b = &brackets[nr];
		if ((s.time < b->begin + insn ||
		     s.time + BRACKET_ROUNDS * ROUND - insn > b->end) && !outside++)
			ktap_note("bracket %u, %lu to %lu: instruction %ld at %lu", nr, b->begin,
				  b->end, insn, s.time);
	}
	return expect_eq("brackets with samples", nr + 1, BRACKETS) &
	       expect_between("samples in the loop", samples,
			      BRACKETS * (BRACKET_ROUNDS * ROUND / BATCH_PERIOD),
			      BRACKETS * (BRACKET_ROUNDS * ROUND / BATCH_PERIOD + 1)) &
	       expect_eq("samples with a time outside of theirs", outside, 0);
}

/*
 * The times of samples have the clock of other events. The loop runs between two page faults: a
 * sample of the first one is taken when the page is there, and one of the second before.
 */
static bool times_are_between_faults(void)
{
	struct perf_event_attr attr = batch_attr(), fault[2];
	char *begin = fresh_pages(BRACKETS), *end = fresh_pages(BRACKETS);
	static struct bracket brackets[BRACKETS];
	struct ring ring, faults[2];
	int fd, soft[2];

	for (int i = 0; i < 2; i++) {
		fault[i] = sw_attr(i ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_PAGE_FAULTS_MIN);
		fault[i].sample_period = 1;
		fault[i].exclude_kernel = 1;
		fault[i].sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
		soft[i] = open_self(&fault[i], -1);
		if (!ring_map(&faults[i], soft[i], 16))
			fail_case("mmap");
	}
	attr.sample_type |= PERF_SAMPLE_TIME;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	for (unsigned int i = 0; i < BRACKETS; i++) {
		touch_pages(begin + i * 4096, 1);
		precise_loop(BRACKET_ROUNDS, XMM_VALUE);
		touch_pages(end + i * 4096, 1);
	}
	event_disable(fd);
	take_fault_times(&faults[0], &fault[0], begin, &brackets[0].begin, 2);
	take_fault_times(&faults[1], &fault[1], end, &brackets[0].end, 2);
	return samples_are_in_brackets(&ring, &attr, brackets);
}

/* What cannot be had from a record interrupts for each; so does the call that ends the loop. */
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
				       run.tally.samples + 1);
	}
	return good;
}

/*
 * Each read finds the count, with the periods of the records in the store, and the samples of them.
 * The record of the read's own SYSCALL has the address of the kernel: where it does not name the
 * instruction there is no sample of it.
 */
static bool reads_are_exact(void)
{
	unsigned int samples = 0, missing = 0, lost = 0, off = 0;
	struct perf_event_attr attr = batch_attr();
	uint64_t last, now = 0, first;
	struct ring ring;
	int fd;

	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	first = perf_count(fd);
	for (unsigned int i = 0; i < 500; i++) {
		last = perf_count(fd);
		lost += attr.precise_ip == 1 && i && !((last - 1) % BATCH_PERIOD);
		precise_loop(200 + i % 50, XMM_VALUE);
		now = perf_count(fd);
		lost += attr.precise_ip == 1 && !((now - 1) % BATCH_PERIOD);
		/* And the instructions around the loop. */
		off += now - last < (200 + i % 50) * ROUND ||
		       now - last > (200 + i % 50) * ROUND + 200;
		samples += ring_count(&ring, PERF_RECORD_SAMPLE);
		missing += samples + lost < (now - 1 - LATE) / BATCH_PERIOD;
	}
	event_disable(fd);
	last = perf_count(fd);
	samples += ring_count(&ring, PERF_RECORD_SAMPLE);
	lost += attr.precise_ip == 1 && !((last - 1) % BATCH_PERIOD);
	close(fd);
	return expect_eq("differences that are not those of the loop", off, 0) &
	       expect(last - first > 500000, "%lu events", (long)(last - first)) &
	       expect_eq("times that a sample was missing", missing, 0) &
	       expect_between("samples", samples + lost, (last - 1 - LATE) / BATCH_PERIOD,
			      (last - 1) / BATCH_PERIOD);
}

/* Samples of all records so far, those that the store lost, and those that the ring buffer lost. */
static void count_lost(struct ring *ring, uint64_t *samples, uint64_t *lost, uint64_t *no_room)
{
	struct perf_event_header *h;

	while ((h = ring_next(ring))) {
		const uint64_t *body = (void *)(h + 1);

		*samples += h->type == PERF_RECORD_SAMPLE;
		if (h->type == PERF_RECORD_LOST_SAMPLES)
			*lost += body[0];
		if (h->type == PERF_RECORD_LOST)
			*no_room += body[1];
	}
}

#define MOST_TURNS	1000
#define ENOUGH_SAMPLES	100000
/* More than the kernel executes in a turn, if it is no debug kernel. */
#define TURN_INSNS	30000

/*
 * A store has to be full after more instructions than the interrupt of the one before has led to,
 * which wakes the reader. A debug kernel executes so many there that a period is longer with it.
 */
static uint64_t turn_period(struct gate *go, struct gate *back)
{
	struct perf_event_attr attr = hw_attr(PERF_COUNT_HW_INSTRUCTIONS, "k");
	int fd = open_self(&attr, -1);
	uint64_t insns;

	event_enable(fd);
	for (unsigned int i = 0; i < 4; i++) {
		gate_open(go);
		gate_wait(back);
	}
	event_disable(fd);
	insns = perf_count(fd) / 4;
	close(fd);
	return BATCH_PERIOD * (1 + insns / TURN_INSNS);
}

/*
 * Switches and reads at all points of a period, of the kernel's instructions, too. Periods end on
 * the way to the handler of a full store, where there is no room for their records: the last one
 * is late then. A debug kernel has many more periods in a switch and on that way: there the turns
 * end early, with more that are lost.
 */
static bool switches_lose_none(void)
{
	struct perf_event_attr attr = batch_attr();
	struct gate go = gate_new(), back = gate_new();
	uint64_t samples = 0, lost = 0, reported = 0, value[2], count = 0;
	unsigned int missing = 0, i;
	struct ring ring;
	pid_t other;
	int fd;

	MUST(pin_to_cpu(0));
	other = fork_worker(&go, &back, run_other);
	attr.exclude_kernel = 0;
	attr.sample_period = turn_period(&go, &back);
	attr.read_format = PERF_FORMAT_LOST;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 2048))
		fail_case("mmap");
	event_enable(fd);
	for (i = 0; i < MOST_TURNS && samples < ENOUGH_SAMPLES; i++) {
		precise_loop(1 + i % 37, XMM_VALUE);
		gate_open(&go);
		gate_wait(&back);
		precise_loop(1 + i % 41, XMM_VALUE);
		MUST(read(fd, value, sizeof(value)));
		count = value[0];
		count_lost(&ring, &samples, &lost, &reported);
		if (samples + lost + value[1] + 1 < (count - 1) / attr.sample_period && !missing++)
			ktap_note("step %u: %lu samples, %lu lost ones of %lu events", i,
				  (long)samples, (long)lost, (long)count);
	}
	event_disable(fd);
	MUST(read(fd, value, sizeof(value)));
	count_lost(&ring, &samples, &lost, &reported);
	kill_child(other);
	close(fd);
	count = (value[0] - 1) / attr.sample_period;
	return expect(samples >= ENOUGH_SAMPLES / 2, "%lu samples", (long)samples) &
	       expect_eq("times that two samples were missing", missing, 0) &
	       expect_between("samples and lost ones", samples + lost + value[1], count - 1,
			      count) &
	       expect(lost * (i < MOST_TURNS ? 20 : 1000) < samples, "%lu of %lu lost", (long)lost,
		      (long)samples) &
	       expect_eq("without room in the ring buffer", value[1], reported);
}

#define GLOBAL_STATUS_RESET	0x390
#define GLOBAL_STATUS_SET	0x391
#define STATUS_OVF_BUF		0x4000000000000000ull

static bool write_msr(off_t msr, uint64_t val)
{
	int fd = MUST(open("/dev/cpu/0/msr", O_RDWR | O_CLOEXEC));
	bool good = pwrite(fd, &val, sizeof(val), msr) == sizeof(val);

	close(fd);
	return good;
}

/**
 * struct full_store - a store that became full, and what followed
 * @samples: while it was full, and later
 * @lost: the same, samples that the store lost
 * @no_room: samples that the ring buffer lost
 * @count: events at the end of both parts
 * @switched: switches of the task while it was to be full: each empties the store
 */
struct full_store {
	uint64_t	samples[2];
	uint64_t	lost[2];
	uint64_t	no_room;
	uint64_t	count[2];
	long		switched;
};

static void fill_store(struct full_store *f)
{
	struct perf_event_attr attr = batch_attr();
	struct ring ring;
	int fd;

	*f = (struct full_store){ };
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	event_enable(fd);
	if (!write_msr(GLOBAL_STATUS_SET, STATUS_OVF_BUF))
		fail_case("a write of GLOBAL_STATUS_SET");
	f->switched = thread_switches();
	precise_loop(ROUNDS, XMM_VALUE);
	f->count[0] = perf_count(fd);
	count_lost(&ring, &f->samples[0], &f->lost[0], &f->no_room);
	if (!write_msr(GLOBAL_STATUS_RESET, STATUS_OVF_BUF))
		fail_case("a write of GLOBAL_STATUS_RESET");
	f->switched = thread_switches() - f->switched;
	precise_loop(ROUNDS, XMM_VALUE);
	event_disable(fd);
	f->count[1] = perf_count(fd);
	count_lost(&ring, &f->samples[1], &f->lost[1], &f->no_room);
	ring_unmap(&ring);
	close(fd);
}

/*
 * A store that has interrupted, as the status register shows, does not interrupt again when it is
 * full. The periods that end without a record are counted; later samples are there again.
 */
static bool full_stores_lose(void)
{
	struct full_store f;
	unsigned int turn = 0;
	uint64_t ended;

	MUST(pin_to_cpu(0));
	if (!write_msr(GLOBAL_STATUS_SET, 0))
		return expect_errno("parts before version 4 have no such register", -1, EIO);
	do
		fill_store(&f);
	while (f.switched && ++turn < 10);
	ended = (f.count[1] - 1) / BATCH_PERIOD;
	/* The record of the last period that has ended can still be written. */
	return expect_eq("switches", f.switched, 0) &
	       expect_eq("records of a store", f.samples[0],
			 room_of_store(BASIC_WORDS + REGS_WORDS)) &
	       expect(f.lost[0] > 1000, "%lu lost", (long)f.lost[0]) &
	       expect_between("samples and lost ones", f.samples[0] + f.lost[0],
			      (f.count[0] - 1) / BATCH_PERIOD - 1,
			      (f.count[0] - 1) / BATCH_PERIOD) &
	       expect_eq("lost later", f.lost[1], 0) & expect_eq("without room", f.no_room, 0) &
	       expect_between("samples and lost ones at the end",
			      f.samples[0] + f.lost[0] + f.samples[1], ended - 1, ended);
}

/*
 * The samples of an interrupt have no room in the ring buffer together, but some of them have.
 * Those of the first turn that were lost are in a record of the second one.
 */
static bool full_rings_lose(void)
{
	struct perf_event_attr attr = batch_attr();
	uint64_t samples[2] = { 0 }, lost[2] = { 0 }, of_store = 0, value[2][2];
	struct ring ring;
	int fd;

	attr.read_format = PERF_FORMAT_LOST;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 1))
		fail_case("mmap");
	for (int turn = 0; turn < 2; turn++) {
		event_enable(fd);
		precise_loop(ROUNDS, XMM_VALUE);
		event_disable(fd);
		count_lost(&ring, &samples[turn], &of_store, &lost[turn]);
		if (read(fd, value[turn], sizeof(value[turn])) != sizeof(value[turn]))
			fail_case("read");
	}
	close(fd);
	return expect_between("samples that have room", samples[0], 50, 4096 / 32) &
	       expect_eq("lost in the store", of_store, 0) &
	       expect_between("samples and lost ones", samples[0] + value[0][1],
			      (value[0][0] - 1 - LEAST) / BATCH_PERIOD,
			      (value[0][0] - 1) / BATCH_PERIOD) &
	       expect_eq("records of lost ones", lost[0], 0) &
	       expect_between("samples of the second turn", samples[1], 50, 4096 / 32) &
	       expect_eq("records of the lost ones of the first turn", lost[1], value[0][1]) &
	       expect_between("samples and lost ones of both",
			      samples[0] + samples[1] + value[1][1],
			      (value[1][0] - 1 - LEAST) / BATCH_PERIOD,
			      (value[1][0] - 1) / BATCH_PERIOD);
}

#define SLIDE_PERIOD	(4 * SLIDE_ROUND)

/* Number of the instruction in its round; -1: not of the slide */
static int slide_place(uint64_t ip)
{
	uint64_t from = ip - (uint64_t)precise_slide;

	if (ip < (uint64_t)precise_slide || ip >= (uint64_t)precise_slide_end)
		return -1;
	return from < SLIDE_NOPS ? (int)from : from == SLIDE_NOPS ? SLIDE_NOPS : SLIDE_NOPS + 1;
}

/*
 * The rest of a period that is below a limit is made longer when the event is enabled. That moves
 * the end of this one period: all later ones end where they would have. The rounds have a fourth of
 * a period, so samples of a turn are of one instruction of the slide.
 */
static bool short_rests_move_one(void)
{
	struct perf_event_attr attr = batch_attr();
	unsigned int short_rests = 0, moved = 0;
	int first = -1;
	struct ring ring;
	int fd;

	attr.sample_period = SLIDE_PERIOD;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t begin = perf_count(fd);
		struct perf_event_header *h;
		int place = -1;

		event_enable(fd);
		precise_slide(40);
		event_disable(fd);
		while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
			struct sample s;
			int at;

			sample_parse(&s, h, &attr);
			at = slide_place(s.ip);
			place = at < 0 ? place : at;
		}
		if (place < 0)
			fail_case("no sample of the slide");
		short_rests += SLIDE_PERIOD - begin % SLIDE_PERIOD < 128;
		place = (place + begin) % SLIDE_ROUND;
		if (first < 0)
			first = place;
		if (place != first && !moved++)
			ktap_note("turn %u: %d instead of %d, rest %u", i, place, first,
				  (unsigned int)(SLIDE_PERIOD - begin % SLIDE_PERIOD));
	}
	close(fd);
	return expect(short_rests > 200, "%u rests below a limit of 128", short_rests) &
	       expect_eq("turns with periods that are moved", moved, 0);
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

/*
 * Adaptive records do not keep the groups that an event needed once: XMM registers, general ones,
 * and those about data.
 */
static bool records_shrink(void)
{
	struct perf_event_attr attr = batch_attr(), large = attr;
	unsigned int samples, interrupts, switches;
	struct ring ring;
	int fd;

	large.sample_type |= PERF_SAMPLE_ADDR;
	large.sample_regs_intr |= 1ull << PERF_REG_X86_XMM3;
	fd = perf_open(&large, 0, -1, -1, 0);
	if (fd < 0)
		return expect_errno("records of a fixed size", -1, EINVAL);
	event_enable(fd);
	precise_loop(ROUNDS / 40, XMM_VALUE);
	event_disable(fd);
	close(fd);

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
	attr.sample_regs_intr = 0;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 128))
		fail_case("mmap");
	interrupts = pmis();
	switches = thread_switches();
	event_enable(fd);
	precise_loop(10 * ROUNDS, XMM_VALUE);
	event_disable(fd);
	switches = thread_switches() - switches;
	interrupts = pmis() - interrupts;
	samples = ring_count(&ring, PERF_RECORD_SAMPLE);
	close(fd);
	return expect(samples > 15000, "%u samples", samples) &
	       stores_were_full(interrupts, samples, switches, BASIC_WORDS);
}

static const struct test tests[] = {
	{ "many samples to one interrupt, none lost, each at its instruction", interrupts_are_few },
	{ "the periods of the samples are the count", periods_are_the_count },
	{ "samples have the times of their records", times_are_those_of_records },
	{ "samples have times between those of events around them", times_are_between_faults },
	{ "what a record does not have interrupts for each sample", others_interrupt },
	{ "reads between interrupts are exact", reads_are_exact },
	{ "switches at any point of a period lose no sample", switches_lose_none },
	{ "a rest that is too short moves the end of its own period only", short_rests_move_one },
	{ "periods without room in the store are lost, and counted", full_stores_lose },
	{ "samples without room in the ring buffer are lost, and counted", full_rings_lose },
	{ "samples have the period that they end", periods_change },
	{ "samples of an event of a CPU are those of the task that ran", tasks_have_their_own },
	{ "an event that interrupts for each sample joins", other_events_join },
	{ "records shrink after an event with more is closed", records_shrink },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("precise samples of x86", "not an x86")
#endif
