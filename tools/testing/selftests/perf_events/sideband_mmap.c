// SPDX-License-Identifier: GPL-2.0
/* MMAP and MMAP2 records. Run as root. */
#include "sideband.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct mapping {
	struct perf_event_header h;
	uint32_t	pid, tid;
	uint64_t	addr, len, pgoff;
	union {
		struct {
			uint32_t	maj, min;
			uint64_t	ino, generation;
			uint32_t	prot, flags;
			char		name2[];
		};
		struct {
			uint8_t		id_size, r1;
			uint16_t	r2;
			uint8_t		id[20];
		};
	};
};

static struct ring second;

/* The name in PERF_RECORD_MMAP, which has no fields between pgoff and the name. */
static const char *mmap_name(const struct mapping *m)
{
	return (const char *)m + offsetof(struct mapping, maj);
}

static int own_file(struct stat *st)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	if (fd < 0 || fstat(fd, st))
		fail_case("/proc/self/exe");
	return fd;
}

static bool mmap_records(void)
{
	struct perf_event_attr attr = sideband_attr();
	char path[256] = "";
	struct mapping *m;
	struct stat st;
	int file = own_file(&st);
	void *p;
	bool ok = true;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		fail_case("readlink");
	attr.mmap = 1;
	open_sideband(&ring, &attr, 0, -1);
	attr.mmap2 = 1;
	open_sideband(&second, &attr, 0, -1);
	mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, file, 0);		/* not executable */
	p = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, page);

	m = (void *)ring_next(&ring);
	ok &= expect(m && m->h.type == PERF_RECORD_MMAP && m->h.misc == PERF_RECORD_MISC_USER &&
		     m->pid == (uint32_t)getpid() && m->tid == m->pid, "MMAP: pid, tid");
	ok &= expect(m && m->addr == (uintptr_t)p && m->len == 2ULL * page &&
		     m->pgoff == (uint64_t)page, "MMAP: addr, len, pgoff");
	ok &= expect(m && !strcmp(mmap_name(m), path) &&
		     size_is_padded(record_body_size(&m->h), 32, path), "MMAP: file name");
	ok &= expect(!ring_next(&ring), "MMAP: nothing else");

	m = (void *)ring_next(&second);
	ok &= expect(m && m->h.type == PERF_RECORD_MMAP2 && m->addr == (uintptr_t)p &&
		     m->ino == st.st_ino && m->maj == major(st.st_dev) &&
		     m->min == minor(st.st_dev), "MMAP2: device and inode");
	ok &= expect(m && m->prot == (PROT_READ | PROT_EXEC) && m->flags == MAP_PRIVATE &&
		     !strcmp(m->name2, path), "MMAP2: prot, flags, file name");
	ok &= expect(!ring_next(&second), "MMAP2: nothing else");
	close_sideband(&ring);
	close_sideband(&second);
	close(file);
	return ok;
}

static bool mmap_data_records(void)
{
	struct perf_event_attr attr = sideband_attr();
	struct mapping *m;
	void *p;
	bool ok = true;

	attr.mmap_data = 1;
	attr.mmap2 = 1;
	open_sideband(&ring, &attr, 0, -1);
	/* The mapping of the buffer itself is the first record. */
	m = (void *)ring_next(&ring);
	ok &= expect(m && m->addr == (uintptr_t)ring.page && m->len == ring.size + page &&
		     strstr(m->name2, "[perf_event]"), "mmap_data: the buffer");
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	m = (void *)ring_next(&ring);
	ok &= expect(m && m->h.type == PERF_RECORD_MMAP2 && m->addr == (uintptr_t)p &&
		     m->h.misc == (PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA) &&
		     m->prot == (PROT_READ | PROT_WRITE) && m->flags == MAP_SHARED,
		     "mmap_data: shared memory");
	p = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m = (void *)ring_next(&ring);
	ok &= expect(m && m->addr == (uintptr_t)p && !strcmp(m->name2, "//anon") && !m->ino,
		     "mmap_data: anonymous memory");
	mprotect(p, page, PROT_READ | PROT_EXEC);
	m = (void *)ring_find(&ring, PERF_RECORD_MMAP2);
	ok &= expect(m && m->addr == (uintptr_t)p && !(m->h.misc & PERF_RECORD_MISC_MMAP_DATA) &&
		     m->prot == (PROT_READ | PROT_EXEC), "mprotect: it becomes executable");
	close_sideband(&ring);
	return ok;
}

/*
 * Reads the note with the build ID from the file of this program. Returns its size, 0 if it has
 * none.
 */
static int own_build_id(uint8_t *id)
{
	static char buf[4096] __aligned(8);
	Elf64_Ehdr *elf = (void *)buf;
	Elf64_Phdr *segment = (void *)(buf + sizeof(*elf));
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	for (int i = 0; i < elf->e_phnum; i++) {
		Elf64_Off at = segment[i].p_offset, end = at + segment[i].p_filesz;

		if (segment[i].p_type != PT_NOTE || (ssize_t)end > n)
			continue;
		while (at + sizeof(Elf64_Nhdr) <= end) {
			Elf64_Nhdr *note = (void *)(buf + at);
			char *name = (char *)(note + 1);

			if (note->n_type == NT_GNU_BUILD_ID && !memcmp(name, "GNU", 4)) {
				memcpy(id, name + 4, note->n_descsz);
				return note->n_descsz;
			}
			at += sizeof(*note) + (note->n_namesz + 3) / 4 * 4 +
			      (note->n_descsz + 3) / 4 * 4;
		}
	}
	return 0;
}

static bool build_id_record(void)
{
	struct perf_event_attr attr = sideband_attr();
	uint8_t id[64];
	int size = own_build_id(id), file;
	struct mapping *m;
	struct stat st;
	bool ok;

	if (!size)
		skip_case("the program has none");
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.build_id = 1;
	open_sideband(&ring, &attr, 0, -1);
	file = own_file(&st);
	mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	m = (void *)ring_next(&ring);
	ok = expect(m && m->h.misc == (PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID) &&
		    m->id_size == size && !memcmp(m->id, id, size) &&
		    m->prot == (PROT_READ | PROT_EXEC), "MMAP2: build ID of %d bytes", size);
	close(file);
	close_sideband(&ring);
	return ok;
}

static const struct test tests[] = {
	{ "MMAP and MMAP2: an executable mapping of a file", mmap_records },
	{ "MMAP2 of data, anonymous memory and mprotect", mmap_data_records },
	{ "MMAP2 with a build ID", build_id_record },
};

TESTS_MAIN_SETUP(tests, sideband_setup)
