// SPDX-License-Identifier: GPL-2.0
/*
 * Counters that lose their registers while the machine is suspended, and records that are written
 * late. The emulated machine does neither: the tests clear the registers, and write the record.
 */
#include <kunit/test.h>

#include "../intel/ds.h"
#include "../intel/pebs.h"

#define SUSPEND_ROUNDS	1000000
#define SUSPEND_PERIOD	50021
/* Of precise samples: a period ends while the counters are being stopped. */
#define BATCH_TURNS	32
#define BATCH_ROUNDS	1000
#define BATCH_PERIOD	101

struct suspend_case {
	struct perf_event	*counting, *sampling;
	u64			counted;
	unsigned int		samples, samples_after;
	int			ret;

	struct perf_event	*late;
	unsigned int		late_samples;
};

static void suspend_sample(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
	struct suspend_case *c = event->overflow_handler_context;

	c->samples++;
}

/* Two instructions per round. */
static noinline void suspend_work(unsigned long n)
{
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) : : "cc", "memory");
}

/* The state of the registers after suspend. */
static void suspend_clear_registers(const struct x86_pmu *xpmu)
{
	unsigned long general = xpmu->counters & X86_GENERAL_MASK;
	unsigned int i;

	if (x86_pmu_regs.global_ctrl)
		wrmsrl(x86_pmu_regs.global_ctrl, 0);
	for_each_set_bit(i, &general, INTEL_PMC_MAX_GENERIC) {
		wrmsrl(x86_pmu_regs.select + i * x86_pmu_regs.step, 0);
		wrmsrl(x86_pmu_regs.counter_write + i * x86_pmu_regs.step, 0);
	}
	if (!(xpmu->counters & X86_FIXED_MASK))
		return;
	wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR_CTRL, 0);
	for (i = 0; i < x86_nr_fixed(xpmu); i++)
		wrmsrl(MSR_ARCH_PERFMON_FIXED_CTR0 + i, 0);
}

static void suspend_resume_here(void *info)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	struct suspend_case *c = info;
	u64 before, after;

	c->ret = perf_event_read_local(c->counting, &before, NULL, NULL);
	suspend_work(SUSPEND_ROUNDS);
	x86_pmu_cpu_stop(cpu);
	suspend_clear_registers(cpu->pmu);
	suspend_work(SUSPEND_ROUNDS);
	x86_pmu_cpu_restore(cpu);
	c->samples_after = c->samples;
	suspend_work(SUSPEND_ROUNDS);
	c->samples_after = c->samples - c->samples_after;
	c->ret = c->ret ?: perf_event_read_local(c->counting, &after, NULL, NULL);
	c->counted = after - before;
}

/* Counts instructions in the kernel on CPU 0. */
static struct perf_event *suspend_event_with(struct suspend_case *c, u64 period, bool precise,
					     u64 sample_type, perf_overflow_handler_t handler)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_INSTRUCTIONS,
		.size		= sizeof(attr),
		.exclude_user	= 1,
		.pinned		= 1,
		.sample_period	= period,
		.sample_type	= sample_type,
		.precise_ip	= precise,
	};

	return perf_event_create_kernel_counter(&attr, 0, NULL, handler, c);
}

static struct perf_event *suspend_event(struct suspend_case *c, u64 period, bool precise)
{
	return suspend_event_with(c, period, precise, PERF_SAMPLE_IP,
				  period ? suspend_sample : NULL);
}

static void suspend_keeps_counts_and_periods(struct kunit *test)
{
	struct suspend_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	const unsigned int insns = 2 * SUSPEND_ROUNDS;

	KUNIT_ASSERT_NOT_NULL(test, c);
	if (!x86_nr_pmus)
		kunit_skip(test, "no PMU");
	c->counting = suspend_event(c, 0, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->counting);
	c->sampling = suspend_event(c, SUSPEND_PERIOD, false);
	if (!IS_ERR(c->sampling)) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(0, suspend_resume_here, c, 1), 0);
		perf_event_release_kernel(c->sampling);
	}
	perf_event_release_kernel(c->counting);
	KUNIT_ASSERT_EQ(test, c->ret, 0);
	/* Overflow handlers are counted, too; the work between stop and restore is not. */
	KUNIT_EXPECT_GE(test, c->counted, 2ULL * insns);
	KUNIT_EXPECT_LT(test, c->counted, 2ULL * insns + insns / 4);
	KUNIT_EXPECT_GE(test, c->samples_after, insns / SUSPEND_PERIOD);
	KUNIT_EXPECT_LE(test, c->samples_after, insns / SUSPEND_PERIOD + 4);
}

static void suspend_batch_here(void *info)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	struct suspend_case *c = info;
	u64 before, after;

	c->ret = perf_event_read_local(c->sampling, &before, NULL, NULL);
	c->samples = 0;
	for (unsigned int i = 0; i < BATCH_TURNS; i++) {
		suspend_work(BATCH_ROUNDS);
		intel_pebs_suspend(cpu);
		x86_pmu_cpu_stop(cpu);
		suspend_clear_registers(cpu->pmu);
		x86_pmu_cpu_restore(cpu);
	}
	c->ret = c->ret ?: perf_event_read_local(c->sampling, &after, NULL, NULL);
	c->counted = after - before;
}

/* Each record is part of the count, and has its sample. */
static void suspend_accounts_records(struct kunit *test)
{
	struct suspend_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	const unsigned int insns = 2 * BATCH_ROUNDS * BATCH_TURNS;

	KUNIT_ASSERT_NOT_NULL(test, c);
	if (!x86_nr_pmus || !x86_pmus[0].max_precise)
		kunit_skip(test, "no records of precise samples");
	c->sampling = suspend_event(c, BATCH_PERIOD, true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->sampling);
	KUNIT_EXPECT_EQ(test, smp_call_function_single(0, suspend_batch_here, c, 1), 0);
	KUNIT_EXPECT_TRUE(test, c->sampling->hw.flags & X86_EVENT_BATCH);
	perf_event_release_kernel(c->sampling);
	KUNIT_ASSERT_EQ(test, c->ret, 0);
	KUNIT_EXPECT_GE(test, c->counted, insns);
	/* What stops the counters and starts them again is counted in part. */
	KUNIT_EXPECT_LT(test, c->counted, 4ULL * insns);
	KUNIT_EXPECT_GE(test, c->samples + 2 * BATCH_TURNS, insns / BATCH_PERIOD);
}

/* A record of another event after the one that @c->sampling has its first sample of. */
static void suspend_write_late(struct suspend_case *c)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	unsigned int format = cpu->pmu->precise_format;
	unsigned int size = intel_pebs_config_size(format, cpu->pebs_config);
	u64 *record = intel_ds_memory(INTEL_DS_PEBS) + intel_pebs_bytes();

	memcpy(record, (void *)record - size, size);
	record[format < INTEL_PEBS_ADAPTIVE ? 18 : 2] = BIT_ULL(c->late->hw.idx);
	x86_counter_write(cpu, c->late->hw.idx, 0);
	intel_ds_this_area()->pebs_index += size;
}

static void suspend_sample_then_late(struct perf_event *event, struct perf_sample_data *data,
				     struct pt_regs *regs)
{
	struct suspend_case *c = event->overflow_handler_context;

	if (event == c->late)
		c->late_samples++;
	else if (!c->samples++)
		suspend_write_late(c);
}

static void suspend_sample_here(void *info)
{
	suspend_work(SUSPEND_ROUNDS);
}

/* An event with a call chain has no batch. */
static struct perf_event *suspend_event_late(struct suspend_case *c, u64 period)
{
	return suspend_event_with(c, period, true, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
				  suspend_sample_then_late);
}

/* The processor can write a record a moment after its counter was stopped. */
static void late_records_are_handled(struct kunit *test)
{
	struct suspend_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	if (!x86_nr_pmus || hweight64(x86_pmus[0].precise_counters) < 2)
		kunit_skip(test, "no records of precise samples");
	c->late = suspend_event_late(c, 1 << 30);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->late);
	c->sampling = suspend_event_late(c, SUSPEND_PERIOD);
	if (!IS_ERR(c->sampling)) {
		smp_call_function_single(0, suspend_sample_here, NULL, 1);
		perf_event_release_kernel(c->sampling);
	}
	perf_event_release_kernel(c->late);
	KUNIT_EXPECT_GT(test, c->samples, 1);
	KUNIT_EXPECT_EQ(test, c->late_samples, 1);
}

/* An NMI between the two tests of a pause takes the event from the handler, and stops it. */
static void suspend_stop_in_pause(struct suspend_case *c)
{
	u64 bit = BIT_ULL(c->sampling->hw.idx);
	struct x86_pmu_cpu *cpu;

	local_irq_disable();
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	c->counted = cpu->enabled & bit;
	x86_cpu_clear_bits(irq_owned, bit);
	x86_sched_drain(cpu);
	c->samples_after = !!(cpu->enabled & bit);
	x86_cpu_set_bits(irq_owned, bit);
	x86_cpu_set_bits(enabled, bit);
	x86_commit_enabled(cpu);
	local_irq_enable();
}

static void stopped_event_stays_stopped(struct kunit *test)
{
	struct suspend_case *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	if (!x86_nr_pmus || !x86_pmus[0].max_precise)
		kunit_skip(test, "no records of precise samples");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	c->sampling = suspend_event(c, SUSPEND_PERIOD, true);
	if (!IS_ERR_OR_NULL(c->sampling)) {
		suspend_stop_in_pause(c);
		perf_event_release_kernel(c->sampling);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c->sampling);
	KUNIT_EXPECT_NE(test, c->counted, 0ULL);
	KUNIT_EXPECT_EQ(test, c->samples_after, 0);
}

static struct kunit_case x86_pmu_suspend_cases[] = {
	KUNIT_CASE(suspend_keeps_counts_and_periods),
	KUNIT_CASE(suspend_accounts_records),
	KUNIT_CASE(late_records_are_handled),
	KUNIT_CASE(stopped_event_stays_stopped),
	{ }
};

static struct kunit_suite x86_pmu_suspend_suite = {
	.name		= "x86_pmu_suspend",
	.test_cases	= x86_pmu_suspend_cases,
};

kunit_test_suite(x86_pmu_suspend_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: suspend and resume");
MODULE_LICENSE("GPL");
