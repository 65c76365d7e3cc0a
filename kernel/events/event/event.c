// SPDX-License-Identifier: GPL-2.0
/*
 * Allocating and freeing events.
 *
 * An event is built in steps; perf_event_free() undoes those that were done. Until the event is
 * installed only its opener can reach it. References are held by its file or kernel user, by its
 * children that are not embedded, by events that pause, resume or sample its AUX trace or write to
 * its AUX area, and by a pending SIGTRAP. Dropping the last one frees the event.
 *
 * A child may be freed after it was unlinked from its parent and after the parent's file was
 * closed: the exiting task frees it without their locks, or later when a SIGTRAP is pending. Until
 * then it uses what its parent has set up, such as a probe. An embedded event owns nothing but its
 * part of the context's memory and holds no reference to its parent.
 *
 * Locks: none; an event that is not installed has one user.
 */
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/trace_events.h>
#include <linux/wait_bit.h>

#include "event.h"

static struct kmem_cache *event_cache;
static atomic64_t event_ids;

static void event_init_lists(struct perf_event *event)
{
	INIT_LIST_HEAD(&event->sibling_list);
	INIT_LIST_HEAD(&event->event_entry);
	INIT_LIST_HEAD(&event->switch_entry);
	INIT_LIST_HEAD(&event->sb_list);
	INIT_LIST_HEAD(&event->freq_entry);
	INIT_LIST_HEAD(&event->active_entry);
	INIT_LIST_HEAD(&event->pinned_entry);
	INIT_LIST_HEAD(&event->group_entry);
	INIT_LIST_HEAD(&event->child_list);
	INIT_LIST_HEAD(&event->owner_entry);
}

/* Members that an embedded event does not have. */
static void event_init_separate(struct perf_event *event)
{
	mutex_init(&event->child_mutex);
	raw_spin_lock_init(&event->addr_filters.lock);
	INIT_LIST_HEAD(&event->addr_filters.list);
	INIT_LIST_HEAD(&event->rb_entry);
	mutex_init(&event->mmap_mutex);
	init_waitqueue_head(&event->waitq);
}

static void event_init_period(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	hwc->sample_period = event->attr.sample_period;
	if (event->attr.freq && event->attr.sample_freq)
		hwc->sample_period = 1;
	hwc->last_period = hwc->sample_period;
	local64_set(&hwc->period_left, hwc->sample_period);
}

static void event_init_handler(struct perf_event *event, const struct perf_event_spec *spec)
{
	if (spec->handler) {
		event->overflow_handler = spec->handler;
		event->overflow_handler_context = spec->handler_context;
	} else if (is_write_backward(event)) {
		event->overflow_handler = perf_event_output_backward;
	} else {
		event->overflow_handler = perf_event_output_forward;
	}
}

/* Members that every event needs, embedded or not. */
static void event_init_common(struct perf_event *event, const struct perf_event_spec *spec)
{
	event->attr = *spec->attr;
	/* Drivers and MODIFY_ATTRIBUTES read it. */
	if (!has_branch_stack(event))
		event->attr.branch_sample_type = 0;
	event->orig_type = spec->parent ? spec->parent->orig_type : event->attr.type;
	event->cpu = spec->cpu;
	event->oncpu = -1;
	event->parent = spec->parent;
	event->group_leader = spec->leader ?: event;
	event->state = event->attr.disabled ? PERF_EVENT_STATE_OFF : PERF_EVENT_STATE_INACTIVE;
	event->id = atomic64_inc_return(&event_ids);
	event->clock = spec->parent ? spec->parent->clock : local_clock;
	atomic_long_set(&event->refcount, 1);
	event_init_lists(event);
	perf_event_pending_init(event);
	if (spec->task) {
		event->attach_state = PERF_ATTACH_TASK;
		event->hw.target = spec->task;
	}
	event_init_handler(event, spec);
}

/* Can the event request a side-band record? Then it is on its context's sb_list. */
static bool event_attr_is_sideband(const struct perf_event_attr *a)
{
	return a->mmap || a->mmap_data || a->mmap2 || a->comm || a->comm_exec || a->task ||
	       a->ksymbol || a->context_switch || a->text_poke || a->bpf_event ||
	       a->namespaces || a->cgroup || a->build_id;
}

static struct perf_event *event_new(const struct perf_event_spec *spec)
{
	struct perf_event *event = kmem_cache_zalloc(event_cache, GFP_KERNEL);

	if (!event)
		return NULL;
	event_init_common(event, spec);
	event_init_period(event);
	if (event_attr_is_sideband(&event->attr))
		event->account_flags |= EVENT_SIDEBAND;
	if (spec->task)
		get_task_struct(spec->task);
	/*
	 * The refcount cannot be 0: releasing the parent's file first removes the origin's event.
	 * The caller holds the ctx->mutex of that event.
	 */
	if (spec->parent)
		atomic_long_inc(&spec->parent->refcount);
	/* The opener's namespace: the task that creates a child event is the one being measured. */
	event->ns = get_pid_ns(spec->parent ? spec->parent->ns : task_active_pid_ns(current));
	event_init_separate(event);
	return event;
}

static int event_check_aux(struct perf_event *event)
{
	const struct perf_event_attr *a = &event->attr;
	int caps = event->pmu->capabilities;

	if (a->aux_output && (!(caps & PERF_PMU_CAP_AUX_OUTPUT) || a->aux_pause || a->aux_resume))
		return perf_refuse(-EOPNOTSUPP,
				   "aux_output: not with this PMU, aux_pause or aux_resume");
	if (a->aux_pause && a->aux_resume)
		return perf_refuse(-EINVAL, "aux_pause: not together with aux_resume");
	if (a->aux_start_paused && !(caps & PERF_PMU_CAP_AUX_PAUSE))
		return perf_refuse(-EOPNOTSUPP, "aux_start_paused: the PMU cannot pause");
	if (a->aux_start_paused)
		event->hw.aux_paused = 1;
	return 0;
}

/*
 * Children can be embedded if pmu::event_init need not be called for each: what it returned and
 * what it holds stays valid through the parent, which exists as long as it has children. The
 * attributes decide about an AUX event, which exec may take from the parent and not from its
 * children.
 */
static bool event_has_embeddable_children(struct perf_event *event)
{
	return !is_sampling_event(event) && !event->attr.aux_output && !has_aux_action(event) &&
	       !has_addr_filter(event) &&
	       (event->event_caps & PERF_EV_CAP_RESIDENT || perf_pmu_has_counters(event->pmu));
}

static int event_bind_pmu(struct perf_event *event, const struct perf_event_spec *spec)
{
	struct pmu *pmu;

	if (event->attr.inherit && (event->attr.sample_type & PERF_SAMPLE_READ) &&
	    !(event->attr.sample_type & PERF_SAMPLE_TID))
		return perf_refuse(-EINVAL, "inherit: PERF_SAMPLE_READ needs PERF_SAMPLE_TID");

	pmu = perf_pmu_init_event(event);
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	if (pmu->task_ctx_nr == perf_sw_context)
		event->event_caps |= PERF_EV_CAP_SOFTWARE;
	if (pmu->task_ctx_nr == perf_invalid_context && (spec->task || spec->cgroup_fd != -1))
		return perf_refuse(-EINVAL, "pid: the PMU counts for whole CPUs only");
	if (spec->task && (event->cpu >= 0 || perf_pmu_is_partial(pmu)))
		event->account_flags |= EVENT_BOUND;
	if (event_has_embeddable_children(event))
		event->account_flags |= EVENT_EMBEDDABLE;
	return event_check_aux(event);
}

static int event_get_callchain(struct perf_event *event)
{
	int ret;

	if (!(event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) || event->parent)
		return 0;
	ret = get_callchain_buffers(event->attr.sample_max_stack);
	if (ret == -EOVERFLOW)
		return perf_refuse(ret, "sample_max_stack: %llu is over perf_event_max_stack %llu",
				   event->attr.sample_max_stack, sysctl_perf_event_max_stack);
	if (ret)
		return perf_refuse(ret, "sample_type: no memory for call chains");
	event->attach_state |= PERF_ATTACH_CALLCHAIN;
	return 0;
}

static int event_alloc_filters(struct perf_event *event)
{
	if (!has_addr_filter(event))
		return 0;
	event->addr_filter_ranges = kcalloc(event->pmu->nr_addr_filters,
					    sizeof(*event->addr_filter_ranges), GFP_KERNEL);
	if (!event->addr_filter_ranges)
		return perf_refuse(-ENOMEM, "no memory for the event's filters");
	event->addr_filters_gen = 1;
	return 0;
}

static int event_build(struct perf_event *event, const struct perf_event_spec *spec)
{
	int ret = event_bind_pmu(event, spec);

	if (ret)
		return ret;
	if (spec->cgroup_fd != -1) {
		ret = perf_cgroup_connect(spec->cgroup_fd, event);
		if (ret)
			return ret;
	}
	ret = perf_exclusive_get(event);
	if (ret)
		return ret;
	ret = event_alloc_filters(event);
	if (ret)
		return ret;
	ret = event_get_callchain(event);
	if (ret)
		return ret;
	ret = security_perf_event_alloc(event);
	if (ret)
		return perf_refuse(ret, "security module: refused");
	perf_event_sample_sizes(event);
	perf_account(event);
	return 0;
}

/* Only CPUs that are possible have per-CPU memory, and their numbers may have gaps. */
static bool event_cpu_exists(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_possible(cpu);
}

/**
 * perf_event_alloc - allocate an event
 * @spec: description of the event
 *
 * Context: may sleep
 * Return: an event with one reference and without a context, or an ERR_PTR(); the reason has been
 *	given to perf_refuse()
 */
struct perf_event *perf_event_alloc(const struct perf_event_spec *spec)
{
	struct perf_event *event;
	int ret;

	if (spec->cpu == -1 ? !spec->task : !event_cpu_exists(spec->cpu))
		return ERR_PTR(perf_refuse(-EINVAL, "cpu: %lld is not a CPU, and -1 needs a pid",
					   spec->cpu));
	if (spec->attr->sigtrap && !spec->task)
		return ERR_PTR(perf_refuse(-EINVAL, "sigtrap: not for CPU events"));

	ret = spec->parent ? 0 : perf_pmu_check_type(spec->attr);
	if (ret)
		return ERR_PTR(ret);
	event = event_new(spec);
	if (!event)
		return ERR_PTR(perf_refuse(-ENOMEM, "no memory for the event"));
	ret = event_build(event, spec);
	if (ret) {
		perf_event_free(event);
		return ERR_PTR(ret);
	}
	return event;
}

static void event_clone_hw(struct hw_perf_event *to, const struct hw_perf_event *from)
{
	struct task_struct *target = to->target;

	*to = *from;
	to->target = target;
	to->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	to->interrupts = 0;
	local64_set(&to->prev_count, 0);
}

/*
 * An embedded event holds a reference to its context only. Everything else belongs to its parent,
 * which is not freed before its children, or to the context's task. There is no security blob:
 * security modules check access to files, and an inherited event has none.
 */
static void event_init_embedded(struct perf_event *event, const struct perf_event_spec *spec)
{
	struct perf_event *parent = spec->parent;

	event_init_common(event, spec);
	event->account_flags = EVENT_EMBEDDED | (parent->account_flags & EVENT_TRAITS);
	event->ns = parent->ns;
	event->pmu = parent->pmu;
	event->event_caps = parent->event_caps;
	event_clone_hw(&event->hw, &parent->hw);
	event->header_size = parent->header_size;
	event->id_header_size = parent->id_header_size;
	event->layout = parent->layout;
}

/**
 * perf_event_clone - allocate an inherited event
 * @ctx: context of the new task, not published yet
 * @spec: parent and its attributes, the new task, the new leader
 *
 * Context: may sleep
 * Return: as perf_event_alloc(); the event holds a reference to @ctx
 */
struct perf_event *perf_event_clone(struct perf_event_context *ctx, struct perf_event_spec *spec)
{
	struct perf_event *parent = spec->parent, *event = NULL;

	spec->handler = parent->overflow_handler;
	spec->handler_context = parent->overflow_handler_context;
	if (perf_event_is_embeddable(parent))
		event = perf_ctx_embed_event(ctx);
	if (event) {
		event_init_embedded(event, spec);
	} else {
		event = perf_event_alloc(spec);
		if (IS_ERR(event))
			return event;
		perf_ctx_get(ctx);
	}
	event->ctx = ctx;
	return event;
}

static void event_free_embedded(struct perf_event *event)
{
	if (perf_event_pending_busy(event))
		perf_event_pending_sync(event);
	/* Frees the context after a grace period. */
	if (perf_event_pending_trails())
		WRITE_ONCE(event->ctx->shared, true);
	perf_ctx_put(event->ctx);
}

/* Does an irq_work refer to @event, which has had no hit for a grace period? */
static bool event_is_referred_to(struct perf_event *event)
{
	/*
	 * A hit may have queued one after perf_event_pending_sync(). That of a child wakes the
	 * waiters of its parent.
	 */
	if (perf_event_pending_busy(event) || atomic_read_acquire(&event->late_children))
		return true;
	if (!perf_event_pending_trails() || event->account_flags & EVENT_UNUSED)
		return false;
	event->account_flags |= EVENT_UNUSED;
	return true;
}

static void event_free_rcu(struct rcu_head *head)
{
	struct perf_event *event = container_of(head, struct perf_event, rcu_head);
	struct perf_event *parent = event->parent;

	if (event_is_referred_to(event)) {
		call_rcu(&event->rcu_head, event_free_rcu);
		return;
	}
	/* pending_disable_work() uses the context. */
	if (event->ctx)
		perf_ctx_put(event->ctx);
	put_pid_ns(event->ns);
	kfree(event->addr_filter_ranges);
	perf_tracepoint_free_filter(event);
	kmem_cache_free(event_cache, event);
	/* The parent's memory may be freed from here on. */
	if (parent)
		atomic_fetch_dec_release(&parent->late_children);
}

/**
 * perf_event_free - free an event and everything it holds
 * @event: event that is in no context, completely or partly built
 *
 * The memory is freed after a grace period, because overflow and side-band code read it under RCU.
 *
 * Context: may sleep
 */
void perf_event_free(struct perf_event *event)
{
	struct perf_event *parent = event->parent;

	if (event->account_flags & EVENT_EMBEDDED) {
		event_free_embedded(event);
		return;
	}
	if (perf_event_pending_busy(event))
		perf_event_pending_sync(event);
	perf_unaccount(event);
	security_perf_event_free(event);
	/* Most events have none of these. */
	if (!parent && rcu_access_pointer(event->rb))
		perf_event_release_buffer(event);
	if (event->prog)
		perf_event_free_bpf_prog(event);
	if (event->addr_filter_ranges)
		perf_event_free_filter(event);
	perf_cgroup_disconnect(event);
	if (event->attach_state & PERF_ATTACH_EXCLUSIVE)
		perf_exclusive_put(event);
	if (event->destroy)
		event->destroy(event);
	if (event->attach_state & PERF_ATTACH_CALLCHAIN)
		put_callchain_buffers();
	if (event->aux_event)
		perf_event_put(event->aux_event);
	/* After perf_event::destroy, which may use the target. */
	if (event->hw.target)
		put_task_struct(event->hw.target);
	if (event->pmu)
		module_put(event->pmu->module);
	if (parent)
		atomic_inc(&parent->late_children);
	call_rcu(&event->rcu_head, event_free_rcu);
	/* Last: the child used resources of its parent until here, and uses its memory. */
	if (parent)
		perf_event_put(parent);
}

/**
 * perf_event_put - drop a reference to an event
 * @event: event; freed with its last reference
 *
 * Context: may sleep
 */
void perf_event_put(struct perf_event *event)
{
	if (atomic_long_dec_and_test(&event->refcount))
		perf_event_free(event);
}

/**
 * perf_event_get_live - take a reference to an event that may be about to be freed
 * @event: event; its memory exists: under RCU, or through a child or its group
 *
 * Context: any
 * Return: false if the last reference has been dropped
 */
bool perf_event_get_live(struct perf_event *event)
{
	return atomic_long_inc_not_zero(&event->refcount);
}

void __init perf_event_cache_init(void)
{
	event_cache = KMEM_CACHE(perf_event, SLAB_PANIC);
}
