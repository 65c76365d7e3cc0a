// SPDX-License-Identifier: GPL-2.0
/*
 * Records by time. Each buffer is in order, and a record that a pass leaves in its buffer is newer
 * than those of the pass before: after a pass, what is not newer than the newest record of the pass
 * before is complete.
 */
#include <stdlib.h>
#include <string.h>

#include "tally_open.h"

/* A copy of a record; @sequence keeps the order of records with the same time. */
struct tally_kept {
	uint64_t time;
	uint64_t sequence;
	struct perf_event_header *record;
};

static bool kept_before(const struct tally_kept *a, const struct tally_kept *b)
{
	return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static void kept_swap(struct tally_kept *a, struct tally_kept *b)
{
	struct tally_kept both = *a;

	*a = *b;
	*b = both;
}

static void kept_up(struct tally_kept *kept, size_t at)
{
	while (at && kept_before(&kept[at], &kept[(at - 1) / 2])) {
		kept_swap(&kept[at], &kept[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void kept_down(struct tally_kept *kept, size_t n)
{
	size_t at = 0, least;

	for (;;) {
		least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
			if (kept_before(&kept[child], &kept[least]))
				least = child;
		}
		if (least == at)
			return;
		kept_swap(&kept[at], &kept[least]);
		at = least;
	}
}

/* Gives the oldest record. */
static void give_oldest(struct tally_order *order)
{
	struct tally_kept oldest = order->kept[0];

	order->kept[0] = order->kept[--order->n];
	kept_down(order->kept, order->n);
	order->used -= oldest.record->size;
	if (oldest.time < order->last)
		order->late++;
	else
		order->last = oldest.time;
	order->give(order->arg, oldest.record, oldest.time);
	free(oldest.record);
}

int tally_order_put(struct tally_order *order, const struct perf_event_header *record,
		    uint64_t time)
{
	struct tally_kept *kept;

	if (order->n == order->room) {
		size_t room = order->room ? 2 * order->room : 1024;

		kept = realloc(order->kept, room * sizeof(*kept));
		if (!kept)
			return -ENOMEM;
		order->kept = kept;
		order->room = room;
	}
	kept = &order->kept[order->n];
	kept->record = malloc(record->size);
	if (!kept->record)
		return -ENOMEM;
	memcpy(kept->record, record, record->size);
	kept->time = time;
	kept->sequence = order->sequence++;
	kept_up(order->kept, order->n++);
	order->used += record->size;
	if (time > order->newest)
		order->newest = time;
	while (order->used > order->limit && order->n) {
		order->early++;
		give_oldest(order);
	}
	return 0;
}

void tally_order_round(struct tally_order *order)
{
	while (order->n && order->kept[0].time <= order->round)
		give_oldest(order);
	order->round = order->newest;
}

void tally_order_end(struct tally_order *order)
{
	while (order->n)
		give_oldest(order);
	free(order->kept);
	order->kept = NULL;
	order->room = 0;
}
