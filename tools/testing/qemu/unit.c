// SPDX-License-Identifier: GPL-2.0
/* Register-level checks of the PMU model on the bare machine (multiboot, 32 bit).
 * Prints to the serial port, leaves through isa-debug-exit. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;
typedef unsigned short u16;
__attribute__((section(".multiboot"), used)) static const u32 mb[3] = { 0x1BADB002, 0,
									-0x1BADB002 };
static u8 stack[16384] __attribute__((aligned(16), used));
asm(".globl _start\n_start: cli; mov $stack+16384,%esp; call cmain; 1: hlt; jmp 1b");
static inline void outb(u16 p, u8 v)
{
	asm volatile("outb %0,%1" ::"a"(v), "Nd"(p));
}
static void putc_(char c)
{
	outb(0x3f8, c);
}
static void puts_(const char *s)
{
	while (*s)
		putc_(*s++);
}
static void hex(u64 v)
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
	puts_(p);
}
static int bad, total;
static void ck(const char *n, u64 got, u64 want)
{
	total++;
	if (got != want) {
		bad++;
		puts_("FAIL ");
		puts_(n);
		puts_(" got ");
		hex(got);
		puts_(" want ");
		hex(want);
		puts_("\n");
	}
}
volatile u32 gp, gp_err, nmi_n, nmi_eip, irq_n, irq_eip;
asm("gp_h: movl $1,gp; mov (%esp),%eax; mov %eax,gp_err; add $4,%esp; addl $2,(%esp); mov $0xdead,%eax; iret\n"
    "nmi_h: incl nmi_n; push %eax; mov 4(%esp),%eax; mov %eax,nmi_eip; pop %eax; iret\n"
    "irq_h: incl irq_n; push %eax; mov 4(%esp),%eax; mov %eax,irq_eip; movl $0,0xfee000b0; pop %eax; iret\n");
extern char gp_h[], nmi_h[], irq_h[];
static struct {
	u16 lo, sel;
	u8 z, t;
	u16 hi;
} __attribute__((packed)) idt[256];
static struct {
	u16 l;
	u32 b;
} __attribute__((packed)) idtr;
static u64 gdt[3] = { 0, 0x00cf9a000000ffffull, 0x00cf92000000ffffull };
static struct {
	u16 l;
	u32 b;
} __attribute__((packed)) gdtr;
static void gate(int n, void *h)
{
	u32 a = (u32)h;
	idt[n].lo = a;
	idt[n].sel = 8;
	idt[n].z = 0;
	idt[n].t = 0x8e;
	idt[n].hi = a >> 16;
}
static int wr(u32 m, u64 v)
{
	gp = 0;
	asm volatile("wrmsr" ::"c"(m), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
	return gp;
}
static int rdf;
static u64 rd(u32 m)
{
	u32 a, d;
	gp = 0;
	asm volatile("rdmsr" : "=a"(a), "=d"(d) : "c"(m) : "memory");
	rdf = gp;
	return a | (u64)d << 32;
}
static u64 pmc(u32 i)
{
	u32 a, d;
	gp = 0;
	asm volatile("rdpmc" : "=a"(a), "=d"(d) : "c"(i) : "memory");
	rdf = gp;
	return a | (u64)d << 32;
}
static void cpuid(u32 l, u32 s, u32 *r)
{
	asm volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(l), "c"(s));
}
#define APIC(o) (*(volatile u32 *)(0xfee00000 + (o)))
#define LVT APIC(0x340)
/* enable by one WRMSR, then run 2n+1 instructions: mov, n times (dec,jnz); *at is the address of dec */
static u32 at;
static void go(u32 m, u64 v, u32 n)
{
	u32 a;
	asm volatile("wrmsr; mov %4,%%esi; 1: dec %%esi; jnz 1b; mov $1b,%0"
		     : "=&r"(a)
		     : "c"(m), "a"((u32)v), "d"((u32)(v >> 32)), "r"(n)
		     : "esi", "memory", "cc");
	at = a;
}
static void eq(const char *n, u32 m, u64 w, u64 want)
{
	ck(n, wr(m, w), 0);
	ck(n, rd(m), want);
}
static void gpw(const char *n, u32 m, u64 v)
{
	gp_err = 99;
	ck(n, wr(m, v), 1);
	ck("error code 0", gp_err, 0);
}
static __attribute__((noinline, noclone)) u64 counted(u32 n)
{
	wr(0xc1, 0);
	go(0x38f, 1, n);
	wr(0x38f, 0);
	return rd(0xc1);
}
u8 sink[8192];
static __attribute__((noinline, noclone)) u64 reps(u32 en, u64 v, u32 ctr, u32 off, u32 n)
{
	wr(ctr, 0);
	u32 c = en;
	asm volatile("wrmsr; mov %3,%%ecx; lea sink,%%edi; rep stosb"
		     : "+c"(c)
		     : "a"((u32)v), "d"((u32)(v >> 32)), "S"(n)
		     : "edi", "memory");
	wr(en, 0);
	return rd(ctr);
}
static void intel(u32 *a)
{
	u32 ver = a[0] & 255, n = (a[0] >> 8) & 255, w = (a[0] >> 16) & 255, nf = a[3] & 31;
	u64 mask = (1ull << w) - 1;
	u32 r[4];
	int i;
	cpuid(1, 0, r);
	int fw = r[2] >> 15 & 1;
	u64 all = ((1ull << n) - 1) | ((1ull << nf) - 1) << 32, fc = 0;
	for (i = 0; i < (int)nf; i++)
		fc |= (ver == 3 || ver == 4 ? 15ull : 11ull) << (4 * i);
	puts_("intel v");
	hex(ver);
	puts_(" gp ");
	hex(n);
	puts_(" fixed ");
	hex(nf);
	puts_(" width ");
	hex(w);
	puts_("\n");
	ck("GLOBAL_CTRL out of reset", rd(0x38f), (1ull << n) - 1);
	if (fw) {
		ck("PERF_CAPABILITIES", rd(0x345), 1 << 13);
		gpw("PERF_CAPABILITIES is read only", 0x345, 0);
	} else {
		rd(0x345);
		ck("no PERF_CAPABILITIES", rdf, 1);
	}
	eq("evtsel", 0x186, 0xff4f00c0 & ~0x400000, 0xff4f00c0 & ~0x400000);
	ck("evtsel any", wr(0x186, 1 << 21), !(ver == 3 || ver == 4));
	gpw("evtsel bit 32", 0x186, 1ull << 32);
	wr(0x186, 0);
	gpw("absent evtsel", 0x186 + n, 0);
	rd(0x186 + n);
	ck("absent evtsel read", rdf, 1);
	gpw("absent pmc", 0xc1 + n, 0);
	rd(0xc1 + n);
	ck("absent pmc read", rdf, 1);
	eq("pmc sign extension", 0xc1, 0x80000000u, mask & ~0x7fffffffull);
	eq("pmc upper half ignored", 0xc1, 0x123456787fffffffull, 0x7fffffff);
	ck("rdpmc 0", pmc(0), 0x7fffffff);
	if (fw) {
		eq("A_PMC full width", 0x4c1, mask, mask);
		gpw("A_PMC above the width", 0x4c1, mask + 1);
		ck("rdpmc is masked", pmc(0), mask);
	} else
		gpw("no A_PMC", 0x4c1, 0);
	pmc(n);
	ck("rdpmc absent", rdf, 1);
	pmc(0x80000000u);
	ck("rdpmc bit 31", rdf, 1);
	pmc((1u << 30) | nf);
	ck("rdpmc fixed absent", rdf, 1);
	if (nf) {
		eq("fixed", 0x309, mask, mask);
		ck("rdpmc fixed", pmc(1u << 30), mask);
		gpw("fixed above the width", 0x309, mask + 1);
		eq("fixed ctrl", 0x38d, fc, fc);
		gpw("fixed ctrl reserved", 0x38d, 1ull << (4 * nf));
		wr(0x38d, 0);
	}
	gpw("absent fixed", 0x309 + nf, 0);
	eq("global ctrl", 0x38f, all, all);
	gpw("global ctrl reserved", 0x38f, 1ull << n);
	gpw("global ctrl reserved fixed", 0x38f, 1ull << (32 + nf));
	wr(0x38f, 0);
	gpw("global status is read only", 0x38e, 0);
	gpw("ovf ctrl reserved", 0x390, 1ull << 50);
	ck("ovf ctrl", wr(0x390, all | 3ull << 62), 0);
	ck("ovf ctrl reads 0", rd(0x390), 0);
	if (ver >= 4) {
		ck("status set", wr(0x391, all), 0);
		ck("status", rd(0x38e), all);
		wr(0x390, all);
		ck("status cleared", rd(0x38e), 0);
		wr(0x186, 0x1000c0);
		ck("inuse", rd(0x392), 1ull << 63 | 1);
		wr(0x186, 0);
		ck("inuse 0", rd(0x392), 0);
		gpw("inuse is read only", 0x392, 0);
	} else {
		gpw("no status set", 0x391, 0);
		rd(0x392);
		ck("no inuse", rdf, 1);
	}
	gpw("AMD's absent", 0xc0010000, 0);
	gpw("AMD core absent", 0xc0010200, 0);
	eq("debugctl", 0x1d9, 0x1801, 0x1801);
	gpw("debugctl reserved", 0x1d9, 1 << 20);
	wr(0x1d9, 0);
	/* counting: fixed enable, exact */
	wr(0x186, 0x4200c0);
	u64 c1 = counted(1000);
	ck("exact difference", counted(2000) - c1, 2000);
	wr(0x186, 0x4100c0);
	wr(0xc1, 0);
	go(0x38f, 1, 1000);
	wr(0x38f, 0);
	ck("USR only counts nothing at CPL 0", rd(0xc1), 0);
	/* 1000 iterations: (mov + 2000) ; overflow after exactly 501 instructions: stands before dec of iteration 251 */
	int k;
	for (k = 0; k < 2; k++) {
		nmi_n = irq_n = 0;
		LVT = k ? 0x40 : 0x400;
		wr(0x186, 0x5200c0);
		wr(0xc1, -501ull);
		if (k)
			asm volatile("sti");
		go(0x38f, 1, 1000);
		asm volatile("cli");
		wr(0x38f, 0);
		ck(k ? "irq" : "nmi", k ? irq_n : nmi_n, 1);
		ck("interrupt at the exact instruction", k ? irq_eip : nmi_eip, at);
		ck("LVT masked by delivery", LVT, (k ? 0x40 : 0x400) | 0x10000);
		ck("status", rd(0x38e), 1);
		wr(0x390, 1);
		ck("status cleared", rd(0x38e), 0);
	}
	nmi_n = 0;
	LVT = 0x10400;
	wr(0xc1, -501ull);
	go(0x38f, 1, 1000);
	wr(0x38f, 0);
	ck("masked LVT: none", nmi_n, 0);
	ck("but the status", rd(0x38e), 1);
	wr(0x390, 1);
	LVT = 0x400;
	wr(0x186, 0x4200c0);
	wr(0xc1, -501ull);
	go(0x38f, 1, 1000);
	wr(0x38f, 0);
	ck("INT clear: none", nmi_n, 0);
	ck("but the status", rd(0x38e), 1);
	wr(0x390, 1);
	wr(0x186, 0);
	if (nf) {
		wr(0x38d, 9);
		wr(0x309, mask - 500);
		go(0x38f, 1ull << 32, 1000);
		wr(0x38f, 0);
		ck("fixed nmi", nmi_n, 1);
		ck("exact", nmi_eip, at);
		ck("status", rd(0x38e), 1ull << 32);
		wr(0x390, 1ull << 32);
		wr(0x38d, 0);
	}
	/* freeze */
	nmi_n = 0;
	LVT = 0x400;
	wr(0x1d9, 1 << 12);
	wr(0x186, 0x5200c0);
	wr(0xc1, -501ull);
	go(0x38f, 1, 1000);
	ck("freeze: counter stands", rd(0xc1), 0);
	ck("nmi", nmi_n, 1);
	if (ver >= 4)
		ck("CTR_FRZ", rd(0x38e), 1ull << 59 | 1);
	else
		ck("GLOBAL_CTRL cleared", rd(0x38f), 0);
	if (ver >= 4) {
		wr(0x390, 1ull << 59 | 1);
		go(0x38f, 1, 10);
		wr(0x38f, 0);
		ck("unfrozen", rd(0xc1) > 0, 1);
	}
	wr(0x38f, 0);
	wr(0x390, 1);
	wr(0x1d9, 0);
	wr(0x186, 0);
	/* a REP is one instruction, however long */
	wr(0x186, 0x4200c0);
	c1 = reps(0x38f, 1, 0xc1, 0, 1);
	ck("rep stosb of 4096 = of 1", reps(0x38f, 1, 0xc1, 0, 4096), c1);
	ck("of 0", reps(0x38f, 1, 0xc1, 0, 0), c1);
	wr(0x186, 0);
	/* fractions */
	wr(0x186, 0x4200c0);
	wr(0x187, 0x4200c4);
	wr(0xc1, 0);
	wr(0xc2, 0);
	go(0x38f, 3, 100000);
	wr(0x38f, 0);
	ck("branches", rd(0xc2), rd(0xc1) / 4);
	wr(0x187, 0x42003c);
	wr(0xc1, 0);
	wr(0xc2, 0);
	go(0x38f, 3, 1000);
	wr(0x38f, 0);
	ck("cycles (icount shift 0)", rd(0xc2), rd(0xc1));
	wr(0x187, 0x4200ee);
	wr(0xc2, 0);
	go(0x38f, 3, 1000);
	wr(0x38f, 0);
	ck("unknown event", rd(0xc2), 0);
	/* branch overflow: 4 * 100 instructions after the WRMSR = before jnz of iteration 200 */
	nmi_n = 0;
	LVT = 0x400;
	wr(0x186, 0x5200c4);
	wr(0x187, 0);
	wr(0xc1, -100ull);
	go(0x38f, 1, 1000);
	wr(0x38f, 0);
	ck("branch overflow", nmi_n, 1);
	ck("exact", nmi_eip, at + 1);
	wr(0x390, 1);
	wr(0x186, 0);
}
/* What counter @ctr makes of a loop while @m is @v. */
static __attribute__((noinline, noclone)) u64 counted_by(u32 ctr, u32 m, u64 v, u32 n)
{
	wr(ctr, 0);
	go(m, v, n);
	wr(m, 0);
	return rd(ctr);
}
/* Version 1, and the P6 family: each select enables its counter, or the first one both. */
static void early(int p6, u32 n, u32 w)
{
	u64 mask = (1ull << w) - 1, c1;
	u32 m;
	puts_(p6 ? "p6\n" : "intel v1\n");
	eq("evtsel", 0x186, 0xff4f00c0 & ~0x400000, 0xff4f00c0 & ~0x400000);
	gpw("evtsel any", 0x186, 1 << 21);
	gpw("evtsel bit 32", 0x186, 1ull << 32);
	wr(0x186, 0);
	gpw("absent evtsel", 0x186 + n, 0);
	gpw("absent pmc", 0xc1 + n, 0);
	eq("pmc sign extension", 0xc1, 0x80000000u, mask & ~0x7fffffffull);
	eq("pmc upper half ignored", 0xc1, 0x123456787fffffffull, 0x7fffffff);
	ck("rdpmc 0", pmc(0), 0x7fffffff);
	pmc(n);
	ck("rdpmc absent", rdf, 1);
	pmc(1u << 30);
	ck("no fixed", rdf, 1);
	gpw("no A_PMC", 0x4c1, 0);
	gpw("no fixed", 0x309, 0);
	for (m = 0x38d; m <= 0x392; m++) {
		gpw("no global register", m, 0);
		rd(m);
		ck("nor to read", rdf, 1);
	}
	ck("debugctl has no freeze, but is there", wr(0x1d9, 0), 0);
	c1 = counted_by(0xc1, 0x186, 0x4200c0, 1000);
	ck("exact difference", counted_by(0xc1, 0x186, 0x4200c0, 2000) - c1, 2000);
	/* the second counter, by its own enable bit and by the first one's */
	ck("own enable bit", counted_by(0xc2, 0x187, 0x4200c0, 1000), p6 ? 0 : c1);
	wr(0x187, 0x0200c0);
	ck("the first one's", counted_by(0xc2, 0x186, 0x400000, 1000), p6 ? c1 : 0);
	wr(0x187, 0);
	nmi_n = 0;
	LVT = 0x400;
	wr(0xc1, -501ull);
	go(0x186, 0x5200c0, 1000);
	wr(0x186, 0);
	ck("nmi", nmi_n, 1);
	ck("at the exact instruction", nmi_eip, at);
	ck("LVT masked by delivery", LVT, 0x10400);
	ck("cycles (icount shift 0)", counted_by(0xc1, 0x186, 0x420000 | (p6 ? 0x79 : 0x3c), 1000), c1);
}
/* ESCR and CCCR values of the Pentium 4's events */
#define ESCR(event, mask, levels) ((u64)(event) << 25 | (mask) << 9 | (levels))
#define ESCR_OS 8
#define ESCR_USR 4
#define CCCR(select) (3ull << 16 | (select) << 13 | 1 << 12)
#define CCCR_PMI (1ull << 26)
static void p4(void)
{
	u64 mask = (1ull << 40) - 1, c1;
	puts_("p4\n");
	ck("MISC_ENABLE has the counters", rd(0x1a0) >> 7 & 1, 1);
	eq("escr", 0x3b8, 0x7fffffff, 0x7fffffff);
	gpw("escr bit 31", 0x3b8, 1u << 31);
	eq("last escr", 0x3e1, 0x7fffffff, 0x7fffffff);
	gpw("SSU has one", 0x3bf, 0);
	gpw("absent escr", 0x3d0, 0);
	rd(0x3c7);
	ck("absent escr read", rdf, 1);
	eq("cccr", 0x371, 0xcfffe000, 0xcfffe000);
	gpw("cccr reserved", 0x371, 1);
	gpw("cccr reserved", 0x371, 1 << 28);
	wr(0x371, 0);
	eq("counter of 40 bits", 0x311, ~0ull, mask);
	ck("rdpmc 17", pmc(17), mask);
	ck("rdpmc 17, the lower half", pmc(17 | 1u << 31), 0xffffffff);
	pmc(18);
	ck("rdpmc absent", rdf, 1);
	pmc(1u << 30);
	ck("no fixed", rdf, 1);
	gpw("no P6 counter", 0xc1, 0);
	gpw("no P6 evtsel", 0x186, 0);
	gpw("no global control", 0x38f, 0);
	/* instructions retired: counter 12 by CRU_ESCR0, counter 14 by CRU_ESCR1 */
	wr(0x3b8, ESCR(2, 5, ESCR_OS));
	wr(0x3b9, 0);
	c1 = counted_by(0x30c, 0x36c, CCCR(4), 1000);
	ck("exact difference", counted_by(0x30c, 0x36c, CCCR(4), 2000) - c1, 2000);
	ck("13 has the same ESCR", counted_by(0x30d, 0x36d, CCCR(4), 1000), c1);
	ck("16, too", counted_by(0x310, 0x370, CCCR(4), 1000), c1);
	ck("14 has the other", counted_by(0x30e, 0x36e, CCCR(4), 1000), 0);
	wr(0x3b9, ESCR(2, 5, ESCR_OS));
	ck("which counts, too", counted_by(0x30e, 0x36e, CCCR(4), 1000), c1);
	ck("another ESCR select", counted_by(0x30c, 0x36c, CCCR(5), 1000), 0);
	ck("no thread", counted_by(0x30c, 0x36c, CCCR(4) & ~(3ull << 16), 1000), 0);
	wr(0x3b8, ESCR(2, 5, ESCR_USR));
	ck("USR only counts nothing at CPL 0", counted_by(0x30c, 0x36c, CCCR(4), 1000), 0);
	wr(0x3b8, ESCR(2, 5, ESCR_OS >> 2));
	ck("nor does the other thread", counted_by(0x30c, 0x36c, CCCR(4), 1000), 0);
	/* enabled first, then told what */
	wr(0x36c, CCCR(4));
	ck("by the ESCR", counted_by(0x30c, 0x3b8, ESCR(2, 5, ESCR_OS), 1000), c1);
	wr(0x36c, 0);
	wr(0x3b8, ESCR(2, 5, ESCR_OS));
	nmi_n = 0;
	LVT = 0x400;
	wr(0x30c, -501ull);
	go(0x36c, CCCR(4) | CCCR_PMI, 1000);
	ck("nmi", nmi_n, 1);
	ck("at the exact instruction", nmi_eip, at);
	ck("LVT masked by delivery", LVT, 0x10400);
	ck("OVF", rd(0x36c) >> 31, 1);
	wr(0x36c, CCCR(4) | CCCR_PMI);
	ck("OVF cleared", rd(0x36c) >> 31, 0);
	wr(0x36c, 0);
	LVT = 0x400;
	wr(0x30c, -501ull);
	go(0x36c, CCCR(4) | CCCR_PMI << 1, 1000);
	ck("the other thread's: none", nmi_n, 1);
	ck("but OVF", rd(0x36c) >> 31, 1);
	wr(0x36c, 0);
	wr(0x3a2, ESCR(0x13, 1, ESCR_OS));
	ck("cycles (icount shift 0)", counted_by(0x300, 0x360, CCCR(6), 1000), c1);
	wr(0x3c3, ESCR(4, 0x1e, ESCR_OS));
	ck("branches", counted_by(0x306, 0x366, CCCR(2), 1000), c1 / 4);
	wr(0x3a0, ESCR(0x0c, 0x3f, ESCR_OS));
	ck("cache hits", counted_by(0x301, 0x361, CCCR(7), 1000), c1 / 128);
	wr(0x3a0, ESCR(0x0c, 0x700, ESCR_OS));
	ck("cache misses", counted_by(0x301, 0x361, CCCR(7), 1000), c1 / 1024);
}
static void amd(int core, int v2)
{
	u64 mask = (1ull << 48) - 1;
	u32 C = core ? 0xc0010200 : 0xc0010000, R = core ? 0xc0010201 : 0xc0010004,
	    st = core ? 2 : 1;
	int n = core ? 6 : 4;
	puts_("amd core ");
	hex(core);
	puts_(" v2 ");
	hex(v2);
	puts_("\n");
	eq("ctl, reserved bits dropped", C, ~0ull & ~(1ull << 22), 0x0000030fff97ffffull);
	wr(C, 0);
	eq("ctr", R, ~0ull, mask);
	eq("ctr 32 bit stays", R, 0x80000000u, 0x80000000u);
	ck("rdpmc", pmc(0), 0x80000000u);
	pmc(n);
	ck("rdpmc absent", rdf, 1);
	pmc(1u << 30);
	ck("no fixed", rdf, 1);
	if (core) {
		ck("legacy alias", rd(0xc0010004), 0x80000000u);
		wr(0xc0010205, 77);
		ck("alias of 2", rd(0xc0010006), 77);
	} else {
		rd(0xc0010200);
		ck("no core MSRs", rdf, 1);
	}
	ck("evtsel 3", wr(C + 3 * st, 0), 0);
	rd(0x186);
	ck("no Intel MSRs", rdf, 1);
	rd(0xc0000300);
	ck("v2 MSRs", rdf, !v2);
	u32 G = 0xc0000301;
	if (v2) {
		eq("global ctl", G, ~0ull, 0x3f);
		ck("status write ignored", wr(0xc0000300, 1), 0);
		ck("status", rd(0xc0000300), 0);
		wr(0xc0000303, 1);
		ck("set", rd(0xc0000300), 1);
		wr(0xc0000302, 1);
		ck("cleared", rd(0xc0000300), 0);
	}
	int k;
	for (k = 0; k < 2; k++) {
		nmi_n = irq_n = 0;
		LVT = k ? 0x40 : 0x400;
		wr(R, -501ull);
		if (k)
			asm volatile("sti");
		go(C, 0x5200c0, 1000);
		asm volatile("cli");
		wr(C, 0);
		ck(k ? "irq" : "nmi", k ? irq_n : nmi_n, 1);
		ck("exact", k ? irq_eip : nmi_eip, at);
		ck("LVT not masked", LVT, k ? 0x40 : 0x400);
		if (v2) {
			ck("status", rd(0xc0000300), 1);
			wr(0xc0000302, 1);
		}
	}
	if (v2) {
		wr(G, 0);
		wr(C, 0x5200c0);
		wr(R, 0);
		go(G, 0, 100);
		ck("globally off", rd(R), 0);
		wr(R, -501ull);
		nmi_n = 0;
		LVT = 0x400;
		go(G, 1, 1000);
		wr(G, 0);
		ck("nmi by global", nmi_n, 1);
		ck("exact", nmi_eip, at);
		wr(C, 0);
		wr(G, 0x3f);
	}
	wr(C + st, 0);
	wr(R, 0);
	go(C, 0x420076, 1000);
	wr(C, 0);
	u64 cyc = rd(R);
	wr(R, 0);
	go(C, 0x4200c0, 1000);
	wr(C, 0);
	ck("cycles = insns (shift 0)", cyc, rd(R));
	wr(R, 0);
	go(C, 0x4200c2, 1000);
	wr(C, 0);
	ck("branches", rd(R), cyc / 4);
	wr(R, 0);
	go(C, 0x100420120ull, 1000);
	wr(C, 0);
	ck("ref cycles", rd(R), cyc);
	wr(R, 0);
	go(C, 0x420024, 1000);
	wr(C, 0);
	ck("unknown", rd(R), 0);
}
static u32 family(void)
{
	u32 r[4];
	cpuid(1, 0, r);
	return r[0] >> 8 & 15;
}
static int is_intel(void)
{
	u32 r[4];
	cpuid(0, 0, r);
	return r[1] == 0x756e6547;
}
__attribute__((used)) void cmain(void)
{
	u32 r[4];
	gdtr.l = sizeof gdt - 1;
	gdtr.b = (u32)gdt;
	asm volatile(
		"lgdt %0; ljmp $8,$1f; 1: mov $16,%%ax; mov %%ax,%%ds; mov %%ax,%%es; mov %%ax,%%ss" ::
			"m"(gdtr)
		: "eax");
	gate(13, gp_h);
	gate(2, nmi_h);
	gate(0x40, irq_h);
	idtr.l = sizeof idt - 1;
	idtr.b = (u32)idt;
	asm volatile("lidt %0" ::"m"(idtr));
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
	APIC(0xf0) = 0x1ff;
	APIC(0x80) = 0;
	cpuid(0xa, 0, r);
	if ((r[0] & 255) > 1)
		intel(r);
	else if (r[0] & 255)
		early(0, (r[0] >> 8) & 255, (r[0] >> 16) & 255);
	else if (is_intel() && family() == 15)
		p4();
	else if (is_intel())
		early(1, 2, 40);
	else {
		cpuid(0x80000000u, 0, r);
		u32 mx = r[0];
		cpuid(0x80000001u, 0, r);
		int core = r[2] >> 23 & 1, v2 = 0;
		if (mx >= 0x80000022u) {
			cpuid(0x80000022u, 0, r);
			v2 = r[0] & 1;
			if (v2)
				ck("NumPerfCtrCore", r[1] & 15, 6);
		}
		amd(core, v2);
	}
	puts_("UNIT ");
	hex(total);
	puts_(" checks, ");
	hex(bad);
	puts_(" bad\n");
	outb(0xf4, bad ? 1 : 0);
	for (;;)
		;
}
