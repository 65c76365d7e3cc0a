/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 2, output: buffers, overflow, samples and other records, call chains, guests.
 */
#ifndef _KERNEL_EVENTS_OUTPUT_H
#define _KERNEL_EVENTS_OUTPUT_H

#ifndef PERF_LAYER
# error "private to kernel/events/"
#elif PERF_LAYER < 2
# error "kernel/events/output is a higher layer than this file"
#endif

#include "buffer.h"

/* overflow.c */
int  perf_event_overflow_throttle(struct perf_event *event, bool throttle,
				  struct perf_sample_data *data, struct pt_regs *regs);

/* period.c */
void perf_freq_overflow(struct perf_event *event);
void perf_freq_tick(struct perf_event *event);
int  perf_event_set_period_value(struct perf_event *event, u64 value);

/* throttle.c */
extern unsigned int perf_samples_per_tick;
void perf_throttle(struct perf_event *event);
void perf_rethrottle_pending(struct perf_event *event);
void perf_throttle_tick(void);
void perf_event_unthrottle(struct perf_event *event);
void perf_unthrottle_in(struct perf_event_context *ctx);

/**
 * perf_overflow_account - count an overflow against the allowed rate
 * @event: event that has overflowed; its count is up to date
 * @may_throttle: throttle @event if it has used its share of this tick
 *
 * Context: any, NMI included, on the CPU where @event counts
 * Return: true if @event is throttled
 */
static __always_inline bool perf_overflow_account(struct perf_event *event, bool may_throttle)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 now = jiffies;

	/* An overflow that was pending in the hardware when the event was stopped. */
	if (unlikely(hwc->interrupts == PERF_THROTTLED))
		return true;

	if (hwc->interrupts_seq != now) {
		hwc->interrupts_seq = now;
		hwc->interrupts = 0;
	}
	hwc->interrupts++;
	if (unlikely(event->attr.freq))
		perf_freq_overflow(event);
	if (likely(!may_throttle || hwc->interrupts < READ_ONCE(perf_samples_per_tick)))
		return false;
	perf_throttle(event);
	return true;
}

/**
 * struct perf_ids - a task as an event reports it
 * @pid: process id
 * @tid: thread id
 *
 * Each is that of the namespace of the event's opener; 0 if the task is not in the namespace, -1 if
 * it has exited and its ids are released.
 */
struct perf_ids {
	u32	pid;
	u32	tid;
};

/* read_format.c */
int  perf_event_read_size(u64 read_format, int nr_siblings);
void perf_output_read_format(struct perf_output_handle *handle, struct perf_event *event,
			     unsigned int nr);

/* sample.c */
void perf_event_sample_sizes(struct perf_event *event);
struct perf_ids perf_event_ids(struct perf_event *event, struct task_struct *task);

/* sample_addr.c */
u64  perf_addr_to_phys(unsigned long addr);
u64  perf_addr_page_size(unsigned long addr);

/* record.c */
struct kvec;
int  perf_record_write_parts(struct perf_event *event, u32 type, u16 misc,
			     const struct kvec *part, unsigned int nr, unsigned int size);
int  perf_record_write(struct perf_event *event, u32 type, u16 misc, const void *body,
		       unsigned int size, const void *tail, unsigned int tail_size);
void perf_output_read_record(struct perf_event *event, struct task_struct *task);
void perf_log_throttle(struct perf_event *event, bool throttled);
void perf_log_itrace_start(struct perf_event *event);

/**
 * perf_get_recursion - enter code that must not be entered again in the same kind of context
 * @recursion: counts by interrupt_context_level(), of a task or a CPU
 *
 * Context: any, NMI included; preemption off
 * Return: value for perf_put_recursion(); -1 if the code is active in this kind of context
 */
static inline int perf_get_recursion(u8 *recursion)
{
	unsigned char rctx = interrupt_context_level();

	if (recursion[rctx])
		return -1;

	recursion[rctx]++;
	barrier();
	return rctx;
}

/* Undoes perf_get_recursion(), which returned @rctx. */
static inline void perf_put_recursion(u8 *recursion, unsigned char rctx)
{
	barrier();
	recursion[rctx]--;
}

#endif
