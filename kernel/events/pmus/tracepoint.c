// SPDX-License-Identifier: GPL-2.0
/*
 * The PMUs "tracepoint", "kprobe" and "uprobe": events of the tracing subsystem.
 *
 * The tracing subsystem registers the probe, keeps the event in the probe's list of this CPU while
 * the event is loaded (perf_trace_add() and perf_trace_del()), and calls perf_tp_event() with that
 * list when the probe is hit. The three PMUs differ in how they find an event's probe.
 *
 * Locks: event_mutex, in the tracing functions that are called at open and close. Hits are handled
 * under RCU with preemption off, in any context. A hit that concerns another task takes the lock of
 * that task's context, too; only tracepoints of the scheduler have one, so this is never in NMI.
 */
#include <linux/capability.h>
#include <linux/export.h>
#include <linux/filter.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/trace_events.h>

#include "pmus.h"

#ifdef CONFIG_EVENT_TRACING

/* Defined by the tracing subsystem, in a private header. */
extern struct mutex event_mutex;

/**
 * perf_tracepoint_set_filter - set the filter of a tracing event
 * @event: event for which perf_event_is_tracing() is true
 * @filter: expression in the syntax of the tracing subsystem
 *
 * Context: may sleep; takes event_mutex
 * Return: 0; -EEXIST if @event has a filter; or the parser's error
 */
int perf_tracepoint_set_filter(struct perf_event *event, char *filter)
{
	int ret = ftrace_profile_set_filter(event, event->attr.config, filter);

	return ret ? perf_refuse(ret, "filter: the tracing subsystem does not take it") : 0;
}

/**
 * perf_tracepoint_free_filter - free a tracing event's filter
 * @event: event that is being freed, of any PMU
 *
 * Context: any, a grace period after @event was removed: a hit on another CPU may be matching the
 *	filter for the event or for one of its children
 */
void perf_tracepoint_free_filter(struct perf_event *event)
{
	if (event->filter)
		ftrace_profile_free_filter(event);
}

/* An inherited event has its parent's filter. */
static bool tp_filter_passes(struct perf_event *event, void *record)
{
	struct perf_event *top = perf_event_top(event);

	return likely(!top->filter) || filter_match_preds(top->filter, record);
}

/* All hits but those of uprobes are in the kernel. */
static bool tp_accepts(struct perf_event *event, void *record, struct pt_regs *regs)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return false;
	if (event->attr.exclude_kernel && !user_mode(regs))
		return false;
	return tp_filter_passes(event, record);
}

/* Preparing a sample changes its data: each event has its own. */
static noinline void tp_sample(struct perf_event *event, u64 count, struct perf_raw_record *raw,
			       struct pt_regs *regs)
{
	struct perf_sample_data data __uninitialized;

	perf_sample_data_init(&data, 0, 0);
	perf_sample_save_raw_data(&data, event, raw);
	perf_swevent_event(event, count, &data, regs);
}

static void tp_deliver(struct perf_event *event, u64 count, struct perf_raw_record *raw,
		       struct pt_regs *regs)
{
	if (!tp_accepts(event, raw->frag.data, regs))
		return;
	if (is_sampling_event(event))
		tp_sample(event, count, raw, regs);
	else
		local64_add(count, &event->count);
}

static bool tp_targets(struct perf_event *event, u16 type)
{
	return event->attr.type == PERF_TYPE_TRACEPOINT && event->attr.config == type &&
	       !event->attr.sigtrap &&
	       perf_event_effective_state(event) >= PERF_EVENT_STATE_INACTIVE;
}

/*
 * A tracepoint may concern another task than the running one, as a wake-up does: the hit counts for
 * that task's events, too. Only for those that are bound to this CPU: the others may be writing to
 * their buffers on another CPU, and a buffer has one writing CPU at a time.
 */
static void tp_deliver_to_task(struct task_struct *task, u16 type, u64 count,
			       struct perf_raw_record *raw, struct pt_regs *regs)
{
	struct perf_event_context *ctx;
	struct perf_event *event;
	int cpu = smp_processor_id();

	guard(rcu)();
	ctx = rcu_dereference(task->perf_event_ctxp);
	if (!ctx || !READ_ONCE(ctx->nr_bound))
		return;

	guard(perf_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (event->cpu == cpu && tp_targets(event, type))
			tp_deliver(event, count, raw, regs);
	}
}

void perf_tp_event(u16 event_type, u64 count, void *record, int entry_size, struct pt_regs *regs,
		   struct hlist_head *head, int rctx, struct task_struct *task)
{
	struct perf_raw_record raw = {
		.frag = { .size = entry_size, .data = record },
	};
	struct perf_event *event;

	perf_trace_buf_update(record, event_type);

	hlist_for_each_entry_rcu(event, head, hlist_entry)
		tp_deliver(event, count, &raw, regs);
	if (task && task != current)
		tp_deliver_to_task(task, event_type, count, &raw, regs);

	perf_swevent_put_recursion_context(rctx);
}
EXPORT_SYMBOL_GPL(perf_tp_event);

/* Programs get the registers in the first bytes of the record, which are written only later. */
static bool tp_programs_pass(struct trace_event_call *call, void *record, struct pt_regs *regs)
{
	if (!bpf_prog_array_valid(call))
		return true;
	*(void **)record = regs;
	return trace_call_bpf(call, record);
}

/**
 * perf_trace_run_bpf_submit - run a probe's BPF programs and count the hit
 * @raw_data: record of the hit
 * @size: size of the record, bytes
 * @rctx: from perf_trace_buf_alloc()
 * @call: the probe
 * @count: number of occurrences
 * @regs: registers at the hit
 * @head: events of the probe on this CPU
 * @task: task that the hit concerns, if it is not the current one; or NULL
 *
 * The events do not count the hit if a program returns 0.
 *
 * Context: any; preemption off
 */
void perf_trace_run_bpf_submit(void *raw_data, int size, int rctx, struct trace_event_call *call,
			       u64 count, struct pt_regs *regs, struct hlist_head *head,
			       struct task_struct *task)
{
	bool pass = tp_programs_pass(call, raw_data, regs);

	if (pass && (task || !hlist_empty(head)))
		perf_tp_event(call->event.type, count, raw_data, size, regs, head, rctx, task);
	else
		perf_swevent_put_recursion_context(rctx);
}
EXPORT_SYMBOL_GPL(perf_trace_run_bpf_submit);

static int tp_add(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	return perf_trace_add(event, flags);
}

/* What event_init of all three PMUs has in common. */
static int tp_check(struct perf_event *event)
{
	if (has_branch_stack(event))
		return perf_refuse(-EOPNOTSUPP,
				   "branch_sample_type: tracing events have no branches");
	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	return 0;
}

static void tp_child_destroy(struct perf_event *event)
{
	struct trace_event_call *call = event->tp_event;

	guard(mutex)(&event_mutex);
	call->class->reg(call, TRACE_REG_PERF_CLOSE, event);
}

/*
 * An inherited event uses its parent's probe, which the parent keeps registered. Permissions are
 * not checked against the forking task. Pointers in attr are not followed: they are addresses in
 * the opener's memory.
 */
static int tp_child_init(struct perf_event *event)
{
	struct trace_event_call *call = event->parent->tp_event;
	int ret;

	event->tp_event = call;
	event->event_caps |= PERF_EV_CAP_SOFTWARE;
	scoped_guard(mutex, &event_mutex)
		ret = call->class->reg(call, TRACE_REG_PERF_OPEN, event);
	if (!ret)
		event->destroy = tp_child_destroy;
	return ret;
}

/* perf_trace_destroy() waits for hits. */
static void tp_tracepoint_destroy(struct perf_event *event)
{
	perf_trace_destroy(event);
	atomic_dec(&perf_nr_tracepoints);
}

static int tp_tracepoint_register(struct perf_event *event)
{
	int ret;

	atomic_inc(&perf_nr_tracepoints);
	ret = perf_trace_init(event);
	if (ret)
		atomic_dec(&perf_nr_tracepoints);
	return ret;
}

static int tp_tracepoint_init(struct perf_event *event)
{
	int ret;

	if (event->attr.type != PERF_TYPE_TRACEPOINT)
		return -ENOENT;
	if (event->parent)
		return tp_child_init(event);
	ret = tp_check(event);
	if (ret)
		return ret;
	ret = tp_tracepoint_register(event);
	if (ret == -EINVAL)
		return perf_refuse(ret,
				   "config: no tracepoint %llu, or function trace with user stack",
				   event->attr.config);
	if (ret)
		return perf_refuse(ret,
				   "config: tracepoint %llu: raw data, function trace: CAP_PERFMON",
				   event->attr.config);
	event->destroy = tp_tracepoint_destroy;
	return 0;
}

#define TRACING_PMU(_init, _groups)				\
{								\
	.task_ctx_nr	= perf_sw_context,			\
	.attr_groups	= _groups,				\
	.event_init	= _init,				\
	.add		= tp_add,				\
	.del		= perf_trace_del,			\
	.start		= perf_swevent_start,			\
	.stop		= perf_swevent_stop,			\
	.read		= perf_swevent_read,			\
}

static struct pmu perf_tracepoint_pmu = TRACING_PMU(tp_tracepoint_init, NULL);

#if defined(CONFIG_KPROBE_EVENTS) || defined(CONFIG_UPROBE_EVENTS)
PMU_FORMAT_ATTR(retprobe, "config:0");

/* config of kprobes and uprobes */
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

static int tp_kprobe_init(struct perf_event *event)
{
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->parent)
		return tp_child_init(event);
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

static struct pmu perf_kprobe_pmu = TRACING_PMU(tp_kprobe_init, kprobe_groups);
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

static int tp_uprobe_init(struct perf_event *event)
{
	u64 config = event->attr.config;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->parent)
		return tp_child_init(event);
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

static struct pmu perf_uprobe_pmu = TRACING_PMU(tp_uprobe_init, uprobe_groups);
#endif

/**
 * perf_event_is_tracing - is an event one of a tracing PMU?
 * @event: event of any PMU
 *
 * Context: any
 * Return: true if event->tp_event is valid
 */
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
