// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains.
 *
 * A chain is collected by the architecture, innermost address first, into a buffer of this CPU:
 * one for each kind of context, so an NMI does not disturb the chain that it interrupts. What was
 * collected stays valid until the next chain in the same kind of context on the same CPU; a sample's
 * until it has been written, since what is called meanwhile may be traced itself.
 *
 * The buffers are allocated for the first user, who may be an event or a BPF program. They are
 * kept when the last one has gone, because the next is likely to come soon, and given up when
 * perf_event_max_stack or perf_event_max_contexts_per_stack changes, which is possible only
 * while nobody uses them. So a buffer always has room for as much as the two allow.
 *
 * Locks: buffers_mutex guards allocation and the two limits. Collecting is for any context with
 * preemption off, NMI included, by those who are users.
 */
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uprobes.h>

#include "ground.h"

#define CONTEXT_LEVELS 4	/* as many as interrupt_context_level() tells apart */

/**
 * struct callchain_cpu - one CPU's buffers
 * @max_stack: addresses for which it has room
 * @size: bytes of a buffer
 * @buffers: one for each kind of context, one behind the other; NULL if there are none
 */
struct callchain_cpu {
	u32		max_stack;
	size_t		size;
	void		*buffers;
};

int sysctl_perf_event_max_stack __read_mostly = PERF_MAX_STACK_DEPTH;
int sysctl_perf_event_max_contexts_per_stack __read_mostly = PERF_MAX_CONTEXTS_PER_STACK;

static DEFINE_MUTEX(buffers_mutex);
static bool buffers_there;
static atomic_t buffers_users;
static DEFINE_PER_CPU(struct callchain_cpu, callchain_cpu);

static struct perf_callchain_buffer no_callchain;

void __weak perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
}

void __weak perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
}

/* Nobody uses them, but the last collection may be under way. */
static void free_buffers(void)
{
	int cpu;

	buffers_there = false;
	synchronize_rcu();
	for_each_possible_cpu(cpu) {
		struct callchain_cpu *c = per_cpu_ptr(&callchain_cpu, cpu);

		kvfree(c->buffers);
		c->buffers = NULL;
	}
}

static int alloc_buffers(void)
{
	size_t size = sizeof(struct perf_callchain_buffer) +
		      sizeof(u64) * (sysctl_perf_event_max_stack +
				     sysctl_perf_event_max_contexts_per_stack);
	int cpu;

	for_each_possible_cpu(cpu) {
		struct callchain_cpu *c = per_cpu_ptr(&callchain_cpu, cpu);

		c->max_stack = sysctl_perf_event_max_stack;
		c->size = size;
		c->buffers = kvzalloc_node(size * CONTEXT_LEVELS, GFP_KERNEL, cpu_to_node(cpu));
		if (!c->buffers) {
			free_buffers();
			return -ENOMEM;
		}
	}
	buffers_there = true;
	return 0;
}

/**
 * get_callchain_buffers - make sure that chains can be collected
 * @max_stack: addresses that the caller wants at most
 *
 * Context: may sleep
 * Return: 0, and put_callchain_buffers() is due; -EOVERFLOW over perf_event_max_stack; -ENOMEM
 */
int get_callchain_buffers(int max_stack)
{
	int ret;

	guard(mutex)(&buffers_mutex);
	if (max_stack > sysctl_perf_event_max_stack)
		return -EOVERFLOW;

	if (!buffers_there) {
		ret = alloc_buffers();
		if (ret)
			return ret;
	}
	atomic_inc(&buffers_users);
	return 0;
}

/* Any context. */
void put_callchain_buffers(void)
{
	atomic_dec(&buffers_users);
}

/* perf_event_max_stack and perf_event_max_contexts_per_stack: not while somebody uses buffers. */
int perf_event_max_stack_handler(const struct ctl_table *table, int write, void *buffer,
				 size_t *lenp, loff_t *ppos)
{
	struct ctl_table to_check = *table;
	int value, ret;

	guard(mutex)(&buffers_mutex);
	value = *(int *)table->data;
	to_check.data = &value;
	ret = proc_dointvec_minmax(&to_check, write, buffer, lenp, ppos);
	if (ret || !write)
		return ret;
	if (atomic_read(&buffers_users))
		return -EBUSY;

	free_buffers();
	*(int *)table->data = value;
	return 0;
}

/* This CPU's buffer for this kind of context, if nobody has it, and how many addresses it takes. */
static __always_inline struct perf_callchain_entry *claim_entry(u32 *max_stack)
{
	struct callchain_cpu *c = this_cpu_ptr(&callchain_cpu);
	struct perf_callchain_buffer *buffer = c->buffers;

	if (unlikely(!buffer))
		return NULL;
	buffer = (void *)buffer + interrupt_context_level() * c->size;
	if (unlikely(buffer->busy))
		return NULL;
	WRITE_ONCE(buffer->busy, 1);
	barrier();
	*max_stack = c->max_stack;
	return &buffer->chain;
}

/**
 * get_callchain_entry - claim this CPU's buffer
 * @rctx: result: to be given to put_callchain_entry()
 *
 * Context: any; preemption off from here to the last use of the entry
 * Return: the buffer, NULL if it is in use or there is none
 */
struct perf_callchain_entry *get_callchain_entry(int *rctx)
{
	struct perf_callchain_entry *entry;
	u32 max_stack;

	entry = claim_entry(&max_stack);
	*rctx = entry ? interrupt_context_level() : -1;
	return entry;
}

void put_callchain_entry(int rctx)
{
	struct callchain_cpu *c = this_cpu_ptr(&callchain_cpu);
	struct perf_callchain_buffer *buffer = c->buffers + rctx * c->size;

	perf_callchain_release(&buffer->chain);
}

/*
 * A function whose return is probed returns to a trampoline; the chain is to show where it really
 * returns to. The task keeps the list of these in order, in the kernel: where an interrupt has come in
 * there, the list may be half changed, and the chain is left as it is.
 */
static void resolve_return_probes(struct perf_callchain_entry *entry, u64 from, bool in_order)
{
#ifdef CONFIG_UPROBES
	struct return_instance *ri = in_order && current->utask ?
				     current->utask->return_instances : NULL;
	unsigned long trampoline;

	if (likely(!ri))
		return;
	trampoline = uprobe_get_trampoline_vaddr();
	for (u64 i = from; i < entry->nr && ri; i++) {
		if (entry->ip[i] == trampoline) {
			entry->ip[i] = ri->orig_ret_vaddr;
			ri = ri->next;
		}
	}
#endif
}

/* Registers with which the current task left user space, NULL if it never was there or has left. */
static struct pt_regs *user_regs(struct pt_regs *regs)
{
	if (user_mode(regs))
		return regs;
	if (!current->mm || (current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		return NULL;
	return task_pt_regs(current);
}

static void collect_kernel(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs,
			   bool add_mark)
{
	if (user_mode(regs))
		return;
	if (add_mark)
		perf_callchain_store_context(ctx, PERF_CONTEXT_KERNEL);
	perf_callchain_kernel(ctx, regs);
}

static void collect_user(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs, bool add_mark)
{
	bool in_order = in_task() || user_mode(regs);
	u64 from;

	regs = user_regs(regs);
	if (!regs)
		return;
	if (add_mark)
		perf_callchain_store_context(ctx, PERF_CONTEXT_USER);
	from = ctx->entry->nr;
	perf_callchain_user(ctx, regs);
	resolve_return_probes(ctx->entry, from, in_order);
}

static __always_inline struct perf_callchain_entry *
collect(struct pt_regs *regs, bool kernel, bool user, u32 max_stack, bool add_mark)
{
	struct perf_callchain_entry_ctx ctx = {};
	u32 limit;

	ctx.entry = claim_entry(&limit);
	if (unlikely(!ctx.entry))
		return NULL;
	ctx.entry->nr = 0;
	ctx.max_stack = min(max_stack, limit);

	if (kernel)
		collect_kernel(&ctx, regs, add_mark);
	if (user)
		collect_user(&ctx, regs, add_mark);

	return ctx.entry;
}

/**
 * get_perf_callchain - collect a call chain
 * @regs: where it begins
 * @kernel: with the kernel's part
 * @user: with the part in user space
 * @max_stack: addresses at most; perf_event_max_stack is the limit too
 * @crosstask: it is for another task than the one that is running; then there is no user part
 * @add_mark: put PERF_CONTEXT_* before each part
 *
 * Context: any, NMI included; preemption off until the chain has been used
 * Return: the chain, NULL if no buffer is free
 */
struct perf_callchain_entry *get_perf_callchain(struct pt_regs *regs, bool kernel, bool user,
						u32 max_stack, bool crosstask, bool add_mark)
{
	struct perf_callchain_entry *entry;

	entry = collect(regs, kernel, user && !crosstask, max_stack, add_mark);
	if (entry)
		perf_callchain_release(entry);
	return entry;
}

/**
 * perf_callchain - the call chain for a sample
 * @event: whose sample it is
 * @regs: registers of the sample
 *
 * Context: as get_perf_callchain()
 * Return: a chain, with no entries if none could be had; perf_callchain_release() is due
 */
struct perf_callchain_entry *perf_callchain(struct perf_event *event, struct pt_regs *regs)
{
	struct task_struct *task = event->hw.target;
	bool user = !event->attr.exclude_callchain_user && (!task || task == current);
	struct perf_callchain_entry *entry;

	entry = collect(regs, !event->attr.exclude_callchain_kernel, user,
			event->attr.sample_max_stack, true);
	return entry ?: &no_callchain.chain;
}
