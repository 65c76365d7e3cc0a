/* SPDX-License-Identifier: GPL-2.0 */
/* Threads, their names, and what is mapped where: the state that side-band records describe. */
#ifndef TALLY_SPACE_H
#define TALLY_SPACE_H

#include "data_read.h"
#include "dso.h"

/**
 * enum tally_mode - what an address is of
 * @TALLY_MODE_USER: a process
 * @TALLY_MODE_KERNEL: the kernel
 * @TALLY_MODE_GUEST_USER: a process of a guest
 * @TALLY_MODE_GUEST_KERNEL: the kernel of a guest
 */
enum tally_mode {
	TALLY_MODE_USER,
	TALLY_MODE_KERNEL,
	TALLY_MODE_GUEST_USER,
	TALLY_MODE_GUEST_KERNEL,
};

/**
 * struct tally_map - a mapping of code
 * @start: first address
 * @end: first address behind it
 * @offset: of @start in the file, bytes
 * @dso: the file
 */
struct tally_map {
	u64 start;
	u64 end;
	u64 offset;
	struct tally_dso *dso;
};

/**
 * struct tally_maps - mappings of a process, or of the kernel
 * @maps: sorted by start, none overlaps another
 * @nr: number of them
 * @room: number allocated
 * @last: index of the one that was found last
 */
struct tally_maps {
	struct tally_map *maps;
	size_t nr;
	size_t room;
	size_t last;
};

struct tally_space;

int tally_space_new(struct tally_space **space, const char *symfs, const char *kallsyms);
void tally_space_free(struct tally_space *space);
struct tally_dsos *tally_space_dsos(struct tally_space *space);
int tally_space_learn(struct tally_space *space, const struct tally_record *record);
void tally_space_build_ids(struct tally_space *space, const struct tally_features *features);
const char *tally_space_comm(struct tally_space *space, u32 pid, u32 tid);
const struct tally_map *tally_space_find(struct tally_space *space, u32 pid, u64 address,
					 bool kernel);
enum tally_mode tally_mode_of(u16 misc);
bool tally_mode_is_kernel(enum tally_mode mode);
bool tally_mode_is_guest(enum tally_mode mode);
char tally_mode_letter(enum tally_mode mode);
u32 tally_space_generation(const struct tally_space *space);

#endif /* TALLY_SPACE_H */
