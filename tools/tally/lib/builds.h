/* SPDX-License-Identifier: GPL-2.0 */
/* Which file it is that a mapping is of, by the build ids that are known of its path. */
#ifndef TALLY_BUILDS_H
#define TALLY_BUILDS_H

#include "dso.h"

struct build_path;
struct build_turn;
struct build_row;
struct build_file;

/**
 * struct tally_builds - build ids of section BUILD_ID and of BUILD_ID records
 * @dsos: table of the files
 * @paths: paths that have build ids
 * @turns: rows of a path and a process, by both
 * @rows: all rows, by path, process and build id
 * @files: files of paths with several build ids, by path and inode
 *
 * Zeroed, but for @dsos, before its first use.
 */
struct tally_builds {
	struct tally_dsos *dsos;
	struct build_path *paths[1024];
	struct build_turn *turns[8192];
	struct build_row *rows[8192];
	struct build_file *files[8192];
};

int tally_builds_add(struct tally_builds *builds, u32 pid, const char *name, const u8 *bytes);
struct tally_dso *tally_builds_file(struct tally_builds *builds, u32 pid, const char *name,
				    const struct tally_file_id *id);
void tally_builds_free(struct tally_builds *builds);

#endif /* TALLY_BUILDS_H */
