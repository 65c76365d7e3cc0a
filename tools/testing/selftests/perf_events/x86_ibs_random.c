// SPDX-License-Identifier: GPL-2.0
/*
 * The random bits of AMD's instruction based sampling of ops: the counter begins again in seven of
 * them, which the kernel has to leave in the register. Samples are then of all instructions of a
 * loop, whatever its length, and the periods still add up to the ops.
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
static struct spread sample_odd_loop(uint64_t config, uint64_t period)
{
	struct perf_event_attr attr = ibs_attr("ibs_op", config);
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
		struct spread n = sample_odd_loop(CNT_CTL, scale * ODD_PERIOD + 16 * i);

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
 * not counted as with cycles, but for a few of the handler.
 */
static bool periods_are_kept(void)
{
	struct spread ops, cycles;
	uint64_t period;

	need_ibs();
	period = scale * ODD_PERIOD;
	/* What a handler does once only, in the debug kernel above all, is done in first runs. */
	sample_odd_loop(0, period);
	sample_odd_loop(CNT_CTL, period);
	cycles = sample_odd_loop(0, period);
	ops = sample_odd_loop(CNT_CTL, period);
	ktap_note("%u instructions of a handler with ops, %u with cycles", insns_of_handler(&ops),
		  insns_of_handler(&cycles));
	return expect_eq("samples of cycles", cycles.samples, cycles.count / period) &
	       expect_between("samples of ops", ops.samples, ops.count / period,
			      (ops.count + MOST_LATE) / period) &
	       expect_near("instructions of a handler", insns_of_handler(&ops),
			   insns_of_handler(&cycles), 16 * scale);
}

static const struct test tests[] = {
	{ "samples are of all instructions of a loop, whatever its length", samples_are_spread },
	{ "the periods add up to the ops", periods_are_kept },
};

TESTS_MAIN(tests)
#else
TESTS_MAIN_SKIPPED("random bits of instruction based sampling", "not an x86")
#endif
