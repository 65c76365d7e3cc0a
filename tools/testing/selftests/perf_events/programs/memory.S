/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program whose loads and stores are known. Static, without a library, x86_64.
 *
 * The emulator computes the latency of an access from bits 12:10 of its address, where the data
 * was from bits 9:6, and whether the TLB missed from bit 13 (tools/testing/qemu/README.md). So the
 * place of a line says what an access to it is. Two threads share the line "shared", of which they
 * use different words: SHARED is the source of a line that another core's cache has modified, which
 * for AMD's instruction based sampling is 8. Each executes its loop ROUNDS times:
 *
 * writer: stores to "shared" and to "l2", a store to and a locked increment of "l1".
 * reader: a load of the second word of "shared", of "l2", "l3", "ram", "fill", and of "quick",
 *         whose latency is less than perf asks for.
 *
 * The loops have 7 and 9 instructions: each of them has samples with a period that has no divisor
 * with these numbers.
 */
#define ROUNDS	20000

#ifndef SHARED
#define SHARED	7
#endif

#define NR_clone	56
#define NR_exit		60
#define NR_futex	202
#define NR_exit_group	231

/* CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD, _SYSVSEM, _PARENT_SETTID, _CHILD_CLEARTID */
#define THREAD		0x00350f00
#define FUTEX_WAIT	0

	.section .note.GNU-stack, "", @progbits
	.text
	.globl	_start
_start:
	mov	$NR_clone, %eax
	mov	$THREAD, %edi
	mov	$stack_end, %esi
	mov	$thread, %edx
	mov	$thread, %r10d
	xor	%r8d, %r8d
	syscall
	test	%eax, %eax
	jz	reader
	mov	%eax, %r13d

writer:	mov	$ROUNDS, %r12d
store:	movq	$1, shared
	movq	$1, l2
	movq	$1, l1
	lock incl l1 + 8
	nop
	dec	%r12d
	jnz	store

	mov	$thread, %edi
	mov	$FUTEX_WAIT, %esi
	mov	%r13d, %edx
	xor	%r10d, %r10d
wait:	mov	$NR_futex, %eax
	syscall
	cmp	%r13d, (%rdi)
	je	wait
	mov	$NR_exit_group, %eax
	xor	%edi, %edi
	syscall

	.balign	64
reader:	mov	$ROUNDS, %r12d
load:	mov	shared + 8, %rax
	mov	l2, %rax
	mov	l3, %rax
	mov	ram, %rax
	mov	fill, %rax
	mov	quick, %rax
	nop
	dec	%r12d
	jnz	load
	mov	$NR_exit, %eax
	xor	%edi, %edi
	syscall

/* A line of 64 bytes: bits 13, 12:10 and 9:6 of its address. */
.macro line name, tlb, latency, source
	.org	base + \tlb * 0x2000 + \latency * 0x400 + \source * 0x40
	.type	\name, @object
	.size	\name, 64
\name:	.skip	64
.endm

	.bss
thread:	.skip	8
	.skip	56
stack_end:
/* In the file, because perf finds no symbols in other memory. */
	.section lines, "aw"
	.balign	0x4000
base:
	line	quick, 0, 2, 2
	line	l2, 0, 3, 3
	line	l3, 0, 4, 4
	line	shared, 0, 5, SHARED
	line	ram, 0, 6, 10
	line	l1, 0, 7, 1
	line	fill, 1, 3, 2
