/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 6: what is done to events that exist: putting them into a context and taking them out,
 * enabling, reading, inheriting, following a task's and a CPU's life.
 */
#ifndef _KERNEL_EVENTS_OPERATIONS_H
#define _KERNEL_EVENTS_OPERATIONS_H

#include "engine.h"

/* install.c: ctx->mutex held. */
int  perf_install(struct perf_event_context *ctx, struct perf_event *event);
void perf_attach_locked(struct perf_event_context *ctx, struct perf_event *event,
			struct perf_event_pmu_context *epc);
void perf_attach_unseen(struct perf_event_context *ctx, struct perf_event *event,
			struct perf_event_pmu_context *epc);
void perf_start_unseen(struct perf_event_context *ctx);
void perf_detach_all_locked(struct perf_event_context *ctx);

/* What becomes of an event that is taken out. */
#define PERF_REMOVE_EXIT	0x1	/* its task is gone */
#define PERF_REMOVE_DEAD	0x2	/* its last user is gone */
void perf_remove(struct perf_event *event, unsigned int flags);
void perf_detach_locked(struct perf_event_context *ctx, struct perf_event *event,
			unsigned int flags);

/* control.c: for the event alone, and for it, its group and its children. */
void perf_event_enable_locked(struct perf_event *event);
void perf_event_disable_locked(struct perf_event *event);
void perf_event_reset(struct perf_event *event);
void perf_event_for_each_child(struct perf_event *event, void (*fn)(struct perf_event *));
int  perf_event_refresh_by(struct perf_event *event, int refresh);

/* read.c */
ssize_t perf_event_read_file(struct perf_event *event, char __user *buf, size_t count);
u64  perf_event_count_total(const struct perf_event *event);

/* exit.c */
void perf_event_bury_child(struct perf_event *child, struct list_head *gone);
void perf_event_put_all(struct list_head *gone);

/* release.c */
struct perf_event_context *perf_event_find_context(struct perf_event *event);

/* hotplug.c */
int __init perf_hotplug_init(void);

#endif
