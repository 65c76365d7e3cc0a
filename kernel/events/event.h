/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 4: the life of an event, what a user may ask for, accounting, redirection of output,
 * address filters and side-band records.
 */
#ifndef _KERNEL_EVENTS_EVENT_H
#define _KERNEL_EVENTS_EVENT_H

#include "wing.h"

/* attr.c: what may be asked for, by whom. Process context. */
int perf_copy_attr(struct perf_event_attr __user *uattr, struct perf_event_attr *attr);
int perf_attr_permitted(const struct perf_event_attr *attr);

/* event.c */

/**
 * struct perf_event_spec - what an event is to be
 * @attr: checked attributes; copied
 * @cpu: CPU, -1 for any
 * @task: task, NULL for a CPU event
 * @leader: leader of its group, NULL for itself
 * @parent: event it is inherited from
 * @handler: overflow handler of a kernel user, NULL for writing records
 * @handler_context: for it
 * @cgroup_fd: file of the cgroup, -1 for none
 */
struct perf_event_spec {
	const struct perf_event_attr	*attr;
	int				cpu;
	struct task_struct		*task;
	struct perf_event		*leader;
	struct perf_event		*parent;
	perf_overflow_handler_t		handler;
	void				*handler_context;
	int				cgroup_fd;
};

/*
 * perf_event::account_flags: what has been found out about an event when it was made, beside the
 * counts it is in (account.c).
 */
#define EVENT_LIGHT	BIT(31)		/* lies in its context's memory: perf_event_clone() */
#define EVENT_SIDEBAND	BIT(30)		/* wants side-band records */
#define EVENT_BOUND	BIT(29)		/* a task's, and not for every CPU */
#define EVENT_TRAITS	(EVENT_SIDEBAND | EVENT_BOUND)

static inline bool perf_event_is_sideband(const struct perf_event *event)
{
	return event->account_flags & EVENT_SIDEBAND;
}

struct perf_event *perf_event_alloc(const struct perf_event_spec *spec);
bool perf_event_is_light(struct perf_event *parent);
struct perf_event *perf_event_clone(struct perf_event_context *ctx, struct perf_event_spec *spec);
int __init perf_event_cache_init(void);
void perf_event_free(struct perf_event *event);	/* never attached, or detached for good */
void perf_event_put(struct perf_event *event);
bool perf_event_get_live(struct perf_event *event);	/* a reference, unless it is going */

/* account.c: static keys that follow the number of events of a kind. May sleep. */
void perf_account(struct perf_event *event);
void perf_unaccount(struct perf_event *event);
void perf_sched_key_get(void);
void perf_sched_key_put(void);
extern atomic_t perf_nr_comm_events, perf_nr_mmap_events, perf_nr_task_events,
	perf_nr_namespaces_events, perf_nr_switch_events, perf_nr_ksymbol_events,
	perf_nr_bpf_events, perf_nr_cgroup_events, perf_nr_text_poke_events,
	perf_nr_build_id_events;

/* cgroup_ref.c: the cgroup of an event */
#ifdef CONFIG_CGROUP_PERF
/**
 * struct perf_cgroup - a cgroup's part of this subsystem
 * @css: the controller's state
 * @ctx: the cgroup's context on each CPU, NULL until it has an event there
 */
struct perf_cgroup {
	struct cgroup_subsys_state		css;
	struct perf_event_context *__percpu	*ctx;
};
int  perf_cgroup_connect(int fd, struct perf_event *event);
void perf_cgroup_disconnect(struct perf_event *event);
/* RCU. */
static inline struct perf_cgroup *perf_cgroup_of_task(struct task_struct *task)
{
	return container_of(task_css_check(task, perf_event_cgrp_id, true), struct perf_cgroup, css);
}
#else
static inline int perf_cgroup_connect(int fd, struct perf_event *event)
{
	return perf_refuse(-EINVAL, "flags: PID_CGROUP needs a kernel with CONFIG_CGROUP_PERF");
}
static inline void perf_cgroup_disconnect(struct perf_event *event) { }
#endif

/* redirect.c: whose buffer an event writes to. */
int perf_event_set_output(struct perf_event *event, struct perf_event *target);

/* addr_filter.c */
int  perf_event_set_filter(struct perf_event *event, void __user *arg);
void perf_event_free_filter(struct perf_event *event);
void perf_addr_filters_exec(struct perf_event *event);	/* exec: ranges of the old mm are void */
void perf_addr_filters_mmap(struct vm_area_struct *vma);
void perf_addr_filters_clone(struct perf_event *to, struct perf_event *from);

/* breakpoint.c */
#ifdef CONFIG_HAVE_HW_BREAKPOINT
void perf_bp_catch_up(struct perf_event *child, const struct perf_event *parent);
#else
static inline void perf_bp_catch_up(struct perf_event *child, const struct perf_event *parent) { }
#endif

/* bpf.c */
int  perf_event_set_bpf_handler(struct perf_event *event, struct bpf_prog *prog, u64 cookie);
void perf_event_free_bpf_handler(struct perf_event *event);

/* sideband.c: records about tasks, mappings and kernel text. */
void perf_sideband_task_exit(struct task_struct *task, struct perf_event_context *ctx);
void perf_sideband_switch(struct task_struct *task, struct task_struct *other, bool sched_in);
void perf_sideband_cgroup(struct cgroup *cgrp);

#endif
