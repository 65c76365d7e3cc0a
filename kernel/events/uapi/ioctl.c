// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl(2) of an event.
 *
 * Locks: ctx->mutex to walk a group; callees take their own.
 */
#include <linux/bpf.h>
#include <linux/file.h>
#include <linux/hw_breakpoint.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>

#include "uapi.h"

/* Calls @fn for the event and for each of its children, or @group_fn for its group. */
static long ioc_for_group_or_event(struct perf_event *event, unsigned long arg,
				   void (*fn)(struct perf_event *event),
				   void (*group_fn)(struct perf_event *leader))
{
	struct perf_event_context *ctx;

	if (!(arg & PERF_IOC_FLAG_GROUP)) {
		perf_event_visit_children(event, fn);
		return 0;
	}
	ctx = perf_event_ctx_lock(event);
	group_fn(event->group_leader);
	perf_event_ctx_unlock(ctx);
	return 0;
}

static long ioc_refresh(struct perf_event *event, unsigned long arg)
{
	guard(mutex)(&event->child_mutex);
	return perf_event_refresh(event, arg);
}

static long ioc_period(struct perf_event *event, unsigned long arg)
{
	u64 value;

	if (get_user(value, (u64 __user *)arg))
		return perf_refuse(-EFAULT, "period: cannot be read");
	return perf_event_period(event, value);
}

static long ioc_id(struct perf_event *event, unsigned long arg)
{
	if (put_user(perf_event_top(event)->id, (u64 __user *)arg))
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

/* Reasons for the errnos of perf_event_query_prog_array(). */
static const struct {
	int		err;
	const char	*why;
} query_reasons[] = {
	{ -EPERM,	"query: an event's bpf programs need CAP_PERFMON" },
	{ -EINVAL,	"query: bpf programs of tracepoints only" },
	{ -E2BIG,	"query: ids_len is over the number of bpf programs an event can have" },
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
/* A breakpoint that cannot be modified stays as it was. */
static int ioc_modify_one(struct perf_event *event, struct perf_event_attr *attr)
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
 * The event must not be enabled while it is modified. Requests of other tasks are excluded by
 * child_mutex, exec by the context's mutex. The latter is the outer lock, so a child's is only
 * tried; if another task holds it, @busy is set to the child's context, referenced.
 */
static int ioc_modify_with_children(struct perf_event *event, struct perf_event_attr *attr,
				    struct perf_event_context **busy)
{
	struct perf_event *child;
	int ret;

	guard(mutex)(&event->child_mutex);
	ret = ioc_modify_one(event, attr);
	list_for_each_entry(child, &event->child_list, child_list) {
		struct perf_event_context *ctx = child->ctx;

		if (ret)
			break;
		if (!mutex_trylock(&ctx->mutex)) {
			perf_ctx_get(ctx);
			*busy = ctx;
			break;
		}
		ret = ioc_modify_one(child, attr);
		mutex_unlock(&ctx->mutex);
	}
	return ret;
}

/* After a retry, events that were modified before are modified to the same values again. */
static int ioc_modify_breakpoint(struct perf_event *event, struct perf_event_attr *attr)
{
	struct perf_event_context *ctx, *busy;
	int ret;

	for (;;) {
		busy = NULL;
		ctx = perf_event_ctx_lock(event);
		ret = ioc_modify_with_children(event, attr, &busy);
		perf_event_ctx_unlock(ctx);
		if (!busy)
			return ret;
		mutex_lock(&busy->mutex);
		mutex_unlock(&busy->mutex);
		perf_ctx_put(busy);
	}
}
#else
static int ioc_modify_breakpoint(struct perf_event *event, struct perf_event_attr *attr)
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
	return ioc_modify_breakpoint(event, &attr);
}

long perf_event_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct perf_event *event = file->private_data;
	int ret = security_perf_event_write(event);

	if (ret)
		return perf_refuse(ret, "security module: no ioctl");
	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
		return ioc_for_group_or_event(event, arg, perf_event_enable,
					      perf_event_enable_group);
	case PERF_EVENT_IOC_DISABLE:
		return ioc_for_group_or_event(event, arg, perf_event_disable,
					      perf_event_disable_group);
	case PERF_EVENT_IOC_RESET:
		return ioc_for_group_or_event(event, arg, perf_event_reset,
					      perf_event_reset_group);
	case PERF_EVENT_IOC_REFRESH:
		return ioc_refresh(event, arg);
	case PERF_EVENT_IOC_PERIOD:
		return ioc_period(event, arg);
	case PERF_EVENT_IOC_SET_OUTPUT:
		return ioc_set_output(event, arg);
	case PERF_EVENT_IOC_SET_FILTER:
		return perf_event_set_filter(event, (void __user *)arg);
	case PERF_EVENT_IOC_ID:
		return ioc_id(event, arg);
	case PERF_EVENT_IOC_SET_BPF:
		return ioc_set_bpf(event, arg);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return perf_event_pause_output(event, !!arg);
	case PERF_EVENT_IOC_QUERY_BPF:
		return ioc_query_bpf(event, arg);
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return ioc_modify_attributes(event, arg);
	}
	return perf_refuse(-ENOTTY, "ioctl: there is no request %#llx", cmd);
}

#ifdef CONFIG_COMPAT
/* Requests that contain the size of a pointer. 32-bit callers use other numbers for them. */
static const unsigned int pointer_requests[] = {
	PERF_EVENT_IOC_SET_FILTER,
	PERF_EVENT_IOC_ID,
	PERF_EVENT_IOC_QUERY_BPF,
	PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
};

static unsigned int ioc_native_cmd(unsigned int cmd)
{
	const unsigned int size_mask = _IOC_SIZEMASK << _IOC_SIZESHIFT;

	for (int i = 0; i < ARRAY_SIZE(pointer_requests); i++) {
		unsigned int native = pointer_requests[i];

		if (_IOC_SIZE(cmd) == sizeof(compat_uptr_t) &&
		    (native & ~size_mask) == (cmd & ~size_mask))
			return native;
	}
	return cmd;
}

long perf_event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return perf_event_ioctl(file, ioc_native_cmd(cmd), arg);
}
#else
long perf_event_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return perf_event_ioctl(file, cmd, arg);
}
#endif
