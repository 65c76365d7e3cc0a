// SPDX-License-Identifier: GPL-2.0
/*
 * Records that are not samples: one way to write them, and the small ones that are about the
 * event itself. Those about tasks and kernel text are in the sideband files.
 *
 * Context: any, NMI included. No locks.
 */
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/uio.h>

#include "buffer.h"
#include "output.h"

/**
 * perf_record_write_parts - write a record to an event's buffer
 * @event: the event
 * @type: PERF_RECORD_*
 * @misc: PERF_RECORD_MISC_*
 * @part: what follows the header, in pieces
 * @nr: pieces
 * @size: bytes of all of them, a multiple of eight
 *
 * Return: 0 or -errno: no buffer, or lost
 */
int perf_record_write_parts(struct perf_event *event, u32 type, u16 misc,
			    const struct kvec *part, unsigned int nr, unsigned int size)
{
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data sample __uninitialized;
	struct perf_event_header header;
	int ret;

	if (!rcu_access_pointer(perf_event_writer(event)->rb))
		return -ENOENT;

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

/* The same with a body of fixed size and something behind it. */
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
 * perf_output_read_record - the last word of an inherited event whose task exits
 * @event: the child event, stopped
 * @task: its task
 */
void perf_output_read_record(struct perf_event *event, struct task_struct *task)
{
	struct perf_output_handle handle __uninitialized;
	struct perf_sample_data sample __uninitialized;
	struct perf_event_header header;
	struct {
		u32	pid;
		u32	tid;
	} who = {
		.pid	= perf_event_pid(event, task),
		.tid	= perf_event_tid(event, task),
	};
	int values = perf_event_read_size(event->attr.read_format,
					  event->group_leader->nr_siblings);

	if (values < 0)
		return;
	perf_event_header__init(&header, &sample, PERF_RECORD_READ, 0,
				sizeof(header) + sizeof(who) + values, event);
	if (perf_output_begin(&handle, &sample, event, header.size))
		return;
	handle.skip_read = 1;
	perf_output_put(&handle, header);
	perf_output_put(&handle, who);
	perf_output_read_format(&handle, event);
	perf_event__output_id_sample(event, &handle, &sample);
	perf_output_end(&handle);
}

/* An event stops, or goes on, because it overflowed too often. */
void perf_log_throttle(struct perf_event *event, bool throttled)
{
	struct {
		u64	time;
		u64	id;
		u64	stream_id;
	} body = {
		.time		= event->clock(),
		.id		= perf_event_writer(event)->id,
		.stream_id	= event->id,
	};

	perf_record_write(event, throttled ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0,
			  &body, sizeof(body), NULL, 0);
}

/**
 * perf_log_lost_samples - the hardware could not tell whose these samples were
 * @event: event they may have been
 * @lost: how many
 */
void perf_log_lost_samples(struct perf_event *event, u64 lost)
{
	perf_record_write(event, PERF_RECORD_LOST_SAMPLES, 0, &lost, sizeof(lost), NULL, 0);
}

/* An instruction trace begins: which task is it about? Once for each event. */
void perf_log_itrace_start(struct perf_event *event)
{
	struct perf_event *owner = perf_event_writer(event);
	struct {
		u32	pid;
		u32	tid;
	} body;

	if (!(owner->pmu->capabilities & PERF_PMU_CAP_ITRACE) ||
	    (owner->attach_state & PERF_ATTACH_ITRACE))
		return;
	body.pid = perf_event_pid(owner, current);
	body.tid = perf_event_tid(owner, current);
	perf_record_write(owner, PERF_RECORD_ITRACE_START, 0, &body, sizeof(body), NULL, 0);
}

/**
 * perf_event_itrace_started - the driver has started a trace: ITRACE_START has been written
 * @event: the event
 */
void perf_event_itrace_started(struct perf_event *event)
{
	event->attach_state |= PERF_ATTACH_ITRACE;
}

/**
 * perf_report_aux_output_id - what identifies an event's data in an AUX area
 * @event: the event
 * @hw_id: the hardware's number for it
 */
void perf_report_aux_output_id(struct perf_event *event, u64 hw_id)
{
	perf_record_write(perf_event_writer(event), PERF_RECORD_AUX_OUTPUT_HW_ID, 0,
			  &hw_id, sizeof(hw_id), NULL, 0);
}
EXPORT_SYMBOL_GPL(perf_report_aux_output_id);
