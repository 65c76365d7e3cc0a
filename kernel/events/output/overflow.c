// SPDX-License-Identifier: GPL-2.0
/*
 * Overflow: an event has counted a period.
 *
 * The steps are, in this order: check the rate (throttle.c); pause the AUX trace; run the BPF
 * program, which may drop the sample; check the limit of IOC_REFRESH; queue a signal for the task;
 * call the handler, which writes the sample; queue SIGIO; resume the AUX trace. What is not
 * possible in NMI is left to irq_work and task_work (event/pending.c).
 *
 * If the result is true the driver stops the event, which must not overflow until it is
 * unthrottled or enabled again.
 *
 * Context: any, NMI included, on the CPU where the event counts. No locks.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>

#include "output.h"

#if defined(CONFIG_BPF_SYSCALL) && defined(CONFIG_PERF_EVENTS)

/*
 * perf_prepare_sample() collects a chain for the program, which may overwrite the per-CPU buffer:
 * drop the chain afterwards, the sample collects its own. A chain of the driver's is kept: it need
 * not be that of @regs. Then the program finds no buffer for another one.
 */
static int overflow_bpf_run_prepared(struct bpf_prog *prog,
				     struct bpf_perf_event_data_kern *context, struct pt_regs *regs)
{
	struct perf_sample_data *data = context->data;
	bool given = data->sample_flags & PERF_SAMPLE_CALLCHAIN;
	u64 words = 0;
	int ret;

	perf_prepare_sample(data, context->event, regs);
	if (!given && data->sample_flags & PERF_SAMPLE_CALLCHAIN) {
		words = 1 + data->callchain->nr;
		perf_callchain_release(data->callchain);
	}
	ret = bpf_prog_run(prog, context);
	if (words) {
		data->sample_flags &= ~PERF_SAMPLE_CALLCHAIN;
		data->dyn_size -= words * sizeof(u64);
	}
	return ret;
}

static int overflow_bpf_run(struct bpf_prog *prog, struct perf_event *event,
			    struct perf_sample_data *data, struct pt_regs *regs)
{
	struct bpf_perf_event_data_kern context = {
		.regs	= perf_arch_bpf_user_pt_regs(regs),
		.data	= data,
		.event	= event,
	};
	int ret = 0;

	if (likely(__this_cpu_inc_return(bpf_prog_active) == 1))
		ret = overflow_bpf_run_prepared(prog, &context, regs);
	__this_cpu_dec(bpf_prog_active);
	return ret;
}

/* Returns false if a BPF program drops the sample. */
static noinline bool overflow_bpf_passes(struct perf_event *event, struct perf_sample_data *data,
					 struct pt_regs *regs)
{
	struct perf_event *top = perf_event_top(event);
	struct bpf_prog *prog;

	guard(rcu)();
	/* Pairs with perf_event_set_bpf_handler(): the cookie is set before. */
	prog = smp_load_acquire(&top->prog);
	/* The probe has run the programs of tracing events. */
	if (!prog || prog->type != BPF_PROG_TYPE_PERF_EVENT)
		return true;
	/* bpf_get_attach_cookie() takes it from the event of the context. */
	if (event != top)
		event->bpf_cookie = top->bpf_cookie;
	return overflow_bpf_run(prog, event, data, regs);
}

#else

static bool overflow_bpf_passes(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs)
{
	return true;
}

#endif

/* Loaded on this CPU: ACTIVE is not enough, because other events may be loaded before this one. */
static bool overflow_aux_is_active(struct perf_event *aux)
{
	return READ_ONCE(aux->state) == PERF_EVENT_STATE_ACTIVE &&
	       READ_ONCE(aux->oncpu) == smp_processor_id();
}

/*
 * Pauses or resumes the trace of the group's AUX event, unless this overflow is an NMI that has
 * interrupted the driver while it pauses or resumes the trace.
 */
static noinline void overflow_aux_pause(struct perf_event *event, bool pause)
{
	struct perf_event *aux;

	guard(perf_irqs)();
	aux = READ_ONCE(event->aux_event);
	if (!aux || !overflow_aux_is_active(aux))
		return;
	if (aux->hw.aux_pausing || aux->hw.aux_paused == pause)
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

/* The overflow was reported late, in the kernel, which the event excludes. */
static bool overflow_is_skid(struct perf_event *event, struct pt_regs *regs)
{
	return event->attr.exclude_kernel && !user_mode(regs);
}

/*
 * Queues a synchronous signal for the running task, which is delivered before the task returns to
 * user space. One signal is pending at a time; it holds a reference on the event.
 */
static noinline void overflow_queue_sigtrap(struct perf_event *event,
					    struct perf_sample_data *data, struct pt_regs *regs)
{
	/* The runqueue may be locked: nothing may be allocated, not even by a sanitizer. */
	enum task_work_notify_mode mode = in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME | TWAF_NO_ALLOC;
	bool has_addr = (data->sample_flags & PERF_SAMPLE_ADDR) && !overflow_is_skid(event, regs);

	if (event->hw.target != current || !is_user_task(current))
		return;
	if (cmpxchg(&event->pending_work, 0, 1))
		return;

	event->pending_addr = has_addr ? data->addr : 0;
	if (!atomic_long_inc_not_zero(&event->refcount)) {
		event->pending_work = 0;
		return;
	}
	if (task_work_add(current, &event->pending_task, mode)) {
		/* The task has passed its last return to user space. There are other references. */
		event->pending_work = 0;
		atomic_long_dec(&event->refcount);
	}
}

/*
 * Returns true, and disables the event, at the last overflow that IOC_REFRESH allows. Those on a
 * dead CPU, where the event cannot be disabled, do not count.
 */
static noinline bool overflow_limit_reached(struct perf_event *event)
{
	if (perf_cpu_is_dead() || !atomic_dec_and_test(&event->event_limit))
		return false;
	perf_event_disable_inatomic(event);
	return true;
}

static __always_inline void overflow_call_handler(struct perf_event *event,
						  struct perf_sample_data *data,
						  struct pt_regs *regs)
{
	perf_overflow_handler_t handler = READ_ONCE(event->overflow_handler);

	if (likely(handler == perf_event_output_forward))
		perf_event_output_forward(event, data, regs);
	else
		handler(event, data, regs);
}

static __always_inline bool overflow_handle(struct perf_event *event, struct perf_sample_data *data,
					    struct pt_regs *regs)
{
	struct perf_event *top = perf_event_top(event);
	bool last = false;

	if (unlikely(READ_ONCE(top->prog)) && !overflow_bpf_passes(event, data, regs))
		return false;
	if (unlikely(atomic_read(&event->event_limit)))
		last = overflow_limit_reached(event);
	if (unlikely(event->attr.sigtrap))
		overflow_queue_sigtrap(event, data, regs);
	overflow_call_handler(event, data, regs);

	if (unlikely(top->fasync)) {
		top->pending_kill = last ? POLL_HUP : POLL_IN;
		top->pending_wakeup = 1;
		perf_irq_work_queue(&top->pending_irq);
	}
	return last;
}

/**
 * perf_event_overflow_throttle - perf_event_overflow() with optional throttling
 * @event: event that has overflowed
 * @throttle: whether @event may be throttled; software events are as frequent as what they count
 * @data: initialised sample
 * @regs: registers at the overflow
 *
 * Context: any, NMI included, on the CPU where @event counts
 * Return: 1 if @event has to be stopped, else 0
 */
int perf_event_overflow_throttle(struct perf_event *event, bool throttle,
				 struct perf_sample_data *data, struct pt_regs *regs)
{
	bool stop;

	/* A counter wrap of a counting event is not an overflow. */
	if (unlikely(!is_sampling_event(event)))
		return 0;

	stop = perf_overflow_account(event, throttle);
	if (unlikely(event->attr.aux_pause))
		overflow_aux_pause(event, true);
	if (overflow_handle(event, data, regs))
		stop = true;
	if (unlikely(event->attr.aux_resume))
		overflow_aux_pause(event, false);
	return stop;
}

int perf_event_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	return perf_event_overflow_throttle(event, true, data, regs);
}

/* Interrupts of many samples: the driver for Intel alone has them. */
#ifdef CONFIG_CPU_SUP_INTEL
bool perf_event_overflow_only_samples(struct perf_event *event)
{
	const struct perf_event *top = perf_event_top(event);

	return is_sampling_event(event) && !READ_ONCE(top->prog) && !top->fasync &&
	       !atomic_read(&event->event_limit) && !event->attr.sigtrap &&
	       READ_ONCE(event->overflow_handler) == perf_event_output_forward;
}

int perf_event_overflow_batched(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs)
{
	return is_sampling_event(event) && overflow_handle(event, data, regs);
}
#endif
