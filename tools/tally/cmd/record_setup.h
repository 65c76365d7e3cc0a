/* SPDX-License-Identifier: GPL-2.0 */
/* How record and top sample: what their options have in common, and attrs from these. */
#ifndef TALLY_RECORD_SETUP_H
#define TALLY_RECORD_SETUP_H

#include "tally_open.h"

/**
 * struct record_setup - how samples are taken
 * @period: sample_period, 0 for a frequency
 * @frequency: samples a second, 0 for the default
 * @callgraph: kind of call chains
 * @stack_size: bytes of user stack with TALLY_CALLGRAPH_DWARF, 0 for the default
 * @branches: PERF_SAMPLE_BRANCH_*, 0 for none
 * @extra: more of PERF_SAMPLE_*
 * @clockid: clock of the times, -1 for the kernel's own
 * @inherit: sample children
 * @switches: records of context switches
 * @namespaces: records of namespaces
 * @build_ids: build ids in MMAP2 records
 * @cpu: samples have the CPU
 * @delayed: the events are enabled later than that with the records of what runs
 */
struct record_setup {
	uint64_t period;
	uint64_t frequency;
	enum tally_callgraph callgraph;
	unsigned int stack_size;
	uint64_t branches;
	uint64_t extra;
	int clockid;
	bool inherit;
	bool switches;
	bool namespaces;
	bool build_ids;
	bool cpu;
	bool delayed;
};

uint64_t record_user_registers(void);
void record_prepare_attrs(struct tally_events *events, const struct record_setup *setup,
			  bool on_exec);
int record_aux(struct tally_events *events, bool any, struct tally_error *err);
int record_overwrite(struct tally_events *events, bool all, struct tally_error *err);
int record_delay(struct tally_events *events, struct tally_error *err);
int record_check_terms(const struct tally_events *events, bool overwrite, struct tally_error *err);

#endif
