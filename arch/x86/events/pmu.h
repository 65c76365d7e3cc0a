/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The x86 CPU PMU driver: its objects.
 *
 * A counter has a number: 0..31 general, 32..47 fixed; a set of counters is a u64. How a processor
 * is told to count (struct x86_hw) and what it can count (struct x86_model) are data; see arch.c,
 * intel/, amd/ and zhaoxin/.
 *
 * struct x86_cpu is what the driver knows of one CPU's registers. They are written on that CPU
 * only, with interrupts off; the overflow handler may come in between as NMI. The rules for that:
 *
 * - The handler touches the counters in x86_cpu::armed and no others. Whoever wants to program a
 *   counter takes it out of there first.
 * - x86_cpu::on changes by single instructions (this_cpu_and/or), then x86_commit_on() writes it
 *   out and looks again.
 * - hw_perf_event::prev_count changes by compare and exchange, see x86_event_update().
 *
 * A counting event's counter is not stopped at a context switch. It runs on for nobody and the
 * next event with the same selection takes its differences from where it stands. The only writes
 * it ever needs are to select another event and to wind it back when it overflows, unless there are
 * programs that may read counters, see perf_clear_dirty_counters(). All counters count from a
 * negative value up, so that the interrupt comes long before a value is ambiguous.
 */
#ifndef _ARCH_X86_EVENTS_PMU_H
#define _ARCH_X86_EVENTS_PMU_H

#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>
#include <asm/msr.h>
#include <asm/perf_event.h>

#include "perf_event.h"

#define X86_FIXED(n)		BIT_ULL(INTEL_PMC_IDX_FIXED + (n))
#define X86_GENERAL_MASK	GENMASK_ULL(INTEL_PMC_MAX_GENERIC - 1, 0)
#define X86_FIXED_MASK		GENMASK_ULL(INTEL_PMC_IDX_FIXED + INTEL_PMC_MAX_FIXED - 1, \
					    INTEL_PMC_IDX_FIXED)

/* perf_sched_slot::idx: the counter, and which of its two extra registers an event uses. */
#define X86_SLOT_COUNTER	0x3f
#define X86_SLOT_ALTERNATE	0x40

/* hw_perf_event::flags */
#define X86_EVENT_SAMPLING	BIT(0)	/* its interrupts are samples */
#define X86_EVENT_MISSED	BIT(1)	/* an overflow came when it was being taken off */
#define X86_EVENT_SHARED_NB	BIT(2)	/* holds a northbridge counter */
#define X86_EVENT_SHARED_EXTRA	BIT(3)	/* has a claim to a register that CPUs share */
#define X86_EVENT_USER		BIT(4)	/* who maps it may read its counter: no schedule's affair */

/* ---------------------------------------------------------------- model tables */

/**
 * struct x86_rule - events that not every counter can count
 * @match: the events are those whose selection, under @mask, is this
 * @mask: bits compared
 * @counters: counters that can; those that do not exist are ignored
 *
 * The first rule that matches holds.
 */
struct x86_rule {
	u64	match;
	u64	mask;
	u64	counters;
};

#define X86_SELECT_CODE		0x00ffULL
#define X86_SELECT_UMASK	0xffffULL
#define X86_SELECT_AMD		(AMD64_EVENTSEL_EVENT)

#define RULE_CODE(_code, _counters)	{ (_code), X86_SELECT_CODE, (_counters) }
#define RULE_UMASK(_sel, _counters)	{ (_sel), X86_SELECT_UMASK, (_counters) }
#define RULE_AMD(_code, _counters)	{ (_code), X86_SELECT_AMD, (_counters) }
/* Codes that differ from @_code only in their @_bits low bits. */
#define RULE_CODES(_code, _bits, _counters)	\
	{ (_code), X86_SELECT_CODE & ~((1ULL << (_bits)) - 1), (_counters) }
#define RULE_AMD_CODES(_code, _bits, _counters)	\
	{ (_code), X86_SELECT_AMD & ~((1ULL << (_bits)) - 1), (_counters) }

/* Extra registers; the two that can stand in for one another are neighbours. */
enum x86_extra_id {
	X86_EXTRA_OFFCORE_0,
	X86_EXTRA_OFFCORE_1,
	X86_EXTRA_LOAD_LATENCY,
	X86_EXTRA_FRONTEND,
	X86_EXTRA_SNOOP_0,
	X86_EXTRA_SNOOP_1,
	X86_EXTRA_REPLAY,
	X86_EXTRA_MAX,
};

/**
 * struct x86_extra - events that need a register beside the event select
 * @match: such an event's selection ...
 * @mask: ... under these bits
 * @valid: bits of the register that exist
 * @msr: the register
 * @id: which
 * @pair: the upper half of the value is for the register after it
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
 * struct x86_cache_event - how a part counts one kind of cache access
 * @which: X86_CACHE(cache, op, result)
 * @config: selection
 * @extra: value of the extra register
 */
struct x86_cache_event {
	u32	which;
	u64	config;
	u64	extra;
};

/* Not READ and WRITE: those are macros. */
#define X86_OP_LOAD	PERF_COUNT_HW_CACHE_OP_READ
#define X86_OP_STORE	PERF_COUNT_HW_CACHE_OP_WRITE
#define X86_OP_PREFETCH	PERF_COUNT_HW_CACHE_OP_PREFETCH

#define X86_CACHE(_cache, _op, _result)					\
	(PERF_COUNT_HW_CACHE_##_cache | X86_OP_##_op << 8 |		\
	 PERF_COUNT_HW_CACHE_RESULT_##_result << 16)
#define CACHE(_cache, _op, _result, _config...)		\
	{ X86_CACHE(_cache, _op, _result), _config }

/**
 * struct x86_named_event - a file in sysfs' events directory
 * @name: the file
 * @text: what it says
 * @config: the selection that this means; the file is there if a counter can count it
 * @smt_text: what it says where a core's threads are in use both; NULL: the same
 * @needs: bits that a selection must be able to have
 */
struct x86_named_event {
	const char	*name;
	const char	*text;
	u64		config;
	const char	*smt_text;
	u64		needs;
};

/* x86_model::flags */
#define X86_MODEL_HT_EXTRA	BIT(0)	/* extra registers are shared by a core's threads */
#define X86_MODEL_MODULE_EXTRA	BIT(1)	/* ... by a module's cores */
#define X86_MODEL_TSX		BIT(2)	/* selections have in_tx and in_tx_cp */
#define X86_MODEL_UMASK2	BIT(4)	/* selections have eight more bits of umask */
#define X86_MODEL_EQ		BIT(5)	/* ... and the equal flag */
#define X86_MODEL_NB		BIT(6)	/* northbridge events share counters among cores */
#define X86_MODEL_LDLAT		BIT(7)	/* format has ldlat */
#define X86_MODEL_ARCH_EVENTS	BIT(8)	/* generic events missing here are the architectural ones */
#define X86_MODEL_NETBURST	BIT(9)	/* selections are pairs of registers, see intel/p4.c */
#define X86_MODEL_USER_LOW	BIT(10)	/* erratum: counters 4 to 7 do not count users alone */
#define X86_MODEL_PREPARE	BIT(11)	/* erratum: selects must be prepared for other events */

/**
 * struct x86_model - what a line of processors can count
 * @name: in the log and in sysfs' caps/pmu_name
 * @manual: where the tables come from
 * @generic: PERF_COUNT_HW_* to selection; 0: none
 * @cache: PERF_TYPE_HW_CACHE events, ended by a zero @config
 * @rules: ended by a zero @mask; may be NULL
 * @extra: ended by a zero @mask; may be NULL
 * @named: files in sysfs beside the generic ones, ended by a NULL name; may be NULL
 * @leaky: codes of events that disturb the other thread's counters, ended by 0: refused while
 *	both threads of a core are in use
 * @min_period: shortest period for instructions, 0: any
 * @flags: X86_MODEL_*
 */
struct x86_model {
	const char			*name;
	const char			*manual;
	const u64			*generic;
	const struct x86_cache_event	*cache;
	const struct x86_rule		*rules;
	const struct x86_extra		*extra;
	const struct x86_named_event	*named;
	const u8			*leaky;
	u32				min_period;
	u32				flags;
};

/* --------------------------------------------------------- hardware interface */

/**
 * struct x86_hw - the registers of a kind of PMU
 * @name: for the log
 * @select: first event select register
 * @counter: first counter
 * @counter_write: where counters are written, if not @counter; full width
 * @step: distance from one to the next
 * @global_ctrl: a bit for each counter that may run; 0: there is no such register
 * @global_status: counters that overflowed
 * @global_ack: where they are acknowledged
 * @enable: enable bit of a select; 0 where another register's bit enables it (P6)
 * @interrupt: interrupt bit of a select
 * @idle: what select 0 holds while its counter is off
 * @ack_lvt: the local APIC masks its entry on delivery
 * @late_nmi: an interrupt may come although its counter was stopped
 * @ack_while_on: the status is acknowledged while counters are on
 * @guest_bits: selections say themselves whether they count hosts, guests or both
 * @netburst: a select is the lower half of a selection, the upper half is for the ESCR that it picks
 *	(intel/p4.c); it also has the counter's overflow flag, which writing it clears
 * @prepare: selects must be prepared before they get another value, see x86_prepare_selects()
 */
struct x86_hw {
	const char	*name;
	u32		select;
	u32		counter;
	u32		counter_write;
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

/* Its registers: selects from @_select, counters from @_counter, each @_step after the one before. */
#define X86_HW_REGISTERS(_select, _counter, _step)	\
	.select		= (_select),			\
	.counter	= (_counter),			\
	.counter_write	= (_counter),			\
	.step		= (_step),			\
	.interrupt	= ARCH_PERFMON_EVENTSEL_INT

#define X86_HW_GLOBAL(_ctrl, _status, _ack)		\
	.global_ctrl	= (_ctrl),			\
	.global_status	= (_status),			\
	.global_ack	= (_ack)

extern struct x86_hw x86_hw;

/* Its counter must not run before the hypervisor switches to a guest, see guest.c. */
static inline bool x86_guest_only(const struct perf_event *event)
{
	return event->attr.exclude_host && !x86_hw.guest_bits;
}

/**
 * struct x86_core - a PMU: one, or one for each kind of core of a hybrid part
 * @pmu: as registered
 * @model: what it counts
 * @part: hybrid parts that are known: the name of both kinds together
 * @version: of architectural performance monitoring; AMD: 0..2
 * @counters: the counters there are
 * @width: bits of a counter
 * @write_bits: bits of a value that a write sets; the rest is the sign
 * @select_mask: bits of a selection that a user may set
 * @arch_missing: CPUID.0AH:EBX, architectural events that do not count
 * @arch_len: how many bits of it are valid
 * @native: CPUID.1AH:EAX of its CPUs, once there has been one; hybrid parts alone
 * @cpus: where it is; all CPUs but on hybrid parts
 */
struct x86_core {
	struct pmu		pmu;
	const struct x86_model	*model;
	const char		*part;
	int			version;
	u64			counters;
	unsigned int		width;
	unsigned int		write_bits;
	u64			select_mask;
	u32			arch_missing;
	u32			arch_len;
	u32			native;
	struct cpumask		cpus;
};

extern struct x86_core x86_cores[2];
extern unsigned int x86_nr_cores;

static inline struct x86_core *x86_core_of(struct pmu *pmu)
{
	return container_of(pmu, struct x86_core, pmu);
}

/* Counters of @core, counted. */
static inline unsigned int x86_nr_general(const struct x86_core *core)
{
	return hweight64(core->counters & X86_GENERAL_MASK);
}

static inline unsigned int x86_nr_fixed(const struct x86_core *core)
{
	return hweight64(core->counters & X86_FIXED_MASK);
}

/* Those before the first one that is missing; 63 at most. */
static inline unsigned int x86_nr_in_row(u64 counters)
{
	return __ffs64(~counters);
}

/**
 * struct x86_cpu - one CPU's counters and control registers
 * @core: its PMU
 * @first: added to general counters' numbers: the second thread of a Pentium 4's core has others
 * @on: counters that are to run
 * @global: GLOBAL_CTRL as written last; parts without it: unused
 * @armed: counters whose event the overflow handler may touch
 * @missed: counters of which the handler has found an overflow while they were not armed
 * @loaded: counters with an event
 * @sampling: of these, those that interrupt for samples
 * @host_only: of these, not to run in a guest
 * @guest_only: of these, to run only in a guest
 * @stale: counters without an event whose value tells of @owner
 * @fixed_ctrl: FIXED_CTR_CTRL as it is to be
 * @fixed_written: ... and as it is
 * @virt_clear: bits that selections must not have now (AMD, no hypervisor)
 * @halted: the overflow handler has halted all counters
 * @nmi_grace: jiffies until which an interrupt without cause is one that came late
 * @event: by counter
 * @select: event selects as written last; fixed counters: their four bits
 * @tag: changes when a counter is given another value or event
 * @owner: mm_context_t::ctx_id of the program that ran while a stale counter counted
 * @extra: extra registers as written last
 * @guest_msr: answer for KVM
 */
struct x86_cpu {
	struct x86_core			*core;
	unsigned int			first;
	u64				on;
	u64				global;
	u64				armed;
	u64				missed;
	u64				loaded;
	u64				sampling;
	u64				host_only;
	u64				guest_only;
	u64				stale;
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
	struct perf_guest_switch_msr	guest_msr;
};

DECLARE_PER_CPU(struct x86_cpu, x86_cpu);

/* ECX of RDPMC for counter @idx. */
static inline u32 x86_rdpmc_index(const struct x86_cpu *cpu, unsigned int idx)
{
	return idx < INTEL_PMC_IDX_FIXED ? idx + cpu->first :
		INTEL_PMC_FIXED_RDPMC_BASE | (idx - INTEL_PMC_IDX_FIXED);
}

/* What the counter of an event that is loaded here holds. */
static inline u64 x86_event_counter(const struct perf_event *event)
{
	u64 val;

	rdpmcl(event->hw.event_base_rdpmc, val);
	return val;
}

/* What a program has to add to the counter that it reads has changed, or the counter itself. */
static inline void x86_event_moved(struct perf_event *event)
{
	if (unlikely(rcu_access_pointer(event->rb)))
		perf_event_update_userpage(event);
}

/* ------------------------------------------------------------------ counter.c */

u64  x86_counter_read(const struct x86_cpu *cpu, unsigned int idx);
void x86_counter_write(struct x86_cpu *cpu, unsigned int idx, s64 val);
void x86_counters_off(struct x86_cpu *cpu, u64 counters);
void x86_counter_on(struct x86_cpu *cpu, struct perf_event *event);
void x86_commit_on(struct x86_cpu *cpu);
void x86_select(struct x86_cpu *cpu, struct perf_event *event, unsigned int idx);
void x86_select_flush(struct x86_cpu *cpu);
bool x86_needs_prepared(const struct x86_cpu *cpu, const struct perf_event *event, unsigned int idx);
void x86_prepare_selects(struct x86_cpu *cpu);
void x86_select_ack(struct x86_cpu *cpu, u64 counters);
void x86_event_update(struct perf_event *event);
bool x86_period_next(struct perf_event *event);
void x86_event_program(struct x86_cpu *cpu, struct perf_event *event);
void x86_event_rewind(struct x86_cpu *cpu, struct perf_event *event);
void x86_cpu_quiesce(struct x86_cpu *cpu);
void x86_cpu_rest(struct x86_cpu *cpu);
void x86_cpu_rewrite(struct x86_cpu *cpu);

/* Value from which a counter runs that is not sampling: half its range from overflow. */
static inline s64 x86_rest_value(const struct x86_core *core)
{
	return -(1LL << (core->write_bits - 1));
}

/* Counts that a counter may still make before it needs its interrupt. */
static inline bool x86_at_rest(s64 val)
{
	return val < 0;
}

/* ------------------------------------------------------------------- sched.c */

void x86_unload(struct x86_cpu *cpu, u64 counters);
void x86_event_start(struct perf_event *event, int flags);
void x86_event_stop(struct perf_event *event, int flags);
void x86_event_read(struct perf_event *event);

void x86_extra_load(struct x86_cpu *cpu, struct perf_event *event, bool alternate);
u64  x86_extra_select(const struct x86_core *core, u64 config, unsigned int id);
int  x86_extra_other(const struct x86_core *core, int id, u64 val);
int  x86_extra_claim(const struct x86_core *core, struct perf_event *event);
void x86_extra_release(struct perf_event *event);
int  x86_sched_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from);
void x86_sched_load(struct pmu *pmu, const struct perf_schedule *s);
void x86_sched_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask);
void x86_hide_counts(struct x86_cpu *cpu);

/* -------------------------------------------------------------------- irq.c */

int x86_irq_status(struct pt_regs *regs);
int x86_irq_scan(struct pt_regs *regs);
int x86_pmi(unsigned int cmd, struct pt_regs *regs);

/* ------------------------------------------------------------------ encode.c */

int  x86_event_init(struct perf_event *event);
int  x86_check_period(struct perf_event *event, u64 period);
u64  x86_generic_select(const struct x86_core *core, unsigned int id);
u64  x86_rule_counters(const struct x86_core *core, u64 config);
u64  x86_cache_select(const struct x86_model *model, u32 which, u64 *extra);
extern atomic_t x86_irq_users;

/* ------------------------------------------------------------------- guest.c */

void x86_guest_capability(const struct x86_core *core, struct x86_pmu_capability *cap);

/* ------------------------------------------------------------------- sysfs.c */

extern const struct attribute_group *x86_attr_groups[];
extern const struct attribute_group *x86_attr_update[];
int  x86_sysfs_setup(struct x86_core *core);

/* ------------------------------------------------------------------- rdpmc.c */

extern unsigned int x86_rdpmc_mode;
void x86_event_mapped(struct perf_event *event, struct mm_struct *mm);
void x86_event_unmapped(struct perf_event *event, struct mm_struct *mm);
int  x86_event_idx(struct perf_event *event);
int  x86_set_rdpmc_mode(unsigned long mode);
bool x86_user_reads_counters(void);

/* ------------------------------------------------- intel/, amd/, zhaoxin/ */

#ifdef CONFIG_CPU_SUP_INTEL
int  intel_pmu_detect(void);
bool intel_core_is_here(struct x86_core *core);
bool intel_core_takes(struct x86_core *core, u32 native, u64 counters);
void intel_smi_cpu_starting(void);
extern const struct attribute_group intel_smi_group;

u32  p4_escr(unsigned int counter, u64 select);
u64  p4_counters_of_thread(unsigned int threads);
u64  p4_on_thread(u64 select, bool second);
u64  p4_counters(u64 config);
u64  p4_select(u64 config);
int  p4_encode(const struct x86_core *core, struct perf_event *event, u64 *extra);
u64  p4_sched_counters(const struct perf_schedule *s, unsigned int i, unsigned int from);
#else
static inline u32 p4_escr(unsigned int counter, u64 select)	{ return 0; }
static inline u64 p4_on_thread(u64 select, bool second)		{ return select; }
static inline u64 p4_counters(u64 config)			{ return 0; }
static inline int p4_encode(const struct x86_core *core, struct perf_event *event, u64 *extra)
{
	return -ENOENT;
}
static inline u64 p4_sched_counters(const struct perf_schedule *s, unsigned int i, unsigned int from)
{
	return 0;
}
static inline void intel_smi_cpu_starting(void)	{ }
static inline int intel_pmu_detect(void)	{ return -ENODEV; }
static inline bool intel_core_is_here(struct x86_core *core)	{ return false; }
#endif

#ifdef CONFIG_CPU_SUP_AMD
int  amd_pmu_detect(void);
#else
static inline int amd_pmu_detect(void)		{ return -ENODEV; }
#endif

#if defined(CONFIG_CPU_SUP_ZHAOXIN) || defined(CONFIG_CPU_SUP_CENTAUR)
int  zhaoxin_pmu_detect(void);
#else
static inline int zhaoxin_pmu_detect(void)	{ return -ENODEV; }
#endif

#endif /* _ARCH_X86_EVENTS_PMU_H */
