// SPDX-License-Identifier: GPL-2.0
/*
 * Side-band records about mappings: MMAP and MMAP2.
 *
 * Most of the cost is looking up the file's name, so a first walk determines whether any event
 * requests a record of this mapping, and with or without a build ID.
 *
 * Context: mmap_lock held for writing; may sleep, but must not fault on user memory.
 */
#include <linux/buildid.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "sideband.h"

/* Body of MMAP; MMAP2 begins with it. */
struct mmap_body {
	struct perf_ids	ids;
	u64		addr;
	u64		len;
	u64		pgoff;
};

/* The file in MMAP2, identified by device and inode or by build ID. */
union mmap_file {
	struct {
		u32	major;
		u32	minor;
		u64	ino;
		u64	generation;
	};
	struct {
		u8	build_id_size;
		u8	reserved1;
		u16	reserved2;
		u8	build_id[BUILD_ID_SIZE_MAX];
	};
};

struct mmap2_body {
	struct mmap_body	common;
	union mmap_file		file;
	u32			prot;
	u32			flags;
};

/**
 * struct mmap_record - a mapping to be recorded
 * @vma: the mapping
 * @is_exec: the mapping is executable
 * @wanted: an event requests a record
 * @wants_build_id: an event requests MMAP2 with the build ID
 * @body: body of the record without pid and tid
 * @build_id: file by build ID; build_id_size is 0 if the file has none
 * @name: file name, padded with zeros
 * @size: bytes of @name with padding, a multiple of 8
 */
struct mmap_record {
	struct vm_area_struct	*vma;
	bool			is_exec;
	bool			wanted;
	bool			wants_build_id;
	struct mmap2_body	body;
	union mmap_file		build_id;
	const char		*name;
	unsigned int		size;
};

static bool sb_mmap_matches(const struct perf_event *event, const struct mmap_record *r)
{
	const struct perf_event_attr *a = &event->attr;

	return r->is_exec ? a->mmap | a->mmap2 : a->mmap_data;
}

static void sb_mmap_find_wanted(struct perf_event *event, void *data)
{
	struct mmap_record *r = data;

	if (!sb_mmap_matches(event, r))
		return;
	r->wanted = true;
	if (event->attr.mmap2 && event->attr.build_id)
		r->wants_build_id = true;
}

static void sb_emit_mmap(struct perf_event *event, void *data)
{
	struct mmap_record *r = data;
	u16 misc = PERF_RECORD_MISC_USER | (r->is_exec ? 0 : PERF_RECORD_MISC_MMAP_DATA);
	struct mmap2_body body __uninitialized;

	if (!sb_mmap_matches(event, r))
		return;

	body = r->body;
	body.common.ids = perf_event_ids(event, current);
	if (!event->attr.mmap2) {
		perf_record_write(event, PERF_RECORD_MMAP, misc, &body.common,
				  sizeof(body.common), r->name, r->size);
		return;
	}
	if (event->attr.build_id && r->build_id.build_id_size) {
		body.file = r->build_id;
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	}
	perf_record_write(event, PERF_RECORD_MMAP2, misc, &body, sizeof(body), r->name, r->size);
}

/* ---------------------------------------------------------------- what it is */

static u32 sb_mmap_prot(const struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_READ ? PROT_READ : 0) |
	       (vma->vm_flags & VM_WRITE ? PROT_WRITE : 0) |
	       (vma->vm_flags & VM_EXEC ? PROT_EXEC : 0);
}

static u32 sb_mmap_flags(struct vm_area_struct *vma)
{
	return (vma->vm_flags & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE) |
	       (vma->vm_flags & VM_LOCKED ? MAP_LOCKED : 0) |
	       (is_vm_hugetlb_page(vma) ? MAP_HUGETLB : 0);
}

static const char *sb_mmap_anon_name(struct vm_area_struct *vma)
{
	const char *name = NULL;

	if (vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	if (!name)
		name = arch_vma_name(vma);
	if (name)
		return name;
	if (vma_is_initial_heap(vma))
		return "[heap]";
	return vma_is_initial_stack(vma) ? "[stack]" : "//anon";
}

/* Room behind a name in its buffer for padding. */
#define PADDING		sizeof(u64)

static char *sb_mmap_constant_name(const char *name, char *buf, size_t size)
{
	strscpy(buf, name, size - PADDING);
	return buf;
}

/* For a file on a stacked file system: the path that the user opened. */
static char *sb_mmap_file_name(struct file *file, char *buf)
{
	char *name = d_path(file_user_path(file), buf, PATH_MAX - PADDING);

	return IS_ERR(name) ? sb_mmap_constant_name("//toolong", buf, PATH_MAX) : name;
}

static void sb_mmap_describe_file(union mmap_file *to, struct file *file)
{
	const struct inode *inode = file_user_inode(file);
	dev_t dev = inode->i_sb->s_dev;

	to->major = MAJOR(dev);
	to->minor = MINOR(dev);
	to->ino = inode->i_ino;
	to->generation = inode->i_generation;
}

static void sb_mmap_describe_content(union mmap_file *to, struct vm_area_struct *vma)
{
	u32 size;

	memset(to, 0, sizeof(*to));
	if (!build_id_parse_nofault(vma, to->build_id, &size))
		to->build_id_size = size;
}

static void sb_mmap_describe(struct mmap_record *r)
{
	struct vm_area_struct *vma = r->vma;

	r->body.common.addr = vma->vm_start;
	r->body.common.len = vma->vm_end - vma->vm_start;
	r->body.common.pgoff = (u64)vma->vm_pgoff << PAGE_SHIFT;
	r->body.prot = sb_mmap_prot(vma);
	r->body.flags = sb_mmap_flags(vma);
	if (vma->vm_file)
		sb_mmap_describe_file(&r->body.file, vma->vm_file);
	else
		memset(&r->body.file, 0, sizeof(r->body.file));
	r->build_id.build_id_size = 0;
	if (r->wants_build_id)
		sb_mmap_describe_content(&r->build_id, vma);
}

static void sb_mmap_emit_named(struct mmap_record *r, char *name)
{
	unsigned int len = strlen(name) + 1;

	r->size = perf_sb_padded(len);
	memset(name + len, 0, r->size - len);
	r->name = name;
	perf_sb_visit(sb_emit_mmap, r);
}

static void sb_mmap_emit(struct mmap_record *r)
{
	struct file *file = r->vma->vm_file;
	char *path = file ? __getname() : NULL;
	char small[64] __uninitialized;
	const char *name;

	sb_mmap_describe(r);
	if (path) {
		sb_mmap_emit_named(r, sb_mmap_file_name(file, path));
		__putname(path);
	} else {
		name = file ? "//enomem" : sb_mmap_anon_name(r->vma);
		sb_mmap_emit_named(r, sb_mmap_constant_name(name, small, sizeof(small)));
	}
}

void perf_event_mmap(struct vm_area_struct *vma)
{
	struct mmap_record r __uninitialized;

	perf_addr_filters_mmap(vma);

	if (!atomic_read(&perf_nr_mmap_events))
		return;
	/* The rest is set by sb_mmap_describe(). */
	r.vma = vma;
	r.is_exec = vma->vm_flags & VM_EXEC;
	r.wanted = r.is_exec && !vma->vm_file;
	r.wants_build_id = false;
	/* What describes memory without a file is made in less time than the visit takes. */
	if (!r.is_exec || vma->vm_file)
		perf_sb_visit(sb_mmap_find_wanted, &r);
	if (r.wanted)
		sb_mmap_emit(&r);
}
