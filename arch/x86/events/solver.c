// SPDX-License-Identifier: GPL-2.0
/*
 * The assignment of events to counters: a maximum matching between two sets.
 *
 * Events come one by one. One that finds all its counters taken asks the events on them to move,
 * those ask in turn, and so on: a search for an augmenting path, breadth first. By Berge's theorem
 * a set of events that fits is found to fit whatever the order of its coming, and an event that
 * has a counter never loses it without getting another. At most 64 x 64 steps for each event.
 *
 * Pure computation: no locks, no hardware, any context.
 */
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/string.h>

#include "perf_event.h"
#include "solver.h"

/**
 * x86_match_init - no events, all counters free
 * @m: the problem
 */
void x86_match_init(struct x86_match *m)
{
	m->vacant = ~0ULL;
	memset(m->place, -1, sizeof(m->place));
	memset(m->taken, -1, sizeof(m->taken));
}

/**
 * x86_match_seed - an event that has its counter already
 * @m: the problem
 * @event: its number
 * @allowed: counters it could use as well
 * @counter: the one it has; free in @m
 */
void x86_match_seed(struct x86_match *m, unsigned int event, u64 allowed, int counter)
{
	m->vacant &= ~BIT_ULL(counter);
	m->allowed[event] = allowed;
	m->place[event] = counter;
	m->taken[counter] = event;
}

/* Moves each event on the path to the counter after it; from[] leads back from counter to event. */
static void follow_path(struct x86_match *m, const s8 *from, int counter)
{
	int event, next;

	do {
		event = from[counter];
		next = m->place[event];
		m->place[event] = counter;
		m->taken[counter] = event;
		counter = next;
	} while (counter >= 0);
}

/*
 * High counters first: the fixed ones, and of the general ones those that constrained events
 * want least.
 */
static int pick(u64 counters, int wish)
{
	if (wish >= 0 && counters & BIT_ULL(wish))
		return wish;
	return fls64(counters) - 1;
}

/**
 * x86_match_add - find a counter for one more event
 * @m: the problem
 * @event: its number
 * @allowed: counters that can count it
 * @wish: the counter it would like best, -1 for none
 *
 * Return: false if there is no way to place it beside those that have a counter; nothing has
 * changed then.
 */
bool x86_match_add(struct x86_match *m, unsigned int event, u64 allowed, int wish)
{
	u64 seen = 0, todo;
	u8 queue[X86_SOLVER_MAX];
	s8 from[X86_SOLVER_MAX];
	unsigned int head = 0, tail = 0, e;
	int c;

	m->allowed[event] = allowed;
	queue[tail++] = event;
	while (head < tail) {
		e = queue[head++];
		if (m->allowed[e] & m->vacant) {
			c = pick(m->allowed[e] & m->vacant, e == event ? wish : -1);
			from[c] = e;
			m->vacant &= ~BIT_ULL(c);
			follow_path(m, from, c);
			return true;
		}
		for (todo = m->allowed[e] & ~seen; todo; todo &= todo - 1) {
			c = __ffs64(todo);
			seen |= BIT_ULL(c);
			from[c] = e;
			queue[tail++] = m->taken[c];
		}
	}
	return false;
}

/**
 * perf_assign_events - the solver for drivers with a list of constraints
 * @constraints: one for each event
 * @n: events
 * @wmin: unused, smallest weight among them
 * @wmax: unused, greatest weight
 * @gpmax: unused, number of counters
 * @assign: receives the counters; may be NULL
 *
 * Return: 0, or the number of events that found no counter.
 */
int perf_assign_events(struct event_constraint **constraints, int n, int wmin, int wmax,
		       int gpmax, int *assign)
{
	struct x86_match m;
	int i, left = 0;

	if (WARN_ON_ONCE(n > X86_SOLVER_MAX))
		return n;

	x86_match_init(&m);
	for (i = 0; i < n; i++)
		if (!x86_match_add(&m, i, constraints[i]->idxmsk64, -1))
			left++;

	for (i = 0; i < n && assign; i++)
		assign[i] = m.place[i];
	return left;
}
EXPORT_SYMBOL_GPL(perf_assign_events);
