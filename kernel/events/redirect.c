// SPDX-License-Identifier: GPL-2.0
/*
 * Whose buffer an event writes to: its own, which mmap() made, or another event's, by
 * PERF_EVENT_IOC_SET_OUTPUT or PERF_FLAG_FD_OUTPUT.
 *
 * perf_event::rb is what writers follow. The list of a buffer's events serves to wake their
 * readers and to take the buffer from them when it goes. Interrupts walk it under RCU, so an event
 * that has left one list enters the next only after a grace period. Its pointer need not wait.
 *
 * A driver that fills an AUX area goes on with it whatever becomes of the pointer, until it is stopped
 * where it runs. It is when the area goes, and when its event's pointer has changed.
 *
 * Locks: perf_buffers_lock; event->mmap_mutex by those who may have to wait. See buffer.h.
 */
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "buffer.h"
#include "event.h"

DEFINE_SPINLOCK(perf_buffers_lock);

/* perf_buffers_lock. */
static void leave_list(struct perf_event *event)
{
	list_del_rcu(&event->rb_entry);
	event->rcu_batches = get_state_synchronize_rcu();
	event->rcu_pending = 1;
}

/* Before taking perf_buffers_lock: an interrupt may still be on the event's last list. */
static void wait_to_enter_list(struct perf_event *event)
{
	lockdep_assert_held(&event->mmap_mutex);
	if (!event->rcu_pending)
		return;
	cond_synchronize_rcu(event->rcu_batches);
	event->rcu_pending = 0;
}

/**
 * struct aux_stop - a request to stop filling an AUX area
 * @aux: whoever fills this one; NULL for
 * @owner: this event and its children, which go on in the area they have now, if there is one
 */
struct aux_stop {
	struct perf_aux		*aux;
	struct perf_event	*owner;
};

static bool is_to_stop(const struct aux_stop *stop, struct perf_event *event)
{
	if (event->oncpu < 0 || !has_aux(event))
		return false;
	if (stop->aux)
		return READ_ONCE(stop->aux->borrower) == event;
	return perf_event_writer(event) == stop->owner;
}

static void stop_in(struct perf_event_context *ctx, const struct aux_stop *stop)
{
	struct perf_event *event;

	raw_spin_lock(&ctx->lock);
	list_for_each_entry(event, &ctx->switched, switch_entry) {
		if (!is_to_stop(stop, event))
			continue;
		perf_pmu_disable(event->pmu);
		event->pmu->stop(event, PERF_EF_UPDATE);
		if (!stop->aux && rcu_access_pointer(stop->owner->rb))
			event->pmu->start(event, PERF_EF_RELOAD);
		perf_pmu_enable(event->pmu);
	}
	raw_spin_unlock(&ctx->lock);
}

/* Interrupts off. */
static void stop_here(void *stop)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (cpuctx->task_ctx)
		stop_in(cpuctx->task_ctx, stop);
	stop_in(&cpuctx->ctx, stop);
	for (ctx = cpuctx->cgrp_ctx; ctx; ctx = ctx->cgrp_next)
		stop_in(ctx, stop);
}

/* All events that share a buffer belong to one CPU, or to one task, which may be anywhere. */
static void stop_where(const struct perf_event *event, struct aux_stop *stop)
{
	int cpu;

	if (event->cpu >= 0) {
		smp_call_function_single(event->cpu, stop_here, stop, 1);
		return;
	}
	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, stop_here, stop, 1);
}

/**
 * perf_aux_stop - stop whoever fills an AUX area
 * @event: an event whose buffer it belongs to
 * @aux: the area, which nobody begins to fill any more
 *
 * Context: may sleep
 */
void perf_aux_stop(struct perf_event *event, struct perf_aux *aux)
{
	stop_where(event, &(struct aux_stop){ .aux = aux });
}

/**
 * perf_aux_restart - an AUX event's buffer is another one now, or none
 * @event: an event with a file
 *
 * Context: may sleep
 */
void perf_aux_restart(struct perf_event *event)
{
	stop_where(event, &(struct aux_stop){ .owner = event });
}

/* Will several CPUs write to a buffer because of this event? */
static bool event_crowds(const struct perf_event *event)
{
	return event->attr.inherit && (event->cpu == -1 || event->attr.inherit_stat);
}

/**
 * perf_buffer_attach - let an event write to its new buffer
 * @rb: the buffer, which nobody else has seen
 * @event: an event with a file and without a buffer
 *
 * Context: event->mmap_mutex; may sleep
 */
void perf_buffer_attach(struct perf_buffer *rb, struct perf_event *event)
{
	wait_to_enter_list(event);
	perf_buffer_get(rb);
	rb->crowded = event_crowds(event);
	guard(spinlock)(&perf_buffers_lock);
	list_add_rcu(&event->rb_entry, &rb->events);
	rcu_assign_pointer(event->rb, rb);
}

/**
 * perf_buffer_detach - take its buffer from an event
 * @event: it has one, and is on its list
 *
 * Whoever polls is woken, since there will be nothing to wait for.
 *
 * Context: perf_buffers_lock; the caller has another reference on the buffer
 */
void perf_buffer_detach(struct perf_event *event)
{
	struct perf_buffer *rb = rcu_dereference_protected(event->rb,
							   lockdep_is_held(&perf_buffers_lock));

	leave_list(event);
	if (rb->page_event == event)
		WRITE_ONCE(rb->page_event, NULL);
	rcu_assign_pointer(event->rb, NULL);
	wake_up_all(&event->waitq);
	WARN_ON_ONCE(refcount_dec_and_test(&rb->refcount));
}

static struct perf_buffer *locked_rb(struct perf_event *event)
{
	return rcu_dereference_protected(event->rb, lockdep_is_held(&perf_buffers_lock));
}

/* SET_OUTPUT to nothing. */
static int output_to_none(struct perf_event *event)
{
	struct perf_buffer *rb;

	scoped_guard(spinlock, &perf_buffers_lock) {
		if (atomic_read(&event->mmap_count))
			return perf_refuse(-EINVAL, "output: the event's own buffer is mapped");
		rb = locked_rb(event);
		if (!rb)
			return 0;
		perf_buffer_get(rb);
		perf_buffer_detach(event);
	}
	perf_buffer_put(rb);
	return 0;
}

/**
 * perf_event_release_buffer - an event goes
 * @event: it has no mapping
 *
 * Context: may sleep
 */
void perf_event_release_buffer(struct perf_event *event)
{
	if (!event->parent && rcu_access_pointer(event->rb))
		output_to_none(event);
}

/**
 * perf_buffer_mark_crowded - another CPU than before may write to an event's buffer from now on
 * @target: the event; without a buffer nothing happens
 *
 * All writers that did not see the mark have finished. Context: may sleep
 */
void perf_buffer_mark_crowded(struct perf_event *target)
{
	struct perf_buffer *rb;

	scoped_guard(spinlock, &perf_buffers_lock) {
		rb = locked_rb(target);
		if (!rb)
			return;
		WRITE_ONCE(rb->crowded, true);
	}
	synchronize_rcu();
}

/*
 * The pointer is changed; if there was another buffer before, the event is on no list, and its
 * last buffer's reference is returned.
 */
static int switch_pointer(struct perf_event *event, struct perf_event *target,
			  struct perf_buffer **now, struct perf_buffer **before)
{
	struct perf_buffer *rb;

	guard(spinlock)(&perf_buffers_lock);
	rb = locked_rb(target);
	*before = locked_rb(event);
	*now = rb;

	if (atomic_read(&event->mmap_count))
		return perf_refuse(-EINVAL, "output: the event's own buffer is mapped");
	if (!rb || !rb->mmap_count)
		return perf_refuse(-EINVAL, "output: the target has no mapped buffer");
	if (*before == rb)
		return 0;
	if (event_crowds(event) && !rb->crowded)
		return -EAGAIN;		/* it is another one than was marked */
	if (!*before && event->rcu_pending)
		return -EAGAIN;		/* somebody may still be walking its old list by way of it */

	perf_buffer_get(rb);
	/* Who finds the buffer by the event, and has seen its news, has to be found for the next. */
	if (!*before)
		list_add_rcu(&event->rb_entry, &rb->events);
	rcu_assign_pointer(event->rb, rb);
	if (*before)
		leave_list(event);
	return 0;
}

/* The rest of it, after a grace period. The new buffer may have been unmapped meanwhile. */
static void switch_list(struct perf_event *event, struct perf_buffer *rb)
{
	bool late;

	wait_to_enter_list(event);

	perf_buffer_get(rb);
	scoped_guard(spinlock, &perf_buffers_lock) {
		list_add_rcu(&event->rb_entry, &rb->events);
		late = !rb->mmap_count;
		if (late)
			perf_buffer_detach(event);
	}
	perf_buffer_put(rb);
}

/* One CPU at a time writes to a buffer, with one clock, in one direction. */
static int check_target(struct perf_event *event, struct perf_event *target)
{
	if (event == target)
		return perf_refuse(-EINVAL, "output: an event cannot be its own target");
	if (target->cpu != event->cpu)
		return perf_refuse(-EINVAL, "output: the target is on CPU %lld, the event on %lld",
				   target->cpu, event->cpu);
	if (target->cpu == -1 && target->hw.target != event->hw.target)
		return perf_refuse(-EINVAL, "output: the target counts for another task");
	if (target->clock != event->clock)
		return perf_refuse(-EINVAL, "output: the target uses another clock");
	if (is_write_backward(target) != is_write_backward(event))
		return perf_refuse(-EINVAL, "output: write_backward differs from the target's");
	if (has_aux(event) && has_aux(target) && event->pmu != target->pmu)
		return perf_refuse(-EINVAL, "output: the target's AUX area is another PMU's");
	return 0;
}

static int output_to(struct perf_event *event, struct perf_event *target)
{
	struct perf_buffer *now, *before;
	int ret;

	ret = check_target(event, target);
	if (ret)
		return ret;

	do {
		wait_to_enter_list(event);
		if (event_crowds(event))
			perf_buffer_mark_crowded(target);
		ret = switch_pointer(event, target, &now, &before);
	} while (ret == -EAGAIN);
	if (ret || before == now)
		return ret;

	if (before) {
		switch_list(event, now);
		perf_buffer_put(before);
	}
	/* News may have come while nobody could find the event's readers, or before they were. */
	wake_up_all(&event->waitq);
	return 0;
}

/**
 * perf_event_set_output - let an event write to another event's buffer
 * @event: an event with a file, not mapped
 * @target: an event with a mapped buffer; NULL to write nowhere
 *
 * Context: may sleep; both events are held
 * Return: 0 or -EINVAL
 */
int perf_event_set_output(struct perf_event *event, struct perf_event *target)
{
	struct perf_buffer *before;
	int ret;

	guard(mutex)(&event->mmap_mutex);
	before = rcu_access_pointer(event->rb);
	ret = target ? output_to(event, target) : output_to_none(event);
	if (before != rcu_access_pointer(event->rb) && has_aux(event))
		perf_aux_restart(event);
	return ret;
}

/**
 * perf_event_pause_output - stop or resume writing to an event's buffer
 * @event: the event
 * @pause: stop; what would have been written is counted as lost
 *
 * Return: 0, -EINVAL if there is no buffer for data
 */
int perf_event_pause_output(struct perf_event *event, bool pause)
{
	struct perf_buffer *rb;

	guard(rcu)();
	rb = rcu_dereference(event->rb);
	if (!rb || !rb->nr_pages)
		return perf_refuse(-EINVAL, "output: no buffer with data pages is mapped");
	WRITE_ONCE(rb->paused, pause);
	return 0;
}
