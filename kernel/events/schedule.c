// SPDX-License-Identifier: GPL-2.0
/*
 * Schedules of counter PMUs.
 *
 * A schedule says which events run together and on which counters. It is compiled from the queues
 * of everybody who is on the CPU, the CPU's own context, the contexts of the running task's
 * cgroups, and the task's, and it is used again as long as none of their queues changes:
 *
 *   base schedule	what runs when the task has no events here. Kept in the PMU context of the
 *			innermost cgroup that has events for the PMU, or in the CPU's own.
 *   task schedule	base and task together; kept in the task's PMU context. Where the CPU side
 *			has no events it depends on the task alone and holds on every CPU.
 *
 * Order of placing: the CPU's own pinned groups, those of cgroups, the task's; then flexible groups,
 * each context's in the order of its queue. A group that is more than a round ahead of the first
 * one waits even if counters are free: that bound is what makes the shares of large and small
 * groups equal in the long run. Which context's flexible groups go first changes from turn to turn.
 *
 * A pinned group for which there is no room fails; a flexible one waits for the rotation.
 *
 * Locks: those of all contexts concerned, interrupts off, on the CPU.
 */
#include "engine.h"

/* So many groups that do not fit are tried before the rest is left for the next turn. */
#define MISSES_MAX	6

/**
 * struct compile - a schedule in the making
 * @pmu: PMU
 * @s: result
 * @cpu: CPU
 * @exclusive: an exclusive group is in; nothing else may join
 * @full: all counters are taken
 * @overcommitted: some flexible group was left out
 */
struct compile {
	struct pmu		*pmu;
	struct perf_schedule	*s;
	int			cpu;
	bool			exclusive;
	bool			full;
	bool			overcommitted;
};

static DEFINE_PER_CPU(struct perf_schedule, scratch_schedule);
static DEFINE_PER_CPU(u64, schedule_mark);

/* A task's groups take the marks of one CPU to another: each has its own. */
static u64 first_mark(int cpu)
{
	return (u64)cpu << 40;
}

static __always_inline bool add_member(struct compile *c, struct perf_event *event)
{
	struct perf_schedule *s = c->s;

	if (event->pmu != c->pmu || event->state < PERF_EVENT_STATE_INACTIVE)
		return true;
	if (s->nr == PERF_SCHED_SLOTS)
		return false;
	if (event->ctx->task)
		s->task_mask |= BIT_ULL(s->nr);
	s->slot[s->nr].event = event;
	s->slot[s->nr].idx = -1;
	s->nr++;
	return true;
}

static bool add_siblings(struct compile *c, struct perf_event *leader)
{
	struct perf_event *sibling;

	for_each_sibling_event(sibling, leader) {
		if (!add_member(c, sibling))
			return false;
	}
	return true;
}

static __always_inline bool add_members(struct compile *c, struct perf_event *leader)
{
	return add_member(c, leader) && (!leader->nr_siblings || add_siblings(c, leader));
}

/* Leaves the first @nr slots. */
static void truncate(struct perf_schedule *s, unsigned int nr)
{
	s->nr = nr;
	if (nr < PERF_SCHED_SLOTS)
		s->task_mask &= BIT_ULL(nr) - 1;
}

/* Gives a group its counters; false if it does not fit beside those that have theirs. */
static bool place_group(struct compile *c, struct perf_event *leader)
{
	struct perf_schedule *s = c->s;
	unsigned int from = s->nr;
	int ret = -ENOSPC;

	if (c->exclusive || (leader->attr.exclusive && from))
		return false;
	if (add_members(c, leader))
		ret = s->nr > from ? c->pmu->sched_assign(c->pmu, s, from) : 0;
	if (ret) {
		c->full = ret == -EBUSY;
		truncate(s, from);
		return false;
	}
	if (s->nr == from && leader->state == PERF_EVENT_STATE_INACTIVE && perf_group_start(leader))
		return false;			/* software members only */
	c->exclusive = leader->attr.exclusive;
	return true;
}

static bool may_run_here(const struct compile *c, const struct perf_event *leader)
{
	return leader->cpu == -1 || leader->cpu == c->cpu;
}

static void place_pinned(struct compile *c, struct perf_event_pmu_context *epc)
{
	struct perf_event *leader, *next;

	list_for_each_entry_safe(leader, next, &epc->pinned, pinned_entry) {
		if (may_run_here(c, leader) && !place_group(c, leader))
			perf_group_fail(leader);
	}
}

static struct perf_event *first_group(struct perf_event_pmu_context *epc)
{
	return list_first_entry_or_null(&epc->flexible, struct perf_event, group_entry);
}

static __always_inline struct perf_event *next_group(struct perf_event_pmu_context *epc,
						     struct perf_event *leader)
{
	return list_is_last(&leader->group_entry, &epc->flexible) ?
	       NULL : list_next_entry(leader, group_entry);
}

/*
 * Adds flexible groups in order, without counters yet, as long as there is nothing special
 * about them and they fill at most @room slots. A group of software events only is special: whoever
 * places it has to start it. Returns the first group that was not added.
 */
static struct perf_event *add_plain_groups(struct compile *c, struct perf_event_pmu_context *epc,
					   unsigned int room)
{
	struct perf_event *leader = first_group(epc);
	struct perf_schedule *s = c->s;
	u64 round = max(epc->round, leader->round);

	for (; leader; leader = next_group(epc, leader)) {
		unsigned int from = s->nr;

		if (!may_run_here(c, leader) || leader->attr.exclusive || leader->round > round + 1)
			return leader;
		if (!add_members(c, leader) || s->nr == from || s->nr > room) {
			truncate(s, from);
			return leader;
		}
	}
	return NULL;
}

/*
 * One question to the driver instead of one for each group: mostly there are counters for all, and
 * where there are not, it is a good guess that as many fit as did the last time. Returns the first
 * group that has not been placed.
 */
static struct perf_event *place_together(struct compile *c, struct perf_event_pmu_context *epc)
{
	struct perf_event *first = first_group(epc), *rest;
	unsigned int from = c->s->nr;

	if (epc->nr_flexible < 2 || c->exclusive)
		return first;
	rest = add_plain_groups(c, epc, epc->overcommitted ? epc->sched->nr : PERF_SCHED_SLOTS);
	if (c->s->nr > from && !c->pmu->sched_assign(c->pmu, c->s, from))
		return rest;
	truncate(c->s, from);
	return first;
}

static void place_flexible(struct compile *c, struct perf_event_pmu_context *epc)
{
	struct perf_event *first = first_group(epc);
	struct perf_event *leader = place_together(c, epc);
	bool served = leader != first;
	int misses = 0;

	if (served)
		epc->round = max(epc->round, first->round);
	for (; leader; leader = next_group(epc, leader)) {
		if (!may_run_here(c, leader))
			continue;
		if ((served && leader->round > epc->round + 1) || misses >= MISSES_MAX || c->full) {
			c->overcommitted = true;
			return;
		}
		if (!place_group(c, leader)) {
			c->overcommitted = true;
			/* Where one event finds no counter, others like it will not either. */
			misses += leader->nr_siblings ? 1 : MISSES_MAX / 2;
		} else if (!served) {
			served = true;
			epc->round = max(epc->round, leader->round);
		}
	}
}

/* The PMU contexts of the CPU side, from the inside out; the CPU's own comes last. */
static struct perf_event_context *side_next(struct perf_event_context *ctx)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);

	if (!ctx)
		return cpuctx->cgrp_ctx ?: &cpuctx->ctx;
	if (ctx == &cpuctx->ctx)
		return NULL;
	return ctx->cgrp_next ?: &cpuctx->ctx;
}

#define for_each_side_ctx(ctx)	for (ctx = side_next(NULL); ctx; ctx = side_next(ctx))

static struct perf_event_pmu_context *side_epc(struct perf_event_context *ctx, struct pmu *pmu)
{
	return ctx->cgrp ? perf_epc_find(ctx, pmu) : &perf_this_cpc(pmu)->epc;
}

/* Where the base schedule of this CPU is kept now. */
struct perf_event_pmu_context *perf_sched_base(struct pmu *pmu)
{
	struct perf_event_context *ctx = this_cpu_ptr(&perf_cpu_context)->cgrp_ctx;
	struct perf_event_pmu_context *epc;

	for (; ctx; ctx = ctx->cgrp_next) {
		epc = perf_epc_find(ctx, pmu);
		if (epc)
			return epc;
	}
	return &perf_this_cpc(pmu)->epc;
}

static void place_side(struct compile *c, struct perf_event_context *ctx,
		       void (*place)(struct compile *, struct perf_event_pmu_context *))
{
	struct perf_event_pmu_context *epc = side_epc(ctx, c->pmu);

	if (epc && ctx->active_cpu >= 0)	/* a CPU that is going offline is not */
		place(c, epc);
}

/* What is pinned to the CPU does not yield to what a cgroup has pinned. */
static void place_side_pinned(struct compile *c)
{
	struct perf_event_context *own = &this_cpu_ptr(&perf_cpu_context)->ctx, *ctx;

	place_side(c, own, place_pinned);
	for_each_side_ctx(ctx) {
		if (ctx != own)
			place_side(c, ctx, place_pinned);
	}
}

/* Each context is the first one in turn. */
static void place_side_flexible(struct compile *c, unsigned int turn)
{
	struct perf_event_context *ctx;
	unsigned int nr = 0, i = 0;

	for_each_side_ctx(ctx)
		nr++;
	turn %= nr;
	for_each_side_ctx(ctx) {
		if (i++ >= turn)
			place_side(c, ctx, place_flexible);
	}
	i = 0;
	for_each_side_ctx(ctx) {
		if (i++ < turn)
			place_side(c, ctx, place_flexible);
	}
}

/* Compiles what is on this CPU now, with the task's @epc or, if NULL, without. */
static void compile(struct compile *c, struct perf_cpu_pmu_context *cpc,
		    struct perf_event_pmu_context *epc)
{
	c->s = this_cpu_ptr(&scratch_schedule);
	c->s->nr = 0;
	c->s->user = false;
	c->s->task_mask = 0;
	c->cpu = smp_processor_id();

	cpc->serves = perf_pmu_serves_cpu(c->pmu, c->cpu);
	if (!cpc->serves)
		return;
	c->s->user = epc && epc->ctx->nr_user;
	if (!cpc->nr_side) {
		if (epc) {
			place_pinned(c, epc);
			place_flexible(c, epc);
		}
		return;
	}
	place_side_pinned(c);
	if (epc)
		place_pinned(c, epc);
	if (epc && cpc->task_first)
		place_flexible(c, epc);
	place_side_flexible(c, cpc->turn);
	if (epc && !cpc->task_first)
		place_flexible(c, epc);
}

static void copy_schedule(struct perf_schedule *to, const struct perf_schedule *from)
{
	memcpy(to, from, offsetof(struct perf_schedule, slot) + from->nr * sizeof(from->slot[0]));
}

/* A number that no group is marked with yet. */
static u64 next_mark(void)
{
	return first_mark(smp_processor_id()) + __this_cpu_inc_return(schedule_mark);
}

/* Leaders of the slots in (@task) or outside the task's part get @mark. */
static void mark_leaders(const struct perf_schedule *s, bool task, u64 mark)
{
	for (int i = 0; i < s->nr; i++) {
		if (!!(s->task_mask & BIT_ULL(i)) == task)
			s->slot[i].event->group_leader->sched_mark = mark;
	}
}

static void stop_task_groups(const struct perf_schedule *old, const struct perf_schedule *new)
{
	u64 mark = next_mark();

	mark_leaders(new, true, mark);
	for (int i = 0; i < old->nr; i++) {
		struct perf_event *leader;

		/* The CPU side's slots are as old as @old is; their events may be gone. */
		if (!(old->task_mask & BIT_ULL(i)))
			continue;
		leader = old->slot[i].event->group_leader;
		if (leader->sched_mark != mark)
			perf_group_stop(leader);
	}
}

static void drop_slot(struct perf_schedule *s, unsigned int i)
{
	u64 below = BIT_ULL(i) - 1;

	s->nr--;
	memmove(&s->slot[i], &s->slot[i + 1], (s->nr - i) * sizeof(s->slot[0]));
	s->task_mask = (s->task_mask & below) | (s->task_mask >> 1 & ~below);
}

/*
 * A group has its counters, but another member could not be added: a trace without a buffer to go
 * to, or whose PMU is taken. It gives them back and waits for the next turn. True if it waits.
 */
static bool cannot_start(struct perf_schedule *s, struct perf_event *leader)
{
	for (unsigned int i = s->nr; i--;) {
		if (s->slot[i].event->group_leader == leader)
			drop_slot(s, i);
	}
	if (!leader->attr.pinned)
		return true;
	perf_group_fail(leader);
	return false;
}

/* The task's groups that run change from those in @old to those in the new schedule. */
static void change_task_groups(const struct perf_schedule *old, struct compile *c)
{
	struct perf_schedule *new = c->s;
	unsigned int i = 0;

	if (old->nr)
		stop_task_groups(old, new);
	while (i < new->nr) {
		struct perf_event *event = new->slot[i].event, *leader = event->group_leader;

		/* The next one is in slot i if these have gone. */
		if (event->state == PERF_EVENT_STATE_INACTIVE && (new->task_mask & BIT_ULL(i)) &&
		    unlikely(perf_group_start(leader)))
			c->overcommitted |= cannot_start(new, leader);
		else
			i++;
	}
}

static void stop_side_groups(struct perf_cpu_pmu_context *cpc, const struct perf_schedule *new)
{
	u64 mark = next_mark();

	mark_leaders(new, false, mark);
	for (int i = 0; i < cpc->nr_side_running; i++) {
		if (cpc->side[i]->sched_mark != mark)
			perf_group_stop(cpc->side[i]);
	}
	cpc->nr_side_running = 0;
}

/* The CPU side's groups that run become those in the schedule of @epc, the task's or the base. */
static __always_inline void change_side_groups(struct perf_cpu_pmu_context *cpc,
					       struct perf_event_pmu_context *epc)
{
	struct perf_schedule *new = epc->sched;
	struct perf_event *last = NULL;
	unsigned int i = 0;

	if (cpc->nr_side_running)
		stop_side_groups(cpc, new);
	if (!cpc->nr_side)
		return;
	while (i < new->nr) {
		struct perf_event *event = new->slot[i].event, *leader = event->group_leader;

		if (new->task_mask & BIT_ULL(i)) {
			i++;
			continue;
		}
		if (event->state == PERF_EVENT_STATE_INACTIVE && unlikely(perf_group_start(leader))) {
			epc->overcommitted |= cannot_start(new, leader);
			continue;
		}
		i++;
		/* The members of a group have slots side by side. */
		if (leader != last)
			cpc->side[cpc->nr_side_running++] = leader;
		last = leader;
	}
}

/* Is the CPU side's part of @s something else than all of @base? */
static bool side_differs(const struct perf_schedule *s, const struct perf_schedule *base)
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

static bool base_valid(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base)
{
	return base->sched_side == cpc->side_seq && base->sched_cpu == smp_processor_id();
}

static void compile_base(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base)
{
	struct compile c = { .pmu = base->pmu };

	if (cpc->nr_side) {
		compile(&c, cpc, NULL);
		copy_schedule(base->sched, c.s);
	} else {
		truncate(base->sched, 0);
	}
	if (!base->overcommitted)
		base->turn_began = perf_ctx_time(base->ctx);
	base->overcommitted = c.overcommitted;
	base->sched_side = cpc->side_seq;
	base->sched_cpu = smp_processor_id();
}

/* A task's schedule holds while its own queues and the CPU side are what they were. */
static bool task_valid(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	if (epc->sched_seq != epc->seq)
		return false;
	if (!cpc->nr_side)
		return !epc->sched_side &&
		       (epc->sched_cpu == -1 || epc->sched_cpu == smp_processor_id());
	return epc->sched_side == cpc->side_seq && epc->sched_base == perf_sched_base(epc->pmu);
}

/* Is the schedule that @epc, a task's or the base, keeps one of what is queued now on this CPU? */
static bool sched_is_valid(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	return epc->ctx->task ? task_valid(cpc, epc) : base_valid(cpc, epc);
}

/* Has the schedule had the CPU for about an interval, in pieces perhaps? @epc's context locked. */
bool perf_sched_turn_over(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	u64 interval = ktime_to_ns(cpc->timer_interval);

	return perf_ctx_time(epc->ctx) - epc->turn_began >= interval - interval / 8;
}

/**
 * perf_sched_next_turn - whoever waits goes first in the next schedule, and the next one is due
 * @cpc: the PMU on this CPU
 * @epc: of the task that is here, or the base
 *
 * Context: all contexts concerned locked
 */
void perf_sched_next_turn(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	/* One that has not been compiled since a change may name events that have gone. */
	if (sched_is_valid(cpc, epc)) {
		for (int i = 0; i < epc->sched->nr; i++)
			perf_group_charge(epc->sched->slot[i].event->group_leader);
	}
	epc->turn_began = perf_ctx_time(epc->ctx);
	epc->seq++;
	if (cpc->nr_side) {
		/* Whoever goes first takes counters from the other: they take turns in that, too. */
		if (epc->ctx->task)
			cpc->task_first = !cpc->task_first;
		cpc->turn++;
		cpc->side_seq++;
	}
}

static void compile_task(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	struct perf_event_pmu_context *base = cpc->nr_side ? perf_sched_base(epc->pmu) : NULL;
	struct compile c = { .pmu = epc->pmu };

	if (base && !base_valid(cpc, base))
		compile_base(cpc, base);

	compile(&c, cpc, epc);
	change_task_groups(epc->sched, &c);
	epc->displaces = base && side_differs(c.s, base->sched);
	copy_schedule(epc->sched, c.s);
	if (!epc->overcommitted)
		epc->turn_began = perf_ctx_time(epc->ctx);
	epc->overcommitted = c.overcommitted;
	epc->sched_seq = epc->seq;
	epc->sched_side = base ? cpc->side_seq : 0;
	epc->sched_base = base;
	epc->sched_cpu = epc->ctx->nr_bound ? smp_processor_id() : -1;
}

/**
 * perf_sched_changed - what could be scheduled in a PMU context has changed
 * @epc: the PMU context; ctx->lock held
 */
void perf_sched_changed(struct perf_event_pmu_context *epc)
{
	epc->seq++;
	if (!epc->ctx->task)
		per_cpu_ptr(epc->pmu->cpu_pmu_context, epc->ctx->cpu)->side_seq++;
}

/**
 * perf_sched_forget - an event that may be in a schedule goes away
 * @event: leaves its context; ctx->lock held
 *
 * A task's schedule is compiled anew when the task runs, and until then names its events; what
 * the compiler takes from it are the groups that have to stop.
 */
void perf_sched_forget(struct perf_event *event)
{
	struct perf_schedule *s = event->pmu_ctx->sched;

	if (!event->ctx->task || !s)
		return;
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->slot[i].event == event) {
			drop_slot(s, i);
			return;
		}
	}
}

/**
 * perf_sched_forget_user - user space may not read a PMU's counters any more
 * @epc: the PMU context; it has lost its last event, or its context the last that could be read
 *
 * Context: ctx->lock, where the context may be changed
 */
void perf_sched_forget_user(struct perf_event_pmu_context *epc)
{
	lockdep_assert_held(&epc->ctx->lock);
	if (!epc->sched->user)
		return;
	epc->sched->user = false;
	perf_sched_changed(epc);
	if (epc->ctx->active_cpu >= 0)
		perf_sched_reload(epc->pmu);
}

static void arm_rotation(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	if (epc->overcommitted)
		perf_rotate_arm(cpc);
}

static __always_inline void apply_base(struct perf_cpu_pmu_context *cpc,
				       struct perf_event_pmu_context *base)
{
	if (!cpc->serves)
		return;
	change_side_groups(cpc, base);
	cpc->displaced = false;
	base->pmu->sched_load(base->pmu, base->sched);
	arm_rotation(cpc, base);
}

/* The timer finds a cgroup whose tasks run for short moments only by chance. */
static void end_turn_of_base(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base)
{
	if (unlikely(base->overcommitted) && perf_sched_turn_over(cpc, base))
		perf_sched_next_turn(cpc, base);
}

/* CPU side locked. */
static void load_base_locked(struct perf_cpu_pmu_context *cpc, struct pmu *pmu)
{
	struct perf_event_pmu_context *base = perf_sched_base(pmu);

	end_turn_of_base(cpc, base);
	if (!base_valid(cpc, base))
		compile_base(cpc, base);
	apply_base(cpc, base);
}

/**
 * perf_sched_load_again - load the CPU side's schedule, if there is one already
 * @cpc: the PMU on this CPU
 * @base: where it is kept
 *
 * Return: false, and nothing has been done, if one has to be compiled, or if a task is on this CPU.
 * The CPU side is locked.
 */
bool perf_sched_load_again(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *base)
{
	if (this_cpu_read(perf_cpu_context.task_ctx))
		return false;
	end_turn_of_base(cpc, base);
	if (!base_valid(cpc, base))
		return false;
	apply_base(cpc, base);
	return true;
}

/* Task's context and CPU side locked. */
static void load_task_locked(struct perf_cpu_pmu_context *cpc, struct perf_event_pmu_context *epc)
{
	if (!task_valid(cpc, epc))
		compile_task(cpc, epc);
	if (!cpc->serves)
		return;
	change_side_groups(cpc, epc);
	cpc->displaced = epc->displaces;
	epc->pmu->sched_load(epc->pmu, epc->sched);
	arm_rotation(cpc, epc);
}

/**
 * perf_sched_load - a task with counter events comes onto this CPU
 * @epc: its PMU context; ctx->lock held
 *
 * The path that costs: in steady state one comparison and the driver's load.
 */
void perf_sched_load(struct perf_event_pmu_context *epc)
{
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(epc->pmu);
	/* The timer finds a task that runs for short moments only by chance. */
	bool over = unlikely(epc->overcommitted) && perf_sched_turn_over(cpc, epc);

	if (likely(!over && task_valid(cpc, epc) && !epc->displaces && !cpc->displaced)) {
		if (epc->sched->nr || epc->sched->user)
			epc->pmu->sched_load(epc->pmu, epc->sched);
		if (unlikely(epc->overcommitted))
			arm_rotation(cpc, epc);
		return;
	}
	perf_cpu_side_lock(perf_clock());
	if (over)
		perf_sched_next_turn(cpc, epc);
	load_task_locked(cpc, epc);
	perf_cpu_side_unlock();
}

/* No task's events on this CPU: run the CPU side's. No locks held. */
void perf_sched_load_base(struct perf_cpu_pmu_context *cpc, struct pmu *pmu)
{
	perf_cpu_side_lock(perf_clock());
	load_base_locked(cpc, pmu);
	perf_cpu_side_unlock();
}

/**
 * perf_sched_reload - act on a change, for whoever is on this CPU
 * @pmu: the PMU
 *
 * All contexts that are on this CPU are locked.
 */
void perf_sched_reload(struct pmu *pmu)
{
	struct perf_event_context *task_ctx = this_cpu_ptr(&perf_cpu_context)->task_ctx;
	struct perf_event_pmu_context *epc = task_ctx ? perf_epc_find(task_ctx, pmu) : NULL;
	struct perf_cpu_pmu_context *cpc = perf_this_cpc(pmu);

	if (epc && !list_empty(&epc->counter_entry))
		load_task_locked(cpc, epc);
	else
		load_base_locked(cpc, pmu);
}

/**
 * perf_sched_group_fits - would a group find counters on an idle PMU?
 * @leader: its leader
 * @newcomer: an event that is about to join it, or the leader itself
 *
 * Context: process context, ctx->mutex
 * Return: 0, -EINVAL if it can never run, -ENOMEM
 */
int perf_sched_group_fits(struct perf_event *leader, struct perf_event *newcomer)
{
	struct perf_schedule *s __free(kfree) = NULL;
	struct pmu *pmu = newcomer->pmu;
	struct perf_event *sibling;

	if (leader == newcomer || !perf_pmu_has_counters(pmu))
		return 0;
	if (leader->nr_siblings + 2 > PERF_SCHED_SLOTS)
		return perf_refuse(-EINVAL, "group: %llu events are too many to run together",
				   leader->nr_siblings + 2);
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return perf_refuse(-ENOMEM, "group: no memory to try it");

	if (leader->pmu == pmu)
		s->slot[s->nr++] = (struct perf_sched_slot){ leader, -1 };
	for_each_sibling_event(sibling, leader) {
		if (sibling->pmu == pmu)
			s->slot[s->nr++] = (struct perf_sched_slot){ sibling, -1 };
	}
	s->slot[s->nr++] = (struct perf_sched_slot){ newcomer, -1 };

	if (pmu->sched_assign(pmu, s, 0))
		return perf_refuse(-EINVAL, "group: its %llu events need more counters than the PMU has",
				   s->nr);
	return 0;
}
