/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of AMD's instruction based sampling share: attributes, and periods that are longer
 * than the kernel's part of them.
 */
#ifndef X86_IBS_H
#define X86_IBS_H

#include "x86_precise.h"
#include "x86_rdpmc.h"

#define IBS_LEAF	0x8000001b
#define HAS_L2		0x200		/* bits of its EAX: Zen */
#define HAS_ZEN4	0x800
#define HAS_LDLAT	0x1000

#define CNT_CTL		0x80000ull	/* of ibs_op: ops, not cycles */
#define OP_L3_MISS	0x10000ull
#define FETCH_RAND	0x200000000000000ull
#define FETCH_L3_MISS	0x800000000000000ull

/* A multiple of 16 that is none of the rounds of the loops. */
#define IBS_PERIOD	4112

static uint32_t ibs_caps(void)
{
	uint32_t a, b, c, d;

	if (__get_cpuid_max(0x80000000, NULL) < IBS_LEAF)
		return 0;
	__cpuid(IBS_LEAF, a, b, c, d);
	return a;
}

/* need_ibs() sets it: periods and loops are so many times as long. A power of two. */
static unsigned int scale;

#define SAMPLED_PERIOD	((uint64_t)scale * IBS_PERIOD)
#define SAMPLED_ROUNDS	(20ul * ROUNDS * scale)
#define MOST_OF(n)	((n) * (scale > 1 ? 16 : 19) / 20)	/* fewer on a debug kernel */

/* Ops have the registers, from which op_length() is known. */
static struct perf_event_attr ibs_attr(const char *pmu, uint64_t config)
{
	struct perf_event_attr attr = perf_attr(perf_pmu_type(pmu), config);

	attr.disabled = 1;
	attr.sample_period = SAMPLED_PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = loop_regs;
	if (!strcmp(pmu, "ibs_op"))
		attr.sample_type |= PERF_SAMPLE_RAW;
	return attr;
}

/* A period is longer than the kernel's part of it, which a debug kernel makes long. */
static void choose_scale(void)
{
	struct perf_event_attr attr = ibs_attr("ibs_op", 0);
	unsigned int samples;
	struct insns insns;
	struct ring ring;
	int fd;

	attr.sample_period = 64 * IBS_PERIOD;
	fd = open_self(&attr, -1);
	if (!ring_map(&ring, fd, 16))
		fail_case("mmap");
	insns_begin(&insns);
	event_enable(fd);
	precise_loop(20 * ROUNDS, XMM_VALUE);
	event_disable(fd);
	insns_end(&insns);
	samples = ring_count(&ring, PERF_RECORD_SAMPLE);
	ring_unmap(&ring);
	close(fd);
	if (!samples)
		fail_case("a sample");
	scale = 1;
	while (insns.kernel / samples > SAMPLED_PERIOD)
		scale *= 2;
}

static void need_ibs(void)
{
	if (perf_pmu_type("ibs_op") < 0 || perf_pmu_type("ibs_fetch") < 0)
		skip_case("no instruction based sampling");
	require_exact_instructions();
	allow_any_rate();
	choose_scale();
}

/* What PERF_SAMPLE_RAW has of an op. */
struct raw_op {
	uint32_t	caps;
	uint64_t	ctl, rip, data, data2, data3, linear, physical;
} __packed;

static uint64_t op_maximum(uint64_t ctl)
{
	return ((ctl & 0xffff) | (ctl >> 20 & 0x7f) << 16) << 4;
}

static unsigned int op_random(uint64_t ctl)
{
	return ctl >> 32 & 127;
}

/* Most events by which a period ends late: the low bits from which its count began, and 15. */
#define MOST_LATE	142

/*
 * Events that the counter has counted for a sample with the control @ctl. It began with the low
 * bits in @last, the control of the sample before. A maximum below the period is the rest of one
 * that was interrupted by a stop.
 */
static uint64_t op_length(uint64_t ctl, uint64_t last)
{
	uint64_t maximum = op_maximum(ctl);

	return maximum < SAMPLED_PERIOD ? SAMPLED_PERIOD + MOST_LATE : maximum - op_random(last);
}

#endif /* X86_IBS_H */
