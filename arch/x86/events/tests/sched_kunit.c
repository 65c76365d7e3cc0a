// SPDX-License-Identifier: GPL-2.0
/*
 * Loading events on counters of this machine.
 */
#include "../intel/models.h"
#include "helpers.h"

#define SCHED_PERIOD	1000000

/* An event for a test that loads events; skips the test if the counters are not alike. */
static struct perf_event *sched_new_event(struct kunit *test)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	if (!x86_nr_pmus || x86_pmu_regs.netburst)
		kunit_skip(test, "no equivalent counters");
	return event;
}

static struct perf_schedule *sched_new_schedule(struct kunit *test)
{
	struct perf_schedule *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

/* Loads a schedule with one event, on counter @idx of this CPU. */
static void sched_load_alone(struct perf_schedule *s, struct perf_event *event, unsigned int idx)
{
	s->nr = 1;
	s->slot[0].event = event;
	s->slot[0].idx = idx;
	x86_sched_load(event->pmu, s);
}

/* An event finds the value that it left in a counter, but not in another counter. */
static void moved_event_writes_its_counter(struct kunit *test)
{
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	s64 left = SCHED_PERIOD, stays = 0, moves = 0;
	bool busy = true, same = false;
	unsigned int from, to;
	struct x86_pmu_cpu *cpu;
	unsigned long flags;
	u64 tag;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded) {
		busy = false;
		from = __ffs64(cpu->pmu->counters);
		to = from + 1;
		event->pmu = &cpu->pmu->pmu;
		event->hw.idx = -1;
		event->hw.last_cpu = -1;
		event->hw.flags = X86_EVENT_SAMPLING;
		/* Counts user mode only, so that the value does not change here. */
		event->hw.config = x86_generic_select(cpu->pmu, PERF_COUNT_HW_INSTRUCTIONS) |
				   ARCH_PERFMON_EVENTSEL_USR;
		event->hw.sample_period = left;
		local64_set(&event->hw.period_left, left);

		sched_load_alone(s, event, from);
		x86_sched_save(event->pmu, s, 1, NULL);
		tag = cpu->tag[from];
		sched_load_alone(s, event, from);
		same = cpu->tag[from] == tag;
		stays = local64_read(&event->hw.prev_count);
		x86_sched_save(event->pmu, s, 1, NULL);
		x86_counter_write(cpu, to, -1);
		cpu->tag[to] = cpu->tag[from];
		sched_load_alone(s, event, to);
		x86_event_update(event);
		moves = local64_read(&event->hw.prev_count);
		x86_sched_save(event->pmu, s, 1, NULL);
	}
	local_irq_restore(flags);

	if (busy)
		kunit_skip(test, "there are events on this CPU");
	KUNIT_EXPECT_TRUE(test, same);
	KUNIT_EXPECT_EQ(test, stays, -left);
	KUNIT_EXPECT_EQ(test, moves, -left);
}

/* Lets @event count instructions. Returns the bit of the first counter. Interrupts off. */
static u64 sched_first_counter(const struct x86_pmu_cpu *cpu, struct perf_event *event)
{
	event->pmu = &cpu->pmu->pmu;
	event->hw.idx = -1;
	event->hw.config = x86_generic_select(cpu->pmu, PERF_COUNT_HW_INSTRUCTIONS) |
			   ARCH_PERFMON_EVENTSEL_USR;
	return cpu->pmu->counters & -cpu->pmu->counters;
}

/* An overflow found before its counter is in irq_owned is handled, and not left to later events. */
static void missed_overflow_is_handled_on_load(struct kunit *test)
{
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	u64 bit = 0, loaded = 0, unloaded = 0, owned = 0;
	struct x86_pmu_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded) {
		bit = sched_first_counter(cpu, event);
		this_cpu_or(x86_pmu_cpu.missed, bit);
		sched_load_alone(s, event, __ffs64(bit));
		loaded = cpu->missed;
		owned = cpu->irq_owned;
		this_cpu_or(x86_pmu_cpu.missed, bit);
		x86_sched_save(event->pmu, s, 1, NULL);
		unloaded = cpu->missed;
		x86_counters_disable(cpu, ~0ULL);
	}
	local_irq_restore(flags);

	if (!bit)
		kunit_skip(test, "there are events on this CPU");
	KUNIT_EXPECT_EQ(test, owned, bit);
	KUNIT_EXPECT_EQ(test, loaded & bit, 0ULL);
	KUNIT_EXPECT_EQ(test, unloaded & bit, 0ULL);
}

/* An overflow while selects are written again is handled afterwards. */
static void missed_overflow_is_handled_on_reselect(struct kunit *test)
{
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	u64 bit = 0, missed = 0, owned = 0;
	struct x86_pmu_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded) {
		bit = sched_first_counter(cpu, event);
		sched_load_alone(s, event, __ffs64(bit));
		this_cpu_or(x86_pmu_cpu.missed, bit);
		x86_sched_reselect(cpu);
		missed = cpu->missed;
		owned = cpu->irq_owned;
		x86_sched_save(event->pmu, s, 1, NULL);
		x86_counters_disable(cpu, ~0ULL);
	}
	local_irq_restore(flags);

	if (!bit)
		kunit_skip(test, "there are events on this CPU");
	KUNIT_EXPECT_EQ(test, missed & bit, 0ULL);
	KUNIT_EXPECT_EQ(test, owned, bit);
}

/* Reads @event as the handler of an NMI does. */
static void sched_read_in_nmi(struct perf_event *event)
{
	__preempt_count_add(NMI_OFFSET);
	x86_event_read(event);
	__preempt_count_sub(NMI_OFFSET);
}

/*
 * A read in an NMI does not update an event while its counter is being programmed: prev_count and
 * the counter do not belong together then.
 */
static void nmi_reads_no_half_programmed_event(struct kunit *test)
{
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	u64 bit = 0, during = 0, before = 0, after = 0;
	struct x86_pmu_cpu *cpu;
	unsigned long flags;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded) {
		bit = sched_first_counter(cpu, event);
		sched_load_alone(s, event, __ffs64(bit));
		before = local64_read(&event->count);
		this_cpu_and(x86_pmu_cpu.irq_owned, ~bit);
		local64_add(1000, &event->hw.prev_count);
		sched_read_in_nmi(event);
		during = local64_read(&event->count);
		local64_sub(1001, &event->hw.prev_count);
		this_cpu_or(x86_pmu_cpu.irq_owned, bit);
		sched_read_in_nmi(event);
		after = local64_read(&event->count);
		x86_sched_save(event->pmu, s, 1, NULL);
		x86_counters_disable(cpu, ~0ULL);
	}
	local_irq_restore(flags);

	if (!bit)
		kunit_skip(test, "there are events on this CPU");
	KUNIT_EXPECT_EQ(test, before, 0ULL);
	KUNIT_EXPECT_EQ(test, during, 0ULL);
	KUNIT_EXPECT_EQ(test, after, 1ULL);
}

/*
 * Loads an event on a counter that runs on and overflows @left instructions after its value was
 * written. Returns what the event has counted when it leaves again.
 */
static u64 sched_load_at_overflow(struct x86_pmu_cpu *cpu, struct perf_schedule *s, s64 left)
{
	struct perf_event *event = s->slot[0].event;

	local64_set(&event->count, 0);
	x86_counter_write(cpu, s->slot[0].idx, -left);
	x86_sched_load(event->pmu, s);
	x86_sched_save(event->pmu, s, 1, NULL);
	return local64_read(&event->count);
}

/* The overflow is before, in and after the load, at each of its instructions. */
static void overflow_in_a_load_is_no_count(struct kunit *test)
{
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	struct x86_pmu_cpu *cpu;
	unsigned long flags;
	bool busy = true;
	u64 most = 0;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&x86_pmu_cpu);
	if (cpu->pmu && !cpu->loaded) {
		busy = false;
		event->pmu = &cpu->pmu->pmu;
		event->hw.idx = -1;
		event->hw.config = x86_generic_select(cpu->pmu, PERF_COUNT_HW_INSTRUCTIONS) |
				   ARCH_PERFMON_EVENTSEL_OS;
		sched_load_alone(s, event, __ffs64(cpu->pmu->counters));
		x86_sched_save(event->pmu, s, 1, NULL);
		atomic_inc(&x86_irq_users);	/* the handler looks at the counters */
		for (s64 left = 1; left < 500; left++)
			most = max(most, sched_load_at_overflow(cpu, s, left));
		atomic_dec(&x86_irq_users);
		x86_counters_disable(cpu, ~0ULL);
	}
	local_irq_restore(flags);

	if (busy)
		kunit_skip(test, "there are events on this CPU");
	KUNIT_EXPECT_GT(test, most, 20ULL);
	KUNIT_EXPECT_LT(test, most, 10000ULL);
}

/* What the first counter does after its sampling event has left, and then with another schedule. */
struct sched_linger_case {
	u64	levels;		/* of both events */
	u64	interrupts;	/* of the next event, PERF_THROTTLED or 0 */
	bool	none;		/* the next schedule is empty */
	bool	lingers, runs_on;
	bool	lingered, ran_on;
};

static void sched_linger(struct x86_pmu_cpu *cpu, struct perf_event *event,
			 struct perf_schedule *s, struct sched_linger_case *c)
{
	u64 bit = cpu->pmu->counters & -cpu->pmu->counters;

	event->hw.config = x86_generic_select(cpu->pmu, PERF_COUNT_HW_INSTRUCTIONS) | c->levels;
	event->hw.interrupts = 0;
	sched_load_alone(s, event, __ffs64(bit));
	x86_sched_unload(cpu, bit, true);
	c->lingered = cpu->enabled & bit;
	event->hw.interrupts = c->interrupts;
	s->nr = !c->none;
	x86_sched_load(event->pmu, s);
	c->ran_on = cpu->enabled & bit;
	if (s->nr)
		x86_sched_save(event->pmu, s, 1, NULL);
}

/* False if there are events on this CPU. Interrupts off. */
static bool sched_linger_each(struct perf_event *event, struct perf_schedule *s,
			      struct sched_linger_case *c, unsigned int nr)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (!cpu->pmu || cpu->loaded)
		return false;
	event->pmu = &cpu->pmu->pmu;
	event->hw.idx = -1;
	event->hw.flags = X86_EVENT_SAMPLING;
	event->hw.sample_period = S32_MAX;
	local64_set(&event->hw.period_left, S32_MAX);
	for (; nr--; c++)
		sched_linger(cpu, event, s, c);
	x86_counters_disable(cpu, ~0ULL);
	return true;
}

/* Only what counts user space alone, and only until the load that follows. */
static void sampling_counter_lingers_until_the_load(struct kunit *test)
{
	struct sched_linger_case c[] = {
		{ ARCH_PERFMON_EVENTSEL_USR, .lingers = true, .runs_on = true },
		{ ARCH_PERFMON_EVENTSEL_USR, .lingers = true, .none = true },
		{ ARCH_PERFMON_EVENTSEL_USR, PERF_THROTTLED, .lingers = true },
		{ ARCH_PERFMON_EVENTSEL_OS, .runs_on = true },
		{ ARCH_PERFMON_EVENTSEL_USR | ARCH_PERFMON_EVENTSEL_OS, .runs_on = true },
	};
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	unsigned long flags;
	bool ran;

	local_irq_save(flags);
	ran = sched_linger_each(event, s, c, ARRAY_SIZE(c));
	local_irq_restore(flags);
	if (!ran)
		kunit_skip(test, "there are events on this CPU");
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++) {
		KUNIT_EXPECT_EQ_MSG(test, c[i].lingered, c[i].lingers, "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, c[i].ran_on, c[i].runs_on, "case %u", i);
	}
}

#ifdef CONFIG_CPU_SUP_INTEL
struct sched_limit_case {
	s64	left, want, found;
};

/* Loads a sampling event of Broadwell with each period; false if there are events on this CPU. */
static bool sched_load_periods(struct perf_event *event, struct perf_schedule *s,
			       struct x86_pmu *xpmu, struct sched_limit_case *c, unsigned int nr)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);

	if (!cpu->pmu || cpu->loaded)
		return false;
	*xpmu = *cpu->pmu;
	xpmu->model = &broadwell_model;
	event->pmu = &xpmu->pmu;
	event->hw.idx = -1;
	event->hw.flags = X86_EVENT_SAMPLING | X86_EVENT_LIMITED;
	/* INST_RETIRED.ALL, in user mode only, so that the value does not change here. */
	event->hw.config = 0x01c0 | ARCH_PERFMON_EVENTSEL_USR;
	for (; nr--; c++) {
		event->hw.sample_period = c->left;
		local64_set(&event->hw.period_left, c->left);
		sched_load_alone(s, event, __ffs64(cpu->pmu->counters));
		c->found = -local64_read(&event->hw.prev_count);
		x86_sched_save(event->pmu, s, 1, NULL);
	}
	x86_counters_disable(cpu, ~0ULL);
	return true;
}

/* Errata BDM11 and BDM55: at least 128, and the low six bits clear, whatever the frequency. */
static void counter_starts_from_possible_period(struct kunit *test)
{
	struct sched_limit_case c[] = { { 1, 128 }, { 127, 128 }, { 128, 128 }, { 129, 192 },
					{ 100000, 100032 } };
	struct perf_event *event = sched_new_event(test);
	struct perf_schedule *s = sched_new_schedule(test);
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);
	unsigned long flags;
	bool ran;

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	local_irq_save(flags);
	ran = sched_load_periods(event, s, xpmu, c, ARRAY_SIZE(c));
	local_irq_restore(flags);
	if (!ran)
		kunit_skip(test, "there are events on this CPU");
	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		KUNIT_EXPECT_EQ(test, c[i].found, c[i].want);
}
#endif

static struct kunit_case x86_pmu_sched_cases[] = {
	KUNIT_CASE(moved_event_writes_its_counter),
	KUNIT_CASE(missed_overflow_is_handled_on_load),
	KUNIT_CASE(missed_overflow_is_handled_on_reselect),
	KUNIT_CASE(nmi_reads_no_half_programmed_event),
	KUNIT_CASE(overflow_in_a_load_is_no_count),
	KUNIT_CASE(sampling_counter_lingers_until_the_load),
#ifdef CONFIG_CPU_SUP_INTEL
	KUNIT_CASE(counter_starts_from_possible_period),
#endif
	{ }
};

static struct kunit_suite x86_pmu_sched_suite = {
	.name		= "x86_pmu_sched",
	.test_cases	= x86_pmu_sched_cases,
};

kunit_test_suite(x86_pmu_sched_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: loading of events");
MODULE_LICENSE("GPL");
