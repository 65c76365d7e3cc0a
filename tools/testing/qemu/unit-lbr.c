// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of branch records and of exact counts of branches, on the bare machine.
 *
 * branchy() executes known branches between two writes of an MSR; expect_branchy() lists, from its
 * labels, what must be recorded or counted.
 */
#include "unit.h"

u32 branchy_rounds, branchy_msr, branchy_value, nest_depth, nest_msr, nest_value;

#define LBR_TOS 0x1c9
#define LBR_SELECT 0x1c8
#define DEBUGCTL 0x1d9

#define CALL_STACK 0x200

struct branch expected[512];
int nr_expected;

static void expect_one(char *from, char *to, enum kind kind, int mispredicted, u32 cycles)
{
	expected[nr_expected++] = (struct branch){ (u32)from, (u32)to, kind, mispredicted, cycles };
}

void expect_branchy(u32 rounds)
{
	u32 since = 1;

	nr_expected = 0;
	for (u32 r = rounds; r; r--) {
		expect_one(br_call, br_f, CALL, 0, since);
		expect_one(br_f, br_jmp, RET, 0, 1);
		expect_one(br_jmp, br_1, JMP, 0, 1);
		expect_one(br_ind_call, br_g, IND_CALL, 0, 2);
		expect_one(br_g, br_ind_call + 2, RET, 0, 1);
		expect_one(br_ind_jmp, br_2, IND_JMP, 0, 2);
		since = 5;
		if (!(r & 1)) {
			expect_one(br_skip, br_3, JCC, 1, 2);
			since = 2;
		}
		if (r > 1)
			expect_one(br_back, br_loop, JCC, 0, since);
		since = 1;
	}
}

void run_branchy(u32 msr, u32 value, u32 rounds)
{
	branchy_msr = msr;
	branchy_value = value;
	branchy_rounds = rounds;
	branchy();
}

/* What PERF_CAPABILITIES[5:0] may be, and the other properties of a line of processors. */
static const struct shape {
	u32 model, format, depth, from, to, info, select;
} shapes[] = {
	{ 0x0f, 2, 4, 0x40, 0x60, 0, 0 },
	{ 0x17, 2, 4, 0x40, 0x60, 0, 0 },
	{ 0x1c, 1, 8, 0x40, 0x60, 0, 0 },
	{ 0x37, 2, 8, 0x40, 0x60, 0, 0x1ff },
	{ 0x57, 3, 8, 0x680, 0x6c0, 0, 0x1ff },
	{ 0x1a, 3, 16, 0x680, 0x6c0, 0, 0x1ff },
	{ 0x2a, 3, 16, 0x680, 0x6c0, 0, 0x1ff },
	{ 0x3c, 4, 16, 0x680, 0x6c0, 0, 0x3ff },
	{ 0x55, 5, 32, 0x680, 0x6c0, 0xdc0, 0x3ff },
	{ 0x5c, 6, 32, 0x680, 0x6c0, 0, 0x3ff },
	{ 0x7e, 7, 32, 0x680, 0x6c0, 0xdc0, 0x3ff },
};

static const struct shape *lbr;

static u32 cpu_model(void)
{
	u32 r[4];

	get_cpuid(1, 0, r);
	return (r[0] >> 4 & 15) | (r[0] >> 12 & 0xf0);
}

static void lbr_check_absent(u32 msr)
{
	read_msr(msr);
	check_eq("absent LBR register", read_faulted, 1);
	check_gp("absent LBR register", msr, 0);
}

/* Out of reset all registers are 0. */
void lbr_check_reset(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(shapes); i++)
		if (shapes[i].model == cpu_model())
			lbr = &shapes[i];
	check_eq("model is known", !!lbr, 1);
	if (!lbr)
		return;
	check_eq("format", pmu.caps & 0x3f, lbr->format);
	check_eq("TOS out of reset", read_msr(LBR_TOS), 0);
	if (lbr->select)
		check_eq("select out of reset", read_msr(LBR_SELECT), 0);
	for (u32 i = 0; i < lbr->depth; i++) {
		check_eq("FROM out of reset", read_msr(lbr->from + i), 0);
		check_eq("TO out of reset", read_msr(lbr->to + i), 0);
		if (lbr->info)
			check_eq("INFO out of reset", read_msr(lbr->info + i), 0);
	}
}

static void lbr_check_registers(void)
{
	static const u32 first[] = { 0x40, 0x60, 0x680, 0x6c0, 0xdc0 };

	check_write("TOS", LBR_TOS, lbr->depth - 1, lbr->depth - 1);
	check_gp("TOS beyond the depth", LBR_TOS, lbr->depth);
	write_msr(LBR_TOS, 0);
	if (lbr->select) {
		check_write("select", LBR_SELECT, lbr->select, lbr->select);
		check_gp("select reserved", LBR_SELECT, lbr->select + 1);
		check_gp("select reserved", LBR_SELECT, 1ull << 32);
		write_msr(LBR_SELECT, 0);
	} else {
		lbr_check_absent(LBR_SELECT);
	}
	for (u32 i = 0; i < ARRAY_SIZE(first); i++) {
		u32 f = first[i];

		if (f != lbr->from && f != lbr->to && f != lbr->info) {
			lbr_check_absent(f);
			continue;
		}
		check_write("record", f, 0x123456789abcull + f, 0x123456789abcull + f);
		check_write("last record", f + lbr->depth - 1, f, f);
		if (lbr->depth < (f < 0x100 ? 8 : 32))
			lbr_check_absent(f + lbr->depth);
	}
	if (lbr->format == 4) {
		check_gp("without TSX its flags are the sign", lbr->from, 1ull << 62);
		check_gp("without TSX its flags are the sign", lbr->from, 3ull << 60);
		check_write("without TSX its flags are the sign", lbr->from, 7ull << 60,
			    7ull << 60);
	}
}

static void lbr_wipe(void)
{
	for (u32 i = 0; i < lbr->depth; i++) {
		write_msr(lbr->from + i, 0);
		write_msr(lbr->to + i, 0);
		if (lbr->info)
			write_msr(lbr->info + i, 0);
	}
	write_msr(LBR_TOS, 0);
}

/* Entry @i: 0 is the newest. */
static u32 lbr_entry(u32 i)
{
	return ((u32)read_msr(LBR_TOS) - i) & (lbr->depth - 1);
}

static void lbr_check_entry(const char *what, u32 i, const struct branch *b, int cycles)
{
	u32 n = lbr_entry(i);
	u64 from = b->from, to = b->to;

	if (lbr->format == 3 || lbr->format == 4 || lbr->format == 6)
		from |= (u64)b->mispredicted << 63;
	if (lbr->format == 6)
		to |= (cycles ? b->cycles : read_msr(lbr->to + n) >> 48) << 48;
	check_eq(what, read_msr(lbr->from + n), from);
	check_eq(what, read_msr(lbr->to + n), to);
	if (lbr->info && cycles)
		check_eq(what, read_msr(lbr->info + n), (u64)b->mispredicted << 63 | b->cycles);
}

/* The ring has those of the expected branches that @select does not suppress. */
static void lbr_check_ring(const char *what, u32 select)
{
	u32 nr = 0;

	for (int i = nr_expected - 1; i >= 0; i--) {
		enum kind kind = expected[i].kind;
		u32 bits = 1 << kind | 1 << RING_0;

		/* Nehalem: what suppresses jumps suppresses calls, indirect ones also returns. */
		if (lbr->model == 0x1a && kind == CALL)
			bits |= 1 << JMP;
		if (lbr->model == 0x1a && (kind == IND_CALL || kind == RET))
			bits |= 1 << IND_JMP;
		if (bits & select)
			continue;
		/* The first cycles count from what was before. */
		if (nr < lbr->depth)
			lbr_check_entry(what, nr, &expected[i], !select && i > 0);
		nr++;
	}
	check_eq(what, read_msr(LBR_TOS), nr & (lbr->depth - 1));
	for (u32 i = nr; i < lbr->depth; i++)
		check_eq("nothing older", read_msr(lbr->from + lbr_entry(i)), 0);
}

static void lbr_check_records(void)
{
	static const u32 rounds[] = { 1, 2, 5, 20 };

	for (u32 i = 0; i < 4; i++) {
		lbr_wipe();
		run_branchy(DEBUGCTL, 1, rounds[i]);
		expect_branchy(rounds[i]);
		lbr_check_ring("records", 0);
	}
	lbr_wipe();
	run_branchy(DEBUGCTL, 0, 5);
	nr_expected = 0;
	lbr_check_ring("none while off", 0);
	for (u32 bit = 0; lbr->select >> bit; bit++) {
		if (1 << bit == CALL_STACK)
			continue;
		lbr_wipe();
		write_msr(LBR_SELECT, 1 << bit);
		run_branchy(DEBUGCTL, 1, 6);
		expect_branchy(6);
		lbr_check_ring("select", 1 << bit);
		write_msr(LBR_SELECT, 0);
	}
}

/* An interrupt after 100 instructions. The newest record that is frozen is the branch before it. */
static void lbr_check_freeze(int freeze)
{
	struct branch b;
	u32 debugctl = freeze ? 0x801 : 1;

	lbr_wipe();
	nmi_n = 0;
	LVT = 0x400;
	write_msr(DEBUGCTL, 0);
	write_msr(0x186, 0x5200c0);
	write_msr(0xc1, -100ull);
	write_msr(DEBUGCTL, debugctl);
	run_branchy(0x38f, 1, 1000);
	check_eq("NMI", nmi_n, 1);
	if (freeze && pmu.ver < 4) {
		check_eq("LBR off by the PMI", read_msr(DEBUGCTL), 0x800);
	} else {
		check_eq("LBR still on", read_msr(DEBUGCTL), debugctl);
		check_eq("LBR_FRZ", read_msr(0x38e), 1 | (u64)freeze << 58);
	}
	if (freeze) {
		/* 8 rounds of 25 instructions in two; the interrupt is in front of br_call. */
		b = (struct branch){ (u32)br_back, (u32)br_loop, JCC, 0, 5 };
		check_eq("interrupted", nmi_eip, (u32)br_loop);
		lbr_check_entry("frozen", 0, &b, 1);
	}
	write_msr(0x390, 1);
	if (freeze && pmu.ver >= 4) {
		run_branchy(0x186, 0, 1);
		lbr_check_entry("frozen", 0, &b, 1);
		write_msr(0x390, 1ull << 58);
		check_eq("thawed", read_msr(0x38e), 0);
		run_branchy(0x186, 0, 1);
		check_eq("records", (u32)read_msr(lbr->from + lbr_entry(0)) != b.from, 1);
	}
	write_msr(DEBUGCTL, 0);
	write_msr(0x186, 0);
}

/* A debug exception turns recording off, and is no record itself. */
static void lbr_check_debug_exception(void)
{
	lbr_wipe();
	db_n = 0;
	write_msr(DEBUGCTL, 0x801);
	asm volatile("pushf; orl $0x100,(%%esp); popf; nop" ::: "memory", "cc");
	check_eq("debug exceptions", db_n, 1);
	check_eq("LBR off by a debug exception", read_msr(DEBUGCTL), 0x800);
	check_eq("the return from write_msr() alone", read_msr(LBR_TOS), 1);
	write_msr(DEBUGCTL, 0);
}

/* An interrupt in front of br_call: it and the return are records. */
static void lbr_check_interrupt(void)
{
	struct branch b = { (u32)br_loop, (u32)nmi_h, FAR, 0, 0 };

	lbr_wipe();
	write_msr(LBR_SELECT, 0xfc);
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0x186, 0x5200c0);
	write_msr(0xc1, -100ull);
	write_msr(0x38f, 0);
	write_msr(DEBUGCTL, 1);
	run_branchy(0x38f, 1, 1000);
	write_msr(DEBUGCTL, 0);
	check_eq("NMI", nmi_n, 1);
	check_eq("interrupted", nmi_eip, (u32)br_loop);
	write_msr(0x186, 0);
	write_msr(0x390, 1);
	lbr_check_entry("interrupt", 1, &b, 0);
	check_eq("to where it was", (u32)read_msr(lbr->to + lbr_entry(0)), (u32)br_loop);
	check_eq("two records", read_msr(LBR_TOS), 2);
	write_msr(LBR_SELECT, 0);
}

/* Call-stack mode: calls are pushed, but those to the next instruction; returns pop. */
static void lbr_check_call_stack(void)
{
	for (u32 levels = 1; levels <= 40; levels += 13) {
		lbr_wipe();
		write_msr(LBR_SELECT, CALL_STACK | 1 << JCC | 1 << IND_JMP | 1 << JMP | 1 << FAR);
		nest_msr = DEBUGCTL;
		nest_value = 1;
		nest_depth = levels;
		nest();
		write_msr(LBR_SELECT, 0);
		check_eq("depth of calls", read_msr(LBR_TOS), levels & (lbr->depth - 1));
		for (u32 i = 0; i < lbr->depth; i++) {
			u64 from = read_msr(lbr->from + lbr_entry(i));

			/* In a full ring the inmost call of nest_leaf has wiped the oldest. */
			if (i >= levels || i == lbr->depth - 1)
				check_eq("no call", from, 0);
			else
				check_eq("call", from,
					 (u32)(i == levels - 1 ? nest_first : nest_more));
		}
	}
}

void test_ring_lbr(void)
{
	if (!lbr)
		return;
	lbr_check_registers();
	lbr_check_records();
	lbr_check_freeze(0);
	lbr_check_freeze(1);
	lbr_check_debug_exception();
	if (lbr->select)
		lbr_check_interrupt();
	if (lbr->select & CALL_STACK)
		lbr_check_call_stack();
}

/* Counts of branchy() by kind: 100 rounds, of which every other skips. */
void test_exact_branches(void)
{
	static const struct {
		u32 umask, want, want_v5, mispredicted, mispredicted_v5;
	} events[] = {
		{ 0x00, 800, 800, 51, 51 },
		{ 0x01, 200, 149, 51, 50 },
		{ 0x02, 200, 200, 0, 0 },
		{ 0x08, 200, 200, 0, 0 },
		{ 0x10, 51, 51, 1, 1 },
		{ 0x20, 749, 749, 50, 50 },
		{ 0x40, 0, 0, 0, 0 },
		{ 0x11, 0, 200, 0, 51 },
		{ 0x80, 0, 200, 0, 0 },
	};
	int v5 = pmu.ver >= 5;

	for (u32 i = 0; i < ARRAY_SIZE(events); i++) {
		for (int miss = 0; miss < 2; miss++) {
			u32 want = v5 ? events[i].want_v5 : events[i].want;

			if (miss)
				want = v5 ? events[i].mispredicted_v5 : events[i].mispredicted;
			write_msr(0x186, (0x4200c4 + miss) | events[i].umask << 8);
			write_msr(0xc1, 0);
			run_branchy(0x38f, 1, 100);
			check_eq(miss ? "mispredicted branches" : "branches", read_msr(0xc1), want);
		}
	}
	write_msr(0x186, 0x4100c4);
	write_msr(0xc1, 0);
	run_branchy(0x38f, 1, 100);
	check_eq("USR only counts no branch at CPL 0", read_msr(0xc1), 0);
	write_msr(0x186, 0);
}
