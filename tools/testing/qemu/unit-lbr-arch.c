// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of branch records of which register 0 is the newest, on the bare machine: those that
 * CPUID.1CH describes, and AMD's LbrExtV2; and of the buffer of AMD's branch sampling (Zen 3).
 */
#include "unit.h"

#define ARCH_CTL 0x14ce
#define ARCH_DEPTH 0x14cf
#define ARCH_FROM 0x1500
#define ARCH_TO 0x1600
#define ARCH_INFO 0x1200
#define DEBUGCTL 0x1d9
#define AMD_SELECT 0xc000010e
#define AMD_CONFIG 0xc000010f
#define AMD_FROM(i) (0xc0010300 + 2 * (i))
#define AMD_TO(i) (0xc0010301 + 2 * (i))

/* IA32_LBR_CTL: on, ring 0, and all branches */
#define ARCH_ON 0x7f0003u
/* DBG_EXTN_CFG.LBRV2EN */
#define AMD_ON 0x40u

/* The bit of IA32_LBR_CTL that enables a kind, and the type in the record */
static const struct {
	u32 enable, type;
} arch_kinds[] = {
	[JCC] = { 1 << 16, 0 },
	[IND_JMP] = { 1 << 18, 1 },
	[JMP] = { 1 << 17, 2 },
	[IND_CALL] = { 1 << 20, 3 },
	[CALL] = { 1 << 19, 4 },
	[RET] = { 1 << 21, 5 },
	[FAR] = { 1 << 22, 8 },
};

/* Counters that each record has the events of, and the depth in use. */
static u32 arch_events, arch_depth;

void arch_lbr_check_reset(void)
{
	u32 r[4];

	check_eq("format", pmu.caps & 0x3f, 0x3f);
	get_cpuid(7, 0, r);
	check_eq("CPUID.7:EDX[19]", r[3] >> 19 & 1, 1);
	get_cpuid(0x1c, 0, r);
	check_eq("depths 8, 16, 32", r[0], 0x0b);
	check_eq("filters, call-stack mode", r[1], 7);
	check_eq("prediction, cycles, types", r[2] & 0xffff, 7);
	arch_events = r[2] >> 16;
	check_eq("no or four counters", arch_events == 0 || arch_events == 15, 1);
	check_eq("control out of reset", read_msr(ARCH_CTL), 0);
	check_eq("depth out of reset", read_msr(ARCH_DEPTH), 32);
	for (u32 i = 0; i < 32; i++) {
		check_eq("FROM out of reset", read_msr(ARCH_FROM + i), 0);
		check_eq("TO out of reset", read_msr(ARCH_TO + i), 0);
		check_eq("INFO out of reset", read_msr(ARCH_INFO + i), 0);
	}
}

static void arch_check_registers(void)
{
	check_write("control", ARCH_CTL, 0x7f000e, 0x7f000e);
	check_gp("control reserved", ARCH_CTL, 1 << 4);
	check_gp("control reserved", ARCH_CTL, 1 << 23);
	write_msr(ARCH_CTL, 0);
	check_gp("no depth 0", ARCH_DEPTH, 0);
	check_gp("no depth 24", ARCH_DEPTH, 24);
	check_gp("no depth 33", ARCH_DEPTH, 33);
	for (u32 depth = 8; depth <= 32; depth *= 2) {
		check_write("depth", ARCH_DEPTH, depth, depth);
		check_write("FROM", ARCH_FROM + depth - 1, depth, depth);
		check_write("TO", ARCH_TO, 0x123456789abc, 0x123456789abc);
		check_write("INFO", ARCH_INFO, ~0ull, ~0ull);
		if (depth < 32) {
			check_gp("beyond the depth", ARCH_FROM + depth, 0);
			check_gp("beyond the depth", ARCH_INFO + depth, 0);
		}
		check_eq("depth again", write_msr(ARCH_DEPTH, depth), 0);
		check_eq("which wipes", read_msr(ARCH_FROM + depth - 1), 0);
		check_eq("which wipes", read_msr(ARCH_TO), 0);
		check_eq("which wipes", read_msr(ARCH_INFO), 0);
	}
	check_gp("no ring", 0x680, 0);
	check_gp("no TOS", 0x1c9, 0);
	check_gp("no select", 0x1c8, 0);
}

static void arch_check_entry(const char *what, u32 i, const struct branch *b, int cycles)
{
	u64 info = (u64)b->mispredicted << 63 | 1ull << 60;

	info |= (u64)arch_kinds[b->kind].type << 56;
	check_eq(what, read_msr(ARCH_FROM + i), b->from);
	check_eq(what, read_msr(ARCH_TO + i), b->to);
	check_eq(what, read_msr(ARCH_INFO + i) & ~0xffffull, info);
	if (cycles)
		check_eq(what, read_msr(ARCH_INFO + i) & 0xffff, b->cycles);
}

/* The expected branches that @ctl enables, newest first. */
static void arch_check_records(u32 ctl, u32 rounds)
{
	u32 nr = 0;

	write_msr(ARCH_DEPTH, arch_depth);
	run_branchy(ARCH_CTL, ctl, rounds);
	expect_branchy(rounds);
	for (int i = nr_expected - 1; i >= 0; i--) {
		if (!(ctl & 1) || !(arch_kinds[expected[i].kind].enable & ctl))
			continue;
		if (nr < arch_depth)
			arch_check_entry("record", nr, &expected[i], ctl == ARCH_ON && i > 0);
		nr++;
	}
	for (; nr < arch_depth; nr++)
		check_eq("nothing older", read_msr(ARCH_FROM + nr), 0);
}

/* As of the ring; the overflow is after 100 instructions. */
static void arch_check_freeze(void)
{
	struct branch b = { (u32)br_back, (u32)br_loop, JCC, 0, 5 };

	nmi_n = 0;
	LVT = 0x400;
	write_msr(0x186, 0x5200c0);
	write_msr(0xc1, -100ull);
	write_msr(DEBUGCTL, 0x800);
	write_msr(ARCH_CTL, ARCH_ON);
	run_branchy(0x38f, 1, 1000);
	check_eq("NMI", nmi_n, 1);
	check_eq("LBR still on", read_msr(ARCH_CTL), ARCH_ON);
	check_eq("LBR_FRZ", read_msr(0x38e), 1 | 1ull << 58);
	arch_check_entry("frozen", 0, &b, 1);
	write_msr(0x390, 1 | 1ull << 58);
	run_branchy(0x186, 0, 1);
	check_eq("thawed", (u32)read_msr(ARCH_FROM) != b.from, 1);
	write_msr(ARCH_CTL, 0);
	write_msr(DEBUGCTL, 0);
}

static void arch_check_call_stack(void)
{
	for (u32 levels = 1; levels <= 40; levels += 13) {
		write_msr(ARCH_DEPTH, arch_depth);
		nest_msr = ARCH_CTL;
		nest_value = 1 | 2 | 8 | 1 << 19 | 1 << 20 | 1 << 21;
		nest_depth = levels;
		nest();
		for (u32 i = 0; i < arch_depth; i++) {
			u32 from = (u32)(i == levels - 1 ? nest_first : nest_more);

			if (i >= levels || i == arch_depth - 1)
				from = 0;
			check_eq("call", read_msr(ARCH_FROM + i), from);
		}
	}
}

/* Counter 0 has instructions, 2 taken branches, 3 nothing of a record: bit 35 is not set. */
static void arch_check_events(void)
{
	write_msr(ARCH_DEPTH, arch_depth);
	check_write("select bit 35", 0x186, 1ull << 35 | 0x4200c0, 1ull << 35 | 0x4200c0);
	write_msr(0x188, 1ull << 35 | 0x4220c4);
	write_msr(0x189, 0x4200c0);
	write_msr(0x38f, 15);
	run_branchy(ARCH_CTL, ARCH_ON, 4);
	write_msr(0x38f, 0);
	expect_branchy(4);
	for (int i = 0; i < nr_expected - 1; i++) {
		const struct branch *b = &expected[nr_expected - 1 - i];
		u32 insns = b->cycles < 3 ? b->cycles : 3;

		check_eq("events", read_msr(ARCH_INFO + i) >> 32 & 0xff, insns | 1 << 4);
	}
	write_msr(0x186, 0);
	write_msr(0x188, 0);
	write_msr(0x189, 0);
}

void test_arch_lbr(void)
{
	arch_check_registers();
	for (arch_depth = 8; arch_depth <= 32; arch_depth *= 2) {
		arch_check_records(ARCH_ON, 1);
		arch_check_records(ARCH_ON, 20);
		arch_check_records(ARCH_ON & ~1, 4);
		for (u32 bit = 16; bit <= 22; bit++)
			arch_check_records(3 | 1 << bit, 6);
		arch_check_call_stack();
	}
	arch_depth = 32;
	write_msr(ARCH_DEPTH, arch_depth);
	run_branchy(ARCH_CTL, 0x7f0005, 4);
	check_eq("none of ring 0", read_msr(ARCH_FROM), 0);
	arch_check_freeze();
	if (arch_events)
		arch_check_events();
	else
		check_gp("select bit 35", 0x186, 1ull << 35);
}

static void amd_check_entry(const char *what, u32 i, const struct branch *b)
{
	check_eq(what, read_msr(AMD_FROM(i)), (u64)b->mispredicted << 63 | b->from);
	check_eq(what, read_msr(AMD_TO(i)), 1ull << 63 | b->to);
}

/* The expected branches that @select does not suppress, newest first. */
static void amd_check_records(u32 select, u32 rounds)
{
	u32 nr = 0;

	for (u32 i = 0; i < 16; i++) {
		write_msr(AMD_FROM(i), 0);
		write_msr(AMD_TO(i), 0);
	}
	write_msr(AMD_SELECT, select);
	run_branchy(AMD_CONFIG, AMD_ON, rounds);
	expect_branchy(rounds);
	for (int i = nr_expected - 1; i >= 0; i--) {
		if (select & (1 << RING_0 | 1 << expected[i].kind))
			continue;
		if (nr < 16)
			amd_check_entry("record", nr, &expected[i]);
		nr++;
	}
	for (; nr < 16; nr++)
		check_eq("nothing older", read_msr(AMD_TO(nr)), 0);
	write_msr(AMD_SELECT, 0);
}

static void amd_check_freeze(void)
{
	struct branch b = { (u32)br_back, (u32)br_loop, JCC, 0, 5 };

	write_msr(0xc0000301, 0);
	write_msr(0xc0000302, ~0ull);
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0xc0010200, 0x5200c0);
	write_msr(0xc0010201, -100ull);
	write_msr(DEBUGCTL, 0x800);
	write_msr(AMD_CONFIG, AMD_ON);
	run_branchy(0xc0000301, 1, 1000);
	check_eq("NMI", nmi_n, 1);
	check_eq("frozen", read_msr(0xc0000300), 1 | 1ull << 58);
	amd_check_entry("frozen", 0, &b);
	write_msr(0xc0000302, 1 | 1ull << 58);
	check_eq("thawed", read_msr(0xc0000300), 0);
	run_branchy(0xc0010200, 0, 1);
	check_eq("records", (u32)read_msr(AMD_FROM(0)) != b.from, 1);
	write_msr(AMD_CONFIG, 0);
	write_msr(DEBUGCTL, 0);
	write_msr(0xc0000301, 0x3f);
}

void test_amd_lbr(void)
{
	u32 r[4];

	get_cpuid(0x80000022u, 0, r);
	check_eq("LbrExtV2, and its freeze", r[0], 7);
	check_eq("depth", r[1] >> 4 & 0x3f, 16);
	for (u32 i = 0; i < 16; i++)
		check_eq("TO out of reset", read_msr(AMD_TO(i)), 0);
	check_write("select", AMD_SELECT, ~0ull, 0x1ff);
	write_msr(AMD_SELECT, 0);
	check_write("FROM", AMD_FROM(15), 0x123456789abc, 0x123456789abc);
	check_write("TO", AMD_TO(15), 3ull << 62, 3ull << 62);
	check_gp("beyond the depth", AMD_FROM(16), 0);
	amd_check_records(0, 1);
	amd_check_records(0, 20);
	for (u32 bit = 0; bit <= 8; bit++)
		amd_check_records(1 << bit, 6);
	amd_check_freeze();
}

/* DBG_EXTN_CFG: branch sampling is on, for counter 0; status bits */
#define BRS_ON 0x1cu
#define BRS_VALID 0x20u
#define BRS_NEXT(v) ((v) >> 16 & 15)

/* Counter 0 overflows with the 10th taken branch of branchy(). */
static void brs_run(u32 config, u32 rounds)
{
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0xc0010200, 0);
	write_msr(0xc0010201, -10ull);
	write_msr(AMD_CONFIG, config);
	/* Branches after the last write would be records, too. */
	expect_branchy(rounds);
	run_branchy(0xc0010200, 0x5200c4, rounds);
}

static void brs_check_entry(u32 i)
{
	check_eq("FROM", read_msr(AMD_FROM(i)), expected[10 + i].from);
	check_eq("TO", read_msr(AMD_TO(i)), expected[10 + i].to);
}

void test_brs(void)
{
	u32 r[4], config;

	get_cpuid(0x80000008u, 0, r);
	check_eq("CPUID 8000_0008:EBX[31]", r[1] >> 31, 1);
	check_eq("config out of reset", read_msr(AMD_CONFIG), 0);
	check_gp("no select", AMD_SELECT, 0);
	check_gp("beyond the depth", AMD_FROM(16), 0);
	check_write("FROM", AMD_FROM(15), 0x123456789abc, 0x123456789abc);
	check_write("TO", AMD_TO(0), ~0ull, ~0ull);

	brs_run(0, 10);
	check_eq("off: NMI", nmi_n, 1);
	check_eq("at the overflow", nmi_eip, expected[9].to);
	check_eq("no record", read_msr(AMD_TO(0)), ~0ull);

	brs_run(BRS_ON, 10);
	check_eq("NMI", nmi_n, 1);
	check_eq("when the buffer is full", nmi_eip, expected[25].to);
	check_eq("config", read_msr(AMD_CONFIG), BRS_ON | BRS_VALID);
	for (u32 i = 0; i < 16; i++)
		brs_check_entry(i);

	/* Two rounds have 14 branches: the buffer is not full when it is switched off. */
	brs_run(BRS_ON, 2);
	config = read_msr(AMD_CONFIG);
	check_eq("interrupt is held back", nmi_n, 0);
	check_eq("valid", config & BRS_VALID, BRS_VALID);
	check_eq("four records and more", BRS_NEXT(config) >= 4, 1);
	write_msr(AMD_CONFIG, config & ~4u);
	check_eq("until it is off", nmi_n, 1);
	for (u32 i = 0; i < 4; i++)
		brs_check_entry(i);
	write_msr(AMD_CONFIG, 0);
}
