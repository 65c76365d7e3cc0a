// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains.
 *
 * The architecture collects a chain, innermost address first, into a buffer of this CPU. There is
 * one buffer for each kind of context, so an NMI does not overwrite the chain that it interrupts. A
 * chain is valid until the next one is collected in the same kind of context on the same CPU. A
 * sample's chain is valid until perf_callchain_release(), because the code that writes the sample
 * may be traced itself.
 *
 * The buffers are allocated for the first user, an event or a BPF program. They are kept after the
 * last user, because another one is likely to follow, and freed when perf_event_max_stack or
 * perf_event_max_contexts_per_stack changes, which is possible only while there is no user. So a
 * buffer always has room for what these two allow.
 *
 * Locks: callchain_mutex guards allocation and the two limits. A user may collect in any context
 * with preemption off, NMI included.
 */
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uprobes.h>

#include "output.h"

#define CONTEXT_LEVELS 4	/* values of interrupt_context_level() */

/**
 * struct callchain_cpu - one CPU's buffers
 * @max_stack: addresses that fit into a buffer
 * @size: size of a buffer, bytes
 * @buffers: CONTEXT_LEVELS buffers, by interrupt_context_level(); NULL if not allocated
 */
struct callchain_cpu {
	u32		max_stack;
	size_t		size;
	void		*buffers;
};

int sysctl_perf_event_max_stack __read_mostly = PERF_MAX_STACK_DEPTH;
int sysctl_perf_event_max_contexts_per_stack __read_mostly = PERF_MAX_CONTEXTS_PER_STACK;

static DEFINE_MUTEX(callchain_mutex);
static bool callchain_allocated;
static atomic_t callchain_users;
static DEFINE_PER_CPU(struct callchain_cpu, callchain_cpu);

static struct perf_callchain_buffer callchain_none;

void __weak perf_callchain_kernel(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
}

void __weak perf_callchain_user(struct perf_callchain_entry_ctx *entry, struct pt_regs *regs)
{
}

/* There is no user; waits for the last collection to finish. */
static void callchain_free_buffers(void)
{
	int cpu;

	callchain_allocated = false;
	synchronize_rcu();
	for_each_possible_cpu(cpu) {
		struct callchain_cpu *c = per_cpu_ptr(&callchain_cpu, cpu);

		kvfree(c->buffers);
		c->buffers = NULL;
	}
}

static int callchain_alloc_buffers(void)
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
			callchain_free_buffers();
			return -ENOMEM;
		}
	}
	callchain_allocated = true;
	return 0;
}

int get_callchain_buffers(int max_stack)
{
	int ret;

	guard(mutex)(&callchain_mutex);
	if (max_stack > sysctl_perf_event_max_stack)
		return -EOVERFLOW;

	if (!callchain_allocated) {
		ret = callchain_alloc_buffers();
		if (ret)
			return ret;
	}
	atomic_inc(&callchain_users);
	return 0;
}

void put_callchain_buffers(void)
{
	atomic_dec(&callchain_users);
}

/* perf_event_max_stack and perf_event_max_contexts_per_stack; -EBUSY while there are users. */
int perf_event_max_stack_handler(const struct ctl_table *table, int write, void *buffer,
				 size_t *lenp, loff_t *ppos)
{
	struct ctl_table to_check = *table;
	int value, ret;

	guard(mutex)(&callchain_mutex);
	value = *(int *)table->data;
	to_check.data = &value;
	ret = proc_dointvec_minmax(&to_check, write, buffer, lenp, ppos);
	if (ret || !write)
		return ret;
	if (atomic_read(&callchain_users))
		return -EBUSY;

	callchain_free_buffers();
	*(int *)table->data = value;
	return 0;
}

/* Claims this CPU's buffer for this kind of context; NULL if there is none or it is in use. */
static struct perf_callchain_entry *callchain_claim(u32 *max_stack)
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

struct perf_callchain_entry *get_callchain_entry(int *rctx)
{
	struct perf_callchain_entry *entry;
	u32 max_stack;

	entry = callchain_claim(&max_stack);
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
 * A function with a return probe returns to a trampoline. Replaces the trampoline's address by the
 * original return addresses, which the task has in a list. The task changes the list in the kernel:
 * an interrupt of that code may find the list inconsistent, and must not use it (@in_order false).
 */
static void callchain_resolve_uretprobes(struct perf_callchain_entry *entry, u64 from,
					 bool in_order)
{
#ifdef CONFIG_UPROBES
	struct return_instance *ri = in_order && current->utask ?
				     current->utask->return_instances : NULL;
	unsigned long trampoline;

	if (likely(!ri))
		return;
	trampoline = uprobe_get_trampoline_vaddr();
	for (u64 i = from; i < entry->nr && ri; i++) {
		bool chained;

		if (entry->ip[i] != trampoline)
			continue;
		entry->ip[i] = ri->orig_ret_vaddr;
		/* Functions that tail calls connect return by the same address. */
		do {
			chained = ri->chained;
			ri = ri->next;
		} while (chained && ri);
	}
#endif
}

/* The current task's user registers; NULL for a kernel thread, or if the task has no mm. */
static struct pt_regs *callchain_user_regs(struct pt_regs *regs)
{
	if (user_mode(regs))
		return regs;
	if (!current->mm || (current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		return NULL;
	return task_pt_regs(current);
}

static void callchain_collect_kernel(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs,
				     bool add_mark)
{
	if (user_mode(regs))
		return;
	if (add_mark)
		perf_callchain_store_context(ctx, PERF_CONTEXT_KERNEL);
	perf_callchain_kernel(ctx, regs);
}

static void callchain_collect_user(struct perf_callchain_entry_ctx *ctx, struct pt_regs *regs,
				   bool add_mark)
{
	bool in_order = user_mode(regs) || in_task();
	u64 from;

	regs = callchain_user_regs(regs);
	if (!regs)
		return;
	if (add_mark)
		perf_callchain_store_context(ctx, PERF_CONTEXT_USER);
	from = ctx->entry->nr;
	perf_callchain_user(ctx, regs);
	callchain_resolve_uretprobes(ctx->entry, from, in_order);
}

static noinline struct perf_callchain_entry *
callchain_collect(struct pt_regs *regs, bool kernel, bool user, u32 max_stack, bool add_mark)
{
	struct perf_callchain_entry_ctx ctx __uninitialized;
	struct perf_callchain_entry *entry;
	u32 limit;

	entry = callchain_claim(&limit);
	if (unlikely(!entry))
		return NULL;
	entry->nr = 0;
	ctx.entry = entry;
	ctx.max_stack = min(max_stack, limit);
	ctx.nr = 0;
	ctx.contexts = 0;
	ctx.contexts_maxed = false;

	if (kernel)
		callchain_collect_kernel(&ctx, regs, add_mark);
	if (user)
		callchain_collect_user(&ctx, regs, add_mark);

	return entry;
}

struct perf_callchain_entry *get_perf_callchain(struct pt_regs *regs, bool kernel, bool user,
						u32 max_stack, bool crosstask, bool add_mark)
{
	struct perf_callchain_entry *entry;

	entry = callchain_collect(regs, kernel, user && !crosstask, max_stack, add_mark);
	if (entry)
		perf_callchain_release(entry);
	return entry;
}

struct perf_callchain_entry *perf_callchain(struct perf_event *event, struct pt_regs *regs)
{
	struct task_struct *task = event->hw.target;
	bool user = !event->attr.exclude_callchain_user && (!task || task == current);
	struct perf_callchain_entry *entry;

	entry = callchain_collect(regs, !event->attr.exclude_callchain_kernel, user,
				  event->attr.sample_max_stack, true);
	return entry ?: &callchain_none.chain;
}
