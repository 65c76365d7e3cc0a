// SPDX-License-Identifier: GPL-2.0
/* Tree of calls. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

/**
 * tally_tree_init - a tree with a root
 * @tree: initialised
 *
 * Return: 0 or -ENOMEM.
 */
int tally_tree_init(struct tally_tree *tree)
{
	*tree = (struct tally_tree){ .nr = 1, .room = 1024, .nr_slots = 4096 };
	tree->nodes = calloc(tree->room, sizeof(*tree->nodes));
	tree->slots = calloc(tree->nr_slots, sizeof(*tree->slots));
	if (tree->nodes && tree->slots) {
		tree->nodes[0].name = "all";
		return 0;
	}
	tally_tree_free(tree);
	return -ENOMEM;
}

/**
 * tally_tree_free - free a tree
 * @tree: as tally_tree_init() left it
 */
void tally_tree_free(struct tally_tree *tree)
{
	free(tree->nodes);
	free(tree->slots);
	tally_arena_free(&tree->arena);
	*tree = (struct tally_tree){};
}

static u32 *tree_slot(const struct tally_tree *tree, u32 parent, const void *key)
{
	u64 hash = ((uintptr_t)key ^ (u64)parent << 40) * 0x9e3779b97f4a7c15ULL;
	u32 at = hash >> 32 & (tree->nr_slots - 1);

	while (tree->slots[at] && (tree->nodes[tree->slots[at]].parent != parent ||
				   tree->nodes[tree->slots[at]].key != key))
		at = (at + 1) & (tree->nr_slots - 1);
	return &tree->slots[at];
}

static int tree_grow_slots(struct tally_tree *tree)
{
	u32 *old = tree->slots;

	tree->slots = calloc(tree->nr_slots * 2, sizeof(*old));
	if (!tree->slots) {
		tree->slots = old;
		return -ENOMEM;
	}
	tree->nr_slots *= 2;
	for (u32 i = 1; i < tree->nr; i++)
		*tree_slot(tree, tree->nodes[i].parent, tree->nodes[i].key) = i;
	free(old);
	return 0;
}

static int tree_reserve(struct tally_tree *tree)
{
	struct tally_node *nodes;

	if (tree->nr * 2 >= tree->nr_slots && tree_grow_slots(tree))
		return -ENOMEM;
	if (tree->nr < tree->room)
		return 0;
	nodes = realloc(tree->nodes, tree->room * 2 * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	tree->nodes = nodes;
	tree->room *= 2;
	return 0;
}

/**
 * tally_tree_child - a child of a node, created if need be
 * @tree: tree
 * @parent: number of the node
 * @key: identity of the child, not NULL
 * @name: its name, valid as long as the tree
 *
 * Return: number of the child; that of @parent without memory.
 */
u32 tally_tree_child(struct tally_tree *tree, u32 parent, const void *key, const char *name)
{
	u32 *slot = tree_slot(tree, parent, key);
	struct tally_node *node;

	if (*slot)
		return *slot;
	if (tree_reserve(tree))
		return parent;
	slot = tree_slot(tree, parent, key);
	*slot = tree->nr++;
	node = &tree->nodes[*slot];
	*node = (struct tally_node){
		.key = key, .name = name, .parent = parent, .sibling = tree->nodes[parent].child,
	};
	tree->nodes[parent].child = *slot;
	return *slot;
}

/**
 * tally_tree_frame - a child of a node, for a frame
 * @tree: tree
 * @parent: number of the node
 * @frame: frame; functions without a name are one for each file
 *
 * Return: number of the child.
 */
u32 tally_tree_frame(struct tally_tree *tree, u32 parent, const struct tally_frame *frame)
{
	const void *key = frame->symbol ?: (const char *)frame->dso ?: "";
	char text[512];
	const char *name = tally_frame_name(frame, text, sizeof(text));
	u32 child = *tree_slot(tree, parent, key);

	if (child)
		return child;
	if (name == text)
		name = tally_arena_strdup(&tree->arena, text) ?: "";
	child = tally_tree_child(tree, parent, key, name);
	if (child != parent) {
		tree->nodes[child].dso = frame->dso;
		tree->nodes[child].kernel = tally_mode_is_kernel(frame->mode);
		tree->nodes[child].inlined = frame->inlined;
	}
	return child;
}

/**
 * tally_tree_weigh - add a sample
 * @tree: tree
 * @leaf: node that the sample is in
 * @weight: weight of the sample
 */
void tally_tree_weigh(struct tally_tree *tree, u32 leaf, u64 weight)
{
	tree->nodes[leaf].self += weight;
	for (;; leaf = tree->nodes[leaf].parent) {
		tree->nodes[leaf].total += weight;
		tree->nodes[leaf].samples++;
		if (!leaf)
			break;
	}
}

struct tree_order {
	const struct tally_tree *tree;
	bool by_name;
};

static int tree_compare(const void *left, const void *right, void *context)
{
	const struct tree_order *order = context;
	const struct tally_node *a = &order->tree->nodes[*(const u32 *)left];
	const struct tally_node *b = &order->tree->nodes[*(const u32 *)right];

	if (!order->by_name && a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name) ?: (*(const u32 *)left < *(const u32 *)right ? -1 : 1);
}

static void tree_order_children(struct tally_tree *tree, u32 parent, u32 *list,
				struct tree_order *order)
{
	u32 nr = 0, *link = &tree->nodes[parent].child;

	for (u32 child = *link; child; child = tree->nodes[child].sibling)
		list[nr++] = child;
	qsort_r(list, nr, sizeof(*list), tree_compare, order);
	for (u32 i = 0; i < nr; i++) {
		*link = list[i];
		link = &tree->nodes[list[i]].sibling;
	}
	*link = 0;
}

/**
 * tally_tree_order - order the children of each node
 * @tree: tree
 * @by_name: by name; else the heaviest first
 */
void tally_tree_order(struct tally_tree *tree, bool by_name)
{
	struct tree_order order = { tree, by_name };
	u32 *list = malloc(tree->nr * sizeof(*list));

	for (u32 i = 0; list && i < tree->nr; i++)
		if (tree->nodes[i].child)
			tree_order_children(tree, i, list, &order);
	free(list);
}
