/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BPF programs of tests: loading one, and its instructions by name.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "workload.h"

#include <linux/bpf.h>

static inline int bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

/* Its file. */
static inline int load_program(enum bpf_prog_type type, const struct bpf_insn *code, unsigned int insns)
{
	union bpf_attr attr = {
		.prog_type	= type,
		.insns		= (uintptr_t)code,
		.insn_cnt	= insns,
		.license	= (uintptr_t)"GPL",
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		skip_case("the program cannot be loaded");
	return fd;
}

static inline int make_map(enum bpf_map_type type, unsigned int size, unsigned int entries,
		    unsigned int flags)
{
	union bpf_attr attr = {
		.map_type	= type,
		.key_size	= 4,
		.value_size	= size,
		.max_entries	= entries,
		.map_flags	= flags,
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

#define MOVE(to, from)							\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) }
#define SET(to, value)							\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value) }
#define ADD(to, value)							\
	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (value) }
#define MAP(to, fd)							\
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (to),		\
	  .src_reg = BPF_PSEUDO_MAP_FD, .imm = (fd) }, { }
#define LOAD(to, from, at)						\
	{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = (to), .src_reg = (from), .off = (at) }
#define STORE(to, at, from)						\
	{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = (to), .src_reg = (from), .off = (at) }
#define JUMP(op, a, b, by)						\
	{ .code = BPF_JMP | (op) | BPF_X, .dst_reg = (a), .src_reg = (b), .off = (by) }
#define JUMP_IF(op, a, value, by)					\
	{ .code = BPF_JMP | (op) | BPF_K, .dst_reg = (a), .imm = (value), .off = (by) }
#define CALL(helper)							\
	{ .code = BPF_JMP | BPF_CALL, .imm = (helper) }
#define EXIT()								\
	{ .code = BPF_JMP | BPF_EXIT }

#endif
