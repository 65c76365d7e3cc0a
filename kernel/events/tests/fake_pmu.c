// SPDX-License-Identifier: GPL-2.0
/* A PMU for tests: four counters, each event with a mask of those that can count it. */
#include <linux/bitops.h>
#include <linux/slab.h>

#include "fake_pmu.h"

static struct fake_pmu *to_fake(struct pmu *pmu)
{
	return container_of(pmu, struct fake_pmu, pmu);
}

static void fake_destroy(struct perf_event *event)
{
	to_fake(event->pmu)->destroyed++;
}

static int fake_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	event->hw.idx = -1;
	if (event->attr.config1)
		event->destroy = fake_destroy;
	return event->attr.config1 == FAKE_REFUSES ? -EINVAL : 0;
}

static void fake_nop(struct perf_event *event, int flags)
{
}

static void fake_update(const struct fake_pmu *f, struct perf_event *event)
{
	u64 value = f->value[event->hw.idx];

	local64_add(value - local64_xchg(&event->hw.prev_count, value), &event->count);
}

static void fake_read(struct perf_event *event)
{
	if (event->hw.idx >= 0)
		fake_update(to_fake(event->pmu), event);
}

bool fake_pmu_try_assign(const u64 *mask, unsigned int nr, unsigned int taken, int *idx)
{
	if (!nr)
		return true;
	for (int i = 0; i < FAKE_COUNTERS; i++) {
		if (taken & BIT(i) || !(*mask & BIT(i)))
			continue;
		*idx = i;
		if (fake_pmu_try_assign(mask + 1, nr - 1, taken | BIT(i), idx + 1))
			return true;
	}
	return false;
}

static int fake_assign(struct pmu *pmu, struct perf_schedule *s, unsigned int from)
{
	u64 mask[FAKE_COUNTERS];
	int idx[FAKE_COUNTERS];

	if (s->nr > FAKE_COUNTERS)
		return -ENOSPC;
	for (int i = 0; i < s->nr; i++)
		mask[i] = s->slot[i].event->attr.config;
	if (!fake_pmu_try_assign(mask, s->nr, 0, idx))
		return -ENOSPC;
	for (int i = 0; i < s->nr; i++)
		s->slot[i].idx = idx[i];
	return 0;
}

static void fake_put_on(struct fake_pmu *f, struct perf_event *event, int idx)
{
	local64_set(&event->hw.prev_count, f->value[idx]);
	event->hw.idx = idx;
	event->hw.state = 0;
	f->running[idx] = event;
}

static void fake_take_off(struct fake_pmu *f, int idx)
{
	struct perf_event *event = f->running[idx];

	fake_update(f, event);
	event->hw.idx = -1;
	f->running[idx] = NULL;
}

static void fake_load(struct pmu *pmu, struct perf_schedule *s)
{
	struct perf_event *next[FAKE_COUNTERS] = { };
	struct fake_pmu *f = to_fake(pmu);

	if (smp_processor_id() != FAKE_CPU)
		return;
	for (int i = 0; i < s->nr; i++)
		next[s->slot[i].idx] = s->slot[i].event;
	/* First: an event can move to a counter that another one leaves. */
	for (int idx = 0; idx < FAKE_COUNTERS; idx++)
		if (f->running[idx] && f->running[idx] != next[idx])
			fake_take_off(f, idx);
	for (int idx = 0; idx < FAKE_COUNTERS; idx++)
		if (next[idx] && f->running[idx] != next[idx])
			fake_put_on(f, next[idx], idx);
	f->loaded.nr = s->nr;
	memcpy(f->loaded.slot, s->slot, s->nr * sizeof(s->slot[0]));
	f->loads++;
}

static void fake_save(struct pmu *pmu, const struct perf_schedule *s, u64 mask,
		      const struct task_struct *next)
{
	if (smp_processor_id() != FAKE_CPU)
		return;
	for (; mask; mask &= mask - 1)
		fake_take_off(to_fake(pmu), s->slot[__ffs64(mask)].idx);
}

int fake_pmu_begin(struct kunit *test)
{
	struct fake_pmu *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int ret;

	if (!f)
		return -ENOMEM;
	f->pmu.task_ctx_nr = perf_hw_context;
	f->pmu.capabilities = PERF_PMU_CAP_NO_INTERRUPT;
	f->pmu.hrtimer_interval_ms = FAKE_LONG_MS;
	f->pmu.event_init = fake_init;
	f->pmu.start = fake_nop;
	f->pmu.stop = fake_nop;
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

void fake_pmu_end(struct kunit *test)
{
	struct fake_pmu *f = test->priv;

	if (!f)
		return;
	fake_pmu_close_all(f);
	perf_pmu_unregister(&f->pmu);
	kfree(f);
}

struct perf_event_attr fake_pmu_attr(struct fake_pmu *f, u64 mask)
{
	return (struct perf_event_attr){
		.type = f->pmu.type,
		.size = sizeof(struct perf_event_attr),
		.config = mask,
	};
}

struct perf_event *fake_pmu_try_open(struct kunit *test, struct perf_event_attr *attr,
				     struct perf_event *leader)
{
	struct perf_event_spec spec = {
		.attr = attr, .cpu = FAKE_CPU, .leader = leader, .cgroup_fd = -1,
	};
	struct perf_event *event = perf_event_alloc(&spec);
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;
	int ret;

	if (IS_ERR(event))
		return event;
	ctx = perf_event_find_context(event);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ctx));
	event->ctx = ctx;
	mutex_lock(&ctx->mutex);
	ret = perf_sched_group_fits(leader ?: event, event);
	if (!ret)
		ret = perf_install_prepare(ctx, event, &epc);
	if (!ret)
		perf_install(ctx, event, epc);
	mutex_unlock(&ctx->mutex);
	if (ret) {
		perf_event_free(event);
		return ERR_PTR(ret);
	}
	return event;
}

struct perf_event *fake_pmu_open(struct kunit *test, struct perf_event_attr *attr,
				 struct perf_event *leader)
{
	struct fake_pmu *f = test->priv;
	struct perf_event *event = fake_pmu_try_open(test, attr, leader);

	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	KUNIT_ASSERT_LT(test, f->nr, FAKE_MAX_EVENTS);
	f->event[f->nr++] = event;
	return event;
}

struct perf_event *fake_pmu_open_mask(struct kunit *test, u64 mask, struct perf_event *leader)
{
	struct perf_event_attr attr = fake_pmu_attr(test->priv, mask);

	return fake_pmu_open(test, &attr, leader);
}

struct perf_event *fake_pmu_open_group(struct kunit *test, unsigned int members)
{
	struct perf_event *leader = fake_pmu_open_mask(test, FAKE_ALL, NULL);

	while (--members)
		fake_pmu_open_mask(test, FAKE_ALL, leader);
	return leader;
}

void fake_pmu_close_all(struct fake_pmu *f)
{
	while (f->nr)
		perf_event_release_kernel(f->event[--f->nr]);
}
