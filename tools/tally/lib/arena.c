// SPDX-License-Identifier: GPL-2.0
/* Memory that is freed at once. */
#include "feature.h"

#include <stdlib.h>
#include <string.h>

/* Strings are allocated together: at first so many bytes, then twice as many each time. */
#define ARENA_STRINGS		256
#define ARENA_STRINGS_MAX	(64 * 1024)

/**
 * tally_arena_alloc - allocate zeroed memory
 * @arena: owner of the memory
 * @size: bytes, not 0
 *
 * Return: the memory, aligned for any type, or NULL.
 */
void *tally_arena_alloc(struct tally_arena *arena, size_t size)
{
	const size_t header = 16;
	u8 *chunk;

	if (size > SIZE_MAX - header)
		return NULL;
	chunk = calloc(1, size + header);
	if (!chunk)
		return NULL;
	*(void **)chunk = arena->chunks;
	arena->chunks = chunk;
	return chunk + header;
}

/* Room for a string. What the last allocation has left is lost. */
static bool arena_grow_strings(struct tally_arena *arena, size_t size)
{
	size_t room = arena->strings_room ? arena->strings_room * 2 : ARENA_STRINGS;

	if (room > ARENA_STRINGS_MAX)
		room = ARENA_STRINGS_MAX;
	arena->strings_room = room;
	if (room < size)
		room = size;
	arena->strings = tally_arena_alloc(arena, room);
	arena->strings_left = arena->strings ? room : 0;
	return arena->strings;
}

/**
 * tally_arena_strdup - copy a string
 * @arena: owner of the copy
 * @string: string
 *
 * Return: the copy or NULL.
 */
char *tally_arena_strdup(struct tally_arena *arena, const char *string)
{
	size_t size = strlen(string) + 1;
	char *copy;

	if (size > arena->strings_left && !arena_grow_strings(arena, size))
		return NULL;
	copy = memcpy(arena->strings, string, size);
	arena->strings += size;
	arena->strings_left -= size;
	return copy;
}

/**
 * tally_arena_free - free all of it
 * @arena: empty then
 */
void tally_arena_free(struct tally_arena *arena)
{
	while (arena->chunks) {
		void *chunk = arena->chunks;

		arena->chunks = *(void **)chunk;
		free(chunk);
	}
	*arena = (struct tally_arena){};
}
