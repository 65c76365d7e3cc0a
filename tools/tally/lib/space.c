// SPDX-License-Identifier: GPL-2.0
/*
 * Threads, their names, and what is mapped where.
 *
 * Names are kept once each: two names are equal if their pointers are.
 */
#include "space.h"

#include "builds.h"

#include <stdlib.h>
#include <string.h>

/* Hash buckets of threads, processes and paths. */
#define SPACE_BUCKETS	1024

/**
 * struct process - an address space
 * @pid: process
 * @maps: what is mapped
 * @next: next of the bucket
 */
struct process {
	u32 pid;
	struct tally_maps maps;
	struct process *next;
};

/**
 * struct thread - a thread with a name
 * @tid: thread
 * @comm: its name
 * @next: next of the bucket
 */
struct thread {
	u32 tid;
	const char *comm;
	struct thread *next;
};

/**
 * struct comm_name - a name
 * @next: next of the bucket
 * @hash: of the name
 * @name: name
 */
struct comm_name {
	struct comm_name *next;
	u32 hash;
	char name[];
};

/**
 * struct tally_space - all threads and mappings
 * @dsos: the files that are mapped
 * @kernel: mappings of the kernel and its modules
 * @processes: by pid
 * @threads: by tid
 * @names: by hash
 * @nr_names: number of them
 * @name_buckets: buckets of @names, a power of two
 * @builds: build ids of paths
 * @generation: changes with each change of a mapping
 * @last: process that was looked up last
 * @last_thread: thread that was looked up last
 */
struct tally_space {
	struct tally_dsos dsos;
	struct tally_maps kernel;
	struct process *processes[SPACE_BUCKETS];
	struct thread *threads[SPACE_BUCKETS];
	struct comm_name **names;
	u32 nr_names;
	u32 name_buckets;
	struct tally_builds builds;
	u32 generation;
	struct process *last;
	struct thread *last_thread;
};

/**
 * tally_space_new - a space without threads
 * @space: set to it
 * @symfs: as for tally_dsos_init()
 * @kallsyms: as for tally_dsos_init()
 *
 * Return: 0 or -ENOMEM.
 */
int tally_space_new(struct tally_space **space, const char *symfs, const char *kallsyms)
{
	struct tally_space *new = calloc(1, sizeof(*new));

	if (!new || tally_dsos_init(&new->dsos, symfs, kallsyms)) {
		free(new);
		return -ENOMEM;
	}
	new->builds.dsos = &new->dsos;
	*space = new;
	return 0;
}

static void space_free_names(struct tally_space *space)
{
	for (u32 i = 0; i < space->name_buckets; i++) {
		struct comm_name *name;

		while ((name = space->names[i])) {
			space->names[i] = name->next;
			free(name);
		}
	}
	free(space->names);
}

/**
 * tally_space_free - free a space
 * @space: space; may be NULL
 */
void tally_space_free(struct tally_space *space)
{
	if (!space)
		return;
	for (u32 i = 0; i < SPACE_BUCKETS; i++) {
		struct process *process;
		struct thread *thread;

		while ((process = space->processes[i])) {
			space->processes[i] = process->next;
			free(process->maps.maps);
			free(process);
		}
		while ((thread = space->threads[i])) {
			space->threads[i] = thread->next;
			free(thread);
		}
	}
	space_free_names(space);
	tally_builds_free(&space->builds);
	free(space->kernel.maps);
	tally_dsos_free(&space->dsos);
	free(space);
}

/**
 * tally_space_dsos - the files that are mapped
 * @space: space
 *
 * Return: their table.
 */
struct tally_dsos *tally_space_dsos(struct tally_space *space)
{
	return &space->dsos;
}

/**
 * tally_space_generation - has a mapping changed?
 * @space: space
 *
 * Return: a number that is another one if it has.
 */
u32 tally_space_generation(const struct tally_space *space)
{
	return space->generation;
}

static u32 text_hash(const char *text)
{
	u32 hash = 5381;

	for (const char *c = text; *c; c++)
		hash = hash * 33 + (u8)*c;
	return hash;
}

/* Doubles the buckets of the names. */
static bool space_grow_names(struct tally_space *space)
{
	u32 buckets = space->name_buckets ? space->name_buckets * 2 : SPACE_BUCKETS;
	struct comm_name **names = calloc(buckets, sizeof(*names)), *name;

	if (!names)
		return false;
	for (u32 i = 0; i < space->name_buckets; i++) {
		while ((name = space->names[i])) {
			struct comm_name **bucket = &names[name->hash & (buckets - 1)];

			space->names[i] = name->next;
			name->next = *bucket;
			*bucket = name;
		}
	}
	free(space->names);
	space->names = names;
	space->name_buckets = buckets;
	return true;
}

static const char *space_name(struct tally_space *space, const char *text)
{
	struct comm_name **bucket, *name;
	u32 hash = text_hash(text);

	if (space->nr_names >= space->name_buckets && !space_grow_names(space))
		return "";
	bucket = &space->names[hash & (space->name_buckets - 1)];
	for (name = *bucket; name; name = name->next)
		if (name->hash == hash && !strcmp(name->name, text))
			return name->name;
	name = malloc(sizeof(*name) + strlen(text) + 1);
	if (!name)
		return "";
	memcpy(name->name, text, strlen(text) + 1);
	name->hash = hash;
	name->next = *bucket;
	*bucket = name;
	space->nr_names++;
	return name->name;
}

static struct thread *space_thread(struct tally_space *space, u32 tid, bool create)
{
	struct thread **bucket = &space->threads[tid % SPACE_BUCKETS], *thread;

	if (space->last_thread && space->last_thread->tid == tid)
		return space->last_thread;
	for (thread = *bucket; thread; thread = thread->next)
		if (thread->tid == tid)
			return space->last_thread = thread;
	thread = create ? calloc(1, sizeof(*thread)) : NULL;
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->next = *bucket;
	*bucket = thread;
	return thread;
}

static struct process *space_process(struct tally_space *space, u32 pid, bool create)
{
	struct process **bucket = &space->processes[pid % SPACE_BUCKETS], *process;

	if (space->last && space->last->pid == pid)
		return space->last;
	for (process = *bucket; process; process = process->next)
		if (process->pid == pid)
			return space->last = process;
	process = create ? calloc(1, sizeof(*process)) : NULL;
	if (!process)
		return NULL;
	process->pid = pid;
	process->next = *bucket;
	*bucket = process;
	return space->last = process;
}

/* Index of the first mapping that ends above an address. */
static size_t maps_above(const struct tally_maps *maps, u64 address)
{
	size_t low = 0, high = maps->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int maps_insert(struct tally_maps *maps, size_t at, const struct tally_map *map)
{
	if (maps->nr == maps->room) {
		size_t room = maps->room ? maps->room * 2 : 16;
		struct tally_map *new = realloc(maps->maps, room * sizeof(*new));

		if (!new)
			return -ENOMEM;
		maps->maps = new;
		maps->room = room;
	}
	memmove(maps->maps + at + 1, maps->maps + at, (maps->nr - at) * sizeof(*map));
	maps->maps[at] = *map;
	maps->nr++;
	return 0;
}

static void maps_delete(struct tally_maps *maps, size_t at)
{
	maps->nr--;
	memmove(maps->maps + at, maps->maps + at + 1, (maps->nr - at) * sizeof(*maps->maps));
}

/* Removes what overlaps a range; what is left of a mapping on either side stays. */
static int maps_cut(struct tally_maps *maps, u64 start, u64 end)
{
	size_t at = maps_above(maps, start);

	while (at < maps->nr && maps->maps[at].start < end) {
		struct tally_map *map = &maps->maps[at], behind = *map;

		if (map->start >= start && map->end <= end) {
			maps_delete(maps, at);
			continue;
		}
		if (map->end > end) {
			behind.offset += end - behind.start;
			behind.start = end;
			if (map->start >= start) {
				*map = behind;
				break;
			}
			map->end = start;
			return maps_insert(maps, at + 1, &behind);
		}
		map->end = start;
		at++;
	}
	return 0;
}

static int maps_add(struct tally_maps *maps, const struct tally_map *map)
{
	if (map->end <= map->start || maps_cut(maps, map->start, map->end))
		return map->end <= map->start ? 0 : -ENOMEM;
	return maps_insert(maps, maps_above(maps, map->start), map);
}

/* Layout of MMAP and of MMAP2 up to their names. */
struct mmap_record {
	struct perf_event_header header;
	u32 pid;
	u32 tid;
	u64 start;
	u64 length;
	u64 offset;
	u8 file[TALLY_FILE_ID_BYTES];
	u32 protection;
	u32 flags;
};

#define MMAP_NAME_OFFSET	40
#define MMAP2_NAME_OFFSET	72
#define MMAP2_EXECUTABLE	4
#define KERNEL_NAME		"[kernel.kallsyms]"

/* Code that a program writes itself is described in a file of a fixed name. */
static struct tally_dso *mmap_dso(struct tally_space *space, u32 pid, const char *name,
				  const struct tally_file_id *id)
{
	char jit[64];

	if (!strncmp(name, "//anon", 6) || !strncmp(name, "/memfd:", 7) ||
	    !strncmp(name, "[anon", 5)) {
		snprintf(jit, sizeof(jit), "/tmp/perf-%u.map", pid);
		return tally_dso_get(&space->dsos, jit);
	}
	if (!strncmp(name, KERNEL_NAME, strlen(KERNEL_NAME)))
		return space->dsos.kernel;
	return tally_builds_file(&space->builds, pid, name, id);
}

/* The record of the kernel has the name of a symbol behind its own, and the address as offset. */
static int space_learn_kernel(struct tally_space *space, const struct tally_map *map,
			      const char *name)
{
	if (map->dso != space->dsos.kernel) {
		map->dso->kernel = true;
		map->dso->start = map->start;
		map->dso->end = map->end;
		return 0;
	}
	name += strlen(KERNEL_NAME);
	return *name && map->offset ? tally_kernel_set_mark(&space->dsos, name, map->offset) : 0;
}

static const char *mmap_name(const struct perf_event_header *header, size_t at)
{
	const char *name = (const char *)header + at;

	return at < header->size && memchr(name, 0, header->size - at) ? name : NULL;
}

/**
 * tally_mode_of - what a record is about
 * @misc: of its header
 *
 * Return: the mode of its address, or of what it maps.
 */
enum tally_mode tally_mode_of(u16 misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return TALLY_MODE_KERNEL;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return TALLY_MODE_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER:
		return TALLY_MODE_GUEST_USER;
	default:
		return TALLY_MODE_USER;
	}
}

/**
 * tally_mode_is_kernel - is an address one of a kernel?
 * @mode: mode
 *
 * Return: true for that of the host and that of a guest.
 */
bool tally_mode_is_kernel(enum tally_mode mode)
{
	return mode == TALLY_MODE_KERNEL || mode == TALLY_MODE_GUEST_KERNEL;
}

/**
 * tally_mode_is_guest - is an address one of a guest?
 * @mode: mode
 *
 * Return: true if nothing of the host is at this address.
 */
bool tally_mode_is_guest(enum tally_mode mode)
{
	return mode == TALLY_MODE_GUEST_USER || mode == TALLY_MODE_GUEST_KERNEL;
}

/**
 * tally_mode_letter - mode in tables
 * @mode: mode
 *
 * Return: '.', 'k', 'u' or 'g', as perf has them.
 */
char tally_mode_letter(enum tally_mode mode)
{
	static const char letters[] = {
		[TALLY_MODE_USER] = '.', [TALLY_MODE_KERNEL] = 'k',
		[TALLY_MODE_GUEST_USER] = 'u', [TALLY_MODE_GUEST_KERNEL] = 'g',
	};

	return letters[mode];
}

/* The build id of the kernel counts until its symbols are looked up. */
static void space_kernel_id(struct tally_space *space, const u8 *build_id, u32 size)
{
	if (size && !space->dsos.kernel->loaded)
		tally_dso_set_build_id(space->dsos.kernel, build_id, size);
}

static int space_learn_mmap(struct tally_space *space, const struct perf_event_header *header)
{
	bool second = header->type == PERF_RECORD_MMAP2;
	const struct mmap_record *record = (const void *)header;
	const char *name = mmap_name(header, second ? MMAP2_NAME_OFFSET : MMAP_NAME_OFFSET);
	struct tally_file_id id = {};
	bool kernel = tally_mode_of(header->misc) == TALLY_MODE_KERNEL;
	struct process *process;
	struct tally_map map;

	if (!name || (!kernel && second && !(record->protection & MMAP2_EXECUTABLE)) ||
	    header->misc & PERF_RECORD_MISC_MMAP_DATA ||
	    tally_mode_is_guest(tally_mode_of(header->misc)))
		return 0;
	if (second) {
		memcpy(&id, record->file, sizeof(record->file));
		id.has_build_id = header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
	}
	map = (struct tally_map){
		record->start, record->start + record->length, record->offset,
		mmap_dso(space, record->pid, name, &id),
	};
	if (!map.dso)
		return -ENOMEM;
	if (!strncmp(map.dso->name, "/tmp/perf-", 10))
		map.offset = map.start;
	if (map.dso == space->dsos.kernel && id.has_build_id)
		space_kernel_id(space, id.build_id, id.size);
	space->generation++;
	if (kernel)
		return space_learn_kernel(space, &map, name) ?: maps_add(&space->kernel, &map);
	process = space_process(space, record->pid, true);
	return process ? maps_add(&process->maps, &map) : -ENOMEM;
}

static int space_learn_comm(struct tally_space *space, const struct perf_event_header *header)
{
	const u32 *words = (const u32 *)(header + 1);
	const char *name = mmap_name(header, 16);
	struct process *process;
	struct thread *thread;

	if (!name)
		return 0;
	thread = space_thread(space, words[1], true);
	if (!thread)
		return -ENOMEM;
	thread->comm = space_name(space, name);
	if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	process = space_process(space, words[0], false);
	if (process)
		process->maps.nr = 0;
	space->generation++;
	return 0;
}

static int process_copy(struct tally_space *space, u32 from_pid, u32 to_pid)
{
	struct process *from = space_process(space, from_pid, false);
	struct process *to = space_process(space, to_pid, true);
	struct tally_map *maps;

	if (!to)
		return -ENOMEM;
	to->maps.nr = 0;
	space->generation++;
	if (!from || !from->maps.nr)
		return 0;
	maps = realloc(to->maps.maps, from->maps.nr * sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	to->maps.maps = memcpy(maps, from->maps.maps, from->maps.nr * sizeof(*maps));
	to->maps.nr = from->maps.nr;
	to->maps.room = from->maps.nr;
	return 0;
}

static int space_learn_fork(struct tally_space *space, const struct perf_event_header *header)
{
	const u32 *words = (const u32 *)(header + 1);
	struct thread *parent, *thread;

	if (header->size < sizeof(*header) + 4 * sizeof(u32))
		return 0;
	parent = space_thread(space, words[3], false);
	thread = space_thread(space, words[2], true);
	if (!thread)
		return -ENOMEM;
	thread->comm = parent ? parent->comm : NULL;
	return words[0] == words[1] ? 0 : process_copy(space, words[1], words[0]);
}

/* KSYMBOL: u64 address, u32 length, u16 type, u16 flags, name. */
static int space_learn_ksymbol(struct tally_space *space, const struct perf_event_header *header)
{
	const char *name = mmap_name(header, 24);
	u64 address;
	u32 length;
	u16 flags;

	if (!name)
		return 0;
	memcpy(&address, header + 1, sizeof(address));
	memcpy(&length, (const u8 *)header + 16, sizeof(length));
	memcpy(&flags, (const u8 *)header + 22, sizeof(flags));
	if (address + length <= address)
		return 0;
	if (!(flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER))
		return tally_ksymbol_add(&space->dsos, address, address + length,
					 space_name(space, name));
	tally_ksymbol_remove(&space->dsos, address, address + length);
	return 0;
}

static int space_build_id(struct tally_space *space, u32 pid, const char *name, const u8 *bytes)
{
	if (strncmp(name, KERNEL_NAME, strlen(KERNEL_NAME)))
		return tally_builds_add(&space->builds, pid, name, bytes);
	space_kernel_id(space, bytes, bytes[TALLY_BUILD_ID_SIZE] ?: TALLY_BUILD_ID_SIZE);
	return 0;
}

/* BUILD_ID: u32 pid, u8 build_id[20], u8 size, u8 reserved[3], name. */
static int space_learn_build_id(struct tally_space *space, const struct perf_event_header *header)
{
	const u8 *bytes = (const u8 *)header + 12;
	const char *name = mmap_name(header, 36);
	u32 pid;

	if (!name || tally_mode_is_guest(tally_mode_of(header->misc)))
		return 0;
	memcpy(&pid, header + 1, sizeof(pid));
	return space_build_id(space, pid, name, bytes);
}

/**
 * tally_space_learn - follow a record
 * @space: space
 * @record: any record; those that describe no thread and no mapping are ignored
 *
 * Return: 0 or -ENOMEM.
 */
int tally_space_learn(struct tally_space *space, const struct tally_record *record)
{
	const struct perf_event_attr *attr = record->event ? &record->event->attr : NULL;
	struct tally_fault fault;

	switch (record->header->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_KSYMBOL:
	case TALLY_RECORD_BUILD_ID:
		break;
	default:
		return 0;
	}
	if (tally_record_verify(record->header, attr, &fault))
		return 0;
	switch (record->header->type) {
	case PERF_RECORD_COMM:
		return space_learn_comm(space, record->header);
	case PERF_RECORD_FORK:
		return space_learn_fork(space, record->header);
	case PERF_RECORD_KSYMBOL:
		return space_learn_ksymbol(space, record->header);
	case TALLY_RECORD_BUILD_ID:
		return space_learn_build_id(space, record->header);
	default:
		return space_learn_mmap(space, record->header);
	}
}

/**
 * tally_space_build_ids - take build ids from section BUILD_ID
 * @space: space of which no symbol was looked up
 * @features: sections
 */
void tally_space_build_ids(struct tally_space *space, const struct tally_features *features)
{
	const struct tally_value *ids = features->values[TALLY_FEAT_BUILD_ID];

	for (u64 i = 0; ids && i < ids[0].number; i++) {
		const struct tally_value *row = ids[0].rows + i * 6;
		const char *name = (const char *)row[5].bytes;

		if (!row[5].size || !memchr(name, 0, row[5].size) ||
		    tally_mode_is_guest(tally_mode_of(row[1].number)))
			continue;
		space_build_id(space, row[3].number, name, row[4].bytes);
	}
}

/**
 * tally_space_comm - name of a thread
 * @space: space
 * @pid: its process
 * @tid: thread
 *
 * Return: the name; equal names are one pointer, valid as long as @space.
 */
const char *tally_space_comm(struct tally_space *space, u32 pid, u32 tid)
{
	struct thread *thread = space_thread(space, tid, true);
	struct thread *leader;
	char text[16];

	if (!thread)
		return "";
	if (thread->comm)
		return thread->comm;
	leader = pid == tid ? NULL : space_thread(space, pid, false);
	snprintf(text, sizeof(text), ":%d", tid);
	thread->comm = leader && leader->comm ? leader->comm :
		       tid ? space_name(space, text) : space_name(space, "swapper");
	return thread->comm;
}

/* The mapping at an address, looked for at the place of the last one first. */
static const struct tally_map *maps_find(struct tally_maps *maps, u64 address)
{
	const struct tally_map *map = &maps->maps[maps->last];
	size_t at;

	if (maps->last < maps->nr && map->start <= address && address < map->end)
		return map;
	at = maps_above(maps, address);
	if (at == maps->nr || maps->maps[at].start > address)
		return NULL;
	maps->last = at;
	return &maps->maps[at];
}

/**
 * tally_space_find - the mapping at an address
 * @space: space
 * @pid: process
 * @address: address in it
 * @kernel: an address of the kernel
 *
 * Return: the mapping, NULL if there is none; valid until a record is followed.
 */
const struct tally_map *tally_space_find(struct tally_space *space, u32 pid, u64 address,
					 bool kernel)
{
	struct process *process = kernel ? NULL : space_process(space, pid, false);

	if (kernel)
		return maps_find(&space->kernel, address);
	return process ? maps_find(&process->maps, address) : NULL;
}
