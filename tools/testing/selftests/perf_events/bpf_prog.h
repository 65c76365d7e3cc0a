/* SPDX-License-Identifier: GPL-2.0 */
/* BPF programs: loading them, and their instructions by the names that the kernel uses. */
#ifndef PERF_TEST_BPF_PROG_H
#define PERF_TEST_BPF_PROG_H

#include "harness.h"

#include <sys/syscall.h>
#include <linux/bpf.h>

/* bpf(2); -1 and errno on failure. */
static inline int sys_bpf(int command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr));
}

/* The file of the loaded program; skips the case if this kernel does not load it. */
static inline int bpf_load(enum bpf_prog_type type, const struct bpf_insn *code, unsigned int insns)
{
	union bpf_attr attr = {
		.prog_type	= type,
		.insns		= (uintptr_t)code,
		.insn_cnt	= insns,
		.license	= (uintptr_t)"GPL",
	};
	int fd = sys_bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		skip_case("the program cannot be loaded");
	return fd;
}

/* The file of a map with keys of 4 bytes and values of @size bytes; -1 and errno on failure. */
static inline int bpf_create_map(enum bpf_map_type type, unsigned int size, unsigned int entries,
				 unsigned int flags)
{
	union bpf_attr attr = {
		.map_type	= type,
		.key_size	= 4,
		.value_size	= size,
		.max_entries	= entries,
		.map_flags	= flags,
	};

	return sys_bpf(BPF_MAP_CREATE, &attr);
}

#define BPF_MOV64_REG(DST, SRC)						\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (DST), .src_reg = (SRC) }
#define BPF_MOV64_IMM(DST, IMM)						\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (DST), .imm = (IMM) }
#define BPF_ALU64_IMM(OP, DST, IMM)					\
	{ .code = BPF_ALU64 | (OP) | BPF_K, .dst_reg = (DST), .imm = (IMM) }
#define BPF_LD_MAP_FD(DST, FD)						\
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (DST),		\
	  .src_reg = BPF_PSEUDO_MAP_FD, .imm = (FD) }, { }
#define BPF_LDX_MEM(SIZE, DST, SRC, OFF)				\
	{ .code = BPF_LDX | BPF_MEM | (SIZE), .dst_reg = (DST), .src_reg = (SRC), .off = (OFF) }
#define BPF_STX_MEM(SIZE, DST, SRC, OFF)				\
	{ .code = BPF_STX | BPF_MEM | (SIZE), .dst_reg = (DST), .src_reg = (SRC), .off = (OFF) }
#define BPF_JMP_REG(OP, DST, SRC, OFF)					\
	{ .code = BPF_JMP | (OP) | BPF_X, .dst_reg = (DST), .src_reg = (SRC), .off = (OFF) }
#define BPF_JMP_IMM(OP, DST, IMM, OFF)					\
	{ .code = BPF_JMP | (OP) | BPF_K, .dst_reg = (DST), .imm = (IMM), .off = (OFF) }
#define BPF_EMIT_CALL(HELPER)						\
	{ .code = BPF_JMP | BPF_CALL, .imm = (HELPER) }
#define BPF_EXIT_INSN()							\
	{ .code = BPF_JMP | BPF_EXIT }

/* A program that only returns @answer. */
static inline int bpf_load_constant(enum bpf_prog_type type, int answer)
{
	const struct bpf_insn code[] = { BPF_MOV64_IMM(BPF_REG_0, answer), BPF_EXIT_INSN() };

	return bpf_load(type, code, ARRAY_SIZE(code));
}

#endif /* PERF_TEST_BPF_PROG_H */
