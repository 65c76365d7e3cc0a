/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layout of read_format: what read(2) returns, and what samples and READ records contain.
 *
 *	one event	value [time_enabled] [time_running] [id] [lost]
 *	GROUP		nr [time_enabled] [time_running], then nr times: value [id] [lost]
 *
 * All are u64; those in brackets are present if their PERF_FORMAT_* bit is set. The id is that of
 * the top event: inherited events are read as their parent.
 */
#ifndef _KERNEL_EVENTS_READ_FORMAT_H
#define _KERNEL_EVENTS_READ_FORMAT_H

#include "buffer.h"

/**
 * struct perf_read_ops - where the words of a read are from, and where they are stored
 * @put: store the next word
 * @times: the event's or the group's times, ns; called at most once
 * @count: count of the next member; the leader is first
 * @lost: lost samples of the member of the last count
 * @may_shrink: the group may have fewer members by now than space is reserved for
 *
 * perf_read_put() is inlined, and so are these: a set of them is constant.
 */
struct perf_read_ops {
	void	(*put)(void *arg, u64 word);
	void	(*times)(void *arg, u64 *enabled, u64 *running);
	u64	(*count)(void *arg, struct perf_event *member);
	u64	(*lost)(void *arg, struct perf_event *member);
	bool	may_shrink;
};

static inline unsigned int perf_read_member_words(u64 format)
{
	return 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
}

/**
 * perf_read_words - size of a read
 * @format: perf_event_attr::read_format
 * @nr: members of the group, with its leader; ignored without PERF_FORMAT_GROUP
 *
 * Context: any
 * Return: number of u64
 */
static inline unsigned int perf_read_words(u64 format, unsigned int nr)
{
	unsigned int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (format & PERF_FORMAT_GROUP)
		return 1 + times + nr * perf_read_member_words(format);
	return times + perf_read_member_words(format);
}

static __always_inline void perf_read_put_times(const struct perf_read_ops *ops, void *arg,
						u64 format)
{
	u64 enabled __uninitialized, running __uninitialized;

	if (!(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)))
		return;
	ops->times(arg, &enabled, &running);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		ops->put(arg, enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		ops->put(arg, running);
}

static __always_inline void perf_read_put_tail(const struct perf_read_ops *ops, void *arg,
					       struct perf_event *member, u64 format)
{
	if (format & PERF_FORMAT_ID)
		ops->put(arg, perf_event_top(member)->id);
	if (format & PERF_FORMAT_LOST)
		ops->put(arg, ops->lost(arg, member));
}

/**
 * perf_read_put - store a read, word by word
 * @ops: source and destination
 * @arg: their argument
 * @event: the event; the leader for PERF_FORMAT_GROUP, with siblings that do not change meanwhile
 * @nr: members to store, with the leader; 1 without PERF_FORMAT_GROUP
 * @format: perf_event_attr::read_format
 *
 * Context: that of the functions in @ops
 * Return: members not stored, because the group has become smaller
 */
static __always_inline unsigned int perf_read_put(const struct perf_read_ops *ops, void *arg,
						  struct perf_event *event, unsigned int nr,
						  u64 format)
{
	const struct list_head *pos = &event->sibling_list;
	bool group = format & PERF_FORMAT_GROUP;
	struct perf_event *member = event;

	ops->put(arg, group ? nr : ops->count(arg, event));
	perf_read_put_times(ops, arg, format);
	for (;;) {
		if (group)
			ops->put(arg, ops->count(arg, member));
		perf_read_put_tail(ops, arg, member, format);
		pos = pos->next;
		if (!--nr || (ops->may_shrink && pos == &event->sibling_list))
			return nr;
		member = list_entry(pos, struct perf_event, sibling_list);
	}
}

#endif
