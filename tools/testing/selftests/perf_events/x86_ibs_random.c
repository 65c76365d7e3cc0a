// SPDX-License-Identifier: GPL-2.0
/*
 * The random bits of AMD's instruction based sampling. The counter of ops begins again in seven of
 * them, which the kernel has to leave in the register. Samples are then of all instructions of a
 * loop, whatever its length, and the periods still add up to the ops. That of fetches begins in
 * four of them if an event has rand_en.
 *
 * Instructions are the clock of the machine.
 */
#include "harness.h"

#ifdef __x86_64__
#include "x86_ibs.h"

/* A round is a prime number of instructions: NOPs of a byte, DEC and JNZ. */
#define ODD_ROUND	61

asm(".pushsection .text\n"
	"odd_loop:\n"
	"	.fill 59, 1, 0x90\n"
	"	dec %rdi\n"
	"	jnz odd_loop\n"
	"	ret\n"
	".popsection");
void odd_loop(unsigned long rounds);

#define ODD_SAMPLES	254	/* two for each value of the bits */
#define ODD_PERIOD	4096ull
#define ODD_BYTES	64	/* of code: those of JNZ are the last two */

/* What the samples of the loop show; the instructions by their first byte. */
struct spread {
	unsigned int	samples, inside, different, most;
	unsigned int	at[ODD_BYTES];
	uint64_t	count;
	struct insns	insns;
};

static void spread_add(struct spread *n, uint64_t ip)
{
	uintptr_t at = ip - (uintptr_t)odd_loop;

	n->samples++;
	if (at >= ODD_BYTES)
		return;
	n->inside++;
	n->different += !n->at[at]++;
	if (n->at[at] > n->most)
		n->most = n->at[at];
}

/* @config: CNT_CTL for ops; without it cycles are counted, which have no random bits. */
static struct spread sample_odd_loop(const char *pmu, uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = ibs_attr(pmu, config);
	struct perf_event_header *h;
	struct spread n = { };
	struct ring ring;
	int fd;

	attr.sample_type = PERF_SAMPLE_IP;
	attr.sample_period = period;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 8))
		fail_case("mmap");
	insns_begin(&n.insns);
	event_enable(fd);
	odd_loop(ODD_SAMPLES * period / ODD_ROUND);
	event_disable(fd);
	insns_end(&n.insns);
	n.count = perf_count(fd);
	while ((h = ring_find(&ring, PERF_RECORD_SAMPLE))) {
		struct sample s;

		sample_parse(&s, h, &attr);
		spread_add(&n, s.ip);
	}
	ring_unmap(&ring);
	close(fd);
	return n;
}

/*
 * What the loop executes in a period is a multiple of its round for one in 61 periods that follow
 * each other by 16, whatever the kernel executes in it.
 */
static bool samples_are_spread(void)
{
	struct spread most = { }, few = { .different = ODD_ROUND };

	need_ibs();
	for (unsigned int i = 0; i < ODD_ROUND; i++) {
		struct spread n = sample_odd_loop("ibs_op", CNT_CTL, scale * ODD_PERIOD + 16 * i);

		if (!expect(n.inside >= ODD_SAMPLES / 2, "%u of %u samples in the loop", n.inside,
			    n.samples))
			return false;
		if (n.most > most.most)
			most = n;
		if (n.different < few.different)
			few = n;
	}
	ktap_note("%u of %u samples at most are of one instruction", most.most, most.inside);
	return expect(most.most * 10 <= most.inside, "%u of %u samples are of one instruction",
		      most.most, most.inside) &
	       expect(few.different >= ODD_ROUND * 3 / 4, "%u samples are of %u instructions",
		      few.inside, few.different);
}

/* Instructions of a sample that are not counted: those of the handler. */
static unsigned int insns_of_handler(const struct spread *n)
{
	return (n->insns.user + n->insns.kernel - n->count) / n->samples;
}

/*
 * The samples are the periods in the count, to which the bits add nothing: as many instructions are
 * not counted as with cycles, but for a few of the handler; a debug kernel's handler differs by
 * more than the bits would add in the mean.
 */
static bool periods_are_kept(void)
{
	struct spread ops, cycles;
	uint64_t period;

	need_ibs();
	period = scale * ODD_PERIOD;
	/* What a handler does once only, in the debug kernel above all, is done in first runs. */
	sample_odd_loop("ibs_op", 0, period);
	sample_odd_loop("ibs_op", CNT_CTL, period);
	cycles = sample_odd_loop("ibs_op", 0, period);
	ops = sample_odd_loop("ibs_op", CNT_CTL, period);
	ktap_note("%u instructions of a handler with ops, %u with cycles", insns_of_handler(&ops),
		  insns_of_handler(&cycles));
	return expect_eq("samples of cycles", cycles.samples, cycles.count / period) &
	       expect_between("samples of ops", ops.samples, ops.count / period,
			      (ops.count + MOST_LATE) / period) &
	       expect_near("instructions of a handler", insns_of_handler(&ops),
			   insns_of_handler(&cycles), scale > 1 ? 5000 : 16);
}

/* As insns_of_handler(), in thousandths, for the sum of some runs. */
struct unseen {
	unsigned int	samples;
	uint64_t	insns, count;
};

static uint64_t milli_insns_of_handler(const struct unseen *n)
{
	return (n->insns - n->count) * 1000 / n->samples;
}

static void add_unseen(struct unseen *sum, const struct spread *n)
{
	sum->samples += n->samples;
	sum->insns += n->insns.user + n->insns.kernel;
	sum->count += n->count;
}

#define FETCH_RUNS	16

/*
 * The samples are the periods in the count, and the count is what the counter has counted, each
 * instruction a fetch: the mean of the periods is the one that was asked for. What is not counted
 * for a sample with a fixed period is not counted with a random one, either.
 */
static bool mean_is_the_period(void)
{
	struct unseen fixed = { }, random = { };
	unsigned int missing = 0;
	uint64_t period, mean;
	bool good = true;

	need_ibs();
	period = scale * ODD_PERIOD;
	sample_odd_loop("ibs_fetch", 0, period);
	sample_odd_loop("ibs_fetch", FETCH_RAND, period);
	for (unsigned int i = 0; i < FETCH_RUNS; i++) {
		struct spread n = sample_odd_loop("ibs_fetch", 0, period);

		add_unseen(&fixed, &n);
		/* One that the stop finds in the registers has no record. */
		good &= expect_between("samples of fixed periods", n.samples, n.count / period - 1,
				       n.count / period);
		missing += n.count / period - n.samples;
		n = sample_odd_loop("ibs_fetch", FETCH_RAND, period);
		add_unseen(&random, &n);
		good &= expect_between("samples of random periods", n.samples, n.count / period,
				       (n.count + 15) / period);
	}
	mean = period * 1000 + milli_insns_of_handler(&random) - milli_insns_of_handler(&fixed);
	ktap_note("a random period of %lu has %lu.%03lu fetches", period, mean / 1000, mean % 1000);
	/* The handler of a debug kernel differs from sample to sample. */
	return good & expect_between("periods without a sample", missing, 0, 2) &
	       expect_near_permille("thousandths of fetches", mean, period * 1000,
				    scale > 1 ? 20 : 1);
}

static const struct test tests[] = {
	{ "samples are of all instructions of a loop, whatever its length", samples_are_spread },
	{ "the periods add up to the ops", periods_are_kept },
	{ "the mean of random periods of fetches is the period", mean_is_the_period },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("random bits of instruction based sampling", "not an x86")
#endif
