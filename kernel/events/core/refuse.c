// SPDX-License-Identifier: GPL-2.0
/*
 * Why a request was refused.
 *
 * The errno of a refusal is ABI and imprecise. Each check that refuses a request also stores its
 * reason as text, which the thread reads from /proc/sys/kernel/perf_event_error. The tracepoint
 * perf:perf_event_refused has the same text, for observers of a program.
 *
 * A reason is stored as its literal format and up to three numbers, so that refusing is cheap; the
 * text is formatted when it is read. Threads are hashed to buckets. A thread reads an empty reason
 * if its entry was reused for later refusals of other threads.
 *
 * Locks: one raw spinlock per bucket, a leaf.
 */
#include <linux/hash.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <asm/sections.h>

#include "core.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

#define REFUSAL_BUCKET_BITS	6
#define REFUSAL_WAYS		4

/**
 * struct perf_refusal - the last refusal of one thread
 * @tid: the thread's number in the initial namespace
 * @nr: number of refusals of all threads up to this one
 * @start: start time of the thread, ns since boot; @tid may have been another thread's before
 * @fmt: literal format
 * @arg: arguments of @fmt
 */
struct perf_refusal {
	pid_t		tid;
	unsigned int	nr;
	u64		start;
	const char	*fmt;
	u64		arg[3];
};

/**
 * struct perf_refusal_bucket - refusals of threads with the same hash
 * @lock: guards @next and @way
 * @next: index of the way to reuse next, modulo REFUSAL_WAYS
 * @way: the refusals
 */
struct perf_refusal_bucket {
	raw_spinlock_t		lock;
	unsigned int		next;
	struct perf_refusal	way[REFUSAL_WAYS];
};

static atomic_t nr_refusals;
static struct perf_refusal_bucket *refusals __ro_after_init;	/* 1 << REFUSAL_BUCKET_BITS */

static struct perf_refusal_bucket *refusal_bucket(struct task_struct *task)
{
	return &refusals[hash_32(task->pid, REFUSAL_BUCKET_BITS)];
}

static bool refusal_is_of(const struct perf_refusal *r, struct task_struct *task)
{
	return r->tid == task->pid && r->start == task->start_boottime;
}

/* The calling thread's refusal, NULL if there is none. */
static noinline struct perf_refusal *refusal_find(struct perf_refusal_bucket *b)
{
	lockdep_assert_held(&b->lock);
	for (int i = 0; i < REFUSAL_WAYS; i++) {
		if (refusal_is_of(&b->way[i], current))
			return &b->way[i];
	}
	return NULL;
}

static struct perf_refusal *refusal_way(struct perf_refusal_bucket *b)
{
	return refusal_find(b) ?: &b->way[b->next++ % REFUSAL_WAYS];
}

/* All conversions that perf_refuse() allows take a u64; surplus arguments are ignored. */
static int refusal_print(char *buf, size_t size, const char *fmt, const u64 arg[3])
{
	return scnprintf(buf, size, fmt, arg[0], arg[1], arg[2]);
}

/* A module's literal may be freed before it is read. */
static const char *refusal_lasting(const char *fmt)
{
	return is_kernel_rodata((unsigned long)fmt) ? fmt : "refused by a module";
}

int __perf_refuse_3(int err, const char *fmt, u64 arg0, u64 arg1, u64 arg2)
{
	const u64 arg[] = { arg0, arg1, arg2 };
	struct perf_refusal_bucket *b = refusal_bucket(current);
	struct perf_refusal *r;

	scoped_guard(perf_irqsave, &b->lock) {
		r = refusal_way(b);
		r->tid = current->pid;
		r->nr = atomic_inc_return(&nr_refusals);
		r->start = current->start_boottime;
		r->fmt = refusal_lasting(fmt);
		memcpy(r->arg, arg, sizeof(r->arg));
	}

	if (trace_perf_event_refused_enabled()) {
		char text[128];

		refusal_print(text, sizeof(text), fmt, arg);
		trace_perf_event_refused(err, text);
	}
	return err;
}
EXPORT_SYMBOL_GPL(__perf_refuse_3);

/* Most reasons have no number or one: their callers pass no others, which is less code. */
int __perf_refuse_0(int err, const char *fmt)
{
	return __perf_refuse_3(err, fmt, 0, 0, 0);
}
EXPORT_SYMBOL_GPL(__perf_refuse_0);

int __perf_refuse_1(int err, const char *fmt, u64 arg0)
{
	return __perf_refuse_3(err, fmt, arg0, 0, 0);
}
EXPORT_SYMBOL_GPL(__perf_refuse_1);

/**
 * perf_refusals - number of refusals of all threads so far
 *
 * Context: any
 * Return: the number, for perf_refused_since()
 */
unsigned int perf_refusals(void)
{
	return atomic_read(&nr_refusals);
}

/**
 * perf_refused_since - has a function that the calling thread called left a reason?
 * @before: result of perf_refusals() before that call
 *
 * Context: process context
 * Return: true if the thread's last refusal is later than @before
 */
bool perf_refused_since(unsigned int before)
{
	struct perf_refusal_bucket *b = refusal_bucket(current);
	struct perf_refusal *r;

	if (perf_refusals() == before)
		return false;
	guard(perf_irqsave)(&b->lock);
	r = refusal_find(b);
	return r && (int)(r->nr - before) > 0;
}

/**
 * perf_refusal_format - format the calling thread's last refusal
 * @buf: destination
 * @size: size of @buf, bytes
 *
 * Context: process context
 * Return: bytes written without the terminating 0; 0 if there is no refusal or its entry was reused
 */
int perf_refusal_format(char *buf, size_t size)
{
	struct perf_refusal_bucket *b = refusal_bucket(current);
	struct perf_refusal *r;

	guard(perf_irqsave)(&b->lock);
	r = refusal_find(b);
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

void __init perf_refuse_init(void)
{
	const unsigned int nr = 1 << REFUSAL_BUCKET_BITS;

	refusals = kcalloc(nr, sizeof(*refusals), GFP_KERNEL | __GFP_NOWARN);
	if (!refusals)
		panic("perf: no memory for reasons of refusals\n");
	for (int i = 0; i < nr; i++)
		raw_spin_lock_init(&refusals[i].lock);
}

static int __init perf_refuse_sysctl_init(void)
{
	return register_sysctl("kernel", refusal_table) ? 0 : -ENOMEM;
}
fs_initcall(perf_refuse_sysctl_init);
