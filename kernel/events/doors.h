/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 7: where requests come in.
 */
#ifndef _KERNEL_EVENTS_DOORS_H
#define _KERNEL_EVENTS_DOORS_H

#include "buffer.h"
#include "operations.h"

/* file.c */
extern const struct file_operations perf_event_fops;
static inline bool perf_file_is_event(const struct file *file)
{
	return file->f_op == &perf_event_fops;
}

/* ioctl.c */
long perf_event_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long perf_event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif
