// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl(2): a table of requests and what they call.
 *
 * Locks: ctx->mutex where a group is walked; the callees take theirs.
 */
#include <linux/bpf.h>
#include <linux/file.h>
#include <linux/hw_breakpoint.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>

#include "doors.h"

/* For the event and its children, or for those of its whole group. */
static long for_group_or_event(struct perf_event *event, unsigned long arg,
			    void (*fn)(struct perf_event *))
{
	struct perf_event_context *ctx;
	struct perf_event *leader, *sibling;

	if (!(arg & PERF_IOC_FLAG_GROUP)) {
		perf_event_for_each_child(event, fn);
		return 0;
	}
	ctx = perf_event_ctx_lock(event);
	leader = event->group_leader;
	perf_event_for_each_child(leader, fn);
	for_each_sibling_event(sibling, leader)
		perf_event_for_each_child(sibling, fn);
	perf_event_ctx_unlock(ctx);
	return 0;
}

static long ioc_enable(struct perf_event *event, unsigned long arg)
{
	return for_group_or_event(event, arg, perf_event_enable);
}

static long ioc_disable(struct perf_event *event, unsigned long arg)
{
	return for_group_or_event(event, arg, perf_event_disable);
}

static long ioc_reset(struct perf_event *event, unsigned long arg)
{
	return for_group_or_event(event, arg, perf_event_reset);
}

static long ioc_refresh(struct perf_event *event, unsigned long arg)
{
	guard(mutex)(&event->child_mutex);
	return perf_event_refresh_by(event, arg);
}

static long ioc_period(struct perf_event *event, unsigned long arg)
{
	u64 value;

	if (copy_from_user(&value, (void __user *)arg, sizeof(value)))
		return perf_refuse(-EFAULT, "period: cannot be read");
	return perf_event_period(event, value);
}

static long ioc_id(struct perf_event *event, unsigned long arg)
{
	u64 id = event->parent ? event->parent->id : event->id;

	if (copy_to_user((void __user *)arg, &id, sizeof(id)))
		return perf_refuse(-EFAULT, "id: cannot be written");
	return 0;
}

static long ioc_set_output(struct perf_event *event, unsigned long arg)
{
	int fd = arg;

	if (fd == -1)
		return perf_event_set_output(event, NULL);

	CLASS(fd, output)(fd);
	if (fd_empty(output) || !perf_file_is_event(fd_file(output)))
		return perf_refuse(-EBADF, "output: %lld is not the file of an event", fd);
	return perf_event_set_output(event, fd_file(output)->private_data);
}

static long ioc_set_filter(struct perf_event *event, unsigned long arg)
{
	return perf_event_set_filter(event, (void __user *)arg);
}

static long ioc_set_bpf(struct perf_event *event, unsigned long arg)
{
	struct bpf_prog *prog = bpf_prog_get(arg);
	int ret;

	if (IS_ERR(prog))
		return perf_refuse(PTR_ERR(prog), "bpf: %lld is not the file of a program", arg);
	ret = perf_event_set_bpf_prog(event, prog, 0);
	if (ret)
		bpf_prog_put(prog);
	return ret;
}

static long ioc_pause_output(struct perf_event *event, unsigned long arg)
{
	return perf_event_pause_output(event, !!arg);
}

/* What the tracing subsystem means by its errnos. */
static const struct {
	int		err;
	const char	*why;
} query_reasons[] = {
	{ -EPERM,	"query: an event's bpf programs are for CAP_PERFMON to see" },
	{ -EINVAL,	"query: bpf programs of tracepoints only" },
	{ -E2BIG,	"query: ids_len is over what an event can have of bpf programs" },
	{ -ENOSPC,	"query: ids_len is less than there are bpf programs" },
	{ -EFAULT,	"query: cannot be read or written" },
	{ -ENOMEM,	"query: no memory" },
};

static long ioc_query_bpf(struct perf_event *event, unsigned long arg)
{
	int ret = perf_event_query_prog_array(event, (void __user *)arg);

	for (int i = 0; i < ARRAY_SIZE(query_reasons); i++) {
		if (query_reasons[i].err == ret)
			return perf_refuse(ret, query_reasons[i].why);
	}
	return ret ? perf_refuse(ret, "query: refused by the tracing subsystem") : 0;
}

#ifdef CONFIG_HAVE_HW_BREAKPOINT
/* A breakpoint that cannot become what is asked for stays what it was. */
static int modify_one(struct perf_event *event, struct perf_event_attr *attr)
{
	bool enabled = event->state >= PERF_EVENT_STATE_INACTIVE;
	int ret;

	perf_event_disable(event);
	ret = modify_user_hw_breakpoint_check(event, attr, true);
	if (ret ? enabled : !attr->disabled)
		perf_event_enable(event);
	return ret;
}

/*
 * While it is changed nobody may enable it. A request holds child_mutex, exec the context's mutex,
 * which comes before: a child's is only tried for. @busy receives the one that could not be had.
 */
static int modify_family(struct perf_event *event, struct perf_event_attr *attr,
			 struct perf_event_context **busy)
{
	struct perf_event *child;
	int ret;

	guard(mutex)(&event->child_mutex);
	ret = modify_one(event, attr);
	list_for_each_entry(child, &event->child_list, child_list) {
		struct perf_event_context *ctx = child->ctx;

		if (ret)
			break;
		if (!mutex_trylock(&ctx->mutex)) {
			perf_ctx_get(ctx);
			*busy = ctx;
			break;
		}
		ret = modify_one(child, attr);
		mutex_unlock(&ctx->mutex);
	}
	return ret;
}

/* Those that have been changed already take no harm by being changed again. */
static int modify_breakpoint(struct perf_event *event, struct perf_event_attr *attr)
{
	struct perf_event_context *ctx, *busy;
	int ret;

	for (;;) {
		busy = NULL;
		ctx = perf_event_ctx_lock(event);
		ret = modify_family(event, attr, &busy);
		perf_event_ctx_unlock(ctx);
		if (!busy)
			return ret;
		mutex_lock(&busy->mutex);
		mutex_unlock(&busy->mutex);
		perf_ctx_put(busy);
	}
}
#else
static int modify_breakpoint(struct perf_event *event, struct perf_event_attr *attr)
{
	return perf_refuse(-EOPNOTSUPP, "modify: this kernel has no breakpoints");
}
#endif

static long ioc_modify_attributes(struct perf_event *event, unsigned long arg)
{
	struct perf_event_attr attr;
	int ret = perf_copy_attr((void __user *)arg, &attr);

	if (ret)
		return ret;
	if (event->attr.type != attr.type)
		return perf_refuse(-EINVAL, "modify: type %llu is not the event's %llu",
				   attr.type, event->attr.type);
	if (event->attr.type != PERF_TYPE_BREAKPOINT)
		return perf_refuse(-EOPNOTSUPP, "modify: only breakpoints can be modified");
	return modify_breakpoint(event, &attr);
}

static const struct {
	unsigned int	cmd;
	long		(*fn)(struct perf_event *event, unsigned long arg);
	bool		pointer;	/* the size in its number is that of a pointer */
} requests[] = {
	{ PERF_EVENT_IOC_ENABLE,		ioc_enable },
	{ PERF_EVENT_IOC_DISABLE,		ioc_disable },
	{ PERF_EVENT_IOC_REFRESH,		ioc_refresh },
	{ PERF_EVENT_IOC_RESET,			ioc_reset },
	{ PERF_EVENT_IOC_PERIOD,		ioc_period },
	{ PERF_EVENT_IOC_SET_OUTPUT,		ioc_set_output },
	{ PERF_EVENT_IOC_SET_FILTER,		ioc_set_filter,		true },
	{ PERF_EVENT_IOC_ID,			ioc_id,			true },
	{ PERF_EVENT_IOC_SET_BPF,		ioc_set_bpf },
	{ PERF_EVENT_IOC_PAUSE_OUTPUT,		ioc_pause_output },
	{ PERF_EVENT_IOC_QUERY_BPF,		ioc_query_bpf,		true },
	{ PERF_EVENT_IOC_MODIFY_ATTRIBUTES,	ioc_modify_attributes,	true },
};

long perf_event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_event *event = file->private_data;
	int ret = security_perf_event_write(event);

	if (ret)
		return perf_refuse(ret, "security module: no ioctl");
	for (int i = 0; i < ARRAY_SIZE(requests); i++) {
		if (requests[i].cmd == cmd)
			return requests[i].fn(event, arg);
	}
	return perf_refuse(-ENOTTY, "ioctl: there is no request %#llx", cmd);
}

#ifdef CONFIG_COMPAT
/* Requests whose number contains the size of a pointer: 32-bit callers have another number. */
static unsigned int compat_cmd(unsigned int cmd)
{
	for (int i = 0; i < ARRAY_SIZE(requests); i++) {
		unsigned int native = requests[i].cmd;

		if (requests[i].pointer &&
		    _IOC_SIZE(cmd) == sizeof(compat_uptr_t) &&
		    (native & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)) ==
		    (cmd & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)))
			return native;
	}
	return cmd;
}

long perf_event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return perf_event_ioctl(file, compat_cmd(cmd), arg);
}
#else
long perf_event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return perf_event_ioctl(file, cmd, arg);
}
#endif
