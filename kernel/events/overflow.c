// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow: an event has counted a period.
 *
 * In this order: is it too often (throttle.c); pause the AUX trace; does a BPF program want the
 * sample; is this the last one of IOC_REFRESH; a signal to the task; the handler, which writes the
 * sample; wake whoever waits. What cannot be done here is left to irq_work and task_work
 * (pending.c).
 *
 * The answer tells the driver to stop the event: until it is unthrottled or enabled again it must
 * not overflow.
 *
 * Context: any, NMI included, on the CPU where the event counts. No locks.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "buffer.h"
#include "output.h"

/* --------------------------------------------------------------- BPF programs */

#if defined(CONFIG_BPF_SYSCALL) && defined(CONFIG_PERF_EVENTS)

/*
 * The call chain is there for the program, in a buffer that the program may collect others in. So it
 * is not there any more afterwards.
 */
static int run_prepared(struct bpf_prog *prog, struct bpf_perf_event_data_kern *context,
			struct pt_regs *regs)
{
	struct perf_sample_data *data = context->data;
	u64 words = 0;
	int ret;

	perf_prepare_sample(data, context->event, regs);
	if (data->sample_flags & PERF_SAMPLE_CALLCHAIN) {
		words = 1 + data->callchain->nr;
		perf_callchain_release(data->callchain);
	}
	ret = bpf_prog_run(prog, context);
	data->sample_flags &= ~PERF_SAMPLE_CALLCHAIN;
	data->dyn_size -= words * sizeof(u64);
	return ret;
}

static int run_program(struct bpf_prog *prog, struct perf_event *event,
		       struct perf_sample_data *data, struct pt_regs *regs)
{
	struct bpf_perf_event_data_kern context = {
		.regs	= perf_arch_bpf_user_pt_regs(regs),
		.data	= data,
		.event	= event,
	};
	int ret = 0;

	if (likely(__this_cpu_inc_return(bpf_prog_active) == 1))
		ret = run_prepared(prog, &context, regs);
	__this_cpu_dec(bpf_prog_active);
	return ret;
}

/* False if a program says that it does not want to see this one go any further. */
static noinline bool program_passes(struct perf_event *event, struct perf_sample_data *data,
				    struct pt_regs *regs)
{
	struct perf_event *owner = perf_event_writer(event);
	struct bpf_prog *prog;

	guard(rcu)();
	prog = READ_ONCE(owner->prog);
	/* Programs of tracing events have been run by the probe. */
	if (!prog || prog->type != BPF_PROG_TYPE_PERF_EVENT)
		return true;
	return run_program(prog, event, data, regs);
}

#else

static bool program_passes(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
	return true;
}

#endif

/* ------------------------------------------------------------------ AUX pause */

/* ACTIVE, and already added here: other events of a context are loaded before it is. */
static bool is_tracing_here(struct perf_event *aux)
{
	return READ_ONCE(aux->state) == PERF_EVENT_STATE_ACTIVE &&
	       READ_ONCE(aux->oncpu) == smp_processor_id();
}

/*
 * The trace of the group's AUX event stops, or goes on, at this overflow. Not if the overflow is an
 * NMI that came while another one's was being stopped or started: the driver is in the middle of it.
 */
static noinline void aux_pause(struct perf_event *event, bool pause)
{
	struct perf_event *aux = event->aux_event;

	if (!aux)
		return;

	guard(irqsave)();
	if (!is_tracing_here(aux) || aux->hw.aux_pausing || aux->hw.aux_paused == pause)
		return;
	WRITE_ONCE(aux->hw.aux_pausing, 1);
	barrier();
	aux->hw.aux_paused = pause;
	barrier();
	if (pause)
		aux->pmu->stop(aux, PERF_EF_PAUSE);
	else
		aux->pmu->start(aux, PERF_EF_RESUME);
	barrier();
	WRITE_ONCE(aux->hw.aux_pausing, 0);
}

/* -------------------------------------------------------------------- signals */

/* Does the sample show what the event is not to look at? A hit may be noticed late. */
static bool is_skid(struct perf_event *event, struct pt_regs *regs)
{
	return event->attr.exclude_kernel && !user_mode(regs);
}

/*
 * A signal to the running task, synchronous: it finds the task where the event happened. There is
 * one at a time. It holds a reference on the event until it is delivered.
 */
static noinline void queue_sigtrap(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	/* The runqueue may be locked: nothing is allocated there, not even for a sanitizer. */
	enum task_work_notify_mode mode = in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME | TWAF_NO_ALLOC;
	bool told = (data->sample_flags & PERF_SAMPLE_ADDR) && !is_skid(event, regs);

	if (event->hw.target != current || !is_user_task(current))
		return;
	if (cmpxchg(&event->pending_work, 0, 1))
		return;

	event->pending_addr = told ? data->addr : 0;
	if (!atomic_long_inc_not_zero(&event->refcount)) {
		event->pending_work = 0;
		return;
	}
	if (task_work_add(current, &event->pending_task, mode)) {
		/* The task is past its last return to user space. Somebody else has a reference. */
		event->pending_work = 0;
		atomic_long_dec(&event->refcount);
	}
}

/* ------------------------------------------------------------------- overflow */

/* True if this was the last overflow that IOC_REFRESH allowed. */
static noinline bool limit_reached(struct perf_event *event)
{
	if (!atomic_dec_and_test(&event->event_limit))
		return false;
	perf_event_disable_inatomic(event);
	return true;
}

static __always_inline void call_handler(struct perf_event *event, struct perf_sample_data *data,
					 struct pt_regs *regs)
{
	perf_overflow_handler_t handler = READ_ONCE(event->overflow_handler);

	if (likely(handler == perf_event_output_forward))
		perf_event_output_forward(event, data, regs);
	else
		handler(event, data, regs);
}

static __always_inline bool handle(struct perf_event *event, struct perf_sample_data *data,
				   struct pt_regs *regs)
{
	struct perf_event *owner = perf_event_writer(event);
	bool last = false;

	if (unlikely(READ_ONCE(owner->prog)) && !program_passes(event, data, regs))
		return false;
	if (unlikely(atomic_read(&event->event_limit)))
		last = limit_reached(event);
	if (unlikely(event->attr.sigtrap))
		queue_sigtrap(event, data, regs);
	call_handler(event, data, regs);

	if (unlikely(owner->fasync)) {
		event->pending_kill = last ? POLL_HUP : POLL_IN;
		event->pending_wakeup = 1;
		irq_work_queue(&event->pending_irq);
	}
	return last;
}

/*
 * The same as perf_event_overflow(). With @throttle false the overflow is counted, but is not too
 * much: software events are as frequent as what they count.
 */
int perf_event_overflow_throttle(struct perf_event *event, bool throttle,
				 struct perf_sample_data *data, struct pt_regs *regs)
{
	bool stop;

	/* A counter that wraps around is not an overflow of an event that only counts. */
	if (unlikely(!is_sampling_event(event)))
		return 0;

	stop = perf_overflow_account(event, throttle);
	if (unlikely(event->attr.aux_pause))
		aux_pause(event, true);
	if (handle(event, data, regs))
		stop = true;
	if (unlikely(event->attr.aux_resume))
		aux_pause(event, false);
	return stop;
}

/**
 * perf_event_overflow - an event has counted a period
 * @event: it; its count is up to date
 * @data: initialised, with what the hardware says
 * @regs: where
 *
 * Return: 1 if the driver has to stop the event, else 0
 */
int perf_event_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	return perf_event_overflow_throttle(event, true, data, regs);
}

/**
 * perf_event_disable_inatomic - disable an event as soon as interrupts are on
 * @event: it
 *
 * Context: any
 */
void perf_event_disable_inatomic(struct perf_event *event)
{
	event->pending_disable = 1;
	irq_work_queue(&event->pending_disable_irq);
}

/* --------------------------------------------------------------------- period */

static void set_period_stopped(struct perf_event *event, u64 value)
{
	struct hw_perf_event *hwc = &event->hw;

	if (event->attr.freq) {
		event->attr.sample_freq = value;
		return;
	}
	event->attr.sample_period = value;
	hwc->sample_period = value;
	hwc->last_period = value;
	local64_set(&hwc->period_left, value);
}

/**
 * perf_event_set_period_value - give a sampling event another period or frequency
 * @event: it
 * @value: events, or Hz, checked
 *
 * A new period begins at once. Context: where the event's context may be changed.
 * Return: 0
 */
int perf_event_set_period_value(struct perf_event *event, u64 value)
{
	bool running = event->state == PERF_EVENT_STATE_ACTIVE &&
		       event->ctx->active_cpu == smp_processor_id();

	if (!running) {
		set_period_stopped(event, value);
		return 0;
	}
	perf_pmu_disable(event->pmu);
	event->pmu->stop(event, PERF_EF_UPDATE);
	set_period_stopped(event, value);
	if (event->hw.interrupts == PERF_THROTTLED)
		perf_event_unthrottle(event);
	else
		event->pmu->start(event, PERF_EF_RELOAD);
	perf_pmu_enable(event->pmu);
	return 0;
}
