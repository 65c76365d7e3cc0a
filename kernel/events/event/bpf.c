// SPDX-License-Identifier: GPL-2.0
/*
 * BPF programs of events: IOC_SET_BPF and the perf link of bpf(2).
 *
 * The program of a tracing event is attached to its probe and runs at each hit, before any event
 * counts the hit. The program of any other event runs when the event overflows (output/overflow.c)
 * and may suppress the sample. An inherited event runs its parent's program.
 *
 * Locks: handler_mutex for overflow programs; the tracing subsystem has its own. Overflow reads
 * perf_event::prog under RCU, and programs are freed after a grace period.
 */
#include <linux/bpf.h>
#include <linux/mutex.h>
#include <linux/syscalls.h>
#include <linux/trace_events.h>

#include "event.h"

#ifdef CONFIG_BPF_SYSCALL

static DEFINE_MUTEX(handler_mutex);

/*
 * With precise_ip bpf_get_stack() would unwind from the registers that the hardware recorded. Their
 * stack frames may have been overwritten since. It needs the sample's own chain.
 */
static bool bpf_stack_is_unsure(const struct perf_event_attr *attr, const struct bpf_prog *prog)
{
	return attr->precise_ip && prog->call_get_stack &&
	       (!(attr->sample_type & PERF_SAMPLE_CALLCHAIN) ||
		attr->exclude_callchain_kernel || attr->exclude_callchain_user);
}

/**
 * perf_event_set_bpf_handler - attach an overflow program to an event
 * @event: event that is not a tracing event
 * @prog: program; on success the event owns the caller's reference
 * @cookie: result of bpf_get_attach_cookie()
 *
 * Context: may sleep
 * Return: 0, -EINVAL, -EEXIST, -EPROTO
 */
int perf_event_set_bpf_handler(struct perf_event *event, struct bpf_prog *prog, u64 cookie)
{
	if (event->overflow_handler_context || !is_default_overflow_handler(event))
		return perf_refuse(-EINVAL, "bpf: a kernel user handles the event's overflows");

	guard(mutex)(&handler_mutex);
	if (event->prog)
		return perf_refuse(-EEXIST, "bpf: the event has a program");
	if (prog->type != BPF_PROG_TYPE_PERF_EVENT)
		return perf_refuse(-EINVAL, "bpf: program type %llu is not PERF_EVENT", prog->type);
	if (bpf_stack_is_unsure(&event->attr, prog))
		return perf_refuse(-EPROTO,
				   "bpf: precise_ip and bpf_get_stack() need a full CALLCHAIN");

	event->bpf_cookie = cookie;
	/* Pairs with overflow_bpf_passes(). */
	smp_store_release(&event->prog, prog);
	return 0;
}

/* Detaches and frees the event's overflow program, if there is one. May sleep. */
static void bpf_free_handler(struct perf_event *event)
{
	struct bpf_prog *prog;

	scoped_guard(mutex, &handler_mutex) {
		prog = event->prog;
		WRITE_ONCE(event->prog, NULL);
	}
	if (prog)
		bpf_prog_put(prog);
}

#else

int perf_event_set_bpf_handler(struct perf_event *event, struct bpf_prog *prog, u64 cookie)
{
	return perf_refuse(-EOPNOTSUPP, "bpf: the kernel has none");
}

static void bpf_free_handler(struct perf_event *event)
{
}

#endif

#ifdef CONFIG_EVENT_TRACING

/* Type of the programs that @call's probe can run; UNSPEC if none. */
static enum bpf_prog_type bpf_probe_prog_type(struct trace_event_call *call)
{
	if (call->flags & (TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_UPROBE))
		return BPF_PROG_TYPE_KPROBE;
	if ((call->flags & TRACE_EVENT_FL_TRACEPOINT) || is_syscall_trace_event(call))
		return BPF_PROG_TYPE_TRACEPOINT;
	return BPF_PROG_TYPE_UNSPEC;
}

static int bpf_check_probe_prog(struct trace_event_call *call, const struct bpf_prog *prog)
{
	enum bpf_prog_type type = bpf_probe_prog_type(call);

	if (type == BPF_PROG_TYPE_UNSPEC)
		return perf_refuse(-EINVAL, "bpf: this kind of tracing event takes no program");
	if (prog->type != type)
		return perf_refuse(-EINVAL, "bpf: program type %llu, the event takes %llu",
				   prog->type, type);
	if (prog->sleepable && !(call->flags & TRACE_EVENT_FL_UPROBE))
		return perf_refuse(-EINVAL, "bpf: only a uprobe can run a program that sleeps");
	if (prog->kprobe_override && !(call->flags & TRACE_EVENT_FL_KPROBE))
		return perf_refuse(-EINVAL, "bpf: only a kprobe can override a return");
	if (type == BPF_PROG_TYPE_TRACEPOINT &&
	    prog->aux->max_ctx_offset > trace_event_get_offsets(call))
		return perf_refuse(-EACCES,
				   "bpf: the program reads to offset %llu, the record ends at %llu",
				   prog->aux->max_ctx_offset, trace_event_get_offsets(call));
	return 0;
}

static int bpf_set_probe_prog(struct perf_event *event, struct bpf_prog *prog, u64 cookie)
{
	int ret = bpf_check_probe_prog(event->tp_event, prog);

	if (ret)
		return ret;
	ret = perf_event_attach_bpf_prog(event, prog, cookie);
	return ret ? perf_refuse(ret, "bpf: the tracing subsystem refuses the program") : 0;
}

#else

static int bpf_set_probe_prog(struct perf_event *event, struct bpf_prog *prog, u64 cookie)
{
	return -ENOENT;
}

#endif

/**
 * perf_event_set_bpf_prog - attach a BPF program to an event
 * @event: tracing event or any other
 * @prog: program; on success the event owns the caller's reference
 * @cookie: result of bpf_get_attach_cookie()
 *
 * Context: may sleep
 * Return: 0; -EINVAL, -EEXIST, -EPROTO, -EACCES, -EOPNOTSUPP or the tracing subsystem's errno
 */
int perf_event_set_bpf_prog(struct perf_event *event, struct bpf_prog *prog, u64 cookie)
{
	if (perf_event_is_tracing(event))
		return bpf_set_probe_prog(event, prog, cookie);
	return perf_event_set_bpf_handler(event, prog, cookie);
}

/**
 * perf_event_free_bpf_prog - detach an event's BPF program
 * @event: event without users, with a program
 *
 * Context: may sleep
 */
void perf_event_free_bpf_prog(struct perf_event *event)
{
	if (perf_event_is_tracing(event))
		perf_event_detach_bpf_prog(event);
	else
		bpf_free_handler(event);
}
