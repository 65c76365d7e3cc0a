// SPDX-License-Identifier: GPL-2.0
/*
 * Side-band records: which events get them, and the records about tasks: COMM, FORK, EXIT,
 * NAMESPACES, SWITCH, CGROUP. Mappings are in sideband_mmap.c, kernel text in sideband_text.c.
 *
 * A record is written for the events that request it in the CPU's context, in those of the active
 * cgroups and in the running task's. A hook returns at once while perf_nr_*_events is 0.
 *
 * Context: that of each hook. The lists are walked under RCU with preemption off. An event that is
 * installed or removed concurrently may or may not get the record.
 */
#include <linux/cgroup.h>
#include <linux/namei.h>
#include <linux/proc_ns.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "sideband.h"

/* RCU read section, preemption off. */
static void sb_visit_list(struct perf_event_context *ctx, perf_sb_fn fn, void *data)
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
 * perf_sb_visit_ctx - call a function for each event that may request a record
 * @fn: function that tests perf_event::attr and writes the record
 * @data: argument of @fn
 * @task_ctx: context of the task that the record is about, or NULL
 *
 * Context: any but NMI
 */
void perf_sb_visit_ctx(perf_sb_fn fn, void *data, struct perf_event_context *task_ctx)
{
	struct perf_cpu_context *cpuctx;
	struct perf_event_context *ctx;

	guard(preempt)();
	guard(rcu)();
	cpuctx = this_cpu_ptr(&perf_cpu_context);

	if (likely(cpuctx->ctx.active_cpu >= 0))
		sb_visit_list(&cpuctx->ctx, fn, data);
	else if (perf_cpu_is_dead())
		return;
	for_each_cgrp_ctx_preempt(ctx, cpuctx)
		sb_visit_list(ctx, fn, data);
	if (task_ctx)
		sb_visit_list(task_ctx, fn, data);
}

/**
 * perf_sb_visit - perf_sb_visit_ctx() for the running task
 * @fn: function that tests perf_event::attr and writes the record
 * @data: argument of @fn
 *
 * Context: any but NMI
 */
void perf_sb_visit(perf_sb_fn fn, void *data)
{
	/* The running task's context is freed after the task has exited. */
	perf_sb_visit_ctx(fn, data, READ_ONCE(current->perf_event_ctxp));
}

/**
 * perf_sb_string - copy a string in the form that records have
 * @buf: result
 * @text: string, truncated to @size - 1 bytes
 * @size: bytes in @buf, a multiple of 8
 *
 * Context: any
 * Return: length with the terminating zero, in bytes, rounded up to a multiple of 8 with zeros
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

static void sb_emit_comm(struct perf_event *event, void *data)
{
	struct comm_record *r = data;
	struct perf_ids body;

	if (!event->attr.comm)
		return;
	body = perf_event_ids(event, r->task);
	perf_record_write(event, PERF_RECORD_COMM, r->misc, &body, sizeof(body),
			  r->name, r->size);
}

void perf_event_comm(struct task_struct *tsk, bool exec)
{
	struct comm_record r = {
		.task	= tsk,
		.misc	= exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
	};

	if (!atomic_read(&perf_nr_comm_events))
		return;
	r.size = perf_sb_string(r.name, tsk->comm, sizeof(r.name));
	perf_sb_visit(sb_emit_comm, &r);
}

/* -------------------------------------------------------------- FORK and EXIT */

struct task_record {
	struct task_struct	*task;
	struct task_struct	*other;
	u32			type;
};

static void sb_emit_task(struct perf_event *event, void *data)
{
	const struct perf_event_attr *a = &event->attr;
	struct task_record *r = data;
	struct perf_ids ids, other;
	struct {
		u32	pid;
		u32	ppid;
		u32	tid;
		u32	ptid;
		u64	time;
	} body;

	if (!(a->comm || a->mmap || a->mmap2 || a->mmap_data || a->task))
		return;
	ids = perf_event_ids(event, r->task);
	other = perf_event_ids(event, r->other);
	body.pid = ids.pid;
	body.ppid = other.pid;
	body.tid = ids.tid;
	/* FORK names the creating thread, EXIT the parent process. */
	body.ptid = r->type == PERF_RECORD_FORK ? other.tid : other.pid;
	body.time = event->clock();
	perf_record_write(event, r->type, 0, &body, sizeof(body), NULL, 0);
}

static bool sb_task_wanted(void)
{
	return atomic_read(&perf_nr_comm_events) || atomic_read(&perf_nr_mmap_events) ||
	       atomic_read(&perf_nr_task_events);
}

void perf_event_fork(struct task_struct *tsk)
{
	struct task_record r = {
		.task = tsk, .other = current, .type = PERF_RECORD_FORK,
	};

	if (sb_task_wanted())
		perf_sb_visit(sb_emit_task, &r);
	perf_event_namespaces(tsk);
}

/**
 * perf_sideband_task_exit - write the EXIT records of the running task
 * @task: the running task
 * @ctx: context of @task, NULL if it has none
 *
 * Context: process context
 */
void perf_sideband_task_exit(struct task_struct *task, struct perf_event_context *ctx)
{
	struct task_record r = { .task = task, .type = PERF_RECORD_EXIT };

	if (!sb_task_wanted())
		return;
	guard(rcu)();
	r.other = rcu_dereference(task->real_parent);
	perf_sb_visit_ctx(sb_emit_task, &r, ctx);
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

static void sb_emit_namespaces(struct perf_event *event, void *data)
{
	struct namespaces_record *r = data;
	struct {
		struct perf_ids	ids;
		u64		nr;
	} body;

	if (!event->attr.namespaces)
		return;
	body.ids = perf_event_ids(event, r->task);
	body.nr = NR_NAMESPACES;
	perf_record_write(event, PERF_RECORD_NAMESPACES, 0, &body, sizeof(body),
			  r->link, sizeof(r->link));
}

static struct perf_ns_link_info sb_namespace_link(struct task_struct *task,
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

void perf_event_namespaces(struct task_struct *tsk)
{
	struct namespaces_record r = { .task = tsk };

	if (!atomic_read(&perf_nr_namespaces_events))
		return;
	for (int i = 0; i < NR_NAMESPACES; i++)
		r.link[i] = sb_namespace_link(tsk, namespace_ops[i]);
	perf_sb_visit(sb_emit_namespaces, &r);
}

/* --------------------------------------------------------------------- SWITCH */

struct switch_record {
	struct task_struct	*other;
	u16			misc;
};

/* SWITCH_CPU_WIDE also has the task that ran before, or runs next. */
static void sb_emit_switch(struct perf_event *event, void *data)
{
	struct switch_record *r = data;
	struct perf_ids body;

	if (!event->attr.context_switch)
		return;
	if (event->ctx->task) {
		perf_record_write(event, PERF_RECORD_SWITCH, r->misc, NULL, 0, NULL, 0);
		return;
	}
	body = perf_event_ids(event, r->other);
	perf_record_write(event, PERF_RECORD_SWITCH_CPU_WIDE, r->misc, &body, sizeof(body),
			  NULL, 0);
}

/**
 * perf_sideband_switch - write the SWITCH records of a context switch
 * @task: task that is switched in or out
 * @other: task that ran before @task, or runs after it
 * @sched_in: @task is switched in
 *
 * Context: scheduler, interrupts off
 */
void perf_sideband_switch(struct task_struct *task, struct task_struct *other, bool sched_in)
{
	struct switch_record r = { .other = other };

	if (!sched_in) {
		r.misc = PERF_RECORD_MISC_SWITCH_OUT;
		if (task_is_runnable(task))
			r.misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	}
	perf_sb_visit_ctx(sb_emit_switch, &r, READ_ONCE(task->perf_event_ctxp));
}

/* --------------------------------------------------------------------- CGROUP */

#ifdef CONFIG_CGROUP_PERF
struct cgroup_record {
	u64		id;
	char		*path;
	unsigned int	size;
};

static void sb_emit_cgroup(struct perf_event *event, void *data)
{
	struct cgroup_record *r = data;

	if (event->attr.cgroup)
		perf_record_write(event, PERF_RECORD_CGROUP, 0, &r->id, sizeof(r->id),
				  r->path, r->size);
}

/**
 * perf_sideband_cgroup - write the CGROUP records of a new cgroup
 * @cgrp: the cgroup
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
	perf_sb_visit(sb_emit_cgroup, &r);
	kfree(buf);
}
#endif
