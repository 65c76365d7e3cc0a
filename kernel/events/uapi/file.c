// SPDX-License-Identifier: GPL-2.0
/*
 * File operations of an event.
 */
#include <linux/fs.h>

#include "uapi.h"

static ssize_t perf_event_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct perf_event *event = file->private_data;
	int ret = security_perf_event_read(event);

	if (ret)
		return perf_refuse(ret, "security module: no read");
	return perf_event_read_file(event, buf, count);
}

static int perf_event_release(struct inode *inode, struct file *file)
{
	/* private_data is NULL if perf_event_open() failed after it made the file. */
	return file->private_data ? perf_event_release_kernel(file->private_data) : 0;
}

const struct file_operations perf_event_fops = {
	.release	= perf_event_release,
	.read		= perf_event_read,
	.poll		= perf_event_poll,
	.unlocked_ioctl	= perf_event_ioctl,
	.compat_ioctl	= perf_event_compat_ioctl,
	.mmap		= perf_event_mmap_file,
	.fasync		= perf_event_fasync_file,
};
