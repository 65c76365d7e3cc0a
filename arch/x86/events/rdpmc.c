// SPDX-License-Identifier: GPL-2.0
/*
 * Counters read by user space: the RDPMC instruction and the event's user page.
 *
 * RDPMC is allowed by CR4.PCE. In mode 1 that is set for programs that have mapped an event, in
 * mode 2 for all, in mode 0 for none. It lets a program read every counter of the CPU, so before a
 * program comes on that may, whatever other programs have left in unused counters is wiped, and
 * those that run on for nobody stop; see also load_counting().
 *
 * Locks: mapping and unmapping run under mmap_lock; the mode under its own mutex.
 */
#include <linux/mmu_context.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <asm/mmu_context.h>
#include <asm/timer.h>
#include <asm/tlbflush.h>

#include "pmu.h"

DEFINE_STATIC_KEY_FALSE(rdpmc_never_available_key);
DEFINE_STATIC_KEY_FALSE(rdpmc_always_available_key);

unsigned int x86_rdpmc_mode = 1;
static DEFINE_MUTEX(mode_lock);

/* May the program that runs now read counters? Interrupts off. */
bool x86_user_reads_counters(void)
{
	return this_cpu_read(cpu_tlbstate.cr4) & X86_CR4_PCE;
}

/**
 * perf_clear_dirty_counters - wipe what other programs have left in the counters
 *
 * Context: interrupts off, a program that may read counters is about to run; its mm is loaded.
 */
void perf_clear_dirty_counters(void)
{
	struct x86_cpu *cpu = this_cpu_ptr(&x86_cpu);
	u64 todo = cpu->stale & ~cpu->loaded, ran = todo & cpu->on;
	struct mm_struct *mm;

	if (!todo)
		return;
	/* If they ran on, they would tell the next program what this one does. */
	if (ran)
		x86_counters_off(cpu, ran);
	mm = this_cpu_read(cpu_tlbstate.loaded_mm);
	for (; todo; todo &= todo - 1) {
		unsigned int idx = __ffs64(todo);

		/* What stood still is as that program left it. */
		if (cpu->owner[idx] == mm->context.ctx_id && !(ran & BIT_ULL(idx)))
			continue;
		cpu->stale &= ~BIT_ULL(idx);
		x86_counter_write(cpu, idx, x86_rest_value(cpu->core));
	}
}

/* ------------------------------------------------------------------- who may */

/*
 * The program that runs may read counters from now on, or not any more. What its events' counters have
 * counted for others before is not for it.
 */
static void update_readers(void *unused)
{
	bool could = x86_user_reads_counters();

	cr4_update_pce(NULL);
	if (!could && x86_user_reads_counters())
		x86_hide_counts(this_cpu_ptr(&x86_cpu));
}

/* Other PMUs' events have something else where the flags are. */
static bool user_readable(const struct perf_event *event)
{
	return event->pmu->event_init == x86_event_init &&
	       event->hw.flags & X86_EVENT_USER;
}

/**
 * x86_event_mapped - pmu::event_mapped
 * @event: an event whose user page is being mapped
 * @mm: by whom; its mmap_lock is held for writing
 */
void x86_event_mapped(struct perf_event *event, struct mm_struct *mm)
{
	if (!user_readable(event))
		return;

	mmap_assert_write_locked(mm);
	if (atomic_inc_return(&mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_mask(mm_cpumask(mm), update_readers, NULL, 1);
}

/**
 * x86_event_unmapped - pmu::event_unmapped
 * @event: the event
 * @mm: by whom
 */
void x86_event_unmapped(struct perf_event *event, struct mm_struct *mm)
{
	if (!user_readable(event))
		return;

	if (atomic_dec_and_test(&mm->context.perf_rdpmc_allowed))
		on_each_cpu_mask(mm_cpumask(mm), update_readers, NULL, 1);
}

/**
 * x86_event_idx - pmu::event_idx
 * @event: an event that counts on this CPU now
 *
 * Return: ECX for RDPMC plus one; 0 if it is not to be used.
 */
int x86_event_idx(struct perf_event *event)
{
	return user_readable(event) && event->hw.idx >= 0 ? event->hw.event_base_rdpmc + 1 : 0;
}

/**
 * x86_perf_rdpmc_index - ECX with which RDPMC reads an event's counter
 * @event: an event that counts on this CPU now
 */
int x86_perf_rdpmc_index(struct perf_event *event)
{
	lockdep_assert_irqs_disabled();
	return event->hw.event_base_rdpmc;
}

static void set_key(struct static_key_false *key, bool on)
{
	if (on)
		static_branch_enable(key);
	else
		static_branch_disable(key);
}

/**
 * x86_set_rdpmc_mode - who may read counters
 * @mode: 0 nobody, 1 programs that have mapped an event, 2 everybody
 *
 * Return: 0, -EINVAL. May sleep.
 */
int x86_set_rdpmc_mode(unsigned long mode)
{
	if (mode > 2)
		return -EINVAL;

	guard(mutex)(&mode_lock);
	if (mode == x86_rdpmc_mode)
		return 0;
	set_key(&rdpmc_never_available_key, mode == 0);
	set_key(&rdpmc_always_available_key, mode == 2);
	on_each_cpu(update_readers, NULL, 1);
	WRITE_ONCE(x86_rdpmc_mode, mode);
	return 0;
}

/* ------------------------------------------------------------------- user page */

/* How to make perf's clock of the time stamp counter. */
static void describe_time(struct perf_event *event, struct perf_event_mmap_page *page, u64 now)
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
	/* With another clock in its records, an event's times are not those of this formula. */
	if (!event->attr.use_clockid) {
		page->cap_user_time_zero = 1;
		page->time_zero = offset;
	}
	cyc2ns_read_end();
}

/**
 * arch_perf_update_userpage - what the architecture puts into an event's user page
 * @event: the event
 * @page: its page
 * @now: perf's clock
 */
void arch_perf_update_userpage(struct perf_event *event, struct perf_event_mmap_page *page,
			       u64 now)
{
	page->cap_user_rdpmc = user_readable(event);
	page->cap_user_time = 0;
	page->cap_user_time_zero = 0;
	if (user_readable(event))
		page->pmc_width = x86_core_of(event->pmu)->width;
	describe_time(event, page, now);
}
