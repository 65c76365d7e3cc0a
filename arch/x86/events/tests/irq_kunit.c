// SPDX-License-Identifier: GPL-2.0
/*
 * The overflow interrupt: without events, with other causes than counters, and with none.
 */
#include <kunit/test.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/segment.h>

#include "../exclusive.h"
#include "../pmu.h"

/*
 * The interrupt of an event can arrive after the last event was removed. If it left the LVT entry
 * masked, no later event could interrupt on this CPU. An NMI that did not mask the entry is not
 * reported as handled.
 */
static void interrupt_without_events_unmasks_lvt(struct kunit *test)
{
	unsigned long grace, flags;
	int late, foreign, early, in_grace;
	u32 entry;

	if (!x86_nr_pmus || !x86_pmu_regs.ack_lvt)
		kunit_skip(test, "the LVT entry is never masked");
	if (atomic_read(&x86_irq_users))
		kunit_skip(test, "there are events");

	local_irq_save(flags);
	apic_write(APIC_LVTPC, APIC_DM_NMI | APIC_LVT_MASKED);
	late = x86_pmi(NMI_LOCAL, NULL);
	entry = apic_read(APIC_LVTPC);
	apic_write(APIC_LVTPC, APIC_DM_NMI);
	grace = this_cpu_read(x86_pmu_cpu.nmi_grace);
	this_cpu_write(x86_pmu_cpu.nmi_grace, jiffies);
	foreign = x86_pmi(NMI_LOCAL, NULL);
	this_cpu_write(x86_pmu_cpu.nmi_grace, jiffies + 200 * HZ);
	early = x86_pmi(NMI_LOCAL, NULL);
	this_cpu_write(x86_pmu_cpu.nmi_grace, jiffies + X86_NMI_GRACE);
	in_grace = x86_pmi(NMI_LOCAL, NULL);
	this_cpu_write(x86_pmu_cpu.nmi_grace, grace);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, late, NMI_HANDLED);
	KUNIT_EXPECT_EQ(test, entry, APIC_DM_NMI);
	KUNIT_EXPECT_EQ(test, foreign, NMI_DONE);
	/* On a 32-bit kernel so is the time for which jiffies has not reached 0 after the boot. */
	KUNIT_EXPECT_EQ(test, early, NMI_DONE);
	/* If the LVT entry is not masked, the interrupt of a stopped counter can still arrive. */
	KUNIT_EXPECT_EQ(test, in_grace, x86_pmu_regs.late_nmi || x86_pmu_regs.prepare ?
			NMI_HANDLED : NMI_DONE);
}

/* A CPU of a kind that has no driver: its traces interrupt, too. */
static void interrupt_without_pmu_unmasks_lvt(struct kunit *test)
{
	struct pt_regs regs = {};
	struct x86_pmu *xpmu;
	unsigned long flags;
	u32 entry;
	int n;

	if (!x86_nr_pmus || !x86_pmu_regs.ack_lvt || !x86_pmu_regs.global_status)
		kunit_skip(test, "the LVT entry is never masked");

	local_irq_save(flags);
	xpmu = this_cpu_read(x86_pmu_cpu.pmu);
	this_cpu_write(x86_pmu_cpu.pmu, NULL);
	apic_write(APIC_LVTPC, APIC_DM_NMI | APIC_LVT_MASKED);
	n = x86_irq_status(&regs);
	entry = apic_read(APIC_LVTPC);
	apic_write(APIC_LVTPC, APIC_DM_NMI);
	this_cpu_write(x86_pmu_cpu.pmu, xpmu);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, n, 0);
	KUNIT_EXPECT_EQ(test, entry, APIC_DM_NMI);
}

/* A full trace buffer interrupts, whether a counter has an event or not. */
static void branch_recording_has_interrupts(struct kunit *test)
{
	int users = atomic_read(&x86_irq_users);

	KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_pt), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&x86_irq_users), users + 1);
	KUNIT_EXPECT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_bts), -EBUSY);
	KUNIT_EXPECT_EQ(test, atomic_read(&x86_irq_users), users + 1);
	x86_del_exclusive(x86_lbr_exclusive_pt);
	KUNIT_EXPECT_EQ(test, atomic_read(&x86_irq_users), users);
}

/* ------------------------------------------------------------ bits of the status */

/* IA32_PERF_GLOBAL_STATUS_SET and AMD's PerfCntrGlobalStatusSet */
#define IRQ_STATUS_SET		0x391
#define IRQ_STATUS_SET_AMD	0xc0000303

/* Sets bits of the status; false if the register for that is missing. */
static bool irq_set_status(u64 bits)
{
	u32 msr = x86_pmu_regs.global_status == MSR_CORE_PERF_GLOBAL_STATUS ?
		IRQ_STATUS_SET : IRQ_STATUS_SET_AMD;

	return x86_pmu_regs.global_status && !wrmsrl_safe(msr, bits);
}

static u64 irq_status(void)
{
	u64 status;

	rdmsrl(x86_pmu_regs.global_status, status);
	return status;
}

/* Firmware or another kernel left counters frozen, which raises no interrupt. */
static void frozen_counters_are_released(struct kunit *test)
{
	u64 after_reset = 0, after_irq = 0;
	struct x86_pmu_cpu *cpu;
	unsigned long flags;
	bool ran = false;

	if (!x86_nr_pmus || !x86_pmu_regs.global_status)
		kunit_skip(test, "no status register");
	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded && irq_set_status(GLOBAL_STATUS_COUNTERS_FROZEN)) {
		ran = true;
		x86_pmu_cpu_reset(cpu);
		after_reset = irq_status();
		irq_set_status(GLOBAL_STATUS_COUNTERS_FROZEN);
		x86_irq_status(NULL);
		after_irq = irq_status();
	}
	local_irq_restore(flags);
	if (!ran)
		kunit_skip(test, "there are events, or the status cannot be set");
	KUNIT_EXPECT_EQ(test, after_reset, 0ULL);
	KUNIT_EXPECT_EQ(test, after_irq, 0ULL);
}

/* --------------------------------------------------------------- one real event */

struct irq_case {
	struct perf_event	*event;
	u64			set, status;
	unsigned int		samples, far_samples, near_samples;
	s64			left;
	int			far, near;
	unsigned int		grace;
	bool			ran;
};

static void irq_sampled(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	struct irq_case *c = event->overflow_handler_context;

	c->samples++;
	if (c->set)
		irq_set_status(c->set);
}

/* Counts instructions in user mode on CPU 0: none while a test runs there. */
static struct perf_event *irq_event(struct irq_case *c)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_INSTRUCTIONS,
		.size		= sizeof(attr),
		.exclude_kernel	= 1,
		.pinned		= 1,
		.sample_period	= 0x7fffffff,
	};

	return perf_event_create_kernel_counter(&attr, 0, NULL, irq_sampled, c);
}

static void irq_set_left(struct perf_event *event, s64 left)
{
	x86_event_stop(event, PERF_EF_UPDATE);
	local64_set(&event->hw.period_left, left);
	x86_event_start(event, PERF_EF_RELOAD);
}

static void irq_run_case(struct kunit *test, struct irq_case *c, void (*here)(void *info))
{
	if (!x86_nr_pmus || !x86_pmu_regs.global_status)
		kunit_skip(test, "no status register");
	c->event = irq_event(c);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->event);
	KUNIT_EXPECT_EQ(test, smp_call_function_single(0, here, c, 1), 0);
	perf_event_release_kernel(c->event);
	if (!c->ran)
		kunit_skip(test, "the event has no counter, or the status cannot be set");
}

static void irq_undone_here(void *info)
{
	struct pt_regs regs = { .cs = __USER_CS };
	struct irq_case *c = info;

	if (c->event->hw.idx < 0)
		return;
	c->ran = true;
	c->event->hw.flags |= X86_EVENT_CHECKPOINTED;
	irq_set_left(c->event, BIT(30));
	c->far = x86_irq_status(&regs);
	c->far_samples = c->samples;
	irq_set_left(c->event, 100);
	c->near = x86_irq_status(&regs);
	c->near_samples = c->samples;
	c->grace = jiffies_to_msecs(this_cpu_read(x86_pmu_cpu.nmi_grace) - jiffies);
	c->left = local64_read(&c->event->hw.period_left);
}

/* An abort took back the overflow of an in_tx_cp event. The next transaction must not overflow. */
static void undone_overflow_ends_its_period(struct kunit *test)
{
	struct irq_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	irq_run_case(test, c, irq_undone_here);
	KUNIT_EXPECT_EQ(test, c->far, 0);
	KUNIT_EXPECT_EQ(test, c->far_samples, 0);
	KUNIT_EXPECT_EQ(test, c->near, 1);
	KUNIT_EXPECT_EQ(test, c->near_samples, 1);
	KUNIT_EXPECT_EQ(test, c->left, 0x7fffffff);
	/* How long an NMI without a cause may be a late one. */
	KUNIT_EXPECT_GT(test, c->grace, 0);
	KUNIT_EXPECT_LE(test, c->grace, 100);
}

static void irq_second_cause_here(void *info)
{
	struct pt_regs regs = { .cs = __USER_CS };
	struct irq_case *c = info;
	u64 bit;

	if (c->event->hw.idx < 0)
		return;
	bit = BIT_ULL(c->event->hw.idx);
	c->set = GLOBAL_STATUS_COUNTERS_FROZEN;
	x86_event_stop(c->event, PERF_EF_UPDATE);
	local64_set(&c->event->hw.period_left, 0);
	this_cpu_or(x86_pmu_cpu.irq_owned, bit);
	c->ran = irq_set_status(bit);
	if (c->ran)
		x86_irq_status(&regs);
	this_cpu_and(x86_pmu_cpu.irq_owned, ~bit);
	c->status = c->ran ? irq_status() : 0;
	irq_set_left(c->event, BIT(30));
}

static void irq_release_trace(void *unused)
{
	x86_del_exclusive(x86_lbr_exclusive_pt);
}

/* Processor trace is not stopped while an overflow is handled: its buffer can fill then. */
static void cause_during_the_handler_is_handled(struct kunit *test)
{
	struct irq_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_EQ(test, x86_add_exclusive(x86_lbr_exclusive_pt), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, irq_release_trace, NULL), 0);
	irq_run_case(test, c, irq_second_cause_here);
	KUNIT_EXPECT_EQ(test, c->samples, 1);
	KUNIT_EXPECT_EQ(test, c->status, 0ULL);
}

static struct kunit_case x86_pmu_irq_cases[] = {
	KUNIT_CASE(interrupt_without_events_unmasks_lvt),
	KUNIT_CASE(interrupt_without_pmu_unmasks_lvt),
	KUNIT_CASE(branch_recording_has_interrupts),
	KUNIT_CASE(frozen_counters_are_released),
	KUNIT_CASE(undone_overflow_ends_its_period),
	KUNIT_CASE(cause_during_the_handler_is_handled),
	{ }
};

static struct kunit_suite x86_pmu_irq_suite = {
	.name		= "x86_pmu_irq",
	.test_cases	= x86_pmu_irq_cases,
};

kunit_test_suite(x86_pmu_irq_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: overflow interrupt");
MODULE_LICENSE("GPL");
