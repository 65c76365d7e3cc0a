// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the accounting of debug registers: breakpoint_slots.c with accounts of the tests' own,
 * CPUs and tasks that do not exist; then the kernel API with the accounts of the running kernel.
 */
#include <kunit/test.h>
#include <linux/hw_breakpoint.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../pmus/breakpoint_slots.h"

#define NR_CPUS_USED	8
#define NR_TASKS	6
#define NR_SLOTS	4
#define NR_BPS		128
#define ANY_CPU		(-1)
#define NO_TASK		(-1)

/**
 * struct bp_test - fixture
 * @slots: the accounts under test
 * @bp: breakpoints made by this test
 * @nr: number of @bp, 0 to NR_BPS
 * @task: stand for tasks; only the addresses are used
 */
struct bp_test {
	struct bp_slots		slots;
	struct perf_event	*bp[NR_BPS];
	unsigned int		nr;
	long			task[NR_TASKS];
};

static struct task_struct *fake_task(struct bp_test *t, int n)
{
	return n == NO_TASK ? NULL : (struct task_struct *)&t->task[n];
}

/* A breakpoint that has no slot yet. */
static struct perf_event *new_bp(struct kunit *test, int task, int cpu, u32 bp_type)
{
	struct perf_event *bp = kunit_kzalloc(test, sizeof(*bp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bp);
	bp->attr.bp_type = bp_type;
	bp->cpu = cpu;
	bp->hw.target = fake_task(test->priv, task);
	return bp;
}

/* Claims a slot for a new breakpoint, which is added to bp_test::bp on success. */
static int bp_test_claim(struct kunit *test, int task, int cpu, u32 bp_type)
{
	struct bp_test *t = test->priv;
	struct perf_event *bp = new_bp(test, task, cpu, bp_type);
	int err = bp_slots_claim(&t->slots, bp);

	if (!err) {
		KUNIT_ASSERT_LT(test, t->nr, NR_BPS);
		t->bp[t->nr++] = bp;
	}
	return err;
}

static int claim_data(struct kunit *test, int task, int cpu)
{
	return bp_test_claim(test, task, cpu, HW_BREAKPOINT_W);
}

static void bp_test_release(struct bp_test *t, unsigned int n)
{
	bp_slots_release(&t->slots, t->bp[n]);
	t->bp[n] = t->bp[--t->nr];
}

static unsigned int bp_test_needed(struct bp_test *t, int cpu)
{
	return bp_slots_needed(&t->slots, cpu, TYPE_DATA);
}

static int bp_test_init(struct kunit *test)
{
	struct bp_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int slots[TYPE_MAX];
	int type;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (type = 0; type < TYPE_MAX; type++)
		slots[type] = NR_SLOTS;
	test->priv = t;
	return bp_slots_init(&t->slots, NR_CPUS_USED, slots);
}

/* After each test: without a claim the accounts are empty. */
static void bp_test_exit(struct kunit *test)
{
	struct bp_test *t = test->priv;
	int type, cpu;

	while (t->nr)
		bp_test_release(t, 0);

	KUNIT_EXPECT_FALSE(test, bp_slots_any(&t->slots));
	KUNIT_EXPECT_TRUE(test, hash_empty(t->slots.by_task));
	for (type = 0; type < TYPE_MAX; type++) {
		KUNIT_EXPECT_EQ(test, t->slots.type[type].nr_local, 0u);
		for (cpu = 0; cpu < NR_CPUS_USED; cpu++)
			KUNIT_EXPECT_EQ(test, bp_slots_needed(&t->slots, cpu, type), 0u);
	}
	bp_slots_destroy(&t->slots);
}

static void cpu_breakpoints_fill_their_cpu_only(struct kunit *test)
{
	struct bp_test *t = test->priv;
	int n;

	for (n = 0; n < NR_SLOTS; n++) {
		KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 2), 0);
		KUNIT_EXPECT_EQ(test, bp_test_needed(t, 2), n + 1u);
	}
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 3), 0u);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 3), 0);

	bp_test_release(t, 0);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 2), NR_SLOTS - 1u);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 2), 0);
}

static void tasks_share_a_cpu_by_turns(struct kunit *test)
{
	struct bp_test *t = test->priv;
	int n, task;

	for (n = 1; n <= NR_SLOTS; n++) {
		for (task = 0; task < NR_TASKS; task++)
			KUNIT_EXPECT_EQ(test, claim_data(test, task, ANY_CPU), 0);
		KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), n);
		KUNIT_EXPECT_EQ(test, bp_test_needed(t, NR_CPUS_USED - 1), n);
	}
	for (task = 0; task < NR_TASKS; task++)
		KUNIT_EXPECT_EQ(test, claim_data(test, task, ANY_CPU), -ENOSPC);
}

static void the_fullest_cpu_limits_a_task(struct kunit *test)
{
	struct bp_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 1), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 5), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 5), 0);

	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), -ENOSPC);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), 2u);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 1), 3u);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 5), 4u);

	/* One of CPU 5 is released: CPU 5 and CPU 1 have the same number. */
	bp_test_release(t, 2);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), -ENOSPC);
}

static void the_greediest_task_limits_every_cpu(struct kunit *test)
{
	struct bp_test *t = test->priv;
	int n, cpu;

	KUNIT_EXPECT_EQ(test, claim_data(test, 1, ANY_CPU), 0);
	for (n = 0; n < 3; n++)
		KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), 0);

	for (cpu = 0; cpu < NR_CPUS_USED; cpu++) {
		KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, cpu), 0);
		KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, cpu), -ENOSPC);
		KUNIT_EXPECT_EQ(test, bp_test_needed(t, cpu), NR_SLOTS);
	}
}

static void a_local_breakpoint_counts_on_its_cpu(struct kunit *test)
{
	struct bp_test *t = test->priv;
	int n;

	for (n = 0; n < 3; n++)
		KUNIT_EXPECT_EQ(test, claim_data(test, 0, 4), 0);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 4), 3u);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 3), 0u);

	/* Another task runs at another time. */
	for (n = 0; n < NR_SLOTS; n++)
		KUNIT_EXPECT_EQ(test, claim_data(test, 1, 4), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 1, 4), -ENOSPC);
	KUNIT_EXPECT_EQ(test, claim_data(test, 1, 3), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 4), -ENOSPC);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 3), 0);
}

static void local_and_any_of_a_task_add_up(struct kunit *test)
{
	struct bp_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, claim_data(test, 0, 6), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, 6), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), 0);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 6), 3u);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), 1u);

	/* The claim after the next fails for CPU 6, though all other CPUs have a free slot. */
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, ANY_CPU), -ENOSPC);
	KUNIT_EXPECT_EQ(test, claim_data(test, 1, ANY_CPU), 0);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, 6), -ENOSPC);
	KUNIT_EXPECT_EQ(test, claim_data(test, 0, 7), 0);

	/* The local ones of CPU 6 first, so that the task leaves the CPU's histogram. */
	bp_test_release(t, 0);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 6), 3u);
	KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 6), 0);
}

static void data_and_instruction_are_counted_apart(struct kunit *test)
{
	struct bp_test *t = test->priv;
	int n;

	for (n = 0; n < NR_SLOTS; n++)
		KUNIT_EXPECT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_RW), 0);

	if (TYPE_INST == TYPE_DATA) {
		KUNIT_EXPECT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_X), -ENOSPC);
		return;
	}
	KUNIT_EXPECT_EQ(test, bp_slots_needed(&t->slots, 0, TYPE_INST), 0u);
	for (n = 0; n < NR_SLOTS; n++)
		KUNIT_EXPECT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_X), 0);
	KUNIT_EXPECT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_X), -ENOSPC);
}

static void a_refused_change_of_type_changes_nothing(struct kunit *test)
{
	struct bp_test *t = test->priv;
	struct perf_event *bp;
	int n;

	KUNIT_ASSERT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_X), 0);
	bp = t->bp[0];
	for (n = 1; n < NR_SLOTS; n++)
		KUNIT_EXPECT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_W), 0);

	if (TYPE_INST == TYPE_DATA) {
		KUNIT_EXPECT_EQ(test, bp_slots_retype(&t->slots, bp, HW_BREAKPOINT_W), 0);
		KUNIT_EXPECT_EQ(test, bp->attr.bp_type, HW_BREAKPOINT_W);
		return;
	}

	KUNIT_EXPECT_EQ(test, bp_test_claim(test, 0, ANY_CPU, HW_BREAKPOINT_R), 0);
	KUNIT_EXPECT_EQ(test, bp_slots_retype(&t->slots, bp, HW_BREAKPOINT_W), -ENOSPC);
	KUNIT_EXPECT_EQ(test, bp->attr.bp_type, HW_BREAKPOINT_X);
	KUNIT_EXPECT_EQ(test, bp_slots_needed(&t->slots, 0, TYPE_INST), 1u);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), NR_SLOTS);

	bp_test_release(t, t->nr - 1);
	KUNIT_EXPECT_EQ(test, bp_slots_retype(&t->slots, bp, HW_BREAKPOINT_W), 0);
	KUNIT_EXPECT_EQ(test, bp_slots_needed(&t->slots, 0, TYPE_INST), 0u);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), NR_SLOTS);
}

static void a_debugger_claims_without_the_lock(struct kunit *test)
{
	struct bp_test *t = test->priv;
	struct perf_event *bp = new_bp(test, NO_TASK, 0, HW_BREAKPOINT_W);
	struct perf_event *of_task = new_bp(test, 0, ANY_CPU, HW_BREAKPOINT_W);
	int n;

	KUNIT_EXPECT_EQ(test, bp_slots_claim_stopped(&t->slots, of_task), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, bp_slots_claim_stopped(&t->slots, bp), 0);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), 1u);

	/* As where a CPU is stopped while it changes claims. */
	mutex_lock(&t->slots.lock);
	KUNIT_EXPECT_EQ(test, bp_slots_release_stopped(&t->slots, bp), -EBUSY);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), 1u);
	mutex_unlock(&t->slots.lock);

	KUNIT_EXPECT_EQ(test, bp_slots_release_stopped(&t->slots, bp), 0);
	KUNIT_EXPECT_EQ(test, bp_test_needed(t, 0), 0u);

	for (n = 0; n < NR_SLOTS; n++)
		KUNIT_EXPECT_EQ(test, claim_data(test, NO_TASK, 0), 0);
	KUNIT_EXPECT_EQ(test, bp_slots_claim_stopped(&t->slots, bp), -ENOSPC);
}

/* Slots that a CPU needs, computed from the list of all breakpoints. */
static unsigned int brute_force_needed(struct bp_test *t, int cpu, enum bp_type_idx type)
{
	unsigned int bound = 0, most = 0, n, i;
	int task;

	for (task = NO_TASK; task < NR_TASKS; task++) {
		for (n = 0, i = 0; i < t->nr; i++) {
			struct perf_event *bp = t->bp[i];

			n += bp->hw.target == fake_task(t, task) &&
			     bp_slot_type(bp->attr.bp_type) == type &&
			     (bp->cpu == cpu || bp->cpu == ANY_CPU);
		}
		if (task == NO_TASK)
			bound = n;
		else
			most = max(most, n);
	}
	return bound + most;
}

static bool brute_force_fits(struct bp_test *t)
{
	int cpu, type;

	for (type = 0; type < TYPE_MAX; type++)
		for (cpu = 0; cpu < NR_CPUS_USED; cpu++)
			if (brute_force_needed(t, cpu, type) > NR_SLOTS)
				return false;
	return true;
}

static u32 random_type(struct rnd_state *rnd)
{
	return prandom_u32_state(rnd) % 2 ? HW_BREAKPOINT_X : HW_BREAKPOINT_RW;
}

/* Claims a slot for @bp; returns what the list of all breakpoints predicts. */
static int random_claim(struct kunit *test, struct perf_event *bp, bool *fits)
{
	struct bp_test *t = test->priv;
	int err = bp_slots_claim(&t->slots, bp);

	t->bp[t->nr++] = bp;
	*fits = brute_force_fits(t);
	if (err) {
		t->nr--;
		kunit_kfree(test, bp);
	}
	return err;
}

static int random_retype(struct bp_test *t, struct perf_event *bp, u32 bp_type, bool *fits)
{
	u32 old = bp->attr.bp_type;

	bp->attr.bp_type = bp_type;
	*fits = brute_force_fits(t);
	bp->attr.bp_type = old;

	return bp_slots_retype(&t->slots, bp, bp_type);
}

static void one_random_step(struct kunit *test, struct rnd_state *rnd)
{
	struct bp_test *t = test->priv;
	u32 what = prandom_u32_state(rnd) % 8;
	unsigned int n = prandom_u32_state(rnd) % max(t->nr, 1u);
	int task, cpu, err = 0;
	bool fits = true;

	if (what < 5 && t->nr < NR_BPS) {
		task = (int)(prandom_u32_state(rnd) % (NR_TASKS + 1)) + NO_TASK;
		cpu = prandom_u32_state(rnd) % NR_CPUS_USED;
		if (task != NO_TASK && prandom_u32_state(rnd) % 2)
			cpu = ANY_CPU;
		err = random_claim(test, new_bp(test, task, cpu, random_type(rnd)), &fits);
	} else if (what < 7 && t->nr) {
		bp_test_release(t, n);
	} else if (t->nr) {
		err = random_retype(t, t->bp[n], random_type(rnd), &fits);
	}
	KUNIT_ASSERT_EQ(test, err, fits ? 0 : -ENOSPC);
}

static void random_claims_agree_with_brute_force(struct kunit *test)
{
	struct bp_test *t = test->priv;
	struct rnd_state rnd;
	int step, cpu, type;

	prandom_seed_state(&rnd, 20);
	for (step = 0; step < 4000; step++) {
		one_random_step(test, &rnd);
		cpu = step % NR_CPUS_USED;
		for (type = 0; type < TYPE_MAX; type++)
			KUNIT_ASSERT_EQ(test, bp_slots_needed(&t->slots, cpu, type),
					brute_force_needed(t, cpu, type));
	}
}

static int idle_thread(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

/* A data breakpoint in user space, which a kernel thread does not access. */
static void user_data_attr(struct perf_event_attr *attr)
{
	ptrace_breakpoint_init(attr);
	attr->bp_addr = 0x10000;
	attr->bp_len = HW_BREAKPOINT_LEN_4;
	attr->bp_type = HW_BREAKPOINT_W;
}

/* A task has all slots: all CPUs together get none. One is released: they get it. */
static void kernel_api_on(struct kunit *test, struct task_struct *task)
{
	struct perf_event *bp[BP_SLOTS_MAX], *further;
	struct perf_event * __percpu *wide;
	struct perf_event_attr attr;
	int slots = min(hw_breakpoint_slots(TYPE_DATA), BP_SLOTS_MAX);
	int n;

	user_data_attr(&attr);
	for (n = 0; n < slots; n++) {
		bp[n] = register_user_hw_breakpoint(&attr, NULL, NULL, task);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, bp[n]);
		if (IS_ERR(bp[n]))
			break;
	}
	KUNIT_EXPECT_TRUE(test, hw_breakpoint_is_used());
	further = register_user_hw_breakpoint(&attr, NULL, NULL, task);
	KUNIT_EXPECT_PTR_EQ(test, further, ERR_PTR(-ENOSPC));
	wide = register_wide_hw_breakpoint(&attr, NULL, NULL);
	KUNIT_EXPECT_PTR_EQ(test, (void __force *)wide, ERR_PTR(-ENOSPC));

	if (n)
		unregister_hw_breakpoint(bp[--n]);
	wide = register_wide_hw_breakpoint(&attr, NULL, NULL);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, (void __force *)wide);
	further = register_user_hw_breakpoint(&attr, NULL, NULL, task);
	KUNIT_EXPECT_PTR_EQ(test, further, ERR_PTR(-ENOSPC));
	if (!IS_ERR((void __force *)wide))
		unregister_wide_hw_breakpoint(wide);

	while (n)
		unregister_hw_breakpoint(bp[--n]);
}

static void kernel_api_claims_and_releases(struct kunit *test)
{
	struct task_struct *task;

	if (hw_breakpoint_is_used())
		kunit_skip(test, "there are breakpoints already");

	task = kthread_run(idle_thread, NULL, "bp_kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	get_task_struct(task);

	kernel_api_on(test, task);
	KUNIT_EXPECT_FALSE(test, hw_breakpoint_is_used());

	kthread_stop(task);
	put_task_struct(task);
}

/* A refused change leaves the accounts and the breakpoint's attributes as they were. */
static void a_refused_modification_changes_nothing(struct kunit *test)
{
	struct perf_event_attr attr, bad;
	struct arch_hw_breakpoint info;
	struct perf_event *bp;

	user_data_attr(&attr);
	bp = register_user_hw_breakpoint(&attr, NULL, NULL, current);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bp);
	info = *counter_arch_bp(bp);

	bad = bp->attr;
	bad.bp_type = HW_BREAKPOINT_INVALID;
	KUNIT_EXPECT_EQ(test, modify_user_hw_breakpoint(bp, &bad), -EINVAL);
	bad = bp->attr;
	bad.bp_addr = (unsigned long)&user_data_attr & ~7ul;
	KUNIT_EXPECT_EQ(test, modify_user_hw_breakpoint(bp, &bad), -EINVAL);
	bad = bp->attr;
	bad.bp_addr += 4;
	bad.sample_period = 7;
	KUNIT_EXPECT_EQ(test, modify_user_hw_breakpoint_check(bp, &bad, true), -EINVAL);

	KUNIT_EXPECT_EQ(test, bp->attr.bp_addr, attr.bp_addr);
	KUNIT_EXPECT_EQ(test, bp->attr.bp_type, attr.bp_type);
	KUNIT_EXPECT_EQ(test, bp->attr.sample_period, attr.sample_period);
	KUNIT_EXPECT_MEMEQ(test, counter_arch_bp(bp), &info, sizeof(info));
	KUNIT_EXPECT_GE(test, bp->state, PERF_EVENT_STATE_INACTIVE);

	attr.bp_addr += 4;
	KUNIT_EXPECT_EQ(test, modify_user_hw_breakpoint(bp, &attr), 0);
	KUNIT_EXPECT_EQ(test, bp->attr.bp_addr, attr.bp_addr);
	KUNIT_EXPECT_GE(test, bp->state, PERF_EVENT_STATE_INACTIVE);

	attr.disabled = 1;
	KUNIT_EXPECT_EQ(test, modify_user_hw_breakpoint(bp, &attr), 0);
	KUNIT_EXPECT_EQ(test, bp->state, PERF_EVENT_STATE_OFF);
	unregister_hw_breakpoint(bp);
}

static struct kunit_case bp_slots_cases[] = {
	KUNIT_CASE(cpu_breakpoints_fill_their_cpu_only),
	KUNIT_CASE(tasks_share_a_cpu_by_turns),
	KUNIT_CASE(the_fullest_cpu_limits_a_task),
	KUNIT_CASE(the_greediest_task_limits_every_cpu),
	KUNIT_CASE(a_local_breakpoint_counts_on_its_cpu),
	KUNIT_CASE(local_and_any_of_a_task_add_up),
	KUNIT_CASE(data_and_instruction_are_counted_apart),
	KUNIT_CASE(a_refused_change_of_type_changes_nothing),
	KUNIT_CASE(a_debugger_claims_without_the_lock),
	KUNIT_CASE(random_claims_agree_with_brute_force),
	{}
};

static struct kunit_suite bp_slots_suite = {
	.name = "hw_breakpoint_slots",
	.init = bp_test_init,
	.exit = bp_test_exit,
	.test_cases = bp_slots_cases,
};

static struct kunit_case bp_api_cases[] = {
	KUNIT_CASE(kernel_api_claims_and_releases),
	KUNIT_CASE(a_refused_modification_changes_nothing),
	{}
};

static struct kunit_suite bp_api_suite = {
	.name = "hw_breakpoint_api",
	.test_cases = bp_api_cases,
};

kunit_test_suites(&bp_slots_suite, &bp_api_suite);

MODULE_DESCRIPTION("Accounting of debug registers");
MODULE_LICENSE("GPL");
