/* SPDX-License-Identifier: GPL-2.0 */
/* A BPF program that always gives the same answer. */
#ifndef BPF_ANSWER_H
#define BPF_ANSWER_H

#include "perf_test.h"

#include <linux/bpf.h>

static inline int load_answer(enum bpf_prog_type type, int answer)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = answer },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type	= type,
		.insns		= (uintptr_t)code,
		.insn_cnt	= ARRAY_SIZE(code),
		.license	= (uintptr_t)"GPL",
	};

	return syscall(__NR_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

#endif
