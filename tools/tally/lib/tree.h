/* SPDX-License-Identifier: GPL-2.0 */
/* Tree of calls, with the weight of the samples in it. */
#ifndef TALLY_TREE_H
#define TALLY_TREE_H

#include "session.h"

/* Number of the root. */
#define TALLY_ROOT	0

/**
 * struct tally_node - a function in its callers
 * @key: identity of the function among its siblings
 * @name: name of the function, valid as long as the session or the tree
 * @dso: its file; NULL if it is not known
 * @kernel: a function of the kernel
 * @inlined: it is inlined in its parent
 * @parent: number of the caller
 * @child: number of the first callee, 0 if there is none
 * @sibling: number of the next callee of the caller, 0 if there is none
 * @self: weight of the samples in it
 * @total: weight of the samples in it and below
 * @samples: number of the samples in it and below
 */
struct tally_node {
	const void *key;
	const char *name;
	struct tally_dso *dso;
	bool kernel;
	bool inlined;
	u32 parent;
	u32 child;
	u32 sibling;
	u64 self;
	u64 total;
	u64 samples;
};

/**
 * struct tally_tree - a tree
 * @nodes: nodes by number, the root first; a parent has a lower number than its children
 * @nr: number of nodes
 * @room: number allocated
 * @slots: hash table of node numbers, 0 where free
 * @nr_slots: entries of @slots, a power of two
 * @arena: memory of names
 */
struct tally_tree {
	struct tally_node *nodes;
	u32 nr;
	u32 room;
	u32 *slots;
	u32 nr_slots;
	struct tally_arena arena;
};

int tally_tree_init(struct tally_tree *tree);
void tally_tree_free(struct tally_tree *tree);
u32 tally_tree_child(struct tally_tree *tree, u32 parent, const void *key, const char *name);
u32 tally_tree_frame(struct tally_tree *tree, u32 parent, const struct tally_frame *frame);
void tally_tree_weigh(struct tally_tree *tree, u32 leaf, u64 weight);
void tally_tree_order(struct tally_tree *tree, bool by_name);

#endif /* TALLY_TREE_H */
