// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of instruction based sampling, on the bare machine: linear addresses are physical ones.
 *
 * ibs_walk() executes known instructions after a write of a control register. The sample is of the
 * instruction with as many others before it as the register has.
 */
#include "unit.h"

u32 ibs_msr, ibs_rounds, ibs_from, ibs_to, ibs_stride, ibs_stack;
u64 ibs_value;

#define FETCH_CTL 0xc0011030
#define FETCH_LINEAR 0xc0011031
#define FETCH_PHYSICAL 0xc0011032
#define OP_CTL 0xc0011033
#define OP_RIP 0xc0011034
#define OP_DATA 0xc0011035
#define OP_DATA2 0xc0011036
#define OP_DATA3 0xc0011037
#define DC_LINEAR 0xc0011038
#define DC_PHYSICAL 0xc0011039
#define IBS_CTL 0xc001103a
#define BR_TARGET 0xc001103b
#define FETCH_EXTD 0xc001103c
#define OP_DATA4 0xc001103d

#define FETCH_EN 0x1000000000000ull
#define FETCH_VAL 0x2000000000000ull
#define FETCH_RANDOM 0x200000000000000ull
#define FETCH_L3_MISS_ONLY 0x800000000000000ull
#define OP_EN 0x20000ull
#define OP_VAL 0x40000ull
#define OP_L3_MISS_ONLY 0x10000ull
#define OP_LDLAT_EN 0x8000000000000000ull
#define OPS 0x80000ull

#define EXT_LVT APIC(0x510)

#define ROUNDS 512
#define STRIDE 0x440
#define ROUND 9
/* The call and the return of a round */
#define CALL_AT 5
#define RET_AT 6
#define INSNS (ROUNDS * ROUND)

static u8 from[ROUNDS * STRIDE + 8] __aligned(32768), to[ROUNDS * STRIDE + 8] __aligned(32768);

/* The low bits from which the op counter has restarted last; 1 out of reset */
static u32 random = 1;

/* CPUID 8000_001B, and whether it is Zen, or Zen 4, or has the filter of latencies */
static u32 caps, zen, zen4, ldlat;

static u32 ibs_ip(u32 insn)
{
	static const u32 after[] = { 0, 2, 4, 0, 9 };
	u32 i = insn % ROUND;

	if (i < 3)
		return (u32)(i == 0 ? ibs_load : i == 1 ? ibs_store : ibs_lock);
	if (i == RET_AT)
		return (u32)ibs_ret;
	if (i == ROUND - 1)
		return (u32)ibs_back;
	return (u32)ibs_next + after[i == 7 ? 4 : i - 3];
}

static u32 ibs_latency(u32 addr)
{
	return 4 << (addr >> 10 & 7);
}

/* Level of the cache that has what is at @addr; 4: none has it */
static u32 ibs_level(u32 addr)
{
	u32 code = addr >> 6 & 15;

	return code == 0 || code >= 8 ? 4 : code >= 4 ? 3 : code >= 2 ? 2 : 1;
}

static u32 ibs_tlb_miss(u32 addr)
{
	return addr >> 13 & 1;
}

static u32 ibs_tlb_latency(u32 addr)
{
	return ibs_tlb_miss(addr) ? ibs_latency(addr) / 2 : 0;
}

/* Address that an instruction loads from or stores to; 0: none */
static u32 ibs_loads(u32 insn)
{
	u32 i = insn % ROUND;

	if (i == RET_AT)
		return ibs_stack - 4;
	return i == 0 || i == 2 ? (u32)from + insn / ROUND * STRIDE : 0;
}

static u32 ibs_stores(u32 insn)
{
	u32 i = insn % ROUND;

	if (i == CALL_AT)
		return ibs_stack - 4;
	return i == 1 ? (u32)to + insn / ROUND * STRIDE : i == 2 ? ibs_loads(insn) : 0;
}

/* Walks with @value in @msr; there is to be one sample and one interrupt, which stop it. */
static void ibs_run(u32 msr, u64 value)
{
	nmi_n = 0;
	ibs_msr = msr;
	ibs_value = value;
	ibs_rounds = ROUNDS;
	ibs_from = (u32)from;
	ibs_to = (u32)to;
	ibs_stride = STRIDE;
	ibs_walk();
}

/* Each number from 1 to 127 in turn */
static u32 ibs_next_random(void)
{
	random = random >> 1 ^ (random & 1 ? 0x60 : 0);
	return random;
}

/* A sample, from which the next count of ops begins in known bits */
static void ibs_sync_random(void)
{
	ibs_run(OP_CTL, 9 | OP_EN | OPS);
	random = read_msr(OP_CTL) >> 32 & 127;
	write_msr(OP_CTL, 0);
}

static u64 ibs_field(u64 v, u32 low, u32 bits)
{
	return (v >> low) & ((1ull << bits) - 1);
}

static void ibs_check_caps(void)
{
	u32 r[4];

	get_cpuid(0x80000001u, 0, r);
	check_eq("IBS, extended APIC", r[2] >> 3 & 0x81, 0x81);
	get_cpuid(0x8000001bu, 0, r);
	caps = r[0];
	zen = caps >> 9 & 1;
	zen4 = caps >> 11 & 1;
	ldlat = caps >> 12 & 1;
	check_eq("fetches, ops", caps & 7, 7);
	check_eq("no other registers", r[1] | r[2] | r[3], 0);
	check_eq("extended registers", APIC(0x30) >> 31, 1);
	check_eq("four entries", APIC(0x400), 4 << 16);
	for (u32 i = 0; i < 4; i++)
		check_eq("masked out of reset", APIC(0x500 + 16 * i), 0x10000);
	check_eq("the offset is valid, 1", read_msr(IBS_CTL), 0x101);
	check_write("that is read only", IBS_CTL, 0, 0x101);
}

static void ibs_check_registers(void)
{
	u64 count = caps >> 6 & 1 ? 0x7ffffffull : 0xfffff;
	u64 op = 0xffff | (caps >> 4 & 1) << 19 | (caps >> 6 & 1 ? 0x7f00000 : 0) | zen4 << 16 |
		 (ldlat ? 0xf800000000000000ull : 0);

	for (u32 i = FETCH_CTL; i < IBS_CTL; i++)
		check_eq("out of reset", read_msr(i), 0);
	check_write("op control", OP_CTL, ~(OP_EN | OP_VAL),
		    op | (caps >> 3 & 1 ? count << 32 : 0));
	write_msr(OP_CTL, 0);
	check_write("fetch control", FETCH_CTL, 0x80000000ffffffffull, 0xffffffff);
	write_msr(FETCH_CTL, 0);
	check_write("address", OP_RIP, 0x123456789abcull, 0x123456789abcull);
	write_msr(OP_RIP, 0);
	check_eq("target of branches", write_msr(BR_TARGET, 0), !(caps >> 5 & 1));
	check_eq("fetch control extended", write_msr(FETCH_EXTD, 0), !(caps >> 9 & 1));
	check_eq("data 4", write_msr(OP_DATA4, 0), !(caps >> 10 & 1));
	EXT_LVT = 0xffffffff;
	check_eq("LVT entry", EXT_LVT, 0x107ff);
	EXT_LVT = 0x400;
}

/* What the data of the load or store of @insn is from: IbsOpData2 */
static u64 ibs_data2(u32 insn)
{
	static const u8 old[] = { 3, 0, 0, 0, 2, 2, 2, 2, 4, 4, 3, 3, 3, 3, 7, 7 };
	static const u8 new[] = { 3, 0, 0, 0, 1, 1, 1, 1, 2, 5, 3, 3, 6, 8, 7, 12 };
	static const u8 nb[] = { 3, 0, 0, 0, 1, 1, 1, 1, 2, 0x12, 3, 0x13, 3, 0x13, 7, 7 };
	u32 addr = ibs_loads(insn), code = addr >> 6 & 15, source = zen4 ? new[code] : old[code];
	u64 v = 0;

	if (!addr)
		return 0;
	v = (source & 7) | (source >> 3) << 6;
	if (code == 11 || code == 13)
		v |= 1 << 4;
	if (!zen)
		v = nb[code];
	if (code >= 4 && code < 10 && code & 1)
		v |= 1 << 5;
	return v;
}

/* IbsOpData3 */
static void ibs_check_memory(u32 insn, u64 v)
{
	u32 i = insn % ROUND, load = ibs_loads(insn), store = ibs_stores(insn);
	u32 addr = load ? load : store, size = i == 1 ? 2 : 4;
	int miss = ibs_level(addr) > 1;

	check_eq("load, store", ibs_field(v, 0, 2), (load ? 1 : 0) | (store ? 2 : 0));
	check_eq("TLB misses", ibs_field(v, 2, 2),
		 ibs_tlb_miss(addr) | (ibs_tlb_miss(addr) & (addr >> 14 & 1)) << 1);
	check_eq("miss", ibs_field(v, 7, 1), miss);
	check_eq("misaligned", ibs_field(v, 8, 1), (addr & 63) + size > 64);
	check_eq("uncached", ibs_field(v, 14, 1), (addr >> 6 & 15) == 14);
	check_eq("locked", ibs_field(v, 15, 1), i == 2);
	check_eq("addresses are valid", ibs_field(v, 17, 2), 3);
	check_eq("L2 miss", ibs_field(v, 20, 1), zen && ibs_level(addr) > 2);
	check_eq("width", ibs_field(v, 22, 4), zen ? size == 2 ? 2 : 3 : 0);
	check_eq("latency", ibs_field(v, 32, 16), load && miss ? ibs_latency(addr) : 0);
	check_eq("latency of the TLB", ibs_field(v, 48, 16), ibs_tlb_latency(addr));
	check_eq("linear address", read_msr(DC_LINEAR), addr);
	check_eq("physical address", read_msr(DC_PHYSICAL), addr);
}

/* IbsOpData, and the target */
static void ibs_check_retired(u32 insn, u64 v)
{
	u32 i = insn % ROUND, load = ibs_loads(insn), complete = (ibs_ip(insn) & 15) + 1;
	int jcc = i == ROUND - 1, branch = jcc || i == CALL_AT || i == RET_AT;
	int taken = branch && insn != INSNS - 1;

	check_eq("completion to retirement", ibs_field(v, 0, 16), complete);
	check_eq("tag to retirement", ibs_field(v, 16, 16),
		 complete + (load ? ibs_latency(load) : 16));
	check_eq("return", ibs_field(v, 34, 1), i == RET_AT);
	check_eq("taken", ibs_field(v, 35, 1), taken);
	check_eq("mispredicted", ibs_field(v, 36, 1), jcc && !taken);
	check_eq("branch", ibs_field(v, 37, 1), branch);
	check_eq("no other bits", v >> 38, 0);
	if (caps >> 5 & 1)
		check_eq("target", read_msr(BR_TARGET), taken ? ibs_ip(insn + 1) : 0);
}

static void ibs_check_op(u32 insn)
{
	check_eq("NMI", nmi_n, 1);
	check_eq("interrupts the next one", nmi_eip,
		 insn == INSNS - 1 ? (u32)ibs_end : ibs_ip(insn + 1));
	check_eq("address", read_msr(OP_RIP), ibs_ip(insn));
	ibs_check_retired(insn, read_msr(OP_DATA));
	check_eq("data 2", read_msr(OP_DATA2),
		 ibs_level(ibs_loads(insn)) == 1 ? 0 : ibs_data2(insn));
	if (ibs_loads(insn) || ibs_stores(insn))
		ibs_check_memory(insn, read_msr(OP_DATA3));
	else
		check_eq("no data", read_msr(OP_DATA3) | read_msr(DC_LINEAR), 0);
}

/* Each period; ops and cycles are the same here */
static void ibs_check_ops(void)
{
	for (u32 max = 1; max < INSNS / 16; max++) {
		ibs_run(OP_CTL, max | OP_EN | (max & 1 ? OPS : 0));
		ibs_check_op(16 * max);
		check_eq("stopped, valid", read_msr(OP_CTL),
			 max | OP_EN | OP_VAL |
			 (max & 1 ? OPS | (u64)ibs_next_random() << 32 : 0));
	}
	write_msr(OP_CTL, 0);
	/* the last jump, which is not taken, by a count to start from */
	if (caps >> 3 & 1) {
		u32 max = INSNS / 16 + 1;

		ibs_run(OP_CTL, max | OP_EN | OPS | (u64)(max * 16 - (INSNS - 1)) << 32);
		ibs_check_op(INSNS - 1);
		write_msr(OP_CTL, 0);
		ibs_run(OP_CTL, 0xffff | OP_EN | OPS);
		write_msr(OP_CTL, read_msr(OP_CTL) & ~OP_EN);
		check_eq("no sample yet", nmi_n, 0);
		/* read_msr() and ibs_walk() have others, too */
		check_eq("count", read_msr(OP_CTL) >> 32 > INSNS, 1);
		write_msr(OP_CTL, 0);
	}
	ibs_run(OP_CTL, 1 | OPS);
	check_eq("not enabled", nmi_n, 0);
	ibs_run(OP_CTL, OP_EN | OPS);
	check_eq("no maximum", nmi_n, 0);
	write_msr(OP_CTL, 0);
	if (caps >> 6 & 1) {
		ibs_run(OP_CTL, 0x100000 | OP_EN | OPS | ((u64)0x100000 - 100) << 32);
		ibs_check_op(100);
		write_msr(OP_CTL, 0);
	}
}

/*
 * Only those are left that have missed L3; a count begins after one that has not, of ops or cycles
 * in random bits.
 */
static void ibs_check_filter(void)
{
	for (u32 max = 9; max < 15; max++) {
		u32 insn = 16 * max;

		ibs_sync_random();
		while (!ibs_loads(insn) || ibs_level(ibs_loads(insn)) < 4)
			insn += 16 * max + 1 - ibs_next_random();
		ibs_run(OP_CTL, max | OP_EN | (max & 1 ? OPS : 0) | OP_L3_MISS_ONLY);
		check_eq("ops that have missed", nmi_n, insn < INSNS);
		if (insn < INSNS)
			ibs_check_op(insn);
		write_msr(OP_CTL, 0);
	}
	for (u32 max = 1; max < 4; max++) {
		u32 insn = 16 * max;

		while (insn < INSNS && ibs_level(ibs_ip(insn)) < 4)
			insn += 16 * max + 1;
		ibs_run(FETCH_CTL, max | FETCH_EN | FETCH_L3_MISS_ONLY);
		check_eq("fetches that have missed", nmi_n, insn < INSNS);
		if (insn < INSNS)
			check_eq("their address", read_msr(FETCH_LINEAR), ibs_ip(insn));
		write_msr(FETCH_CTL, 0);
	}
}

/* ... that have taken longer. No latency of the model is above 512. */
static void ibs_check_latencies(void)
{
	for (u32 least = 0; least < 16; least++) {
		u32 insn = 144;

		ibs_sync_random();
		while (insn < INSNS &&
		       (!ibs_loads(insn) || ibs_level(ibs_loads(insn)) < 2 ||
			ibs_latency(ibs_loads(insn)) <= 128 * (least + 1)))
			insn += 145 - ibs_next_random();
		ibs_run(OP_CTL, 9 | OP_EN | OPS | OP_LDLAT_EN | (u64)least << 59);
		check_eq("loads that are slow", nmi_n, insn < INSNS);
		check_eq("some are", insn < INSNS, least < 3);
		if (insn < INSNS)
			ibs_check_op(insn);
		write_msr(OP_CTL, 0);
	}
}

static void ibs_check_fetch(u32 insn, u32 max)
{
	u32 ip = ibs_ip(insn);
	u64 v = read_msr(FETCH_CTL);

	check_eq("NMI of a fetch", nmi_n, 1);
	check_eq("before the next one", nmi_eip, ibs_ip(insn + 1));
	check_eq("fetched", read_msr(FETCH_LINEAR), ip);
	check_eq("physical", read_msr(FETCH_PHYSICAL), ip);
	check_eq("maximum, count", ibs_field(v, 0, 32), max | max << 16);
	check_eq("latency of the fetch", ibs_field(v, 32, 16), ibs_latency(ip));
	check_eq("enabled, valid, complete", ibs_field(v, 48, 3), 7);
	check_eq("i-cache miss", ibs_field(v, 51, 1), ibs_level(ip) > 1);
	check_eq("physical address is valid", ibs_field(v, 52, 3), 1);
	check_eq("TLB", ibs_field(v, 55, 2),
		 ibs_tlb_miss(ip) | (ibs_tlb_miss(ip) & (ip >> 14 & 1)) << 1);
	check_eq("L2", ibs_field(v, 58, 1), zen && ibs_level(ip) > 2);
	check_eq("op cache", ibs_field(v, 60, 1), zen4 && ibs_level(ip) > 1);
	check_eq("L3", ibs_field(v, 61, 1), zen4 && ibs_level(ip) > 3);
	if (caps >> 9 & 1)
		check_eq("refill", read_msr(FETCH_EXTD), ibs_tlb_latency(ip));
}

static void ibs_check_fetches(void)
{
	for (u32 max = 1; max < INSNS / 16; max++) {
		ibs_run(FETCH_CTL, max | FETCH_EN);
		ibs_check_fetch(16 * max, max);
	}
	/* from a count, and from random bits */
	ibs_run(FETCH_CTL, 20 | 19 << 16 | FETCH_EN);
	ibs_check_fetch(16, 20);
	for (u32 i = 0; i < 16; i++) {
		ibs_run(FETCH_CTL, 2 | FETCH_EN | FETCH_RANDOM);
		ibs_check_fetch(32 - ((7 * i + 3) & 15), 2);
	}
	write_msr(FETCH_CTL, 0);
}

/* Both at once: the interrupt of the second follows, and each has its own instruction. */
static void ibs_check_both(void)
{
	write_msr(FETCH_CTL, 0);
	if (!(caps >> 3 & 1))
		return;
	/* the WRMSR of the second is the first fetch */
	write_msr(FETCH_CTL, 0x10 | FETCH_EN);
	ibs_run(OP_CTL, 1 | OP_EN | OPS);
	check_eq("two NMIs", nmi_n, 2);
	check_eq("op", read_msr(OP_RIP), ibs_ip(16));
	check_eq("fetch is valid", read_msr(FETCH_CTL) & FETCH_VAL, FETCH_VAL);
	write_msr(FETCH_CTL, 0);
	write_msr(OP_CTL, 0);
}

static void ibs_check_lvt(void)
{
	EXT_LVT = 0x10400;
	ibs_run(OP_CTL, 1 | OP_EN | OPS);
	check_eq("masked", nmi_n, 0);
	check_eq("but valid", read_msr(OP_CTL) & OP_VAL, OP_VAL);
	EXT_LVT = 0x40;
	irq_n = 0;
	asm volatile("sti");
	ibs_run(OP_CTL, 1 | OP_EN | OPS);
	asm volatile("cli");
	check_eq("fixed", irq_n, 1);
	check_eq("and not an NMI", nmi_n, 0);
	check_eq("before", irq_eip, ibs_ip(17));
	check_eq("the entry is as it was", EXT_LVT, 0x40);
	write_msr(OP_CTL, 0);
	EXT_LVT = 0x10000;
}

void test_ibs(void)
{
	ibs_check_caps();
	ibs_check_registers();
	ibs_check_ops();
	ibs_check_fetches();
	ibs_check_both();
	if (zen4)
		ibs_check_filter();
	if (ldlat)
		ibs_check_latencies();
	ibs_check_lvt();
}
