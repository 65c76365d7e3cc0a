// SPDX-License-Identifier: GPL-2.0
/*
 * Register-level checks of the PMU model on the bare machine (multiboot, 32 bits).
 *
 * Prints to the serial port. The exit status, by isa-debug-exit, is 1 if all checks pass, else 3.
 * Runs with -icount shift=0, so that one instruction takes one cycle.
 */
#include "unit.h"

static const u32 multiboot_header[3] __section(".multiboot") __used = {
	0x1BADB002, 0, -0x1BADB002
};

static u8 stack[16384] __aligned(16) __used;
asm(".globl _start\n_start: cli; mov $stack+16384,%esp; call cmain; 1: hlt; jmp 1b");
static inline void out_byte(u16 p, u8 v)
{
	asm volatile("outb %0,%1" ::"a"(v), "Nd"(p));
}

static void put_char(char c)
{
	out_byte(0x3f8, c);
}

void put_string(const char *s)
{
	while (*s)
		put_char(*s++);
}

void put_hex(u64 v)
{
	char b[17];

	for (int i = 15; i >= 0; i--) {
		b[i] = "0123456789abcdef"[v & 15];
		v >>= 4;
	}
	b[16] = 0;
	char *p = b;

	while (*p == '0' && p[1])
		p++;
	put_string(p);
}

static int nr_failed, nr_checks;
void check_eq(const char *n, u64 got, u64 want)
{
	nr_checks++;
	if (got != want) {
		nr_failed++;
		put_string("FAIL ");
		put_string(n);
		put_string(" got ");
		put_hex(got);
		put_string(" want ");
		put_hex(want);
		put_string("\n");
	}
}

volatile u32 gp, gp_err, nmi_n, nmi_eip, irq_n, irq_eip, db_n;

asm(".globl gp_h, nmi_h, irq_h, db_h");
asm("gp_h: movl $1,gp; popl gp_err; addl $2,(%esp); mov $0xdead,%eax; iret");
asm("nmi_h: incl nmi_n; pushl (%esp); popl nmi_eip; iret");
/* After a single step; does not step on. */
asm("db_h: incl db_n; andl $~0x100,8(%esp); iret");
asm("irq_h: incl irq_n; pushl (%esp); popl irq_eip; movl $0,0xfee000b0; iret");
static struct {
	u16 lo, sel;
	u8 z, t;
	u16 hi;
} __packed idt[256];

static struct {
	u16 l;
	u32 b;
} __packed idtr;

static u64 gdt[3] = { 0, 0x00cf9a000000ffffull, 0x00cf92000000ffffull };
static struct {
	u16 l;
	u32 b;
} __packed gdtr;

static void set_gate(int n, void *h)
{
	u32 a = (u32)h;

	idt[n].lo = a;
	idt[n].sel = 8;
	idt[n].z = 0;
	idt[n].t = 0x8e;
	idt[n].hi = a >> 16;
}

int write_msr(u32 m, u64 v)
{
	gp = 0;
	asm volatile("wrmsr" ::"c"(m), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
	return gp;
}

int read_faulted;
u64 read_msr(u32 m)
{
	u32 a, d;

	gp = 0;
	asm volatile("rdmsr" : "=a"(a), "=d"(d) : "c"(m) : "memory");
	read_faulted = gp;
	return a | (u64)d << 32;
}

u64 read_pmc(u32 i)
{
	u32 a, d;

	gp = 0;
	asm volatile("rdpmc" : "=a"(a), "=d"(d) : "c"(i) : "memory");
	read_faulted = gp;
	return a | (u64)d << 32;
}

void get_cpuid(u32 l, u32 s, u32 *r)
{
	asm volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(l), "c"(s));
}

u32 loop_start;
void run_loop(u32 m, u64 v, u32 n)
{
	u32 a;

	asm volatile("wrmsr; mov %4,%%esi; 1: dec %%esi; jnz 1b; mov $1b,%0"
		     : "=&r"(a)
		     : "c"(m), "a"((u32)v), "d"((u32)(v >> 32)), "r"(n)
		     : "esi", "memory", "cc");
	loop_start = a;
}

void check_write(const char *n, u32 m, u64 w, u64 want)
{
	check_eq(n, write_msr(m, w), 0);
	check_eq(n, read_msr(m), want);
}

void check_gp(const char *n, u32 m, u64 v)
{
	gp_err = 99;
	check_eq(n, write_msr(m, v), 1);
	check_eq("error code 0", gp_err, 0);
}

static __noclone u64 count_loop(u32 n)
{
	write_msr(0xc1, 0);
	run_loop(0x38f, 1, n);
	write_msr(0x38f, 0);
	return read_msr(0xc1);
}

u8 sink[8192];
static __noclone u64 count_rep(u32 en, u64 v, u32 ctr, u32 off, u32 n)
{
	write_msr(ctr, 0);
	u32 c = en;

	asm volatile("wrmsr; mov %3,%%ecx; lea sink,%%edi; rep stosb"
		     : "+c"(c)
		     : "a"((u32)v), "d"((u32)(v >> 32)), "S"(n)
		     : "edi", "memory");
	write_msr(en, 0);
	return read_msr(ctr);
}

struct pmu pmu;

static void intel_describe(const u32 *a)
{
	u32 r[4];

	get_cpuid(1, 0, r);
	pmu.model = (r[0] >> 4 & 15) | (r[0] >> 12 & 0xf0);
	pmu.ver = a[0] & 255;
	pmu.n = (a[0] >> 8) & 255;
	pmu.w = (a[0] >> 16) & 255;
	pmu.nf = a[3] & 31;
	if (pmu.ver >= 6) {
		/* Those of this machine have no gaps. */
		get_cpuid(0x23, 1, r);
		pmu.n = __builtin_ctz(~r[0]);
		pmu.nf = __builtin_ctz(~r[1]);
		get_cpuid(1, 0, r);
	}
	pmu.pdcm = r[2] >> 15 & 1;
	pmu.bts = (r[3] >> 21 & 1) && !(read_msr(0x1a0) >> 11 & 1);
	pmu.pebs = (r[3] >> 21 & 1) && !(read_msr(0x1a0) >> 12 & 1);
	get_cpuid(7, 0, r);
	pmu.tfa = r[3] >> 13 & 1;
	pmu.caps = pmu.pdcm ? read_msr(0x345) : 0;
	pmu.fw = pmu.caps >> 13 & 1;
	get_cpuid(0x4f504d55, ~0u, r);
	pmu.exact = r[1] >> 1 & 1;
	pmu.mask = (1ull << pmu.w) - 1;
	pmu.all = ((1ull << pmu.n) - 1) | ((1ull << pmu.nf) - 1) << 32;
	pmu.fc = 0;
	for (int i = 0; i < (int)pmu.nf; i++)
		pmu.fc |= (pmu.ver == 3 || pmu.ver == 4 ? 15ull : 11ull) << (4 * i);
	put_string("intel v");
	put_hex(pmu.ver);
	put_string(" gp ");
	put_hex(pmu.n);
	put_string(" fixed ");
	put_hex(pmu.nf);
	put_string(" width ");
	put_hex(pmu.w);
	put_string("\n");
}

static void intel_check_selects(void)
{
	check_eq("GLOBAL_CTRL out of reset", read_msr(0x38f), (1ull << pmu.n) - 1);
	if (pmu.pdcm) {
		if (pmu.pebs)
			check_eq("PERF_CAPABILITIES", read_msr(0x345) & ~0x2efffull, 0);
		else if (pmu.caps & 0x3f)
			check_eq("PERF_CAPABILITIES", read_msr(0x345) & ~0x203full, 0);
		else
			check_eq("PERF_CAPABILITIES", read_msr(0x345), 1 << 13);
		check_gp("PERF_CAPABILITIES is read only", 0x345, 0);
	} else {
		read_msr(0x345);
		check_eq("no PERF_CAPABILITIES", read_faulted, 1);
	}
	check_write("evtsel", 0x186, 0xff4f00c0 & ~0x400000, 0xff4f00c0 & ~0x400000);
	check_eq("evtsel any", write_msr(0x186, 1 << 21), !(pmu.ver == 3 || pmu.ver == 4));
	check_eq("evtsel EQ", write_msr(0x186, 1ull << 36), pmu.ver < 6);
	check_eq("evtsel UMASK2", write_msr(0x186, 0xffull << 40), pmu.ver < 6);
	check_gp("evtsel bit 32", 0x186, 1ull << 32);
	write_msr(0x186, 0);
	check_gp("absent evtsel", 0x186 + pmu.n, 0);
	read_msr(0x186 + pmu.n);
	check_eq("absent evtsel read", read_faulted, 1);
	check_gp("absent pmc", 0xc1 + pmu.n, 0);
	read_msr(0xc1 + pmu.n);
	check_eq("absent pmc read", read_faulted, 1);
}

static void intel_check_counters(void)
{
	check_write("pmc sign extension", 0xc1, 0x80000000u, pmu.mask & ~0x7fffffffull);
	check_write("pmc upper half ignored", 0xc1, 0x123456787fffffffull, 0x7fffffff);
	check_eq("rdpmc 0", read_pmc(0), 0x7fffffff);
	if (pmu.fw) {
		check_write("A_PMC full width", 0x4c1, pmu.mask, pmu.mask);
		check_gp("A_PMC above the width", 0x4c1, pmu.mask + 1);
		check_eq("rdpmc is masked", read_pmc(0), pmu.mask);
	} else {
		check_gp("no A_PMC", 0x4c1, 0);
	}
	read_pmc(pmu.n);
	check_eq("rdpmc absent", read_faulted, 1);
	read_pmc(0x80000000u);
	check_eq("rdpmc bit 31", read_faulted, 1);
	read_pmc((1u << 30) | pmu.nf);
	check_eq("rdpmc fixed absent", read_faulted, 1);
	if (pmu.nf) {
		check_write("fixed", 0x309, pmu.mask, pmu.mask);
		check_eq("rdpmc fixed", read_pmc(1u << 30), pmu.mask);
		check_gp("fixed above the width", 0x309, pmu.mask + 1);
		check_write("fixed ctrl", 0x38d, pmu.fc, pmu.fc);
		check_gp("fixed ctrl reserved", 0x38d, 1ull << (4 * pmu.nf));
		write_msr(0x38d, 0);
	}
}

static void intel_check_global(void)
{
	check_gp("absent fixed", 0x309 + pmu.nf, 0);
	check_write("global ctrl", 0x38f, pmu.all, pmu.all);
	check_gp("global ctrl reserved", 0x38f, 1ull << pmu.n);
	check_gp("global ctrl reserved fixed", 0x38f, 1ull << (32 + pmu.nf));
	write_msr(0x38f, 0);
	check_gp("global status is read only", 0x38e, 0);
	check_gp("ovf ctrl reserved", 0x390, 1ull << 50);
	check_eq("ovf ctrl", write_msr(0x390, pmu.all | 3ull << 62), 0);
	check_eq("ovf ctrl reads 0", read_msr(0x390), 0);
	if (pmu.ver >= 4) {
		check_eq("status set", write_msr(0x391, pmu.all), 0);
		check_eq("status", read_msr(0x38e), pmu.all);
		write_msr(0x390, pmu.all);
		check_eq("status cleared", read_msr(0x38e), 0);
		write_msr(0x186, 0x1000c0);
		check_eq("inuse", read_msr(0x392), 1ull << 63 | 1);
		write_msr(0x186, 0);
		check_eq("inuse 0", read_msr(0x392), 0);
		check_gp("inuse is read only", 0x392, 0);
	} else {
		check_gp("no status set", 0x391, 0);
		read_msr(0x392);
		check_eq("no inuse", read_faulted, 1);
	}
}

static void intel_check_other_msrs(void)
{
	check_gp("AMD's absent", 0xc0010000, 0);
	check_gp("AMD core absent", 0xc0010200, 0);
	check_write("debugctl", 0x1d9, 0x1801, 0x1801);
	check_gp("debugctl reserved", 0x1d9, 1 << 20);
	write_msr(0x1d9, 0);
}

/* Counts are exact, between two writes of GLOBAL_CTRL. */
static void intel_check_counts(void)
{
	u64 c1;

	write_msr(0x186, 0x4200c0);
	c1 = count_loop(1000);
	check_eq("exact difference", count_loop(2000) - c1, 2000);
	write_msr(0x186, 0x4100c0);
	write_msr(0xc1, 0);
	run_loop(0x38f, 1, 1000);
	write_msr(0x38f, 0);
	check_eq("USR only counts nothing at CPL 0", read_msr(0xc1), 0);
}

/* The overflow is after 501 instructions, the mov and 250 iterations: dec is next. */
static void intel_check_overflow(void)
{
	for (int k = 0; k < 2; k++) {
		irq_n = 0;
		nmi_n = 0;
		LVT = k ? 0x40 : 0x400;
		write_msr(0x186, 0x5200c0);
		write_msr(0xc1, -501ull);
		if (k)
			asm volatile("sti");
		run_loop(0x38f, 1, 1000);
		asm volatile("cli");
		write_msr(0x38f, 0);
		check_eq(k ? "irq" : "nmi", k ? irq_n : nmi_n, 1);
		check_eq("interrupt at the exact instruction", k ? irq_eip : nmi_eip, loop_start);
		check_eq("LVT masked by delivery", LVT, (k ? 0x40 : 0x400) | 0x10000);
		check_eq("status", read_msr(0x38e), 1);
		write_msr(0x390, 1);
		check_eq("status cleared", read_msr(0x38e), 0);
	}
}

static void intel_check_masked(void)
{
	nmi_n = 0;
	LVT = 0x10400;
	write_msr(0xc1, -501ull);
	run_loop(0x38f, 1, 1000);
	write_msr(0x38f, 0);
	check_eq("masked LVT: none", nmi_n, 0);
	check_eq("but the status", read_msr(0x38e), 1);
	write_msr(0x390, 1);
	LVT = 0x400;
	write_msr(0x186, 0x4200c0);
	write_msr(0xc1, -501ull);
	run_loop(0x38f, 1, 1000);
	write_msr(0x38f, 0);
	check_eq("INT clear: none", nmi_n, 0);
	check_eq("but the status", read_msr(0x38e), 1);
	write_msr(0x390, 1);
	write_msr(0x186, 0);
}

static void intel_check_fixed_overflow(void)
{
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0x38d, 9);
	write_msr(0x309, pmu.mask - 500);
	run_loop(0x38f, 1ull << 32, 1000);
	write_msr(0x38f, 0);
	check_eq("fixed nmi", nmi_n, 1);
	check_eq("exact", nmi_eip, loop_start);
	check_eq("status", read_msr(0x38e), 1ull << 32);
	write_msr(0x390, 1ull << 32);
	write_msr(0x38d, 0);
}

/* FREEZE_PERFMON_ON_PMI */
static void intel_check_freeze(void)
{
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0x1d9, 1 << 12);
	write_msr(0x186, 0x5200c0);
	write_msr(0xc1, -501ull);
	run_loop(0x38f, 1, 1000);
	check_eq("freeze: counter stands", read_msr(0xc1), 0);
	check_eq("nmi", nmi_n, 1);
	if (pmu.ver >= 4)
		check_eq("CTR_FRZ", read_msr(0x38e), 1ull << 59 | 1);
	else
		check_eq("GLOBAL_CTRL cleared", read_msr(0x38f), 0);
	if (pmu.ver >= 4) {
		write_msr(0x390, 1ull << 59 | 1);
		run_loop(0x38f, 1, 10);
		write_msr(0x38f, 0);
		check_eq("unfrozen", read_msr(0xc1) > 0, 1);
	}
	write_msr(0x38f, 0);
	write_msr(0x390, 1);
	write_msr(0x1d9, 0);
	write_msr(0x186, 0);
}

/* A REP counts as one instruction, whatever its length. */
static void intel_check_rep(void)
{
	u64 c1;

	write_msr(0x186, 0x4200c0);
	c1 = count_rep(0x38f, 1, 0xc1, 0, 1);
	check_eq("rep stosb of 4096 = of 1", count_rep(0x38f, 1, 0xc1, 0, 4096), c1);
	check_eq("of 0", count_rep(0x38f, 1, 0xc1, 0, 0), c1);
	write_msr(0x186, 0);
}

/* Events that are a fraction of the instructions. */
static void intel_check_fractions(void)
{
	write_msr(0x186, 0x4200c0);
	write_msr(0x187, 0x4200c4);
	write_msr(0xc1, 0);
	write_msr(0xc2, 0);
	run_loop(0x38f, 3, 100000);
	write_msr(0x38f, 0);
	if (!pmu.exact)
		check_eq("branches", read_msr(0xc2), read_msr(0xc1) / 4);
	write_msr(0x187, 0x42003c);
	write_msr(0xc1, 0);
	write_msr(0xc2, 0);
	run_loop(0x38f, 3, 1000);
	write_msr(0x38f, 0);
	check_eq("cycles (icount shift 0)", read_msr(0xc2), read_msr(0xc1));
	write_msr(0x187, 0x4200ee);
	write_msr(0xc2, 0);
	run_loop(0x38f, 3, 1000);
	write_msr(0x38f, 0);
	check_eq("unknown event", read_msr(0xc2), 0);
}

/* The overflow is after 4 * 100 instructions, jnz 200 is next; of exact counts after jnz 100. */
static void intel_check_branch_overflow(void)
{
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0x186, 0x5200c4);
	write_msr(0x187, 0);
	write_msr(0xc1, -100ull);
	run_loop(0x38f, 1, 1000);
	write_msr(0x38f, 0);
	check_eq("branch overflow", nmi_n, 1);
	check_eq("exact", nmi_eip, loop_start + !pmu.exact);
	write_msr(0x390, 1);
	write_msr(0x186, 0);
}

static void v6_check_cpuid(void)
{
	u32 r[4];

	get_cpuid(7, 1, r);
	check_eq("leaf 23H is announced", r[0] >> 8 & 1, 1);
	get_cpuid(0xa, 0, r);
	check_eq("leaf 0AH has 8 counters at most", r[0] >> 8 & 255, 8);
	check_eq("and 4 fixed ones", r[3] & 31, 4);
	check_eq("the same as a set", r[2], 0xf);
	get_cpuid(0x23, 0, r);
	check_eq("sub-leaves", r[0], 0xb);
	check_eq("UMASK2 and EQ", r[1], 3);
	get_cpuid(0x23, 1, r);
	check_eq("general counters", r[0], (1u << pmu.n) - 1);
	check_eq("fixed counters", r[1], (1u << pmu.nf) - 1);
	get_cpuid(0x23, 3, r);
	check_eq("events", r[0], 0xfff);
}

/* Each register has two numbers. */
static void v6_check_aliases(void)
{
	u32 i;

	for (i = 0; i < pmu.n; i++) {
		check_write("counter", 0x1900 + 4 * i, pmu.mask - i, pmu.mask - i);
		check_eq("by its old number", read_msr(0xc1 + i), pmu.mask - i);
		check_eq("rdpmc", read_pmc(i), pmu.mask - i);
		check_gp("counter above the width", 0x1900 + 4 * i, pmu.mask + 1);
		check_write("select", 0x1901 + 4 * i, 0x1300c0 + i, 0x1300c0 + i);
		check_eq("select by its old number", read_msr(0x186 + i), 0x1300c0 + i);
		write_msr(0x1901 + 4 * i, 0);
		check_gp("no reload", 0x1902 + 4 * i, 0);
		check_gp("no extension", 0x1903 + 4 * i, 0);
	}
	check_gp("no further counter", 0x1900 + 4 * i, 0);
	check_gp("no further select", 0x1901 + 4 * i, 0);
	for (i = 0; i < pmu.nf; i++) {
		check_write("fixed counter", 0x1980 + 4 * i, pmu.mask - i, pmu.mask - i);
		check_eq("fixed by its old number", read_msr(0x309 + i), pmu.mask - i);
		check_eq("rdpmc fixed", read_pmc(1u << 30 | i), pmu.mask - i);
		check_gp("fixed has no select", 0x1981 + 4 * i, 0);
	}
	check_gp("no further fixed counter", 0x1980 + 4 * i, 0);
}

/* What event @select counts of a loop. */
static u64 v6_count(u64 select)
{
	write_msr(0x186, 0x420000 | select);
	return count_loop(1000);
}

static __noclone u64 v6_count_fixed(u32 n)
{
	write_msr(0x38d, 1ull << (4 * n));
	write_msr(0x1980 + 4 * n, 0);
	run_loop(0x38f, 1ull << (32 + n), 1000);
	write_msr(0x38f, 0);
	write_msr(0x38d, 0);
	return read_msr(0x1980 + 4 * n);
}

/* Of the slots, four in each cycle, an eighth is bad speculation, and so on: README.md. */
static void v6_check_topdown(void)
{
	u64 cycles = v6_count(0x003c);

	check_eq("cycles of 1000 rounds", cycles > 2000 && cycles < 2020, 1);
	check_eq("slots", v6_count(0x01a4), 4 * cycles);
	check_eq("backend bound", v6_count(0x02a4), cycles);
	check_eq("bad speculation", v6_count(0x0073), cycles / 2);
	check_eq("frontend bound", v6_count(0x019c), cycles / 2);
	check_eq("retiring", v6_count(0x02c2), 2 * cycles);
	check_eq("a second umask: no event", v6_count(0x01a4 | 1ull << 40), 0);
	write_msr(0x186, 0);
	cycles = v6_count_fixed(1);
	check_eq("fixed bad speculation", v6_count_fixed(4), cycles / 2);
	check_eq("fixed frontend bound", v6_count_fixed(5), cycles / 2);
	check_eq("fixed retiring", v6_count_fixed(6), 2 * cycles);
}

static void test_v6(void)
{
	v6_check_cpuid();
	v6_check_aliases();
	v6_check_topdown();
}

static void test_intel(u32 *a)
{
	intel_describe(a);
	if ((pmu.caps & 0x3f) == 0x3f)
		arch_lbr_check_reset();
	else if (pmu.caps & 0x3f)
		lbr_check_reset();
	/* Counter 3 is as others from then on. */
	if (pmu.tfa)
		test_tfa();
	intel_check_selects();
	intel_check_counters();
	intel_check_global();
	intel_check_other_msrs();
	intel_check_counts();
	intel_check_overflow();
	intel_check_masked();
	if (pmu.nf)
		intel_check_fixed_overflow();
	intel_check_freeze();
	intel_check_rep();
	intel_check_fractions();
	intel_check_branch_overflow();
	if (pmu.ver >= 6)
		test_v6();
	if (pmu.exact)
		test_exact_branches();
	if ((pmu.caps & 0x3f) == 0x3f)
		test_arch_lbr();
	else if (pmu.caps & 0x3f)
		test_ring_lbr();
	if (pmu.bts)
		test_bts();
	if (pmu.pebs)
		test_pebs();
	if (pmu.caps >> 15 & 1)
		test_metrics();
}

/* Count of counter @ctr for a loop that runs while MSR @m is @v. */
static __noclone u64 count_loop_by(u32 ctr, u32 m, u64 v, u32 n)
{
	write_msr(ctr, 0);
	run_loop(m, v, n);
	write_msr(m, 0);
	return read_msr(ctr);
}

/* Version 1: each event select enables its counter. P6 family: the first one enables both. */
static void test_early(int p6, u32 n, u32 w)
{
	u64 mask = (1ull << w) - 1, c1;
	u32 m;

	put_string(p6 ? "p6\n" : "intel v1\n");
	check_write("evtsel", 0x186, 0xff4f00c0 & ~0x400000, 0xff4f00c0 & ~0x400000);
	check_gp("evtsel any", 0x186, 1 << 21);
	check_gp("evtsel bit 32", 0x186, 1ull << 32);
	write_msr(0x186, 0);
	check_gp("absent evtsel", 0x186 + n, 0);
	check_gp("absent pmc", 0xc1 + n, 0);
	check_write("pmc sign extension", 0xc1, 0x80000000u, mask & ~0x7fffffffull);
	check_write("pmc upper half ignored", 0xc1, 0x123456787fffffffull, 0x7fffffff);
	check_eq("rdpmc 0", read_pmc(0), 0x7fffffff);
	read_pmc(n);
	check_eq("rdpmc absent", read_faulted, 1);
	read_pmc(1u << 30);
	check_eq("no fixed", read_faulted, 1);
	check_gp("no A_PMC", 0x4c1, 0);
	check_gp("no fixed", 0x309, 0);
	for (m = 0x38d; m <= 0x392; m++) {
		check_gp("no global register", m, 0);
		read_msr(m);
		check_eq("nor to read", read_faulted, 1);
	}
	check_eq("debugctl has no freeze, but is there", write_msr(0x1d9, 0), 0);
	c1 = count_loop_by(0xc1, 0x186, 0x4200c0, 1000);
	check_eq("exact difference", count_loop_by(0xc1, 0x186, 0x4200c0, 2000) - c1, 2000);
	/* the second counter is enabled by its own enable bit (v1) or by that of the first (P6) */
	check_eq("own enable bit", count_loop_by(0xc2, 0x187, 0x4200c0, 1000), p6 ? 0 : c1);
	write_msr(0x187, 0x0200c0);
	check_eq("the first one's", count_loop_by(0xc2, 0x186, 0x400000, 1000), p6 ? c1 : 0);
	write_msr(0x187, 0);
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0xc1, -501ull);
	run_loop(0x186, 0x5200c0, 1000);
	write_msr(0x186, 0);
	check_eq("nmi", nmi_n, 1);
	check_eq("at the exact instruction", nmi_eip, loop_start);
	check_eq("LVT masked by delivery", LVT, 0x10400);
	check_eq("cycles (icount shift 0)",
		 count_loop_by(0xc1, 0x186, 0x420000 | (p6 ? 0x79 : 0x3c), 1000), c1);
}

/* ESCR and CCCR values of the Pentium 4's events */
#define ESCR(event, mask, levels) ((u64)(event) << 25 | (mask) << 9 | (levels))
#define ESCR_OS 8
#define ESCR_USR 4
#define CCCR(select) (3ull << 16 | (select) << 13 | 1 << 12)
#define CCCR_PMI 0x4000000ull

static void p4_check_registers(void)
{
	const u64 mask = (1ull << 40) - 1;

	check_eq("MISC_ENABLE has the counters", read_msr(0x1a0) >> 7 & 1, 1);
	check_write("escr", 0x3b8, 0x7fffffff, 0x7fffffff);
	check_gp("escr bit 31", 0x3b8, 1u << 31);
	check_write("last escr", 0x3e1, 0x7fffffff, 0x7fffffff);
	check_gp("SSU has one", 0x3bf, 0);
	check_gp("absent escr", 0x3d0, 0);
	read_msr(0x3c7);
	check_eq("absent escr read", read_faulted, 1);
	check_write("cccr", 0x371, 0xcfffe000, 0xcfffe000);
	check_gp("cccr reserved", 0x371, 1);
	check_gp("cccr reserved", 0x371, 1 << 28);
	write_msr(0x371, 0);
	check_write("counter of 40 bits", 0x311, ~0ull, mask);
	check_eq("rdpmc 17", read_pmc(17), mask);
	check_eq("rdpmc 17, the lower half", read_pmc(17 | 1u << 31), 0xffffffff);
	read_pmc(18);
	check_eq("rdpmc absent", read_faulted, 1);
	read_pmc(1u << 30);
	check_eq("no fixed", read_faulted, 1);
	check_gp("no P6 counter", 0xc1, 0);
	check_gp("no P6 evtsel", 0x186, 0);
	check_gp("no global control", 0x38f, 0);
}

/* Instructions retired: counter 12 by CRU_ESCR0, counter 14 by CRU_ESCR1. Returns a loop's. */
static u64 p4_check_counts(void)
{
	u64 c1;

	write_msr(0x3b8, ESCR(2, 5, ESCR_OS));
	write_msr(0x3b9, 0);
	c1 = count_loop_by(0x30c, 0x36c, CCCR(4), 1000);
	check_eq("exact difference", count_loop_by(0x30c, 0x36c, CCCR(4), 2000) - c1, 2000);
	check_eq("13 has the same ESCR", count_loop_by(0x30d, 0x36d, CCCR(4), 1000), c1);
	check_eq("16, too", count_loop_by(0x310, 0x370, CCCR(4), 1000), c1);
	check_eq("14 has the other", count_loop_by(0x30e, 0x36e, CCCR(4), 1000), 0);
	write_msr(0x3b9, ESCR(2, 5, ESCR_OS));
	check_eq("which counts, too", count_loop_by(0x30e, 0x36e, CCCR(4), 1000), c1);
	check_eq("another ESCR select", count_loop_by(0x30c, 0x36c, CCCR(5), 1000), 0);
	check_eq("no thread", count_loop_by(0x30c, 0x36c, CCCR(4) & ~(3ull << 16), 1000), 0);
	write_msr(0x3b8, ESCR(2, 5, ESCR_USR));
	check_eq("USR only counts nothing at CPL 0", count_loop_by(0x30c, 0x36c, CCCR(4), 1000), 0);
	write_msr(0x3b8, ESCR(2, 5, ESCR_OS >> 2));
	check_eq("nor does the other thread", count_loop_by(0x30c, 0x36c, CCCR(4), 1000), 0);
	/* the CCCR is enabled before the ESCR selects an event */
	write_msr(0x36c, CCCR(4));
	check_eq("by the ESCR", count_loop_by(0x30c, 0x3b8, ESCR(2, 5, ESCR_OS), 1000), c1);
	write_msr(0x36c, 0);
	return c1;
}

static void p4_check_overflow(void)
{
	write_msr(0x3b8, ESCR(2, 5, ESCR_OS));
	nmi_n = 0;
	LVT = 0x400;
	write_msr(0x30c, -501ull);
	run_loop(0x36c, CCCR(4) | CCCR_PMI, 1000);
	check_eq("nmi", nmi_n, 1);
	check_eq("at the exact instruction", nmi_eip, loop_start);
	check_eq("LVT masked by delivery", LVT, 0x10400);
	check_eq("OVF", read_msr(0x36c) >> 31, 1);
	write_msr(0x36c, CCCR(4) | CCCR_PMI);
	check_eq("OVF cleared", read_msr(0x36c) >> 31, 0);
	write_msr(0x36c, 0);
	LVT = 0x400;
	write_msr(0x30c, -501ull);
	run_loop(0x36c, CCCR(4) | CCCR_PMI << 1, 1000);
	check_eq("the other thread's: none", nmi_n, 1);
	check_eq("but OVF", read_msr(0x36c) >> 31, 1);
	write_msr(0x36c, 0);
}

/* Other events, against @c1 instructions. */
static void p4_check_events(u64 c1)
{
	write_msr(0x3a2, ESCR(0x13, 1, ESCR_OS));
	check_eq("cycles (icount shift 0)", count_loop_by(0x300, 0x360, CCCR(6), 1000), c1);
	write_msr(0x3c3, ESCR(4, 0x1e, ESCR_OS));
	check_eq("branches", count_loop_by(0x306, 0x366, CCCR(2), 1000), c1 / 4);
	write_msr(0x3a0, ESCR(0x0c, 0x3f, ESCR_OS));
	check_eq("cache hits", count_loop_by(0x301, 0x361, CCCR(7), 1000), c1 / 128);
	write_msr(0x3a0, ESCR(0x0c, 0x700, ESCR_OS));
	check_eq("cache misses", count_loop_by(0x301, 0x361, CCCR(7), 1000), c1 / 1024);
}

static void test_p4(void)
{
	u64 c1;

	put_string("p4\n");
	p4_check_registers();
	c1 = p4_check_counts();
	p4_check_overflow();
	p4_check_events(c1);
}

static u32 cpu_family(void)
{
	u32 r[4];

	get_cpuid(1, 0, r);
	return r[0] >> 8 & 15;
}

static int vendor_is_intel(void)
{
	u32 r[4];

	get_cpuid(0, 0, r);
	return r[1] == 0x756e6547;
}

static void set_gates(void)
{
	set_gate(1, db_h);
	set_gate(2, nmi_h);
	set_gate(13, gp_h);
	set_gate(0x40, irq_h);
	idtr.l = sizeof(idt) - 1;
	idtr.b = (u32)idt;
	asm volatile("lidt %0" ::"m"(idtr));
}

__used void cmain(void)
{
	u32 r[4];

	gdtr.l = sizeof(gdt) - 1;
	gdtr.b = (u32)gdt;
	asm volatile("lgdt %0; ljmp $8,$1f;"
		     "1: mov $16,%%ax; mov %%ax,%%ds; mov %%ax,%%es; mov %%ax,%%ss"
		     : : "m"(gdtr) : "eax");
	set_gates();
	out_byte(0x21, 0xff);
	out_byte(0xa1, 0xff);
	APIC(0xf0) = 0x1ff;
	APIC(0x80) = 0;
	get_cpuid(0xa, 0, r);
	if ((r[0] & 255) > 1) {
		test_intel(r);
	} else if (r[0] & 255) {
		test_early(0, (r[0] >> 8) & 255, (r[0] >> 16) & 255);
	} else if (vendor_is_intel() && cpu_family() == 15) {
		test_p4();
	} else if (vendor_is_intel()) {
		test_early(1, 2, 40);
	} else {
		get_cpuid(0x80000000u, 0, r);
		u32 mx = r[0];

		get_cpuid(0x80000001u, 0, r);
		int core = r[2] >> 23 & 1, ibs = r[2] >> 10 & 1, v2 = 0, lbr = 0;

		if (mx >= 0x80000022u) {
			get_cpuid(0x80000022u, 0, r);
			v2 = r[0] & 1;
			lbr = r[0] >> 1 & 1;
			if (v2)
				check_eq("NumPerfCtrCore", r[1] & 15, 6);
		}
		test_amd(core, v2, lbr);
		if (ibs)
			test_ibs();
		if (mx >= 0x80000008u) {
			get_cpuid(0x80000008u, 0, r);
			if (r[1] >> 31)
				test_brs();
		}
	}
	put_string("UNIT ");
	put_hex(nr_checks);
	put_string(" checks, ");
	put_hex(nr_failed);
	put_string(" bad\n");
	out_byte(0xf4, nr_failed ? 1 : 0);
	for (;;)
		;
}
