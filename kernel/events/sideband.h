/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Side-band records: who hears of them. Shared by the sideband files.
 */
#ifndef _KERNEL_EVENTS_SIDEBAND_H
#define _KERNEL_EVENTS_SIDEBAND_H

#include "event.h"

typedef void (*perf_sb_fn)(struct perf_event *event, void *data);

void perf_sideband_tell(perf_sb_fn fn, void *data);
void perf_sideband_tell_ctx(perf_sb_fn fn, void *data, struct perf_event_context *task_ctx);

/* Bytes of @len and zeros up to a multiple of eight. */
#define perf_sb_padded(len)	ALIGN((len), sizeof(u64))

unsigned int perf_sb_string(char *buf, const char *text, unsigned int size);

#endif
