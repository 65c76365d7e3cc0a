// SPDX-License-Identifier: GPL-2.0
/*
 * Branch records of guests: the description for KVM, and the event that reserves the registers.
 * The test accesses them as a guest does. And the registers that KVM switches at an entry.
 */
#include <linux/cpumask.h>
#include <linux/sched.h>

#include "../branch.h"
#include "../intel/models.h"
#include "helpers.h"

#define GUEST_TOP	5
#define GUEST_FILTER	X86_SELECT_KERNEL

/* The registers of a guest; entry n has the address GUEST_FROM(n). */
#define GUEST_FROM(n)	(0x10000ULL + (n))
#define GUEST_TO(n)	(0x20000ULL + (n))
#define GUEST_INFO(n)	(1ULL + (n))

struct guest_case {
	const char			*name;
	const struct x86_branches	*branches;
	u32				layout;
	bool				no_cache;
	struct x86_pmu_lbr		lbr;
};

static const struct x86_branches guest_arch = { .kind = X86_BRANCHES_ARCH, .depth = 32 };

static const struct guest_case guest_cases[] = {
	{ "none" },
	{ "sandybridge", &intel_lbr_sandybridge },
	{ "architectural", &guest_arch },
	{ "without a cache", &intel_lbr_haswell, .no_cache = true },
	{ "haswell", &intel_lbr_haswell, X86_BRANCH_FROM_MISS, false,
	  { 16, 0x680, 0x6c0, 0, true } },
	{ "skylake", &intel_lbr_skylake, X86_BRANCH_INFO_MISS | X86_BRANCH_INFO_CYCLES, false,
	  { 32, 0x680, 0x6c0, 0xdc0, true } },
	{ "goldmont", &intel_lbr_icelake, X86_BRANCH_FROM_MISS | X86_BRANCH_TO_CYCLES, false,
	  { 32, 0x680, 0x6c0, 0, true } },
};

/* Guests have the records of parts with call-stack mode. */
static void guests_have_records_with_stacks(struct kunit *test)
{
	struct x86_pmu *xpmu = kunit_kzalloc(test, sizeof(*xpmu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, xpmu);
	for (unsigned int i = 0; i < ARRAY_SIZE(guest_cases); i++) {
		const struct guest_case *c = &guest_cases[i];
		struct x86_pmu_lbr lbr;

		xpmu->branches = c->branches;
		xpmu->branch_layout = c->layout;
		/* The address alone matters. */
		xpmu->pmu.task_ctx_cache = c->no_cache ? NULL : (struct kmem_cache *)xpmu;
		x86_kvm_branches(xpmu, &lbr);
		KUNIT_EXPECT_EQ_MSG(test, lbr.nr, c->lbr.nr, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, lbr.from, c->lbr.from, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, lbr.to, c->lbr.to, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, lbr.info, c->lbr.info, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, lbr.has_callstack, c->lbr.has_callstack, "%s", c->name);
	}
}

/* As KVM opens it, for the task that runs the guest. */
static struct perf_event *guest_event(void)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_RAW,
		.size		= sizeof(attr),
		.config		= INTEL_FIXED_VLBR_EVENT,
		.sample_type	= PERF_SAMPLE_BRANCH_STACK,
		.pinned		= 1,
		.exclude_host	= 1,
		.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_USER,
	};

	return perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
}

/* Records of the host's own task. */
static struct perf_event *guest_host_event(void)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_HW_INSTRUCTIONS,
		.sample_type	= PERF_SAMPLE_BRANCH_STACK,
		.sample_period	= 1ULL << 40,
		.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL,
	};

	return perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
}

static bool guest_has_registers(const struct perf_event *event)
{
	return READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE;
}

static void guest_write(const struct x86_pmu_lbr *lbr)
{
	for (unsigned int i = 0; i < lbr->nr; i++) {
		wrmsrl(lbr->from + i, GUEST_FROM(i));
		wrmsrl(lbr->to + i, GUEST_TO(i));
		if (lbr->info)
			wrmsrl(lbr->info + i, GUEST_INFO(i));
	}
	wrmsrl(MSR_LBR_TOS, GUEST_TOP);
	wrmsrl(MSR_LBR_SELECT, GUEST_FILTER);
}

/* What a deep C-state does. */
static void guest_sleep(const struct x86_pmu_lbr *lbr)
{
	for (unsigned int i = 0; i < lbr->nr; i++) {
		wrmsrl(lbr->from + i, 0);
		wrmsrl(lbr->to + i, 0);
		if (lbr->info)
			wrmsrl(lbr->info + i, 0);
	}
	wrmsrl(MSR_LBR_TOS, 0);
}

static u64 guest_read(u32 msr)
{
	u64 val;

	rdmsrl(msr, val);
	return val;
}

/* Registers that are not those of guest_write(), or with @empty not 0. */
static unsigned int guest_wrong(const struct x86_pmu_lbr *lbr, bool empty)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < lbr->nr; i++) {
		wrong += guest_read(lbr->from + i) != (empty ? 0 : GUEST_FROM(i));
		wrong += guest_read(lbr->to + i) != (empty ? 0 : GUEST_TO(i));
		wrong += lbr->info && guest_read(lbr->info + i) != (empty ? 0 : GUEST_INFO(i));
	}
	wrong += guest_read(MSR_LBR_SELECT) != (empty ? 0 : GUEST_FILTER);
	return wrong + (guest_read(MSR_LBR_TOS) != (empty ? 0 : GUEST_TOP));
}

struct guest_seen {
	bool		first, back, beside;
	unsigned int	first_wrong, back_wrong, awake_wrong, next_wrong, host_kept;
	u64		recording;
};

/* Interrupts are disabled where the guest runs, as KVM does at an entry. */
static void guest_runs(struct perf_event *guest, struct perf_event *host,
		       const struct x86_pmu_lbr *lbr, struct guest_seen *seen)
{
	local_irq_disable();
	seen->first = guest_has_registers(guest);
	seen->beside = guest_has_registers(host);
	seen->first_wrong = guest_wrong(lbr, true);
	seen->recording = guest_read(MSR_IA32_DEBUGCTLMSR) & DEBUGCTLMSR_LBR;
	guest_write(lbr);
	local_irq_enable();

	perf_event_disable(guest);
	perf_event_disable(host);
	perf_event_enable(host);
	local_irq_disable();
	for (unsigned int i = 0; i < lbr->nr; i++)
		seen->host_kept += guest_read(lbr->from + i) == GUEST_FROM(i);
	local_irq_enable();
	perf_event_disable(host);

	perf_event_enable(guest);
	local_irq_disable();
	seen->back = guest_has_registers(guest);
	seen->back_wrong = guest_wrong(lbr, false);
	local_irq_enable();

	perf_event_disable(guest);
	local_irq_disable();
	guest_sleep(lbr);
	local_irq_enable();
	perf_event_enable(guest);
	local_irq_disable();
	seen->awake_wrong = guest_wrong(lbr, false);
	local_irq_enable();
}

/* Another guest of the same task. */
static void guest_follows(const struct x86_pmu_lbr *lbr, struct guest_seen *seen)
{
	struct perf_event *guest = guest_event();

	seen->next_wrong = ~0;
	if (IS_ERR(guest))
		return;
	local_irq_disable();
	if (guest_has_registers(guest))
		seen->next_wrong = guest_wrong(lbr, true);
	local_irq_enable();
	perf_event_release_kernel(guest);
}

/* A guest finds nothing of the host, or of another guest, and later what it left there. */
static void guest_keeps_its_records(struct kunit *test)
{
	struct guest_seen seen = { };
	struct perf_event *guest, *host;
	struct x86_pmu_lbr lbr;

	x86_perf_get_lbr(&lbr);
	if (!lbr.nr)
		kunit_skip(test, "no call-stack mode");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	host = guest_host_event();
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, host);
	guest = guest_event();
	if (!IS_ERR(guest)) {
		guest_runs(guest, host, &lbr, &seen);
		perf_event_release_kernel(guest);
		guest_follows(&lbr, &seen);
	}
	perf_event_release_kernel(host);
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, guest);
	KUNIT_EXPECT_TRUE(test, seen.first);
	KUNIT_EXPECT_FALSE(test, seen.beside);
	KUNIT_EXPECT_EQ(test, seen.first_wrong, 0);
	KUNIT_EXPECT_EQ(test, seen.recording, 0ULL);
	KUNIT_EXPECT_LT(test, seen.host_kept, lbr.nr);
	KUNIT_EXPECT_TRUE(test, seen.back);
	KUNIT_EXPECT_EQ(test, seen.back_wrong, 0);
	KUNIT_EXPECT_EQ(test, seen.awake_wrong, 0);
	KUNIT_EXPECT_EQ(test, seen.next_wrong, 0);
}

/* Counts in guests, too, unless its samples are precise. */
static struct perf_event *guest_counting_event(bool precise)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_HW_INSTRUCTIONS,
		.sample_type	= PERF_SAMPLE_IP,
		.sample_period	= 1ULL << 30,
		.precise_ip	= precise,
		.pinned		= 1,
	};

	return perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
}

/* What KVM is given at an entry, and what the registers are behind that. */
struct guest_entry {
	struct perf_guest_switch_msr	msr[2];
	u64				now[2];
	int				nr;
	u64				plain, precise;	/* sets of counters */
};

/* The counter of an event, as a set; empty if the event is not loaded. */
static u64 guest_counter_of(const struct perf_event *event)
{
	return guest_has_registers(event) ? BIT_ULL(event->hw.idx) : 0;
}

static void guest_enters(struct perf_event *plain, struct perf_event *precise,
			 struct guest_entry *entry)
{
	const struct perf_guest_switch_msr *msrs;

	local_irq_disable();
	entry->plain = guest_counter_of(plain);
	entry->precise = guest_counter_of(precise);
	msrs = perf_guest_get_msrs(&entry->nr, NULL);
	for (int i = 0; i < min(entry->nr, 2); i++) {
		entry->msr[i] = msrs[i];
		entry->now[i] = guest_read(msrs[i].msr);
	}
	local_irq_enable();
}

static void guest_entry_is_right(struct kunit *test, const struct guest_entry *entry)
{
	const struct perf_guest_switch_msr *global = &entry->msr[0], *pebs = &entry->msr[1];

	KUNIT_EXPECT_NE(test, entry->plain, 0ULL);
	KUNIT_EXPECT_NE(test, entry->precise, 0ULL);
	KUNIT_ASSERT_EQ(test, entry->nr, 2);
	KUNIT_EXPECT_EQ(test, global->msr, MSR_CORE_PERF_GLOBAL_CTRL);
	KUNIT_EXPECT_EQ(test, pebs->msr, MSR_IA32_PEBS_ENABLE);
	/* The host keeps its values, with both counters; the guest has the plain one alone. */
	KUNIT_EXPECT_EQ(test, global->host, entry->now[0]);
	KUNIT_EXPECT_EQ(test, pebs->host, entry->now[1]);
	KUNIT_EXPECT_EQ(test, global->host & entry->plain, entry->plain);
	KUNIT_EXPECT_EQ(test, global->host & entry->precise, entry->precise);
	KUNIT_EXPECT_EQ(test, pebs->host & entry->precise, entry->precise);
	KUNIT_EXPECT_EQ(test, global->guest & entry->plain, entry->plain);
	KUNIT_EXPECT_EQ(test, global->guest & entry->precise, 0ULL);
	KUNIT_EXPECT_EQ(test, pebs->guest, 0ULL);
}

/* A record would be written to an address that the guest's page tables do not have. */
static void guest_writes_no_records(struct kunit *test)
{
	struct perf_event *plain, *precise;
	struct guest_entry entry = { };

	if (!x86_nr_pmus || !x86_pmus[0].max_precise)
		kunit_skip(test, "no records of precise samples");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	plain = guest_counting_event(false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, plain);
	precise = guest_counting_event(true);
	if (!IS_ERR(precise)) {
		guest_enters(plain, precise, &entry);
		perf_event_release_kernel(precise);
	}
	perf_event_release_kernel(plain);
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, precise);
	guest_entry_is_right(test, &entry);
}

/* PEBS_ENABLE keeps the bits of a closed event, which would be switched at each entry. */
static void guest_entry_ends_with_records(struct kunit *test)
{
	struct perf_event *plain, *precise;
	struct guest_entry before = { }, after = { };
	u64 left;

	if (!x86_nr_pmus || !x86_pmus[0].max_precise)
		kunit_skip(test, "no records of precise samples");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	precise = guest_counting_event(true);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, precise);
	guest_enters(precise, precise, &before);
	/* It is loaded first, so the counter of the closed event stays without one. */
	plain = guest_counting_event(false);
	perf_event_release_kernel(precise);
	if (!IS_ERR(plain)) {
		guest_enters(plain, plain, &after);
		perf_event_release_kernel(plain);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, plain);
	KUNIT_ASSERT_EQ(test, before.nr, 2);
	KUNIT_EXPECT_NE(test, before.msr[1].host, before.msr[1].guest);
	KUNIT_ASSERT_EQ(test, after.nr, 2);
	KUNIT_EXPECT_NE(test, after.plain, 0ULL);
	KUNIT_EXPECT_EQ(test, after.msr[1].msr, MSR_IA32_PEBS_ENABLE);
	KUNIT_EXPECT_EQ(test, after.msr[1].host, after.msr[1].guest);
	/* What is left in the register selects counters that are disabled. */
	left = after.now[1] & x86_pmus[0].precise_counters;
	KUNIT_EXPECT_EQ(test, left & (after.now[0] | after.msr[0].guest), 0ULL);
}

#ifdef CONFIG_GUEST_PERF_EVENTS
/* What samples of the host show while the callbacks report a guest. */
struct guest_records {
	unsigned int	samples, of_guest, elsewhere;
};

static unsigned int guest_state(void)
{
	return PERF_GUEST_ACTIVE | PERF_GUEST_USER;
}

static unsigned long guest_ip(void)
{
	return 0x1000;
}

static struct perf_guest_info_callbacks guest_callbacks = {
	.state	= guest_state,
	.get_ip	= guest_ip,
};

static void guest_sample(struct perf_event *event, struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	struct guest_records *found = event->overflow_handler_context;

	found->samples++;
	found->of_guest += (perf_misc_flags(regs) & PERF_RECORD_MISC_CPUMODE_MASK) !=
			   PERF_RECORD_MISC_KERNEL;
	found->elsewhere += perf_instruction_pointer(regs) != regs->ip;
}

/* Leaves records in the store, and takes their samples as the NMI of a VM exit does. */
static void guest_drain_here(struct guest_records *found)
{
	perf_register_guest_info_callbacks(&guest_callbacks);
	local_irq_disable();
	for (unsigned int i = 0; i < 100; i++)
		cpu_relax();
	*found = (struct guest_records){ };
	x86_sched_drain(this_cpu_ptr(&x86_pmu_cpu));
	local_irq_enable();
	perf_unregister_guest_info_callbacks(&guest_callbacks);
}

/* A guest writes no records: those in the store when it is left are of the host. */
static void records_are_of_the_host(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.size		= sizeof(attr),
		.config		= PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_user	= 1,
		.sample_type	= PERF_SAMPLE_IP,
		.sample_period	= 101,
		.precise_ip	= 1,
		.pinned		= 1,
	};
	struct guest_records found = { };
	struct perf_event *event;

	if (!x86_nr_pmus || !x86_pmus[0].max_precise)
		kunit_skip(test, "no records of precise samples");
	if (rcu_access_pointer(perf_guest_cbs))
		kunit_skip(test, "KVM has callbacks");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	event = perf_event_create_kernel_counter(&attr, 0, NULL, guest_sample, &found);
	if (!IS_ERR(event)) {
		guest_drain_here(&found);
		perf_event_release_kernel(event);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	KUNIT_EXPECT_GT(test, found.samples, 0);
	KUNIT_EXPECT_EQ(test, found.of_guest, 0);
	KUNIT_EXPECT_EQ(test, found.elsewhere, 0);
}
#endif

static struct kunit_case guest_kunit_cases[] = {
	KUNIT_CASE(guests_have_records_with_stacks),
	KUNIT_CASE(guest_keeps_its_records),
	KUNIT_CASE(guest_writes_no_records),
	KUNIT_CASE(guest_entry_ends_with_records),
#ifdef CONFIG_GUEST_PERF_EVENTS
	KUNIT_CASE(records_are_of_the_host),
#endif
	{ }
};

static struct kunit_suite guest_suite = {
	.name		= "x86_pmu_guest",
	.test_cases	= guest_kunit_cases,
};

kunit_test_suite(guest_suite);

MODULE_DESCRIPTION("KUnit tests of the x86 PMU driver: registers of guests");
MODULE_LICENSE("GPL");
