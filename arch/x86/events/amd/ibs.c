// SPDX-License-Identifier: GPL-2.0
/*
 * Instruction based sampling: the PMUs ibs_fetch and ibs_op.
 *
 * Each has one counter on each CPU, which counts for one event at a time. When it reaches its
 * maximum the next fetch or op is tagged. When that has completed, the sample is in registers, and
 * an entry of the extended local vector table interrupts. The counter stands until the valid bit is
 * cleared.
 *
 * Manual: APM volume 2, 13.3 "Instruction-Based Sampling"; BKDG of family 10h, PPR of family 19h.
 *
 * Concurrency: struct amd_ibs_cpu is accessed on its CPU with interrupts disabled. The interrupt is
 * an NMI: it acts on the event only while amd_ibs_cpu::running is set. It can arrive after the
 * counter was stopped: while amd_ibs_cpu::leaving is set, an interrupt that has no sample is
 * reported as handled.
 */
#define pr_fmt(fmt) "perf: " fmt

#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/perf_regs.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <asm/nmi.h>
#include <asm/segment.h>

#include "../branch.h"
#include "../pmu.h"
#include "ibs.h"

/* hw_perf_event::flags */
#define AMD_IBS_NO_KERNEL	BIT(0)	/* opened by a user without access to the kernel */
#define AMD_IBS_HALF		BIT(1)	/* half a fetch too many has been counted */

/* attr.config1 */
#define AMD_IBS_LATENCY		GENMASK_ULL(11, 0)	/* samples of loads that take longer */

/* attr.config2 */
#define AMD_IBS_SWFILT		BIT_ULL(0)	/* exclude_user and exclude_kernel drop samples */

/* More than a counter can count from one start on. */
#define AMD_IBS_START		BIT_ULL(32)

/**
 * struct amd_ibs_cpu - the counter of a CPU
 * @event: event on the counter; NULL: none
 * @start: count from which the counter was started, events
 * @accounted: events since the start that are part of the event's count, below AMD_IBS_START;
 *	multiples of AMD_IBS_START are the number of starts
 * @running: the counter runs, or has a sample
 * @leaving: the counter was stopped, and an interrupt may be on the way
 */
struct amd_ibs_cpu {
	struct perf_event	*event;
	u64			start;
	local64_t		accounted;
	bool			running;
	bool			leaving;
};

/**
 * struct amd_ibs - one of the PMUs
 * @pmu: registered object
 * @msr: MSR of the control register, which further registers follow
 * @nr: number of registers there, the control register included
 * @max: bits of the control register that have the maximum
 * @enable: bit that enables the counter
 * @valid: bit that is set while the registers have a sample
 * @config: bits of the control register that users may set, beside the maximum
 * @least: fewest events until a sample: smaller values of the maximum are reserved
 * @most: most events until a sample
 * @is_op: ops, not fetches
 * @cpu: state of each CPU
 */
struct amd_ibs {
	struct pmu			pmu;
	u32				msr;
	u32				nr;
	u64				max;
	u64				enable;
	u64				valid;
	u64				config;
	u64				least;
	u64				most;
	bool				is_op;
	struct amd_ibs_cpu __percpu	*cpu;
};

static DEFINE_PER_CPU(struct amd_ibs_cpu, amd_ibs_fetch_cpu);
static DEFINE_PER_CPU(struct amd_ibs_cpu, amd_ibs_op_cpu);

/* CPUID 8000_001BH:EAX; 0: no instruction based sampling */
static u32 amd_ibs_caps __ro_after_init;
/* Family 19h models 00h to 0fh: erratum 1197 */
static bool amd_ibs_zen3 __ro_after_init;
/* AMD_IBS_LACKS_* */
static unsigned int amd_ibs_lacks __ro_after_init;

static struct amd_ibs *to_amd_ibs(struct pmu *pmu)
{
	return container_of(pmu, struct amd_ibs, pmu);
}

/* ------------------------------------------------------------------- counter */

/* Does the counter start from a random count, 15 at most, which no register has? 1 or 0 */
static unsigned int amd_ibs_is_random_fetch(const struct amd_ibs *ibs,
					    const struct perf_event *event)
{
	return ibs->is_op ? 0 : FIELD_GET(AMD_IBS_FETCH_RANDOM, event->hw.config);
}

static u64 amd_ibs_counted(const struct amd_ibs *ibs, u64 ctl)
{
	if (ibs->is_op)
		return amd_ibs_op_counted(ctl, this_cpu_ptr(ibs->cpu)->start, amd_ibs_caps);
	return (ctl & ibs->valid ? FIELD_GET(AMD_IBS_FETCH_MAX, ctl) :
				   FIELD_GET(AMD_IBS_FETCH_COUNT, ctl)) << 4;
}

/*
 * What the counter has counted since it was started is added to the event. A random start is taken
 * for its mean, 7.5, if there is a sample. Without one the low bits of the count are missing, which
 * have the same mean.
 */
static void amd_ibs_account(struct amd_ibs *ibs, struct perf_event *event, u64 ctl)
{
	unsigned int random = ctl & ibs->valid ? amd_ibs_is_random_fetch(ibs, event) : 0;
	local64_t *accounted = &this_cpu_ptr(ibs->cpu)->accounted;
	u64 before = local64_read(accounted), n = amd_ibs_counted(ibs, ctl);

	/* Below what a read has seen, the counter has begun again: it has reached its maximum. */
	if (n < before % AMD_IBS_START)
		n = amd_ibs_counted(ibs, ctl | ibs->valid);
	n -= random * (event->hw.flags & AMD_IBS_HALF ? 8 : 7);
	event->hw.flags ^= random * AMD_IBS_HALF;
	n -= before % AMD_IBS_START;
	local64_set(accounted, (before | (AMD_IBS_START - 1)) + 1);
	local64_add(n, &event->count);
	local64_sub(n, &event->hw.period_left);
}

/*
 * Returns whether the period has ended. It has ended if fewer than @least events of it are left;
 * these are added to the next period. The handler of a sample is longer than the fewest events that
 * a counter can count.
 */
static bool amd_ibs_next_period(const struct amd_ibs *ibs, struct perf_event *event, s64 least)
{
	struct hw_perf_event *hwc = &event->hw;
	s64 left = local64_read(&hwc->period_left);
	/* That of a frequency can be shorter. */
	s64 period = max(hwc->sample_period, ibs->least);

	if (left >= least)
		return false;
	left = left <= -period ? period : left + period;
	local64_set(&hwc->period_left, left);
	hwc->last_period = period;
	return true;
}

/* The control register of a stopped counter, with a new maximum. */
static u64 amd_ibs_ctl(const struct amd_ibs *ibs, const struct perf_event *event)
{
	s64 left = local64_read(&event->hw.period_left);
	u64 n;

	/* The maximum with the mean that is nearest to what is left. */
	left += 8 * amd_ibs_is_random_fetch(ibs, event);
	n = amd_ibs_chunk(left, ibs->least, ibs->most);
	return event->hw.config | (ibs->is_op ? amd_ibs_op_max(n) : n >> 4);
}

/* @random: low bits of the op counter from which it starts, in the control register */
static void amd_ibs_enable(const struct amd_ibs *ibs, const struct perf_event *event, u64 random)
{
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);
	u64 ctl = amd_ibs_ctl(ibs, event) | random;

	cpu->start = FIELD_GET(AMD_IBS_OP_RANDOM, random);
	/* These families need the enable bit to be cleared before the maximum changes. */
	if (!ibs->is_op && boot_cpu_data.x86 >= 0x16 && boot_cpu_data.x86 <= 0x18)
		wrmsrl(ibs->msr, ctl);
	wrmsrl(ibs->msr, ctl | ibs->enable);
}

/* Erratum 420 of family 10h: the maximum is cleared before the enable bit. */
static void amd_ibs_disable(const struct amd_ibs *ibs, u64 ctl)
{
	ctl &= ~ibs->valid;
	if (boot_cpu_data.x86 == 0x10)
		wrmsrl(ibs->msr, ctl & ~ibs->max);
	wrmsrl(ibs->msr, ctl & ~ibs->enable);
}

static void amd_ibs_start(struct perf_event *event, int flags)
{
	struct amd_ibs *ibs = to_amd_ibs(event->pmu);
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);

	if (!(event->hw.state & PERF_HES_STOPPED))
		return;
	event->hw.state = 0;
	amd_ibs_next_period(ibs, event, 1);
	WRITE_ONCE(cpu->running, true);
	amd_ibs_enable(ibs, event, 0);
	perf_event_update_userpage(event);
}

/* A sample that is there already has ended its period without a record. */
static void amd_ibs_stop(struct perf_event *event, int flags)
{
	struct amd_ibs *ibs = to_amd_ibs(event->pmu);
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);
	u64 ctl;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* The interrupt handler needs both before the interrupt can be late. */
	WRITE_ONCE(cpu->leaving, true);
	/* A sample that an NMI has taken since is accounted, and has stopped the counter. */
	if (!xchg(&cpu->running, false))
		return;
	rdmsrl(ibs->msr, ctl);
	amd_ibs_disable(ibs, ctl);
	amd_ibs_account(ibs, event, ctl);
	perf_event_update_userpage(event);
}

static int amd_ibs_add(struct perf_event *event, int flags)
{
	struct amd_ibs_cpu *cpu = this_cpu_ptr(to_amd_ibs(event->pmu)->cpu);

	if (cpu->event)
		return -ENOSPC;
	cpu->event = event;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	/* A throttled event starts when it is unthrottled. */
	if (flags & PERF_EF_START && event->hw.interrupts != PERF_THROTTLED)
		amd_ibs_start(event, 0);
	return 0;
}

static void amd_ibs_del(struct perf_event *event, int flags)
{
	amd_ibs_stop(event, PERF_EF_UPDATE);
	this_cpu_ptr(to_amd_ibs(event->pmu)->cpu)->event = NULL;
}

/*
 * The counter continues. An interrupt in here that has a sample accounts it, with which the events
 * up to the read are accounted, too. Period first: the interrupt looks at what is left of it.
 */
static void amd_ibs_read(struct perf_event *event)
{
	struct amd_ibs *ibs = to_amd_ibs(event->pmu);
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);
	s64 before = local64_read(&cpu->accounted), n;
	u64 ctl;

	if (!READ_ONCE(cpu->running) || cpu->event != event)
		return;
	rdmsrl(ibs->msr, ctl);
	if (ctl & ibs->valid || !(ctl & ibs->enable))
		return;
	n = amd_ibs_counted(ibs, ctl) - 8 * amd_ibs_is_random_fetch(ibs, event) -
	    before % AMD_IBS_START;
	if (n <= 0)
		return;
	local64_sub(n, &event->hw.period_left);
	if (local64_cmpxchg(&cpu->accounted, before, before + n) == before)
		local64_add(n, &event->count);
	else
		local64_add(n, &event->hw.period_left);
}

/* -------------------------------------------------------------------- samples */

/*
 * Reads the registers in the order of the raw record; returns their number, AMD_IBS_RECORD_REGS at
 * most.
 */
static unsigned int amd_ibs_read_regs(const struct amd_ibs *ibs, u64 ctl, u64 *regs)
{
	unsigned int i, n = ibs->nr;

	regs[0] = ctl;
	for (i = 1; i < n; i++)
		rdmsrl(ibs->msr + i, regs[i]);
	if (!ibs->is_op) {
		if (amd_ibs_caps & AMD_IBS_FETCH_EXTD)
			rdmsrl(MSR_AMD64_ICIBSEXTDCTL, regs[n++]);
		return n;
	}
	if (amd_ibs_caps & AMD_IBS_BRANCH_TARGET)
		rdmsrl(MSR_AMD64_IBSBRTARGET, regs[n++]);
	if (amd_ibs_caps & AMD_IBS_OP_DATA4)
		rdmsrl(MSR_AMD64_IBSOPDATA4, regs[n++]);
	return n;
}

/*
 * The interrupt of an op of user space can be taken in the kernel. The registers are then not those
 * of the op. The sample has those that the kernel's entry has saved. They are 0 if it has not saved
 * them yet, or if the task is a kernel thread.
 */
static void amd_ibs_fill_user_regs(struct pt_regs *iregs, struct pt_regs *to)
{
	struct perf_regs user = { };

	if (is_user_task(current))
		perf_get_regs_user(&user, iregs);
	if (user.regs)
		*to = *user.regs;
	else
		memset(to, 0, sizeof(*to));
}

/* The sample is at the tagged instruction, if that is known. Returns false for a broken sample. */
static bool amd_ibs_fill_regs(const struct amd_ibs *ibs, const u64 *ibs_regs,
			      struct pt_regs *iregs, struct pt_regs *to)
{
	union ibs_op_data data = { .val = ibs->is_op ? ibs_regs[AMD_IBS_OP_DATA] : 0 };
	u64 ip = ibs_regs[1];

	*to = *iregs;
	to->flags &= ~PERF_EFLAGS_EXACT;
	if (ibs->is_op && amd_ibs_caps & AMD_IBS_RIP_INVALID && data.op_rip_invalid)
		return true;
	if (!ibs->is_op && amd_ibs_zen3 && !ip)
		return false;
	if (!x86_address_is_kernel(ip) && !user_mode(iregs))
		amd_ibs_fill_user_regs(iregs, to);
	to->ip = ip;
	to->cs = x86_address_is_kernel(ip) ? __KERNEL_CS : __USER_CS;
	to->flags |= PERF_EFLAGS_EXACT;
	return true;
}

/* The event's user may not see physical addresses and those of the kernel. */
static void amd_ibs_hide(const struct amd_ibs *ibs, u64 *regs)
{
	if (ibs->is_op)
		amd_ibs_hide_op(regs, amd_ibs_caps);
	else
		amd_ibs_hide_fetch(regs);
}

static void amd_ibs_fill_data(const struct perf_event *event, const u64 *regs,
			      struct perf_sample_data *data)
{
	union ibs_op_data3 data3 = { .val = regs[AMD_IBS_OP_DATA3] };
	u64 type = event->attr.sample_type;

	if (type & PERF_SAMPLE_DATA_SRC) {
		data->data_src.val = amd_ibs_data_src(regs, amd_ibs_caps, amd_ibs_lacks);
		data->sample_flags |= PERF_SAMPLE_DATA_SRC;
	}
	if (type & PERF_SAMPLE_WEIGHT_TYPE) {
		data->weight.full = amd_ibs_weight(regs, type);
		data->sample_flags |= PERF_SAMPLE_WEIGHT_TYPE;
	}
	if (type & PERF_SAMPLE_ADDR && data3.dc_lin_addr_valid) {
		data->addr = regs[AMD_IBS_DC_LINEAR];
		data->sample_flags |= PERF_SAMPLE_ADDR;
	}
	if (type & PERF_SAMPLE_PHYS_ADDR && data3.dc_phy_addr_valid) {
		data->phys_addr = regs[AMD_IBS_DC_PHYSICAL];
		data->sample_flags |= PERF_SAMPLE_PHYS_ADDR;
	}
}

static bool amd_ibs_is_excluded(const struct perf_event *event, struct pt_regs *regs)
{
	return user_mode(regs) ? event->attr.exclude_user : event->attr.exclude_kernel;
}

/* The processor drops samples by a latency that is rounded down. */
static bool amd_ibs_is_too_fast(const struct perf_event *event, const u64 *regs)
{
	return event->hw.config & AMD_IBS_OP_LATENCY_EN &&
	       !amd_ibs_is_slower(regs, event->attr.config1 & AMD_IBS_LATENCY);
}

/* Writes the sample at the end of @period. Returns whether the event has to be stopped. */
static int amd_ibs_sample(struct amd_ibs *ibs, struct perf_event *event, u64 ctl, u64 period,
			  struct pt_regs *iregs)
{
	struct perf_raw_record raw = { };
	struct amd_ibs_record record __uninitialized;
	struct perf_sample_data data __uninitialized;
	struct pt_regs regs __uninitialized;
	unsigned int n;
	int stop;

	n = amd_ibs_read_regs(ibs, ctl, record.regs);
	if (!amd_ibs_fill_regs(ibs, record.regs, iregs, &regs) ||
	    amd_ibs_is_excluded(event, &regs) || amd_ibs_is_too_fast(event, record.regs))
		return perf_event_account_interrupt(event);

	if (event->hw.flags & AMD_IBS_NO_KERNEL)
		amd_ibs_hide(ibs, record.regs);
	perf_sample_data_init(&data, 0, period);
	if (ibs->is_op)
		amd_ibs_fill_data(event, record.regs, &data);
	if (event->attr.sample_type & PERF_SAMPLE_RAW) {
		record.caps = amd_ibs_caps;
		raw.frag.size = sizeof(u32) + n * sizeof(u64);
		raw.frag.data = &record.caps;
		perf_sample_save_raw_data(&data, event, &raw);
	}
	/* The stack is that of the interrupt. */
	if (event->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		perf_sample_save_callchain(&data, event, iregs);
	stop = perf_event_overflow(event, &data, &regs);
	perf_sample_put_callchain(&data);
	return stop;
}

static int amd_ibs_irq(struct amd_ibs *ibs, struct pt_regs *regs)
{
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);
	struct perf_event *event = cpu->event;
	bool running = READ_ONCE(cpu->running) && event;
	bool late = READ_ONCE(cpu->leaving);
	u64 ctl, period;

	/* If this has interrupted amd_ibs_stop() the next interrupt is the late one. */
	if (!running || !(event->hw.state & PERF_HES_STOPPED))
		WRITE_ONCE(cpu->leaving, false);
	if (!running)
		return late;
	rdmsrl(ibs->msr, ctl);
	if (!(ctl & ibs->valid))
		return late;

	amd_ibs_account(ibs, event, ctl);
	period = event->hw.last_period;
	if (amd_ibs_next_period(ibs, event, ibs->least) &&
	    amd_ibs_sample(ibs, event, ctl, period, regs)) {
		event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
		WRITE_ONCE(cpu->running, false);
		amd_ibs_disable(ibs, ctl);
	} else {
		amd_ibs_enable(ibs, event, ibs->is_op ? amd_ibs_op_random(ctl, amd_ibs_caps) : 0);
	}
	perf_event_update_userpage(event);
	return 1;
}

NOKPROBE_SYMBOL(amd_ibs_irq);

/* ------------------------------------------------------------------ new events */

static u64 amd_ibs_config_period(const struct amd_ibs *ibs, u64 config)
{
	u64 max = config & AMD_IBS_OP_MAX;

	if (ibs->is_op)
		max |= FIELD_GET(AMD_IBS_OP_MAX_EXT, config & ibs->max) << 16;
	return max << 4;
}

/*
 * A period is rounded down to a multiple of 16, and up to the fewest events. Without a period
 * config has the maximum, which is none of a frequency.
 */
static int amd_ibs_init_period(struct amd_ibs *ibs, struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 config = event->attr.config;

	if (!is_sampling_event(event) && event->attr.freq)
		return perf_refuse(-EINVAL, "sample_freq: must not be 0");
	if (!is_sampling_event(event)) {
		event->attr.sample_period = amd_ibs_config_period(ibs, config);
		hwc->sample_period = event->attr.sample_period;
	} else if (config & ibs->max) {
		return perf_refuse(-EINVAL, "config: has a maximum beside sample_period");
	}
	if (!hwc->sample_period)
		return perf_refuse(-EINVAL, "sample_period: the PMU only samples");
	hwc->sample_period = max(hwc->sample_period & ~0xfULL, ibs->least);
	hwc->last_period = hwc->sample_period;
	local64_set(&hwc->period_left, hwc->sample_period);
	return 0;
}

static int amd_ibs_init_exclude(struct perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	if (attr->exclude_idle || attr->exclude_host || attr->exclude_guest)
		return perf_refuse(-EINVAL,
				   "exclude_*: the PMU cannot tell hosts and guests apart");
	/* There is no level below the kernel, but perf excludes it with the kernel. */
	if ((attr->exclude_user || attr->exclude_kernel || attr->exclude_hv) &&
	    !(attr->config2 & AMD_IBS_SWFILT))
		return perf_refuse(-EINVAL,
				   "exclude_*: the PMU cannot tell levels apart without swfilt");
	return 0;
}

/* Family 1Ah, erratum 1606: the filter of latencies needs that of L3 misses. */
static int amd_ibs_init_latency(const struct amd_ibs *ibs, struct perf_event *event)
{
	unsigned int cycles = event->attr.config1 & AMD_IBS_LATENCY;

	if (!ibs->is_op || !(amd_ibs_caps & AMD_IBS_LDLAT) || !cycles)
		return 0;
	if (cycles < 128 || cycles > 2048)
		return perf_refuse(-EINVAL, "config1: ldlat must be from 128 to 2048");
	event->hw.config |= amd_ibs_op_latency(cycles);
	if (boot_cpu_has(X86_FEATURE_ZEN5))
		event->hw.config |= AMD_IBS_OP_L3_MISS;
	return 0;
}

/* One event of a group can run at a time. */
static int amd_ibs_init_group(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;

	if (leader == event)
		return 0;
	if (leader->pmu == event->pmu)
		return perf_refuse(-EINVAL, "group_fd: the group has an event of this PMU");
	for_each_sibling_event(sibling, leader)
		if (sibling->pmu == event->pmu)
			return perf_refuse(-EINVAL,
					   "group_fd: the group has an event of this PMU");
	return 0;
}

static int amd_ibs_event_init(struct perf_event *event)
{
	struct amd_ibs *ibs = to_amd_ibs(event->pmu);
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->attr.config & ~(ibs->config | ibs->max))
		return perf_refuse(-EINVAL, "config: the PMU has no bits %#llx",
				   event->attr.config & ~(ibs->config | ibs->max));
	if (event->attr.config2 & ~AMD_IBS_SWFILT)
		return perf_refuse(-EINVAL, "config2: the PMU has swfilt alone");
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP, "branch_sample_type: the PMU has no branches");
	event->hw.config = event->attr.config & ibs->config;
	/* A child has the period of its parent. */
	ret = amd_ibs_init_exclude(event) ?: amd_ibs_init_group(event) ?:
	      amd_ibs_init_latency(ibs, event) ?:
	      (event->parent ? 0 : amd_ibs_init_period(ibs, event));
	if (ret)
		return ret;
	event->hw.config_base = ibs->msr;
	event->hw.idx = -1;
	if (event->parent)
		event->hw.flags = event->parent->hw.flags & AMD_IBS_NO_KERNEL;
	else if (event->attr.exclude_kernel && perf_allow_kernel())
		event->hw.flags = AMD_IBS_NO_KERNEL;
	return 0;
}

static int amd_ibs_check_period(struct perf_event *event, u64 period)
{
	u64 least = to_amd_ibs(event->pmu)->least;

	if (!event->attr.freq && period < least)
		return perf_refuse(-EINVAL, "sample_period: must be %llu at least", least);
	return 0;
}

/* ----------------------------------------------------------------------- sysfs */

PMU_FORMAT_ATTR(rand_en, "config:57");
PMU_FORMAT_ATTR(cnt_ctl, "config:19");
PMU_FORMAT_ATTR(swfilt, "config2:0");
PMU_FORMAT_ATTR(ldlat, "config1:0-11");
PMU_FORMAT_ATTR_SHOW(fetch_l3missonly, "config:59")
PMU_FORMAT_ATTR_SHOW(op_l3missonly, "config:16")
static struct device_attribute format_attr_fetch_l3missonly =
	__ATTR(l3missonly, 0444, fetch_l3missonly_show, NULL);
static struct device_attribute format_attr_op_l3missonly =
	__ATTR(l3missonly, 0444, op_l3missonly_show, NULL);

static ssize_t zen4_ibs_extensions_show(struct device *dev, struct device_attribute *attr,
					char *page)
{
	return sysfs_emit(page, "1\n");
}
static DEVICE_ATTR_RO(zen4_ibs_extensions);

static ssize_t ldlat_cap_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "1\n");
}

static struct device_attribute dev_attr_ldlat_cap = __ATTR(ldlat, 0444, ldlat_cap_show, NULL);

static umode_t amd_ibs_file_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	u32 needs = 0;

	if (attr == &format_attr_fetch_l3missonly.attr || attr == &format_attr_op_l3missonly.attr ||
	    attr == &dev_attr_zen4_ibs_extensions.attr)
		needs = AMD_IBS_ZEN4;
	else if (attr == &format_attr_ldlat.attr || attr == &dev_attr_ldlat_cap.attr)
		needs = AMD_IBS_LDLAT;
	else if (attr == &format_attr_cnt_ctl.attr)
		needs = AMD_IBS_COUNT_OPS;
	return (amd_ibs_caps & needs) == needs ? attr->mode : 0;
}

static struct attribute *amd_ibs_fetch_format[] = {
	&format_attr_rand_en.attr, &format_attr_swfilt.attr, &format_attr_fetch_l3missonly.attr,
	NULL
};

static struct attribute *amd_ibs_op_format[] = {
	&format_attr_cnt_ctl.attr, &format_attr_swfilt.attr, &format_attr_op_l3missonly.attr,
	&format_attr_ldlat.attr, NULL
};

static struct attribute *amd_ibs_fetch_caps[] = { &dev_attr_zen4_ibs_extensions.attr, NULL };

static struct attribute *amd_ibs_op_caps[] = {
	&dev_attr_zen4_ibs_extensions.attr, &dev_attr_ldlat_cap.attr, NULL
};

static const struct attribute_group amd_ibs_fetch_format_group = {
	.name = "format", .attrs = amd_ibs_fetch_format, .is_visible = amd_ibs_file_visible,
};

static const struct attribute_group amd_ibs_op_format_group = {
	.name = "format", .attrs = amd_ibs_op_format, .is_visible = amd_ibs_file_visible,
};

static const struct attribute_group amd_ibs_fetch_caps_group = {
	.name = "caps", .attrs = amd_ibs_fetch_caps, .is_visible = amd_ibs_file_visible,
};

static const struct attribute_group amd_ibs_op_caps_group = {
	.name = "caps", .attrs = amd_ibs_op_caps, .is_visible = amd_ibs_file_visible,
};

static const struct attribute_group *amd_ibs_fetch_groups[] = {
	&amd_ibs_fetch_format_group, &amd_ibs_fetch_caps_group, NULL
};

static const struct attribute_group *amd_ibs_op_groups[] = {
	&amd_ibs_op_format_group, &amd_ibs_op_caps_group, NULL
};

/* ------------------------------------------------------------------------ PMUs */

#define AMD_IBS_CALLBACKS(_groups)				\
	.pmu = {						\
		.task_ctx_nr	= perf_hw_context,		\
		.attr_groups	= (_groups),			\
		.event_init	= amd_ibs_event_init,		\
		.add		= amd_ibs_add,			\
		.del		= amd_ibs_del,			\
		.start		= amd_ibs_start,		\
		.stop		= amd_ibs_stop,			\
		.read		= amd_ibs_read,			\
		.check_period	= amd_ibs_check_period,		\
	}

static struct amd_ibs amd_ibs_fetch = {
	AMD_IBS_CALLBACKS(amd_ibs_fetch_groups),
	.msr	= MSR_AMD64_IBSFETCHCTL,
	.nr	= AMD_IBS_FETCH_REGS,
	.max	= AMD_IBS_FETCH_MAX,
	.enable	= AMD_IBS_FETCH_EN,
	.valid	= AMD_IBS_FETCH_VAL,
	.config	= AMD_IBS_FETCH_RANDOM,
	.least	= 1 << 4,
	.most	= AMD_IBS_FETCH_MAX << 4,
	.cpu	= &amd_ibs_fetch_cpu,
};

static struct amd_ibs amd_ibs_op = {
	AMD_IBS_CALLBACKS(amd_ibs_op_groups),
	.msr	= MSR_AMD64_IBSOPCTL,
	.nr	= AMD_IBS_OP_REGS,
	.max	= AMD_IBS_OP_MAX,
	.enable	= AMD_IBS_OP_EN,
	.valid	= AMD_IBS_OP_VAL,
	.least	= AMD_IBS_OP_LEAST << 4,
	.most	= AMD_IBS_OP_MAX << 4,
	.is_op	= true,
	.cpu	= &amd_ibs_op_cpu,
};

/**
 * amd_ibs_forward - change a precise event to one of ibs_op
 * @event: event of the core PMU with precise_ip
 *
 * Core cycles become ibs_op's count of cycles, event 0C1H ibs_op's count of ops. Other events have
 * no precise samples.
 *
 * Context: process, may sleep.
 * Return: -ENOENT after @event->attr has been changed: the core then tries ibs_op; -EOPNOTSUPP
 */
int amd_ibs_forward(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	u64 config = 0;

	if (!(amd_ibs_caps & AMD_IBS_OPS))
		return perf_refuse(-EOPNOTSUPP, "precise_ip: no precise samples on this CPU");
	if (attr->precise_ip > 2)
		return perf_refuse(-EOPNOTSUPP, "precise_ip: this CPU has 2 at most");
	if (attr->type == PERF_TYPE_RAW && attr->config == 0xc1 &&
	    amd_ibs_caps & AMD_IBS_COUNT_OPS)
		config = AMD_IBS_OP_COUNTS_OPS;
	else if (!(attr->type == PERF_TYPE_RAW && attr->config == 0x76) &&
		 !(attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES))
		return perf_refuse(-EOPNOTSUPP,
				   "precise_ip: cycles and ops alone have precise samples");
	attr->type = amd_ibs_op.pmu.type;
	attr->config = config;
	return -ENOENT;
}

static int amd_ibs_nmi(unsigned int cmd, struct pt_regs *regs)
{
	u64 start = sched_clock();
	int n = amd_ibs_irq(&amd_ibs_fetch, regs) + amd_ibs_irq(&amd_ibs_op, regs);

	if (n)
		perf_sample_event_took(sched_clock() - start);
	return n;
}

NOKPROBE_SYMBOL(amd_ibs_nmi);

/* ---------------------------------------------------------------------- CPUs */

static int amd_ibs_cpu_starting(unsigned int nr)
{
	if (amd_ibs_apic_setup())
		pr_warn_once("CPU %u: no interrupt for instruction based sampling\n", nr);
	return 0;
}

static int amd_ibs_cpu_dying(unsigned int nr)
{
	amd_ibs_apic_clear();
	return 0;
}

static void amd_ibs_suspend_one(struct amd_ibs *ibs)
{
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);

	if (cpu->running)
		amd_ibs_stop(cpu->event, 0);
}

static void amd_ibs_resume_one(struct amd_ibs *ibs)
{
	struct amd_ibs_cpu *cpu = this_cpu_ptr(ibs->cpu);

	cpu->leaving = false;
	if (cpu->event && cpu->event->hw.interrupts != PERF_THROTTLED)
		amd_ibs_start(cpu->event, 0);
}

/**
 * amd_ibs_suspend - stop the counters of the last CPU before the registers are lost
 *
 * Context: one CPU is online, interrupts disabled.
 */
void amd_ibs_suspend(void)
{
	if (!amd_ibs_caps)
		return;
	amd_ibs_suspend_one(&amd_ibs_fetch);
	amd_ibs_suspend_one(&amd_ibs_op);
}

/**
 * amd_ibs_resume - undo amd_ibs_suspend()
 *
 * Context: one CPU is online, interrupts disabled.
 */
void amd_ibs_resume(void)
{
	if (!amd_ibs_caps)
		return;
	amd_ibs_cpu_starting(smp_processor_id());
	amd_ibs_resume_one(&amd_ibs_fetch);
	amd_ibs_resume_one(&amd_ibs_op);
}

static u32 __init amd_ibs_read_caps(void)
{
	u32 caps = 0;

	if (!boot_cpu_has(X86_FEATURE_IBS))
		return 0;
	if (boot_cpu_data.extended_cpuid_level >= AMD_IBS_LEAF)
		caps = cpuid_eax(AMD_IBS_LEAF);
	/* Early processors of family 10h do not have the leaf, or not the bit. */
	return caps & AMD_IBS_AVAILABLE ? caps :
	       AMD_IBS_AVAILABLE | AMD_IBS_FETCHES | AMD_IBS_OPS;
}

/*
 * Families 10h to 16h, of which 12h and 14h have the code alone; family 19h before Zen 4. No manual
 * with the models' "IBS Op Data 2" has been compared.
 */
static void __init amd_ibs_apply_model(void)
{
	unsigned int family = boot_cpu_data.x86, model = boot_cpu_data.x86_model;

	if (family < 0x17)
		amd_ibs_lacks |= AMD_IBS_LACKS_ZEN;
	if (family == 0x12 || family == 0x14)
		amd_ibs_lacks |= AMD_IBS_LACKS_NODE | AMD_IBS_LACKS_HIT_STATE;
	if (family != 0x19)
		return;
	amd_ibs_zen3 = model < 0x10;
	if (amd_ibs_zen3)
		amd_ibs_lacks |= AMD_IBS_LACKS_DATA2;
	if (amd_ibs_zen3 || (model >= 0x20 && model < 0x60))
		amd_ibs_lacks |= AMD_IBS_LACKS_HIT_STATE;
}

static void __init amd_ibs_apply_caps(u32 caps)
{
	amd_ibs_apply_model();
	if (caps & AMD_IBS_COUNT_OPS)
		amd_ibs_op.config |= AMD_IBS_OP_COUNTS_OPS;
	if (caps & AMD_IBS_COUNT_EXT) {
		amd_ibs_op.max |= AMD_IBS_OP_MAX_EXT;
		amd_ibs_op.most = GENMASK_ULL(22, 0) << 4;
	}
	if (caps & AMD_IBS_ZEN4) {
		amd_ibs_fetch.config |= AMD_IBS_FETCH_L3_MISS;
		amd_ibs_op.config |= AMD_IBS_OP_L3_MISS;
	}
}

static int __init amd_ibs_register(u32 caps)
{
	int ret;

	if (caps & AMD_IBS_FETCHES) {
		ret = perf_pmu_register(&amd_ibs_fetch.pmu, "ibs_fetch", -1);
		if (ret)
			return ret;
	}
	if (!(caps & AMD_IBS_OPS))
		return 0;
	ret = perf_pmu_register(&amd_ibs_op.pmu, "ibs_op", -1);
	if (ret && caps & AMD_IBS_FETCHES)
		perf_pmu_unregister(&amd_ibs_fetch.pmu);
	return ret;
}

static int __init amd_ibs_init(void)
{
	u32 caps = amd_ibs_read_caps();
	int ret;

	if (!caps || !x86_nr_pmus || !boot_cpu_has(X86_FEATURE_APIC))
		return 0;
	scoped_guard(irqsave)
		ret = amd_ibs_apic_setup();
	if (ret) {
		pr_info("no interrupt for instruction based sampling\n");
		return 0;
	}
	amd_ibs_caps = caps;
	amd_ibs_apply_caps(caps);
	ret = register_nmi_handler(NMI_LOCAL, amd_ibs_nmi, 0, "perf_ibs");
	if (ret)
		goto err_apic;
	ret = cpuhp_setup_state(CPUHP_AP_PERF_X86_AMD_IBS_STARTING, "perf/x86/amd/ibs:starting",
				amd_ibs_cpu_starting, amd_ibs_cpu_dying);
	if (ret)
		goto err_nmi;
	ret = amd_ibs_register(caps);
	if (ret)
		goto err_cpuhp;
	pr_info("instruction based sampling (%#x)\n", caps);
	return 0;

err_cpuhp:
	cpuhp_remove_state(CPUHP_AP_PERF_X86_AMD_IBS_STARTING);
err_nmi:
	unregister_nmi_handler(NMI_LOCAL, "perf_ibs");
err_apic:
	scoped_guard(irqsave)
		amd_ibs_apic_clear();
	amd_ibs_caps = 0;
	return ret;
}
device_initcall(amd_ibs_init);
