/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 4, event: allocation and validation of events, accounting, redirection of output, address
 * filters, BPF programs, deferred work and side-band records.
 */
#ifndef _KERNEL_EVENTS_EVENT_H
#define _KERNEL_EVENTS_EVENT_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 4
# error "kernel/events/event is a higher layer than this file"
#endif

#include <linux/irq_work.h>

#include "../pmus/pmus.h"

/* attr.c: validation of attributes and privileges */
int perf_copy_attr(struct perf_event_attr __user *uattr, struct perf_event_attr *attr);
int perf_attr_permitted(const struct perf_event_attr *attr);

/* event.c */

/**
 * struct perf_event_spec - description of an event to be allocated
 * @attr: validated attributes; copied
 * @cpu: CPU number, -1 for any CPU
 * @task: task to count, NULL for an event of a CPU
 * @leader: leader of the group to join, NULL for a new group
 * @parent: top event that the new one is inherited from, NULL for an opened event
 * @handler: overflow handler of a kernel user, NULL to write records
 * @handler_context: argument of @handler
 * @cgroup_fd: file descriptor of a cgroup directory, -1 for none
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
 * perf_event::account_flags: properties that do not change while the event is open. The lower
 * bits are the kinds it is counted in (account.c).
 */
#define EVENT_EMBEDDED	BIT(31)		/* part of its context's allocation: perf_event_clone() */
#define EVENT_SIDEBAND	BIT(30)		/* requests side-band records */
#define EVENT_BOUND	BIT(29)		/* a task's event that some CPUs cannot count */
#define EVENT_UNUSED	BIT(28)		/* a grace period ago nothing referred to it any more */
#define EVENT_EMBEDDABLE	BIT(27)		/* its children can be EVENT_EMBEDDED */
#define EVENT_TRAITS	(EVENT_SIDEBAND | EVENT_BOUND | EVENT_EMBEDDABLE)

static inline bool perf_event_is_sideband(const struct perf_event *event)
{
	return event->account_flags & EVENT_SIDEBAND;
}

struct perf_event *perf_event_alloc(const struct perf_event_spec *spec);

/**
 * perf_event_is_embeddable - can children of an event be embedded in their context?
 * @parent: event to be inherited
 *
 * Context: any
 * Return: true if perf_event_clone() needs no separate allocation
 */
static inline bool perf_event_is_embeddable(const struct perf_event *parent)
{
	return parent->account_flags & EVENT_EMBEDDABLE && !READ_ONCE(parent->prog);
}

struct perf_event *perf_event_clone(struct perf_event_context *ctx, struct perf_event_spec *spec);
void __init perf_event_cache_init(void);
void perf_event_free(struct perf_event *event);
void perf_event_put(struct perf_event *event);
bool perf_event_get_live(struct perf_event *event);

/* account.c: number of events of each kind, and the static keys that depend on them */
void perf_account(struct perf_event *event);
void perf_unaccount(struct perf_event *event);
void perf_sched_key_get(void);
void perf_sched_key_put(void);
/* perf_nr_switch_events includes the CPUs' PMUs with requests of perf_sched_cb_inc(). */
extern atomic_t perf_nr_comm_events, perf_nr_mmap_events, perf_nr_task_events,
	perf_nr_namespaces_events, perf_nr_switch_events, perf_nr_ksymbol_events,
	perf_nr_bpf_events, perf_nr_cgroup_events, perf_nr_text_poke_events,
	perf_nr_build_id_events;

/* cgroup_css.c: the cgroup of an event */
#ifdef CONFIG_CGROUP_PERF
extern struct static_key_false perf_cgroup_key;	/* account.c: a cgroup event exists */

/**
 * struct perf_cgroup - state of the controller "perf_event" for one cgroup
 * @css: embedded controller state
 * @ctx: the cgroup's context on each CPU, NULL until the cgroup has an event there
 */
struct perf_cgroup {
	struct cgroup_subsys_state		css;
	struct perf_event_context *__percpu	*ctx;
};

int  perf_cgroup_connect(int fd, struct perf_event *event);
void perf_cgroup_disconnect(struct perf_event *event);

/* RCU read section. */
static inline struct perf_cgroup *perf_cgroup_of_task(struct task_struct *task)
{
	struct cgroup_subsys_state *css = task_css_check(task, perf_event_cgrp_id, true);

	return container_of(css, struct perf_cgroup, css);
}
#else
static inline int perf_cgroup_connect(int fd, struct perf_event *event)
{
	return perf_refuse(-EINVAL, "flags: PID_CGROUP needs a kernel with CONFIG_CGROUP_PERF");
}

static inline void perf_cgroup_disconnect(struct perf_event *event) { }
#endif

/* redirect.c: the buffer that an event writes to */
static inline struct perf_buffer *perf_event_rb_locked(struct perf_event *event)
{
	return rcu_dereference_protected(event->rb, lockdep_is_held(&perf_buffers_lock));
}

void perf_buffer_set_multi_writer(struct perf_event *target);
void perf_buffer_attach(struct perf_buffer *rb, struct perf_event *event);
void perf_buffer_detach(struct perf_event *event);
void perf_event_release_buffer(struct perf_event *event);
int  perf_event_check_output(struct perf_event *event, struct perf_event *target);
int  perf_event_set_output(struct perf_event *event, struct perf_event *target);
int  perf_event_pause_output(struct perf_event *event, bool pause);

/* aux_stop.c */
void perf_aux_stop(struct perf_event *event, struct perf_aux *aux);
void perf_aux_restart(struct perf_event *event);

/* pending.c: work that an overflow defers out of NMI */
void perf_event_pending_init(struct perf_event *event);
extern void (*perf_event_pending_disable_fn)(struct perf_event *event);
void perf_event_pending_sync(struct perf_event *event);

/**
 * perf_event_pending_busy - test for an irq_work of a removed event
 * @event: event that has had no hit for a grace period
 *
 * Context: any
 * Return: true if one is queued or running
 */
static inline bool perf_event_pending_busy(struct perf_event *event)
{
	return irq_work_is_busy(&event->pending_irq) ||
	       irq_work_is_busy(&event->pending_disable_irq);
}

/**
 * perf_event_pending_trails - may an irq_work be accessed when it is no longer busy?
 *
 * Where irq_work_sync() sleeps, irq_work_single() wakes it after it has marked the irq_work as
 * idle, in an RCU read section.
 *
 * Context: any
 * Return: true if the memory of an irq_work that is idle is to be kept for another grace period
 */
static inline bool perf_event_pending_trails(void)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) || !arch_irq_work_has_interrupt();
}

/* addr_filter.c */
int  perf_event_set_filter(struct perf_event *event, void __user *arg) __cold;
void perf_event_free_filter(struct perf_event *event);
void perf_addr_filters_exec(struct perf_event *event);
void perf_addr_filters_mmap(struct vm_area_struct *vma);
void perf_addr_filters_clone(struct perf_event *to, struct perf_event *from);

/* bpf.c */
int  perf_event_set_bpf_handler(struct perf_event *event, struct bpf_prog *prog, u64 cookie);

/* sideband.c: records about tasks and cgroups */
void perf_sideband_task_exit(struct task_struct *task, struct perf_event_context *ctx);
void perf_sideband_switch(struct task_struct *task, struct task_struct *other, bool sched_in);
void perf_sideband_cgroup(struct cgroup *cgrp);

#endif
