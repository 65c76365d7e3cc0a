// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: counters that user space reads itself.
 *
 * With the sysctl kernel.perf_user_access on, a task that has an event opened for it (config1 bit
 * 1) may read counters by MRS, whether that event is on a counter or not: the event may be stopped
 * at any time, and so after the task has found its counter's number and before it reads it. All
 * counters then, the hardware does not tell one from another: those that nobody uses are set to 0
 * before, so that what another task left in them is not seen. What to read, and when it was valid,
 * is in the event's user page.
 *
 * pmuv3_user_access() runs on the CPU concerned, interrupts off. The rest is read by anybody.
 */
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/sched_clock.h>
#include <linux/smp.h>
#include <linux/sysctl.h>

#include <asm/arch_timer.h>

#include "pmuv3.h"

static int user_access __read_mostly;

static void set_userenr(u32 value)
{
	/* While a guest's value is in the register, KVM puts ours in afterwards. */
	if (!kvm_set_pmuserenr(value))
		write_pmuserenr(value);
}

static u64 counters_in_use(const struct pmuv3_cpu *c)
{
	unsigned long running = c->running;
	unsigned int idx;
	u64 in_use = 0;

	for_each_set_bit(idx, &running, ARMPMU_MAX_HWEVENTS)
		in_use |= pmuv3_counters(&c->event[idx]->hw, idx);

	return in_use;
}

/* Counters that nobody on this CPU uses now, and that hold something. */
static void wipe(struct pmuv3_cpu *c)
{
	unsigned long stale = c->there & ~counters_in_use(c) & ~c->zero;
	unsigned int idx;

	if (!stale)
		return;

	/* KVM would switch them on again. */
	pmuv3_take_from_kvm(c, stale);
	if (c->enabled & stale) {
		write_pmcntenclr(c->enabled & stale);
		isb();
		c->enabled &= ~stale;
	}
	for_each_set_bit(idx, &stale, ARMPMU_MAX_HWEVENTS)
		pmuv3_write_one(idx, 0);
	c->zero |= stale;
}

/**
 * pmuv3_user_access - let EL0 read counters, or no longer
 * @c: this CPU
 * @reader: the task that is on the CPU, or comes onto it, has an event for that
 *
 * The events that are to run are on their counters.
 */
void pmuv3_user_access(struct pmuv3_cpu *c, bool reader)
{
	bool allow = reader && READ_ONCE(user_access);

	c->reader = reader;
	if (allow) {
		wipe(c);
		/* EL0 can set it: the value is not for the next task to see. */
		write_pmselr(0);
	}
	if (c->user == allow)
		return;

	c->user = allow;
	set_userenr(allow ? ARMV8_PMU_USERENR_ER | ARMV8_PMU_USERENR_CR : 0);
}

/**
 * pmuv3_event_idx - pmu::event_idx: what user space reads, plus 1
 * @event: the event
 *
 * 0 unless the event is on a counter of this CPU and its task may read it here and now.
 */
int pmuv3_event_idx(struct perf_event *event)
{
	const struct pmuv3_cpu *c = raw_cpu_ptr(&pmuv3_cpu);
	int idx = event->hw.idx;

	if (!c->user || !(event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT))
		return 0;
	if (idx < 0 || c->event[idx] != event)
		return 0;
	return idx + 1;
}

/**
 * pmuv3_user_pages - write the pages of all events that user space may read here
 * @c: this CPU; interrupts off
 */
void pmuv3_user_pages(const struct pmuv3_cpu *c)
{
	unsigned long running = c->running;
	unsigned int idx;

	for_each_set_bit(idx, &running, ARMPMU_MAX_HWEVENTS) {
		struct perf_event *event = c->event[idx];

		if (event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT)
			perf_event_update_userpage(event);
	}
}

/* ---------------------------------------------------------------------- sysctl */

/* For the task that is here; others when they come. */
static void user_access_changed(void *unused)
{
	struct pmuv3_cpu *c = this_cpu_ptr(&pmuv3_cpu);
	unsigned long daif;

	if (!c->reader)
		return;

	daif = pmuv3_mask_nmi();
	pmuv3_user_access(c, true);
	pmuv3_unmask_nmi(daif);
	pmuv3_user_pages(c);
}

static int user_access_handler(const struct ctl_table *table, int write, void *buffer,
			       size_t *lenp, loff_t *ppos)
{
	int ret = proc_dointvec_minmax(table, write, buffer, lenp, ppos);

	if (!ret && write)
		on_each_cpu(user_access_changed, NULL, 1);
	return ret;
}

static struct ctl_table user_access_table[] = {
	{
		.procname	= "perf_user_access",
		.data		= &user_access,
		.maxlen		= sizeof(user_access),
		.mode		= 0644,
		.proc_handler	= user_access_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

/* With the first PMU. */
void pmuv3_user_init(void)
{
	static bool done;

	if (!done)
		register_sysctl("kernel", user_access_table);
	done = true;
}

/* ------------------------------------------------------------------- user page */

/*
 * User space computes the time from the counter as sched_clock() does:
 *
 *	time_zero + ((time_cycles + ((cycles - time_cycles) & time_mask)) * time_mult >> time_shift)
 *
 * sched_clock() instead multiplies what is above epoch_cyc and adds epoch_ns; the difference goes
 * into time_zero.
 */
static void fill_time(struct perf_event_mmap_page *page, const struct clock_read_data *rd, u64 now)
{
	u64 epoch = mul_u64_u32_shr(rd->epoch_cyc, rd->mult, rd->shift);

	page->time_mult = rd->mult;
	page->time_shift = rd->shift;
	page->time_zero = rd->epoch_ns - epoch;
	page->time_cycles = rd->epoch_cyc;
	page->time_mask = rd->sched_clock_mask;

	/* Old readers keep the shift in fewer bits than 32 takes. */
	if (page->time_shift == 32) {
		page->time_shift = 31;
		page->time_mult >>= 1;
	}
	page->time_offset = page->time_zero - now;
}

/**
 * arch_perf_update_userpage - what the architecture has to say in an event's user page
 * @event: the event
 * @page: the page
 * @now: perf's clock
 *
 * Context: any, between the two increments of the page's sequence count.
 */
void arch_perf_update_userpage(struct perf_event *event, struct perf_event_mmap_page *page, u64 now)
{
	struct clock_read_data *rd;
	unsigned int seq;
	bool usable;

	/* Other PMUs' events have something else where the flags are. */
	page->cap_user_rdpmc = event->pmu->event_idx == pmuv3_event_idx &&
			       event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT;
	if (page->cap_user_rdpmc)
		page->pmc_width = event->hw.flags & ARMPMU_EVT_64BIT ? 64 : 32;

	do {
		rd = sched_clock_read_begin(&seq);
		usable = rd->read_sched_clock == arch_timer_read_counter;
		if (usable)
			fill_time(page, rd, now);
	} while (sched_clock_read_retry(seq));

	page->cap_user_time = usable;
	page->cap_user_time_zero = usable;
	page->cap_user_time_short = usable;
}
