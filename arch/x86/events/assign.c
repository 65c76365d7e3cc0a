// SPDX-License-Identifier: GPL-2.0
/*
 * The assignment of events to counters: a maximum matching of a bipartite graph.
 *
 * Events are added one by one. If all counters of an event are taken, a breadth-first search looks
 * for an augmenting path: a chain of events that each move to the counter of the next one, and the
 * last to a free counter. By Berge's theorem a set of events that fits is found to fit in any
 * order, and an event with a counter never loses it without getting another. The search takes at
 * most 64 x 64 steps for each event.
 *
 * Context: any. No locks, no hardware.
 */
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/string.h>

#include "assign.h"
#include "perf_event.h"

/**
 * x86_assign_init - begin an assignment without events
 * @a: assignment to initialise; 64 free counters
 *
 * Context: any.
 */
void x86_assign_init(struct x86_assign *a)
{
	a->vacant = ~0ULL;
	memset(a->counter_of, -1, sizeof(a->counter_of));
}

/**
 * x86_assign_seed - add an event that has a counter already
 * @a: the assignment
 * @event: number of the event, 0..X86_ASSIGN_MAX - 1
 * @allowed: set of counters that can count the event
 * @counter: number of the counter, 0..63, which is free in @a
 *
 * Context: any.
 */
void x86_assign_seed(struct x86_assign *a, unsigned int event, u64 allowed, int counter)
{
	a->vacant &= ~BIT_ULL(counter);
	a->allowed[event] = allowed;
	a->counter_of[event] = counter;
	a->event_on[counter] = event;
}

/* Moves each event on the path to the counter after it; from[] leads back from counter to event. */
static void x86_assign_move_path(struct x86_assign *a, const s8 *from, int counter)
{
	int event, next;

	do {
		event = from[counter];
		next = a->counter_of[event];
		a->counter_of[event] = counter;
		a->event_on[counter] = event;
		counter = next;
	} while (counter >= 0);
}

/*
 * Prefers high numbers: fixed counters, then the general counters that constrained events need
 * least.
 */
static int x86_assign_pick(u64 counters, int wish)
{
	if (wish >= 0 && counters & BIT_ULL(wish))
		return wish;
	return fls64(counters) - 1;
}

/*
 * All counters of @event are taken. The search stops at the first event that can move to a free
 * counter.
 */
static noinline bool x86_assign_search(struct x86_assign *a, unsigned int event)
{
	u64 seen = 0, todo;
	u8 queue[X86_ASSIGN_MAX] __uninitialized;
	s8 from[X86_ASSIGN_MAX] __uninitialized;
	unsigned int head = 0, tail = 0, e;
	int c;

	queue[tail++] = event;
	while (head < tail) {
		e = queue[head++];
		if (a->allowed[e] & a->vacant) {
			c = x86_assign_pick(a->allowed[e] & a->vacant, -1);
			from[c] = e;
			a->vacant &= ~BIT_ULL(c);
			x86_assign_move_path(a, from, c);
			return true;
		}
		for (todo = a->allowed[e] & ~seen; todo; todo &= todo - 1) {
			c = __ffs64(todo);
			seen |= BIT_ULL(c);
			from[c] = e;
			queue[tail++] = a->event_on[c];
		}
	}
	return false;
}

/**
 * x86_assign_add - add an event, and move others if necessary
 * @a: the assignment
 * @event: number of the event, 0..X86_ASSIGN_MAX - 1
 * @allowed: set of counters that can count the event
 * @wish: number of the counter to take if that one is free, 0..63; -1: none
 *
 * Context: any.
 * Return: false if the event does not fit; no event has been moved then
 */
bool x86_assign_add(struct x86_assign *a, unsigned int event, u64 allowed, int wish)
{
	if (allowed & a->vacant) {
		x86_assign_seed(a, event, allowed, x86_assign_pick(allowed & a->vacant, wish));
		return true;
	}
	a->allowed[event] = allowed;
	return x86_assign_search(a, event);
}

/**
 * perf_assign_events - assign counters to events, for drivers with struct event_constraint
 * @constraints: array with the constraint of each event
 * @n: number of events, 0..X86_ASSIGN_MAX
 * @wmin: smallest weight of a constraint; unused
 * @wmax: greatest weight of a constraint; unused
 * @gpmax: number of counters; unused
 * @assign: array, set to the counter of each event, -1: none; may be NULL
 *
 * Context: any.
 * Return: number of events without a counter
 */
int perf_assign_events(struct event_constraint **constraints, int n, int wmin, int wmax,
		       int gpmax, int *assign)
{
	struct x86_assign a __uninitialized;
	int i, left = 0;

	if (WARN_ON_ONCE(n > X86_ASSIGN_MAX))
		return n;

	x86_assign_init(&a);
	for (i = 0; i < n; i++)
		if (!x86_assign_add(&a, i, constraints[i]->idxmsk64, -1))
			left++;

	for (i = 0; i < n && assign; i++)
		assign[i] = a.counter_of[i];
	return left;
}
EXPORT_SYMBOL_GPL(perf_assign_events);
