// SPDX-License-Identifier: GPL-2.0
/*
 * Counts in samples and READ records, laid out by perf_event_attr::read_format.
 *
 * Context: any, NMI included, on the CPU where the event is; no locks.
 */
#include <linux/sizes.h>

#include "output.h"
#include "read_format.h"

/* Most bytes of a read(2), and so of a sample's READ field. */
#define READ_SIZE_MAX		SZ_16K

/**
 * perf_event_read_size - size of a read(2) of an event
 * @read_format: perf_event_attr::read_format
 * @nr_siblings: siblings in the event's group
 *
 * Context: any
 * Return: bytes, or -E2BIG if these are more than 16 KiB
 */
int perf_event_read_size(u64 read_format, int nr_siblings)
{
	u64 size = (u64)perf_read_words(read_format, 1 + nr_siblings) * sizeof(u64);

	if (size > READ_SIZE_MAX)
		return -E2BIG;
	return size;
}

/**
 * struct read_output - a read that is written to a record
 * @handle: the record
 * @event: event of the record; its count is up to date
 */
struct read_output {
	struct perf_output_handle	*handle;
	struct perf_event		*event;
};

static noinline void read_output_put(void *arg, u64 word)
{
	struct read_output *out = arg;

	perf_output_put_u64(out->handle, word);
}

static __always_inline void read_output_times(void *arg, u64 *enabled, u64 *running)
{
	struct perf_event *event = ((struct read_output *)arg)->event;

	perf_event_times(event, perf_ctx_time(event->ctx), enabled, running);
}

/*
 * @member's context may be active on another CPU, because a task's event can be hit while its task
 * is not running here: then the member cannot be read from here. If the context is inactive only
 * resident events may be read; their clock stands still.
 */
static bool read_output_is_readable(const struct perf_event *member)
{
	int cpu = READ_ONCE(member->ctx->active_cpu);

	if (cpu < 0)
		return member->event_caps & PERF_EV_CAP_RESIDENT;
	return cpu == smp_processor_id();
}

static __always_inline u64 read_output_count(void *arg, struct perf_event *member)
{
	struct read_output *out = arg;

	if (member != out->event && !out->handle->skip_read &&
	    member->state == PERF_EVENT_STATE_ACTIVE && read_output_is_readable(member))
		member->pmu->read(member);
	return local64_read(&member->count);
}

static __always_inline u64 read_output_lost(void *arg, struct perf_event *member)
{
	return atomic64_read(&member->lost_samples);
}

static const struct perf_read_ops read_output_ops = {
	.put		= read_output_put,
	.times		= read_output_times,
	.count		= read_output_count,
	.lost		= read_output_lost,
	.may_shrink	= true,
};

static noinline unsigned int read_output_write(struct read_output *out, struct perf_event *first,
					       unsigned int nr, u64 format)
{
	return perf_read_put(&read_output_ops, out, first, nr, format);
}

/* An interrupt may remove members between sizing and writing: these are written as zeroes. */
static void read_output_group(struct read_output *out, unsigned int nr, u64 format)
{
	unsigned int missing;
	unsigned long flags;

	local_irq_save(flags);
	missing = read_output_write(out, out->event->group_leader, nr, format);
	local_irq_restore(flags);

	for (missing *= perf_read_member_words(format); missing; missing--)
		perf_output_put_u64(out->handle, 0);
}

/**
 * perf_output_read_format - append an event's or its group's counts to a record
 * @handle: the record
 * @event: event with an updated count; other members are read unless @handle->skip_read
 * @nr: members for which the record has room, for PERF_FORMAT_GROUP
 *
 * Context: any, NMI included; preemption off
 */
void perf_output_read_format(struct perf_output_handle *handle, struct perf_event *event,
			     unsigned int nr)
{
	struct read_output out = { .handle = handle, .event = event };
	u64 format = event->attr.read_format;

	if (format & PERF_FORMAT_GROUP)
		read_output_group(&out, nr, format);
	else
		read_output_write(&out, event, 1, format);
}
