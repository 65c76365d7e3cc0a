// SPDX-License-Identifier: GPL-2.0
/*
 * Loops about opening, closing, mapping and redirecting events. Most of them measure one half of a
 * pair: the other half is done between the rounds. They run at once after a pause in which RCU and
 * the work queues have done what the other half has left to them.
 */
#include <stdio.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include "bench.h"

#define PAUSE_US	50000
#define SETTLE		40000000	/* instructions: ten ticks */
#define MANY		512
#define FEW		4
#define BUFFERS		16
#define REDIRECTED	63

static void pause_for_rcu(void)
{
	usleep(PAUSE_US);
}

static bool open_many(struct run *run, unsigned int nr)
{
	while ((unsigned int)run->nr_fds < nr) {
		if (!events_open_target(run, 0))
			return false;
	}
	return true;
}

static bool close_prepare(struct run *run, unsigned int nr)
{
	events_close(run);
	if (!open_many(run, nr))
		return false;
	pause_for_rcu();
	/* Each event has run, and is on a counter if there is one. */
	spin(SETTLE / 10);
	return true;
}

static bool close_round(struct run *run, unsigned int ops)
{
	while (ops--)
		close(run->fd[--run->nr_fds]);
	return true;
}

static bool close_few_prepare(struct run *run)
{
	return close_prepare(run, FEW);
}

const struct work work_close = {
	.rounds = 41, .ops = FEW, .opens = true,
	.prepare = close_few_prepare, .round = close_round,
};

static bool close_many_prepare(struct run *run)
{
	return close_prepare(run, MANY);
}

const struct work work_close_many = {
	.rounds = 5, .ops = MANY, .opens = true,
	.prepare = close_many_prepare, .round = close_round,
};

static bool open_many_prepare(struct run *run)
{
	events_close(run);
	pause_for_rcu();
	return true;
}

const struct work work_open_many = {
	.rounds = 5, .ops = MANY, .opens = true,
	.prepare = open_many_prepare, .round = open_many,
};

static bool set_output_prepare(struct run *run)
{
	events_close(run);
	if (!events_open_target(run, 0) || !events_map(run) || !open_many(run, REDIRECTED + 1))
		return false;
	pause_for_rcu();
	return true;
}

static bool set_output_round(struct run *run, unsigned int ops)
{
	for (; ops; ops--) {
		if (ioctl(run->fd[ops], PERF_EVENT_IOC_SET_OUTPUT, run->fd[0]))
			return run_failed(run, "SET_OUTPUT");
	}
	return true;
}

const struct work work_set_output = {
	.rounds = 11, .ops = REDIRECTED, .opens = true,
	.prepare = set_output_prepare, .round = set_output_round,
};

static bool map_prepare(struct run *run)
{
	events_close(run);
	if (!open_many(run, BUFFERS))
		return false;
	pause_for_rcu();
	return true;
}

static bool map_round(struct run *run, unsigned int ops)
{
	return events_map(run);
}

const struct work work_map = {
	.rounds = 11, .ops = BUFFERS, .opens = true,
	.prepare = map_prepare, .round = map_round,
};

static bool unmap_prepare(struct run *run)
{
	/* With no pages in the row this is the floor: nothing to unmap. */
	if (!map_prepare(run) || (run->row->events.pages && !events_map(run)))
		return false;
	pause_for_rcu();
	return true;
}

static bool unmap_round(struct run *run, unsigned int ops)
{
	events_unmap(run);
	return true;
}

const struct work work_unmap = {
	.rounds = 11, .ops = BUFFERS, .opens = true,
	.prepare = unmap_prepare, .round = unmap_round,
};

/* With what is left to RCU and the work queues. */
static bool unmap_freed_round(struct run *run, unsigned int ops)
{
	events_unmap(run);
	spin(SETTLE);
	return true;
}

const struct work work_unmap_freed = {
	.rounds = 21, .ops = BUFFERS, .opens = true,
	.prepare = unmap_prepare, .round = unmap_freed_round,
};
