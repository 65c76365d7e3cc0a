// SPDX-License-Identifier: GPL-2.0
/*
 * Records by time.
 *
 * Records are collected, and sorted and handed out when a mark in the file shows that nothing older
 * than a time can follow: at the end of a round, what is not newer than the newest record of the
 * round before. Files without marks, and directories (their files are read one after another), have
 * no such time: there the memory decides, and the older half is handed out when it is full.
 *
 * A record is copied once, into a chunk of memory that is free again when all records in it were
 * taken. What is sorted are times and pointers. A round has a run of ordered records for each
 * buffer that was read, so runs are merged.
 */
#include "sorter.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of records that are kept at most: enough for all but the largest directories. */
#define SORT_LIMIT		(256ULL * 1024 * 1024)
/* Bytes of a chunk: more than the largest record. */
#define SORT_CHUNK		(96 * 1024)

/**
 * struct sort_chunk - memory of records
 * @next: next chunk that is not used
 * @used: bytes that are in use, with this header
 * @left: records that were not taken
 */
struct sort_chunk {
	struct sort_chunk *next;
	size_t used;
	size_t left;
};

/**
 * struct sort_stored - a record that was collected
 * @chunk: chunk that has it
 * @record: the record; its header is not set
 * @bytes: its bytes
 */
struct sort_stored {
	struct sort_chunk *chunk;
	struct tally_record record;
	u8 bytes[];
};

/**
 * struct sort_entry - what is sorted
 * @time: nanoseconds; of the record before if it has none
 * @stored: the record
 */
struct sort_entry {
	u64 time;
	struct sort_stored *stored;
};

/**
 * struct sorter - records that were collected
 * @chunk: chunk that the next record is copied to; NULL before the first
 * @spare: chunks that are not used: each round needs as many as the one before
 * @nr_chunks: chunks that are in use
 * @bytes: of the records that were not taken
 * @entries: records, those that are equal in time in the order of the file
 * @scratch: room for as many, for merging
 * @nr: number of entries
 * @room: number allocated
 * @next: entry that is handed out next
 * @ready: entries up to here are sorted and may be handed out
 * @taken: record that was handed out last; NULL if it was released
 * @last_time: time of the newest record
 * @record_time: time of the record that was put last
 * @round_time: time of the newest record when the last round ended
 * @ordered: the entries are in order as they are
 * @ended: no record will follow
 * @several: the records of several files follow one another: rounds mean nothing
 */
struct sorter {
	struct sort_chunk *chunk;
	struct sort_chunk *spare;
	size_t nr_chunks;
	u64 bytes;
	struct sort_entry *entries;
	struct sort_entry *scratch;
	size_t nr;
	size_t room;
	size_t next;
	size_t ready;
	struct sort_stored *taken;
	u64 last_time;
	u64 record_time;
	u64 round_time;
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

static size_t stored_size(u16 size)
{
	return sizeof(struct sort_stored) + ((size + 7) & ~7U);
}

static struct sort_chunk *sorter_new_chunk(struct sorter *sorter)
{
	struct sort_chunk *chunk = sorter->spare;

	if (chunk)
		sorter->spare = chunk->next;
	else
		chunk = malloc(SORT_CHUNK);
	if (!chunk)
		return NULL;
	*chunk = (struct sort_chunk){ .used = sizeof(*chunk) };
	sorter->nr_chunks++;
	return chunk;
}

static void sorter_drop_chunk(struct sorter *sorter, struct sort_chunk *chunk)
{
	sorter->nr_chunks--;
	chunk->next = sorter->spare;
	sorter->spare = chunk;
}

static struct sort_stored *sorter_store(struct sorter *sorter, const struct tally_record *record)
{
	u16 size = record->header->size;
	struct sort_chunk *chunk = sorter->chunk;
	struct sort_stored *stored;

	if (!chunk || chunk->used + stored_size(size) > SORT_CHUNK) {
		struct sort_chunk *new = sorter_new_chunk(sorter);

		if (!new)
			return NULL;
		if (chunk && !chunk->left)
			sorter_drop_chunk(sorter, chunk);
		chunk = new;
		sorter->chunk = chunk;
	}
	stored = (void *)((u8 *)chunk + chunk->used);
	stored->chunk = chunk;
	stored->record = *record;
	memcpy(stored->bytes, record->header, size);
	chunk->used += stored_size(size);
	chunk->left++;
	sorter->bytes += stored_size(size);
	return stored;
}

static void sorter_release(struct sorter *sorter, struct sort_stored *stored)
{
	struct sort_chunk *chunk = stored->chunk;

	sorter->bytes -= stored_size(((struct perf_event_header *)stored->bytes)->size);
	if (--chunk->left)
		return;
	if (chunk == sorter->chunk)
		chunk->used = sizeof(*chunk);
	else
		sorter_drop_chunk(sorter, chunk);
}

static void sorter_release_taken(struct sorter *sorter)
{
	if (sorter->taken)
		sorter_release(sorter, sorter->taken);
	sorter->taken = NULL;
}

/**
 * sorter_free - free a sorter
 * @sorter: sorter; may be NULL
 */
void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	sorter_release_taken(sorter);
	for (size_t i = sorter->next; i < sorter->nr; i++)
		sorter_release(sorter, sorter->entries[i].stored);
	free(sorter->chunk);
	while (sorter->spare) {
		struct sort_chunk *next = sorter->spare->next;

		free(sorter->spare);
		sorter->spare = next;
	}
	free(sorter->entries);
	free(sorter->scratch);
	free(sorter);
}

/* Index behind the ordered entries that begin at an index. */
static size_t run_end(const struct sort_entry *entries, size_t at, size_t nr)
{
	while (++at < nr && entries[at - 1].time <= entries[at].time)
		;
	return at;
}

/* Merges two ordered runs that follow one another. */
static void runs_merge(const struct sort_entry *left, const struct sort_entry *right,
		       const struct sort_entry *end, struct sort_entry *to)
{
	const struct sort_entry *middle = right;

	while (left < middle && right < end)
		*to++ = right->time < left->time ? *right++ : *left++;
	memcpy(to, left, (middle - left) * sizeof(*to));
	memcpy(to + (middle - left), right, (end - right) * sizeof(*to));
}

/* Merges each two runs. */
static void sorter_merge(struct sorter *sorter)
{
	struct sort_entry *entries = sorter->entries;
	size_t nr = sorter->nr;

	for (size_t at = 0; at < nr;) {
		size_t middle = run_end(entries, at, nr);
		size_t end = middle < nr ? run_end(entries, middle, nr) : nr;

		runs_merge(entries + at, entries + middle, entries + end, sorter->scratch + at);
		at = end;
	}
	sorter->entries = sorter->scratch;
	sorter->scratch = entries;
}

static void sorter_sort(struct sorter *sorter)
{
	if (!sorter->ordered)
		while (run_end(sorter->entries, 0, sorter->nr) < sorter->nr)
			sorter_merge(sorter);
	sorter->ordered = true;
}

/* Drops the entries that were handed out. */
static void sorter_drop_taken(struct sorter *sorter)
{
	sorter_release_taken(sorter);
	if (!sorter->next)
		return;
	sorter->nr -= sorter->next;
	memmove(sorter->entries, sorter->entries + sorter->next,
		sorter->nr * sizeof(*sorter->entries));
	sorter->next = 0;
	sorter->ready = 0;
}

static int sorter_reserve(struct sorter *sorter)
{
	size_t room = sorter->room ? sorter->room * 2 : 1024;
	struct sort_entry *entries;

	if (sorter->nr < sorter->room)
		return 0;
	entries = realloc(sorter->entries, room * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	sorter->entries = entries;
	entries = realloc(sorter->scratch, room * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	sorter->scratch = entries;
	sorter->room = room;
	return 0;
}

/* A few records that are far ahead may keep many chunks: all records move to new ones. */
static int sorter_compact(struct sorter *sorter)
{
	for (size_t i = 0; i < sorter->nr; i++) {
		struct sort_stored *old = sorter->entries[i].stored;
		struct tally_record record = old->record;
		struct sort_stored *new;

		record.header = (void *)old->bytes;
		new = sorter_store(sorter, &record);
		if (!new)
			return -ENOMEM;
		sorter->entries[i].stored = new;
		sorter_release(sorter, old);
	}
	return 0;
}

/* With too much memory in use the older half may be handed out. */
static int sorter_limit(struct sorter *sorter)
{
	if (sorter->bytes + sorter->nr * 2 * sizeof(*sorter->entries) > SORT_LIMIT) {
		sorter_sort(sorter);
		sorter->ready = sorter->nr / 2;
	}
	return sorter->nr_chunks * SORT_CHUNK > 2 * SORT_LIMIT ? sorter_compact(sorter) : 0;
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
	struct sort_stored *stored;

	sorter_drop_taken(sorter);
	if (sorter_reserve(sorter))
		return -ENOMEM;
	stored = sorter_store(sorter, record);
	if (!stored)
		return -ENOMEM;
	if (!time || time == ~0ULL)
		time = sorter->record_time;
	sorter->entries[sorter->nr++] = (struct sort_entry){ time, stored };
	sorter->record_time = time;
	if (time < sorter->last_time)
		sorter->ordered = false;
	else
		sorter->last_time = time;
	return sorter_limit(sorter) ?: 1;
}

/**
 * sorter_round - a round has ended
 * @sorter: sorter of which nothing can be taken now
 */
void sorter_round(struct sorter *sorter)
{
	if (sorter->several)
		return;
	sorter_drop_taken(sorter);
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
	sorter_drop_taken(sorter);
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
	sorter_release_taken(sorter);
	if (sorter->next >= sorter->ready)
		return 0;
	sorter->taken = sorter->entries[sorter->next++].stored;
	*record = sorter->taken->record;
	record->header = (const void *)sorter->taken->bytes;
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
