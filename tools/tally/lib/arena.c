// SPDX-License-Identifier: GPL-2.0
/* Memory that is freed at once. */
#include "feature.h"

#include <stdlib.h>
#include <string.h>

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
	char *copy = tally_arena_alloc(arena, size);

	return copy ? memcpy(copy, string, size) : NULL;
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
}
