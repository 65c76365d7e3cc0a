// SPDX-License-Identifier: GPL-2.0
/*
 * Records by time.
 *
 * Records are collected, and sorted and handed out when a mark in the file says that nothing older
 * than a time can follow: at the end of a round, what is not newer than the newest record of the
 * round before. Files without marks, and directories, whose files are read one after another, have
 * no such time: there the memory decides, and the older half is handed out when it is full.
 */
#include "sorter.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of records that are kept at most: enough for all but the largest directories. */
#define SORT_LIMIT		(256ULL * 1024 * 1024)

/**
 * struct sorted - a record that was collected
 * @time: nanoseconds; of the record before if it has none
 * @sequence: its place in the file
 * @record: the record; its header is not set
 * @at: where its bytes are in the buffer
 */
struct sorted {
	u64 time;
	u64 sequence;
	struct tally_record record;
	size_t at;
};

/**
 * struct sorter - records that were collected
 * @bytes: their bytes
 * @entries: array of &struct sorted
 * @nr: number of entries
 * @room: number allocated
 * @next: entry that is handed out next
 * @ready: entries up to here are sorted and may be handed out
 * @last_time: time of the newest record
 * @record_time: time of the record that was put last
 * @round_time: time of the newest record when the last round ended
 * @sequence: records so far
 * @ordered: the entries are in order as they are
 * @ended: no record will follow
 * @several: the records of several files follow one another: rounds mean nothing
 */
struct sorter {
	struct tally_buf bytes;
	struct sorted *entries;
	size_t nr;
	size_t room;
	size_t next;
	size_t ready;
	u64 last_time;
	u64 record_time;
	u64 round_time;
	u64 sequence;
	bool ordered;
	bool ended;
	bool several;
};

/**
 * sorter_new - an empty sorter
 * @several: the records of several files follow one another
 *
 * Return: the sorter or NULL.
 */
struct sorter *sorter_new(bool several)
{
	struct sorter *sorter = calloc(1, sizeof(*sorter));

	if (sorter) {
		sorter->several = several;
		sorter->ordered = true;
	}
	return sorter;
}

/**
 * sorter_free - free a sorter
 * @sorter: sorter; may be NULL
 */
void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	tally_buf_free(&sorter->bytes);
	free(sorter->entries);
	free(sorter);
}

static int sorted_compare(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static void sorter_sort(struct sorter *sorter)
{
	if (!sorter->ordered)
		qsort(sorter->entries, sorter->nr, sizeof(*sorter->entries), sorted_compare);
	sorter->ordered = true;
}

/* Drops what was handed out. The bytes of the others move to the start of a new buffer. */
static int sorter_compact(struct sorter *sorter)
{
	size_t left = sorter->nr - sorter->next;
	struct tally_buf bytes = {};

	if (!sorter->next)
		return 0;
	memmove(sorter->entries, sorter->entries + sorter->next, left * sizeof(*sorter->entries));
	for (size_t i = 0; i < left; i++) {
		struct sorted *entry = &sorter->entries[i];
		const u8 *data = sorter->bytes.data + entry->at;
		u16 size = ((const struct perf_event_header *)data)->size;

		entry->at = bytes.size;
		tally_buf_put(&bytes, data, size);
		tally_buf_grow(&bytes, -size & 7);
	}
	if (bytes.failed) {
		tally_buf_free(&bytes);
		return -ENOMEM;
	}
	if (left) {
		tally_buf_free(&sorter->bytes);
		sorter->bytes = bytes;
	} else {
		sorter->bytes.size = 0;
	}
	sorter->nr = left;
	sorter->next = 0;
	sorter->ready = 0;
	return 0;
}

static int sorter_reserve(struct sorter *sorter)
{
	size_t room = sorter->room ? sorter->room * 2 : 1024;
	struct sorted *entries;

	if (sorter->nr < sorter->room)
		return 0;
	entries = realloc(sorter->entries, room * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	sorter->entries = entries;
	sorter->room = room;
	return 0;
}

/**
 * sorter_put - add a record
 * @sorter: sorter of which nothing can be taken now
 * @record: record; its bytes are copied
 * @time: its time, 0 if it has none
 *
 * Return: 1 or -ENOMEM.
 */
int sorter_put(struct sorter *sorter, const struct tally_record *record, u64 time)
{
	struct sorted *entry;

	if (sorter_compact(sorter) || sorter_reserve(sorter))
		return -ENOMEM;
	if (!time || time == ~0ULL)
		time = sorter->record_time;
	entry = &sorter->entries[sorter->nr++];
	*entry = (struct sorted){ time, sorter->sequence++, *record, sorter->bytes.size };
	tally_buf_put(&sorter->bytes, record->header, record->header->size);
	tally_buf_grow(&sorter->bytes, -record->header->size & 7);
	sorter->record_time = time;
	if (time < sorter->last_time)
		sorter->ordered = false;
	else
		sorter->last_time = time;
	if (sorter->bytes.size + sorter->nr * sizeof(*entry) > SORT_LIMIT) {
		sorter_sort(sorter);
		sorter->ready = sorter->nr / 2;
	}
	return sorter->bytes.failed ? -ENOMEM : 1;
}

/**
 * sorter_round - a round has ended
 * @sorter: sorter of which nothing can be taken now
 */
void sorter_round(struct sorter *sorter)
{
	if (sorter->several || sorter_compact(sorter))
		return;
	sorter_sort(sorter);
	while (sorter->ready < sorter->nr &&
	       sorter->entries[sorter->ready].time <= sorter->round_time)
		sorter->ready++;
	sorter->round_time = sorter->last_time;
}

/**
 * sorter_end - there are no more records
 * @sorter: sorter
 */
void sorter_end(struct sorter *sorter)
{
	if (sorter->ended)
		return;
	sorter->ended = true;
	sorter_sort(sorter);
	sorter->ready = sorter->nr;
}

/**
 * sorter_take - the oldest record
 * @sorter: sorter
 * @record: set to it; valid until the next call for @sorter
 *
 * Return: 1, or 0 if an older one may follow.
 */
int sorter_take(struct sorter *sorter, struct tally_record *record)
{
	const struct sorted *entry;

	if (sorter->next >= sorter->ready)
		return 0;
	entry = &sorter->entries[sorter->next++];
	*record = entry->record;
	record->header = (const void *)(sorter->bytes.data + entry->at);
	return 1;
}

/**
 * sorter_empty - was everything taken?
 * @sorter: sorter
 *
 * Return: true after sorter_end() when no record is left.
 */
bool sorter_empty(const struct sorter *sorter)
{
	return sorter->ended && sorter->next >= sorter->nr;
}
