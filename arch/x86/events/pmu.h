/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The x86 CPU PMU driver: its objects and the functions that its files share.
 *
 * Counters have numbers: 0..31 are general, 32..47 fixed. A set of counters is a u64 with one bit
 * for each. The registers of a kind of PMU (struct x86_pmu_regs) and the events that a line of
 * processors counts (struct x86_model) are data, see archperf.c, intel/, amd/ and zhaoxin/.
 *
 * Order: a file calls files of the rows above its own and files to its left in its own row. The
 * Makefile has the same order. There are three exceptions: counter loads what intel/pebs_store
 * needs for a counter that it programs, event_init passes precise events on to amd/ibs, and
 * exclusive stops branch recording by lbr.
 *
 *	no hardware	pmu assign probe exclusive callchain branch intel/p4 intel/pebs_record
 *			intel/datasrc, tables of models
 *	registers	extra intel/tfa intel/ds intel/bts_sample intel/bts counter branch_regs lbr
 *			intel/pebs_store intel/pebs intel/smi intel/topdown amd/node
 *	policy		sched irq
 *	entry points	rdpmc branch_init intel/pebs_init event_init sysfs kvm debug
 *	setup		archperf, detect of each vendor, setup amd/ibs suspend
 *
 * Concurrency: struct x86_pmu_cpu is the driver's view of one CPU's registers. Only that CPU
 * accesses it, with interrupts disabled. The overflow handler can interrupt any access as NMI:
 *
 * - The handler accesses events of the counters in x86_pmu_cpu::irq_owned and of no others. Other
 *   code removes a counter from that set before it programs the counter.
 * - An overflow of another counter in x86_pmu_cpu::loaded is noted in x86_pmu_cpu::missed; one of a
 *   counter that is not loaded sets the counter back. A counter is put in that set before its value
 *   is read for an event.
 * - x86_pmu_cpu::enabled changes by single instructions (x86_cpu_set_bits()).
 *   x86_commit_enabled() then writes the register, and repeats that if the set changed meanwhile.
 * - An update of hw_perf_event::prev_count is a compare and exchange, see x86_event_update(). Code
 *   outside of the handler sets it only while the counter is stopped or not in irq_owned.
 *
 * The counter of a counting event is not stopped when the event is removed. It continues to run
 * without an event, and the next event with the same selection takes its differences from the
 * value found there. Such a counter is written to select another event and to wind it back after
 * an overflow, and in addition if programs may read counters, see perf_clear_dirty_counters(). All
 * counters start from a negative value, so that the interrupt arrives long before a value becomes
 * ambiguous.
 *
 * The counter of a sampling event stops when the event is removed, or runs on until the next load
 * if it cannot count before the CPU is in user space again (x86_pmu_cpu::lingering).
 *
 * A counting event with a mapped user page is different: programs take differences of RDPMC without
 * the page's offset. Its counter stops when the event is removed, and the next counter of the event
 * starts from that value (x86_event_resume()), which is hw_perf_event::period_left negated.
 */
#ifndef _ARCH_X86_EVENTS_PMU_H
#define _ARCH_X86_EVENTS_PMU_H

#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <asm/msr.h>
#include <asm/perf_event.h>
#include <asm/tlbflush.h>

#include "perf_event.h"

#define X86_FIXED(n)		BIT_ULL(INTEL_PMC_IDX_FIXED + (n))
#define X86_GENERAL_MASK	GENMASK_ULL(INTEL_PMC_MAX_GENERIC - 1, 0)
/* Numbers of top-down metrics, which are no counters: in the order of PERF_METRICS. */
#define X86_METRIC_BASE		48
#define X86_METRICS		GENMASK_ULL(X86_METRIC_BASE + 7, X86_METRIC_BASE)
/* The number of the branch records of a guest, which are no counter either. */
#define X86_GUEST_BRANCHES	BIT_ULL(INTEL_PMC_IDX_FIXED_VLBR)
#define X86_NO_COUNTERS		(X86_METRICS | X86_GUEST_BRANCHES)
/* The bit of metrics in GLOBAL_CTRL and GLOBAL_STATUS. */
#define X86_METRICS_BIT		BIT_ULL(GLOBAL_STATUS_PERF_METRICS_OVF_BIT)
#define X86_FIXED_MASK		GENMASK_ULL(INTEL_PMC_IDX_FIXED + INTEL_PMC_MAX_FIXED - 1, \
					    INTEL_PMC_IDX_FIXED)

/* perf_sched_slot::idx: the counter, and which extra register of a pair the event uses. */
#define X86_SLOT_COUNTER	0x3f
#define X86_SLOT_ALTERNATE	0x40

/*
 * Window after the last interrupt with a cause, or after a counter was stopped, in which another
 * one without a cause can be late.
 */
#define X86_NMI_GRACE	msecs_to_jiffies(100)

/* hw_perf_event::flags */
#define X86_EVENT_SAMPLING	BIT(0)	/* an interrupt is a sample */
#define X86_EVENT_MISSED	BIT(1)	/* a period ended while the event was being removed */
#define X86_EVENT_SHARED_EXTRA	BIT(2)	/* holds a claim on a register that CPUs share */
#define X86_EVENT_USER		BIT(3)	/* readable by a program that maps its user page */
#define X86_EVENT_LIMITED	BIT(4)	/* has an x86_period_limit */
#define X86_EVENT_CHECKPOINTED	BIT(5)	/* samples with in_tx_cp */
#define X86_EVENT_BRANCHES	BIT(6)	/* has branch records */
#define X86_EVENT_SHARED_BRANCHES BIT(7) /* holds a claim on a branch filter that CPUs share */
#define X86_EVENT_AHEAD		BIT(8)	/* overflows early; has X86_EVENT_LIMITED, too */
#define X86_EVENT_PAIR		BIT(9)	/* takes two counters, see x86_pmu_cpu::merged */
#define X86_EVENT_NODE		BIT(10)	/* holds a claim on a counter, see amd/node.c */
#define X86_EVENT_GUEST_BRANCHES BIT(11) /* X86_EVENT_BRANCHES, and a guest has the registers */
#define X86_EVENT_PRECISE	BIT(12)	/* samples are records of the processor, see intel/pebs.h */
#define X86_EVENT_BATCH		BIT(13)	/* many records to one interrupt; X86_EVENT_PRECISE, too */
#define X86_EVENT_BRANCH_COUNTS	BIT(14)	/* branch records have its counts, by its counter */
#define X86_EVENT_TOPDOWN	BIT(15)	/* slots or a metric, see intel/topdown.c */
/* has registers beside its counter, or counts in such registers */
#define X86_EVENT_SPECIAL	(X86_EVENT_PRECISE | X86_EVENT_TOPDOWN | X86_EVENT_BRANCHES | \
				 X86_EVENT_BRANCH_COUNTS)

/* ---------------------------------------------------------------- model tables */

/**
 * struct x86_rule - events that only some counters can count
 * @match: the rule applies to selections that equal this ...
 * @mask: ... in these bits
 * @counters: set of counters that can count these events; counters that do not exist are ignored
 *
 * The first matching rule of a list applies.
 */
struct x86_rule {
	u64	match;
	u64	mask;
	u64	counters;
};

#define X86_SELECT_CODE		0x00ffULL
#define X86_SELECT_UMASK	0xffffULL
#define X86_SELECT_AMD		(AMD64_EVENTSEL_EVENT)
#define X86_SELECT_MERGE	(0xfULL << 32 | 0xff)	/* FFFH, for the odd counter of a pair */
#define X86_SELECT_NODE		0x00e0ULL	/* K8, family 10h: northbridge events have all */
#define X86_SELECT_BRANCH_COUNTER BIT_ULL(35)	/* branch records have counts of the event */

#define RULE_CODE(_code, _counters)	{ (_code), X86_SELECT_CODE, (_counters) }
#define RULE_UMASK(_sel, _counters)	{ (_sel), X86_SELECT_UMASK, (_counters) }
#define RULE_AMD(_code, _counters)	{ (_code), X86_SELECT_AMD, (_counters) }
/* Unit masks that have these bits and none of the others in @_mask. */
#define RULE_AMD_UNITS(_code, _units, _mask, _counters)	\
	{ (_code) | (_units) << 8, X86_SELECT_AMD | (_mask) << 8, (_counters) }
/* Codes that differ from @_code only in their @_bits low bits. */
#define RULE_CODES(_code, _bits, _counters)	\
	{ (_code), X86_SELECT_CODE & ~((1ULL << (_bits)) - 1), (_counters) }
#define RULE_AMD_CODES(_code, _bits, _counters)	\
	{ (_code), X86_SELECT_AMD & ~((1ULL << (_bits)) - 1), (_counters) }

/* Extra registers; the two registers of a pair are neighbours. */
enum x86_extra_id {
	X86_EXTRA_OFFCORE_0,
	X86_EXTRA_OFFCORE_1,
	X86_EXTRA_LOAD_LATENCY,
	X86_EXTRA_FRONTEND,
	X86_EXTRA_SNOOP_0,
	X86_EXTRA_SNOOP_1,
	X86_EXTRA_REPLAY,
	X86_EXTRA_BRANCHES,	/* in no table: hw_perf_event::branch_reg */
	X86_EXTRA_MAX,
};

/**
 * struct x86_extra - events that need a register beside the event select
 * @match: selections that equal this ...
 * @mask: ... in these bits need the register
 * @valid: bits that exist in the register
 * @msr: MSR number
 * @id: X86_EXTRA_*
 * @pair: the upper 32 bits of the value belong in MSR @msr + 1
 */
struct x86_extra {
	u64	match;
	u64	mask;
	u64	valid;
	u32	msr;
	u8	id;
	bool	pair;
};

#define EXTRA(_sel, _msr, _valid, _id)	\
	{ (_sel), X86_SELECT_UMASK, (_valid), (_msr), X86_EXTRA_##_id }

/**
 * struct x86_cache_event - the selection for one kind of cache access
 * @which: X86_CACHE(cache, op, result)
 * @config: selection
 * @extra: value of the extra register; 0 if the selection needs none
 */
struct x86_cache_event {
	u32	which;
	u64	config;
	u64	extra;
};

/* READ and WRITE are macros elsewhere, and X86_CACHE() pastes the word. */
#define X86_OP_LOAD	PERF_COUNT_HW_CACHE_OP_READ
#define X86_OP_STORE	PERF_COUNT_HW_CACHE_OP_WRITE
#define X86_OP_PREFETCH	PERF_COUNT_HW_CACHE_OP_PREFETCH

#define X86_CACHE(_cache, _op, _result)					\
	(PERF_COUNT_HW_CACHE_##_cache | X86_OP_##_op << 8 |		\
	 PERF_COUNT_HW_CACHE_RESULT_##_result << 16)
#define CACHE(_cache, _op, _result, _config...)		\
	{ X86_CACHE(_cache, _op, _result), _config }

/**
 * struct x86_sysfs_event - a file in the events directory of sysfs
 * @name: name of the file
 * @text: content of the file
 * @config: selection that @text describes; the file is visible if a counter can count the selection
 * @smt_text: content while SMT is active; NULL: @text
 * @needs: bits that must be settable in a selection for the file to be visible
 * @branches: visible only with branch records
 * @precise: visible only with precise samples
 * @metrics: visible only with top-down metrics
 */
struct x86_sysfs_event {
	const char	*name;
	const char	*text;
	u64		config;
	const char	*smt_text;
	u64		needs;
	bool		branches;
	bool		precise;
	bool		metrics;
};

/**
 * struct x86_period_limit - sampling periods that an event can have
 * @match: the limit applies to selections that equal this ...
 * @mask: ... in these bits
 * @least: shortest period
 * @multiple: a counter must be written with a multiple of this, a power of 2
 * @busy: shorter periods would only keep the overflow handler busy
 *
 * The first matching limit of a list applies.
 */
struct x86_period_limit {
	u64	match;
	u64	mask;
	u32	least;
	u32	multiple;
	bool	busy;
};

/* x86_model::flags */
#define X86_MODEL_HT_EXTRA	BIT(0)	/* the threads of a core share extra registers */
#define X86_MODEL_MODULE_EXTRA	BIT(1)	/* the cores of a module share extra registers */
#define X86_MODEL_TSX		BIT(2)	/* selections have in_tx and in_tx_cp */
#define X86_MODEL_UMASK2	BIT(4)	/* selections have eight more bits of umask */
#define X86_MODEL_EQ		BIT(5)	/* selections have the equal flag */
#define X86_MODEL_LDLAT		BIT(7)	/* the format directory has ldlat */
#define X86_MODEL_ARCH_EVENTS	BIT(8)	/* generic events not listed are the architectural ones */
#define X86_MODEL_NETBURST	BIT(9)	/* selections are pairs of registers, see intel/p4.c */
#define X86_MODEL_USER_LOW	BIT(10)	/* erratum: counters 4..7 cannot count user mode alone */
#define X86_MODEL_PREPARE	BIT(11)	/* erratum: selects need x86_select_prepare() */
#define X86_MODEL_ARCH_FIRST	BIT(12)	/* @generic is for events that CPUID does not report */
#define X86_MODEL_NODE		BIT(13)	/* northbridge events claim counters, see amd/node.c */

/**
 * struct x86_model - the events of a line of processors
 * @name: name in the log and in caps/pmu_name of sysfs
 * @manual: source of the tables
 * @generic: selections by PERF_COUNT_HW_*; 0: not counted; may be NULL
 * @cache: PERF_TYPE_HW_CACHE events, terminated by a zero @config; may be NULL
 * @rules: terminated by a zero @mask; may be NULL
 * @extra: terminated by a zero @mask; may be NULL
 * @sysfs_events: files in sysfs beside the generic ones, terminated by a NULL name; may be NULL
 * @smt_unsafe: event codes that corrupt counters of the core's other thread, terminated by 0;
 *	refused while SMT is active; may be NULL
 * @pairs: event codes, as in a selection, that take an even counter and the next odd one,
 *	terminated by 0; may be NULL
 * @periods: limits of sampling periods, terminated by a zero @least; may be NULL
 * @branches: registers of branch records; NULL: none that the driver uses
 * @precise: events with precise samples; NULL: none
 * @metrics: number of top-down metrics, if the part has PERF_METRICS
 * @flags: X86_MODEL_*
 */
struct x86_model {
	const char			*name;
	const char			*manual;
	const u64			*generic;
	const struct x86_cache_event	*cache;
	const struct x86_rule		*rules;
	const struct x86_extra		*extra;
	const struct x86_sysfs_event	*sysfs_events;
	const u8			*smt_unsafe;
	const u64			*pairs;
	const struct x86_period_limit	*periods;
	const struct x86_branches	*branches;
	const struct x86_precise_line	*precise;
	u32				metrics;
	u32				flags;
};

/* --------------------------------------------------------- hardware interface */

/**
 * struct x86_pmu_regs - the registers of a kind of PMU
 * @name: name in the log
 * @select: MSR of the first event select
 * @counter: MSR of the first counter
 * @counter_write: MSR for writes of the first counter in full width; @counter if there is no other
 * @fixed: MSR of the first fixed counter
 * @step: distance of MSR numbers from one counter to the next
 * @global_ctrl: MSR with an enable bit for each counter; 0: none
 * @global_status: MSR with an overflow bit for each counter; 0: none
 * @global_ack: MSR that clears bits of @global_status; 0: none
 * @enable: enable bit of a select; 0 if another register has that bit (P6)
 * @interrupt: interrupt bit of a select
 * @idle: value of select 0 while counter 0 is disabled
 * @ack_lvt: the local APIC masks the LVT entry on delivery of the interrupt
 * @late_nmi: an interrupt can arrive after the counter was stopped
 * @ack_while_on: bits of the status can be cleared only while counters are enabled
 * @guest_bits: a selection has bits for counting in hosts and in guests
 * @netburst: a select is the lower half of a selection, the upper half is the value of the ESCR
 *	that the select picks (intel/p4.c); the select also holds the counter's overflow flag,
 *	which a write clears
 * @prepare: selects need x86_select_prepare() before a change
 */
struct x86_pmu_regs {
	const char	*name;
	u32		select;
	u32		counter;
	u32		counter_write;
	u32		fixed;
	u32		step;
	u32		global_ctrl;
	u32		global_status;
	u32		global_ack;
	u64		enable;
	u64		interrupt;
	u64		idle;
	bool		ack_lvt;
	bool		late_nmi;
	bool		ack_while_on;
	bool		guest_bits;
	bool		netburst;
	bool		prepare;
};

#define X86_PMU_REGS_COUNTERS(_select, _counter, _step)	\
	.select		= (_select),			\
	.counter	= (_counter),			\
	.counter_write	= (_counter),			\
	.step		= (_step),			\
	.interrupt	= ARCH_PERFMON_EVENTSEL_INT

#define X86_PMU_REGS_GLOBAL(_ctrl, _status, _ack)		\
	.global_ctrl	= (_ctrl),			\
	.global_status	= (_status),			\
	.global_ack	= (_ack)

/**
 * struct x86_pmu - a PMU; hybrid parts have one for each kind of core
 * @pmu: the PMU as registered with the core
 * @model: events of the PMU
 * @part: hybrid parts with tables: name of the whole part; else NULL
 * @version: version of architectural performance monitoring; AMD: 0..2
 * @counters: set of counters that exist
 * @width: width of a counter in bits
 * @write_bits: low bits of a counter that a write sets; the bits above become copies of the
 *	highest of these
 * @select_mask: bits of a selection that a user may set
 * @arch_missing: CPUID.0AH:EBX, set bits are architectural events that do not count
 * @arch_len: number of valid bits in @arch_missing
 * @rtm_counters: subset of @counters that microcode uses for transactions while without an event
 * @metrics: set of the numbers of top-down metrics
 * @branches: registers of branch records; NULL if missing or not used
 * @branch_layout: X86_BRANCH_* layout of these registers
 * @max_precise: highest precise_ip, 0: no precise samples
 * @precise_format: format of the records of precise samples
 * @precise_timed: the records have the latency of the retirement
 * @precise_counters: set of counters that write such records
 * @precise_source: codes that these have for where data was
 * @native: hybrid parts: CPUID.1AH:EAX of the CPUs, 0 until the first of these is online
 * @cpus: CPUs that have this PMU: all possible ones, hybrid parts: the online ones of the kind
 */
struct x86_pmu {
	struct pmu		pmu;
	const struct x86_model	*model;
	const char		*part;
	int			version;
	u64			counters;
	u64			rtm_counters;
	u64			metrics;
	unsigned int		width;
	unsigned int		write_bits;
	u64			select_mask;
	u32			arch_missing;
	u32			arch_len;
	const struct x86_branches *branches;
	u32			branch_layout;
	u8			max_precise;
	u8			precise_format;
	bool			precise_timed;
	u64			precise_counters;
	const struct intel_datasrc_line *precise_source;
	u32			native;
	struct cpumask		cpus;
};

/**
 * struct x86_pmu_cpu - one CPU's counters and control registers
 * @pmu: the CPU's PMU; NULL: none
 * @thread_offset: added to the numbers of general counters: 2 on the second thread of a core of
 *	a Pentium 4, else 0
 * @enabled: counters that are to run; X86_METRICS_BIT while top-down metrics are
 * @global_ctrl: value last written to GLOBAL_CTRL; unused without that register
 * @irq_owned: counters with an event that the overflow handler may access
 * @missed: counters that overflowed in the overflow handler's view while not in @irq_owned
 * @loaded: counters with an event
 * @sampling: subset of @loaded, an interrupt is a sample
 * @lingering: counters that sampling events have left running, until the load that follows
 * @readable: subset of @loaded, counting events; these counters hold no counts of other programs
 * @host_only: subset of @loaded that must not run in a guest
 * @guest_only: subset of @loaded that must run only in a guest
 * @special: subset of @loaded, events with a flag of X86_EVENT_SPECIAL, and those on counters that
 *	microcode uses
 * @lbr: subset of @special, events with a flag of X86_EVENT_BRANCHES
 * @merged: odd counters that extend the counter before: the select is X86_SELECT_MERGE,
 *	there is no event, and the low 16 bits are bits 63:48 of the counter before
 * @precise: counters that write records instead of interrupting, with an event or without
 * @pebs_enable: value that PEBS_ENABLE should have
 * @pebs_enable_written: value last written to PEBS_ENABLE
 * @pebs_config: value that PEBS_DATA_CFG should have: what events on this CPU have needed
 *	and open events still need
 * @pebs_config_written: value last written to PEBS_DATA_CFG
 * @batch: subset of @loaded and @precise, each record begins the counter's next period
 * @batch_late: counters with a period that a limit has made longer, so the next record is late; of
 *	effect for those in @batch
 * @host_records: samples are being taken of records, which a guest does not write
 * @pebs_changed: one of these, or the events of @precise, may have changed
 * @metrics: subset of @loaded, top-down metrics that are running
 * @metrics_read: subset of @metrics, updated by the last read of the group
 * @branches_on: branch recording was enabled
 * @branches_frozen: an interrupt without events in @lbr can have disabled recording again
 * @dirty: counters without an event, with a value that reveals activity of @owner;
 *	X86_METRICS_BIT: PERF_METRICS has such a value
 * @fixed_ctrl: value that FIXED_CTR_CTRL should have
 * @fixed_written: value last written to FIXED_CTR_CTRL
 * @virt_clear: bits to clear in selections while the CPU runs no guests (AMD)
 * @halted: the overflow handler has stopped all counters
 * @nmi_grace: in jiffies: until then an interrupt without a cause is a late one
 * @event: event of each counter; NULL: none
 * @select: value last written to each event select; fixed counters: control bits, as those
 *	of fixed counter 0
 * @tag: changes with each value that a counter is given and with each event of the counter
 * @owner: mm_context_t::ctx_id of the program that ran while a dirty counter counted; 0: unknown;
 *	that of PERF_METRICS at X86_METRIC_BASE
 * @extra: value last written to each extra register
 * @guest_msr: result of perf_guest_get_msrs()
 */
struct x86_pmu_cpu {
	struct x86_pmu			*pmu;
	unsigned int			thread_offset;
	u64				enabled;
	u64				global_ctrl;
	u64				irq_owned;
	u64				missed;
	u64				loaded;
	u64				sampling;
	u64				lingering;
	u64				readable;
	u64				host_only;
	u64				guest_only;
	u64				special;
	u64				lbr;
	u64				merged;
	u64				precise;
	u64				pebs_enable;
	u64				pebs_enable_written;
	u64				pebs_config;
	u64				pebs_config_written;
	u64				batch;
	u64				batch_late;
	bool				host_records;
	bool				pebs_changed;
	u64				metrics;
	u64				metrics_read;
	bool				branches_on;
	bool				branches_frozen;
	u64				dirty;
	u64				fixed_ctrl;
	u64				fixed_written;
	u64				virt_clear;
	bool				halted;
	unsigned long			nmi_grace;
	struct perf_event		*event[X86_PMC_IDX_MAX];
	u64				select[X86_PMC_IDX_MAX];
	u64				tag[X86_PMC_IDX_MAX];
	u64				owner[X86_PMC_IDX_MAX];
	u64				extra[X86_EXTRA_MAX];
	struct perf_guest_switch_msr	guest_msr[2];
};

/* ---------------------------------------------------------------------- pmu.c */

extern struct x86_pmu_regs x86_pmu_regs;
extern struct x86_pmu x86_pmus[2];
extern unsigned int x86_nr_pmus;
extern atomic_t x86_irq_users;
DECLARE_PER_CPU(struct x86_pmu_cpu, x86_pmu_cpu);

/*
 * Sets of counters of this CPU that the overflow handler changes, too: each change is one
 * instruction, of a 32-bit kernel one for each half. x86_cpu_take_bits() empties the set.
 */
#ifdef CONFIG_X86_64
# define x86_cpu_set_bits(member, bits)		this_cpu_or(x86_pmu_cpu.member, bits)
# define x86_cpu_clear_bits(member, bits)	this_cpu_and(x86_pmu_cpu.member, ~(bits))
# define x86_cpu_take_bits(member)		this_cpu_xchg(x86_pmu_cpu.member, 0)
#else
# define x86_cpu_half(member, n)	(((u32 __percpu *)&x86_pmu_cpu.member)[n])

# define x86_cpu_set_bits(member, bits)						\
do {										\
	u64 __bits = (bits);							\
										\
	this_cpu_or(x86_cpu_half(member, 0), lower_32_bits(__bits));		\
	this_cpu_or(x86_cpu_half(member, 1), upper_32_bits(__bits));		\
} while (0)

# define x86_cpu_clear_bits(member, bits)					\
do {										\
	u64 __bits = ~(bits);							\
										\
	this_cpu_and(x86_cpu_half(member, 0), lower_32_bits(__bits));		\
	this_cpu_and(x86_cpu_half(member, 1), upper_32_bits(__bits));		\
} while (0)

# define x86_cpu_take_bits(member)						\
	(this_cpu_xchg(x86_cpu_half(member, 0), 0) |				\
	 (u64)this_cpu_xchg(x86_cpu_half(member, 1), 0) << 32)
#endif

static inline struct x86_pmu *to_x86_pmu(struct pmu *pmu)
{
	return container_of(pmu, struct x86_pmu, pmu);
}

static inline unsigned int x86_nr_general(const struct x86_pmu *xpmu)
{
	return hweight64(xpmu->counters & X86_GENERAL_MASK);
}

static inline unsigned int x86_nr_fixed(const struct x86_pmu *xpmu)
{
	return hweight64(xpmu->counters & X86_FIXED_MASK);
}

/* Number of counters below the first one that is missing, at most 63. */
static inline unsigned int x86_nr_in_row(u64 counters)
{
	return __ffs64(~counters);
}

/* Must the counter stay disabled until the hypervisor enters a guest? See kvm.c. */
static inline bool x86_guest_only(const struct perf_event *event)
{
	return event->attr.exclude_host && !x86_pmu_regs.guest_bits;
}

/* ECX of RDPMC for counter @idx. */
static inline u32 x86_rdpmc_index(const struct x86_pmu_cpu *cpu, unsigned int idx)
{
	return idx < INTEL_PMC_IDX_FIXED ? idx + cpu->thread_offset :
		INTEL_PMC_FIXED_RDPMC_BASE | (idx - INTEL_PMC_IDX_FIXED);
}

static inline bool x86_counter_is_fixed(unsigned int idx)
{
	return idx >= INTEL_PMC_IDX_FIXED;
}

/* Control bits of a fixed counter for a selection, but for the interrupt. */
static inline u64 x86_select_fixed_bits(u64 config)
{
	return !!(config & ARCH_PERFMON_EVENTSEL_USR) * INTEL_FIXED_0_USER |
	       !!(config & ARCH_PERFMON_EVENTSEL_OS) * INTEL_FIXED_0_KERNEL |
	       !!(config & ARCH_PERFMON_EVENTSEL_ANY) * INTEL_FIXED_0_ANYTHREAD;
}

/*
 * Is the event, with neither precise samples nor a second counter, selected on a counter that has
 * neither? A disabled counter's select is without its enable bit.
 */
static __always_inline bool x86_select_is_done(const struct x86_pmu_cpu *cpu,
					       const struct perf_event *event, unsigned int idx)
{
	u64 config = event->hw.config & ~cpu->virt_clear;

	if (x86_counter_is_fixed(idx))
		config = x86_select_fixed_bits(config) | INTEL_FIXED_0_ENABLE_PMI;
	else
		config |= x86_pmu_regs.interrupt | x86_pmu_regs.enable;
	return cpu->select[idx] == config;
}

/* The value of the counter of @event, which is loaded on this CPU. */
static inline u64 x86_event_read_counter(const struct perf_event *event)
{
	u64 val;

	rdpmcl(event->hw.event_base_rdpmc, val);
	return val;
}

/* Call after prev_count or the counter of @event has changed: programs compute counts from both. */
static inline void x86_user_base_changed(struct perf_event *event)
{
	if (unlikely(rcu_access_pointer(event->rb)))
		perf_event_update_userpage(event);
}

/* May the current program execute RDPMC? Interrupts disabled. */
static inline bool x86_user_reads_counters(void)
{
	return this_cpu_read(cpu_tlbstate.cr4) & X86_CR4_PCE;
}

/*
 * Value that a counter without sampling starts from: it can count half its range until overflow.
 * With one less the offset in the event's user page would be negative in the width of the counter,
 * and PAPI reads it in that width.
 */
static inline s64 x86_parked_value(const struct x86_pmu *xpmu)
{
	return 1 - (1LL << (xpmu->write_bits - 1));
}

/* Has a counter with this sign-extended value overflowed? All start below zero. */
static inline bool x86_value_overflowed(s64 val)
{
	return val >= 0;
}

/* Has the counter of a counting event overflowed? The event's count is up to date. */
static inline bool x86_event_wrapped(const struct perf_event *event)
{
	return x86_value_overflowed(local64_read(&event->hw.prev_count));
}

/* -------------------------------------------------------------------- extra.c */

const struct x86_extra *x86_extra_find(const struct x86_pmu *xpmu, u64 config);
int  x86_extra_init(const struct x86_pmu *xpmu, struct perf_event *event, u64 value);
u64  x86_extra_select(const struct x86_pmu *xpmu, u64 config, unsigned int id);
int  x86_extra_assign(const struct x86_pmu *xpmu, const struct perf_schedule *s, u8 *bits);
void x86_extra_load(struct x86_pmu_cpu *cpu, struct perf_event *event, bool alternate);
bool x86_extra_is_shared(const struct x86_pmu *xpmu);
int  x86_extra_claim(const struct x86_pmu *xpmu, struct perf_event *event);
int  x86_extra_claim_branches(struct perf_event *event);
void x86_extra_release(struct perf_event *event);

/* ------------------------------------------------------------------ counter.c */

u64  x86_counter_read(const struct x86_pmu_cpu *cpu, unsigned int idx);
void x86_counter_write(struct x86_pmu_cpu *cpu, unsigned int idx, s64 val);
void x86_counters_disable(struct x86_pmu_cpu *cpu, u64 counters);
void x86_counter_enable(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_commit_enabled(struct x86_pmu_cpu *cpu);
void x86_select(struct x86_pmu_cpu *cpu, struct perf_event *event, unsigned int idx);
void x86_select_flush(struct x86_pmu_cpu *cpu);
void x86_select_clear(struct x86_pmu_cpu *cpu, unsigned int idx);
void x86_counters_release(struct x86_pmu_cpu *cpu);
void x86_select_reload(struct x86_pmu_cpu *cpu, const struct perf_event *event);
bool x86_select_needs_prepare(const struct x86_pmu_cpu *cpu, const struct perf_event *event,
			      unsigned int idx);
void x86_select_prepare(struct x86_pmu_cpu *cpu);
void x86_select_ack(struct x86_pmu_cpu *cpu, u64 counters);
void x86_event_update(struct perf_event *event);
const struct x86_period_limit *x86_period_limit_of(const struct perf_event *event);
bool x86_period_next(struct perf_event *event);
void x86_event_program(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_event_rewind(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_event_keep_value(struct perf_event *event, bool stopped);
void x86_event_resume(struct x86_pmu_cpu *cpu, struct perf_event *event);
void x86_pmu_cpu_reset(struct x86_pmu_cpu *cpu);
void x86_pmu_cpu_stop(struct x86_pmu_cpu *cpu);
void x86_pmu_cpu_restore(struct x86_pmu_cpu *cpu);

/* -------------------------------------------------------------------- sched.c */

void x86_sched_unload(struct x86_pmu_cpu *cpu, u64 counters, bool load_follows);
void x86_sched_drain(struct x86_pmu_cpu *cpu);
void x86_sched_task(struct perf_event_pmu_context *pmu_ctx, struct task_struct *task,
		    bool sched_in);
void x86_sched_rewind_counting(struct x86_pmu_cpu *cpu);
void x86_sched_reselect(struct x86_pmu_cpu *cpu);
int  x86_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from);
void x86_sched_load(struct pmu *pmu, struct perf_schedule *s);
void x86_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask,
		    const struct task_struct *next);
void x86_event_start(struct perf_event *event, int flags);
void x86_event_stop(struct perf_event *event, int flags);
void x86_event_read(struct perf_event *event);

/* ---------------------------------------------------------------------- irq.c */

int x86_irq_status(struct pt_regs *regs);
int x86_irq_scan(struct pt_regs *regs);
int x86_pmi(unsigned int cmd, struct pt_regs *regs);

/* -------------------------------------------------------------------- rdpmc.c */

extern unsigned int x86_rdpmc_mode;
void x86_event_mapped(struct perf_event *event, struct mm_struct *mm);
void x86_event_unmapped(struct perf_event *event, struct mm_struct *mm);
int  x86_event_idx(struct perf_event *event);
int  x86_set_rdpmc_mode(unsigned long mode);

/* -------------------------------------------------------------- branch_init.c */

bool x86_branch_is_guest(struct perf_event *event);
int  x86_branch_init_guest(const struct x86_pmu *xpmu, struct perf_event *event);
int  x86_branch_init_type(const struct x86_pmu *xpmu, struct perf_event *event, u64 type);
int  x86_branch_init(const struct x86_pmu *xpmu, struct perf_event *event);
int  x86_branch_init_counter(const struct x86_pmu *xpmu, struct perf_event *event);
int  x86_branch_check_period(const struct perf_event *event, u64 period);

/* --------------------------------------------------------------- event_init.c */

int  x86_event_init(struct perf_event *event);
int  x86_check_period(struct perf_event *event, u64 period);
int  x86_check_new_period(struct perf_event *event, u64 period);
u64  x86_generic_select(const struct x86_pmu *xpmu, unsigned int id);
u64  x86_rule_counters(const struct x86_pmu *xpmu, u64 config);
bool x86_rule_is_pair(const struct x86_pmu *xpmu, u64 config);
u64  x86_cache_select(const struct x86_model *model, u32 which, u64 *extra);

/* -------------------------------------------------------------------- sysfs.c */

extern const struct attribute_group *x86_attr_groups[];
extern const struct attribute_group *x86_attr_update[];
int  x86_sysfs_setup(struct x86_pmu *xpmu);

/* ---------------------------------------------------------------------- kvm.c */

void x86_kvm_capability(const struct x86_pmu *xpmu, struct x86_pmu_capability *cap);
#ifdef CONFIG_CPU_SUP_INTEL
void x86_kvm_branches(const struct x86_pmu *xpmu, struct x86_pmu_lbr *lbr);
#endif

/* ----------------------------------------------------- intel/, amd/, zhaoxin/ */

#ifdef CONFIG_CPU_SUP_INTEL
int  intel_pmu_detect(void);
bool intel_pmu_is_here(struct x86_pmu *xpmu);
bool intel_pmu_accepts_cpu(struct x86_pmu *xpmu, u32 native, u64 counters);
void intel_smi_cpu_starting(void);
extern const struct attribute_group intel_smi_group;
bool intel_tfa_may_abort(void);
void intel_tfa_force_abort(bool on);
extern const struct attribute_group intel_tfa_group;
void intel_lbr_setup(struct x86_pmu *xpmu);
void intel_pebs_setup(struct x86_pmu *xpmu);
bool intel_pebs_microcode_works(u32 vfm, u8 stepping, u32 revision);

u32  p4_escr(unsigned int counter, u64 select);
u64  p4_counters_of_thread(unsigned int threads);
u64  p4_on_thread(u64 select, bool second);
u64  p4_counters(u64 config);
u64  p4_select(u64 config);
int  p4_encode(const struct x86_pmu *xpmu, struct perf_event *event, u64 *extra);
u64  p4_sched_counters(const struct perf_schedule *s, unsigned int i, unsigned int from);
#else
static inline u32 p4_escr(unsigned int counter, u64 select)	{ return 0; }
static inline u64 p4_on_thread(u64 select, bool second)		{ return select; }
static inline u64 p4_counters(u64 config)			{ return 0; }
static inline int p4_encode(const struct x86_pmu *xpmu, struct perf_event *event, u64 *extra)
{
	return -ENOENT;
}

static inline u64 p4_sched_counters(const struct perf_schedule *s, unsigned int i,
				    unsigned int from)
{
	return 0;
}

static inline void intel_smi_cpu_starting(void)	{ }
static inline bool intel_tfa_may_abort(void)	{ return false; }
static inline void intel_tfa_force_abort(bool on)	{ }
static inline int intel_pmu_detect(void)	{ return -ENODEV; }
static inline bool intel_pmu_is_here(struct x86_pmu *xpmu)	{ return false; }
#endif

#ifdef CONFIG_CPU_SUP_AMD
int  amd_pmu_detect(void);
bool amd_node_has_event(const struct x86_pmu *xpmu, const struct perf_event *event);
int  amd_node_claim(struct perf_event *event);
void amd_node_release(struct perf_event *event);
int  amd_ibs_forward(struct perf_event *event);
void amd_ibs_suspend(void);
void amd_ibs_resume(void);
#else
static inline int amd_pmu_detect(void)		{ return -ENODEV; }
static inline bool amd_node_has_event(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	return false;
}

static inline int amd_node_claim(struct perf_event *event)	{ return -EINVAL; }
static inline void amd_node_release(struct perf_event *event)	{ }
static inline int amd_ibs_forward(struct perf_event *event)	{ return -EOPNOTSUPP; }
static inline void amd_ibs_suspend(void)	{ }
static inline void amd_ibs_resume(void)		{ }
#endif

#if defined(CONFIG_CPU_SUP_ZHAOXIN) || defined(CONFIG_CPU_SUP_CENTAUR)
int  zhaoxin_pmu_detect(void);
#else
static inline int zhaoxin_pmu_detect(void)	{ return -ENODEV; }
#endif

#endif /* _ARCH_X86_EVENTS_PMU_H */
