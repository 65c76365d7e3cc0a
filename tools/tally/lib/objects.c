// SPDX-License-Identifier: GPL-2.0
/* Objects that are mapped while events are recorded, and their build ids. */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "dso.h"
#include "names.h"

/* Bits of a build id's record in the section BUILD_ID (perf.data-file-format.txt). */
#define MISC_BUILD_ID_SIZE	0x8000
#define BUILD_ID_BYTES		20
#define NOTE_BUILD_ID		3

#define KERNEL_NAME		"[kernel.kallsyms]"

/**
 * struct build_id_record - record of an object
 * @header: type TALLY_RECORD_BUILD_ID, misc states whether it is the kernel's
 * @pid: process, -1 for the kernel
 * @id: build id, its size in byte 20
 */
struct build_id_record {
	struct perf_event_header header;
	s32 pid;
	u8 id[24];
};

static size_t hash_name(const char *name)
{
	size_t hash = 5381;

	while (*name)
		hash = hash * 33 + (u8)*name++;
	return hash;
}

/* The entry of an object, or the empty one where it belongs. */
static struct tally_object *find_object(const struct tally_objects *objects, const char *name,
					const struct tally_file_id *id)
{
	size_t at = hash_name(name) & (objects->room - 1);

	while (objects->object[at].name && (strcmp(objects->object[at].name, name) ||
					    !tally_file_id_same(&objects->object[at].id, id)))
		at = (at + 1) & (objects->room - 1);
	return &objects->object[at];
}

static int grow_objects(struct tally_objects *objects)
{
	struct tally_objects more = *objects;

	more.room = objects->room ? 2 * objects->room : 256;
	more.object = calloc(more.room, sizeof(*more.object));
	if (!more.object)
		return -ENOMEM;
	if (!objects->room)
		clock_gettime(CLOCK_REALTIME_COARSE, &more.since);
	for (size_t i = 0; i < objects->room; i++) {
		const struct tally_object *object = &objects->object[i];

		if (object->name)
			*find_object(&more, object->name, &object->id) = *object;
	}
	free(objects->object);
	*objects = more;
	return 0;
}

int tally_objects_add(struct tally_objects *objects, const char *name, pid_t pid,
		      const struct tally_file_id *id, uint64_t time)
{
	struct tally_object *object;

	if (2 * objects->n >= objects->room && grow_objects(objects))
		return -ENOMEM;
	object = find_object(objects, name, id);
	if (object->name) {
		if (!id->has_build_id && !object->id.generation)
			object->id.generation = id->generation;
		if (time < object->time) {
			object->time = time;
			object->pid = pid;
		}
		return 0;
	}
	object->name = strdup(name);
	if (!object->name)
		return -ENOMEM;
	object->pid = pid;
	object->time = time;
	object->order = objects->n++;
	object->id = *id;
	return 0;
}

/* Finds the build id among the notes of @notes; the size of the id, 0 without. */
static size_t find_build_id(const u8 *notes, size_t size, u8 *id)
{
	while (size >= 12) {
		u32 words[3];
		size_t name, next;

		memcpy(words, notes, sizeof(words));
		name = 12 + ((words[0] + 3ul) & ~3ul);
		next = name + ((words[1] + 3ul) & ~3ul);
		if (next > size)
			return 0;
		if (words[2] == NOTE_BUILD_ID && words[0] == 4 && !memcmp(notes + 12, "GNU", 4)) {
			size_t bytes = words[1] < BUILD_ID_BYTES ? words[1] : BUILD_ID_BYTES;

			memcpy(id, notes + name, bytes);
			return bytes;
		}
		notes += next;
		size -= next;
	}
	return 0;
}

static size_t build_id_of_notes(const char *path, u8 *id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u8 notes[4096];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, notes, sizeof(notes));
	close(fd);
	return n > 0 ? find_build_id(notes, n, id) : 0;
}

/* Files have other inodes there than the records of their mappings. */
static bool hides_inodes(const char *path)
{
	struct statfs status;

	return !statfs(path, &status) && (status.f_type == OVERLAYFS_SUPER_MAGIC ||
					  status.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_older(const struct timespec *time, const struct timespec *than)
{
	return time->tv_sec != than->tv_sec ? time->tv_sec < than->tv_sec :
					      time->tv_nsec < than->tv_nsec;
}

/* An inode is used again for another file with another generation. */
static bool has_generation(const char *path, u32 generation)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	/* The number of the request has the size of a long: a server of FUSE may write as much. */
	int present[2];
	bool same = fd < 0 || ioctl(fd, FS_IOC_GETVERSION, present) ||
		(u32)present[0] == generation;

	if (fd >= 0)
		close(fd);
	return same;
}

static bool is_regular(const char *path, struct stat *status)
{
	/* A mapped device is not opened: that may have effects. */
	return !stat(path, status) && S_ISREG(status->st_mode);
}

static bool has_inode(const struct tally_file_id *id, const struct stat *status)
{
	return id->inode && id->inode == status->st_ino && id->major == major(status->st_dev) &&
	       id->minor == minor(status->st_dev);
}

/* Does the inode show that it is the file that was mapped? */
static bool is_same_file(const struct tally_file_id *id, const char *path)
{
	struct stat status;

	return is_regular(path, &status) && has_inode(id, &status) &&
	       (!id->generation || has_generation(path, id->generation));
}

/*
 * Of a file that is_same_file() does not show to be the one that was mapped: it has not changed
 * since, and no other file is known to have had the path, or all files have other inodes there.
 */
static bool is_only_file(const struct tally_objects *objects, const struct tally_file_id *id,
			 const char *path, bool only)
{
	struct stat status;

	if (!is_regular(path, &status) || has_inode(id, &status))
		return false;
	if (!id->inode)
		return only;
	return (only || hides_inodes(path)) && is_older(&status.st_ctim, &objects->since);
}

/*
 * The file may be in a root folder of its process alone, or have only that process left. What the
 * process executes may be any other file: that counts by its inode alone.
 */
static size_t build_id_of_file(const struct tally_objects *objects,
			       const struct tally_object *object, bool only, u8 *id)
{
	char root[4096 + 64], exe[64];
	const char *path;
	int size;

	snprintf(root, sizeof(root), "/proc/%d/root%s", object->pid, object->name);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", object->pid);
	if (is_same_file(&object->id, object->name))
		path = object->name;
	else if (is_same_file(&object->id, root))
		path = root;
	else if (is_same_file(&object->id, exe))
		path = exe;
	else if (is_only_file(objects, &object->id, root, only))
		path = root;
	else if (is_only_file(objects, &object->id, object->name, only))
		path = object->name;
	else
		return 0;
	size = tally_elf_build_id(path, id);
	return size > 0 ? size : 0;
}

/* Name of the module in a path that ends in NAME.ko, or in [NAME]. */
static size_t build_id_of_module(const char *path, u8 *id)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char module[128], notes[256];
	size_t length;

	if (*base == '[')
		base++;
	length = strcspn(base, ".]");
	snprintf(module, sizeof(module), "%.*s", (int)length, base);
	for (char *c = module; *c; c++)
		*c = *c == '-' ? '_' : *c;
	snprintf(notes, sizeof(notes), "/sys/module/%s/notes/.note.gnu.build-id", module);
	return build_id_of_notes(notes, id);
}

/* Objects of the path of an object with a build id, or all of them. */
static size_t count_path(const struct tally_objects *objects, const char *name, bool known)
{
	size_t at = hash_name(name) & (objects->room - 1), n = 0;

	for (; objects->object[at].name; at = (at + 1) & (objects->room - 1))
		n += !strcmp(objects->object[at].name, name) &&
		     (!known || objects->object[at].size);
	return n;
}

static bool is_kernel(const struct tally_object *object)
{
	return !strncmp(object->name, KERNEL_NAME, strlen(KERNEL_NAME));
}

static void find_object_id(const struct tally_objects *objects, struct tally_object *object)
{
	bool only = count_path(objects, object->name, false) == 1;
	u8 *id = object->build_id;

	if (is_kernel(object)) {
		object->size = build_id_of_notes("/sys/kernel/notes", id);
	} else if (object->pid == -1) {
		object->size = build_id_of_module(object->name, id);
	} else if (object->id.has_build_id && object->id.size <= BUILD_ID_BYTES) {
		memcpy(id, object->id.build_id, BUILD_ID_BYTES);
		object->size = object->id.size;
	} else if (*object->name == '/') {
		object->size = build_id_of_file(objects, object, only, id);
	}
}

static void put_build_id(struct tally_buf *buf, const struct tally_object *object)
{
	const char *name = is_kernel(object) ? KERNEL_NAME : object->name;
	size_t length = (strlen(name) + TALLY_STRING_ALIGN) & ~(TALLY_STRING_ALIGN - 1ul);
	struct build_id_record record = { .pid = object->pid };
	u8 *at;

	memcpy(record.id, object->build_id, sizeof(object->build_id));
	record.id[BUILD_ID_BYTES] = object->size;
	record.header.type = TALLY_RECORD_BUILD_ID;
	record.header.misc = MISC_BUILD_ID_SIZE |
		(object->pid == -1 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	record.header.size = sizeof(record) + length;
	at = tally_buf_grow(buf, record.header.size);
	if (!at)
		return;
	memset(at, 0, record.header.size);
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), name, strlen(name));
}

static int object_compare(const void *left, const void *right)
{
	const struct tally_object *a = *(const struct tally_object * const *)left;
	const struct tally_object *b = *(const struct tally_object * const *)right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* A reader takes the rows of a path in their order. */
int tally_objects_build_ids(struct tally_objects *objects, struct tally_buf *buf)
{
	const struct tally_object **rows;
	size_t n = 0;

	if (!objects->n)
		return 0;
	rows = calloc(objects->n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < objects->room; i++) {
		if (!objects->object[i].name)
			continue;
		find_object_id(objects, &objects->object[i]);
		rows[n++] = &objects->object[i];
	}
	qsort(rows, n, sizeof(*rows), object_compare);
	for (size_t i = 0; i < n; i++) {
		if (rows[i]->size || count_path(objects, rows[i]->name, true))
			put_build_id(buf, rows[i]);
	}
	free(rows);
	return 0;
}

void tally_objects_free(struct tally_objects *objects)
{
	for (size_t i = 0; i < objects->room; i++)
		free(objects->object[i].name);
	free(objects->object);
	memset(objects, 0, sizeof(*objects));
}
