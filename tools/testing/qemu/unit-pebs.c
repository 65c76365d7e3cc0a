// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of precise event based sampling, on the bare machine: records are at their physical
 * address.
 *
 * walk() executes known instructions between two writes of GLOBAL_CTRL. The record of an overflow
 * is that of the event after it, which is the first of the next period: with a period of P, record
 * k is that of event k * P, from 0 on.
 */
#include "unit.h"

u32 walk_on, walk_on_high, walk_rounds, walk_from, walk_to, walk_stride;

#define DS_AREA 0x600
#define PEBS_ENABLE 0x3f1
#define PEBS_DATA_CFG 0x3f2
#define PEBS_LD_LAT 0x3f6
#define DEBUGCTL 0x1d9
#define OVF_BUF 0x4000000000000000ull
/* In the event select, and in FIXED_CTR_CTRL for fixed counter 0 */
#define ADAPTIVE 0x400000000ull
#define FIXED_ADAPTIVE 0x100000000ull

#define ROUNDS 64
#define STRIDE 0x440
/* Instructions in a round */
#define ROUND 6
/* ... and in all; two XOR follow them, and the WRMSR that is counted but leaves no record */
#define WALK (ROUNDS * ROUND)

static struct {
	u64 bts[4];
	u64 base, index, maximum, threshold;
	u64 reset[48];
} area;

static u64 buffer[16384];
static u8 from[ROUNDS * STRIDE] __aligned(8192), to[ROUNDS * STRIDE] __aligned(8192);

/* Format of records, their words, and where the reset values of fixed counters begin */
static u32 format, words, fixed_reset;

static u32 pebs_ip(u32 insn)
{
	static const u32 after[] = { 0, 2, 4 };
	u32 i = insn % ROUND;

	if (insn >= WALK)
		return (u32)walk_end + 2 * (insn - WALK);
	if (i < 2)
		return (u32)(i ? walk_store : walk_load);
	return i == ROUND - 1 ? (u32)walk_back : (u32)walk_next + after[i - 2];
}

/* Room for @nr records; the interrupt is due after @threshold. */
static void pebs_prepare(u32 nr, u32 threshold)
{
	for (u32 i = 0; i < ARRAY_SIZE(buffer); i++)
		buffer[i] = 0;
	area.base = (u32)buffer;
	area.index = (u32)buffer;
	area.maximum = (u32)(buffer + nr * words);
	area.threshold = (u32)(buffer + threshold * words);
	write_msr(0x390, OVF_BUF | pmu.all);
	walk_rounds = ROUNDS;
	walk_from = (u32)from;
	walk_to = (u32)to;
	walk_stride = STRIDE;
}

static u32 pebs_nr(void)
{
	return ((u32)area.index - (u32)buffer) / (8 * words);
}

/* Walks with @evtsel in counter @n, a record every @period events, which has all groups. */
static void pebs_run(u32 n, u32 evtsel, u32 period)
{
	write_msr(0x186 + n, evtsel | (format >= 4 ? ADAPTIVE : 0));
	write_msr(0xc1 + n, -(u64)period);
	area.reset[n] = -(u64)period & pmu.mask;
	walk_on = 1 << n;
	walk_on_high = 0;
	walk();
}

static u64 *pebs_record(u32 k)
{
	return buffer + k * words;
}

static u64 pebs_eventing_ip(const u64 *r)
{
	return format >= 4 ? r[1] : r[22];
}

static u64 pebs_tsc_of(const u64 *r)
{
	return format >= 4 ? r[3] : r[24];
}

/* The registers after instruction @insn of the walk; @r has the flags first. */
static void pebs_check_gprs(const char *what, const u64 *r, u32 insn)
{
	/* index of SI, DI, BP */
	static const u32 old[] = { 6, 7, 8 }, adaptive[] = { 8, 9, 7 };
	const u32 *at = format >= 4 ? adaptive : old;
	u32 round = insn / ROUND, i = insn % ROUND;

	check_eq(what, r[1], pebs_ip(insn + 1));
	check_eq(what, r[at[0]], (u32)from + (round + (i >= 2)) * STRIDE);
	check_eq(what, r[at[1]], (u32)to + (round + (i >= 3)) * STRIDE);
	check_eq(what, r[at[2]], ROUNDS - round - (i >= 4));
	check_eq(what, r[format >= 4 ? 5 : 3], STRIDE);
	/* ZF and PF of the last dec; flags are known after it */
	if (i >= 4)
		check_eq(what, r[0] >> 6 & 1, round == ROUNDS - 1);
	for (u32 k = 10; k < 18; k++)
		check_eq(what, r[k], 0);
}

/* @insn: the instruction that the record is of; @counters: those that it is for. */
static void pebs_check_record(const char *what, const u64 *r, u32 insn, u64 counters)
{
	if (format < 4)
		pebs_check_gprs(what, r, insn);
	if (format >= 2)
		check_eq(what, pebs_eventing_ip(r), pebs_ip(insn));
	if (format >= 4) {
		check_eq(what, r[0] >> 48, 8 * words);
		check_eq(what, r[2], counters);
	} else if (format >= 1) {
		check_eq(what, r[18], counters);
	}
}

static void pebs_check_registers(void)
{
	u64 valid = format == 0 ? 1 : format >= 4 ? pmu.all : 0xf0000000full;

	if (format == 1)
		valid |= 1ull << 63;

	check_eq("PEBS, no BTS", read_msr(0x1a0) >> 11 & 3, 1);
	check_eq("trap, arch_reg", pmu.caps >> 6 & 3, 3);
	check_eq("baseline", pmu.caps >> 14 & 1, format >= 4);
	check_eq("DS_AREA out of reset", read_msr(DS_AREA), 0);
	check_eq("PEBS_ENABLE out of reset", read_msr(PEBS_ENABLE), 0);
	check_write("DS_AREA", DS_AREA, (u32)&area, (u32)&area);
	check_write("PEBS_ENABLE", PEBS_ENABLE, valid, valid);
	for (u32 i = 0; i < 64; i++)
		if (!(valid >> i & 1))
			check_gp("PEBS_ENABLE reserved", PEBS_ENABLE, 1ull << i);
	write_msr(PEBS_ENABLE, 0);
	if (format >= 1) {
		check_eq("threshold out of reset", read_msr(PEBS_LD_LAT), 0);
		check_write("threshold", PEBS_LD_LAT, 0xffff, 0xffff);
		check_gp("threshold reserved", PEBS_LD_LAT, 0x10000);
		write_msr(PEBS_LD_LAT, 0);
	}
	if (format >= 4) {
		check_eq("DATA_CFG out of reset", read_msr(PEBS_DATA_CFG), 0);
		check_write("DATA_CFG", PEBS_DATA_CFG, 0xff00000f, 0xff00000f);
		check_gp("DATA_CFG reserved", PEBS_DATA_CFG, 0x10);
		check_gp("DATA_CFG reserved", PEBS_DATA_CFG, 1ull << 32);
		write_msr(PEBS_DATA_CFG, 0);
	}
}

/* Instructions: each record is of the instruction that it has to be, and the count is exact. */
static void pebs_check_instructions(void)
{
	const u64 period = 7;
	const u32 nr = (WALK + 1) / 7;

	pebs_prepare(nr + 1, nr + 1);
	write_msr(PEBS_ENABLE, 1);
	pebs_run(0, 0x4200c0, period);
	check_eq("records", pebs_nr(), nr);
	for (u32 k = 0; k < pebs_nr() && k < nr; k++) {
		if ((k + 1) * period < WALK)
			pebs_check_record("record", pebs_record(k), (k + 1) * period, 1);
		if (k && format >= 3)
			check_eq("TSC", pebs_tsc_of(pebs_record(k)),
				 pebs_tsc_of(pebs_record(k - 1)) + period);
	}
	check_eq("the counter goes on", read_msr(0xc1), (WALK + 3 - (nr + 1) * period) & pmu.mask);
	check_eq("status is clean", read_msr(0x38e), 0);
	/* a period of 1: each instruction but the first */
	pebs_prepare(100, 101);
	pebs_run(0, 0x4200c0, 1);
	check_eq("records of all", pebs_nr(), 100);
	for (u32 k = 0; k < 100; k++)
		pebs_check_record("each", pebs_record(k), k + 1, 1);
	write_msr(0x390, OVF_BUF | 1);
}

/* Without the bit in PEBS_ENABLE, and for the other level, there is none. */
static void pebs_check_none(void)
{
	pebs_prepare(100, 100);
	write_msr(PEBS_ENABLE, 0);
	pebs_run(0, 0x4200c0, 7);
	check_eq("not enabled", pebs_nr(), 0);
	check_eq("but an overflow", read_msr(0x38e), 1);
	write_msr(0x390, 1);
	write_msr(PEBS_ENABLE, 1);
	pebs_run(0, 0x4100c0, 7);
	check_eq("user only", pebs_nr(), 0);
}

/* The interrupt is right after the third instruction recorded; what has no room is skipped. */
static void pebs_check_interrupt(void)
{
	pebs_prepare(5, 3);
	write_msr(PEBS_ENABLE, 1);
	nmi_n = 0;
	LVT = 0x400;
	pebs_run(0, 0x4200c0, 10);
	check_eq("one NMI, which masks the LVT", nmi_n, 1);
	check_eq("LVT", LVT, 0x10400);
	check_eq("after the instruction", nmi_eip, pebs_ip(31));
	check_eq("status", read_msr(0x38e) & OVF_BUF, OVF_BUF);
	check_eq("buffer is full", pebs_nr(), 5);
	check_eq("nothing beyond", pebs_record(5)[1], 0);
	write_msr(0x390, OVF_BUF | 1);
	check_eq("status is clean", read_msr(0x38e), 0);
	/* no room at all */
	pebs_prepare(0, 1);
	nmi_n = 0;
	LVT = 0x400;
	pebs_run(0, 0x4200c0, 10);
	check_eq("skipped", pebs_nr(), 0);
	check_eq("the buffer is full: NMI", nmi_n, 1);
	LVT = 0x10400;
	write_msr(0x390, OVF_BUF | 1);
}

/* Branches, counted one by one: the jnz of each round. */
static void pebs_check_branches(void)
{
	if (!pmu.exact)
		return;
	pebs_prepare(100, 100);
	write_msr(PEBS_ENABLE, 1);
	pebs_run(0, 0x4200c4, 5);
	check_eq("records of branches", pebs_nr(), (ROUNDS - 1) / 5);
	for (u32 k = 0; k < pebs_nr(); k++)
		pebs_check_record("branch", pebs_record(k), (k + 1) * 5 * ROUND + ROUND - 1, 1);
}

/* Two counters that have their events in one instruction have one record. */
static void pebs_check_both(void)
{
	if (format < 1)
		return;
	pebs_prepare(100, 100);
	write_msr(PEBS_ENABLE, 3);
	write_msr(0x187, 0x4200c0);
	write_msr(0xc2, -30ull);
	area.reset[1] = -30ull & pmu.mask;
	write_msr(0x186, 0x4200c0);
	write_msr(0xc1, -20ull);
	area.reset[0] = -20ull & pmu.mask;
	walk_on = 3;
	walk();
	/* events 20, 30, 40, 60, 80, 90, 100, 120, ... 384 */
	check_eq("records of both", pebs_nr(), 19 + 12 - 6);
	pebs_check_record("first alone", pebs_record(0), 20, 1);
	pebs_check_record("second alone", pebs_record(1), 30, 2);
	pebs_check_record("both", pebs_record(3), 60, 3);
	write_msr(0x187, 0);
	write_msr(PEBS_ENABLE, 0);
}

static u32 pebs_latency(u32 addr)
{
	return 4 << (addr >> 10 & 7);
}

static u32 pebs_source(u32 addr)
{
	return (addr >> 6 & 15) | (addr >> 13 & 1) << 4;
}

/* Where the words of the data are in a record. */
static u64 *pebs_data(u64 *r)
{
	return r + (format >= 4 ? 4 : 19);
}

/* Loads, or stores, of all addresses: one round in three. */
static void pebs_check_accesses(u32 event, int store)
{
	const u32 period = 3;

	pebs_prepare(100, 100);
	write_msr(PEBS_ENABLE, 1);
	pebs_run(0, 0x420000 | event, period);
	check_eq("accesses", pebs_nr(), (ROUNDS - 1) / period);
	for (u32 k = 0; k < pebs_nr(); k++) {
		u32 round = (k + 1) * period;
		u32 addr = (u32)(store ? to : from) + round * STRIDE;

		pebs_check_record("access", pebs_record(k), round * ROUND + store, 1);
		check_eq("address", pebs_data(pebs_record(k))[0], addr);
		check_eq("L1 hit", pebs_data(pebs_record(k))[1], (pebs_source(addr) & 15) == 1);
		check_eq("no latency", pebs_data(pebs_record(k))[2], 0);
	}
}

/* Load latency: above the threshold only, with address, source and latency. */
static void pebs_check_latency(u32 n, u32 event, u32 threshold)
{
	u32 k = 0, round, addr;
	u64 latency;

	pebs_prepare(100, 100);
	write_msr(PEBS_LD_LAT, threshold);
	write_msr(PEBS_ENABLE, format >= 4 ? 1 << n : 1ull << n | 1ull << (32 + n));
	pebs_run(n, 0x420000 | event, 1);
	/* the first only arms */
	for (round = 0; pebs_latency((u32)from + round * STRIDE) <= threshold; round++)
		;
	for (round++; round < ROUNDS; round++) {
		addr = (u32)from + round * STRIDE;
		if (pebs_latency(addr) <= threshold)
			continue;
		pebs_check_record("load", pebs_record(k), round * ROUND, 1 << n);
		check_eq("address", pebs_data(pebs_record(k))[0], addr);
		check_eq("source", pebs_data(pebs_record(k))[1], pebs_source(addr));
		latency = pebs_latency(addr);
		if (pmu.caps >> 17 & 1)
			latency |= latency / 2 << 32;
		check_eq("latency", pebs_data(pebs_record(k))[2], latency);
		k++;
	}
	check_eq("loads", pebs_nr(), k);
	write_msr(0x186 + n, 0);
	write_msr(PEBS_ENABLE, 0);
}

static void pebs_check_memory(void)
{
	if (!pmu.exact || format < 1)
		return;
	if (format >= 4)
		write_msr(PEBS_DATA_CFG, 1);
	words += format >= 4 ? 4 : 0;
	if (format == 1) {
		pebs_check_latency(3, 0x100b, 3);
		pebs_check_latency(3, 0x100b, 64);
	} else {
		pebs_check_accesses(0x81d0, 0);
		pebs_check_accesses(0x82d0, 1);
	}
	pebs_check_latency(0, 0x01cd, 3);
	pebs_check_latency(1, 0x01cd, 32);
	words -= format >= 4 ? 4 : 0;
	if (format >= 4)
		write_msr(PEBS_DATA_CFG, 0);
}

/* An adaptive record with all groups but branches; XMM registers are off here, and 0. */
static void pebs_check_groups(void)
{
	pebs_prepare(1, 2);
	write_msr(PEBS_DATA_CFG, 2);
	words += 18;
	pebs_prepare(10, 10);
	write_msr(PEBS_ENABLE, 1);
	pebs_run(0, 0x4200c0, 50);
	check_eq("records with registers", pebs_nr(), WALK / 50);
	for (u32 k = 0; k < pebs_nr(); k++) {
		pebs_check_record("basic", pebs_record(k), (k + 1) * 50, 1);
		check_eq("groups", pebs_record(k)[0] & 0xffffffff, 2);
		pebs_check_gprs("registers", pebs_record(k) + 4, (k + 1) * 50);
		if (k && pmu.caps >> 17 & 1)
			check_eq("retire latency", pebs_record(k)[0] >> 32 & 0xffff, 50);
	}
	words += 4 + 32;
	write_msr(PEBS_DATA_CFG, 7);
	pebs_prepare(10, 10);
	pebs_run(0, 0x4200c0, 50);
	check_eq("records with all", pebs_nr(), WALK / 50);
	pebs_check_record("basic of all", pebs_record(3), 200, 1);
	pebs_check_gprs("registers of all", pebs_record(3) + 8, 200);
	words -= 18 + 4 + 32;
	/* without the bit there is the first group alone */
	pebs_prepare(10, 10);
	write_msr(0x186, 0x4200c0);
	write_msr(0xc1, -50ull);
	area.reset[0] = -50ull & pmu.mask;
	walk();
	check_eq("records of one group", pebs_nr(), WALK / 50);
	pebs_check_record("one group", pebs_record(3), 200, 1);
	check_eq("no groups", pebs_record(3)[0] & 0xffffffff, 0);
	write_msr(PEBS_DATA_CFG, 0);
	write_msr(PEBS_ENABLE, 0);
}

/* Fixed counter 0; its reset value is behind those of the general counters. */
static void pebs_check_fixed(void)
{
	const u32 period = 11, nr = (WALK + 1) / period;

	pebs_prepare(nr + 1, nr + 1);
	write_msr(PEBS_ENABLE, 1ull << 32);
	area.reset[fixed_reset] = -(u64)period & pmu.mask;
	write_msr(0x309, -(u64)period & pmu.mask);
	check_write("adaptive records", 0x38d, 0x111100000000, 0x111100000000);
	write_msr(0x38d, FIXED_ADAPTIVE | 1);
	walk_on = 0;
	walk_on_high = 1;
	walk();
	write_msr(0x38d, 0);
	check_eq("records of fixed counter 0", pebs_nr(), nr);
	for (u32 k = 0; k < pebs_nr(); k++)
		pebs_check_record("fixed", pebs_record(k), (k + 1) * period, 1ull << 32);
	write_msr(PEBS_ENABLE, 0);
}

void test_pebs(void)
{
	static const u32 sizes[] = { 18, 22, 24, 25, 4, 4 };

	format = pmu.caps >> 8 & 15;
	words = sizes[format];
	fixed_reset = format >= 5 ? 32 : 8;
	pebs_check_registers();
	pebs_check_instructions();
	pebs_check_none();
	pebs_check_interrupt();
	pebs_check_branches();
	pebs_check_both();
	pebs_check_memory();
	if (format >= 4) {
		pebs_check_groups();
		pebs_check_fixed();
	}
	write_msr(PEBS_ENABLE, 0);
	write_msr(0x186, 0);
	write_msr(0x38f, 0);
}
