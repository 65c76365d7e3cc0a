// SPDX-License-Identifier: GPL-2.0
/* Checks of AMD's PMUs: K7 style, core performance counters, version 2. */
#include "unit.h"

/* MSRs of the global control, and of the first control and counter; the next are at +step. */
#define AMD_GLOBAL 0xc0000301
static struct {
	u32 ctl, ctr, step;
	int n;			/* counters */
	int v2;			/* performance monitoring version 2 */
	int exact;		/* branches are counted one by one */
} amd;

static void amd_check_registers(int core)
{
	const u64 mask = (1ull << 48) - 1;

	check_write("ctl, reserved bits dropped", amd.ctl, ~0ull & ~(1ull << 22),
		    0x0000030fff97ffffull);
	write_msr(amd.ctl, 0);
	check_write("ctr", amd.ctr, ~0ull, mask);
	check_write("ctr 32 bit stays", amd.ctr, 0x80000000u, 0x80000000u);
	check_eq("rdpmc", read_pmc(0), 0x80000000u);
	read_pmc(amd.n);
	check_eq("rdpmc absent", read_faulted, 1);
	read_pmc(1u << 30);
	check_eq("no fixed", read_faulted, 1);
	if (core) {
		check_eq("legacy alias", read_msr(0xc0010004), 0x80000000u);
		write_msr(0xc0010205, 77);
		check_eq("alias of 2", read_msr(0xc0010006), 77);
	} else {
		read_msr(0xc0010200);
		check_eq("no core MSRs", read_faulted, 1);
	}
	check_eq("evtsel 3", write_msr(amd.ctl + 3 * amd.step, 0), 0);
	read_msr(0x186);
	check_eq("no Intel MSRs", read_faulted, 1);
	read_msr(0xc0000300);
	check_eq("v2 MSRs", read_faulted, !amd.v2);
}

static void amd_check_global(void)
{
	check_write("global ctl", AMD_GLOBAL, ~0ull, 0x3f);
	check_eq("status write ignored", write_msr(0xc0000300, 1), 0);
	check_eq("status", read_msr(0xc0000300), 0);
	write_msr(0xc0000303, 1);
	check_eq("set", read_msr(0xc0000300), 1);
	write_msr(0xc0000302, 1);
	check_eq("cleared", read_msr(0xc0000300), 0);
}

static void amd_check_overflow(void)
{
	for (int k = 0; k < 2; k++) {
		irq_n = 0;
		nmi_n = 0;
		LVT = k ? 0x40 : 0x400;
		write_msr(amd.ctr, -501ull);
		if (k)
			asm volatile("sti");
		run_loop(amd.ctl, 0x5200c0, 1000);
		asm volatile("cli");
		write_msr(amd.ctl, 0);
		check_eq(k ? "irq" : "nmi", k ? irq_n : nmi_n, 1);
		check_eq("exact", k ? irq_eip : nmi_eip, loop_start);
		check_eq("LVT not masked", LVT, k ? 0x40 : 0x400);
		if (amd.v2) {
			check_eq("status", read_msr(0xc0000300), 1);
			write_msr(0xc0000302, 1);
		}
	}
}

static void amd_check_global_overflow(void)
{
	write_msr(AMD_GLOBAL, 0);
	write_msr(amd.ctl, 0x5200c0);
	write_msr(amd.ctr, 0);
	run_loop(AMD_GLOBAL, 0, 100);
	check_eq("globally off", read_msr(amd.ctr), 0);
	write_msr(amd.ctr, -501ull);
	nmi_n = 0;
	LVT = 0x400;
	run_loop(AMD_GLOBAL, 1, 1000);
	write_msr(AMD_GLOBAL, 0);
	check_eq("nmi by global", nmi_n, 1);
	check_eq("exact", nmi_eip, loop_start);
	write_msr(amd.ctl, 0);
	write_msr(AMD_GLOBAL, 0x3f);
}

static void amd_check_events(void)
{
	u64 cyc;

	write_msr(amd.ctl + amd.step, 0);
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x420076, 1000);
	write_msr(amd.ctl, 0);
	cyc = read_msr(amd.ctr);
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x4200c0, 1000);
	write_msr(amd.ctl, 0);
	check_eq("cycles = insns (shift 0)", cyc, read_msr(amd.ctr));
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x4200c2, 1000);
	write_msr(amd.ctl, 0);
	if (!amd.exact)
		check_eq("branches", read_msr(amd.ctr), cyc / 4);
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x100420120ull, 1000);
	write_msr(amd.ctl, 0);
	check_eq("ref cycles", read_msr(amd.ctr), cyc);
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x420024, 1000);
	write_msr(amd.ctl, 0);
	check_eq("unknown", read_msr(amd.ctr), 0);
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x4007e0, 1000);
	write_msr(amd.ctl, 0);
	check_eq("northbridge, of no level", read_msr(amd.ctr), 0);
	write_msr(amd.ctr, 0);
	run_loop(amd.ctl, 0x4207e0, 1000);
	write_msr(amd.ctl, 0);
	check_eq("northbridge", read_msr(amd.ctr), amd.step == 1 ? cyc : 0);
}

/* Counts of branchy() by kind: 100 rounds, of which every other skips. */
static void amd_check_exact_branches(void)
{
	static const struct {
		u32 event, want;
		const char *name;
	} events[] = {
		{ 0xc2, 800, "branches" },
		{ 0xc3, 51, "mispredicted branches" },
		{ 0xc4, 749, "taken branches" },
		{ 0xc5, 50, "mispredicted taken branches" },
		{ 0xc6, 0, "far transfers" },
		{ 0xc8, 200, "returns" },
		{ 0xcc, 200, "indirect branches" },
		{ 0xd1, 200, "conditional branches" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(events); i++) {
		write_msr(amd.ctr, 0);
		run_branchy(amd.ctl, 0x420000 | events[i].event, 100);
		check_eq(events[i].name, read_msr(amd.ctr), events[i].want);
		write_msr(amd.ctr, 0);
		run_branchy(amd.ctl, 0x410000 | events[i].event, 100);
		check_eq("USR only counts no branch at CPL 0", read_msr(amd.ctr), 0);
	}
}

/* What the loop adds to counter 0 with select @sel; counter 0 starts from @from. */
static __noclone u64 amd_count_from(u64 from, u64 sel)
{
	write_msr(amd.ctr, from);
	run_loop(amd.ctl, sel, 1000);
	write_msr(amd.ctl, 0);
	return read_msr(amd.ctr);
}

/* FLOPs of which each instruction is 64, and MergeEvent, which the odd counter must have for it. */
#define AMD_FLOPS	0x524003
#define AMD_MERGE	0xf004000ffull

static void amd_check_pair_overflow(u64 insns)
{
	const u64 odd = amd.ctr + amd.step;

	nmi_n = 0;
	LVT = 0x400;
	write_msr(odd, 0);
	check_eq("carry", amd_count_from((1ull << 48) - 640, AMD_FLOPS),
		 (1ull << 48) + 64 * insns - 640);
	check_eq("carry into the odd counter", read_msr(odd), 1);
	check_eq("no overflow of 48 bits", nmi_n, 0);
	write_msr(odd, 0xffff);
	/* The handler has four instructions. */
	check_eq("overflow", amd_count_from(-501ull * 64, AMD_FLOPS), 64 * (insns + 4 - 501));
	check_eq("nmi of the pair", nmi_n, 1);
	check_eq("exact", nmi_eip, loop_start);
	check_eq("odd counter at 0", read_msr(odd), 0);
	if (amd.v2) {
		check_eq("status of the pair", read_msr(0xc0000300), 1);
		write_msr(0xc0000302, 1);
		write_msr(AMD_GLOBAL, 0x3f & ~2);
		check_eq("odd counter off", amd_count_from(0, AMD_FLOPS), 15 * insns);
		write_msr(AMD_GLOBAL, 0x3f);
	}
}

static void amd_check_pair(void)
{
	u64 insns = amd_count_from(0, 0x5200c0);

	check_eq("FLOPs, alone", amd_count_from(0, AMD_FLOPS), 15 * insns);
	check_eq("8 FLOPs, alone", amd_count_from(0, 0x520803), 8 * insns);
	write_msr(amd.ctl + amd.step, AMD_MERGE & ~(1ull << 22));
	check_eq("FLOPs, MergeEvent off", amd_count_from(0, AMD_FLOPS), 15 * insns);
	write_msr(amd.ctl + amd.step, AMD_MERGE);
	write_msr(amd.ctr + amd.step, 0);
	check_eq("FLOPs, merged", amd_count_from(0, AMD_FLOPS), 64 * insns);
	check_eq("255 FLOPs, merged", amd_count_from(0, 0x52ff03), 255 * insns);
	check_eq("rdpmc, merged", read_pmc(0), 255 * insns);
	check_eq("odd counter", read_msr(amd.ctr + amd.step), 0);
	check_eq("other events, merged", amd_count_from(0, 0x5200c0), insns);
	amd_check_pair_overflow(insns);
	write_msr(amd.ctl + amd.step, 0);
	write_msr(amd.ctr + amd.step, 0);
	write_msr(amd.ctr, 0);
}

void test_amd(int core, int v2, int lbr)
{
	u32 r[4];

	put_string("amd core ");
	put_hex(core);
	put_string(" v2 ");
	put_hex(v2);
	put_string("\n");
	amd.ctl = core ? 0xc0010200 : 0xc0010000;
	amd.ctr = core ? 0xc0010201 : 0xc0010004;
	amd.step = core ? 2 : 1;
	amd.n = core ? 6 : 4;
	amd.v2 = v2;
	get_cpuid(0x4f504d55, ~0u, r);
	amd.exact = r[1] >> 1 & 1;
	amd_check_registers(core);
	if (v2)
		amd_check_global();
	amd_check_overflow();
	if (v2)
		amd_check_global_overflow();
	amd_check_events();
	if (amd.exact)
		amd_check_exact_branches();
	if (core)
		amd_check_pair();
	if (lbr)
		test_amd_lbr();
}
