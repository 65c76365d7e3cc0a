/* SPDX-License-Identifier: GPL-2.0 */
/* Samples of one event as a tree of calls, for graphs and exports. */
#ifndef TALLY_STACKS_H
#define TALLY_STACKS_H

#include "tree.h"

/**
 * enum tally_stacks_kind - what the branches of the tree are
 * @TALLY_STACKS_CALLS: functions below their callers, below the name of the thread
 * @TALLY_STACKS_BRANCHES: functions below those that were left later, by branch records
 */
enum tally_stacks_kind {
	TALLY_STACKS_CALLS,
	TALLY_STACKS_BRANCHES,
};

/**
 * struct tally_stacks - what to take from a session
 * @session: session
 * @event_name: event; NULL: that of the first sample; set to the name of the one that was taken
 * @kind: what the branches of the tree are
 * @count: weigh each sample as 1, not by its period
 * @each: called for each sample, with the node that it is in; NULL for none
 * @context: argument of @each
 */
struct tally_stacks {
	struct tally_session *session;
	const char *event_name;
	enum tally_stacks_kind kind;
	bool count;
	void (*each)(void *context, u32 node, const struct tally_sample *sample);
	void *context;
};

int tally_stacks_collect(struct tally_stacks *stacks, struct tally_tree *tree,
			 struct tally_error *err);

#endif /* TALLY_STACKS_H */
