// SPDX-License-Identifier: GPL-2.0
/*
 * Precise samples (PEBS): the registers, and samples from records.
 *
 * A counter with its bit in PEBS_ENABLE does not interrupt when it overflows. Its next event
 * writes a record to the debug store, and sets the counter to a reset value. This interrupts,
 * because the store's threshold is the first record. The reset value is 0: the next period is
 * programmed in the interrupt, as for other samples, so the arithmetic of periods is the same.
 * Events with X86_EVENT_BATCH differ, see pebs_store.c.
 *
 * A record belongs to the event that is on its counter. So what is in the store when an event
 * leaves its counter is sampled before; see x86_sched_drain().
 *
 * Manual: SDM 3B, "Processor Event Based Sampling".
 *
 * Context: interrupts disabled on the CPU of the registers, or NMI.
 */
#include <linux/bitfield.h>
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/cpu_device_id.h>
#include <asm/insn.h>
#include <asm/intel-family.h>
#include <asm/tsc.h>

#include "../branch.h"
#include "../lbr.h"
#include "ds.h"
#include "models.h"
#include "pebs.h"

/* Fields of a record: cycles in transactions; latencies of the caches and of all. */
#define PEBS_TSX_CYCLES		GENMASK_ULL(31, 0)
#define PEBS_LATENCY_INSN	GENMASK_ULL(15, 0)
#define PEBS_LATENCY_CACHE	GENMASK_ULL(47, 32)

/* PERF_CAPABILITIES: records have the latency of the retirement. */
#define PEBS_CAP_TIMING		BIT_ULL(17)

static DEFINE_PER_CPU(bool, pebs_draining);

/**
 * struct pebs_batch - the place of a record among the records of its event
 * @time: the sample has the time of the record
 * @last: no other record of the event follows before the end of the interrupt
 */
struct pebs_batch {
	bool	time;
	bool	last;
};

/* ------------------------------------------------ the instruction of a record */

static bool pebs_read_code(u8 *to, u64 from, unsigned int n)
{
	if (x86_address_is_kernel(from))
		return !copy_from_kernel_nofault(to, (void *)(unsigned long)from, n);
	return !copy_from_user_nmi(to, (void __user *)(unsigned long)from, n);
}

/* The longest straight piece of code that is decoded, in bytes. */
#define PEBS_STRAIGHT_MAX	4096

/**
 * intel_pebs_insn_before - the instruction before an address
 * @start: where an instruction starts, from which code is executed without a branch
 * @ip: where the next instruction starts
 * @wide: the code is 64-bit code
 *
 * Context: any, NMI included.
 * Return: address of the instruction; 0 if the code does not lead there or cannot be read
 */
u64 intel_pebs_insn_before(u64 start, u64 ip, bool wide)
{
	u8 code[MAX_INSN_SIZE];
	struct insn insn;
	unsigned int n;

	if (ip <= start || ip - start > PEBS_STRAIGHT_MAX)
		return 0;
	for (; start < ip; start += insn.length) {
		n = min_t(u64, ip - start, sizeof(code));
		if (!pebs_read_code(code, start, n) ||
		    insn_decode(&insn, code, n, wide ? INSN_MODE_64 : INSN_MODE_32))
			return 0;
		if (start + insn.length == ip)
			return start;
	}
	return 0;
}

static bool pebs_runs_wide(bool kernel, struct pt_regs *regs)
{
	if (kernel || IS_ENABLED(CONFIG_X86_32))
		return IS_ENABLED(CONFIG_X86_64);
	return user_64bit_mode(user_mode(regs) ? regs : task_pt_regs(current));
}

/* The newest branch when the record was written has led to the code with its instruction. */
static u64 pebs_find_insn(struct x86_pmu_cpu *cpu, u64 ip, struct pt_regs *regs)
{
	bool kernel = x86_address_is_kernel(ip);
	struct perf_branch_entry last;

	if (!in_nmi() || !x86_lbr_newest(cpu, &last) || x86_address_is_kernel(last.to) != kernel)
		return 0;
	if (last.to == ip)
		return last.from;
	return intel_pebs_insn_before(last.to, ip, pebs_runs_wide(kernel, regs));
}

static bool pebs_is_excluded(const struct perf_event *event, u64 ip)
{
	return x86_address_is_kernel(ip) ? event->attr.exclude_kernel : event->attr.exclude_user;
}

static bool pebs_ip_suits(const struct perf_event *event, u64 ip)
{
	return ip && !pebs_is_excluded(event, ip);
}

/**
 * intel_pebs_choose_ip - the address of a sample
 * @event: event of the record
 * @insn: address of the instruction; 0: unknown
 * @next: address of the next instruction; 0: unknown
 * @insn_first: that of the instruction is used, if both are at levels of the event, or none is
 * @exact: set to whether the address is that of the instruction
 *
 * An event of user space has no address of the kernel: its last instruction before an entry is
 * followed by one of the kernel, and its first one after that follows one of the kernel. The same
 * is true of an event of the kernel.
 *
 * Context: any, NMI included.
 * Return: the address; one at a level that the event excludes if there is no other
 */
u64 intel_pebs_choose_ip(const struct perf_event *event, u64 insn, u64 next, bool insn_first,
			 bool *exact)
{
	bool suits = pebs_ip_suits(event, insn);

	*exact = insn && (suits == pebs_ip_suits(event, next) ? insn_first : suits);
	return *exact ? insn : next;
}

/* With precise_ip 1 the address is that of the next instruction, where a record has that. */
static u64 pebs_find_ip(struct x86_pmu_cpu *cpu, const struct perf_event *event,
			const struct intel_pebs_record *r, struct pt_regs *regs, bool *exact)
{
	bool insn_first = cpu->pmu->precise_format >= INTEL_PEBS_ADAPTIVE ||
			  event->attr.precise_ip > 1;
	u64 insn = r->exact_ip;

	if (!insn && insn_first && event->hw.flags & X86_EVENT_BRANCHES)
		insn = pebs_find_insn(cpu, r->ip, regs);
	return intel_pebs_choose_ip(event, insn, r->ip, insn_first, exact);
}

/* --------------------------------------------------------------------- samples */

/* Addresses of records are linear: a segment with a base is not for them. */
static unsigned long pebs_user_cs(struct pt_regs *regs)
{
	struct pt_regs *user = user_mode(regs) ? regs : task_pt_regs(current);

#ifdef CONFIG_X86_64
	return user->cs == __USER32_CS ? __USER32_CS : __USER_CS;
#else
	return user->cs ? __USER_CS : 0;
#endif
}

/* Fields of a sample that have registers beside the instruction pointer, or are made of them. */
#define PEBS_REGS_TYPES		(PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER |	\
				 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN)

static bool pebs_needs_regs(struct perf_event *event)
{
	const struct perf_event *top = event->parent ?: event;

	return event->attr.sample_type & PEBS_REGS_TYPES || READ_ONCE(top->prog) ||
	       !is_default_overflow_handler(event);
}

/* Where fixed counter 0 has no latency, pebs_init_allowed() leaves it to events that need it. */
static bool pebs_has_retire_latency(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	bool general = xpmu->model->precise->flags & X86_PRECISE_RETIRE_GENERAL;

	return xpmu->precise_timed && !(general && event->hw.counters == X86_FIXED(0));
}

/**
 * intel_pebs_weight - the weight of a sample
 * @xpmu: PMU of the record
 * @event: event of the record, with PERF_SAMPLE_WEIGHT or PERF_SAMPLE_WEIGHT_STRUCT
 * @r: record
 *
 * The latency of the access is that of the caches alone where a record has both. Without accesses
 * the cycles in transactions stand for it.
 *
 * Context: any, NMI included.
 * Return: the latency, or union perf_sample_weight
 */
u64 intel_pebs_weight(const struct x86_pmu *xpmu, const struct perf_event *event,
		      const struct intel_pebs_record *r)
{
	const struct x86_precise_line *line = xpmu->model->precise;
	union perf_sample_weight weight = { };
	u64 latency = r->latency;

	if (!intel_datasrc_has_latency(event->hw.config_base)) {
		latency = FIELD_GET(PEBS_TSX_CYCLES, r->tsx);
	} else if (line->flags & X86_PRECISE_TWO_LATENCIES) {
		weight.var2_w = FIELD_GET(PEBS_LATENCY_INSN, latency);
		latency = FIELD_GET(PEBS_LATENCY_CACHE, latency);
	} else {
		latency = lower_32_bits(latency);
	}
	if (event->attr.sample_type & PERF_SAMPLE_WEIGHT)
		return latency;
	weight.var1_dw = latency;
	if (pebs_has_retire_latency(xpmu, event))
		weight.var3_w = r->retire;
	return weight.full;
}

/*
 * Sets the fields that the event samples from the data part of the record. The event files name
 * more events with an address than the tables of intel_pebs_find(): it is sampled for each.
 */
static void pebs_fill_data(const struct x86_pmu *xpmu, const struct perf_event *event,
			   const struct intel_pebs_record *r, struct perf_sample_data *data)
{
	unsigned int kind = event->hw.config_base;
	u64 type = event->attr.sample_type;

	data->addr = r->address;
	data->sample_flags |= PERF_SAMPLE_ADDR;
	if (type & PERF_SAMPLE_DATA_SRC) {
		data->data_src.val = intel_datasrc(xpmu->precise_source, kind, r->source);
		data->sample_flags |= PERF_SAMPLE_DATA_SRC;
	}
	if (type & PERF_SAMPLE_WEIGHT_TYPE) {
		data->weight.full = intel_pebs_weight(xpmu, event, r);
		data->sample_flags |= PERF_SAMPLE_WEIGHT_TYPE;
	}
	if (type & PERF_SAMPLE_TRANSACTION) {
		data->txn = intel_pebs_transaction(r);
		data->sample_flags |= PERF_SAMPLE_TRANSACTION;
	}
}

/* The time of a record, as the clock of the event had it: see pebs_init_batch(). */
static u64 pebs_time(const struct intel_pebs_record *r)
{
	return native_sched_clock_from_tsc(r->tsc) + __sched_clock_offset;
}

/**
 * struct pebs_sampler - samples of the records of an event
 * @cpu: this CPU
 * @event: the event
 * @regs: of the interrupt, which stand for what a record does not have
 * @wants_regs: the registers of a sample are read, not its address and mode alone
 * @wants_data: the sample has what the record shows of data
 * @wants_time: the time is that of the record
 * @data: the sample that is being made
 * @at: its registers
 */
struct pebs_sampler {
	struct x86_pmu_cpu	*cpu;
	struct perf_event	*event;
	struct pt_regs		*regs;
	bool			wants_regs;
	bool			wants_data;
	bool			wants_time;
	struct perf_sample_data	data;
	struct x86_perf_regs	at;
};

/* @period: the one that the samples end. @timed: their time is that of the records. */
static void pebs_sampler_init(struct pebs_sampler *s, struct x86_pmu_cpu *cpu,
			      struct perf_event *event, struct pt_regs *regs, u64 period,
			      bool timed)
{
	s->cpu = cpu;
	s->event = event;
	s->regs = regs;
	s->wants_regs = pebs_needs_regs(event);
	s->wants_data = event->attr.sample_type & INTEL_PEBS_DATA_TYPES;
	/* Side-band records do not have the clock of the TSC any more once that is unstable. */
	s->wants_time = timed && event->attr.sample_type & PERF_SAMPLE_TIME &&
			sched_clock_stable();
	perf_sample_data_init(&s->data, 0, period);
	/* A BPF program that is attached at this moment reads no stack of the kernel. */
	if (s->wants_regs)
		s->at.regs = *regs;
	else
		s->at = (struct x86_perf_regs){ };
}

static void pebs_sampler_set_regs(struct pebs_sampler *s, const struct intel_pebs_record *r, u64 ip,
				  bool exact)
{
	struct pt_regs *at = &s->at.regs;

	if (s->wants_regs) {
		s->at.xmm_regs = (u64 *)r->xmm;
		if (r->gprs)
			intel_pebs_fill_regs(s->cpu->pmu->precise_format, r, at);
	}
	at->flags &= ~PERF_EFLAGS_EXACT;
	if (exact)
		at->flags |= PERF_EFLAGS_EXACT;
	at->ip = ip;
	if (x86_address_is_kernel(ip)) {
		at->cs = __KERNEL_CS;
		at->ss = __KERNEL_DS;
	} else {
		at->cs = pebs_user_cs(s->regs);
		at->ss = __USER_DS;
	}
}

/* Makes the sample of a record, which is at @ip. */
static void pebs_sampler_set(struct pebs_sampler *s, const struct intel_pebs_record *r, u64 ip,
			     bool exact)
{
	pebs_sampler_set_regs(s, r, ip, exact);
	if (s->wants_data)
		pebs_fill_data(s->cpu->pmu, s->event, r, &s->data);
	if (s->wants_time) {
		s->data.time = pebs_time(r);
		s->data.sample_flags |= PERF_SAMPLE_TIME;
	}
}

/* Records without branches interrupt at once, and the interrupt has read the registers. */
static void pebs_sample_branches(struct x86_pmu_cpu *cpu, struct perf_event *event,
				 const struct intel_pebs_record *r, struct perf_sample_data *data)
{
	BUILD_BUG_ON(sizeof(struct x86_branch_raw) != 3 * sizeof(*r->branches));
	if (r->nr_branches)
		x86_lbr_sample_logged(cpu, event, data, (const void *)r->branches, r->nr_branches);
	else if (cpu->pmu->precise_format < INTEL_PEBS_ADAPTIVE && in_nmi())
		x86_lbr_sample(cpu, event, data);
}

/*
 * Writes the sample of a record. Returns true if the event must be stopped. A call chain of the
 * kernel begins at the interrupt, because the stack of the record can have been overwritten.
 */
static bool pebs_sample(struct x86_pmu_cpu *cpu, struct perf_event *event,
			const struct intel_pebs_record *r, struct pt_regs *regs, u64 period,
			struct pebs_batch batch)
{
	struct pebs_sampler s __uninitialized;
	bool exact, stop;
	u64 ip;

	ip = pebs_find_ip(cpu, event, r, regs, &exact);
	if (pebs_is_excluded(event, ip))
		return batch.last && perf_event_account_interrupt(event);
	pebs_sampler_init(&s, cpu, event, regs, period, batch.time);
	pebs_sampler_set(&s, r, ip, exact);
	if (has_branch_stack(event) && event->hw.flags & X86_EVENT_BRANCHES)
		pebs_sample_branches(cpu, event, r, &s.data);
	if (x86_address_is_kernel(ip))
		perf_sample_save_callchain(&s.data, event, regs);
	if (batch.last)
		stop = perf_event_overflow(event, &s.data, &s.at.regs);
	else
		stop = perf_event_overflow_batched(event, &s.data, &s.at.regs);
	perf_sample_put_callchain(&s.data);
	return stop;
}

/* The period of an event has ended with a record. Returns whether the event has to be stopped. */
static bool pebs_end_period(struct x86_pmu_cpu *cpu, struct perf_event *event,
			    const struct intel_pebs_record *r, struct pt_regs *regs)
{
	const struct pebs_batch alone = { .last = true };
	u64 period = event->hw.last_period;
	bool over = x86_period_next(event);

	x86_event_program(cpu, event);
	x86_user_base_changed(event);
	return over && pebs_sample(cpu, event, r, regs, period, alone);
}

/* A record of a counter that has begun its next period. */
static bool pebs_end_reloaded(struct x86_pmu_cpu *cpu, unsigned int idx,
			      const struct intel_pebs_record *r, struct pt_regs *regs, u16 *nr)
{
	struct pebs_batch batch = { .time = true, .last = !--nr[idx] };

	return pebs_sample(cpu, cpu->event[idx], r, regs, intel_pebs_period(cpu, idx), batch);
}

/* Returns the counters of events that must be stopped; those in @stop must be already. */
static u64 pebs_handle_record(struct x86_pmu_cpu *cpu, const struct intel_pebs_record *r,
			      struct pt_regs *regs, u16 *nr, u64 stop)
{
	u64 set = intel_pebs_counters_of(cpu, r->counters);
	bool over;

	/* The interrupted code is programming these counters: it handles x86_pmu_cpu::missed. */
	x86_cpu_set_bits(missed, set & ~cpu->irq_owned);
	for (set &= cpu->irq_owned & ~stop; set; set &= set - 1) {
		unsigned int idx = __ffs64(set);

		if (cpu->batch & BIT_ULL(idx)) {
			over = pebs_end_reloaded(cpu, idx, r, regs, nr);
		} else {
			x86_event_update(cpu->event[idx]);
			over = pebs_end_period(cpu, cpu->event[idx], r, regs);
		}
		if (over)
			stop |= BIT_ULL(idx);
	}
	return stop;
}

/* ----------------------------------------------------- samples written together */

/*
 * Can a record be of code that the event excludes? If one of its addresses is at a level of the
 * event, the sample has that one: see intel_pebs_choose_ip().
 */
static bool pebs_may_exclude(const struct perf_event *event, const struct intel_pebs_summary *sum)
{
	return (event->attr.exclude_kernel && sum->kernel) ||
	       (event->attr.exclude_user && sum->user);
}

/* Makes the sample of the record @at; returns the bytes of the record. */
static unsigned int pebs_sampler_read(struct pebs_sampler *s, const void *at, unsigned int left)
{
	struct intel_pebs_record r __uninitialized;
	unsigned int size;
	bool exact;
	u64 ip;

	size = intel_pebs_parse(s->cpu->pmu->precise_format, at, left, &r);
	ip = pebs_find_ip(s->cpu, s->event, &r, s->regs, &exact);
	pebs_sampler_set(s, &r, ip, exact);
	s->data.ip = ip;
	return size;
}

/*
 * Writes the samples of all records but the last, which are all of one event. Returns their bytes;
 * 0 if they have to be handled one by one.
 */
static noinline unsigned int pebs_sample_many(struct x86_pmu_cpu *cpu, unsigned int idx,
					      const struct intel_pebs_summary *sum,
					      struct pt_regs *regs)
{
	unsigned int left = intel_pebs_bytes(), nr = sum->nr[idx] - 1, size;
	const void *at = intel_ds_memory(INTEL_DS_PEBS);
	struct perf_sample_batch batch __uninitialized;
	struct perf_event *event = cpu->event[idx];
	struct pebs_sampler s __uninitialized;

	if (!perf_event_overflow_only_samples(event) ||
	    has_branch_stack(event) || pebs_may_exclude(event, sum))
		return 0;
	pebs_sampler_init(&s, cpu, event, regs, intel_pebs_period(cpu, idx), true);
	size = pebs_sampler_read(&s, at, left);
	if (!perf_sample_batch_begin(&batch, event, &s.data, &s.at.regs, nr))
		return 0;
	perf_sample_batch_add(&batch, &s.data, &s.at.regs);
	while (--nr) {
		size += pebs_sampler_read(&s, at + size, left - size);
		perf_sample_batch_add(&batch, &s.data, &s.at.regs);
	}
	perf_sample_batch_end(&batch);
	return size;
}

/*
 * The last record of the interrupt is left, see perf_event_overflow_batched(). Returns the bytes of
 * the records of which there are samples.
 */
static unsigned int pebs_drain_many(struct x86_pmu_cpu *cpu, struct pt_regs *regs,
				    struct intel_pebs_summary *sum)
{
	u64 precise = cpu->precise & cpu->loaded;
	unsigned int idx = __ffs64(precise), size;

	if (precise & (precise - 1) || !(cpu->batch & cpu->irq_owned & precise) ||
	    sum->nr[idx] < 3)
		return 0;
	size = pebs_sample_many(cpu, idx, sum, regs);
	if (size)
		sum->nr[idx] = 1;
	return size;
}

/* @stop: what must be stopped already. */
static u64 pebs_drain_records(struct x86_pmu_cpu *cpu, struct pt_regs *regs, unsigned int left,
			      u64 stop)
{
	const void *at = intel_ds_memory(INTEL_DS_PEBS);
	unsigned int size = 0;
	struct intel_pebs_summary sum __uninitialized;
	struct intel_pebs_record r __uninitialized;

	if (cpu->batch) {
		memset(&sum, 0, sizeof(sum));
		intel_pebs_account(cpu, &sum);
		size = pebs_drain_many(cpu, regs, &sum);
	}
	for (left -= size, at += size; left; left -= size, at += size) {
		size = intel_pebs_parse(cpu->pmu->precise_format, at, left, &r);
		if (!size)
			break;
		stop = pebs_handle_record(cpu, &r, regs, sum.nr, stop);
	}
	return stop;
}

/**
 * intel_pebs_drain - take samples of the records in the store of this CPU
 * @cpu: this CPU; its counters with records are off
 * @regs: interrupted registers
 *
 * Context: interrupts disabled, or NMI. An NMI that interrupts this leaves the records to it.
 * Return: set of counters of events that must be stopped
 */
u64 intel_pebs_drain(struct x86_pmu_cpu *cpu, struct pt_regs *regs)
{
	unsigned int bytes;
	u64 stop = 0;

	if (!intel_ds_memory(INTEL_DS_PEBS) || this_cpu_read(pebs_draining))
		return 0;
	this_cpu_write(pebs_draining, true);
	cpu->host_records = true;
	barrier();
	do {
		bytes = intel_pebs_bytes();
		stop = pebs_drain_records(cpu, regs, bytes, stop);
	} while (intel_pebs_remove(bytes));
	barrier();
	cpu->host_records = false;
	this_cpu_write(pebs_draining, false);
	return stop;
}

/**
 * intel_pebs_try_account - bring the counts of the events in @cpu->batch up to date
 * @cpu: this CPU, with all counters stopped by the overflow handler
 *
 * Context: NMI.
 * Return: false if the interrupted code is about to do that
 */
bool intel_pebs_try_account(struct x86_pmu_cpu *cpu)
{
	struct intel_pebs_summary sum = { };

	if (intel_pebs_is_accounted())
		return true;
	if (this_cpu_read(pebs_draining))
		return false;
	intel_pebs_account(cpu, &sum);
	return true;
}

/**
 * intel_pebs_suspend - take the samples of records before this CPU loses its registers
 * @cpu: this CPU; no counter is enabled afterwards
 *
 * The counters stop first: a record that is written after the others were taken would begin a
 * period that no count has.
 *
 * Context: interrupts disabled.
 */
void intel_pebs_suspend(struct x86_pmu_cpu *cpu)
{
	u64 stop;

	lockdep_assert_irqs_disabled();
	x86_counters_disable(cpu, ~0ULL);
	if (!intel_pebs_is_pending())
		return;
	stop = intel_pebs_drain(cpu, task_pt_regs(current));
	x86_cpu_clear_bits(irq_owned, stop);
	for (; stop; stop &= stop - 1)
		cpu->event[__ffs64(stop)]->hw.state |= PERF_HES_STOPPED;
}

/* ----------------------------------------------------------------------- setup */

/**
 * struct pebs_microcode - a part that needs a revision of its microcode for right records
 * @vfm: vendor, family and model
 * @stepping: stepping
 * @revision: lowest revision
 */
struct pebs_microcode {
	u32	vfm;
	u8	stepping;
	u32	revision;
};

/* Specification updates of Sandy Bridge: other steppings have no right records. */
static const struct pebs_microcode pebs_microcodes[] = {
	{ INTEL_SANDYBRIDGE, 7, 0x28 },
	{ INTEL_SANDYBRIDGE_X, 6, 0x618 },
	{ INTEL_SANDYBRIDGE_X, 7, 0x70c },
};

/**
 * intel_pebs_microcode_works - does a part with this microcode write right records?
 * @vfm: vendor, family and model
 * @stepping: its stepping
 * @revision: revision of its microcode
 *
 * Context: any.
 * Return: true if it does
 */
bool intel_pebs_microcode_works(u32 vfm, u8 stepping, u32 revision)
{
	bool listed = false;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pebs_microcodes); i++) {
		if (pebs_microcodes[i].vfm != vfm)
			continue;
		listed = true;
		if (pebs_microcodes[i].stepping == stepping)
			return revision >= pebs_microcodes[i].revision;
	}
	return !listed;
}

/* Merom: errata AJ67, AJ68, AJ69 and AJ106. */
static bool pebs_model_works(void)
{
	return boot_cpu_data.x86_vfm != INTEL_CORE2_MEROM &&
	       boot_cpu_data.x86_vfm != INTEL_CORE2_MEROM_L &&
	       intel_pebs_microcode_works(boot_cpu_data.x86_vfm, boot_cpu_data.x86_stepping,
					  boot_cpu_data.microcode);
}

/* Servers have persistent memory where other parts have a fourth level of cache. */
static const struct x86_cpu_id pebs_servers[] = {
	X86_MATCH_VFM(INTEL_SKYLAKE_X, NULL),
	X86_MATCH_VFM(INTEL_ICELAKE_X, NULL),
	X86_MATCH_VFM(INTEL_ICELAKE_D, NULL),
	X86_MATCH_VFM(INTEL_SAPPHIRERAPIDS_X, NULL),
	X86_MATCH_VFM(INTEL_EMERALDRAPIDS_X, NULL),
	X86_MATCH_VFM(INTEL_GRANITERAPIDS_X, NULL),
	X86_MATCH_VFM(INTEL_GRANITERAPIDS_D, NULL),
	{ }
};

static const struct intel_datasrc_line *pebs_source(const struct x86_precise_line *line)
{
	if (!x86_match_cpu(pebs_servers))
		return line->source;
	return line->source == &intel_datasrc_goldencove ? &intel_datasrc_goldencove_server :
							   &intel_datasrc_server;
}

/* A hypervisor can show the feature without the register. */
static bool pebs_register_works(void)
{
	u64 val;

	return !rdmsrl_safe(MSR_IA32_PEBS_ENABLE, &val) && !wrmsrl_safe(MSR_IA32_PEBS_ENABLE, 0);
}

static u64 pebs_counters(const struct x86_pmu *xpmu, unsigned int format)
{
	if (format >= INTEL_PEBS_ADAPTIVE)
		return xpmu->counters;
	return xpmu->counters & (format ? FIRST(4) : FIRST(1));
}

/**
 * intel_pebs_setup - find out whether a PMU has precise samples
 * @xpmu: the PMU, with its model, version, counters and branch records set
 *
 * Context: on a CPU of the PMU.
 */
void intel_pebs_setup(struct x86_pmu *xpmu)
{
	const struct x86_precise_line *line = xpmu->model->precise;
	unsigned int format, max;
	u64 caps = 0;

	if (!line || xpmu->version < 2 || !intel_ds_is_usable() ||
	    !boot_cpu_has(X86_FEATURE_PEBS) || !pebs_model_works() || !pebs_register_works())
		return;
	if (boot_cpu_has(X86_FEATURE_PDCM))
		rdmsrl_safe(MSR_IA32_PERF_CAPABILITIES, &caps);
	format = (caps & PERF_CAP_PEBS_FORMAT) >> 8;
	if (format >= INTEL_PEBS_ADAPTIVE && !(caps & PERF_CAP_PEBS_BASELINE))
		return;
	/* The instruction itself is in the record, or found by branch records. */
	max = format >= 2 || xpmu->branches ? line->max : 1;
	xpmu->precise_format = format;
	xpmu->precise_timed = caps & PEBS_CAP_TIMING;
	xpmu->precise_counters = pebs_counters(xpmu, format);
	xpmu->precise_source = pebs_source(line);
	xpmu->max_precise = max;
	if (format >= INTEL_PEBS_ADAPTIVE)
		xpmu->pmu.capabilities |= PERF_PMU_CAP_EXTENDED_REGS;
	pr_info("perf: precise samples to level %u, format %u\n", max, format);
}
