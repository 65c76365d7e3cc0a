/* SPDX-License-Identifier: GPL-2.0 */
/* Which CPU of a node counts events of the northbridge on which counter, see node.c. */
#ifndef _ARCH_X86_EVENTS_AMD_NODE_H
#define _ARCH_X86_EVENTS_AMD_NODE_H

#include <linux/types.h>
#include <asm/perf_event.h>

/**
 * struct amd_node - the counters of a node's CPUs, as far as these count northbridge events
 * @list: in the list of nodes with such events
 * @id: package, and number of the node
 * @cpu: by number of the counter: the CPU that owns the counter; valid while @users is not 0
 * @users: by number of the counter: open events of that CPU with a claim on the counter
 */
struct amd_node {
	struct list_head	list;
	u32			id;
	unsigned int		cpu[AMD64_NUM_COUNTERS];
	unsigned int		users[AMD64_NUM_COUNTERS];
};

int  amd_node_take(struct amd_node *node, unsigned int cpu);
bool amd_node_put(struct amd_node *node, unsigned int idx);
bool amd_node_is_idle(const struct amd_node *node);

#endif
