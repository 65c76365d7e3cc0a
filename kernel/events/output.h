/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floor 3: overflow, samples, records and the way into a buffer.
 */
#ifndef _KERNEL_EVENTS_OUTPUT_H
#define _KERNEL_EVENTS_OUTPUT_H

#include "context.h"

/* overflow.c: what happens when an event overflows. Any context, NMI included. */
int  perf_event_overflow_throttle(struct perf_event *event, bool throttle,
				  struct perf_sample_data *data, struct pt_regs *regs);
int  perf_event_set_period_value(struct perf_event *event, u64 value); /* on its CPU, IRQs off */
void perf_event_wakeup(struct perf_event *event);

/* throttle.c: how often events may overflow, and how often those with a frequency do. */
DECLARE_PER_CPU(u64, perf_tick_seq);
extern unsigned int perf_samples_per_tick;
void perf_throttle(struct perf_event *event);
void perf_throttle_goes_on(struct perf_event *event);
void perf_freq_overflow(struct perf_event *event);
void perf_throttle_tick(void);	/* hard IRQ: unthrottle, adjust frequencies on this CPU */
void perf_event_unthrottle(struct perf_event *event);
void perf_unthrottle_in(struct perf_event_context *ctx);

/**
 * perf_overflow_account - an event has overflowed
 * @event: it
 * @may_throttle: if that is too often it is to be stopped
 *
 * Context: any
 * Return: true if the event is throttled
 */
static __always_inline bool perf_overflow_account(struct perf_event *event, bool may_throttle)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 seq = __this_cpu_read(perf_tick_seq);

	/* A hit that was under way when it was stopped. */
	if (unlikely(hwc->interrupts == PERF_THROTTLED))
		return true;

	if (hwc->interrupts_seq != seq) {
		hwc->interrupts_seq = seq;
		hwc->interrupts = 0;
	}
	hwc->interrupts++;
	if (unlikely(event->attr.freq))
		perf_freq_overflow(event);
	if (likely(!may_throttle || hwc->interrupts <= READ_ONCE(perf_samples_per_tick)))
		return false;
	perf_throttle(event);
	return true;
}

/* pending.c, floor 4: what overflow leaves to be done outside of NMI. */
void perf_event_pending_init(struct perf_event *event);		/* irq_work, task_work */
void perf_event_pending_sync(struct perf_event *event);		/* may sleep: no irq_work is left */
bool perf_event_pending_busy(struct perf_event *event);		/* any context */

/* sample.c: which fields, their order, size and writers. */
void perf_event_sample_sizes(struct perf_event *event);	/* header_size, id_header_size, layout */
int  perf_event_read_size(u64 read_format, int nr_siblings);	/* bytes, or -E2BIG over 16 KiB */
void perf_output_read_format(struct perf_output_handle *handle, struct perf_event *event);
/* A task's numbers as whoever opened the event sees them; -1 once it has lost them. */
u32  perf_event_pid(struct perf_event *event, struct task_struct *task);
u32  perf_event_tid(struct perf_event *event, struct task_struct *task);

/* sample_addr.c */
u64  perf_addr_to_phys(unsigned long addr);
u64  perf_addr_page_size(unsigned long addr);

/* record.c: records that are not samples. Any context. */
struct kvec;
int  perf_record_write_parts(struct perf_event *event, u32 type, u16 misc,
			     const struct kvec *part, unsigned int nr, unsigned int size);
int  perf_record_write(struct perf_event *event, u32 type, u16 misc, const void *body,
		       unsigned int size, const void *tail, unsigned int tail_size);
void perf_output_read_record(struct perf_event *event, struct task_struct *task); /* inherit_stat */
void perf_log_throttle(struct perf_event *event, bool throttled);
void perf_log_itrace_start(struct perf_event *event);	/* before an event is added */

/* userpage.c */
void perf_event_init_userpage(struct perf_event *event, struct perf_buffer *rb);

/* Recursion: one writer per kind of context on a CPU. -1 if there is one already. */
static inline int perf_get_recursion(u8 *recursion)
{
	unsigned char rctx = interrupt_context_level();

	if (recursion[rctx])
		return -1;

	recursion[rctx]++;
	barrier();
	return rctx;
}

static inline void perf_put_recursion(u8 *recursion, unsigned char rctx)
{
	barrier();
	recursion[rctx]--;
}

#endif
