// SPDX-License-Identifier: GPL-2.0
/*
 * PMUv3: access to counters from user space.
 *
 * With the sysctl kernel.perf_user_access on, a task that has an event with config1 bit 1 (rdpmc)
 * may read counters by MRS while it runs, whether or not the event is on a counter: the event may
 * be unloaded between the task's read of the counter index and its read of the counter, which must
 * not trap. The event's user page has the index of the counter and the sequence count that
 * validates it.
 *
 * PMUSERENR_EL0 allows all counters or none. Before a task may read, no counter shows what other
 * tasks did: those without an event are set to 0, those of events that are being loaded to values
 * of these events, see pmuv3_write_own_values(). The counter of a CPU's event shows the count of
 * the CPU, as long as the event stays on it.
 *
 * pmuv3_user_set_access() runs on the CPU concerned with interrupts off.
 */
#include <linux/lockdep.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/sched_clock.h>

#include <asm/arch_timer.h>

#include "pmuv3_regs.h"

/* The sysctl kernel.perf_user_access, see pmuv3_sysctl.c. */
int pmuv3_user_access_on __read_mostly;

/**
 * pmuv3_user_access_is_on - value of the sysctl kernel.perf_user_access
 *
 * Context: any. After a change pmuv3_user_access_changed() runs on each CPU.
 * Return: true if tasks with a readable event may read counters.
 */
bool pmuv3_user_access_is_on(void)
{
	return READ_ONCE(pmuv3_user_access_on);
}

static void pmuv3_write_userenr(u32 value)
{
	/* If a guest's value is loaded, KVM keeps the host's and writes it at guest exit. */
	if (!kvm_set_pmuserenr(value))
		write_pmuserenr(value);
}

/* Counters that the loaded events occupy, both of a pair. */
static u64 pmuv3_counters_in_use(const struct pmuv3_cpu *c)
{
	unsigned long used = c->used;
	unsigned int idx;
	u64 in_use = 0;

	for_each_set_bit(idx, &used, ARMPMU_MAX_HWEVENTS)
		in_use |= pmuv3_counters(&c->event[idx]->hw, idx);

	return in_use;
}

/* Disables the counters without an event that may hold a value, and sets them to 0. */
static void pmuv3_clear_unused(struct pmuv3_cpu *c)
{
	unsigned long unused = c->present & ~pmuv3_counters_in_use(c) & ~c->zero;
	unsigned int idx;

	if (!unused)
		return;

	/* KVM would enable them again at guest exit. */
	pmuv3_kvm_release(c, unused);
	pmuv3_disable_counters(c, unused);
	for_each_set_bit(idx, &unused, ARMPMU_MAX_HWEVENTS)
		pmuv3_write_register(idx, 0);
	c->zero |= unused;
}

/**
 * pmuv3_user_set_access - allow or forbid EL0 to read counters
 * @c: state of this CPU; all events of the current schedule have been loaded
 * @reader: the current task, or the task that is being switched in, has a user-readable event
 *
 * Context: interrupts off, between pmuv3_mask_nmi() and pmuv3_unmask_nmi().
 */
void pmuv3_user_set_access(struct pmuv3_cpu *c, bool reader)
{
	bool allow = reader && pmuv3_user_access_is_on();

	c->reader = reader;
	if (allow) {
		pmuv3_clear_unused(c);
		/* PMSELR_EL0 is writable at EL0: hide the value that the last task wrote. */
		write_pmselr(0);
	}
	if (c->user == allow)
		return;

	c->user = allow;
	pmuv3_write_userenr(allow ? ARMV8_PMU_USERENR_ER | ARMV8_PMU_USERENR_CR : 0);
}

/**
 * pmuv3_event_idx - pmu::event_idx: index for the event's user page
 * @event: event of PMUv3
 *
 * Context: any, also NMI.
 * Return: counter index plus 1, 1 to 33; 0 if the event is not on a counter of this CPU or EL0 may
 * not read the counter now.
 */
int pmuv3_event_idx(struct perf_event *event)
{
	const struct pmuv3_cpu *c = raw_cpu_ptr(&pmuv3_cpu);
	int idx = event->hw.idx;

	if (!c->user || !pmuv3_is_user_readable(event))
		return 0;
	if (idx < 0 || c->event[idx] != event)
		return 0;
	return idx + 1;
}

/**
 * pmuv3_update_user_pages - update the user pages of all loaded user-readable events
 * @c: state of this CPU
 *
 * Context: interrupts off; an NMI may interrupt.
 */
void pmuv3_update_user_pages(const struct pmuv3_cpu *c)
{
	unsigned long used = c->used;
	unsigned int idx;

	lockdep_assert_irqs_disabled();
	for_each_set_bit(idx, &used, ARMPMU_MAX_HWEVENTS)
		pmuv3_update_user_page(c->event[idx]);
}

/* ------------------------------------------------------------------- user page */

/*
 * User space computes the time from the architected timer's counter:
 *
 *	time_zero + ((time_cycles + ((cycles - time_cycles) & time_mask)) * time_mult >> time_shift)
 *
 * sched_clock() multiplies only the cycles since epoch_cyc, and adds epoch_ns: time_zero is the
 * difference.
 */
static void pmuv3_fill_user_time(struct perf_event_mmap_page *page,
				 const struct clock_read_data *rd, u64 now)
{
	u64 epoch = mul_u64_u32_shr(rd->epoch_cyc, rd->mult, rd->shift);

	page->time_mult = rd->mult;
	page->time_shift = rd->shift;
	page->time_zero = rd->epoch_ns - epoch;
	page->time_cycles = rd->epoch_cyc;
	page->time_mask = rd->sched_clock_mask;

	/* A shift of 32 is undefined behaviour in readers that use 32-bit arithmetic. */
	if (page->time_shift == 32) {
		page->time_shift = 31;
		page->time_mult >>= 1;
	}
	page->time_offset = page->time_zero - now;
}

/**
 * arch_perf_update_userpage - set the architecture's members of an event's user page
 * @event: event of any PMU
 * @page: user page of the event
 * @now: time of the event's clock in ns
 *
 * Context: any, also NMI; between the two increments of the page's sequence count.
 */
void arch_perf_update_userpage(struct perf_event *event, struct perf_event_mmap_page *page, u64 now)
{
	struct clock_read_data *rd;
	unsigned int seq;
	bool usable;

	page->cap_user_rdpmc = event->pmu->event_idx == pmuv3_event_idx &&
			       pmuv3_is_user_readable(event);
	if (page->cap_user_rdpmc)
		page->pmc_width = event->hw.flags & ARMPMU_EVT_64BIT ? 64 : 32;

	do {
		rd = sched_clock_read_begin(&seq);
		usable = rd->read_sched_clock == arch_timer_read_counter;
		if (usable)
			pmuv3_fill_user_time(page, rd, now);
	} while (sched_clock_read_retry(seq));

	page->cap_user_time = usable;
	page->cap_user_time_zero = usable;
	page->cap_user_time_short = usable;
}
