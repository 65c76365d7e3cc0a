// SPDX-License-Identifier: GPL-2.0
/*
 * The cgroup of an event, and the cgroup controller "perf_event".
 *
 * A cgroup event counts the tasks of a cgroup and its descendants on one CPU. It belongs to the
 * context of that cgroup on that CPU, which is active while such a task runs there
 * (sched/cgroup.c).
 *
 * Locks: an event holds a reference to its cgroup's css.
 */
#include <linux/cgroup.h>
#include <linux/file.h>
#include <linux/slab.h>

#include "event.h"

/* For the software event cgroup-switches. Any context. */
bool perf_cgroup_differs(struct task_struct *prev, struct task_struct *next)
{
	guard(rcu)();
	return perf_cgroup_of_task(prev) != perf_cgroup_of_task(next);
}

/**
 * perf_cgroup_connect - bind a new event to a cgroup
 * @fd: file descriptor of a cgroup directory
 * @event: event without a context; its leader may have one
 *
 * Context: may sleep
 * Return: 0, -EBADF, -ENOENT, or -EINVAL if the leader is in another cgroup
 */
int perf_cgroup_connect(int fd, struct perf_event *event)
{
	struct perf_event *leader = event->group_leader;
	struct cgroup_subsys_state *css;

	CLASS(fd, f)(fd);
	if (fd_empty(f))
		return perf_refuse(-EBADF, "pid: %lld is no open file (of a cgroup)", fd);

	css = css_tryget_online_from_dir(fd_file(f)->f_path.dentry, &perf_event_cgrp_subsys);
	if (IS_ERR(css))
		return perf_refuse(PTR_ERR(css),
				   "pid: file %lld is no live cgroup directory with perf_event",
				   fd);
	event->cgrp = container_of(css, struct perf_cgroup, css);
	if (leader != event && leader->cgrp != event->cgrp) {
		perf_cgroup_disconnect(event);
		return perf_refuse(-EINVAL, "group_fd: the leader counts for another cgroup");
	}
	return 0;
}

/**
 * perf_cgroup_disconnect - drop an event's reference to its cgroup
 * @event: event that is being freed, bound to a cgroup or not
 *
 * Context: any
 */
void perf_cgroup_disconnect(struct perf_event *event)
{
	if (event->cgrp)
		css_put(&event->cgrp->css);
	event->cgrp = NULL;
}

static struct cgroup_subsys_state *
perf_cgroup_css_alloc(struct cgroup_subsys_state *parent_css)
{
	struct perf_cgroup *cgrp = kzalloc(sizeof(*cgrp), GFP_KERNEL);

	if (!cgrp)
		return ERR_PTR(-ENOMEM);
	cgrp->ctx = alloc_percpu(struct perf_event_context *);
	if (!cgrp->ctx) {
		kfree(cgrp);
		return ERR_PTR(-ENOMEM);
	}
	return &cgrp->css;
}

/* No event refers to the cgroup, so none of its contexts is active on a CPU. */
static void perf_cgroup_css_free(struct cgroup_subsys_state *css)
{
	struct perf_cgroup *cgrp = container_of(css, struct perf_cgroup, css);
	int cpu;

	for_each_possible_cpu(cpu) {
		struct perf_event_context *ctx = *per_cpu_ptr(cgrp->ctx, cpu);

		if (ctx)
			perf_ctx_put(ctx);
	}
	free_percpu(cgrp->ctx);
	kfree(cgrp);
}

static int perf_cgroup_css_online(struct cgroup_subsys_state *css)
{
	perf_sideband_cgroup(css->cgroup);
	return 0;
}

/* perf_cgroup_init() of the sched layer adds the attach callback. */
struct cgroup_subsys perf_event_cgrp_subsys = {
	.css_alloc		= perf_cgroup_css_alloc,
	.css_free		= perf_cgroup_css_free,
	.css_online		= perf_cgroup_css_online,
	/*
	 * On the default hierarchy every cgroup has the controller; without events it costs
	 * nothing.
	 */
	.implicit_on_dfl	= true,
	.threaded		= true,
};
