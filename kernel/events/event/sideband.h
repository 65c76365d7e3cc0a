/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Side-band records: what sideband.c offers to sideband_mmap.c and sideband_text.c.
 */
#ifndef _KERNEL_EVENTS_SIDEBAND_H
#define _KERNEL_EVENTS_SIDEBAND_H

#include "event.h"

typedef void (*perf_sb_fn)(struct perf_event *event, void *data);

void perf_sb_visit(perf_sb_fn fn, void *data);
void perf_sb_visit_ctx(perf_sb_fn fn, void *data, struct perf_event_context *task_ctx);

/* @len bytes rounded up to a multiple of 8: the size of a padded string in a record. */
#define perf_sb_padded(len)	ALIGN((len), sizeof(u64))

unsigned int perf_sb_string(char *buf, const char *text, unsigned int size);

#endif
