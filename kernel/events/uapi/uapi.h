/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 7, uapi: the system call, file operations, and the interface for kernel users.
 */
#ifndef _KERNEL_EVENTS_UAPI_H
#define _KERNEL_EVENTS_UAPI_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 7
# error "kernel/events/uapi is a higher layer than this file"
#endif

#include "../ops/ops.h"

/* file.c */
extern const struct file_operations perf_event_fops;
static inline bool perf_file_is_event(const struct file *file)
{
	return file->f_op == &perf_event_fops;
}

/* ioctl.c */
long perf_event_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long perf_event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* mmap.c */
int  perf_event_mmap_file(struct file *file, struct vm_area_struct *vma);

#endif
