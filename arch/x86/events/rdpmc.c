// SPDX-License-Identifier: GPL-2.0
/*
 * Counters read by user space: the RDPMC instruction and the event's user page.
 *
 * CR4.PCE allows RDPMC. It is set for programs that have mapped an event (mode 1), for all
 * programs (mode 2), or for none (mode 0). A program with CR4.PCE can read every counter of the
 * CPU. Therefore, before it runs, unused counters that reveal activity of other programs are
 * cleared, and unused counters that still run are stopped. Events loaded later do not start from
 * such values either, see x86_sched_load_slots().
 *
 * Locks: mmap_lock is held for mapping and unmapping; x86_rdpmc_lock for the mode.
 */
#include <linux/mmu_context.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <asm/timer.h>

#include "pmu.h"

DEFINE_STATIC_KEY_FALSE(rdpmc_never_available_key);
DEFINE_STATIC_KEY_FALSE(rdpmc_always_available_key);

unsigned int x86_rdpmc_mode = 1;	/* 0..2; written with x86_rdpmc_lock held */
static DEFINE_MUTEX(x86_rdpmc_lock);

/**
 * perf_clear_dirty_counters - clear the values that other programs have left in counters
 *
 * A program that may read counters is about to run on this CPU; the program's mm is loaded.
 *
 * Context: interrupts disabled.
 */
void perf_clear_dirty_counters(void)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	u64 todo = cpu->dirty & ~cpu->loaded, ran = todo & cpu->enabled;
	struct mm_struct *mm;

	lockdep_assert_irqs_disabled();
	if (!todo)
		return;
	/* Running counters would reveal this program's activity to the next one. */
	if (ran)
		x86_counters_disable(cpu, ran);
	mm = this_cpu_read(cpu_tlbstate.loaded_mm);
	for (; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		/* A stopped counter reveals the activity of its owner only. */
		if (cpu->owner[idx] == mm->context.ctx_id && !(ran & BIT_ULL(idx)))
			continue;
		cpu->dirty &= ~BIT_ULL(idx);
		if (idx == X86_METRIC_BASE) {
			wrmsrl(MSR_PERF_METRICS, 0);
			continue;
		}
		x86_counter_write(cpu, idx, x86_parked_value(cpu->pmu));
	}
}

/* ----------------------------------------------------------------- permission */

/*
 * Sets CR4.PCE for the current program. If that gives it the permission to read counters, their
 * values from before its events were loaded are cleared.
 */
static void x86_rdpmc_update_cpu(void *unused)
{
	bool could = x86_user_reads_counters();

	cr4_update_pce(NULL);
	if (!could && x86_user_reads_counters())
		x86_sched_rewind_counting(this_cpu_ptr(&x86_pmu_cpu));
}

/* hw_perf_event::flags belong to the event's PMU driver. */
static bool x86_rdpmc_event_readable(const struct perf_event *event)
{
	return event->pmu->sched_load == x86_sched_load && event->hw.flags & X86_EVENT_USER;
}

/**
 * x86_event_mapped - pmu::event_mapped: allow RDPMC if the event is readable
 * @event: event of the user page that is being mapped
 * @mm: mm that maps the page
 *
 * Context: process, may sleep; @mm's mmap_lock is held for writing.
 */
void x86_event_mapped(struct perf_event *event, struct mm_struct *mm)
{
	if (!x86_rdpmc_event_readable(event))
		return;

	mmap_assert_write_locked(mm);
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_mask(mm_cpumask(mm), x86_rdpmc_update_cpu, NULL, 1);
}

/**
 * x86_event_unmapped - pmu::event_unmapped: undo x86_event_mapped()
 * @event: event of the user page that is being unmapped
 * @mm: mm that had mapped the page
 *
 * Context: process, may sleep.
 */
void x86_event_unmapped(struct perf_event *event, struct mm_struct *mm)
{
	if (!x86_rdpmc_event_readable(event))
		return;

	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_mask(mm_cpumask(mm), x86_rdpmc_update_cpu, NULL, 1);
}

/**
 * x86_event_idx - pmu::event_idx: the index for the event's user page
 * @event: event that counts on this CPU
 *
 * Context: any, NMI included.
 * Return: ECX for RDPMC plus one; 0 if programs must not read the counter
 */
int x86_event_idx(struct perf_event *event)
{
	if (!x86_rdpmc_event_readable(event) || event->hw.idx < 0)
		return 0;
	return event->hw.event_base_rdpmc + 1;
}

/**
 * x86_perf_rdpmc_index - the RDPMC index of an event's counter
 * @event: event that counts on this CPU
 *
 * Context: interrupts disabled.
 * Return: ECX for RDPMC
 */
int x86_perf_rdpmc_index(struct perf_event *event)
{
	lockdep_assert_irqs_disabled();
	return event->hw.event_base_rdpmc;
}

static void x86_rdpmc_set_key(struct static_key_false *key, bool on)
{
	if (on)
		static_branch_enable(key);
	else
		static_branch_disable(key);
}

/**
 * x86_set_rdpmc_mode - set which programs may execute RDPMC
 * @mode: 0: none, 1: programs that have mapped an event, 2: all
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL
 */
int x86_set_rdpmc_mode(unsigned long mode)
{
	if (mode > 2)
		return -EINVAL;

	guard(mutex)(&x86_rdpmc_lock);
	if (mode == x86_rdpmc_mode)
		return 0;
	x86_rdpmc_set_key(&rdpmc_never_available_key, mode == 0);
	x86_rdpmc_set_key(&rdpmc_always_available_key, mode == 2);
	on_each_cpu(x86_rdpmc_update_cpu, NULL, 1);
	WRITE_ONCE(x86_rdpmc_mode, mode);
	return 0;
}

/* ------------------------------------------------------------------- user page */

/* Publishes how to compute perf's clock from the time stamp counter. */
static void x86_userpage_set_time(struct perf_event *event, struct perf_event_mmap_page *page,
				  u64 now)
{
	struct cyc2ns_data tsc;
	u64 offset;

	if (!using_native_sched_clock() || !sched_clock_stable())
		return;

	cyc2ns_read_begin(&tsc);
	offset = tsc.cyc2ns_offset + __sched_clock_offset;
	page->cap_user_time = 1;
	page->time_mult = tsc.cyc2ns_mul;
	page->time_shift = tsc.cyc2ns_shift;
	page->time_offset = offset - now;
	/* With use_clockid, records have times of another clock. */
	if (!event->attr.use_clockid) {
		page->cap_user_time_zero = 1;
		page->time_zero = offset;
	}
	cyc2ns_read_end();
}

/**
 * arch_perf_update_userpage - update the fields of the architecture in a user page
 * @event: event of any PMU
 * @page: user page of @event
 * @now: perf's clock, ns
 *
 * Context: any, NMI included. The caller has made the page's sequence count odd.
 */
void arch_perf_update_userpage(struct perf_event *event, struct perf_event_mmap_page *page,
			       u64 now)
{
	page->cap_user_rdpmc = x86_rdpmc_event_readable(event);
	page->cap_user_time = 0;
	page->cap_user_time_zero = 0;
	if (x86_rdpmc_event_readable(event))
		page->pmc_width = to_x86_pmu(event->pmu)->width;
	x86_userpage_set_time(event, page, now);
}
