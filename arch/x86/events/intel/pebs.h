/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Precise samples (PEBS): events that can have them, records of the processor, and their samples.
 *
 * Of an event with X86_EVENT_PRECISE, hw_perf_event::config_base is the kind of its records, and
 * hw_perf_event::event_base is what it needs of PEBS_DATA_CFG.
 */
#ifndef _ARCH_X86_EVENTS_INTEL_PEBS_H
#define _ARCH_X86_EVENTS_INTEL_PEBS_H

#include "../pmu.h"

/* From this format on PEBS_DATA_CFG selects the groups of a record. */
#define INTEL_PEBS_ADAPTIVE	4

/* PEBS_DATA_CFG, and the groups of an adaptive record in this order: SDM 3B, "Adaptive PEBS". */
#define INTEL_PEBS_MEMORY	BIT(0)
#define INTEL_PEBS_GPRS		BIT(1)
#define INTEL_PEBS_XMM		BIT(2)
#define INTEL_PEBS_BRANCHES	BIT(3)
#define INTEL_PEBS_GROUPS	GENMASK(3, 0)
#define INTEL_PEBS_NR_GROUPS	4
#define INTEL_PEBS_BRANCHES_NR	GENMASK(31, 24)	/* their number less 1 */

/* Fields of a sample that are made of INTEL_PEBS_MEMORY. */
#define INTEL_PEBS_DATA_TYPES						\
	(PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE |	\
	 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_TRANSACTION)

/* The data part of a record, but the address: x86_precise::kind. */
enum x86_precise_kind {
	X86_PRECISE_PLAIN,		/* nothing */
	X86_PRECISE_LOAD_LATENCY,	/* a load: source, latency */
	X86_PRECISE_STORE_OLD,		/* a store, Sandy Bridge and Ivy Bridge: source */
	X86_PRECISE_LOAD,		/* a load, from Haswell on: nothing */
	X86_PRECISE_STORE,		/* a store: whether it hit L1 */
	X86_PRECISE_STORE_LATENCY,	/* a store: source, latency */
	X86_PRECISE_KINDS
};

/**
 * struct x86_precise - events that can have precise samples
 * @match: selections that equal this ...
 * @mask: ... in these bits
 * @counters: set of counters that write records of these events
 * @kind: X86_PRECISE_*
 *
 * The first matching row of a list applies.
 */
struct x86_precise {
	u64	match;
	u64	mask;
	u64	counters;
	u8	kind;
};

/**
 * struct x86_precise_line - precise events of a line of processors
 * @events: terminated by a zero @mask; may be NULL
 * @others: set of counters that write records of other events; 0: there are no such records
 * @cycles: selection instead of core cycles, which have no records, by precise_ip; 0: core cycles
 * @instructions: set of counters for instructions with precise_ip 3; 0: as with 2
 * @rest: set of counters for other events with precise_ip 3; 0: as with 2
 * @least: shortest period of events that @rest applies to; 0: any
 * @source: codes of where data was
 * @flags: X86_PRECISE_*
 * @max: highest precise_ip that the line has
 */
struct x86_precise_line {
	const struct x86_precise	*events;
	u64				others;
	u64				cycles[4];
	u64				instructions;
	u64				rest;
	u32				least;
	const struct intel_datasrc_line	*source;
	u8				flags;
	u8				max;
};

/* x86_precise_line::flags */
#define X86_PRECISE_TWO_LATENCIES	BIT(0)	/* of the caches, and of the instruction */
#define X86_PRECISE_LOADS_AUX		BIT(1)	/* a load's source needs another event beside it */
#define X86_PRECISE_RETIRE_GENERAL	BIT(2)	/* no retire latency with fixed counter 0 */

/**
 * struct intel_datasrc_line - how a line of processors shows where data was
 * @level: perf_mem_data_src of each code, without mem_op, TLB and lock
 * @nr: number of codes
 * @code: bits of the record's word that are the code
 * @tlb: bit of the record's word for a miss of the second TLB; 0: there is none
 * @lock: bit for a locked access; 0: there is none
 * @block_data: bit for a load that waited for a store's data; 0: there is none
 * @block_address: bit for one that waited for a store's address; 0: there is none
 */
struct intel_datasrc_line {
	const u64	*level;
	unsigned int	nr;
	u32		code;
	u32		tlb;
	u32		lock;
	u32		block_data;
	u32		block_address;
};

/**
 * struct intel_pebs_record - a record, from any format
 * @counters: set of counters of the record; formats 1 and 2: that had overflowed
 * @ip: address of the next instruction; 0: unknown
 * @exact_ip: address of the instruction; 0: unknown
 * @tsc: time stamp; 0: unknown
 * @address: linear address of the data; 0: unknown
 * @source: where the data was
 * @latency: cycles, of formats 4 and 5 see the manual
 * @tsx: transactions
 * @retire: cycles that the instruction took to retire
 * @groups: INTEL_PEBS_MEMORY, INTEL_PEBS_GPRS, INTEL_PEBS_XMM, INTEL_PEBS_BRANCHES
 * @nr_branches: number of branches
 * @gprs: flags, instruction pointer, and 16 registers, in the order of the format
 * @xmm: low and high halves of the XMM registers
 * @branches: source, target and information, newest first
 */
struct intel_pebs_record {
	u64		counters;
	u64		ip;
	u64		exact_ip;
	u64		tsc;
	u64		address;
	u64		source;
	u64		latency;
	u64		tsx;
	u16		retire;
	u8		groups;
	unsigned int	nr_branches;
	const u64	*gprs;
	const u64	*xmm;
	const u64	*branches;
};

/**
 * struct intel_pebs_summary - what the records in the store are of
 * @nr: number of records of each counter in x86_pmu_cpu::batch
 * @kernel: a record has an address of the kernel
 * @user: a record has an address of user space
 */
struct intel_pebs_summary {
	u16	nr[X86_PMC_IDX_MAX];
	bool	kernel;
	bool	user;
};

/*
 * Bits of PEBS_ENABLE for a counter with records of a kind. Before adaptive records, loads with a
 * latency and old stores have bits of their own: SDM 3B, "Load Latency Performance Monitoring
 * Facility" and "Precise Store Facility".
 */
static inline u64 intel_pebs_enable_bits(const struct x86_pmu *xpmu, unsigned int idx,
					 unsigned int kind)
{
	u64 bits = BIT_ULL(idx);

	if (xpmu->precise_format >= INTEL_PEBS_ADAPTIVE)
		return bits;
	if (kind == X86_PRECISE_LOAD_LATENCY)
		bits |= BIT_ULL(idx + 32);
	if (kind == X86_PRECISE_STORE_OLD)
		bits |= BIT_ULL(63);
	return bits;
}

/* All bits of PEBS_ENABLE for a counter. Only counter 3 records old stores. */
static inline u64 intel_pebs_counter_bits(const struct x86_pmu *xpmu, unsigned int idx)
{
	u64 bits;

	if (idx >= INTEL_PMC_IDX_FIXED)
		return BIT_ULL(idx);
	bits = intel_pebs_enable_bits(xpmu, idx, X86_PRECISE_LOAD_LATENCY);
	if (idx == 3)
		bits |= intel_pebs_enable_bits(xpmu, idx, X86_PRECISE_STORE_OLD);
	return bits;
}

#ifdef CONFIG_CPU_SUP_INTEL
/* pebs_record.c */
unsigned int intel_pebs_record_size(unsigned int format);
unsigned int intel_pebs_record_max(unsigned int format);
unsigned int intel_pebs_config_size(unsigned int format, u64 config);
unsigned int intel_pebs_parse(unsigned int format, const u64 *words, size_t size,
			      struct intel_pebs_record *r);
unsigned int intel_pebs_peek(unsigned int format, const u64 *words, size_t size, u64 *counters,
			     u64 *ip);
void intel_pebs_fill_regs(unsigned int format, const struct intel_pebs_record *r,
			  struct pt_regs *regs);
u64  intel_pebs_transaction(const struct intel_pebs_record *r);

/* pebs_events.c */
const struct x86_precise *intel_pebs_find(const struct x86_precise_line *line, u64 config);

/* datasrc.c */
extern const struct intel_datasrc_line intel_datasrc_nehalem, intel_datasrc_sandybridge,
	intel_datasrc_skylake, intel_datasrc_server, intel_datasrc_goldencove,
	intel_datasrc_goldencove_server, intel_datasrc_gracemont, intel_datasrc_crestmont,
	intel_datasrc_lioncove;
bool intel_datasrc_has_latency(unsigned int kind);
u64  intel_datasrc(const struct intel_datasrc_line *line, unsigned int kind, u64 word);

/* pebs_init.c */
int  intel_pebs_init_select(const struct x86_pmu *xpmu, struct perf_event *event);
int  intel_pebs_init_counters(const struct x86_pmu *xpmu, struct perf_event *event);
u32  intel_pebs_groups(const struct perf_event *event);

/* pebs_store.c */
void intel_pebs_add_groups(const struct perf_event *event);
void intel_pebs_drop_groups(const struct perf_event *event);
u32  intel_pebs_open_groups(void);
u64  intel_pebs_config(const struct x86_pmu *xpmu, u32 groups);
u64  intel_pebs_reset_value(const struct x86_pmu *xpmu, const struct perf_event *event);
unsigned int intel_pebs_threshold(unsigned int space, unsigned int size, unsigned int reserve);
u64  intel_pebs_lost(s64 left, u64 period);
void intel_pebs_set_reload(struct x86_pmu_cpu *cpu, const struct perf_event *event,
			   unsigned int idx);
u64  intel_pebs_period(const struct x86_pmu_cpu *cpu, unsigned int idx);
void intel_pebs_set_late(struct x86_pmu_cpu *cpu, unsigned int idx, bool late);
void intel_pebs_cpu_load(struct x86_pmu_cpu *cpu);
void intel_pebs_cpu_reset(const struct x86_pmu *xpmu);
bool intel_pebs_is_pending(void);
void intel_pebs_set_empty(void);
bool intel_pebs_remove(unsigned int bytes);
unsigned int intel_pebs_bytes(void);
bool intel_pebs_is_accounted(void);
u64  intel_pebs_overflowed(struct x86_pmu_cpu *cpu, u64 counters);
void intel_pebs_account(struct x86_pmu_cpu *cpu, struct intel_pebs_summary *sum);

/*
 * The set of counters that a record is of. @counters: that set as the record has it. The counters
 * with records are disabled.
 */
static inline u64 intel_pebs_counters_of(struct x86_pmu_cpu *cpu, u64 counters)
{
	if (cpu->pmu->precise_format >= 3)
		return counters & cpu->precise & cpu->loaded;
	return intel_pebs_overflowed(cpu, counters);
}

/* pebs.c */
u64  intel_pebs_insn_before(u64 start, u64 ip, bool wide);
u64  intel_pebs_choose_ip(const struct perf_event *event, u64 insn, u64 next, bool insn_first,
			  bool *exact);
u64  intel_pebs_weight(const struct x86_pmu *xpmu, const struct perf_event *event,
		       const struct intel_pebs_record *r);
bool intel_pebs_try_account(struct x86_pmu_cpu *cpu);
void intel_pebs_suspend(struct x86_pmu_cpu *cpu);
u64  intel_pebs_drain(struct x86_pmu_cpu *cpu, struct pt_regs *regs);
#else
static inline int intel_pebs_init_select(const struct x86_pmu *xpmu, struct perf_event *event)
{
	return 0;
}

static inline int intel_pebs_init_counters(const struct x86_pmu *xpmu, struct perf_event *event)
{
	return 0;
}

static inline void intel_pebs_set_reload(struct x86_pmu_cpu *cpu, const struct perf_event *event,
					 unsigned int idx)	{ }
static inline void intel_pebs_add_groups(const struct perf_event *event)	{ }
static inline void intel_pebs_drop_groups(const struct perf_event *event)	{ }
static inline u32 intel_pebs_open_groups(void)				{ return 0; }
static inline u64 intel_pebs_config(const struct x86_pmu *xpmu, u32 groups)	{ return groups; }
static inline void intel_pebs_suspend(struct x86_pmu_cpu *cpu)	{ }
static inline void intel_pebs_cpu_load(struct x86_pmu_cpu *cpu)	{ }
static inline bool intel_pebs_try_account(struct x86_pmu_cpu *cpu)	{ return true; }
static inline void intel_pebs_cpu_reset(const struct x86_pmu *xpmu)	{ }
static inline bool intel_pebs_is_pending(void)				{ return false; }
static inline u64 intel_pebs_drain(struct x86_pmu_cpu *cpu, struct pt_regs *regs)
{
	return 0;
}
#endif

#endif /* _ARCH_X86_EVENTS_INTEL_PEBS_H */
