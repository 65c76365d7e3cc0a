// SPDX-License-Identifier: GPL-2.0
/*
 * Stopping a driver that fills an AUX area.
 *
 * A driver fills the AUX area it has begun to use until it is stopped on its CPU, whatever happens
 * to event->rb: perf_aux_stop() stops it when the area is unmapped, perf_aux_restart() when
 * event->rb has changed.
 *
 * Locks: ctx->lock of each context on the CPU, one at a time.
 */
#include <linux/smp.h>

#include "event.h"

/**
 * struct aux_stop - a request to stop filling an AUX area
 * @aux: area to be stopped; NULL to stop by @top
 * @top: event after a change of its buffer: it and its children are stopped, and started again if
 *	it has a buffer
 */
struct aux_stop {
	struct perf_aux		*aux;
	struct perf_event	*top;
};

static bool aux_stop_matches(const struct aux_stop *stop, struct perf_event *event)
{
	if (event->oncpu < 0 || !has_aux(event))
		return false;
	if (stop->aux)
		return READ_ONCE(stop->aux->writer) == event;
	return perf_event_top(event) == stop->top;
}

static void aux_stop_event(const struct aux_stop *stop, struct perf_event *event)
{
	perf_event_restart_begin(event);
	perf_event_restart_end(event, !stop->aux && rcu_access_pointer(stop->top->rb));
}

static void aux_stop_in_ctx(struct perf_event_context *ctx, const struct aux_stop *stop)
{
	struct perf_event *event;

	guard(perf_irqsave)(&ctx->lock);
	list_for_each_entry(event, &ctx->switch_list, switch_entry) {
		if (aux_stop_matches(stop, event))
			aux_stop_event(stop, event);
	}
}

/* Cross-call, interrupts off. */
static void aux_stop_local(void *stop)
{
	struct perf_cpu_context *cpuctx = this_cpu_ptr(&perf_cpu_context);
	struct perf_event_context *ctx;

	if (cpuctx->task_ctx)
		aux_stop_in_ctx(cpuctx->task_ctx, stop);
	aux_stop_in_ctx(&cpuctx->ctx, stop);
	for_each_cgrp_ctx(ctx, cpuctx)
		aux_stop_in_ctx(ctx, stop);
}

/* All events of a buffer belong to one CPU, or to a task and its children, which run on any CPU. */
static void aux_stop_on_cpus(const struct perf_event *event, struct aux_stop *stop)
{
	int cpu;

	if (event->cpu >= 0) {
		smp_call_function_single(event->cpu, aux_stop_local, stop, 1);
		return;
	}
	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, aux_stop_local, stop, 1);
}

/**
 * perf_aux_stop - stop the driver that fills an AUX area
 * @event: an event of the buffer that the area belongs to
 * @aux: area with mmap_count 0, so that no driver begins to use it again
 *
 * Context: may sleep
 */
void perf_aux_stop(struct perf_event *event, struct perf_aux *aux)
{
	aux_stop_on_cpus(event, &(struct aux_stop){ .aux = aux });
}

/**
 * perf_aux_restart - make an AUX driver use the event's new buffer, or none
 * @event: top event, after a change of its rb
 *
 * Context: may sleep
 */
void perf_aux_restart(struct perf_event *event)
{
	aux_stop_on_cpus(event, &(struct aux_stop){ .top = event });
}
