// SPDX-License-Identifier: GPL-2.0
/* Objects that are mapped while events are recorded, and their build ids. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dso.h"
#include "names.h"

/* Bits of a build id's record in the section BUILD_ID (perf.data-file-format.txt). */
#define MISC_BUILD_ID_SIZE	0x8000
#define BUILD_ID_BYTES		20
#define NOTE_BUILD_ID		3

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

/* The entry of a name, or the empty one where it belongs. */
static size_t find_object(const struct tally_objects *objects, const char *name)
{
	size_t at = hash_name(name) & (objects->room - 1);

	while (objects->names[at] && strcmp(objects->names[at], name))
		at = (at + 1) & (objects->room - 1);
	return at;
}

static int grow_objects(struct tally_objects *objects)
{
	struct tally_objects more = { .room = objects->room ? 2 * objects->room : 256 };

	more.names = calloc(more.room, sizeof(*more.names));
	more.pid = calloc(more.room, sizeof(*more.pid));
	if (!more.names || !more.pid) {
		free(more.names);
		free(more.pid);
		return -ENOMEM;
	}
	for (size_t i = 0; i < objects->room; i++) {
		size_t at;

		if (!objects->names[i])
			continue;
		at = find_object(&more, objects->names[i]);
		more.names[at] = objects->names[i];
		more.pid[at] = objects->pid[i];
	}
	more.n = objects->n;
	free(objects->names);
	free(objects->pid);
	*objects = more;
	return 0;
}

int tally_objects_add(struct tally_objects *objects, const char *name, pid_t pid)
{
	size_t at;

	if (2 * objects->n >= objects->room && grow_objects(objects))
		return -ENOMEM;
	at = find_object(objects, name);
	if (objects->names[at])
		return 0;
	objects->names[at] = strdup(name);
	if (!objects->names[at])
		return -ENOMEM;
	objects->pid[at] = pid;
	objects->n++;
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

/* A mapped device is not opened: that may have effects. */
static size_t build_id_of_file(const char *path, u8 *id)
{
	struct stat status;
	int size;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
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

static void put_build_id(struct tally_buf *buf, const char *name, pid_t pid)
{
	struct build_id_record record = { .pid = pid };
	bool kernel = !strncmp(name, "[kernel.kallsyms]", 17);
	size_t length, size;
	u8 *at;

	if (kernel) {
		name = "[kernel.kallsyms]";
		size = build_id_of_notes("/sys/kernel/notes", record.id);
	} else if (pid == -1) {
		size = build_id_of_module(name, record.id);
	} else {
		size = *name == '/' ? build_id_of_file(name, record.id) : 0;
	}
	if (!size)
		return;
	record.id[BUILD_ID_BYTES] = size;
	length = (strlen(name) + TALLY_STRING_ALIGN) & ~(TALLY_STRING_ALIGN - 1ul);
	record.header.type = TALLY_RECORD_BUILD_ID;
	record.header.misc = MISC_BUILD_ID_SIZE |
		(pid == -1 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	record.header.size = sizeof(record) + length;
	at = tally_buf_grow(buf, record.header.size);
	if (!at)
		return;
	memset(at, 0, record.header.size);
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), name, strlen(name));
}

void tally_objects_build_ids(const struct tally_objects *objects, struct tally_buf *buf)
{
	for (size_t i = 0; i < objects->room; i++) {
		if (objects->names[i])
			put_build_id(buf, objects->names[i], objects->pid[i]);
	}
}

void tally_objects_free(struct tally_objects *objects)
{
	for (size_t i = 0; i < objects->room; i++)
		free(objects->names[i]);
	free(objects->names);
	free(objects->pid);
	memset(objects, 0, sizeof(*objects));
}
