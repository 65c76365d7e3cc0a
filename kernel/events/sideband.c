// SPDX-License-Identifier: GPL-2.0
/*
 * Side-band records: who hears of them, and those about tasks: COMM, FORK, EXIT, NAMESPACES,
 * SWITCH, CGROUP. Mappings are in sideband_mmap.c, kernel text in sideband_text.c.
 *
 * A record goes to the listeners of the CPU where it happens (the CPU's context and those of the
 * active cgroups) and of the running task. The counters perf_nr_*_events keep hooks cheap while
 * nobody listens anywhere.
 *
 * Context: the hooks', see each. Listeners are walked with preemption off, under RCU; an event
 * that comes or goes meanwhile may or may not get the record.
 */
#include <linux/cgroup.h>
#include <linux/namei.h>
#include <linux/proc_ns.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "sideband.h"

/* RCU, preemption off. */
static void tell_context(struct perf_event_context *ctx, perf_sb_fn fn, void *data)
{
	struct perf_event *event;
	int cpu = smp_processor_id();

	list_for_each_entry_rcu(event, &ctx->sb_list, sb_list) {
		if (READ_ONCE(event->state) < PERF_EVENT_STATE_INACTIVE)
			continue;
		if (event->cpu >= 0 && event->cpu != cpu)
			continue;
		fn(event, data);
	}
}

/**
 * perf_sideband_tell_ctx - call a function for each listener
 * @fn: looks whether the event wants this record, and writes it
 * @data: for @fn
 * @task_ctx: whose task it is about; may be NULL
 */
void perf_sideband_tell_ctx(perf_sb_fn fn, void *data, struct perf_event_context *task_ctx)
{
	struct perf_cpu_context *cpuctx;
	struct perf_event_context *ctx;

	guard(preempt)();
	guard(rcu)();
	cpuctx = this_cpu_ptr(&perf_cpu_context);

	if (likely(cpuctx->ctx.active_cpu >= 0))
		tell_context(&cpuctx->ctx, fn, data);
	else if (perf_cpu_is_dead())
		return;
	for (ctx = READ_ONCE(cpuctx->cgrp_ctx); ctx; ctx = READ_ONCE(ctx->cgrp_next))
		tell_context(ctx, fn, data);
	if (task_ctx)
		tell_context(task_ctx, fn, data);
}

/* The same for what the running task does. */
void perf_sideband_tell(perf_sb_fn fn, void *data)
{
	/* Its own context does not go before the task does. */
	perf_sideband_tell_ctx(fn, data, READ_ONCE(current->perf_event_ctxp));
}

/**
 * perf_sb_string - a string as records have it
 * @buf: result
 * @text: string; cut if it is too long
 * @size: of @buf, a multiple of eight
 *
 * Return: bytes with terminator, filled up with zeros to a multiple of eight
 */
unsigned int perf_sb_string(char *buf, const char *text, unsigned int size)
{
	unsigned int len = strscpy_pad(buf, text, size) < 0 ? size - 1 : strlen(buf);

	return perf_sb_padded(len + 1);
}

/* ----------------------------------------------------------------------- COMM */

struct comm_record {
	struct task_struct	*task;
	char			name[perf_sb_padded(TASK_COMM_LEN)];
	unsigned int		size;
	u16			misc;
};

static void tell_comm(struct perf_event *event, void *data)
{
	struct comm_record *r = data;
	struct {
		u32	pid;
		u32	tid;
	} body;

	if (!event->attr.comm)
		return;
	body.pid = perf_event_pid(event, r->task);
	body.tid = perf_event_tid(event, r->task);
	perf_record_write(event, PERF_RECORD_COMM, r->misc, &body, sizeof(body),
			  r->name, r->size);
}

/**
 * perf_event_comm - a task has a new name
 * @tsk: the task
 * @exec: because of exec
 *
 * Context: any but NMI
 */
void perf_event_comm(struct task_struct *tsk, bool exec)
{
	struct comm_record r = {
		.task	= tsk,
		.misc	= exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
	};

	if (!atomic_read(&perf_nr_comm_events))
		return;
	r.size = perf_sb_string(r.name, tsk->comm, sizeof(r.name));
	perf_sideband_tell(tell_comm, &r);
}

/* -------------------------------------------------------------- FORK and EXIT */

struct task_record {
	struct task_struct	*task;
	struct task_struct	*other;
	u32			type;
};

static void tell_task(struct perf_event *event, void *data)
{
	const struct perf_event_attr *a = &event->attr;
	struct task_record *r = data;
	struct {
		u32	pid;
		u32	ppid;
		u32	tid;
		u32	ptid;
		u64	time;
	} body;

	if (!(a->comm | a->mmap | a->mmap2 | a->mmap_data | a->task))
		return;
	body.pid = perf_event_pid(event, r->task);
	body.ppid = perf_event_pid(event, r->other);
	body.tid = perf_event_tid(event, r->task);
	/* A new task's parent is a thread, one that exits has a process. */
	body.ptid = r->type == PERF_RECORD_FORK ? perf_event_tid(event, r->other) : body.ppid;
	body.time = event->clock();
	perf_record_write(event, r->type, 0, &body, sizeof(body), NULL, 0);
}

static bool tasks_are_heard(void)
{
	return atomic_read(&perf_nr_comm_events) || atomic_read(&perf_nr_mmap_events) ||
	       atomic_read(&perf_nr_task_events);
}

/**
 * perf_event_fork - there is a new task
 * @tsk: made by the running task, visible, not running yet
 *
 * Context: may sleep
 */
void perf_event_fork(struct task_struct *tsk)
{
	struct task_record r = {
		.task = tsk, .other = current, .type = PERF_RECORD_FORK,
	};

	if (tasks_are_heard())
		perf_sideband_tell(tell_task, &r);
	perf_event_namespaces(tsk);
}

/**
 * perf_sideband_task_exit - a task goes
 * @task: the running task
 * @ctx: its context, NULL if it has none
 *
 * Context: may sleep
 */
void perf_sideband_task_exit(struct task_struct *task, struct perf_event_context *ctx)
{
	struct task_record r = { .task = task, .type = PERF_RECORD_EXIT };

	if (!tasks_are_heard())
		return;
	guard(rcu)();
	r.other = rcu_dereference(task->real_parent);
	perf_sideband_tell_ctx(tell_task, &r, ctx);
}

/* ----------------------------------------------------------------- NAMESPACES */

struct namespaces_record {
	struct task_struct		*task;
	struct perf_ns_link_info	link[NR_NAMESPACES];
};

static const struct proc_ns_operations *namespace_ops[NR_NAMESPACES] = {
#ifdef CONFIG_NET_NS
	[NET_NS_INDEX]		= &netns_operations,
#endif
#ifdef CONFIG_UTS_NS
	[UTS_NS_INDEX]		= &utsns_operations,
#endif
#ifdef CONFIG_IPC_NS
	[IPC_NS_INDEX]		= &ipcns_operations,
#endif
#ifdef CONFIG_PID_NS
	[PID_NS_INDEX]		= &pidns_operations,
#endif
#ifdef CONFIG_USER_NS
	[USER_NS_INDEX]		= &userns_operations,
#endif
	[MNT_NS_INDEX]		= &mntns_operations,
#ifdef CONFIG_CGROUPS
	[CGROUP_NS_INDEX]	= &cgroupns_operations,
#endif
};

static void tell_namespaces(struct perf_event *event, void *data)
{
	struct namespaces_record *r = data;
	struct {
		u32	pid;
		u32	tid;
		u64	nr;
	} body;

	if (!event->attr.namespaces)
		return;
	body.pid = perf_event_pid(event, r->task);
	body.tid = perf_event_tid(event, r->task);
	body.nr = NR_NAMESPACES;
	perf_record_write(event, PERF_RECORD_NAMESPACES, 0, &body, sizeof(body),
			  r->link, sizeof(r->link));
}

static struct perf_ns_link_info namespace_link(struct task_struct *task,
					       const struct proc_ns_operations *ops)
{
	struct perf_ns_link_info link = {};
	const struct inode *inode;
	struct path path;

	if (ops && !ns_get_path(&path, task, ops)) {
		inode = d_inode(path.dentry);
		link.dev = new_encode_dev(inode->i_sb->s_dev);
		link.ino = inode->i_ino;
		path_put(&path);
	}
	return link;
}

/**
 * perf_event_namespaces - a task is in other namespaces, or new
 * @tsk: the task
 *
 * Context: may sleep
 */
void perf_event_namespaces(struct task_struct *tsk)
{
	struct namespaces_record r = { .task = tsk };

	if (!atomic_read(&perf_nr_namespaces_events))
		return;
	for (int i = 0; i < NR_NAMESPACES; i++)
		r.link[i] = namespace_link(tsk, namespace_ops[i]);
	perf_sideband_tell(tell_namespaces, &r);
}

/* --------------------------------------------------------------------- SWITCH */

struct switch_record {
	struct task_struct	*other;
	u16			misc;
};

/* An event of a CPU is also told whom the CPU was taken from or given to. */
static void tell_switch(struct perf_event *event, void *data)
{
	struct switch_record *r = data;
	struct {
		u32	pid;
		u32	tid;
	} body;

	if (!event->attr.context_switch)
		return;
	if (event->ctx->task) {
		perf_record_write(event, PERF_RECORD_SWITCH, r->misc, NULL, 0, NULL, 0);
		return;
	}
	body.pid = perf_event_pid(event, r->other);
	body.tid = perf_event_tid(event, r->other);
	perf_record_write(event, PERF_RECORD_SWITCH_CPU_WIDE, r->misc, &body, sizeof(body),
			  NULL, 0);
}

/**
 * perf_sideband_switch - a task comes onto this CPU or leaves it
 * @task: the running task
 * @other: the one before it, or after it
 * @sched_in: it comes
 *
 * Context: the scheduler, interrupts off
 */
void perf_sideband_switch(struct task_struct *task, struct task_struct *other, bool sched_in)
{
	struct switch_record r = { .other = other };

	if (!sched_in) {
		r.misc = PERF_RECORD_MISC_SWITCH_OUT;
		if (task_is_runnable(task))
			r.misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	}
	perf_sideband_tell_ctx(tell_switch, &r, READ_ONCE(task->perf_event_ctxp));
}

/* --------------------------------------------------------------------- CGROUP */

#ifdef CONFIG_CGROUP_PERF
struct cgroup_record {
	u64		id;
	char		*path;
	unsigned int	size;
};

static void tell_cgroup(struct perf_event *event, void *data)
{
	struct cgroup_record *r = data;

	if (event->attr.cgroup)
		perf_record_write(event, PERF_RECORD_CGROUP, 0, &r->id, sizeof(r->id),
				  r->path, r->size);
}

/**
 * perf_sideband_cgroup - there is a new cgroup
 * @cgrp: it
 *
 * Context: may sleep
 */
void perf_sideband_cgroup(struct cgroup *cgrp)
{
	struct cgroup_record r = { .id = cgroup_id(cgrp) };
	static char no_memory[16] = "//enomem";
	char *buf;

	if (!atomic_read(&perf_nr_cgroup_events))
		return;

	buf = kzalloc(PATH_MAX, GFP_KERNEL);
	if (buf) {
		cgroup_path(cgrp, buf, PATH_MAX - sizeof(u64));
		r.path = buf;
	} else {
		r.path = no_memory;
	}
	r.size = perf_sb_padded(strlen(r.path) + 1);
	perf_sideband_tell(tell_cgroup, &r);
	kfree(buf);
}
#endif
