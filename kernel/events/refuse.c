// SPDX-License-Identifier: GPL-2.0
/*
 * Why a request was refused.
 *
 * The errno of a refusal is ABI and says little. Each check that refuses also leaves its reason
 * here, in words, and the thread reads its last one from /proc/sys/kernel/perf_event_error. The
 * tracepoint perf:perf_event_refused carries the same to whoever watches a program from outside.
 *
 * A reason is kept as its literal format and up to three numbers, so refusing stays cheap; the
 * text is made by the reader. Slots are found by hashing the thread; a thread that was pushed out
 * of its bucket by younger refusals of other threads reads an empty reason.
 *
 * Locks: one raw spinlock per bucket, a leaf.
 */
#include <linux/hash.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>

#include "ground.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

#define REFUSAL_BUCKET_BITS	6
#define REFUSAL_WAYS		4

/**
 * struct perf_refusal - the last refusal of one thread
 * @tid: the thread, in the initial namespace
 * @start: when that thread began; tells it from an earlier owner of the number
 * @nr: how many refusals there have been of all threads, with this one
 * @fmt: literal format
 * @arg: numbers for @fmt
 */
struct perf_refusal {
	pid_t		tid;
	unsigned int	nr;
	u64		start;
	const char	*fmt;
	u64		arg[3];
};

/**
 * struct perf_refusal_bucket - refusals of threads with one hash
 * @lock: guards the rest
 * @next: way that is reused next
 * @way: the refusals
 */
struct perf_refusal_bucket {
	raw_spinlock_t		lock;
	unsigned int		next;
	struct perf_refusal	way[REFUSAL_WAYS];
};

static atomic_t nr_refusals;
static struct perf_refusal_bucket refusals[1 << REFUSAL_BUCKET_BITS];

static struct perf_refusal_bucket *refusal_bucket(struct task_struct *task)
{
	return &refusals[hash_32(task->pid, REFUSAL_BUCKET_BITS)];
}

static bool refusal_is_of(const struct perf_refusal *r, struct task_struct *task)
{
	return r->tid == task->pid && r->start == task->start_boottime;
}

/* The calling thread's, if it is still there. */
static struct perf_refusal *find_refusal(struct perf_refusal_bucket *b)
{
	lockdep_assert_held(&b->lock);
	for (int i = 0; i < REFUSAL_WAYS; i++) {
		if (refusal_is_of(&b->way[i], current))
			return &b->way[i];
	}
	return NULL;
}

static struct perf_refusal *refusal_slot(struct perf_refusal_bucket *b)
{
	return find_refusal(b) ?: &b->way[b->next++ % REFUSAL_WAYS];
}

/* The conversions perf_refuse() allows all take a u64; a spare argument does no harm. */
static int refusal_print(char *buf, size_t size, const char *fmt, const u64 arg[3])
{
	return scnprintf(buf, size, fmt, arg[0], arg[1], arg[2]);
}

int __perf_refuse(int err, const char *fmt, const u64 arg[3])
{
	struct perf_refusal_bucket *b = refusal_bucket(current);
	struct perf_refusal *r;
	unsigned long flags;

	raw_spin_lock_irqsave(&b->lock, flags);
	r = refusal_slot(b);
	r->tid = current->pid;
	r->nr = atomic_inc_return(&nr_refusals);
	r->start = current->start_boottime;
	r->fmt = fmt;
	r->arg[0] = arg[0];
	r->arg[1] = arg[1];
	r->arg[2] = arg[2];
	raw_spin_unlock_irqrestore(&b->lock, flags);

	if (trace_perf_event_refused_enabled()) {
		char text[128];

		refusal_print(text, sizeof(text), fmt, arg);
		trace_perf_event_refused(err, text);
	}
	return err;
}

EXPORT_SYMBOL_GPL(__perf_refuse);

/* How many refusals there have been so far: for perf_refused_since(). */
unsigned int perf_refusals(void)
{
	return atomic_read(&nr_refusals);
}

/* Has the calling thread been given a reason since there were @before, by a function it called? */
bool perf_refused_since(unsigned int before)
{
	struct perf_refusal_bucket *b = refusal_bucket(current);
	struct perf_refusal *r;

	if (perf_refusals() == before)
		return false;
	guard(raw_spinlock_irqsave)(&b->lock);
	r = find_refusal(b);
	return r && (int)(r->nr - before) > 0;
}

/**
 * perf_refusal_format - the calling thread's last refusal in words
 * @buf: where to
 * @size: of @buf
 *
 * Return: bytes written, 0 if nothing was refused or it is too long ago
 */
int perf_refusal_format(char *buf, size_t size)
{
	struct perf_refusal_bucket *b = refusal_bucket(current);
	struct perf_refusal *r;

	guard(raw_spinlock_irqsave)(&b->lock);
	r = find_refusal(b);
	return r ? refusal_print(buf, size, r->fmt, r->arg) : 0;
}

static int refusal_sysctl(const struct ctl_table *table, int write, void *buffer, size_t *lenp,
			  loff_t *ppos)
{
	char text[128] = "";
	struct ctl_table reply = { .data = text, .maxlen = sizeof(text) };

	if (write)
		return -EPERM;
	perf_refusal_format(text, sizeof(text));
	return proc_dostring(&reply, 0, buffer, lenp, ppos);
}

static struct ctl_table refusal_table[] = {
	{
		.procname	= "perf_event_error",
		.mode		= 0444,
		.proc_handler	= refusal_sysctl,
	},
};

int __init perf_refuse_init(void)
{
	for (int i = 0; i < ARRAY_SIZE(refusals); i++)
		raw_spin_lock_init(&refusals[i].lock);
	return 0;
}

static int __init perf_refuse_sysctl_init(void)
{
	return register_sysctl("kernel", refusal_table) ? 0 : -ENOMEM;
}
fs_initcall(perf_refuse_sysctl_init);
