// SPDX-License-Identifier: GPL-2.0
/*
 * Schedules of counter PMUs.
 *
 * A schedule lists the events that run together and their counters. It is compiled from the queues
 * of all contexts on the CPU: the CPU's own, those of the running task's cgroups, and the task's.
 * It is used again for as long as none of these queues changes. There are two kinds:
 *
 *   base schedule	runs while the task has no events for the PMU. It is kept in the PMU context
 *			of the innermost cgroup with events for the PMU, or in the CPU's own.
 *   task schedule	base and task together; kept in the task's PMU context. If the CPU side has
 *			no events it depends on the task alone and is valid on every CPU.
 *
 * Order of placing: pinned groups of the CPU's own context, of cgroups, of the task; then flexible
 * groups, those of one context in the order of its queue. Which context's flexible groups are first
 * changes with each slice. A group that is more than one round ahead of the first one placed waits
 * even if counters are free: this bound makes the shares of large and small groups equal in the
 * long run (rounds: group_queue.c).
 *
 * A pinned group that finds no counters fails; a flexible one waits for the rotation.
 *
 * Locks: those of all contexts on the CPU, interrupts off. To load a task's schedule that is valid,
 * perf_sched_load() needs the task's alone.
 */
#include <linux/slab.h>

#include "sched.h"

/*
 * The search of a queue for groups that fit is limited: the cost of a rotation must not depend on
 * the number of groups that wait. What is left of the queue waits for the next slice. A single
 * event that finds no counter costs more of the limit than a group, which may fail by its size.
 */
#define SCHED_SEARCH_MAX	48
#define SCHED_GROUP_MISS	8
#define SCHED_SINGLE_MISS	16
#define SCHED_SKIP		1

/**
 * struct sched_search - the search of a queue
 * @spent: part of SCHED_SEARCH_MAX that is used up
 * @nr: single events that have found no counter
 * @single: those events
 */
struct sched_search {
	unsigned int		spent;
	unsigned int		nr;
	const struct perf_event	*single[SCHED_SEARCH_MAX / SCHED_SINGLE_MISS];
};

/**
 * struct sched_compilation - a schedule that is being compiled
 * @pmu: PMU
 * @s: resulting schedule
 * @cpu: CPU on which the schedule is to run
 * @nr_pinned: slots of pinned groups, which are the first
 * @exclusive: @s has an exclusive group; no other group may be added
 * @full: pmu::sched_assign has failed because all counters are in use
 * @overcommitted: some flexible group was left out
 */
struct sched_compilation {
	struct pmu		*pmu;
	struct perf_schedule	*s;
	int			cpu;
	unsigned int		nr_pinned;
	bool			exclusive;
	bool			full;
	bool			overcommitted;
};

static DEFINE_PER_CPU(struct perf_schedule, sched_scratch);
static DEFINE_PER_CPU(u64, sched_last_mark);

/*
 * Marks distinguish the groups of a new schedule from others. A task's groups keep theirs when the
 * task moves to another CPU, so the ranges of two CPUs must not overlap.
 */
static u64 sched_first_mark(int cpu)
{
	return (u64)cpu << 40;
}

static __always_inline bool sched_add_member(struct sched_compilation *c, struct perf_event *event)
{
	struct perf_schedule *s = c->s;

	if (event->pmu != c->pmu || event->state < PERF_EVENT_STATE_INACTIVE)
		return true;
	if (s->nr == PERF_SCHED_SLOTS)
		return false;
	s->slot[s->nr].event = event;
	s->slot[s->nr].idx = -1;
	s->nr++;
	return true;
}

static bool sched_add_siblings(struct sched_compilation *c, struct perf_event *leader)
{
	struct perf_event *sibling;

	for_each_group_sibling(sibling, leader) {
		if (!sched_add_member(c, sibling))
			return false;
	}
	return true;
}

static bool sched_add_group(struct sched_compilation *c, struct perf_event *leader)
{
	if (!sched_add_member(c, leader))
		return false;
	return !leader->nr_siblings || sched_add_siblings(c, leader);
}

/* A bit for each slot. */
static u64 sched_slots(const struct perf_schedule *s)
{
	return s->nr ? GENMASK_ULL(s->nr - 1, 0) : 0;
}

/* The slots from @from on, if there are any, are the task's. */
static void sched_own_slots(struct perf_schedule *s, unsigned int from)
{
	if (s->nr > from)
		s->task_mask |= GENMASK_ULL(s->nr - 1, from);
}

/* Drops all slots from @nr on. */
static void sched_truncate(struct perf_schedule *s, unsigned int nr)
{
	s->nr = nr;
	s->stamp = 0;
	if (nr < PERF_SCHED_SLOTS)
		s->task_mask &= BIT_ULL(nr) - 1;
}

/* Assigns counters to a group; false if it does not fit beside the groups placed before it. */
static bool sched_place_group(struct sched_compilation *c, struct perf_event *leader)
{
	struct perf_schedule *s = c->s;
	unsigned int from = s->nr;
	bool added = sched_add_group(c, leader);
	int ret = -ENOSPC;

	/* A group without an enabled member of the PMU has no slot by which it would be started. */
	if (added && s->nr == from)
		return leader->state != PERF_EVENT_STATE_INACTIVE || !perf_group_start(leader);
	if (added && !c->exclusive && !(leader->attr.exclusive && from))
		ret = c->pmu->sched_assign(c->pmu, s, from);
	if (ret) {
		c->full = ret == -EBUSY;
		sched_truncate(s, from);
		return false;
	}
	c->exclusive = leader->attr.exclusive;
	return true;
}

static bool sched_may_run_here(const struct sched_compilation *c, const struct perf_event *leader)
{
	return leader->cpu == -1 || leader->cpu == c->cpu;
}

/* A pinned group fails. The schedules of other cgroups on this CPU may still have the group. */
static void sched_fail_pinned(struct perf_event *leader)
{
	perf_group_fail(leader);
	if (!leader->ctx->task)
		perf_this_cpc(leader->pmu_ctx->pmu)->cpu_side_seq++;
}

static void sched_place_pinned(struct sched_compilation *c, struct perf_event_pmu_context *epc)
{
	struct perf_event *leader, *next;

	list_for_each_entry_safe(leader, next, &epc->pinned, pinned_entry) {
		if (sched_may_run_here(c, leader) && !sched_place_group(c, leader))
			sched_fail_pinned(leader);
	}
}

static __always_inline struct perf_event *sched_next_group(struct perf_event_pmu_context *epc,
							   struct perf_event *leader)
{
	return list_is_last(&leader->group_entry, &epc->flexible) ?
	       NULL : list_next_entry(leader, group_entry);
}

/*
 * Adds flexible groups in the order of the queue, without counters yet, up to @room slots. Stops at
 * the first group that needs a decision of its own: one that is bound to another CPU, exclusive,
 * too far ahead, or without a slot, if it has to be started. Returns that group.
 */
static struct perf_event *sched_add_ordinary_groups(struct sched_compilation *c,
						    struct perf_event_pmu_context *epc,
						    unsigned int room)
{
	struct perf_event *leader = perf_group_queue_first(epc);
	struct perf_schedule *s = c->s;
	u64 round = max(epc->round, leader->round);

	for (; leader; leader = sched_next_group(epc, leader)) {
		unsigned int from = s->nr;

		if (!sched_may_run_here(c, leader) || leader->attr.exclusive ||
		    leader->round > round + 1)
			return leader;
		if (!sched_add_group(c, leader) || s->nr > room ||
		    (s->nr == from && leader->state == PERF_EVENT_STATE_INACTIVE)) {
			sched_truncate(s, from);
			return leader;
		}
	}
	return NULL;
}

/*
 * Places as many groups as possible by one call of the driver instead of one for each group. Mostly
 * there are counters for all groups; where there are not, as many slots as in the last schedule are
 * a good guess. Returns the first group that has not been placed.
 */
static struct perf_event *sched_place_batch(struct sched_compilation *c,
					    struct perf_event_pmu_context *epc)
{
	struct perf_event *first = perf_group_queue_first(epc), *rest;
	unsigned int room = PERF_SCHED_SLOTS;
	unsigned int from = c->s->nr;

	if (epc->nr_flexible < 2 || c->exclusive)
		return first;
	if (epc->overcommitted)
		room = epc->sched->nr;
	rest = sched_add_ordinary_groups(c, epc, room);
	if (c->s->nr > from && !c->pmu->sched_assign(c->pmu, c->s, from))
		return rest;
	sched_truncate(c->s, from);
	return first;
}

/* Can the same counters, with the same other registers, count both? */
static bool sched_is_alike(const struct perf_event *event, const struct perf_event *other)
{
	const struct perf_event_attr *a = &event->attr, *b = &other->attr;

	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->config3 == b->config3 &&
	       a->precise_ip == b->precise_ip && a->exclusive == b->exclusive &&
	       a->branch_sample_type == b->branch_sample_type &&
	       !a->sample_period == !b->sample_period;
}

/* Has a single event that is like this one found no counter? */
static bool sched_missed_alike(const struct sched_search *search, const struct perf_event *leader)
{
	if (leader->nr_siblings)
		return false;
	for (unsigned int i = 0; i < search->nr; i++) {
		if (sched_is_alike(search->single[i], leader))
			return true;
	}
	return false;
}

static void sched_note_miss(struct sched_search *search, const struct perf_event *leader)
{
	if (leader->nr_siblings) {
		search->spent += SCHED_GROUP_MISS;
		return;
	}
	search->spent += SCHED_SINGLE_MISS;
	if (search->nr < ARRAY_SIZE(search->single))
		search->single[search->nr++] = leader;
}

/* @event is of the first group that has counters. */
static void sched_set_round(struct perf_event_pmu_context *epc, const struct perf_event *event)
{
	epc->round = max(epc->round, event->group_leader->round);
}

static void sched_place_flexible(struct sched_compilation *c, struct perf_event_pmu_context *epc)
{
	unsigned int from = c->s->nr;
	struct perf_event *leader = sched_place_batch(c, epc);
	struct sched_search search = { .spent = 0 };
	bool placed = c->s->nr > from;

	if (placed)
		sched_set_round(epc, c->s->slot[from].event);
	for (; leader; leader = sched_next_group(epc, leader)) {
		if (!sched_may_run_here(c, leader))
			continue;
		if ((placed && leader->round > epc->round + 1) ||
		    search.spent >= SCHED_SEARCH_MAX || c->full) {
			c->overcommitted = true;
			/*
			 * Pinned events keep out the groups before this one, perhaps for good.
			 * Those of another context do so until it is the turn of this one.
			 */
			if (!placed && from == c->nr_pinned)
				perf_group_queue_pass(epc, leader);
			return;
		}
		if (sched_missed_alike(&search, leader)) {
			search.spent += SCHED_SKIP;
		} else if (!sched_place_group(c, leader)) {
			c->overcommitted = true;
			sched_note_miss(&search, leader);
		} else if (!placed && c->s->nr > from) {
			placed = true;
			sched_set_round(epc, leader);
		}
	}
}

static struct perf_event_pmu_context *sched_cpu_side_epc(struct perf_event_context *ctx,
							 struct pmu *pmu)
{
	return ctx->cgrp ? perf_epc_find(ctx, pmu) : &perf_this_cpc(pmu)->epc;
}

/**
 * perf_sched_base - PMU context that keeps the base schedule of this CPU
 * @pmu: counter PMU
 *
 * Context: interrupts off
 * Return: PMU context of the innermost active cgroup with events for @pmu, else the CPU's own
 */
struct perf_event_pmu_context *perf_sched_base(struct pmu *pmu)
{
	struct perf_event_pmu_context *epc;
	struct perf_event_context *ctx;

	for_each_cgrp_ctx(ctx, this_cpu_ptr(&perf_cpu_context)) {
		epc = perf_epc_find(ctx, pmu);
		/* One without events stays when the last event is closed. */
		if (epc && !list_empty(&epc->counter_entry))
			return epc;
	}
	return &perf_this_cpc(pmu)->epc;
}

typedef void (*sched_place_fn)(struct sched_compilation *c, struct perf_event_pmu_context *epc);

static __always_inline void sched_place_task(struct sched_compilation *c,
					     struct perf_event_pmu_context *epc,
					     sched_place_fn place)
{
	unsigned int from = c->s->nr;

	place(c, epc);
	sched_own_slots(c->s, from);
}

static noinline void sched_place_cpu_side(struct sched_compilation *c,
					  struct perf_event_context *ctx, sched_place_fn place)
{
	struct perf_event_pmu_context *epc = sched_cpu_side_epc(ctx, c->pmu);

	/* The contexts of a CPU that is being taken offline are not active any more. */
	if (epc && ctx->active_cpu >= 0)
		place(c, epc);
}

/* Pinned events of the CPU have precedence over pinned events of cgroups. */
static void sched_place_cpu_side_pinned(struct sched_compilation *c)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	sched_place_cpu_side(c, &cpuctx->ctx, sched_place_pinned);
	for_each_cgrp_ctx(ctx, cpuctx)
		sched_place_cpu_side(c, ctx, sched_place_pinned);
}

/*
 * The contexts from the inside out, the CPU's own as the last one, beginning with number @first
 * modulo their number, so that each is the first one in turn.
 */
static void sched_place_cpu_side_flexible(struct sched_compilation *c, unsigned int first)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;
	unsigned int nr = 1, i = 0;

	for_each_cgrp_ctx(ctx, cpuctx)
		nr++;
	first %= nr;
	for_each_cgrp_ctx(ctx, cpuctx) {
		if (i++ >= first)
			sched_place_cpu_side(c, ctx, sched_place_flexible);
	}
	sched_place_cpu_side(c, &cpuctx->ctx, sched_place_flexible);
	i = 0;
	for_each_cgrp_ctx(ctx, cpuctx) {
		if (i++ < first)
			sched_place_cpu_side(c, ctx, sched_place_flexible);
	}
}

/* Compiles what may run on this CPU now, with the task's @epc or, if that is NULL, without. */
static void sched_compile(struct sched_compilation *c, struct perf_cpu_pmu_context *cpc,
			  struct perf_event_pmu_context *epc)
{
	bool task_first;

	c->s = this_cpu_ptr(&sched_scratch);
	c->s->nr = 0;
	c->s->user = false;
	c->s->task_mask = 0;
	c->s->stamp = 0;
	c->cpu = smp_processor_id();

	cpc->cpu_supported = perf_pmu_supports_cpu(c->pmu, c->cpu);
	if (!cpc->cpu_supported)
		return;
	c->s->user = epc && epc->ctx->nr_user;
	if (!cpc->nr_cpu_side) {
		if (epc) {
			sched_place_pinned(c, epc);
			c->nr_pinned = c->s->nr;
			sched_place_flexible(c, epc);
			sched_own_slots(c->s, 0);
		}
		return;
	}
	sched_place_cpu_side_pinned(c);
	if (epc)
		sched_place_task(c, epc, sched_place_pinned);
	c->nr_pinned = c->s->nr;
	task_first = epc && epc->slice_nr % 2;
	if (task_first)
		sched_place_task(c, epc, sched_place_flexible);
	sched_place_cpu_side_flexible(c, perf_sched_base(c->pmu)->slice_nr);
	if (epc && !task_first)
		sched_place_task(c, epc, sched_place_flexible);
}

static void sched_copy(struct perf_schedule *to, const struct perf_schedule *from)
{
	memcpy(to, from, offsetof(struct perf_schedule, slot) + from->nr * sizeof(from->slot[0]));
}

/* A mark that no group has yet. */
static u64 sched_next_mark(void)
{
	return sched_first_mark(smp_processor_id()) + __this_cpu_inc_return(sched_last_mark);
}

/* Gives @mark to the leaders of some slots. */
static __always_inline void sched_mark_leaders(const struct perf_schedule *s, u64 slots, u64 mark)
{
	for (; slots; slots &= slots - 1)
		s->slot[__ffs64(slots)].event->group_leader->sched_mark = mark;
}

/**
 * perf_sched_group_needs_slots - does a group need counters?
 * @pmu: hardware PMU that schedules the group
 * @leader: leader of the group
 *
 * Context: ctx->lock
 * Return: false if no member of @pmu is enabled; then the group runs as long as it is enabled
 */
noinline bool perf_sched_group_needs_slots(const struct pmu *pmu, const struct perf_event *leader)
{
	const struct perf_event *sibling;

	if (leader->pmu == pmu || leader->state < PERF_EVENT_STATE_INACTIVE)
		return true;
	for_each_group_sibling(sibling, leader) {
		if (sibling->pmu == pmu && sibling->state >= PERF_EVENT_STATE_INACTIVE)
			return true;
	}
	return false;
}

/* perf_sched_group_needs_slots() for loops: most leaders are events of the PMU. */
static __always_inline bool sched_needs_slots(const struct pmu *pmu,
					      const struct perf_event *leader)
{
	return leader->pmu == pmu || perf_sched_group_needs_slots(pmu, leader);
}

/* perf_group_stop() for a loop, at @now by the context's clock: most groups are one event. */
static __always_inline void sched_stop_group(struct perf_event *leader, u64 now)
{
	if (!perf_is_lone_counter(leader) || leader->state != PERF_EVENT_STATE_ACTIVE ||
	    !list_empty(&leader->freq_entry)) {
		perf_group_stop(leader);
		return;
	}
	perf_leader_add_time(leader, now);
	perf_event_set_active(leader, false);
	perf_group_account(leader);
}

static void sched_stop_task_groups(struct pmu *pmu, const struct perf_schedule *old,
				   const struct perf_schedule *new, u64 now)
{
	/* Events in the CPU side's slots may have been freed since @old was compiled. */
	u64 mark = sched_next_mark(), todo = old->task_mask;

	sched_mark_leaders(new, new->task_mask, mark);
	for (; todo; todo &= todo - 1) {
		struct perf_event *leader = old->slot[__ffs64(todo)].event->group_leader;

		if (leader->sched_mark != mark && sched_needs_slots(pmu, leader))
			sched_stop_group(leader, now);
	}
}

static noinline void sched_drop_slot(struct perf_schedule *s, unsigned int i)
{
	u64 below = BIT_ULL(i) - 1;

	s->nr--;
	s->stamp = 0;
	memmove(&s->slot[i], &s->slot[i + 1], (s->nr - i) * sizeof(s->slot[0]));
	s->task_mask = (s->task_mask & below) | (s->task_mask >> 1 & ~below);
}

/* Drops a stopped group from a schedule. Returns whether it had slots. */
static noinline bool sched_drop_group(struct perf_schedule *s, const struct perf_event *leader)
{
	bool had = false;

	for (unsigned int i = s->nr; i--;) {
		if (s->slot[i].event->group_leader == leader) {
			sched_drop_slot(s, i);
			had = true;
		}
	}
	return had;
}

/*
 * A group has counters, but another member of it could not be added, such as a trace that has no
 * buffer or a PMU that is in use. Drops the group's slots. Returns true if the group waits for the
 * next slice, false if it is pinned and has failed.
 */
static noinline bool sched_start_failed(struct perf_schedule *s, struct perf_event *leader)
{
	sched_drop_group(s, leader);
	if (leader->attr.pinned) {
		sched_fail_pinned(leader);
		return false;
	}
	perf_group_queue_fail(leader);
	return true;
}

/* perf_group_start() for a loop, at @now by the context's clock. */
static __always_inline int sched_start_group(struct perf_event *leader, u64 now)
{
	if (!perf_is_lone_counter(leader) || is_sampling_event(leader))
		return perf_group_start(leader);
	perf_leader_add_time(leader, now);
	perf_event_set_active(leader, true);
	return 0;
}

/*
 * Stops the task's groups that are in @epc's last schedule only, and starts those that are in the
 * new one.
 */
static void sched_change_task_groups(struct perf_event_pmu_context *epc,
				     struct sched_compilation *c)
{
	const struct perf_schedule *old = epc->sched;
	struct perf_schedule *new = c->s;
	u64 now = perf_ctx_time(epc->ctx);
	unsigned int i = 0;

	/* All groups stop and start at one time. */
	lockdep_assert(epc->ctx->frozen);

	if (old->nr)
		sched_stop_task_groups(c->pmu, old, new, now);
	while (i < new->nr) {
		struct perf_event *event = new->slot[i].event, *leader = event->group_leader;

		/* A group that could not start has lost its slots: the next one is in slot i. */
		if (event->state == PERF_EVENT_STATE_INACTIVE && (new->task_mask & BIT_ULL(i)) &&
		    unlikely(sched_start_group(leader, now)))
			c->overcommitted |= sched_start_failed(new, leader);
		else
			i++;
	}
}

static void sched_stop_cpu_side(struct pmu *pmu, struct perf_cpu_pmu_context *cpc,
				const struct perf_schedule *new)
{
	u64 mark = sched_next_mark();

	sched_mark_leaders(new, sched_slots(new) & ~new->task_mask, mark);
	for (int i = 0; i < cpc->nr_cpu_side_running; i++) {
		if (cpc->cpu_side[i]->sched_mark != mark &&
		    perf_sched_group_needs_slots(pmu, cpc->cpu_side[i]))
			perf_group_stop(cpc->cpu_side[i]);
	}
	cpc->nr_cpu_side_running = 0;
}

/* Makes the CPU side's groups in the schedule of @epc, the task's or the base, the running ones. */
static void sched_change_cpu_side(struct perf_cpu_pmu_context *cpc,
				  struct perf_event_pmu_context *epc)
{
	struct perf_schedule *new = epc->sched;
	struct perf_event *last = NULL;
	unsigned int i = 0;

	if (cpc->nr_cpu_side_running)
		sched_stop_cpu_side(epc->pmu, cpc, new);
	if (!cpc->nr_cpu_side)
		return;
	while (i < new->nr) {
		struct perf_event *event = new->slot[i].event, *leader = event->group_leader;

		if (new->task_mask & BIT_ULL(i)) {
			i++;
			continue;
		}
		if (event->state == PERF_EVENT_STATE_INACTIVE &&
		    unlikely(perf_group_start(leader))) {
			epc->overcommitted |= sched_start_failed(new, leader);
			continue;
		}
		i++;
		/* The members of a group have adjacent slots. */
		if (leader != last)
			cpc->cpu_side[cpc->nr_cpu_side_running++] = leader;
		last = leader;
	}
}

/* Does the CPU side's part of @s differ from @base? */
static bool sched_cpu_side_differs(const struct perf_schedule *s, const struct perf_schedule *base)
{
	unsigned int n = 0;

	for (int i = 0; i < s->nr; i++) {
		if (s->task_mask & BIT_ULL(i))
			continue;
		if (n == base->nr || s->slot[i].event != base->slot[n].event)
			return true;
		n++;
	}
	return n != base->nr;
}

static bool sched_base_valid(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base)
{
	return base->sched_cpu_side == cpc->cpu_side_seq && base->sched_cpu == smp_processor_id();
}

static void sched_compile_base(struct perf_cpu_pmu_context *cpc,
			       struct perf_event_pmu_context *base)
{
	struct sched_compilation c = { .pmu = base->pmu };

	if (cpc->nr_cpu_side) {
		sched_compile(&c, cpc, NULL);
		sched_copy(base->sched, c.s);
	} else {
		sched_truncate(base->sched, 0);
	}
	if (!base->overcommitted)
		base->slice_start = perf_ctx_read_time(base->ctx);
	base->overcommitted = c.overcommitted;
	base->sched_cpu_side = cpc->cpu_side_seq;
	base->sched_cpu = smp_processor_id();
}

/* A task's schedule is valid until its own queues or the CPU side change. */
static bool sched_task_valid(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	if (epc->sched_seq != epc->seq)
		return false;
	if (!cpc->nr_cpu_side)
		return epc->sched_cpu_side == cpc->alone_seq &&
		       (epc->sched_cpu == -1 || epc->sched_cpu == smp_processor_id());
	return epc->sched_cpu_side == cpc->cpu_side_seq &&
	       epc->sched_base == perf_sched_base(epc->pmu);
}

/* Does the schedule of @epc, a task's or the base, match the queues on this CPU? */
static bool sched_valid(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	return epc->ctx->task ? sched_task_valid(cpc, epc) : sched_base_valid(cpc, epc);
}

/**
 * perf_sched_slice_expired - has a schedule had the CPU for about one interval?
 * @cpc: PMU on this CPU
 * @epc: PMU context of the running task, or of the base; overcommitted
 *
 * The interval is counted by the context's clock, so it may consist of several short runs.
 *
 * Context: @epc's ctx->lock
 * Return: true if at least 7/8 of the multiplexing interval have passed since the slice started
 */
bool perf_sched_slice_expired(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	s64 interval = ktime_to_ns(cpc->timer_interval);
	u64 least = interval - perf_slice_tolerance(interval);

	lockdep_assert_held(&epc->ctx->lock);
	return perf_ctx_time(epc->ctx) - epc->slice_start >= least;
}

/**
 * perf_sched_rotate - begin a new slice
 * @cpc: PMU on this CPU
 * @epc: PMU context of the running task, or of the base
 *
 * The groups that ran are accounted, which moves them back in their queues, and the schedule
 * becomes invalid. The caller loads the next one.
 *
 * Context: all contexts on the CPU locked
 */
void perf_sched_rotate(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	const struct perf_schedule *s = epc->sched;
	u64 todo = sched_slots(s);

	lockdep_assert_held(&epc->ctx->lock);
	/* A schedule that is invalid may refer to events of others that have been freed. */
	if (!sched_valid(cpc, epc))
		todo = epc->ctx->task ? s->task_mask : 0;
	for (; todo; todo &= todo - 1) {
		struct perf_event *leader = s->slot[__ffs64(todo)].event->group_leader;

		perf_leader_update_time(leader);
		perf_group_account(leader);
	}
	epc->slice_start = perf_ctx_read_time(epc->ctx);
	epc->seq++;
	if (cpc->nr_cpu_side) {
		/*
		 * The first one placed takes counters from the others: exchange them as well. Not
		 * by a number of the CPU's, because tasks can take turns at each end of a slice.
		 * The CPU side takes its own turns when it is first.
		 */
		if (++epc->slice_nr % 2 == 0 && epc->ctx->task)
			perf_sched_base(epc->pmu)->slice_nr++;
		cpc->cpu_side_seq++;
	}
}

static void sched_compile_task(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	struct perf_event_pmu_context *base = cpc->nr_cpu_side ? perf_sched_base(epc->pmu) : NULL;
	struct sched_compilation c = { .pmu = epc->pmu };

	if (base && !sched_base_valid(cpc, base))
		sched_compile_base(cpc, base);

	sched_compile(&c, cpc, epc);
	sched_change_task_groups(epc, &c);
	epc->overrides_base = base && sched_cpu_side_differs(c.s, base->sched);
	sched_copy(epc->sched, c.s);
	if (!epc->overcommitted)
		epc->slice_start = perf_ctx_read_time(epc->ctx);
	epc->overcommitted = c.overcommitted;
	epc->sched_seq = epc->seq;
	epc->sched_cpu_side = base ? cpc->cpu_side_seq : cpc->alone_seq;
	epc->sched_base = base;
	epc->sched_cpu = epc->ctx->nr_bound ? smp_processor_id() : -1;
}

/**
 * perf_sched_changed - invalidate the schedules that depend on a PMU context
 * @epc: PMU context of a counter PMU; its queues, or what is allowed in them, have changed
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_changed(struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	epc->seq++;
	if (!epc->ctx->task)
		per_cpu_ptr(epc->pmu->cpu_pmu_context, epc->ctx->cpu)->cpu_side_seq++;
}

/* Invalidates, and if the context is active compiles and loads a new schedule at once. */
static void sched_update(struct perf_event_pmu_context *epc)
{
	perf_sched_changed(epc);
	if (epc->ctx->active_cpu >= 0)
		perf_sched_reload(epc->pmu);
}

/**
 * perf_sched_drop_event - drop an event from its task's schedule
 * @event: event that leaves its context
 *
 * A task's schedule is compiled the next time the task runs. Until then the old one, from which the
 * compiler takes the groups to stop, must not refer to the event. A base schedule that is invalid
 * is never read, so events of the CPU side need not be dropped.
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_drop_event(struct perf_event *event)
{
	struct perf_schedule *s = event->pmu_ctx->sched;

	lockdep_assert_held(&event->ctx->lock);
	if (!event->ctx->task || !s)
		return;
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->slot[i].event == event) {
			sched_drop_slot(s, i);
			return;
		}
	}
}

/**
 * perf_sched_invalidate_user - stop user space from reading a PMU's counters
 * @epc: PMU context that has lost its last event, or of a context that has lost the last event
 *	that user space may read
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_invalidate_user(struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	if (!epc->sched->user)
		return;
	epc->sched->user = false;
	sched_update(epc);
}

static void sched_arm_rotation(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	if (epc->overcommitted)
		perf_rotate_arm(cpc);
}

static __always_inline void sched_apply_base(struct perf_cpu_pmu_context *cpc,
					     struct perf_event_pmu_context *base)
{
	if (!cpc->cpu_supported)
		return;
	sched_change_cpu_side(cpc, base);
	cpc->base_overridden = false;
	base->pmu->sched_load(base->pmu, base->sched);
	sched_arm_rotation(cpc, base);
}

/* The rotation timer rarely interrupts a cgroup with tasks that run only for short moments. */
static void sched_end_base_slice(struct perf_cpu_pmu_context *cpc,
				 struct perf_event_pmu_context *base)
{
	if (unlikely(base->overcommitted) && perf_sched_slice_expired(cpc, base))
		perf_sched_rotate(cpc, base);
}

/**
 * perf_sched_load_again - load the base schedule if it is still valid
 * @cpc: PMU on this CPU
 * @base: PMU context that keeps the schedule
 *
 * A slice that has expired is ended, which makes the schedule invalid.
 *
 * Context: CPU side locked; the task on this CPU has no events for the PMU
 * Return: true if the schedule was loaded, false if it has to be compiled first
 */
noinline bool perf_sched_load_again(struct perf_cpu_pmu_context *cpc,
				    struct perf_event_pmu_context *base)
{
	lockdep_assert_held(&base->ctx->lock);
	sched_end_base_slice(cpc, base);
	if (!sched_base_valid(cpc, base))
		return false;
	sched_apply_base(cpc, base);
	return true;
}

/* CPU side locked. */
static noinline void sched_load_base(struct perf_cpu_pmu_context *cpc, struct pmu *pmu)
{
	struct perf_event_pmu_context *base = perf_sched_base(pmu);

	while (!perf_sched_load_again(cpc, base))
		sched_compile_base(cpc, base);
}

/* Task's context and CPU side locked. */
static noinline void sched_load_task(struct perf_cpu_pmu_context *cpc,
				     struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	if (!sched_task_valid(cpc, epc))
		sched_compile_task(cpc, epc);
	if (!cpc->cpu_supported)
		return;
	sched_change_cpu_side(cpc, epc);
	cpc->base_overridden = epc->overrides_base;
	epc->pmu->sched_load(epc->pmu, epc->sched);
	sched_arm_rotation(cpc, epc);
}

/**
 * perf_sched_load - load the schedule of a task that is switched in
 * @epc: the task's PMU context for a counter PMU
 *
 * Every context switch of a counted task calls this. In steady state it is a few comparisons and
 * the driver's load.
 *
 * Context: interrupts off, @epc's ctx->lock held, CPU side not locked
 */
void perf_sched_load(struct perf_event_pmu_context *epc)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);
	/* The rotation timer rarely interrupts a task that runs only for short moments. */
	bool expired = unlikely(epc->overcommitted) && perf_sched_slice_expired(cpc, epc);

	lockdep_assert_held(&epc->ctx->lock);
	if (likely(!expired && sched_task_valid(cpc, epc) && !epc->overrides_base &&
		   !cpc->base_overridden)) {
		if (epc->sched->nr || epc->sched->user || cpc->load_empty)
			epc->pmu->sched_load(epc->pmu, epc->sched);
		if (unlikely(epc->overcommitted))
			sched_arm_rotation(cpc, epc);
		return;
	}
	perf_cpu_side_lock();
	if (expired)
		perf_sched_rotate(cpc, epc);
	sched_load_task(cpc, epc);
	perf_cpu_side_unlock();
}

/**
 * perf_sched_load_base - load the base schedule when a task is switched out
 * @cpc: PMU on this CPU
 * @pmu: the same PMU
 *
 * Context: interrupts off, CPU side not locked
 */
void perf_sched_load_base(struct perf_cpu_pmu_context *cpc, struct pmu *pmu)
{
	perf_cpu_side_lock();
	sched_load_base(cpc, pmu);
	perf_cpu_side_unlock();
}

/**
 * perf_sched_reload - load the schedule that is due on this CPU, compiling it if need be
 * @pmu: counter PMU
 *
 * Context: all contexts on this CPU locked
 */
void perf_sched_reload(struct pmu *pmu)
{
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	struct perf_event_pmu_context *epc = task_ctx ? perf_epc_find(task_ctx, pmu) : NULL;
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(pmu);

	lockdep_assert_held(&this_cpu_ptr(&perf_cpu_context)->ctx.lock);
	if (epc && !list_empty(&epc->counter_entry))
		sched_load_task(cpc, epc);
	else
		sched_load_base(cpc, pmu);
}

/**
 * perf_sched_base_left - act on the last event of a PMU that leaves a cgroup
 * @epc: PMU context without events
 *
 * If it kept the base schedule, another one does from now on. The rotation timer looks there for
 * groups that wait, and would not find those that were left out of @epc's last schedule.
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_base_left(struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	if (epc->overcommitted && epc->ctx->cgrp && epc->ctx->active_cpu >= 0)
		perf_sched_reload(epc->pmu);
}

/**
 * perf_sched_start_without_slots - start a group that needs no counter, and so waits for no turn
 * @leader: leader of a group; nothing is done if it runs, is not queued, or needs a counter
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_start_without_slots(struct perf_event *leader)
{
	lockdep_assert_held(&leader->ctx->lock);
	if (leader->state == PERF_EVENT_STATE_INACTIVE && perf_group_queued(leader) &&
	    !perf_sched_group_needs_slots(leader->pmu_ctx->pmu, leader) &&
	    perf_group_may_run(leader))
		perf_group_start(leader);
}

/**
 * perf_sched_group_changed - act on a change of a group on a PMU of any kind
 * @leader: leader of a group that was enabled or disabled, or that an event joined or left; queued
 *	if and only if it is enabled and is not being removed
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_group_changed(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	lockdep_assert_held(&leader->ctx->lock);
	if (!perf_pmu_has_counters(epc->pmu)) {
		perf_adddel_group_changed(leader);
		return;
	}
	perf_sched_start_without_slots(leader);
	sched_update(epc);
}

/*
 * A schedule can be extended by one group without being compiled if every queued group is in it:
 * then the order in which the groups are placed decides nothing. Where groups wait, it can be
 * extended by a group that is placed after all that are in it. The slots are in the order of the
 * queue, those of pinned groups, of which the round is 0, before the others.
 */
static bool sched_is_open(const struct perf_event_pmu_context *epc, const struct perf_event *leader)
{
	const struct perf_schedule *s = epc->sched;

	if (s->nr && s->slot[0].event->group_leader->attr.exclusive)
		return false;
	if (!epc->overcommitted)
		return true;
	return !leader->attr.pinned &&
	       (!s->nr || s->slot[s->nr - 1].event->group_leader->round <= leader->round);
}

/* Is the schedule of @epc, a task's, the one that is loaded, and does no other context matter? */
static bool sched_is_alone(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	return epc->ctx->active_cpu >= 0 && !cpc->nr_cpu_side && !cpc->nr_cpu_side_running &&
	       cpc->cpu_supported && sched_task_valid(cpc, epc);
}

/* @epc's schedule was changed together with its queues. */
static void sched_keep_valid(struct perf_event_pmu_context *epc)
{
	epc->sched_seq = ++epc->seq;
	epc->sched_cpu = epc->ctx->nr_bound ? smp_processor_id() : -1;
	epc->sched->user = epc->ctx->nr_user;
	epc->pmu->sched_load(epc->pmu, epc->sched);
}

/* Adds a group, which is queued, to a schedule, or to the groups that wait. False: compile. */
static bool sched_extend(struct perf_event_pmu_context *epc, struct perf_event *leader)
{
	struct sched_compilation c = {
		.pmu = epc->pmu, .s = epc->sched, .cpu = smp_processor_id(),
	};
	unsigned int from = epc->sched->nr;

	if (leader->attr.exclusive || !sched_may_run_here(&c, leader) ||
	    !sched_is_open(epc, leader))
		return false;
	if (!sched_place_group(&c, leader))
		return epc->overcommitted;
	if (leader->state == PERF_EVENT_STATE_INACTIVE && perf_group_start(leader)) {
		sched_truncate(epc->sched, from);
		return false;
	}
	sched_own_slots(epc->sched, from);
	if (epc->nr_flexible == 1)
		epc->round = max(epc->round, leader->round);
	return true;
}

/* As perf_sched_group_removed(), for a group of a CPU or a cgroup. False: compile. */
static bool sched_reduce_base(struct perf_cpu_pmu_context *cpc, struct perf_event *leader)
{
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	struct pmu *pmu = leader->pmu_ctx->pmu;
	struct perf_event_pmu_context *base;

	if (leader->ctx->active_cpu < 0 || (task_ctx && perf_epc_find(task_ctx, pmu)))
		return false;
	base = perf_sched_base(pmu);
	if (base->overcommitted || !sched_base_valid(cpc, base) ||
	    !sched_drop_group(base->sched, leader))
		return false;
	leader->pmu_ctx->seq++;
	base->sched_cpu_side = ++cpc->cpu_side_seq;
	return perf_sched_load_again(cpc, base);
}

/* As perf_sched_group_removed(), for a group of a task. False: compile. */
static bool sched_reduce_task(struct perf_cpu_pmu_context *cpc, struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;
	bool had;

	if (!sched_is_alone(cpc, epc))
		return false;
	had = sched_drop_group(epc->sched, leader);
	/* A group that was waiting makes no room: the others run on. */
	if (!had && epc->sched->user == !!epc->ctx->nr_user)
		return true;
	if (epc->overcommitted)
		return false;
	sched_keep_valid(epc);
	return true;
}

/**
 * perf_sched_remove_group - perf_sched_group_removed() for a group of counters
 * @leader: as for perf_sched_group_removed()
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_remove_group(struct perf_event *leader)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(leader->pmu_ctx->pmu);

	lockdep_assert_held(&leader->ctx->lock);
	if (!(leader->ctx->task ? sched_reduce_task(cpc, leader) : sched_reduce_base(cpc, leader)))
		sched_update(leader->pmu_ctx);
}

/**
 * perf_sched_add_group - perf_sched_group_added() for a group of counters
 * @leader: as for perf_sched_group_added()
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_add_group(struct perf_event *leader)
{
	struct perf_event_pmu_context *epc = leader->pmu_ctx;

	lockdep_assert_held(&leader->ctx->lock);
	if (!perf_group_queued(leader))
		perf_sched_remove_group(leader);
	else if (epc->ctx->task && sched_is_alone(perf_this_cpc(epc->pmu), epc) &&
		 sched_extend(epc, leader))
		sched_keep_valid(epc);
	else
		perf_sched_group_changed(leader);
}
