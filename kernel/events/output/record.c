// SPDX-License-Identifier: GPL-2.0
/*
 * Records that are not samples: functions to write them, and the records about an event itself.
 * Those about tasks, mappings and kernel text are in event/sideband*.c.
 *
 * Context: any, NMI included. No locks.
 */
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/uio.h>

#include "output.h"

/**
 * perf_record_write_parts - write a record to an event's buffer
 * @event: event that determines the buffer
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @part: the record between header and sample_id, in parts
 * @nr: number of parts
 * @size: sum of the parts' sizes, bytes; a multiple of 8
 *
 * Context: any, NMI included
 * Return: 0; -ENOSPC if there is no buffer or the record is lost
 */
int perf_record_write_parts(struct perf_event *event, u32 type, u16 misc,
			    const struct kvec *part, unsigned int nr, unsigned int size)
{
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data sample __uninitialized;
	struct perf_event_header header;
	int ret;

	if (!rcu_access_pointer(perf_event_top(event)->rb))
		return -ENOSPC;

	perf_event_header__init(&header, &sample, type, misc, sizeof(header) + size, event);
	ret = perf_output_begin(&handle, &sample, event, header.size);
	if (ret)
		return ret;

	perf_output_put(&handle, header);
	for (; nr; nr--, part++)
		perf_output_copy(&handle, part->iov_base, part->iov_len);
	perf_event__output_id_sample(event, &handle, &sample);
	perf_output_end(&handle);
	return 0;
}

/**
 * perf_record_write - write a record that consists of a body and an optional tail
 * @event: event that determines the buffer
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @body: what follows the header
 * @size: size of @body, bytes
 * @tail: what follows @body
 * @tail_size: size of @tail, bytes; 0 if there is none
 *
 * Context: any, NMI included
 * Return: as perf_record_write_parts()
 */
int perf_record_write(struct perf_event *event, u32 type, u16 misc, const void *body,
		      unsigned int size, const void *tail, unsigned int tail_size)
{
	const struct kvec part[] = {
		{ .iov_base = (void *)body, .iov_len = size },
		{ .iov_base = (void *)tail, .iov_len = tail_size },
	};

	return perf_record_write_parts(event, type, misc, part, tail_size ? 2 : 1,
				       size + tail_size);
}

/**
 * perf_output_read_record - write a READ record for an inherited event that ends
 * @event: inherited event with inherit_stat, stopped by the exit or the exec of its task
 * @task: the task
 *
 * Context: process context
 */
void perf_output_read_record(struct perf_event *event, struct task_struct *task)
{
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data sample __uninitialized;
	struct perf_event_header header;
	struct perf_ids ids = perf_event_ids(event, task);
	int values = perf_event_read_size(event->attr.read_format,
					  event->group_leader->nr_siblings);

	if (values < 0)
		return;
	perf_event_header__init(&header, &sample, PERF_RECORD_READ, 0,
				sizeof(header) + sizeof(ids) + values, event);
	if (perf_output_begin(&handle, &sample, event, header.size))
		return;
	handle.skip_read = 1;
	perf_output_put(&handle, header);
	perf_output_put(&handle, ids);
	perf_output_read_format(&handle, event, 1 + event->group_leader->nr_siblings);
	perf_event__output_id_sample(event, &handle, &sample);
	perf_output_end(&handle);
}

/**
 * perf_log_throttle - write a THROTTLE or UNTHROTTLE record
 * @event: event that is throttled or unthrottled
 * @throttled: which of the two
 *
 * Context: any, NMI included
 */
void perf_log_throttle(struct perf_event *event, bool throttled)
{
	struct {
		u64	time;
		u64	id;
		u64	stream_id;
	} body = {
		.time		= event->clock(),
		.id		= perf_event_top(event)->id,
		.stream_id	= event->id,
	};

	perf_record_write(event, throttled ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0,
			  &body, sizeof(body), NULL, 0);
}

void perf_log_lost_samples(struct perf_event *event, u64 lost)
{
	perf_record_write(event, PERF_RECORD_LOST_SAMPLES, 0, &lost, sizeof(lost), NULL, 0);
}

/**
 * perf_log_itrace_start - write an ITRACE_START record for an instruction trace
 * @event: event that is about to be added on this CPU; the record has the current task's ids
 *
 * The record is written at each pmu::add until the driver calls perf_event_itrace_started().
 *
 * Context: interrupts off
 */
void perf_log_itrace_start(struct perf_event *event)
{
	struct perf_event *top = perf_event_top(event);
	struct perf_ids body;

	if (!(top->pmu->capabilities & PERF_PMU_CAP_ITRACE) ||
	    (top->attach_state & PERF_ATTACH_ITRACE))
		return;
	body = perf_event_ids(top, current);
	perf_record_write(top, PERF_RECORD_ITRACE_START, 0, &body, sizeof(body), NULL, 0);
}

void perf_event_itrace_started(struct perf_event *event)
{
	event->attach_state |= PERF_ATTACH_ITRACE;
}

void perf_report_aux_output_id(struct perf_event *event, u64 hw_id)
{
	perf_record_write(perf_event_top(event), PERF_RECORD_AUX_OUTPUT_HW_ID, 0,
			  &hw_id, sizeof(hw_id), NULL, 0);
}
EXPORT_SYMBOL_GPL(perf_report_aux_output_id);
