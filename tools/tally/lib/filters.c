// SPDX-License-Identifier: GPL-2.0
/* Words that terms and options of commands share: kinds of branches, kinds of call chains. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tally_open.h"

static const struct {
	const char *name;
	uint64_t mask;
} branch_words[] = {
	{ "u", PERF_SAMPLE_BRANCH_USER },
	{ "k", PERF_SAMPLE_BRANCH_KERNEL },
	{ "hv", PERF_SAMPLE_BRANCH_HV },
	{ "any", PERF_SAMPLE_BRANCH_ANY },
	{ "any_call", PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "ind_call", PERF_SAMPLE_BRANCH_IND_CALL },
	{ "ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP },
	{ "call", PERF_SAMPLE_BRANCH_CALL },
	{ "cond", PERF_SAMPLE_BRANCH_COND },
	{ "abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX },
	{ "in_tx", PERF_SAMPLE_BRANCH_IN_TX },
	{ "no_tx", PERF_SAMPLE_BRANCH_NO_TX },
	{ "stack", PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "call_stack", PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS },
	{ "no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES },
	{ "save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
	{ "hw_index", PERF_SAMPLE_BRANCH_HW_INDEX },
	{ "priv", PERF_SAMPLE_BRANCH_PRIV_SAVE },
	{ "counter", PERF_SAMPLE_BRANCH_COUNTERS },
};

int tally_branch_filter(const char *text, uint64_t *mask, struct tally_error *err)
{
	const uint64_t qualifiers = PERF_SAMPLE_BRANCH_PLM_ALL | PERF_SAMPLE_BRANCH_NO_FLAGS |
		PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_TYPE_SAVE |
		PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_PRIV_SAVE |
		PERF_SAMPLE_BRANCH_COUNTERS;

	*mask = 0;
	while (*text) {
		size_t length = strcspn(text, ",+"), i;

		for (i = 0; i < sizeof(branch_words) / sizeof(*branch_words); i++) {
			if (strlen(branch_words[i].name) == length &&
			    !strncmp(branch_words[i].name, text, length))
				break;
		}
		if (i == sizeof(branch_words) / sizeof(*branch_words))
			return tally_fail(err, EINVAL, "%.*s: not a kind of branch", (int)length,
					  text);
		*mask |= branch_words[i].mask;
		text += length + !!text[length];
	}
	if (!(*mask & ~qualifiers))
		*mask |= PERF_SAMPLE_BRANCH_ANY;
	return 0;
}

int tally_callgraph_mode(const char *text, enum tally_callgraph *mode, unsigned int *stack_size,
			 struct tally_error *err)
{
	static const char * const words[] = {
		[TALLY_CALLGRAPH_NONE] = "no",
		[TALLY_CALLGRAPH_FP] = "fp",
		[TALLY_CALLGRAPH_DWARF] = "dwarf",
		[TALLY_CALLGRAPH_LBR] = "lbr",
	};
	size_t length = strcspn(text, ",");
	unsigned long size;
	char *end;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i]) != length || strncmp(text, words[i], length))
			continue;
		*mode = i;
		if (!text[length])
			return 0;
		size = strtoul(text + length + 1, &end, 0);
		if (i != TALLY_CALLGRAPH_DWARF || *end || !size || size > 65528 || size % 8)
			return tally_fail(err, EINVAL,
					  "%s: only dwarf takes a size, 8 to 65528 in steps of 8",
					  text);
		*stack_size = size;
		return 0;
	}
	return tally_fail(err, EINVAL, "%s: call chains are taken by fp, dwarf[,size] or lbr",
			  text);
}
