// SPDX-License-Identifier: GPL-2.0
/*
 * The cgroup of an event, and the controller "perf_event" that makes cgroups known to us.
 *
 * A cgroup event counts for the tasks of a cgroup and its descendants on one CPU. It lives in the
 * context of that cgroup on that CPU, which the engine switches in and out as tasks come and go
 * (cgroup.c).
 *
 * Locks: an event holds a reference to its cgroup's css.
 */
#include <linux/cgroup.h>
#include <linux/file.h>
#include <linux/slab.h>

#include "event.h"

/* For the software event that counts switches between cgroups. */
bool perf_cgroup_differs(struct task_struct *prev, struct task_struct *next)
{
	guard(rcu)();
	return perf_cgroup_of_task(prev) != perf_cgroup_of_task(next);
}

/**
 * perf_cgroup_connect - bind a new event to a cgroup
 * @fd: an open directory of the cgroup file system
 * @event: not attached to a context yet; its leader may be
 *
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
		return perf_refuse(PTR_ERR(css), "pid: file %lld is no live cgroup directory with perf_event",
				   fd);
	event->cgrp = container_of(css, struct perf_cgroup, css);
	if (leader != event && leader->cgrp != event->cgrp) {
		perf_cgroup_disconnect(event);
		return perf_refuse(-EINVAL, "group_fd: the leader counts for another cgroup");
	}
	return 0;
}

void perf_cgroup_disconnect(struct perf_event *event)
{
	if (event->cgrp)
		css_put(&event->cgrp->css);
	event->cgrp = NULL;
}
