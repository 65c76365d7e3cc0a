/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the bare-machine checks share; unit.c has the functions. */
#ifndef UNIT_H
#define UNIT_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;
typedef unsigned short u16;

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define __packed		__attribute__((packed))
#define __aligned(n)		__attribute__((aligned(n)))
#define __used			__attribute__((used))
#define __section(name)		__attribute__((section(name)))
#define __noclone		__attribute__((noinline, noclone))

void put_string(const char *s);
void put_hex(u64 v);
/* One check, of the name @n: prints @got and the expected value if they differ. */
void check_eq(const char *n, u64 got, u64 want);

/*
 * Set by the handlers: whether a #GP was raised and its error code, the number of NMIs and of
 * interrupts, and the EIP that the last of each interrupted. The #GP handler skips the instruction,
 * which is one of 2 bytes: RDMSR, WRMSR, RDPMC.
 */
extern volatile u32 gp, gp_err, nmi_n, nmi_eip, irq_n, irq_eip, db_n;
extern char gp_h[], nmi_h[], irq_h[], db_h[];

/* Returns whether it faulted. */
int write_msr(u32 m, u64 v);
/* Sets read_faulted. */
u64 read_msr(u32 m);
u64 read_pmc(u32 i);
extern int read_faulted;
void get_cpuid(u32 l, u32 s, u32 *r);
/* Writes @w, which must not fault, and reads @want. */
void check_write(const char *n, u32 m, u64 w, u64 want);
/* Writes @v, which must fault. */
void check_gp(const char *n, u32 m, u64 v);

/*
 * Writes @v to MSR @m, which enables a counter, and executes 2 * @n + 1 instructions: a mov, then
 * @n times dec and jnz. Sets loop_start to the address of dec.
 */
void run_loop(u32 m, u64 v, u32 n);
extern u32 loop_start;

#define APIC(o) (*(volatile u32 *)(0xfee00000 + (o)))
#define LVT APIC(0x340)

/* What CPUID leaf 0xa and PERF_CAPABILITIES describe. */
struct pmu {
	u32 model;
	u32 ver;		/* version of architectural performance monitoring */
	u32 n, w;		/* general counters, and their width in bits */
	u32 nf;			/* fixed counters */
	int pdcm;		/* there is PERF_CAPABILITIES, and what it is */
	u64 caps;
	int fw;			/* writes of full width, by IA32_A_PMCx */
	int exact;		/* branches are counted one by one */
	int bts, pebs;		/* there is a debug store, of branches or of records */
	int tfa;		/* microcode has counter 3 */
	u64 mask;		/* all bits of a counter */
	u64 all;		/* all counters in GLOBAL_CTRL */
	u64 fc;			/* all bits of FIXED_CTR_CTRL but PMI */
};

extern struct pmu pmu;

/* unit-branches.S */
void branchy(void);
extern char br_loop[], br_call[], br_jmp[], br_1[], br_ind_call[], br_ind_jmp[], br_2[], br_skip[];
extern char br_3[], br_back[], br_f[], br_g[];
void nest(void);
extern char nest_first[], nest_more[];

/* unit-pebs-walk.S */
void walk(void);
extern char walk_load[], walk_store[], walk_next[], walk_back[], walk_end[];

/* unit-ibs-walk.S, and its operands */
void ibs_walk(void);
extern char ibs_load[], ibs_store[], ibs_lock[], ibs_next[], ibs_back[], ibs_end[], ibs_ret[];
extern u32 ibs_msr, ibs_rounds, ibs_from, ibs_to, ibs_stride, ibs_stack;
extern u64 ibs_value;

/* unit-lbr.c: the operands of the above */
extern u32 nest_depth, nest_msr, nest_value;
/* Writes @value to @msr, executes @rounds rounds, writes 0. */
void run_branchy(u32 msr, u32 value, u32 rounds);

/* Bits of LBR_SELECT, which suppress; the index of a kind is its bit. */
enum kind { RING_0, OTHER_RINGS, JCC, CALL, IND_CALL, RET, IND_JMP, JMP, FAR };

/* The branches that expect_branchy() lists: those taken in @rounds rounds. */
struct branch {
	u32 from, to;
	enum kind kind;
	int mispredicted;
	u32 cycles;		/* instructions since the branch before it */
};

extern struct branch expected[512];
extern int nr_expected;
void expect_branchy(u32 rounds);

/* unit-lbr.c, unit-lbr-arch.c; checks of the reset run before anything is recorded */
void lbr_check_reset(void);
void test_exact_branches(void);
void test_ring_lbr(void);
void arch_lbr_check_reset(void);
void test_arch_lbr(void);
void test_amd_lbr(void);
void test_brs(void);

/* unit-bts.c */
void test_bts(void);

/* unit-pebs.c, unit-metrics.c */
void test_pebs(void);
void test_metrics(void);

/* unit-tfa.c */
void test_tfa(void);

/* unit-amd.c */
void test_amd(int core, int v2, int lbr);

/* unit-ibs.c */
void test_ibs(void);

#endif /* UNIT_H */
