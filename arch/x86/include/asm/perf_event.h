/* SPDX-License-Identifier: GPL-2.0 */
/*
 * x86 performance monitoring: layout of the registers, and the interface for the rest of arch/x86
 * (KVM, mm, apic, power).
 *
 * SDM: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3B, chapters
 * "Performance Monitoring" and "Last Branch Records"; volume 4 for the MSR numbers.
 * APM: AMD64 Architecture Programmer's Manual, volume 2, section 13.2; PPR of families 17h, 19h
 * and 1Ah for the northbridge, L3 and UMC counters.
 */
#ifndef _ASM_X86_PERF_EVENT_H
#define _ASM_X86_PERF_EVENT_H

#include <linux/bits.h>
#include <linux/types.h>

/* ------------------------------------------------ numbering of a CPU's counters */

/*
 * General counters are 0..31, fixed counters 32..47, pseudo counters follow; KVM uses the same
 * numbers. A counter's number is also its bit in GLOBAL_CTRL and GLOBAL_STATUS.
 */
#define INTEL_PMC_MAX_GENERIC			32
#define INTEL_PMC_IDX_FIXED			32
#define INTEL_PMC_MAX_FIXED			16
#define X86_PMC_IDX_MAX				64

#define INTEL_PMC_IDX_FIXED_INSTRUCTIONS	(INTEL_PMC_IDX_FIXED + 0)
#define INTEL_PMC_IDX_FIXED_CPU_CYCLES		(INTEL_PMC_IDX_FIXED + 1)
#define INTEL_PMC_IDX_FIXED_REF_CYCLES		(INTEL_PMC_IDX_FIXED + 2)
#define INTEL_PMC_IDX_FIXED_SLOTS		(INTEL_PMC_IDX_FIXED + 3)

/* Not a counter: denotes the branch records while a guest uses them. */
#define INTEL_PMC_IDX_FIXED_VLBR		58
#define INTEL_FIXED_VLBR_EVENT			0x1b00

/* ECX of RDPMC for a fixed counter is this plus its number. */
#define INTEL_PMC_FIXED_RDPMC_BASE		BIT(30)

/* ------------------------------------------------------- event select registers */

#define ARCH_PERFMON_EVENTSEL_EVENT		0x000000ffULL
#define ARCH_PERFMON_EVENTSEL_UMASK		0x0000ff00ULL
#define ARCH_PERFMON_EVENTSEL_USR		BIT_ULL(16)
#define ARCH_PERFMON_EVENTSEL_OS		BIT_ULL(17)
#define ARCH_PERFMON_EVENTSEL_EDGE		BIT_ULL(18)
#define ARCH_PERFMON_EVENTSEL_PIN_CONTROL	BIT_ULL(19)
#define ARCH_PERFMON_EVENTSEL_INT		BIT_ULL(20)
#define ARCH_PERFMON_EVENTSEL_ANY		BIT_ULL(21)	/* v3, v4 */
#define ARCH_PERFMON_EVENTSEL_ENABLE		BIT_ULL(22)
#define ARCH_PERFMON_EVENTSEL_INV		BIT_ULL(23)
#define ARCH_PERFMON_EVENTSEL_CMASK		0xff000000ULL
#define ARCH_PERFMON_EVENTSEL_EQ		BIT_ULL(36)
#define ARCH_PERFMON_EVENTSEL_UMASK2		GENMASK_ULL(47, 40)

/* Transactional memory, Haswell and later. */
#define HSW_IN_TX				BIT_ULL(32)
#define HSW_IN_TX_CHECKPOINTED			BIT_ULL(33)
/* Adaptive PEBS, Ice Lake and later. */
#define ICL_EVENTSEL_ADAPTIVE			BIT_ULL(34)
#define ICL_FIXED_0_ADAPTIVE			BIT_ULL(32)

#define INTEL_ARCH_EVENT_MASK	(ARCH_PERFMON_EVENTSEL_UMASK | ARCH_PERFMON_EVENTSEL_EVENT)

/* Bits of a selection that users may set on every x86 part. */
#define X86_RAW_EVENT_MASK						\
	(ARCH_PERFMON_EVENTSEL_EVENT | ARCH_PERFMON_EVENTSEL_UMASK |	\
	 ARCH_PERFMON_EVENTSEL_EDGE | ARCH_PERFMON_EVENTSEL_INV |	\
	 ARCH_PERFMON_EVENTSEL_CMASK)

/* AMD: event codes have 12 bits; bits 40 and 41 restrict counting to guests and to the host. */
#define AMD64_EVENTSEL_EVENT		(ARCH_PERFMON_EVENTSEL_EVENT | GENMASK_ULL(35, 32))
#define AMD64_EVENTSEL_GUESTONLY	BIT_ULL(40)
#define AMD64_EVENTSEL_HOSTONLY		BIT_ULL(41)
#define AMD64_RAW_EVENT_MASK		(X86_RAW_EVENT_MASK | AMD64_EVENTSEL_EVENT)

#define AMD64_NUM_COUNTERS		4
#define AMD64_NUM_COUNTERS_CORE		6
#define AMD64_NUM_COUNTERS_NB		4

/* AMD northbridge and data fabric counters. */
#define AMD64_RAW_EVENT_MASK_NB		(AMD64_EVENTSEL_EVENT | ARCH_PERFMON_EVENTSEL_UMASK)
#define AMD64_PERFMON_V2_EVENTSEL_EVENT_NB	\
	(ARCH_PERFMON_EVENTSEL_EVENT | GENMASK_ULL(37, 32))
#define AMD64_PERFMON_V2_EVENTSEL_UMASK_NB	\
	(ARCH_PERFMON_EVENTSEL_UMASK | GENMASK_ULL(27, 24))
#define AMD64_PERFMON_V2_RAW_EVENT_MASK_NB	\
	(AMD64_PERFMON_V2_EVENTSEL_EVENT_NB | AMD64_PERFMON_V2_EVENTSEL_UMASK_NB)

/* AMD memory controller counters. */
#define AMD64_PERFMON_V2_ENABLE_UMC		BIT_ULL(31)
#define AMD64_PERFMON_V2_EVENTSEL_EVENT_UMC	GENMASK_ULL(7, 0)
#define AMD64_PERFMON_V2_EVENTSEL_RDWRMASK_UMC	GENMASK_ULL(9, 8)
#define AMD64_PERFMON_V2_RAW_EVENT_MASK_UMC	\
	(AMD64_PERFMON_V2_EVENTSEL_EVENT_UMC | AMD64_PERFMON_V2_EVENTSEL_RDWRMASK_UMC)

/* AMD L3 counters: selection of slices, cores and threads. */
#define AMD64_L3_SLICE_SHIFT		48
#define AMD64_L3_SLICE_MASK		GENMASK_ULL(51, AMD64_L3_SLICE_SHIFT)
#define AMD64_L3_SLICEID_MASK		GENMASK_ULL(50, AMD64_L3_SLICE_SHIFT)
#define AMD64_L3_THREAD_SHIFT		56
#define AMD64_L3_THREAD_MASK		GENMASK_ULL(63, AMD64_L3_THREAD_SHIFT)
#define AMD64_L3_F19H_THREAD_MASK	GENMASK_ULL(57, AMD64_L3_THREAD_SHIFT)
#define AMD64_L3_EN_ALL_CORES		BIT_ULL(47)
#define AMD64_L3_EN_ALL_SLICES		BIT_ULL(46)
#define AMD64_L3_COREID_SHIFT		42
#define AMD64_L3_COREID_MASK		GENMASK_ULL(44, AMD64_L3_COREID_SHIFT)

/* ------------------------------------------------------ Intel fixed counters */

#define INTEL_FIXED_BITS_STRIDE		4
#define INTEL_FIXED_BITS_MASK		0xfULL
#define INTEL_FIXED_0_KERNEL		BIT_ULL(0)
#define INTEL_FIXED_0_USER		BIT_ULL(1)
#define INTEL_FIXED_0_ANYTHREAD		BIT_ULL(2)
#define INTEL_FIXED_0_ENABLE_PMI	BIT_ULL(3)

/* Control bits @_bits of fixed counter 0, shifted to the position of counter @_idx. */
#define intel_fixed_bits_by_idx(_idx, _bits)	((_bits) << ((_idx) * INTEL_FIXED_BITS_STRIDE))

/* ----------------------------------------------------------- MSRs and status bits */

#define MSR_ARCH_PERFMON_PERFCTR0	0xc1
#define MSR_ARCH_PERFMON_PERFCTR1	0xc2
#define MSR_ARCH_PERFMON_EVENTSEL0	0x186
#define MSR_ARCH_PERFMON_EVENTSEL1	0x187
#define MSR_ARCH_PERFMON_FIXED_CTR0	0x309
#define MSR_ARCH_PERFMON_FIXED_CTR1	0x30a
#define MSR_ARCH_PERFMON_FIXED_CTR2	0x30b
#define MSR_ARCH_PERFMON_FIXED_CTR3	0x30c
#define MSR_ARCH_PERFMON_FIXED_CTR_CTRL	0x38d

/* IA32_PERF_GLOBAL_STATUS */
#define GLOBAL_STATUS_COND_CHG			BIT_ULL(63)
#define GLOBAL_STATUS_BUFFER_OVF_BIT		62
#define GLOBAL_STATUS_BUFFER_OVF		BIT_ULL(GLOBAL_STATUS_BUFFER_OVF_BIT)
#define GLOBAL_STATUS_UNC_OVF			BIT_ULL(61)
#define GLOBAL_STATUS_ASIF			BIT_ULL(60)
#define GLOBAL_STATUS_COUNTERS_FROZEN		BIT_ULL(59)
#define GLOBAL_STATUS_LBRS_FROZEN		BIT_ULL(58)
#define GLOBAL_STATUS_TRACE_TOPAPMI_BIT		55
#define GLOBAL_STATUS_TRACE_TOPAPMI		BIT_ULL(GLOBAL_STATUS_TRACE_TOPAPMI_BIT)
#define GLOBAL_STATUS_PERF_METRICS_OVF_BIT	48

/* --------------------------------------------------------------------- CPUID */

/* CPUID.0AH: architectural performance monitoring. */
union cpuid10_eax {
	struct {
		unsigned int version_id		: 8;
		unsigned int num_counters	: 8;
		unsigned int bit_width		: 8;
		unsigned int mask_length	: 8;
	} split;
	unsigned int full;
};

/* A set bit means that the architectural event is not available. */
union cpuid10_ebx {
	struct {
		unsigned int no_unhalted_core_cycles	: 1;
		unsigned int no_instructions_retired	: 1;
		unsigned int no_unhalted_reference_cycles : 1;
		unsigned int no_llc_reference		: 1;
		unsigned int no_llc_misses		: 1;
		unsigned int no_branch_instruction_retired : 1;
		unsigned int no_branch_misses_retired	: 1;
	} split;
	unsigned int full;
};

union cpuid10_edx {
	struct {
		unsigned int num_counters_fixed		: 5;
		unsigned int bit_width_fixed		: 8;
		unsigned int reserved1			: 2;
		unsigned int anythread_deprecated	: 1;
		unsigned int reserved2			: 16;
	} split;
	unsigned int full;
};

/* CPUID.23H: the same for each kind of core. */
#define ARCH_PERFMON_EXT_LEAF		0x00000023
#define ARCH_PERFMON_NUM_COUNTER_LEAF	0x1

/* CPUID Fn8000_0022: AMD performance monitoring version 2. */
#define EXT_PERFMON_DEBUG_FEATURES	0x80000022

union cpuid_0x80000022_ebx {
	struct {
		unsigned int num_core_pmc	: 4;
		unsigned int lbr_v2_stack_sz	: 6;
		unsigned int num_df_pmc		: 6;
		unsigned int num_umc_pmc	: 6;
	} split;
	unsigned int full;
};

/* ------------------------------------------------------ interface of the driver */

/**
 * struct x86_pmu_capability - description of the host's PMU for KVM
 * @version: version of architectural performance monitoring; AMD: 0, 1 (core counters), 2
 * @num_counters_gp: number of general counters
 * @num_counters_fixed: number of fixed counters
 * @bit_width_gp: width of general counters in bits
 * @bit_width_fixed: width of fixed counters in bits
 * @events_mask: set bits are architectural events that do not count
 * @events_mask_len: number of valid bits in @events_mask
 * @pebs_ept: PEBS can write records through nested page tables
 */
struct x86_pmu_capability {
	int		version;
	int		num_counters_gp;
	int		num_counters_fixed;
	int		bit_width_gp;
	int		bit_width_fixed;
	unsigned int	events_mask;
	int		events_mask_len;
	unsigned int	pebs_ept	: 1;
};

/**
 * struct perf_guest_switch_msr - a register that has another value in a guest
 * @msr: MSR number
 * @host: value in the host
 * @guest: value in the guest
 */
struct perf_guest_switch_msr {
	unsigned int	msr;
	u64		host;
	u64		guest;
};

/**
 * struct x86_pmu_lbr - the branch records of the host that a guest can use
 * @nr: number of records; 0: none
 * @from: MSR of the first branch source
 * @to: MSR of the first branch target
 * @info: MSR of the first flags; 0: none
 * @has_callstack: the hardware can record a call stack
 */
struct x86_pmu_lbr {
	unsigned int	nr;
	unsigned int	from;
	unsigned int	to;
	unsigned int	info;
	bool		has_callstack;
};

struct perf_event;
struct pt_regs;

#ifdef CONFIG_PERF_EVENTS
#include <asm/stacktrace.h>

/* Marks in bits of pt_regs::flags that are always 0 in hardware. */
#define PERF_EFLAGS_EXACT	BIT(3)	/* the instruction pointer is exact, without skid */
#define PERF_EFLAGS_VM		BIT(5)	/* virtual-8086 mode */

/**
 * struct x86_perf_regs - registers of a sample, those outside of pt_regs included
 * @regs: general registers
 * @xmm_regs: array of the low and high halves of XMM0..15; NULL: not sampled
 */
struct x86_perf_regs {
	struct pt_regs	regs;
	u64		*xmm_regs;
};

unsigned long perf_misc_flags(struct pt_regs *regs);
unsigned long perf_instruction_pointer(struct pt_regs *regs);
#define perf_misc_flags(regs)		perf_misc_flags(regs)
#define perf_instruction_pointer(regs)	perf_instruction_pointer(regs)

/* Reads user memory in NMI. */
#define arch_perf_out_copy_user		copy_from_user_nmi

/* Flags of 0 mark registers that were not saved by the processor. */
#define perf_arch_fetch_caller_regs(regs, __ip)		{	\
	(regs)->ip = (__ip);					\
	(regs)->sp = (unsigned long)__builtin_frame_address(0);	\
	(regs)->cs = __KERNEL_CS;				\
	(regs)->flags = 0;					\
}

void perf_events_lapic_init(void);
void perf_check_microcode(void);
void perf_clear_dirty_counters(void);
int  x86_perf_rdpmc_index(struct perf_event *event);
void perf_get_x86_pmu_capability(struct x86_pmu_capability *cap);
u64  perf_get_hw_event_config(int hw_event);
#else
static inline void perf_events_lapic_init(void)		{ }
static inline void perf_check_microcode(void)		{ }
static inline u64 perf_get_hw_event_config(int hw_event)	{ return 0; }
static inline void perf_get_x86_pmu_capability(struct x86_pmu_capability *cap)
{
	*cap = (struct x86_pmu_capability){ };
}
#endif

#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_CPU_SUP_INTEL)
struct perf_guest_switch_msr *perf_guest_get_msrs(int *nr, void *data);
void x86_perf_get_lbr(struct x86_pmu_lbr *lbr);
#else
struct perf_guest_switch_msr *perf_guest_get_msrs(int *nr, void *data);
static inline void x86_perf_get_lbr(struct x86_pmu_lbr *lbr)
{
	*lbr = (struct x86_pmu_lbr){ };
}
#endif

#ifdef CONFIG_CPU_SUP_INTEL
void intel_pt_handle_vmx(int on);
#else
static inline void intel_pt_handle_vmx(int on)		{ }
#endif

#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_CPU_SUP_AMD)
void amd_pmu_enable_virt(void);
void amd_pmu_disable_virt(void);
#else
static inline void amd_pmu_enable_virt(void)		{ }
static inline void amd_pmu_disable_virt(void)		{ }
#endif

#endif /* _ASM_X86_PERF_EVENT_H */
