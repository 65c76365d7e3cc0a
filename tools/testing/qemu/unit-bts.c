// SPDX-License-Identifier: GPL-2.0
/* Checks of the branch trace store, on the bare machine: its buffer is at its physical address. */
#include "unit.h"

#define DEBUGCTL 0x1d9
#define DS_AREA 0x600
/* DEBUGCTL: TR and BTS, BTINT, BTS_OFF_OS, BTS_OFF_USR */
#define BTS_ON 0xc0
#define BTINT 0x100
#define BTS_OFF_OS 0x200
#define BTS_OFF_USR 0x400

static struct {
	u64 base, index, maximum, threshold;
} area;

static struct {
	u64 from, to, flags;
} buffer[256];

/* Room for @nr records; the interrupt is due after @threshold. */
static void bts_prepare(u32 nr, u32 threshold)
{
	for (u32 i = 0; i < ARRAY_SIZE(buffer); i++)
		buffer[i].from = 0;
	area.base = (u32)buffer;
	area.index = (u32)buffer;
	area.maximum = (u32)(buffer + nr);
	area.threshold = (u32)(buffer + threshold);
}

static u32 bts_nr(void)
{
	return ((u32)area.index - (u32)buffer) / sizeof(buffer[0]);
}

static void bts_check_record(const char *what, u32 i, const struct branch *b)
{
	check_eq(what, buffer[i].from, b->from);
	check_eq(what, buffer[i].to, b->to);
	check_eq(what, buffer[i].flags, b->mispredicted ? 0 : 1 << 4);
}

static void bts_check_trace(u32 debugctl)
{
	bts_prepare(256, 256);
	run_branchy(DEBUGCTL, debugctl, 20);
	expect_branchy(20);
	check_eq("records", bts_nr(), nr_expected);
	for (int i = 0; i < nr_expected; i++)
		bts_check_record("record", i, &expected[i]);
	check_eq("none after them", buffer[nr_expected].from, 0);
}

static void bts_check_off(const char *what, u32 debugctl)
{
	bts_prepare(256, 256);
	run_branchy(DEBUGCTL, debugctl, 20);
	check_eq(what, bts_nr(), 0);
}

/* Room for 4 records: without BTINT the fifth is in the place of the first. */
static void bts_check_ring(void)
{
	bts_prepare(4, 4);
	run_branchy(DEBUGCTL, BTS_ON, 1);
	expect_branchy(1);
	check_eq("the ring went round", bts_nr(), nr_expected - 4);
	for (int i = nr_expected - 4; i < nr_expected; i++)
		bts_check_record("newest in the ring", i & 3, &expected[i]);
}

/* The interrupt is behind record 10; and what there is no room for is lost. */
static void bts_check_interrupt(void)
{
	bts_prepare(12, 10);
	nmi_n = 0;
	LVT = 0x400;
	run_branchy(DEBUGCTL, BTS_ON | BTINT, 4);
	expect_branchy(4);
	check_eq("one NMI, which masks the LVT", nmi_n, 1);
	check_eq("LVT", LVT, 0x10400);
	check_eq("after the branch", nmi_eip, expected[9].to);
	check_eq("buffer is full", bts_nr(), 12);
	for (u32 i = 0; i < 10; i++)
		bts_check_record("before the NMI", i, &expected[i]);
	check_eq("the NMI", buffer[10].to, (u32)nmi_h);
	check_eq("nothing beyond", buffer[12].from, 0);
}

void test_bts(void)
{
	u32 r[4];

	get_cpuid(1, 0, r);
	check_eq("64-bit area", r[2] >> 2 & 1, 1);
	check_eq("BTS, no PEBS", read_msr(0x1a0) >> 11 & 3, 2);
	check_eq("DS_AREA out of reset", read_msr(DS_AREA), 0);
	check_write("DS_AREA", DS_AREA, (u32)&area, (u32)&area);
	bts_check_trace(BTS_ON);
	bts_check_trace(BTS_ON | BTS_OFF_USR);
	bts_check_off("TR alone", 0x40);
	bts_check_off("BTS alone", 0x80);
	bts_check_off("ring 0 left out", BTS_ON | BTS_OFF_OS);
	bts_check_ring();
	bts_check_interrupt();
}
