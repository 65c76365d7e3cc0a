// SPDX-License-Identifier: GPL-2.0
/*
 * Reading counts.
 *
 * The members of a group are read one after the other in one visit to the CPU where they count,
 * under one lock: none starts or stops in between. There is no visit if all members that run there
 * are resident or can be read from here, too (package, scope). Times can be read from anywhere.
 *
 * Locks: ctx->lock; child_mutex for inherited children.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ops.h"
#include "../output/read_format.h"

/**
 * struct member_value - what was read of one event
 * @count: events
 * @lost: samples lost
 */
struct member_value {
	u64	count;
	u64	lost;
};

/**
 * struct reading - a read of an event or a group, and its result
 * @event: the event; the leader for a group
 * @group: with its siblings
 * @shape: for a group: the parent's leader; @event's group must have the same members
 * @nr: members in @value
 * @enabled: times of @event, ns; children's are added
 * @running: the same
 * @value: the event, or leader and siblings in their order
 */
struct reading {
	struct perf_event	*event;
	bool			group;
	struct perf_event	*shape;
	unsigned int		nr;
	u64			enabled;
	u64			running;
	struct member_value	*value;
};

#define VALUES_ON_STACK	16

static bool read_same_place(const struct perf_event *event)
{
	int cpu = smp_processor_id();

	if (event->event_caps & PERF_EV_CAP_READ_ACTIVE_PKG)
		return topology_physical_package_id(event->cpu) ==
		       topology_physical_package_id(cpu);
	if (event->event_caps & PERF_EV_CAP_READ_SCOPE)
		return cpumask_test_cpu(cpu, perf_scope_siblings(event->pmu->scope, event->cpu));
	return false;
}

/*
 * Is @event, with a context on another CPU, to be read on that CPU? Counts of tracepoints, probes
 * and breakpoints are up to date wherever they are read.
 */
static bool read_member_is_remote(const struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE &&
	       !(event->event_caps & PERF_EV_CAP_RESIDENT) &&
	       event->pmu->read != perf_swevent_read && !read_same_place(event);
}

static bool read_is_remote(const struct reading *r)
{
	struct perf_event *sibling;

	if (!perf_ctx_is_elsewhere(r->event->ctx))
		return false;
	if (read_member_is_remote(r->event))
		return true;
	if (!r->group)
		return false;
	for_each_sibling_event(sibling, r->event) {
		if (read_member_is_remote(sibling))
			return true;
	}
	return false;
}

static __always_inline void read_count(struct member_value *v, struct perf_event *event)
{
	/* A count of perf_software_pmu is always up to date. */
	if (event->state == PERF_EVENT_STATE_ACTIVE && event->pmu != &perf_software_pmu &&
	    (event->ctx->active_cpu >= 0 || (event->event_caps & PERF_EV_CAP_RESIDENT)))
		event->pmu->read(event);
	v->count += local64_read(&event->count);
	v->lost += atomic64_read(&event->lost_samples);
}

static void read_member(struct reading *r, struct perf_event *event)
{
	read_count(&r->value[r->nr++], event);
}

static __always_inline void read_add_times(struct reading *r, struct perf_event *event)
{
	u64 enabled, running;

	perf_event_times_at(event, perf_ctx_time(event->ctx), &enabled, &running);
	r->enabled += enabled;
	r->running += running;
}

/* A child may lose members, at its exec or exit, that its parent still has. */
static bool read_same_shape(const struct reading *r)
{
	return !r->group || (r->event->group_generation == r->shape->group_generation &&
			     r->event->nr_siblings == r->shape->nr_siblings);
}

/* Where the context may be read; ctx->lock. 0 or -ECHILD. */
static int read_here(struct reading *r)
{
	struct perf_event *sibling;

	lockdep_assert_held(&r->event->ctx->lock);
	if (!read_same_shape(r))
		return -ECHILD;
	r->nr = 0;
	read_add_times(r, r->event);
	read_member(r, r->event);
	if (!r->group)
		return 0;
	for_each_sibling_event(sibling, r->event)
		read_member(r, sibling);
	return 0;
}

static int read_called(struct perf_event_context *ctx, void *arg)
{
	struct reading *r = arg;

	if (r->event->ctx != ctx)
		return -ESTALE;
	return read_here(r);
}

/*
 * Reads one event alone if its context is active on this CPU or on none, which is so for most
 * children. False if it is active elsewhere: nothing has been read then.
 */
static __always_inline bool read_alone(struct reading *r)
{
	struct perf_event *event = r->event;
	struct perf_event_context *ctx = READ_ONCE(event->ctx);
	unsigned long flags;
	bool here;

	raw_spin_lock_irqsave(&ctx->lock, flags);
	here = event->ctx == ctx && (ctx->active_cpu < 0 || ctx->active_cpu == smp_processor_id());
	if (here) {
		read_add_times(r, event);
		read_count(r->value, event);
	}
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	return here;
}

/* One event or group, without its children. 0 or -ECHILD. */
static int read_one(struct reading *r)
{
	struct perf_event_context *ctx;
	bool remote;
	int ret;

	do {
		ctx = READ_ONCE(r->event->ctx);
		scoped_guard(perf_irqsave, &ctx->lock) {
			remote = r->event->ctx != ctx || read_is_remote(r);
			ret = remote ? 0 : read_here(r);
		}
		if (remote)
			ret = perf_ctx_call_own(ctx, read_called, r);
	} while (ret == -ESTALE);
	return ret;
}

/* The times of exited children. child_mutex of @event. */
static void read_add_exited_times(struct reading *r, struct perf_event *event)
{
	r->enabled += atomic64_read(&event->child_total_time_enabled);
	r->running += atomic64_read(&event->child_total_time_running);
}

/* The sums of exited children. The leader's child_mutex is held. */
static void read_add_exited_counts(struct reading *r)
{
	struct perf_event *sibling;
	unsigned int i = 0;

	lockdep_assert_held(&r->event->child_mutex);
	r->value[i++].count += atomic64_read(&r->event->child_count);
	if (!r->group)
		return;
	for_each_sibling_event(sibling, r->event)
		r->value[i++].count += atomic64_read(&sibling->child_count);
}

/*
 * An event or group with its children: the list is a ring of the event and them. Without inherit
 * there are no children and no sums of exited ones. 0 or -ECHILD.
 */
static int read_with_children(struct reading *r)
{
	struct perf_event *event = r->event;
	bool inherit = event->attr.inherit;
	int ret = 0;

	if (inherit)
		mutex_lock(&event->child_mutex);
	r->shape = event;
	do {
		if (r->group || !read_alone(r))
			ret = read_one(r);
		r->event = list_next_entry(r->event, child_list);
	} while (!ret && r->event != event);
	r->event = event;
	if (inherit) {
		read_add_exited_times(r, event);
		read_add_exited_counts(r);
		mutex_unlock(&event->child_mutex);
	}
	return ret;
}

u64 perf_event_read_value(struct perf_event *event, u64 *enabled, u64 *running)
{
	struct member_value value = {};
	struct reading r = { .event = event, .value = &value };

	read_with_children(&r);
	*enabled = r.enabled;
	*running = r.running;
	return value.count;
}
EXPORT_SYMBOL_GPL(perf_event_read_value);

int perf_event_read_local(struct perf_event *event, u64 *value, u64 *enabled, u64 *running)
{
	struct perf_event_context *ctx;
	u64 ena, run;

	guard(irqsave)();

	if (event->attr.inherit)
		return -EOPNOTSUPP;
	if ((event->attach_state & PERF_ATTACH_TASK) && event->hw.target != current)
		return -EINVAL;
	if (!(event->attach_state & PERF_ATTACH_TASK) && event->cpu != smp_processor_id() &&
	    !read_same_place(event))
		return -EINVAL;

	ctx = event->ctx;
	if (event->attr.pinned && (event->state != PERF_EVENT_STATE_ACTIVE || ctx->active_cpu < 0))
		return -EBUSY;

	if (event->state == PERF_EVENT_STATE_ACTIVE && ctx->active_cpu >= 0)
		event->pmu->read(event);
	*value = local64_read(&event->count);
	perf_event_times(event, perf_ctx_read_time(ctx), &ena, &run);
	if (enabled)
		*enabled = ena;
	if (running)
		*running = run;
	return 0;
}

/**
 * struct read_words - the words of a read(2)
 * @next: where the next word is stored
 * @r: the values
 * @value: what was read of the next member
 */
struct read_words {
	u64				*next;
	const struct reading		*r;
	const struct member_value	*value;
};

static __always_inline void read_words_put(void *arg, u64 word)
{
	struct read_words *words = arg;

	*words->next++ = word;
}

static __always_inline void read_words_times(void *arg, u64 *enabled, u64 *running)
{
	struct read_words *words = arg;

	*enabled = words->r->enabled;
	*running = words->r->running;
}

static __always_inline u64 read_words_count(void *arg, struct perf_event *member)
{
	struct read_words *words = arg;

	return words->value++->count;
}

static __always_inline u64 read_words_lost(void *arg, struct perf_event *member)
{
	struct read_words *words = arg;

	return words->value[-1].lost;
}

static const struct perf_read_ops read_words_ops = {
	.put	= read_words_put,
	.times	= read_words_times,
	.count	= read_words_count,
	.lost	= read_words_lost,
};

static void read_words_fill(struct read_words *words, struct perf_event *event, unsigned int nr,
			    u64 format)
{
	perf_read_put(&read_words_ops, words, event, nr, format);
}

static ssize_t read_single(struct perf_event *event, u64 format, char __user *buf)
{
	struct member_value value = {};
	struct reading r = { .event = event, .value = &value };
	u64 word[5] __uninitialized;
	struct read_words words = { .next = word, .r = &r, .value = &value };
	size_t size;

	read_with_children(&r);
	read_words_fill(&words, event, 1, format & ~PERF_FORMAT_GROUP);
	size = (void *)words.next - (void *)word;
	if (copy_to_user(buf, word, size))
		return perf_refuse(-EFAULT, "read: the buffer cannot be written");
	return size;
}

/**
 * struct group_answer - answer to a read of a group
 * @words: the answer, in the layout of PERF_FORMAT_GROUP
 * @size: bytes
 * @large: memory for @words and values, NULL while the group is small
 * @small_values: values of a small one
 * @small_words: its @words
 */
struct group_answer {
	u64			*words;
	size_t			size;
	void			*large;
	struct member_value	small_values[VALUES_ON_STACK];
	u64			small_words[3 + 3 * VALUES_ON_STACK];
};

/* The group's ctx->mutex keeps its members together. 0 or an error; @a->large is to be freed. */
static int read_group_fill(struct group_answer *a, struct perf_event *leader, u64 format,
			   size_t count)
{
	unsigned int nr = 1 + leader->nr_siblings;
	struct reading r = { .event = leader, .group = true, .value = a->small_values };
	struct read_words words = { .r = &r };
	int ret;

	lockdep_assert_held(&leader->ctx->mutex);
	a->large = NULL;
	a->size = perf_read_words(format, nr) * sizeof(u64);
	a->words = a->small_words;
	if (count < a->size)
		return perf_refuse(-ENOSPC, "read: the group needs %llu bytes, the buffer has %llu",
				   a->size, count);
	if (nr > VALUES_ON_STACK) {
		a->large = kzalloc(nr * sizeof(*r.value) + a->size, GFP_KERNEL);
		if (!a->large)
			return perf_refuse(-ENOMEM, "read: no memory for %llu values", nr);
		r.value = a->large;
		a->words = a->large + nr * sizeof(*r.value);
	} else {
		memset(r.value, 0, nr * sizeof(*r.value));
	}

	ret = read_with_children(&r);
	if (ret)
		return perf_refuse(ret, "read: a child's group is not like its parent's");
	words.next = a->words;
	words.value = r.value;
	read_words_fill(&words, leader, nr, format | PERF_FORMAT_GROUP);
	return 0;
}

/* copy_to_user() may block indefinitely (userfaultfd, FUSE): no lock is held. */
static ssize_t read_group(struct perf_event *event, u64 format, char __user *buf, size_t count)
{
	struct group_answer a __uninitialized;
	struct perf_event_context *ctx;
	ssize_t ret;

	ctx = perf_event_ctx_lock(event);
	ret = read_group_fill(&a, event->group_leader, format, count);
	perf_event_ctx_unlock(ctx);
	if (!ret && copy_to_user(buf, a.words, a.size))
		ret = perf_refuse(-EFAULT, "read: the buffer cannot be written");
	kfree(a.large);
	return ret ?: a.size;
}

/**
 * perf_event_read_file - read(2)
 * @event: the file's event
 * @buf: user memory for the values
 * @count: size of @buf in bytes
 *
 * Context: may sleep
 * Return: bytes; 0 if the event was pinned and could not run; -ENOSPC if the buffer is too short,
 *	-EFAULT, -ENOMEM, -ECHILD
 */
ssize_t perf_event_read_file(struct perf_event *event, char __user *buf, size_t count)
{
	u64 format = event->attr.read_format;
	size_t size;

	if (event->state == PERF_EVENT_STATE_ERROR)
		return 0;
	if (format & PERF_FORMAT_GROUP)
		return read_group(event, format, buf, count);
	size = perf_read_words(format, 1) * sizeof(u64);
	if (count < size)
		return perf_refuse(-ENOSPC, "read: needs %llu bytes, the buffer has %llu",
				   size, count);
	return read_single(event, format, buf);
}
