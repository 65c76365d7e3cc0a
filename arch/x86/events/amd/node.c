// SPDX-License-Identifier: GPL-2.0
/*
 * Events of the northbridge on counters of a core: K8 and family 10h.
 *
 * The northbridge counts for its node, and reports to the counter that selects the event. While a
 * core has such an event in an event select, no other core of the node may have one in the select
 * of the same number (BKDG 10h, 3.14, northbridge events). So an open event claims a counter of its
 * CPU, which no other CPU of the node gets until the event is closed. Without an unclaimed counter
 * the event shares one that its CPU has claimed, and the events of that counter are multiplexed.
 *
 * Nothing here runs on a context switch, and nothing is lost by hotplug or suspend: claims are
 * those of open events, whether they count or not.
 *
 * Locks: node_lock. Context: process, may sleep.
 */
#include <linux/cpu.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../pmu.h"
#include "node.h"

static DEFINE_MUTEX(node_lock);
static LIST_HEAD(nodes);		/* node_lock; those with claims */

/* ------------------------------------------------------------------- one node */

/* A counter without a claim; -1: none. */
static int node_find_vacant(const struct amd_node *node)
{
	unsigned int i;

	for (i = 0; i < AMD64_NUM_COUNTERS; i++)
		if (!node->users[i])
			return i;
	return -1;
}

/* The counter of @cpu with the fewest claims; -1: none. */
static int node_find_own(const struct amd_node *node, unsigned int cpu)
{
	unsigned int i;
	int own = -1;

	for (i = 0; i < AMD64_NUM_COUNTERS; i++)
		if (node->users[i] && node->cpu[i] == cpu &&
		    (own < 0 || node->users[i] < node->users[own]))
			own = i;
	return own;
}

/**
 * amd_node_take - claim a counter of a CPU for an event of the node's northbridge
 * @node: the CPU's node
 * @cpu: number of the CPU, which is in @node
 *
 * Context: process; node_lock is held.
 * Return: number of the counter, 0..3; -1: other CPUs of the node have claimed all
 */
int amd_node_take(struct amd_node *node, unsigned int cpu)
{
	int idx = node_find_vacant(node);

	if (idx < 0)
		idx = node_find_own(node, cpu);
	if (idx < 0)
		return -1;
	node->cpu[idx] = cpu;
	node->users[idx]++;
	return idx;
}

/**
 * amd_node_put - drop a claim
 * @node: the node
 * @idx: number of the counter, 0..3, from amd_node_take()
 *
 * Context: process; node_lock is held.
 * Return: true if the claim was the counter's last one
 */
bool amd_node_put(struct amd_node *node, unsigned int idx)
{
	return !--node->users[idx];
}

/**
 * amd_node_is_idle - has a node no claims?
 * @node: the node
 *
 * Context: process; node_lock is held.
 * Return: true without claims
 */
bool amd_node_is_idle(const struct amd_node *node)
{
	unsigned int i;

	for (i = 0; i < AMD64_NUM_COUNTERS; i++)
		if (node->users[i])
			return false;
	return true;
}

/* ------------------------------------------------------------------ all nodes */

/*
 * A package can have several nodes if the base has numbers of them, which are from a register that
 * K8 and early parts of family 10h lack.
 */
static u32 node_id_of(unsigned int cpu)
{
	return topology_physical_package_id(cpu) << 16 | topology_amd_node_id(cpu);
}

static struct amd_node *node_find(u32 id)
{
	struct amd_node *node;

	lockdep_assert_held(&node_lock);
	list_for_each_entry(node, &nodes, list)
		if (node->id == id)
			return node;
	return NULL;
}

static struct amd_node *node_find_or_add(u32 id)
{
	struct amd_node *node = node_find(id);

	if (node)
		return node;
	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return NULL;
	node->id = id;
	list_add(&node->list, &nodes);
	return node;
}

static void node_remove_if_idle(struct amd_node *node)
{
	if (!amd_node_is_idle(node))
		return;
	list_del(&node->list);
	kfree(node);
}

/**
 * amd_node_has_event - is an event one of the northbridge that shares counters?
 * @xpmu: the PMU
 * @event: event, hw.config is set
 *
 * Context: any.
 * Return: true if the event needs amd_node_claim()
 */
bool amd_node_has_event(const struct x86_pmu *xpmu, const struct perf_event *event)
{
	return xpmu->model->flags & X86_MODEL_NODE &&
	       (event->hw.config & X86_SELECT_NODE) == X86_SELECT_NODE;
}

/**
 * amd_node_claim - claim a counter for an event of the northbridge
 * @event: event being initialised; hw.counters becomes the claimed counter alone
 *
 * Context: process, may sleep; takes node_lock.
 * Return: 0; -EINVAL for an event that is not bound to a CPU, -EBUSY if other CPUs of the node have
 *	claimed all counters, -ENOMEM
 */
int amd_node_claim(struct perf_event *event)
{
	struct amd_node *node;
	int idx;

	if (event->cpu < 0)
		return perf_refuse(-EINVAL,
				   "cpu: northbridge events count a node: they need a CPU of it");
	guard(mutex)(&node_lock);
	node = node_find_or_add(node_id_of(event->cpu));
	if (!node)
		return -ENOMEM;
	idx = amd_node_take(node, event->cpu);
	if (idx < 0)
		return perf_refuse(-EBUSY,
				   "config: other CPUs of the node have all northbridge counters");
	event->hw.counters = BIT_ULL(idx);
	event->hw.flags |= X86_EVENT_NODE;
	return 0;
}

/* Counters continue to run without an event. This one would disturb another CPU's. */
static void node_deselect(void *data)
{
	struct x86_pmu_cpu *cpu = this_cpu_ptr(&x86_pmu_cpu);
	unsigned int idx = (unsigned long)data;

	if (!(cpu->loaded & BIT_ULL(idx)))
		x86_select_clear(cpu, idx);
}

/**
 * amd_node_release - drop the claim of an event, if there is one
 * @event: the event, which is on no counter any more
 *
 * The counter of a CPU that is offline has been cleared already.
 *
 * Context: process, may sleep; takes node_lock.
 */
void amd_node_release(struct perf_event *event)
{
	struct amd_node *node;
	unsigned int idx;

	if (!(event->hw.flags & X86_EVENT_NODE))
		return;
	idx = __ffs64(event->hw.counters);
	guard(mutex)(&node_lock);
	node = node_find(node_id_of(event->cpu));
	if (amd_node_put(node, idx))
		smp_call_function_single(event->cpu, node_deselect, (void *)(unsigned long)idx, 1);
	node_remove_if_idle(node);
}
