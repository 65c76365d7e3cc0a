// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs "tracepoint", "kprobe" and "uprobe": events of the tracing subsystem.
 *
 * The tracing side registers the probe, links the event into the probe's list of this CPU while
 * the event is switched in (perf_trace_add() and perf_trace_del()), and calls perf_tp_event() with
 * that list when the probe is hit. The three PMUs differ in how an event finds its probe.
 *
 * Locks: event_mutex inside the tracing functions called at open and close; hits run under RCU
 * with preemption off, in any context.
 */
#include <linux/capability.h>
#include <linux/export.h>
#include <linux/filter.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/trace_events.h>

#include "wing.h"

#ifdef CONFIG_EVENT_TRACING

/* The tracing subsystem's; the header that declares it is private there. */
extern struct mutex event_mutex;

/* ------------------------------------------------------------------- filters */

/**
 * perf_tracepoint_set_filter - give a tracing event a filter
 * @event: an event for which perf_event_is_tracing()
 * @filter: text in the language of the tracing subsystem
 *
 * Context: process context; takes event_mutex
 * Return: 0, -EEXIST if it has one, or the parser's error
 */
int perf_tracepoint_set_filter(struct perf_event *event, char *filter)
{
	int ret = ftrace_profile_set_filter(event, event->attr.config, filter);

	return ret ? perf_refuse(ret, "filter: the tracing subsystem does not take it") : 0;
}

/**
 * perf_tracepoint_free_filter - free a tracing event's filter
 * @event: any event, of which nothing but its memory is left
 *
 * Context: any; after a grace period, because a hit on another CPU may be matching the filter for
 * the event or for one of its children
 */
void perf_tracepoint_free_filter(struct perf_event *event)
{
	if (event->filter)
		ftrace_profile_free_filter(event);
}

/* A child has its parent's filter. */
static bool filter_passes(struct perf_event *event, void *record)
{
	struct perf_event *owner = event->parent ?: event;

	return likely(!owner->filter) || filter_match_preds(owner->filter, record);
}

/* ---------------------------------------------------------------------- hits */

/* Apart from uprobes all of these happen in the kernel. */
static bool tp_wants(struct perf_event *event, void *record, struct pt_regs *regs)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return false;
	if (event->attr.exclude_kernel && !user_mode(regs))
		return false;
	return filter_passes(event, record);
}

/* Laying out a sample changes its data: each event gets its own. */
static void tp_deliver(struct perf_event *event, u64 count, struct perf_raw_record *raw,
		       struct pt_regs *regs)
{
	struct perf_sample_data data __uninitialized;

	perf_sample_data_init(&data, 0, 0);
	perf_sample_save_raw_data(&data, event, raw);
	perf_swevent_event(event, count, &data, regs);
}

static bool tp_targets(struct perf_event *event, u16 type)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT && event->attr.config == type &&
	       !event->attr.sigtrap &&
	       perf_event_effective_state(event) >= PERF_EVENT_STATE_INACTIVE;
}

/*
 * The tracepoint is about another task than the one that runs (a wake-up): that task's events are
 * told as well. Only those bound to this CPU: any other may be writing to its buffer elsewhere,
 * and a buffer has one writing CPU at a time.
 */
static void deliver_to_task(struct task_struct *task, u16 type, u64 count,
			    struct perf_raw_record *raw, struct pt_regs *regs)
{
	struct perf_event_context *ctx;
	struct perf_event *event;
	int cpu = smp_processor_id();

	guard(rcu)();
	ctx = rcu_dereference(task->perf_event_ctxp);
	if (!ctx)
		return;

	guard(raw_spinlock_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->cpu == cpu && tp_targets(event, type) &&
		    tp_wants(event, raw->frag.data, regs))
			tp_deliver(event, count, raw, regs);
	}
}

/**
 * perf_tp_event - a tracepoint or probe was hit
 * @event_type: its number
 * @count: what the hit counts for
 * @record: the trace record; its head is filled in here
 * @entry_size: bytes of it
 * @regs: where
 * @head: events that are switched in on this CPU
 * @rctx: from perf_swevent_get_recursion_context(), given back here
 * @task: whose events are told as well, NULL for nobody else's
 *
 * Context: any, preemption off
 */
void perf_tp_event(u16 event_type, u64 count, void *record, int entry_size, struct pt_regs *regs,
		   struct hlist_head *head, int rctx, struct task_struct *task)
{
	struct perf_raw_record raw = {
		.frag = { .size = entry_size, .data = record },
	};
	struct perf_event *event;

	perf_trace_buf_update(record, event_type);

	hlist_for_each_entry_rcu(event, head, hlist_entry) {
		if (tp_wants(event, record, regs))
			tp_deliver(event, count, &raw, regs);
	}
	if (task && task != current)
		deliver_to_task(task, event_type, count, &raw, regs);

	perf_swevent_put_recursion_context(rctx);
}
EXPORT_SYMBOL_GPL(perf_tp_event);

/* Programs find the registers in the first bytes of the record, whose head is not written yet. */
static bool programs_pass(struct trace_event_call *call, void *record, struct pt_regs *regs)
{
	if (!bpf_prog_array_valid(call))
		return true;
	*(void **)record = regs;
	return trace_call_bpf(call, record);
}

/**
 * perf_trace_run_bpf_submit - run a probe's BPF programs, then tell its events
 * @call: the probe
 *
 * If a program answers 0 the events do not see the hit.
 * Other parameters and context: see perf_tp_event().
 */
void perf_trace_run_bpf_submit(void *raw_data, int size, int rctx, struct trace_event_call *call,
			       u64 count, struct pt_regs *regs, struct hlist_head *head,
			       struct task_struct *task)
{
	bool pass = programs_pass(call, raw_data, regs);

	if (pass && (task || !hlist_empty(head)))
		perf_tp_event(call->event.type, count, raw_data, size, regs, head, rctx, task);
	else
		perf_swevent_put_recursion_context(rctx);
}
EXPORT_SYMBOL_GPL(perf_trace_run_bpf_submit);

/* --------------------------------------------------------------------- PMUs */

static void tp_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
}

static void tp_stop(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
}

static int tp_add(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	return perf_trace_add(event, flags);
}

static void tp_read(struct perf_event *event)
{
}

/* The checks that all three have in common, and what an event of theirs is. */
static int tp_check(struct perf_event *event)
{
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP, "branch_sample_type: tracing events have no branches");
	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	return 0;
}

static void child_destroy(struct perf_event *event)
{
	struct trace_event_call *call = event->tp_event;

	guard(mutex)(&event_mutex);
	call->class->reg(call, TRACE_REG_PERF_CLOSE, event);
}

/*
 * An inherited event is of the very probe that its parent keeps registered. What the parent was
 * allowed is not asked again of whoever forks, and user memory that its attr points to is not
 * looked at: it is not the forking task's.
 */
static int child_init(struct perf_event *event)
{
	struct trace_event_call *call = event->parent->tp_event;
	int ret;

	event->tp_event = call;
	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	scoped_guard(mutex, &event_mutex)
		ret = call->class->reg(call, TRACE_REG_PERF_OPEN, event);
	if (!ret)
		event->destroy = child_destroy;
	return ret;
}

/* No hit is under way when the last one is gone. */
static void tracepoint_destroy(struct perf_event *event)
{
	perf_trace_destroy(event);
	atomic_dec(&perf_nr_tracepoints);
}

static int tracepoint_register(struct perf_event *event)
{
	int ret;

	atomic_inc(&perf_nr_tracepoints);
	ret = perf_trace_init(event);
	if (ret)
		atomic_dec(&perf_nr_tracepoints);
	return ret;
}

static int tracepoint_init(struct perf_event *event)
{
	int ret;

	if (event->attr.type != PERF_TYPE_TRACEPOINT)
		return -ENOENT;
	if (event->parent)
		return child_init(event);
	ret = tp_check(event);
	if (ret)
		return ret;
	ret = tracepoint_register(event);
	if (ret == -EINVAL)
		return perf_refuse(ret, "config: no tracepoint %llu that perf may use so (function tracing: no user callchain or stack)",
				   event->attr.config);
	if (ret)
		return perf_refuse(ret, "config: raw data or function tracing by tracepoint %llu needs CAP_PERFMON, perf_event_paranoid",
				   event->attr.config);
	event->destroy = tracepoint_destroy;
	return 0;
}

#define TRACING_PMU(_init, _groups)				\
{								\
	.task_ctx_nr	= perf_sw_context,			\
	.attr_groups	= _groups,				\
	.event_init	= _init,				\
	.add		= tp_add,				\
	.del		= perf_trace_del,			\
	.start		= tp_start,				\
	.stop		= tp_stop,				\
	.read		= tp_read,				\
}

static struct pmu perf_tracepoint_pmu = TRACING_PMU(tracepoint_init, NULL);

#if defined(CONFIG_KPROBE_EVENTS) || defined(CONFIG_UPROBE_EVENTS)
PMU_FORMAT_ATTR(retprobe, "config:0");

/* config of both kinds of probe */
#define PROBE_RETURN		BIT_ULL(0)
#define PROBE_REF_CTR_SHIFT	32
#endif

#ifdef CONFIG_KPROBE_EVENTS
static struct attribute *kprobe_format[] = {
	&format_attr_retprobe.attr,
	NULL,
};

static const struct attribute_group kprobe_format_group = {
	.name	= "format",
	.attrs	= kprobe_format,
};

static const struct attribute_group *kprobe_groups[] = {
	&kprobe_format_group,
	NULL,
};

static int kprobe_init(struct perf_event *event)
{
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->parent)
		return child_init(event);
	if (!perfmon_capable())
		return perf_refuse(-EACCES, "type: a kprobe needs CAP_PERFMON");
	ret = tp_check(event);
	if (ret)
		return ret;
	ret = perf_kprobe_init(event, event->attr.config & PROBE_RETURN);
	if (ret)
		return perf_refuse(ret, "kprobe_func, probe_offset: no kprobe can be set there");
	event->destroy = perf_kprobe_destroy;
	return 0;
}

static struct pmu perf_kprobe_pmu = TRACING_PMU(kprobe_init, kprobe_groups);
#endif

#ifdef CONFIG_UPROBE_EVENTS
PMU_FORMAT_ATTR(ref_ctr_offset, "config:32-63");

static struct attribute *uprobe_format[] = {
	&format_attr_retprobe.attr,
	&format_attr_ref_ctr_offset.attr,
	NULL,
};

static const struct attribute_group uprobe_format_group = {
	.name	= "format",
	.attrs	= uprobe_format,
};

static const struct attribute_group *uprobe_groups[] = {
	&uprobe_format_group,
	NULL,
};

static int uprobe_init(struct perf_event *event)
{
	u64 config = event->attr.config;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->parent)
		return child_init(event);
	if (!capable(CAP_SYS_ADMIN))
		return perf_refuse(-EACCES, "type: a uprobe needs CAP_SYS_ADMIN");
	ret = tp_check(event);
	if (ret)
		return ret;
	ret = perf_uprobe_init(event, config >> PROBE_REF_CTR_SHIFT, config & PROBE_RETURN);
	if (ret)
		return perf_refuse(ret, "uprobe_path, probe_offset: no uprobe can be set there");
	event->destroy = perf_uprobe_destroy;
	return 0;
}

static struct pmu perf_uprobe_pmu = TRACING_PMU(uprobe_init, uprobe_groups);
#endif

/* Is it an event of one of the PMUs above, with a trace_event_call behind it? */
bool perf_event_is_tracing(struct perf_event *event)
{
	return event->pmu && event->pmu->add == tp_add;
}

static const struct {
	struct pmu	*pmu;
	const char	*name;
	int		type;
} tracing_pmus[] = {
	{ &perf_tracepoint_pmu,	"tracepoint",	PERF_TYPE_TRACEPOINT },
#ifdef CONFIG_KPROBE_EVENTS
	{ &perf_kprobe_pmu,	"kprobe",	-1 },
#endif
#ifdef CONFIG_UPROBE_EVENTS
	{ &perf_uprobe_pmu,	"uprobe",	-1 },
#endif
};

int __init perf_tracepoint_init(void)
{
	int ret = 0;

	for (int i = 0; i < ARRAY_SIZE(tracing_pmus) && !ret; i++)
		ret = perf_pmu_register(tracing_pmus[i].pmu, tracing_pmus[i].name,
					tracing_pmus[i].type);
	return ret;
}

#else /* !CONFIG_EVENT_TRACING */

int perf_tracepoint_set_filter(struct perf_event *event, char *filter)
{
	return -ENOENT;
}

void perf_tracepoint_free_filter(struct perf_event *event)
{
}

bool perf_event_is_tracing(struct perf_event *event)
{
	return false;
}

int __init perf_tracepoint_init(void)
{
	return 0;
}

#endif
