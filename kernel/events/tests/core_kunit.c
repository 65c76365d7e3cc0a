// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the counting core: what attributes pass, how time follows from state, the order of
 * groups, what a read looks like, and schedules, which are built by the real engine for a PMU made
 * up here: four counters, each event with a mask of those that can count it.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/mman.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../operations.h"

/* ------------------------------------------------------------------- attributes */

/**
 * struct attr_case - one request
 * @name: what is asked for
 * @attr: beyond type and size
 * @err: what perf_copy_attr() or perf_attr_permitted() must say to root
 */
struct attr_case {
	const char			*name;
	struct perf_event_attr		attr;
	int				err;
};

static const struct attr_case attr_cases[] = {
	{ "nothing", { } },
	{ "every read format", { .read_format = PERF_FORMAT_MAX - 1 } },
	{ "unknown read format", { .read_format = PERF_FORMAT_MAX }, -EINVAL },
	{ "unknown sample type", { .sample_type = PERF_SAMPLE_MAX }, -EINVAL },
	{ "reserved bits", { .__reserved_1 = 1 }, -EINVAL },
	{ "inherit_thread", { .inherit_thread = 1 }, -EINVAL },
	{ "inherit_thread and inherit", { .inherit_thread = 1, .inherit = 1 } },
	{ "exec both ways", { .remove_on_exec = 1, .enable_on_exec = 1 }, -EINVAL },
	{ "sigtrap", { .sigtrap = 1 }, -EINVAL },
	{ "sigtrap and remove_on_exec", { .sigtrap = 1, .remove_on_exec = 1 } },
	{ "two weights", { .sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT },
	  -EINVAL },
	{ "stack of 65528", { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65528 } },
	{ "stack of 65536", { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 65536 },
	  -EINVAL },
	{ "crooked stack", { .sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 100 },
	  -EINVAL },
	{ "no register", { .sample_type = PERF_SAMPLE_REGS_USER }, -EINVAL },
	{ "no kind of branch", { .sample_type = PERF_SAMPLE_BRANCH_STACK }, -EINVAL },
	{ "unknown branch", { .sample_type = PERF_SAMPLE_BRANCH_STACK,
			      .branch_sample_type = PERF_SAMPLE_BRANCH_MAX }, -EINVAL },
	{ "any branch", { .sample_type = PERF_SAMPLE_BRANCH_STACK,
			  .branch_sample_type = PERF_SAMPLE_BRANCH_ANY } },
	{ "period", { .sample_period = BIT_ULL(62) } },
	{ "period with bit 63", { .sample_period = BIT_ULL(63) }, -EINVAL },
	{ "frequency", { .freq = 1, .sample_freq = 1 } },
	{ "frequency over all limits", { .freq = 1, .sample_freq = BIT_ULL(40) }, -EINVAL },
};

static void *user_page(struct kunit *test)
{
	unsigned long addr = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no user memory");
	return (void *)addr;
}

static int ask(struct kunit *test, struct perf_event_attr __user *user,
	       const struct perf_event_attr *from, struct perf_event_attr *attr)
{
	int ret;

	KUNIT_ASSERT_EQ(test, copy_to_user(user, from, sizeof(*from)), 0);
	ret = perf_copy_attr(user, attr);
	return ret ?: perf_attr_permitted(attr);
}

static void test_attr_rules(struct kunit *test)
{
	struct perf_event_attr __user *user = (void __user *)user_page(test);
	struct perf_event_attr from, attr;

	for (int i = 0; i < ARRAY_SIZE(attr_cases); i++) {
		from = attr_cases[i].attr;
		from.size = sizeof(from);
		KUNIT_EXPECT_EQ_MSG(test, ask(test, user, &from, &attr), attr_cases[i].err,
				    "%s", attr_cases[i].name);
	}
}

/* Sizes below and beyond what is known here. */
static void test_attr_size(struct kunit *test)
{
	void __user *user = (void __user *)user_page(test);
	struct perf_event_attr from = { .config = 7 }, attr;
	u32 size;

	KUNIT_EXPECT_EQ(test, ask(test, user, &from, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.size, (u32)PERF_ATTR_SIZE_VER0);
	KUNIT_EXPECT_EQ(test, attr.config, 7ull);

	/* What an old program does not know of is not looked at. */
	from.size = PERF_ATTR_SIZE_VER0;
	from.config3 = 99;
	KUNIT_EXPECT_EQ(test, ask(test, user, &from, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.config3, 0ull);

	from.size = PERF_ATTR_SIZE_VER0 - 1;
	KUNIT_EXPECT_EQ(test, ask(test, user, &from, &attr), -E2BIG);
	KUNIT_ASSERT_EQ(test, get_user(size, (u32 __user *)(user + 4)), 0);
	KUNIT_EXPECT_EQ(test, size, (u32)sizeof(attr));

	/* A newer program may ask for what is known here, but not for more. */
	from.size = sizeof(from) + 64;
	KUNIT_EXPECT_EQ(test, ask(test, user, &from, &attr), 0);
	KUNIT_ASSERT_EQ(test, put_user(1, (u8 __user *)(user + sizeof(from) + 40)), 0);
	KUNIT_EXPECT_EQ(test, ask(test, user, &from, &attr), -E2BIG);

	from.size = PAGE_SIZE + 8;
	KUNIT_EXPECT_EQ(test, ask(test, user, &from, &attr), -E2BIG);
}

/* --------------------------------------------------------------- state and time */

/* An event in a context whose clock stands where the test sets it. */
static struct perf_event *clocked_event(struct kunit *test, struct perf_event_context *ctx,
					struct perf_event *leader)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	event->ctx = ctx;
	event->state = PERF_EVENT_STATE_OFF;
	event->tstamp = ctx->time;
	event->group_leader = leader ?: event;
	INIT_LIST_HEAD(&event->sibling_list);
	if (leader)
		list_add_tail(&event->sibling_list, &leader->sibling_list);
	return event;
}

static struct perf_event_context *stopped_context(struct kunit *test)
{
	struct perf_event_context *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	perf_ctx_init(ctx, current, -1);
	return ctx;
}

static void set_at(struct perf_event *event, u64 time, enum perf_event_state state)
{
	guard(raw_spinlock_irqsave)(&event->ctx->lock);
	event->ctx->time = time;
	perf_event_set_state(event, state);
}

static void expect_times(struct kunit *test, struct perf_event *event, u64 now, u64 enabled,
			 u64 running)
{
	u64 ena, run;

	perf_event_times(event, now, &ena, &run);
	KUNIT_EXPECT_EQ(test, ena, enabled);
	KUNIT_EXPECT_EQ(test, run, running);
}

static void test_times_follow_state(struct kunit *test)
{
	struct perf_event_context *ctx = stopped_context(test);
	struct perf_event *event = clocked_event(test, ctx, NULL);

	expect_times(test, event, 50, 0, 0);
	set_at(event, 100, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, event, 130, 30, 0);
	set_at(event, 150, PERF_EVENT_STATE_ACTIVE);
	expect_times(test, event, 170, 70, 20);
	set_at(event, 200, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, event, 300, 200, 50);
	set_at(event, 300, PERF_EVENT_STATE_OFF);
	expect_times(test, event, 1000, 200, 50);
	set_at(event, 1000, PERF_EVENT_STATE_INACTIVE);
	set_at(event, 1000, PERF_EVENT_STATE_ACTIVE);
	expect_times(test, event, 1100, 300, 150);
	/* A reading that is a little early must not run backwards. */
	expect_times(test, event, 900, 200, 50);
	set_at(event, 1100, PERF_EVENT_STATE_INACTIVE);
	set_at(event, 1200, PERF_EVENT_STATE_ERROR);
	expect_times(test, event, 9000, 400, 150);
}

static void test_leader_holds_siblings_time(struct kunit *test)
{
	struct perf_event_context *ctx = stopped_context(test);
	struct perf_event *leader = clocked_event(test, ctx, NULL);
	struct perf_event *sibling = clocked_event(test, ctx, leader);

	set_at(sibling, 100, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, sibling, 200, 0, 0);
	KUNIT_EXPECT_EQ(test, (int)perf_event_effective_state(sibling), PERF_EVENT_STATE_OFF);
	set_at(leader, 200, PERF_EVENT_STATE_INACTIVE);
	expect_times(test, sibling, 300, 100, 0);
	set_at(leader, 300, PERF_EVENT_STATE_ACTIVE);
	set_at(sibling, 300, PERF_EVENT_STATE_ACTIVE);
	expect_times(test, sibling, 400, 200, 100);
	set_at(sibling, 400, PERF_EVENT_STATE_INACTIVE);
	set_at(leader, 400, PERF_EVENT_STATE_INACTIVE);
	set_at(leader, 500, PERF_EVENT_STATE_OFF);
	expect_times(test, sibling, 900, 300, 100);
	expect_times(test, leader, 900, 300, 100);
}

/* --------------------------------------------------------------- order of groups */

#define TURN	(4 * (u64)NSEC_PER_MSEC)

/* A queue whose turns are of 4 ms. */
static struct perf_event_pmu_context *queue(struct kunit *test)
{
	struct perf_event_pmu_context *epc = kunit_kzalloc(test, sizeof(*epc), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, epc);
	epc->pmu = kunit_kzalloc(test, sizeof(*epc->pmu), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, epc->pmu);
	epc->pmu->hrtimer_interval_ms = 4;
	INIT_LIST_HEAD(&epc->flexible);
	return epc;
}

static struct perf_event *queued_group(struct kunit *test, struct perf_event_pmu_context *epc)
{
	struct perf_event *event = kunit_kzalloc(test, sizeof(*event), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, event);
	perf_groups_insert(epc, event);
	return event;
}

static void serve(struct perf_event_pmu_context *epc, struct perf_event *leader, u64 ns)
{
	leader->total_time_running += ns;
	perf_groups_serve(epc, leader);
}

/* What the engine does with the round of the first group it places. */
static struct perf_event *first(struct perf_event_pmu_context *epc)
{
	struct perf_event *leader = list_first_entry(&epc->flexible, struct perf_event, group_entry);

	epc->round = max(epc->round, leader->round);
	return leader;
}

static void test_groups_take_turns(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue(test);
	struct perf_event *group[5];

	for (int i = 0; i < 5; i++)
		group[i] = queued_group(test, epc);
	for (int i = 0; i < 50; i++) {
		KUNIT_EXPECT_PTR_EQ(test, first(epc), group[i % 5]);
		serve(epc, group[i % 5], i % 2 ? TURN + TURN / 8 : TURN - TURN / 8);
	}
	for (int i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, group[i]->round, 10);
}

/* Half a turn is not a turn; what is short or over counts for the next one. */
static void test_turns_in_pieces(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue(test);
	struct perf_event *a = queued_group(test, epc), *b = queued_group(test, epc);

	serve(epc, a, TURN / 2 - 1);
	KUNIT_EXPECT_PTR_EQ(test, first(epc), a);
	serve(epc, a, 1 + TURN / 4);
	KUNIT_EXPECT_PTR_EQ(test, first(epc), b);
	KUNIT_EXPECT_EQ(test, a->turn_left, (s64)(TURN + TURN / 4));
	serve(epc, b, TURN + TURN / 4);
	KUNIT_EXPECT_EQ(test, b->turn_left, (s64)(TURN - TURN / 4));
	KUNIT_EXPECT_PTR_EQ(test, first(epc), a);
}

/* Whatever a group had while nobody waited: it has its turn with those that come. */
static void test_no_debt_from_alone(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue(test);
	struct perf_event *a = queued_group(test, epc), *b;

	for (int i = 0; i < 1000; i++) {
		first(epc);
		serve(epc, a, 1000 * TURN);
	}
	b = queued_group(test, epc);
	KUNIT_EXPECT_LE(test, a->round, b->round + 2);
	KUNIT_EXPECT_EQ(test, a->turn_left, (s64)TURN);

	/* Off and on again without any competitor, then against one that has just come. */
	list_del_init(&a->group_entry);
	perf_groups_insert(epc, a);
	KUNIT_EXPECT_LE(test, a->round, b->round + 1);
}

/* A group that could not run for long does not keep the others off. */
static void test_no_claim_from_absence(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue(test);
	struct perf_event *a = queued_group(test, epc), *b = queued_group(test, epc);

	for (int i = 0; i < 100; i++) {
		epc->round = max(epc->round, b->round);
		serve(epc, b, TURN);
	}
	KUNIT_EXPECT_PTR_EQ(test, first(epc), a);
	serve(epc, a, TURN);
	KUNIT_EXPECT_GE(test, a->round + 1, b->round);
}

/* In the order of rounds whatever is served, and nobody gets lost. */
static void test_group_order_random(struct kunit *test)
{
	struct perf_event_pmu_context *epc = queue(test);
	struct perf_event *group[100], *event, *last;
	struct rnd_state rnd;
	unsigned int nr;

	prandom_seed_state(&rnd, 7);
	for (int i = 0; i < 100; i++)
		group[i] = queued_group(test, epc);
	for (int i = 0; i < 500; i++) {
		first(epc);
		serve(epc, group[prandom_u32_state(&rnd) % 100],
		      prandom_u32_state(&rnd) % (u32)(2 * TURN));
		last = NULL;
		nr = 0;
		list_for_each_entry(event, &epc->flexible, group_entry) {
			if (last)
				KUNIT_EXPECT_LE(test, last->round, event->round);
			last = event;
			nr++;
		}
		KUNIT_EXPECT_EQ(test, nr, 100);
	}
}

/* -------------------------------------------------------------- a PMU made up here */

#define COUNTERS	4
#define ALL		0xf
#define TEST_CPU	0
#define MAX_EVENTS	64
#define LONG_MS		1000000		/* no turns while a test looks at a schedule */

/**
 * struct fake - the PMU, and what it was last told
 * @pmu: the PMU; attr.config is the mask of counters for an event
 * @loaded: schedule that the test CPU runs now
 * @loads: how often one was loaded
 * @destroyed: how often an event was
 * @event: the test's events
 * @nr: how many
 */
struct fake {
	struct pmu		pmu;
	struct perf_schedule	loaded;
	unsigned int		loads;
	unsigned int		destroyed;
	struct perf_event	*event[MAX_EVENTS];
	unsigned int		nr;
};

static struct fake *to_fake(struct pmu *pmu)
{
	return container_of(pmu, struct fake, pmu);
}

/* In config1: the PMU refuses the event, but has set destroy before. */
#define FAKE_REFUSES	1

static void fake_destroy(struct perf_event *event)
{
	to_fake(event->pmu)->destroyed++;
}

static int fake_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->attr.config1 != FAKE_REFUSES)
		return 0;
	event->destroy = fake_destroy;
	return -EINVAL;
}

static int fake_add(struct perf_event *event, int flags)
{
	return 0;
}

static void fake_del(struct perf_event *event, int flags)
{
}

static void fake_read(struct perf_event *event)
{
}

/* Every way to give out counters, until one fits. */
static bool try_assign(const u64 *mask, unsigned int nr, unsigned int taken, int *idx)
{
	if (!nr)
		return true;
	for (int i = 0; i < COUNTERS; i++) {
		if (taken & BIT(i) || !(*mask & BIT(i)))
			continue;
		*idx = i;
		if (try_assign(mask + 1, nr - 1, taken | BIT(i), idx + 1))
			return true;
	}
	return false;
}

static int fake_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from)
{
	u64 mask[COUNTERS];
	int idx[COUNTERS];

	if (s->nr > COUNTERS)
		return -ENOSPC;
	for (int i = 0; i < s->nr; i++)
		mask[i] = s->slot[i].event->attr.config;
	if (!try_assign(mask, s->nr, 0, idx))
		return -ENOSPC;
	for (int i = 0; i < s->nr; i++)
		s->slot[i].idx = idx[i];
	return 0;
}

static void fake_load(struct pmu *pmu, const struct perf_schedule *s)
{
	struct fake *f = to_fake(pmu);

	if (smp_processor_id() != TEST_CPU)
		return;
	f->loaded.nr = s->nr;
	memcpy(f->loaded.slot, s->slot, s->nr * sizeof(s->slot[0]));
	f->loads++;
}

static void fake_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask)
{
}

static int fake_begin(struct kunit *test)
{
	struct fake *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int ret;

	if (!f)
		return -ENOMEM;
	f->pmu.task_ctx_nr = perf_hw_context;
	f->pmu.capabilities = PERF_PMU_CAP_NO_INTERRUPT;
	f->pmu.hrtimer_interval_ms = LONG_MS;
	f->pmu.event_init = fake_init;
	f->pmu.add = fake_add;
	f->pmu.del = fake_del;
	f->pmu.start = fake_del;
	f->pmu.stop = fake_del;
	f->pmu.read = fake_read;
	f->pmu.sched_assign = fake_assign;
	f->pmu.sched_load = fake_load;
	f->pmu.sched_save = fake_save;
	ret = perf_pmu_register(&f->pmu, "perf_kunit", -1);
	if (ret) {
		kfree(f);
		return ret;
	}
	test->priv = f;
	return 0;
}

static void fake_end(struct kunit *test)
{
	struct fake *f = test->priv;

	if (!f)
		return;
	while (f->nr)
		perf_event_release_kernel(f->event[--f->nr]);
	perf_pmu_unregister(&f->pmu);
	kfree(f);
}

/* An attr for the PMU. */
static struct perf_event_attr fake_attr(struct fake *f, u64 mask)
{
	return (struct perf_event_attr){
		.type = f->pmu.type,
		.size = sizeof(struct perf_event_attr),
		.config = mask,
	};
}

static struct perf_event *try_open(struct kunit *test, struct perf_event_attr *attr,
				   struct perf_event *leader)
{
	struct perf_event_spec spec = {
		.attr = attr, .cpu = TEST_CPU, .leader = leader, .cgroup_fd = -1,
	};
	struct perf_event *event = perf_event_alloc(&spec);
	struct perf_event_context *ctx;
	int ret;

	if (IS_ERR(event))
		return event;
	ctx = perf_event_find_context(event);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ctx));
	event->ctx = ctx;
	mutex_lock(&ctx->mutex);
	ret = leader ? perf_sched_group_fits(leader, event) : 0;
	if (!ret)
		ret = perf_install(ctx, event);
	mutex_unlock(&ctx->mutex);
	if (ret) {
		perf_event_free(event);
		return ERR_PTR(ret);
	}
	return event;
}

static struct perf_event *open_attr(struct kunit *test, struct perf_event_attr *attr,
				    struct perf_event *leader)
{
	struct fake *f = test->priv;
	struct perf_event *event = try_open(test, attr, leader);

	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_ASSERT_LT(test, f->nr, MAX_EVENTS);
	f->event[f->nr++] = event;
	return event;
}

static struct perf_event *open_mask(struct kunit *test, u64 mask, struct perf_event *leader)
{
	struct perf_event_attr attr = fake_attr(test->priv, mask);

	return open_attr(test, &attr, leader);
}

static struct perf_event *open_group(struct kunit *test, unsigned int members)
{
	struct perf_event *leader = open_mask(test, ALL, NULL);

	while (--members)
		open_mask(test, ALL, leader);
	return leader;
}

static void close_all(struct fake *f)
{
	while (f->nr)
		perf_event_release_kernel(f->event[--f->nr]);
}

/* The counter an event is on; -1 if it does not run. */
static int counter_of(struct fake *f, struct perf_event *event)
{
	for (int i = 0; i < f->loaded.nr; i++) {
		if (f->loaded.slot[i].event == event)
			return f->loaded.slot[i].idx;
	}
	return -1;
}

/* Every slot on a counter of its own that its event can use; states as the schedule has them. */
static void check_schedule(struct kunit *test)
{
	struct fake *f = test->priv;
	unsigned int taken = 0;

	for (int i = 0; i < f->loaded.nr; i++) {
		int idx = f->loaded.slot[i].idx;

		KUNIT_EXPECT_TRUE(test, idx >= 0 && idx < COUNTERS);
		KUNIT_EXPECT_FALSE(test, taken & BIT(idx));
		KUNIT_EXPECT_TRUE(test, f->loaded.slot[i].event->attr.config & BIT(idx));
		taken |= BIT(idx);
	}
	for (int i = 0; i < f->nr; i++)
		KUNIT_EXPECT_EQ(test, f->event[i]->state == PERF_EVENT_STATE_ACTIVE,
				counter_of(f, f->event[i]) >= 0);
}

/* -------------------------------------------------------------------- schedules */

static void test_what_fits_runs(struct kunit *test)
{
	struct fake *f = test->priv;

	for (int i = 0; i < COUNTERS; i++) {
		open_mask(test, ALL, NULL);
		KUNIT_EXPECT_EQ(test, f->loaded.nr, i + 1);
		check_schedule(test);
	}
	open_mask(test, ALL, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, COUNTERS);
	KUNIT_EXPECT_EQ(test, counter_of(f, f->event[COUNTERS]), -1);
	check_schedule(test);
	perf_event_release_kernel(f->event[1]);
	f->event[1] = f->event[--f->nr];
	KUNIT_EXPECT_EQ(test, f->loaded.nr, COUNTERS);
	check_schedule(test);
}

/* Who can go anywhere makes room for those who cannot. */
static void test_constraints_move_others(struct kunit *test)
{
	struct fake *f = test->priv;

	open_mask(test, ALL, NULL);
	open_mask(test, 0x1, NULL);
	open_mask(test, 0x2, NULL);
	open_mask(test, 0x4, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	KUNIT_EXPECT_EQ(test, counter_of(f, f->event[0]), 3);
	check_schedule(test);

	/* No way to have both: the newcomer waits. */
	open_mask(test, 0x2, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	KUNIT_EXPECT_EQ(test, counter_of(f, f->event[4]), -1);
	check_schedule(test);
}

static void test_groups_run_whole(struct kunit *test)
{
	struct fake *f = test->priv;
	struct perf_event *three = open_group(test, 3), *two = open_group(test, 2), *one;

	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	KUNIT_EXPECT_GE(test, counter_of(f, three), 0);
	KUNIT_EXPECT_EQ(test, counter_of(f, two), -1);
	check_schedule(test);
	one = open_group(test, 1);
	KUNIT_EXPECT_GE(test, counter_of(f, one), 0);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	check_schedule(test);

	perf_event_disable(three);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	KUNIT_EXPECT_GE(test, counter_of(f, two), 0);
	check_schedule(test);
	perf_event_enable(three);
	check_schedule(test);
	perf_event_disable(two);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 4);
	KUNIT_EXPECT_GE(test, counter_of(f, three), 0);
	check_schedule(test);
}

static void test_group_that_never_fits(struct kunit *test)
{
	struct perf_event_attr attr = fake_attr(test->priv, ALL), first = fake_attr(test->priv, 0x1);
	struct perf_event *leader = open_group(test, COUNTERS), *event;

	event = try_open(test, &attr, leader);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	leader = open_mask(test, 0x1, NULL);
	event = try_open(test, &first, leader);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
}

static void test_pinned_first(struct kunit *test)
{
	struct fake *f = test->priv;
	struct perf_event_attr attr = fake_attr(f, ALL);
	struct perf_event *flexible = open_group(test, 4), *pinned[5];

	attr.pinned = 1;
	for (int i = 0; i < 4; i++) {
		pinned[i] = open_attr(test, &attr, NULL);
		KUNIT_EXPECT_GE(test, counter_of(f, pinned[i]), 0);
		KUNIT_EXPECT_EQ(test, counter_of(f, flexible), -1);
	}
	pinned[4] = open_attr(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, (int)pinned[4]->state, PERF_EVENT_STATE_ERROR);
	for (int i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, (int)pinned[i]->state, PERF_EVENT_STATE_ACTIVE);
	check_schedule(test);

	perf_event_disable(pinned[0]);
	perf_event_enable(pinned[4]);
	KUNIT_EXPECT_EQ(test, (int)pinned[4]->state, PERF_EVENT_STATE_ACTIVE);
	check_schedule(test);
}

static void test_exclusive_alone(struct kunit *test)
{
	struct fake *f = test->priv;
	struct perf_event_attr attr = fake_attr(f, ALL);
	struct perf_event *exclusive;

	attr.exclusive = 1;
	exclusive = open_attr(test, &attr, NULL);
	open_mask(test, ALL, NULL);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
	KUNIT_EXPECT_GE(test, counter_of(f, exclusive), 0);
	check_schedule(test);
	perf_event_disable(exclusive);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
	check_schedule(test);
	perf_event_enable(exclusive);
	check_schedule(test);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 1);
}

/* A disabled sibling takes no counter; a disabled leader frees those of its group. */
static void test_disabled_take_no_counter(struct kunit *test)
{
	struct fake *f = test->priv;
	struct perf_event *leader = open_group(test, 3);

	perf_event_disable(f->event[1]);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 2);
	check_schedule(test);
	perf_event_enable(f->event[1]);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	perf_event_disable(leader);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 0);
	perf_event_enable(leader);
	KUNIT_EXPECT_EQ(test, f->loaded.nr, 3);
	check_schedule(test);
}

/* Could an event that waits run beside those that do? */
static bool would_fit(struct fake *f, struct perf_event *event)
{
	u64 mask[COUNTERS + 1];
	int idx[COUNTERS + 1];

	for (int i = 0; i < f->loaded.nr; i++)
		mask[i] = f->loaded.slot[i].event->attr.config;
	mask[f->loaded.nr] = event->attr.config;
	return f->loaded.nr < COUNTERS && try_assign(mask, f->loaded.nr + 1, 0, idx);
}

/*
 * The first that wait do so because there is no room. The engine looks no further in one turn once
 * some single events found none, to keep a turn's cost down.
 */
static void check_waiting(struct kunit *test)
{
	struct fake *f = test->priv;
	unsigned int waiting = 0;

	for (int i = 0; i < f->nr && waiting < 2; i++) {
		if (counter_of(f, f->event[i]) >= 0)
			continue;
		KUNIT_EXPECT_FALSE(test, would_fit(f, f->event[i]));
		waiting++;
	}
}

/* Whatever the constraints: schedules are right, and who comes first waits for nothing but room. */
static void test_random_constraints(struct kunit *test)
{
	struct fake *f = test->priv;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 11);
	for (int round = 0; round < 100; round++) {
		unsigned int nr = 1 + prandom_u32_state(&rnd) % 7;

		while (nr--)
			open_mask(test, 1 + prandom_u32_state(&rnd) % ALL, NULL);
		check_schedule(test);
		check_waiting(test);
		close_all(f);
		KUNIT_EXPECT_EQ(test, f->loaded.nr, 0);
	}
}

/* --------------------------------------------------------------------- rotation */

/* As the file in sysfs does. */
static void set_interval(struct fake *f, int ms)
{
	f->pmu.hrtimer_interval_ms = ms;
	per_cpu_ptr(f->pmu.cpu_pmu_context, TEST_CPU)->timer_interval = ms_to_ktime(ms);
}

/* Groups of 1 to 4 in turns of a millisecond: all the same share. */
static void test_rotation_is_fair(struct kunit *test)
{
	static const unsigned int sizes[] = { 1, 2, 3, 4, 1, 4, 2, 3, 3, 1 };
	struct fake *f = test->priv;
	struct perf_event *leader[ARRAY_SIZE(sizes)];
	u64 enabled, running, least = U64_MAX, most = 0, sum = 0;

	set_interval(f, 1);
	for (int i = 0; i < ARRAY_SIZE(sizes); i++)
		leader[i] = open_group(test, sizes[i]);
	msleep(600);
	for (int i = 0; i < ARRAY_SIZE(sizes); i++) {
		perf_event_disable(leader[i]);
		perf_event_read_value(leader[i], &enabled, &running);
		least = min(least, running);
		most = max(most, running);
		sum += running;
	}
	kunit_info(test, "least %llu us, most %llu us of %llu us\n", least / 1000, most / 1000,
		   enabled / 1000);
	KUNIT_EXPECT_GT(test, least, 0ull);
	/* A late timer makes a long turn, which others have to wait to make up for. */
	KUNIT_EXPECT_LT(test, most - least, sum / ARRAY_SIZE(sizes) / 10 + 20 * NSEC_PER_MSEC);
	KUNIT_EXPECT_GT(test, f->loads, 50);
}

/* What all fit takes no turns, and no work. */
static void test_no_turns_without_need(struct kunit *test)
{
	struct fake *f = test->priv;
	unsigned int loads;
	u64 enabled, running;

	set_interval(f, 1);
	for (int i = 0; i < COUNTERS; i++)
		open_mask(test, ALL, NULL);
	loads = f->loads;
	msleep(50);
	KUNIT_EXPECT_EQ(test, f->loads, loads);
	for (int i = 0; i < COUNTERS; i++) {
		perf_event_read_value(f->event[i], &enabled, &running);
		KUNIT_EXPECT_EQ(test, enabled, running);
	}
}

/* ------------------------------------------------------------------ read layout */

static unsigned int words_of(u64 format, unsigned int nr)
{
	return !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
	       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING) + !!(format & PERF_FORMAT_GROUP) +
	       nr * (1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST));
}

/* Counts 100, 101, ...; losses 200, 201, ... of a group of three, in every format. */
static void check_format(struct kunit *test, char __user *user, u64 format)
{
	struct fake *f = test->priv;
	struct perf_event_attr attr = fake_attr(f, ALL);
	unsigned int nr = format & PERF_FORMAT_GROUP ? 3 : 1, at = 0;
	size_t size = words_of(format, nr) * sizeof(u64);
	u64 words[16];

	attr.read_format = format;
	for (int i = 0; i < 3; i++) {
		struct perf_event *event = open_attr(test, &attr, i ? f->event[0] : NULL);

		local64_set(&event->count, 100 + i);
		atomic64_set(&event->lost_samples, 200 + i);
	}
	KUNIT_EXPECT_EQ(test, perf_event_read_file(f->event[0], user, size - 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, perf_event_read_file(f->event[0], user, size), size);
	KUNIT_ASSERT_EQ(test, copy_from_user(words, user, size), 0);

	if (format & PERF_FORMAT_GROUP)
		KUNIT_EXPECT_EQ(test, words[at++], 3);
	else
		KUNIT_EXPECT_EQ(test, words[at++], 100);
	at += !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED);
	at += !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	for (int i = 0; i < nr; i++) {
		if (format & PERF_FORMAT_GROUP)
			KUNIT_EXPECT_EQ(test, words[at++], 100 + i);
		if (format & PERF_FORMAT_ID)
			KUNIT_EXPECT_EQ(test, words[at++], f->event[i]->id);
		if (format & PERF_FORMAT_LOST)
			KUNIT_EXPECT_EQ(test, words[at++], 200 + i);
	}
	KUNIT_EXPECT_EQ(test, at * sizeof(u64), size);
	close_all(f);
}

static void test_read_layout(struct kunit *test)
{
	char __user *user = (char __user *)user_page(test);

	for (u64 format = 0; format < PERF_FORMAT_MAX; format++)
		check_format(test, user, format);
}

static void test_read_in_error(struct kunit *test)
{
	char __user *user = (char __user *)user_page(test);
	struct perf_event_attr attr = fake_attr(test->priv, 0x1);
	struct perf_event *first, *second;

	attr.pinned = 1;
	first = open_attr(test, &attr, NULL);
	second = open_attr(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, perf_event_read_file(first, user, 8), 8);
	KUNIT_EXPECT_EQ(test, perf_event_read_file(second, user, 8), 0);
}

/* The PMU context that lies in a context serves one PMU after the other, each as if new. */
static void test_pmu_context_used_again(struct kunit *test)
{
	struct perf_event_context *ctx = perf_ctx_alloc(current, 0);
	static struct pmu gone, next;
	struct perf_event_pmu_context *epc;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	epc = perf_epc_alloc(ctx, &gone);
	KUNIT_EXPECT_PTR_EQ(test, epc, &ctx->first_epc);
	epc->sched_seq = epc->seq + 1;
	epc->round = 7;
	epc->overcommitted = true;
	perf_epc_free(ctx, epc);

	epc = perf_epc_alloc(ctx, &next);
	KUNIT_EXPECT_PTR_EQ(test, epc, &ctx->first_epc);
	KUNIT_EXPECT_EQ(test, epc->sched_seq, 0);
	KUNIT_EXPECT_EQ(test, epc->round, 0);
	KUNIT_EXPECT_FALSE(test, epc->overcommitted);
	perf_epc_free(ctx, epc);
	perf_ctx_put(ctx);
}

/* A driver that refuses an event has undone what it did, even if it had named its destructor. */
static void test_refused_is_not_destroyed(struct kunit *test)
{
	struct fake *f = test->priv;
	struct perf_event_attr attr = fake_attr(f, ALL);
	struct perf_event *event;

	attr.config1 = FAKE_REFUSES;
	event = perf_event_create_kernel_counter(&attr, TEST_CPU, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	KUNIT_EXPECT_EQ(test, f->destroyed, 0);
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(test_pmu_context_used_again),
	KUNIT_CASE(test_refused_is_not_destroyed),
	KUNIT_CASE(test_attr_rules),
	KUNIT_CASE(test_attr_size),
	KUNIT_CASE(test_times_follow_state),
	KUNIT_CASE(test_leader_holds_siblings_time),
	KUNIT_CASE(test_groups_take_turns),
	KUNIT_CASE(test_turns_in_pieces),
	KUNIT_CASE(test_no_debt_from_alone),
	KUNIT_CASE(test_no_claim_from_absence),
	KUNIT_CASE(test_group_order_random),
	KUNIT_CASE(test_what_fits_runs),
	KUNIT_CASE(test_constraints_move_others),
	KUNIT_CASE(test_groups_run_whole),
	KUNIT_CASE(test_group_that_never_fits),
	KUNIT_CASE(test_pinned_first),
	KUNIT_CASE(test_exclusive_alone),
	KUNIT_CASE(test_disabled_take_no_counter),
	KUNIT_CASE(test_random_constraints),
	KUNIT_CASE(test_rotation_is_fair),
	KUNIT_CASE(test_no_turns_without_need),
	KUNIT_CASE(test_read_layout),
	KUNIT_CASE(test_read_in_error),
	{ }
};

static struct kunit_suite core_suite = {
	.name		= "perf_core",
	.init		= fake_begin,
	.exit		= fake_end,
	.test_cases	= core_cases,
};

kunit_test_suite(core_suite);
