// SPDX-License-Identifier: GPL-2.0
/*
 * Accounting of debug registers; see breakpoint_slots.h.
 *
 * There are three kinds of claim, by hw.target and cpu of the breakpoint:
 *
 *	bound to a CPU		counts on that CPU always
 *	task, any CPU		counts on every CPU, while the task runs there
 *	task, one CPU ("local")	counts on that CPU, while the task runs there
 *
 * Only one task runs on a CPU at a time, so CPU c needs
 *
 *	bound[c] + max over tasks t of (any[t] + local[t][c])
 *
 * registers of a type. Tasks without a local claim on c contribute the maximum of any[t], which is
 * the same for all CPUs and is taken from one histogram (tasks). The others are in a histogram of
 * c. A claim of a task for any CPU depends on the CPU with the most bound claims: a histogram of
 * CPUs. A task's own claims are in a hash by task and CPU, with at most as many under one key as
 * there are registers.
 *
 * Of a breakpoint only attr.bp_type, cpu, hw.target (as a key: the task is not accessed) and
 * hw.bp_list are used. Nothing of kernel/events/ is called.
 *
 * Locks: no other lock is taken inside bp_slots::lock.
 */
#include <linux/slab.h>

#include "breakpoint_slots.h"

/* Key of the claims of a task on one CPU; cpu is -1 for claims on any CPU. */
static unsigned long bp_hash_key(const struct task_struct *task, int cpu)
{
	return (unsigned long)task + cpu;
}

/* Claims of @type that @task has under @cpu in the hash. */
static unsigned int bp_held(struct bp_slots *s, const struct task_struct *task, int cpu,
			    enum bp_type_idx type)
{
	struct perf_event *bp;
	unsigned int nr = 0;

	hash_for_each_possible(s->by_task, bp, hw.bp_list, bp_hash_key(task, cpu)) {
		nr += bp->hw.target == task && bp->cpu == cpu &&
		      bp_slot_type(bp->attr.bp_type) == type;
	}
	return nr;
}

/* Largest number of registers that a holder needs. */
static unsigned int bp_histogram_max(const struct bp_histogram *h)
{
	unsigned int n = BP_SLOTS_MAX;

	while (n && !h->holders[n])
		n--;
	return n;
}

/*
 * A holder's need changes from @low to @high registers if a claim is added (@by is 1), back if it
 * is removed (-1). 0: no holder.
 */
static void bp_histogram_move(struct bp_histogram *h, unsigned int low, unsigned int high, int by)
{
	unsigned int from = by > 0 ? low : high, to = by > 0 ? high : low;

	if (from && !WARN_ON_ONCE(!h->holders[from]))
		h->holders[from]--;
	if (to)
		h->holders[to]++;
}

/* A claim is added to or removed from a holder that needs @low registers without it. */
static noinline void bp_histogram_step(struct bp_histogram *h, unsigned int low, int by)
{
	bp_histogram_move(h, low, low + 1, by);
}

/**
 * bp_slots_needed - number of registers of a type that a CPU may need
 * @s: accounts
 * @cpu: CPU number
 * @type: type of the registers
 *
 * Context: bp_slots::lock, or nothing else uses @s
 * Return: the number of registers
 */
unsigned int bp_slots_needed(const struct bp_slots *s, int cpu, enum bp_type_idx type)
{
	const struct bp_type_claims *t = &s->type[type];
	const struct bp_cpu_claims *c = &t->cpu[cpu];

	return c->bound + max(bp_histogram_max(&t->tasks), bp_histogram_max(&c->local));
}

/* Is there room for another claim of @task for any CPU where @task has local claims? */
static bool bp_local_room(struct bp_slots *s, enum bp_type_idx type,
			  const struct task_struct *task, unsigned int any)
{
	struct bp_type_claims *t = &s->type[type];
	unsigned int cpu;

	if (!t->nr_local)
		return true;

	for (cpu = 0; cpu < s->nr_cpus; cpu++) {
		unsigned int need = t->cpu[cpu].bound + any + 1;

		if (!t->cpu[cpu].nr_local)
			continue;
		if (need + bp_held(s, task, cpu, type) > t->slots)
			return false;
	}
	return true;
}

/* Is there room for @bp as one of @type? @bp is not counted for @type. */
static bool bp_room(struct bp_slots *s, const struct perf_event *bp, enum bp_type_idx type)
{
	struct bp_type_claims *t = &s->type[type];
	const struct task_struct *task = bp->hw.target;
	unsigned int any;

	if (!task)
		return bp_slots_needed(s, bp->cpu, type) < t->slots;

	any = bp_held(s, task, -1, type);
	if (bp->cpu >= 0)
		return t->cpu[bp->cpu].bound + any + bp_held(s, task, bp->cpu, type) < t->slots;

	return bp_histogram_max(&t->cpus) + any < t->slots && bp_local_room(s, type, task, any);
}

static void bp_count_bound(struct bp_type_claims *t, int cpu, int by)
{
	struct bp_cpu_claims *c = &t->cpu[cpu];

	if (by < 0 && WARN_ON_ONCE(!c->bound))
		return;

	bp_histogram_step(&t->cpus, min(c->bound, c->bound + by), by);
	c->bound += by;
}

static void bp_count_local(struct bp_slots *s, const struct perf_event *bp,
			   enum bp_type_idx type, int by)
{
	struct bp_type_claims *t = &s->type[type];
	struct bp_cpu_claims *c = &t->cpu[bp->cpu];
	unsigned int any = bp_held(s, bp->hw.target, -1, type);
	unsigned int local = bp_held(s, bp->hw.target, bp->cpu, type);

	/* The first local claim adds the task to the histogram, the last one removes it. */
	bp_histogram_move(&c->local, local ? any + local : 0, any + local + 1, by);
	if (!local) {
		c->nr_local += by;
		t->nr_local += by;
	}
}

static void bp_count_any(struct bp_slots *s, const struct perf_event *bp, enum bp_type_idx type,
			 int by)
{
	struct bp_type_claims *t = &s->type[type];
	unsigned int any = bp_held(s, bp->hw.target, -1, type);
	unsigned int local, cpu;

	bp_histogram_step(&t->tasks, any, by);
	if (!t->nr_local)
		return;

	for (cpu = 0; cpu < s->nr_cpus; cpu++) {
		if (!t->cpu[cpu].nr_local)
			continue;
		local = bp_held(s, bp->hw.target, cpu, type);
		if (local)
			bp_histogram_step(&t->cpu[cpu].local, any + local, by);
	}
}

/* Adds @by, 1 or -1, to the numbers of @type. @bp is not in the hash as one of @type. */
static void bp_count(struct bp_slots *s, struct perf_event *bp, enum bp_type_idx type, int by)
{
	struct bp_type_claims *t = &s->type[type];

	if (!bp->hw.target)
		bp_count_bound(t, bp->cpu, by);
	else if (bp->cpu >= 0)
		bp_count_local(s, bp, type, by);
	else
		bp_count_any(s, bp, type, by);

	WRITE_ONCE(t->claims, t->claims + by);
}

static int bp_claim(struct bp_slots *s, struct perf_event *bp)
{
	enum bp_type_idx type = bp_slot_type(bp->attr.bp_type);

	if (!bp_room(s, bp, type))
		return -ENOSPC;

	/* Count before @bp is in the hash. */
	bp_count(s, bp, type, 1);
	if (bp->hw.target)
		hash_add(s->by_task, &bp->hw.bp_list, bp_hash_key(bp->hw.target, bp->cpu));
	return 0;
}

static void bp_release(struct bp_slots *s, struct perf_event *bp)
{
	if (WARN_ON_ONCE(bp->hw.target && !hash_hashed(&bp->hw.bp_list)))
		return;
	hash_del(&bp->hw.bp_list);
	bp_count(s, bp, bp_slot_type(bp->attr.bp_type), -1);
}

/**
 * bp_slots_claim - claim a register for a breakpoint
 * @s: accounts
 * @bp: breakpoint with attr.bp_type, cpu and hw.target set; cpu and hw.target do not change until
 *	the register is released
 *
 * Context: process context
 * Return: 0; -ENOSPC if a CPU could need more registers than it has
 */
int bp_slots_claim(struct bp_slots *s, struct perf_event *bp)
{
	guard(mutex)(&s->lock);
	return bp_claim(s, bp);
}

/**
 * bp_slots_release - release a claimed register
 * @s: accounts
 * @bp: breakpoint with a claim
 *
 * Context: process context
 */
void bp_slots_release(struct bp_slots *s, struct perf_event *bp)
{
	guard(mutex)(&s->lock);
	bp_release(s, bp);
}

/**
 * bp_slots_retype - change the type of a claimed breakpoint
 * @s: accounts
 * @bp: breakpoint with a claim
 * @bp_type: new type, which is stored in attr.bp_type
 *
 * Context: process context
 * Return: 0; -ENOSPC if there is no room for the new type: nothing is changed then
 */
int bp_slots_retype(struct bp_slots *s, struct perf_event *bp, u32 bp_type)
{
	enum bp_type_idx from, to = bp_slot_type(bp_type);

	guard(mutex)(&s->lock);
	from = bp_slot_type(bp->attr.bp_type);
	if (from == to) {
		bp->attr.bp_type = bp_type;
		return 0;
	}

	if (!bp_room(s, bp, to))
		return -ENOSPC;

	/*
	 * In the hash @bp is one of attr.bp_type, and bp_count() must not find it as one of @type.
	 */
	bp_count(s, bp, to, 1);
	bp->attr.bp_type = bp_type;
	bp_count(s, bp, from, -1);
	return 0;
}

/**
 * bp_slots_claim_stopped - claim a register while a debugger has stopped all CPUs
 * @s: accounts
 * @bp: breakpoint of a CPU
 *
 * Takes no lock, because a stopped CPU may hold it.
 *
 * Context: all other CPUs are stopped; NMI
 * Return: 0; -EBUSY if the CPUs were stopped while claims were changed; -ENOSPC; -EOPNOTSUPP for a
 *	task's breakpoint
 */
int bp_slots_claim_stopped(struct bp_slots *s, struct perf_event *bp)
{
	if (mutex_is_locked(&s->lock))
		return -EBUSY;
	if (bp->hw.target)
		return -EOPNOTSUPP;
	return bp_claim(s, bp);
}

/**
 * bp_slots_release_stopped - release a register while a debugger has stopped all CPUs
 * @s: accounts
 * @bp: breakpoint of a CPU with a claim
 *
 * Context: all other CPUs are stopped; NMI
 * Return: as bp_slots_claim_stopped(), without -ENOSPC
 */
int bp_slots_release_stopped(struct bp_slots *s, struct perf_event *bp)
{
	if (mutex_is_locked(&s->lock))
		return -EBUSY;
	if (bp->hw.target)
		return -EOPNOTSUPP;
	bp_release(s, bp);
	return 0;
}

/**
 * bp_slots_any - is any register claimed?
 * @s: accounts
 *
 * Context: any; not serialised with claims
 * Return: true if there is a claim
 */
bool bp_slots_any(const struct bp_slots *s)
{
	int type;

	for (type = 0; type < TYPE_MAX; type++) {
		if (READ_ONCE(s->type[type].claims))
			return true;
	}
	return false;
}

/**
 * bp_slots_destroy - free the accounts
 * @s: accounts without claims
 *
 * Context: process context
 */
void bp_slots_destroy(struct bp_slots *s)
{
	int type;

	for (type = 0; type < TYPE_MAX; type++)
		kfree(s->type[type].cpu);
}

/**
 * bp_slots_init - initialise the accounts
 * @s: accounts, zeroed
 * @nr_cpus: limit of CPU numbers
 * @slots: registers of a CPU, by enum bp_type_idx
 *
 * Context: process context or early boot
 * Return: 0 or -ENOMEM
 */
int bp_slots_init(struct bp_slots *s, unsigned int nr_cpus, const unsigned int slots[TYPE_MAX])
{
	int type;

	mutex_init(&s->lock);
	s->nr_cpus = nr_cpus;

	for (type = 0; type < TYPE_MAX; type++) {
		struct bp_type_claims *t = &s->type[type];

		t->slots = min_t(unsigned int, slots[type], BP_SLOTS_MAX);
		t->cpu = kcalloc(nr_cpus, sizeof(*t->cpu), GFP_KERNEL);
		if (!t->cpu) {
			bp_slots_destroy(s);
			return -ENOMEM;
		}
	}
	return 0;
}
