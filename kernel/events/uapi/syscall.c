// SPDX-License-Identifier: GPL-2.0
/*
 * perf_event_open(2).
 *
 * struct perf_open is filled step by step. Each step checks a condition or acquires a resource;
 * when one fails, open_undo() releases what the earlier steps acquired. The order of the steps
 * decides which errno a request with several faults gets and is part of the ABI. perf_install() is
 * the point of no return.
 *
 * Locks: exec_update_lock of a task of another process, then ctx->mutex, from the permission check
 * to the install.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/syscalls.h>
#include <linux/timekeeping.h>

#include "uapi.h"

#define OPEN_FLAGS (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP |	\
		    PERF_FLAG_FD_CLOEXEC)

/**
 * struct perf_open - state of a perf_event_open() call
 * @attr: validated attributes
 * @pid: argument: thread ID, 0, -1, or with PERF_FLAG_PID_CGROUP a file descriptor
 * @cpu: argument: CPU number or -1
 * @flags: argument: PERF_FLAG_*
 * @fd: reserved file descriptor, -1 before
 * @group: file of group_fd
 * @leader: leader of the group to join, or NULL
 * @output: event to share the buffer of, or NULL
 * @task: task to count, referenced, or NULL
 * @event: the new event
 * @ctx: context of @event, which holds the reference
 * @epc: PMU context that @ctx gets with the event, or NULL
 * @file: file of @event
 * @locked: @ctx's mutex is held
 * @exec_locked: exec_update_lock of @task is held
 */
struct perf_open {
	struct perf_event_attr		*attr;
	pid_t				pid;
	int				cpu;
	unsigned long			flags;
	int				fd;
	struct fd			group;
	struct perf_event		*leader;
	struct perf_event		*output;
	struct task_struct		*task;
	struct perf_event		*event;
	struct perf_event_context	*ctx;
	struct perf_event_pmu_context	*epc;
	struct file			*file;
	bool				locked;
	bool				exec_locked;
};

static int open_check_flags(struct perf_open *o)
{
	if (o->flags & ~OPEN_FLAGS)
		return perf_refuse(-EINVAL, "flags: unknown bits %#llx", o->flags & ~OPEN_FLAGS);
	return 0;
}

static int open_check_target(struct perf_open *o)
{
	if ((o->flags & PERF_FLAG_PID_CGROUP) && (o->pid == -1 || o->cpu == -1))
		return perf_refuse(-EINVAL, "flags: PID_CGROUP needs a file and a cpu");
	return 0;
}

static int open_reserve_fd(struct perf_open *o)
{
	o->fd = get_unused_fd_flags(O_RDWR | (o->flags & PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0));
	return o->fd < 0 ? perf_refuse(o->fd, "no free file descriptor") : 0;
}

static int open_get_group(struct perf_open *o, int group_fd)
{
	struct perf_event *other;

	if (group_fd == -1)
		return 0;
	o->group = fdget(group_fd);
	if (fd_empty(o->group) || !perf_file_is_event(fd_file(o->group)))
		return perf_refuse(-EBADF, "group_fd: %lld is not the file of an event", group_fd);

	other = fd_file(o->group)->private_data;
	if (other->state <= PERF_EVENT_STATE_EXIT)
		return perf_refuse(-ENODEV, "group_fd: that event's task has exited");
	if (o->flags & PERF_FLAG_FD_OUTPUT)
		o->output = other;
	if (!(o->flags & PERF_FLAG_FD_NO_GROUP))
		o->leader = other;
	return 0;
}

static int open_get_task(struct perf_open *o)
{
	if (o->pid == -1 || (o->flags & PERF_FLAG_PID_CGROUP))
		return 0;

	scoped_guard(rcu) {
		o->task = o->pid ? find_task_by_vpid(o->pid) : current;
		if (o->task)
			get_task_struct(o->task);
	}
	if (!o->task)
		return perf_refuse(-ESRCH, "pid: there is no thread %lld", o->pid);
	if (o->leader && o->leader->attr.inherit != o->attr->inherit)
		return perf_refuse(-EINVAL, "inherit: the leader's differs");
	return 0;
}

static int open_make_event(struct perf_open *o)
{
	struct perf_event_spec spec = {
		.attr		= o->attr,
		.cpu		= o->cpu,
		.task		= o->task,
		.leader		= o->leader,
		.cgroup_fd	= o->flags & PERF_FLAG_PID_CGROUP ? o->pid : -1,
	};
	struct perf_event *event = perf_event_alloc(&spec);

	if (IS_ERR(event))
		return PTR_ERR(event);
	o->event = event;
	if (is_sampling_event(event) && (event->pmu->capabilities & PERF_PMU_CAP_NO_INTERRUPT))
		return perf_refuse(-EOPNOTSUPP, "sample_period: the PMU has no interrupt");
	return 0;
}

/* Timestamps are taken in NMI unless the PMU has PERF_PMU_CAP_NO_NMI. */
static int open_set_clock(struct perf_open *o)
{
	struct perf_event *event = o->event;
	bool nmi_safe = false;

	if (!event->attr.use_clockid)
		return 0;
	switch (event->attr.clockid) {
	case CLOCK_MONOTONIC:
		event->clock = ktime_get_mono_fast_ns;
		nmi_safe = true;
		break;
	case CLOCK_MONOTONIC_RAW:
		event->clock = ktime_get_raw_fast_ns;
		nmi_safe = true;
		break;
	case CLOCK_REALTIME:
		event->clock = ktime_get_real_ns;
		break;
	case CLOCK_BOOTTIME:
		event->clock = ktime_get_boottime_ns;
		break;
	case CLOCK_TAI:
		event->clock = ktime_get_clocktai_ns;
		break;
	default:
		return perf_refuse(-EINVAL, "clockid: no records with clock %lld",
				   event->attr.clockid);
	}
	if (!nmi_safe && !(event->pmu->capabilities & PERF_PMU_CAP_NO_NMI))
		return perf_refuse(-EINVAL, "clockid: clock %lld cannot be read in NMI",
				   event->attr.clockid);
	return 0;
}

/* sigtrap sends a signal to the task and needs the right to attach, not only to read. */
static bool open_may_trace(struct perf_open *o)
{
	unsigned int mode = PTRACE_MODE_READ_REALCREDS;
	bool capable = perfmon_capable();

	if (o->attr->sigtrap) {
		scoped_guard(rcu)
			capable = capable && ns_capable(__task_cred(o->task)->user_ns, CAP_KILL);
		mode = PTRACE_MODE_ATTACH_REALCREDS;
	}
	return capable || ptrace_may_access(o->task, mode);
}

/*
 * Each thread of a process may trace the others, and an exec of one of them waits for the end of
 * the caller before it changes the credentials.
 */
static int open_check_access(struct perf_open *o)
{
	if (!o->task || same_thread_group(o->task, current))
		return 0;
	if (down_read_interruptible(&o->task->signal->exec_update_lock))
		return perf_refuse(-EINTR, "interrupted while the task execs");
	o->exec_locked = true;
	if (!open_may_trace(o))
		return perf_refuse(-EACCES,
				   "pid: no ptrace access to %lld, nor CAP_PERFMON", o->pid);
	return 0;
}

static int open_lock_context(struct perf_open *o)
{
	struct perf_event_context *ctx = perf_event_find_context(o->event);

	if (ctx == ERR_PTR(-ENOMEM))
		return perf_refuse(-ENOMEM, "no memory for the context");
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	o->event->ctx = ctx;
	o->ctx = ctx;
	mutex_lock(&ctx->mutex);
	o->locked = true;
	if (ctx->task == TASK_TOMBSTONE)
		return perf_refuse(-ESRCH, "pid: the task is exiting");
	if (!o->task && !per_cpu(perf_cpu_context, o->event->cpu).online)
		return perf_refuse(-ENODEV, "cpu: %lld is offline", o->event->cpu);
	return 0;
}

static int open_check_group(struct perf_open *o)
{
	struct perf_event *leader = o->leader, *event = o->event;

	if (!leader)
		return perf_sched_group_fits(event, event);
	if (leader->state <= PERF_EVENT_STATE_EXIT)
		return perf_refuse(-ENODEV, "group_fd: that event's task has exited");
	if (leader->group_leader != leader)
		return perf_refuse(-EINVAL, "group_fd: that event is not a leader");
	if (leader->clock != event->clock)
		return perf_refuse(-EINVAL, "group: clockid, the leader's differs");
	if (leader->cpu != event->cpu)
		return perf_refuse(-EINVAL,
				   "group: cpu %lld, the leader counts on %lld", event->cpu,
				   leader->cpu);
	if (leader->ctx != o->ctx)
		return perf_refuse(-EINVAL, "group_fd: the leader counts for another task or CPU");
	if (event->attr.exclusive || event->attr.pinned)
		return perf_refuse(-EINVAL, "pinned, exclusive: only for a leader");
	if (!is_software_event(event) && !in_software_context(leader) &&
	    leader->pmu_ctx->pmu != event->pmu)
		return perf_refuse(-EINVAL, "group: its hardware events are of another PMU");
	return perf_sched_group_fits(leader, event);
}

static int open_check_output(struct perf_open *o)
{
	return o->output ? perf_event_check_output(o->event, o->output) : 0;
}

/* What is checked before it fails without changing the target's buffer. */
static int open_set_output(struct perf_open *o)
{
	return o->output ? perf_event_set_output(o->event, o->output) : 0;
}

/* A read of the group must not exceed 16 KiB in the read_format of any member. */
static int open_check_read_size(struct perf_open *o)
{
	struct perf_event *leader = o->leader, *sibling;
	int siblings = leader ? leader->nr_siblings + 1 : 0;

	if (perf_event_read_size(o->event->attr.read_format, siblings) < 0)
		goto refuse;
	if (!leader)
		return 0;
	if (perf_event_read_size(leader->attr.read_format, siblings) < 0)
		goto refuse;
	for_each_group_sibling(sibling, leader) {
		if (perf_event_read_size(sibling->attr.read_format, siblings) < 0)
			goto refuse;
	}
	return 0;
refuse:
	return perf_refuse(-E2BIG, "read_format: %llu events make a read of over 16 KiB",
			   siblings + 1);
}

/* The PMU of the event, not that of the leader, writes the event's samples to the AUX area. */
static bool open_aux_output_matches(const struct perf_event *event, struct perf_event *leader)
{
	return event->pmu->aux_output_match && event->pmu->aux_output_match(leader);
}

static bool open_aux_leader_suits(const struct perf_event *event, struct perf_event *leader)
{
	const struct perf_event_attr *a = &event->attr;
	struct pmu *pmu = leader->pmu;

	if (!has_aux(leader))
		return false;
	if (a->aux_output && (a->aux_sample_size || !open_aux_output_matches(event, leader)))
		return false;
	if ((a->aux_pause || a->aux_resume) && !(pmu->capabilities & PERF_PMU_CAP_AUX_PAUSE))
		return false;
	return !a->aux_sample_size || pmu->snapshot_aux;
}

static int open_bind_aux(struct perf_open *o)
{
	struct perf_event *event = o->event;

	if (!event->attr.aux_output && !has_aux_action(event))
		return 0;
	if (!o->leader || !open_aux_leader_suits(event, o->leader) ||
	    !perf_event_get_live(o->leader))
		return perf_refuse(-EINVAL, "aux_*: the leader is no AUX event that can do it");
	event->aux_event = o->leader;
	return 0;
}

/*
 * File that is never opened: event files have its path, and an open makes no dentry. It is made
 * after anon_inode_init(), and before there are programs.
 */
static struct file *event_file __ro_after_init;

static int __init event_file_init(void)
{
	event_file = anon_inode_getfile("[perf_event]", &perf_event_fops, NULL, O_RDWR);
	if (IS_ERR(event_file))
		panic("perf: no file for events: %pe\n", event_file);
	return 0;
}
fs_initcall_sync(event_file_init);

static int open_make_file(struct perf_open *o)
{
	struct file *file = alloc_file_clone(event_file, O_RDWR, &perf_event_fops);

	if (IS_ERR(file))
		return perf_refuse(PTR_ERR(file), "no file can be had");
	o->file = file;
	return 0;
}

/* prctl(2) enables and disables the events that the caller owns. */
static void open_set_owner(struct perf_event *event)
{
	guard(mutex)(&current->perf_event_mutex);
	event->owner = current;
	list_add_tail(&event->owner_entry, &current->perf_event_list);
}

static int open_prepare(struct perf_open *o, struct perf_event_attr __user *uattr, int group_fd)
{
	return open_check_flags(o) ?:
	       perf_copy_attr(uattr, o->attr) ?:
	       perf_attr_permitted(o->attr) ?:
	       open_check_target(o) ?:
	       open_reserve_fd(o) ?:
	       open_get_group(o, group_fd) ?:
	       open_get_task(o);
}

/* Makes the event and everything that can fail before it is installed. */
static int open_make(struct perf_open *o)
{
	return open_make_event(o) ?:
	       open_set_clock(o) ?:
	       open_check_access(o) ?:
	       open_lock_context(o) ?:
	       open_check_group(o) ?:
	       open_check_output(o) ?:
	       open_check_read_size(o) ?:
	       open_bind_aux(o) ?:
	       perf_exclusive_check(o->event, o->ctx) ?:
	       open_make_file(o) ?:
	       open_set_output(o) ?:
	       perf_install_prepare(o->ctx, o->event, &o->epc);
}

/* Releases what is held during the call, successful or not. */
static void open_unlock(struct perf_open *o)
{
	if (o->locked)
		mutex_unlock(&o->ctx->mutex);
	if (o->exec_locked)
		up_read(&o->task->signal->exec_update_lock);
	if (o->task)
		put_task_struct(o->task);
	fdput(o->group);
}

static void open_undo(struct perf_open *o)
{
	if (o->file)
		fput(o->file);		/* private_data is still NULL */
	if (o->event)
		perf_event_free(o->event);
	if (o->fd >= 0)
		put_unused_fd(o->fd);
}

/**
 * sys_perf_event_open - open an event
 * @attr_uptr: attributes
 * @pid: thread ID; 0 for the caller's thread, -1 for all tasks on @cpu
 * @cpu: CPU number; -1 for any CPU
 * @group_fd: file descriptor of the group leader, or of the event to share the buffer of; or -1
 * @flags: PERF_FLAG_*
 *
 * Context: process context
 * Return: a file descriptor, or -errno with the reason in /proc/sys/kernel/perf_event_error
 */
SYSCALL_DEFINE5(perf_event_open, struct perf_event_attr __user *, attr_uptr, pid_t, pid, int, cpu,
		int, group_fd, unsigned long, flags)
{
	struct perf_event_attr attr __uninitialized;
	struct perf_open o = { .attr = &attr, .pid = pid, .cpu = cpu, .flags = flags, .fd = -1 };
	int ret = open_prepare(&o, attr_uptr, group_fd) ?: open_make(&o);

	if (!ret)
		perf_install(o.ctx, o.event, o.epc);
	open_unlock(&o);
	if (ret) {
		open_undo(&o);
		return ret;
	}
	o.file->private_data = o.event;
	open_set_owner(o.event);
	fd_install(o.fd, o.file);
	return o.fd;
}
