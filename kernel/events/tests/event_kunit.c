// SPDX-License-Identifier: GPL-2.0
/* Tests of events and PMU contexts from their allocation to their end. */
#include <kunit/test.h>
#include <linux/filter.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "fake_pmu.h"

/* The PMU context embedded in a context is initialised again for the next PMU. */
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

/* The core does not call the destructor of an event that the driver has refused. */
static void test_refused_is_not_destroyed(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *event;

	attr.config1 = FAKE_REFUSES;
	event = perf_event_create_kernel_counter(&attr, FAKE_CPU, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	KUNIT_EXPECT_EQ(test, f->destroyed, 0);
}

/* An event that the driver has accepted and the core refuses is destroyed. */
static void test_refused_by_core_is_destroyed(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *event;

	f->pmu.capabilities |= PERF_PMU_CAP_NO_EXCLUDE;
	attr.config1 = FAKE_ACCEPTS;
	attr.exclude_user = 1;
	event = perf_event_create_kernel_counter(&attr, FAKE_CPU, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -EINVAL);
	KUNIT_EXPECT_EQ(test, f->destroyed, 1);
}

#ifdef CONFIG_MODULE_UNLOAD
/* A software event keeps the module of the PMU that schedules its group, as long as it does. */
static void test_module_of_a_group(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event_attr software = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(software),
		.config = PERF_COUNT_SW_DUMMY,
	};
	struct perf_event *leader = fake_pmu_open(test, &software, NULL), *counter;
	static struct module module;

	module.state = MODULE_STATE_LIVE;
	atomic_set(&module.refcnt, 1);
	f->pmu.module = &module;
	counter = fake_pmu_try_open(test, &attr, leader);
	KUNIT_ASSERT_FALSE(test, IS_ERR(counter));
	KUNIT_EXPECT_GT(test, module_refcount(&module), 0);
	KUNIT_EXPECT_PTR_EQ(test, leader->pmu_ctx->pmu, &f->pmu);
	perf_event_release_kernel(counter);
	KUNIT_EXPECT_PTR_EQ(test, leader->pmu_ctx->pmu, leader->pmu);
	KUNIT_EXPECT_EQ(test, (int)leader->state, PERF_EVENT_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, module_refcount(&module), 0);
	/* Counters can join again. */
	KUNIT_EXPECT_EQ(test, leader->group_caps, leader->event_caps);

	/* The counter leads, and is closed first. */
	counter = fake_pmu_try_open(test, &attr, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(counter));
	leader = fake_pmu_open(test, &software, counter);
	KUNIT_EXPECT_PTR_EQ(test, leader->pmu_ctx->pmu, &f->pmu);
	KUNIT_EXPECT_GT(test, module_refcount(&module), 1);
	perf_event_release_kernel(counter);
	KUNIT_EXPECT_PTR_EQ(test, leader->pmu_ctx->pmu, leader->pmu);
	KUNIT_EXPECT_EQ(test, (int)leader->state, PERF_EVENT_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, module_refcount(&module), 0);
	fake_pmu_close_all(f);
	f->pmu.module = NULL;
}
#endif

#ifdef CONFIG_MODULES
/* The module of a PMU is about to be unloaded: no new event takes a reference. */
static void test_module_unload(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	static struct module module;
	struct perf_event *event;

	module.state = MODULE_STATE_GOING;
	f->pmu.module = &module;
	event = fake_pmu_try_open(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -ENODEV);
	event = perf_event_create_kernel_counter(&attr, FAKE_CPU, NULL, NULL, NULL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(event), -ENODEV);
	f->pmu.module = NULL;
	fake_pmu_open_mask(test, FAKE_ALL, NULL);
}
#endif

#ifdef CONFIG_BPF_SYSCALL
/* bpf_get_stack() with precise_ip needs all of the sample's call chain. */
static void test_program_needs_the_chain(struct kunit *test)
{
	struct perf_event *event = fake_pmu_open_mask(test, FAKE_ALL, NULL);
	struct bpf_prog *prog = kunit_kzalloc(test, sizeof(*prog), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, prog);
	prog->type = BPF_PROG_TYPE_PERF_EVENT;
	prog->call_get_stack = 1;
	event->attr.precise_ip = 1;
	KUNIT_EXPECT_EQ(test, perf_event_set_bpf_handler(event, prog, 0), -EPROTO);
	event->attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	event->attr.exclude_callchain_user = 1;
	KUNIT_EXPECT_EQ(test, perf_event_set_bpf_handler(event, prog, 0), -EPROTO);
	KUNIT_EXPECT_NULL(test, event->prog);
	event->attr.exclude_callchain_user = 0;
	KUNIT_EXPECT_EQ(test, perf_event_set_bpf_handler(event, prog, 0), 0);
	/* The program was never loaded: nothing may free it. */
	event->prog = NULL;

	event->attr.sample_type = 0;
	prog->call_get_stack = 0;
	KUNIT_EXPECT_EQ(test, perf_event_set_bpf_handler(event, prog, 0), 0);
	event->prog = NULL;
}

static unsigned int program_that_passes(const void *context, const struct bpf_insn *insn)
{
	return 1;
}

/* A driver may collect a chain of other registers than those of the sample. */
static void test_program_keeps_the_chain(struct kunit *test)
{
	struct perf_event_attr attr = fake_pmu_attr(test->priv, FAKE_ALL);
	struct bpf_prog *prog = kunit_kzalloc(test, sizeof(*prog), GFP_KERNEL);
	struct perf_sample_data data;
	struct perf_event *event;
	struct pt_regs regs = {};
	u64 size;

	KUNIT_ASSERT_NOT_NULL(test, prog);
	prog->type = BPF_PROG_TYPE_PERF_EVENT;
	prog->bpf_func = program_that_passes;
	attr.sample_period = 1 << 30;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	event = fake_pmu_open(test, &attr, NULL);
	KUNIT_EXPECT_EQ(test, perf_event_set_bpf_handler(event, prog, 0), 0);

	scoped_guard(irqsave) {
		perf_fetch_caller_regs(&regs);
		perf_sample_data_init(&data, 0, 1);
		perf_sample_save_callchain(&data, event, &regs);
		size = data.dyn_size;
		perf_event_overflow(event, &data, &regs);
	}
	KUNIT_EXPECT_GT(test, size, 8);
	KUNIT_EXPECT_EQ(test, data.dyn_size, size);
	KUNIT_EXPECT_TRUE(test, data.sample_flags & PERF_SAMPLE_CALLCHAIN);
	perf_sample_put_callchain(&data);
	event->prog = NULL;
}
#endif

/* The task exits after perf_event_open() has checked that it does not. */
static void test_installed_after_exit(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};
	struct perf_event_spec spec = {
		.attr = &attr, .cpu = -1, .task = current, .cgroup_fd = -1,
	};
	struct perf_event_context *ctx = perf_ctx_alloc(current, 0);
	struct perf_event *event = perf_event_alloc(&spec);
	struct perf_event_pmu_context *epc;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	event->ctx = ctx;
	scoped_guard(mutex, &ctx->mutex) {
		KUNIT_ASSERT_EQ(test, perf_install_prepare(ctx, event, &epc), 0);
		ctx->task = TASK_TOMBSTONE;
		perf_install(ctx, event, epc);
	}
	KUNIT_EXPECT_EQ(test, ctx->nr_events, 1);
	perf_event_release_kernel(event);
}

/* A hit that was interrupted by the removal of its event queues the irq_work only now. */
static void queue_late(struct perf_event *event)
{
	atomic_or(IRQ_WORK_BUSY, &event->pending_irq.node.a_flags);
}

/* The irq_work of a child wakes the waiters of its parent, which has no other user any more. */
static void test_late_work_of_a_child(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};
	struct perf_event_spec spec = {
		.attr = &attr, .cpu = -1, .task = current, .cgroup_fd = -1,
	};
	struct perf_event_context *ctx = perf_ctx_alloc(current, 0);
	struct perf_event *child;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	spec.parent = perf_event_alloc(&spec);
	KUNIT_ASSERT_FALSE(test, IS_ERR(spec.parent));
	child = perf_event_alloc(&spec);
	KUNIT_ASSERT_FALSE(test, IS_ERR(child));
	/* The memory of the parent holds a reference. */
	perf_ctx_get(ctx);
	spec.parent->ctx = ctx;
	child->destroy = queue_late;
	perf_event_put(child);
	perf_event_put(spec.parent);

	for (int i = 0; i < 4; i++)
		rcu_barrier();
	KUNIT_EXPECT_EQ(test, refcount_read(&ctx->refcount), 2);
	atomic_andnot(IRQ_WORK_BUSY, &child->pending_irq.node.a_flags);
	for (int i = 0; i < 20 && refcount_read(&ctx->refcount) > 1; i++)
		rcu_barrier();
	KUNIT_EXPECT_EQ(test, refcount_read(&ctx->refcount), 1);
	perf_ctx_put(ctx);
}

/* KVM sets attr.sample_period of its running events, and nothing excludes 0. */
static void test_period_of_zero(struct kunit *test)
{
	struct fake_pmu *f = test->priv;
	struct perf_event_attr attr = fake_pmu_attr(f, FAKE_ALL);
	struct perf_event *event;

	attr.sample_period = 1 << 30;
	event = fake_pmu_open(test, &attr, NULL);
	KUNIT_EXPECT_FALSE(test, list_empty(&event->freq_entry));
	event->attr.sample_period = 0;
	perf_event_disable(event);
	KUNIT_EXPECT_TRUE(test, list_empty(&event->freq_entry));
	list_del_init(&event->freq_entry);
}

static struct kunit_case event_cases[] = {
#ifdef CONFIG_MODULE_UNLOAD
	KUNIT_CASE(test_module_of_a_group),
#endif
#ifdef CONFIG_MODULES
	KUNIT_CASE(test_module_unload),
#endif
#ifdef CONFIG_BPF_SYSCALL
	KUNIT_CASE(test_program_needs_the_chain),
	KUNIT_CASE(test_program_keeps_the_chain),
#endif
	KUNIT_CASE(test_period_of_zero),
	KUNIT_CASE(test_installed_after_exit),
	KUNIT_CASE(test_late_work_of_a_child),
	KUNIT_CASE(test_pmu_context_used_again),
	KUNIT_CASE(test_refused_is_not_destroyed),
	KUNIT_CASE(test_refused_by_core_is_destroyed),
	{ }
};

static struct kunit_suite event_suite = {
	.name		= "perf_event",
	.init		= fake_pmu_begin,
	.exit		= fake_pmu_end,
	.test_cases	= event_cases,
};

kunit_test_suite(event_suite);
