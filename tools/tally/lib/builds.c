// SPDX-License-Identifier: GPL-2.0
/*
 * Build ids of paths.
 *
 * A path with one build id has one file. Of several the recorder notes the process that was the
 * first to map the file, and has them in the order in which that was: the next row of a process is
 * that of the next file of the path which the process maps and which is not known yet.
 */
#include "builds.h"

#include <stdlib.h>
#include <string.h>

/**
 * struct build_path - a path that has build ids
 * @first: its first row
 * @several: a row has another build id than @first
 * @next: next of the bucket
 * @name: path
 */
struct build_path {
	const struct build_row *first;
	bool several;
	struct build_path *next;
	char name[];
};

/**
 * struct build_turn - rows of a path and a process
 * @path: path
 * @pid: process that has mapped these files first, (u32)-1 if it is not known
 * @rows: rows, in their order
 * @first: the first one that may not be taken
 * @last: where the next one is added
 * @closed: it is not known which file has the next row
 * @next: next of the bucket
 */
struct build_turn {
	struct build_path *path;
	u32 pid;
	struct build_row *rows;
	struct build_row **first;
	struct build_row **last;
	bool closed;
	struct build_turn *next;
};

/**
 * struct build_row - a build id of a path
 * @turn: its path and its process
 * @build_id: build id
 * @size: bytes of it, 0 if it is not known
 * @taken: it is known which file it is
 * @again: there was another one that is equal
 * @turn_next: next of @turn
 * @next: next of the bucket
 */
struct build_row {
	struct build_turn *turn;
	u8 build_id[TALLY_BUILD_ID_SIZE];
	u32 size;
	bool taken;
	bool again;
	struct build_row *turn_next;
	struct build_row *next;
};

/**
 * struct build_file - a file of a path that has several build ids
 * @path: path
 * @id: inode
 * @dso: the file
 * @next: next of the bucket
 */
struct build_file {
	const struct build_path *path;
	struct tally_file_id id;
	struct tally_dso *dso;
	struct build_file *next;
};

static struct build_path *find_path(struct tally_builds *builds, const char *name, bool create)
{
	u32 hash = tally_hash(0, name, strlen(name)) % ARRAY_SIZE(builds->paths);
	struct build_path *path;

	for (path = builds->paths[hash]; path; path = path->next)
		if (!strcmp(path->name, name))
			return path;
	path = create ? calloc(1, sizeof(*path) + strlen(name) + 1) : NULL;
	if (!path)
		return NULL;
	memcpy(path->name, name, strlen(name) + 1);
	path->next = builds->paths[hash];
	builds->paths[hash] = path;
	return path;
}

static struct build_turn *find_turn(struct tally_builds *builds, struct build_path *path, u32 pid,
				    bool create)
{
	u32 hash = tally_hash((uintptr_t)path, &pid, sizeof(pid)) % ARRAY_SIZE(builds->turns);
	struct build_turn *turn;

	for (turn = builds->turns[hash]; turn; turn = turn->next)
		if (turn->path == path && turn->pid == pid)
			return turn;
	turn = create ? calloc(1, sizeof(*turn)) : NULL;
	if (!turn)
		return NULL;
	*turn = (struct build_turn){
		.path = path, .pid = pid, .first = &turn->rows, .last = &turn->rows,
		.next = builds->turns[hash],
	};
	builds->turns[hash] = turn;
	return turn;
}

/* The bucket of a row. */
static struct build_row **row_bucket(struct tally_builds *builds, const struct build_turn *turn,
				     const u8 *build_id, u32 size)
{
	return &builds->rows[tally_hash((uintptr_t)turn, build_id, size) %
			     ARRAY_SIZE(builds->rows)];
}

static struct build_row *find_row(struct tally_builds *builds, const struct build_turn *turn,
				  const u8 *build_id, u32 size)
{
	struct build_row *row = *row_bucket(builds, turn, build_id, size);

	while (row && (row->turn != turn || row->size != size ||
		       memcmp(row->build_id, build_id, size)))
		row = row->next;
	return row;
}

/* Equal rows may be of one file or of several: then it is not known which file has the next. */
static void take_row(struct build_row *row)
{
	row->taken = true;
	row->turn->closed |= row->again;
}

static struct tally_dso *row_dso(struct tally_builds *builds, const struct build_row *row)
{
	const char *name = row->turn->path->name;

	return row->size ? tally_dso_of_build_id(builds->dsos, name, row->build_id, row->size) :
			   tally_dso_apart(builds->dsos, name);
}

/**
 * tally_builds_add - note a build id
 * @builds: build ids
 * @pid: process that was the first to map the file, (u32)-1 if it is not known
 * @name: path
 * @bytes: build id, TALLY_BUILD_ID_SIZE bytes, and its size
 *
 * Return: 0 or -ENOMEM.
 */
int tally_builds_add(struct tally_builds *builds, u32 pid, const char *name, const u8 *bytes)
{
	static const u8 none[TALLY_BUILD_ID_SIZE];
	struct build_path *path = find_path(builds, name, true);
	struct build_turn *turn = path ? find_turn(builds, path, pid, true) : NULL;
	struct build_row **bucket, *row;
	u32 size = bytes[TALLY_BUILD_ID_SIZE];

	if (!turn)
		return -ENOMEM;
	/* The size may be left at 0. */
	if (!size || size > TALLY_BUILD_ID_SIZE)
		size = TALLY_BUILD_ID_SIZE;
	if (!memcmp(bytes, none, sizeof(none)))
		size = 0;
	/* Only tally notes a file without a build id: each such row is of another file. */
	row = size ? find_row(builds, turn, bytes, size) : NULL;
	if (row) {
		row->again = true;
		return 0;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->turn = turn;
	row->size = size;
	memcpy(row->build_id, bytes, size);
	bucket = row_bucket(builds, turn, bytes, size);
	row->next = *bucket;
	*bucket = row;
	*turn->last = row;
	turn->last = &row->turn_next;
	if (!path->first)
		path->first = row;
	else if (path->first->size != size || memcmp(path->first->build_id, bytes, size))
		path->several = true;
	return size && !row_dso(builds, row) ? -ENOMEM : 0;
}

/* The row of the next file of the path that the process maps, NULL if that is not known. */
static struct build_row *next_row(struct build_turn *turn)
{
	if (!turn || turn->closed)
		return NULL;
	while (*turn->first && (*turn->first)->taken)
		turn->first = &(*turn->first)->turn_next;
	return *turn->first;
}

static struct tally_dso *known_file(struct tally_builds *builds, struct build_path *path, u32 pid,
				    const struct tally_file_id *id)
{
	u32 hash = tally_hash((uintptr_t)path, &id->inode, sizeof(id->inode)) %
		   ARRAY_SIZE(builds->files);
	struct build_file *file;
	struct build_row *row;

	for (file = builds->files[hash]; file; file = file->next)
		if (file->path == path && tally_file_id_same(&file->id, id))
			return file->dso;
	row = next_row(find_turn(builds, path, pid, false));
	if (!row)
		return tally_dso_apart(builds->dsos, path->name);
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	*file = (struct build_file){ path, *id, row_dso(builds, row), builds->files[hash] };
	builds->files[hash] = file;
	take_row(row);
	return file->dso;
}

/* The file has a build id by the record, and so has no row for an inode. */
static void take_turn(struct tally_builds *builds, u32 pid, const char *name, const u8 *build_id,
		      u32 size)
{
	struct build_path *path = find_path(builds, name, false);
	struct build_turn *turn = path ? find_turn(builds, path, pid, false) : NULL;
	struct build_row *row = NULL;

	if (turn && size <= TALLY_BUILD_ID_SIZE)
		row = find_row(builds, turn, build_id, size);
	if (row)
		take_row(row);
}

/**
 * tally_builds_file - the dso of what is mapped
 * @builds: build ids
 * @pid: process that maps it
 * @name: path
 * @id: which file it is, as far as the record shows it
 *
 * Return: the dso or NULL without memory.
 */
struct tally_dso *tally_builds_file(struct tally_builds *builds, u32 pid, const char *name,
				    const struct tally_file_id *id)
{
	struct build_path *path;

	if (id->has_build_id && id->size) {
		take_turn(builds, pid, name, id->build_id, id->size);
		return tally_dso_of_build_id(builds->dsos, name, id->build_id, id->size);
	}
	path = find_path(builds, name, false);
	if (!path)
		return tally_dso_get(builds->dsos, name);
	if (!path->several)
		return path->first && path->first->size ? row_dso(builds, path->first) :
			tally_dso_get(builds->dsos, name);
	return id->has_build_id || !id->inode ? tally_dso_apart(builds->dsos, name) :
						known_file(builds, path, pid, id);
}

/**
 * tally_builds_free - free what is noted
 * @builds: build ids
 */
void tally_builds_free(struct tally_builds *builds)
{
	for (size_t i = 0; i < ARRAY_SIZE(builds->paths); i++) {
		struct build_path *path;

		while ((path = builds->paths[i])) {
			builds->paths[i] = path->next;
			free(path);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(builds->rows); i++) {
		struct build_turn *turn;
		struct build_file *file;
		struct build_row *row;

		while ((turn = builds->turns[i])) {
			builds->turns[i] = turn->next;
			free(turn);
		}
		while ((row = builds->rows[i])) {
			builds->rows[i] = row->next;
			free(row);
		}
		while ((file = builds->files[i])) {
			builds->files[i] = file->next;
			free(file);
		}
	}
}
