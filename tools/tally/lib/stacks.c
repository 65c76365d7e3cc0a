// SPDX-License-Identifier: GPL-2.0
/* Samples of one event as a tree of calls. */
#include "stacks.h"

#include <string.h>

static bool stacks_takes(struct tally_stacks *stacks, const struct tally_record *record)
{
	if (record->header->type != PERF_RECORD_SAMPLE)
		return false;
	if (!stacks->event_name)
		stacks->event_name = record->event->name;
	return !strcmp(stacks->event_name, record->event->name);
}

static u32 stacks_calls(struct tally_stacks *stacks, struct tally_tree *tree,
			const struct tally_record *record, const struct tally_sample *sample)
{
	static _Thread_local struct tally_frame frames[TALLY_MAX_FRAMES];
	struct tally_space *space = tally_session_space(stacks->session);
	const char *comm = tally_space_comm(space, sample->pid, sample->tid);
	unsigned int nr = tally_session_chain(stacks->session, record, sample, frames);
	u32 node = tally_tree_child(tree, TALLY_ROOT, comm, comm);

	while (nr--)
		node = tally_tree_frame(tree, node, &frames[nr]);
	return node;
}

/* An address of the kernel is in the upper half of all addresses, on each architecture here. */
static u32 stacks_branch(struct tally_stacks *stacks, struct tally_tree *tree, u32 node,
			 const struct tally_sample *sample, bool guest, u64 address)
{
	enum tally_mode mode = guest ? TALLY_MODE_GUEST_USER : TALLY_MODE_USER;
	struct tally_frame frame;

	if (address >> 63)
		mode = guest ? TALLY_MODE_GUEST_KERNEL : TALLY_MODE_KERNEL;
	tally_session_resolve(stacks->session, sample->pid, address, mode, false, &frame);
	if (node != TALLY_ROOT && tree->nodes[node].key ==
	    (frame.symbol ?: (const void *)frame.dso ?: (const void *)""))
		return node;
	return tally_tree_frame(tree, node, &frame);
}

static u32 stacks_branches(struct tally_stacks *stacks, struct tally_tree *tree,
			   const struct tally_record *record, const struct tally_sample *sample)
{
	bool guest = tally_mode_is_guest(tally_mode_of(record->header->misc));
	u32 node = stacks_branch(stacks, tree, TALLY_ROOT, sample, guest,
				 sample->nr_branches ? sample->branches[0].to : sample->ip);

	for (u64 i = 0; i < sample->nr_branches; i++)
		node = stacks_branch(stacks, tree, node, sample, guest, sample->branches[i].from);
	return node;
}

/**
 * tally_stacks_collect - add all samples of an event to a tree
 * @stacks: what to take; the session is read to its end
 * @tree: initialised; the samples are added
 * @err: what is wrong
 *
 * Return: 0 or a negative errno, after which the tree has what precedes the error.
 */
int tally_stacks_collect(struct tally_stacks *stacks, struct tally_tree *tree,
			 struct tally_error *err)
{
	struct tally_record record;
	struct tally_sample sample;
	u32 node;
	int ret;

	while ((ret = tally_session_next(stacks->session, &record, &sample, err)) > 0) {
		if (!stacks_takes(stacks, &record))
			continue;
		if (stacks->kind == TALLY_STACKS_BRANCHES && !sample.nr_branches)
			continue;
		node = stacks->kind == TALLY_STACKS_BRANCHES ?
			stacks_branches(stacks, tree, &record, &sample) :
			stacks_calls(stacks, tree, &record, &sample);
		tally_tree_weigh(tree, node, stacks->count ? 1 : sample.period);
		if (stacks->each)
			stacks->each(stacks->context, node, &sample);
	}
	return ret;
}
