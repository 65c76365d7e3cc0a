/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 6, ops: operations on existing events. They are put into a context and taken out, enabled,
 * read, inherited, and changed when their task or CPU starts and ends.
 */
#ifndef _KERNEL_EVENTS_OPS_H
#define _KERNEL_EVENTS_OPS_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 6
# error "kernel/events/ops is a higher layer than this file"
#endif

#include "../sched/sched.h"

/* group.c */
void perf_epc_put(struct perf_event_pmu_context *epc);
void perf_epc_drop_unused(struct perf_event_pmu_context *epc);
void perf_group_make(struct perf_event *leader, struct perf_event_pmu_context *epc);
void perf_group_link(struct perf_event *event, struct perf_event_pmu_context *epc);
bool perf_group_join(struct perf_event *event, struct perf_event_pmu_context *epc);
void perf_group_detach(struct perf_event *event, bool linked);
void perf_group_unlink(struct perf_event *event);

/* install.c */
struct perf_event_context *perf_event_find_context(struct perf_event *event);
int  perf_install_prepare(struct perf_event_context *ctx, struct perf_event *event,
			  struct perf_event_pmu_context **epc);
void perf_install(struct perf_event_context *ctx, struct perf_event *event,
		  struct perf_event_pmu_context *epc);
void perf_attach_locked(struct perf_event_context *ctx, struct perf_event *event,
			struct perf_event_pmu_context *epc);
void perf_attach_unpublished(struct perf_event_context *ctx, struct perf_event *event,
			     struct perf_event_pmu_context *epc);
void perf_start_unpublished(struct perf_event_context *ctx);
void perf_detach_all_locked(struct perf_event_context *ctx);

/* Final state of an event that is removed; without a flag the event is disabled. */
#define PERF_REMOVE_EXIT	0x1	/* the task has exited, or its exec has removed the event */
#define PERF_REMOVE_DEAD	0x2	/* the last user has closed the event */
#define PERF_REMOVE_GROUP	0x4	/* so are all of the group, the leader first */
void perf_remove(struct perf_event *event, unsigned int flags);
void perf_detach_locked(struct perf_event_context *ctx, struct perf_event *event,
			unsigned int flags);

/* control.c */
void perf_group_enable_locked(struct perf_event *leader, bool on_exec);
void perf_event_disable_locked(struct perf_event *event);
void perf_event_reset(struct perf_event *event);
void perf_event_visit_children(struct perf_event *event, void (*fn)(struct perf_event *));
void perf_event_enable_group(struct perf_event *leader);
void perf_event_disable_group(struct perf_event *leader);
void perf_event_reset_group(struct perf_event *leader);
void __init perf_control_init(void);

/* read.c */
ssize_t perf_event_read_file(struct perf_event *event, char __user *buf, size_t count);

/* exit.c */
void perf_event_remove_child(struct perf_event *child, struct list_head *to_free);
void perf_event_free_list(struct list_head *to_free);

/* hotplug.c */
void __init perf_hotplug_init(void);

#endif
