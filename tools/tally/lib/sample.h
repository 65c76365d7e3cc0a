/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of the kernel: byte order, fields of a sample, identification of the others.
 */
#ifndef TALLY_SAMPLE_H
#define TALLY_SAMPLE_H

#include "tally.h"

/**
 * struct tally_sample - fields of a sample, or those that identify another record
 * @ip: instruction pointer
 * @pid: process, (u32)-1 if the record does not have it
 * @tid: thread, (u32)-1 if the record does not have it
 * @time: nanoseconds; 0 if the record does not have it
 * @addr: data address
 * @id: id of the event
 * @stream_id: id of the very event
 * @cpu: CPU, (u32)-1 if the record does not have it
 * @period: occurrences that the sample stands for; if the sample does not have it the event's
 *	sample_period, or 1 with a frequency
 * @nr_chain: entries of @chain
 * @nr_branches: entries of @branches
 * @nr_read: words of @read
 * @raw_size: bytes of @raw
 * @stack_size: bytes of @stack that are valid
 * @aux_size: bytes of @aux
 * @chain: addresses and PERF_CONTEXT_* marks, innermost first
 * @read: values by the attr's read_format, without the number of a group
 * @raw: bytes of the event's source
 * @branches: branch records, newest first
 * @branch_counts: event counts of the branches, NULL without
 * @branch_index: place of the newest branch in the hardware, or -1
 * @user_abi: PERF_SAMPLE_REGS_ABI_*
 * @intr_abi: PERF_SAMPLE_REGS_ABI_*
 * @user_regs: registers in user space, one for each bit in sample_regs_user; NULL without
 * @intr_regs: registers at the interrupt, one for each bit in sample_regs_intr; NULL without
 * @stack: bytes from the top of the user stack
 * @weight: cost of the access
 * @data_src: what served the access
 * @transaction: how a transaction ended
 * @phys_addr: physical address of @addr
 * @cgroup: id of the cgroup
 * @data_page_size: bytes of the page at @addr
 * @code_page_size: bytes of the page at @ip
 * @aux: piece of the AUX area
 *
 * Pointers point into the record.
 */
struct tally_sample {
	u64 ip;
	u32 pid;
	u32 tid;
	u64 time;
	u64 addr;
	u64 id;
	u64 stream_id;
	u32 cpu;
	u64 period;
	u64 nr_chain;
	u64 nr_branches;
	u64 nr_read;
	u64 raw_size;
	u64 stack_size;
	u64 aux_size;
	const u64 *chain;
	const u64 *read;
	const u8 *raw;
	const struct perf_branch_entry *branches;
	const u64 *branch_counts;
	s64 branch_index;
	u64 user_abi;
	u64 intr_abi;
	const u64 *user_regs;
	const u64 *intr_regs;
	const u8 *stack;
	u64 weight;
	u64 data_src;
	u64 transaction;
	u64 phys_addr;
	u64 cgroup;
	u64 data_page_size;
	u64 code_page_size;
	const u8 *aux;
};

/**
 * struct tally_fault - what is wrong in a record
 * @at: byte of the record, from its header
 * @what: reason, a literal
 */
struct tally_fault {
	unsigned int at;
	const char *what;
};

int tally_sample_parse(struct tally_sample *sample, const struct perf_event_attr *attr,
		       const struct perf_event_header *record, struct tally_fault *fault);
int tally_sample_id(struct tally_sample *sample, const struct perf_event_attr *attr,
		    const struct perf_event_header *record, struct tally_fault *fault);
int tally_record_swap(struct perf_event_header *record, const struct perf_event_attr *attr,
		      bool to_host, struct tally_fault *fault);
int tally_record_verify(const struct perf_event_header *record, const struct perf_event_attr *attr,
			struct tally_fault *fault);
unsigned int tally_sample_id_size(const struct perf_event_attr *attr);
void tally_sample_id_put(struct tally_buf *buf, const struct perf_event_attr *attr,
			 const struct tally_sample *sample);
u64 tally_record_time(const struct perf_event_attr *attr, const struct perf_event_header *record);
const char *tally_record_name(u32 type);

#endif /* TALLY_SAMPLE_H */
