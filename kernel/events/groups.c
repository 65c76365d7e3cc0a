// SPDX-License-Identifier: GPL-2.0
/*
 * The flexible groups of a PMU context, ordered by what they have had: the least served first.
 *
 * Groups with equal service keep the order in which they were opened. Pure data structure; the
 * caller holds ctx->lock.
 */
#include <linux/rbtree.h>

#include "ground.h"

#define to_leader(node)	rb_entry((node), struct perf_event, group_node)

static bool group_before(struct rb_node *a, const struct rb_node *b)
{
	const struct perf_event *ga = to_leader(a), *gb = to_leader(b);

	if (ga->vruntime != gb->vruntime)
		return (s64)(ga->vruntime - gb->vruntime) < 0;
	return ga->id < gb->id;
}

/* Whoever comes new or has just had its turn mostly goes to the end. */
void perf_groups_insert(struct rb_root_cached *tree, struct perf_event *leader)
{
	struct rb_node *last = rb_last(&tree->rb_root);

	if (!last || group_before(&leader->group_node, last)) {
		rb_add_cached(&leader->group_node, tree, group_before);
		return;
	}
	rb_link_node(&leader->group_node, last, &last->rb_right);
	rb_insert_color_cached(&leader->group_node, tree, false);
}

void perf_groups_remove(struct rb_root_cached *tree, struct perf_event *leader)
{
	rb_erase_cached(&leader->group_node, tree);
	RB_CLEAR_NODE(&leader->group_node);
}

struct perf_event *perf_groups_first(struct rb_root_cached *tree)
{
	struct rb_node *node = rb_first_cached(tree);

	return node ? to_leader(node) : NULL;
}

struct perf_event *perf_groups_next(struct perf_event *leader)
{
	struct rb_node *node = rb_next(&leader->group_node);

	return node ? to_leader(node) : NULL;
}
